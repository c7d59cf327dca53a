/* From the text of a body to its steps.

     b = beta * x; y = b > threshold ? x : (max(b, 0) + log1p(exp(-abs(b)))) / beta

   Values are named once and in order; the last one is the row's result. Operators bind as in C: ?: || && | ^ & == != < <= > >=
   << >> + - * / % and the signs - ! ~. Other words of scalar_words.def are called like functions. Comparisons give truths; &&, ||,
   ^ and ! take them, and both sides of ?: are computed. `inf` is infinity.

   Rows that work along lines may also use the line words (sum, mean, highest, lowest, top, down), expn(v), which is exp of
   what is 0 or less, and n, the length of a line. Their lists of operands and results say what belongs to what:

     "x weight@place?1 bias@place?0"    weight and bias have an element for each place of a line; absent they are 1 and 0
     "y mean@line"                      the second result has an element for each line; @all: one for all
     "x:truth target@line:index"        x is read as whether it is not 0, target is an index; results may be such as well

   There are values, truths (any(t) and all(t) take them along a line), and indices, which are whole numbers: argmax(v) and
   argmin(v), and k, the place along the line. Whole constants, whole scalars and n go with values and with indices. at(v, t) is v at
   place t of its line, and 0 where t is no place, and require(condition, t) is t, after it was reported as
   an error where the condition does not hold.

   Rows that update operands name the new value of an operand with a ', as in m' = m + (d - m) * f. It is not written where the
   operand is absent; has(m) is the truth whether it is given. Attributes that are choices (KNI_CHOICE) are truths.
   What depends on scalars alone is made by the row's `.host`, another list of named values, once for each record in f64:

     rate = lr / (1 - pow(beta1, step)); fresh = 1 - beta1

   Rows that make values of scalars may use i, the index of the element, which goes with values and with indices, draw(j, t), word j
   of those that the generator gives at index t, from the attributes key and counter (draw(j) is draw(j, i)), and two truths that are
   known before anything runs: `floats`, whether the result is of a float dtype, and `doubles`, whether it is f64. An element
   draws 1, 2 or 4 words: the fewest that hold its draws once these choices are made. floor(s) and the like of scalars go with
   indices too, and cos_turn(u) is cos(2 pi u) for u from 0 to 1. real(t) is index t as a value. */
#ifndef KNI_BODY_PARSE_H
#define KNI_BODY_PARSE_H

#include "ops/body.h"

/* What a body may name; in and out are lists separated by spaces. */
typedef struct kni_body_names {
    const char *in, *out;
    const char *scalars[KNI_BODY_SCALARS];
    int n_scalars;
    uint32_t whole;                    /* scalars that are integers, a bit each */
    uint32_t choices;                  /* scalars that are truths, a bit each */
    const struct kni_body_draft *host; /* what `.host` names, or NULL */
    uint32_t truths;                   /* operands that are truths, a bit each */
    bool truth;                        /* the result is a truth */
    bool lines;                        /* the row works along lines */
    bool updates;                      /* the row may write operands anew, and ask which of them are given */
    bool makes;                        /* the row makes values of scalars */
} kni_body_names;

typedef struct kni_body_draft {
    uint8_t code[KNI_BODY_STEPS];
    int16_t from[KNI_BODY_STEPS]; /* where in the text each step comes from */
    double constants[KNI_BODY_CONSTANTS];
    uint8_t operands[3 * KNI_BODY_OPERANDS];
    bool updates;
    int n, n_constants, n_in, n_out;
    /* Of a `.host`: its values. */
    struct {
        const char *text;
        size_t length;
        bool truth, used;
    } values[KNI_BODY_NUMBERS];
    /* Of a body with a `.host`: what each of its numbers is, a scalar or KNI_NUMBER_HOST + a value. */
    uint8_t numbers[KNI_BODY_NUMBERS];
    int n_numbers;
    int at;          /* after a failure: where in the text, or in the list of operands or results: */
    uint8_t list;    /* KNI_IN_TEXT and so on */
    char error[160]; /* and what is wrong */
} kni_body_draft;
enum { KNI_NUMBER_HOST = 32 };
enum { KNI_IN_TEXT, KNI_IN_OPERANDS, KNI_IN_RESULTS };

bool kni_body_parse(const char *text, const kni_body_names *names, kni_body_draft *draft);
/* The text of a `.host`, whose values follow from the scalars of `names`: each statement is a result of the draft. */
bool kni_body_parse_host(const char *text, const kni_body_names *names, kni_body_draft *draft);

/* The draft as a body; it refers to the draft's memory. */
static inline kni_body kni_body_of_draft(const kni_body_draft *d)
{
    return (kni_body){.code = d->code,
                      .constants = d->constants,
                      .operands = d->operands,
                      .n = (uint8_t)d->n,
                      .n_in = (uint8_t)d->n_in,
                      .n_out = (uint8_t)d->n_out,
                      .updates = d->updates,
                      .n_numbers = (uint8_t)d->n_numbers};
}

#endif
