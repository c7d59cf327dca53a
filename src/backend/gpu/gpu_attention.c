/* The rows attention and attention_grad: by the driver's fused kernels where it has them and nothing but causality is asked for,
   else by tiled kernels of ours, else lowered. KN_FUSION_LOG says once for each kind of attention which way it goes and why. */
#include "backend/gpu/attention_device.h"
#include "core/platform.h"
#include "core/reproducible.h"
#include <string.h>

enum { Q = KNI_ATTENTION_Q, K = KNI_ATTENTION_K, V = KNI_ATTENTION_V, DY = KNI_ATTENTION_DY };

uint8_t kni_gpu_attention_way(const char *text)
{
    static const char *const names[] = {"", "lowered", "tiled", "library", "own"};
    for (int i = 0; text && i < KNI_COUNT(names); i++)
        if (!strcmp(text, names[i])) return (uint8_t)i;
    if (text)
        kni_log(KN_LOG_WARNING, "KN_ATTENTION=%s says nothing: write lowered, tiled, library or own", text);
    return KNI_ATTENTION_BY_ANY;
}

/* ---- what is asked for */

static kni_tensor *input(const kn_record *r, int i) { return i < r->n_in ? kni_in(r, i) : NULL; }
static kni_tensor *mask_of(const kni_gpu_attention *a) { return input(a->record, a->gradient ? 4 : 3); }
static kni_tensor *bias_of(const kni_gpu_attention *a) { return input(a->record, a->gradient ? 5 : 4); }

static void describe(const kn_record *r, bool gradient, kni_gpu_attention *a)
{
    const kni_attention_attributes *given = r->attributes;
    const kni_attention_sizes z = kni_attention_sizes_of(r);
    memset(a, 0, sizeof *a);
    a->record = r;
    a->gradient = gradient;
    a->masked = mask_of(a) != NULL;
    a->biased = bias_of(a) != NULL;
    a->wants_bias = gradient && given->wants_bias;
    a->attributes = given;
    a->p = (kni_attention){.dtype = kni_in(r, Q)->type.dtype,
                           .batch = z.batch,
                           .heads = z.heads,
                           .key_heads = z.key_heads,
                           .queries = z.queries,
                           .keys = z.keys,
                           .size = z.size,
                           .value_size = z.value_size,
                           .scale = z.scale,
                           .causal = z.causal};
}

static bool is_empty(const kni_gpu_attention *a)
{
    for (int i = Q; i <= V; i++)
        if (kni_count(&kni_in(a->record, i)->type) == 0) return true;
    return false;
}

/* NULL where the driver's kernels may take it, else why not. */
static const char *unfit_for_library(const kni_gpu *g, const kni_gpu_attention *a)
{
    const kni_driver *d = g->driver;
    if (!d->attention || (a->gradient && !d->attention_grad)) return "the device has no library for it";
    if (!kni_is_half(a->p.dtype)) return "libraries take 16 bits alone";
    if (a->masked) return "libraries take no mask";
    if (a->wants_bias) return "libraries make no gradient of the bias";
    /* A row of a bias that hides all keys gives zeros; what libraries give is not known. */
    if (a->biased && g->attention != KNI_ATTENTION_BY_LIBRARY)
        return "libraries take no bias but by KN_ATTENTION=library";
    if (a->attributes->softcap > 0) return "libraries have no soft cap";
    if (a->attributes->dropout > 0) return "libraries draw other numbers";
    /* They add up dq in no fixed order. */
    if (a->gradient && kni_reproducible()) return "results must be reproducible";
    return NULL;
}

/* Ways of one launch or a few, in the order in which they are tried. */
enum { LIBRARY, OWN, TILES, WAYS };
static const char *const way_names[WAYS + 1] = {"by a library", "by the driver's own kernels", "by tiles",
                                                "lowered"};

/* Why each is not tried; NULL: it is. */
typedef struct ways {
    const char *no[WAYS];
} ways;

