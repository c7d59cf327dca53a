/* Names and types in the text: the user's, the printer's own, vectors, and which functions of the prelude are called. */
#include "core/allocator.h"
#include "core/error.h"
#include "core/text.h"
#include "ir/emitter.h"
#include <stdarg.h>
#include <string.h>

const char kni_ir_lane_letters[] = "0123456789abcdef";

void kni_ir_emit_fail(kni_ir_emitter *e, const kni_ir_node *node, const char *format, ...)
{
    if (e->status != KN_OK) return;
    char buffer[300];
    kni_text text = {buffer, sizeof buffer, 0};
    va_list arguments;
    va_start(arguments, format);
    kni_text_format_list(&text, format, arguments);
    va_end(arguments);
    const char *where = e->ir->file[0] ? e->ir->file : e->ir->name;
    if (node && node->line)
        e->status = kni_fail(KN_ERROR_UNSUPPORTED, "%s:%u:%u: %s", where, node->line, node->column, buffer);
    else
        e->status = kni_fail(KN_ERROR_UNSUPPORTED, "kernel %s: %s", e->ir->name, buffer);
}

void kni_ir_emit_uses(kni_ir_emitter *e, const char *format, ...)
{
    char buffer[KNI_IR_EMIT_NAME];
    kni_text text = {buffer, sizeof buffer, 0};
    va_list arguments;
    va_start(arguments, format);
    kni_text_format_list(&text, format, arguments);
    va_end(arguments);
    for (uint32_t i = 0; i < e->n_names; i++)
        if (!strcmp(e->names[i], buffer)) return;
    void *names = kni_grow(e->names, &e->name_room, e->n_names + 1, sizeof *e->names);
    if (!names) {
        e->text->failed = true;
        return;
    }
    e->names = names;
    memcpy(e->names[e->n_names++], buffer, sizeof buffer);
}

void kni_ir_emit_user_name(kni_ir_emitter *e, const char *name) { kni_ir_text_add(e->text, "u_%s", name); }

/* ---- types */

static int log2_lanes(int lanes)
{
    return lanes == 2 ? 1 : lanes == 4 ? 2 : lanes == 8 ? 3 : lanes == 16 ? 4 : 0;
}

static const char *const native_vectors[KN_DTYPE_COUNT] = {
    [KN_F64] = "double", [KN_F32] = "float", [KN_F16] = "ushort", [KN_BF16] = "ushort", [KN_I64] = "long",
    [KN_I32] = "int",    [KN_I16] = "short", [KN_I8] = "char",    [KN_U64] = "ulong",   [KN_U32] = "uint",
    [KN_U16] = "ushort", [KN_U8] = "uchar",  [KN_BOOL] = "uchar",
};

void kni_ir_emit_vector_type(kni_ir_emitter *e, int dtype, int lanes, bool storage)
{
    if (!storage && kni_is_bool(dtype)) dtype = KN_I32;
    if (storage && kni_is_half(dtype)) dtype = KN_U16;
    if (storage && kni_is_bool(dtype)) dtype = KN_U8;
    e->vectors[dtype][log2_lanes(lanes)] = true;
    if (e->dialect->native_vectors)
        kni_ir_text_add(e->text, "%s%d", native_vectors[dtype], lanes);
    else
        kni_ir_text_add(e->text, "kni_%sx%d", kni_dtypes[dtype].name, lanes);
}

void kni_ir_emit_type(kni_ir_emitter *e, kni_ir_type type)
{
    if (type.lanes > 1)
        kni_ir_emit_vector_type(e, type.dtype, type.lanes, false);
    else
        kni_ir_emit_add(e, kni_dialect_value_type(type.dtype));
}

void kni_ir_emit_name(kni_ir_emitter *e, kni_ir_id id)
{
    const kni_ir_node *node = &e->ir->nodes[id];
    kni_ir_emit_fact *f = &e->facts[id];
    if (node->code == KNI_IR_VARIABLE || node->code == KNI_IR_TILE) {
        if (!f->number) f->number = ++e->variables;
        kni_ir_text_add(e->text, "v%u", f->number);
    } else if (node->code == KNI_IR_FOR) {
        if (!f->number) f->number = ++e->counters;
        kni_ir_text_add(e->text, "i%u", f->number);
    } else {
        if (!f->number) f->number = ++e->values;
        kni_ir_text_add(e->text, "t%u", f->number);
    }
    if (f->across) kni_ir_emit_add(e, e->group_level ? "[0]" : "[member]");
}
