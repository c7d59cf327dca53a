/* Which rows are affine maps of channels, and how contractions take them in. Computed in f64 and rounded once. */
#include "ops/affine.h"
#include "ops/conv.h"
#include "ops/norm.h"

static kn_tensor wide(kn_tensor x) { return kn_cast(x, KN_F64); }

static kn_tensor plus(kn_tensor a, kn_tensor b) { return !a.bits ? b : !b.bits ? a : kn_add(a, b); }

/* ---- maps */

typedef struct reading {
    const void *attributes;
    const kni_type *x;
    int32_t axis; /* from the first one */
    const kn_tensor *in;
    int32_t n_in, operand;
} reading;

/* The other operand of a binary row as one number for each channel; KN_NONE where it differs along another axis. */
static kn_tensor other_by_channel(const reading *r)
{
    kn_tensor c = r->n_in == 2 ? r->in[1 - r->operand] : KN_NONE;
    const kni_type *t = c.bits ? &kni_peek(c)->type : NULL;
    if (!t || t->rank > r->x->rank) return KN_NONE;
    for (int a = 0; a < t->rank; a++) {
        int along = a + r->x->rank - t->rank;
        if (t->dims[a] != 1 && !(along == r->axis && t->dims[a] == r->x->dims[along])) return KN_NONE;
    }
    kn_tensor flat = kn_reshape(wide(c), KN_SHAPE(kni_count(t)));
    return kn_expand(flat, KN_SHAPE(r->x->dims[r->axis]));
}

static bool read_add(const reading *r, kni_affine *map)
{
    map->shift = other_by_channel(r);
    return map->shift.bits != 0;
}

static bool read_sub(const reading *r, kni_affine *map)
{
    kn_tensor c = other_by_channel(r);
    if (!c.bits) return false;
    map->shift = r->operand == 0 ? kn_neg(c) : c;
    if (r->operand == 1) map->scale = kn_full(KN_SHAPE(r->x->dims[r->axis]), -1, KN_F64);
    return true;
}

static bool read_mul(const reading *r, kni_affine *map)
{
    map->scale = other_by_channel(r);
    return map->scale.bits != 0;
}

static bool read_div(const reading *r, kni_affine *map)
{
    kn_tensor c = r->operand == 0 ? other_by_channel(r) : KN_NONE;
    if (c.bits) map->scale = kn_reciprocal(c);
    return c.bits != 0;
}

static bool read_neg(const reading *r, kni_affine *map)
{
    map->scale = kn_full(KN_SHAPE(r->x->dims[r->axis]), -1, KN_F64);
    return true;
}

/* scale = weight / sqrt(variance + eps), shift = bias - mean scale */
static bool read_batch_norm(const reading *r, kni_affine *map)
{
    const kni_batch_norm_attributes *a = r->attributes;
    if (r->operand != 0 || r->axis != 1 || r->n_in < 3) return false;
    kn_tensor scale = kn_reciprocal(kn_sqrt(kn_add_scalar(wide(r->in[2]), a->eps)));
    if (r->n_in > 3 && r->in[3].bits) scale = kn_mul(scale, wide(r->in[3]));
    map->scale = kn_keep(scale);
    kn_tensor shift = kn_neg(kn_mul(wide(r->in[1]), map->scale));
    map->shift = r->n_in > 4 && r->in[4].bits ? kn_add(shift, wide(r->in[4])) : shift;
    return true;
}

static const struct {
    const kn_op *row;
    bool (*read)(const reading *r, kni_affine *map);
    bool from_first;
} maps[] = {{&kni_op_add, read_add, false}, {&kni_op_sub, read_sub, false},
            {&kni_op_mul, read_mul, false}, {&kni_op_div, read_div, false},
            {&kni_op_neg, read_neg, false}, {&kni_op_batch_norm, read_batch_norm, true}};
enum { N_MAPS = sizeof maps / sizeof *maps };

