/* kn_program_save: the program as JSON in the metadata of a safetensors file, its weights and constants as the tensors. */
#include "core/dim_symbols.h"
#include "core/error.h"
#include "core/text.h"
#include "program/program_file.h"
#include <kn/state.h>
#include <kn/store.h>
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

typedef struct writer {
    kni_program *p;
    const kn_program_save_args *args;
    const char *function;
    kni_buffer head, body; /* before and from the functions on: the ops that are used stand between */
    kni_buffer names;      /* made up, or of the module */
    int32_t *ids;          /* of each value: its number in the file, or -1 */
    int32_t *named;        /* of each param: where its name begins in `names`, or -1 */
    int32_t next, n_constants, n_made;
    uint8_t used[(UINT16_MAX + 1) / 8]; /* a bit for each row */
    kn_state state;
    kn_status status; /* the first failure */
} writer;

static kn_status no_memory(const char *function)
{
    return kni_fail(KN_ERROR_MEMORY, "%s: no memory for the text of the program", function);
}

static void fail_with(writer *w, kn_status s)
{
    if (!w->status) w->status = s;
}

static void put_text(kni_buffer *out, const char *text) { kni_json_write_text(out, text, strlen(text)); }

/* A list of things, each behind a comma but the first. */
static void separate(kni_buffer *out, int32_t i) { kni_buffer_text(out, i ? "," : ""); }

/* ---- sizes and types */

/* An expression as text, which must come back as the same one. */
static void put_expression(writer *w, kni_buffer *out, kn_dim d)
{
    kni_text measured = {NULL, 0, 0};
    kni_dim_print(&measured, d);
    char *text = malloc(measured.length + 1);
    if (!text) {
        fail_with(w, no_memory(w->function));
        return;
    }
    kni_text print = {text, measured.length + 1, 0};
    kni_dim_print(&print, d);
    const char *at = text;
    if (kni_dim_parse(&at) != d || *at)
        fail_with(w, kni_fail(KN_ERROR_UNSUPPORTED, "%s: the size '%s' is nested too deeply for a file",
                              w->function, text));
    put_text(out, text);
    free(text);
}

static void put_size(writer *w, kni_buffer *out, kn_dim d)
{
    if (kni_dim_kind_of(d) == KNI_DIM_CONSTANT)
        kni_buffer_decimal(out, d);
    else
        put_expression(w, out, d);
}

static void put_type(writer *w, kni_buffer *out, const kni_type *t)
{
    kni_buffer_text(out, "[");
    put_text(out, kn_dtype_name((kn_dtype)t->dtype));
    for (int i = 0; i < t->rank; i++) {
        kni_buffer_text(out, ",");
        put_size(w, out, t->dims[i]);
    }
    kni_buffer_text(out, "]");
}

static void put_sizes(writer *w)
{
    uint32_t at = 0;
    kn_dim d;
    kni_buffer_text(&w->head, "\"sizes\":[");
    for (int32_t i = 0; (d = kni_dim_symbol_next(&at)) != KNI_DIM_BAD; i++) {
        separate(&w->head, i);
        kni_buffer_text(&w->head, "{\"name\":");
        put_text(&w->head, kni_dim_name(d));
        kni_buffer_text(&w->head, ",\"low\":");
        kni_buffer_decimal(&w->head, kni_dim_low(d));
        if (kni_dim_high(d) < INT64_MAX) {
            kni_buffer_text(&w->head, ",\"high\":");
            kni_buffer_decimal(&w->head, kni_dim_high(d));
        }
        kni_buffer_text(&w->head, "}");
    }
    kni_buffer_text(&w->head, "],\n");
}

/* ---- values */

/* Gives the value the file's next number, and writes "id" and "type". */
static void put_value(writer *w, int32_t value)
{
    w->ids[value] = w->next++;
    kni_buffer_text(&w->head, "\"id\":");
    kni_buffer_decimal(&w->head, w->ids[value]);
    kni_buffer_text(&w->head, ",\"type\":");
    put_type(w, &w->head, &w->p->values[value].type);
    kni_buffer_text(&w->head, "}");
}

/* The name of an input or output: the caller's, its own, or a made-up one. */
static const char *port_name(const writer *w, const char *const *given, int32_t own, const char *word,
                             int32_t i, char *made, size_t n)
{
    if (given && given[i]) return given[i];
    if (own >= 0) return kni_name_at(w->p, own);
    kni_text text = {made, n, 0};
    kni_text_format(&text, "%s%d", word, i);
    return made;
}

