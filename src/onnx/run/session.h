/* A loaded model: the object behind kn_onnx. */
#ifndef KNI_ONNX_SESSION_H
#define KNI_ONNX_SESSION_H

#include "core/objects.h"
#include "onnx/examine/findings.h"
#include "onnx/run/model_plan.h"
#include <kn/onnx.h>
#include <stdatomic.h>

/* The model with what it maps, which tensors that lie in it outlive the session with. */
typedef struct kni_model_share {
    _Atomic int64_t users;
    kni_onnx_model *model;
} kni_model_share;

typedef struct kni_onnx {
    kni_onnx_plan plan;
    kni_model_share *share;
    kn_onnx_port *inputs, *outputs;
    int32_t n_inputs, n_outputs; /* inputs with defaults come last */
    bool *random;                /* by output */
    bool folds, keeps_weights, keeps_stored;
    int64_t max_trips;
    kni_onnx_findings *findings; /* of kn_onnx_examine, under the plan's lock; NULL: none yet */
    /* What was measured, under the plan's lock. */
    bool measures;
    double *times; /* by place of the node */
    int64_t runs;
} kni_onnx;

/* The name that objects.h asks for; a kni_onnx_value is a value of a graph. */
typedef kni_held kni_onnx_datum;

void kni_onnx_destroy(void *session);
/* Initializers become constants. On the host. */
kn_status kni_session_constants(kni_onnx *session);
/* Runs the nodes that depend on constants alone; what fails stays as it is. */
kn_status kni_session_fold(kni_onnx *session);
/* The ports, and which outputs are random. */
kn_status kni_session_ports(kni_onnx *session);
/* Whether an input has such a size and its bounds are some; else the failure, which lists the sizes that there are. */
kn_status kni_session_size_check(const kni_onnx *session, const kn_onnx_size *size, const char *function);
/* A constant of the plan; takes an owned tensor, or one use of strings. */
kn_status kni_session_add_constant(kni_onnx *session, int32_t value, kn_tensor tensor, kni_held *strings);

/* "tensor(float)" and the like in the arena's memory, and the reverse; NULL with the failure told. */
const char *kni_type_text(kni_onnx_arena *arena, const kni_onnx_declared *declared);
const kni_onnx_declared *kni_type_parse(kni_onnx_arena *arena, const char *text);

#endif
