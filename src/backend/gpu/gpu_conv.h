/* Convolutions of a device: what the files that make them know of each other. */
#ifndef KNI_GPU_CONV_H
#define KNI_GPU_CONV_H

#include "backend/gpu/product.h"

/* The rows conv, conv_transpose and conv_weight_grad; the driver's KNI_CONVOLUTION_* say the same of a library's. */
enum { KNI_CONV_FORWARD, KNI_CONV_TRANSPOSED, KNI_CONV_WEIGHT };

/* How convolutions are made: as what they are decides, or one way wherever it can make them. */
enum { KNI_CONV_BY_ANY, KNI_CONV_BY_DIRECT, KNI_CONV_BY_TILED, KNI_CONV_BY_LIBRARY };
/* What KN_CONV says; NULL: nothing. */
uint8_t kni_gpu_conv_way(const char *text);

/* Whether a kernel of ours is the first choice for the convolution. */
bool kni_gpu_conv_kernel_first(const kni_gpu *g, const kn_record *r, int what);

/* A convolution by its sizes along three axes; those that are missing come first, with one place. Channels and outs are those
   of a group. */
enum { KNI_CONV_AXES = 3 };
typedef struct kni_conv_shape {
    int what, dtype, axes;
    /* What it reads lies with channels last, and what it makes is to; for the gradient by the weight, both images lie so. */
    bool x_last, y_last;
    bool aligned; /* images begin where vectors may */
    int64_t images, groups, channels, outs;
    int64_t x_size[KNI_CONV_AXES], kernel[KNI_CONV_AXES], y_size[KNI_CONV_AXES];
    int64_t stride[KNI_CONV_AXES], padding[KNI_CONV_AXES], dilation[KNI_CONV_AXES];
} kni_conv_shape;
void kni_gpu_conv_measure(const kn_record *r, int what, kni_conv_shape *shape);

/* ---- without tiles (gpu_conv_direct.c) */
/* Whether that is the best way of ours, and whether it comes before a library's. */
bool kni_gpu_conv_wants_direct(const kni_gpu *g, const kni_conv_shape *shape);
/* The neighbours of a vector where it reads and makes rows so; 0: it does not. */
int kni_gpu_conv_rows_lanes(const kni_conv_shape *shape);
/* Whether it reads and makes images with channels last by vectors of channels. */
bool kni_gpu_conv_takes_lanes(const kni_gpu *g, const kni_conv_shape *shape);
/* The most neighbours that a kernel of ours hands at once to what follows the convolution. */
uint32_t kni_gpu_conv_tail_lanes(const kni_gpu *g, const kn_record *r, int what);
bool kni_gpu_conv_direct_first(const kni_gpu *g, const kn_record *r, int what);
/* `l` has operands, in the order other operand, x and bias, the result where there is no tail, and the tail. KN_ERROR_UNSUPPORTED
   without a text: not this one. */
kn_status kni_gpu_run_conv_direct(kni_gpu *g, const kni_conv_shape *shape, bool wide, bool leaves_out,
                                  bool biased, kni_gpu_product_launch *l);

/* ---- sums in parts (conv_parts.c) */
/* The parts that give each processor `busy` workgroups where `workgroups` do not, each of at least `least` terms; 1: none. */
int64_t kni_gpu_choose_parts(const kni_gpu *g, int64_t busy, int64_t workgroups, int64_t terms, int64_t least,
                             int64_t results);
/* Launches what leaves `count` parts of all results, one after the other and unrounded, in the place of its result, and adds them up
   in order; where the count is 1, just the launch. `l` has a result or a tail, as it would have without parts. */
kn_status kni_gpu_launch_parts(kni_gpu *g, int dtype, int64_t count, int64_t results,
                               const kni_gpu_product_launch *l);

/* Whether the driver's library is asked for the convolution. */
bool kni_gpu_conv_suits_library(const kni_gpu *g, const kn_record *r, int what);
/* By the driver's library, with the tail where there is one; the record's results are finished. KN_ERROR_UNSUPPORTED without
   a text: it has none for this one, and nothing was done. */
kn_status kni_gpu_run_conv_library(kni_gpu *g, const kn_record *r, const kni_gpu_tail *tail, int what);
/* What a library's results were made of, and what followed in the same call. */
typedef struct kni_conv_operand {
    kni_gpu_block *block; /* NULL: there is none */
    int64_t offset;
} kni_conv_operand;
typedef struct kni_conv_made {
    kni_conv_operand x, other, bias, added, result;
    bool x_last,
        y_last; /* channels lie last in the first operand; in the other image, be it result or operand */
    bool relu;
    bool transformed; /* by way of tiles, in which one element that is not finite spoils its neighbours */
    bool finishes;    /* bias, the other image and relu are left to who looks at the results */
} kni_conv_made;
/* Images or weights of few channels for a library (conv_packed.c): each place becomes `to` channels, of which those behind its own are
   zeros. `last`: channels lie last already. */
enum { KNI_PACK_MOST = 8 };
typedef struct kni_conv_packed {
    int64_t images, channels, places;
    int bytes, to;
    bool last;
} kni_conv_packed;
/* A block with what `from` has; NULL: room for it. Given back by the caller, in any case. */
kn_status kni_gpu_conv_pack(kni_gpu *g, const kni_conv_packed *p, const kni_conv_operand *from,
                            kni_gpu_block **to);
/* From such a block to rows. */
kn_status kni_gpu_conv_unpack(kni_gpu *g, const kni_conv_packed *p, kni_gpu_block *from,
                              const kni_conv_operand *to);
/* Makes again what elements that are not finite spoiled: weights, because the library multiplies padding too, and any where it
   transformed tiles. */
kn_status kni_gpu_conv_mend(kni_gpu *g, const kn_record *r, int what, const kni_conv_made *made);

#endif
