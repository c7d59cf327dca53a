/* Bodies: the formula of an elementwise row, or of one that works along lines. Everything that computes a row without lines
   reads its body. Of rows along lines the schedules of GPUs and `ref` (body_lines.h) do; so does the CPU, but for the rows that it
   has faster kernels of its own for.
   A row's text is infix (docs/adding-an-op.md); kiln-gen checks it and writes the compact form below. Programs link that form
   alone: the texts are for kiln-gen and for op_info.c, and the parser (body_parse.h) for kiln-gen. */
#ifndef KNI_BODY_H
#define KNI_BODY_H

#include "core/dtype.h"

/* The steps run on a stack of values and truths. */
typedef enum kni_step_kind {
    KNI_STEP_INPUT,
    KNI_STEP_PARAM,
    KNI_STEP_CONSTANT,
    KNI_STEP_STORE, /* pops a value that has a name */
    KNI_STEP_LOCAL, /* reads it */
    KNI_STEP_SELECT,
    KNI_STEP_AND,
    KNI_STEP_OR,
    KNI_STEP_XOR,
    KNI_STEP_NOT,
    KNI_STEP_EXPN,   /* e to the power of what is 0 or less */
    KNI_STEP_LENGTH, /* how many elements a line has */
    KNI_STEP_PLACE,  /* the place along the line, an index */
    KNI_STEP_AT,     /* a value at a place of its line; 0 where that is none */
    KNI_STEP_REQUIRE, /* a truth and an index: gives the index, which is reported where the truth does not hold */
    KNI_STEP_REAL, /* an index as a value */
    KNI_STEP_WORD,
    KNI_STEP_LINE,    /* reduces along the line: `index` is a kni_line_word */
    KNI_STEP_RESULT,  /* pops result `index` of several; a body of one result leaves it on the stack */
    KNI_STEP_HAS,     /* whether operand `index` is given */
    KNI_STEP_CHOICE,  /* the truth of attribute `index`, which is known when a record is scheduled */
    KNI_STEP_DRAW,    /* key, counter and index: a random word, an index; word `index` of the element */
    KNI_STEP_ELEMENT, /* the index of the element */
    KNI_STEP_KINDS
} kni_step_kind;

/* Line words; their names are in body.c, in this order. */
typedef enum kni_line_word {
    KNI_LINE_SUM,
    KNI_LINE_MEAN,
    KNI_LINE_HIGHEST,
    KNI_LINE_LOWEST,
    KNI_LINE_TOP,  /* the highest, for what becomes NaN anyway where an element is NaN; has no gradient */
    KNI_LINE_DOWN, /* the sum over all lines, at each place */
    KNI_LINE_PROD, /* 0 where an element is and all are finite, though a part of the product may overflow */
    KNI_LINE_ANY,  /* of truths, as is ALL */
    KNI_LINE_ALL,
    KNI_LINE_ARGMAX, /* the first place of the highest, or of the first NaN: an index */
    KNI_LINE_ARGMIN,
    KNI_LINE_WORDS
} kni_line_word;
const char *kni_line_word_name(int word);

/* The choices that are no attributes: whether the result is of a float dtype, and whether it is f64. */
enum { KNI_CHOICE_DOUBLES = 14, KNI_CHOICE_FLOATS = 15 };
static inline uint32_t kni_body_dtype_choices(int dtype)
{
    uint32_t doubles = dtype == KN_F64, floats = kni_dtypes[dtype].kind == KNI_KIND_FLOAT;
    return doubles << KNI_CHOICE_DOUBLES | floats << KNI_CHOICE_FLOATS;
}

typedef struct kni_step {
    uint8_t kind;
    uint8_t index; /* operand, param, local or word */
    double value;
} kni_step;

/* Of a text, and of the compact form that kiln-gen makes of it. */
enum {
    KNI_BODY_STEPS = 128,
    KNI_BODY_STACK = 16,
    KNI_BODY_LOCALS = 16,
    KNI_BODY_CONSTANTS = 16,
    KNI_BODY_SCALARS = 16, /* attributes of a row that a body can name */
    KNI_BODY_NUMBERS = 16  /* scalars that a body computes with */
};
/* Of any body: gradients that are derived at run time are longer than texts. */
enum { KNI_BODY_MAX_STEPS = 240, KNI_BODY_MAX_LOCALS = 96 };

/* What a value belongs to: bits of the indices that it depends on. */
enum { KNI_LEVEL_ALL, KNI_LEVEL_LINE, KNI_LEVEL_PLACE, KNI_LEVEL_ELEMENT };
/* An operand or result: its level, and where it may be absent the number it then is; of an operand also whether it is read as
   an index or as a truth. */
