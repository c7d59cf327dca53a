/* Grouping: each record joins the group of a record it reads from where that is possible. Groups have places in an
   order of running, and every record reads from groups at its own group's place or before. */
#include "graph/grouping.h"
#include <string.h>

typedef struct group {
    uint8_t kind;
    bool consumed;  /* another group reads from it: it cannot move behind that one */
    int32_t place;  /* in the order of running */
    int32_t merged; /* the group it has become part of, -1 */
    int32_t n_records, n_inputs, n_results;
    const kni_type *shape; /* that its records run over */
} group;

typedef struct state {
    const kni_queue *q;
    const kni_group_limits *limits;
    group *groups;
    int32_t n_groups, next_place;
    int32_t *group_of;
    const char **why;
} state;

bool kni_pointwise_record(const kn_record *r)
{
    const kn_op *row = r->row;
    return row->kind == KNI_ELEMENTWISE && r->n_out == 1 && (row->scalar || row->number == KNI_OP_cast);
}

/* ---- what nobody needs */

/* A function of the user's may do more than compute. */
static bool has_effects(const kn_op *row) { return row->host || row->custom_gradient || row->source; }

static bool find_dead(state *s, const uint64_t *alive, kni_bump *memory)
{
    const kni_queue *q = s->q;
    bool *needed = kni_bump_take(memory, (size_t)q->n_values + 1);
    if (!needed) return false;
    for (int32_t v = 0; v < q->n_values; v++) needed[v] = kni_bit(alive, v);
    for (int32_t i = q->n_entries; i-- > 0;) {
        const kni_entry *e = &q->entries[i];
        const kn_record *r = e->record;
        bool run = has_effects(r->row) || r->n_out == 0;
        for (int k = 0; k < r->n_out; k++) run |= needed[kni_entry_value(q, e, k)];
        s->group_of[i] = run ? 0 : -1;
        for (int k = r->n_out; run && k < r->n_out + r->n_in; k++) {
            int32_t v = kni_entry_value(q, e, k);
            if (v >= 0) needed[v] = true;
        }
    }
    return true;
}

/* ---- joining */

static int32_t root(const state *s, int32_t g)
{
    while (s->groups[g].merged >= 0) g = s->groups[g].merged;
    return g;
}

/* The group that makes operand i of the entry, -1 when it comes from outside. */
static int32_t source_group(const state *s, const kni_entry *e, int i)
{
    int32_t v = kni_entry_value(s->q, e, e->record->n_out + i);
    int32_t maker = v < 0 ? -1 : s->q->values[v].maker;
    return maker < 0 ? -1 : root(s, s->group_of[maker]);
}

/* Whether operand i is seen as it was made. */
static bool seen_whole(const state *s, const kni_entry *e, int i)
{
    int32_t k = e->operands[e->record->n_out + i];
    return k == s->q->values[s->q->operands[k].value].whole;
}

static int32_t new_group(state *s, uint8_t kind, const kni_type *shape)
{
    s->groups[s->n_groups] = (group){.kind = kind, .place = s->next_place++, .merged = -1, .shape = shape};
    return s->n_groups++;
}

static bool can_hold(const state *s, const group *g, int more_records, int more_inputs)
{
    return g->n_records + more_records <= s->limits->max_records &&
           g->n_inputs + more_inputs <= s->limits->max_inputs &&
           g->n_results + more_records <= s->limits->max_outputs;
}

/* Why the entry may not join group g, NULL when it may. */
static const char *obstacle(const state *s, const kni_entry *e, int32_t g)
{
    const group *into = &s->groups[g];
    const kni_type *shape = &kni_out(e->record, 0)->type;
    if (into->kind != KNI_GROUP_POINTWISE) return "what it reads comes from another kind of group";
    if (!kni_same_dims(shape, into->shape)) return "its shape is another one";
    for (int i = 0; i < e->record->n_in; i++)
        if (source_group(s, e, i) == g && !seen_whole(s, e, i)) return "it reads a view of a result";
    if (!can_hold(s, into, 1, e->record->n_in)) return "the group is full";
    return NULL;
}

/* Makes group g run last so far; it must not be consumed. */
static void move_last(state *s, int32_t g) { s->groups[g].place = s->next_place++; }

/* The latest place of a group, other than g, that the entry reads from. */
static int32_t latest_source(const state *s, const kni_entry *e, int32_t g)
{
    int32_t latest = -1;
    for (int i = 0; i < e->record->n_in; i++) {
        int32_t from = source_group(s, e, i);
        if (from >= 0 && from != g && s->groups[from].place > latest) latest = s->groups[from].place;
    }
    return latest;
}

