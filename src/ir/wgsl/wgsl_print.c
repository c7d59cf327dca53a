/* A whole text of WGSL from a kernel in the narrow form. */
#include "core/allocator.h"
#include "core/error.h"
#include "ir/wgsl/wgsl.h"
#include <string.h>

void kni_wgsl_number(kni_ir_emitter *e, uint32_t word)
{
    kni_ir_text_add(e->text, "numbers[%u].%c", word / 4, "xyzw"[word % 4]);
}

/* ---- what the text is given and has */

static void interface(kni_ir_emitter *e)
{
    const kni_ir *ir = e->ir;
    uint32_t words = WGSL_FIRST_WORD + (ir->param_bytes + WGSL_WORD_BYTES - 1) / WGSL_WORD_BYTES;
    if (e->caps->subgroups) kni_ir_emit_add(e, "enable subgroups;\n\n");
    for (uint32_t i = 0; i < ir->n_buffers; i++) kni_wgsl_declare(e, i);
    kni_ir_text_add(e->text, "@group(0) @binding(%u) var<uniform> numbers: array<vec4<u32>, %u>;\n",
                    ir->n_buffers, (words + 3) / 4);
    if (!ir->workgroup) kni_ir_emit_add(e, "override width: u32 = 64u;\n");
    for (uint32_t i = ir->n_buffers; i < ir->n_bindings; i++)
        if (ir->bindings[i].space == KNI_IR_SHARED ||
            (ir->bindings[i].space == KNI_IR_TABLE && e->array_owner[i]))
            kni_wgsl_declare(e, i);
    kni_ir_emit_add(e, "\n");
}

static void private_arrays(kni_ir_emitter *e)
{
    for (uint32_t i = e->ir->n_buffers; i < e->ir->n_bindings; i++)
        if (e->array_owner[i] == 1 + e->function && e->ir->bindings[i].space == KNI_IR_PRIVATE)
            kni_wgsl_declare(e, i);
}

/* ---- functions */

static void function(kni_ir_emitter *e, uint32_t number)
{
    const kni_ir_function *f = &e->ir->functions[number];
    e->function = number + 1;
    e->values = e->variables = e->counters = e->labels = 0;
    kni_ir_text_add(e->text, "fn user_%s(", f->name);
    for (int i = 0; i < f->n_arguments; i++)
        kni_ir_text_add(e->text, "%sa%d: %s", i ? ", " : "", i + 1, kni_wgsl_type(f->arguments[i]));
    kni_ir_text_add(e->text, ") -> %s {\n", kni_wgsl_type(f->result));
    e->indent = 1;
    private_arrays(e);
    /* Nobody comes to the end, which compilers do not see everywhere. */
    if (kni_wgsl_block(e, f->body)) kni_ir_text_add(e->text, "    return %s();\n", kni_wgsl_type(f->result));
    kni_ir_emit_add(e, "}\n\n");
    e->function = 0;
}

/* ---- the kernel */

static void builtin(kni_ir_emitter *e, const char *name, int axis, const char *format)
{
    char digit[2] = {axis ? (char)('0' + axis) : (char)0, 0};
    kni_ir_text_add(e->text, "    let %s%s = ", name, digit);
    kni_ir_text_add(e->text, format, "xyz"[axis], "xyz"[axis]);
    kni_ir_emit_add(e, ";\n");
}

static void builtins(kni_ir_emitter *e)
{
    for (int axis = 0; axis < 3; axis++) {
        if (e->builtins[KNI_IR_GROUP] >> axis & 1) builtin(e, "group", axis, "workgroup.%c + numbers[0].%c");
        if (e->builtins[KNI_IR_GROUPS] >> axis & 1) builtin(e, "groups", axis, "numbers[1].%c");
    }
    if (e->builtins[KNI_IR_LOCAL]) builtin(e, "member", 0, "local.%c");
    if (e->builtins[KNI_IR_ITEM]) builtin(e, "item", 0, "(workgroup.%c + numbers[0].%c) * width + local.x");
}

static void entry(kni_ir_emitter *e)
{
    const kni_ir *ir = e->ir;
    e->values = e->variables = e->counters = e->labels = 0;
    if (ir->workgroup)
        kni_ir_text_add(e->text, "@compute @workgroup_size(%u)\n", ir->workgroup);
    else
        kni_ir_emit_add(e, "@compute @workgroup_size(width)\n");
    kni_ir_text_add(e->text,
                    "fn %s(@builtin(workgroup_id) workgroup: vec3<u32>, @builtin(local_invocation_id) local: "
                    "vec3<u32>%s) {\n",
                    ir->name, e->caps->subgroups ? ", @builtin(subgroup_invocation_id) lane: u32" : "");
    e->indent = 1;
    builtins(e);
    private_arrays(e);
    (void)kni_wgsl_block(e, ir->body);
    kni_ir_emit_add(e, "}\n");
}

/* The value, by way of bits that no compiler knows. */
static const char keep[] = "fn keep(x: f32) -> f32 {\n"
                           "    return bitcast<f32>(bitcast<u32>(x) ^ numbers[0].w);\n"
                           "}\n\n";

static kn_status print(kni_ir_emitter *e, kni_ir_text *text)
{
    kni_ir_text body = {0};
    e->text = &body;
    e->status = kni_ir_emit_plan(e);
    for (uint32_t i = 0; i < e->ir->n_functions && e->status == KN_OK; i++) function(e, i);
    if (e->status == KN_OK) entry(e);
    e->text = text;
    if (e->status == KN_OK) interface(e);
    if (e->n_names) kni_ir_emit_add(e, keep);
    kni_ir_text_add_bytes(text, body.data, body.length);
    if (e->status == KN_OK && (text->failed || body.failed))
        e->status = kni_fail(KN_ERROR_MEMORY, "no memory for a kernel's text");
    kni_ir_text_free(&body);
    return e->status;
}

static kn_status print_wgsl(const kni_ir *ir, const kni_ir_caps *caps, kni_ir_text *text)
{
    if (!ir->narrow)
        return kni_fail(KN_ERROR_UNSUPPORTED, "kernel %s: WGSL is printed from the narrow form alone",
                        ir->name);
    kni_ir_emitter *e = kni_allocate(sizeof *e);
    if (!e) return kni_fail(KN_ERROR_MEMORY, "no memory for a kernel's text");
    memset(e, 0, sizeof *e);
    e->ir = ir;
    e->caps = caps;
    e->dialect = &kni_dialect_wgsl;
    kn_status status = print(e, text);
    if (e->names) kni_free(e->names, e->name_room * sizeof *e->names);
    if (e->facts) kni_free(e->facts, (size_t)ir->n_nodes * sizeof *e->facts);
    if (e->order) kni_free(e->order, (size_t)ir->n_nodes * sizeof *e->order);
    kni_free(e, sizeof *e);
    return status;
}

const kni_dialect kni_dialect_wgsl = {
    .name = "WebGPU",
    .ending = "wgsl",
    .target = "wgsl",
    .typical = {.dialect = KNI_IR_WGSL,
                .narrow = true,
                .no_bytes = true,
                .no_aliases = true,
                .atomics = true,
                .subgroup = 1,
                .max_workgroup = 256,
                .shared_bytes = 16 << 10,
                .vector_bytes = 16},
    .print = print_wgsl,
};
