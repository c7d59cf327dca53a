/* Params: owned tensors that ops can neither take nor poison, updated by replacing their value. */
#include "core/param_value.h"
#include "wrap/tape.h"

kn_param kn_param_make(kn_tensor t)
{
    kni_thread *thread = kni_thread_self();
    const kni_tensor *from = kni_is_poisoned(t) ? NULL : kni_resolve(t, "param_make");
    if (!from) return (kn_param){kni_is_poisoned(t) ? t : kni_poison_latest()};
    kn_tensor owned = kn_detach(t);
    kni_tensor *x = kni_peek(owned);
    if (!x) return (kn_param){owned};
    if (x->device->tape && kn_dtype_is_float((kn_dtype)x->type.dtype)) {
        kn_tensor tracked = kn_require_grad(owned);
        if (kni_is_poisoned(tracked)) {
            kni_tensor_end_handle(thread, kni_slot_of(owned));
            return (kn_param){tracked};
        }
    }
    owned = kn_own(owned);
    x->flags |= KNI_TENSOR_PARAM;
    return (kn_param){owned};
}

kn_tensor kn_value(kn_param p) { return p.handle; }

void kn_param_drop(kn_param *p)
{
    KNI_ENDS;
    kni_tensor *x = p ? kni_peek(p->handle) : NULL;
    if (x) {
        x->flags &= (uint8_t)~KNI_TENSOR_PARAM;
        kn_drop(p->handle);
    }
    if (p) p->handle = KN_NONE;
}

static kn_status carries_error(kn_tensor error) { return kni_fail_carried(error, "param_set", "the value"); }

kn_status kn_param_set(kn_param *p, kn_tensor value)
{
    if (kni_is_poisoned(value)) return carries_error(value);
    if (!p) return kni_fail(KN_ERROR_ARGUMENT, "kn_param_set: the param is NULL");
    kni_tensor *x = kni_resolve(p->handle, "param_set"), *v = x ? kni_resolve(value, "param_set") : NULL;
    if (!v) return KN_ERROR_HANDLE;
    kn_status s = KN_OK;
    if (x->type.dtype != v->type.dtype || !kni_same_dims(&x->type, &v->type)) {
        s = kni_fail(KN_ERROR_SHAPE, "kn_param_set: the value %S of %T does not fit the param %S of %T",
                     &v->type, (int)v->type.dtype, &x->type, (int)x->type.dtype);
    } else if (!kni_same_leaf(x->device, v->device)) {
        s = kni_fail(KN_ERROR_DEVICE,
                     "kn_param_set: the value is on %s, the param on %s: move it with kn_to()",
                     v->device->name, x->device->name);
    } else {
        kn_tensor error = kni_param_replace(x, v);
        if (error.bits) s = carries_error(error);
    }
    if (v->state == KNI_TEMPORARY) kni_tensor_take(kni_thread_self(), kni_slot_of(value), "param_set");
    return s;
}

bool kn_is_param(kn_tensor t)
{
    const kni_tensor *x = kni_peek(t);
    return x && (x->flags & KNI_TENSOR_PARAM) != 0;
}

/* A frozen param is a constant to the tape. */
void kn_param_freeze(kn_param *p, bool frozen)
{
    kni_tensor *x = p ? kni_resolve(p->handle, "param_freeze") : NULL;
    if (!x) return;
    if (!frozen) {
        if (!x->node && x->device->tape) (void)kn_require_grad(p->handle);
        return;
    }
    if (x->node) kni_node_release_one(x->node);
    x->node = NULL;
    x->flags &= (uint8_t)~KNI_TENSOR_REQUIRES_GRAD;
}
