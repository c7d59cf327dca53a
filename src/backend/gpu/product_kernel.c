/* The tiled product: a workgroup makes one tile of the result from tiles of both operands in shared memory, each
   invocation a block of it in registers. What the next step multiplies is on its way while this one's is multiplied.
   Where there are few tiles, slices of the workgroup share the terms of one and are added in order at the end. */
#include "backend/gpu/product_kernel.h"

enum { BLOCK = KNI_TILED_BLOCK, MOST_FETCHES = 16, BANKS = 8 /* of a quad each */ };

/* One operand in shared memory, in quads along the axis on which neighbours lie: [term][row or column], or the other way
   round where several terms are fetched at once. Quads change places so that neither those who fill it nor those who read
   it meet in one bank. */
typedef struct side {
    bool left;
    uint32_t length;              /* rows or columns of a tile */
    uint32_t first;               /* its place in the shared array */
    uint32_t lanes;               /* fetched at once */
    bool along_terms;             /* neighbours in memory are terms */
    uint32_t fetches;             /* by each invocation */
    kni_ir_id next[MOST_FETCHES]; /* variables: what the next step needs */
} side;

typedef struct sums {
    side a, b;
    uint32_t shared, workgroup, terms;        /* terms of a step, of all slices */
    kni_ir_id local, slice, down, across;     /* of this invocation: its number, slice, block in the tile */
    kni_ir_id first_row, first_column, batch; /* of the tile */
    kni_ir_id totals[BLOCK * BLOCK];          /* variables */
    uint32_t suspects;                        /* private array: results of this invocation, summed again */
} sums;

static kni_ir_id add(kni_tiled *t, kni_ir_id x, kni_ir_id y) { return kni_ir_word(t->b, "add", x, y); }
static kni_ir_id mul(kni_tiled *t, kni_ir_id x, kni_ir_id y) { return kni_ir_word(t->b, "mul", x, y); }
static kni_ir_id less(kni_tiled *t, kni_ir_id x, kni_ir_id y) { return kni_ir_word(t->b, "lt", x, y); }
static kni_ir_id whole(kni_tiled *t, int64_t v) { return kni_ir_whole(t->b, t->index, v); }

kni_ir_id kni_tiled_number(kni_tiled *t, uint32_t param)
{
    return kni_ir_cast(t->b, kni_ir_param_value(t->b, param), t->index);
}

int kni_tiled_compute(int dtype)
{
    int compute = kni_compute_dtype[kni_compute_of[dtype]];
    return compute == KN_I32 || compute == KN_U64 ? KN_I64 : compute;
}

static bool is_real(const kni_tiled *t) { return t->compute == KN_F32 || t->compute == KN_F64; }

static kni_ir_id zero(kni_tiled *t)
{
    return is_real(t) ? kni_ir_real(t->b, t->compute, 0) : kni_ir_whole(t->b, t->compute, 0);
}

static kni_ir_id both(kni_tiled *t, kni_ir_id x, kni_ir_id y)
{
    return !x ? y : !y ? x : kni_ir_and(t->b, x, y);
}

/* x, which is not negative, by a power of 2: the quotient, and what is left. */
static kni_ir_id parted(kni_tiled *t, kni_ir_id x, uint32_t by, kni_ir_id *rest)
{
    uint32_t bits = 0;
    while (1u << bits < by) bits++;
    *rest = kni_ir_word(t->b, "and", x, whole(t, by - 1));
    return kni_ir_word(t->b, "shr", x, whole(t, bits));
}

/* Whether its quads are terms. */
static bool by_terms(const side *x) { return x->along_terms && x->lanes > 1; }

/* Where the quad lies that has number `quad` of line `line`, of the lines of four `four`. */
static kni_ir_id quad_place(kni_tiled *t, const sums *s, const side *x, kni_ir_id line, kni_ir_id four,
                            kni_ir_id quad)
{
    uint32_t length = by_terms(x) ? s->terms : x->length, quads = length / BLOCK;
    kni_ir_id moved = kni_ir_word(t->b, "and", four, whole(t, (quads < BANKS ? quads : BANKS) - 1));
    quad = mul(t, kni_ir_word(t->b, "xor", quad, moved), whole(t, BLOCK));
    return add(t, add(t, mul(t, line, whole(t, length)), quad), whole(t, x->first));
}

