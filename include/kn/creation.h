/* Tensors from nothing: constants, ranges, masks and random numbers, on the calling thread's device
   (kn_device_use). The _like forms have the shape and dtype of their operand, which they only borrow. */
#ifndef KN_CREATION_H
#define KN_CREATION_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- constants */

KN_API kn_tensor kn_zeros(kn_shape shape, kn_dtype dtype);
KN_API kn_tensor kn_ones(kn_shape shape, kn_dtype dtype);
/* A number that is stored in integers, here, by kn_pad and by fills: a fraction is cut toward zero (kn_threshold refuses it), what
   the dtype does not hold (beyond its range, NaN, infinite) is an error; in bool everything but 0 is true. */
KN_API kn_tensor kn_full(kn_shape shape, double value, kn_dtype dtype);
/* For integers that a double cannot hold; a u64 takes the bits. */
KN_API kn_tensor kn_full_int(kn_shape shape, int64_t value, kn_dtype dtype);
/* The elements have no particular value. */
KN_API kn_tensor kn_empty(kn_shape shape, kn_dtype dtype);
KN_API kn_tensor kn_zeros_like(kn_tensor x);
KN_API kn_tensor kn_ones_like(kn_tensor x);
KN_API kn_tensor kn_full_like(kn_tensor x, double value);
KN_API kn_tensor kn_empty_like(kn_tensor x);

/* ---- ranges */

/* start, start + step, ... below stop (above it when step < 0). */
KN_API kn_tensor kn_arange(double start, double stop, double step, kn_dtype dtype);
/* n numbers from start to stop, both included. */
KN_API kn_tensor kn_linspace(double start, double stop, int64_t n, kn_dtype dtype);
/* base to the power of kn_linspace(start, stop, n). */
KN_API kn_tensor kn_logspace(double start, double stop, int64_t n, double base, kn_dtype dtype);
/* The index tuples of all elements of `shape`, in row-major order: i64 [sizes..., rank]. */
KN_API kn_tensor kn_cartesian_grid(kn_shape shape);

/* ---- matrices and masks. Matrices are the last two axes; offset 0 is the main diagonal, above it is > 0 */

/* 1 where row = column. */
KN_API kn_tensor kn_eye(int64_t rows, int64_t columns, kn_dtype dtype);
/* x on and above the diagonal `offset`, zero below. */
KN_API kn_tensor kn_triu(kn_tensor x, int64_t offset);
/* x on and below the diagonal `offset`, zero above. */
KN_API kn_tensor kn_tril(kn_tensor x, int64_t offset);
/* Masks, true on the triangle or diagonal and false elsewhere. As everywhere, true is what takes part: kn_attention takes
   kn_lower_mask as it is, and kn_mask_fill, which fills where a mask is true, kn_logical_not of it. */
KN_API kn_tensor kn_upper_mask(kn_shape shape, int64_t offset);
KN_API kn_tensor kn_lower_mask(kn_shape shape, int64_t offset);
KN_API kn_tensor kn_diagonal_mask(kn_shape shape, int64_t offset);
/* The rows and columns of the elements of a triangle, i64 [2, count], in row-major order. */
KN_API kn_tensor kn_tril_indices(int64_t rows, int64_t columns, int64_t offset);
KN_API kn_tensor kn_triu_indices(int64_t rows, int64_t columns, int64_t offset);
/* y[..., c] = 1 where indices[...] = c, else 0, for c in 0 .. classes - 1; others are an error. */
KN_API kn_tensor kn_one_hot(kn_tensor indices, int64_t classes, kn_dtype dtype);
typedef struct kn_one_hot_fill_args {
    double on, off; /* 1 and 0 where args is NULL */
    int64_t axis;   /* of the classes in the result; 0 = last, KN_ZERO = axis 0 */
    kn_dtype dtype; /* 0 = f32 */
} kn_one_hot_fill_args;
#define KN_ONE_HOT_FILL_ARGS_DEFAULTS KN_FIELDS(1.0, 0.0, 0, KN_F32)
#define KN_ONE_HOT_FIRST KN_ZERO
/* The same with values of one's choice; -1 is the last class, indices of no class give a row of `off`. */
KN_API kn_tensor kn_one_hot_fill(kn_tensor indices, int64_t classes, const kn_one_hot_fill_args *args);

/* ---- random numbers: counter-based, reproducible after kn_seed, the same on every device */

typedef enum kn_distribution_kind {
    KN_RANDOM_DEFAULT = 0,  /* uniform on [0, 1); integers: 0 to the largest value; bool: a fair coin */
    KN_RANDOM_UNIFORM = 1,  /* on [a, b) */
    KN_RANDOM_NORMAL = 2,   /* mean a, standard deviation b */
    KN_RANDOM_BERNOULLI = 3 /* 1 with probability a, else 0 */
} kn_distribution_kind;
typedef struct kn_distribution {
    kn_distribution_kind kind;
    double a, b;
} kn_distribution;

KN_API kn_tensor kn_random(kn_shape shape, kn_distribution distribution, kn_dtype dtype);
KN_API kn_tensor kn_random_like(kn_tensor x, kn_distribution distribution);
/* Uniform on [lo, hi); integer dtypes draw whole numbers lo .. hi - 1. */
KN_API kn_tensor kn_random_uniform(kn_shape shape, double lo, double hi, kn_dtype dtype);
KN_API kn_tensor kn_random_normal(kn_shape shape, double mean, double deviation, kn_dtype dtype);
KN_API kn_tensor kn_random_bernoulli(kn_shape shape, double probability, kn_dtype dtype);
/* Whole numbers lo .. hi - 1, hi - lo below 2^63; dtype must hold all of them. */
KN_API kn_tensor kn_random_int(kn_shape shape, int64_t lo, int64_t hi, kn_dtype dtype);
/* 32 random bits each, as u32: element i is word i mod 4 of the Philox block at counter + i / 4. */
KN_API kn_tensor kn_random_bits(kn_shape shape);
/* 0 .. n - 1 in random order; dtype must hold all of them exactly. */
KN_API kn_tensor kn_random_permutation(int64_t n, kn_dtype dtype);
/* 1 with the probability that x holds, else 0, in x's dtype. */
KN_API kn_tensor kn_bernoulli(kn_tensor x);
/* `samples` indices for each row of probabilities [..., n], drawn with replacement: i64 [..., samples]. A row need
   not add up to one; numbers that are not positive count as 0, and a row without others gives -1. */
KN_API kn_tensor kn_categorical(kn_tensor probabilities, int64_t samples);

/* ---- old names */

/* False on the triangle or diagonal, true elsewhere. */
KN_API kn_tensor kn_triu_mask(kn_shape shape, int64_t offset)
    KN_DEPRECATED("write kn_logical_not(kn_upper_mask(shape, offset))");
KN_API kn_tensor kn_tril_mask(kn_shape shape, int64_t offset)
    KN_DEPRECATED("write kn_logical_not(kn_lower_mask(shape, offset))");
KN_API kn_tensor kn_diag_mask(kn_shape shape, int64_t offset)
    KN_DEPRECATED("write kn_logical_not(kn_diagonal_mask(shape, offset))");

#ifdef __cplusplus
}
#endif
#endif
