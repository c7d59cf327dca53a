/* The work of a group as the schedules see it: a graph of values, each computed at a row r and, where it depends on it,
   at a place k of the row. Records are taken apart into nodes on demand, from the results back, so that views, broadcasts
   and rounding are settled here and a schedule only says how r and k are laid over a device. Elementwise groups have
   elements for rows and one place in each. */
#ifndef KNI_SCHED_WORK_H
#define KNI_SCHED_WORK_H

#include "ops/record.h"
#include "ops/word_numbers.h"
#include "sched/sched.h"

enum {
    KNI_WORK_NODES = 1024,
    KNI_WORK_ACCESSES = 192,
    KNI_WORK_NUMBERS = 160,
    KNI_WORK_FRAMES = 96,
    KNI_WORK_UPDATES = 96,      /* records of one group that are updates */
    KNI_WORK_SAME_NODES = 2048, /* of the table of nodes by what they are */
    KNI_WORK_TENSORS = 512      /* of the table by id; a power of 2 */
};

/* What a value depends on. */
enum { KNI_WORK_R = 1, KNI_WORK_K = 2 };

typedef enum kni_work_kind {
    KNI_WORK_NONE,
    KNI_WORK_NUMBER,   /* number `extra` of the launch */
    KNI_WORK_CONSTANT, /* `value` */
    KNI_WORK_INPUT,    /* loads by access `extra` */
    KNI_WORK_BODY,     /* the body of record `extra` on a, b, c, d; its numbers follow number `first` */
    KNI_WORK_WORD,     /* word `op` on a, b */
    KNI_WORK_POWER,    /* e to the power of a, which is 0 or less; `op` is a kni_power_digits */
    KNI_WORK_AND,
    KNI_WORK_OR,
    KNI_WORK_NOT,
    KNI_WORK_SELECT,  /* a ? b : c */
    KNI_WORK_CONVERT, /* a, of storage dtype `from`, as a tensor of dtype `to` would hold it */
    KNI_WORK_PLACE,   /* the index that access `extra` works out */
    KNI_WORK_AT,      /* the I64 a as an index, which it is known to fit */
    KNI_WORK_INDEX,   /* r or k by its level, or the place a where `op` is 1 */
    KNI_WORK_PHILOX,  /* key a, counter b, element c; word `extra` of the `op` that an element draws */
    KNI_WORK_REDUCE,  /* `op` is a kni_work_reduction of a over the row */
    KNI_WORK_REPORT,  /* a, after b was reported where c holds */
    KNI_WORK_GIVEN,   /* what the kernel around has computed at r: the work ends another kernel */
    KNI_WORK_KINDS
} kni_work_kind;

/* How much of an exponential matters. */
typedef enum kni_power_digits {
    KNI_POWER_ALL,  /* all digits of an f32 */
    KNI_POWER_HALF, /* 16 bits: it is rounded to them */
    KNI_POWER_SUM   /* it is added to others that are at most 1, one of which is 1 */
} kni_power_digits;

typedef enum kni_work_reduction {
    KNI_WORK_SUM,
    KNI_WORK_PROD,
    KNI_WORK_MIN,
    KNI_WORK_MAX,
    KNI_WORK_TOP,    /* the largest; NaN or not where one is NaN, for sums that become NaN then */
    KNI_WORK_ARGMIN, /* the first place of the smallest, or of the first NaN, as I64 */
    KNI_WORK_ARGMAX,
    KNI_WORK_COLUMNS /* the sum over all rows, at each place: in schedules that keep a row in registers */
} kni_work_reduction;

/* What a reduction is that is found in one walk with another, whose result it needs. */
enum {
    KNI_PAIR_NONE,
    KNI_PAIR_POWERS,  /* a sum of exponentials below the largest of their exponents */
    KNI_PAIR_SQUARES, /* a sum of squares of distances from a mean */
    KNI_PAIR_REST     /* the sum of such distances */
};

typedef struct kni_work_node {
    uint8_t kind, op;
    uint8_t dtype; /* that the IR computes it in */
    uint8_t level; /* KNI_WORK_R | KNI_WORK_K */
    uint8_t stage; /* how many reductions, one after the other, come before it */
    uint8_t from, to;
    uint16_t a, b, c, d, extra, first;
    uint8_t temps[2];      /* of a reduction in parts: 1 + the buffers of its parts, and of their places */
    uint16_t partner;      /* of reductions that are found in one walk (rows_pairs.c); 0 none */
    uint8_t pair;          /* KNI_PAIR_*, of the one that needs the other's result */
    uint8_t held;          /* stands for a tensor: */
    uint16_t frame, chain; /* where it was asked for, and the next value of the same tensor */
    double value;
} kni_work_node;

/* Where an index comes from, and the axes it runs over: collapsed, outermost first. */
typedef struct kni_work_part {
    uint8_t rank;
    uint16_t node; /* whose value is the index, for derived frames; 0: r or k */
    uint16_t dim_numbers[KN_MAX_RANK], stride_numbers[KN_MAX_RANK];
    int64_t dims[KN_MAX_RANK], strides[KN_MAX_RANK];
} kni_work_part;

