/* What fusion(cpu) computes of a layout that runs across its order costs about what a copy into order and the same of that copy
   cost, and no more than twice what it costs on cpu. Strips that read across took 2.5 to 7 times as long. */
#define _GNU_SOURCE
#include "support/check.h"
#include <stdlib.h>
#include <time.h>

enum { SIZE = 1024, TRIES = 40, ENOUGH = 4 };

static kn_tensor transposed(kn_tensor x) { return kn_transpose(x, 0, 1); }
static kn_tensor four_axes(kn_tensor x)
{
    return kn_permute(kn_reshape(x, KN_SHAPE(32, SIZE / 32, 32, SIZE / 32)), KN_AXES(3, 1, 2, 0));
}

static kn_tensor copy(kn_tensor y) { return kn_reshape(y, KN_SHAPE(kn_count(y))); }
static kn_tensor to_half(kn_tensor y) { return kn_cast(y, KN_F16); }
static kn_tensor negative_half(kn_tensor y) { return kn_neg(kn_cast(y, KN_F16)); }
static kn_tensor half_negative(kn_tensor y) { return kn_cast(kn_neg(y), KN_F16); }
static kn_tensor two(kn_tensor y) { return kn_relu(kn_neg(y)); }
static kn_tensor scaled(kn_tensor y) { return kn_add_scalar(kn_mul_scalar(y, 2), 1); }

static const struct {
    const char *name;
    kn_tensor (*view)(kn_tensor x);
    kn_tensor (*use)(kn_tensor y);
} works[] = {{"the copy of xT", transposed, copy},
             {"half(xT)", transposed, to_half},
             {"-half(xT)", transposed, negative_half},
             {"half(-xT)", transposed, half_negative},
             {"relu(-xT)", transposed, two},
             {"2 xT + 1", transposed, scaled},
             {"the copy of four axes", four_axes, copy},
             {"half(x) of four axes", four_axes, to_half},
             {"half(-x) of four axes", four_axes, half_negative},
             {"relu(-x) of four axes", four_axes, two}};
enum { WORKS = sizeof works / sizeof *works };

typedef struct side {
    kn_device device;
    kn_tensor x;
} side;

/* Processor time of one run, which other programs do not add to. The least of several is kept: others spoil the caches. */
static void time_one(const side *s, kn_tensor (*view)(kn_tensor), kn_tensor (*use)(kn_tensor), double *best)
{
    kn_device_use(s->device);
    kn_scope scope = kn_scope_begin();
    kn_tensor y = kn_keep(view ? view(s->x) : kn_alias(s->x));
    CHECK(kn_sync(s->device) == KN_OK);
    clock_t start = clock();
    kn_tensor z = kn_keep(use(y));
    CHECK(kn_ok(z) && kn_sync(s->device) == KN_OK);
    double took = (double)(clock() - start) / CLOCKS_PER_SEC;
    if (took < *best) *best = took;
    kn_scope_end(scope, KN_NONE);
}

static void compare(int w, const side *cpu, const side *fusion)
{
    double plain = 1e9, fused = 1e9, copied = 1e9, ordered = 1e9;
    bool copies = works[w].use == copy;
    for (int i = 0; i < TRIES && (i < ENOUGH || fused > 1.5 * plain || fused > 1.5 * (copied + ordered));
         i++) {
        time_one(cpu, works[w].view, works[w].use, &plain);
        time_one(cpu, works[w].view, copy, &copied);
        time_one(fusion, works[w].view, works[w].use, &fused);
        time_one(fusion, NULL, works[w].use, &ordered);
    }
    bool good = CHECK(fused <= 2 * plain);
    if (!copies) good = CHECK(fused <= 2 * (copied + ordered)) && good;
    if (!good || getenv("KN_SHOW"))
        printf("  %s: %g s on fusion(cpu), %g s on cpu; %g s for a copy, %g s in order\n", works[w].name,
               fused, plain, copied, ordered);
}

int main(void)
{
    const char *const specs[] = {"cpu", "fusion(cpu)"};
    side sides[2];
    kn_set_threads(1);
    setenv("KN_JIT", "off", 1);
    for (int d = 0; d < 2; d++) {
        sides[d].device = kn_device_open(specs[d]);
        kn_device_use(sides[d].device);
        kn_tensor x = kn_arange(0, (double)SIZE * SIZE, 1, KN_F32);
        sides[d].x = kn_own(kn_reshape(x, KN_SHAPE(SIZE, SIZE)));
        CHECK(kn_ok(sides[d].x));
    }
    for (int w = 0; w < WORKS; w++) compare(w, &sides[0], &sides[1]);
    kn_device_use(NULL);
    for (int d = 0; d < 2; d++) kn_drop(sides[d].x);
    return check_report();
}
