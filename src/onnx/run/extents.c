/* Asking values for kind, dtype, rank and sizes, and computing with sizes, which are numbers or texts. */
#include "onnx/run/conversion.h"
#include <string.h>

/* ---- asking */

kni_datum_kind kni_kind_of(const kni_conversion *c, kni_datum x)
{
    const kni_entry *e = kni_entry_of(c, x);
    return e ? e->kind : KNI_IS_ABSENT;
}

kn_dtype kni_dtype_of(const kni_conversion *c, kni_datum x)
{
    const kni_entry *e = kni_entry_of(c, x);
    return e ? e->dtype : KN_DTYPE_NONE;
}

int32_t kni_rank_of(const kni_conversion *c, kni_datum x)
{
    const kni_entry *e = kni_entry_of(c, x);
    return e ? e->rank : 0;
}

int32_t kni_axis_in(kni_conversion *c, int32_t rank, int64_t axis)
{
    if (axis >= -(int64_t)rank && axis < rank) return (int32_t)(axis < 0 ? axis + rank : axis);
    kni_convert_fail(c, KN_ERROR_ARGUMENT, "axis %lld is outside the %d axes", (long long)axis, rank);
    return 0;
}

int32_t kni_axis_of(kni_conversion *c, kni_datum x, int64_t axis)
{
    return c->status ? 0 : kni_axis_in(c, kni_rank_of(c, x), axis);
}

kni_extent kni_extent_of(kni_conversion *c, kni_datum x, int64_t axis)
{
    const kni_entry *e = kni_entry_of(c, x);
    if (!e || c->status) return KNI_EXTENT(0);
    int32_t a = kni_axis_in(c, e->rank, axis);
    return c->status ? KNI_EXTENT(0) : e->extents[a];
}

int32_t kni_extents_of(kni_conversion *c, kni_datum x, kni_extent *extents)
{
    const kni_entry *e = kni_entry_of(c, x);
    if (!e) return 0;
    memcpy(extents, e->extents, (size_t)e->rank * sizeof *extents);
    return e->rank;
}

kni_extent kni_count_of(kni_conversion *c, kni_datum x)
{
    const kni_entry *e = kni_entry_of(c, x);
    return e ? kni_extent_product(c, e->extents, e->rank) : KNI_EXTENT(0);
}

bool kni_is_wanted(const kni_onnx_node *node, int32_t output)
{
    return output >= 0 && output < node->n_out && node->out[output] >= 0;
}

/* ---- computing */

typedef bool number_function(int64_t a, int64_t b, int64_t *y);

static bool add(int64_t a, int64_t b, int64_t *y) { return !__builtin_add_overflow(a, b, y); }
static bool subtract(int64_t a, int64_t b, int64_t *y) { return !__builtin_sub_overflow(a, b, y); }
static bool multiply(int64_t a, int64_t b, int64_t *y) { return !__builtin_mul_overflow(a, b, y); }

static bool divide(int64_t a, int64_t b, int64_t *y)
{
    if (b == 0 || (a == INT64_MIN && b == -1)) return false;
    *y = a / b - (a % b != 0 && (a < 0) != (b < 0));
    return true;
}

static bool larger(int64_t a, int64_t b, int64_t *y) { return *y = a > b ? a : b, true; }
static bool smaller(int64_t a, int64_t b, int64_t *y) { return *y = a < b ? a : b, true; }

static const char *text_of(kni_conversion *c, kni_extent e)
{
    return e.text ? e.text : kni_onnx_arena_format(c->arena, "%lld", (long long)e.value);
}

/* format takes the texts of both. */
static kni_extent compute(kni_conversion *c, kni_extent a, kni_extent b, number_function *function,
                          const char *word, const char *before, const char *between)
{
    if (c->status) return KNI_EXTENT(0);
    kni_extent y = KNI_EXTENT(0);
    if (!a.text && !b.text) {
        if (!function(a.value, b.value, &y.value))
            kni_convert_fail(c, KN_ERROR_SHAPE, "a size is too large, or divided by 0: %lld %s %lld",
                             (long long)a.value, word, (long long)b.value);
        return y;
    }
    const char *left = text_of(c, a), *right = text_of(c, b);
    if (left && right) y.text = kni_onnx_arena_format(c->arena, "%s(%s%s%s)", before, left, between, right);
    if (!y.text) kni_convert_fail(c, KN_ERROR_MEMORY, "no memory for a size");
    return y;
}

kni_extent kni_extent_add(kni_conversion *c, kni_extent a, kni_extent b)
{
    if (kni_extent_is(a, 0)) return b;
    if (kni_extent_is(b, 0)) return a;
    return compute(c, a, b, add, "+", "", " + ");
}

kni_extent kni_extent_sub(kni_conversion *c, kni_extent a, kni_extent b)
{
    if (kni_extent_is(b, 0)) return a;
    if (kni_extent_same(a, b)) return KNI_EXTENT(0);
    return compute(c, a, b, subtract, "-", "", " - ");
}

kni_extent kni_extent_mul(kni_conversion *c, kni_extent a, kni_extent b)
{
    if (kni_extent_is(a, 1)) return b;
    if (kni_extent_is(b, 1)) return a;
    if (kni_extent_is(a, 0) || kni_extent_is(b, 0)) return KNI_EXTENT(0);
    if (kni_extent_is(a, -1)) return kni_extent_sub(c, KNI_EXTENT(0), b);
    if (kni_extent_is(b, -1)) return kni_extent_sub(c, KNI_EXTENT(0), a);
    return compute(c, a, b, multiply, "*", "", " * ");
}

kni_extent kni_extent_div(kni_conversion *c, kni_extent a, kni_extent b)
{
    if (kni_extent_is(b, 1)) return a;
    return compute(c, a, b, divide, "/", "", " / ");
}

kni_extent kni_extent_max(kni_conversion *c, kni_extent a, kni_extent b)
{
    if (kni_extent_same(a, b)) return a;
    return compute(c, a, b, larger, "max", "max", ", ");
}

kni_extent kni_extent_min(kni_conversion *c, kni_extent a, kni_extent b)
{
    if (kni_extent_same(a, b)) return a;
    return compute(c, a, b, smaller, "min", "min", ", ");
}

kni_extent kni_extent_product(kni_conversion *c, const kni_extent *list, int32_t n)
{
    kni_extent y = KNI_EXTENT(1);
    for (int32_t i = 0; i < n; i++)
        if (kni_extent_is(list[i], 0)) return KNI_EXTENT(0);
    for (int32_t i = 0; i < n; i++) y = kni_extent_mul(c, y, list[i]);
    return y;
}

bool kni_extent_same(kni_extent a, kni_extent b)
{
    if (!a.text || !b.text) return !a.text && !b.text && a.value == b.value;
    return a.text == b.text || !strcmp(a.text, b.text);
}

int64_t kni_extent_number(kni_conversion *c, kni_extent e, const char *what)
{
    if (!e.text) return e.value;
    kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "%s (%s) is known only when the model runs; give it with --dim",
                     what, e.text);
    return 0;
}
