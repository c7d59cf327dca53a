/* Weights that never change: what the CPU packs of them is kept at their storage, serves every call that reads them alike, gives the values
   of weights that are packed anew, and ends with them. Operands are small integers, so that all sums are exact and compared exactly. */
#include "core/lasting.h"
#include "core/made_forms.h"
#include "core/table.h"
#include "support/check.h"
#include "support/tiers.h"
#include <kn/contraction.h>
#include <kn/functional.h>

typedef struct {
    const char *name;
    kn_shape x, w;
    bool transposed;
    int64_t stride, padding, dilation, groups;
} geometry;

#define S KN_SHAPE
static const geometry geometries[] = {
    {"plain", S(1, 5, 20, 23), S(19, 5, 3, 3), false, 1, 1, 1, 1},
    {"stride", S(2, 4, 21, 30), S(9, 4, 3, 5), false, 2, 2, 1, 1},
    {"wide stride", S(1, 3, 40, 40), S(7, 3, 5, 5), false, 4, 1, 1, 1},
    {"dilated", S(1, 4, 19, 17), S(6, 4, 3, 3), false, 1, 2, 2, 1},
    {"groups", S(1, 8, 12, 12), S(10, 4, 3, 3), false, 1, 1, 1, 2},
    {"depthwise, 7 wide", S(1, 6, 7, 7), S(6, 1, 3, 3), false, 1, 1, 1, 6},
    {"depthwise, 14 wide", S(2, 5, 15, 14), S(5, 1, 5, 5), false, 1, 2, 1, 5},
    {"depthwise, 33 wide", S(1, 3, 9, 33), S(3, 1, 3, 3), false, 1, 1, 1, 3},
    {"depthwise, 112 wide", S(1, 2, 30, 112), S(2, 1, 3, 3), false, 1, 1, 1, 2},
    {"depthwise, 150 wide, stride", S(1, 2, 31, 300), S(2, 1, 3, 3), false, 2, 1, 1, 2},
    {"depthwise, stride", S(1, 4, 28, 29), S(4, 1, 5, 5), false, 2, 2, 1, 4},
    {"depthwise, many taps", S(1, 2, 20, 20), S(2, 1, 17, 17), false, 1, 8, 1, 2},
    {"one position", S(2, 40, 1, 1), S(24, 40, 1, 1), false, 1, 0, 1, 1},
    {"few positions", S(1, 20, 3, 4), S(37, 20, 1, 1), false, 1, 0, 1, 1},
    {"few positions, taps", S(2, 17, 5, 6), S(9, 17, 3, 3), false, 2, 1, 1, 1},
    {"few positions, groups", S(1, 32, 4, 4), S(24, 16, 3, 3), false, 2, 1, 1, 2},
    {"few positions, wide stride", S(1, 1, 1, 640), S(258, 1, 1, 256), false, 128, 0, 1, 1},
    {"transposed", S(1, 6, 9, 10), S(6, 7, 3, 3), true, 1, 1, 1, 1},
    {"transposed, stride", S(1, 6, 9, 10), S(6, 7, 4, 4), true, 2, 1, 1, 1},
};

static kn_tensor integers(kn_shape shape) { return kn_cast(kn_random_int(shape, -8, 9, KN_I32), KN_F32); }

/* The same numbers in memory of their own. */
static kn_tensor copy_of(kn_tensor x) { return kn_mul_scalar(x, 1); }

static kn_tensor convolve(const geometry *g, kn_tensor x, kn_tensor w, kn_tensor bias)
{
    if (g->transposed)
        return kn_conv_transpose2d(x, w, bias,
                                   &(kn_conv_transpose2d_args){.stride = {g->stride, g->stride},
                                                               .padding = {g->padding, g->padding},
                                                               .dilation = {g->dilation, g->dilation},
                                                               .groups = g->groups});
    return kn_conv2d(x, w, bias,
                     &(kn_conv2d_args){.stride = {g->stride, g->stride},
                                       .padding = {g->padding, g->padding},
                                       .dilation = {g->dilation, g->dilation},
                                       .groups = g->groups});
}

static void check_equal(const char *name, kn_tensor a, kn_tensor b)
{
    bool equal = false;
    CHECK(kn_ok(a) && kn_ok(b) && kn_read(kn_all(kn_equal(a, b), KN_INTS(), false), &equal, 1) == KN_OK);
    if (!equal) printf("%s\n", name);
    CHECK(equal);
}

/* Forms that a tensor's storage holds. */
static int64_t bytes_of_forms(kn_tensor w)
{
    int64_t before = kn_memory_stats().bytes_now;
    kni_storage *s = kni_peek(w)->storage;
    if (!CHECK(s && kni_storage_flags(s) & KNI_STORAGE_LASTING)) return 0;
    kni_forms_free(s);
    atomic_store(&s->forms, NULL);
    return before - kn_memory_stats().bytes_now;
}

