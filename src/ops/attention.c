/* Attention and its gradient: rows, lowering to products and softmax, and the public function. */
#include "ops/attention.h"
#include "core/device_object.h"
#include "core/math/math.h"
#include "core/math/philox.h"
#include "ops/autocast_state.h"
#include "ops/creation_rows.h"
#include "ops/dropout.h"
#include "ops/generated/attention_kernels.h"
#include "ops/infer.h"
#include "ops/native.h"
#include "ops/record.h"

extern const kni_native kni_cpu_attention, kni_cpu_attention_grad, kni_cpu_dropout_attention,
    kni_cpu_dropout_attention_grad;

static const kn_attribute attention_schema[] = {
    KNI_ATTR(kni_attention_attributes, scale, KNI_ATTR_REAL, KNI_STATIC),
    KNI_ATTR(kni_attention_attributes, softcap, KNI_ATTR_REAL, KNI_STATIC),
    KNI_ATTR(kni_attention_attributes, is_causal, KNI_ATTR_INT, KNI_STATIC),
    {0}};
static const kn_attribute gradient_schema[] = {
    KNI_ATTR(kni_attention_attributes, scale, KNI_ATTR_REAL, KNI_STATIC),
    KNI_ATTR(kni_attention_attributes, softcap, KNI_ATTR_REAL, KNI_STATIC),
    KNI_ATTR(kni_attention_attributes, is_causal, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_attention_attributes, wants_bias, KNI_ATTR_INT, KNI_STATIC),
    {0}};
static const kn_attribute dropout_schema[] = {
    KNI_ATTR(kni_attention_attributes, scale, KNI_ATTR_REAL, KNI_STATIC),
    KNI_ATTR(kni_attention_attributes, softcap, KNI_ATTR_REAL, KNI_STATIC),
    KNI_ATTR(kni_attention_attributes, is_causal, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_attention_attributes, dropout, KNI_ATTR_REAL, KNI_STATIC),
    KNI_ATTR(kni_attention_attributes, key, KNI_ATTR_INT, KNI_DYNAMIC),
    KNI_ATTR(kni_attention_attributes, counter, KNI_ATTR_INT, KNI_DYNAMIC),
    {0}};
static const kn_attribute dropout_gradient_schema[] = {
    KNI_ATTR(kni_attention_attributes, scale, KNI_ATTR_REAL, KNI_STATIC),
    KNI_ATTR(kni_attention_attributes, softcap, KNI_ATTR_REAL, KNI_STATIC),
    KNI_ATTR(kni_attention_attributes, is_causal, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_attention_attributes, wants_bias, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_attention_attributes, dropout, KNI_ATTR_REAL, KNI_STATIC),
    KNI_ATTR(kni_attention_attributes, key, KNI_ATTR_INT, KNI_DYNAMIC),
    KNI_ATTR(kni_attention_attributes, counter, KNI_ATTR_INT, KNI_DYNAMIC),
    {0}};

uint64_t kni_attention_draw_key(const kni_attention_attributes *a)
{
    uint32_t words[4];
    kni_philox((uint64_t)a->key, (uint64_t)a->counter, words);
    return (uint64_t)words[1] << 32 | words[0];
}

double kni_attention_scale(const kni_attention_attributes *a, int64_t size)
{
    if (a->scale != 0) return kn_real_or(a->scale, 1); /* KN_ZERO */
    return size > 0 ? 1 / kni_sqrt_f64((double)size) : 1;
}

kni_attention_sizes kni_attention_sizes_of(const kn_record *r)
{
    const kni_attention_attributes *a = r->attributes;
    const int64_t *q = kni_in(r, 0)->type.dims, *k = kni_in(r, 1)->type.dims, *v = kni_in(r, 2)->type.dims;
    return (kni_attention_sizes){.batch = q[0],
                                 .heads = q[1],
                                 .key_heads = k[1],
                                 .queries = q[2],
                                 .keys = k[2],
                                 .size = q[3],
                                 .value_size = v[3],
                                 .scale = kni_attention_scale(a, q[3]),
                                 .causal = a->is_causal != 0};
}

/* ---- shape rules */

static const kni_type *optional(const kni_infer *c, int i) { return i < c->n_in ? c->in[i] : NULL; }

