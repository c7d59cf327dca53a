/* Running a program of strips. */
#include "backend/cpu/group_strips.h"
#include "backend/cpu/elementwise_convert.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/past_caches.h"
#include "backend/jit/group_jit.h"
#include <string.h>

/* AHEAD: bytes of an input that are asked for before they are read. */
enum { LINE = KNI_AHEAD_LINE, AHEAD = 4096 };

typedef void store_fn(void *to, const void *from, int64_t bytes);
typedef void end_fn(void);
static store_fn *const stores[KNI_ISA_COUNT] = KNI_TIER_TABLE(kni_store_past_caches);
static end_fn *const ends[KNI_ISA_COUNT] = KNI_TIER_TABLE(kni_end_past_caches);

void kni_strip_store_past(void *to, const void *from, int64_t bytes)
{
    stores[kni_cpu_tier()](to, from, bytes);
}

void kni_strip_end_past(void) { ends[kni_cpu_tier()](); }

/* One run over a range, on one thread. */
typedef struct runner {
    const kni_strip_program *p;
    const kni_strip_memory *m;
    char *own[KNI_GROUP_REGISTERS]; /* scratch of each register */
    char *now[KNI_PLACES];          /* where the strip is: a gather may point a register into memory */
    store_fn *store;                /* past the caches */
    char *stage;                    /* for results that go there */
    bool apart[KNI_GROUP_RESULTS];  /* results that do not lie where an input lay, and so in no cache */
    int64_t moves[KNI_PLACES];      /* bytes from a strip to the next one */
    int64_t index[KN_MAX_RANK];     /* of the strip's first element */
} runner;

static inline int bytes_of(int dtype) { return kni_bytes_of(dtype); }

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
    int64_t bytes = bytes_of(in->dtype), to_bytes = bytes_of(s->out.dtype);
    int64_t index[KN_MAX_RANK];
    const char *data = r->m->inputs[s->input];
    char *scratch = r->own[s->out.index];
    bool plain = in->dtype == s->out.dtype && !s->via;
    if (plain && in->strides[last] == 1 && p->dims[last] - r->index[last] >= n) {
        r->now[s->out_at] = (char *)data + offset_of(p, in, r->index) * bytes;
        return;
    }
    r->now[s->out_at] = scratch;
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
    int to_bytes = bytes_of(s->out.dtype);
    char *to = r->now[s->out_at];
    if (s->kind == KNI_STRIP_NUMBER) {
        _Alignas(8) char number[8];
        const double *from = s->scalar < 0 ? &s->value : &r->m->params[s->record][s->scalar];
        kni_cpu_convert(number, s->out.dtype, 1, from, KN_F64, 1, 1);
        kni_cpu_splat(to, number, to_bytes, p->strip);
        return;
    }
    const kni_strip_input *in = &p->inputs[s->input];
    const char *data = r->m->inputs[s->input];
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

/* Asks for what the step will read a few strips later. Steps that work in the first-level cache keep memory waiting
   else: the processor's own prefetching follows what is read, and not across pages. */
static inline void prefetch(const runner *r, const kni_strip_step *s)
{
#if defined(__GNUC__)
    for (int k = 0; k < s->n_fetched; k++) {
        int input = s->fetched[k];
        const char *from = r->now[KNI_PLACE_INPUTS + input] + AHEAD;
        const char *end = from + r->moves[KNI_PLACE_INPUTS + input];
        for (; from < end; from += LINE) __builtin_prefetch(from);
        __asm__ volatile("" : : "r"(from)); /* gcc leaves calls out that only prefetch */
    }
#else
    (void)r, (void)s;
#endif
}

