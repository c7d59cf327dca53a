/* The rows attention and attention_grad by the driver's fused kernels, where it has them: no mask, bias or softcap. */
#include "backend/gpu/product.h"
#include "core/reproducible.h"
#include "ops/attention.h"
#include <string.h>

enum { Q, K, V, DY, INPUTS, OUT_INPUT = 6 /* of attention_grad: the result of the forward pass */ };

typedef struct operands {
    kni_gpu_block *made[INPUTS]; /* copies, given back at the end */
    kni_attention p;
} operands;

/* Whether mask and bias, behind the given input, are absent and nothing else is asked for. */
static bool plain(const kn_record *r, int mask)
{
    const kni_attention_attributes *a = r->attributes;
    for (int i = mask; i < r->n_in && i < mask + 2; i++)
        if (kni_in(r, i)) return false;
    for (int i = 0; i < mask; i++)
        if (kni_in(r, i)->type.dtype != kni_in(r, 0)->type.dtype) return false;
    int dtype = kni_in(r, 0)->type.dtype;
    return kni_is_half(dtype) && a->softcap == 0 && !a->wants_bias;
}

/* Results that nothing was written to go back to where they came from: another way is tried. */
static void forget(const kn_record *r)
{
    for (int i = 0; i < r->n_out; i++) {
        kni_tensor *y = kni_out(r, i);
        if (y->storage) kni_storage_release(y->storage);
        y->storage = NULL;
    }
}

/* The place of an operand and its steps; an operand whose last axis is not dense is copied. */
static kn_status place(kni_gpu *g, kni_tensor *x, kni_gpu_block **made, kni_place *at, int64_t steps[3])
{
    const int64_t *dims = x->type.dims;
    bool dense = x->storage && (x->strides[3] == 1 || dims[3] == 1);
    kni_gpu_block *block = NULL;
    kn_status s = dense ? kni_gpu_operand(g, x, &block, made) : kni_gpu_gather(g, x, made);
    if (s) return s;
    for (int i = 0; i < 3; i++) steps[i] = x->strides[i];
    if (!dense) {
        block = *made;
        steps[2] = dims[3];
        steps[1] = steps[2] * dims[2];
        steps[0] = steps[1] * dims[1];
    }
    *at = (kni_place){block->memory, dense ? x->offset : 0};
    return KN_OK;
}

static kn_status prepare(kni_gpu *g, const kn_record *r, operands *o)
{
    kni_attention_sizes z = kni_attention_sizes_of(r);
    memset(o, 0, sizeof *o);
    o->p = (kni_attention){.dtype = kni_in(r, Q)->type.dtype,
                           .batch = z.batch,
                           .heads = z.heads,
                           .key_heads = z.key_heads,
                           .queries = z.queries,
                           .keys = z.keys,
                           .size = z.size,
                           .value_size = z.value_size,
                           .scale = z.scale,
                           .causal = z.causal};
    for (int i = Q; i <= V; i++)
        if (kni_count(&kni_in(r, i)->type) == 0) return KN_ERROR_UNSUPPORTED;
    kn_status s = place(g, kni_in(r, Q), &o->made[Q], &o->p.q, o->p.q_steps);
    if (!s) s = place(g, kni_in(r, K), &o->made[K], &o->p.k, o->p.k_steps);
    return s ? s : place(g, kni_in(r, V), &o->made[V], &o->p.v, o->p.v_steps);
}

static void give_all(kni_gpu_block *const *made, int count)
{
    for (int i = 0; i < count; i++)
        if (made[i]) kni_gpu_give(made[i]);
}

static kni_place first_of(const kni_tensor *y)
{
    return (kni_place){kni_gpu_block_of(y->storage)->memory, y->offset};
}

/* The logarithms of the forward pass belong to these operands, and no others. */
static uint64_t key_of(const kni_attention *p)
{
    const int64_t facts[] = {(int64_t)(uintptr_t)p->q.memory,
                             p->q.offset,
                             (int64_t)(uintptr_t)p->k.memory,
                             p->k.offset,
                             (int64_t)(uintptr_t)p->v.memory,
                             p->v.offset,
                             (int64_t)(uintptr_t)p->out.memory,
                             p->out.offset,
                             p->batch,
                             p->heads,
                             p->queries,
                             p->keys,
                             p->causal};
    const unsigned char *bytes = (const unsigned char *)facts;
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < sizeof facts; i++) hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

