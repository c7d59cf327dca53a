/* The Vulkan driver: memory in parts of chunks, copies at odd places, launches cut into several dispatches, recordings, loops that are ended,
   and what happens without a device or after it was lost. */
#define _GNU_SOURCE
#include "backend/gpu/gpu.h"
#include "backend/vulkan/vulkan_driver.h"
#include "support/check.h"
#include <kn/kernels.h>
#include <stdlib.h>

static kni_vulkan_api real, *api;

static kni_gpu *open_gpu(void) { return (kni_gpu *)(void *)kni_vulkan_open("0", NULL, 0); }

/* Parts do not overlap, are aligned, and come back as one hole: the same pieces fit again without a new chunk. */
static void allocates_parts(kni_driver *d)
{
    enum { N = 400 };
    vulkan *v = kni_vulkan_of(d);
    vulkan_memory *parts[N];
    uint64_t before = 0;
    for (int round = 0; round < 3; round++) {
        bool apart = true;
        for (int i = 0; i < N; i++) parts[i] = d->allocate(d, (size_t)(1 + i * 37 % 5000));
        for (int i = 0; i < N; i++) {
            if (!CHECK(parts[i] != NULL)) return;
            apart = apart && parts[i]->offset % VULKAN_ALIGNMENT == 0;
            for (int k = 0; k < i && apart; k++)
                apart = parts[i]->chunk != parts[k]->chunk ||
                        parts[i]->offset >= parts[k]->offset + parts[k]->bytes ||
                        parts[k]->offset >= parts[i]->offset + parts[i]->bytes;
        }
        CHECK(apart);
        CHECK(round == 0 || v->used_bytes == before);
        before = v->used_bytes;
        for (int i = 0; i < N; i += 2) d->free(d, parts[i]);
        for (int i = 1; i < N; i += 2) d->free(d, parts[i]);
    }
    CHECK(d->allocate(d, (size_t)v->max_range + 1) == NULL && d->allocate(d, SIZE_MAX) == NULL);
    void *large = d->allocate(d, 20 << 20);
    CHECK(large && v->used_bytes == before + (20 << 20));
    d->free(d, large);
    CHECK(v->used_bytes == before);
}

/* Copies of any number of bytes at any place, also of more than a frame holds. */
static void copies(kni_driver *d)
{
    enum { BYTES = VULKAN_STAGING + 12345 };
    unsigned char *from = malloc(BYTES), *to = calloc(1, BYTES);
    void *a = d->allocate(d, BYTES), *b = d->allocate(d, BYTES);
    if (!CHECK(from && to && a && b)) return;
    for (int i = 0; i < BYTES; i++) from[i] = (unsigned char)(i * 131 + i / 253);
    CHECK(d->upload(d, a, 0, from, BYTES) == KN_OK && d->copy(d, b, 0, a, 0, BYTES) == KN_OK);
    CHECK(d->download(d, to, b, 0, BYTES) == KN_OK && !memcmp(from, to, BYTES));
    for (size_t at = 0; at < 9; at++)
        for (size_t n = 0; n < 11; n++) {
            memcpy(to, from, 64);
            memset(to + at, 0, n);
            unsigned char seen[64];
            CHECK(d->upload(d, a, 0, from, 64) == KN_OK && d->fill_zero(d, a, at, n) == KN_OK);
            CHECK(d->download(d, seen, a, 0, 64) == KN_OK && !memcmp(seen, to, 64));
            CHECK(d->copy(d, a, at, b, at + 3, n) == KN_OK && d->download(d, seen, a, at, n) == KN_OK);
            CHECK(!n || !memcmp(seen, from + at + 3, n));
        }
    d->free(d, a);
    d->free(d, b);
    free(from);
    free(to);
}

