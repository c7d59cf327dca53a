/* kn_builder: what a user calls to build a program op by op. */
#include "core/allocator.h"
#include "core/device_object.h"
#include "core/dim_symbols.h"
#include "core/error.h"
#include "ops/custom_rows.h"
#include "ops/size_attributes.h"
#include "program/build_state.h"
#include "support/similar.h"
#include <kn/tensor.h>
#include <string.h>

enum { ATTRIBUTE_BYTES = 1024 };

static void destroy_builder(void *object)
{
    kni_builder *b = object;
    kni_program_destroy(b->p);
    kni_free(b, sizeof *b);
}

const kni_object_kind kni_kind_builder = {"kn_builder", "builder", "freed", destroy_builder};

kn_builder kn_builder_new(void)
{
    kni_builder *b = kni_allocate(sizeof *b);
    if (b) memset(b, 0, sizeof *b);
    if (b) b->p = kni_program_new();
    if (b && b->p) return kni_object_make(&kni_kind_builder, b, __func__);
    kni_free(b, b ? sizeof *b : 0);
    kni_fail(KN_ERROR_MEMORY, "kn_builder_new: no memory");
    return NULL;
}

void kn_builder_free(kn_builder builder) { kni_object_free(builder, &kni_kind_builder, __func__); }

bool kni_builder_goes_on(kni_builder *b)
{
    if (!b->code && b->p) return true;
    if (b->code)
        kni_fail(b->code, "%s", b->text);
    else
        kni_fail(KN_ERROR_ARGUMENT, "the builder has become a program: begin another one");
    return false;
}

kn_status kni_builder_noted(kni_builder *b, kn_status s)
{
    if (!s || b->code) return s;
    b->code = s;
    size_t n = strlen(kni_failure_latest());
    if (n >= sizeof b->text) n = sizeof b->text - 1;
    memcpy(b->text, kni_failure_latest(), n);
    b->text[n] = 0;
    return s;
}

static kn_program_value value_of(kni_builder *b, int32_t id)
{
    if (id < 0) kni_builder_noted(b, kni_latest_code());
    return (kn_program_value){id < 0 ? 0 : id + 1};
}

/* ---- values */

kn_status kn_builder_size(kn_builder builder, const char *name, int64_t lo, int64_t hi)
{
    KNI_USE(builder, b, builder);
    if (!b) return KNI_NO_OBJECT(builder);
    if (!kni_builder_goes_on(b)) return b->code ? b->code : KN_ERROR_ARGUMENT;
    kni_dims *before = kni_dims_enter(b->p->dims);
    kn_dim d = name ? kni_dim_symbol(name, lo, hi) : KNI_DIM_BAD;
    bool other = d != KNI_DIM_BAD && (kni_dim_low(d) != lo || kni_dim_high(d) != hi);
    kni_dims_enter(before);
    if (d == KNI_DIM_BAD)
        return kni_builder_noted(b,
                                 kni_fail(KN_ERROR_ARGUMENT, "kn_builder_size: '%s' from %D to %D is no size",
                                          name ? name : "(null)", lo, hi));
    if (other)
        return kni_builder_noted(
            b, kni_fail(KN_ERROR_ARGUMENT,
                        "kn_builder_size: '%s' has other bounds already: introduce it first", name));
    return KN_OK;
}

/* A symbol that was not there; KNI_DIM_BAD with the failure told. */
static kn_dim new_size(const char *name, int64_t lo, int64_t hi)
{
    int32_t n = kni_dim_symbol_count();
    kn_dim d = name ? kni_dim_symbol(name, lo, hi) : KNI_DIM_BAD;
    bool is_new = kni_dim_symbol_count() > n;
    if (d != KNI_DIM_BAD && is_new) return d;
    kni_fail(KN_ERROR_ARGUMENT,
             d == KNI_DIM_BAD ? "kn_builder_read_size: '%s' from %D to %D is no size"
                              : "kn_builder_read_size: '%s' is a size already",
             name ? name : "(null)", lo, hi);
    return KNI_DIM_BAD;
}

kn_status kn_builder_read_size(kn_builder builder, const char *name, kn_program_value value, int64_t lo,
                               int64_t hi)
{
    KNI_USE(builder, b, builder);
    if (!b) return KNI_NO_OBJECT(builder);
    if (!kni_builder_goes_on(b)) return b->code ? b->code : KN_ERROR_ARGUMENT;
    int32_t in = value.id - 1, none[1];
    kni_program_node node = {.kind = KNI_NODE_SIZE, .regions = {-1, -1}};
    if (in < 0 || in >= b->p->n_values)
        return kni_builder_noted(
            b,
            kni_fail(KN_ERROR_ARGUMENT, "kn_builder_read_size: the value of '%s' is no value of this builder",
                     name ? name : "(null)"));
    kni_dims *before = kni_dims_enter(b->p->dims);
    node.size = new_size(name, lo, hi);
    kni_dims_enter(before);
    if (node.size == KNI_DIM_BAD) return kni_builder_noted(b, KN_ERROR_ARGUMENT);
    return kni_builder_noted(b, kni_build_control(b->p, b->region, &node, &in, 1, none, 0));
}

