/* Attention of devices that compile kernels: each way of making it is forced and compared with the reference over drawn shapes and
   what is hidden, added and shared; and what is launched is counted over a driver of paper. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* setenv */
#endif
#include "backend/gpu/attention_device.h"
#include "backend/gpu/attention_kernel.h"
#include "ops/attention.h"
#include "ops/record.h"
#include "support/check.h"
#include "support/paper_device.h"
#include <math.h>
#include <stdlib.h>

/* ---- what is computed */

typedef struct shape {
    int64_t batch, heads, key_heads, queries, keys, size, values;
    int64_t mask[4], bias[4]; /* 0: none; else the sizes of their axes */
    kni_attention_attributes a;
    bool strided; /* operands are [batch, tokens, heads, size] in memory */
} shape;

enum { Y, DQ, DK, DV, DBIAS, RESULTS };
static const char *const names[RESULTS] = {"y", "dq", "dk", "dv", "dbias"};

typedef struct values {
    int64_t n;
    double *v;
} values;

static uint64_t state = 1;
static int64_t draw(int64_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((state >> 33) % (uint64_t)below);
}

static kn_tensor drawn(kn_shape s, kn_dtype dtype, uint64_t seed, bool turned)
{
    int64_t n = 1;
    for (int i = 0; i < s.rank; i++) n *= s.dims[i];
    double *v = calloc((size_t)n + 1, sizeof *v);
    uint64_t before = state;
    state = seed;
    for (int64_t i = 0; i < n; i++) v[i] = (double)draw(2001) / 1000 - 1;
    state = before;
    if (turned) {
        int64_t heads = s.dims[1];
        s.dims[1] = s.dims[2], s.dims[2] = heads;
    }
    kn_tensor t = kn_cast(kn_from(v, KN_F64, s), dtype);
    free(v);
    return kn_keep(turned ? kn_transpose(t, 1, 2) : t);
}

static kn_tensor hidden(const int64_t *dims, uint64_t seed)
{
    int64_t n = dims[0] * dims[1] * dims[2] * dims[3];
    bool *v = calloc((size_t)n + 1, sizeof *v);
    uint64_t before = state;
    state = seed;
    /* Some rows see nothing. */
    for (int64_t i = 0; i < n; i++) v[i] = draw(3) > 0 && !(dims[3] > 1 && i / dims[3] % 5 == 3);
    state = before;
    kn_tensor t = kn_keep(kn_from(v, KN_BOOL, KN_SHAPE(dims[0], dims[1], dims[2], dims[3])));
    free(v);
    return t;
}

static values read(kn_tensor t)
{
    t = kn_keep(kn_cast(t, KN_F64));
    values a = {.n = kn_count(t)};
    a.v = calloc((size_t)a.n + 1, sizeof *a.v);
    CHECK(kn_ok(t) && a.v && kn_read(t, a.v, (size_t)a.n * sizeof *a.v) == KN_OK);
    return a;
}

static void attend(const shape *s, kn_device on, kn_dtype dtype, bool with_result, values out[RESULTS])
{
    kn_scope scope = kn_scope_begin();
    kn_device_use(on);
    kni_attention_attributes a = s->a;
    kn_tensor in[7] = {drawn(KN_SHAPE(s->batch, s->heads, s->queries, s->size), dtype, 11, s->strided),
                       drawn(KN_SHAPE(s->batch, s->key_heads, s->keys, s->size), dtype, 22, s->strided),
                       drawn(KN_SHAPE(s->batch, s->key_heads, s->keys, s->values), dtype, 33, s->strided),
                       KN_NONE,
                       KN_NONE,
                       KN_NONE,
                       KN_NONE},
              made[4];
    const int64_t *b = s->bias;
    kn_tensor mask = s->mask[0] ? hidden(s->mask, 44) : KN_NONE;
    kn_tensor bias = b[0] ? drawn(KN_SHAPE(b[0], b[1], b[2], b[3]), dtype, 55, false) : KN_NONE;
    in[3] = mask, in[4] = bias;
    const bool drops = a.dropout > 0;
    kn_tensor y = kn_keep(kni_apply(drops ? &kni_op_dropout_attention : &kni_op_attention, in, 5, &a));
    out[Y] = read(y);
    in[3] = drawn(KN_SHAPE(s->batch, s->heads, s->queries, s->values), dtype, 66, s->strided);
    in[4] = mask, in[5] = bias;
    if (with_result) in[6] = y;
    a.wants_bias = b[0] != 0;
    kni_apply_many(drops ? &kni_op_dropout_attention_grad : &kni_op_attention_grad, in, 7, &a, made, 4);
    for (int i = 0; i < 4; i++) out[DQ + i] = read(made[i]);
    kn_scope_end(scope, KN_NONE);
}

