/* The passes of attention in the kernel language. FORWARD, QUERIES and BIAS have queries as rows of their tiles and keys as
   columns, KEYS the other way round. Weights are made again from the scores and the logarithms of the rows' sums. */
#include "backend/gpu/attention_tile.h"
#include "core/text.h"

enum { B = KNI_ATTEND_B, ROWS = KNI_ATTEND_ROWS, CELLS = KNI_ATTEND_CELLS };

static int rows_of(const kni_attend *a) { return a->s->rows; }
static int cells_of(const kni_attend *a) { return a->s->rows * B; }

static kni_ir_id add(kni_attend *a, kni_ir_id x, kni_ir_id y) { return kni_ir_word(a->b, "add", x, y); }
static kni_ir_id sub(kni_attend *a, kni_ir_id x, kni_ir_id y) { return kni_ir_word(a->b, "sub", x, y); }
static kni_ir_id mul(kni_attend *a, kni_ir_id x, kni_ir_id y) { return kni_ir_word(a->b, "mul", x, y); }
static kni_ir_id less(kni_attend *a, kni_ir_id x, kni_ir_id y) { return kni_ir_word(a->b, "lt", x, y); }
static kni_ir_id equal(kni_attend *a, kni_ir_id x, kni_ir_id y) { return kni_ir_word(a->b, "eq", x, y); }
static kni_ir_id whole(kni_attend *a, int64_t value) { return kni_attend_whole(a, value); }
static kni_ir_id real(kni_attend *a, double value) { return kni_attend_real(a, value); }
static kni_ir_id number(kni_attend *a, int which) { return kni_attend_number(a, which); }
static kni_ir_id get(kni_attend *a, kni_ir_id variable) { return kni_ir_get(a->b, variable); }
static kni_ir_id negative_infinity(kni_attend *a) { return real(a, -__builtin_inf()); }

/* ---- scores */

/* A tile of scores: its first query and key, and whether its rows are keys. */
typedef struct tile {
    kni_ir_id query, key;
    bool turned;
} tile;

static kni_ir_id query_of(kni_attend *a, const tile *t, int i, int j)
{
    return t->turned ? kni_attend_column(a, t->query, j) : kni_attend_row(a, t->query, i);
}
static kni_ir_id key_of(kni_attend *a, const tile *t, int i, int j)
{
    return t->turned ? kni_attend_row(a, t->key, i) : kni_attend_column(a, t->key, j);
}

/* The element of mask or bias, whose steps begin at number `steps`. */
static kni_ir_id spread_place(kni_attend *a, int steps, kni_ir_id query, kni_ir_id key)
{
    kni_ir_id at = mul(a, a->batch, number(a, steps));
    at = kni_attend_join(a, a->head, number(a, steps + 1), at);
    at = kni_attend_join(a, query, number(a, steps + 2), at);
    return kni_attend_join(a, key, number(a, steps + 3), at);
}

/* The scores of the cells, -inf where the query does not see the key; slopes (NULL: not wanted) of the soft cap. */
static void make_scores(kni_attend *a, const tile *t, const kni_ir_id *cells, kni_ir_id *scores,
                        kni_ir_id *slopes)
{
    kni_ir_id scale = kni_attend_factor(a, KNI_ATTEND_SCALE), cap = kni_attend_factor(a, KNI_ATTEND_CAP);
    for (int c = 0; c < cells_of(a); c++) {
        kni_ir_id query = query_of(a, t, c / B, c % B), key = key_of(a, t, c / B, c % B);
        kni_ir_id sees = kni_ir_and(a->b, less(a, query, number(a, KNI_ATTEND_QUERY_COUNT)),
                                    less(a, key, number(a, KNI_ATTEND_KEY_COUNT)));
        kni_ir_id s = mul(a, get(a, cells[c]), scale);
        if (a->s->causal) sees = kni_ir_and(a->b, sees, kni_ir_word(a->b, "le", key, query));
        if (a->s->capped) {
            kni_ir_id soft = kni_ir_word(a->b, "tanh", kni_ir_word(a->b, "div", s, cap), 0);
            if (slopes) slopes[c] = sub(a, real(a, 1), mul(a, soft, soft));
            s = mul(a, soft, cap);
        }
        if (a->s->biased) {
            kni_ir_id at = spread_place(a, KNI_ATTEND_BIAS_STEPS, query, key);
            s = add(a, s, kni_ir_load_where(a->b, a->bias, at, KN_F32, 1, sees, real(a, 0)));
        }
        if (a->s->masked) {
            kni_ir_id at = spread_place(a, KNI_ATTEND_MASK_STEPS, query, key),
                      none = kni_ir_whole(a->b, KN_BOOL, 0);
            sees = kni_ir_load_where(a->b, a->mask, at, KN_BOOL, 1, sees, none);
        }
        scores[c] = kni_ir_select(a->b, sees, s, negative_infinity(a));
    }
}

/* The key that weights draw by, from the generator's block `counter`. */
static kni_ir_id draw_key(kni_attend *a)
{
    kni_ir_id halves[2];
    for (int i = 0; i < 2; i++)
        halves[i] = kni_ir_philox(a->b, kni_ir_param_value(a->b, a->wholes[KNI_ATTEND_KEY]),
                                  kni_ir_param_value(a->b, a->wholes[KNI_ATTEND_COUNTER]),
                                  kni_ir_whole(a->b, KN_I64, i));
    kni_ir_id high = kni_ir_word(a->b, "shl", halves[1], kni_ir_whole(a->b, KN_I64, 32));
    return kni_ir_word(a->b, "or", high, halves[0]);
}

