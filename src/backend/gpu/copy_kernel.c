/* Building the kernels that move elements as raw bits between any strides. */
#include "backend/gpu/copy_kernel.h"
#include "backend/gpu/index_words.h"

/* Elements are moved as whole numbers of their size, 16 bytes as two. */
static int raw_dtype(size_t bytes)
{
    return bytes == 1 ? KN_U8 : bytes == 2 ? KN_U16 : bytes == 4 ? KN_U32 : KN_U64;
}

static int compute_dtype(size_t bytes) { return bytes >= 8 ? KN_U64 : bytes == 4 ? KN_U32 : KN_I32; }

/* ---- one item for each element */

typedef struct part_params {
    uint32_t dims, strides, places;
} part_params;

static void copy_element(const kni_indexer *c, const kni_copy_kind *k, int part, const part_params *params,
                         uint32_t x, uint32_t y, kni_ir_id item, kni_ir_id start)
{
    kni_ir_id left = item, from = kni_index_whole(c, 0), to = start ? start : kni_index_whole(c, 0);
    for (int a = k->ranks[part] - 1; a >= 0; a--) {
        kni_ir_id i = a ? kni_index_split(c, &left, kni_index_number(c, params->dims, a)) : left;
        from = kni_index_add_product(c, from, i, kni_index_number(c, params->strides, a));
        if (k->placed) to = kni_index_add_product(c, to, i, kni_index_number(c, params->places, a));
    }
    if (!k->placed) to = start ? kni_index_word(c, "add", start, item) : item;
    const int lanes = k->bytes == 16 ? 2 : 1;
    if (lanes > 1) {
        from = kni_index_word(c, "mul", from, kni_index_whole(c, lanes));
        to = kni_index_word(c, "mul", to, kni_index_whole(c, lanes));
    }
    kni_ir_store(c->b, y, to, kni_ir_load(c->b, x, from, compute_dtype(k->bytes), lanes));
}

static uint32_t add_buffer(kni_ir_builder *b, const kni_copy_kind *k, const char *name, int access)
{
    uint32_t made = kni_ir_buffer(b, name, raw_dtype(k->bytes), access);
    if (b->status == KN_OK) b->ir->bindings[made].aligned = k->bytes == 16 ? 2 : 1;
    return made;
}

/* A name of two letters and a number below 100. */
static const char *name_part(char *to, char letter, int part)
{
    to[0] = letter;
    to[1] = (char)('0' + part / 10);
    to[2] = (char)('0' + part % 10);
    to[3] = '\0';
    return to;
}

kni_ir *kni_copy_build(const kni_copy_kind *k)
{
    kni_ir_builder b = kni_ir_begin("strided_copy", 0);
    kni_indexer c = {&b, k->index};
    const bool several = k->parts > 1;
    uint32_t x[KNI_COPY_PARTS], ends = 0, starts = 0;
    part_params params[KNI_COPY_PARTS];
    char name[4];
    for (int i = 0; i < k->parts; i++) x[i] = add_buffer(&b, k, name_part(name, 'x', i), KNI_IR_READ);
    uint32_t y = add_buffer(&b, k, "y", KNI_IR_WRITE);
    kni_ir_add_item_params(&b);
    if (several) {
        ends = kni_ir_param_add(&b, "ends", KN_I64, k->parts);
        starts = kni_ir_param_add(&b, "starts", KN_I64, k->parts);
    }
    for (int i = 0; i < k->parts; i++) {
        params[i].dims = kni_ir_param_add(&b, name_part(name, 'd', i), KN_I64, k->ranks[i]);
        params[i].strides = kni_ir_param_add(&b, name_part(name, 's', i), KN_I64, k->ranks[i]);
        params[i].places = k->placed ? kni_ir_param_add(&b, name_part(name, 'p', i), KN_I64, k->ranks[i]) : 0;
    }
    kni_ir_id item = kni_ir_builtin_value(&b, KNI_IR_ITEM, 0, k->index);
    for (int i = 0; i < k->parts; i++) {
        const bool last = i == k->parts - 1;
        if (!last) kni_ir_if(&b, kni_index_word(&c, "lt", item, kni_index_number(&c, ends, i)));
        kni_ir_id local = i ? kni_index_word(&c, "sub", item, kni_index_number(&c, ends, i - 1)) : item;
        copy_element(&c, k, i, &params[i], x[i], y, local, several ? kni_index_number(&c, starts, i) : 0);
        if (!last) kni_ir_else(&b);
    }
    for (int i = 1; i < k->parts; i++) kni_ir_end(&b);
    return kni_ir_finish(&b);
}

/* ---- tiles */

typedef struct tiler {
    kni_indexer c;
    const kni_copy_tiles *k;
    uint32_t x, y, tile, dims;
    kni_ir_id local, first[2], step[2]; /* step: along the axis that lies apart, in x and in y */
    kni_ir_id base[2];
} tiler;

/* An element of the tile; a column of it begins in another bank than the next one. */
static kni_ir_id in_tile(tiler *t, kni_ir_id along_x, kni_ir_id along_y)
{
    const int pitch = t->k->side + (t->k->bytes < 4 ? 4 / t->k->bytes : 1);
    return kni_index_add_product(&t->c, along_x, along_y, kni_index_whole(&t->c, pitch));
}

