/* The CPU's entry of the random row: strips of words become strips of numbers, converted to the dtype. */
#include "backend/cpu/isa.h"
#include "backend/cpu/random_strips.h"
#include "backend/host/host.h"
#include "core/math/math.h"
#include "core/math/philox.h"
#include "core/thread_pool.h"
#include "ops/creation_rows.h"
#include "ops/native.h"

#ifdef KN_FREESTANDING
enum { STRIP = 32, BLOCK = 1 << 20 };
#else
enum { STRIP = 512, BLOCK = 1 << 14 };
#endif

static const kni_random_strips *const tiers[] = KNI_TIER_TABLE(&kni_random_strips_table);

typedef struct drawing {
    const kni_random_attributes *a;
    const kni_random_strips *strips;
    char *to;
    int64_t n, bytes;
    int words, dtype;
} drawing;

typedef union strip {
    double f64[STRIP];
    float f32[STRIP];
    int64_t i64[STRIP];
} strip;

/* Each fills the strip and says what dtype its numbers have. */
static int fill_bits(const drawing *d, int64_t n, const uint32_t *w, strip *y)
{
    (void)d;
    for (int64_t i = 0; i < n; i++) y->i64[i] = w[i];
    return KN_I64;
}

static int fill_uniform(const drawing *d, int64_t n, const uint32_t *w, strip *y)
{
    double a = d->a->a, width = d->a->b - d->a->a, top = d->a->top;
    bool wide = d->dtype == KN_F64;
    if (d->dtype == KN_F32 && a == 0 && d->a->b == 1 && top >= 1 - 0x1p-24) {
        d->strips->uniform_f32(n, w, y->f32);
        return KN_F32;
    }
    for (int64_t i = 0; i < n; i++) {
        double u = wide ? kni_uniform_f64(w[2 * i], w[2 * i + 1]) : (double)(int32_t)(w[i] >> 8) * 0x1p-24;
        double v = a + width * u;
        y->f64[i] = v > top ? top : v;
    }
    return KN_F64;
}

static int fill_normal(const drawing *d, int64_t n, const uint32_t *w, strip *y)
{
    if (d->dtype != KN_F64) {
        d->strips->normal_f32(n, w, (float)d->a->a, (float)d->a->b, y->f32);
        return KN_F32;
    }
    for (int64_t i = 0; i < n; i++)
        y->f64[i] = d->a->a + d->a->b * kni_normal_f64(w[4 * i], w[4 * i + 1], w[4 * i + 2], w[4 * i + 3]);
    return KN_F64;
}

static int fill_bernoulli(const drawing *d, int64_t n, const uint32_t *w, strip *y)
{
    for (int64_t i = 0; i < n; i++) y->i64[i] = (double)w[i] * 0x1p-32 < d->a->a;
    return KN_I64;
}

static int fill_integer(const drawing *d, int64_t n, const uint32_t *w, strip *y)
{
    int64_t lowest = d->a->lowest, range = d->a->range;
    if (range > INT64_C(1) << 31) {
        for (int64_t i = 0; i < n; i++)
            y->i64[i] = lowest + (int64_t)((uint64_t)w[2 * i] << 31 | w[2 * i + 1] >> 1) % range;
    } else {
        uint64_t times = (uint64_t)range;
        for (int64_t i = 0; i < n; i++)
            y->i64[i] = lowest + (int64_t)((w[2 * i] * times + (w[2 * i + 1] * times >> 32)) >> 32);
    }
    return KN_I64;
}

typedef int (*fill_fn)(const drawing *d, int64_t n, const uint32_t *w, strip *y);
static const fill_fn fills[KNI_RANDOM_KINDS] = {fill_bits, fill_uniform, fill_normal, fill_bernoulli,
                                                fill_integer};

static void draw_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    const drawing *d = argument;
    _Alignas(64) uint32_t w[STRIP * 4];
    _Alignas(64) strip y;
    int64_t end = (task + 1) * BLOCK < d->n ? (task + 1) * BLOCK : d->n;
    for (int64_t at = task * BLOCK; at < end; at += STRIP) {
        int64_t n = end - at < STRIP ? end - at : STRIP;
        d->strips->words((uint64_t)d->a->key, (uint64_t)d->a->counter + (uint64_t)(at * d->words / 4),
                         (n * d->words + 3) / 4, w);
        int dtype = fills[d->a->kind](d, n, w, &y);
        kni_convert(d->to + at * d->bytes, d->dtype, 1, &y, dtype, 1, n);
    }
}

static kn_status run_random(const kn_record *r)
{
    const kni_random_attributes *a = r->attributes;
    kni_tensor *y = kni_out(r, 0);
    kn_status s = kni_host_allocate(y);
    if (s) return s;
    drawing d = {a,
                 tiers[kni_cpu_tier()],
                 y->storage->data,
                 kni_count(&y->type),
                 (int64_t)kni_element_bytes(y),
                 kni_random_words(a->kind, a->dtype),
                 y->type.dtype};
    if (d.n > 0) kni_parallel_for((d.n + BLOCK - 1) / BLOCK, draw_task, &d);
    return KN_OK;
}
const kni_native kni_cpu_random = {.run = run_random};
