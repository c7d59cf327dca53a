/* The steps of the models of bench/models over a device of paper that records: after a few steps each plan of each step is replayed. */
#define _POSIX_C_SOURCE 200809L
#include "../bench/models/bench_models.h"
#include "support/check.h"
#include "support/paper_device.h"
#include <kn/optim.h>
#include <kn/program.h>
#include <stdlib.h>

enum { MAX_PHASES = 2 };

typedef struct subject {
    const bench_model *model;
    kn_device device;
    void *self;
    kn_module module;
    kn_optim optims[MAX_PHASES];
    kn_tensor inputs[BENCH_INPUTS];
    bool half, infer;
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
    kn_status s = kn_backward(loss, &grads);
    kn_module part = m->part ? m->part(t->self, phase) : t->module;
    if (s == KN_OK) s = kn_optim_step(t->optims[phase], 1e-3, part, grads);
    kn_grads_free(grads);
    kn_scope_end(scope, KN_NONE);
    return s;
}

static kn_status step(subject *t)
{
    kn_status s = KN_OK;
    if (t->infer) {
        kn_scope scope = kn_scope_begin();
        kn_tensor y = kn_keep(t->model->forward(t->self, t->inputs, 0));
        s = kn_ok(y) ? KN_OK : KN_ERROR_ARGUMENT;
        if (s == KN_OK) s = kn_sync(t->device);
        kn_scope_end(scope, KN_NONE);
        return s;
    }
    for (int phase = 0; phase < phases(t->model) && s == KN_OK; phase++) s = train_phase(t, phase);
    return s ? s : kn_sync(t->device);
}

static bool begin(subject *t, int64_t batch)
{
    const bench_model *m = t->model;
    paper_do = (paper_orders){.room = INT64_C(140) << 30, .records = true, .fault = -1, .addresses = true, .quick = true, .library = getenv("LIB") != NULL};
    paper_register();
    t->device = kn_device_open("autodiff(fusion(paper))");
    kn_device_use(t->device);
    kn_seed(t->device, 1);
    t->self = calloc(1, m->type->size);
    t->module = (kn_module){t->self, m->type};
    if (m->init(t->self) != KN_OK) return false;
    if (t->infer && t->half && kn_module_cast(t->module, KN_BF16) != KN_OK) return false;
    for (int i = 0; i < BENCH_INPUTS && m->inputs[i].fill; i++) {
        t->inputs[i] = bench_input_make(&m->inputs[i], batch, i);
        if (t->infer && t->half && kn_dtype_of(t->inputs[i]) == KN_F32) t->inputs[i] = kn_own(kn_cast(t->inputs[i], KN_BF16));
    }
    for (int i = 0; i < phases(m); i++)
        t->optims[i] = m->adam ? kn_optim_adamw(NULL) : kn_optim_sgd(&(kn_sgd_args){.momentum = 0.9});
    kn_module_train(t->module, !t->infer);
    if (t->infer) kn_no_grad_begin();
    return true;
}

static void end(subject *t)
{
    if (t->infer) kn_no_grad_end();
    kn_module_drop(t->module);
    for (int i = 0; i < MAX_PHASES; i++) kn_optim_free(t->optims[i]);
    for (int i = 0; i < BENCH_INPUTS; i++) kn_drop(t->inputs[i]);
    free(t->self);
    kn_device_use(NULL);
    CHECK(kn_shutdown() == 0);
}

static void print_log(void *context, kn_log_level level, const char *text)
{
    (void)context, (void)level;
    if (strstr(text, "not replayed") || getenv("ALL")) fprintf(stderr, "  %.300s\n", text);
}

int main(int argc, char **argv)
{
    int64_t batch = argc > 2 ? atoll(argv[2]) : 2;
    int steps = argc > 3 ? atoi(argv[3]) : 12;
    if (getenv("KN_FUSION_LOG")) kn_log_set(print_log, NULL);
    for (int i = 0; bench_model_at(i); i++) {
        const bench_model *m = bench_model_at(i);
        if (argc > 1 && strcmp(argv[1], "all") && strcmp(argv[1], m->name)) continue;
        subject t = {.model = m, .half = getenv("HALF"), .infer = getenv("INFER")};
        paper_counts before = paper_now;
        if (!begin(&t, batch ? batch : m->batch)) printf("%s: %s\n", m->name, kn_last_error());
        printf("%s:", m->name);
        for (int k = 0; k < steps; k++) {
            kn_fusion_stats a, b;
            (void)kn_fusion_stats_of(t.device, &a);
            if (step(&t) != KN_OK) { printf(" %s\n", kn_last_error()); break; }
            (void)kn_fusion_stats_of(t.device, &b);
            printf(" %lld/%lld(%lld)", (long long)(b.plans_replayed - a.plans_replayed), (long long)(b.submissions - a.submissions), (long long)(b.plans_made - a.plans_made));
            fflush(stdout);
        }
        char text[512];
        kn_device_report(t.device, "memory", text, sizeof text);
        printf(" begun %lld alive %lld\n   %s\n", (long long)(paper_now.begun - before.begun), (long long)paper_now.alive, text);
        kn_device_report(t.device, "counters", text, sizeof text);
        printf("   %s\n", text);
        end(&t);
    }
    return check_report();
}
