/* Grouping: each record joins the group of a record it reads from where that is possible. Groups have places in an
   order of running, and every record reads from groups at its own group's place or before. */
#include "graph/grouping_draft.h"
#include "ops/body.h"
#include "ops/line.h"
#include <string.h>

typedef kni_draft group;
typedef kni_drafts state;

/* How a record can take part. */
typedef enum role {
    ALONE,
    POINT,  /* each element from the elements at its place */
    ROWS,   /* has a domain of rows */
    HEAD,   /* a product, which pointwise records may follow */
    TAIL,   /* a map of channels, which may follow a product */
    UPDATE, /* of a param */
} role_kind;

bool kni_pointwise_record(const kn_record *r)
{
    const kn_op *row = r->row;
    return row->kind == KNI_ELEMENTWISE && r->n_out == 1 && (kni_is_pointwise(row) || kni_converts(row));
}

bool kni_creation_record(const kn_record *r)
{
    bool makes = r->row->kind == KNI_CREATE || r->row->kind == KNI_RANDOM;
    return makes && r->row->body;
}

static bool maps_channels(const kn_record *r)
{
    return r->row->line.results == KNI_PER_POINT && r->n_out == 1 && r->row->body;
}

/* Whether sums over the rows of this domain can be kept beside each row: it must be short, and one place must not look like
   one row. */
static bool sums_down(const state *s, const kni_row_domain *d)
{
    enum { LONGEST = 4096 };
    int64_t rows = 1, width = 1;
    for (int i = 0; i < d->shape->rank; i++) *(d->reduced >> i & 1 ? &width : &rows) *= d->shape->dims[i];
    return s->limits->takes & KNI_TAKES_COLUMNS && kni_row_domain_last(d) && width <= LONGEST && rows > 1 &&
           rows != width;
}

/* Whether the device runs rows of this domain in groups. */
static bool takes_domain(const state *s, const kni_row_domain *d)
{
    int64_t rows = 1;
    for (int i = 0; i < d->shape->rank; i++)
        if (!(d->reduced >> i & 1)) rows *= d->shape->dims[i];
    if (!kni_drafts_take(s, KNI_GROUP_ROWS) || kni_count(d->shape) <= 0) return false;
    if ((d->takes & s->limits->takes) != d->takes) return false;
    if (d->takes & KNI_TAKES_COLUMNS && !sums_down(s, d)) return false;
    if (rows == 1 && !(s->limits->takes & KNI_TAKES_WHOLE)) return false;
    return kni_row_domain_last(d) || s->limits->takes & KNI_TAKES_ANY_AXES;
}

static role_kind role_of(const state *s, const kn_record *r, kni_row_domain *domain)
{
    if (r->n_out == 0) return ALONE;
    *domain = (kni_row_domain){&kni_out(r, 0)->type, 0, true, 0};
    if (kni_pointwise_record(r) || (s->limits->takes & KNI_TAKES_CREATION && kni_creation_record(r)) ||
        (s->limits->takes & KNI_TAKES_MAPS && maps_channels(r)))
        return kni_drafts_take(s, KNI_GROUP_POINTWISE) ? POINT : ALONE;
    kni_row_domain rows;
    if (kni_row_domain_of(r, &rows) && (r->n_out == 1 || rows.takes) && takes_domain(s, &rows)) {
        *domain = rows;
        return ROWS;
    }
    if (r->row->kind == KNI_CONTRACTION && r->n_out == 1 && kni_drafts_take(s, KNI_GROUP_PRODUCT) &&
        s->q->leaf && s->q->leaf->follows)
        return HEAD;
    if (maps_channels(r) && s->limits->takes & KNI_TAKES_CHANNELS) return TAIL;
    return kni_body_updates(r->row->body) && kni_drafts_take(s, KNI_GROUP_MANY) ? UPDATE : ALONE;
}

/* ---- what nobody needs */

/* A function of the user's may do more than compute; a body of the user's computes. */
bool kni_record_has_effects(const kn_record *r)
{
    return r->n_out == 0 || r->row->host || (r->row->custom_gradient && !r->row->body) || r->row->source;
}

