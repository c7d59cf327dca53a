/* What the two halves of turning a parsed text into IR share: statements call expressions. */
#ifndef KNI_IR_PARSE_LOWER_H
#define KNI_IR_PARSE_LOWER_H

#include "ir/builder.h"
#include "ir/parse_tree.h"

typedef struct kni_tree_lowering {
    kni_ir_builder b;
    int real;
    uint8_t result; /* of the function being made */
} kni_tree_lowering;

/* The value as the wanted type; wanted 0: as its own, 0 where it gives none. */
kni_ir_id kni_tree_value(kni_tree_lowering *l, const kni_tree_expression *e, uint8_t wanted);
kni_ir_id kni_tree_truth(kni_tree_lowering *l, const kni_tree_expression *e);
kni_ir_id kni_tree_number(kni_tree_lowering *l, uint8_t type, int64_t value); /* a constant */
/* What item, number or argument a launch or a call gave. */
kni_ir_id kni_tree_given(kni_tree_lowering *l, const kni_tree_symbol *s);

#endif
