/* Ops on whole numbers of which some are expressions over sizes: what Shape gives, and what graphs make of it before Reshape, Expand, Slice
   and the like take it. Ops that move elements run on the numbers of the elements, on the CPU; arithmetic is that of sizes. */
#include "core/dtype.h"
#include "core/objects.h"
#include "onnx/build/build.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_CONTENT = 1024, MOST_ATTRIBUTES = 32, FEW = 16 };

/* ---- calling ops on the CPU */

bool kni_onnx_build_call(kni_conversion *c, const char *op, const kn_tensor *in, int32_t n_in,
                         const kni_given_attribute *attributes, kn_tensor *out, int32_t n_out)
{
    kn_attribute_value values[MOST_ATTRIBUTES + 1];
    int32_t n = 0;
    for (const kni_given_attribute *a = attributes; a && a->name; a++) {
        kn_attribute_value v = {.name = a->name, .real = a->real, .integer = a->one.value};
        if (n == MOST_ATTRIBUTES || a->n > KN_MAX_RANK) {
            kni_convert_fail(c, KN_ERROR_UNSUPPORTED,
                             "attribute %s of an op has %d numbers; %d are supported", a->name, a->n,
                             KN_MAX_RANK);
            return false;
        }
        if (a->kind == 0 && a->n >= 0) {
            v.list.rank = a->n;
            for (int32_t i = 0; i < a->n; i++) v.list.dims[i] = a->extents[i].value;
        }
        values[n++] = v;
    }
    values[n] = (kn_attribute_value){0};
    kn_device before = kn_device_current();
    kn_device_use(c->plan->host);
    kn_status s = kn_call(op, in, n_in, attributes ? values : NULL, out, n_out);
    kn_device_use(before);
    if (s) kni_convert_fail(c, s, "%s", kni_failure_taken());
    return s == KN_OK;
}

/* ---- lists */

typedef struct content {
    const kni_extent *list;
    int64_t n;
} content;

static bool is_content(const kni_entry *e)
{
    return e && e->kind == KNI_IS_TENSOR && (e->content || e->host.bits);
}

/* Whole numbers alone, few of them, in a tensor whose sizes are numbers. */
static bool read_content(kni_conversion *c, kni_datum x, content *out)
{
    const kni_entry *e = kni_entry_of(c, x);
    int64_t n = 1;
    if (!is_content(e) || (!e->content && kn_dtype_is_float(e->dtype))) return false;
    for (int32_t a = 0; a < e->rank; a++) {
        if (e->extents[a].text || e->extents[a].value > MOST_CONTENT) return false;
        n *= e->extents[a].value;
    }
    if (n > MOST_CONTENT) return false;
    out->list = kni_known_extents(c, x, "an operand", &out->n);
    return out->list != NULL;
}

static kni_datum make_content(kni_conversion *c, const kni_extent *list, int64_t n, kn_dtype dtype,
                              const kn_shape *shape)
{
    kni_datum x = kni_known_list(c, list, n, false);
    kni_entry *e = kni_entry_of(c, x);
    if (!e) return x;
    e->dtype = dtype;
    e->rank = shape->rank;
    for (int32_t a = 0; a < shape->rank; a++) e->extents[a] = KNI_EXTENT(shape->dims[a]);
    return x;
}

static kn_shape shape_of(const kni_entry *e)
{
    kn_shape s = {e->rank, {0}};
    for (int32_t a = 0; a < e->rank; a++) s.dims[a] = e->extents[a].value;
    return s;
}

/* ---- ops that move elements */

/* first, first + 1 ... in the shape of the entry. */
static kn_tensor numbered(kni_conversion *c, const kni_entry *e, int64_t first, int64_t n)
{
    int64_t list[MOST_CONTENT];
    for (int64_t i = 0; i < n; i++) list[i] = first + i;
    kn_device before = kn_device_current();
    kn_device_use(c->plan->host);
    kn_tensor t = kn_from(list, KN_I64, shape_of(e));
    kn_device_use(before);
    return t;
}

