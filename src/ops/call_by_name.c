/* kn_call: runs any row of the table by its name, with attributes by theirs. */
#include "core/allocator.h"
#include "core/device_object.h"
#include "core/objects.h"
#include "core/text.h"
#include "ops/custom_rows.h"
#include <kn/call.h>
#include <string.h>

enum { FRAME_BYTES = 1024 };

/* Elementwise bodies with numbers need no schema of their own: p0 to p3. */
static const kn_attribute scalar_schema[] = {{"p0", KNI_ATTR_REAL, KNI_STATIC, 0},
                                             {"p1", KNI_ATTR_REAL, KNI_STATIC, 8},
                                             {"p2", KNI_ATTR_REAL, KNI_STATIC, 16},
                                             {"p3", KNI_ATTR_REAL, KNI_STATIC, 24},
                                             {0}};

const kn_attribute *kni_schema_of(const kn_op *row)
{
    static const kn_attribute empty[] = {{0}};
    if (row->schema) return row->schema;
    return kni_is_pointwise(row) && row->attribute_bytes == sizeof(kni_scalar_params) ? scalar_schema : empty;
}

kn_status kni_fail_attribute(const kn_op *row, const char *name, const char *first)
{
    char known[200] = "";
    kni_text text = {known, sizeof known, 0};
    if (first) kni_text_string(&text, first);
    for (const kn_attribute *a = kni_schema_of(row); a->name; a++)
        if (!first || strcmp(a->name, first) != 0)
            kni_text_format(&text, "%s%s", text.length ? ", " : "", a->name);
    return kni_fail_op(KN_ERROR_ARGUMENT, row->name, "it has no attribute '%s'; there is %s", name,
                       *known ? known : "none");
}

static const kn_attribute *attribute_named(const kn_attribute *schema, const char *name)
{
    for (; schema->name; schema++)
        if (!strcmp(schema->name, name)) return schema;
    return NULL;
}

static kn_status fill_attributes(const kn_op *row, const kn_attribute_value *values, char *place)
{
    const kn_attribute *schema = kni_schema_of(row);
    for (; values && values->name; values++) {
        const kn_attribute *a = attribute_named(schema, values->name);
        if (!a) return kni_fail_attribute(row, values->name, NULL);
        if (a->type == KNI_ATTR_INT) {
            memcpy(place + a->offset, &values->integer, sizeof values->integer);
        } else if (a->type == KNI_ATTR_REAL) {
            memcpy(place + a->offset, &values->real, sizeof values->real);
        } else {
            if (values->list.rank < 0 || values->list.rank > KN_MAX_RANK)
                return kni_fail_op(KN_ERROR_ARGUMENT, row->name, "the list '%s' has a length of %d; 0 to %d",
                                   values->name, values->list.rank, KN_MAX_RANK);
            memcpy(place + a->offset, &values->list, sizeof values->list);
        }
    }
    return KN_OK;
}

static bool is_named(const kn_attribute_value *values, const char *name)
{
    for (; values && values->name; values++)
        if (!strcmp(values->name, name)) return true;
    return false;
}

/* Random rows draw from the device of their operand, or from the current one, as their public functions do. A counter for each element
   is more than any of them needs. */
static void draw_numbers(const kn_op *row, const kn_tensor *in, int32_t n_in, char *place)
{
    int64_t key, counter, draws = n_in > 0 && kn_count(in[0]) > 0 ? kn_count(in[0]) : 1;
    const kni_tensor *x = n_in > 0 ? kni_peek(in[0]) : NULL;
    kn_device device = x ? x->device : kni_device_current();
    const kn_attribute *schema = kni_schema_of(row), *shape = attribute_named(schema, "shape"),
                       *samples = attribute_named(schema, "samples"),
                       *key_place = attribute_named(schema, "key"),
                       *counter_place = attribute_named(schema, "counter");
    if (!device || !key_place || !counter_place) return;
    if (shape) {
        kn_ints list;
        memcpy(&list, place + shape->offset, sizeof list);
        draws = kni_count_dims(list.rank, list.dims);
    } else if (samples) {
        int64_t n;
        memcpy(&n, place + samples->offset, sizeof n);
        if (n < 0 || __builtin_mul_overflow(draws, n, &draws)) draws = 0;
    }
    if (draws < 0) draws = 0;
    key = (int64_t)kni_rng_key(device);
    counter = (int64_t)kni_rng_reserve(device, (uint64_t)draws);
    memcpy(place + key_place->offset, &key, sizeof key);
    memcpy(place + counter_place->offset, &counter, sizeof counter);
}

