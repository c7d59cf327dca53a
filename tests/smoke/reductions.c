/* Reductions and softmax of every dtype, of tensors as they lie and turned: small targets run the kernels of the CPU too, and give
   the same bits. */
#include "smoke_tensor.h"

enum { ROWS = 5, LENGTH = 70, COLUMNS = 3, N = ROWS * LENGTH * COLUMNS };

#ifdef KN_FREESTANDING
static unsigned char memory[192 * 1024];
#endif

static bool failed;

static void write_result(const char *name, kn_tensor y)
{
    static unsigned char bytes[N * 8];
    failed |= !smoke_write_tensor(name, y, bytes, sizeof bytes);
}

static void reduce(kn_tensor x)
{
    static const kn_ints axes[] = {{1, {1}}, {2, {0, 2}}, {1, {2}}, {3, {0, 1, 2}}};
    for (int i = 0; i < 4; i++) {
        kn_scope s = kn_scope_begin();
        write_result(" sum", kn_sum(x, axes[i], false));
        write_result(" prod", kn_prod(x, axes[i], true));
        write_result(" max", kn_max(x, axes[i], false));
        write_result(" min", kn_min(x, axes[i], false));
        write_result(" any", kn_any(x, axes[i], false));
        write_result(" all", kn_all(x, axes[i], false));
        if (kn_dtype_is_float(kn_dtype_of(x))) write_result(" mean", kn_mean(x, axes[i], false));
        kn_scope_end(s, KN_NONE);
    }
    for (int axis = 0; axis < 3; axis++) {
        kn_scope s = kn_scope_begin();
        write_result(" argmax", kn_argmax(x, axis, false));
        write_result(" argmin", kn_argmin(x, axis, true));
        if (kn_dtype_is_float(kn_dtype_of(x))) {
            write_result(" softmax", kn_softmax(x, axis));
            write_result(" log_softmax", kn_log_softmax(x, axis));
        }
        kn_scope_end(s, KN_NONE);
    }
}

int main(void)
{
#ifdef KN_FREESTANDING
    if (kn_init_static(memory, sizeof memory) != KN_OK) return 1;
#endif
    static const kn_dtype dtypes[] = {KN_BOOL, KN_U8,  KN_I8,  KN_U16,  KN_I16, KN_U32, KN_I32,
                                      KN_U64,  KN_I64, KN_F16, KN_BF16, KN_F32, KN_F64};
    static float values[N];
    uint32_t state = 1;
    for (int i = 0; i < N; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)(state >> 24) / 16.0f;
    }
    kn_set_reproducible(true);
    kn_device_use(kn_device_cpu());
    for (int i = 0; i < (int)(sizeof dtypes / sizeof *dtypes); i++) {
        kn_scope s = kn_scope_begin();
        kn_tensor x = kn_keep(kn_cast(kn_from(values, KN_F32, KN_SHAPE(ROWS, LENGTH, COLUMNS)), dtypes[i]));
        smoke_write(kn_dtype_name(dtypes[i]));
        smoke_write("\n");
        reduce(x);
        smoke_write("turned\n");
        reduce(kn_keep(kn_permute(x, KN_AXES(2, 1, 0))));
        kn_scope_end(s, KN_NONE);
    }
    return failed;
}
