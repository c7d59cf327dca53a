/* kn_program_load: a program from the metadata of a safetensors file, with its tensors. The file is treated as hostile. */
#include "core/allocator.h"
#include "core/dim_symbols.h"
#include "core/error.h"
#include "program/program_file.h"
#include "support/damage.h"
#include <kn/store.h>
#include <kn/tensor.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- failures */

static kn_status tell(const kni_program_reading *r, kn_status code, const char *word, const char *text)
{
    char plain[400];
    kni_escape(plain, sizeof plain, text);
    return kni_fail(code, "%s: %s%s%s%s", r->file, word, r->where, *r->where ? ": " : "", plain);
}

/* Sizes that there was no memory for look like nonsense. */
static kn_status damaged(const kni_program_reading *r, const char *text)
{
    if (kni_dims_are_full(r->p->dims)) return tell(r, KN_ERROR_MEMORY, "", "no memory for the sizes");
    kni_damage_note();
    return tell(r, KN_ERROR_IO, "damaged: ", text);
}

kn_status kni_program_damaged(const kni_program_reading *r, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return damaged(r, text);
}

kn_status kni_program_unknown(const kni_program_reading *r, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return tell(r, KN_ERROR_UNSUPPORTED, "", text);
}

kn_status kni_program_refused(const kni_program_reading *r, kn_status s)
{
    char text[400];
    snprintf(text, sizeof text, "%s", kni_failure_taken());
    return s == KN_ERROR_MEMORY ? tell(r, s, "", text) : damaged(r, text);
}

/* ---- members, sizes, types */

const kni_json *kni_program_list(const kni_program_reading *r, const kni_json *of, const char *name)
{
    const kni_json *list = kni_json_member(of, name);
    if (list && list->kind == KNI_JSON_ARRAY) return list;
    kni_program_damaged(r, "the list '%s' is missing", name);
    return NULL;
}

const char *kni_program_name_of(const kni_program_reading *r, const kni_json *of, const char *name)
{
    const kni_json *text = kni_json_member(of, name);
    if (text && text->kind == KNI_JSON_TEXT && text->length && strlen(text->text) == text->length)
        return text->text;
    kni_program_damaged(r, "the text '%s' is missing", name);
    return NULL;
}

static bool is_whole(const kni_json *json) { return json && json->kind == KNI_JSON_NUMBER && json->whole; }

kn_status kni_program_read_size(const kni_program_reading *r, const kni_json *json, bool any, kn_dim *size)
{
    kni_dims *before = kni_dims_enter(r->p->dims);
    int32_t symbols = kni_dim_symbol_count();
    const char *at = json && json->kind == KNI_JSON_TEXT ? json->text : NULL;
    kn_status s = KN_OK;
    if (at) {
        *size = kni_dim_parse(&at);
        if (*size == KNI_DIM_BAD || *at || kni_dim_symbol_count() != symbols)
            s = kni_program_damaged(r, "'%.100s' is no size of the program", json->text);
    } else {
        *size = is_whole(json) ? json->integer : -1;
        if (!is_whole(json) || (*size < 0 && !any))
            s = kni_program_damaged(r, "a size or whole number is missing or out of range");
        else if (kni_dim_is_expression(*size))
            s = kni_program_damaged(r, "a size or whole number is out of range: %lld", (long long)*size);
    }
    kni_dims_enter(before);
    return s;
}

kn_status kni_program_read_type(const kni_program_reading *r, const kni_json *json, kni_type *type)
{
    const kni_json *dtype = json && json->kind == KNI_JSON_ARRAY ? json->first : NULL;
    *type = (kni_type){0};
    if (!dtype || dtype->kind != KNI_JSON_TEXT || json->count - 1 > KN_MAX_RANK)
        return kni_program_damaged(r, "a type is no list of a dtype and at most %d sizes", KN_MAX_RANK);
    type->dtype = (uint8_t)kn_dtype_by_name(dtype->text);
    if (!kni_dtype_is_there((kn_dtype)type->dtype))
        return kni_program_unknown(r, "no dtype is called '%.40s': it needs a later Kiln", dtype->text);
    kn_status s = KN_OK;
    for (const kni_json *size = dtype->next; size && s == KN_OK; size = size->next)
        s = kni_program_read_size(r, size, false, &type->dims[type->rank++]);
    return s;
}

