/* The CPU's entries of rows that make values of scalars: constants, ranges, random numbers, dropout. Strips of elements are
   made by the loops of the row's body, with the random words that they draw made just before, and converted to the dtype. */
#include "backend/cpu/elementwise_convert.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/made_table.h"
#include "backend/host/host.h"
#include "backend/host/host_copy.h"
#include "core/math/philox.h"
#include "core/thread_pool.h"
#include "ops/native.h"

#ifdef KN_FREESTANDING
enum { BLOCK = 1 << 20 };
#else
enum { BLOCK = 1 << 14 };
#endif
enum { STRIP = KNI_MADE_STRIP, WORDS = 4, MAX_IN = 1 };

#if !defined(KN_FREESTANDING) && !defined(KN_COMPACT)
typedef void words_fn(uint64_t key, uint64_t counter, int n, int draws, uint32_t *words);
static words_fn *const words_table[] = KNI_TIER_TABLE(kni_made_words);
#endif

typedef struct job {
    const kni_made_strips *strips;
    kni_made_strip *strip;
    kni_body_number numbers[KNI_BODY_SCALARS];
    uint64_t key, counter;
    uint32_t choices;
    int draws;         /* words of an element */
    int n_in, compute; /* the dtype that operands have in a strip, */
    int made;          /* and results, */
    int dtype;         /* and both in memory */
    int64_t n, bytes;
    const char *x[MAX_IN];
    char *y;
} job;

/* As kiln-gen knows the row, see gen_made.c. */
typedef struct entry {
    void (*make_all)(const job *j);
    bool single;
    int8_t dtype, key, counter;
} entry;

/* The words of elements that draw at the places p. */
static void gather(const job *j, const int64_t *p, int n, uint32_t *words)
{
    uint32_t block[WORDS] = {0};
    int64_t last = -1, drawn = -1;
    const uint32_t *from = block;
    for (int k = 0; k < n; k++) {
        if (p[k] != last) {
            uint64_t first = (uint64_t)p[k] * (uint64_t)j->draws;
            if ((int64_t)(first / WORDS) != drawn) kni_philox(j->key, j->counter + first / WORDS, block);
            drawn = (int64_t)(first / WORDS);
            from = block + first % WORDS;
            last = p[k];
        }
        words[k] = from[0];
        for (int i = 1; i < j->draws; i++) words[i * STRIP + k] = from[i];
    }
}

static void draw(const job *j, int64_t at, int n, uint32_t *words)
{
    int64_t places[STRIP];
    bool apart = j->strips->places && j->strips->places(n, at, places, j->numbers, j->choices);
#if defined(KN_FREESTANDING) || defined(KN_COMPACT)
    for (int k = 0; k < n && !apart; k++) places[k] = at + k;
    gather(j, places, n, words);
#else
    if (apart)
        gather(j, places, n, words);
    else
        words_table[kni_cpu_tier()](j->key, j->counter + (uint64_t)(at * j->draws / WORDS), n, j->draws,
                                    words);
#endif
}

/* Reals become integers of 64 bits, and those the dtype's. */
static void store(const job *j, char *to, void *from, int n)
{
    int64_t whole[STRIP];
    if (!kni_is_float(j->made) || kni_is_float(j->dtype)) {
        kni_cpu_convert(to, j->dtype, 1, from, j->made, 1, n);
        return;
    }
    kni_convert(whole, KN_I64, 1, from, j->made, 1, n);
    kni_convert(to, j->dtype, 1, whole, KN_I64, 1, n);
}

static void make(const job *j, int64_t at, int n, char *y)
{
    _Alignas(64) uint32_t words[STRIP * WORDS];
    _Alignas(64) double buffer[STRIP], operands[MAX_IN][STRIP];
    const void *in[MAX_IN] = {NULL};
    if (j->draws) draw(j, at, n, words);
    for (int i = 0; i < j->n_in; i++) {
        in[i] = j->x[i] + at * j->bytes;
        if (j->dtype == j->compute) continue;
        kni_cpu_convert(operands[i], j->compute, 1, in[i], j->dtype, 1, n);
        in[i] = operands[i];
    }
    bool direct = j->made == j->dtype;
    j->strip(n, at, direct ? (void *)y : buffer, in, words, j->numbers, j->choices);
    if (!direct) store(j, y, buffer, n);
}

