/* Tiles of attention in the kernel language: vectors of the operands come into shared memory in pieces, every invocation makes
   a block of four by four cells, and weights lie in shared memory by column. Quads change places by their lines, so that neither
   those who fill shared memory nor those who read it meet in one bank. */
#include "backend/gpu/attention_tile.h"
#include "sched/emit_body.h"

enum { B = KNI_ATTEND_B };

/* ---- values */

kni_ir_id kni_attend_whole(kni_attend *a, int64_t value) { return kni_ir_whole(a->b, a->index, value); }
kni_ir_id kni_attend_real(kni_attend *a, double value) { return kni_ir_real(a->b, KN_F32, value); }
kni_ir_id kni_attend_number(kni_attend *a, int which)
{
    return kni_ir_cast(a->b, kni_ir_param_value(a->b, a->wholes[which]), a->index);
}
kni_ir_id kni_attend_factor(kni_attend *a, int which) { return kni_ir_param_value(a->b, a->reals[which]); }
kni_ir_id kni_attend_word(kni_attend *a, const char *name, kni_ir_id x, kni_ir_id y)
{
    return kni_ir_word(a->b, name, x, y);
}

static kni_ir_id add(kni_attend *a, kni_ir_id x, kni_ir_id y) { return kni_ir_word(a->b, "add", x, y); }
static kni_ir_id mul(kni_attend *a, kni_ir_id x, kni_ir_id y) { return kni_ir_word(a->b, "mul", x, y); }
static kni_ir_id less(kni_attend *a, kni_ir_id x, kni_ir_id y) { return kni_ir_word(a->b, "lt", x, y); }
static kni_ir_id whole(kni_attend *a, int64_t value) { return kni_attend_whole(a, value); }

kni_ir_id kni_attend_join(kni_attend *a, kni_ir_id x, kni_ir_id y, kni_ir_id z)
{
    return add(a, mul(a, x, y), z);
}

kni_ir_id kni_attend_power(kni_attend *a, kni_ir_id x)
{
    return kni_emit_power_in(a->b, a->target->caps->dialect, x, KNI_POWER_ALL);
}

/* x, which is not negative, by a power of 2: the quotient, and what is left. */
static kni_ir_id parted(kni_attend *a, kni_ir_id x, uint32_t by, kni_ir_id *rest)
{
    uint32_t bits = 0;
    while (1u << bits < by) bits++;
    *rest = kni_ir_word(a->b, "and", x, whole(a, by - 1));
    return kni_ir_word(a->b, "shr", x, whole(a, bits));
}

/* Thirty-two neighbours make 8 x 4 blocks where a tile has so many, so that few of them are busy where a tile is nearly empty. */
void kni_attend_find_block(kni_attend *a)
{
    enum { DOWN = 8, ACROSS = 4 };
    const int down = a->s->side / a->s->rows, across = a->s->side / B;
    if (down % DOWN || across % ACROSS) {
        a->down = kni_ir_word(a->b, "div", a->local, whole(a, across));
        a->across = kni_ir_word(a->b, "sub", a->local, mul(a, a->down, whole(a, across)));
        return;
    }
    kni_ir_id place, column, group = parted(a, a->local, DOWN * ACROSS, &place);
    kni_ir_id row = parted(a, place, ACROSS, &column), high;
    kni_ir_id low = parted(a, group, (uint32_t)(across / ACROSS), &high);
    a->down = kni_attend_join(a, low, whole(a, DOWN), row);
    a->across = kni_attend_join(a, high, whole(a, ACROSS), column);
}

kni_ir_id kni_attend_row(kni_attend *a, kni_ir_id first, int i)
{
    return add(a, first, kni_attend_join(a, a->down, whole(a, a->s->rows), whole(a, i)));
}

kni_ir_id kni_attend_column(kni_attend *a, kni_ir_id first, int i)
{
    return add(a, first, kni_attend_join(a, a->across, whole(a, B), whole(a, i)));
}

void kni_attend_clear(kni_attend *a, kni_ir_id *variables, int n)
{
    for (int i = 0; i < n; i++) variables[i] = kni_ir_variable(a->b, KN_F32, 1, kni_attend_real(a, 0));
}

/* ---- shared memory */

/* Where quad number `quad` of a line of `width` elements lies; `four`: the line's number by four. */
static kni_ir_id quad_place(kni_attend *a, uint32_t first, uint32_t width, kni_ir_id line, kni_ir_id four,
                            kni_ir_id quad)
{
    kni_ir_id moved = kni_ir_word(a->b, "and", four, whole(a, width / B - 1));
    quad = mul(a, kni_ir_word(a->b, "xor", quad, moved), whole(a, B));
    return add(a, kni_attend_join(a, line, whole(a, width), quad), whole(a, first));
}

