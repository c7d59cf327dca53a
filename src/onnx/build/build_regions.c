/* If, Loop and Scan as regions of a program. A condition that is known chooses its branch now; a loop that carries sequences, or whose
   trips give values of different sizes, is written out where the number of its trips is known. */
#include "onnx/build/build.h"
#include <stdio.h>
#include <string.h>

enum { MOST_UNROLLED = 4096 };

/* ---- If */

/* Converts a graph into the open region. Sizes that are read there are not known behind it. */
static void convert_inside(kni_conversion *c, const kni_onnx_graph *graph, const kni_datum *in, int32_t n_in,
                           kni_datum *out, int32_t n_out)
{
    kni_building *b = kni_building_of(c);
    b->depth++;
    kni_graph_convert(c, graph, in, n_in, out, n_out);
    kni_onnx_build_forget(c, b->depth--);
}

/* Converts a branch inside an open region and hands over its results as values. */
static void branch_values(kni_conversion *c, const kni_onnx_graph *graph, kn_program_value *values, int32_t n)
{
    kni_datum *made = kni_convert_memory(c, (size_t)n + 1, sizeof *made);
    if (!made) return;
    convert_inside(c, graph, NULL, 0, made, n);
    for (int32_t i = 0; i < n && !c->status; i++) values[i] = kni_onnx_build_operand(c, made[i]);
}

static void build_if(kni_conversion *c, kni_datum condition, const kni_onnx_graph *const *graphs,
                     kni_datum *out, int32_t n_out)
{
    kn_builder b = kni_building_of(c)->builder;
    kn_program_value *values = kni_convert_memory(c, (size_t)n_out + 1, sizeof *values);
    kni_datum scalar = kni_reshape_to(c, condition, NULL, 0);
    kn_program_value is = kni_onnx_build_operand(c, scalar);
    if (!values || c->status) return;
    if (kn_builder_if(b, is)) kni_onnx_build_failed(c);
    branch_values(c, graphs[0], values, n_out);
    if (!c->status && kn_builder_else(b, values, n_out)) kni_onnx_build_failed(c);
    branch_values(c, graphs[1], values, n_out);
    kn_program_value *results = kni_convert_memory(c, (size_t)n_out + 1, sizeof *results);
    if (results && !c->status && kn_builder_end(b, values, n_out, results, n_out)) kni_onnx_build_failed(c);
    for (int32_t i = 0; i < n_out && !c->status; i++) out[i] = kni_onnx_build_result(c, results[i]);
}

void kni_onnx_build_branch(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                           kni_datum *out, int32_t n_out)
{
    (void)n_in;
    const kni_onnx_graph *graphs[] = {kni_node_graph(node, "then_branch"),
                                      kni_node_graph(node, "else_branch")};
    const kni_entry *e = kni_entry_of(c, in[0]);
    if (!graphs[0] || !graphs[1]) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "it has no %s", graphs[0] ? "else_branch" : "then_branch");
        return;
    }
    if (e && kni_onnx_build_is_concrete(e)) {
        int64_t chosen = kni_known_int(c, in[0], "the condition", 0);
        kni_graph_convert(c, graphs[!chosen], NULL, 0, out, n_out);
    } else {
        build_if(c, in[0], graphs, out, n_out);
    }
}

/* ---- what loops share */

/* Whether a value of a body is what the body was given as `input`, or a constant that is true: then the loop does not end by it. */
static bool stays_true(const kni_conversion *c, const kni_onnx_graph *body, int32_t value, int32_t input)
{
    for (int depth = 0; depth < 16 && value != input; depth++) {
        const kni_onnx_value *v = &c->plan->model->values[value];
        const kni_stored *constant = c->plan->constants[value];
        double is = 0;
        if (constant && !constant->strings)
            return kn_count(constant->tensor) == 1 &&
                   kn_read_as(constant->tensor, KN_F64, &is, sizeof is) == KN_OK && is != 0;
        if (v->graph != body || v->node < 0) return false;
        const kni_onnx_node *n = &body->nodes[v->node];
        const kni_onnx_tensor *t = !strcmp(n->op, "Constant") ? kni_node_tensor(n, "value") : NULL;
        if (t) return t->count == 1 && t->bytes == 1 && *(const uint8_t *)t->data != 0;
        if (strcmp(n->op, "Identity") != 0 && strcmp(n->op, "Cast") != 0) return false;
        value = n->in[0];
    }
    return value == input;
}

/* Takes values as operands of the builder; false with the node failed. */
static bool take_values(kni_conversion *c, const kni_datum *data, int32_t n, kn_program_value *values)
{
    for (int32_t i = 0; i < n && !c->status; i++) values[i] = kni_onnx_build_operand(c, data[i]);
    return !c->status;
}

