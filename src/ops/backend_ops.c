/* What a backend outside this library can ask of rows and records: names, attributes, formulas, views, memory to reuse. */
#include "core/text.h"
#include "ops/body.h"
#include "ops/record.h"
#include <string.h>

int32_t kn_backend_op_number(const struct kn_op *row) { return row ? row->number : -1; }

const char *kn_backend_op_name(const struct kn_op *row) { return row ? row->name : "none"; }

/* ---- attributes */

/* Copies the attribute of a type; a failure says what is there instead. */
static kn_status attribute(const kn_record *r, const char *name, int type, void *value, size_t bytes)
{
    static const char *const types[] = {
        [KNI_ATTR_INT] = "a whole number", [KNI_ATTR_REAL] = "a real number", [KNI_ATTR_INTS] = "a list"};
    if (!r || !r->row || !name || !value)
        return kni_fail(
            KN_ERROR_ARGUMENT,
            "kn_backend_attribute: the record, its row, the name or the place for the value is NULL");
    const kn_attribute *a = r->row->schema;
    while (a && a->name && strcmp(a->name, name)) a++;
    if (!a || !a->name) return kni_fail_attribute(r->row, name, NULL);
    if (a->type != type)
        return kni_fail_op(KN_ERROR_ARGUMENT, r->row->name, "its attribute '%s' is %s, not %s", name,
                           types[a->type], types[type]);
    memcpy(value, (const char *)r->attributes + a->offset, bytes);
    return KN_OK;
}

kn_status kn_backend_attribute_int(const kn_record *record, const char *name, int64_t *value)
{
    return attribute(record, name, KNI_ATTR_INT, value, sizeof *value);
}

kn_status kn_backend_attribute_real(const kn_record *record, const char *name, double *value)
{
    return attribute(record, name, KNI_ATTR_REAL, value, sizeof *value);
}

kn_status kn_backend_attribute_list(const kn_record *record, const char *name, kn_ints *value)
{
    return attribute(record, name, KNI_ATTR_INTS, value, sizeof *value);
}

/* ---- formulas */

/* A step in the public form; false where it has none. */
static bool public_step(kni_step step, kn_body_step *out)
{
    static const struct {
        uint8_t kind, arity;
        const char *word;
    } words[] = {{KNI_STEP_SELECT, 3, "select"}, {KNI_STEP_AND, 2, "both"}, {KNI_STEP_OR, 2, "either"},
                 {KNI_STEP_XOR, 2, "differ"},    {KNI_STEP_NOT, 1, "isnt"}, {KNI_STEP_EXPN, 1, "exp"}};
    static const struct {
        uint8_t from, to;
    } plain[] = {{KNI_STEP_INPUT, KN_BODY_INPUT},
                 {KNI_STEP_PARAM, KN_BODY_PARAM},
                 {KNI_STEP_CONSTANT, KN_BODY_CONSTANT},
                 {KNI_STEP_STORE, KN_BODY_STORE},
                 {KNI_STEP_LOCAL, KN_BODY_LOCAL}};
    *out = (kn_body_step){.index = step.index, .value = step.value};
    for (int i = 0; i < KNI_COUNT(plain); i++) {
        if (plain[i].from != step.kind) continue;
        out->kind = (kn_body_kind)plain[i].to;
        return true;
    }
    out->kind = KN_BODY_WORD;
    for (int i = 0; i < KNI_COUNT(words); i++) {
        if (words[i].kind != step.kind) continue;
        out->word = words[i].word;
        out->arity = words[i].arity;
        return true;
    }
    if (step.kind != KNI_STEP_WORD) return false;
    out->word = kni_word_at(step.index)->name;
    out->arity = kni_word_at(step.index)->arity;
    return true;
}

int32_t kn_backend_body(const struct kn_op *row, kn_body_step *steps, size_t size, int32_t room)
{
    if (!row || !kni_is_pointwise(row)) return 0;
    int32_t n = row->body->n;
    for (int32_t i = 0; i < n; i++) {
        kn_body_step step;
        if (!public_step(kni_body_step(row->body, i), &step)) return 0;
        step.size = (uint32_t)(size < sizeof step ? size : sizeof step);
        if (steps && i < room) memcpy((char *)steps + (size_t)i * size, &step, step.size);
    }
    return n;
}

bool kn_backend_body_param(const kn_record *record, int32_t index, double *value)
{
    if (!record || !value || index < 0 || !record->row || !kni_is_pointwise(record->row) ||
        (size_t)index >= record->attribute_bytes / sizeof *value)
        return false;
    memcpy(value, (const char *)record->attributes + (size_t)index * sizeof *value, sizeof *value);
    return true;
}

kn_dtype kn_backend_body_dtype(const kn_record *record)
{
    const kni_type *types[2];
    if (!record || !record->row || !kni_is_pointwise(record->row)) return KN_DTYPE_NONE;
    if (record->row->rule != KNI_RULE_COMPARE) return (kn_dtype)kni_out(record, 0)->type.dtype;
    int n = record->n_in < KNI_COUNT(types) ? record->n_in : KNI_COUNT(types);
    for (int i = 0; i < n; i++) types[i] = &kni_in(record, i)->type;
    return (kn_dtype)kni_operand_dtype(record->row, types, 0, n);
}

/* ---- memory */

bool kn_backend_reuse(const kn_record *record, int32_t input, uint32_t id)
{
    if (!record || !record->row || input < 0) return false;
    kni_tensor *y = kni_slot(id);
    if (y->flags & KNI_TENSOR_BOUND || !kni_may_overwrite_promised(record, input, y)) return false;
    kni_take_memory(y, kni_in(record, input));
    return true;
}

static kn_status refuse_copy(void *unused, kni_tensor *x, kni_tensor *copy)
{
    (void)unused, (void)x, (void)copy;
    return KN_ERROR_UNSUPPORTED;
}

kn_status kn_backend_view(const kn_record *record)
{
    if (!record || !record->row || !record->row->view) return KN_ERROR_UNSUPPORTED;
    return kni_view_record(record, refuse_copy, NULL);
}