kn_status kni_program_compare(const kni_program_reading *r, const kni_json *id, const kni_json *type,
                              int32_t value)
{
    kni_type t;
    const kni_type *have = &r->p->values[value].type;
    if (!is_whole(id) || id->integer != value)
        return kni_program_damaged(r, "value %d is due here, and the file has another number", (int)value);
    kn_status s = kni_program_read_type(r, type, &t);
    bool same = s == KN_OK && t.dtype == have->dtype && t.rank == have->rank;
    for (int a = 0; a < t.rank && same; a++) same = t.dims[a] == have->dims[a];
    if (s || same) return s;
    kni_dims *before = kni_dims_enter(r->p->dims);
    kni_damage_note();
    s = kni_fail(KN_ERROR_IO, "%s: damaged: %s: value %d is %T%S, but the file says %T%S", r->file, r->where,
                 value, (int)have->dtype, have, (int)t.dtype, &t);
    kni_dims_enter(before);
    return s;
}

/* ---- what stands before the nodes */

static kn_status read_version(kni_program_reading *r, const kni_json *root)
{
    const kni_json *version = kni_json_member(root, "version"), *draws = kni_json_member(root, "draws"),
                   *loose = kni_json_member(root, "loose");
    if (root->kind != KNI_JSON_OBJECT || !is_whole(version) || version->integer < 1)
        return kni_program_damaged(r, "the program has no version");
    if (version->integer > KNI_PROGRAM_VERSION)
        return kni_program_unknown(
            r, "written by a later Kiln (program version %lld; this one reads up to %d): update Kiln",
            (long long)version->integer, (int)KNI_PROGRAM_VERSION);
    if ((draws && (!is_whole(draws) || draws->integer < 0)) || (loose && loose->kind != KNI_JSON_BOOL))
        return kni_program_damaged(r, "'draws' is no count, or 'loose' no truth");
    r->p->draws = draws ? (uint64_t)draws->integer : 0;
    r->p->loose = loose && loose->truth;
    r->versions = kni_json_member(root, "ops");
    return KN_OK;
}

static kn_status read_sizes(kni_program_reading *r, const kni_json *root)
{
    const kni_json *list = kni_program_list(r, root, "sizes");
    if (!list) return KN_ERROR_IO;
    kni_dims *before = kni_dims_enter(r->p->dims);
    kn_status s = KN_OK;
    int32_t n = 0;
    for (const kni_json *size = list->first; size && s == KN_OK; size = size->next) {
        const kni_json *low = kni_json_member(size, "low"), *high = kni_json_member(size, "high");
        const char *name = kni_program_name_of(r, size, "name");
        if (!name)
            s = KN_ERROR_IO;
        else if (!is_whole(low) || (high && !is_whole(high)) ||
                 kni_dim_symbol(name, low->integer, high ? high->integer : INT64_MAX) == KNI_DIM_BAD ||
                 kni_dim_symbol_count() != ++n)
            s = kni_program_damaged(r, "the size '%.60s' has no valid name or bounds, or stands there twice",
                                    name);
    }
    kni_dims_enter(before);
    return s;
}

/* The value to come, which the entry of a list tells; -1 with the failure told. */
static int32_t read_value(kni_program_reading *r, const kni_json *entry, kni_origin origin, const char *name)
{
    kni_type type;
    const kni_json *id = kni_json_member(entry, "id");
    if (!is_whole(id) || id->integer != r->p->n_values) {
        kni_program_damaged(r, "value %d is due here, and the file has another number", (int)r->p->n_values);
        return -1;
    }
    if (kni_program_read_type(r, kni_json_member(entry, "type"), &type)) return -1;
    int32_t value = kni_build_value(r->p, origin, &type, 0, name);
    if (value < 0) kni_program_refused(r, KN_ERROR_MEMORY);
    return value;
}