enum { MADE = 32 };

static const char *input_name(const writer *w, int32_t i, char *made)
{
    return port_name(w, w->args->inputs, w->p->input_names[i], "input", i, made, MADE);
}

static const char *output_name(const writer *w, int32_t i, char *made)
{
    return port_name(w, w->args->outputs, w->p->output_names[i], "output", i, made, MADE);
}

static void check_ports(writer *w, int32_t n, const char *word,
                        const char *(*name_of)(const writer *w, int32_t i, char *made))
{
    char first[MADE], second[MADE];
    if (n > KNI_PROGRAM_PORTS)
        fail_with(w, kni_fail(KN_ERROR_UNSUPPORTED, "%s: %d %ss; a file has at most %d", w->function, n, word,
                              (int)KNI_PROGRAM_PORTS));
    for (int32_t i = 0; i < n && !w->status; i++) {
        const char *name = name_of(w, i, first);
        if (!*name || !kni_json_is_text(name, strlen(name)))
            fail_with(w,
                      kni_fail(KN_ERROR_ARGUMENT, "%s: '%s' is no name of an %s", w->function, name, word));
        for (int32_t k = 0; k < i && !w->status; k++)
            if (!strcmp(name, name_of(w, k, second)))
                fail_with(
                    w, kni_fail(KN_ERROR_ARGUMENT, "%s: two %ss are called '%s'", w->function, word, name));
    }
}

static void put_inputs(writer *w)
{
    char made[MADE];
    kni_buffer_text(&w->head, "\"inputs\":[");
    for (int32_t i = 0; i < w->p->n_inputs; i++) {
        int32_t v = w->p->inputs[i];
        separate(&w->head, i);
        kni_buffer_text(&w->head, "{\"name\":");
        put_text(&w->head, input_name(w, i, made));
        /* One that no op reads has no type, and so has one that another of the list stands for. */
        if (v < 0 || w->p->values[v].number != i) {
            kni_buffer_text(&w->head, "}");
            continue;
        }
        kni_buffer_text(&w->head, ",");
        put_value(w, v);
    }
    kni_buffer_text(&w->head, "],\n");
}

/* ---- tensors */

/* The name of a param in the file; a made-up one is another than all that are there. */
static const char *param_name(writer *w, int32_t value, char *made)
{
    if (w->named[value] >= 0) return w->names.data + w->named[value];
    if (w->p->values[value].name >= 0) return kni_name_at(w->p, w->p->values[value].name);
    do {
        kni_text text = {made, MADE, 0};
        kni_text_format(&text, "param%d", w->n_made++);
    } while (kn_state_get(w->state, "", made).bits);
    return made;
}

static void keep_tensor(writer *w, int32_t value, const char *name)
{
    if (w->p->values[value].origin == KNI_FROM_PARAM &&
        (!*name || !strncmp(name, KNI_PROGRAM_RESERVED, strlen(KNI_PROGRAM_RESERVED))))
        fail_with(w, kni_fail(KN_ERROR_ARGUMENT,
                              "%s: a param cannot be called '%s': names with '%s' are "
                              "Kiln's own",
                              w->function, name, KNI_PROGRAM_RESERVED));
    else if (kn_state_get(w->state, "", name).bits)
        fail_with(w, kni_fail(KN_ERROR_ARGUMENT, "%s: two params are called '%s'", w->function, name));
    else
        fail_with(w, kn_state_put(w->state, "", name, w->p->values[value].tensor));
}

static void put_tensor(writer *w, int32_t value, const char *name)
{
    keep_tensor(w, value, name);
    kni_buffer_text(&w->head, "{\"tensor\":");
    put_text(&w->head, name);
    kni_buffer_text(&w->head, w->p->values[value].type.weak ? ",\"weak\":true," : ",");
    put_value(w, value);
}

