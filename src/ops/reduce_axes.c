/* The axes of reductions: the shapes of results, and the parameters of reference kernels that run along an axis. */
#include "ops/reduce_axes.h"

const kn_attribute kni_reduce_schema[] = {KNI_ATTR(kni_reduce_attributes, axes, KNI_ATTR_INTS, KNI_STATIC),
                                          KNI_ATTR(kni_reduce_attributes, keep, KNI_ATTR_INT, KNI_STATIC),
                                          {0}};
const kn_attribute kni_arg_schema[] = {KNI_ATTR(kni_arg_attributes, axis, KNI_ATTR_INT, KNI_STATIC),
                                       KNI_ATTR(kni_arg_attributes, keep, KNI_ATTR_INT, KNI_STATIC),
                                       {0}};

kn_status kni_reduce_axis(const kni_infer *c, int64_t *axis)
{
    return kni_infer_axis_or_rank_0(c, axis, c->in[0]->rank);
}

uint32_t kni_reduce_mask(const kn_ints *axes)
{
    uint32_t mask = 0;
    for (int i = 0; i < axes->rank; i++) mask |= 1u << axes->dims[i];
    return mask;
}

void kni_reduce_shape(const kni_infer *c, int k, const kn_ints *axes, bool keep)
{
    const kni_type *x = c->in[0];
    kni_type *y = c->out[k];
    uint32_t mask = kni_reduce_mask(axes);
    int rank = 0;
    for (int a = 0; a < x->rank; a++) {
        bool reduced = mask >> a & 1;
        if (!reduced || keep) y->dims[rank++] = reduced ? 1 : x->dims[a];
    }
    y->rank = (uint8_t)rank;
}

kn_status kni_reduce_filled(const kni_infer *c, const kn_ints *axes)
{
    for (int i = 0; i < axes->rank; i++)
        if (c->in[0]->dims[axes->dims[i]] == 0)
            return kni_infer_fail(
                c, KN_ERROR_SHAPE,
                "%s over an empty axis has no value: axis %D of %S has size 0; test kn_size() "
                "before the call",
                c->row->name, axes->dims[i], c->in[0]);
    return KN_OK;
}

void kni_axis_launch(kni_launch *l, int64_t axis)
{
    const kni_type *x = l->in[0];
    kni_launch_int(l, x->rank ? x->dims[axis] : 1);
    kni_launch_int(l, kni_infer_product(x, (int)axis + 1, x->rank));
    l->items = 1;
    for (int a = 0; a < x->rank; a++)
        if (a != axis) l->items *= x->dims[a];
}

kn_shape kni_reduce_kept_shape(const kni_type *x, const kn_ints *axes)
{
    kn_shape shape = kni_shape_from_type(x);
    for (int i = 0; i < axes->rank; i++) shape.dims[axes->dims[i]] = 1;
    return shape;
}

kn_tensor kni_reduce_spread(const kni_vjp *v, kn_tensor reduced, const kn_ints *axes)
{
    return kn_expand(kn_reshape(reduced, kni_reduce_kept_shape(&v->in_types[0], axes)), kni_vjp_shape(v, 0));
}
