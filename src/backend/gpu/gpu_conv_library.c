/* Convolutions by the driver's library: which ones it is asked for, and as what. */
#include "backend/gpu/gpu_conv.h"
#include "core/reproducible.h"
#include "ops/conv.h"
#include <string.h>

/* An operand in order in memory of the driver. */
typedef struct operand {
    kni_gpu_block *block, *made;
    int64_t offset;
} operand;

static kn_status give(kni_gpu *g, kni_tensor *x, operand *o)
{
    if (kni_gpu_contiguous(x)) {
        o->offset = x->storage ? x->offset : 0;
        return kni_gpu_operand(g, x, &o->block, &o->made);
    }
    kn_status s = kni_gpu_gather(g, x, &o->made);
    o->block = o->made;
    return s;
}

static kni_place place_of(const operand *o) { return (kni_place){o->block->memory, o->offset}; }

/* What the driver is asked for: x, w and y are those of the plain convolution, whichever of them is made. Images of one
   axis are those of two with one row. */
static bool describe(const kn_record *r, int what, kni_convolution *p)
{
    static const int whats[] = {KNI_CONVOLUTION_FORWARD, KNI_CONVOLUTION_DATA, KNI_CONVOLUTION_FILTER};
    const kni_conv_attributes *at = r->attributes;
    const kni_type *first = &kni_in(r, 0)->type, *other = &kni_in(r, 1)->type, *out = &kni_out(r, 0)->type;
    /* What a transposed convolution reads is what a plain one makes. */
    const kni_type *x = what == KNI_CONV_TRANSPOSED ? out : first;
    const kni_type *w = what == KNI_CONV_WEIGHT ? out : other;
    const kni_type *y = what == KNI_CONV_FORWARD ? out : what == KNI_CONV_WEIGHT ? other : first;
    const int axes = first->rank - 2, missing = 2 - axes;
    if (missing < 0) return false;
    *p = (kni_convolution){.what = whats[what],
                           .dtype = out->dtype,
                           .images = x->dims[0],
                           .channels = x->dims[1],
                           .outs = y->dims[1],
                           .groups = at->groups,
                           .stride = {1, 1},
                           .dilation = {1, 1},
                           .x_size = {1, 1},
                           .kernel = {1, 1},
                           .y_size = {1, 1}};
    for (int i = 0; i < axes; i++) {
        const int k = missing + i;
        p->x_size[k] = x->dims[2 + i], p->kernel[k] = w->dims[2 + i], p->y_size[k] = y->dims[2 + i];
        p->stride[k] = at->stride.dims[i], p->dilation[k] = at->dilation.dims[i];
        p->padding[k] = at->padding.dims[i];
        if (p->padding[k] < 0) return false;
    }
    return true;
}

/* Operands: x, the other one, a bias; `result` has memory. */
static kn_status ask(kni_gpu *g, kni_convolution *p, const operand *in, bool biased, const kni_tensor *result)
{
    const kni_place made = {kni_gpu_block_of(result->storage)->memory, 0};
    const kni_place x = place_of(&in[0]), other = place_of(&in[1]);
    const bool data = p->what == KNI_CONVOLUTION_DATA, filter = p->what == KNI_CONVOLUTION_FILTER;
    p->x = data ? made : x;
    p->w = filter ? made : other;
    p->y = data ? x : filter ? other : made;
    if (biased) p->bias = place_of(&in[2]);
    kn_status s = kni_gpu_checked(g, g->driver->convolution(g->driver, p));
    if (s == KN_OK) g->launches++;
    return s;
}

kn_status kni_gpu_run_conv_library(kni_gpu *g, const kn_record *r, const kni_gpu_tail *tail, int what)
{
    kni_tensor *bias = r->n_in > 2 ? kni_in(r, 2) : NULL, *y = kni_out(r, 0);
    operand in[3];
    kni_convolution p;
    /* A library may add up in any order. */
    if (!g->driver->convolution || tail || !kni_is_half(y->type.dtype) || kni_reproducible())
        return KN_ERROR_UNSUPPORTED;
    if ((bias && what != KNI_CONV_FORWARD) || !describe(r, what, &p)) return KN_ERROR_UNSUPPORTED;
    memset(in, 0, sizeof in);
    kn_status s = give(g, kni_in(r, 0), &in[0]);
    if (s == KN_OK) s = give(g, kni_in(r, 1), &in[1]);
    if (s == KN_OK && bias) s = give(g, bias, &in[2]);
    if (s == KN_OK) s = kni_gpu_allocate(g, y);
    if (s == KN_OK) s = ask(g, &p, in, bias != NULL, y);
    if (s == KN_OK) s = kni_gpu_conv_mend(g, r, what);
    if (s == KN_OK) kni_gpu_finish(g, r, -1);
    for (int i = 0; i < 3; i++)
        if (in[i].made) kni_gpu_give(in[i].made);
    return s;
}
