/* Sizes of axes: a constant, or a symbolic expression with bounds. Shape rules compute on these through the
   functions here, so that one rule serves eager calls and plans that survive a new batch size. */
#ifndef KNI_DIM_H
#define KNI_DIM_H

#include <kn/base.h>

/* >= 0: a constant. < 0: the expression with index -1 - dim in the process-wide table. */
typedef int64_t kn_dim;

#define KNI_DIM_BAD INT64_MIN /* overflow or no room for another expression */

static inline bool kni_dim_is_constant(kn_dim d) { return d >= 0; }

/* A named unknown with lo <= value <= hi. */
kn_dim kni_dim_symbol(const char *name, int64_t lo, int64_t hi);
kn_dim kni_dim_add(kn_dim a, kn_dim b);
kn_dim kni_dim_sub(kn_dim a, kn_dim b); /* negative constants are KNI_DIM_BAD */
kn_dim kni_dim_mul(kn_dim a, kn_dim b);
kn_dim kni_dim_floor_div(kn_dim a, kn_dim b);
kn_dim kni_dim_max(kn_dim a, kn_dim b);
kn_dim kni_dim_min(kn_dim a, kn_dim b);
int64_t kni_dim_low(kn_dim d);
int64_t kni_dim_high(kn_dim d);

typedef enum kni_truth { KNI_NO = 0, KNI_YES = 1, KNI_MAYBE = 2 } kni_truth;
kni_truth kni_dim_equal(kn_dim a, kn_dim b);

/* The value under an assignment of symbols (values[i] belongs to symbols[i]); -1 when one is missing. */
int64_t kni_dim_evaluate(kn_dim d, const kn_dim *symbols, const int64_t *values, int32_t n);

struct kni_text;
void kni_dim_print(struct kni_text *t, kn_dim d);

#endif
