/* Dtypes that are only stored: small targets cast them element by element, other builds by tables, and the codes are the same. */
#include "smoke_tensor.h"

enum { N = 400 };

#ifdef KN_FREESTANDING
static unsigned char memory[96 * 1024];
#endif

static bool failed;

static void write_bytes(const char *name, kn_tensor y)
{
    static unsigned char bytes[N * 4];
    failed |= !smoke_write_tensor(name, y, bytes, sizeof bytes);
}

int main(void)
{
#ifdef KN_FREESTANDING
    if (kn_init_static(memory, sizeof memory) != KN_OK) return 1;
#endif
    kn_stored_dtypes_use();
    kn_device_use(kn_device_cpu());
    static float values[N];
    for (int i = 0; i < N; i++) values[i] = (float)(i - N / 2) * (float)(i % 7 ? 0.03125 : 5.5);
    kn_scope all = kn_scope_begin();
    kn_tensor x = kn_keep(kn_from(values, KN_F32, KN_SHAPE(N / 8, 8)));
    for (int d = KN_F8_E4M3; d <= KN_U2; d++) {
        kn_scope s = kn_scope_begin();
        smoke_write(kn_dtype_name((kn_dtype)d));
        kn_tensor y = kn_keep(kn_cast(x, (kn_dtype)d));
        write_bytes(" cast", y);
        write_bytes(" saturated", kn_cast_saturate(x, (kn_dtype)d));
        write_bytes(" turned and back", kn_cast(kn_permute(y, KN_AXES(1, 0)), KN_F32));
        write_bytes(" compared", kn_less_scalar(y, 1));
        kn_scope_end(s, KN_NONE);
    }
    kn_scope_end(all, KN_NONE);
    return failed;
}
