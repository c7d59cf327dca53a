/* Attention by tiled kernels: which records they take, how the work is cut, and the launches. */
#include "backend/gpu/attention_device.h"
#include "backend/gpu/attention_kernel.h"
#include "backend/gpu/gpu_recording.h"
#include "backend/gpu/gpu_text.h"
#include <stddef.h>
#include <string.h>

enum {
    FEW_QUERIES = 4,
    MANY_KEYS = 512,
    FEW_CHUNKS = 2,
    MOST_SLOPES = 1 << 26 /* elements of theirs before they are summed */
};

/* ---- what is taken */

static bool fits(const kni_gpu *g, const kni_attend_signature *s)
{
    const kni_ir_caps *c = &g->driver->caps;
    return (!c->max_workgroup || kni_attend_workgroup(s) <= c->max_workgroup) &&
           (!c->shared_bytes || kni_attend_shared(s) <= c->shared_bytes);
}

const char *kni_gpu_attention_untiled(const kni_gpu *g, const kni_gpu_attention *a)
{
    const kni_attention *p = &a->p;
    const kni_attend_signature most = {.pass = a->gradient ? KNI_ATTEND_QUERIES : KNI_ATTEND_FORWARD,
                                       .side = KNI_ATTEND_SMALL,
                                       .rows = KNI_ATTEND_BLOCK,
                                       .keeps = true,
                                       .masked = a->masked,
                                       .biased = a->biased};
    const uint32_t buffers = g->driver->caps.max_buffers;
    if (p->dtype == KN_F64) return "products of f64 have digits that the tiles, which add in f32, have not";
    if (p->size > KNI_ATTEND_MOST || p->value_size > KNI_ATTEND_MOST)
        return "vectors have more than 256 elements";
    if (p->queries <= FEW_QUERIES && p->keys > MANY_KEYS && !a->gradient)
        return "few queries and many keys: products share the keys over more workgroups than tiles do";
    if (buffers && (uint32_t)kni_attend_buffers(&most) > buffers)
        return "the device gives a kernel too few buffers";
    if (!fits(g, &most)) return "a workgroup of the device is too small";
    return NULL;
}

/* ---- how the work is cut */

static int64_t pieces(int64_t size, int64_t each) { return (size + each - 1) / each; }

static int64_t reach(const int64_t *steps, int64_t batch, int64_t heads, int64_t rows, int64_t size)
{
    const int64_t counts[3] = {batch, heads, rows};
    int64_t most = size;
    for (int i = 0; i < 3; i++) most += (counts[i] - 1) * (steps[i] < 0 ? -steps[i] : steps[i]);
    return most;
}

/* Whether a position, or the number of a row, may be 2^31 or more. */
static bool needs_wide(const kni_gpu_attention *a)
{
    const kni_attention *p = &a->p;
    const int64_t limit = INT64_C(1) << 30, queries = p->batch * p->heads * p->queries;
    const int64_t keys = p->batch * p->key_heads * p->keys,
                  size = p->size > p->value_size ? p->size : p->value_size;
    int64_t most[] = {reach(p->q_steps, p->batch, p->heads, p->queries, size),
                      reach(p->k_steps, p->batch, p->key_heads, p->keys, size),
                      reach(p->v_steps, p->batch, p->key_heads, p->keys, size),
                      reach(p->dy_steps, p->batch, p->heads, p->queries, size),
                      reach(a->mask_steps, p->batch, p->heads, p->queries, p->keys * (a->mask_steps[3] + 1)),
                      reach(p->bias_steps, p->batch, p->heads, p->queries, p->keys * (p->bias_steps[3] + 1)),
                      2 * queries,
                      queries * size,
                      keys * size};
    for (int i = 0; i < KNI_COUNT(most); i++)
        if (most[i] > limit) return true;
    return false;
}

static bool by_four(const kni_place *place, const int64_t *steps)
{
    return place->offset % 4 == 0 && steps[0] % 4 == 0 && steps[1] % 4 == 0 && steps[2] % 4 == 0;
}

static void set_side(const kni_gpu *g, kni_attend_signature *s, const kni_attention *p, int side)
{
    s->side = (uint8_t)side;
    s->key_chunks = (uint8_t)pieces(p->size, side);
    s->value_chunks = (uint8_t)pieces(p->value_size, side);
    /* Tall blocks read less shared memory for each product, and need twice the registers. PoCL takes minutes to compile them. */
    const int keys = s->key_chunks, values = s->value_chunks;
    const int sums[KNI_ATTEND_PASSES] = {values, kni_is_half(p->dtype) ? 2 * keys : keys, keys + values,
                                         FEW_CHUNKS + 1};
    const bool tall = side == KNI_ATTEND_SIDE && sums[s->pass] <= FEW_CHUNKS &&
                      (g->driver->caps.dialect == KNI_IR_CUDA || g->driver->caps.dialect == KNI_IR_HIP);
    s->rows = tall ? KNI_ATTEND_TALL : KNI_ATTEND_BLOCK;
}

