/* Memory, variables and what invocations do together, of the builder. */
#include "ir/builder_internal.h"

static const kni_ir_type nothing = {KN_DTYPE_NONE, 0};

/* The binding and the element in it: adds a buffer's offset. 0 once the builder failed. */
static kni_ir_id place(kni_ir_builder *b, uint32_t binding, kni_ir_id at)
{
    kni_ir_type t = kni_ir_type_of(b, at);
    if (b->status != KN_OK) return 0;
    if (!kni_ir_is_integer(t.dtype) || t.lanes != 1) kni_ir_fail(b, "a position is one integer");
    if (binding >= b->ir->n_bindings) kni_ir_fail(b, "no such buffer");
    if (b->status != KN_OK || !b->item_params || binding >= b->ir->n_buffers)
        return b->status == KN_OK ? at : 0;
    kni_ir_id offset = kni_ir_param_value(b, 1 + binding);
    return kni_ir_word(b, "add", kni_ir_cast(b, at, KN_I64), offset);
}

static kni_ir_id memory_node(kni_ir_builder *b, int code, kni_ir_type type, uint32_t binding, kni_ir_id x,
                             kni_ir_id y, kni_ir_id z)
{
    kni_ir_id id = kni_ir_add3(b, code, type, x, y, z);
    if (id) kni_ir_at(b->ir, id)->index = binding;
    return id;
}

kni_ir_id kni_ir_load(kni_ir_builder *b, uint32_t binding, kni_ir_id at, int dtype, int lanes)
{
    return kni_ir_load_where(b, binding, at, dtype, lanes, 0, 0);
}

kni_ir_id kni_ir_load_where(kni_ir_builder *b, uint32_t binding, kni_ir_id at, int dtype, int lanes,
                            kni_ir_id condition, kni_ir_id otherwise)
{
    at = place(b, binding, at);
    if (!at) return 0;
    if (!kni_ir_is_compute(dtype) || !kni_ir_lanes_fit(lanes))
        kni_ir_fail(b, "a load of a type that nothing is computed in");
    if (b->status == KN_OK && !(b->ir->bindings[binding].access & KNI_IR_READ))
        kni_ir_fail(b, "'%s' is not read", b->ir->bindings[binding].name);
    kni_ir_type t = {(uint8_t)dtype, (uint8_t)lanes};
    if (condition) {
        if (!otherwise) otherwise = kni_ir_whole(b, dtype, 0);
        if (kni_ir_type_of(b, condition).lanes == 1) condition = kni_ir_spread(b, condition, lanes);
        if (kni_ir_type_of(b, otherwise).lanes == 1) otherwise = kni_ir_spread(b, otherwise, lanes);
        kni_ir_type truth = {KN_BOOL, (uint8_t)lanes};
        if (b->status == KN_OK && (!kni_ir_same_type(kni_ir_type_of(b, condition), truth) ||
                                   !kni_ir_same_type(kni_ir_type_of(b, otherwise), t)))
            kni_ir_fail(b, "a load where a truth holds needs one and a value else");
    } else if (otherwise) {
        kni_ir_fail(b, "a load with a value else needs a truth");
    }
    return memory_node(b, KNI_IR_LOAD, t, binding, at, condition, otherwise);
}

void kni_ir_store(kni_ir_builder *b, uint32_t binding, kni_ir_id at, kni_ir_id value)
{
    kni_ir_store_where(b, binding, at, value, 0);
}

void kni_ir_store_where(kni_ir_builder *b, uint32_t binding, kni_ir_id at, kni_ir_id value,
                        kni_ir_id condition)
{
    at = place(b, binding, at);
    kni_ir_type t = kni_ir_type_of(b, value);
    if (b->status != KN_OK) return;
    if (!(b->ir->bindings[binding].access & KNI_IR_WRITE))
        kni_ir_fail(b, "'%s' is not written", b->ir->bindings[binding].name);
    if (condition && b->status == KN_OK) {
        if (kni_ir_type_of(b, condition).lanes == 1) condition = kni_ir_spread(b, condition, t.lanes);
        if (!kni_ir_same_type(kni_ir_type_of(b, condition), (kni_ir_type){KN_BOOL, t.lanes}))
            kni_ir_fail(b, "a store where a truth holds needs one");
    }
    memory_node(b, KNI_IR_STORE, nothing, binding, at, value, condition);
}

