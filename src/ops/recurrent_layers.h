/* Stacked recurrent layers over whole sequences: what the row, its gradient and devices with a library for them share. */
#ifndef KNI_OPS_RECURRENT_LAYERS_H
#define KNI_OPS_RECURRENT_LAYERS_H

#include "ops/sequence_cells.h"

typedef struct kni_layers_attributes {
    int64_t cell; /* KNI_RECURRENT_ */
    int64_t layers, directions, hidden;
    int64_t biased;
    int64_t keeps; /* a gradient will be wanted: devices keep what it reads */
} kni_layers_attributes;

enum { KNI_LAYERS_MOST = 64, KNI_LAYERS_HIDDEN_MOST = 1 << 20 };

/* The operands of recurrent_layers, and of its gradient, which has those that may be absent last. */
enum { KNI_LAYERS_X, KNI_LAYERS_WEIGHTS, KNI_LAYERS_H, KNI_LAYERS_C, KNI_LAYERS_IN };
enum {
    KNI_LAYERS_GRAD_Y = 2,
    KNI_LAYERS_GRAD_DY,
    KNI_LAYERS_GRAD_H,
    KNI_LAYERS_GRAD_C,
    KNI_LAYERS_GRAD_DH,
    KNI_LAYERS_GRAD_DC,
    KNI_LAYERS_GRAD_IN
};

static inline int64_t kni_layers_gates(int64_t cell)
{
    return cell == KNI_RECURRENT_LSTM ? 4 : cell == KNI_RECURRENT_GRU ? 3 : 1;
}

kn_status kni_layers_lower(kni_lowering *l);
kn_status kni_layers_lower_grad(kni_lowering *l);

#endif
