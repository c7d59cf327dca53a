/* The CUDA driver over stand-ins for NVIDIA's libraries: what it says when something is missing, and what is CUDA's alone: products,
   attention and convolutions of libraries, and our own kernels for Hopper. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "backend/cuda/cuda_driver.h"
#include "core/platform.h"
#include "test_runtime_driver.h"
#include <math.h>

enum { DRIVER = 1, COMPILER = 2, PRODUCT = 4 + 8, ALL = 15 };

#define SYMBOL(field, cuda, hip, arguments) {#field, cuda},
static const named_call calls[] = {EVERY_CALL(SYMBOL)};
static const char *cuda_call(const char *field) { return find_call(calls, KNI_COUNT(calls), field); }

static const char *const libraries[] = {"libcuda.so.1", "libnvrtc.so.12", "libcublasLt.so.12",
                                        "libcudnn.so.9", NULL};
static const char *const other_calls[] = {"nvrtcGetNumSupportedArchs", NULL};
static const runtime_stand_in stand_in = {
    "tests/gpu/fake_cuda.c tests/gpu/fake_cublaslt.c tests/gpu/fake_cudnn.c",
    "KN_CUDA_LIBRARIES",
    "KN_CUDA_PROFILE",
    "KN_CUDA_GRAPHS",
    libraries,
    other_calls,
    cuda_call,
    kni_cuda_driver_open};

/* ---- what is missing */

static void says_no_driver(void)
{
    char line[300];
    CHECK(kni_cuda_driver_open(0) == NULL && last_error_has("no driver: libcuda.so.1 is not found"));
    CHECK(last_error_has("KN_CUDA_LIBRARIES"));
    CHECK(!kni_cuda_describe(0, line, sizeof line));
}

static void says_old_driver(void)
{
    setenv("FAKE_CUDA_VERSION", "11040", 1);
    CHECK(kni_cuda_driver_open(0) == NULL && last_error_has("too old: it is made for CUDA 11.4"));
    setenv("FAKE_CUDA_VERSION", "12080", 1);
    fake_fail("cuInit", 1, 100);
    CHECK(kni_cuda_driver_open(0) == NULL && last_error_has("finds no GPU"));
    fake_fail("cuInit", 1, 803);
    CHECK(kni_cuda_driver_open(0) == NULL && last_error_has("differ in version"));
    fake_fail("cuInit", 1, 34);
    CHECK(kni_cuda_driver_open(0) == NULL && last_error_has("stub"));
    fake_fail("cuInit", 1, 802);
    CHECK(kni_cuda_driver_open(0) == NULL && last_error_has("does not start"));
    /* A later try succeeds. */
    kni_driver *d = kni_cuda_driver_open(0);
    if (CHECK(d != NULL)) d->close(d);
    CHECK(kni_cuda_driver_open(7) == NULL && last_error_has("there is no cuda:7"));
    setenv("FAKE_CUDA_MAJOR", "6", 1);
    CHECK(kni_cuda_driver_open(0) == NULL && last_error_has("needs 7.0 or later"));
    CHECK(fake_live() == 0);
}

static void says_no_compiler(void)
{
    CHECK(kni_cuda_driver_open(0) == NULL && last_error_has("compiling kernels needs libnvrtc.so.12"));
    CHECK(fake_live() == 0);
}

static void works_without_products(void)
{
    kni_driver *d = kni_cuda_driver_open(0);
    if (!CHECK(d != NULL)) return;
    kni_product p = {.dtype = KN_F32,
                     .out_dtype = KN_F32,
                     .m = 2,
                     .n = 2,
                     .k = 2,
                     .batch = 1,
                     .row_a = 2,
                     .row_b = 2,
                     .row_d = 2,
                     .alpha = 1};
    CHECK(d->product(d, &p) == KN_ERROR_UNSUPPORTED);
    d->close(d);
    CHECK(fake_live() == 0);
}

