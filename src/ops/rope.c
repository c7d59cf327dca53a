/* Rotary embedding: pairs of the last axis are turned by an angle that depends on the token. */
#include "ops/rope.h"
#include "core/math/exp_log.h"
#include "ops/generated/normalise_kernels.h"
#include "ops/infer.h"
#include "ops/native.h"
#include "ops/norm.h"

static const kn_attribute rope_schema[] = {
    KNI_ATTR(kni_rope_attributes, interleaved, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_rope_attributes, inverse, KNI_ATTR_INT, KNI_STATIC),
    {0}};

static kn_status infer_rope(kni_infer *c)
{
    const kni_type *x = c->in[0];
    kn_status s = kni_infer_rank(c, 0, 2, KN_MAX_RANK);
    for (int i = 0; i < 3 && s == KN_OK; i++) s = kni_infer_dtype(c, i, KNI_FLOATS);
    for (int i = 1; i < 3 && s == KN_OK; i++) s = kni_infer_rank(c, i, 2, 2);
    if (s) return s;
    for (int i = 1; i < 3; i++) {
        const kni_type *t = c->in[i];
        bool agrees =
            kni_dims_agree(t->dims[0], x->dims[x->rank - 2]) && kni_dims_agree(t->dims[1], c->in[1]->dims[1]);
        if (agrees && t->dims[1] >= 0 && x->dims[x->rank - 1] >= 0)
            agrees = 2 * t->dims[1] <= x->dims[x->rank - 1];
        if (!agrees)
            return kni_infer_fail(c, KN_ERROR_SHAPE,
                                  "the table %S does not fit x %S: give [tokens, size / 2]", t, x);
    }
    return kni_infer_same(c);
}

static kn_status launch_rope(kni_launch *l)
{
    const kni_rope_attributes *a = l->attributes;
    const kni_type *x = l->in[0];
    int64_t size = x->dims[x->rank - 1];
    l->kernel = &kni_kernel_rope;
    l->items = 1;
    for (int i = 0; i < x->rank - 1; i++) l->items *= x->dims[i];
    kni_launch_int(l, x->dims[x->rank - 2]);
    kni_launch_int(l, size);
    kni_launch_int(l, l->in[1]->dims[1]);
    kni_launch_int(l, a->interleaved);
    kni_launch_int(l, a->inverse);
    return KN_OK;
}

OP(rope, .doc = "(a cos - b sin, a sin + b cos) for each pair (a, b) of the last axis", .min_in = 3,
   .max_in = 3, .n_out = 1, .kind = KNI_COMPOSITE, .dtypes = KNI_FLOATS, .tolerance = {4, 1},
   .schema = rope_schema, .attribute_bytes = sizeof(kni_rope_attributes), .infer = infer_rope,
   .launch = launch_rope, .native = &kni_cpu_rope)

/* Member `which` of each pair: [..., half]. */
static kn_tensor members(kn_tensor x, int64_t half, bool interleaved, int which)
{
    if (interleaved) return kn_slice(x, -1, which, 2 * half, 2);
    return kn_narrow(x, -1, which * half, half);
}

/* A rotation: its gradient turns back. By the cosines and sines: da a' + db b' and db a' - da b'. */
GRADIENT(rope)
{
    kni_rope_attributes a = *(const kni_rope_attributes *)v->attributes;
    int64_t half = v->in_types[1].dims[1];
    bool by_tables = kni_vjp_needs(v, 1) || kni_vjp_needs(v, 2);
    kn_tensor dy = v->dy[0];
    if (kni_vjp_needs(v, 0)) {
        kni_rope_attributes back = {a.interleaved, !a.inverse};
        kn_tensor in[3] = {dy, kni_vjp_in(v, 1), kni_vjp_in(v, 2)};
        kni_vjp_set(v, 0, kni_apply(&kni_op_rope, in, 3, &back));
    }
    if (!by_tables) return KN_OK;
    kn_tensor x = kni_vjp_in(v, 0), parts[2], grads[2];
    for (int i = 0; i < 2; i++) {
        parts[i] = kn_keep(kni_widen(members(x, half, a.interleaved != 0, i)));
        grads[i] = kn_keep(kni_widen(members(dy, half, a.interleaved != 0, i)));
    }
    if (kni_vjp_needs(v, 1))
        kni_vjp_set(v, 1, kn_add(kn_mul(grads[0], parts[0]), kn_mul(grads[1], parts[1])));
    if (kni_vjp_needs(v, 2)) {
        kn_tensor ds = kn_sub(kn_mul(grads[1], parts[0]), kn_mul(grads[0], parts[1]));
        kni_vjp_set(v, 2, a.inverse ? kn_neg(ds) : ds);
    }
    return KN_OK;
}

/* Angles are formed in f64, so that far tokens keep their digits. */
kn_rope_table kn_rope_tables(int64_t tokens, int64_t size, kn_dtype dtype, const kn_rope_args *args)
{
    kni_call call = kni_call_begin("rope_tables");
    double theta = args && args->theta != 0 ? args->theta : 10000;
    double offset = args ? (double)args->offset : 0;
    int64_t half = size / 2;
    kn_rope_table t;
    if (tokens < 0 || size < 2 || size % 2 || !(theta > 0) || !kn_dtype_is_float(dtype)) {
        t.cosines = t.sines = kni_call_fail(call, KN_ERROR_ARGUMENT,
                                            "%D tokens of size %D: the size must be even and positive, theta "
                                            "positive and the dtype a float",
                                            tokens, size);
        return t;
    }
    kn_tensor positions = kn_add_scalar(kn_arange(0, (double)tokens, 1, KN_F64), offset);
    kn_tensor pairs =
        kn_mul_scalar(kn_arange(0, (double)half, 1, KN_F64), -kni_log_f64(theta) / (double)half);
    kn_tensor angles = kn_keep(kn_mul(kn_unsqueeze(positions, 1), kn_exp(pairs)));
    kn_tensor results[2] = {kni_as(kn_cos(angles), dtype), kni_as(kn_sin(angles), dtype)};
    kni_call_end_many(call, results, 2);
    return (kn_rope_table){results[0], results[1]};
}

kn_tensor kn_rope(kn_tensor x, kn_tensor cosines, kn_tensor sines, const kn_rope_args *args)
{
    kni_call call = kni_call_begin("rope");
    kni_rope_attributes a = {args && args->interleaved, 0};
    const kni_tensor *t = kni_peek(x);
    if (!cosines.bits && !sines.bits && t && t->type.rank >= 2) {
        int rank = t->type.rank;
        kn_rope_table table = kn_rope_tables(t->type.dims[rank - 2], t->type.dims[rank - 1],
                                             (kn_dtype)kni_sum_dtype(t->type.dtype), args);
        cosines = table.cosines;
        sines = table.sines;
    }
    kn_tensor in[3] = {x, cosines, sines};
    return kni_call_end(call, kni_apply(&kni_op_rope, in, 3, &a));
}
