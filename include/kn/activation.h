/* Activation functions. Integers give f32 where the result is a fraction. */
#ifndef KN_ACTIVATION_H
#define KN_ACTIVATION_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

KN_API kn_tensor kn_relu(kn_tensor x);                     /* max(x, 0) */
KN_API kn_tensor kn_relu6(kn_tensor x);                    /* min(max(x, 0), 6) */
KN_API kn_tensor kn_leaky_relu(kn_tensor x, double slope); /* x > 0 ? x : slope x */
KN_API kn_tensor kn_gelu(kn_tensor x);                     /* x (1 + erf(x / sqrt(2))) / 2 */
KN_API kn_tensor kn_gelu_approximate(kn_tensor x); /* x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) / 2 */
KN_API kn_tensor kn_sigmoid(kn_tensor x);          /* 1 / (1 + exp(-x)) */
KN_API kn_tensor kn_log_sigmoid(kn_tensor x);      /* log(sigmoid(x)) */
KN_API kn_tensor kn_silu(kn_tensor x);             /* x sigmoid(x) */
KN_API kn_tensor kn_mish(kn_tensor x);             /* x tanh(log(1 + exp(x))) */
KN_API kn_tensor kn_hard_swish(kn_tensor x);       /* x min(max(x + 3, 0), 6) / 6 */
/* min(max(alpha x + beta, 0), 1); PyTorch's has alpha = 1.0 / 6, beta = 0.5 */
KN_API kn_tensor kn_hard_sigmoid(kn_tensor x, double alpha, double beta);
/* x > 0 ? x : slope x with a slope drawn for each element from [low, high) while training (kn_seed), else their mean. PyTorch's are
   1.0 / 8 and 1.0 / 3. */
KN_API kn_tensor kn_rrelu(kn_tensor x, double low, double high, bool training);
/* x > 0 ? x : weight x. weight has one element, or one for each size of axis 1 of x. */
KN_API kn_tensor kn_prelu(kn_tensor x, kn_tensor weight);
/* log(1 + exp(beta x)) / beta; x itself where beta x > threshold. PyTorch's defaults are 1 and 20. */
KN_API kn_tensor kn_softplus(kn_tensor x, double beta, double threshold);
KN_API kn_tensor kn_elu(kn_tensor x, double alpha);  /* x > 0 ? x : alpha (exp(x) - 1) */
KN_API kn_tensor kn_celu(kn_tensor x, double alpha); /* x > 0 ? x : alpha (exp(x / alpha) - 1) */
KN_API kn_tensor kn_selu(kn_tensor x);               /* 1.0507 (x > 0 ? x : 1.6733 (exp(x) - 1)) */
KN_API kn_tensor kn_softsign(kn_tensor x);           /* x / (1 + |x|) */
KN_API kn_tensor kn_tanhshrink(kn_tensor x);         /* x - tanh(x) */
/* min(max(x, low), high); no gradient at the bounds. Integers stay integers: bounds are rounded to those between them. */
KN_API kn_tensor kn_hardtanh(kn_tensor x, double low, double high);
KN_API kn_tensor kn_threshold(kn_tensor x, double threshold, double value); /* x > threshold ? x : value */
KN_API kn_tensor kn_thresholded_relu(kn_tensor x, double alpha);            /* x > alpha ? x : 0 */
KN_API kn_tensor kn_hard_shrink(kn_tensor x, double lambda);                /* |x| > lambda ? x : 0 */
/* x - lambda above lambda, x + lambda below -lambda, 0 between */
KN_API kn_tensor kn_soft_shrink(kn_tensor x, double lambda);
/* x - bias above lambda, x + bias below -lambda, 0 between */
KN_API kn_tensor kn_shrink(kn_tensor x, double lambda, double bias);
/* a sigmoid(b), a and b being the first and second half of x along axis */
KN_API kn_tensor kn_glu(kn_tensor x, int32_t axis);

#ifdef __cplusplus
}
#endif
#endif
