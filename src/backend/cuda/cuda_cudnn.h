/* Graphs of cuDNN: tensors and operations are described one by one, then the library makes one plan of all of them. */
#ifndef KNI_CUDA_CUDNN_H
#define KNI_CUDA_CUDNN_H

#include "backend/cuda/cuda_driver.h"
#include "core/text.h"

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
    KNI_DNN_RELU = 100,
    KNI_DNN_LOG = 15,
    KNI_DNN_IDENTITY = 21,
    KNI_DNN_AT_LEAST = 303,
    KNI_DNN_INDEX = 501,
    KNI_DNN_SELECT = 601,

    KNI_DNN_REDUCE_SUM = 0,
    KNI_DNN_REDUCE_MAX = 3,
    KNI_DNN_MOST = 320, /* descriptors of one graph */
    KNI_DNN_RANK = 5
};

/* What an engine of the library must not do. */
enum {
    KNI_DNN_EXACT = 1, /* round operands, as tensor cores do with f32, or sums on their way */
    KNI_DNN_READY = 2, /* be compiled at run time, which takes seconds */
    KNI_DNN_PLAIN = 4, /* transform images, which spreads what is not finite */
    KNI_DNN_FINE = 8   /* transform them by Fourier's or in large tiles, which loses digits */
};

/* A graph under construction; after a failed call the others do nothing. Tensors are descriptors of the library. */
typedef struct kni_dnn_graph {
    const kni_cuda_graph_api *api;
    void *handle;
    void *all[KNI_DNN_MOST], *operations[32];
    int n_all, n_operations, failed; /* the library's status */
    int64_t next_id;                 /* of tensors inside */
    int limits;                      /* KNI_DNN_EXACT and what follows it */
} kni_dnn_graph;

enum { KNI_DNN_INSIDE = 1 /* never in memory */, KNI_DNN_VALUE = 2 /* a number of the host */ };
typedef struct kni_dnn_tensor {
    int64_t id; /* 0: the next one of those inside */
    int dtype, flags;
    int rank; /* 0: 4 */
    int64_t dims[KNI_DNN_RANK], steps[KNI_DNN_RANK];
} kni_dnn_tensor;
void *kni_dnn_add_tensor(kni_dnn_graph *g, const kni_dnn_tensor *t);
/* y = x op b, of t where it is a selection; absent operands are NULL. */
void kni_dnn_add_pointwise(kni_dnn_graph *g, int mode, int axis, void *x, void *b, void *t, void *y,
                           bool truth);
void kni_dnn_add_reduction(kni_dnn_graph *g, int mode, void *x, void *y);
void kni_dnn_add_product(kni_dnn_graph *g, void *a, void *b, void *c);
void kni_dnn_add_reshape(kni_dnn_graph *g, void *x, void *y);

/* y = x over w where it is 0, dx = dy over w' where 1, dw = x and dy where 2; images and kernels of so many axes. */
typedef struct kni_dnn_convolution {
    int what, axes;
    int64_t stride[3], padding[3], padding_end[3], dilation[3];
} kni_dnn_convolution;
void kni_dnn_add_convolution(kni_dnn_graph *g, const kni_dnn_convolution *p, void *x, void *w, void *y);

/* Plans of a finished graph, the one that should be fastest first, and their workspaces in bytes; how many of at most `wanted`
   the library has. The graph's descriptors are released either way. */
typedef struct kni_dnn_choice {
    void *plan;
    int64_t workspace;
    bool transforms; /* images */
} kni_dnn_choice;
int kni_dnn_plan(kni_dnn_graph *g, kni_dnn_choice *choices, int wanted);
/* Runs a plan over the memory of each id. Answers the library's status. */
int kni_dnn_run(const kni_cuda_graph_api *api, void *handle, void *plan, const int64_t *ids, void **memory,
                int count, void *workspace);

/* ---- kept plans (cuda_cudnn_plans.c) */
enum { KNI_DNN_KEY = 400, KNI_DNN_TRIED = 6 /* plans of a key that are timed */ };
typedef struct kni_dnn_kept {
    unsigned char key[KNI_DNN_KEY];
    size_t bytes;
    kni_dnn_choice choices[KNI_DNN_TRIED]; /* the first one is run */
    int n_choices;                         /* 0: the library has none */
    bool timed;                            /* so that the first one is known to be the fastest */
    uint64_t used;
} kni_dnn_kept;
/* What makes the graph of a key, and says in words what it is. */
typedef struct kni_dnn_kind {
    void (*build)(kni_dnn_graph *g, const void *key);
    void (*describe)(kni_text *text, const void *key); /* NULL: a missing plan is not told */
    bool timed;                                        /* results may be made several times over */
} kni_dnn_kind;
/* The library's handle, made at its first use, whose stream is the device's; NULL: there is no library. */
void *kni_dnn_handle(kni_cuda *c);
/* The plan for the key, made at its first use, good until the next one is asked for; NULL where there is no library, none
   of its engines can do it, or there is no memory. */
kni_dnn_kept *kni_dnn_find(kni_cuda *c, const void *key, size_t bytes, const kni_dnn_kind *kind);
/* Unless KN_CUDNN_TIME is off or something is recorded: runs the plans of the key and keeps the fastest. `after`: milliseconds that the
   results of a plan which transforms take further. */
void kni_dnn_time(kni_cuda *c, kni_dnn_kept *kept, const int64_t *ids, void **memory, int count, float after);
/* Runs it; `what` is for messages. */
kn_status kni_dnn_execute(kni_cuda *c, const kni_dnn_kept *plan, const int64_t *ids, void **memory, int count,
                          void *workspace, const char *what);

#endif