static kn_status add_input(kni_program *p, int32_t value, const char *name)
{
    size_t n = (size_t)p->n_inputs;
    int32_t *inputs = kni_allocate((n + 1) * sizeof *inputs), *names = kni_allocate((n + 1) * sizeof *names);
    if (!inputs || !names) {
        kni_free(inputs, inputs ? (n + 1) * sizeof *inputs : 0);
        kni_free(names, names ? (n + 1) * sizeof *names : 0);
        return kni_fail(KN_ERROR_MEMORY, "kn_builder_input: no memory for '%s'", name);
    }
    if (n) memcpy(inputs, p->inputs, n * sizeof *inputs), memcpy(names, p->input_names, n * sizeof *names);
    inputs[n] = value;
    names[n] = p->values[value].name;
    p->values[value].number = (int32_t)n;
    kni_free(p->inputs, n * sizeof *inputs);
    kni_free(p->input_names, n * sizeof *names);
    p->inputs = inputs;
    p->input_names = names;
    p->n_inputs++;
    return KN_OK;
}

kn_program_value kn_builder_input(kn_builder builder, const char *name, kn_dtype dtype, const char *shape)
{
    KNI_USE(builder, b, builder);
    if (!b || !kni_builder_goes_on(b)) return KN_NO_VALUE;
    kni_type t = {.dtype = (uint8_t)dtype};
    int32_t id = -1, rank = 0;
    for (int32_t i = 0; i < b->p->n_inputs && name; i++)
        if (!strcmp(kni_name_at(b->p, b->p->input_names[i]), name)) id = i;
    if (!name || !*name || !shape || !kni_dtype_is_there(dtype) || id >= 0) {
        if (!kni_dtype_is_there(dtype))
            kni_fail_dtype("builder_input", (int64_t)dtype);
        else
            kni_fail(KN_ERROR_ARGUMENT,
                     id >= 0 ? "kn_builder_input: two inputs are called '%s'"
                             : "kn_builder_input: the name or the shape is missing%s",
                     id >= 0 ? name : "");
        return value_of(b, -1);
    }
    kni_dims *before = kni_dims_enter(b->p->dims);
    rank = kni_build_sizes(shape, "kn_builder_input", t.dims);
    kni_dims_enter(before);
    t.rank = (uint8_t)rank;
    if (rank >= 0) id = kni_build_value(b->p, KNI_FROM_INPUT, &t, 0, name);
    if (id >= 0 && add_input(b->p, id, name)) id = -1;
    return value_of(b, id);
}

static kn_program_value tensor_value(kni_builder *b, const char *name, kn_tensor value, const char *function)
{
    const kni_tensor *x = kni_is_poisoned(value) ? NULL : kni_peek(value);
    kn_tensor own = x ? kn_own(kn_alias(value)) : KN_NONE;
    if (!x || kni_is_poisoned(own)) {
        if (kni_is_poisoned(value))
            kni_fail_carried(value, function, "the tensor");
        else if (!x)
            kni_fail(KN_ERROR_HANDLE, "kn_%s: there is no such tensor", function);
        return value_of(b, -1);
    }
    kni_type type = kni_peek(own)->type;
    type.weak = 0;
    int32_t id = kni_build_value(b->p, name ? KNI_FROM_PARAM : KNI_FROM_CONSTANT, &type, 0, name);
    if (id >= 0)
        b->p->values[id].tensor = own;
    else
        kn_drop(own);
    return value_of(b, id);
}

static kn_program_value named_tensor(kni_builder *b, const char *name, kn_tensor value, const char *function)
{
    if (!kni_builder_goes_on(b)) return KN_NO_VALUE;
    const kni_program *p = b->p;
    bool good = name && *name;
    for (int32_t i = 0; i < p->n_values && good; i++)
        good = p->values[i].origin != KNI_FROM_PARAM || strcmp(kni_name_at(p, p->values[i].name), name) != 0;
    if (good) return tensor_value(b, name, value, function);
    if (name && *name)
        kni_fail(KN_ERROR_ARGUMENT, "kn_%s: two params are called '%s'", function, name);
    else
        kni_fail(KN_ERROR_ARGUMENT, "kn_%s: a param has a name", function);
    return value_of(b, -1);
}