static size_t rows_of(const kni_attention *p) { return (size_t)(p->batch * p->heads * p->queries); }

kn_status kni_gpu_run_attention(kni_gpu *g, const kn_record *r)
{
    operands o;
    kni_tensor *y = kni_out(r, 0);
    if (!g->driver->attention || !plain(r, 3)) return KN_ERROR_UNSUPPORTED;
    kn_status s = prepare(g, r, &o);
    if (!s) s = kni_gpu_allocate(g, y);
    bool wants = g->driver->attention_grad != NULL;
    kni_gpu_block *lse = s || !wants ? NULL : kni_gpu_take(g, rows_of(&o.p) * sizeof(float));
    if (!s && wants && !lse) s = kni_latest_code();
    if (!s) {
        o.p.out = first_of(y);
        if (lse) o.p.lse.memory = lse->memory;
        g->launches++;
        s = kni_gpu_checked(g, g->driver->attention(g->driver, &o.p));
    }
    if (!s && lse) {
        kni_gpu_block_of(y->storage)->companion = lse;
        kni_gpu_block_of(y->storage)->companion_key = key_of(&o.p);
    } else if (lse) {
        kni_gpu_give(lse);
    }
    if (s == KN_ERROR_UNSUPPORTED) forget(r);
    if (!s) kni_gpu_finish(g, r, -1);
    give_all(o.made, INPUTS);
    return s;
}

/* What the forward pass left beside its result, or both once more: where the result is not at hand, or was computed in
   another way. */
static kn_status recall(kni_gpu *g, const kn_record *r, operands *o, kni_gpu_block *again[2])
{
    kni_tensor *out = r->n_in > OUT_INPUT ? kni_in(r, OUT_INPUT) : NULL;
    if (out && out->storage && kni_gpu_contiguous(out)) {
        kni_gpu_block *block = kni_gpu_block_of(out->storage);
        o->p.out = first_of(out);
        if (block->companion && block->companion_key == key_of(&o->p)) {
            o->p.lse.memory = block->companion->memory;
            return KN_OK;
        }
    }
    again[0] =
        kni_gpu_take(g, rows_of(&o->p) * (size_t)o->p.value_size * kni_gpu_element_bytes(kni_in(r, Q)));
    again[1] = again[0] ? kni_gpu_take(g, rows_of(&o->p) * sizeof(float)) : NULL;
    if (!again[1]) return kni_latest_code();
    o->p.out = (kni_place){again[0]->memory, 0};
    o->p.lse = (kni_place){again[1]->memory, 0};
    g->launches++;
    return kni_gpu_checked(g, g->driver->attention(g->driver, &o->p));
}

kn_status kni_gpu_run_attention_grad(kni_gpu *g, const kn_record *r)
{
    operands o;
    kni_gpu_block *again[2] = {NULL, NULL};
    if (!g->driver->attention || !g->driver->attention_grad || !plain(r, 4)) return KN_ERROR_UNSUPPORTED;
    /* Fused kernels add up dq in no fixed order; the lowering has one. */
    if (kni_reproducible()) return KN_ERROR_UNSUPPORTED;
    kn_status s = prepare(g, r, &o);
    if (!s) s = place(g, kni_in(r, DY), &o.made[DY], &o.p.dy, o.p.dy_steps);
    if (!s) s = recall(g, r, &o, again);
    for (int i = 0; i < 4 && !s; i++) s = kni_gpu_allocate(g, kni_out(r, i));
    if (!s) {
        o.p.dq = first_of(kni_out(r, 0));
        o.p.dk = first_of(kni_out(r, 1));
        o.p.dv = first_of(kni_out(r, 2));
        g->launches++;
        s = kni_gpu_checked(g, g->driver->attention_grad(g->driver, &o.p));
    }
    if (s == KN_ERROR_UNSUPPORTED) forget(r);
    if (!s) kni_gpu_finish(g, r, -1);
    give_all(again, 2);
    give_all(o.made, INPUTS);
    return s;
}
