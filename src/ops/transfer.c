/* Moving tensors between devices: another label on the same leaf, a copy through host memory otherwise. */
#include "core/call_site.h"
#include "core/device_object.h"
#include "ops/op.h"

static kn_tensor copy_to(kn_tensor t, const kni_tensor *x, kn_device device)
{
    kni_thread *thread = kni_thread_self();
    int64_t bytes = kn_dtype_bytes((kn_dtype)x->type.dtype, kni_count(&x->type));
    void *buffer = kni_allocate((size_t)bytes);
    kn_status s = buffer ? kn_read(t, buffer, (size_t)bytes)
                         : kni_fail_op(KN_ERROR_MEMORY, "to", "no memory for a copy of %D bytes", bytes);
    kni_context before = kni_context_push(thread);
    thread->context.current = device;
    kn_tensor y =
        s ? kni_poison_latest() : kn_from(buffer, (kn_dtype)x->type.dtype, kni_shape_from_type(&x->type));
    kni_context_pop(thread, &before);
    kni_free(buffer, (size_t)bytes);
    return y;
}

kn_tensor kn_to(kn_tensor t, kn_device device)
{
    kni_thread *thread = kni_thread_self();
    kni_call_counts(thread);
    if (kni_is_poisoned(t)) return t;
    const kni_tensor *x = kni_resolve(t, "to");
    if (!x) return kni_poison_latest();
    device = kni_device_given(device, "kn_to");
    if (!device) return kni_poison_latest();
    kn_tensor y;
    if (kni_same_leaf(x->device, device)) {
        y = kn_alias(t);
        kni_tensor *alias = kni_peek(y);
        if (alias && device->queue != x->device->queue) kni_storage_wait(alias->storage);
        if (alias) alias->device = device;
    } else {
        y = copy_to(t, x, device);
    }
    if (x->state == KNI_TEMPORARY) kni_tensor_take(thread, kni_slot_of(t), "to");
    return y;
}
