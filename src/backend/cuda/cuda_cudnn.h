/* Graphs of cuDNN: tensors and operations are described one by one, then the library makes one plan of all of them. */
#ifndef KNI_CUDA_CUDNN_H
#define KNI_CUDA_CUDNN_H

#include "backend/cuda/cuda_driver.h"

/* Of cudnn_graph.h. */
enum {
    KNI_DNN_F32 = 0,
    KNI_DNN_F16 = 2,
    KNI_DNN_I32 = 4,
    KNI_DNN_BF16 = 9,
    KNI_DNN_BOOL = 11,

    KNI_DNN_ADD = 0,
    KNI_DNN_MULTIPLY = 1,
    KNI_DNN_DIVIDE = 6,
    KNI_DNN_SUBTRACT = 9,
    KNI_DNN_EXP = 13,
    KNI_DNN_LOG = 15,
    KNI_DNN_IDENTITY = 21,
    KNI_DNN_AT_LEAST = 303,
    KNI_DNN_INDEX = 501,
    KNI_DNN_SELECT = 601,

    KNI_DNN_REDUCE_SUM = 0,
    KNI_DNN_REDUCE_MAX = 3,
    KNI_DNN_MOST = 160 /* descriptors of one graph */
};

/* A graph under construction; after a failed call the others do nothing. Tensors are descriptors of the library. */
typedef struct kni_dnn_graph {
    const kni_cuda_graph_api *api;
    void *handle;
    void *all[KNI_DNN_MOST], *operations[32];
    int n_all, n_operations, failed; /* the library's status */
    int64_t next_id;                 /* of tensors inside */
} kni_dnn_graph;

enum { KNI_DNN_INSIDE = 1 /* never in memory */, KNI_DNN_VALUE = 2 /* a number of the host */ };
typedef struct kni_dnn_tensor {
    int64_t id; /* 0: the next one of those inside */
    int dtype, flags;
    int64_t dims[4], steps[4];
} kni_dnn_tensor;
void *kni_dnn_add_tensor(kni_dnn_graph *g, const kni_dnn_tensor *t);
/* y = x op b, of t where it is a selection; absent operands are NULL. */
void kni_dnn_add_pointwise(kni_dnn_graph *g, int mode, int axis, void *x, void *b, void *t, void *y,
                           bool truth);
void kni_dnn_add_reduction(kni_dnn_graph *g, int mode, void *x, void *y);
void kni_dnn_add_product(kni_dnn_graph *g, void *a, void *b, void *c);
void kni_dnn_add_reshape(kni_dnn_graph *g, void *x, void *y);

/* y = x over w where it is 0, dx = dy over w' where 1, dw = x and dy where 2; images and kernels of two axes. */
typedef struct kni_dnn_convolution {
    int what;
    int64_t stride[2], padding[2], dilation[2];
} kni_dnn_convolution;
void kni_dnn_add_convolution(kni_dnn_graph *g, const kni_dnn_convolution *p, void *x, void *w, void *y);

/* The plan of a finished graph and its workspace in bytes; NULL where the library has none. The graph's descriptors are
   released either way. */
void *kni_dnn_plan(kni_dnn_graph *g, int64_t *workspace);
/* Runs a plan over the memory of each id. Answers the library's status. */
int kni_dnn_run(const kni_cuda_graph_api *api, void *handle, void *plan, const int64_t *ids, void **memory,
                int count, void *workspace);

/* ---- kept plans (cuda_cudnn_plans.c) */
enum { KNI_DNN_KEY = 240 };
typedef struct kni_dnn_kept {
    unsigned char key[KNI_DNN_KEY];
    size_t bytes;
    void *plan; /* NULL: the library has none */
    int64_t workspace;
    uint64_t used;
} kni_dnn_kept;
/* The plan for the key, made at its first use, good until the next one is asked for; NULL where there is no library, none
   of its engines can do it, or there is no memory. */
const kni_dnn_kept *kni_dnn_find(kni_cuda *c, const void *key, size_t bytes,
                                 void (*build)(kni_dnn_graph *g, const void *key));
/* Runs it; `what` is for messages. */
kn_status kni_dnn_execute(kni_cuda *c, const kni_dnn_kept *plan, const int64_t *ids, void **memory, int count,
                          void *workspace, const char *what);

#endif