/* How the lanes of one load or store lie. */
enum {
    KNI_WORK_SAME,    /* all lanes are one element */
    KNI_WORK_VECTOR,  /* consecutive and aligned */
    KNI_WORK_STRIDED, /* a stride apart */
    KNI_WORK_APART    /* each by its own index */
};

typedef struct kni_work_access {
    int16_t buffer; /* -1: only a place */
    uint8_t level, mode;
    kni_work_part parts[2]; /* by r (or a node), by k */
    uint16_t offset_number; /* added to a place; 0 none */
} kni_work_access;

/* A shape and how its indices come about: axes of `reduced` run with k, the others with r; or all of them with the value
   of a node. Indices count elements in the kni_order. */
typedef struct kni_work_frame {
    uint8_t rank, level, order;
    uint16_t node;
    uint32_t reduced;
    int64_t dims[KN_MAX_RANK];
} kni_work_frame;

/* A number of the launch. dtype 0: an index, I32 or I64 by what the sizes need. */
typedef struct kni_work_number {
    uint8_t dtype;
    bool settled; /* known before anything runs, so that an equal one is the same */
    union {
        int64_t whole;
        double real;
        float single;
        uint8_t bytes[8];
    } u;
    kni_sched_source source;
} kni_work_number;

typedef struct kni_work_buffer {
    uint32_t id;
    uint8_t dtype, access;
    uint8_t aligned; /* its first element and all that vectors begin at are multiples of so many elements */
    int64_t offset;  /* of its first element */
} kni_work_buffer;

typedef struct kni_work_output {
    uint16_t node, access;
    uint8_t level, stage;
    uint16_t reread;       /* the node whose value the last kernel loads from it; 0: none */
    uint16_t count_number; /* of rows, where it has fewer than others */
    int64_t count;
} kni_work_output;

typedef struct kni_work_tensor {
    uint32_t id;     /* KNI_NO_SLOT: free */
    int16_t record;  /* that makes it, -1 from outside */
    uint16_t result; /* which of its results */
    uint16_t first;  /* node of its values */
} kni_work_tensor;

typedef struct kni_work_layout {
    uint32_t lanes, chunks, threads, teams;
} kni_work_layout;

typedef struct kni_work {
    const kni_group *group;
    const kni_sched_target *target;
    bool failed;
    uint32_t given;      /* a tensor whose elements the kernel around computes; KNI_NO_SLOT: there is none */
    int64_t rows, width; /* how many r and k there are; width 1 without a reduction */
    uint32_t depth;
    int row_now, reporter; /* 1 + the record that is taken apart, and the first one that reports */
    /* The shape that ELEMENT results have, with the axes that k runs over. */
    uint8_t rank;
    uint32_t reduced;
    int64_t dims[KN_MAX_RANK];
    bool reduces;
    int64_t largest; /* index that any access reaches */
    uint16_t n_tensors, n_nodes, n_accesses, n_numbers, n_frames, n_buffers, n_outputs, n_stages;
    int index; /* KN_I32 or KN_I64 */
    /* What the schedule chose. */
    uint8_t lane_axis, chunk_axis; /* KNI_WORK_R or KNI_WORK_K */
    uint32_t lanes, chunks, threads;
    uint8_t form;          /* of the schedule's own */
    bool full;             /* nothing is left over at the end: no guards */
    uint32_t teams;        /* rows, or lines of a column, that one workgroup has at once */
    uint32_t parts;        /* that a row is cut into, each for a workgroup */
    bool joins;            /* kernels of their own combine the parts */
    uint8_t pass;          /* which kernel of the group this is */
    kni_work_layout first; /* what the schedule chose before kernels had layouts of their own */
    int64_t part_width;    /* places of a part */
    uint16_t rows_number, width_number, part_number, parts_number;
    int64_t temp_bytes[KNI_SCHED_MAX_TEMPS];
    int n_temps;
    uint16_t same[KNI_WORK_SAME_NODES];
    uint16_t first_numbers[KNI_WORK_UPDATES];       /* the first number's node, by record */
    uint16_t shares[KNI_WORK_UPDATES];              /* 1 + the record whose numbers it has, 0: its own */
    kni_work_output outputs[KNI_SCHED_MAX_BUFFERS]; /* each has a buffer of its own */
    kni_work_buffer buffers[KNI_SCHED_MAX_BUFFERS];
    kni_work_node nodes[KNI_WORK_NODES]; /* [0] is unused */
    kni_work_access accesses[KNI_WORK_ACCESSES];
    kni_work_number numbers[KNI_WORK_NUMBERS]; /* [0] is unused */
    kni_work_frame frames[KNI_WORK_FRAMES];
    kni_work_tensor tensors[KNI_WORK_TENSORS];
} kni_work;

/* ---- making the graph. What cannot be done sets `failed` and answers 0. */

/* Takes the group apart; false: there is no schedule for it, or no memory. */
bool kni_work_start(kni_work *w, const kni_group *group, const kni_sched_target *target);
bool kni_work_take_apart(kni_work *w);
/* Only the results of one record that the group gives. */
void kni_work_record_outputs(kni_work *w, int record);

