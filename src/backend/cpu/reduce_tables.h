/* The vector kernels of reductions, one table by element type and tier. Every fold works on 16 virtual lanes
   and a fixed tree, so all tiers give the same bits. */
#ifndef KNI_REDUCE_TABLES_H
#define KNI_REDUCE_TABLES_H

#include "backend/cpu/tier.h"
#include <stdint.h>

enum { KNI_FOLD_LANES = 16, KNI_FOLD_BLOCK = 1024, KNI_FOLD_ROWS = 64 };
typedef enum kni_fold { KNI_FOLD_SUM, KNI_FOLD_PROD, KNI_FOLD_MAX, KNI_FOLD_MIN, KNI_FOLD_COUNT } kni_fold;

typedef struct kni_fold_kernels {
    /* lanes[16]: element i of x (n <= KNI_FOLD_BLOCK) goes to lane i % 16. */
    void (*block)(const void *x, int64_t n, void *lanes);
    /* a[i] = fold(a[i], b[i]) */
    void (*merge)(void *a, const void *b, int64_t n);
    /* y[r] = fold of the n <= KNI_FOLD_BLOCK elements at x + r * stride. */
    void (*rows)(const void *x, int64_t rows, int64_t n, int64_t stride, void *y);
    /* y[j] = fold of x[r * stride + j] over rows <= KNI_FOLD_ROWS. */
    void (*columns)(const void *x, int64_t rows, int64_t stride, int64_t n, void *y);
} kni_fold_kernels;

typedef struct kni_reduce_kernels {
    kni_fold_kernels folds[KNI_FOLD_COUNT];
    /* The first i with x[i] == *value, or with x[i] NaN when *value is; n when there is none. */
    int64_t (*find)(const void *x, int64_t n, const void *value);
    /* Goes on with the best element of each column and its row number (an integer as wide as the element)
       over rows first .. first + rows - 1; row 0 starts. */
    void (*best_rows[2])(const void *x, int64_t first, int64_t rows, int64_t stride, int64_t n, void *best,
                         void *at); /* [0] largest, [1] smallest */
    /* Contiguous f16 and bf16 to f32; NULL for other element types. */
    void (*widen[2])(const uint16_t *x, int64_t n, float *y);
} kni_reduce_kernels;

KNI_TIER_DECLARE(extern const kni_reduce_kernels, kni_reduce_f32, );
KNI_TIER_DECLARE(extern const kni_reduce_kernels, kni_reduce_f64, );
KNI_TIER_DECLARE(extern const kni_reduce_kernels, kni_reduce_i64, );
KNI_TIER_DECLARE(extern const kni_reduce_kernels, kni_reduce_u64, );
KNI_TIER_DECLARE(extern const kni_reduce_kernels, kni_reduce_u8, );

#endif
