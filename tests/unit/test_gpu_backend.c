/* The backend of run-time compiled devices over a driver that computes nothing: what happens without memory, when a
   kernel does not compile or reports a fault, and when the device is lost and opened again. */
#include "backend/gpu/driver.h"
#include "core/error.h"
#include "support/check.h"
#include <pthread.h>
#include <stdlib.h>

enum { ROOM = 1 << 20 }; /* bytes of the device */

typedef struct fake {
    kni_driver driver;
    int64_t used, blocks;
    bool lost, refuses; /* compiling */
    int64_t fault;      /* -1: none; else what the next launch that can reports */
    int compiles, launches, syncs;
} fake;

static fake *current;
static int opened;

static void *allocate(kni_driver *d, size_t bytes)
{
    fake *f = (fake *)d;
    if (f->used + (int64_t)bytes > ROOM) return NULL;
    int64_t *block = calloc(1, bytes + 16);
    block[0] = (int64_t)bytes;
    f->used += (int64_t)bytes;
    f->blocks++;
    return block;
}

static void free_block(kni_driver *d, void *memory)
{
    ((fake *)d)->used -= *(int64_t *)memory;
    ((fake *)d)->blocks--;
    free(memory);
}

static kn_status alive(fake *f)
{
    return f->lost ? kni_fail(KN_ERROR_DEVICE, "fake: it fell off the bus") : KN_OK;
}
static char *bytes_of(const void *memory) { return (char *)(uintptr_t)memory + 16; }

static kn_status upload(kni_driver *d, void *to, size_t offset, const void *from, size_t bytes)
{
    memcpy(bytes_of(to) + offset, from, bytes);
    return alive((fake *)d);
}

static kn_status download(kni_driver *d, void *to, const void *from, size_t offset, size_t bytes)
{
    memcpy(to, bytes_of(from) + offset, bytes);
    return alive((fake *)d);
}

static kn_status copy(kni_driver *d, void *to, size_t to_offset, const void *from, size_t from_offset,
                      size_t bytes)
{
    memcpy(bytes_of(to) + to_offset, bytes_of(from) + from_offset, bytes);
    return alive((fake *)d);
}

static kn_status fill_zero(kni_driver *d, void *to, size_t offset, size_t bytes)
{
    memset(bytes_of(to) + offset, 0, bytes);
    return alive((fake *)d);
}

static kn_status sync_fake(kni_driver *d)
{
    ((fake *)d)->syncs++;
    return alive((fake *)d);
}

static kni_module *compile(kni_driver *d, const char *text, const char *entry)
{
    fake *f = (fake *)d;
    f->compiles++;
    if (f->refuses) {
        (void)kni_fail(KN_ERROR_INTERNAL, "fake: %s does not compile: line 1: nonsense", entry);
        return NULL;
    }
    int *reports = malloc(sizeof *reports);
    *reports = strstr(text, "fault") != NULL;
    return (kni_module *)reports;
}

static void unload(kni_driver *d, kni_module *m)
{
    (void)d;
    free(m);
}

static kn_status launch(kni_driver *d, kni_module *m, const kni_launch_shape *shape, void *const *buffers,
                        uint32_t n_buffers, const void *params, uint32_t param_bytes)
{
    fake *f = (fake *)d;
    (void)shape, (void)params, (void)param_bytes;
    f->launches++;
    if (*(int *)m && f->fault >= 0) {
        int64_t cell[2] = {1, f->fault};
        memcpy(bytes_of(buffers[n_buffers - 1]), cell, sizeof cell);
        f->fault = -1;
    }
    return alive(f);
}

static void close_fake(kni_driver *d)
{
    CHECK(((fake *)d)->used == 0 && ((fake *)d)->blocks == 0);
    if (current == (fake *)d) current = NULL;
    free(d);
}

