/* Memory of the narrow form: elements in words of 32 bits, numbers of the launch as one array of words, the fault cell as
   a buffer. */
#include "ir/narrow_internal.h"
#include <string.h>

/* How an element lies in a word. */
static uint32_t shift_to_word(int stored)
{
    return kni_bytes_of(stored) == 1 ? 2 : kni_bytes_of(stored) == 2 ? 1 : 0;
}

static bool is_small(int stored) { return kni_bytes_of(stored) < 4; }

static bool is_addressed(const kni_narrower *n, int stored)
{
    return kni_bytes_of(stored) == 1 ? !n->caps->no_bytes : n->caps->half_storage;
}

/* Small elements of a buffer that share words. */
static bool is_packed(const kni_narrower *n, uint32_t binding)
{
    const kni_ir_binding *k = &n->from->bindings[binding];
    return k->space == KNI_IR_GLOBAL && is_small(k->dtype) && !is_addressed(n, k->dtype);
}

/* ---- declarations */

static bool has_float_atomics(const kni_ir *ir, uint32_t binding)
{
    for (uint32_t i = 1; i < ir->n_nodes; i++)
        if (ir->nodes[i].code == KNI_IR_ATOMIC && ir->nodes[i].index == binding &&
            kni_is_float(ir->nodes[i].type.dtype))
            return true;
    return false;
}

static int dtype_in(const kni_narrower *n, uint32_t i)
{
    const kni_ir_binding *k = &n->from->bindings[i];
    if (kni_narrow_is_pair(k->dtype) || has_float_atomics(n->from, i)) return KN_U32;
    if (!is_small(k->dtype)) return k->space == KNI_IR_TABLE ? KN_U32 : k->dtype;
    if (k->space != KNI_IR_GLOBAL || !is_addressed(n, k->dtype)) return KN_U32;
    return kni_bytes_of(k->dtype) == 1 ? KN_U8 : KN_U16;
}

static uint32_t buffer(kni_narrower *n, uint32_t i)
{
    const kni_ir_binding *k = &n->from->bindings[i];
    int access = k->access & (KNI_IR_READ | KNI_IR_WRITE | KNI_IR_ALIASES);
    if (is_packed(n, i) && (access & KNI_IR_WRITE)) access |= KNI_IR_READ;
    uint32_t made = kni_ir_buffer(&n->b, k->name, dtype_in(n, i), access);
    if (n->b.status == KN_OK && !is_packed(n, i)) n->to->bindings[made].aligned = k->aligned;
    return made;
}

static uint32_t table(kni_narrower *n, const kni_ir_binding *k)
{
    for (uint32_t i = 0; i < n->to->n_bindings; i++)
        if (!strcmp(n->to->bindings[i].name, k->name)) return i;
    uint32_t made = kni_ir_table(&n->b, k->name, KN_U32), words = kni_bytes_of(k->dtype) / 4;
    for (uint32_t i = 0; i < (uint32_t)k->length * words; i++)
        kni_ir_table_add(&n->b, made, n->from->words[k->first + i]);
    return made;
}

static uint32_t array(kni_narrower *n, uint32_t i)
{
    const kni_ir_binding *k = &n->from->bindings[i];
    char name[32];
    kni_text text = {name, sizeof name, 0};
    if (n->depth)
        kni_text_format(&text, "local_%u", n->to->n_bindings);
    else
        kni_text_format(&text, "%s", k->name);
    return kni_ir_array(&n->b, name, dtype_in(n, i), k->space, k->length * kni_narrow_count(k->dtype));
}

void kni_narrow_bindings(kni_narrower *n)
{
    const kni_ir *from = n->from;
    for (uint32_t i = 0; i < from->n_buffers; i++) n->bindings[i] = buffer(n, i);
    if (from->reports) n->fault = kni_ir_buffer(&n->b, "fault", KN_U32, KNI_IR_READ | KNI_IR_WRITE);
    for (uint32_t i = from->n_buffers; i < from->n_bindings; i++)
        n->bindings[i] = from->bindings[i].space == KNI_IR_TABLE ? table(n, &from->bindings[i]) : array(n, i);
}

/* ---- numbers of the launch */

