/* What a user forgets, and what the library says: a tensor used after its scope, a loop that keeps what it makes, a layer that
   was never initialised, and texts that are too long. */
#include "support/check.h"
#include <kn/nn.h>

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
    bool params = false;
    for (int64_t i = 0; i < n; i++) params = params || list[i].state == KN_TENSOR_PARAM;
    CHECK(params);
    kn_drop(kept);
    kn_drop(owned);
    kn_param_drop(&param);
    CHECK(kn_live_tensors(list, 1) == before); /* a short list is filled, the count is whole */
    CHECK(kn_live_tensors(NULL, 3) == -1 && strstr(kn_last_error(), "the list is NULL"));
}

typedef struct heard {
    int warnings;
    char text[600];
} heard;

static void hear(void *context, kn_log_level level, const char *text)
{
    heard *h = context;
    if (level != KN_LOG_WARNING || !strstr(text, "alive in one scope")) return;
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
    a_loop_that_grows();
    long_texts();
    forgotten_layers();
    return check_report();
}
