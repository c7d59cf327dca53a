/* Three training steps of a small MLP: forward, backward and SGD. The bits of loss and weights must be the
   same on every target. */
#include "smoke_output.h"
#include <kn.h>

enum { BATCH = 8, IN = 5, HIDDEN = 16, CLASSES = 3, STEPS = 3 };

#ifdef KN_FREESTANDING
static unsigned char memory[192 * 1024];
#endif

static float pseudo(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (float)(*state >> 8) / 8388608.0f - 1.0f;
}

static kn_tensor filled(kn_shape shape, uint32_t seed)
{
    float values[HIDDEN * HIDDEN];
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    for (int64_t i = 0; i < n; i++) values[i] = pseudo(&seed);
    return kn_from(values, KN_F32, shape);
}

static kn_status descend(kn_param *p, kn_grads grads)
{
    kn_tensor step = kn_mul_scalar(kn_grads_get(grads, kn_value(*p)), 0.1);
    return kn_param_set(p, kn_sub(kn_detach(kn_alias(kn_value(*p))), step));
}

static kn_status train_step(kn_param *w, kn_tensor x, kn_tensor labels, float *loss_value)
{
    kn_scope s = kn_scope_begin();
    kn_grads grads = NULL;
    kn_tensor hidden = kn_tanh(kn_linear(x, kn_value(w[0]), kn_value(w[1])));
    kn_tensor scores = kn_linear(kn_relu(hidden), kn_value(w[2]), kn_value(w[3]));
    kn_tensor loss = kn_keep(kn_cross_entropy(scores, labels, NULL));
    kn_status status = kn_read(loss, loss_value, sizeof *loss_value);
    if (status == KN_OK) status = kn_backward(loss, &grads);
    for (int i = 0; i < 4 && status == KN_OK; i++) status = descend(&w[i], grads);
    kn_grads_free(grads);
    kn_scope_end(s, KN_NONE);
    return status;
}

int main(void)
{
#ifdef KN_FREESTANDING
    if (kn_init_static(memory, sizeof memory) != KN_OK) return 1;
#endif
    int64_t classes[BATCH] = {0, 1, 2, 0, 1, 2, 2, 1};
    float loss = 0, first[HIDDEN * IN];
    kn_set_reproducible(true);
    kn_device device = kn_device_autodiff(kn_device_cpu());
    kn_device_use(device);
    kn_scope run = kn_scope_begin();
    kn_param w[4] = {
        kn_param_make(filled(KN_SHAPE(HIDDEN, IN), 1)), kn_param_make(filled(KN_SHAPE(HIDDEN), 2)),
        kn_param_make(filled(KN_SHAPE(CLASSES, HIDDEN), 3)), kn_param_make(filled(KN_SHAPE(CLASSES), 4))};
    kn_tensor x = kn_keep(filled(KN_SHAPE(BATCH, IN), 5)),
              labels = kn_keep(kn_from(classes, KN_I64, KN_SHAPE(BATCH)));
    kn_status s = KN_OK;
    for (int i = 0; i < STEPS && s == KN_OK; i++) {
        s = train_step(w, x, labels, &loss);
        smoke_write_floats("loss", &loss, 1);
    }
    if (s == KN_OK) s = kn_read(kn_value(w[0]), first, sizeof first);
    if (s == KN_OK)
        smoke_write_floats("weights", first, HIDDEN * IN);
    else
        smoke_write(kn_last_error());
    for (int i = 0; i < 4; i++) kn_param_drop(&w[i]);
    kn_scope_end(run, KN_NONE);
    return s != KN_OK;
}
