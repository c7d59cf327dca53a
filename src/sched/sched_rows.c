/* Reductions and row-shaped work: which form they take, by sizes, strides and the device. */
#include "sched/sched_rows.h"
#include <string.h>

enum {
    SHORT_ROW = 16, /* a row this short is for one invocation, where there are enough of them */
    MANY_ROWS = 2048,
    LONG_PART = 1 << 14,      /* a part of a row that keeps a workgroup busy */
    HELD_ELEMENTS = 32,       /* of a row, in the registers of one invocation */
    MOST_REGISTERS = 224,     /* of an invocation */
    ALL_REGISTERS = 56 << 10, /* of a multiprocessor, with some left for what is not counted */
    LINES = 8,
    SIDE = 32,
    MOST_PARTS = 256,
    COLUMN_SIDE = 8 /* places side by side where the sums of many workgroups are added */
};

static uint32_t processors(const kni_work *w) { return w->target->processors ? w->target->processors : 1; }

static bool sums_columns(const kni_work *w)
{
    for (int i = 1; i < w->n_nodes; i++)
        if (w->nodes[i].kind == KNI_WORK_REDUCE && w->nodes[i].op == KNI_WORK_COLUMNS) return true;
    return false;
}

static bool runs(const kni_work_part *part)
{
    return part->rank && !part->node && part->strides[part->rank - 1] == 1;
}

/* Whether more bytes lie side by side along the rows than from row to row. */
static bool lies_along(const kni_work *w)
{
    int64_t along = 0, across = 0;
    for (int i = 0; i < w->n_accesses; i++) {
        const kni_work_access *access = &w->accesses[i];
        if (access->buffer < 0 || access->level != (KNI_WORK_R | KNI_WORK_K)) continue;
        int bytes = kni_bytes_of(w->buffers[access->buffer].dtype);
        if (runs(&access->parts[1])) along += bytes;
        if (runs(&access->parts[0])) across += bytes;
    }
    return along >= across;
}

static uint32_t lanes_along(const kni_work *w, uint8_t axis)
{
    uint32_t bytes = w->target->caps->vector_bytes ? w->target->caps->vector_bytes : 16;
    uint32_t most = bytes / (uint32_t)kni_work_smallest_bytes(w, axis);
    return kni_work_choose_lanes(w, axis, most < 1 ? 1 : most > 8 ? 8 : most);
}

/* How many values of a row are loaded for each of its elements, and how many sums each place has. */
static uint32_t loaded_values(const kni_work *w)
{
    uint32_t n = 0;
    for (int i = 1; i < w->n_nodes; i++)
        n += w->nodes[i].kind == KNI_WORK_INPUT && w->nodes[i].level & KNI_WORK_K;
    return n;
}

static uint32_t column_sums(const kni_work *w)
{
    uint32_t n = 0;
    for (int i = 1; i < w->n_nodes; i++)
        n += w->nodes[i].kind == KNI_WORK_REDUCE && w->nodes[i].op == KNI_WORK_COLUMNS;
    return n;
}

/* Whether what is made of sums over all rows belongs to places alone, and no row is walked again for it: the kernel that adds
   up the sums of the workgroups makes it. */
static bool columns_end_it(const kni_work *w)
{
    bool from_sums[KNI_WORK_NODES] = {false};
    for (int i = 1; i < w->n_nodes; i++) {
        const kni_work_node *n = &w->nodes[i];
        bool sums = n->kind == KNI_WORK_REDUCE && n->op == KNI_WORK_COLUMNS;
        bool waits = from_sums[n->a] || from_sums[n->b] || from_sums[n->c] || from_sums[n->d];
        if (waits && (n->kind == KNI_WORK_REDUCE || n->level & KNI_WORK_R)) return false;
        from_sums[i] = sums || waits;
    }
    for (int i = 0; i < w->n_outputs; i++)
        if (from_sums[w->outputs[i].node] && w->outputs[i].level & KNI_WORK_R) return false;
    return true;
}

/* Registers of an invocation that holds so many elements of a row. */
static uint32_t registers(const kni_work *w, uint32_t elements)
{
    uint32_t values = loaded_values(w) + column_sums(w);
    return 24 + elements * (values ? values : 1);
}

