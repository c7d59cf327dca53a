/* A program as text, and what its inputs and outputs are. */
#include "core/dim_symbols.h"
#include "core/error.h"
#include "core/text.h"
#include "program/program_data.h"
#include <kn/tensor.h>
#include <string.h>

/* ---- values: %3 by a node, $0 an input, @name a param, #5 a constant, ^2 an argument. Behind the number of the last stands the name, as
   in %3:sum, where the value is made; constants are made nowhere and have it wherever they are read. */

static void print_value(const kni_program *p, int32_t v, bool made, kni_text *text)
{
    static const char prefix[] = {[KNI_FROM_NODE] = '%',
                                  [KNI_FROM_INPUT] = '$',
                                  [KNI_FROM_PARAM] = '@',
                                  [KNI_FROM_CONSTANT] = '#',
                                  [KNI_FROM_ARGUMENT] = '^'};
    if (v < 0) {
        kni_text_string(text, "none");
        return;
    }
    const kni_program_value *x = &p->values[v];
    bool named = x->name >= 0, alone = x->origin == KNI_FROM_INPUT || x->origin == KNI_FROM_PARAM;
    kni_text_char(text, prefix[x->origin]);
    if (!named || !alone) kni_text_int(text, x->origin == KNI_FROM_INPUT ? x->number : v);
    if (!named || (!alone && !made && x->origin != KNI_FROM_CONSTANT)) return;
    kni_text_format(text, "%s%s", alone ? "" : ":", kni_name_at(p, x->name));
}

static void print_list(const kni_program *p, const int32_t *values, int32_t n, bool made, kni_text *text)
{
    for (int32_t i = 0; i < n; i++) {
        if (i) kni_text_string(text, ", ");
        print_value(p, values[i], made, text);
    }
}

static void indent(kni_text *text, int depth)
{
    for (int i = 0; i < depth; i++) kni_text_string(text, "  ");
}

static void print_attributes(const kni_program *p, const kni_program_node *n, kni_text *text)
{
    const char *place = kni_node_attributes(p, n);
    for (const kn_attribute *a = kni_schema_of(n->row); a->name; a++) {
        int64_t whole;
        double real;
        kn_ints list;
        kni_text_format(text, ", %s=", a->name);
        if (a->type == KNI_ATTR_REAL) {
            memcpy(&real, place + a->offset, sizeof real);
            kni_text_double(text, real);
        } else if (a->type == KNI_ATTR_INT) {
            memcpy(&whole, place + a->offset, sizeof whole);
            kni_dim_print(text, whole);
        } else {
            memcpy(&list, place + a->offset, sizeof list);
            kni_text_dims(text, list.rank, list.dims);
        }
    }
}

static void print_region(const kni_program *p, int32_t region, kni_text *text, int depth);

static void print_inside(const kni_program *p, const char *word, int32_t region, kni_text *text, int depth)
{
    indent(text, depth);
    kni_text_string(text, word);
    if (p->regions[region].n_arguments) {
        kni_text_string(text, " (");
        print_list(p, p->regions[region].arguments, p->regions[region].n_arguments, true, text);
        kni_text_char(text, ')');
    }
    kni_text_string(text, ":\n");
    print_region(p, region, text, depth + 1);
}

static void print_node(const kni_program *p, const kni_program_node *n, kni_text *text, int depth)
{
    static const char *const words[] = {
        [KNI_NODE_IF] = "if", [KNI_NODE_LOOP] = "loop", [KNI_NODE_CALL] = "call", [KNI_NODE_SIZE] = "size"};
    indent(text, depth);
    if (n->kind == KNI_NODE_SIZE)
        kni_text_string(text, kni_dim_name(n->size));
    else
        print_list(p, kni_node_out(p, n), n->n_out, true, text);
    kni_text_format(text, " = %s(", n->kind == KNI_NODE_OP ? n->row->name : words[n->kind]);
    if (n->kind == KNI_NODE_CALL)
        kni_text_format(text, "%s%s", kni_name_at(p, p->regions[n->regions[0]].name), n->n_in ? ", " : "");
    int32_t given = n->n_in;
    while (given > 0 && kni_node_in(p, n)[given - 1] < 0) given--;
    print_list(p, kni_node_in(p, n), given, false, text);
    if (n->kind == KNI_NODE_OP) print_attributes(p, n, text);
    if (n->kind == KNI_NODE_LOOP && n->loop.trips != KNI_DIM_BAD) {
        kni_text_string(text, ", trips=");
        kni_dim_print(text, n->loop.trips);
    }
    kni_text_char(text, ')');
    if (n->n_out) {
        const kni_type *t = &p->values[kni_node_out(p, n)[0]].type;
        kni_text_format(text, " %T%S", (int)t->dtype, t);
    }
    kni_text_char(text, '\n');
    if (n->kind == KNI_NODE_IF) {
        print_inside(p, "then", n->regions[0], text, depth + 1);
        print_inside(p, "else", n->regions[1], text, depth + 1);
    } else if (n->kind == KNI_NODE_LOOP) {
        print_inside(p, "each trip", n->regions[0], text, depth + 1);
    }
}

static void print_region(const kni_program *p, int32_t region, kni_text *text, int depth)
{
    const kni_program_region *r = &p->regions[region];
    for (int32_t i = 0; i < r->n_nodes; i++) print_node(p, &p->nodes[r->nodes[i]], text, depth);
    indent(text, depth);
    kni_text_string(text, region ? "gives " : "outputs ");
    print_list(p, r->results, r->n_results, false, text);
    kni_text_char(text, '\n');
}

