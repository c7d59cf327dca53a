/* Runs graphs: converts node after node and leaves values where they were read for the last time. */
#include "onnx/run/conversion.h"
#include "onnx/run/custom_operator.h"
#include "onnx/strings.h"
#include "support/clock.h"
#include <string.h>

enum { MOST_DEPTH = 64 };

/* A list of operands with room for the entries that converters may read. */
static kni_datum *room_for(kni_conversion *c, kni_datum *few, int32_t n)
{
    if (n <= KNI_ONNX_ROOM) return memset(few, 0, KNI_ONNX_ROOM * sizeof *few);
    return kni_convert_memory(c, (size_t)n, sizeof(kni_datum));
}

static void read_operands(kni_conversion *c, const kni_onnx_node *node, kni_datum *in)
{
    for (int32_t i = 0; i < node->n_in; i++) {
        if (node->in[i] < 0) continue;
        in[i] = kni_bound(c, node->in[i]);
        /* An input of an inner graph may be absent, and so may be an optional input of the model. */
    }
}

static void keep_results(kni_conversion *c, const kni_onnx_node *node, const kni_datum *out)
{
    for (int32_t i = 0; i < node->n_out && !c->status; i++) {
        if (node->out[i] < 0) continue;
        kni_check_result(c, node->out[i], out[i]);
        kni_bind(c, node->out[i], out[i]);
        if (c->target->name) c->target->name(c, node->out[i], out[i]);
    }
}

void kni_convert_one(kni_conversion *c, const kni_onnx_node *node)
{
    const kni_planned_node *planned = &c->plan->nodes[node->place];
    kni_datum few_in[KNI_ONNX_ROOM], few_out[KNI_ONNX_ROOM];
    kni_onnx_arena_mark memory = kni_onnx_arena_now(c->scratch);
    int32_t made = kni_made_mark(c);
    const kni_onnx_node *outer = c->node;
    c->node = node;
    kni_datum *in = room_for(c, few_in, node->n_in), *out = room_for(c, few_out, node->n_out);
    if (!planned->converter)
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "%s", planned->reason);
    else if (in && out) {
        read_operands(c, node, in);
        if (!kni_onnx_is_custom(planned->converter)) kni_check_node(c, node, in);
        bool host = planned->converter->flags & KNI_ONNX_HOST;
        if (host || !kni_convert_strings(c, node, in, node->n_in, out, node->n_out))
            planned->converter->convert(c, node, in, node->n_in, out, node->n_out);
        keep_results(c, node, out);
    }
    kni_made_leave(c, made);
    kni_onnx_arena_back(c->scratch, memory);
    c->node = outer;
}

static void measure(kni_conversion *c, const kni_onnx_node *node, double begun)
{
    c->target->wait(c);
    c->times[node->place] += kni_monotonic_clock() - begun;
}

void kni_graph_nodes(kni_conversion *c, const kni_onnx_graph *graph)
{
    if (c->depth >= MOST_DEPTH) {
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "more than %d graphs in graphs", (int)MOST_DEPTH);
        return;
    }
    c->depth++;
    for (int32_t i = 0; i < graph->n_nodes && !c->status; i++) {
        const kni_onnx_node *node = &graph->nodes[i];
        const kni_planned_node *planned = &c->plan->nodes[node->place];
        if (!planned->folded) {
            double begun = c->times ? kni_monotonic_clock() : 0;
            (c->target->node ? c->target->node : kni_convert_one)(c, node);
            if (c->times) measure(c, node, begun);
        }
        for (int32_t k = 0; k < planned->n_ends; k++) kni_bind(c, planned->ends[k], KNI_ABSENT);
    }
    c->depth--;
}

void kni_graph_convert(kni_conversion *c, const kni_onnx_graph *graph, const kni_datum *in, int32_t n_in,
                       kni_datum *out, int32_t n_out)
{
    for (int32_t k = 0; k < n_out; k++) out[k] = KNI_ABSENT;
    if (c->status) return;
    if (n_in != graph->n_inputs || n_out > graph->n_outputs) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT,
                         "its inner graph takes %d values and gives %d; %d and %d are asked for",
                         graph->n_inputs, graph->n_outputs, n_in, n_out);
        return;
    }
    for (int32_t i = 0; i < n_in; i++) kni_bind(c, graph->inputs[i], in[i]);
    kni_graph_nodes(c, graph);
    /* Results are made again as values of the node around, before those of the graph are left. */
    for (int32_t k = 0; k < n_out && !c->status; k++) {
        out[k] = kni_bound(c, graph->outputs[k]);
        kni_made_add(c, out[k]);
    }
    kni_graph_leave(c, graph);
}
