/* Computing again instead of storing: the cut of a graph, and plans that make use of it. */
#define _POSIX_C_SOURCE 200809L
#include "graph/minimum_cut.h"
#include "support/check.h"
#include <kn/autodiff.h>
#include <kn/program.h>
#include <math.h>
#include <stdlib.h>

/* ---- cuts */

/* A path source -> a -> b -> sink: the cheapest of its edges is cut; of equal ones the one nearest to the sink. */
static void cut_of_a_path(int64_t first, int64_t second, int64_t third, int on_sinks_side)
{
    kni_cut c;
    kni_cut_begin(&c);
    int32_t a = kni_cut_node(&c), b = kni_cut_node(&c);
    kni_cut_edge(&c, KNI_CUT_SOURCE, a, first);
    kni_cut_edge(&c, a, b, second);
    kni_cut_edge(&c, b, KNI_CUT_SINK, third);
    CHECK(kni_cut_solve(&c));
    CHECK(c.before_sink[a] + c.before_sink[b] == on_sinks_side);
    CHECK(!c.before_sink[KNI_CUT_SOURCE] && c.before_sink[KNI_CUT_SINK]);
}

static void cuts(void)
{
    kni_cut c;
    cut_of_a_path(1, 2, 3, 2);
    cut_of_a_path(2, 1, 3, 1);
    cut_of_a_path(3, 2, 1, 0);
    cut_of_a_path(4, 4, 4, 0);
    cut_of_a_path(0, 4, KNI_CUT_NEVER, 2);
    /* A diamond whose two sides cost 5 together, less than what joins them. */
    kni_cut_begin(&c);
    int32_t top = kni_cut_node(&c), left = kni_cut_node(&c), right = kni_cut_node(&c), end = kni_cut_node(&c);
    kni_cut_edge(&c, KNI_CUT_SOURCE, top, KNI_CUT_NEVER);
    kni_cut_edge(&c, top, left, 2);
    kni_cut_edge(&c, top, right, 3);
    kni_cut_edge(&c, left, end, 9);
    kni_cut_edge(&c, right, end, 9);
    kni_cut_edge(&c, end, KNI_CUT_SINK, 6);
    CHECK(kni_cut_solve(&c) && !c.before_sink[top] && c.before_sink[left] && c.before_sink[right]);
    /* Flow must be led back: the greedy path over the bridge blocks both others. */
    kni_cut_begin(&c);
    int32_t p = kni_cut_node(&c), q = kni_cut_node(&c);
    kni_cut_edge(&c, KNI_CUT_SOURCE, p, 5);
    kni_cut_edge(&c, KNI_CUT_SOURCE, q, 4);
    kni_cut_edge(&c, p, q, 5);
    kni_cut_edge(&c, p, KNI_CUT_SINK, 4);
    kni_cut_edge(&c, q, KNI_CUT_SINK, 5);
    CHECK(kni_cut_solve(&c) && !c.before_sink[p] && !c.before_sink[q]);
    kni_cut_begin(&c);
    kni_cut_edge(&c, KNI_CUT_SOURCE, KNI_CUT_SINK, KNI_CUT_NEVER);
    CHECK(!kni_cut_solve(&c));
    kni_cut_begin(&c);
    while (kni_cut_node(&c) >= 0)
        if (c.n_nodes > KNI_CUT_NODES) break;
    CHECK(c.n_nodes == KNI_CUT_NODES && c.full && !kni_cut_solve(&c));
}

/* ---- plans */

enum { ROWS = 24, COLUMNS = 40 };

static void fill(float *x)
{
    uint32_t state = 5;
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (float)((state = state * 1664525u + 1013904223u) >> 8) / 8388608.0f - 1;
}

/* A chain whose gradient needs most of its values, written as a user would who has no such op. */
static kn_tensor chain(kn_tensor x)
{
    kn_tensor cube = kn_mul(kn_mul(x, x), x);
    kn_tensor inside = kn_keep(kn_tanh(kn_mul_scalar(kn_add(x, kn_mul_scalar(cube, 0.044715)), 0.797884)));
    return kn_mul(kn_mul_scalar(x, 0.5), kn_add_scalar(kn_mul(inside, kn_sigmoid(inside)), 1));
}

/* The gradient of the summed chain, with softmax rows at the end, on a device. */
static kn_status gradient(const char *spec, const float *values, float *result, kn_fusion_stats *stats)
{
    kn_device device = kn_device_open(spec);
    kn_grads grads = NULL;
    if (!device) return KN_ERROR_DEVICE;
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_require_grad(kn_from(values, KN_F32, KN_SHAPE(ROWS, COLUMNS))));
    kn_tensor y = kn_softmax(chain(x), 1);
    kn_tensor loss = kn_sum(kn_square(y), KN_AXES_ALL, false);
    kn_status s = kn_backward(loss, &grads);
    if (s == KN_OK) s = kn_read(kn_grads_get(grads, x), result, (size_t)(ROWS * COLUMNS) * sizeof *result);
    if (s == KN_OK && stats) s = kn_fusion_stats_of(device, stats);
    kn_grads_free(grads);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
    return s;
}

