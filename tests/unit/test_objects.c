/* Handles of objects that were freed, belong to another kind, are NULL or garbage: every function that takes one says so, with
   its name and the line. Here the objects of ops, files and optimisers; test_objects_train.c has the others. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "test_objects.h"
#include "test_optim_net.h"
#include <kn/program.h>
#include <kn/store.h>
#include <pthread.h>
#include <stdlib.h>

static Net net;
static kn_state good_state;
static kn_optim good_optim;
static kn_grads good_grads;

static kn_grads make_grads(void)
{
    kn_grads grads = NULL;
    net_loss(&net, 0, &grads);
    return grads;
}

/* ---- every use of a kind */

static void use_grads(kn_grads h, const char *words)
{
    double norm;
    bool stepped;
    kn_tensor weight = kn_value(net.in.weight);
    kn_accumulator a = kn_accumulator_make();
    kn_loss_scaler scaler = kn_loss_scaler_make();
    USE_TENSOR(kn_grads_get, h, weight);
    USE_TENSOR(kn_grads_take, h, weight);
    USE_STATUS(kn_grads_replace, h, weight, weight);
    USE(kn_grads_count, h);
    USE_STATUS(kn_grads_clip, h, NET(&net), KN_CLIP_NORM, 1, &norm);
    USE_TENSOR(kn_grads_norm, h, NET(&net));
    USE_STATUS(kn_optim_step, good_optim, 0.1, NET(&net), h);
    USE_STATUS(kn_optim_step_rates, good_optim, &(double){0.1}, 1, NET(&net), h);
    USE_STATUS(kn_loss_scaler_step, &scaler, good_optim, 0.1, NET(&net), h, &stepped);
    USE_STATUS(kn_accumulator_add, a, NET(&net), h, 1);
    kn_accumulator_free(a);
}

static kn_program make_program(void)
{
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(2), KN_F32));
    if (kn_program_begin(NULL)) return NULL;
    kn_tensor y = kn_keep(kn_exp(x));
    return kn_program_end(&x, 1, &y, 1);
}

static void use_program(kn_program h, const char *words)
{
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(2), KN_F32)), y;
    char text[100];
    USE_STATUS(kn_program_run, h, &x, 1, &y, 1);
    USE(kn_program_print, h, text, sizeof text);
    USE_STATUS(kn_program_simplify, h, KN_PASS_ALL);
    USE_STATUS(kn_program_to_c, h, "no_program.c", NULL);
    USE_STATUS(kn_program_to_source, h, "no_program", NULL);
    kn_program_port port;
    USE(kn_program_inputs, h);
    USE(kn_program_outputs, h);
    USE_STATUS(kn_program_input, h, 0, &port);
    USE_STATUS(kn_program_output, h, 0, &port);
    kn_program_info info;
    kn_program_size_info size;
    void *data;
    size_t bytes;
    USE_STATUS(kn_program_describe, h, &info);
    USE_STATUS(kn_program_size, h, 0, &size);
    USE_STATUS(kn_program_save, h, "unwritten.safetensors", NULL);
    USE_STATUS(kn_program_save_memory, h, &data, &bytes, NULL);
}

static void use_builder(kn_builder h, const char *words)
{
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(2), KN_F32));
    kn_program_value v = {1}, inside[4];
    kn_loop_args loop = {.trips = "2"};
    kn_program_port port;
    USE_STATUS(kn_builder_size, h, "n", 1, 2);
    USE_STATUS(kn_builder_read_size, h, "n", KN_NO_VALUE, 1, 2);
    USE(kn_builder_input, h, "x", KN_F32, "n");
    USE(kn_builder_param, h, "w", x);
    USE(kn_builder_buffer, h, "w", x);
    USE(kn_builder_constant, h, x);
    USE(kn_builder_op, h, "exp", &v, 1, NULL);
    USE_STATUS(kn_builder_op_many, h, "exp", &v, 1, NULL, inside, 1);
    USE_STATUS(kn_builder_type, h, v, &port);
    USE_STATUS(kn_builder_name, h, v, "v");
    USE_STATUS(kn_builder_if, h, v);
    USE_STATUS(kn_builder_else, h, &v, 1);
    USE_STATUS(kn_builder_loop, h, &loop, inside);
    USE_STATUS(kn_builder_function, h, "f", &v, 1, inside);
    USE_STATUS(kn_builder_call, h, "f", &v, 1, inside, 1);
    USE_STATUS(kn_builder_end, h, &v, 1, inside, 1);
    USE(kn_builder_finish, h, &v, NULL, 1);
}

