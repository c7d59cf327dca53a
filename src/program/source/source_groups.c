/* Finds blocks: stretches of nodes that come again and again and differ in their weights alone, as the layers of a transformer do. */
#include "core/error.h"
#include "ops/custom_rows.h"
#include "program/source/source_parts.h"
#include <stdlib.h>

enum { SHORTEST = 6, LONGEST = 400 };

typedef struct search {
    kni_source *s;
    const int32_t *made;
    const int32_t *nodes; /* of region 0 */
    int32_t n;
    uint64_t *signs; /* of each node: what it computes, not from what */
} search;

static uint64_t mix(uint64_t h, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++) h = (h ^ at[i]) * 1099511628211u;
    return h;
}

static uint64_t mix_type(uint64_t h, const kni_type *t)
{
    h = mix(h, &t->dtype, sizeof t->dtype);
    h = mix(h, &t->rank, sizeof t->rank);
    return mix(h, t->dims, t->rank * sizeof *t->dims);
}

static uint64_t sign_of(const search *x, int32_t i)
{
    const kni_program *p = x->s->p;
    const kni_program_node *n = &p->nodes[x->nodes[i]];
    uint64_t h = 1469598103934665603u;
    if (n->kind != KNI_NODE_OP) return mix(h, &i, sizeof i); /* control is no part of a block */
    h = mix(h, &n->row, sizeof n->row);
    h = mix(h, kni_node_attributes(p, n), n->row->attribute_bytes);
    h = mix(h, &n->n_in, sizeof n->n_in);
    for (int32_t k = 0; k < n->n_out; k++) h = mix_type(h, &p->values[kni_node_out(p, n)[k]].type);
    return h;
}

static bool is_member(const search *x, int32_t v) { return x->s->values[v].place == KNI_SOURCE_FIELD; }

static bool same_tensor_type(const kni_program *p, int32_t a, int32_t b)
{
    const kni_type *t = &p->values[a].type, *u = &p->values[b].type;
    return t->dtype == u->dtype && t->rank == u->rank &&
           !memcmp(t->dims, u->dims, t->rank * sizeof *t->dims) && p->values[a].origin == p->values[b].origin;
}

/* Whether operand b of node j, one period after operand a of node i, stands for the same thing. `begin`: of the block of i. */
static bool operands_match(const search *x, int32_t a, int32_t b, int32_t begin, int32_t length)
{
    const kni_program *p = x->s->p;
    if (a == b) return a < 0 || !is_member(x, a) ? a < 0 || x->made[a] < begin : true;
    if (a < 0 || b < 0) return false;
    if (is_member(x, a) && is_member(x, b)) return same_tensor_type(p, a, b);
    if (x->s->values[a].place != KNI_SOURCE_LOCAL || x->s->values[b].place != KNI_SOURCE_LOCAL) return false;
    int32_t from = x->made[a], to = x->made[b];
    if (to < 0) return false;
    /* Made inside the block, or in the block before; the first block takes from outside what later ones take from the block before. */
    bool same_place =
        from >= 0 && to - from == length && p->values[a].region == 0 &&
        kni_node_out(p, &p->nodes[x->nodes[from]])[0] - a == kni_node_out(p, &p->nodes[x->nodes[to]])[0] - b;
    if (from >= begin) return same_place;
    return to >= begin && to < begin + length && (same_place || from < begin);
}

static bool blocks_match(const search *x, int32_t begin, int32_t length)
{
    const kni_program *p = x->s->p;
    if (begin + 2 * length > x->n ||
        memcmp(x->signs + begin, x->signs + begin + length, (size_t)length * sizeof *x->signs) != 0)
        return false;
    for (int32_t i = begin; i < begin + length; i++) {
        const kni_program_node *a = &p->nodes[x->nodes[i]], *b = &p->nodes[x->nodes[i + length]];
        for (int32_t k = 0; k < a->n_in; k++)
            if (!operands_match(x, kni_node_in(p, a)[k], kni_node_in(p, b)[k], begin, length)) return false;
    }
    return true;
}

