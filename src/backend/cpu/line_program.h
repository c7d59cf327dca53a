/* Bodies along lines as programs of strips with line reducers. A program does not depend on sizes; it is made once for each row
   and compute type. */
#ifndef KNI_LINE_PROGRAM_H
#define KNI_LINE_PROGRAM_H

#include "ops/body_tree.h"
#include "ops/native.h"

enum { KNI_LINE_STEPS = 3 * KNI_BODY_MAX_STEPS, KNI_LINE_REGISTERS = 64 };

/* A value is wide (an element for each place of each line) or narrow (one for each line). Registers of both kinds are numbered
   apart. Those that are filled once keep what they hold for all lines. */
typedef enum kni_line_kind {
    KNI_LINE_CALL,   /* a word, on wide or on narrow values */
    KNI_LINE_LOAD,   /* operand `operand` */
    KNI_LINE_NUMBER, /* a constant, a scalar or the length of a line: filled once */
    KNI_LINE_SPREAD, /* from a narrow register to a wide one */
    KNI_LINE_REDUCE  /* from a wide register to a narrow one */
} kni_line_kind;

typedef struct kni_line_step {
    uint8_t kind, n_in;
    bool wide;      /* its result */
    bool truth;     /* its result: bytes */
    uint8_t truths; /* operands that are, a bit each */
    uint8_t word;   /* of a reduction: a kni_line_word */
    int8_t operand;
    int8_t scalar; /* of a number: 0 up a scalar, -1 the value, -2 the length */
    int16_t in[3], out;
    kni_strip_fn fn;
    double value;
} kni_line_step;

typedef struct kni_line_result {
    int16_t from; /* a register */
    bool wide, down;
} kni_line_result;

typedef struct kni_line_program {
    int n_once, n_steps, n_wide, n_narrow, n_results;
    kni_line_result results[KNI_BODY_OPERANDS];
    size_t bytes;
    kni_line_step steps[]; /* first those that run once */
} kni_line_program;

/* The strip of a word or of a choice, on the tier in use; NULL: it has none. */
kni_strip_fn kni_defined_strip(const struct kni_step *step, int compute);
/* NULL: no memory, or *unsupported: it cannot be a program of lines. */
kni_line_program *kni_line_compile(const kni_body *body, int compute, bool *unsupported);

#endif