/* Those with names come first, so that none of them is taken by a made-up one. */
static void put_params(writer *w)
{
    char made[MADE];
    int32_t n = 0;
    kni_buffer_text(&w->head, "\"params\":[");
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < w->p->n_values && !w->status; i++) {
            const kni_program_value *v = &w->p->values[i];
            if (v->origin != KNI_FROM_PARAM || !v->tensor.bits) continue;
            if ((w->named[i] < 0 && v->name < 0) != pass) continue;
            separate(&w->head, n++);
            put_tensor(w, i, param_name(w, i, made));
        }
    kni_buffer_text(&w->head, "],\n");
}

static void put_constants(writer *w)
{
    char name[MADE];
    kni_buffer_text(&w->head, "\"constants\":[");
    for (int32_t i = 0; i < w->p->n_values && !w->status; i++) {
        const kni_program_value *v = &w->p->values[i];
        if (v->origin != KNI_FROM_CONSTANT || !v->tensor.bits) continue;
        kni_text text = {name, sizeof name, 0};
        kni_text_format(&text, KNI_PROGRAM_CONSTANT "%d", w->n_constants);
        separate(&w->head, w->n_constants++);
        put_tensor(w, i, name);
    }
    kni_buffer_text(&w->head, "],\n");
}

/* The paths of a trace's params in the module. */
static kn_status name_param(void *context, const kn_module_entry *entry)
{
    writer *w = context;
    for (int32_t i = 0; i < w->p->n_values; i++) {
        const kni_program_value *v = &w->p->values[i];
        if (v->origin != KNI_FROM_PARAM || v->tensor.bits != kn_value(*entry->param).bits) continue;
        if (w->named[i] >= 0 || w->names.length > INT32_MAX / 2) continue; /* the first path of a tied one */
        w->named[i] = (int32_t)w->names.length;
        kni_buffer_append(&w->names, entry->path, strlen(entry->path) + 1);
    }
    return w->names.failed ? no_memory(w->function) : KN_OK;
}

/* ---- nodes */

static void put_ids(writer *w, const int32_t *values, int32_t n)
{
    kni_buffer_text(&w->body, "[");
    for (int32_t i = 0; i < n; i++) {
        separate(&w->body, i);
        if (values[i] < 0)
            kni_buffer_text(&w->body, "null");
        else if (w->ids[values[i]] < 0)
            fail_with(w, kni_fail(KN_ERROR_ARGUMENT, "%s: value %%%d is read where it is not made yet",
                                  w->function, values[i]));
        else
            kni_buffer_decimal(&w->body, w->ids[values[i]]);
    }
    kni_buffer_text(&w->body, "]");
}

/* "out":[7],"types":[["f32",3]] with new numbers; the word is "arguments" for a region's. */
static void put_made(writer *w, const char *word, const int32_t *values, int32_t n)
{
    for (int32_t i = 0; i < n; i++) w->ids[values[i]] = w->next++;
    kni_buffer_format(&w->body, "\"%s\":", word);
    put_ids(w, values, n);
    kni_buffer_text(&w->body, ",\"types\":[");
    for (int32_t i = 0; i < n; i++) {
        separate(&w->body, i);
        put_type(w, &w->body, &w->p->values[values[i]].type);
    }
    kni_buffer_text(&w->body, "]");
}

/* Random rows keep their place in the run's numbers, and no key. */
static int64_t stored_whole(const writer *w, const kn_op *row, const kn_attribute *a, int64_t whole)
{
    int drawn = kni_program_drawn(row, a);
    if (!drawn) return whole;
    return drawn == 2 && w->p->draws ? (int64_t)((uint64_t)whole - w->p->counter) : 0;
}

static void put_attribute(writer *w, const kn_op *row, const kn_attribute *a, const char *place)
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
            separate(&w->body, i);
            put_size(w, &w->body, list.dims[i]);
        }
        kni_buffer_text(&w->body, "]");
    }
}

static void put_op(writer *w, const kni_program_node *n)
{
    const kn_op *row = n->row;
    if (kni_build_row(row->name) != row) {
        fail_with(w, kni_fail(KN_ERROR_UNSUPPORTED,
                              "%s: '%s' is no op that a file can name: make it with kn_op_define, "
                              "kn_custom_op or kn_kernel_op",
                              w->function, row->name));
        return;
    }
    w->used[row->number / 8] |= (uint8_t)(1 << row->number % 8);
    int32_t given = n->n_in;
    while (given > 0 && kni_node_in(w->p, n)[given - 1] < 0) given--;
    kni_buffer_text(&w->body, "{\"op\":");
    put_text(&w->body, row->name);
    kni_buffer_text(&w->body, ",\"in\":");
    put_ids(w, kni_node_in(w->p, n), given);
    const kn_attribute *schema = kni_schema_of(row);
    for (const kn_attribute *a = schema; a->name; a++) {
        kni_buffer_text(&w->body, a == schema ? ",\"attributes\":{" : ",");
        put_text(&w->body, a->name);
        kni_buffer_text(&w->body, ":");
        put_attribute(w, row, a, kni_node_attributes(w->p, n));
    }
    kni_buffer_text(&w->body, schema->name ? "}," : ",");
}

