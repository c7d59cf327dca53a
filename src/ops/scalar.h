/* Scalar bodies: the text of an elementwise row in postfix order, over one element of each operand.

     x y z w       operands 0 to 3           p0 p1 p2 p3   numbers from the attributes
     1 -0.5 inf    constants                 >a a          keep the top in a local (a to f), read it
     add exp ...   the words of scalar_words.def
     lt eq ...     leave a truth, which select, land, lor, lxor and lnot use: c t f select
   A row whose rule is KNI_RULE_COMPARE ends in a truth. Operand 0 of KNI_RULE_SELECT is a truth.
   Example, softplus: "x 0 max x abs neg exp log1p add". */
#ifndef KNI_SCALAR_H
#define KNI_SCALAR_H

#include "core/dtype.h"

typedef enum kni_scalar_kind {
    KNI_SCALAR_INPUT,
    KNI_SCALAR_PARAM,
    KNI_SCALAR_CONSTANT,
    KNI_SCALAR_STORE,
    KNI_SCALAR_LOCAL,
    KNI_SCALAR_SELECT,
    KNI_SCALAR_AND,
    KNI_SCALAR_OR,
    KNI_SCALAR_XOR,
    KNI_SCALAR_NOT,
    KNI_SCALAR_WORD
} kni_scalar_kind;

typedef struct kni_scalar_step {
    uint8_t kind;
    uint8_t index; /* operand, param, local or word */
    double value;
} kni_scalar_step;

enum { KNI_SCALAR_STEPS = 96, KNI_SCALAR_STACK = 16, KNI_SCALAR_LOCALS = 6 };

typedef struct kni_scalar_body {
    kni_scalar_step steps[KNI_SCALAR_STEPS];
    int n;
} kni_scalar_body;

typedef struct kni_word {
    const char *name;
    uint8_t arity, truth;
    bool floats, integers; /* has a meaning there */
} kni_word;
int kni_word_count(void);
const kni_word *kni_word_at(int index);

/* Parses a body; false when it is malformed (a row's mistake, caught by a test over all rows). */
bool kni_scalar_parse(const char *text, kni_scalar_body *body);

/* Evaluates the body for n elements in a wide type (KNI_COMPUTE_F64, I64 or U64). in[i] are contiguous
   wide values; operands named in `truths` (bit mask) are int64 truths; a truth result is written as 0 or 1
   of the wide type. */
void kni_scalar_evaluate(const kni_scalar_body *body, int wide, int64_t n, void *out, const void *const *in,
                         uint32_t truths, const double *params);

#endif
