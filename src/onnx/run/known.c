/* Contents of values: reading them, and values made of known contents. */
#include "core/dtype.h"
#include "core/objects.h"
#include "onnx/run/conversion.h"
#include "onnx/run/file_tensor.h"
#include <kn/elementwise.h>
#include <stdlib.h>
#include <string.h>

/* ---- tensors of known numbers */

kn_tensor kni_content_tensor(const kni_entry *e)
{
    int64_t few[32] = {0}, *list = e->n_content <= 32 ? few : malloc((size_t)e->n_content * sizeof *list);
    if (!list) return kn_poison(KN_ERROR_MEMORY, "no memory for the elements of a tensor");
    for (int64_t i = 0; i < e->n_content; i++) list[i] = e->content[i].value;
    kn_shape shape = {e->rank, {0}};
    for (int32_t a = 0; a < e->rank; a++) shape.dims[a] = e->extents[a].value;
    kn_tensor t = kn_from(list, KN_I64, shape);
    if (list != few) free(list);
    return e->dtype == KN_I64 ? t : kn_cast(t, e->dtype);
}

kn_tensor kni_entry_read(kni_conversion *c, kni_entry *e, const char *what)
{
    if (c->status) return KN_NONE;
    if (e->kind != KNI_IS_TENSOR) {
        kni_convert_fail(c, KN_ERROR_DTYPE, "%s is not a tensor of numbers", what);
        return KN_NONE;
    }
    if (!e->host.bits && !e->content && !c->target->read(c, e, what)) return KN_NONE;
    if (!e->host.bits && e->content) {
        for (int64_t i = 0; i < e->n_content; i++) kni_extent_number(c, e->content[i], what);
        kn_device before = kn_device_current();
        kn_device_use(c->plan->host);
        kn_tensor t = c->status ? KN_NONE : kni_content_tensor(e);
        kn_device_use(before);
        if (!kn_ok(t)) {
            kni_convert_fail(c, KN_ERROR_MEMORY, "no memory for %s", what);
            return KN_NONE;
        }
        e->host = kn_keep(t);
    }
    return e->host;
}

/* ---- reading */

bool kni_is_known(const kni_conversion *c, kni_datum x)
{
    kni_entry *e = kni_entry_of(c, x);
    if (!e || e->kind != KNI_IS_TENSOR) return e != NULL;
    return e->content || e->host.bits || c->target->is_known((kni_conversion *)(uintptr_t)c, e);
}

bool kni_runs_now(const kni_conversion *c) { return c->target->now; }

bool kni_has_open_number(const kni_conversion *c, kni_datum x)
{
    const kni_entry *e = kni_entry_of(c, x);
    for (int64_t i = 0; e && e->kind == KNI_IS_TENSOR && e->content && i < e->n_content; i++)
        if (e->content[i].text) return true;
    return false;
}

/* Room for n things, of which there is at least one; NULL with the node failed. */
static void *list_of(kni_conversion *c, int64_t n, size_t size)
{
    void *list = n >= 0 && (uint64_t)n < SIZE_MAX / size ? calloc((size_t)n + 1, size) : NULL;
    if (!list) kni_convert_fail(c, KN_ERROR_MEMORY, "no memory for %lld numbers", (long long)n);
    return list;
}

static bool is_whole(kn_dtype dtype) { return !kni_is_float(dtype); }

/* Whether all of a tensor of floats are whole numbers. */
static bool holds_whole(kni_conversion *c, const kni_entry *e, kn_tensor t, const char *what)
{
    int64_t n = kn_count(t);
    double *list = list_of(c, n, sizeof *list);
    bool good = list && !kn_read_as(t, KN_F64, list, (size_t)n * sizeof *list);
    for (int64_t i = 0; good && i < n; i++)
        good = list[i] >= -9007199254740992.0 && list[i] <= 9007199254740992.0 &&
               list[i] == (double)(int64_t)list[i];
    free(list);
    if (!good)
        kni_convert_fail(c, KN_ERROR_DTYPE, "%s is %s; whole numbers are needed", what,
                         kn_dtype_name(e->dtype));
    return good;
}