static void plans(void)
{
    float values[ROWS * COLUMNS], stored[ROWS * COLUMNS], again[ROWS * COLUMNS], plain[ROWS * COLUMNS];
    kn_fusion_stats without, with;
    fill(values);
    setenv("KN_FUSION_RECOMPUTE", "off", 1);
    CHECK(gradient("autodiff(fusion(cpu))", values, stored, &without) == KN_OK);
    CHECK(kn_shutdown() == 0);
    setenv("KN_FUSION_RECOMPUTE", "on", 1);
    CHECK(gradient("autodiff(fusion(cpu))", values, again, &with) == KN_OK);
    CHECK(gradient("autodiff(cpu)", values, plain, NULL) == KN_OK);
    CHECK(without.recomputed == 0 && with.recomputed >= 4);
    CHECK(!memcmp(stored, again, sizeof again) && !memcmp(stored, plain, sizeof plain));
    unsetenv("KN_FUSION_RECOMPUTE");
}

/* A value that somebody holds, or that a record by itself reads, is stored whatever it costs. */
static void held_values(void)
{
    float values[ROWS * COLUMNS];
    fill(values);
    setenv("KN_FUSION_RECOMPUTE", "on", 1);
    kn_device device = kn_device_open("fusion(cpu)");
    kn_device_use(device);
    for (int held = 0; held < 2; held++) {
        kn_scope scope = kn_scope_begin();
        kn_fusion_stats before, after;
        CHECK(kn_fusion_stats_of(device, &before) == KN_OK);
        kn_tensor x = kn_keep(kn_from(values, KN_F32, KN_SHAPE(ROWS, COLUMNS)));
        kn_tensor y = kn_keep(kn_exp(x));
        kn_tensor sums = kn_keep(kn_sum(y, KN_AXES(1), true));
        /* The product lies between the two groups that read y, so they cannot become one; nor does it take the second one
           along, which has another shape. */
        kn_tensor spread = kn_matmul(sums, kn_ones(KN_SHAPE(1, 1), KN_F32));
        kn_tensor scaled = kn_keep(kn_mul(y, spread));
        if (!held) kn_drop(y);
        CHECK(kn_sync(device) == KN_OK);
        CHECK(kn_fusion_stats_of(device, &after) == KN_OK);
        /* A value that the user holds is stored anyway; else each reader computes it again. */
        CHECK(held ? after.recomputed == before.recomputed : after.recomputed > before.recomputed);
        float first[ROWS], expected = 0;
        CHECK(kn_read(sums, first, sizeof first) == KN_OK);
        for (int i = 0; i < COLUMNS; i++) expected += (float)exp((double)values[i]);
        CHECK(fabs((double)(first[0] - expected)) < 1e-4 * (double)expected);
        float last[ROWS * COLUMNS], at_end = (float)exp((double)values[COLUMNS - 1]);
        CHECK(kn_read(scaled, last, sizeof last) == KN_OK);
        CHECK(fabs((double)(last[COLUMNS - 1] / at_end / expected - 1)) < 1e-4);
        kn_scope_end(scope, KN_NONE);
    }
    kn_device_use(NULL);
    unsetenv("KN_FUSION_RECOMPUTE");
}

/* The steps of the logged plan, and how many of them say that they compute something again. */
static struct heard {
    int steps, repeat;
} heard;

static void hear(void *context, kn_log_level level, const char *text)
{
    (void)context, (void)level;
    heard.steps += strstr(text, "fusion:   step") != NULL;
    heard.repeat += strstr(text, "some of them again") != NULL;
}

/* A value of one group that a later group reads, and a product as well if `alone`: a product computes nothing again, so that
   the value lies in memory for all. The log names the steps that compute again what an earlier one did. */
static void readers_that_cannot_compute(bool alone)
{
    float values[ROWS * COLUMNS], got[ROWS * COLUMNS];
    fill(values);
    setenv("KN_FUSION_RECOMPUTE", "on", 1);
    setenv("KN_FUSION_LOG", "1", 1);
    kn_device device = kn_device_open("fusion(cpu)");
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    kn_fusion_stats stats;
    kn_tensor x = kn_keep(kn_from(values, KN_F32, KN_SHAPE(ROWS, COLUMNS)));
    kn_tensor same = kn_keep(kn_eye(COLUMNS, COLUMNS, KN_F32));
    kn_tensor row = kn_keep(kn_from((float[1]){1}, KN_F32, KN_SHAPE(1, 1)));
    CHECK(kn_sync(device) == KN_OK);
    kn_log_set(hear, NULL);
    heard = (struct heard){0};
    kn_tensor y = kn_keep(kn_exp(x)), product = KN_NONE;
    kn_tensor spread = kn_matmul(kn_sum(y, KN_AXES(1), true), row);
    kn_tensor scaled = kn_keep(kn_mul(y, spread));
    if (alone) product = kn_keep(kn_matmul(y, same));
    kn_drop(y);
    CHECK(kn_sync(device) == KN_OK && kn_fusion_stats_of(device, &stats) == KN_OK && kn_ok(scaled));
    kn_log_set(NULL, NULL);
    bool good = CHECK(stats.recomputed == !alone && stats.refused == 0);
    good &= CHECK(heard.steps == (alone ? 4 : 3) && heard.repeat == !alone);
    if (!good)
        printf("  %d again, %d refused, %d of %d steps repeat\n", (int)stats.recomputed, (int)stats.refused,
               heard.repeat, heard.steps);
    if (alone && CHECK(kn_read(product, got, sizeof got) == KN_OK))
        CHECK(fabs((double)got[COLUMNS] - exp((double)values[COLUMNS])) < 1e-5);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
    kn_device_close(device);
    unsetenv("KN_FUSION_LOG");
    unsetenv("KN_FUSION_RECOMPUTE");
}

int main(void)
{
    cuts();
    plans();
    held_values();
    CHECK(kn_shutdown() == 0);
    readers_that_cannot_compute(false);
    CHECK(kn_shutdown() == 0);
    readers_that_cannot_compute(true);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
