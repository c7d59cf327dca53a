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

typedef struct kiln_run {
    kn_device device, oracle; /* oracle: the reference, or the CPU when the reference itself is tested */
    const char *spec, *filter, *data;
    bool verbose, list, coverage, tapes;
    int sample; /* percent */
    uint64_t seed;
    int64_t passed, failed, skipped, fell_back, own_tolerance;
    int n_ops;                                          /* one more than the highest op number */
    bool *covered;                                      /* by op number: some case runs it */
    kiln_case **first;                                  /* by op number: the first case of it that ran */
    kiln_cell (*cells)[KN_BOOL + 1][KILN_LAYOUT_COUNT]; /* by op number and dtype */
    uint64_t *seen;                                     /* hashes of names and dtypes that ran, a set */
    size_t seen_room, seen_count;
} kiln_run;

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

/* How far results may be apart. */
typedef struct kiln_tolerance {
    double ulps, roots, scale, length;
    kn_dtype dtype; /* whose eps counts; KN_DTYPE_NONE: the result's own */
} kiln_tolerance;
kiln_tolerance kiln_tolerance_of(const kiln_check *k, const kiln_array *in, int n_in,
                                 const kiln_array *expected);
/* NULL when got equals expected within tolerance, else a text about the first wrong element. The text lives until the
   next call. */
const char *kiln_compare(const kiln_array *got, const kiln_array *expected, const kiln_tolerance *tolerance);

/* The values of all operands of a case; absent ones have dtype KN_DTYPE_NONE. */
void kiln_case_values(const kiln_case *c, kiln_array *values);
void kiln_free_values(kiln_array *values, int n);
/* Kept operands in a layout on the current device; stretched as in kiln_tensor, by operand, may be NULL. */
void kiln_case_operands(const kiln_case *c, const kiln_array *values, kiln_layout layout,
                        const unsigned *stretched, kn_tensor *in);

/* The parts of a run. */
void kiln_run_case(kiln_run *run, const kiln_case *c);
void kiln_run_shapes(const kiln_check *k);    /* broadcast, scalar, empty, large against the oracle */
void kiln_run_gradients(const kiln_check *k); /* on a device that tapes */
void kiln_run_dtypes(const kiln_check *k);    /* dtypes without a case, and those the op does not take */

/* The error of a poisoned tensor as a text that kiln_result understands. */
const char *kiln_failure_text(kn_tensor t, char *text, size_t room);

#endif
