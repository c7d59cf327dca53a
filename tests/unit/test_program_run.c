/* Runs of programs: inputs and slices that are missing, when memory goes back, stored dtypes, and several threads at once. */
#define _DEFAULT_SOURCE 1
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"
#include <fcntl.h>
#include <kn.h>
#include <kn/program.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

typedef kn_program_value value;

static value op(kn_builder b, const char *name, value x, value y, const kn_builder_attribute *a)
{
    return kn_builder_op(b, name, (value[]){x, y}, y.id ? 2 : 1, a);
}

static kn_program finish(kn_builder b, const value *outputs, int32_t n)
{
    kn_program p = kn_builder_finish(b, outputs, NULL, n);
    if (!CHECK(p != NULL)) printf("  %s\n", kn_last_error());
    kn_builder_free(b);
    return p;
}

static void missing_inputs_are_named(void)
{
    kn_builder b = kn_builder_new();
    value image = kn_builder_input(b, "image", KN_F32, "n"), flag = kn_builder_input(b, "flag", KN_BOOL, ""),
          y;
    kn_builder_if(b, flag);
    value changed = op(b, "relu", image, KN_NO_VALUE, NULL);
    kn_builder_else(b, &changed, 1);
    changed = op(b, "neg", image, KN_NO_VALUE, NULL);
    kn_builder_end(b, &changed, 1, &y, 1);
    kn_program p = finish(b, (value[]){y, image}, 2);
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(3), KN_F32)), no = kn_keep(kn_scalar_int(0, KN_BOOL)), out[2];
    CHECK_ERROR(kn_program_run(p, (kn_tensor[]){KN_NONE, no}, 2, out, 2), "input 'image' is missing");
    CHECK(!kn_ok(out[0]) && !kn_ok(out[1]));
    CHECK_ERROR(kn_program_run(p, (kn_tensor[]){x, KN_NONE}, 2, out, 2), "input 'flag' is missing");
    CHECK(kn_program_run(p, (kn_tensor[]){x, no}, 2, out, 2) == KN_OK &&
          kn_item(kn_sum(out[0], KN_AXES_ALL, false)) == -3);
    kn_program_free(p);
}

/* x has m rows and the loop n trips. */
static kn_program sums_rows(bool conditional)
{
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "n", 0, 8);
    value count = kn_builder_input(b, "count", KN_F32, "n"), x = kn_builder_input(b, "x", KN_F32, "m, 2"),
          sum = kn_builder_input(b, "sum", KN_F32, "2"), go = kn_builder_input(b, "go", KN_BOOL, ""),
          inside[3], out[2];
    kn_loop_args loop = {.trips = "n", .carried = &sum, .n_carried = 1, .sliced = &x, .n_sliced = 1};
    if (conditional) loop.condition = go;
    kn_builder_loop(b, &loop, inside);
    value next = op(b, "add", inside[1], inside[2], NULL);
    if (conditional)
        kn_builder_end(b, (value[]){go, next, next}, 3, out, 2);
    else
        kn_builder_end(b, (value[]){next, next}, 2, out, 2);
    (void)count;
    return finish(b, out, 2);
}

static void slices_are_as_many_as_trips(void)
{
    kn_program p = sums_rows(false), conditional = sums_rows(true);
    kn_tensor sum = kn_keep(kn_zeros(KN_SHAPE(2), KN_F32)), yes = kn_keep(kn_scalar_int(1, KN_BOOL)),
              no = kn_keep(kn_scalar_int(0, KN_BOOL)), out[2];
    for (int64_t n = 0; n < 4; n++)
        for (int64_t m = 1; m < 5; m++) {
            kn_scope scope = kn_scope_begin();
            kn_tensor in[4] = {kn_zeros(KN_SHAPE(n), KN_F32), kn_ones(KN_SHAPE(m, 2), KN_F32), sum, yes};
            kn_status s = kn_program_run(p, in, 4, out, 2);
            if (n == m)
                CHECK(s == KN_OK && kn_item(kn_sum(kn_alias(out[0]), KN_AXES_ALL, false)) == 2 * (double)n &&
                      kn_size(out[1], 0) == n);
            else
                CHECK(s == KN_ERROR_SHAPE && strstr(kn_last_error(), "slices along axis 0"));
            kn_scope_end(scope, KN_NONE);
        }
    kn_tensor in[4] = {kn_keep(kn_zeros(KN_SHAPE(2), KN_F32)), kn_keep(kn_ones(KN_SHAPE(2, 2), KN_F32)), sum,
                       no};
    CHECK(kn_program_run(conditional, in, 4, out, 2) == KN_OK && kn_size(out[1], 0) == 0);
    in[3] = yes;
    CHECK(kn_program_run(conditional, in, 4, out, 2) == KN_OK && kn_size(out[1], 0) == 2);
    kn_program_free(p);
    kn_program_free(conditional);
}