/* Which weights are kept. Element e of all draws word e mod 4 of block e / 4. */
static void make_kept(kni_attend *a, const tile *t, kni_ir_id *kept)
{
    kni_ir_builder *b = a->b;
    kni_ir_id draws_by = draw_key(a);
    kni_ir_id keys = kni_ir_param_value(b, a->wholes[KNI_ATTEND_KEY_COUNT]);
    kni_ir_id queries = kni_ir_param_value(b, a->wholes[KNI_ATTEND_QUERY_COUNT]);
    kni_ir_id heads = kni_ir_param_value(b, a->wholes[KNI_ATTEND_HEADS]);
    kni_ir_id batch = kni_ir_cast(b, a->batch, KN_I64), head = kni_ir_cast(b, a->head, KN_I64);
    kni_ir_id lines = mul(a, add(a, mul(a, batch, heads), head), queries);
    for (int c = 0; c < cells_of(a); c++) {
        /* Where lines are multiples of four, the keys of a block of cells share what is computed for one. */
        const int i = a->s->even && t->turned ? c / B / 4 * 4 : c / B,
                  j = a->s->even && !t->turned ? 0 : c % B;
        kni_ir_id query = kni_ir_cast(b, query_of(a, t, i, j), KN_I64),
                  key = kni_ir_cast(b, key_of(a, t, i, j), KN_I64);
        kni_ir_id e = add(a, mul(a, add(a, lines, query), keys), key);
        kni_ir_id block = kni_ir_word(b, "shr", e, kni_ir_whole(b, KN_I64, 2));
        kni_ir_id word = kni_ir_whole(b, KN_I64, t->turned ? c / B % 4 : c % B);
        if (!a->s->even) word = kni_ir_word(b, "and", e, kni_ir_whole(b, KN_I64, 3));
        kni_ir_id drawn = kni_ir_philox(b, draws_by, block, word);
        kept[c] = kni_ir_word(b, "ge", drawn, kni_ir_param_value(b, a->wholes[KNI_ATTEND_THRESHOLD]));
    }
}

static kni_ir_id drop(kni_attend *a, kni_ir_id kept, kni_ir_id x)
{
    return kni_ir_select(a->b, kept, mul(a, x, kni_attend_factor(a, KNI_ATTEND_KEPT)), real(a, 0));
}

/* ---- where a workgroup works */

static kni_ir_id split(kni_attend *a, kni_ir_id value, kni_ir_id size, kni_ir_id *high)
{
    *high = kni_ir_word(a->b, "div", value, size);
    return sub(a, value, mul(a, *high, size));
}

static kni_ir_id tiles_of(kni_attend *a, kni_ir_id count)
{
    return kni_ir_word(a->b, "div", add(a, count, whole(a, a->s->side - 1)), whole(a, a->s->side));
}

static kni_ir_id base_of(kni_attend *a, int steps, kni_ir_id head)
{
    return kni_attend_join(a, a->batch, number(a, steps), mul(a, head, number(a, steps + 1)));
}

/* The operands' vectors for the batch and the heads at hand. */
static void locate_keys(kni_attend *a)
{
    kni_ir_id keys = number(a, KNI_ATTEND_KEY_COUNT);
    a->of_k = (kni_attend_rows){a->k, base_of(a, KNI_ATTEND_K_STEPS, a->key_head),
                                number(a, KNI_ATTEND_K_STEPS + 2), keys, number(a, KNI_ATTEND_SIZE)};
    a->of_v = (kni_attend_rows){a->v, base_of(a, KNI_ATTEND_V_STEPS, a->key_head),
                                number(a, KNI_ATTEND_V_STEPS + 2), keys, number(a, KNI_ATTEND_VALUE_SIZE)};
}

static void locate_queries(kni_attend *a)
{
    kni_ir_id queries = number(a, KNI_ATTEND_QUERY_COUNT);
    a->of_q = (kni_attend_rows){a->q, base_of(a, KNI_ATTEND_Q_STEPS, a->head),
                                number(a, KNI_ATTEND_Q_STEPS + 2), queries, number(a, KNI_ATTEND_SIZE)};
    a->of_dy =
        (kni_attend_rows){a->dy, base_of(a, KNI_ATTEND_DY_STEPS, a->head), number(a, KNI_ATTEND_DY_STEPS + 2),
                          queries, number(a, KNI_ATTEND_VALUE_SIZE)};
}

static void locate_head(kni_attend *a)
{
    kni_ir_id ratio = kni_ir_word(a->b, "div", number(a, KNI_ATTEND_HEADS), number(a, KNI_ATTEND_KEY_HEADS));
    a->key_head = kni_ir_word(a->b, "div", a->head, ratio);
    locate_queries(a);
    locate_keys(a);
}

/* A result [batch, heads, rows, size]. */
static kni_attend_rows result(kni_attend *a, uint32_t binding, int heads, kni_ir_id head, int rows, int size)
{
    kni_ir_id matrix = kni_attend_join(a, a->batch, number(a, heads), head);
    kni_ir_id base = mul(a, mul(a, matrix, number(a, rows)), number(a, size));
    return (kni_attend_rows){binding, base, number(a, size), number(a, rows), number(a, size)};
}

