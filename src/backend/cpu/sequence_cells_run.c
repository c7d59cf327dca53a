/* lstm, gru and rnn on the CPU, in f32: the products of the inputs of many steps are one, the recurrent weights are packed once, and
   each step is a product that adds to its inputs' share, then the cell. Weights that never change are packed once for all calls. Where a thread has sequences of its own it runs all
   steps of them alone; a few sequences share the products of each step. */
#include "backend/cpu/cell_kernels.h"
#include "backend/cpu/gemm_lasting.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/matmul_run.h"
#include "backend/host/host.h"
#include "core/made_forms.h"
#include "core/thread_pool.h"
#include "ops/native.h"
#include "ops/sequence_cells.h"
#include <kn/functional.h>
#include <string.h>

enum {
    SHARE_BYTES = 8 << 20, /* of the inputs' share that is held at a time */
    LEAST_ROWS = 256,      /* of a product of inputs */
    CELL_WORK = 1 << 15    /* elements of gates that are worth other threads */
};

static const kni_recurrent_kernels *const tiers[KNI_ISA_COUNT] = KNI_TIER_TABLE(&kni_recurrent_f32);

typedef struct job {
    const kni_recurrent_attributes *a;
    const kni_recurrent_kernels *kernels;
    kni_recurrent_sizes z;
    int64_t width; /* of all gates */
    kni_borrowed in[KNI_RECURRENT_OPERANDS];
    kni_gemm_packed inputs[2];    /* by direction; without data: the weight is read as it lies */
    kni_gemm_packed packed[2][2]; /* by direction; gru has its hidden gate apart */
    bool kept[2][2];              /* they are forms of the weight's storage */
    float *bias;                  /* [directions, width]: what is added to the inputs' share */
    const float *bias_h[2];       /* gru that is linear before reset: what is added to its hidden product */
    float *share;                 /* [directions, steps of a block, batch, width] */
    float *extra;                 /* [directions, batch, hidden] */
    float *y, *h, *c;
    size_t bias_bytes, share_bytes, extra_bytes;
    kni_gate_function functions[KNI_RECURRENT_ACTIVATIONS];
    bool plain, reproducible;    /* plain: the activations are those of the formula, and nothing is clipped */
    int64_t block, first, steps; /* steps of a block at most; those of this one */
    int64_t rows, chunks;        /* sequences of a task, tasks of a direction */
    _Atomic bool failed;
} job;

static const float *given(const job *j, int i) { return j->in[i].data; }

/* ---- products */

static bool multiply(job *j, const float *a, int64_t rows, const kni_gemm_packed *b, float *c, int64_t c_row,
                     double beta, const float *bias)
{
    const kni_gemm_args g = {.m = rows,
                             .n = b->n,
                             .k = b->k,
                             .a = a,
                             .c = c,
                             .a_row = b->k,
                             .a_col = 1,
                             .c_row = c_row,
                             .c_col = 1,
                             .alpha = 1,
                             .beta = beta,
                             .bias = bias,
                             .bias_kind = bias ? KNI_GEMM_BIAS_PER_COLUMN : KNI_GEMM_NO_BIAS,
                             .bias_stride = 1,
                             .b_packed = b,
                             .reproducible = j->reproducible};
    return kni_gemm(&g);
}

/* The inputs' share of the gates of the block's steps, of which the first is `step`. */
static bool multiply_inputs(job *j, int64_t d, int64_t step)
{
    const int64_t rows = j->z.batch, width = j->width;
    const kni_gemm_packed *packed = j->inputs[d].data ? &j->inputs[d] : NULL;
    const kni_gemm_args g = {.m = j->steps * rows,
                             .n = width,
                             .k = j->z.ins,
                             .a = given(j, KNI_RECURRENT_X) + step * rows * j->z.ins,
                             .b = given(j, KNI_RECURRENT_WEIGHT) + d * width * j->z.ins,
                             .c = j->share + d * j->block * rows * width,
                             .a_row = j->z.ins,
                             .a_col = 1,
                             .b_row = 1,
                             .b_col = j->z.ins,
                             .c_row = width,
                             .c_col = 1,
                             .alpha = 1,
                             .bias = j->bias ? j->bias + d * width : NULL,
                             .bias_kind = j->bias ? KNI_GEMM_BIAS_PER_COLUMN : KNI_GEMM_NO_BIAS,
                             .bias_stride = 1,
                             .b_packed = packed,
                             .reproducible = j->reproducible};
    return kni_gemm(&g);
}