static bool all_tensors(kni_conversion *c, const kni_datum *data, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        if (kni_kind_of(c, data[i]) != KNI_IS_TENSOR) return false;
    return true;
}

static const char *size_text(kni_conversion *c, kni_extent e)
{
    if (e.text) return e.text;
    const char *text = kni_onnx_arena_format(c->arena, "%lld", (long long)e.value);
    if (!text) kni_convert_fail(c, KN_ERROR_MEMORY, "no memory for a size");
    return text;
}

/* ---- Loop */

typedef struct loop {
    const kni_onnx_graph *body;
    int32_t n_carried, n_stacked;
    kni_extent trips;
    bool counted, conditional; /* it has a number of trips, a condition, or both */
    kni_datum condition;
    const kni_datum *carried;
} loop;

static bool start_loop(kni_conversion *c, loop *l, const kni_onnx_node *node, const kni_datum *in,
                       int32_t n_in)
{
    int64_t n = 0;
    l->body = kni_node_graph(node, "body");
    l->n_carried = l->body ? l->body->n_inputs - 2 : -1;
    l->n_stacked = l->body ? l->body->n_outputs - 1 - l->n_carried : -1;
    if (!l->body || l->n_carried < 0 || l->n_stacked < 0 || l->n_carried > n_in - 2) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "its body and its %d operands do not fit each other", n_in);
        return false;
    }
    l->carried = in + 2;
    l->condition = in[1];
    const kni_entry *e = kni_entry_of(c, in[0]);
    if (e) {
        const kni_extent *list = kni_known_counts(c, in[0], "the number of trips", &n);
        if (list && n == 1 && (list->text || list->value < INT32_MAX)) l->trips = *list, l->counted = true;
        if (kni_extent_may_be_negative(l->trips)) l->trips = kni_extent_max(c, l->trips, KNI_EXTENT(0));
    }
    bool begins = !kni_is_given(in[1]);
    const kni_entry *condition = kni_entry_of(c, in[1]);
    if (condition && kni_onnx_build_is_concrete(condition))
        begins = kni_known_int(c, in[1], "the condition", 1) != 0;
    if (condition && kni_onnx_build_is_concrete(condition) && !begins)
        l->trips = KNI_EXTENT(0), l->counted = true, begins = true;
    l->conditional = !begins || !stays_true(c, l->body, l->body->outputs[0], l->body->inputs[1]);
    return !c->status;
}

static kni_datum truth(kni_conversion *c, bool value)
{
    uint8_t byte = value;
    return kni_constant(c, &byte, KN_BOOL, NULL, 0);
}

/* Trip by trip, for loops whose trips are a number and that a region cannot hold. */
static void unroll(kni_conversion *c, const loop *l, kni_datum *out, int32_t n_out)
{
    int32_t n_in = l->body->n_inputs, n = l->body->n_outputs, trips = (int32_t)l->trips.value;
    kni_datum *given = kni_convert_memory(c, (size_t)n_in, sizeof *given),
              *made = kni_convert_memory(c, (size_t)n, sizeof *made);
    kni_datum *parts = kni_convert_memory(c, (size_t)l->n_stacked * (size_t)trips + 1, sizeof *parts);
    if (!given || !made || !parts) return;
    for (int32_t i = 0; i < l->n_carried; i++) given[2 + i] = l->carried[i];
    for (int32_t t = 0; t < trips && !c->status; t++) {
        given[0] = kni_whole_number(c, t, KN_I64);
        given[1] = truth(c, true);
        kni_graph_convert(c, l->body, given, n_in, made, n);
        for (int32_t i = 0; i < l->n_carried; i++) given[2 + i] = made[1 + i];
        for (int32_t i = 0; i < l->n_stacked && !c->status; i++)
            parts[i * trips + t] = kni_unsqueeze_at(c, made[1 + l->n_carried + i], 0);
        const kni_entry *e = kni_entry_of(c, made[0]);
        if (l->conditional && e && kni_onnx_build_is_concrete(e) &&
            !kni_known_int(c, made[0], "the condition", 1)) {
            trips = t + 1;
            break;
        }
        if (l->conditional && e && !kni_onnx_build_is_concrete(e))
            kni_convert_fail(c, KN_ERROR_UNSUPPORTED,
                             "a loop that is written out cannot end by a condition that is not known");
    }
    for (int32_t i = 0; i < n_out && !c->status; i++)
        out[i] = i < l->n_carried
                     ? given[2 + i]
                     : kni_concat_of(c, parts + (i - l->n_carried) * (int32_t)l->trips.value, trips, 0);
}

