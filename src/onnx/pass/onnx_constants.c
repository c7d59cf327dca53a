/* Constant nodes become initializers, so that the passes behind see one kind of constants. */
#include "onnx/pass/graph_edit.h"

/* A tensor of numbers in an attribute: a list, or a single one of rank 0. */
static kni_onnx_tensor *tensor_of(kni_edit *p, const kni_onnx_attribute *a, bool list)
{
    kni_onnx_tensor *t = kni_edit_memory(p, 1, sizeof *t);
    int64_t *size = kni_edit_memory(p, 1, sizeof *size);
    if (!t || !size) return NULL;
    *size = a->count;
    *t = (kni_onnx_tensor){.name = "", .rank = list, .sizes = size, .count = a->count};
    if (a->floats) {
        t->type = KNI_ONNX_FLOAT;
        t->data = a->floats;
        t->bytes = (size_t)a->count * sizeof *a->floats;
    } else if (a->ints) {
        t->type = KNI_ONNX_INT64;
        t->data = a->ints;
        t->bytes = (size_t)a->count * sizeof *a->ints;
    } else {
        return NULL;
    }
    return t;
}

/* Strings stay nodes, and so do results of graphs, which are looked for among what nodes make. */
static const kni_onnx_tensor *content_of(kni_edit *p, const kni_onnx_node *node)
{
    const kni_onnx_attribute *a = node->n_attributes == 1 ? &node->attributes[0] : NULL;
    if (!a) return NULL;
    switch (a->kind) {
    case KNI_ONNX_ATTRIBUTE_TENSOR:
        return a->count == 1 && a->tensors->type != KNI_ONNX_STRING ? a->tensors : NULL;
    case KNI_ONNX_ATTRIBUTE_FLOAT:
    case KNI_ONNX_ATTRIBUTE_INT:
        return tensor_of(p, a, false);
    case KNI_ONNX_ATTRIBUTE_FLOATS:
    case KNI_ONNX_ATTRIBUTE_INTS:
        return tensor_of(p, a, true);
    default:
        return NULL;
    }
}

static void visit(kni_edit *p, kni_onnx_node *node)
{
    if (!kni_edit_is(node, "Constant") || node->n_out != 1 || node->out[0] < 0 || p->given[node->out[0]])
        return;
    const kni_onnx_tensor *t = content_of(p, node);
    if (!t || kni_onnx_dtype(t->type) == KN_DTYPE_NONE) return;
    kni_onnx_value *value = &p->model->values[node->out[0]];
    value->initializer = t;
    value->node = -1;
    value->literal = true;
    kni_edit_remove(p, node);
    p->changes++;
}

void kni_edit_constants(kni_edit *p) { kni_edit_each(p, visit); }