/* Printed C has no tensors that know their sizes: it compares them itself, where they only may be equal. */
static void printed_slices_are_compared(void)
{
    char path[300], text[20000];
    const char *base = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/kiln_program_run_XXXXXX", base ? base : "/tmp");
    int file = mkstemp(path);
    kn_program p = sums_rows(false);
    kn_status s = kn_program_to_c(p, path, &(kn_program_to_c_args){.name = "rows"});
    CHECK(s == KN_ERROR_UNSUPPORTED); /* m has no bound */
    kn_program_free(p);
    kn_builder b = kn_builder_new();
    kn_builder_size(b, "n", 0, 8);
    kn_builder_size(b, "m", 1, 8);
    value x = kn_builder_input(b, "x", KN_F32, "m, 2"), sum = kn_builder_input(b, "sum", KN_F32, "n"),
          inside[3], out;
    kn_loop_args loop = {.trips = "n", .carried = &sum, .n_carried = 1, .sliced = &x, .n_sliced = 1};
    kn_builder_loop(b, &loop, inside);
    kn_builder_end(b, (value[]){op(b, "neg", inside[1], KN_NO_VALUE, NULL)}, 1, &out, 1);
    p = finish(b, &out, 1);
    CHECK(kn_program_to_c(p, path, &(kn_program_to_c_args){.name = "rows"}) == KN_OK);
    int again = open(path, O_RDONLY); /* the file is written anew */
    ssize_t n = read(again, text, sizeof text - 1);
    text[n > 0 ? n : 0] = 0;
    CHECK(strstr(text, ") != n") && strstr(text, "return rows_BAD_SIZE;"));
    close(again);
    close(file);
    unlink(path);
    kn_program_free(p);
}

/* What only an If inside the loop's body reads goes back after it, not at the end of the run. */
static void memory_of_trips_goes_back(void)
{
    enum { ELEMENTS = 1 << 18, TRIPS = 50 };
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "262144"), flag = kn_builder_input(b, "flag", KN_BOOL, ""),
          inside[2], y, after;
    kn_loop_args loop = {.trips = "50", .carried = &x, .n_carried = 1};
    kn_builder_loop(b, &loop, inside);
    value captured = op(b, "neg", inside[1], KN_NO_VALUE, NULL);
    kn_builder_if(b, flag);
    value first = op(b, "relu", captured, KN_NO_VALUE, NULL);
    kn_builder_else(b, &first, 1);
    first = op(b, "abs", captured, KN_NO_VALUE, NULL);
    kn_builder_end(b, &first, 1, &y, 1);
    kn_builder_end(b, &y, 1, &after, 1);
    kn_program p = finish(b, &after, 1);
    kn_device device = kn_device_open("cpu");
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    kn_tensor in[2] = {kn_keep(kn_ones(KN_SHAPE(ELEMENTS), KN_F32)), kn_keep(kn_scalar_int(1, KN_BOOL))}, out;
    kn_memory before = kn_memory_stats();
    CHECK(kn_program_run(p, in, 2, &out, 1) == KN_OK);
    CHECK(kn_memory_stats().bytes_peak - before.bytes_now < 8 * ELEMENTS * (int64_t)sizeof(float));
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
    kn_program_free(p);
}

