/* Running a plan from a recording: finding one whose memory is where it was, giving its launches the numbers of this run,
   and giving the results their memory. */
#include "backend/gpu/gpu_recording.h"
#include "backend/gpu/group_memo.h"
#include <string.h>

/* ---- whether a recording fits */

static kni_gpu_why misfit_of(const kni_gpu_input *in, const kni_tensor *x)
{
    if (!x->storage || !in->memory)
        return !x->storage && !in->memory ? KNI_GPU_WHY_NOTHING : KNI_GPU_WHY_INPUT;
    if (kni_storage_flags(x->storage) & (KNI_STORAGE_PENDING | KNI_STORAGE_FAILED)) return KNI_GPU_WHY_FAILED;
    const kni_gpu_block *b = kni_gpu_block_of(x->storage);
    if (!b || b->error.bits) return KNI_GPU_WHY_FAILED;
    if (in->own)
        return b->bytes == in->own->bytes && !x->offset && !b->companion ? KNI_GPU_WHY_NOTHING
                                                                         : KNI_GPU_WHY_INPUT;
    if (b->memory != in->memory || x->offset != in->offset) return KNI_GPU_WHY_INPUT;
    const void *beside = b->companion ? b->companion->memory : NULL;
    if (beside != in->beside || (beside && b->companion_key != in->beside_key)) return KNI_GPU_WHY_INPUT;
    return in->written && !kni_storage_writable(x->storage) ? KNI_GPU_WHY_WRITTEN : KNI_GPU_WHY_NOTHING;
}

/* A block in use holds a result of an earlier run that somebody still needs. Small ones can be moved elsewhere, as the losses
   of many steps. */
static bool can_move(const kni_gpu_recording *r)
{
    enum { MOST_BYTES = 1 << 20 };
    int64_t held = 0;
    size_t bytes = 0;
    for (int32_t i = 0; i < r->n_results; i++) {
        const kni_gpu_block *b = r->results[i].block;
        if (!b || !b->live) continue;
        if (b->companion || r->results[i].beside) return false;
        held++;
        bytes += b->bytes;
    }
    return held == r->live && bytes <= MOST_BYTES;
}

/* Why it cannot be replayed now, and which tensor is to blame. */
static kni_gpu_why misfit(const kni_gpu_recording *r, const kni_plan_run *run, const kni_tensor **about)
{
    *about = NULL;
    if (r->n_inputs != run->n_inputs || r->modes != kni_gpu_recording_modes()) return KNI_GPU_WHY_MODES;
    for (int32_t i = 0; i < r->n_inputs; i++) {
        kni_gpu_why why = misfit_of(&r->inputs[i], kni_slot(run->inputs[i]));
        *about = kni_slot(run->inputs[i]);
        if (why) return why;
    }
    *about = NULL;
    return r->live && !can_move(r) ? KNI_GPU_WHY_HELD : KNI_GPU_WHY_NOTHING;
}

/* ---- numbers */

/* Gives the launches of a unit what its schedule says now. False: it would be another kernel, or there is no way. */
static bool give_numbers(kni_gpu_recording *r, const kni_gpu_unit *unit, const kni_sched *sched)
{
    kni_gpu *g = r->gpu;
    if (!unit->n_launches || (uint32_t)sched->n_kernels != unit->n_launches) return false;
    const kni_gpu_launched *launched = (const kni_gpu_launched *)r->launches.items + unit->launch;
    for (int32_t i = 0; i < sched->n_kernels; i++) {
        const kni_sched_kernel *k = &sched->kernels[i];
        unsigned char key[KNI_SCHED_SIGNATURE + 1];
        key[0] = 's';
        memcpy(key + 1, k->signature, k->signature_bytes);
        if (kni_gpu_find(g, key, k->signature_bytes + 1) != launched[i].kernel ||
            memcmp(&k->shape, &launched[i].shape, sizeof k->shape) != 0)
            return false;
    }
    for (int32_t i = 0; i < sched->n_kernels; i++) {
        const kni_sched_kernel *k = &sched->kernels[i];
        memcpy((char *)r->numbers.items + launched[i].params, k->params, launched[i].kernel->param_bytes);
        r->spoiled = g->driver->record_params(g->driver, r->work, unit->launch + (uint32_t)i, k->params,
                                              launched[i].kernel->param_bytes) != KN_OK;
        if (r->spoiled) return false;
    }
    return true;
}