/* The workgroup's tile along an axis of `count`, and its matrix: the batch and the head of `heads`. Where causality makes the last
   tiles of queries the longest, they come first. */
static kni_ir_id locate(kni_attend *a, int count, int heads, kni_ir_id *head)
{
    kni_ir_id tiles = tiles_of(a, number(a, count)), matrix;
    kni_ir_id at = split(a, kni_ir_builtin_value(a->b, KNI_IR_GROUP, 0, a->index), tiles, &matrix);
    *head = split(a, matrix, number(a, heads), &a->batch);
    if (a->s->causal && count == KNI_ATTEND_QUERY_COUNT) at = sub(a, sub(a, tiles, whole(a, 1)), at);
    return mul(a, at, whole(a, a->s->side));
}

/* The keys that the tile of queries from `first` on sees end here. */
static kni_ir_id end_of_keys(kni_attend *a, kni_ir_id first)
{
    kni_ir_id keys = number(a, KNI_ATTEND_KEY_COUNT), end = add(a, first, whole(a, a->s->side));
    return a->s->causal ? kni_ir_select(a->b, less(a, end, keys), end, keys) : keys;
}

/* ---- numbers of rows */

/* The first row of the head at hand among those of all. */
static kni_ir_id first_row(kni_attend *a)
{
    kni_ir_id matrix = kni_attend_join(a, a->batch, number(a, KNI_ATTEND_HEADS), a->head);
    return mul(a, matrix, number(a, KNI_ATTEND_QUERY_COUNT));
}

static kni_ir_id place_of_dots(kni_attend *a)
{
    kni_ir_id matrices = mul(a, number(a, KNI_ATTEND_BATCH), number(a, KNI_ATTEND_HEADS));
    return mul(a, matrices, number(a, KNI_ATTEND_QUERY_COUNT));
}

/* The logarithms, or the dots, of the queries of a block. */
static void load_rows(kni_attend *a, const tile *t, bool dots, kni_ir_id values[ROWS])
{
    kni_ir_id base = first_row(a);
    if (dots) base = add(a, base, place_of_dots(a));
    for (int i = 0; i < (t->turned ? B : rows_of(a)); i++) {
        kni_ir_id query = query_of(a, t, i, i);
        values[i] = kni_ir_load_where(a->b, a->rows, add(a, base, query), KN_F32, 1,
                                      less(a, query, number(a, KNI_ATTEND_QUERY_COUNT)), real(a, 0));
    }
}

/* Stored by the invocations of the first column. */
static void store_rows(kni_attend *a, const tile *t, bool dots, const kni_ir_id values[ROWS])
{
    kni_ir_id base = first_row(a);
    if (dots) base = add(a, base, place_of_dots(a));
    for (int i = 0; i < rows_of(a); i++) {
        kni_ir_id query = query_of(a, t, i, i);
        kni_ir_id own = kni_ir_and(a->b, equal(a, a->across, whole(a, 0)),
                                   less(a, query, number(a, KNI_ATTEND_QUERY_COUNT)));
        kni_ir_store_where(a->b, a->rows, add(a, base, query), values[i], own);
    }
}

/* ---- forward */

typedef struct online {
    kni_ir_id top[ROWS],
        sum[ROWS]; /* variables: the largest score of a row so far, the sum of this invocation's columns */
    kni_ir_id y[KNI_ATTEND_CHUNKS * CELLS];
} online;

static kni_ir_id or_zero(kni_attend *a, kni_ir_id top)
{
    return kni_ir_select(a->b, equal(a, top, negative_infinity(a)), real(a, 0), top);
}

/* Takes in a tile of scores; what is held are its weights below the new tops. */
static void take_in(kni_attend *a, const tile *t, online *o, const kni_ir_id *scores)
{
    kni_ir_id tops[ROWS], weights[CELLS], kept[CELLS];
    const int chunks = a->s->value_chunks;
    for (int i = 0; i < rows_of(a); i++) {
        tops[i] = get(a, o->top[i]);
        for (int j = 0; j < B; j++) {
            kni_ir_id s = scores[i * B + j];
            tops[i] = kni_ir_select(a->b, kni_ir_word(a->b, "gt", s, tops[i]), s, tops[i]);
        }
    }
    kni_attend_over_columns(a, true, tops, false);
    for (int i = 0; i < rows_of(a); i++) {
        kni_ir_id base = or_zero(a, tops[i]), shrinks = kni_attend_power(a, sub(a, get(a, o->top[i]), base));
        kni_ir_id sum = mul(a, get(a, o->sum[i]), shrinks);
        for (int j = 0; j < B; j++) {
            weights[i * B + j] = kni_attend_power(a, sub(a, scores[i * B + j], base));
            sum = add(a, sum, weights[i * B + j]);
        }
        kni_ir_set(a->b, o->sum[i], sum);
        kni_ir_set(a->b, o->top[i], tops[i]);
        for (int c = 0; c < chunks; c++)
            for (int j = 0; j < B; j++) {
                kni_ir_id y = o->y[(c * rows_of(a) + i) * B + j];
                kni_ir_set(a->b, y, mul(a, get(a, y), shrinks));
            }
    }
    if (a->s->drops) {
        make_kept(a, t, kept);
        for (int c = 0; c < cells_of(a); c++) weights[c] = drop(a, kept[c], weights[c]);
    }
    kni_attend_hold(a, weights);
}