/* Elements first_element .. + width - 1 of a tile's vectors, in the stage from its element `to` on; 0 where there are none. */
static void fetch(kni_attend *a, const kni_attend_rows *x, kni_ir_id first, kni_ir_id first_element,
                  uint32_t width, uint32_t to)
{
    const uint32_t lanes = a->s->quads ? B : 1, workgroup = kni_attend_workgroup(a->s);
    const uint32_t fetches = a->s->side * width / lanes / workgroup;
    for (uint32_t n = 0; n < fetches; n++) {
        kni_ir_id element, lane, unused;
        kni_ir_id line = parted(a, add(a, a->local, whole(a, n * workgroup)), width / lanes, &element);
        if (lanes > 1) element = mul(a, element, whole(a, lanes));
        kni_ir_id row = add(a, first, line), at = add(a, first_element, element);
        kni_ir_id inside = kni_ir_and(a->b, less(a, row, x->rows), less(a, at, x->size));
        kni_ir_id place = add(a, kni_attend_join(a, row, x->step, x->base), at);
        kni_ir_id value =
            kni_ir_load_where(a->b, x->binding, place, KN_F32, (int)lanes, inside, kni_attend_real(a, 0));
        kni_ir_id quad = parted(a, element, B, &lane);
        place = quad_place(a, to, width, line, parted(a, line, B, &unused), quad);
        kni_ir_store(a->b, a->stage, lanes > 1 ? place : add(a, place, lane), value);
    }
}

/* Number n of the groups of four rows of this invocation's block, among those of the tile. */
static kni_ir_id four_of_rows(kni_attend *a, int n)
{
    return kni_attend_join(a, a->down, whole(a, a->s->rows / B), whole(a, n));
}

/* Quad `quad` of each of the four lines of a group. */
static void load_lines(kni_attend *a, uint32_t first, uint32_t width, kni_ir_id four, kni_ir_id quad,
                       kni_ir_id lines[B])
{
    for (int i = 0; i < B; i++) {
        kni_ir_id line = kni_attend_join(a, four, whole(a, B), whole(a, i));
        lines[i] = kni_ir_load(a->b, a->stage, quad_place(a, first, width, line, four, quad), KN_F32, B);
    }
}

static void add_product(kni_attend *a, kni_ir_id cell, kni_ir_id x, kni_ir_id y)
{
    kni_ir_set(a->b, cell, kni_ir_fma(a->b, x, y, kni_ir_get(a->b, cell)));
}

/* Whether blocks that have nothing of a tile pass over its products. PoCL takes minutes to compile the conditions. */
static bool skips(const kni_attend *a)
{
    const int dialect = a->target->caps->dialect;
    return dialect == KNI_IR_CUDA || dialect == KNI_IR_HIP;
}

void kni_attend_multiply(kni_attend *a, const kni_attend_rows *x, kni_ir_id first_x, const kni_attend_rows *y,
                         kni_ir_id first_y, const kni_ir_id *cells)
{
    const uint32_t terms = a->s->side / 2, half = a->s->side * terms;
    const int rows = a->s->rows;
    kni_ir_id left[KNI_ATTEND_ROWS], right[B];
    kni_ir_id used = kni_ir_and(a->b, less(a, kni_attend_row(a, first_x, 0), x->rows),
                                less(a, kni_attend_column(a, first_y, 0), y->rows));
    kni_ir_id first = kni_ir_for(a->b, whole(a, 0), x->size, whole(a, terms));
    fetch(a, x, first_x, first, terms, 0);
    fetch(a, y, first_y, first, terms, half);
    kni_ir_barrier(a->b);
    if (skips(a)) kni_ir_if(a->b, used);
    kni_ir_id quad = kni_ir_for(a->b, whole(a, 0), whole(a, terms / B), whole(a, 1));
    for (int n = 0; n < rows / B; n++) load_lines(a, 0, terms, four_of_rows(a, n), quad, left + n * B);
    load_lines(a, half, terms, a->across, quad, right);
    for (int t = 0; t < B; t++)
        for (int i = 0; i < rows; i++)
            for (int j = 0; j < B; j++)
                add_product(a, cells[i * B + j], kni_ir_lane(a->b, left[i], t),
                            kni_ir_lane(a->b, right[j], t));
    kni_ir_end(a->b);
    if (skips(a)) kni_ir_end(a->b);
    kni_ir_barrier(a->b);
    kni_ir_end(a->b);
}

void kni_attend_hold(kni_attend *a, const kni_ir_id *values)
{
    for (int j = 0; j < B; j++) {
        kni_ir_id lanes[B], line = kni_attend_join(a, a->across, whole(a, B), whole(a, j));
        for (int n = 0; n < a->s->rows / B; n++) {
            for (int i = 0; i < B; i++) lanes[i] = values[(n * B + i) * B + j];
            kni_ir_store(a->b, a->held, quad_place(a, 0, a->s->side, line, a->across, four_of_rows(a, n)),
                         kni_ir_pack(a->b, lanes, B));
        }
    }
}

