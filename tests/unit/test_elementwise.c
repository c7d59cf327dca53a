/* What is special about elementwise rows: every body parses and means the same on ref and cpu, numbers as operands,
   dtypes, ties, edges, layouts and the texts of errors. */
#include "../support/check.h"
#include "core/backends.h"
#include "core/device_object.h"
#include "ops/body.h"
#include "ops/op.h"
#include "support/tiers.h"
#include <math.h>

static const kn_op *const rows[] = {
#define KN_OP(number, name, ...) &kni_op_##name,
#include "ops/elementwise.def"
#undef KN_OP
};
enum { ROWS = sizeof rows / sizeof *rows, N = 67 };

static kn_device cpu, ref;

/* ---- every row: its body parses, and on f64, i64 and u64 the CPU computes the reference's bits */

static double sample(int i, int operand, kn_dtype dtype)
{
    static const double edges[] = {0.0, 1, 2, 0.5, 3, 0.25, 7};
    double v = i < 7 ? edges[i] : fmod(i * 0.37 + operand * 0.61, 5);
    if (kn_dtype_is_float(dtype)) return (i + operand) % 3 == 1 ? -v : v;
    v = floor(v * 3);
    return dtype != KN_U64 && (i + operand) % 3 == 1 ? -v : v;
}

static kn_tensor operand_of(const kn_op *row, int k, kn_dtype dtype)
{
    double values[N];
    bool truth = row->rule == KNI_RULE_SELECT && k == 0;
    for (int i = 0; i < N; i++) values[i] = truth ? (double)(i % 3 == 0) : sample(i, k, dtype);
    return kn_cast(kn_from(values, KN_F64, KN_SHAPE(N)), truth ? KN_BOOL : dtype);
}

/* The bytes of the row's result, or -1. */
static int64_t run_row(const kn_op *row, kn_dtype dtype, kn_device device, unsigned char *bytes, size_t room)
{
    kn_scope scope = kn_scope_begin();
    kn_device_use(device);
    kn_tensor in[4];
    kni_scalar_params params = {{0.75, 1.5, 0.5, 0.25}};
    if (row == &kni_op_polygamma) params.p[0] = 2;
    for (int k = 0; k < row->max_in; k++) in[k] = operand_of(row, k, dtype);
    kn_tensor y = kn_keep(kni_apply(row, in, row->max_in, row->attribute_bytes ? &params : NULL));
    int64_t size = kn_dtype_bytes(kn_dtype_of(y), kn_count(y));
    if (!kn_ok(y) || size > (int64_t)room || kn_read(y, bytes, (size_t)size)) size = -1;
    (void)kn_scope_end(scope, KN_NONE);
    return size;
}

/* The row on every tier gives `want`, which lies in the buffer of size bytes. */
static void check_tiers(const kn_op *row, kn_dtype dtype, const unsigned char *want, int64_t size)
{
    static unsigned char got[N * 8];
    for (int tier = 0; tier < KNI_ISA_COUNT; tier++) {
        if (!tier_runs((kni_tier)tier)) continue;
        kni_cpu_set_tier((kni_tier)tier);
        bool same =
            run_row(row, dtype, cpu, got, sizeof got) == size && size > 0 && !memcmp(got, want, (size_t)size);
        if (!CHECK(same))
            printf("  %s of %s, tier %s\n", row->name, kn_dtype_name(dtype),
                   kni_cpu_tier_name((kni_tier)tier));
    }
}

static void test_rows(void)
{
    static const struct {
        kn_dtype dtype;
        bool wide; /* the reference computes in it, so the bits are its; else they are the scalar tier's */
    } types[] = {{KN_F64, true},  {KN_I64, true},  {KN_U64, true},
                 {KN_F32, false}, {KN_F16, false}, {KN_I32, false}};
    static unsigned char want[N * 8];
    kni_tier best = kni_cpu_tier();
    for (int i = 0; i < ROWS; i++) {
        if (!rows[i]->body) continue;
        for (size_t d = 0; d < sizeof types / sizeof *types; d++) {
            kn_dtype dtype = types[d].dtype;
            if (!(rows[i]->dtypes >> dtype & 1)) continue;
            if (rows[i]->rule == KNI_RULE_FLOAT && !kn_dtype_is_float(dtype)) continue;
            kni_cpu_set_tier(KNI_ISA_SCALAR);
            int64_t size = run_row(rows[i], dtype, types[d].wide ? ref : cpu, want, sizeof want);
            check_tiers(rows[i], dtype, want, size);
        }
    }
    kni_cpu_set_tier(best);
    kn_device_use(cpu);
}

