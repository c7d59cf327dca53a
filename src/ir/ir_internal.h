/* What the passes over IR share with each other and nobody else needs. */
#ifndef KNI_IR_INTERNAL_H
#define KNI_IR_INTERNAL_H

#include "core/text.h"
#include "ir/ir.h"

enum { KNI_IR_MAX_NODES = 1 << 22 };

/* F32, F64, I32, I64, U32, U64 or BOOL. */
bool kni_ir_is_compute(int dtype);
bool kni_ir_is_integer(int dtype); /* of the compute types */
bool kni_ir_lanes_fit(int lanes);
/* A name of C that leaves room for its closing zero. */
bool kni_ir_name_fits(const char *name, size_t room);
static inline bool kni_ir_same_type(kni_ir_type a, kni_ir_type b)
{
    return a.dtype == b.dtype && a.lanes == b.lanes;
}

/* All zero; 0 without memory. Pointers to nodes move when one is made. */
kni_ir_id kni_ir_new_node(kni_ir *ir);
uint32_t kni_ir_new_block(kni_ir *ir);
kni_ir_function *kni_ir_new_function(kni_ir *ir);
bool kni_ir_list_add(kni_ir *ir, kni_ir_id id);
void kni_ir_append(kni_ir *ir, uint32_t block, kni_ir_id id);

/* How many of u.blocks a node of the code uses. */
int kni_ir_block_count(int code);
/* True when it can be an operand of arithmetic: not a statement, variable or tile. */
bool kni_ir_has_value(const kni_ir_node *node);

/* Names the file (or kernel), line and column before the text. */
kn_status kni_ir_fail_at(const kni_ir *ir, uint32_t line, uint32_t column, kn_status code, const char *format,
                         va_list arguments);

#endif
