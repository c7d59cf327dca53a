/* Dead values: what leads to no output goes, also from inside of regions: results of an If, carried values, slices and stacks of a loop,
   arguments and results of functions that nobody needs. Random ops and users' functions stay, since those behind them would draw
   other numbers. Inputs stay: they are what a caller gives. */
#include "core/allocator.h"
#include "core/error.h"
#include "program/passes.h"
#include <kn/tensor.h>
#include <string.h>

/* Who makes a value, or holds a region. */
typedef struct marking {
    kni_program *p;
    bool all;                  /* everything that can be reached is needed */
    uint8_t *value, *node;     /* whether it is needed */
    uint8_t *region, *effects; /* whether it is there, whether something in it stays in any case */
    int32_t *maker,
        *place; /* of values: the node, or -1; which of its results or of the region's arguments */
    int32_t *holder,
        *first_call;    /* of regions: the If or the loop; of functions: a call, the others by next_call */
    int32_t *next_call; /* of nodes */
    int32_t *work;      /* values, and nodes as ~node, that wait to be looked at */
    int32_t n_work;
    void *block;
    size_t bytes;
} marking;

static bool is_region_holder(const kni_program_node *n)
{
    return n->kind == KNI_NODE_IF || n->kind == KNI_NODE_LOOP;
}

/* ---- where values come from */

static kn_status prepare(marking *m)
{
    const kni_program *p = m->p;
    size_t v = (size_t)p->n_values, n = (size_t)p->n_nodes, r = (size_t)p->n_regions;
    size_t words = 2 * v + n + 2 * r + v + n, flags = v + n + 2 * r;
    m->bytes = words * sizeof(int32_t) + flags;
    m->block = kni_allocate(m->bytes);
    if (!m->block)
        return kni_fail(KN_ERROR_MEMORY, "kn_program_simplify: no memory to mark %d values", p->n_values);
    memset(m->block, 0, m->bytes);
    int32_t *at = m->block;
    memset(at, -1, words * sizeof *at);
    m->maker = at, at += v;
    m->place = at, at += v;
    m->next_call = at, at += n;
    m->holder = at, at += r;
    m->first_call = at, at += r;
    m->work = at, at += v + n;
    m->value = (uint8_t *)at;
    m->node = m->value + v;
    m->region = m->node + n;
    m->effects = m->region + r;
    return KN_OK;
}

static void find_makers(marking *m)
{
    const kni_program *p = m->p;
    for (int32_t r = 0; r < p->n_regions; r++) {
        for (int32_t i = 0; i < p->regions[r].n_arguments; i++) m->place[p->regions[r].arguments[i]] = i;
        for (int32_t i = 0; i < p->regions[r].n_nodes; i++) {
            int32_t node = p->regions[r].nodes[i];
            const kni_program_node *n = &p->nodes[node];
            for (int32_t k = 0; k < n->n_out; k++) {
                m->maker[kni_node_out(p, n)[k]] = node;
                m->place[kni_node_out(p, n)[k]] = k;
            }
            for (int k = 0; k < 2 && is_region_holder(n); k++)
                if (n->regions[k] >= 0) m->holder[n->regions[k]] = node;
            if (n->kind != KNI_NODE_CALL) continue;
            m->next_call[node] = m->first_call[n->regions[0]];
            m->first_call[n->regions[0]] = node;
        }
    }
}

static bool has_effects(const marking *m, const kni_program_node *n)
{
    if (n->kind == KNI_NODE_OP) return kni_node_is_opaque(n);
    if (kni_binds_sizes(m->p, n)) return true; /* types name what it reads */
    return (n->regions[0] >= 0 && m->effects[n->regions[0]]) ||
           (n->regions[1] >= 0 && m->effects[n->regions[1]]);
}

/* Regions hold others and call functions: as often as something new is found. */
static void find_effects(marking *m)
{
    const kni_program *p = m->p;
    for (bool more = true; more;) {
        more = false;
        for (int32_t r = 0; r < p->n_regions; r++)
            for (int32_t i = 0; i < p->regions[r].n_nodes && !m->effects[r]; i++)
                if (has_effects(m, &p->nodes[p->regions[r].nodes[i]])) m->effects[r] = more = true;
    }
}

/* ---- marking */

static void need_value(marking *m, int32_t value)
{
    if (value < 0 || m->value[value]) return;
    m->value[value] = true;
    m->work[m->n_work++] = value;
}

static void need_node(marking *m, int32_t node)
{
    if (m->node[node]) return;
    m->node[node] = true;
    m->work[m->n_work++] = ~node;
}

