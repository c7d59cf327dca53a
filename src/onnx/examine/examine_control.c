/* If, Loop and Scan for a look at a model: both branches and every body are walked once. */
#include "core/objects.h"
#include "onnx/examine/examine.h"
#include <stdlib.h>

/* ---- what the nodes of a graph count so far */

typedef struct counted {
    int64_t *macs, n, total;
} counted;

static int64_t nodes_in(const kni_onnx_graph *graph)
{
    int64_t n = graph->n_nodes;
    for (int32_t i = 0; i < graph->n_nodes; i++)
        for (int32_t a = 0; a < graph->nodes[i].n_attributes; a++)
            for (int64_t g = 0;
                 graph->nodes[i].attributes[a].graphs && g < graph->nodes[i].attributes[a].count; g++)
                n += nodes_in(graph->nodes[i].attributes[a].graphs[g]);
    return n;
}

/* Reads or, with `back`, writes what all nodes of a graph count. */
static void visit_counts(const kni_onnx_findings *found, const kni_onnx_graph *graph, counted *list,
                         bool back)
{
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const kni_onnx_node *node = &graph->nodes[i];
        int64_t *macs = &found->nodes[node->place].macs;
        list->total = kni_capped_sum(list->total, *macs);
        if (back)
            *macs = list->macs[list->n++];
        else if (list->macs)
            list->macs[list->n++] = *macs;
        for (int32_t a = 0; a < node->n_attributes; a++)
            for (int64_t g = 0; node->attributes[a].graphs && g < node->attributes[a].count; g++)
                visit_counts(found, node->attributes[a].graphs[g], list, back);
    }
}

static int64_t count_of(const kni_onnx_findings *found, const kni_onnx_graph *graph)
{
    counted sum = {0};
    visit_counts(found, graph, &sum, false);
    return sum.total;
}

/* ---- inner graphs */

/* Walks a graph, and tells which of its results are of no known type. */
static void walk(kni_conversion *c, const kni_onnx_graph *graph, const kni_datum *in, int32_t n_in,
                 kni_datum *out, bool *unknown, int32_t n_out)
{
    kni_examining *x = kni_examining_of(c);
    for (int32_t i = 0; i < graph->n_inputs; i++) x->unknown[graph->inputs[i]] = false;
    kni_graph_convert(c, graph, in, n_in, out, n_out);
    for (int32_t k = 0; k < n_out; k++)
        unknown[k] = k >= graph->n_outputs || graph->outputs[k] < 0 || x->unknown[graph->outputs[k]];
}

static bool same_type(kni_conversion *c, kni_datum a, kni_datum b)
{
    const kni_entry *x = kni_entry_of(c, a), *y = kni_entry_of(c, b);
    if (!x || !y || x->kind != KNI_IS_TENSOR || y->kind != KNI_IS_TENSOR) return false;
    bool same = x->dtype == y->dtype && x->rank == y->rank;
    for (int32_t i = 0; same && i < x->rank; i++) same = kni_extent_same(x->extents[i], y->extents[i]);
    return same;
}

/* The tensor without its content; anything else as it is. */
static kni_datum type_of(kni_conversion *c, kni_datum x)
{
    const kni_entry *e = kni_entry_of(c, x);
    if (!e || e->kind != KNI_IS_TENSOR) return x;
    return kni_examine_unknown(c, e->dtype, e->extents, e->rank);
}

static void set_unknown(kni_conversion *c, const kni_onnx_node *node, int32_t k)
{
    if (k < node->n_out && node->out[k] >= 0) kni_examining_of(c)->unknown[node->out[k]] = true;
}

/* ---- If: the branch that is known to run counts, else the costlier one */

typedef struct branch {
    const kni_onnx_graph *graph;
    kni_datum *out;
    bool *unknown;
    counted before;
    int64_t cost;
} branch;

