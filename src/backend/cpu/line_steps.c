/* The steps of programs of lines, on one thread. Lines are taken in blocks that fit the first-level cache, so that short lines
   share the calls of a word; long ones are walked in pieces between two reductions. */
#include "backend/cpu/elementwise_convert.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/line_job.h"
#include <string.h>

enum { PIECE = 1024 }; /* elements of a long line at once */

typedef struct runner {
    kni_line_job *j;
    kni_tier tier;
    char *memory;
    char *own[KNI_LINE_REGISTERS]; /* of wide registers: memory, or that of a result */
    char *wide[KNI_LINE_REGISTERS], *narrow[KNI_LINE_REGISTERS]; /* where values are now */
    int64_t first, lines;                                        /* of the block */
    int64_t at, count;                                           /* the elements that a step does */
} runner;

static char *own_wide(const runner *r, int i) { return r->own[i]; }
static char *own_narrow(const runner *r, int i)
{
    return r->memory + (size_t)r->j->p->n_wide * r->j->wide_bytes + (size_t)i * r->j->narrow_bytes;
}

/* ---- values that come from outside */

static void load_wide(runner *r, const kni_line_step *s, const kni_line_operand *x)
{
    const kni_line_job *j = r->j;
    bool plain = x->dtype == j->dtypes[s->type];
    char *to = own_wide(r, s->out) + r->at * j->bytes[s->type];
    r->wide[s->out] = plain ? (char *)x->data + r->first * j->n * x->bytes : own_wide(r, s->out);
    if (!plain)
        kni_cpu_convert(to, j->dtypes[s->type], 1, x->data + (r->first * j->n + r->at) * x->bytes, x->dtype,
                        1, r->count);
}

/* One line, for all of a block. */
static void load_places(runner *r, const kni_line_step *s, const kni_line_operand *x)
{
    const kni_line_job *j = r->j;
    size_t bytes = (size_t)(j->n * j->bytes[s->type]);
    char *to = own_wide(r, s->out);
    kni_cpu_convert(to, j->dtypes[s->type], 1, x->data, x->dtype, 1, j->n);
    for (int64_t i = 1; i < r->lines; i++) memcpy(to + (size_t)i * bytes, to, bytes);
}

static void fill(runner *r, const kni_line_step *s, kni_body_number number)
{
    const kni_line_job *j = r->j;
    bool real = s->type == KNI_GIVES_VALUE && j->compute <= KNI_COMPUTE_F64;
    _Alignas(8) char value[8];
    if (s->type == KNI_GIVES_TRUTH)
        value[0] = number.real != 0;
    else
        kni_convert(value, j->dtypes[s->type], 1, real ? (void *)&number.real : &number.whole,
                    real ? KN_F64 : KN_I64, 1, 1);
    if (s->wide)
        kni_cpu_splat((r->wide[s->out] = own_wide(r, s->out)) + r->at * j->bytes[s->type], value,
                      j->bytes[s->type], r->count);
    else
        kni_cpu_splat(own_narrow(r, s->out), value, j->bytes[s->type], r->lines);
}

static void load(runner *r, const kni_line_step *s, bool once)
{
    const kni_line_operand *x = &r->j->in[s->index];
    if (x->absent)
        fill(r, s, kni_body_real(x->value));
    else if (s->wide && once)
        load_places(r, s, x);
    else if (s->wide)
        load_wide(r, s, x);
    else /* what is one for all has stride 0 */
        kni_cpu_convert(own_narrow(r, s->out), r->j->dtypes[s->type], 1,
                        x->data + (once ? 0 : r->first * x->bytes), x->dtype, !once, r->lines);
}

static void places(runner *r, const kni_line_step *s)
{
    int64_t *to = (int64_t *)(void *)own_wide(r, s->out);
    for (int64_t i = 0; i < r->lines; i++)
        for (int64_t k = 0; k < r->j->n; k++) *to++ = k;
}

/* ---- values of values */

static void spread(runner *r, const kni_line_step *s)
{
    const kni_line_job *j = r->j;
    int size = j->bytes[s->type];
    char *to = r->wide[s->out] = own_wide(r, s->out);
    const char *from = r->narrow[s->in[0]];
    if (r->lines == 1) {
        kni_cpu_splat(to + r->at * size, from, size, r->count);
        return;
    }
    for (int64_t i = 0; i < r->lines; i++) kni_cpu_splat(to + i * j->n * size, from + i * size, size, j->n);
}

