/* The target that makes a program: ops become nodes of a builder, sizes of inputs may be unknown. What depends on constants alone is
   computed now, on the CPU; whole numbers that depend on sizes stay expressions. */
#ifndef KNI_ONNX_BUILD_H
#define KNI_ONNX_BUILD_H

#include "onnx/run/conversion.h"

typedef struct kni_building {
    kn_builder builder;
    kn_program_value *params; /* by value of the model: constants that are in the program; 0: not yet */
    uint8_t *roles;           /* kni_onnx_role by value of the model */
    bool keeps_weights;       /* what depends on them is computed when the program runs */
    bool unrolls;             /* loops whose trips are a number are written out */
    int32_t n_counts;         /* sizes that are read from values */
    int32_t depth;            /* of the region that is open: the program's own is 0 */
    bool has_loops;           /* one was built that could be written out instead */
} kni_building;

extern const kni_onnx_target kni_target_build;

static inline kni_building *kni_building_of(const kni_conversion *c) { return c->state; }

/* ---- build_target.c */

/* The entry as a value of the program; {0} with the node failed. */
kn_program_value kni_onnx_build_operand(kni_conversion *c, kni_datum x);
/* An entry of a value of the program. */
kni_datum kni_onnx_build_result(kni_conversion *c, kn_program_value value);
/* Ends what is known of values that regions of this depth have read. */
void kni_onnx_build_forget(kni_conversion *c, int32_t depth);
/* The node fails with the latest failure of the builder. */
void kni_onnx_build_failed(kni_conversion *c);
/* Whether the content is there and all of it is numbers. */
bool kni_onnx_build_is_concrete(const kni_entry *e);

/* ---- build_constants.c */

/* A constant under its name in the model; small ones that are no weights have none. */
kn_program_value kni_onnx_build_constant(kni_conversion *c, const kni_stored *constant);
/* Whether the entry is a weight, or depends on weights alone, in a program that keeps them. */
bool kni_onnx_build_is_weight(const kni_conversion *c, const kni_entry *e);

/* ---- build_content.c */

/* Computes an op on known whole numbers of which some are expressions; false: not such an op, and nothing was done. */
bool kni_onnx_build_content(kni_conversion *c, const char *op, const kni_datum *in, int32_t n_in,
                            const kni_given_attribute *attributes, kni_datum *out, int32_t n_out);
/* kn_call on the CPU; poisoned results are dropped, and the node fails. */
bool kni_onnx_build_call(kni_conversion *c, const char *op, const kn_tensor *in, int32_t n_in,
                         const kni_given_attribute *attributes, kn_tensor *out, int32_t n_out);

/* ---- build_control.c */

kni_convert_function kni_onnx_build_branch, kni_onnx_build_loop, kni_onnx_build_scan;

#endif