static const char kernel_text[] = "kernel twice(index item, in T x[], out T y[]) { y[item] = 2 * x[item]; }";

static void use_kernel(kn_kernel *h, const char *words)
{
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(2), KN_F32)), y;
    char text[100];
    kn_kernel *good = kn_kernel_compile(kernel_text, &(kn_kernel_options){.file = "good.kn"});
    USE_STATUS(kn_kernel_run, h, &x, 1, NULL, &y, 1);
    USE_STATUS(kn_kernel_debug, h, &x, 1, NULL, &y, 1);
    USE(kn_kernel_text, h, "c", text, sizeof text);
    kn_kernel_parameter_info info;
    USE(kn_kernel_parameter, h, 0, &info);
    USE_NULL(kn_kernel_op, &(kn_kernel_op_options){.name = "twice_of_no_kernel", .kernel = h});
    if (h)
        USE_NULL(kn_kernel_op,
                 &(kn_kernel_op_options){.name = "twice_of_no_kernel", .kernel = good, .gradient_kernel = h});
    kn_kernel_free(good);
}

static void use_state(kn_state h, const char *words)
{
    int64_t whole;
    double real;
    const char *text;
    kn_tensor t;
    void *data;
    size_t bytes;
    kn_ema ema = kn_ema_make(NET(&net), 0.9, false);
    kn_schedule schedule = kn_schedule_constant(1);
    kn_loss_scaler scaler = kn_loss_scaler_make();
    USE_STATUS(kn_state_put, h, "", "x", kn_ones(KN_SHAPE(2), KN_F32));
    USE_TENSOR(kn_state_get, h, "", "x");
    USE_STATUS(kn_state_put_int, h, "", "x", 1);
    USE_STATUS(kn_state_put_real, h, "", "x", 1);
    USE(kn_state_get_int, h, "", "x", &whole);
    USE(kn_state_get_real, h, "", "x", &real);
    USE_STATUS(kn_state_put_text, h, "x", "text");
    USE_NULL(kn_state_get_text, h, "x");
    USE(kn_state_count, h);
    USE_NULL(kn_state_name, h, 0, &t);
    USE(kn_state_text_count, h);
    USE_NULL(kn_state_text_name, h, 0, &text);
    USE_STATUS(kn_state_write, h, "/dev/null", KN_STORE_SAFETENSORS);
    USE_STATUS(kn_state_read, h, "/dev/null");
    USE_STATUS(kn_state_write_memory, h, &data, &bytes, KN_STORE_SAFETENSORS);
    USE_STATUS(kn_state_read_memory, h, "", 1);
    USE_STATUS(kn_module_save, NET(&net), h, "");
    USE_STATUS(kn_module_load, NET(&net), h, "");
    USE_STATUS(kn_optim_save, good_optim, NET(&net), h, "");
    USE_STATUS(kn_optim_load, good_optim, NET(&net), h, "");
    USE_STATUS(kn_loss_scaler_save, &scaler, h, "");
    USE_STATUS(kn_loss_scaler_load, &scaler, h, "");
    USE_STATUS(kn_ema_save, ema, NET(&net), h, "");
    USE_STATUS(kn_ema_load, ema, NET(&net), h, "");
    USE_STATUS(kn_schedule_save, schedule, h, "");
    USE_STATUS(kn_schedule_load, schedule, h, "");
    kn_ema_free(ema);
    kn_schedule_free(schedule);
}