static void put_region(writer *w, int32_t region);

static void put_loop(writer *w, const kni_program_node *n)
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
    put_region(w, n->regions[0]);
    kni_buffer_text(&w->body, ",");
}

static void put_if(writer *w, const kni_program_node *n)
{
    kni_buffer_text(&w->body, "{\"if\":");
    put_ids(w, kni_node_in(w->p, n), 1);
    kni_buffer_text(&w->body, ",\"then\":");
    put_region(w, n->regions[0]);
    kni_buffer_text(&w->body, ",\"else\":");
    put_region(w, n->regions[1]);
    kni_buffer_text(&w->body, ",");
}

static void put_call(writer *w, const kni_program_node *n)
{
    kni_buffer_text(&w->body, "{\"call\":");
    put_text(&w->body, kni_name_at(w->p, w->p->regions[n->regions[0]].name));
    kni_buffer_text(&w->body, ",\"in\":");
    put_ids(w, kni_node_in(w->p, n), n->n_in);
    kni_buffer_text(&w->body, ",");
}

static void put_region(writer *w, int32_t region)
{
    static void (*const kinds[])(writer *, const kni_program_node *) = {[KNI_NODE_OP] = put_op,
                                                                        [KNI_NODE_IF] = put_if,
                                                                        [KNI_NODE_LOOP] = put_loop,
                                                                        [KNI_NODE_CALL] = put_call};
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

static void put_functions(writer *w)
{
    int32_t n = 0;
    kni_buffer_text(&w->body, "\"functions\":[");
    for (int32_t i = 1; i < w->p->n_regions && !w->status; i++) {
        if (w->p->regions[i].name < 0) continue;
        separate(&w->body, n++);
        kni_buffer_text(&w->body, "{\"name\":");
        put_text(&w->body, kni_name_at(w->p, w->p->regions[i].name));
        kni_buffer_text(&w->body, ",\"region\":");
        put_region(w, i);
        kni_buffer_text(&w->body, "}");
    }
    if (n > KNI_PROGRAM_FUNCTIONS)
        fail_with(w, kni_fail(KN_ERROR_UNSUPPORTED, "%s: %d functions; a file has at most %d", w->function, n,
                              (int)KNI_PROGRAM_FUNCTIONS));
    kni_buffer_text(&w->body, "],\n");
}

/* ---- the whole */

/* The rows that were met, by number and so always in one order, with the versions of their attributes. */
static void put_ops(writer *w)
{
    int32_t n = 0;
    kni_buffer_text(&w->head, "\"ops\":{");
    for (int32_t i = 0; i <= UINT16_MAX; i++) {
        if (!(w->used[i / 8] >> i % 8 & 1)) continue;
        const kn_op *row = NULL;
        for (int32_t k = 0; k < w->p->n_nodes && !row; k++)
            if (w->p->nodes[k].kind == KNI_NODE_OP && w->p->nodes[k].row->number == i)
                row = w->p->nodes[k].row;
        if (!row) continue;
        separate(&w->head, n++);
        put_text(&w->head, row->name);
        kni_buffer_text(&w->head, ":");
        kni_buffer_decimal(&w->head, kni_op_version(row));
    }
    kni_buffer_text(&w->head, "},\n");
}

static void put_outputs(writer *w)
{
    char made[MADE];
    kni_buffer_text(&w->body, ",\n\"outputs\":[");
    for (int32_t i = 0; i < w->p->n_outputs; i++) {
        separate(&w->body, i);
        put_text(&w->body, output_name(w, i, made));
    }
    kni_buffer_text(&w->body, "]}");
}

static void put_program(writer *w)
{
    kni_buffer_text(&w->head, "{\"version\":");
    kni_buffer_decimal(&w->head, KNI_PROGRAM_VERSION);
    kni_buffer_text(&w->head, w->p->loose ? ",\"loose\":true" : "");
    if (w->p->draws) {
        kni_buffer_text(&w->head, ",\"draws\":");
        kni_buffer_decimal(&w->head, (int64_t)w->p->draws);
    }
    kni_buffer_text(&w->head, ",\n");
    put_sizes(w);
    put_inputs(w);
    if (!w->status) put_params(w);
    if (!w->status) put_constants(w);
    if (!w->status) put_functions(w);
    kni_buffer_text(&w->body, "\"program\":");
    if (!w->status) put_region(w, 0);
    put_outputs(w);
    put_ops(w);
    kni_buffer_append(&w->head, w->body.data, w->body.length);
    if (w->head.failed || w->body.failed) fail_with(w, no_memory(w->function));
}

static void put_metadata(writer *w)
{
    const char *const *m = w->args->metadata;
    for (; m && m[0] && !w->status; m += 2) {
        if (!m[1] || !strncmp(m[0], KNI_PROGRAM_RESERVED, strlen(KNI_PROGRAM_RESERVED)))
            fail_with(w,
                      kni_fail(KN_ERROR_ARGUMENT, "%s: the text '%s' is missing, or its name is Kiln's own",
                               w->function, m[0]));
        else
            fail_with(w, kn_state_put_text(w->state, m[0], m[1]));
        if (!m[1]) return;
    }
}

/* The state that is written: the caller frees it. NULL with the failure told. */
static kn_state state_of(kni_program *p, const kn_program_save_args *args, const char *function)
{
    static const kn_program_save_args none = KN_PROGRAM_SAVE_ARGS_DEFAULTS;
    writer *w = calloc(1, sizeof *w);
    size_t n = (size_t)p->n_values + 1;
    if (!w) return no_memory(function), NULL;
    w->p = p, w->args = args ? args : &none, w->function = function;
    w->ids = malloc(n * sizeof *w->ids), w->named = malloc(n * sizeof *w->named);
    w->state = kn_state_make();
    if (!w->ids || !w->named || !w->state) fail_with(w, no_memory(function));
    for (size_t i = 0; i < n && !w->status; i++) w->ids[i] = w->named[i] = -1;
    if (!w->status && w->args->module.type) fail_with(w, kn_module_visit(w->args->module, name_param, w));
    kni_dims *before = kni_dims_enter(p->dims);
    check_ports(w, p->n_inputs, "input", input_name);
    check_ports(w, p->n_outputs, "output", output_name);
    if (!w->status) put_program(w);
    kni_dims_enter(before);
    if (!w->status) put_metadata(w);
    if (!w->status) fail_with(w, kn_state_put_text(w->state, KNI_PROGRAM_TEXT, kni_buffer_string(&w->head)));
    kn_state state = w->state;
    if (w->status) kn_state_free(state), state = NULL;
    kni_buffer_free(&w->head), kni_buffer_free(&w->body), kni_buffer_free(&w->names);
    free(w->ids), free(w->named), free(w);
    return state;
}

kn_status kn_program_save(kn_program program, const char *path, const kn_program_save_args *args)
{
    KNI_USE(program, p, program);
    if (!p) return KNI_NO_OBJECT(program);
    if (!path) return kni_fail(KN_ERROR_ARGUMENT, "kn_program_save: the path is NULL");
    kn_state state = state_of(p, args, __func__);
    if (!state) return kni_latest_code();
    kn_status s = kn_state_write(state, path, KN_STORE_SAFETENSORS);
    kn_state_free(state);
    return s;
}

kn_status kn_program_save_memory(kn_program program, void **data, size_t *bytes,
                                 const kn_program_save_args *args)
{
    if (data) *data = NULL;
    if (bytes) *bytes = 0;
    KNI_USE(program, p, program);
    if (!p) return KNI_NO_OBJECT(program);
    if (!data || !bytes)
        return kni_fail(KN_ERROR_ARGUMENT, "kn_program_save_memory: the place for data or bytes is NULL");
    kn_state state = state_of(p, args, __func__);
    if (!state) return kni_latest_code();
    kn_status s = kn_state_write_memory(state, data, bytes, KN_STORE_SAFETENSORS);
    kn_state_free(state);
    return s;
}
