/* Functions of the model are put in place of their calls: each call with values of its own, and with the call's attributes where the
   function's nodes refer to them. */
#include "onnx/read/linker.h"
#include <string.h>

/* ---- which function */

static bool is_function(const kni_raw_function *f, const kni_raw_node *node)
{
    return !strcmp(f->name, node->op) && !strcmp(f->domain, node->domain) &&
           !strcmp(f->overload, node->overload);
}

/* What the table knows a function by; NULL without memory. */
static char *key_of(kni_linker *l, const char *op, const char *domain, const char *overload)
{
    return kni_onnx_arena_format(l->r->scratch, "%s\x1f%s\x1f%s", op, domain, overload);
}

kn_status kni_link_function(kni_linker *l, const kni_raw_node *node, const kni_raw_function **function)
{
    *function = NULL;
    if (!l->raw->n_functions) return KN_OK;
    kni_onnx_arena_mark mark = kni_onnx_arena_now(l->r->scratch);
    const char *key = key_of(l, node->op, node->domain, node->overload);
    if (!key) return kni_reader_memory(l->r);
    int32_t i = kni_name_table_find(&l->functions, key);
    kni_onnx_arena_back(l->r->scratch, mark);
    if (i >= 0 && is_function(&l->raw->functions[i], node)) *function = &l->raw->functions[i];
    return KN_OK;
}

kn_status kni_link_functions(kni_linker *l)
{
    if (!kni_name_table_make(&l->functions, l->r->scratch, (size_t)l->raw->n_functions))
        return kni_reader_memory(l->r);
    for (int32_t i = 0; i < l->raw->n_functions; i++) {
        const kni_raw_function *f = &l->raw->functions[i];
        const char *key = key_of(l, f->name, f->domain, f->overload);
        if (!key) return kni_reader_memory(l->r);
        int32_t *place = kni_name_table_put(&l->functions, key);
        if (*place >= 0)
            return kni_reader_damaged(l->r, "function '%s' of domain '%s' is defined a second time", f->name,
                                      f->domain);
        *place = i;
    }
    return KN_OK;
}

/* ---- attributes */

/* What a node of a function means by a name: the call's attribute, or the function's default; NULL: neither has it. */
static const kni_link_attribute *meant(const kni_link_call *call, const char *name, kni_link_attribute *room)
{
    for (int32_t i = 0; i < call->n_attributes; i++)
        if (!strcmp(call->attributes[i].name, name)) return &call->attributes[i];
    for (int32_t i = 0; i < call->function->n_defaults; i++) {
        const kni_raw_attribute *raw = &call->function->defaults[i];
        if (strcmp(raw->read.name, name) || *raw->reference) continue;
        *room = (kni_link_attribute){name, raw, NULL};
        return room;
    }
    return NULL;
}

static kn_status follow(kni_linker *l, const kni_link_scope *scope, const kni_raw_attribute *raw,
                        kni_link_attribute *out, bool *found)
{
    kni_link_attribute room;
    *found = true;
    *out = (kni_link_attribute){raw->read.name, raw, scope};
    if (!*raw->reference) return KN_OK;
    if (!scope->call)
        return kni_reader_damaged(l->r, "attribute '%s' refers to '%s' of a function, but is in none",
                                  raw->read.name, raw->reference);
    kn_status status = kni_link_charge(l, scope->call->n_attributes + scope->call->function->n_defaults);
    const kni_link_attribute *target = meant(scope->call, raw->reference, &room);
    *found = target != NULL;
    if (status || !target) return status;
    if (raw->read.kind && raw->read.kind != target->raw->read.kind)
        return kni_reader_damaged(l->r,
                                  "attribute '%s' of function '%s' is of another kind where it is called",
                                  raw->reference, scope->call->function->name);
    out->raw = target->raw;
    if (target->scope) out->scope = target->scope;
    return KN_OK;
}

kn_status kni_link_attributes(kni_linker *l, const kni_link_scope *scope, const kni_raw_node *node,
                              kni_link_attribute **attributes, int32_t *count)
{
    kn_status status = KN_OK;
    kni_link_attribute *list = kni_onnx_arena_take(l->r->scratch, (size_t)node->n_attributes, sizeof *list);
    if (!list) return kni_reader_memory(l->r);
    *attributes = list;
    *count = 0;
    for (int32_t i = 0; i < node->n_attributes && !status; i++) {
        bool found;
        status = follow(l, scope, &node->attributes[i], &list[*count], &found);
        *count += found;
    }
    return status;
}

/* ---- calls */

static kn_status check_call(kni_linker *l, const kni_link_scope *scope, const kni_raw_node *node,
                            const kni_raw_function *f)
{
    for (const kni_link_call *c = scope->call; c; c = c->outer)
        if (c->function == f) return kni_reader_damaged(l->r, "function '%s' calls itself", f->name);
    if (node->n_in > f->n_inputs || node->n_out > f->n_outputs)
        return kni_reader_damaged(l->r, "it has %d inputs and %d outputs, but function '%s' has %d and %d",
                                  (int)node->n_in, (int)node->n_out, f->name, (int)f->n_inputs,
                                  (int)f->n_outputs);
    return KN_OK;
}

