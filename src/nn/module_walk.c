/* The walk over modules, tied params and visiting by path. */
#include "nn/module_walk.h"
#include "support/failure.h"
#include <kn/tensor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 64 };

int64_t kni_field_modules(const kn_field *field, void *self, void **first)
{
    char *address = (char *)self + field->offset;
    int32_t counter;
    *first = address;
    switch (field->kind) {
    case KN_FIELD_MODULE:
        return 1;
    case KN_FIELD_ARRAY:
        return (int64_t)field->count;
    case KN_FIELD_LIST:
        memcpy(first, address, sizeof *first);
        memcpy(&counter, (char *)self + field->count, sizeof counter);
        return *first ? counter : 0;
    case KN_FIELD_OPTIONAL:
        memcpy(first, address, sizeof *first);
        return *first ? 1 : 0;
    default:
        return 0;
    }
}

size_t kni_field_bytes(const kn_field *field)
{
    static const size_t sizes[] = {
        [KN_FIELD_PARAM] = sizeof(kn_param), [KN_FIELD_BUFFER] = sizeof(kn_param),
        [KN_FIELD_LIST] = sizeof(void *),    [KN_FIELD_OPTIONAL] = sizeof(void *),
        [KN_FIELD_MODE] = sizeof(bool),      [KN_FIELD_INT] = sizeof(int64_t),
        [KN_FIELD_REAL] = sizeof(double),    [KN_FIELD_BOOL] = sizeof(bool),
        [KN_FIELD_ENUM] = sizeof(int32_t),   [KN_FIELD_INTS] = sizeof(kn_ints),
    };
    if (field->kind == KN_FIELD_TEXT) return field->count;
    if (field->kind == KN_FIELD_MODULE) return field->type->size;
    if (field->kind == KN_FIELD_ARRAY) return field->type->size * field->count;
    return (size_t)field->kind < sizeof sizes / sizeof *sizes ? sizes[field->kind] : 0;
}

/* Appends ".name" to the path. */
static kn_status push(kni_walk *w, const char *name)
{
    size_t n = strlen(name), dot = w->length > 0;
    if (w->length + dot + n >= sizeof w->path)
        return kni_failure(KN_ERROR_ARGUMENT, "%s: the path %.200s... is longer than %d bytes", w->function,
                           w->path, KN_MAX_PATH - 1);
    if (dot) w->path[w->length++] = '.';
    memcpy(w->path + w->length, name, n + 1);
    w->length += n;
    return KN_OK;
}

static void pop(kni_walk *w, size_t length)
{
    w->length = length;
    w->path[length] = 0;
}

static kn_status walk_inner(kni_walk *w, const kn_field *field, void *first, int64_t n)
{
    bool many = field->kind == KN_FIELD_ARRAY || field->kind == KN_FIELD_LIST;
    if (n < 0)
        return kni_failure(KN_ERROR_ARGUMENT, "%s: the list %s has %lld modules", w->function, w->path,
                           (long long)n);
    kn_status s = KN_OK;
    for (int64_t i = 0; i < n && s == KN_OK; i++) {
        size_t length = w->length;
        char number[24];
        snprintf(number, sizeof number, "%lld", (long long)i);
        if (many) s = push(w, number);
        if (s == KN_OK)
            s = kni_walk_module(w, (kn_module){(char *)first + (size_t)i * field->type->size, field->type});
        pop(w, length);
    }
    return s;
}