/* A safetensors file of one tensor. */
static kn_store make_store(void)
{
    static const char file[] =
        "\x40\0\0\0\0\0\0\0{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}"
        "             1234";
    return kn_store_open_memory(file, 8 + 64 + 4, NULL);
}

static void use_store(kn_store h, const char *words)
{
    kn_store_entry entry;
    const char *name, *text;
    kn_load_report report;
    int64_t checked;
    USE(kn_store_format_of, h);
    USE_STATUS(kn_store_check, h, &checked);
    USE(kn_store_count, h);
    USE(kn_store_at, h, 0, &entry);
    USE(kn_store_find, h, "x");
    USE_TENSOR(kn_store_tensor, h, 0);
    USE(kn_store_text, h, 0, &name, &text);
    USE_STATUS(kn_load_store, NET(&net), h, NULL, &report);
    USE_STATUS(kn_load_new, NET(&net), h);
    kn_load_report_free(&report);
}

static kn_status no_closure(void *context, double *loss, kn_grads *grads)
{
    (void)context, (void)loss, (void)grads;
    return KN_OK;
}

static void use_optim(kn_optim h, const char *words)
{
    double loss;
    bool stepped;
    kn_loss_scaler scaler = kn_loss_scaler_make();
    USE_STATUS(kn_optim_step, h, 0.1, NET(&net), good_grads);
    USE_STATUS(kn_optim_step_closure, h, 0.1, NET(&net), no_closure, NULL, &loss);
    USE_STATUS(kn_optim_add_group, h, &(kn_optim_group){.pattern = "x"});
    if (h) USE_STATUS(kn_optim_add_group, good_optim, &(kn_optim_group){.pattern = "x", .optim = h});
    USE_STATUS(kn_optim_step_rates, h, &(double){0.1}, 1, NET(&net), good_grads);
    USE_STATUS(kn_optim_set_clip, h, KN_CLIP_NORM, 1);
    USE_STATUS(kn_optim_save, h, NET(&net), good_state, "");
    USE_STATUS(kn_optim_load, h, NET(&net), good_state, "");
    USE_STATUS(kn_loss_scaler_step, &scaler, h, 0.1, NET(&net), good_grads, &stepped);
}

static void use_accumulator(kn_accumulator h, const char *words)
{
    kn_grads taken;
    USE_STATUS(kn_accumulator_add, h, NET(&net), good_grads, 1);
    USE(kn_accumulator_count, h);
    USE_STATUS(kn_accumulator_take, h, &taken);
}

static void use_ema(kn_ema h, const char *words)
{
    USE_STATUS(kn_ema_update, h, NET(&net));
    USE_STATUS(kn_ema_swap, h, NET(&net));
    USE_STATUS(kn_ema_save, h, NET(&net), good_state, "");
    USE_STATUS(kn_ema_load, h, NET(&net), good_state, "");
}

static void use_schedule(kn_schedule h, const char *words)
{
    USE(kn_schedule_next, h);
    USE(kn_schedule_peek, h);
    USE(kn_schedule_report, h, 1);
    USE_STATUS(kn_schedule_save, h, good_state, "");
    USE_STATUS(kn_schedule_load, h, good_state, "");
    USE_NULL(kn_schedule_warm_up, 2, h);
    USE_NULL(kn_schedule_composed, &h, 1, KN_SCHEDULE_SUM);
    USE_NULL(kn_schedule_sequential, &h, 1, NULL);
}

/* ---- what holds besides */