static kn_status check_counts(const kn_op *row, const kn_tensor *in, int32_t n_in, const kn_tensor *out,
                              int32_t n_out)
{
    if (n_in < 0 || (n_in > 0 && !in))
        return kni_fail_op(KN_ERROR_ARGUMENT, row->name, "the list of %d operands is missing", n_in);
    if (n_out != row->n_out || !out)
        return kni_fail_op(KN_ERROR_ARGUMENT, row->name, "room for %d outputs given; it has %d", n_out,
                           (int)row->n_out);
    return KN_OK;
}

static kn_status call_row(const kn_op *row, const kn_tensor *in, int32_t n_in,
                          const kn_attribute_value *attributes, kn_tensor *out, int32_t n_out, char *place)
{
    const void *defaults = kni_custom_defaults(row);
    if (defaults)
        memcpy(place, defaults, row->attribute_bytes);
    else
        memset(place, 0, row->attribute_bytes);
    kn_status s = fill_attributes(row, attributes, place);
    if (s) return s;
    if (row->flags & KNI_FLAG_RANDOM && !is_named(attributes, "key") && !is_named(attributes, "counter"))
        draw_numbers(row, in, n_in, place);
    kni_apply_many(row, in, n_in, row->attribute_bytes ? place : NULL, out, n_out);
    for (int32_t k = 0; k < n_out; k++)
        if (kni_is_poisoned(out[k])) return kni_failure_again(out[k]);
    return KN_OK;
}

static kn_status call_with_memory(const kn_op *row, const kn_tensor *in, int32_t n_in,
                                  const kn_attribute_value *attributes, kn_tensor *out, int32_t n_out)
{
    union {
        int64_t aligned;
        char bytes[FRAME_BYTES];
    } frame;
    if (row->attribute_bytes <= FRAME_BYTES)
        return call_row(row, in, n_in, attributes, out, n_out, frame.bytes);
    char *heap = kni_allocate(row->attribute_bytes);
    if (!heap) return kni_fail_op(KN_ERROR_MEMORY, row->name, "no memory for the attributes");
    kn_status s = call_row(row, in, n_in, attributes, out, n_out, heap);
    kni_free(heap, row->attribute_bytes);
    return s;
}

kn_status kn_call(const char *op, const kn_tensor *in, int32_t n_in, const kn_attribute_value *attributes,
                  kn_tensor *out, int32_t n_out)
{
    for (int32_t k = 0; out && k < n_out; k++) out[k] = KN_NONE;
    const kn_op *row = op ? kni_op_by_name(op) : NULL;
    if (row && row->kind == KNI_SYSTEM) row = NULL;
    if (!row && op) row = kni_custom_by_name(op);
    kn_status s = KN_OK;
    if (!row)
        s = kni_fail(KN_ERROR_ARGUMENT, "kn_call: no op is called '%s'; 'kiln ops' lists them",
                     op ? op : "(null)");
    else
        s = check_counts(row, in, n_in, out, n_out);
    if (s == KN_OK) s = call_with_memory(row, in, n_in, attributes, out, n_out);
    for (int32_t k = 0; s && out && k < n_out; k++)
        if (out[k].bits == 0) out[k] = kni_poison_latest();
    return s;
}