/* The smallest team whose registers hold a row; false when there is none. Small teams wait less for each other and leave
   room for more rows at once. */
static bool hold(kni_work *w)
{
    const kni_ir_caps *caps = w->target->caps;
    int64_t vectors = (w->width + w->lanes - 1) / w->lanes;
    uint32_t most = kni_sched_threads(w, 1024), team = most < 32 ? most : 32, chunks;
    for (;; team *= 2) {
        if (team > most) return false;
        int64_t each = (vectors + team - 1) / team;
        if (each > KNI_EMIT_CHUNKS || each * w->lanes > HELD_ELEMENTS) continue;
        chunks = each ? (uint32_t)each : 1;
        uint32_t needed = registers(w, chunks * w->lanes);
        if (needed <= MOST_REGISTERS && needed * team <= ALL_REGISTERS) break;
    }
    w->chunks = chunks;
    w->threads = team;
    w->teams = 1;
    if (w->form == KNI_ROWS_HELD && caps->subgroups && caps->subgroup == team && team * 4 <= most) {
        w->teams = 4;
        w->threads = team * 4;
    }
    w->full = vectors == (int64_t)team * chunks;
    return true;
}

/* As many workgroups as are at once on the device, each for every so manieth row. */
static void share_rows(kni_work *w)
{
    uint32_t beside = ALL_REGISTERS / (w->threads * registers(w, w->chunks * w->lanes));
    int64_t groups = (int64_t)processors(w) * (beside < 1 ? 1 : beside > 8 ? 8 : beside);
    w->parts = (uint32_t)(w->rows < groups ? (w->rows ? w->rows : 1) : groups);
}

bool kni_rows_may_part(const kni_work *w) { return w->n_stages && w->n_stages < KNI_SCHED_MAX_KERNELS; }

void kni_rows_set_parts(kni_work *w, int64_t size)
{
    w->parts = (uint32_t)((w->width + size - 1) / size);
    w->part_width = w->parts > 1 ? size : w->width;
}

/* Cuts rows into parts where there are too few of them to fill the device. */
static void cut(kni_work *w)
{
    int64_t wanted = 4 * (int64_t)processors(w) / w->rows, room = w->width / (LONG_PART / 4);
    int64_t step = (int64_t)w->threads * w->lanes * w->chunks;
    if (wanted > room) wanted = room;
    if (wanted > MOST_PARTS) wanted = MOST_PARTS;
    if (wanted < 2 || !kni_rows_may_part(w)) return;
    int64_t size = (w->width + wanted - 1) / wanted;
    kni_rows_set_parts(w, (size + step - 1) / step * step);
}

static uint32_t turns(const kni_work *w)
{
    uint32_t loads = loaded_values(w);
    uint32_t chunks = loads <= 1 ? 4 : loads <= 2 ? 2 : 1;
    while (chunks > 1 && chunks * w->lanes * w->n_nodes > 2000) chunks /= 2;
    return chunks;
}

static void choose_looped(kni_work *w)
{
    w->form = KNI_ROWS_LOOPED;
    w->teams = 1;
    w->threads = kni_sched_threads(w, 512);
    w->chunks = turns(w);
    kni_rows_find_moments(w);
    cut(w);
    if (w->parts == 1) kni_rows_find_online(w);
}

uint32_t kni_rows_reductions(const kni_work *w)
{
    uint32_t n = 0;
    for (int i = 1; i < w->n_nodes; i++) n += w->nodes[i].kind == KNI_WORK_REDUCE;
    return n;
}

static bool choose(kni_work *w)
{
    if (kni_rows_reductions(w) > KNI_ROWS_MOST_REDUCTIONS) return false;
    w->chunk_axis = w->lane_axis = KNI_WORK_K;
    w->parts = w->teams = 1;
    w->part_width = w->width;
    bool c = w->target->caps->dialect == KNI_IR_C;
    w->lanes = c ? 1 : lanes_along(w, KNI_WORK_K);
    if (sums_columns(w)) {
        w->form = KNI_ROWS_COLUMNS;
        if (c || column_sums(w) > KNI_ROWS_MOST_COLUMNS || !columns_end_it(w) || !hold(w)) return false;
        share_rows(w);
        return true;
    }
    bool few = w->rows < processors(w) && w->width >= 4 * LONG_PART;
    bool along = lies_along(w);
    if (c) { /* one invocation for each row, which the compiler turns into vectors */
        w->form = KNI_ROWS_LOOPED;
        w->threads = w->chunks = 1;
        return true;
    }
    w->form = KNI_ROWS_HELD;
    if (!along || (w->width <= SHORT_ROW && w->rows >= MANY_ROWS)) {
        w->lane_axis = KNI_WORK_R;
        w->lanes = lanes_along(w, KNI_WORK_R);
        kni_rows_choose_down(w);
    } else if (few || !hold(w))
        choose_looped(w);
    return true;
}

