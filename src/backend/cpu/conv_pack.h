/* The sections of a convolution's results: which taps add to each, where those lie in the planes, and the weights in
   the order the kernels read them. Internal to conv_*.c. */
#ifndef KNI_BACKEND_CPU_CONV_PACK_H
#define KNI_BACKEND_CPU_CONV_PACK_H

#include "backend/cpu/conv_plan.h"

/* One phase of the results with the taps that add to it. */
typedef struct {
    int64_t first[KNI_CONV_AXES], count[KNI_CONV_AXES]; /* of the grid */
    int64_t start[KNI_CONV_AXES], step[KNI_CONV_AXES];  /* the result for q lies at q * step + start */
    int64_t n_taps, depth;                              /* depth: channels * n_taps */
    int64_t *taps, *offsets; /* offsets: by channel and tap, in the planes of a part */
    char *weights;           /* by group, then panels of rows [depth][rows]; rows that are missing are 0 */
} kni_conv_phase;

/* How many sections a plan has; more than KNI_CONV_MAX_PHASES for absurd strides. */
enum { KNI_CONV_MAX_PHASES = 4096 };
int64_t kni_conv_phase_count(const kni_conv_plan *plan);

/* Makes the sections in the calling thread's shared workspace, with room for packed weights; part is the largest
   part of the grid. NULL without memory. */
kni_conv_phase *kni_conv_phases_start(const kni_conv_plan *plan, const kni_conv_part *part);
/* Packs weights; `weights` are those of w, contiguous and of the compute type. What is made of a lasting tensor is kept and found again:
   then there is room for none in the sections, which refer to it. */
void kni_conv_pack_weights(const kni_conv_plan *plan, kni_conv_phase *phases, const kni_tensor *w,
                           const void *weights, bool parallel);

/* Rows are taken in panels of the largest power of two that is left, of a turned product in whole vectors. */
enum { KNI_CONV_TURNED_VECTORS = 2 };
static inline int kni_conv_panel_rows(const kni_conv_plan *plan, int64_t left)
{
    int rows = plan->kernels->rows;
    if (plan->turned) {
        rows = plan->kernels->lanes;
        return left > rows ? KNI_CONV_TURNED_VECTORS * rows : rows;
    }
    while (rows > left) rows /= 2;
    return rows;
}

/* Output channels of a group as the packed weights have them. */
static inline int64_t kni_conv_packed_outs(const kni_conv_plan *plan)
{
    const int64_t lanes = plan->kernels->lanes;
    return plan->turned ? (plan->outs + lanes - 1) / lanes * lanes : plan->outs;
}
/* As many as are packed, and multiplied, together at the least. */
static inline int kni_conv_block_outs(const kni_conv_plan *plan)
{
    return plan->turned ? KNI_CONV_TURNED_VECTORS * plan->kernels->lanes : plan->kernels->rows;
}

static inline int64_t kni_conv_taps(const kni_conv_plan *plan)
{
    return plan->axes[0].taps * plan->axes[1].taps * plan->axes[2].taps;
}

#endif