static bool start_branch(kni_conversion *c, branch *b, const kni_onnx_node *node, const char *name,
                         int32_t n_out)
{
    b->graph = kni_node_graph(node, name);
    if (!b->graph) kni_convert_fail(c, KN_ERROR_ARGUMENT, "it has no %s", name);
    if (c->status) return false;
    b->out = kni_convert_memory(c, (size_t)n_out + 1, sizeof *b->out);
    b->unknown = kni_convert_memory(c, (size_t)n_out + 1, sizeof *b->unknown);
    b->before.macs = kni_convert_memory(c, (size_t)nodes_in(b->graph) + 1, sizeof *b->before.macs);
    return !c->status;
}

static void walk_branch(kni_conversion *c, branch *b, int32_t n_out)
{
    const kni_onnx_findings *found = kni_examining_of(c)->found;
    visit_counts(found, b->graph, &b->before, false);
    walk(c, b->graph, NULL, 0, b->out, b->unknown, n_out);
    b->cost = count_of(found, b->graph) - b->before.total;
}

void kni_examine_branch(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                        kni_datum *out, int32_t n_out)
{
    (void)n_in;
    branch both[2] = {0};
    bool known = kni_is_known(c, in[0]);
    int chosen = known && kni_known_int(c, in[0], "the condition", 0) ? 0 : 1;
    if (!start_branch(c, &both[0], node, "then_branch", n_out) ||
        !start_branch(c, &both[1], node, "else_branch", n_out))
        return;
    for (int k = 0; k < 2; k++) walk_branch(c, &both[k], n_out);
    if (!known) chosen = both[1].cost > both[0].cost;
    branch *left = &both[!chosen];
    left->before.n = 0;
    if (!c->status) visit_counts(kni_examining_of(c)->found, left->graph, &left->before, true);
    for (int32_t k = 0; k < n_out; k++) {
        out[k] = both[chosen].out[k];
        bool unknown = both[chosen].unknown[k];
        if (!known) unknown |= left->unknown[k] || !same_type(c, out[k], left->out[k]);
        if (!known && !unknown) out[k] = type_of(c, out[k]);
        if (unknown) out[k] = KNI_ABSENT, set_unknown(c, node, k);
    }
}

/* ---- Loop and Scan: their body is walked once and counts as often as it runs */

/* What is stacked trip by trip along an axis. */
static kni_datum stacked(kni_conversion *c, kni_datum item, int64_t n, int64_t axis)
{
    const kni_entry *e = kni_entry_of(c, item);
    if (!e || e->kind != KNI_IS_TENSOR || n < 0 || e->rank == KN_MAX_RANK) return KNI_ABSENT;
    kni_extent extents[KN_MAX_RANK];
    int64_t at = axis < 0 ? axis + e->rank + 1 : axis;
    if (at < 0 || at > e->rank) return KNI_ABSENT;
    for (int32_t i = 0; i <= e->rank; i++)
        extents[i] = i == at ? KNI_EXTENT(n) : e->extents[i < at ? i : i - 1];
    return kni_examine_unknown(c, e->dtype, extents, e->rank + 1);
}

typedef struct body {
    const kni_onnx_graph *graph;
    kni_datum *given, *made;
    bool *unknown; /* by result */
    int32_t in, first,
        n; /* carried values: given[in], and made[first] of the trip, n of them; stacked ones come behind */
    int64_t trips, outer; /* trips -1: not known; outer: how often the graph around runs */
} body;

static bool start_body(kni_conversion *c, body *b, const kni_onnx_node *node, int32_t n_in)
{
    b->graph = kni_node_graph(node, "body");
    int32_t taken = b->graph ? b->graph->n_inputs : 0, made = b->graph ? b->graph->n_outputs : 0;
    if (!b->graph || b->in < 0 || b->n < 0 || taken != n_in || made < b->first + b->n)
        kni_convert_fail(c, KN_ERROR_ARGUMENT,
                         "its body takes %d values and gives %d, which do not fit the node", taken, made);
    if (c->status) return false;
    b->given = kni_convert_memory(c, (size_t)taken + 1, sizeof *b->given);
    b->made = kni_convert_memory(c, (size_t)made + 1, sizeof *b->made);
    b->unknown = kni_convert_memory(c, (size_t)made + 1, sizeof *b->unknown);
    return !c->status;
}

