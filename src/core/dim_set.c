/* Sets of symbolic sizes: expressions in a normal form, so that equal ones are one. */
#include "core/dim_set.h"

#ifndef KN_FREESTANDING

#include "core/allocator.h"
#include "core/dim_symbols.h"
#include <string.h>

enum { FIRST_SLOTS = 256 };

typedef kni_dim_node node;

kni_dims *kni_dims_new(void)
{
    kni_dims *s = kni_allocate(sizeof *s);
    if (s) memset(s, 0, sizeof *s);
    if (s) s->methods = &kni_symbolic_dims;
    return s;
}

void kni_dims_free(kni_dims *s)
{
    if (!s) return;
    kni_free(s->nodes, s->room * sizeof *s->nodes);
    kni_free(s->terms, s->term_room * sizeof *s->terms);
    kni_free(s->names, s->name_room);
    kni_free(s->slots, s->n_slots * sizeof *s->slots);
    kni_free(s, sizeof *s);
}

const node *kni_dim_at(kn_dim d)
{
    if (!kni_dim_is_expression(d) || !kni_dims_entered) return NULL;
    uint64_t i = (uint64_t)KNI_DIM_FIRST - (uint64_t)d;
    return i < kni_dims_entered->n ? &kni_dims_entered->nodes[i] : NULL;
}

const char *kni_dim_name(kn_dim symbol)
{
    const node *e = kni_dim_at(symbol);
    return e && e->kind == KNI_DIM_SYMBOL ? kni_dims_entered->names + e->first : "";
}

void kni_dim_operands(kn_dim d, kn_dim *a, kn_dim *b)
{
    const node *e = kni_dim_at(d);
    *a = e ? e->a : KNI_DIM_BAD;
    *b = e ? e->b : KNI_DIM_BAD;
}

/* ---- equal expressions are one */

static uint32_t mixed(uint32_t h, uint64_t word)
{
    word = (word ^ h) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(word >> 32 ^ word);
}

static uint32_t hash_of(const node *e, const kni_dim_term *terms, const char *name)
{
    uint32_t h = mixed(e->kind, 0);
    if (name) {
        for (; *name; name++) h = mixed(h, (unsigned char)*name);
        return h;
    }
    if (e->kind != KNI_DIM_SUM) return mixed(mixed(h, (uint64_t)e->a), (uint64_t)e->b);
    for (int i = 0; i < e->n; i++) {
        h = mixed(h, (uint64_t)terms[i].coefficient);
        for (int k = 0; k < terms[i].n_factors; k++) h = mixed(h, (uint64_t)terms[i].factors[k]);
    }
    return h;
}

static bool same_term(const kni_dim_term *a, const kni_dim_term *b)
{
    return a->coefficient == b->coefficient && a->n_factors == b->n_factors &&
           !memcmp(a->factors, b->factors, (size_t)a->n_factors * sizeof *a->factors);
}

static bool same(const node *e, const node *other, const kni_dim_term *terms, const char *name)
{
    if (e->kind != other->kind || e->hash != other->hash) return false;
    if (name) return !strcmp(kni_dims_entered->names + other->first, name);
    if (e->kind != KNI_DIM_SUM) return e->a == other->a && e->b == other->b;
    if (e->n != other->n) return false;
    for (int i = 0; i < e->n; i++)
        if (!same_term(&terms[i], &kni_dims_entered->terms[other->first + i])) return false;
    return true;
}

static bool more_slots(kni_dims *s)
{
    uint32_t n = s->n_slots ? 2 * s->n_slots : FIRST_SLOTS;
    if (s->n * 2 < s->n_slots) return true;
    int32_t *slots = kni_allocate(n * sizeof *slots);
    if (!slots) return false;
    memset(slots, 0, n * sizeof *slots);
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t k = s->nodes[i].hash & (n - 1);
        while (slots[k]) k = (k + 1) & (n - 1);
        slots[k] = (int32_t)i + 1;
    }
    kni_free(s->slots, s->n_slots * sizeof *s->slots);
    s->slots = slots;
    s->n_slots = n;
    return true;
}