static void run_strip(runner *r, int64_t n, bool fetches)
{
    const kni_strip_program *p = r->p;
    for (int32_t i = 0; i < p->n_steps; i++) {
        const kni_strip_step *s = &p->steps[i];
        if (fetches) prefetch(r, s);
        if (r->m->ahead) kni_ahead_fetch(r->m->ahead, n * (s->heavy ? KNI_WORK_HEAVY : KNI_WORK_LIGHT));
        char *to = r->now[s->out_at];
        if (s->kind == KNI_STRIP_CALL) {
            /* All four, whether they are there or not: a loop over so few takes longer. */
            const void *in[4] = {r->now[s->in_at[0]], r->now[s->in_at[1]], r->now[s->in_at[2]],
                                 r->now[s->in_at[3]]};
            const double *params = r->m->params[s->record];
            bool past = s->past_caches && r->apart[s->out.index];
            char *out = past ? r->stage : to;
            s->fn(n, out, in, params);
            if (past) r->store(to, out, n * p->result_bytes[s->out.index]);
        } else if (s->kind == KNI_STRIP_CONVERT) {
            const char *from = r->now[s->in_at[0]];
            if (from != to) kni_cpu_convert_via(to, s->out.dtype, s->via, from, s->in[0].dtype, 1, n);
        } else {
            gather(r, s, n);
        }
    }
}

static void start(runner *r, const kni_strip_program *p, const kni_strip_memory *m, char *scratch,
                  int64_t begin)
{
    r->p = p;
    r->m = m;
    r->now[0] = NULL; /* where operands are that a step does not have */
    r->store = stores[kni_cpu_tier()];
    r->stage = scratch + (int64_t)p->n_registers * p->register_bytes;
    for (int32_t i = 0; i < p->n_registers; i++)
        r->own[i] = r->now[i] = scratch + (int64_t)i * p->register_bytes;
    for (int32_t i = 0; i < p->n_inputs; i++) {
        int bytes = bytes_of(p->inputs[i].dtype);
        r->now[KNI_PLACE_INPUTS + i] = (char *)m->inputs[i] + begin * bytes;
        r->moves[KNI_PLACE_INPUTS + i] = (int64_t)p->strip * bytes;
    }
    for (int32_t i = 0; i < p->n_results; i++) {
        r->now[KNI_PLACE_RESULTS + i] = m->results[i] + begin * p->result_bytes[i];
        r->moves[KNI_PLACE_RESULTS + i] = (int64_t)p->strip * p->result_bytes[i];
        r->apart[i] = p->reused[i] < 0 || m->results[i] != m->inputs[p->reused[i]];
    }
    for (int32_t i = 0; i < p->n_once; i++) fill_once(r, &p->once[i]);
    if (p->gathers) find(r, begin);
}

/* To the next strip, after a whole one. */
static void go_on(runner *r)
{
    const kni_strip_program *p = r->p;
    for (int32_t i = KNI_PLACE_INPUTS; i < KNI_PLACE_INPUTS + p->n_inputs; i++) r->now[i] += r->moves[i];
    for (int32_t i = KNI_PLACE_RESULTS; i < KNI_PLACE_RESULTS + p->n_results; i++) r->now[i] += r->moves[i];
    if (p->gathers) skip(p, r->index, p->strip);
}

void kni_strip_run(const kni_strip_program *p, const kni_strip_memory *m, int64_t begin, int64_t end)
{
    _Alignas(64) char scratch[KNI_GROUP_STRIP_BYTES];
    if (p->jit && begin == 0 && end == p->n && kni_group_jit_run(p->jit, m)) return;
    runner r;
    start(&r, p, m, scratch, begin);
    for (int64_t first = begin; first < end; first += p->strip) {
        int64_t n = end - first < p->strip ? end - first : p->strip;
        run_strip(&r, n, p->streams && first + p->strip + AHEAD <= p->n);
        if (n == p->strip) go_on(&r);
    }
    if (p->past_caches) kni_strip_end_past();
}

int64_t kni_strip_block(const kni_strip_program *p)
{
    /* Stores past the caches are waited for at the end of each block. */
    enum { BLOCK = 1 << 14, BLOCK_STREAMED = 1 << 17 };
    int64_t strips = (p->streams ? BLOCK_STREAMED : BLOCK) / p->strip;
    return (strips ? strips : 1) * p->strip;
}
