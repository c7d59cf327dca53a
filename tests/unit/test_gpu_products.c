/* Products and what follows them in one group: what a library is asked for, over a driver of paper that only notes it, and
   what our own kernels compute, on OpenCL where there is one. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* setenv */
#endif
#include "backend/gpu/driver.h"
#include "core/error.h"
#include "support/check.h"
#include <kn/call.h>
#include <kn/program.h>
#include <stdlib.h>

typedef struct fake {
    kni_driver driver;
    int launches, products, taken; /* taken: how often an epilogue was taken */
    bool refuses_epilogues, refuses_all;
    kni_product latest;
    kni_convolution convolved;
} fake;

static fake *current;

static void *allocate(kni_driver *d, size_t bytes)
{
    (void)d;
    return calloc(1, bytes + 16);
}
static void free_block(kni_driver *d, void *memory)
{
    (void)d;
    free(memory);
}
static kn_status upload(kni_driver *d, void *to, size_t offset, const void *from, size_t bytes)
{
    (void)d;
    memcpy((char *)to + offset, from, bytes);
    return KN_OK;
}
static kn_status download(kni_driver *d, void *to, const void *from, size_t offset, size_t bytes)
{
    (void)d;
    memcpy(to, (const char *)from + offset, bytes);
    return KN_OK;
}
static kn_status copy(kni_driver *d, void *to, size_t to_offset, const void *from, size_t from_offset,
                      size_t bytes)
{
    (void)d;
    memcpy((char *)to + to_offset, (const char *)from + from_offset, bytes);
    return KN_OK;
}
static kn_status fill_zero(kni_driver *d, void *to, size_t offset, size_t bytes)
{
    (void)d;
    memset((char *)to + offset, 0, bytes);
    return KN_OK;
}
static kn_status nothing(kni_driver *d)
{
    (void)d;
    return KN_OK;
}
static kni_module *compile(kni_driver *d, const char *text, const char *entry)
{
    (void)d, (void)text, (void)entry;
    return malloc(1);
}
static void unload(kni_driver *d, kni_module *m)
{
    (void)d;
    free(m);
}
static kn_status launch(kni_driver *d, kni_module *m, const kni_launch_shape *shape, void *const *buffers,
                        uint32_t n_buffers, const void *params, uint32_t param_bytes)
{
    (void)m, (void)shape, (void)buffers, (void)n_buffers, (void)params, (void)param_bytes;
    ((fake *)d)->launches++;
    return KN_OK;
}
static kn_status product(kni_driver *d, const kni_product *p)
{
    fake *f = (fake *)d;
    bool more = p->epilogue & ~KNI_EPILOGUE_BIAS || p->beta != 0 || p->out_dtype != p->dtype;
    if (f->refuses_all || (f->refuses_epilogues && more)) return KN_ERROR_UNSUPPORTED;
    f->products++;
    f->taken += more;
    f->latest = *p;
    return KN_OK;
}
static kn_status convolution(kni_driver *d, const kni_convolution *p)
{
    fake *f = (fake *)d;
    if (f->refuses_all) return KN_ERROR_UNSUPPORTED;
    f->products++;
    f->convolved = *p;
    return KN_OK;
}
static void close_fake(kni_driver *d)
{
    if (current == (fake *)d) current = NULL;
    free(d);
}

static kn_backend *open_fake(const char *argument, kn_backend *const *inner, int32_t n_inner)
{
    (void)argument, (void)inner, (void)n_inner;
    fake *f = calloc(1, sizeof *f);
    f->driver = (kni_driver){.name = "paper",
                             .description = "a device of paper with a library",
                             .caps = {.dialect = KNI_IR_CUDA,
                                      .subgroups = true,
                                      .f64 = true,
                                      .i64 = true,
                                      .half_storage = true,
                                      .atomics = true,
                                      .subgroup = 32,
                                      .max_workgroup = 1024,
                                      .shared_bytes = 49152,
                                      .vector_bytes = 16},
                             .processors = 16,
                             .memory_bytes = 1 << 28,
                             .allocate = allocate,
                             .free = free_block,
                             .upload = upload,
                             .download = download,
                             .copy = copy,
                             .fill_zero = fill_zero,
                             .sync = nothing,
                             .compile = compile,
                             .unload = unload,
                             .launch = launch,
                             .product = product,
                             .convolution = convolution,
                             .close = close_fake};
    current = f;
    return kni_gpu_open(&f->driver);
}

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
    current->launches = current->products = current->taken = 0;
    memset(&current->latest, 0, sizeof current->latest);
}

