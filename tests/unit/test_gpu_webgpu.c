/* The WebGPU driver: copies at odd places, launches cut into several dispatches, and what happens without a library, where the device or a
   text is refused, and after it was lost. */
#define _GNU_SOURCE
#include "backend/gpu/gpu.h"
#include "backend/webgpu/webgpu_api.h"
#include "backend/webgpu/webgpu_driver.h"
#include "support/check.h"
#include <stdlib.h>

static kni_webgpu_api real, *api;

static kni_gpu *open_gpu(void) { return (kni_gpu *)(void *)kni_webgpu_open("0", NULL, 0); }

static void allocates(kni_driver *d)
{
    webgpu *w = kni_webgpu_of(d);
    CHECK(d->allocate(d, (size_t)w->port->limits.buffer_bytes + 1) == NULL);
    CHECK(d->allocate(d, SIZE_MAX) == NULL);
    webgpu_memory *m = d->allocate(d, 0);
    CHECK(m && m->bytes >= 4);
    d->free(d, m);
    d->free(d, NULL);
    CHECK(d->caps.max_buffers >= 8 && d->caps.no_aliases && d->caps.narrow);
}

/* Copies of any number of bytes at any place, within a buffer too. */
static void copies(kni_driver *d)
{
    enum { BYTES = (5 << 20) + 3 };
    unsigned char *from = malloc(BYTES), *to = calloc(1, BYTES), seen[64];
    void *a = d->allocate(d, BYTES), *b = d->allocate(d, BYTES);
    if (!CHECK(from && to && a && b)) return;
    for (int i = 0; i < BYTES; i++) from[i] = (unsigned char)(i * 131 + i / 253);
    CHECK(d->upload(d, a, 0, from, BYTES) == KN_OK && d->copy(d, b, 0, a, 0, BYTES) == KN_OK);
    CHECK(d->download(d, to, b, 0, BYTES) == KN_OK && !memcmp(from, to, BYTES));
    for (size_t at = 0; at < 9; at++)
        for (size_t n = 0; n < 11; n++) {
            memcpy(to, from, 64);
            memset(to + at, 0, n);
            CHECK(d->upload(d, a, 0, from, 64) == KN_OK && d->fill_zero(d, a, at, n) == KN_OK);
            CHECK(d->download(d, seen, a, 0, 64) == KN_OK && !memcmp(seen, to, 64));
            memcpy(to + at, from + at + 3, n);
            CHECK(d->copy(d, a, at, b, at + 3, n) == KN_OK && d->download(d, seen, a, 0, 64) == KN_OK);
            CHECK(!memcmp(seen, to, 64));
            memcpy(to + 40 + at, from + at + 3, n);
            CHECK(d->copy(d, a, 40 + at, a, at, n) == KN_OK && d->download(d, seen, a, 0, 64) == KN_OK);
            CHECK(!memcmp(seen, to, 64));
            memcpy(to + at, from, n);
            CHECK(d->upload(d, a, at, from, n) == KN_OK && d->download(d, seen, a, 0, 64) == KN_OK);
            CHECK(!memcmp(seen, to, 64));
        }
    CHECK(d->download(d, seen, b, 5, 7) == KN_OK && !memcmp(seen, from + 5, 7));
    d->free(d, a);
    d->free(d, b);
    free(from);
    free(to);
}

