/* The line of a failure is that of the call that failed, also for functions whose result tells nothing, and never that of the
   innocent call after it; and the text begins with the function that was called. */
#include "support/check.h"
#include <kn.h>
#include <kn/custom_op.h>
#include <kn/data.h>
#include <kn/kernels.h>
#include <kn/nn.h>
#include <kn/optim.h>
#include <kn/store.h>
#include <kn/train.h>
#include <stdio.h>
#include <string.h>

static char logged[1000];
static int times;

static void keep_line(void *context, kn_log_level level, const char *text)
{
    (void)context;
    if (level != KN_LOG_ERROR) return;
    snprintf(logged, sizeof logged, "%s", text);
    times++;
}

/* The failure was logged once when its call ended, with the call's name and line. */
static void check_logged(const char *call, int line)
{
    char here[60];
    snprintf(here, sizeof here, "test_error_lines.c:%d", line);
    kn_drop(kn_ones(KN_SHAPE(2), KN_F32)); /* innocent */
    size_t name = strcspn(call, "(");
    if (!CHECK(!strncmp(logged, call, name) && logged[name] == ':' && strstr(logged, here)))
        printf("  %s at line %d: %s\n", call, line, logged);
    if (!CHECK(times == 1)) printf("  %s was logged %d times\n", call, times);
    logged[0] = 0;
    times = 0;
}
#define FAILS(call) ((void)(call), check_logged(#call, __LINE__))
#define REFUSES(call) (CHECK((call) != KN_OK), check_logged(#call, __LINE__))

static void test_plain(void)
{
    char text[8];
    FAILS(kn_autocast_begin(KN_I64));
    FAILS(kn_live_tensors(NULL, 3));
    FAILS(kn_device_enumerate(0, NULL, 8));
    FAILS(kn_format(KN_NONE, text, sizeof text, NULL));
    FAILS(kn_print(KN_NONE));
    FAILS(kn_key_below(NULL, 0, 3));
    FAILS(kn_key_bits(NULL, 0));
}

static void test_modules(void)
{
    char text[8];
    bool mode = false;
    kn_nn_linear layer = {0};
    kn_module none = {0};
    CHECK(kn_nn_linear_init(&layer, 2, 2, NULL) == KN_OK);
    FAILS(kn_module_find(KN_MODULE_OF(kn_nn_linear, &layer), "weigth"));
    FAILS(kn_module_find(none, "weight"));
    FAILS(kn_module_count(none, true));
    FAILS(kn_module_train(none, true));
    FAILS(kn_module_modes(none, &mode, 1));
    FAILS(kn_module_set_modes(none, &mode, 1));
    FAILS(kn_module_format(none, text, sizeof text));
    FAILS(kn_module_freeze(none, NULL, true));
    FAILS(kn_module_to(none, NULL));
    FAILS(kn_module_cast(none, KN_F16));
    FAILS(kn_module_list(NULL, 1));
    FAILS(kn_lora_apply(none, NULL, NULL));
    FAILS(kn_lora_remove(none));
    kn_module_drop(KN_MODULE_OF(kn_nn_linear, &layer));
}

static void test_shutdown(void)
{
    kn_sample batch = {0};
    kn_tensor rows = kn_ones(KN_SHAPE(100, 3), KN_F32);
    kn_dataset data = kn_dataset_tensors(&rows, 1);
    kn_loader loader = kn_loader_make(data, &(kn_loader_args){.batch_size = 2, .workers = 2});
    CHECK(kn_loader_next(loader, &batch) == KN_OK);
    FAILS(kn_shutdown());
    kn_sample_drop(&batch);
    kn_loader_free(loader);
    kn_dataset_free(data);
}

/* Functions that try, wrap or hand on what failed inside log one line all the same. */
static kn_status step(void *context, const kn_sample *batch, kn_step_output *output)
{
    (void)context, (void)batch, (void)output;
    return (kn_custom_fail)(KN_ERROR_ARGUMENT, "a step of no luck");
}

static int64_t eight(void *self)
{
    (void)self;
    return 8;
}

static kn_status bad_sample(void *self, int64_t index, const kn_sample_key *key, kn_sample *sample)
{
    (void)self, (void)index, (void)key, (void)sample;
    return (kn_custom_fail)(KN_ERROR_IO, "a sample of no luck");
}

