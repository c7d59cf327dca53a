/* Loads and stores: elements are converted between memory and arithmetic; several at once where the binding says that
   they are aligned and the dialect gains by it. */
#include "ir/emitter.h"

void kni_ir_emit_element(kni_ir_emitter *e, uint32_t binding, kni_ir_id at, int64_t plus)
{
    kni_ir_emit_user_name(e, e->ir->bindings[binding].name);
    if (e->array_across[binding]) kni_ir_emit_add(e, "[member]");
    kni_ir_emit_add(e, "[");
    kni_ir_emit_value(e, at, 0, plus ? KNI_LEVEL_SUM : KNI_LEVEL_ANY);
    if (plus) kni_ir_text_add(e->text, " + %lld", (long long)plus);
    kni_ir_emit_add(e, "]");
}

/* Element at + lane, converted. */
static void element_value(kni_ir_emitter *e, const kni_ir_node *node, int lane, int level)
{
    int stored = e->ir->bindings[node->index].dtype;
    bool closes = false;
    if (kni_is_bool(node->type.dtype)) {
        /* Truths in memory are 0 or 1, but a user's byte may be anything. */
        if (level > KNI_LEVEL_EQUAL) kni_ir_emit_add(e, "(");
        if (kni_is_half(stored)) kni_ir_emit_add(e, "(");
        kni_ir_emit_element(e, node->index, node->a, lane);
        if (kni_is_half(stored)) kni_ir_emit_add(e, " & 0x7fff)");
        kni_ir_emit_add(e, level > KNI_LEVEL_EQUAL ? " != 0)" : " != 0");
        return;
    }
    kni_ir_emit_cast_begin(e, node->type.dtype, stored, level, &closes);
    kni_ir_emit_element(e, node->index, node->a, lane);
    if (closes) kni_ir_emit_add(e, ")");
}

static void masked_value(kni_ir_emitter *e, const kni_ir_node *node, int lane, int level)
{
    if (!node->b) {
        element_value(e, node, lane, level);
        return;
    }
    if (level > KNI_LEVEL_CHOICE) kni_ir_emit_add(e, "(");
    kni_ir_emit_value(e, node->b, lane, KNI_LEVEL_CHOICE + 1);
    kni_ir_emit_add(e, " ? ");
    element_value(e, node, lane, KNI_LEVEL_CHOICE + 1);
    kni_ir_emit_add(e, " : ");
    kni_ir_emit_value(e, node->c, lane, KNI_LEVEL_CHOICE);
    if (level > KNI_LEVEL_CHOICE) kni_ir_emit_add(e, ")");
}

void kni_ir_emit_load_scalar(kni_ir_emitter *e, const kni_ir_node *node, int level)
{
    masked_value(e, node, 0, level);
}

static void open_vector(kni_ir_emitter *e, int dtype, int lanes, bool storage)
{
    kni_ir_emit_add(e, e->dialect->native_vectors ? "(" : "KNI_MAKE(");
    kni_ir_emit_vector_type(e, dtype, lanes, storage);
    kni_ir_emit_add(e, e->dialect->native_vectors ? ")(" : "){");
}

static void close_vector(kni_ir_emitter *e) { kni_ir_emit_add(e, e->dialect->native_vectors ? ")" : "}"); }

/* *(const T4 *)(x + at) */
static void wide_place(kni_ir_emitter *e, uint32_t binding, kni_ir_id at, int lanes, bool reads)
{
    const kni_ir_binding *k = &e->ir->bindings[binding];
    kni_ir_text_add(e->text, "*(%s%s", e->dialect->space[k->space], reads ? "const " : "");
    kni_ir_emit_vector_type(e, k->dtype, lanes, true);
    kni_ir_emit_add(e, " *)(");
    kni_ir_emit_user_name(e, k->name);
    kni_ir_emit_add(e, " + ");
    kni_ir_emit_value(e, at, 0, KNI_LEVEL_SUM + 1);
    kni_ir_emit_add(e, ")");
}

/* Memory holds what is computed with. */
static bool same_bits(const kni_ir_binding *k, int dtype) { return k->dtype == dtype && !kni_is_bool(dtype); }

/* The lanes of a raw vector as values. */
static void converted_lanes(kni_ir_emitter *e, const kni_ir_node *node, uint32_t number)
{
    int stored = e->ir->bindings[node->index].dtype;
    open_vector(e, node->type.dtype, node->type.lanes, false);
    for (int i = 0; i < node->type.lanes; i++) {
        bool closes = false;
        if (i) kni_ir_emit_add(e, ", ");
        kni_ir_emit_cast_begin(e, node->type.dtype, stored, KNI_LEVEL_ANY, &closes);
        kni_ir_text_add(e->text, "t%u_raw.s%c", number, kni_ir_lane_letters[i]);
        if (closes) kni_ir_emit_add(e, ")");
    }
    close_vector(e);
}

/* One truth for all lanes, 0 where each has its own. */
static kni_ir_id common_mask(const kni_ir_emitter *e, kni_ir_id mask)
{
    if (!mask) return 0;
    const kni_ir_node *node = &e->ir->nodes[mask];
    return node->code == KNI_IR_VECTOR && e->facts[mask].inlined ? node->a : 0;
}

