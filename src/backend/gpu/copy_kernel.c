/* Building the kernels that move elements as raw bits between any strides. */
#include "backend/gpu/copy_kernel.h"
#include "ir/builder.h"

/* Elements are moved as whole numbers of their size, 16 bytes as two. */
static int raw_dtype(size_t bytes)
{
    return bytes == 1 ? KN_U8 : bytes == 2 ? KN_U16 : bytes == 4 ? KN_U32 : KN_U64;
}

static int compute_dtype(size_t bytes) { return bytes >= 8 ? KN_U64 : bytes == 4 ? KN_U32 : KN_I32; }

typedef struct copier {
    kni_ir_builder *b;
    int index;
} copier;

static kni_ir_id word(copier *c, const char *name, kni_ir_id x, kni_ir_id y)
{
    return kni_ir_word(c->b, name, x, y);
}
static kni_ir_id whole(copier *c, int64_t value) { return kni_ir_whole(c->b, c->index, value); }
static kni_ir_id number(copier *c, uint32_t param, int at)
{
    return kni_ir_cast(c->b, kni_ir_element(c->b, param, kni_ir_whole(c->b, KN_I64, at)), c->index);
}
static kni_ir_id add_product(copier *c, kni_ir_id sum, kni_ir_id x, kni_ir_id y)
{
    return word(c, "add", sum, word(c, "mul", x, y));
}

/* What is left of *value, which becomes the quotient. Nothing is negative. */
static kni_ir_id split(copier *c, kni_ir_id *value, kni_ir_id size)
{
    const int as = c->index == KN_I32 ? KN_U32 : KN_U64;
    kni_ir_id over = word(c, "div", kni_ir_cast(c->b, *value, as), kni_ir_cast(c->b, size, as));
    over = kni_ir_cast(c->b, over, c->index);
    kni_ir_id rest = word(c, "sub", *value, word(c, "mul", over, size));
    *value = over;
    return rest;
}

/* ---- one item for each element */

typedef struct part_params {
    uint32_t dims, strides, places;
} part_params;

static void copy_element(copier *c, const kni_copy_kind *k, int part, const part_params *params, uint32_t x,
                         uint32_t y, kni_ir_id item, kni_ir_id start)
{
    kni_ir_id left = item, from = whole(c, 0), to = start ? start : whole(c, 0);
    for (int a = k->ranks[part] - 1; a >= 0; a--) {
        kni_ir_id i = a ? split(c, &left, number(c, params->dims, a)) : left;
        from = add_product(c, from, i, number(c, params->strides, a));
        if (k->placed) to = add_product(c, to, i, number(c, params->places, a));
    }
    if (!k->placed) to = start ? word(c, "add", start, item) : item;
    const int lanes = k->bytes == 16 ? 2 : 1;
    if (lanes > 1) {
        from = word(c, "mul", from, whole(c, lanes));
        to = word(c, "mul", to, whole(c, lanes));
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
    copier c = {&b, k->index};
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
        if (!last) kni_ir_if(&b, word(&c, "lt", item, number(&c, ends, i)));
        kni_ir_id local = i ? word(&c, "sub", item, number(&c, ends, i - 1)) : item;
        copy_element(&c, k, i, &params[i], x[i], y, local, several ? number(&c, starts, i) : 0);
        if (!last) kni_ir_else(&b);
    }
    for (int i = 1; i < k->parts; i++) kni_ir_end(&b);
    return kni_ir_finish(&b);
}

/* ---- tiles */

typedef struct tiler {
    copier c;
    const kni_copy_tiles *k;
    uint32_t x, y, tile, dims;
    kni_ir_id local, first[2], step[2]; /* step: along the axis that lies apart, in x and in y */
    kni_ir_id base[2];
} tiler;

/* An element of the tile; a column of it begins in another bank than the next one. */
static kni_ir_id in_tile(tiler *t, kni_ir_id along_x, kni_ir_id along_y)
{
    const int pitch = t->k->side + (t->k->bytes < 4 ? 4 / t->k->bytes : 1);
    return add_product(&t->c, along_x, along_y, whole(&t->c, pitch));
}

/* Which places of the tile an invocation has in turn `turn` on one side: `near` begins its lanes, `far` is across. */
static bool places(tiler *t, int side, int turn, kni_ir_id *near, kni_ir_id *far)
{
    const int lanes = t->k->lanes[side], across = t->k->side / lanes, rows = KNI_COPY_WORKGROUP / across;
    copier *c = &t->c;
    kni_ir_id rest = t->local;
    if (turn * rows >= t->k->side) return false;
    *near = word(c, "mul", split(c, &rest, whole(c, across)), whole(c, lanes));
    *far = word(c, "add", rest, whole(c, turn * rows));
    return true;
}

/* The element in memory, and whether it exists: lanes divide the size, so all of them do or none. */
static kni_ir_id in_memory(tiler *t, int side, kni_ir_id near, kni_ir_id far, kni_ir_id *exists)
{
    copier *c = &t->c;
    near = word(c, "add", t->first[side], near);
    far = word(c, "add", t->first[1 - side], far);
    *exists = kni_ir_and(c->b, word(c, "lt", near, number(c, t->dims, side)),
                         word(c, "lt", far, number(c, t->dims, 1 - side)));
    return word(c, "add", t->base[side], add_product(c, near, far, t->step[side]));
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
            kni_ir_store(b, t->tile, in_tile(t, word(&t->c, "add", near, whole(&t->c, i)), far),
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
            kni_ir_id column = word(&t->c, "add", near, whole(&t->c, i));
            values[i] = kni_ir_load(b, t->tile, in_tile(t, far, column), dtype, 1);
        }
        kni_ir_store_where(b, t->y, at, kni_ir_pack(b, values, lanes), exists);
    }
}

kni_ir *kni_copy_build_tiles(const kni_copy_tiles *k)
{
    kni_ir_builder b = kni_ir_begin("turned_copy", KNI_COPY_WORKGROUP);
    tiler t = {.c = {&b, k->index}, .k = k};
    copier *c = &t.c;
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
        t.first[side] = word(c, "mul", split(c, &group, number(c, tiles, side)), whole(c, k->side));
        t.step[side] = number(c, strides[side], 1 - side);
        t.base[side] = whole(c, 0);
    }
    for (int a = k->rank - 1; a >= 2; a--) {
        kni_ir_id i = a > 2 ? split(c, &group, number(c, t.dims, a)) : group;
        for (int side = 0; side < 2; side++)
            t.base[side] = add_product(c, t.base[side], i, number(c, strides[side], a));
    }
    fill_tile(&t);
    kni_ir_barrier(&b);
    write_tile(&t);
    return kni_ir_finish(&b);
}
