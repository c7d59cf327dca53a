/* Records and groups: elementwise ops in f32 from their formulas, softmax and sums by their attributes, movement as views. All else is
   left to Kiln, which lowers it or runs it on the CPU. */
#include "file_leaf.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

leaf_counts counts;

enum { MAX_VALUES = 64 };

/* ---- values as f64 */

static bool same_shape(const kn_shape *a, const kn_shape *b)
{
    return a->rank == b->rank && !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims);
}

static bool to_double(kn_dtype dtype, const void *from, int64_t i, double *value)
{
    switch (dtype) {
    case KN_F32:
        *value = ((const float *)from)[i];
        return true;
    case KN_F64:
        *value = ((const double *)from)[i];
        return true;
    case KN_I32:
        *value = ((const int32_t *)from)[i];
        return true;
    case KN_I64:
        *value = (double)((const int64_t *)from)[i];
        return true;
    case KN_BOOL:
        *value = ((const uint8_t *)from)[i] != 0;
        return true;
    default:
        return false;
    }
}

/* The element of an operand that belongs to element i of a result. */
static int64_t place_of(const kn_shape *x, const kn_shape *y, int64_t i)
{
    int64_t at = 0, step = 1;
    for (int a = y->rank - 1, k = x->rank - 1; k >= 0; a--, k--) {
        int64_t index = i % y->dims[a];
        i /= y->dims[a];
        if (x->dims[k] > 1) at += index * step;
        step *= x->dims[k];
    }
    return at;
}

/* The tensor broadcast into `shape`; KN_ERROR_UNSUPPORTED without a text for dtypes that the leaf does not compute with. */
static kn_status load(uint32_t id, const kn_shape *shape, int64_t n, double **out)
{
    kn_tensor_info x = {.size = sizeof x};
    kn_status s = kn_backend_tensor(id, &x);
    double unused;
    if (s) return s;
    /* A tensor on the device is f32 or a truth; a number beside one may have another dtype. */
    bool number = x.count == 1 && x.data;
    if (!(x.dtype == KN_F32 || x.dtype == KN_BOOL || (number && to_double(x.dtype, x.data, 0, &unused))))
        return KN_ERROR_UNSUPPORTED;
    void *elements = leaf_load(id, &x);
    *out = elements ? malloc((size_t)(n ? n : 1) * sizeof **out) : NULL;
    for (int64_t i = 0; *out && i < n; i++)
        (void)to_double(x.dtype, elements, same_shape(&x.shape, shape) ? i : place_of(&x.shape, shape, i),
                        &(*out)[i]);
    free(elements);
    return *out ? KN_OK : KN_ERROR_MEMORY;
}

/* Stores values in result `id`, which has memory already. */
static kn_status store(uint32_t id, const double *values)
{
    kn_tensor_info y = {.size = sizeof y};
    kn_status s = kn_backend_tensor(id, &y);
    if (s) return s;
    void *elements = malloc((size_t)(y.count ? y.count : 1) * sizeof(float));
    if (!elements) return kn_backend_fail(KN_ERROR_MEMORY, "file: no host memory to store a result");
    for (int64_t i = 0; i < y.count; i++) {
        if (y.dtype == KN_BOOL)
            ((uint8_t *)elements)[i] = values[i] != 0;
        else
            ((float *)elements)[i] = (float)values[i];
    }
    s = leaf_store(id, elements);
    free(elements);
    return s;
}

static bool storable(const kn_tensor_info *y) { return y->dtype == KN_F32 || y->dtype == KN_BOOL; }

/* ---- single records */

static kn_status run_formula(const kn_record *r)
{
    double *in[MAX_OPERANDS] = {NULL}, *out = NULL;
    kn_tensor_info y = {.size = sizeof y};
    kn_status s = kn_backend_tensor(r->ids[0], &y);
    if (s || r->n_in > MAX_OPERANDS || !storable(&y) || !formula_known(r->row))
        return s ? s : KN_ERROR_UNSUPPORTED;
    for (int i = 0; i < r->n_in && s == KN_OK; i++) s = load(r->ids[r->n_out + i], &y.shape, y.count, &in[i]);
    if (s == KN_OK && !(out = malloc((size_t)(y.count ? y.count : 1) * sizeof *out))) s = KN_ERROR_MEMORY;
    if (s == KN_OK && !formula_run(r, in, y.count, out)) s = KN_ERROR_UNSUPPORTED;
    bool reuses = false;
    for (int i = 0; i < r->n_in && s == KN_OK && !reuses; i++) reuses = kn_backend_reuse(r, i, r->ids[0]);
    counts.reused += reuses;
    if (s == KN_OK && !reuses) s = leaf_allocate(r->ids[0]);
    if (s == KN_OK) s = store(r->ids[0], out);
    for (int i = 0; i < MAX_OPERANDS; i++) free(in[i]);
    free(out);
    return s;
}

