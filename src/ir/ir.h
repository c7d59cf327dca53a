/* The kernel language in memory: typed SSA values in structured control flow. A value is a node that is computed once,
   where it stands in its block; what changes (a loop's total) is a variable, read by GET and written by SET, so that no
   join needs a phi and every target language can say it. Memory is a binding and an element index, never a pointer.
   Made by the builder (ir/builder.h) or the parser (ir/parse.h); checked by ir/verify.h after each pass. */
#ifndef KNI_IR_H
#define KNI_IR_H

#include "core/dtype.h"

/* The id of a node; 0 is none. */
typedef uint32_t kni_ir_id;

/* What a value is computed in: KN_F32, F64, I32, I64, U32, U64 or BOOL (a truth). Narrower dtypes exist in memory only:
   a load widens to the compute type and a store converts back. */
typedef struct kni_ir_type {
    uint8_t dtype;
    uint8_t lanes; /* 1, 2, 4, 8 or 16 */
} kni_ir_type;

typedef enum kni_ir_code {
    KNI_IR_NONE,
    /* values */
    KNI_IR_CONSTANT, /* whole or real by type */
    KNI_IR_PARAM,    /* number `index` of the kernel's params */
    KNI_IR_ELEMENT,  /* element [a] of array param `index` */
    KNI_IR_BUILTIN,  /* `index` is a kni_ir_builtin */
    KNI_IR_ARGUMENT, /* number `index` of the function's arguments */
    KNI_IR_WORD, /* word `index` of ops/scalar_words.def on a, b; truths come out as BOOL. `detail` 1: as near as the
                        target's own instruction comes (kni_ir_near), for the words that have one */
    KNI_IR_FMA, /* a * b + c, rounded once */
    KNI_IR_AND, /* of truths; both sides are computed */
    KNI_IR_OR,
    KNI_IR_NOT,
    KNI_IR_SELECT, /* a ? b : c; both are computed */
    KNI_IR_CAST, /* a as the node's type, as kni_convert does it; by way of storage dtype `detail` if not 0 */
    KNI_IR_BITCAST, /* the same bits; equal sizes */
    KNI_IR_VECTOR,  /* `lanes` copies of scalar a */
    KNI_IR_LANE,    /* lane `index` of vector a */
    KNI_IR_PACK,    /* the vector whose lanes are the scalars of the list */
    KNI_IR_PHILOX,  /* 32 random bits as I64: key a, counter b, word c */
    KNI_IR_CALL,    /* function `index` with the arguments of the list */
    /* memory: binding `index`, element a */
    KNI_IR_LOAD,   /* where b (a truth) holds, else c; b absent: always */
    KNI_IR_STORE,  /* b, where c holds; c absent: always */
    KNI_IR_ATOMIC, /* operation `detail` with b; the value is the old one */
    /* variables */
    KNI_IR_VARIABLE, /* declares one; a is its first value or absent */
    KNI_IR_GET,      /* of variable a */
    KNI_IR_SET,      /* variable a becomes b */
    /* control: blocks[] hold what is inside */
    KNI_IR_IF, /* a; blocks then, else */
    KNI_IR_FOR, /* the node's value counts from a below b by c; block body; `detail` 1: turns may run side by side */
    KNI_IR_LOOP, /* blocks condition (ends in TEST), body, step; as for (; condition; step) body */
    KNI_IR_TEST, /* ends a condition block: go on while a */
    KNI_IR_BREAK,
    KNI_IR_CONTINUE,
    KNI_IR_RETURN, /* a: the function's value, absent in a kernel */
    KNI_IR_REPORT, /* notes a as a fault of this launch */
    /* together */
    KNI_IR_BARRIER,   /* all of a workgroup come here before one goes on; proven uniform by the verifier */
    KNI_IR_SUBGROUP,  /* `detail` reduces a over the subgroup, every lane gets the result */
    KNI_IR_WORKGROUP, /* the same over the workgroup; in every lane, in a fixed order */
    KNI_IR_SHUFFLE,   /* a of the lane whose number is this one's xor b */
    KNI_IR_SCAN,      /* `detail` over the workgroup, inclusive */
    /* matrix tiles of a subgroup, 16 x 16 x 16; legalise turns them into plain loops where a target has none */
    KNI_IR_TILE,          /* declares a tile: `detail` left, right or sum; f16, bf16 or f32 by type */
    KNI_IR_TILE_FILL,     /* tile a becomes b everywhere */
    KNI_IR_TILE_LOAD,     /* tile a from binding `index`, first element b, row stride c */
    KNI_IR_TILE_STORE,    /* the other way */
    KNI_IR_TILE_MULTIPLY, /* sum tile a += left tile b times right tile c */
    KNI_IR_CODES
} kni_ir_code;

