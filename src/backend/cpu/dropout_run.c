/* The CPU entry of dropout: strips of elements, with the words they draw made just before. */
#include "backend/cpu/dropout_kernels.h"
#include "backend/cpu/elementwise_convert.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/norm_drive.h"
#include "ops/dropout.h"
#include "ops/native.h"

enum { STRIP = 512, BLOCK = 1 << 14 };

typedef void words_fn(uint32_t *words, uint64_t key, uint64_t counter, int64_t blocks);
typedef void f32_fn(float *y, const float *x, const uint32_t *words, int64_t limit, const double *numbers,
                    int64_t n);
typedef void f64_fn(double *y, const double *x, const uint32_t *words, int64_t limit, const double *numbers,
                    int64_t n);
static words_fn *const words_table[KNI_ISA_COUNT] = KNI_TIER_TABLE(kni_dropout_words);
static f32_fn *const f32_table[KNI_ISA_COUNT] = KNI_TIER_TABLE(kni_dropout_f32);
static f64_fn *const f64_table[KNI_ISA_COUNT] = KNI_TIER_TABLE(kni_dropout_f64);

typedef struct dropout_job {
    const kni_dropout_attributes *a;
    words_fn *words;
    const char *x;
    char *y;
    int64_t n, limit;
    int dtype, bytes;
} dropout_job;

/* words[k] is the word of element begin + k. */
static void draw(const dropout_job *j, int64_t begin, int64_t n, uint32_t *words)
{
    const kni_dropout_attributes *a = j->a;
    uint64_t key = (uint64_t)a->key, counter = (uint64_t)a->counter;
    if (a->group == 1) { /* begin is a multiple of four */
        j->words(words, key, counter + (uint64_t)(begin / 4), (n + 3) / 4);
        return;
    }
    int64_t drawn = -1;
    uint32_t four[4] = {0};
    for (int64_t k = 0; k < n; k++) {
        int64_t at = (begin + k) / a->group;
        if (at / 4 != drawn) j->words(four, key, counter + (uint64_t)(at / 4), 1);
        drawn = at / 4;
        words[k] = four[at % 4];
    }
}

static void run_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    const dropout_job *j = argument;
    _Alignas(64) uint32_t words[STRIP + 4];
    _Alignas(64) float buffer[STRIP];
    double numbers[3] = {j->a->scale, j->a->shift, j->a->dropped};
    int64_t end = (task + 1) * BLOCK < j->n ? (task + 1) * BLOCK : j->n;
    for (int64_t at = task * BLOCK; at < end; at += STRIP) {
        int64_t n = end - at < STRIP ? end - at : STRIP;
        const char *x = j->x + at * j->bytes;
        char *y = j->y + at * j->bytes;
        draw(j, at, n, words);
        if (j->dtype == KN_F64) {
            f64_table[kni_cpu_tier()]((double *)y, (const double *)x, words, j->limit, numbers, n);
        } else if (j->dtype == KN_F32) {
            f32_table[kni_cpu_tier()]((float *)y, (const float *)x, words, j->limit, numbers, n);
        } else {
            kni_cpu_convert(buffer, KN_F32, 1, x, j->dtype, 1, n);
            f32_table[kni_cpu_tier()](buffer, buffer, words, j->limit, numbers, n);
            kni_cpu_convert(y, j->dtype, 1, buffer, KN_F32, 1, n);
        }
    }
}

static kn_status run_dropout(const kn_record *r)
{
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0);
    kni_borrowed from;
    if (!kni_host_borrow(x, x->type.dtype, &from)) return KN_ERROR_MEMORY;
    kn_status s = kni_host_allocate_or_reuse(r, y, 1);
    if (s == KN_OK) {
        dropout_job j = {.a = r->attributes, .words = words_table[kni_cpu_tier()], .x = from.data};
        j.y = y->storage->data;
        j.n = kni_count(&y->type);
        j.limit = kni_dropout_limit(j.a->p);
        j.dtype = y->type.dtype;
        j.bytes = kni_dtypes[j.dtype].bits / 8;
        kni_norm_share(j.n, (j.n + BLOCK - 1) / BLOCK, run_task, &j);
    }
    kni_host_unborrow(&from);
    return s;
}

const kni_native kni_cpu_dropout = {.run = run_dropout};
