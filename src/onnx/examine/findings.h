/* What looking at a model has found, which its session keeps. */
#ifndef KNI_ONNX_FINDINGS_H
#define KNI_ONNX_FINDINGS_H

#include "onnx/model.h"
#include "support/buffer.h"
#include <kn/onnx.h>

typedef enum kni_node_state {
    KNI_NODE_UNSEEN, /* nothing came to it */
    KNI_NODE_WORKS,
    KNI_NODE_FAILS,
    KNI_NODE_DEPENDS /* on values, or on a node that fails */
} kni_node_state;

typedef struct kni_examined_node {
    const kni_onnx_node *node; /* NULL: nothing came to it */
    kni_node_state state;
    kn_status code;
    const char *reason; /* why it fails */
    int64_t macs;
} kni_examined_node;

typedef struct kni_onnx_findings {
    kni_onnx_arena *arena;    /* of all that is here */
    kni_examined_node *nodes; /* by place */
    kn_onnx_problem *problems;
    kn_onnx_operator_use *operators;
    kn_onnx_open_size *sizes;
    kn_onnx_examined sums;
} kni_onnx_findings;

struct kni_onnx_plan;
/* NULL without memory. */
kni_onnx_findings *kni_onnx_findings_new(int32_t n_nodes);
/* Makes the lists and sums of what is noted of each node. */
kn_status kni_onnx_findings_finish(kni_onnx_findings *found, const struct kni_onnx_plan *plan);
void kni_onnx_findings_free(kni_onnx_findings *findings);
/* As text, for kn_onnx_inspect. */
void kni_onnx_findings_write(const kni_onnx_findings *findings, kni_buffer *text);

/* a + b and a * b of what is not negative; INT64_MAX: more. */
int64_t kni_capped_sum(int64_t a, int64_t b);
int64_t kni_capped_product(int64_t a, int64_t b);

#endif