kn_program_value kn_builder_param(kn_builder builder, const char *name, kn_tensor value)
{
    KNI_USE(builder, b, builder);
    return b ? named_tensor(b, name, value, "builder_param") : KN_NO_VALUE;
}

kn_program_value kn_builder_buffer(kn_builder builder, const char *name, kn_tensor value)
{
    KNI_USE(builder, b, builder);
    if (!b) return KN_NO_VALUE;
    int32_t before = b->p->n_values;
    kn_program_value made = named_tensor(b, name, value, "builder_buffer");
    if (b->p->n_values > before) b->p->values[before].buffer = true;
    return made;
}

kn_program_value kn_builder_constant(kn_builder builder, kn_tensor value)
{
    KNI_USE(builder, b, builder);
    return b && kni_builder_goes_on(b) ? tensor_value(b, NULL, value, "builder_constant") : KN_NO_VALUE;
}

kn_status kn_builder_type(kn_builder builder, kn_program_value value, kn_program_port *port)
{
    if (port) memset(port, 0, sizeof *port);
    KNI_USE(builder, b, builder);
    if (!b) return KNI_NO_OBJECT(builder);
    if (!kni_builder_goes_on(b)) return b->code ? b->code : KN_ERROR_ARGUMENT;
    if (!port || value.id < 1 || value.id > b->p->n_values)
        return kni_fail(KN_ERROR_ARGUMENT, "kn_builder_type: %s",
                        port ? "this is no value of the builder" : "the port is NULL");
    int32_t id = value.id - 1;
    if (kni_fill_port(b->p, id, b->p->values[id].name, port)) return KN_OK;
    return kni_fail(KN_ERROR_UNSUPPORTED,
                    "kn_builder_type: the shape as text is longer than the %d bytes of a port",
                    (int)sizeof port->shape - 1);
}

static kn_status set_name(kni_program *p, int32_t id, const char *name)
{
    if (id < 0 || id >= p->n_values)
        return kni_fail(KN_ERROR_ARGUMENT, "kn_builder_name: '%s' is to name what is no value of the builder",
                        name ? name : "");
    kni_program_value *v = &p->values[id];
    if (v->origin == KNI_FROM_INPUT || v->origin == KNI_FROM_PARAM) return KN_OK;
    bool any = name && *name;
    if (any && !kni_is_value_name(name))
        return kni_fail(KN_ERROR_ARGUMENT, "kn_builder_name: '%s' has control characters or is no UTF-8",
                        name);
    int32_t named = any ? kni_program_name(p, name) : -1;
    if (any && named < 0) return kni_fail(KN_ERROR_MEMORY, "kn_builder_name: no memory for '%s'", name);
    v->name = named;
    return KN_OK;
}

kn_status kn_builder_name(kn_builder builder, kn_program_value value, const char *name)
{
    KNI_USE(builder, b, builder);
    if (!b) return KNI_NO_OBJECT(builder);
    if (!kni_builder_goes_on(b)) return b->code ? b->code : KN_ERROR_ARGUMENT;
    return kni_builder_noted(b, set_name(b->p, value.id - 1, name));
}

/* ---- ops */

/* The number of a dtype by its name; no attribute that is called so takes sizes. */
static bool fill_dtype(const kn_attribute *a, const char *text, char *place)
{
    int64_t number = text && !strcmp(a->name, "dtype") ? (int64_t)kn_dtype_by_name(text) : KN_DTYPE_NONE;
    if (a->type != KNI_ATTR_INT || number == KN_DTYPE_NONE) return false;
    memcpy(place + a->offset, &number, sizeof number);
    return true;
}

static kn_status fill_whole(const kn_op *row, const kn_attribute *a, const char *text, char *place)
{
    int64_t values[KN_MAX_RANK];
    int32_t n = 0;
    bool good = text != NULL;
    const char *at = text;
    while (good && *at) {
        good = n < KN_MAX_RANK && (values[n++] = kni_dim_parse_whole(&at)) != KNI_DIM_BAD;
        if (*at == ',') at++;
        while (*at == ' ') at++;
    }
    if (a->type == KNI_ATTR_INT && n != 1) good = false;
    if (!good)
        return kni_fail_op(
            KN_ERROR_ARGUMENT, row->name, "'%s' as %s is no %s", text ? text : "(null)", a->name,
            a->type == KNI_ATTR_INT ? "whole number or size" : "list of whole numbers and sizes");
    kn_status s = kni_check_sizes(row, a->name, values, n);
    if (s) return s;
    if (a->type == KNI_ATTR_INT) {
        memcpy(place + a->offset, values, sizeof *values);
    } else {
        kn_ints list = {n, {0}};
        memcpy(list.dims, values, (size_t)n * sizeof *values);
        memcpy(place + a->offset, &list, sizeof list);
    }
    return KN_OK;
}

