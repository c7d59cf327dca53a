/* Attention of the driver beside a plain one on the host in f64, by the vendor's library and by Kiln's own kernels, and
   how fast both are. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "core/math/philox.h"
#include "driver_check.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { Q, K, V, DY, OUT, LSE, DQ, DK, DV, SLOPES, TENSORS };
/* What is asked for beside q, k and v: a mask over [batch, keys] or over all scores, a bias shared by the batch, dropout, slopes. */
enum { MASK = 1, ROWS = 2, BIAS = 4, DROPS = 8, SHOWS = 16 };
static const uint64_t draw_key = UINT64_C(0x9abcdef012345678);

/* Values of the tensors, [batch, heads, rows, size] whatever the order in memory is. */
typedef struct problem {
    kni_attention p;
    double *values[TENSORS];
    void *memory[TENSORS];
    int64_t counts[TENSORS];
    int with;
    unsigned char *mask;
    double *bias;
    void *terms[3]; /* mask, bias and key in memory */
} problem;

static int64_t heads_of(const problem *a, int t)
{
    return t == K || t == V || t == DK || t == DV ? a->p.key_heads : a->p.heads;
}
static int64_t rows_of(const problem *a, int t)
{
    return t == K || t == V || t == DK || t == DV ? a->p.keys : a->p.queries;
}

/* Where an element of an operand lies: rows before heads when `turned`. */
static int64_t at(const problem *a, int t, const int64_t *steps, int64_t i)
{
    int64_t size = a->p.size, rows = rows_of(a, t), heads = heads_of(a, t);
    return i / (size * rows * heads) * steps[0] + i / (size * rows) % heads * steps[1] +
           i / size % rows * steps[2] + i % size;
}

static void make_tensor(kni_driver *d, problem *a, int t, bool turned, int64_t *steps)
{
    int64_t size = a->p.size, rows = rows_of(a, t), heads = heads_of(a, t),
            count = a->p.batch * heads * rows * size;
    if (t == LSE) count /= size;
    if (t == SLOPES) count = count / size * a->p.keys;
    a->counts[t] = count;
    a->values[t] = calloc((size_t)count, sizeof(double));
    a->memory[t] = d->allocate(d, (size_t)count * 4);
    CHECK(a->memory[t] && d->fill_zero(d, a->memory[t], 0, (size_t)count * 4) == KN_OK);
    if (!steps) return;
    steps[0] = rows * heads * size, steps[1] = turned ? size : rows * size,
    steps[2] = turned ? heads * size : size;
    uint16_t *stored = malloc((size_t)count * 2), one;
    uint64_t state = (uint64_t)t + 11;
    for (int64_t i = 0; i < count; i++) {
        double x = 2 * check_random(&state);
        kni_convert(&one, a->p.dtype, 1, &x, KN_F64, 1, 1);
        kni_convert(&a->values[t][i], KN_F64, 1, &one, a->p.dtype, 1, 1);
        stored[at(a, t, steps, i)] = one;
    }
    CHECK(d->upload(d, a->memory[t], 0, stored, (size_t)count * 2) == KN_OK);
    free(stored);
}

static void *uploaded(kni_driver *d, const void *from, size_t bytes)
{
    void *memory = d->allocate(d, bytes);
    CHECK(memory && d->upload(d, memory, 0, from, bytes) == KN_OK);
    return memory;
}

/* Some rows of a whole mask see nothing, and a row of the bias hides all. */
static void make_terms(kni_driver *d, problem *a)
{
    kni_attention *p = &a->p;
    const int64_t queries = a->with & ROWS ? p->queries : 1, heads = a->with & ROWS ? p->heads : 1;
    const int64_t masks = p->batch * heads * queries * p->keys, biases = p->heads * p->queries * p->keys;
    uint64_t state = 77;
    uint16_t *stored = malloc((size_t)biases * 2);
    a->mask = malloc((size_t)masks);
    a->bias = malloc((size_t)biases * sizeof *a->bias);
    for (int64_t i = 0; i < masks; i++)
        a->mask[i] = check_random(&state) > -0.4 && !(queries > 1 && i / p->keys % 7 == 3);
    for (int64_t i = 0; i < biases; i++) {
        double x = i / p->keys == 5 ? -INFINITY : 2 * check_random(&state);
        kni_convert(&stored[i], p->dtype, 1, &x, KN_F64, 1, 1);
        kni_convert(&a->bias[i], KN_F64, 1, &stored[i], p->dtype, 1, 1);
    }
    p->own = a->with != 0;
    if (a->with & MASK) {
        p->mask.memory = a->terms[0] = uploaded(d, a->mask, (size_t)masks);
        p->mask_steps[0] = heads * queries * p->keys, p->mask_steps[3] = 1;
        p->mask_steps[1] = heads > 1 ? queries * p->keys : 0, p->mask_steps[2] = queries > 1 ? p->keys : 0;
    }
    if (a->with & BIAS) {
        p->bias.memory = a->terms[1] = uploaded(d, stored, (size_t)biases * 2);
        p->bias_steps[1] = p->queries * p->keys, p->bias_steps[2] = p->keys, p->bias_steps[3] = 1;
    }
    if (a->with & DROPS) {
        p->draws.memory = a->terms[2] = uploaded(d, &draw_key, sizeof draw_key);
        p->threshold = 1u << 30, p->kept = 4.0f / 3;
    }
    if (a->with & SHOWS) p->slopes.memory = a->memory[SLOPES];
    free(stored);
}

