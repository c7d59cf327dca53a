/* Movement ops as views of the operand's memory, or as a copy where the elements cannot stay. */
#include "backend/host/host.h"
#include "backend/host/host_copy.h"

static kn_status copy_contiguous(void *unused, kni_tensor *x, kni_tensor *copy)
{
    (void)unused;
    kn_status s = kni_host_allocate(copy);
    if (s) return s;
    kni_host_copy(copy->storage->data, copy->strides, kni_pointer(x), x->strides, x->type.rank, x->type.dims,
                  kni_element_bytes(x));
    return KN_OK;
}

kn_status kni_host_view(const kn_record *r) { return kni_view_record(r, copy_contiguous, NULL); }