/* ---- numbers */

static kn_tensor list(kn_dtype dtype, int n, const double *values)
{
    return kn_cast(kn_from(values, KN_F64, KN_SHAPE(n)), dtype);
}
#define LIST(dtype, ...)                                                                                     \
    list(dtype, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (double[]){__VA_ARGS__})

static void test_numbers(void)
{
    CHECK(kn_dtype_of(kn_keep(kn_add_scalar(LIST(KN_I8, 1, 2), 1))) == KN_I8);
    CHECK(kn_dtype_of(kn_keep(kn_add_scalar(LIST(KN_I8, 1, 2), 0.5))) == KN_F32);
    CHECK(kn_dtype_of(kn_keep(kn_add_scalar(LIST(KN_I64, 1), INFINITY))) == KN_F32);
    CHECK(kn_dtype_of(kn_keep(kn_add_scalar(LIST(KN_F16, 1), 0.1))) == KN_F16);
    CHECK(kn_dtype_of(kn_keep(kn_add_scalar(LIST(KN_BOOL, 1), 1))) == KN_I64);
    CHECK(kn_dtype_of(kn_keep(kn_mul_scalar(LIST(KN_U64, 1), 0x1p63))) == KN_U64);
    CHECK_VALUES(kn_mul_scalar(LIST(KN_U64, 1), 0x1p63), 0, 0x1p63);
    CHECK_VALUES(kn_add_scalar(LIST(KN_F64, 1), 0.1), 0, 1 + 0.1);
    CHECK_VALUES(kn_rsub_scalar(LIST(KN_F32, 1, 3), 2), 0, 1, -1);
    CHECK_VALUES(kn_rdiv_scalar(LIST(KN_F32, 2, 4), 1), 0, 0.5, 0.25);
    CHECK_VALUES(kn_rpow_scalar(LIST(KN_F32, 2, 3), 2), 1e-6, 4, 8);
    CHECK_VALUES(kn_clamp(LIST(KN_I32, -5, 5), -INFINITY, 3), 0, -5, 3);
    CHECK(kn_dtype_of(kn_keep(kn_clamp(LIST(KN_I32, 1), 0, INFINITY))) == KN_I32);
    CHECK_VALUES(kn_clamp(LIST(KN_U8, 1, 200), -5, 400), 0, 1, 200);
    CHECK_VALUES(kn_clamp(LIST(KN_I8, -100, 100), -1000, 50), 0, -100, 50);
    CHECK_VALUES(kn_clamp(LIST(KN_I64, -5, 5), -1e30, 3), 0, -5, 3);
    CHECK_VALUES(kn_clamp(LIST(KN_U8, 1, 200), 300, 400.5), 0, 300, 300);
    CHECK_POISON(kn_clamp(LIST(KN_U8, 1), 300, 400), "exclude every value of u8");
    CHECK_POISON(kn_clamp_max(LIST(KN_U8, 1), -1), "exclude every value of u8");
    CHECK_POISON(kn_pow_scalar(LIST(KN_I32, 2), -1), "negative integer powers");
    CHECK_POISON(kn_add_scalar(KN_NONE, 1), "KN_NONE");
    CHECK_POISON(kn_rsub_scalar(KN_NONE, 1), "kn_rsub_scalar: KN_NONE");
    kn_tensor poison = kn_poison(KN_ERROR_NUMERIC, "mine");
    CHECK_POISON(kn_rsub_scalar(poison, 1), "mine");
}

