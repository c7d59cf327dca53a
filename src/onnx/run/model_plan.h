/* What a session knows of its model before it runs: the converter of each node, the values that are constants, and where each value is
   read for the last time. */
#ifndef KNI_ONNX_MODEL_PLAN_H
#define KNI_ONNX_MODEL_PLAN_H

#include "onnx/convert.h"
#include "onnx/run/held.h"
#include "support/exclusive.h"

/* A copy of a constant on a device. */
typedef struct kni_stored_copy {
    kn_device device;
    kn_tensor tensor; /* owned */
    struct kni_stored_copy *next;
} kni_stored_copy;

/* An initializer, or what was computed of constants alone. */
typedef struct kni_stored {
    int32_t value;    /* of the model */
    kn_tensor tensor; /* owned, on the host; without bits: none yet, or strings */
    kni_held *strings;
    kni_stored_copy *copies;
} kni_stored;

typedef struct kni_planned_node {
    const kni_onnx_converter *converter;
    const char *reason;  /* why there is none */
    const int32_t *ends; /* values that nobody reads after this node */
    int32_t n_ends;
    bool folded;       /* its results are constants */
    kni_stored **kept; /* KNI_KEPT tensors that its converter has made (kept.c); NULL: none */
} kni_planned_node;

typedef struct kni_onnx_plan {
    kni_onnx_model *model;
    kni_planned_node *nodes; /* by place */
    kni_stored **constants;  /* by value; NULL: it is none */
    kni_exclusive lock;      /* of the constants' copies, and of what nodes keep */
    kn_device host;          /* the CPU */
} kni_onnx_plan;

/* Frees a constant with its copies; NULL is nothing. */
void kni_stored_free(kni_stored *constant);
/* Frees what all nodes keep. */
void kni_kept_free(kni_onnx_plan *plan);

/* Fills the plan but for constants; KN_ERROR_MEMORY or KN_ERROR_UNSUPPORTED with a text. */
kn_status kni_onnx_plan_make(kni_onnx_plan *plan);

#endif
