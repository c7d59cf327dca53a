/* Products and what follows them in one group: what a library is asked for, over a driver of paper that only notes it, and
   what our own kernels compute, on OpenCL where there is one. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* setenv */
#endif
#include "support/check.h"
#include "support/paper_device.h"
#include <kn/call.h>
#include <kn/custom_op.h>
#include <kn/program.h>
#include <stdlib.h>

/* ---- what the library is asked for */

enum { M = 24, N = 48, K = 32 };

typedef struct operands {
    kn_tensor x, w, turned, bias, residual; /* [M, K], [N, K], [K, N], [N], [M, N] */
} operands;

static operands make_operands(kn_dtype dtype, int64_t m, int64_t n, int64_t k)
{
    return (operands){kn_keep(kn_zeros(KN_SHAPE(m, k), dtype)), kn_keep(kn_zeros(KN_SHAPE(n, k), dtype)),
                      kn_keep(kn_zeros(KN_SHAPE(k, n), dtype)), kn_keep(kn_zeros(KN_SHAPE(n), dtype)),
                      kn_keep(kn_zeros(KN_SHAPE(m, n), dtype))};
}

/* Runs what waits and forgets what was counted. */
static void begin(void)
{
    CHECK(kn_sync(NULL) == KN_OK);
    paper_now.launches = paper_now.products = paper_now.epilogues = 0;
    memset(&paper_product, 0, sizeof paper_product);
}

/* The result is read, so that it runs; so many products and launches of kernels it took. */
static void expect(kn_tensor y, int products, int launches)
{
    static char bytes[1 << 22];
    y = kn_keep(y);
    CHECK(kn_read(y, bytes, sizeof bytes) == KN_OK || kn_sync(NULL) == KN_OK);
    CHECK(kn_ok(y));
    if (!CHECK(paper_now.products == products && paper_now.launches == launches))
        printf("  %d products, %d launches\n", (int)paper_now.products, (int)paper_now.launches);
}

static kn_tensor linear(const operands *o) { return kn_linear(o->x, o->w, o->bias); }
static kn_tensor matmul(const operands *o) { return kn_matmul(o->x, o->turned); }

static void asks_for_epilogues(void)
{
    const kni_product *p = &paper_product;
    kn_scope scope = kn_scope_begin();
    operands o = make_operands(KN_BF16, M, N, K);
    begin();
    expect(kn_relu(linear(&o)), 1, 0);
    CHECK(p->epilogue == (KNI_EPILOGUE_BIAS | KNI_EPILOGUE_RELU) && p->bias.memory && p->transpose_b);
    begin();
    expect(kn_relu(kn_add(matmul(&o), o.bias)), 1, 0);
    CHECK(p->epilogue == (KNI_EPILOGUE_BIAS | KNI_EPILOGUE_RELU) && p->beta == 0);
    begin();
    expect(kn_add(o.residual, matmul(&o)), 1, 0);
    CHECK(p->epilogue == KNI_EPILOGUE_NONE && p->beta == 1 && p->c.memory && p->row_c == N);
    begin();
    expect(kn_reshape(kn_gelu_approximate(kn_reshape(linear(&o), KN_SHAPE(2, M / 2, N))), KN_SHAPE(M, N)), 1,
           0);
    CHECK(p->epilogue == (KNI_EPILOGUE_BIAS | KNI_EPILOGUE_GELU) && !p->aux.memory);
    begin();
    kn_tensor before = kn_keep(linear(&o)); /* somebody else needs it */
    expect(kn_gelu_approximate(before), 1, 1);
    CHECK(p->epilogue == KNI_EPILOGUE_BIAS && kn_ok(before));
    begin();
    expect(kn_cast(matmul(&o), KN_F32), 1, 0);
    CHECK(p->dtype == KN_BF16 && p->out_dtype == KN_F32 && p->epilogue == KNI_EPILOGUE_NONE);
    kn_scope_end(scope, KN_NONE);
}

