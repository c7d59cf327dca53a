/* A function of the user's that fails and tells no reason: the error names that function, and is never an older one. */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"
#include <kn/backend.h>
#include <kn/data.h>
#include <kn/nn.h>
#include <kn/optim.h>
#include <kn/state.h>
#include <kn/train.h>

/* Leaves an error behind that has nothing to do with what follows. */
static void older(void) { (void)kn_device_open("STALE"); }

static void named(kn_status s, const char *words, const char *file, int line)
{
    bool good = s != KN_OK && strstr(kn_last_error(), words) && !strstr(kn_last_error(), "STALE");
    if (!good) printf("%s:%d: wanted '%s', got '%s'\n", file, line, words, kn_last_error());
    CHECK(good);
}
#define NAMED(call, words) (older(), named((call), (words), __FILE__, __LINE__))

static kn_status no_update(void *self, const kn_step_output *output, const kn_metric_context *context,
                           double *value, double *mean)
{
    (void)self, (void)output, (void)context, (void)value, (void)mean;
    return KN_ERROR_NUMERIC;
}
static kn_status no_state(void *self, kn_state state, const char *prefix)
{
    (void)self, (void)state, (void)prefix;
    return KN_ERROR_NUMERIC;
}

static void metrics(void)
{
    static const kn_metric_type type = {
        .name = "mine", .update = no_update, .save = no_state, .load = no_state};
    kn_metric metric = kn_metric_make(&type, NULL);
    kn_step_output output = {0};
    double value, mean;
    NAMED(kn_metric_update(metric, &output, NULL, &value, &mean),
          "metric mine returned numeric and told no reason");
    kn_state state = kn_state_make();
    NAMED(kn_metric_save(metric, state, "m/"), "metric mine returned numeric");
    NAMED(kn_metric_load(metric, state, "m/"), "metric mine returned numeric");
    kn_state_free(state);
    kn_metric_free(metric);
}

static int64_t three(void *self)
{
    (void)self;
    return 3;
}
static kn_status no_sample(void *self, int64_t index, const kn_sample_key *key, kn_sample *sample)
{
    (void)self, (void)index, (void)key, (void)sample;
    return KN_ERROR_NUMERIC;
}
static kn_status no_map(void *context, const kn_sample_key *key, kn_sample *sample)
{
    (void)context, (void)key, (void)sample;
    return KN_ERROR_NUMERIC;
}
static kn_status no_batch(void *context, const kn_sample *samples, int64_t n, kn_sample *batch)
{
    (void)context, (void)samples, (void)n, (void)batch;
    return KN_ERROR_NUMERIC;
}

static void data(void)
{
    static const kn_dataset_type type = {.name = "mine", .length = three, .get = no_sample};
    kn_sample s = {0};
    kn_dataset set = kn_dataset_make(&type, NULL);
    NAMED(kn_dataset_get(set, 0, &s), "get of the data set 'mine' returned numeric and told no reason");
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(3, 2), KN_F32));
    kn_dataset plain = kn_dataset_tensors(&x, 1), mapped = kn_dataset_map(plain, no_map, NULL);
    NAMED(kn_dataset_get(mapped, 0, &s), "the map of a data set returned numeric");
    for (int workers = 0; workers < 2; workers++) {
        kn_loader loader = kn_loader_make(mapped, &(kn_loader_args){.workers = workers});
        NAMED(kn_loader_next(loader, &s), "the map of a data set returned numeric");
        kn_loader_free(loader);
        loader = kn_loader_make(
            plain, &(kn_loader_args){.workers = workers, .collate_function = no_batch, .batch_size = 2});
        NAMED(kn_loader_next(loader, &s), "collate_function returned numeric");
        kn_loader_free(loader);
    }
    kn_dataset_free(set);
    kn_dataset_free(mapped);
    kn_dataset_free(plain);
}

static kn_status no_visit(void *context, const kn_module_entry *entry)
{
    (void)context, (void)entry;
    return KN_ERROR_NUMERIC;
}
static kn_status no_loss(void *context, double *loss, kn_grads *grads)
{
    (void)context, (void)loss, (void)grads;
    return KN_ERROR_NUMERIC;
}