kni_parts kni_narrow_param(kni_narrower *n, uint32_t number, kni_ir_id at)
{
    const kni_ir_param *p = &n->from->params[number];
    kni_parts result = {{0, 0}};
    uint32_t count = kni_narrow_count(p->dtype);
    if (at && count > 1) at = kni_n_word(n, "shl", at, kni_n_u32(n, 1));
    for (uint32_t i = 0; i < count; i++) {
        kni_ir_id place = kni_n_u32(n, p->offset / 4 + i);
        if (at) place = kni_n_word(n, "add", at, place);
        result.id[i] = kni_n_bits(n, kni_ir_element(&n->b, n->words, place), kni_narrow_part(p->dtype));
    }
    return result;
}

/* ---- places */

static kni_ir_id place_of(kni_narrower *n, kni_ir_id at)
{
    return kni_narrow_cast(n, kni_narrow_value(n, at, 0), kni_ir_at(n->from, at)->type.dtype, KN_U32).id[0];
}

static kni_ir_id beyond(kni_narrower *n, kni_ir_id at, uint32_t by)
{
    return by ? kni_n_word(n, "add", at, kni_n_u32(n, by)) : at;
}

/* Whether all lanes of an access fill whole words, which begin where a word does. */
static bool fills_words(const kni_narrower *n, const kni_ir_node *node, uint32_t lanes)
{
    const kni_ir_binding *k = &n->from->bindings[node->index];
    return is_packed(n, node->index) && lanes * kni_bytes_of(k->dtype) % 4 == 0 && k->aligned % lanes == 0;
}

/* ---- loads */

static kni_ir_id word_at(kni_narrower *n, uint32_t binding, kni_ir_id at)
{
    uint32_t to = n->bindings[binding];
    int dtype = n->b.status ? KN_U32 : n->to->bindings[to].dtype;
    return kni_ir_load(&n->b, to, at, is_small(dtype) ? KN_U32 : dtype, 1);
}

/* Element at + lane as a value of `wanted`. */
static kni_parts element(kni_narrower *n, const kni_ir_node *node, kni_ir_id at, uint32_t lane, bool whole)
{
    const kni_ir_binding *k = &n->from->bindings[node->index];
    int dtype = k->dtype, wanted = node->type.dtype;
    uint32_t per_word = 1u << shift_to_word(dtype), bits = 32 / per_word;
    kni_parts x = {{0, 0}};
    if (kni_narrow_is_pair(dtype)) {
        kni_ir_id first = kni_n_word_by(n, "shl", beyond(n, at, lane), 1);
        x.id[0] = word_at(n, node->index, first);
        x.id[1] = word_at(n, node->index, kni_n_word(n, "or", first, kni_n_u32(n, 1)));
        return kni_narrow_cast(n, x, dtype, wanted);
    }
    if (!is_small(dtype)) {
        x.id[0] = kni_n_bits(n, word_at(n, node->index, beyond(n, at, lane)), dtype);
        return kni_narrow_cast(n, x, dtype, wanted);
    }
    if (!is_packed(n, node->index)) {
        x.id[0] = word_at(n, node->index, beyond(n, at, lane));
    } else if (whole) {
        kni_ir_id word = kni_n_word(n, "shr", at, kni_n_u32(n, shift_to_word(dtype)));
        x.id[0] = word_at(n, node->index, beyond(n, word, lane / per_word));
        x.id[0] = kni_n_word(n, "shr", x.id[0], kni_n_u32(n, lane % per_word * bits));
    } else {
        kni_ir_id here = beyond(n, at, lane);
        kni_ir_id inside = kni_n_word(n, "and", here, kni_n_u32(n, per_word - 1));
        kni_ir_id word = kni_n_word(n, "shr", here, kni_n_u32(n, shift_to_word(dtype)));
        x.id[0] = word_at(n, node->index, word);
        x.id[0] = kni_n_word(n, "shr", x.id[0], kni_n_word_by(n, "mul", inside, bits));
    }
    if (is_packed(n, node->index))
        x.id[0] =
            kni_n_word(n, "and", x.id[0], kni_n_u32(n, (uint32_t)(UINT64_C(0xffffffff) >> (32 - bits))));
    int computed;
    x = kni_narrow_loaded(n, x.id[0], dtype, &computed);
    return kni_narrow_cast(n, x, computed, wanted);
}

