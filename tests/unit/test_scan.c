/* Cumulative ops: ties, NaN, long lines in chunks, shapes, errors, and gradients where a product has zeros. */
#include "../support/check.h"
#include "backend/cpu/isa.h"
#include "core/backends.h"
#include "core/device_object.h"
#include <kn/autodiff.h>
#include <kn/device.h>
#include <math.h>
#include <stdlib.h>

static kn_tensor line(kn_dtype dtype, int n, const double *v)
{
    return kn_cast(kn_from(v, KN_F64, KN_SHAPE(n)), dtype);
}
#define LINE(dtype, ...)                                                                                     \
    line(dtype, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (double[]){__VA_ARGS__})

static void values(void)
{
    CHECK_VALUES(kn_cumsum(LINE(KN_F32, 1, 2, 3, 4, 5, 6), 0), 0, 1, 3, 6, 10, 15, 21);
    CHECK_VALUES(kn_cumsum_with(LINE(KN_F32, 1, 2, 3, 4, 5), 0, &(kn_scan_args){.exclusive = true}), 0, 0, 1,
                 3, 6, 10);
    CHECK_VALUES(kn_cumsum_with(LINE(KN_I8, 1, 2, 3, 4, 5), -1, &(kn_scan_args){.reverse = true}), 0, 15, 14,
                 12, 9, 5);
    CHECK_VALUES(kn_cumprod(LINE(KN_U8, 10, 10, 10), 0), 0, 10, 100, 1000);
    CHECK(kn_dtype_of(kn_cumsum(LINE(KN_BOOL, 1, 1), 0)) == KN_I64);
    CHECK(kn_dtype_of(kn_cumsum(LINE(KN_F16, 1, 1), 0)) == KN_F16);
    CHECK_VALUES(kn_scan_linear(LINE(KN_F64, 9, 2, 3), LINE(KN_F64, 1, 1, 1), 0, false), 0, 1, 3, 10);
    CHECK_VALUES(kn_scan_linear(LINE(KN_F64, 2, 3, 9), LINE(KN_F64, 1, 1, 1), 0, true), 0, 9, 4, 1);
    CHECK_VALUES(kn_cumlogsumexp(LINE(KN_F64, -INFINITY, 0, 0), 0), 1e-15, -INFINITY, 0, log(2));
    CHECK_VALUES(kn_cumlogsumexp(LINE(KN_F64, 1000, 1000), 0), 1e-15, 1000, 1000 + log(2));
}

static void extremes(void)
{
    kn_indexed r = kn_cummax(LINE(KN_F32, 1, 3, 3, 2, 4), 0);
    CHECK_VALUES(r.values, 0, 1, 3, 3, 3, 4);
    CHECK_VALUES(r.indices, 0, 0, 1, 2, 2, 4);
    r = kn_cummin(LINE(KN_F32, 5, NAN, 1, NAN, 0), 0);
    CHECK_VALUES(r.values, 0, 5, NAN, NAN, NAN, NAN);
    CHECK_VALUES(r.indices, 0, 0, 1, 1, 3, 3);
    uint64_t big[] = {1, UINT64_MAX, 5};
    r = kn_cummax(kn_from(big, KN_U64, KN_SHAPE(3)), 0);
    CHECK_VALUES(r.indices, 0, 0, 1, 1);
    kn_drop(r.values);
}

static void errors(void)
{
    kn_tensor x = kn_keep(kn_zeros(KN_SHAPE(2, 3), KN_F32));
    CHECK_POISON(kn_cumsum(x, 2), "kn_cumsum: axis 2 is outside a tensor of rank 2 (-2 to 1)");
    CHECK_POISON(kn_cumlogsumexp(kn_zeros(KN_SHAPE(2), KN_I32), 0), "kn_cumlogsumexp: does not take i32");
    CHECK_POISON(kn_scan_linear(x, kn_zeros(KN_SHAPE(3), KN_F32), 0, false),
                 "a [2, 3] and b [3] must have one shape");
    CHECK_POISON(kn_scan_linear(x, kn_zeros(KN_SHAPE(2, 3), KN_F64), 0, false), "a is f32 and b is f64");
    CHECK_POISON(kn_cummax(KN_NONE, 0).values, "kn_cummax");
    CHECK_VALUES(kn_cumsum(kn_scalar(3, KN_F32), 0), 0, 3);
    CHECK(kn_count(kn_cumsum(kn_zeros(KN_SHAPE(2, 0), KN_F32), 1)) == 0);
}