/* ---- from memory to registers, and from there to shared memory */

/* Fetch number n of this invocation: the first term and row (or column) in the tile. */
static void place_of_fetch(kni_tiled *t, const sums *s, const side *x, uint32_t n, kni_ir_id *term,
                           kni_ir_id *at, kni_ir_id *exists)
{
    uint32_t all = x->length * s->terms / x->lanes, fast = (x->along_terms ? s->terms : x->length) / x->lanes;
    kni_ir_id number = add(t, s->local, whole(t, n * s->workgroup)), rest;
    kni_ir_id slow = parted(t, number, fast, &rest);
    rest = mul(t, rest, whole(t, x->lanes));
    *term = x->along_terms ? rest : slow;
    *at = x->along_terms ? slow : rest;
    *exists = (n + 1) * s->workgroup > all ? less(t, number, whole(t, all)) : 0;
}

static void fetch(kni_tiled *t, sums *s, side *x, kni_ir_id first_term)
{
    kni_ir_id terms = kni_tiled_number(t, t->k), edge = kni_tiled_number(t, x->left ? t->m : t->n);
    for (uint32_t n = 0; n < x->fetches; n++) {
        kni_ir_id term, at, exists, inside = 0;
        place_of_fetch(t, s, x, n, &term, &at, &exists);
        kni_ir_id k = add(t, first_term, term), row = add(t, x->left ? s->first_row : s->first_column, at);
        kni_ir_id place =
            x->left ? t->place_a(t, row, k, s->batch, &inside) : t->place_b(t, k, row, s->batch, &inside);
        inside = both(t, kni_ir_and(t->b, less(t, k, terms), less(t, row, edge)), inside);
        kni_ir_id value = kni_ir_load_where(t->b, x->left ? t->a : t->b_, place, t->compute, (int)x->lanes,
                                            both(t, inside, exists), zero(t));
        kni_ir_set(t->b, x->next[n], value);
    }
}

static void keep(kni_tiled *t, const sums *s, const side *x)
{
    for (uint32_t n = 0; n < x->fetches; n++) {
        kni_ir_id term, at, exists, lane, unused;
        place_of_fetch(t, s, x, n, &term, &at, &exists);
        kni_ir_id line = by_terms(x) ? at : term;
        kni_ir_id quad = parted(t, by_terms(x) ? term : at, BLOCK, &lane);
        kni_ir_id place = quad_place(t, s, x, line, parted(t, line, BLOCK, &unused), quad);
        if (x->lanes == 1) place = add(t, place, lane);
        kni_ir_store_where(t->b, s->shared, place, kni_ir_get(t->b, x->next[n]), exists);
    }
}

/* ---- multiplying */

/* The values of four rows (or columns), from the block'th four on, at four terms: [term][row]. */
static void load_block(kni_tiled *t, const sums *s, const side *x, kni_ir_id four, kni_ir_id block,
                       kni_ir_id values[BLOCK][BLOCK])
{
    for (int u = 0; u < BLOCK; u++) {
        kni_ir_id line = add(t, mul(t, by_terms(x) ? block : four, whole(t, BLOCK)), whole(t, u));
        kni_ir_id place =
            by_terms(x) ? quad_place(t, s, x, line, block, four) : quad_place(t, s, x, line, four, block);
        kni_ir_id quad = kni_ir_load(t->b, s->shared, place, t->compute, BLOCK);
        for (int i = 0; i < BLOCK; i++)
            *(by_terms(x) ? &values[i][u] : &values[u][i]) = kni_ir_lane(t->b, quad, i);
    }
}