static problem make_problem(kni_driver *d, kni_attention p, bool turned, int with)
{
    problem a = {.p = p, .with = with};
    make_tensor(d, &a, Q, turned, a.p.q_steps);
    make_tensor(d, &a, K, turned, a.p.k_steps);
    make_tensor(d, &a, V, turned, a.p.v_steps);
    make_tensor(d, &a, DY, false, a.p.dy_steps);
    for (int t = OUT; t < TENSORS; t++) make_tensor(d, &a, t, false, NULL);
    kni_place *places[] = {&a.p.q, &a.p.k, &a.p.v, &a.p.dy, &a.p.out, &a.p.lse, &a.p.dq, &a.p.dk, &a.p.dv};
    for (int t = 0; t < SLOPES; t++) places[t]->memory = a.memory[t];
    make_terms(d, &a);
    return a;
}

static void free_problem(kni_driver *d, problem *a)
{
    for (int t = 0; t < TENSORS; t++) {
        free(a->values[t]);
        d->free(d, a->memory[t]);
    }
    for (int i = 0; i < 3; i++)
        if (a->terms[i]) d->free(d, a->terms[i]);
    free(a->mask);
    free(a->bias);
}

/* The score with its bias, -inf where it is hidden. */
static double score_with(const problem *a, int64_t z, int64_t h, int64_t i, int64_t j, double x)
{
    const kni_attention *p = &a->p;
    const int64_t *m = p->mask_steps;
    if (a->with & BIAS) x += a->bias[(h * p->queries + i) * p->keys + j];
    if (a->with & MASK && !a->mask[z * m[0] + h * m[1] + i * m[2] + j]) x = -INFINITY;
    return x;
}

/* What dropout multiplies weight j of the row by. */
static double kept_of(const problem *a, int64_t row, int64_t j)
{
    const uint64_t e = (uint64_t)(row * a->p.keys + j);
    uint32_t words[4];
    if (!(a->with & DROPS)) return 1;
    kni_philox(draw_key, e / 4, words);
    return words[e % 4] >= a->p.threshold ? (double)a->p.kept : 0;
}

/* One query of the reference: its row of out and lse, and what it adds to the gradients. */
static void reference_row(problem *a, int64_t z, int64_t h, int64_t i, double *weights)
{
    const kni_attention *p = &a->p;
    int64_t size = p->size, row = (z * p->heads + h) * p->queries + i,
            head = z * p->key_heads + h / (p->heads / p->key_heads);
    int64_t seen = p->causal && i + 1 < p->keys ? i + 1 : p->keys;
    double most = -INFINITY, total = 0, dot = 0;
    const double *q = a->values[Q] + row * size, *k = a->values[K] + head * p->keys * size;
    const double *v = a->values[V] + head * p->keys * size, *dy = a->values[DY] + row * size;
    double *out = a->values[OUT] + row * size;
    for (int64_t j = 0; j < seen; j++) {
        weights[j] = 0;
        for (int64_t e = 0; e < size; e++) weights[j] += q[e] * k[j * size + e];
        weights[j] = score_with(a, z, h, i, j, weights[j] * p->scale);
        if (weights[j] > most) most = weights[j];
    }
    if (most == -INFINITY) return;
    for (int64_t j = 0; j < seen; j++) total += weights[j] = exp(weights[j] - most);
    for (int64_t j = 0; j < seen; j++) weights[j] /= total;
    for (int64_t j = 0; j < seen; j++)
        for (int64_t e = 0; e < size; e++) out[e] += weights[j] * kept_of(a, row, j) * v[j * size + e];
    a->values[LSE][row] = most + log(total);
    for (int64_t e = 0; e < size; e++) dot += dy[e] * out[e];
    for (int64_t j = 0; j < seen; j++) {
        double dp = 0, kept = kept_of(a, row, j);
        for (int64_t e = 0; e < size; e++) dp += dy[e] * v[j * size + e];
        double slope = weights[j] * (dp * kept - dot), ds = slope * p->scale;
        a->values[SLOPES][row * p->keys + j] = slope;
        for (int64_t e = 0; e < size; e++) {
            a->values[DV][(head * p->keys + j) * size + e] += weights[j] * kept * dy[e];
            a->values[DQ][row * size + e] += ds * k[j * size + e];
            a->values[DK][(head * p->keys + j) * size + e] += ds * q[e];
        }
    }
}