static void convolutions(const geometry *g)
{
    kn_scope s = kn_scope_begin();
    kn_device cpu = kn_device_cpu(), ref = kn_device_open("ref");
    kn_tensor x = kn_keep(integers(g->x)), w = kn_keep(integers(g->w)), fixed = kn_keep(copy_of(w));
    kn_tensor bias = kn_keep(integers(KN_SHAPE(g->transposed ? g->w.dims[1] * g->groups : g->w.dims[0])));
    kn_tensor expected = kn_keep(
        kn_to(convolve(g, kn_keep(kn_to(x, ref)), kn_keep(kn_to(w, ref)), kn_keep(kn_to(bias, ref))), cpu));
    check_equal(g->name, convolve(g, x, w, bias), expected);
    kni_lasting(fixed);
    const void *made = NULL;
    for (int run = 0; run < 3; run++) {
        check_equal(g->name, convolve(g, x, fixed, bias), expected);
        const void *now = atomic_load(&kni_peek(fixed)->storage->forms);
        CHECK(now && (run == 0 || now == made)); /* later runs make nothing */
        made = now;
    }
    CHECK(bytes_of_forms(fixed) > 0);
    kn_scope_end(s, KN_NONE);
    kn_device_close(ref);
}

/* One storage of weights read by convolutions of several kinds keeps them apart. */
static void shared_weights(void)
{
    static const geometry uses[] = {
        {"as it is", S(1, 6, 11, 12), S(6, 6, 4, 4), false, 1, 1, 1, 1},
        {"transposed", S(1, 6, 11, 12), S(6, 6, 4, 4), true, 1, 1, 1, 1},
        {"transposed, stride 2", S(1, 6, 11, 12), S(6, 6, 4, 4), true, 2, 1, 1, 1},
        {"transposed, stride 2, dilation 3", S(1, 6, 11, 12), S(6, 6, 4, 4), true, 2, 1, 3, 1},
        {"transposed, stride 3", S(1, 6, 11, 12), S(6, 6, 4, 4), true, 3, 1, 1, 1},
    };
    kn_scope s = kn_scope_begin();
    kn_tensor w = kn_keep(integers(uses[0].w)), fixed = kn_keep(copy_of(w));
    kni_lasting(fixed);
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
            kn_tensor x = kn_keep(integers(uses[i].x));
            check_equal(uses[i].name, convolve(&uses[i], x, fixed, KN_NONE),
                        convolve(&uses[i], x, w, KN_NONE));
        }
    kn_scope_end(s, KN_NONE);
}

/* Products with a right side that lasts: rows of several numbers, also one, and a right side that lies across. */
static void products(void)
{
    static const int64_t rows[] = {1, 2, 5, 31, 70};
    enum { K = 300, N = 141 };
    kn_scope s = kn_scope_begin();
    kn_tensor w = kn_keep(integers(KN_SHAPE(K, N))), across = kn_keep(integers(KN_SHAPE(N, K)));
    kn_tensor fixed = kn_keep(copy_of(w)), fixed_across = kn_keep(copy_of(across));
    kni_lasting(fixed);
    kni_lasting(fixed_across);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kn_tensor x = kn_keep(integers(KN_SHAPE(rows[i], K)));
        check_equal("matmul", kn_matmul(x, fixed), kn_matmul(x, w));
        check_equal("matmul across", kn_matmul(x, kn_transpose(fixed_across, 0, 1)),
                    kn_matmul(x, kn_transpose(across, 0, 1)));
        check_equal("linear", kn_linear(x, fixed_across, KN_NONE), kn_linear(x, across, KN_NONE));
    }
    CHECK(bytes_of_forms(fixed) > 4 * K * N && bytes_of_forms(fixed_across) > 4 * K * N);
    kn_scope_end(s, KN_NONE);
}

