/* Dropout, noise and the layer that does nothing. */
#include "nn/layer.h"
#include "support/failure.h"
#include <kn/creation.h>
#include <kn/elementwise.h>
#include <kn/functional.h>
#include <kn/nn/noise.h>
#include <kn/tensor.h>

static const char *const dropout_kinds[] = {"elements", "features", "alpha"};

const kn_module_type kn_nn_dropout_type = {"Dropout", sizeof(kn_nn_dropout),
                                           (const kn_field[]){KN_REAL(kn_nn_dropout, p),
                                                              KN_ENUM(kn_nn_dropout, kind, dropout_kinds),
                                                              KN_MODE(kn_nn_dropout, training),
                                                              {0}}};

kn_status kn_nn_dropout_init(kn_nn_dropout *m, double p, const kn_nn_dropout_args *args)
{
    kn_dropout_kind kind = args ? args->kind : KN_DROPOUT_ELEMENTS;
    if (!m) return kni_failure(KN_ERROR_ARGUMENT, "kn_nn_dropout_init: the module to initialise is NULL");
    kn_status s = kni_layer_range("kn_nn_dropout_init", "p", p, 0, 1);
    if ((unsigned)kind > KN_DROPOUT_ALPHA)
        s = kni_failure(KN_ERROR_ARGUMENT, "kn_nn_dropout_init: there is no kind %d", (int)kind);
    if (s != KN_OK) return kni_layer_clear(m, sizeof *m, s);
    *m = (kn_nn_dropout){p, kind, true};
    return KN_OK;
}

kn_tensor kn_nn_dropout_forward(const kn_nn_dropout *m, kn_tensor x)
{
    KNI_NEEDS_SENSE(kn_nn_dropout, m);
    static kn_tensor (*const kinds[])(kn_tensor, double, bool) = {kn_dropout, kn_feature_dropout,
                                                                  kn_alpha_dropout};
    if ((unsigned)m->kind > KN_DROPOUT_ALPHA)
        return kn_poison(KN_ERROR_ARGUMENT, "kn_nn_dropout_forward: the layer is not initialised");
    return kinds[m->kind](x, m->p, m->training);
}

const kn_module_type kn_nn_gaussian_noise_type = {
    "GaussianNoise", sizeof(kn_nn_gaussian_noise),
    (const kn_field[]){KN_REAL(kn_nn_gaussian_noise, std), KN_MODE(kn_nn_gaussian_noise, training), {0}}};

kn_status kn_nn_gaussian_noise_init(kn_nn_gaussian_noise *m, double std)
{
    if (!m)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_nn_gaussian_noise_init: the module to initialise is NULL");
    kn_status s = kni_layer_range("kn_nn_gaussian_noise_init", "std", std, 0, KNI_ANY);
    if (s != KN_OK) return kni_layer_clear(m, sizeof *m, s);
    *m = (kn_nn_gaussian_noise){std, true};
    return KN_OK;
}

kn_tensor kn_nn_gaussian_noise_forward(const kn_nn_gaussian_noise *m, kn_tensor x)
{
    KNI_NEEDS_SENSE(kn_nn_gaussian_noise, m);
    if (!m->training || m->std == 0) return x;
    kn_tensor noise = kn_random_like(x, (kn_distribution){KN_RANDOM_NORMAL, 0, m->std});
    return kn_add(x, noise);
}

const kn_module_type kn_nn_identity_type = {"Identity", sizeof(kn_nn_identity), (const kn_field[]){{0}}};

kn_status kn_nn_identity_init(kn_nn_identity *m)
{
    if (!m) return kni_failure(KN_ERROR_ARGUMENT, "kn_nn_identity_init: the module is NULL");
    *m = (kn_nn_identity){false};
    return KN_OK;
}

kn_tensor kn_nn_identity_forward(const kn_nn_identity *m, kn_tensor x)
{
    (void)m;
    return x;
}
