/* The computation of recurrent layers. */
#ifndef KNI_NN_RECURRENT_RUN_H
#define KNI_NN_RECURRENT_RUN_H

#include <kn/nn/recurrent.h>

/* hidden and cell: states in and out, NULL for none. function: for messages. */
kn_tensor kni_recurrent_run(const kn_nn_recurrent *m, const char *function, kn_tensor x, kn_tensor *hidden,
                            kn_tensor *cell);

#endif
