/* What the tests of recurrent layers, attention and transformers share: numbers by the formula of
   tests/train/nn_sequence_values.py, its results, and the comparison of gradients. */
#ifndef TEST_NN_SEQUENCE_H
#define TEST_NN_SEQUENCE_H

#include "../support/check.h"
#include <kn/nn.h>
#include <math.h>
#include <stdlib.h>

typedef struct sequence_entry {
    const char *name;
    int start, n;
} sequence_entry;

#include "../train/nn_sequence_values.inc"

static inline double number_at(int seed, int64_t k)
{
    return ((double)((k * 7919 + (int64_t)seed * 104729) % 101) - 50) / 64;
}

static inline kn_tensor numbers_of(int seed, kn_shape shape, double scale)
{
    int64_t n = 1;
    for (int32_t i = 0; i < shape.rank; i++) n *= shape.dims[i];
    double *v = malloc(((size_t)n + 1) * sizeof *v);
    if (!v) return KN_NONE;
    for (int64_t k = 0; k < n; k++) v[k] = number_at(seed, k) * scale;
    kn_tensor t = kn_from(v, KN_F64, shape);
    free(v);
    return t;
}

static inline kn_tensor numbers(int seed, kn_shape shape) { return numbers_of(seed, shape, 1); }

static inline int seed_of(const char *path)
{
    int h = 7;
    for (; *path; path++) h = (h * 31 + (unsigned char)*path) % 1009;
    return h;
}

static inline kn_status fill_param(void *context, const kn_module_entry *e)
{
    (void)context;
    return kn_param_set(e->param, numbers(seed_of(e->path), kn_shape_of_tensor(kn_value(*e->param))));
}

static inline void fill_params(kn_module m) { CHECK(kn_module_visit(m, fill_param, NULL) == KN_OK); }

/* ---- comparing with PyTorch */

static inline bool expect_values(const char *name, const double *got, int64_t n, double tolerance)
{
    for (size_t i = 0; i < sizeof sequence_entries / sizeof *sequence_entries; i++) {
        const sequence_entry *e = &sequence_entries[i];
        if (strcmp(e->name, name)) continue;
        if (e->n != n) {
            printf("%s: %lld values, PyTorch has %d\n", name, (long long)n, e->n);
            return CHECK(false);
        }
        for (int k = 0; k < e->n; k++) {
            double want = sequence_numbers[e->start + k];
            if (fabs(got[k] - want) <= tolerance * fmax(fabs(want), 1)) continue;
            printf("%s: value %d is %.17g, PyTorch has %.17g\n", name, k, got[k], want);
            return CHECK(false);
        }
        return CHECK(true);
    }
    printf("no values are called %s\n", name);
    return CHECK(false);
}

static inline double *read_all(kn_tensor t)
{
    int64_t n = kn_count(t);
    double *v = n < 0 ? NULL : malloc(((size_t)n + 1) * sizeof *v);
    if (v && kn_read_as(t, KN_F64, v, (size_t)n * sizeof *v) == KN_OK) return v;
    char text[600];
    kn_error_text(t, text, sizeof text);
    printf("cannot read: %s\n", text);
    free(v);
    return NULL;
}

static inline bool expect(const char *test, const char *part, kn_tensor t)
{
    char name[200];
    snprintf(name, sizeof name, "%s.%s", test, part);
    double *v = read_all(t);
    bool good = CHECK(v != NULL) && expect_values(name, v, kn_count(t), 1e-11);
    free(v);
    return good;
}

typedef struct gradient_check {
    const char *test;
    kn_grads grads;
} gradient_check;

static inline kn_status expect_gradient(void *context, const kn_module_entry *e)
{
    gradient_check *c = context;
    kn_tensor g = kn_grads_get(c->grads, kn_value(*e->param));
    double sums[2] = {0, 0}, *v = g.bits ? read_all(g) : NULL;
    for (int64_t k = 0; v && k < kn_count(g); k++)
        for (int i = 0; i < 2; i++) sums[i] += v[k] * number_at(11 + i, k);
    free(v);
    char name[KN_MAX_PATH + 100];
    snprintf(name, sizeof name, "%s.grad.%s", c->test, e->path);
    expect_values(name, sums, 2, 1e-10);
    return KN_OK;
}

/* The gradients of each param agree with PyTorch's in two weighted sums. */
static inline void expect_gradients(const char *test, kn_module m, kn_grads grads)
{
    CHECK(kn_module_visit(m, expect_gradient, &(gradient_check){test, grads}) == KN_OK);
}

/* sum of t times the numbers of a seed. t is borrowed. */
static inline kn_tensor weighted(kn_tensor t, int seed)
{
    return kn_sum(kn_mul(kn_alias(t), numbers(seed, kn_shape_of_tensor(t))), KN_AXES_ALL, false);
}

static inline double largest_gap(kn_tensor a, kn_tensor b)
{
    return kn_item(kn_max(kn_abs(kn_sub(kn_alias(a), kn_alias(b))), KN_AXES_ALL, false));
}

/* Each test in a scope of its own; nothing is left behind. */
static inline int run_tests(void (*const *tests)(void), size_t n)
{
    kn_device device = kn_device_open("autodiff(cpu)");
    if (!CHECK(device != NULL)) return check_report();
    kn_device_use(device);
    for (size_t i = 0; i < n; i++) {
        kn_scope scope = kn_scope_begin();
        tests[i]();
        kn_scope_end(scope, KN_NONE);
        CHECK(kn_memory_stats().tensors_now == 0);
    }
    return check_report();
}

#endif