static kn_backend *open_fake(const char *argument, kn_backend *const *inner, int32_t n_inner)
{
    (void)argument, (void)inner, (void)n_inner;
    fake *f = calloc(1, sizeof *f);
    f->fault = -1;
    f->driver = (kni_driver){.name = "fake",
                             .description = "a device of paper",
                             .caps = {.dialect = KNI_IR_CUDA,
                                      .subgroups = true,
                                      .f64 = true,
                                      .i64 = true,
                                      .half_storage = true,
                                      .atomics = true,
                                      .subgroup = 32,
                                      .max_workgroup = 256,
                                      .shared_bytes = 32768,
                                      .vector_bytes = 16},
                             .processors = 4,
                             .memory_bytes = ROOM,
                             .allocate = allocate,
                             .free = free_block,
                             .upload = upload,
                             .download = download,
                             .copy = copy,
                             .fill_zero = fill_zero,
                             .sync = sync_fake,
                             .compile = compile,
                             .unload = unload,
                             .launch = launch,
                             .close = close_fake};
    current = f;
    opened++;
    return kni_gpu_open(&f->driver);
}

static kn_tensor zeros(int64_t n) { return kn_zeros(KN_SHAPE(n), KN_F32); }

static void runs_out_of_memory(kn_device device)
{
    char text[300];
    kn_scope scope = kn_scope_begin();
    float small[4] = {1, 2, 3, 4};
    /* A quarter of the room, kept for later when dropped; a block of another size needs it back. */
    (void)kn_keep(zeros(ROOM / 16));
    kn_scope_end(scope, KN_NONE);
    scope = kn_scope_begin();
    CHECK(current->used >= ROOM / 4);
    int syncs = current->syncs;
    kn_tensor large = kn_keep(zeros(ROOM / 5));
    CHECK(kn_ok(large) && current->syncs == syncs + 1);
    kn_tensor more = zeros(ROOM / 5);
    CHECK_POISON(more, "kn_drop");
    CHECK(kn_error_code(more) == KN_ERROR_MEMORY);
    kn_drop(large);
    CHECK(kn_ok(kn_keep(zeros(ROOM / 5))));
    kn_tensor x = kn_from(small, KN_F32, KN_SHAPE(4));
    float back[4];
    CHECK(kn_read(x, back, sizeof back) == KN_OK && !memcmp(small, back, sizeof back));
    kn_scope_end(scope, KN_NONE);
    CHECK(kn_device_report(device, "memory", text, sizeof text) && strstr(text, " 0 bytes in use"));
}

static void reports_faults(kn_device device)
{
    kn_scope scope = kn_scope_begin();
    int64_t at[2] = {0, 1};
    float row[2], all[8];
    kn_tensor x = kn_keep(zeros(8)), index = kn_keep(kn_from(at, KN_I64, KN_SHAPE(2)));
    current->fault = 17;
    kn_tensor bad = kn_keep(kn_take(x, index, 0));
    kn_tensor after = kn_keep(kn_exp(bad)), view = kn_keep(kn_reshape(bad, KN_SHAPE(2, 1)));
    kn_tensor good = kn_keep(kn_take(x, index, 0));
    CHECK(kn_ok(bad) && kn_ok(after)); /* nobody knows yet */
    CHECK_ERROR(kn_read(after, row, sizeof row), "index 17 is out of range");
    CHECK(!kn_ok(after) && kn_error_code(after) == KN_ERROR_INDEX);
    CHECK_POISON(kn_neg(view), "index 17");
    CHECK_ERROR(kn_read(bad, row, sizeof row), "index 17");
    CHECK(kn_read(good, row, sizeof row) == KN_OK);
    CHECK(kn_read(x, all, sizeof all) == KN_OK);
    /* A sync tells the first fault, once. */
    current->fault = 23;
    bad = kn_keep(kn_take(x, index, 0));
    CHECK_ERROR(kn_sync(device), "index 23");
    CHECK(kn_sync(device) == KN_OK);
    /* More launches than there are cells. */
    for (int i = 0; i < 200; i++) bad = kn_take(x, index, 0);
    CHECK(kn_read(bad, row, sizeof row) == KN_OK);
    kn_scope_end(scope, KN_NONE);
}

static void says_what_does_not_compile(void)
{
    kn_scope scope = kn_scope_begin();
    current->refuses = true;
    CHECK_POISON(kn_sinh(zeros(3)), "nonsense");
    current->refuses = false;
    CHECK(kn_ok(kn_sinh(zeros(3))));
    kn_scope_end(scope, KN_NONE);
}