void kni_attend_gather(kni_attend *a, const kni_attend_rows *x, kni_ir_id first, kni_ir_id first_row,
                       kni_ir_id rows, const kni_ir_id *cells, int chunks)
{
    const uint32_t side = a->s->side;
    const int tall = a->s->rows;
    kni_ir_id used = less(a, kni_attend_row(a, first_row, 0), rows), left[KNI_ATTEND_ROWS / B];
    /* What is held of vectors that are not there is 0. */
    kni_ir_id there = kni_ir_word(a->b, "min", whole(a, side), kni_ir_word(a->b, "sub", x->rows, first));
    kni_ir_id fours = kni_ir_word(a->b, "shr", add(a, there, whole(a, B - 1)), whole(a, 2));
    if (!skips(a)) fours = whole(a, side / B);
    for (int c = 0; c < chunks; c++) {
        kni_ir_barrier(a->b);
        fetch(a, x, first, whole(a, (int64_t)c * side), side, 0);
        kni_ir_barrier(a->b);
        if (skips(a)) kni_ir_if(a->b, used);
        kni_ir_id four = kni_ir_for(a->b, whole(a, 0), fours, whole(a, 1));
        for (int u = 0; u < B; u++) {
            kni_ir_id line = kni_attend_join(a, four, whole(a, B), whole(a, u));
            for (int n = 0; n < tall / B; n++)
                left[n] = kni_ir_load(a->b, a->held, quad_place(a, 0, side, line, four, four_of_rows(a, n)),
                                      KN_F32, B);
            kni_ir_id right =
                kni_ir_load(a->b, a->stage, quad_place(a, 0, side, line, four, a->across), KN_F32, B);
            for (int i = 0; i < tall; i++)
                for (int j = 0; j < B; j++)
                    add_product(a, cells[(c * tall + i) * B + j], kni_ir_lane(a->b, left[i / B], i % B),
                                kni_ir_lane(a->b, right, j));
        }
        kni_ir_end(a->b);
        if (skips(a)) kni_ir_end(a->b);
    }
    kni_ir_barrier(a->b);
}

/* The larger one where x is no NaN; of two vectors. */
static kni_ir_id combined(kni_attend *a, bool largest, kni_ir_id old, kni_ir_id x)
{
    return largest ? kni_ir_select(a->b, kni_ir_word(a->b, "gt", x, old), x, old) : add(a, old, x);
}

void kni_attend_over_columns(kni_attend *a, bool largest, kni_ir_id *values, bool again)
{
    const uint32_t side = a->s->side;
    const int fours = a->s->rows / B;
    kni_ir_id own = mul(a, a->down, whole(a, a->s->rows)), lines = whole(a, side);
    for (int k = 0; k < fours; k++) {
        kni_ir_id to = add(a, kni_attend_join(a, a->across, lines, own), whole(a, (int64_t)k * B));
        kni_ir_store(a->b, a->stage, to, kni_ir_pack(a->b, values + k * B, B));
    }
    kni_ir_barrier(a->b);
    for (int k = 0; k < fours; k++) {
        kni_ir_id all = 0;
        for (uint32_t n = 0; n < side / B; n++) {
            kni_ir_id from = add(a, kni_attend_join(a, whole(a, n), lines, own), whole(a, (int64_t)k * B));
            kni_ir_id part = kni_ir_load(a->b, a->stage, from, KN_F32, B);
            all = n ? combined(a, largest, all, part) : part;
        }
        for (int i = 0; i < B; i++) values[k * B + i] = kni_ir_lane(a->b, all, i);
    }
    if (again) kni_ir_barrier(a->b);
}

void kni_attend_store(kni_attend *a, const kni_attend_rows *to, kni_ir_id first, const kni_ir_id *values,
                      int chunk)
{
    for (int i = 0; i < a->s->rows; i++) {
        kni_ir_id row = kni_attend_row(a, first, i), there = less(a, row, to->rows);
        kni_ir_id at = kni_attend_column(a, whole(a, (int64_t)chunk * a->s->side), 0);
        kni_ir_id place = add(a, kni_attend_join(a, row, to->step, to->base), at);
        if (a->s->quads) {
            kni_ir_store_where(a->b, to->binding, place, kni_ir_pack(a->b, values + i * B, B),
                               kni_ir_and(a->b, there, less(a, at, to->size)));
            continue;
        }
        for (int j = 0; j < B; j++)
            kni_ir_store_where(a->b, to->binding, add(a, place, whole(a, j)), values[i * B + j],
                               kni_ir_and(a->b, there, less(a, add(a, at, whole(a, j)), to->size)));
    }
}
