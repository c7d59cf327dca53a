/* Tensors whose elements never change again, such as the weights of a loaded model: backends keep what they make of them (packed weights)
   from call to call. */
#ifndef KNI_LASTING_H
#define KNI_LASTING_H

#include <kn/tensor.h>

/* From here on nothing may write to the memory of the tensor, which all its views share; the library does not. Nothing for tensors of
   devices that queue or compute elsewhere, and for numbers. */
void kni_lasting(kn_tensor t);

#endif