/* y = exp(x) / sum of exp(x) along the axis that the attribute names; a quiet one has 1 in the sum as well. */
static kn_status run_softmax(const kn_record *r)
{
    kn_tensor_info y = {.size = sizeof y};
    int64_t axis = 0, quiet = 0, length, inner = 1;
    double *x = NULL;
    kn_status s = kn_backend_tensor(r->ids[0], &y);
    if (s == KN_OK && y.dtype != KN_F32) return KN_ERROR_UNSUPPORTED;
    if (s == KN_OK) s = kn_backend_attribute_int(r, "axis", &axis);
    if (s == KN_OK) s = kn_backend_attribute_int(r, "quiet", &quiet);
    if (s == KN_OK) s = load(r->ids[1], &y.shape, y.count, &x);
    if (s) return s;
    counts.attributes++;
    if (axis < 0) axis += y.shape.rank;
    length = y.shape.rank ? y.shape.dims[axis] : 1;
    for (int a = (int)axis + 1; a < y.shape.rank; a++) inner *= y.shape.dims[a];
    for (int64_t line = 0; length && line < y.count / length; line++) {
        double *v = x + line / inner * inner * length + line % inner, highest = v[0], sum = 0;
        for (int64_t i = 1; i < length; i++)
            if (v[i * inner] > highest || highest != highest) highest = v[i * inner];
        if (quiet && highest < 0) highest = 0;
        for (int64_t i = 0; i < length; i++) sum += v[i * inner] = exp(v[i * inner] - highest);
        if (quiet) sum += exp(-highest);
        for (int64_t i = 0; i < length; i++) v[i * inner] /= sum;
    }
    s = leaf_allocate(r->ids[0]);
    if (s == KN_OK) s = store(r->ids[0], x);
    free(x);
    return s;
}

/* The sum over the axes of an attribute. */
static kn_status run_sum(const kn_record *r)
{
    kn_tensor_info x = {.size = sizeof x}, y = {.size = sizeof y};
    kn_ints axes;
    double *in = NULL, *out = NULL;
    bool reduced[KN_MAX_RANK] = {false};
    kn_status s = kn_backend_tensor(r->ids[1], &x);
    if (s == KN_OK) s = kn_backend_tensor(r->ids[0], &y);
    if (s == KN_OK && (x.dtype != KN_F32 || y.dtype != KN_F32)) return KN_ERROR_UNSUPPORTED;
    if (s == KN_OK) s = kn_backend_attribute_list(r, "axes", &axes);
    if (s == KN_OK) s = load(r->ids[1], &x.shape, x.count, &in);
    if (s) return s;
    counts.attributes++;
    for (int i = 0; i < axes.rank; i++)
        reduced[axes.dims[i] < 0 ? axes.dims[i] + x.shape.rank : axes.dims[i]] = true;
    out = calloc((size_t)(y.count ? y.count : 1), sizeof *out);
    for (int64_t i = 0; out && i < x.count; i++) {
        int64_t rest = i, at = 0, step = 1;
        for (int a = x.shape.rank - 1; a >= 0; a--) {
            if (!reduced[a]) {
                at += rest % x.shape.dims[a] * step;
                step *= x.shape.dims[a];
            }
            rest /= x.shape.dims[a];
        }
        out[at] += in[i];
    }
    s = out ? leaf_allocate(r->ids[0]) : KN_ERROR_MEMORY;
    if (s == KN_OK) s = store(r->ids[0], out);
    free(in);
    free(out);
    return s;
}

static const struct {
    const char *name;
    kn_status (*run)(const kn_record *r);
} kernels[] = {{"softmax", run_softmax}, {"sum", run_sum}};

static kn_status execute_one(const kn_record *r)
{
    if (r->flags & KN_RECORD_DROP) return KN_OK;
    kn_status s = kn_backend_view(r);
    counts.views += s == KN_OK;
    if (s != KN_ERROR_UNSUPPORTED) return s;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (!strcmp(kernels[i].name, kn_backend_op_name(r->row))) return kernels[i].run(r);
    return run_formula(r);
}

kn_status leaf_execute(kn_backend *b, const kn_record *const *records, int32_t n)
{
    kn_status s = KN_OK;
    (void)b;
    for (int32_t i = 0; i < n && s == KN_OK; i++) {
        s = execute_one(records[i]);
        counts.records += s == KN_OK;
    }
    return s;
}

