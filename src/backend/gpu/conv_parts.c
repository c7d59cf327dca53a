/* The second pass of sums that were cut into parts: the parts of each result are added up in a fixed order, so that the bits are the
   same in every run. */
#include "backend/gpu/gpu_conv.h"
#include "backend/gpu/product_kernel.h"

enum { WORKGROUP = 128, AT_ONCE = 4 /* parts that are loaded side by side */, MOST_LANES = 16 };

/* `lanes` invocations of a workgroup share the parts of one result. */
typedef struct signature {
    char kind;
    uint8_t dtype, wide, lanes;
} signature;

typedef struct adder {
    kni_tiled t;
    int lanes;
    kni_ir_id zero, local, exists; /* whether the result of this invocation is there */
    kni_ir_id item, lane;
} adder;

static kni_ir_id whole(adder *a, int64_t value) { return kni_ir_whole(a->t.b, a->t.index, value); }
static kni_ir_id word(adder *a, const char *name, kni_ir_id x, kni_ir_id y)
{
    return kni_ir_word(a->t.b, name, x, y);
}

static void locate(adder *a, kni_ir_id results)
{
    const int each = WORKGROUP / a->lanes;
    kni_ir_id group = kni_ir_builtin_value(a->t.b, KNI_IR_GROUP, 0, a->t.index);
    a->local = kni_ir_builtin_value(a->t.b, KNI_IR_LOCAL, 0, a->t.index);
    a->lane = word(a, "div", a->local, whole(a, each));
    kni_ir_id among = word(a, "sub", a->local, word(a, "mul", a->lane, whole(a, each)));
    a->item = word(a, "add", word(a, "mul", group, whole(a, each)), among);
    a->exists = word(a, "lt", a->item, results);
}

/* Every part whose number leaves this lane as its remainder. */
static kni_ir_id sum_of_lane(adder *a, kni_ir_id results, kni_ir_id count)
{
    kni_ir_builder *b = a->t.b;
    kni_ir_id total = kni_ir_variable(b, a->t.compute, 1, a->zero), values[AT_ONCE];
    kni_ir_id first = kni_ir_for(b, a->lane, count, whole(a, (int64_t)AT_ONCE * a->lanes));
    for (int i = 0; i < AT_ONCE; i++) {
        kni_ir_id part = word(a, "add", first, whole(a, (int64_t)i * a->lanes));
        kni_ir_id at = word(a, "add", word(a, "mul", part, results), a->item);
        kni_ir_id here = kni_ir_and(b, a->exists, word(a, "lt", part, count));
        values[i] = kni_ir_load_where(b, a->t.a, at, a->t.compute, 1, here, a->zero);
    }
    for (int i = 0; i < AT_ONCE; i++) kni_ir_set(b, total, word(a, "add", kni_ir_get(b, total), values[i]));
    kni_ir_end(b);
    return kni_ir_get(b, total);
}

/* The sum of all lanes, in their order; the first lane of each result has it. */
static kni_ir_id sum_of_lanes(adder *a, uint32_t shared, kni_ir_id value)
{
    kni_ir_builder *b = a->t.b;
    const int each = WORKGROUP / a->lanes;
    kni_ir_store(b, shared, a->local, value);
    kni_ir_barrier(b);
    for (int i = 1; i < a->lanes; i++) {
        kni_ir_id at = word(a, "add", a->local, whole(a, (int64_t)i * each));
        at = word(a, "min", at, whole(a, WORKGROUP - 1)); /* of other lanes, which store nothing */
        value = word(a, "add", value, kni_ir_load(b, shared, at, a->t.compute, 1));
    }
    return value;
}

