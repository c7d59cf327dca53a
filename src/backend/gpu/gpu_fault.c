/* Faults that kernels report: each launch that may report has a cell on the device. What is computed from a faulty
   value is marked by the cells it depends on, and all of it fails once the cells are looked at. */
#include "backend/gpu/gpu_recording.h"
#include "core/text.h"
#include <string.h>

static uint64_t faults_of_block(const kni_gpu *g, const kni_gpu_block *b)
{
    return b->epoch == g->epoch ? b->faults : 0;
}

kn_status kni_gpu_faults_of(kni_gpu *g, const kni_tensor *x, uint64_t *faults)
{
    *faults = 0;
    if (!x->storage) return KN_OK;
    const kni_gpu_block *b = kni_gpu_block_of(x->storage);
    if (b->error.bits) return kni_fail_again(b->error, NULL);
    *faults = faults_of_block(g, b);
    return KN_OK;
}

void kni_gpu_note_faults(kni_gpu *g, kni_tensor *y, uint64_t faults)
{
    kni_gpu_block *b = kni_gpu_block_of(y->storage);
    b->faults = faults;
    b->epoch = g->epoch;
    b->error = KN_NONE;
}

void kni_gpu_finish(kni_gpu *g, const kn_record *r, int cell)
{
    uint64_t all = cell >= 0 ? UINT64_C(1) << cell : 0, some;
    for (int i = 0; i < r->n_in; i++)
        if (kni_in(r, i) && kni_gpu_faults_of(g, kni_in(r, i), &some) == KN_OK) all |= some;
    for (int i = 0; i < r->n_out; i++) kni_gpu_note_faults(g, kni_out(r, i), all);
}

void kni_gpu_blame(kni_gpu *g, int cell, uint64_t serial)
{
    const kni_thread *t = kni_thread_self();
    g->cells[cell].serial = serial;
    g->cells[cell].thread = t->runs_for ? t->runs_for : t->id;
    g->cells[cell].uses++;
    g->cells_waiting |= UINT64_C(1) << cell;
}

enum { CELL_BYTES = 2 * sizeof(int64_t) };

/* Memory filled with zeros; NULL: *s says why, without a text where there is none. */
static void *zeros(kni_gpu *g, size_t bytes, kn_status *s)
{
    void *memory = g->driver->allocate(g->driver, bytes);
    *s = memory ? kni_gpu_checked(g, g->driver->fill_zero(g->driver, memory, 0, bytes)) : KN_ERROR_MEMORY;
    if (!*s) return memory;
    if (memory) g->driver->free(g->driver, memory);
    return NULL;
}

/* KN_ERROR_MEMORY without a text where there is no memory for it. */
static kn_status ready_cell(kni_gpu *g, kni_gpu_cell *c)
{
    kn_status s = KN_OK;
    if (c->memory) return KN_OK;
    if (!g->driver->addresses) {
        c->memory = zeros(g, CELL_BYTES, &s);
        return s;
    }
    if (!g->cell_memory) g->cell_memory = zeros(g, KNI_GPU_CELLS * CELL_BYTES, &s);
    if (g->cell_memory) c->memory = g->cell_memory + (c - g->cells) * CELL_BYTES;
    return s;
}

bool kni_gpu_ready_cells(kni_gpu *g)
{
    for (int i = 0; i < KNI_GPU_CELLS; i++)
        if (ready_cell(g, &g->cells[i])) return false;
    return true;
}

int kni_gpu_take_cell(kni_gpu *g, const kn_record *r)
{
    if (g->recording && !kni_gpu_recording_has_cell(g)) (void)kni_gpu_flush(g, KNI_GPU_WHY_FAULTS);
    /* All cells are waited for: look at them, which frees them. A fault found is told where its value is used. */
    if (!~(g->cells_waiting | g->cells_reserved)) (void)kni_gpu_settle_faults(g);
    if (kni_gpu_usable(g)) return -1;
    int cell = __builtin_ctzll(~(g->cells_waiting | g->cells_reserved));
    kn_status s = ready_cell(g, &g->cells[cell]);
    if (s) {
        if (s == KN_ERROR_MEMORY)
            (void)kni_fail_op(KN_ERROR_MEMORY, NULL, "no memory on %s for the report of a kernel",
                              g->driver->name);
        return -1;
    }
    const char *name = kni_thread_self()->context.call_name;
    g->cells[cell].row = r->row;
    g->cells[cell].name = name ? name : r->row->name;
    kni_gpu_blame(g, cell, r->sequence);
    if (g->recording) kni_gpu_recording_cell(g, r, cell);
    return cell;
}