static void need_list(marking *m, const int32_t *values, int32_t n)
{
    for (int32_t i = 0; i < n; i++) need_value(m, values[i]);
}

/* The region runs: what stays in any case does. */
static void need_region(marking *m, int32_t region)
{
    const kni_program *p = m->p;
    const kni_program_region *r = &p->regions[region];
    if (region < 0 || m->region[region]) return;
    m->region[region] = true;
    for (int32_t i = 0; i < r->n_nodes; i++)
        if (m->all || has_effects(m, &p->nodes[r->nodes[i]])) need_node(m, r->nodes[i]);
    if (!m->all) return;
    need_list(m, r->arguments, r->n_arguments);
    need_list(m, r->results, r->n_results);
}

static void look_at_node(marking *m, const kni_program_node *n)
{
    const kni_program *p = m->p;
    const int32_t *in = kni_node_in(p, n);
    for (int k = 0; k < 2 && n->kind != KNI_NODE_OP; k++)
        if (n->regions[k] >= 0) need_region(m, n->regions[k]);
    if (n->kind == KNI_NODE_OP || n->kind == KNI_NODE_SIZE || m->all) {
        need_list(m, kni_node_out(p, n), n->n_out);
        need_list(m, in, n->n_in);
    } else if (n->kind == KNI_NODE_IF) {
        need_value(m, in[0]);
        if (kni_binds_sizes(p, n)) need_list(m, kni_node_out(p, n), n->n_out);
    } else if (n->kind == KNI_NODE_LOOP) {
        const kni_program_region *body = &p->regions[n->regions[0]];
        need_value(m, body->arguments[0]);
        if (!n->loop.conditional) return;
        need_value(m, in[0]);
        need_value(m, body->results[0]);
    } else {
        const kni_program_region *f = &p->regions[n->regions[0]];
        for (int32_t i = 0; i < f->n_arguments; i++)
            if (m->value[f->arguments[i]]) need_value(m, in[i]);
    }
}

/* A result of control needs what its regions give for it. A carried value needs itself: before the loop, in its body, and after it. */
static void look_at_result(marking *m, int32_t node, int32_t i)
{
    const kni_program *p = m->p;
    const kni_program_node *n = &p->nodes[node];
    need_node(m, node);
    if (n->kind == KNI_NODE_IF) {
        need_value(m, p->regions[n->regions[0]].results[i]);
        need_value(m, p->regions[n->regions[1]].results[i]);
    } else if (n->kind == KNI_NODE_CALL) {
        need_value(m, p->regions[n->regions[0]].results[i]);
    } else if (n->kind == KNI_NODE_LOOP) {
        need_value(m, p->regions[n->regions[0]].results[n->loop.conditional + i]);
        if (i < n->loop.n_carried) need_value(m, p->regions[n->regions[0]].arguments[1 + i]);
    }
}

static void look_at_argument(marking *m, int32_t region, int32_t i)
{
    const kni_program *p = m->p;
    for (int32_t c = m->first_call[region]; c >= 0; c = m->next_call[c])
        if (m->node[c]) need_value(m, kni_node_in(p, &p->nodes[c])[i]);
    if (m->holder[region] < 0 || i == 0) return; /* the trip's number */
    const kni_program_node *n = &p->nodes[m->holder[region]];
    need_value(m, kni_node_in(p, n)[n->loop.conditional + i - 1]);
    if (i <= n->loop.n_carried) need_value(m, kni_node_out(p, n)[i - 1]);
}

static void follow(marking *m)
{
    const kni_program *p = m->p;
    while (m->n_work > 0) {
        int32_t next = m->work[--m->n_work];
        if (next < 0)
            look_at_node(m, &p->nodes[~next]);
        else if (p->values[next].origin == KNI_FROM_NODE)
            look_at_result(m, m->maker[next], m->place[next]);
        else if (p->values[next].origin == KNI_FROM_ARGUMENT)
            look_at_argument(m, p->values[next].region, m->place[next]);
    }
}

/* A loop that counts its trips for others keeps one of its stacks, which all have that size. */
static void keep_counts(marking *m)
{
    const kni_program *p = m->p;
    for (int32_t i = 0; i < p->n_nodes; i++) {
        const kni_program_node *n = &p->nodes[i];
        if (!m->node[i] || n->kind != KNI_NODE_LOOP || !kni_binds_sizes(p, n)) continue;
        const int32_t *stacks = kni_node_out(p, n) + n->loop.n_carried;
        bool any = false;
        for (int32_t k = 0; k < n->loop.n_stacked; k++) any |= m->value[stacks[k]];
        if (!any) need_value(m, stacks[0]);
    }
}

