/* Generated from src/ops/kernels/normalise.kn by tools/gen/kernels.py; do not edit. */
#include "ops/kernel_prelude.h"
#include "ops/generated/normalise_kernels.h"

#define T double
#define IS_FLOAT 1
#define embedding(item, ...) embedding_f64(int64_t *kni_error, item, __VA_ARGS__)
#define embedding_grad(item, ...) embedding_grad_f64(int64_t *kni_error, item, __VA_ARGS__)
#define rope(item, ...) rope_f64(int64_t *kni_error, item, __VA_ARGS__)
#include "ops/kernels/normalise.kn"
#undef embedding
#undef embedding_grad
#undef rope
#undef T
#undef IS_FLOAT

static void run_embedding_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        embedding_f64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1]);
}

static void run_embedding_grad_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        embedding_grad_f64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3]);
}

static void run_rope_f64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        rope_f64(call->error, item, call->inputs[0], call->inputs[1], call->inputs[2], call->outputs[0], call->ints[0], call->ints[1], call->ints[2], call->ints[3], call->ints[4]);
}

#define T int64_t
#define IS_FLOAT 0
#define embedding(item, ...) embedding_i64(int64_t *kni_error, item, __VA_ARGS__)
#define embedding_grad(item, ...) embedding_grad_i64(int64_t *kni_error, item, __VA_ARGS__)
#define rope(item, ...) rope_i64(int64_t *kni_error, item, __VA_ARGS__)
#include "ops/kernels/normalise.kn"
#undef embedding
#undef embedding_grad
#undef rope
#undef T
#undef IS_FLOAT

static void run_embedding_i64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        embedding_i64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1]);
}

#define T uint64_t
#define IS_FLOAT 0
#define embedding(item, ...) embedding_u64(int64_t *kni_error, item, __VA_ARGS__)
#define embedding_grad(item, ...) embedding_grad_u64(int64_t *kni_error, item, __VA_ARGS__)
#define rope(item, ...) rope_u64(int64_t *kni_error, item, __VA_ARGS__)
#include "ops/kernels/normalise.kn"
#undef embedding
#undef embedding_grad
#undef rope
#undef T
#undef IS_FLOAT

static void run_embedding_u64(const kni_kernel_call *call, int64_t begin, int64_t end)
{
    for (int64_t item = begin; item < end; item++)
        embedding_u64(call->error, item, call->inputs[0], call->inputs[1], call->outputs[0], call->ints[0], call->ints[1]);
}

const kni_kernel kni_kernel_embedding = {"embedding", "TiT", 2, 1, 0, {run_embedding_f64, run_embedding_i64, run_embedding_u64}};
const kni_kernel kni_kernel_embedding_grad = {"embedding_grad", "TiT", 2, 1, 0, {run_embedding_grad_f64, NULL, NULL}};
const kni_kernel kni_kernel_rope = {"rope", "rrrr", 3, 1, 0, {run_rope_f64, run_rope_f64, run_rope_f64}};