/* ---- cells: sequence b of direction d, whose state is at `at` */

static void run_lstm(const job *j, int64_t d, float *gates, int64_t at)
{
    const kni_recurrent_kernels *k = j->kernels;
    const int64_t n = j->z.hidden;
    const float *peepholes = given(j, KNI_RECURRENT_PEEPHOLES);
    float *c = j->c + at, *h = j->h + at, *i = gates, *o = gates + n, *f = gates + 2 * n, *g = gates + 3 * n;
    const kni_gate_function *functions = j->functions + d * 3;
    if (j->plain && !peepholes && !j->a->input_forget) {
        k->lstm(n, gates, c, h);
        return;
    }
    if (peepholes) {
        peepholes += d * 3 * n;
        k->add_product(n, i, peepholes, c);
        k->add_product(n, f, peepholes + 2 * n, c);
    }
    k->activate(functions, n, i);
    if (j->a->input_forget)
        k->rest(n, f, i);
    else
        k->activate(functions, n, f);
    k->activate(functions + 1, n, g);
    k->blend(n, c, f, i, g);
    if (peepholes) k->add_product(n, o, peepholes + n, c);
    k->activate(functions, n, o);
    k->activate_to(functions + 2, n, h, c);
    k->product(n, h, h, o);
}

static void run_gru(const job *j, int64_t d, float *gates, int64_t at)
{
    const int64_t n = j->z.hidden;
    if (j->a->linear_before_reset) j->kernels->add_product(n, gates + 2 * n, gates + n, j->extra + at);
    if (j->plain) {
        j->kernels->gru(n, gates, gates + 2 * n, j->h + at);
        return;
    }
    j->kernels->activate(j->functions + d * 2 + 1, n, gates + 2 * n);
    j->kernels->mix(n, j->h + at, gates, gates + 2 * n);
}

static void run_rnn(const job *j, int64_t d, float *gates, int64_t at)
{
    j->kernels->activate_to(j->functions + d, j->z.hidden, j->h + at, gates);
}

static bool is_live(const job *j, int64_t b, int64_t step)
{
    const int64_t *lengths = j->in[KNI_RECURRENT_LENGTHS].data;
    return !lengths || step < lengths[b];
}

/* ---- a step of the sequences first .. first + rows - 1 of a direction */

typedef struct step_job {
    job *j;
    float *gates; /* of sequence 0 */
    int64_t d, step, first, rows, chunk;
} step_job;

/* The rest of the step after the product of h, for some of the sequences. */
static void finish_rows(void *arg, int64_t task, int worker)
{
    static void (*const cells[])(const job *, int64_t, float *, int64_t) = {
        [KNI_RECURRENT_RNN] = run_rnn, [KNI_RECURRENT_GRU] = run_gru, [KNI_RECURRENT_LSTM] = run_lstm};
    const step_job *s = arg;
    const job *j = s->j;
    const int64_t n = j->z.hidden, end = s->first + s->rows, from = s->first + task * s->chunk;
    (void)worker;
    for (int64_t b = from; b < end && b < from + s->chunk; b++) {
        const int64_t at = (s->d * j->z.batch + b) * n;
        float *y = j->y + ((s->step * j->z.directions + s->d) * j->z.batch + b) * n;
        if (!is_live(j, b, s->step)) {
            memset(y, 0, (size_t)n * sizeof *y);
            continue;
        }
        cells[j->z.cell](j, s->d, s->gates + b * j->width, at);
        memcpy(y, j->h + at, (size_t)n * sizeof *y);
    }
}

