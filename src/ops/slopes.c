/* Running gradients that are bodies. */
#include "ops/slopes.h"

/* What the tape saves is what is asked for here. */
static kn_tensor operand_of(kni_vjp *v, int from)
{
    if (from < v->n_in) return kni_vjp_in(v, from);
    return from == v->n_in ? v->dy[0] : kni_vjp_out(v, 0);
}

static bool is_half(const kni_type *t) { return kni_is_half(t->dtype); }

static kn_tensor run(kni_vjp *v, const kni_slope *slope, int i)
{
    kn_tensor in[KNI_SLOPE_OPERANDS];
    int n_in = slope->row.max_in;
    /* Halves that are added up over a broadcast are rounded once, after the sum. */
    bool wide = is_half(&v->in_types[i]) && !kni_same_dims(&v->in_types[i], &v->out_types[0]);
    for (int k = 0; k < n_in; k++) {
        in[k] = operand_of(v, slope->from[k]);
        if (wide && slope->from[k] == v->n_in) in[k] = kni_widen(in[k]);
    }
    return kni_apply(&slope->row, in, n_in, v->attributes);
}

kn_status kni_gradient_by_body(kni_vjp *v)
{
    const kni_slopes *slopes = kni_slopes_of(v->row);
    for (int i = 0; i < v->n_in; i++) {
        if (!kni_vjp_needs(v, i)) continue;
        if (slopes->missing >> i & 1)
            return kni_fail_op(KN_ERROR_GRADIENT, v->row->name,
                               "has no gradient for its %s operand: cut its tape with kn_detach()",
                               i == 0   ? "first"
                               : i == 1 ? "second"
                                        : "third");
        const kni_slope *slope = slopes->of[i];
        kni_vjp_set(v, i,
                    slope ? run(v, slope, i)
                    : (slopes->same >> i & 1)
                        ? v->dy[0]
                        : kn_zeros(kni_vjp_shape(v, i), (kn_dtype)v->in_types[i].dtype));
    }
    return KN_OK;
}
