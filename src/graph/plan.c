/* Making plans from groups: who makes what, what dies where. */
#include "graph/plan.h"
#include "core/text.h"
#include "graph/grouping.h"
#include "graph/plan_repeats.h"
#include <string.h>

static int32_t words_for(int32_t bits) { return (bits + 63) / 64; }

bool kni_plan_liveness(kni_queue *q)
{
    int32_t words = words_for(q->n_values);
    if (q->n_key + words > q->key_capacity) {
        int32_t capacity = q->n_key + words;
        uint64_t *key =
            kni_reallocate(q->key, (size_t)q->key_capacity * sizeof *key, (size_t)capacity * sizeof *key);
        if (!key) return false;
        q->key = key;
        q->key_capacity = capacity;
    }
    for (int32_t w = 0; w < words; w++) {
        uint64_t bits = 0;
        int32_t end = (w + 1) * 64 < q->n_values ? 64 : q->n_values - w * 64;
        for (int32_t i = 0; i < end; i++) {
            const kni_value *v = &q->values[w * 64 + i];
            bool used =
                v->maker < 0 || atomic_load_explicit(&v->storage->references, memory_order_acquire) > 1;
            bits |= (uint64_t)used << i;
        }
        q->key[q->n_key++] = bits;
        q->hash = kni_hash_word(q->hash, bits);
    }
    return true;
}

/* ---- steps */

typedef struct maker {
    kni_queue *q;
    kni_plan *plan;
    kni_grouping groups;
    int32_t *step_of; /* by entry */
    int32_t *last;    /* by value: the last step that reads or makes it */
    uint8_t *natural; /* by step: its kind, were there more than one record in it */
    bool *again;      /* by value: each step that reads it computes it */
} maker;

static void *take(maker *m, int32_t n, size_t size)
{
    return kni_bump_take(&m->plan->memory, (size_t)n * size + 1);
}

/* Fills in which entries run in which step. */
static bool make_steps(maker *m)
{
    kni_plan *p = m->plan;
    const kni_queue *q = m->q;
    const kni_grouping *g = &m->groups;
    int32_t most = 1;
    for (int32_t i = 0; i < g->n_groups; i++)
        if (g->order[i] >= most) most = g->order[i] + 1;
    int32_t *step_of_group = take(m, most, sizeof *step_of_group);
    p->n_steps = g->n_groups;
    p->steps = take(m, g->n_groups, sizeof *p->steps);
    m->step_of = take(m, q->n_entries, sizeof *m->step_of);
    m->natural = take(m, g->n_groups, sizeof *m->natural);
    if (!step_of_group || !p->steps || !m->step_of || !m->natural) return false;
    memset(p->steps, 0, (size_t)g->n_groups * sizeof *p->steps);
    for (int32_t i = 0; i < g->n_groups; i++) {
        step_of_group[g->order[i]] = i;
        p->steps[i].group.size = sizeof(kn_group);
        p->steps[i].group.kind = g->kind[g->order[i]];
        m->natural[i] = g->natural[g->order[i]];
    }
    for (int32_t e = 0; e < q->n_entries; e++) {
        m->step_of[e] = g->group_of[e] < 0 ? -1 : step_of_group[g->group_of[e]];
        if (m->step_of[e] >= 0) p->steps[m->step_of[e]].group.n_records++;
    }
    for (int32_t i = 0; i < p->n_steps; i++) {
        kni_step *s = &p->steps[i];
        int32_t n = s->group.n_records;
        s->entries = take(m, n, sizeof *s->entries);
        s->records = take(m, n, sizeof *s->records);
        s->last_use = take(m, n, sizeof *s->last_use);
        if (!s->entries || !s->records || !s->last_use) return false;
        s->group.records = s->records;
        s->group.n_records = 0;
    }
    for (int32_t e = 0; e < q->n_entries; e++) {
        kni_step *s = m->step_of[e] < 0 ? NULL : &p->steps[m->step_of[e]];
        if (s) s->entries[s->group.n_records++] = e;
    }
    return true;
}

