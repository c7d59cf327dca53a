/* What holds of every ONNX model that the reader gives, whatever the file was: numbers lead to what they should, values are made before
   they are read, and all bytes can be read. */
#ifndef ONNX_SOUND_H
#define ONNX_SOUND_H

#include "onnx/model.h"
#include <string.h>

/* The first thing that does not hold; NULL: all does. */
typedef struct onnx_sound {
    const kni_onnx_model *model;
    const char *wrong;
    int32_t nodes;
    size_t touched;
} onnx_sound;

static inline void sound_that(onnx_sound *s, bool good, const char *what)
{
    if (!good && !s->wrong) s->wrong = what;
}

static inline void sound_bytes(onnx_sound *s, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    for (size_t i = 0; i < bytes; i++) s->touched += p[i];
}

static inline void sound_tensor(onnx_sound *s, const kni_onnx_tensor *t)
{
    int64_t count = 1;
    sound_that(s, t->rank >= 0 && t->rank <= KN_MAX_RANK, "the rank of a tensor");
    sound_that(s, t->type > KNI_ONNX_UNDEFINED && t->type < KNI_ONNX_TYPE_COUNT, "the type of a tensor");
    for (int32_t i = 0; i < t->rank; i++) {
        sound_that(s, t->sizes[i] >= 0, "a size of a tensor");
        if (t->sizes[i] == 0) count = 0;
    }
    for (int32_t i = 0; i < t->rank && count; i++) count *= t->sizes[i];
    sound_that(s, count == t->count, "the count of a tensor");
    sound_that(s, t->name != NULL && t->data != NULL, "a tensor's pointers");
    for (int64_t i = 0; t->type == KNI_ONNX_STRING && i < t->count; i++) {
        sound_bytes(s, t->strings[i].data, t->strings[i].bytes);
        sound_that(s, !t->strings[i].data[t->strings[i].bytes], "the end of a string");
    }
    sound_bytes(s, t->data, t->bytes);
    for (size_t i = 0; t->type == KNI_ONNX_BOOL && i < t->bytes; i++)
        sound_that(s, ((const unsigned char *)t->data)[i] <= 1, "a truth");
}

static inline void sound_declared(onnx_sound *s, const kni_onnx_declared *d)
{
    for (; d; d = d->inner) {
        sound_that(s, d->rank >= -1 && d->rank <= KN_MAX_RANK, "the rank of a declaration");
        for (int32_t i = 0; i < d->rank; i++) {
            sound_that(s, d->dims[i].value >= -1, "a declared size");
            if (d->dims[i].name) s->touched += strlen(d->dims[i].name);
        }
    }
}

/* Whether `outer` is the graph or around it. */
static inline bool sound_around(const kni_onnx_graph *graph, const kni_onnx_graph *outer)
{
    for (; graph; graph = graph->parent)
        if (graph == outer) return true;
    return false;
}

static inline const kni_onnx_value *sound_value(onnx_sound *s, int32_t number)
{
    bool good = number >= 0 && number < s->model->n_values;
    sound_that(s, good, "the number of a value");
    return good ? &s->model->values[number] : NULL;
}

/* A value that a node of the graph at `place` reads (place: how many nodes are before). */
static inline void sound_read(onnx_sound *s, const kni_onnx_graph *graph, int32_t number,
                              const int32_t *places)
{
    const kni_onnx_value *v = sound_value(s, number);
    if (!v) return;
    sound_that(s, sound_around(graph, v->graph), "the graph of a value that is read");
    for (; graph && graph != v->graph; graph = graph->parent) places--;
    sound_that(s, v->node < *places, "a value is read before it is made");
}

enum { SOUND_DEPTH = 128 };

static inline void sound_graph(onnx_sound *s, const kni_onnx_graph *g, const kni_onnx_graph *parent,
                               int32_t *places);

static inline void sound_attribute(onnx_sound *s, const kni_onnx_graph *g, const kni_onnx_attribute *a,
                                   int32_t *places)
{
    sound_that(s, *a->name && a->kind >= 1 && a->kind <= 14, "an attribute");
    for (int64_t i = 0; i < a->count; i++) {
        if (a->floats) sound_bytes(s, &a->floats[i], sizeof *a->floats);
        if (a->ints) s->touched += (size_t)a->ints[i];
        if (a->strings) sound_bytes(s, a->strings[i].data, a->strings[i].bytes + 1);
        if (a->tensors) sound_tensor(s, &a->tensors[i]);
        if (a->types) sound_declared(s, &a->types[i]);
        if (a->graphs) sound_graph(s, a->graphs[i], g, places);
    }
    sound_that(s, !a->count || a->floats || a->ints || a->strings || a->tensors || a->types || a->graphs,
               "the content of an attribute");
}

static inline void sound_node(onnx_sound *s, const kni_onnx_graph *g, int32_t i, int32_t *places)
{
    const kni_onnx_node *n = &g->nodes[i];
    sound_that(s, n->place == s->nodes++, "the place of a node");
    sound_that(s, *n->op && *n->name && strcmp(n->domain, "ai.onnx"), "the names of a node");
    *places = i;
    for (int32_t k = 0; k < n->n_in; k++)
        if (n->in[k] != -1) sound_read(s, g, n->in[k], places);
    for (int32_t k = 0; k < n->n_attributes; k++) sound_attribute(s, g, &n->attributes[k], places);
    for (int32_t k = 0; k < n->n_out; k++) {
        const kni_onnx_value *v = n->out[k] == -1 ? NULL : sound_value(s, n->out[k]);
        sound_that(s, !v || (v->graph == g && v->node == i), "the node of a value");
    }
}

static inline void sound_graph(onnx_sound *s, const kni_onnx_graph *g, const kni_onnx_graph *parent,
                               int32_t *places)
{
    sound_that(s, g->parent == parent, "the graph around a graph");
    places++;
    for (int32_t i = 0; i < g->n_inputs; i++) {
        const kni_onnx_value *v = sound_value(s, g->inputs[i]);
        sound_that(s, v && v->graph == g && v->node == -1 && !v->initializer, "an input");
    }
    for (int32_t i = 0; i < g->n_initializers; i++) {
        const kni_onnx_value *v = sound_value(s, g->initializers[i]);
        sound_that(s, v && v->graph == g && v->node == -1 && v->initializer, "an initializer");
        if (v && v->initializer) sound_tensor(s, v->initializer);
    }
    for (int32_t i = 0; i < g->n_nodes && !s->wrong; i++) sound_node(s, g, i, places);
    *places = g->n_nodes;
    for (int32_t i = 0; i < g->n_outputs; i++) sound_read(s, g, g->outputs[i], places);
}

/* NULL, or what is wrong with a model. */
static inline const char *onnx_sound_fault(const kni_onnx_model *model)
{
    onnx_sound s = {model, NULL, 0, 0};
    int32_t places[SOUND_DEPTH] = {0};
    sound_graph(&s, model->graph, NULL, places);
    sound_that(&s, s.nodes == model->n_nodes, "the number of nodes");
    for (int32_t i = 0; i < model->n_values && !s.wrong; i++) {
        s.touched += strlen(model->values[i].name);
        sound_that(&s, model->values[i].node >= -1, "a value that nothing makes");
        sound_declared(&s, model->values[i].declared);
    }
    for (int32_t i = 0; i < 2 * model->n_metadata; i++) s.touched += strlen(model->metadata[i]);
    volatile size_t kept = s.touched; /* so that all was read */
    (void)kept;
    return s.wrong;
}

#endif