static void walk_body(kni_conversion *c, body *b)
{
    kni_examining *x = kni_examining_of(c);
    if (b->trips < 0) x->found->sums.counts_once = true;
    b->outer = x->times;
    x->times = kni_capped_product(x->times, b->trips < 0 ? 1 : b->trips);
    walk(c, b->graph, b->given, b->graph->n_inputs, b->made, b->unknown, b->graph->n_outputs);
    x->times = b->outer;
}

/* axes: of stacked results; NULL: 0 for all. */
static void give_results(kni_conversion *c, const body *b, const kni_onnx_node *node, const int64_t *axes,
                         kni_datum *out, int32_t n_out)
{
    for (int32_t k = 0; k < n_out && b->first + k < b->graph->n_outputs; k++) {
        kni_datum made = b->made[b->first + k], before = k < b->n ? b->given[b->in + k] : KNI_ABSENT;
        if (k >= b->n)
            out[k] = stacked(c, made, b->trips, axes ? axes[k - b->n] : 0);
        else if (b->trips == 1 || same_type(c, made, before))
            out[k] = made;
        if (b->unknown[b->first + k] || !kni_is_given(out[k])) out[k] = KNI_ABSENT, set_unknown(c, node, k);
    }
}

void kni_examine_loop(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                      kni_datum *out, int32_t n_out)
{
    body b = {.in = 2, .first = 1, .n = n_in - 2, .trips = -1};
    if (!start_body(c, &b, node, n_in)) return;
    bool counts = kni_is_given(in[0]) && kni_is_known(c, in[0]);
    /* Its condition may end a loop earlier; then this is the most. */
    if (counts) b.trips = kni_known_int(c, in[0], "the number of trips", 0);
    if (b.trips > c->max_trips) b.trips = -1;
    b.given[0] = kni_examine_unknown(c, KN_I64, NULL, 0);
    b.given[1] = kni_examine_unknown(c, KN_BOOL, NULL, 0);
    for (int32_t i = 2; i < n_in; i++) b.given[i] = type_of(c, in[i]);
    walk_body(c, &b);
    give_results(c, &b, node, NULL, out, n_out);
}

/* The type of a slice along an axis. */
static kni_datum slice_type(kni_conversion *c, kni_datum x, int64_t axis, int64_t *trips)
{
    kni_extent extents[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, x, extents), at = kni_axis_of(c, x, axis);
    if (c->status) return KNI_ABSENT;
    *trips = extents[at].value;
    for (int32_t i = at; i + 1 < rank; i++) extents[i] = extents[i + 1];
    return kni_examine_unknown(c, kni_dtype_of(c, x), extents, rank - 1);
}

static const int64_t *axes_of(const kni_onnx_node *node, const char *name, int64_t needed)
{
    int64_t n;
    const int64_t *axes = kni_node_ints(node, name, &n);
    return n >= needed ? axes : NULL;
}

void kni_examine_scan(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                      kni_datum *out, int32_t n_out)
{
    int64_t sliced = kni_node_int(node, "num_scan_inputs", 0);
    int32_t old = node->version < 9; /* with lengths first and a batch before all */
    body b = {.in = 0, .first = 0, .n = n_in - old - (int32_t)(sliced < n_in ? sliced : n_in)};
    if (!start_body(c, &b, node, n_in - old)) return;
    const int64_t *axes = old ? NULL : axes_of(node, "scan_input_axes", sliced);
    for (int32_t i = 0; i < n_in - old; i++) {
        kni_datum x = in[i + old];
        int64_t batch = 1, trips = 0;
        if (old) x = slice_type(c, x, 0, &batch);
        b.given[i] = i < b.n ? type_of(c, x) : slice_type(c, x, axes ? axes[i - b.n] : 0, &trips);
        b.trips = kni_capped_product(batch, trips);
    }
    if (!c->status) walk_body(c, &b);
    if (c->status) return;
    give_results(c, &b, node, old ? NULL : axes_of(node, "scan_output_axes", b.graph->n_outputs - b.n), out,
                 n_out);
    for (int32_t k = 0; old && k < n_out; k++) out[k] = KNI_ABSENT, set_unknown(c, node, k);
}
