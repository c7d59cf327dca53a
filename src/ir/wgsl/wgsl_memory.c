/* Buffers, arrays and tables of a kernel in WGSL, and how they are read and written. */
#include "ir/wgsl/wgsl.h"

static const char *scalar(int dtype)
{
    return kni_is_bool(dtype) ? "bool" : dtype == KN_F32 ? "f32" : dtype == KN_I32 ? "i32" : "u32";
}

const char *kni_wgsl_type(kni_ir_type type) { return type.lanes == 2 ? "vec2<u32>" : scalar(type.dtype); }

static void put_table(kni_ir_emitter *e, const kni_ir_binding *b)
{
    kni_ir_text_add(e->text, "array<u32, %lld>(", (long long)b->length);
    for (int64_t i = 0; i < b->length; i++)
        kni_ir_text_add(e->text, "%s%uu", !i ? "" : i % 10 ? ", " : ",\n    ", e->ir->words[b->first + i]);
    kni_ir_emit_add(e, ")");
}

void kni_wgsl_declare(kni_ir_emitter *e, uint32_t binding)
{
    const kni_ir_binding *b = &e->ir->bindings[binding];
    bool atomic = b->access & KNI_IR_ATOMICS;
    const char *before = atomic ? "atomic<" : "", *behind = atomic ? ">" : "";
    switch (b->space) {
    case KNI_IR_GLOBAL:
        kni_ir_text_add(e->text, "@group(0) @binding(%u) var<storage, %s> u_%s: array<%s%s%s>;\n", binding,
                        b->access & KNI_IR_WRITE || atomic ? "read_write" : "read", b->name, before,
                        scalar(b->dtype), behind);
        break;
    case KNI_IR_SHARED:
        kni_ir_text_add(e->text, "var<workgroup> u_%s: array<%s%s%s, %lld>;\n", b->name, before,
                        scalar(b->dtype), behind, (long long)b->length);
        break;
    case KNI_IR_TABLE:
        /* As a variable, since an index into a constant copies all of it in some compilers. */
        kni_ir_text_add(e->text, "var<private> u_%s: array<u32, %lld> = ", b->name, (long long)b->length);
        put_table(e, b);
        kni_ir_emit_add(e, ";\n");
        break;
    default:
        kni_wgsl_line(e);
        kni_ir_text_add(e->text, "var u_%s: array<%s, %lld>;\n", b->name, scalar(b->dtype),
                        (long long)b->length);
    }
}

static void put_element(kni_ir_emitter *e, const kni_ir_node *node)
{
    kni_ir_text_add(e->text, "u_%s[", e->ir->bindings[node->index].name);
    kni_wgsl_inside(e, node->a);
    kni_ir_emit_add(e, "]");
}

static bool is_atomic(const kni_ir_emitter *e, const kni_ir_node *node)
{
    return e->ir->bindings[node->index].access & KNI_IR_ATOMICS;
}

void kni_wgsl_load(kni_ir_emitter *e, const kni_ir_node *node)
{
    bool atomic = is_atomic(e, node);
    if (atomic) kni_ir_emit_add(e, "atomicLoad(&");
    put_element(e, node);
    if (atomic) kni_ir_emit_add(e, ")");
}

void kni_wgsl_store(kni_ir_emitter *e, const kni_ir_node *node)
{
    bool atomic = is_atomic(e, node);
    kni_wgsl_line(e);
    if (atomic) kni_ir_emit_add(e, "atomicStore(&");
    put_element(e, node);
    kni_ir_emit_add(e, atomic ? ", " : " = ");
    kni_wgsl_inside(e, node->b);
    kni_ir_emit_add(e, atomic ? ");\n" : ";\n");
}

/* The exchange of WGSL may fail for no reason, which ours may not: it is tried until it worked or another value was seen. */
static void put_compare(kni_ir_emitter *e, kni_ir_id id)
{
    const kni_ir_node *node = kni_ir_at(e->ir, id);
    uint32_t number = ++e->labels;
    kni_wgsl_line(e);
    kni_ir_emit_add(e, "var ");
    kni_wgsl_name(e, id);
    kni_ir_text_add(e->text, ": %s;\n", kni_wgsl_type(node->type));
    kni_wgsl_line(e);
    kni_ir_emit_add(e, "loop {\n");
    e->indent++;
    kni_wgsl_line(e);
    kni_ir_text_add(e->text, "let seen%u = atomicCompareExchangeWeak(&", number);
    put_element(e, node);
    kni_ir_emit_add(e, ", ");
    kni_wgsl_inside(e, node->c);
    kni_ir_emit_add(e, ", ");
    kni_wgsl_inside(e, node->b);
    kni_ir_emit_add(e, ");\n");
    kni_wgsl_line(e);
    kni_wgsl_name(e, id);
    kni_ir_text_add(e->text, " = seen%u.old_value;\n", number);
    kni_wgsl_line(e);
    kni_ir_text_add(e->text, "if (seen%u.exchanged || seen%u.old_value != ", number, number);
    kni_wgsl_value(e, node->c);
    kni_ir_emit_add(e, ") { break; }\n");
    e->indent--;
    kni_wgsl_line(e);
    kni_ir_emit_add(e, "}\n");
}

void kni_wgsl_atomic(kni_ir_emitter *e, kni_ir_id id)
{
    static const char *const names[KNI_IR_COMBINES] = {[KNI_IR_ADD] = "atomicAdd",
                                                       [KNI_IR_MIN] = "atomicMin",
                                                       [KNI_IR_MAX] = "atomicMax",
                                                       [KNI_IR_EXCHANGE] = "atomicExchange"};
    const kni_ir_node *node = kni_ir_at(e->ir, id);
    if (node->detail == KNI_IR_COMPARE) {
        put_compare(e, id);
        return;
    }
    if (node->detail >= KNI_IR_COMBINES || !names[node->detail]) {
        kni_ir_emit_fail(e, node, "an atomic that WGSL does not have");
        return;
    }
    kni_wgsl_line(e);
    kni_ir_emit_add(e, "let ");
    kni_wgsl_name(e, id);
    kni_ir_text_add(e->text, " = %s(&", names[node->detail]);
    put_element(e, node);
    kni_ir_emit_add(e, ", ");
    kni_wgsl_inside(e, node->b);
    kni_ir_emit_add(e, ");\n");
}
