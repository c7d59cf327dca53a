/* The CPU entries of argmax and argmin. Along memory: the extreme of a stretch first, then its place;
   across memory: best element and row of every column in one pass. */
#include "backend/cpu/isa.h"
#include "backend/cpu/reduce_plan.h"
#include "core/thread_pool.h"
#include "ops/native.h"
#include "ops/reduce_axes.h"
#include <string.h>

enum { STRETCH = 1 << 16, TASK_ELEMENTS = 1 << 14, BATCH = 64, NARROW = 16 };

typedef struct plan {
    const kni_reduce_kernels *kernels;
    const kni_fold_kernels *fold;
    const char *x; /* contiguous [outer, axis, inner] of the strips' dtype */
    int64_t *y;
    int64_t bytes, outer, axis, inner, strips;
    bool smallest;
    int64_t lines_per_task, stretches;
    char *partial; /* the best of each stretch, 8 bytes */
    int64_t *at;   /* and its place */
} plan;

/* The best of n elements into best; returns its place. */
static int64_t best_of(const plan *p, const char *x, int64_t n, void *best)
{
    _Alignas(64) char lanes[KNI_FOLD_LANES * 8], more[KNI_FOLD_LANES * 8];
    for (int64_t i = 0; i < n; i += KNI_FOLD_BLOCK) {
        int64_t block = n - i < KNI_FOLD_BLOCK ? n - i : KNI_FOLD_BLOCK;
        p->fold->block(x + i * p->bytes, block, i ? more : lanes);
        if (i) p->fold->merge(lanes, more, KNI_FOLD_LANES);
    }
    p->fold->rows(lanes, 1, KNI_FOLD_LANES, KNI_FOLD_LANES, best);
    return p->kernels->find(x, n, best);
}

/* The extremes of many lines in one call. */
static void run_short_lines(const plan *p, int64_t begin, int64_t end)
{
    _Alignas(64) char best[BATCH * 8];
    for (int64_t i = begin; i < end; i += BATCH) {
        int64_t lines = end - i < BATCH ? end - i : BATCH;
        const char *x = p->x + i * p->axis * p->bytes;
        p->fold->rows(x, lines, p->axis, p->axis, best);
        for (int64_t k = 0; k < lines; k++)
            p->y[i + k] = p->kernels->find(x + k * p->axis * p->bytes, p->axis, best + k * p->bytes);
    }
}

static void run_lines(void *argument, int64_t task, int worker)
{
    (void)worker;
    const plan *p = argument;
    int64_t begin = task * p->lines_per_task, end = begin + p->lines_per_task;
    if (end > p->outer) end = p->outer;
    if (p->axis <= KNI_FOLD_BLOCK) {
        run_short_lines(p, begin, end);
        return;
    }
    char best[8];
    for (int64_t i = begin; i < end; i++) p->y[i] = best_of(p, p->x + i * p->axis * p->bytes, p->axis, best);
}

static void run_stretch(void *argument, int64_t task, int worker)
{
    (void)worker;
    const plan *p = argument;
    int64_t line = task / p->stretches, first = task % p->stretches * STRETCH;
    int64_t n = p->axis - first < STRETCH ? p->axis - first : STRETCH;
    p->at[task] = first + best_of(p, p->x + (line * p->axis + first) * p->bytes, n, p->partial + task * 8);
}

/* Long lines in stretches; the extreme of all of them is that of the first stretch that holds it. */
static kn_status run_stretches(plan *p)
{
    p->stretches = (p->axis + STRETCH - 1) / STRETCH;
    size_t bytes = (size_t)(p->outer * p->stretches) * 16;
    p->partial = kni_allocate(bytes);
    if (!p->partial) return kni_fail_op(KN_ERROR_MEMORY, NULL, "no memory for partial results");
    p->at = (int64_t *)(void *)(p->partial + p->outer * p->stretches * 8);
    kni_parallel_for(p->outer * p->stretches, run_stretch, p);
    for (int64_t line = 0; line < p->outer; line++) {
        char *bests = p->partial + line * p->stretches * 8, all[8];
        memcpy(all, bests, 8);
        for (int64_t s = 1; s < p->stretches; s++) p->fold->merge(all, bests + s * 8, 1);
        for (int64_t s = 0; s < p->stretches; s++)
            if (p->kernels->find(bests + s * 8, 1, all) == 0) {
                p->y[line] = p->at[line * p->stretches + s];
                break;
            }
    }
    kni_free(p->partial, bytes);
    return KN_OK;
}

