/* What the files of the printer share: the table of a dialect, the facts about each node that decide how it is written,
   and the state of one text in the making. A dialect of the C family is one more table (dialect_*.c). */
#ifndef KNI_IR_EMITTER_H
#define KNI_IR_EMITTER_H

#include "ir/ir.h"

typedef struct kni_ir_emitter kni_ir_emitter;

/* How one atomic is said where the target has it; anything else is a loop around compare and exchange. */
typedef struct kni_dialect_atomic {
    uint8_t combine, dtype;
    const char *text; /* an expression of `word`, a pointer to the element, and `value` */
} kni_dialect_atomic;

/* A function that the target has an instruction for: its text, in place of an item's of the prelude where the condition
   of the preprocessor holds, or always where there is none. */
typedef struct kni_dialect_function {
    const char *name, *condition, *text;
} kni_dialect_function;

typedef struct kni_dialect {
    const char *name;   /* of the language, or of the devices that take it */
    const char *ending; /* of files that hold its texts */
    const char *basics; /* what every text begins with (ir/prelude.h) */
    /* With the same results as the items but for the bits of a NaN. */
    const kni_dialect_function *instructions;
    int n_instructions;
    /* What the target computes near a word in one instruction or two: within 2^-22 of it. They are no items. */
    const kni_dialect_function *near;
    int n_near;
    /* Of a language that is not of the C family: prints a whole kernel; nothing else of the table counts. */
    kn_status (*print)(const kni_ir *ir, const kni_ir_caps *caps, kni_ir_text *text);
    bool serial;         /* an entry loops over items or workgroups itself */
    bool native_vectors; /* has vector types of its own; else structs */
    bool wide_memory;    /* several elements are read and written at once where they are aligned */
    bool wraps;          /* signed integers wrap, by the options it is compiled with */
    bool no_goto;        /* the language has none */
    const char *entry;   /* what the kernel's definition begins with */
    /* Prints a parallel entry up to its opening brace where parameters are said in another way than C's; else NULL. */
    void (*head)(kni_ir_emitter *e);
    const char
        *bound; /* said after it of a workgroup's size, with %u: it must fit the registers; NULL: nothing */
    const char *space[3]; /* of a pointer, by kni_ir_space */
    const char *array[3]; /* what the declaration of an array begins with */
    const char *no_alias; /* a pointer to memory that nothing else points to */
    const char *aligned;  /* before the name of a struct or array; %u bytes. NULL: none */
    const char *params;   /* how a member of the params is reached */
    const char *apart;    /* a line before a loop whose turns may run side by side; NULL: none */
    const char *barrier;
    const char *shuffle[2]; /* around the value and between it and the lane's number; NULL: none */
    const char *suffix[2];  /* of i64 and u64 constants */
    const char *builtins[KNI_IR_BUILTINS][3];
    const char *compare
        [2]; /* compare and exchange of 32 and 64 bits: word, seen, next; the value is the old one. NULL: none */
    const char *load_word;    /* reads *word so that the compiler does not keep it */
    const char *report;       /* the body of a function that notes `value` in `fault` */
    const char *wide_atomics; /* a line that switches on 64-bit atomics */
    const kni_dialect_atomic *atomics;
    int n_atomics;
} kni_dialect;

extern const kni_dialect kni_dialect_c, kni_dialect_c99, kni_dialect_cuda, kni_dialect_opencl,
    kni_dialect_spirv, kni_dialect_metal;
const kni_dialect *kni_dialect_of(int dialect);
/* The type of a dtype in memory; truths are computed in int, which kni_dialect_value_type knows. */
const char *kni_dialect_storage_type(int dtype);
const char *kni_dialect_value_type(int dtype);

/* What is known of a node before anything is printed. */
typedef struct kni_ir_emit_fact {
    uint32_t uses, block;
    uint32_t effects; /* how many statements with an effect come before it in its block */
    uint32_t region;  /* of a serial workgroup: the stretch between barriers; 0 is between the stretches */
    uint32_t number;  /* of its name, 0 while it has none */
    kni_ir_id root;   /* the statement it is printed in when inlined */
    uint16_t size;
    bool inlined, blocked, dead;
    bool data;    /* an integer that depends on memory: its arithmetic may overflow */
    bool splits;  /* a statement that a whole workgroup takes together */
    bool across;  /* kept for each member of the workgroup, as an array */
    bool uniform; /* the same for the whole workgroup and free of state */
} kni_ir_emit_fact;

enum { KNI_IR_EMIT_NAME = 72, KNI_IR_EMIT_MAX_ATOMICS = 64 };

struct kni_ir_emitter {
    const kni_ir *ir;
    const kni_ir_caps *caps;
    const kni_dialect *dialect;
    kni_ir_text *text;                                 /* where printing goes */
    void (*uses)(void *context, const char *function); /* of a kernel among many; NULL: the text is whole */
    void *uses_context;
    kni_ir_emit_fact *facts;
    kni_ir_id *order; /* nodes that are reached, in the order of the text */
    uint32_t n_order;
    char (*names)[KNI_IR_EMIT_NAME]; /* functions of the prelude that the text calls */
    uint32_t n_names, name_room;
    bool vectors[KN_DTYPE_COUNT][5]; /* types that the text uses, by dtype and log2 of the lanes */
    uint8_t atomics[KNI_IR_EMIT_MAX_ATOMICS][3]; /* combine, dtype, space */
    uint8_t array_across[KNI_IR_MAX_BINDINGS];   /* private arrays kept for each member of a workgroup */
    uint32_t array_region[KNI_IR_MAX_BINDINGS];
    uint32_t array_owner[KNI_IR_MAX_BINDINGS]; /* 1 + function that uses it, 1 for the kernel */
    uint8_t builtins[KNI_IR_BUILTINS];         /* that are read, a bit for each axis */
    int n_atomics;
    bool group_level;      /* printing what a serial workgroup does as one */
    bool grouped;          /* the kernel is a serial workgroup */
    bool wants_groups;     /* a serial kernel reads the number of groups or an axis above 0 */
    uint8_t tile_products; /* bit 0: f16, 1: bf16 */
    uint32_t function;     /* 1 + the function being printed */
    uint32_t values, variables, counters, labels;
    int indent;
    uint32_t region;
    uint32_t continue_label; /* what `continue` jumps to; 0: the plain statement */
    bool in_loop, continue_used;
    bool item_left, group_left; /* a return of a serial kernel jumped to the end */
    kn_status status;
};