/* ---- dtypes, integer edges, casts */

static void test_dtypes(void)
{
    CHECK(kn_dtype_of(kn_keep(kn_div(LIST(KN_I64, 1), LIST(KN_I64, 2)))) == KN_F32);
    CHECK(kn_dtype_of(kn_keep(kn_exp(LIST(KN_U8, 1)))) == KN_F32);
    CHECK_VALUES(kn_add(LIST(KN_BOOL, 1, 1, 0), LIST(KN_BOOL, 1, 0, 0)), 0, 1, 1, 0);
    CHECK_POISON(kn_sub(LIST(KN_BOOL, 1), LIST(KN_BOOL, 1)), "bool");
    CHECK_POISON(kn_neg(LIST(KN_BOOL, 1)), "kn_cast");
    CHECK_VALUES(kn_add(LIST(KN_U8, 200), LIST(KN_U8, 100)), 0, 44);
    CHECK_VALUES(kn_floor_div(LIST(KN_I32, 7, -7, 5), LIST(KN_I32, 2, 2, 0)), 0, 3, -4, 0);
    CHECK_VALUES(kn_remainder(LIST(KN_I32, 7, -7, 5), LIST(KN_I32, -2, 2, 0)), 0, -1, 1, 0);
    CHECK_VALUES(kn_fmod(LIST(KN_I32, 7, -7), LIST(KN_I32, -2, 2)), 0, 1, -1);
    CHECK_VALUES(kn_floor_div(LIST(KN_I32, -2147483648.0), LIST(KN_I32, -1)), 0, -2147483648.0);
    CHECK_VALUES(kn_bitwise_not(LIST(KN_BOOL, 1, 0)), 0, 0, 1);
    CHECK_VALUES(kn_bitwise_not(LIST(KN_U8, 5)), 0, 250);
    CHECK_VALUES(kn_bitwise_right_shift_scalar(LIST(KN_I8, -8), 1), 0, -4);
    CHECK_VALUES(kn_bitwise_left_shift(LIST(KN_I32, 1, 1), LIST(KN_I32, 31, 32)), 0, -2147483648.0, 0);
    CHECK_VALUES(kn_cast(LIST(KN_F32, 3.9, -3.9, NAN, 1e30), KN_I64), 0, 3, -3, 0, 9223372036854775807.0);
    CHECK_VALUES(kn_cast(LIST(KN_F32, 0.25, 0), KN_BOOL), 0, 1, 0);
    CHECK_VALUES(kn_bitcast(LIST(KN_F32, 1), KN_I32), 0, 1065353216);
    CHECK_POISON(kn_bitcast(LIST(KN_F32, 1), KN_F64), "bits");
    CHECK_POISON(kn_cast(LIST(KN_F32, 1), (kn_dtype)99), "99");
    CHECK_POISON(kn_where(LIST(KN_F32, 1), LIST(KN_F32, 1), LIST(KN_F32, 1)), "bool");
}

/* ---- special values */

