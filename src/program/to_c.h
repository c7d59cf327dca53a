/* From a program to one file of freestanding C: what the files of the printer share. Values lie contiguous in one static arena; each
   node becomes a call of a kernel that is printed once. */
#ifndef KNI_PROGRAM_TO_C_H
#define KNI_PROGRAM_TO_C_H

#include "ir/ir.h"
#include "program/run_state.h"

enum {
    KNI_C_OPERANDS = KNI_PROGRAM_VALUES,
    KNI_C_RESULTS = 8,
    KNI_C_ATTRIBUTES = 1024,
    KNI_C_DEPTH = 64,
    KNI_C_NUMBERS = 128,
    KNI_C_CANDIDATES = 192,
    KNI_C_PIECES = 4
};

/* Memory of the arena. Steps are counted as they are printed; two blocks share bytes where no step needs both. */
typedef struct kni_c_block {
    int64_t bytes, offset;
    int32_t from, to; /* the first and the last step that need it */
    int32_t area;     /* the function it belongs to: functions share nothing */
    int32_t held;     /* 1 + the open loop outside of which it was made and in which it is read; 0: none */
} kni_c_block;

/* Where a value lies: an expression of a pointer to bytes, and the block it is in, -1 outside of the arena. */
typedef struct kni_c_place {
    const char *address;
    int32_t block;
    bool read; /* somebody has asked for it */
} kni_c_place;

/* a p + b q, where p and q are sizes and 1 where they are absent. */
typedef struct kni_c_piece {
    int64_t a, b;
    kn_dim p, q, where_one;
} kni_c_piece;

/* The first piece whose size `where_one` is 1; the last one where there is none. */
typedef struct kni_c_formula {
    kni_c_piece pieces[KNI_C_PIECES];
    int32_t n;
} kni_c_formula;

/* A kernel that was printed: by its key, which for bodies is its text. */
typedef struct kni_c_kernel {
    const char *key;
    kni_ir *ir; /* of a reference kernel: its params; NULL: a body */
} kni_c_kernel;

typedef struct kni_c {
    kni_program *p;
    const char *name; /* that all public names begin with */
    bool blob;
    kni_run run;              /* the symbols, and sizes while formulas are looked for */
    int64_t *points;          /* the sizes that formulas are compared at: n_sizes for each point */
    int32_t n_points;         /* at least one */
    bool every_point;         /* they are all there are */
    int64_t *numbers, *sizes; /* room for what is known at the points, while a formula is looked for */
    kni_c_place *places;      /* of the values */
    kni_c_block *blocks;      /* of the arena */
    kni_c_kernel *kernels;    /* that were printed */
    char **strings;           /* addresses, and names of the prelude's functions */
    int32_t n_blocks, block_room, n_kernels, kernel_room, n_strings, string_room, n_uses, use_room;
    const char **uses;          /* functions of the prelude */
    kni_ir_text functions;      /* kernels, then functions of the program */
    kni_ir_text code;           /* the function that is printed now */
    int32_t step, area, indent; /* of what is printed now */
    int32_t loops[KNI_C_DEPTH]; /* the steps that open loops began at */
    int32_t n_loops;
    int64_t arena, weights; /* bytes */
} kni_c;

/* A node at one point: types and attributes as numbers. */
typedef struct kni_c_bound {
    kni_c *c;
    const kni_program_node *node;
    bool possible; /* no size is below 0; else nothing but the types is filled in */
    kni_type types[KNI_C_OPERANDS + KNI_C_RESULTS];
    const kni_type *in[KNI_C_OPERANDS], *out[KNI_C_RESULTS];
    _Alignas(8) char attributes[KNI_C_ATTRIBUTES];
} kni_c_bound;

/* ---- to_c.c */

