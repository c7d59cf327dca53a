/* Computing again instead of storing. A value that one group makes and later groups read, such as what a gradient needs of
   the forward pass, costs a write and a read for each of them. Where it is made by cheap records from values that lie in
   memory anyway, the readers can compute it themselves. For each group the cheapest set of values to read is a minimum cut
   between what lies in memory and what the group reads, with bytes as capacities. A value is computed again by all of its
   readers or by none. */
#include "graph/plan_repeats.h"
#include "graph/minimum_cut.h"
#include "graph/row_domain.h"
#include <string.h>

enum { MOST_VALUES = (KNI_CUT_NODES - 2) / 2, MOST_INPUTS = 64 };

typedef struct state {
    const kni_queue *q;
    const kni_group_limits *limits;
    kni_plan *p;
    uint8_t *natural;
    bool *again;
    bool *cheap;            /* by value: may be computed by any group over its shape */
    bool *stored;           /* by value: some step reads it from memory, or somebody outside the queue does */
    bool *wanted;           /* by value: some step would rather compute it again */
    int32_t *made_in;       /* by value: step, -1 for values from outside */
    int32_t *readers;       /* by value: steps other than its maker's that read it */
    int32_t *node;          /* by value: its number in the graph of the step at hand, -1 */
    const kni_type **shape; /* by step: what its records run over */
} state;

/* The graph of one step. Value i enters at node 2 + 2i and leaves at the next one. */
typedef struct frontier {
    kni_cut cut;
    int32_t step, n;
    int32_t values[MOST_VALUES];
} frontier;

static const kni_entry *entry_at(const state *s, const kni_step *step, int32_t i)
{
    return &s->q->entries[step->entries[i]];
}

/* Twice the bytes, so that the half of a write can be counted. Elements that repeat count once. */
static int64_t weight_of(const state *s, int32_t value)
{
    const kni_value *v = &s->q->values[value];
    const kni_tensor *x = kni_queue_slot(s->q, v->whole >= 0 ? v->whole : v->first);
    int64_t elements = 1;
    for (int i = 0; i < x->type.rank; i++)
        if (x->strides[i] || v->whole >= 0) elements *= x->type.dims[i];
    return elements * 2 * kni_bytes_of(x->type.dtype);
}

static bool computes_cheaply(const state *s, const kn_record *r)
{
    if (kni_pointwise_record(r)) return true;
    return s->limits->takes & KNI_TAKES_CREATION && kni_creation_record(r);
}

/* Whether a group of this kind can take more pointwise records over its own shape. */
static bool can_grow(const state *s, int32_t step)
{
    uint8_t kind = s->natural[step];
    return (kind == KNI_GROUP_POINTWISE || kind == KNI_GROUP_REDUCTION || kind == KNI_GROUP_ROWS) &&
           s->limits->kinds >> kind & 1;
}

/* Whether operand k of an entry could be the result of a record of a group over the shape: all of a value. */
static bool could_be_inside(const state *s, const kni_entry *e, int k, const kni_type *shape)
{
    int32_t operand = e->operands[e->record->n_out + k];
    return kni_operand_whole(s->q, operand) && kni_same_dims(&kni_queue_slot(s->q, operand)->type, shape);
}

static const kni_type *shape_of(const state *s, const kni_step *step)
{
    kni_row_domain rows;
    for (int32_t i = 0; i < step->group.n_records; i++)
        if (kni_row_domain_of(entry_at(s, step, i)->record, &rows)) return rows.shape;
    const kn_record *r = entry_at(s, step, 0)->record;
    return r->n_out ? &kni_out(r, 0)->type : NULL;
}

/* ---- what is known of each value */

static void note_reader(state *s, int32_t step, const kni_entry *e, int k, int32_t *last_reader)
{
    int32_t v = kni_entry_value(s->q, e, e->record->n_out + k);
    if (v < 0 || s->made_in[v] < 0 || s->made_in[v] == step) return;
    if (!can_grow(s, step) || !could_be_inside(s, e, k, s->shape[step])) s->cheap[v] = false;
    if (last_reader[v] != step) s->readers[v]++;
    last_reader[v] = step;
}