static void test_edges(void)
{
    CHECK_VALUES(kn_maximum(LIST(KN_F32, NAN, 1, 2), LIST(KN_F32, 1, NAN, 3)), 0, NAN, NAN, 3);
    CHECK_VALUES(kn_clamp(LIST(KN_F32, NAN, -5, 5, 0), -1, 1), 0, NAN, -1, 1, 0);
    CHECK_VALUES(kn_clamp(LIST(KN_F32, 0), 2, 1), 0, 1);
    CHECK_VALUES(kn_relu(LIST(KN_F32, NAN, -1, 2)), 0, NAN, 0, 2);
    CHECK_VALUES(kn_sign(LIST(KN_F32, NAN, -3, 0, 4)), 0, 0, -1, 0, 1);
    CHECK_VALUES(kn_round(LIST(KN_F32, 0.5, 1.5, 2.5, -0.5)), 0, 0, 2, 2, 0);
    CHECK_VALUES(kn_softplus(LIST(KN_F32, 1000, -1000, 0), 1, 2000), 1e-6, 1000, 0, 0.69314718);
    CHECK_VALUES(kn_log_sigmoid(LIST(KN_F32, -1000, 1000)), 1e-6, -1000, 0);
    CHECK_VALUES(kn_mish(LIST(KN_F32, 1000, -1000)), 1e-6, 1000, 0);
    CHECK_VALUES(
        kn_logaddexp(LIST(KN_F32, INFINITY, -INFINITY, 1000), LIST(KN_F32, INFINITY, -INFINITY, 1000)), 1e-6,
        INFINITY, -INFINITY, 1000.6931471805599);
    CHECK_VALUES(kn_xlogy(LIST(KN_F32, 0, 0), LIST(KN_F32, 0, NAN)), 0, 0, NAN);
    CHECK_VALUES(kn_nan_to_num(LIST(KN_F16, NAN, INFINITY, -INFINITY), 1, NAN, NAN), 0, 1, 65504, -65504);
    CHECK_VALUES(kn_lerp_scalar(LIST(KN_F32, 1), LIST(KN_F32, 3), 1), 0, 3);
    CHECK_VALUES(kn_polygamma(LIST(KN_F64, 1, 0.25, -0.5), 1), 1e-13, 1.6449340668482264, 17.197329154507110,
                 8.934802200544679);
    CHECK_POISON(kn_polygamma(LIST(KN_F64, 1), -1), "order -1 is negative");
    bool close = true;
    CHECK(kn_all_close(LIST(KN_F32, 1, 2), LIST(KN_F32, 1, 2.5), 0, 0.1, false, &close) == KN_OK && !close);
    CHECK(kn_all_close(LIST(KN_F32, 1, NAN), LIST(KN_F32, 1, NAN), 0, 0, true, &close) == KN_OK && close);
    CHECK_ERROR(kn_all_close(LIST(KN_F32, 1, 2), LIST(KN_F32, 1, 2, 3), 0, 0, false, &close), "broadcast");
    CHECK_POISON(kn_is_close(LIST(KN_F32, 1), LIST(KN_F32, 1), -1, 0, false), "tolerances");
    CHECK_POISON(kn_celu(LIST(KN_F32, 1), 0), "alpha");
}

/* ---- layouts: every way the runner takes must give what a plain one does */

static kn_tensor ramp(kn_dtype dtype, kn_shape shape)
{
    static double values[1 << 16];
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    for (int64_t i = 0; i < n; i++) values[i] = (double)(i % 251) - 100;
    return kn_cast(kn_from(values, KN_F64, shape), dtype);
}

static bool sums_of(kn_tensor y, int64_t rows_of, int64_t columns, int64_t row_step, int64_t column_step)
{
    static double got[1 << 16];
    if (kn_read_as(y, KN_F64, got, (size_t)(rows_of * columns) * sizeof *got)) return false;
    for (int64_t i = 0; i < rows_of; i++)
        for (int64_t j = 0; j < columns; j++) {
            double a = (double)((i * columns + j) % 251) - 100;
            double b = (double)((i * row_step + j * column_step) % 251) - 100;
            if (got[i * columns + j] != a + b) return false;
        }
    return true;
}