typedef enum kni_ir_builtin {
    KNI_IR_ITEM,    /* of a kernel that runs once for each item */
    KNI_IR_GROUP,   /* number of the workgroup (axis in `detail`, 0 to 2) */
    KNI_IR_GROUPS,  /* how many there are */
    KNI_IR_LOCAL,   /* number inside the workgroup (axis 0) */
    KNI_IR_LOCALS,  /* its size: a constant of the kernel */
    KNI_IR_LANE_ID, /* number inside the subgroup */
    KNI_IR_LANES,   /* its size */
    KNI_IR_BUILTINS
} kni_ir_builtin;

typedef enum kni_ir_combine {
    KNI_IR_ADD,
    KNI_IR_MULTIPLY,
    KNI_IR_MIN, /* NaN wins, as in the words min and max */
    KNI_IR_MAX,
    KNI_IR_EXCHANGE, /* of atomics alone */
    KNI_IR_COMPARE,  /* compare and exchange: c is what is expected */
    KNI_IR_COMBINES
} kni_ir_combine;

enum { KNI_IR_TILE_LEFT, KNI_IR_TILE_RIGHT, KNI_IR_TILE_SUM };

typedef struct kni_ir_node {
    uint8_t code, detail;
    kni_ir_type type; /* of the value; dtype KN_DTYPE_NONE where there is none */
    uint32_t index;
    kni_ir_id a, b, c;
    union {
        int64_t whole; /* of integer and truth constants */
        double real;
        uint32_t blocks[3]; /* numbers of blocks; 0 none */
        struct {
            uint32_t first, count; /* of a call's arguments, or a pack's lanes, in the module's list */
        } list;
    } u;
    kni_ir_id next;        /* in its block */
    uint32_t line, column; /* of the user's text, 0 where there is none */
} kni_ir_node;

typedef struct kni_ir_block {
    kni_ir_id first, last;
} kni_ir_block;

typedef enum kni_ir_space {
    KNI_IR_GLOBAL,
    KNI_IR_SHARED, /* by a workgroup */
    KNI_IR_PRIVATE,
    KNI_IR_TABLE, /* constants of the module */
    KNI_IR_SPACES
} kni_ir_space;
enum {
    KNI_IR_READ = 1,
    KNI_IR_WRITE = 2,
    KNI_IR_ALIASES = 4, /* may be the memory of another binding */
    KNI_IR_ATOMICS = 8  /* of a narrow kernel: ATOMIC nodes use it */
};

/* A buffer given at launch, or an array of the kernel itself. */
typedef struct kni_ir_binding {
    char name[32];
    uint8_t dtype; /* in memory */
    uint8_t space, access;
    uint8_t
        aligned; /* all that vectors begin at are multiples of so many elements; 1 where nothing is known */
    int64_t
        length; /* of an array; of a buffer the name of its element count is `<name>_length` when checked, else -1 */
    uint32_t first; /* of a table: its first word in the module's words, low words first */
} kni_ir_binding;

/* A number, or a small array of numbers, the same for the whole launch. They lie in one block of bytes in order, each
   at a multiple of its size, and so many more that their number is a multiple of 8; `offset` is filled in by the builder. */
typedef struct kni_ir_param {
    char name[48];
    uint8_t dtype;
    uint32_t count; /* 0: a number; else an array of so many */
    uint32_t offset;
} kni_ir_param;

enum { KNI_IR_MAX_BINDINGS = 128, KNI_IR_MAX_PARAMS = 192, KNI_IR_MAX_ARGUMENTS = 32 };

typedef struct kni_ir_function {
    char name[48];
    kni_ir_type result;
    kni_ir_type arguments[KNI_IR_MAX_ARGUMENTS];
    int n_arguments;
    uint32_t body; /* block */
} kni_ir_function;

/* One kernel and the functions it calls. */
typedef struct kni_ir {
    char name[48];
    char file[64];      /* of the user's text, for messages; empty where there is none */
    kni_ir_node *nodes; /* [0] is unused */
    uint32_t n_nodes, node_room;
    kni_ir_block *blocks; /* [0] is unused */
    uint32_t n_blocks, block_room;
    kni_ir_id *lists;
    uint32_t n_lists, list_room;
    uint32_t *words; /* of tables */
    uint32_t n_words, word_room;
    kni_ir_function *functions;
    uint32_t n_functions, function_room;
    kni_ir_binding bindings[KNI_IR_MAX_BINDINGS]; /* global buffers first, in the order of the launch */
    uint32_t n_bindings, n_buffers;               /* n_buffers of them are global */
    kni_ir_param params[KNI_IR_MAX_PARAMS];
    uint32_t n_params, param_bytes;
    uint32_t body;      /* block */
    uint32_t workgroup; /* invocations of a workgroup; 0: one for each item, the target chooses */
    bool reports;       /* has REPORT nodes: the launch gets a fault cell */
    uint32_t vector;    /* items are taken so many at a time when not 0 (pointwise kernels) */
    bool narrow;        /* in the form of docs/adding-a-device.md: 32 bits, no prelude */
} kni_ir;

