/* How reductions down columns are laid over a device: which columns a workgroup has side by side, how many lines it has down
   them, and how many parts of the rows there are. Channels that lie last are such columns: neighbours along them are read
   together, wide. Few columns leave room for more lines, so that no invocation is idle. */
#include "sched/sched_rows.h"

enum {
    THREADS = 256,
    MANY_THREADS = 512, /* where few workgroups have long rows */
    LINES = 8,
    SIDE = 8, /* vectors of columns that a workgroup has: 128 bytes */
    WHOLE_SIDE = 32,
    LONG_ROW = 1 << 14,
    RUN_BYTES = 32,         /* that lie together at least, for memory to be read in whole pieces */
    NARROW_SIDE = 8,        /* columns of a workgroup where there is little work */
    LITTLE = 16,            /* elements of an invocation, when all are at work */
    SHORT_WALK = 1024,      /* loads below each other that are not worth further kernels */
    LONGER_WALK = 12 << 10, /* where columns fill the device */
    AT_WORK = 1024,         /* invocations of a processor */
    MOST_PARTS = 512,
    PARTS_OF_A_LINE = 2, /* that each workgroup of the last kernel may as well join by itself, */
    FEW_PLACES = 8,      /* where a line has so few, */
    BESIDE = 3,          /* or each processor has so many workgroups */
    JOINED_SIDE = 8,     /* columns of a workgroup that joins parts: 32 bytes of them */
    TURNS = 4,           /* the most rows that are under way at once */
    MANY_LANES = 8,
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

/* Uses every invocation the workgroup has, up to one line for each place; short shared memory allows fewer lines. */
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

/* A workgroup covers up to 128 bytes of neighbouring columns. Where there are few columns and one short walk does it all, it covers
   fewer of them with more lines. */
static void set_sides(kni_work *w, int64_t columns, bool alone, uint32_t processors)
{
    uint32_t threads = kni_sched_threads(w, THREADS);
    /* Long rows whose columns make no whole pieces of memory are read as they lie, one after the other. */
    bool whole = columns % SIDE && columns <= WHOLE_SIDE && w->width >= LONG_ROW;
    int64_t side = whole ? columns : over(columns, over(columns, SIDE));
    if (alone && columns < SIDE * (int64_t)processors) {
        int64_t run = (int64_t)w->lanes * kni_work_smallest_bytes(w, KNI_WORK_R),
                narrow = columns / processors;
        if (narrow < RUN_BYTES / run) narrow = RUN_BYTES / run;
        if (narrow < 1) narrow = 1;
        while (narrow & (narrow - 1)) narrow &= narrow - 1;
        side = least(least(narrow, side), columns);
        threads = kni_sched_threads(w, MANY_THREADS);
    }
    set_lines(w, (uint32_t)side, threads, w->width);
}

/* Parts for all invocations, each of two turns of its lines, or of one where there is less to do. */
static void cut(kni_work *w, int64_t columns, uint32_t processors)
{
    bool late = kni_rows_has_late(w);
    int64_t groups = over(columns, w->threads / w->teams), step = (int64_t)w->teams * TURNS;
    int64_t wanted = least((int64_t)processors * AT_WORK / (w->threads * groups), MOST_PARTS);
    int64_t few = PARTS_OF_A_LINE * (int64_t)w->teams;
    bool enough = groups * few >= BESIDE * (int64_t)processors || w->width <= few * w->teams * FEW_PLACES;
    if (late && enough) wanted = least(wanted, few);
    bool twice = groups * (w->width / (2 * step)) >= 2 * (int64_t)processors;
    wanted = least(wanted, w->width / (twice ? 2 * step : step));
    if (wanted < 2 || !kni_rows_may_part(w)) return;
    int64_t size = (over(w->width, wanted) + step / 2) / step * step;
    if (late && enough && over(w->width, size) > few) size += step;
    kni_rows_set_parts(w, size);
    w->joins = w->parts > 1 && !(late && w->parts <= few) && 2u * w->n_stages + late <= KNI_SCHED_MAX_KERNELS;
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
    int64_t columns = w->rows / w->lanes, walk = w->width * kni_rows_loads(w);
    bool wide = columns >= (int64_t)threads * 2 * processors || w->width < 4 * LINES;
    bool fills = columns >= SIDE * (int64_t)processors;
    bool alone = wide || walk <= (fills ? LONGER_WALK : SHORT_WALK);
    w->teams = 1;
    w->threads = threads;
    if (!wide && threads >= SIDE * LINES) set_sides(w, columns, alone, processors);
    if (!alone) cut(w, columns, processors);
}

/* Kernels with several totals run out of registers, so each invocation takes half the lanes and twice the rows at once. */
static void narrow_lanes(kni_work *w)
{
    uint32_t side = w->threads / w->teams;
    if (w->lanes < MANY_LANES || w->teams < 2 || kni_rows_reductions(w) < 2) return;
    w->lanes /= 2;
    w->chunks *= 2;
    w->teams /= 2;
    w->threads = 2 * side * w->teams;
}

void kni_rows_lay_down(kni_work *w)
{
    kni_rows_task task = kni_rows_task_of(w);
    if (task != KNI_ROWS_JOINS) {
        w->chunks = turns(w);
        if (w->parts > 1 && (task == KNI_ROWS_REDUCES || !w->joins)) narrow_lanes(w);
        return;
    }
    w->lanes = w->chunks = 1;
    /* However many parts there are: one kernel serves them all. */
    set_lines(w, JOINED_SIDE, kni_sched_threads(w, THREADS), THREADS);
}