static void test_layouts(void)
{
    static const int sizes[][2] = {{1, 1}, {3, 5}, {7, 33}, {40, 7}, {5, 1100}, {33, 1025}, {64, 512}};
    static const kn_dtype dtypes[] = {KN_F32, KN_F64, KN_F16, KN_I32, KN_I16, KN_I64};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
            kn_scope scope = kn_scope_begin();
            int64_t r = sizes[s][0], c = sizes[s][1];
            kn_tensor x = kn_keep(ramp(dtypes[d], KN_SHAPE(r, c)));
            CHECK(sums_of(kn_add(x, x), r, c, c, 1));
            CHECK(sums_of(kn_add(x, ramp(dtypes[d], KN_SHAPE(c))), r, c, 0, 1));
            CHECK(sums_of(kn_add(x, ramp(dtypes[d], KN_SHAPE(r, 1))), r, c, 1, 0));
            CHECK(sums_of(kn_add(x, ramp(dtypes[d], KN_SHAPE(1))), r, c, 0, 0));
            CHECK(sums_of(kn_add(x, ramp(dtypes[d], KN_SCALAR_SHAPE)), r, c, 0, 0));
            CHECK(sums_of(kn_add(x, kn_transpose(ramp(dtypes[d], KN_SHAPE(c, r)), 0, 1)), r, c, 1, r));
            CHECK(sums_of(kn_add(ramp(dtypes[d], KN_SHAPE(r, c)), ramp(dtypes[d], KN_SHAPE(r, c))), r, c, c,
                          1));
            (void)kn_scope_end(scope, KN_NONE);
        }
    kn_tensor empty = kn_keep(ramp(KN_F32, KN_SHAPE(0, 3)));
    kn_tensor y = kn_keep(kn_add(empty, LIST(KN_F32, 1, 2, 3)));
    CHECK(kn_ok(y) && kn_count(y) == 0 && kn_size(y, 1) == 3);
    CHECK_POISON(kn_add(LIST(KN_F32, 1, 2), LIST(KN_F32, 1, 2, 3)), "shapes [2] and [3] do not broadcast");
    CHECK_POISON(kn_prelu(ramp(KN_F32, KN_SHAPE(2, 3)), LIST(KN_F32, 1, 2)), "channel");
    CHECK_POISON(kn_glu(ramp(KN_F32, KN_SHAPE(2, 3)), 1), "odd size 3");
    CHECK_POISON(kn_glu(ramp(KN_F32, KN_SHAPE(2, 4)), 2), "axis 2");
}

/* Extremes with numbers that the dtype does not hold end at its range; shifts by counts beyond it lose all bits. */
static void test_numbers_out_of_range(void)
{
    const uint16_t small[3] = {0, 1, 65535};
    const int32_t signs[3] = {0, -5, 2147483647};
    const uint64_t large[2] = {5, UINT64_MAX};
    kn_device devices[2] = {cpu, ref};
    for (int d = 0; d < 2; d++) {
        kn_device_use(devices[d]);
        kn_scope scope = kn_scope_begin();
        kn_tensor u16 = kn_keep(kn_from(small, KN_U16, KN_SHAPE(3)));
        kn_tensor i32 = kn_keep(kn_from(signs, KN_I32, KN_SHAPE(3)));
        kn_tensor u64 = kn_keep(kn_from(large, KN_U64, KN_SHAPE(2)));
        CHECK_VALUES(kn_maximum_scalar(u16, 4294967296.0), 0, 65535, 65535, 65535);
        CHECK_VALUES(kn_minimum_scalar(u16, 4294967296.0), 0, 0, 1, 65535);
        CHECK_VALUES(kn_maximum_scalar(u16, -7), 0, 0, 1, 65535);
        CHECK_VALUES(kn_minimum_scalar(i32, -1e15), 0, -2147483648.0, -2147483648.0, -2147483648.0);
        CHECK(kn_item_int(kn_narrow(kn_maximum_scalar(u64, 1e30), 0, 0, 1)) == -1); /* all bits set */
        CHECK(kn_dtype_of(kn_maximum_scalar(u64, 1e30)) == KN_U64);
        CHECK_VALUES(kn_bitwise_right_shift_scalar(u16, INT64_MIN), 0, 0, 0, 0);
        CHECK_VALUES(kn_bitwise_right_shift_scalar(i32, (int64_t)1 << 40), 0, 0, -1, 0);
        CHECK_VALUES(kn_bitwise_left_shift_scalar(i32, (int64_t)1 << 40), 0, 0, 0, 0);
        kn_scope_end(scope, KN_NONE);
    }
    kn_device_use(cpu);
}

