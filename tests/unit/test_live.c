/* What a user forgets, and what the library says: a tensor used after its scope, a loop that keeps what it makes, a layer that
   was never initialised, and texts that are too long. */
#include "support/check.h"
#include <kn/data.h>
#include <kn/nn.h>
#include <kn/optim.h>
#include <kn/state.h>

#define HERE(offset_line) here(__LINE__ + (offset_line))

static const char *here(int line)
{
    static char text[64];
    snprintf(text, sizeof text, "test_live.c:%d", line);
    return text;
}

static void a_tensor_after_its_scope(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor made = kn_keep(kn_ones(KN_SHAPE(2), KN_F32));
    kn_tensor plain = kn_neg(made);
    kn_scope_end(scope, KN_NONE);
    kn_tensor bad = kn_exp(made);
    CHECK_POISON(bad, "kn_exp: the tensor made at ");
    CHECK_POISON(bad, HERE(-5)); /* the line that made it */
    CHECK_POISON(bad, "ended with its scope at ");
    CHECK_POISON(bad, HERE(-5)); /* the line that ended the scope */
    CHECK_POISON(bad, HERE(-5)); /* the line of the use */
    CHECK_POISON(kn_exp(plain), "ended with its scope at ");
    /* What is handed out is alive; what an op took is told as before. */
    scope = kn_scope_begin();
    kn_tensor out = kn_scope_end(scope, kn_ones(KN_SHAPE(2), KN_F32));
    CHECK(kn_ok(kn_exp(out)));
    CHECK_POISON(kn_exp(out), "already taken by kn_exp");
}

static int64_t find(const kn_live_tensor *list, int64_t n, const char *site)
{
    for (int64_t i = 0; i < n; i++)
        if (list[i].site && strstr(list[i].site, site)) return i;
    return -1;
}

static void what_is_alive(void)
{
    kn_live_tensor list[64];
    int64_t before = kn_live_tensors(NULL, 0);
    kn_tensor kept = kn_keep(kn_ones(KN_SHAPE(2, 3), KN_F32));
    kn_tensor owned = kn_own(kn_zeros(KN_SHAPE(5), KN_I64));
    kn_param param = kn_param_make(kn_ones(KN_SHAPE(4), KN_F16));
    int64_t n = kn_live_tensors(list, 64);
    CHECK(n == before + 3);
    int64_t k = find(list, n, HERE(-5));
    CHECK(k >= 0 && list[k].state == KN_TENSOR_KEPT && list[k].bytes == 24 && list[k].dtype == KN_F32);
    CHECK(k >= 0 && list[k].shape.rank == 2 && list[k].shape.dims[1] == 3);
    k = find(list, n, HERE(-7));
    CHECK(k >= 0 && list[k].state == KN_TENSOR_OWNED && list[k].bytes == 40);
    k = find(list, n, HERE(-8));
    CHECK(k >= 0 && list[k].state == KN_TENSOR_PARAM && list[k].bytes == 8);
    kn_drop(kept);
    kn_drop(owned);
    kn_param_drop(&param);
    CHECK(kn_live_tensors(list, 1) == before); /* a short list is filled, the count is whole */
    CHECK(kn_live_tensors(NULL, 3) == -1 && strstr(kn_last_error(), "the list is NULL"));
}

/* How many of the tensors that are alive were made at the line. */
static int made_at(const char *site)
{
    static kn_live_tensor list[256];
    int64_t n = kn_live_tensors(list, 256);
    int count = 0;
    for (int64_t i = 0; i < n; i++) count += list[i].site && strstr(list[i].site, site) != NULL;
    return count;
}

static kn_status one_step(kn_nn_linear *layer, kn_optim optim, kn_tensor x, kn_grads *grads)
{
    kn_tensor loss = kn_sum(kn_nn_linear_forward(layer, x), KN_AXES_ALL, false);
    kn_status s = kn_backward(loss, grads);
    kn_drop(loss);
    return s ? s : kn_optim_step(optim, 0.1, KN_MODULE_OF(kn_nn_linear, layer), *grads);
}

