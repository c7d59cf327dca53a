/* Runs the op that tests/new_op adds between others, forward and backward, on the device named first, and prints a sum over the
   bits of what it gives in each float dtype. */
#include <kn.h>
#include <kn/autodiff.h>
#include <kn/device.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 37, WIDTH = 53 };

static void tell(void *context, kn_log_level level, const char *text)
{
    (void)context, (void)level;
    fprintf(stderr, "%s\n", text);
}

static uint64_t bits_of(kn_tensor y)
{
    static unsigned char bytes[ROWS * WIDTH * 8];
    uint64_t sum = 14695981039346656037u;
    size_t n = ROWS * WIDTH * (size_t)kn_dtype_bytes(kn_dtype_of(y), 1);
    if (kn_read(y, bytes, n)) {
        fprintf(stderr, "%s\n", kn_last_error());
        exit(1);
    }
    for (size_t i = 0; i < n; i++) sum = (sum ^ bytes[i]) * 1099511628211u;
    return sum;
}

int main(int count, char **arguments)
{
    static const kn_dtype dtypes[] = {KN_F32, KN_F64, KN_F16, KN_BF16};
    static float v[ROWS * WIDTH];
    kn_device device = count > 1 ? kn_device_open(arguments[1]) : NULL;
    if (!device) {
        fprintf(stderr, "%s\n", kn_last_error());
        return 2;
    }
    bool tapes = strstr(arguments[1], "autodiff") != NULL;
    kn_log_set(tell, NULL);
    kn_device_use(device);
    for (int i = 0; i < ROWS * WIDTH; i++) v[i] = (float)(i * 37 % 101) / 25 - 2;
    for (int d = 0; d < 4; d++) {
        kn_scope s = kn_scope_begin();
        kn_tensor x = kn_cast(kn_from(v, KN_F32, KN_SHAPE(ROWS, WIDTH)), dtypes[d]), gradient;
        x = kn_keep(tapes ? kn_require_grad(x) : x);
        kn_tensor y = kn_keep(kn_add_scalar(kn_tempered_softmax(kn_mul_scalar(x, 0.75), 1, 0.5), 0.25));
        printf("%s %016llx", kn_dtype_name(dtypes[d]), (unsigned long long)bits_of(y));
        kn_tensor square = kn_keep(kn_mul(y, y));
        if (tapes) {
            kn_tensor ones = kn_keep(kn_ones_like(square));
            if (kn_grad(&square, &ones, 1, &x, 1, 0, &gradient)) {
                fprintf(stderr, "%s\n", kn_last_error());
                return 1;
            }
            printf(" %016llx", (unsigned long long)bits_of(kn_keep(gradient)));
        }
        printf("\n");
        kn_scope_end(s, KN_NONE);
    }
    return 0;
}
