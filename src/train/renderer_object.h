/* What renderers are inside: a table of functions and the object they are called with. */
#ifndef KNI_TRAIN_RENDERER_OBJECT_H
#define KNI_TRAIN_RENDERER_OBJECT_H

#include <kn/train/renderer.h>

struct kn_renderer_object {
    const kn_renderer_type *type;
    void *self;
};

#endif