static void multiply(kni_tiled *t, sums *s)
{
    uint32_t steps = t->shape.depth / BLOCK;
    kni_ir_id left[BLOCK][BLOCK], right[BLOCK][BLOCK];
    kni_ir_id step = kni_ir_for(t->b, whole(t, 0), whole(t, steps), whole(t, 1));
    kni_ir_id four = add(t, mul(t, s->slice, whole(t, steps)), step);
    load_block(t, s, &s->a, four, s->down, left);
    load_block(t, s, &s->b, four, s->across, right);
    for (int u = 0; u < BLOCK; u++)
        for (int i = 0; i < BLOCK; i++)
            for (int j = 0; j < BLOCK; j++) {
                kni_ir_id total = s->totals[i * BLOCK + j], old = kni_ir_get(t->b, total);
                kni_ir_id x = left[u][i], y = right[u][j];
                kni_ir_set(t->b, total, is_real(t) ? kni_ir_fma(t->b, x, y, old) : add(t, mul(t, x, y), old));
            }
    kni_ir_end(t->b);
}

/* ---- results */

/* As a tensor of the result's dtype would hold it. */
static kni_ir_id rounded(kni_tiled *t, kni_ir_id value)
{
    return t->dtype == t->compute ? value : kni_ir_round_to(t->b, value, t->dtype);
}

void kni_tiled_put(kni_tiled *t, kni_ir_id place, kni_ir_id value, kni_ir_id inside)
{
    if (t->tail)
        value = rounded(t, value), kni_tail_elements(t->tail, place, &value, inside);
    else
        kni_ir_store_where(t->b, t->y, place, value, inside);
}

void kni_tiled_put_vector(kni_tiled *t, kni_ir_id place, kni_ir_id vector, int lanes, kni_ir_id inside)
{
    kni_ir_id values[KNI_TILED_BLOCK];
    if (!t->tail) {
        kni_ir_store_where(t->b, t->y, place, vector, inside);
        return;
    }
    const int step = (int)kni_tail_lanes(t->tail);
    for (int i = 0; i < lanes; i += step) {
        for (int k = 0; k < step; k++) values[k] = rounded(t, kni_ir_lane(t->b, vector, i + k));
        kni_tail_elements(t->tail, kni_ir_word(t->b, "add", place, kni_ir_whole(t->b, t->index, i)), values,
                          inside);
    }
}

static void put(kni_tiled *t, const sums *s, kni_ir_id row, kni_ir_id column, kni_ir_id value)
{
    kni_ir_id inside =
        kni_ir_and(t->b, less(t, row, kni_tiled_number(t, t->m)), less(t, column, kni_tiled_number(t, t->n)));
    kni_ir_id unused = 0;
    if (t->place_bias) {
        kni_ir_id at = t->place_bias(t, row, column, s->batch);
        value = add(t, value, kni_ir_load_where(t->b, t->bias, at, t->compute, 1, inside, zero(t)));
    }
    kni_tiled_put(t, t->place_y(t, row, column, s->batch, &unused), value, inside);
}

/* The row and column of element number e of this invocation. */
static void place_of_element(kni_tiled *t, const sums *s, kni_ir_id e, kni_ir_id *row, kni_ir_id *column)
{
    if (t->shape.slices > 1) {
        *row = parted(t, add(t, s->local, mul(t, e, whole(t, s->workgroup))), t->shape.columns, column);
    } else {
        *row = add(t, mul(t, s->down, whole(t, BLOCK)), parted(t, e, BLOCK, column));
        *column = add(t, mul(t, s->across, whole(t, BLOCK)), *column);
    }
    *row = add(t, s->first_row, *row);
    *column = add(t, s->first_column, *column);
}

