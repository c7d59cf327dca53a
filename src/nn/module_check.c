/* Looks in the memory of a module for params that its descriptor does not name, for descriptors that cannot be right, and for
   inits that were forgotten. */
#include "core/past.h"
#include "nn/layer.h"
#include "nn/module_walk.h"
#include "support/failure.h"
#include "support/library.h"
#include "support/module_ready.h"
#include <kn/tensor.h>
#include <string.h>

/* The field whose memory holds the offset, or, before it, the nearest one that ends there or earlier. */
static const kn_field *field_before(const kn_module_type *type, size_t offset, bool *inside)
{
    const kn_field *nearest = NULL;
    *inside = false;
    for (const kn_field *f = type->fields; f->kind != KN_FIELD_END; f++) {
        size_t end = f->offset + kni_field_bytes(f);
        if (f->offset <= offset && offset < end) {
            *inside = true;
            return f;
        }
        if (end <= offset && (!nearest || f->offset > nearest->offset)) nearest = f;
    }
    return nearest;
}

static kn_status check_descriptor(kn_module module, const char *path)
{
    const kn_module_type *type = module.type;
    for (const kn_field *f = type->fields; f->kind != KN_FIELD_END; f++) {
        if (f->offset > type->size || kni_field_bytes(f) > type->size - f->offset)
            return kni_failure(KN_ERROR_ARGUMENT,
                               "kn_module_check: the field %s of %s lies outside of its %zu bytes", f->name,
                               type->name, type->size);
        for (const kn_field *g = type->fields; g < f; g++)
            if (strcmp(f->name, g->name) == 0)
                return kni_failure(KN_ERROR_ARGUMENT, "kn_module_check: %s has two fields called %s",
                                   type->name, f->name);
        if (f->kind != KN_FIELD_PARAM && f->kind != KN_FIELD_BUFFER) continue;
        kn_param p;
        memcpy(&p, (char *)module.self + f->offset, sizeof p);
        if (p.handle.bits && !kn_is_param(p.handle))
            return kni_failure(KN_ERROR_HANDLE, "kn_module_check: %.200s%s%s holds no live param", path,
                               *path ? "." : "", f->name);
    }
    return KN_OK;
}

static kn_status check_module(kni_walk *w, kn_module module)
{
    const kn_module_type *type = module.type;
    kn_status s = check_descriptor(module, w->path);
    if (s != KN_OK) return s;
    size_t step = _Alignof(kn_param);
    for (size_t offset = 0; offset + sizeof(kn_param) <= type->size; offset += step) {
        kn_tensor handle;
        memcpy(&handle, (char *)module.self + offset, sizeof handle);
        kni_library_wrote(&handle, sizeof handle); /* gaps between fields hold anything */
        if (handle.bits == 0 || !kn_is_param(handle)) continue;
        bool inside;
        const kn_field *f = field_before(type, offset, &inside);
        if (inside) continue;
        char where[200] = "before its first field";
        if (f) {
            where[0] = 0;
            strncat(where, "behind the field ", sizeof where - 1);
            strncat(where, f->name, sizeof where - strlen(where) - 1);
        }
        return kni_failure(
            KN_ERROR_ARGUMENT,
            "kn_module_check: %s%s%.200s%s has a param at offset %zu, %s, that no field describes; add "
            "KN_PARAM or KN_BUFFER to its type",
            type->name, *w->path ? " (" : "", w->path, *w->path ? ")" : "", offset, where);
    }
    return KN_OK;
}

/* ---- forgotten inits */

static bool is_param_field(const kn_field *f)
{
    return f->kind == KN_FIELD_PARAM || f->kind == KN_FIELD_BUFFER;
}

/* Whether a pointer to modules can be this: aligned, and in the half of the addresses that programs have. */
static bool can_point(uintptr_t pointer)
{
#if defined(__x86_64__)
    if (pointer >> 56) return false;
#endif
    return pointer % _Alignof(kn_param) == 0;
}

