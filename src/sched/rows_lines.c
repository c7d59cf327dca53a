/* Adds up the lines of a workgroup through shared memory, which gives one total for each column. Every invocation adds some lines of
   one column, then all of them read the totals. The layout alone fixes the order of the sums. */
#include "sched/sched_rows.h"

enum { MOST_GROUPS = 16, FEW_LINES = 4, MOST_AT_ONCE = 64 };

/* Lane i of all invocations lies together, `pitch` elements from lane i + 1. */
typedef struct lines_shape {
    uint32_t count, lines, side, threads, pitch;
    uint32_t columns; /* of all lanes */
    uint32_t groups;  /* of lines: as many invocations add up one column */
} lines_shape;

static lines_shape shape_of(const kni_work *w, uint32_t count)
{
    lines_shape x = {.count = count, .lines = w->teams, .side = w->threads / w->teams, .threads = w->threads};
    x.pitch = x.threads + x.side;
    x.columns = x.side * count;
    x.groups = 1;
    while (x.groups < MOST_GROUPS && x.groups * 2 * count <= x.lines && x.lines / x.groups > FEW_LINES)
        x.groups *= 2;
    return x;
}

uint32_t kni_rows_shared_bytes(const kni_work *w)
{
    uint32_t bytes = 0;
    bool used[KN_DTYPE_COUNT] = {false}, places = false;
    for (int i = 1; i < w->n_nodes; i++) {
        const kni_work_node *n = &w->nodes[i];
        if (n->kind != KNI_WORK_REDUCE) continue;
        int dtype = kni_rows_dtype(w, n);
        if (!used[dtype]) bytes += (uint32_t)kni_bytes_of(dtype);
        if (kni_rows_is_place(n) && !places) bytes += (uint32_t)kni_bytes_of(KN_I64);
        used[dtype] = true;
        places |= kni_rows_is_place(n);
    }
    return w->teams == 1 ? 0 : bytes * shape_of(w, w->lanes).pitch * w->lanes;
}

/* An array that all reductions of a dtype take turns with; `again`: another one has used it. */
static uint32_t array_of(kni_rows_emit *s, uint32_t *kept, int dtype, const lines_shape *x, bool *again)
{
    uint32_t n = s->b->status == KN_OK ? s->b->ir->n_bindings : 0;
    char name[16] = {'s', (char)('0' + n / 100), (char)('0' + n / 10 % 10), (char)('0' + n % 10), 0};
    *again |= *kept != 0;
    if (!*kept) *kept = 1 + kni_ir_array(s->b, name, dtype, KNI_IR_SHARED, (int64_t)x->pitch * x->count);
    return *kept - 1;
}

typedef struct lines_arrays {
    uint32_t values, places;
    bool has_places;
    int dtype;
} lines_arrays;

static kni_ir_id word(kni_rows_emit *s, const char *name, kni_ir_id x, int64_t y)
{
    return kni_ir_word(s->b, name, x, kni_ir_whole(s->b, KN_I32, y));
}

static void put(kni_rows_emit *s, const lines_arrays *a, kni_ir_id at, kni_rows_total t, kni_ir_id where)
{
    kni_ir_store_where(s->b, a->values, at, t.value, where);
    if (a->has_places) kni_ir_store_where(s->b, a->places, at, t.at, where);
}

/* What lies at `at` and `count` - 1 times `step` after it, as one. */
static kni_rows_total fold(kni_rows_emit *s, const kni_work_node *n, const lines_arrays *a, kni_ir_id at,
                           uint32_t count, uint32_t step)
{
    kni_rows_total all[MOST_AT_ONCE];
    for (uint32_t j = 0; j < count && j < MOST_AT_ONCE; j++) {
        kni_ir_id here = j ? word(s, "add", at, (int64_t)j * step) : at;
        all[j].value = kni_ir_load(s->b, a->values, here, a->dtype, 1);
        all[j].at = a->has_places ? kni_ir_load(s->b, a->places, here, KN_I64, 1) : 0;
    }
    return kni_rows_fold(s, n, all, count);
}

/* Where invocation q of a level finds the first of what it adds up: column c of lane i, of group g of `each` lines. */
static kni_ir_id first_of(kni_rows_emit *s, const lines_shape *x, kni_ir_id q, uint32_t each)
{
    kni_ir_id column = x->groups > 1 ? word(s, "rem", q, x->columns) : q;
    kni_ir_id at = kni_ir_word(s->b, "add", word(s, "rem", column, x->side),
                               word(s, "mul", word(s, "div", column, x->side), x->pitch));
    if (x->groups == 1) return at;
    return kni_ir_word(s->b, "add", at,
                       word(s, "mul", word(s, "div", q, x->columns), (int64_t)each * x->side));
}

/* `jobs` values, one for an invocation at a time, which take the places of what they were made of: [group][lane][column]. */
static void level(kni_rows_emit *s, const kni_work_node *n, const lines_arrays *a, const lines_shape *x,
                  uint32_t jobs, bool lines)
{
    kni_rows_total sums[KNI_EMIT_LANES];
    uint32_t turns = (jobs + x->threads - 1) / x->threads, each = x->lines / x->groups;
    kni_ir_id local = kni_ir_builtin_value(s->b, KNI_IR_LOCAL, 0, KN_I32);
    kni_ir_id active = jobs < x->threads ? word(s, "lt", local, jobs) : 0;
    kni_ir_id first = active ? word(s, "min", local, jobs - 1) : local;
    for (uint32_t m = 0; m < turns; m++) {
        kni_ir_id q = m ? word(s, "add", first, (int64_t)m * x->threads) : first;
        sums[m] = lines ? fold(s, n, a, first_of(s, x, q, each), each, x->side)
                        : fold(s, n, a, q, x->groups, x->columns);
    }
    kni_ir_barrier(s->b);
    for (uint32_t m = 0; m < turns; m++)
        put(s, a, m ? word(s, "add", local, (int64_t)m * x->threads) : local, sums[m], active);
    kni_ir_barrier(s->b);
}

void kni_rows_share_lines(kni_rows_emit *s, const kni_work_node *n, kni_rows_total *lanes, uint32_t count)
{
    if (s->w->teams == 1) return;
    const lines_shape x = shape_of(s->w, count);
    lines_arrays a = {.has_places = kni_rows_is_place(n), .dtype = kni_rows_dtype(s->w, n)};
    bool again = false;
    a.values = array_of(s, &s->shared[a.dtype], a.dtype, &x, &again);
    if (a.has_places) a.places = array_of(s, &s->shared_places, KN_I64, &x, &again);
    if (again) kni_ir_barrier(s->b);
    kni_ir_id local = kni_ir_builtin_value(s->b, KNI_IR_LOCAL, 0, KN_I32);
    for (uint32_t i = 0; i < count; i++)
        put(s, &a, i ? word(s, "add", local, (int64_t)i * x.pitch) : local, lanes[i], 0);
    kni_ir_barrier(s->b);
    level(s, n, &a, &x, x.columns * x.groups, true);
    if (x.groups > 1) level(s, n, &a, &x, x.columns, false);
    kni_ir_id mine = word(s, "rem", local, x.side);
    for (uint32_t i = 0; i < count; i++)
        lanes[i] = fold(s, n, &a, i ? word(s, "add", mine, (int64_t)i * x.side) : mine, 1, 0);
}