static bool look_at_values(state *s, kni_bump *memory)
{
    const kni_queue *q = s->q;
    int32_t *last_reader = kni_bump_take(memory, (size_t)q->n_values * sizeof *last_reader + 1);
    if (!last_reader) return false;
    for (int32_t v = 0; v < q->n_values; v++) {
        s->made_in[v] = s->node[v] = last_reader[v] = -1;
        s->cheap[v] = s->wanted[v] = false;
        s->readers[v] = 0;
    }
    for (int32_t i = 0; i < s->p->n_steps; i++) {
        s->shape[i] = shape_of(s, &s->p->steps[i]);
        for (int32_t k = 0; k < s->p->steps[i].group.n_records; k++) {
            const kni_entry *e = entry_at(s, &s->p->steps[i], k);
            for (int o = 0; o < e->record->n_out; o++) {
                int32_t v = kni_entry_value(q, e, o);
                s->made_in[v] = i;
                s->cheap[v] = computes_cheaply(s, e->record) && !kni_bit(s->p->alive, v);
            }
        }
    }
    for (int32_t i = 0; i < s->p->n_steps; i++)
        for (int32_t k = 0; k < s->p->steps[i].group.n_records; k++) {
            const kni_entry *e = entry_at(s, &s->p->steps[i], k);
            for (int o = 0; o < e->record->n_in; o++)
                if (e->operands[e->record->n_out + o] >= 0) note_reader(s, i, e, o, last_reader);
        }
    for (int32_t v = 0; v < q->n_values; v++)
        s->stored[v] = s->made_in[v] < 0 || s->readers[v] || kni_bit(s->p->alive, v);
    return true;
}

/* ---- the graph of one step */

/* The node by which the value enters; -1 when there is no place. *known tells whether it was there. */
static int32_t enter(state *s, frontier *f, int32_t v, bool *known)
{
    *known = s->node[v] >= 0;
    if (*known) return 2 + 2 * s->node[v];
    int32_t in = f->n < MOST_VALUES ? kni_cut_node(&f->cut) : -1;
    if (in < 0 || kni_cut_node(&f->cut) < 0) {
        f->cut.full = true;
        return -1;
    }
    s->node[v] = f->n;
    f->values[f->n++] = v;
    return in;
}

/* Whether the step reads the value from memory whatever is decided, so that reading it again costs nothing. */
static bool is_read_anyway(const state *s, int32_t step, int32_t v)
{
    const kni_step *at = &s->p->steps[step];
    if (s->cheap[v]) return false;
    for (int32_t i = 0; i < at->group.n_records; i++) {
        const kni_entry *e = entry_at(s, at, i);
        for (int k = 0; k < e->record->n_in; k++)
            if (kni_entry_value(s->q, e, e->record->n_out + k) == v) return true;
    }
    return false;
}

static int64_t cost_of_reading(const state *s, int32_t step, int32_t v)
{
    if (!s->stored[v]) return KNI_CUT_NEVER;
    if (!s->cheap[v]) return is_read_anyway(s, step, v) ? 0 : weight_of(s, v);
    return weight_of(s, v) + weight_of(s, v) / s->readers[v];
}

/* Adds the value and, where it can be computed again, what it is made from. */
static void expand(state *s, frontier *f, int32_t first)
{
    for (int32_t at = first; at < f->n && !f->cut.full; at++) {
        int32_t v = f->values[at], in = 2 + 2 * at;
        kni_cut_edge(&f->cut, in, in + 1, cost_of_reading(s, f->step, v));
        if (!s->cheap[v]) {
            kni_cut_edge(&f->cut, KNI_CUT_SOURCE, in, KNI_CUT_NEVER);
            continue;
        }
        const kni_entry *e = &s->q->entries[s->q->values[v].maker];
        for (int k = 0; k < e->record->n_in; k++) {
            int32_t u = kni_entry_value(s->q, e, e->record->n_out + k);
            bool known;
            if (u < 0 || s->made_in[u] == f->step) continue;
            int32_t from = enter(s, f, u, &known);
            if (from < 0) return;
            kni_cut_edge(&f->cut, from + 1, in, KNI_CUT_NEVER);
            /* Seen through a view, or over another shape, it must come from memory. */
            if (!could_be_inside(s, e, k, s->shape[f->step]))
                kni_cut_edge(&f->cut, KNI_CUT_SOURCE, from, KNI_CUT_NEVER);
        }
    }
}

