/* Slices of tensors, as views and as assignments, and the sliding windows of an axis. */
#include "ops/generated/movement_kernels.h"
#include "ops/infer.h"
#include "ops/movement_rows.h"
#include "ops/native.h"
#include "ops/pieces.h"

extern const kni_native kni_cpu_update_slice;

/* ---- ranges */

static int64_t clamp_position(int64_t at, int64_t n, bool back)
{
    if (at < 0) {
        at += n;
        return at < 0 ? (back ? -1 : 0) : at;
    }
    return at >= n ? (back ? n - 1 : n) : at;
}

kni_part kni_resolve_range(int64_t start, int64_t stop, int64_t step, int64_t n)
{
    if (step == 0) step = 1;
    if (step < -INT64_MAX) step = -INT64_MAX;
    bool back = step < 0;
    start = clamp_position(start, n, back);
    stop = stop == KN_END ? (back ? -1 : n) : clamp_position(stop, n, back);
    int64_t length = back ? start - stop : stop - start, pace = back ? -step : step;
    if (length <= 0) return (kni_part){0, 1, 0};
    return (kni_part){start, step, (length - 1) / pace + 1};
}

static const kn_attribute slice_schema[] = {KNI_ATTR(kni_slice_attributes, start, KNI_ATTR_INTS, KNI_STATIC),
                                            KNI_ATTR(kni_slice_attributes, stop, KNI_ATTR_INTS, KNI_STATIC),
                                            KNI_ATTR(kni_slice_attributes, step, KNI_ATTR_INTS, KNI_STATIC),
                                            {0}};

/* An expression that may be below 0, and counts from the end then: n is added where it is. */
static kn_dim counted_from_start(kn_dim position, kn_dim n)
{
    const kn_dim longest = INT64_C(1) << 48; /* no axis is */
    if (kni_dim_low(position) >= 0) return position;
    if (kni_dim_high(position) < 0) return kni_dim_compute(KNI_DIM_ADD, position, n);
    kn_dim below = kni_dim_compute(KNI_DIM_MAX, kni_dim_compute(KNI_DIM_SUB, 0, position), 0);
    kn_dim one = kni_dim_compute(KNI_DIM_MIN, below, 1), added = kni_dim_compute(KNI_DIM_MUL, one, n);
    /* A product of sums may have too many terms. */
    if (added == KNI_DIM_BAD)
        added = kni_dim_compute(KNI_DIM_MIN, n, kni_dim_compute(KNI_DIM_MUL, one, longest));
    return kni_dim_compute(KNI_DIM_ADD, position, added);
}

/* clamp_position for an axis of unknown size. */
static kn_dim symbolic_position(kn_dim position, kn_dim n, bool back)
{
    kn_dim last = back ? kni_dim_compute(KNI_DIM_SUB, n, 1) : n;
    if (kni_dim_kind_of(position) != KNI_DIM_CONSTANT) {
        kn_dim at = counted_from_start(position, n);
        if (kni_dim_low(at) < 0) at = kni_dim_compute(KNI_DIM_MAX, at, back ? -1 : 0);
        return kni_dim_compute(KNI_DIM_MIN, at, last);
    }
    if (position >= 0) return kni_dim_compute(KNI_DIM_MIN, position, last);
    if (position <= KNI_DIM_FIRST) return back ? -1 : 0; /* before the start of any axis */
    return kni_dim_compute(KNI_DIM_MAX, kni_dim_compute(KNI_DIM_ADD, n, position), back ? -1 : 0);
}

/* The elements of a range of an axis of unknown size. x[-k:] has min(k, n), which says more than n - max(n - k, 0). */
static kn_dim symbolic_range(kn_dim start, kn_dim stop, int64_t step, kn_dim n)
{
    bool back = step < 0;
    int64_t pace = !back ? step : step < -INT64_MAX ? INT64_MAX : -step;
    kn_dim end = stop == KN_END ? (back ? -1 : n) : symbolic_position(stop, n, back), length;
    if (!back && end == n && start < 0 && start > KNI_DIM_FIRST) {
        length = kni_dim_compute(KNI_DIM_MIN, n, -start);
    } else {
        /* Where the start lies behind an axis there is nothing, whether it is clamped or not: so a plain one is not. */
        bool plain = kni_dim_kind_of(start) != KNI_DIM_CONSTANT ? kni_dim_low(start) >= 0
                                                                : start >= 0 && start < -KNI_DIM_FIRST;
        bool clamped = back || !plain;
        kn_dim begin = clamped ? symbolic_position(start, n, back) : start;
        length = back ? kni_dim_compute(KNI_DIM_SUB, begin, end) : kni_dim_compute(KNI_DIM_SUB, end, begin);
        length = kni_dim_compute(KNI_DIM_MAX, length, 0);
    }
    if (pace >= -(KNI_DIM_FIRST / 2))
        return kni_dim_min(length, 1); /* no axis is as long, and the sum may not fit */
    return kni_dim_floor_div(kni_dim_add(length, pace - 1), pace);
}