/* Lets groups compute again what costs more to store; steps may have become fewer. */
static bool choose_what_to_store(maker *m, const kni_group_limits *limits)
{
    kni_plan *p = m->plan;
    m->again = take(m, m->q->n_values, sizeof *m->again);
    if (!m->again) return false;
    memset(m->again, 0, (size_t)m->q->n_values * sizeof *m->again);
    if (!(limits->takes & KNI_TAKES_REPEATS)) return true;
    if (!kni_plan_repeats(m->q, limits, p, m->natural, m->again)) return false;
    for (int32_t v = 0; v < m->q->n_values; v++) p->n_again += m->again[v];
    for (int32_t e = 0; e < m->q->n_entries; e++) m->step_of[e] = -1;
    for (int32_t i = 0; i < p->n_steps; i++)
        for (int32_t k = 0; k < p->steps[i].group.n_records; k++) {
            int32_t e = p->steps[i].entries[k];
            p->steps[i].repeats |= m->step_of[e] >= 0;
            m->step_of[e] = i;
        }
    return true;
}

/* Whether a step that reads the value makes it itself. */
static bool made_in(const maker *m, int32_t value, int32_t step)
{
    int32_t e = value < 0 ? -1 : m->q->values[value].maker;
    return e >= 0 && (m->again[value] || m->step_of[e] == step);
}

/* Puts a record for each view of the step's own results before the first record that reads it. */
static bool add_views(maker *m, kni_step *s, int32_t step)
{
    const kni_queue *q = m->q;
    int32_t n = s->group.n_records, views = 0, most = 0;
    for (int32_t i = 0; i < n; i++) most += q->entries[s->entries[i]].record->n_in;
    int32_t *seen = take(m, most, sizeof *seen), *entries = take(m, n + most, sizeof *entries);
    const kn_record **records = take(m, n + most, sizeof *records);
    uint64_t *last_use = take(m, n + most, sizeof *last_use);
    if (!seen || !entries || !records || !last_use) return false;
    int32_t at = 0;
    for (int32_t i = 0; i < n; i++) {
        const kni_entry *e = &q->entries[s->entries[i]];
        for (int k = 0; k < e->record->n_in && s->group.kind != KNI_GROUP_SINGLE; k++) {
            int32_t operand = e->operands[e->record->n_out + k], known = 0;
            if (operand < 0 || !made_in(m, q->operands[operand].value, step) || kni_operand_whole(q, operand))
                continue;
            while (known < views && seen[known] != operand) known++;
            if (known < views) continue;
            seen[views++] = operand;
            entries[at] = -1;
            records[at] = kni_plan_view(q, &m->plan->memory, operand);
            if (!records[at++]) return false;
        }
        entries[at++] = s->entries[i];
    }
    s->entries = entries;
    s->records = records;
    s->last_use = last_use;
    s->group.records = records;
    s->group.n_records = at;
    return true;
}

static bool find_last_uses(maker *m)
{
    const kni_queue *q = m->q;
    m->last = take(m, q->n_values, sizeof *m->last);
    if (!m->last) return false;
    for (int32_t v = 0; v < q->n_values; v++) m->last[v] = -1;
    for (int32_t step = 0; step < m->plan->n_steps; step++)
        for (int32_t k = 0; k < m->plan->steps[step].group.n_records; k++) {
            const kni_entry *e = &q->entries[m->plan->steps[step].entries[k]];
            for (int i = 0; i < e->record->n_out + e->record->n_in; i++) {
                int32_t v = kni_entry_value(q, e, i);
                if (v >= 0) m->last[v] = step;
            }
        }
    return true;
}

/* Whether the step sees the value through this operand alone. */
static bool seen_once(const maker *m, const kni_step *s, int32_t operand)
{
    const kni_queue *q = m->q;
    int32_t value = q->operands[operand].value;
    for (int32_t i = 0; i < s->group.n_records; i++) {
        const kni_entry *e = s->entries[i] < 0 ? NULL : &q->entries[s->entries[i]];
        for (int k = 0; e && k < e->record->n_out + e->record->n_in; k++)
            if (kni_entry_value(q, e, k) == value && e->operands[k] != operand) return false;
    }
    return true;
}

