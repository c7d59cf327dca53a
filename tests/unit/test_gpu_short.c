/* Devices of paper that lack something: updates whose result takes its operand's memory over are right or fail wherever
   memory ends; kernels that need more shared memory than there is are not tried; lines that are not sorted may be longer
   than those that are. Each device lives in a process of its own, which has compiled nothing yet. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* MAP_ANONYMOUS, setenv */
#endif
#include "support/check.h"
#include "support/paper_device.h"
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* What children tell. */
typedef struct answers {
    float value;
    int64_t allocations, launches, copies;
} answers;

static answers *told;

enum { RIGHT, FAILED, WRONG, DIED };

static int in_child(int (*work)(int64_t), int64_t n)
{
    int state = 0;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(work(n));
    if (child < 0 || waitpid(child, &state, 0) != child || !WIFEXITED(state)) return DIED;
    return WEXITSTATUS(state);
}

static kn_device open_paper(const char *name)
{
    paper_register();
    setenv("KN_DEVICE_POOL", "off", 1); /* memory is zero before it is written, each time */
    kn_device device = kn_device_open(name);
    if (device) kn_device_use(device);
    return device;
}

/* ---- updates */

enum { N = 600, TABLE = 4, SLICE = 4, UPDATES = 5 };
static int which; /* update */
static bool by_launches;

static kn_tensor updated(kn_tensor x, kn_tensor at, kn_tensor v)
{
    const kn_range part[] = {{.start = 1, .stop = 3, .step = 1}};
    switch (which) {
    case 0:
        return kn_scatter(x, 0, at, v, KN_UPDATE_ADD);
    case 1:
        return kn_index_assign(x, 0, at, v, KN_UPDATE_ADD);
    case 2:
        return kn_scatter_nd(x, kn_reshape(at, KN_SHAPE(N, 1)), v, KN_UPDATE_ADD);
    case 3:
        return kn_scatter(x, 0, at, v, KN_UPDATE_MUL);
    default:
        return kn_slice_assign(x, part, 1, kn_narrow(v, 0, 0, 2));
    }
}

/* n: the allocation or launch of the update that fails, 0: none; what is right is told then. */
static int update(int64_t n)
{
    static int64_t at[N];
    static float v[N];
    float got[TABLE];
    for (int i = 0; i < N; i++) at[i] = i < 10 ? 0 : 1, v[i] = (float)(i % 7);
    paper_do = (paper_orders){.room = 16 << 20, .fault = -1, .library = true, .adds = true};
    if (!open_paper("fusion(paper)")) return DIED;
    kn_tensor index = kn_keep(kn_from(at, KN_I64, KN_SHAPE(N)));
    kn_tensor values = kn_keep(kn_from(v, KN_F32, KN_SHAPE(N)));
    kn_tensor x = kn_from((float[]){1, 2, 3, 4}, KN_F32, KN_SHAPE(TABLE));
    if (kn_sync(NULL)) return DIED;
    x = kn_mul_scalar(x, 3);
    if (kn_sync(NULL)) return DIED;
    int64_t launches = paper_now.launches, copies = paper_now.copies;
    int64_t allocations = kn_memory_stats().allocations;
    if (by_launches) paper_do.short_launch = n;
    if (!by_launches) kn_memory_fail_after(n);
    kn_tensor y = kn_keep(updated(x, index, values));
    kn_status s = kn_sync(NULL);
    kn_memory_fail_after(0);
    paper_do.short_launch = 0;
    allocations = kn_memory_stats().allocations - allocations;
    if (s == KN_OK) s = kn_read(y, got, sizeof got);
    if (n == 0)
        *told = (answers){got[0], allocations, paper_now.launches - launches, paper_now.copies - copies};
    return s ? FAILED : memcmp(got, &told->value, sizeof *got) ? WRONG : RIGHT;
}

static void updates_are_right_or_fail(void)
{
    for (which = 0; which < UPDATES; which++)
        for (int k = 0; k < 2; k++) {
            int found[DIED + 1] = {0};
            by_launches = k;
            if (!CHECK(in_child(update, 0) == RIGHT)) return;
            CHECK(told->copies == (which == SLICE)); /* the values, not the table */
            int64_t last = k ? told->launches : told->allocations + 20;
            for (int64_t n = 1; n <= last; n++) found[in_child(update, n)]++;
            if (!CHECK((last > 0 || which == SLICE) && !found[WRONG] && !found[DIED]))
                printf("  update %d: right %d, failed %d, wrong %d, died %d\n", which, found[RIGHT],
                       found[FAILED], found[WRONG], found[DIED]);
        }
}

/* ---- shared memory, and long lines */

static bool counts_marks;

/* How often a device with so many bytes to share launches for a cumulative sum, or for what is not zero. */
static int share(int64_t bytes)
{
    paper_do = (paper_orders){.room = 16 << 20, .fault = -1, .shared_bytes = (uint32_t)bytes};
    if (!open_paper("paper")) return DIED;
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(3000), KN_F64));
    int64_t launches = paper_now.launches;
    kn_tensor y = kn_keep(counts_marks ? kn_nonzero_bounded(x, 30).count : kn_cumsum(x, 0));
    /* Nothing was tried that the device then refused. */
    bool good = kn_ok(y) && kn_sync(NULL) == KN_OK && !*kn_last_error();
    told->launches = paper_now.launches - launches;
    return good ? RIGHT : FAILED;
}

/* `least` is enough for the kernels in three launches; with less the reference kernel does it in one. */
static void shares(bool marks, int64_t least)
{
    counts_marks = marks;
    CHECK(in_child(share, least) == RIGHT && told->launches == 3);
    CHECK(in_child(share, least - 1) == RIGHT && told->launches == 1);
    CHECK(in_child(share, least - 4096) == RIGHT && told->launches == 1);
}

static int mark_line(int64_t n)
{
    paper_do = (paper_orders){.room = INT64_C(8) << 30, .fault = -1};
    if (!open_paper("paper")) return DIED;
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(n), KN_U8));
    int64_t launches = paper_now.launches;
    if (!kn_ok(x)) return DIED;
    bool good = kn_ok(kn_nonzero_bounded(x, 30).count) && kn_sync(NULL) == KN_OK;
    told->launches = paper_now.launches - launches;
    return good ? RIGHT : FAILED;
}

int main(void)
{
    told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!CHECK(told != MAP_FAILED)) return check_report();
    setenv("KN_FALLBACK", "off", 1);
    updates_are_right_or_fail();
    shares(false, 28672);
    shares(true, 22528);
    CHECK(in_child(mark_line, INT64_C(5) << 29) == RIGHT && told->launches == 3);
    munmap(told, sizeof *told);
    return check_report();
}