kn_dim kni_slice_begin(const kni_slice_attributes *a, const kni_type *x, int axis)
{
    return symbolic_position(a->start.dims[axis], x->dims[axis], a->step.dims[axis] < 0);
}

kn_dim kni_slice_offset(const kni_slice_attributes *a, const kni_type *x)
{
    kn_dim offset = 0, stride = 1;
    for (int i = x->rank - 1; i >= 0; i--) {
        kn_dim begin = kni_dim_compute(KNI_DIM_MUL, kni_slice_begin(a, x, i), stride);
        offset = kni_dim_compute(KNI_DIM_ADD, offset, begin);
        stride = kni_dim_mul(stride, x->dims[i]);
    }
    return offset;
}

/* The size of one range, and its normal form: no negative start, and KN_END where it reaches the end. */
static kn_dim normalise_range(kni_slice_attributes *a, int axis, kn_dim n)
{
    int64_t *start = &a->start.dims[axis], *stop = &a->stop.dims[axis], *step = &a->step.dims[axis];
    if (*step == 0) *step = 1;
    bool symbolic = !kni_dim_is_constant(n) || kni_dim_kind_of(*start) != KNI_DIM_CONSTANT ||
                    kni_dim_kind_of(*stop) != KNI_DIM_CONSTANT;
    if (symbolic) return symbolic_range(*start, *stop, *step, n);
    kni_part span = kni_resolve_range(*start, *stop, *step, n);
    int64_t last = span.start + (span.size - 1) * span.step;
    bool to_end = span.size > 0 && (span.step > 0 ? n - last <= span.step : last + span.step < 0);
    *start = span.start;
    *step = span.step;
    *stop = to_end ? KN_END : span.size == 0 ? 0 : last + (span.step > 0 ? 1 : -1);
    return span.size;
}

/* The shape of the part that the attributes name. */
static kn_status infer_part(kni_infer *c, kni_type *part)
{
    kni_slice_attributes *a = c->attributes;
    const kni_type *x = c->in[0];
    if (a->start.rank != x->rank || a->stop.rank != x->rank || a->step.rank != x->rank)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%d ranges given for the %d axes of %S", a->start.rank,
                              (int)x->rank, x);
    part->dtype = x->dtype;
    part->rank = x->rank;
    for (int i = 0; i < x->rank; i++) part->dims[i] = normalise_range(a, i, x->dims[i]);
    return KN_OK;
}

/* ---- slice: y[i, j] = x[start0 + i * step0, start1 + j * step1] */

static kn_status infer_slice(kni_infer *c) { return infer_part(c, c->out[0]); }

static bool view_slice(kni_view *v)
{
    const kni_slice_attributes *a = v->attributes;
    v->offset = v->in_offset;
    bool empty = kni_count(v->out) == 0;
    for (int i = 0; i < v->out->rank; i++) {
        v->strides[i] = v->in_strides[i];
        if (empty) continue;
        v->offset += a->start.dims[i] * v->in_strides[i];
        /* A step past the axis never gets taken, and its product with a stride may not fit. */
        v->strides[i] = v->out->dims[i] > 1 ? v->in_strides[i] * a->step.dims[i] : v->in_strides[i];
    }
    return true;
}

OP(slice, .doc = "y[i, j] = x[start0 + i * step0, start1 + j * step1]", .min_in = 1, .max_in = 1, .n_out = 1,
   .kind = KNI_MOVEMENT, .dtypes = KNI_ALL, .flags = KNI_FLAG_MOVES, .schema = slice_schema,
   .attribute_bytes = sizeof(kni_slice_attributes), .infer = infer_slice, .view = view_slice)

static kn_tensor update_slice(kn_tensor x, kn_tensor values, const kni_slice_attributes *a)
{
    kn_tensor in[2] = {x, values};
    return kni_apply(&kni_op_update_slice, in, 2, a);
}

GRADIENT(slice)
{
    kn_tensor zeros = kn_zeros(kni_vjp_shape(v, 0), (kn_dtype)v->in_types[0].dtype);
    kni_vjp_set(v, 0, update_slice(zeros, v->dy[0], v->attributes));
    return KN_OK;
}

