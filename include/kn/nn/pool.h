/* Pooling layers; see kn/spatial.h for the formulas. Lists have one entry per spatial axis. A 0 behind the
   first stride or dilation is as the first: .stride = {2} is 2 on every axis, as PyTorch's stride=2. A padding of 0 is none:
   write .padding = {1, 1} for PyTorch's padding=1. */
#ifndef KN_NN_POOL_H
#define KN_NN_POOL_H

#include <kn/nn/module.h>
#include <kn/spatial.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One struct serves all kinds and ranks; window tells the rank. */
typedef struct kn_nn_pool {
    kn_ints kernel_size, stride, padding, padding_end, dilation;
    bool same, ceil_mode, exclude_padding;
    int64_t divisor;
} kn_nn_pool;
typedef kn_nn_pool kn_nn_max_pool1d, kn_nn_max_pool2d, kn_nn_max_pool3d;
typedef kn_nn_pool kn_nn_avg_pool1d, kn_nn_avg_pool2d, kn_nn_avg_pool3d;
extern KN_API const kn_module_type kn_nn_max_pool1d_type, kn_nn_max_pool2d_type, kn_nn_max_pool3d_type;
extern KN_API const kn_module_type kn_nn_avg_pool1d_type, kn_nn_avg_pool2d_type, kn_nn_avg_pool3d_type;

typedef struct kn_nn_pool_args {
    int64_t stride[3];      /* 0 = the window */
    int64_t padding[3];     /* at most half of the window */
    int64_t padding_end[3]; /* 0 = as padding, KN_ZERO = none */
    int64_t dilation[3];    /* of max pools; 0 = 1 */
    bool same;              /* y has size ceil(x / stride), the odd element of the padding is at the end */
    bool ceil_mode;         /* windows may start inside and end outside */
    bool exclude_padding;   /* mean pools: the divisor counts real elements only */
    int64_t divisor;        /* mean pools: replaces the number of elements when > 0 */
} kn_nn_pool_args;
#define KN_NN_POOL_ARGS_DEFAULTS KN_FIELDS({0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {1, 1, 1}, false, false, false, 0)

KN_API kn_status kn_nn_max_pool1d_init(kn_nn_max_pool1d *m, kn_ints kernel_size, const kn_nn_pool_args *args);
KN_API kn_status kn_nn_max_pool2d_init(kn_nn_max_pool2d *m, kn_ints kernel_size, const kn_nn_pool_args *args);
KN_API kn_status kn_nn_max_pool3d_init(kn_nn_max_pool3d *m, kn_ints kernel_size, const kn_nn_pool_args *args);
KN_API kn_status kn_nn_avg_pool1d_init(kn_nn_avg_pool1d *m, kn_ints kernel_size, const kn_nn_pool_args *args);
KN_API kn_status kn_nn_avg_pool2d_init(kn_nn_avg_pool2d *m, kn_ints kernel_size, const kn_nn_pool_args *args);
KN_API kn_status kn_nn_avg_pool3d_init(kn_nn_avg_pool3d *m, kn_ints kernel_size, const kn_nn_pool_args *args);
KN_API kn_tensor kn_nn_max_pool1d_forward(const kn_nn_max_pool1d *m, kn_tensor x);
KN_API kn_tensor kn_nn_max_pool2d_forward(const kn_nn_max_pool2d *m, kn_tensor x);
KN_API kn_tensor kn_nn_max_pool3d_forward(const kn_nn_max_pool3d *m, kn_tensor x);
KN_API kn_tensor kn_nn_avg_pool1d_forward(const kn_nn_avg_pool1d *m, kn_tensor x);
KN_API kn_tensor kn_nn_avg_pool2d_forward(const kn_nn_avg_pool2d *m, kn_tensor x);
KN_API kn_tensor kn_nn_avg_pool3d_forward(const kn_nn_avg_pool3d *m, kn_tensor x);

/* (sum over windows of x^norm_type)^(1 / norm_type), see kn_lp_pool2d. */
typedef struct kn_nn_lp_pool {
    double norm_type;
    kn_ints kernel_size, stride;
    bool ceil_mode;
} kn_nn_lp_pool;
typedef kn_nn_lp_pool kn_nn_lp_pool1d, kn_nn_lp_pool2d, kn_nn_lp_pool3d;
extern KN_API const kn_module_type kn_nn_lp_pool1d_type, kn_nn_lp_pool2d_type, kn_nn_lp_pool3d_type;
typedef struct kn_nn_lp_pool_args {
    int64_t stride[3]; /* 0 = the window */
    bool ceil_mode;
} kn_nn_lp_pool_args;
#define KN_NN_LP_POOL_ARGS_DEFAULTS KN_ZEROED
KN_API kn_status kn_nn_lp_pool1d_init(kn_nn_lp_pool1d *m, double norm_type, kn_ints kernel_size,
                                      const kn_nn_lp_pool_args *args);
KN_API kn_status kn_nn_lp_pool2d_init(kn_nn_lp_pool2d *m, double norm_type, kn_ints kernel_size,
                                      const kn_nn_lp_pool_args *args);
