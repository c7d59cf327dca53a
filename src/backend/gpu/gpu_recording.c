/* Making recordings of plans: what is launched, which memory, cells and numbers it uses, and how a recording ends, well
   or not. Whatever happens, all that was launched is run. */
#include "backend/gpu/gpu_recording.h"
#include "core/reproducible.h"
#include <string.h>

static void spoil(kni_gpu_recording *r, kni_gpu_why why)
{
    if (!r->spoiled) {
        r->why = why;
        r->why_step = r->run->step;
    }
    r->spoiled = true;
}

/* ---- lists */

static void *append(kni_gpu_recording *r, kni_gpu_list *l, uint32_t n, size_t size)
{
    void *items = kni_grow(l->items, &l->room, l->n + n, size);
    if (!items) {
        if (n) spoil(r, KNI_GPU_WHY_HOST_MEMORY);
        return NULL;
    }
    l->items = items;
    void *at = (char *)l->items + l->n * size;
    l->n += n;
    return at;
}

static void free_list(kni_gpu_list *l, size_t size)
{
    if (l->items) kni_free(l->items, l->room * size);
    *l = (kni_gpu_list){NULL, 0, 0};
}

/* ---- making and freeing */

uint32_t kni_gpu_recording_modes(void) { return kni_reproducible(); }

static void link_recording(kni_gpu *g, kni_gpu_recording *r)
{
    r->older = g->newest;
    r->newer = NULL;
    *(g->newest ? &g->newest->newer : &g->oldest) = r;
    g->newest = r;
    r->next = r->plan->recordings;
    r->plan->recordings = r;
    r->plan->n_recordings++;
}

static void unlink_recording(kni_gpu *g, kni_gpu_recording *r)
{
    *(r->newer ? &r->newer->older : &g->newest) = r->older;
    *(r->older ? &r->older->newer : &g->oldest) = r->newer;
    kni_gpu_recording **at = &r->plan->recordings;
    while (*at != r) at = &(*at)->next;
    *at = r->next;
    r->plan->n_recordings--;
}

/* Blocks that others gave back meanwhile were not reused, so that inputs stay apart from what is made. */
static void give_deferred(kni_gpu *g, kni_gpu_recording *r)
{
    while (r->deferred) {
        kni_gpu_block *b = r->deferred;
        r->deferred = b->next;
        g->bytes_recorded -= (int64_t)b->bytes;
        kni_gpu_release_block(b);
    }
}

/* Blocks in use become their users'; the others go to the pool. */
static void give_blocks(kni_gpu *g, kni_gpu_recording *r)
{
    while (r->blocks) {
        kni_gpu_block *b = r->blocks;
        r->blocks = b->sibling;
        b->recording = NULL;
        b->sibling = NULL;
        if (b->live) continue;
        g->bytes_recorded -= (int64_t)b->bytes;
        kni_gpu_release_block(b);
    }
    give_deferred(g, r);
}

static void destroy(kni_gpu_recording *r)
{
    free_list(&r->cell_uses, sizeof(kni_gpu_cell_use));
    free_list(&r->units, sizeof(kni_gpu_unit));
    free_list(&r->numbers, 1);
    free_list(&r->launches, sizeof(kni_gpu_launched));
    free_list(&r->sources, sizeof(kni_sched_source));
    if (r->inputs) kni_free(r->inputs, (size_t)(r->n_inputs + 1) * sizeof *r->inputs);
    if (r->results) kni_free(r->results, (size_t)(r->n_results + 1) * sizeof *r->results);
    kni_free(r, sizeof *r);
}

void kni_gpu_recording_free(kni_gpu_recording *r)
{
    kni_gpu *g = r->gpu;
    unlink_recording(g, r);
    g->driver->record_free(g->driver, r->work);
    g->cells_reserved &= ~r->cells;
    g->bytes_held -= r->bytes;
    give_blocks(g, r);
    destroy(r);
}

void kni_gpu_recordings_free(kni_gpu *g)
{
    while (g->oldest) kni_gpu_recording_free(g->oldest);
}

void kni_gpu_recording_touch(kni_gpu_recording *r)
{
    kni_gpu *g = r->gpu;
    kni_gpu_plan *plan = r->plan;
    if (g->newest == r && plan->recordings == r) return;
    unlink_recording(g, r);
    link_recording(g, r);
}