static kn_device exact, device;
static kni_gpu *gpu;

/* A part of the largest element that any may be off by. */
static double bound(kn_dtype dtype)
{
    return dtype == KN_F32 ? 2e-6 : dtype == KN_F16 ? 1.5e-3 : dtype == KN_BF16 ? 1.2e-2 : 1e-12;
}

static void compare(const shape *s, int way, kn_dtype dtype, bool with_result)
{
    values want[RESULTS], got[RESULTS];
    attend(s, exact, dtype, with_result, want);
    gpu->attention = (uint8_t)way;
    attend(s, device, dtype, with_result, got);
    gpu->attention = KNI_ATTENTION_BY_ANY;
    for (int k = 0; k < RESULTS; k++) {
        double largest = 0.1, worst = 0;
        /* What is added to whole rows cancels out: the rest is that of many terms. */
        if (k == DBIAS && want[k].n)
            largest = 5e-2 * (double)(s->batch * s->heads * s->queries * s->keys / want[k].n);
        for (int64_t i = 0; i < want[k].n; i++) largest = fmax(largest, fabs(want[k].v[i]));
        for (int64_t i = 0; i < want[k].n && i < got[k].n; i++) {
            double off = fabs(want[k].v[i] - got[k].v[i]);
            worst = off <= worst ? worst : off; /* NaN too */
        }
        if (!CHECK(got[k].n == want[k].n && worst <= bound(dtype) * largest))
            printf("  way %d, %s of %s: off by %g of %g; [%d, %d of %d, %d x %d, %d and %d], mask %d %d %d "
                   "%d, bias %d %d "
                   "%d %d, causal %d, cap %g, dropout %g\n",
                   way, names[k], kn_dtype_name(dtype), worst, largest, (int)s->batch, (int)s->heads,
                   (int)s->key_heads, (int)s->queries, (int)s->keys, (int)s->size, (int)s->values,
                   (int)s->mask[0], (int)s->mask[1], (int)s->mask[2], (int)s->mask[3], (int)s->bias[0],
                   (int)s->bias[1], (int)s->bias[2], (int)s->bias[3], (int)s->a.is_causal, s->a.softcap,
                   s->a.dropout);
        free(want[k].v);
        free(got[k].v);
    }
}

/* ---- on OpenCL */

/* Kernels of the device whose key begins with the letter of attention. */
static int count_kernels(void)
{
    int n = 0;
    for (uint32_t i = 0; i < gpu->kernel_room; i++)
        n += gpu->kernels[i] && gpu->kernels[i]->key[0] == 'a' &&
             gpu->kernels[i]->key_bytes == sizeof(kni_attend_signature);
    return n;
}

static void spread(const shape *s, int64_t dims[4])
{
    const int64_t whole[4] = {s->batch, s->heads, s->queries, s->keys};
    for (int i = 0; i < 4; i++) dims[i] = draw(2) ? whole[i] : 1;
}