/* Sums with a device that takes so few workgroups at once that a launch is many dispatches, and more of them than one submission holds. */
static void cuts_launches(kni_driver *d)
{
    webgpu *w = kni_webgpu_of(d);
    uint32_t most = w->port->limits.groups;
    w->port->limits.groups = 3;
    kn_device device = kn_device_open("webgpu:0");
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_arange(0, 500000, 1, KN_F32));
    kn_tensor y = kn_keep(kn_add(x, kn_mul_scalar(x, 2)));
    kn_tensor sums = kn_keep(kn_sum(kn_reshape(x, KN_SHAPE(10000, 50)), KN_AXES(1), false));
    float *values = calloc(500000, sizeof *values), *seen = calloc(10000, sizeof *seen);
    bool good = values && seen && kn_read(y, values, 500000 * sizeof *values) == KN_OK;
    for (int i = 0; good && i < 500000; i++) good = values[i] == 3 * (float)i;
    CHECK(good && kn_read(sums, seen, 10000 * sizeof *seen) == KN_OK);
    for (int i = 0; i < 100 && good; i++) good = seen[i] == (float)(50 * 50 * i + 1225);
    CHECK(good);
    free(values);
    free(seen);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
    kn_device_close(device);
    w->port->limits.groups = most;
}

/* Asks again and again, as a page does with each turn. */
static kn_status polled(kn_reading *r)
{
    bool ready = false;
    kn_status s = KN_OK;
    while (s == KN_OK && !ready) s = kn_read_ready(r, false, &ready);
    return s;
}

/* The thread of a page may not wait: there only reading without waiting works. It gives values of any view, finds faults, and frees the
   cells of all faults that were looked for, so that more launches than there are cells can report. */
static void reads_without_waiting(kni_driver *d)
{
    enum { N = 1000 };
    webgpu *w = kni_webgpu_of(d);
    kn_device device = kn_device_open("webgpu:0");
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    static float seen[N], more[N];
    kn_reading first, second;
    w->port->waits = false;
    kn_tensor x = kn_keep(kn_arange(0, N, 1, KN_F32)), table = kn_keep(kn_mul_scalar(x, 3));
    CHECK_ERROR(kn_read(table, seen, sizeof seen), "the thread of a page must not wait");
    CHECK(kn_read_async(table, seen, sizeof seen, &first) == KN_OK);
    kn_tensor turned = kn_keep(kn_transpose(kn_reshape(x, KN_SHAPE(20, 50)), 0, 1));
    CHECK(kn_read_async(turned, more, sizeof more, &second) == KN_OK);
    CHECK(polled(&second) == KN_OK && more[1] == 50 && more[N - 1] == N - 1);
    CHECK(polled(&first) == KN_OK && seen[1] == 3 && seen[N - 1] == 3 * (N - 1));
    for (int step = 0; step < 100; step++) {
        kn_tensor at = kn_keep(kn_full(KN_SHAPE(2), step, KN_I64));
        kn_tensor rows = kn_keep(kn_index_select(table, 0, at));
        CHECK(kn_read_async(rows, seen, 8, &first) == KN_OK && polled(&first) == KN_OK);
        if (!CHECK(seen[0] == 3 * (float)step && seen[1] == 3 * (float)step)) break;
    }
    /* Two readings under way, a fault in what one of them reads. */
    kn_tensor bad = kn_keep(kn_index_select(table, 0, kn_full(KN_SHAPE(2), N, KN_I64)));
    kn_tensor good = kn_keep(kn_index_select(table, 0, kn_full(KN_SHAPE(2), 7, KN_I64)));
    kn_tensor after = kn_keep(kn_add(bad, good));
    CHECK(kn_read_async(good, seen, 8, &first) == KN_OK && kn_read_async(after, more, 8, &second) == KN_OK);
    CHECK_ERROR(polled(&second), "index 1000 is out of range");
    CHECK(polled(&first) == KN_OK && seen[1] == 21);
    CHECK_ERROR(kn_read_async(bad, seen, 8, &first), "index 1000 is out of range");
    w->port->waits = true;
    CHECK(kn_read(good, seen, 8) == KN_OK && seen[0] == 21);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
    kn_device_close(device);
}

static kn_status read_ones(void)
{
    float values[4];
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(4), KN_F32));
    kn_status s = kn_read(kn_add(x, x), values, sizeof values);
    kn_scope_end(scope, KN_NONE);
    return s == KN_OK && values[3] != 2 ? KN_ERROR_INTERNAL : s;
}