kni_ir_id kni_tiled_sum_again(kni_tiled *t, kni_ir_id row, kni_ir_id column, kni_ir_id batch)
{
    kni_ir_id total = kni_ir_variable(t->b, t->compute, 1, zero(t)), has_a = 0, has_b = 0;
    kni_ir_id k = kni_ir_for(t->b, whole(t, 0), kni_tiled_number(t, t->k), whole(t, 1));
    kni_ir_id a = t->place_a(t, row, k, batch, &has_a), b = t->place_b(t, k, column, batch, &has_b);
    kni_ir_if(t->b, both(t, has_a, has_b));
    kni_ir_id x = kni_ir_load(t->b, t->a, a, t->compute, 1), y = kni_ir_load(t->b, t->b_, b, t->compute, 1);
    kni_ir_set(t->b, total, kni_ir_fma(t->b, x, y, kni_ir_get(t->b, total)));
    kni_ir_if(t->b, kni_ir_word(t->b, "isnan", kni_ir_get(t->b, total), 0));
    kni_ir_break(t->b);
    kni_ir_end(t->b);
    kni_ir_end(t->b);
    kni_ir_end(t->b);
    return kni_ir_get(t->b, total);
}

/* Results that are NaN may be so because a missing element was multiplied as 0. Finite ones cost a comparison. */
static void mend(kni_tiled *t, const sums *s, const kni_ir_id *values, uint32_t n)
{
    kni_ir_id any = 0, row, column;
    if (!t->leaves_out || !is_real(t)) return;
    for (uint32_t i = 0; i < n; i++) {
        kni_ir_id is_nan = kni_ir_word(t->b, "isnan", kni_ir_get(t->b, values[i]), 0);
        any = any ? kni_ir_or(t->b, any, is_nan) : is_nan;
    }
    kni_ir_if(t->b, any);
    for (uint32_t i = 0; i < n; i++)
        kni_ir_store(t->b, s->suspects, whole(t, i), kni_ir_get(t->b, values[i]));
    kni_ir_id e = kni_ir_for(t->b, whole(t, 0), whole(t, n), whole(t, 1));
    place_of_element(t, s, e, &row, &column);
    kni_ir_id inside =
        kni_ir_and(t->b, less(t, row, kni_tiled_number(t, t->m)), less(t, column, kni_tiled_number(t, t->n)));
    kni_ir_id is_nan = kni_ir_word(t->b, "isnan", kni_ir_load(t->b, s->suspects, e, t->compute, 1), 0);
    kni_ir_if(t->b, kni_ir_and(t->b, inside, is_nan));
    kni_ir_store(t->b, s->suspects, e, kni_tiled_sum_again(t, row, column, s->batch));
    kni_ir_end(t->b);
    kni_ir_end(t->b);
    for (uint32_t i = 0; i < n; i++)
        kni_ir_set(t->b, values[i], kni_ir_load(t->b, s->suspects, whole(t, i), t->compute, 1));
    kni_ir_end(t->b);
}

static void put_all(kni_tiled *t, const sums *s, const kni_ir_id *values, uint32_t n)
{
    mend(t, s, values, n);
    for (uint32_t i = 0; i < n; i++) {
        kni_ir_id row, column;
        place_of_element(t, s, whole(t, i), &row, &column);
        put(t, s, row, column, kni_ir_get(t->b, values[i]));
    }
}

/* The slices' sums meet in shared memory; each invocation adds up and stores some elements, neighbours side by side. */
static void add_slices(kni_tiled *t, const sums *s)
{
    uint32_t columns = t->shape.columns, area = t->shape.rows * columns;
    for (int i = 0; i < BLOCK; i++) {
        kni_ir_id lanes[BLOCK], row = add(t, mul(t, s->down, whole(t, BLOCK)), whole(t, i));
        for (int j = 0; j < BLOCK; j++) lanes[j] = kni_ir_get(t->b, s->totals[i * BLOCK + j]);
        kni_ir_id to = add(t, mul(t, s->slice, whole(t, area)), mul(t, row, whole(t, columns)));
        kni_ir_store(t->b, s->shared, add(t, to, mul(t, s->across, whole(t, BLOCK))),
                     kni_ir_pack(t->b, lanes, BLOCK));
    }
    kni_ir_barrier(t->b);
    uint32_t n = area / s->workgroup;
    for (uint32_t e = 0; e < n; e++) {
        kni_ir_id at = add(t, s->local, whole(t, e * s->workgroup));
        kni_ir_id value = kni_ir_load(t->b, s->shared, at, t->compute, 1);
        for (uint32_t i = 1; i < t->shape.slices; i++)
            value =
                add(t, value, kni_ir_load(t->b, s->shared, add(t, at, whole(t, i * area)), t->compute, 1));
        kni_ir_set(t->b, s->totals[e], value);
    }
    put_all(t, s, s->totals, n);
    kni_ir_barrier(t->b);
}

