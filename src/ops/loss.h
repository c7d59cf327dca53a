/* What the rows of the losses and the CPU kernels behind them share, and the last step of every loss. */
#ifndef KNI_OPS_LOSS_H
#define KNI_OPS_LOSS_H

#include "ops/autocast_state.h"
#include "ops/op.h"

struct kni_native;

typedef struct kni_cross_entropy_attributes {
    int64_t ignore_index;
    double smoothing;
} kni_cross_entropy_attributes;

/* x [batch, classes, ...] seen as [outer, classes, inner]; [classes] is a batch of one. */
typedef struct kni_class_view {
    int64_t outer, classes, inner;
} kni_class_view;
kni_class_view kni_class_view_of(const kni_type *x);

/* Checks and widens the two operands of a loss (half types to f32), keeps them, and tells the dtype of the result.
   False: the call has ended, *failed is its answer. */
bool kni_loss_begin(kni_call call, kn_tensor *x, kn_tensor *target, int *dtype, kn_tensor *failed);
/* A loss of each element to what the reduction says, in dtype. */
kn_tensor kni_loss_reduce(kn_tensor loss, kn_reduction reduction, int dtype);

extern const struct kni_native kni_cpu_cross_entropy, kni_cpu_cross_entropy_grad;

/* The dtype of a loss over x of this dtype: its own, f32 under autocast. */
static inline int kni_loss_dtype(int dtype)
{
    return kni_this_thread.context.autocast && kni_is_half(dtype) ? KN_F32 : dtype;
}

#endif