static bool renumber(kni_gpu_recording *r, const kni_gpu_unit *unit, const kni_group *step)
{
    if (!unit->n_launches) return false;
    const kni_sched *sched =
        kni_gpu_schedule(r->gpu, step, unit->record < 0 ? NULL : step->records[unit->record]);
    return sched && give_numbers(r, unit, sched);
}

/* The same where only numbers changed that the params have by themselves. */
static bool change_numbers(kni_gpu_recording *r, const kni_gpu_unit *unit, const kn_record *const *records)
{
    kni_driver *d = r->gpu->driver;
    if (!unit->n_launches) return false;
    const kni_gpu_launched *launched = (const kni_gpu_launched *)r->launches.items + unit->launch;
    for (uint32_t i = 0; i < unit->n_launches; i++)
        if (launched[i].sources_lack) return false;
    for (uint32_t i = 0; i < unit->n_launches; i++) {
        const kni_gpu_launched *l = &launched[i];
        if (!l->n_sources) continue;
        const kni_sched_source *sources = (const kni_sched_source *)r->sources.items + l->source;
        unsigned char *params = (unsigned char *)r->numbers.items + l->params;
        /* Once one was changed there is no way back. */
        if (!kni_sched_renumber(sources, l->n_sources, records, params)) {
            r->spoiled = i > 0;
            return false;
        }
        r->spoiled = d->record_params(d, r->work, unit->launch + i, params, l->kernel->param_bytes) != KN_OK;
        if (r->spoiled) return false;
    }
    return true;
}

static bool bind_numbers(kni_gpu_recording *r, const kni_plan_run *run)
{
    const kni_gpu_unit *units = r->units.items;
    for (uint32_t i = 0; i < r->units.n; i++) {
        const kni_gpu_unit *unit = &units[i];
        const kni_group *step = run->steps[unit->step];
        const kn_record *const *records = step->records + (unit->record < 0 ? 0 : unit->record);
        int32_t n = unit->record < 0 ? step->n_records : 1;
        unsigned char *numbers = (unsigned char *)r->numbers.items + unit->at;
        bool tracked;
        if (kni_gpu_numbers_same(records, n, numbers, &tracked)) continue;
        if (!(tracked && change_numbers(r, unit, records)) && (r->spoiled || !renumber(r, unit, step)))
            return false;
        kni_gpu_numbers_copy(records, n, numbers);
    }
    return true;
}

/* ---- results */

/* The value of a block in use moves to other memory, and a block with the old one takes its place in the recording. */
static bool move_away(kni_gpu *g, kni_gpu_recording *r, kni_gpu_result *result)
{
    kni_gpu_block *held = result->block, *other = kni_gpu_take_another(held);
    if (!other) return false;
    void *old = held->memory;
    if (kni_gpu_checked(g, g->driver->copy(g->driver, other->memory, 0, old, 0, held->bytes))) {
        kni_gpu_give(other);
        return false;
    }
    held->memory = other->memory;
    other->memory = old;
    kni_gpu_block **at = &r->blocks;
    while (*at != held) at = &(*at)->sibling;
    *at = other;
    other->sibling = held->sibling;
    other->recording = r;
    held->sibling = NULL;
    held->recording = NULL;
    result->block = other;
    kni_gpu_give(other); /* it is counted in the other's place */
    return true;
}

static bool move_all(kni_gpu *g, kni_gpu_recording *r)
{
    for (int32_t i = 0; i < r->n_results && r->live; i++)
        if (r->results[i].block && r->results[i].block->live && !move_away(g, r, &r->results[i]))
            return false;
    return true;
}

static void take_back(const kni_plan_run *run, int32_t n)
{
    for (int32_t i = 0; i < n; i++) kni_storage_release(kni_slot(run->results[i])->storage);
}

