/* What invocations do together, in terms of shuffles or of shared memory and barriers. The order is fixed: first inside
   chunks of a subgroup (of 32 where there is none) with halves of the distance 16, 8, 4, 2, 1, then the chunks' results in
   the same way. Shuffles and shared memory so give the same bits. */
#include "ir/legalise.h"

enum { CHUNK = 32 };

static const char *const words[] = {"add", "mul", "min", "max"};

static kni_ir_id whole(kni_legaliser *l, int64_t v) { return kni_ir_whole(&l->builder, KN_I32, v); }

static kni_ir_id local(kni_legaliser *l)
{
    return kni_ir_builtin_value(&l->builder, KNI_IR_LOCAL, 0, KN_I32);
}

static bool is_power(uint32_t n) { return n && !(n & (n - 1)); }

static uint32_t power_from(uint32_t n)
{
    uint32_t p = 1;
    while (p < n) p *= 2;
    return p;
}

static uint32_t scratch(kni_legaliser *l, int dtype, int which)
{
    uint32_t *known = &l->scratch[which][dtype];
    if (!*known)
        *known = 1 + kni_legalise_array(l, which ? "scratch_other" : "scratch", dtype, KNI_IR_SHARED,
                                        l->ir->workgroup);
    return *known - 1;
}

static kni_ir_id combined(kni_legaliser *l, int combine, kni_ir_id x, kni_ir_id y)
{
    return kni_ir_word(&l->builder, words[combine], x, y);
}

kni_ir_id kni_legalise_lane(kni_legaliser *l)
{
    if (l->lanes <= 1) return whole(l, 0);
    if (l->caps->subgroups) return kni_ir_builtin_value(&l->builder, KNI_IR_LANE_ID, 0, KN_I32);
    return kni_ir_word(&l->builder, "and", local(l), whole(l, l->lanes - 1));
}

/* ---- by shuffles */

static kni_ir_id butterfly(kni_legaliser *l, int combine, kni_ir_id value, uint32_t width)
{
    for (uint32_t far = width / 2; far; far /= 2)
        value = combined(l, combine, value, kni_ir_shuffle(&l->builder, value, whole(l, far)));
    return value;
}

/* ---- by shared memory */

static kni_ir_id exchanged(kni_legaliser *l, kni_ir_id value, kni_ir_id xor_lane)
{
    kni_ir_builder *b = &l->builder;
    int dtype = b->status == KN_OK ? kni_ir_at(l->ir, value)->type.dtype : KN_F32;
    uint32_t memory = scratch(l, dtype, 0);
    kni_ir_store(b, memory, local(l), value);
    kni_ir_barrier(b);
    kni_ir_id other =
        kni_ir_load(b, memory, kni_ir_word(b, "xor", local(l), kni_ir_cast(b, xor_lane, KN_I32)), dtype, 1);
    kni_ir_id kept = kni_ir_variable(b, dtype, 1, other);
    kni_ir_barrier(b);
    return kni_ir_get(b, kept);
}

/* memory[step * n] takes memory[step * (n + far)] in, where both are among the first `count`. */
static void halve(kni_legaliser *l, uint32_t memory, int dtype, int combine, kni_ir_id number, uint32_t far,
                  uint32_t step, kni_ir_id condition)
{
    kni_ir_builder *b = &l->builder;
    kni_ir_if(b, condition);
    kni_ir_id here = step == 1 ? number : kni_ir_word(b, "mul", number, whole(l, step));
    kni_ir_id there = kni_ir_word(b, "add", here, whole(l, (int64_t)far * step));
    kni_ir_id mine = kni_ir_load(b, memory, here, dtype, 1);
    kni_ir_store(b, memory, here, combined(l, combine, mine, kni_ir_load(b, memory, there, dtype, 1)));
    kni_ir_end(b);
    kni_ir_barrier(b);
}

static kni_ir_id below(kni_legaliser *l, kni_ir_id number, uint32_t limit)
{
    return kni_ir_word(&l->builder, "lt", number, whole(l, limit));
}

