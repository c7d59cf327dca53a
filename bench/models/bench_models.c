/* Runs one model of the table for compare.py, on any device.
     bench_models list                     a line for each model: name, family, batch of training, batch of inference, text
     bench_models MODEL [options]          prints "ready"; then, for each line with a number on standard input, takes that many steps
                                           and prints the seconds of the fastest and of the median one, and the peak memory in bytes
   --device D   autodiff(fusion(cpu))      --dtype f32|bf16   autocast in training, the weights' dtype in inference
   --infer      answers without gradients  --batch N          instead of the model's
   --weights F  a safetensors file to start from               --save F   writes the first weights there and ends
   --losses N   prints the losses of N steps without dropout, one on a line, and ends
   --output F   writes what the model gives in evaluation to a .npy file and ends
   At the end launches and replays are written to standard error, with KN_CUDA_PROFILE=on after each line what each kernel took so far. */
#define _POSIX_C_SOURCE 200809L
#include "bench_models.h"
#include <kn/optim.h>
#include <kn/store.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { MAX_STEPS = 10000, MAX_PHASES = 2 };

typedef struct settings {
    const char *device, *dtype, *weights, *save, *output;
    int64_t batch, losses;
    bool infer;
} settings;

typedef struct bench {
    const bench_model *model;
    const settings *settings;
    void *self;
    kn_module module;
    kn_device device;
    kn_optim optims[MAX_PHASES];
    kn_tensor inputs[BENCH_INPUTS];
    double dropout;
} bench;

static bool is_half(const settings *o) { return !strcmp(o->dtype, "bf16"); }
static int phases(const bench_model *m) { return m->phases ? m->phases : 1; }

/* ---- steps */

static kn_tensor loss_of(const bench *b, int phase)
{
    const bench_model *m = b->model;
    if (m->loss) return m->loss(b->self, b->inputs, b->dropout, phase);
    return bench_token_loss(m->forward(b->self, b->inputs, b->dropout), b->inputs[m->n_given]);
}

static kn_status train_phase(bench *b, int phase, double *loss)
{
    kn_scope scope = kn_scope_begin();
    kn_grads grads = NULL;
    kn_dtype before = kn_autocast_begin(is_half(b->settings) ? KN_BF16 : KN_F32);
    kn_tensor l = kn_keep(loss_of(b, phase));
    kn_autocast_end(before);
    kn_status s = kn_backward(l, &grads);
    kn_module part = b->model->part ? b->model->part(b->self, phase) : b->module;
    if (s == KN_OK) s = kn_optim_step(b->optims[phase], b->model->adam ? 3e-4 : 0.001, part, grads);
    if (s == KN_OK && loss) *loss += kn_item(l);
    kn_grads_free(grads);
    kn_scope_end(scope, KN_NONE);
    return s;
}

static kn_status train_step(bench *b, double *loss)
{
    kn_status s = KN_OK;
    if (loss) *loss = 0;
    for (int phase = 0; phase < phases(b->model) && s == KN_OK; phase++) s = train_phase(b, phase, loss);
    return s ? s : kn_sync(b->device);
}

static kn_status answer_step(bench *b)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor y = kn_keep(b->model->forward(b->self, b->inputs, 0));
    kn_status s = !kn_ok(y) ? KN_ERROR_ARGUMENT : kn_sync(b->device);
    kn_scope_end(scope, KN_NONE);
    return s;
}

/* ---- what the command asks for */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of a device that says so (", N at most so far"), else of the process. */
static long long peak_memory(kn_device device)
{
    char text[512] = "";
    const char *end =
        kn_device_report(device, "memory", text, sizeof text) ? strstr(text, " at most so far") : NULL;
    struct rusage used;
    if (end) {
        while (end > text && end[-1] != ' ') end--;
        return strtoll(end, NULL, 10);
    }
    return getrusage(RUSAGE_SELF, &used) ? 0 : (long long)used.ru_maxrss * 1024;
}

/* What the device says of itself, where it does. */
static void print_report(kn_device device, const char *kind)
{
    size_t bytes = kn_device_report(device, kind, NULL, 0) + 1;
    char *text = malloc(bytes);
    if (text && kn_device_report(device, kind, text, bytes)) fprintf(stderr, "%s\n", text);
    free(text);
}

static kn_status serve(bench *b)
{
    char line[64];
    kn_status s = KN_OK;
    puts("ready");
    fflush(stdout);
    while (s == KN_OK && fgets(line, sizeof line, stdin)) {
        static double times[MAX_STEPS];
        long n = strtol(line, NULL, 10);
        if (n < 1 || n > MAX_STEPS) break;
        for (long i = 0; i < n && s == KN_OK; i++) {
            double start = now();
            s = b->settings->infer ? answer_step(b) : train_step(b, NULL);
            times[i] = now() - start;
        }
        if (s) break;
        qsort(times, (size_t)n, sizeof *times, compare);
        printf("%.9f %.9f %lld\n", times[0], times[n / 2], peak_memory(b->device));
        fflush(stdout);
        if (getenv("KN_CUDA_PROFILE")) print_report(b->device, "kernels");
    }
    print_report(b->device, "counters");
    return s;
}

static kn_status print_losses(bench *b)
{
    kn_status s = KN_OK;
    b->dropout = 0;
    for (int64_t i = 0; i < b->settings->losses && s == KN_OK; i++) {
        double loss;
        s = train_step(b, &loss);
        if (s == KN_OK) printf("%.9g\n", loss);
    }
    return s;
}