static void an_object_belongs_to_one_other_at_most(void)
{
    kn_schedule part = kn_schedule_constant(2);
    kn_schedule whole = kn_schedule_warm_up(0, part);
    CHECK(whole && kn_schedule_peek(part) == 2);
    kn_schedule_free(part);
    CHECK(strstr(kn_last_error(), "kn_schedule_free: the schedule belongs to a kn_schedule"));
    CHECK(!kn_schedule_warm_up(1, part) && strstr(kn_last_error(), "belongs to a kn_schedule already"));
    CHECK(kn_schedule_peek(whole) == 2); /* the failure above freed nothing that was not its own */
    kn_schedule twice[] = {kn_schedule_constant(1), NULL};
    twice[1] = twice[0];
    CHECK(!kn_schedule_composed(twice, 2, KN_SCHEDULE_SUM));
    CHECK(kn_schedule_peek(twice[0]) == 0 && strstr(kn_last_error(), "was freed"));
    kn_schedule_free(whole);
    CHECK(kn_schedule_peek(part) == 0);
    CHECK(strstr(kn_last_error(), "kn_schedule_peek: the schedule was freed by kn_schedule_free at "));
    kn_optim group = kn_optim_sgd(NULL), optim = kn_optim_adam(NULL);
    CHECK(kn_optim_add_group(optim, &(kn_optim_group){.pattern = "in", .optim = group}) == KN_OK);
    kn_optim_free(group);
    CHECK(strstr(kn_last_error(), "kn_optim_free: the optimiser belongs to a kn_optim"));
    kn_grads grads = make_grads();
    CHECK(kn_optim_step(optim, 0.1, NET(&net), grads) == KN_OK);
    kn_grads_free(grads);
    kn_optim_free(optim);
    CHECK_ERROR(kn_optim_set_clip(group, KN_CLIP_NORM, 1), "the optimiser was freed by kn_optim_free at ");
}

/* A slot that is used again does not make an old handle good. */
static void a_handle_never_comes_back(void)
{
    kn_state first = kn_state_make();
    kn_state_free(first);
    for (int i = 0; i < 3000; i++) {
        kn_state again = kn_state_make();
        if (again == first) CHECK(!"the same handle");
        kn_state_free(again);
    }
    CHECK(kn_state_count(first) == 0 && strstr(kn_last_error(), "kn_state_count: the state was freed"));
    kn_state many[500];
    for (int i = 0; i < 500; i++) CHECK((many[i] = kn_state_make()) != NULL);
    for (int i = 0; i < 500; i++) CHECK(kn_state_put_int(many[i], "", "i", i) == KN_OK);
    for (int i = 0; i < 500; i++) {
        int64_t value = -1;
        CHECK(kn_state_get_int(many[i], "", "i", &value) && value == i);
        kn_state_free(many[i]);
    }
}

static void handles_are_no_pointers(void)
{
    kn_state s = kn_state_make();
    CHECK((uintptr_t)s & 1);
    kn_state_free(s);
}

/* The first generation is 1, so that small numbers are no handles, not even of slots that were used only once. */
static void numbers_are_no_handles(void)
{
    for (uintptr_t i = 1; i < 200; i += 2) CHECK(kn_state_put_int((kn_state)i, "", "i", 1) != KN_OK);
}

/* A closure that frees the optimiser which runs it: the step ends, later ones are errors. */
static kn_status free_in_the_step(void *context, double *loss, kn_grads *grads)
{
    *loss = net_loss(&net, 0, grads);
    kn_optim_free(*(kn_optim *)context);
    return KN_OK;
}

static void freed_while_in_use(void)
{
    double loss;
    kn_optim optim = kn_optim_adam(NULL);
    CHECK(kn_optim_step_closure(optim, 0.01, NET(&net), free_in_the_step, &optim, &loss) == KN_OK);
    CHECK_ERROR(kn_optim_set_clip(optim, KN_CLIP_NORM, 1), "kn_optim_set_clip: the optimiser was freed at ");
}

static kn_kernel *compile(void) { return kn_kernel_compile(kernel_text, NULL); }

