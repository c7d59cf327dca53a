/* Attention whose scores are never in memory, in the kernel language: what the texts depend on, and their makers. A workgroup
   keeps one tile of the results in registers and walks the tiles that it needs of the other side. */
#ifndef KNI_ATTENTION_KERNEL_H
#define KNI_ATTENTION_KERNEL_H

#include "ir/builder.h"
#include "sched/sched.h"

/* FORWARD makes the results and the logarithms of the rows' sums, QUERIES the gradient by q and the dots of the rows, KEYS the
   gradients by k and v, BIAS that of the bias. */
enum { KNI_ATTEND_FORWARD, KNI_ATTEND_QUERIES, KNI_ATTEND_KEYS, KNI_ATTEND_BIAS, KNI_ATTEND_PASSES };

enum {
    KNI_ATTEND_BLOCK = 4,  /* columns of a tile that one invocation makes, and rows where registers are few */
    KNI_ATTEND_TALL = 8,   /* rows where there are more */
    KNI_ATTEND_SIDE = 64,  /* of a tile */
    KNI_ATTEND_SMALL = 32, /* of one where there are few rows or little shared memory */
    KNI_ATTEND_MOST = 256, /* the largest vectors of keys and values */
    KNI_ATTEND_CHUNKS = 8  /* tiles beside each other that hold such a vector */
};

/* What a text depends on. */
typedef struct kni_attend_signature {
    char kind;
    uint8_t pass, dtype, side, rows; /* rows: of one invocation */
    uint8_t key_chunks,
        value_chunks; /* tiles beside each other that hold a vector of the keys, of the values */
    uint8_t wide;     /* positions may not fit 32 bits */
    uint8_t quads;    /* four neighbours of a vector can be read at once */
    uint8_t causal, masked, biased, capped, drops;
    uint8_t even;  /* with dropout: keys are a multiple of four */
    uint8_t keeps; /* FORWARD: the logarithms are wanted */
    uint8_t
        summed; /* QUERIES: the dots are summed over the weights, since the result is rounded too much for them */
    uint8_t over[4]; /* BIAS: the axes of the scores that its gradient is summed over */
    uint8_t
        slopes; /* KEYS: the dtype in which the gradient by the biased scores is stored as well; 0: not stored */
    uint8_t slope_quads; /* and four keys of it at once */
} kni_attend_signature;

/* Numbers of a launch in the order of the params: whole ones, then floats. Steps are those from batch to batch, head to head, row
   to row; of mask and bias also from key to key, 0 where they repeat. */
enum {
    KNI_ATTEND_BATCH,
    KNI_ATTEND_HEADS,
    KNI_ATTEND_KEY_HEADS,
    KNI_ATTEND_QUERY_COUNT,
    KNI_ATTEND_KEY_COUNT,
    KNI_ATTEND_SIZE,
    KNI_ATTEND_VALUE_SIZE,
    KNI_ATTEND_Q_STEPS,
    KNI_ATTEND_K_STEPS = KNI_ATTEND_Q_STEPS + 3,
    KNI_ATTEND_V_STEPS = KNI_ATTEND_K_STEPS + 3,
    KNI_ATTEND_DY_STEPS = KNI_ATTEND_V_STEPS + 3,
    KNI_ATTEND_MASK_STEPS = KNI_ATTEND_DY_STEPS + 3,
    KNI_ATTEND_BIAS_STEPS = KNI_ATTEND_MASK_STEPS + 4,
    KNI_ATTEND_THRESHOLD = KNI_ATTEND_BIAS_STEPS + 4, /* of dropout: draws below it are dropped */
    KNI_ATTEND_KEY,                                   /* of dropout: of the generator */
    KNI_ATTEND_COUNTER,
    KNI_ATTEND_WHOLES
};
enum {
    KNI_ATTEND_SCALE,
    KNI_ATTEND_CAP,
    KNI_ATTEND_KEPT /* what remains is multiplied by it */,
    KNI_ATTEND_REALS
};

/* Buffers of a pass, in this order; those that it does not have are left out:
   FORWARD  q k v       mask bias      y rows
   QUERIES  q k v dy y  mask bias rows dq      (y not where `summed`)
   KEYS     q k v dy    mask bias rows dk dv slopes
   BIAS     q k v dy    mask bias rows dbias
   rows, f32: the logarithms of all rows, and behind them their dots, which QUERIES writes. */
enum { KNI_ATTEND_BUFFERS = 10 };
int kni_attend_buffers(const kni_attend_signature *s);
/* Bytes of shared memory, and invocations of a workgroup. */
int64_t kni_attend_shared(const kni_attend_signature *s);
uint32_t kni_attend_workgroup(const kni_attend_signature *s);

/* NULL after a failure. */
kni_ir *kni_attend_build(const kni_attend_signature *s, const kni_sched_target *target);

#endif