/* The body between kn_builder_loop and its end. */
static void fill_body(kni_conversion *c, const loop *l, const kn_program_value *inside,
                      kn_program_value *results, int32_t *n)
{
    int32_t n_in = l->body->n_inputs, n_body = l->body->n_outputs;
    kni_datum *given = kni_convert_memory(c, (size_t)n_in, sizeof *given),
              *made = kni_convert_memory(c, (size_t)n_body, sizeof *made);
    if (!given || !made) return;
    given[0] = kni_onnx_build_result(c, inside[0]);
    given[1] = truth(c, true);
    for (int32_t i = 0; i < l->n_carried; i++) given[2 + i] = kni_onnx_build_result(c, inside[1 + i]);
    convert_inside(c, l->body, given, n_in, made, n_body);
    *n = 0;
    if (l->conditional) results[(*n)++] = kni_onnx_build_operand(c, kni_reshape_to(c, made[0], NULL, 0));
    for (int32_t i = 1; i < n_body && !c->status; i++) results[(*n)++] = kni_onnx_build_operand(c, made[i]);
}

static void build_loop(kni_conversion *c, const loop *l, kni_datum *out, int32_t n_out)
{
    kn_builder b = kni_building_of(c)->builder;
    size_t room = (size_t)l->n_carried + (size_t)l->n_stacked + 4;
    kn_program_value *carried = kni_convert_memory(c, room, sizeof *carried),
                     *inside = kni_convert_memory(c, room, sizeof *inside);
    kn_program_value *results = kni_convert_memory(c, room, sizeof *results),
                     *after = kni_convert_memory(c, room, sizeof *after);
    if (!carried || !inside || !results || !after || !take_values(c, l->carried, l->n_carried, carried))
        return;
    kn_loop_args args = {.carried = carried, .n_carried = l->n_carried, .max_trips = c->max_trips};
    if (l->counted) args.trips = size_text(c, l->trips);
    if (l->conditional)
        args.condition = kni_onnx_build_operand(
            c, kni_is_given(l->condition) ? kni_reshape_to(c, l->condition, NULL, 0) : truth(c, true));
    if (!l->counted && !l->conditional) {
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "a loop without an end");
        return;
    }
    int32_t n = 0;
    if (c->status) return;
    if (kn_builder_loop(b, &args, inside)) {
        kni_onnx_build_failed(c);
        return;
    }
    fill_body(c, l, inside, results, &n);
    int32_t n_after = l->n_carried + l->n_stacked;
    if (!c->status && kn_builder_end(b, results, n, after, n_after)) kni_onnx_build_failed(c);
    for (int32_t i = 0; i < n_out && !c->status; i++) out[i] = kni_onnx_build_result(c, after[i]);
}

void kni_onnx_build_loop(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                         kni_datum *out, int32_t n_out)
{
    loop l = {0};
    if (!start_loop(c, &l, node, in, n_in)) return;
    bool short_one = l.counted && !l.trips.text && l.trips.value * (l.body->n_nodes + 1) <= MOST_UNROLLED &&
                     l.trips.value > 0;
    bool must = !all_tensors(c, l.carried, l.n_carried);
    if (short_one) kni_building_of(c)->has_loops = true;
    if (short_one && (must || kni_building_of(c)->unrolls))
        unroll(c, &l, out, n_out);
    else if (must)
        kni_convert_fail(
            c, KN_ERROR_UNSUPPORTED,
            "a loop that carries sequences needs a number of trips that is known, and not large");
    else
        build_loop(c, &l, out, n_out);
}

/* ---- Scan */

typedef struct scan {
    const kni_onnx_graph *body;
    int32_t n_state, n_sliced, n_stacked;
    const int64_t *in_axes, *out_axes, *in_back, *out_back; /* NULL: 0 for all */
} scan;

static int64_t at(const int64_t *list, int32_t i) { return list ? list[i] : 0; }

static const int64_t *axes_of(kni_conversion *c, const kni_onnx_node *node, const char *name, int32_t n)
{
    int64_t count = 0;
    const int64_t *list = kni_node_ints(node, name, &count);
    if (list && count != n)
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "%s has %lld numbers for %d values", name, (long long)count,
                         n);
    return list;
}

/* x with an axis moved to another place. */
static kni_datum move_axis(kni_conversion *c, kni_datum x, int32_t from, int32_t to)
{
    int32_t axes[KN_MAX_RANK], n = kni_rank_of(c, x);
    for (int32_t i = 0, k = 0; i < n; i++) {
        if (k == from) k++;
        axes[i] = i == to ? from : k++;
    }
    return from == to ? x : kni_permute_to(c, x, axes, n);
}

