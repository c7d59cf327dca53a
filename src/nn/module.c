/* What modules get for free: finding, counting, modes, freezing, moving, casting, mapping. */
#include "core/objects.h"
#include "core/past.h"
#include "nn/module_walk.h"
#include "support/failure.h"
#include "support/pattern.h"
#include "support/similar.h"
#include <kn/creation.h>
#include <kn/elementwise.h>
#include <kn/tensor.h>
#include <stdio.h>
#include <string.h>

/* ---- finding */

typedef struct search {
    const char *path;
    kn_param *found;
    size_t distance;
    char nearest[KN_MAX_PATH];
} search;

static kn_status compare(void *context, const kn_module_entry *entry)
{
    search *s = context;
    if (strcmp(entry->path, s->path) == 0) {
        s->found = entry->param;
        return KN_ERROR_INTERNAL; /* ends the walk */
    }
    size_t distance = kni_edit_distance(entry->path, s->path, s->distance - 1);
    if (distance < s->distance) {
        s->distance = distance;
        snprintf(s->nearest, sizeof s->nearest, "%s", entry->path);
    }
    return KN_OK;
}

kn_param *kn_module_find(kn_module module, const char *path)
{
    search s = {.path = path ? path : "", .distance = (size_t)-1};
    kn_status status = kni_module_visit(module, compare, &s, __func__);
    if (s.found) return s.found;
    if (status == KN_OK)
        (void)kni_failure(KN_ERROR_ARGUMENT, "kn_module_find: %s has no param '%.200s'%s%.200s%s",
                          module.type->name, s.path, s.nearest[0] ? "; the nearest is '" : "", s.nearest,
                          s.nearest[0] ? "'" : "");
    return NULL;
}

/* ---- counting */

typedef struct tally {
    bool all;
    int64_t sum;
} tally;

static kn_status add(void *context, const kn_module_entry *entry)
{
    tally *t = context;
    int64_t n = kn_count(kn_value(*entry->param));
    if (n < 0)
        return kni_failure(KN_ERROR_HANDLE, "kn_module_count: the param %.200s is dropped or poisoned",
                           entry->path);
    if (!entry->tied && (t->all || !entry->buffer)) t->sum += n;
    return KN_OK;
}

int64_t kn_module_count(kn_module module, bool all)
{
    tally t = {all, 0};
    return kni_module_visit(module, add, &t, __func__) == KN_OK ? t.sum : -1;
}

/* ---- modes */

static kn_status set_mode(kni_walk *w, kn_module owner, const kn_field *field, void *address)
{
    (void)owner;
    if (field->kind == KN_FIELD_MODE) memcpy(address, w->context, sizeof(bool));
    return KN_OK;
}

void kn_module_train(kn_module module, bool training)
{
    (void)kni_walk_module(&(kni_walk){.field = set_mode, .context = &training, .function = "kn_module_train"},
                          module);
}

typedef struct mode_list {
    bool *out;      /* NULL where they are set */
    const bool *in; /* NULL where they are read */
    int64_t n, count;
} mode_list;

static kn_status copy_mode(kni_walk *w, kn_module owner, const kn_field *field, void *address)
{
    (void)owner;
    mode_list *list = w->context;
    if (field->kind != KN_FIELD_MODE) return KN_OK;
    int64_t at = list->count++;
    if (at < list->n && list->out) memcpy(&list->out[at], address, sizeof(bool));
    if (at < list->n && list->in) memcpy(address, &list->in[at], sizeof(bool));
    return KN_OK;
}

int64_t kn_module_modes(kn_module module, bool *modes, int64_t n)
{
    mode_list list = {.out = modes, .n = n};
    kni_walk walk = {.field = copy_mode, .context = &list, .function = "kn_module_modes"};
    (void)kni_walk_module(&walk, module);
    return list.count;
}

void kn_module_set_modes(kn_module module, const bool *modes, int64_t n)
{
    mode_list list = {.in = modes, .n = n};
    kni_walk walk = {.field = copy_mode, .context = &list, .function = "kn_module_set_modes"};
    (void)kni_walk_module(&walk, module);
}

/* ---- freezing */

typedef struct selection {
    const regex_t *pattern; /* NULL: all */
    bool frozen;
    int64_t matches;
} selection;

static kn_status freeze_one(void *context, const kn_module_entry *entry)
{
    selection *s = context;
    if (entry->buffer) return KN_OK;
    if (s->pattern && regexec(s->pattern, entry->path, 0, NULL, 0) != 0) return KN_OK;
    s->matches++;
    kn_param_freeze(entry->param, s->frozen);
    return KN_OK;
}

