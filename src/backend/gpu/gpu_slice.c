/* Writing parts of a tensor by the copy of strided elements (gpu_view.c): replacing one, where the whole is copied first, or
   kept where nobody else needs it, and joining tensors along an axis. */
#include "backend/gpu/product.h"
#include "ops/movement_rows.h"
#include <string.h>

kn_status kni_gpu_take_over(kni_gpu *g, const kn_record *r)
{
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0);
    if (kni_may_overwrite_promised(r, 0, y) && kni_gpu_may_overwrite(g, x->storage)) {
        kni_take_memory(y, x);
        return KN_OK;
    }
    kn_status s = kni_gpu_allocate_promised(g, y);
    return s ? s : kni_gpu_place(g, x, kni_gpu_block_of(y->storage), 0, y->strides);
}

kn_status kni_gpu_run_update_slice(kni_gpu *g, const kn_record *r)
{
    const kni_slice_attributes *a = r->attributes;
    kni_tensor *x = kni_in(r, 0), *values = kni_in(r, 1), *y = kni_out(r, 0);
    int64_t strides[KN_MAX_RANK] = {0}, start = 0;
    kn_status s = kni_gpu_take_over(g, r);
    for (int i = 0; i < x->type.rank; i++) {
        start += a->start.dims[i] * y->strides[i];
        strides[i] = a->step.dims[i] * y->strides[i];
    }
    if (s == KN_OK) s = kni_gpu_place(g, values, kni_gpu_block_of(y->storage), start, strides);
    if (s == KN_OK) kni_gpu_finish(g, r, -1);
    return s;
}

kn_status kni_gpu_run_concat(kni_gpu *g, const kn_record *r)
{
    kni_tensor *y = kni_out(r, 0);
    int axis = (int)((const kni_axis_attributes *)r->attributes)->axis;
    kni_gpu_part parts[16];
    int64_t start = 0;
    for (int i = 0; i < r->n_in; i++)
        if (kni_in(r, i)->type.dtype != y->type.dtype) return KN_ERROR_UNSUPPORTED;
    kn_status s = kni_gpu_allocate_promised(g, y);
    for (int i = 0, n = 0; i < r->n_in && s == KN_OK; i++) {
        parts[n++] = (kni_gpu_part){kni_in(r, i), start, y->strides};
        start += kni_in(r, i)->type.dims[axis] * y->strides[axis];
        if (n < KNI_COUNT(parts) && i < r->n_in - 1) continue;
        s = kni_gpu_place_all(g, parts, n, kni_gpu_block_of(y->storage));
        n = 0;
    }
    if (s == KN_OK) kni_gpu_finish(g, r, -1);
    return s;
}