static ways choose(const kni_gpu *g, const kni_gpu_attention *a)
{
    static const uint8_t forced[WAYS] = {KNI_ATTENTION_BY_LIBRARY, KNI_ATTENTION_BY_OWN,
                                         KNI_ATTENTION_BY_TILES};
    ways w = {{unfit_for_library(g, a), kni_gpu_attention_unowned(g, a), kni_gpu_attention_untiled(g, a)}};
    const int way = g->attention;
    for (int i = 0; i < WAYS; i++) {
        /* A forced way is followed by tiles, which take most. */
        if (way != KNI_ATTENTION_BY_ANY && way != forced[i] &&
            (i != TILES || way == KNI_ATTENTION_BY_LOWERING))
            w.no[i] = "KN_ATTENTION says so";
        if (is_empty(a)) w.no[i] = "it has no elements";
    }
    return w;
}

static bool any_of(const ways *w) { return !w->no[LIBRARY] || !w->no[OWN] || !w->no[TILES]; }

/* ---- the log */

/* Once for each kind of attention and way; the oldest are forgotten. */
static void tell(kni_gpu *g, const kni_gpu_attention *a, const char *way, const char *why)
{
    const kni_attention *p = &a->p;
    const char *wanted = kni_environment("KN_FUSION_LOG");
    if (!wanted || !*wanted || !strcmp(wanted, "0")) return;
    const int64_t facts[] = {a->gradient,
                             a->masked,
                             a->biased,
                             a->wants_bias,
                             a->attributes->softcap > 0,
                             a->attributes->dropout > 0,
                             p->dtype,
                             p->batch,
                             p->heads,
                             p->key_heads,
                             p->queries,
                             p->keys,
                             p->size,
                             p->value_size,
                             p->causal,
                             way[0]};
    const uint64_t key = kni_gpu_hash(facts, sizeof facts);
    for (int i = 0; i < KNI_COUNT(g->told); i++)
        if (g->told[i] == key) return;
    g->told[g->n_told++ % KNI_COUNT(g->told)] = key;
    kni_log(KN_LOG_INFO, "%s: %s %T [%D, %D of %D, %D x %D, %D and %D]%s%s%s%s%s: %s%s%s", g->driver->name,
            a->gradient ? "attention_grad" : "attention", p->dtype, p->batch, p->heads, p->key_heads,
            p->queries, p->keys, p->size, p->value_size, p->causal ? ", causal" : "",
            a->masked ? ", mask" : "", a->biased ? ", bias" : "",
            a->attributes->softcap > 0 ? ", soft cap" : "", a->attributes->dropout > 0 ? ", dropout" : "",
            way, why ? ", since " : "", why ? why : "");
}

/* ---- operands */

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
static kn_status place(kni_gpu *g, kni_gpu_attention *a, int which, kni_tensor *x, kni_place *at,
                       int64_t steps[3])
{
    const int64_t *dims = x->type.dims;
    bool dense = x->storage && (x->strides[3] == 1 || dims[3] == 1);
    kni_gpu_block **made = &a->made[which];
    kn_status s = dense ? kni_gpu_operand(g, x, &a->blocks[which], made) : kni_gpu_gather(g, x, made);
    if (s) return s;
    for (int i = 0; i < 3; i++) steps[i] = x->strides[i];
    if (!dense) {
        a->blocks[which] = *made;
        steps[2] = dims[3];
        steps[1] = steps[2] * dims[2];
        steps[0] = steps[1] * dims[1];
    }
    *at = (kni_place){a->blocks[which]->memory, dense ? x->offset : 0};
    return KN_OK;
}

/* Mask or bias as it lies: a step for each axis of the scores, 0 where it repeats. */
static kn_status spread(kni_gpu *g, kni_gpu_attention *a, int which, kni_tensor *x, kni_place *at,
                        int64_t steps[4])
{
    if (!x) return KN_OK;
    for (int i = 0; i < x->type.rank; i++)
        if (x->type.dims[i] != 1) steps[4 - x->type.rank + i] = x->strides[i];
    kn_status s = kni_gpu_operand(g, x, &a->blocks[which], &a->made[which]);
    if (!s) *at = (kni_place){a->blocks[which]->memory, x->storage ? x->offset : 0};
    return s;
}

