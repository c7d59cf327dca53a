/* Power-average pooling: kn_avg_pool of powers, and the root of it; the limit of large powers is kn_max_pool. */
#include "ops/movement_rows.h"
#include "ops/pooling.h"
#include "ops/wide.h"
#include <kn/spatial.h>

typedef kn_tensor pool_fn(kn_tensor x, kn_ints window, const kn_pool_args *args);

/* The elements of a window; 0 where the shape rule will refuse it. */
static double window_count(kn_ints window, int axes)
{
    double count = 1;
    if (window.rank != axes && window.rank != 1) return 0;
    for (int i = 0; i < axes; i++) count *= (double)window.dims[window.rank == 1 ? 0 : i];
    return count;
}

static kn_tensor lp_pool(const char *name, kn_tensor x, double order, int axes, kn_ints window,
                         const kn_pool_args *args, pool_fn *pool, pool_fn *largest)
{
    kni_call call = kni_call_begin(name);
    if (!(order > -__builtin_inf()) || order == 0)
        return kni_call_fail(call, KN_ERROR_ARGUMENT,
                             "the order is %g: it must be a number other than 0, or infinity", order);
    if (args && args->divisor > 0)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "a divisor is for means: it cannot be %D here",
                             args->divisor);
    if (order == __builtin_inf()) return kni_call_end(call, largest(kn_abs(x), window, args));
    int dtype = kni_widen_all(&x, 1);
    kn_tensor powers = order == 1 ? x : order == 2 ? kn_square(x) : kn_pow_scalar(x, order);
    kn_tensor sums = kn_mul_scalar(pool(powers, window, args), window_count(window, axes));
    if (order == 1) return kni_call_end_as(call, sums, dtype);
    /* The root has no slope at 0: there it does not see the sum, and the gradient is 0. */
    sums = kn_keep(sums);
    if (!kn_ok(sums)) return kni_call_end(call, sums);
    kn_tensor zero = kn_keep(kn_equal_scalar(sums, 0));
    kn_tensor safe = kn_where(zero, kni_number(sums, 1), sums);
    kn_tensor root = order == 2 ? kn_sqrt(safe) : kn_pow_scalar(safe, 1 / order);
    kn_tensor at_zero = kni_number(sums, order > 0 ? 0 : __builtin_inf());
    return kni_call_end_as(call, kn_where(zero, at_zero, root), dtype);
}

kn_tensor kn_lp_pool1d(kn_tensor x, double order, kn_ints window, const kn_pool_args *args)
{
    return lp_pool("lp_pool1d", x, order, 1, window, args, kn_avg_pool1d, kn_max_pool1d);
}
kn_tensor kn_lp_pool2d(kn_tensor x, double order, kn_ints window, const kn_pool_args *args)
{
    return lp_pool("lp_pool2d", x, order, 2, window, args, kn_avg_pool2d, kn_max_pool2d);
}
kn_tensor kn_lp_pool3d(kn_tensor x, double order, kn_ints window, const kn_pool_args *args)
{
    return lp_pool("lp_pool3d", x, order, 3, window, args, kn_avg_pool3d, kn_max_pool3d);
}
