/* A kernel text as a tree: what the parser makes of it before it becomes IR. Every expression knows its type, every
   name what it stands for, so that what follows only has to write it down. */
#ifndef KNI_IR_PARSE_TREE_H
#define KNI_IR_PARSE_TREE_H

#include "ir/lex.h"
#include "ir/parse.h"

/* Types of expressions are the dtypes that are computed in, none, and these two of literals, which become what they
   meet: the type of the other operand, else index and real. */
enum { KNI_TREE_WHOLE = 100, KNI_TREE_REAL = 101 };

typedef struct kni_tree_expression kni_tree_expression;
typedef struct kni_tree_statement kni_tree_statement;
typedef struct kni_tree_function kni_tree_function;

/* ---- names */

typedef enum kni_tree_kind {
    KNI_TREE_ITEM,
    KNI_TREE_NUMBER,  /* the same for all items */
    KNI_TREE_UNIFORM, /* an array of such */
    KNI_TREE_BUFFER,
    KNI_TREE_LOCAL,
    KNI_TREE_ARGUMENT,
    KNI_TREE_ARRAY, /* of one item */
    KNI_TREE_SHARED,
    KNI_TREE_TILE
} kni_tree_kind;

enum { KNI_TREE_NAME = 32 };

typedef struct kni_tree_symbol {
    char name[KNI_TREE_NAME];
    uint8_t kind, type; /* what it is computed in */
    uint8_t memory;     /* dtype of an element in memory */
    uint8_t role;       /* kni_ir_role of a buffer */
    char letter;        /* as in a signature */
    uint8_t access;     /* KNI_IR_READ and KNI_IR_WRITE of buffers; role of a tile */
    bool assigned;
    int64_t length;   /* of arrays */
    uint32_t scope;   /* how deep it was declared */
    uint32_t changed; /* when it was last assigned to, by the parser's clock */
    uint32_t number;  /* of the binding, param or argument */
    kni_ir_id value;  /* while IR is made: the variable, or the value where nothing assigns to it */
    struct kni_tree_symbol *outer;
} kni_tree_symbol;

/* ---- words of the language that are called */

typedef enum kni_tree_word_kind {
    KNI_WORD_FLOAT, /* computes on floats; integers become real */
    KNI_WORD_SAME,  /* gives the type of its arguments */
    KNI_WORD_TRUTH,
    KNI_WORD_COS_TURN,
    KNI_WORD_FMA,
    KNI_WORD_PHILOX,
    KNI_WORD_REPORT,
    KNI_WORD_BUILTIN, /* `detail` is a kni_ir_builtin */
    KNI_WORD_BARRIER,
    KNI_WORD_SUBGROUP, /* `detail` is a kni_ir_combine from here on */
    KNI_WORD_WORKGROUP,
    KNI_WORD_SCAN,
    KNI_WORD_SHUFFLE,
    KNI_WORD_ATOMIC,
    KNI_WORD_TILE_FILL,
    KNI_WORD_TILE_LOAD,
    KNI_WORD_TILE_STORE,
    KNI_WORD_TILE_MULTIPLY
} kni_tree_word_kind;

typedef struct kni_tree_word {
    const char *name, *word; /* word: of ops/scalar_words.def */
    uint8_t kind, arguments, detail;
    bool core; /* of the first list of the page: cannot be hidden by a name of the text */
} kni_tree_word;

const kni_tree_word *kni_tree_word_find(const kni_lex_token *name);
/* How to say here what a word of C, CUDA or OpenCL means; NULL: it is none that is known. */
const char *kni_tree_foreign(const kni_lex_token *name);

/* ---- expressions */

typedef enum kni_tree_code {
    KNI_TREE_LITERAL,
    KNI_TREE_NAME_VALUE,
    KNI_TREE_ELEMENT, /* symbol [a] */
    KNI_TREE_NEGATE,
    KNI_TREE_COMPLEMENT,
    KNI_TREE_NOT,
    KNI_TREE_BINARY, /* `word` on a and b, both as `operands` */
    KNI_TREE_SHIFT,  /* b becomes the type of a */
    KNI_TREE_AND,
    KNI_TREE_OR,
    KNI_TREE_CHOOSE,
    KNI_TREE_CAST,
    KNI_TREE_CALL,
    KNI_TREE_WORD
} kni_tree_code;

struct kni_tree_expression {
    uint8_t code, type, operands;
    bool guarded; /* reads memory or calls: not to be computed where C would not */
    uint16_t depth;
    uint16_t n_arguments;
    uint32_t line, column;
    const char *word;
    const kni_tree_word *call;
    kni_tree_function *function;
    kni_tree_symbol *symbol, *other; /* buffer or tile of a word; a second one */
    kni_tree_symbol *third;
    kni_tree_expression *a, *b, *c, **arguments;
    int64_t whole; /* of a literal of type KNI_TREE_WHOLE */
    double real;
};

