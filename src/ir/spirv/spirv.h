/* What the files of the SPIR-V printer share: numbers of the specification, the module in the making, and the few functions that write
   its instructions. The printer takes kernels in the narrow form (docs/adding-a-device.md) and nothing else. */
#ifndef KNI_IR_SPIRV_H
#define KNI_IR_SPIRV_H

#include "ir/ir_internal.h"

enum {
    SPIRV_MAGIC = 0x07230203,
    SPIRV_VERSION = 0x00010300, /* 1.3: what every Vulkan 1.1 takes */
    SPIRV_HEADER = 5,           /* words before the first instruction */

    SPIRV_EXTENSION = 10,
    SPIRV_IMPORT = 11,
    SPIRV_EXTENDED = 12,
    SPIRV_MEMORY_MODEL = 14,
    SPIRV_ENTRY = 15,
    SPIRV_MODE = 16,
    SPIRV_CAPABILITY = 17,
    SPIRV_TYPE_VOID = 19,
    SPIRV_TYPE_BOOL = 20,
    SPIRV_TYPE_INTEGER = 21,
    SPIRV_TYPE_FLOAT = 22,
    SPIRV_TYPE_VECTOR = 23,
    SPIRV_TYPE_ARRAY = 28,
    SPIRV_TYPE_ENDLESS = 29,
    SPIRV_TYPE_STRUCT = 30,
    SPIRV_TYPE_POINTER = 32,
    SPIRV_TYPE_FUNCTION = 33,
    SPIRV_TRUE = 41,
    SPIRV_FALSE = 42,
    SPIRV_CONSTANT = 43,
    SPIRV_COMPOSITE = 44,
    SPIRV_SPEC_CONSTANT = 50,
    SPIRV_SPEC_COMPOSITE = 51,
    SPIRV_FUNCTION = 54,
    SPIRV_PARAMETER = 55,
    SPIRV_FUNCTION_END = 56,
    SPIRV_CALL = 57,
    SPIRV_VARIABLE = 59,
    SPIRV_LOAD = 61,
    SPIRV_STORE = 62,
    SPIRV_ACCESS = 65,
    SPIRV_DECORATE = 71,
    SPIRV_DECORATE_MEMBER = 72,
    SPIRV_CONSTRUCT = 80,
    SPIRV_EXTRACT = 81,
    SPIRV_U_TO_FLOAT = 112,
    SPIRV_S_TO_FLOAT = 111,
    SPIRV_U_CONVERT = 113,
    SPIRV_BITCAST = 124,
    SPIRV_INT_ADD = 128,
    SPIRV_INT_SUB = 130,
    SPIRV_INT_MUL = 132,
    SPIRV_S_DIV = 135,
    SPIRV_LOGICAL_EQUAL = 164,
    SPIRV_LOGICAL_NOT_EQUAL = 165,
    SPIRV_LOGICAL_OR = 166,
    SPIRV_LOGICAL_AND = 167,
    SPIRV_LOGICAL_NOT = 168,
    SPIRV_SELECT = 169,
    SPIRV_U_LESS = 176,
    SPIRV_S_LESS = 177,
    SPIRV_BARRIER = 224,
    SPIRV_EXCHANGE = 229,
    SPIRV_COMPARE_EXCHANGE = 230,
    SPIRV_ATOMIC_ADD = 234,
    SPIRV_ATOMIC_S_MIN = 236,
    SPIRV_ATOMIC_U_MIN = 237,
    SPIRV_ATOMIC_S_MAX = 238,
    SPIRV_ATOMIC_U_MAX = 239,
    SPIRV_LOOP_MERGE = 246,
    SPIRV_SELECTION_MERGE = 247,
    SPIRV_LABEL = 248,
    SPIRV_BRANCH = 249,
    SPIRV_BRANCH_IF = 250,
    SPIRV_RETURN = 253,
    SPIRV_RETURN_VALUE = 254,
    SPIRV_UNREACHABLE = 255,
    SPIRV_SHUFFLE_XOR = 346
};

/* Storage classes. */
enum {
    SPIRV_INPUT = 1,
    SPIRV_WORKGROUP = 4,
    SPIRV_PRIVATE = 6,
    SPIRV_LOCAL = 7, /* of a function */
    SPIRV_PUSH = 9,
    SPIRV_BUFFER = 12
};

/* Decorations and built-in numbers. */
enum {
    SPIRV_SPEC_ID = 1,
    SPIRV_BLOCK = 2,
    SPIRV_STRIDE = 6,
    SPIRV_BUILTIN = 11,
    SPIRV_ALIASED = 20,
    SPIRV_READ_ONLY = 24,
    SPIRV_BINDING = 33,
    SPIRV_SET = 34,
    SPIRV_OFFSET = 35,
    SPIRV_UNCONTRACTED = 42,

    SPIRV_WORKGROUP_SIZE = 25,
    SPIRV_GROUP_NUMBER = 26,
    SPIRV_LOCAL_NUMBER = 27,
    SPIRV_LANE_NUMBER = 41
};

/* Instructions of one section. */
typedef struct kni_spirv_words {
    uint32_t *data;
    size_t count, room;
} kni_spirv_words;

/* A type or a constant that was made: the instruction without its result, and the result. */
typedef struct kni_spirv_known {
    uint32_t code, type, value, id;
} kni_spirv_known;

