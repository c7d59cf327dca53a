/* The CPU's entries of rows that read by index. Elements are moved by their size, whatever their dtype. */
#include "backend/cpu/indexing_positions.h"
#include "core/thread_pool.h"
#include "ops/indexing_rows.h"
#include "ops/native.h"
#include <string.h>

enum { BLOCK = 1 << 14 };

/* y[o, j, i] = x[o, at[j], i], or at[o, j, i] where each element has its own index. */
typedef struct reading {
    const char *x;
    char *y;
    const int64_t *at;
    int64_t outer, axis, count, inner, bytes, rows_per_task;
} reading;

/* Rows of one element or of many: copied at once. */
#define DEFINE_TAKE(name, type)                                                                              \
    static void name(const reading *g, int64_t o, int64_t first, int64_t last)                               \
    {                                                                                                        \
        const type *x = (const type *)g->x + o * g->axis;                                                    \
        type *y = (type *)g->y + o * g->count;                                                               \
        for (int64_t j = first; j < last; j++) y[j] = x[g->at[j]];                                           \
    }
DEFINE_TAKE(take_1, uint8_t)
DEFINE_TAKE(take_2, uint16_t)
DEFINE_TAKE(take_4, uint32_t)
DEFINE_TAKE(take_8, uint64_t)

#define DEFINE_GATHER(name, type)                                                                            \
    static void name(const reading *g, int64_t o, int64_t first, int64_t last)                               \
    {                                                                                                        \
        int64_t n = g->inner;                                                                                \
        const type *x = (const type *)g->x + o * g->axis * n;                                                \
        for (int64_t j = first; j < last; j++) {                                                             \
            const int64_t *at = g->at + (o * g->count + j) * n;                                              \
            type *y = (type *)g->y + (o * g->count + j) * n;                                                 \
            for (int64_t i = 0; i < n; i++) y[i] = x[at[i] * n + i];                                         \
        }                                                                                                    \
    }
DEFINE_GATHER(gather_1, uint8_t)
DEFINE_GATHER(gather_2, uint16_t)
DEFINE_GATHER(gather_4, uint32_t)
DEFINE_GATHER(gather_8, uint64_t)

typedef void (*rows_fn)(const reading *g, int64_t o, int64_t first, int64_t last);
static const rows_fn takes[9] = {[1] = take_1, [2] = take_2, [4] = take_4, [8] = take_8};
static const rows_fn gathers[9] = {[1] = gather_1, [2] = gather_2, [4] = gather_4, [8] = gather_8};

static void take_rows(const reading *g, int64_t o, int64_t first, int64_t last)
{
    int64_t row = g->inner * g->bytes;
    for (int64_t j = first; j < last; j++)
        memcpy(g->y + (o * g->count + j) * row, g->x + (o * g->axis + g->at[j]) * row, (size_t)row);
}

/* Tasks are runs of rows j of the flattened [outer, count]. */
static void run_rows(const reading *g, int64_t task, rows_fn fn)
{
    int64_t at = task * g->rows_per_task, end = at + g->rows_per_task;
    if (end > g->outer * g->count) end = g->outer * g->count;
    while (at < end) {
        int64_t o = at / g->count, first = at % g->count;
        int64_t last = first + end - at < g->count ? first + end - at : g->count;
        fn(g, o, first, last);
        at += last - first;
    }
}

static void take_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    const reading *g = argument;
    run_rows(g, task, g->inner == 1 ? takes[g->bytes] : take_rows);
}

static void gather_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    const reading *g = argument;
    run_rows(g, task, gathers[g->bytes]);
}

/* Borrows x, makes the result and runs the tasks; p has been read already. */
static kn_status read_all(const kn_record *r, reading *g, kni_positions *p, kn_status s,
                          void (*task)(void *, int64_t, int))
{
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0);
    kni_borrowed source = {NULL, 0};
    if (s == KN_OK) s = kni_host_allocate(y);
    int64_t rows = g->outer * g->count;
    if (s == KN_OK && rows * g->inner > 0) {
        if (!kni_host_borrow(x, x->type.dtype, &source)) s = KN_ERROR_MEMORY;
        g->x = source.data;
        g->y = y->storage->data;
        g->at = p->at;
        g->bytes = (int64_t)kni_element_bytes(x);
        g->rows_per_task = g->inner >= BLOCK ? 1 : BLOCK / g->inner;
        if (s == KN_OK) kni_parallel_for((rows + g->rows_per_task - 1) / g->rows_per_task, task, g);
        kni_host_unborrow(&source);
    }
    kni_positions_free(p);
    return s;
}

