/* Pins the bits of every math function: a hash of its results over fixed inputs, computed in loops that the
   compiler may vectorise, must be the same on every target and compiler. A change of an algorithm changes its
   hash here; run with an argument to print the table anew. */
#include "math/math_check.h"
#include "math/math_list.h"
#include "math/math_random_numbers.h"

enum { COUNT = 8192 };

static double in_f64[COUNT], in2_f64[COUNT], out_f64[COUNT];
static float in_f32[COUNT], in2_f32[COUNT], out_f32[COUNT];
static uint32_t words[2 * COUNT];
static uint16_t halves[COUNT];

/* A quarter each: any bit pattern, |x| < 1, |x| < 16 and |x| < 2^22, by exact operations only. */
static void fill_inputs(void)
{
    static const double scales[4] = {0, 0x1p-52, 0x1p-48, 0x1p-30};
    uint64_t state = 77;
    for (int i = 0; i < COUNT; i++) {
        for (int second = 0; second < 2; second++) {
            uint64_t bits = check_random(&state);
            double scaled =
                ((double)(int32_t)(bits >> 38) * 0x1p26 + (double)(int32_t)((bits >> 12) & 0x3ffffff)) *
                scales[i & 3];
            double x = i & 3 ? kni_flip_sign_f64(scaled, bits & 1 ? -1.0 : 1.0) : kni_from_bits_f64(bits);
            float xf = i & 3 ? (float)scaled * (bits & 1 ? -1.0f : 1.0f) : kni_from_bits_f32((uint32_t)bits);
            (second ? in2_f64 : in_f64)[i] = x;
            (second ? in2_f32 : in_f32)[i] = xf;
            words[2 * i + second] = (uint32_t)(bits >> 32);
        }
        halves[i] = (uint16_t)words[i];
    }
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

/* All NaN count as one. */
static uint64_t hash_f64(void)
{
    uint64_t hash = 0;
    for (int i = 0; i < COUNT; i++) {
        hash = mix(hash, out_f64[i] != out_f64[i] ? 0x7ff8000000000000u : kni_bits_f64(out_f64[i]));
    }
    return hash;
}

static uint64_t hash_f32(void)
{
    uint64_t hash = 0;
    for (int i = 0; i < COUNT; i++) {
        hash = mix(hash, out_f32[i] != out_f32[i] ? 0x7fc00000u : kni_bits_f32(out_f32[i]));
    }
    return hash;
}

#define RUN(name)                                                                                            \
    static uint64_t run_##name##_f64(void)                                                                   \
    {                                                                                                        \
        for (int i = 0; i < COUNT; i++) out_f64[i] = kni_##name##_f64(in_f64[i]);                            \
        return hash_f64();                                                                                   \
    }                                                                                                        \
    static uint64_t run_##name##_f32(void)                                                                   \
    {                                                                                                        \
        for (int i = 0; i < COUNT; i++) out_f32[i] = kni_##name##_f32(in_f32[i]);                            \
        return hash_f32();                                                                                   \
    }
#define RUN2(name)                                                                                           \
    static uint64_t run_##name##_f64(void)                                                                   \
    {                                                                                                        \
        for (int i = 0; i < COUNT; i++) out_f64[i] = kni_##name##_f64(in_f64[i], in2_f64[i]);                \
        return hash_f64();                                                                                   \
    }                                                                                                        \
    static uint64_t run_##name##_f32(void)                                                                   \
    {                                                                                                        \
        for (int i = 0; i < COUNT; i++) out_f32[i] = kni_##name##_f32(in_f32[i], in2_f32[i]);                \
        return hash_f32();                                                                                   \
    }

/* clang-format off */
MATH_UNARY(RUN)
MATH_BINARY(RUN2)
/* clang-format on */

static uint64_t half_conversions(void)
{
    uint64_t hash = 0;
    static uint16_t a[COUNT], b[COUNT], c[COUNT], d[COUNT];
    static float wide[COUNT];
    for (int i = 0; i < COUNT; i++) a[i] = kni_f32_to_f16(in_f32[i]);
    for (int i = 0; i < COUNT; i++) b[i] = kni_f32_to_bf16(in_f32[i]);
    for (int i = 0; i < COUNT; i++) c[i] = kni_f64_to_f16(in_f64[i]);
    for (int i = 0; i < COUNT; i++) d[i] = kni_f64_to_bf16(in_f64[i]);
    for (int i = 0; i < COUNT; i++) wide[i] = kni_f16_to_f32(halves[i]);
    for (int i = 0; i < COUNT; i++) {
        int is_nan = in_f64[i] != in_f64[i]; /* only its sign may differ between targets */
        hash = mix(hash, (uint64_t)a[i] << 16 | b[i]);
        hash = mix(hash, is_nan ? 0 : (uint64_t)c[i] << 16 | d[i]);
        hash = mix(hash, wide[i] != wide[i] ? 0 : kni_bits_f32(wide[i]));
    }
    return hash;
}

static uint64_t random_numbers(void)
{
    uint64_t hash = 0;
    for (int i = 0; i < COUNT; i++) out_f32[i] = kni_normal_f32(words[i], words[i + COUNT]);
    hash = mix(hash, hash_f32());
    for (int i = 0; i < COUNT; i++) out_f32[i] = kni_uniform_f32(words[i]);
    hash = mix(hash, hash_f32());
    for (int i = 0; i < COUNT; i++) out_f64[i] = kni_uniform_f64(words[i], words[i + COUNT]);
    hash = mix(hash, hash_f64());
    for (int i = 0; i < COUNT; i++) {
        out_f64[i] =
            kni_normal_f64(words[i], words[i + COUNT], words[2 * COUNT - 1 - i], words[COUNT - 1 - i]);
    }
    return mix(hash, hash_f64());
}

#define ENTRY(name) {#name "_f64", run_##name##_f64}, {#name "_f32", run_##name##_f32},

/* clang-format off */
static const struct {
    const char *name;
    uint64_t (*run)(void);
} runs[] = {
    MATH_UNARY(ENTRY)
    MATH_BINARY(ENTRY)
    {"half", half_conversions},
    {"random", random_numbers},
};

static const uint64_t expected[sizeof runs / sizeof *runs] = {
#include "math/math_bits_expected.h"
};
/* clang-format on */

/* The array functions give the bits of the scalar ones, in place too, with huge arguments here and there. */
static void check_arrays(void)
{
    void (*const arrays[])(double *, const double *, size_t) = {kni_sin_array_f64, kni_cos_array_f64,
                                                                kni_tan_array_f64};
    double (*const scalars[])(double) = {kni_sin_f64, kni_cos_f64, kni_tan_f64};
    for (int f = 0; f < 3; f++) {
        for (int i = 0; i < COUNT; i++) out_f64[i] = i < 2000 ? in_f64[i | 1] : in_f64[i];
        arrays[f](out_f64, out_f64, COUNT - 3);
        int wrong = 0;
        for (int i = 0; i < COUNT - 3; i++) {
            double y = scalars[f](i < 2000 ? in_f64[i | 1] : in_f64[i]);
            wrong += y != y ? out_f64[i] == out_f64[i] : kni_bits_f64(y) != kni_bits_f64(out_f64[i]);
        }
        check_count(wrong == 0);
    }
}

int main(int argc, char **argv)
{
    (void)argv;
    fill_inputs();
    for (unsigned i = 0; i < sizeof runs / sizeof *runs; i++) {
        uint64_t hash = runs[i].run();
        int good = hash == expected[i];
        if (argc > 1)
            printf("    0x%016llxu, /* %s */\n", (unsigned long long)hash, runs[i].name);
        else if (!good)
            printf("%s: other bits than pinned\n", runs[i].name);
        check_count(good);
    }
    check_arrays();
    if (argc > 1) return 0;
    return check_report();
}
