/* kiln bench fusion: what queueing a record costs, and groups of records beside the same ops one by one. Processor time
   of the calling process is measured, in turns, so that other work on the machine disturbs little. */
#define _DEFAULT_SOURCE 1 /* madvise */
#include "bench_train_models.h"
#include "kiln.h"
#include <kn.h>
#include <kn/optim.h>
#include <kn/program.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { TURNS = 9, RECORDS = 4000, STEPS = 40 };
#define FULL (INT64_C(64) << 20)
static int64_t elements = FULL;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- what is measured: each makes its result from the same inputs */

typedef struct inputs {
    kn_tensor a, b, c, d, row; /* row: one for each column */
} inputs;

/* The chain of the issue: multiply by a number, add, relu, multiply, subtract, square. */
static kn_tensor chain(const inputs *x)
{
    kn_tensor y = kn_relu(kn_add(kn_mul_scalar(x->a, 1.5), x->b));
    return kn_square(kn_sub(kn_mul(y, x->c), x->d));
}

static kn_tensor softmax_shape(const inputs *x)
{
    kn_tensor y = kn_softmax(kn_add(kn_mul_scalar(x->a, 0.125), x->b), -1);
    return kn_add(kn_mul(y, x->c), x->d);
}

static kn_tensor norm_shape(const inputs *x)
{
    kn_tensor y = kn_layer_norm(kn_add(x->a, x->b), x->row, x->row, 1, 1e-5);
    return kn_mul(kn_gelu_approximate(y), x->c);
}

/* Softmax and layer norm written out in simple ops. */
static kn_tensor softmax_written(const inputs *x)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor z = kn_keep(kn_mul_scalar(x->a, 0.125));
    kn_tensor e = kn_keep(kn_exp(kn_sub(z, kn_max(z, KN_AXES(-1), true))));
    return kn_scope_end(scope, kn_div(e, kn_sum(e, KN_AXES(-1), true)));
}

static kn_tensor norm_written(const inputs *x)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor z = kn_keep(kn_add(x->a, x->b));
    kn_tensor centred = kn_keep(kn_sub(z, kn_mean(z, KN_AXES(-1), true)));
    kn_tensor scale = kn_rsqrt(kn_add_scalar(kn_mean(kn_square(centred), KN_AXES(-1), true), 1e-5));
    return kn_scope_end(scope, kn_add(kn_mul(kn_mul(centred, scale), x->row), x->row));
}

typedef struct measure {
    const char *name;
    kn_tensor (*fn)(const inputs *x);
    int rows_of; /* 0: flat, else so many columns */
    double goal; /* times unfused */
} measure;
static const measure measures[] = {{"chain of 6 ops", chain, 0, 2.5},
                                   {"softmax written out", softmax_written, 1024, 1.5},
                                   {"layer norm written out", norm_written, 1024, 1.5},
                                   {"kn_softmax in a chain", softmax_shape, 1024, 1.5},
                                   {"kn_layer_norm in a chain", norm_shape, 1024, 1.5}};

static inputs make_inputs(const measure *m, kn_device device)
{
    kn_device_use(device);
    kn_seed(device, 1);
    kn_shape shape = m->rows_of ? KN_SHAPE(elements / 4 / m->rows_of, m->rows_of) : KN_SHAPE(elements);
    kn_tensor t[5];
    for (int i = 0; i < 4; i++) t[i] = kn_own(kn_random_uniform(shape, -1, 1, KN_F32));
    t[4] = kn_own(kn_random_uniform(KN_SHAPE(m->rows_of ? m->rows_of : 1), -1, 1, KN_F32));
    (void)!kn_sync(device);
    return (inputs){t[0], t[1], t[2], t[3], t[4]};
}

static double time_once(const measure *m, const inputs *x, kn_device device)
{
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    double start = now();
    kn_tensor y = kn_keep(m->fn(x));
    kn_status s = kn_sync(device);
    double took = now() - start;
    bool good = s == KN_OK && kn_ok(y);
    kn_scope_end(scope, KN_NONE);
    return good ? took : -1;
}

static void drop_inputs(inputs *x)
{
    kn_drop(x->a), kn_drop(x->b), kn_drop(x->c), kn_drop(x->d), kn_drop(x->row);
}

