/* Comparing results within the tolerance of an op's row, and reading attributes. */
#include "conform_run.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* For functions that are no row: a few ulps of their steps. */
static const double composite_ulps = 8, composite_roots = 1;
/* Roundings to a half: eps is twice what rounding to nearest may be off. */
static const double row_steps = 0.5, composite_steps = 4;
/* What rounding the weights of attention inside may do, in eps of the terms: half of one to nearest. */
static const double weight_steps = 0.5;

double kiln_largest(const kiln_array *a)
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

bool kiln_is_half(kn_dtype dtype) { return dtype == KN_F16 || dtype == KN_BF16; }

/* The size of the terms that a result sums: they may cancel, and errors are relative to them. */
static double size_of_terms(const kiln_array *in, int n_in, bool contraction)
{
    double terms = contraction ? 1 : 0;
    for (int i = 0; i < n_in; i++) {
        double most = in[i].dtype != KN_DTYPE_NONE ? kiln_largest(&in[i]) : 0;
        if (contraction)
            terms *= i < 2 && most > 0 ? most : 1;
        else if (most > terms)
            terms = most;
    }
    return terms;
}

/* Products do not cancel, and the solution of a system has the size of no operand: their errors are relative to the
   largest result. */
static bool sums_operands(const kn_op_info *row)
{
    return !row || (strcmp(row->kind, "linalg") && strcmp(row->name, "prod") && strcmp(row->name, "cumprod"));
}

kiln_tolerance kiln_tolerance_of(const kiln_check *k, const kiln_array *in, int n_in,
                                 const kiln_array *expected)
{
    kiln_tolerance t = {.ulps = composite_ulps, .roots = composite_roots, .length = 1};
    kn_op_info named;
    const kn_op_info *row = k->row;
    if (!row && k->c->n_covers && kn_op_find(k->c->covers[0], &named)) row = &named;
    if (row) t.ulps = row->ulps, t.roots = row->roots;
    if (k->c->own_tolerance) t.ulps = k->c->ulps, t.roots = k->c->roots;
    bool exact = t.ulps == 0 && t.roots == 0;
    if (kiln_is_half(expected->dtype) && !exact) {
        /* A row rounds once; what is made of several may do so at each step. */
        bool once = k->row && (k->row->has_body || k->row->has_kernel || k->row->has_native);
        t.steps = once ? row_steps : composite_steps;
        t.level = once ? 0 : kiln_largest(expected);
    }
    if (t.roots > 0) {
        bool contraction = row && !strcmp(row->kind, "contraction");
        t.length = row && row->alone ? 1 : sum_length(in, n_in, expected, contraction);
        double terms = sums_operands(row) ? size_of_terms(in, n_in, contraction) : 0;
        t.scale = fmax(terms, kiln_largest(expected));
    }
    return t;
}

/* Halves compute in f32. */
static double eps_computed(kn_dtype dtype)
{
    return kn_dtype_limits(kiln_is_half(dtype) ? KN_F32 : dtype).eps;
}

