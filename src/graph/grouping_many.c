/* Groups over many tensors: what stands alone and is the same for several tensors runs as one launch. */
#include "graph/grouping_draft.h"
#include "ops/body_form.h"
#include <string.h>

typedef kni_draft group;
typedef kni_drafts state;

/* The place of the first group that reads from each group, next_place where none does. */
static void find_first_readers(const state *s, int32_t *first)
{
    for (int32_t g = 0; g < s->n_groups; g++) first[g] = s->next_place;
    for (int32_t i = 0; i < s->q->n_entries; i++) {
        if (s->group_of[i] < 0) continue;
        const kni_entry *e = &s->q->entries[i];
        int32_t own = kni_draft_root(s, s->group_of[i]), place = s->groups[own].place;
        for (int k = 0; k < e->record->n_in; k++) {
            int32_t from = kni_draft_source(s, e, k);
            if (from >= 0 && from != own && place < first[from]) first[from] = place;
        }
    }
}

/* ---- casts that no group took in */

/* Casts that stand alone run together: those of what was there before at the place of the first of them, the others at the
   place of the last, as long as nobody reads one of them before. */
static void collect_casts(state *s, const int32_t *first)
{
    int32_t early = -1, late = -1, late_end = 0;
    for (int32_t i = 0; i < s->q->n_entries; i++) {
        const kni_entry *e = &s->q->entries[i];
        if (s->group_of[i] < 0 || !kni_converts(e->record->row)) continue;
        int32_t g = kni_draft_root(s, s->group_of[i]), from = kni_draft_source(s, e, 0);
        group *own = &s->groups[g];
        if (own->kind != KNI_GROUP_POINTWISE || own->n_records != 1) continue;
        int32_t *many = from < 0 ? &early : &late;
        bool fits = *many >= 0 && kni_draft_holds(s, &s->groups[*many], 1, 1, 1) &&
                    (from < 0 || (own->place > s->groups[*many].place && own->place < late_end));
        if (!fits) { /* it begins a group of its own */
            own->kind = KNI_GROUP_MANY;
            own->op = e->record->op;
            own->n_inputs = own->n_results = 1;
            *many = g;
            if (from >= 0) late_end = first[g];
            continue;
        }
        group *into = &s->groups[*many];
        if (from >= 0) {
            into->place = own->place;
            if (first[g] < late_end) late_end = first[g];
        }
        own->merged = *many;
        into->n_records++;
        into->n_inputs++;
        into->n_results++;
    }
}

/* ---- small elementwise groups, such as those that move running averages */

enum { SMALL = 8192 /* elements: larger ones fill a device by themselves */, OPEN = 16, SEVERAL = -1 };

/* What there is to know of a group that may run beside others. */
typedef struct facts {
    int32_t begin, last; /* of its entries */
    int32_t results;     /* that are needed outside */
    uint64_t formula;    /* a hash of what its records compute */
    bool fits;
} facts;

/* A group that others may still join; those that read from groups of the queue run at the place of the last of them. */
typedef struct open_group {
    int32_t group, end; /* nobody reads from it before this place */
    uint64_t formula;
    bool late;
} open_group;

typedef struct collector {
    state *s;
    int32_t *first; /* by group: the place of its first reader */
    facts *facts;   /* by group */
    bool *read;     /* by value: by another group than its maker's */
    int32_t *
        reader; /* by value from outside a group: 1 + the group over many tensors that reads it, or SEVERAL */
    open_group open[OPEN];
    int n_open, next_open;
} collector;

/* Whether an operand in memory is small and dense, so that no index of it can be large. */
static bool is_plain(const kni_tensor *x)
{
    return kni_count(&x->type) <= SMALL && kni_is_contiguous(x->type.rank, x->type.dims, x->strides);
}

static void learn_entry(collector *c, int32_t index)
{
    const state *s = c->s;
    const kni_entry *e = &s->q->entries[index];
    const kn_record *r = e->record;
    const int32_t g = kni_draft_root(s, s->group_of[index]);
    facts *f = &c->facts[g];
    if (f->last < 0) f->begin = index;
    f->last = index;
    f->fits = f->fits && kni_pointwise_record(r) && !kni_body_requires(r->row->body);
    f->formula = kni_hash_word(f->formula, (uint64_t)r->op << 16 | (uint64_t)r->n_in << 8);
    if (r->n_out) f->formula = kni_hash_word(f->formula, kni_out(r, 0)->type.dtype);
    for (int k = 0; k < r->n_in; k++) {
        const int32_t v = kni_entry_value(s->q, e, r->n_out + k);
        if (v < 0) continue;
        const int32_t from = kni_draft_source(s, e, k);
        if (from == g) continue;
        c->read[v] = true;
        f->fits = f->fits && is_plain(kni_queue_slot(s->q, e->operands[r->n_out + k]));
    }
}

static void count_results(collector *c, int32_t index)
{
    const state *s = c->s;
    const kni_entry *e = &s->q->entries[index];
    for (int k = 0; k < e->record->n_out; k++) {
        const int32_t v = kni_entry_value(s->q, e, k);
        c->facts[kni_draft_root(s, s->group_of[index])].results += kni_bit(s->alive, v) || c->read[v];
    }
}

static void learn(collector *c)
{
    state *s = c->s;
    for (int32_t g = 0; g < s->n_groups; g++) c->facts[g] = (facts){.last = -1, .fits = true};
    for (int32_t i = 0; i < s->q->n_entries; i++)
        if (s->group_of[i] >= 0) learn_entry(c, i);
    for (int32_t i = 0; i < s->q->n_entries; i++)
        if (s->group_of[i] >= 0) count_results(c, i);
}