static void compiles_once(void)
{
    kn_scope scope = kn_scope_begin();
    (void)kn_exp(zeros(16384));
    int compiles = current->compiles;
    for (int n = 16400; n < 20000; n += 16) (void)kn_exp(zeros(n));
    CHECK(current->compiles <= compiles + 6); /* a few variants by size, not one for each */
    kn_scope_end(scope, KN_NONE);
}

/* Equal numbers of a schedule are one param: sizes that happen to equal another number make another kernel. */
static void tells_sizes_apart(void)
{
    kn_scope scope = kn_scope_begin();
    float cube[16] = {0};
    for (int64_t rows = 2; rows <= 4; rows += 2) {
        kn_tensor planes = kn_from(cube, KN_F32, KN_SHAPE(rows, 2, 2));
        int compiles = current->compiles;
        CHECK(kn_ok(kn_einsum("bcc->b", &planes, 1)));
        CHECK(current->compiles == compiles + 1);
    }
    kn_scope_end(scope, KN_NONE);
}

/* Some of everything: schedules, products, reference kernels, strided copies. */
static bool work(int turn)
{
    kn_scope scope = kn_scope_begin();
    float values[12] = {0}, back[12];
    int64_t at[2] = {0, 1};
    kn_tensor x = kn_keep(kn_from(values, KN_F32, KN_SHAPE(3, 4))), index = kn_from(at, KN_I64, KN_SHAPE(2));
    kn_tensor turned = kn_keep(kn_transpose(x, 0, 1)), y = kn_exp(kn_matmul(x, turned));
    y = kn_add(kn_cumsum(y, turn % 2), kn_sum(x, KN_AXES(1), true));
    y = kn_keep(kn_take(y, index, 0));
    bool good = kn_ok(y) && kn_read(y, back, 6 * sizeof(float)) == KN_OK;
    good &= kn_read(turned, back, sizeof back) == KN_OK;
    kn_scope_end(scope, KN_NONE);
    return good;
}

static void *in_thread(void *device)
{
    intptr_t failures = 0;
    kn_device_use(device);
    for (int i = 0; i < 100; i++) failures += !work(i);
    return (void *)failures;
}

static void works_in_threads(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, in_thread, kn_device_current()) == 0);
    for (int i = 0; i < 4; i++) {
        void *failures;
        CHECK(pthread_join(threads[i], &failures) == 0 && !failures);
    }
}

/* Each allocation of the host fails once; nothing else may. */
static void survives_without_host_memory(void)
{
    char text[300];
    int failed = 0;
    for (int n = 1; n < 2000; n++) {
        kn_memory_fail_after(n);
        bool good = work(n);
        kn_memory_fail_after(0);
        failed += !good;
        if (good && n > 200) break;
    }
    CHECK(failed > 3);
    CHECK(work(0) && work(1));
    CHECK(kn_device_report(NULL, "memory", text, sizeof text) && strstr(text, " 0 bytes in use"));
}

static void is_lost(kn_device device)
{
    kn_scope scope = kn_scope_begin();
    float value[4];
    kn_tensor x = kn_keep(zeros(4));
    current->lost = true;
    CHECK_ERROR(kn_sync(device), "bus");
    CHECK_ERROR(kn_read(x, value, sizeof value), "kn_device_open");
    CHECK_POISON(kn_exp(x), "lost");
    CHECK_POISON(zeros(3), "lost");
    kn_scope_end(scope, KN_NONE);
}

int main(void)
{
    CHECK(kn_backend_register("fake", open_fake) == KN_OK);
    kn_device device = kn_device_open("fake");
    if (!CHECK(device != NULL)) return check_report();
    kn_device_use(device);
    runs_out_of_memory(device);
    reports_faults(device);
    says_what_does_not_compile();
    compiles_once();
    tells_sizes_apart();
    survives_without_host_memory();
    works_in_threads();
    is_lost(device);
    kn_device_use(NULL);
    CHECK(kn_shutdown() == 0);
    CHECK(opened == 1);
    return check_report();
}