/* Arguments by the names of the function's inputs; -1 for those that the call leaves out. */
static kn_status bind_inputs(kni_linker *l, const kni_link_scope *scope, kni_graph_builder *b,
                             const kni_raw_node *node, const kni_raw_function *f, kni_link_scope *inner)
{
    kn_status status = KN_OK;
    for (int32_t i = 0; i < f->n_inputs && !status; i++) {
        int32_t number = -1;
        if (i < node->n_in) status = kni_link_read(l, scope, b, node->in[i], &number);
        if (!status) status = kni_link_define(l, inner, f->inputs[i], number);
    }
    return status;
}

/* What the call's outputs are, by the names of the function's. */
static kn_status bind_outputs(kni_linker *l, const kni_link_scope *scope, const kni_raw_node *node,
                              const kni_raw_function *f, kni_name_table *given)
{
    if (!kni_name_table_make(given, l->r->scratch, (size_t)f->n_outputs)) return kni_reader_memory(l->r);
    for (int32_t i = 0; i < node->n_out; i++) {
        if (!*node->out[i]) continue;
        int32_t *place = kni_name_table_put(given, f->outputs[i]);
        if (*place < 0) *place = kni_name_table_find(&scope->names, node->out[i]);
    }
    return KN_OK;
}

/* An output that is an input of the function, or comes twice, is a copy. */
static kn_status copy_value(kni_linker *l, kni_graph_builder *b, const kni_link_call *call, int32_t version,
                            int32_t from, int32_t to)
{
    int32_t *ends = kni_onnx_arena_take(l->r->keep, 2, sizeof *ends);
    if (!ends) return kni_reader_memory(l->r);
    ends[0] = from;
    ends[1] = to;
    kni_onnx_node node = {"Identity", "", call->name, version, ends, ends + 1, 1, 1, NULL, 0, 0};
    kni_link_value(l, to)->node = b->nodes.count;
    return kni_link_add_node(l, b, &node);
}

static kn_status finish_outputs(kni_linker *l, const kni_link_scope *scope, const kni_link_scope *inner,
                                kni_graph_builder *b, const kni_raw_node *node)
{
    const kni_raw_function *f = inner->call->function;
    kn_status status = KN_OK;
    for (int32_t i = 0; i < node->n_out && !status; i++) {
        int32_t from, to = *node->out[i] ? kni_name_table_find(&scope->names, node->out[i]) : -1;
        if (to < 0) continue;
        status = kni_link_read(l, inner, b, f->outputs[i], &from);
        if (!status && from < 0)
            status = kni_reader_damaged(l->r, "function '%s' gives back '%s', which the call leaves out",
                                        f->name, f->outputs[i]);
        if (!status && from != to)
            status = copy_value(l, b, inner->call, kni_link_version(scope, ""), from, to);
    }
    return status;
}

static kn_status put_nodes(kni_linker *l, const kni_link_scope *scope, kni_graph_builder *b,
                           const kni_raw_node *node, kni_link_scope *inner)
{
    const kni_raw_function *f = inner->call->function;
    kni_name_table given;
    size_t outputs = kni_link_outputs(f->nodes, f->n_nodes), names = outputs + (size_t)f->n_inputs;
    kn_status status =
        kni_link_charge(l, (int64_t)names + f->n_outputs + f->n_values + node->n_attributes + 1);
    if (!status && !kni_name_table_make(&inner->names, l->r->scratch, names))
        status = kni_reader_memory(l->r);
    if (!status) status = bind_inputs(l, scope, b, node, f, inner);
    if (!status) status = bind_outputs(l, scope, node, f, &given);
    if (!status) status = kni_link_define_outputs(l, inner, b->graph, f->nodes, f->n_nodes, &given);
    if (status) return status;
    kni_link_declare(l, inner, f->values, f->n_values);
    status = kni_link_nodes(l, inner, b, f->nodes, f->n_nodes);
    return status ? status : finish_outputs(l, scope, inner, b, node);
}

kn_status kni_link_inline(kni_linker *l, const kni_link_scope *scope, kni_graph_builder *b,
                          const kni_raw_node *node, const kni_raw_function *f)
{
    const char *outer = scope->call ? scope->call->name : "";
    kni_link_attribute *attributes;
    int32_t n;
    kn_status status = check_call(l, scope, node, f);
    if (!status) status = kni_link_attributes(l, scope, node, &attributes, &n);
    if (!status) status = kni_link_enter(l);
    if (status) return status;
    kni_link_call call = {scope->call, f, *node->name ? node->name : outer, attributes, n};
    if (*outer && *node->name) call.name = kni_onnx_arena_format(l->r->keep, "%s/%s", outer, node->name);
    kni_link_scope inner = {NULL,
                            {0},
                            &call,
                            f->n_opsets ? f->opsets : scope->opsets,
                            f->n_opsets ? f->n_opsets : scope->n_opsets};
    kni_reader_place place = {l->r->place, "function", f->name};
    l->r->place = &place;
    l->calls++;
    status = call.name ? put_nodes(l, scope, b, node, &inner) : kni_reader_memory(l->r);
    l->calls--;
    l->depth--;
    l->r->place = place.outer;
    return status;
}
