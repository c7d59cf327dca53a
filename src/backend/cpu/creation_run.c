/* The CPU's entries of the creation rows: constants and ranges. */
#include "backend/host/host.h"
#include "backend/host/host_copy.h"
#include "core/thread_pool.h"
#include "ops/creation_rows.h"
#include "ops/native.h"

static kn_status run_full(const kn_record *r)
{
    const kni_full_attributes *a = r->attributes;
    kni_tensor *y = kni_out(r, 0);
    kn_status s = kni_host_allocate(y);
    if (s) return s;
    char value[8];
    if (kn_dtype_is_float((kn_dtype)y->type.dtype))
        kni_convert(value, y->type.dtype, 1, &a->value, KN_F64, 1, 1);
    else
        kni_convert(value, y->type.dtype, 1, &a->whole, KN_I64, 1, 1);
    kni_host_fill(y->storage->data, value, kni_element_bytes(y), kni_count(&y->type));
    return KN_OK;
}
const kni_native kni_cpu_full = {.run = run_full};

enum { STRIP = 512, BLOCK = 1 << 14 };

typedef struct range {
    const kni_iota_attributes *a;
    char *to;
    int dtype;
} range;

/* Numbers are made in f64 or 64-bit integers, as the reference kernel does. The sum of two small whole numbers is
   exact, and converting the second from 32 bits is quick. */
static void reals_from(const kni_iota_attributes *a, int64_t at, int n, double *y)
{
    double start = a->start, step = a->step, first = (double)at;
    for (int i = 0; i < n; i++) y[i] = start + (first + (double)i) * step;
}

static void integers_from(const kni_iota_attributes *a, int64_t at, int n, uint64_t *y)
{
    uint64_t step = (uint64_t)a->whole_step, first = (uint64_t)a->whole_start + (uint64_t)at * step;
    for (int i = 0; i < n; i++) y[i] = first + (uint64_t)i * step;
}

static void iota_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    const range *g = argument;
    int64_t end = (task + 1) * BLOCK < g->a->length ? (task + 1) * BLOCK : g->a->length;
    int64_t bytes = kni_dtypes[g->dtype].bits / 8;
    bool floats = kni_dtypes[g->dtype].kind == KNI_KIND_FLOAT;
    union {
        double reals[STRIP];
        uint64_t integers[STRIP];
    } strip;
    for (int64_t at = task * BLOCK; at < end; at += STRIP) {
        int n = (int)(end - at < STRIP ? end - at : STRIP);
        if (floats)
            reals_from(g->a, at, n, strip.reals);
        else
            integers_from(g->a, at, n, strip.integers);
        kni_convert(g->to + at * bytes, g->dtype, 1, &strip, floats ? KN_F64 : KN_I64, 1, n);
    }
}

static kn_status run_iota(const kn_record *r)
{
    kni_tensor *y = kni_out(r, 0);
    kn_status s = kni_host_allocate(y);
    if (s) return s;
    range g = {r->attributes, y->storage->data, y->type.dtype};
    if (g.a->length > 0) kni_parallel_for((g.a->length + BLOCK - 1) / BLOCK, iota_task, &g);
    return KN_OK;
}
const kni_native kni_cpu_iota = {.run = run_iota};