static kni_ir *build(const void *key, const kni_gpu_tail *tail, const kni_sched_target *target)
{
    const signature *s = key;
    kni_ir_builder b = kni_ir_begin("add_parts", WORKGROUP);
    adder a = {.t = {.b = &b, .compute = kni_tiled_compute(s->dtype), .dtype = s->dtype}, .lanes = s->lanes};
    kni_tiled *t = &a.t;
    uint32_t shared = 0;
    t->index = s->wide ? KN_I64 : KN_I32;
    t->a = kni_ir_buffer(&b, "a", t->compute, KNI_IR_READ);
    if (!kni_tiled_results(t, t->dtype, tail, target)) return NULL;
    const uint32_t results = kni_ir_param_add(&b, "results", KN_I64, 0),
                   parts = kni_ir_param_add(&b, "parts", KN_I64, 0);
    if (t->tail) kni_tail_numbers(t->tail);
    const bool real = t->compute == KN_F32 || t->compute == KN_F64;
    a.zero = real ? kni_ir_real(&b, t->compute, 0) : kni_ir_whole(&b, t->compute, 0);
    if (s->lanes > 1) shared = kni_ir_array(&b, "lanes", t->compute, KNI_IR_SHARED, WORKGROUP);
    kni_ir_id n = kni_tiled_number(t, results), count = kni_tiled_number(t, parts);
    locate(&a, n);
    kni_ir_id sum = sum_of_lane(&a, n, count);
    if (s->lanes > 1) {
        sum = sum_of_lanes(&a, shared, sum);
        a.exists = kni_ir_and(&b, a.exists, word(&a, "eq", a.lane, whole(&a, 0)));
    }
    kni_tiled_put(t, a.item, sum, a.exists);
    return kni_tiled_finish(t);
}

static kn_status add_parts(kni_gpu *g, int dtype, kni_gpu_block *parts, int64_t count, int64_t results,
                           const kni_gpu_product_launch *l)
{
    /* An invocation adds up four parts at a time, and waits for each four. */
    const uint8_t lanes = count >= AT_ONCE * MOST_LANES ? MOST_LANES : count > AT_ONCE ? AT_ONCE : 1;
    const signature s = {'+', (uint8_t)dtype, count * results > INT64_C(1) << 29, lanes};
    kni_gpu_product_launch sum = {.key = &s,
                                  .key_bytes = sizeof s,
                                  .blocks = {parts},
                                  .n_buffers = 1,
                                  .numbers = {results, count},
                                  .n_numbers = 2,
                                  .tiles = (results * lanes + WORKGROUP - 1) / WORKGROUP,
                                  .batches = 1,
                                  .tail = l->tail,
                                  .build = build};
    if (!l->tail) {
        sum.blocks[1] = l->blocks[l->n_buffers - 1];
        sum.offsets[1] = l->offsets[l->n_buffers - 1];
        sum.n_buffers = 2;
    }
    return kni_gpu_launch_product(g, &sum);
}

kn_status kni_gpu_launch_parts(kni_gpu *g, int dtype, int64_t count, int64_t results,
                               const kni_gpu_product_launch *l)
{
    kni_gpu_product_launch first = *l;
    const size_t bytes = kni_bytes_of(kni_tiled_compute(dtype));
    if (count == 1) return kni_gpu_launch_product(g, l);
    kni_gpu_block *parts = kni_gpu_take(g, (size_t)(count * results) * bytes);
    if (!parts) return kni_latest_code();
    if (l->tail) first.n_buffers++;
    first.tail = NULL;
    first.blocks[first.n_buffers - 1] = parts;
    first.offsets[first.n_buffers - 1] = 0;
    kn_status status = kni_gpu_launch_product(g, &first);
    if (status == KN_OK) status = add_parts(g, dtype, parts, count, results, l);
    kni_gpu_give(parts);
    return status;
}

int64_t kni_gpu_choose_parts(const kni_gpu *g, int64_t busy, int64_t workgroups, int64_t terms, int64_t least,
                             int64_t results)
{
    enum { MOST = 32, MOST_ELEMENTS = 1 << 24 };
    const int64_t wanted = g->driver->processors * busy;
    int64_t parts = workgroups > 0 ? (wanted + workgroups - 1) / workgroups : 1;
    if (parts > terms / least) parts = terms / least;
    if (results > 0 && parts > MOST_ELEMENTS / results) parts = MOST_ELEMENTS / results;
    if (parts > MOST * busy) parts = MOST * busy;
    return parts > 1 ? parts : 1;
}