static bool same_mask(const kni_narrower *n, kni_ir_id mask, uint32_t lanes)
{
    for (uint32_t i = 1; i < lanes; i++)
        if (kni_narrow_value(n, mask, i).id[0] != kni_narrow_value(n, mask, 0).id[0]) return false;
    return true;
}

/* The lanes from `first` on, which share a condition. */
static void load_where(kni_narrower *n, const kni_ir_node *node, kni_ir_id at, uint32_t first, uint32_t lanes,
                       bool whole, kni_parts *result)
{
    uint32_t count = kni_narrow_count(node->type.dtype);
    for (uint32_t i = first; i < first + lanes; i++) {
        kni_parts otherwise = kni_narrow_value(n, node->c, i);
        for (uint32_t k = 0; k < count; k++)
            result[i].id[k] = kni_ir_variable(&n->b, kni_narrow_part(node->type.dtype), 1, otherwise.id[k]);
    }
    kni_ir_if(&n->b, kni_narrow_value(n, node->b, first).id[0]);
    for (uint32_t i = first; i < first + lanes; i++) {
        kni_parts x = element(n, node, at, i, whole);
        for (uint32_t k = 0; k < count; k++) kni_ir_set(&n->b, result[i].id[k], x.id[k]);
    }
    kni_ir_end(&n->b);
    for (uint32_t i = first; i < first + lanes; i++)
        for (uint32_t k = 0; k < count; k++) result[i].id[k] = kni_ir_get(&n->b, result[i].id[k]);
}

void kni_narrow_load(kni_narrower *n, const kni_ir_node *node, kni_parts *result)
{
    uint32_t lanes = node->type.lanes;
    kni_ir_id at = place_of(n, node->a);
    bool whole = fills_words(n, node, lanes);
    if (!node->b) {
        for (uint32_t i = 0; i < lanes; i++) result[i] = element(n, node, at, i, whole);
    } else if (same_mask(n, node->b, lanes)) {
        load_where(n, node, at, 0, lanes, whole, result);
    } else {
        for (uint32_t i = 0; i < lanes; i++) load_where(n, node, at, i, 1, whole, result);
    }
}

/* ---- stores */

/* Puts bits where the mask has ones, whatever others do to the rest of the word. */
static void store_part(kni_narrower *n, uint32_t to, kni_ir_id word, kni_ir_id bits, kni_ir_id mask)
{
    kni_ir_builder *b = &n->b;
    kni_ir_id old = kni_ir_variable(b, KN_U32, 1, kni_ir_load(b, to, word, KN_U32, 1));
    kni_ir_id keep = kni_n_word(n, "not", mask, 0);
    kni_ir_loop(b);
    kni_ir_loop_test(b, kni_ir_whole(b, KN_BOOL, 1));
    kni_ir_id expected = kni_ir_get(b, old);
    kni_ir_id next = kni_n_word(n, "or", kni_n_word(n, "and", expected, keep), bits);
    kni_ir_id seen = kni_ir_atomic_compare(b, to, word, next, expected);
    kni_ir_if(b, kni_n_word(n, "eq", seen, expected));
    kni_ir_break(b);
    kni_ir_end(b);
    kni_ir_set(b, old, seen);
    kni_ir_end(b);
}

static void store_packed(kni_narrower *n, const kni_ir_node *node, kni_ir_id at, uint32_t lane,
                         kni_ir_id bits)
{
    int dtype = n->from->bindings[node->index].dtype;
    uint32_t per_word = 1u << shift_to_word(dtype), width = 32 / per_word;
    kni_ir_id here = beyond(n, at, lane);
    kni_ir_id inside = kni_n_word(n, "and", here, kni_n_u32(n, per_word - 1));
    kni_ir_id by = kni_n_word(n, "mul", inside, kni_n_u32(n, width));
    kni_ir_id mask = kni_n_word(n, "shl", kni_n_u32(n, (uint32_t)(UINT64_C(0xffffffff) >> (32 - width))), by);
    kni_ir_id word = kni_n_word_by(n, "shr", here, shift_to_word(dtype));
    store_part(n, n->bindings[node->index], word, kni_n_word(n, "shl", bits, by), mask);
}

