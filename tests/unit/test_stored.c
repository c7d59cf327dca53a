/* Tensors of dtypes that are only stored, on every device: casts, movement, comparisons, printing, and what is refused. */
#include "core/small_types.h"
#include "support/check.h"
#include <kn.h>
#include <math.h>
#include <string.h>

static const char *const devices[] = {
    "ref", "cpu", "fusion(cpu)", "autodiff(cpu)", "check(cpu,ref)", "opencl:0", "fusion(opencl:0)"};
static const char *device_name;

static bool same(double a, double b) { return a == b ? signbit(a) == signbit(b) : a != a && b != b; }

/* Every code, cast to f32 and f64, has its value; cast back it is the code again. */
static void codes_are_values(kn_dtype dtype)
{
    int n = (int)kni_small_count(dtype);
    uint8_t codes[256], back[256];
    float f32[256];
    double f64[256];
    for (int i = 0; i < n; i++) codes[i] = (uint8_t)i;
    kn_tensor x = kn_keep(kn_from(codes, dtype, KN_SHAPE(n)));
    CHECK(kn_read(kn_cast(x, KN_F32), f32, (size_t)n * sizeof *f32) == KN_OK);
    CHECK(kn_read(kn_cast(x, KN_F64), f64, (size_t)n * sizeof *f64) == KN_OK);
    kn_tensor again = kn_cast(kn_cast(x, KN_F32), dtype);
    CHECK(kn_dtype_of(again) == dtype);
    CHECK(kn_read(again, back, (size_t)n) == KN_OK);
    bool nan_code_kept = kni_dtypes[dtype].specials != KNI_SPECIALS_IEEE;
    int wrong = 0;
    for (int i = 0; i < n; i++) {
        double value = kni_small_value(dtype, (unsigned)i);
        wrong += !same(value, (double)f32[i]) + !same(value, f64[i]);
        wrong += value == value || nan_code_kept
                     ? back[i] != kni_small_code(dtype, value, false)
                     : kni_small_value(dtype, back[i]) == kni_small_value(dtype, back[i]);
    }
    CHECK(wrong == 0);
    kn_drop(x);
}

/* Around every value and every midpoint, in f64, and f32 as near as it comes; and far out. */
static int values_around(kn_dtype dtype, double *out)
{
    int n = 0;
    double values[256];
    int count = (int)kni_small_count(dtype);
    for (int i = 0; i < count; i++) values[i] = kni_small_value(dtype, (unsigned)i);
    for (int i = 0; i < count; i++) {
        double next = i + 1 < count ? values[i + 1] : 2 * values[i];
        double points[] = {values[i], (values[i] + next) / 2};
        for (int k = 0; k < 2; k++) {
            out[n++] = points[k];
            out[n++] = nextafter(points[k], 1e300), out[n++] = nextafter(points[k], -1e300);
            out[n++] = (double)nextafterf((float)points[k], 1e38f),
            out[n++] = (double)nextafterf((float)points[k], -1e38f);
        }
    }
    const double far_out[] = {0,    -0.0,  1e-300, -1e-300, 1e-45,  464,      465,       480,  61440, 61441,
                              1e30, -1e30, 3e38,   1e300,   -1e300, INFINITY, -INFINITY, NAN,  -7.9,  7.9,
                              8,    -8.5,  15.5,   16,      255,    256,      1e19,      -1e19};
    for (size_t i = 0; i < sizeof far_out / sizeof *far_out; i++) out[n++] = far_out[i];
    return n;
}

static void numbers_become_the_nearest(kn_dtype dtype)
{
    static double values[256 * 10 + 64];
    static uint8_t codes[sizeof values / sizeof *values];
    int n = values_around(dtype, values);
    for (int saturate = 0; saturate < 2; saturate++)
        for (int single = 0; single < 2; single++) {
            kn_tensor x = kn_from(values, KN_F64, KN_SHAPE(n));
            if (single) x = kn_cast(x, KN_F32);
            kn_tensor y = saturate ? kn_cast_saturate(x, dtype) : kn_cast(x, dtype);
            CHECK(kn_read(y, codes, (size_t)n) == KN_OK);
            int wrong = 0;
            for (int i = 0; i < n; i++) {
                double value = single ? (double)(float)values[i] : values[i];
                unsigned code = kni_small_code(dtype, value, saturate);
                if (codes[i] != code && !wrong++)
                    printf("  %s: %.17g as %s%s is %u, not %u\n", device_name, value, kn_dtype_name(dtype),
                           saturate ? " saturated" : "", codes[i], code);
            }
            CHECK(wrong == 0);
        }
}