/* The gates z and r of gru, and r h where that is what the hidden gate multiplies. */
static void reset_rows(const step_job *s)
{
    const job *j = s->j;
    const int64_t n = j->z.hidden;
    for (int64_t b = s->first; b < s->first + s->rows; b++) {
        float *gates = s->gates + b * j->width;
        const int64_t at = (s->d * j->z.batch + b) * n;
        j->kernels->activate(j->functions + s->d * 2, 2 * n, gates);
        if (!j->a->linear_before_reset) j->kernels->product(n, j->extra + at, gates + n, j->h + at);
    }
}

static bool run_step(step_job *s)
{
    job *j = s->j;
    const int64_t n = j->z.hidden, at = (s->d * j->z.batch + s->first) * n;
    const kni_gemm_packed *packed = j->packed[s->d];
    float *gates = s->gates + s->first * j->width;
    bool good = multiply(j, j->h + at, s->rows, &packed[0], gates, j->width, 1, NULL);
    if (j->z.cell == KNI_RECURRENT_GRU && good) {
        reset_rows(s);
        if (j->a->linear_before_reset)
            good = multiply(j, j->h + at, s->rows, &packed[1], j->extra + at, n, 0, j->bias_h[s->d]);
        else
            good = multiply(j, j->extra + at, s->rows, &packed[1], gates + 2 * n, j->width, 1, NULL);
    }
    s->chunk = s->rows;
    if (s->rows * j->width >= CELL_WORK && !kni_pool_inside()) s->chunk = CELL_WORK / 4 / j->width + 1;
    const int64_t tasks = (s->rows + s->chunk - 1) / s->chunk;
    if (tasks > 1)
        kni_parallel_for(tasks, finish_rows, s);
    else
        finish_rows(s, 0, 0);
    return good;
}

/* All steps of the block for the sequences of a task. */
static void run_task(void *arg, int64_t task, int worker)
{
    job *j = arg;
    const int64_t d = task / j->chunks, first = task % j->chunks * j->rows;
    const bool back = kni_recurrent_is_back(j->a, d);
    const int64_t left = j->z.batch - first;
    (void)worker;
    for (int64_t k = 0; k < j->steps && !j->failed; k++) {
        const int64_t place = back ? j->steps - 1 - k : k;
        const int64_t step = back ? j->z.steps - 1 - j->first - k : j->first + k;
        step_job s = {.j = j,
                      .gates = j->share + (d * j->block + place) * j->z.batch * j->width,
                      .d = d,
                      .step = step,
                      .first = first,
                      .rows = left < j->rows ? left : j->rows};
        if (!run_step(&s)) j->failed = true;
    }
}

/* A thread runs all steps of its sequences where there are enough of them; else products are shared, which kni_gemm does. */
static void share_out(job *j)
{
    const int64_t threads = kni_threads(), sequences = j->z.directions * j->z.batch;
    const double weights = 4.0 * (double)j->width * (double)j->z.hidden;
    const bool alone = threads > 1 && sequences >= threads && weights <= 16.0 * (1 << 20);
    j->rows = alone ? (sequences + threads - 1) / threads : j->z.batch;
    if (j->rows > j->z.batch) j->rows = j->z.batch;
    j->chunks = (j->z.batch + j->rows - 1) / j->rows;
}

static bool run_blocks(job *j)
{
    const int64_t tasks = j->chunks * j->z.directions;
    for (j->first = 0; j->first < j->z.steps && !j->failed; j->first += j->block) {
        const int64_t left = j->z.steps - j->first;
        j->steps = left < j->block ? left : j->block;
        for (int64_t d = 0; d < j->z.directions; d++) {
            const int64_t step = kni_recurrent_is_back(j->a, d) ? left - j->steps : j->first;
            if (!multiply_inputs(j, d, step)) return false;
        }
        if (j->chunks > 1 || (j->z.directions > 1 && j->z.batch < LEAST_ROWS && kni_threads() > 1))
            kni_parallel_for(tasks, run_task, j);
        else
            for (int64_t task = 0; task < tasks; task++) run_task(j, task, 0);
    }
    return !j->failed;
}

