/* What gradient functions use to read saved values and to hand gradients back. */
#include "ops/op.h"

kn_tensor kni_vjp_in(kni_vjp *v, int i)
{
    v->used_in |= UINT64_C(1) << i;
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