/* A lost device fails what is read from it with a text, and opening it again gives a new one. */
static void survives_loss(kni_driver *d)
{
    webgpu *w = kni_webgpu_of(d);
    kn_device device = kn_device_open("webgpu:0");
    kn_device_use(device);
    CHECK(read_ones() == KN_OK);
    w->port->lost = true;
    CHECK_ERROR(read_ones(), "the device is lost");
    kn_device_use(NULL);
    kn_device_close(device);
    device = kn_device_open("webgpu:0");
    kn_device_use(device);
    CHECK(read_ones() == KN_OK);
    kn_device_use(NULL);
    kn_device_close(device);
}

/* What WebGPU finds wrong while work runs is an error of the next reading, and of that alone. */
static void tells_validation(kni_driver *d)
{
    webgpu *w = kni_webgpu_of(d);
    void *a = d->allocate(d, 16);
    char bytes[16];
    if (!CHECK(a != NULL)) return;
    kni_webgpu_record_clear(w->port, ((webgpu_memory *)a)->buffer, 8, 400);
    w->recorded = true;
    CHECK_ERROR(d->download(d, bytes, a, 0, 16), "WebGPU refuses what it was given");
    CHECK(d->download(d, bytes, a, 0, 16) == KN_OK);
    d->free(d, a);
}

/* A kernel that is not compiled is an error with the compiler's words. */
static void tells_refusals(kni_driver *d)
{
    static const char text[] = "@group(0) @binding(0) var<storage, read_write> a: array<u32>;\n"
                               "@compute @workgroup_size(1) fn wrong() { a[0] = 1.5; }\n";
    CHECK(d->compile(d, text, strlen(text), "wrong") == NULL);
    CHECK(strstr(kni_failure_latest(), "does not compile the kernel wrong") != NULL);
    CHECK(strstr(kni_failure_latest(), "1.5") != NULL);
    CHECK(read_ones() == KN_OK);
    CHECK(kn_device_open("webgpu:99") == NULL && strstr(kn_last_error(), "there is no webgpu:99"));
}

/* No adapter, and an adapter that gives no device. */
static wg_future no_device(wg_adapter adapter, const wg_device_info *info, wg_device_callback callback)
{
    static const char reason[] = "the test gives none";
    (void)adapter, (void)info;
    callback.call(2, NULL, (wg_text){reason, sizeof reason - 1}, callback.to, callback.also);
    return (wg_future){0};
}

static size_t no_adapters(wg_instance instance, const void *options, wg_adapter *adapters)
{
    (void)instance, (void)options, (void)adapters;
    return 0;
}

static void refuses_to_open(void)
{
    api->request_device = no_device;
    CHECK(kn_device_open("webgpu:0") == NULL && strstr(kn_last_error(), "the test gives none"));
    *api = real;
    api->enumerate = no_adapters;
    CHECK(kn_device_open("webgpu:0") == NULL && strstr(kn_last_error(), "finds no adapter"));
    *api = real;
}

int main(void)
{
    const char *why;
    setenv("KN_CACHE", "off", 1);
    const kni_webgpu_api *loaded = kni_webgpu_load(&why);
    if (!loaded) {
        CHECK(kn_device_open("webgpu:0") == NULL && strstr(kn_last_error(), "cannot be opened"));
        check_skip("no WebGPU");
        return check_report();
    }
    memcpy(&api, &loaded, sizeof api);
    real = *api;
    refuses_to_open();
    kn_device device = kn_device_open("webgpu:0");
    kni_gpu *g = device ? open_gpu() : NULL;
    if (CHECK(g != NULL)) {
        kn_device_use(device);
        allocates(g->driver);
        copies(g->driver);
        cuts_launches(g->driver);
        reads_without_waiting(g->driver);
        tells_validation(g->driver);
        tells_refusals(g->driver);
        kn_device_use(NULL);
        survives_loss(g->driver);
    }
    if (device) kn_device_close(device);
    kn_shutdown();
    return check_report();
}
