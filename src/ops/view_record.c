/* Movement ops as views: what all leaves share of running them. */
#include "ops/record.h"

kn_status kni_view_record(const kn_record *r, kni_copy_fn copy, void *context)
{
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0);
    kni_view v = {r->attributes, &x->type, &y->type, x->strides, x->offset, y->strides, 0};
    int64_t strides[KN_MAX_RANK];
    if (x->storage && r->row->view(&v)) {
        y->storage = kni_storage_retain(x->storage);
    } else {
        kni_tensor copied = {.type = x->type};
        kn_status s = copy(context, x, &copied);
        if (s) return s;
        kni_contiguous_strides(x->type.rank, x->type.dims, strides);
        v.in_strides = strides;
        v.in_offset = 0;
        y->storage = copied.storage;
        if (!r->row->view(&v))
            return kni_fail_op(KN_ERROR_INTERNAL, r->row->name, "no view of contiguous memory");
    }
    y->offset = v.offset;
    return KN_OK;
}
