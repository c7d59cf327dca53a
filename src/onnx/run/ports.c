/* What a model takes and gives. */
#include "onnx/describe.h"
#include "onnx/run/custom_operator.h"
#include "onnx/run/session.h"
#include "support/argument.h"
#include "support/buffer.h"
#include "support/failure.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kn_onnx_kind kind_of(const kni_onnx_declared *declared)
{
    static const uint8_t kinds[] = {
        [KNI_ONNX_UNKNOWN] = KN_ONNX_NOTHING,   [KNI_ONNX_TENSOR] = KN_ONNX_TENSOR,
        [KNI_ONNX_SEQUENCE] = KN_ONNX_SEQUENCE, [KNI_ONNX_OPTIONAL] = KN_ONNX_OPTIONAL,
        [KNI_ONNX_MAP] = KN_ONNX_MAP,           [KNI_ONNX_SPARSE] = KN_ONNX_TENSOR};
    if (!declared) return KN_ONNX_NOTHING;
    if (declared->kind == KNI_ONNX_TENSOR && declared->type == KNI_ONNX_STRING) return KN_ONNX_STRINGS;
    return (kn_onnx_kind)kinds[declared->kind];
}

/* "batch, 3, ?" */
static const char *shape_text(kni_onnx_arena *arena, const kni_onnx_declared *declared)
{
    if (!declared || declared->rank < 0) return "...";
    kni_buffer text = {0};
    for (int32_t a = 0; a < declared->rank; a++) {
        const kni_onnx_dim *dim = &declared->dims[a];
        kni_buffer_text(&text, a ? ", " : "");
        if (dim->value >= 0)
            kni_buffer_decimal(&text, dim->value);
        else
            kni_buffer_text(&text, dim->name ? dim->name : "?");
    }
    const char *copy = text.failed ? NULL : kni_onnx_arena_copy(arena, kni_buffer_string(&text), text.length);
    kni_buffer_free(&text);
    return copy;
}

static bool fill_port(kni_onnx *session, int32_t value, kn_onnx_port *port)
{
    const kni_onnx_value *v = &session->plan.model->values[value];
    const kni_onnx_declared *declared = v->declared;
    kni_onnx_arena *arena = session->plan.model->arena;
    *port = (kn_onnx_port){.name = v->name, .kind = kind_of(declared), .rank = -1};
    port->type = kni_type_text(arena, declared);
    port->shape = shape_text(arena, declared);
    port->has_default = v->initializer != NULL || port->kind == KN_ONNX_OPTIONAL;
    bool is_tensor = port->kind == KN_ONNX_TENSOR || port->kind == KN_ONNX_STRINGS;
    if (is_tensor) port->dtype = kni_onnx_dtype(declared->type);
    if (is_tensor && declared->rank <= KN_MAX_RANK) port->rank = declared->rank;
    for (int32_t a = 0; a < port->rank; a++) {
        port->sizes[a] = declared->dims[a].value;
        port->names[a] = port->sizes[a] < 0 ? declared->dims[a].name : NULL;
    }
    return port->type && port->shape;
}

/* ---- which values are random */

/* Whether training_mode is a constant 0, or is left out. */
static bool never_trains(const kni_onnx_model *model, const kni_onnx_node *node, int32_t at)
{
    if (at >= node->n_in || node->in[at] < 0) return true;
    const kni_onnx_value *mode = &model->values[node->in[at]];
    /* An initializer that is an input too may be something else in a run. */
    for (int32_t i = 0; i < model->graph->n_defaults; i++)
        if (model->graph->inputs[model->graph->n_inputs + i] == node->in[at]) return false;
    const kni_onnx_tensor *t = mode->initializer;
    return t && t->type == KNI_ONNX_BOOL && t->count == 1 && !*(const unsigned char *)t->data;
}