static shape draw_shape(void)
{
    static const int64_t sizes[] = {4, 8, 7, 20, 33, 64, 72};
    shape s = {.batch = 1 + draw(2),
               .key_heads = 1 + draw(2),
               .queries = 1 + draw(80),
               .keys = 1 + draw(80),
               .size = sizes[draw(KNI_COUNT(sizes))],
               .strided = draw(2)};
    s.heads = s.key_heads * (1 + draw(3));
    s.values = draw(2) ? s.size : sizes[draw(KNI_COUNT(sizes))];
    if (draw(2)) spread(&s, s.mask);
    if (draw(2)) spread(&s, s.bias);
    s.a = (kni_attention_attributes){
        .scale = draw(3) ? 0 : 0.3, .softcap = draw(4) ? 0 : 1.5, .is_causal = draw(2)};
    if (draw(3) == 0) s.a.dropout = 0.3, s.a.key = draw(1000), s.a.counter = draw(1000);
    return s;
}

/* What drawing seldom meets: vectors of 256, more than a tile of rows, keys that nobody sees, every axis shared. */
static const shape chosen[] = {
    {1, 2, 1, 70, 130, 40, 40, {0}, {1, 2, 70, 130}, {.is_causal = 1}, false},
    {2, 2, 2, 130, 70, 24, 20, {2, 1, 1, 70}, {0}, {.is_causal = 0}, true},
    {1, 1, 1, 5, 9, 256, 256, {0}, {0}, {.is_causal = 0}, false},
    {1, 1, 1, 9, 5, 200, 136, {0}, {1, 1, 1, 1}, {.is_causal = 1}, false},
    {2, 3, 3, 37, 41, 8, 8, {0}, {1, 3, 37, 41}, {.scale = 1}, false},
    {2, 3, 1, 37, 41, 8, 8, {1, 1, 37, 41}, {2, 1, 1, 41}, {.softcap = 1}, false},
    {2, 2, 1, 33, 34, 12, 4, {2, 2, 33, 1}, {2, 2, 33, 1}, {.is_causal = 0}, true},
    {1, 4, 2, 1, 50, 16, 16, {0}, {0}, {.is_causal = 0}, false},
    {2, 2, 1, 37, 40, 8, 12, {0}, {0}, {.dropout = 0.4, .key = 3, .counter = 5}, false},
    {2, 2, 1, 40, 37, 8, 12, {2, 1, 1, 37}, {0}, {.dropout = 0.4, .key = -3, .counter = 5}, false},
    {2, 4, 2, 37, 44, 8, 8, {0}, {1, 1, 37, 44}, {.softcap = 1}, false},
    {2, 4, 2, 70, 36, 8, 8, {0}, {2, 4, 70, 36}, {.softcap = 1}, true},
    {3, 2, 2, 40, 68, 8, 8, {3, 1, 1, 68}, {1, 2, 40, 68}, {.dropout = 0.4, .key = 3, .counter = 5}, true},
};

static void each_way(void)
{
    static const kn_dtype dtypes[] = {KN_F32, KN_F16, KN_BF16};
    int64_t n = 0;
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
        if (check_part(n++, 3)) compare(&chosen[i], KNI_ATTENTION_BY_TILES, KN_F32, true);
    for (int i = 0; i < 3; i++) compare(&chosen[5], KNI_ATTENTION_BY_LOWERING, dtypes[i], true);
    for (int i = 0; i < 3; i++) compare(&chosen[5], KNI_ATTENTION_BY_LIBRARY, dtypes[i], true);
    for (int i = 0; i < 8; i++) {
        const shape s = draw_shape();
        if (check_part(n++, 6)) compare(&s, KNI_ATTENTION_BY_TILES, i < 4 ? KN_F32 : dtypes[i % 3], draw(2));
    }
}

/* What was forced is what ran: tiles are other kernels than products, and f64 has none. */
static void runs_what_was_forced(void)
{
    const shape s = {1, 2, 2, 11, 13, 6, 6, {0}, {0}, {.is_causal = 0}, false};
    const int before = count_kernels();
    compare(&s, KNI_ATTENTION_BY_LOWERING, KN_F32, true);
    compare(&s, KNI_ATTENTION_BY_TILES, KN_F64, true);
    CHECK(count_kernels() == before);
    compare(&s, KNI_ATTENTION_BY_TILES, KN_F32, true);
    CHECK(count_kernels() == before + 3);
}