static kn_status write_output(bench *b)
{
    kn_tensor y = kn_cast(b->model->forward(b->self, b->inputs, 0), KN_F32);
    kn_state state = kn_state_make();
    kn_status s = kn_state_put(state, "", "output", y);
    if (s == KN_OK) s = kn_state_write(state, b->settings->output, KN_STORE_AUTO);
    kn_state_free(state);
    return s;
}

/* ---- making it */

static kn_status make_inputs(bench *b)
{
    int64_t batch = b->settings->batch;
    if (!batch) batch = b->settings->infer ? b->model->answers : b->model->batch;
    for (int i = 0; i < BENCH_INPUTS && b->model->inputs[i].fill; i++) {
        kn_tensor x = bench_input_make(&b->model->inputs[i], batch, i);
        if (b->settings->infer && is_half(b->settings) && kn_dtype_of(x) == KN_F32)
            x = kn_own(kn_cast(x, KN_BF16));
        b->inputs[i] = x;
        if (!kn_ok(x)) return KN_ERROR_MEMORY;
    }
    return KN_OK;
}

static kn_status make_optims(bench *b)
{
    for (int i = 0; i < phases(b->model); i++) {
        b->optims[i] = b->model->adam ? kn_optim_adamw(NULL) : kn_optim_sgd(&(kn_sgd_args){.momentum = 0.9});
        if (!b->optims[i]) return KN_ERROR_MEMORY;
    }
    return KN_OK;
}

static kn_status make(bench *b)
{
    const settings *o = b->settings;
    bool evaluates = o->infer || o->output;
    b->device = kn_device_open(o->device);
    if (!b->device) return KN_ERROR_DEVICE;
    kn_device_use(b->device);
    kn_seed(b->device, 1);
    kn_status s = b->self ? b->model->init(b->self) : KN_ERROR_MEMORY;
    if (s == KN_OK && o->weights) s = kn_load(b->module, o->weights, NULL, NULL);
    if (s == KN_OK && o->save) return kn_save(b->module, o->save, NULL);
    if (s == KN_OK && o->infer && is_half(o)) s = kn_module_cast(b->module, KN_BF16);
    if (s == KN_OK) s = make_inputs(b);
    if (s == KN_OK) s = make_optims(b);
    kn_module_train(b->module, !evaluates);
    b->dropout = evaluates ? 0 : 0.1;
    return s;
}

static kn_status run(bench *b)
{
    const settings *o = b->settings;
    kn_status s = make(b);
    if (s || o->save) return s;
    if (o->infer || o->output) kn_no_grad_begin();
    s = o->output ? write_output(b) : o->losses ? print_losses(b) : serve(b);
    if (o->infer || o->output) kn_no_grad_end();
    return s;
}

static int list(void)
{
    const bench_model *m;
    for (int i = 0; (m = bench_model_at(i)) != NULL; i++)
        printf("%s\t%s\t%lld\t%lld\t%s\n", m->name, m->family, (long long)m->batch, (long long)m->answers,
               m->text);
    return 0;
}

static bool parse(settings *o, int count, char **arguments)
{
    const struct {
        const char *name;
        const char **text;
        int64_t *number;
    } options[] = {{"--device", &o->device, NULL},   {"--dtype", &o->dtype, NULL},
                   {"--weights", &o->weights, NULL}, {"--save", &o->save, NULL},
                   {"--output", &o->output, NULL},   {"--batch", NULL, &o->batch},
                   {"--losses", NULL, &o->losses}};
    for (int i = 0; i < count; i++) {
        size_t k = 0, n = sizeof options / sizeof *options;
        if (!strcmp(arguments[i], "--infer")) {
            o->infer = true;
            continue;
        }
        while (k < n && strcmp(arguments[i], options[k].name)) k++;
        if (k == n || i + 1 == count) return false;
        i++;
        if (options[k].text) *options[k].text = arguments[i];
        if (options[k].number) *options[k].number = strtoll(arguments[i], NULL, 10);
    }
    return o->batch >= 0 && o->losses >= 0 && (is_half(o) || !strcmp(o->dtype, "f32"));
}

int main(int count, char **arguments)
{
    settings o = {.device = "autodiff(fusion(cpu))", .dtype = "f32"};
    if (count == 2 && !strcmp(arguments[1], "list")) return list();
    const bench_model *model = count > 1 ? bench_model_named(arguments[1]) : NULL;
    if (!model || !parse(&o, count - 2, arguments + 2)) {
        fprintf(stderr, "bench_models: list, or the name of a model and options, which the first lines of "
                        "bench_models.c explain\n");
        return 2;
    }
    bench b = {.model = model, .settings = &o, .self = calloc(1, model->type->size)};
    b.module = (kn_module){b.self, model->type};
    kn_status s = run(&b);
    if (s) fprintf(stderr, "bench_models: %s: %s\n", model->name, kn_last_error());
    if (b.self) kn_module_drop(b.module);
    for (int i = 0; i < MAX_PHASES; i++) kn_optim_free(b.optims[i]);
    for (int i = 0; i < BENCH_INPUTS; i++) kn_drop(b.inputs[i]);
    free(b.self);
    return s ? 1 : 0;
}
