/* Inputs that lie somewhere else in each run, as a token that one run makes for the next: a recording reads small ones from memory of its
   own, into which they are copied before each replay. */
#include "backend/gpu/gpu_recording.h"

enum { MOST_BYTES = 1 << 20, MOST_INPUTS = KNI_GPU_MOVING };

/* Whether another input sees the same memory. */
static bool seen_twice(const kni_plan_run *run, int32_t input)
{
    const kni_storage *memory = kni_slot(run->inputs[input])->storage;
    for (int32_t i = 0; i < run->n_inputs; i++)
        if (i != input && kni_slot(run->inputs[i])->storage == memory) return true;
    return false;
}

static const kni_gpu_block *block_of(const kni_tensor *x)
{
    bool there = x->storage && !(kni_storage_flags(x->storage) & (KNI_STORAGE_PENDING | KNI_STORAGE_FAILED));
    return there ? kni_gpu_block_of(x->storage) : NULL;
}

/* What a recording makes, and what comes from the host, has a place of its own to come back to. */
static bool is_elsewhere(const kni_gpu_block *b, const kni_gpu_spot *before)
{
    return b->memory != before->memory || (b->born != before->born && !b->uploaded && !b->recording);
}

void kni_gpu_moving_note(kni_gpu_plan *plan, const kni_plan_run *run, int32_t *moved, int32_t *n)
{
    bool known = plan->places && plan->n_places == run->n_inputs;
    *n = 0;
    if (!plan->places) {
        plan->places = kni_allocate((size_t)(run->n_inputs + 1) * sizeof *plan->places);
        plan->n_places = run->n_inputs;
    }
    for (int32_t i = 0; i < run->n_inputs && plan->places && plan->n_places == run->n_inputs; i++) {
        const kni_tensor *x = kni_slot(run->inputs[i]);
        const kni_gpu_block *b = block_of(x);
        bool elsewhere = known && b && is_elsewhere(b, &plan->places[i]);
        plan->places[i] = b ? (kni_gpu_spot){b->memory, b->born} : (kni_gpu_spot){NULL, 0};
        if (!elsewhere || *n == MOST_INPUTS) continue;
        if (b->bytes <= MOST_BYTES && !b->companion && !x->offset && kni_gpu_contiguous(x) &&
            !seen_twice(run, i))
            moved[(*n)++] = i;
    }
}

bool kni_gpu_moving_begin(kni_gpu *g, kni_gpu_recording *r, const kni_plan_run *run, const int32_t *moved,
                          int32_t n)
{
    kni_gpu_plan *plan = r->plan;
    for (int32_t i = 0; i < n; i++) {
        kni_tensor *x = kni_slot(run->inputs[moved[i]]);
        kni_gpu_block *from = kni_gpu_block_of(x->storage), *own = kni_gpu_take_another(from);
        kni_storage *storage = own ? kni_gpu_storage(own, x) : NULL;
        if (!storage) {
            if (own) kni_gpu_give(own);
            return false;
        }
        own->faults = from->faults;
        own->epoch = from->epoch;
        /* Held twice, so that nothing is written over it. */
        plan->moving[plan->n_moving].storage = kni_storage_retain(storage);
        plan->moving[plan->n_moving].before = x->storage;
        plan->moving[plan->n_moving++].id = run->inputs[moved[i]];
        x->storage = storage;
        if (kni_gpu_checked(g, g->driver->copy(g->driver, own->memory, 0, from->memory, 0, from->bytes)))
            return false;
        kni_gpu_input *in = &r->inputs[moved[i]];
        in->own = in->block = own;
        in->memory = own->memory;
        in->writable = false;
    }
    return true;
}

void kni_gpu_moving_adopt(kni_gpu *g, kni_gpu_recording *r)
{
    for (int32_t i = 0; i < r->n_inputs; i++)
        if (r->inputs[i].own) kni_gpu_recording_adopt(g, r->inputs[i].own);
}

void kni_gpu_moving_end(kni_gpu_plan *plan, bool begun)
{
    while (plan->n_moving) {
        kni_storage *storage = plan->moving[--plan->n_moving].storage;
        kni_tensor *x = kni_slot(plan->moving[plan->n_moving].id);
        /* Where the plan has run the queue needs the operand no more, and what it was may be gone. */
        if (x->storage == storage) x->storage = begun ? NULL : plan->moving[plan->n_moving].before;
        kni_storage_release(storage);
        kni_storage_release(storage);
    }
}

bool kni_gpu_moving_bring(kni_gpu *g, const kni_gpu_recording *r, const kni_plan_run *run)
{
    for (int32_t i = 0; i < r->n_inputs; i++) {
        const kni_gpu_block *own = r->inputs[i].own;
        if (!own) continue;
        const kni_gpu_block *from = kni_gpu_block_of(kni_slot(run->inputs[i])->storage);
        if (kni_gpu_checked(g, g->driver->copy(g->driver, own->memory, 0, from->memory, 0, own->bytes)))
            return false;
    }
    return true;
}
