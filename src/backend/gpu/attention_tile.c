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

kni_ir_id kni_attend_line(kni_attend *a, kni_ir_id first, kni_ir_id block, int i)
{
    return add(a, first, kni_attend_join(a, block, whole(a, B), whole(a, i)));
}

void kni_attend_clear(kni_attend *a, kni_ir_id *variables, int n)
{
    for (int i = 0; i < n; i++) variables[i] = kni_ir_variable(a->b, KN_F32, 1, kni_attend_real(a, 0));
}

/* ---- shared memory */

/* x, which is not negative, by a power of 2: the quotient, and what is left. */
static kni_ir_id parted(kni_attend *a, kni_ir_id x, uint32_t by, kni_ir_id *rest)
{
    uint32_t bits = 0;
    while (1u << bits < by) bits++;
    *rest = kni_ir_word(a->b, "and", x, whole(a, by - 1));
    return kni_ir_word(a->b, "shr", x, whole(a, bits));
}

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

/* Quad `quad` of each of the four lines of a block. */
static void load_lines(kni_attend *a, uint32_t first, uint32_t width, kni_ir_id block, kni_ir_id quad,
                       kni_ir_id lines[B])
{
    for (int i = 0; i < B; i++) {
        kni_ir_id line = kni_attend_join(a, block, whole(a, B), whole(a, i));
        lines[i] = kni_ir_load(a->b, a->stage, quad_place(a, first, width, line, block, quad), KN_F32, B);
    }
}

static void add_product(kni_attend *a, kni_ir_id cell, kni_ir_id x, kni_ir_id y)
{
    kni_ir_set(a->b, cell, kni_ir_fma(a->b, x, y, kni_ir_get(a->b, cell)));
}

void kni_attend_multiply(kni_attend *a, const kni_attend_rows *x, kni_ir_id first_x, const kni_attend_rows *y,
                         kni_ir_id first_y, const kni_ir_id *cells)
{
    const uint32_t terms = a->s->side / 2, half = a->s->side * terms;
    kni_ir_id left[B], right[B];
    kni_ir_id first = kni_ir_for(a->b, whole(a, 0), x->size, whole(a, terms));
    fetch(a, x, first_x, first, terms, 0);
    fetch(a, y, first_y, first, terms, half);
    kni_ir_barrier(a->b);
    kni_ir_id quad = kni_ir_for(a->b, whole(a, 0), whole(a, terms / B), whole(a, 1));
    load_lines(a, 0, terms, a->down, quad, left);
    load_lines(a, half, terms, a->across, quad, right);
    for (int t = 0; t < B; t++)
        for (int i = 0; i < B; i++)
            for (int j = 0; j < B; j++)
                add_product(a, cells[i * B + j], kni_ir_lane(a->b, left[i], t),
                            kni_ir_lane(a->b, right[j], t));
    kni_ir_end(a->b);
    kni_ir_barrier(a->b);
    kni_ir_end(a->b);
}

void kni_attend_hold(kni_attend *a, const kni_ir_id *values)
{
    for (int j = 0; j < B; j++) {
        kni_ir_id lanes[B], line = kni_attend_join(a, a->across, whole(a, B), whole(a, j));
        for (int i = 0; i < B; i++) lanes[i] = values[i * B + j];
        kni_ir_store(a->b, a->held, quad_place(a, 0, a->s->side, line, a->across, a->down),
                     kni_ir_pack(a->b, lanes, B));
    }
}

void kni_attend_gather(kni_attend *a, const kni_attend_rows *x, kni_ir_id first, const kni_ir_id *cells,
                       int chunks)
{
    const uint32_t side = a->s->side;
    for (int c = 0; c < chunks; c++) {
        kni_ir_barrier(a->b);
        fetch(a, x, first, whole(a, (int64_t)c * side), side, 0);
        kni_ir_barrier(a->b);
        kni_ir_id four = kni_ir_for(a->b, whole(a, 0), whole(a, side / B), whole(a, 1));
        for (int u = 0; u < B; u++) {
            kni_ir_id line = kni_attend_join(a, four, whole(a, B), whole(a, u));
            kni_ir_id left =
                kni_ir_load(a->b, a->held, quad_place(a, 0, side, line, four, a->down), KN_F32, B);
            kni_ir_id right =
                kni_ir_load(a->b, a->stage, quad_place(a, 0, side, line, four, a->across), KN_F32, B);
            for (int i = 0; i < B; i++)
                for (int j = 0; j < B; j++)
                    add_product(a, cells[(c * B + i) * B + j], kni_ir_lane(a->b, left, i),
                                kni_ir_lane(a->b, right, j));
        }
        kni_ir_end(a->b);
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
    kni_ir_id own = kni_attend_join(a, a->down, whole(a, B), whole(a, 0)), lines = whole(a, side);
    kni_ir_store(a->b, a->stage, kni_attend_join(a, a->across, lines, own), kni_ir_pack(a->b, values, B));
    kni_ir_barrier(a->b);
    kni_ir_id all = kni_ir_load(a->b, a->stage, own, KN_F32, B);
    for (uint32_t n = 1; n < side / B; n++)
        all = combined(a, largest, all,
                       kni_ir_load(a->b, a->stage, kni_attend_join(a, whole(a, n), lines, own), KN_F32, B));
    for (int i = 0; i < B; i++) values[i] = kni_ir_lane(a->b, all, i);
    if (again) kni_ir_barrier(a->b);
}

void kni_attend_store(kni_attend *a, const kni_attend_rows *to, kni_ir_id first, const kni_ir_id *values,
                      int chunk)
{
    for (int i = 0; i < B; i++) {
        kni_ir_id row = kni_attend_line(a, first, a->down, i), there = less(a, row, to->rows);
        kni_ir_id at = kni_attend_line(a, whole(a, (int64_t)chunk * a->s->side), a->across, 0);
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