/* The part for one matrix of the batch. */
static void one_matrix(kni_tiled *t, sums *s)
{
    side *sides[2] = {&s->a, &s->b};
    for (int i = 0; i < BLOCK * BLOCK; i++) s->totals[i] = kni_ir_variable(t->b, t->compute, 1, zero(t));
    for (int i = 0; i < 2; i++) {
        kni_ir_id first = zero(t);
        if (sides[i]->lanes > 1) first = kni_ir_spread(t->b, first, (int)sides[i]->lanes);
        for (uint32_t n = 0; n < sides[i]->fetches; n++)
            sides[i]->next[n] = kni_ir_variable(t->b, t->compute, (int)sides[i]->lanes, first);
        fetch(t, s, sides[i], whole(t, 0));
    }
    kni_ir_id first_term = kni_ir_for(t->b, whole(t, 0), kni_tiled_number(t, t->k), whole(t, s->terms));
    for (int i = 0; i < 2; i++) keep(t, s, sides[i]);
    kni_ir_barrier(t->b);
    for (int i = 0; i < 2; i++) fetch(t, s, sides[i], add(t, first_term, whole(t, s->terms)));
    multiply(t, s);
    kni_ir_barrier(t->b);
    kni_ir_end(t->b);
    if (t->shape.slices > 1)
        add_slices(t, s);
    else
        put_all(t, s, s->totals, BLOCK * BLOCK);
}

/* ---- the kernel */

/* Elements that a workgroup keeps in shared memory. */
static int64_t shared_elements(const kni_tiled_shape *s)
{
    int64_t tiles = (int64_t)(s->rows + s->columns) * s->depth * s->slices;
    int64_t meeting = s->slices > 1 ? (int64_t)s->rows * s->columns * s->slices : 0;
    return tiles > meeting ? tiles : meeting;
}

bool kni_tiled_results(kni_tiled *t, int dtype, const kni_gpu_tail *tail, const kni_sched_target *target)
{
    kni_ir_builder *b = t->b;
    if (tail) {
        t->tail = kni_tail_begin(&tail->records, tail->given, tail->lanes, target, b);
        if (!t->tail) {
            b->status = kni_latest_code();
            kni_ir_free(kni_ir_finish(b));
            return false;
        }
    } else {
        t->y = kni_ir_buffer(b, "y", dtype, KNI_IR_WRITE);
    }
    kni_ir_add_item_params(b);
    return true;
}

kni_ir *kni_tiled_finish(kni_tiled *t)
{
    if (t->tail) kni_tail_end(t->tail);
    kni_ir *ir = kni_ir_finish(t->b);
    if (!ir || kni_ir_simplify(ir) == KN_OK) return ir;
    kni_ir_free(ir);
    return NULL;
}

static void set_side(sums *s, side *x, bool left, uint32_t length, bool along_terms, bool wide)
{
    x->left = left;
    x->length = length;
    x->along_terms = along_terms;
    x->lanes = wide ? BLOCK : 1;
    uint32_t all = length * s->terms / x->lanes;
    x->fetches = (all + s->workgroup - 1) / s->workgroup;
}

