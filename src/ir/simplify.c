/* Simplification: one walk over the blocks in order that folds constants, finds equal values, follows variables, takes
   branches whose condition is known and moves what does not change out of loops; then what nobody uses goes. */
#include "core/allocator.h"
#include "core/error.h"
#include "ir/simplify_internal.h"
#include <string.h>

enum { ROUNDS = 4, SPARE = 4096 };

static bool walk_block(kni_ir_simplifier *z, uint32_t block);

static kni_ir_node *at(const kni_ir_simplifier *z, kni_ir_id id) { return kni_ir_at(z->ir, id); }

bool kni_ir_is_constant(const kni_ir *ir, kni_ir_id id)
{
    return id && kni_ir_at(ir, id)->code == KNI_IR_CONSTANT;
}

static void append(kni_ir_simplifier *z, kni_ir_id id)
{
    if (z->to->last)
        at(z, z->to->last)->next = id;
    else
        z->to->first = id;
    z->to->last = id;
    at(z, id)->next = 0;
    z->depth[id] = z->loops;
}

kni_ir_id kni_ir_simplify_add(kni_ir_simplifier *z, int code, kni_ir_type type, const kni_ir_node *like)
{
    uint32_t line = like->line, column = like->column;
    kni_ir_id id = z->ir->n_nodes < z->room ? kni_ir_new_node(z->ir) : 0;
    if (!id) return 0;
    kni_ir_node *node = at(z, id);
    node->code = (uint8_t)code;
    node->type = type;
    node->line = line;
    node->column = column;
    z->same[id] = id;
    append(z, id);
    return id;
}

/* ---- operands */

static void follow_operands(kni_ir_simplifier *z, kni_ir_node *node)
{
    for (int i = 0; i < 3; i++) {
        kni_ir_id *o = kni_ir_operand(node, i);
        if (*o) *o = z->same[*o];
    }
    if (node->code == KNI_IR_CALL || node->code == KNI_IR_PACK)
        for (uint32_t i = 0; i < node->u.list.count; i++) {
            kni_ir_id *o = &z->ir->lists[node->u.list.first + i];
            *o = z->same[*o];
        }
}

/* ---- equal values */

static uint32_t mix(uint32_t h, uint32_t v) { return (h ^ v) * 0x9e3779b1u + (h >> 15); }

static uint32_t hash_of(const kni_ir_simplifier *z, kni_ir_id id)
{
    const kni_ir_node *n = at(z, id);
    uint32_t h = mix(mix(n->code, n->detail), (uint32_t)n->type.dtype << 8 | n->type.lanes);
    h = mix(mix(mix(mix(h, n->index), n->a), n->b), n->c);
    if (n->code == KNI_IR_CONSTANT)
        h = mix(mix(h, (uint32_t)n->u.whole), (uint32_t)((uint64_t)n->u.whole >> 32));
    if (n->code == KNI_IR_PACK || n->code == KNI_IR_CALL)
        for (uint32_t i = 0; i < n->u.list.count; i++) h = mix(h, z->ir->lists[n->u.list.first + i]);
    return (h ^ h >> 16) & (z->n_buckets - 1);
}

static bool equal(const kni_ir_simplifier *z, kni_ir_id x, kni_ir_id y)
{
    const kni_ir_node *p = at(z, x), *q = at(z, y);
    if (p->code != q->code || p->detail != q->detail || !kni_ir_same_type(p->type, q->type) ||
        p->index != q->index || p->a != q->a || p->b != q->b || p->c != q->c)
        return false;
    if (p->code == KNI_IR_CONSTANT) return !memcmp(&p->u.whole, &q->u.whole, sizeof p->u.whole);
    if (p->code == KNI_IR_LOAD) return z->version[x] == z->version[y];
    if (p->code != KNI_IR_PACK && p->code != KNI_IR_CALL) return true;
    return p->u.list.count == q->u.list.count &&
           !memcmp(&z->ir->lists[p->u.list.first], &z->ir->lists[q->u.list.first],
                   p->u.list.count * sizeof(kni_ir_id));
}

/* The equal node that is in sight, or the node itself, which is in sight from now on. */
static kni_ir_id find_equal(kni_ir_simplifier *z, kni_ir_id id)
{
    uint32_t h = hash_of(z, id);
    for (kni_ir_id other = z->buckets[h]; other; other = z->in_bucket[other])
        if (equal(z, id, other)) return other;
    z->in_bucket[id] = z->buckets[h];
    z->buckets[h] = id;
    z->seen[z->n_seen++] = id;
    return id;
}

