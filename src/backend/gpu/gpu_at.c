/* Positions and lengths as data of the device: update_at, and attention of few queries over the first keys. No launch depends on them, so
   a recording serves every position. */
#include "backend/gpu/product.h"
#include "ir/builder.h"
#include "ir/parse.h"
#include "ops/attention.h"
#include "ops/movement_rows.h"
#include <string.h>

/* ---- update_at: the position is read by the kernel, which writes the values alone */

typedef struct place_key {
    char name[5];
    uint8_t value, position; /* dtypes of elements as raw bits, and of the positions */
} place_key;

/* y[(o * length + begin + j) * inner + i] = v[item] with item = (o * size + j) * inner + i. */
static kni_ir *build_place(const place_key *key)
{
    static const char text[] = "kernel place_at(index item, in T v[], in index position[], out T y[], index "
                               "length, index size, index inner,"
                               " index per)\n"
                               "{\n"
                               "    index i = item % inner, j = item / inner % size, o = item / inner / "
                               "size, at = position[o / per];\n"
                               "    if (at > length - size) at = length - size;\n"
                               "    if (at < 0) at = 0;\n"
                               "    y[(o * length + at + j) * inner + i] = v[item];\n"
                               "}\n";
    const uint8_t storage[] = {key->value, key->position, key->value};
    const int element = key->value == KN_U64 ? KN_U64 : KN_I64;
    kni_ir_parse_options options = {"place_at", "place_at", element, KN_F32, storage, KN_I64};
    return kni_ir_parse(text, sizeof text - 1, &options);
}

/* Elements move as whole numbers of their size. */
static int raw_dtype(size_t bytes)
{
    return bytes == 1 ? KN_U8 : bytes == 2 ? KN_U16 : bytes == 4 ? KN_U32 : bytes == 8 ? KN_U64 : 0;
}

/* A block with the elements of x in order, and where they begin in it. */
static kn_status in_order(kni_gpu *g, kni_tensor *x, kni_gpu_block **block, kni_gpu_block **made,
                          int64_t *offset)
{
    *offset = 0;
    if (!kni_gpu_contiguous(x)) {
        kn_status s = kni_gpu_gather(g, x, made);
        *block = *made;
        return s;
    }
    if (x->storage) *offset = x->offset;
    return kni_gpu_operand(g, x, block, made);
}

kn_status kni_gpu_run_update_at(kni_gpu *g, const kn_record *r)
{
    const kni_at_attributes *a = r->attributes;
    kni_tensor *values = kni_in(r, 1), *position = kni_in(r, 2), *y = kni_out(r, 0);
    place_key key = {
        {'p', 'l', 'a', 'c', 'e'}, (uint8_t)raw_dtype(kni_gpu_element_bytes(y)), position->type.dtype};
    if (!key.value || kni_count(&values->type) == 0) return KN_ERROR_UNSUPPORTED;
    kni_gpu_kernel *k = kni_gpu_find(g, &key, sizeof key);
    if (!k) k = kni_gpu_add(g, &key, sizeof key, build_place(&key));
    if (!k) return kni_latest_code();
    kni_at_view v = kni_view_at(&y->type, &position->type, a->axis, values->type.dims[a->axis]);
    int64_t params[8] = {kni_count(&values->type), 0, 0, 0, v.length, v.size, v.inner, v.per};
    kni_gpu_block *blocks[3] = {NULL}, *made[2] = {NULL};
    kn_status s = in_order(g, values, &blocks[0], &made[0], &params[1]);
    if (s == KN_OK) s = in_order(g, position, &blocks[1], &made[1], &params[2]);
    if (s == KN_OK) s = kni_gpu_take_over(g, r);
    if (s == KN_OK) {
        blocks[2] = kni_gpu_block_of(y->storage);
        params[3] = y->offset;
        kni_launch_shape shape = kni_gpu_item_shape(g, k, params[0]);
        s = kni_gpu_launch(g, k, &shape, blocks, 3, -1, params);
    }
    for (int i = 0; i < 2; i++)
        if (made[i]) kni_gpu_give(made[i]);
    if (s == KN_OK) kni_gpu_finish(g, r, -1);
    return s;
}

/* ---- attention_at: a workgroup for each query and head, which walks over the keys that are there */

enum { WORKGROUP = 256, MOST_QUERIES = 16 };

typedef struct attend_key {
    char name[6];
    uint8_t element, lengths; /* dtypes */
} attend_key;