static void set_invocation(kni_tiled *t, sums *s)
{
    kni_ir_builder *b = t->b;
    kni_ir_id member;
    uint32_t across = t->shape.columns / BLOCK;
    s->local = kni_ir_builtin_value(b, KNI_IR_LOCAL, 0, t->index);
    s->slice = parted(t, s->local, s->workgroup / t->shape.slices, &member);
    s->down = parted(t, member, across, &s->across);
    /* The tile, columns first. */
    kni_ir_id n = kni_tiled_number(t, t->n), edge = whole(t, t->shape.columns);
    kni_ir_id wide = kni_ir_word(b, "div", add(t, n, whole(t, t->shape.columns - 1)), edge);
    kni_ir_id group = kni_ir_builtin_value(b, KNI_IR_GROUP, 0, t->index);
    kni_ir_id tile_row = kni_ir_word(b, "div", group, wide);
    s->first_row = mul(t, tile_row, whole(t, t->shape.rows));
    s->first_column = mul(t, kni_ir_word(b, "sub", group, mul(t, tile_row, wide)), edge);
}

void kni_tiled_build(kni_tiled *t)
{
    kni_ir_builder *b = t->b;
    const kni_tiled_shape *shape = &t->shape;
    sums s = {.workgroup = kni_tiled_workgroup(shape), .terms = (uint32_t)shape->depth * shape->slices};
    if (t->tail) kni_tail_numbers(t->tail);
    set_side(&s, &s.a, true, shape->rows, !t->a_along_rows, t->a_wide);
    set_side(&s, &s.b, false, shape->columns, t->b_along_rows, t->b_wide);
    s.b.first = s.a.length * s.terms;
    if (s.a.fetches > MOST_FETCHES || s.b.fetches > MOST_FETCHES)
        kni_ir_fail(b, "a tile of a product is too large for its workgroup");
    if (b->status != KN_OK) return;
    if (t->a_wide) b->ir->bindings[t->a].aligned = BLOCK;
    if (t->b_wide) b->ir->bindings[t->b_].aligned = BLOCK;
    s.shared = kni_ir_array(b, "tiles", t->compute, KNI_IR_SHARED, shared_elements(shape));
    if (b->status == KN_OK) b->ir->bindings[s.shared].aligned = BLOCK;
    if (t->leaves_out) s.suspects = kni_ir_array(b, "suspects", t->compute, KNI_IR_PRIVATE, BLOCK * BLOCK);
    set_invocation(t, &s);
    s.batch =
        kni_ir_for(b, kni_ir_builtin_value(b, KNI_IR_GROUP, 1, t->index), kni_tiled_number(t, t->batches),
                   kni_ir_builtin_value(b, KNI_IR_GROUPS, 1, t->index));
    one_matrix(t, &s);
    kni_ir_end(b);
}

static bool fits(const kni_driver *d, const kni_tiled_shape *s, int bytes)
{
    return kni_tiled_workgroup(s) <= d->caps.max_workgroup &&
           (!d->caps.shared_bytes || shared_elements(s) * bytes <= d->caps.shared_bytes);
}

/* Larger tiles read less for each product; smaller ones keep more of the device busy, and more slices more of a workgroup
   where there are terms for them. Measured on a GPU with 132 multiprocessors. */
kni_tiled_shape kni_tiled_choose(const kni_driver *d, int compute, int64_t m, int64_t n, int64_t k,
                                 int64_t batch)
{
    enum { FEW = 64, SOME = 256 }; /* terms */
    const kni_tiled_shape shapes[] = {{64, 64, 16, 2},
                                      {32, 32, 8, 4},
                                      k <= FEW ? (kni_tiled_shape){16, 32, 8, 8}
                                               : (kni_tiled_shape){32, 16, 16, 8},
                                      {16, 16, 16, k < SOME ? 8 : 16}};
    kni_tiled_shape chosen = shapes[KNI_COUNT(shapes) - 1];
    int bytes = kni_bytes_of(compute);
    for (int i = 0; i < KNI_COUNT(shapes); i++) {
        const kni_tiled_shape *s = &shapes[i];
        /* All processors but a few. */
        bool busy = kni_tiled_tiles(s, m, n) * batch >= d->processors - d->processors / 16;
        if (busy && fits(d, s, bytes) && m > s->rows / 2 && n > s->columns / 2) {
            chosen = *s;
            break;
        }
    }
    while (chosen.slices > 1 && !fits(d, &chosen, bytes)) chosen.slices /= 2;
    return chosen;
}
