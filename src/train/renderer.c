/* The object of a renderer: made from a table of functions, freed with what it holds. */
#include "support/failure.h"
#include "train/renderer_object.h"
#include <stdlib.h>

kn_renderer kn_renderer_make(const kn_renderer_type *type, void *self)
{
    kn_renderer renderer = type ? malloc(sizeof *renderer) : NULL;
    if (renderer) {
        *renderer = (struct kn_renderer_object){type, self};
        return renderer;
    }
    if (!type)
        kni_failure(KN_ERROR_ARGUMENT, "kn_renderer_make: the type is NULL");
    else {
        kni_failure_memory("kn_renderer_make");
        if (type->close) type->close(self);
    }
    return NULL;
}

void kn_renderer_free(kn_renderer renderer)
{
    if (!renderer) return;
    if (renderer->type->close) renderer->type->close(renderer->self);
    free(renderer);
}
