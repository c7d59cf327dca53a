/* ai.onnx.preview.training.Gradient: dy/dx of a value of the graph by others of it. The nodes between them are converted a second time, on a
   device that notes what gradients need, with the operands in the place of the named values. */
#include "core/objects.h"
#include "onnx/run/control.h"
#include "onnx/run/now.h"
#include <kn/autodiff.h>
#include <kn/creation.h>
#include <kn/device.h>
#include <stdlib.h>
#include <string.h>

typedef struct gradient {
    const kni_onnx_graph *graph;
    int32_t *given; /* values that operands stand for */
    int32_t n_given, n_x, y;
    bool *needed; /* by node of the graph */
} gradient;

/* The value of a name in a graph; -1 with the node failed. */
static int32_t value_named(kni_conversion *c, const kni_onnx_graph *graph, const kni_onnx_text *name)
{
    const kni_onnx_model *model = c->plan->model;
    for (int32_t v = 0; v < model->n_values; v++)
        if (model->values[v].graph == graph && !strcmp(model->values[v].name, name->data)) return v;
    kni_convert_fail(c, KN_ERROR_ARGUMENT, "the graph has no value '%.100s'", name->data);
    return -1;
}

static bool is_given(const gradient *g, int32_t value)
{
    for (int32_t i = 0; i < g->n_given; i++)
        if (g->given[i] == value) return true;
    return false;
}

static void read_names(kni_conversion *c, gradient *g, const kni_onnx_node *node, int32_t n_in)
{
    int64_t n_x = 0, n_z = 0, n_y = 0;
    const kni_onnx_text *x = kni_node_texts(node, "xs", &n_x), *z = kni_node_texts(node, "zs", &n_z),
                        *y = kni_node_texts(node, "y", &n_y);
    if (n_x + n_z != n_in || n_y != 1 || node->n_out < 1 || node->n_out > n_x) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "%d operands and %d results for %lld names", n_in, node->n_out,
                         (long long)(n_x + n_z));
        return;
    }
    g->given = kni_convert_memory(c, (size_t)n_in, sizeof *g->given);
    for (int32_t i = 0; i < n_in && !c->status; i++)
        g->given[i] = value_named(c, g->graph, i < n_x ? &x[i] : &z[i - n_x]);
    g->n_given = n_in;
    g->n_x = (int32_t)n_x;
    if (!c->status) g->y = value_named(c, g->graph, y);
}

/* Marks the nodes that lead from what is given to y: nodes are in order, so one walk from the last to the first does. */
static void mark_needed(kni_conversion *c, gradient *g)
{
    bool *read = kni_convert_memory(c, (size_t)c->plan->model->n_values, sizeof *read);
    g->needed = kni_convert_memory(c, (size_t)g->graph->n_nodes + 1, sizeof *g->needed);
    if (c->status) return;
    read[g->y] = true;
    for (int32_t i = g->graph->n_nodes - 1; i >= 0; i--) {
        const kni_onnx_node *node = &g->graph->nodes[i];
        for (int32_t k = 0; k < node->n_out; k++)
            if (node->out[k] >= 0 && read[node->out[k]] && !is_given(g, node->out[k])) g->needed[i] = true;
        for (int32_t k = 0; k < node->n_in && g->needed[i]; k++)
            if (node->in[k] >= 0) read[node->in[k]] = true;
    }
}

/* Operands as leaves of a tape. */
static void bind_given(kni_conversion *inner, kni_conversion *outer, const gradient *g, const kni_datum *in,
                       kn_tensor *x, kn_device device)
{
    for (int32_t i = 0; i < g->n_given && !outer->status; i++) {
        kni_entry *e = kni_entry_of(outer, in[i]);
        kn_tensor t = e && e->kind == KNI_IS_TENSOR ? kni_now_on_device(outer, e) : KN_NONE;
        if (!t.bits) {
            kni_convert_fail(outer, KN_ERROR_DTYPE, "operand %d is no tensor", i);
            return;
        }
        t = kn_keep(kn_to(kn_detach(t), device));
        if (i < g->n_x) x[i] = t = kn_require_grad(t);
        kni_bind(inner, g->given[i], kni_now_borrow(inner, t));
    }
}

static void run_needed(kni_conversion *inner, const gradient *g)
{
    for (int32_t i = 0; i < g->graph->n_nodes && !inner->status; i++)
        if (g->needed[i] && !inner->plan->nodes[g->graph->nodes[i].place].folded)
            kni_convert_one(inner, &g->graph->nodes[i]);
}

static void take_gradients(kni_conversion *outer, kni_conversion *inner, const gradient *g,
                           const kn_tensor *x, kni_datum *out, int32_t n_out)
{
    kni_entry *e = kni_entry_of(inner, kni_bound(inner, g->y));
    kn_tensor y = e && e->kind == KNI_IS_TENSOR ? kni_now_on_device(inner, e) : KN_NONE, ones = KN_NONE;
    kn_tensor *dx = kni_convert_memory(outer, (size_t)g->n_x, sizeof *dx);
    if (!y.bits) kni_convert_fail(outer, KN_ERROR_DTYPE, "the value to differentiate is no tensor");
    if (outer->status) return;
    ones = kn_keep(kn_ones_like(y));
    kn_status s = kn_grad(&y, &ones, 1, x, n_out, KN_GRAD_ALLOW_UNUSED, dx);
    if (s) kni_convert_fail(outer, s, "%s", kni_failure_taken());
    kni_now *now = outer->state;
    for (int32_t k = 0; k < n_out && !outer->status; k++) {
        kn_tensor d = dx[k].bits ? kn_detach(dx[k]) : kn_zeros_like(x[k]);
        kn_tensor t = kn_keep(kn_to(d, now->device));
        if (!kn_ok(t)) kni_convert_fail(outer, kn_error_code(t), "%s", kni_failure_taken());
        out[k] = kni_now_borrow(outer, t);
    }
}

void kni_now_gradient(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                      kni_datum *out, int32_t n_out)
{
    if (!c->target->now) {
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "gradients are computed only where the model runs at once");
        return;
    }
    gradient g = {.graph = c->plan->model->values[node->out[0]].graph};
    kni_now *outer = c->state, now;
    kni_conversion inner;
    kn_tensor *x = kni_convert_memory(c, (size_t)n_in + 1, sizeof *x);
    if (!c->status) read_names(c, &g, node, n_in);
    if (!c->status) mark_needed(c, &g);
    if (c->status) return;
    bool tapes = kni_device_tapes(outer->device);
    kn_device device = tapes ? outer->device : kn_device_autodiff(outer->device);
    if (!device) {
        kni_convert_fail(c, KN_ERROR_DEVICE, "%s", kni_failure_taken());
        return;
    }
    kn_device_use(device);
    kni_now_start(&now, outer->plan);
    if (kni_conversion_start(&inner, c->plan, &kni_target_now, &now)) {
        inner.max_trips = c->max_trips;
        bind_given(&inner, c, &g, in, x, device);
        if (!c->status) run_needed(&inner, &g);
        if (inner.status) c->status = inner.status;
        if (!c->status) take_gradients(c, &inner, &g, x, out, n_out);
        kni_conversion_end(&inner);
    } else {
        c->status = KN_ERROR_MEMORY;
    }
    kn_device_use(outer->device);
    if (!tapes) kn_device_close(device);
}
