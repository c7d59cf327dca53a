/* Reading the data files of conformance cases. A file is untrusted: every length is checked against what is left. */
#ifndef KILN_CONFORM_FILE_H
#define KILN_CONFORM_FILE_H

#include "conform_adapter.h"
#include "conform_values.h"

enum { KILN_MAX_COVERS = 16 };

typedef enum kiln_operand_kind {
    KILN_OPERAND_NONE,
    KILN_OPERAND_MADE,
    KILN_OPERAND_LITERAL
} kiln_operand_kind;

typedef struct kiln_operand {
    kiln_operand_kind kind;
    kn_dtype dtype;
    kn_shape shape;
    uint64_t seed;
    double low, high;
    uint32_t flags;
    const unsigned char *literal; /* wide elements of literal_dtype, as many as literal_count */
    kn_dtype literal_dtype;
    int64_t literal_count;
} kiln_operand;

typedef struct kiln_output {
    kn_dtype dtype; /* KN_DTYPE_NONE: unchecked */
    bool shape_only;
    kn_shape shape;
    uint64_t cotangent; /* seed */
    const unsigned char *values;
} kiln_output;

/* One case for one dtype. */
typedef struct kiln_case {
    char op[64], name[64];
    char text[96]; /* part of the message of an error; of a case without second gradient, why it has none */
    kn_dtype dtype;
    bool elementwise, layouts, second, no_large, own_tolerance, no_differences, sized_grads;
    bool always_large; /* the large form is run for each such case, and in more layouts */
    double ulps, roots;
    uint32_t status; /* bit s: it must fail with status s; 0: it must succeed */
    int n_covers, n_in, n_out, n_grads, n_large;
    char covers[KILN_MAX_COVERS][64];
    kiln_operand in[KILN_MAX_INPUTS];
    kiln_attributes attributes, large_attributes;
    kn_shape large[KILN_MAX_INPUTS];
    kiln_output out[KILN_MAX_OUTPUTS];
    uint64_t differentiated; /* bit i: operand i */
    int grad_operand[KILN_MAX_INPUTS];
    double grad_size[KILN_MAX_INPUTS]; /* of the terms that the gradient sums, where sized_grads; else 0 */
    const unsigned char *grad_values[KILN_MAX_INPUTS]; /* f64, in the operand's shape */
} kiln_case;

typedef struct kiln_file {
    unsigned char *bytes;
    size_t size, at;
    uint32_t records;
    char path[512];
} kiln_file;

/* False with a message on standard error. */
bool kiln_file_open(kiln_file *f, const char *path);
/* The same for bytes from malloc, which it takes over. */
bool kiln_file_use(kiln_file *f, unsigned char *bytes, size_t size, const char *name);
void kiln_file_close(kiln_file *f);
/* 1: a case was read; 0: the end; -1: a broken file, with a message on standard error. */
int kiln_file_next(kiln_file *f, kiln_case *c);

/* The values of an operand. Its dtype and shape may have been changed since it was read: literals are converted and
   repeated. */
kiln_array kiln_operand_values(const kiln_operand *x);
kiln_array kiln_wide_values(kn_dtype dtype, kn_shape shape, const unsigned char *values);

#endif