static void note_inputs(kni_gpu_recording *r, const kni_plan_run *run)
{
    for (int32_t i = 0; i < run->n_inputs; i++) {
        const kni_tensor *x = kni_slot(run->inputs[i]);
        kni_gpu_input *in = &r->inputs[i];
        memset(in, 0, sizeof *in);
        if (!x->storage) continue;
        if (kni_storage_flags(x->storage) & (KNI_STORAGE_PENDING | KNI_STORAGE_FAILED))
            spoil(r, KNI_GPU_WHY_FAILED);
        kni_gpu_block *b = kni_gpu_block_of(x->storage);
        if (!b) continue;
        in->block = b;
        in->memory = b->memory;
        in->offset = x->offset;
        in->beside = b->companion ? b->companion->memory : NULL;
        in->beside_key = b->companion ? b->companion_key : 0;
        in->writable = kni_storage_writable(x->storage);
    }
}

static kni_gpu_recording *new_recording(kni_gpu *g, kni_gpu_plan *plan, const kni_plan_run *run)
{
    kni_gpu_recording *r = kni_allocate(sizeof *r);
    if (!r) return NULL;
    memset(r, 0, sizeof *r);
    r->gpu = g;
    r->plan = plan;
    r->run = run;
    r->n_inputs = run->n_inputs;
    r->n_results = run->n_results;
    r->inputs = kni_allocate((size_t)(r->n_inputs + 1) * sizeof *r->inputs);
    r->results = kni_allocate((size_t)(r->n_results + 1) * sizeof *r->results);
    if (!r->inputs || !r->results) {
        destroy(r);
        return NULL;
    }
    r->thread = kni_thread_self()->id;
    r->modes = kni_gpu_recording_modes();
    note_inputs(r, run);
    return r;
}

/* ---- while one is made */

/* Small recordings use no block twice, so that what does not depend on each other can run at once. */
#define REUSES_FROM (INT64_C(64) << 20)

kni_gpu_block *kni_gpu_recording_block(kni_gpu *g, uint32_t class_number)
{
    kni_gpu_recording *r = g->recording;
    kni_gpu_block *b = r->free_blocks[class_number];
    if (!b || (g->driver->record_writes && r->bytes < REUSES_FROM && r->bytes < g->record_limit / 4))
        return NULL;
    r->free_blocks[class_number] = b->next;
    r->live++;
    g->bytes_recorded -= (int64_t)b->bytes;
    return b;
}

void kni_gpu_recording_adopt(kni_gpu *g, kni_gpu_block *b)
{
    kni_gpu_recording *r = g->recording;
    b->recording = r;
    b->sibling = r->blocks;
    r->blocks = b;
    r->bytes += (int64_t)b->bytes;
    r->live++;
}

void kni_gpu_recording_keep(kni_gpu *g, kni_gpu_block *b)
{
    kni_gpu_recording *r = g->recording;
    g->bytes_recorded += (int64_t)b->bytes;
    if (b->recording) b->recording->live--;
    if (!b->recording) {
        b->next = r->deferred;
        r->deferred = b;
    } else if (b->recording == r) {
        b->next = r->free_blocks[b->class_number];
        r->free_blocks[b->class_number] = b;
    }
}

bool kni_gpu_recording_has_cell(const kni_gpu *g)
{
    return __builtin_popcountll(g->cells_reserved | g->recording->cells) < KNI_GPU_RECORDED_CELLS;
}

/* Which of the step's records it is, -1 none of them. */
static int32_t place_of(const kni_plan_run *run, const kn_record *r)
{
    const kni_group *group = run->steps[run->step];
    for (int32_t i = 0; i < group->n_records; i++)
        if (group->records[i] == r) return i;
    return -1;
}

void kni_gpu_recording_cell(kni_gpu *g, const kn_record *record, int cell)
{
    kni_gpu_recording *r = g->recording;
    int32_t place = place_of(r->run, record);
    kni_gpu_cell_use *use = append(r, &r->cell_uses, 1, sizeof *use);
    r->cells |= UINT64_C(1) << cell;
    /* Inside a lowering it is the record that is lowered, as far as that is known. */
    if (use) *use = (kni_gpu_cell_use){cell, r->run->step, place < 0 ? 0 : place};
}

uint32_t kni_gpu_recording_mark(const kni_gpu *g) { return g->recording ? g->recording->launches.n : 0; }

void kni_gpu_recording_spoil(kni_gpu *g, kni_gpu_why why)
{
    if (g->recording) spoil(g->recording, why);
}

