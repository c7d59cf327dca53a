/* Small elementwise groups of one formula as one launch: batch norms that train on a device of paper, and their values on one that
   computes. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* setenv */
#endif
#include "support/check.h"
#include "support/paper_device.h"
#include <kn/nn.h>
#include <math.h>
#include <stdlib.h>

enum { MOST = 24, BATCH = 3, WIDTH = 16 };

typedef struct norms {
    kn_nn_batch_norm *list;
    int32_t n;
} norms;
static const kn_module_type norms_type = {"norms", sizeof(norms),
                                          (const kn_field[]){KN_LIST(norms, list, n, kn_nn_batch_norm), {0}}};

/* Norms one after the other, every other one of half as many channels over twice the places. */
static bool open_norms(norms *m, int n, bool cumulative)
{
    *m = (norms){calloc((size_t)n, sizeof *m->list), n};
    bool good = m->list != NULL;
    for (int i = 0; i < n && good; i++) {
        kn_nn_batch_norm_args args = {.cumulative = cumulative};
        good = kn_nn_batch_norm_init(&m->list[i], i % 2 ? WIDTH / 2 : WIDTH, &args) == KN_OK;
    }
    return good;
}

static kn_tensor run_norms(const norms *m, kn_tensor x)
{
    for (int i = 0; i < m->n; i++) {
        const int64_t channels = i % 2 ? WIDTH / 2 : WIDTH;
        x = kn_reshape(x, KN_SHAPE(BATCH, channels, 4 * WIDTH / channels));
        x = kn_nn_batch_norm_forward(&m->list[i], x);
    }
    return x;
}

static kn_tensor input(int step)
{
    float x[BATCH * WIDTH * 4];
    for (int i = 0; i < BATCH * WIDTH * 4; i++) x[i] = (float)((i * 37 + step * 11) % 101) / 50 - 1;
    return kn_from(x, KN_F32, KN_SHAPE(BATCH, WIDTH, 4));
}

static kn_status step_norms(kn_device device, const norms *m, int step)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor y = kn_keep(run_norms(m, input(step)));
    kn_status s = kn_ok(y) ? kn_sync(device) : KN_ERROR_ARGUMENT;
    kn_scope_end(scope, KN_NONE);
    return s;
}

/* Launches of the last of some steps. */
static int64_t launches_of(int n, bool records)
{
    norms m;
    paper_do = (paper_orders){.room = 1 << 22, .fault = -1, .records = records};
    paper_register();
    kn_device device = kn_device_open("fusion(paper)");
    kn_device_use(device);
    CHECK(device && open_norms(&m, n, false));
    int64_t launches = 0, replays = paper_now.replays;
    for (int i = 0; i < 8; i++) {
        const int64_t before = paper_now.launches;
        CHECK(step_norms(device, &m, i) == KN_OK);
        launches = paper_now.launches - before;
    }
    CHECK((paper_now.replays - replays > 1) == records);
    kn_module_drop((kn_module){&m, &norms_type});
    kn_device_use(NULL);
    CHECK(kn_shutdown() == 0);
    return launches;
}

/* A norm is one launch; its averages and its count go along with those of the others: up to 64 operands fit each of the three. */
static void averages_share_launches(bool records)
{
    const int64_t two = launches_of(2, records), ten = launches_of(10, records),
                  all = launches_of(MOST, records);
    if (!CHECK(two == 2 + 3 && ten == 10 + 3 && all <= MOST + 3 + 3))
        printf("  launches: %d, %d, %d\n", (int)two, (int)ten, (int)all);
}

static void read_average(const norms *m, int i, float *to)
{
    CHECK(kn_read(kn_value(m->list[i].running_mean), to, sizeof(float) * (i % 2 ? WIDTH / 2 : WIDTH)) ==
          KN_OK);
    CHECK(kn_read(kn_value(m->list[i].running_var), to + WIDTH,
                  sizeof(float) * (i % 2 ? WIDTH / 2 : WIDTH)) == KN_OK);
}

/* The averages and counts are those of single records, also where the step comes from the count. */
static void averages_are_right(bool cumulative)
{
    enum { N = 7, STEPS = 4 };
    static float got[2][N][2 * WIDTH];
    const char *const specs[2] = {"ref", "fusion(opencl:0)"};
    for (int side = 0; side < 2; side++) {
        norms m;
        kn_device device = kn_device_open(specs[side]);
        kn_device_use(device);
        CHECK(device && open_norms(&m, N, cumulative));
        for (int i = 0; i < STEPS; i++) CHECK(step_norms(device, &m, i) == KN_OK);
        for (int i = 0; i < N; i++) {
            CHECK(kn_item_int(kn_value(m.list[i].num_batches_tracked)) == STEPS);
            read_average(&m, i, got[side][i]);
        }
        kn_module_drop((kn_module){&m, &norms_type});
        kn_device_use(NULL);
    }
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 2 * WIDTH; k++)
            if (!CHECK(fabsf(got[0][i][k] - got[1][i][k]) <= 2e-5f * (1 + fabsf(got[0][i][k]))))
                printf("  norm %d, %d: %g and %g\n", i, k, (double)got[0][i][k], (double)got[1][i][k]);
}

int main(void)
{
    setenv("KN_OPENCL_OPTIONS", "-cl-opt-disable", 0);
    averages_share_launches(false);
    averages_share_launches(true);
    kn_device opencl = kn_device_open("opencl:0");
    if (!opencl) {
        check_skip("no OpenCL device");
        return check_report();
    }
    averages_are_right(false);
    averages_are_right(true);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