static bool move(kni_conversion *c, const char *op, uint32_t data, const kni_datum *in, int32_t n_in,
                 const kni_given_attribute *attributes, kni_datum *out)
{
    content parts[FEW * 4];
    kn_tensor operands[FEW * 4], result = KN_NONE;
    int64_t total = 0;
    kn_dtype dtype = KN_I64;
    if (n_in > FEW * 4) return false;
    for (int32_t i = 0; i < n_in; i++) {
        bool held = i < 32 ? data >> i & 1 : true;
        kni_entry *e = kni_entry_of(c, in[i]);
        if (held ? !read_content(c, in[i], &parts[i]) : !e || !kni_onnx_build_is_concrete(e)) return false;
        if (held) dtype = e->dtype;
    }
    if (c->status) return true;
    for (int32_t i = 0; i < n_in; i++) {
        kni_entry *e = kni_entry_of(c, in[i]);
        bool held = i < 32 ? data >> i & 1 : true;
        operands[i] = held ? numbered(c, e, total, parts[i].n) : kni_entry_read(c, e, "an operand");
        if (!held) parts[i].n = 0;
        total += parts[i].n;
    }
    if (c->status || total > MOST_CONTENT * 4 ||
        !kni_onnx_build_call(c, op, operands, n_in, attributes, &result, 1))
        return true;
    int64_t n = kn_count(result);
    kn_shape shape = kn_shape_of_tensor(result);
    int64_t *places = kni_convert_memory(c, (size_t)n + 1, sizeof *places);
    kni_extent *list = kni_convert_memory(c, (size_t)n + 1, sizeof *list);
    bool good = places && list && kn_read(result, places, (size_t)n * sizeof *places) == KN_OK;
    kn_drop(result);
    for (int64_t i = 0; good && i < n; i++) {
        int64_t place = places[i];
        int32_t part = 0;
        while (place >= parts[part].n) place -= parts[part++].n;
        list[i] = parts[part].list[place];
    }
    if (good) *out = make_content(c, list, n, dtype, &shape);
    return true;
}

/* ---- arithmetic */

typedef kni_extent compute_function(kni_conversion *c, kni_extent a, kni_extent b);

static bool is_negative(kni_extent e) { return !e.text && e.value < 0; }

/* 1, 0, or -1 where it is not known. */
static int are_equal(kni_extent a, kni_extent b)
{
    if (!a.text && !b.text) return a.value == b.value;
    if (kni_extent_same(a, b)) return 1;
    bool apart = (is_negative(a) && !kni_extent_may_be_negative(b)) ||
                 (is_negative(b) && !kni_extent_may_be_negative(a));
    return apart ? 0 : -1;
}

/* Rounded towards 0, for divisors above 0. */
static kni_extent divide_truncated(kni_conversion *c, kni_extent a, kni_extent b)
{
    const kni_extent zero = KNI_EXTENT(0);
    if (!kni_extent_may_be_negative(a)) return kni_extent_div(c, a, b);
    kni_extent up = kni_extent_div(c, kni_extent_max(c, a, zero), b);
    return kni_extent_sub(c, up, kni_extent_div(c, kni_extent_max(c, kni_extent_sub(c, zero, a), zero), b));
}

/* Floored, as the op remainder is; the divisor is above 0. */
static kni_extent remainder_of(kni_conversion *c, kni_extent a, kni_extent b)
{
    return kni_extent_sub(c, a, kni_extent_mul(c, kni_extent_div(c, a, b), b));
}