static void mark(marking *m)
{
    const kni_program *p = m->p;
    need_region(m, 0);
    need_list(m, p->regions[0].results, p->regions[0].n_results);
    need_list(m, p->inputs, p->n_inputs);
    for (int32_t i = 0; i < p->n_values && m->all; i++)
        if (kni_value_is_fixed(&p->values[i]) || p->values[i].live) need_value(m, i);
    do {
        follow(m);
        keep_counts(m);
    } while (m->n_work > 0);
}

/* ---- sweeping: lists get shorter in place, then everything is numbered anew */

/* Keeps the entries of a list from `first` on whose flag is set. */
static int32_t shorten(int32_t *list, int32_t first, int32_t n, const uint8_t *keep)
{
    int32_t kept = first;
    for (int32_t i = first; i < n; i++)
        if (keep[i - first]) list[kept++] = list[i];
    return kept;
}

enum { MOST_OPERANDS = KNI_PROGRAM_VALUES };

/* Which of n values are needed. */
static void needed(const marking *m, const int32_t *values, int32_t n, uint8_t *keep)
{
    for (int32_t i = 0; i < n; i++) keep[i] = m->value[values[i]];
}

/* Keeps the values of a list that are needed. */
static int32_t keep_needed(const marking *m, int32_t *values, int32_t n)
{
    int32_t kept = 0;
    for (int32_t i = 0; i < n; i++)
        if (m->value[values[i]]) values[kept++] = values[i];
    return kept;
}

/* Gives the node the results and operands whose flags are set. */
static void shorten_node(kni_program *p, kni_program_node *n, const uint8_t *outs, const uint8_t *ins)
{
    int32_t *all = p->operands + n->first, *in = all + n->n_out;
    int32_t n_out = shorten(all, 0, n->n_out, outs), n_in = shorten(in, 0, n->n_in, ins);
    memmove(all + n_out, in, (size_t)n_in * sizeof *all);
    n->n_out = n_out;
    n->n_in = n_in;
}

static void shorten_if(const marking *m, kni_program_node *n)
{
    kni_program *p = m->p;
    uint8_t outs[MOST_OPERANDS], ins[1] = {true};
    needed(m, kni_node_out(p, n), n->n_out, outs);
    for (int k = 0; k < 2; k++) {
        kni_program_region *r = &p->regions[n->regions[k]];
        r->n_results = shorten(r->results, 0, r->n_results, outs);
    }
    shorten_node(p, n, outs, ins);
}

static void shorten_loop(const marking *m, kni_program_node *n)
{
    kni_program *p = m->p;
    kni_loop *l = &n->loop;
    kni_program_region *body = &p->regions[n->regions[0]];
    uint8_t outs[MOST_OPERANDS], ins[MOST_OPERANDS + 1] = {true};
    needed(m, kni_node_out(p, n), n->n_out, outs);
    needed(m, body->arguments + 1, body->n_arguments - 1, ins + l->conditional);
    kni_loop now = {.trips = l->trips, .max_trips = l->max_trips, .conditional = l->conditional};
    for (int32_t i = 0; i < n->n_out; i++)
        if (outs[i]) (*(i < l->n_carried ? &now.n_carried : &now.n_stacked))++;
    for (int32_t i = 0; i < l->n_sliced; i++) now.n_sliced += ins[l->conditional + l->n_carried + i];
    body->n_arguments = shorten(body->arguments, 1, body->n_arguments, ins + l->conditional);
    body->n_results = shorten(body->results, l->conditional, body->n_results, outs);
    shorten_node(p, n, outs, ins);
    n->loop = now;
}

/* A function has one list of results for all calls, so a call keeps a result that only another call needs. */
static void shorten_call(const marking *m, kni_program_node *n)
{
    kni_program *p = m->p;
    const kni_program_region *f = &p->regions[n->regions[0]];
    uint8_t outs[MOST_OPERANDS], ins[MOST_OPERANDS];
    needed(m, f->results, n->n_out, outs);
    needed(m, f->arguments, n->n_in, ins);
    for (int32_t i = 0; i < n->n_out; i++)
        if (outs[i]) m->value[kni_node_out(p, n)[i]] = true;
    shorten_node(p, n, outs, ins);
}