static kn_status find_operands(kni_gpu *g, kni_gpu_attention *a)
{
    const kn_record *r = a->record;
    kn_status s = place(g, a, Q, kni_in(r, Q), &a->p.q, a->p.q_steps);
    if (!s) s = place(g, a, K, kni_in(r, K), &a->p.k, a->p.k_steps);
    if (!s) s = place(g, a, V, kni_in(r, V), &a->p.v, a->p.v_steps);
    if (!s && a->gradient) s = place(g, a, DY, kni_in(r, DY), &a->p.dy, a->p.dy_steps);
    if (!s) s = spread(g, a, KNI_ATTENTION_MASK, mask_of(a), &a->mask, a->mask_steps);
    if (!s) s = spread(g, a, KNI_ATTENTION_BIAS, bias_of(a), &a->p.bias, a->p.bias_steps);
    return s;
}

static void end(kni_gpu_attention *a)
{
    for (int i = 0; i < KNI_ATTENTION_INPUTS; i++)
        if (a->made[i]) kni_gpu_give(a->made[i]);
    for (int i = 0; i < 2; i++)
        if (a->again[i]) kni_gpu_give(a->again[i]);
    if (a->draws) kni_gpu_give(a->draws);
}

static kni_place first_of(const kni_tensor *y)
{
    return (kni_place){kni_gpu_block_of(y->storage)->memory, y->offset};
}

/* ---- what is kept of the forward pass */

static int64_t address(const kni_place *at) { return (int64_t)(uintptr_t)at->memory; }

/* The logarithms of the forward pass belong to these operands, and no others; dropout does not change them. */
static uint64_t key_of(const kni_gpu_attention *a)
{
    const kni_attention *p = &a->p;
    int64_t numbers[2];
    memcpy(&numbers[0], &p->scale, sizeof numbers[0]);
    memcpy(&numbers[1], &a->attributes->softcap, sizeof numbers[1]);
    const int64_t facts[] = {
        address(&p->q),   p->q.offset,   address(&p->k),    p->k.offset,    address(&p->v), p->v.offset,
        address(&p->out), p->out.offset, address(&a->mask), a->mask.offset, a->masked,      address(&p->bias),
        p->bias.offset,   a->biased,     p->batch,          p->heads,       p->queries,     p->keys,
        p->causal,        numbers[0],    numbers[1]};
    return kni_gpu_hash(facts, sizeof facts);
}

static size_t rows_of(const kni_attention *p) { return (size_t)(p->batch * p->heads * p->queries); }

/* Room for the logarithms, and for the dots that the gradient's kernels put behind them. */
static kni_gpu_block *take_rows(kni_gpu *g, const kni_attention *p)
{
    return kni_gpu_take(g, rows_of(p) * 2 * sizeof(float));
}

/* ---- forward */

static kn_status forward(kni_gpu *g, kni_gpu_attention *a, int way, kni_gpu_block *out, int64_t out_offset,
                         kni_gpu_block *rows)
{
    if (way == TILES) return kni_gpu_attend_tiled(g, a, out, out_offset, rows);
    if (way == OWN) return kni_gpu_attend_own(g, a, out, out_offset, rows);
    a->p.out = (kni_place){out->memory, out_offset};
    a->p.lse = (kni_place){rows ? rows->memory : NULL, 0};
    g->launches++;
    return kni_gpu_checked(g, g->driver->attention(g->driver, &a->p));
}

/* Tells by which way it went, WAYS: lowered, and why not by the first one. */
static void tell_way(kni_gpu *g, const kni_gpu_attention *a, const ways *w, int way)
{
    tell(g, a, way_names[way],
         way == LIBRARY ? NULL
                        : w->no[way == WAYS    ? TILES
                                : way == TILES ? OWN
                                               : LIBRARY]);
}