static bool find_dead(state *s, const uint64_t *alive, kni_bump *memory)
{
    const kni_queue *q = s->q;
    bool *needed = kni_bump_take(memory, (size_t)q->n_values + 1);
    if (!needed) return false;
    for (int32_t v = 0; v < q->n_values; v++) needed[v] = kni_bit(alive, v);
    for (int32_t i = q->n_entries; i-- > 0;) {
        const kni_entry *e = &q->entries[i];
        const kn_record *r = e->record;
        bool run = kni_record_has_effects(r);
        for (int k = 0; k < r->n_out; k++) run |= needed[kni_entry_value(q, e, k)];
        s->group_of[i] = run ? 0 : -1;
        for (int k = r->n_out; run && k < r->n_out + r->n_in; k++) {
            int32_t v = kni_entry_value(q, e, k);
            if (v >= 0) needed[v] = true;
        }
    }
    return true;
}

/* Which values are read by records that form groups of their own, and which by several. */
static bool find_readers(state *s, kni_bump *memory)
{
    const kni_queue *q = s->q;
    size_t n = (size_t)q->n_values;
    bool *read = kni_bump_take(memory, n + 1);
    s->absorbed = kni_bump_take(memory, n + 1);
    s->shared = kni_bump_take(memory, n + 1);
    if (!read || !s->absorbed || !s->shared) return false;
    memset(read, 0, n);
    memset(s->absorbed, 0, n);
    for (int32_t v = 0; v < q->n_values; v++) s->shared[v] = kni_bit(s->alive, v);
    for (int32_t i = 0; i < q->n_entries; i++) {
        const kni_entry *e = &q->entries[i];
        kni_row_domain domain;
        if (s->group_of[i] < 0) continue;
        role_kind role = role_of(s, e->record, &domain);
        for (int k = 0; k < e->record->n_in; k++) {
            int32_t v = kni_entry_value(q, e, e->record->n_out + k);
            if (v < 0) continue;
            s->absorbed[v] |= role == POINT || role == ROWS;
            s->shared[v] |= read[v];
            read[v] = true;
        }
    }
    return true;
}

/* ---- joining */

bool kni_operand_whole(const kni_queue *q, int32_t operand)
{
    return operand == q->values[q->operands[operand].value].whole;
}

/* Whether a device that takes views can follow operand i into the group that makes it: other axes over the same elements
   in the same order, or elements that repeat. */
static bool can_follow(const state *s, const kni_entry *e, int i)
{
    int32_t k = e->operands[e->record->n_out + i];
    if (kni_operand_whole(s->q, k)) return true;
    if (!(s->limits->takes & KNI_TAKES_VIEWS)) return false;
    const kni_tensor *x = kni_queue_slot(s->q, k);
    const kni_tensor *whole = kni_queue_slot(s->q, s->q->values[s->q->operands[k].value].whole);
    if (x->offset != 0 || x->type.dtype != whole->type.dtype) return false;
    int64_t next = 1;
    for (int a = x->type.rank - 1; a >= 0; a--) {
        if (x->type.dims[a] == 1 || x->strides[a] == 0) continue;
        if (x->strides[a] != next) return false;
        next *= x->type.dims[a];
    }
    return next == kni_count(&whole->type);
}

static int32_t new_group(state *s, uint8_t kind, const kni_row_domain *domain)
{
    s->groups[s->n_groups] = (group){.kind = kind, .place = s->next_place++, .merged = -1, .domain = *domain};
    return s->n_groups++;
}

static bool has_rows(const group *g) { return g->kind == KNI_GROUP_REDUCTION || g->kind == KNI_GROUP_ROWS; }

bool kni_draft_holds(const state *s, const group *g, int records, int inputs, int results)
{
    int most_in = s->limits->max_inputs, most_out = s->limits->max_outputs;
    if (g->kind == KNI_GROUP_MANY) most_in = 2 * most_in, most_out = most_in;
    return g->n_records + records <= s->limits->max_records && g->n_inputs + inputs <= most_in &&
           g->n_results + results <= most_out;
}

/* Why records over this domain do not fit the group, NULL when they do. */
static const char *shape_obstacle(const group *g, const kni_row_domain *domain, role_kind role)
{
    bool same = kni_same_dims(domain->shape, g->domain.shape);
    if (g->kind == KNI_GROUP_SINGLE || g->kind == KNI_GROUP_MANY)
        return "what it reads is made by a single record";
    if (role == ROWS && g->kind == KNI_GROUP_PRODUCT) return "rows cannot follow a product";
    if (role == ROWS && has_rows(g))
        return kni_row_domain_same(domain, &g->domain) ? NULL : "its rows are other ones";
    if (has_rows(g) && !same && kni_row_domain_rows(&g->domain, domain->shape)) return NULL;
    return same ? NULL : "its shape is another one";
}