kn_status kni_walk_module(kni_walk *w, kn_module module)
{
    if (!module.self || !module.type || !module.type->fields)
        return kni_failure(KN_ERROR_ARGUMENT, "%s: the module, its type or its fields are NULL", w->function);
    if (w->depth == DEEPEST)
        return kni_failure(KN_ERROR_ARGUMENT, "%s: %.200s is nested too deeply; does a module hold itself?",
                           w->function, w->path);
    w->depth++;
    const kn_module_type *around = w->type, *outer = w->parent;
    w->type = module.type;
    w->parent = around;
    kn_status s = w->enter ? w->enter(w, module) : KN_OK;
    for (const kn_field *f = module.type->fields; s == KN_OK && f->kind != KN_FIELD_END; f++) {
        size_t length = w->length;
        s = push(w, f->name);
        if (s != KN_OK) break;
        void *first;
        if (f->type) {
            int64_t n = kni_field_modules(f, module.self, &first);
            s = walk_inner(w, f, first, n);
        } else if (w->field)
            s = w->field(w, module, f, (char *)module.self + f->offset);
        pop(w, length);
    }
    if (s == KN_OK && w->leave) s = w->leave(w, module);
    w->depth--;
    w->type = around;
    w->parent = outer;
    return s;
}

/* ---- tied params */

static bool holds_param(const kn_field *field, const void *address)
{
    bool param = field->kind == KN_FIELD_PARAM || field->kind == KN_FIELD_BUFFER;
    return param && ((const kn_param *)address)->handle.bits != 0;
}

static kn_status count_one(kni_walk *w, kn_module owner, const kn_field *field, void *address)
{
    (void)owner;
    if (holds_param(field, address)) ++*(size_t *)w->context;
    return KN_OK;
}

kn_status kni_seen_make(kni_seen *seen, kn_module module, const char *function)
{
    size_t n = 0, room = 16;
    *seen = (kni_seen){0};
    kn_status s =
        kni_walk_module(&(kni_walk){.field = count_one, .context = &n, .function = function}, module);
    if (s != KN_OK) return s;
    while (room < 2 * n) room *= 2;
    seen->slots = calloc(room, sizeof *seen->slots);
    if (!seen->slots) return kni_failure_memory(function);
    seen->count = room;
    return KN_OK;
}

void kni_seen_free(kni_seen *seen)
{
    free(seen->slots);
    *seen = (kni_seen){0};
}

kn_param *kni_seen_before(kni_seen *seen, kn_param *param)
{
    uint64_t bits = param->handle.bits;
    size_t i = (size_t)(bits * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (seen->count - 1);
    while (seen->slots[i].bits && seen->slots[i].bits != bits) i = (i + 1) & (seen->count - 1);
    if (seen->slots[i].bits) return seen->slots[i].first;
    seen->slots[i].bits = bits;
    seen->slots[i].first = param;
    return NULL;
}

/* ---- visiting */

typedef struct visit {
    kn_module_visit_fn fn;
    void *context;
    kni_seen seen;
} visit;

static kn_status visit_field(kni_walk *w, kn_module owner, const kn_field *field, void *address)
{
    visit *v = w->context;
    if (!holds_param(field, address)) return KN_OK;
    bool tied = kni_seen_before(&v->seen, address) != NULL;
    kn_module_entry entry = {w->path, address,  owner.type, owner.self, field, field->kind == KN_FIELD_BUFFER,
                             tied,    w->parent};
    return v->fn(v->context, &entry);
}

kn_status kni_module_visit(kn_module module, kn_module_visit_fn fn, void *context, const char *function)
{
    visit v = {fn, context, {0}};
    kn_status s = kni_seen_make(&v.seen, module, function);
    if (s == KN_OK)
        s = kni_walk_module(&(kni_walk){.field = visit_field, .context = &v, .function = function}, module);
    kni_seen_free(&v.seen);
    return s;
}

kn_status kn_module_visit(kn_module module, kn_module_visit_fn fn, void *context)
{
    if (!fn) return kni_failure(KN_ERROR_ARGUMENT, "kn_module_visit: the function is NULL");
    kni_failure_mark before = kni_failure_mark_now();
    return kni_failure_since(before, kni_module_visit(module, fn, context, __func__),
                             "kn_module_visit: the function");
}

bool kni_is_trainable(const kn_param *param)
{
    return kn_ok(param->handle) && kn_is_require_grad(kn_value(*param));
}