/* ---- temporaries: a region for each reduction, [part][row] (rows_parts.c) or [workgroup][place]. Regions share memory where it may be bound twice. */

static uint8_t region(kni_work *w, int dtype, int64_t count)
{
    if (!w->n_temps || w->target->caps->no_aliases) {
        if (w->n_temps == KNI_SCHED_MAX_TEMPS) return (uint8_t)(kni_work_fail(w) + 1);
        w->n_temps++;
    }
    int last = w->n_temps - 1;
    int64_t bytes = kni_bytes_of(dtype), start = (w->temp_bytes[last] + 255) / 256 * 256;
    int buffer = kni_work_buffer_add(w, KNI_SCHED_TEMP | (uint32_t)last, dtype, KNI_IR_READ | KNI_IR_WRITE,
                                     start / bytes);
    w->temp_bytes[last] = start + bytes * count;
    return (uint8_t)(buffer + 1);
}

static void add_regions(kni_work *w)
{
    bool columns = w->form == KNI_ROWS_COLUMNS;
    for (int i = 1; i < w->n_nodes && !w->failed; i++) {
        kni_work_node *n = &w->nodes[i];
        if (n->kind != KNI_WORK_REDUCE || (columns && n->op != KNI_WORK_COLUMNS)) continue;
        if (n->pair == KNI_PAIR_REST) continue; /* made of the sums */
        int64_t totals = !w->joins ? 0 : n->pair == KNI_PAIR_SQUARES ? 2 : 1;
        int64_t count = (w->parts + totals) * (columns ? w->width : w->rows);
        n->temps[0] = region(w, w->nodes[n->a].dtype, count);
        if (kni_rows_is_place(n)) n->temps[1] = region(w, KN_I64, count);
    }
    for (int i = 1; i < w->n_nodes; i++) /* its totals lie behind those of the squares */
        if (w->nodes[i].pair == KNI_PAIR_REST)
            w->nodes[i].temps[0] = w->nodes[w->nodes[w->nodes[i].partner].partner].temps[0];
}

/* Regions begin at multiples of 256 bytes, and parts at multiples of the lanes that lie side by side. */
static void align_regions(kni_work *w)
{
    if (w->form != KNI_ROWS_DOWN && w->form != KNI_ROWS_COLUMNS) return;
    for (int i = 0; i < w->n_buffers; i++)
        if (w->buffers[i].id & KNI_SCHED_TEMP) w->buffers[i].aligned = (uint8_t)w->lanes;
}

static void add_numbers(kni_work *w)
{
    int64_t parts = w->parts;
    w->rows_number = kni_work_number_add(w, 0, &w->rows, KN_I64);
    w->width_number = kni_work_number_add(w, 0, &w->width, KN_I64);
    if (w->parts == 1) return;
    w->part_number = kni_work_number_add(w, 0, &w->part_width, KN_I64);
    w->parts_number = kni_work_number_add(w, 0, &parts, KN_I64);
}

/* ---- kernels */

/* What differs between the kernels of one group. */
static void set_pass(kni_work *w, uint32_t pass)
{
    w->pass = (uint8_t)pass;
    w->lanes = w->first.lanes;
    w->chunks = w->first.chunks;
    w->threads = w->first.threads;
    w->teams = w->first.teams;
    if (w->form == KNI_ROWS_DOWN) kni_rows_lay_down(w);
    if (w->form != KNI_ROWS_COLUMNS || pass == 0) return;
    /* One place for an invocation: there are few of them, and many sums to be added at each. */
    w->lanes = 1;
    w->threads = kni_sched_threads(w, SIDE * LINES);
    w->teams = w->threads > COLUMN_SIDE ? w->threads / COLUMN_SIDE : 1;
    while (w->teams > 1 && kni_rows_shared_bytes(w) > w->target->caps->shared_bytes) {
        w->teams /= 2;
        w->threads /= 2;
    }
}

