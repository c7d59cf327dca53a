/* Ops that users give as bodies (kn_op_define): rows whose rules all follow from the body. The gradients of such a row are rows
   of the same kind, made when they are first asked for. */
#ifndef KNI_DEFINED_H
#define KNI_DEFINED_H

#include "ops/body_graph.h"
#include "ops/op.h"

enum { KNI_DEFINED_SCALARS = 4, KNI_DEFINED_NAME = 112, KNI_DEFINED_WORD = 32 };

struct kni_defined;

/* The row that computes the gradient of one operand, and what it is called with: operand i of its maker, or, from n_in on, the
   cotangent of result i - n_in. */
typedef struct kni_gradient_row {
    struct kni_defined *row; /* NULL: the gradient is zero */
    uint8_t from[KNI_BODY_OPERANDS];
    _Atomic bool known;
} kni_gradient_row;

/* Gradients that the user wrote: one graph, and the node of each operand's. */
typedef struct kni_written_gradients {
    kni_body_graph graph;
    int roots[KNI_BODY_OPERANDS];
} kni_written_gradients;

/* What all rows of one definition share. Attributes are the scalars, then, along lines, the axis or the number of last axes. */
typedef struct kni_definition {
    kn_attribute schema[KNI_DEFINED_SCALARS + 2];
    union {
        double scalars[KNI_DEFINED_SCALARS + 1];
        int64_t axes[KNI_DEFINED_SCALARS + 1];
    } defaults;
    int n_scalars;
    kni_line line;
    char scalars[KNI_DEFINED_SCALARS][KNI_DEFINED_WORD];
    char operands[KNI_BODY_OPERANDS][KNI_DEFINED_WORD];
    int n_in, n_out;
    kni_written_gradients *written; /* NULL: they are derived */
} kni_definition;

/* The row comes first, so that a row's address is its defined op's. */
typedef struct kni_defined {
    kn_op row;
    kni_body body;
    kni_definition *definition;
    bool first; /* its definition is its own, and so are the gradients that were written */
    uint8_t operands[2 * KNI_BODY_OPERANDS];
    char name[KNI_DEFINED_NAME];
    kni_gradient_row gradients[KNI_BODY_OPERANDS];
    void *_Atomic line_program; /* of the CPU */
    size_t bytes;
    kni_step steps[]; /* of the body */
} kni_defined;

static inline kni_defined *kni_defined_of(const kn_op *row) { return (kni_defined *)row; }

/* A row of the definition; n steps are copied, operands are the bits of those and of the results. NULL: no memory. */
kni_defined *kni_defined_new(kni_definition *definition, const char *name, const kni_step *steps, int n,
                             const uint8_t *operands, int n_in, int n_out);
void kni_defined_free(kni_defined *d);

kn_status kni_defined_lower(kni_lowering *l);
kn_status kni_defined_gradient(kni_vjp *v);

extern const struct kni_native kni_cpu_defined_points, kni_cpu_defined_lines;

#endif