static kn_status check_spread(const kni_infer *c, const kni_type *t, const kn_dim whole[4], const char *what)
{
    bool fits = t->rank <= 4;
    for (int i = 0; i < t->rank && fits; i++)
        fits = t->dims[i] == 1 || kni_dims_agree(t->dims[i], whole[4 - t->rank + i]);
    if (fits) return KN_OK;
    kni_type scores = {.rank = 4, .dims = {whole[0], whole[1], whole[2], whole[3]}};
    return kni_infer_fail(c, KN_ERROR_SHAPE,
                          "the %s %S does not broadcast to [batch, heads, queries, keys] %S", what, t,
                          &scores);
}

/* q, k and v are operands 0 to 2, mask and bias operands `mask` and `mask + 1`. */
static kn_status check_attention(const kni_infer *c, int mask)
{
    const kni_type *q = c->in[0], *k = c->in[1], *v = c->in[2];
    const kni_attention_attributes *a = c->attributes;
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    for (int i = 0; i < 3 && s == KN_OK; i++) s = kni_infer_rank(c, i, 4, 4);
    if (s) return s;
    if (k->dtype != q->dtype || v->dtype != q->dtype)
        return kni_infer_fail(c, KN_ERROR_DTYPE, "q, k and v are %T, %T and %T: convert with kn_cast()",
                              (int)q->dtype, (int)k->dtype, (int)v->dtype);
    if (!kni_dims_agree(q->dims[3], k->dims[3]))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "inner sizes differ: q %S x k %S (%D != %D)", q, k,
                              q->dims[3], k->dims[3]);
    if (!kni_dims_agree(q->dims[0], k->dims[0]) || !kni_dims_agree(k->dims[0], v->dims[0]) ||
        !kni_dims_agree(k->dims[1], v->dims[1]) || !kni_dims_agree(k->dims[2], v->dims[2]))
        return kni_infer_fail(c, KN_ERROR_SHAPE,
                              "q %S, k %S and v %S must agree in batch, key heads and keys", q, k, v);
    if (k->dims[1] >= 0 && q->dims[1] >= 0 &&
        (k->dims[1] == 0 ? q->dims[1] != 0 : q->dims[1] % k->dims[1] != 0))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "%D heads are no multiple of %D key heads: q %S, k %S",
                              q->dims[1], k->dims[1], q, k);
    if (!(a->softcap >= 0))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "softcap is %g; it must be 0 or more", a->softcap);
    if (!(a->dropout >= 0 && a->dropout <= 1))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "dropout is %g: the probability must be 0 to 1",
                              a->dropout);
    const kn_dim scores[4] = {q->dims[0], q->dims[1], q->dims[2], k->dims[2]};
    const kni_type *hides = optional(c, mask), *adds = optional(c, mask + 1);
    if (hides && !kni_is_bool(hides->dtype))
        return kni_infer_fail(c, KN_ERROR_DTYPE,
                              "the mask must be bool, not %T: a mask to add goes into bias",
                              (int)hides->dtype);
    if (adds && adds->dtype != q->dtype)
        return kni_infer_fail(c, KN_ERROR_DTYPE, "the bias is %T and q is %T: convert with kn_cast()",
                              (int)adds->dtype, (int)q->dtype);
    if (hides) s = check_spread(c, hides, scores, "mask");
    if (s == KN_OK && adds) s = check_spread(c, adds, scores, "bias");
    return s;
}

static kn_status infer_attention(kni_infer *c)
{
    kn_status s = check_attention(c, 3);
    if (s) return s;
    *c->out[0] = *c->in[0];
    c->out[0]->weak = 0;
    c->out[0]->dims[3] = c->in[2]->dims[3];
    return KN_OK;
}

