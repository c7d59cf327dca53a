/* Control flow of what runs at once. */
#ifndef KNI_ONNX_CONTROL_H
#define KNI_ONNX_CONTROL_H

#include "onnx/convert.h"

kni_convert_function kni_now_branch, kni_now_loop, kni_now_scan, kni_now_gradient;

#endif
