/* What the blocked factorisations of the CPU share: f64 workspaces for one result, and products of parts of
   row-major matrices. All of them compute in f64, whatever the dtype. */
#ifndef KNI_LINALG_BLOCKED_H
#define KNI_LINALG_BLOCKED_H

#include "backend/host/host.h"

enum {
    KNI_LINALG_BLOCK = 48,
    KNI_LINALG_SMALL = 64 /* below this size the reference kernel is as good */
};

/* The elements of an output as f64: its own memory where it is f64. */
typedef struct kni_workspace {
    double *data;
    size_t bytes; /* 0: the output's memory */
} kni_workspace;
kn_status kni_workspace_begin(const kn_record *r, int output, kni_workspace *w);
/* Converts back into the output unless the status is a failure; frees. */
void kni_workspace_end(const kn_record *r, int output, kni_workspace *w, kn_status status);
kn_status kni_linalg_no_memory(const kn_record *r);

/* A part of a matrix: element [i, j] is data[i * row + j * column]. */
typedef struct kni_part_of_matrix {
    double *data;
    int64_t row, column;
} kni_part_of_matrix;
/* c -= a b (or +=, with plus), c [m, n], a [m, k]. False without memory. */
bool kni_multiply_subtract(kni_part_of_matrix c, kni_part_of_matrix a, kni_part_of_matrix b, int64_t m,
                           int64_t n, int64_t k);

#endif
