/* The making of convolution layers, plain and transposed. */
#ifndef KNI_NN_CONV_INIT_H
#define KNI_NN_CONV_INIT_H

#include <kn/nn/convolution.h>

/* made has the channels and the kernel; args may be NULL. */
kn_status kni_conv_init(const char *function, const kn_module_type *type, kn_nn_conv *m, kn_nn_conv made,
                        const kn_nn_conv_args *args, int32_t rank, bool transposed);
/* For a forward of a layer that was made for another rank, or not at all. */
kn_tensor kni_conv_not_made(const char *function);

#endif