/* The record of the step that reads the operand last gets its bit when the value dies with the step. */
static void set_last_uses(maker *m, kni_step *s, int32_t step)
{
    const kni_queue *q = m->q;
    for (int32_t i = 0; i < s->group.n_records; i++) {
        s->last_use[i] = 0;
        if (s->entries[i] < 0) continue;
        const kni_entry *e = &q->entries[s->entries[i]];
        const kn_record *r = e->record;
        for (int k = 0; k < r->n_in && k < 64; k++) {
            int32_t operand = e->operands[r->n_out + k], v = operand < 0 ? -1 : q->operands[operand].value;
            if (v < 0 || m->last[v] != step) continue;
            bool later = false;
            for (int32_t j = i + 1; j < s->group.n_records && !later; j++) {
                if (s->entries[j] < 0) continue;
                const kni_entry *other = &q->entries[s->entries[j]];
                for (int o = 0; o < other->record->n_in; o++)
                    later |= other->operands[other->record->n_out + o] == operand;
            }
            if (!later && seen_once(m, s, operand)) s->last_use[i] |= UINT64_C(1) << k;
        }
    }
}

static int32_t add_once(uint32_t *list, int32_t n, uint32_t id)
{
    for (int32_t i = 0; i < n; i++)
        if (list[i] == id) return n;
    list[n] = id;
    return n + 1;
}

/* What the step reads from outside and what it must write. */
static bool bind_operands(maker *m, kni_step *s, int32_t step)
{
    const kni_queue *q = m->q;
    int32_t most_in = 0, most_out = 0;
    for (int32_t i = 0; i < s->group.n_records; i++) {
        if (s->entries[i] < 0) continue;
        most_in += q->entries[s->entries[i]].record->n_in;
        most_out += q->entries[s->entries[i]].record->n_out;
    }
    uint32_t *in = take(m, most_in, sizeof *in), *out = take(m, most_out, sizeof *out);
    s->makes = take(m, most_out, sizeof *s->makes);
    s->hides = take(m, most_out, sizeof *s->hides);
    s->dies = take(m, most_in + most_out, sizeof *s->dies);
    if (!in || !out || !s->makes || !s->hides || !s->dies) return false;
    s->group.inputs = in;
    s->group.outputs = out;
    for (int32_t i = 0; i < s->group.n_records; i++) {
        if (s->entries[i] < 0) continue;
        const kni_entry *e = &q->entries[s->entries[i]];
        const kn_record *r = e->record;
        for (int k = 0; k < r->n_in; k++) {
            int32_t operand = e->operands[r->n_out + k];
            if (operand < 0 || made_in(m, q->operands[operand].value, step)) continue;
            s->group.n_inputs = add_once(in, s->group.n_inputs, q->slots[operand]);
        }
        for (int k = 0; k < r->n_out; k++) {
            int32_t v = kni_entry_value(q, e, k);
            bool inside = s->group.kind != KNI_GROUP_SINGLE && !kni_bit(m->plan->alive, v) &&
                          (m->again[v] || m->last[v] == step);
            if (inside) {
                s->hides[s->n_hides++] = v;
            } else {
                out[s->group.n_outputs++] = q->slots[e->operands[k]];
                s->makes[s->n_makes++] = v;
            }
        }
    }
    return true;
}

static bool finish_steps(maker *m)
{
    kni_plan *p = m->plan;
    for (int32_t i = 0; i < p->n_steps; i++) {
        kni_step *s = &p->steps[i];
        if (s->group.n_records > 1 && !add_views(m, s, i)) return false;
        set_last_uses(m, s, i);
        if (!bind_operands(m, s, i)) return false;
        s->group.cache = &s->cache;
        s->group.release = &s->release;
    }
    for (int32_t v = 0; v < m->q->n_values; v++)
        if (m->last[v] >= 0) {
            kni_step *s = &p->steps[m->last[v]];
            s->dies[s->n_dies++] = v;
        }
    return true;
}

/* The whole of the plan: what comes from outside and what lives on. */
static bool describe_run(maker *m)
{
    kni_plan *p = m->plan;
    const kni_queue *q = m->q;
    uint32_t *in = take(m, q->n_operands, sizeof *in), *out = take(m, q->n_values, sizeof *out);
    const kni_group **steps = take(m, p->n_steps, sizeof *steps);
    if (!in || !out || !steps) return false;
    for (int32_t i = 0; i < p->n_steps; i++) steps[i] = &p->steps[i].group;
    for (int32_t k = 0; k < q->n_operands; k++) {
        int32_t v = q->operands[k].value;
        if (v < 0 || q->values[v].maker < 0) in[p->run.n_inputs++] = q->slots[k];
    }
    for (int32_t v = 0; v < q->n_values; v++)
        if (q->values[v].maker >= 0 && kni_bit(p->alive, v))
            out[p->run.n_results++] = q->slots[q->values[v].whole];
    p->run.size = sizeof p->run;
    p->run.inputs = in;
    p->run.results = out;
    p->run.steps = steps;
    p->run.n_steps = p->n_steps;
    p->run.cache = &p->cache;
    p->run.release = &p->release;
    return true;
}