static void store_element(kni_narrower *n, const kni_ir_node *node, kni_ir_id at, uint32_t lane)
{
    kni_ir_builder *b = &n->b;
    int stored = n->from->bindings[node->index].dtype;
    uint32_t to = n->bindings[node->index];
    kni_parts x = kni_narrow_stored(n, kni_narrow_value(n, node->b, lane),
                                    kni_ir_at(n->from, node->b)->type.dtype, stored);
    if (b->status) return;
    if (is_packed(n, node->index)) {
        store_packed(n, node, at, lane, x.id[0]);
    } else if (kni_narrow_is_pair(stored)) {
        kni_ir_id first = kni_n_word_by(n, "shl", beyond(n, at, lane), 1);
        kni_ir_store(b, to, first, x.id[0]);
        kni_ir_store(b, to, kni_n_word(n, "or", first, kni_n_u32(n, 1)), x.id[1]);
    } else {
        int dtype = n->to->bindings[to].dtype;
        kni_ir_id value = is_small(dtype) ? x.id[0] : kni_n_bits(n, x.id[0], dtype);
        kni_ir_store(b, to, beyond(n, at, lane), value);
    }
}

static void store_words(kni_narrower *n, const kni_ir_node *node, kni_ir_id at, uint32_t lanes)
{
    int stored = n->from->bindings[node->index].dtype, from = kni_ir_at(n->from, node->b)->type.dtype;
    uint32_t per_word = 1u << shift_to_word(stored), width = 32 / per_word;
    kni_ir_id first = kni_n_word(n, "shr", at, kni_n_u32(n, shift_to_word(stored)));
    for (uint32_t i = 0; i < lanes; i += per_word) {
        kni_ir_id word = 0;
        for (uint32_t k = 0; k < per_word; k++) {
            kni_parts x = kni_narrow_stored(n, kni_narrow_value(n, node->b, i + k), from, stored);
            kni_ir_id bits = k ? kni_n_word(n, "shl", x.id[0], kni_n_u32(n, k * width)) : x.id[0];
            word = k ? kni_n_word(n, "or", word, bits) : bits;
        }
        kni_ir_store(&n->b, n->bindings[node->index], beyond(n, first, i / per_word), word);
    }
}

static void store_lanes(kni_narrower *n, const kni_ir_node *node, kni_ir_id at, uint32_t first,
                        uint32_t lanes)
{
    if (node->c) kni_ir_if(&n->b, kni_narrow_value(n, node->c, first).id[0]);
    if (lanes > 1 && fills_words(n, node, lanes))
        store_words(n, node, at, lanes);
    else
        for (uint32_t i = first; i < first + lanes; i++) store_element(n, node, at, i);
    if (node->c) kni_ir_end(&n->b);
}

void kni_narrow_store(kni_narrower *n, const kni_ir_node *node)
{
    uint32_t lanes = kni_ir_at(n->from, node->b)->type.lanes;
    kni_ir_id at = place_of(n, node->a);
    if (!node->c || same_mask(n, node->c, lanes))
        store_lanes(n, node, at, 0, lanes);
    else
        for (uint32_t i = 0; i < lanes; i++) store_lanes(n, node, at, i, 1);
}

/* ---- atomics */