/* Dropout draws nothing outside of training. */
static bool draws(const kni_onnx *session, const kni_onnx_node *node)
{
    const kni_onnx_converter *converter = session->plan.nodes[node->place].converter;
    if (!converter || !(converter->flags & KNI_ONNX_RANDOM)) return false;
    if (kni_onnx_is_custom(converter)) return true;
    if (!strcmp(node->op, "BiasDropout")) return !never_trains(session->plan.model, node, 4);
    if (*node->domain || strcmp(node->op, "Dropout") != 0) return true;
    if (node->version < 7) return !kni_node_int(node, "is_test", 0);
    return node->version >= 12 && !never_trains(session->plan.model, node, 2);
}

/* Marks what nodes of a graph make of random numbers, until nothing is new. */
static void spread(const kni_onnx *session, const kni_onnx_graph *graph, bool *random)
{
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const kni_onnx_node *node = &graph->nodes[i];
        bool is = draws(session, node);
        for (int32_t k = 0; k < node->n_in && !is; k++) is = node->in[k] >= 0 && random[node->in[k]];
        for (int32_t k = 0; k < node->n_attributes; k++)
            for (int64_t g = 0; node->attributes[k].graphs && g < node->attributes[k].count; g++) {
                const kni_onnx_graph *inner = node->attributes[k].graphs[g];
                for (int32_t v = 0; is && v < inner->n_inputs; v++) random[inner->inputs[v]] = true;
                spread(session, inner, random);
                for (int32_t v = 0; v < inner->n_outputs && !is; v++)
                    is = inner->outputs[v] >= 0 && random[inner->outputs[v]];
            }
        for (int32_t k = 0; k < node->n_out && is; k++)
            if (node->out[k] >= 0) random[node->out[k]] = true;
    }
}

static kn_status find_random(kni_onnx *session)
{
    const kni_onnx_model *model = session->plan.model;
    bool *random = calloc((size_t)model->n_values + 1, sizeof *random);
    if (!random) return kni_failure_memory("kn_onnx_load");
    spread(session, model->graph, random);
    for (int32_t k = 0; k < session->n_outputs; k++)
        session->random[k] = model->graph->outputs[k] >= 0 && random[model->graph->outputs[k]];
    free(random);
    return KN_OK;
}

kn_status kni_session_ports(kni_onnx *session)
{
    const kni_onnx_graph *graph = session->plan.model->graph;
    kni_onnx_arena *arena = session->plan.model->arena;
    session->n_inputs = graph->n_inputs + graph->n_defaults;
    session->n_outputs = graph->n_outputs;
    session->inputs = kni_onnx_arena_take(arena, (size_t)session->n_inputs, sizeof *session->inputs);
    session->outputs = kni_onnx_arena_take(arena, (size_t)session->n_outputs, sizeof *session->outputs);
    session->random = kni_onnx_arena_take(arena, (size_t)session->n_outputs, sizeof *session->random);
    bool good = session->inputs && session->outputs && session->random;
    for (int32_t i = 0; i < session->n_inputs && good; i++)
        good = fill_port(session, graph->inputs[i], &session->inputs[i]);
    for (int32_t k = 0; k < session->n_outputs && good; k++)
        good = fill_port(session, graph->outputs[k], &session->outputs[k]);
    return good ? find_random(session) : kni_failure_memory("kn_onnx_load");
}

/* ---- sizes that inputs leave open */

/* Adds the names of all open sizes to a text. */
static void list_sizes(const kni_onnx *session, kni_buffer *text)
{
    for (int32_t i = 0; i < session->n_inputs; i++)
        for (int32_t a = 0; a < session->inputs[i].rank; a++) {
            const kn_onnx_port *port = &session->inputs[i];
            if (port->sizes[a] >= 0) continue;
            kni_buffer_text(text, text->length ? ", " : "");
            if (port->names[a])
                kni_buffer_text(text, port->names[a]);
            else
                kni_buffer_format(text, "%s.%d", port->name, (int)a);
        }
}

static bool has_size(const kni_onnx *session, const char *name)
{
    char own[300];
    for (int32_t i = 0; i < session->n_inputs; i++)
        for (int32_t a = 0; a < session->inputs[i].rank; a++) {
            const kn_onnx_port *port = &session->inputs[i];
            snprintf(own, sizeof own, "%s.%d", port->name, (int)a);
            if (!strcmp(own, name) || (port->names[a] && !strcmp(port->names[a], name))) return true;
        }
    return false;
}