/* The same text is one kernel: it is there until each compile has its free. */
static void kernels_are_counted(void)
{
    kn_kernel *a = compile(), *b = compile();
    char text[1000];
    CHECK(a == b);
    kn_kernel_free(a);
    CHECK(kn_kernel_text(b, "c", text, sizeof text) > 0);
    kn_kernel_free(b);
    CHECK(kn_kernel_text(b, "c", text, sizeof text) == -1);
}

static void *hammer(void *context)
{
    kn_state state = context;
    for (int i = 0; i < 20000; i++) (void)kn_state_count(state);
    return NULL;
}

/* Other threads may be in a call while the object is freed; they finish it or are told. */
static void freed_under_other_threads(void)
{
    kn_log_set(NULL, NULL);
    for (int round = 0; round < 5; round++) {
        kn_state state = kn_state_make();
        pthread_t threads[3];
        for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, hammer, state);
        kn_state_free(state);
        for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
        CHECK(kn_state_count(state) == 0);
    }
}

static int told;
static void count_failures(void *context, kn_log_level level, const char *text)
{
    (void)context, (void)text;
    told += level == KN_LOG_ERROR;
}

static void a_second_free_is_logged_once(void)
{
    kn_state s = kn_state_make();
    kn_state_free(s);
    kn_log_set(count_failures, NULL);
    told = 0;
    kn_state_free(s);
    CHECK(told == 1);
    kn_state_free(NULL);
    CHECK(told == 1);
    kn_log_set(NULL, NULL);
}

int main(void)
{
    kn_device_use(kn_device_open("autodiff(cpu)"));
    net = net_make(KN_F32);
    good_state = kn_state_make();
    numbers_are_no_handles();
    good_optim = kn_optim_sgd(NULL);
    good_grads = make_grads();
    TRY_ALL_BUT_NULL(kn_grads, use_grads, make_grads(), kn_grads_free, "gradients object", "freed",
                     good_state, "kn_state");
    TRY_ALL_BUT_NULL(kn_builder, use_builder, kn_builder_new(), kn_builder_free, "builder", "freed",
                     good_state, "kn_state");
    TRY_ALL_BUT_NULL(kn_program, use_program, make_program(), kn_program_free, "program", "freed", good_state,
                     "kn_state");
    TRY_ALL_BUT_NULL(kn_kernel *, use_kernel, compile(), kn_kernel_free, "kernel", "freed", good_state,
                     "kn_state");
    TRY_ALL_BUT_NULL(kn_state, use_state, kn_state_make(), kn_state_free, "state", "freed", good_optim,
                     "kn_optim");
    TRY_ALL_BUT_NULL(kn_store, use_store, make_store(), kn_store_close, "store", "closed", good_state,
                     "kn_state");
    TRY_ALL_BUT_NULL(kn_optim, use_optim, kn_optim_adam(NULL), kn_optim_free, "optimiser", "freed",
                     good_state, "kn_state");
    TRY_ALL_BUT_NULL(kn_accumulator, use_accumulator, kn_accumulator_make(), kn_accumulator_free,
                     "accumulator", "freed", good_state, "kn_state");
    TRY_ALL_BUT_NULL(kn_ema, use_ema, kn_ema_make(NET(&net), 0.9, false), kn_ema_free, "average", "freed",
                     good_state, "kn_state");
    TRY_ALL_BUT_NULL(kn_schedule, use_schedule, kn_schedule_constant(1), kn_schedule_free, "schedule",
                     "freed", good_state, "kn_state");
    an_object_belongs_to_one_other_at_most();
    a_handle_never_comes_back();
    handles_are_no_pointers();
    freed_while_in_use();
    kernels_are_counted();
    freed_under_other_threads();
    a_second_free_is_logged_once();
    kn_grads_free(good_grads);
    kn_optim_free(good_optim);
    kn_state_free(good_state);
    net_drop(&net);
    return check_report();
}
