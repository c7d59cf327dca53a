/* kn_onnx_print: the nodes of a model as text. */
#include "onnx/describe.h"
#include "onnx/run/session.h"
#include "support/buffer.h"
#include <string.h>

enum { FEW = 8 }; /* numbers of a list that are shown */

typedef struct printing {
    const kni_onnx *session;
    kni_buffer *text;
} printing;

static void write_values(const printing *p, const int32_t *values, int32_t n)
{
    for (int32_t i = 0; i < n; i++) {
        kni_buffer_text(p->text, i ? ", " : "");
        if (values[i] >= 0)
            kni_onnx_write_name(p->text, p->session->plan.model->values[values[i]].name);
        else
            kni_buffer_text(p->text, "-");
    }
}

static void write_type(const printing *p, const kni_onnx_tensor *t)
{
    kni_buffer_format(p->text, "%s [", kni_onnx_type_name(t->type));
    for (int32_t a = 0; a < t->rank; a++)
        kni_buffer_format(p->text, a ? ", %lld" : "%lld", (long long)t->sizes[a]);
    kni_buffer_text(p->text, "]");
}

static void write_element(const printing *p, const kni_onnx_attribute *a, int64_t i)
{
    switch (a->kind) {
    case KNI_ONNX_ATTRIBUTE_FLOAT:
    case KNI_ONNX_ATTRIBUTE_FLOATS:
        kni_buffer_format(p->text, "%g", (double)a->floats[i]);
        return;
    case KNI_ONNX_ATTRIBUTE_INT:
    case KNI_ONNX_ATTRIBUTE_INTS:
        kni_buffer_decimal(p->text, a->ints[i]);
        return;
    case KNI_ONNX_ATTRIBUTE_STRING:
    case KNI_ONNX_ATTRIBUTE_STRINGS:
        kni_buffer_text(p->text, "\"");
        kni_onnx_write_name(p->text, a->strings[i].data);
        kni_buffer_text(p->text, "\"");
        return;
    case KNI_ONNX_ATTRIBUTE_TENSOR:
    case KNI_ONNX_ATTRIBUTE_TENSORS:
        write_type(p, &a->tensors[i]);
        return;
    default:
        kni_buffer_text(p->text, a->graphs ? "graph" : "...");
    }
}

static void write_attributes(const printing *p, const kni_onnx_node *node)
{
    for (int32_t k = 0; k < node->n_attributes; k++) {
        const kni_onnx_attribute *a = &node->attributes[k];
        bool list = a->kind >= KNI_ONNX_ATTRIBUTE_FLOATS && a->kind != KNI_ONNX_ATTRIBUTE_TYPE;
        kni_buffer_text(p->text, k ? ", " : " {");
        kni_onnx_write_name(p->text, a->name);
        kni_buffer_text(p->text, list ? " = [" : " = ");
        for (int64_t i = 0; i < a->count && i < FEW; i++) {
            if (i) kni_buffer_text(p->text, ", ");
            write_element(p, a, i);
        }
        if (a->count > FEW) kni_buffer_format(p->text, ", ... %lld in all", (long long)a->count);
        if (list) kni_buffer_text(p->text, "]");
    }
    if (node->n_attributes) kni_buffer_text(p->text, "}");
}

static void write_graph(const printing *p, const kni_onnx_graph *graph, int depth);

static void write_node(const printing *p, const kni_onnx_node *node, int depth)
{
    kni_buffer_format(p->text, "%*s", 2 * depth, "");
    write_values(p, node->out, node->n_out);
    kni_buffer_text(p->text, " = ");
    if (*node->domain) {
        kni_onnx_write_name(p->text, node->domain);
        kni_buffer_text(p->text, ".");
    }
    kni_onnx_write_name(p->text, node->op);
    kni_buffer_text(p->text, "(");
    write_values(p, node->in, node->n_in);
    kni_buffer_text(p->text, ")");
    write_attributes(p, node);
    kni_buffer_text(p->text,
                    p->session->plan.nodes[node->place].folded ? "  # computed when loaded\n" : "\n");
    for (int32_t k = 0; k < node->n_attributes; k++)
        for (int64_t g = 0; node->attributes[k].graphs && g < node->attributes[k].count; g++) {
            kni_buffer_format(p->text, "%*s", 2 * depth + 2, "");
            kni_onnx_write_name(p->text, node->attributes[k].name);
            write_graph(p, node->attributes[k].graphs[g], depth + 2);
        }
}

/* The reader bounds how deep graphs lie in each other. */
static void write_graph(const printing *p, const kni_onnx_graph *graph, int depth)
{
    kni_buffer_text(p->text, "(");
    write_values(p, graph->inputs, graph->n_inputs);
    kni_buffer_text(p->text, ") -> (");
    write_values(p, graph->outputs, graph->n_outputs);
    kni_buffer_text(p->text, "):\n");
    for (int32_t i = 0; i < graph->n_nodes; i++) write_node(p, &graph->nodes[i], depth);
}

size_t kn_onnx_print(kn_onnx model, char *buffer, size_t bytes)
{
    if (buffer && bytes) *buffer = 0;
    KNI_USE(onnx, session, model);
    if (!session) return 0;
    kni_buffer text = {0};
    printing p = {session, &text};
    kni_buffer_text(&text, "model ");
    write_graph(&p, session->plan.model->graph, 1);
    size_t n = kni_buffer_copy(&text, buffer, bytes);
    kni_buffer_free(&text);
    return n;
}
