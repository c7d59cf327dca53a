/* kn_program_save: the program as JSON in the metadata of a safetensors file, its weights and constants as the tensors. */
#include "program/program_save.h"
#include "core/dim_symbols.h"
#include "core/error.h"
#include "core/text.h"
#include <kn/state.h>
#include <kn/store.h>
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

/* ---- sizes */

static void put_sizes(kni_program_writing *w)
{
    uint32_t at = 0;
    kn_dim d;
    kni_buffer_text(&w->head, "\"sizes\":[");
    for (int32_t i = 0; (d = kni_dim_symbol_next(&at)) != KNI_DIM_BAD; i++) {
        kni_write_comma(&w->head, i);
        kni_buffer_text(&w->head, "{\"name\":");
        kni_write_text(&w->head, kni_dim_name(d));
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
static void put_value(kni_program_writing *w, int32_t value)
{
    w->ids[value] = w->next++;
    kni_buffer_text(&w->head, "\"id\":");
    kni_buffer_decimal(&w->head, w->ids[value]);
    kni_buffer_text(&w->head, ",\"type\":");
    kni_write_type(w, &w->head, &w->p->values[value].type);
    kni_buffer_text(&w->head, "}");
}

/* The name of an input or output: the caller's, its own, or a made-up one. */
static const char *port_name(const kni_program_writing *w, const char *const *given, int32_t own,
                             const char *word, int32_t i, char *made, size_t n)
{
    if (given && given[i]) return given[i];
    if (own >= 0) return kni_name_at(w->p, own);
    kni_text text = {made, n, 0};
    kni_text_format(&text, "%s%d", word, i);
    return made;
}

enum { MADE = 32 };

static const char *input_name(const kni_program_writing *w, int32_t i, char *made)
{
    return port_name(w, w->args->inputs, w->p->input_names[i], "input", i, made, MADE);
}

static const char *output_name(const kni_program_writing *w, int32_t i, char *made)
{
    return port_name(w, w->args->outputs, w->p->output_names[i], "output", i, made, MADE);
}

static void check_ports(kni_program_writing *w, int32_t n, const char *word,
                        const char *(*name_of)(const kni_program_writing *w, int32_t i, char *made))
{
    char first[MADE], second[MADE];
    if (n > KNI_PROGRAM_PORTS)
        kni_write_failed(w, kni_fail(KN_ERROR_UNSUPPORTED, "%s: %d %ss; a file has at most %d", w->function,
                                     n, word, (int)KNI_PROGRAM_PORTS));
    for (int32_t i = 0; i < n && !w->status; i++) {
        const char *name = name_of(w, i, first);
        if (!*name || !kni_json_is_text(name, strlen(name)))
            kni_write_failed(
                w, kni_fail(KN_ERROR_ARGUMENT, "%s: '%s' is no name of an %s", w->function, name, word));
        for (int32_t k = 0; k < i && !w->status; k++)
            if (!strcmp(name, name_of(w, k, second)))
                kni_write_failed(
                    w, kni_fail(KN_ERROR_ARGUMENT, "%s: two %ss are called '%s'", w->function, word, name));
    }
}

static void put_inputs(kni_program_writing *w)
{
    char made[MADE];
    kni_buffer_text(&w->head, "\"inputs\":[");
    for (int32_t i = 0; i < w->p->n_inputs; i++) {
        int32_t v = w->p->inputs[i];
        kni_write_comma(&w->head, i);
        kni_buffer_text(&w->head, "{\"name\":");
        kni_write_text(&w->head, input_name(w, i, made));
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
static const char *param_name(kni_program_writing *w, int32_t value, char *made)
{
    if (w->named[value] >= 0) return w->names.data + w->named[value];
    if (w->p->values[value].name >= 0) return kni_name_at(w->p, w->p->values[value].name);
    do {
        kni_text text = {made, MADE, 0};
        kni_text_format(&text, "param%d", w->n_made++);
    } while (kn_state_get(w->state, "", made).bits);
    return made;
}

static void keep_tensor(kni_program_writing *w, int32_t value, const char *name)
{
    if (w->p->values[value].origin == KNI_FROM_PARAM &&
        (!*name || !strncmp(name, KNI_PROGRAM_RESERVED, strlen(KNI_PROGRAM_RESERVED))))
        kni_write_failed(w, kni_fail(KN_ERROR_ARGUMENT,
                                     "%s: a param cannot be called '%s': names with '%s' are "
                                     "Kiln's own",
                                     w->function, name, KNI_PROGRAM_RESERVED));
    else if (kn_state_get(w->state, "", name).bits)
        kni_write_failed(w, kni_fail(KN_ERROR_ARGUMENT, "%s: two params are called '%s'", w->function, name));
    else
        kni_write_failed(w, kn_state_put(w->state, "", name, w->p->values[value].tensor));
}

static void put_tensor(kni_program_writing *w, int32_t value, const char *name)
{
    keep_tensor(w, value, name);
    kni_buffer_text(&w->head, "{\"tensor\":");
    kni_write_text(&w->head, name);
    const kni_program_value *v = &w->p->values[value];
    if (v->origin == KNI_FROM_CONSTANT && v->name >= 0) {
        kni_buffer_text(&w->head, ",\"name\":");
        kni_write_text(&w->head, kni_name_at(w->p, v->name));
    }
    if (v->buffer) kni_buffer_text(&w->head, ",\"buffer\":true");
    kni_buffer_text(&w->head, v->type.weak ? ",\"weak\":true," : ",");
    put_value(w, value);
}

/* Those with names come first, so that none of them is taken by a made-up one. */
static void put_params(kni_program_writing *w)
{
    char made[MADE];
    int32_t n = 0;
    kni_buffer_text(&w->head, "\"params\":[");
    for (int pass = 0; pass < 2; pass++)
        for (int32_t i = 0; i < w->p->n_values && !w->status; i++) {
            const kni_program_value *v = &w->p->values[i];
            if (v->origin != KNI_FROM_PARAM || !v->tensor.bits) continue;
            if ((w->named[i] < 0 && v->name < 0) != pass) continue;
            kni_write_comma(&w->head, n++);
            put_tensor(w, i, param_name(w, i, made));
        }
    kni_buffer_text(&w->head, "],\n");
}

static void put_constants(kni_program_writing *w)
{
    char name[MADE];
    kni_buffer_text(&w->head, "\"constants\":[");
    for (int32_t i = 0; i < w->p->n_values && !w->status; i++) {
        const kni_program_value *v = &w->p->values[i];
        if (v->origin != KNI_FROM_CONSTANT || !v->tensor.bits) continue;
        kni_text text = {name, sizeof name, 0};
        kni_text_format(&text, KNI_PROGRAM_CONSTANT "%d", w->n_constants);
        kni_write_comma(&w->head, w->n_constants++);
        put_tensor(w, i, name);
    }
    kni_buffer_text(&w->head, "],\n");
}

/* The paths of a trace's params in the module. */
static kn_status name_param(void *context, const kn_module_entry *entry)
{
    kni_program_writing *w = context;
    for (int32_t i = 0; i < w->p->n_values; i++) {
        const kni_program_value *v = &w->p->values[i];
        if (v->origin != KNI_FROM_PARAM || v->tensor.bits != kn_value(*entry->param).bits) continue;
        if (w->named[i] >= 0 || w->names.length > INT32_MAX / 2) continue; /* the first path of a tied one */
        w->named[i] = (int32_t)w->names.length;
        kni_buffer_append(&w->names, entry->path, strlen(entry->path) + 1);
    }
    return w->names.failed ? kni_write_no_memory(w->function) : KN_OK;
}

/* ---- the whole */

/* The rows that were met, by number and so always in one order, with the versions of their attributes. */
static void put_ops(kni_program_writing *w)
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
        kni_write_comma(&w->head, n++);
        kni_write_text(&w->head, row->name);
        kni_buffer_text(&w->head, ":");
        kni_buffer_decimal(&w->head, kni_op_version(row));
    }
    kni_buffer_text(&w->head, "},\n");
}

static void put_outputs(kni_program_writing *w)
{
    char made[MADE];
    kni_buffer_text(&w->body, ",\n\"outputs\":[");
    for (int32_t i = 0; i < w->p->n_outputs; i++) {
        kni_write_comma(&w->body, i);
        kni_write_text(&w->body, output_name(w, i, made));
    }
    kni_buffer_text(&w->body, "]}");
}

static void put_program(kni_program_writing *w)
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
    if (!w->status) kni_write_functions(w);
    kni_buffer_text(&w->body, "\"program\":");
    if (!w->status) kni_write_region(w, 0);
    put_outputs(w);
    put_ops(w);
    kni_buffer_append(&w->head, w->body.data, w->body.length);
    if (w->head.failed || w->body.failed) kni_write_failed(w, kni_write_no_memory(w->function));
}

static void put_metadata(kni_program_writing *w)
{
    const char *const *m = w->args->metadata;
    for (; m && m[0] && !w->status; m += 2) {
        if (!m[1] || !strncmp(m[0], KNI_PROGRAM_RESERVED, strlen(KNI_PROGRAM_RESERVED)))
            kni_write_failed(w, kni_fail(KN_ERROR_ARGUMENT,
                                         "%s: the text '%s' is missing, or its name is Kiln's own",
                                         w->function, m[0]));
        else
            kni_write_failed(w, kn_state_put_text(w->state, m[0], m[1]));
        if (!m[1]) return;
    }
}

/* The state that is written: the caller frees it. NULL with the failure told. */
static kn_state state_of(kni_program *p, const kn_program_save_args *args, const char *function)
{
    static const kn_program_save_args none = KN_PROGRAM_SAVE_ARGS_DEFAULTS;
    kni_program_writing *w = calloc(1, sizeof *w);
    size_t n = (size_t)p->n_values + 1;
    if (!w) return kni_write_no_memory(function), NULL;
    w->p = p, w->args = args ? args : &none, w->function = function;
    w->ids = malloc(n * sizeof *w->ids), w->named = malloc(n * sizeof *w->named);
    w->state = kn_state_make();
    if (!w->ids || !w->named || !w->state) kni_write_failed(w, kni_write_no_memory(function));
    for (size_t i = 0; i < n && !w->status; i++) w->ids[i] = w->named[i] = -1;
    if (!w->status && w->args->module.type)
        kni_write_failed(w, kn_module_visit(w->args->module, name_param, w));
    kni_dims *before = kni_dims_enter(p->dims);
    check_ports(w, p->n_inputs, "input", input_name);
    check_ports(w, p->n_outputs, "output", output_name);
    if (!w->status) put_program(w);
    kni_dims_enter(before);
    if (!w->status) put_metadata(w);
    if (!w->status)
        kni_write_failed(w, kn_state_put_text(w->state, KNI_PROGRAM_TEXT, kni_buffer_string(&w->head)));
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
