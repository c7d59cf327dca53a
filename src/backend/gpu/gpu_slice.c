/* Replacing a part of a tensor: the whole is copied, or kept where nobody else needs it, and the part is written over it by
   the copy of strided elements (gpu_view.c). */
#include "backend/gpu/product.h"
#include "ops/movement_rows.h"
#include <string.h>

/* Whether the result can have the memory of x, which dies here. */
static bool takes_over(kni_gpu *g, const kn_record *r, const kni_tensor *x, const kni_tensor *values)
{
    return (r->last_use & 1) && x->storage && x->offset == 0 && kni_gpu_contiguous(x) &&
           values->storage != x->storage && kni_gpu_may_overwrite(g, x->storage);
}

kn_status kni_gpu_run_update_slice(kni_gpu *g, const kn_record *r)
{
    const kni_slice_attributes *a = r->attributes;
    kni_tensor *x = kni_in(r, 0), *values = kni_in(r, 1), *y = kni_out(r, 0);
    int64_t strides[KN_MAX_RANK] = {0}, start = 0;
    kn_status s = KN_OK;
    if (takes_over(g, r, x, values)) {
        y->storage = kni_storage_retain(x->storage);
        y->offset = 0;
        memcpy(y->strides, x->strides, sizeof y->strides);
    } else {
        s = kni_gpu_allocate(g, y);
        if (s == KN_OK) s = kni_gpu_copy_strided(g, x, kni_gpu_block_of(y->storage));
    }
    for (int i = 0; i < x->type.rank; i++) {
        start += a->start.dims[i] * y->strides[i];
        strides[i] = a->step.dims[i] * y->strides[i];
    }
    if (s == KN_OK) s = kni_gpu_place(g, values, kni_gpu_block_of(y->storage), start, strides);
    if (s == KN_OK) kni_gpu_finish(g, r, -1);
    return s;
}
