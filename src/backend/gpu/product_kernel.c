/* The tiled product: a workgroup makes one tile of the result from tiles of both operands in shared memory, each
   invocation a block of it in registers. Sums go through the terms in order. */
#include "backend/gpu/product_kernel.h"

enum { MAX_BLOCK = 8 };

typedef struct sums {
    kni_ir_id local, row,
        column; /* of this invocation: its number, its block's first row and column in the tile */
    kni_ir_id first_row, first_column, batch; /* of the tile */
    uint32_t shared_a, shared_b, pitch;
    kni_ir_id totals[MAX_BLOCK * MAX_BLOCK]; /* variables */
} sums;

static kni_ir_id add(kni_tiled *t, kni_ir_id x, kni_ir_id y) { return kni_ir_word(t->b, "add", x, y); }
static kni_ir_id mul(kni_tiled *t, kni_ir_id x, kni_ir_id y) { return kni_ir_word(t->b, "mul", x, y); }
static kni_ir_id less(kni_tiled *t, kni_ir_id x, kni_ir_id y) { return kni_ir_word(t->b, "lt", x, y); }
static kni_ir_id whole(kni_tiled *t, int64_t v) { return kni_ir_whole(t->b, t->index, v); }

kni_ir_id kni_tiled_number(kni_tiled *t, uint32_t param)
{
    return kni_ir_cast(t->b, kni_ir_param_value(t->b, param), t->index);
}

static kni_ir_id zero(kni_tiled *t)
{
    bool real = t->compute == KN_F32 || t->compute == KN_F64;
    return real ? kni_ir_real(t->b, t->compute, 0) : kni_ir_whole(t->b, t->compute, 0);
}

static kni_ir_id both(kni_tiled *t, kni_ir_id x, kni_ir_id y)
{
    return !x ? y : !y ? x : kni_ir_and(t->b, x, y);
}

/* Fills one tile in shared memory, laid out [term][row or column]. */
static void fetch(kni_tiled *t, const sums *s, bool left, kni_ir_id first_term)
{
    uint32_t workgroup = kni_tiled_workgroup(t), elements = t->tile * t->depth;
    bool along = left ? t->a_along_rows : t->b_along_rows;
    kni_ir_id terms = kni_tiled_number(t, t->k), edge = kni_tiled_number(t, left ? t->m : t->n);
    /* Which of the two counts fastest: neighbours in memory are fetched by neighbours. */
    bool term_first = left ? !along : along;
    uint32_t fast = term_first ? t->depth : t->tile;
    for (uint32_t e = 0; e < elements; e += workgroup) {
        kni_ir_id at = add(t, s->local, whole(t, e));
        kni_ir_id slow = kni_ir_word(t->b, "div", at, whole(t, fast));
        kni_ir_id rest = kni_ir_word(t->b, "sub", at, mul(t, slow, whole(t, fast)));
        kni_ir_id term = term_first ? rest : slow, side = term_first ? slow : rest;
        kni_ir_id k = add(t, first_term, term), row = add(t, left ? s->first_row : s->first_column, side);
        kni_ir_id inside = 0;
        kni_ir_id place =
            left ? t->place_a(t, row, k, s->batch, &inside) : t->place_b(t, k, row, s->batch, &inside);
        inside = both(t, kni_ir_and(t->b, less(t, k, terms), less(t, row, edge)), inside);
        kni_ir_id value = kni_ir_load_where(t->b, left ? t->a : t->b_, place, t->compute, 1, inside, zero(t));
        kni_ir_id to = add(t, mul(t, term, whole(t, s->pitch)), side);
        if (elements - e < workgroup)
            kni_ir_store_where(t->b, left ? s->shared_a : s->shared_b, to, value,
                               less(t, at, whole(t, elements)));
        else
            kni_ir_store(t->b, left ? s->shared_a : s->shared_b, to, value);
    }
}

