/* Running bodies along lines. Lines are taken in blocks that fit the first-level cache, so that short lines share the calls of a
   word; long ones are walked in pieces between two reductions. What a line gives depends on that line alone, so that all
   partitions of the work give the same bits. */
#include "backend/cpu/elementwise_convert.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/line_program.h"
#include "backend/cpu/reduce_tables.h"
#include "backend/host/host.h"
#include "backend/host/host_copy.h"
#include "core/thread_pool.h"
#include "ops/defined.h"
#include "ops/line.h"
#include <string.h>

enum {
    BLOCK_BYTES = 1 << 15, /* of all registers, where lines are short */
    PIECE = 1024,          /* elements of a long line at once */
    LONGEST = 1 << 20,     /* of a line; longer ones are lowered, so that all threads share one */
    TASK = 1 << 15,        /* elements */
    PARALLEL_MIN = 1 << 15,
    DOWN_TASKS = 64, /* partial sums over lines */
    ALIGN = 64
};

/* An operand as lines of elements, one element per line, or one line. */
typedef struct operand {
    const char *data;
    int dtype, bytes;
    kni_storage *copy; /* in order */
    bool absent, plain;
    double value; /* of an absent one */
} operand;

typedef struct result {
    char *data;
    int dtype, bytes;
    kni_storage *turned; /* lines in order, where the result's lie otherwise */
} result;

typedef struct job {
    const kni_line_program *p;
    const kn_record *r;
    int compute, bytes; /* dtype and size of values */
    int64_t lines, n, block, per_task;
    size_t wide_bytes, narrow_bytes, scratch_bytes;
    operand in[KNI_BODY_OPERANDS];
    result out[KNI_BODY_OPERANDS];
    double *down[KNI_BODY_OPERANDS]; /* of each task, n sums */
    const kni_reduce_kernels *folds;
    _Atomic bool failed;
} job;

/* ---- one thread */

typedef struct runner {
    const job *j;
    char *memory;
    char *wide[KNI_LINE_REGISTERS], *narrow[KNI_LINE_REGISTERS]; /* where values are now */
    int64_t first, lines;                                        /* of the block */
    int64_t at, count;                                           /* the elements that a step does */
} runner;

static char *own_wide(const runner *r, int i) { return r->memory + (size_t)i * r->j->wide_bytes; }
static char *own_narrow(const runner *r, int i)
{
    return r->memory + (size_t)r->j->p->n_wide * r->j->wide_bytes + (size_t)i * r->j->narrow_bytes;
}

static void load_wide(runner *r, const kni_line_step *s)
{
    const job *j = r->j;
    const operand *x = &j->in[s->operand];
    const char *from = x->data + (r->first * j->n + r->at) * x->bytes;
    char *to = own_wide(r, s->out) + r->at * j->bytes;
    r->wide[s->out] = x->plain ? (char *)x->data + r->first * j->n * x->bytes : own_wide(r, s->out);
    if (!x->plain) kni_cpu_convert(to, j->compute, 1, from, x->dtype, 1, r->count);
}

static void load_narrow(runner *r, const kni_line_step *s)
{
    const job *j = r->j;
    const operand *x = &j->in[s->operand];
    kni_cpu_convert(own_narrow(r, s->out), j->compute, 1, x->data + r->first * x->bytes, x->dtype, 1,
                    r->lines);
}

/* Values that are the same for all lines, for a whole block. */
static void fill_once(runner *r, const kni_line_step *s)
{
    const job *j = r->j;
    const operand *x = s->kind == KNI_LINE_LOAD ? &j->in[s->operand] : NULL;
    int size = s->truth ? 1 : j->bytes;
    _Alignas(8) char value[8];
    if (s->kind == KNI_LINE_SPREAD) {
        kni_cpu_splat(own_wide(r, s->out), r->narrow[s->in[0]], size, j->block * j->n);
        return;
    }
    const double *scalars = j->r->attributes;
    double number = x                 ? x->value
                    : s->scalar >= 0  ? scalars[s->scalar]
                    : s->scalar == -2 ? (double)j->n
                                      : s->value;
    if (x && !x->absent && s->wide) {
        char *to = own_wide(r, s->out);
        kni_cpu_convert(to, j->compute, 1, x->data, x->dtype, 1, j->n);
        for (int64_t i = 1; i < j->block; i++) memcpy(to + i * j->n * size, to, (size_t)(j->n * size));
        return;
    }
    if (x && !x->absent)
        kni_cpu_convert(value, j->compute, 1, x->data, x->dtype, 1, 1);
    else
        kni_cpu_convert(value, j->compute, 1, &number, KN_F64, 1, 1);
    kni_cpu_splat(s->wide ? own_wide(r, s->out) : own_narrow(r, s->out), value, size,
                  s->wide ? j->block * j->n : j->block);
}