static kni_attend_signature sign(const kni_gpu *g, const kni_gpu_attention *a, int pass)
{
    const kni_attention *p = &a->p;
    const bool keys = pass == KNI_ATTEND_KEYS;
    kni_attend_signature s;
    memset(&s, 0, sizeof s);
    s.kind = 'a';
    s.pass = (uint8_t)pass;
    s.dtype = (uint8_t)p->dtype;
    s.side = KNI_ATTEND_SIDE;
    s.rows = KNI_ATTEND_BLOCK;
    /* Small tiles where large ones would be half empty, leave processors idle, or do not fit. */
    const int64_t rows = keys ? p->keys : p->queries, matrices = p->batch * (keys ? p->key_heads : p->heads);
    const int64_t large = pieces(rows, KNI_ATTEND_SIDE) * matrices;
    if (rows <= KNI_ATTEND_SMALL || large < (int64_t)g->driver->processors || !fits(g, &s))
        s.side = KNI_ATTEND_SMALL;
    set_side(g, &s, p, s.side);
    s.wide = needs_wide(a);
    s.quads = p->size % 4 == 0 && p->value_size % 4 == 0 && by_four(&p->q, p->q_steps) &&
              by_four(&p->k, p->k_steps) && by_four(&p->v, p->v_steps) &&
              (!a->gradient || by_four(&p->dy, p->dy_steps));
    s.causal = p->causal;
    s.masked = a->masked;
    s.biased = a->biased;
    s.capped = a->attributes->softcap > 0;
    s.drops = a->attributes->dropout > 0;
    s.even = s.drops && p->keys % 4 == 0;
    s.summed = pass == KNI_ATTEND_QUERIES && kni_is_half(p->dtype);
    return s;
}

/* ---- launches */

typedef struct launch {
    kni_attend_signature s;
    kni_gpu_block *blocks[KNI_ATTEND_BUFFERS];
    int64_t offsets[KNI_ATTEND_BUFFERS];
    int n;
} launch;

static void give(launch *l, kni_gpu_block *block, int64_t offset)
{
    l->offsets[l->n] = offset;
    l->blocks[l->n++] = block;
}

static void give_operand(launch *l, const kni_gpu_attention *a, int which, const kni_place *place)
{
    if (a->blocks[which]) give(l, a->blocks[which], place->offset);
}

static void put_params(const kni_gpu_attention *a, const launch *l, uint8_t *params)
{
    const kni_attention *p = &a->p;
    int64_t whole[KNI_ATTEND_WHOLES] = {p->batch, p->heads, p->key_heads, p->queries,
                                        p->keys,  p->size,  p->value_size};
    const float reals[KNI_ATTEND_REALS] = {(float)p->scale, (float)a->attributes->softcap,
                                           (float)kni_attention_kept(a->attributes)};
    const int64_t count = 0;
    memcpy(whole + KNI_ATTEND_Q_STEPS, p->q_steps, sizeof p->q_steps);
    memcpy(whole + KNI_ATTEND_K_STEPS, p->k_steps, sizeof p->k_steps);
    memcpy(whole + KNI_ATTEND_V_STEPS, p->v_steps, sizeof p->v_steps);
    memcpy(whole + KNI_ATTEND_DY_STEPS, p->dy_steps, sizeof p->dy_steps);
    memcpy(whole + KNI_ATTEND_MASK_STEPS, a->mask_steps, sizeof a->mask_steps);
    memcpy(whole + KNI_ATTEND_BIAS_STEPS, p->bias_steps, sizeof p->bias_steps);
    whole[KNI_ATTEND_THRESHOLD] = kni_attention_threshold(a->attributes);
    whole[KNI_ATTEND_KEY] = a->attributes->key;
    whole[KNI_ATTEND_COUNTER] = a->attributes->counter;
    uint32_t n = 0;
#define PUT(from, bytes) (memcpy(params + n, from, bytes), n += (uint32_t)(bytes))
    PUT(&count, sizeof count);
    PUT(l->offsets, (size_t)l->n * sizeof *l->offsets);
    PUT(whole, sizeof whole);
    PUT(reals, sizeof reals);
#undef PUT
}

static uint16_t place_of_whole(const launch *l, int which)
{
    return (uint16_t)((1 + l->n + which) * (int)sizeof(int64_t));
}