/* Room for another node, with its terms or its name; false without memory, and where there are too many. */
static bool make_room(kni_dims *s, uint32_t terms, uint32_t bytes)
{
    if (s->n >= KNI_DIM_LIMIT || !more_slots(s)) return false;
    node *nodes = s->n < s->room ? s->nodes : kni_grow(s->nodes, &s->room, s->n + 1, sizeof *nodes);
    if (!nodes) return false;
    s->nodes = nodes;
    if (s->n_terms + terms > s->term_room) {
        kni_dim_term *all = kni_grow(s->terms, &s->term_room, s->n_terms + terms, sizeof *all);
        if (!all) return false;
        s->terms = all;
    }
    if (s->n_names + bytes > s->name_room) {
        char *names = kni_grow(s->names, &s->name_room, s->n_names + bytes, 1);
        if (!names) return false;
        s->names = names;
    }
    return true;
}

/* How much is printed of it, and how deep in brackets. */
static void measure(int32_t *parts, int *depth, kn_dim d)
{
    const node *e = kni_dim_at(d);
    *parts += e ? e->parts : 1;
    if (e && e->depth > *depth) *depth = e->depth;
}

static bool is_small(node *e, const kni_dim_term *terms)
{
    int32_t parts = 1;
    int depth = 0;
    for (int i = 0; e->kind == KNI_DIM_SUM && i < e->n; i++, parts++)
        for (int k = 0; k < terms[i].n_factors; k++) measure(&parts, &depth, terms[i].factors[k]);
    if (e->kind > KNI_DIM_SUM) {
        measure(&parts, &depth, e->a);
        measure(&parts, &depth, e->b);
        depth += e->kind == KNI_DIM_QUOTIENT ? 2 : 1;
    }
    e->parts = (uint16_t)parts;
    e->depth = (uint8_t)depth;
    return parts <= KNI_DIM_PARTS && depth < KNI_DIM_DEPTH;
}

kn_dim kni_dim_intern(node e, const kni_dim_term *terms, const char *name)
{
    kni_dims *s = kni_dims_entered;
    uint32_t bytes = name ? (uint32_t)strlen(name) + 1 : 0;
    if (!s) return KNI_DIM_BAD;
    if (!is_small(&e, terms)) {
        s->problem = "a size of the result is too long an expression of the sizes: it has more than "
                     "1000 parts, or 64 brackets in each other";
        return KNI_DIM_BAD;
    }
    if (!make_room(s, e.kind == KNI_DIM_SUM ? (uint32_t)e.n : 0, bytes)) {
        s->full = true;
        s->problem = "there is no memory for another size, or the program has too many different ones";
        return KNI_DIM_BAD;
    }
    e.hash = hash_of(&e, terms, name);
    uint32_t k = e.hash & (s->n_slots - 1);
    for (; s->slots[k]; k = (k + 1) & (s->n_slots - 1))
        if (same(&e, &s->nodes[s->slots[k] - 1], terms, name)) return KNI_DIM_FIRST - (s->slots[k] - 1);
    if (e.kind == KNI_DIM_SUM) {
        e.first = (int32_t)s->n_terms;
        memcpy(s->terms + s->n_terms, terms, (size_t)e.n * sizeof *terms);
        s->n_terms += (uint32_t)e.n;
    } else if (name) {
        e.first = (int32_t)s->n_names;
        memcpy(s->names + s->n_names, name, bytes);
        s->n_names += bytes;
        s->n_symbols++;
    }
    s->nodes[s->n] = e;
    s->slots[k] = (int32_t)++s->n;
    return KNI_DIM_FIRST - (int64_t)(s->n - 1);
}

kn_dim kni_dim_symbol(const char *name, int64_t lo, int64_t hi)
{
    if (!kni_dim_is_name(name) || lo < 0 || hi < lo) return KNI_DIM_BAD;
    return kni_dim_intern((node){.kind = KNI_DIM_SYMBOL, .values = {lo, hi}}, NULL, name);
}

bool kni_dims_are_full(const kni_dims *dims) { return dims->full; }

int32_t kni_dim_symbol_count(void) { return kni_dims_entered ? kni_dims_entered->n_symbols : 0; }

kn_dim kni_dim_symbol_next(uint32_t *i)
{
    for (; kni_dims_entered && *i < kni_dims_entered->n; ++*i)
        if (kni_dims_entered->nodes[*i].kind == KNI_DIM_SYMBOL) return KNI_DIM_FIRST - (int64_t)(*i)++;
    return KNI_DIM_BAD;
}

#endif
