/* The library's own math as IR. The texts of ir/generated/math_text.c, which the C dialects print, are read here as what
   they are, a small part of C: scalars, flat structs, tables, if, for, while. They are our own, so a text that cannot be
   read is an internal error. */
#ifndef KNI_IR_MATH_SOURCE_H
#define KNI_IR_MATH_SOURCE_H

#include "ir/builder.h"

/* A kernel that does nothing, with the item and all functions it calls as its functions, each before who calls it; the
   one that is asked for is the last. Types are as wide as the text's. NULL after a failure. */
kni_ir *kni_ir_math_module(const char *item);
/* Whether there is an item of that name. */
bool kni_ir_math_has(const char *item);

/* ---- between the files that read */

enum { KNI_MATHC_FIELDS = 4, KNI_MATHC_SYMBOLS = 96, KNI_MATHC_NAME = 48, KNI_MATHC_NODES = 12 };

typedef struct kni_mathc_type {
    uint8_t dtype; /* what it is computed in; 0: none, or a struct */
    uint8_t bits;  /* of a type narrower than that, else 0 */
    uint8_t n_fields;
    uint8_t fields[KNI_MATHC_FIELDS];
    const char *names; /* of the fields, in the text: "hi, lo;" */
} kni_mathc_type;

typedef struct kni_mathc_value {
    kni_mathc_type type;
    kni_ir_id id, fields[KNI_MATHC_FIELDS];
} kni_mathc_value;

typedef struct kni_mathc_symbol {
    char name[KNI_MATHC_NAME];
    kni_mathc_type type;
    bool array;
    uint32_t binding;
    kni_ir_id variables[KNI_MATHC_FIELDS];
} kni_mathc_symbol;

typedef struct kni_mathc_reader {
    kni_ir_builder b;
    const char *at;    /* behind the token */
    const char *token; /* its beginning; it ends before `end` */
    const char *end;
    kni_mathc_symbol symbols[KNI_MATHC_SYMBOLS];
    int n_symbols, first; /* those of the function that is read begin at `first` */
    kni_mathc_type result;
    bool inside;            /* a function is read in the place where it is called */
    kni_mathc_value answer; /* what it returned */
    int depth;
} kni_mathc_reader;

void kni_mathc_next(kni_mathc_reader *r);
bool kni_mathc_is(const kni_mathc_reader *r, const char *token);
bool kni_mathc_accept(kni_mathc_reader *r, const char *token);
void kni_mathc_take(kni_mathc_reader *r, const char *token);
void kni_mathc_name(kni_mathc_reader *r, char name[KNI_MATHC_NAME]); /* takes it */
void kni_mathc_fail(kni_mathc_reader *r, const char *what);
/* A type at the token, which is taken; false: none stands there. */
bool kni_mathc_type_here(kni_mathc_reader *r, kni_mathc_type *type);
bool kni_mathc_is_type(kni_mathc_reader *r);
kni_mathc_symbol *kni_mathc_find(kni_mathc_reader *r, const char *name);
int kni_mathc_field(const kni_mathc_type *type, const char *name);

kni_mathc_value kni_mathc_expression(kni_mathc_reader *r);
kni_mathc_value kni_mathc_convert(kni_mathc_reader *r, kni_mathc_value v, kni_mathc_type to);
kni_ir_id kni_mathc_truth(kni_mathc_reader *r, kni_mathc_value v);
kni_mathc_value kni_mathc_operate(kni_mathc_reader *r, const char *sign, kni_mathc_value a,
                                  kni_mathc_value b);
/* {a, b} of a struct, or of a table's element type. */
kni_mathc_value kni_mathc_braces(kni_mathc_reader *r, kni_mathc_type type);
/* A constant number at the token, perhaps negative or a quotient of two, as a table has it. */
double kni_mathc_constant(kni_mathc_reader *r, uint64_t *whole);
/* The function read in place, for what gives a struct. */
kni_mathc_value kni_mathc_inline(kni_mathc_reader *r, const char *text, const kni_mathc_value *arguments,
                                 int n);

#endif
