/* Reading without waiting: the values and the cells of faults are on their way together, and the tensor is read when all have come. */
#include "backend/gpu/gpu.h"
#include "core/allocator.h"

enum { CELL_BYTES = 2 * sizeof(int64_t) };

typedef struct reading {
    kni_gpu *gpu;
    uint32_t id;
    void *buffer;
    kni_fetch *values;   /* NULL: there are none */
    kni_gpu_block *copy; /* of a tensor that does not lie in order */
    kni_fetch *of_cells[KNI_GPU_CELLS];
    uint64_t
        uses[KNI_GPU_CELLS]; /* of the cells when they were fetched: another launch may have one by now */
} reading;

static void end(reading *r, void *to)
{
    kni_driver *d = r->gpu->driver; /* NULL: the device was closed */
    if (d && r->values) d->fetch_end(d, r->values, to);
    for (int i = 0; i < KNI_GPU_CELLS; i++)
        if (d && r->of_cells[i]) d->fetch_end(d, r->of_cells[i], NULL);
    if (r->copy) kni_gpu_give(r->copy);
    kni_free(r, sizeof *r);
}

/* All cells that wait, so that they are free afterwards though nobody ever waits for them. */
static kn_status fetch_cells(reading *r)
{
    kni_gpu *g = r->gpu;
    for (int i = 0; i < KNI_GPU_CELLS; i++) {
        if (!(g->cells_waiting >> i & 1)) continue;
        r->of_cells[i] = g->driver->fetch_begin(g->driver, g->cells[i].memory, 0, CELL_BYTES);
        if (!r->of_cells[i]) return kni_latest_code();
        r->uses[i] = g->cells[i].uses;
    }
    return KN_OK;
}

static kn_status fetch_values(reading *r, kni_tensor *x)
{
    kni_gpu *g = r->gpu;
    const size_t element = kni_gpu_element_bytes(x), bytes = (size_t)kni_count(&x->type) * element;
    const bool lies = kni_gpu_contiguous(x);
    kn_status s = KN_OK;
    if (!bytes) return KN_OK;
    if (!lies) s = kni_gpu_gather(g, x, &r->copy);
    if (s) return s;
    const void *memory = lies ? kni_gpu_block_of(x->storage)->memory : r->copy->memory;
    r->values = g->driver->fetch_begin(g->driver, memory, lies ? (size_t)x->offset * element : 0, bytes);
    return r->values ? KN_OK : kni_latest_code();
}

static kn_status begin_locked(reading *r)
{
    kni_gpu *g = r->gpu;
    uint64_t faults;
    kn_status s = kni_gpu_usable(g);
    if (s == KN_OK) s = kni_gpu_flush(g, KNI_GPU_WHY_READ);
    if (s == KN_OK) s = kni_gpu_faults_of(g, kni_slot(r->id), &faults);
    if (s == KN_OK) s = fetch_values(r, kni_slot(r->id));
    if (s == KN_OK) s = fetch_cells(r);
    return kni_gpu_checked(g, s);
}

kn_status kni_gpu_read_begin(kn_backend *backend, uint32_t id, void *buffer, uint64_t *ticket)
{
    kni_gpu *g = kni_gpu_of(backend);
    reading *r = kni_allocate(sizeof *r);
    if (!r) return kni_fail(KN_ERROR_MEMORY, "no memory to read a tensor of %s", g->driver->name);
    *r = (reading){.gpu = g, .id = id, .buffer = buffer};
    kni_gpu_enter(g);
    kn_status s = begin_locked(r);
    if (s) end(r, NULL);
    kni_gpu_unlock(g);
    *ticket = (uint64_t)(uintptr_t)r;
    return s;
}

/* Whether everything has come; with the values of the cells that are still those of the launches, as bits. */
static kn_status ask(reading *r, bool wait, bool *ready, int64_t (*cells)[2], uint64_t *some)
{
    kni_gpu *g = r->gpu;
    kni_driver *d = g->driver;
    kn_status s = kni_gpu_usable(g);
    *ready = true;
    *some = 0;
    if (s == KN_OK && r->values) s = d->fetch_ready(d, r->values, wait, ready);
    for (int i = 0; i < KNI_GPU_CELLS && s == KN_OK && *ready; i++)
        if (r->of_cells[i]) s = d->fetch_ready(d, r->of_cells[i], wait, ready);
    for (int i = 0; i < KNI_GPU_CELLS && s == KN_OK && *ready; i++) {
        if (!r->of_cells[i]) continue;
        d->fetch_end(d, r->of_cells[i], cells[i]);
        r->of_cells[i] = NULL;
        if (r->uses[i] == g->cells[i].uses) *some |= UINT64_C(1) << i;
    }
    return s;
}

static kn_status ready_locked(reading *r, bool wait, bool *ready)
{
    kni_gpu *g = r->gpu;
    int64_t cells[KNI_GPU_CELLS][2] = {{0}};
    uint64_t faults, some;
    kn_status s = ask(r, wait, ready, cells, &some);
    if (s == KN_OK && !*ready) return KN_OK;
    if (s == KN_OK) s = kni_gpu_settle_some(g, some & g->cells_waiting, cells);
    if (s == KN_OK) s = kni_gpu_faults_of(g, kni_slot(r->id), &faults);
    end(r, s == KN_OK ? r->buffer : NULL);
    return kni_gpu_checked(g, s);
}

kn_status kni_gpu_read_ready(kn_backend *backend, uint64_t ticket, bool wait, bool *ready)
{
    reading *r = (reading *)(uintptr_t)ticket;
    kni_gpu *g = kni_gpu_of(backend);
    kni_gpu_enter(g);
    kn_status s = ready_locked(r, wait, ready);
    kni_gpu_unlock(g);
    return s;
}
