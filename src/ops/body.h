/* Bodies: the formula of an elementwise row, written once. A row's text is infix (docs/adding-an-op.md); kiln-gen checks it
   and writes the compact form below, which every backend reads. Programs link the compact form alone: the texts are for
   kiln-gen and for op_info.c, and the parser (body_parse.h) for kiln-gen. */
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
    KNI_STEP_WORD
} kni_step_kind;

typedef struct kni_step {
    uint8_t kind;
    uint8_t index; /* operand, param, local or word */
    double value;
} kni_step;

enum { KNI_BODY_STEPS = 96, KNI_BODY_STACK = 16, KNI_BODY_LOCALS = 8, KNI_BODY_CONSTANTS = 16 };

/* One byte of code for each step. */
typedef struct kni_body {
    const uint8_t *code;
    const double *constants;
    int n;
} kni_body;

#define KNI_BODY_CODE(kind, index) (kni_step_base[kind] + (index))
extern const uint8_t kni_step_base[KNI_STEP_WORD + 1];
kni_step kni_body_step(const kni_body *body, int i);

/* The text of a body as the row's author wrote it. */
typedef struct kni_body_text {
    const char *text;
} kni_body_text;
typedef struct kni_word {
    const char *name;
    uint8_t arity, truth;
    bool floats, integers; /* has a meaning there */
} kni_word;
int kni_word_count(void);
const kni_word *kni_word_at(int index);

/* Evaluates the body for n elements in a wide type (KNI_COMPUTE_F64, I64 or U64). in[i] are contiguous
   wide values; operands named in `truths` (bit mask) are int64 truths; a truth result is written as 0 or 1
   of the wide type. */
void kni_body_evaluate(const kni_body *body, int wide, int64_t n, void *out, const void *const *in,
                       uint32_t truths, const double *params);

#endif