/* The attribute that was probably meant; NULL: none is near. */
static const char *nearest_attribute(const kn_op *row, const char *name)
{
    const char *nearest = NULL;
    size_t least = SIZE_MAX;
    for (const kn_attribute *a = kni_schema_of(row); a->name; a++) {
        size_t distance = kni_is_similar(name, a->name) ? kni_edit_distance(name, a->name, 64) : SIZE_MAX;
        if (distance < least) least = distance, nearest = a->name;
    }
    return nearest;
}

static kn_status fill_attributes(const kn_op *row, const kn_builder_attribute *given, char *place)
{
    const void *defaults = kni_custom_defaults(row);
    memset(place, 0, row->attribute_bytes);
    if (defaults) memcpy(place, defaults, row->attribute_bytes);
    kn_status s = KN_OK;
    for (; given && given->name && s == KN_OK; given++) {
        const kn_attribute *a = kni_schema_of(row);
        while (a->name && strcmp(a->name, given->name) != 0) a++;
        if (!a->name)
            s = kni_fail_attribute(row, given->name, nearest_attribute(row, given->name));
        else if (a->type == KNI_ATTR_REAL && given->sizes)
            s = kni_fail_op(KN_ERROR_ARGUMENT, row->name,
                            "%s is a real number: give it as .real, not as the text '%s'", a->name,
                            given->sizes);
        else if (a->type == KNI_ATTR_REAL)
            memcpy(place + a->offset, &given->real, sizeof given->real);
        else if (!fill_dtype(a, given->sizes, place))
            s = fill_whole(row, a, given->sizes, place);
    }
    return s;
}

static kn_status add_op(kni_builder *b, const char *op, const kn_program_value *in, int32_t n_in,
                        const kn_builder_attribute *attributes, kn_program_value *out, int32_t n_out)
{
    _Alignas(8) char place[ATTRIBUTE_BYTES];
    int32_t operands[KNI_BUILDER_VALUES], results[KNI_BUILDER_VALUES];
    const kn_op *row = op ? kni_build_row(op) : NULL;
    if (!row)
        return kni_fail(KN_ERROR_ARGUMENT, "kn_builder_op: no op is called '%s'; 'kiln ops' lists them",
                        op ? op : "(null)");
    if (n_in < 0 || n_in > KNI_BUILDER_VALUES || (n_in && !in) || n_out < 0 || n_out > KNI_BUILDER_VALUES ||
        row->attribute_bytes > sizeof place)
        return kni_fail_op(KN_ERROR_ARGUMENT, row->name, "the list of %d operands is missing or too long",
                           n_in);
    for (int32_t i = 0; i < n_in; i++) operands[i] = in[i].id - 1;
    kni_dims *before = kni_dims_enter(b->p->dims);
    kn_status s = fill_attributes(row, attributes, place);
    kni_dims_enter(before);
    if (s == KN_OK) s = kni_build_op(b->p, b->region, row, operands, n_in, place, results, n_out);
    for (int32_t i = 0; i < n_out && s == KN_OK; i++) out[i] = (kn_program_value){results[i] + 1};
    return s;
}

kn_status kn_builder_op_many(kn_builder builder, const char *op, const kn_program_value *in, int32_t n_in,
                             const kn_builder_attribute *attributes, kn_program_value *out, int32_t n_out)
{
    for (int32_t i = 0; i < n_out && out; i++) out[i] = KN_NO_VALUE;
    KNI_USE(builder, b, builder);
    if (!b) return KNI_NO_OBJECT(builder);
    if (!kni_builder_goes_on(b)) return b->code ? b->code : KN_ERROR_ARGUMENT;
    if (n_out > 0 && !out)
        return kni_builder_noted(b, kni_fail(KN_ERROR_ARGUMENT, "kn_builder_op_many: no room for results"));
    return kni_builder_noted(b, add_op(b, op, in, n_in, attributes, out, n_out));
}

kn_program_value kn_builder_op(kn_builder builder, const char *op, const kn_program_value *in, int32_t n_in,
                               const kn_builder_attribute *attributes)
{
    kn_program_value out = KN_NO_VALUE;
    KNI_USE(builder, b, builder);
    if (b && kni_builder_goes_on(b)) kni_builder_noted(b, add_op(b, op, in, n_in, attributes, &out, 1));
    return out;
}
