/* Running a program of strips. */
#include "backend/cpu/group_strips.h"
#include "backend/cpu/elementwise_convert.h"
#include "backend/jit/group_jit.h"
#include <string.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* One run over a range, on one thread. */
typedef struct runner {
    const kni_strip_program *p;
    const kni_strip_memory *m;
    char *own[KNI_GROUP_REGISTERS];       /* scratch of each register */
    char *registers[KNI_GROUP_REGISTERS]; /* where it is now: a gather may point into memory instead */
    char *stage;                          /* for results that are written past the caches */
    int64_t index[KN_MAX_RANK];           /* of the strip's first element */
} runner;

static inline char *at(const runner *r, kni_strip_place place, int64_t element)
{
    int64_t bytes = kni_dtypes[place.dtype].bits / 8;
    switch (place.kind) {
    case KNI_PLACE_REGISTER:
        return r->registers[place.index];
    case KNI_PLACE_INPUT:
        return (char *)r->m->inputs[place.index] + element * bytes;
    default:
        return r->m->results[place.index] + element * bytes;
    }
}

/* ---- inputs that lie otherwise */

static void find(runner *r, int64_t element)
{
    const kni_strip_program *p = r->p;
    for (int a = p->rank - 1; a >= 0; a--) {
        r->index[a] = element % p->dims[a];
        element /= p->dims[a];
    }
}

static int64_t offset_of(const kni_strip_program *p, const kni_strip_input *in, const int64_t *index)
{
    int64_t offset = 0;
    for (int a = 0; a < p->rank; a++) offset += index[a] * in->strides[a];
    return offset;
}

/* Moves the index on by n elements within its row, and to the next row at its end. */
static void advance(const kni_strip_program *p, int64_t *index, int64_t n)
{
    int last = p->rank - 1;
    index[last] += n;
    for (int a = last; a > 0 && index[a] == p->dims[a]; a--) {
        index[a] = 0;
        index[a - 1]++;
    }
}

static void skip(const kni_strip_program *p, int64_t *index, int64_t n)
{
    int last = p->rank - 1;
    while (n > 0) {
        int64_t run = p->dims[last] - index[last];
        if (run > n) run = n;
        advance(p, index, run);
        n -= run;
    }
}

static void gather(runner *r, const kni_strip_step *s, int64_t n)
{
    const kni_strip_program *p = r->p;
    const kni_strip_input *in = &p->inputs[s->input];
    int last = p->rank - 1;
    int64_t bytes = kni_dtypes[in->dtype].bits / 8, to_bytes = kni_dtypes[s->out.dtype].bits / 8;
    int64_t index[KN_MAX_RANK];
    const char *data = r->m->inputs[s->input];
    char *scratch = r->own[s->out.index];
    bool plain = in->dtype == s->out.dtype && !s->via;
    if (plain && in->strides[last] == 1 && p->dims[last] - r->index[last] >= n) {
        r->registers[s->out.index] = (char *)data + offset_of(p, in, r->index) * bytes;
        return;
    }
    r->registers[s->out.index] = scratch;
    memcpy(index, r->index, sizeof index);
    for (int64_t done = 0; done < n;) {
        int64_t run = p->dims[last] - index[last];
        if (run > n - done) run = n - done;
        const char *from = data + offset_of(p, in, index) * bytes;
        char *to = scratch + done * to_bytes;
        if (in->strides[last] == 0 && run > 1) {
            _Alignas(8) char value[8];
            kni_cpu_convert_via(value, s->out.dtype, s->via, from, in->dtype, 1, 1);
            kni_cpu_splat(to, value, (int)to_bytes, run);
        } else if (plain && in->strides[last] == 1) {
            memcpy(to, from, (size_t)(run * to_bytes));
        } else {
            kni_cpu_convert_via(to, s->out.dtype, s->via, from, in->dtype, in->strides[last], run);
        }
        advance(p, index, run);
        done += run;
    }
}

/* What is the same for every strip. */
static void fill_once(runner *r, const kni_strip_step *s)
{
    const kni_strip_program *p = r->p;
    const kni_strip_input *in = &p->inputs[s->input];
    const char *data = r->m->inputs[s->input];
    int to_bytes = kni_dtypes[s->out.dtype].bits / 8;
    char *to = r->registers[s->out.index];
    if (s->kind == KNI_STRIP_SPLAT) {
        _Alignas(8) char value[8];
        kni_cpu_convert_via(value, s->out.dtype, s->via, data, in->dtype, 1, 1);
        kni_cpu_splat(to, value, to_bytes, p->strip);
        return;
    }
    int last = p->rank - 1;
    int64_t row = p->dims[last];
    kni_cpu_convert_via(to, s->out.dtype, s->via, data, in->dtype, in->strides[last], row);
    for (int64_t done = row; done + row <= p->strip; done += row)
        memcpy(to + done * to_bytes, to, (size_t)(row * to_bytes));
}