/* The results of the rows, and the logarithms; 0 in rows without a key. */
static void finish_rows(kni_attend *a, const tile *t, online *o)
{
    kni_ir_id sums[ROWS], logs[ROWS], values[CELLS];
    kni_attend_rows y =
        result(a, a->y, KNI_ATTEND_HEADS, a->head, KNI_ATTEND_QUERY_COUNT, KNI_ATTEND_VALUE_SIZE);
    for (int i = 0; i < rows_of(a); i++) sums[i] = get(a, o->sum[i]);
    kni_attend_over_columns(a, false, sums, false);
    for (int c = 0; c < a->s->value_chunks; c++) {
        for (int e = 0; e < cells_of(a); e++) {
            kni_ir_id sum = sums[e / B],
                      value = kni_ir_word(a->b, "div", get(a, o->y[c * cells_of(a) + e]), sum);
            values[e] = kni_ir_select(a->b, equal(a, sum, real(a, 0)), real(a, 0), value);
        }
        kni_attend_store(a, &y, t->query, values, c);
    }
    if (!a->s->keeps) return;
    for (int i = 0; i < rows_of(a); i++) {
        kni_ir_id top = get(a, o->top[i]), log = add(a, top, kni_ir_word(a->b, "log", sums[i], 0));
        logs[i] = kni_ir_select(a->b, equal(a, sums[i], real(a, 0)), real(a, 0), log);
    }
    store_rows(a, t, false, logs);
}

static void build_forward(kni_attend *a)
{
    online o;
    kni_ir_id cells[CELLS], scores[CELLS];
    tile t = {.query = locate(a, KNI_ATTEND_QUERY_COUNT, KNI_ATTEND_HEADS, &a->head)};
    locate_head(a);
    for (int i = 0; i < rows_of(a); i++) o.top[i] = kni_ir_variable(a->b, KN_F32, 1, negative_infinity(a));
    kni_attend_clear(a, o.sum, rows_of(a));
    kni_attend_clear(a, o.y, a->s->value_chunks * cells_of(a));
    t.key = kni_ir_for(a->b, whole(a, 0), end_of_keys(a, t.query), whole(a, a->s->side));
    kni_attend_clear(a, cells, cells_of(a));
    kni_attend_multiply(a, &a->of_q, t.query, &a->of_k, t.key, cells);
    make_scores(a, &t, cells, scores, NULL);
    take_in(a, &t, &o, scores);
    kni_attend_gather(a, &a->of_v, t.key, t.query, a->of_q.rows, o.y, a->s->value_chunks);
    kni_ir_end(a->b);
    finish_rows(a, &t, &o);
}

/* ---- gradients */

/* Of a tile: the weights as they met the values, the gradient by the scores, before the soft cap where `plain`, the weights alone,
   and the slopes of the cap. */
typedef struct slopes {
    kni_ir_id weights[CELLS], scores[CELLS], all[CELLS], caps[CELLS];
} slopes;

/* logs and dots (NULL: taken for 0) of the queries of a block. */
static void make_slopes(kni_attend *a, const tile *t, const kni_ir_id logs[ROWS], const kni_ir_id dots[ROWS],
                        bool plain, slopes *to)
{
    kni_ir_id cells[CELLS], along[CELLS], scores[CELLS], kept[CELLS];
    kni_attend_clear(a, cells, cells_of(a));
    kni_attend_clear(a, along, cells_of(a));
    const kni_attend_rows *left = t->turned ? &a->of_k : &a->of_q, *right = t->turned ? &a->of_q : &a->of_k;
    kni_attend_multiply(a, left, t->turned ? t->key : t->query, right, t->turned ? t->query : t->key, cells);
    left = t->turned ? &a->of_v : &a->of_dy, right = t->turned ? &a->of_dy : &a->of_v;
    kni_attend_multiply(a, left, t->turned ? t->key : t->query, right, t->turned ? t->query : t->key, along);
    make_scores(a, t, cells, scores, to->caps);
    if (a->s->drops) make_kept(a, t, kept);
    for (int c = 0; c < cells_of(a); c++) {
        const int row = t->turned ? c % B : c / B;
        kni_ir_id p = kni_attend_power(a, sub(a, scores[c], logs[row])), dp = get(a, along[c]);
        if (a->s->drops) dp = drop(a, kept[c], dp);
        to->weights[c] = a->s->drops ? drop(a, kept[c], p) : p;
        to->scores[c] = mul(a, p, dots ? sub(a, dp, dots[row]) : dp);
        to->all[c] = p;
        if (a->s->capped && !plain) to->scores[c] = mul(a, to->scores[c], to->caps[c]);
    }
}