static void stored_dtypes(void)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_I4, "n"), z = kn_builder_input(b, "z", KN_I4, "n");
    value less = op(b, "less", x, z, NULL);
    value smaller = kn_builder_op(b, "where", (value[]){less, x, z}, 3, NULL);
    value padded =
        op(b, "pad", smaller, KN_NO_VALUE,
           (kn_builder_attribute[]){{"before", "1", 0}, {"after", "0", 0}, {"value", NULL, -3}, {0}});
    kn_program p = finish(b, (value[]){less, padded}, 2);
    int8_t a[3] = {-8, 0, 7}, c[3] = {-7, -1, 7}, got[4];
    bool is_less[3];
    kn_tensor in[2] = {kn_keep(kn_cast(kn_from(a, KN_I8, KN_SHAPE(3)), KN_I4)),
                       kn_keep(kn_cast(kn_from(c, KN_I8, KN_SHAPE(3)), KN_I4))},
              out[2];
    kn_program_port port;
    CHECK(kn_program_output(p, 1, &port) == KN_OK && port.dtype == KN_I4);
    CHECK(kn_program_run(p, in, 2, out, 2) == KN_OK && kn_dtype_of(out[1]) == KN_I4);
    CHECK(kn_read(out[0], is_less, 3) == KN_OK && is_less[0] && !is_less[1] && !is_less[2]);
    CHECK(kn_read_as(out[1], KN_I8, got, 4) == KN_OK && got[0] == -3 && got[1] == -8 && got[2] == -1 &&
          got[3] == 7);
    kn_program_free(p);
    b = kn_builder_new();
    x = kn_builder_input(b, "x", KN_F8_E4M3, "n");
    op(b, "add", x, x, NULL);
    CHECK(
        !kn_builder_finish(b, &x, NULL, 1) &&
        strstr(
            kn_last_error(),
            "does not take f8_e4m3, which is only stored: cast operand 0 first, as with kn_cast(x, KN_F32)"));
    kn_builder_free(b);
    static const char *const makers[] = {"full", "iota", "random_uniform"};
    for (int i = 0; i < 3; i++) {
        char words[80];
        b = kn_builder_new();
        const char *size = i == 1 ? "length" : "shape";
        snprintf(words, sizeof words, "kn_%s: makes no f8_e5m2, which is only stored: make f32 and cast it",
                 makers[i]);
        kn_builder_op(b, makers[i], NULL, 0,
                      (kn_builder_attribute[]){{size, "3", 0}, {"dtype", "f8_e5m2", 0}, {0}});
        CHECK(!kn_builder_finish(b, NULL, NULL, 0) && strstr(kn_last_error(), words));
        kn_builder_free(b);
    }
    b = kn_builder_new();
    x = kn_builder_input(b, "x", KN_I4, "n");
    z = kn_builder_input(b, "z", KN_U4, "n");
    kn_builder_op(b, "concat", (value[]){x, z}, 2, (kn_builder_attribute[]){{"axis", "0", 0}, {0}});
    CHECK(!kn_builder_finish(b, &x, NULL, 1) &&
          strstr(kn_last_error(), "operand 1 is u4 and another one i4"));
    kn_builder_free(b);
}

/* Either of two unknown sizes may be 1: the type of what they broadcast to says so, and a run gives what it says. */
static void unknown_sizes_broadcast(void)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n, 4"), w = kn_builder_input(b, "w", KN_F32, "m, 4");
    value z = op(b, "add", x, w, NULL);
    value batched = kn_builder_input(b, "a", KN_F32, "n, 2, 3"),
          other = kn_builder_input(b, "b", KN_F32, "m, 3, 2");
    value product = op(b, "matmul", batched, other, NULL);
    kn_program p = finish(b, (value[]){z, product}, 2);
    kn_program_port port;
    CHECK(kn_program_output(p, 0, &port) == KN_OK && !strcmp(port.shape, "max(n, m), 4"));
    CHECK(kn_program_output(p, 1, &port) == KN_OK && !strcmp(port.shape, "max(n, m), 2, 2"));
    const int64_t sizes[][2] = {{1, 1}, {2, 1}, {1, 2}, {3, 3}};
    for (int i = 0; i < 4; i++) {
        kn_scope scope = kn_scope_begin();
        int64_t n = sizes[i][0], m = sizes[i][1], larger = n > m ? n : m;
        kn_tensor in[4] = {kn_ones(KN_SHAPE(n, 4), KN_F32), kn_ones(KN_SHAPE(m, 4), KN_F32),
                           kn_ones(KN_SHAPE(n, 2, 3), KN_F32), kn_ones(KN_SHAPE(m, 3, 2), KN_F32)},
                  out[2];
        CHECK(kn_program_run(p, in, 4, out, 2) == KN_OK && kn_size(out[0], 0) == larger &&
              kn_size(out[1], 0) == larger);
        kn_scope_end(scope, KN_NONE);
    }
    kn_program_free(p);
}

