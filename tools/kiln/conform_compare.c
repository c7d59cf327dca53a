/* Comparing results within the tolerance of an op's row, and reading attributes. */
#include "conform_run.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* For functions that are no row: a few ulps of their steps. */
static const double composite_ulps = 8, composite_roots = 1;

static double largest(const kiln_array *a)
{
    double most = 0;
    for (int64_t i = 0; a->real && i < a->count; i++)
        if (isfinite(a->real[i]) && fabs(a->real[i]) > most) most = fabs(a->real[i]);
    return most;
}

static int64_t longest_axis(const kiln_array *a)
{
    int64_t most = 1;
    for (int i = 0; i < a->shape.rank; i++)
        if (a->shape.dims[i] > most) most = a->shape.dims[i];
    return most;
}

/* How many terms a result sums: for a contraction of two operands the geometric mean of its sides, else what is
   reduced, at least the longest axis. */
static double sum_length(const kiln_array *in, int n_in, const kiln_array *expected, bool contraction)
{
    double out = expected->count > 0 ? (double)expected->count : 1;
    if (contraction && n_in >= 2 && in[1].dtype != KN_DTYPE_NONE)
        return sqrt((double)in[0].count * (double)in[1].count / out);
    double length = n_in > 0 && in[0].dtype != KN_DTYPE_NONE ? (double)in[0].count / out : 1;
    double axis = n_in > 0 && in[0].dtype != KN_DTYPE_NONE ? (double)longest_axis(&in[0]) : 1;
    return length > axis ? length : axis;
}

kiln_tolerance kiln_tolerance_of(const kiln_check *k, const kiln_array *in, int n_in,
                                 const kiln_array *expected)
{
    kiln_tolerance t = {composite_ulps, composite_roots, 0, 1, KN_DTYPE_NONE};
    kn_op_info named;
    const kn_op_info *row = k->row;
    if (!row && k->c->n_covers && kn_op_find(k->c->covers[0], &named)) row = &named;
    if (row) t = (kiln_tolerance){row->ulps, row->roots, 0, 1, KN_DTYPE_NONE};
    if (k->c->own_tolerance) t = (kiln_tolerance){k->c->ulps, k->c->roots, 0, 1, KN_DTYPE_NONE};
    if (t.roots > 0) {
        bool contraction = row && !strcmp(row->kind, "contraction");
        bool elementwise = row && !strcmp(row->kind, "elementwise");
        t.length = elementwise ? 1 : sum_length(in, n_in, expected, contraction);
        /* Terms may cancel: errors are relative to the terms, not to their sum. */
        double terms = contraction ? 1 : 0;
        for (int i = 0; i < n_in; i++) {
            double most = in[i].dtype != KN_DTYPE_NONE && in[i].real ? largest(&in[i]) : 0;
            /* Integers that a float function takes are terms as well. */
            for (int64_t e = 0; elementwise && in[i].integer && e < in[i].count; e++) {
                double size = in[i].integer[e] < 0 ? -(double)in[i].integer[e] : (double)in[i].integer[e];
                if (size > most) most = size;
            }
            if (contraction)
                terms *= i < 2 && most > 0 ? most : 1;
            else if (most > terms)
                terms = most;
        }
        double results = largest(expected);
        t.scale = terms > results ? terms : results;
    }
    return t;
}

static bool close_enough(double got, double want, kn_dtype dtype, const kiln_tolerance *t)
{
    kn_float_limits limits = kn_dtype_limits(dtype);
    double rounded = kiln_round(want, dtype);
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
    if (got == rounded) return true;
    if (t->ulps == 0 && t->roots == 0) return false;
    double eps = t->dtype == KN_DTYPE_NONE ? limits.eps : kn_dtype_limits(t->dtype).eps;
    double room = (t->ulps + t->roots * sqrt(t->length)) * eps;
    /* Near the largest number rounding may go either way. */
    if (isinf(got) || isinf(rounded))
        return !isinf(want) && (got > 0) == (want > 0) && fabs(want) >= limits.max * (1 - room) && isinf(got);
    double size = fabs(want);
    if (size < t->scale) size = t->scale;
    if (size < limits.smallest_normal) size = limits.smallest_normal;
    return fabs(got - want) <= room * size;
}

