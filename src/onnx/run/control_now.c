/* If, Loop and Scan as loops of this thread. */
#include "core/objects.h"
#include "onnx/run/control.h"
#include "onnx/run/conversion.h"
#include "onnx/run/custom_operator.h"
#include "support/failure.h"
#include <kn/device.h>
#include <stdlib.h>
#include <string.h>

void kni_now_branch(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                    kni_datum *out, int32_t n_out)
{
    (void)n_in;
    int64_t chosen = kni_known_int(c, in[0], "the condition", 0);
    const kni_onnx_graph *graph = kni_node_graph(node, chosen ? "then_branch" : "else_branch");
    if (!graph)
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "it has no %s", chosen ? "then_branch" : "else_branch");
    else
        kni_graph_convert(c, graph, NULL, 0, out, n_out);
}

/* ---- values that a loop collects, trip by trip */

typedef struct collected {
    kni_datum *items;
    int64_t n, room;
} collected;

/* Keeps a use of each. */
static void collect(kni_conversion *c, collected *list, kni_datum x)
{
    if (c->status) return;
    if (list->n == list->room) {
        int64_t room = list->room ? 2 * list->room : 16;
        kni_datum *items = room < INT32_MAX ? realloc(list->items, (size_t)room * sizeof *items) : NULL;
        if (!items) {
            kni_convert_fail(c, KN_ERROR_MEMORY, "no memory for %lld results of a loop", (long long)room);
            return;
        }
        list->items = items;
        list->room = room;
    }
    if (kni_kind_of(c, x) != KNI_IS_TENSOR && kni_kind_of(c, x) != KNI_IS_STRINGS)
        kni_convert_fail(c, KN_ERROR_DTYPE, "a result of each trip is no tensor");
    kni_entry_use(c, x);
    list->items[list->n++] = x;
}

static void leave_collected(kni_conversion *c, collected *list)
{
    for (int64_t i = 0; i < list->n; i++) kni_entry_leave(c, list->items[i]);
    free(list->items);
    *list = (collected){0};
}

/* Strings of all trips along a new first axis. */
static kni_datum stack_strings(kni_conversion *c, const collected *list)
{
    kni_extent extents[KN_MAX_RANK + 1] = {KNI_EXTENT(list->n)};
    int64_t each = 0, n = 0;
    int32_t rank = kni_extents_of(c, list->items[0], extents + 1);
    kni_known_strings(c, list->items[0], &each);
    kni_onnx_text *texts = kni_convert_memory(c, (size_t)(each * list->n), sizeof *texts);
    for (int64_t i = 0; texts && i < list->n; i++) {
        const kni_onnx_text *part = kni_known_strings(c, list->items[i], &n);
        if (part && n != each) kni_convert_fail(c, KN_ERROR_SHAPE, "trips give different numbers of strings");
        if (c->status) return KNI_ABSENT;
        memcpy(texts + i * each, part, (size_t)each * sizeof *texts);
    }
    return kni_strings(c, texts, extents, rank + 1);
}

static kni_datum stack(kni_conversion *c, collected *list, int32_t axis, bool reverse)
{
    if (c->status) return KNI_ABSENT;
    for (int64_t i = 0, k = list->n - 1; reverse && i < k; i++, k--) {
        kni_datum x = list->items[i];
        list->items[i] = list->items[k];
        list->items[k] = x;
    }
    if (kni_kind_of(c, list->items[0]) == KNI_IS_STRINGS) return stack_strings(c, list);
    kni_datum *parts = kni_convert_memory(c, (size_t)list->n, sizeof *parts);
    int32_t at = axis < 0 ? axis + kni_rank_of(c, list->items[0]) + 1 : axis;
    for (int64_t i = 0; parts && i < list->n; i++) parts[i] = kni_unsqueeze_at(c, list->items[i], at);
    return parts ? kni_concat_of(c, parts, (int32_t)list->n, at) : KNI_ABSENT;
}