static void spread(runner *r, const kni_line_step *s)
{
    const job *j = r->j;
    int size = s->truth ? 1 : j->bytes;
    char *to = r->wide[s->out] = own_wide(r, s->out);
    if (r->lines == 1) {
        kni_cpu_splat(to + r->at * size, r->narrow[s->in[0]], size, r->count);
        return;
    }
    for (int64_t i = 0; i < r->lines; i++)
        kni_cpu_splat(to + i * j->n * size, r->narrow[s->in[0]] + i * size, size, j->n);
}

static void call(runner *r, const kni_line_step *s)
{
    const job *j = r->j;
    const void *in[4] = {NULL, NULL, NULL, NULL};
    int64_t at = s->wide ? r->at : 0;
    for (int k = 0; k < s->n_in; k++)
        in[k] = (s->wide ? r->wide : r->narrow)[s->in[k]] + at * (s->truths >> k & 1 ? 1 : j->bytes);
    char *to = s->wide ? (r->wide[s->out] = own_wide(r, s->out)) : own_narrow(r, s->out);
    s->fn(s->wide ? r->count : r->lines, to + at * (s->truth ? 1 : j->bytes), in, NULL);
}

/* ---- reductions */

static void long_sum(const job *j, const kni_fold_kernels *fold, const char *x, char *y)
{
    double total = 0;
    for (int64_t at = 0; at < j->n; at += KNI_FOLD_BLOCK) {
        int64_t n = j->n - at < KNI_FOLD_BLOCK ? j->n - at : KNI_FOLD_BLOCK;
        _Alignas(8) char part[8];
        double value;
        fold->rows(x + at * j->bytes, 1, n, n, part);
        kni_convert(&value, KN_F64, 1, part, j->compute, 1, 1);
        total += value;
    }
    kni_convert(y, j->compute, 1, &total, KN_F64, 1, 1);
}

static void long_extreme(const job *j, const kni_fold_kernels *fold, const char *x, char *y)
{
    for (int64_t at = 0; at < j->n; at += KNI_FOLD_BLOCK) {
        int64_t n = j->n - at < KNI_FOLD_BLOCK ? j->n - at : KNI_FOLD_BLOCK;
        _Alignas(8) char part[8];
        fold->rows(x + at * j->bytes, 1, n, n, at ? part : y);
        if (at) fold->merge(y, part, 1);
    }
}

static void divide(const job *j, char *y, int64_t lines)
{
    for (int64_t i = 0; i < lines; i++) {
        if (j->compute == KN_F64)
            ((double *)(void *)y)[i] /= (double)j->n;
        else
            ((float *)(void *)y)[i] /= (float)j->n;
    }
}

static void reduce(runner *r, const kni_line_step *s)
{
    static const uint8_t folds[KNI_LINE_WORDS] = {[KNI_LINE_SUM] = KNI_FOLD_SUM,
                                                  [KNI_LINE_MEAN] = KNI_FOLD_SUM,
                                                  [KNI_LINE_HIGHEST] = KNI_FOLD_MAX,
                                                  [KNI_LINE_TOP] = KNI_FOLD_MAX,
                                                  [KNI_LINE_LOWEST] = KNI_FOLD_MIN};
    const job *j = r->j;
    const kni_fold_kernels *fold = &j->folds->folds[folds[s->word]];
    const char *x = r->wide[s->in[0]];
    char *y = own_narrow(r, s->out);
    if (j->n <= KNI_FOLD_BLOCK)
        fold->rows(x, r->lines, j->n, j->n, y);
    else if (folds[s->word] == KNI_FOLD_SUM)
        long_sum(j, fold, x, y);
    else
        long_extreme(j, fold, x, y);
    if (s->word == KNI_LINE_MEAN) divide(j, y, r->lines);
}

/* ---- results */

