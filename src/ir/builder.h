/* Making IR by calls. A builder remembers where it stands; once something failed (no memory, wrong types) it stays
   failed, every call answers 0, and kni_ir_finish tells the failure, so that only the end needs a check. */
#ifndef KNI_IR_BUILDER_H
#define KNI_IR_BUILDER_H

#include "ir/ir.h"

enum { KNI_IR_MAX_DEPTH = 64 };

typedef struct kni_ir_builder {
    kni_ir *ir;
    uint32_t stack[KNI_IR_MAX_DEPTH]; /* blocks that are open, the innermost last */
    kni_ir_id owners[KNI_IR_MAX_DEPTH];
    int depth;
    kn_status status;
    uint32_t line, column; /* given to new nodes */
    uint32_t function;     /* 1 + number of the function being built, 0 in the kernel */
    bool item_params;      /* kni_ir_add_item_params was called */
} kni_ir_builder;

/* A kernel called `name`. workgroup 0: the body runs once for each item. */
kni_ir_builder kni_ir_begin(const char *name, uint32_t workgroup);
/* Verifies; gives the kernel, or NULL after a failure. */
kni_ir *kni_ir_finish(kni_ir_builder *b);
/* Notes the first failure, with the line and column where the builder stands. */
void kni_ir_fail(kni_ir_builder *b, const char *format, ...);

/* ---- what a launch gives. Buffers are declared before anything else; each answers its number. */
uint32_t kni_ir_buffer(kni_ir_builder *b, const char *name, int dtype, int access);
/* An array of the kernel itself: KNI_IR_SHARED or KNI_IR_PRIVATE. */
uint32_t kni_ir_array(kni_ir_builder *b, const char *name, int dtype, int space, int64_t length);
/* An array of constants, which functions read too; what is added goes to the table that was made last. */
uint32_t kni_ir_table(kni_ir_builder *b, const char *name, int dtype);
void kni_ir_table_add(kni_ir_builder *b, uint32_t table, uint64_t bits);
uint32_t kni_ir_param_add(kni_ir_builder *b, const char *name, int dtype, uint32_t count);
/* The params every item kernel has first: `items` (I64) and, for each buffer, `offset_<name>` (I64), its first element.
   Called once, after the buffers. Loads and stores of the builder add the offset by themselves. */
void kni_ir_add_item_params(kni_ir_builder *b);

/* ---- values. A scalar beside a vector of its dtype is spread by word, fma, and, or, select and the memory calls. */
kni_ir_id kni_ir_whole(kni_ir_builder *b, int dtype, int64_t value);
kni_ir_id kni_ir_real(kni_ir_builder *b, int dtype, double value);
kni_ir_id kni_ir_param_value(kni_ir_builder *b, uint32_t number);
kni_ir_id kni_ir_element(kni_ir_builder *b, uint32_t number, kni_ir_id at);
kni_ir_id kni_ir_builtin_value(kni_ir_builder *b, int builtin, int axis, int dtype);
/* A word of ops/scalar_words.def by its number (kni_word_at) or name, "add", "exp"; y 0 for words of one operand. eq
   and ne also take truths, which become AND, OR and NOT. */
kni_ir_id kni_ir_word(kni_ir_builder *b, const char *name, kni_ir_id x, kni_ir_id y);
kni_ir_id kni_ir_word_at(kni_ir_builder *b, int word, kni_ir_id x, kni_ir_id y);
/* exp2 or div of f32 by the target's own instruction where it has one: within 2^-22 of the word, not its bits. Results
   too small for a normal number may be 0. */
kni_ir_id kni_ir_near(kni_ir_builder *b, const char *name, kni_ir_id x, kni_ir_id y);
kni_ir_id kni_ir_fma(kni_ir_builder *b, kni_ir_id x, kni_ir_id y, kni_ir_id z);
kni_ir_id kni_ir_and(kni_ir_builder *b, kni_ir_id x, kni_ir_id y);
kni_ir_id kni_ir_or(kni_ir_builder *b, kni_ir_id x, kni_ir_id y);
kni_ir_id kni_ir_not(kni_ir_builder *b, kni_ir_id x);
kni_ir_id kni_ir_select(kni_ir_builder *b, kni_ir_id condition, kni_ir_id yes, kni_ir_id no);
kni_ir_id kni_ir_cast(kni_ir_builder *b, kni_ir_id x, int dtype); /* x itself when it has that dtype */
kni_ir_id kni_ir_bitcast(kni_ir_builder *b, kni_ir_id x, int dtype);
kni_ir_id kni_ir_spread(kni_ir_builder *b, kni_ir_id scalar, int lanes);
kni_ir_id kni_ir_lane(kni_ir_builder *b, kni_ir_id vector, int lane);
kni_ir_id kni_ir_pack(kni_ir_builder *b, const kni_ir_id *scalars,
                      int lanes); /* lanes 1: the scalar itself */