/* The sum over each row of dy y. */
static void make_dots(kni_attend *a, const tile *t, kni_ir_id dots[ROWS])
{
    kni_attend_rows y =
        result(a, a->y, KNI_ATTEND_HEADS, a->head, KNI_ATTEND_QUERY_COUNT, KNI_ATTEND_VALUE_SIZE);
    const kni_attend_rows *dy = &a->of_dy;
    for (int i = 0; i < rows_of(a); i++) {
        kni_ir_id query = kni_attend_row(a, t->query, i), there = less(a, query, y.rows);
        dots[i] = real(a, 0);
        for (int c = 0; c < a->s->value_chunks * B; c++) {
            kni_ir_id at = kni_attend_column(a, whole(a, c / B * a->s->side), c % B);
            kni_ir_id inside = kni_ir_and(a->b, there, less(a, at, y.size));
            kni_ir_id left =
                kni_ir_load_where(a->b, a->y, add(a, kni_attend_join(a, query, y.step, y.base), at), KN_F32,
                                  1, inside, real(a, 0));
            kni_ir_id right =
                kni_ir_load_where(a->b, a->dy, add(a, kni_attend_join(a, query, dy->step, dy->base), at),
                                  KN_F32, 1, inside, real(a, 0));
            dots[i] = kni_ir_fma(a->b, left, right, dots[i]);
        }
    }
    kni_attend_over_columns(a, false, dots, true);
    store_rows(a, t, true, dots);
}

/* Chunks of sums, each times `factor` where that is not 0. */
static void store_all(kni_attend *a, const kni_attend_rows *to, kni_ir_id first, const kni_ir_id *sums,
                      int chunks, kni_ir_id factor)
{
    kni_ir_id values[CELLS];
    for (int c = 0; c < chunks; c++) {
        for (int e = 0; e < cells_of(a); e++) {
            values[e] = get(a, sums[c * cells_of(a) + e]);
            if (factor) values[e] = mul(a, values[e], factor);
        }
        kni_attend_store(a, to, first, values, c);
    }
}

/* Dots and gradient at once: sum of p dp k - (sum of p dp) (sum of p k). */
static void sum_queries(kni_attend *a, tile *t, const kni_ir_id logs[ROWS], kni_ir_id *sums)
{
    slopes s;
    kni_ir_id dots[ROWS], totals[ROWS], losses[KNI_ATTEND_CHUNKS * CELLS];
    const int chunks = a->s->key_chunks;
    kni_attend_clear(a, totals, rows_of(a));
    kni_attend_clear(a, losses, chunks * cells_of(a));
    t->key = kni_ir_for(a->b, whole(a, 0), end_of_keys(a, t->query), whole(a, a->s->side));
    make_slopes(a, t, logs, NULL, true, &s);
    for (int c = 0; c < cells_of(a); c++)
        kni_ir_set(a->b, totals[c / B], add(a, get(a, totals[c / B]), s.scores[c]));
    for (int c = 0; c < cells_of(a) && a->s->capped; c++) {
        s.scores[c] = mul(a, s.scores[c], s.caps[c]);
        s.all[c] = mul(a, s.all[c], s.caps[c]);
    }
    kni_attend_hold(a, s.scores);
    kni_attend_gather(a, &a->of_k, t->key, t->query, a->of_q.rows, sums, chunks);
    kni_attend_hold(a, s.all);
    kni_attend_gather(a, &a->of_k, t->key, t->query, a->of_q.rows, losses, chunks);
    kni_ir_end(a->b);
    for (int i = 0; i < rows_of(a); i++) dots[i] = get(a, totals[i]);
    kni_attend_over_columns(a, false, dots, false);
    store_rows(a, t, true, dots);
    for (int e = 0; e < chunks * cells_of(a); e++) {
        kni_ir_id lost = mul(a, get(a, losses[e]), dots[e / B % rows_of(a)]);
        kni_ir_set(a->b, sums[e], sub(a, get(a, sums[e]), lost));
    }
}

static void build_queries(kni_attend *a)
{
    slopes s;
    kni_ir_id logs[ROWS], dots[ROWS], sums[KNI_ATTEND_CHUNKS * CELLS];
    tile t = {.query = locate(a, KNI_ATTEND_QUERY_COUNT, KNI_ATTEND_HEADS, &a->head)};
    locate_head(a);
    load_rows(a, &t, false, logs);
    kni_attend_clear(a, sums, a->s->key_chunks * cells_of(a));
    if (a->s->summed) {
        sum_queries(a, &t, logs, sums);
    } else {
        make_dots(a, &t, dots);
        t.key = kni_ir_for(a->b, whole(a, 0), end_of_keys(a, t.query), whole(a, a->s->side));
        make_slopes(a, &t, logs, dots, false, &s);
        kni_attend_hold(a, s.scores);
        kni_attend_gather(a, &a->of_k, t.key, t.query, a->of_q.rows, sums, a->s->key_chunks);
        kni_ir_end(a->b);
    }
    kni_attend_rows dq =
        result(a, a->made[0], KNI_ATTEND_HEADS, a->head, KNI_ATTEND_QUERY_COUNT, KNI_ATTEND_SIZE);
    store_all(a, &dq, t.query, sums, a->s->key_chunks, kni_attend_factor(a, KNI_ATTEND_SCALE));
}

