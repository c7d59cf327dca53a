/* Kernels that move elements as raw bits between any strides: one item for each element of one or several copies, and tiles
   through shared memory where the neighbours on both sides are different ones. */
#ifndef KNI_COPY_KERNEL_H
#define KNI_COPY_KERNEL_H

#include "ir/ir.h"
#include <kn/base.h>

enum {
    KNI_COPY_PARTS = 16,     /* copies of one launch */
    KNI_COPY_WORKGROUP = 256 /* of tiles */
};

/* Several copies into one buffer. Numbers: the item params; of several parts where the items of each end and where each begins
   in y; then for each part its dims, the strides of x and, where `placed`, those of y. Unplaced, y is written in the order of
   the items. */
typedef struct kni_copy_kind {
    char name[4];
    uint8_t parts, bytes;
    uint8_t placed;
    uint8_t index; /* KN_I32 where it is enough */
    uint8_t ranks[KNI_COPY_PARTS];
} kni_copy_kind;
kni_ir *kni_copy_build(const kni_copy_kind *kind);

/* A copy by tiles of `side` x `side`. Axis 0 is the one along which x lies side by side, axis 1 that of y. Numbers: the item
   params (workgroups for items), tiles along axes 0 and 1, then dims and the strides of x and y. */
typedef struct kni_copy_tiles {
    char name[4];
    uint8_t rank, bytes, index, side;
    uint8_t lanes[2]; /* elements of an access to x, to y */
} kni_copy_tiles;
kni_ir *kni_copy_build_tiles(const kni_copy_tiles *kind);

#endif