/* The failure of a call that hands on one of a user's function: its own line, once. */
#define HANDS_ON(call, words)                                                                                \
    do {                                                                                                     \
        (void)!(call);                                                                                       \
        char here[60];                                                                                       \
        snprintf(here, sizeof here, "test_error_lines.c:%d", __LINE__);                                      \
        if (!CHECK(times == 1 && strstr(logged, words) && strstr(logged, here)))                             \
            printf("  " #call ": %d times, %s\n", times, logged);                                            \
        logged[0] = 0;                                                                                       \
        times = 0;                                                                                           \
    } while (0)

static void test_once(void)
{
    static const char whole[] = "kernel b(index item, in T x[], out T y[]) { y[item] = x[item] % 3; }";
    FAILS(kn_kernel_compile("kernel a(index item, out T y[]) { y[item] = nonsense; }", NULL));
    FAILS(kn_kernel_compile("kernel a(index item", NULL));
    CHECK(kn_kernel_compile(whole, NULL) != NULL && times == 0); /* it suits integers alone */
    kn_nn_linear layer = {0};
    CHECK(kn_nn_linear_init(&layer, 2, 2, NULL) == KN_OK);
    kn_module model = KN_MODULE_OF(kn_nn_linear, &layer);
    kn_state state = kn_state_make();
    HANDS_ON(kn_state_read(state, "/nowhere/a.safetensors"), "kn_state_read: ");
    HANDS_ON(kn_load(model, "/nowhere/a.safetensors", NULL, NULL), "kn_load: ");
    HANDS_ON(kn_save(model, "/nowhere/a.safetensors", NULL), "kn_save: ");
    HANDS_ON(kn_dataset_json_lines("/nowhere/a.json", NULL), "kn_dataset_json_lines: ");
    kn_state_free(state);
    kn_dataset data = kn_dataset_make(&(kn_dataset_type){.length = eight, .get = bad_sample}, NULL);
    kn_sample batch = {0};
    for (int32_t workers = 0; workers < 3; workers += 2) {
        kn_loader loader = kn_loader_make(data, &(kn_loader_args){.batch_size = 2, .workers = workers});
        HANDS_ON(kn_loader_next(loader, &batch), "a sample of no luck");
        kn_loader_free(loader);
        FAILS(kn_loader_free(loader));
    }
    kn_tensor rows = kn_ones(KN_SHAPE(8, 2), KN_F32);
    kn_dataset sound = kn_dataset_tensors(&rows, 1);
    kn_loader loader = kn_loader_make(sound, &(kn_loader_args){.batch_size = 2});
    kn_optim optim = kn_optim_sgd(NULL);
    kn_learner learner = kn_learner_make(&(kn_learner_args){
        .model = model, .optim = optim, .train = loader, .train_step = step, .epochs = 1, .lr = 0.1});
    CHECK(learner != NULL);
    HANDS_ON(kn_learner_fit(learner), "a step of no luck");
    kn_learner_free(learner);
    kn_loader_free(loader);
    kn_optim_free(optim);
    kn_dataset_free(data);
    kn_dataset_free(sound);
    kn_module_drop(model);
}

static kn_tensor reshape_badly(void *context, const kn_module_entry *entry, kn_tensor value)
{
    (void)context, (void)entry;
    return (kn_reshape)(kn_alias(value), KN_SHAPE(7777));
}

enum { LINE_INSIDE = __LINE__ + 4 };
static kn_tensor reshape_with_line(void *context, const kn_module_entry *entry, kn_tensor value)
{
    (void)context, (void)entry;
    return kn_reshape(kn_alias(value), KN_SHAPE(7777));
}

/* A failure that has its line is handed on: it is not told again and gets no second line. */
static void check_handed_on(const char *call, int line)
{
    char here[60];
    snprintf(here, sizeof here, "test_error_lines.c:%d", line);
    const char *text = kn_last_error(), *file = strstr(text, "test_error_lines.c:");
    if (!CHECK(times == 1 && strstr(text, here) && file && !strstr(file + 1, "test_error_lines.c:")))
        printf("  %s: %d times, %s\n", call, times, text);
    logged[0] = 0;
    times = 0;
}

/* A failure inside a call is logged once, under the name of the function that the user called. */
static void test_inside(void)
{
    kn_device device = kn_device_open("autodiff(cpu)"), before = kn_device_current();
    kn_device_use(device);
    kn_param p = kn_param_make(kn_ones(KN_SHAPE(4), KN_F32));
    kn_tensor leaf = kn_value(p), fine = kn_own(kn_ones(KN_SHAPE(4), KN_F32));
    kn_tensor gone = kn_own(kn_ones(KN_SHAPE(4), KN_F32));
    kn_drop(gone);
    kn_sample sample = {0};
    kn_nn_linear layer = {0}, large = {0};
    kn_nn_conv2d wide = {0};
    kn_nn_lstm deep = {0};
    CHECK(kn_nn_linear_init(&layer, 4, 4, NULL) == KN_OK);
    kn_module model = KN_MODULE_OF(kn_nn_linear, &layer);
    kn_grads grads = kn_grads_make(&leaf, &fine, 1);
    CHECK(grads != NULL && times == 0);
    FAILS(kn_grads_make(&leaf, &gone, 1));
    FAILS(kn_grads_replace(grads, leaf, gone));
    REFUSES(kn_sample_add(&sample, gone));
    FAILS(kn_param_set(&p, gone));
    FAILS(kn_module_map(model, reshape_badly, NULL));
    (void)!kn_module_map(model, reshape_with_line, NULL);
    check_handed_on("kn_module_map", LINE_INSIDE);
    kn_memory_limit(kn_memory_stats().bytes_now + 200000);
    FAILS(kn_nn_linear_init(&large, 1000, 1000, NULL));
    FAILS(kn_nn_conv2d_init(&wide, 100, 1000, KN_SHAPE(3, 3), NULL));
    FAILS(kn_nn_lstm_init(&deep, 1000, 1000, NULL));
    (void)!kn_sample_add(&sample, kn_ones(KN_SHAPE(1000000), KN_F32));
    check_handed_on("kn_sample_add", __LINE__ - 1);
    kn_tensor older = kn_ones(KN_SHAPE(1000000), KN_F32);
    int line = __LINE__ - 1;
    times = 0;
    FAILS(kn_autocast_begin(KN_I64));
    times = 1; /* the failure of kn_ones is the latest once more */
    (void)!kn_sample_add(&sample, older);
    check_handed_on("kn_sample_add", line);
    kn_memory_limit(0);
    kn_grads_free(grads);
    kn_device_use(before);
    kn_device_close(device);
    REFUSES(kn_sample_add(&sample, fine));
    FAILS(kn_module_cast(model, KN_F16));
    kn_drop(fine);
    kn_param_drop(&p);
    kn_module_drop(model);
}

/* A text that is handed on is cut after a word. */
static void test_cut(void)
{
    char text[470] = "";
    while (strlen(text) < 440) strcat(text, "incomprehensibilities ");
    kn_device_use(kn_device_open("autodiff(cpu)"));
    kn_param p = kn_param_make(kn_ones(KN_SHAPE(4), KN_F32));
    kn_tensor leaf = kn_value(p), fine = kn_own(kn_ones(KN_SHAPE(4), KN_F32));
    kn_grads grads = kn_grads_make(&leaf, &fine, 1), none = NULL;
    kn_tensor bad = kn_poison(KN_ERROR_IO, text), got[1] = {KN_NONE};
    static const char whole[] = "incomprehensibilities ...   ";
    times = 0;
    (void)!kn_grads_replace(grads, leaf, bad);
    CHECK(strstr(kn_last_error(), whole) != NULL);
    CHECK(kn_grads_make(&leaf, &bad, 1) == NULL && strstr(kn_last_error(), whole) != NULL);
    (void)!kn_param_set(&p, bad);
    CHECK(strstr(kn_last_error(), whole) != NULL);
    CHECK(kn_backward(bad, &none) != KN_OK && strstr(kn_last_error(), whole) != NULL);
    CHECK(kn_grad(&leaf, &bad, 1, &leaf, 1, 0, got) != KN_OK && strstr(kn_last_error(), whole) != NULL);
    kn_grads_free(grads);
    kn_drop(fine);
    kn_param_drop(&p);
    kn_device_use(NULL);
    times = 0;
    logged[0] = 0;
}

int main(void)
{
    kn_log_set(keep_line, NULL);
    test_plain();
    test_modules();
    test_once();
    test_inside();
    test_cut();
    test_shutdown();
    kn_log_set(NULL, NULL);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
