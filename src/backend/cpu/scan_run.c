/* The CPU entries of the cumulative ops: lines and strips of columns are tasks; a few long lines are cut into
   chunks whose totals are added first. */
#include "backend/cpu/scan_tables.h"
#include "backend/host/host.h"
#include "core/thread_pool.h"
#include "ops/native.h"
#include "ops/scan_attributes.h"
#include <stdatomic.h>

enum { TASK_ELEMENTS = 1 << 14, CHUNK = 1 << 15 };

typedef struct plan {
    const kni_scan_kernels *kernels;
    kni_scan_fn scan;
    const char *x, *more;
    char *y;
    int64_t *positions;
    int64_t bytes, axis, inner, outer, strips, units, per_task, chunks;
    bool reverse, exclusive, product;
    char *totals;
    atomic_bool overflows; /* totals of chunks may, where the sum from the first element on does not */
} plan;

/* Unit u: one line, or a strip of lines side by side. */
static kni_scan_lines unit_lines(const plan *p, int64_t u)
{
    int64_t first = u % p->strips * KNI_SCAN_COLUMNS, left = p->inner - first;
    int64_t at = u / p->strips * p->axis * p->inner + first;
    if (p->reverse) at += (p->axis - 1) * p->inner;
    kni_scan_lines l = {.x = p->x + at * p->bytes,
                        .more = p->more ? p->more + at * p->bytes : NULL,
                        .y = p->y + at * p->bytes,
                        .positions = p->positions ? p->positions + at : NULL,
                        .n = p->axis,
                        .step = p->reverse ? -p->inner : p->inner,
                        .width = left < KNI_SCAN_COLUMNS ? left : KNI_SCAN_COLUMNS,
                        .exclusive = p->exclusive};
    return l;
}

static void run_units(void *argument, int64_t task, int worker)
{
    (void)worker;
    const plan *p = argument;
    int64_t begin = task * p->per_task, end = begin + p->per_task;
    for (int64_t u = begin; u < end && u < p->units; u++) {
        kni_scan_lines l = unit_lines(p, u);
        p->scan(&l);
    }
}

static void run_whole(plan *p)
{
    int64_t work = p->axis * (p->inner < KNI_SCAN_COLUMNS ? p->inner : KNI_SCAN_COLUMNS);
    p->per_task = work < TASK_ELEMENTS ? TASK_ELEMENTS / work : 1;
    kni_parallel_for((p->units + p->per_task - 1) / p->per_task, run_units, p);
}

static kni_scan_lines chunk_lines(const plan *p, int64_t task)
{
    kni_scan_lines l = unit_lines(p, task / p->chunks);
    int64_t first = task % p->chunks * CHUNK;
    l.x = (const char *)l.x + first * l.step * p->bytes;
    l.y = (char *)l.y + first * l.step * p->bytes;
    l.n = p->axis - first < CHUNK ? p->axis - first : CHUNK;
    return l;
}

static void total_chunk(void *argument, int64_t task, int worker)
{
    (void)worker;
    plan *p = argument;
    kni_scan_lines l = chunk_lines(p, task);
    if (!p->kernels->chunk_total(&l, p->product, p->chunks, p->totals + task * 8))
        atomic_store_explicit(&p->overflows, true, memory_order_relaxed);
}

static void scan_chunk(void *argument, int64_t task, int worker)
{
    (void)worker;
    const plan *p = argument;
    kni_scan_lines l = chunk_lines(p, task);
    l.carry = p->totals + task * 8;
    p->scan(&l);
}

static kn_status run_chunks(plan *p)
{
    p->chunks = (p->axis + CHUNK - 1) / CHUNK;
    size_t bytes = (size_t)(p->units * p->chunks) * 8;
    p->totals = kni_allocate(bytes);
    if (!p->totals) return kni_fail_op(KN_ERROR_MEMORY, NULL, "no memory for the totals of chunks");
    kni_parallel_for(p->units * p->chunks, total_chunk, p);
    if (atomic_load(&p->overflows)) {
        run_whole(p);
    } else {
        for (int64_t u = 0; u < p->units; u++)
            p->kernels->carries(p->totals + u * p->chunks * 8, p->chunks, p->product);
        kni_parallel_for(p->units * p->chunks, scan_chunk, p);
    }
    kni_free(p->totals, bytes);
    return KN_OK;
}

static kn_status run_plan(plan *p, bool divisible)
{
    p->strips = (p->inner + KNI_SCAN_COLUMNS - 1) / KNI_SCAN_COLUMNS;
    p->units = p->outer * p->strips;
    if (divisible && p->inner == 1 && p->outer < 16 && p->axis >= 2 * CHUNK) return run_chunks(p);
    run_whole(p);
    return KN_OK;
}

