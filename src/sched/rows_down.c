/* How reductions down columns are laid over a device: which columns a workgroup has side by side, how many lines it has down
   them, and how many parts of the rows there are. Channels that lie last are such columns: neighbours along them are read
   together, wide. Few columns leave room for more lines, so that no invocation is idle. */
#include "sched/sched_rows.h"

enum {
    THREADS = 256,
    MANY_THREADS = 512, /* where few workgroups have long rows */
    LINES = 8,
    SIDE = 8, /* vectors of columns that a workgroup has: 128 bytes */
    MOST_SIDE = 32,
    RUN_BYTES = 32,        /* that lie together at least, for memory to be read in whole pieces */
    NARROW_SIDE = 8,       /* columns of a workgroup where there is little work */
    LITTLE = 16,           /* elements of an invocation, when all are at work */
    SHORT_WALK = 12 << 10, /* loads below each other that are not worth further kernels */
    AT_WORK = 1024,        /* invocations of a processor */
    MOST_PARTS = 1024,
    PARTS_OF_A_LINE = 2, /* that each workgroup of the last kernel may as well join by itself */
    JOINED_SIDE = 8,     /* columns of a workgroup that joins parts: 32 bytes of them */
    TURNS = 4,           /* the most rows that are under way at once */
    MOST_NODES = 3000
};

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t over(int64_t a, int64_t b) { return (a + b - 1) / b; }

static uint32_t turns(const kni_work *w)
{
    uint32_t n = kni_rows_loads(w), chunks = n <= 1 ? TURNS : n <= 3 ? 2 : 1;
    while (chunks > 1 && chunks * w->lanes * w->n_nodes > MOST_NODES) chunks /= 2;
    return chunks;
}

/* ---- layouts */

/* As many lines as there are invocations for, and no more than places; fewer where shared memory is short. */
static void set_lines(kni_work *w, uint32_t side, uint32_t threads, int64_t places)
{
    w->teams = 1;
    while (2 * w->teams * side <= threads && 2 * w->teams <= places) w->teams *= 2;
    w->threads = w->teams * side;
    while (w->teams > 1 && kni_rows_shared_bytes(w) > w->target->caps->shared_bytes) {
        w->teams /= 2;
        w->threads = w->teams * side;
    }
}

static void set_sides(kni_work *w, int64_t columns, bool alone, uint32_t processors)
{
    uint32_t threads = kni_sched_threads(w, THREADS);
    if (!alone) {
        set_lines(w, (uint32_t)over(columns, over(columns, SIDE)), threads, w->width);
        return;
    }
    int64_t run = (int64_t)w->lanes * kni_work_smallest_bytes(w, KNI_WORK_R), side = columns / processors;
    if (side < RUN_BYTES / run) side = RUN_BYTES / run;
    side = least(least(side, MOST_SIDE), columns);
    if (side < 1) side = 1;
    if (over(columns, side) < 2 * (int64_t)processors) threads = kni_sched_threads(w, MANY_THREADS);
    set_lines(w, (uint32_t)side, threads, w->width);
}

void kni_rows_choose_down(kni_work *w)
{
    uint32_t threads = kni_sched_threads(w, THREADS);
    uint32_t processors = w->target->processors ? w->target->processors : 1;
    w->form = KNI_ROWS_DOWN;
    kni_rows_find_moments(w);
    /* Little work is spread over more workgroups, with fewer columns and more lines down each of them. */
    bool little = w->rows * w->width < (int64_t)processors * threads * LITTLE;
    while (little && w->lanes > 1 && w->rows / (w->lanes * NARROW_SIDE) < processors) w->lanes /= 2;
    int64_t columns = w->rows / w->lanes;
    bool wide = columns >= (int64_t)threads * 2 * processors || w->width < 4 * LINES;
    bool alone = wide || w->width * kni_rows_loads(w) <= SHORT_WALK;
    w->teams = 1;
    w->threads = threads;
    if (!wide && threads >= 2 * MOST_SIDE) set_sides(w, columns, alone, processors);
    if (!alone) {
        int64_t groups = over(columns, w->threads / w->teams), step = (int64_t)w->teams * TURNS;
        int64_t wanted = (int64_t)processors * AT_WORK / (w->threads * groups);
        kni_rows_set_parts(w, least(wanted, MOST_PARTS), w->width / (2 * step), step);
    }
    bool late = kni_rows_has_late(w), few = late && w->parts <= PARTS_OF_A_LINE * w->teams;
    w->joins = w->parts > 1 && !few && 2u * w->n_stages + late <= KNI_SCHED_MAX_KERNELS;
}

void kni_rows_lay_down(kni_work *w)
{
    if (kni_rows_task_of(w) != KNI_ROWS_JOINS) {
        w->chunks = turns(w);
        return;
    }
    w->lanes = w->chunks = 1;
    set_lines(w, JOINED_SIDE, kni_sched_threads(w, THREADS), w->parts);
}
