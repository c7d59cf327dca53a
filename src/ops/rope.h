/* What the rotary embedding row and the CPU kernel behind it share. */
#ifndef KNI_OPS_ROPE_H
#define KNI_OPS_ROPE_H

#include <stdint.h>

struct kni_native;

typedef struct kni_rope_attributes {
    int64_t interleaved, inverse;
} kni_rope_attributes;

extern const struct kni_native kni_cpu_rope;

#endif
