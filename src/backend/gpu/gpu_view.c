/* Movement ops as views of the operand's memory, copies of what cannot stay, and results brought into the order that they were
   promised in. */
#include "backend/gpu/gpu.h"
#include <string.h>

static kn_status copy_contiguous(void *gpu, kni_tensor *x, kni_tensor *copy)
{
    kni_gpu *g = gpu;
    uint64_t faults;
    kn_status s = kni_gpu_faults_of(g, x, &faults);
    if (s == KN_OK) s = kni_gpu_allocate(g, copy);
    if (s == KN_OK) s = kni_gpu_copy_strided(g, x, kni_gpu_block_of(copy->storage));
    if (s == KN_OK) {
        kni_gpu_note_faults(g, copy, faults);
    } else if (copy->storage) {
        kni_storage_release(copy->storage);
        copy->storage = NULL;
    }
    return s;
}

static kn_status bring_into_order(kni_gpu *g, kni_tensor *y)
{
    kni_tensor copy = {.type = y->type, .order = y->order};
    uint64_t faults;
    kn_status s = kni_gpu_faults_of(g, y, &faults);
    if (s == KN_OK) s = kni_gpu_allocate_promised(g, &copy);
    if (s == KN_OK) s = kni_gpu_place(g, y, kni_gpu_block_of(copy.storage), 0, copy.strides);
    if (s) {
        if (copy.storage) kni_storage_release(copy.storage);
        return s;
    }
    kni_gpu_note_faults(g, &copy, faults);
    kni_storage_release(y->storage);
    y->storage = copy.storage;
    y->offset = 0;
    memcpy(y->strides, copy.strides, sizeof y->strides);
    return KN_OK;
}

kn_status kni_gpu_arrange(kni_gpu *g, const kn_record *r)
{
    kn_status s = KN_OK;
    if (r->row->view) return KN_OK;
    for (int i = 0; i < r->n_out && s == KN_OK; i++) {
        kni_tensor *y = kni_out(r, i);
        if (y->storage && kni_order_of(y->type.rank, y->type.dims, y->strides) != y->order)
            s = bring_into_order(g, y);
    }
    return s;
}

kn_status kni_gpu_view(kni_gpu *g, const kn_record *r) { return kni_view_record(r, copy_contiguous, g); }
