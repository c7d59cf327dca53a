/* Families of operators that have no converters yet: empty lists, which give way to those of the families' files. */
#include "onnx/convert.h"

#define PENDING(list) __attribute__((weak)) const kni_onnx_converter list[] = {{0}}

PENDING(kni_onnx_image);
