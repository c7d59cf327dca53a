/* What the files of the narrow form share. A 64-bit number is two U32, low and high; an f64 is its bits, so. Vectors are
   taken apart. Each file answers the parts that take the place of one value. */
#ifndef KNI_IR_NARROW_INTERNAL_H
#define KNI_IR_NARROW_INTERNAL_H

#include "ir/builder_internal.h"
#include "ir/narrow.h"

/* Of one scalar: itself, or the low and the high word. */
typedef struct kni_parts {
    kni_ir_id id[2];
} kni_parts;

/* One module being rewritten into `to`: the kernel, or functions of the math library. */
typedef struct kni_narrower {
    const kni_ir *from;
    kni_ir *to;
    const kni_ir_caps *caps;
    kni_ir_builder b; /* where the rewriting stands in `to` */
    uint32_t *first;  /* of a node of `from`: its parts in `parts`, a scalar for each lane */
    kni_parts *parts;
    uint32_t n_parts, part_room;
    uint32_t bindings[KNI_IR_MAX_BINDINGS]; /* of `from` in `to` */
    uint32_t words, fault;                  /* the param of all numbers; the buffer of the fault cell */
    uint32_t *functions;                    /* of `from` in `to` */
    uint32_t function;                      /* 1 + the one of `from` that is rewritten */
    int depth;                              /* of modules inside modules */
} kni_narrower;

static inline bool kni_narrow_is_pair(int dtype)
{
    return dtype == KN_I64 || dtype == KN_U64 || dtype == KN_F64;
}
static inline uint32_t kni_narrow_count(int dtype) { return kni_narrow_is_pair(dtype) ? 2 : 1; }
static inline int kni_narrow_part(int dtype) { return kni_narrow_is_pair(dtype) ? KN_U32 : dtype; }

/* ---- short ways to say IR */
static inline kni_ir_id kni_n_word(kni_narrower *n, const char *word, kni_ir_id x, kni_ir_id y)
{
    return kni_ir_word(&n->b, word, x, y);
}
static inline kni_ir_id kni_n_u32(kni_narrower *n, uint32_t value)
{
    return kni_ir_whole(&n->b, KN_U32, (int64_t)value);
}
/* With a number on the right. The order in which C evaluates arguments is open, so no call makes nodes in two of its arguments: the text of a
   kernel must not depend on the compiler that built the library. */
static inline kni_ir_id kni_n_word_by(kni_narrower *n, const char *word, kni_ir_id x, uint32_t y)
{
    return kni_n_word(n, word, x, kni_n_u32(n, y));
}
static inline kni_ir_id kni_n_select(kni_narrower *n, kni_ir_id c, kni_ir_id yes, kni_ir_id no)
{
    return kni_ir_select(&n->b, c, yes, no);
}
/* 1 or 0 */
static inline kni_ir_id kni_n_unit(kni_narrower *n, kni_ir_id truth)
{
    kni_ir_id yes = kni_n_u32(n, 1), no = kni_n_u32(n, 0);
    return kni_n_select(n, truth, yes, no);
}
static inline kni_ir_id kni_n_bits(kni_narrower *n, kni_ir_id x, int dtype)
{
    return kni_ir_bitcast(&n->b, x, dtype);
}
void kni_narrow_refuse(kni_narrower *n, const char *format, ...);

/* ---- narrow_function.c: the math library in `to` */
/* Calls an item with the parts of its arguments one after the other. */
kni_parts kni_narrow_call(kni_narrower *n, const char *item, int result, const kni_ir_id *arguments,
                          int count);
/* Drops functions that nobody calls and puts those that are called before who calls them. */
kn_status kni_narrow_order(kni_ir *ir);

/* ---- narrow_integer.c */
kni_parts kni_narrow_integer_word(kni_narrower *n, const char *word, int dtype, kni_parts x, kni_parts y);
kni_ir_id kni_narrow_less(kni_narrower *n, int dtype, kni_parts x, kni_parts y, bool or_equal);

/* ---- narrow_float.c */
kni_parts kni_narrow_float_word(kni_narrower *n, const char *word, int dtype, kni_parts x, kni_parts y);
kni_parts kni_narrow_fma(kni_narrower *n, int dtype, kni_parts x, kni_parts y, kni_parts z);

/* ---- narrow_cast.c */
kni_parts kni_narrow_cast(kni_narrower *n, kni_parts x, int from, int to);
/* A value as memory of the dtype holds it: its bits in one U32 (or I32 of what has a sign), both words of a wide one. */
kni_parts kni_narrow_stored(kni_narrower *n, kni_parts x, int from, int stored);
/* The other way, from bits that stand lowest; *dtype is what the value is then computed in. */
kni_parts kni_narrow_loaded(kni_narrower *n, kni_ir_id bits, int stored, int *dtype);
kni_ir_id kni_narrow_truth(kni_narrower *n, kni_parts x, int dtype);

/* ---- narrow_memory.c */
void kni_narrow_bindings(kni_narrower *n);
kni_parts kni_narrow_param(kni_narrower *n, uint32_t number, kni_ir_id at);
void kni_narrow_load(kni_narrower *n, const kni_ir_node *node, kni_parts *lanes);
void kni_narrow_store(kni_narrower *n, const kni_ir_node *node);
kni_parts kni_narrow_atomic(kni_narrower *n, const kni_ir_node *node);
void kni_narrow_report(kni_narrower *n, kni_parts value);

/* ---- narrow.c */
/* Lane `lane` of a node of `from`; its only one where it is a scalar. */
kni_parts kni_narrow_value(const kni_narrower *n, kni_ir_id id, uint32_t lane);
/* Rewrites the functions of n->from that `to` does not have yet. */
void kni_narrow_functions(kni_narrower *n);
bool kni_narrow_begin(kni_narrower *n); /* room for values; false without memory */
void kni_narrow_end(kni_narrower *n);

#endif
