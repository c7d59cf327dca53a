/* What the files of the builder share. */
#ifndef KNI_IR_BUILDER_INTERNAL_H
#define KNI_IR_BUILDER_INTERNAL_H

#include "ir/builder.h"
#include "ir/ir_internal.h"

/* Appends a node where the builder stands; NULL once the builder failed. */
kni_ir_node *kni_ir_add(kni_ir_builder *b, int code, int dtype, int lanes, kni_ir_id *id);
kni_ir_id kni_ir_add3(kni_ir_builder *b, int code, kni_ir_type type, kni_ir_id x, kni_ir_id y, kni_ir_id z);
kni_ir_id kni_ir_add_list(kni_ir_builder *b, int code, kni_ir_type type, const kni_ir_id *ids, int n);
/* Fails the builder when x is no value. */
kni_ir_type kni_ir_type_of(kni_ir_builder *b, kni_ir_id x);
/* One truth, else the builder fails. */
bool kni_ir_is_truth(kni_ir_builder *b, kni_ir_id x);
/* Spreads the scalars among them where one is a vector; answers the lanes, 0 once the builder failed. */
int kni_ir_spread_all(kni_ir_builder *b, kni_ir_id *const *ids, int n);

#endif
