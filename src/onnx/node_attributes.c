/* Attributes of a node by name. */
#include "onnx/model.h"
#include <string.h>

const kni_onnx_attribute *kni_node_attribute(const kni_onnx_node *node, const char *name)
{
    for (int32_t i = 0; i < node->n_attributes; i++)
        if (!strcmp(node->attributes[i].name, name)) return &node->attributes[i];
    return NULL;
}

/* NULL where it is of none of the two kinds. */
static const kni_onnx_attribute *of_kind(const kni_onnx_node *node, const char *name, int32_t one,
                                         int32_t list)
{
    const kni_onnx_attribute *a = kni_node_attribute(node, name);
    return a && (a->kind == one || a->kind == list) ? a : NULL;
}

int64_t kni_node_int(const kni_onnx_node *node, const char *name, int64_t otherwise)
{
    const kni_onnx_attribute *a = of_kind(node, name, KNI_ONNX_ATTRIBUTE_INT, 0);
    return a ? a->ints[0] : otherwise;
}

double kni_node_real(const kni_onnx_node *node, const char *name, double otherwise)
{
    const kni_onnx_attribute *a = of_kind(node, name, KNI_ONNX_ATTRIBUTE_FLOAT, 0);
    return a ? (double)a->floats[0] : otherwise;
}

const char *kni_node_text(const kni_onnx_node *node, const char *name, const char *otherwise)
{
    const kni_onnx_attribute *a = of_kind(node, name, KNI_ONNX_ATTRIBUTE_STRING, 0);
    return a ? a->strings[0].data : otherwise;
}

const int64_t *kni_node_ints(const kni_onnx_node *node, const char *name, int64_t *count)
{
    const kni_onnx_attribute *a = of_kind(node, name, KNI_ONNX_ATTRIBUTE_INTS, KNI_ONNX_ATTRIBUTE_INT);
    *count = a ? a->count : 0;
    return a ? a->ints : NULL;
}

const float *kni_node_reals(const kni_onnx_node *node, const char *name, int64_t *count)
{
    const kni_onnx_attribute *a = of_kind(node, name, KNI_ONNX_ATTRIBUTE_FLOATS, KNI_ONNX_ATTRIBUTE_FLOAT);
    *count = a ? a->count : 0;
    return a ? a->floats : NULL;
}

const kni_onnx_text *kni_node_texts(const kni_onnx_node *node, const char *name, int64_t *count)
{
    const kni_onnx_attribute *a = of_kind(node, name, KNI_ONNX_ATTRIBUTE_STRINGS, KNI_ONNX_ATTRIBUTE_STRING);
    *count = a ? a->count : 0;
    return a ? a->strings : NULL;
}

const kni_onnx_tensor *kni_node_tensor(const kni_onnx_node *node, const char *name)
{
    const kni_onnx_attribute *a = of_kind(node, name, KNI_ONNX_ATTRIBUTE_TENSOR, 0);
    return a ? a->tensors : NULL;
}

kni_onnx_graph *kni_node_graph(const kni_onnx_node *node, const char *name)
{
    const kni_onnx_attribute *a = of_kind(node, name, KNI_ONNX_ATTRIBUTE_GRAPH, 0);
    return a ? a->graphs[0] : NULL;
}
