/* Rows whose result lies in the operand's memory: reshape, permute, expand, slice and window. */
#include "ops/infer.h"
#include "ops/movement_rows.h"

/* ---- reshape: the same elements in row-major order */

static const kn_attribute shape_schema[] = {KNI_ATTR(kni_shape_attributes, shape, KNI_ATTR_INTS, KNI_STATIC),
                                            {0}};

static kn_status check_rank(const kni_infer *c, int rank)
{
    if (rank >= 0 && rank <= KN_MAX_RANK) return KN_OK;
    return kni_infer_fail(c, KN_ERROR_SHAPE, "rank %d is outside 0 to %d", rank, KN_MAX_RANK);
}

static kn_status infer_reshape(kni_infer *c)
{
    kni_shape_attributes *a = c->attributes;
    kni_type *y = c->out[0];
    kn_status s = check_rank(c, a->shape.rank);
    if (s) return s;
    kn_dim total = kni_infer_product(c->in[0], 0, c->in[0]->rank), known = 1;
    int missing = -1;
    y->dtype = c->in[0]->dtype;
    y->rank = (uint8_t)a->shape.rank;
    for (int i = 0; i < y->rank; i++) {
        y->dims[i] = a->shape.dims[i];
        if (y->dims[i] == -1 && missing < 0)
            missing = i;
        else if (!kni_dim_is_size(y->dims[i]))
            return kni_infer_fail(c, KN_ERROR_SHAPE, "%N: sizes are 0 or more, and one of them may be -1",
                                  &a->shape);
        else
            known = kni_dim_mul(known, y->dims[i]);
    }
    if (missing >= 0) {
        if (known == 0)
            return kni_infer_fail(c, KN_ERROR_SHAPE, "%N: a size next to 0 cannot be inferred; write it out",
                                  &a->shape);
        y->dims[missing] = known == KNI_DIM_BAD ? KNI_DIM_BAD : kni_dim_floor_div(total, known);
        known = y->dims[missing] == KNI_DIM_BAD ? KNI_DIM_BAD : kni_dim_mul(known, y->dims[missing]);
        if (kni_dim_is_constant(total) && y->dims[missing] >= 0) a->shape.dims[missing] = y->dims[missing];
    }
    if (known == KNI_DIM_BAD || !kni_dims_agree(total, known))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "%S has %D elements, which do not fit the shape %N",
                              c->in[0], total, &a->shape);
    return KN_OK;
}

/* Groups the operand's axes into runs that lie behind each other and cuts each run into the new sizes. */
static bool view_reshape(kni_view *v)
{
    int out = v->out->rank - 1, last = v->in->rank - 1;
    v->offset = v->in_offset;
    if (kni_count(v->in) <= 1) {
        kni_contiguous_strides(v->out->rank, v->out->dims, v->strides);
        return true;
    }
    while (last >= 0) {
        int64_t run = v->in->dims[last], stride = v->in_strides[last], cut = 1;
        int first = last;
        if (run == 1) {
            last--;
            continue;
        }
        while (first > 0 && (v->in->dims[first - 1] == 1 || v->in_strides[first - 1] == run * stride))
            run *= v->in->dims[--first];
        for (; out >= 0 && (cut < run || v->out->dims[out] == 1); out--) {
            v->strides[out] = cut * stride;
            cut *= v->out->dims[out];
        }
        if (cut != run) return false;
        last = first - 1;
    }
    for (; out >= 0; out--) v->strides[out] = 0;
    return true;
}

OP(reshape, .doc = "x's elements in row-major order under another shape", .min_in = 1, .max_in = 1,
   .n_out = 1, .kind = KNI_MOVEMENT, .dtypes = KNI_ALL, .flags = KNI_FLAG_MOVES, .schema = shape_schema,
   .attribute_bytes = sizeof(kni_shape_attributes), .infer = infer_reshape, .view = view_reshape)

GRADIENT(reshape)
{
    kni_vjp_set(v, 0, kn_reshape(v->dy[0], kni_vjp_shape(v, 0)));
    return KN_OK;
}

/* ---- permute: axis i of y is axis axes[i] of x */

static const kn_attribute permute_schema[] = {
    KNI_ATTR(kni_permute_attributes, axes, KNI_ATTR_INTS, KNI_STATIC), {0}};

