/* Questions about tensors, all of which borrow. */
#include "core/device_object.h"
#include "core/objects.h"
#include "core/param_value.h"
#include <kn/device.h>
#include <kn/tensor.h>
#include <string.h>

bool kn_ok(kn_tensor t)
{
    const kni_tensor *x = kni_peek(t);
    kn_tensor error;
    return x && !kni_tensor_failed(x, &error);
}

kn_dtype kn_dtype_of(kn_tensor t)
{
    const kni_tensor *x = kni_resolve(t, "dtype_of");
    return x ? (kn_dtype)x->type.dtype : KN_DTYPE_NONE;
}

int32_t kn_rank(kn_tensor t)
{
    const kni_tensor *x = kni_resolve(t, "rank");
    return x ? x->type.rank : -1;
}

int64_t kn_size(kn_tensor t, int32_t axis)
{
    const kni_tensor *x = kni_resolve(t, "size");
    if (!x) return -1;
    int32_t a = axis < 0 ? axis + x->type.rank : axis;
    if (a >= 0 && a < x->type.rank) return x->type.dims[a];
    kni_fail(KN_ERROR_ARGUMENT, "kn_size: axis %d is outside a tensor of rank %d", axis, (int)x->type.rank);
    return -1;
}

kn_shape kn_shape_of_tensor(kn_tensor t)
{
    const kni_tensor *x = kni_resolve(t, "shape_of_tensor");
    return x ? kni_shape_from_type(&x->type) : (kn_shape){-1, {0}};
}

int64_t kn_count(kn_tensor t)
{
    const kni_tensor *x = kni_resolve(t, "count");
    return x ? kni_count(&x->type) : -1;
}

kn_status kn_strides(kn_tensor t, int64_t *strides)
{
    const kni_tensor *x = kni_resolve(t, "strides");
    if (!x) return kni_is_poisoned(t) ? kni_failure_again(t) : KN_ERROR_HANDLE;
    if (!strides) return kni_fail(KN_ERROR_ARGUMENT, "kn_strides: the place for the strides is NULL");
    kni_tensor value = {.storage = NULL}; /* a param's may change at any time */
    kni_param_copy_value(&value, x);
    memcpy(strides, value.strides, x->type.rank * sizeof *strides);
    if (value.storage) kni_storage_release(value.storage);
    if (value.node && kni_node_release) kni_node_release(value.node);
    return KN_OK;
}

kn_device kn_device_of(kn_tensor t)
{
    const kni_tensor *x = kni_resolve(t, "device_of");
    return x ? kni_device_handle(x->device) : NULL;
}

kn_tensor kn_alias(kn_tensor handle)
{
    if (kni_is_poisoned(handle)) return handle;
    kni_thread *t = kni_thread_self();
    kni_tensor *x = kni_resolve(handle, "alias");
    uint32_t id = x ? kni_tensor_new(t) : KNI_NO_SLOT;
    if (id == KNI_NO_SLOT) {
        if (x) kni_fail_op(KN_ERROR_MEMORY, "alias", "no memory for another tensor");
        return kni_poison_latest();
    }
    kni_param_copy_value(kni_slot(id), x);
    /* This counts no call: where the latest one has its line, that line made something else. */
    if (t->history && t->history->site_serials[t->serial % KNI_SITE_RING] == t->serial)
        kni_slot(id)->serial++;
    return kni_handle(id);
}

const char *kn_version(void) { return "0.1.0"; }