/* Whatever a function of the library makes to stay has the line of its call. */
static void all_that_is_owned_has_its_line(void)
{
    kn_nn_linear layer = {0};
    kn_device_use(kn_device_open("autodiff(cpu)"));
    CHECK(kn_nn_linear_init(&layer, 3, 2, NULL) == KN_OK);
    CHECK(made_at(HERE(-1)) == 2);
    kn_tensor x = kn_own(kn_ones(KN_SHAPE(4, 3), KN_F32));
    kn_dataset set = kn_dataset_tensors(&x, 1);
    kn_sample sample = {0}, batch = {0};
    CHECK(kn_dataset_get(set, 0, &sample) == KN_OK);
    CHECK(made_at(HERE(-1)) == 1);
    for (int workers = 0; workers < 2; workers++) {
        kn_loader loader = kn_loader_make(set, &(kn_loader_args){.batch_size = 2, .workers = workers});
        CHECK(kn_loader_next(loader, &batch) == KN_OK && batch.n == 1);
        CHECK(made_at(HERE(-1)) == 1);
        kn_sample_drop(&batch);
        kn_loader_free(loader);
    }
    kn_grads grads = NULL;
    kn_optim optim = kn_optim_adam(NULL);
    CHECK(one_step(&layer, optim, x, &grads) == KN_OK);
    CHECK(made_at("test_live.c:") >= 2 + 1 + 1 + 2 + 4);
    kn_live_tensor list[64];
    int64_t n = kn_live_tensors(list, 64), without = 0;
    for (int64_t i = 0; i < n && i < 64; i++) without += !list[i].site;
    CHECK(without == 0);
    kn_state state = kn_state_make();
    CHECK(kn_state_put(state, "", "x", kn_alias(x)) == KN_OK);
    CHECK(made_at(HERE(-1)) == 1);
    kn_state_free(state);
    kn_grads_free(grads);
    kn_optim_free(optim);
    kn_sample_drop(&sample);
    kn_dataset_free(set);
    kn_drop(x);
    kn_module_drop(KN_MODULE_OF(kn_nn_linear, &layer));
    kn_device_use(NULL);
}

typedef struct heard {
    int warnings;
    char text[600];
} heard;

static void hear(void *context, kn_log_level level, const char *text)
{
    heard *h = context;
    if (level != KN_LOG_WARNING || !strstr(text, " are alive")) return;
    h->warnings++;
    snprintf(h->text, sizeof h->text, "%s", text);
}

static void a_loop_that_grows(void)
{
    heard h = {0};
    kn_log_set(hear, &h);
    for (int i = 0; i < 12000; i++) {
        kn_scope step = kn_scope_begin();
        (void)kn_keep(kn_scalar(i, KN_F32));
        kn_scope_end(step, KN_NONE);
    }
    CHECK(h.warnings == 0);
    kn_scope scope = kn_scope_begin();
    for (int i = 0; i < 45000; i++) /* past 10,000, 20,000 and 40,000 */
        (void)kn_neg(kn_scalar(i, KN_F32));
    CHECK(h.warnings == 1); /* once for a line */
    CHECK(strstr(h.text, HERE(-2)) != NULL);
    kn_scope_end(scope, KN_NONE);
    kn_log_set(NULL, NULL);
}

/* What outlives scopes grows too: a loop that forgets what a call gave it. */
static void a_loop_that_owns(void)
{
    heard h = {0};
    kn_log_set(hear, &h);
    static kn_tensor owned[25000];
    for (int i = 0; i < 25000; i++) owned[i] = kn_own(kn_scalar(i, KN_F32)); /* the loop */
    CHECK(h.warnings == 1);
    CHECK(strstr(h.text, HERE(-2)) != NULL && strstr(h.text, "kn_grads_free()"));
    for (int i = 0; i < 25000; i++) kn_drop(owned[i]);
    /* One that frees what it owns has nothing to hear. */
    h = (heard){0};
    for (int i = 0; i < 25000; i++) kn_drop(kn_own(kn_scalar(i, KN_F32)));
    CHECK(h.warnings == 0);
    kn_log_set(NULL, NULL);
}

static void a_loop_that_forgets_its_gradients(void)
{
    heard h = {0};
    kn_log_set(hear, &h);
    kn_device_use(kn_device_open("autodiff(cpu)"));
    kn_param w = kn_param_make(kn_ones(KN_SHAPE(2), KN_F32));
    static kn_grads grads[11000];
    for (int i = 0; i < 11000; i++) {
        kn_scope step = kn_scope_begin();
        kn_status s = kn_backward(kn_sum(kn_value(w), KN_AXES_ALL, false), &grads[i]);
        kn_scope_end(step, KN_NONE);
        if (s) break;
    }
    CHECK(h.warnings == 1);
    CHECK(strstr(h.text, HERE(-5)) != NULL);
    for (int i = 0; i < 11000; i++) kn_grads_free(grads[i]);
    kn_param_drop(&w);
    kn_device_use(NULL);
    kn_log_set(NULL, NULL);
}

/* Many params of few calls are a large model, not a loop. */
static void a_large_model(void)
{
    enum { LAYERS = 40, PARAMS = 300 };
    static kn_param params[LAYERS][PARAMS];
    heard h = {0};
    kn_log_set(hear, &h);
    kn_site_done("model.c:1");
    for (int l = 0; l < LAYERS; l++) {
        for (int i = 0; i < PARAMS; i++) params[l][i] = (kn_param_make)((kn_ones)(KN_SHAPE(1), KN_F32));
        kn_site_done("model.c:2"); /* as if a layer's init had returned */
    }
    CHECK(h.warnings == 0);
    for (int l = 0; l < LAYERS; l++)
        for (int i = 0; i < PARAMS; i++) kn_param_drop(&params[l][i]);
    kn_log_set(NULL, NULL);
}

