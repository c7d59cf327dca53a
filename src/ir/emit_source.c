/* A whole source: the prelude, vector types, atomics, the user's functions, the params and the kernel's entry. */
#include "core/allocator.h"
#include "core/error.h"
#include "ir/emitter.h"
#include "ir/ir_internal.h"
#include "ir/prelude.h"
#include <string.h>

/* ---- types */

static void vector_types(kni_ir_emitter *e)
{
    bool any = false;
    for (int dtype = 0; dtype < KN_DTYPE_COUNT && !e->dialect->native_vectors; dtype++)
        for (int k = 1; k <= 4; k++) {
            if (!e->vectors[dtype][k]) continue;
            int lanes = 1 << k;
            unsigned bytes = (unsigned)lanes * (unsigned)kni_bytes_of(dtype);
            kni_ir_emit_add(e, "typedef struct ");
            if (e->dialect->aligned) kni_ir_text_add(e->text, e->dialect->aligned, bytes > 16 ? 16u : bytes);
            kni_ir_text_add(e->text, "kni_%sx%d {\n    %s ", kni_dtypes[dtype].name, lanes,
                            kni_dialect_storage_type(dtype));
            for (int i = 0; i < lanes; i++)
                kni_ir_text_add(e->text, i ? ", s%c" : "s%c", kni_ir_lane_letters[i]);
            kni_ir_text_add(e->text, ";\n} kni_%sx%d;\n", kni_dtypes[dtype].name, lanes);
            any = true;
        }
    if (any) kni_ir_emit_add(e, "\n");
}

static void params_type(kni_ir_emitter *e)
{
    const kni_ir *ir = e->ir;
    if (!ir->param_bytes) return;
    kni_ir_text_add(e->text, "struct %s_params {\n", ir->name);
    for (uint32_t i = 0; i < ir->n_params; i++) {
        const kni_ir_param *p = &ir->params[i];
        kni_ir_text_add(e->text, "    %s ", kni_dialect_storage_type(p->dtype));
        kni_ir_emit_user_name(e, p->name);
        if (p->count) kni_ir_text_add(e->text, "[%u]", p->count);
        kni_ir_emit_add(e, ";\n");
    }
    /* The size is a multiple of 8 whatever is in it. */
    uint32_t end = 0;
    for (uint32_t i = 0; i < ir->n_params; i++) {
        const kni_ir_param *p = &ir->params[i];
        end = p->offset + kni_bytes_of(p->dtype) * (p->count ? p->count : 1);
    }
    if (end % 8) kni_ir_text_add(e->text, "    uint8_t kni_rest[%u];\n", 8 - end % 8);
    kni_ir_emit_add(e, "};\n\n");
}

/* Constants of the module, before the functions that read them. */
static void tables(kni_ir_emitter *e)
{
    for (uint32_t i = e->ir->n_buffers; i < e->ir->n_bindings; i++) {
        const kni_ir_binding *k = &e->ir->bindings[i];
        if (k->space != KNI_IR_TABLE || !e->array_owner[i]) continue;
        kni_ir_text_add(e->text, "KNI_TABLE %s ", kni_dialect_storage_type(k->dtype));
        kni_ir_emit_user_name(e, k->name);
        kni_ir_text_add(e->text, "[%lld] = {", (long long)k->length);
        for (int64_t j = 0; j < k->length; j++)
            kni_ir_text_add(e->text, "%s%uu",
                            !j       ? ""
                            : j % 10 ? ", "
                                     : ",\n    ",
                            e->ir->words[k->first + j]);
        kni_ir_emit_add(e, "};\n\n");
    }
}

/* ---- functions of the user */

static void private_arrays(kni_ir_emitter *e)
{
    for (uint32_t i = e->ir->n_buffers; i < e->ir->n_bindings; i++)
        if (e->array_owner[i] == 1 + e->function && e->ir->bindings[i].space == KNI_IR_PRIVATE)
            kni_ir_emit_array(e, i);
}

static void user_function(kni_ir_emitter *e, uint32_t number)
{
    const kni_ir_function *f = &e->ir->functions[number];
    e->function = number + 1;
    e->values = e->variables = e->counters = 0;
    kni_ir_emit_add(e, "KNI_FUNCTION ");
    kni_ir_emit_type(e, f->result);
    kni_ir_text_add(e->text, " user_%s(", f->name);
    for (int i = 0; i < f->n_arguments; i++) {
        if (i) kni_ir_emit_add(e, ", ");
        kni_ir_emit_type(e, f->arguments[i]);
        kni_ir_text_add(e->text, " a%d", i + 1);
    }
    kni_ir_emit_add(e, f->n_arguments ? ")\n{\n" : "void)\n{\n");
    e->indent = 1;
    private_arrays(e);
    kni_ir_emit_block(e, f->body);
    kni_ir_emit_add(e, "}\n\n");
    e->function = 0;
}