static void reference(problem *a)
{
    double *weights = malloc((size_t)a->p.keys * sizeof *weights);
    for (int64_t z = 0; z < a->p.batch; z++)
        for (int64_t h = 0; h < a->p.heads; h++)
            for (int64_t i = 0; i < a->p.queries; i++) reference_row(a, z, h, i, weights);
    free(weights);
}

/* |got - want| / |want| over the whole tensor, NaN where something is. */
static double distance(kni_driver *d, const problem *a, int t)
{
    const bool wide = t == LSE || t == SLOPES;
    int dtype = wide ? KN_F32 : a->p.dtype;
    size_t bytes = (size_t)a->counts[t] * (wide ? 4 : 2);
    char *stored = malloc(bytes);
    double gap = 0, size = 0, x;
    CHECK(d->download(d, stored, a->memory[t], 0, bytes) == KN_OK);
    for (int64_t i = 0; i < a->counts[t]; i++) {
        kni_convert(&x, KN_F64, 1, stored + i * (wide ? 4 : 2), dtype, 1, 1);
        gap += (x - a->values[t][i]) * (x - a->values[t][i]);
        size += a->values[t][i] * a->values[t][i];
    }
    free(stored);
    return sqrt(gap / size);
}

static void try_attention(kni_driver *d, kni_attention p, bool turned, int with, const char *who)
{
    static const char *const names[TENSORS] = {
        [OUT] = "out", [LSE] = "lse", [DQ] = "dq", [DK] = "dk", [DV] = "dv", [SLOPES] = "slopes"};
    problem a = make_problem(d, p, turned, with);
    reference(&a);
    kn_status forward = d->attention(d, &a.p), backward = forward;
    if (!forward) backward = d->attention_grad ? d->attention_grad(d, &a.p) : KN_ERROR_UNSUPPORTED;
    CHECK(forward == KN_OK || forward == KN_ERROR_UNSUPPORTED);
    CHECK(backward == KN_OK || backward == KN_ERROR_UNSUPPORTED);
    printf("attention %s %s %lldx%lld/%lldx%lldx%lldx%lld%s%s%s%s%s%s:", who,
           p.dtype == KN_F16 ? "f16" : "bf16", (long long)p.batch, (long long)p.heads, (long long)p.key_heads,
           (long long)p.queries, (long long)p.keys, (long long)p.size, p.causal ? " causal" : "",
           turned ? " turned" : "",
           with & ROWS   ? " whole mask"
           : with & MASK ? " mask"
                         : "",
           with & BIAS ? " bias" : "", with & DROPS ? " dropout" : "", with & SHOWS ? " slopes" : "");
    for (int t = OUT; t < TENSORS; t++) {
        if ((t <= LSE ? forward : backward) || (t == SLOPES && !(with & SHOWS))) continue;
        double far = distance(d, &a, t);
        bool good = far < (t == LSE ? 1e-3 : p.dtype == KN_F16 ? 3e-3 : 2e-2);
        check_note(good, names[t], __FILE__, __LINE__);
        printf(" %s %.1e", names[t], far);
    }
    printf("%s\n", forward ? " not taken" : backward ? " (no gradient)" : "");
    free_problem(d, &a);
}

static kni_attention shape(int dtype, int64_t batch, int64_t heads, int64_t key_heads, int64_t queries,
                           int64_t keys, int64_t size, bool causal)
{
    return (kni_attention){.dtype = dtype,
                           .batch = batch,
                           .heads = heads,
                           .key_heads = key_heads,
                           .queries = queries,
                           .keys = keys,
                           .size = size,
                           .value_size = size,
                           .scale = 1 / sqrt((double)size),
                           .causal = causal};
}

static kni_driver *open_driver(bool vendor)
{
    setenv("KN_VENDOR", vendor ? "on" : "off", 1);
    kni_driver *d = kni_cuda_driver_open(0);
    unsetenv("KN_VENDOR");
    CHECK(d != NULL);
    return d;
}

