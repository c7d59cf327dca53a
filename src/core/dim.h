/* Sizes of axes: a constant, or a symbolic expression with bounds. Shape rules compute on these through the functions here, so that
   one rule serves eager calls and programs that run with other sizes. */
#ifndef KNI_DIM_H
#define KNI_DIM_H

#include <kn/base.h>

/* >= 0: a constant. KNI_DIM_LIMIT numbers from KNI_DIM_FIRST down: an expression of the set that the thread has entered. Other negative
   numbers are what a user gave, or a part of an expression. */
typedef int64_t kn_dim;

#define KNI_DIM_BAD INT64_MIN /* overflow, below 0, or too large an expression */
#define KNI_DIM_FIRST (INT64_MIN / 2)
#define KNI_DIM_LIMIT (1 << 16) /* the most expressions of a set */

static inline bool kni_dim_is_constant(kn_dim d) { return d >= 0; }
static inline bool kni_dim_is_expression(kn_dim d)
{
    return d <= KNI_DIM_FIRST && d > KNI_DIM_FIRST - KNI_DIM_LIMIT;
}
/* Whether a size that a user gave is one. */
static inline bool kni_dim_is_size(kn_dim d) { return d >= 0 || kni_dim_is_expression(d); }

/* A set of expressions, which lives as long as the program that they belong to. The calling thread's expressions are those of the set
   it has entered; without one there are none. */
typedef struct kni_dims kni_dims;
kni_dims *kni_dims_new(void); /* NULL without memory */
void kni_dims_free(kni_dims *dims);
/* Returns the set before, to be entered again. */
kni_dims *kni_dims_enter(kni_dims *dims);

/* A named unknown with lo <= value <= hi; the same one for the same name. */
kn_dim kni_dim_symbol(const char *name, int64_t lo, int64_t hi);
/* Sizes of sizes: constants below 0, given or as the result, are KNI_DIM_BAD. */
kn_dim kni_dim_add(kn_dim a, kn_dim b);
kn_dim kni_dim_sub(kn_dim a, kn_dim b);
kn_dim kni_dim_mul(kn_dim a, kn_dim b);
kn_dim kni_dim_floor_div(kn_dim a, kn_dim b);
kn_dim kni_dim_max(kn_dim a, kn_dim b);
kn_dim kni_dim_min(kn_dim a, kn_dim b);
/* The same on whole numbers, for parts of a size: constants may be negative. A quotient is rounded down; its divisor is positive. */
typedef enum kni_dim_op {
    KNI_DIM_ADD,
    KNI_DIM_SUB,
    KNI_DIM_MUL,
    KNI_DIM_DIV,
    KNI_DIM_MAX,
    KNI_DIM_MIN
} kni_dim_op;
kn_dim kni_dim_compute(kni_dim_op op, kn_dim a, kn_dim b);
/* Bounds of the value, which may be below 0 as those of n - 5 are. */
int64_t kni_dim_low(kn_dim d);  /* INT64_MIN: no bound */
int64_t kni_dim_high(kn_dim d); /* INT64_MAX: no bound */
/* Why the last KNI_DIM_BAD of this thread's set is none, where that is a limit of expressions; else NULL. Asked once. */
const char *kni_dim_problem(void);

typedef enum kni_truth { KNI_NO = 0, KNI_YES = 1, KNI_MAYBE = 2 } kni_truth;
kni_truth kni_dim_equal(kn_dim a, kn_dim b);

/* The value under an assignment of symbols (values[i] belongs to symbols[i]); -1 when one is missing, or it is below 0 or too
   large. */
int64_t kni_dim_evaluate(kn_dim d, const kn_dim *symbols, const int64_t *values, int32_t n);
/* The same for a whole number, which may be below 0; false where it has no value. */
bool kni_dim_evaluate_whole(kn_dim d, const kn_dim *symbols, const int64_t *values, int32_t n,
                            int64_t *value);

/* How an expression is made. KNI_DIM_SUM: of terms, each a factor before a product of symbols, quotients and extremes. */
typedef enum kni_dim_kind {
    KNI_DIM_CONSTANT,
    KNI_DIM_SYMBOL,
    KNI_DIM_SUM,
    KNI_DIM_QUOTIENT, /* rounded down */
    KNI_DIM_MAXIMUM,
    KNI_DIM_MINIMUM
} kni_dim_kind;
enum {
    KNI_DIM_FACTORS = 8,
    KNI_DIM_TERMS = 16,
    KNI_DIM_NAME = 48,
    KNI_DIM_PARTS = 1000, /* names, numbers and operations of one expression, as it is printed */
    KNI_DIM_DEPTH = 64    /* brackets in brackets */
};
typedef struct kni_dim_term {
    int64_t coefficient;
    int32_t n_factors;
    kn_dim factors[KNI_DIM_FACTORS];
} kni_dim_term;
kni_dim_kind kni_dim_kind_of(kn_dim d);
const char *kni_dim_name(kn_dim symbol);
/* Of a quotient or an extreme. */
void kni_dim_operands(kn_dim d, kn_dim *a, kn_dim *b);
/* The terms of a sum; returns how many, at most KNI_DIM_TERMS. */
int kni_dim_terms(kn_dim d, kni_dim_term *terms);

struct kni_text;
void kni_dim_print(struct kni_text *t, kn_dim d);
/* Reads an expression such as "4 * (batch + 1) / 2" or "max(length, 8)" up to its end or a comma, and moves *text behind it. Names that
   are new become symbols of at least 1. KNI_DIM_BAD where it makes no sense. */
kn_dim kni_dim_parse(const char **text);
/* The same for a whole number, which may be negative: down to KNI_DIM_FIRST. */
kn_dim kni_dim_parse_whole(const char **text);

#endif