/* "value 'x'", "value 7": how messages name a value. */
const char *kni_c_value_name(const kni_c *c, int32_t value, char *room, size_t bytes);
/* Whether it can stand in a name of C. */
bool kni_c_is_name(const char *name);
/* The name with only what C takes. */
void kni_c_print_name(kni_ir_text *t, const char *name);
/* A copy that lives as long as the printer; NULL without memory. */
const char *kni_c_keep(kni_c *c, const char *text);
kn_status kni_c_no_memory(void);
/* Whether values of it can be in a written program: those that are only stored are cast, viewed and joined. */
static inline bool kni_c_takes_dtype(int dtype) { return kni_dtype_usable(dtype) || kni_dtype_stored(dtype); }
/* An element of an array as a number of C. */
void kni_c_print_element(kni_ir_text *t, int dtype, const void *data, int64_t i);
/* Notes a function of the prelude that the text calls. context: a kni_c. */
void kni_c_uses(void *context, const char *function);

/* ---- to_c_sizes.c: sizes as C, and nodes at sizes that are known */

void kni_c_dim(kni_ir_text *t, kn_dim d);
/* The product of sizes first .. last - 1 of a type; 1 where there are none. */
kn_dim kni_c_product(const kni_type *t, int first, int last);
kn_status kni_c_find_points(kni_c *c);
/* c->run has the sizes of a point. */
void kni_c_go_to(kni_c *c, int32_t point);
void kni_c_free_points(kni_c *c);
/* Statements that leave the entry function where a size of the program cannot be with those that it is given. */
kn_status kni_c_check_sizes(kni_c *c, kni_ir_text *t);
/* The node with the sizes of c->run. Fails where they do not fit it. */
kn_status kni_c_bind(kni_c *c, const kni_program_node *n, kni_c_bound *b);
/* Whether the node takes the sizes of all points. */
kn_status kni_c_check_node(kni_c *c, const kni_program_node *n);
/* The attributes in their normal form; whole numbers may be expressions. Room for KNI_C_ATTRIBUTES bytes. */
kn_status kni_c_attributes(const kni_c *c, const kni_program_node *n, void *attributes);

/* ---- to_c_formula.c: numbers that follow from sizes */

void kni_c_formula_text(kni_ir_text *t, const kni_c_formula *f);
/* Numbers of a node as formulas of the sizes. `at` gives them for the sizes of c->run; they are compared at every point but those where
   it gives -1 for their count: nothing is computed there. Where it does everywhere *count is -1. */
typedef kn_status (*kni_c_numbers)(void *context, int64_t *numbers, int32_t *n);
kn_status kni_c_fit(kni_c *c, const kni_program_node *n, kni_c_numbers at, void *context,
                    kni_c_formula *formulas, int32_t *count);

/* ---- to_c_memory.c */

/* The most elements a type can have; a failure names the value, which may be -1. */
kn_status kni_c_limit(const kni_c *c, const kni_type *t, int32_t value, int64_t *count);
/* A block that is needed from now on; -1 without memory. */
int32_t kni_c_take(kni_c *c, int64_t bytes);
/* The block is read or written in this step. */
void kni_c_touch(kni_c *c, int32_t block);
/* Memory for a value of its type. */
kn_status kni_c_make(kni_c *c, int32_t value);
/* The value lies `offset` bytes (text, NULL: 0) behind another one. */
kn_status kni_c_alias(kni_c *c, int32_t value, int32_t of, const char *offset);
/* The address of a value, which this step needs. */
const char *kni_c_address(kni_c *c, int32_t value);
void kni_c_begin_loop(kni_c *c);
void kni_c_end_loop(kni_c *c);
/* Places all blocks; fills c->arena. */
kn_status kni_c_plan(kni_c *c);

/* ---- to_c_small.c: casts from and to dtypes that are only stored */

bool kni_c_is_small_cast(const kni_c *c, const kni_program_node *n);
kn_status kni_c_print_small_cast(kni_c *c, const kni_program_node *n);

/* ---- to_c_body.c, to_c_kernel.c, to_c_node.c */

kn_status kni_c_print_body(kni_c *c, const kni_program_node *n);
kn_status kni_c_print_kernel(kni_c *c, const kni_program_node *n);
kn_status kni_c_print_region(kni_c *c, int32_t region);
void kni_c_line(kni_c *c); /* the indentation of a line of c->code */
/* to = from, of the type's size. */
void kni_c_print_move(kni_c *c, const char *to, const char *from, const kni_type *t);
/* Finds or adds a kernel; its number, -1 without memory. `text`: as key. */
int32_t kni_c_kernel_of(kni_c *c, const char *key, bool *is_new);

#endif
