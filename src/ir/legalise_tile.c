/* Matrix tiles as plain loops. Each lane of a subgroup of S has its share of the sum, some whole rows (S up to 16) or a
   part of one, and of the factors what that share needs; so lanes never wait for each other. */
#include "ir/legalise.h"

enum { SIDE = 16 };

/* The share of a lane: rows x columns of the sum, where they begin. */
typedef struct share {
    uint32_t rows, columns;
    kni_ir_id row, column; /* I64 */
    kni_ir_id lane, parts; /* parts: lanes that share a row */
} share;

static kni_ir_id whole(kni_legaliser *l, int64_t v) { return kni_ir_whole(&l->builder, KN_I64, v); }

static void share_size(const kni_legaliser *l, uint32_t *rows, uint32_t *columns)
{
    *rows = l->lanes < SIDE ? SIDE / l->lanes : 1;
    *columns = l->lanes <= SIDE ? SIDE : SIDE * SIDE / l->lanes;
    if (!*columns) *columns = 1;
}

static share share_of(kni_legaliser *l)
{
    kni_ir_builder *b = &l->builder;
    share s = {0};
    share_size(l, &s.rows, &s.columns);
    s.lane = kni_ir_cast(b, kni_legalise_lane(l), KN_I64);
    s.parts = whole(l, SIDE / s.columns);
    s.row = kni_ir_word(b, "mul", kni_ir_word(b, "div", s.lane, s.parts), whole(l, s.rows));
    s.column = kni_ir_word(b, "mul", kni_ir_word(b, "fmod", s.lane, s.parts), whole(l, s.columns));
    return s;
}

/* How many rows and columns of a tile a lane keeps. */
static void kept(const kni_legaliser *l, int role, uint32_t *rows, uint32_t *columns)
{
    share_size(l, rows, columns);
    if (role == KNI_IR_TILE_LEFT) *columns = SIDE;
    if (role == KNI_IR_TILE_RIGHT) *rows = SIDE;
}

static kni_ir_id count(kni_legaliser *l, uint32_t below)
{
    return kni_ir_for(&l->builder, whole(l, 0), whole(l, below), whole(l, 1));
}

static kni_ir_id plus(kni_legaliser *l, kni_ir_id x, kni_ir_id y)
{
    return kni_ir_word(&l->builder, "add", x, y);
}

static kni_ir_id times(kni_legaliser *l, kni_ir_id x, kni_ir_id y)
{
    return kni_ir_word(&l->builder, "mul", x, y);
}

static void declare(kni_legaliser *l, kni_ir_id id)
{
    kni_ir_node *node = kni_ir_at(l->ir, id);
    uint32_t rows, columns;
    kept(l, node->detail, &rows, &columns);
    uint32_t array = kni_legalise_array(l, "tile", KN_F32, KNI_IR_PRIVATE, (int64_t)rows * columns);
    kni_ir_at(l->ir, id)->index = array;
}

static void fill(kni_legaliser *l, const kni_ir_node *node, const kni_ir_node *tile)
{
    kni_ir_builder *b = &l->builder;
    uint32_t rows, columns;
    kept(l, tile->detail, &rows, &columns);
    kni_ir_id value = kni_ir_round_to(b, node->b, tile->type.dtype);
    kni_ir_id i = count(l, rows * columns);
    kni_ir_store(b, tile->index, i, value);
    kni_ir_end(b);
}

/* Between the binding and the lane's part of the tile. */
static void move(kni_legaliser *l, const kni_ir_node *node, const kni_ir_node *tile, bool loads)
{
    kni_ir_builder *b = &l->builder;
    uint32_t rows, columns;
    kept(l, tile->detail, &rows, &columns);
    share s = share_of(l);
    kni_ir_id at = kni_ir_cast(b, node->b, KN_I64), stride = kni_ir_cast(b, node->c, KN_I64);
    bool left = tile->detail == KNI_IR_TILE_LEFT, right = tile->detail == KNI_IR_TILE_RIGHT;
    /* Lanes that keep the same elements of a factor do not all write them. */
    bool guarded = !loads && ((left && s.columns < SIDE) || (right && s.rows < SIDE));
    if (guarded) kni_ir_if(b, kni_ir_word(b, "eq", left ? s.column : s.row, whole(l, 0)));
    kni_ir_id r = count(l, rows), c = count(l, columns);
    kni_ir_id row = right ? r : plus(l, s.row, r), column = left ? c : plus(l, s.column, c);
    kni_ir_id there = plus(l, plus(l, at, times(l, row, stride)), column);
    kni_ir_id here = plus(l, times(l, r, whole(l, columns)), c);
    if (loads)
        kni_ir_store(b, tile->index, here, kni_ir_load(b, node->index, there, KN_F32, 1));
    else
        kni_ir_store(b, node->index, there, kni_ir_load(b, tile->index, here, KN_F32, 1));
    kni_ir_end(b);
    kni_ir_end(b);
    if (guarded) kni_ir_end(b);
}

static void multiply(kni_legaliser *l, const kni_ir_node *node)
{
    kni_ir_builder *b = &l->builder;
    uint32_t rows, columns;
    share_size(l, &rows, &columns);
    uint32_t sum = kni_ir_at(l->ir, node->a)->index, left = kni_ir_at(l->ir, node->b)->index,
             right = kni_ir_at(l->ir, node->c)->index;
    kni_ir_id r = count(l, rows), c = count(l, columns);
    kni_ir_id place = plus(l, times(l, r, whole(l, columns)), c);
    kni_ir_id total = kni_ir_variable(b, KN_F32, 1, kni_ir_load(b, sum, place, KN_F32, 1));
    kni_ir_id k = count(l, SIDE);
    kni_ir_id x = kni_ir_load(b, left, plus(l, times(l, r, whole(l, SIDE)), k), KN_F32, 1);
    kni_ir_id y = kni_ir_load(b, right, plus(l, times(l, k, whole(l, columns)), c), KN_F32, 1);
    kni_ir_set(b, total, plus(l, kni_ir_get(b, total), times(l, x, y)));
    kni_ir_end(b);
    kni_ir_store(b, sum, place, kni_ir_get(b, total));
    kni_ir_end(b);
    kni_ir_end(b);
}

void kni_legalise_tile(kni_legaliser *l, kni_ir_id id)
{
    kni_ir_node node = *kni_ir_at(l->ir, id);
    if (node.code == KNI_IR_TILE) {
        declare(l, id);
        return;
    }
    kni_ir_node tile = *kni_ir_at(l->ir, node.a);
    if (node.code == KNI_IR_TILE_FILL)
        fill(l, &node, &tile);
    else if (node.code == KNI_IR_TILE_MULTIPLY)
        multiply(l, &node);
    else
        move(l, &node, &tile, node.code == KNI_IR_TILE_LOAD);
}
