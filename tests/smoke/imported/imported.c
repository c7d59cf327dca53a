/* An imported ONNX model whose weights are part of the program, or bytes that the caller has: net.h and net.c are those that kiln import
   has written of examples/onnx_finetune/digits.onnx with --embed. */
#include "net.h"
#include "smoke_tensor.h"

enum { IMAGES = 2, SIDE = 28, CLASSES = 5 };

#ifdef KN_FREESTANDING
static unsigned char memory[1024 * 1024];
#endif

static float images[IMAGES * SIDE * SIDE];
static unsigned char room[IMAGES * CLASSES * sizeof(float)];

extern const unsigned char net_weights[];
extern const unsigned long net_weights_bytes;

static bool run(const char *name, const net *m)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_wrap(images, KN_F32, KN_SHAPE(IMAGES, 1, SIDE, SIDE), NULL, NULL, NULL);
    bool good = smoke_write_tensor(name, net_forward(m, x), room, sizeof room);
    kn_scope_end(s, KN_NONE);
    return good;
}

int main(void)
{
#ifdef KN_FREESTANDING
    if (kn_init_static(memory, sizeof memory) != KN_OK) return 1;
#endif
    net m;
    uint32_t state = 7;
    for (int i = 0; i < IMAGES * SIDE * SIDE; i++) {
        state = state * 1664525u + 1013904223u;
        images[i] = (float)(state >> 8) / 16777216.0f;
    }
    kn_set_reproducible(true);
    kn_device_use(kn_device_cpu());
    bool good = net_load_embedded(&m) == KN_OK && run("embedded", &m);
    if (good) net_free(&m);
    good = good && net_load_memory(&m, net_weights, net_weights_bytes) == KN_OK && run("bytes", &m);
    if (good) net_free(&m);
    /* Bytes that are another file, and a file that is cut off. */
    good = good && net_load_memory(&m, net_weights + 1, net_weights_bytes) != KN_OK;
    good = good && net_load_memory(&m, net_weights, net_weights_bytes - 1) != KN_OK;
    smoke_write(good ? "refused\n" : kn_last_error());
    return !good;
}