static void wide_load(kni_ir_emitter *e, kni_ir_id id, kni_ir_id mask)
{
    const kni_ir_node *node = &e->ir->nodes[id];
    const kni_ir_binding *k = &e->ir->bindings[node->index];
    kni_ir_emit_fact *f = &e->facts[id];
    bool raw = !same_bits(k, node->type.dtype);
    if (!f->number) f->number = ++e->values;
    if (mask) {
        kni_ir_emit_type(e, node->type);
        kni_ir_text_add(e->text, " t%u = ", f->number);
        kni_ir_emit_whole(e, node->c);
        kni_ir_emit_add(e, ";\n");
        kni_ir_emit_line(e);
        kni_ir_emit_add(e, "if (");
        kni_ir_emit_value(e, mask, 0, KNI_LEVEL_ANY);
        kni_ir_emit_add(e, ") {\n");
        e->indent++;
        kni_ir_emit_line(e);
    }
    if (raw) {
        kni_ir_emit_add(e, "const ");
        kni_ir_emit_vector_type(e, k->dtype, node->type.lanes, true);
        kni_ir_text_add(e->text, " t%u_raw = ", f->number);
        wide_place(e, node->index, node->a, node->type.lanes, true);
        kni_ir_emit_add(e, ";\n");
        kni_ir_emit_line(e);
    }
    if (!mask) {
        kni_ir_emit_add(e, "const ");
        kni_ir_emit_type(e, node->type);
        kni_ir_emit_add(e, " ");
    }
    kni_ir_text_add(e->text, "t%u = ", f->number);
    if (raw)
        converted_lanes(e, node, f->number);
    else
        wide_place(e, node->index, node->a, node->type.lanes, true);
    kni_ir_emit_add(e, ";\n");
    if (!mask) return;
    e->indent--;
    kni_ir_emit_line(e);
    kni_ir_emit_add(e, "}\n");
}

void kni_ir_emit_load(kni_ir_emitter *e, kni_ir_id id)
{
    const kni_ir_node *node = &e->ir->nodes[id];
    kni_ir_id mask = common_mask(e, node->b);
    kni_ir_emit_line(e);
    if (kni_ir_emit_is_wide(e, node) && (!node->b || mask) && !kni_is_bool(node->type.dtype)) {
        wide_load(e, id, mask);
        return;
    }
    bool across = e->facts[id].across;
    if (!across) {
        kni_ir_emit_add(e, "const ");
        kni_ir_emit_type(e, node->type);
        kni_ir_emit_add(e, " ");
    }
    kni_ir_emit_name(e, id);
    kni_ir_emit_add(e, " = ");
    open_vector(e, node->type.dtype, node->type.lanes, false);
    for (int i = 0; i < node->type.lanes; i++) {
        if (i) kni_ir_emit_add(e, ", ");
        masked_value(e, node, i, KNI_LEVEL_ANY);
    }
    close_vector(e);
    kni_ir_emit_add(e, ";\n");
}

/* A value as memory of the dtype holds it. */
static void stored_value(kni_ir_emitter *e, kni_ir_id value, int lane, int stored)
{
    int from = e->ir->nodes[value].type.dtype;
    bool closes = false;
    if (kni_is_bool(stored)) {
        kni_ir_emit_add(e, "(uint8_t)(");
        kni_ir_emit_value(e, value, lane, KNI_LEVEL_EQUAL + 1);
        kni_ir_emit_add(e, kni_is_bool(from) ? ")" : " != 0)");
        return;
    }
    kni_ir_emit_value(e, value, lane, kni_ir_emit_cast_begin(e, stored, from, KNI_LEVEL_ANY, &closes));
    if (closes) kni_ir_emit_add(e, ")");
}

static void condition(kni_ir_emitter *e, kni_ir_id mask, int lane)
{
    kni_ir_emit_add(e, "if (");
    kni_ir_emit_value(e, mask, lane, KNI_LEVEL_ANY);
    kni_ir_emit_add(e, ") ");
}

void kni_ir_emit_store(kni_ir_emitter *e, kni_ir_id id)
{
    const kni_ir_node *node = &e->ir->nodes[id];
    const kni_ir_binding *k = &e->ir->bindings[node->index];
    kni_ir_type type = e->ir->nodes[node->b].type;
    kni_ir_id mask = type.lanes == 1 ? node->c : common_mask(e, node->c);
    if (kni_ir_emit_is_wide(e, node) && (!node->c || mask)) {
        kni_ir_emit_line(e);
        if (mask) condition(e, mask, 0);
        wide_place(e, node->index, node->a, type.lanes, false);
        kni_ir_emit_add(e, " = ");
        if (same_bits(k, type.dtype)) {
            kni_ir_emit_whole(e, node->b);
        } else {
            open_vector(e, k->dtype, type.lanes, true);
            for (int i = 0; i < type.lanes; i++) {
                if (i) kni_ir_emit_add(e, ", ");
                stored_value(e, node->b, i, k->dtype);
            }
            close_vector(e);
        }
        kni_ir_emit_add(e, ";\n");
        return;
    }
    for (int i = 0; i < type.lanes; i++) {
        kni_ir_emit_line(e);
        if (node->c) condition(e, node->c, i);
        kni_ir_emit_element(e, node->index, node->a, i);
        kni_ir_emit_add(e, " = ");
        stored_value(e, node->b, i, k->dtype);
        kni_ir_emit_add(e, ";\n");
    }
}

void kni_ir_emit_array(kni_ir_emitter *e, uint32_t binding)
{
    const kni_ir_binding *k = &e->ir->bindings[binding];
    kni_ir_emit_line(e);
    kni_ir_emit_add(e, e->dialect->array[k->space]);
    unsigned bytes = k->aligned * (unsigned)kni_bytes_of(k->dtype);
    if (k->aligned > 1 && e->dialect->aligned)
        kni_ir_text_add(e->text, e->dialect->aligned, bytes > 16 ? 16u : bytes);
    kni_ir_text_add(e->text, "%s ", kni_dialect_storage_type(k->dtype));
    kni_ir_emit_user_name(e, k->name);
    if (e->array_across[binding]) kni_ir_text_add(e->text, "[%u]", e->ir->workgroup);
    kni_ir_text_add(e->text, "[%lld];\n", (long long)k->length);
}
