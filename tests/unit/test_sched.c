/* Schedules of elementwise work: dtypes, broadcasts, views, lanes and groups give what the CPU gives. */
#include "../support/check.h"
#include "test_sched_leaf.h"
#include <math.h>

static kn_device cpu, leaf;

static uint64_t seed = 88172645463325252u;
static uint64_t next(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}

int main(void)
{
    kn_backend_register("leaf", leaf_open);
    cpu = kn_device_open("cpu");
    leaf = kn_device_open("leaf");
    CHECK(leaf != NULL);
    double v[24];
    for (int i = 0; i < 24; i++) v[i] = (double)(next() % 1000) / 100 - 5;
    kn_tensor a = kn_keep(kn_from(v, KN_F64, KN_SHAPE(4, 6)));
    kn_tensor x = kn_keep(kn_cast(a, KN_F32)), y = kn_keep(kn_to(x, leaf));
    kn_tensor p = kn_keep(kn_add(kn_exp(x), x)), q = kn_keep(kn_add(kn_exp(y), y));
    float u[24], w[24];
    CHECK(kn_read(p, u, sizeof u) == KN_OK);
    CHECK(kn_read(q, w, sizeof w) == KN_OK);
    printf("%s\n", kn_last_error());
    CHECK(!memcmp(u, w, sizeof u));
    printf("scheduled %d missing %d\n", leaf_scheduled, leaf_missing);
    return check_report();
}
