/* One layer of recurrent_layers in one direction, as its forward lowering and that of its gradient see it. */
#ifndef KNI_OPS_RECURRENT_LAYERS_PASS_H
#define KNI_OPS_RECURRENT_LAYERS_PASS_H

#include "ops/recurrent_layers.h"

typedef struct kni_layers {
    const kni_layers_attributes *a;
    int64_t steps, batch, ins, gates;
    kn_tensor weights, h, c; /* h and c: KN_NONE where they are zeros */
    kn_dtype dtype;
} kni_layers;

typedef struct kni_layers_pass {
    const kni_layers *l;
    int64_t number, direction, ins; /* number: layer * directions + direction */
    kn_tensor w_ih, w_hh, b_ih, b_hh;
} kni_layers_pass;

/* h: the number of that operand; that of c follows it. */
kni_layers kni_layers_of(const kni_lowering *l, int h);
kni_layers_pass kni_layers_pass_of(const kni_layers *l, int64_t number);
/* State `number` of [layers directions, batch, hidden], or zeros; kept. */
kn_tensor kni_layers_state(const kni_layers *l, kn_tensor given, int64_t number);
/* [steps, batch, gates hidden]: the products of x with every bias but, of gru, that of h; kept. */
kn_tensor kni_layers_shares(const kni_layers_pass *p, kn_tensor x);
/* All steps of a layer; x and the result are kept, `shown` has room for all steps. last: by direction, h and c after the last step. */
kn_tensor kni_layers_forward(const kni_layers *l, int64_t layer, kn_tensor x, kn_tensor *shown,
                             kn_tensor (*last)[2]);
/* Gate `which` of the last axis. */
kn_tensor kni_layers_cut(const kni_layers *l, kn_tensor gates, int which);
/* The same record in f32, which a device may have where it has no such halves. */
kn_status kni_layers_widen(kni_lowering *l);
/* The place of step k of the pass. */
static inline int64_t kni_layers_place(const kni_layers_pass *p, int64_t k)
{
    return p->direction ? p->l->steps - 1 - k : k;
}

#endif
