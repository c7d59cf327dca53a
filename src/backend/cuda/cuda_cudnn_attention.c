/* Attention by cuDNN, forward and gradient: the graphs that its fused kernels know, a plan for each shape, and the memory
   they need beside the operands. */
#include "backend/cuda/cuda_cudnn.h"
#include "backend/cuda/cuda_hopper.h"
#include "core/allocator.h"
#include "core/error.h"
#include "core/platform.h"
#include <string.h>

/* Ids of the tensors in memory. */
enum {
    ID_Q = 1,
    ID_K,
    ID_V,
    ID_OUT,
    ID_LSE,
    ID_SCALE,
    ID_HIDDEN,
    ID_DY,
    ID_DQ,
    ID_DK,
    ID_DV,
    ID_DOTS,
    ID_DQ_WIDE,
    ID_ONE,
    ID_BIAS,
    IDS
};

typedef struct plan_key {
    int64_t batch, heads, key_heads, queries, keys, size, value_size;
    int64_t q_steps[3], k_steps[3], v_steps[3], dy_steps[3];
    int64_t bias_steps[4];
    int32_t dtype, causal, lse, gradient, biased;
} plan_key;

/* ---- graphs */

typedef struct builder {
    kni_dnn_graph *g;
    const plan_key *key;
    int dtype;
    void *scale, *hidden;
} builder;

static void *operand(builder *b, int64_t id, int dtype, const int64_t *dims, const int64_t *steps)
{
    kni_dnn_tensor t = {.id = id, .dtype = dtype};
    memcpy(t.dims, dims, 4 * sizeof *dims);
    memcpy(t.steps, steps, 4 * sizeof *steps);
    return kni_dnn_add_tensor(b->g, &t);
}

/* Rows of an operand whose last axis is dense, [batch, heads, rows, size], or [.., size, rows] when turned. */
static void *rows_of(builder *b, int64_t id, int64_t heads, int64_t rows, int64_t size, const int64_t *steps,
                     bool turned)
{
    const int64_t straight[4] = {b->key->batch, heads, rows, size},
                  plain[4] = {steps[0], steps[1], steps[2], 1};
    const int64_t across[4] = {b->key->batch, heads, size, rows},
                  other[4] = {steps[0], steps[1], 1, steps[2]};
    return turned ? operand(b, id, b->dtype, across, other) : operand(b, id, b->dtype, straight, plain);
}

static void *result(builder *b, int64_t id, int64_t heads, int64_t rows, int64_t size)
{
    const int64_t steps[3] = {heads * rows * size, rows * size, size};
    return rows_of(b, id, heads, rows, size, steps, false);
}

static void *number(builder *b, int64_t id)
{
    return kni_dnn_add_tensor(b->g, &(kni_dnn_tensor){.id = id,
                                                      .dtype = KNI_DNN_F32,
                                                      .flags = KNI_DNN_VALUE,
                                                      .dims = {1, 1, 1, 1},
                                                      .steps = {1, 1, 1, 1}});
}

/* A tensor inside the graph, [batch, heads, rows, columns]. */
static void *inside(builder *b, int dtype, int64_t rows, int64_t columns)
{
    int64_t heads = b->key->heads;
    return kni_dnn_add_tensor(
        b->g, &(kni_dnn_tensor){.dtype = dtype,
                                .flags = KNI_DNN_INSIDE,
                                .dims = {b->key->batch, heads, rows, columns},
                                .steps = {heads * rows * columns, rows * columns, columns, 1}});
}

static void *scores(builder *b, int dtype) { return inside(b, dtype, b->key->queries, b->key->keys); }
static void *per_row(builder *b) { return inside(b, KNI_DNN_F32, b->key->queries, 1); }

/* [batch, heads, queries, 1] of f32 in memory. */
static void *row_numbers(builder *b, int64_t id)
{
    const plan_key *k = b->key;
    const int64_t dims[4] = {k->batch, k->heads, k->queries, 1},
                  steps[4] = {k->heads * k->queries, k->queries, 1, 1};
    return operand(b, id, KNI_DNN_F32, dims, steps);
}

static void *apply(builder *b, int mode, void *x, void *y, void *to)
{
    kni_dnn_add_pointwise(b->g, mode, 0, x, y, NULL, to, false);
    return to;
}

