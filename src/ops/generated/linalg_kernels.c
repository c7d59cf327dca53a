/* Generated from src/ops/kernels/linalg.kn by tools/gen/kernels.py; do not edit. */
#include "ops/kernel_prelude.h"
#include "ops/generated/linalg_kernels.h"

#define T double
#define IS_FLOAT 1
#define cholesky(item, ...) cholesky_f64(int64_t *kni_error, item, __VA_ARGS__)
#define triangular_solve(item, ...) triangular_solve_f64(int64_t *kni_error, item, __VA_ARGS__)
#define lu(item, ...) lu_f64(int64_t *kni_error, item, __VA_ARGS__)
#define det(item, ...) det_f64(int64_t *kni_error, item, __VA_ARGS__)
#define cofactor(item, ...) cofactor_f64(int64_t *kni_error, item, __VA_ARGS__)
#define qr(item, ...) qr_f64(int64_t *kni_error, item, __VA_ARGS__)
#define eigh(item, ...) eigh_f64(int64_t *kni_error, item, __VA_ARGS__)
#define svd(item, ...) svd_f64(int64_t *kni_error, item, __VA_ARGS__)
#include "ops/kernels/linalg.kn"
#undef cholesky
#undef triangular_solve
#undef lu
#undef det
#undef cofactor
#undef qr
#undef eigh
#undef svd
#undef T
#undef IS_FLOAT

static void run_cholesky_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        cholesky_f64(call->error, item, call->inputs[0], call->outputs[0], call->ints[0], call->ints[1]);
}

static void run_triangular_solve_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        triangular_solve_f64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4]);
}

static void run_lu_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        lu_f64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->outputs[2], call->ints[0], call->ints[1], call->ints[2]);
}

static void run_det_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        det_f64(call->error, item, call->inputs[0], call->outputs[0], call->temps[0], call->ints[0]);
}

static void run_cofactor_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        cofactor_f64(call->error, item, call->inputs[0], call->outputs[0], call->temps[0], call->temps[1], call->ints[0]);
}

static void run_qr_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        qr_f64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->temps[0], call->temps[1], call->temps[2], call->ints[0], call->ints[1], call->ints[2]);
}

static void run_eigh_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        eigh_f64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->temps[0], call->temps[1], call->temps[2], call->ints[0], call->ints[1]);
}

static void run_svd_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        svd_f64(call->error, item, call->inputs[0], call->outputs[0], call->outputs[1], call->outputs[2], call->temps[0], call->temps[1], call->temps[2], call->temps[3], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

const kni_kernel kni_kernel_cholesky = {"cholesky", "rr", 1, 1, 0, {run_cholesky_f64, run_cholesky_f64, run_cholesky_f64}};
const kni_kernel kni_kernel_triangular_solve = {"triangular_solve", "rrr", 2, 1, 0, {run_triangular_solve_f64, run_triangular_solve_f64, run_triangular_solve_f64}};
const kni_kernel kni_kernel_lu = {"lu", "rrir", 1, 3, 0, {run_lu_f64, run_lu_f64, run_lu_f64}};
const kni_kernel kni_kernel_det = {"det", "rrr", 1, 1, 1, {run_det_f64, run_det_f64, run_det_f64}};
const kni_kernel kni_kernel_cofactor = {"cofactor", "rrri", 1, 1, 2, {run_cofactor_f64, run_cofactor_f64, run_cofactor_f64}};
const kni_kernel kni_kernel_qr = {"qr", "rrrrrr", 1, 2, 3, {run_qr_f64, run_qr_f64, run_qr_f64}};
const kni_kernel kni_kernel_eigh = {"eigh", "rrrrrr", 1, 2, 3, {run_eigh_f64, run_eigh_f64, run_eigh_f64}};
const kni_kernel kni_kernel_svd = {"svd", "rrrrrrrr", 1, 3, 4, {run_svd_f64, run_svd_f64, run_svd_f64}};