size_t kn_program_print(kn_program program, char *buffer, size_t bytes)
{
    kni_text text = {buffer, buffer ? bytes : 0, 0};
    if (buffer && bytes) buffer[0] = 0;
    KNI_USE(program, p, program);
    if (!p) return 0;
    kni_dims *before = kni_dims_enter(p->dims);
    for (int32_t i = 1; i < p->n_regions; i++)
        if (p->regions[i].name >= 0) {
            kni_text_string(&text, "function ");
            print_inside(p, kni_name_at(p, p->regions[i].name), i, &text, 0);
        }
    print_region(p, 0, &text, 0);
    kni_dims_enter(before);
    return text.length;
}

/* ---- inputs and outputs */

int32_t kn_program_inputs(kn_program program)
{
    KNI_USE(program, p, program);
    return p ? p->n_inputs : -1;
}

int32_t kn_program_outputs(kn_program program)
{
    KNI_USE(program, p, program);
    return p ? p->n_outputs : -1;
}

bool kni_fill_port(const kni_program *p, int32_t value, int32_t name, kn_program_port *port)
{
    memset(port, 0, sizeof *port);
    kni_text text = {port->name, sizeof port->name, 0};
    kni_text_string(&text, kni_name_at(p, name));
    if (value < 0) return true;
    const kni_type *t = &p->values[value].type;
    port->dtype = (kn_dtype)t->dtype;
    port->rank = t->rank;
    text = (kni_text){port->shape, sizeof port->shape, 0};
    kni_dims *before = kni_dims_enter(p->dims);
    for (int a = 0; a < t->rank; a++) {
        if (a) kni_text_string(&text, ", ");
        kni_dim_print(&text, t->dims[a]);
    }
    kni_dims_enter(before);
    return text.length < sizeof port->shape;
}

static kn_status describe(const kni_program *p, const char *function, int32_t i, int32_t n, int32_t value,
                          int32_t name, kn_program_port *port)
{
    if (!port || i < 0 || i >= n)
        return kni_fail(KN_ERROR_ARGUMENT, "%s: there is no number %d of %d, or no room for it", function, i,
                        n);
    kni_fill_port(p, value, name, port); /* -1: an input that no op reads */
    return KN_OK;
}

kn_status kn_program_input(kn_program program, int32_t i, kn_program_port *port)
{
    KNI_USE(program, p, program);
    if (!p) return KNI_NO_OBJECT(program);
    bool there = i >= 0 && i < p->n_inputs;
    return describe(p, __func__, i, p->n_inputs, there ? p->inputs[i] : -1, there ? p->input_names[i] : -1,
                    port);
}

kn_status kn_program_output(kn_program program, int32_t i, kn_program_port *port)
{
    KNI_USE(program, p, program);
    if (!p) return KNI_NO_OBJECT(program);
    bool there = i >= 0 && i < p->n_outputs;
    return describe(p, __func__, i, p->n_outputs, there ? p->regions[0].results[i] : -1,
                    there ? p->output_names[i] : -1, port);
}

/* ---- the whole */

kn_status kn_program_describe(kn_program program, kn_program_info *info)
{
    if (info) memset(info, 0, sizeof *info);
    KNI_USE(program, p, program);
    if (!p) return KNI_NO_OBJECT(program);
    if (!info) return kni_fail(KN_ERROR_ARGUMENT, "kn_program_describe: the info is NULL");
    *info = (kn_program_info){.inputs = p->n_inputs, .outputs = p->n_outputs, .trace = p->loose};
    for (int32_t i = 0; i < p->n_values; i++) {
        const kni_program_value *v = &p->values[i];
        if (v->origin == KNI_FROM_CONSTANT) info->constants++;
        if (v->origin != KNI_FROM_PARAM) continue;
        info->params++;
        info->elements += kni_count(&v->type);
    }
    for (int32_t r = 0; r < p->n_regions; r++) {
        info->functions += p->regions[r].name >= 0;
        for (int32_t i = 0; i < p->regions[r].n_nodes; i++)
            (*(p->nodes[p->regions[r].nodes[i]].kind == KNI_NODE_OP ? &info->ops : &info->controls))++;
    }
    kni_dims *before = kni_dims_enter(p->dims);
    info->sizes = kni_dim_symbol_count();
    kni_dims_enter(before);
    return KN_OK;
}

kn_status kn_program_size(kn_program program, int32_t i, kn_program_size_info *size)
{
    KNI_USE(program, p, program);
    if (!p) return KNI_NO_OBJECT(program);
    kni_dims *before = kni_dims_enter(p->dims);
    uint32_t at = 0;
    kn_dim d = KNI_DIM_BAD;
    for (int32_t k = 0; k <= i && k < kni_dim_symbol_count(); k++) d = kni_dim_symbol_next(&at);
    bool there = size && i >= 0 && i < kni_dim_symbol_count();
    if (there) {
        *size = (kn_program_size_info){.low = kni_dim_low(d), .high = kni_dim_high(d)};
        kni_text text = {size->name, sizeof size->name, 0};
        kni_text_string(&text, kni_dim_name(d));
    }
    int32_t n = kni_dim_symbol_count();
    kni_dims_enter(before);
    if (there) return KN_OK;
    return kni_fail(KN_ERROR_ARGUMENT, "kn_program_size: there is no number %d of %d, or no room for it", i,
                    n);
}