void kni_gpu_recording_unit(kni_gpu *g, const kn_record *record, uint32_t mark, bool scheduled)
{
    kni_gpu_recording *r = g->recording;
    if (!r || r->spoiled) return;
    const kni_group *group = r->run->steps[r->run->step];
    int32_t place = record ? place_of(r->run, record) : -1;
    const kn_record *const *records = record ? &record : group->records;
    uint32_t bytes = kni_gpu_numbers_bytes(records, record ? 1 : group->n_records);
    if (!bytes) return;
    kni_gpu_unit *unit = append(r, &r->units, 1, sizeof *unit);
    void *numbers = append(r, &r->numbers, bytes, 1);
    if (!unit || !numbers) return;
    /* A record of nobody's, as the copy of a result that does not lie well, has no numbers that change. */
    if (record && place < 0) spoil(r, KNI_GPU_WHY_NUMBERS);
    *unit = (kni_gpu_unit){r->run->step, place, r->numbers.n - bytes, bytes, mark, 0};
    if (scheduled) unit->n_launches = r->launches.n - mark;
    kni_gpu_numbers_copy(records, record ? 1 : group->n_records, numbers);
}

void kni_gpu_recording_launch(kni_gpu *g, const kni_gpu_kernel *k, const kni_launch_shape *shape,
                              const void *params)
{
    kni_gpu_recording *r = g->recording;
    uint32_t at = r->numbers.n;
    kni_gpu_launched *l = append(r, &r->launches, 1, sizeof *l);
    void *copy = k->param_bytes ? append(r, &r->numbers, k->param_bytes, 1) : NULL;
    if (l) *l = (kni_gpu_launched){.kernel = k, .shape = *shape, .params = at, .sources_lack = true};
    if (copy && params) memcpy(copy, params, k->param_bytes);
}

static void give_sources(kni_gpu *g, const kni_sched_source *sources, uint32_t n, bool lack)
{
    kni_gpu_recording *r = g->recording;
    if (!r || r->spoiled || !r->launches.n) return;
    kni_gpu_launched *l = (kni_gpu_launched *)r->launches.items + r->launches.n - 1;
    l->source = r->sources.n;
    l->n_sources = n;
    l->sources_lack = lack;
    kni_sched_source *copy = n ? append(r, &r->sources, n, sizeof *copy) : NULL;
    if (copy) memcpy(copy, sources, n * sizeof *copy);
}

void kni_gpu_recording_sources(kni_gpu *g, const kni_sched_kernel *k)
{
    give_sources(g, k->sources, k->n_sources, k->sources_lack);
}

void kni_gpu_recording_numbers(kni_gpu *g, const kni_sched_source *sources, uint32_t n)
{
    give_sources(g, sources, n, false);
}

bool kni_gpu_may_overwrite(kni_gpu *g, const kni_storage *x)
{
    kni_gpu_block *b = kni_gpu_block_of(x);
    if (!kni_storage_writable(x)) return false;
    kni_gpu_recording *r = g->recording;
    if (r && b->recording != r) {
        kni_gpu_input *in = NULL;
        for (int32_t i = 0; i < r->n_inputs && !in; i++)
            if (r->inputs[i].block == b) in = &r->inputs[i];
        /* Somebody let go of it in the middle: the next time that may be later. */
        if (!in || !in->writable) return false;
        in->written = true;
    }
    /* What was computed beside the old value does not belong to the new one. */
    if (b->companion) kni_gpu_give(b->companion);
    b->companion = NULL;
    return true;
}

/* ---- ending */

/* Ends the driver's recording and runs it, if need be without all else that is kept. NULL where it could not be: what it
   holds was never run. */
static kni_recording *end_and_run(kni_gpu *g)
{
    kni_driver *d = g->driver;
    g->ending = true;
    kni_recording *work = d->record_end(d);
    kn_status s = work ? KN_OK : kni_latest_code();
    if (work) s = d->replay(d, work);
    if (work && s == KN_ERROR_MEMORY && kni_gpu_make_room(g) == KN_OK) s = d->replay(d, work);
    g->ending = false;
    if (kni_gpu_checked(g, s) && work) {
        d->record_free(d, work);
        work = NULL;
    }
    return work;
}

static void abandon(kni_gpu *g, kni_gpu_recording *r)
{
    r->plan->unfit = true;
    g->recording = NULL;
    give_blocks(g, r);
    destroy(r);
}

