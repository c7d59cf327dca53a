/* The rows recurrent_layers and recurrent_layers_grad by the driver's library, where it has such layers; else they are lowered. What
   the library keeps for the gradient lies beside the result y. */
#include "backend/gpu/gpu_conv.h"
#include "core/reproducible.h"
#include "ops/recurrent_layers.h"
#include <string.h>

_Static_assert((int)KNI_RECURRENCE_RNN == (int)KNI_RECURRENT_RNN &&
                   (int)KNI_RECURRENCE_GRU == (int)KNI_RECURRENT_GRU &&
                   (int)KNI_RECURRENCE_LSTM == (int)KNI_RECURRENT_LSTM,
               "the row's cells are the driver's");

/* An operand in order in memory of the driver; what is not is copied. */
typedef struct operands {
    kni_recurrence p;
    kni_gpu_block *made[KNI_LAYERS_GRAD_IN];
    kni_gpu_block *again[4]; /* what the forward pass makes once more: y, h, c and the reserve */
} operands;

static kni_recurrence describe(const kni_gpu *g, const kn_record *r)
{
    const kni_layers_attributes *a = r->attributes;
    const kni_type *x = &kni_in(r, KNI_LAYERS_X)->type;
    return (kni_recurrence){.dtype = x->dtype,
                            .cell = (int)a->cell,
                            .layers = (int)a->layers,
                            .directions = (int)a->directions,
                            .biased = a->biased != 0,
                            .tf32 = g->tf32,
                            .steps = x->dims[0],
                            .batch = x->dims[1],
                            .ins = x->dims[2],
                            .hidden = a->hidden};
}

/* A library adds in any order. */
static bool suits(const kni_gpu *g) { return g->driver->recurrence && !kni_reproducible(); }

bool kni_gpu_has_layers(kni_gpu *g, kn_dtype dtype)
{
    enum { FEW = 64 };
    if (!suits(g) || (dtype != KN_F32 && !kni_is_half(dtype))) return false;
    const kni_recurrence p = {.dtype = dtype,
                              .cell = KNI_RECURRENCE_LSTM,
                              .layers = 1,
                              .directions = 1,
                              .biased = true,
                              .tf32 = g->tf32,
                              .steps = 2,
                              .batch = FEW,
                              .ins = FEW,
                              .hidden = FEW};
    kni_gpu_lock(g);
    const bool has = !g->lost && g->driver->recurrence_reserve(g->driver, &p) >= 0;
    kni_gpu_unlock(g);
    return has;
}

static kni_place first_of(const kni_tensor *y)
{
    return (kni_place){kni_gpu_block_of(y->storage)->memory, y->offset};
}

static kn_status give(kni_gpu *g, const kn_record *r, operands *o, int i, kni_place *at)
{
    kni_tensor *x = i < r->n_in ? kni_in(r, i) : NULL;
    kni_gpu_block *block = NULL;
    if (!x) return KN_OK;
    if (x->storage && !kni_gpu_contiguous(x)) {
        kn_status s = kni_gpu_gather(g, x, &o->made[i]);
        if (s == KN_OK) *at = (kni_place){o->made[i]->memory, 0};
        return s;
    }
    kn_status s = kni_gpu_operand(g, x, &block, &o->made[i]);
    if (s == KN_OK) *at = (kni_place){block->memory, x->storage ? x->offset : 0};
    return s;
}

/* h: the number of that operand; that of c follows it. */
static kn_status give_first(kni_gpu *g, const kn_record *r, int h, operands *o)
{
    kn_status s = give(g, r, o, KNI_LAYERS_X, &o->p.x);
    if (s == KN_OK) s = give(g, r, o, KNI_LAYERS_WEIGHTS, &o->p.weights);
    if (s == KN_OK) s = give(g, r, o, h, &o->p.h);
    if (s == KN_OK) s = give(g, r, o, h + 1, &o->p.c);
    return s;
}

static void end(operands *o)
{
    for (int i = 0; i < KNI_LAYERS_GRAD_IN; i++)
        if (o->made[i]) kni_gpu_give(o->made[i]);
    for (int i = 0; i < KNI_COUNT(o->again); i++)
        if (o->again[i]) kni_gpu_give(o->again[i]);
}

/* Results that nothing was written to go back: another way is tried. */
static void forget(const kn_record *r)
{
    for (int i = 0; i < r->n_out; i++) {
        kni_tensor *y = kni_out(r, i);
        if (y->storage) kni_storage_release(y->storage);
        y->storage = NULL;
    }
}

/* What was kept belongs to this result of layers like these. The other operands of the gradient are those that it was made of, wherever
   they lie by then. */
static uint64_t key_of(const kni_recurrence *p)
{
    const int64_t facts[] = {(int64_t)(uintptr_t)p->y.memory,
                             p->y.offset,
                             p->dtype,
                             p->cell,
                             p->layers,
                             p->directions,
                             p->biased,
                             p->steps,
                             p->batch,
                             p->ins,
                             p->hidden,
                             p->h.memory != NULL,
                             p->c.memory != NULL};
    return kni_gpu_hash(facts, sizeof facts);
}

static kn_status call(kni_gpu *g, const kni_recurrence *p)
{
    kn_status s = kni_gpu_checked(g, g->driver->recurrence(g->driver, p));
    if (s == KN_OK) g->launches++;
    return s;
}

/* ---- forward */

