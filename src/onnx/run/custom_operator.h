/* Operators of the user's. */
#ifndef KNI_ONNX_CUSTOM_OPERATOR_H
#define KNI_ONNX_CUSTOM_OPERATOR_H

#include "onnx/convert.h"

/* The converter of a registered operator that serves the node; NULL: none does. */
const kni_onnx_converter *kni_onnx_custom_of(const kni_onnx_node *node);
/* Whether a converter is one of those, which may do anything. */
bool kni_onnx_is_custom(const kni_onnx_converter *converter);

#endif