static kni_ir_id atomic(kni_ir_builder *b, uint32_t binding, kni_ir_id at, kni_ir_id value, int combine,
                        kni_ir_id expected)
{
    at = place(b, binding, at);
    kni_ir_type t = kni_ir_type_of(b, value);
    if (b->status != KN_OK) return 0;
    const kni_ir_binding *k = &b->ir->bindings[binding];
    if (t.lanes != 1 || kni_is_bool(t.dtype) || k->dtype != t.dtype || k->space == KNI_IR_PRIVATE)
        kni_ir_fail(b, "an atomic takes a scalar of the dtype of a buffer or a shared array");
    if (k->access != (KNI_IR_READ | KNI_IR_WRITE) &&
        k->access != (KNI_IR_READ | KNI_IR_WRITE | KNI_IR_ALIASES))
        kni_ir_fail(b, "an atomic needs '%s' to be read and written", k->name);
    if (combine == KNI_IR_MULTIPLY || combine < 0 || combine >= KNI_IR_COMBINES)
        kni_ir_fail(b, "no such atomic");
    if (combine == KNI_IR_COMPARE && b->status == KN_OK &&
        (!kni_ir_is_integer(t.dtype) || !kni_ir_same_type(kni_ir_type_of(b, expected), t)))
        kni_ir_fail(b, "compare and exchange takes two integers of one type");
    kni_ir_id id = memory_node(b, KNI_IR_ATOMIC, t, binding, at, value, expected);
    if (id) kni_ir_at(b->ir, id)->detail = (uint8_t)combine;
    return id;
}

kni_ir_id kni_ir_atomic(kni_ir_builder *b, uint32_t binding, kni_ir_id at, kni_ir_id value, int combine)
{
    if (combine == KNI_IR_COMPARE) kni_ir_fail(b, "compare and exchange has a call of its own");
    return atomic(b, binding, at, value, combine, 0);
}

kni_ir_id kni_ir_atomic_compare(kni_ir_builder *b, uint32_t binding, kni_ir_id at, kni_ir_id value,
                                kni_ir_id expected)
{
    return atomic(b, binding, at, value, KNI_IR_COMPARE, expected);
}

/* ---- variables */

kni_ir_id kni_ir_variable(kni_ir_builder *b, int dtype, int lanes, kni_ir_id first)
{
    kni_ir_type t = {(uint8_t)dtype, (uint8_t)lanes};
    if (!kni_ir_is_compute(dtype) || !kni_ir_lanes_fit(lanes))
        kni_ir_fail(b, "a variable of a type that nothing is computed in");
    if (first && !kni_ir_same_type(kni_ir_type_of(b, first), t))
        kni_ir_fail(b, "a variable begins with another type");
    return kni_ir_add3(b, KNI_IR_VARIABLE, t, first, 0, 0);
}

/* The declaration of a kind, else the builder fails. */
static kni_ir_type declared(kni_ir_builder *b, kni_ir_id id, int code, const char *what)
{
    if (b->status != KN_OK) return nothing;
    if (id && id < b->ir->n_nodes && kni_ir_at(b->ir, id)->code == code) return kni_ir_at(b->ir, id)->type;
    kni_ir_fail(b, "%s", what);
    return nothing;
}

kni_ir_id kni_ir_get(kni_ir_builder *b, kni_ir_id variable)
{
    kni_ir_type t = declared(b, variable, KNI_IR_VARIABLE, "no such variable");
    return kni_ir_add3(b, KNI_IR_GET, t, variable, 0, 0);
}

void kni_ir_set(kni_ir_builder *b, kni_ir_id variable, kni_ir_id value)
{
    kni_ir_type t = declared(b, variable, KNI_IR_VARIABLE, "no such variable");
    if (!kni_ir_same_type(kni_ir_type_of(b, value), t))
        kni_ir_fail(b, "a variable is set to a value of another type");
    kni_ir_add3(b, KNI_IR_SET, nothing, variable, value, 0);
}

void kni_ir_report(kni_ir_builder *b, kni_ir_id value)
{
    kni_ir_type t = kni_ir_type_of(b, value);
    if (b->status == KN_OK && (!kni_ir_is_integer(t.dtype) || t.lanes != 1))
        kni_ir_fail(b, "a report is one integer");
    value = kni_ir_cast(b, value, KN_I64);
    kni_ir_add3(b, KNI_IR_REPORT, nothing, value, 0, 0);
    if (b->status == KN_OK) b->ir->reports = true;
}

/* ---- together */

void kni_ir_barrier(kni_ir_builder *b) { kni_ir_add3(b, KNI_IR_BARRIER, nothing, 0, 0, 0); }

static kni_ir_id collective(kni_ir_builder *b, int code, int combine, kni_ir_id value)
{
    kni_ir_type t = kni_ir_type_of(b, value);
    if (b->status == KN_OK && (t.lanes != 1 || kni_is_bool(t.dtype)))
        kni_ir_fail(b, "invocations combine one number each");
    if (combine < KNI_IR_ADD || combine > KNI_IR_MAX)
        kni_ir_fail(b, "invocations combine by add, multiply, min or max");
    kni_ir_id id = kni_ir_add3(b, code, t, value, 0, 0);
    if (id) kni_ir_at(b->ir, id)->detail = (uint8_t)combine;
    return id;
}