/* What may follow is found by the words of a body, so that a user's op gets what a built-in one with this formula gets. */
static void asks_for_defined_ops(void)
{
    kn_scope scope = kn_scope_begin();
    operands o = make_operands(KN_BF16, M, N, K);
    kn_op_handle relu = kn_op_define("follows_relu", &(kn_body_args){.body = "y = max(x, 0)"});
    kn_op_handle sum = kn_op_define("follows_sum", &(kn_body_args){.in = "a b", .body = "y = a + b"});
    kn_op_handle other = kn_op_define("follows_other", &(kn_body_args){.body = "y = max(x, 1)"});
    if (!CHECK(relu && sum && other)) return;
    begin();
    kn_tensor in[2] = {matmul(&o), o.bias}, y = KN_NONE, before;
    CHECK(kn_custom_call(sum, in, &before) == KN_OK && kn_custom_call(relu, &before, &y) == KN_OK);
    expect(y, 1, 0);
    CHECK(paper_product.epilogue == (KNI_EPILOGUE_BIAS | KNI_EPILOGUE_RELU));
    begin();
    before = linear(&o);
    CHECK(kn_custom_call(other, &before, &y) == KN_OK);
    expect(y, 1, 1);
    CHECK(paper_product.epilogue == KNI_EPILOGUE_BIAS);
    kn_scope_end(scope, KN_NONE);
}

/* The gradient of gelu after the product that makes what it multiplies. */
static void asks_for_gradients(void)
{
    kn_scope scope = kn_scope_begin();
    operands o = make_operands(KN_F16, M, N, K);
    begin();
    kn_tensor in[2] = {matmul(&o), o.residual}, y = KN_NONE;
    CHECK(kn_call("gelu_approximate_grad", in, 2, NULL, &y, 1) == KN_OK);
    expect(y, 1, 0);
    CHECK(paper_product.epilogue == KNI_EPILOGUE_GELU_GRAD && paper_product.aux.memory);
    kn_scope_end(scope, KN_NONE);
}

/* What no epilogue says runs as a kernel after the product, what nobody else can take as a kernel of ours with all of it. */
static void goes_other_ways(void)
{
    kn_scope scope = kn_scope_begin();
    operands o = make_operands(KN_BF16, M, N, K);
    begin();
    kn_tensor before = kn_keep(linear(&o));
    expect(kn_relu(before), 1, 1);
    CHECK(paper_product.epilogue == KNI_EPILOGUE_BIAS && kn_ok(before));
    begin();
    expect(kn_tanh(linear(&o)), 1, 1);
    begin();
    expect(kn_add(kn_relu(linear(&o)), o.residual), 1, 1);
    CHECK(paper_product.epilogue == (KNI_EPILOGUE_BIAS | KNI_EPILOGUE_RELU));
    paper_do.no_epilogues = true;
    begin();
    expect(kn_relu(linear(&o)), 1, 1);
    paper_do.no_library = true;
    begin();
    expect(kn_relu(linear(&o)), 0, 1);
    paper_do.no_library = paper_do.no_epilogues = false;
    /* Small ones in f32 are ours, with anything that follows. */
    operands f = make_operands(KN_F32, M, N, K);
    begin();
    expect(kn_mul(kn_tanh(kn_add(linear(&f), f.residual)), f.bias), 0, 1);
    /* But for numbers: a recording gives others to schedules, not to products. */
    begin();
    expect(kn_relu(kn_mul_scalar(kn_tanh(linear(&f)), 2)), 0, 2);
    operands large = make_operands(KN_F32, 512, 512, 512);
    begin();
    expect(kn_relu(linear(&large)), 1, 0);
    begin();
    expect(kn_gelu_approximate(linear(&large)), 1, 1); /* a library's has too few digits */
    kn_scope_end(scope, KN_NONE);
}

/* Heads that lie between the rows, [batch, rows, heads, size] as [batch, heads, rows, size]: the axes of the batch do not merge. */
static kn_tensor heads(kn_dtype dtype, int64_t batch, int64_t rows, int64_t count, int64_t size)
{
    return kn_keep(kn_transpose(kn_zeros(KN_SHAPE(batch, rows, count, size), dtype), 1, 2));
}

/* Two axes of a batch that do not merge are one launch of ours, or one call of a library over copies in order; where there are few
   calls, or much to copy, a call for each place of the shorter axis. What is the same for all of the inner axis is one product. */