kn_status kni_gpu_flush_recording(kni_gpu *g, kni_gpu_why why)
{
    kni_gpu_recording *r = g->recording;
    kni_gpu_plan *plan = r->plan;
    kni_gpu_plan_tell(plan, r->run, why, NULL);
    kni_recording *work = end_and_run(g);
    plan->lost = !work;
    if (work) g->driver->record_free(g->driver, work);
    abandon(g, r);
    return work ? KN_OK : kni_latest_code();
}

void kni_gpu_flush_foreign(kni_gpu *g)
{
    if (g->recording && g->recording->thread != kni_thread_self()->id) {
        kni_gpu_plan *plan = g->recording->plan;
        (void)kni_gpu_flush_recording(g, KNI_GPU_WHY_THREAD);
        plan->unfit = plan->lost; /* a coincidence: it may be tried again, as often as others */
        plan->made++;
    }
}

/* Where the results are: in memory of the recording, or over an input; else why they cannot be found again. */
static kni_gpu_why find_results(kni_gpu *g, kni_gpu_recording *r, const kni_tensor **about)
{
    for (int32_t i = 0; i < r->n_results; i++) {
        const kni_tensor *y = *about = kni_slot(r->run->results[i]);
        kni_gpu_result *result = &r->results[i];
        if (!y->storage || kni_storage_flags(y->storage) & KNI_STORAGE_FAILED) return KNI_GPU_WHY_FAILED;
        kni_gpu_block *b = kni_gpu_block_of(y->storage);
        if (!b || b->error.bits) return KNI_GPU_WHY_FAILED;
        *result = (kni_gpu_result){.input = -1};
        result->cells = (b->epoch == g->epoch ? b->faults : 0) & r->cells;
        /* A view of an input that moves would see the values of the next run. */
        for (int32_t k = 0; k < r->n_inputs; k++)
            if (r->inputs[k].own == b) return KNI_GPU_WHY_RESULT;
        if (b->recording == r) {
            result->block = b;
            result->beside = b->companion && b->companion->recording == r ? b->companion : NULL;
            result->beside_key = b->companion_key;
            if (b->companion && !result->beside) return KNI_GPU_WHY_RESULT;
            for (int32_t k = 0; k < i; k++)
                if (r->results[k].block == b) return KNI_GPU_WHY_SHARED_RESULT;
            continue;
        }
        for (int32_t k = 0; k < r->n_inputs; k++)
            if (r->inputs[k].block == b) result->input = k;
        if (result->input < 0) return KNI_GPU_WHY_RESULT;
    }
    return KNI_GPU_WHY_NOTHING;
}

/* Makes room for it among those that are there, the oldest of which go first. */
static bool has_room(kni_gpu *g, const kni_gpu_recording *r)
{
    while (g->oldest && g->bytes_held + r->bytes > g->record_limit) kni_gpu_recording_free(g->oldest);
    return g->bytes_held + r->bytes <= g->record_limit;
}

static void keep(kni_gpu *g, kni_gpu_recording *r)
{
    g->recording = NULL;
    r->run = NULL;
    memset(r->free_blocks, 0, sizeof r->free_blocks);
    give_deferred(g, r);
    g->cells_reserved |= r->cells;
    g->bytes_held += r->bytes;
    r->plan->made++;
    if (r->bytes > r->plan->largest) r->plan->largest = r->bytes;
    g->recorded++;
    link_recording(g, r);
}

static kn_status end_plan(kni_gpu *g, const kni_plan_run *run)
{
    kni_gpu_plan *plan = *run->cache;
    kni_gpu_recording *r = g->recording;
    if (!r || r->plan != plan) {
        if (!plan || !plan->lost) return KN_OK;
        plan->lost = false;
        return kni_fail(KN_ERROR_INTERNAL, "%s: a part of the queue was recorded and could not be run",
                        g->driver->name);
    }
    r->work = end_and_run(g);
    if (!r->work) {
        kni_gpu_plan_tell(plan, run, KNI_GPU_WHY_DRIVER, NULL);
        abandon(g, r);
        return kni_latest_code();
    }
    const kni_tensor *about = NULL;
    kni_gpu_why why = r->spoiled ? r->why : find_results(g, r, &about);
    if (!why && !has_room(g, r)) why = KNI_GPU_WHY_ROOM;
    if (!why) {
        keep(g, r);
        return KN_OK;
    }
    kni_gpu_plan_tell(plan, run, why, why == KNI_GPU_WHY_ROOM ? NULL : about);
    g->driver->record_free(g->driver, r->work);
    abandon(g, r);
    return KN_OK;
}