static kn_status infer_attention_grad(kni_infer *c)
{
    const kni_attention_attributes *a = c->attributes;
    const kni_type *dy = c->in[3], *q = c->in[0];
    kn_status s = check_attention(c, 4);
    if (s) return s;
    if (dy->rank != 4 || dy->dtype != q->dtype || !kni_dims_agree(dy->dims[0], q->dims[0]) ||
        !kni_dims_agree(dy->dims[1], q->dims[1]) || !kni_dims_agree(dy->dims[2], q->dims[2]) ||
        !kni_dims_agree(dy->dims[3], c->in[2]->dims[3]))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "dy %S does not fit q %S and v %S", dy, q, c->in[2]);
    const kni_type *y = optional(c, 6);
    if (y && (y->rank != 4 || y->dtype != q->dtype || !kni_dims_agree(y->dims[0], dy->dims[0]) ||
              !kni_dims_agree(y->dims[1], dy->dims[1]) || !kni_dims_agree(y->dims[2], dy->dims[2]) ||
              !kni_dims_agree(y->dims[3], dy->dims[3])))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "the result %S and its gradient %S differ", y, dy);
    for (int i = 0; i < 3; i++) {
        *c->out[i] = *c->in[i];
        c->out[i]->weak = 0;
    }
    *c->out[3] = (kni_type){.dtype = q->dtype, .rank = 1, .dims = {0}};
    if (!a->wants_bias) return KN_OK;
    if (!optional(c, 5)) return kni_infer_fail(c, KN_ERROR_ARGUMENT, "there is no bias to differentiate");
    *c->out[3] = *c->in[5];
    c->out[3]->weak = 0;
    return KN_OK;
}

/* ---- reference kernel */

void kni_attention_push_steps(kni_launch *l, int i)
{
    int64_t steps[4] = {0, 0, 0, 0}, step = 1;
    const kni_type *t = i < l->n_in ? l->in[i] : NULL;
    for (int a = t ? t->rank - 1 : -1; a >= 0; a--) {
        if (t->dims[a] != 1) steps[4 - t->rank + a] = step;
        step *= t->dims[a];
    }
    kni_launch_ints(l, steps, 4);
}

static kn_status launch_attention(kni_launch *l)
{
    const kni_attention_attributes *a = l->attributes;
    const kni_type *q = l->in[0], *k = l->in[1], *v = l->in[2];
    l->kernel = &kni_kernel_attention;
    l->items = q->dims[0] * q->dims[1] * q->dims[2];
    const int64_t numbers[] = {q->dims[1],
                               k->dims[1],
                               q->dims[2],
                               k->dims[2],
                               q->dims[3],
                               v->dims[3],
                               l->n_in > 3 && l->in[3],
                               l->n_in > 4 && l->in[4],
                               a->is_causal != 0};
    kni_launch_ints(l, numbers, KNI_COUNT(numbers));
    kni_attention_push_steps(l, 3);
    kni_attention_push_steps(l, 4);
    kni_launch_real(l, kni_attention_scale(a, q->dims[3]));
    kni_launch_real(l, a->softcap);
    return KN_OK;
}

/* ---- lowering */

/* The operands in the type they are computed in, with the heads that share a key head as rows behind each other. */
typedef struct operands {
    kn_tensor q, k, v, mask, bias;
    kn_shape scores,
        rows; /* [batch, heads, queries, keys] and [batch, key heads, heads / key heads * queries, keys] */
    kn_shape q_rows, y_rows;
    kn_dtype dtype;
    double scale;
} operands;

static kn_tensor computed(kn_tensor x, kn_dtype dtype)
{
    return kn_dtype_of(x) == dtype ? x : kn_cast(x, dtype);
}

static operands start_operands(const kni_lowering *l, int mask)
{
    operands o;
    kn_shape q = kn_shape_of_tensor(l->in[0]), k = kn_shape_of_tensor(l->in[1]),
             v = kn_shape_of_tensor(l->in[2]);
    kn_dtype given = kn_dtype_of(l->in[0]);
    int64_t shared = k.dims[1] ? q.dims[1] / k.dims[1] * q.dims[2] : 0;
    o.dtype = given == KN_F64 ? KN_F64 : KN_F32;
    o.scores = KN_SHAPE(q.dims[0], q.dims[1], q.dims[2], k.dims[2]);
    o.rows = KN_SHAPE(q.dims[0], k.dims[1], shared, k.dims[2]);
    o.q_rows = KN_SHAPE(q.dims[0], k.dims[1], shared, q.dims[3]);
    o.y_rows = KN_SHAPE(q.dims[0], k.dims[1], shared, v.dims[3]);
    o.scale = kni_attention_scale(l->attributes, q.dims[3]);
    o.q = kn_keep(kn_reshape(computed(l->in[0], o.dtype), o.q_rows));
    o.k = kn_keep(computed(l->in[1], o.dtype));
    o.v = kn_keep(computed(l->in[2], o.dtype));
    o.mask = mask < l->n_in ? l->in[mask] : KN_NONE;
    o.bias = mask + 1 < l->n_in ? l->in[mask + 1] : KN_NONE;
    if (o.bias.bits) o.bias = kn_keep(computed(o.bias, o.dtype));
    return o;
}

