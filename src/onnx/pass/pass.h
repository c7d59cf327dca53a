/* Passes over a model before it is converted: they make it smaller, and find what other programs have written in pieces. A model means the
   same after each of them; results may differ in the last bits where a pass says so. */
#ifndef KNI_ONNX_PASS_H
#define KNI_ONNX_PASS_H

#include "onnx/model.h"

/* Passes that are left out; NULL: none. */
typedef struct kni_onnx_passes {
    bool constants_alone; /* all but KNI_ONNX_PASS_CONSTANTS */
    bool keep_weights;    /* those that compute with weights */
    bool keep_stored;     /* weights of few bits stay packed */
} kni_onnx_passes;

/* All passes but those, until none finds anything. A failure (there is no memory) leaves a model that is good. */
kn_status kni_onnx_simplify(kni_onnx_model *model, const kni_onnx_passes *which);

/* One pass, for tests: 1 << its place in the list. Returns how many changes it made; -1 without memory. */
typedef enum kni_onnx_pass {
    KNI_ONNX_PASS_CONSTANTS, /* Constant nodes become initializers */
    KNI_ONNX_PASS_IDENTITIES,
    KNI_ONNX_PASS_COMMON,      /* what is computed twice */
    KNI_ONNX_PASS_AFFINE,      /* batch norm and constants for channels into the convolution before */
    KNI_ONNX_PASS_NORMS,       /* layer norm and RMS norm out of their parts */
    KNI_ONNX_PASS_ACTIVATIONS, /* gelu, silu, mish, hard swish out of theirs */
    KNI_ONNX_PASS_QUANTIZED,   /* integer kernels between quantize and dequantize */
    KNI_ONNX_PASS_ROPE,        /* rotary embeddings */
    KNI_ONNX_PASS_ATTENTION,   /* products, scale, mask and softmax become attention */
    KNI_ONNX_PASS_DEAD,        /* what leads to no output */
    KNI_ONNX_PASS_COUNT
} kni_onnx_pass;
int64_t kni_onnx_run_pass(kni_onnx_model *model, kni_onnx_pass pass);

#endif