/* Room for the numbers of inputs or outputs; false with the failure told. */
static bool port_room(const kni_program_reading *r, const kni_json *list, int32_t **numbers)
{
    if (list->count > KNI_PROGRAM_PORTS) {
        kni_program_damaged(r, "%lld inputs or outputs; at most %d are possible", (long long)list->count,
                            (int)KNI_PROGRAM_PORTS);
        return false;
    }
    *numbers = kni_allocate((size_t)list->count * sizeof **numbers);
    if (!*numbers) kni_fail(KN_ERROR_MEMORY, "%s: no memory for the inputs and outputs", r->file);
    return *numbers != NULL;
}

static bool is_new_name(const kni_program_reading *r, const int32_t *names, int32_t n, const char *name)
{
    for (int32_t i = 0; i < n; i++)
        if (!strcmp(kni_name_at(r->p, names[i]), name)) {
            kni_program_damaged(r, "another one has this name");
            return false;
        }
    return true;
}

static kn_status read_input(kni_program_reading *r, const kni_json *entry, int32_t i)
{
    kni_program *p = r->p;
    snprintf(r->where, sizeof r->where, "input %d", (int)i);
    const char *name = kni_program_name_of(r, entry, "name");
    if (!name) return KN_ERROR_IO;
    snprintf(r->where, sizeof r->where, "input '%.60s'", name);
    if (!is_new_name(r, p->input_names, i, name)) return KN_ERROR_IO;
    p->inputs[i] = -1;
    p->input_names[i] = kni_program_name(p, name);
    if (p->input_names[i] < 0) return kni_fail(KN_ERROR_MEMORY, "%s: no memory for the names", r->file);
    if (!kni_json_member(entry, "id")) return KN_OK; /* no op reads it */
    p->inputs[i] = read_value(r, entry, KNI_FROM_INPUT, name);
    if (p->inputs[i] < 0) return KN_ERROR_IO;
    p->values[p->inputs[i]].number = i;
    return KN_OK;
}

static kn_status read_inputs(kni_program_reading *r, const kni_json *root)
{
    kni_program *p = r->p;
    const kni_json *list = kni_program_list(r, root, "inputs");
    if (!list || !port_room(r, list, &p->inputs)) return KN_ERROR_IO;
    p->n_inputs = (int32_t)list->count;
    if (!port_room(r, list, &p->input_names)) return KN_ERROR_MEMORY;
    kn_status s = KN_OK;
    int32_t i = 0;
    for (const kni_json *entry = list->first; entry && s == KN_OK; entry = entry->next)
        s = read_input(r, entry, i++);
    return s;
}

/* ---- tensors */

/* A number as C has them, beside which the other operand keeps its dtype. */
static kn_tensor weak_number(kn_tensor t)
{
    unsigned char bytes[8] = {0};
    kn_dtype dtype = kn_dtype_of(t);
    if (kn_read(t, bytes, (size_t)kn_dtype_bytes(dtype, 1))) return kni_poison_latest();
    kn_tensor y = kn_scalar_int(0, dtype);
    kni_tensor *slot = kni_is_poisoned(y) ? NULL : kni_peek(y);
    if (!slot) return y;
    memcpy(slot->inline_value.bytes, bytes, sizeof bytes);
    slot->type.weak = 1;
    return y;
}

/* What C's numbers become beside a tensor. */
static bool may_be_weak(const kni_type *t)
{
    const uint32_t dtypes = KNI_BIT(KN_F64) | KNI_BIT(KN_F32) | KNI_BIT(KN_I64) | KNI_BIT(KN_U64);
    return t->rank == 0 && dtypes >> t->dtype & 1;
}

/* The tensor of a value; its type must be the one that the program has for it. */
static kn_status fetch(const kni_program_reading *r, kn_store store, int64_t index, int32_t value, bool weak)
{
    kni_program_value *v = &r->p->values[value];
    kn_store_entry entry;
    bool same = kn_store_at(store, index, &entry) && entry.dtype == (kn_dtype)v->type.dtype &&
                entry.shape.rank == v->type.rank && (!weak || may_be_weak(&v->type));
    for (int a = 0; a < v->type.rank && same; a++) same = entry.shape.dims[a] == v->type.dims[a];
    if (!same)
        return kni_program_damaged(r, "the tensor has another dtype or shape than value %d of the program",
                                   (int)value);
    kn_tensor t = kn_store_tensor(store, index);
    if (weak && !kni_is_poisoned(t)) t = weak_number(t);
    if (kni_is_poisoned(t)) return kni_fail_again(t, "program_load");
    v->type.weak = weak;
    v->tensor = kn_own(t);
    return kni_is_poisoned(v->tensor) ? kni_fail_again(v->tensor, "program_load") : KN_OK;
}

