/* Reductions, cumulative ops and statistics.

   axes: KN_AXES(0, -1), KN_AXES_ALL for every axis. keep: reduced axes stay with size 1. Integers and bool
   are summed and multiplied in i64; f16 and bf16 accumulate in f32. All take temporaries. */
#ifndef KN_REDUCE_H
#define KN_REDUCE_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Two or more results of one op. */
typedef struct kn_indexed {
    kn_tensor values, indices; /* indices are i64 */
} kn_indexed;

typedef struct kn_minmax {
    kn_tensor min, max;
} kn_minmax;

typedef struct kn_moments {
    kn_tensor var, mean;
} kn_moments;

/* ---- sums and products; 0 and 1 over an empty axis */

KN_API kn_tensor kn_sum(kn_tensor x, kn_ints axes, bool keep);
KN_API kn_tensor kn_prod(kn_tensor x, kn_ints axes, bool keep);
/* sum / count; floats only, NaN over an empty axis. */
KN_API kn_tensor kn_mean(kn_tensor x, kn_ints axes, bool keep);
/* Sums of the elements that are not NaN, and their mean. */
KN_API kn_tensor kn_nansum(kn_tensor x, kn_ints axes, bool keep);
KN_API kn_tensor kn_nanmean(kn_tensor x, kn_ints axes, bool keep);
/* log(sum(exp(x))) without overflow; -inf over an empty axis. */
KN_API kn_tensor kn_logsumexp(kn_tensor x, kn_ints axes, bool keep);
/* The inverse of broadcasting: sums x over the axes that were stretched to make x's shape from shape. Where there are
   such axes, integers give i64, as in kn_sum. */
KN_API kn_tensor kn_sum_to(kn_tensor x, kn_shape shape);

/* ---- extremes. NaN wins; an empty axis is an error. */

/* The gradient is shared evenly between equal extremes (torch.amax). */
KN_API kn_tensor kn_max(kn_tensor x, kn_ints axes, bool keep);
KN_API kn_tensor kn_min(kn_tensor x, kn_ints axes, bool keep);
KN_API kn_tensor kn_max_abs(kn_tensor x, kn_ints axes, bool keep); /* max(|x|) */
KN_API kn_minmax kn_aminmax(kn_tensor x, kn_ints axes, bool keep);
/* The position (i64) of the first extreme, or of the first NaN. */
KN_API kn_tensor kn_argmax(kn_tensor x, int32_t axis, bool keep);
KN_API kn_tensor kn_argmin(kn_tensor x, int32_t axis, bool keep);
/* Extreme and position along one axis; the gradient flows to the position (torch.max with dim). */
KN_API kn_indexed kn_max_with_indices(kn_tensor x, int32_t axis, bool keep);
KN_API kn_indexed kn_min_with_indices(kn_tensor x, int32_t axis, bool keep);

/* ---- truth and counting. Any dtype; an element is true when it is not 0 (NaN is true). */

KN_API kn_tensor kn_any(kn_tensor x, kn_ints axes, bool keep);
KN_API kn_tensor kn_all(kn_tensor x, kn_ints axes, bool keep);
KN_API kn_tensor kn_count_nonzero(kn_tensor x, kn_ints axes, bool keep); /* i64 */
KN_API kn_tensor kn_contains_nan(kn_tensor x);                           /* one bool */

/* ---- statistics; floats only */

typedef struct kn_var_args {
    bool biased; /* divide by count */
    double
        correction; /* divide by max(0, count - correction); 0 = 1, the unbiased estimate; KN_ZERO = 0, as biased */
} kn_var_args;
#define KN_VAR_ARGS_DEFAULTS KN_FIELDS(false, 1.0)

/* sum((x - mean)^2) / max(0, count - 1); args NULL for the defaults. std is its square root. Where the divisor is 0 the
   result is infinite, or NaN where all elements are equal, and so is the gradient. */