kni_ir_id kni_ir_subgroup(kni_ir_builder *b, int combine, kni_ir_id value)
{
    return collective(b, KNI_IR_SUBGROUP, combine, value);
}

kni_ir_id kni_ir_workgroup(kni_ir_builder *b, int combine, kni_ir_id value)
{
    return collective(b, KNI_IR_WORKGROUP, combine, value);
}

kni_ir_id kni_ir_scan(kni_ir_builder *b, int combine, kni_ir_id value)
{
    return collective(b, KNI_IR_SCAN, combine, value);
}

kni_ir_id kni_ir_shuffle(kni_ir_builder *b, kni_ir_id value, kni_ir_id xor_lane)
{
    kni_ir_type t = kni_ir_type_of(b, value), u = kni_ir_type_of(b, xor_lane);
    if (b->status == KN_OK &&
        (t.lanes != 1 || kni_is_bool(t.dtype) || u.lanes != 1 || !kni_ir_is_integer(u.dtype)))
        kni_ir_fail(b, "a shuffle takes a number and an integer");
    return kni_ir_add3(b, KNI_IR_SHUFFLE, t, value, xor_lane, 0);
}

/* ---- tiles */

kni_ir_id kni_ir_tile(kni_ir_builder *b, int role, int dtype)
{
    bool sum = role == KNI_IR_TILE_SUM, part = role == KNI_IR_TILE_LEFT || role == KNI_IR_TILE_RIGHT;
    if (!(sum && dtype == KN_F32) && !(part && (kni_is_half(dtype) || dtype == KN_F32)))
        kni_ir_fail(b, "a tile is left or right of f16, bf16 or f32, or a sum of f32");
    kni_ir_id id = kni_ir_add3(b, KNI_IR_TILE, (kni_ir_type){(uint8_t)dtype, 1}, 0, 0, 0);
    if (id) kni_ir_at(b->ir, id)->detail = (uint8_t)role;
    return id;
}

void kni_ir_tile_fill(kni_ir_builder *b, kni_ir_id tile, kni_ir_id value)
{
    declared(b, tile, KNI_IR_TILE, "no such tile");
    kni_ir_type t = kni_ir_type_of(b, value);
    if (b->status == KN_OK && (t.dtype != KN_F32 || t.lanes != 1))
        kni_ir_fail(b, "a tile is filled with one f32");
    kni_ir_add3(b, KNI_IR_TILE_FILL, nothing, tile, value, 0);
}

static void tile_memory(kni_ir_builder *b, int code, kni_ir_id tile, uint32_t binding, kni_ir_id at,
                        kni_ir_id stride)
{
    kni_ir_type t = declared(b, tile, KNI_IR_TILE, "no such tile");
    at = place(b, binding, at);
    kni_ir_type u = kni_ir_type_of(b, stride);
    if (b->status != KN_OK) return;
    const kni_ir_binding *k = &b->ir->bindings[binding];
    int needs = code == KNI_IR_TILE_LOAD ? KNI_IR_READ : KNI_IR_WRITE;
    if (!kni_ir_is_integer(u.dtype) || u.lanes != 1) kni_ir_fail(b, "a stride is one integer");
    if (k->dtype != t.dtype || k->space == KNI_IR_PRIVATE || !(k->access & needs))
        kni_ir_fail(b, "a tile of %T does not fit '%s'", (int)t.dtype, k->name);
    memory_node(b, code, nothing, binding, tile, at, stride);
}

void kni_ir_tile_load(kni_ir_builder *b, kni_ir_id tile, uint32_t binding, kni_ir_id at, kni_ir_id stride)
{
    tile_memory(b, KNI_IR_TILE_LOAD, tile, binding, at, stride);
}

void kni_ir_tile_store(kni_ir_builder *b, kni_ir_id tile, uint32_t binding, kni_ir_id at, kni_ir_id stride)
{
    tile_memory(b, KNI_IR_TILE_STORE, tile, binding, at, stride);
}

void kni_ir_tile_multiply(kni_ir_builder *b, kni_ir_id sum, kni_ir_id left, kni_ir_id right)
{
    declared(b, sum, KNI_IR_TILE, "no such tile");
    kni_ir_type t = declared(b, left, KNI_IR_TILE, "no such tile");
    kni_ir_type u = declared(b, right, KNI_IR_TILE, "no such tile");
    if (b->status != KN_OK) return;
    if (kni_ir_at(b->ir, sum)->detail != KNI_IR_TILE_SUM ||
        kni_ir_at(b->ir, left)->detail != KNI_IR_TILE_LEFT ||
        kni_ir_at(b->ir, right)->detail != KNI_IR_TILE_RIGHT || t.dtype != u.dtype)
        kni_ir_fail(b, "a sum tile takes a left and a right tile of one dtype");
    kni_ir_add3(b, KNI_IR_TILE_MULTIPLY, nothing, sum, left, right);
}
