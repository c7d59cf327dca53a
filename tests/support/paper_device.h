/* A device of paper, "paper": kernels are not computed, but what they leave depends on their texts, numbers and operands, so
   that two runs can be compared. It can record, and everything can be told to fail. */
#ifndef PAPER_DEVICE_H
#define PAPER_DEVICE_H

#include "backend/gpu/driver.h"

typedef struct paper_counts {
    int64_t used, blocks;               /* bytes and pieces of memory in use */
    int64_t launches, uploads, syncs;   /* done, replayed launches too */
    int64_t copies;                     /* from one place of the device to another */
    int64_t begun, replays, renumbered; /* recordings */
    int64_t alive;                      /* recordings that are kept */
    int64_t compiles, opened;
    int64_t ahead, foreseen; /* texts handed over to be compiled ahead; kernels that were compiled then */
    int64_t products,
        epilogues;     /* products and convolutions of its library, and those with more than a bias */
    int64_t layers[3]; /* calls of its library for recurrent layers: inference, training, gradients */
} paper_counts;

typedef struct paper_orders {
    int64_t room; /* bytes of the device */
    bool records; /* it can record: to be set before it is opened */
    bool lost;
    bool no_begin, no_end, no_replay, no_params; /* these fail once */
    int64_t fault;                               /* -1: none; else what the next launch that can reports */
    bool refuses;                                /* to compile */
    bool on_disk;                                /* kernels come from there */
    bool quick;                                  /* launches do nothing at all */
    bool fills;     /* results are written to their ends, not only where they begin */
    bool addresses; /* memory has parts: to be set before it is opened */
    bool library;   /* it multiplies and convolves by itself, and is a larger device: before it is opened */
    bool layers;    /* its library has recurrent layers: before it is opened */
    bool no_layers; /* but takes none */
    bool no_library, no_epilogues; /* its library takes nothing, or nothing but a bias */
    bool short_end, short_replay;  /* there is memory for them only once others gave theirs back */
    int64_t short_launch;          /* the launch from now on, counted from 1, that fails for want of memory */
    bool adds;                     /* results depend on what lay in their memory, too */
    bool ahead;                    /* it takes texts to compile ahead: before it is opened */
    const kn_want *wants;          /* of results with channels last: before it is opened */
    int32_t n_wants;
    uint32_t shared_bytes; /* of a workgroup, 0: as usual; before it is opened */
} paper_orders;

extern paper_counts paper_now;
extern paper_orders paper_do;
/* What its library was asked for last. */
extern kni_product paper_product;
extern kni_convolution paper_convolution;

/* Makes "paper" a kind of device. */
void paper_register(void);

#endif
