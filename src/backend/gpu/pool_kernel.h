/* Kernels of pools over windows: an item makes several neighbours, so that what windows share is loaded once and places are found
   once for all of them. Neighbours lie along the last axis, or along the channels where these lie last. */
#ifndef KNI_POOL_KERNEL_H
#define KNI_POOL_KERNEL_H

#include "ir/ir.h"
#include <kn/base.h>

typedef enum kni_pool_what {
    KNI_POOL_MAX,       /* x -> y, places */
    KNI_POOL_VALUES,    /* x -> y */
    KNI_POOL_MEAN,      /* x -> y */
    KNI_POOL_MAX_GRAD,  /* dy, places -> dx */
    KNI_POOL_MEAN_GRAD, /* dy -> dx */
    KNI_POOL_KINDS
} kni_pool_what;

enum { KNI_POOL_WIDEST = 16 /* elements along the last axis that an item makes */ };

typedef struct kni_pool_signature {
    uint8_t kind; /* 'p' */
    uint8_t what, dtype, places;
    uint8_t axes;
    uint8_t last;           /* channels lie last: lanes go along them, and all operands lie so */
    uint8_t lanes;          /* of accesses to x or dx */
    uint8_t run;            /* elements of the result along the last axis that an item makes */
    uint8_t rows;           /* the same along the axis before, of a gradient */
    uint8_t window_lanes;   /* of accesses to what has an element for each window, along the last axis */
    uint8_t ragged;         /* bit a: not all that items make along axis a exists */
    uint8_t before, behind; /* bit a: windows begin before axis a, end behind it */
    uint8_t whole;          /* bit a: all windows count all their taps along axis a */
    uint8_t counted;        /* padding counts */
    uint8_t divisor;        /* a number replaces the count */
    uint8_t window[3], stride[3], padding[3], dilation[3];
} kni_pool_signature;

/* Numbers: the item params, then the sizes of x and y, the padding behind, and these. */
typedef enum kni_pool_number {
    KNI_POOL_CHANNELS,       /* where they lie last, else 1 */
    KNI_POOL_CHANNEL_BLOCKS, /* of `lanes` */
    KNI_POOL_COLUMNS,        /* blocks of `run` */
    KNI_POOL_ROWS,           /* of `rows` */
    KNI_POOL_DEPTHS,
    KNI_POOL_DIVISOR,
    KNI_POOL_NUMBERS
} kni_pool_number;

kni_ir *kni_pool_build(const kni_pool_signature *s);

#endif