static void modules(void)
{
    kn_nn_linear layer = {0};
    CHECK(kn_nn_linear_init(&layer, 2, 2, NULL) == KN_OK);
    kn_module module = KN_MODULE_OF(kn_nn_linear, &layer);
    NAMED(kn_module_visit(module, no_visit, NULL), "kn_module_visit: the function returned numeric");
    double loss;
    kn_optim both[] = {kn_optim_sgd(NULL), kn_optim_lbfgs(NULL)};
    for (int i = 0; i < 2; i++) {
        NAMED(kn_optim_step_closure(both[i], 0.1, module, no_loss, NULL, &loss),
              "the closure returned numeric");
        kn_optim_free(both[i]);
    }
    kn_module_drop(module);
}

/* What the callback itself has told stays what it is, and an older failure that it hands on is not lost. */
static kn_status tells(void *context, const kn_module_entry *entry)
{
    (void)entry;
    if (context) return kn_error_code(*(kn_tensor *)context);
    return kn_custom_fail(KN_ERROR_NUMERIC, "my own words");
}

static void a_reason_is_kept(void)
{
    kn_nn_linear layer = {0};
    CHECK(kn_nn_linear_init(&layer, 2, 2, NULL) == KN_OK);
    kn_module module = KN_MODULE_OF(kn_nn_linear, &layer);
    for (int i = 0; i < 2; i++) /* the same text twice */
        CHECK_ERROR(kn_module_visit(module, tells, NULL), "my own words");
    CHECK(!strstr(kn_last_error(), "told no reason"));
    kn_tensor bad = kn_add(kn_ones(KN_SHAPE(2), KN_F32), kn_ones(KN_SHAPE(3), KN_F32));
    CHECK_ERROR(kn_module_visit(module, tells, &bad), "do not broadcast");
    kn_module_drop(module);
}

/* ---- backends */

static kn_backend *no_backend(const char *argument, kn_backend *const *inner, int32_t n)
{
    (void)argument, (void)inner, (void)n;
    return NULL;
}

static kn_backend decorator;

static kn_status no_execute(kn_backend *self, const kn_record *const *records, int32_t n)
{
    (void)self, (void)records, (void)n;
    return KN_ERROR_NUMERIC;
}
static kn_backend *open_decorator(const char *argument, kn_backend *const *inner, int32_t n)
{
    (void)argument;
    if (n != 1) return NULL;
    kn_device device = decorator.device;
    decorator = (kn_backend){.size = sizeof decorator,
                             .abi = KN_BACKEND_ABI,
                             .name = "mine",
                             .device = device,
                             .inner = {inner[0]},
                             .execute = no_execute};
    return &decorator;
}

static void backends(void)
{
    CHECK(kn_backend_register("nothing", no_backend) == KN_OK);
    older();
    CHECK(!kn_device_open("nothing"));
    CHECK(
        strstr(kn_last_error(), "kn_device_open: the opener of nothing gave no backend and told no reason"));
    CHECK(kn_backend_register("mine", open_decorator) == KN_OK);
    kn_device mine = kn_device_open("mine(cpu)");
    CHECK(mine);
    kn_device_use(mine);
    older();
    kn_tensor y = kn_ones(KN_SHAPE(2), KN_F32);
    CHECK_POISON(y, "execute of the backend mine returned numeric and told no reason");
    kn_device_use(NULL);
    /* One struct cannot stand over two devices. */
    CHECK(!kn_device_open("mine(autodiff(cpu))"));
    CHECK(strstr(kn_last_error(), "mine gave the struct that it gave for mine(cpu)"));
    const char *const bad[] = {"a(b", "a)b", "a,b", "a:0", "a b"};
    for (int i = 0; i < 5; i++) CHECK_ERROR(kn_backend_register(bad[i], no_backend), "cannot be a name");
}

int main(void)
{
    kn_device_use(kn_device_open("autodiff(cpu)"));
    metrics();
    data();
    modules();
    a_reason_is_kept();
    backends();
    return check_report();
}
