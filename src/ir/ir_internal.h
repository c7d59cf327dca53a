/* What the passes over IR share with each other and nobody else needs. */
#ifndef KNI_IR_INTERNAL_H
#define KNI_IR_INTERNAL_H

#include "core/text.h"
#include "ir/ir.h"

enum { KNI_IR_MAX_NODES = 1 << 22, KNI_IR_MAX_ARRAY = 1 << 20 };

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
bool kni_ir_word_add(kni_ir *ir, uint32_t word);
void kni_ir_append(kni_ir *ir, uint32_t block, kni_ir_id id);

/* One row for each code. operands: of a, b and c a letter each: v a value, t one truth, p one integer, d a variable,
   x a tile, V a value that may be absent, . none. Those of CALL and PACK are in the list. */
typedef struct kni_ir_code_row {
    const char *name;
    char operands[4];
    uint8_t flags;
} kni_ir_code_row;
enum {
    KNI_IR_PURE = 1,  /* depends on its operands alone: equal nodes are one */
    KNI_IR_READS = 2, /* depends on memory or a variable too; nobody misses it when its value is not used */
    KNI_IR_MOVES = 4, /* costs no fault where it would not have been computed: may leave a loop */
    KNI_IR_ACTS = 8   /* a statement: it has no value and no type */
};
extern const kni_ir_code_row kni_ir_codes[KNI_IR_CODES];
const char *kni_ir_builtin_name(uint32_t builtin);
const char *kni_ir_combine_name(uint32_t combine);
const char *kni_ir_role_name(uint32_t role);

/* Operand 0 to 2 of a node. */
static inline kni_ir_id *kni_ir_operand(kni_ir_node *node, int i)
{
    return i == 0 ? &node->a : i == 1 ? &node->b : &node->c;
}

/* How many of u.blocks a node of the code uses. */
int kni_ir_block_count(int code);
/* True when it can be an operand of arithmetic: not a statement, variable or tile. */
bool kni_ir_has_value(const kni_ir_node *node);

/* Names the file (or kernel), line and column before the text. */
kn_status kni_ir_fail_at(const kni_ir *ir, uint32_t line, uint32_t column, kn_status code, const char *format,
                         va_list arguments);

#endif