static void make_block(void *argument, int64_t task, int worker)
{
    (void)worker;
    const job *j = argument;
    int64_t end = (task + 1) * BLOCK < j->n ? (task + 1) * BLOCK : j->n;
    for (int64_t at = task * BLOCK; at < end; at += STRIP)
        make(j, at, (int)(end - at < STRIP ? end - at : STRIP), j->y + at * j->bytes);
}

static void make_each(const job *j)
{
    if (j->n <= BLOCK)
        make_block((void *)(uintptr_t)j, 0, 0);
    else
        kni_parallel_for((j->n + BLOCK - 1) / BLOCK, make_block, (void *)(uintptr_t)j);
}

/* One value, in all elements. */
static void make_one(const job *j)
{
    char value[8];
    make(j, 0, 1, value);
    kni_host_fill(j->y, value, (size_t)j->bytes, j->n);
}

static void prepare(job *j, const kn_record *r, const entry *e)
{
    const kn_op *row = r->row;
    int compute = e->dtype >= 0 ? KNI_COMPUTE_I64 : kni_made_compute(row, e->single, j->dtype);
    for (int i = 0; i < KNI_BODY_SCALARS && row->schema[i].name; i++)
        if (row->schema[i].type != KNI_ATTR_INTS)
            j->numbers[i] = kni_body_attribute(&row->schema[i], r->attributes);
    j->strip = j->strips->strips[compute];
    j->compute = kni_compute_dtype[compute];
    j->made = e->dtype >= 0 ? e->dtype : j->compute;
    j->draws = row->body->draws[j->dtype == KN_F64];
    j->choices = kni_body_choices(row->schema, r->attributes) | kni_body_dtype_choices(j->dtype);
    if (!j->draws) return;
    j->key = (uint64_t)j->numbers[e->key].whole;
    j->counter = (uint64_t)j->numbers[e->counter].whole;
}

static kn_status run(const kn_record *r, const kni_made_strips *strips, const entry *e)
{
    kni_tensor *y = kni_out(r, 0);
    kni_borrowed borrowed[MAX_IN] = {{NULL, 0}};
    job j;
    if (r->n_in > MAX_IN) return KN_ERROR_UNSUPPORTED;
    j.strips = strips;
    j.dtype = y->type.dtype;
    j.n = kni_count(&y->type);
    j.n_in = r->n_in;
    for (int i = 0; i < r->n_in; i++) {
        if (!kni_host_borrow(kni_in(r, i), j.dtype, &borrowed[i])) return KN_ERROR_MEMORY;
        j.x[i] = borrowed[i].data;
    }
    kn_status s = kni_host_allocate_or_reuse(r, y, (UINT64_C(1) << r->n_in) - 1);
    if (s == KN_OK) {
        j.y = y->storage->data;
        j.bytes = (int64_t)kni_element_bytes(y);
        prepare(&j, r, e);
        e->make_all(&j);
    }
    for (int i = 0; i < r->n_in; i++) kni_host_unborrow(&borrowed[i]);
    return s;
}

#define ENTRY(name, single, dtype, key, counter)                                                             \
    static const kni_made_strips *const tiers_##name[] = KNI_TIER_TABLE(&kni_made_##name);                   \
    static kn_status run_##name(const kn_record *r)                                                          \
    {                                                                                                        \
        static const entry e = {(single) ? make_one : make_each, single, dtype, key, counter};               \
        return run(r, tiers_##name[kni_cpu_tier()], &e);                                                     \
    }                                                                                                        \
    const kni_native kni_cpu_##name = {.run = run_##name};
#include "backend/cpu/generated/made_entries.inc"
#undef ENTRY
