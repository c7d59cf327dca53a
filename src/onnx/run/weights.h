/* Which constants of a model are weights, that training changes. A file does not say: an initializer may as well be a mask, a table, a shape
   or a number of a formula. It is told from how the nodes use it. */
#ifndef KNI_ONNX_WEIGHTS_H
#define KNI_ONNX_WEIGHTS_H

#include "onnx/model.h"

typedef enum kni_onnx_role {
    KNI_ONNX_PLAIN, /* no weight: nothing is lost when it is computed with */
    KNI_ONNX_STATE, /* what belongs to a layer and training leaves alone: a running mean and variance, quantised weights and scales */
    KNI_ONNX_WEIGHT
} kni_onnx_role;

/* The role of each value of the model: of initializers with an axis, and KNI_ONNX_PLAIN for all others. Freed with free();
   NULL without memory. */
uint8_t *kni_onnx_roles(const kni_onnx_model *model);

#endif