/* A range of one axis, whole in the others. */
PIECE(slice)
{
    const kni_slice_attributes *a = attributes;
    *piece = (kni_piece){.axis = -1};
    for (int i = 0; i < whole->rank; i++) {
        if (a->step.dims[i] != 1 || part->dims[i] == 0) return false;
        if (part->dims[i] == whole->dims[i]) continue;
        if (piece->axis >= 0) return false;
        *piece = (kni_piece){.axis = i, .start = a->start.dims[i], .size = part->dims[i]};
    }
    return true;
}

kn_tensor kni_put_slice(const kni_piece *piece, const kni_type *whole, kn_tensor dy)
{
    kn_tensor zeros = kn_zeros(kni_shape_from_type(whole), (kn_dtype)whole->dtype);
    kni_slice_attributes a = {.start.rank = whole->rank, .stop.rank = whole->rank, .step.rank = whole->rank};
    for (int i = 0; i < whole->rank; i++) {
        a.start.dims[i] = i == piece->axis ? piece->start : 0;
        a.stop.dims[i] = i == piece->axis ? piece->start + piece->size : whole->dims[i];
        a.step.dims[i] = 1;
    }
    return update_slice(zeros, dy, &a);
}

/* ---- update_slice: x with the part replaced by values */

static kn_status infer_update_slice(kni_infer *c)
{
    kni_type part;
    kn_status s = infer_part(c, &part);
    if (s) return s;
    const kni_type *values = c->in[1];
    bool fits = values->rank == part.rank;
    for (int i = 0; fits && i < part.rank; i++) fits = kni_dims_agree(values->dims[i], part.dims[i]);
    if (!fits)
        return kni_infer_fail(c, KN_ERROR_SHAPE, "values of %S do not fit the part %S of %S", values, &part,
                              c->in[0]);
    if (values->dtype != c->in[0]->dtype)
        return kni_infer_fail(c, KN_ERROR_DTYPE, "values are %T, the tensor is %T: convert with kn_cast()",
                              (int)values->dtype, (int)c->in[0]->dtype);
    return kni_infer_same(c);
}

static kn_status launch_update_slice(kni_launch *l)
{
    const kni_slice_attributes *a = l->attributes;
    const kni_type *x = l->in[0];
    l->kernel = &kni_kernel_update_slice;
    l->items = kni_count(x);
    kni_launch_int(l, x->rank);
    int64_t start[KN_MAX_RANK] = {0}, step[KN_MAX_RANK] = {0}, size[KN_MAX_RANK] = {0},
            dims[KN_MAX_RANK] = {0};
    for (int i = 0; i < x->rank; i++) {
        start[i] = a->start.dims[i];
        step[i] = a->step.dims[i];
        size[i] = l->in[1]->dims[i];
        dims[i] = x->dims[i];
    }
    kni_launch_ints(l, dims, KN_MAX_RANK);
    kni_launch_ints(l, start, KN_MAX_RANK);
    kni_launch_ints(l, step, KN_MAX_RANK);
    kni_launch_ints(l, size, KN_MAX_RANK);
    return KN_OK;
}

OP(update_slice, .doc = "x with x[start + i * step] = values[i]", .min_in = 2, .max_in = 2, .n_out = 1,
   .kind = KNI_MOVEMENT, .layout = KNI_LAYOUT_KEEPS, .dtypes = KNI_ALL,
   .flags = KNI_FLAG_ALIAS | KNI_FLAG_MOVES, .schema = slice_schema,
   .attribute_bytes = sizeof(kni_slice_attributes), .infer = infer_update_slice,
   .launch = launch_update_slice, .native = &kni_cpu_update_slice)

GRADIENT(update_slice)
{
    const kni_slice_attributes *a = v->attributes;
    if (kni_vjp_needs(v, 0)) {
        kn_tensor zeros = kn_zeros(kni_vjp_shape(v, 1), (kn_dtype)v->in_types[1].dtype);
        kni_vjp_set(v, 0, update_slice(v->dy[0], zeros, a));
    }
    if (kni_vjp_needs(v, 1)) kni_vjp_set(v, 1, kni_apply(&kni_op_slice, v->dy, 1, a));
    return KN_OK;
}

/* ---- window: y[..., w, ..., i] = x[..., w * step + i, ...] */

static const kn_attribute window_schema[] = {
    KNI_ATTR(kni_window_attributes, axis, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_window_attributes, size, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_window_attributes, step, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_window_attributes, length, KNI_ATTR_INT, KNI_STATIC),
    {0}};

static kn_status check_window(const kni_infer *c, const kni_window_attributes *a)
{
    if (a->size < 0) return kni_infer_fail(c, KN_ERROR_ARGUMENT, "the window size %D is negative", a->size);
    if (a->step <= 0) return kni_infer_fail(c, KN_ERROR_ARGUMENT, "the step %D is not positive", a->step);
    return KN_OK;
}

