/* What a tier exports to the entries of the optimisers' updates. Internal to update_run.c and tier/update_*. */
#ifndef KNI_BACKEND_CPU_UPDATE_TABLE_H
#define KNI_BACKEND_CPU_UPDATE_TABLE_H

#include "backend/cpu/tier.h"
#include "ops/body.h"

/* n elements of the row's body: in and out hold its operands and results, NULL where one is absent; a result may lie over the
   operand whose new value it is. An operand that is the same for all elements is one number. */
#define UPDATE_ARGUMENTS                                                                                     \
    const int64_t n, void *const *out, const void *const *in, const kni_body_number *numbers
typedef void kni_update_strip(UPDATE_ARGUMENTS, uint32_t choices);

enum {
#define ENTRY(name) KNI_UPDATE_##name,
#include "backend/cpu/generated/update_entries.inc"
#undef ENTRY
    KNI_UPDATE_ROWS
};

typedef struct kni_update_kernels {
    kni_update_strip *strips[KNI_UPDATE_ROWS];
} kni_update_kernels;

KNI_TIER_DECLARE(extern const kni_update_kernels, kni_update_f32, );
KNI_TIER_DECLARE(extern const kni_update_kernels, kni_update_f64, );

#endif
