/* The kernel of padding: raw bits, in the order in which the result lies, from any strides. */
#ifndef KNI_PAD_KERNEL_H
#define KNI_PAD_KERNEL_H

#include "core/type.h"
#include "ir/ir.h"

/* Numbers: the item params; the sizes of the result, of which the last counts blocks of `lanes`; for each axis the size and the
   strides of x and the padding before; the bits of the padding. */
typedef struct kni_pad_kind {
    char name[4];
    uint8_t rank, bytes, mode;
    uint8_t padded; /* bit a: axis a is padded */
    uint8_t lanes;  /* elements along the last axis that an item makes */
    uint8_t wide;   /* they are loaded together: all of them are of x or none */
} kni_pad_kind;

kni_ir *kni_pad_build(const kni_pad_kind *kind);

#endif
