/* The CPU entries of sum, prod, mean, max, min, any and all. */
#include "backend/cpu/isa.h"
#include "backend/cpu/reduce_plan.h"
#include "ops/native.h"
#include "ops/reduce_axes.h"
#include <string.h>

/* Results of a dtype other than the strips' are made beside and converted. */
typedef struct results {
    char *data;
    size_t bytes; /* 0: the tensor's own memory */
} results;

static kn_status results_begin(kni_tensor *y, int strip_dtype, results *out)
{
    kn_status s = kni_host_allocate(y);
    if (s) return s;
    out->bytes = 0;
    out->data = y->storage->data;
    if (y->type.dtype == strip_dtype) return KN_OK;
    int64_t bytes = kn_dtype_bytes((kn_dtype)strip_dtype, kni_count(&y->type));
    out->data = bytes < 0 ? NULL : kni_allocate((size_t)bytes);
    if (!out->data) return kni_fail_op(KN_ERROR_MEMORY, NULL, "no memory for partial results");
    out->bytes = bytes ? (size_t)bytes : 1; /* an empty result has a block too */
    return KN_OK;
}

static void results_end(kni_tensor *y, int strip_dtype, results *out)
{
    if (!out->bytes) return;
    kni_convert(y->storage->data, y->type.dtype, 1, out->data, strip_dtype, 1, kni_count(&y->type));
    kni_free(out->data, out->bytes);
}

static void divide(char *y, int dtype, int64_t n, double count)
{
    float *f32 = (float *)(void *)y;
    double *f64 = (double *)(void *)y;
    if (dtype == KN_F32)
        for (int64_t i = 0; i < n; i++) f32[i] /= (float)count;
    else
        for (int64_t i = 0; i < n; i++) f64[i] /= count;
}

/* What an empty axis gives. */
static void fill_neutral(char *y, int dtype, int64_t n, kni_fold fold)
{
    double value = fold == KNI_FOLD_PROD || fold == KNI_FOLD_MIN ? 1.0 : 0.0;
    kni_convert(y, dtype, 1, &value, KN_F64, 0, n);
}

enum { NARROW = 16, WIDE_ROWS = 16 };

/* A few dense columns would leave the vectors empty: 16 rows are walked as one wide row, and its 16 parts
   folded at the end. */
static bool is_narrow(const kni_reduce_plan *p)
{
    return !p->inner_reduced && p->direct && p->n_kept == 0 && p->n_lines == 0 && p->inner.n <= NARROW &&
           p->inner.y == 1 && p->segment.x == p->inner.n && p->segment.n >= 16 * WIDE_ROWS;
}

static kn_status run_narrow(const kni_reduce_plan *p)
{
    _Alignas(64) char wide[NARROW * WIDE_ROWS * 8];
    int64_t columns = p->inner.n, rows = p->segment.n / WIDE_ROWS, rest = p->segment.n % WIDE_ROWS;
    kni_reduce_plan q = *p;
    q.y = wide;
    q.inner.n = columns * WIDE_ROWS;
    q.segment = (kni_reduce_axis_walk){rows, q.inner.n, 0};
    q.line_blocks = q.blocks = (rows + q.block - 1) / q.block;
    q.strips = q.units = (q.inner.n + KNI_FOLD_COLUMNS - 1) / KNI_FOLD_COLUMNS;
    kn_status s = kni_reduce_plan_run(&q);
    if (s) return s;
    p->fold->merge(wide, p->x + rows * q.inner.n * p->x_bytes, rest * columns);
    for (int64_t half = WIDE_ROWS / 2; half > 0; half /= 2)
        p->fold->merge(wide, wide + half * columns * p->bytes, half * columns);
    memcpy(p->y, wide, (size_t)(columns * p->bytes));
    return KN_OK;
}

#ifdef KN_FREESTANDING
/* Strips of converted elements would not fit a small stack: a copy is converted as a whole. */
static kn_status run_converted(kni_reduce_plan *p, const kni_tensor *x, uint32_t mask)
{
    kni_tensor lines = *x;
    kni_borrowed copy;
    lines.type.dtype = (uint8_t)p->x_dtype;
    if (!kni_host_borrow(&lines, p->strip_dtype, &copy)) return KN_ERROR_MEMORY;
    kni_contiguous_strides(lines.type.rank, lines.type.dims, lines.strides);
    p->x = copy.data;
    p->x_dtype = p->strip_dtype;
    p->x_bytes = p->bytes;
    kni_reduce_plan_axes(p, &lines, mask);
    kn_status s = kni_reduce_plan_run(p);
    kni_host_unborrow(&copy);
    return s;
}
#endif