/* d = a b of [2, 3] and [3, 2], row-major, then a bias. */
static void multiplies_row_major(void)
{
    static const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 0, 1, 1, 1}, bias[] = {10, 20};
    float got[4];
    kni_driver *d = kni_cuda_driver_open(0);
    if (!CHECK(d != NULL)) return;
    kni_product p = {.dtype = KN_F32,
                     .out_dtype = KN_F32,
                     .m = 2,
                     .n = 2,
                     .k = 3,
                     .batch = 1,
                     .row_a = 3,
                     .row_b = 2,
                     .row_d = 2,
                     .alpha = 1,
                     .epilogue = KNI_EPILOGUE_BIAS};
    p.a.memory = d->allocate(d, sizeof a), p.b.memory = d->allocate(d, sizeof b);
    p.d.memory = d->allocate(d, sizeof got), p.bias.memory = d->allocate(d, sizeof bias);
    CHECK(d->upload(d, p.a.memory, 0, a, sizeof a) == KN_OK &&
          d->upload(d, p.b.memory, 0, b, sizeof b) == KN_OK);
    CHECK(d->upload(d, p.bias.memory, 0, bias, sizeof bias) == KN_OK && d->product(d, &p) == KN_OK);
    CHECK(d->download(d, got, p.d.memory, 0, sizeof got) == KN_OK);
    CHECK(got[0] == 14 && got[1] == 25 && got[2] == 20 && got[3] == 31);
    p.dtype = KN_I32;
    CHECK(d->product(d, &p) == KN_ERROR_UNSUPPORTED);
    p.dtype = KN_F32, p.row_b = 1;
    CHECK(d->product(d, &p) == KN_ERROR_UNSUPPORTED);
    /* More matrices than the library counts. */
    p.row_b = 2, p.step_d = 4, p.batch = (INT64_C(1) << 32) + 1;
    CHECK(d->product(d, &p) == KN_ERROR_UNSUPPORTED);
    p.m = 0;
    CHECK(d->product(d, &p) == KN_OK);
    kni_place *all[] = {&p.a, &p.b, &p.d, &p.bias};
    for (int i = 0; i < 4; i++) d->free(d, all[i]->memory);
    d->close(d);
    CHECK(fake_live() == 0);
}

/* A bias on 16 bits goes to the library only where all lies at multiples of 16 bytes: elsewhere it rounds twice. */
static void keeps_uneven_biases(void)
{
    enum { SIZE = 16 };
    kni_driver *d = kni_cuda_driver_open(0);
    if (!CHECK(d != NULL)) return;
    void *memory = d->allocate(d, 1 << 16);
    kni_product even = {.dtype = KN_BF16, .m = SIZE, .n = SIZE, .k = SIZE, .batch = 1, .alpha = 1};
    even.out_dtype = KN_BF16, even.epilogue = KNI_EPILOGUE_BIAS;
    even.row_a = even.row_b = even.row_d = SIZE;
    even.a.memory = even.b.memory = even.d.memory = even.bias.memory = memory;
    for (int i = 0; i < 9; i++) {
        kni_product p = even;
        int64_t *uneven[] = {&p.row_a,    &p.row_b,    &p.row_d,      &p.a.offset,
                             &p.b.offset, &p.d.offset, &p.bias.offset};
        if (i < KNI_COUNT(uneven)) *uneven[i] += 1;
        if (i == 7) p.epilogue = 0, p.a.offset = 1;
        bool library = i >= 7;
        CHECK((d->product(d, &p) == KN_OK) == library);
    }
    d->free(d, memory);
    d->close(d);
    CHECK(fake_live() == 0);
}

/* d = a b times the slope of gelu at another matrix, of two matrices [1, 1] and [1, 8]. */
static void multiplies_with_another_matrix(void)
{
    enum { N = 8 };
    static const float a[] = {1, -2};
    float b[2 * N], at[2 * N], got[2 * N];
    for (int i = 0; i < 2 * N; i++) b[i] = 0.25f * (float)(i - N), at[i] = 0.5f * (float)(N - i);
    kni_driver *d = kni_cuda_driver_open(0);
    if (!CHECK(d != NULL)) return;
    kni_product p = {.dtype = KN_F32,
                     .out_dtype = KN_F32,
                     .m = 1,
                     .n = N,
                     .k = 1,
                     .batch = 2,
                     .row_a = 1,
                     .row_b = N,
                     .row_d = N,
                     .step_a = 1,
                     .step_b = N,
                     .step_d = N,
                     .alpha = 1,
                     .epilogue = KNI_EPILOGUE_GELU_GRAD};
    p.a.memory = d->allocate(d, sizeof a), p.b.memory = d->allocate(d, sizeof b);
    p.d.memory = d->allocate(d, sizeof got), p.aux.memory = d->allocate(d, sizeof at);
    CHECK(d->upload(d, p.a.memory, 0, a, sizeof a) == KN_OK &&
          d->upload(d, p.b.memory, 0, b, sizeof b) == KN_OK &&
          d->upload(d, p.aux.memory, 0, at, sizeof at) == KN_OK);
    CHECK(d->product(d, &p) == KN_OK && d->download(d, got, p.d.memory, 0, sizeof got) == KN_OK);
    for (int i = 0; i < 2 * N; i++) {
        double h = 1e-4, y[2];
        for (int k = 0; k < 2; k++) {
            double x = at[i] + (k ? h : -h), u = 0.7978845608028654 * (x + 0.044715 * x * x * x);
            y[k] = 0.5 * x * (1 + tanh(u));
        }
        CHECK(fabs(got[i] - a[i / N] * b[i] * (y[1] - y[0]) / (2 * h)) < 1e-4);
    }
    /* Distances that the library does not take, and no kernel of ours for f32. */
    p.row_d = 9;
    CHECK(d->product(d, &p) == KN_ERROR_UNSUPPORTED);
    kni_place *all[] = {&p.a, &p.b, &p.d, &p.aux};
    for (int i = 0; i < 4; i++) d->free(d, all[i]->memory);
    d->close(d);
    CHECK(fake_live() == 0);
}