kn_status kni_session_size_check(const kni_onnx *session, const kn_onnx_size *size, const char *function)
{
    const char *name = size->name ? size->name : "(null)";
    if (!size->name || !has_size(session, name)) {
        kni_buffer text = {0};
        list_sizes(session, &text);
        kn_status s =
            kni_failure(KN_ERROR_ARGUMENT,
                        "%s: no input has a size called '%.200s'; INPUT.AXIS names one without a name, and "
                        "open are: %.200s",
                        function, name, text.length ? kni_buffer_string(&text) : "none");
        kni_buffer_free(&text);
        return s;
    }
    if (size->low >= 0 && (size->high == 0 || size->high >= size->low)) return KN_OK;
    return kni_failure(KN_ERROR_ARGUMENT, "%s: size '%.200s' from %lld to %lld is none", function, name,
                       (long long)size->low, (long long)size->high);
}

/* ---- asking */

int32_t kn_onnx_inputs(kn_onnx model)
{
    KNI_USE(onnx, session, model);
    return session ? session->n_inputs : -1;
}

int32_t kn_onnx_outputs(kn_onnx model)
{
    KNI_USE(onnx, session, model);
    return session ? session->n_outputs : -1;
}

static kn_status port_at(const kn_onnx_port *ports, int32_t n, int32_t i, kn_onnx_port *port,
                         const char *function)
{
    if (i < 0 || i >= n) return kni_failure(KN_ERROR_INDEX, "%s: number %d of %d", function, i, n);
    kn_status s = kni_given(port, function, "port");
    if (s == KN_OK) *port = ports[i];
    return s;
}

kn_status kn_onnx_input(kn_onnx model, int32_t i, kn_onnx_port *port)
{
    KNI_USE(onnx, session, model);
    if (!session) return KNI_NO_OBJECT(model);
    return port_at(session->inputs, session->n_inputs, i, port, __func__);
}

kn_status kn_onnx_output(kn_onnx model, int32_t i, kn_onnx_port *port)
{
    KNI_USE(onnx, session, model);
    if (!session) return KNI_NO_OBJECT(model);
    return port_at(session->outputs, session->n_outputs, i, port, __func__);
}

bool kn_onnx_output_is_random(kn_onnx model, int32_t i)
{
    KNI_USE(onnx, session, model);
    return session && i >= 0 && i < session->n_outputs && session->random[i];
}

kn_status kn_onnx_describe(kn_onnx model, kn_onnx_info *info)
{
    KNI_USE(onnx, session, model);
    if (!session) return KNI_NO_OBJECT(model);
    kn_status s = kni_given(info, __func__, "info");
    if (s) return s;
    const kni_onnx_model *m = session->plan.model;
    *info = (kn_onnx_info){.nodes = m->n_nodes, .ir_version = m->ir_version};
    for (int32_t i = 0; i < m->n_nodes; i++) {
        info->folded += session->plan.nodes[i].folded;
        info->unknown += !session->plan.nodes[i].converter;
    }
    for (int32_t v = 0; v < m->n_values; v++) {
        if (!m->values[v].initializer) continue;
        info->weights++;
        info->elements += m->values[v].initializer->count;
    }
    for (int32_t i = 0; i < m->n_opsets; i++)
        if (!m->opsets[i].domain[0]) info->opset = m->opsets[i].version;
    return KN_OK;
}

size_t kn_onnx_inspect(kn_onnx model, char *buffer, size_t bytes)
{
    if (buffer && bytes) *buffer = 0;
    KNI_USE(onnx, session, model);
    kni_buffer text = {0};
    if (!session || kni_onnx_describe(session->plan.model, &text)) return 0;
    kni_exclusive_enter(&session->plan.lock);
    if (session->findings) kni_onnx_findings_write(session->findings, &text);
    kni_exclusive_leave(&session->plan.lock);
    size_t n = kni_buffer_copy(&text, buffer, bytes);
    kni_buffer_free(&text);
    return n;
}