kn_support leaf_supports(kn_backend *b, const struct kn_op *row, kn_dtype dtype, const char **why)
{
    kn_op_info info;
    (void)b;
    if (kn_op_at(kn_backend_op_number(row), &info) && info.has_view) return KN_SUPPORT_NATIVE;
    bool known = formula_known(row);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        known |= !strcmp(kernels[i].name, kn_backend_op_name(row));
    if (known && (dtype == KN_F32 || dtype == KN_BOOL)) return KN_SUPPORT_NATIVE;
    if (why) *why = known ? "only f32 is computed in the file" : "no kernel for it";
    return KN_SUPPORT_NO;
}

/* ---- pointwise groups */

kn_status leaf_limits(kn_backend *b, kn_limits *limits)
{
    (void)b;
    limits->kinds = 1u << KN_GROUP_POINTWISE;
    limits->max_records = 16;
    limits->max_inputs = 16;
    limits->max_outputs = 8;
    return KN_OK;
}

/* Values of a group by id: what it reads from outside and what its records make. */
typedef struct values {
    uint32_t ids[MAX_VALUES];
    double *elements[MAX_VALUES];
    int n;
} values;

static double *value_of(const values *v, uint32_t id)
{
    for (int i = 0; i < v->n; i++)
        if (v->ids[i] == id) return v->elements[i];
    return NULL;
}

static bool keep(values *v, uint32_t id, double *elements)
{
    if (!elements || v->n == MAX_VALUES) {
        free(elements);
        return false;
    }
    v->ids[v->n] = id;
    v->elements[v->n++] = elements;
    return true;
}

/* Runs a record over values; it must have the group's shape and nothing but f32 and truths. */
static kn_status run_in_group(const kn_record *r, const kn_tensor_info *shape, values *v)
{
    double *in[MAX_OPERANDS];
    kn_tensor_info y = {.size = sizeof y};
    kn_status s = kn_backend_tensor(r->ids[0], &y);
    if (s) return s;
    if (r->n_out != 1 || r->n_in > MAX_OPERANDS || !storable(&y) || !same_shape(&y.shape, &shape->shape))
        return KN_ERROR_UNSUPPORTED;
    for (int i = 0; i < r->n_in; i++)
        if (!(in[i] = value_of(v, r->ids[1 + i]))) return KN_ERROR_UNSUPPORTED;
    double *out = malloc((size_t)(shape->count ? shape->count : 1) * sizeof *out);
    if (out && !formula_run(r, in, shape->count, out)) {
        free(out);
        return KN_ERROR_UNSUPPORTED;
    }
    return keep(v, r->ids[0], out) ? KN_OK : KN_ERROR_UNSUPPORTED;
}

static kn_status store_results(const kn_group *g, const values *v)
{
    kn_status s = KN_OK;
    for (int32_t o = 0; o < g->n_outputs && s == KN_OK; o++) {
        bool reuses = false;
        for (int32_t i = 0; i < g->n_inputs && !reuses; i++)
            reuses = kn_backend_group_reuse(g, g->inputs[i], g->outputs[o]);
        counts.reused += reuses;
        if (!reuses) s = leaf_allocate(g->outputs[o]);
        if (s == KN_OK) s = store(g->outputs[o], value_of(v, g->outputs[o]));
    }
    return s;
}

kn_status leaf_run_group(kn_backend *b, const kn_group *g)
{
    values v = {.n = 0};
    kn_tensor_info shape = {.size = sizeof shape};
    (void)b;
    if (g->kind != KN_GROUP_POINTWISE || g->n_outputs < 1) return KN_ERROR_UNSUPPORTED;
    kn_status s = kn_backend_tensor(g->outputs[0], &shape);
    for (int32_t i = 0; i < g->n_inputs && s == KN_OK; i++) {
        double *elements = NULL;
        s = load(g->inputs[i], &shape.shape, shape.count, &elements);
        if (s == KN_OK && !keep(&v, g->inputs[i], elements)) s = KN_ERROR_UNSUPPORTED;
    }
    for (int32_t i = 0; i < g->n_records && s == KN_OK; i++) s = run_in_group(g->records[i], &shape, &v);
    for (int32_t o = 0; o < g->n_outputs && s == KN_OK; o++)
        if (!value_of(&v, g->outputs[o])) s = KN_ERROR_UNSUPPORTED;
    if (s == KN_OK) s = store_results(g, &v);
    for (int i = 0; i < v.n; i++) free(v.elements[i]);
    counts.groups += s == KN_OK;
    counts.grouped += s == KN_OK ? g->n_records : 0;
    return s;
}
