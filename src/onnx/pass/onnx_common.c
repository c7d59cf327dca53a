/* Computes once what is computed twice: the same operator with the same attributes on the same values, in one graph; constants of the same
   elements count as the same. */
#include "onnx/convert.h"
#include "onnx/pass/graph_edit.h"
#include "onnx/run/custom_operator.h"
#include <stdlib.h>
#include <string.h>

enum { SMALL = 1 << 10 };

static uint32_t mix(uint32_t h, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++) h = (h ^ at[i]) * 16777619U;
    return h;
}

/* Attributes may stand in any order. */
static uint32_t hash_attributes(const kni_onnx_node *node)
{
    uint32_t sum = 0;
    for (int32_t k = 0; k < node->n_attributes; k++) {
        const kni_onnx_attribute *a = &node->attributes[k];
        uint32_t h = mix(2166136261U, a->name, strlen(a->name));
        if (a->ints && a->count < SMALL) h = mix(h, a->ints, (size_t)a->count * sizeof *a->ints);
        if (a->floats && a->count < SMALL) h = mix(h, a->floats, (size_t)a->count * sizeof *a->floats);
        if (a->strings && a->count > 0) h = mix(h, a->strings[0].data, a->strings[0].bytes);
        if (a->tensors && a->count > 0 && a->tensors[0].data && a->tensors[0].bytes <= SMALL)
            h = mix(h, a->tensors[0].data, a->tensors[0].bytes);
        sum += h;
    }
    return sum;
}

static uint32_t hash_node(const kni_edit *p, const kni_onnx_node *node)
{
    uint32_t h = mix(2166136261U, node->op, strlen(node->op)) + hash_attributes(node);
    for (int32_t k = 0; k < node->n_in; k++) {
        int32_t value = kni_edit_now(p, node->in[k]);
        h = mix(h, &value, sizeof value);
    }
    return h ^ h >> 15;
}

/* ---- sameness */

static bool same_tensor(const kni_onnx_tensor *a, const kni_onnx_tensor *b)
{
    if (a == b) return true;
    if (a->type != b->type || a->rank != b->rank || a->bytes != b->bytes || a->bytes > SMALL) return false;
    if (a->type == KNI_ONNX_STRING || a->count != b->count) return false;
    if (a->rank && memcmp(a->sizes, b->sizes, sizeof *a->sizes * (size_t)a->rank) != 0) return false;
    return !a->bytes || !memcmp(a->data, b->data, a->bytes);
}

static bool same_bytes(const void *a, const void *b, int64_t count, size_t size)
{
    if (!a || !b) return !a && !b;
    return a == b || !memcmp(a, b, (size_t)count * size);
}

static bool same_attribute(const kni_onnx_attribute *a, const kni_onnx_attribute *b)
{
    if (a->kind != b->kind || a->count != b->count || a->graphs || b->graphs || a->types || b->types)
        return false;
    if (!same_bytes(a->floats, b->floats, a->count, sizeof *a->floats)) return false;
    if (!same_bytes(a->ints, b->ints, a->count, sizeof *a->ints)) return false;
    if (!a->strings != !b->strings || !a->tensors != !b->tensors) return false;
    for (int64_t i = 0; a->strings && i < a->count; i++)
        if (a->strings[i].bytes != b->strings[i].bytes ||
            memcmp(a->strings[i].data, b->strings[i].data, a->strings[i].bytes) != 0)
            return false;
    for (int64_t i = 0; a->tensors && i < a->count; i++)
        if (!same_tensor(&a->tensors[i], &b->tensors[i])) return false;
    return true;
}

static bool same_node(const kni_edit *p, const kni_onnx_node *a, const kni_onnx_node *b)
{
    if (strcmp(a->op, b->op) != 0 || strcmp(a->domain, b->domain) != 0 || a->version != b->version)
        return false;
    if (a->n_in != b->n_in || a->n_out != b->n_out || a->n_attributes != b->n_attributes) return false;
    for (int32_t k = 0; k < a->n_in; k++)
        if (kni_edit_now(p, a->in[k]) != kni_edit_now(p, b->in[k])) return false;
    for (int32_t k = 0; k < a->n_out; k++) /* the first must make all that the second does */
        if ((a->out[k] < 0) != (b->out[k] < 0)) return false;
    for (int32_t k = 0; k < a->n_attributes; k++) {
        const kni_onnx_attribute *other = kni_node_attribute(b, a->attributes[k].name);
        if (!other || !same_attribute(&a->attributes[k], other)) return false;
    }
    return true;
}

