/* Values get numbers, and names lead to them through the scopes around. */
#include "onnx/read/linker.h"
#include <string.h>

/* More than any model that people run has. */
enum { MAX_MADE_BY_CALLS = 1 << 22 };

void *kni_link_add(kni_linker *l, kni_link_list *list, size_t size)
{
    if (list->count == list->capacity) {
        int32_t capacity = list->capacity ? list->capacity * 2 : 16;
        void *items = list->capacity > INT32_MAX / 4
                          ? NULL
                          : kni_onnx_arena_take(l->r->scratch, (size_t)capacity, size);
        if (!items) {
            kni_reader_memory(l->r);
            return NULL;
        }
        if (list->count) memcpy(items, list->items, (size_t)list->count * size);
        list->items = items;
        list->capacity = capacity;
    }
    return (char *)list->items + (size_t)list->count++ * size;
}

kn_status kni_link_charge(kni_linker *l, int64_t things)
{
    if (!l->calls) return KN_OK;
    l->made_by_calls += things;
    if (l->made_by_calls <= MAX_MADE_BY_CALLS) return KN_OK;
    return kni_reader_failure(l->r, KN_ERROR_UNSUPPORTED,
                              "the model's functions make more than %d nodes and values", MAX_MADE_BY_CALLS);
}

kn_status kni_link_enter(kni_linker *l)
{
    if (l->depth == KNI_MAX_LINKED)
        return kni_reader_failure(l->r, KN_ERROR_UNSUPPORTED,
                                  "functions and graphs lie in each other more than %d deep", KNI_MAX_LINKED);
    l->depth++;
    return KN_OK;
}

/* ---- values */

int32_t kni_link_new_value(kni_linker *l, const kni_onnx_graph *graph, const char *name, int32_t node)
{
    kni_onnx_value *value = kni_link_add(l, &l->values, sizeof *value);
    if (!value) return -1;
    *value = (kni_onnx_value){.name = name, .graph = graph, .node = node};
    return l->values.count - 1;
}

kn_status kni_link_define(kni_linker *l, kni_link_scope *scope, const char *name, int32_t number)
{
    int32_t before = scope->names.count;
    int32_t *place = kni_name_table_put(&scope->names, name);
    if (scope->names.count == before)
        return kni_reader_damaged(l->r, "value '%s' is defined a second time", name);
    *place = number;
    return KN_OK;
}

size_t kni_link_outputs(const kni_raw_node *nodes, int32_t count)
{
    size_t outputs = 0;
    for (int32_t i = 0; i < count; i++) outputs += (size_t)nodes[i].n_out;
    return outputs;
}

static kn_status define_output(kni_linker *l, kni_link_scope *scope, const kni_onnx_graph *graph,
                               const char *name, const kni_name_table *given)
{
    int32_t number = given ? kni_name_table_find(given, name) : -1;
    if (number < 0) number = kni_link_new_value(l, graph, name, KNI_NODE_PENDING);
    return number < 0 ? KN_ERROR_MEMORY : kni_link_define(l, scope, name, number);
}

kn_status kni_link_define_outputs(kni_linker *l, kni_link_scope *scope, const kni_onnx_graph *graph,
                                  const kni_raw_node *nodes, int32_t count, const kni_name_table *given)
{
    kn_status status = KN_OK;
    for (int32_t i = 0; i < count && !status; i++) {
        kni_reader_place place = {l->r->place, *nodes[i].name ? "node" : "a node of operator",
                                  *nodes[i].name ? nodes[i].name : nodes[i].op};
        l->r->place = &place;
        for (int32_t k = 0; k < nodes[i].n_out && !status; k++)
            if (*nodes[i].out[k]) status = define_output(l, scope, graph, nodes[i].out[k], given);
        l->r->place = place.outer;
    }
    return status;
}

/* ---- reading */

/* The builder of the value's graph is this one or further out, where the graphs of the current node read it. */
static kn_status note_read(kni_linker *l, kni_graph_builder *b, int32_t number)
{
    const kni_onnx_value *value = kni_link_value(l, number);
    if (b->graph == value->graph) {
        b->unordered |= value->node == KNI_NODE_PENDING;
        return KN_OK;
    }
    for (b = b->outer; b && b->graph != value->graph;) b = b->outer;
    if (!b || value->node == -1) return KN_OK;
    kni_link_capture *capture = kni_link_add(l, &b->captures, sizeof *capture);
    if (!capture) return KN_ERROR_MEMORY;
    *capture = (kni_link_capture){b->current, number};
    b->unordered |= value->node == KNI_NODE_PENDING || value->node == b->current;
    return KN_OK;
}

kn_status kni_link_read(kni_linker *l, const kni_link_scope *scope, kni_graph_builder *b, const char *name,
                        int32_t *number)
{
    *number = -1;
    if (!*name) return KN_OK;
    const int32_t *place = NULL;
    for (; scope && !place; scope = scope->outer) place = kni_name_table_at(&scope->names, name);
    if (!place) return kni_reader_damaged(l->r, "value '%s' is read, but nothing makes it", name);
    *number = *place;
    return *number < 0 ? KN_OK : note_read(l, b, *number);
}

/* What is declared of names that the scope does not have says nothing. */
void kni_link_declare(kni_linker *l, const kni_link_scope *scope, const kni_raw_value *values, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        int32_t number = kni_name_table_find(&scope->names, values[i].name);
        if (number < 0 || !values[i].declared || !values[i].declared->kind) continue;
        kni_onnx_value *value = kni_link_value(l, number);
        if (!value->declared) value->declared = values[i].declared;
    }
}
