/* What a session knows of its model before it runs: the converter of each node, the values that are constants, and where each value is
   read for the last time. */
#ifndef KNI_ONNX_PLAN_H
#define KNI_ONNX_PLAN_H

#include "onnx/convert.h"
#include "onnx/run/held.h"
#include <pthread.h>

/* A copy of a constant on a device. */
typedef struct kni_constant_copy {
    kn_device device;
    kn_tensor tensor; /* owned */
    struct kni_constant_copy *next;
} kni_constant_copy;

/* An initializer, or what was computed of constants alone. */
typedef struct kni_constant {
    int32_t value;      /* of the model */
    kn_tensor tensor;   /* owned, on the host; without bits: none yet, or strings */
    kni_held *strings;
    kni_constant_copy *copies;
} kni_constant;

typedef struct kni_planned_node {
    const kni_onnx_converter *converter;
    const char *reason; /* why there is none */
    const int32_t *ends; /* values that nobody reads after this node */
    int32_t n_ends;
    bool folded; /* its results are constants */
} kni_planned_node;

typedef struct kni_plan {
    kni_onnx_model *model;
    kni_planned_node *nodes;  /* by place */
    kni_constant **constants; /* by value; NULL: it is none */
    pthread_mutex_t lock;     /* of the constants' copies */
    kn_device host;           /* the CPU */
} kni_plan;

/* Fills the plan but for constants; KN_ERROR_MEMORY or KN_ERROR_UNSUPPORTED with a text. */
kn_status kni_plan_make(kni_plan *plan);

#endif