/* Fills e->ints with the elements of e->host. */
static bool read_ints(kni_conversion *c, kni_entry *e, const char *what)
{
    kn_tensor t = kni_entry_read(c, e, what);
    if (!t.bits) return false;
    if (!is_whole(e->dtype) && !holds_whole(c, e, t, what)) return false;
    int64_t n = kn_count(t), *list = list_of(c, n, sizeof *list);
    if (!list) return false;
    if (kn_read_as(t, KN_I64, list, (size_t)n * sizeof *list)) {
        kni_convert_fail(c, KN_ERROR_INTERNAL, "%s", kni_failure_taken());
        return free(list), false;
    }
    e->ints = list;
    e->n_content = n;
    return true;
}

const kni_extent *kni_known_extents(kni_conversion *c, kni_datum x, const char *what, int64_t *n)
{
    kni_entry *e = kni_entry_of(c, x);
    *n = 0;
    if (!e) kni_convert_fail(c, KN_ERROR_ARGUMENT, "%s is missing", what);
    if (c->status) return NULL;
    if (e->kind == KNI_IS_TENSOR && !e->content && !e->host.bits && !c->target->read(c, e, what)) return NULL;
    if (!e->content) {
        if (!e->ints && !read_ints(c, e, what)) return NULL;
        kni_extent *list = list_of(c, e->n_content, sizeof *list);
        if (!list) return NULL;
        for (int64_t i = 0; i < e->n_content; i++) list[i] = KNI_EXTENT(e->ints[i]);
        e->content = list;
    }
    *n = e->n_content;
    return e->content;
}

const kni_extent *kni_known_counts(kni_conversion *c, kni_datum x, const char *what, int64_t *n)
{
    kni_entry *e = kni_entry_of(c, x);
    bool unknown = e && e->kind == KNI_IS_TENSOR && !e->content && !e->host.bits;
    if (unknown && c->target->count && !c->status) (void)!c->target->count(c, x);
    return kni_known_extents(c, x, what, n);
}

const kni_extent *kni_known_places(kni_conversion *c, kni_datum x, const char *what, int64_t *n)
{
    const kni_entry *e = kni_entry_of(c, x);
    return e && e->is_input ? kni_known_extents(c, x, what, n) : kni_known_counts(c, x, what, n);
}

kni_extent kni_known_count(kni_conversion *c, kni_datum x, const char *what)
{
    int64_t n = 0;
    const kni_extent *list = kni_known_counts(c, x, what, &n);
    if (list && n == 1) return *list;
    if (list) kni_convert_fail(c, KN_ERROR_SHAPE, "%s has %lld elements; one is needed", what, (long long)n);
    return KNI_EXTENT(0);
}

const int64_t *kni_known_ints(kni_conversion *c, kni_datum x, const char *what, int64_t *n)
{
    kni_entry *e = kni_entry_of(c, x);
    *n = 0;
    if (!e) kni_convert_fail(c, KN_ERROR_ARGUMENT, "%s is missing", what);
    if (c->status) return NULL;
    if (!e->ints && e->content) {
        int64_t *list = list_of(c, e->n_content, sizeof *list);
        for (int64_t i = 0; list && i < e->n_content; i++)
            list[i] = kni_extent_number(c, e->content[i], what);
        if (c->status) return free(list), NULL;
        e->ints = list;
    }
    if (!e->ints && !read_ints(c, e, what)) return NULL;
    *n = e->n_content;
    return e->ints;
}

