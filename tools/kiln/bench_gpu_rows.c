/* What `kiln bench --device` measures: a chain of elementwise ops, softmax, layer norm, products, attention; sorting is in
   bench_gpu_sorting.c. */
#include "bench_gpu.h"

enum { CHAIN_MIB = 64, ROWS = 16384, COLUMNS = 4096, BATCH = 8, HEADS = 16, TOKENS = 2048, SIZE = 128 };

bool bench_gpu_operand(bench_gpu *b, kn_shape shape, kn_dtype dtype)
{
    kn_tensor x = kn_own(kn_cast(kn_random_normal(shape, 0, 1, KN_F32), dtype));
    b->operands[b->n_operands++] = x;
    return kn_ok(x);
}

/* The result is there when the device has been given the work, so that nobody finds it unused. */
kn_status bench_gpu_finish(bench_gpu *b, kn_tensor y)
{
    kn_tensor owned = kn_own(y);
    kn_status s = kn_ok(owned) ? kn_submit(b->device) : KN_ERROR_INTERNAL;
    kn_drop(owned);
    return s;
}

double bench_gpu_none(const bench_gpu *b)
{
    (void)b;
    return 0;
}

/* ---- elementwise */

static bool prepare_chain(bench_gpu *b)
{
    kn_shape shape = KN_SHAPE(b->size << 20);
    return bench_gpu_operand(b, shape, KN_F32) && bench_gpu_operand(b, shape, KN_F32);
}

static kn_status run_chain(bench_gpu *b)
{
    kn_tensor x = b->operands[0], y = b->operands[1];
    kn_tensor t = kn_relu(kn_add(kn_mul_scalar(x, 1.5), y));
    return bench_gpu_finish(b, kn_square(kn_sub(kn_mul(t, y), y)));
}

static double bytes_chain(const bench_gpu *b) { return 3.0 * 4 * (double)(b->size << 20); }

static kn_status run_copy(bench_gpu *b) { return bench_gpu_finish(b, kn_mul_scalar(b->operands[0], 1.5)); }
static double bytes_copy(const bench_gpu *b) { return 2.0 * 4 * (double)(b->size << 20); }

/* ---- rows */

static bool prepare_rows(bench_gpu *b)
{
    return bench_gpu_operand(b, KN_SHAPE(ROWS, b->size), KN_BF16) &&
           bench_gpu_operand(b, KN_SHAPE(b->size), KN_BF16) &&
           bench_gpu_operand(b, KN_SHAPE(b->size), KN_BF16);
}

static kn_status run_softmax(bench_gpu *b) { return bench_gpu_finish(b, kn_softmax(b->operands[0], -1)); }
static kn_status run_layer_norm(bench_gpu *b)
{
    return bench_gpu_finish(b, kn_layer_norm(b->operands[0], b->operands[1], b->operands[2], 1, 1e-5));
}
static double bytes_rows(const bench_gpu *b) { return 2.0 * 2 * ROWS * (double)b->size; }

/* ---- products */

static bool prepare_matmul(bench_gpu *b)
{
    kn_shape shape = KN_SHAPE(b->size, b->size);
    return bench_gpu_operand(b, shape, KN_BF16) && bench_gpu_operand(b, shape, KN_BF16);
}
static kn_status run_matmul(bench_gpu *b)
{
    return bench_gpu_finish(b, kn_matmul(b->operands[0], b->operands[1]));
}
static double flops_matmul(const bench_gpu *b)
{
    return 2.0 * (double)b->size * (double)b->size * (double)b->size;
}

/* ---- attention */

static bool prepare_attention(bench_gpu *b)
{
    kn_shape shape = KN_SHAPE(BATCH, HEADS, b->size, SIZE);
    for (int i = 0; i < 4; i++)
        if (!bench_gpu_operand(b, shape, KN_BF16)) return false;
    return true;
}

static kn_status run_attention(bench_gpu *b)
{
    const kn_attention_args args = {.is_causal = true};
    return bench_gpu_finish(b, kn_attention(b->operands[0], b->operands[1], b->operands[2], &args));
}

static kn_status run_attention_both(bench_gpu *b)
{
    const kn_attention_args args = {.is_causal = true};
    kn_tensor leaves[3], grads[3];
    kn_device_use(b->tape);
    kn_scope scope = kn_scope_begin();
    for (int i = 0; i < 3; i++) leaves[i] = kn_require_grad(kn_keep(kn_to(b->operands[i], b->tape)));
    kn_tensor y = kn_attention(leaves[0], leaves[1], leaves[2], &args);
    kn_tensor dy = kn_to(b->operands[3], b->tape);
    kn_status s = kn_grad(&y, &dy, 1, leaves, 3, 0, grads);
    for (int i = 0; i < 3 && s == KN_OK; i++) grads[i] = kn_own(grads[i]);
    if (s == KN_OK) s = kn_submit(b->tape);
    for (int i = 0; i < 3 && s == KN_OK; i++) kn_drop(grads[i]);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(b->device);
    return s;
}

static double flops_attention(const bench_gpu *b)
{
    return 2.0 * BATCH * HEADS * (double)b->size * (double)b->size * SIZE;
}
/* The gradient has five products where the forward pass has two. */
static double flops_attention_both(const bench_gpu *b) { return 3.5 * flops_attention(b); }

static const bench_gpu_row rows[] = {
    {"copy", "multiply by a number, f32", {CHAIN_MIB}, prepare_chain, run_copy, bytes_copy, bench_gpu_none},
    {"chain", "six elementwise ops, f32", {CHAIN_MIB}, prepare_chain, run_chain, bytes_chain, bench_gpu_none},
    {"softmax", "rows of bf16", {COLUMNS}, prepare_rows, run_softmax, bytes_rows, bench_gpu_none},
    {"layernorm", "rows of bf16", {COLUMNS}, prepare_rows, run_layer_norm, bytes_rows, bench_gpu_none},
    {"matmul", "square, bf16", {4096, 8192}, prepare_matmul, run_matmul, bench_gpu_none, flops_matmul},
    {"attention",
     "causal, bf16",
     {TOKENS},
     prepare_attention,
     run_attention,
     bench_gpu_none,
     flops_attention},
    {"attention_both",
     "causal, bf16, with the gradient",
     {TOKENS},
     prepare_attention,
     run_attention_both,
     bench_gpu_none,
     flops_attention_both},
};

const bench_gpu_row *bench_gpu_row_at(int i)
{
    int own = (int)(sizeof rows / sizeof *rows);
    return i >= 0 && i < own ? &rows[i] : bench_gpu_sorting_row_at(i - own);
}
