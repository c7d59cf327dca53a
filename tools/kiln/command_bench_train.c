/* kiln bench mlp cnn lenet: the time of a training step and the peak memory, beside PyTorch in turns on the same threads.
   Each side of each model is a process of its own that trains when it is asked to, so that its memory is its own. */
#define _GNU_SOURCE
#include "bench_train_models.h"
#include "kiln.h"
#include <fcntl.h>
#include <kn/optim.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 7, WARM_UP = 3, MOST_STEPS = 200 };
static int threads = 2;
/* How much slower than PyTorch the issue lets a step be, and for how long a turn runs. */
static const double limit = 2, turn_seconds = 0.4;

/* ---- Kiln's side */

typedef struct trainer {
    const bench_model *model;
    kn_device device;
    kn_module net;
    kn_optim optim;
    kn_tensor x, y;
} trainer;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static long peak_kilobytes(void)
{
    struct rusage use;
    return getrusage(RUSAGE_SELF, &use) ? 0 : use.ru_maxrss;
}

static bool trainer_start(trainer *t, const bench_model *model, const char *device)
{
    int64_t labels[512];
    kn_set_threads(threads);
    *t = (trainer){.model = model, .device = kn_device_open(device)};
    kn_device_use(t->device);
    kn_seed(t->device, 1);
    t->net = (kn_module){bench_model_make(model), model->type};
    if (!t->device || !t->net.self || model->init(t->net.self)) return false;
    for (int i = 0; i < model->batch; i++) labels[i] = i % 10;
    t->optim = kn_optim_adam(NULL);
    t->x = kn_own(kn_random_uniform(KN_SHAPE(model->batch, 1, 28, 28), 0, 1, KN_F32));
    t->y = kn_own(kn_from(labels, KN_I64, KN_SHAPE(model->batch)));
    return t->optim && kn_ok(t->x) && kn_ok(t->y);
}

static kn_status trainer_step(trainer *t)
{
    kn_scope scope = kn_scope_begin();
    kn_grads grads = NULL;
    kn_tensor logits = t->model->forward(t->net.self, t->x);
    kn_status s = kn_backward(kn_cross_entropy(logits, t->y, NULL), &grads);
    if (s == KN_OK) s = kn_optim_step(t->optim, 1e-3, t->net, grads);
    if (s == KN_OK) s = kn_sync(t->device);
    kn_grads_free(grads);
    kn_scope_end(scope, KN_NONE);
    return s;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Answers numbers of steps with "fastest median peak-at-start peak", as the script does. */
static int serve(const bench_model *model)
{
    trainer t;
    int steps;
    long base = peak_kilobytes();
    if (!trainer_start(&t, model, "autodiff(cpu)")) return 1;
    printf("ready\n");
    fflush(stdout);
    while (scanf("%d", &steps) == 1) {
        double times[MOST_STEPS];
        for (int i = 0; i < steps && i < MOST_STEPS; i++) {
            double start = seconds();
            if (trainer_step(&t)) return 1;
            times[i] = seconds() - start;
        }
        qsort(times, (size_t)steps, sizeof *times, compare_doubles);
        printf("%.9f %.9f %ld %ld\n", times[0], times[steps / 2], base, peak_kilobytes());
        fflush(stdout);
    }
    return 0;
}

/* ---- a side as seen from the one who asks */

typedef struct side {
    pid_t process;
    FILE *ask, *answer;
    double fastest, median;
    long base, peak;
} side;

static const char *python(void)
{
    const char *named = getenv("KN_PYTHON");
    return named && *named ? named : "python3";
}

static void become(const bench_model *model, bool torch)
{
    char number[16];
    if (!torch) _exit(serve(model));
    snprintf(number, sizeof number, "%d", threads);
    if (!freopen("/dev/null", "w", stderr)) _exit(1);
    execlp(python(), python(), "bench/train/train_torch.py", model->name, number, (char *)NULL);
    _exit(1);
}

static bool side_start(side *s, const bench_model *model, bool torch)
{
    int in[2], out[2];
    char word[16];
    *s = (side){.fastest = 1e9, .median = 1e9};
    if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC)) return false;
    fflush(stdout);
    s->process = fork();
    if (s->process == 0) {
        dup2(in[0], 0);
        dup2(out[1], 1);
        close(in[1]);
        become(model, torch);
    }
    close(in[0]);
    close(out[1]);
    s->ask = fdopen(in[1], "w");
    s->answer = fdopen(out[0], "r");
    return s->process > 0 && s->ask && s->answer && fscanf(s->answer, "%15s", word) == 1;
}

