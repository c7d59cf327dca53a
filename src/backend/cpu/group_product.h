/* Groups of a product and the elementwise records that follow it. */
#ifndef KNI_GROUP_PRODUCT_H
#define KNI_GROUP_PRODUCT_H

#include "graph/group.h"

kn_status kni_cpu_group_product(const kni_group *g);
kn_follow kni_cpu_follows(kn_backend *b, const kn_record *const *records, int32_t n, const kn_record *next);

#endif
