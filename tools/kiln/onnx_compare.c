/* kiln run --test: whether what a model gives is what was expected. */
#define KN_NO_SITES 1
#include "onnx_cases.h"
#include <kn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool differs(char *reason, const char *format, ...) __attribute__((format(printf, 2, 3)));

#include <stdarg.h>
static bool differs(char *reason, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    vsnprintf(reason, CASE_REASON, format, list);
    va_end(list);
    return false;
}

static const char *shape_text(kn_shape shape, char *text, size_t bytes)
{
    size_t n = (size_t)snprintf(text, bytes, "[");
    for (int32_t a = 0; a < shape.rank && n < bytes; a++)
        n += (size_t)snprintf(text + n, bytes - n, a ? ", %lld" : "%lld", (long long)shape.dims[a]);
    if (n < bytes) snprintf(text + n, bytes - n, "]");
    return text;
}

static bool same_shape(kn_shape a, kn_shape b, char *reason)
{
    char left[128], right[128];
    bool same = a.rank == b.rank;
    for (int32_t i = 0; i < a.rank && same; i++) same = a.dims[i] == b.dims[i];
    if (same) return true;
    return differs(reason, "shape %s, expected %s", shape_text(a, left, sizeof left),
                   shape_text(b, right, sizeof right));
}

/* ---- floats */

/* One unit in the last place of a number in a dtype of 16 bits or fewer; 0 for others. */
static double unit_of(kn_dtype dtype, double value)
{
    if (dtype == KN_F64 || dtype == KN_F32) return 0;
    kn_float_limits limits = kn_dtype_limits(dtype);
    if (!(limits.max > 0)) return 0;
    double size = fabs(value) > limits.smallest_normal ? fabs(value) : limits.smallest_normal;
    return exp2(floor(log2(size))) * limits.eps * 1.0001;
}

static bool is_close(double a, double b, kn_dtype dtype)
{
    if (isnan(a) || isnan(b)) return isnan(a) && isnan(b);
    if (a == b) return true;
    if (isinf(a) || isinf(b)) return false;
    double difference = fabs(a - b);
    return difference <= 1e-7 + 1e-3 * fabs(b) || difference <= unit_of(dtype, b);
}

/* The mean and the deviation of finite numbers. */
static void moments(const double *x, int64_t n, double *mean, double *deviation)
{
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    *mean = n ? sum / (double)n : 0;
    for (int64_t i = 0; i < n; i++) squares += (x[i] - *mean) * (x[i] - *mean);
    *deviation = n ? sqrt(squares / (double)n) : 0;
}

/* Whether both can be samples of one distribution: means within six of their deviations, spreads within a factor. */
static bool same_distribution(const double *a, const double *b, int64_t n, char *reason)
{
    double mean[2], deviation[2];
    moments(a, n, &mean[0], &deviation[0]);
    moments(b, n, &mean[1], &deviation[1]);
    double allowed =
        6 * sqrt((deviation[0] * deviation[0] + deviation[1] * deviation[1]) / (n ? (double)n : 1)) + 1e-6;
    if (n >= 8 && !(fabs(mean[0] - mean[1]) <= allowed))
        return differs(reason, "random numbers with mean %g, expected %g", mean[0], mean[1]);
    double smaller = fmin(deviation[0], deviation[1]), larger = fmax(deviation[0], deviation[1]);
    if (n >= 32 && larger > 1e-6 && smaller < larger / 2)
        return differs(reason, "random numbers with deviation %g, expected %g", deviation[0], deviation[1]);
    return true;
}

static bool compare_reals(const double *a, const double *b, int64_t n, kn_dtype dtype, bool many,
                          char *reason)
{
    int64_t bad = 0, worst = -1;
    double low = INFINITY, high = -INFINITY, largest = 0, largest_all = 0;
    bool finite = true;
    for (int64_t i = 0; i < n; i++) {
        double d = fabs(a[i] - b[i]);
        if (isfinite(b[i])) low = fmin(low, b[i]), high = fmax(high, b[i]);
        if (isfinite(a[i]) != isfinite(b[i]) || (!isfinite(b[i]) && !is_close(a[i], b[i], dtype)))
            finite = false;
        if (isfinite(d)) largest_all = fmax(largest_all, d);
        if (is_close(a[i], b[i], dtype)) continue;
        bad++;
        if (worst < 0 || !(d <= largest)) worst = i, largest = d;
    }
    if (!bad || (many && finite && largest_all <= 1e-3 * (high - low))) return true;
    return differs(reason, "%lld of %lld elements differ, most [%lld]: %.9g, expected %.9g", (long long)bad,
                   (long long)n, (long long)worst, a[worst], b[worst]);
}

/* ---- tensors */

