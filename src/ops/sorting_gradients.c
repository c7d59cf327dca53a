/* Gradients of the sorting rows: to the positions that the values came from. */
#include "ops/sorting_attributes.h"

static kn_status to_positions(kni_vjp *v, int64_t axis, kn_tensor positions, kn_tensor dy)
{
    if (v->in_types[0].rank == 0) {
        kni_vjp_set(v, 0, kn_reshape(dy, KN_SCALAR_SHAPE));
        return KN_OK;
    }
    kn_tensor zeros = kn_zeros(kni_vjp_shape(v, 0), (kn_dtype)v->in_types[0].dtype);
    kni_vjp_set(v, 0, kn_scatter(zeros, (int32_t)axis, positions, dy, KN_UPDATE_ADD));
    return KN_OK;
}

GRADIENT(sort)
{
    const kni_sort_attributes *a = v->attributes;
    return v->dy[0].bits ? to_positions(v, a->axis, kni_vjp_out(v, 1), v->dy[0]) : KN_OK;
}

GRADIENT(topk)
{
    const kni_topk_attributes *a = v->attributes;
    return v->dy[0].bits ? to_positions(v, a->axis, kni_vjp_out(v, 1), v->dy[0]) : KN_OK;
}

GRADIENT(kthvalue)
{
    const kni_kth_attributes *a = v->attributes;
    if (!v->dy[0].bits) return KN_OK;
    kn_ints axes = {v->in_types[0].rank ? 1 : 0, {a->axis}};
    kn_shape kept = kni_reduce_kept_shape(&v->in_types[0], &axes);
    return to_positions(v, a->axis, kn_reshape(kni_vjp_out(v, 1), kept), kn_reshape(v->dy[0], kept));
}

/* Each weight went into the bin of its x. */
GRADIENT(bincount)
{
    if (v->n_in > 1 && kni_vjp_needs(v, 1)) kni_vjp_set(v, 1, kn_index_take(v->dy[0], 0, kni_vjp_in(v, 0)));
    return KN_OK;
}