static void movement_keeps_codes(kn_dtype dtype)
{
    uint8_t codes[24], got[64];
    int mask = (int)kni_small_count(dtype) - 1;
    for (int i = 0; i < 24; i++) codes[i] = (uint8_t)(i * 7 & mask);
    kn_tensor x = kn_keep(kn_from(codes, dtype, KN_SHAPE(2, 3, 4)));
    kn_tensor y = kn_permute(x, KN_INTS(2, 0, 1));
    CHECK(kn_dtype_of(y) == dtype);
    CHECK(kn_read(y, got, 24) == KN_OK);
    int wrong = 0;
    for (int i = 0; i < 24; i++) wrong += got[i] != codes[i % 6 * 4 + i / 6];
    CHECK(wrong == 0);
    CHECK(kn_read(kn_flip(kn_reshape(x, KN_SHAPE(24)), KN_INTS(0)), got, 24) == KN_OK);
    CHECK(got[0] == codes[23]);
    kn_tensor pair[2] = {x, x};
    CHECK(kn_read(kn_concat(pair, 2, 0), got, 48) == KN_OK);
    CHECK(got[47] == codes[23]);
    kn_tensor padded = kn_pad(kn_reshape(x, KN_SHAPE(24)),
                              &(kn_pad_args){.before = KN_INTS(1), .after = KN_INTS(1), .value = 1});
    CHECK(kn_read(padded, got, 26) == KN_OK);
    CHECK(got[0] == kni_small_code(dtype, 1, false));
    CHECK(got[25] == kni_small_code(dtype, 1, false));
    kn_tensor index = kn_from((int64_t[]){1, 0}, KN_I64, KN_SHAPE(2));
    CHECK(kn_read(kn_index_take(x, 0, index), got, 24) == KN_OK);
    CHECK(got[0] == codes[12]);
    kn_drop(x);
}

static void comparisons_are_of_values(kn_dtype dtype)
{
    double v[4] = {1, 2, 1, 0};
    bool got[4];
    kn_tensor x = kn_keep(kn_cast(kn_from(v, KN_F64, KN_SHAPE(4)), dtype));
    CHECK(kn_read(kn_equal(x, kn_flip(x, KN_INTS(0))), got, 4) == KN_OK);
    CHECK(!got[0] && !got[1]);
    CHECK(kn_read(kn_greater_scalar(x, 0.5), got, 4) == KN_OK);
    CHECK(got[0]);
    CHECK(!got[3]);
    kn_drop(x);
}

static void others_say_cast_first(void)
{
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(3), KN_F8_E4M3)), i = kn_keep(kn_ones(KN_SHAPE(3), KN_I4));
    CHECK_POISON(kn_add(x, x), "kn_add: does not take f8_e4m3, which is only stored: cast operand 0 first, "
                               "as with kn_cast(x, KN_F32)");
    CHECK_POISON(kn_sum(i, KN_AXES_ALL, false), "KN_I8");
    kn_tensor both[2] = {x, i};
    CHECK_POISON(kn_concat(both, 2, 0), "operand 1 is i4 and another one f8_e4m3");
    kn_drop(x), kn_drop(i);
}

static void text_shows_values(void)
{
    char text[200];
    kn_format(kn_cast(kn_from((float[]){1, -2.5f, 448}, KN_F32, KN_SHAPE(3)), KN_F8_E4M3), text, sizeof text,
              NULL);
    CHECK(strstr(text, "448"));
    CHECK(strstr(text, "-2.5"));
    kn_format(kn_cast(kn_from((float[]){1, -8, 7}, KN_F32, KN_SHAPE(3)), KN_I4), text, sizeof text, NULL);
    CHECK(strstr(text, "-8"));
}

static void all_on(const char *name)
{
    device_name = name;
    kn_device device = kn_device_open(name);
    if (!device) {
        check_skip(name);
        return;
    }
    kn_device_use(device);
    for (int d = KN_F8_E4M3; d <= KN_U2; d++) {
        kn_scope scope = kn_scope_begin();
        codes_are_values((kn_dtype)d);
        numbers_become_the_nearest((kn_dtype)d);
        movement_keeps_codes((kn_dtype)d);
        comparisons_are_of_values((kn_dtype)d);
        kn_scope_end(scope, KN_NONE);
    }
    kn_scope scope = kn_scope_begin();
    others_say_cast_first();
    text_shows_values();
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
}

/* Floats that tensors compute in saturate, too, from dtypes that have no number near their largest. */
static void halves_saturate(void)
{
    const int64_t whole[] = {100000, -70000, 65519, 3};
    const float real[] = {1e6f, -1e6f, HUGE_VALF, 3};
    const double want[] = {65504, -65504, 65504, 3};
    double got[4];
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_cast_saturate(kn_from(whole, KN_I64, KN_SHAPE(4)), KN_F16);
    CHECK(kn_read_as(x, KN_F64, got, sizeof got) == KN_OK && !memcmp(got, want, sizeof got));
    x = kn_cast_saturate(kn_cast(kn_from(real, KN_F32, KN_SHAPE(4)), KN_BF16), KN_F16);
    CHECK(kn_read_as(x, KN_F64, got, sizeof got) == KN_OK && !memcmp(got, want, sizeof got));
    CHECK_POISON(kn_nan_to_num(kn_ones(KN_SHAPE(2), KN_F8_E4M3), 0, 1, -1), "only stored");
    CHECK_POISON(kn_clamp(kn_ones(KN_SHAPE(2), KN_I4), -8, 7), "only stored");
    kn_scope_end(scope, KN_NONE);
}

/* Arguments are devices in place of those of the list. */
int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) all_on(argv[i]);
    for (size_t i = 0; argc < 2 && i < sizeof devices / sizeof *devices; i++) all_on(devices[i]);
    halves_saturate();
    return check_report();
}