static bool compare_whole(kn_tensor got, kn_tensor expected, int64_t n, char *reason)
{
    int64_t bytes = kn_dtype_bytes(kn_dtype_of(expected), n), each = kn_dtype_bytes(kn_dtype_of(expected), 1);
    unsigned char *a = malloc((size_t)bytes + 1), *b = malloc((size_t)bytes + 1);
    bool good = a && b && !kn_read(got, a, (size_t)bytes) && !kn_read(expected, b, (size_t)bytes);
    if (!good) differs(reason, "cannot be read: %s", kn_last_error());
    int64_t bad = 0, first = -1;
    for (int64_t i = 0; good && i < n; i++)
        if (memcmp(a + i * each, b + i * each, (size_t)each) != 0) bad++, first = first < 0 ? i : first;
    if (bad) {
        double values[2] = {NAN, NAN};
        kn_tensor flat[2] = {kn_keep(kn_flatten(got, 0, -1)), kn_keep(kn_flatten(expected, 0, -1))};
        for (int k = 0; k < 2; k++)
            (void)!kn_read_as(kn_narrow(flat[k], 0, first, 1), KN_F64, &values[k], sizeof values[k]);
        good = differs(reason, "%lld of %lld elements differ, first [%lld]: %.17g, expected %.17g",
                       (long long)bad, (long long)n, (long long)first, values[0], values[1]);
    }
    free(a);
    free(b);
    return good;
}

static bool compare_floats(kn_tensor got, kn_tensor expected, int64_t n, bool many, bool random, char *reason)
{
    double *a = malloc((size_t)(n + 1) * sizeof *a), *b = malloc((size_t)(n + 1) * sizeof *b);
    size_t bytes = (size_t)n * sizeof *a;
    bool good = a && b && !kn_read_as(got, KN_F64, a, bytes) && !kn_read_as(expected, KN_F64, b, bytes);
    if (!good)
        differs(reason, "cannot be read: %s", kn_last_error());
    else if (random)
        good = same_distribution(a, b, n, reason);
    else
        good = compare_reals(a, b, n, kn_dtype_of(expected), many, reason);
    free(a);
    free(b);
    return good;
}

static bool compare_tensors(kn_tensor got, kn_tensor expected, bool many, bool random, char *reason)
{
    kn_dtype dtype = kn_dtype_of(expected);
    if (kn_dtype_of(got) != dtype)
        return differs(reason, "dtype %s, expected %s", kn_dtype_name(kn_dtype_of(got)),
                       kn_dtype_name(dtype));
    if (!same_shape(kn_shape_of_tensor(got), kn_shape_of_tensor(expected), reason)) return false;
    int64_t n = kn_count(expected);
    bool floats = kn_dtype_limits(dtype).max > 0;
    if (!floats && !random) return compare_whole(got, expected, n, reason);
    return compare_floats(got, expected, n, many, random, reason);
}

/* ---- values */

static const char *kind_name(kn_onnx_kind kind)
{
    static const char *const names[] = {"nothing",    "a tensor",    "strings",
                                        "a sequence", "an optional", "a map"};
    return names[kind];
}

static bool compare_strings(kn_onnx_value got, kn_onnx_value expected, char *reason)
{
    if (!same_shape(kn_onnx_value_shape(got), kn_onnx_value_shape(expected), reason)) return false;
    int64_t n = kn_onnx_value_count(expected);
    for (int64_t i = 0; i < n; i++) {
        const char *a = "", *b = "";
        size_t length[2] = {0, 0};
        if (kn_onnx_value_string(got, i, &a, &length[0]) ||
            kn_onnx_value_string(expected, i, &b, &length[1]) || length[0] != length[1] ||
            memcmp(a, b, length[0]) != 0)
            return differs(reason, "string %lld is \"%.60s\", expected \"%.60s\"", (long long)i, a, b);
    }
    return true;
}

static bool compare_items(kn_onnx_value got, kn_onnx_value expected, bool many, bool random, char *reason)
{
    int64_t n = kn_onnx_value_count(expected);
    if (kn_onnx_value_count(got) != n)
        return differs(reason, "%lld items, expected %lld", (long long)kn_onnx_value_count(got),
                       (long long)n);
    bool good = true;
    for (int64_t i = 0; i < n && good; i++) {
        kn_onnx_value a = kn_onnx_value_item(got, i), b = kn_onnx_value_item(expected, i);
        char inner[CASE_REASON - 40] = "";
        char whole[CASE_REASON] = "";
        good = kiln_compare_onnx_values(a, b, many, random, whole);
        memcpy(inner, whole, sizeof inner - 1);
        if (!good) differs(reason, "item %lld: %s", (long long)i, inner);
        kn_onnx_value_free(a);
        kn_onnx_value_free(b);
    }
    return good;
}

bool kiln_compare_onnx_values(kn_onnx_value got, kn_onnx_value expected, bool many, bool random, char *reason)
{
    if (!got && !expected) return true;
    kn_onnx_kind kind = expected ? kn_onnx_value_kind(expected) : KN_ONNX_NOTHING,
                 have = got ? kn_onnx_value_kind(got) : KN_ONNX_NOTHING;
    if (have != kind) return differs(reason, "%s, expected %s", kind_name(have), kind_name(kind));
    if (kind == KN_ONNX_STRINGS) return compare_strings(got, expected, reason);
    if (kind != KN_ONNX_TENSOR) return compare_items(got, expected, many, random, reason);
    kn_scope scope = kn_scope_begin();
    kn_tensor a = kn_keep(kn_onnx_value_as_tensor(got)), b = kn_keep(kn_onnx_value_as_tensor(expected));
    bool good = kn_ok(a) && kn_ok(b) ? compare_tensors(a, b, many, false, reason)
                                     : differs(reason, "the result has failed: %s", kn_last_error());
    /* A random operator may do nothing random, as dropout outside of training. */
    if (!good && random && kn_ok(a) && kn_ok(b)) good = compare_tensors(a, b, many, true, reason);
    kn_scope_end(scope, KN_NONE);
    return good;
}
