/* The nodes of a program, its types and sizes as JSON. */
#include "core/error.h"
#include "core/text.h"
#include "program/program_save.h"
#include <kn/tensor.h>
#include <stdlib.h>

kn_status kni_write_no_memory(const char *function)
{
    return kni_fail(KN_ERROR_MEMORY, "%s: no memory for the text of the program", function);
}

/* ---- sizes and types */

/* An expression as text, which must come back as the same one. */
static void put_expression(kni_program_writing *w, kni_buffer *out, kn_dim d)
{
    kni_text measured = {NULL, 0, 0};
    kni_dim_print(&measured, d);
    char *text = malloc(measured.length + 1);
    if (!text) {
        kni_write_failed(w, kni_write_no_memory(w->function));
        return;
    }
    kni_text print = {text, measured.length + 1, 0};
    kni_dim_print(&print, d);
    const char *at = text;
    if (kni_dim_parse(&at) != d || *at)
        kni_write_failed(w, kni_fail(KN_ERROR_UNSUPPORTED,
                                     "%s: the size '%s' is nested too deeply for a file", w->function, text));
    kni_write_text(out, text);
    free(text);
}

static void put_size(kni_program_writing *w, kni_buffer *out, kn_dim d)
{
    if (kni_dim_kind_of(d) == KNI_DIM_CONSTANT)
        kni_buffer_decimal(out, d);
    else
        put_expression(w, out, d);
}

void kni_write_type(kni_program_writing *w, kni_buffer *out, const kni_type *t)
{
    kni_buffer_text(out, "[");
    kni_write_text(out, kn_dtype_name((kn_dtype)t->dtype));
    for (int i = 0; i < t->rank; i++) {
        kni_buffer_text(out, ",");
        put_size(w, out, t->dims[i]);
    }
    kni_buffer_text(out, "]");
}

/* ---- nodes */

static void put_ids(kni_program_writing *w, const int32_t *values, int32_t n)
{
    kni_buffer_text(&w->body, "[");
    for (int32_t i = 0; i < n; i++) {
        kni_write_comma(&w->body, i);
        if (values[i] < 0)
            kni_buffer_text(&w->body, "null");
        else if (w->ids[values[i]] < 0)
            kni_write_failed(w, kni_fail(KN_ERROR_ARGUMENT, "%s: value %%%d is read where it is not made yet",
                                         w->function, values[i]));
        else
            kni_buffer_decimal(&w->body, w->ids[values[i]]);
    }
    kni_buffer_text(&w->body, "]");
}

/* ,"names":["sum",null] where a value has a name. */
static void put_names(kni_program_writing *w, const int32_t *values, int32_t n)
{
    bool any = false;
    for (int32_t i = 0; i < n; i++) any |= w->p->values[values[i]].name >= 0;
    if (!any) return;
    kni_buffer_text(&w->body, ",\"names\":[");
    for (int32_t i = 0; i < n; i++) {
        int32_t name = w->p->values[values[i]].name;
        kni_write_comma(&w->body, i);
        if (name < 0)
            kni_buffer_text(&w->body, "null");
        else
            kni_write_text(&w->body, kni_name_at(w->p, name));
    }
    kni_buffer_text(&w->body, "]");
}

/* "out":[7],"types":[["f32",3]] with new numbers, and names; the word is "arguments" for a region's. */
static void put_made(kni_program_writing *w, const char *word, const int32_t *values, int32_t n)
{
    for (int32_t i = 0; i < n; i++) w->ids[values[i]] = w->next++;
    kni_buffer_format(&w->body, "\"%s\":", word);
    put_ids(w, values, n);
    kni_buffer_text(&w->body, ",\"types\":[");
    for (int32_t i = 0; i < n; i++) {
        kni_write_comma(&w->body, i);
        kni_write_type(w, &w->body, &w->p->values[values[i]].type);
    }
    kni_buffer_text(&w->body, "]");
    put_names(w, values, n);
}

/* Random rows keep their place in the run's numbers, and no key. */
static int64_t stored_whole(const kni_program_writing *w, const kn_op *row, const kn_attribute *a,
                            int64_t whole)
{
    int drawn = kni_program_drawn(row, a);
    if (!drawn) return whole;
    return drawn == 2 && w->p->draws ? (int64_t)((uint64_t)whole - w->p->counter) : 0;
}

static void put_attribute(kni_program_writing *w, const kn_op *row, const kn_attribute *a, const char *place)
{
    int64_t whole;
    double real;
    kn_ints list;
    if (a->type == KNI_ATTR_REAL) {
        memcpy(&real, place + a->offset, sizeof real);
        kni_program_write_real(&w->body, real);
    } else if (a->type == KNI_ATTR_INT) {
        memcpy(&whole, place + a->offset, sizeof whole);
        put_size(w, &w->body, stored_whole(w, row, a, whole));
    } else {
        memcpy(&list, place + a->offset, sizeof list);
        kni_buffer_text(&w->body, "[");
        for (int32_t i = 0; i < list.rank && i < KN_MAX_RANK; i++) {
            kni_write_comma(&w->body, i);
            put_size(w, &w->body, list.dims[i]);
        }
        kni_buffer_text(&w->body, "]");
    }
}

