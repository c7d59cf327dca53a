/* A handle that a function of the library has ended for the user: the message names that function and its line, not kn_drop. */
#include "support/check.h"
#include <kn/data.h>
#include <kn/nn.h>
#include <kn/state.h>

/* The error of using x names the function and this file with the line given. */
static void names(kn_tensor x, const char *function, int line, const char *file, int here)
{
    char words[120], text[600];
    snprintf(words, sizeof words, "ended by %s at %s:%d; ", function, file, line);
    kn_tensor y = kn_neg(x);
    kn_error_text(y, text, sizeof text);
    bool good = !kn_ok(y) && strstr(text, words) && strstr(text, "kn_own(kn_alias(x))");
    if (!good) printf("%s:%d: wanted '%s', got '%s'\n", file, here, words, text);
    CHECK(good);
}
#define NAMES(x, function, line) names((x), (function), (line), __FILE__, __LINE__)

static void states(void)
{
    kn_state state = kn_state_make();
    CHECK(kn_state_put(state, "", "a", kn_ones(KN_SHAPE(2), KN_F32)) == KN_OK);
    kn_tensor a = kn_state_get(state, "", "a");
    CHECK(kn_state_put(state, "", "a", kn_ones(KN_SHAPE(3), KN_F32)) == KN_OK);
    NAMES(a, "kn_state_put", __LINE__ - 1);
    a = kn_state_get(state, "", "a");
    kn_state_free(state);
    NAMES(a, "kn_state_free", __LINE__ - 1);
}

static void samples(void)
{
    kn_sample sample = {0};
    CHECK(kn_sample_add(&sample, kn_ones(KN_SHAPE(2), KN_F32)) == KN_OK);
    kn_tensor field = sample.fields[0];
    CHECK(kn_sample_replace(&sample, 0, kn_ones(KN_SHAPE(2), KN_F32)) == KN_OK);
    NAMES(field, "kn_sample_replace", __LINE__ - 1);
    field = sample.fields[0];
    kn_sample_drop(&sample);
    NAMES(field, "kn_sample_drop", __LINE__ - 1);
}

static void gradients(void)
{
    kn_param w = kn_param_make(kn_ones(KN_SHAPE(2), KN_F32));
    kn_grads grads = NULL;
    CHECK(kn_backward(kn_sum(kn_value(w), KN_AXES_ALL, false), &grads) == KN_OK);
    kn_tensor g = kn_grads_get(grads, kn_value(w));
    CHECK(kn_grads_replace(grads, kn_value(w), kn_ones(KN_SHAPE(2), KN_F32)) == KN_OK);
    NAMES(g, "kn_grads_replace", __LINE__ - 1);
    g = kn_grads_get(grads, kn_value(w));
    kn_tensor taken = kn_grads_take(grads, kn_value(w));
    CHECK(kn_ok(taken));
    NAMES(g, "kn_grads_take", __LINE__ - 2);
    kn_grads_free(grads);
    CHECK(kn_backward(kn_sum(kn_value(w), KN_AXES_ALL, false), &grads) == KN_OK);
    g = kn_grads_get(grads, kn_value(w));
    kn_grads_free(grads);
    NAMES(g, "kn_grads_free", __LINE__ - 1);
    kn_tensor value = kn_value(w);
    kn_param_drop(&w);
    NAMES(value, "kn_param_drop", __LINE__ - 1);
}

static void modules(void)
{
    kn_nn_linear layer = {0};
    CHECK(kn_nn_linear_init(&layer, 2, 2, NULL) == KN_OK);
    kn_module module = KN_MODULE_OF(kn_nn_linear, &layer);
    kn_tensor w = kn_value(layer.weight);
    CHECK(kn_module_cast(module, KN_F64) == KN_OK);
    NAMES(w, "kn_module_cast", __LINE__ - 1);
    w = kn_value(layer.weight);
    CHECK(kn_module_to(module, kn_device_open("autodiff(ref)")) == KN_OK);
    NAMES(w, "kn_module_to", __LINE__ - 1);
    w = kn_value(layer.weight);
    kn_module_drop(module);
    NAMES(w, "kn_module_drop", __LINE__ - 1);
}

static void plain(void)
{
    kn_tensor place = kn_own(kn_ones(KN_SHAPE(2), KN_F32)), old = place;
    CHECK(kn_assign(&place, kn_zeros(KN_SHAPE(2), KN_F32)) == KN_OK);
    NAMES(old, "kn_assign", __LINE__ - 1);
    kn_drop(place);
    CHECK_POISON(kn_neg(place), "dropped by kn_drop at ");
    CHECK_POISON(kn_neg(place), "drop it after its last use");
}

int main(void)
{
    kn_device_use(kn_device_open("autodiff(cpu)"));
    states();
    samples();
    gradients();
    modules();
    plain();
    return check_report();
}