uint16_t kni_work_fail(kni_work *w);
/* How many buffers a kernel of the device may have. */
int kni_work_most_buffers(const kni_work *w);
uint16_t kni_work_node_add(kni_work *w,
                           const kni_work_node *node); /* level and stage follow from the operands */

/* The IR's dtype for values of a tensor. */
int kni_work_dtype(int storage);

uint16_t kni_work_frame_of(kni_work *w, const int64_t *dims, int rank, uint8_t level, uint32_t reduced);
/* Elements by r alone, in an order. */
uint16_t kni_work_frame_in(kni_work *w, const int64_t *dims, int rank, uint8_t order);
/* The frame of shape `dims` whose linear index is offset + the strides times the indices of `frame`. */
uint16_t kni_work_derive(kni_work *w, uint16_t frame, const int64_t *strides, int64_t offset,
                         const int64_t *dims, int rank);
/* The same where the index counts the elements of the new frame in an order. */
uint16_t kni_work_derive_in(kni_work *w, uint16_t frame, const int64_t *strides, int64_t offset,
                            const int64_t *dims, int rank, uint8_t order);
/* The frame of shape `dims` whose linear index is the value of a node, an I64 that is inside. */
uint16_t kni_work_frame_at(kni_work *w, const int64_t *dims, int rank, uint16_t index);
uint16_t kni_work_access_add(kni_work *w, uint16_t frame, int buffer, const int64_t *strides);
/* The buffer of a tensor from outside, or of a result. */
int kni_work_buffer_add(kni_work *w, uint32_t id, int dtype, int access, int64_t offset);

/* The value of tensor `id` in `frame`, whose shape is the tensor's or what it broadcasts to; its IR dtype is
   kni_work_dtype(its dtype). */
uint16_t kni_work_value(kni_work *w, uint32_t id, uint16_t frame);
/* The same as the row's computation takes it: in IR dtype `compute`, by way of storage dtype `via` if not 0. */
uint16_t kni_work_operand(kni_work *w, uint32_t id, uint16_t frame, int via, int compute);
/* The type of a tensor of the group. */
const kni_type *kni_work_type(uint32_t id);
/* A row's result, for rows that are more than a body; 0 and no failure: this file knows no such row. */
uint16_t kni_work_row_value(kni_work *w, int record, int result, uint16_t frame);
/* The rows and the width that a record's reduction asks for; false: it has none. */
bool kni_work_domain(const kn_record *r, const kni_type **shape, uint32_t *reduced);

uint16_t kni_work_number_add(kni_work *w, int dtype, const void *value, int from);
uint16_t kni_work_whole(kni_work *w, int dtype, int64_t value); /* a node */
uint16_t kni_work_real(kni_work *w, int dtype, double value);   /* a node; a number of the launch */
/* The same of what is known before anything runs: equal ones are one node, so that two results of a row share what they compute. */
uint16_t kni_work_settled(kni_work *w, int dtype, double value);
uint16_t kni_work_inline(kni_work *w, int dtype, const void *value, int from); /* the same of any dtype */
/* The number of a node comes from the record and may change. */
void kni_work_source(kni_work *w, uint16_t node, int kind, const kn_record *r, int index);
uint16_t kni_work_constant(kni_work *w, int dtype, double value);
uint16_t kni_work_word(kni_work *w, int word, uint16_t a, uint16_t b);
/* e to the power of a, which is 0 or less. */
uint16_t kni_work_power(kni_work *w, uint16_t a, kni_power_digits digits);
/* The digits that a result of the dtype has. */
static inline kni_power_digits kni_power_digits_of(int dtype)
{
    return kni_is_half(dtype) ? KNI_POWER_HALF : KNI_POWER_ALL;
}
uint16_t kni_work_select(kni_work *w, uint16_t condition, uint16_t yes, uint16_t no);
uint16_t kni_work_logic(kni_work *w, int kind, uint16_t a, uint16_t b);
uint16_t kni_work_convert(kni_work *w, uint16_t a, int from, int to);
uint16_t kni_work_reduce(kni_work *w, int reduction, uint16_t a);
uint16_t kni_work_index(kni_work *w, uint16_t frame);
/* Word `which` of the `words` that element `index` draws. */
uint16_t kni_work_philox(kni_work *w, uint16_t key, uint16_t counter, uint16_t index, int words, int which);
/* A vector of one element for each index of `axis`, as the row computes with it. */
uint16_t kni_work_along(kni_work *w, uint32_t id, uint16_t frame, int axis, int compute);
/* The place in the row, as I64, or as I32 where all places fit. */
uint16_t kni_work_place(kni_work *w, int dtype);
uint16_t kni_work_report(kni_work *w, uint16_t value, uint16_t reported, uint16_t condition);

/* ---- laying lanes over it */

/* The most lanes, up to `most`, that all results and the accesses that matter allow along the axis. */
uint32_t kni_work_choose_lanes(const kni_work *w, uint8_t axis, uint32_t most);
void kni_work_set_modes(kni_work *w);
int kni_work_smallest_bytes(const kni_work *w, uint8_t axis);

#endif