/* Sums with a device that takes so few workgroups at once that a launch is many dispatches. */
static void cuts_launches(kni_driver *d)
{
    vulkan *v = kni_vulkan_of(d);
    uint32_t most[3];
    memcpy(most, v->max_groups, sizeof most);
    for (int i = 0; i < 3; i++) v->max_groups[i] = 3;
    kn_device device = kn_device_open("vulkan:0");
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_arange(0, 5000, 1, KN_F32));
    kn_tensor y = kn_keep(kn_add(x, kn_mul_scalar(x, 2)));
    kn_tensor sums = kn_keep(kn_sum(kn_reshape(x, KN_SHAPE(100, 50)), KN_AXES(1), false));
    float *values = calloc(5000, sizeof *values), seen[100];
    bool good = values && kn_read(y, values, 5000 * sizeof *values) == KN_OK;
    for (int i = 0; good && i < 5000; i++) good = values[i] == 3 * (float)i;
    CHECK(good && kn_read(sums, seen, sizeof seen) == KN_OK);
    for (int i = 0; i < 100 && good; i++) good = seen[i] == (float)(50 * 50 * i + 1225);
    CHECK(good);
    free(values);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
    kn_device_close(device);
    memcpy(v->max_groups, most, sizeof most);
}

static int32_t lost_submit(vk_queue q, uint32_t n, const vk_submit_info *info, vk_fence fence)
{
    (void)q, (void)n, (void)info, (void)fence;
    return VK_LOST;
}

/* A lost device fails what is read from it with a text, and opening it again gives a new one. */
static void survives_loss(void)
{
    kn_device device = kn_device_open("vulkan:0");
    float values[4];
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(4), KN_F32));
    api->submit = lost_submit;
    CHECK_ERROR(kn_read(kn_add(x, x), values, sizeof values), "VK_ERROR_DEVICE_LOST");
    *api = real;
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
    kn_device_close(device);
    device = kn_device_open("vulkan:0");
    kn_device_use(device);
    scope = kn_scope_begin();
    CHECK(kn_read(kn_add(kn_ones(KN_SHAPE(4), KN_F32), kn_ones(KN_SHAPE(4), KN_F32)), values,
                  sizeof values) == KN_OK &&
          values[3] == 2);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
    kn_device_close(device);
}

/* A tensor that no buffer of a kernel can hold is an error that says what to do, and nothing is tried. */
static void refuses_large(kni_driver *d)
{
    kn_device device = kn_device_open("vulkan:0");
    int64_t n = d->max_bytes / 4;
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    kn_tensor least = kn_keep(kn_ones(KN_SHAPE(n + 1), KN_F32));
    CHECK_ERROR(kn_error_code(least), "too large for vulkan:0");
    CHECK_ERROR(kn_error_code(least), "split it along an axis");
    CHECK(kn_ok(kn_ones(KN_SHAPE(4), KN_F32)));
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
    kn_device_close(device);
}

/* y = as many turns of a loop as x says, on one device. */
static kn_status count_turns(const char *text, int32_t turns, int32_t *seen)
{
    kn_kernel *kernel = kn_kernel_compile(text, NULL);
    kn_device device = kn_device_open("vulkan:0");
    kn_tensor y = KN_NONE;
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_from(&turns, KN_I32, KN_SHAPE(1));
    kn_status s = kn_kernel_run(kernel, &x, 1, NULL, &y, 1);
    if (s == KN_OK) s = kn_read(y, seen, sizeof *seen);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
    kn_device_close(device);
    return s;
}

/* Loops of more turns than llvmpipe allows: what is three deep is right, and what is not is told, never wrong. */
static void counts_turns(void)
{
    static const char plain[] = "kernel plain(index item, in i32 x[], out i32 y[]) { i32 t = 0;"
                                " for (i32 i = 0; i < x[item]; i++) { t += i & 1; } y[item] = t; }";
    static const char deep[] = "kernel deep(index item, in i32 x[], out i32 y[]) { i32 t = 0;"
                               " for (i32 i = 0; i < x[item]; i++) for (i32 j = 0; j < x[item]; j++)"
                               " for (i32 k = 0; k < x[item]; k++) { t += k & 1; }"
                               " y[item] = t; }";
    int32_t seen = 0;
    CHECK(count_turns(plain, 60000, &seen) == KN_OK && seen == 30000);
    CHECK(count_turns(deep, 60, &seen) == KN_OK && seen == 60 * 60 * 30);
    kn_status s = count_turns(plain, 300000, &seen);
    CHECK(s == KN_OK ? seen == 150000 : strstr(kn_last_error(), "ended the loops of a kernel") != NULL);
    CHECK(count_turns(plain, 100, &seen) == KN_OK && seen == 50);
}