static void find_function(const char *name, void *to)
{
    char path[200];
    snprintf(path, sizeof path, "%s/libfake.so", folder);
    void *handle = dlopen(path, RTLD_NOW), *found = handle ? dlsym(handle, name) : NULL;
    memcpy(to, &found, sizeof found);
}

static kni_convolution some_convolution(kni_driver *d)
{
    kni_convolution p = {.dtype = KN_BF16,
                         .axes = 2,
                         .images = 2,
                         .channels = 8,
                         .outs = 16,
                         .groups = 1,
                         .x_size = {8, 8},
                         .kernel = {3, 3},
                         .y_size = {8, 8},
                         .stride = {1, 1},
                         .padding = {1, 1},
                         .padding_end = {1, 1},
                         .dilation = {1, 1},
                         .x_steps = {512, 64, 8, 1},
                         .w_steps = {72, 9, 3, 1},
                         .y_steps = {1024, 64, 8, 1}};
    kni_place *places[] = {&p.x, &p.w, &p.y};
    for (int i = 0; i < 3; i++) places[i]->memory = d->allocate(d, 1 << 14);
    return p;
}

/* The algorithms of a product are timed when it first runs, but not where results must be the same each time, for small ones, or where the
   product adds to its own result. */
static void times_products(void)
{
    enum { SIDE = 176 };
    long (*runs)(bool fast) = NULL;
    find_function("fake_cublaslt_runs", &runs);
    kni_driver *d = kni_cuda_driver_open(0);
    if (!CHECK(d && runs)) return;
    const size_t bytes = (size_t)SIDE * SIDE * sizeof(float);
    kni_product p = {.dtype = KN_F32,
                     .out_dtype = KN_F32,
                     .m = SIDE,
                     .n = SIDE,
                     .k = SIDE,
                     .batch = 1,
                     .row_a = SIDE,
                     .row_b = SIDE,
                     .row_c = SIDE,
                     .row_d = SIDE,
                     .alpha = 1};
    kni_place *places[] = {&p.a, &p.b, &p.d};
    for (int i = 0; i < KNI_COUNT(places); i++) {
        places[i]->memory = d->allocate(d, bytes);
        CHECK(d->fill_zero(d, places[i]->memory, 0, bytes) == KN_OK);
    }
    CHECK(d->product(d, &p) == KN_OK && runs(false) == 4 && runs(true) == 4 + 1);
    CHECK(d->product(d, &p) == KN_OK && runs(false) == 4 && runs(true) == 4 + 2);
    p.beta = 1, p.c = p.d;
    CHECK(d->product(d, &p) == KN_OK && runs(false) == 5 && runs(true) == 4 + 2);
    p.beta = 0, p.transpose_a = true;
    kn_set_reproducible(true);
    CHECK(d->product(d, &p) == KN_OK && runs(false) == 5 && runs(true) == 4 + 3);
    kn_set_reproducible(false);
    p.k = 2;
    CHECK(d->product(d, &p) == KN_OK && runs(false) == 5 && runs(true) == 4 + 4);
    for (int i = 0; i < KNI_COUNT(places); i++) d->free(d, places[i]->memory);
    d->close(d);
    CHECK(fake_live() == 0);
}

/* What the stand-in tells of the graph that ran last. */
static struct {
    long (*runs)(void), (*alive)(void), (*plans)(bool all), (*engine)(void);
    long (*attribute)(long id, int name, int64_t *values), (*operations)(int64_t *kinds);
} dnn;

static bool find_dnn(void)
{
    find_function("fake_cudnn_runs", &dnn.runs), find_function("fake_cudnn_live", &dnn.alive);
    find_function("fake_cudnn_plans", &dnn.plans), find_function("fake_cudnn_engine", &dnn.engine);
    find_function("fake_cudnn_attribute", &dnn.attribute);
    find_function("fake_cudnn_operations", &dnn.operations);
    return CHECK(dnn.runs && dnn.alive && dnn.plans && dnn.engine && dnn.attribute && dnn.operations);
}

static bool described(long id, int name, long n, const int64_t *wanted)
{
    int64_t values[16];
    return dnn.attribute(id, name, values) == n && !memcmp(values, wanted, (size_t)n * sizeof *wanted);
}

static bool made_of(long n, const int64_t *wanted)
{
    int64_t kinds[16];
    return dnn.operations(kinds) == n && !memcmp(kinds, wanted, (size_t)n * sizeof *wanted);
}

#define LIST(...)                                                                                            \
    (long)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[]) { __VA_ARGS__ }
enum { X = 1, W, Y, BIAS, ADDED, DNN_DTYPE = 901, DNN_DIMS, DNN_STEPS };

