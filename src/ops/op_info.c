/* The public view of the op table. Only who asks links this, and with it every row. */
#include "core/device_object.h"
#include "ops/operand_names.h"
#include "ops/scalar_row.h"
#include "ops/size_attributes.h"
#include "ops/stored_ops.h"
#include "ops/tolerance.h"
#include <kn/autocast.h>
#include <kn/op_info.h>
#include <string.h>

static const char *const kind_names[KNI_KIND_COUNT] = {
    [KNI_CREATE] = "create",       [KNI_ELEMENTWISE] = "elementwise",
    [KNI_MOVEMENT] = "movement",   [KNI_REDUCE] = "reduce",
    [KNI_SCAN] = "scan",           [KNI_CONTRACTION] = "contraction",
    [KNI_INDEXING] = "indexing",   [KNI_SORTING] = "sorting",
    [KNI_WINDOW] = "window",       [KNI_LINALG] = "linalg",
    [KNI_COMPOSITE] = "composite", [KNI_RANDOM] = "random",
    [KNI_SYSTEM] = "system",
};

/* The formula of a row as its author wrote it. */
static const kni_body_text *body_text(const kn_op *row)
{
    static const kni_body_text none = {NULL, NULL};
    static const struct {
        uint16_t number;
        const kni_body_text *text;
    } texts[] = {
#define TEXT(name) {KNI_OP_##name, &kni_text_##name},
#include "ops/generated/body_texts.inc"
#undef TEXT
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts && row->body; i++)
        if (texts[i].number == row->number) return texts[i].text;
    return &none;
}

int32_t kn_op_count(void) { return kni_op_count(); }

static int32_t count_attributes(const kn_op *row)
{
    int32_t n = 0;
    while (row->schema && row->schema[n].name) n++;
    return n;
}

static kn_gradient_kind gradient_kind(const kn_op *row)
{
    if (row->flags & KNI_FLAG_NOT_DIFFERENTIABLE) return KN_GRADIENT_ERROR;
    if (row->flags & KNI_FLAG_ZERO_GRADIENT) return KN_GRADIENT_ZERO;
    if (kni_gradient_of(row)) return KN_GRADIENT_YES;
    return row->flags & KNI_FLAG_NO_GRADIENT ? KN_GRADIENT_CONSTANT : KN_GRADIENT_ERROR;
}

static bool describe(const kn_op *row, kn_op_info *info)
{
    if (!row || !info) return false;
    *info = (kn_op_info){
        .number = row->number,
        .name = row->name,
        .doc = row->doc ? row->doc : "",
        .kind = row->kind < KNI_KIND_COUNT ? kind_names[row->kind] : "unknown",
        .min_in = row->min_in,
        .max_in = row->max_in,
        .n_out = row->n_out,
        .dtypes = row->dtypes,
        .converts_to_f32 = row->kind == KNI_ELEMENTWISE && row->rule == KNI_RULE_FLOAT,
        .commutes = (row->flags & KNI_FLAG_COMMUTES) != 0,
        .random = (row->flags & KNI_FLAG_RANDOM) != 0,
        .has_body = row->body != NULL,
        .body = body_text(row)->text,
        .host = body_text(row)->host,
        .has_kernel = row->launch != NULL,
        .has_lowering = row->lower != NULL,
        .has_view = row->view != NULL,
        .has_native = row->native != NULL,
        .gradient = gradient_kind(row),
        .ulps = row->tolerance.ulps,
        .roots = row->tolerance.roots,
        .alone = kni_computes_alone(row),
        .n_attributes = count_attributes(row),
        .stored = kni_takes_stored(row) ? KNI_STORED : row->dtypes & KNI_STORED,
        .operands = kni_operand_names(row),
    };
    return true;
}

bool kn_op_at(int32_t number, kn_op_info *info) { return describe(kni_op_by_number(number), info); }

bool kn_op_find(const char *name, kn_op_info *info) { return describe(kni_op_by_name(name), info); }

int32_t kn_autocast_policy(int32_t op_number)
{
    const kn_op *row = kni_op_by_number(op_number);
    return row ? row->autocast : KNI_AUTOCAST_NONE;
}

bool kn_op_attribute(int32_t number, int32_t index, kn_attribute_info *info)
{
    const kn_op *row = kni_op_by_number(number);
    if (!row || !info || index < 0 || index >= count_attributes(row)) return false;
    const kn_attribute *a = &row->schema[index];
    *info = (kn_attribute_info){a->name, (kn_attribute_type)a->type, a->dynamic == KNI_DYNAMIC,
                                kni_takes_size(row, a->name)};
    return true;
}

kn_support kn_op_support(kn_device device, int32_t number, kn_dtype dtype, const char **why)
{
    const char *unused;
    if (!why) why = &unused;
    *why = "";
    const kn_op *row = kni_op_by_number(number);
    device = kni_device_given(device, "kn_op_support");
    if (!row || !device || !kni_dtype_usable(dtype)) {
        *why = !row ? "no such op" : !device ? "no such device" : "no such dtype";
        return KN_SUPPORT_NO;
    }
    /* Decorators that have nothing to say about it leave the answer to what they wrap. */
    kn_backend *b = device->backend;
    while (b && !b->supports) b = b->inner[0];
    if (!b) {
        *why = "the device does not say";
        return KN_SUPPORT_NO;
    }
    return b->supports(b, row, dtype, why);
}