/* The gradient by the biased scores of a turned tile, [batch, heads, queries, keys]. */
static void store_slopes(kni_attend *a, const tile *t, const kni_ir_id *scores)
{
    kni_ir_id queries = number(a, KNI_ATTEND_QUERY_COUNT), keys = number(a, KNI_ATTEND_KEY_COUNT);
    for (int j = 0; j < B; j++) {
        kni_ir_id column[ROWS], query = query_of(a, t, 0, j), there = less(a, query, queries);
        kni_ir_id line = mul(a, add(a, first_row(a), query), keys);
        for (int i = 0; i < rows_of(a); i++) column[i] = scores[i * B + j];
        for (int i = 0; i < rows_of(a); i += a->s->slope_quads ? B : 1) {
            kni_ir_id key = key_of(a, t, i, 0);
            kni_ir_store_where(a->b, a->made[2], add(a, line, key),
                               kni_ir_pack(a->b, column + i, a->s->slope_quads ? B : 1),
                               kni_ir_and(a->b, there, less(a, key, keys)));
        }
    }
}

/* The queries before the tile's first key see nothing of it. */
static void store_no_slopes(kni_attend *a, const tile *t)
{
    kni_ir_id zeros[CELLS];
    tile before = *t;
    for (int c = 0; c < cells_of(a); c++) zeros[c] = real(a, 0);
    before.query = kni_ir_for(a->b, whole(a, 0), t->key, whole(a, a->s->side));
    store_slopes(a, &before, zeros);
    kni_ir_end(a->b);
}

static void build_keys(kni_attend *a)
{
    slopes s;
    kni_ir_id logs[ROWS], dots[ROWS], dk[KNI_ATTEND_CHUNKS * CELLS], dv[KNI_ATTEND_CHUNKS * CELLS];
    tile t = {.key = locate(a, KNI_ATTEND_KEY_COUNT, KNI_ATTEND_KEY_HEADS, &a->key_head), .turned = true};
    kni_ir_id ratio = kni_ir_word(a->b, "div", number(a, KNI_ATTEND_HEADS), number(a, KNI_ATTEND_KEY_HEADS));
    locate_keys(a);
    kni_attend_clear(a, dk, a->s->key_chunks * cells_of(a));
    kni_attend_clear(a, dv, a->s->value_chunks * cells_of(a));
    kni_ir_id first = mul(a, a->key_head, ratio);
    a->head = kni_ir_for(a->b, first, add(a, first, ratio), whole(a, 1));
    locate_queries(a);
    if (a->s->slopes && a->s->causal) store_no_slopes(a, &t);
    t.query = kni_ir_for(a->b, a->s->causal ? t.key : whole(a, 0), number(a, KNI_ATTEND_QUERY_COUNT),
                         whole(a, a->s->side));
    load_rows(a, &t, false, logs);
    load_rows(a, &t, true, dots);
    make_slopes(a, &t, logs, dots, a->s->slopes != 0, &s);
    if (a->s->slopes) store_slopes(a, &t, s.scores);
    for (int c = 0; c < cells_of(a) && a->s->slopes && a->s->capped; c++)
        s.scores[c] = mul(a, s.scores[c], s.caps[c]);
    kni_attend_hold(a, s.weights);
    kni_attend_gather(a, &a->of_dy, t.query, t.key, a->of_k.rows, dv, a->s->value_chunks);
    kni_attend_hold(a, s.scores);
    kni_attend_gather(a, &a->of_q, t.query, t.key, a->of_k.rows, dk, a->s->key_chunks);
    kni_ir_end(a->b);
    kni_ir_end(a->b);
    kni_attend_rows to =
        result(a, a->made[0], KNI_ATTEND_KEY_HEADS, a->key_head, KNI_ATTEND_KEY_COUNT, KNI_ATTEND_SIZE);
    store_all(a, &to, t.key, dk, a->s->key_chunks, kni_attend_factor(a, KNI_ATTEND_SCALE));
    to =
        result(a, a->made[1], KNI_ATTEND_KEY_HEADS, a->key_head, KNI_ATTEND_KEY_COUNT, KNI_ATTEND_VALUE_SIZE);
    store_all(a, &to, t.key, dv, a->s->value_chunks, 0);
}

/* ---- the gradient of the bias */

/* The workgroup's part of an axis of `count`, by `step`: all where the gradient is summed over it. Takes the part's number off *rest. */
static kni_ir_id part_of(kni_attend *a, int axis, int count, int64_t step, kni_ir_id *rest)
{
    kni_ir_id parts = step > 1 ? tiles_of(a, number(a, count)) : number(a, count), high;
    if (a->s->over[axis]) return whole(a, 0);
    kni_ir_id at = split(a, *rest, parts, &high);
    *rest = high;
    return mul(a, at, whole(a, step));
}

static kni_ir_id along(kni_attend *a, int axis, kni_ir_id from, int count, int64_t step)
{
    kni_ir_id end = a->s->over[axis] ? number(a, count) : add(a, from, whole(a, 1));
    return kni_ir_for(a->b, from, end, whole(a, step));
}

/* The place in the gradient, whose axes that are summed over have one place. */
static kni_ir_id place_in_bias(kni_attend *a, kni_ir_id batch, kni_ir_id head, kni_ir_id query, kni_ir_id key)
{
    const int counts[4] = {KNI_ATTEND_BATCH, KNI_ATTEND_HEADS, KNI_ATTEND_QUERY_COUNT, KNI_ATTEND_KEY_COUNT};
    const kni_ir_id at[4] = {batch, head, query, key};
    kni_ir_id place = whole(a, 0);
    for (int i = 0; i < 4; i++)
        if (!a->s->over[i]) place = kni_attend_join(a, place, number(a, counts[i]), at[i]);
    return place;
}