const double *kni_known_reals(kni_conversion *c, kni_datum x, const char *what, int64_t *n)
{
    kni_entry *e = kni_entry_of(c, x);
    *n = 0;
    if (!e) kni_convert_fail(c, KN_ERROR_ARGUMENT, "%s is missing", what);
    if (c->status) return NULL;
    kn_tensor t = kni_entry_read(c, e, what);
    if (!t.bits) return NULL;
    *n = kn_count(t);
    if (e->reals) return e->reals;
    double *list = list_of(c, *n, sizeof *list);
    if (!list) return NULL;
    if (kn_read_as(t, KN_F64, list, (size_t)*n * sizeof *list)) {
        kni_convert_fail(c, KN_ERROR_INTERNAL, "%s", kni_failure_taken());
        return free(list), NULL;
    }
    return e->reals = list;
}

int64_t kni_known_int(kni_conversion *c, kni_datum x, const char *what, int64_t otherwise)
{
    int64_t n = 0;
    if (!kni_is_given(x)) return otherwise;
    const int64_t *list = kni_known_ints(c, x, what, &n);
    if (list && n == 1) return *list;
    if (list) kni_convert_fail(c, KN_ERROR_SHAPE, "%s has %lld elements; one is needed", what, (long long)n);
    return otherwise;
}

double kni_known_real(kni_conversion *c, kni_datum x, const char *what, double otherwise)
{
    int64_t n = 0;
    if (!kni_is_given(x)) return otherwise;
    const double *list = kni_known_reals(c, x, what, &n);
    if (list && n == 1) return *list;
    if (list) kni_convert_fail(c, KN_ERROR_SHAPE, "%s has %lld elements; one is needed", what, (long long)n);
    return otherwise;
}

const kni_onnx_text *kni_known_strings(kni_conversion *c, kni_datum x, int64_t *n)
{
    kni_entry *e = kni_entry_of(c, x);
    *n = 0;
    if (c->status) return NULL;
    if (!e || e->kind != KNI_IS_STRINGS) {
        kni_convert_fail(c, KN_ERROR_DTYPE, "strings are needed");
        return NULL;
    }
    *n = e->strings->n;
    return e->texts;
}

/* ---- making */

/* Runs `make` on the host, so that its tensor is known. */
static kni_datum host_tensor(kni_conversion *c, const void *data, kn_dtype dtype, const int64_t *sizes,
                             int32_t rank)
{
    if (c->status) return KNI_ABSENT;
    kn_shape shape = {rank, {0}};
    if (rank < 0 || rank > KN_MAX_RANK) {
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "a constant has %d axes; %d are supported", rank,
                         KN_MAX_RANK);
        return KNI_ABSENT;
    }
    for (int32_t a = 0; a < rank; a++) shape.dims[a] = sizes[a];
    kn_device before = kn_device_current();
    kn_device_use(c->plan->host);
    kn_tensor t = kn_from(data, dtype, shape);
    kn_device_use(before);
    return kni_entry_host(c, t);
}

kni_datum kni_constant(kni_conversion *c, const void *data, kn_dtype dtype, const int64_t *sizes,
                       int32_t rank)
{
    return host_tensor(c, data, dtype, sizes, rank);
}

kni_datum kni_real_number(kni_conversion *c, double value, kn_dtype dtype)
{
    if (c->status) return KNI_ABSENT;
    kn_device before = kn_device_current();
    kn_device_use(c->plan->host);
    kn_tensor t = kn_scalar(value, dtype);
    kn_device_use(before);
    return kni_entry_host(c, t);
}

kni_datum kni_whole_number(kni_conversion *c, int64_t value, kn_dtype dtype)
{
    if (c->status) return KNI_ABSENT;
    kn_device before = kn_device_current();
    kn_device_use(c->plan->host);
    kn_tensor t = kn_scalar_int(value, dtype);
    kn_device_use(before);
    return kni_entry_host(c, t);
}