static kn_status read_tensor(kni_program_reading *r, kn_store store, const kni_json *entry, kni_origin origin,
                             bool *taken)
{
    const kni_json *weak = kni_json_member(entry, "weak"), *buffer = kni_json_member(entry, "buffer");
    snprintf(r->where, sizeof r->where, "value %d", (int)r->p->n_values);
    const char *name = kni_program_name_of(r, entry, "tensor");
    if (!name) return KN_ERROR_IO;
    snprintf(r->where, sizeof r->where, "tensor '%.60s'", name);
    int64_t index = kn_store_find(store, name);
    if (index < 0 || taken[index])
        return kni_program_damaged(r, index < 0 ? "it is not in the file" : "two values are made of it");
    taken[index] = true;
    int32_t value = read_value(r, entry, origin, origin == KNI_FROM_PARAM ? name : NULL);
    if (value < 0) return kni_latest_code();
    r->p->values[value].buffer = origin == KNI_FROM_PARAM && buffer && buffer->truth;
    kn_status s = KN_OK;
    if (origin == KNI_FROM_CONSTANT) s = kni_program_read_name(r, kni_json_member(entry, "name"), value);
    return s ? s : fetch(r, store, index, value, weak && weak->truth);
}

static kn_status read_tensors(kni_program_reading *r, kn_store store, const kni_json *root)
{
    bool *taken = calloc((size_t)kn_store_count(store) + 1, sizeof *taken);
    if (!taken) return kni_fail(KN_ERROR_MEMORY, "%s: no memory for the list of tensors", r->file);
    kn_status s = KN_OK;
    for (int pass = 0; pass < 2 && s == KN_OK; pass++) {
        const kni_json *list = kni_program_list(r, root, pass ? "constants" : "params");
        if (!list) s = KN_ERROR_IO;
        for (const kni_json *entry = list ? list->first : NULL; entry && s == KN_OK; entry = entry->next)
            s = read_tensor(r, store, entry, pass ? KNI_FROM_CONSTANT : KNI_FROM_PARAM, taken);
    }
    free(taken);
    return s;
}

/* ---- functions, outputs */

static kn_status read_functions(kni_program_reading *r, const kni_json *root)
{
    r->where[0] = 0;
    const kni_json *list = kni_program_list(r, root, "functions");
    if (!list) return KN_ERROR_IO;
    if (list->count > KNI_PROGRAM_FUNCTIONS)
        return kni_program_damaged(r, "%lld functions; at most %d are possible", (long long)list->count,
                                   (int)KNI_PROGRAM_FUNCTIONS);
    for (const kni_json *entry = list->first; entry; entry = entry->next) {
        const char *name = kni_program_name_of(r, entry, "name");
        const kni_json *json = kni_json_member(entry, "region");
        if (!name) return KN_ERROR_IO;
        snprintf(r->where, sizeof r->where, "function '%.60s'", name);
        for (int32_t i = 0; i < r->n_functions; i++)
            if (!strcmp(kni_name_at(r->p, r->p->regions[r->functions[i]].name), name))
                return kni_program_damaged(r, "another one has this name");
        int32_t region = kni_build_region(r->p, -1, name);
        if (region < 0) return kni_program_refused(r, KN_ERROR_MEMORY);
        kn_status s = json ? kni_program_read_region(r, json, region, true)
                           : kni_program_damaged(r, "it has no region");
        if (s) return s;
        r->functions[r->n_functions++] = region; /* complete: from here on it can be called */
    }
    return KN_OK;
}