/* Both lists as one shape; false where they are too long. */
static bool broadcast(kni_conversion *c, kni_datum *a, kni_datum *b)
{
    kn_shape s[2];
    kni_entry *e[2] = {kni_entry_of(c, *a), kni_entry_of(c, *b)};
    for (int i = 0; i < 2; i++) s[i] = shape_of(e[i]);
    int32_t rank = s[0].rank > s[1].rank ? s[0].rank : s[1].rank;
    kni_extent extents[KN_MAX_RANK];
    for (int32_t k = 1; k <= rank; k++) {
        int64_t x = k <= s[0].rank ? s[0].dims[s[0].rank - k] : 1,
                y = k <= s[1].rank ? s[1].dims[s[1].rank - k] : 1;
        if (x != y && x != 1 && y != 1) return false;
        extents[rank - k] = KNI_EXTENT(x == 1 ? y : x);
    }
    *a = kni_expand_to(c, *a, extents, rank);
    *b = kni_expand_to(c, *b, extents, rank);
    return !c->status;
}

static bool pairwise(kni_conversion *c, compute_function *compute, bool equal, bool negated,
                     const kni_datum *in, kni_datum *out)
{
    content x, y;
    kni_datum a = in[0], b = in[1];
    if (!read_content(c, a, &x) || !read_content(c, b, &y)) return false;
    kn_dtype dtype = kni_entry_of(c, a)->dtype;
    if (!broadcast(c, &a, &b) || !read_content(c, a, &x) || !read_content(c, b, &y) || x.n != y.n)
        return false;
    kn_shape shape = shape_of(kni_entry_of(c, a));
    kni_extent *list = kni_convert_memory(c, (size_t)x.n + 1, sizeof *list);
    for (int64_t i = 0; list && i < x.n; i++) {
        int same = equal ? are_equal(x.list[i], y.list[i]) : 0;
        if (same < 0) return false;
        list[i] = equal ? KNI_EXTENT(negated ? !same : same) : compute(c, x.list[i], y.list[i]);
    }
    if (!list || c->status) return true;
    *out = make_content(c, list, x.n, equal ? KN_BOOL : dtype, &shape);
    return true;
}

static bool negate(kni_conversion *c, const kni_datum *in, kni_datum *out)
{
    content x;
    if (!read_content(c, in[0], &x)) return false;
    const kni_entry *e = kni_entry_of(c, in[0]);
    kn_dtype dtype = e->dtype;
    kn_shape shape = shape_of(e);
    kni_extent *list = kni_convert_memory(c, (size_t)x.n + 1, sizeof *list);
    for (int64_t i = 0; list && i < x.n; i++) list[i] = kni_extent_sub(c, KNI_EXTENT(0), x.list[i]);
    if (list && !c->status) *out = make_content(c, list, x.n, dtype, &shape);
    return true;
}

/* The product or the sum of all elements. */
static bool reduce(kni_conversion *c, bool product, const kni_datum *in,
                   const kni_given_attribute *attributes, kni_datum *out)
{
    content x;
    kn_shape shape = {0, {0}};
    const kni_entry *e = kni_entry_of(c, in[0]);
    bool keep = false;
    if (e->rank > 1 || !read_content(c, in[0], &x)) return false;
    for (const kni_given_attribute *a = attributes; a && a->name; a++)
        if (!strcmp(a->name, "keep")) keep = a->one.value != 0;
    if (keep && e->rank) shape = KN_SHAPE(1);
    kni_extent total = KNI_EXTENT(product);
    for (int64_t i = 0; i < x.n; i++)
        total = product ? kni_extent_mul(c, total, x.list[i]) : kni_extent_add(c, total, x.list[i]);
    if (!c->status) *out = make_content(c, &total, 1, kni_is_bool(e->dtype) ? KN_I64 : e->dtype, &shape);
    return true;
}

static bool cast(kni_conversion *c, const kni_datum *in, const kni_given_attribute *attributes,
                 kni_datum *out)
{
    content x;
    if (!read_content(c, in[0], &x)) return false;
    kn_dtype dtype = attributes && attributes->name ? (kn_dtype)attributes->one.value : KN_I64;
    if (dtype != KN_I64 && dtype != KN_I32 && dtype != KN_F32 && dtype != KN_F64) return false;
    kn_shape shape = shape_of(kni_entry_of(c, in[0]));
    *out = make_content(c, x.list, x.n, dtype, &shape);
    return true;
}