static void add_down(const job *j, const char *x, int64_t lines, double *sums)
{
    for (int64_t i = 0; i < lines; i++)
        for (int64_t k = 0; k < j->n; k++)
            sums[k] += j->compute == KN_F64 ? ((const double *)(const void *)x)[i * j->n + k]
                                            : (double)((const float *)(const void *)x)[i * j->n + k];
}

static void give(const runner *r, int64_t task)
{
    const job *j = r->j;
    for (int k = 0; k < j->p->n_results; k++) {
        const kni_line_result *from = &j->p->results[k];
        const result *y = &j->out[k];
        const char *x = from->wide ? r->wide[from->from] : r->narrow[from->from];
        int64_t each = from->wide ? j->n : 1;
        if (from->down)
            add_down(j, x, r->lines, j->down[k] + task * j->n);
        else
            kni_cpu_convert(y->data + r->first * each * y->bytes, y->dtype, 1, x, j->compute, 1,
                            r->lines * each);
    }
}

/* ---- a block of lines */

static void run_step(runner *r, const kni_line_step *s)
{
    switch (s->kind) {
    case KNI_LINE_LOAD:
        s->wide ? load_wide(r, s) : load_narrow(r, s);
        break;
    case KNI_LINE_SPREAD:
        spread(r, s);
        break;
    case KNI_LINE_REDUCE:
        reduce(r, s);
        break;
    default:
        call(r, s);
        break;
    }
}

/* Steps on elements that follow each other go through a long line piece by piece. */
static void run_block(runner *r)
{
    const job *j = r->j;
    const kni_line_step *s = j->p->steps + j->p->n_once, *end = s + j->p->n_steps;
    int64_t all = r->lines * j->n, piece = r->lines > 1 || all <= 2 * PIECE ? all : PIECE;
    while (s < end) {
        const kni_line_step *last = s + 1;
        while (s->wide && last < end && last->wide) last++;
        for (r->at = 0; r->at < all; r->at += piece) {
            r->count = all - r->at < piece ? all - r->at : piece;
            for (const kni_line_step *k = s; k < last; k++) run_step(r, k);
            if (!s->wide) break;
        }
        s = last;
    }
}

static void run_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    job *j = argument;
    runner r = {.j = j, .memory = kni_allocate(j->scratch_bytes)};
    if (!r.memory) {
        atomic_store(&j->failed, true);
        return;
    }
    const kni_line_program *p = j->p;
    for (int i = 0; i < p->n_wide; i++) r.wide[i] = own_wide(&r, i);
    for (int i = 0; i < p->n_narrow; i++) r.narrow[i] = own_narrow(&r, i);
    for (int i = 0; i < p->n_once; i++) fill_once(&r, &p->steps[i]);
    int64_t begin = task * j->per_task, end = begin + j->per_task < j->lines ? begin + j->per_task : j->lines;
    for (r.first = begin; r.first < end; r.first += j->block) {
        r.lines = end - r.first < j->block ? end - r.first : j->block;
        run_block(&r);
        give(&r, task);
    }
    kni_free(r.memory, j->scratch_bytes);
}

/* ---- operands and results */

/* How lines lie in a record: the axes that make up a line come last. */
typedef struct turning {
    int rank, n_outer; /* axes, and those before the line's */
    int axes[KN_MAX_RANK];
    int64_t dims[KN_MAX_RANK]; /* in that order */
    bool turned;               /* it is not the order of the operand */
} turning;

static void turn(const kni_type *shape, uint32_t axes, turning *t)
{
    t->rank = 0;
    for (int in_line = 0; in_line < 2; in_line++) {
        if (in_line) t->n_outer = t->rank;
        for (int a = 0; a < shape->rank; a++)
            if ((int)(axes >> a & 1) == in_line) t->axes[t->rank++] = a;
    }
    t->turned = false;
    for (int a = 0; a < t->rank; a++) {
        t->dims[a] = shape->dims[t->axes[a]];
        t->turned |= t->axes[a] != a;
    }
}

