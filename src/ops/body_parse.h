/* From the text of a body to its steps.

     b = beta * x; y = b > threshold ? x : (max(b, 0) + log1p(exp(-abs(b)))) / beta

   Values are named once and in order; the last one is the row's result. Operators bind as in C: ?: || && | ^ & == != < <= > >=
   << >> + - * / and the signs - ! ~. Other words of scalar_words.def are called like functions. Comparisons give truths; &&, ||,
   ^ and ! take them, and both sides of ?: are computed. `inf` is infinity. */
#ifndef KNI_BODY_PARSE_H
#define KNI_BODY_PARSE_H

#include "ops/body.h"

/* What a body may name, each a list of words separated by spaces. */
typedef struct kni_body_names {
    const char *in, *out;
    const char *scalars[4];
    int n_scalars;
    uint32_t truths; /* operands that are truths, a bit each */
    bool truth;      /* the result is a truth */
} kni_body_names;

typedef struct kni_body_draft {
    uint8_t code[KNI_BODY_STEPS];
    int16_t from[KNI_BODY_STEPS]; /* where in the text each step comes from */
    double constants[KNI_BODY_CONSTANTS];
    int n, n_constants;
    int at;          /* after a failure: where in the text */
    char error[160]; /* and what is wrong */
} kni_body_draft;

bool kni_body_parse(const char *text, const kni_body_names *names, kni_body_draft *draft);

/* The draft as a body; it refers to the draft's memory. */
static inline kni_body kni_body_of_draft(const kni_body_draft *d)
{
    return (kni_body){d->code, d->constants, d->n};
}

#endif
