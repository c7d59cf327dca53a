/* Exact products of bytes: the kernels of every tier against plain sums, and the public functions with zero points, strides and threads
   in all tiers. */
#include "backend/cpu/gemm_i8_kernels.h"
#include "core/thread_pool.h"
#include "support/tiers.h"
#include <stdlib.h>
#include <string.h>

static uint32_t state = 12345;

static uint8_t random_byte(void)
{
    state = state * 1664525u + 1013904223u;
    const uint8_t b = (uint8_t)(state >> 24);
    return state & 0x300 ? b : (uint8_t)(state & 0x400 ? 255 : 128); /* many extremes */
}

/* ---- kernels */

enum { DEPTH = 70, WIDTH = KNI_GEMM_I8_MAX_COLUMNS };

static int wrong_sums(const kni_gemm_i8_kernels *k, const uint8_t *a, const uint8_t *b, int depth, int rows,
                      uint8_t flip)
{
    const int quads = (depth + 3) / 4, columns = k->tile_columns;
    static uint8_t zeros[WIDTH];
    static _Alignas(64) char panel[DEPTH * KNI_GEMM_I8_MAX_ROWS * 4], strip[DEPTH * WIDTH * 4];
    int32_t row_sums[KNI_GEMM_I8_MAX_ROWS], sums[KNI_GEMM_I8_MAX_ROWS * WIDTH], column_sums[WIDTH];
    int wrong = 0;
    k->pack_a(panel, a, DEPTH, 1, rows, depth, flip, row_sums);
    for (int q = 0; q < quads; q++) {
        const uint8_t *from[4];
        for (int t = 0; t < 4; t++) from[t] = 4 * q + t < depth ? b + (4 * q + t) * WIDTH : zeros;
        k->interleave(strip + q * columns * 4 * k->width, from, 0);
    }
    k->tile(panel, strip, quads, rows, sums);
    k->column_sums(strip, quads, column_sums);
    for (int i = 0; i < rows; i++) {
        int32_t row = 0;
        for (int t = 0; t < depth; t++) row += (int8_t)(a[i * DEPTH + t] ^ flip);
        wrong += row != row_sums[i];
        for (int j = 0; j < columns; j++) {
            int32_t sum = 0, column = 0;
            for (int t = 0; t < depth; t++) {
                sum += (int8_t)(a[i * DEPTH + t] ^ flip) * b[t * WIDTH + j];
                column += b[t * WIDTH + j];
            }
            wrong += sum != sums[i * columns + j] || column != column_sums[j];
        }
    }
    return wrong;
}

static void test_kernels(const kni_gemm_i8_kernels *k)
{
    uint8_t a[KNI_GEMM_I8_MAX_ROWS * DEPTH], b[DEPTH * WIDTH];
    int wrong = 0;
    for (int depth = 1; depth <= DEPTH; depth += depth < 9 ? 1 : 7)
        for (int rows = 1; rows <= k->tile_rows; rows++) {
            for (size_t i = 0; i < sizeof a; i++) a[i] = random_byte();
            for (size_t i = 0; i < sizeof b; i++) b[i] = random_byte();
            wrong += wrong_sums(k, a, b, depth, rows, rows % 2 ? 0x80 : 0);
        }
    CHECK(wrong == 0);
}

static void test_all_kernels(void)
{
    for (int tier = 0; tier < KNI_ISA_COUNT; tier++) {
        if (!tier_runs((kni_tier)tier)) continue;
        kni_cpu_set_tier((kni_tier)tier);
        test_kernels(kni_gemm_i8_kernels_of((kni_tier)tier, false));
        if (kni_cpu_has_dot_products()) test_kernels(kni_gemm_i8_kernels_of((kni_tier)tier, true));
    }
}

/* ---- products of many sizes, against those of i64 */

static kn_tensor random_bytes(kn_shape shape, kn_dtype dtype)
{
    const int64_t low = dtype == KN_I8 ? -128 : 0;
    return kn_keep(kn_random_int(shape, low, low + 256, dtype));
}

