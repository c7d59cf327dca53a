/* Functions of several steps: what their conformance cases cannot say: refused gradients, room for parts, operands of other devices,
   and numbers at the ends of their range. */
#include "../support/check.h"
#include <kn/autodiff.h>
#include <kn/device.h>
#include <math.h>

static kn_tensor line(kn_dtype dtype, int n, const double *v)
{
    return kn_cast(kn_from(v, KN_F64, KN_SHAPE(n)), dtype);
}
#define LINE(dtype, ...)                                                                                     \
    line(dtype, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (double[]){__VA_ARGS__})

/* The gradient of sum(y) for x. */
static kn_tensor slope(kn_tensor y, kn_tensor x)
{
    kn_tensor sum = kn_keep(kn_sum(y, KN_AXES_ALL, false)), dx = KN_NONE;
    kn_status s = kn_grad(&sum, NULL, 1, &x, 1, 0, &dx);
    return s == KN_OK ? dx : kn_poison(s, kn_last_error());
}

/* The gradient of an incomplete gamma function flows to its second operand; that of the first is refused with a way out. */
static void refused_gradients(void)
{
    kn_device taped = kn_device_open("autodiff(cpu)");
    kn_device_use(taped);
    kn_scope scope = kn_scope_begin();
    kn_tensor a = kn_keep(kn_require_grad(LINE(KN_F64, 2, 3))),
              x = kn_keep(kn_require_grad(LINE(KN_F64, 1, 4)));
    CHECK_VALUES(slope(kn_igamma(kn_detach(a), x), x), 1e-12, exp(-1), 8 * exp(-4));
    CHECK_POISON(slope(kn_igamma(a, x), a), "kn_detach");
    CHECK_POISON(slope(kn_zeta(a, x), a), "kn_detach");
    kn_scope_end(scope, KN_NONE);
    kn_device_use(kn_device_cpu());
    kn_device_close(taped);
}

static void room_for_parts(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor out[4], x = kn_keep(LINE(KN_F32, 1, 2, 3, 4, 5));
    int32_t n = 4;
    CHECK_ERROR(kn_unbind(x, 0, out, &n), "5 parts but there is room for 4");
    CHECK(n == 0);
    CHECK_ERROR(kn_tensor_split(x, 5, 0, out, &(int32_t){4}), "room for 4");
    CHECK_ERROR(kn_tensor_split(x, 2, 0, out, NULL), "NULL");
    CHECK_ERROR(kn_tensor_split_at(x, NULL, 1, 0, out), "missing");
    CHECK_ERROR(kn_unbind(x, 1, out, &(int32_t){4}), "axis 1");
    CHECK_ERROR(kn_unravel_index(x, KN_SHAPE(3), NULL), "NULL");
    CHECK_POISON(kn_index(x, NULL, 1), "missing");
    CHECK_POISON(kn_block_diag(NULL, 2), "1 or more");
    CHECK_POISON(kn_hstack(NULL, 0), "1 or more");
    CHECK_POISON(kn_cartesian_prod(&x, 9), "1 to 8");
    n = 4;
    CHECK(kn_tensor_split(x, 2, 0, out, &n) == KN_OK && n == 2);
    CHECK_VALUES(out[0], 0, 1, 2, 3);
    out[0] = KN_NONE;
    CHECK(kn_unravel_index(kn_zeros(KN_SCALAR_SHAPE, KN_I64), KN_SCALAR_SHAPE, out) == KN_OK);
    CHECK(out[0].bits == 0);
    kn_scope_end(scope, KN_NONE);
}

/* What a function makes on the way belongs to the device of its operands, not to the thread's. */
static void other_devices(void)
{
    kn_scope scope = kn_scope_begin();
    kn_device ref = kn_device_open("ref");
    CHECK(ref != NULL);
    kn_device_use(ref);
    kn_tensor x = kn_keep(LINE(KN_F32, 3, 1, 1, 2)), mask = kn_keep(kn_greater_scalar(x, 1));
    kn_tensor index = kn_keep(LINE(KN_I64, 0, 0, 3));
    kn_device_use(kn_device_cpu());
    CHECK_VALUES(kn_unique_axis(x, 0).values, 0, 1, 2, 3);
    CHECK_VALUES(kn_unique_consecutive(x).counts, 0, 1, 2, 1);
    CHECK_VALUES(kn_mask_scatter(x, mask, x), 0, 3, 1, 1, 1);
    CHECK_VALUES(kn_index(x, &index, 1), 0, 3, 3, 2);
    CHECK_VALUES(kn_isin(x, kn_slice(x, 0, 1, 2, 1), false), 0, 0, 1, 1, 0);
    CHECK_VALUES(kn_nanquantile(x, 0.5, 0, false), 0, 1.5);
    CHECK_VALUES(kn_combinations(kn_slice(x, 0, 0, 2, 1), 2, false), 0, 3, 1);
    CHECK_VALUES(kn_gradient_along(x, KN_NONE, 1, 0, 1), 0, -2, -1, 0.5, 1);
    kn_tensor reduced = kn_scatter_reduce(x, 0, index, LINE(KN_F32, 5, 6, 7), NULL);
    CHECK_POISON(reduced, "device");
    kn_scope_end(scope, KN_NONE);
    kn_device_close(ref);
}