kn_status kn_module_freeze(kn_module module, const char *pattern, bool frozen)
{
    selection s = {NULL, frozen, 0};
    if (!pattern) return kni_module_visit(module, freeze_one, &s, __func__);
    regex_t compiled;
    kn_status bad = kni_pattern_compile(&compiled, pattern, REG_NOSUB, "kn_module_freeze");
    if (bad) return bad;
    s.pattern = &compiled;
    kn_status status = kni_module_visit(module, freeze_one, &s, __func__);
    regfree(&compiled);
    if (status == KN_OK && s.matches == 0)
        return kni_failure(KN_ERROR_ARGUMENT,
                           "kn_module_freeze: no param of %s has a path that matches '%.200s'",
                           module.type->name, pattern);
    return status;
}

/* ---- mapping */

typedef struct mapping {
    kn_module_map_fn fn;
    void *context;
    kni_seen seen;
    kn_status status; /* the first failure; after it only tied params are mended */
} mapping;

/* Puts a value of maybe another dtype or device into a param; a frozen param stays frozen. */
static kn_status replace(const kni_walk *w, kn_param *param, kn_tensor value, bool buffer)
{
    kn_tensor old = kn_value(*param);
    kn_status s = kni_failure_of(value);
    if (s != KN_OK) return s;
    kn_shape was = kn_shape_of_tensor(old), is = kn_shape_of_tensor(value);
    if (was.rank != is.rank || memcmp(was.dims, is.dims, sizeof was.dims[0] * (size_t)was.rank) != 0)
        return kni_failure(KN_ERROR_SHAPE, "%s: %.200s: the new value has another shape", w->function,
                           w->path);
    kn_device from = kn_device_of(old);
    bool constant = buffer || (kni_device_tapes(from) && !kn_is_require_grad(old));
    if (kn_dtype_of(old) == kn_dtype_of(value) && from == kn_device_of(value))
        return kn_param_set(param, value);
    kn_param made = kn_param_make(value);
    if (!kn_ok(made.handle)) return kni_failure_of(made.handle);
    if (constant) kn_param_freeze(&made, true);
    kn_param_drop(param);
    *param = made;
    return KN_OK;
}

static kn_status map_field(kni_walk *w, kn_module owner, const kn_field *field, void *address)
{
    mapping *m = w->context;
    kn_param *param = address;
    bool buffer = field->kind == KN_FIELD_BUFFER;
    if ((!buffer && field->kind != KN_FIELD_PARAM) || param->handle.bits == 0) return KN_OK;
    kn_param *first = kni_seen_before(&m->seen, param);
    if (first)
        *param = *first;
    else if (m->status == KN_OK) {
        kn_module_entry entry = {w->path, param, owner.type, owner.self, field, buffer, false, w->parent};
        kn_scope scope = kn_scope_begin(); /* ends a value that is refused, unless it is the caller's */
        m->status = replace(w, param, m->fn(m->context, &entry, kn_value(*param)), buffer);
        kn_scope_end(scope, KN_NONE);
    }
    return KN_OK;
}

/* function: for messages. */
static kn_status map_module(kn_module module, kn_module_map_fn fn, void *context, const char *function)
{
    mapping m = {fn, context, {0}, KN_OK};
    kn_status s = kni_seen_make(&m.seen, module, function);
    if (s != KN_OK) return s;
    kn_no_grad_begin();
    s = kni_walk_module(&(kni_walk){.field = map_field, .context = &m, .function = function}, module);
    kn_no_grad_end();
    kni_seen_free(&m.seen);
    if (m.status != KN_OK) kni_error_renamed_by(function);
    return m.status != KN_OK ? m.status : s;
}

kn_status kn_module_map(kn_module module, kn_module_map_fn fn, void *context)
{
    if (!fn) return kni_failure(KN_ERROR_ARGUMENT, "kn_module_map: the function is NULL");
    return map_module(module, fn, context, __func__);
}

static kn_tensor move(void *context, const kn_module_entry *entry, kn_tensor value)
{
    (void)entry;
    return kn_to(kn_alias(value), context);
}

kn_status kn_module_to(kn_module module, kn_device device)
{
    KNI_ENDS;
    if (!device) device = kn_device_current();
    if (!device || !kni_device_is_open(device, __func__)) return KN_ERROR_DEVICE;
    return map_module(module, move, device, __func__);
}

static kn_tensor convert(void *context, const kn_module_entry *entry, kn_tensor value)
{
    (void)entry;
    return kn_dtype_is_float(kn_dtype_of(value)) ? kn_cast(kn_alias(value), *(kn_dtype *)context)
                                                 : kn_alias(value);
}

kn_status kn_module_cast(kn_module module, kn_dtype dtype)
{
    KNI_ENDS;
    if (!kn_dtype_is_float(dtype))
        return kni_dtype_is_there(dtype) && !kn_dtype_is_stored(dtype)
                   ? kni_failure(KN_ERROR_DTYPE, "kn_module_cast: %s is no float dtype", kn_dtype_name(dtype))
                   : kni_fail_dtype("module_cast", dtype);
    return map_module(module, convert, &dtype, __func__);
}