/* Quotients, remainders and powers of small integers take all bits of a number beyond 32; the result drops what it cannot hold. */
static void test_numbers_beyond_32_bits(void)
{
    const int16_t small[3] = {-7, 0, 7};
    const int32_t signs[3] = {-1, 1, 3};
    kn_device devices[2] = {cpu, ref};
    for (int d = 0; d < 2; d++) {
        kn_device_use(devices[d]);
        kn_scope scope = kn_scope_begin();
        kn_tensor i16 = kn_keep(kn_from(small, KN_I16, KN_SHAPE(3)));
        kn_tensor i32 = kn_keep(kn_from(signs, KN_I32, KN_SHAPE(3)));
        CHECK_VALUES(kn_floor_div_scalar(i16, 4294967296.0), 0, -1, 0, 0);
        CHECK_VALUES(kn_floor_div_scalar(i16, -4294967296.0), 0, 0, 0, -1);
        CHECK_VALUES(kn_fmod_scalar(i16, 4294967296.0), 0, -7, 0, 7);
        CHECK_VALUES(kn_remainder_scalar(i32, 4294967301.0), 0, 4, 1, 3); /* 2^32 + 4 wraps to 4 */
        CHECK_VALUES(kn_pow_scalar(i32, 2147483648.0), 0, 1, 1, 1);
        CHECK_VALUES(kn_pow_scalar(i32, 4294967297.0), 0, -1, 1, 3);
        CHECK(kn_dtype_of(kn_pow_scalar(i16, 4294967297.0)) == KN_I16);
        kn_scope_end(scope, KN_NONE);
    }
    kn_device_use(cpu);
}

/* A scalar that a formula compares with is that of f32 beside anything but f64, on every backend: an element that equals it
   rounded is not above it. */
static void test_scalars_are_rounded(void)
{
    static const kn_dtype dtypes[] = {KN_F32, KN_F16, KN_BF16, KN_F64};
    kn_device both[] = {cpu, ref};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 4; k++) {
            kn_device_use(both[i]);
            double stays = dtypes[k] == KN_F64 ? 0.5 : 7;
            CHECK_VALUES(kn_threshold(LIST(dtypes[k], 0.25, 0.5, 1), 0.5 - 1e-9, 7), 0, 7, stays, 1);
        }
    kn_device_use(cpu);
}

/* Far from 0 the slope of gelu by tanh is 0 or 1, also where x^2 and x^3 are infinite. */
static void test_far_slopes(void)
{
    static const float far[] = {1e5f, -1e5f, 1e14f, -1e14f, 1e20f, -1e20f, 3e38f, -3e38f};
    kn_device both[] = {cpu, ref};
    for (int i = 0; i < 2; i++) {
        kn_device_use(both[i]);
        kn_tensor in[] = {kn_full(KN_SHAPE(8), 2, KN_F32), kn_from(far, KN_F32, KN_SHAPE(8))}, dx;
        CHECK(kn_call("gelu_approximate_grad", in, 2, NULL, &dx, 1) == KN_OK);
        CHECK_VALUES(dx, 0, 2, 0, 2, 0, 2, 0, 2, 0);
    }
    kn_device_use(cpu);
}

/* Angles of any size are reduced by all the digits of pi that matter; the last lies closer to a zero of cos than any other. */
static void test_huge_angles(void)
{
    static const double at[] = {3e15, 1e22, -1e22, 0x1p1000, 1.7976931348623157e308, 5.319372648326541e255};
    kn_device both[] = {cpu, ref};
    for (int i = 0; i < 2; i++) {
        kn_device_use(both[i]);
        kn_scope scope = kn_scope_begin();
        kn_tensor x = kn_keep(kn_from(at, KN_F64, KN_SHAPE(6)));
        CHECK_VALUES(kn_sin(x), 1e-15, 0.045892919104717815, -0.8522008497671888, 0.8522008497671888,
                     -0.15920170308624243, 0.004961954789184062, 1);
        CHECK_VALUES(kn_cos(x), 1e-15, 0.9989463649145773, 0.523214785395139, 0.523214785395139,
                     0.9872460775989135, -0.9999876894265599, 0);
        CHECK_VALUES(kn_tan(x), 1e-15, 0.04594132449607767, -1.6287782256068988, 1.6287782256068988,
                     -0.16125837995065806, -0.004962015874444895, -2.1334853857537039e18);
        kn_scope_end(scope, KN_NONE);
    }
    kn_device_use(cpu);
}

