/* The attributes of the cumulative rows. */
#ifndef KNI_SCAN_ATTRIBUTES_H
#define KNI_SCAN_ATTRIBUTES_H

#include "ops/reduce_axes.h"

typedef struct kni_scan_attributes {
    int64_t axis, reverse, exclusive;
} kni_scan_attributes;

#endif
