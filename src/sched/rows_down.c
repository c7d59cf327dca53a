/* How reductions down columns are laid over a device: which columns a workgroup has side by side, how many lines it has down
   them, and how many parts of the rows there are. Channels that lie last are such columns: neighbours along them are read
   together, wide. Few columns leave room for more lines, so that no invocation is idle. */
#include "sched/sched_rows.h"

enum {
    THREADS = 256,
    MANY_THREADS = 512, /* where few workgroups have long rows */
    LINES = 8,
    SIDE = 32,
    RUN_BYTES = 32,        /* that lie together at least, for memory to be read in whole pieces */
    NARROW_SIDE = 8,       /* columns of a workgroup where there is little work */
    LITTLE = 16,           /* elements of an invocation, when all are at work */
    SHORT_WALK = 12 << 10, /* loads below each other that are not worth further kernels */
    AT_WORK = 1024,        /* invocations of a processor */
    MOST_PARTS = 1024,
    JOINED_SIDE = 8, /* columns of a workgroup that joins parts: 32 bytes of them */
    TURNS = 4,       /* the most rows that are under way at once */
    MOST_NODES = 3000
};

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t over(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* ---- what a kernel reads */

static void mark_roots(const kni_work *w, bool *used)
{
    kni_rows_task task = kni_rows_task_of(w);
    uint32_t stage = kni_rows_stage_of(w);
    for (int i = 1; i < w->n_nodes; i++) {
        const kni_work_node *n = &w->nodes[i];
        if (n->kind == KNI_WORK_REDUCE && task == KNI_ROWS_REDUCES && n->stage == stage) used[n->a] = true;
    }
    for (int i = 0; i < w->n_outputs; i++) {
        const kni_work_output *y = &w->outputs[i];
        if (!(y->level & KNI_WORK_K)) continue;
        bool early = kni_rows_is_early(w, y);
        used[y->node] |= early ? task == KNI_ROWS_REDUCES && stage == 1 : task == KNI_ROWS_ENDS;
    }
}

/* How many values it loads for each place of a row. */
static uint32_t loads(const kni_work *w)
{
    bool used[KNI_WORK_NODES] = {false};
    uint32_t count = 0;
    mark_roots(w, used);
    for (int i = w->n_nodes - 1; i > 0; i--) {
        const kni_work_node *n = &w->nodes[i];
        if (w->parts > 1 && (!used[i] || n->kind == KNI_WORK_REDUCE)) continue;
        used[n->a] = used[n->b] = used[n->c] = used[n->d] = true;
        count += n->kind == KNI_WORK_INPUT && n->level & KNI_WORK_K;
    }
    return count;
}

static uint32_t turns(const kni_work *w)
{
    uint32_t n = loads(w), chunks = n <= 1 ? TURNS : n <= 3 ? 2 : 1;
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
    side = least(least(side, SIDE), columns);
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
    bool alone = wide || w->width * loads(w) <= SHORT_WALK;
    w->teams = 1;
    w->threads = threads;
    if (!wide && threads >= 2 * SIDE) set_sides(w, columns, alone, processors);
    if (!alone) {
        int64_t groups = over(columns, w->threads / w->teams), step = (int64_t)w->teams * TURNS;
        int64_t wanted = (int64_t)processors * AT_WORK / (w->threads * groups);
        kni_rows_set_parts(w, least(wanted, MOST_PARTS), w->width / (2 * step), step);
    }
    w->joins = w->parts > 1 && 2u * w->n_stages + kni_rows_has_late(w) <= KNI_SCHED_MAX_KERNELS;
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
