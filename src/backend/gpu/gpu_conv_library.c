/* Convolutions by the driver's library: which ones it is asked for, and as what. */
#include "backend/gpu/gpu_conv.h"
#include "core/reproducible.h"
#include "ops/conv.h"
#include <kn/elementwise.h>
#include <kn/shape.h>
#include <string.h>

/* An operand in memory of the driver, in order or with channels last. */
typedef struct operand {
    kni_gpu_block *block, *made;
    int64_t offset;
    bool last;
} operand;

static bool lies_last(const kni_tensor *x)
{
    return x->storage && !kni_gpu_contiguous(x) &&
           kni_lies_in_order(KNI_ORDER_CHANNELS, x->type.rank, x->type.dims, x->strides);
}

/* Whether both images lie in one of the two orders, and in the same. */
static bool lie_alike(const kni_tensor *x, const kni_tensor *y)
{
    for (int order = KNI_ORDER_ROWS; order <= KNI_ORDER_CHANNELS; order++)
        if (kni_lies_in_order(order, x->type.rank, x->type.dims, x->strides) &&
            kni_lies_in_order(order, y->type.rank, y->type.dims, y->strides))
            return true;
    return false;
}

static kn_status give(kni_gpu *g, kni_tensor *x, operand *o)
{
    o->last = lies_last(x);
    if (o->last || kni_gpu_contiguous(x)) {
        o->offset = x->storage ? x->offset : 0;
        return kni_gpu_operand(g, x, &o->block, &o->made);
    }
    kn_status s = kni_gpu_gather(g, x, &o->made);
    o->block = o->made;
    return s;
}

static kni_place place_of(const kni_conv_operand *o)
{
    return o->block ? (kni_place){o->block->memory, o->offset} : (kni_place){NULL, 0};
}

static kni_conv_operand lent(const operand *o) { return (kni_conv_operand){o->block, o->offset}; }

/* ---- what the driver is asked for */

/* Padding behind an axis that makes the library find the same size: as much as before it where that does, else the least. False where
   the image would have to be cropped. */
static bool find_end(int64_t x, int64_t kernel, int64_t y, int64_t stride, int64_t dilation, int64_t begin,
                     int64_t *end)
{
    const int64_t least = (y - 1) * stride + (kernel - 1) * dilation + 1 - x - begin;
    if (begin < 0 || least + stride - 1 < 0) return false;
    *end = begin >= least && begin < least + stride ? begin : least > 0 ? least : 0;
    return true;
}

static void find_steps(int64_t *steps, int axes, int64_t inner, const int64_t *sizes, bool last)
{
    int64_t step = last ? inner : 1;
    for (int i = axes - 1; i >= 0; i--) {
        steps[2 + i] = step;
        step *= sizes[i];
    }
    steps[1] = last ? 1 : step;
    steps[0] = last ? step : step * inner;
}

/* x, w and y are those of the plain convolution, whichever of them is made. Images of one axis are those of two with one row. */
static bool describe(const kni_gpu *g, const kn_record *r, int what, kni_convolution *p)
{
    static const int whats[] = {KNI_CONVOLUTION_FORWARD, KNI_CONVOLUTION_DATA, KNI_CONVOLUTION_FILTER};
    const kni_conv_attributes *at = r->attributes;
    const kni_type *first = &kni_in(r, 0)->type, *other = &kni_in(r, 1)->type, *out = &kni_out(r, 0)->type;
    /* What a transposed convolution reads is what a plain one makes. */
    const kni_type *x = what == KNI_CONV_TRANSPOSED ? out : first;
    const kni_type *w = what == KNI_CONV_WEIGHT ? out : other;
    const kni_type *y = what == KNI_CONV_FORWARD ? out : what == KNI_CONV_WEIGHT ? other : first;
    const int axes = first->rank - 2, missing = axes == 1;
    *p = (kni_convolution){.what = whats[what],
                           .dtype = out->dtype,
                           .axes = axes + missing,
                           .tf32 = g->tf32,
                           .images = x->dims[0],
                           .channels = x->dims[1],
                           .outs = y->dims[1],
                           .groups = at->groups,
                           .stride = {1},
                           .dilation = {1},
                           .x_size = {1},
                           .kernel = {1},
                           .y_size = {1}};
    if (!kni_count(x) || !kni_count(w) || !kni_count(y)) return false;
    for (int i = 0; i < axes; i++) {
        const int k = missing + i;
        p->x_size[k] = x->dims[2 + i], p->kernel[k] = w->dims[2 + i], p->y_size[k] = y->dims[2 + i];
        p->stride[k] = at->stride.dims[i], p->dilation[k] = at->dilation.dims[i];
        p->padding[k] = at->padding.dims[i];
        if (!find_end(p->x_size[k], p->kernel[k], p->y_size[k], p->stride[k], p->dilation[k], p->padding[k],
                      &p->padding_end[k]))
            return false;
    }
    return true;
}

