/* Steps of the models of bench/models over a fake device that records: once a plan ran three times, each plan of each step is
   replayed, and there are no more plans in a step than the queue has to make. */
#define _POSIX_C_SOURCE 200809L
#include "../bench/models/bench_models.h"
#include "support/check.h"
#include "support/paper_device.h"
#include <kn/optim.h>
#include <kn/program.h>
#include <stdlib.h>

enum {
    MAX_PHASES = 2,
    STEPS = 7,
    RECORDED = 4 /* two steps before, and the one in which params get their states */
};

typedef struct subject {
    const bench_model *model;
    kn_device device;
    void *self;
    kn_module module;
    kn_optim optims[MAX_PHASES];
    kn_tensor inputs[BENCH_INPUTS];
    bool half, answers, pieces; /* pieces: the queue is submitted after forward and after backward */
} subject;

static int phases(const bench_model *m) { return m->phases ? m->phases : 1; }

static kn_status train_phase(subject *t, int phase)
{
    const bench_model *m = t->model;
    kn_scope scope = kn_scope_begin();
    kn_grads grads = NULL;
    kn_dtype before = kn_autocast_begin(t->half ? KN_BF16 : KN_F32);
    kn_tensor loss = m->loss ? m->loss(t->self, t->inputs, 0.1, phase)
                             : bench_token_loss(m->forward(t->self, t->inputs, 0.1), t->inputs[m->n_given]);
    loss = kn_keep(loss);
    kn_autocast_end(before);
    kn_status s = t->pieces ? kn_submit(t->device) : KN_OK;
    if (s == KN_OK) s = kn_backward(loss, &grads);
    if (s == KN_OK && t->pieces) s = kn_submit(t->device);
    kn_module part = m->part ? m->part(t->self, phase) : t->module;
    if (s == KN_OK) s = kn_optim_step(t->optims[phase], 1e-3, part, grads);
    kn_grads_free(grads);
    kn_scope_end(scope, KN_NONE);
    return s;
}

static kn_status step(subject *t)
{
    kn_status s = KN_OK;
    if (t->answers) {
        kn_scope scope = kn_scope_begin();
        kn_tensor y = kn_keep(t->model->forward(t->self, t->inputs, 0));
        s = kn_ok(y) ? kn_sync(t->device) : KN_ERROR_ARGUMENT;
        kn_scope_end(scope, KN_NONE);
        return s;
    }
    for (int phase = 0; phase < phases(t->model) && s == KN_OK; phase++) s = train_phase(t, phase);
    return s ? s : kn_sync(t->device);
}

static void make_inputs(subject *t)
{
    const bench_model *m = t->model;
    for (int i = 0; i < BENCH_INPUTS && m->inputs[i].fill; i++) {
        kn_tensor x = bench_input_make(&m->inputs[i], 2, i);
        if (t->answers && t->half && kn_dtype_of(x) == KN_F32) {
            t->inputs[i] = kn_own(kn_cast(x, KN_BF16));
            kn_drop(x);
        } else {
            t->inputs[i] = x;
        }
    }
}

static bool begin_on(subject *t, const paper_orders *orders)
{
    const bench_model *m = t->model;
    paper_do = *orders;
    paper_do.room = INT64_C(64) << 30;
    paper_do.records = paper_do.addresses = paper_do.quick = true;
    paper_do.fault = -1;
    paper_register();
    t->device = kn_device_open("autodiff(fusion(paper))");
    kn_device_use(t->device);
    kn_seed(t->device, 1);
    t->self = calloc(1, m->type->size);
    t->module = (kn_module){t->self, m->type};
    if (!t->self || m->init(t->self) != KN_OK) return false;
    if (t->answers && t->half && kn_module_cast(t->module, KN_BF16) != KN_OK) return false;
    make_inputs(t);
    for (int i = 0; i < phases(m); i++)
        t->optims[i] = m->adam ? kn_optim_adamw(NULL) : kn_optim_sgd(&(kn_sgd_args){.momentum = 0.9});
    kn_module_train(t->module, !t->answers);
    if (t->answers) kn_no_grad_begin();
    return true;
}

static bool begin(subject *t, bool library) { return begin_on(t, &(paper_orders){.library = library}); }

static void end(subject *t)
{
    if (t->answers) kn_no_grad_end();
    kn_module_drop(t->module);
    for (int i = 0; i < MAX_PHASES; i++) kn_optim_free(t->optims[i]);
    for (int i = 0; i < BENCH_INPUTS; i++) kn_drop(t->inputs[i]);
    free(t->self);
    kn_device_use(NULL);
    CHECK(kn_shutdown() == 0);
}

/* Two phases are two plans; the bidirectional GRU may have more records than a queue takes. A forward pass of many records is begun before
   its gradients are recorded, and is a plan too. */
