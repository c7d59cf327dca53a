/* The rows of `kiln bench --device`: work of one kind on a device, in a form that scripts read. */
#ifndef BENCH_GPU_H
#define BENCH_GPU_H

#include <kn.h>

typedef struct bench_gpu {
    kn_device device, tape; /* tape: autodiff around the device */
    kn_tensor operands[8];  /* owned */
    int n_operands;
    int64_t size; /* of the row, as given */
} bench_gpu;

/* A row: `run` does it once, `bytes` and `flops` say what it must move and compute at least. */
typedef struct bench_gpu_row {
    const char *name, *text;
    int64_t sizes[3]; /* to measure when none is given; 0 ends them */
    bool (*prepare)(bench_gpu *b);
    kn_status (*run)(bench_gpu *b);
    double (*bytes)(const bench_gpu *b);
    double (*flops)(const bench_gpu *b);
} bench_gpu_row;

/* NULL past the last. */
const bench_gpu_row *bench_gpu_row_at(int i);
const bench_gpu_row *bench_gpu_sorting_row_at(int i);

/* For rows: an operand of normal random numbers is added, false without it; a result is submitted and dropped; no bytes or
   flops are counted. */
bool bench_gpu_operand(bench_gpu *b, kn_shape shape, kn_dtype dtype);
kn_status bench_gpu_finish(bench_gpu *b, kn_tensor y);
double bench_gpu_none(const bench_gpu *b);

/* The whole of the training benchmark: milliseconds of a step, or a negative number after a failure, and how many kernels
   a step launches, -1 where the device does not count them. */
double bench_gpu_mlp(const char *device, int64_t *kernels);

/* What the device did so far goes to stderr, where the driver was asked to measure by KN_CUDA_PROFILE. */
void kiln_print_kernels(kn_device device);

#endif
