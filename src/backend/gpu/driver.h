/* What a device that compiles kernels at run time has to offer: memory, copies, compilation, launches. CUDA and OpenCL
   implement this and nothing else; all that knows of tensors, ops and kernels is in src/backend/gpu. Calls come from one
   thread at a time. Everything is queued in order; only download and sync wait. Failures are told through kni_fail;
   KN_ERROR_DEVICE means that the context is dead: nothing of the device works any more until it is opened again. */
#ifndef KNI_GPU_DRIVER_H
#define KNI_GPU_DRIVER_H

#include "core/backends.h" /* the openers of the devices */
#include "ir/ir.h"
#include "sched/sched.h"
#include <kn/backend.h>

typedef struct kni_driver kni_driver;

/* A compiled kernel and a captured sequence of launches, each the driver's own. */
typedef struct kni_module kni_module;
typedef struct kni_recording kni_recording;
typedef struct kni_fetch kni_fetch;

/* What contraction libraries are asked for: d = alpha op(a) op(b) + beta c, then the epilogue, for each of `batch`.
   Row-major; strides in elements. The bits of the epilogue in the order in which they apply: */
typedef enum kni_epilogue {
    KNI_EPILOGUE_NONE = 0,
    KNI_EPILOGUE_BIAS = 1, /* an element for each column is added */
    KNI_EPILOGUE_RELU = 2,
    KNI_EPILOGUE_GELU = 4,     /* the tanh form */
    KNI_EPILOGUE_GELU_GRAD = 8 /* alone: times the derivative of that at `aux` */
} kni_epilogue;

typedef struct kni_place {
    void *memory;   /* of the driver */
    int64_t offset; /* in elements */
} kni_place;

typedef struct kni_product {
    int dtype, out_dtype; /* of a and b; of d */
    int64_t m, n, k, batch;
    kni_place a, b, c, d, bias;
    kni_place aux;                          /* another operand, of d's dtype, that lies as d does */
    int64_t row_a, row_b, row_c, row_d;     /* elements from row to row */
    int64_t step_a, step_b, step_c, step_d; /* from matrix to matrix; 0 repeats it */
    bool transpose_a, transpose_b, tf32;
    double alpha, beta;
    int epilogue;
} kni_product;

/* Attention whose scores are never in memory: out = softmax(scale q k') v for each batch and head, heads / key_heads
   neighbours sharing a key head. Query i sees keys 0 .. i only where it is causal. The last axis of each operand is dense
   and results are contiguous; steps are elements from batch to batch, head to head and row to row. */
typedef struct kni_attention {
    int dtype; /* of all but lse */
    int64_t batch, heads, key_heads, queries, keys, size, value_size;
    double scale;
    bool causal;
    kni_place q, k, v, out;
    kni_place
        lse; /* f32 [batch, heads, queries], logarithm of the sum of the exponentials; a result of the forward pass
                      where its memory is not NULL, an operand of the gradient */
    int64_t q_steps[3], k_steps[3], v_steps[3];
    /* Added to the scores, of the same dtype; memory NULL: nothing. Steps along all four axes of the scores, 0 where it repeats,
       1 along the keys; not every driver's kernels take one. */
    kni_place bias;
    int64_t bias_steps[4];
    /* By kernels of the driver's own alone (`own_attention`), which also take: a mask of bytes that hides where it is 0, with steps as
       those of the bias, whose keys need not be dense here; dropout by the key of the generator at `draws` (8 bytes; memory NULL: none),
       whose weights below the threshold go and others are multiplied by `kept`; and of the gradient `slopes`, f32 [batch, heads,
       queries, keys], the gradient by the scores with their bias. A query without keys gives 0 and a logarithm of 0. */
    bool own;
    kni_place mask, draws, slopes;
    int64_t mask_steps[4];
    uint32_t threshold;
    float kept;
    /* the gradient only; out is then an operand */
    kni_place dy, dq, dk, dv;
    int64_t dy_steps[3];
} kni_attention;

/* A convolution over images of two or three axes: x [images, channels, ..], w [outs, channels / groups, ..] and y [images, outs, ..],
   each by its steps in elements along images (or outs), channels and the axes. Makes y, x or w of the others; y is
   relu(the convolution + added + bias) as far as there are those, where `added` lies as y does. Padding is zeros, not negative. */