static void asks_for_batches(void)
{
    const kni_product *p = &paper_product;
    kn_scope scope = kn_scope_begin();
    kn_tensor q = heads(KN_F32, 5, 6, 4, 8), k = heads(KN_F32, 5, 7, 4, 8);
    kn_tensor half_q = heads(KN_BF16, 5, 6, 4, 8), half_k = heads(KN_BF16, 5, 7, 4, 8);
    begin();
    expect(kn_matmul(q, kn_transpose(k, 2, 3)), 0, 1);
    begin();
    expect(kn_tanh(kn_matmul(q, kn_transpose(k, 2, 3))), 0, 1);
    begin();
    expect(kn_matmul(half_q, kn_transpose(half_k, 2, 3)), 1, 2);
    CHECK(p->batch == 20 && p->step_a == 48 && p->step_b == 56 && p->step_d == 42);
    kn_tensor large_q = heads(KN_BF16, 2, 1024, 3, 512), large_k = heads(KN_BF16, 2, 1024, 3, 512);
    begin();
    kn_tensor large = kn_keep(kn_matmul(large_q, kn_transpose(large_k, 2, 3)));
    CHECK(kn_sync(NULL) == KN_OK && kn_ok(large) && paper_now.products == 2 && !paper_now.launches);
    CHECK(p->batch == 3 && p->step_a == 512 && p->row_a == 3 * 512 && p->step_d == 1024 * 1024);
    kn_tensor shared = kn_keep(kn_zeros(KN_SHAPE(5, 1, 8, 7), KN_BF16)),
              rows = kn_keep(kn_zeros(KN_SHAPE(5, 4, 6, 8), KN_BF16));
    begin();
    expect(kn_matmul(rows, shared), 1, 0);
    CHECK(p->batch == 5 && p->m == 24 && p->step_b == 56);
    kn_scope_end(scope, KN_NONE);
}

/* Convolutions in 16 bits are the library's, with one axis as two; what it does not take is ours. */
static void asks_for_convolutions(void)
{
    const kni_convolution *p = &paper_convolution;
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_zeros(KN_SHAPE(2, 4, 9, 8), KN_BF16));
    kn_tensor w = kn_keep(kn_zeros(KN_SHAPE(6, 2, 3, 2), KN_BF16)),
              bias = kn_keep(kn_zeros(KN_SHAPE(6), KN_BF16));
    kn_conv2d_args args = {.stride = {2, 1}, .padding = {1, KN_ZERO}, .groups = 2};
    /* The launch after it sums again what became NaN because the library multiplies padding. */
    begin();
    expect(kn_conv2d(x, w, bias, &args), 1, 1);
    CHECK(p->what == KNI_CONVOLUTION_FORWARD && p->images == 2 && p->channels == 4 && p->outs == 6);
    CHECK(p->groups == 2 && p->x_size[0] == 9 && p->kernel[1] == 2 && p->y_size[0] == 5 && p->y_size[1] == 7);
    CHECK(p->stride[0] == 2 && p->stride[1] == 1 && p->padding[0] == 1 && p->padding[1] == 0 &&
          p->bias.memory);
    begin();
    expect(kn_relu(kn_conv2d(x, w, KN_NONE, &args)), 1, 1);
    CHECK(!p->bias.memory && p->x.memory && p->w.memory && p->y.memory != p->x.memory);
    begin();
    expect(kn_conv2d(x, w, bias, &(kn_conv2d_args){.groups = 2}), 1, 0);
    /* What is read lies where a plain convolution writes. */
    kn_tensor small = kn_keep(kn_zeros(KN_SHAPE(2, 6, 5), KN_F16)),
              kernel = kn_keep(kn_zeros(KN_SHAPE(6, 3, 4), KN_F16));
    begin();
    expect(kn_conv_transpose1d(small, kernel, KN_NONE, NULL), 1, 1);
    CHECK(p->what == KNI_CONVOLUTION_DATA && p->outs == 6 && p->channels == 3 && p->y_size[0] == 1);
    CHECK(p->y_size[1] == 5 && p->x_size[1] == 8 && p->kernel[1] == 4);
    paper_do.no_library = true;
    begin();
    expect(kn_conv2d(x, w, bias, &args), 0, 1);
    paper_do.no_library = false;
    /* It may add up in any order, which is not what reproducible results are. */
    kn_set_reproducible(true);
    begin();
    expect(kn_conv2d(x, w, bias, &args), 0, 1);
    begin();
    expect(kn_conv_transpose1d(small, kernel, KN_NONE, NULL), 0, 1);
    kn_set_reproducible(false);
    begin();
    expect(kn_conv_transpose1d(small, kernel, KN_NONE, NULL), 1, 1);
    begin();
    expect(kn_relu(kn_conv2d(kn_cast(x, KN_F32), kn_cast(w, KN_F32), KN_NONE, &args)), 0, 2);
    kn_scope_end(scope, KN_NONE);
}