static kn_status run_take(const kn_record *r)
{
    const kni_take_attributes *a = r->attributes;
    kni_axis_view v = kni_view_axis(&kni_in(r, 0)->type, a->axis);
    kni_positions p;
    kn_status s = kni_positions_of_axis(r, a->axis, a->negative, &p);
    reading g = {.outer = v.outer, .axis = v.axis, .count = p.n, .inner = v.inner};
    return read_all(r, &g, &p, s, take_task);
}
const kni_native kni_cpu_take = {.run = run_take};

static kn_status run_gather(const kn_record *r)
{
    const kni_take_attributes *a = r->attributes;
    kni_axis_view v = kni_view_axis(&kni_in(r, 0)->type, a->axis);
    kni_positions p;
    kn_status s = kni_positions_of_axis(r, a->axis, a->negative, &p);
    reading g = {
        .outer = v.outer, .axis = v.axis, .count = kni_in(r, 1)->type.dims[a->axis], .inner = v.inner};
    return read_all(r, &g, &p, s, gather_task);
}
const kni_native kni_cpu_gather = {.run = run_gather};

static kn_status run_gather_nd(const kn_record *r)
{
    const kni_type *x = &kni_in(r, 0)->type, *index = &kni_in(r, 1)->type;
    int batch = (int)((const kni_gather_nd_attributes *)r->attributes)->batch_axes;
    int depth = batch + (int)index->dims[index->rank - 1];
    kni_positions p;
    kn_status s = kni_positions_of_tuples(r, batch, &p);
    reading g = {.outer = 1,
                 .axis = kni_count_dims(depth, x->dims),
                 .count = p.n,
                 .inner = kni_count_dims(x->rank - depth, x->dims + depth)};
    return read_all(r, &g, &p, s, take_task);
}
const kni_native kni_cpu_gather_nd = {.run = run_gather_nd};

/* ---- nonzero: blocks are counted, then each writes from where the ones before it end */

typedef struct search {
    const uint8_t *x;
    const kni_type *type;
    int64_t n, capacity, *first; /* first[b]: how many come before block b */
    int64_t *y;
} search;

static void count_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    const search *q = argument;
    int64_t end = (task + 1) * BLOCK < q->n ? (task + 1) * BLOCK : q->n, total = 0;
    for (int64_t e = task * BLOCK; e < end; e++) total += q->x[e] != 0;
    q->first[task] = total;
}

/* Walks the rows of the last axis; the counters of the other axes change only between rows. */
static void write_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    const search *q = argument;
    int outer = q->type->rank - 1;
    int64_t at = task * BLOCK, end = at + BLOCK < q->n ? at + BLOCK : q->n, to = q->first[task];
    int64_t columns = q->type->dims[outer], column = at % columns, rest = at / columns, index[KN_MAX_RANK];
    for (int a = outer - 1; a >= 0; a--) {
        index[a] = rest % q->type->dims[a];
        rest /= q->type->dims[a];
    }
    while (at < end && to < q->capacity) {
        int64_t stop = columns - column < end - at ? columns : column + end - at;
        for (; column < stop; column++, at++) {
            if (!q->x[at]) continue;
            if (to == q->capacity) return;
            int64_t *y = q->y + to++ * (outer + 1);
            for (int a = 0; a < outer; a++) y[a] = index[a];
            y[outer] = column;
        }
        column = 0;
        for (int a = outer - 1; a >= 0 && ++index[a] == q->type->dims[a]; a--) index[a] = 0;
    }
}

static kn_status run_nonzero(const kn_record *r)
{
    const kni_nonzero_attributes *a = r->attributes;
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0), *count = kni_out(r, 1);
    int64_t n = kni_count(&x->type), blocks = (n + BLOCK - 1) / BLOCK, total = 0;
    size_t bytes = (size_t)(blocks + 1) * sizeof(int64_t);
    kni_borrowed truths = {NULL, 0};
    search q = {NULL, &x->type, n, a->capacity, kni_allocate(bytes), NULL};
    kn_status s = q.first ? kni_host_allocate(y)
                          : kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for the counts");
    if (s == KN_OK) s = kni_host_allocate(count);
    if (s == KN_OK && !kni_host_borrow(x, KN_BOOL, &truths)) s = KN_ERROR_MEMORY;
    if (s == KN_OK) {
        q.x = truths.data;
        q.y = y->storage->data;
        if (blocks) kni_parallel_for(blocks, count_task, &q);
        for (int64_t b = 0; b < blocks; b++) {
            int64_t here = q.first[b];
            q.first[b] = total;
            total += here;
        }
        if (blocks && x->type.rank) kni_parallel_for(blocks, write_task, &q);
        if (total < a->capacity)
            memset(q.y + total * x->type.rank, 0,
                   (size_t)((a->capacity - total) * x->type.rank) * sizeof(int64_t));
        memcpy(count->storage->data, &total, sizeof total);
    }
    kni_host_unborrow(&truths);
    if (q.first) kni_free(q.first, bytes);
    return s;
}
const kni_native kni_cpu_nonzero = {.run = run_nonzero};
