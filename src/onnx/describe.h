/* A model in words, for people. */
#ifndef KNI_ONNX_DESCRIBE_H
#define KNI_ONNX_DESCRIBE_H

#include "onnx/model.h"
#include "support/buffer.h"

/* "float [n, 3]", "sequence of int64 [2]"; unnamed sizes are "?". */
void kni_onnx_write_declared(kni_buffer *text, const kni_onnx_declared *declared);
/* A name of the file, cut where it is very long, without anything that is not plain. */
void kni_onnx_write_name(kni_buffer *text, const char *name);
/* Who made it, what it takes and gives, its operators by how often they come, its parameters by type, the largest of them. */
kn_status kni_onnx_describe(const kni_onnx_model *model, kni_buffer *text);

#endif