/* ---- setting up */

/* A weight [n, k], of which this part is packed: as a form of the operand, or for this call. */
static bool pack_part(job *j, kni_tensor *operand, const float *w, int64_t k, int64_t n, int64_t d, int part)
{
    kni_gemm_packed *packed = &j->packed[d][part];
    j->kept[d][part] = !j->in[KNI_RECURRENT_WEIGHT_H].copy_bytes &&
                       kni_gemm_lasting_b(packed, operand, w, KNI_GEMM_F32, k, n, 1, k);
    return j->kept[d][part] || kni_gemm_pack_b(packed, w, KNI_GEMM_F32, k, n, 1, k);
}

static bool pack_weights(job *j, const kn_record *r)
{
    const int64_t n = j->z.hidden, apart = j->z.cell == KNI_RECURRENT_GRU ? n : 0, k = j->z.ins;
    kni_tensor *of_x = kni_in(r, KNI_RECURRENT_WEIGHT), *of_h = kni_in(r, KNI_RECURRENT_WEIGHT_H);
    (void)kni_form_used(of_x->storage);
    (void)kni_form_used(of_h->storage);
    for (int64_t d = 0; d < j->z.directions; d++) {
        const float *w = given(j, KNI_RECURRENT_WEIGHT) + d * j->width * k;
        const float *h = given(j, KNI_RECURRENT_WEIGHT_H) + d * j->width * n;
        const bool lies = !j->in[KNI_RECURRENT_WEIGHT].copy_bytes;
        if (!lies || !kni_gemm_lasting_b(&j->inputs[d], of_x, w, KNI_GEMM_F32, k, j->width, 1, k))
            j->inputs[d].data = NULL;
        if (!pack_part(j, of_h, h, n, j->width - apart, d, 0)) return false;
        if (apart && !pack_part(j, of_h, h + 2 * n * n, n, n, d, 1)) return false;
    }
    return true;
}

static bool join_biases(job *j)
{
    const float *bias = given(j, KNI_RECURRENT_BIAS);
    const int64_t n = j->width,
                  late = j->z.cell == KNI_RECURRENT_GRU && j->a->linear_before_reset ? j->z.hidden : 0;
    if (!bias) return true;
    j->bias_bytes = (size_t)(j->z.directions * n) * sizeof(float);
    j->bias = kni_allocate(j->bias_bytes);
    if (!j->bias) return false;
    for (int64_t d = 0; d < j->z.directions; d++) {
        const float *of_x = bias + d * 2 * n, *of_h = of_x + n;
        for (int64_t k = 0; k < n; k++) j->bias[d * n + k] = of_x[k] + (k < n - late ? of_h[k] : 0);
        if (late) j->bias_h[d] = of_h + n - late;
    }
    return true;
}

static void start_functions(job *j)
{
    static const uint8_t usual[3][3] = {[KNI_RECURRENT_RNN] = {KN_GATE_TANH},
                                        [KNI_RECURRENT_GRU] = {KN_GATE_SIGMOID, KN_GATE_TANH},
                                        [KNI_RECURRENT_LSTM] = {KN_GATE_SIGMOID, KN_GATE_TANH, KN_GATE_TANH}};
    j->plain = !(j->a->clip > 0);
    for (int i = 0; i < j->a->activations.rank; i++) {
        const int kind = (int)j->a->activations.dims[i];
        j->functions[i] =
            (kni_gate_function){kind, (float)j->a->alpha[i], (float)j->a->beta[i], (float)j->a->clip};
        if (i % j->z.kinds == 2) j->functions[i].clip = 0; /* of the cell state, which is no gate */
        j->plain &= kind == usual[j->z.cell][i % j->z.kinds];
    }
}

/* Bytes of n floats, 0 where they pass what can be had. */
static size_t floats(int64_t a, int64_t b, int64_t c)
{
    int64_t n;
    if (__builtin_mul_overflow(a, b, &n) || __builtin_mul_overflow(n, c, &n) || n > INT64_MAX / 8) return 0;
    return n ? (size_t)n * sizeof(float) : 1;
}

