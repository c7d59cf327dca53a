/* Loss scaling: the loss is multiplied before the backward pass and the gradients divided in the update. */
#include "optim/optim_object.h"
#include "support/failure.h"
#include <kn/elementwise.h>
#include <kn/tensor.h>

kn_loss_scaler kn_loss_scaler_make(void)
{
    return (kn_loss_scaler){.scale = 65536, .growth = 2, .backoff = 0.5, .interval = 2000};
}

kn_tensor kn_loss_scaler_scale(const kn_loss_scaler *scaler, kn_tensor loss)
{
    if (!scaler) return kn_poison(KN_ERROR_ARGUMENT, "kn_loss_scaler_scale: the scaler is NULL");
    return kn_mul_scalar(kn_cast(loss, KN_F32), scaler->scale);
}

static kn_status check(const kn_loss_scaler *scaler)
{
    if (!scaler) return kni_failure(KN_ERROR_ARGUMENT, "kn_loss_scaler_step: the scaler is NULL");
    if (!(scaler->scale > 0 && scaler->scale < 1e300) || !(scaler->growth >= 1) ||
        !(scaler->backoff > 0 && scaler->backoff <= 1) || scaler->interval < 1)
        return kni_failure(KN_ERROR_ARGUMENT,
                           "kn_loss_scaler_step: scale %s, growth %s, backoff %s, interval %lld: start from "
                           "kn_loss_scaler_make()",
                           KNI_NUMBER(scaler->scale), KNI_NUMBER(scaler->growth), KNI_NUMBER(scaler->backoff),
                           (long long)scaler->interval);
    return KN_OK;
}

/* The largest power of the float range that the f32 product of loss and scale survives. */
static const double largest_scale = 1.2676506002282294e30;

kn_status kn_loss_scaler_step(kn_loss_scaler *scaler, kn_optim handle, double lr, kn_module module,
                              kn_grads grads, bool *stepped)
{
    double norm = 0;
    if (stepped) *stepped = false;
    kn_status s = check(scaler);
    if (s) return s;
    KNI_USE(optim, optim, handle);
    if (!optim) return KNI_NO_OBJECT(handle);
    KNI_USE_OTHER(grads, there, grads);
    if (!there) return KNI_NO_OBJECT(grads);
    kn_tensor measured = kn_own(kn_cast(kn_grads_norm(grads, module), KN_F64));
    s = kn_read(measured, &norm, sizeof norm);
    kn_drop(measured);
    if (s) return s;
    if (!(norm - norm == 0)) {
        scaler->scale *= scaler->backoff;
        scaler->good = 0;
        return KN_OK;
    }
    optim->loss_scale = scaler->scale;
    s = kni_optim_step(optim, &lr, 1, module, grads, __func__);
    optim->loss_scale = 0;
    if (s) return s;
    if (stepped) *stepped = true;
    if (++scaler->good >= scaler->interval) {
        scaler->scale =
            scaler->scale * scaler->growth < largest_scale ? scaler->scale * scaler->growth : largest_scale;
        scaler->good = 0;
    }
    return KN_OK;
}

kn_status kn_loss_scaler_save(const kn_loss_scaler *scaler, kn_state state, const char *prefix)
{
    if (!scaler) return kni_failure(KN_ERROR_ARGUMENT, "kn_loss_scaler_save: the scaler is NULL");
    KNI_USE_OTHER(state, there, state);
    if (!there) return KNI_NO_OBJECT(state);
    if (!prefix) prefix = "";
    kn_status s = kn_state_put_real(state, prefix, "loss_scale", scaler->scale);
    return s ? s : kn_state_put_int(state, prefix, "good_steps", scaler->good);
}

kn_status kn_loss_scaler_load(kn_loss_scaler *scaler, kn_state state, const char *prefix)
{
    if (!scaler) return kni_failure(KN_ERROR_ARGUMENT, "kn_loss_scaler_load: the scaler is NULL");
    KNI_USE_OTHER(state, there, state);
    if (!there) return KNI_NO_OBJECT(state);
    kn_loss_scaler loaded = *scaler;
    if (!prefix) prefix = "";
    if (!kn_state_get_real(state, prefix, "loss_scale", &loaded.scale) || !(loaded.scale > 0) ||
        !kn_state_get_int(state, prefix, "good_steps", &loaded.good) || loaded.good < 0)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_loss_scaler_load: the state has no loss scaler under '%s'",
                           prefix);
    *scaler = loaded;
    return KN_OK;
}