static void names_that_no_input_tells_are_refused(void)
{
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n, 4");
    value y = op(b, "reshape", x, KN_NO_VALUE, (kn_builder_attribute[]){{"shape", "q, 2", 0}, {0}});
    CHECK(!kn_builder_finish(b, &y, NULL, 1) &&
          strstr(kn_last_error(), "the size 'q' stands in no input's shape"));
    kn_builder_free(b);
    b = kn_builder_new();
    x = kn_builder_input(b, "x", KN_F32, "n, 4");
    value inside[2];
    kn_loop_args loop = {.trips = "steps", .carried = &x, .n_carried = 1};
    kn_builder_loop(b, &loop, inside);
    kn_builder_end(b, &inside[1], 1, &y, 1);
    CHECK(!kn_builder_finish(b, &y, NULL, 1) &&
          strstr(kn_last_error(), "the size 'steps' stands in no input's shape"));
    kn_builder_free(b);
    b = kn_builder_new();
    x = kn_builder_input(b, "x", KN_F32, "n, 4");
    y = op(b, "leaky_relu", x, KN_NO_VALUE, (kn_builder_attribute[]){{"slope", "0.1", 0}, {0}});
    CHECK(!kn_builder_finish(b, &y, NULL, 1) && strstr(kn_last_error(), "slope is a real number"));
    kn_builder_free(b);
}

static void a_trace_has_no_input_twice(void)
{
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(2), KN_F32));
    CHECK(kn_program_begin(NULL) == KN_OK);
    kn_tensor y = kn_keep(kn_neg(x));
    CHECK(!kn_program_end((kn_tensor[]){x, x}, 2, &y, 1) &&
          strstr(kn_last_error(), "inputs 0 and 1 are one tensor"));
}

/* ---- threads */

typedef struct worker {
    kn_program program;
    const char *device;
    int good;
} worker;

enum { RUNS = 200 };

static void *work(void *argument)
{
    worker *w = argument;
    kn_device device = kn_device_open(w->device);
    kn_device_use(device);
    for (int i = 0; i < RUNS; i++) {
        kn_scope scope = kn_scope_begin();
        int64_t n = 1 + i % 5;
        kn_tensor x = kn_full(KN_SHAPE(n, 4), i, KN_F32), y;
        w->good += kn_program_run(w->program, &x, 1, &y, 1) == KN_OK &&
                   kn_item(kn_sum(y, KN_AXES_ALL, false)) == 16.0 * (double)(n * i);
        kn_scope_end(scope, KN_NONE);
    }
    kn_device_close(device);
    return NULL;
}

static void several_threads_run_one_program(void)
{
    static const char *const devices[] = {"cpu", "ref", "fusion(cpu)", "ref"};
    kn_builder b = kn_builder_new();
    value x = kn_builder_input(b, "x", KN_F32, "n, 4"),
          w = kn_builder_param(b, "w", kn_ones(KN_SHAPE(4, 4), KN_F32));
    value y = op(b, "matmul", x, w, NULL);
    kn_program p = finish(b, &y, 1);
    pthread_t threads[4];
    worker workers[4];
    for (int i = 0; i < 4; i++) {
        workers[i] = (worker){p, devices[i], 0};
        CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        CHECK(workers[i].good == RUNS);
    }
    kn_program_free(p);
}

int main(void)
{
    kn_scope scope = kn_scope_begin();
    missing_inputs_are_named();
    slices_are_as_many_as_trips();
    printed_slices_are_compared();
    memory_of_trips_goes_back();
    stored_dtypes();
    unknown_sizes_broadcast();
    names_that_no_input_tells_are_refused();
    a_trace_has_no_input_twice();
    several_threads_run_one_program();
    kn_scope_end(scope, KN_NONE);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