static bool compare(const measure *m, kn_device plain, kn_device fused)
{
    inputs x = make_inputs(m, plain), y = make_inputs(m, fused);
    double best[2] = {1e30, 1e30};
    for (int i = 0; i < TURNS; i++) {
        double a = time_once(m, &x, plain), b = time_once(m, &y, fused);
        if (a < 0 || b < 0) {
            fprintf(stderr, "kiln: bench fusion: %s\n", kn_last_error());
            return false;
        }
        if (a < best[0]) best[0] = a;
        if (b < best[1]) best[1] = b;
    }
    drop_inputs(&x), drop_inputs(&y);
    double ratio = best[0] / best[1];
    char label[64], verdict[48] = "  (goals are for large sizes)";
    if (m->rows_of)
        snprintf(label, sizeof label, "%s, %dx%d", m->name, (int)(elements / 4 / m->rows_of), m->rows_of);
    else
        snprintf(label, sizeof label, "%s, %d Mi f32", m->name, (int)(elements >> 20));
    if (elements == FULL)
        snprintf(verdict, sizeof verdict, "  goal %.1fx %s", m->goal,
                 ratio >= m->goal ? "reached" : "missed");
    printf("%-36s %9.2f %9.2f %7.2fx%s\n", label, best[0] * 1e3, best[1] * 1e3, ratio, verdict);
    return true;
}

/* ---- compiled C beside the bandwidth that a simple loop reaches, in turns */

/* With stores that pass the caches where the compiler has them for this processor: those that fetch what they overwrite
   move a fourth more than is counted. */
#if defined(__SSE2__)
static void triad_past(float *restrict a, const float *restrict b, const float *restrict c, size_t n)
{
    const __m128 three = _mm_set1_ps(3.0f);
    for (size_t i = 0; i + 16 <= n; i += 16) /* a whole line at a time */
        for (size_t k = i; k < i + 16; k += 4)
            _mm_stream_ps(a + k, _mm_add_ps(_mm_loadu_ps(b + k), _mm_mul_ps(three, _mm_loadu_ps(c + k))));
    _mm_sfence();
}
#else
static void triad_past(float *restrict a, const float *restrict b, const float *restrict c, size_t n)
{
    for (size_t i = 0; i < n; i++) a[i] = b[i] + 3.0f * c[i];
}
#endif

static void triad_plain(float *restrict a, const float *restrict b, const float *restrict c, size_t n)
{
    for (size_t i = 0; i < n; i++) a[i] = b[i] + 3.0f * c[i];
}

/* The better of both. */
static double triad_once(float *a, float *b, const float *c, size_t n)
{
    double start = now();
    triad_plain(a, b, c, n);
    double plain = now() - start;
    b[0] = a[n / 2]; /* the result is used */
    start = now();
    triad_past(a, b, c, n);
    double past = now() - start;
    b[0] = a[n / 3];
    return plain < past ? plain : past;
}

/* Memory like that of Kiln's own large tensors, with huge pages where the system has them. */
static float *take_memory(size_t n)
{
    enum { HUGE_PAGE = 1 << 21 };
    float *p = aligned_alloc(HUGE_PAGE, n * sizeof *p);
#if defined(MADV_HUGEPAGE)
    if (p) (void)madvise(p, n * sizeof *p, MADV_HUGEPAGE);
#endif
    return p;
}

/* The chain with KN_JIT=cc, in bytes of its four operands and its result. */
static bool compare_compiled(void)
{
    setenv("KN_JIT", "cc:wait", 1);
    kn_device device = kn_device_open("fusion(cpu)");
    size_t n = (size_t)elements;
    float *a = take_memory(n), *b = take_memory(n), *c = take_memory(n);
    bool good = device && a && b && c;
    double best[2] = {1e30, 1e30};
    if (good) {
        inputs x = make_inputs(&measures[0], device);
        for (size_t i = 0; i < n; i++) a[i] = 0, b[i] = 1, c[i] = 2;
        for (int i = 0; i < 2 * TURNS && good; i++) {
            double simple = triad_once(a, b, c, n), chained = time_once(&measures[0], &x, device);
            good = chained >= 0;
            if (simple < best[0]) best[0] = simple;
            if (chained < best[1]) best[1] = chained;
        }
        drop_inputs(&x);
    }
    free(a), free(b), free(c);
    unsetenv("KN_JIT");
    kn_device_close(device);
    if (!good) {
        fprintf(stderr, "kiln: bench fusion: %s\n", kn_last_error());
        return false;
    }
    double bytes = (double)n * sizeof(float) * 1e-9, reached = 5 * bytes / best[1] / (3 * bytes / best[0]);
    printf("the same chain, KN_JIT=cc: %.2f ms, %.1f GB/s; triad %.1f GB/s: %.2f of it, goal 0.85 %s\n",
           best[1] * 1e3, 5 * bytes / best[1], 3 * bytes / best[0], reached,
           reached >= 0.85 ? "reached" : "missed");
    return true;
}