static void multiply(kni_tiled *t, sums *s)
{
    bool real = t->compute == KN_F32 || t->compute == KN_F64;
    kni_ir_id term = kni_ir_for(t->b, whole(t, 0), whole(t, t->depth), whole(t, 1));
    kni_ir_id base = mul(t, term, whole(t, s->pitch));
    kni_ir_id left[MAX_BLOCK], right[MAX_BLOCK];
    for (uint32_t i = 0; i < t->block; i++) {
        left[i] = kni_ir_load(t->b, s->shared_a, add(t, base, add(t, s->row, whole(t, i))), t->compute, 1);
        right[i] =
            kni_ir_load(t->b, s->shared_b, add(t, base, add(t, s->column, whole(t, i))), t->compute, 1);
    }
    for (uint32_t i = 0; i < t->block; i++)
        for (uint32_t j = 0; j < t->block; j++) {
            kni_ir_id total = s->totals[i * t->block + j], old = kni_ir_get(t->b, total);
            kni_ir_set(t->b, total,
                       real ? kni_ir_fma(t->b, left[i], right[j], old)
                            : add(t, mul(t, left[i], right[j]), old));
        }
    kni_ir_end(t->b);
}

static void put(kni_tiled *t, const sums *s)
{
    kni_ir_id rows = kni_tiled_number(t, t->m), columns = kni_tiled_number(t, t->n);
    for (uint32_t i = 0; i < t->block; i++)
        for (uint32_t j = 0; j < t->block; j++) {
            kni_ir_id row = add(t, s->first_row, add(t, s->row, whole(t, i)));
            kni_ir_id column = add(t, s->first_column, add(t, s->column, whole(t, j))), unused = 0;
            kni_ir_id inside = kni_ir_and(t->b, less(t, row, rows), less(t, column, columns));
            kni_ir_id value = kni_ir_get(t->b, s->totals[i * t->block + j]);
            if (t->alpha) value = mul(t, value, kni_ir_param_value(t->b, t->alpha));
            if (t->place_bias) {
                kni_ir_id at = t->place_bias(t, row, column, s->batch);
                value = add(t, value, kni_ir_load_where(t->b, t->bias, at, t->compute, 1, inside, zero(t)));
            }
            kni_ir_store_where(t->b, t->y, t->place_y(t, row, column, s->batch, &unused), value, inside);
        }
}

/* The part for one matrix of the batch. */
static void one_matrix(kni_tiled *t, sums *s)
{
    for (uint32_t i = 0; i < t->block * t->block; i++)
        s->totals[i] = kni_ir_variable(t->b, t->compute, 1, zero(t));
    kni_ir_id first_term = kni_ir_for(t->b, whole(t, 0), kni_tiled_number(t, t->k), whole(t, t->depth));
    fetch(t, s, true, first_term);
    fetch(t, s, false, first_term);
    kni_ir_barrier(t->b);
    multiply(t, s);
    kni_ir_barrier(t->b);
    kni_ir_end(t->b);
    put(t, s);
}

void kni_tiled_build(kni_tiled *t)
{
    kni_ir_builder *b = t->b;
    sums s = {.pitch = t->tile + 1};
    int64_t length = (int64_t)s.pitch * t->depth;
    s.shared_a = kni_ir_array(b, "tile_a", t->compute, KNI_IR_SHARED, length);
    s.shared_b = kni_ir_array(b, "tile_b", t->compute, KNI_IR_SHARED, length);
    kni_ir_id across = whole(t, t->tile / t->block);
    s.local = kni_ir_builtin_value(b, KNI_IR_LOCAL, 0, t->index);
    kni_ir_id down = kni_ir_word(b, "div", s.local, across);
    s.row = mul(t, down, whole(t, t->block));
    s.column = mul(t, kni_ir_word(b, "sub", s.local, mul(t, down, across)), whole(t, t->block));
    /* The tile, columns first. */
    kni_ir_id n = kni_tiled_number(t, t->n), edge = whole(t, t->tile);
    kni_ir_id wide = kni_ir_word(b, "div", add(t, n, whole(t, t->tile - 1)), edge);
    kni_ir_id group = kni_ir_builtin_value(b, KNI_IR_GROUP, 0, t->index);
    kni_ir_id tile_row = kni_ir_word(b, "div", group, wide);
    s.first_row = mul(t, tile_row, edge);
    s.first_column = mul(t, kni_ir_word(b, "sub", group, mul(t, tile_row, wide)), edge);
    s.batch =
        kni_ir_for(b, kni_ir_builtin_value(b, KNI_IR_GROUP, 1, t->index), kni_tiled_number(t, t->batches),
                   kni_ir_builtin_value(b, KNI_IR_GROUPS, 1, t->index));
    one_matrix(t, &s);
    kni_ir_end(b);
}