void kni_plan_depends(kni_plan *p, const kni_queue *q)
{
    int32_t words = words_for(p->run.n_inputs), result = 0, input = 0;
    size_t row = (size_t)words * sizeof(uint64_t), bytes = (size_t)(q->n_values + q->n_operands) * row;
    uint64_t *all = bytes ? kni_allocate(bytes) : NULL;
    uint64_t *rows = kni_bump_take(&p->memory, (size_t)p->run.n_results * row + 1);
    if (!all || !rows) {
        if (all) kni_free(all, bytes);
        return;
    }
    /* First what each operand from outside is, then what each value is computed from. */
    memset(all, 0, bytes);
    uint64_t *of_value = all, *of_operand = all + (size_t)q->n_values * (size_t)words;
    for (int32_t k = 0; k < q->n_operands; k++) {
        int32_t v = q->operands[k].value;
        if (v >= 0 && q->values[v].maker >= 0) continue;
        of_operand[k * words + input / 64] |= UINT64_C(1) << (input & 63);
        input++;
    }
    for (int32_t i = 0; i < q->n_entries; i++) {
        const kni_entry *e = &q->entries[i];
        const kn_record *r = e->record;
        for (int o = 0; o < r->n_out; o++) {
            uint64_t *to = of_value + (size_t)kni_entry_value(q, e, o) * (size_t)words;
            for (int k = r->n_out; k < r->n_out + r->n_in; k++) {
                if (e->operands[k] < 0) continue;
                int32_t v = q->operands[e->operands[k]].value;
                bool inside = v >= 0 && q->values[v].maker >= 0;
                const uint64_t *from = inside ? of_value + (size_t)v * (size_t)words
                                              : of_operand + (size_t)e->operands[k] * (size_t)words;
                for (int32_t w = 0; w < words; w++) to[w] |= from[w];
            }
        }
    }
    for (int32_t v = 0; v < q->n_values; v++)
        if (q->values[v].maker >= 0 && kni_bit(p->alive, v))
            memcpy(rows + (size_t)result++ * (size_t)words, of_value + (size_t)v * (size_t)words, row);
    p->run.depends = rows;
    kni_free(all, bytes);
}

static bool copy_key(maker *m)
{
    kni_plan *p = m->plan;
    const kni_queue *q = m->q;
    p->hash = q->hash;
    p->n_key = q->n_key;
    p->n_values = q->n_values;
    p->key = take(m, q->n_key, sizeof *p->key);
    if (!p->key) return false;
    memcpy(p->key, q->key, (size_t)q->n_key * sizeof *p->key);
    p->alive = p->key + q->n_key - words_for(q->n_values);
    return true;
}

kni_plan *kni_plan_make(kni_queue *q, const kni_group_limits *limits)
{
    kni_plan *p = kni_allocate(sizeof *p);
    if (p) memset(p, 0, sizeof *p);
    maker m = {.q = q, .plan = p};
    bool good = p && copy_key(&m) && kni_group_entries(q, p->alive, limits, &p->memory, &m.groups) &&
                make_steps(&m) && choose_what_to_store(&m, limits) && find_last_uses(&m) &&
                finish_steps(&m) && describe_run(&m);
    if (good) {
        kni_plan_log(p, q, &m.groups);
        return p;
    }
    if (p) kni_plan_free(p);
    kni_fail(KN_ERROR_MEMORY, "no memory to plan %d queued ops", q->n_entries);
    return NULL;
}

void kni_plan_free(kni_plan *p)
{
    for (int32_t i = 0; i < p->n_steps && p->steps; i++)
        if (p->steps[i].cache && p->steps[i].release) p->steps[i].release(p->steps[i].cache);
    if (p->cache && p->release) p->release(p->cache);
    kni_bump_free(&p->memory);
    kni_free(p, sizeof *p);
}