/* Fewer bits only where they were asked for when the device was opened, and then for small products too. */
static void rounds_on_request(void)
{
    kn_device usual = kn_device_current();
    CHECK(!paper_product.tf32);
    setenv("KN_TF32", "on", 1);
    kn_device rough = kn_device_open("fusion(paper:1)");
    unsetenv("KN_TF32");
    if (!CHECK(rough && paper_now.opened == 2)) return;
    kn_device_use(rough);
    kn_scope scope = kn_scope_begin();
    operands f = make_operands(KN_F32, M, N, K), h = make_operands(KN_F16, M, N, K);
    begin();
    expect(kn_relu(linear(&f)), 1, 0);
    CHECK(paper_product.tf32);
    begin();
    expect(matmul(&h), 1, 0);
    CHECK(!paper_product.tf32);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(usual);
}

/* Whatever allocation fails, results are right or poisoned and nothing is lost. */
static void survives_without_memory(void)
{
    kn_scope scope = kn_scope_begin();
    operands o = make_operands(KN_BF16, M, N, K), f = make_operands(KN_F32, M, N, K);
    for (int way = 0; way < 3; way++)
        for (int64_t n = 0; n < 60; n++) {
            float out[M * N];
            kn_scope inner = kn_scope_begin();
            kn_tensor x = kn_keep(kn_relu(way == 0 ? linear(&o) : linear(&f)));
            if (way == 2) x = kn_keep(kn_tanh(linear(&o)));
            kn_memory_fail_after(n);
            kn_status s = kn_read(x, out, sizeof out);
            kn_memory_fail_after(-1);
            CHECK(s == KN_OK || !kn_ok(x) || kn_sync(NULL) == KN_OK);
            kn_scope_end(inner, KN_NONE);
        }
    begin();
    expect(kn_relu(linear(&o)), 1, 0);
    kn_scope_end(scope, KN_NONE);
}

/* ---- what our own kernels compute: the bits of the same records one by one */

typedef kn_tensor (*program)(const kn_tensor *in);

static kn_tensor layer(const kn_tensor *in) { return kn_relu(kn_linear(in[0], in[1], in[2])); }
static kn_tensor both_results(const kn_tensor *in)
{
    kn_tensor before = kn_keep(kn_linear(in[0], in[1], in[2]));
    return kn_concat((kn_tensor[]){kn_tanh(before), before}, 2, 0);
}
static kn_tensor batched(const kn_tensor *in)
{
    kn_tensor y = kn_matmul(kn_reshape(in[0], KN_SHAPE(3, 7, 20)), kn_transpose(in[1], 0, 1));
    kn_tensor z = kn_reshape(kn_add(y, in[2]), KN_SHAPE(21, 33));
    return kn_cast(kn_mul(kn_relu(z), in[3]), KN_F32);
}
/* Two axes of a batch, and three, that do not merge. */
static kn_tensor strided(const kn_tensor *in)
{
    kn_tensor a = kn_transpose(kn_reshape(in[0], KN_SHAPE(3, 5, 7, 4)), 1, 2);
    kn_tensor b = kn_permute(kn_reshape(kn_slice(in[0], 1, 0, 15, 1), KN_SHAPE(7, 3, 5, 3)),
                             (kn_ints){4, {1, 0, 3, 2}});
    kn_tensor y = kn_matmul(kn_transpose(a, 2, 3), kn_transpose(b, 2, 3));
    kn_tensor c = kn_keep(kn_permute(kn_reshape(kn_slice(in[0], 1, 0, 16, 1), KN_SHAPE(3, 2, 7, 2, 4)),
                                     (kn_ints){5, {2, 1, 0, 4, 3}}));
    kn_tensor z = kn_matmul(c, kn_transpose(c, 3, 4));
    return kn_concat((kn_tensor[]){kn_reshape(kn_tanh(y), KN_SHAPE(-1)), kn_reshape(z, KN_SHAPE(-1))}, 2, 0);
}
static kn_tensor convolved(const kn_tensor *in)
{
    kn_tensor image = kn_reshape(in[0], KN_SHAPE(2, 3, 7, 10)),
              kernel = kn_reshape(in[4], KN_SHAPE(5, 3, 2, 2));
    return kn_sigmoid(kn_relu(kn_conv2d(image, kernel, in[5], NULL)));
}