/* Long lines are cut into chunks; the result depends neither on threads nor on where the chunks end. */
static void chunks(void)
{
    int64_t n = 200003;
    float *v = malloc((size_t)n * sizeof *v), *a = malloc((size_t)n * sizeof *a),
          *b = malloc((size_t)n * sizeof *b);
    double total = 0;
    for (int64_t i = 0; i < n; i++) v[i] = (float)((i * 7919) % 1000) / 997.0f - 0.5f;
    kn_tensor x = kn_keep(kn_from(v, KN_F32, KN_SHAPE(n)));
    kn_set_threads(1);
    CHECK(kn_read(kn_cumsum(x, 0), a, (size_t)n * sizeof *a) == KN_OK);
    kn_set_threads(3);
    CHECK(kn_read(kn_cumsum(x, 0), b, (size_t)n * sizeof *b) == KN_OK);
    CHECK(memcmp(a, b, (size_t)n * sizeof *a) == 0);
    int64_t wrong = 0;
    for (int64_t i = 0; i < n; i++) {
        total += v[i];
        wrong += fabs(a[i] - total) > 1e-6 * (1 + fabs(total));
    }
    CHECK(wrong == 0);
    CHECK(kn_read(kn_cumsum_with(x, 0, &(kn_scan_args){.reverse = true}), b, (size_t)n * sizeof *b) == KN_OK);
    CHECK(fabs(b[0] - total) <= 1e-6 * (1 + fabs(total)) && b[n - 1] == v[n - 1]);
    kn_drop(x);
    free(v);
    free(a);
    free(b);
}

static kn_tensor cumprod_of(void *context, const kn_tensor *in, int32_t n)
{
    (void)context, (void)n;
    return kn_sum(kn_mul(kn_cumprod(in[0], 1), in[1]), KN_AXES_ALL, false);
}

static kn_tensor prod_of(void *context, const kn_tensor *in, int32_t n)
{
    (void)context, (void)n;
    return kn_sum(kn_prod(in[0], KN_AXES(1), false), KN_AXES_ALL, false);
}

static void gradients(void)
{
    kn_device d = kn_device_autodiff(kn_device_cpu());
    kn_device_use(d);
    double v[] = {2, 0, 3, 1, 0, 5, 0, 2}, w[] = {1, -2, 3, 0.5, 2, 1, -1, 4};
    kn_tensor in[2] = {kn_keep(kn_from(v, KN_F64, KN_SHAPE(2, 4))),
                       kn_keep(kn_from(w, KN_F64, KN_SHAPE(2, 4)))};
    CHECK(kn_gradcheck(cumprod_of, NULL, in, 2, 0) == KN_OK);
    CHECK(kn_gradcheck(prod_of, NULL, in, 1, 0) == KN_OK);
    kn_tensor x = kn_keep(kn_require_grad(in[0]));
    kn_grads grads;
    CHECK(kn_backward(kn_sum(kn_cummax(x, 1).values, KN_AXES_ALL, false), &grads) == KN_OK);
    CHECK_VALUES(kn_grads_get(grads, x), 0, 2, 0, 2, 0, 1, 3, 0, 0);
    kn_grads_free(grads);
    kn_device_use(kn_device_cpu());
}

int main(void)
{
    kn_device_use(kn_device_cpu());
    values();
    extremes();
    errors();
    chunks();
    gradients();
    return check_report();
}
