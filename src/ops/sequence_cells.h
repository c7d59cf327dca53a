/* What the rows lstm, gru and rnn share, which the CPU's natives read too. */
#ifndef KNI_OPS_SEQUENCE_CELLS_H
#define KNI_OPS_SEQUENCE_CELLS_H

#include "ops/op.h"

enum { KNI_RECURRENT_RNN, KNI_RECURRENT_GRU, KNI_RECURRENT_LSTM };
enum { KNI_RECURRENT_ACTIVATIONS = 6 }; /* three for each direction */

/* The operands of all three; the last two are those of lstm. */
enum {
    KNI_RECURRENT_X,
    KNI_RECURRENT_WEIGHT,
    KNI_RECURRENT_WEIGHT_H,
    KNI_RECURRENT_BIAS,
    KNI_RECURRENT_LENGTHS,
    KNI_RECURRENT_H,
    KNI_RECURRENT_C,
    KNI_RECURRENT_PEEPHOLES,
    KNI_RECURRENT_OPERANDS
};

typedef struct kni_recurrent_attributes {
    int64_t direction; /* 0 onward, 1 back, 2 both */
    int64_t linear_before_reset, input_forget;
    kn_ints activations; /* kn_gate_activation; none: those of the cell */
    double alpha[KNI_RECURRENT_ACTIVATIONS], beta[KNI_RECURRENT_ACTIVATIONS];
    double clip; /* 0: none */
} kni_recurrent_attributes;

/* Which of the rows it is, KNI_RECURRENT_. */
int kni_recurrent_cell(const kn_op *row);

typedef struct kni_recurrent_sizes {
    int cell, gates, kinds; /* kinds: activations of one direction */
    int64_t steps, batch, ins, hidden, directions;
} kni_recurrent_sizes;
kni_recurrent_sizes kni_recurrent_sizes_of(const kn_op *row, const kni_type *const *in);

/* Whether direction d runs from the last step to the first. */
static inline bool kni_recurrent_is_back(const kni_recurrent_attributes *a, int64_t d)
{
    return a->direction == 1 || (a->direction == 2 && d == 1);
}

kn_status kni_recurrent_lower(kni_lowering *l);
/* Whether the device has recurrent_layers for the record, and the record as those (sequence_cells_stack.c). */
bool kni_recurrent_stacks(const kni_lowering *l, const kni_recurrent_sizes *z);
kn_status kni_recurrent_stack(kni_lowering *l, const kni_recurrent_sizes *z);

#endif
