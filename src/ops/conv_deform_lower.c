/* The gradient of deformable sampling by differentiable ops, for gradients of gradients. All places are seen as
   [batch, groups, taps, positions], all values as [batch, groups, channels of a group, taps, positions]. */
#include "ops/conv_deform.h"
#include "ops/wide.h"

typedef struct places {
    int64_t batch, groups, own, taps, positions, height, width;
    kn_shape places, values; /* the shapes above */
    kn_tensor down, right;   /* fractions of the row and the column */
    kn_tensor row, col;      /* whole parts, as floats */
    kn_tensor within;        /* the place is near the image */
} places;

/* Tap times dilation plus position times stride minus padding along one axis, as [taps, positions]. */
static kn_tensor regular_places(const kni_deform_attributes *a, int axis, int64_t out_height,
                                int64_t out_width, kn_dtype dtype)
{
    int64_t taps = a->kernel.dims[axis], count = axis == 0 ? out_height : out_width;
    kn_tensor tap = kn_mul_scalar(kn_arange(0, (double)taps, 1, dtype), (double)a->dilation.dims[axis]);
    kn_tensor at =
        kn_add_scalar(kn_mul_scalar(kn_arange(0, (double)count, 1, dtype), (double)a->stride.dims[axis]),
                      -(double)a->padding.dims[axis]);
    tap = kn_reshape(tap, axis == 0 ? KN_SHAPE(taps, 1, 1, 1) : KN_SHAPE(1, taps, 1, 1));
    at = kn_reshape(at, axis == 0 ? KN_SHAPE(1, 1, count, 1) : KN_SHAPE(1, 1, 1, count));
    kn_shape whole = KN_SHAPE(a->kernel.dims[0], a->kernel.dims[1], out_height, out_width);
    return kn_reshape(kn_expand(kn_add(tap, at), whole),
                      KN_SHAPE(a->kernel.dims[0] * a->kernel.dims[1], out_height * out_width));
}

static kn_tensor between(kn_tensor x, double low, double high)
{
    return kn_logical_and(kn_greater_scalar(x, low), kn_less_scalar(x, high));
}

static places find_places(const kni_lowering *l)
{
    const kni_deform_attributes *a = l->attributes;
    kn_shape x = kn_shape_of_tensor(l->in[0]), o = kn_shape_of_tensor(l->in[1]);
    kn_dtype dtype = kn_dtype_of(l->in[0]);
    places p = {.batch = x.dims[0],
                .taps = a->kernel.dims[0] * a->kernel.dims[1],
                .positions = o.dims[2] * o.dims[3]};
    p.groups = o.dims[1] / (2 * p.taps);
    p.own = x.dims[1] / p.groups;
    p.height = x.dims[2];
    p.width = x.dims[3];
    p.places = KN_SHAPE(p.batch, p.groups, p.taps, p.positions);
    p.values = KN_SHAPE(p.batch, p.groups, p.own, p.taps, p.positions);
    kn_tensor offset = kn_keep(kn_reshape(l->in[1], KN_SHAPE(p.batch, p.groups, p.taps, 2, p.positions)));
    kn_tensor row =
        kn_keep(kn_add(kn_select(offset, 3, 0), regular_places(a, 0, o.dims[2], o.dims[3], dtype)));
    kn_tensor col =
        kn_keep(kn_add(kn_select(offset, 3, 1), regular_places(a, 1, o.dims[2], o.dims[3], dtype)));
    p.within = kn_keep(kn_logical_and(between(row, -1, (double)p.height), between(col, -1, (double)p.width)));
    p.row = kn_keep(kn_floor(row));
    p.col = kn_keep(kn_floor(col));
    p.down = kn_keep(kn_sub(row, p.row));
    p.right = kn_keep(kn_sub(col, p.col));
    return p;
}

/* One of the four elements around each place. */
typedef struct corner {
    kn_tensor valid, index; /* index: into height * width, as [batch, groups, own, taps * positions] */
    kn_tensor weight_row, weight_col; /* zero where it is not valid */
} corner;

static kn_tensor spread(const places *p, kn_tensor at_places)
{
    return kn_reshape(at_places, KN_SHAPE(p->batch, p->groups, 1, p->taps, p->positions));
}

