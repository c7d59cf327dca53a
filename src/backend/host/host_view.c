/* Movement ops as views of the operand's memory, or as a copy where the elements cannot stay. */
#include "backend/host/host.h"
#include "backend/host/host_copy.h"

/* The operand is copied contiguous first and viewed then: a reshape of a transposed tensor. `strides` are
   the copy's and outlive the call. */
static kn_status copy_then_view(kni_tensor *x, kni_tensor *y, kni_view *v, int64_t strides[KN_MAX_RANK])
{
    kni_tensor copy = {.type = x->type};
    kn_status s = kni_host_allocate(&copy);
    if (s) return s;
    kni_contiguous_strides(x->type.rank, x->type.dims, strides);
    kni_host_copy(copy.storage->data, strides, kni_pointer(x), x->strides, x->type.rank, x->type.dims,
                  kni_element_bytes(x));
    v->in_strides = strides;
    v->in_offset = 0;
    y->storage = copy.storage;
    return KN_OK;
}

kn_status kni_host_view(const kn_record *r)
{
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0);
    kni_view v = {r->attributes, &x->type, &y->type, x->strides, x->offset, y->strides, 0};
    int64_t strides[KN_MAX_RANK];
    bool inline_value = !x->storage;
    if (inline_value || !r->row->view(&v)) {
        kn_status s = copy_then_view(x, y, &v, strides);
        if (s) return s;
        if (!r->row->view(&v))
            return kni_fail_op(KN_ERROR_INTERNAL, r->row->name, "no view of contiguous memory");
    } else {
        y->storage = kni_storage_retain(x->storage);
    }
    y->offset = v.offset;
    return KN_OK;
}
