/* What gradient functions use to read saved values and to hand gradients back. */
#include "ops/op.h"

/* Whether operand i, an integer or a bool, was promoted to the float that the row computed in. Gradients compute with
   it as the row did: a bool has no square and no difference, and an integer's square may overflow. */
static bool was_promoted(const kni_vjp *v, int i)
{
    const kn_op *row = v->row;
    if (kni_is_float(v->in_types[i].dtype) || v->in_types[i].weak) return false;
    return row->kind == KNI_ELEMENTWISE && row->scalar &&
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