static void place_text(char *text, size_t room, const kn_shape *shape, int64_t index)
{
    int64_t at[KN_MAX_RANK];
    for (int k = shape->rank - 1; k >= 0; k--) {
        at[k] = index % shape->dims[k];
        index /= shape->dims[k];
    }
    size_t used = (size_t)snprintf(text, room, "[");
    for (int k = 0; k < shape->rank && used < room; k++)
        used += (size_t)snprintf(text + used, room - used, "%s%" PRId64, k ? ", " : "", at[k]);
    if (used < room) snprintf(text + used, room - used, "]");
}

static void shape_text(char *text, size_t room, const kn_shape *shape)
{
    size_t used = (size_t)snprintf(text, room, "[");
    for (int k = 0; k < shape->rank && used < room; k++)
        used += (size_t)snprintf(text + used, room - used, "%s%" PRId64, k ? ", " : "", shape->dims[k]);
    if (used < room) snprintf(text + used, room - used, "]");
}

static const char *compare_types(const kiln_array *got, const kiln_array *expected)
{
    static char text[256];
    char a[96], b[96];
    if (got->dtype != expected->dtype) {
        snprintf(text, sizeof text, "the result is %s, expected %s", kn_dtype_name(got->dtype),
                 kn_dtype_name(expected->dtype));
        return text;
    }
    if (kiln_shape_equal(&got->shape, &expected->shape)) return NULL;
    shape_text(a, sizeof a, &got->shape);
    shape_text(b, sizeof b, &expected->shape);
    snprintf(text, sizeof text, "the shape is %s, expected %s", a, b);
    return text;
}

const char *kiln_compare(const kiln_array *got, const kiln_array *expected, const kiln_tolerance *tolerance)
{
    static char text[256];
    const char *wrong = compare_types(got, expected);
    if (wrong) return wrong;
    int64_t first = -1, count = 0;
    for (int64_t i = 0; i < got->count; i++) {
        bool good = got->real ? close_enough(got->real[i], expected->real[i], got->dtype, tolerance)
                              : got->integer[i] == expected->integer[i];
        if (good) continue;
        if (first < 0) first = i;
        count++;
    }
    if (first < 0) return NULL;
    char place[96];
    place_text(place, sizeof place, &got->shape, first);
    if (got->real)
        snprintf(text, sizeof text, "%" PRId64 " of %" PRId64 " wrong, first %s: %.17g, expected %.17g",
                 count, got->count, place, got->real[first], expected->real[first]);
    else
        snprintf(text, sizeof text,
                 "%" PRId64 " of %" PRId64 " wrong, first %s: %" PRId64 ", expected %" PRId64, count,
                 got->count, place, got->integer[first], expected->integer[first]);
    return text;
}

/* ---- attributes of adapters */

static const kiln_attribute *attribute_named(const kiln_attributes *a, const char *name)
{
    for (int i = 0; i < a->n; i++)
        if (!strcmp(a->item[i].name, name)) return &a->item[i];
    return NULL;
}

bool kiln_has(const kiln_attributes *a, const char *name) { return attribute_named(a, name) != NULL; }

int64_t kiln_int(const kiln_attributes *a, const char *name, int64_t otherwise)
{
    const kiln_attribute *found = attribute_named(a, name);
    return found ? found->integer : otherwise;
}

double kiln_real(const kiln_attributes *a, const char *name, double otherwise)
{
    const kiln_attribute *found = attribute_named(a, name);
    return found ? found->real : otherwise;
}

kn_ints kiln_ints(const kiln_attributes *a, const char *name)
{
    const kiln_attribute *found = attribute_named(a, name);
    return found ? found->list : KN_AXES_ALL;
}

const char *kiln_text(const kiln_attributes *a, const char *name, const char *otherwise)
{
    const kiln_attribute *found = attribute_named(a, name);
    return found ? found->text : otherwise;
}

int kiln_outputs(kn_status status, kn_tensor *out, int count)
{
    if (status == KN_OK) return count;
    out[0] = kn_poison(status, kn_last_error());
    return 1;
}