/* The value that stands in block `other` for value v of block `block`; v itself where it is from outside of both. */
static int32_t counterpart(const search *x, int32_t v, int32_t shift)
{
    const kni_program *p = x->s->p;
    const kni_program_node *a = &p->nodes[x->nodes[x->made[v]]], *b = &p->nodes[x->nodes[x->made[v] + shift]];
    return kni_node_out(p, b)[v - kni_node_out(p, a)[0]];
}

/* Operand k of node i in the block that begins at `begin`, seen from one block later: where the first block's operand comes from outside
   and the second's from the first block, the value is carried. A block may carry one value from block to block, read nothing else that
   changes, and give nothing else to what follows. */
static bool is_simple(const search *x, const kni_source_group *g)
{
    const kni_program *p = x->s->p;
    int32_t carried_in = -1, carried_out = -1;
    for (int32_t b = 0; b + 1 < g->count; b++) {
        int32_t begin = g->first + b * g->length;
        for (int32_t i = begin; i < begin + g->length; i++) {
            const kni_program_node *n = &p->nodes[x->nodes[i]], *m = &p->nodes[x->nodes[i + g->length]];
            for (int32_t k = 0; k < n->n_in; k++) {
                int32_t v = kni_node_in(p, n)[k], w = kni_node_in(p, m)[k];
                if (v < 0 || v == w || is_member(x, v) || x->s->values[v].place != KNI_SOURCE_LOCAL) continue;
                if (x->made[v] >= begin) continue;
                if (x->made[w] < begin || x->made[w] >= begin + g->length) return false;
                if (b == 0 && carried_in < 0) carried_in = v, carried_out = w;
                if (b == 0 && (v != carried_in || w != carried_out)) return false;
                if (b > 0 && w != counterpart(x, carried_out, b * g->length)) return false;
            }
        }
    }
    return carried_in >= 0;
}

/* Whether only the carried value of the last block, and of the others nothing, is read behind its block. */
static bool gives_one(const search *x, const kni_source_group *g)
{
    const kni_program *p = x->s->p;
    int32_t end = g->first + g->count * g->length;
    for (int32_t i = g->first; i < x->n; i++) {
        const kni_program_node *n = &p->nodes[x->nodes[i]];
        int32_t begin = i < end ? g->first + (i - g->first) / g->length * g->length : end;
        int32_t given = -1;
        for (int32_t k = 0; k < n->n_in; k++) {
            int32_t v = kni_node_in(p, n)[k], from = v < 0 ? -1 : x->made[v];
            if (from < g->first || from >= begin) continue;
            /* Only from the block before, and only one of its values. */
            if (from < begin - g->length || (given >= 0 && given != v)) return false;
            given = v;
        }
    }
    return true;
}

/* Operand k of what stands in block b for node i of the first one. */
static int32_t operand_of(const search *x, const kni_source_group *g, int32_t i, int32_t k, int32_t b)
{
    const kni_program *p = x->s->p;
    return kni_node_in(p, &p->nodes[x->nodes[i + b * g->length]])[k];
}

/* Members of the blocks: those that differ from block to block. A weight may stand in one place alone. */
static kn_status find_members(const search *x, kni_source_group *g, bool *good)
{
    const kni_program *p = x->s->p;
    int32_t room = 0;
    *good = true;
    for (int32_t i = g->first; i < g->first + g->length; i++) {
        const kni_program_node *n = &p->nodes[x->nodes[i]];
        for (int32_t k = 0; k < n->n_in; k++) {
            int32_t v = kni_node_in(p, n)[k];
            if (v < 0 || !is_member(x, v)) continue;
            bool shared = operand_of(x, g, i, k, 1) == v;
            for (int32_t b = 2; b < g->count; b++)
                if ((operand_of(x, g, i, k, b) == v) != shared) *good = false;
            if (shared) continue;
            if (x->s->values[v].block >= 0) *good = false;
            room++;
        }
    }
    g->members = calloc((size_t)(room ? room : 1) * (size_t)g->count, sizeof *g->members);
    if (!g->members) return kni_fail(KN_ERROR_MEMORY, "kn_program_to_source: no memory for blocks");
    g->n_members = room;
    for (int32_t b = 0; b < g->count; b++)
        for (int32_t i = g->first, at = 0; i < g->first + g->length; i++) {
            const kni_program_node *n = &p->nodes[x->nodes[i]], *m = &p->nodes[x->nodes[i + b * g->length]];
            for (int32_t k = 0; k < n->n_in; k++) {
                int32_t v = kni_node_in(p, n)[k];
                if (v < 0 || !is_member(x, v) || kni_node_in(p, &p->nodes[x->nodes[i + g->length]])[k] == v)
                    continue;
                g->members[b * room + at++] = kni_node_in(p, m)[k];
            }
        }
    /* A weight that two places of the blocks name would be two members: such blocks are printed one by one. */
    for (int32_t a = 0; a < room * g->count && *good; a++)
        for (int32_t b = 0; b < a && *good; b++) *good = g->members[a] != g->members[b];
    return KN_OK;
}

