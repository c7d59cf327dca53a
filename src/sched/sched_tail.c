/* Tails: an elementwise group laid over the elements of another kernel, one at a time. */
#include "sched/sched_tail.h"
#include "core/allocator.h"
#include "core/error.h"
#include "sched/schedules.h"

/* A product makes several elements in one invocation, and its text has the tail once for each. */
enum { MOST_NODES = 48 };

struct kni_tail {
    kni_work work;
    kni_emit emit;
    bool started;
};

static bool take_apart(kni_work *w, const kni_group *group, uint32_t given, uint32_t lanes,
                       const kni_sched_target *target)
{
    if (!kni_work_start(w, group, target)) return false;
    w->given = given;
    if (!kni_work_take_apart(w) || w->reduces || !w->n_outputs || w->n_nodes > MOST_NODES) return false;
    for (int i = 0; i < w->n_outputs; i++)
        if (w->outputs[i].count != w->rows) return false;
    if (kni_count(kni_work_type(given)) != w->rows) return false;
    w->lane_axis = w->chunk_axis = KNI_WORK_R;
    w->chunks = w->teams = w->parts = 1;
    w->threads = 0;
    w->lanes = kni_work_choose_lanes(w, KNI_WORK_R, lanes);
    kni_work_set_modes(w);
    return true;
}

kn_status kni_sched_tail(const kni_group *group, uint32_t given, uint32_t lanes,
                         const kni_sched_target *target, kni_sched *sched)
{
    kni_work *w = kni_allocate(sizeof *w);
    if (!w) return kni_fail(KN_ERROR_MEMORY, "no memory to lay out a kernel");
    sched->n_kernels = sched->n_temps = 0;
    bool good = take_apart(w, group, given, lanes, target) &&
                kni_sched_add_kernel(sched, w, KNI_SCHED_TAIL, w->rows) != NULL;
    kni_free(w, sizeof *w);
    return good ? KN_OK : KN_ERROR_UNSUPPORTED;
}

kni_tail *kni_tail_begin(const kni_group *group, uint32_t given, uint32_t lanes,
                         const kni_sched_target *target, kni_ir_builder *b)
{
    kni_tail *t = kni_allocate(sizeof *t);
    if (!t) {
        kni_fail(KN_ERROR_MEMORY, "no memory to build a kernel");
        return NULL;
    }
    t->started = take_apart(&t->work, group, given, lanes, target);
    if (!t->started) {
        kni_fail(KN_ERROR_INTERNAL, "the end of a kernel is to be built for a group that has none");
    } else if (!kni_emit_start(&t->emit, b, &t->work)) {
        kni_fail(KN_ERROR_MEMORY, "no memory to build a kernel");
    } else {
        kni_emit_buffers(&t->emit);
        return t;
    }
    kni_tail_end(t);
    return NULL;
}

void kni_tail_numbers(kni_tail *t)
{
    kni_emit_numbers(&t->emit);
    kni_emit_hoist(&t->emit, KNI_WORK_R, UINT8_MAX);
}

uint32_t kni_tail_lanes(const kni_tail *t) { return t->work.lanes; }

void kni_tail_elements(kni_tail *t, kni_ir_id place, const kni_ir_id *values, kni_ir_id inside)
{
    kni_emit *e = &t->emit;
    const kni_work *w = &t->work;
    kni_emit_mark mark = kni_emit_mark_here(e);
    e->r[0] = kni_ir_cast(e->b, place, w->index);
    e->valid[0] = inside;
    for (uint16_t n = 1; n < w->n_nodes; n++)
        for (uint32_t i = 0; i < w->lanes && w->nodes[n].kind == KNI_WORK_GIVEN; i++)
            kni_emit_set(e, n, i, values[i]);
    for (int i = 0; i < w->n_outputs; i++) kni_emit_store(e, &w->outputs[i], inside);
    kni_emit_release(e, mark);
}

void kni_tail_end(kni_tail *t)
{
    if (t->started) kni_emit_end(&t->emit);
    kni_free(t, sizeof *t);
}