static kn_status forward(kni_gpu *g, const kn_record *r, operands *o, int64_t reserve)
{
    const bool keeps = ((const kni_layers_attributes *)r->attributes)->keeps && reserve > 0;
    kni_gpu_block *kept = keeps ? kni_gpu_take(g, (size_t)reserve) : NULL;
    if (keeps && !kept) return kni_latest_code();
    kni_tensor *y = kni_out(r, 0);
    o->p.y = first_of(y);
    o->p.last_h = first_of(kni_out(r, 1));
    if (o->p.cell == KNI_RECURRENCE_LSTM) o->p.last_c = first_of(kni_out(r, 2));
    o->p.training = keeps;
    if (keeps) o->p.reserve = (kni_place){kept->memory, 0};
    kn_status s = call(g, &o->p);
    if (s == KN_OK && kept) {
        kni_gpu_block *block = kni_gpu_block_of(y->storage);
        block->companion = kept;
        block->companion_key = key_of(&o->p);
    } else if (kept) {
        kni_gpu_give(kept);
    }
    return s;
}

kn_status kni_gpu_run_layers(kni_gpu *g, const kn_record *r)
{
    if (!suits(g)) return KN_ERROR_UNSUPPORTED;
    operands o = {.p = describe(g, r)};
    const int64_t reserve = g->driver->recurrence_reserve(g->driver, &o.p);
    if (reserve < 0) return KN_ERROR_UNSUPPORTED;
    kn_status s = give_first(g, r, KNI_LAYERS_H, &o);
    for (int i = 0; i < 3 && s == KN_OK; i++) s = kni_gpu_allocate(g, kni_out(r, i));
    if (s == KN_OK) s = forward(g, r, &o, reserve);
    if (s == KN_ERROR_UNSUPPORTED) forget(r);
    if (s == KN_OK) kni_gpu_finish(g, r, -1);
    end(&o);
    return s;
}

/* ---- gradient */

/* The forward pass once more, where what it kept is not at hand. */
static kn_status repeat(kni_gpu *g, operands *o, int64_t reserve)
{
    const kni_recurrence *p = &o->p;
    const size_t each = kni_bytes_of(p->dtype);
    const size_t state = (size_t)(p->layers * p->directions * p->batch * p->hidden) * each;
    const size_t sizes[] = {(size_t)(p->steps * p->batch * p->directions * p->hidden) * each, state, state,
                            (size_t)(reserve > 0 ? reserve : 1)};
    for (int i = 0; i < KNI_COUNT(sizes); i++)
        if (!(o->again[i] = kni_gpu_take(g, sizes[i]))) return kni_latest_code();
    kni_recurrence again = *p;
    again.training = true;
    again.gradient = false;
    again.y = (kni_place){o->again[0]->memory, 0};
    again.last_h = (kni_place){o->again[1]->memory, 0};
    if (p->cell == KNI_RECURRENCE_LSTM) again.last_c = (kni_place){o->again[2]->memory, 0};
    again.reserve = (kni_place){o->again[3]->memory, 0};
    again.dy = again.dlast_h = again.dlast_c = again.dx = again.dweights = again.dh = again.dc =
        (kni_place){NULL, 0};
    o->p.y = again.y;
    o->p.reserve = again.reserve;
    return call(g, &again);
}

static kn_status recall(kni_gpu *g, const kn_record *r, operands *o, int64_t reserve)
{
    const kni_tensor *y = kni_in(r, KNI_LAYERS_GRAD_Y);
    if (y && y->storage && kni_gpu_contiguous(y)) {
        const kni_gpu_block *block = kni_gpu_block_of(y->storage);
        o->p.y = first_of(y);
        if (block->companion && block->companion_key == key_of(&o->p)) {
            o->p.reserve = (kni_place){block->companion->memory, 0};
            return KN_OK;
        }
    }
    return repeat(g, o, reserve);
}

static kn_status backward(kni_gpu *g, const kn_record *r, operands *o, int64_t reserve)
{
    kn_status s = recall(g, r, o, reserve);
    if (s != KN_OK) return s;
    o->p.dx = first_of(kni_out(r, 0));
    o->p.dweights = first_of(kni_out(r, 1));
    o->p.dh = first_of(kni_out(r, 2));
    if (o->p.cell == KNI_RECURRENCE_LSTM) o->p.dc = first_of(kni_out(r, 3));
    return call(g, &o->p);
}

kn_status kni_gpu_run_layers_grad(kni_gpu *g, const kn_record *r)
{
    if (!suits(g)) return KN_ERROR_UNSUPPORTED;
    operands o = {.p = describe(g, r)};
    o.p.gradient = true;
    const int64_t reserve = g->driver->recurrence_reserve(g->driver, &o.p);
    if (reserve < 0) return KN_ERROR_UNSUPPORTED;
    kn_status s = give_first(g, r, KNI_LAYERS_GRAD_H, &o);
    if (s == KN_OK) s = give(g, r, &o, KNI_LAYERS_GRAD_DY, &o.p.dy);
    if (s == KN_OK) s = give(g, r, &o, KNI_LAYERS_GRAD_DH, &o.p.dlast_h);
    if (s == KN_OK) s = give(g, r, &o, KNI_LAYERS_GRAD_DC, &o.p.dlast_c);
    for (int i = 0; i < 4 && s == KN_OK; i++) s = kni_gpu_allocate(g, kni_out(r, i));
    if (s == KN_OK) s = backward(g, r, &o, reserve);
    if (s == KN_ERROR_UNSUPPORTED) forget(r);
    if (s == KN_OK) kni_gpu_finish(g, r, -1);
    end(&o);
    return s;
}
