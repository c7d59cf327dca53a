/* The conformance run: what is counted, and the checks that the files of it share. */
#ifndef KILN_CONFORM_RUN_H
#define KILN_CONFORM_RUN_H

#include "conform_file.h"
#include <kn/op_info.h>

/* What is known of one cell of op x dtype x layout. */
typedef struct kiln_cell {
    uint32_t checks;
    char *no; /* why it cannot be, NULL where nobody tried */
} kiln_cell;

/* The self-test: what each way of spoiling a correct result did to the comparisons of one kind of dtype. */
typedef enum kiln_spoil {
    KILN_ZEROED,
    KILN_NEGATED,
    KILN_TENTH_OFF,
    KILN_HUNDREDTH_OFF,
    KILN_SPOIL_COUNT
} kiln_spoil;
typedef enum kiln_class {
    KILN_HALF,
    KILN_HALF_GRADIENT,
    KILN_FLOAT,
    KILN_FLOAT_GRADIENT,
    KILN_DIFFERENCES,
    KILN_INTEGER,
    KILN_CLASS_COUNT
} kiln_class;
typedef struct kiln_spoiled {
    int64_t tried, missed;
} kiln_spoiled;

typedef struct kiln_run {
    kn_device device, oracle; /* oracle: the reference, or the CPU when the reference itself is tested */
    const char *spec, *filter, *data, *refused;
    bool verbose, list, coverage, tapes, self_test, write_refused;
    bool as_c;    /* cases run as programs that were written as C and compiled */
    int sample;   /* percent */
    int permille; /* of that one percent; 0: all of it */
    int part,
        parts; /* one of so many processes, each of which runs the ops that it was the first to come to; parts 0: all */
    struct kiln_claims *claims; /* of all of them */
    int slice, slices;          /* only ops of this slice, 0 .. slices - 1; slices 0: all */
    int seconds;                /* after which no op is begun; 0: no bound */
    int not_begun;              /* ops */
    uint64_t seed;
    int64_t passed, failed, skipped, fell_back, own_tolerance;
    int64_t lacking; /* checks that the device refused because it has no f64 */
    int n_ops;       /* one more than the highest op number */
    kiln_spoiled spoiled[KILN_CLASS_COUNT][KILN_SPOIL_COUNT];
    bool *covered;     /* by op number: some case runs it */
    bool *met, *led;   /* by op number: a case was read; the first one of them runs */
    uint32_t *stored;  /* by op number: the dtypes of its cases, a bit mask, run or not */
    bool *second;      /* by op number: a second gradient of it was checked */
    char **no_second;  /* by op number: why a case has none */
    kiln_case **first; /* by op number: the first case of it that ran */
    kiln_cell (*cells)[KN_U2 + 1][KILN_LAYOUT_COUNT]; /* by op number and dtype */
    uint64_t *seen;                                   /* hashes of names and dtypes that ran, a set */
    size_t seen_room, seen_count;
} kiln_run;

enum { KILN_MAX_JOBS = 64 };
/* Whether this process is the one that runs an op, by its name and the hash of that. */
bool kiln_claim(const kiln_run *run, const char *op, uint64_t hash);
/* Adds to the time of an op that this process has claimed. */
void kiln_claim_took(const kiln_run *run, uint64_t hash, double seconds);
double kiln_conform_now(void);
/* Runs `one` in as many processes as there are parts and adds up what they counted. */
bool kiln_conform_jobs(kiln_run *run, bool (*one)(kiln_run *run));

/* Remembers a function and dtype; true the first time. */
bool kiln_first_time(kiln_run *run, const char *op, kn_dtype dtype);

/* One check: what is run and how it is called in messages. */
typedef struct kiln_check {
    kiln_run *run;
    const kiln_case *c;
    const char *label;     /* the layout, or what is checked */
    const kn_op_info *row; /* NULL for a function that is no row */
} kiln_check;

