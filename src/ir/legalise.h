/* What the files of legalise share: a builder that makes nodes for a place in the middle of a kernel. */
#ifndef KNI_IR_LEGALISE_H
#define KNI_IR_LEGALISE_H

#include "ir/builder.h"

/* What workgroup_scan takes of shared memory: so many arrays of one value for each invocation. */
enum { KNI_SCAN_ARRAYS = 2 };

typedef struct kni_legaliser {
    kni_ir *ir;
    const kni_ir_caps *caps;
    kni_ir_builder builder; /* writes into a block of its own, which then goes before the node */
    uint32_t lanes;         /* of a subgroup, 1 where there is none */
    bool expand_tiles, narrow;
    /* 1 + the binding of scratch memory, by compute dtype; a scan takes turns between two */
    uint32_t scratch[KNI_SCAN_ARRAYS][KN_DTYPE_COUNT];
} kni_legaliser;

/* Each writes what takes the place of node `id` and answers its value: 0 where it has none. */
kni_ir_id kni_legalise_subgroup(kni_legaliser *l, kni_ir_id id);
kni_ir_id kni_legalise_shuffle(kni_legaliser *l, kni_ir_id id);
kni_ir_id kni_legalise_workgroup(kni_legaliser *l, kni_ir_id id);
kni_ir_id kni_legalise_scan(kni_legaliser *l, kni_ir_id id);
void kni_legalise_tile(kni_legaliser *l, kni_ir_id id);

/* The number inside the subgroup, as I32. */
kni_ir_id kni_legalise_lane(kni_legaliser *l);
/* A new array whose name nothing else has. */
uint32_t kni_legalise_array(kni_legaliser *l, const char *name, int dtype, int space, int64_t length);

#endif