/* Whether operand i of the entry sees a value as it was made. */
static bool in_order(const state *s, const kni_entry *e, int i)
{
    int32_t k = e->operands[e->record->n_out + i];
    const kni_tensor *x = kni_queue_slot(s->q, k);
    const kni_tensor *whole = kni_queue_slot(s->q, s->q->values[s->q->operands[k].value].whole);
    if (x->offset || x->type.dtype != whole->type.dtype || kni_count(&x->type) != kni_count(&whole->type))
        return false;
    return whole->order == KNI_ORDER_ROWS
               ? kni_is_contiguous(x->type.rank, x->type.dims, x->strides)
               : kni_same_dims(&x->type, &whole->type) &&
                     kni_lies_in_order(whole->order, x->type.rank, x->type.dims, x->strides);
}

/* The same for what follows a product: as many elements in the same order, and the leaf has a way to run it. */
static const char *tail_obstacle(const state *s, const kni_entry *e, int32_t g)
{
    const group *into = &s->groups[g];
    const kn_record *r = e->record;
    if (kni_count(&kni_out(r, 0)->type) != kni_count(into->domain.shape)) return "its shape is another one";
    if (into->n_records == KNI_TAIL_RECORDS) return "the group is full";
    for (int i = 0; i < r->n_in; i++)
        if (kni_draft_source(s, e, i) == g && !in_order(s, e, i)) return "it reads a view of a result";
    kni_tail_answer answer = s->q->leaf->follows(s->q->leaf, into->product, into->n_records, r);
    for (int i = 0; i < r->n_in && answer != KNI_TAIL_NO && answer != KNI_TAIL_YES; i++)
        if (kni_draft_source(s, e, i) == g && s->shared[kni_entry_value(s->q, e, r->n_out + i)])
            return "others need what comes before it, too";
    if (answer == KNI_TAIL_LAST && s->absorbed[kni_entry_value(s->q, e, 0)]) return "its readers take it in";
    return answer == KNI_TAIL_NO ? "the device cannot do it where it makes the product" : NULL;
}

int kni_draft_outside(const state *s, const kni_entry *e, int32_t g)
{
    int n = 0;
    for (int i = 0; i < e->record->n_in; i++)
        n += e->operands[e->record->n_out + i] >= 0 && kni_draft_source(s, e, i) != g;
    return n;
}

/* How many results the entry is sure to leave outside its group; most others stay inside. */
static int lasting_results(const state *s, const kni_entry *e)
{
    int n = 0;
    for (int i = 0; i < e->record->n_out; i++) n += kni_bit(s->alive, kni_entry_value(s->q, e, i));
    return n;
}

/* Whether the record sums over the rows of the group, at each place of them. */
static bool is_across(const state *s, const group *g, const kn_record *r, role_kind role,
                      const kni_row_domain *domain)
{
    return role == ROWS && kni_line_is_sum(r->row) && has_rows(g) && sums_down(s, &g->domain) &&
           kni_is_float(domain->shape->dtype) &&
           kni_row_domain_across(&g->domain, domain->shape, domain->reduced);
}

/* Why the entry may not join group g, NULL when it may. */
static const char *obstacle(const state *s, const kni_entry *e, int32_t g, role_kind role,
                            const kni_row_domain *domain)
{
    const group *into = &s->groups[g];
    bool tail = into->kind == KNI_GROUP_PRODUCT && (role == POINT || role == TAIL);
    if (role == TAIL && !tail) return "it follows products alone";
    const char *against = tail ? tail_obstacle(s, e, g) : shape_obstacle(into, domain, role);
    bool columns = is_across(s, into, e->record, role, domain) ||
                   (role == POINT && into->columns && kni_row_domain_places(&into->domain, domain->shape));
    if (against && (tail || !columns)) return against;
    if (tail)
        return kni_draft_holds(s, into, 1, kni_draft_outside(s, e, g), lasting_results(s, e))
                   ? NULL
                   : "the group is full";
    for (int i = 0; i < e->record->n_in; i++)
        if (kni_draft_source(s, e, i) == g && !can_follow(s, e, i)) return "it reads a view of a result";
    /* A running average lies where it did only if its own kernel writes it, and a recording is replayed only if it lies there. */
    if (role == POINT && into->several && !kni_same_dims(domain->shape, into->domain.shape) &&
        kni_draft_outside(s, e, g))
        return "it may be written over what it reads";
    return kni_draft_holds(s, into, 1, kni_draft_outside(s, e, g), lasting_results(s, e))
               ? NULL
               : "the group is full";
}