/* The result is read, so that it runs; so many products and launches of kernels it took. */
static void expect(kn_tensor y, int products, int launches)
{
    static char bytes[1 << 22];
    y = kn_keep(y);
    CHECK(kn_read(y, bytes, sizeof bytes) == KN_OK || kn_sync(NULL) == KN_OK);
    CHECK(kn_ok(y));
    if (!CHECK(current->products == products && current->launches == launches))
        printf("  %d products, %d launches\n", current->products, current->launches);
}

static kn_tensor linear(const operands *o) { return kn_linear(o->x, o->w, o->bias); }
static kn_tensor matmul(const operands *o) { return kn_matmul(o->x, o->turned); }

static void asks_for_epilogues(void)
{
    const kni_product *p = &current->latest;
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

/* The gradient of gelu after the product that makes what it multiplies. */
static void asks_for_gradients(void)
{
    kn_scope scope = kn_scope_begin();
    operands o = make_operands(KN_F16, M, N, K);
    begin();
    kn_tensor in[2] = {matmul(&o), o.residual}, y = KN_NONE;
    CHECK(kn_call("gelu_approximate_grad", in, 2, NULL, &y, 1) == KN_OK);
    expect(y, 1, 0);
    CHECK(current->latest.epilogue == KNI_EPILOGUE_GELU_GRAD && current->latest.aux.memory);
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
    CHECK(current->latest.epilogue == KNI_EPILOGUE_BIAS && kn_ok(before));
    begin();
    expect(kn_tanh(linear(&o)), 1, 1);
    begin();
    expect(kn_add(kn_relu(linear(&o)), o.residual), 1, 1);
    CHECK(current->latest.epilogue == (KNI_EPILOGUE_BIAS | KNI_EPILOGUE_RELU));
    current->refuses_epilogues = true;
    begin();
    expect(kn_relu(linear(&o)), 1, 1);
    current->refuses_all = true;
    begin();
    expect(kn_relu(linear(&o)), 0, 1);
    current->refuses_all = current->refuses_epilogues = false;
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

/* Convolutions in 16 bits are the library's, with one axis as two; what it does not take is ours. */
static void asks_for_convolutions(void)
{
    const kni_convolution *p = &current->convolved;
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_zeros(KN_SHAPE(2, 4, 9, 8), KN_BF16));
    kn_tensor w = kn_keep(kn_zeros(KN_SHAPE(6, 2, 3, 2), KN_BF16)),
              bias = kn_keep(kn_zeros(KN_SHAPE(6), KN_BF16));
    kn_conv2d_args args = {.stride = {2, 1}, .padding = {1, 0}, .groups = 2};
    begin();
    expect(kn_conv2d(x, w, bias, &args), 1, 0);
    CHECK(p->what == KNI_CONVOLUTION_FORWARD && p->images == 2 && p->channels == 4 && p->outs == 6);
    CHECK(p->groups == 2 && p->x_size[0] == 9 && p->kernel[1] == 2 && p->y_size[0] == 5 && p->y_size[1] == 7);
    CHECK(p->stride[0] == 2 && p->stride[1] == 1 && p->padding[0] == 1 && p->padding[1] == 0 &&
          p->bias.memory);
    begin();
    expect(kn_relu(kn_conv2d(x, w, KN_NONE, &args)), 1, 1);
    CHECK(!p->bias.memory && p->x.memory && p->w.memory && p->y.memory != p->x.memory);
    /* What is read lies where a plain convolution writes. */
    kn_tensor small = kn_keep(kn_zeros(KN_SHAPE(2, 6, 5), KN_F16)),
              kernel = kn_keep(kn_zeros(KN_SHAPE(6, 3, 4), KN_F16));
    begin();
    expect(kn_conv_transpose1d(small, kernel, KN_NONE, NULL), 1, 0);
    CHECK(p->what == KNI_CONVOLUTION_DATA && p->outs == 6 && p->channels == 3 && p->y_size[0] == 1);
    CHECK(p->y_size[1] == 5 && p->x_size[1] == 8 && p->kernel[1] == 4);
    current->refuses_all = true;
    begin();
    expect(kn_conv2d(x, w, bias, &args), 0, 1);
    current->refuses_all = false;
    /* It may add up in any order, which is not what reproducible results are. */
    kn_set_reproducible(true);
    begin();
    expect(kn_conv2d(x, w, bias, &args), 0, 1);
    begin();
    expect(kn_conv_transpose1d(small, kernel, KN_NONE, NULL), 0, 1);
    kn_set_reproducible(false);
    begin();
    expect(kn_conv_transpose1d(small, kernel, KN_NONE, NULL), 1, 0);
    begin();
    expect(kn_relu(kn_conv2d(kn_cast(x, KN_F32), kn_cast(w, KN_F32), KN_NONE, &args)), 0, 2);
    kn_scope_end(scope, KN_NONE);
}

/* Fewer bits only where they were asked for when the device was opened, and then for small products too. */
static void rounds_on_request(void)
{
    fake *before = current;
    kn_device usual = kn_device_current();
    CHECK(!before->latest.tf32);
    setenv("KN_TF32", "on", 1);
    kn_device rough = kn_device_open("fusion(paper)");
    unsetenv("KN_TF32");
    if (!CHECK(rough && current != before)) return;
    kn_device_use(rough);
    kn_scope scope = kn_scope_begin();
    operands f = make_operands(KN_F32, M, N, K), h = make_operands(KN_F16, M, N, K);
    begin();
    expect(kn_relu(linear(&f)), 1, 0);
    CHECK(current->latest.tf32);
    begin();
    expect(matmul(&h), 1, 0);
    CHECK(!current->latest.tf32);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(usual);
    current = before;
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
    } cases[] = {{layer, KN_F32},   {layer, KN_BF16},  {both_results, KN_F16},
                 {batched, KN_F32}, {batched, KN_F16}, {convolved, KN_F32}};
    static char want[1 << 16], got[1 << 16];
    kn_device plain = kn_device_open("opencl:0"), fused = plain ? kn_device_open("fusion(opencl:0)") : NULL;
    if (!fused) {
        printf("test_gpu_products: no OpenCL: %s\n", kn_last_error());
        return;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kn_fusion_stats before, after;
        int64_t n = run(plain, cases[i].run, cases[i].dtype, want, sizeof want);
        CHECK(kn_fusion_stats_of(fused, &before) == KN_OK);
        CHECK(run(fused, cases[i].run, cases[i].dtype, got, sizeof got) == n &&
              !memcmp(want, got, (size_t)n));
        CHECK(kn_fusion_stats_of(fused, &after) == KN_OK);
        CHECK(after.groups_run > before.groups_run && after.refused == before.refused);
    }
}

int main(void)
{
    CHECK(kn_backend_register("paper", open_fake) == KN_OK);
    kn_device device = kn_device_open("fusion(paper)");
    if (!CHECK(device != NULL)) return check_report();
    kn_device_use(device);
    asks_for_epilogues();
    asks_for_gradients();
    goes_other_ways();
    asks_for_convolutions();
    rounds_on_request();
    survives_without_memory();
    computes_the_same();
    CHECK(kn_shutdown() == 0);
    return check_report();
}