/* Runs of one plan are recorded and replayed, each with its own numbers, whoever else works in between. */
static void replays_plans(const kni_gpu *g)
{
    enum { ROUNDS = 9, N = 1000 };
    kn_device device = kn_device_open("fusion(vulkan:0)");
    float values[N];
    bool good = true;
    uint64_t before = g->replays;
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_arange(0, N, 1, KN_F32)), other = kn_keep(kn_ones(KN_SHAPE(N), KN_F32));
    good = kn_read(other, values, sizeof values) == KN_OK;
    for (int round = 1; round <= ROUNDS && good; round++) {
        kn_tensor y = kn_add_scalar(kn_mul_scalar(x, round), 0.5);
        kn_tensor total = kn_sum(kn_reshape(y, KN_SHAPE(10, N / 10)), KN_AXES(0), false);
        good = kn_read(total, values, sizeof *values * (N / 10)) == KN_OK;
        for (int i = 0; i < N / 10 && good; i++)
            good = values[i] == (float)round * (float)(10 * i + 4500) + 5;
    }
    CHECK(good);
    CHECK(g->replays > before);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
    kn_device_close(device);
}

/* The driver alone: a recording runs again with other numbers of its launches, and memory that goes meanwhile stays named. */
static void records_copies(kni_driver *d)
{
    unsigned char from[64], to[64];
    void *a = d->allocate(d, 64), *b = d->allocate(d, 64);
    if (!CHECK(a && b)) return;
    memset(from, 7, sizeof from);
    CHECK(d->record_begin(d) == KN_OK && d->copy(d, b, 0, a, 0, 64) == KN_OK &&
          d->fill_zero(d, b, 3, 10) == KN_OK);
    CHECK_ERROR(d->upload(d, a, 0, from, 64), "cannot be recorded");
    CHECK_ERROR(d->download(d, to, a, 0, 64), "cannot be recorded");
    CHECK_ERROR(d->record_begin(d), "cannot be recorded");
    kni_recording *r = d->record_end(d);
    CHECK(r && d->record_end(d) == NULL);
    for (int round = 0; round < 5 && r; round++) {
        memset(from, round + 1, sizeof from);
        CHECK(d->upload(d, a, 0, from, 64) == KN_OK && d->replay(d, r) == KN_OK);
        CHECK(d->download(d, to, b, 0, 64) == KN_OK);
        memset(from + 3, 0, 10);
        CHECK(!memcmp(from, to, sizeof to));
    }
    CHECK(d->record_params(d, r, 0, from, 4) == KN_ERROR_UNSUPPORTED);
    void *c = d->allocate(d, 64), *again;
    d->free(d, c);
    again = d->allocate(d, 64);
    CHECK(again && again != c);
    d->record_free(d, r);
    d->free(d, again);
    d->free(d, a);
    d->free(d, b);
}

static int32_t no_pipeline(vk_device d, vk_cache c, uint32_t n, const vk_compute_info *info, const void *a,
                           vk_pipeline *p)
{
    (void)d, (void)c, (void)n, (void)info, (void)a, (void)p;
    return VK_NO_DEVICE_MEMORY;
}

/* A kernel that the driver does not compile is an error that names it. */
static void tells_refusals(void)
{
    kn_device device = kn_device_open("vulkan:0");
    float values[3];
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    api->create_pipelines = no_pipeline;
    CHECK_ERROR(
        kn_read(kn_atan2(kn_ones(KN_SHAPE(3), KN_F32), kn_ones(KN_SHAPE(3), KN_F32)), values, sizeof values),
        "does not compile the kernel");
    *api = real;
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
    kn_device_close(device);
    CHECK(kn_device_open("vulkan:99") == NULL && strstr(kn_last_error(), "there is no vulkan:99"));
}

int main(void)
{
    const char *why;
    setenv("KN_CACHE", "off", 1);
    const kni_vulkan_api *loaded = kni_vulkan_load(&why);
    if (!loaded) {
        check_skip("no Vulkan");
        return check_report();
    }
    memcpy(&api, &loaded, sizeof api);
    real = *api;
    kni_gpu *g = open_gpu();
    if (CHECK(g != NULL)) {
        allocates_parts(g->driver);
        copies(g->driver);
        cuts_launches(g->driver);
        refuses_large(g->driver);
        counts_turns();
        records_copies(g->driver);
        replays_plans(g);
    }
    tells_refusals();
    survives_loss();
    kn_shutdown();
    return check_report();
}