/* The three convolutions, with and without a bias; what is not for the library is refused without a text. */
static void convolves(void)
{
    kni_driver *d = kni_cuda_driver_open(0);
    if (!find_dnn() || !CHECK(d != NULL)) return;
    kni_convolution p = some_convolution(d);
    kni_place *places[] = {&p.x, &p.w, &p.y};
    static const int64_t kinds[] = {10, 12, 11};
    long before = dnn.runs();
    for (p.what = KNI_CONVOLUTION_FORWARD; p.what <= KNI_CONVOLUTION_FILTER; p.what++)
        CHECK(d->convolution(d, &p) == KN_OK && made_of(1, &kinds[p.what]));
    p.what = KNI_CONVOLUTION_FORWARD;
    p.bias.memory = d->allocate(d, 256);
    CHECK(d->convolution(d, &p) == KN_OK && d->convolution(d, &p) == KN_OK && dnn.runs() == before + 5);
    CHECK(made_of(LIST(10, 1000)) && described(BIAS, DNN_DIMS, LIST(1, 16, 1, 1)));
    p.x.offset = 1; /* not aligned */
    CHECK(d->convolution(d, &p) == KN_ERROR_UNSUPPORTED);
    p.x.offset = 0, p.dtype = KN_F64;
    CHECK(d->convolution(d, &p) == KN_ERROR_UNSUPPORTED && dnn.runs() == before + 5);
    for (int i = 0; i < 3; i++) d->free(d, places[i]->memory);
    d->free(d, p.bias.memory);
    d->close(d);
    CHECK(dnn.alive() == 0 && fake_live() == 0);
}

/* Operands are described by their steps, padding by both its ends, images of three axes by five numbers. */
static void describes_convolutions(void)
{
    kni_driver *d = kni_cuda_driver_open(0);
    if (!find_dnn() || !CHECK(d != NULL)) return;
    kni_convolution p = some_convolution(d), solid;
    const int64_t last[] = {512, 1, 64, 8};
    memcpy(p.x_steps, last, sizeof last);
    p.padding_end[0] = 0, p.stride[0] = 2, p.y_size[0] = 4, p.y_steps[0] = 512, p.y_steps[1] = 32;
    CHECK(d->convolution(d, &p) == KN_OK);
    CHECK(described(X, DNN_DIMS, LIST(2, 8, 8, 8)) && described(X, DNN_STEPS, LIST(512, 1, 64, 8)));
    CHECK(described(W, DNN_DIMS, LIST(16, 8, 3, 3)) && described(W, DNN_STEPS, LIST(72, 9, 3, 1)));
    CHECK(described(Y, DNN_DIMS, LIST(2, 16, 4, 8)) && described(Y, DNN_STEPS, LIST(512, 32, 8, 1)));
    CHECK(described(Y, DNN_DTYPE, LIST(9)) && described(0, 103, LIST(2, 1)) &&
          described(0, 105, LIST(1, 1)) && described(0, 104, LIST(0, 1)) && described(0, 106, LIST(2)));
    solid = p;
    solid.axes = 3, solid.groups = 4, solid.dtype = KN_F16;
    const int64_t sizes[] = {4, 4, 4}, taps[] = {1, 3, 2}, none[] = {0, 1, 1}, x[] = {512, 64, 16, 4, 1},
                  w[] = {12, 6, 6, 2, 1}, y[] = {1024, 64, 16, 4, 1}, ones[] = {1, 2, 1};
    memcpy(solid.x_size, sizes, sizeof sizes), memcpy(solid.y_size, sizes, sizeof sizes);
    memcpy(solid.kernel, taps, sizeof taps), memcpy(solid.padding, none, sizeof none);
    memcpy(solid.padding_end, none, sizeof none), memcpy(solid.dilation, ones, sizeof ones);
    memcpy(solid.stride, (int64_t[]){1, 1, 1}, sizeof sizes);
    memcpy(solid.x_steps, x, sizeof x), memcpy(solid.w_steps, w, sizeof w),
        memcpy(solid.y_steps, y, sizeof y);
    CHECK(d->convolution(d, &solid) == KN_OK);
    CHECK(described(X, DNN_DIMS, LIST(2, 8, 4, 4, 4)) && described(X, DNN_STEPS, 5, x));
    CHECK(described(W, DNN_DIMS, LIST(16, 2, 1, 3, 2)) && described(W, DNN_STEPS, 5, w));
    CHECK(described(0, 102, LIST(1, 2, 1)) && described(0, 105, LIST(0, 1, 1)) &&
          described(X, DNN_DTYPE, LIST(2)));
    kni_place *places[] = {&p.x, &p.w, &p.y};
    for (int i = 0; i < 3; i++) d->free(d, places[i]->memory);
    d->close(d);
    CHECK(dnn.alive() == 0 && fake_live() == 0);
}