/* Indices are computed with in i64, whatever values are in. */
static int compute_of(const kni_line_job *j, const kni_line_step *s)
{
    for (int k = 0; k < s->n_in; k++)
        if (s->types[k] == KNI_GIVES_INDEX) return KNI_COMPUTE_I64;
    return j->compute;
}

static void call(runner *r, const kni_line_step *s)
{
    const kni_line_job *j = r->j;
    const void *in[4] = {NULL, NULL, NULL, NULL};
    int64_t at = s->wide ? r->at : 0;
    for (int k = 0; k < s->n_in; k++)
        in[k] = (s->wide ? r->wide : r->narrow)[s->in[k]] + at * j->bytes[s->types[k]];
    char *to = s->wide ? (r->wide[s->out] = own_wide(r, s->out)) : own_narrow(r, s->out);
    s->entry->strips[r->tier][compute_of(j, s)](s->wide ? r->count : r->lines, to + at * j->bytes[s->type],
                                                in, NULL);
}

static void pick(runner *r, const kni_line_step *s)
{
    char **at = s->wide ? r->wide : r->narrow;
    at[s->out] = at[s->in[r->j->numbers[s->index].real == 0]];
}

/* What no line has at the place is 0. */
static void element(runner *r, const kni_line_step *s)
{
    const kni_line_job *j = r->j;
    size_t size = (size_t)j->bytes[s->type];
    const int64_t *t = (const int64_t *)(void *)(s->wide ? r->wide : r->narrow)[s->in[1]];
    char *to = s->wide ? (r->wide[s->out] = own_wide(r, s->out)) : own_narrow(r, s->out);
    int64_t each = s->wide ? j->n : 1;
    for (int64_t i = 0; i < r->lines * each; i++, t++, to += size) {
        const char *line = r->wide[s->in[0]] + (size_t)(i / each * j->n) * size;
        if (*t >= 0 && *t < j->n)
            memcpy(to, line + (size_t)*t * size, size);
        else
            memset(to, 0, size);
    }
}

static void report(kni_line_job *j, int64_t line, int64_t index)
{
    while (atomic_flag_test_and_set(&j->reporting)) {}
    if (j->bad_line < 0 || line < j->bad_line) {
        j->bad_line = line;
        j->bad_index = index;
    }
    atomic_flag_clear(&j->reporting);
}

static void require(runner *r, const kni_line_step *s)
{
    char **at = s->wide ? r->wide : r->narrow;
    int64_t begin = s->wide ? r->at : 0, n = s->wide ? r->count : r->lines, each = s->wide ? r->j->n : 1;
    const uint8_t *holds = (const uint8_t *)at[s->in[0]] + begin;
    const int64_t *index = (const int64_t *)(void *)at[s->in[1]] + begin;
    at[s->out] = at[s->in[1]];
    for (int64_t i = 0; i < n; i++) {
        if (holds[i]) continue;
        report(r->j, r->first + (begin + i) / each, index[i]);
        return;
    }
}

/* ---- results */

static void add_down(const kni_line_job *j, const char *x, int64_t lines, double *sums)
{
    for (int64_t i = 0; i < lines; i++)
        for (int64_t k = 0; k < j->n; k++)
            sums[k] += j->compute == KNI_COMPUTE_F64 ? ((const double *)(const void *)x)[i * j->n + k]
                                                     : (double)((const float *)(const void *)x)[i * j->n + k];
}

static void give(const runner *r, int64_t task)
{
    const kni_line_job *j = r->j;
    for (int k = 0; k < j->p->n_results; k++) {
        const kni_line_result *from = &j->p->results[k];
        const kni_line_output *y = &j->out[k];
        const char *x = from->wide ? r->wide[from->from] : r->narrow[from->from];
        int64_t each = from->wide ? j->n : 1;
        char *to = y->data + r->first * each * y->bytes;
        if (from->down)
            add_down(j, x, r->lines, j->down[k] + task * j->n);
        else if (x != to)
            kni_cpu_convert(to, y->dtype, 1, x, j->dtypes[from->type], 1, r->lines * each);
    }
}

/* ---- a block of lines */