/* What a target can do and how it is written. */
typedef enum kni_ir_dialect {
    KNI_IR_C,
    KNI_IR_CUDA,
    KNI_IR_OPENCL,
    KNI_IR_C99,   /* freestanding, by any compiler of the gcc family and with any options */
    KNI_IR_SPIRV, /* a binary of Vulkan 1.1, from the narrow form */
    KNI_IR_METAL, /* MSL 2.4 and later */
    KNI_IR_DIALECTS
} kni_ir_dialect;

/* What floats are asked to do where a device lets one choose. */
enum {
    KNI_IR_FLOAT_KEEPS_TINY = 1,    /* subnormal numbers stay */
    KNI_IR_FLOAT_KEEPS_SPECIAL = 2, /* NaN, infinities and the sign of 0 are themselves */
    KNI_IR_FLOAT_ROUNDS = 4         /* to the nearest, ties to even */
};

typedef struct kni_ir_caps {
    uint8_t dialect;
    bool f64, i64, half_storage; /* half_storage: 16-bit elements can be addressed in memory */
    bool no_bytes;               /* 8-bit ones cannot */
    bool narrow;                 /* kernels are wanted in the narrow form in any case */
    bool no_aliases;             /* memory that a launch writes is bound once */
    uint32_t max_buffers;        /* of a kernel, the fault cell counted; 0: no bound */
    uint32_t param_bytes;        /* the most of a launch; 0: no bound */
    bool subgroups, atomics, float_atomics, tiles;
    uint8_t float_modes; /* of the bits above */
    uint32_t subgroup;   /* its size, 1 where there is none */
    uint32_t max_workgroup, shared_bytes;
    uint32_t vector_bytes; /* of the widest load that pays */
} kni_ir_caps;

/* Whether every kernel of such a target is brought into the narrow form. */
static inline bool kni_ir_wants_narrow(const kni_ir_caps *c)
{
    return c->narrow || c->no_bytes || !c->i64 || !c->half_storage;
}

/* ---- the life of one */
kni_ir *kni_ir_new(const char *name); /* NULL without memory */
void kni_ir_free(kni_ir *ir);
kni_ir *kni_ir_copy(const kni_ir *ir); /* NULL without memory */

static inline kni_ir_node *kni_ir_at(const kni_ir *ir, kni_ir_id id) { return &ir->nodes[id]; }

/* ---- passes. Each leaves what the verifier accepts. */
kn_status kni_ir_verify(const kni_ir *ir); /* the failure told says which node, with line and column */
kn_status kni_ir_simplify(kni_ir *ir);     /* folds constants, forwards variables, removes what nobody uses */
/* Into what the target can do. A kernel whose name means something there ("max") is called kn_<name> after it. */
kn_status kni_ir_legalise(kni_ir *ir, const kni_ir_caps *caps);

/* A growing text; `failed` once there was no memory. */
typedef struct kni_ir_text {
    char *data;
    size_t length, room;
    bool failed;
} kni_ir_text;
/* %s %d %u %lld %llu %c %% and %r: a double, the shortest text that reads back as it, always with a point or an
   exponent ("1.0", "1e-05"); inf, -inf and nan are written so. */
void kni_ir_text_add(kni_ir_text *text, const char *format, ...);
void kni_ir_text_add_bytes(kni_ir_text *text, const void *bytes, size_t n);
void kni_ir_text_free(kni_ir_text *text);

/* The IR itself, for people and golden tests. */
kn_status kni_ir_print(const kni_ir *ir, kni_ir_text *text);
/* A whole source in the dialect of the caps, with the math functions it calls. How the entry is called:
     CUDA    extern "C" __global__ void NAME(T0 *b0, T1 *b1, ..., long long *fault, struct params p)
     OPENCL  __kernel void NAME(__global T0 *b0, ..., __global long *fault, struct params p)
     METAL   kernel void NAME(device T0 *b0 [[buffer(0)]], ..., device long *fault, constant struct params &p, positions)
     C, C99  void NAME(void *const *buffers, int64_t *fault, const void *params, int64_t begin, int64_t end)
   Buffers first, the fault cell only where `reports`, then the params by value where param_bytes is not 0. The params
   begin with the implicit ones of kni_ir_add_item_params. A C entry runs items (or workgroups, counted with axis 0
   first) begin .. end - 1; one that reads GROUPS or a GROUP of axis 1 or 2 finds int64_t[3], the number of workgroups,
   behind its last buffer. Compiled with --fmad=false (CUDA), -cl-fp32-correctly-rounded-divide-sqrt (OpenCL),
   -ffp-contract=off -fwrapv (C), the texts give the bits of the CPU. */
kn_status kni_ir_emit(const kni_ir *ir, const kni_ir_caps *caps, kni_ir_text *text);
/* The same for one kernel of a text of many, without the prelude and the functions that kernels share. It calls `uses` with the name of
   each function of the prelude that the kernel calls. The caller defines kni_report(fault, value). */
kn_status kni_ir_emit_part(const kni_ir *ir, const kni_ir_caps *caps, kni_ir_text *text,
                           void (*uses)(void *context, const char *function), void *context);

#endif
