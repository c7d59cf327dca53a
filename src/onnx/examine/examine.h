/* Looking at a model without running it: every node is converted with types and sizes alone, on the device "null", and a node that fails is
   noted instead of ending the walk. */
#ifndef KNI_ONNX_EXAMINE_H
#define KNI_ONNX_EXAMINE_H

#include "onnx/examine/findings.h"
#include "onnx/run/now.h"
#include "support/failure.h"

/* A walk. */
typedef struct kni_examining {
    kni_now now;           /* first: the state of the target that runs ops at once */
    kni_failure_held held; /* failures of nodes, which are told in the findings alone */
    kni_onnx_findings *found;
    bool *unknown;    /* by value: its type is not known */
    int64_t times;    /* how often the graph being walked runs */
    int64_t troubles; /* nodes so far that fail or could not be looked at */
    bool asks;        /* the node being converted has asked for the content of a value */
} kni_examining;

static inline kni_examining *kni_examining_of(const kni_conversion *c) { return c->state; }

/* ---- examine_control.c */

kni_convert_function kni_examine_branch, kni_examine_loop, kni_examine_scan;

/* ---- examine.c */

/* A tensor of that type whose content is not known. */
kni_datum kni_examine_unknown(kni_conversion *c, kn_dtype dtype, const kni_extent *extents, int32_t rank);

/* ---- examine_macs.c */

/* The multiplications of a node whose operands and results are bound. */
int64_t kni_onnx_macs(kni_conversion *c, const kni_onnx_node *node);

#endif