kn_status kni_gpu_plan_end(kni_gpu *g, const kni_plan_run *run)
{
    kni_gpu_plan *plan = *run->cache;
    kn_status s = end_plan(g, run);
    if (plan) kni_gpu_moving_end(plan, true);
    return s;
}

/* ---- plans */

/* A plan may be forgotten after its device was closed. */
static void forget_plan(void *cached)
{
    kni_gpu_plan *plan = cached;
    kni_gpu *g = plan->gpu;
    if (g) {
        kni_gpu_lock(g);
        while (plan->recordings) kni_gpu_recording_free(plan->recordings);
        *(plan->previous ? &plan->previous->next : &g->plans) = plan->next;
        if (plan->next) plan->next->previous = plan->previous;
        kni_gpu_unlock(g);
    }
    if (plan->places) kni_free(plan->places, (size_t)(plan->n_places + 1) * sizeof *plan->places);
    kni_free(plan, sizeof *plan);
}

static kni_gpu_plan *plan_of(kni_gpu *g, const kni_plan_run *run)
{
    kni_gpu_plan *plan = *run->cache;
    if (plan) return plan;
    plan = kni_allocate(sizeof *plan);
    if (!plan) return NULL;
    *plan = (kni_gpu_plan){.gpu = g, .next = g->plans};
    if (g->plans) g->plans->previous = plan;
    g->plans = plan;
    *run->cache = plan;
    *run->release = forget_plan;
    return plan;
}

/* As many recordings as sets of addresses come back; a program whose addresses never do stops after a few. Twice as many
   as are kept, so that a value which moves from one recording's memory to the next comes back to where it was; two of large
   ones, which cost memory and whose launches are hidden behind the work. */
static bool worth_recording(const kni_gpu_plan *plan)
{
    int64_t most = plan->largest < REUSES_FROM ? 2 * KNI_GPU_RECORDINGS : 2;
    return !plan->unfit && plan->made < most + plan->replays / 16;
}

kn_status kni_gpu_plan_begin(kni_gpu *g, const kni_plan_run *run)
{
    if (!g->driver->record_begin || run->runs < KNI_GPU_RUNS_BEFORE - 1 || g->recording)
        return KN_ERROR_UNSUPPORTED;
    kni_gpu_plan *plan = plan_of(g, run);
    if (!plan) return KN_ERROR_UNSUPPORTED;
    int32_t moved[KNI_GPU_MOVING], n_moved;
    kni_gpu_moving_note(plan, run, moved, &n_moved);
    if (run->runs < KNI_GPU_RUNS_BEFORE) return KN_ERROR_UNSUPPORTED;
    if (!worth_recording(plan)) {
        if (!plan->unfit) kni_gpu_plan_tell(plan, run, KNI_GPU_WHY_GIVEN_UP, NULL);
        return KN_ERROR_UNSUPPORTED;
    }
    /* What waits for the device cannot be done later. */
    if (__builtin_popcountll(g->cells_waiting | g->cells_reserved) > KNI_GPU_CELLS - 16)
        (void)kni_gpu_settle_faults(g);
    if (kni_gpu_usable(g) || !kni_gpu_ready_cells(g)) return KN_ERROR_UNSUPPORTED;
    if (plan->n_recordings == KNI_GPU_RECORDINGS) {
        kni_gpu_recording *last = plan->recordings;
        while (last->next) last = last->next;
        kni_gpu_recording_free(last);
    }
    kni_gpu_recording *r = new_recording(g, plan, run);
    if (!r) return KN_ERROR_UNSUPPORTED;
    bool good = kni_gpu_moving_begin(g, r, run, moved, n_moved);
    kn_status s = good ? kni_gpu_checked(g, g->driver->record_begin(g->driver)) : KN_ERROR_UNSUPPORTED;
    if (s) {
        kni_gpu_moving_end(plan, false);
        plan->unfit = good;
        kni_gpu_plan_tell(plan, run, KNI_GPU_WHY_DRIVER, NULL);
        destroy(r);
        return s;
    }
    g->recording = r;
    kni_gpu_moving_adopt(g, r);
    return KN_OK;
}

void kni_gpu_recordings_close(kni_gpu *g)
{
    if (g->recording) abandon(g, g->recording);
    kni_gpu_recordings_free(g);
    while (g->plans) {
        kni_gpu_plan *plan = g->plans;
        g->plans = plan->next;
        plan->gpu = NULL;
        plan->previous = plan->next = NULL;
    }
}