/* Another image, a bias and relu follow in the order of the library's compiled engines, with zeros for a bias that is not there. */
static void follows_convolutions(void)
{
    kni_driver *d = kni_cuda_driver_open(0);
    if (!find_dnn() || !CHECK(d != NULL)) return;
    kni_convolution p = some_convolution(d);
    p.relu = true;
    CHECK(d->convolution(d, &p) == KN_OK && made_of(LIST(10, 1000, 1100)));
    p.added.memory = d->allocate(d, 1 << 14);
    CHECK(d->convolution(d, &p) == KN_OK && made_of(LIST(10, 1000, 1000, 1100)));
    CHECK(described(ADDED, DNN_STEPS, LIST(1024, 64, 8, 1)) && described(BIAS, DNN_DIMS, LIST(1, 16, 1, 1)));
    p.relu = false, p.bias.memory = d->allocate(d, 256);
    CHECK(d->convolution(d, &p) == KN_OK && made_of(LIST(10, 1000, 1000)));
    /* Gradients end where they are made. */
    p.what = KNI_CONVOLUTION_DATA;
    CHECK(d->convolution(d, &p) == KN_ERROR_UNSUPPORTED);
    kni_place *places[] = {&p.x, &p.w, &p.y, &p.added, &p.bias};
    for (int i = 0; i < 5; i++) d->free(d, places[i]->memory);
    d->close(d);
    CHECK(dnn.alive() == 0 && fake_live() == 0);
}

static char told[400];
static int tellings;
static void listen(void *user, kn_log_level level, const char *line)
{
    (void)level, (void)user;
    tellings++;
    snprintf(told, sizeof told, "%s", line);
}

/* Without TF32, f32 goes to engines that round nothing. No engine compiles at run time. A missing plan is logged once. */
static void chooses_engines(void)
{
    kni_driver *d = kni_cuda_driver_open(0);
    if (!find_dnn() || !CHECK(d != NULL)) return;
    kni_convolution p = some_convolution(d);
    CHECK(d->convolution(d, &p) == KN_OK && dnn.engine() == 0);
    p.dtype = KN_F32;
    CHECK(d->convolution(d, &p) == KN_OK && dnn.engine() == 2 && described(X, DNN_DTYPE, LIST(0)));
    p.tf32 = true;
    CHECK(d->convolution(d, &p) == KN_OK && dnn.engine() == 0);
    setenv("FAKE_CUDNN_REFUSES", "1", 1);
    kn_log_set(listen, NULL);
    p.stride[0] = 2, tellings = 0;
    for (int i = 0; i < 3; i++) CHECK(d->convolution(d, &p) == KN_ERROR_UNSUPPORTED);
    CHECK(tellings == 1 && strstr(told, "cuDNN has no plan for a convolution of 2 x 8 channels[8, 8]"));
    kn_log_set(NULL, NULL);
    kni_place *places[] = {&p.x, &p.w, &p.y};
    for (int i = 0; i < 3; i++) d->free(d, places[i]->memory);
    d->close(d);
    CHECK(dnn.alive() == 0 && fake_live() == 0);
}

static void end_convolution(kni_driver *d, const kni_convolution *p)
{
    const kni_place *places[] = {&p->x, &p->w, &p->y};
    for (int i = 0; i < 3; i++) d->free(d, places[i]->memory);
    d->close(d);
    CHECK(dnn.alive() == 0 && fake_live() == 0);
}

/* Tiles are transformed where the caller says that it makes good what that spoils, in f32 and without relu; small ones by default. */
static void transforms_tiles(void)
{
    static const struct {
        const char *allowed, *notes;
        bool fits;
    } cases[] = {{NULL, "56", true}, {NULL, "57", false},   {NULL, "58", false},   {NULL, "3", false},
                 {"off", "", true},  {"off", "56", false},  {"large", "56", true}, {"large", "57", true},
                 {NULL, "", true},   {"large", "58", true}, {"large", "3", true}};
    for (int i = 0; i < KNI_COUNT(cases); i++) {
        setenv("FAKE_CUDNN_NOTES", cases[i].notes, 1);
        unsetenv("KN_CUDNN_TRANSFORM");
        if (cases[i].allowed) setenv("KN_CUDNN_TRANSFORM", cases[i].allowed, 1);
        kni_driver *d = kni_cuda_driver_open(0);
        if (!find_dnn() || !CHECK(d != NULL)) return;
        kni_convolution p = some_convolution(d);
        bool transformed = true;
        const bool transforms = cases[i].notes[0] != 0;
        p.dtype = KN_F32;
        CHECK(d->convolution(d, &p) == (transforms ? KN_ERROR_UNSUPPORTED : KN_OK));
        p.transformed = &transformed;
        for (p.what = KNI_CONVOLUTION_FORWARD; p.what <= KNI_CONVOLUTION_FILTER; p.what++) {
            const kn_status wanted = cases[i].fits ? KN_OK : KN_ERROR_UNSUPPORTED;
            transformed = !transforms;
            if (!CHECK(d->convolution(d, &p) == wanted && (wanted || transformed == transforms)))
                printf("case %d, %d\n", i, p.what);
        }
        p.what = KNI_CONVOLUTION_FORWARD, p.only_transformed = true;
        CHECK(d->convolution(d, &p) == (transforms && cases[i].fits ? KN_OK : KN_ERROR_UNSUPPORTED));
        p.only_transformed = false, p.relu = true;
        CHECK(d->convolution(d, &p) == (transforms ? KN_ERROR_UNSUPPORTED : KN_OK));
        p.relu = false, p.dtype = KN_BF16, transformed = true;
        CHECK(d->convolution(d, &p) == KN_OK && dnn.engine() == 0 && !transformed);
        end_convolution(d, &p);
    }
}