static void ways_by_name(void)
{
    CHECK(kni_gpu_attention_way(NULL) == KNI_ATTENTION_BY_ANY &&
          kni_gpu_attention_way("fast") == KNI_ATTENTION_BY_ANY);
    CHECK(kni_gpu_attention_way("lowered") == KNI_ATTENTION_BY_LOWERING);
    CHECK(kni_gpu_attention_way("tiled") == KNI_ATTENTION_BY_TILES);
    CHECK(kni_gpu_attention_way("library") == KNI_ATTENTION_BY_LIBRARY);
}

static void on_opencl(void)
{
    exact = kn_device_open("ref");
    device = kn_device_open("opencl:0");
    if (!device) {
        check_skip("no OpenCL device");
        return;
    }
    gpu = (kni_gpu *)(void *)kni_opencl_open("0", NULL, 0);
    if (!CHECK(exact && gpu)) return;
    each_way();
    runs_what_was_forced();
}

/* ---- what is launched */

/* Launches of our kernels for attention and for its gradients by q, k, v and, where there is one, the bias. */
static void count_launches(kn_dtype dtype, bool masked, bool biased, int forward, int backward)
{
    kn_scope scope = kn_scope_begin();
    kn_device on = kn_device_open("paper");
    if (!CHECK(on != NULL)) return;
    kn_device_use(on);
    kn_tensor v = kn_keep(kn_zeros(KN_SHAPE(2, 4, 100, 40), dtype)),
              table = kn_keep(kn_zeros(KN_SHAPE(1, 4, 100, 100), dtype));
    kn_tensor mask = masked ? kn_keep(kn_full(KN_SHAPE(2, 1, 1, 100), 1, KN_BOOL)) : KN_NONE;
    kn_attention_args args = {.mask = mask, .bias = biased ? table : KN_NONE};
    CHECK(kn_sync(on) == KN_OK);
    const int64_t before = paper_now.launches;
    kn_tensor y = kn_keep(kn_attention(v, v, v, &args));
    CHECK(kn_ok(y) && kn_sync(on) == KN_OK);
    const int64_t middle = paper_now.launches;
    if (!CHECK(middle - before == forward)) printf("  %d launches forward\n", (int)(middle - before));
    kn_tensor in[7] = {v, v, v, v, mask, args.bias, y}, made[4];
    kni_attention_attributes a = {.wants_bias = biased};
    kni_apply_many(&kni_op_attention_grad, in, 7, &a, made, 4);
    CHECK(kn_ok(made[0]) && kn_sync(on) == KN_OK);
    if (!CHECK(paper_now.launches - middle == backward))
        printf("  %d launches backward\n", (int)(paper_now.launches - middle));
    kn_scope_end(scope, KN_NONE);
}

/* Rotary embedding reads heads and tokens that changed places as they lie: no copy is made first. */
static void rope_launches(void)
{
    kn_scope scope = kn_scope_begin();
    kn_device on = kn_device_open("paper");
    if (!CHECK(on != NULL)) return;
    kn_device_use(on);
    kn_tensor x = kn_keep(kn_transpose(kn_zeros(KN_SHAPE(2, 9, 6, 16), KN_BF16), 1, 2));
    kn_tensor table = kn_keep(kn_zeros(KN_SHAPE(9, 8), KN_F32));
    CHECK(kn_sync(on) == KN_OK);
    const int64_t before = paper_now.launches;
    CHECK(kn_ok(kn_rope(x, table, table, NULL)) && kn_sync(on) == KN_OK);
    CHECK(paper_now.launches - before == 1);
    kn_scope_end(scope, KN_NONE);
}