/* Words of an f32, or of anything, by trying until nobody came between. */
static kni_parts by_trying(kni_narrower *n, const kni_ir_node *node, kni_ir_id at, kni_ir_id value)
{
    static const char *const words[] = {"add", "mul", "min", "max"};
    kni_ir_builder *b = &n->b;
    uint32_t to = n->bindings[node->index];
    kni_ir_id old = kni_ir_variable(b, KN_U32, 1, kni_ir_load(b, to, at, KN_U32, 1));
    kni_ir_loop(b);
    kni_ir_loop_test(b, kni_ir_whole(b, KN_BOOL, 1));
    kni_ir_id expected = kni_ir_get(b, old);
    kni_parts sum =
        kni_narrow_float_word(n, words[node->detail], KN_F32,
                              (kni_parts){{kni_n_bits(n, expected, KN_F32), 0}}, (kni_parts){{value, 0}});
    kni_ir_id seen = kni_ir_atomic_compare(b, to, at, kni_n_bits(n, sum.id[0], KN_U32), expected);
    kni_ir_if(b, kni_n_word(n, "eq", seen, expected));
    kni_ir_break(b);
    kni_ir_end(b);
    kni_ir_set(b, old, seen);
    kni_ir_end(b);
    return (kni_parts){{kni_n_bits(n, kni_ir_get(b, old), KN_F32), 0}};
}

static bool is_used(const kni_ir *ir, const kni_ir_node *node)
{
    kni_ir_id id = (kni_ir_id)(node - ir->nodes);
    for (uint32_t i = 1; i < ir->n_nodes; i++)
        if (ir->nodes[i].a == id || ir->nodes[i].b == id || ir->nodes[i].c == id) return true;
    for (uint32_t i = 0; i < ir->n_lists; i++)
        if (ir->lists[i] == id) return true;
    return false;
}

/* A sum of pairs: the low words first, then what they carry. Nobody may want to know what was there. */
static kni_parts add_pair(kni_narrower *n, const kni_ir_node *node, kni_ir_id at, kni_parts value)
{
    kni_ir_builder *b = &n->b;
    uint32_t to = n->bindings[node->index];
    kni_ir_id first = kni_n_word(n, "shl", at, kni_n_u32(n, 1));
    kni_ir_id low = kni_ir_atomic(b, to, first, value.id[0], KNI_IR_ADD);
    kni_ir_id over = kni_n_word(n, "lt", kni_n_word(n, "add", low, value.id[0]), low);
    kni_ir_id high = kni_n_word(n, "add", value.id[1], kni_n_unit(n, over));
    high = kni_ir_atomic(b, to, kni_n_word(n, "or", first, kni_n_u32(n, 1)), high, KNI_IR_ADD);
    return (kni_parts){{low, high}};
}

kni_parts kni_narrow_atomic(kni_narrower *n, const kni_ir_node *node)
{
    kni_ir_id at = place_of(n, node->a);
    kni_parts value = kni_narrow_value(n, node->b, 0);
    int dtype = node->type.dtype;
    uint32_t to = n->bindings[node->index];
    if (kni_narrow_is_pair(dtype)) {
        if (node->detail == KNI_IR_ADD && dtype != KN_F64 && !is_used(n->from, node))
            return add_pair(n, node, at, value);
        kni_narrow_refuse(n, "an atomic of %T, which this device does not have", dtype);
        return value;
    }
    if (dtype == KN_F32 && node->detail != KNI_IR_EXCHANGE) return by_trying(n, node, at, value.id[0]);
    if (dtype == KN_F32) {
        kni_ir_id old = kni_ir_atomic(&n->b, to, at, kni_n_bits(n, value.id[0], KN_U32), KNI_IR_EXCHANGE);
        return (kni_parts){{kni_n_bits(n, old, KN_F32), 0}};
    }
    if (node->detail == KNI_IR_COMPARE)
        return (kni_parts){
            {kni_ir_atomic_compare(&n->b, to, at, value.id[0], kni_narrow_value(n, node->c, 0).id[0]), 0}};
    return (kni_parts){{kni_ir_atomic(&n->b, to, at, value.id[0], node->detail), 0}};
}

/* ---- reports */

void kni_narrow_report(kni_narrower *n, kni_parts value)
{
    kni_ir_builder *b = &n->b;
    kni_ir_id zero = kni_n_u32(n, 0), unit = kni_n_u32(n, 1);
    kni_ir_if(b, kni_n_word(n, "eq", kni_ir_load(b, n->fault, zero, KN_U32, 1), zero));
    kni_ir_store(b, n->fault, kni_n_u32(n, 2), value.id[0]);
    kni_ir_store(b, n->fault, kni_n_u32(n, 3), value.id[1]);
    kni_ir_store(b, n->fault, zero, unit);
    kni_ir_end(b);
}