static void run_strip(void *argument, int64_t task, int worker)
{
    (void)worker;
    const plan *p = argument;
    _Alignas(64) char best[KNI_FOLD_COLUMNS * 8], at[KNI_FOLD_COLUMNS * 8];
    int64_t line = task / p->strips, first = task % p->strips * KNI_FOLD_COLUMNS;
    int64_t n = p->inner - first < KNI_FOLD_COLUMNS ? p->inner - first : KNI_FOLD_COLUMNS;
    const char *x = p->x + (line * p->axis * p->inner + first) * p->bytes;
    p->kernels->best_rows[p->smallest](x, 0, p->axis, p->inner, n, best, at);
    kni_convert(p->y + line * p->inner + first, KN_I64, 1, at, p->bytes == 4 ? KN_I32 : KN_I64, 1, n);
}

static kn_status run_plan(plan *p)
{
    int64_t elements = p->outer * p->axis * p->inner;
    if (p->inner == 1) {
        if (p->outer < 16 && p->axis >= 2 * STRETCH) return run_stretches(p);
        p->lines_per_task =
            elements <= 2 * TASK_ELEMENTS ? p->outer : (TASK_ELEMENTS + p->axis - 1) / p->axis;
        kni_parallel_for((p->outer + p->lines_per_task - 1) / p->lines_per_task, run_lines, p);
        return KN_OK;
    }
    p->strips = (p->inner + KNI_FOLD_COLUMNS - 1) / KNI_FOLD_COLUMNS;
    if (elements <= 2 * TASK_ELEMENTS)
        for (int64_t t = 0; t < p->outer * p->strips; t++) run_strip(p, t, 0);
    else
        kni_parallel_for(p->outer * p->strips, run_strip, p);
    return KN_OK;
}

/* A view with the axis at the end: a few columns are better copied into lines. */
static void axis_last(kni_tensor *x, int axis, plan *p)
{
    int64_t n = x->type.dims[axis], stride = x->strides[axis];
    for (int a = axis; a + 1 < x->type.rank; a++) {
        x->type.dims[a] = x->type.dims[a + 1];
        x->strides[a] = x->strides[a + 1];
    }
    x->type.dims[x->type.rank - 1] = n;
    x->strides[x->type.rank - 1] = stride;
    p->outer *= p->inner;
    p->inner = 1;
}

/* What elements are compared as. Positions are as wide. */
static int position_dtype(int dtype, int64_t length)
{
    int strip = kni_reduce_type_of_extremes(dtype).strip_dtype;
    if (kni_dtypes[strip].bits == 8) return KN_I64;
    return strip == KN_F32 && length > INT32_MAX ? KN_F64 : strip;
}

static kn_status run_position(const kn_record *r, kni_fold fold)
{
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0);
    int64_t axis = ((const kni_arg_attributes *)r->attributes)->axis;
    int64_t length = x->type.rank ? x->type.dims[axis] : 1;
    int dtype = position_dtype(x->type.dtype, length);
    plan p = {.kernels = kni_reduce_type_of_extremes(dtype).kernels[kni_cpu_tier()],
              .bytes = kni_bytes_of(dtype),
              .axis = length,
              .inner = 1,
              .outer = 1,
              .smallest = fold == KNI_FOLD_MIN};
    for (int a = 0; a < x->type.rank; a++)
        if (a != axis) *(a < axis ? &p.outer : &p.inner) *= x->type.dims[a];
    kn_status s = kni_host_allocate(y);
    if (s || p.outer * p.inner == 0) return s;
    kni_borrowed elements;
    kni_tensor lines = *x;
    if (p.inner < NARROW && p.inner > 1) axis_last(&lines, (int)axis, &p);
    if (!kni_host_borrow(&lines, dtype, &elements)) return KN_ERROR_MEMORY;
    p.fold = &p.kernels->folds[fold];
    p.x = elements.data;
    p.y = y->storage->data;
    s = run_plan(&p);
    kni_host_unborrow(&elements);
    return s;
}

static kn_status run_argmax(const kn_record *r) { return run_position(r, KNI_FOLD_MAX); }
static kn_status run_argmin(const kn_record *r) { return run_position(r, KNI_FOLD_MIN); }

extern const kni_native kni_cpu_argmax, kni_cpu_argmin;
const kni_native kni_cpu_argmax = {.run = run_argmax}, kni_cpu_argmin = {.run = run_argmin};