/* Products of bytes with a side that lasts: of few rows and many, and convolutions, with a zero point of each channel. */
static void byte_products(void)
{
    static const int64_t rows[] = {1, 3, 15, 40};
    static const struct {
        kn_shape x, w;
        kn_conv_integer_args args;
    } of[] = {{S(1, 6, 17, 19), S(31, 6, 3, 3), {.padding = {1, 1}}},
              {S(2, 6, 18, 21), S(6, 1, 3, 3), {.stride = {2, 2}, .padding = {1, 1}, .groups = 6}},
              {S(1, 5, 7, 7), S(16, 5, 1, 1), {.stride = {2, 2}}}};
    enum { K = 310, N = 141 };
    kn_scope s = kn_scope_begin();
    for (int is_signed = 0; is_signed < 2; is_signed++) {
        const kn_dtype dtype = is_signed ? KN_I8 : KN_U8;
        kn_tensor w = kn_keep(kn_random_int(S(K, N), 0, 128, dtype)),
                  zero = kn_keep(kn_random_int(S(N), 0, 9, dtype));
        kn_tensor fixed = kn_keep(kn_cast(kn_cast(w, KN_I32), dtype));
        kni_lasting(fixed);
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            kn_tensor x = kn_keep(kn_random_int(S(rows[i], K), 0, 256, KN_U8));
            check_equal("bytes", kn_matmul_integer(x, fixed, KN_NONE, zero),
                        kn_matmul_integer(x, w, KN_NONE, zero));
        }
        CHECK(bytes_of_forms(fixed) > K * N);
        for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
            w = kn_keep(kn_random_int(of[i].w, 0, 128, dtype));
            zero = kn_keep(kn_random_int(S(of[i].w.dims[0]), 0, 9, dtype));
            fixed = kn_keep(kn_cast(kn_cast(w, KN_I32), dtype));
            kni_lasting(fixed);
            kn_tensor x = kn_keep(kn_random_int(of[i].x, 0, 256, KN_U8)),
                      x_zero = kn_keep(kn_scalar(7, KN_U8));
            for (int run = 0; run < 2; run++)
                check_equal("convolutions of bytes", kn_conv_integer(x, fixed, x_zero, zero, &of[i].args),
                            kn_conv_integer(x, w, x_zero, zero, &of[i].args));
            CHECK(bytes_of_forms(fixed) > 0);
        }
    }
    kn_scope_end(s, KN_NONE);
}

/* Weights of cells over sequences: both are packed once, also where a step is all there is. The bits are those of weights that are packed anew. */
static void sequences(void)
{
    static const int64_t steps[] = {1, 9};
    typedef kn_recurrent_result function(kn_tensor x, kn_tensor w, kn_tensor h,
                                         const kn_recurrent_args *args);
    static function *const cells[] = {kn_lstm, kn_gru};
    enum { INS = 21, HIDDEN = 37 };
    kn_scope s = kn_scope_begin();
    for (int cell = 0; cell < 2; cell++) {
        const int64_t gates = (4 - cell) * HIDDEN;
        kn_tensor w = kn_keep(kn_random_normal(S(1, gates, INS), 0, 0.3, KN_F32)),
                  h = kn_keep(kn_random_normal(S(1, gates, HIDDEN), 0, 0.3, KN_F32));
        kn_tensor fixed_w = kn_keep(copy_of(w)), fixed_h = kn_keep(copy_of(h));
        kni_lasting(fixed_w);
        kni_lasting(fixed_h);
        for (int i = 0; i < 4; i++) {
            kn_tensor x = kn_keep(kn_random_normal(S(steps[i % 2], 2, INS), 0, 0.3, KN_F32));
            check_equal("sequence", cells[cell](x, fixed_w, fixed_h, NULL).y, cells[cell](x, w, h, NULL).y);
        }
        CHECK(bytes_of_forms(fixed_w) > 4 * gates * INS && bytes_of_forms(fixed_h) > 4 * gates * HIDDEN);
    }
    kn_scope_end(s, KN_NONE);
}

/* A lasting tensor is written over by nothing, and its forms end with it. */
static void lasts_and_ends(void)
{
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_keep(integers(KN_SHAPE(4, 64)));
    int64_t before = kn_memory_stats().bytes_now;
    kn_tensor w = kn_keep(integers(KN_SHAPE(64, 64))), same = kn_keep(copy_of(w));
    kni_lasting(w);
    kn_drop(kn_matmul(x, w));
    kn_tensor alias = kn_alias(w);
    kn_drop(kn_relu(alias));
    check_equal("kept", kn_alias(w), kn_alias(same));
    kn_drop(same);
    kn_drop(w);
    kn_scope_end(kn_scope_begin(), KN_NONE);
    kn_scope_end(s, KN_NONE);
    CHECK(kn_memory_stats().bytes_now <= before);
    kni_lasting(KN_NONE); /* nothing, as for a number */
    kni_lasting(kn_scalar(2, KN_F32));
}

int main(void)
{
    kn_device_use(kn_device_cpu());
    for (int tier = 0; tier < KNI_ISA_COUNT; tier++) {
        if (!tier_runs((kni_tier)tier)) continue;
        kni_cpu_set_tier((kni_tier)tier);
        for (size_t i = 0; i < sizeof geometries / sizeof *geometries; i++) convolutions(&geometries[i]);
        shared_weights();
        products();
        byte_products();
        sequences();
        lasts_and_ends();
    }
    CHECK(kn_shutdown() == 0);
    return check_report();
}
