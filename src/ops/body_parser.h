/* The parser of bodies inside: its state, and what its parts share. body_token.c reads names and numbers and emits steps,
   body_formula.c reads formulas, body_parse.c statements and lists. */
#ifndef KNI_BODY_PARSER_H
#define KNI_BODY_PARSER_H

#include "ops/body_parse.h"

/* What a formula gives, and what it belongs to. */
typedef struct kni_parsed {
    bool truth;
    uint8_t level;
    bool index;  /* a whole number that is a place */
    bool number; /* a value, or an index if what it stands beside is one */
} kni_parsed;
static const kni_parsed kni_parsed_nothing = {false, KNI_LEVEL_ALL, false, false};
static const kni_parsed kni_parsed_number = {false, KNI_LEVEL_ALL, false, true};

typedef struct kni_naming {
    const char *text;
    size_t length;
    kni_parsed type;
    bool used; /* or, of a result, given */
} kni_naming;

typedef struct kni_parser {
    const char *text, *at;
    const kni_body_names *names;
    kni_body_draft *d;
    kni_naming in[KNI_BODY_OPERANDS], out[KNI_BODY_OPERANDS], locals[KNI_BODY_LOCALS];
    int n_locals, depth, nesting, given;
    bool failed;
} kni_parser;

/* Notes the first failure, and where in the text it is. */
kni_parsed kni_parser_fail(kni_parser *p, const char *where, const char *format, ...);

/* ---- tokens */

bool kni_parser_is_letter(char c);
bool kni_parser_is_digit(char c);
void kni_parser_skip(kni_parser *p); /* spaces */
size_t kni_parser_name_length(const char *s);
bool kni_parser_equals(const char *name, const char *s, size_t n);
bool kni_parser_take(kni_parser *p, char c);
void kni_parser_expect(kni_parser *p, char c);
double kni_parser_number(kni_parser *p);
/* A name of an operand or a result for a message; `to` has room for 32. */
const char *kni_parser_copy(char *to, const char *s, size_t n);
kni_naming *kni_parser_find(kni_naming *list, int n_list, const char *at, size_t n);
int kni_parser_find_scalar(const kni_parser *p, const char *at, size_t n);
int kni_parser_find_value(const kni_parser *p, const char *at, size_t n); /* of the row's `.host` */

/* ---- steps; `from` is where in the text they come from */

void kni_parser_emit(kni_parser *p, const char *from, int kind, int index, int pops);
void kni_parser_constant(kni_parser *p, const char *from, double value);
/* A scalar of the record: an attribute, or KNI_NUMBER_HOST + a value of the `.host`. */
kni_parsed kni_parser_scalar(kni_parser *p, const char *from, int scalar);
int kni_parser_find_word(const char *s, size_t n);
/* Fails with the word that is meant, where one is near. */
kni_parsed kni_parser_no_word(kni_parser *p, const char *at, const char *word);
kni_parsed kni_parser_word(kni_parser *p, const char *from, const char *name, uint8_t level);

kni_parsed kni_parser_formula(kni_parser *p);

#endif
