/* Copies and casts of layouts that run across their order: every permutation, dtype and size gives on cpu and fusion(cpu), alone
   and inside groups, what ref gives. */
#include "support/check.h"

enum { MOST = 40000 };
static float from[MOST];

static kn_tensor laid_out(kn_tensor x, int kind)
{
    int64_t a = kn_size(x, 0), b = kn_size(x, 1);
    switch (kind) {
    case 0:
        return kn_transpose(x, 0, 1);
    case 1: /* every second column, then across */
        return kn_transpose(kn_slice(x, 1, 0, b, 2), 0, 1);
    case 2:
        return kn_permute(kn_reshape(x, KN_SHAPE(a / 2, 2, b)), KN_AXES(2, 1, 0));
    case 3:
        return kn_permute(kn_reshape(x, KN_SHAPE(2, a / 2, b / 4, 4)), KN_AXES(3, 0, 2, 1));
    case 4:
        return kn_permute(kn_reshape(x, KN_SHAPE(2, a / 2, b / 4, 4)), KN_AXES(1, 3, 0, 2));
    case 5: /* an axis that is spread */
        return kn_expand(kn_reshape(kn_transpose(x, 0, 1), KN_SHAPE(b, 1, a)), KN_SHAPE(b, 3, a));
    default:
        return kn_flip(kn_transpose(x, 0, 1), KN_AXES(1));
    }
}
enum { KINDS = 7 };

static kn_tensor used(kn_tensor y, int use, kn_dtype dtype)
{
    switch (use) {
    case 0:
        return kn_reshape(y, KN_SHAPE(kn_count(y)));
    case 1:
        return kn_cast(y, dtype);
    case 2:
        return kn_cast(kn_add(kn_relu(y), kn_cast(y, kn_dtype_of(y))), dtype);
    default:
        return kn_add(kn_cast(y, dtype), kn_cast(kn_neg(y), dtype));
    }
}
enum { USES = 4 };

static int64_t run(const char *spec, int64_t a, int64_t b, int kind, int use, kn_dtype in, kn_dtype out,
                   double *values)
{
    kn_device d = kn_device_open(spec);
    kn_device_use(d);
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_cast(kn_from(from, KN_F32, KN_SHAPE(a, b)), in));
    kn_tensor y = kn_keep(used(kn_keep(laid_out(x, kind)), use, out));
    int64_t n = kn_count(y);
    if (!CHECK(n > 0 && n <= 3 * MOST && kn_read_as(y, KN_F64, values, (size_t)n * sizeof *values) == KN_OK))
        printf("  %s, layout %d, use %d: %s\n", spec, kind, use, kn_last_error());
    (void)kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
    kn_device_close(d);
    return n;
}

int main(void)
{
    static const kn_dtype dtypes[] = {KN_F32, KN_F16, KN_I8, KN_F64, KN_I32};
    static const int64_t sizes[][2] = {{4, 4}, {64, 32}, {66, 132}, {130, 256}, {200, 200}, {8, 4096}};
    static double want[3 * MOST], got[3 * MOST];
    for (int i = 0; i < MOST; i++) from[i] = (float)((i * 7919) % 241 - 120);
    for (int s = 0; s < 6; s++)
        for (int kind = 0; kind < KINDS; kind++)
            for (int use = 0; use < USES; use++)
                for (int t = 0; t < 5; t++) {
                    kn_dtype in = dtypes[t], out = dtypes[(t + s + use) % 5];
                    if (in == KN_I8 && use > 1) continue; /* sums of bytes wrap */
                    int64_t n = run("ref", sizes[s][0], sizes[s][1], kind, use, in, out, want);
                    static const char *const stacks[] = {"cpu", "fusion(cpu)"};
                    for (int k = 0; k < 2; k++) {
                        memset(got, 0, sizeof got);
                        run(stacks[k], sizes[s][0], sizes[s][1], kind, use, in, out, got);
                        if (!CHECK(!memcmp(want, got, (size_t)n * sizeof *got)))
                            printf("  %s, %d x %d, layout %d, use %d, %s to %s\n", stacks[k],
                                   (int)sizes[s][0], (int)sizes[s][1], kind, use, kn_dtype_name(in),
                                   kn_dtype_name(out));
                    }
                }
    (void)kn_shutdown();
    return check_report();
}