/* Forgets the nodes that came since: they are out of sight. Their fields may not have changed. */
static void forget_seen(kni_ir_simplifier *z, uint32_t since)
{
    while (z->n_seen > since) {
        kni_ir_id id = z->seen[--z->n_seen];
        z->buckets[hash_of(z, id)] = z->in_bucket[id];
    }
}

/* ---- variables */

static void know(kni_ir_simplifier *z, kni_ir_id variable, kni_ir_id value)
{
    void *undo = kni_grow(z->undo, &z->undo_room, z->n_undo + 1, sizeof *z->undo);
    if (!undo) {
        z->failed = true;
        return;
    }
    z->undo = undo;
    z->undo[z->n_undo++] = (struct kni_ir_undo){variable, z->known[variable]};
    z->known[variable] = value;
}

static void unknow(kni_ir_simplifier *z, uint32_t since)
{
    while (z->n_undo > since) {
        z->n_undo--;
        z->known[z->undo[z->n_undo].variable] = z->undo[z->n_undo].value;
    }
}

/* The variables that are set inside are not known. */
static void forget_sets(kni_ir_simplifier *z, uint32_t block)
{
    if (!block) return;
    for (kni_ir_id id = z->ir->blocks[block].first; id; id = at(z, id)->next) {
        kni_ir_node *node = at(z, id);
        if (node->code == KNI_IR_SET && z->known[node->a]) know(z, node->a, 0);
        for (int i = 0; i < kni_ir_block_count(node->code); i++) forget_sets(z, node->u.blocks[i]);
    }
}

/* ---- memory */

/* Something may have written: what was loaded before is not what a load would give now. */
static void touch_memory(kni_ir_simplifier *z, uint32_t binding)
{
    z->memory[binding]++;
    if (!(z->ir->bindings[binding].access & KNI_IR_ALIASES)) return;
    for (uint32_t i = 0; i < z->ir->n_bindings; i++)
        if (z->ir->bindings[i].access & KNI_IR_ALIASES) z->memory[i]++;
}

static void touch_all(kni_ir_simplifier *z)
{
    for (uint32_t i = 0; i < z->ir->n_bindings; i++)
        if (z->ir->bindings[i].access & (KNI_IR_WRITE | KNI_IR_ALIASES)) z->memory[i]++;
}

/* ---- control */

/* An inner block: what comes to be known in it is forgotten at its end. */
static void walk_inner(kni_ir_simplifier *z, uint32_t block)
{
    if (!block) return;
    uint32_t seen = z->n_seen, undo = z->n_undo;
    kni_ir_block *outer = z->to, list = {0, 0};
    z->to = &list;
    walk_block(z, block);
    z->to = outer;
    z->ir->blocks[block] = list;
    forget_seen(z, seen);
    unknow(z, undo);
}

/* Swaps an empty then for the else. */
static void turn_if(kni_ir_simplifier *z, kni_ir_id id)
{
    kni_ir_id negated = kni_ir_simplify_add(z, KNI_IR_NOT, (kni_ir_type){KN_BOOL, 1}, at(z, id));
    if (!negated) return;
    kni_ir_node *node = at(z, id);
    at(z, negated)->a = node->a;
    node->a = negated;
    node->u.blocks[0] = node->u.blocks[1];
    node->u.blocks[1] = 0;
    z->changed = true;
}

/* True when nothing after it in the block runs. */
static bool walk_if(kni_ir_simplifier *z, kni_ir_id id)
{
    uint32_t yes = at(z, id)->u.blocks[0], no = at(z, id)->u.blocks[1];
    if (kni_ir_is_constant(z->ir, at(z, id)->a)) {
        uint32_t taken = at(z, at(z, id)->a)->u.whole ? yes : no;
        z->changed = true;
        return taken && walk_block(z, taken);
    }
    walk_inner(z, yes);
    walk_inner(z, no);
    forget_sets(z, yes);
    forget_sets(z, no);
    if (no && !z->ir->blocks[no].first) at(z, id)->u.blocks[1] = no = 0;
    bool empty = !z->ir->blocks[yes].first;
    if (empty && !no) {
        z->changed = true;
        return false;
    }
    if (empty) turn_if(z, id);
    append(z, id);
    return false;
}

