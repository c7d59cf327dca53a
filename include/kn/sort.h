/* Sorting, searching, counting. NaN counts as greater than every number; equal elements keep their order. */
#ifndef KN_SORT_H
#define KN_SORT_H

#include <kn/base.h>
#include <kn/reduce.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sorting along one axis. The values are differentiable. */

KN_API kn_indexed kn_sort(kn_tensor x, int32_t axis, bool descending);
KN_API kn_tensor kn_argsort(kn_tensor x, int32_t axis, bool descending); /* i64 */

typedef struct kn_topk_args {
    bool smallest; /* the k smallest instead of the largest */
    bool unsorted; /* in the order of x instead of best first */
} kn_topk_args;
#define KN_TOPK_ARGS_DEFAULTS KN_ZEROED
/* The k best along axis, best first; of equal ones the first. args NULL for the defaults. */
KN_API kn_indexed kn_topk(kn_tensor x, int64_t k, int32_t axis, const kn_topk_args *args);
KN_API kn_tensor kn_argtopk(kn_tensor x, int64_t k, int32_t axis, const kn_topk_args *args);
/* The k-th smallest along axis, k from 1, and its position. */
KN_API kn_indexed kn_kthvalue(kn_tensor x, int64_t k, int32_t axis, bool keep);
/* The lower median along axis and its position; NaN when there is one. */
KN_API kn_indexed kn_median(kn_tensor x, int32_t axis, bool keep);
/* The most frequent value along axis (the smallest of those) and the position of its last occurrence. */
KN_API kn_indexed kn_mode(kn_tensor x, int32_t axis, bool keep);
/* The q-quantile along axis, 0 <= q <= 1, linear between neighbours; NaN when there is one. */
KN_API kn_tensor kn_quantile(kn_tensor x, double q, int32_t axis, bool keep);

/* The lower median of the elements that are not NaN, and its position; NaN where all are. */
KN_API kn_indexed kn_nanmedian(kn_tensor x, int32_t axis, bool keep);
/* What a quantile between two elements is. */
typedef enum kn_quantile_mode {
    KN_QUANTILE_LINEAR = 0,   /* on the line between them */
    KN_QUANTILE_LOWER = 1,    /* the smaller */
    KN_QUANTILE_HIGHER = 2,   /* the larger */
    KN_QUANTILE_MIDPOINT = 3, /* their mean */
    KN_QUANTILE_NEAREST = 4   /* the nearer one, of two as near the one at the even position */
} kn_quantile_mode;
/* The quantiles q along axis: q is a float tensor of rank 0, or of rank 1, whose axis then comes first in the result. Elements of q
   outside 0 to 1 give NaN. */
KN_API kn_tensor kn_quantile_with(kn_tensor x, kn_tensor q, int32_t axis, bool keep, kn_quantile_mode mode);
/* The same of the elements that are not NaN; NaN where all are. */
KN_API kn_tensor kn_nanquantile(kn_tensor x, double q, int32_t axis, bool keep);
KN_API kn_tensor kn_nanquantile_with(kn_tensor x, kn_tensor q, int32_t axis, bool keep,
                                     kn_quantile_mode mode);

/* ---- searching */

/* Where values would go in sorted to keep it sorted: before equal elements, after them when right. sorted
   [n] with values of any shape, or sorted [..., n] with values [..., m]; one dtype. Result i64. */
KN_API kn_tensor kn_searchsorted(kn_tensor sorted, kn_tensor values, bool right);
/* searchsorted with the operands the other way round: the bucket of each x between 1-d boundaries. */
KN_API kn_tensor kn_bucketize(kn_tensor x, kn_tensor boundaries, bool right);
/* Whether each element of x equals an element of values (or none, with invert): bool, shape of x. NaN equals nothing. */
KN_API kn_tensor kn_isin(kn_tensor x, kn_tensor values, bool invert);

/* ---- distinct values */

typedef struct kn_unique_result {
    kn_tensor values;  /* [count], ascending */
    kn_tensor inverse; /* i64, shape of x: where each element stands in values */
    kn_tensor counts;  /* i64 [count] */
} kn_unique_result;
/* Waits for the device to learn the count. NaN is different from itself. */
KN_API kn_unique_result kn_unique(kn_tensor x);

/* The distinct slices x[..., i, ...] along an axis, in the order of their elements: values is x with fewer slices, inverse [size of
   the axis] says where each one stands. */
KN_API kn_unique_result kn_unique_axis(kn_tensor x, int32_t axis);
/* The first element of each run of equal ones in row-major order, and of each run of equal slices along an axis. Counts are the
   lengths of the runs. */
KN_API kn_unique_result kn_unique_consecutive(kn_tensor x);
KN_API kn_unique_result kn_unique_consecutive_axis(kn_tensor x, int32_t axis);

typedef struct kn_unique_bounded_result {
    kn_tensor values, inverse, counts; /* values and counts [elements of x]: zeros from count on */
    kn_tensor count;                   /* i64 [] */
} kn_unique_bounded_result;
/* The same without waiting. */
KN_API kn_unique_bounded_result kn_unique_bounded(kn_tensor x);

typedef struct kn_distinct_args {
    bool by_axis; /* slices x[..., i, ...] along an axis; else the elements of x in row-major order */
    int32_t axis;
    bool unsorted; /* in the order in which they come; else ascending, slices by their elements */
} kn_distinct_args;
#define KN_DISTINCT_ARGS_DEFAULTS KN_ZEROED
/* n: the elements of x, or the size of the axis. Lists have zeros from count on. */
typedef struct kn_distinct_result {
    kn_tensor values;  /* [n], or x's shape */
    kn_tensor first;   /* i64 [n]: where each stands first */
    kn_tensor inverse; /* i64 [n]: where each element or slice stands in values */
    kn_tensor counts;  /* i64 [n] */
    kn_tensor count;   /* i64 [] */
} kn_distinct_result;
/* Distinct elements or slices without waiting for the device to count them; NaN is different from itself. The whole of ONNX's Unique. */
KN_API kn_distinct_result kn_distinct(kn_tensor x, const kn_distinct_args *args);

/* ---- counting */

/* How often each integer 0, 1, ... occurs in x [n], or the sum of its weights [n] (KN_NONE for none): f32
   for f32 weights, else f64. At least min_length bins; waits for the device to learn max(x). */
KN_API kn_tensor kn_bincount(kn_tensor x, kn_tensor weights, int64_t min_length);
/* The same with exactly length bins and no waiting; an element outside 0 .. length - 1 is an error. */
KN_API kn_tensor kn_bincount_bounded(kn_tensor x, kn_tensor weights, int64_t length);

typedef struct kn_histogram_args {
    double low, high;  /* the range; both 0: from min(x) to max(x) */
    kn_tensor weights; /* shape of x, or KN_NONE */
    bool density;      /* divide by the total and the bin width */
} kn_histogram_args;
#define KN_HISTOGRAM_ARGS_DEFAULTS KN_ZEROED
typedef struct kn_histogram_result {
    kn_tensor counts; /* [bins], dtype of x (f32 for halves and integers) */
    kn_tensor edges;  /* [bins + 1] */
} kn_histogram_result;
/* Counts the elements of x in equal bins; elements outside the range are ignored, the last bin has its right
   edge. args NULL for the defaults. */
KN_API kn_histogram_result kn_histogram(kn_tensor x, int64_t bins, const kn_histogram_args *args);

#ifdef __cplusplus
}
#endif
#endif
