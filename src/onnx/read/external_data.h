/* The files that a model holds open: its own, and those with data of its tensors. They lie in the model's arena. */
#ifndef KNI_ONNX_EXTERNAL_DATA_H
#define KNI_ONNX_EXTERNAL_DATA_H

#include "onnx/read/model_reader.h"
#include "support/file.h"

typedef struct kni_external_file {
    struct kni_external_file *next;
    const char *location; /* as the tensors name it */
    kni_file_map map;
} kni_external_file;

typedef struct kni_onnx_files {
    kni_file_map model;
    kni_external_file *first;
} kni_onnx_files;

/* Closes them; NULL is nothing. */
void kni_onnx_files_free(kni_onnx_files *files);

#endif