/* Which places of the tile an invocation has in turn `turn` on one side: `near` begins its lanes, `far` is across. */
static bool places(tiler *t, int side, int turn, kni_ir_id *near, kni_ir_id *far)
{
    const int lanes = t->k->lanes[side], across = t->k->side / lanes, rows = KNI_COPY_WORKGROUP / across;
    const kni_indexer *c = &t->c;
    kni_ir_id rest = t->local;
    if (turn * rows >= t->k->side) return false;
    *near = kni_index_word(c, "mul", kni_index_split(c, &rest, kni_index_whole(c, across)),
                           kni_index_whole(c, lanes));
    *far = kni_index_word(c, "add", rest, kni_index_whole(c, turn * rows));
    return true;
}

/* The element in memory, and whether it exists: lanes divide the size, so all of them do or none. */
static kni_ir_id in_memory(tiler *t, int side, kni_ir_id near, kni_ir_id far, kni_ir_id *exists)
{
    const kni_indexer *c = &t->c;
    near = kni_index_word(c, "add", t->first[side], near);
    far = kni_index_word(c, "add", t->first[1 - side], far);
    *exists = kni_ir_and(c->b, kni_index_word(c, "lt", near, kni_index_number(c, t->dims, side)),
                         kni_index_word(c, "lt", far, kni_index_number(c, t->dims, 1 - side)));
    return kni_index_word(c, "add", t->base[side], kni_index_add_product(c, near, far, t->step[side]));
}

static void fill_tile(tiler *t)
{
    kni_ir_id near, far, exists;
    kni_ir_builder *b = t->c.b;
    const int lanes = t->k->lanes[0], dtype = compute_dtype(t->k->bytes);
    for (int turn = 0; places(t, 0, turn, &near, &far); turn++) {
        kni_ir_id at = in_memory(t, 0, near, far, &exists), none = kni_ir_whole(b, dtype, 0);
        if (lanes > 1) none = kni_ir_spread(b, none, lanes);
        kni_ir_id values = kni_ir_load_where(b, t->x, at, dtype, lanes, exists, none);
        for (int i = 0; i < lanes; i++)
            kni_ir_store(b, t->tile,
                         in_tile(t, kni_index_word(&t->c, "add", near, kni_index_whole(&t->c, i)), far),
                         lanes > 1 ? kni_ir_lane(b, values, i) : values);
    }
}

static void write_tile(tiler *t)
{
    kni_ir_id near, far, exists, values[16];
    kni_ir_builder *b = t->c.b;
    const int lanes = t->k->lanes[1], dtype = compute_dtype(t->k->bytes);
    for (int turn = 0; places(t, 1, turn, &near, &far); turn++) {
        kni_ir_id at = in_memory(t, 1, near, far, &exists);
        for (int i = 0; i < lanes; i++) {
            kni_ir_id column = kni_index_word(&t->c, "add", near, kni_index_whole(&t->c, i));
            values[i] = kni_ir_load(b, t->tile, in_tile(t, far, column), dtype, 1);
        }
        kni_ir_store_where(b, t->y, at, kni_ir_pack(b, values, lanes), exists);
    }
}

kni_ir *kni_copy_build_tiles(const kni_copy_tiles *k)
{
    kni_ir_builder b = kni_ir_begin("turned_copy", KNI_COPY_WORKGROUP);
    tiler t = {.c = {&b, k->index}, .k = k};
    const kni_indexer *c = &t.c;
    const int dtype = raw_dtype(k->bytes), pitch = k->side + (k->bytes < 4 ? 4 / k->bytes : 1);
    t.x = kni_ir_buffer(&b, "x", dtype, KNI_IR_READ);
    t.y = kni_ir_buffer(&b, "y", dtype, KNI_IR_WRITE);
    if (b.status == KN_OK) {
        b.ir->bindings[t.x].aligned = k->lanes[0];
        b.ir->bindings[t.y].aligned = k->lanes[1];
    }
    kni_ir_add_item_params(&b);
    uint32_t tiles = kni_ir_param_add(&b, "tiles", KN_I64, 2);
    t.dims = kni_ir_param_add(&b, "dims", KN_I64, k->rank);
    uint32_t strides[2] = {kni_ir_param_add(&b, "strides", KN_I64, k->rank),
                           kni_ir_param_add(&b, "places", KN_I64, k->rank)};
    t.tile = kni_ir_array(&b, "tile", dtype, KNI_IR_SHARED, (int64_t)k->side * pitch);
    kni_ir_id group = kni_ir_builtin_value(&b, KNI_IR_GROUP, 0, k->index);
    t.local = kni_ir_builtin_value(&b, KNI_IR_LOCAL, 0, k->index);
    for (int side = 0; side < 2; side++) {
        t.first[side] = kni_index_word(c, "mul", kni_index_split(c, &group, kni_index_number(c, tiles, side)),
                                       kni_index_whole(c, k->side));
        t.step[side] = kni_index_number(c, strides[side], 1 - side);
        t.base[side] = kni_index_whole(c, 0);
    }
    for (int a = k->rank - 1; a >= 2; a--) {
        kni_ir_id i = a > 2 ? kni_index_split(c, &group, kni_index_number(c, t.dims, a)) : group;
        for (int side = 0; side < 2; side++)
            t.base[side] = kni_index_add_product(c, t.base[side], i, kni_index_number(c, strides[side], a));
    }
    fill_tile(&t);
    kni_ir_barrier(&b);
    write_tile(&t);
    return kni_ir_finish(&b);
}