/* Random operators give something else each time, and those of the user, or that nobody knows, may do anything. */
static bool may_join(const kni_edit *p, const kni_onnx_node *node)
{
    if (!*node->op || kni_onnx_custom_of(node)) return false;
    const kni_onnx_converter *row = kni_onnx_converter_of(node, NULL);
    if (!row || row->flags & (KNI_ONNX_RANDOM | KNI_ONNX_INNER)) return false;
    for (int32_t k = 0; k < node->n_out; k++)
        if (node->out[k] >= 0 && p->given[node->out[k]]) return false;
    for (int32_t k = 0; k < node->n_attributes; k++)
        if (node->attributes[k].graphs) return false;
    return true;
}

/* ---- the pass. A table of places by hash, of a power of two. */

typedef struct table {
    int32_t *slots; /* -1: empty */
    uint32_t mask;
} table;

static bool table_for(kni_edit *p, table *t, int32_t count)
{
    uint32_t room = 16;
    while (room < 2 * (uint32_t)count) room *= 2;
    t->mask = room - 1;
    t->slots = malloc(sizeof *t->slots * room);
    if (!t->slots) {
        p->failed = true;
        return false;
    }
    memset(t->slots, 0xff, sizeof *t->slots * room);
    return true;
}

static void join_nodes(kni_edit *p, kni_onnx_graph *graph)
{
    table t;
    if (p->failed || !table_for(p, &t, graph->n_nodes)) return;
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        kni_onnx_node *node = &graph->nodes[i];
        if (!may_join(p, node)) continue;
        uint32_t at = hash_node(p, node) & t.mask;
        while (t.slots[at] >= 0 && !same_node(p, &graph->nodes[t.slots[at]], node)) at = (at + 1) & t.mask;
        if (t.slots[at] < 0) {
            t.slots[at] = i;
            continue;
        }
        const kni_onnx_node *first = &graph->nodes[t.slots[at]];
        for (int32_t k = 0; k < node->n_out; k++)
            if (node->out[k] >= 0 && p->uses[node->out[k]]) kni_edit_forward(p, node->out[k], first->out[k]);
    }
    free(t.slots);
}

/* Weights that are equal now need not be so after training. */
static bool may_be_weight(const kni_onnx_tensor *t)
{
    bool real = t->type == KNI_ONNX_FLOAT || t->type == KNI_ONNX_DOUBLE || t->type == KNI_ONNX_FLOAT16 ||
                t->type == KNI_ONNX_BFLOAT16;
    return real && t->count > 1;
}

/* Constants of one graph; others may be read where this graph's are not there. */
static void join_constants(kni_edit *p)
{
    const kni_onnx_model *model = p->model;
    table t;
    if (!table_for(p, &t, model->n_values)) return;
    for (int32_t v = 0; v < model->n_values && !p->failed; v++) {
        const kni_onnx_tensor *tensor = kni_edit_constant(p, v);
        if (!tensor || may_be_weight(tensor) || tensor->bytes > SMALL || tensor->type == KNI_ONNX_STRING ||
            p->given[v] || !p->uses[v])
            continue;
        uint32_t at = mix(2166136261U, tensor->data, tensor->bytes);
        at = (at ^ at >> 15) & t.mask;
        for (; t.slots[at] >= 0; at = (at + 1) & t.mask) {
            const kni_onnx_value *other = &model->values[t.slots[at]];
            if (other->graph == model->values[v].graph && same_tensor(other->initializer, tensor)) break;
        }
        if (t.slots[at] < 0)
            t.slots[at] = v;
        else
            kni_edit_forward(p, v, t.slots[at]);
    }
    free(t.slots);
}

void kni_edit_common(kni_edit *p)
{
    join_constants(p);
    kni_edit_each_graph(p, join_nodes);
}
