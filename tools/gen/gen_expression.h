/* A body as a C expression of one compute type. */
#ifndef KILN_GEN_EXPRESSION_H
#define KILN_GEN_EXPRESSION_H

#include "ops/op.h"

typedef struct gen_type {
    const char *name, *suffix; /* "float", "f32" */
} gen_type;
extern const gen_type gen_types[KNI_COMPUTE_COUNT];

enum { GEN_TEXT = 4096 };

typedef struct gen_body {
    char before[GEN_TEXT];     /* what is declared before the loop: operands and numbers */
    char statements[GEN_TEXT]; /* the locals of one element */
    char expression[GEN_TEXT]; /* of its result */
    const char *array;         /* a function over whole arrays that does the same, or NULL */
    bool truth;                /* the result is 0 or 1 */
    bool cheap;                /* a few instructions, also where the type is twice the machine's word */
} gen_body;

/* The body of row i (gen_body.h); false when its C is too long. */
bool gen_expression(int i, int compute, gen_body *out);
/* The same of a body with several results, whose stores are among the statements: x0[i] .. are operands, s0 .. those that are the
   same for all elements, y0[i] .. results, p0 .. scalars, h0 .. and c0 .. whether an operand is given and a choice is made. */
bool gen_statements(int i, int compute, gen_body *out);
/* The statements of its `.host`, in f64: a value each, by name. */
bool gen_host_statements(int i, gen_body *out);
const char *gen_local_name(int index);

#endif
