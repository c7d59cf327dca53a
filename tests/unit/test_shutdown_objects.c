/* kn_shutdown ends every object: using one afterwards is an error, and freeing one is nothing, with no word in the log. */
#include "test_objects.h"
#include "test_optim_net.h"
#include <kn/data.h>
#include <kn/kernels.h>
#include <kn/program.h>
#include <kn/store.h>
#include <kn/train.h>

static int errors;
static void count_errors(void *context, kn_log_level level, const char *text)
{
    (void)context;
    if (level == KN_LOG_ERROR) errors++, printf("  logged: %s\n", text);
}

static Net net;

typedef struct objects {
    kn_grads grads;
    kn_program program;
    kn_kernel *kernel;
    kn_state state;
    kn_store store;
    kn_optim optim;
    kn_accumulator accumulator;
    kn_ema ema;
    kn_schedule schedule;
    kn_dataset dataset, view;
    kn_loader loader;
    kn_metric metric, adopted;
    kn_learner learner;
} objects;

static kn_status step(void *context, const kn_sample *batch, kn_step_output *output)
{
    (void)context;
    output->loss = kn_mean(kn_square(batch->fields[0]), KN_AXES_ALL, false);
    return KN_OK;
}

static kn_store make_store(void)
{
    static const char file[] =
        "\x40\0\0\0\0\0\0\0{\"x\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}"
        "             1234";
    return kn_store_open_memory(file, 8 + 64 + 4, NULL);
}

/* One of each kind, with tensors in those that can hold some. */
static objects make_all(void)
{
    objects o = {0};
    kn_device_use(kn_device_open("autodiff(cpu)"));
    net = net_make(KN_F32);
    net_loss(&net, 0, &o.grads);
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(2), KN_F32)), rows = kn_own(kn_ones(KN_SHAPE(4, 2), KN_F32));
    if (kn_program_begin(NULL) == KN_OK) {
        kn_tensor y = kn_keep(kn_exp(x));
        o.program = kn_program_end(&x, 1, &y, 1);
    }
    o.kernel =
        kn_kernel_compile("kernel twice(index item, in T x[], out T y[]) { y[item] = 2 * x[item]; }", NULL);
    o.state = kn_state_make();
    CHECK(kn_state_put(o.state, "", "x", x) == KN_OK);
    o.store = make_store();
    o.optim = kn_optim_adam(NULL);
    CHECK(kn_optim_step(o.optim, 0.1, NET(&net), o.grads) == KN_OK);
    o.accumulator = kn_accumulator_make();
    CHECK(kn_accumulator_add(o.accumulator, NET(&net), o.grads, 1) == KN_OK);
    o.ema = kn_ema_make(NET(&net), 0.9, false);
    o.schedule = kn_schedule_constant(1);
    o.dataset = kn_dataset_tensors(&rows, 1);
    o.view = kn_dataset_shuffle(o.dataset, 3);
    o.loader = kn_loader_make(o.view, &(kn_loader_args){.batch_size = 2});
    o.metric = kn_metric_loss();
    o.adopted = kn_metric_grad_norm();
    o.learner = kn_learner_make(&(kn_learner_args){.model = NET(&net),
                                                   .optim = o.optim,
                                                   .lr = 0.1,
                                                   .train = o.loader,
                                                   .epochs = 1,
                                                   .train_step = step,
                                                   .valid_step = step});
    CHECK(kn_learner_add_metric(o.learner, o.adopted) == KN_OK);
    return o;
}

static void free_all(objects *o)
{
    kn_learner_free(o->learner);
    kn_metric_free(o->metric);
    kn_loader_free(o->loader);
    kn_dataset_free(o->view);
    kn_dataset_free(o->dataset);
    kn_schedule_free(o->schedule);
    kn_ema_free(o->ema);
    kn_accumulator_free(o->accumulator);
    kn_optim_free(o->optim);
    kn_store_close(o->store);
    kn_state_free(o->state);
    kn_kernel_free(o->kernel);
    kn_program_free(o->program);
    kn_grads_free(o->grads);
}

static void use_all(const objects *o)
{
    static const char words[] = " by kn_shutdown";
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(2), KN_F32)), y;
    kn_sample batch;
    USE_TENSOR(kn_grads_get, o->grads, x);
    USE_STATUS(kn_program_run, o->program, &x, 1, &y, 1);
    USE_STATUS(kn_kernel_run, o->kernel, &x, 1, NULL, &y, 1);
    USE_STATUS(kn_state_put_int, o->state, "", "n", 1);
    USE(kn_store_count, o->store);
    USE_STATUS(kn_optim_step, o->optim, 0.1, NET(&net), o->grads);
    USE(kn_schedule_next, o->schedule);
    USE(kn_dataset_length, o->dataset);
    USE(kn_dataset_length, o->view);
    USE_STATUS(kn_loader_next, o->loader, &batch);
    USE_STATUS(kn_learner_fit, o->learner);
    kn_drop(x);
}

int main(void)
{
    use_log_after = count_errors;
    kn_log_set(count_errors, NULL);
    objects old = make_all();
    int64_t empty = kn_memory_stats().bytes_now;
    CHECK(empty > 0 && errors == 0);
    CHECK(kn_shutdown() > 0);
    CHECK(errors == 0);
    objects copy = old;
    free_all(&copy);
    CHECK(errors == 0 && !*kn_last_error());
    kn_log_set(NULL, NULL);
    use_all(&old);
    kn_log_set(count_errors, NULL);
    /* Objects of the next life take the places of the old ones. */
    objects now = make_all();
    errors = 0;
    copy = old;
    free_all(&copy);
    CHECK(errors == 0);
    CHECK(kn_dataset_length(now.view) == 4 && kn_store_count(now.store) == 1 && errors == 0);
    free_all(&now);
    net_drop(&net);
    CHECK(errors == 0);
    kn_log_set(NULL, NULL);
    kn_state_free(now.state); /* freed twice in one life is told */
    CHECK(strstr(kn_last_error(), "the state was freed") != NULL);
    CHECK(kn_shutdown() >= 0 && kn_memory_stats().tensors_now == 0);
    return check_report();
}
