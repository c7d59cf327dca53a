/* A record that runs as a program of lines: what its threads share, and what each of them has. */
#ifndef KNI_LINE_JOB_H
#define KNI_LINE_JOB_H

#include "backend/cpu/line_program.h"
#include "backend/cpu/reduce_tables.h"
#include "ops/record.h"
#include <stdatomic.h>

/* How lines lie in a record: the axes that make up a line come last. */
typedef struct kni_line_shape {
    int rank, n_outer; /* axes, and those before the line's */
    int axes[KN_MAX_RANK];
    int64_t dims[KN_MAX_RANK]; /* in that order */
    bool turned;               /* it is not the order of the operand */
} kni_line_shape;

/* An operand as lines of elements, one element for each line, or one line. */
typedef struct kni_line_operand {
    const char *data;
    int dtype, bytes;
    kni_storage *copy; /* in order */
    bool absent;
    double value; /* of an absent one */
} kni_line_operand;

typedef struct kni_line_output {
    char *data;
    int dtype, bytes;
    kni_storage *turned; /* lines in order, where the result's lie otherwise */
} kni_line_output;

typedef struct kni_line_job {
    const kni_line_program *p;
    const kn_record *r;
    kni_line_shape shape;
    int compute;      /* what values are computed in, and the */
    int dtypes[3];    /* dtype and */
    int bytes[3];     /* size of values, truths and indices in registers */
    int64_t lines, n; /* of them, and elements of one */
    int64_t block, per_task;
    size_t wide_bytes, narrow_bytes, scratch_bytes;
    kni_line_operand in[KNI_BODY_OPERANDS];
    kni_line_output out[KNI_BODY_OPERANDS];
    kni_body_number numbers[KNI_LINE_NUMBERS];
    uint8_t
        skipped[(KNI_LINE_STEPS + 7) / 8]; /* a bit for each step: those of the side that was not picked */
    double *down[KNI_BODY_OPERANDS];       /* of each task, n sums */
    const kni_reduce_kernels *folds;
    _Atomic bool out_of_memory;
    atomic_flag reporting; /* held while these two change: */
    int64_t bad_line,
        bad_index; /* the first line whose requirement does not hold, -1: none, and what it reports */
} kni_line_job;

/* line_operands.c. False: no memory. */
bool kni_line_start_operands(kni_line_job *j);
void kni_line_end_operands(kni_line_job *j);
/* False: an operand has not one element for each of what it belongs to. */
bool kni_line_shapes_fit(const kni_line_job *j);
/* Writes what lies otherwise in the results. */
void kni_line_turn_results(const kni_line_job *j);

/* line_numbers.c: fills the job's numbers and finds what is skipped. False: a word has no strips. */
bool kni_line_count(kni_line_job *j);

/* line_reduce.c: a kni_line_word along each of the lines at x. */
void kni_line_reduce(const kni_line_job *j, int word, int64_t lines, const char *x, char *y);

/* line_steps.c */
bool kni_line_has_strips(const kni_line_job *j);
/* Lines [begin, end) with the thread's memory; sums over lines go to those of `task`. */
void kni_line_walk(kni_line_job *j, char *memory, int64_t begin, int64_t end, int64_t task);

#endif