static void launches_little(void)
{
    paper_do = (paper_orders){.room = 1 << 26, .fault = -1};
    paper_register();
    count_launches(KN_F32, false, false, 1, 2);
    count_launches(KN_F32, true, false, 1, 2);
    count_launches(KN_F32, true, true, 1, 3);
    count_launches(KN_BF16, true, true, 1, 3);
    count_launches(KN_F16, false, true, 1, 3);
    rope_launches();
}

/* ---- texts */

/* Every kernel is legal on a device that has neither 64-bit numbers nor bytes and gives 8 buffers and 16 KiB. */
static void legal_when_narrow(void)
{
    const kni_ir_caps narrow = {.dialect = KNI_IR_OPENCL,
                                .no_bytes = true,
                                .narrow = true,
                                .no_aliases = true,
                                .atomics = true,
                                .max_buffers = 8,
                                .max_workgroup = 256,
                                .shared_bytes = 16384,
                                .subgroup = 1,
                                .vector_bytes = 16};
    const kni_sched_target target = {&narrow, 4};
    for (int pass = 0; pass < KNI_ATTEND_PASSES; pass++)
        for (int with = 0; with < 8; with++) {
            const kni_attend_signature s = {.kind = 'a',
                                            .pass = (uint8_t)pass,
                                            .dtype = with & 1 ? KN_BF16 : KN_F32,
                                            .side = KNI_ATTEND_SMALL,
                                            .rows = KNI_ATTEND_BLOCK,
                                            .key_chunks = 2,
                                            .value_chunks = 1,
                                            .causal = with & 1,
                                            .masked = with >> 1 & 1,
                                            .biased = with >> 2 & 1,
                                            .keeps = true};
            if ((uint32_t)kni_attend_buffers(&s) > narrow.max_buffers) continue;
            kni_ir *ir = kni_attend_build(&s, &target);
            kni_ir_text text = {NULL, 0, 0, false};
            bool good =
                ir && kni_ir_legalise(ir, &narrow) == KN_OK && kni_ir_emit(ir, &narrow, &text) == KN_OK;
            if (!CHECK(good)) printf("  pass %d with %d: %s\n", pass, with, kn_last_error());
            kni_ir_text_free(&text);
            kni_ir_free(ir);
        }
}

/* Tall blocks take half the invocations, in the memory that they had. */
static void legal_when_tall(void)
{
    const kni_ir_caps wide = {.dialect = KNI_IR_CUDA,
                              .i64 = true,
                              .half_storage = true,
                              .subgroups = true,
                              .atomics = true,
                              .subgroup = 32,
                              .max_workgroup = 1024,
                              .shared_bytes = 49152,
                              .vector_bytes = 16};
    const kni_sched_target target = {&wide, 4};
    for (int pass = 0; pass < KNI_ATTEND_BIAS; pass++) {
        if (!check_part(pass, 4)) continue; /* building one takes seconds under a sanitizer */
        const kni_attend_signature s = {.kind = 'a',
                                        .pass = (uint8_t)pass,
                                        .dtype = KN_F32,
                                        .side = KNI_ATTEND_SIDE,
                                        .rows = KNI_ATTEND_TALL,
                                        .key_chunks = 1,
                                        .value_chunks = 1,
                                        .quads = 1,
                                        .keeps = true};
        kni_ir *ir = kni_attend_build(&s, &target);
        kni_ir_text text = {NULL, 0, 0, false};
        CHECK(kni_attend_workgroup(&s) == 128 && kni_attend_shared(&s) == 32768);
        CHECK(ir && kni_ir_legalise(ir, &wide) == KN_OK && kni_ir_emit(ir, &wide, &text) == KN_OK);
        kni_ir_text_free(&text);
        kni_ir_free(ir);
    }
}

int main(void)
{
    setenv("KN_OPENCL_OPTIONS", "-cl-opt-disable", 0);
    ways_by_name();
    legal_when_narrow();
    legal_when_tall();
    launches_little();
    on_opencl();
    kn_device_use(NULL);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