KN_API kn_status kn_nn_lp_pool3d_init(kn_nn_lp_pool3d *m, double norm_type, kn_ints kernel_size,
                                      const kn_nn_lp_pool_args *args);
KN_API kn_tensor kn_nn_lp_pool1d_forward(const kn_nn_lp_pool1d *m, kn_tensor x);
KN_API kn_tensor kn_nn_lp_pool2d_forward(const kn_nn_lp_pool2d *m, kn_tensor x);
KN_API kn_tensor kn_nn_lp_pool3d_forward(const kn_nn_lp_pool3d *m, kn_tensor x);

/* The largest elements of windows at places drawn at each call, also in evaluation, as in PyTorch; see kn_fractional_max_pool2d. */
typedef struct kn_nn_fractional_max_pool {
    kn_ints kernel_size, output_size; /* output_size empty: by ratio */
    double ratio_first, ratio_second, ratio_third;
} kn_nn_fractional_max_pool;
typedef kn_nn_fractional_max_pool kn_nn_fractional_max_pool2d, kn_nn_fractional_max_pool3d;
extern KN_API const kn_module_type kn_nn_fractional_max_pool2d_type, kn_nn_fractional_max_pool3d_type;
typedef struct kn_nn_fractional_max_pool_args {
    kn_ints output_size; /* KN_INTS(7, 7) */
    double ratio[3]; /* without output_size: y's size / x's size, above 0 and below 1; a 0 is as the first */
} kn_nn_fractional_max_pool_args;
#define KN_NN_FRACTIONAL_MAX_POOL_ARGS_DEFAULTS KN_ZEROED
KN_API kn_status kn_nn_fractional_max_pool2d_init(kn_nn_fractional_max_pool2d *m, kn_ints kernel_size,
                                                  const kn_nn_fractional_max_pool_args *args);
KN_API kn_status kn_nn_fractional_max_pool3d_init(kn_nn_fractional_max_pool3d *m, kn_ints kernel_size,
                                                  const kn_nn_fractional_max_pool_args *args);
KN_API kn_tensor kn_nn_fractional_max_pool2d_forward(const kn_nn_fractional_max_pool2d *m, kn_tensor x);
KN_API kn_tensor kn_nn_fractional_max_pool3d_forward(const kn_nn_fractional_max_pool3d *m, kn_tensor x);

/* Windows chosen so that y has these spatial sizes; -1 keeps x's. */
typedef struct kn_nn_adaptive_pool {
    kn_ints output_size;
} kn_nn_adaptive_pool;
typedef kn_nn_adaptive_pool kn_nn_adaptive_avg_pool1d, kn_nn_adaptive_avg_pool2d, kn_nn_adaptive_avg_pool3d;
typedef kn_nn_adaptive_pool kn_nn_adaptive_max_pool1d, kn_nn_adaptive_max_pool2d, kn_nn_adaptive_max_pool3d;
extern KN_API const kn_module_type kn_nn_adaptive_avg_pool1d_type, kn_nn_adaptive_avg_pool2d_type,
    kn_nn_adaptive_avg_pool3d_type;
extern KN_API const kn_module_type kn_nn_adaptive_max_pool1d_type, kn_nn_adaptive_max_pool2d_type,
    kn_nn_adaptive_max_pool3d_type;

/* output_size: KN_INTS(7, 7). */
KN_API kn_status kn_nn_adaptive_avg_pool1d_init(kn_nn_adaptive_avg_pool1d *m, kn_ints output_size);
KN_API kn_status kn_nn_adaptive_avg_pool2d_init(kn_nn_adaptive_avg_pool2d *m, kn_ints output_size);
KN_API kn_status kn_nn_adaptive_avg_pool3d_init(kn_nn_adaptive_avg_pool3d *m, kn_ints output_size);
KN_API kn_status kn_nn_adaptive_max_pool1d_init(kn_nn_adaptive_max_pool1d *m, kn_ints output_size);
KN_API kn_status kn_nn_adaptive_max_pool2d_init(kn_nn_adaptive_max_pool2d *m, kn_ints output_size);
KN_API kn_status kn_nn_adaptive_max_pool3d_init(kn_nn_adaptive_max_pool3d *m, kn_ints output_size);
KN_API kn_tensor kn_nn_adaptive_avg_pool1d_forward(const kn_nn_adaptive_avg_pool1d *m, kn_tensor x);
KN_API kn_tensor kn_nn_adaptive_avg_pool2d_forward(const kn_nn_adaptive_avg_pool2d *m, kn_tensor x);
KN_API kn_tensor kn_nn_adaptive_avg_pool3d_forward(const kn_nn_adaptive_avg_pool3d *m, kn_tensor x);
KN_API kn_tensor kn_nn_adaptive_max_pool1d_forward(const kn_nn_adaptive_max_pool1d *m, kn_tensor x);
KN_API kn_tensor kn_nn_adaptive_max_pool2d_forward(const kn_nn_adaptive_max_pool2d *m, kn_tensor x);
KN_API kn_tensor kn_nn_adaptive_max_pool3d_forward(const kn_nn_adaptive_max_pool3d *m, kn_tensor x);

#ifdef __cplusplus
}
#endif
#endif