/* What a loop without trips gives: no elements, of the type that the body declares. */
static kni_datum stack_of_none(kni_conversion *c, int32_t value, int32_t axis)
{
    const kni_onnx_declared *declared = c->plan->model->values[value].declared;
    kni_extent extents[KN_MAX_RANK + 1] = {KNI_EXTENT(0)};
    int32_t rank = declared && declared->rank > 0 ? declared->rank : 0,
            at = axis < 0 ? axis + rank + 1 : axis;
    if (!declared || declared->kind != KNI_ONNX_TENSOR || rank >= KN_MAX_RANK || at < 0 || at > rank) {
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "without trips the type of a result is not known");
        return KNI_ABSENT;
    }
    for (int32_t a = 0, k = 0; k <= rank; k++) {
        if (k == at) {
            extents[k] = KNI_EXTENT(0);
            continue;
        }
        int64_t size = declared->dims[a++].value;
        extents[k] = KNI_EXTENT(size < 0 ? 0 : size);
    }
    if (declared->type == KNI_ONNX_STRING) return kni_strings(c, NULL, extents, rank + 1);
    return kni_filled(c, 0, kni_onnx_dtype(declared->type), extents, rank + 1);
}

/* Whether running a body that is not to run does nothing but compute: no numbers are drawn, no function of the user's is called, and no loop
   inside goes on without end. */
static bool is_plain(const kni_conversion *c, const kni_onnx_graph *body)
{
    for (int32_t i = 0; i < body->n_nodes; i++) {
        const kni_onnx_converter *converter = c->plan->nodes[body->nodes[i].place].converter;
        if (!converter || kni_onnx_is_custom(converter) ||
            converter->flags & (KNI_ONNX_RANDOM | KNI_ONNX_INNER))
            return false;
    }
    return true;
}

/* Runs a body for the types of what it gives, where a loop has no trips and does not declare them. What the ops of a device tell only later
   could fail the run, so that this is done where ops fail at once. False: it does not tell, and nothing is left of it. */
static bool run_for_types(kni_conversion *c, const kni_onnx_graph *body, const kni_datum *given,
                          kni_datum *made)
{
    kni_failure_held held;
    if (c->status || kn_device_current() != c->plan->host || !is_plain(c, body)) return false;
    kni_failure_hold(&held);
    kni_graph_convert(c, body, given, body->n_inputs, made, body->n_outputs);
    bool good = !c->status;
    if (!good) kni_graph_leave(c, body);
    c->status = KN_OK;
    (void)kni_failure_release(&held, KN_OK, KN_NONE);
    return good;
}

/* No elements of the type of x. */
static kni_datum none_of(kni_conversion *c, kni_datum x)
{
    kni_extent extents[KN_MAX_RANK + 1] = {KNI_EXTENT(0)};
    int32_t rank = kni_extents_of(c, x, extents + 1);
    if (kni_kind_of(c, x) == KNI_IS_STRINGS) return kni_strings(c, NULL, extents, rank + 1);
    return kni_filled(c, 0, kni_dtype_of(c, x), extents, rank + 1);
}

static bool declares_sizes(const kni_conversion *c, int32_t value)
{
    const kni_onnx_declared *d = c->plan->model->values[value].declared;
    bool all = d && d->kind == KNI_ONNX_TENSOR && d->rank >= 0;
    for (int32_t a = 0; all && a < d->rank; a++) all = d->dims[a].value >= 0;
    return all;
}

/* ---- Loop */

typedef struct loop {
    const kni_onnx_graph *body;
    int32_t n_carried, n_stacked;
    kni_datum *carried; /* one use of each is ours */
    kni_datum *given, *made;
    collected *stacks;
    bool goes_on;
} loop;

static bool start_loop(kni_conversion *c, loop *l, const kni_onnx_node *node, int32_t n_out)
{
    l->body = kni_node_graph(node, "body");
    if (!l->body) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "it has no body");
        return false;
    }
    l->n_carried = l->body->n_inputs - 2;
    l->n_stacked = l->body->n_outputs - 1 - l->n_carried;
    if (l->n_carried < 0 || l->n_stacked < 0 || l->n_carried > node->n_in - 2 ||
        n_out > l->n_carried + l->n_stacked) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT,
                         "its body takes %d values and gives %d, which do not fit the node's %d and %d",
                         l->body->n_inputs, l->body->n_outputs, node->n_in, n_out);
        return false;
    }
    l->carried = kni_convert_memory(c, (size_t)l->n_carried + 1, sizeof *l->carried);
    l->given = kni_convert_memory(c, (size_t)l->body->n_inputs, sizeof *l->given);
    l->made = kni_convert_memory(c, (size_t)l->body->n_outputs, sizeof *l->made);
    l->stacks = kni_convert_memory(c, (size_t)l->n_stacked + 1, sizeof *l->stacks);
    return !c->status;
}

