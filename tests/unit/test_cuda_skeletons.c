/* The texts of our own tensor-core kernels compile for Hopper: each kind of product and attention, and those of the kernels
   that sort, compact and accumulate, with the real NVRTC where it is found (support/nvrtc.h) over a stand-in for the
   driver; else skipped. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "backend/cuda/cuda_driver.h"
#include "support/nvrtc.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64] = "build_fake_driver_XXXXXX";

/* A folder with the driver's stand-in, before those where NVRTC may be. */
static bool build_fake(void)
{
    char command[400], folders[2000];
    const char *given = getenv("KN_CUDA_LIBRARIES");
    if (!mkdtemp(folder)) return false;
    snprintf(command, sizeof command,
             "cc -shared -fPIC -O1 -w tests/gpu/fake_cuda.c -o %s/libcuda.so.1 2>/dev/null", folder);
    snprintf(folders, sizeof folders, "%s:%s", folder, given ? given : "");
    setenv("KN_CUDA_LIBRARIES", folders, 1);
    setenv("FAKE_CUDA_VERSION", "13000", 1);
    setenv("KN_VENDOR", "off", 1);
    setenv("KN_CACHE", "off", 1);
    return system(command) == 0;
}

static bool product(kni_driver *d, int dtype, int out, int64_t n, bool ta, bool tb, int epilogue, double beta)
{
    void *m = d->allocate(d, 256);
    kni_product p = {.dtype = dtype,
                     .out_dtype = out,
                     .m = n,
                     .n = n,
                     .k = n,
                     .batch = 1,
                     .row_a = n,
                     .row_b = n,
                     .row_c = n,
                     .row_d = n,
                     .transpose_a = ta,
                     .transpose_b = tb,
                     .alpha = 1,
                     .beta = beta,
                     .epilogue = epilogue,
                     .a = {m, 0},
                     .b = {m, 0},
                     .c = {m, 0},
                     .d = {m, 0},
                     .bias = {m, 0}};
    bool good = d->product(d, &p) == KN_OK;
    if (!good) printf("product: %s\n", kn_last_error());
    d->free(d, m);
    return good;
}

/* What is asked for beside q, k and v. */
enum { MASK = 1, BIAS = 2, DROPOUT = 4, SLOPES = 8, WHOLE = 16 /* the mask has all queries */ };

static bool attention(kni_driver *d, int dtype, int64_t size, bool causal, int with)
{
    void *m = d->allocate(d, 256);
    kni_place at = {m, 0};
    const int64_t rows = 256;
    kni_attention p = {.dtype = dtype,
                       .batch = 1,
                       .heads = 2,
                       .key_heads = 1,
                       .queries = rows,
                       .keys = rows,
                       .size = size,
                       .value_size = size,
                       .scale = 0.1,
                       .causal = causal,
                       .q = at,
                       .k = at,
                       .v = at,
                       .out = at,
                       .lse = at,
                       .dy = at,
                       .dq = at,
                       .dk = at,
                       .dv = at};
    const int64_t all[4] = {2 * rows * rows, rows * rows, rows, 1};
    p.own = with != 0;
    if (with & MASK) p.mask = at, p.mask_steps[0] = rows, p.mask_steps[3] = 1;
    if (with & WHOLE) memcpy(p.mask_steps, all, sizeof all);
    if (with & BIAS) p.bias = at, memcpy(p.bias_steps, all, sizeof all);
    if (with & DROPOUT) p.draws = at, p.threshold = 1u << 30, p.kept = 4.0f / 3;
    if (with & SLOPES) p.slopes = at;
    int64_t *steps[] = {p.q_steps, p.k_steps, p.v_steps, p.dy_steps};
    for (int i = 0; i < 4; i++) steps[i][0] = 2 * rows * size, steps[i][1] = rows * size, steps[i][2] = size;
    bool good = d->attention(d, &p) == KN_OK && d->attention_grad(d, &p) == KN_OK;
    if (!good) printf("attention: %s\n", kn_last_error());
    d->free(d, m);
    return good;
}

/* MemorySanitizer takes for unwritten what the stand-ins, which it cannot see into, have written. */
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define SKIPPED 1
#endif
#endif

/* Launches do nothing: only that they compile is seen. */
static void sorting(void)
{
    static const kn_dtype dtypes[] = {KN_U8, KN_BF16, KN_F32, KN_F64};
    const kn_topk_args unsorted = {.unsorted = true};
    kn_device device = kn_device_open("cuda:0");
    if (!CHECK(device != NULL)) return;
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    for (int i = 0; i < 4; i++) {
        kn_tensor x = kn_keep(kn_zeros(KN_SHAPE(20000), dtypes[i]));
        CHECK(kn_ok(kn_sort(x, 0, false).values) && kn_ok(kn_topk(x, 9, 0, &unsorted).values));
        CHECK(kn_ok(kn_unique_bounded(x).values) && kn_ok(kn_nonzero_bounded(x, 4).count));
        CHECK(kn_ok(kn_cummax(x, 0).values) && kn_ok(kn_cumlogsumexp(kn_cast(x, KN_F32), 0)));
    }
    kn_tensor at = kn_keep(kn_zeros(KN_SHAPE(1500, 1), KN_I64)), v = kn_zeros(KN_SHAPE(1500), KN_F32);
    CHECK(kn_ok(kn_scatter_nd(kn_zeros(KN_SHAPE(9), KN_F32), at, v, KN_UPDATE_MAX)));
    CHECK(kn_ok(kn_bincount_bounded(kn_flatten(at, 0, -1), KN_NONE, 10)));
    CHECK(kn_sync(device) == KN_OK);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
    CHECK(kn_shutdown() == 0);
}

int main(void)
{
#ifdef SKIPPED
    check_skip("MemorySanitizer: stand-ins of the driver");
    return check_report();
#endif
    char command[200], path[2200];
    /* Once it is open the driver finds it by its name, wherever it lies. */
    bool compiles = nvrtc_open(path, sizeof path), built = build_fake();
    CHECK(built);
    kni_driver *d = built && compiles ? kni_cuda_driver_open(0) : NULL;
    if (!compiles) check_skip(nvrtc_absent);
    if (compiles && CHECK(d != NULL)) {
        CHECK(product(d, KN_BF16, KN_BF16, 4096, false, false, KNI_EPILOGUE_NONE, 0));
        CHECK(product(d, KN_F16, KN_F32, 2048, true, true, KNI_EPILOGUE_BIAS | KNI_EPILOGUE_GELU, 1));
        CHECK(product(d, KN_BF16, KN_BF16, 200, true, false, KNI_EPILOGUE_BIAS | KNI_EPILOGUE_RELU, 0));
        CHECK(product(d, KN_BF16, KN_BF16, 200, false, false, KNI_EPILOGUE_GELU_GRAD, 0));
        CHECK(attention(d, KN_BF16, 128, true, 0));
        CHECK(attention(d, KN_F16, 64, false, 0));
        CHECK(attention(d, KN_BF16, 64, false, MASK | DROPOUT));
        CHECK(attention(d, KN_F16, 64, true, BIAS | SLOPES));
        CHECK(attention(d, KN_BF16, 128, true, MASK | WHOLE | BIAS | DROPOUT | SLOPES));
        d->close(d);
        sorting();
    }
    snprintf(command, sizeof command, "rm -rf %s", folder);
    CHECK(system(command) == 0);
    return check_report();
}