/* How many there are when the value is one of the list. */
static int32_t count_once(int32_t *list, int32_t n, int32_t v)
{
    for (int32_t i = 0; i < n; i++)
        if (list[i] == v) return n;
    if (n < MOST_INPUTS) list[n] = v;
    return n + 1;
}

/* Whether the group stays within what the device takes when the values on the sink's side are computed in it. */
static bool fits(const state *s, const frontier *f)
{
    const kni_step *step = &s->p->steps[f->step];
    int32_t records = step->group.n_records, inputs = 0, list[MOST_INPUTS];
    for (int32_t i = 0; i < f->n && inputs <= MOST_INPUTS; i++) {
        bool inside = f->cut.before_sink[2 + 2 * i];
        records += inside;
        if (!inside && f->cut.before_sink[3 + 2 * i]) inputs = count_once(list, inputs, f->values[i]);
    }
    for (int32_t i = 0; i < step->group.n_records; i++) {
        const kni_entry *e = entry_at(s, step, i);
        for (int k = e->record->n_out; k < e->record->n_out + e->record->n_in && inputs <= MOST_INPUTS; k++) {
            int32_t v = kni_entry_value(s->q, e, k);
            if (v >= 0 && s->made_in[v] != f->step && s->node[v] < 0) inputs = count_once(list, inputs, v);
        }
    }
    int32_t most = s->limits->max_inputs < MOST_INPUTS ? s->limits->max_inputs : MOST_INPUTS;
    return records <= s->limits->max_records && inputs <= most;
}

/* Decides what the step reads; values it would compute are `wanted`, cheap ones it reads lose that they are. */
static bool decide_step(state *s, frontier *f, int32_t step)
{
    const kni_step *at = &s->p->steps[step];
    bool changed = false;
    f->step = step;
    f->n = 0;
    kni_cut_begin(&f->cut);
    for (int32_t i = 0; i < at->group.n_records; i++) {
        const kni_entry *e = entry_at(s, at, i);
        for (int k = 0; k < e->record->n_in; k++) {
            int32_t v = kni_entry_value(s->q, e, e->record->n_out + k);
            bool known;
            if (v < 0 || !s->cheap[v] || s->made_in[v] == step) continue;
            int32_t in = enter(s, f, v, &known);
            if (in >= 0 && !known) kni_cut_edge(&f->cut, in + 1, KNI_CUT_SINK, KNI_CUT_NEVER);
        }
    }
    int32_t direct = f->n;
    expand(s, f, 0);
    bool solved = kni_cut_solve(&f->cut) && fits(s, f);
    for (int32_t i = 0; i < f->n; i++) {
        int32_t v = f->values[i];
        bool computed = solved && f->cut.before_sink[2 + 2 * i];
        bool read = solved ? !computed && f->cut.before_sink[3 + 2 * i] : i < direct;
        if (computed) s->wanted[v] = true;
        if (read && s->cheap[v]) {
            s->cheap[v] = false;
            changed = true;
        }
        s->node[v] = -1;
    }
    return changed;
}

/* Until no value is both read and computed: each round takes the choice from at least one value. */
static void decide(state *s, frontier *f)
{
    bool changed = true;
    while (changed) {
        changed = false;
        memset(s->wanted, 0, (size_t)s->q->n_values);
        for (int32_t i = 0; i < s->p->n_steps; i++)
            if (can_grow(s, i)) changed |= decide_step(s, f, i);
    }
    for (int32_t v = 0; v < s->q->n_values; v++) s->again[v] = s->wanted[v] && s->cheap[v];
}

/* ---- the new steps */

/* The entries of a step and those that compute again what they read, in the order of the queue. `in` marks entries. */
static int32_t gather(const state *s, const kni_step *step, bool *in, int32_t *list)
{
    const kni_queue *q = s->q;
    int32_t n = 0, lowest = q->n_entries, highest = -1;
    for (int32_t i = 0; i < step->group.n_records; i++) {
        list[n++] = step->entries[i];
        in[step->entries[i]] = true;
    }
    for (int32_t i = 0; i < n; i++) {
        const kni_entry *e = &q->entries[list[i]];
        if (list[i] < lowest) lowest = list[i];
        if (list[i] > highest) highest = list[i];
        for (int k = 0; k < e->record->n_in; k++) {
            int32_t v = kni_entry_value(q, e, e->record->n_out + k);
            if (v < 0 || !s->again[v] || in[q->values[v].maker]) continue;
            in[q->values[v].maker] = true;
            list[n++] = q->values[v].maker;
        }
    }
    n = 0;
    for (int32_t i = lowest; i <= highest; i++) {
        if (in[i]) list[n++] = i;
        in[i] = false;
    }
    return n;
}

