/* Copies of modules, the memory of lists, and the end of a module. */
#include "core/objects.h"
#include "nn/module_walk.h"
#include "support/failure.h"
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

void *kn_module_list(const kn_module_type *type, int32_t n)
{
    if (!type || n < 0) {
        (void)kni_failure(KN_ERROR_ARGUMENT, "kn_module_list: the type is NULL or %d is negative", (int)n);
        return NULL;
    }
    void *list = calloc(n > 0 ? (size_t)n : 1, type->size > 0 ? type->size : 1);
    if (!list) (void)kni_failure_memory("kn_module_list");
    return list;
}

static void drop_module(kn_module module, int depth)
{
    for (const kn_field *f = module.type->fields; f->kind != KN_FIELD_END; f++) {
        void *first;
        int64_t n = f->type && depth < 64 ? kni_field_modules(f, module.self, &first) : 0;
        for (int64_t i = 0; i < n; i++)
            drop_module((kn_module){(char *)first + (size_t)i * f->type->size, f->type}, depth + 1);
        if (f->kind == KN_FIELD_PARAM || f->kind == KN_FIELD_BUFFER)
            kn_param_drop((kn_param *)(void *)((char *)module.self + f->offset));
        if (f->kind == KN_FIELD_LIST || f->kind == KN_FIELD_OPTIONAL) {
            memcpy(&first, (char *)module.self + f->offset, sizeof first);
            free(first);
        }
    }
    memset(module.self, 0, module.type->size);
}

void kn_module_drop(kn_module module)
{
    KNI_ENDS;
    if (module.self && module.type && module.type->fields) drop_module(module, 0);
}

/* ---- copies */

typedef struct listing {
    kn_param **params;
    size_t count, room;
} listing;

static kn_status list_one(void *context, const kn_module_entry *entry)
{
    listing *l = context;
    if (l->count == l->room) {
        size_t room = l->room ? 2 * l->room : 32;
        kn_param **params = realloc(l->params, room * sizeof *params);
        if (!params) return kni_failure_memory("kn_module_copy");
        l->params = params;
        l->room = room;
    }
    l->params[l->count++] = entry->param;
    return KN_OK;
}

static kn_status copy_values(kn_module dst, kn_module src)
{
    listing to = {0}, from = {0};
    kn_status s = kni_module_visit(dst, list_one, &to, "kn_module_copy");
    if (s == KN_OK) s = kni_module_visit(src, list_one, &from, "kn_module_copy");
    if (s == KN_OK && to.count != from.count)
        s = kni_failure(KN_ERROR_ARGUMENT, "kn_module_copy: %s has %zu params there and %zu here",
                        dst.type->name, from.count, to.count);
    for (size_t i = 0; s == KN_OK && i < to.count; i++)
        s = kn_param_set(to.params[i], kn_alias(kn_value(*from.params[i])));
    free(to.params);
    free(from.params);
    return s;
}

/* After the bytes of a module were copied its lists are those of the original: gives it its own. Until then what it has not
   got yet is zeroed, so that a failure leaves nothing that belongs to somebody else. */
static kn_status own_lists(kn_module module)
{
    kn_status s = KN_OK;
    for (const kn_field *f = module.type->fields; f->kind != KN_FIELD_END; f++) {
        void *first, *list = NULL;
        char *address = (char *)module.self + f->offset;
        int64_t n = f->type ? kni_field_modules(f, module.self, &first) : 0;
        if (f->kind == KN_FIELD_LIST || f->kind == KN_FIELD_OPTIONAL) {
            if (s == KN_OK && n > 0) {
                list = kn_module_list(f->type, (int32_t)n);
                if (list)
                    memcpy(list, first, (size_t)n * f->type->size);
                else
                    s = KN_ERROR_MEMORY;
            }
            memcpy(address, &list, sizeof list);
            first = list;
            if (!list) n = 0;
        }
        for (int64_t i = 0; i < n; i++) {
            kn_module inner = {(char *)first + (size_t)i * f->type->size, f->type};
            kn_status bad = own_lists(inner);
            if (s == KN_OK) s = bad;
        }
    }
    return s;
}

typedef struct cloning {
    kni_seen seen;
    kn_status status;
} cloning;

/* Replaces a handle of the original by a param of its own. */
static kn_status own_param(kni_walk *w, kn_module owner, const kn_field *field, void *address)
{
    cloning *c = w->context;
    kn_param *param = address;
    bool buffer = field->kind == KN_FIELD_BUFFER;
    (void)owner;
    if ((!buffer && field->kind != KN_FIELD_PARAM) || param->handle.bits == 0) return KN_OK;
    kn_param *first = kni_seen_before(&c->seen, param);
    if (first) {
        *param = *first;
        return KN_OK;
    }
    kn_tensor old = kn_value(*param);
    bool frozen = buffer || (kni_device_tapes(kn_device_of(old)) && !kn_is_require_grad(old));
    kn_param made = {KN_NONE};
    if (c->status == KN_OK) {
        made = kn_param_make(kn_alias(old));
        c->status = kni_failure_of(made.handle);
        if (c->status != KN_OK) made.handle = KN_NONE;
        if (made.handle.bits && frozen) kn_param_freeze(&made, true);
    }
    *param = made;
    return KN_OK;
}

static kn_status clone(kn_module dst, kn_module src)
{
    cloning c = {{0}, KN_OK};
    kn_status s = kni_seen_make(&c.seen, src, "kn_module_copy");
    if (s != KN_OK) return s;
    memcpy(dst.self, src.self, src.type->size);
    s = own_lists(dst);
    if (s != KN_OK) c.status = s;
    s = kni_walk_module(&(kni_walk){.field = own_param, .context = &c, .function = "kn_module_copy"}, dst);
    kni_seen_free(&c.seen);
    if (c.status == KN_OK && s == KN_OK) return KN_OK;
    kn_module_drop(dst);
    return c.status != KN_OK ? c.status : s;
}

static bool all_zero(const void *data, size_t bytes)
{
    const char *c = data;
    for (size_t i = 0; i < bytes; i++)
        if (c[i]) return false;
    return true;
}

kn_status kn_module_copy(kn_module dst, kn_module src)
{
    if (!dst.self || !src.self || !dst.type || dst.type != src.type)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_module_copy: the modules are NULL or have different types");
    if (dst.self == src.self) return KN_OK;
    return all_zero(dst.self, dst.type->size) ? clone(dst, src) : copy_values(dst, src);
}
