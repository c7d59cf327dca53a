/* The backend of devices that compile kernels, on OpenCL where there is one: opening, memory, writing and reading,
   messages. Without a device only the messages are looked at. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* setenv */
#endif
#include "support/check.h"
#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static kn_device gpu;

static void names(void)
{
    CHECK(!kn_device_open("opencl:63"));
    CHECK(strstr(kn_last_error(), "opencl:63"));
    CHECK(!kn_device_open("opencl:first"));
    CHECK(strstr(kn_last_error(), "opencl:0"));
    CHECK(!kn_device_open("opencl(cpu)"));
    char text[200];
    CHECK(!kn_device_describe(-1, text, sizeof text) && !text[0]);
    CHECK(!kn_device_describe(1000, text, sizeof text));
}

static void moves_data(void)
{
    float in[24], back[24] = {0};
    for (int i = 0; i < 24; i++) in[i] = (float)i / 3;
    kn_scope scope = kn_scope_begin();
    kn_device_use(gpu);
    kn_tensor x = kn_keep(kn_from(in, KN_F32, KN_SHAPE(2, 3, 4)));
    CHECK(kn_read(x, back, sizeof back) == KN_OK);
    CHECK(!memcmp(in, back, sizeof in));
    kn_tensor half = kn_from(in, KN_U8, KN_SHAPE(0, 5));
    CHECK(kn_read(half, back, 0) == KN_OK);
    CHECK(kn_item(kn_scalar(2.5, KN_F32)) == 2.5);
    /* Through the CPU and back. */
    kn_tensor there = kn_to(kn_to(x, kn_device_cpu()), gpu);
    CHECK(kn_read(there, back, sizeof back) == KN_OK);
    CHECK(!memcmp(in, back, sizeof in));
    CHECK(!kn_to_dlpack(x));
    kn_scope_end(scope, KN_NONE);
    CHECK(kn_sync(gpu) == KN_OK);
}

static int releases;
static void count_release(void *context)
{
    (void)context;
    releases++;
}

static void wraps_by_copy(void)
{
    int32_t in[6] = {1, 2, 3, 4, 5, 6}, back[6], turned[6] = {1, 4, 2, 5, 3, 6};
    int64_t strides[2] = {1, 3};
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_wrap(in, KN_I32, KN_SHAPE(3, 2), strides, count_release, NULL));
    CHECK(releases == 1);
    CHECK(kn_read(x, back, sizeof back) == KN_OK);
    CHECK(!memcmp(back, turned, sizeof back));
    kn_scope_end(scope, KN_NONE);
}

static void gives_memory_back(void)
{
    char text[300];
    for (int turn = 0; turn < 50; turn++) {
        kn_scope scope = kn_scope_begin();
        float v[100] = {0};
        for (int i = 0; i < 20; i++) (void)kn_from(v, KN_F32, KN_SHAPE(100));
        kn_scope_end(scope, KN_NONE);
    }
    CHECK(kn_device_report(gpu, "memory", text, sizeof text) > 0);
    CHECK(strstr(text, " 0 bytes in use in 0 blocks"));
}