static void place_operands(kni_convolution *p, const kni_conv_made *m)
{
    const bool data = p->what == KNI_CONVOLUTION_DATA, filter = p->what == KNI_CONVOLUTION_FILTER;
    const kni_place x = place_of(&m->x), other = place_of(&m->other), made = place_of(&m->result);
    p->x = data ? made : x;
    p->w = filter ? made : other;
    p->y = data ? x : filter ? other : made;
    p->bias = place_of(&m->bias);
    p->added = place_of(&m->added);
    p->relu = m->relu;
    find_steps(p->x_steps, p->axes, p->channels, p->x_size, data ? m->y_last : m->x_last);
    find_steps(p->w_steps, p->axes, p->channels / p->groups, p->kernel, false);
    find_steps(p->y_steps, p->axes, p->outs, p->y_size, data ? m->x_last : m->y_last);
}

/* ---- few channels */

/* The channels that few of them become, so that the library's engines for channels last take them; 0: they stay. */
static int packed_channels(const kni_gpu *g, const kni_convolution *p, const kni_conv_made *m)
{
    enum { LEAST = 1 << 16 /* places of the image, below which a copy of it is not worth a launch */ };
    const int to = kni_is_half(p->dtype) ? KNI_PACK_MOST : g->tf32 ? KNI_PACK_MOST / 2 : 0;
    const bool data = p->what == KNI_CONVOLUTION_DATA;
    if (p->groups != 1 || p->channels >= to || !(data ? m->x_last && !m->y_last : m->y_last)) return 0;
    return p->outs % to || p->images * kni_count_dims(p->axes, p->x_size) < LEAST ? 0 : to;
}

/* The convolution with channels of zeros behind those of the image and of the weights. */
static kn_status convolve_packed(kni_gpu *g, kni_convolution p, const kni_conv_made *m, int to)
{
    const bool filter = p.what == KNI_CONVOLUTION_FILTER, data = p.what == KNI_CONVOLUTION_DATA;
    const int bytes = (int)kni_bytes_of(p.dtype);
    const kni_conv_packed image = {p.images, p.channels, kni_count_dims(p.axes, p.x_size),
                                   bytes,    to,         m->x_last && !data},
                          weights = {p.outs, p.channels, kni_count_dims(p.axes, p.kernel), bytes, to, false};
    kni_gpu_block *x = NULL, *w = NULL;
    kn_status s = kni_gpu_conv_pack(g, &image, data ? NULL : &m->x, &x);
    if (s == KN_OK) s = kni_gpu_conv_pack(g, &weights, filter ? NULL : &m->other, &w);
    if (s == KN_OK) {
        p.channels = to;
        p.x = (kni_place){x->memory, 0};
        p.w = (kni_place){w->memory, 0};
        find_steps(p.x_steps, p.axes, to, p.x_size, true);
        find_steps(p.w_steps, p.axes, to, p.kernel, true);
        s = kni_gpu_checked(g, g->driver->convolution(g->driver, &p));
    }
    if (s == KN_OK && filter) s = kni_gpu_conv_unpack(g, &weights, w, &m->result);
    if (s == KN_OK && data) s = kni_gpu_conv_unpack(g, &image, x, &m->result);
    if (x) kni_gpu_give(x);
    if (w) kni_gpu_give(w);
    return s;
}

static kn_status call_library(kni_gpu *g, const kni_convolution *p, const kni_conv_made *m)
{
    const int to = packed_channels(g, p, m);
    kn_status s = to ? convolve_packed(g, *p, m, to) : KN_ERROR_UNSUPPORTED;
    if (s == KN_ERROR_UNSUPPORTED) s = kni_gpu_checked(g, g->driver->convolution(g->driver, p));
    if (s == KN_OK) g->launches++;
    return s;
}

/* ---- which ones */

