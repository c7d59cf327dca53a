/* The mode of the processor's floating point (rounding, subnormal numbers, traps) that a program sets is its own: results do not
   depend on it, nor on which thread computes a piece, and it is still set afterwards. */
#define _GNU_SOURCE
#include "support/check.h"
#include <fenv.h>
#include <pthread.h>
#include <stdlib.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

enum { N = 1 << 17 };
static float inputs[N];

typedef struct results {
    float pointwise[N];
    double sum, product, scalar;
} results;

static void compute(const char *spec, results *r)
{
    kn_device d = kn_device_open(spec);
    kn_device_use(d);
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_from(inputs, KN_F32, KN_SHAPE(N)));
    kn_tensor y = kn_keep(kn_add_scalar(kn_mul_scalar(kn_exp(kn_mul_scalar(x, 0.1)), 1.0 / 3), 0.7));
    CHECK(kn_read(kn_mul(y, kn_mul_scalar(x, 1e-38)), r->pointwise, sizeof r->pointwise) == KN_OK);
    r->sum = kn_item(kn_sum(kn_div(y, kn_add_scalar(x, 3)), KN_AXES_ALL, false));
    kn_tensor m = kn_keep(kn_reshape(y, KN_SHAPE(512, N / 512)));
    r->product = kn_item(kn_sum(kn_matmul(m, kn_transpose(m, 0, 1)), KN_AXES_ALL, false));
    r->scalar = kn_item(kn_div_scalar(kn_scalar(1, KN_F32), 3));
    (void)kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
    kn_device_close(d);
}

static results *want, *got;

static void equal(const char *spec, const char *mode)
{
    compute(spec, got);
    if (!CHECK(!memcmp(want, got, sizeof *want))) printf("  %s in mode %s\n", spec, mode);
}

static void in_modes(const char *spec)
{
    static const struct {
        int mode;
        const char *name;
    } rounding[] = {{FE_UPWARD, "upward"}, {FE_DOWNWARD, "downward"}, {FE_TOWARDZERO, "toward zero"}};
    for (int i = 0; i < 3; i++) {
        CHECK(fesetround(rounding[i].mode) == 0);
        equal(spec, rounding[i].name);
        CHECK(fegetround() == rounding[i].mode);
    }
    CHECK(fesetround(FE_TONEAREST) == 0);
#if defined(__x86_64__)
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040); /* flush to zero, and subnormal numbers are zeros */
    equal(spec, "flushing");
    CHECK((_mm_getcsr() & 0x8040) == 0x8040);
    _mm_setcsr(before);
    _mm_setcsr(0x1F80 & ~0x0E80u); /* traps */
    equal(spec, "trapping");
    _mm_setcsr(before);
#endif
}

typedef struct queued {
    kn_device device;
    kn_tensor value;
} queued;

/* A queue that another thread runs, in that thread's mode. */
static void *reads(void *argument)
{
    queued *q = argument;
    fesetround(FE_UPWARD);
    CHECK(kn_sync(q->device) == KN_OK);
    return NULL;
}

static void by_another_thread(void)
{
    static float values[N], again[N];
    for (int i = 0; i < 2; i++) {
        pthread_t thread;
        queued q = {.device = kn_device_open("fusion(cpu)")};
        kn_device_use(q.device);
        q.value = kn_own(kn_exp(kn_mul_scalar(kn_from(inputs, KN_F32, KN_SHAPE(N)), 0.1)));
        if (i) {
            CHECK(pthread_create(&thread, NULL, reads, &q) == 0);
            pthread_join(thread, NULL);
        }
        CHECK(kn_read(q.value, i ? again : values, sizeof values) == KN_OK);
        kn_drop(q.value);
        kn_device_use(NULL);
        kn_device_close(q.device);
    }
    CHECK(!memcmp(values, again, sizeof values));
}

int main(void)
{
    static const char *const stacks[] = {"cpu", "fusion(cpu)", "autodiff(fusion(cpu))"};
    want = calloc(1, sizeof *want);
    got = calloc(1, sizeof *got);
    if (!CHECK(want && got)) return check_report();
    for (int i = 0; i < N; i++) inputs[i] = (float)((i * 2654435761u) % 10007) / 997.0f;
    setenv("KN_CACHE", "off", 1);
    for (int jit = 0; jit < 2; jit++) {
        setenv("KN_JIT", jit ? "cc:wait" : "off", 1);
        for (size_t s = 0; s < sizeof stacks / sizeof *stacks; s++) {
            kn_set_threads(2);
            compute(stacks[s], want);
            in_modes(stacks[s]); /* the workers exist already */
            /* Workers that are made now would have this mode of their maker. */
            fesetround(FE_UPWARD);
            kn_set_threads(3);
            equal(stacks[s], "upward when workers are made");
            fesetround(FE_TONEAREST);
            equal(stacks[s], "nearest again");
            kn_set_threads(1);
            in_modes(stacks[s]);
        }
    }
    by_another_thread();
    free(want);
    free(got);
    (void)kn_shutdown();
    return check_report();
}
