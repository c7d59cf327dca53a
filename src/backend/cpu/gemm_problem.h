/* One matrix product as the paths through the driver see it, after checks and after choosing which side is
   the row side. Internal to gemm*.c. */
#ifndef KNI_BACKEND_CPU_GEMM_PROBLEM_H
#define KNI_BACKEND_CPU_GEMM_PROBLEM_H

#include "backend/cpu/gemm_kernels.h"

typedef struct {
    const kni_gemm_kernels *kernels;
    int64_t m, n, k;
    kni_gemm_view a, b;
    const char *b_packed; /* all of B packed, or NULL */
    char *c;
    int64_t c_row, c_col;
    kni_gemm_type type_c;
    bool via_scratch; /* C is summed elsewhere: it has 16 bits, or the epilogue could not read it */
    bool separate;
    double alpha, beta;
    kni_gemm_view bias;        /* row and col are the steps along C; data is NULL without a bias */
    const kni_gemm_args *args; /* for the epilogue */
    int64_t first_row;         /* of this matrix in the batch */
} kni_gemm_problem;

/* A rectangle of C and where it is summed. */
typedef struct {
    int64_t row, col, rows, cols;
    char *sums; /* compute type */
    int64_t sums_row, sums_col;
} kni_gemm_target;

/* Each task computes its part of C alone: A is read in place, B in place or packed strip by strip. */
bool kni_gemm_direct(const kni_gemm_problem *problem);
/* All of A and B is packed, depth block by depth block, then all tasks share it. */
bool kni_gemm_blocked(const kni_gemm_problem *problem);

/* The kernels of the tier in use for products whose C has this type. */
const kni_gemm_kernels *kni_gemm_kernels_for(kni_gemm_type type);
int64_t kni_gemm_type_size(kni_gemm_type type);
/* The part of a view that begins at (row, col). */
kni_gemm_view kni_gemm_part(const kni_gemm_view *view, int64_t row, int64_t col);
/* The rectangle, summed in C itself. */
kni_gemm_target kni_gemm_in_place(const kni_gemm_problem *problem, int64_t row, int64_t col, int64_t rows,
                                  int64_t cols);
/* Before the first sums: brings what beta needs into the scratch. */
void kni_gemm_begin(const kni_gemm_problem *problem, const kni_gemm_target *target);
/* After the last: bias, epilogue, and from the scratch to C. */
void kni_gemm_finish(const kni_gemm_problem *problem, const kni_gemm_target *target);
/* Runs the tasks on the team, or here when there is too little work in them. */
void kni_gemm_run(double flops, int64_t tasks, void (*fn)(void *arg, int64_t task, int worker), void *arg);

static inline int64_t kni_gemm_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t kni_gemm_ceil(int64_t a, int64_t b) { return (a + b - 1) / b; }

#endif
