/* kn_save and kn_module_save: the params of a module to a file or a state, each tied one once. */
#define _POSIX_C_SOURCE 200809L
#include "core/dtype.h"
#include "core/past.h"
#include "store/name_rules.h"
#include "store/save_adapters.h"
#include "support/failure.h"
#include "support/module_ready.h"
#include <kn/nn/attention_layers.h>
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

static const kn_save_args default_args;

typedef struct saving {
    const kn_save_args *args;
    kni_name_rules rules, cast_rules;
    kni_store_writing w;
    kni_save_source *sources; /* beside the values: where each is from */
    int64_t capacity;
    kni_buffer name;
} saving;

static kn_status make_room(saving *s)
{
    if (s->w.count < s->capacity) return KN_OK;
    int64_t capacity = s->capacity ? s->capacity * 2 : 64;
    kni_store_value *values = realloc(s->w.values, (size_t)capacity * sizeof *values);
    if (values) s->w.values = values;
    kni_save_source *sources = values ? realloc(s->sources, (size_t)capacity * sizeof *sources) : NULL;
    if (!sources) return kni_failure_memory("kn_save");
    s->sources = sources;
    s->capacity = capacity;
    return KN_OK;
}

static kn_status add_value(void *context, const kn_module_entry *entry)
{
    saving *s = context;
    if (entry->tied || !kni_name_rules_take(&s->rules, entry->path)) return KN_OK;
    kn_status status = make_room(s);
    if (status) return status;
    char *name = strdup(entry->path);
    if (!name) return kni_failure_memory("kn_save");
    kn_tensor value = kn_value(*entry->param);
    kn_dtype dtype = kn_dtype_of(value);
    if (s->args->cast && kn_dtype_is_float(dtype) && kni_name_rules_take(&s->cast_rules, entry->path))
        dtype = s->args->cast;
    s->sources[s->w.count] = (kni_save_source){entry->parent == &kn_nn_attention_type, KN_NONE};
    s->w.values[s->w.count++] = (kni_store_value){.name = name, .tensor = value, .dtype = dtype};
    return KN_OK;
}

static kn_status rename_values(saving *s)
{
    kn_status status = KN_OK;
    for (int64_t i = 0; i < s->w.count && !status; i++) {
        status = kni_name_rules_rename(&s->rules, s->w.values[i].name, &s->name);
        char *name = status ? NULL : strdup(kni_buffer_string(&s->name));
        if (!status && !name) status = kni_failure_memory("kn_save");
        if (status) break;
        free((void *)(uintptr_t)s->w.values[i].name);
        s->w.values[i].name = name;
    }
    return status;
}

static kn_status add_texts(saving *s)
{
    const char *const *list = s->args->metadata;
    int64_t count = 0;
    while (list && list[count]) count++;
    if (count % 2)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_save: the metadata '%s' has no text", list[count - 1]);
    s->w.texts = calloc((size_t)count / 2 + 1, sizeof *s->w.texts);
    if (!s->w.texts) return kni_failure_memory("kn_save");
    for (int64_t i = 0; i < count; i += 2)
        s->w.texts[s->w.text_count++] =
            (kni_store_text){(char *)(uintptr_t)list[i], (char *)(uintptr_t)list[i + 1], 0};
    return KN_OK;
}

kn_status kn_save(kn_module module, const char *path, const kn_save_args *args)
{
    KNI_NAMED;
    saving s = {.args = args ? args : &default_args, .w = {.path = path}};
    if (!module.self || !module.type || !path)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_save: the module or the path is NULL");
    if (s.args->cast && !kni_dtype_is_there(s.args->cast)) return kni_fail_dtype("save", s.args->cast);
    if (s.args->cast && !kni_is_float(s.args->cast))
        return kni_failure(KN_ERROR_DTYPE, "kn_save: floats cannot be stored as %s; cast to a float dtype",
                           kn_dtype_name(s.args->cast));
    kn_status status =
        kni_name_rules_make(&s.rules, "kn_save", s.args->include, s.args->exclude, s.args->renames);
    if (!status) status = kni_name_rules_make(&s.cast_rules, "kn_save", NULL, s.args->cast_exclude, NULL);
    if (!status) status = add_texts(&s);
    if (!status) status = kni_module_filled(module, "kn_save");
    if (!status) status = kn_module_visit(module, add_value, &s);
    if (!status && !s.args->no_adapters) status = kni_save_adapt(&s.w, s.sources);
    if (!status) status = rename_values(&s);
    /* Writing sorts the values, so what was made for them is found by its source. */
    int64_t count = s.w.count;
    if (!status) status = kni_store_write(&s.w, s.args->format);
    for (int64_t i = 0; i < count; i++) {
        free((void *)(uintptr_t)s.w.values[i].name);
        kn_drop(s.sources[i].made);
    }
    free(s.w.values);
    free(s.sources);
    free(s.w.texts);
    kni_buffer_free(&s.name);
    kni_name_rules_free(&s.rules);
    kni_name_rules_free(&s.cast_rules);
    return status;
}

/* ---- states */

typedef struct keeping {
    kn_state state;
    const char *prefix;
} keeping;

static kn_status keep_value(void *context, const kn_module_entry *entry)
{
    const keeping *k = context;
    return entry->tied ? KN_OK : kn_state_put(k->state, k->prefix, entry->path, kn_value(*entry->param));
}

kn_status kn_module_save(kn_module module, kn_state state, const char *prefix)
{
    keeping k = {state, prefix ? prefix : ""};
    KNI_USE_OTHER(state, there, state);
    if (!there) return KNI_NO_OBJECT(state);
    if (!module.self || !module.type)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_module_save: the module is NULL");
    kn_status status = kni_module_ready(module, "kn_module_save");
    return status ? status : kn_module_visit(module, keep_value, &k);
}