static kn_tensor wide(kn_tensor x, kn_tensor zero)
{
    return kn_sub(kn_cast(x, KN_I64), kn_cast(zero, KN_I64));
}

static bool same(kn_tensor y, kn_tensor want)
{
    return kn_item_int(kn_all(kn_equal(kn_cast(y, KN_I64), want), KN_AXES_ALL, false)) == 1;
}

static void test_matmul(int64_t m, int64_t k, int64_t n, kn_dtype da, kn_dtype db, bool turned)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor a = random_bytes(KN_SHAPE(m, k), da), a_zero = random_bytes(KN_SHAPE(m, 1), da);
    kn_tensor b = random_bytes(turned ? KN_SHAPE(n, k) : KN_SHAPE(k, n), db),
              b_zero = random_bytes(KN_SHAPE(n), db);
    if (turned) b = kn_keep(kn_transpose(b, 0, 1));
    kn_tensor want = kn_keep(kn_matmul(wide(a, a_zero), wide(b, b_zero)));
    CHECK(same(kn_matmul_integer(a, b, a_zero, b_zero), want));
    kn_tensor plain = kn_matmul(kn_cast(a, KN_I64), kn_cast(b, KN_I64));
    CHECK(same(kn_matmul_integer(a, b, KN_NONE, KN_NONE), plain));
    kn_scope_end(scope, KN_NONE);
}

static void test_conv(kn_shape x_shape, kn_shape w_shape, const kn_conv_integer_args *args)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = random_bytes(x_shape, KN_U8), w = random_bytes(w_shape, KN_I8);
    kn_tensor x_zero = random_bytes(KN_SCALAR_SHAPE, KN_U8),
              w_zero = random_bytes(KN_SHAPE(w_shape.dims[0]), KN_I8);
    kn_tensor ws = kn_cast(wide(w, kn_reshape(w_zero, KN_SHAPE(w_shape.dims[0], 1, 1, 1))), KN_F64);
    const kn_conv2d_args same_as = {.stride = {args->stride[0], args->stride[1]},
                                    .padding = {args->padding[0], args->padding[1]},
                                    .dilation = {args->dilation[0], args->dilation[1]},
                                    .groups = args->groups};
    kn_tensor want = kn_conv2d(kn_cast(wide(x, x_zero), KN_F64), ws, KN_NONE, &same_as);
    CHECK(same(kn_conv_integer(x, w, x_zero, w_zero, args), kn_keep(kn_cast(want, KN_I64))));
    kn_scope_end(scope, KN_NONE);
}

/* The largest sums there are, up to 2^31, where they wrap. */
static void test_extremes(int64_t m)
{
    static const struct {
        kn_dtype a, b;
        double a_value, b_value, a_zero, b_zero;
    } of[] = {{KN_I8, KN_I8, -128, -128, 0, 0},     {KN_U8, KN_I8, 255, -128, 0, 0},
              {KN_U8, KN_U8, 255, 255, 0, 0},       {KN_I8, KN_U8, -128, 255, 127, 0},
              {KN_U8, KN_I8, 255, -128, 0, 127},    {KN_U8, KN_U8, 0, 0, 255, 255},
              {KN_I8, KN_I8, 127, -128, -128, 127}, {KN_U8, KN_U8, 0, 255, 255, 0}};
    const int64_t k = 33030, n = 65; /* 33030 * 255 * 255 is above 2^31 */
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        kn_scope scope = kn_scope_begin();
        kn_tensor a = kn_full(KN_SHAPE(m, k), of[i].a_value, of[i].a);
        kn_tensor b = kn_full(KN_SHAPE(k, n), of[i].b_value, of[i].b);
        kn_tensor y = kn_matmul_integer(a, b, kn_full(KN_SCALAR_SHAPE, of[i].a_zero, of[i].a),
                                        kn_full(KN_SCALAR_SHAPE, of[i].b_zero, of[i].b));
        const int64_t one = (int64_t)((of[i].a_value - of[i].a_zero) * (of[i].b_value - of[i].b_zero));
        const int64_t sum = (int64_t)(int32_t)(uint32_t)(uint64_t)(one * k);
        CHECK(same(y, kn_keep(kn_full(KN_SHAPE(m, n), (double)sum, KN_I64))));
        kn_scope_end(scope, KN_NONE);
    }
}