/* Carried values and results keep a use; all else that the trip has made is left. */
static void run_trip(kni_conversion *c, loop *l, int64_t trip, kni_datum condition)
{
    int32_t mark = kni_made_mark(c);
    kni_extent number = KNI_EXTENT(trip);
    l->given[0] = kni_known_list(c, &number, 1, true);
    l->given[1] = condition;
    for (int32_t i = 0; i < l->n_carried; i++) l->given[2 + i] = l->carried[i];
    kni_graph_convert(c, l->body, l->given, l->body->n_inputs, l->made, l->body->n_outputs);
    l->goes_on = !c->status && kni_known_int(c, l->made[0], "the condition", 0) != 0;
    for (int32_t i = 0; i < l->n_carried; i++) kni_entry_use(c, l->made[1 + i]);
    for (int32_t i = 0; i < l->n_carried; i++) {
        kni_entry_leave(c, l->carried[i]);
        l->carried[i] = l->made[1 + i];
    }
    for (int32_t i = 0; i < l->n_stacked; i++) collect(c, &l->stacks[i], l->made[1 + l->n_carried + i]);
    kni_made_leave(c, mark);
}

static void run_trips(kni_conversion *c, loop *l, const kni_datum *in)
{
    bool counts = kni_is_given(in[0]), asks = kni_is_given(in[1]);
    int64_t trips = kni_known_int(c, in[0], "the number of trips", INT64_MAX), trip = 0;
    l->goes_on = kni_known_int(c, in[1], "the condition", 1) != 0;
    kni_datum truth = asks ? in[1] : kni_whole_number(c, 1, KN_BOOL);
    if (!counts) trips = INT64_MAX;
    while (trip < trips && l->goes_on && !c->status) {
        if (trip == c->max_trips) {
            kni_convert_fail(
                c, KN_ERROR_UNSUPPORTED,
                "its condition still holds after %lld trips; max_trips of kn_onnx_args allows more",
                (long long)trip);
            return;
        }
        /* The body ends a Loop that was given no condition, too: onnxscript writes `break` so, and ONNX Runtime
           and ONNX's reference follow it, though the standard calls that condition ignored. */
        run_trip(c, l, trip++, truth);
    }
}

static kni_datum stack_without_trips(kni_conversion *c, loop *l, const kni_datum *in, int32_t k)
{
    int32_t value = l->body->outputs[1 + k];
    if (!declares_sizes(c, value)) {
        l->given[0] = kni_whole_number(c, 0, KN_I64);
        l->given[1] = kni_whole_number(c, 1, KN_BOOL);
        for (int32_t i = 0; i < l->n_carried; i++) l->given[2 + i] = in[2 + i];
        if (run_for_types(c, l->body, l->given, l->made)) return none_of(c, l->made[1 + k]);
    }
    return stack_of_none(c, value, 0);
}

void kni_now_loop(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                  kni_datum *out, int32_t n_out)
{
    (void)n_in;
    loop l = {0};
    if (!start_loop(c, &l, node, n_out)) return;
    for (int32_t i = 0; i < l.n_carried; i++) {
        l.carried[i] = in[2 + i];
        kni_entry_use(c, in[2 + i]);
    }
    run_trips(c, &l, in);
    for (int32_t i = 0; i < l.n_carried; i++) {
        if (i < n_out) kni_made_add(c, out[i] = l.carried[i]);
        kni_entry_leave(c, l.carried[i]);
    }
    for (int32_t i = 0; i < l.n_stacked; i++) {
        int32_t k = l.n_carried + i;
        if (k < n_out && kni_is_wanted(node, k) && !c->status)
            out[k] = l.stacks[i].n ? stack(c, &l.stacks[i], 0, false) : stack_without_trips(c, &l, in, k);
        leave_collected(c, &l.stacks[i]);
    }
}

/* ---- Scan */

typedef struct scan {
    const kni_onnx_graph *body;
    int32_t n_state, n_sliced, n_stacked;
    const int64_t *in_axes, *out_axes, *in_back, *out_back; /* NULL: 0 for all */
    kni_datum *state, *given, *made;
    collected *stacks;
    int64_t trips;
} scan;

static const int64_t *axes_of(kni_conversion *c, const kni_onnx_node *node, const char *name, int32_t n)
{
    int64_t count = 0;
    const int64_t *list = kni_node_ints(node, name, &count);
    if (list && count != n)
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "%s has %lld numbers for %d values", name, (long long)count,
                         n);
    return list;
}