/* Whether the member can hold what is in its memory. */
static bool fits_field(const kn_field *f, const char *self)
{
    const char *address = self + f->offset;
    unsigned char flag;
    int32_t value;
    uintptr_t pointer;
    kn_tensor handle;
    kn_ints list;
    switch (f->kind) {
    case KN_FIELD_PARAM:
    case KN_FIELD_BUFFER:
        memcpy(&handle, address, sizeof handle);
        return !handle.bits || kn_is_param(handle) || kn_ok(handle) ||
               kni_tensor_past(handle, NULL, 0) == KNI_PAST_FAILED;
    case KN_FIELD_LIST:
        memcpy(&pointer, address, sizeof pointer);
        memcpy(&value, self + f->count, sizeof value);
        return can_point(pointer) && value >= 0 && (value == 0 || pointer);
    case KN_FIELD_OPTIONAL:
        memcpy(&pointer, address, sizeof pointer);
        return can_point(pointer);
    case KN_FIELD_MODE:
    case KN_FIELD_BOOL:
        memcpy(&flag, address, sizeof flag);
        return flag <= 1;
    case KN_FIELD_ENUM:
        memcpy(&value, address, sizeof value);
        return value >= 0 && (size_t)value < f->count;
    case KN_FIELD_INTS:
        memcpy(&list, address, sizeof list);
        return list.rank >= 0 && list.rank <= KN_MAX_RANK;
    default:
        return true;
    }
}

kni_unfit kni_module_unfit(const kn_module_type *type, const void *self)
{
    for (const kn_field *f = type->fields; f->kind != KN_FIELD_END; f++) {
        const char *address = (const char *)self + f->offset;
        size_t n = f->kind == KN_FIELD_MODULE ? 1 : f->kind == KN_FIELD_ARRAY ? f->count : 0;
        for (size_t i = 0; i < n; i++) {
            kni_unfit inner = kni_module_unfit(f->type, address + i * f->type->size);
            if (inner.field) return inner;
        }
        if (!fits_field(f, self)) return (kni_unfit){type, self, f};
    }
    return (kni_unfit){NULL, NULL, NULL};
}

bool kni_unfit_ended(const kni_unfit *unfit, char why[KNI_WHY])
{
    if (!unfit->field || !is_param_field(unfit->field)) return false;
    kn_tensor handle;
    memcpy(&handle, unfit->self + unfit->field->offset, sizeof handle);
    return kni_tensor_past(handle, why, KNI_WHY) == KNI_PAST_ENDED;
}

typedef struct contents {
    bool params,
        blank; /* some part has a param; some part that begins with one, or with a list, is all zeros */
} contents;

static kn_status ready_one(kni_walk *w, kn_module module)
{
    const kn_field *f = module.type->fields;
    contents *c = w->context;
    /* What begins with a setting, such as an activation, may be all zeros and complete. */
    c->blank |=
        (is_param_field(f) || f->kind == KN_FIELD_LIST) && kni_layer_unset(module.self, module.type->size);
    kni_unfit u = kni_module_unfit(module.type, module.self);
    /* The walk meets a part inside this one later, with its path. */
    if (!u.field || u.type != module.type || u.self != (const char *)module.self) return KN_OK;
    const char *dot = *w->path ? "." : "";
    char why[KNI_WHY];
    if (kni_unfit_ended(&u, why))
        return kni_failure(KN_ERROR_HANDLE, "%s: %.200s%s%s holds no live param: %s", w->function, w->path,
                           dot, u.field->name, why);
    bool param = is_param_field(u.field);
    return kni_failure(param ? KN_ERROR_HANDLE : KN_ERROR_ARGUMENT,
                       "%s: %.200s%s%s %s: %s (%s) was never initialised", w->function, w->path, dot,
                       u.field->name, param ? "holds no live param" : "holds what it cannot be",
                       *w->path ? w->path : "the module", module.type->name);
}

/* A param whose making failed tells that failure. */
static kn_status note_param(kni_walk *w, kn_module owner, const kn_field *field, void *address)
{
    (void)owner;
    contents *c = w->context;
    if (!is_param_field(field)) return KN_OK;
    kn_tensor handle = ((const kn_param *)address)->handle;
    char why[KNI_WHY];
    c->params |= handle.bits != 0;
    if (kn_is_param(handle) || kni_tensor_past(handle, why, sizeof why) != KNI_PAST_FAILED) return KN_OK;
    return kni_failure(kn_error_code(handle), "%s: %.200s carries an error: %s", w->function, w->path, why);
}

static kn_status look_into(kn_module module, const char *function, contents *c)
{
    return kni_walk_module(
        &(kni_walk){.enter = ready_one, .field = note_param, .context = c, .function = function}, module);
}

kn_status kni_module_ready(kn_module module, const char *function)
{
    return look_into(module, function, &(contents){false, false});
}

kn_status kni_module_filled(kn_module module, const char *function)
{
    contents c = {false, false};
    kn_status s = look_into(module, function, &c);
    if (s != KN_OK || c.params || !c.blank) return s;
    return kni_failure(KN_ERROR_ARGUMENT, "%s: the module (%s) has no params: was its init function called?",
                       function, module.type->name);
}

kn_status kn_module_check(kn_module module)
{
    return kni_walk_module(&(kni_walk){.enter = check_module, .function = "kn_module_check"}, module);
}
