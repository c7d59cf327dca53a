/* The second pass of sums that were cut into parts: the parts of each result are added up in their order, so that the bits are the same
   in every run. */
#include "backend/gpu/gpu_conv.h"
#include "backend/gpu/product_kernel.h"

enum { WORKGROUP = 128, AT_ONCE = 4 /* parts that are loaded side by side */ };

typedef struct signature {
    char kind;
    uint8_t dtype, wide;
} signature;

static kni_ir *build(const void *key, const kni_gpu_tail *tail, const kni_sched_target *target)
{
    const signature *s = key;
    kni_ir_builder b = kni_ir_begin("add_parts", WORKGROUP);
    kni_tiled t = {.b = &b, .compute = kni_tiled_compute(s->dtype), .dtype = s->dtype};
    t.index = s->wide ? KN_I64 : KN_I32;
    t.a = kni_ir_buffer(&b, "a", t.compute, KNI_IR_READ);
    if (!kni_tiled_results(&t, t.dtype, tail, target)) return NULL;
    const uint32_t results = kni_ir_param_add(&b, "results", KN_I64, 0),
                   parts = kni_ir_param_add(&b, "parts", KN_I64, 0);
    if (t.tail) kni_tail_numbers(t.tail);
    const bool real = t.compute == KN_F32 || t.compute == KN_F64;
    kni_ir_id zero = real ? kni_ir_real(&b, t.compute, 0) : kni_ir_whole(&b, t.compute, 0);
    kni_ir_id n = kni_tiled_number(&t, results), count = kni_tiled_number(&t, parts), values[AT_ONCE];
    kni_ir_id item = kni_ir_word(&b, "mul", kni_ir_builtin_value(&b, KNI_IR_GROUP, 0, t.index),
                                 kni_ir_whole(&b, t.index, WORKGROUP));
    item = kni_ir_word(&b, "add", item, kni_ir_builtin_value(&b, KNI_IR_LOCAL, 0, t.index));
    kni_ir_id exists = kni_ir_word(&b, "lt", item, n), total = kni_ir_variable(&b, t.compute, 1, zero);
    kni_ir_id first = kni_ir_for(&b, kni_ir_whole(&b, t.index, 0), count, kni_ir_whole(&b, t.index, AT_ONCE));
    for (int i = 0; i < AT_ONCE; i++) {
        kni_ir_id part = kni_ir_word(&b, "add", first, kni_ir_whole(&b, t.index, i));
        kni_ir_id at = kni_ir_word(&b, "add", kni_ir_word(&b, "mul", part, n), item);
        kni_ir_id here = kni_ir_and(&b, exists, kni_ir_word(&b, "lt", part, count));
        values[i] = kni_ir_load_where(&b, t.a, at, t.compute, 1, here, zero);
    }
    for (int i = 0; i < AT_ONCE; i++)
        kni_ir_set(&b, total, kni_ir_word(&b, "add", kni_ir_get(&b, total), values[i]));
    kni_ir_end(&b);
    kni_tiled_put(&t, item, kni_ir_get(&b, total), exists);
    return kni_tiled_finish(&t);
}

static kn_status add_parts(kni_gpu *g, int dtype, kni_gpu_block *parts, int64_t count, int64_t results,
                           const kni_gpu_product_launch *l)
{
    const signature s = {'+', (uint8_t)dtype, count * results > INT64_C(1) << 29};
    kni_gpu_product_launch sum = {.key = &s,
                                  .key_bytes = sizeof s,
                                  .blocks = {parts},
                                  .n_buffers = 1,
                                  .numbers = {results, count},
                                  .n_numbers = 2,
                                  .tiles = (results + WORKGROUP - 1) / WORKGROUP,
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

int64_t kni_gpu_choose_parts(const kni_gpu *g, int64_t workgroups, int64_t terms, int64_t least,
                             int64_t results)
{
    enum { MOST = 64, MOST_ELEMENTS = 1 << 24 };
    const int64_t wanted = (int64_t)g->driver->processors * 2;
    int64_t parts = workgroups > 0 ? (wanted + workgroups - 1) / workgroups : 1;
    if (parts > terms / least) parts = terms / least;
    if (results > 0 && parts > MOST_ELEMENTS / results) parts = MOST_ELEMENTS / results;
    if (parts > MOST) parts = MOST;
    return parts > 1 ? parts : 1;
}