static kni_datum reversed(kni_conversion *c, kni_datum x)
{
    kni_extent start[KN_MAX_RANK] = {{0}}, stop[KN_MAX_RANK] = {{0}}, step[KN_MAX_RANK] = {{0}};
    int32_t n = kni_rank_of(c, x);
    for (int32_t i = 0; i < n; i++) {
        start[i] = KNI_EXTENT(i ? 0 : -1);
        stop[i] = KNI_EXTENT(INT64_MAX);
        step[i] = KNI_EXTENT(i ? 1 : -1);
    }
    return kni_emit(
        c, "slice", &x, 1,
        KNI_GIVE(KNI_EXTENTS("start", start, n), KNI_EXTENTS("stop", stop, n), KNI_EXTENTS("step", step, n)));
}

static void build_scan(kni_conversion *c, const scan *s, const kni_datum *in, kni_datum *out, int32_t n_out)
{
    kn_builder b = kni_building_of(c)->builder;
    int32_t n_in = s->n_state + s->n_sliced, n_body = s->body->n_outputs;
    size_t room = (size_t)n_in + (size_t)n_body + 4;
    kn_program_value *carried = kni_convert_memory(c, room, sizeof *carried),
                     *sliced = kni_convert_memory(c, room, sizeof *sliced);
    kn_program_value *inside = kni_convert_memory(c, room, sizeof *inside),
                     *after = kni_convert_memory(c, room, sizeof *after);
    kni_datum *given = kni_convert_memory(c, room, sizeof *given),
              *made = kni_convert_memory(c, room, sizeof *made);
    if (!carried || !sliced || !inside || !after || !given || !made ||
        !take_values(c, in, s->n_state, carried))
        return;
    kni_extent trips = KNI_EXTENT(0);
    for (int32_t i = 0; i < s->n_sliced && !c->status; i++) {
        kni_datum x =
            move_axis(c, in[s->n_state + i], kni_axis_of(c, in[s->n_state + i], at(s->in_axes, i)), 0);
        if (at(s->in_back, i)) x = reversed(c, x);
        if (i == 0) trips = kni_extent_of(c, x, 0);
        sliced[i] = kni_onnx_build_operand(c, x);
    }
    if (c->status) return;
    kn_loop_args args = {.carried = carried,
                         .n_carried = s->n_state,
                         .sliced = sliced,
                         .n_sliced = s->n_sliced,
                         .trips = size_text(c, trips)};
    if (kn_builder_loop(b, &args, inside)) {
        kni_onnx_build_failed(c);
        return;
    }
    for (int32_t i = 0; i < n_in; i++) given[i] = kni_onnx_build_result(c, inside[1 + i]);
    convert_inside(c, s->body, given, n_in, made, n_body);
    if (!c->status && take_values(c, made, n_body, inside) &&
        kn_builder_end(b, inside, n_body, after, n_body))
        kni_onnx_build_failed(c);
    for (int32_t i = 0; i < n_out && !c->status; i++) {
        out[i] = kni_onnx_build_result(c, after[i]);
        int32_t k = i - s->n_state;
        if (k < 0) continue;
        if (at(s->out_back, k)) out[i] = reversed(c, out[i]);
        out[i] = move_axis(c, out[i], 0, kni_axis_of(c, out[i], at(s->out_axes, k)));
    }
}

void kni_onnx_build_scan(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                         kni_datum *out, int32_t n_out)
{
    scan s = {.body = kni_node_graph(node, "body"),
              .n_sliced = (int32_t)kni_node_int(node, "num_scan_inputs", 0)};
    s.n_state = n_in - s.n_sliced;
    s.n_stacked = s.body ? s.body->n_outputs - s.n_state : -1;
    if (node->version < 9) {
        kni_convert_fail(
            c, KN_ERROR_UNSUPPORTED,
            "Scan of version 8, which has a length for each item of its batch, is no part of a program");
        return;
    }
    if (!s.body || s.n_sliced < 1 || s.n_state < 0 || s.n_stacked < 0 || s.body->n_inputs != n_in ||
        n_out > s.body->n_outputs) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "its body and its %d operands do not fit each other", n_in);
        return;
    }
    s.in_axes = axes_of(c, node, "scan_input_axes", s.n_sliced);
    s.in_back = axes_of(c, node, "scan_input_directions", s.n_sliced);
    s.out_axes = axes_of(c, node, "scan_output_axes", s.n_stacked);
    s.out_back = axes_of(c, node, "scan_output_directions", s.n_stacked);
    if (!c->status) build_scan(c, &s, in, out, n_out);
}