/* Tells the result of a check: NULL for good, else what is wrong. A device that says "unsupported" is a skip. */
void kiln_result(const kiln_check *k, const char *wrong);
void kiln_result_text(const kiln_check *k, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Notes a cell of the coverage table: that it was checked, or why it cannot be. */
void kiln_cell_note(const kiln_check *k, kiln_layout layout, const char *no);

/* Runs the op of a case on operands (kept, or temporaries where taken); returns the number of outputs, with a
   poisoned out[0] on failure. */
int kiln_invoke(const kiln_case *c, const kn_op_info *row, const kn_tensor *in, kn_tensor *out);

/* How far results may be apart: by `steps` roundings to the dtype, relative to max(|b|, level), and by (ulps + roots *
   sqrt(length)) eps of the dtype computed in, relative to max(|b|, scale). Halves compute in f32 and round once per
   step; the others round where they compute, and have no steps. */
typedef struct kiln_tolerance {
    double ulps, roots, scale, length, steps, level;
    const double *terms; /* half an eps of them may be added, for each element; NULL: none */
    double drift;        /* how far sum(got want) / sum(want^2) may be from 1; 0: not looked at */
    kn_dtype dtype;      /* whose eps counts; KN_DTYPE_NONE: the result's own */
} kiln_tolerance;
bool kiln_is_half(kn_dtype dtype);
/* The largest finite |element|; 0 for integers. */
double kiln_largest(const kiln_array *a);
kiln_tolerance kiln_tolerance_of(const kiln_check *k, const kiln_array *in, int n_in,
                                 const kiln_array *expected);
/* kiln_tolerance.drift of a case of many elements: attention in 16 bits has one, all others 0. */
double kiln_drift(const kiln_case *c);
/* The sums of the magnitudes of the terms that make each element of the outputs in 16 bits, where the device rounds them;
   arrays that are empty before stay so for all other rows. False: they could not be computed. */
bool kiln_magnitudes(const kiln_check *k, const kiln_array *values, kiln_array *magnitudes);
/* NULL when got equals expected within tolerance, else a text about the first wrong element. The text lives until the
   next call. In a self-test a good result is spoilt and compared again. */
const char *kiln_compare(const kiln_check *k, const kiln_array *got, const kiln_array *expected,
                         const kiln_tolerance *tolerance);
/* Counts one spoilt comparison of the self-test, and tells one that was not noticed. */
void kiln_spoil_note(const kiln_check *k, kiln_class class, kiln_spoil spoil, bool noticed);
/* Whether a comparison must notice it: a hundredth only where the sum of all elements is looked at (drift). */
bool kiln_spoil_tried(kiln_spoil spoil, const kiln_tolerance *tolerance);
/* The number that a spoilt result has for a correct one. */
double kiln_spoil_value(double value, kiln_spoil spoil);

/* The values of all operands of a case; absent ones have dtype KN_DTYPE_NONE. */
void kiln_case_values(const kiln_case *c, kiln_array *values);
void kiln_free_values(kiln_array *values, int n);
/* Kept operands in a layout on the current device; stretched as in kiln_tensor, by operand, may be NULL. */
void kiln_case_operands(const kiln_case *c, const kiln_array *values, kiln_layout layout,
                        const unsigned *stretched, kn_tensor *in);

/* Compares an output of a case with what is stored. */
void kiln_compare_output(const kiln_check *k, int index, kn_tensor result, const kiln_array *values);

/* The parts of a run. */
void kiln_run_case(kiln_run *run, const kiln_case *c);
void kiln_run_shapes(const kiln_check *k); /* broadcast, scalar, empty, large against the oracle */
void kiln_run_large(const kiln_check *k);  /* the last of these alone */
void kiln_run_always_large(const kiln_check *k);
void kiln_run_gradients(const kiln_check *k); /* on a device that tapes */
void kiln_run_as_c(const kiln_check *k);      /* as a program in C, see kn_program_to_c */
void kiln_run_dtypes(const kiln_check *k);    /* dtypes without a case, and those the op does not take */

void kiln_run_stored(const kiln_check *k); /* dtypes that are only stored, once for each row */

/* Whether the filter lets a case, or with an empty name a whole row, through. */
bool kiln_wanted(const kiln_run *run, const char *op, const char *name);
/* The table of cells: prints it, or compares the refused ones with the committed list. */
void kiln_coverage_print(const kiln_run *run);
void kiln_coverage_check(kiln_run *run);

/* The error of a poisoned tensor as a text that kiln_result understands. */
const char *kiln_failure_text(kn_tensor t, char *text, size_t room);

#endif