/* What query i does not see becomes -inf. */
static void *hide(builder *b, void *x)
{
    if (!b->key->causal) return x;
    void *row = scores(b, KNI_DNN_I32), *column = scores(b, KNI_DNN_I32), *seen = scores(b, KNI_DNN_BOOL);
    void *y = scores(b, KNI_DNN_F32);
    kni_dnn_add_pointwise(b->g, KNI_DNN_INDEX, 2, x, NULL, NULL, row, false);
    kni_dnn_add_pointwise(b->g, KNI_DNN_INDEX, 3, x, NULL, NULL, column, false);
    kni_dnn_add_pointwise(b->g, KNI_DNN_AT_LEAST, 0, row, column, NULL, seen, true);
    kni_dnn_add_pointwise(b->g, KNI_DNN_SELECT, 0, x, b->hidden, seen, y, false);
    return y;
}

static void begin(builder *b, void **q, void **k)
{
    const plan_key *key = b->key;
    *q = rows_of(b, ID_Q, key->heads, key->queries, key->size, key->q_steps, false);
    *k = rows_of(b, ID_K, key->key_heads, key->keys, key->size, key->k_steps, true);
    b->scale = number(b, ID_SCALE);
    if (key->causal) b->hidden = number(b, ID_HIDDEN);
}

static void *scaled_scores(builder *b, void *q, void *k)
{
    const plan_key *key = b->key;
    void *s = scores(b, KNI_DNN_F32);
    kni_dnn_add_product(b->g, q, k, s);
    s = apply(b, KNI_DNN_MULTIPLY, s, b->scale, scores(b, KNI_DNN_F32));
    if (!key->biased) return s;
    /* An axis along which the bias repeats has one place. */
    int64_t dims[4] = {key->batch, key->heads, key->queries, key->keys}, steps[4], step = key->keys;
    for (int i = 3; i >= 0; i--) {
        if (!key->bias_steps[i]) dims[i] = 1;
        steps[i] = key->bias_steps[i] ? key->bias_steps[i] : step;
        step = steps[i] * dims[i];
    }
    return apply(b, KNI_DNN_ADD, s, operand(b, ID_BIAS, b->dtype, dims, steps), scores(b, KNI_DNN_F32));
}

static void build_forward(builder *b)
{
    const plan_key *key = b->key;
    void *q, *k;
    begin(b, &q, &k);
    void *s = hide(b, scaled_scores(b, q, k));
    void *most = per_row(b), *sum = per_row(b), *p = scores(b, b->dtype);
    kni_dnn_add_reduction(b->g, KNI_DNN_REDUCE_MAX, s, most);
    void *e = apply(b, KNI_DNN_EXP, apply(b, KNI_DNN_SUBTRACT, s, most, scores(b, KNI_DNN_F32)), NULL,
                    scores(b, KNI_DNN_F32));
    kni_dnn_add_reduction(b->g, KNI_DNN_REDUCE_SUM, e, sum);
    apply(b, KNI_DNN_ADD, most, apply(b, KNI_DNN_LOG, sum, NULL, per_row(b)),
          key->lse ? row_numbers(b, ID_LSE) : per_row(b));
    apply(b, KNI_DNN_DIVIDE, e, sum, p);
    void *v = rows_of(b, ID_V, key->key_heads, key->keys, key->value_size, key->v_steps, false);
    kni_dnn_add_product(b->g, p, v, result(b, ID_OUT, key->heads, key->queries, key->value_size));
}

/* [.., queries, keys] as [.., keys, queries]. */
static void *turned(builder *b, void *x)
{
    const plan_key *k = b->key;
    void *y = kni_dnn_add_tensor(b->g, &(kni_dnn_tensor){.dtype = b->dtype,
                                                         .flags = KNI_DNN_INSIDE,
                                                         .dims = {k->batch, k->heads, k->keys, k->queries},
                                                         .steps = {k->heads * k->queries * k->keys,
                                                                   k->queries * k->keys, 1, k->keys}});
    kni_dnn_add_reshape(b->g, x, y);
    return y;
}