static void put_op(kni_program_writing *w, const kni_program_node *n)
{
    const kn_op *row = n->row;
    if (kni_build_row(row->name) != row) {
        kni_write_failed(w, kni_fail(KN_ERROR_UNSUPPORTED,
                                     "%s: '%s' is no op that a file can name: derived gradients and kernels "
                                     "without a name cannot be saved; make ops of yours with kn_op_define, "
                                     "kn_custom_op or kn_kernel_op",
                                     w->function, row->name));
        return;
    }
    w->used[row->number / 8] |= (uint8_t)(1 << row->number % 8);
    int32_t given = n->n_in;
    while (given > 0 && kni_node_in(w->p, n)[given - 1] < 0) given--;
    kni_buffer_text(&w->body, "{\"op\":");
    kni_write_text(&w->body, row->name);
    kni_buffer_text(&w->body, ",\"in\":");
    put_ids(w, kni_node_in(w->p, n), given);
    const kn_attribute *schema = kni_schema_of(row);
    for (const kn_attribute *a = schema; a->name; a++) {
        kni_buffer_text(&w->body, a == schema ? ",\"attributes\":{" : ",");
        kni_write_text(&w->body, a->name);
        kni_buffer_text(&w->body, ":");
        put_attribute(w, row, a, kni_node_attributes(w->p, n));
    }
    kni_buffer_text(&w->body, schema->name ? "}," : ",");
}

static void put_loop(kni_program_writing *w, const kni_program_node *n)
{
    const kni_loop *l = &n->loop;
    const int32_t *in = kni_node_in(w->p, n);
    kni_buffer_text(&w->body, "{\"loop\":{\"condition\":");
    put_ids(w, in, l->conditional);
    kni_buffer_text(&w->body, ",\"carried\":");
    put_ids(w, in + l->conditional, l->n_carried);
    kni_buffer_text(&w->body, ",\"sliced\":");
    put_ids(w, in + l->conditional + l->n_carried, l->n_sliced);
    if (l->trips != KNI_DIM_BAD) {
        kni_buffer_text(&w->body, ",\"trips\":");
        put_size(w, &w->body, l->trips);
    } else {
        kni_buffer_text(&w->body, ",\"max_trips\":");
        kni_buffer_decimal(&w->body, l->max_trips);
    }
    kni_buffer_text(&w->body, "},\"body\":");
    kni_write_region(w, n->regions[0]);
    kni_buffer_text(&w->body, ",");
}

static void put_if(kni_program_writing *w, const kni_program_node *n)
{
    kni_buffer_text(&w->body, "{\"if\":");
    put_ids(w, kni_node_in(w->p, n), 1);
    kni_buffer_text(&w->body, ",\"then\":");
    kni_write_region(w, n->regions[0]);
    kni_buffer_text(&w->body, ",\"else\":");
    kni_write_region(w, n->regions[1]);
    kni_buffer_text(&w->body, ",");
}

static void put_call(kni_program_writing *w, const kni_program_node *n)
{
    kni_buffer_text(&w->body, "{\"call\":");
    kni_write_text(&w->body, kni_name_at(w->p, w->p->regions[n->regions[0]].name));
    kni_buffer_text(&w->body, ",\"in\":");
    put_ids(w, kni_node_in(w->p, n), n->n_in);
    kni_buffer_text(&w->body, ",");
}

static void put_size_node(kni_program_writing *w, const kni_program_node *n)
{
    kni_buffer_text(&w->body, "{\"size\":");
    put_ids(w, kni_node_in(w->p, n), 1);
    kni_buffer_text(&w->body, ",\"name\":");
    kni_write_text(&w->body, kni_dim_name(n->size));
    kni_buffer_text(&w->body, ",");
}

void kni_write_region(kni_program_writing *w, int32_t region)
{
    static void (*const kinds[])(kni_program_writing *,
                                 const kni_program_node *) = {[KNI_NODE_OP] = put_op,
                                                              [KNI_NODE_IF] = put_if,
                                                              [KNI_NODE_LOOP] = put_loop,
                                                              [KNI_NODE_CALL] = put_call,
                                                              [KNI_NODE_SIZE] = put_size_node};
    const kni_program_region *r = &w->p->regions[region];
    kni_buffer_text(&w->body, "{");
    put_made(w, "arguments", r->arguments, r->n_arguments);
    kni_buffer_text(&w->body, ",\"nodes\":[");
    for (int32_t i = 0; i < r->n_nodes && !w->status; i++) {
        const kni_program_node *n = &w->p->nodes[r->nodes[i]];
        kni_buffer_text(&w->body, i ? ",\n" : "\n");
        kinds[n->kind](w, n);
        put_made(w, "out", kni_node_out(w->p, n), n->n_out);
        kni_buffer_text(&w->body, "}");
    }
    kni_buffer_text(&w->body, "],\"results\":");
    if (!w->status) put_ids(w, r->results, r->n_results);
    kni_buffer_text(&w->body, "}");
}

void kni_write_functions(kni_program_writing *w)
{
    int32_t n = 0;
    kni_buffer_text(&w->body, "\"functions\":[");
    for (int32_t i = 1; i < w->p->n_regions && !w->status; i++) {
        if (w->p->regions[i].name < 0) continue;
        kni_write_comma(&w->body, n++);
        kni_buffer_text(&w->body, "{\"name\":");
        kni_write_text(&w->body, kni_name_at(w->p, w->p->regions[i].name));
        kni_buffer_text(&w->body, ",\"region\":");
        kni_write_region(w, i);
        kni_buffer_text(&w->body, "}");
    }
    if (n > KNI_PROGRAM_FUNCTIONS)
        kni_write_failed(w, kni_fail(KN_ERROR_UNSUPPORTED, "%s: %d functions; a file has at most %d",
                                     w->function, n, (int)KNI_PROGRAM_FUNCTIONS));
    kni_buffer_text(&w->body, "],\n");
}