/* Integers keep their lowest bits, floats those of a 64-bit integer: for each pair of dtypes, and as the table says. */
static void test_casts(void)
{
    static const kn_dtype whole[] = {KN_I64, KN_I32, KN_I16, KN_I8, KN_U64, KN_U32, KN_U16, KN_U8};
    static const int64_t values[] = {0,    1,     -1,     127,   128,        300,
                                     -300, 40000, -40000, 70000, 3000000000, -3000000000};
    static const struct {
        double x;
        int64_t as_signed;
        uint64_t as_unsigned; /* what u64 has, and narrower ones keep */
    } reals[] = {{300.7, 300, 300},
                 {-300.7, -300, (uint64_t)-300},
                 {1e30, INT64_MAX, UINT64_MAX},
                 {-1e30, INT64_MIN, (uint64_t)INT64_MIN},
                 {NAN, 0, 0},
                 {1e19, INT64_MAX, 10000000000000000000U}};
    const kn_device devices[] = {cpu, ref};
    for (int d = 0; d < 2; d++) {
        kn_device_use(devices[d]);
        for (int t = 0; t < 8; t++) {
            int64_t mask =
                kn_dtype_bytes(whole[t], 1) == 8 ? -1 : (INT64_C(1) << 8 * kn_dtype_bytes(whole[t], 1)) - 1;
            for (int f = 0; f < 8; f++)
                for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
                    int64_t before = 0, after = 0; /* the lowest bytes hold the element */
                    kn_tensor x = kn_keep(kn_cast(kn_from(&values[i], KN_I64, KN_SHAPE(1)), whole[f]));
                    int64_t widened = 0;
                    CHECK(kn_read(kn_cast(x, KN_I64), &widened, 8) == KN_OK);
                    CHECK(kn_read(kn_cast(x, whole[t]), &after, (size_t)kn_dtype_bytes(whole[t], 1)) ==
                          KN_OK);
                    before = widened & mask;
                    if (!CHECK(before == after))
                        printf("  %s to %s: %lld\n", kn_dtype_name(whole[f]), kn_dtype_name(whole[t]),
                               (long long)values[i]);
                    kn_drop(x);
                }
            for (size_t i = 0; i < sizeof reals / sizeof *reals; i++) {
                int64_t after = 0, wanted = reals[i].as_signed & mask;
                if (whole[t] == KN_U64) wanted = (int64_t)reals[i].as_unsigned;
                kn_tensor x = kn_from(&reals[i].x, KN_F64, KN_SHAPE(1));
                CHECK(kn_read(kn_cast(x, whole[t]), &after, (size_t)kn_dtype_bytes(whole[t], 1)) == KN_OK);
                if (!CHECK(after == wanted))
                    printf("  %g to %s: %lld\n", reals[i].x, kn_dtype_name(whole[t]), (long long)after);
            }
        }
        CHECK_VALUES(kn_cast(LIST(KN_F64, 1e300, 65520), KN_F32), 0, INFINITY, 65520);
        CHECK_VALUES(kn_cast(LIST(KN_F64, 65520, NAN, 0.25), KN_BOOL), 0, 1, 1, 1);
        CHECK_VALUES(kn_cast(LIST(KN_I32, 65520, -65519), KN_F16), 0, INFINITY, -65504);
    }
    kn_device_use(cpu);
    CHECK(strstr(kni_op_cast.doc, "saturate at 64 bits") && strstr(kni_op_cast.doc, "lowest bits"));
}

int main(void)
{
    cpu = kn_device_cpu();
    ref = kni_device_make(kni_ref_backend(), "ref");
    kn_device_use(cpu);
    test_rows();
    test_numbers();
    test_numbers_out_of_range();
    test_numbers_beyond_32_bits();
    test_dtypes();
    test_edges();
    test_casts();
    test_far_slopes();
    test_scalars_are_rounded();
    test_huge_angles();
    test_layouts();
    return check_report();
}