/* The operand's elements in the order of the lines, as far as its level has them; a copy where they lie otherwise. */
static bool start_operand(job *j, int i, const turning *t)
{
    operand *x = &j->in[i];
    kni_tensor *slot = kni_in(j->r, i);
    int level = j->r->row->body->operands[i] & KNI_OPERAND_LEVEL;
    if (!slot) {
        x->absent = true;
        x->value = j->r->row->body->operands[i] & KNI_OPERAND_ONE ? 1 : 0;
        return true;
    }
    int first = level & KNI_LEVEL_LINE ? 0 : t->n_outer,
        last = level & KNI_LEVEL_PLACE ? t->rank : t->n_outer;
    int64_t strides[KN_MAX_RANK], order[KN_MAX_RANK];
    int shift = (int)kni_in(j->r, 0)->type.rank - slot->type.rank, rank = last > first ? last - first : 0;
    for (int a = 0; a < rank; a++) {
        int own = t->axes[first + a] - shift;
        strides[a] = own < 0 || slot->type.dims[own] == 1 ? 0 : slot->strides[own];
    }
    x->data = kni_pointer(slot);
    x->dtype = slot->type.dtype;
    x->bytes = (int)kni_element_bytes(slot);
    x->plain = x->dtype == j->compute;
    if (kni_is_contiguous(rank, t->dims + first, strides)) return true;
    int64_t n = kni_count_dims(rank, t->dims + first);
    x->copy = kni_storage_new((size_t)(n * x->bytes));
    if (!x->copy) return false;
    kni_contiguous_strides(rank, t->dims + first, order);
    kni_host_copy(x->copy->data, order, x->data, strides, rank, t->dims + first, (size_t)x->bytes);
    x->data = x->copy->data;
    return true;
}

static bool start_result(job *j, int k, const turning *t)
{
    result *y = &j->out[k];
    kni_tensor *slot = kni_out(j->r, k);
    const kni_line_result *from = &j->p->results[k];
    y->data = slot->storage->data;
    y->dtype = slot->type.dtype;
    y->bytes = (int)kni_element_bytes(slot);
    if (from->down || !from->wide || !t->turned) return true;
    y->turned = kni_storage_new((size_t)(j->lines * j->n * y->bytes));
    if (y->turned) y->data = y->turned->data;
    return y->turned != NULL;
}

static void end_result(job *j, int k, const turning *t)
{
    const result *y = &j->out[k];
    kni_tensor *slot = kni_out(j->r, k);
    int64_t from[KN_MAX_RANK], strides[KN_MAX_RANK];
    if (!y->turned) return;
    kni_contiguous_strides(t->rank, t->dims, from);
    for (int a = 0; a < t->rank; a++) strides[a] = slot->strides[t->axes[a]];
    kni_host_copy(slot->storage->data, strides, y->data, from, t->rank, t->dims, (size_t)y->bytes);
}

/* The sums of all tasks, in their order. */
static void end_down(const job *j, int k, int64_t tasks)
{
    double *sums = j->down[k];
    for (int64_t task = 1; task < tasks; task++)
        for (int64_t i = 0; i < j->n; i++) sums[i] += sums[task * j->n + i];
    kni_convert(j->out[k].data, j->out[k].dtype, 1, sums, KN_F64, 1, j->n);
}

/* ---- a record */

/* Blocks and tasks follow from the sizes alone, so that sums over lines do. */
static int64_t plan(job *j)
{
    const kni_line_program *p = j->p;
    bool down = false;
    for (int k = 0; k < p->n_results; k++) down |= p->results[k].down;
    int64_t per_line = (p->n_wide + 1) * j->n * j->bytes;
    j->block = BLOCK_BYTES / per_line;
    if (j->block < 1) j->block = 1;
    j->per_task = TASK / j->n > 0 ? TASK / j->n : 1;
    if (down && j->lines > DOWN_TASKS * j->per_task) j->per_task = (j->lines + DOWN_TASKS - 1) / DOWN_TASKS;
    if (j->block > j->per_task) j->block = j->per_task;
    j->wide_bytes = ((size_t)(j->block * j->n * j->bytes) + ALIGN - 1) / ALIGN * ALIGN;
    j->narrow_bytes = ((size_t)(j->block * j->bytes) + ALIGN - 1) / ALIGN * ALIGN;
    j->scratch_bytes = (size_t)p->n_wide * j->wide_bytes + (size_t)p->n_narrow * j->narrow_bytes + ALIGN;
    return (j->lines + j->per_task - 1) / j->per_task;
}