static void run_step(runner *r, const kni_line_step *s, bool once)
{
    switch (s->kind) {
    case KNI_LINE_LOAD:
        load(r, s, once);
        break;
    case KNI_LINE_FILL:
        fill(r, s, r->j->numbers[s->index]);
        break;
    case KNI_LINE_PLACES:
        places(r, s);
        break;
    case KNI_LINE_SPREAD:
        spread(r, s);
        break;
    case KNI_LINE_REDUCE:
        kni_line_reduce(r->j, s->index, r->lines, r->wide[s->in[0]], own_narrow(r, s->out));
        break;
    case KNI_LINE_PICK:
        pick(r, s);
        break;
    case KNI_LINE_ELEMENT:
        element(r, s);
        break;
    case KNI_LINE_REQUIRE:
        require(r, s);
        break;
    default:
        call(r, s);
        break;
    }
}

static bool is_skipped(const kni_line_job *j, int i) { return j->skipped[i / 8] >> i % 8 & 1; }

/* Whether a step needs of its operands only the elements of the piece it computes. */
static bool goes_by_pieces(const kni_line_step *s) { return s->wide && s->kind != KNI_LINE_ELEMENT; }

/* Steps on elements that follow each other go through a long line piece by piece. */
static void run_block(runner *r)
{
    const kni_line_job *j = r->j;
    const kni_line_step *steps = j->p->steps + j->p->n_once;
    int64_t all = r->lines * j->n, piece = r->lines > 1 || all <= 2 * PIECE ? all : PIECE;
    for (int i = 0, last; i < j->p->n_steps; i = last) {
        last = i + 1;
        while (goes_by_pieces(&steps[i]) && last < j->p->n_steps && goes_by_pieces(&steps[last])) last++;
        int64_t by = goes_by_pieces(&steps[i]) ? piece : all;
        for (r->at = 0; r->at < all; r->at += by) {
            r->count = all - r->at < by ? all - r->at : by;
            for (int k = i; k < last; k++)
                if (!is_skipped(j, k)) run_step(r, &steps[k], false);
        }
    }
}

/* Values that are the same for all lines, for a whole block. */
static void run_once(runner *r)
{
    const kni_line_job *j = r->j;
    r->lines = j->block;
    r->at = 0;
    r->count = j->block * j->n;
    for (int i = 0; i < j->p->n_once; i++) run_step(r, &j->p->steps[i], true);
}

bool kni_line_has_strips(const kni_line_job *j)
{
    kni_tier tier = kni_cpu_tier();
    const kni_line_step *s = j->p->steps;
    for (int i = 0; i < j->p->n_once + j->p->n_steps; i++)
        if (s[i].kind == KNI_LINE_CALL && !s[i].entry->strips[tier][compute_of(j, &s[i])]) return false;
    return true;
}

/* A register whose values become a result without a conversion lies in the result's memory; one that is filled once, or that is two
   results, does not. */
static bool is_direct(const kni_line_job *j, int k)
{
    const kni_line_program *p = j->p;
    const kni_line_result *y = &p->results[k];
    if (!y->wide || y->down || j->out[k].dtype != j->dtypes[y->type]) return false;
    for (int i = 0; i < p->n_once; i++)
        if (p->steps[i].wide && p->steps[i].out == y->from) return false;
    for (int i = 0; i < p->n_results; i++)
        if (i != k && p->results[i].wide && p->results[i].from == y->from) return false;
    return true;
}

void kni_line_walk(kni_line_job *j, char *memory, int64_t begin, int64_t end, int64_t task)
{
    runner r = {.j = j, .tier = kni_cpu_tier(), .memory = memory};
    bool direct[KNI_BODY_OPERANDS];
    for (int i = 0; i < j->p->n_wide; i++) r.wide[i] = r.own[i] = memory + (size_t)i * j->wide_bytes;
    for (int k = 0; k < j->p->n_results; k++) direct[k] = is_direct(j, k);
    for (int i = 0; i < j->p->n_narrow; i++) r.narrow[i] = own_narrow(&r, i);
    run_once(&r);
    for (r.first = begin; r.first < end; r.first += j->block) {
        r.lines = end - r.first < j->block ? end - r.first : j->block;
        for (int k = 0; k < j->p->n_results; k++)
            if (direct[k]) r.own[j->p->results[k].from] = j->out[k].data + r.first * j->n * j->out[k].bytes;
        run_block(&r);
        give(&r, task);
    }
}
