/* Tensors of a file as Kiln's. */
#ifndef KNI_ONNX_FILE_TENSOR_H
#define KNI_ONNX_FILE_TENSOR_H

#include "onnx/run/held.h"

/* A temporary on the current device, poisoned where Kiln has no such tensors. With release the memory is used as it is where its place
   allows that, and release(context) is called when its last user is gone, or at once; without it everything is copied. */
kn_tensor kni_file_tensor(const kni_onnx_tensor *tensor, void (*release)(void *), void *context);
/* Of KNI_ONNX_STRING; NULL with the failure told. */
kni_held *kni_file_strings(const kni_onnx_tensor *tensor);

#endif