KN_API kn_tensor kn_var(kn_tensor x, kn_ints axes, bool keep, const kn_var_args *args);
KN_API kn_tensor kn_std(kn_tensor x, kn_ints axes, bool keep, const kn_var_args *args);
KN_API kn_moments kn_var_mean(kn_tensor x, kn_ints axes, bool keep, const kn_var_args *args);
/* Covariance of the rows of x [variables, observations] (or [observations]): [variables, variables]. */
KN_API kn_tensor kn_cov(kn_tensor x, const kn_var_args *args);
typedef struct kn_cov_args {
    kn_tensor frequencies; /* integers [observations]: how often each was seen; or KN_NONE */
    kn_tensor importance;  /* [observations] of x's dtype: how much each counts; or KN_NONE */
    double correction;     /* 0 = 1, KN_ZERO = 0 */
} kn_cov_args;
#define KN_COV_ARGS_DEFAULTS KN_FIELDS(KN_ZEROED, KN_ZEROED, 1.0)
/* The same with weights w = frequencies importance: sum of w (x - mean)(x - mean)' / (sum w - correction), the mean weighted too. With
   importance the correction is multiplied by sum(w importance) / sum w. Weights are not negative, which is not checked. */
KN_API kn_tensor kn_cov_weighted(kn_tensor x, const kn_cov_args *args);
/* Pearson's correlation of the rows: cov / (std std^T), clamped to -1 .. 1. */
KN_API kn_tensor kn_corrcoef(kn_tensor x);

/* ---- differences and integrals along one axis */

/* x[i + 1] - x[i], `order` >= 0 times; of bool whether they differ. prepend and append, or KN_NONE, are joined to x along the axis
   first, unless order is 0. */
KN_API kn_tensor kn_diff(kn_tensor x, int32_t order, int32_t axis, kn_tensor prepend, kn_tensor append);
/* The integral of y by trapezoids: the sum of (y[i] + y[i + 1]) / 2 (x[i + 1] - x[i]), with steps of `step` where x is KN_NONE.
   x has the length of the axis or broadcasts with y. Integers give f32. */
KN_API kn_tensor kn_trapezoid(kn_tensor y, kn_tensor x, double step, int32_t axis);
/* The integrals up to each sample but the first. */
KN_API kn_tensor kn_cumulative_trapezoid(kn_tensor y, kn_tensor x, double step, int32_t axis);
/* The derivative of samples y along an axis, of second order inside and of order `edge_order` (1 or 2) at both ends. They lie at
   x [size of the axis], or `step` apart where x is KN_NONE. */
KN_API kn_tensor kn_gradient_along(kn_tensor y, kn_tensor x, double step, int32_t axis, int32_t edge_order);

/* ---- cumulative, along one axis, same shape as x */

KN_API kn_tensor kn_cumsum(kn_tensor x, int32_t axis);
/* Floats are multiplied one after the other, so that a 0 stays 0 until an infinity or NaN comes. */
KN_API kn_tensor kn_cumprod(kn_tensor x, int32_t axis);
KN_API kn_tensor kn_cumlogsumexp(kn_tensor x, int32_t axis); /* log(cumsum(exp(x))) */
/* The extreme so far and its position: the latest of equal ones; NaN stays. */
KN_API kn_indexed kn_cummax(kn_tensor x, int32_t axis);
KN_API kn_indexed kn_cummin(kn_tensor x, int32_t axis);

typedef struct kn_scan_args {
    bool reverse;   /* from the last element to the first */
    bool exclusive; /* y[k] holds the elements before k only */
} kn_scan_args;
#define KN_SCAN_ARGS_DEFAULTS KN_ZEROED
KN_API kn_tensor kn_cumsum_with(kn_tensor x, int32_t axis, const kn_scan_args *args);
KN_API kn_tensor kn_cumprod_with(kn_tensor x, int32_t axis, const kn_scan_args *args);
/* The linear recurrence h[k] = a[k] h[k-1] + b[k], h[-1] = 0, along one axis; a and b of one shape.
   From the last element to the first when reverse. */
KN_API kn_tensor kn_scan_linear(kn_tensor a, kn_tensor b, int32_t axis, bool reverse);

#ifdef __cplusplus
}
#endif
#endif