static kni_ir_id by_memory(kni_legaliser *l, int combine, int dtype, kni_ir_id value)
{
    kni_ir_builder *b = &l->builder;
    uint32_t size = l->ir->workgroup, memory = scratch(l, dtype, 0), chunks = (size + CHUNK - 1) / CHUNK;
    kni_ir_store(b, memory, local(l), value);
    kni_ir_barrier(b);
    uint32_t first = size < CHUNK ? power_from(size) : CHUNK;
    for (uint32_t far = first / 2; far; far /= 2) {
        kni_ir_id member = local(l), inside = kni_ir_word(b, "and", member, whole(l, CHUNK - 1));
        kni_ir_id condition = below(l, inside, far);
        if (size % first) condition = kni_ir_and(b, condition, below(l, member, size - far));
        halve(l, memory, dtype, combine, member, far, 1, condition);
    }
    for (uint32_t far = power_from(chunks) / 2; far; far /= 2) {
        kni_ir_id member = local(l);
        uint32_t limit = far < chunks - far ? far : chunks - far;
        halve(l, memory, dtype, combine, member, far, CHUNK, below(l, member, limit));
    }
    kni_ir_id kept = kni_ir_variable(b, dtype, 1, kni_ir_load(b, memory, whole(l, 0), dtype, 1));
    kni_ir_barrier(b);
    return kni_ir_get(b, kept);
}

/* A subgroup's results meet in shared memory, and each subgroup combines them for itself. */
static kni_ir_id by_subgroups(kni_legaliser *l, int combine, int dtype, kni_ir_id value)
{
    kni_ir_builder *b = &l->builder;
    uint32_t parts = l->ir->workgroup / l->lanes;
    value = butterfly(l, combine, value, l->lanes);
    if (parts == 1) return value;
    uint32_t memory = scratch(l, dtype, 0);
    kni_ir_id first = kni_ir_word(b, "eq", kni_legalise_lane(l), whole(l, 0));
    kni_ir_store_where(b, memory, kni_ir_word(b, "div", local(l), whole(l, l->lanes)), value, first);
    kni_ir_barrier(b);
    kni_ir_id part = kni_ir_word(b, "and", kni_legalise_lane(l), whole(l, parts - 1));
    kni_ir_id kept = kni_ir_variable(b, dtype, 1, kni_ir_load(b, memory, part, dtype, 1));
    kni_ir_barrier(b);
    return butterfly(l, combine, kni_ir_get(b, kept), parts);
}

/* ---- the nodes */

kni_ir_id kni_legalise_subgroup(kni_legaliser *l, kni_ir_id id)
{
    kni_ir_node node = *kni_ir_at(l->ir, id);
    if (l->lanes <= 1) return node.a;
    if (l->caps->subgroups) return butterfly(l, node.detail, node.a, l->lanes);
    kni_ir_id value = node.a;
    for (uint32_t far = l->lanes / 2; far; far /= 2)
        value = combined(l, node.detail, value, exchanged(l, value, whole(l, far)));
    return value;
}

kni_ir_id kni_legalise_shuffle(kni_legaliser *l, kni_ir_id id)
{
    kni_ir_node node = *kni_ir_at(l->ir, id);
    return l->lanes <= 1 ? node.a : exchanged(l, node.a, node.b);
}

kni_ir_id kni_legalise_workgroup(kni_legaliser *l, kni_ir_id id)
{
    kni_ir_node node = *kni_ir_at(l->ir, id);
    uint32_t size = l->ir->workgroup, parts = l->lanes ? size / l->lanes : 0;
    if (size == 1) return node.a;
    bool shuffles = l->caps->subgroups && l->lanes > 1 && is_power(l->lanes) && size % l->lanes == 0 &&
                    is_power(parts) && parts <= l->lanes;
    return shuffles ? by_subgroups(l, node.detail, node.type.dtype, node.a)
                    : by_memory(l, node.detail, node.type.dtype, node.a);
}

/* Each member takes in the one 1, 2, 4, ... places before it. */
kni_ir_id kni_legalise_scan(kni_legaliser *l, kni_ir_id id)
{
    kni_ir_builder *b = &l->builder;
    kni_ir_node node = *kni_ir_at(l->ir, id);
    int dtype = node.type.dtype, now = 0;
    uint32_t size = l->ir->workgroup;
    if (size == 1) return node.a;
    kni_ir_id value = node.a;
    kni_ir_store(b, scratch(l, dtype, now), local(l), value);
    kni_ir_barrier(b);
    for (uint32_t far = 1; far < size; far *= 2, now = !now) {
        kni_ir_id member = local(l), has = kni_ir_word(b, "ge", member, whole(l, far));
        kni_ir_id before = kni_ir_load_where(
            b, scratch(l, dtype, now), kni_ir_word(b, "sub", member, whole(l, far)), dtype, 1, has, value);
        kni_ir_id sum = kni_ir_select(b, has, combined(l, node.detail, before, value), value);
        value = kni_ir_get(b, kni_ir_variable(b, dtype, 1, sum));
        kni_ir_store(b, scratch(l, dtype, !now), member, value);
        kni_ir_barrier(b);
    }
    return value;
}