static bool allocate(job *j)
{
    const double step = 4.0 * (double)j->z.directions * (double)j->z.batch * (double)j->width;
    j->block = (int64_t)(SHARE_BYTES / step);
    if (j->block < LEAST_ROWS / j->z.batch + 1) j->block = LEAST_ROWS / j->z.batch + 1;
    if (j->block > j->z.steps) j->block = j->z.steps;
    j->share_bytes = floats(j->z.directions * j->block, j->z.batch, j->width);
    j->share = j->share_bytes ? kni_allocate(j->share_bytes) : NULL;
    if (j->z.cell != KNI_RECURRENT_GRU) return j->share != NULL;
    j->extra_bytes = floats(j->z.directions, j->z.batch, j->z.hidden);
    j->extra = j->extra_bytes ? kni_allocate(j->extra_bytes) : NULL;
    return j->share && j->extra;
}

static void start_states(job *j)
{
    const size_t bytes = (size_t)(j->z.directions * j->z.batch * j->z.hidden) * sizeof(float);
    const struct {
        float *state;
        const float *from;
    } states[2] = {{j->h, given(j, KNI_RECURRENT_H)}, {j->c, given(j, KNI_RECURRENT_C)}};
    for (int i = 0; i < 2; i++)
        if (states[i].state && states[i].from)
            memcpy(states[i].state, states[i].from, bytes);
        else if (states[i].state)
            memset(states[i].state, 0, bytes);
}

static void finish(job *j)
{
    for (int i = 0; i < KNI_RECURRENT_OPERANDS; i++)
        if (j->in[i].data) kni_host_unborrow(&j->in[i]);
    for (int d = 0; d < 2; d++)
        for (int k = 0; k < 2; k++)
            if (!j->kept[d][k]) kni_gemm_packed_free(&j->packed[d][k]);
    if (j->bias) kni_free(j->bias, j->bias_bytes);
    if (j->share) kni_free(j->share, j->share_bytes);
    if (j->extra) kni_free(j->extra, j->extra_bytes);
}

static kn_status run_recurrent(const kn_record *r)
{
    const kni_type *types[3] = {&kni_in(r, 0)->type, &kni_in(r, 1)->type, &kni_in(r, 2)->type};
    if (types[0]->dtype != KN_F32) return KN_ERROR_UNSUPPORTED;
    job j = {.a = r->attributes,
             .kernels = tiers[kni_cpu_tier()],
             .z = kni_recurrent_sizes_of(r->row, types),
             .reproducible = kni_reproducible()};
    kn_status s = KN_OK;
    for (int i = 0; i < r->n_out && s == KN_OK; i++) s = kni_host_allocate(kni_out(r, i));
    if (s) return s;
    j.width = j.z.gates * j.z.hidden;
    j.y = kni_out(r, 0)->storage->data;
    j.h = kni_out(r, 1)->storage->data;
    j.c = r->n_out > 2 ? kni_out(r, 2)->storage->data : NULL;
    for (int i = 0; i < r->n_in && s == KN_OK; i++)
        if (kni_in(r, i) &&
            !kni_host_borrow(kni_in(r, i), i == KNI_RECURRENT_LENGTHS ? KN_I64 : KN_F32, &j.in[i]))
            s = KN_ERROR_MEMORY;
    if (s == KN_OK) start_states(&j);
    if (s == KN_OK && j.z.steps && j.z.batch && j.z.hidden) {
        start_functions(&j);
        share_out(&j);
        const bool good = allocate(&j) && join_biases(&j) && pack_weights(&j, r) && run_blocks(&j);
        if (!good) s = kni_gemm_no_memory(r->row->name);
    }
    finish(&j);
    return s;
}

const kni_native kni_cpu_lstm = {.run = run_recurrent};
const kni_native kni_cpu_gru = {.run = run_recurrent};
const kni_native kni_cpu_rnn = {.run = run_recurrent};