static bool start_scan(kni_conversion *c, scan *s, const kni_onnx_node *node, int32_t n_in, int32_t n_out)
{
    s->body = kni_node_graph(node, "body");
    s->n_sliced = (int32_t)kni_node_int(node, "num_scan_inputs", 0);
    s->n_state = n_in - s->n_sliced;
    s->n_stacked = s->body ? s->body->n_outputs - s->n_state : -1;
    if (!s->body || s->n_sliced < 1 || s->n_state < 0 || s->n_stacked < 0 || s->body->n_inputs != n_in ||
        n_out > s->body->n_outputs) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "its body and its %d operands do not fit each other", n_in);
        return false;
    }
    s->state = kni_convert_memory(c, (size_t)s->n_state + 1, sizeof *s->state);
    s->given = kni_convert_memory(c, (size_t)n_in, sizeof *s->given);
    s->made = kni_convert_memory(c, (size_t)s->body->n_outputs + 1, sizeof *s->made);
    s->stacks = kni_convert_memory(c, (size_t)s->n_stacked + 1, sizeof *s->stacks);
    return !c->status;
}

static int64_t at(const int64_t *list, int32_t i) { return list ? list[i] : 0; }

static void count_trips(kni_conversion *c, scan *s, const kni_datum *sliced)
{
    for (int32_t i = 0; i < s->n_sliced && !c->status; i++) {
        int64_t n = kni_extent_of(c, sliced[i], at(s->in_axes, i)).value;
        if (i && n != s->trips)
            kni_convert_fail(c, KN_ERROR_SHAPE, "operands to scan have %lld and %lld slices",
                             (long long)s->trips, (long long)n);
        s->trips = n;
    }
}

static void scan_trip(kni_conversion *c, scan *s, const kni_datum *sliced, int64_t trip)
{
    int32_t mark = kni_made_mark(c);
    for (int32_t i = 0; i < s->n_state; i++) s->given[i] = s->state[i];
    for (int32_t i = 0; i < s->n_sliced; i++) {
        int64_t place = at(s->in_back, i) ? s->trips - 1 - trip : trip;
        int32_t axis = kni_axis_of(c, sliced[i], at(s->in_axes, i));
        kni_datum x = kni_slice_of(c, sliced[i], axis, KNI_EXTENT(place), KNI_EXTENT(place + 1));
        s->given[s->n_state + i] = kni_squeeze_at(c, x, axis);
    }
    kni_graph_convert(c, s->body, s->given, s->body->n_inputs, s->made, s->body->n_outputs);
    for (int32_t i = 0; i < s->n_state; i++) kni_entry_use(c, s->made[i]);
    for (int32_t i = 0; i < s->n_state; i++) {
        kni_entry_leave(c, s->state[i]);
        s->state[i] = s->made[i];
    }
    for (int32_t i = 0; i < s->n_stacked; i++) collect(c, &s->stacks[i], s->made[s->n_state + i]);
    kni_made_leave(c, mark);
}

static kni_datum scan_of_nothing(kni_conversion *c, scan *s, const kni_datum *in, int32_t k, int32_t axis)
{
    int32_t value = s->body->outputs[k];
    for (int32_t i = 0; i < s->n_state; i++) s->given[i] = in[i];
    for (int32_t i = 0; i < s->n_sliced && !declares_sizes(c, value); i++) {
        kni_extent extents[KN_MAX_RANK];
        kni_datum x = in[s->n_state + i];
        int32_t rank = kni_extents_of(c, x, extents), cut = kni_axis_of(c, x, at(s->in_axes, i));
        for (int32_t a = cut; a + 1 < rank; a++) extents[a] = extents[a + 1];
        s->given[s->n_state + i] = kni_filled(c, 0, kni_dtype_of(c, x), extents, rank - 1);
    }
    if (declares_sizes(c, value) || !run_for_types(c, s->body, s->given, s->made))
        return stack_of_none(c, value, axis);
    kni_datum y = none_of(c, s->made[k]);
    int32_t rank = kni_rank_of(c, y), to = axis < 0 ? axis + rank : axis, axes[KN_MAX_RANK];
    for (int32_t i = 0, from = 1; i < rank; i++) axes[i] = i == to ? 0 : from++;
    return to > 0 && to < rank ? kni_permute_to(c, y, axes, rank) : y;
}