static bool side_turn(side *s, int steps)
{
    double fastest, median;
    fprintf(s->ask, "%d\n", steps);
    fflush(s->ask);
    if (fscanf(s->answer, "%lf %lf %ld %ld", &fastest, &median, &s->base, &s->peak) != 4) return false;
    if (fastest < s->fastest) s->fastest = fastest;
    if (median < s->median) s->median = median;
    return true;
}

static void side_end(side *s)
{
    if (s->ask) fclose(s->ask);
    if (s->answer) fclose(s->answer);
    if (s->process > 0) waitpid(s->process, NULL, 0);
}

/* ---- the table */

static int steps_for(double step_seconds)
{
    double n = turn_seconds / step_seconds;
    return n < 3 ? 3 : n > MOST_STEPS ? MOST_STEPS : (int)n;
}

static int compare(const bench_model *model, bool *torch)
{
    side own, other = {0};
    bool good = side_start(&own, model, false) && side_turn(&own, WARM_UP);
    *torch = good && *torch && side_start(&other, model, true) && side_turn(&other, WARM_UP);
    int steps = good ? steps_for(own.fastest) : 0;
    for (int turn = 0; turn < TURNS && good; turn++) {
        good = side_turn(&own, steps);
        if (*torch) *torch = side_turn(&other, steps);
    }
    double mega = 1.0 / 1024;
    if (good) {
        printf("%-6s %5d %9.2f %9.2f", model->name, model->batch, own.fastest * 1e3, own.median * 1e3);
        if (*torch)
            printf(" %9.2f %9.2f %7.2f %7.2f", other.fastest * 1e3, other.median * 1e3,
                   own.fastest / other.fastest, own.median / other.median);
        else
            printf(" %9s %9s %7s %7s", "-", "-", "-", "-");
        printf(" %9.1f", (double)own.peak * mega);
        if (*torch)
            printf(" %9.1f %13.1f", (double)other.peak * mega, (double)(other.peak - other.base) * mega);
        printf("\n");
        if (*torch && own.median > limit * other.median)
            printf("%s: more than %.0f times PyTorch's step\n", model->name, limit);
    }
    side_end(&own);
    side_end(&other);
    if (!good) fprintf(stderr, "kiln: bench %s: training failed\n", model->name);
    return good ? 0 : 1;
}

/* Where the time goes, by op, as the profile decorator under autodiff sees it: forward, backward and update. */
static int show_profile(const bench_model *model)
{
    trainer t;
    bool good = trainer_start(&t, model, "autodiff(profile(cpu))");
    double start = seconds();
    for (int i = 0; i < 20 && good; i++) good = trainer_step(&t) == KN_OK;
    double spent = seconds() - start;
    size_t bytes = kn_device_report(t.device, NULL, NULL, 0) + 1;
    char *text = good ? malloc(bytes) : NULL;
    if (!text) {
        fprintf(stderr, "kiln: bench %s: %s\n", model->name, kn_last_error());
        return 1;
    }
    kn_device_report(t.device, NULL, text, bytes);
    printf("%s (%s), 20 steps of %.2f ms:\n%s\n", model->name, model->text, spent * 50, text);
    free(text);
    return 0;
}

/* In a process of its own, since profiles of one process add up. */
static int profile_apart(const bench_model *model)
{
    int status = 1;
    fflush(stdout);
    pid_t process = fork();
    if (process == 0) {
        status = show_profile(model);
        fflush(stdout);
        _exit(status);
    }
    return process < 0 || waitpid(process, &status, 0) < 0 || status != 0;
}

int kiln_bench_train(int count, char **arguments)
{
    bool profile = false, torch = true, bad = false;
    const char *number = NULL;
    int code = 0;
    for (int i = 0; i < count; i++)
        if (kiln_option(arguments, i, "--profile"))
            profile = true;
        else if (!kiln_option_value(count, arguments, &i, "--threads", &number, &bad) &&
                 !bench_model_named(arguments[i]))
            return kiln_usage_error("there is no benchmark '%s'", arguments[i]);
    if (number) threads = atoi(number);
    if (bad || threads < 1) return kiln_usage_error("--threads needs a number above 0");
    signal(SIGPIPE, SIG_IGN);
    if (!profile) {
        printf("a training step with Adam, %d threads, in turns; ms: the fastest of all and the best median "
               "of %d turns\n",
               threads, TURNS);
        printf("%-6s %5s %9s %9s %9s %9s %7s %7s %9s %9s %13s\n", "", "batch", "kiln", "median", "torch",
               "median", "ratio", "median", "peak MB", "torch", "less imports");
    }
    for (int i = 0; i < count && !code; i++) {
        const bench_model *model = bench_model_named(arguments[i]);
        if (model) code = profile ? profile_apart(model) : compare(model, &torch);
    }
    if (!torch)
        printf("no PyTorch: KN_PYTHON names a python that has it, run in the root of the repository\n");
    return code;
}
