/* The making of params and buffers for all layers. */
#include "nn/layer.h"
#include "core/objects.h"
#include "support/failure.h"
#include <kn/creation.h>
#include <kn/tensor.h>
#include <string.h>

kn_status kni_layer_positive(const char *function, const char *name, int64_t value)
{
    if (value >= 1) return KN_OK;
    return kni_failure(KN_ERROR_ARGUMENT, "%s: %s is %lld; it must be at least 1", function, name,
                       (long long)value);
}

kn_status kni_layer_range(const char *function, const char *name, double value, double low, double high)
{
    if (value >= low && value <= high) return KN_OK;
    if (high > 1e300)
        return kni_failure(KN_ERROR_ARGUMENT, "%s: %s is %s; it must be %s or more", function, name,
                           KNI_NUMBER(value), KNI_NUMBER(low));
    return kni_failure(KN_ERROR_ARGUMENT, "%s: %s is %s; it must be %s to %s", function, name,
                       KNI_NUMBER(value), KNI_NUMBER(low), KNI_NUMBER(high));
}

kn_status kni_layer_axis(const char *function, int64_t axis)
{
    if (axis >= -KN_MAX_RANK && axis < KN_MAX_RANK) return KN_OK;
    return kni_failure(KN_ERROR_ARGUMENT, "%s: there is no axis %lld; tensors have at most %d axes", function,
                       (long long)axis, KN_MAX_RANK);
}

kn_status kni_layer_clear(void *place, size_t bytes, kn_status status)
{
    if (place) memset(place, 0, bytes);
    return status;
}

kn_status kni_layer_finish_as(const char *function, kn_module made, void *place, kn_status status)
{
    if (status != KN_OK) kni_error_renamed_by(function);
    if (status == KN_OK && !place)
        status = kni_failure(KN_ERROR_ARGUMENT, "%s: the module to initialise is NULL", made.type->name);
    if (status == KN_OK) {
        memcpy(place, made.self, made.type->size);
        return KN_OK;
    }
    kn_module_drop(made);
    return kni_layer_clear(place, made.type->size, status);
}

bool kni_layer_unset(const void *layer, size_t bytes)
{
    const unsigned char *byte = layer;
    for (size_t i = 0; byte && i < bytes; i++)
        if (byte[i]) return false;
    return true;
}

kn_tensor kni_layer_forgotten(const void *layer, const char *name, const kn_module_type *type)
{
    if (!layer) return kni_poisoned(KN_ERROR_ARGUMENT, "%s_forward: the %s layer is NULL", name, type->name);
    kni_unfit u = kni_module_unfit(type, layer);
    char why[KNI_WHY];
    if (kni_unfit_ended(&u, why))
        return kni_poisoned(KN_ERROR_HANDLE, "%s_forward: the %s of this %s layer is gone: %s", name,
                            u.field->name, u.type->name, why);
    return kni_poisoned(KN_ERROR_ARGUMENT,
                        "%s_forward: this %s layer was never initialised: call %s_init() first", name,
                        type->name, name);
}

kn_status kni_layer_param(kn_param *param, const kn_initializer *initializer, kn_initializer fallback,
                          kn_shape shape, kn_dtype dtype, int64_t fan_in)
{
    bool given = initializer && initializer->kind != KN_INIT_DEFAULT;
    return kn_param_initialize(param, given ? initializer : &fallback, shape, kni_dtype_or_f32(dtype), fan_in,
                               0);
}

kn_status kni_layer_buffer(kn_param *param, double value, kn_shape shape, kn_dtype dtype)
{
    kn_param made = kn_param_make(kn_full(shape, value, dtype));
    kn_status s = kni_failure_of(made.handle);
    if (s != KN_OK) return s;
    kn_param_freeze(&made, true);
    *param = made;
    return KN_OK;
}