/* ---- statements */

typedef enum kni_tree_action {
    KNI_TREE_BLOCK,   /* first: what is inside */
    KNI_TREE_DECLARE, /* symbol, value */
    KNI_TREE_ASSIGN,  /* symbol [at] = value */
    KNI_TREE_UPDATE,  /* symbol [at] = symbol [at] word value */
    KNI_TREE_IF,
    KNI_TREE_FOR,  /* symbol from value below bound by step, which is whole */
    KNI_TREE_LOOP, /* first; while (condition) body, step */
    KNI_TREE_BREAK,
    KNI_TREE_CONTINUE,
    KNI_TREE_RETURN,
    KNI_TREE_EVALUATE /* value, for its effect */
} kni_tree_action;

struct kni_tree_statement {
    uint8_t action;
    uint32_t line, column;
    kni_tree_symbol *symbol;
    kni_tree_expression *at, *value, *bound, *condition;
    uint8_t operands; /* what an update computes in */
    const char *word; /* of an update */
    int64_t step_by;
    kni_tree_statement *first, *step, *body, *otherwise;
    kni_tree_statement *next;
};

struct kni_tree_function {
    char name[KNI_TREE_NAME];
    bool is_kernel, called;
    uint8_t result;
    uint32_t workgroup, line, column;
    kni_tree_symbol **parameters; /* of a kernel all but `item` */
    int n_parameters;
    kni_tree_symbol *item;
    kni_tree_statement *body;
    uint32_t number;           /* in the IR */
    kni_tree_function **calls; /* functions it calls directly */
    int n_calls;
    kni_tree_function *next;
};

/* ---- the parser */

typedef struct kni_tree_chunk kni_tree_chunk;

typedef struct kni_parser {
    kni_lexer lexer;
    kni_lex_token token, next;
    const char *file;
    int element, real;
    uint8_t index;
    const uint8_t *storage;
    bool failed;
    kni_tree_chunk *memory;
    kni_tree_symbol *names; /* innermost first */
    uint32_t scope, clock;
    int depth, loops;
    kni_tree_function *functions, **functions_end, *current;
} kni_parser;

/* Notes the first failure, at a place; everything after it is the end of the text. Returns NULL. */
void *kni_parse_fail(kni_parser *p, uint32_t line, uint32_t column, const char *format, ...);
void *kni_tree_new(kni_parser *p, size_t bytes); /* zeroed; NULL after a failure */

bool kni_parse_peek(const kni_parser *p, const char *word);
bool kni_parse_accept(kni_parser *p, const char *word);
bool kni_parse_take(kni_parser *p, const char *word); /* fails when something else stands there */
void kni_parse_advance(kni_parser *p);
/* One deeper; false with a failure when it is too deep. */
bool kni_parse_deeper(kni_parser *p);

/* A type at the token: what it is computed in and in memory, 0 where no type stands there. */
typedef struct kni_tree_type {
    uint8_t compute, memory;
    char letter;
} kni_tree_type;
kni_tree_type kni_parse_type(const kni_parser *p, const kni_lex_token *token);

kni_tree_symbol *kni_parse_declare(kni_parser *p, int kind, kni_tree_type type);
kni_tree_symbol *kni_parse_find(kni_parser *p, const kni_lex_token *name);
void kni_parse_scope_begin(kni_parser *p);
void kni_parse_scope_end(kni_parser *p);
int64_t kni_parse_length(kni_parser *p); /* a whole number from 1 on, of an array; 0 after a failure */

kni_tree_expression *kni_parse_expression(kni_parser *p);
/* A name that is no call, perhaps with an index: gives its symbol and fills *at. */
kni_tree_symbol *kni_parse_place(kni_parser *p, kni_tree_expression **at);
kni_tree_expression *kni_parse_call(kni_parser *p); /* of a function or word, at its name */
/* The type both operands are converted to. */
uint8_t kni_tree_common(const kni_parser *p, const kni_tree_expression *a, const kni_tree_expression *b);
uint8_t kni_tree_settled(const kni_parser *p, uint8_t type); /* a literal's type where nothing else says it */
bool kni_tree_integer(uint8_t type);                         /* truths included */
/* The truth of an expression that is the same always. */
bool kni_tree_constant(const kni_tree_expression *e, bool *truth);
/* The same whenever it is computed between `clock` and now: reads no memory and no name that was assigned to since. */
bool kni_tree_unchanged(const kni_tree_expression *e, uint32_t clock);

kni_tree_statement *kni_parse_block(kni_parser *p);

/* IR of the kernel and the functions it calls; NULL after a failure. */
kni_ir *kni_tree_lower(kni_parser *p, kni_tree_function *kernel);
#endif