static bool are_expected(const subject *t, int64_t plans)
{
    const int64_t n = phases(t->model), gru = !strcmp(t->model->name, "bigru");
    if (t->answers) return plans == 1;
    if (t->pieces) return plans >= 3 * n && plans <= 3 * n + gru;
    if (!strcmp(t->model->name, "resnet50") || !strcmp(t->model->name, "gpt2")) return plans == 2;
    return plans >= n && plans <= 2 * n + gru;
}

static void replays_steps(const char *name, bool half, bool answers, bool pieces, bool library)
{
    subject t = {.model = bench_model_named(name), .half = half, .answers = answers, .pieces = pieces};
    kn_fusion_stats before, after;
    CHECK(begin(&t, library));
    for (int i = 0; i < STEPS; i++) {
        CHECK(kn_fusion_stats_of(t.device, &before) == KN_OK);
        CHECK(step(&t) == KN_OK);
        CHECK(kn_fusion_stats_of(t.device, &after) == KN_OK);
        int64_t plans = after.submissions - before.submissions;
        int64_t replayed = after.plans_replayed - before.plans_replayed;
        if (i < RECORDED) continue;
        if (!CHECK(are_expected(&t, plans) && replayed == plans))
            printf("%s%s%s, step %d: %lld plans, %lld of them replayed\n", name, half ? ", bf16" : "",
                   answers ? ", inference" : "", i, (long long)plans, (long long)replayed);
    }
    end(&t);
}

/* Most kernels of a first step are compiled ahead, none is guessed wrongly, and nothing is handed over in later steps. */
static void foresees_kernels(const char *name, int64_t most_unforeseen)
{
    static const kn_want halves = {KN_WANT_ANY, 8, 1u << KN_BF16 | 1u << KN_F16};
    subject t = {.model = bench_model_named(name), .half = true};
    paper_now = (paper_counts){.used = 0};
    CHECK(begin_on(&t, &(paper_orders){.library = true, .ahead = true, .wants = &halves, .n_wants = 1}));
    CHECK(step(&t) == KN_OK);
    const paper_counts first = paper_now;
    const int64_t unforeseen = first.compiles - first.foreseen;
    if (!CHECK(first.foreseen == first.ahead && first.ahead > 0 && unforeseen <= most_unforeseen))
        printf("%s: %lld kernels, %lld handed over, %lld of them compiled\n", name, (long long)first.compiles,
               (long long)first.ahead, (long long)first.foreseen);
    for (int i = 0; i < STEPS; i++) CHECK(step(&t) == KN_OK);
    CHECK(paper_now.foreseen - first.foreseen == paper_now.ahead - first.ahead);
    end(&t);
}

/* What is logged of a plan that nobody can replay. */
static char told[200];
static void note(void *context, kn_log_level level, const char *text)
{
    int *n = context;
    (void)level;
    if (!strstr(text, "is not replayed")) return;
    snprintf(told, sizeof told, "%s", text);
    ++*n;
}

/* The input lies elsewhere in each step, which is said once, and that no more recordings are made, too. */
static void says_why_not(void)
{
    enum { N = 40, LARGE = 300000 };
    static float values[LARGE];
    subject t = {.model = bench_model_named("mlp")};
    kn_tensor kept[N];
    int n = 0;
    setenv("KN_FUSION_LOG", "1", 1);
    CHECK(begin(&t, true));
    kn_log_set(note, &n);
    for (int i = 0; i < N; i++) {
        kn_scope scope = kn_scope_begin();
        kept[i] = kn_own(kn_from(values, KN_F32, KN_SHAPE(LARGE)));
        CHECK(kn_ok(kn_keep(kn_sum(kn_exp(kept[i]), KN_AXES_ALL, false))) && kn_submit(t.device) == KN_OK);
        kn_scope_end(scope, KN_NONE);
        if (i == 4 && !CHECK(n == 1 && strstr(told, "an input lies elsewhere") && strstr(told, "[300000]")))
            puts(told);
    }
    CHECK(n == 2 && strstr(told, "none of its recordings fitted again"));
    kn_log_set(NULL, NULL);
    unsetenv("KN_FUSION_LOG");
    for (int i = 0; i < N; i++) kn_drop(kept[i]);
    end(&t);
}

int main(void)
{
    enum { MODELS = 20 };
    for (int i = 0; i < MODELS; i++) {
        const char *name = bench_model_at(i)->name;
        if (!check_part(i, 4)) continue;
        replays_steps(name, false, false, false, true);
        replays_steps(name, true, false, false, i % 2);
        replays_steps(name, true, true, false, true);
        replays_steps(name, false, false, true, false);
    }
    static const struct {
        const char *name;
        int unforeseen;
    } first[] = {{"resnet50", 10}, {"vit_b16", 8}, {"gpt2", 8}, {"mlp", 0}, {"lstm", 10}};
    for (int i = 0; i < KNI_COUNT(first); i++)
        if (check_part(i, 4)) foresees_kernels(first[i].name, first[i].unforeseen);
    says_why_not();
    return check_report();
}