typedef struct kni_spirv {
    const kni_ir *ir;
    const kni_ir_caps *caps;
    kni_spirv_words notes, globals, code; /* decorations; types, constants and variables; functions */
    uint32_t next;                        /* the next free id */
    uint32_t *ids,
        *slots; /* of nodes: their values; the variables that hold VARIABLE nodes and the counters of FOR */
    kni_spirv_known *known; /* an open table, a power of two */
    size_t n_known, known_room;
    uint32_t bindings[KNI_IR_MAX_BINDINGS], *functions;
    uint32_t words, push,
        library; /* the numbers of the launch; what the driver tells; the extended instructions */
    uint32_t group, local, lane, width;       /* built-in variables; the workgroup's size along axis 0 */
    uint32_t blocks[KN_DTYPE_COUNT];          /* struct types of buffers by the dtype in memory */
    uint32_t arguments[KNI_IR_MAX_ARGUMENTS]; /* of the function being printed */
    uint32_t after, again;                    /* where BREAK and CONTINUE go */
    uint32_t tested;                          /* the truth of the latest TEST; 0: none */
    uint32_t depth;                           /* of the loops around what is printed */
    uint32_t alarm;             /* a buffer that is told of loops which the driver ended; 0: none */
    uint32_t made;              /* a variable of the watch */
    uint32_t turn, left;        /* variables of loops that are cut */
    kni_spirv_words signatures; /* of function types: how many words, the words, the id */
    bool ended;                 /* the block being printed has its last instruction */
    kn_status status;
} kni_spirv;

/* ---- spirv_module.c: words, types, constants. All answer 0 once the status is a failure. */
uint32_t kni_spirv_id(kni_spirv *s);
void kni_spirv_word(kni_spirv *s, kni_spirv_words *to, uint32_t word);
void kni_spirv_words_free(kni_spirv_words *w);
/* An instruction: the code and n operands. */
void kni_spirv_put(kni_spirv *s, kni_spirv_words *to, uint32_t code, int n, ...);
/* One with a result of the type in the function being printed; its id. */
uint32_t kni_spirv_make(kni_spirv *s, uint32_t code, uint32_t type, int n, ...);
/* One whose operands are in a list behind the first ones: a call, a composite. */
void kni_spirv_put_list(kni_spirv *s, kni_spirv_words *to, uint32_t code, const uint32_t *first, int n_first,
                        const uint32_t *list, uint32_t n);
uint32_t kni_spirv_scalar(kni_spirv *s, int dtype); /* U8 and U16 too; BOOL is a truth */
uint32_t kni_spirv_type(kni_spirv *s, kni_ir_type type);
uint32_t kni_spirv_void(kni_spirv *s);
uint32_t kni_spirv_vector(kni_spirv *s, uint32_t of, uint32_t lanes);
uint32_t kni_spirv_array(kni_spirv *s, uint32_t of, uint32_t length);
uint32_t kni_spirv_pointer(kni_spirv *s, uint32_t to, uint32_t space);
/* The type of functions that give types[0] and take the others. */
uint32_t kni_spirv_signature(kni_spirv *s, const uint32_t *types, uint32_t n);
uint32_t kni_spirv_constant(kni_spirv *s, int dtype, uint32_t bits);
static inline uint32_t kni_spirv_u32(kni_spirv *s, uint32_t value)
{
    return kni_spirv_constant(s, KN_U32, value);
}
void kni_spirv_fail(kni_spirv *s, const kni_ir_node *node, const char *what);

/* ---- spirv_interface.c: what the kernel is given and has: buffers, numbers, arrays, built-in numbers */
void kni_spirv_interface(kni_spirv *s);
/* The pointer to an element of a binding; of the numbers of the launch. */
uint32_t kni_spirv_element(kni_spirv *s, uint32_t binding, uint32_t at);
uint32_t kni_spirv_number(kni_spirv *s, uint32_t at);
uint32_t kni_spirv_builtin(kni_spirv *s, const kni_ir_node *node);
uint32_t kni_spirv_group_count(kni_spirv *s, uint32_t axis); /* of the launch */

/* ---- spirv_value.c */
uint32_t kni_spirv_value(kni_spirv *s, kni_ir_id id); /* of a node that was printed, or a constant */
void kni_spirv_node(kni_spirv *s, kni_ir_id id);      /* one with a value, a store or an atomic */

/* ---- spirv_control.c */
void kni_spirv_function(kni_spirv *s, const kni_ir_function *function, uint32_t id); /* NULL: the kernel */
void kni_spirv_block(kni_spirv *s, uint32_t number);
void kni_spirv_label(kni_spirv *s, uint32_t id);
void kni_spirv_branch(kni_spirv *s, uint32_t to);
/* The last instruction of a block, unless it has one. */
void kni_spirv_end(kni_spirv *s, uint32_t code, int n, uint32_t operand);

/* ---- spirv_loop.c */
void kni_spirv_declare_turns(kni_spirv *s, uint32_t body); /* at the beginning of the function of this body */
void kni_spirv_for(kni_spirv *s, kni_ir_id id);
void kni_spirv_loop(kni_spirv *s, const kni_ir_node *node);
void kni_spirv_test(kni_spirv *s, const kni_ir_node *node);
/* Whether the kernel looks for loops that were ended; and doing it, at its end. */
bool kni_spirv_watches(const kni_spirv *s);
void kni_spirv_watch(kni_spirv *s);

#endif