/* A gradient by keys or values: heads that share a key head are added up. */
static void add_shared_product(builder *b, void *a, void *c, int64_t id, int64_t size)
{
    const plan_key *k = b->key;
    void *y = result(b, id, k->key_heads, k->keys, size);
    if (k->heads == k->key_heads) {
        kni_dnn_add_product(b->g, a, c, y);
        return;
    }
    void *all = inside(b, b->dtype, k->keys, size);
    kni_dnn_add_product(b->g, a, c, all);
    kni_dnn_add_reduction(b->g, KNI_DNN_REDUCE_SUM, all, y);
}

static void build_gradient(builder *b)
{
    const plan_key *key = b->key;
    void *q, *k;
    begin(b, &q, &k);
    void *v = rows_of(b, ID_V, key->key_heads, key->keys, key->value_size, key->v_steps, true);
    void *out = result(b, ID_OUT, key->heads, key->queries, key->value_size);
    void *dy = rows_of(b, ID_DY, key->heads, key->queries, key->value_size, key->dy_steps, false);
    /* dots: the sum over each row of dy out. */
    void *dot = per_row(b), *dots = row_numbers(b, ID_DOTS);
    kni_dnn_add_reduction(
        b->g, KNI_DNN_REDUCE_SUM,
        apply(b, KNI_DNN_MULTIPLY, dy, out, inside(b, KNI_DNN_F32, key->queries, key->value_size)), dot);
    apply(b, KNI_DNN_MULTIPLY, dot, number(b, ID_ONE), dots);
    /* p = exp(s - lse), dv = p' dy */
    void *s =
        apply(b, KNI_DNN_SUBTRACT, scaled_scores(b, q, k), row_numbers(b, ID_LSE), scores(b, KNI_DNN_F32));
    void *p = apply(b, KNI_DNN_EXP, hide(b, s), NULL, scores(b, KNI_DNN_F32));
    add_shared_product(b, turned(b, p), dy, ID_DV, key->value_size);
    /* ds = scale (dy v' - dots) p, dk = ds' q, dq = ds k */
    void *dp = scores(b, KNI_DNN_F32);
    kni_dnn_add_product(b->g, dy, v, dp);
    void *ds = apply(b, KNI_DNN_SUBTRACT, dp, dots, scores(b, KNI_DNN_F32));
    ds = apply(b, KNI_DNN_MULTIPLY, ds, p, scores(b, KNI_DNN_F32));
    ds = apply(b, KNI_DNN_MULTIPLY, ds, b->scale, scores(b, KNI_DNN_F32));
    add_shared_product(b, turned(b, ds), q, ID_DK, key->size);
    void *straight = kni_dnn_add_tensor(
        b->g, &(kni_dnn_tensor){.dtype = b->dtype,
                                .flags = KNI_DNN_INSIDE,
                                .dims = {key->batch, key->key_heads, key->keys, key->size},
                                .steps = {key->k_steps[0], key->k_steps[1], key->k_steps[2], 1}});
    kni_dnn_add_reshape(b->g, k, straight);
    const int64_t dims[4] = {key->batch, key->heads, key->queries, key->size};
    const int64_t steps[4] = {key->heads * key->queries * key->size, key->queries * key->size, key->size, 1};
    void *wide = operand(b, ID_DQ_WIDE, KNI_DNN_F32, dims, steps);
    kni_dnn_add_product(b->g, ds, straight, wide);
    apply(b, KNI_DNN_IDENTITY, wide, NULL, result(b, ID_DQ, key->heads, key->queries, key->size));
}

/* ---- plans */

static void make_key(const kni_attention *p, bool gradient, plan_key *key)
{
    memset(key, 0, sizeof *key);
    key->batch = p->batch, key->heads = p->heads, key->key_heads = p->key_heads;
    key->queries = p->queries, key->keys = p->keys, key->size = p->size, key->value_size = p->value_size;
    memcpy(key->q_steps, p->q_steps, sizeof key->q_steps);
    memcpy(key->k_steps, p->k_steps, sizeof key->k_steps);
    memcpy(key->v_steps, p->v_steps, sizeof key->v_steps);
    if (gradient) memcpy(key->dy_steps, p->dy_steps, sizeof key->dy_steps);
    key->dtype = p->dtype, key->causal = p->causal, key->lse = p->lse.memory != NULL,
    key->gradient = gradient;
    key->biased = p->bias.memory != NULL;
    if (key->biased) memcpy(key->bias_steps, p->bias_steps, sizeof key->bias_steps);
}