enum { KNI_CONVOLUTION_FORWARD, KNI_CONVOLUTION_DATA, KNI_CONVOLUTION_FILTER };
enum { KNI_CONVOLUTION_AXES = 3, KNI_CONVOLUTION_RANK = 2 + KNI_CONVOLUTION_AXES };
typedef struct kni_convolution {
    int what, dtype, axes;
    bool relu;
    bool tf32; /* operands in f32 may be rounded to 10 bits */
    bool
        only_transformed; /* KN_ERROR_UNSUPPORTED where `transformed` would say no; results may be anything then */
    int64_t images, channels, outs, groups;
    int64_t x_size[KNI_CONVOLUTION_AXES], kernel[KNI_CONVOLUTION_AXES], y_size[KNI_CONVOLUTION_AXES];
    int64_t stride[KNI_CONVOLUTION_AXES], dilation[KNI_CONVOLUTION_AXES];
    int64_t padding[KNI_CONVOLUTION_AXES], padding_end[KNI_CONVOLUTION_AXES];
    int64_t x_steps[KNI_CONVOLUTION_RANK], w_steps[KNI_CONVOLUTION_RANK], y_steps[KNI_CONVOLUTION_RANK];
    kni_place x, w, y, bias, added; /* the last two: memory NULL where there is none */
    /* Where it is not NULL, results of f32 may be made by way of transformed tiles, in which one element that is not finite spoils its
       neighbours: the driver says here whether they were, and the caller makes those that are not finite again. */
    bool *transformed;
} kni_convolution;

/* Stacked recurrent layers over sequences of one length (kn_recurrent_layers): x [steps, batch, ins], y [steps, batch, directions
   hidden], states [layers directions, batch, hidden], all contiguous and of one dtype; the weights are one vector, of each layer's
   and direction's matrices by x and by h, then of all their biases by x and by h, with the gates of kn/nn/recurrent.h in its order. */
enum { KNI_RECURRENCE_RNN, KNI_RECURRENCE_GRU, KNI_RECURRENCE_LSTM };
typedef struct kni_recurrence {
    int dtype, cell, layers, directions;
    bool biased, tf32;
    bool gradient;
    bool training; /* forward: fills `reserve` for the gradient */
    int64_t steps, batch, ins, hidden;
    kni_place x, weights, h, c;  /* h and c: memory NULL where they are zeros */
    kni_place y, last_h, last_c; /* results, but for y in the gradient; last_c: of lstm alone */
    kni_place reserve;           /* bytes; the gradient reads it */
    /* the gradient only; dlast_h and dlast_c: memory NULL where they are zeros */
    kni_place dy, dlast_h, dlast_c, dx, dweights, dh, dc;
} kni_recurrence;

struct kni_driver {
    const char *name; /* "cuda:0" */
    char description[128];
    kni_ir_caps caps;
    uint32_t processors; /* multiprocessors, compute units */
    int64_t memory_bytes;
    int64_t max_bytes; /* of one piece that kernels can be given; 0: no bound of its own */
    int64_t own_bytes; /* that the driver took of it for itself */
    int64_t loaded;    /* kernels that `compile` found in the cache on disk */
    /* Set by who uses the driver: gives back what it keeps for later, where a call of the driver's own has no memory. */
    void (*make_room)(void *owner);
    void *owner;
    bool addresses; /* memory is an address: what lies later in a piece of it is memory too */
    void *self;

    /* Memory. NULL without any failure told when there is none: the pool trims and tries again. */
    void *(*allocate)(kni_driver *d, size_t bytes);
    void (*free)(kni_driver *d, void *memory);
    kn_status (*upload)(kni_driver *d, void *to, size_t offset, const void *from, size_t bytes);
    kn_status (*download)(kni_driver *d, void *to, const void *from, size_t offset, size_t bytes); /* waits */
    /* Optional, together: reading without waiting. fetch_begin queues a copy to the host behind all that is queued, NULL after a failure;
       fetch_ready says whether it has come, and waits where it is asked to and may; fetch_end, called in any case, copies it to `to`
       (NULL: nowhere). */
    kni_fetch *(*fetch_begin)(kni_driver *d, const void *from, size_t offset, size_t bytes);
    kn_status (*fetch_ready)(kni_driver *d, kni_fetch *f, bool wait, bool *ready);
    void (*fetch_end)(kni_driver *d, kni_fetch *f, void *to);
    kn_status (*copy)(kni_driver *d, void *to, size_t to_offset, const void *from, size_t from_offset,
                      size_t bytes);
    kn_status (*fill_zero)(kni_driver *d, void *to, size_t offset, size_t bytes);
    kn_status (*sync)(kni_driver *d);
    /* Optional: gives back what own_bytes counts, as far as no recording holds it; nothing is queued. */
    void (*trim)(kni_driver *d);