static kn_status infer_window(kni_infer *c)
{
    kni_window_attributes *a = c->attributes;
    const kni_type *x = c->in[0];
    kni_type *y = c->out[0];
    kn_status s = kni_infer_axis(c, &a->axis, x->rank);
    if (s == KN_OK) s = check_window(c, a);
    if (s) return s;
    if (x->rank == KN_MAX_RANK)
        return kni_infer_fail(c, KN_ERROR_SHAPE, "%S has no room for another axis; %d is the highest rank", x,
                              KN_MAX_RANK);
    kn_dim n = x->dims[a->axis];
    if (kni_dim_high(n) < a->size)
        return kni_infer_fail(c, KN_ERROR_SHAPE, "the window of %D is larger than axis %D of %S", a->size,
                              a->axis, x);
    *y = *x;
    y->weak = 0;
    y->rank++;
    y->dims[a->axis] = kni_dim_add(kni_dim_floor_div(kni_dim_sub(n, a->size), a->step), 1);
    y->dims[x->rank] = a->size;
    a->length = n >= 0 ? n : 0;
    return KN_OK;
}

static bool view_window(kni_view *v)
{
    const kni_window_attributes *a = v->attributes;
    v->offset = v->in_offset;
    for (int i = 0; i < v->in->rank; i++) v->strides[i] = v->in_strides[i];
    v->strides[v->in->rank] = v->in_strides[a->axis];
    if (v->out->dims[a->axis] > 1) v->strides[a->axis] = v->in_strides[a->axis] * a->step;
    return true;
}

OP(window, .doc = "y[..., w, ..., i] = x[..., w * step + i, ...]", .min_in = 1, .max_in = 1, .n_out = 1,
   .kind = KNI_MOVEMENT, .dtypes = KNI_ALL, .flags = KNI_FLAG_MOVES, .schema = window_schema,
   .attribute_bytes = sizeof(kni_window_attributes), .infer = infer_window, .view = view_window)

GRADIENT(window)
{
    kni_vjp_set(v, 0, kni_apply(&kni_op_window_grad, v->dy, 1, v->attributes));
    return KN_OK;
}

/* ---- window_grad: y[..., t, ...] = sum of x[..., w, ..., i] over w * step + i = t */

static kn_status infer_window_grad(kni_infer *c)
{
    kni_window_attributes *a = c->attributes;
    const kni_type *x = c->in[0];
    kn_status s = kni_infer_rank(c, 0, 2, KN_MAX_RANK);
    if (s == KN_OK) s = kni_infer_axis(c, &a->axis, x->rank - 1);
    if (s == KN_OK) s = check_window(c, a);
    if (s) return s;
    if (!kni_dims_agree(x->dims[x->rank - 1], a->size) || a->length < a->size ||
        !kni_dims_agree(x->dims[a->axis], (a->length - a->size) / a->step + 1))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "%S are no windows of %D elements every %D of an axis of %D",
                              x, a->size, a->step, a->length);
    *c->out[0] = *x;
    c->out[0]->weak = 0;
    c->out[0]->rank--;
    c->out[0]->dims[a->axis] = a->length;
    return KN_OK;
}

static kn_status launch_window_grad(kni_launch *l)
{
    const kni_window_attributes *a = l->attributes;
    const kni_type *y = l->out[0];
    int64_t inner = 1;
    for (int i = (int)a->axis + 1; i < y->rank; i++) inner *= y->dims[i];
    l->kernel = &kni_kernel_window_grad;
    l->items = kni_count(y);
    kni_launch_int(l, inner);
    kni_launch_int(l, a->length);
    kni_launch_int(l, l->in[0]->dims[a->axis]);
    kni_launch_int(l, a->size);
    kni_launch_int(l, a->step);
    return KN_OK;
}

OP(window_grad, .doc = "y[..., t, ...] = sum of x[..., w, ..., i] over w * step + i = t", .min_in = 1,
   .max_in = 1, .n_out = 1, .kind = KNI_MOVEMENT, .dtypes = KNI_NUMBERS, .tolerance = {2, 1},
   .schema = window_schema, .attribute_bytes = sizeof(kni_window_attributes), .infer = infer_window_grad,
   .launch = launch_window_grad)

GRADIENT(window_grad)
{
    const kni_window_attributes *a = v->attributes;
    kni_vjp_set(v, 0, kn_unfold_axis(v->dy[0], (int32_t)a->axis, a->size, a->step));
    return KN_OK;
}