/* Makes group g run last so far; it must not be consumed. */
static void move_last(state *s, int32_t g) { s->groups[g].place = s->next_place++; }

/* The latest place of a group, other than g, that the entry reads from. */
static int32_t latest_source(const state *s, const kni_entry *e, int32_t g)
{
    int32_t latest = -1;
    for (int i = 0; i < e->record->n_in; i++) {
        int32_t from = kni_draft_source(s, e, i);
        if (from >= 0 && from != g && s->groups[from].place > latest) latest = s->groups[from].place;
    }
    return latest;
}

/* Takes the other groups that the entry reads from, pointwise ones and those with the same rows, into g where nothing
   stands against it. */
static void merge_sources(state *s, const kni_entry *e, int32_t g)
{
    for (int i = 0; i < e->record->n_in && s->groups[g].kind != KNI_GROUP_PRODUCT; i++) {
        int32_t other = kni_draft_source(s, e, i);
        if (other < 0 || other == g) continue;
        group *from = &s->groups[other], *into = &s->groups[g];
        bool rows = has_rows(from) && has_rows(into) && !from->columns && !into->columns;
        if (from->kind != KNI_GROUP_POINTWISE && !rows) continue;
        if (from->consumed || from->place > into->place || !can_follow(s, e, i) ||
            shape_obstacle(into, &from->domain, has_rows(from) ? ROWS : POINT))
            continue;
        /* Other operands may see results of that group in a way that only memory can serve. */
        bool good = true;
        for (int k = 0; k < e->record->n_in; k++)
            if (kni_draft_source(s, e, k) == other && !can_follow(s, e, k)) good = false;
        if (!good) continue;
        /* The entry comes into the group as well. */
        from->merged = g;
        if (!kni_draft_holds(s, into, from->n_records + 1, from->n_inputs + kni_draft_outside(s, e, g),
                             from->n_results + lasting_results(s, e))) {
            from->merged = -1;
            continue;
        }
        if (from->kind == KNI_GROUP_ROWS) into->kind = KNI_GROUP_ROWS;
        into->several |= from->several;
        into->n_records += from->n_records;
        into->n_inputs += from->n_inputs;
        into->n_results += from->n_results;
    }
}

static void consume_sources(state *s, const kni_entry *e, int32_t g)
{
    for (int i = 0; i < e->record->n_in; i++) {
        int32_t from = kni_draft_source(s, e, i);
        if (from >= 0 && from != g) s->groups[from].consumed = true;
    }
}

/* Whether group a is to be joined rather than b: one with rows, into which others can be merged, else the later one. */
static bool is_better(const group *a, const group *b)
{
    return has_rows(a) != has_rows(b) ? has_rows(a) : a->place > b->place;
}

/* The group among its sources that the entry can join. */
static int32_t group_to_join(state *s, const kni_entry *e, role_kind role, const kni_row_domain *domain,
                             const char **why)
{
    int32_t best = -1;
    for (int i = 0; i < e->record->n_in; i++) {
        int32_t g = kni_draft_source(s, e, i);
        if (g < 0 || g == best) continue;
        const char *against = obstacle(s, e, g, role, domain);
        bool ready = latest_source(s, e, g) <= s->groups[g].place;
        if (!against && !ready && s->groups[g].consumed) against = "another group stands between";
        if (against)
            *why = against;
        else if (best < 0 || is_better(&s->groups[g], &s->groups[best]))
            best = g;
    }
    return best;
}

/* Updates of the same rule run together, wherever their gradients come from. */
static int32_t group_of_updates(state *s, const kni_entry *e, const kni_row_domain *domain)
{
    const kn_record *r = e->record;
    group *g = s->many < 0 ? NULL : &s->groups[s->many];
    bool own = false;
    for (int i = 0; i < r->n_in; i++) own |= g && kni_draft_source(s, e, i) == s->many;
    bool fits = g && !own && g->op == r->op && kni_draft_holds(s, g, 1, r->n_in, r->n_out);
    if (fits && latest_source(s, e, s->many) > g->place) {
        fits = !g->consumed;
        if (fits) move_last(s, s->many);
    }
    if (!fits) {
        s->many = new_group(s, KNI_GROUP_MANY, domain);
        s->groups[s->many].op = r->op;
    }
    return s->many;
}

static void widen_kind(group *g, role_kind role, const kni_row_domain *domain)
{
    if (role == ROWS) {
        if (!has_rows(g)) g->domain = *domain;
        if (g->kind != KNI_GROUP_ROWS) g->kind = domain->elements ? KNI_GROUP_ROWS : KNI_GROUP_REDUCTION;
    } else if (g->kind == KNI_GROUP_REDUCTION && kni_same_dims(domain->shape, g->domain.shape)) {
        g->kind = KNI_GROUP_ROWS;
    }
}