    /* Kernels. The text is one that kni_ir_emit or a skeleton made, with a zero behind its bytes; the failure told holds the compiler's message.
       `compile` uses the cache on disk. */
    kni_module *(*compile)(kni_driver *d, const char *text, size_t bytes, const char *entry);
    void (*unload)(kni_driver *d, kni_module *m);
    /* Optional: starts compiling a text in the background because `compile` will probably be asked for it. The text is copied, and
       failures are silent. forget_ahead discards every result that nobody has asked for yet. */
    void (*compile_ahead)(kni_driver *d, const char *text, const char *entry);
    void (*forget_ahead)(kni_driver *d);
    /* buffers: the driver's memory in the order of the entry's parameters, the fault cell last where there is one;
       params: the block of bytes, NULL where there is none. */
    kn_status (*launch)(kni_driver *d, kni_module *m, const kni_launch_shape *shape, void *const *buffers,
                        uint32_t n_buffers, const void *params, uint32_t param_bytes);

    /* Optional (NULL): what is queued between the two is not run but kept, to be replayed as often as wanted with the
       same memory. What waits for the device and what is copied to or from the host cannot be recorded: it fails. Calls
       of `launch` are counted from 0 on; record_params gives one of them other params for the replays that follow.
       record_end: NULL after a failure; the device goes on in any case. record_free may come while it still runs,
       and after the device was lost. record_writes, before a launch, says which of its buffers it writes (bit by number),
       so that work which does not depend on each other can run at once; without it, it writes all of them. */
    kn_status (*record_begin)(kni_driver *d);
    kni_recording *(*record_end)(kni_driver *d);
    kn_status (*replay)(kni_driver *d, kni_recording *r);
    kn_status (*record_params)(kni_driver *d, kni_recording *r, uint32_t launch, const void *params,
                               uint32_t param_bytes);
    void (*record_free)(kni_driver *d, kni_recording *r);
    void (*record_writes)(kni_driver *d, const uint64_t *written);

    /* Optional: a library's product. KN_ERROR_UNSUPPORTED without a text: it has none for this one. */
    kn_status (*product)(kni_driver *d, const kni_product *p);
    /* Optional, likewise. */
    kn_status (*attention)(kni_driver *d, const kni_attention *p);
    kn_status (*attention_grad)(kni_driver *d, const kni_attention *p);
    bool own_attention; /* by kernels of its own, too */

    kn_status (*convolution)(kni_driver *d, const kni_convolution *p);

    /* Optional, together, likewise. recurrence_reserve: the bytes of `reserve`, below 0 where it has no such layers; places are not
       looked at. */
    kn_status (*recurrence)(kni_driver *d, const kni_recurrence *p);
    int64_t (*recurrence_reserve)(kni_driver *d, const kni_recurrence *p);

    /* Optional: the table of the backend around it (kn/backend.h). */
    const kn_want *wants;
    int32_t n_wants;

    /* Optional, for measuring: what each kind of work took, as text; answers its whole length. While `profiling` the label
       names the work that follows. */
    bool profiling;
    char label[96];
    size_t (*profile)(kni_driver *d, char *text, size_t bytes);

    void (*close)(kni_driver *d);
};

/* The backend around a driver; `device` strings are "cuda:0", "opencl:1". NULL after a failure. */
kn_backend *kni_gpu_open(kni_driver *driver);

/* What the openers of device strings do: "" is number 0; one backend for each kind and number, a new one after it was
   lost. `open` makes the driver, NULL after a failure. */
kn_backend *kni_gpu_open_numbered(const char *kind, const char *argument, int32_t n_inner,
                                  kni_driver *(*open)(int32_t number));

#endif