static bool defined_outside(const kni_ir_simplifier *z, kni_ir_node *node, uint32_t loops)
{
    for (int i = 0; i < 3; i++) {
        kni_ir_id o = *kni_ir_operand(node, i);
        if (o && z->depth[o] >= loops) return false;
    }
    for (uint32_t i = 0; node->code == KNI_IR_PACK && i < node->u.list.count; i++)
        if (z->depth[z->ir->lists[node->u.list.first + i]] >= loops) return false;
    return true;
}

/* What is the same in every turn of a loop leaves its block. */
static void hoist(kni_ir_simplifier *z, uint32_t block)
{
    if (!block) return;
    kni_ir_block stays = {0, 0}, *outer = z->to;
    for (kni_ir_id id = z->ir->blocks[block].first, next; id; id = next) {
        kni_ir_node *node = at(z, id);
        next = node->next;
        /* A number at a constant place is there: the verifier looked. */
        bool safe = (kni_ir_codes[node->code].flags & KNI_IR_MOVES) ||
                    (node->code == KNI_IR_ELEMENT && kni_ir_is_constant(z->ir, node->a));
        bool moves = safe && defined_outside(z, node, z->loops + 1);
        if (moves) {
            append(z, id);
            z->changed = true;
            continue;
        }
        uint32_t depth = z->depth[id];
        z->to = &stays;
        append(z, id);
        z->to = outer;
        z->depth[id] = depth;
    }
    z->ir->blocks[block] = stays;
}

/* Whether a loop's turns are none for what is known. */
static bool never_runs(const kni_ir_simplifier *z, const kni_ir_node *node)
{
    if (node->code != KNI_IR_FOR || !kni_ir_is_constant(z->ir, node->a) ||
        !kni_ir_is_constant(z->ir, node->b))
        return false;
    int64_t from = at(z, node->a)->u.whole, below = at(z, node->b)->u.whole;
    return node->type.dtype == KN_U64 ? (uint64_t)from >= (uint64_t)below : from >= below;
}

/* The last continue of a loop's body, or return of a kernel's, says nothing. */
static void drop_last(kni_ir_simplifier *z, uint32_t block, int code)
{
    kni_ir_block *k = &z->ir->blocks[block];
    if (!k->last || at(z, k->last)->code != code) return;
    kni_ir_id before = 0;
    for (kni_ir_id id = k->first; id != k->last; id = at(z, id)->next) before = id;
    if (before)
        at(z, before)->next = 0;
    else
        k->first = 0;
    k->last = before;
    z->changed = true;
}

static void walk_loop(kni_ir_simplifier *z, kni_ir_id id)
{
    bool counted = at(z, id)->code == KNI_IR_FOR;
    uint32_t blocks[3];
    memcpy(blocks, at(z, id)->u.blocks, sizeof blocks);
    int n = kni_ir_block_count(at(z, id)->code);
    if (never_runs(z, at(z, id))) {
        z->changed = true;
        return;
    }
    for (int i = 0; i < n; i++) forget_sets(z, blocks[i]);
    touch_all(z);
    z->loops++;
    z->depth[id] = z->loops;
    for (int i = 0; i < n; i++) walk_inner(z, blocks[i]);
    z->loops--;
    drop_last(z, blocks[counted ? 0 : 1], KNI_IR_CONTINUE);
    const kni_ir_node *test = counted ? NULL : at(z, z->ir->blocks[blocks[0]].last);
    if (test && kni_ir_is_constant(z->ir, test->a) && !at(z, test->a)->u.whole) {
        /* Its condition is computed once and says no: only what it does stays. */
        kni_ir_block condition = z->ir->blocks[blocks[0]];
        for (kni_ir_id k = condition.first, next; k && k != condition.last; k = next) {
            next = at(z, k)->next;
            append(z, k);
        }
        z->changed = true;
        return;
    }
    for (int i = 0; i < n; i++) hoist(z, blocks[i]);
    if (counted && !z->ir->blocks[blocks[0]].first) {
        z->changed = true;
        return;
    }
    if (n == 3 && blocks[2] && !z->ir->blocks[blocks[2]].first) at(z, id)->u.blocks[2] = 0;
    uint32_t depth = z->depth[id];
    append(z, id);
    z->depth[id] = depth;
}

