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

#ifdef __cplusplus
}
#endif
#endif