/* Where query i may see key j: i >= j. */
static kn_tensor causal_mask(int64_t queries, int64_t keys)
{
    kn_tensor i = kn_reshape(kn_arange(0, (double)queries, 1, KN_I64), KN_SHAPE(queries, 1));
    return kn_greater_equal(i, kn_arange(0, (double)keys, 1, KN_I64));
}

/* The softmax of the scores [batch, heads, queries, keys], kept, zero in rows without a key; *tanh_of receives
   tanh(score / softcap) where there is a softcap. */
static kn_tensor weights_of(const operands *o, const kni_attention_attributes *a, kn_tensor *tanh_of)
{
    kn_tensor s = kn_mul_scalar(kn_matmul(o->q, kn_transpose(o->k, -2, -1)), o->scale);
    s = kn_reshape(s, o->scores);
    if (a->softcap > 0) {
        *tanh_of = kn_keep(kn_tanh(kn_div_scalar(s, a->softcap)));
        s = kn_mul_scalar(*tanh_of, a->softcap);
    }
    if (o->bias.bits) s = kn_add(s, o->bias);
    if (o->scores.dims[3] == 0) return kn_keep(s);
    const double hidden = -__builtin_inf();
    if (o->mask.bits) s = kn_where(o->mask, s, kni_number(o->q, hidden));
    if (a->is_causal)
        s = kn_where(causal_mask(o->scores.dims[2], o->scores.dims[3]), s, kni_number(o->q, hidden));
    s = kn_keep(s);
    kn_tensor blind = kn_keep(kn_equal_scalar(kn_max(s, KN_AXES(-1), true), hidden));
    kn_tensor p = kn_softmax(kn_where(blind, kni_number(o->q, 0), s), -1);
    return kn_keep(kn_where(blind, kni_number(o->q, 0), p));
}

/* x [batch, heads, queries, keys] with what is dropped at 0; every call drops the same. */
static kn_tensor dropped(kn_tensor x, const kni_attention_attributes *a)
{
    if (a->dropout == 0) return x;
    kni_dropout_attributes d = {.key = (int64_t)kni_attention_draw_key(a),
                                .group = 1,
                                .p = a->dropout,
                                .scale = kni_attention_kept(a)};
    return kni_apply(&kni_op_dropout, &x, 1, &d);
}

static kn_status lower_attention(kni_lowering *l)
{
    operands o = start_operands(l, 3);
    kn_tensor unused = KN_NONE, weights = dropped(weights_of(&o, l->attributes, &unused), l->attributes);
    kn_tensor y = kn_matmul(kn_reshape(weights, o.rows), o.v);
    kn_shape shape = o.scores;
    shape.dims[3] = o.y_rows.dims[3];
    l->out[0] = computed(kn_reshape(y, shape), kn_dtype_of(l->in[0]));
    return KN_OK;
}

/* With p the weights: dv = p' dy, dp = dy v', ds = p (dp - sum of p dp), dq = scale ds k, dk = scale ds' q. What is dropped of p
   for dv is so of dp. */
