/* Dropout and its relatives: one row whose mask follows from key and counter, so that the gradient makes the same
   mask again instead of storing it. */
#include "ops/dropout.h"
#include "core/call_site.h"
#include "core/device_object.h"
#include "core/math/roots.h"
#include "ops/infer.h"
#include "ops/native.h"
#include "ops/scalar_row.h"

static const kn_attribute dropout_schema[] = {
    KNI_ATTR(kni_dropout_attributes, key, KNI_ATTR_INT, KNI_DYNAMIC),
    KNI_ATTR(kni_dropout_attributes, counter, KNI_ATTR_INT, KNI_DYNAMIC),
    KNI_ATTR(kni_dropout_attributes, group, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_dropout_attributes, p, KNI_ATTR_REAL, KNI_STATIC),
    KNI_ATTR(kni_dropout_attributes, scale, KNI_ATTR_REAL, KNI_STATIC),
    KNI_ATTR(kni_dropout_attributes, shift, KNI_ATTR_REAL, KNI_STATIC),
    KNI_ATTR(kni_dropout_attributes, dropped, KNI_ATTR_REAL, KNI_STATIC),
    {0}};

static kn_status infer_dropout(kni_infer *c)
{
    const kni_dropout_attributes *a = c->attributes;
    kn_status s = kni_infer_dtype(c, 0, KNI_FLOATS);
    if (s) return s;
    if (!(a->p >= 0 && a->p <= 1))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "p is %g: the probability must be 0 to 1", a->p);
    if (a->group < 1)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "a draw is for %D elements; at least 1", a->group);
    return kni_infer_same(c);
}

BODY(dropout, "y = draw(0, group > 1 ? i / group : i) >= floor(p * 4294967296) ? x * scale + shift : dropped")
OP(dropout, .body = &kni_body_dropout, .doc = "x scale + shift with probability 1 - p, else dropped",
   .min_in = 1, .max_in = 1, .n_out = 1, .kind = KNI_RANDOM, .flags = KNI_FLAG_RANDOM | KNI_FLAG_ALIAS,
   .layout = KNI_LAYOUT_KEEPS, .dtypes = KNI_FLOATS, .tolerance = {2, 1}, .schema = dropout_schema,
   .attribute_bytes = sizeof(kni_dropout_attributes), .infer = infer_dropout, .native = &kni_cpu_dropout)

GRADIENT(dropout)
{
    kni_dropout_attributes a = *(const kni_dropout_attributes *)v->attributes;
    a.shift = 0;
    a.dropped = 0;
    kni_vjp_set(v, 0, kni_apply(&kni_op_dropout, &v->dy[0], 1, &a));
    return KN_OK;
}

/* The value itself, as an op that computes nothing would give it: a temporary is taken. */
static kn_tensor unchanged(kn_tensor x)
{
    const kni_tensor *t = kni_peek(x);
    kni_call_counts(kni_thread_self());
    return t && t->state == KNI_TEMPORARY ? x : kn_alias(x);
}

/* features: one draw for all elements of a channel. */
static kn_tensor drop(kn_tensor x, kni_dropout_attributes a, bool features)
{
    const kni_tensor *t = kni_peek(x);
    a.group = 1;
    if (t && t->device) {
        int64_t n = kni_count(&t->type);
        for (int i = 2; features && i < t->type.rank; i++) a.group *= t->type.dims[i];
        if (a.group < 1) a.group = 1;
        a.key = (int64_t)kni_rng_key(t->device);
        a.counter = (int64_t)kni_rng_reserve(t->device, (uint64_t)((n / a.group + 3) / 4));
    }
    return kni_apply(&kni_op_dropout, &x, 1, &a);
}

static bool does_nothing(kn_tensor x, double p, bool training) { return kn_ok(x) && (!training || p == 0); }

kn_tensor kn_dropout(kn_tensor x, double p, bool training)
{
    if (does_nothing(x, p, training)) return unchanged(x);
    return drop(x, (kni_dropout_attributes){.p = p, .scale = p < 1 ? 1 / (1 - p) : 0}, false);
}

kn_tensor kn_feature_dropout(kn_tensor x, double p, bool training)
{
    kni_call call = kni_call_begin("feature_dropout");
    if (does_nothing(x, p, training)) return kni_call_end(call, unchanged(x));
    if (kn_ok(x) && kn_rank(x) < 2)
        return kni_call_fail(call, KN_ERROR_SHAPE, "x must be [batch, channels, ...], not of rank %d",
                             kn_rank(x));
    kni_dropout_attributes a = {.p = p, .scale = p < 1 ? 1 / (1 - p) : 0};
    return kni_call_end(call, drop(x, a, true));
}

/* With q = 1 - p and m SELU's limit, y = (kept ? x : m) / d - p m / d has mean 0 and variance 1 for
   d = sqrt(q (1 + p m^2)). */
kn_tensor kn_alpha_dropout(kn_tensor x, double p, bool training)
{
    const double limit = -1.7580993408473766;
    kni_call call = kni_call_begin("alpha_dropout");
    if (does_nothing(x, p, training)) return kni_call_end(call, unchanged(x));
    kni_dropout_attributes a = {.p = p};
    if (p < 1) {
        a.scale = 1 / kni_sqrt_f64((1 - p) * (1 + p * limit * limit));
        a.shift = -a.scale * p * limit;
        a.dropped = a.scale * limit + a.shift;
    }
    return kni_call_end(call, drop(x, a, false));
}