bool kni_affine_of(const kn_op *row, const void *attributes, const kni_type *x, int32_t axis,
                   const kn_tensor *in, int32_t n_in, int32_t operand, kni_affine *map)
{
    reading r = {attributes, x, axis < 0 ? axis + x->rank : axis, in, n_in, operand};
    *map = (kni_affine){KN_NONE, KN_NONE};
    if (r.axis < 0 || r.axis >= x->rank || !kni_is_float(x->dtype)) return false;
    for (int i = 0; i < N_MAPS; i++)
        if (maps[i].row == row) return maps[i].read(&r, map);
    return false;
}

bool kni_affine_from_first(const kn_op *row)
{
    for (int i = 0; i < N_MAPS; i++)
        if (maps[i].row == row) return maps[i].from_first;
    return false;
}

/* ---- contractions */

/* One number for each result of the weight, in a shape that broadcasts to it. */
static kn_tensor by_rows(kn_tensor scale, kn_shape w, const void *attributes)
{
    (void)attributes;
    kn_shape shape = {w.rank, {w.dims[0]}};
    for (int a = 1; a < w.rank; a++) shape.dims[a] = 1;
    return kn_reshape(scale, shape);
}

/* [in, out / groups, ...]: the rows of a group go to the results of that group. */
static kn_tensor by_groups(kn_tensor scale, kn_shape w, const void *attributes)
{
    const kni_conv_attributes *a = attributes;
    int64_t groups = a->groups ? a->groups : 1;
    kn_tensor each = kn_reshape(scale, KN_SHAPE(groups, 1, w.dims[1]));
    each = kn_expand(each, KN_SHAPE(groups, w.dims[0] / groups, w.dims[1]));
    kn_shape shape = {w.rank, {w.dims[0], w.dims[1]}};
    for (int i = 2; i < w.rank; i++) shape.dims[i] = 1;
    return kn_reshape(each, shape);
}

static const struct {
    const kn_op *row;
    int32_t axis;
    kn_tensor (*along_weight)(kn_tensor scale, kn_shape w, const void *attributes);
} contractions[] = {
    {&kni_op_conv, 1, by_rows}, {&kni_op_linear, -1, by_rows}, {&kni_op_conv_transpose, 1, by_groups}};
enum { N_CONTRACTIONS = sizeof contractions / sizeof *contractions };

static int find_contraction(const kn_op *row)
{
    for (int i = 0; i < N_CONTRACTIONS; i++)
        if (contractions[i].row == row) return i;
    return -1;
}

int32_t kni_absorb_axis(const kn_op *row)
{
    int i = find_contraction(row);
    return i < 0 ? KNI_NO_CHANNELS : contractions[i].axis;
}

static bool is_finite(kn_tensor x)
{
    bool all = false;
    kn_tensor each = kn_all(kn_is_finite(x), KN_AXES_ALL, false);
    return kn_read(each, &all, sizeof all) == KN_OK && all;
}

bool kni_absorb(const kn_op *row, const void *attributes, kni_affine map, kn_tensor *weight, kn_tensor *bias)
{
    int i = find_contraction(row);
    if (i < 0) return false;
    kn_dtype dtype = kn_dtype_of(*weight);
    if (map.scale.bits) {
        kn_tensor scale = kn_keep(map.scale);
        kn_tensor along = contractions[i].along_weight(scale, kn_shape_of_tensor(*weight), attributes);
        *weight = kn_keep(kn_cast(kn_mul(wide(*weight), along), dtype));
        if (bias->bits) *bias = kn_mul(wide(*bias), scale);
    }
    if (map.shift.bits) *bias = plus(bias->bits ? wide(*bias) : KN_NONE, map.shift);
    if (bias->bits) *bias = kn_keep(kn_cast(*bias, dtype));
    return kn_ok(*weight) && is_finite(*weight) && (!bias->bits || (kn_ok(*bias) && is_finite(*bias)));
}