static kn_status lower_attention_grad(kni_lowering *l)
{
    const kni_attention_attributes *a = l->attributes;
    operands o = start_operands(l, 4);
    kn_dtype dtype = kn_dtype_of(l->in[0]);
    kn_tensor soft = KN_NONE, p = weights_of(&o, a, &soft);
    kn_tensor dy = kn_keep(kn_reshape(computed(l->in[3], o.dtype), o.y_rows));
    kn_tensor dp = kn_keep(dropped(kn_reshape(kn_matmul(dy, kn_transpose(o.v, -2, -1)), o.scores), a));
    kn_tensor ds = kn_mul(p, kn_sub(dp, kn_sum(kn_mul(p, dp), KN_AXES(-1), true)));
    l->out[3] = KN_NONE;
    if (a->wants_bias) {
        ds = kn_keep(ds);
        l->out[3] = computed(kn_sum_to(ds, kn_shape_of_tensor(l->in[5])), dtype);
    } else {
        l->out[3] = kn_zeros(KN_SHAPE(0), dtype);
    }
    if (soft.bits) ds = kn_mul(ds, kn_rsub_scalar(kn_mul(soft, soft), 1));
    ds = kn_keep(kn_reshape(kn_mul_scalar(ds, o.scale), o.rows));
    l->out[0] = computed(kn_reshape(kn_matmul(ds, o.k), kn_shape_of_tensor(l->in[0])), dtype);
    l->out[1] = computed(kn_matmul(kn_transpose(ds, -2, -1), o.q), dtype);
    p = dropped(p, a);
    l->out[2] = computed(kn_matmul(kn_transpose(kn_reshape(p, o.rows), -2, -1), dy), dtype);
    return KN_OK;
}

OP(attention,
   .doc = "y = softmax(scale q k' + bias) v, heads sharing key heads; mask and causality hide keys",
   .min_in = 3, .max_in = 5, .n_out = 1, .kind = KNI_CONTRACTION, .dtypes = KNI_FLOATS, .tolerance = {8, 1},
   .schema = attention_schema, .attribute_bytes = sizeof(kni_attention_attributes),
   .autocast = KNI_AUTOCAST_NARROW, .infer = infer_attention, .launch = launch_attention,
   .flags = KNI_FLAG_LOWERS_WELL, .lower = lower_attention, .native = &kni_cpu_attention)

OP(attention_grad, .doc = "the gradients of attention by q, k, v and, where wanted, the bias", .min_in = 4,
   .max_in = 7, .n_out = 4, .kind = KNI_CONTRACTION, .dtypes = KNI_FLOATS, .tolerance = {16, 1},
   .schema = gradient_schema, .attribute_bytes = sizeof(kni_attention_attributes),
   .infer = infer_attention_grad, .lower = lower_attention_grad, .native = &kni_cpu_attention_grad)

OP(dropout_attention,
   .doc = "y = d(softmax(scale q k' + bias)) v, where d drops weights and divides the others by 1 - dropout",
   .min_in = 3, .max_in = 5, .n_out = 1, .kind = KNI_CONTRACTION, .dtypes = KNI_FLOATS, .tolerance = {8, 1},
   .schema = dropout_schema, .attribute_bytes = sizeof(kni_attention_attributes),
   .autocast = KNI_AUTOCAST_NARROW, .infer = infer_attention, .flags = KNI_FLAG_RANDOM,
   .lower = lower_attention, .native = &kni_cpu_dropout_attention)

OP(dropout_attention_grad, .doc = "the gradients of dropout_attention by q, k, v and, where wanted, the bias",
   .min_in = 4, .max_in = 7, .n_out = 4, .kind = KNI_CONTRACTION, .dtypes = KNI_FLOATS, .tolerance = {16, 1},
   .schema = dropout_gradient_schema, .attribute_bytes = sizeof(kni_attention_attributes),
   .infer = infer_attention_grad, .flags = KNI_FLAG_RANDOM, .lower = lower_attention_grad,
   .native = &kni_cpu_dropout_attention_grad)

static kn_status differentiate(kni_vjp *v, const kn_op *gradient)
{
    kni_attention_attributes a = *(const kni_attention_attributes *)v->attributes;
    /* The result spares devices with fused kernels to compute it again. */
    kn_tensor in[7] = {kni_vjp_in(v, 0), kni_vjp_in(v, 1), kni_vjp_in(v, 2), v->dy[0],
                       KN_NONE,          KN_NONE,          kni_vjp_out(v, 0)},
              out[4];
    for (int i = 3; i < v->n_in; i++) in[i + 1] = kni_vjp_in(v, i);
    a.wants_bias = v->n_in > 4 && kni_vjp_needs(v, 4);
    kni_apply_many(gradient, in, 7, &a, out, 4);
    for (int i = 0; i < 3; i++) kni_vjp_set(v, i, out[i]);
    if (a.wants_bias) kni_vjp_set(v, 4, out[3]);
    return KN_OK;
}