kni_datum kni_known_list(kni_conversion *c, const kni_extent *elements, int64_t n, bool scalar)
{
    kni_datum x = KNI_ABSENT;
    if (scalar && n != 1) kni_convert_fail(c, KN_ERROR_INTERNAL, "%lld elements of rank 0", (long long)n);
    kni_entry *e = c->status ? NULL : kni_entry_new(c, KNI_IS_TENSOR, &x);
    if (!e) return KNI_ABSENT;
    e->content = list_of(c, n, sizeof *e->content);
    if (!e->content) return KNI_ABSENT;
    if (n) memcpy(e->content, elements, (size_t)n * sizeof *elements);
    e->n_content = n;
    e->dtype = KN_I64;
    e->rank = scalar ? 0 : 1;
    if (!scalar) e->extents[0] = KNI_EXTENT(n);
    e->near = true;
    return x;
}

kni_datum kni_constant_of(kni_conversion *c, const kni_onnx_tensor *tensor)
{
    if (c->status) return KNI_ABSENT;
    if (tensor->type == KNI_ONNX_STRING) {
        kni_extent extents[KN_MAX_RANK];
        for (int32_t a = 0; a < tensor->rank && a < KN_MAX_RANK; a++)
            extents[a] = KNI_EXTENT(tensor->sizes[a]);
        return kni_strings(c, tensor->strings, extents, tensor->rank);
    }
    kn_device before = kn_device_current();
    kn_device_use(c->plan->host);
    kn_tensor t = kni_file_tensor(tensor, NULL, NULL);
    kn_device_use(before);
    return kni_entry_host(c, t);
}

/* ---- distances */

static const kni_onnx_node *maker_of(const kni_conversion *c, int32_t value)
{
    const kni_onnx_value *v = value >= 0 ? &c->plan->model->values[value] : NULL;
    return v && v->graph && v->node >= 0 && v->node < v->graph->n_nodes ? &v->graph->nodes[v->node] : NULL;
}

static bool keeps_number(const kni_onnx_node *node)
{
    static const char *const ops[] = {"Identity", "Cast", "Reshape", "Unsqueeze", "Squeeze"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!strcmp(node->op, ops[i])) return true;
    return false;
}

/* Whether the operand of a node is one whole number that is known. */
static bool operand_number(kni_conversion *c, const kni_onnx_node *node, int32_t operand, int64_t *number)
{
    kni_datum x =
        operand < node->n_in && node->in[operand] >= 0 ? kni_bound(c, node->in[operand]) : KNI_ABSENT;
    int64_t n = 0;
    if (c->status || !kni_is_given(x) || kni_kind_of(c, x) != KNI_IS_TENSOR || !kni_is_known(c, x) ||
        kni_is_float(kni_dtype_of(c, x)))
        return false;
    const kni_extent *list = kni_known_extents(c, x, "a number", &n);
    if (!list || n != 1 || list->text) return false;
    *number = list->value;
    return *number > -INT32_MAX && *number < INT32_MAX;
}

/* The value that nodes which keep, raise or lower its number begin with, and by how much it is raised. */
static int32_t origin_of(kni_conversion *c, int32_t value, int64_t *raised)
{
    enum { MOST_NODES = 16 };
    *raised = 0;
    for (int i = 0; i < MOST_NODES; i++) {
        const kni_onnx_node *node = maker_of(c, value);
        int64_t number;
        if (!node || *node->domain || node->n_in < 1) break;
        bool adds = !strcmp(node->op, "Add"), lowers = !strcmp(node->op, "Sub");
        if (keeps_number(node)) {
            value = node->in[0];
        } else if ((adds || lowers) && operand_number(c, node, 1, &number)) {
            *raised += lowers ? -number : number;
            value = node->in[0];
        } else if (adds && operand_number(c, node, 0, &number)) {
            *raised += number;
            value = node->in[1];
        } else {
            break;
        }
    }
    return value;
}

bool kni_known_distance(kni_conversion *c, int32_t a, int32_t b, int64_t *distance)
{
    int64_t first, second;
    int32_t from = origin_of(c, a, &first), to = origin_of(c, b, &second);
    *distance = second - first;
    return from >= 0 && from == to && !c->status;
}