static corner find_corner(const places *p, int d)
{
    corner c;
    kn_tensor row = kn_keep(kn_add_scalar(p->row, d / 2)), col = kn_keep(kn_add_scalar(p->col, d % 2));
    kn_tensor zero = kn_keep(kn_zeros_like(p->down));
    c.valid = kn_logical_and(between(row, -0.5, (double)p->height - 0.5),
                             between(col, -0.5, (double)p->width - 0.5));
    c.valid = kn_keep(kn_logical_and(c.valid, p->within));
    c.weight_row = kn_keep(kn_where(c.valid, d / 2 ? p->down : kn_rsub_scalar(p->down, 1), zero));
    c.weight_col = kn_keep(kn_where(c.valid, d % 2 ? p->right : kn_rsub_scalar(p->right, 1), zero));
    kn_tensor rows = kn_cast(kn_where(c.valid, row, zero), KN_I64),
              cols = kn_cast(kn_where(c.valid, col, zero), KN_I64);
    kn_tensor index = kn_add(kn_mul_scalar(rows, (double)p->width), cols);
    c.index = kn_keep(kn_reshape(kn_expand(spread(p, index), p->values),
                                 KN_SHAPE(p->batch, p->groups, p->own, p->taps * p->positions)));
    return c;
}

static kn_tensor add_to(kn_tensor sum, kn_tensor x) { return kn_keep(sum.bits ? kn_add(sum, x) : x); }

/* Sums values over the channels of a group. */
static kn_tensor over_channels(kn_tensor values) { return kn_sum(values, KN_AXES(2), false); }

static kn_status lower_wide(kni_lowering *l)
{
    const places p = find_places(l);
    const kn_shape image = KN_SHAPE(p.batch, p.groups, p.own, p.height * p.width);
    const kn_shape flat = KN_SHAPE(p.batch, p.groups, p.own, p.taps * p.positions);
    const bool masked = l->n_in > 3 && l->in[3].bits;
    kn_tensor x = kn_keep(kn_reshape(l->in[0], image)), dy = kn_keep(kn_reshape(l->in[2], p.values));
    kn_tensor mask = masked ? kn_keep(kn_reshape(l->in[3], p.places)) : KN_NONE;
    kn_tensor moved = masked ? kn_keep(kn_mul(dy, spread(&p, mask))) : dy;
    kn_tensor dx = kn_keep(kn_zeros_like(x)), by_row = KN_NONE, by_col = KN_NONE, by_mask = KN_NONE;
    for (int d = 0; d < 4; d++) {
        corner c = find_corner(&p, d);
        kn_tensor weight = kn_keep(kn_mul(c.weight_row, c.weight_col));
        kn_tensor element = kn_reshape(kn_gather(x, 3, c.index), p.values);
        element = kn_keep(kn_where(spread(&p, c.valid), element, kn_zeros_like(dy)));
        kn_tensor here = kn_reshape(kn_mul(moved, spread(&p, weight)), flat);
        dx = kn_keep(kn_scatter(dx, 3, c.index, here, KN_UPDATE_ADD));
        kn_tensor total = kn_keep(over_channels(kn_mul(moved, element)));
        by_row = add_to(by_row, kn_mul_scalar(kn_mul(total, c.weight_col), d / 2 ? 1 : -1));
        by_col = add_to(by_col, kn_mul_scalar(kn_mul(total, c.weight_row), d % 2 ? 1 : -1));
        if (masked) by_mask = add_to(by_mask, kn_mul(over_channels(kn_mul(dy, element)), weight));
    }
    l->out[0] = kn_reshape(dx, kn_shape_of_tensor(l->in[0]));
    l->out[1] = kn_reshape(kn_stack((kn_tensor[2]){by_row, by_col}, 2, 3), kn_shape_of_tensor(l->in[1]));
    l->out[2] = masked ? kn_reshape(by_mask, kn_shape_of_tensor(l->in[3]))
                       : kn_zeros(KN_SHAPE(0), kn_dtype_of(l->in[0]));
    return KN_OK;
}

/* The half types take every step in f32 and are rounded at the end, as the kernel does it. */
kn_status kni_lower_deform_sample_grad(kni_lowering *l)
{
    kn_tensor in[4] = {KN_NONE, KN_NONE, KN_NONE, KN_NONE};
    kni_lowering wide = *l;
    wide.in = in;
    for (int i = 0; i < l->n_in && i < KNI_COUNT(in); i++)
        if (l->in[i].bits) in[i] = kn_keep(kni_widen(l->in[i]));
    kn_status status = lower_wide(&wide);
    for (int i = 0; status == KN_OK && i < 3; i++) {
        int like = i < 2 ? i : l->n_in > 3 && l->in[3].bits ? 3 : 0;
        l->out[i] = kni_as(wide.out[i], (int)kn_dtype_of(l->in[like]));
    }
    return status;
}
