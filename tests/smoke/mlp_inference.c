/* An MLP that only infers: what a microcontroller would carry. The image must stay small and link neither
   gradients nor kernels it does not call. */
#include "smoke_output.h"
#include <kn.h>

enum { IN = 16, HIDDEN = 24, CLASSES = 4 };

#ifdef KN_FREESTANDING
static unsigned char memory[48 * 1024];
#endif

static float w1[HIDDEN * IN], b1[HIDDEN], w2[CLASSES * HIDDEN], b2[CLASSES], input[2 * IN];

static void fill(float *v, int n, uint32_t state)
{
    for (int i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        v[i] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
}

int main(void)
{
#ifdef KN_FREESTANDING
    if (kn_init_static(memory, sizeof memory) != KN_OK) return 1;
#endif
    float result[2 * CLASSES];
    fill(w1, HIDDEN * IN, 1);
    fill(b1, HIDDEN, 2);
    fill(w2, CLASSES * HIDDEN, 3);
    fill(b2, CLASSES, 4);
    fill(input, 2 * IN, 5);
    kn_set_reproducible(true);
    kn_device_use(kn_device_cpu());
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_wrap(input, KN_F32, KN_SHAPE(2, IN), NULL, NULL, NULL);
    x = kn_relu(kn_linear(x, kn_wrap(w1, KN_F32, KN_SHAPE(HIDDEN, IN), NULL, NULL, NULL),
                          kn_wrap(b1, KN_F32, KN_SHAPE(HIDDEN), NULL, NULL, NULL)));
    x = kn_softmax(kn_linear(x, kn_wrap(w2, KN_F32, KN_SHAPE(CLASSES, HIDDEN), NULL, NULL, NULL),
                             kn_wrap(b2, KN_F32, KN_SHAPE(CLASSES), NULL, NULL, NULL)),
                   1);
    kn_status status = kn_read(x, result, sizeof result);
    if (status == KN_OK)
        smoke_write_floats("classes", result, 2 * CLASSES);
    else
        smoke_write(kn_last_error());
    kn_scope_end(s, KN_NONE);
    return status != KN_OK;
}