/* Replays draw other numbers. */
static void tell_sources(kni_gpu *g, const launch *l)
{
    const kni_sched_source sources[2] = {{.kind = KNI_SOURCE_WHOLE,
                                          .dtype = KN_I64,
                                          .index = offsetof(kni_attention_attributes, key),
                                          .at = place_of_whole(l, KNI_ATTEND_KEY)},
                                         {.kind = KNI_SOURCE_WHOLE,
                                          .dtype = KN_I64,
                                          .index = offsetof(kni_attention_attributes, counter),
                                          .at = place_of_whole(l, KNI_ATTEND_COUNTER)}};
    kni_gpu_recording_numbers(g, sources, l->s.drops ? 2 : 0);
}

static kn_status run(kni_gpu *g, const kni_gpu_attention *a, const launch *l, int64_t groups)
{
    _Alignas(8) uint8_t params[(1 + KNI_ATTEND_BUFFERS + KNI_ATTEND_WHOLES) * sizeof(int64_t) + 32];
    const kni_sched_target target = {&g->driver->caps, g->driver->processors};
    if (groups > INT32_MAX) return KN_ERROR_UNSUPPORTED;
    kni_gpu_kernel *k = kni_gpu_find(g, &l->s, sizeof l->s);
    if (!k) k = kni_gpu_add(g, &l->s, sizeof l->s, kni_attend_build(&l->s, &target));
    if (!k) return kni_latest_code();
    memset(params, 0, sizeof params);
    put_params(a, l, params);
    kni_launch_shape shape = {{(uint32_t)groups, 1, 1}, k->workgroup, 0};
    kn_status s = kni_gpu_launch(g, k, &shape, l->blocks, (uint32_t)l->n, -1, params);
    if (s == KN_OK && g->recording) tell_sources(g, l);
    return s;
}

static void give_operands(launch *l, const kni_gpu_attention *a)
{
    give(l, a->blocks[KNI_ATTENTION_Q], a->p.q.offset);
    give(l, a->blocks[KNI_ATTENTION_K], a->p.k.offset);
    give(l, a->blocks[KNI_ATTENTION_V], a->p.v.offset);
    if (l->s.pass != KNI_ATTEND_FORWARD) give(l, a->blocks[KNI_ATTENTION_DY], a->p.dy.offset);
    if (l->s.pass == KNI_ATTEND_QUERIES && !l->s.summed) give(l, a->out, a->p.out.offset);
    give_operand(l, a, KNI_ATTENTION_MASK, &a->mask);
    give_operand(l, a, KNI_ATTENTION_BIAS, &a->p.bias);
}

kn_status kni_gpu_attend_tiled(kni_gpu *g, const kni_gpu_attention *a, kni_gpu_block *out, int64_t out_offset,
                               kni_gpu_block *rows)
{
    launch l = {.s = sign(g, a, KNI_ATTEND_FORWARD)};
    l.s.keeps = rows != NULL;
    l.s.quads &= out_offset % 4 == 0;
    give_operands(&l, a);
    give(&l, out, out_offset);
    if (rows) give(&l, rows, 0);
    return run(g, a, &l, pieces(a->p.queries, l.s.side) * a->p.batch * a->p.heads);
}

static void give_result(launch *l, const kn_record *r, int which)
{
    const kni_tensor *y = kni_out(r, which);
    give(l, kni_gpu_block_of(y->storage), y->offset);
}

/* ---- the gradient of the bias */

/* The axes of the scores that it is summed over. */
static void find_over(const kni_gpu_attention *a, uint8_t over[4])
{
    const kni_type *t = &kni_out(a->record, 3)->type;
    for (int i = 0; i < 4; i++) {
        const int axis = i - (4 - t->rank);
        over[i] = axis < 0 || t->dims[axis] == 1;
    }
}

/* By a pass of its own, a workgroup for each tile of its elements. */
static kn_status run_bias(kni_gpu *g, const kni_gpu_attention *a)
{
    const kni_attention *p = &a->p;
    const int64_t counts[4] = {p->batch, p->heads, p->queries, p->keys};
    launch l = {.s = sign(g, a, KNI_ATTEND_BIAS)};
    int64_t parts;
    find_over(a, l.s.over);
    for (;;) {
        parts = 1;
        for (int i = 0; i < 4; i++)
            if (!l.s.over[i]) parts *= i < 2 ? counts[i] : pieces(counts[i], l.s.side);
        if (l.s.side == KNI_ATTEND_SMALL || parts >= (int64_t)g->driver->processors) break;
        set_side(g, &l.s, p, KNI_ATTEND_SMALL);
    }
    give_operands(&l, a);
    give(&l, a->rows, 0);
    give_result(&l, a->record, 3);
    return run(g, a, &l, parts);
}

