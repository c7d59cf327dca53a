/* What the dropout row and the CPU kernel behind it share. */
#ifndef KNI_OPS_DROPOUT_H
#define KNI_OPS_DROPOUT_H

#include <stdint.h>

struct kni_native;

/* y = x scale + shift where an element is kept, else dropped. Element i draws word (i / group) mod 4 of Philox
   block counter + i / group / 4 and is kept where the word is at least p 2^32. */
typedef struct kni_dropout_attributes {
    int64_t key, counter, group;
    double p, scale, shift, dropped;
} kni_dropout_attributes;

extern const struct kni_native kni_cpu_dropout;

#endif