GRADIENT(attention) { return differentiate(v, &kni_op_attention_grad); }
GRADIENT(dropout_attention) { return differentiate(v, &kni_op_dropout_attention_grad); }

/* ---- the public function */

/* KN_OK, or what the row's rule says of the operands. */
static kn_status check_operands(const kn_tensor *in, kni_attention_attributes *a)
{
    const kni_type *types[5] = {NULL, NULL, NULL, NULL, NULL};
    kni_type y, *out = &y;
    for (int i = 0; i < 5; i++) {
        types[i] = in[i].bits ? &kni_peek(in[i])->type : NULL;
    }
    kni_infer c = {&kni_op_attention, types, 5, a, &out, 1};
    return infer_attention(&c);
}

/* What autocast makes of the operands of attention. */
static kn_tensor narrowed(kn_tensor x)
{
    int dtype = kn_dtype_of(x);
    bool narrows = kni_this_thread.context.autocast && (dtype == KN_F32 || kni_is_half(dtype));
    return narrows ? computed(x, (kn_dtype)kni_this_thread.context.autocast) : x;
}

/* What no kernel takes in pieces: with dropout it is products, softmax and dropout, each a record of its own, so that devices can
   replay them with new random numbers. */
static bool in_records(kn_tensor q, kn_tensor v)
{
    return kn_dtype_of(q) == KN_F64 || kn_size(q, 3) > KNI_ATTENTION_MOST ||
           kn_size(v, 3) > KNI_ATTENTION_MOST;
}

static kn_tensor attend_in_records(kn_tensor *in, kni_attention_attributes *a, double p)
{
    kni_lowering l = {.in = in, .n_in = 5, .attributes = a};
    kni_context before = kni_route_to(in[0]);
    operands o = start_operands(&l, 3);
    kn_tensor unused = KN_NONE, weights = kn_dropout(weights_of(&o, a, &unused), p, true);
    kni_route_back(before);
    kn_shape shape = o.scores;
    shape.dims[3] = o.y_rows.dims[3];
    kn_tensor y = kn_reshape(kn_matmul(kn_reshape(weights, o.rows), o.v), shape);
    return computed(y, kn_dtype_of(in[0]));
}

static kn_tensor attend_with_dropout(kn_tensor *in, kni_attention_attributes *a, double p)
{
    kni_call call = kni_call_begin("attention");
    for (int i = 0; i < 5; i++) {
        if (i > 2 && !in[i].bits) continue;
        if (!kn_ok(in[i])) return kni_call_end(call, kn_neg(in[i])); /* which tells what is wrong with it */
        in[i] = kn_keep(i == 3 ? in[i] : narrowed(in[i]));
        if (!kn_ok(in[i])) return kni_call_end(call, in[i]);
    }
    if (!(p >= 0 && p <= 1))
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "dropout is %g: the probability must be 0 to 1", p);
    if (check_operands(in, a)) return kni_call_end(call, kni_poison_latest());
    if (in_records(in[0], in[2])) return kni_call_end(call, attend_in_records(in, a, p));
    kn_device device = kni_peek(in[0])->device;
    a->dropout = p;
    a->key = (int64_t)kni_rng_key(device);
    a->counter = (int64_t)kni_rng_reserve(device, 1);
    return kni_call_end(call, kni_apply(&kni_op_dropout_attention, in, 5, a));
}

kn_tensor kn_attention(kn_tensor q, kn_tensor k, kn_tensor v, const kn_attention_args *args)
{
    static const kn_attention_args defaults = {.is_causal = false};
    const kn_attention_args *g = args ? args : &defaults;
    kn_tensor in[5] = {q, k, v, g->mask, g->bias};
    kni_attention_attributes a = {
        .scale = g->scale, .softcap = kn_real_or(g->softcap, 0), .is_causal = g->is_causal};
    double p = kn_real_or(g->dropout, 0);
    if (g->lengths.bits) return kni_attend_lengths(in, g->lengths, &a, p);
    if (p != 0) return attend_with_dropout(in, &a, p);
    return kni_apply(&kni_op_attention, in, 5, &a);
}
