/* The object: its lists, its end, and what is found out about it. */
#include "core/allocator.h"
#include "program/program_data.h"
#include "support/json.h"
#include <kn/tensor.h>
#include <string.h>

const kni_object_kind kni_kind_program = {"kn_program", "program", "freed", kni_program_destroy};

kni_program *kni_program_new(void)
{
    kni_program *p = kni_allocate(sizeof *p);
    if (!p) return NULL;
    memset(p, 0, sizeof *p);
    p->dims = kni_dims_new();
    if (p->dims && kni_build_region(p, -1, NULL) == 0) return p;
    kni_program_destroy(p);
    return NULL;
}

void kni_region_free(kni_program_region *r)
{
    kni_free(r->nodes, (size_t)r->node_room * sizeof *r->nodes);
    kni_free(r->arguments, (size_t)r->argument_room * sizeof *r->arguments);
    kni_free(r->results, (size_t)r->result_room * sizeof *r->results);
    kni_free(r->bound, (size_t)r->bound_room * sizeof *r->bound);
}

void kni_program_destroy(void *program)
{
    kni_program *p = program;
    if (!p) return;
    for (int32_t i = 0; i < p->n_values; i++) {
        kni_program_value *v = &p->values[i];
        if (v->tensor.bits && !v->live) kn_drop(v->tensor);
        if (v->placed.bits) kn_drop(v->placed);
    }
    for (int32_t i = 0; i < p->n_regions; i++) kni_region_free(&p->regions[i]);
    kni_free(p->values, (size_t)p->value_room * sizeof *p->values);
    kni_free(p->nodes, (size_t)p->node_room * sizeof *p->nodes);
    kni_free(p->regions, (size_t)p->region_room * sizeof *p->regions);
    kni_free(p->operands, (size_t)p->operand_room * sizeof *p->operands);
    kni_free(p->attributes, (size_t)p->attribute_room);
    kni_free(p->names, (size_t)p->name_room);
    kni_free(p->inputs, (size_t)p->n_inputs * sizeof *p->inputs);
    kni_free(p->input_names, (size_t)p->n_inputs * sizeof *p->input_names);
    kni_free(p->output_names, (size_t)p->n_outputs * sizeof *p->output_names);
    kni_dims_free(p->dims);
    kni_free(p, sizeof *p);
}

void kn_program_free(kn_program program) { kni_object_free(program, &kni_kind_program, __func__); }

bool kni_program_room(void **list, int32_t *room, int32_t needed, size_t size)
{
    uint32_t now = (uint32_t)*room;
    if (needed <= *room) return true;
    void *grown = kni_grow(*list, &now, (uint32_t)needed, size);
    if (!grown || now > INT32_MAX) return false;
    *list = grown;
    *room = (int32_t)now;
    return true;
}

int32_t kni_program_name(kni_program *p, const char *name)
{
    size_t bytes = strlen(name) + 1;
    if (bytes > INT32_MAX / 2 || p->n_names > INT32_MAX / 2 ||
        !kni_program_room((void **)&p->names, &p->name_room, p->n_names + (int32_t)bytes, 1))
        return -1;
    memcpy(p->names + p->n_names, name, bytes);
    p->n_names += (int32_t)bytes;
    return p->n_names - (int32_t)bytes;
}

bool kni_is_value_name(const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)name[i] < ' ' || name[i] == 127) return false;
    return n > 0 && n < INT32_MAX / 2 && kni_json_is_text(name, n);
}

void kni_value_inherit(kni_program *p, int32_t value, int32_t from)
{
    kni_program_value *v = &p->values[value];
    bool is_free = v->origin == KNI_FROM_NODE || v->origin == KNI_FROM_CONSTANT;
    if (is_free && v->name < 0) v->name = p->values[from].name;
}

/* ---- last readers */

/* What a region inside reads is read, for the regions around it, by the node that holds the region. */
static void read_by(kni_program *p, int32_t value, int32_t region, int32_t place)
{
    if (value < 0) return;
    kni_program_value *v = &p->values[value];
    if (v->region == region && v->last < place) v->last = place;
}

