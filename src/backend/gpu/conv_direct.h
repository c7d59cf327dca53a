/* Convolutions without tiles, for few channels or outputs in a group: the texts in the kernel language, by what they depend on.
   Each is over images of three axes; those that are missing come first and have one place. */
#ifndef KNI_CONV_DIRECT_H
#define KNI_CONV_DIRECT_H

#include "backend/gpu/gpu_conv.h"
#include "backend/gpu/product_kernel.h"

enum {
    KNI_DIRECT_ROW = 1,    /* the axis of rows */
    KNI_DIRECT_COLUMN = 2, /* and that of neighbours in memory */
    KNI_DIRECT_WORKGROUP = 128,
    KNI_DIRECT_RUN = 8,       /* the most positions of one invocation */
    KNI_DIRECT_OUTS = 4,      /* and its most outputs */
    KNI_DIRECT_ROW_TAPS = 11, /* the most that are unrolled along the rows */
    KNI_DIRECT_TAPS = 64,     /* the most sums that one invocation has for the gradient of the weight */
    KNI_DIRECT_LANES = 4,     /* channels that lie last and are read at once */
    KNI_ROWS_COLUMNS = 7,     /* likewise along rows in vectors: the most columns of taps */
    KNI_ROWS_TAPS = 25,       /* and taps */
    KNI_DIRECT_SUMS = 16 /* the most taps of each that one invocation has for the gradient of the weight */
};

/* What a text depends on. One invocation makes `run` positions of `outs` outputs of a group. They lie below each other where
   `down`, so that rows of x serve several of them and neighbours in memory are neighbours in the workgroup; else they are `columns`
   apart along the last axis. */
typedef struct kni_direct_signature {
    char kind;
    uint8_t what, dtype, axes, has_bias, wide, leaves_out, one_channel, one_block, down, run, outs, parted;
    uint8_t uneven;         /* some positions of the last invocation along the rows are not there */
    uint8_t x_last, y_last; /* channels last: neighbours in the workgroup are those of one position */
    uint8_t
        phase; /* of a transposed one that goes down: the padding of the rows by their stride, what is left */
    uint8_t dilation; /* of the rows, where it goes down */
    /* In lanes: so many vectors of channels beside each other in a workgroup, and the columns of taps of one invocation for the
       gradient of the weight. In rows: the neighbours of a vector, whether each vector of y has one of x, and the padding of the
       columns. Else 0. */
    uint8_t across, columns, padding;
    uint16_t workgroup;
    uint8_t kernel[KNI_CONV_AXES], stride[KNI_CONV_AXES];
} kni_direct_signature;

/* The numbers of a launch, in the order of the params, and arrays with an entry for each axis. An item is what an invocation
   makes; for the gradient of the weight it is what it takes in, from one image. */
enum {
    KNI_DIRECT_ITEMS,
    KNI_DIRECT_GROUPS,
    KNI_DIRECT_CHANNELS,
    KNI_DIRECT_GROUP_OUTS,
    KNI_DIRECT_BLOCKS,  /* of outputs, in a group */
    KNI_DIRECT_LINES,   /* of items in an image, along the rows */
    KNI_DIRECT_COLUMNS, /* of items in a line */
    KNI_DIRECT_PART,    /* items of a part */
    KNI_DIRECT_RESULTS, /* of a part */
    KNI_DIRECT_NUMBERS
};
enum { KNI_DIRECT_X_SIZE, KNI_DIRECT_Y_SIZE, KNI_DIRECT_PADDING, KNI_DIRECT_DILATION, KNI_DIRECT_ARRAYS };

/* The makers of a launch: results and gradients by the operand, and gradients of the weight. */
kni_ir *kni_direct_build(const void *key, const kni_gpu_tail *tail, const kni_sched_target *target);
kni_ir *kni_direct_build_weight(const void *key, const kni_gpu_tail *tail, const kni_sched_target *target);
/* The same in lanes, where channels lie last and each is a group (conv_lanes.c). */
kni_ir *kni_lanes_build(const void *key, const kni_gpu_tail *tail, const kni_sched_target *target);
kni_ir *kni_lanes_build_weight(const void *key, const kni_gpu_tail *tail, const kni_sched_target *target);
/* The same along rows, in vectors of neighbours (conv_rows.c). */
kni_ir *kni_rows_build(const void *key, const kni_gpu_tail *tail, const kni_sched_target *target);
kni_ir *kni_rows_build_weight(const void *key, const kni_gpu_tail *tail, const kni_sched_target *target);

/* ---- what the two have in common (conv_direct.c) */
typedef struct kni_direct {
    kni_tiled
        tiled; /* first, so that what is written for tiles serves here; a is the other operand, b_ is x */
    const kni_direct_signature *s;
    kni_ir_id group, block, image; /* of this invocation; the block of outputs */
    kni_ir_id depth, line, column; /* its place in the plane of y, in items */
    uint32_t numbers[KNI_DIRECT_NUMBERS], arrays[KNI_DIRECT_ARRAYS];
} kni_direct;

/* Declares operands, results and numbers; false after a failure. */
bool kni_direct_declare(kni_direct *d, const kni_direct_signature *s, kni_ir_builder *b, const char *name,
                        const kni_gpu_tail *tail, const kni_sched_target *target);
kni_ir_id kni_direct_number(kni_direct *d, int which);
kni_ir_id kni_direct_entry(kni_direct *d, int array, int axis);
kni_ir_id kni_direct_word(kni_direct *d, const char *name, kni_ir_id x, kni_ir_id y);
kni_ir_id kni_direct_whole(kni_direct *d, int64_t value);
/* high * size + low */
kni_ir_id kni_direct_join(kni_direct *d, kni_ir_id high, kni_ir_id size, kni_ir_id low);
/* value = *high * size + the result */
kni_ir_id kni_direct_split(kni_direct *d, kni_ir_id value, kni_ir_id size, kni_ir_id *high);
kni_ir_id kni_direct_zero(kni_direct *d);
/* a * b + c in the dtype of the sums */
kni_ir_id kni_direct_multiply(kni_direct *d, kni_ir_id a, kni_ir_id b, kni_ir_id c);
/* Takes an item apart into column, line and depth; what is left. */
kni_ir_id kni_direct_locate(kni_direct *d, kni_ir_id item);
/* The place in a plane of y of position number e of this invocation, by axis, and whether it is there. */
void kni_direct_position(kni_direct *d, kni_ir_id e, kni_ir_id at[KNI_CONV_AXES], kni_ir_id *inside);
/* Where tap `tap` reads for the place `at` along an axis; *inside (0: always) is narrowed to where that is in x. */
kni_ir_id kni_direct_source(kni_direct *d, int axis, kni_ir_id at, kni_ir_id tap, kni_ir_id *inside);
/* The element at these coordinates in plane number `plane` of x or, by the other array of sizes, of y. */
kni_ir_id kni_direct_element(kni_direct *d, int sizes, kni_ir_id plane, const kni_ir_id at[KNI_CONV_AXES]);
/* The first row of x that an invocation which goes down counts its rows from. */
kni_ir_id kni_direct_first_row(kni_direct *d);
/* The row of x, from that one on, that tap `tap` of position `e` reads; false where it reads none. */
bool kni_direct_row_of(const kni_direct_signature *s, int e, int tap, int *row);
/* The rows of x that are read, from *first to below *end. */
void kni_direct_rows(const kni_direct_signature *s, int *first, int *end);

#endif