/* ---- the kernel */

static void builtins(kni_ir_emitter *e)
{
    static const char *const names[] = {[KNI_IR_GROUP] = "int64_t group",
                                        [KNI_IR_GROUPS] = "int64_t groups",
                                        [KNI_IR_LOCAL] = "int32_t member",
                                        [KNI_IR_LANE_ID] = "int32_t lane"};
    static const char *const narrow[] = {[KNI_IR_GROUP] = "uint32_t group",
                                         [KNI_IR_GROUPS] = "uint32_t groups",
                                         [KNI_IR_LOCAL] = "uint32_t member",
                                         [KNI_IR_LANE_ID] = "uint32_t lane"};
    bool tiles = false;
    for (uint32_t i = 0; i < e->n_order; i++) tiles |= e->ir->nodes[e->order[i]].code == KNI_IR_TILE;
    for (int b = KNI_IR_GROUP; b <= KNI_IR_LANE_ID; b++) {
        int axes = e->builtins[b] | (b == KNI_IR_LANE_ID && tiles);
        for (int axis = 0; axis < 3 && names[b]; axis++) {
            if (!(axes >> axis & 1)) continue;
            char number[2] = {axis ? (char)('0' + axis) : (char)0, 0};
            kni_ir_text_add(e->text, "    const %s%s = ", e->ir->narrow ? narrow[b] : names[b], number);
            kni_ir_emit_add(e, b == KNI_IR_LANE_ID && (e->caps->subgroup <= 1 || !e->caps->subgroups)
                                   ? "0"
                                   : e->dialect->builtins[b][axis]);
            kni_ir_emit_add(e, ";\n");
        }
    }
}

static bool is_restricted(const kni_ir_binding *k) { return !(k->access & KNI_IR_ALIASES); }

void kni_ir_emit_pointer(kni_ir_emitter *e, uint32_t i)
{
    const kni_ir_binding *k = &e->ir->bindings[i];
    kni_ir_text_add(e->text, "%s%s%s *%s", e->dialect->space[KNI_IR_GLOBAL],
                    k->access & KNI_IR_WRITE ? "" : "const ", kni_dialect_storage_type(k->dtype),
                    is_restricted(k) ? e->dialect->no_alias : "");
    kni_ir_emit_user_name(e, k->name);
}

static int items_param(const kni_ir *ir)
{
    for (uint32_t i = 0; i < ir->n_params; i++)
        if (!strcmp(ir->params[i].name, "items") && !ir->params[i].count) return (int)i;
    return -1;
}

/* The entry and its parameters as C has them. */
static void head(kni_ir_emitter *e)
{
    const kni_ir *ir = e->ir;
    const char *comma = "";
    kni_ir_text_add(e->text, "%s", e->dialect->entry);
    if (e->dialect->bound && ir->workgroup) kni_ir_text_add(e->text, e->dialect->bound, ir->workgroup);
    kni_ir_text_add(e->text, " %s(", ir->name);
    for (uint32_t i = 0; i < ir->n_buffers; i++, comma = ", ") {
        kni_ir_emit_add(e, comma);
        kni_ir_emit_pointer(e, i);
    }
    if (ir->reports) {
        kni_ir_text_add(e->text, "%s%sint64_t *fault", comma, e->dialect->space[KNI_IR_GLOBAL]);
        comma = ", ";
    }
    if (ir->param_bytes) kni_ir_text_add(e->text, "%sstruct %s_params p", comma, ir->name);
    kni_ir_emit_add(e, ")\n{\n");
}