/* By default the first plans are timed when one is first run, but not in the middle of a recording, and the fastest one stays. */
static void times_plans(void)
{
    unsetenv("KN_CUDNN_TIME");
    kni_driver *d = kni_cuda_driver_open(0);
    if (!find_dnn() || !CHECK(d != NULL)) return;
    kni_convolution p = some_convolution(d);
    /* Engines 0 and 2, from each of three heuristics; four runs of each, and then the call's own. */
    CHECK(d->convolution(d, &p) == KN_OK && dnn.runs() == 6 * 4 + 1 && dnn.engine() == 2);
    CHECK(d->convolution(d, &p) == KN_OK && dnn.runs() == 6 * 4 + 2 && dnn.plans(false) == 1);
    p.stride[0] = 2;
    CHECK(d->record_begin(d) == KN_OK && d->convolution(d, &p) == KN_OK && dnn.engine() == 0);
    kni_recording *r = d->record_end(d);
    /* What the recording launches stays where it is. */
    CHECK(r && d->convolution(d, &p) == KN_OK && dnn.engine() == 2 && dnn.plans(false) == 7);
    d->record_free(d, r);
    end_convolution(d, &p);
}

/* Which plan was the fastest is found on disk when the device is opened again, for each convolution by itself. */
static void keeps_times(void)
{
    enum { TIMED = 6 * 4 };
    unsetenv("KN_CUDNN_TIME");
    unsetenv("KN_CACHE");
    setenv("KN_CACHE_DIR", folder, 1);
    long runs = 0;
    for (int turn = 0; turn < 2; turn++) {
        kni_driver *d = kni_cuda_driver_open(0);
        if (!find_dnn() || !CHECK(d != NULL)) return;
        kni_convolution p = some_convolution(d);
        for (int stride = 1; stride <= 2; stride++) {
            p.stride[0] = stride;
            runs += 1 + (turn ? 0 : TIMED);
            CHECK(d->convolution(d, &p) == KN_OK && dnn.runs() == runs && dnn.engine() == 2);
        }
        CHECK(dnn.plans(false) == 2);
        end_convolution(d, &p);
    }
    /* Switched off, nothing is looked up: the library's own order decides. */
    setenv("KN_CUDNN_TIME", "off", 1);
    kni_driver *d = kni_cuda_driver_open(0);
    if (!CHECK(d != NULL)) return;
    kni_convolution p = some_convolution(d);
    CHECK(d->convolution(d, &p) == KN_OK && dnn.runs() == runs + 1 && dnn.engine() == 0);
    end_convolution(d, &p);
}