/* Memory for the results; false without memory for the names of it. */
static bool give_results(const kni_gpu_recording *r, const kni_plan_run *run)
{
    for (int32_t i = 0; i < r->n_results; i++) {
        const kni_gpu_result *result = &r->results[i];
        kni_tensor *y = kni_slot(run->results[i]);
        kni_storage *storage;
        if (!result->block) {
            storage = kni_storage_retain(kni_slot(run->inputs[result->input])->storage);
        } else {
            kni_gpu_revive(result->block);
            if (result->beside) {
                kni_gpu_revive(result->beside);
                result->block->companion = result->beside;
                result->block->companion_key = result->beside_key;
            }
            storage = kni_gpu_storage(result->block, y);
            if (!storage) kni_gpu_give(result->block);
        }
        if (!storage) {
            take_back(run, i);
            return false;
        }
        y->storage = storage;
        y->offset = 0;
        kni_contiguous_strides(y->type.rank, y->type.dims, y->strides);
    }
    return true;
}

/* What was written over has no companion any more; results depend on the recording's cells and on what their inputs
   depend on. */
static void settle_results(kni_gpu *g, kni_gpu_recording *r, const kni_plan_run *run)
{
    uint64_t any = 0, some;
    int32_t words = (run->n_inputs + 63) / 64;
    for (int32_t i = 0; i < r->n_inputs; i++) {
        const kni_tensor *x = kni_slot(run->inputs[i]);
        if (kni_gpu_faults_of(g, x, &some) == KN_OK) any |= some;
        kni_gpu_block *b = r->inputs[i].written ? kni_gpu_block_of(x->storage) : NULL;
        if (!b || !b->companion) continue;
        kni_gpu_give(b->companion);
        b->companion = NULL;
    }
    for (int32_t i = 0; i < r->n_results; i++) {
        uint64_t faults = r->results[i].cells;
        const uint64_t *row = run->depends ? run->depends + (size_t)i * (size_t)words : NULL;
        for (int32_t k = 0; k < r->n_inputs && any & ~faults; k++)
            if ((!row || row[k / 64] >> (k & 63) & 1) &&
                kni_gpu_faults_of(g, kni_slot(run->inputs[k]), &some) == KN_OK)
                faults |= some;
        r->results[i].faults = faults;
    }
    /* Only now: a result may be where an input was. */
    for (int32_t i = 0; i < r->n_results; i++)
        kni_gpu_note_faults(g, kni_slot(run->results[i]), r->results[i].faults);
}

static void blame_cells(kni_gpu *g, const kni_gpu_recording *r, const kni_plan_run *run)
{
    const kni_gpu_cell_use *uses = r->cell_uses.items;
    for (uint32_t i = 0; i < r->cell_uses.n; i++)
        kni_gpu_blame(g, uses[i].cell, run->steps[uses[i].step]->records[uses[i].record]->sequence);
}

kn_status kni_gpu_plan_replay(kni_gpu *g, const kni_plan_run *run)
{
    kni_gpu_plan *plan = *run->cache;
    if (!plan || g->recording || g->lost) return KN_ERROR_UNSUPPORTED;
    kni_gpu_recording *r = plan->recordings;
    kni_gpu_why why = KNI_GPU_WHY_NOTHING, one;
    const kni_tensor *about = NULL, *another;
    while (r) {
        one = misfit(r, run, &another);
        if (!one && bind_numbers(r, run)) break;
        if (!why) {
            why = one ? one : KNI_GPU_WHY_NUMBERS;
            about = another;
        }
        kni_gpu_recording *next = r->next;
        if (r->spoiled) kni_gpu_recording_free(r);
        r = next;
    }
    if (!r && why) kni_gpu_plan_tell(plan, run, why, about);
    if (!r || (r->live && !move_all(g, r)) || !kni_gpu_moving_bring(g, r, run) || !give_results(r, run))
        return KN_ERROR_UNSUPPORTED;
    if (kni_gpu_checked(g, g->driver->replay(g->driver, r->work))) {
        take_back(run, r->n_results);
        kni_gpu_recording_free(r);
        return KN_ERROR_UNSUPPORTED;
    }
    settle_results(g, r, run);
    blame_cells(g, r, run);
    kni_gpu_recording_touch(r);
    plan->replays++;
    g->replays++;
    return KN_OK;
}