/* y [1 or batch, 1 or heads, each]: x [batch, heads, each] summed in order. */
static const char sums_text[] =
    "kernel sum_slopes(index item, in f32 x[], out T y[], index each, index batches, index heads,\n"
    "                  index some_batches, index some_heads)\n"
    "{\n"
    "    index matrix = item / each, rest = item - matrix * each;\n"
    "    index b = matrix / some_heads, h = matrix - b * some_heads;\n"
    "    index b_end = some_batches == batches ? b + 1 : batches;\n"
    "    index h_end = some_heads == heads ? h + 1 : heads;\n"
    "    f32 total = 0;\n"
    "    for (index i = b; i < b_end; i++)\n"
    "        for (index k = h; k < h_end; k++) total += x[(i * heads + k) * each + rest];\n"
    "    y[item] = total;\n"
    "}\n";

kn_status kni_gpu_attention_sum_slopes(kni_gpu *g, const kni_gpu_attention *a, kni_gpu_block *slopes)
{
    const kni_attention *p = &a->p;
    kni_tensor *y = kni_out(a->record, 3);
    static const kni_gpu_text text = {"attention", sums_text, sizeof sums_text - 1};
    int cell = -1;
    uint8_t over[4];
    find_over(a, over);
    const kni_gpu_call call = {.kernel = "sum_slopes",
                               .element = KN_F32,
                               .n_buffers = 2,
                               .n_numbers = 5,
                               .size = kni_count(&y->type),
                               .storage = {KN_F32, y->type.dtype},
                               .blocks = {slopes, kni_gpu_block_of(y->storage)},
                               .offsets = {0, y->offset},
                               .numbers = {p->queries * p->keys, p->batch, p->heads, over[0] ? 1 : p->batch,
                                           over[1] ? 1 : p->heads}};
    return kni_gpu_launch_text(g, &text, a->record, &cell, &call);
}

/* Whether the gradient of the bias has all queries and keys, and its terms fit into memory for a while. */
bool kni_gpu_attention_shows(const kni_gpu_attention *a, bool *sums)
{
    const kni_attention *p = &a->p;
    uint8_t over[4];
    if (!a->wants_bias) return false;
    find_over(a, over);
    *sums = (over[0] && p->batch > 1) || (over[1] && p->heads > 1);
    if ((over[2] && p->queries > 1) || (over[3] && p->keys > 1)) return false;
    return !*sums || p->batch * p->heads <= MOST_SLOPES / (p->queries * p->keys);
}

/* ---- gradients */

/* With the keys' pass making the slopes, which are the gradient of the bias or its terms. */
static kn_status run_keys(kni_gpu *g, const kni_gpu_attention *a, bool *made_bias)
{
    const kni_attention *p = &a->p;
    const uint32_t buffers = g->driver->caps.max_buffers;
    launch l = {.s = sign(g, a, KNI_ATTEND_KEYS)};
    kni_gpu_block *slopes = NULL;
    bool sums = false;
    *made_bias =
        kni_gpu_attention_shows(a, &sums) && (!buffers || (uint32_t)kni_attend_buffers(&l.s) < buffers);
    if (*made_bias && sums) {
        slopes = kni_gpu_take(g, (size_t)(p->batch * p->heads * p->queries * p->keys) * sizeof(float));
        if (!slopes) return kni_latest_code();
    }
    const kni_tensor *y = kni_out(a->record, 3);
    if (*made_bias) l.s.slopes = (uint8_t)(sums ? KN_F32 : p->dtype);
    l.s.slope_quads = *made_bias && p->keys % 4 == 0 && (sums || y->offset % 4 == 0);
    give_operands(&l, a);
    give(&l, a->rows, 0);
    give_result(&l, a->record, 1);
    give_result(&l, a->record, 2);
    if (slopes) give(&l, slopes, 0);
    if (*made_bias && !sums) give_result(&l, a->record, 3);
    kn_status s = run(g, a, &l, pieces(p->keys, l.s.side) * p->batch * p->key_heads);
    if (!s && slopes) s = kni_gpu_attention_sum_slopes(g, a, slopes);
    if (slopes) kni_gpu_give(slopes);
    return s;
}

kn_status kni_gpu_attend_tiled_grad(kni_gpu *g, const kni_gpu_attention *a)
{
    const kni_attention *p = &a->p;
    launch queries = {.s = sign(g, a, KNI_ATTEND_QUERIES)};
    bool made_bias = false;
    give_operands(&queries, a);
    give(&queries, a->rows, 0);
    give_result(&queries, a->record, 0);
    kn_status s = run(g, a, &queries, pieces(p->queries, queries.s.side) * p->batch * p->heads);
    if (!s) s = run_keys(g, a, &made_bias);
    return s || !a->wants_bias || made_bias ? s : run_bias(g, a);
}