/* What is held, added up over the rows of the tile, its columns, or both; `line` counts what is left. */
static kni_ir_id add_held(kni_attend *a, kni_ir_id line)
{
    const uint32_t side = a->s->side;
    kni_ir_id total = kni_ir_variable(a->b, KN_F32, 1, real(a, 0)), key = line, query = line;
    if (a->s->over[3]) key = kni_ir_for(a->b, whole(a, 0), whole(a, side), whole(a, 1));
    if (a->s->over[2]) query = kni_ir_for(a->b, whole(a, 0), whole(a, side), whole(a, 1));
    kni_ir_id x = kni_ir_load(a->b, a->held, kni_attend_join(a, key, whole(a, side), query), KN_F32, 1);
    kni_ir_set(a->b, total, add(a, get(a, total), x));
    if (a->s->over[2]) kni_ir_end(a->b);
    if (a->s->over[3]) kni_ir_end(a->b);
    return get(a, total);
}

static void store_bias(kni_attend *a, kni_ir_id batch, kni_ir_id head, const tile *t, const kni_ir_id *sums)
{
    kni_ir_id queries = number(a, KNI_ATTEND_QUERY_COUNT), keys = number(a, KNI_ATTEND_KEY_COUNT);
    if (!a->s->over[2] && !a->s->over[3]) {
        for (int c = 0; c < cells_of(a); c++) {
            kni_ir_id query = query_of(a, t, c / B, c % B), key = key_of(a, t, c / B, c % B);
            kni_ir_store_where(a->b, a->made[0], place_in_bias(a, batch, head, query, key), get(a, sums[c]),
                               kni_ir_and(a->b, less(a, query, queries), less(a, key, keys)));
        }
        return;
    }
    for (int c = 0; c < cells_of(a); c++) {
        kni_ir_id query = kni_attend_row(a, whole(a, 0), c / B);
        kni_ir_id key = kni_attend_column(a, whole(a, 0), c % B);
        kni_ir_store(a->b, a->held, kni_attend_join(a, key, whole(a, a->s->side), query), get(a, sums[c]));
    }
    kni_ir_barrier(a->b);
    kni_ir_id lines = whole(a, a->s->over[2] && a->s->over[3] ? 1 : a->s->side);
    kni_ir_id line = kni_ir_for(a->b, a->local, lines, whole(a, kni_attend_workgroup(a->s)));
    kni_ir_id total = add_held(a, line), query = add(a, t->query, line), key = add(a, t->key, line),
              inside = 0;
    if (!a->s->over[2]) inside = less(a, query, queries);
    if (!a->s->over[3]) inside = less(a, key, keys);
    kni_ir_id place = place_in_bias(a, batch, head, query, key);
    kni_ir_store_where(a->b, a->made[0], place, total, inside);
    kni_ir_end(a->b);
}

static void build_bias(kni_attend *a)
{
    const int64_t side = a->s->side;
    slopes s;
    kni_ir_id sums[CELLS], logs[ROWS], dots[ROWS],
        rest = kni_ir_builtin_value(a->b, KNI_IR_GROUP, 0, a->index);
    kni_ir_id key = part_of(a, 3, KNI_ATTEND_KEY_COUNT, side, &rest);
    kni_ir_id query = part_of(a, 2, KNI_ATTEND_QUERY_COUNT, side, &rest);
    kni_ir_id head = part_of(a, 1, KNI_ATTEND_HEADS, 1, &rest),
              batch = part_of(a, 0, KNI_ATTEND_BATCH, 1, &rest);
    kni_attend_clear(a, sums, cells_of(a));
    a->batch = along(a, 0, batch, KNI_ATTEND_BATCH, 1);
    a->head = along(a, 1, head, KNI_ATTEND_HEADS, 1);
    locate_head(a);
    tile t = {.query = along(a, 2, query, KNI_ATTEND_QUERY_COUNT, side)};
    t.key = along(a, 3, key, KNI_ATTEND_KEY_COUNT, side);
    load_rows(a, &t, false, logs);
    load_rows(a, &t, true, dots);
    make_slopes(a, &t, logs, dots, true, &s);
    for (int c = 0; c < cells_of(a); c++) kni_ir_set(a->b, sums[c], add(a, get(a, sums[c]), s.scores[c]));
    for (int i = 0; i < 4; i++) kni_ir_end(a->b);
    const tile own = {.query = query, .key = key};
    store_bias(a, batch, head, &own, sums);
}

/* ---- the kernel */

uint32_t kni_attend_workgroup(const kni_attend_signature *s)
{
    return (uint32_t)(s->side / B) * (s->side / s->rows);
}

int64_t kni_attend_shared(const kni_attend_signature *s)
{
    return 2 * (int64_t)s->side * s->side * (int64_t)sizeof(float);
}

int kni_attend_buffers(const kni_attend_signature *s)
{
    static const int plain[KNI_ATTEND_PASSES] = {4, 7, 7, 6};
    return plain[s->pass] - s->summed + s->masked + s->biased + (s->slopes != 0) +
           (s->pass == KNI_ATTEND_FORWARD ? s->keeps : 0);
}

