/* Pointwise groups as programs over strips: each value of the group is a strip in the first-level cache or a piece of
   memory, and the rows' own kernels run over them one after another. */
#ifndef KNI_GROUP_STRIPS_H
#define KNI_GROUP_STRIPS_H

#include "backend/cpu/fetch_ahead.h"
#include "graph/group.h"
#include "ops/native.h"
#include "ops/record.h"

enum {
    KNI_GROUP_RECORDS = 48,
    KNI_GROUP_INPUTS = 64,
    KNI_GROUP_RESULTS = 48,
    KNI_GROUP_REGISTERS = 96,
    KNI_GROUP_STRIP_BYTES = 1 << 16, /* scratch of all registers together */
    /* Places by number: registers, then inputs, then results. */
    KNI_PLACE_INPUTS = KNI_GROUP_REGISTERS,
    KNI_PLACE_RESULTS = KNI_PLACE_INPUTS + KNI_GROUP_INPUTS,
    KNI_PLACES = KNI_PLACE_RESULTS + KNI_GROUP_RESULTS
};

/* Where a strip is. */
typedef enum kni_strip_place_kind {
    KNI_PLACE_REGISTER, /* scratch that this strip of the loop uses */
    KNI_PLACE_INPUT,    /* memory of an input that lies as the group's elements do */
    KNI_PLACE_RESULT    /* memory of a result */
} kni_strip_place_kind;
typedef struct kni_strip_place {
    uint8_t kind, dtype;
    int16_t index;
} kni_strip_place;

typedef enum kni_strip_kind {
    KNI_STRIP_CALL,    /* a row's kernel */
    KNI_STRIP_CONVERT, /* to another dtype, rounded to `via` on the way */
    KNI_STRIP_GATHER,  /* elements of an input that lie otherwise */
    KNI_STRIP_SPLAT,   /* one element for all: done once */
    KNI_STRIP_PERIOD,  /* a row that repeats and fits the strip: done once */
    KNI_STRIP_NUMBER   /* a number of a body: done once */
} kni_strip_kind;

typedef struct kni_strip_step {
    uint8_t kind, via, n_in, n_fetched;
    uint8_t fetched
        [4]; /* inputs in order that this step is the first to read, where more than the caches hold is read */
    bool paired;      /* two rows in one */
    bool heavy;       /* computes long enough for memory to be fetched meanwhile */
    bool past_caches; /* the result is larger than the caches and nobody reads it again here */
    int16_t input;    /* of gather, splat and period */
    int16_t record;   /* of calls: where the numbers come from */
    int16_t first;    /* of pairs: the record of the first row; `record` is the second's */
    int16_t word;     /* of calls that are one step of a body: 1 + its number; 0: the whole row */
    int16_t scalar;   /* of numbers: which of the record's, -1: `value` */
    double value;
    kni_strip_fn fn;
    kni_strip_place in[4], out;
    int16_t in_at[4], out_at; /* the same by number */
} kni_strip_step;

typedef struct kni_strip_input {
    int64_t strides[KN_MAX_RANK]; /* over the collapsed shape */
    uint8_t dtype;
    bool flat;   /* in the order of the group's elements */
    bool copied; /* into that order before the program runs */
} kni_strip_input;

typedef struct kni_strip_program {
    int32_t n_steps, n_once, n_inputs, n_results, n_registers, rank, strip;
    int32_t register_bytes;                  /* of one */
    bool streams;                            /* more goes through than the caches hold */
    bool gathers;                            /* there are such steps */
    bool past_caches;                        /* there are steps that write so */
    uint8_t result_bytes[KNI_GROUP_RESULTS]; /* of an element */
    int64_t dims[KN_MAX_RANK], n;
    int16_t reused[KNI_GROUP_RESULTS]; /* by result: the input whose memory it may take, -1 */
    kni_strip_input inputs[KNI_GROUP_INPUTS];
    kni_strip_step *once, *steps; /* behind the program, in its allocation */
    size_t bytes;
    struct kni_group_jit *jit; /* the same as compiled C, once that is there; NULL: none is made */
} kni_strip_program;

/* Of a program that runs over and over on parts of larger tensors. */
typedef struct kni_strip_parts {
    int64_t whole;                      /* elements of all parts together */
    uint64_t near_inputs, near_results; /* bits: those that pass from program to program in the caches */
} kni_strip_parts;

/* parts: NULL for a group that runs as a whole. NULL: not a group for this, or no memory. */
kni_strip_program *kni_strip_compile(const kni_group *g, const kni_strip_parts *parts);
/* The same for a group that runs once: nothing is made that pays only where it runs again. */
kni_strip_program *kni_strip_compile_once(const kni_group *g);
void kni_strip_free(void *program);
/* A pointwise group, as run by the backend. */
kn_status kni_cpu_group_points(const kni_group *g);
/* Neighbouring steps that make a pair (strip_pairs.h) become one; returns how many steps are left. Registers are still
   written once each. */
int32_t kni_strip_join(kni_strip_step *steps, int32_t n, const kni_group *g);
/* Whether an elementwise record computes a function of mathematics, not just sums and products. */
bool kni_strip_heavy(const kn_record *r);

/* Memory of one run. */
typedef struct kni_strip_memory {
    kni_ahead *ahead; /* asked for meanwhile, or NULL */
    const char *inputs[KNI_GROUP_INPUTS];
    char *results[KNI_GROUP_RESULTS];
    const double *params[KNI_GROUP_RECORDS];
} kni_strip_memory;
/* Runs the elements of the group from begin on, to end. */
void kni_strip_run(const kni_strip_program *p, const kni_strip_memory *m, int64_t begin, int64_t end);
/* How many elements a task of the team takes. */
int64_t kni_strip_block(const kni_strip_program *p);
/* Copies what lies in the first-level cache past the others, and what to do before other threads read it. */
void kni_strip_store_past(void *to, const void *from, int64_t bytes);
void kni_strip_end_past(void);

#endif