enum {
    KNI_OPERAND_LEVEL = 3,
    KNI_OPERAND_OPTIONAL = 4,
    KNI_OPERAND_ONE = 8,
    KNI_OPERAND_INDEX = 16,
    KNI_OPERAND_TRUTH = 32
};
/* What a step gives. Numbers (constants, scalars, the length) are values or indices by what they stand beside. */
typedef enum kni_gives { KNI_GIVES_VALUE, KNI_GIVES_TRUTH, KNI_GIVES_INDEX, KNI_GIVES_NUMBER } kni_gives;
enum { KNI_BODY_OPERANDS = 8 };

/* A scalar of a record: an attribute, or what the row's `.host` makes of attributes, in f64. Integers take `whole`. */
typedef struct kni_body_number {
    double real;
    int64_t whole;
} kni_body_number;
static inline kni_body_number kni_body_real(double value)
{
    int64_t whole = value > -0x1p63 && value < 0x1p63 ? (int64_t)value : 0;
    if (value >= 0x1p63 && value < 0x1p64) whole = (int64_t)(uint64_t)value;
    return (kni_body_number){value, whole};
}
static inline kni_body_number kni_body_whole(int64_t value)
{
    return (kni_body_number){(double)value, value};
}

struct kn_attribute;
/* The value of an attribute that is a scalar. */
kni_body_number kni_body_attribute(const struct kn_attribute *a, const void *attributes);
typedef void (*kni_body_numbers_fn)(const struct kn_attribute *schema, const void *attributes,
                                    kni_body_number *numbers);

/* One byte of code for each step; bodies that are made at run time have `steps` instead. */
typedef struct kni_body {
    const uint8_t *code;
    const double *constants;
    const uint8_t *operands; /* KNI_OPERAND_ bits, the results' behind the inputs'; NULL: all are elements */
    uint8_t n, n_in, n_out;
    uint8_t draws
        [2]; /* words of the generator that an element draws: 0, 1, 2 or 4; the second where the result is f64 */
    const kni_step *steps;
    /* Not 0: behind the bits follows for each result 1 + the operand whose new value it is, or 0. */
    uint8_t updates;
    uint8_t n_numbers;
    kni_body_numbers_fn numbers; /* fills them; NULL: KNI_STEP_PARAM reads attributes */
} kni_body;

/* The operand whose new value a result is, -1 where there is none. */
static inline int kni_body_replaces(const kni_body *body, int result)
{
    return body->updates ? body->operands[body->n_in + body->n_out + result] - 1 : -1;
}
/* Whether the body writes operands anew: the row is an update. */
static inline bool kni_body_updates(const kni_body *body) { return body && body->updates; }
static inline bool kni_body_hosted(const kni_body *body) { return body && body->numbers; }
/* The truths of a record's choices, a bit for each attribute. */
uint32_t kni_body_choices(const struct kn_attribute *schema, const void *attributes);

#define KNI_BODY_CODE(kind, index) (kni_step_base[kind] + (index))
extern const uint8_t kni_step_base[KNI_STEP_KINDS];
kni_step kni_body_step(const kni_body *body, int i);

/* The text of a body as the row's author wrote it, and that of the scalars it computes with, or NULL. */
typedef struct kni_body_text {
    const char *text, *host;
} kni_body_text;
typedef struct kni_word {
    const char *name;
    uint8_t arity, truth;
    bool floats, integers; /* has a meaning there */
} kni_word;
int kni_word_count(void);
const kni_word *kni_word_at(int index);

/* A word on one or two numbers, in f64: 1 - 0.9999 loses digits in f32. */
double kni_word_on(int word, const double *x);

/* Evaluates the body for n elements in a wide type (KNI_COMPUTE_F64, I64 or U64; I32: in I64, and what each word gives is cut to
   32 bits). in[i] are contiguous wide values; operands named in `truths` (bit mask) are int64 truths; a truth result is written as 0 or 1
   of the wide type. */
void kni_body_evaluate(const kni_body *body, int wide, int64_t n, void *out, const void *const *in,
                       uint32_t truths, const double *params);

/* The same of any body without lines. in[i] of an operand that is the same for all elements is one value, and NULL where it is
   absent; out[k] is NULL where nobody wants it. */
typedef struct kni_body_call {
    const kni_body *body;
    int wide;
    int64_t n;
    void *const *out;
    const void *const *in;
    uint32_t truths;
    const kni_body_number *numbers;
    uint32_t choices;
} kni_body_call;
void kni_body_run(const kni_body_call *call);

#endif
