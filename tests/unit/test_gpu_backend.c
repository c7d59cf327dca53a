/* The backend of run-time compiled devices over a driver that computes nothing: what happens without memory, when a
   kernel does not compile or reports a fault, and when the device is lost and opened again. */
#include "backend/gpu/gpu_text.h"
#include "support/check.h"
#include "support/paper_device.h"
#include <pthread.h>
#include <stdlib.h>

enum { ROOM = 1 << 20 }; /* bytes of the device */

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
    CHECK(paper_now.used >= ROOM / 4);
    int64_t syncs = paper_now.syncs;
    kn_tensor large = kn_keep(zeros(ROOM / 5));
    CHECK(kn_ok(large) && paper_now.syncs == syncs + 1);
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
    paper_do.fault = 17;
    kn_tensor bad = kn_keep(kn_index_take(x, 0, index));
    kn_tensor after = kn_keep(kn_exp(bad)), view = kn_keep(kn_reshape(bad, KN_SHAPE(2, 1)));
    kn_tensor good = kn_keep(kn_index_take(x, 0, index));
    CHECK(kn_ok(bad) && kn_ok(after)); /* nobody knows yet */
    CHECK_ERROR(kn_read(after, row, sizeof row), "index 17 is out of range");
    CHECK(!kn_ok(after) && kn_error_code(after) == KN_ERROR_INDEX);
    CHECK_POISON(kn_neg(view), "index 17");
    CHECK_ERROR(kn_read(bad, row, sizeof row), "index 17");
    CHECK(kn_read(good, row, sizeof row) == KN_OK);
    CHECK(kn_read(x, all, sizeof all) == KN_OK);
    /* A sync tells the first fault, once. */
    paper_do.fault = 23;
    bad = kn_keep(kn_index_take(x, 0, index));
    CHECK_ERROR(kn_sync(device), "index 23");
    CHECK(kn_sync(device) == KN_OK);
    /* More launches than there are cells. */
    for (int i = 0; i < 200; i++) bad = kn_index_take(x, 0, index);
    CHECK(kn_read(bad, row, sizeof row) == KN_OK);
    kn_scope_end(scope, KN_NONE);
}

static void says_what_does_not_compile(void)
{
    kn_scope scope = kn_scope_begin();
    paper_do.refuses = true;
    CHECK_POISON(kn_sinh(zeros(3)), "nonsense");
    paper_do.refuses = false;
    CHECK(kn_ok(kn_sinh(zeros(3))));
    kn_scope_end(scope, KN_NONE);
}

static void compiles_once(void)
{
    kn_scope scope = kn_scope_begin();
    (void)kn_exp(zeros(16384));
    int64_t compiles = paper_now.compiles;
    for (int n = 16400; n < 20000; n += 16) (void)kn_exp(zeros(n));
    CHECK(paper_now.compiles <= compiles + 6); /* a few variants by size, not one for each */
    kn_scope_end(scope, KN_NONE);
}

/* Kernels that were compiled are told from those that came from disk. */
static void tells_what_it_loaded(kn_device device)
{
    char text[400], want[80];
    kn_scope scope = kn_scope_begin();
    int64_t compiles = paper_now.compiles;
    paper_do.on_disk = true;
    CHECK(kn_ok(kn_sin(zeros(512))));
    paper_do.on_disk = false;
    int64_t loaded = paper_now.compiles - compiles;
    CHECK(loaded > 0 && kn_device_report(device, "counters", text, sizeof text) > 0);
    snprintf(want, sizeof want, "%lld kernels made (%lld compiled, %lld loaded from the cache on disk)",
             (long long)paper_now.compiles, (long long)compiles, (long long)loaded);
    if (!CHECK(strstr(text, want))) printf("%s; not %s\n", text, want);
    kn_scope_end(scope, KN_NONE);
}

/* Equal numbers of a schedule are one param: sizes that happen to equal another number make another kernel. */
static void tells_sizes_apart(void)
{
    kn_scope scope = kn_scope_begin();
    float cube[16] = {0};
    for (int64_t rows = 2; rows <= 4; rows += 2) {
        kn_tensor planes = kn_from(cube, KN_F32, KN_SHAPE(rows, 2, 2));
        int64_t compiles = paper_now.compiles;
        CHECK(kn_ok(kn_einsum("bcc->b", &planes, 1)));
        CHECK(paper_now.compiles == compiles + 1);
    }
    kn_scope_end(scope, KN_NONE);
}

static kni_driver *no_other(int32_t number)
{
    (void)number;
    return NULL;
}

/* Kernels of one name in two texts are two kernels. */
static void tells_texts_apart(void)
{
    static const char one[] = "kernel fill(index item, out T y[]) { y[item] = 1; }";
    static const char two[] = "kernel fill(index item, out T y[]) { y[item] = 2; }";
    const kni_gpu_text texts[] = {{"one", one, sizeof one - 1}, {"two", two, sizeof two - 1}};
    const kni_gpu_call call = {.kernel = "fill", .element = KN_F32, .n_buffers = 1, .storage = {KN_F32}};
    kn_backend *paper = kni_gpu_open_numbered("paper", NULL, 0, no_other); /* the one that is open */
    int64_t compiles = paper_now.compiles;
    for (int i = 0; i < 4; i++)
        CHECK(paper && kni_gpu_find_text(kni_gpu_of(paper), &texts[i % 2], &call) == KN_OK);
    CHECK(paper_now.compiles == compiles + 2);
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
    y = kn_keep(kn_index_take(y, 0, index));
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
    paper_do.lost = true;
    CHECK_ERROR(kn_sync(device), "desk");
    CHECK_ERROR(kn_read(x, value, sizeof value), "kn_device_open");
    CHECK_POISON(kn_exp(x), "lost");
    CHECK_POISON(zeros(3), "lost");
    kn_scope_end(scope, KN_NONE);
}

int main(void)
{
    paper_do = (paper_orders){.room = ROOM, .fault = -1};
    paper_register();
    kn_device device = kn_device_open("paper");
    if (!CHECK(device != NULL)) return check_report();
    kn_device_use(device);
    runs_out_of_memory(device);
    reports_faults(device);
    says_what_does_not_compile();
    compiles_once();
    tells_what_it_loaded(device);
    tells_sizes_apart();
    tells_texts_apart();
    survives_without_host_memory();
    works_in_threads();
    is_lost(device);
    kn_device_use(NULL);
    CHECK(kn_shutdown() == 0);
    CHECK(paper_now.opened == 1 && paper_now.used == 0 && paper_now.blocks == 0);
    return check_report();
}