kn_status kni_gpu_run_attention(kni_gpu *g, const kn_record *r)
{
    kni_gpu_attention a;
    kni_tensor *y = kni_out(r, 0);
    describe(r, false, &a);
    const ways w = choose(g, &a);
    kni_gpu_block *rows = NULL;
    const bool keeps = !w.no[TILES] || g->driver->attention_grad;
    int way = 0;
    kn_status s = any_of(&w) ? find_operands(g, &a) : KN_ERROR_UNSUPPORTED;
    if (!s) s = kni_gpu_allocate(g, y);
    if (!s && keeps && !(rows = take_rows(g, &a.p))) s = kni_latest_code();
    kni_gpu_block *out = s ? NULL : kni_gpu_block_of(y->storage);
    if (!s) {
        s = KN_ERROR_UNSUPPORTED;
        for (way = 0; way < WAYS; way++) {
            if (w.no[way]) continue;
            s = forward(g, &a, way, out, y->offset, rows);
            if (s != KN_ERROR_UNSUPPORTED) break;
        }
    }
    if (!s && rows) {
        a.p.out = first_of(y);
        out->companion = rows;
        out->companion_key = key_of(&a);
    } else if (rows) {
        kni_gpu_give(rows);
    }
    if (s == KN_ERROR_UNSUPPORTED) forget(r);
    if (!s) kni_gpu_finish(g, r, -1);
    if (!s) tell_way(g, &a, &w, way);
    if (s == KN_ERROR_UNSUPPORTED) tell_way(g, &a, &w, WAYS);
    end(&a);
    return s;
}

/* ---- gradient */

/* What the forward pass left beside its result, or both once more: where the result is not at hand, or was computed in
   another way. */
static kn_status recall(kni_gpu *g, kni_gpu_attention *a, int way)
{
    kni_tensor *out = input(a->record, KNI_ATTENTION_OUT);
    if (out && out->storage && kni_gpu_contiguous(out)) {
        kni_gpu_block *block = kni_gpu_block_of(out->storage);
        a->p.out = first_of(out);
        if (block->companion && block->companion_key == key_of(a)) {
            a->out = block;
            a->rows = block->companion;
        }
    }
    if (!a->rows) {
        const size_t bytes = kni_gpu_element_bytes(kni_in(a->record, Q));
        a->again[0] = kni_gpu_take(g, rows_of(&a->p) * (size_t)a->p.value_size * bytes);
        a->again[1] = a->again[0] ? take_rows(g, &a->p) : NULL;
        if (!a->again[1]) return kni_latest_code();
        kn_status s = forward(g, a, way, a->again[0], 0, a->again[1]);
        if (s) return s;
        a->out = a->again[0];
        a->rows = a->again[1];
        a->p.out = (kni_place){a->out->memory, 0};
    }
    a->p.lse = (kni_place){a->rows->memory, 0};
    return KN_OK;
}

/* What was made again goes back before another way makes it. */
static void give_again(kni_gpu_attention *a)
{
    for (int i = 0; i < 2; i++)
        if (a->again[i]) kni_gpu_give(a->again[i]);
    a->again[0] = a->again[1] = a->out = a->rows = NULL;
}

static kn_status backward(kni_gpu *g, kni_gpu_attention *a, int way)
{
    kn_status s = recall(g, a, way);
    if (s) return s;
    if (way == TILES) return kni_gpu_attend_tiled_grad(g, a);
    a->p.dq = first_of(kni_out(a->record, 0));
    a->p.dk = first_of(kni_out(a->record, 1));
    a->p.dv = first_of(kni_out(a->record, 2));
    if (way == OWN) return kni_gpu_attend_own_grad(g, a);
    g->launches++;
    return kni_gpu_checked(g, g->driver->attention_grad(g->driver, &a->p));
}

kn_status kni_gpu_run_attention_grad(kni_gpu *g, const kn_record *r)
{
    kni_gpu_attention a;
    int way = 0;
    describe(r, true, &a);
    const ways w = choose(g, &a);
    kn_status s = any_of(&w) ? find_operands(g, &a) : KN_ERROR_UNSUPPORTED;
    for (int i = 0; i < 4 && !s; i++) s = kni_gpu_allocate(g, kni_out(r, i));
    if (!s) {
        s = KN_ERROR_UNSUPPORTED;
        for (way = 0; way < WAYS; way++) {
            if (w.no[way]) continue;
            s = backward(g, &a, way);
            if (s != KN_ERROR_UNSUPPORTED) break;
            give_again(&a);
        }
    }
    if (s == KN_ERROR_UNSUPPORTED) forget(r);
    if (!s) kni_gpu_finish(g, r, -1);
    if (!s) tell_way(g, &a, &w, way);
    if (s == KN_ERROR_UNSUPPORTED) tell_way(g, &a, &w, WAYS);
    end(&a);
    return s;
}