static const uint8_t kind_of_role[] = {[ALONE] = KNI_GROUP_SINGLE,
                                       [POINT] = KNI_GROUP_POINTWISE,
                                       [ROWS] = KNI_GROUP_REDUCTION,
                                       [HEAD] = KNI_GROUP_PRODUCT,
                                       [TAIL] = KNI_GROUP_SINGLE};

/* Why a record starts a group, where no group that it reads from stands against it. */
static const char *const why_alone[] = {[ALONE] = "the device runs this op by itself",
                                        [POINT] = "no record of the queue makes what it reads",
                                        [ROWS] = "no record of the queue makes what it reads",
                                        [HEAD] = "products and convolutions begin groups",
                                        [TAIL] = "no product of the queue makes what it reads"};

static void place_entry(state *s, int32_t index)
{
    const kni_entry *e = &s->q->entries[index];
    kni_row_domain domain;
    role_kind role = role_of(s, e->record, &domain);
    int32_t g = -1;
    if (role == UPDATE) {
        g = group_of_updates(s, e, &domain);
    } else {
        if (role == POINT || role == ROWS || role == TAIL)
            g = group_to_join(s, e, role, &domain, &s->why[index]);
        if (g < 0 && !s->why[index]) s->why[index] = why_alone[role];
        if (g < 0) g = new_group(s, kind_of_role[role], &domain);
        if (latest_source(s, e, g) > s->groups[g].place) move_last(s, g);
        group *wider = &s->groups[g];
        wider->columns |= domain.takes & KNI_TAKES_COLUMNS || is_across(s, wider, e->record, role, &domain);
        wider->several |= (domain.takes & KNI_TAKES_SEVERAL) != 0;
        widen_kind(wider, role, &domain);
        if (role == POINT || role == ROWS) merge_sources(s, e, g);
    }
    consume_sources(s, e, g);
    s->group_of[index] = g;
    group *into = &s->groups[g];
    if (into->kind == KNI_GROUP_PRODUCT) into->product[into->n_records] = e->record;
    into->n_records++;
    into->n_inputs += role == UPDATE ? e->record->n_in : kni_draft_outside(s, e, g);
    into->n_results += role == UPDATE ? e->record->n_out : lasting_results(s, e);
}

/* ---- the result: groups by place */

static bool finish(state *s, kni_bump *memory, kni_grouping *result)
{
    int32_t *at = kni_bump_take(memory, (size_t)s->next_place * sizeof *at + 1);
    result->order = kni_bump_take(memory, (size_t)s->n_groups * sizeof *result->order + 1);
    result->kind = kni_bump_take(memory, (size_t)s->n_groups + 1);
    result->natural = kni_bump_take(memory, (size_t)s->n_groups + 1);
    if (!at || !result->order || !result->kind || !result->natural) return false;
    for (int32_t i = 0; i < s->next_place; i++) at[i] = -1;
    for (int32_t g = 0; g < s->n_groups; g++) {
        result->natural[g] = s->groups[g].kind;
        result->kind[g] = s->groups[g].n_records == 1 ? KNI_GROUP_SINGLE : s->groups[g].kind;
        if (s->groups[g].merged < 0) at[s->groups[g].place] = g;
    }
    result->n_groups = 0;
    for (int32_t i = 0; i < s->next_place; i++)
        if (at[i] >= 0) result->order[result->n_groups++] = at[i];
    for (int32_t i = 0; i < s->q->n_entries; i++)
        if (s->group_of[i] >= 0) s->group_of[i] = kni_draft_root(s, s->group_of[i]);
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
               .alive = alive,
               .groups = kni_bump_take(memory, n * sizeof *s.groups + 1),
               .group_of = kni_bump_take(memory, n * sizeof *s.group_of + 1),
               .many = -1,
               .why = kni_bump_take(memory, n * sizeof *s.why + 1)};
    if (!s.groups || !s.group_of || !s.why) return false;
    memset(s.why, 0, n * sizeof *s.why);
    if (!find_dead(&s, alive, memory) || !find_readers(&s, memory)) return false;
    for (int32_t i = 0; i < q->n_entries; i++)
        if (s.group_of[i] >= 0) place_entry(&s, i);
    return kni_drafts_collect(&s, memory) && finish(&s, memory, result);
}