bool kni_gpu_conv_suits_library(const kni_gpu *g, const kn_record *r, int what)
{
    /* Below it one launch of ours in f32 is as quick as those of a library, as with products. */
    const double least = 1 << 24;
    const kni_type *out = &kni_out(r, 0)->type;
    /* A library may add up in any order. */
    if (!g->driver->convolution || kni_reproducible()) return false;
    /* A bias after a transposed convolution is a second rounding, which is worth it for large ones alone. */
    const bool half = kni_is_half(out->dtype),
               rounds_twice = half && what == KNI_CONV_TRANSPOSED && r->n_in > 2 && kni_in(r, 2);
    if (!half && out->dtype != KN_F32) return false;
    if (!rounds_twice && (half || g->tf32 || g->convolutions == KNI_CONV_BY_LIBRARY)) return true;
    kni_conv_shape c;
    kni_gpu_conv_measure(r, what, &c);
    return (double)kni_count_dims(KNI_CONV_AXES, c.kernel) * (double)c.channels * (double)c.outs *
               (double)c.groups * (double)c.images *
               (double)kni_count_dims(KNI_CONV_AXES, what == KNI_CONV_TRANSPOSED ? c.x_size : c.y_size) >=
           least;
}

/* Operands with memory; the weights row by row, which is what mends them reads. */
static kn_status give_all(kni_gpu *g, const kn_record *r, int what, operand in[3])
{
    kni_tensor *bias = r->n_in > 2 ? kni_in(r, 2) : NULL;
    kn_status s = give(g, kni_in(r, 0), &in[0]);
    if (s == KN_OK) s = give(g, kni_in(r, 1), &in[1]);
    if (s == KN_OK && bias) s = give(g, bias, &in[2]);
    if (s == KN_OK && what != KNI_CONV_WEIGHT && in[1].last) {
        s = kni_gpu_gather(g, kni_in(r, 1), &in[1].made);
        in[1] = (operand){.block = in[1].made, .made = in[1].made};
    }
    return s;
}

/* The transposed convolution without its bias, which is added to what the library made. */
static kn_status lower_bias(kni_lowering *l)
{
    kn_tensor in[3] = {l->in[0], l->in[1], KN_NONE};
    const kn_ints channels = {.rank = kn_rank(l->in[0]) - 1, .dims = {kn_count(l->in[2]), 1, 1, 1}};
    l->out[0] = kn_add(kni_apply(l->row, in, KNI_COUNT(in), l->attributes), kn_reshape(l->in[2], channels));
    return KN_OK;
}

kn_status kni_gpu_run_conv_library(kni_gpu *g, const kn_record *r, const kni_gpu_tail *tail, int what)
{
    kni_tensor *bias = r->n_in > 2 ? kni_in(r, 2) : NULL, *y = tail ? tail->result : kni_out(r, 0);
    operand in[3];
    kni_convolution p;
    if (!kni_gpu_conv_suits_library(g, r, what)) return KN_ERROR_UNSUPPORTED;
    if (bias && !tail && what == KNI_CONV_TRANSPOSED)
        return kni_lower_record_by(r, g->backend.device, lower_bias);
    if (((bias || tail) && what != KNI_CONV_FORWARD) || !describe(g, r, what, &p))
        return KN_ERROR_UNSUPPORTED;
    if (tail && tail->added && !lie_alike(tail->added, y)) return KN_ERROR_UNSUPPORTED;
    memset(in, 0, sizeof in);
    kn_status s = give_all(g, r, what, in);
    if (s == KN_OK && !tail) s = kni_gpu_allocate_promised(g, y);
    if (s == KN_OK) {
        kni_conv_made m = {.x = lent(&in[0]),
                           .other = lent(&in[1]),
                           .bias = lent(&in[2]),
                           .result = {kni_gpu_block_of(y->storage), y->offset},
                           .x_last = in[0].last,
                           .y_last = what == KNI_CONV_WEIGHT ? in[1].last : lies_last(y),
                           .relu = tail && tail->epilogue & KNI_EPILOGUE_RELU};
        if (tail && tail->added)
            m.added = (kni_conv_operand){kni_gpu_block_of(tail->added->storage), tail->added->offset};
        place_operands(&p, &m);
        p.transformed = &m.transformed;
        s = call_library(g, &p, &m);
        if (s == KN_OK) s = kni_gpu_conv_mend(g, r, what, &m);
    }
    if (s == KN_OK && !tail) kni_gpu_finish(g, r, -1);
    for (int i = 0; i < 3; i++)
        if (in[i].made) kni_gpu_give(in[i].made);
    return s;
}