static void shorten_control(const marking *m)
{
    kni_program *p = m->p;
    for (int32_t i = 0; i < p->n_nodes; i++) {
        kni_program_node *n = &p->nodes[i];
        if (!m->node[i] || n->n_in > MOST_OPERANDS || n->n_out > MOST_OPERANDS) continue;
        if (n->kind == KNI_NODE_IF) shorten_if(m, n);
        if (n->kind == KNI_NODE_LOOP) shorten_loop(m, n);
        if (n->kind == KNI_NODE_CALL) shorten_call(m, n);
    }
    for (int32_t r = 1; r < p->n_regions; r++) { /* functions after all their calls */
        kni_program_region *f = &p->regions[r];
        if (f->name < 0) continue;
        f->n_results = keep_needed(m, f->results, f->n_results);
        f->n_arguments = keep_needed(m, f->arguments, f->n_arguments);
    }
}

/* New numbers for what is needed: flags become places in order. Returns how many there are. */
static int32_t number(const uint8_t *needed_flags, int32_t n, int32_t *numbers)
{
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++) numbers[i] = needed_flags[i] ? count++ : -1;
    return count;
}

static void renumber(const int32_t *numbers, int32_t *list, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (list[i] >= 0) list[i] = numbers[list[i]];
}

static void move_values(const marking *m, const int32_t *numbers, const int32_t *regions)
{
    kni_program *p = m->p;
    int32_t n = 0;
    for (int32_t i = 0; i < p->n_values; i++) {
        kni_program_value *v = &p->values[i];
        if (numbers[i] < 0) {
            kni_value_set_tensor(v, KN_NONE);
            continue;
        }
        v->region = regions[v->region] < 0 ? 0 : regions[v->region];
        p->values[n++] = *v;
    }
    p->n_values = n;
}

static void move_nodes(const marking *m, const int32_t *values, const int32_t *numbers,
                       const int32_t *regions)
{
    kni_program *p = m->p;
    int32_t n = 0, operands = 0, attributes = 0;
    for (int32_t i = 0; i < p->n_nodes; i++) {
        kni_program_node node = p->nodes[i];
        if (numbers[i] < 0) continue;
        int32_t length = node.n_in + node.n_out;
        renumber(values, p->operands + node.first, length);
        memmove(p->operands + operands, p->operands + node.first, (size_t)length * sizeof *p->operands);
        node.first = operands;
        operands += length;
        if (node.kind == KNI_NODE_OP) {
            int32_t bytes = (node.row->attribute_bytes + 7) & ~7;
            memmove(p->attributes + attributes, p->attributes + node.attributes, (size_t)bytes);
            node.attributes = attributes;
            attributes += bytes;
        } else {
            renumber(regions, node.regions, 2);
        }
        p->nodes[n++] = node;
    }
    p->n_nodes = n;
    p->n_operands = operands;
    p->n_attributes = attributes;
}

static void move_regions(const marking *m, const int32_t *values, const int32_t *nodes,
                         const int32_t *regions)
{
    kni_program *p = m->p;
    int32_t n = 0;
    for (int32_t i = 0; i < p->n_regions; i++) {
        kni_program_region *r = &p->regions[i];
        if (regions[i] < 0) {
            kni_region_free(r);
            continue;
        }
        int32_t kept = 0;
        for (int32_t k = 0; k < r->n_nodes; k++)
            if (nodes[r->nodes[k]] >= 0) r->nodes[kept++] = nodes[r->nodes[k]];
        r->n_nodes = kept;
        renumber(values, r->arguments, r->n_arguments);
        renumber(values, r->results, r->n_results);
        if (r->parent >= 0) r->parent = regions[r->parent];
        p->regions[n++] = *r;
    }
    p->n_regions = n;
}

/* Lists that served for marking hold the new numbers. */
static void sweep(marking *m)
{
    kni_program *p = m->p;
    shorten_control(m);
    int32_t *values = m->maker, *nodes = m->next_call, *regions = m->holder;
    number(m->value, p->n_values, values);
    number(m->node, p->n_nodes, nodes);
    number(m->region, p->n_regions, regions);
    move_nodes(m, values, nodes, regions);
    move_regions(m, values, nodes, regions);
    renumber(values, p->inputs, p->n_inputs);
    move_values(m, values, regions);
}

static kn_status run_pass(kni_program *p, bool all, int64_t *changed)
{
    marking m = {.p = p, .all = all};
    kn_status s = prepare(&m);
    if (s) return s;
    int64_t before = (int64_t)p->n_values + p->n_nodes + p->n_regions;
    find_makers(&m);
    find_effects(&m);
    mark(&m);
    sweep(&m);
    *changed += before - p->n_values - p->n_nodes - p->n_regions;
    kni_free(m.block, m.bytes);
    return KN_OK;
}

kn_status kni_pass_dead(kni_program *p, int64_t *changed) { return run_pass(p, false, changed); }

kn_status kni_pass_unused(kni_program *p, int64_t *changed) { return run_pass(p, true, changed); }
