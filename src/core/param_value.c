/* Reading and replacing the values of params. */
#include "core/param_value.h"
#include "core/device_object.h"
#include "core/life.h"
#include <string.h>

/* One lock for some of the params: held only while a slot is copied. */
#define ONE KNI_GUARD_INIT(KNI_GUARD_INNER)
#define FOUR ONE, ONE, ONE, ONE
#if KNI_THREADS
static kni_guard locks[] = {FOUR, FOUR, FOUR, FOUR};
#else
static kni_guard locks[] = {ONE};
#endif
enum { LOCKS = sizeof locks / sizeof *locks };

static kni_guard *lock_of(const kni_tensor *x) { return &locks[(uintptr_t)x / sizeof *x % LOCKS]; }

void kni_param_copy_value(kni_tensor *y, const kni_tensor *x)
{
    if (!(x->flags & KNI_TENSOR_PARAM)) {
        kni_tensor_copy_value(y, x);
        return;
    }
    kni_guard *lock = lock_of(x);
    kni_guard_lock(lock);
    kni_tensor_copy_value(y, x);
    kni_guard_unlock(lock);
}

uint32_t kni_param_snapshot(kni_thread *t, const kni_tensor *x)
{
    uint32_t id = kni_tensor_new(t);
    if (id == KNI_NO_SLOT) return id;
    kni_tensor *y = kni_slot(id);
    kni_param_copy_value(y, x);
    y->state = KNI_KEPT;
    return id;
}

kn_tensor kni_param_replace(kni_tensor *x, const kni_tensor *v)
{
    kni_tensor value = {.storage = NULL};
    kn_tensor error = KN_NONE;
    kni_param_copy_value(&value, v); /* v may be a param too */
    if (value.node && kni_node_release) kni_node_release(value.node);
    /* The param's stack knows nothing of what the queue of another one still owes. */
    if (value.storage && v->device->queue != x->device->queue) kni_storage_wait(value.storage);
    if (kni_tensor_failed(&value, &error)) {
        if (value.storage) kni_storage_release(value.storage);
        return error;
    }
    kni_guard *lock = lock_of(x);
    kni_guard_lock(lock);
    kni_storage *old = x->storage;
    x->storage = value.storage;
    x->offset = value.offset;
    x->inline_value = value.inline_value;
    memcpy(x->strides, value.strides, sizeof x->strides);
    kni_guard_unlock(lock);
    if (old) kni_storage_release(old);
    return KN_NONE;
}