/* A child may not use what its parent opened. */
static void refuses_a_forked_child(void)
{
    float v = 1;
    pid_t child = fork();
    if (child == 0) {
        kn_tensor x = kn_from(&v, KN_F32, KN_SHAPE(1));
        _exit(!kn_ok(x) && strstr(kn_last_error(), "fork") ? 0 : 1);
    }
    int status = 1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Views, copies by strides, arithmetic, products and halves, with known results. */
static void computes(void)
{
    kn_scope scope = kn_scope_begin();
    float in[6] = {1, 2, 3, 4, 5, 6};
    kn_tensor x = kn_keep(kn_from(in, KN_F32, KN_SHAPE(2, 3)));
    kn_tensor turned = kn_keep(kn_transpose(x, 0, 1));
    CHECK_VALUES(turned, 0, 1, 4, 2, 5, 3, 6);
    CHECK_VALUES(kn_reshape(turned, KN_SHAPE(6)), 0, 1, 4, 2, 5, 3, 6);
    CHECK_VALUES(kn_add(turned, kn_scalar(1, KN_F32)), 0, 2, 5, 3, 6, 4, 7);
    CHECK_VALUES(kn_matmul(x, turned), 0, 14, 32, 32, 77);
    CHECK_VALUES(kn_sum(turned, KN_AXES(0), false), 0, 6, 15);
    CHECK_VALUES(kn_cumsum(x, 1), 0, 1, 3, 6, 4, 9, 15);
    CHECK_VALUES(kn_mul(kn_cast(x, KN_BF16), kn_cast(x, KN_BF16)), 0, 1, 4, 9, 16, 25, 36);
    CHECK_VALUES(kn_sqrt(kn_cast(x, KN_F16)), 1e-3, 1, 1.41421, 1.73205, 2, 2.23607, 2.44949);
    /* Kernels are found by signature: sizes that happen to equal a stride must not be taken for it. */
    float cube[16];
    for (int i = 0; i < 16; i++) cube[i] = (float)(i + 1);
    for (int64_t rows = 2; rows <= 4; rows++) {
        kn_tensor planes = kn_from(cube, KN_F32, KN_SHAPE(rows, 2, 2));
        kn_tensor traces = kn_keep(kn_einsum("bcc->b", &planes, 1));
        float got[4] = {0};
        CHECK(kn_read(traces, got, (size_t)rows * sizeof *got) == KN_OK);
        for (int64_t i = 0; i < rows; i++) CHECK(got[i] == cube[4 * i] + cube[4 * i + 3]);
    }
    kn_scope_end(scope, KN_NONE);
}

static bool near(kn_tensor there, kn_tensor here, double limit)
{
    kn_tensor back = kn_to(there, kn_device_cpu());
    return kn_item(kn_max(kn_abs(kn_sub(back, here)), KN_AXES_ALL, false)) <= limit;
}

/* A convolution of several groups, and views that have to be copied along three axes. */
static void convolves_and_copies(void)
{
    kn_scope scope = kn_scope_begin();
    kn_device_use(kn_device_cpu());
    kn_tensor x = kn_keep(kn_sin(kn_reshape(kn_arange(0, 2 * 4 * 5 * 6, 1, KN_F32), KN_SHAPE(2, 4, 5, 6)))),
              w = kn_keep(kn_cos(kn_reshape(kn_arange(0, 6 * 2 * 3 * 3, 1, KN_F32), KN_SHAPE(6, 2, 3, 3))));
    kn_conv2d_args args = {.groups = 2, .padding = {1, 1}};
    kn_tensor y = kn_keep(kn_conv2d(x, w, KN_NONE, &args)),
              turned = kn_keep(kn_reshape(kn_permute(x, KN_AXES(3, 2, 0, 1)), KN_SHAPE(-1)));
    kn_tensor there = kn_keep(kn_to(x, gpu)), w_there = kn_keep(kn_to(w, gpu));
    kn_device_use(gpu);
    CHECK(near(kn_conv2d(there, w_there, KN_NONE, &args), y, 1e-5));
    CHECK(near(kn_reshape(kn_permute(there, KN_AXES(3, 2, 0, 1)), KN_SHAPE(-1)), turned, 0));
    kn_scope_end(scope, KN_NONE);
}

/* The same op on the same tensor with other attributes is another kernel. */
static void tells_attributes_apart(const char *name)
{
    kn_scope scope = kn_scope_begin();
    kn_device_use(kn_device_open(name));
    kn_tensor x = kn_keep(kn_from((float[]){1, 2, 3, 4}, KN_F32, KN_SHAPE(2, 2)));
    for (int turn = 0; turn < 3; turn++) {
        kn_tensor down = kn_keep(kn_sum(x, KN_AXES(0), false));
        CHECK_VALUES(kn_alias(down), 0, 4, 6);
        kn_drop(down);
        kn_tensor across = kn_keep(kn_sum(x, KN_AXES(1), false));
        CHECK_VALUES(kn_alias(across), 0, 3, 7);
        kn_drop(across);
        for (int range = 1; range < 4; range++) {
            kn_tensor y = kn_keep(kn_sub(kn_random_uniform(KN_SHAPE(2, 2), range, range + 0.5, KN_F32), x));
            float got[4] = {0};
            CHECK(kn_read(y, got, sizeof got) == KN_OK);
            for (int i = 0; i < 4; i++) {
                float drawn = got[i] + (float)(i + 1);
                CHECK(drawn >= (float)range && drawn <= (float)range + 0.5f);
            }
            kn_drop(y);
        }
    }
    kn_device_use(gpu);
    kn_scope_end(scope, KN_NONE);
}

/* An index that is not there is found by the device and told where the value is read. */
static void finds_faults(void)
{
    kn_scope scope = kn_scope_begin();
    float in[3] = {1, 2, 3}, row[2];
    int64_t good[2] = {2, 0}, bad[2] = {0, 5};
    kn_tensor x = kn_keep(kn_from(in, KN_F32, KN_SHAPE(3)));
    kn_tensor y = kn_keep(kn_index_take(x, 0, kn_from(bad, KN_I64, KN_SHAPE(2))));
    kn_tensor z = kn_keep(kn_neg(y));
    CHECK_ERROR(kn_read(z, row, sizeof row), "index 5");
    CHECK(!kn_ok(z) && kn_error_code(z) == KN_ERROR_INDEX);
    CHECK_VALUES(kn_index_take(x, 0, kn_from(good, KN_I64, KN_SHAPE(2))), 0, 3, 1);
    kn_scope_end(scope, KN_NONE);
}

/* Logits without a class: losses and gradients still look at the targets, on the device. */
static void finds_targets_without_a_class(void)
{
    const int64_t ignored[3] = {-100, -100, -100}, bad[3] = {-100, 2, -100};
    const kn_attribute_value attributes[] = {{.name = "ignore_index", .integer = -100}, {0}};
    const kn_cross_entropy_args apart = {.reduction = KN_REDUCTION_NONE};
    setenv("KN_FALLBACK", "off", 1);
    for (int turn = 0; turn < 2; turn++) {
        kn_scope scope = kn_scope_begin();
        kn_tensor x = kn_keep(kn_zeros(KN_SHAPE(3, 0), KN_F32)), dy = kn_keep(kn_ones(KN_SHAPE(3), KN_F32));
        kn_tensor target = kn_keep(kn_from(turn ? bad : ignored, KN_I64, KN_SHAPE(3)));
        kn_tensor loss = kn_keep(kn_cross_entropy(x, target, &apart)), in[4] = {dy, x, target, dy}, dx;
        float got[3];
        CHECK(kn_call("cross_entropy_grad", in, 4, attributes, &dx, 1) == KN_OK);
        dx = kn_keep(dx);
        if (turn) {
            CHECK_ERROR(kn_read(loss, got, sizeof got), "index 2 is out of range");
            CHECK_ERROR(kn_read(dx, got, 0), "index 2 is out of range");
        } else {
            CHECK_VALUES(kn_alias(loss), 0, 0, 0, 0);
            CHECK(kn_count(dx) == 0 && kn_read(dx, got, 0) == KN_OK);
        }
        kn_scope_end(scope, KN_NONE);
    }
    unsetenv("KN_FALLBACK");
}

/* Rows added to the rows that indices name: short and long runs of one index, with the same bits each time. */
static void adds_rows(void)
{
    enum { N = 1500, ROWS = 40, SIZE = 5 };
    static float values[N * SIZE], first[ROWS * SIZE], again[ROWS * SIZE];
    static int64_t at[N];
    static double expected[ROWS * SIZE];
    kn_scope scope = kn_scope_begin();
    kn_device_use(kn_device_open("autodiff(opencl:0)"));
    for (int i = 0; i < N; i++) {
        /* Row 7 has most of them, row 3 is left out, many rows have none. */
        at[i] = i % 3 ? 7 : i % 5 == 0 ? 3 : (i * 7) % 20;
        for (int k = 0; k < SIZE; k++) {
            values[i * SIZE + k] = (float)((i * 37 + k * 11) % 64) / 8;
            if (at[i] != 3) expected[at[i] * SIZE + k] += values[i * SIZE + k];
        }
    }
    kn_tensor dy = kn_keep(kn_from(values, KN_F32, KN_SHAPE(N / 2, 2, SIZE)));
    kn_tensor indices = kn_keep(kn_from(at, KN_I64, KN_SHAPE(N / 2, 2)));
    kn_tensor table = kn_keep(kn_require_grad(kn_zeros(KN_SHAPE(ROWS, SIZE), KN_F32)));
    for (int turn = 0; turn < 2; turn++) {
        kn_tensor y = kn_keep(kn_embedding(table, indices, &(kn_embedding_args){.padding_index = 3})), g;
        CHECK(kn_grad(&y, &dy, 1, &table, 1, 0, &g) == KN_OK);
        CHECK(kn_read(g, turn ? again : first, sizeof first) == KN_OK);
    }
    CHECK(!memcmp(first, again, sizeof first));
    for (int i = 0; i < ROWS * SIZE; i++) CHECK(first[i] == expected[i]); /* eighths: every sum is exact */
    /* Added to what is there, in halves and through a view, negative indices from the end. */
    kn_tensor base = kn_keep(kn_ones(KN_SHAPE(3, 2), KN_BF16));
    kn_tensor rows =
        kn_transpose(kn_cast(kn_from((float[]){1, 2, 3, 10, 20, 30}, KN_F32, KN_SHAPE(2, 3)), KN_BF16), 0, 1);
    kn_tensor three = kn_from((int64_t[]){2, 0, 2}, KN_I64, KN_SHAPE(3));
    CHECK_VALUES(kn_index_assign(base, 0, three, rows, KN_UPDATE_ADD), 0, 3, 21, 1, 1, 5, 41);
    kn_tensor wrong = kn_from((int64_t[]){2, 0, 3}, KN_I64, KN_SHAPE(3));
    float out[6];
    CHECK_ERROR(kn_read_as(kn_index_assign(base, 0, wrong, kn_ones(KN_SHAPE(3, 2), KN_BF16), KN_UPDATE_ADD),
                           KN_F32, out, sizeof out),
                "index 3");
    kn_scope_end(scope, KN_NONE);
    kn_device_use(gpu);
}

/* The same along an inner axis, with an index for each row and for each value: what the CPU computes. */
static void adds_along_an_axis(void)
{
    enum { OUTER = 5, AXIS = 70, COUNT = 4000, INNER = 5 };
    static float values[OUTER * COUNT * INNER], got[OUTER * AXIS * INNER], expected[OUTER * AXIS * INNER];
    static int64_t at[OUTER * COUNT * INNER];
    kn_scope scope = kn_scope_begin();
    for (int i = 0; i < OUTER * COUNT * INNER; i++) {
        values[i] = (float)(i * 37 % 64) / 8;
        at[i] = i % 4 ? (int64_t)i * 31 % AXIS : 9;
    }
    for (int each = 0; each < 2; each++)
        for (int side = 0; side < 2; side++) {
            kn_device_use(side ? gpu : kn_device_cpu());
            kn_tensor x = kn_ones(KN_SHAPE(OUTER, AXIS, INNER), KN_F32);
            kn_tensor v = kn_from(values, KN_F32, KN_SHAPE(OUTER, COUNT, INNER)), y;
            if (each)
                y = kn_scatter(x, 1, kn_from(at, KN_I64, KN_SHAPE(OUTER, COUNT, INNER)), v, KN_UPDATE_ADD);
            else
                y = kn_index_assign(x, 1, kn_from(at, KN_I64, KN_SHAPE(COUNT)), v, KN_UPDATE_ADD);
            CHECK(kn_read(y, side ? got : expected, sizeof got) == KN_OK);
            if (side) CHECK(!memcmp(got, expected, sizeof got)); /* eighths: every sum is exact */
        }
    kn_scope_end(scope, KN_NONE);
    kn_device_use(gpu);
}

/* Sums of a few eighths in f32 are exact: only the rounding to the 8 bits of bf16 at the end is not. */
static bool nearly(const double *got, const double *expected, int64_t n)
{
    bool good = true;
    for (int64_t i = 0; i < n; i++) good &= fabs(got[i] - expected[i]) <= fabs(expected[i]) / 256;
    return good;
}

/* Every update by tuples and along an axis, in the order of the indices, and counts: what the CPU computes. */
static kn_tensor updated(int what, int update, kn_dtype dtype, const int64_t *at, const double *values)
{
    enum { TABLE = 60, N = 3000 };
    kn_tensor x = kn_add_scalar(kn_zeros(KN_SHAPE(TABLE, 2), dtype), 3);
    kn_tensor v = kn_cast(kn_from(values, KN_F64, KN_SHAPE(N, 2)), dtype);
    switch (what) {
    case 0:
        return kn_scatter_nd(x, kn_from(at, KN_I64, KN_SHAPE(N, 1)), v, (kn_update)update);
    case 1:
        return kn_index_assign(x, 0, kn_from(at, KN_I64, KN_SHAPE(N)), v, (kn_update)update);
    case 2:
        return kn_scatter(x, 0, kn_from(at, KN_I64, KN_SHAPE(N, 2)), v, (kn_update)update);
    case 3:
        return kn_bincount_bounded(kn_from(at, KN_I64, KN_SHAPE(N)), KN_NONE, TABLE);
    default:
        return kn_bincount_bounded(kn_from(at, KN_I64, KN_SHAPE(N)), kn_flatten(kn_narrow(v, 1, 1, 1), 0, -1),
                                   TABLE);
    }
}

static void updates_in_order(void)
{
    static int64_t at[6000];
    static double values[6000], got[120], expected[120];
    for (int i = 0; i < 6000; i++) {
        at[i] = i % 5 ? (int64_t)i * 31 % 60 : 7;
        values[i] = (double)(i * 37 % 64 - 30) / 8;
    }
    static const kn_dtype dtypes[] = {KN_F32, KN_I64, KN_BF16, KN_U8};
    for (int d = 0; d < 4; d++)
        for (int what = 0; what < 5; what++)
            for (int update = KN_UPDATE_ASSIGN; update <= (what < 3 ? KN_UPDATE_MAX : 0); update++) {
                /* Every way meets every dtype, with one update at least. */
                if (update != (what < 3 ? (d + what) % (KN_UPDATE_MAX + 1) : 0) &&
                    !check_part((d * 5 + what) * 8 + update, 5))
                    continue;
                bool rounds = d == 2 && update == KN_UPDATE_ADD; /* not where the CPU does */
                kn_scope scope = kn_scope_begin();
                for (int side = 0; side < 2; side++) {
                    kn_device_use(side ? gpu : kn_device_cpu());
                    kn_tensor y =
                        kn_keep(updated(what, update, rounds && !side ? KN_F64 : dtypes[d], at, values));
                    size_t bytes = (size_t)kn_count(y) * sizeof *got;
                    CHECK(kn_read_as(y, KN_F64, side ? got : expected, bytes) == KN_OK);
                    if (side &&
                        !CHECK(rounds ? nearly(got, expected, kn_count(y)) : !memcmp(got, expected, bytes)))
                        printf("  %d by %d of %s\n", what, update, kn_dtype_name(dtypes[d]));
                }
                kn_scope_end(scope, KN_NONE);
            }
    kn_scope scope = kn_scope_begin();
    float out[4];
    kn_tensor tuples = kn_from((int64_t[]){1, -1, 1, 2}, KN_I64, KN_SHAPE(2, 2));
    kn_tensor two = kn_from((float[]){5, 6}, KN_F32, KN_SHAPE(2));
    CHECK_ERROR(kn_read(kn_scatter_nd(kn_zeros(KN_SHAPE(2, 2), KN_F32), tuples, two, KN_UPDATE_ASSIGN), out,
                        sizeof out),
                "index 2");
    kn_scope_end(scope, KN_NONE);
}

static kn_status same_type(void *context, const kn_type *in, kn_type *out)
{
    (void)context;
    out[0] = in[0];
    return KN_OK;
}

static kn_status double_it(void *context, const kn_span *in, const kn_span *out)
{
    (void)context;
    for (int i = 0; i < 3; i++) ((float *)out[0].data)[i] = 2 * ((const float *)in[0].data)[i];
    return KN_OK;
}

/* A function of the host reads its operands from the device and writes its results back, unless that is forbidden. */
static void runs_functions_of_the_host(void)
{
    kn_scope scope = kn_scope_begin();
    kn_custom_op op = {"test_gpu_double", 1, 1, same_type, double_it, NULL, NULL, NULL};
    kn_op_handle h = kn_custom_register(&op);
    kn_tensor x = kn_keep(kn_from((float[]){1, 2, 3}, KN_F32, KN_SHAPE(3))), y = KN_NONE;
    CHECK(h && kn_custom_call(h, &x, &y) == KN_OK);
    CHECK_VALUES(y, 0, 2, 4, 6);
    setenv("KN_FALLBACK", "off", 1);
    CHECK_ERROR(kn_custom_call(h, &x, &y), "KN_FALLBACK=off");
    unsetenv("KN_FALLBACK");
    kn_scope_end(scope, KN_NONE);
}

int main(void)
{
    unsetenv("KN_FALLBACK");
    names();
    gpu = kn_device_open("opencl:0");
    if (!gpu) {
        check_skip("no OpenCL device");
        return check_report();
    }
    CHECK(kn_device_open("opencl") == gpu);
    kn_device_use(gpu);
    moves_data();
    wraps_by_copy();
    computes();
    convolves_and_copies();
    tells_attributes_apart("opencl:0");
    tells_attributes_apart("fusion(opencl:0)");
    finds_faults();
    finds_targets_without_a_class();
    adds_rows();
    adds_along_an_axis();
    updates_in_order();
    runs_functions_of_the_host();
    gives_memory_back();
    refuses_a_forked_child();
    return check_report();
}