static inline void kni_ir_emit_add(kni_ir_emitter *e, const char *text)
{
    kni_ir_text_add(e->text, "%s", text);
}

/* ---- emit_plan.c: fills the facts */
kn_status kni_ir_emit_plan(kni_ir_emitter *e);
/* The operands of a node, with how often its text names each (2: more than once). Returns how many; `at` counts up. */
bool kni_ir_emit_operand(const kni_ir_emitter *e, kni_ir_id id, uint32_t at, kni_ir_id *operand,
                         uint32_t *weight);
bool kni_ir_emit_is_leaf(const kni_ir_node *node);
/* Whether elements of the access are read or written as one vector. */
bool kni_ir_emit_is_wide(const kni_ir_emitter *e, const kni_ir_node *node);

/* ---- emit_name.c */
extern const char kni_ir_lane_letters[];
void kni_ir_emit_name(kni_ir_emitter *e, kni_ir_id id);
void kni_ir_emit_type(kni_ir_emitter *e, kni_ir_type type);
void kni_ir_emit_vector_type(kni_ir_emitter *e, int dtype, int lanes, bool storage);
/* Remembers a function of the prelude; prints nothing. */
void kni_ir_emit_uses(kni_ir_emitter *e, const char *format, ...);
/* Prints the name of a buffer, an array or a number as u_<name>. So do functions begin with user_ and entries with kn_
   (legalise.c): the languages and their libraries have no such names, nor has the printer. */
void kni_ir_emit_user_name(kni_ir_emitter *e, const char *name);
void kni_ir_emit_fail(kni_ir_emitter *e, const kni_ir_node *node, const char *format, ...);

/* ---- emit_value.c: expressions. level: how tightly what is around binds; lane: of a vector. */
enum {
    KNI_LEVEL_ANY,
    KNI_LEVEL_CHOICE,
    KNI_LEVEL_OR,
    KNI_LEVEL_AND,
    KNI_LEVEL_BIT_OR,
    KNI_LEVEL_BIT_XOR,
    KNI_LEVEL_BIT_AND,
    KNI_LEVEL_EQUAL,
    KNI_LEVEL_LESS,
    KNI_LEVEL_SHIFT,
    KNI_LEVEL_SUM,
    KNI_LEVEL_PRODUCT,
    KNI_LEVEL_UNARY,
    KNI_LEVEL_PRIMARY
};
void kni_ir_emit_value(kni_ir_emitter *e, kni_ir_id id, int lane, int level);
void kni_ir_emit_definition(kni_ir_emitter *e, kni_ir_id id, int lane); /* what stands behind its name */
void kni_ir_emit_whole(kni_ir_emitter *e, kni_ir_id id); /* a scalar, or all lanes of a vector */
/* Around a value that is converted; returns the level that the value inside is to be printed at. */
int kni_ir_emit_cast_begin(kni_ir_emitter *e, int to, int from, int level, bool *closes);

/* ---- emit_memory.c */
void kni_ir_emit_load(kni_ir_emitter *e, kni_ir_id id); /* a vector's load, as a statement */
void kni_ir_emit_load_scalar(kni_ir_emitter *e, const kni_ir_node *node, int level);
void kni_ir_emit_store(kni_ir_emitter *e, kni_ir_id id);
void kni_ir_emit_array(kni_ir_emitter *e, uint32_t binding); /* its declaration */
void kni_ir_emit_element(kni_ir_emitter *e, uint32_t binding, kni_ir_id at, int64_t plus);

/* ---- emit_atomic.c */
void kni_ir_emit_atomic(kni_ir_emitter *e, const kni_ir_node *node);
void kni_ir_emit_atomic_functions(kni_ir_emitter *e);

/* ---- emit_source.c */
/* A buffer's parameter: address space, type and name. */
void kni_ir_emit_pointer(kni_ir_emitter *e, uint32_t binding);

/* ---- emit_tile.c */
void kni_ir_emit_tile(kni_ir_emitter *e, kni_ir_id id);
void kni_ir_emit_tile_functions(kni_ir_emitter *e);

/* ---- emit_statement.c */
void kni_ir_emit_line(kni_ir_emitter *e); /* the indentation of a new line */
void kni_ir_emit_block(kni_ir_emitter *e, uint32_t block);
void kni_ir_emit_statement(kni_ir_emitter *e, kni_ir_id id);
void kni_ir_emit_for_head(kni_ir_emitter *e, kni_ir_id id);

/* ---- emit_group.c: a workgroup as loops over its members, split at barriers */
void kni_ir_emit_find_splits(kni_ir_emitter *e);
void kni_ir_emit_group_block(kni_ir_emitter *e, uint32_t block);

#endif