static bool set_shape(const kni_work *w, kni_launch_shape *shape)
{
    int64_t groups = w->rows, side = w->threads / w->teams;
    kni_rows_task task = kni_rows_task_of(w);
    if (w->form == KNI_ROWS_HELD) groups = (w->rows + w->teams - 1) / w->teams;
    if (w->form == KNI_ROWS_DOWN) groups = (w->rows / w->lanes + side - 1) / side;
    if (w->form == KNI_ROWS_COLUMNS) groups = w->pass ? (w->width / w->lanes + side - 1) / side : w->parts;
    if (groups > INT32_MAX) return false;
    shape->groups[0] = (uint32_t)groups;
    bool parts = task == KNI_ROWS_REDUCES || (task == KNI_ROWS_ENDS && kni_rows_has_late(w));
    if (w->form != KNI_ROWS_COLUMNS && w->parts > 1 && parts) shape->groups[1] = w->parts;
    shape->workgroup = w->threads;
    return true;
}

kn_status kni_sched_rows(kni_work *w, kni_sched *sched)
{
    if (!choose(w)) return KN_ERROR_UNSUPPORTED;
    kni_rows_choose_rereads(w);
    add_numbers(w);
    if (w->form == KNI_ROWS_COLUMNS && !w->parts_number) {
        int64_t parts = w->parts;
        w->parts_number = kni_work_number_add(w, 0, &parts, KN_I64);
    }
    uint32_t kernels = kni_rows_kernels(w);
    if (w->parts > 1 || w->form == KNI_ROWS_COLUMNS) {
        add_regions(w);
        sched->n_temps = w->n_temps;
        for (int i = 0; i < w->n_temps; i++) sched->temp_bytes[i] = (size_t)w->temp_bytes[i];
    }
    if (w->failed || kernels > KNI_SCHED_MAX_KERNELS) return KN_ERROR_UNSUPPORTED;
    kni_work_set_modes(w);
    align_regions(w);
    w->first = (kni_work_layout){w->lanes, w->chunks, w->threads, w->teams};
    for (uint32_t i = 0; i < kernels; i++) {
        set_pass(w, i);
        int schedule = w->parts > 1               ? KNI_SCHED_SPLIT
                       : w->form == KNI_ROWS_DOWN ? KNI_SCHED_OUTER
                                                  : KNI_SCHED_INNER;
        kni_sched_kernel *k = kni_sched_add_kernel(sched, w, schedule, w->rows);
        if (!k || !set_shape(w, &k->shape)) return KN_ERROR_UNSUPPORTED;
    }
    return KN_OK;
}

kni_ir *kni_sched_rows_ir(kni_work *w, const kni_sched *sched, int32_t kernel)
{
    static const char *const names[2][KNI_ROWS_FORMS] = {{"rows", "walk", "down", "columns"},
                                                         {"rows_end", "walk_end", "down_end", "columns_end"}};
    kni_rows_emit s;
    char name[48];
    (void)sched;
    set_pass(w, (uint32_t)kernel);
    bool joins = w->joins && kni_rows_task_of(w) == KNI_ROWS_JOINS;
    kni_sched_name(w, joins ? "down_join" : names[kernel > 0][w->form], name);
    kni_ir_builder b = kni_ir_begin(name, w->threads);
    s = (kni_rows_emit){.b = &b, .w = w};
    bool good = kni_emit_begin(&s.e, &b, w);
    if (good && b.status == KN_OK) {
        if (w->form == KNI_ROWS_HELD)
            kni_rows_held(&s);
        else if (w->form == KNI_ROWS_COLUMNS)
            (kernel ? kni_rows_columns_end : kni_rows_columns)(&s);
        else
            kni_rows_looped(&s);
    }
    kni_emit_end(&s.e);
    if (!good) b.status = kni_fail(KN_ERROR_MEMORY, "no memory to build a kernel");
    return kni_ir_finish(&b);
}
