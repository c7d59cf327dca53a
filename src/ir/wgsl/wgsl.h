/* What the files of the WGSL printer share. It takes kernels in the narrow form (docs/adding-a-device.md) and nothing else, and uses the
   printer's plan of which values stand inside the expression that uses them (ir/emitter.h).

   A text is given: the buffers as bindings 0 .. of group 0, in the order of the launch; behind them the uniform `numbers`, whose first
   word quartet is the first workgroup of this dispatch by axis and a zero that no compiler knows, the second how many workgroups the whole
   launch has, and the rest the block of the launch's numbers. A kernel of items leaves its workgroup's size to the constant `width`. */
#ifndef KNI_IR_WGSL_H
#define KNI_IR_WGSL_H

#include "ir/emitter.h"
#include "ir/ir_internal.h"

enum { WGSL_FIRST_WORD = 8, WGSL_WORD_BYTES = 4 };

const char *kni_wgsl_type(kni_ir_type type);
/* A word of the numbers that lies at a place known now. */
void kni_wgsl_number(kni_ir_emitter *e, uint32_t word);

/* ---- wgsl_value.c: a value where it is used, in parentheses unless it is whole anyhow or stands alone inside others; the definition that
   stands behind its name. */
void kni_wgsl_value(kni_ir_emitter *e, kni_ir_id id);
void kni_wgsl_inside(kni_ir_emitter *e, kni_ir_id id);
void kni_wgsl_definition(kni_ir_emitter *e, kni_ir_id id);

/* ---- wgsl_memory.c */
void kni_wgsl_declare(kni_ir_emitter *e,
                      uint32_t binding); /* a buffer, table or array, where it is declared */
void kni_wgsl_load(kni_ir_emitter *e, const kni_ir_node *node);
void kni_wgsl_store(kni_ir_emitter *e, const kni_ir_node *node);
void kni_wgsl_atomic(kni_ir_emitter *e, kni_ir_id id); /* as statements; the old value has the node's name */

/* ---- wgsl_statement.c */
void kni_wgsl_line(kni_ir_emitter *e); /* the indentation of a new line */
void kni_wgsl_name(kni_ir_emitter *e, kni_ir_id id);
/* Answers whether what stands behind it is reached. */
bool kni_wgsl_block(kni_ir_emitter *e, uint32_t block);

#endif
