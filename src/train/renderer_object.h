/* What renderers are inside: a table of functions and the object they are called with. */
#ifndef KNI_TRAIN_RENDERER_OBJECT_H
#define KNI_TRAIN_RENDERER_OBJECT_H

#include "core/objects.h"
#include <kn/train/renderer.h>

typedef struct kni_renderer {
    const kn_renderer_type *type;
    void *self;
} kni_renderer;

#endif