static kn_tensor numbers(kn_device device, kn_shape shape, kn_dtype dtype, uint32_t seed)
{
    static float values[2048];
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    for (int64_t i = 0; i < n; i++)
        values[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 8) / 8388608.0f - 1;
    kn_device_use(device);
    return kn_keep(kn_cast(kn_from(values, KN_F32, shape), dtype));
}

static int64_t run(kn_device device, program p, kn_dtype dtype, char *bytes, size_t room)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor in[6] = {
        numbers(device, KN_SHAPE(21, 20), dtype, 1), numbers(device, KN_SHAPE(33, 20), dtype, 2),
        numbers(device, KN_SHAPE(33), dtype, 3),     numbers(device, KN_SHAPE(21, 33), dtype, 4),
        numbers(device, KN_SHAPE(60), dtype, 5),     numbers(device, KN_SHAPE(5), dtype, 6)};
    CHECK(kn_sync(device) == KN_OK);
    kn_tensor y = kn_keep(p(in));
    int64_t n = kn_ok(y) ? kn_dtype_bytes(kn_dtype_of(y), kn_count(y)) : -1;
    CHECK(n >= 0 && (size_t)n <= room && kn_read(y, bytes, (size_t)n) == KN_OK);
    kn_scope_end(scope, KN_NONE);
    return n;
}

static void computes_the_same(void)
{
    static const struct {
        program run;
        kn_dtype dtype;
    } cases[] = {{layer, KN_F32},   {layer, KN_BF16},  {both_results, KN_F16}, {batched, KN_F32},
                 {batched, KN_F16}, {strided, KN_F32}, {convolved, KN_F32}};
    static char want[1 << 16], got[1 << 16];
    kn_device plain = kn_device_open("opencl:0"), fused = plain ? kn_device_open("fusion(opencl:0)") : NULL;
    if (!fused) {
        check_skip("no OpenCL device");
        return;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        /* One of each program; the plain build takes the other dtypes. */
        if (i > 0 && cases[i].run == cases[i - 1].run && UNDER_SANITIZER && !check_whole()) continue;
        kn_fusion_stats before, after;
        int64_t n = run(plain, cases[i].run, cases[i].dtype, want, sizeof want);
        CHECK(kn_fusion_stats_of(fused, &before) == KN_OK);
        CHECK(run(fused, cases[i].run, cases[i].dtype, got, sizeof got) == n &&
              !memcmp(want, got, (size_t)n));
        CHECK(kn_fusion_stats_of(fused, &after) == KN_OK);
        CHECK(after.groups_run > before.groups_run && after.refused == before.refused);
    }
}

/* Products whose batches lie by any strides, beside the reference. */
static void multiplies_batches(void)
{
    static char want[1 << 14], got[1 << 14];
    kn_device exact = kn_device_open("ref"), device = kn_device_open("opencl:0");
    if (!device) {
        check_skip("no OpenCL device");
        return;
    }
    int64_t n = run(exact, strided, KN_F32, want, sizeof want);
    CHECK(n > 0 && run(device, strided, KN_F32, got, sizeof got) == n);
    for (int64_t i = 0; i < n; i += 4) {
        float x, y;
        memcpy(&x, want + i, 4), memcpy(&y, got + i, 4);
        if (!CHECK(x - y < 1e-5f && y - x < 1e-5f)) break;
    }
}

int main(void)
{
    paper_do = (paper_orders){.room = 1 << 28, .fault = -1, .library = true};
    paper_register();
    kn_device device = kn_device_open("fusion(paper)");
    if (!CHECK(device != NULL)) return check_report();
    kn_device_use(device);
    asks_for_epilogues();
    asks_for_defined_ops();
    asks_for_gradients();
    goes_other_ways();
    asks_for_batches();
    asks_for_convolutions();
    rounds_on_request();
    survives_without_memory();
    multiplies_batches();
    computes_the_same();
    CHECK(kn_shutdown() == 0);
    return check_report();
}