/* An entry that is launched once for each invocation. */
static void parallel_entry(kni_ir_emitter *e)
{
    const kni_ir *ir = e->ir;
    (e->dialect->head ? e->dialect->head : head)(e);
    e->indent = 1;
    for (uint32_t i = ir->n_buffers; i < ir->n_bindings; i++)
        if (ir->bindings[i].space == KNI_IR_SHARED) kni_ir_emit_array(e, i);
    private_arrays(e);
    if (ir->workgroup) {
        builtins(e);
    } else if (ir->narrow) {
        kni_ir_text_add(e->text, "    const uint32_t item = (uint32_t)(%s);\n",
                        e->dialect->builtins[KNI_IR_ITEM][0]);
    } else if (items_param(ir) < 0) {
        kni_ir_emit_fail(e, NULL, "a kernel of items has no number 'items'");
    } else {
        kni_ir_text_add(e->text, "    const int64_t item = %s;\n", e->dialect->builtins[KNI_IR_ITEM][0]);
        kni_ir_text_add(e->text, "    if (item >= %s", e->dialect->params);
        kni_ir_emit_user_name(e, "items");
        kni_ir_emit_add(e, ") return;\n");
    }
    kni_ir_emit_block(e, ir->body);
    kni_ir_emit_add(e, "}\n");
}

/* An entry that loops over items or workgroups. */
static void serial_entry(kni_ir_emitter *e)
{
    const kni_ir *ir = e->ir;
    kni_ir_text_add(
        e->text,
        "%s %s(void *const *buffers, int64_t *fault, const void *params, int64_t begin, int64_t end)\n"
        "{\n",
        e->dialect->entry, ir->name);
    e->indent = 1;
    for (uint32_t i = 0; i < ir->n_buffers; i++) {
        kni_ir_emit_add(e, "    ");
        kni_ir_emit_pointer(e, i);
        kni_ir_text_add(e->text, " = buffers[%u];\n", i);
    }
    /* A copy, which no store through a buffer can change. */
    if (ir->param_bytes)
        kni_ir_text_add(e->text, "    const struct %s_params p = *(const struct %s_params *)params;\n",
                        ir->name, ir->name);
    if (!ir->n_buffers) kni_ir_emit_add(e, "    (void)buffers;\n");
    if (!ir->reports) kni_ir_emit_add(e, "    (void)fault;\n");
    if (!ir->param_bytes) kni_ir_emit_add(e, "    (void)params;\n");
    if (e->wants_groups) kni_ir_text_add(e->text, "    const int64_t *shape = buffers[%u];\n", ir->n_buffers);
    if (!ir->workgroup) {
        const char *item = ir->narrow ? "number" : "item";
        kni_ir_text_add(e->text, "    for (int64_t %s = begin; %s < end; %s++) {\n", item, item, item);
        e->indent = 2;
        if (ir->narrow) kni_ir_emit_add(e, "        const uint32_t item = (uint32_t)number;\n");
        private_arrays(e);
        kni_ir_emit_block(e, ir->body);
        if (e->item_left) kni_ir_emit_add(e, "    next_item:;\n");
        kni_ir_emit_add(e, "    }\n}\n");
        return;
    }
    kni_ir_emit_add(e, "    for (int64_t number = begin; number < end; number++) {\n");
    e->indent = 2;
    static const char *const groups[] = {"number % shape[0]", "number / shape[0] % shape[1]",
                                         "number / shape[0] / shape[1]"};
    for (int axis = 0; axis < 3; axis++) {
        char digit[2] = {axis ? (char)('0' + axis) : (char)0, 0};
        if (e->builtins[KNI_IR_GROUP] >> axis & 1)
            kni_ir_text_add(e->text, "        const int64_t group%s = %s;\n", digit,
                            e->wants_groups ? groups[axis] : "number");
        if (e->builtins[KNI_IR_GROUPS] >> axis & 1)
            kni_ir_text_add(e->text, "        const int64_t groups%s = shape[%d];\n", digit, axis);
    }
    if (e->builtins[KNI_IR_LANE_ID]) kni_ir_emit_add(e, "        const int32_t lane = 0;\n");
    for (uint32_t i = ir->n_buffers; i < ir->n_bindings; i++)
        if (ir->bindings[i].space == KNI_IR_SHARED) kni_ir_emit_array(e, i);
    private_arrays(e);
    kni_ir_emit_group_block(e, ir->body);
    if (e->group_left) kni_ir_emit_add(e, "    next_group:;\n");
    kni_ir_emit_add(e, "    }\n}\n");
}

static bool uses_wide_atomics(const kni_ir_emitter *e)
{
    for (int i = 0; i < e->n_atomics; i++)
        if (kni_dtypes[e->atomics[i][1]].bits == 64) return true;
    return false;
}