static void test_products(void)
{
    static const int64_t shapes[][3] = {
        {1, 1, 1},   {1, 300, 40}, {3, 5, 7},  {14, 64, 32},  {15, 65, 33}, {130, 70, 9}, {200, 300, 70},
        {5, 2, 400}, {1, 64, 200}, {2, 4, 64}, {3, 260, 130}, {4, 132, 65}, {1, 77, 67},  {4, 63, 9}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int kind = 0; kind < 4; kind++)
            for (int turned = 0; turned < 2; turned++)
                test_matmul(shapes[i][0], shapes[i][1], shapes[i][2], kind & 1 ? KN_I8 : KN_U8,
                            kind & 2 ? KN_I8 : KN_U8, turned != 0);
    for (int rows = 1; rows < 20; rows += 6) test_extremes(rows);
    test_conv(KN_SHAPE(2, 6, 17, 19), KN_SHAPE(8, 6, 3, 3), &(kn_conv_integer_args){.padding = {1, 1}});
    test_conv(KN_SHAPE(1, 0, 25, 25), KN_SHAPE(4, 0, 21, 21),
              &(kn_conv_integer_args){.groups = 1}); /* many taps of no channel */
    test_conv(KN_SHAPE(1, 6, 17, 40), KN_SHAPE(9, 2, 3, 5),
              &(kn_conv_integer_args){.stride = {2, 1}, .padding = {1, 3}, .dilation = {1, 2}, .groups = 3});
    test_conv(KN_SHAPE(2, 7, 9, 70), KN_SHAPE(7, 1, 3, 3),
              &(kn_conv_integer_args){.padding = {1, 1}, .groups = 7});
    test_conv(KN_SHAPE(2, 40, 9, 9), KN_SHAPE(33, 40, 1, 1), &(kn_conv_integer_args){.groups = 1});
    test_conv(KN_SHAPE(1, 3, 4, 4), KN_SHAPE(5, 3, 4, 4),
              &(kn_conv_integer_args){.stride = {3, 3}, .padding = {2, 2}});
    test_conv(KN_SHAPE(1, 5, 15, 14), KN_SHAPE(5, 1, 5, 5),
              &(kn_conv_integer_args){.stride = {2, 2}, .padding = {2, 2}, .groups = 5});
    test_conv(KN_SHAPE(1, 4, 30, 31), KN_SHAPE(8, 2, 3, 3),
              &(kn_conv_integer_args){.stride = {2, 3}, .padding = {1, 4}, .dilation = {3, 2}, .groups = 2});
    test_conv(KN_SHAPE(2, 9, 8, 8), KN_SHAPE(17, 9, 1, 1), &(kn_conv_integer_args){.stride = {2, 2}});
    test_conv(KN_SHAPE(1, 9, 7, 7), KN_SHAPE(3, 9, 2, 2), &(kn_conv_integer_args){.stride = {3, 1}});
}

static void test_misuse(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = random_bytes(KN_SHAPE(2, 3), KN_U8), f = kn_keep(kn_zeros(KN_SHAPE(3, 2), KN_F32));
    CHECK_POISON(kn_matmul_integer(x, f, KN_NONE, KN_NONE), "products of i8 and u8");
    CHECK_POISON(kn_matmul_integer(x, x, KN_NONE, KN_NONE), "inner sizes differ");
    CHECK_POISON(kn_conv_integer(x, x, KN_NONE, KN_NONE, NULL), "same rank");
    kn_scope_end(scope, KN_NONE);
}

int main(void)
{
    const kni_tier best = kni_cpu_tier();
    test_all_kernels();
    for (int tier = 0; tier < KNI_ISA_COUNT; tier++) {
        if (!tier_runs((kni_tier)tier)) continue;
        kni_cpu_set_tier((kni_tier)tier);
        for (int threads = 1; threads < 4; threads++) {
            kni_set_threads(threads);
            test_products();
        }
    }
    kni_cpu_set_tier(best);
    test_misuse();
    return check_report();
}