/* ---- the ops */

typedef enum rule_kind { MOVE, PAIR, EQUAL, UNEQUAL, PRODUCT, TOTAL, CAST, NEGATE, SAME } rule_kind;

typedef struct rule {
    const char *op;
    rule_kind kind;
    uint32_t data;             /* MOVE: operands that hold the elements, as bits; others are read */
    compute_function *compute; /* PAIR */
} rule;

static const rule rules[] = {
    {"reshape", MOVE, 1, NULL},
    {"permute", MOVE, 1, NULL},
    {"expand", MOVE, 1, NULL},
    {"slice", MOVE, 1, NULL},
    {"concat", MOVE, ~0u, NULL},
    {"take", MOVE, 1, NULL},
    {"gather", MOVE, 1, NULL},
    {"where", MOVE, 6, NULL},
    {"add", PAIR, 0, kni_extent_add},
    {"sub", PAIR, 0, kni_extent_sub},
    {"mul", PAIR, 0, kni_extent_mul},
    {"floor_div", PAIR, 0, kni_extent_div},
    {"trunc_div", PAIR, 0, divide_truncated},
    {"remainder", PAIR, 0, remainder_of},
    {"maximum", PAIR, 0, kni_extent_max},
    {"minimum", PAIR, 0, kni_extent_min},
    {"equal", EQUAL, 0, NULL},
    {"not_equal", UNEQUAL, 0, NULL},
    {"prod", PRODUCT, 0, NULL},
    {"sum", TOTAL, 0, NULL},
    {"cast", CAST, 0, NULL},
    {"neg", NEGATE, 0, NULL},
    /* Rounding whole numbers changes nothing, also where they are stored as floats. */
    {"floor", SAME, 0, NULL},
    {"ceil", SAME, 0, NULL},
    {"round", SAME, 0, NULL},
    {"trunc", SAME, 0, NULL},
};

static bool apply(kni_conversion *c, const rule *r, const kni_datum *in, int32_t n_in,
                  const kni_given_attribute *attributes, kni_datum *out)
{
    switch (r->kind) {
    case MOVE:
        return move(c, r->op, r->data, in, n_in, attributes, out);
    case PAIR:
        return n_in == 2 && pairwise(c, r->compute, false, false, in, out);
    case EQUAL:
    case UNEQUAL:
        return n_in == 2 && pairwise(c, NULL, true, r->kind == UNEQUAL, in, out);
    case PRODUCT:
    case TOTAL:
        return reduce(c, r->kind == PRODUCT, in, attributes, out);
    case CAST:
        return cast(c, in, attributes, out);
    case NEGATE:
        return negate(c, in, out);
    default:
        *out = in[0];
        kni_made_add(c, in[0]);
        return true;
    }
}

static bool has_unknown_attribute(const kni_given_attribute *a)
{
    for (; a && a->name; a++)
        for (int32_t i = 0; a->kind == 0 && i < (a->n < 0 ? 1 : a->n); i++)
            if ((a->n < 0 ? a->one : a->extents[i]).text) return true;
    return false;
}

bool kni_onnx_build_content(kni_conversion *c, const char *op, const kni_datum *in, int32_t n_in,
                            const kni_given_attribute *attributes, kni_datum *out, int32_t n_out)
{
    bool unknown = false;
    for (int32_t i = 0; i < n_in; i++) {
        const kni_entry *e = kni_entry_of(c, in[i]);
        if (!is_content(e)) return false;
        unknown |= kni_has_open_number(c, in[i]);
    }
    if (!unknown || n_out != 1 || has_unknown_attribute(attributes)) return false;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!strcmp(op, rules[i].op)) return apply(c, &rules[i], in, n_in, attributes, out);
    return false;
}
