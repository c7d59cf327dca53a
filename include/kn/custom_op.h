/* Ops of your own: a row registered at run time, with a host function or a lowering, and a gradient. */
#ifndef KN_CUSTOM_OP_H
#define KN_CUSTOM_OP_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* dtype and shape of an operand or a result. */
typedef struct kn_type {
    kn_dtype dtype;
    kn_shape shape;
} kn_type;

/* One operand or result in host memory, contiguous. */
typedef struct kn_span {
    void *data;
    kn_dtype dtype;
    kn_shape shape;
} kn_span;

typedef struct kn_custom_op {
    const char *name;    /* unique among all ops */
    int32_t n_in, n_out; /* 1 to 8 each */
    /* Fills the types of the results; returns a status after kn_custom_fail() when operands do not fit. */
    kn_status (*infer)(void *context, const kn_type *in, kn_type *out);
    /* At least one of these two. forward computes from and into host memory; lower returns results made of
       other ops (inputs are kept for you). */
    kn_status (*forward)(void *context, const kn_span *in, const kn_span *out);
    kn_status (*lower)(void *context, const kn_tensor *in, kn_tensor *out);
    /* Optional: grads[i] from cotangents dy and the values of inputs and outputs, all kept for you. KN_NONE
       for an input without gradient. Made of other ops, so it can be differentiated again. */
    kn_status (*gradient)(void *context, const kn_tensor *in, const kn_tensor *out, const kn_tensor *dy,
                          kn_tensor *grads);
    void *context; /* passed to each; lives as long as the op is used */
} kn_custom_op;

/* A registered op; NULL with kn_last_error(). There is no unregistering, not even by kn_shutdown;
   registering a name twice fails. */
typedef const struct kn_op *kn_op_handle;
KN_API kn_op_handle kn_custom_register(const kn_custom_op *op);
/* Runs it like any other op: takes temporaries, fills n_out results. */
KN_API kn_status kn_custom_call(kn_op_handle op, const kn_tensor *in, kn_tensor *out);
/* Tells why infer or forward failed; returns code. */
KN_API kn_status kn_custom_fail(kn_status code, const char *text);

/* ---- ops that are a formula: docs/adding-an-op.md describes how bodies are written. Everything follows from the body: the
   shape rule, every device, fusion, halves, and the gradient. */

/* What a body along lines works along. */
typedef enum kn_body_line {
    KN_BODY_ELEMENTWISE, /* there are no lines: operands broadcast */
    KN_BODY_AXIS,        /* one axis, the attribute "axis" */
    KN_BODY_LAST_AXES    /* the last axes together; how many is the attribute "n_axes" */
} kn_body_line;

/* Which dtypes an elementwise body takes. Bodies along lines take floats. */
typedef enum kn_body_takes {
    KN_BODY_FLOATS,   /* floats; integers become f32 */
    KN_BODY_NUMBERS,  /* floats and integers: fractions and words for floats alone are mistakes */
    KN_BODY_INTEGERS, /* integers: bits and shifts have a meaning there */
    KN_BODY_TRUTHS    /* the result is a truth; takes integers where all words have a meaning for them */
} kn_body_takes;

/* A scalar of the body: its name, which is the attribute's for kn_call, and its value where a call gives none. */
typedef struct kn_body_scalar {
    const char *name;
    double value;
} kn_body_scalar;

typedef struct kn_body_args {
    /* Operands, separated by spaces; NULL: "x". Along lines with their level: "x weight@place?1 scale@line t@all". Operand 0 has
       an element for each element, others may broadcast to it; @place: one for each place of a line, @line: one for each line,
       @all: one. ?1 and ?0, of the last ones: they may be absent (KN_NONE) and then are 1 or 0. */
    const char *in;
    const char *out;           /* results, the same way; NULL: "y". Several only along lines. */
    kn_body_scalar scalars[4]; /* up to the first without a name */
    kn_body_line line;
    int64_t
        axis; /* the axis of a call that names none, or the number of last axes; 0: the first axis, or one last axis */
    kn_body_takes takes;
    const char *body;
    /* NULL: derived from the body. Else a body over the operands and the cotangents, which are called d and the result's name,
       that gives d and the operand's name for each operand: "dx = dy * ...; dweight = down(dy * ...)". It may name results as well:
       "dx = dy * y". For operands @all it gives one for each line, which are added up. */
    const char *gradient;
} kn_body_args;
#define KN_BODY_ARGS_DEFAULTS KN_ZEROED

/* Defines an op, which kn_custom_call() and kn_call() run like any other. NULL with kn_last_error(), which names line and column
   of what is wrong with the body. */
KN_API kn_op_handle kn_op_define(const char *name, const kn_body_args *args);

#ifdef __cplusplus
}
#endif
#endif