/* A weight of blocks belongs to nobody else. */
static bool owns_members(const search *x, const kni_source_group *g)
{
    const kni_program *p = x->s->p;
    int32_t end = g->first + g->count * g->length;
    for (int32_t i = 0; i < x->n; i++) {
        if (i >= g->first && i < end) continue;
        const kni_program_node *n = &p->nodes[x->nodes[i]];
        if (n->kind != KNI_NODE_OP) return false;
        for (int32_t k = 0; k < n->n_in; k++)
            for (int32_t m = 0; m < g->n_members * g->count; m++)
                if (kni_node_in(p, n)[k] == g->members[m]) return false;
    }
    return true;
}

static kn_status add_group(search *x, kni_source_group g, bool *added)
{
    kni_source *s = x->s;
    bool good = is_simple(x, &g) && gives_one(x, &g);
    kn_status status = good ? find_members(x, &g, &good) : KN_OK;
    *added = status == KN_OK && good && owns_members(x, &g);
    kni_source_group *groups = *added ? realloc(s->groups, ((size_t)s->n_groups + 1) * sizeof *groups) : NULL;
    if (*added && !groups) status = kni_fail(KN_ERROR_MEMORY, "kn_program_to_source: no memory for blocks");
    if (!groups) {
        free(g.members);
        return status;
    }
    s->groups = groups;
    const char *name = kni_source_name(s, s->n_groups ? "more_blocks" : "blocks");
    snprintf(g.name, sizeof g.name, "%s", name ? name : "blocks");
    for (int32_t i = 0; i < g.n_members * g.count; i++) {
        s->values[g.members[i]].block = s->n_groups;
        s->values[g.members[i]].member = i;
    }
    groups[s->n_groups++] = g;
    return KN_OK;
}

/* The shortest period at a place that comes again, and how often it does; a long stretch of blocks before a short one. */
static kni_source_group group_at(const search *x, int32_t begin)
{
    kni_source_group best = {0};
    for (int32_t length = SHORTEST; length <= LONGEST && begin + 2 * length <= x->n; length++) {
        if (x->signs[begin] != x->signs[begin + length]) continue;
        int32_t count = 1;
        while (blocks_match(x, begin + (count - 1) * length, length)) count++;
        if (count > 1 && count * length > best.count * best.length)
            best = (kni_source_group){.first = begin, .length = length, .count = count};
    }
    return best;
}

kn_status kni_source_find_groups(kni_source *s, const int32_t *made)
{
    const kni_program_region *r = &s->p->regions[0];
    search x = {s, made, r->nodes, r->n_nodes, malloc(((size_t)r->n_nodes + 1) * sizeof(uint64_t))};
    if (!x.signs) return kni_fail(KN_ERROR_MEMORY, "kn_program_to_source: no memory for blocks");
    kn_status status = KN_OK;
    for (int32_t i = 0; i < x.n; i++) x.signs[i] = sign_of(&x, i);
    for (int32_t i = 0; i < x.n && status == KN_OK;) {
        kni_source_group g = group_at(&x, i);
        bool added = false;
        if (g.count > 1) status = add_group(&x, g, &added);
        i = added ? g.first + g.count * g.length : i + 1;
    }
    free(x.signs);
    return status;
}