kni_ir_id kni_ir_philox(kni_ir_builder *b, kni_ir_id key, kni_ir_id counter, kni_ir_id word);
/* Rounds a compute value to what a store of the dtype and a load of it would give (f16 in f32). */
kni_ir_id kni_ir_round_to(kni_ir_builder *b, kni_ir_id x, int storage_dtype);

/* ---- memory. dtype: what to compute in; lanes consecutive elements from `at` on. */
kni_ir_id kni_ir_load(kni_ir_builder *b, uint32_t binding, kni_ir_id at, int dtype, int lanes);
kni_ir_id kni_ir_load_where(kni_ir_builder *b, uint32_t binding, kni_ir_id at, int dtype, int lanes,
                            kni_ir_id condition, kni_ir_id otherwise);
void kni_ir_store(kni_ir_builder *b, uint32_t binding, kni_ir_id at, kni_ir_id value);
void kni_ir_store_where(kni_ir_builder *b, uint32_t binding, kni_ir_id at, kni_ir_id value,
                        kni_ir_id condition);
/* ADD, MIN, MAX, EXCHANGE; the binding's dtype is the value's. */
kni_ir_id kni_ir_atomic(kni_ir_builder *b, uint32_t binding, kni_ir_id at, kni_ir_id value, int combine);
/* The element becomes `value` if it is `expected`; of integers. */
kni_ir_id kni_ir_atomic_compare(kni_ir_builder *b, uint32_t binding, kni_ir_id at, kni_ir_id value,
                                kni_ir_id expected);

/* ---- variables */
kni_ir_id kni_ir_variable(kni_ir_builder *b, int dtype, int lanes,
                          kni_ir_id first); /* first 0: not yet set */
kni_ir_id kni_ir_get(kni_ir_builder *b, kni_ir_id variable);
void kni_ir_set(kni_ir_builder *b, kni_ir_id variable, kni_ir_id value);

/* ---- control. Each begin is closed by kni_ir_end. */
void kni_ir_if(kni_ir_builder *b, kni_ir_id condition);
void kni_ir_else(kni_ir_builder *b);
kni_ir_id kni_ir_for(kni_ir_builder *b, kni_ir_id from, kni_ir_id below, kni_ir_id step); /* the counter */
/* The same, of turns that may run side by side: none reads or writes what another one writes. */
kni_ir_id kni_ir_for_apart(kni_ir_builder *b, kni_ir_id from, kni_ir_id below, kni_ir_id step);
void kni_ir_loop(kni_ir_builder *b);                           /* the condition comes first */
void kni_ir_loop_test(kni_ir_builder *b, kni_ir_id condition); /* then the body */
void kni_ir_loop_step(kni_ir_builder *b);                      /* then, perhaps, the step */
void kni_ir_end(kni_ir_builder *b);
void kni_ir_break(kni_ir_builder *b);
void kni_ir_continue(kni_ir_builder *b);
void kni_ir_return(kni_ir_builder *b, kni_ir_id value);
void kni_ir_report(kni_ir_builder *b, kni_ir_id value);

/* ---- functions, built before the kernel's body or in its middle; not nested. */
uint32_t kni_ir_function_begin(kni_ir_builder *b, const char *name, kni_ir_type result,
                               const kni_ir_type *arguments, int n);
kni_ir_id kni_ir_argument(kni_ir_builder *b, int number);
void kni_ir_function_end(kni_ir_builder *b);
kni_ir_id kni_ir_call(kni_ir_builder *b, uint32_t function, const kni_ir_id *arguments, int n);

/* ---- together */
void kni_ir_barrier(kni_ir_builder *b);
kni_ir_id kni_ir_subgroup(kni_ir_builder *b, int combine, kni_ir_id value);
kni_ir_id kni_ir_workgroup(kni_ir_builder *b, int combine, kni_ir_id value);
kni_ir_id kni_ir_scan(kni_ir_builder *b, int combine, kni_ir_id value);
kni_ir_id kni_ir_shuffle(kni_ir_builder *b, kni_ir_id value, kni_ir_id xor_lane);
kni_ir_id kni_ir_tile(kni_ir_builder *b, int role, int dtype);
void kni_ir_tile_fill(kni_ir_builder *b, kni_ir_id tile, kni_ir_id value);
void kni_ir_tile_load(kni_ir_builder *b, kni_ir_id tile, uint32_t binding, kni_ir_id at, kni_ir_id stride);
void kni_ir_tile_store(kni_ir_builder *b, kni_ir_id tile, uint32_t binding, kni_ir_id at, kni_ir_id stride);
void kni_ir_tile_multiply(kni_ir_builder *b, kni_ir_id sum, kni_ir_id left, kni_ir_id right);

#endif