static kn_status infer_permute(kni_infer *c)
{
    kni_permute_attributes *a = c->attributes;
    const kni_type *x = c->in[0];
    kni_type *y = c->out[0];
    uint32_t seen = 0;
    if (a->axes.rank != x->rank)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%d axes given for the %d axes of %S", a->axes.rank,
                              (int)x->rank, x);
    y->dtype = x->dtype;
    y->rank = x->rank;
    for (int i = 0; i < x->rank; i++) {
        kn_status s = kni_infer_axis(c, &a->axes.dims[i], x->rank);
        if (s) return s;
        uint32_t bit = 1u << a->axes.dims[i];
        if (seen & bit)
            return kni_infer_fail(c, KN_ERROR_ARGUMENT, "axis %D is named twice", a->axes.dims[i]);
        seen |= bit;
        y->dims[i] = x->dims[a->axes.dims[i]];
    }
    return KN_OK;
}

static bool view_permute(kni_view *v)
{
    const kni_permute_attributes *a = v->attributes;
    v->offset = v->in_offset;
    for (int i = 0; i < v->out->rank; i++) v->strides[i] = v->in_strides[a->axes.dims[i]];
    return true;
}

OP(permute, .doc = "axis i of y is axis axes[i] of x", .min_in = 1, .max_in = 1, .n_out = 1,
   .kind = KNI_MOVEMENT, .dtypes = KNI_ALL, .flags = KNI_FLAG_MOVES, .schema = permute_schema,
   .attribute_bytes = sizeof(kni_permute_attributes), .infer = infer_permute, .view = view_permute)

GRADIENT(permute)
{
    const kni_permute_attributes *a = v->attributes;
    kn_ints back = {a->axes.rank, {0}};
    for (int i = 0; i < back.rank; i++) back.dims[a->axes.dims[i]] = i;
    kni_vjp_set(v, 0, kn_permute(v->dy[0], back));
    return KN_OK;
}

/* ---- expand: axes of size 1 and missing leading axes repeat */

static kn_status infer_expand(kni_infer *c)
{
    kni_shape_attributes *a = c->attributes;
    const kni_type *x = c->in[0];
    kni_type *y = c->out[0];
    kn_status s = check_rank(c, a->shape.rank);
    if (s) return s;
    int shift = a->shape.rank - x->rank;
    if (shift < 0)
        return kni_infer_fail(c, KN_ERROR_SHAPE, "%S has more axes than the shape %N it is to get", x,
                              &a->shape);
    y->dtype = x->dtype;
    y->rank = (uint8_t)a->shape.rank;
    for (int i = 0; i < y->rank; i++) {
        int64_t want = a->shape.dims[i];
        if (want == -1 && i >= shift) {
            y->dims[i] = x->dims[i - shift];
            if (y->dims[i] >= 0) a->shape.dims[i] = y->dims[i];
            continue;
        }
        if (!kni_dim_is_size(want))
            return kni_infer_fail(c, KN_ERROR_SHAPE, "%N: sizes are 0 or more; -1 keeps a size that x has",
                                  &a->shape);
        if (i >= shift && x->dims[i - shift] != 1 && !kni_dims_agree(x->dims[i - shift], want))
            return kni_infer_fail(c, KN_ERROR_SHAPE, "%S does not expand to %N: only axes of size 1 do", x,
                                  &a->shape);
        y->dims[i] = want;
    }
    return KN_OK;
}

static bool view_expand(kni_view *v)
{
    int shift = v->out->rank - v->in->rank;
    v->offset = v->in_offset;
    for (int i = 0; i < v->out->rank; i++) {
        bool repeats = i < shift || (v->in->dims[i - shift] == 1 && v->out->dims[i] != 1);
        v->strides[i] = repeats ? 0 : v->in_strides[i - shift];
    }
    return true;
}

OP(expand, .doc = "x with axes of size 1 repeated", .min_in = 1, .max_in = 1, .n_out = 1,
   .kind = KNI_MOVEMENT, .dtypes = KNI_ALL, .flags = KNI_FLAG_MOVES, .schema = shape_schema,
   .attribute_bytes = sizeof(kni_shape_attributes), .infer = infer_expand, .view = view_expand)

/* kni_vjp_set sums over the repeated axes. */
GRADIENT(expand)
{
    kni_vjp_set(v, 0, v->dy[0]);
    return KN_OK;
}
