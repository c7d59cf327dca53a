/* What the files of the CUDA driver share: the open device behind a kni_driver. */
#ifndef KNI_CUDA_DRIVER_H
#define KNI_CUDA_DRIVER_H

#include "backend/cuda/cuda_api.h"
#include "backend/runtime/runtime.h"

enum { KNI_CUDA_WORKSPACE = 32 << 20, KNI_CUDA_WORKSPACES = 4, KNI_CUDA_ZEROS = 1 << 16 };

/* What KN_CUDNN_TRANSFORM says when the device is opened: no tiles are transformed; small ones, whose results are as exact as sums;
   all of them. */
enum { KNI_DNN_TRANSFORMS_NONE, KNI_DNN_TRANSFORMS_SMALL, KNI_DNN_TRANSFORMS_LARGE };

typedef struct kni_cuda_products kni_cuda_products; /* cuda_product.c */

typedef struct kni_cuda {
    kni_runtime runtime; /* first: it is the driver's own pointer */
    const kni_cuda_driver_api *api;
    int major, minor;
    bool vendor;        /* the vendor's libraries may be used; KN_VENDOR=off when it was opened: not */
    uint8_t transforms; /* KNI_DNN_TRANSFORMS_*: which convolutions may transform tiles */
    /* of products that may run at once, one after the other; the one that the latest product took */
    void *workspaces[KNI_CUDA_WORKSPACES], *workspace;
    int next_workspace;
    /* Memory for what a call needs for itself. Older pieces stay, because recordings may hold their addresses. */
    void *scratch, *older_scratch[40];
    size_t scratch_bytes, older_bytes[40];
    int n_older_scratch;
    void *zeros; /* KNI_CUDA_ZEROS bytes, once a convolution needs them */
    kni_cuda_products *products;
    struct kni_hopper_kernels *kernels; /* cuda_hopper.c */
    struct kni_dnn *dnn;                /* cuda_cudnn_plans.c */
    struct kni_cuda_layers *layers;     /* cuda_recurrent.c */
} kni_cuda;

/* Opens the device of a number; NULL after a failure. Closed by the driver's close. */
kni_driver *kni_cuda_driver_open(int32_t number);

/* ---- for the files of the driver */
static inline kni_cuda *kni_cuda_of(kni_driver *d) { return (kni_cuda *)d->self; }

/* Memory of the driver's own, counted; NULL where there is none, even after others gave back what they keep. */
void *kni_cuda_own(kni_cuda *c, size_t bytes);
void kni_cuda_disown(kni_cuda *c, void *memory, size_t bytes);
/* Memory that is used until the call's last kernel ends; at least 1 byte. NULL without a text where there is none. */
void *kni_cuda_scratch(kni_cuda *c, size_t bytes);

/* The driver's products while recording. */
kn_status kni_cuda_record_product(kni_driver *d, const kni_product *p);
/* A workspace that no product beside it uses, while recording; else the usual one. Products that share one run one after the other. */
void *kni_cuda_record_workspace(kni_cuda *c, void *usual, bool shared);

kn_status kni_cuda_product(kni_driver *d, const kni_product *p);
kn_status kni_cuda_attention(kni_driver *d, const kni_attention *p);
kn_status kni_cuda_attention_grad(kni_driver *d, const kni_attention *p);
kn_status kni_cuda_convolution(kni_driver *d, const kni_convolution *p);
kn_status kni_cuda_recurrence(kni_driver *d, const kni_recurrence *p);
int64_t kni_cuda_recurrence_reserve(kni_driver *d, const kni_recurrence *p);
void kni_cuda_layers_free(kni_cuda *c);
/* KN_ERROR_UNSUPPORTED without a text where cuDNN has none. */
kn_status kni_dnn_attention(kni_cuda *c, const kni_attention *p, bool gradient);
void kni_dnn_free(kni_cuda *c);
void kni_cuda_products_free(kni_cuda *c);

#endif