/* Results that are larger than the caches are written past them: a store that first fetches what it overwrites would take
   a third of the bandwidth of a short chain. */
static void store_past_caches(char *to, const char *from, int64_t bytes)
{
#if defined(__SSE2__)
    while (bytes > 0 && ((uintptr_t)to & 15)) *to++ = *from++, bytes--;
    for (; bytes >= 64; bytes -= 64, to += 64, from += 64) {
        __m128i a = _mm_loadu_si128((const __m128i *)from), b = _mm_loadu_si128((const __m128i *)(from + 16));
        __m128i c = _mm_loadu_si128((const __m128i *)(from + 32)),
                d = _mm_loadu_si128((const __m128i *)(from + 48));
        _mm_stream_si128((__m128i *)to, a);
        _mm_stream_si128((__m128i *)(to + 16), b);
        _mm_stream_si128((__m128i *)(to + 32), c);
        _mm_stream_si128((__m128i *)(to + 48), d);
    }
#endif
    memcpy(to, from, (size_t)bytes);
}

static void end_stores(void)
{
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

/* Asks for a part of the next strip while this one is computed with, a few lines before each step: else memory would
   rest during the steps that work in the first-level cache. */
static void prefetch(const runner *r, int64_t first, int32_t step)
{
#if defined(__GNUC__)
    const kni_strip_program *p = r->p;
    if (first + 2 * p->strip > p->n) return;
    for (int32_t i = 0; i < p->n_inputs; i++) {
        if (!p->inputs[i].flat) continue;
        int64_t bytes = kni_dtypes[p->inputs[i].dtype].bits / 8, lines = p->strip * bytes / 64;
        const char *from = r->m->inputs[i] + (first + p->strip) * bytes;
        for (int64_t k = lines * step / p->n_steps; k < lines * (step + 1) / p->n_steps; k++)
            __builtin_prefetch(from + k * 64);
    }
#else
    (void)r, (void)first, (void)step;
#endif
}

static void run_strip(runner *r, int64_t first, int64_t n)
{
    const kni_strip_program *p = r->p;
    for (int32_t i = 0; i < p->n_steps; i++) {
        const kni_strip_step *s = &p->steps[i];
        if (s->kind == KNI_STRIP_CALL) {
            const void *in[4];
            if (p->streams) prefetch(r, first, i);
            for (int k = 0; k < s->n_in; k++) in[k] = at(r, s->in[k], first);
            char *to = at(r, s->out, first), *strip = s->past_caches ? r->stage : to;
            s->fn(n, strip, in, r->m->params[s->record]);
            if (s->past_caches) store_past_caches(to, strip, n * (kni_dtypes[s->out.dtype].bits / 8));
        } else if (s->kind == KNI_STRIP_CONVERT) {
            const char *from = at(r, s->in[0], first);
            char *to = at(r, s->out, first);
            if (from != to) kni_cpu_convert_via(to, s->out.dtype, s->via, from, s->in[0].dtype, 1, n);
        } else {
            gather(r, s, n);
        }
    }
}

void kni_strip_run(const kni_strip_program *p, const kni_strip_memory *m, int64_t begin, int64_t end)
{
    _Alignas(64) char scratch[KNI_GROUP_STRIP_BYTES];
    if (p->jit && begin == 0 && end == p->n && kni_group_jit_run(p->jit, m)) return;
    runner r = {.p = p, .m = m};
    r.stage = scratch + (int64_t)p->n_registers * p->register_bytes;
    for (int32_t i = 0; i < p->n_registers; i++)
        r.own[i] = r.registers[i] = scratch + (int64_t)i * p->register_bytes;
    bool gathers = false;
    for (int32_t i = 0; i < p->n_steps; i++) gathers |= p->steps[i].kind == KNI_STRIP_GATHER;
    for (int32_t i = 0; i < p->n_once; i++) fill_once(&r, &p->once[i]);
    if (gathers) find(&r, begin);
    for (int64_t first = begin; first < end; first += p->strip) {
        int64_t n = end - first < p->strip ? end - first : p->strip;
        run_strip(&r, first, n);
        if (gathers) skip(p, r.index, n);
    }
    end_stores();
}

int64_t kni_strip_block(const kni_strip_program *p)
{
    enum { BLOCK = 1 << 14 };
    int64_t strips = BLOCK / p->strip;
    return (strips ? strips : 1) * p->strip;
}
