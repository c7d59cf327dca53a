/* How the CPU walks over the operand of a reduction. One axis is walked in the order of memory: either a
   reduced one (elements of a block fold into lanes) or a kept one (rows fold into columns). */
#ifndef KNI_REDUCE_PLAN_H
#define KNI_REDUCE_PLAN_H

#include "backend/cpu/reduce_tables.h"
#include "backend/host/host.h"

/* Columns of a kept walk that are folded together, and levels of the tree over blocks. Small stacks hold few. */
#ifdef KN_FREESTANDING
enum { KNI_FOLD_COLUMNS = 16, KNI_FOLD_LEVELS = 16 };
#else
enum { KNI_FOLD_COLUMNS = 256, KNI_FOLD_LEVELS = 16 };
#endif

/* One axis: size, stride in x and in y, in elements. */
typedef struct kni_reduce_axis_walk {
    int64_t n, x, y;
} kni_reduce_axis_walk;

typedef struct kni_reduce_plan {
    const kni_fold_kernels *fold;
    void (*widen)(const uint16_t *x, int64_t n, float *y); /* of contiguous halves, else NULL */
    const char *x;
    char *y; /* of the strip's dtype */
    int x_dtype, strip_dtype;
    int64_t x_bytes, bytes; /* of an element of x, of a strip */
    kni_reduce_axis_walk kept[KN_MAX_RANK], lines[KN_MAX_RANK];
    int n_kept, n_lines;          /* without the two axes below */
    kni_reduce_axis_walk inner;   /* walked in the order of memory */
    kni_reduce_axis_walk segment; /* the reduced axis that blocks are cut from; inner when that is reduced */
    bool inner_reduced;
    bool direct;         /* elements need no conversion */
    int64_t block;       /* of the segment: elements, or rows */
    int64_t line_blocks; /* blocks of one segment */
    int64_t blocks;      /* of one unit */
    int64_t strips;      /* of the inner axis where it is kept */
    int64_t units;       /* independent results: one element, or a strip of them */
} kni_reduce_plan;

/* Which kernels a dtype folds with: the table by tier and the dtype of its strips. */
typedef struct kni_reduce_type {
    const kni_reduce_kernels *const *kernels;
    int strip_dtype;
} kni_reduce_type;
/* For sums and products, for extremes and for truths: apart, so that a program links the tables that it needs. */
kni_reduce_type kni_reduce_type_of_totals(int dtype);
kni_reduce_type kni_reduce_type_of_extremes(int dtype);
kni_reduce_type kni_reduce_type_of_truths(void);

/* Plans the reduction of x over the axes in mask. fold, x, y and the dtypes are set by the caller before. */
void kni_reduce_plan_axes(kni_reduce_plan *p, const kni_tensor *x, uint32_t mask);
/* Runs it; KN_ERROR_MEMORY with its text when there is none for partial results. */
kn_status kni_reduce_plan_run(const kni_reduce_plan *p);
/* Mends the products y of the floats x over the axes in mask, where the order of their factors showed. */
void kni_prod_again(kni_tensor *x, kni_tensor *y, uint32_t mask);

#endif