static kn_status run_plan(kni_reduce_plan *p, const kni_tensor *x, uint32_t mask)
{
    kni_reduce_plan_axes(p, x, mask);
#ifdef KN_FREESTANDING
    if (!p->direct) return run_converted(p, x, mask);
#endif
    return is_narrow(p) ? run_narrow(p) : kni_reduce_plan_run(p);
}

static kn_status run_fold(const kn_record *r, kni_fold fold, kni_reduce_type type, bool average)
{
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0);
    const kni_reduce_attributes *a = r->attributes;
    results out;
    kn_status s = results_begin(y, type.strip_dtype, &out);
    if (s) return s;
    int64_t n = kni_count(&y->type), elements = kni_count(&x->type);
    kni_reduce_plan p = {.fold = &type.kernels[kni_cpu_tier()]->folds[fold],
                         .x = kni_pointer(x),
                         .y = out.data,
                         .x_dtype = x->type.dtype,
                         .strip_dtype = type.strip_dtype,
                         .x_bytes = (int64_t)kni_element_bytes(x),
                         .bytes = kni_bytes_of(type.strip_dtype)};
    if (kni_is_half(x->type.dtype))
        p.widen = type.kernels[kni_cpu_tier()]->widen[kni_is_brain(x->type.dtype)];
    /* Sums and products of 64-bit integers are the same with and without sign. */
    if (p.x_dtype == KN_U64 && p.strip_dtype == KN_I64) p.x_dtype = KN_I64;
    if (elements == 0)
        fill_neutral(out.data, type.strip_dtype, n, fold);
    else
        s = run_plan(&p, x, kni_reduce_mask(&a->axes));
    if (average && n) divide(out.data, type.strip_dtype, n, (double)elements / (double)n);
    results_end(y, type.strip_dtype, &out);
    return s;
}

static kn_status run_total(const kn_record *r, kni_fold fold, bool average)
{
    return run_fold(r, fold, kni_reduce_type_of_totals(kni_in(r, 0)->type.dtype), average);
}

static kn_status run_extreme(const kn_record *r, kni_fold fold)
{
    return run_fold(r, fold, kni_reduce_type_of_extremes(kni_in(r, 0)->type.dtype), false);
}

static kn_status run_truth(const kn_record *r, kni_fold fold)
{
    return run_fold(r, fold, kni_reduce_type_of_truths(), false);
}

static kn_status run_sum(const kn_record *r) { return run_total(r, KNI_FOLD_SUM, false); }
static kn_status run_prod(const kn_record *r)
{
    kn_status s = run_total(r, KNI_FOLD_PROD, false);
    kni_tensor *x = kni_in(r, 0);
    if (s == KN_OK && kni_is_float(x->type.dtype))
        kni_prod_again(x, kni_out(r, 0),
                       kni_reduce_mask(&((const kni_reduce_attributes *)r->attributes)->axes));
    return s;
}
static kn_status run_mean(const kn_record *r) { return run_total(r, KNI_FOLD_SUM, true); }
static kn_status run_max(const kn_record *r) { return run_extreme(r, KNI_FOLD_MAX); }
static kn_status run_min(const kn_record *r) { return run_extreme(r, KNI_FOLD_MIN); }
static kn_status run_any(const kn_record *r) { return run_truth(r, KNI_FOLD_MAX); }
static kn_status run_all(const kn_record *r) { return run_truth(r, KNI_FOLD_MIN); }

extern const kni_native kni_cpu_sum, kni_cpu_prod, kni_cpu_mean, kni_cpu_max, kni_cpu_min, kni_cpu_any,
    kni_cpu_all;
const kni_native kni_cpu_sum = {.run = run_sum}, kni_cpu_prod = {.run = run_prod},
                 kni_cpu_mean = {.run = run_mean}, kni_cpu_max = {.run = run_max},
                 kni_cpu_min = {.run = run_min}, kni_cpu_any = {.run = run_any},
                 kni_cpu_all = {.run = run_all};