/* ---- queueing */

static double queue_cost(kn_device device, bool queued)
{
    kn_device_use(device);
    double best = 1e30;
    kn_scope scope = kn_scope_begin();
    kn_tensor a = kn_keep(kn_random_uniform(KN_SHAPE(8), 0, 1, KN_F32));
    (void)!kn_sync(device);
    for (int t = 0; t < 50; t++) {
        kn_scope inner = kn_scope_begin();
        double start = now();
        kn_tensor y = kn_add(a, a);
        for (int i = 0; i < RECORDS; i++) y = kn_add(y, a);
        double took = (now() - start) / RECORDS;
        if (queued) (void)!kn_sync(device);
        if (took < best) best = took;
        kn_scope_end(inner, KN_NONE);
    }
    kn_scope_end(scope, KN_NONE);
    return best * 1e9;
}

/* ---- a training step */

static double train(const char *spec)
{
    const bench_model *model = bench_model_named("mlp");
    kn_device device = kn_device_open(spec);
    kn_module net = {bench_model_make(model), model->type};
    int64_t labels[512];
    kn_device_use(device);
    kn_seed(device, 1);
    if (!device || !net.self || model->init(net.self)) return -1;
    for (int i = 0; i < model->batch; i++) labels[i] = i % 10;
    kn_optim optim = kn_optim_adam(NULL);
    kn_tensor x = kn_own(kn_random_uniform(KN_SHAPE(model->batch, 1, 28, 28), 0, 1, KN_F32));
    kn_tensor y = kn_own(kn_from(labels, KN_I64, KN_SHAPE(model->batch)));
    double best = 1e30;
    kn_status s = optim ? KN_OK : KN_ERROR_MEMORY;
    for (int i = 0; i < STEPS && s == KN_OK; i++) {
        kn_scope scope = kn_scope_begin();
        kn_grads grads = NULL;
        double start = now();
        s = kn_backward(kn_cross_entropy(model->forward(net.self, x), y, NULL), &grads);
        if (s == KN_OK) s = kn_optim_step(optim, 1e-3, net, grads);
        if (s == KN_OK) s = kn_sync(device);
        double took = now() - start;
        if (took < best) best = took;
        kn_grads_free(grads);
        kn_scope_end(scope, KN_NONE);
    }
    kn_optim_free(optim);
    kn_module_drop(net);
    kn_drop(x), kn_drop(y);
    free(net.self);
    if (s) fprintf(stderr, "kiln: bench fusion: %s\n", kn_last_error());
    return s ? -1 : best;
}

int kiln_bench_fusion(int count, char **arguments)
{
    for (int i = 0; i < count; i++) {
        if (strcmp(arguments[i], "--small"))
            return kiln_usage_error("bench fusion has no option '%s'", arguments[i]);
        elements = INT64_C(4) << 20;
    }
    kn_set_threads(1);
    kn_device plain = kn_device_open("cpu"), fused = kn_device_open("fusion(cpu)");
    if (!plain || !fused) {
        fprintf(stderr, "kiln: %s\n", kn_last_error());
        return 1;
    }
    printf("one thread, ms of processor time, the best of %d\n", (int)TURNS);
    printf("%-36s %9s %9s %8s\n", "", "cpu", "fusion", "");
    bool good = true;
    for (size_t i = 0; i < sizeof measures / sizeof *measures; i++)
        good &= compare(&measures[i], plain, fused) && (i > 0 || compare_compiled());
    double steps[2] = {train("autodiff(cpu)"), train("autodiff(fusion(cpu))")};
    good &= steps[0] > 0 && steps[1] > 0;
    printf("%-36s %9.3f %9.3f %7.2fx  goal above 1 %s\n", "MLP 784-512-512-10, batch 128, Adam",
           steps[0] * 1e3, steps[1] * 1e3, steps[0] / steps[1], steps[0] > steps[1] ? "reached" : "missed");
    double eager = queue_cost(plain, false), queued = queue_cost(fused, true);
    printf("ns of a call of 8 elements: %.0f run, %.0f queued; goal 200 queued %s\n", eager, queued,
           queued <= 200 ? "reached" : "missed");
    kn_device_use(NULL);
    return good ? 0 : 1;
}