/* Each invocation has the score of a key of each block of 256, then one place of the values and a part of the block's keys. */
static kni_ir *build_attend(const attend_key *key)
{
    static const char text[] =
        "kernel attend_at(workgroup 256, in T q[], in T k[], in T v[], in index lengths[], out T y[], index "
        "heads,"
        " index key_heads, index queries, index keys, index size, index values, index each, index causal, "
        "f32 scale)\n"
        "{\n"
        "    shared f32 query[256];\n"
        "    shared f32 powers[256];\n"
        "    shared f32 sums[256];\n"
        "    index l = local_id(), g = group_id();\n"
        "    index i = g % queries, h = g / queries % heads, b = g / queries / heads;\n"
        "    index first = (b * key_heads + h / (heads / key_heads)) * keys, here = lengths[each ? b : 0];\n"
        "    if (here > keys) here = keys;\n"
        "    if (causal) here = here - queries + i + 1;\n"
        "    index seen = here;\n"
        "    if (l < size) query[l] = q[g * size + l] * scale;\n"
        "    barrier();\n"
        "    index parts = 256 / values, part = l / values, d = l % values;\n"
        "    f32 highest = -INF, total = 0, sum = 0;\n"
        "    for (index at = 0; at < seen; at += 256) {\n"
        "        f32 s = -INF;\n"
        "        if (at + l < seen) {\n"
        "            s = 0;\n"
        "            for (index c = 0; c < size; c++) s += query[c] * k[(first + at + l) * size + c];\n"
        "        }\n"
        "        f32 top = workgroup_max(s);\n"
        "        f32 next = top > highest ? top : highest;\n"
        "        f32 keep = highest > -INF ? exp(highest - next) : 0;\n"
        "        f32 power = s > -INF || is_nan(s) ? exp(s - next) : 0;\n"
        "        powers[l] = power;\n"
        "        total = total * keep + workgroup_sum(power);\n"
        "        barrier();\n"
        "        index end = seen - at < 256 ? seen - at : 256;\n"
        "        sum = sum * keep;\n"
        "        if (part < parts)\n"
        "            for (index j = part; j < end; j += parts) sum += powers[j] * v[(first + at + j) * "
        "values + d];\n"
        "        highest = next;\n"
        "        barrier();\n"
        "    }\n"
        "    sums[l] = sum;\n"
        "    barrier();\n"
        "    if (l < values) {\n"
        "        f32 all = 0;\n"
        "        for (index t = 0; t < parts; t++) all += sums[t * values + l];\n"
        "        y[g * values + l] = total != 0 ? all / total : 0;\n"
        "    }\n"
        "}\n";
    const uint8_t storage[] = {key->element, key->element, key->element, key->lengths, key->element};
    kni_ir_parse_options options = {"attend_at", "attend_at", KN_F32, KN_F32, storage, KN_I64};
    return kni_ir_parse(text, sizeof text - 1, &options);
}

/* The numbers of the kernel, as its text has them. */
typedef struct attend_params {
    int64_t items, offsets[5], heads, key_heads, queries, keys, size, values, each, causal;
    float scale;
} attend_params;

/* Few queries without mask, bias or softcap, whose vectors a workgroup holds. */
static bool attends(const kni_gpu *g, const kn_record *r)
{
    const kni_attention_attributes *a = r->attributes;
    const kni_type *q = &kni_in(r, 0)->type, *v = &kni_in(r, 2)->type;
    for (int i = 4; i < r->n_in; i++)
        if (kni_in(r, i)) return false;
    return q->dtype != KN_F64 && a->softcap == 0 && q->dims[2] <= MOST_QUERIES && q->dims[3] > 0 &&
           q->dims[3] <= WORKGROUP && v->dims[3] > 0 && v->dims[3] <= WORKGROUP && v->dims[1] > 0 &&
           g->driver->caps.max_workgroup >= WORKGROUP && g->driver->caps.shared_bytes >= 16384;
}

kn_status kni_gpu_run_attention_at(kni_gpu *g, const kn_record *r)
{
    kni_tensor *y = kni_out(r, 0), *lengths = kni_in(r, 3);
    if (!attends(g, r)) return KN_ERROR_UNSUPPORTED;
    attend_key key = {{'a', 't', 't', 'e', 'n', 'd'}, y->type.dtype, lengths->type.dtype};
    kni_gpu_kernel *k = kni_gpu_find(g, &key, sizeof key);
    if (!k) k = kni_gpu_add(g, &key, sizeof key, build_attend(&key));
    if (!k) return kni_latest_code();
    const int64_t *q = kni_in(r, 0)->type.dims, *keys = kni_in(r, 1)->type.dims, *v = kni_in(r, 2)->type.dims;
    const kni_attention_attributes *a = r->attributes;
    attend_params p = {.items = q[0] * q[1] * q[2],
                       .heads = q[1],
                       .key_heads = keys[1],
                       .queries = q[2],
                       .keys = keys[2],
                       .size = q[3],
                       .values = v[3],
                       .each = lengths->type.rank && lengths->type.dims[0] > 1,
                       .causal = a->is_causal != 0,
                       .scale = (float)kni_attention_scale(a, q[3])};
    if (p.items > INT32_MAX) return KN_ERROR_UNSUPPORTED;
    kni_gpu_block *blocks[5] = {NULL}, *made[4] = {NULL};
    kn_status s = KN_OK;
    for (int i = 0; i < 4 && s == KN_OK; i++)
        s = in_order(g, kni_in(r, i), &blocks[i], &made[i], &p.offsets[i]);
    if (s == KN_OK) s = kni_gpu_allocate(g, y);
    if (s == KN_OK) {
        blocks[4] = kni_gpu_block_of(y->storage);
        kni_launch_shape shape = {{(uint32_t)p.items, 1, 1}, WORKGROUP, 0};
        s = kni_gpu_launch(g, k, &shape, blocks, 5, -1, &p);
    }
    for (int i = 0; i < 4; i++)
        if (made[i]) kni_gpu_give(made[i]);
    if (s == KN_OK) kni_gpu_finish(g, r, -1);
    return s;
}