static kn_status read_outputs(kni_program_reading *r, const kni_json *root)
{
    kni_program *p = r->p;
    snprintf(r->where, sizeof r->where, "outputs");
    const kni_json *list = kni_program_list(r, root, "outputs");
    if (!list || !port_room(r, list, &p->output_names)) return KN_ERROR_IO;
    p->n_outputs = (int32_t)list->count;
    if (p->n_outputs != p->regions[0].n_results)
        return kni_program_damaged(r, "%d have names, but the program gives %d", (int)p->n_outputs,
                                   (int)p->regions[0].n_results);
    int32_t i = 0;
    for (const kni_json *name = list->first; name; name = name->next, i++) {
        if (name->kind != KNI_JSON_TEXT || !name->length || strlen(name->text) != name->length)
            return kni_program_damaged(r, "number %d has no name", (int)i);
        if (!is_new_name(r, p->output_names, i, name->text)) return KN_ERROR_IO;
        p->output_names[i] = kni_program_name(p, name->text);
        if (p->output_names[i] < 0) return kni_fail(KN_ERROR_MEMORY, "%s: no memory for the names", r->file);
    }
    return KN_OK;
}

/* ---- the whole */

static kn_status read_program(kni_program_reading *r, kn_store store, const kni_json *root)
{
    const kni_json *nodes = kni_json_member(root, "program");
    kn_status s = read_version(r, root);
    if (s == KN_OK) s = read_sizes(r, root);
    if (s == KN_OK) s = read_inputs(r, root);
    if (s == KN_OK) s = read_tensors(r, store, root);
    if (s == KN_OK) s = read_functions(r, root);
    r->where[0] = 0;
    if (s == KN_OK && !nodes) s = kni_program_damaged(r, "'program' is missing");
    if (s == KN_OK) s = kni_program_read_region(r, nodes, 0, false);
    if (s == KN_OK) s = read_outputs(r, root);
    if (s) return s;
    kni_program_settle(r->p);
    s = kni_program_check_sizes(r->p);
    return s ? kni_program_refused(r, s) : KN_OK;
}

static const char *program_text(kn_store store)
{
    const char *name, *text;
    for (int64_t i = 0; kn_store_text(store, i, &name, &text); i++)
        if (!strcmp(name, KNI_PROGRAM_TEXT)) return text;
    return NULL;
}

/* Reads the program of an open store, which is closed. */
static kn_program load(kn_store store, const char *file, const char *function)
{
    if (!store) return NULL;
    kni_program_reading *r = calloc(1, sizeof *r);
    const char *text = program_text(store);
    kni_json_document document = NULL;
    if (r) r->file = file, r->p = kni_program_new();
    if (!r || !r->p)
        kni_fail(KN_ERROR_MEMORY, "%s: no memory for a program", file);
    else if (!text)
        kni_fail(KN_ERROR_ARGUMENT, "%s: it holds no program, which is the text '%s' of the metadata", file,
                 KNI_PROGRAM_TEXT);
    else if (!(document = kni_json_parse(text, strlen(text), KNI_PROGRAM_TEXT)))
        kni_program_refused(r, kni_latest_code());
    kn_scope scope = kn_scope_begin();
    bool good = document && read_program(r, store, kni_json_root(document)) == KN_OK;
    kn_scope_end(scope, KN_NONE);
    kni_json_free(document);
    kn_store_close(store);
    kni_program *p = r ? r->p : NULL;
    free(r);
    if (good) return kni_object_make(&kni_kind_program, p, function);
    kni_program_destroy(p);
    return NULL;
}

static kn_store_args store_args(const kn_program_load_args *args)
{
    kn_store_args all = {.format = KN_STORE_SAFETENSORS};
    if (args) all.map = args->map, all.skip_checksum = args->skip_checksum;
    return all;
}

kn_program kn_program_load(const char *path, const kn_program_load_args *args)
{
    KNI_NAMED;
    kn_store_args all = store_args(args);
    if (!path) {
        kni_fail(KN_ERROR_ARGUMENT, "kn_program_load: the path is NULL");
        return NULL;
    }
    return load(kn_store_open(path, &all), path, __func__);
}

kn_program kn_program_load_memory(const void *data, size_t bytes, const kn_program_load_args *args)
{
    KNI_NAMED;
    kn_store_args all = store_args(args);
    if (!data) {
        kni_fail(KN_ERROR_ARGUMENT, "kn_program_load_memory: the data is NULL");
        return NULL;
    }
    return load(kn_store_open_memory(data, bytes, &all), "memory", __func__);
}