static void declare_buffers(kni_attend *a)
{
    const kni_attend_signature *s = a->s;
    kni_ir_builder *b = a->b;
    const int pass = s->pass, given = KNI_IR_READ, made = KNI_IR_WRITE;
    uint32_t wide[8], n = 0;
    wide[n++] = a->q = kni_ir_buffer(b, "q", s->dtype, given);
    wide[n++] = a->k = kni_ir_buffer(b, "k", s->dtype, given);
    wide[n++] = a->v = kni_ir_buffer(b, "v", s->dtype, given);
    if (pass != KNI_ATTEND_FORWARD) wide[n++] = a->dy = kni_ir_buffer(b, "dy", s->dtype, given);
    if (pass == KNI_ATTEND_QUERIES && !s->summed) a->y = kni_ir_buffer(b, "y", s->dtype, given);
    if (s->masked) a->mask = kni_ir_buffer(b, "mask", KN_BOOL, given);
    if (s->biased) a->bias = kni_ir_buffer(b, "bias", s->dtype, given);
    if (pass == KNI_ATTEND_FORWARD) wide[n++] = a->y = kni_ir_buffer(b, "y", s->dtype, made);
    if (pass != KNI_ATTEND_FORWARD || s->keeps) {
        const int access = pass == KNI_ATTEND_FORWARD   ? made
                           : pass == KNI_ATTEND_QUERIES ? given | made
                                                        : given;
        a->rows = kni_ir_buffer(b, "rows", KN_F32, access);
    }
    if (pass == KNI_ATTEND_QUERIES) wide[n++] = a->made[0] = kni_ir_buffer(b, "dq", s->dtype, made);
    if (pass == KNI_ATTEND_BIAS) a->made[0] = kni_ir_buffer(b, "dbias", s->dtype, made);
    if (pass == KNI_ATTEND_KEYS) {
        wide[n++] = a->made[0] = kni_ir_buffer(b, "dk", s->dtype, made);
        wide[n++] = a->made[1] = kni_ir_buffer(b, "dv", s->dtype, made);
    }
    for (uint32_t i = 0; i < n && s->quads && b->status == KN_OK; i++) b->ir->bindings[wide[i]].aligned = B;
    if (!s->slopes) return;
    a->made[2] = kni_ir_buffer(b, "slopes", s->slopes, made);
    if (s->slope_quads && b->status == KN_OK) b->ir->bindings[a->made[2]].aligned = B;
}

static void declare_numbers(kni_attend *a)
{
    static const char *const steps[] = {"q_step", "k_step", "v_step", "dy_step", "mask_step", "bias_step"};
    static const char *const names[] = {"batch", "heads", "key_heads", "queries", "keys", "size", "values"};
    static const char *const others[] = {"dropped", "key", "counter"}, *const reals[] = {"scale", "cap",
                                                                                         "kept"};
    kni_ir_add_item_params(a->b);
    for (int i = 0; i < KNI_ATTEND_WHOLES; i++) {
        char name[16];
        kni_text text = {name, sizeof name, 0};
        const int from = i - KNI_ATTEND_Q_STEPS, operand = from < 12 ? from / 3 : 4 + (from - 12) / 4;
        if (i < KNI_ATTEND_Q_STEPS) {
            kni_text_string(&text, names[i]);
        } else if (i >= KNI_ATTEND_THRESHOLD) {
            kni_text_string(&text, others[i - KNI_ATTEND_THRESHOLD]);
        } else {
            kni_text_string(&text, steps[operand]);
            kni_text_int(&text, from < 12 ? from % 3 : (from - 12) % 4);
        }
        a->wholes[i] = kni_ir_param_add(a->b, name, KN_I64, 0);
    }
    for (int i = 0; i < KNI_ATTEND_REALS; i++) a->reals[i] = kni_ir_param_add(a->b, reals[i], KN_F32, 0);
}

kni_ir *kni_attend_build(const kni_attend_signature *s, const kni_sched_target *target)
{
    static void (*const builders[KNI_ATTEND_PASSES])(kni_attend *) = {build_forward, build_queries,
                                                                      build_keys, build_bias};
    static const char *const names[KNI_ATTEND_PASSES] = {"attend", "attend_queries", "attend_keys",
                                                         "attend_bias"};
    kni_ir_builder b = kni_ir_begin(names[s->pass], kni_attend_workgroup(s));
    kni_attend a = {.b = &b, .s = s, .target = target, .index = s->wide ? KN_I64 : KN_I32};
    declare_buffers(&a);
    declare_numbers(&a);
    const int64_t cells = (int64_t)s->side * s->side;
    a.stage = kni_ir_array(&b, "stage", KN_F32, KNI_IR_SHARED, cells);
    a.held = kni_ir_array(&b, "held", KN_F32, KNI_IR_SHARED, cells);
    if (b.status == KN_OK) b.ir->bindings[a.stage].aligned = b.ir->bindings[a.held].aligned = B;
    a.local = kni_ir_builtin_value(&b, KNI_IR_LOCAL, 0, a.index);
    kni_attend_find_block(&a);
    builders[s->pass](&a);
    kni_ir *ir = kni_ir_finish(&b);
    if (!ir || kni_ir_simplify(ir) == KN_OK) return ir;
    kni_ir_free(ir);
    return NULL;
}