/* Keeps what is needed: outside, by a later step, or by a later record of the step. From the last step to the first. */
static int32_t keep_needed(const state *s, int32_t *list, int32_t n, bool *needed, bool *local)
{
    const kni_queue *q = s->q;
    int32_t kept = n;
    for (int32_t i = n; i-- > 0;) {
        const kni_entry *e = &q->entries[list[i]];
        const kn_record *r = e->record;
        bool keep = kni_record_has_effects(r);
        for (int k = 0; k < r->n_out; k++) {
            int32_t v = kni_entry_value(q, e, k);
            keep |= s->again[v] ? local[v] : needed[v] || kni_bit(s->p->alive, v);
            local[v] = false;
        }
        if (!keep) continue;
        list[--kept] = list[i];
        for (int k = r->n_out; k < r->n_out + r->n_in; k++) {
            int32_t v = kni_entry_value(q, e, k);
            if (v >= 0) *(s->again[v] ? &local[v] : &needed[v]) = true;
        }
    }
    memmove(list, list + kept, (size_t)(n - kept) * sizeof *list);
    return n - kept;
}

static bool rebuild(state *s)
{
    kni_plan *p = s->p;
    const kni_queue *q = s->q;
    size_t marks = (size_t)q->n_entries + 2 * (size_t)q->n_values + 1;
    bool *in = kni_bump_take(&p->memory, marks);
    int32_t *list = kni_bump_take(&p->memory, (size_t)q->n_entries * sizeof *list + 1);
    if (!in || !list) return false;
    memset(in, 0, marks);
    bool *needed = in + q->n_entries, *local = needed + q->n_values;
    for (int32_t i = p->n_steps; i-- > 0;) {
        kni_step *step = &p->steps[i];
        int32_t n = keep_needed(s, list, gather(s, step, in, list), needed, local);
        step->entries = kni_bump_take(&p->memory, (size_t)n * sizeof *step->entries + 1);
        step->records = kni_bump_take(&p->memory, (size_t)n * sizeof *step->records + 1);
        step->last_use = kni_bump_take(&p->memory, (size_t)n * sizeof *step->last_use + 1);
        if (!step->entries || !step->records || !step->last_use) return false;
        memcpy(step->entries, list, (size_t)n * sizeof *list);
        step->group.records = step->records;
        step->group.n_records = n;
        step->group.kind = n == 1 ? KNI_GROUP_SINGLE : s->natural[i];
    }
    int32_t left = 0;
    for (int32_t i = 0; i < p->n_steps; i++)
        if (p->steps[i].group.n_records) p->steps[left++] = p->steps[i];
    p->n_steps = left;
    return true;
}

bool kni_plan_repeats(const kni_queue *q, const kni_group_limits *limits, kni_plan *p, uint8_t *natural,
                      bool *again)
{
    size_t n = (size_t)q->n_values;
    bool *flags = kni_bump_take(&p->memory, 3 * n + 1);
    int32_t *numbers = kni_bump_take(&p->memory, 3 * n * sizeof *numbers + 1);
    frontier *f = kni_bump_take(&p->memory, sizeof *f);
    const kni_type **shape = kni_bump_take(&p->memory, (size_t)p->n_steps * sizeof *shape + 1);
    if (!flags || !numbers || !f || !shape) return false;
    state s = {.q = q,
               .limits = limits,
               .p = p,
               .natural = natural,
               .again = again,
               .cheap = flags,
               .stored = flags + n,
               .wanted = flags + 2 * n,
               .made_in = numbers,
               .readers = numbers + n,
               .node = numbers + 2 * n,
               .shape = shape};
    if (!look_at_values(&s, &p->memory)) return false;
    decide(&s, f);
    for (size_t v = 0; v < n; v++)
        if (again[v]) return rebuild(&s);
    return true;
}
