/* Looks in the memory of a module for params that its descriptor does not name, and for descriptors that cannot be right. */
#include "nn/module_walk.h"
#include "support/failure.h"
#include "support/library.h"
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

kn_status kn_module_check(kn_module module)
{
    return kni_walk_module(&(kni_walk){.enter = check_module, .function = "kn_module_check"}, module);
}
