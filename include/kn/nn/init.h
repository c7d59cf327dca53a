/* How the weights of a layer start. A zeroed initializer means the layer's own default, which is PyTorch's. */
#ifndef KN_NN_INIT_H
#define KN_NN_INIT_H

#include <kn/autodiff.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum kn_init_kind {
    KN_INIT_DEFAULT = 0,
    KN_INIT_CONSTANT = 1, /* a */
    KN_INIT_ONES = 2,
    KN_INIT_ZEROS = 3,
    KN_INIT_UNIFORM = 4,         /* on [a, b) */
    KN_INIT_NORMAL = 5,          /* mean a, standard deviation b */
    KN_INIT_KAIMING_UNIFORM = 6, /* bound gain sqrt(3 / fan_in), fan_out with fan_out */
    KN_INIT_KAIMING_NORMAL = 7,  /* deviation gain / sqrt(fan_in) */
    KN_INIT_XAVIER_UNIFORM = 8,  /* bound gain sqrt(6 / (fan_in + fan_out)) */
    KN_INIT_XAVIER_NORMAL = 9,   /* deviation gain sqrt(2 / (fan_in + fan_out)) */
    KN_INIT_ORTHOGONAL = 10      /* gain times a matrix with orthonormal rows or columns */
} kn_init_kind;

typedef struct kn_initializer {
    kn_init_kind kind;
    double a, b;
    double gain;  /* 0 = 1, KN_ZERO = 0 */
    bool fan_out; /* kaiming: by the number of outputs */
} kn_initializer;
#define KN_INITIALIZER_DEFAULTS KN_FIELDS(KN_INIT_DEFAULT, 0.0, 0.0, 0.0, false)

/* A tensor of that shape on the current device. fan_in and fan_out 0: from a weight [out, in, kernel...]. */
KN_API kn_tensor kn_initialize(const kn_initializer *initializer, kn_shape shape, kn_dtype dtype,
                               int64_t fan_in, int64_t fan_out);
/* The same as a param; *param is untouched on failure, with kn_last_error(). */
KN_API kn_status kn_param_initialize(kn_param *param, const kn_initializer *initializer, kn_shape shape,
                                     kn_dtype dtype, int64_t fan_in, int64_t fan_out);

#ifdef __cplusplus
}
#endif
#endif
