/* The object of a renderer: made from a table of functions, freed with what it holds. */
#include "support/failure.h"
#include "train/renderer_object.h"
#include <stdlib.h>

static void destroy_renderer(void *object)
{
    kni_renderer *r = object;
    if (r->type->close) r->type->close(r->self);
    free(r);
}

const kni_object_kind kni_kind_renderer = {"kn_renderer", "renderer", "freed", destroy_renderer};

kn_renderer kn_renderer_make(const kn_renderer_type *type, void *self)
{
    KNI_NAMED;
    kni_renderer *r = type ? malloc(sizeof *r) : NULL;
    if (r) {
        *r = (kni_renderer){type, self};
        return kni_object_make(&kni_kind_renderer, r, __func__);
    }
    if (!type)
        kni_failure(KN_ERROR_ARGUMENT, "kn_renderer_make: the type is NULL");
    else {
        kni_failure_memory("kn_renderer_make");
        if (type->close) type->close(self);
    }
    return NULL;
}

void kn_renderer_free(kn_renderer renderer) { kni_object_free(renderer, &kni_kind_renderer, __func__); }