static void build(kni_dnn_graph *g, const void *given)
{
    const plan_key *key = given;
    builder b = {.g = g, .key = key, .dtype = kni_is_brain(key->dtype) ? KNI_DNN_BF16 : KNI_DNN_F16};
    if (key->gradient)
        build_gradient(&b);
    else
        build_forward(&b);
}

static bool takes(const kni_attention *p)
{
    bool counts = p->batch > 0 && p->heads > 0 && p->queries > 0 && p->keys > 0 && p->key_heads > 0;
    return kni_is_half(p->dtype) && counts && p->size % 8 == 0 && p->value_size % 8 == 0 &&
           p->heads % p->key_heads == 0;
}

/* What the graph says of an operand: rows at multiples of 16 bytes. An axis of one has no next row. */
static bool lies_well(const kni_place *place, const int64_t *steps, int64_t batch, int64_t heads,
                      int64_t rows)
{
    const int64_t counts[3] = {batch, heads, rows};
    for (int i = 0; i < 3; i++)
        if (counts[i] > 1 && steps[i] % 8) return false;
    return ((uintptr_t)place->memory + (uintptr_t)place->offset * 2) % 16 == 0;
}

static bool all_lie_well(const kni_attention *p, bool gradient)
{
    return lies_well(&p->q, p->q_steps, p->batch, p->heads, p->queries) &&
           lies_well(&p->k, p->k_steps, p->batch, p->key_heads, p->keys) &&
           lies_well(&p->v, p->v_steps, p->batch, p->key_heads, p->keys) &&
           lies_well(&p->out, (int64_t[3]){0, 0, 0}, 1, 1, 1) &&
           (!p->bias.memory || (p->bias_steps[3] == 1 && lies_well(&p->bias, p->bias_steps, 2, 2, 2))) &&
           (!gradient || lies_well(&p->dy, p->dy_steps, p->batch, p->heads, p->queries));
}

static size_t padded(int64_t bytes) { return ((size_t)bytes + 255) / 256 * 256; }

kn_status kni_dnn_attention(kni_cuda *c, const kni_attention *p, bool gradient)
{
    plan_key key;
    if (!takes(p) || !all_lie_well(p, gradient) || (gradient && !p->lse.memory)) return KN_ERROR_UNSUPPORTED;
    make_key(p, gradient, &key);
    static const kni_dnn_kind kind = {build, NULL, false};
    const kni_dnn_kept *plan = kni_dnn_find(c, &key, sizeof key, &kind);
    if (!plan) return KN_ERROR_UNSUPPORTED;
    size_t dots = gradient ? padded(p->batch * p->heads * p->queries * 4) : 0;
    size_t wide = gradient ? padded(p->batch * p->heads * p->queries * p->size * 4) : 0;
    char *memory = kni_cuda_scratch(c, dots + wide + padded(plan->choices[0].workspace));
    if (!memory) return KN_ERROR_UNSUPPORTED;
    float scale = (float)p->scale, one = 1, hidden = -__builtin_inff();
    const kni_place *places[IDS] = {
        [ID_Q] = &p->q,   [ID_K] = &p->k,   [ID_V] = &p->v,   [ID_OUT] = &p->out, [ID_LSE] = &p->lse,
        [ID_DY] = &p->dy, [ID_DQ] = &p->dq, [ID_DK] = &p->dk, [ID_DV] = &p->dv,   [ID_BIAS] = &p->bias};
    int64_t ids[IDS];
    void *pointers[IDS];
    int count = 0;
    for (int id = 1; id < IDS; id++) {
        bool both = id <= ID_HIDDEN || id == ID_BIAS;
        void *at = places[id] && places[id]->memory
                       ? (char *)places[id]->memory + places[id]->offset * (id == ID_LSE ? 4 : 2)
                   : id == ID_SCALE               ? (void *)&scale
                   : id == ID_HIDDEN && p->causal ? (void *)&hidden
                   : id == ID_ONE                 ? (void *)&one
                   : id == ID_DOTS                ? memory
                   : id == ID_DQ_WIDE             ? memory + dots
                                                  : NULL;
        if (!at || (!both && !gradient)) continue;
        ids[count] = id;
        pointers[count++] = at;
    }
    return kni_dnn_execute(c, plan, ids, pointers, count, memory + dots + wide,
                           gradient ? "the gradient of attention" : "attention");
}