/* Tells the fault under the name of the call that had it, with its line where that is still known. */
static void tell(const kni_gpu_cell *c, int64_t value)
{
    kni_thread *t = kni_thread_self();
    const char *site = t->id == c->thread ? kni_site_of(c->serial) : NULL;
    char place[160] = "";
    kni_text text = {place, sizeof place, 0};
    if (site) kni_text_format(&text, " (%s)", site);
    kni_context before = kni_context_push(t);
    t->context.call_name = NULL;
    if (c->row->report) {
        char what[256] = "";
        kni_text w = {what, sizeof what, 0};
        kni_text_format(&w, c->row->report, value >> 32, value & (int64_t)UINT32_MAX);
        (void)kni_fail_op(KN_ERROR_NUMERIC, c->name, "%s%s", what, place);
    } else if (c->row->source) {
        (void)kni_fail_op(KN_ERROR_INDEX, c->name == c->row->name ? NULL : c->name, KNI_KERNEL_REPORTED,
                          c->row->name, value, place);
    } else {
        (void)kni_fail_op(KN_ERROR_INDEX, c->name, "index %D is out of range%s", value, place);
    }
    kni_error_flush(t); /* its line is in the text */
    kni_context_pop(t, &before);
}

/* Everything alive that depends on the cell carries its fault from now on. */
static void mark(kni_gpu *g, int cell, kn_tensor error)
{
    for (kni_gpu_block *b = g->live; b; b = b->next)
        if (!b->error.bits && faults_of_block(g, b) >> cell & 1) b->error = error;
}

/* What the cells hold that are waited for: all at once where they lie together. */
static kn_status read_cells(kni_gpu *g, int64_t (*cells)[2])
{
    kni_driver *d = g->driver;
    if (g->cell_memory)
        return kni_gpu_checked(g, d->download(d, cells, g->cell_memory, 0, KNI_GPU_CELLS * CELL_BYTES));
    kn_status s = KN_OK;
    for (int i = 0; i < KNI_GPU_CELLS && s == KN_OK; i++)
        if (g->cells_waiting >> i & 1)
            s = kni_gpu_checked(g, d->download(d, cells[i], g->cells[i].memory, 0, CELL_BYTES));
    return s;
}

kn_status kni_gpu_settle_faults(kni_gpu *g)
{
    kn_status first = KN_OK, s = KN_OK;
    kn_tensor told = KN_NONE;
    uint64_t waiting = g->cells_waiting;
    int64_t cells[KNI_GPU_CELLS][2] = {{0}};
    s = kni_gpu_flush(g, KNI_GPU_WHY_WAIT);
    if (s == KN_OK && waiting) s = read_cells(g, cells);
    for (int i = 0; i < KNI_GPU_CELLS && s == KN_OK; i++) {
        if (!(waiting >> i & 1) || !cells[i][0]) continue;
        tell(&g->cells[i], cells[i][1]);
        kn_tensor error = kni_poison_latest();
        mark(g, i, error);
        if (first == KN_OK) {
            first = kn_error_code(error);
            told = error;
        }
        s = kni_gpu_checked(g, g->driver->fill_zero(g->driver, g->cells[i].memory, 0, CELL_BYTES));
    }
    g->cells_waiting = 0;
    g->epoch++;
    g->cells_status = s;
    if (s) return s;
    return told.bits ? kni_fail_again(told, NULL) : KN_OK;
}

kn_status kni_gpu_settle_some(kni_gpu *g, uint64_t some, const int64_t (*cells)[2])
{
    kn_status s = KN_OK;
    for (int i = 0; i < KNI_GPU_CELLS && s == KN_OK; i++) {
        if (!(some >> i & 1) || !cells[i][0]) continue;
        tell(&g->cells[i], cells[i][1]);
        mark(g, i, kni_poison_latest());
        s = kni_gpu_checked(g, g->driver->fill_zero(g->driver, g->cells[i].memory, 0, CELL_BYTES));
    }
    for (kni_gpu_block *b = g->live; b; b = b->next) b->faults &= ~some;
    g->cells_waiting &= ~some;
    return s;
}

void kni_gpu_free_cells(kni_gpu *g)
{
    for (int i = 0; i < KNI_GPU_CELLS && !g->cell_memory; i++)
        if (g->cells[i].memory) g->driver->free(g->driver, g->cells[i].memory);
    if (g->cell_memory) g->driver->free(g->driver, g->cell_memory);
    g->cell_memory = NULL;
    memset(g->cells, 0, sizeof g->cells);
    g->cells_waiting = g->cells_reserved = 0;
}