/* A text is cut between words, and says so. */
static void long_texts(void)
{
    char text[900] = "", *end = text;
    for (int i = 0; i < 90; i++) end += sprintf(end, "wooord%02d ", i % 100);
    kn_tensor bad = kn_poison(KN_ERROR_ARGUMENT, text);
    char told[900];
    kn_error_text(bad, told, sizeof told);
    char *dots = strstr(told, " ...");
    CHECK(dots != NULL && dots - told < 480);
    if (dots)
        CHECK(dots - told >= 8 && dots[-1] >= '0' && dots[-1] <= '9' && !strncmp(dots - 8, "wooord", 6));
    bad = kn_poison(KN_ERROR_ARGUMENT, "a short one");
    kn_error_text(bad, told, sizeof told);
    CHECK(strstr(told, "a short one") && !strstr(told, "..."));
}

#define FORGOTTEN(layer, ...)                                                                                \
    do {                                                                                                     \
        kn_nn_##layer m_ = {0};                                                                              \
        CHECK_POISON(kn_nn_##layer##_forward(&m_, __VA_ARGS__),                                              \
                     "layer was never initialised: call kn_nn_" #layer "_init() first");                     \
        CHECK_POISON(kn_nn_##layer##_forward(NULL, __VA_ARGS__), "layer is NULL");                           \
    } while (0)

static kn_tensor ones(kn_shape shape) { return kn_ones(shape, KN_F32); }

static void forgotten_layers(void)
{
    FORGOTTEN(linear, ones(KN_SHAPE(2, 3)));
    FORGOTTEN(swiglu, ones(KN_SHAPE(2, 3)));
    FORGOTTEN(embedding, kn_zeros(KN_SHAPE(2), KN_I64));
    FORGOTTEN(conv1d, ones(KN_SHAPE(1, 2, 5)));
    FORGOTTEN(conv2d, ones(KN_SHAPE(1, 2, 5, 5)));
    FORGOTTEN(conv_transpose2d, ones(KN_SHAPE(1, 2, 5, 5)));
    FORGOTTEN(batch_norm, ones(KN_SHAPE(2, 3)));
    FORGOTTEN(layer_norm, ones(KN_SHAPE(2, 3)));
    FORGOTTEN(rms_norm, ones(KN_SHAPE(2, 3)));
    FORGOTTEN(group_norm, ones(KN_SHAPE(2, 4)));
    FORGOTTEN(instance_norm, ones(KN_SHAPE(2, 4, 3)));
    FORGOTTEN(max_pool2d, ones(KN_SHAPE(1, 2, 5, 5)));
    FORGOTTEN(adaptive_avg_pool2d, ones(KN_SHAPE(1, 2, 5, 5)));
    FORGOTTEN(lstm, ones(KN_SHAPE(4, 2, 3)), NULL);
    FORGOTTEN(gru, ones(KN_SHAPE(4, 2, 3)), NULL);
    FORGOTTEN(feed_forward, ones(KN_SHAPE(2, 3)));
    FORGOTTEN(positional_encoding, ones(KN_SHAPE(1, 2, 4)), 0);
    FORGOTTEN(rotary, ones(KN_SHAPE(1, 2, 4)), 0);
    FORGOTTEN(embedding_bag, kn_zeros(KN_SHAPE(2, 2), KN_I64), KN_NONE, KN_NONE);
    FORGOTTEN(lp_pool2d, ones(KN_SHAPE(1, 2, 5, 5)));
    FORGOTTEN(fractional_max_pool2d, ones(KN_SHAPE(1, 2, 5, 5)));
    FORGOTTEN(channel_shuffle, ones(KN_SHAPE(1, 4, 2, 2)));
    FORGOTTEN(pixel_shuffle, ones(KN_SHAPE(1, 4, 2, 2)));
    kn_nn_linear linear = {0};
    kn_tensor bad = kn_nn_linear_forward(&linear, ones(KN_SHAPE(2, 3)));
    CHECK_POISON(bad, "kn_nn_linear_forward: this Linear layer");
    CHECK_POISON(bad, HERE(-2));
}

int main(void)
{
    a_tensor_after_its_scope();
    what_is_alive();
    all_that_is_owned_has_its_line();
    a_loop_that_grows();
    a_loop_that_owns();
    a_loop_that_forgets_its_gradients();
    a_large_model();
    long_texts();
    forgotten_layers();
    return check_report();
}