/* Takes the other groups that the entry reads from into g where nothing stands against it. */
static void merge_sources(state *s, const kni_entry *e, int32_t g)
{
    for (int i = 0; i < e->record->n_in; i++) {
        int32_t other = source_group(s, e, i);
        if (other < 0 || other == g || obstacle(s, e, other)) continue;
        group *from = &s->groups[other], *into = &s->groups[g];
        if (from->consumed || from->place > into->place ||
            !can_hold(s, into, from->n_records, from->n_inputs))
            continue;
        from->merged = g;
        into->n_records += from->n_records;
        into->n_inputs += from->n_inputs;
        into->n_results += from->n_results;
    }
}

static void consume_sources(state *s, const kni_entry *e, int32_t g)
{
    for (int i = 0; i < e->record->n_in; i++) {
        int32_t from = source_group(s, e, i);
        if (from >= 0 && from != g) s->groups[from].consumed = true;
    }
}

/* The group among its sources that the entry can join: the one that runs latest. */
static int32_t group_to_join(state *s, const kni_entry *e, const char **why)
{
    int32_t best = -1;
    for (int i = 0; i < e->record->n_in; i++) {
        int32_t g = source_group(s, e, i);
        if (g < 0 || g == best) continue;
        const char *against = obstacle(s, e, g);
        bool ready = latest_source(s, e, g) <= s->groups[g].place;
        if (!against && !ready && s->groups[g].consumed) against = "another group stands between";
        if (against)
            *why = against;
        else if (best < 0 || s->groups[g].place > s->groups[best].place)
            best = g;
    }
    return best;
}

static void place_entry(state *s, int32_t index)
{
    const kni_entry *e = &s->q->entries[index];
    bool pointwise = kni_pointwise_record(e->record) && (s->limits->kinds >> KNI_GROUP_POINTWISE & 1);
    const kni_type *shape = &kni_out(e->record, 0)->type;
    int32_t g = -1;
    if (pointwise) {
        g = group_to_join(s, e, &s->why[index]);
        if (g < 0) g = new_group(s, KNI_GROUP_POINTWISE, shape);
        if (latest_source(s, e, g) > s->groups[g].place) move_last(s, g);
        merge_sources(s, e, g);
    } else {
        g = new_group(s, KNI_GROUP_SINGLE, shape);
    }
    consume_sources(s, e, g);
    s->group_of[index] = g;
    group *into = &s->groups[g];
    into->n_records++;
    into->n_inputs += e->record->n_in;
    into->n_results += e->record->n_out;
}

/* ---- the result: groups by place, numbered anew */

static bool finish(state *s, kni_bump *memory, kni_grouping *result)
{
    int32_t *at = kni_bump_take(memory, (size_t)s->next_place * sizeof *at + 1);
    result->order = kni_bump_take(memory, (size_t)s->n_groups * sizeof *result->order + 1);
    result->kind = kni_bump_take(memory, (size_t)s->n_groups + 1);
    if (!at || !result->order || !result->kind) return false;
    for (int32_t i = 0; i < s->next_place; i++) at[i] = -1;
    for (int32_t g = 0; g < s->n_groups; g++) {
        result->kind[g] = s->groups[g].n_records == 1 ? KNI_GROUP_SINGLE : s->groups[g].kind;
        if (s->groups[g].merged < 0) at[s->groups[g].place] = g;
    }
    result->n_groups = 0;
    for (int32_t i = 0; i < s->next_place; i++)
        if (at[i] >= 0) result->order[result->n_groups++] = at[i];
    for (int32_t i = 0; i < s->q->n_entries; i++)
        if (s->group_of[i] >= 0) s->group_of[i] = root(s, s->group_of[i]);
    result->group_of = s->group_of;
    result->why = s->why;
    return true;
}

bool kni_group_entries(const kni_queue *q, const uint64_t *alive, const kni_group_limits *limits,
                       kni_bump *memory, kni_grouping *result)
{
    size_t n = (size_t)q->n_entries;
    state s = {.q = q,
               .limits = limits,
               .groups = kni_bump_take(memory, n * sizeof *s.groups + 1),
               .group_of = kni_bump_take(memory, n * sizeof *s.group_of + 1),
               .why = kni_bump_take(memory, n * sizeof *s.why + 1)};
    if (!s.groups || !s.group_of || !s.why) return false;
    memset(s.why, 0, n * sizeof *s.why);
    if (!find_dead(&s, alive, memory)) return false;
    for (int32_t i = 0; i < q->n_entries; i++)
        if (s.group_of[i] >= 0) place_entry(&s, i);
    return finish(&s, memory, result);
}
