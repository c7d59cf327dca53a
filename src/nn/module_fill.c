/* Params for a module that has none yet. */
#include "nn/module_walk.h"
#include "support/failure.h"
#include <kn/tensor.h>

typedef struct filling {
    kn_module_fill_fn fn;
    void *context;
} filling;

static kn_status fill_field(kni_walk *w, kn_module owner, const kn_field *field, void *address)
{
    (void)owner;
    filling *f = w->context;
    kn_param *param = address;
    bool buffer = field->kind == KN_FIELD_BUFFER;
    if ((field->kind != KN_FIELD_PARAM && !buffer) || param->handle.bits) return KN_OK;
    kn_tensor value = f->fn(f->context, w->path);
    if (!value.bits) return KN_OK;
    kn_param made = kn_param_make(value);
    kn_status s = kni_failure_of(made.handle);
    if (s != KN_OK) return s;
    if (buffer) kn_param_freeze(&made, true);
    *param = made;
    return KN_OK;
}

kn_status kn_module_fill(kn_module module, kn_module_fill_fn fn, void *context)
{
    if (!fn) return kni_failure(KN_ERROR_ARGUMENT, "kn_module_fill: the function is NULL");
    return kni_walk_module(
        &(kni_walk){.field = fill_field, .context = &(filling){fn, context}, .function = __func__}, module);
}