/* Puts the parts in order: what the body calls is known once it is printed. */
static kn_status assemble(kni_ir_emitter *e, kni_ir_text *text, const kni_ir_text *body)
{
    const char **names = kni_allocate((e->n_names + 1) * sizeof *names);
    if (!names) return kni_fail(KN_ERROR_MEMORY, "no memory for a kernel's text");
    for (uint32_t i = 0; i < e->n_names; i++) names[i] = e->names[i];
    e->text = text;
    if (e->dialect->wide_atomics && uses_wide_atomics(e)) kni_ir_emit_add(e, e->dialect->wide_atomics);
    kn_status s = kni_ir_prelude(text, e->caps->dialect, names, (int)e->n_names);
    kni_free(names, (e->n_names + 1) * sizeof *names);
    if (s != KN_OK) return s;
    kni_ir_emit_add(e, "\n");
    vector_types(e);
    kni_ir_emit_atomic_functions(e);
    kni_ir_emit_tile_functions(e);
    if (e->ir->reports)
        kni_ir_text_add(e->text, "KNI_FUNCTION void kni_report(%sint64_t *fault, int64_t value)\n{\n%s}\n\n",
                        e->dialect->space[KNI_IR_GLOBAL], e->dialect->report);
    params_type(e);
    kni_ir_text_add(e->text, "%s", body->data ? body->data : "");
    return KN_OK;
}

/* The parts of one kernel among many, whose prelude the caller prints. */
static kn_status assemble_part(kni_ir_emitter *e, kni_ir_text *text, const kni_ir_text *body)
{
    e->text = text;
    for (uint32_t i = 0; i < e->n_names; i++) e->uses(e->uses_context, e->names[i]);
    bool shared = e->n_atomics || e->tile_products;
    for (int dtype = 0; dtype < KN_DTYPE_COUNT; dtype++)
        for (int k = 1; k <= 4; k++) shared |= e->vectors[dtype][k];
    if (shared)
        return kni_fail(KN_ERROR_UNSUPPORTED,
                        "kernel %s: vectors, atomics and tiles need a text of their own", e->ir->name);
    params_type(e);
    kni_ir_text_add(e->text, "%s", body->data ? body->data : "");
    return KN_OK;
}

static kn_status print(kni_ir_emitter *e, kni_ir_text *text)
{
    kni_ir_text body = {0};
    e->text = &body;
    e->status = kni_ir_emit_plan(e);
    if (e->status == KN_OK) tables(e);
    for (uint32_t i = 0; e->status == KN_OK && i < e->ir->n_functions; i++) user_function(e, i);
    e->values = e->variables = e->counters = 0;
    if (e->status == KN_OK && e->dialect->serial) serial_entry(e);
    if (e->status == KN_OK && !e->dialect->serial) parallel_entry(e);
    if (e->status == KN_OK) e->status = (e->uses ? assemble_part : assemble)(e, text, &body);
    if (e->status == KN_OK && (text->failed || body.failed))
        e->status = kni_fail(KN_ERROR_MEMORY, "no memory for a kernel's text");
    kni_ir_text_free(&body);
    return e->status;
}

kn_status kni_ir_emit_part(const kni_ir *ir, const kni_ir_caps *caps, kni_ir_text *text,
                           void (*uses)(void *context, const char *function), void *context)
{
    const kni_dialect *dialect = kni_dialect_of(caps->dialect);
    if (!dialect) return kni_fail(KN_ERROR_ARGUMENT, "kernel %s: no such dialect", ir->name);
    if (dialect->print) return dialect->print(ir, caps, text);
    kni_ir_emitter *e = kni_allocate(sizeof *e);
    if (!e) return kni_fail(KN_ERROR_MEMORY, "no memory for a kernel's text");
    memset(e, 0, sizeof *e);
    e->ir = ir;
    e->caps = caps;
    e->dialect = dialect;
    e->uses = uses;
    e->uses_context = context;
    e->grouped = dialect->serial && ir->workgroup;
    kn_status s = print(e, text);
    if (e->facts) kni_free(e->facts, (size_t)ir->n_nodes * sizeof *e->facts);
    if (e->order) kni_free(e->order, (size_t)ir->n_nodes * sizeof *e->order);
    if (e->names) kni_free(e->names, e->name_room * sizeof *e->names);
    kni_free(e, sizeof *e);
    return s;
}

kn_status kni_ir_emit(const kni_ir *ir, const kni_ir_caps *caps, kni_ir_text *text)
{
    return kni_ir_emit_part(ir, caps, text, NULL, NULL);
}