/* Notes, for the values of `home`, the reads that `region` and those inside it make, as of the place in `home`. */
static void read_inside(kni_program *p, int32_t region, int32_t home, int32_t place)
{
    const kni_program_region *r = &p->regions[region];
    for (int32_t i = 0; i < r->n_nodes; i++) {
        const kni_program_node *n = &p->nodes[r->nodes[i]];
        int32_t at = region == home ? i : place;
        for (int32_t k = 0; k < n->n_in; k++) read_by(p, kni_node_in(p, n)[k], home, at);
        for (int k = 0; k < 2 && n->kind != KNI_NODE_OP && n->kind != KNI_NODE_CALL; k++)
            if (n->regions[k] >= 0) read_inside(p, n->regions[k], home, at);
    }
    for (int32_t i = 0; i < r->n_results; i++)
        read_by(p, r->results[i], home, region == home ? INT32_MAX : place);
}

void kni_program_settle(kni_program *p)
{
    for (int32_t i = 0; i < p->n_values; i++) p->values[i].last = -1;
    for (int32_t r = 0; r < p->n_regions; r++) read_inside(p, r, r, 0);
    for (int32_t i = 0; i < p->n_nodes; i++) p->nodes[i].read_inside = -1;
    for (int32_t i = 0; i < p->n_values; i++) {
        kni_program_value *v = &p->values[i];
        if (v->last < 0 || v->last == INT32_MAX) continue;
        kni_program_node *n = &p->nodes[p->regions[v->region].nodes[v->last]];
        if (n->kind == KNI_NODE_OP) continue;
        v->also_last = n->read_inside;
        n->read_inside = i;
    }
}

/* ---- symbols */

int32_t kni_dim_symbols(kn_dim d, kn_dim *symbols, int32_t n, int32_t most)
{
    kni_dim_term terms[KNI_DIM_TERMS];
    kn_dim a, b;
    switch (kni_dim_kind_of(d)) {
    case KNI_DIM_SYMBOL:
        for (int32_t i = 0; i < n; i++)
            if (symbols[i] == d) return n;
        if (n < most) symbols[n++] = d;
        return n;
    case KNI_DIM_SUM:
        for (int i = 0, m = kni_dim_terms(d, terms); i < m; i++)
            for (int k = 0; k < terms[i].n_factors; k++)
                n = kni_dim_symbols(terms[i].factors[k], symbols, n, most);
        return n;
    case KNI_DIM_CONSTANT:
        return n;
    default:
        kni_dim_operands(d, &a, &b);
        return kni_dim_symbols(b, symbols, kni_dim_symbols(a, symbols, n, most), most);
    }
}

int32_t kni_program_symbols(const kni_program *p, kn_dim *symbols, int32_t most)
{
    kni_dims *before = kni_dims_enter(p->dims);
    int32_t n = 0;
    for (int32_t i = 0; i < p->n_inputs; i++) {
        if (p->inputs[i] < 0) continue;
        const kni_type *t = &p->values[p->inputs[i]].type;
        for (int a = 0; a < t->rank; a++) n = kni_dim_symbols(t->dims[a], symbols, n, most);
    }
    kni_dims_enter(before);
    return n;
}

/* ---- sizes that nodes bind */

bool kni_binds_axis(const kni_program *p, const kni_program_node *n, int32_t i, int32_t a)
{
    if (n->kind == KNI_NODE_LOOP) return n->loop.conditional && i >= n->loop.n_carried && a == 0;
    if (n->kind != KNI_NODE_IF) return false;
    kn_dim d = p->values[kni_node_out(p, n)[i]].type.dims[a];
    return kni_dim_is_expression(d) && d != p->values[p->regions[n->regions[0]].results[i]].type.dims[a] &&
           d != p->values[p->regions[n->regions[1]].results[i]].type.dims[a];
}

/* KNI_DIM_BAD: any. */
static bool binds(const kni_program *p, const kni_program_node *n, kn_dim symbol)
{
    bool any = symbol == KNI_DIM_BAD;
    if (n->kind == KNI_NODE_SIZE) return any || n->size == symbol;
    for (int32_t i = 0; i < n->n_out && n->kind != KNI_NODE_OP; i++) {
        const kni_type *t = &p->values[kni_node_out(p, n)[i]].type;
        for (int32_t a = 0; a < t->rank; a++)
            if ((any || t->dims[a] == symbol) && kni_binds_axis(p, n, i, a)) return true;
    }
    return false;
}

bool kni_binds_sizes(const kni_program *p, const kni_program_node *n) { return binds(p, n, KNI_DIM_BAD); }

bool kni_program_reads_size(const kni_program *p, kn_dim symbol)
{
    for (int32_t i = 0; i < p->n_nodes; i++)
        if (binds(p, &p->nodes[i], symbol)) return true;
    return false;
}

bool kni_program_reads_sizes(const kni_program *p) { return kni_program_reads_size(p, KNI_DIM_BAD); }