static void ends_of_ranges(void)
{
    kn_scope scope = kn_scope_begin();
    int64_t ends[] = {INT64_MIN, INT64_MAX, 0, -1}, ones[] = {-1, 7, 0, INT64_MIN};
    kn_tensor a = kn_keep(kn_from(ends, KN_I64, KN_SHAPE(4))),
              b = kn_keep(kn_from(ones, KN_I64, KN_SHAPE(4)));
    CHECK_VALUES(kn_gcd(a, b), 0, 1, 7, 0, 1);
    CHECK_VALUES(kn_trunc_div(a, b), 0, (double)INT64_MIN, (double)(INT64_MAX / 7), 0, 0);
    CHECK_POISON(kn_combinations(kn_zeros(KN_SHAPE(100000), KN_F32), 50000, false), "too many choices");
    CHECK_POISON(kn_tril_indices(INT64_MAX, INT64_MAX, 0), "kn_tril_indices");
    CHECK(kn_size(kn_triu_indices(3, 4, INT64_MIN), 1) == 12);
    CHECK(kn_size(kn_tril_indices(3, 4, INT64_MAX), 1) == 12);
    CHECK_VALUES(kn_round_decimals(LINE(KN_F32, 1.5, NAN, -INFINITY), INT32_MAX), 0, 1.5, NAN, -INFINITY);
    CHECK_VALUES(kn_round_decimals(LINE(KN_F64, 1.5, 1e200), INT32_MIN), 0, 0, 0);
    /* More digits than a number has leave every bit of it. */
    CHECK_VALUES(kn_round_decimals(LINE(KN_F32, 0.375, 0.1f, -1234.567f), 40), 0, 0.375, 0.1f, -1234.567f);
    CHECK_VALUES(kn_round_decimals(LINE(KN_F32, 123456.789f), 7), 0, 123456.789f);
    CHECK_VALUES(kn_round_decimals(LINE(KN_F64, 0.1, 1.0 / 3), 200), 0, 0.1, 1.0 / 3);
    CHECK_VALUES(kn_round_decimals(LINE(KN_F32, 0.375, 2.5), 2), 1e-7, 0.38, 2.5);
    CHECK(kn_count(kn_diff(LINE(KN_F32, 1, 2), INT32_MAX, 0, KN_NONE, KN_NONE)) == 0);
    CHECK_VALUES(kn_matrix_norm(kn_zeros(KN_SHAPE(2, 0, 3), KN_F32), KN_NORM_ROWS), 0, 0, 0);
    CHECK_VALUES(kn_matrix_norm(kn_zeros(KN_SHAPE(3, 0), KN_F16), KN_NORM_COLUMNS), 0, 0);
    CHECK_VALUES(kn_matrix_norm(kn_zeros(KN_SHAPE(0, 0), KN_F64), KN_NORM_SPECTRAL), 0, 0);
    CHECK_POISON(kn_matrix_norm(kn_zeros(KN_SHAPE(0, 3), KN_F32), KN_NORM_ROWS_LEAST), "empty axis");
    kn_scope_end(scope, KN_NONE);
}

/* Halves are computed in f32 and stay halves; a power of two that is not finite need not make the result so. */
static void scaled_by_powers(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor y = kn_keep(kn_ldexp(LINE(KN_F16, 0x1p-24, 3, 0), LINE(KN_I32, 39, -2, 5000)));
    CHECK(kn_dtype_of(y) == KN_F16);
    CHECK_VALUES(y, 0, 0x1p15, 0.75, 0);
    CHECK(kn_dtype_of(kn_ldexp(LINE(KN_BF16, 3), LINE(KN_I8, 2))) == KN_BF16);
    CHECK(kn_dtype_of(kn_ldexp(LINE(KN_I64, 3), LINE(KN_BF16, 2))) == KN_BF16);
    CHECK(kn_dtype_of(kn_ldexp(LINE(KN_I64, 3), LINE(KN_I64, 2))) == KN_F32);
    CHECK(kn_dtype_of(kn_ldexp(LINE(KN_F16, 3), LINE(KN_F32, 2))) == KN_F32);
    CHECK_VALUES(kn_ldexp(LINE(KN_F32, 0x1p-149, 0x1p127, 1, 1), LINE(KN_I64, 276, -276, 1000000, -1000000)),
                 0, 0x1p127, 0x1p-149, INFINITY, 0);
    CHECK_VALUES(kn_ldexp(LINE(KN_F64, 0x1p-1074, 1, NAN), LINE(KN_F64, 2097, INFINITY, 1)), 0, 0x1p1023,
                 INFINITY, NAN);
    kn_scope_end(scope, KN_NONE);
}

/* A step to the next float is a constant: the gradient flows to what moves, and never to the direction. */
static void gradients_of_steps(void)
{
    kn_device taped = kn_device_open("autodiff(cpu)");
    kn_device_use(taped);
    kn_scope scope = kn_scope_begin();
    kn_tensor a = kn_keep(kn_require_grad(LINE(KN_F32, 1, 2, 3, 0))),
              b = kn_keep(kn_require_grad(LINE(KN_F32, 2, 1, 3, -1)));
    kn_tensor y = kn_keep(kn_nextafter(a, b));
    CHECK_VALUES(y, 0, nextafterf(1, 2), nextafterf(2, 1), 3, -0x1p-149);
    CHECK_VALUES(slope(kn_nextafter(a, b), a), 0, 1, 1, 0, 1);
    kn_tensor sum = kn_keep(kn_sum(y, KN_AXES_ALL, false)), db = KN_NONE;
    CHECK(kn_grad(&sum, NULL, 1, &b, 1, KN_GRAD_ALLOW_UNUSED, &db) == KN_OK && db.bits == 0);
    double least = copysign(1, kn_item(kn_nextafter(LINE(KN_F64, -0x1p-1074), LINE(KN_F64, 1))));
    CHECK(least == -1);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(kn_device_cpu());
    kn_device_close(taped);
}

int main(void)
{
    refused_gradients();
    room_for_parts();
    other_devices();
    ends_of_ranges();
    scaled_by_powers();
    gradients_of_steps();
    return check_report();
}