/* One result each, so that no tensor of one kernel is written while another part of it reads the operands once more. */
static bool may_run_beside(const collector *c, int32_t g)
{
    const group *own = &c->s->groups[g];
    return own->kind == KNI_GROUP_POINTWISE && c->facts[g].fits && c->facts[g].results == 1 &&
           kni_count(own->domain.shape) > 0 && kni_count(own->domain.shape) <= SMALL;
}

/* Whether group g reads something that `many` reads, too: no part of a kernel shares its loads with another one. */
static bool reads_alike(const collector *c, int32_t g, int32_t many)
{
    const state *s = c->s;
    for (int32_t i = c->facts[g].begin; i <= c->facts[g].last; i++) {
        const kni_entry *e = &s->q->entries[i];
        if (s->group_of[i] < 0 || kni_draft_root(s, s->group_of[i]) != g) continue;
        for (int k = 0; k < e->record->n_in; k++) {
            const int32_t v = kni_entry_value(s->q, e, e->record->n_out + k);
            if (v >= 0 && (c->reader[v] == many + 1 || c->reader[v] == SEVERAL)) return true;
        }
    }
    return false;
}

static void note_reads(collector *c, int32_t g, int32_t many)
{
    const state *s = c->s;
    for (int32_t i = c->facts[g].begin; i <= c->facts[g].last; i++) {
        const kni_entry *e = &s->q->entries[i];
        if (s->group_of[i] < 0 || kni_draft_root(s, s->group_of[i]) != g) continue;
        for (int k = 0; k < e->record->n_in; k++) {
            const int32_t v = kni_entry_value(s->q, e, e->record->n_out + k);
            if (v >= 0) c->reader[v] = c->reader[v] && c->reader[v] != many + 1 ? SEVERAL : many + 1;
        }
    }
}

/* Whether it reads from groups of the queue. */
static bool has_sources(const collector *c, int32_t g)
{
    const state *s = c->s;
    for (int32_t i = c->facts[g].begin; i <= c->facts[g].last; i++) {
        const kni_entry *e = &s->q->entries[i];
        if (s->group_of[i] < 0 || kni_draft_root(s, s->group_of[i]) != g) continue;
        for (int k = 0; k < e->record->n_in; k++) {
            const int32_t from = kni_draft_source(s, e, k);
            if (from >= 0 && from != g) return true;
        }
    }
    return false;
}

static void open_one(collector *c, int32_t g, bool late)
{
    open_group *o = NULL;
    for (int i = 0; i < c->n_open && !o; i++)
        if (c->open[i].formula == c->facts[g].formula && c->open[i].late == late) o = &c->open[i];
    if (!o && c->n_open < OPEN) o = &c->open[c->n_open++];
    if (!o) o = &c->open[c->next_open++ % OPEN];
    note_reads(c, g, g);
    *o = (open_group){g, c->first[g], c->facts[g].formula, late};
}

/* Joins g to an open group of its formula, where it fits: at the place of the later of both, before anybody reads from either, or,
   where nothing of the queue is needed, at that of the earlier. */
static bool join_one(collector *c, int32_t g, bool late)
{
    state *s = c->s;
    group *own = &s->groups[g];
    for (int i = 0; i < c->n_open; i++) {
        open_group *o = &c->open[i];
        if (o->formula != c->facts[g].formula || o->late != late) continue;
        group *into = &s->groups[o->group], many = *into;
        const bool own_last = own->place > into->place;
        const int32_t place = own_last == late ? own->place : into->place;
        const int32_t end = c->first[g] < o->end ? c->first[g] : o->end;
        many.kind = KNI_GROUP_MANY;
        if (place >= end || reads_alike(c, g, o->group) ||
            !kni_draft_holds(s, &many, own->n_records, own->n_inputs, own->n_results))
            return false;
        note_reads(c, g, o->group);
        into->kind = KNI_GROUP_MANY;
        into->place = place;
        into->n_records += own->n_records;
        into->n_inputs += own->n_inputs;
        into->n_results += own->n_results;
        o->end = end;
        own->merged = o->group;
        return true;
    }
    return false;
}

static bool collect_small(state *s, int32_t *first, kni_bump *memory)
{
    const size_t groups = (size_t)s->n_groups + 1, values = (size_t)s->q->n_values + 1;
    collector c = {.s = s, .first = first};
    if (!(s->limits->takes & KNI_TAKES_SMALL)) return true;
    c.facts = kni_bump_take(memory, groups * sizeof *c.facts);
    c.read = kni_bump_take(memory, values);
    c.reader = kni_bump_take(memory, values * sizeof *c.reader);
    if (!c.facts || !c.read || !c.reader) return false;
    memset(c.read, 0, values);
    memset(c.reader, 0, values * sizeof *c.reader);
    find_first_readers(s, first);
    learn(&c);
    for (int32_t i = 0; i < s->q->n_entries; i++) {
        const int32_t g = s->group_of[i];
        /* Groups that were merged are seen with the last entry of all. */
        if (g < 0 || s->groups[kni_draft_root(s, g)].kind != KNI_GROUP_POINTWISE) continue;
        const int32_t own = kni_draft_root(s, g);
        if (c.facts[own].last != i || !may_run_beside(&c, own)) continue;
        const bool late = has_sources(&c, own);
        if (!join_one(&c, own, late)) open_one(&c, own, late);
    }
    return true;
}

bool kni_drafts_collect(kni_drafts *s, kni_bump *memory)
{
    int32_t *first = kni_bump_take(memory, (size_t)s->n_groups * sizeof *first + 1);
    if (!first) return false;
    if (!kni_drafts_take(s, KNI_GROUP_MANY)) return true;
    find_first_readers(s, first);
    if (s->limits->takes & KNI_TAKES_CASTS) collect_casts(s, first);
    return collect_small(s, first, memory);
}