/* The dtype that elements are scanned in. */
static int work_dtype(int dtype)
{
    if (dtype == KN_F64 || dtype == KN_U64) return dtype;
    return KNI_FLOATS >> dtype & 1 ? KN_F32 : KN_I64;
}

static kn_status run_scan(const kn_record *r, int dtype, kni_scan_fn scan, bool product, bool divisible)
{
    const kni_scan_attributes *a = r->attributes;
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0), *more = r->n_in > 1 ? kni_in(r, 1) : NULL;
    kn_status s = kni_host_allocate(y);
    if (s == KN_OK && r->n_out > 1) s = kni_host_allocate(kni_out(r, 1));
    int64_t n = kni_count(&x->type);
    if (s || n == 0) return s;
    plan p = {.kernels = kni_scan_kernels_of(dtype),
              .scan = scan,
              .y = y->storage->data,
              .positions = r->n_out > 1 ? kni_out(r, 1)->storage->data : NULL,
              .bytes = kni_bytes_of(dtype),
              .axis = x->type.rank ? x->type.dims[a->axis] : 1,
              .inner = 1,
              .outer = 1,
              .reverse = a->reverse != 0,
              .exclusive = a->exclusive != 0,
              .product = product};
    for (int i = 0; i < x->type.rank; i++)
        if (i != a->axis) *(i < a->axis ? &p.outer : &p.inner) *= x->type.dims[i];
    kni_borrowed first = {NULL, 0}, second = {NULL, 0};
    /* Where y's dtype is another one, results come to lie here first. */
    size_t bytes = y->type.dtype == dtype ? 0 : (size_t)(n * p.bytes);
    char *unrounded = NULL;
    if (!kni_host_borrow(x, dtype, &first) || (more && !kni_host_borrow(more, dtype, &second)))
        s = KN_ERROR_MEMORY;
    if (s == KN_OK && bytes) {
        p.y = unrounded = kni_allocate(bytes);
        if (!unrounded) s = kni_fail_op(KN_ERROR_MEMORY, NULL, "no memory for the unrounded results");
    }
    p.x = first.data;
    p.more = second.data;
    if (s == KN_OK) s = run_plan(&p, divisible);
    if (s == KN_OK && unrounded) kni_convert(y->storage->data, y->type.dtype, 1, unrounded, dtype, 1, n);
    if (unrounded) kni_free(unrounded, bytes);
    kni_host_unborrow(&first);
    kni_host_unborrow(&second);
    return s;
}

/* Totals of integers are the same with and without sign. */
static int total_dtype(const kn_record *r)
{
    int dtype = work_dtype(kni_in(r, 0)->type.dtype);
    return dtype == KN_U64 ? KN_I64 : dtype;
}

static kn_status run_cumsum(const kn_record *r)
{
    int dtype = total_dtype(r);
    return run_scan(r, dtype, kni_scan_kernels_of(dtype)->sum, false, true);
}

/* Products of floats are taken one after the other: that of a chunk alone may be infinite where what comes before it is
   0, and 0 times that is NaN. */
static kn_status run_cumprod(const kn_record *r)
{
    int dtype = total_dtype(r);
    return run_scan(r, dtype, kni_scan_kernels_of(dtype)->product, true, dtype == KN_I64);
}

static kn_status run_cummax(const kn_record *r)
{
    int dtype = work_dtype(kni_in(r, 0)->type.dtype);
    return run_scan(r, dtype, kni_scan_kernels_of(dtype)->largest, false, false);
}

static kn_status run_cummin(const kn_record *r)
{
    int dtype = work_dtype(kni_in(r, 0)->type.dtype);
    return run_scan(r, dtype, kni_scan_kernels_of(dtype)->smallest, false, false);
}

static kn_status run_linear(const kn_record *r)
{
    int dtype = work_dtype(kni_in(r, 0)->type.dtype);
    return run_scan(r, dtype, kni_scan_kernels_of(dtype)->linear, false, false);
}

extern const kni_native kni_cpu_cumsum, kni_cpu_cumprod, kni_cpu_cummax, kni_cpu_cummin, kni_cpu_scan_linear;
const kni_native kni_cpu_cumsum = {.run = run_cumsum}, kni_cpu_cumprod = {.run = run_cumprod},
                 kni_cpu_cummax = {.run = run_cummax}, kni_cpu_cummin = {.run = run_cummin},
                 kni_cpu_scan_linear = {.run = run_linear};