/* ---- nodes */

static void replace(kni_ir_simplifier *z, kni_ir_id id, kni_ir_id by)
{
    z->same[id] = by;
    z->changed = true;
}

static void walk_value(kni_ir_simplifier *z, kni_ir_id id)
{
    kni_ir_id by = kni_ir_fold(z, id);
    if (by == id && (kni_ir_codes[at(z, id)->code].flags & (KNI_IR_PURE | KNI_IR_READS)))
        by = find_equal(z, id);
    if (by != id)
        replace(z, id, by);
    else
        append(z, id);
}

/* True when nothing after it in the block runs. */
static bool walk_node(kni_ir_simplifier *z, kni_ir_id id)
{
    kni_ir_node *node = at(z, id);
    follow_operands(z, node);
    switch (node->code) {
    case KNI_IR_IF:
        return walk_if(z, id);
    case KNI_IR_FOR:
    case KNI_IR_LOOP:
        walk_loop(z, id);
        return false;
    case KNI_IR_BREAK:
    case KNI_IR_CONTINUE:
    case KNI_IR_RETURN:
        if (node->next) z->changed = true;
        append(z, id);
        return true;
    case KNI_IR_VARIABLE:
        append(z, id);
        know(z, id, node->a);
        return false;
    case KNI_IR_SET:
        append(z, id);
        know(z, node->a, node->b);
        return false;
    case KNI_IR_GET:
        if (z->known[node->a]) {
            replace(z, id, z->known[node->a]);
            return false;
        }
        append(z, id);
        know(z, node->a, id);
        return false;
    case KNI_IR_LOAD:
        z->version[id] = z->memory[node->index];
        break;
    case KNI_IR_STORE:
    case KNI_IR_ATOMIC:
    case KNI_IR_TILE_STORE:
        touch_memory(z, node->index);
        break;
    case KNI_IR_BARRIER:
    case KNI_IR_WORKGROUP:
    case KNI_IR_SCAN:
        touch_all(z);
        break;
    default:
        break;
    }
    walk_value(z, id);
    return false;
}

static bool walk_block(kni_ir_simplifier *z, uint32_t block)
{
    for (kni_ir_id id = z->ir->blocks[block].first, next; id && !z->failed; id = next) {
        next = at(z, id)->next;
        if (walk_node(z, id)) return true;
    }
    return false;
}

/* ---- the module */

static bool prepare(kni_ir_simplifier *z, uint32_t **memory, size_t *bytes)
{
    z->room = z->ir->n_nodes + SPARE;
    z->n_buckets = 64;
    while (z->n_buckets < z->ir->n_nodes / 2) z->n_buckets *= 2;
    *bytes = ((size_t)z->room * 6 + z->n_buckets) * sizeof(uint32_t);
    *memory = kni_allocate(*bytes);
    if (!*memory) return false;
    memset(*memory, 0, *bytes);
    uint32_t **arrays[] = {&z->same, &z->depth, &z->version, &z->known, &z->in_bucket, &z->seen, &z->buckets};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) *arrays[i] = *memory + i * z->room;
    for (uint32_t i = 0; i < z->room; i++) z->same[i] = i;
    return true;
}

static bool simplify_once(kni_ir *ir, bool *changed)
{
    kni_ir_simplifier z = {.ir = ir};
    uint32_t *memory = NULL;
    size_t bytes = 0;
    if (!prepare(&z, &memory, &bytes)) return false;
    for (uint32_t i = 0; i < ir->n_functions; i++) walk_inner(&z, ir->functions[i].body);
    walk_inner(&z, ir->body);
    drop_last(&z, ir->body, KNI_IR_RETURN);
    *changed |= z.changed;
    kni_free(memory, bytes);
    if (z.undo) kni_free(z.undo, z.undo_room * sizeof *z.undo);
    return !z.failed;
}

kn_status kni_ir_simplify(kni_ir *ir)
{
    bool changed = true;
    for (int i = 0; i < ROUNDS && changed; i++) {
        changed = false;
        if (!simplify_once(ir, &changed) || !kni_ir_remove_dead(ir, &changed))
            return kni_fail(KN_ERROR_MEMORY, "no memory to simplify kernel %s", ir->name);
    }
    return kni_ir_verify(ir);
}