/* Runs one whole scan: state and sliced operands to final states and stacks. */
static void run_scan(kni_conversion *c, scan *s, const kni_datum *in, kni_datum *out, int32_t n_out)
{
    for (int32_t i = 0; i < s->n_state; i++) {
        s->state[i] = in[i];
        kni_entry_use(c, in[i]);
    }
    count_trips(c, s, in + s->n_state);
    for (int64_t t = 0; t < s->trips && !c->status; t++) scan_trip(c, s, in + s->n_state, t);
    for (int32_t i = 0; i < s->n_state; i++) {
        if (i < n_out) kni_made_add(c, out[i] = s->state[i]);
        kni_entry_leave(c, s->state[i]);
    }
    for (int32_t i = 0; i < s->n_stacked; i++) {
        int32_t k = s->n_state + i;
        int32_t axis = (int32_t)at(s->out_axes, i);
        if (k < n_out && !c->status)
            out[k] = s->stacks[i].n ? stack(c, &s->stacks[i], axis, at(s->out_back, i) != 0)
                                    : scan_of_nothing(c, s, in, k, axis);
        leave_collected(c, &s->stacks[i]);
    }
}

static kni_datum batch_item(kni_conversion *c, kni_datum x, int64_t b)
{
    return kni_squeeze_at(c, kni_slice_of(c, x, 0, KNI_EXTENT(b), KNI_EXTENT(b + 1)), 0);
}

/* Results of one item of the batch, padded with zeros along their first axis up to the longest. */
static kni_datum padded(kni_conversion *c, kni_datum x, int64_t longest)
{
    kni_extent before[KN_MAX_RANK] = {{0}}, after[KN_MAX_RANK] = {{0}};
    if (kni_rank_of(c, x) == 0) return x;
    after[0] = KNI_EXTENT(longest - kni_extent_of(c, x, 0).value);
    return kni_pad_with(c, x, before, after, 0);
}

/* Version 8: everything has a batch as its first axis, and each item of it may have a length of its own. */
static void scan_batch(kni_conversion *c, scan *s, const kni_onnx_node *node, const kni_datum *in,
                       int32_t n_in, kni_datum *out, int32_t n_out)
{
    int64_t batch = kni_extent_of(c, in[1], 0).value, n_lengths = 0;
    int64_t longest = kni_extent_of(c, in[1 + s->n_state], 1).value;
    const int64_t *lengths =
        kni_is_given(in[0]) ? kni_known_ints(c, in[0], "sequence_lens", &n_lengths) : NULL;
    collected *results = kni_convert_memory(c, (size_t)n_out + 1, sizeof *results);
    kni_datum *item = kni_convert_memory(c, (size_t)n_in, sizeof *item);
    kni_datum *made = kni_convert_memory(c, (size_t)n_out + 1, sizeof *made);
    if (lengths && n_lengths != batch)
        kni_convert_fail(c, KN_ERROR_SHAPE, "sequence_lens has %lld numbers for %lld items",
                         (long long)n_lengths, (long long)batch);
    for (int64_t b = 0; b < batch && !c->status; b++) {
        for (int32_t i = 1; i < n_in; i++) {
            item[i - 1] = batch_item(c, in[i], b);
            if (i > s->n_state && lengths)
                item[i - 1] = kni_slice_of(c, item[i - 1], 0, KNI_EXTENT(0), KNI_EXTENT(lengths[b]));
        }
        run_scan(c, s, item, made, n_out);
        for (int32_t k = 0; k < n_out; k++)
            collect(c, &results[k], k < s->n_state ? made[k] : padded(c, made[k], longest));
    }
    for (int32_t k = 0; results && k < n_out; k++) {
        if (kni_is_wanted(node, k) && !c->status)
            out[k] =
                results[k].n ? stack(c, &results[k], 0, false) : stack_of_none(c, s->body->outputs[k], 0);
        leave_collected(c, &results[k]);
    }
}

void kni_now_scan(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                  kni_datum *out, int32_t n_out)
{
    scan s = {0};
    bool batched = node->version < 9;
    if (!start_scan(c, &s, node, n_in - batched, n_out)) return;
    if (batched) {
        s.in_back = axes_of(c, node, "directions", s.n_sliced);
        scan_batch(c, &s, node, in, n_in, out, n_out);
        return;
    }
    s.in_axes = axes_of(c, node, "scan_input_axes", s.n_sliced);
    s.in_back = axes_of(c, node, "scan_input_directions", s.n_sliced);
    s.out_axes = axes_of(c, node, "scan_output_axes", s.n_stacked);
    s.out_back = axes_of(c, node, "scan_output_directions", s.n_stacked);
    if (!c->status) run_scan(c, &s, in, out, n_out);
}
