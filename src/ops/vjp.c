/* What gradient functions use to read saved values and to hand gradients back. */
#include "ops/slopes.h"

/* Whether operand i, an integer or a bool, was promoted to the float that the row computed in. Gradients compute with
   it as the row did: a bool has no square and no difference, and an integer's square may overflow. */
static bool was_promoted(const kni_vjp *v, int i)
{
    const kn_op *row = v->row;
    if (kni_is_float(v->in_types[i].dtype) || v->in_types[i].weak) return false;
    return row->kind == KNI_ELEMENTWISE && kni_is_pointwise(row) &&
           (row->rule == KNI_RULE_PROMOTE || row->rule == KNI_RULE_FLOAT) &&
           kni_is_float(v->out_types[0].dtype);
}

kn_tensor kni_vjp_in(kni_vjp *v, int i)
{
    v->used_in |= UINT64_C(1) << i;
    const kni_tensor *x = was_promoted(v, i) ? kni_peek(v->saved_in[i]) : NULL;
    if (x && !kni_is_float(x->type.dtype)) /* kept, since a gradient may read it again */
        v->saved_in[i] = kn_keep(kn_cast(v->saved_in[i], (kn_dtype)v->out_types[0].dtype));
    return v->saved_in[i];
}

kn_tensor kni_vjp_out(kni_vjp *v, int i)
{
    v->used_out |= UINT64_C(1) << i;
    return v->saved_out[i];
}

kn_shape kni_vjp_shape(const kni_vjp *v, int i) { return kni_shape_from_type(&v->in_types[i]); }

void kni_vjp_set(kni_vjp *v, int i, kn_tensor gradient)
{
    if (!kni_vjp_needs(v, i)) return;
    const kni_type *want = &v->in_types[i];
    const kni_tensor *g = kni_peek(gradient);
    if (g && !kni_same_dims(&g->type, want)) gradient = kn_sum_to(gradient, kni_shape_from_type(want));
    g = kni_peek(gradient);
    if (g && g->type.dtype != want->dtype) gradient = kn_cast(gradient, (kn_dtype)want->dtype);
    v->grads[i] = v->grads[i].bits ? kn_add(v->grads[i], gradient) : gradient;
}

enum { MAX_WIDE = 8 };

static bool is_half(const kni_type *t) { return kni_is_half(t->dtype); }

/* Whether a gradient of several steps meets halves. */
static bool takes_wide_steps(const kni_vjp *v)
{
    bool half = false;
    if (!(v->row->flags & KNI_FLAG_WIDE) || v->n_in > MAX_WIDE || v->n_out > MAX_WIDE) return false;
    for (int i = 0; i < v->n_in; i++) half |= is_half(&v->in_types[i]);
    for (int i = 0; i < v->n_out; i++) half |= is_half(&v->out_types[i]);
    return half;
}

static kn_tensor kept_wide(kn_tensor x, const kni_type *t)
{
    return x.bits && is_half(t) ? kn_keep(kni_widen(x)) : x;
}

kn_status kni_vjp_run(kni_vjp *v, kni_gradient_fn gradient)
{
    /* A body is one step. */
    if (gradient == kni_gradient_by_body || !takes_wide_steps(v)) return gradient(v);
    kn_tensor in[MAX_WIDE], out[MAX_WIDE], dy[MAX_WIDE];
    kni_type in_types[MAX_WIDE], out_types[MAX_WIDE];
    for (int i = 0; i < v->n_in; i++) {
        in[i] = kept_wide(v->saved_in[i], &v->in_types[i]);
        in_types[i] = v->in_types[i];
        in_types[i].dtype = (uint8_t)kni_sum_dtype(in_types[i].dtype);
    }
    for (int i = 0; i < v->n_out; i++) {
        out[i] = kept_wide(v->saved_out[i], &v->out_types[i]);
        dy[i] = kept_wide(v->dy[i], &v->out_types[i]);
        out_types[i] = v->out_types[i];
        out_types[i].dtype = (uint8_t)kni_sum_dtype(out_types[i].dtype);
    }
    kni_vjp wide = *v;
    wide.saved_in = in;
    wide.saved_out = out;
    wide.dy = dy;
    wide.in_types = in_types;
    wide.out_types = out_types;
    kn_status s = gradient(&wide);
    v->used_in = wide.used_in;
    v->used_out = wide.used_out;
    for (int i = 0; i < v->n_in; i++)
        if (v->grads[i].bits) v->grads[i] = kni_as(v->grads[i], v->in_types[i].dtype);
    return s;
}