static bool close_enough(double got, double want, kn_dtype dtype, const kiln_tolerance *t, int64_t place)
{
    kn_float_limits limits = kn_dtype_limits(dtype);
    double rounded = kiln_round(want, dtype);
    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
    if (got == rounded) return true;
    if (t->ulps == 0 && t->roots == 0) return false;
    kn_dtype coarse = t->dtype == KN_DTYPE_NONE ? dtype : t->dtype;
    double eps = kn_dtype_limits(coarse).eps;
    double room = (t->ulps + t->roots * sqrt(t->length)) * eps_computed(coarse);
    /* Near the largest number rounding may go either way. */
    if (isinf(got) || isinf(rounded))
        return !isinf(want) && (got > 0) == (want > 0) &&
               fabs(want) >= limits.max * (1 - room - t->steps * eps) && isinf(got);
    double size = fmax(fabs(want), limits.smallest_normal);
    double inside = t->terms ? weight_steps * eps * t->terms[place] : 0;
    return fabs(got - want) <= t->steps * eps * fmax(size, t->level) + room * fmax(size, t->scale) + inside;
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

/* How far the result is a multiple of the expected one, as least squares have it. */
static const char *compare_scale(const kiln_array *got, const kiln_array *expected, double drift)
{
    static char text[96];
    double products = 0, squares = 0;
    for (int64_t i = 0; i < got->count; i++) {
        products += got->real[i] * expected->real[i];
        squares += expected->real[i] * expected->real[i];
    }
    if (squares == 0 || fabs(products / squares - 1) < drift) return NULL;
    snprintf(text, sizeof text, "all elements together are %.3g times what they should be",
             products / squares);
    return text;
}

static const char *compare_values(const kiln_array *got, const kiln_array *expected,
                                  const kiln_tolerance *tolerance)
{
    static char text[256];
    int64_t first = -1, count = 0;
    for (int64_t i = 0; i < got->count; i++) {
        bool good = got->real ? close_enough(got->real[i], expected->real[i], got->dtype, tolerance, i)
                              : got->integer[i] == expected->integer[i];
        if (good) continue;
        if (first < 0) first = i;
        count++;
    }
    if (first < 0) return tolerance->drift > 0 ? compare_scale(got, expected, tolerance->drift) : NULL;
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

/* ---- the self-test */

double kiln_spoil_value(double value, kiln_spoil spoil)
{
    static const double factors[KILN_SPOIL_COUNT] = {0, -1, 1.1, 1.01};
    return value * factors[spoil];
}

bool kiln_spoil_tried(kiln_spoil spoil, const kiln_tolerance *tolerance)
{
    return spoil != KILN_HUNDREDTH_OFF || (tolerance && tolerance->drift > 0);
}

void kiln_spoil_note(const kiln_check *k, kiln_class class, kiln_spoil spoil, bool noticed)
{
    static const char *const names[KILN_SPOIL_COUNT] = {"zeroed", "negated", "a tenth off",
                                                        "a hundredth off"};
    kiln_spoiled *count = &k->run->spoiled[class][spoil];
    count->tried++;
    if (noticed) return;
    count->missed++;
    if (k->run->verbose)
        printf("MISS %s %s %s (%s): %s\n", k->c->op, kn_dtype_name(k->c->dtype), k->label, k->c->name,
               names[spoil]);
}

/* Spoils the result as a whole, in its dtype. False where that changes nothing: zeros, infinities, NaN. */
static bool spoil_array(const kiln_array *from, kiln_array *to, kiln_spoil spoil)
{
    bool changed = false;
    if (!from->real && spoil != KILN_ZEROED) return false;
    for (int64_t i = 0; i < from->count; i++) {
        if (from->real) {
            to->real[i] = kiln_round(kiln_spoil_value(from->real[i], spoil), from->dtype);
            if (!isfinite(from->real[i])) to->real[i] = from->real[i];
            changed = changed || (isfinite(from->real[i]) && to->real[i] != from->real[i]);
        } else {
            to->integer[i] = 0;
            changed = changed || from->integer[i];
        }
    }
    return changed;
}

static void self_test(const kiln_check *k, const kiln_array *got, const kiln_array *expected,
                      const kiln_tolerance *tolerance)
{
    bool gradient = !strncmp(k->label, "gradient", 8);
    kiln_class class = !got->real                 ? KILN_INTEGER
                       : kiln_is_half(got->dtype) ? KILN_HALF + gradient
                                                  : KILN_FLOAT + gradient;
    /* What is left of terms that cancel altogether is noise. */
    double noise = got->real ? 16 * eps_computed(got->dtype) * tolerance->scale : 0;
    if (kiln_largest(got) < noise) return;
    kiln_array spoilt = kiln_array_new(got->dtype, got->shape);
    for (int spoil = 0; spoil < KILN_SPOIL_COUNT; spoil++)
        if (kiln_spoil_tried((kiln_spoil)spoil, tolerance) && spoil_array(got, &spoilt, (kiln_spoil)spoil))
            kiln_spoil_note(k, class, (kiln_spoil)spoil, compare_values(&spoilt, expected, tolerance));
    kiln_array_free(&spoilt);
}

const char *kiln_compare(const kiln_check *k, const kiln_array *got, const kiln_array *expected,
                         const kiln_tolerance *tolerance)
{
    const char *wrong = compare_types(got, expected);
    if (!wrong) wrong = compare_values(got, expected, tolerance);
    if (!wrong && k->run->self_test) self_test(k, got, expected, tolerance);
    return wrong;
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
    out[0] = kn_poison(status, NULL);
    return 1;
}