/* What our own kernels alone take: as BERT and T5 ask for it, and all at once. */
static void try_terms(kni_driver *d)
{
    const int all = MASK | ROWS | BIAS | DROPS | SHOWS;
    try_attention(d, shape(KN_BF16, 2, 12, 12, 128, 128, 64, false), true, MASK | DROPS, "own");
    try_attention(d, shape(KN_BF16, 4, 8, 8, 128, 128, 64, false), true, BIAS | SHOWS, "own");
    try_attention(d, shape(KN_BF16, 2, 8, 8, 128, 128, 64, true), true, BIAS | SHOWS, "own");
    try_attention(d, shape(KN_F16, 2, 4, 2, 130, 260, 64, false), false, all, "own");
    try_attention(d, shape(KN_BF16, 2, 2, 2, 200, 136, 128, true), false, all, "own");
    try_attention(d, shape(KN_F16, 2, 2, 2, 70, 137, 64, false), false, MASK | BIAS | SHOWS, "own");
}

void check_attention(void)
{
    for (int vendor = 0; vendor < 2; vendor++) {
        kni_driver *d = open_driver(vendor);
        const char *who = vendor ? "as shipped" : "own";
        if (!d) return;
        try_attention(d, shape(KN_BF16, 1, 1, 1, 128, 128, 64, false), false, 0, who);
        try_attention(d, shape(KN_BF16, 2, 4, 4, 256, 256, 128, true), false, 0, who);
        try_attention(d, shape(KN_BF16, 2, 3, 3, 200, 200, 128, true), true, 0, who);
        try_attention(d, shape(KN_F16, 1, 4, 2, 130, 391, 64, false), false, 0, who);
        try_attention(d, shape(KN_BF16, 1, 4, 4, 520, 520, 64, true), true, 0, who);
        if (!vendor) try_terms(d);
        d->close(d);
    }
}

static void time_one(kni_driver *d, const char *who, int64_t queries)
{
    enum { TURNS = 20 };
    kni_attention p = shape(KN_BF16, 16384 / queries, 16, 16, queries, queries, 128, true);
    problem a = make_problem(d, p, false, 0);
    double flops = 2.0 * 16384 * 16 * (double)queries * 128, best[2] = {0, 0};
    for (int part = 0; part < 2; part++) {
        kn_status (*run)(kni_driver *, const kni_attention *) = part ? d->attention_grad : d->attention;
        kn_status status = run ? KN_OK : KN_ERROR_UNSUPPORTED;
        for (int i = 0; i < 3 && !status; i++) status = run(d, &a.p);
        for (int turn = 0; turn < 5 && !status; turn++) {
            d->sync(d);
            double t = check_seconds();
            for (int i = 0; i < TURNS && !status; i++) status = run(d, &a.p);
            d->sync(d);
            double rate = (part ? 2.5 : 1) * flops * TURNS / (check_seconds() - t) / 1e12;
            if (rate > best[part]) best[part] = rate;
        }
    }
    printf("attention %-10s %lldx16x%lldx128 causal bf16: forward %7.1f TF/s, gradient %7.1f TF/s\n", who,
           (long long)p.batch, (long long)queries, best[0], best[1]);
    free_problem(d, &a);
}

/* Microseconds of each pass as BERT and T5 ask for it. */
static void time_terms(kni_driver *d, kni_attention p, int with, const char *what)
{
    enum { TURNS = 100 };
    problem a = make_problem(d, p, true, with);
    double best[2] = {0, 0};
    for (int part = 0; part < 2; part++) {
        kn_status (*run)(kni_driver *, const kni_attention *) = part ? d->attention_grad : d->attention;
        kn_status status = run(d, &a.p);
        for (int turn = 0; turn < 5 && !status; turn++) {
            d->sync(d);
            double t = check_seconds();
            for (int i = 0; i < TURNS && !status; i++) status = run(d, &a.p);
            d->sync(d);
            t = (check_seconds() - t) / TURNS * 1e6;
            if (!turn || t < best[part]) best[part] = t;
        }
    }
    printf("attention own, %s: forward %.1f us, gradient %.1f us\n", what, best[0], best[1]);
    free_problem(d, &a);
}

void time_attention(void)
{
    for (int vendor = 0; vendor < 2; vendor++) {
        kni_driver *d = open_driver(vendor);
        if (!d) return;
        time_one(d, vendor ? "as shipped" : "own", 2048);
        time_one(d, vendor ? "as shipped" : "own", 8192);
        if (!vendor) {
            time_terms(d, shape(KN_BF16, 32, 12, 12, 128, 128, 64, false), MASK | DROPS, "BERT");
            time_terms(d, shape(KN_BF16, 16, 8, 8, 128, 128, 64, false), BIAS | SHOWS, "T5");
        }
        d->close(d);
    }
}