/* Graphs are made, kept for each shape, and run with the memory they name; without cuDNN our own kernels run. */
static void attends(void)
{
    long (*runs)(void) = NULL, (*alive)(void) = NULL;
    find_function("fake_cudnn_runs", &runs), find_function("fake_cudnn_live", &alive);
    kni_driver *d = kni_cuda_driver_open(0);
    if (!runs || !alive || !CHECK(d != NULL)) return;
    const int64_t steps[3] = {2 * 128 * 64, 128 * 64, 64};
    kni_attention p = {.dtype = KN_BF16,
                       .batch = 2,
                       .heads = 4,
                       .key_heads = 2,
                       .queries = 128,
                       .keys = 128,
                       .size = 64,
                       .value_size = 64,
                       .scale = 0.125};
    kni_place *places[] = {&p.q, &p.k, &p.v, &p.out, &p.dy, &p.dq, &p.dk, &p.dv};
    for (int i = 0; i < 8; i++) places[i]->memory = d->allocate(d, 1 << 18);
    memcpy(p.k_steps, steps, sizeof steps), memcpy(p.v_steps, steps, sizeof steps);
    p.q_steps[0] = p.dy_steps[0] = 4 * 128 * 64, p.q_steps[1] = p.dy_steps[1] = 128 * 64,
    p.q_steps[2] = p.dy_steps[2] = 64;
    CHECK(d->attention(d, &p) == KN_OK && runs() == 1);
    p.lse.memory = d->allocate(d, 1 << 12);
    for (int i = 0; i < 4; i++) {
        p.causal = i % 2;
        CHECK(d->attention(d, &p) == KN_OK && d->attention_grad(d, &p) == KN_OK);
    }
    CHECK(runs() == 9);
    /* Nor are operands for the library that do not lie as it is told: our own kernels do not take them either. */
    struct {
        kni_place *place;
        int64_t *steps;
    } operands[] = {{&p.q, p.q_steps}, {&p.k, p.k_steps}, {&p.v, p.v_steps}, {&p.dy, p.dy_steps}};
    for (int i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++) {
            int64_t *changed = k < 3 ? &operands[i].steps[k] : &operands[i].place->offset;
            *changed += k < 3 ? 4 : 7;
            CHECK(d->attention_grad(d, &p) == KN_ERROR_UNSUPPORTED);
            CHECK(i == 3 || d->attention(d, &p) == KN_ERROR_UNSUPPORTED);
            *changed -= k < 3 ? 4 : 7;
        }
    CHECK(runs() == 9);
    /* A bias is one more operand of the library's, where it is dense along the keys; our own kernels take none. */
    p.bias.memory = d->allocate(d, 1 << 18);
    memcpy(p.bias_steps, (const int64_t[4]){0, 128 * 128, 128, 1}, sizeof p.bias_steps);
    CHECK(d->attention(d, &p) == KN_OK && d->attention_grad(d, &p) == KN_OK && runs() == 11);
    p.bias_steps[3] = 0;
    CHECK(d->attention(d, &p) == KN_ERROR_UNSUPPORTED && d->attention_grad(d, &p) == KN_ERROR_UNSUPPORTED);
    d->free(d, p.bias.memory);
    p.bias.memory = NULL;
    int64_t batches = p.batch, step = p.q_steps[0];
    p.batch = 1, p.q_steps[0] = 3; /* nobody takes that step */
    CHECK(d->attention(d, &p) == KN_OK && runs() == 12);
    p.batch = batches, p.q_steps[0] = step;
    setenv("FAKE_CUDNN_FAILS", "1", 1);
    CHECK(d->attention(d, &p) == KN_ERROR_INTERNAL && last_error_has("cuDNN failed"));
    unsetenv("FAKE_CUDNN_FAILS");
    /* Where the library has no plan, our own kernels are compiled; the stand-in does not know those. */
    setenv("FAKE_CUDNN_REFUSES", "1", 1);
    p.size = p.value_size = 128;
    CHECK(d->attention(d, &p) == KN_ERROR_INTERNAL && fake_calls("nvrtcCompileProgram") == 1);
    CHECK(d->attention_grad(d, &p) == KN_ERROR_INTERNAL && runs() == 13);
    p.size = p.value_size = 40;
    CHECK(d->attention(d, &p) == KN_ERROR_UNSUPPORTED && d->attention_grad(d, &p) == KN_ERROR_UNSUPPORTED);
    for (int i = 0; i < 8; i++) d->free(d, places[i]->memory);
    d->free(d, p.lse.memory);
    d->close(d);
    CHECK(fake_live() == 0 && alive() == 0);
}

/* The plans of large networks are made once; old ones go only where no recording holds what they launch. */
static void keeps_plans(void)
{
    enum { NETWORK = 68, MANY = 700, BOUND = 512 };
    long (*plans)(bool all) = NULL, (*alive)(void) = NULL;
    find_function("fake_cudnn_plans", &plans), find_function("fake_cudnn_live", &alive);
    kni_driver *d = kni_cuda_driver_open(0);
    if (!plans || !alive || !CHECK(d != NULL && d->record_begin)) return;
    kni_convolution p = some_convolution(d);
    for (int step = 0; step < 3; step++)
        for (p.images = 1; p.images <= NETWORK; p.images++) CHECK(d->convolution(d, &p) == KN_OK);
    CHECK(plans(true) == NETWORK && plans(false) == NETWORK);
    for (; p.images <= MANY; p.images++) CHECK(d->convolution(d, &p) == KN_OK);
    CHECK(plans(true) == MANY && plans(false) == BOUND);
    CHECK(d->record_begin(d) == KN_OK && d->convolution(d, &p) == KN_OK);
    for (p.images++; p.images <= MANY + 5; p.images++) CHECK(d->convolution(d, &p) == KN_OK);
    kni_recording *r = d->record_end(d);
    CHECK(r && plans(false) == BOUND + 5);
    for (; p.images <= 2 * MANY; p.images++) CHECK(d->convolution(d, &p) == KN_OK);
    CHECK(plans(false) == BOUND + MANY && d->replay(d, r) == KN_OK);
    d->record_free(d, r);
    CHECK(d->convolution(d, &p) == KN_OK && plans(false) == BOUND);
    /* Waiting fails once: it runs in another way, and nothing was released. */
    p.images++;
    fake_fail("cuStreamSynchronize", 1, 1);
    CHECK(d->convolution(d, &p) == KN_ERROR_UNSUPPORTED && plans(false) == BOUND);
    CHECK(d->convolution(d, &p) == KN_OK && plans(false) == BOUND);
    kni_place *places[] = {&p.x, &p.w, &p.y};
    for (int i = 0; i < 3; i++) d->free(d, places[i]->memory);
    d->close(d);
    CHECK(alive() == 0 && fake_live() == 0);
}

/* Which products our own kernel takes: operands of 16 bits on Hopper, results that rows and matrices share nothing of. The
   stand-in compiles it, but cannot run it. */
