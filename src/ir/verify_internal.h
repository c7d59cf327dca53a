/* What the files of the verifier share. */
#ifndef KNI_IR_VERIFY_INTERNAL_H
#define KNI_IR_VERIFY_INTERNAL_H

#include "ir/ir_internal.h"

typedef struct kni_ir_checker {
    const kni_ir *ir;
    uint8_t *state;                       /* of nodes: not met yet, in scope, out of scope */
    uint8_t *block_seen;                  /* of blocks */
    uint32_t function;                    /* 1 + number of the function looked at, 0 in the kernel */
    bool has_barriers;                    /* or anything else that needs all of a workgroup or subgroup */
    uint32_t owners[KNI_IR_MAX_BINDINGS]; /* 1 + function of a private array's first use */
} kni_ir_checker;

/* Tells that something is wrong with the node; answers KN_ERROR_ARGUMENT. */
kn_status kni_ir_refuse(const kni_ir *ir, const kni_ir_node *node, const char *format, ...);

/* Whether a node that stands alone is right: its types and numbers. Its operands are known to exist and be of their
   kind. */
kn_status kni_ir_check_node(kni_ir_checker *c, kni_ir_node *node);
/* That all of a workgroup come to each barrier. */
kn_status kni_ir_check_uniform(const kni_ir *ir);

#endif