static bool start_down(job *j, int64_t tasks)
{
    for (int k = 0; k < j->p->n_results; k++) {
        if (!j->p->results[k].down) continue;
        size_t bytes = (size_t)(tasks * j->n) * sizeof(double);
        j->down[k] = kni_allocate(bytes);
        if (!j->down[k]) return false;
        memset(j->down[k], 0, bytes);
    }
    return true;
}

static void run_tasks(job *j, int64_t tasks)
{
    if (j->lines * j->n >= PARALLEL_MIN)
        kni_parallel_for(tasks, run_task, j);
    else
        for (int64_t task = 0; task < tasks; task++) run_task(j, task, 0);
}

/* Frees what was taken; the answer of the run. */
static kn_status end_job(job *j, int64_t tasks, bool good)
{
    for (int i = 0; i < j->r->n_in; i++)
        if (j->in[i].copy) kni_storage_release(j->in[i].copy);
    for (int k = 0; k < j->r->n_out; k++) {
        if (j->out[k].turned) kni_storage_release(j->out[k].turned);
        if (j->down[k]) kni_free(j->down[k], (size_t)(tasks * j->n) * sizeof(double));
    }
    if (good) return KN_OK;
    return kni_fail_op(KN_ERROR_MEMORY, j->r->row->name, "no memory for the intermediate values");
}

/* The row's program for the compute type; NULL with *status. */
static const kni_line_program *program_of(const kn_record *r, int compute, kn_status *status)
{
    static char none; /* stands for a row that has no program */
    void *_Atomic *place = &kni_defined_of(r->row)->line_programs[compute == KN_F64];
    void *known = atomic_load_explicit(place, memory_order_acquire);
    bool unsupported;
    if (!known) {
        kni_line_program *made = kni_line_compile(
            r->row->body, compute == KN_F64 ? KNI_COMPUTE_F64 : KNI_COMPUTE_F32, &unsupported);
        if (!made && !unsupported) {
            *status = kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for its program");
            return NULL;
        }
        void *mine = made ? (void *)made : &none;
        if (atomic_compare_exchange_strong(place, &known, mine))
            known = mine;
        else if (made)
            kni_free(made, made->bytes);
    }
    *status = KN_ERROR_UNSUPPORTED;
    return known == &none ? NULL : known;
}

static kn_status run_lines(const kn_record *r)
{
    static const kni_reduce_kernels *const f32[KNI_ISA_COUNT] = KNI_TIER_TABLE(&kni_reduce_f32);
    static const kni_reduce_kernels *const f64[KNI_ISA_COUNT] = KNI_TIER_TABLE(&kni_reduce_f64);
    const kni_type *shape;
    uint32_t axes;
    turning t;
    job j = {.r = r};
    kn_status s = KN_ERROR_UNSUPPORTED;
    if (!kni_line_of(r, &shape, &axes)) return s;
    turn(shape, axes, &t);
    j.lines = kni_count_dims(t.n_outer, t.dims);
    j.n = kni_count_dims(t.rank - t.n_outer, t.dims + t.n_outer);
    if (j.n < 1 || j.n > LONGEST || j.lines < 1) return s;
    j.compute = KN_F32;
    for (int i = 0; i < r->n_in; i++)
        if (kni_in(r, i) && !kni_in(r, i)->type.weak && kni_in(r, i)->type.dtype == KN_F64)
            j.compute = KN_F64;
    j.bytes = kni_dtypes[j.compute].bits / 8;
    j.folds = (j.compute == KN_F64 ? f64 : f32)[kni_cpu_tier()];
    j.p = program_of(r, j.compute, &s);
    if (!j.p) return s;
    int64_t tasks = plan(&j);
    bool good = start_down(&j, tasks);
    for (int k = 0; k < r->n_out; k++) {
        s = kni_host_allocate(kni_out(r, k));
        if (s) return end_job(&j, tasks, true), s;
    }
    for (int i = 0; i < r->n_in && good; i++) good = start_operand(&j, i, &t);
    for (int k = 0; k < r->n_out && good; k++) good = start_result(&j, k, &t);
    if (good) run_tasks(&j, tasks);
    good = good && !atomic_load(&j.failed);
    for (int k = 0; k < r->n_out && good; k++) {
        end_result(&j, k, &t);
        if (j.down[k]) end_down(&j, k, tasks);
    }
    return end_job(&j, tasks, good);
}

const kni_native kni_cpu_defined_lines = {.run = run_lines};