static void chooses_own_kernels(void)
{
    enum { SIZE = 64 };
    setenv("KN_VENDOR", "off", 1);
    for (int major = 8; major <= 10; major++) {
        setenv("FAKE_CUDA_MAJOR", major == 8 ? "8" : major == 9 ? "9" : "10", 1);
        kni_driver *d = kni_cuda_driver_open(0);
        if (!CHECK(d != NULL)) return;
        void *memory = d->allocate(d, 1 << 16);
        kni_product taken = {.m = SIZE, .n = SIZE, .k = SIZE, .batch = 1, .alpha = 1};
        taken.dtype = taken.out_dtype = KN_BF16;
        taken.a.memory = taken.b.memory = taken.d.memory = memory;
        taken.row_a = taken.row_b = taken.row_d = SIZE;
        for (int i = 0; i < 11; i++) {
            kni_product p = taken;
            if (i == 1) p.out_dtype = KN_F32;
            if (i == 2) p.batch = 2, p.step_d = SIZE * SIZE;
            if (i == 3) p.row_d = SIZE + 2;
            if (i == 4) p.dtype = p.out_dtype = KN_F16;
            if (i == 5) p.dtype = p.out_dtype = KN_F32;
            if (i == 6) p.out_dtype = KN_F16;
            if (i == 7) p.k = 0;
            if (i == 8) p.row_d = SIZE - 1;
            if (i == 9) p.batch = 2;
            if (i == 10) p.batch = 1 << 30, p.step_d = SIZE * SIZE;
            const kn_status wanted = major == 9 && i < 5 ? KN_ERROR_INTERNAL : KN_ERROR_UNSUPPORTED;
            if (!CHECK(d->product(d, &p) == wanted)) printf("capability %d.0, product %d\n", major, i);
        }
        d->free(d, memory);
        d->close(d);
        CHECK(fake_live() == 0);
    }
    unsetenv("FAKE_CUDA_MAJOR");
}

/* Our own kernels stay until the device is closed, however many there are. */
static void keeps_own_kernels(void)
{
    setenv("KN_VENDOR", "off", 1);
    kni_driver *d = kni_cuda_driver_open(0);
    if (!CHECK(d != NULL)) return;
    void *memory = d->allocate(d, 1 << 16);
    kni_product p = {.m = 64, .n = 64, .k = 64, .batch = 1, .alpha = 1};
    kni_place *places[] = {&p.a, &p.b, &p.c, &p.d, &p.bias, &p.aux};
    for (int i = 0; i < 6; i++) places[i]->memory = memory;
    p.row_a = p.row_b = p.row_c = p.row_d = 64;
    long compiled = 0, unloaded = fake_calls("cuModuleUnload");
    for (int turn = 0; turn < 2; turn++) {
        for (int i = 0; i < 128; i++) {
            p.dtype = p.out_dtype = i & 1 ? KN_F16 : KN_BF16;
            p.transpose_a = i & 2, p.transpose_b = i & 4, p.beta = (i & 8) / 8, p.epilogue = i >> 4;
            /* The stand-in compiles it, but cannot run it. */
            CHECK(d->product(d, &p) == KN_ERROR_INTERNAL);
        }
        if (!turn) compiled = fake_calls("nvrtcCompileProgram");
    }
    CHECK(compiled == 128 && fake_calls("nvrtcCompileProgram") == compiled);
    CHECK(fake_calls("cuModuleUnload") == unloaded);
    d->free(d, memory);
    d->close(d);
    CHECK(fake_calls("cuModuleUnload") == unloaded + 128 && fake_live() == 0);
}

int main(void)
{
#ifdef SKIPPED
    check_skip("MemorySanitizer: stand-ins of the driver");
    return check_report();
#endif
    if (!build_fake()) {
        check_skip("no C compiler");
        remove_fake();
        return check_report();
    }
    /* Only those that are about it time plans, so that the others can count runs. */
    setenv("KN_CUDNN_TIME", "off", 1);
    if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) situation(says_no_driver, 0);
    situation(says_old_driver, ALL);
    if (!dlopen("libnvrtc.so.12", RTLD_NOW | RTLD_LOCAL)) situation(says_no_compiler, DRIVER | PRODUCT);
    situation(works_without_products, DRIVER | COMPILER);
    common_situations(ALL);
    situation(multiplies_row_major, ALL);
    situation(multiplies_with_another_matrix, ALL);
    situation(keeps_uneven_biases, ALL);
    situation(times_products, ALL);
    situation(attends, ALL);
    situation(convolves, ALL);
    situation(describes_convolutions, ALL);
    situation(follows_convolutions, ALL);
    situation(chooses_engines, ALL);
    situation(transforms_tiles, ALL);
    situation(times_plans, ALL);
    situation(keeps_times, ALL);
    situation(keeps_plans, ALL);
    situation(chooses_own_kernels, ALL);
    situation(keeps_own_kernels, ALL);
    remove_fake();
    return check_report();
}
