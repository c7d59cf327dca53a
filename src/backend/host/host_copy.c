/* Strided copies: axes that lie behind each other are merged; what is left is copied by rows, or, where the
   operand runs along another axis than the result, by square tiles that stay in the cache. */
#include "backend/host/host_copy.h"
#include "core/strided_copy.h"
#include "core/thread_pool.h"
#include <string.h>

#ifdef KN_FREESTANDING
enum { TILE = 16, TASK_ELEMENTS = 1 << 28 };
#else
enum { TILE = 32, TASK_ELEMENTS = 1 << 15 };
#endif

typedef struct plan {
    char *to;
    const char *from;
    int rank, tiled; /* tiled: the axis that the operand runs along, -1 when rows are copied */
    int64_t dims[KN_MAX_RANK], to_strides[KN_MAX_RANK], from_strides[KN_MAX_RANK];
    int64_t bytes, units, per_task; /* units: rows, or rows of tiles */
} plan;

/* Elements at any address: a user's buffer need not be aligned. */
typedef uint16_t __attribute__((aligned(1), may_alias)) element_2;
typedef uint32_t __attribute__((aligned(1), may_alias)) element_4;
typedef uint64_t __attribute__((aligned(1), may_alias)) element_8;

/* One row: n elements along the innermost axis. */
#define DEFINE_ROW(name, type)                                                                               \
    static void name(char *to, int64_t ts, const char *from, int64_t fs, int64_t n)                          \
    {                                                                                                        \
        type *y = (type *)to;                                                                                \
        const type *x = (const type *)from;                                                                  \
        if (ts == 1 && fs == 0) {                                                                            \
            type v = x[0];                                                                                   \
            for (int64_t i = 0; i < n; i++) y[i] = v;                                                        \
        } else if (ts == 1 && fs == -1) {                                                                    \
            for (int64_t i = 0; i < n; i++) y[i] = x[-i];                                                    \
        } else {                                                                                             \
            for (int64_t i = 0; i < n; i++) y[i * ts] = x[i * fs];                                           \
        }                                                                                                    \
    }
DEFINE_ROW(row_1, uint8_t)
DEFINE_ROW(row_2, element_2)
DEFINE_ROW(row_4, element_4)
DEFINE_ROW(row_8, element_8)

/* One tile: rows along the operand's inner axis, columns along the result's. Whole tiles go through a small
   buffer, so that memory is read and written in runs. */
#define DEFINE_TILE(name, type, side)                                                                        \
    static void name##_block(type *y, int64_t ys, const type *x, int64_t xs)                                 \
    {                                                                                                        \
        type t[side][side];                                                                                  \
        for (int c = 0; c < side; c++)                                                                       \
            for (int r = 0; r < side; r++) t[r][c] = x[c * xs + r];                                          \
        for (int r = 0; r < side; r++) memcpy(y + r * ys, t[r], sizeof t[r]);                                \
    }                                                                                                        \
    static void name(char *to, int64_t ys, const char *from, int64_t xs, int64_t rows, int64_t columns)      \
    {                                                                                                        \
        type *y = (type *)to;                                                                                \
        const type *x = (const type *)from;                                                                  \
        int64_t whole_rows = rows / side * side, whole_columns = columns / side * side;                      \
        for (int64_t r = 0; r < whole_rows; r += side)                                                       \
            for (int64_t c = 0; c < whole_columns; c += side)                                                \
                name##_block(y + r * ys + c, ys, x + c * xs + r, xs);                                        \
        for (int64_t r = 0; r < rows; r++)                                                                   \
            for (int64_t c = r < whole_rows ? whole_columns : 0; c < columns; c++)                           \
                y[r * ys + c] = x[c * xs + r];                                                               \
    }
DEFINE_TILE(tile_1, uint8_t, 16)
DEFINE_TILE(tile_2, element_2, 8)
DEFINE_TILE(tile_4, element_4, 8)
DEFINE_TILE(tile_8, element_8, 4)

typedef void (*row_fn)(char *, int64_t, const char *, int64_t, int64_t);
typedef void (*tile_fn)(char *, int64_t, const char *, int64_t, int64_t, int64_t);
static const row_fn rows_by_size[9] = {[1] = row_1, [2] = row_2, [4] = row_4, [8] = row_8};
static const tile_fn tiles_by_size[9] = {[1] = tile_1, [2] = tile_2, [4] = tile_4, [8] = tile_8};

static int64_t tiles_along(const plan *p) { return (p->dims[p->tiled] + TILE - 1) / TILE; }

/* Where unit `at` begins: the counters of all axes but the innermost (and, tiled, the tile's own axis). */
static void place(const plan *p, int64_t at, char **to, const char **from)
{
    int64_t t = 0, f = 0;
    for (int a = p->rank - 2; a >= 0; a--) {
        if (a == p->tiled) continue;
        int64_t i = at % p->dims[a];
        at /= p->dims[a];
        t += i * p->to_strides[a];
        f += i * p->from_strides[a];
    }
    *to = p->to + t * p->bytes;
    *from = p->from + f * p->bytes;
}

static void copy_row(const plan *p, int64_t at)
{
    int last = p->rank - 1;
    char *to;
    const char *from;
    place(p, at, &to, &from);
    if (p->to_strides[last] == 1 && p->from_strides[last] == 1)
        memcpy(to, from, (size_t)(p->dims[last] * p->bytes));
    else
        rows_by_size[p->bytes](to, p->to_strides[last], from, p->from_strides[last], p->dims[last]);
}

static void copy_tiles(const plan *p, int64_t at)
{
    int last = p->rank - 1, q = p->tiled;
    int64_t along = tiles_along(p), first = at % along * TILE;
    int64_t rows = p->dims[q] - first < TILE ? p->dims[q] - first : TILE;
    char *to;
    const char *from;
    place(p, at / along, &to, &from);
    to += first * p->to_strides[q] * p->bytes;
    from += first * p->bytes;
    for (int64_t c = 0; c < p->dims[last]; c += TILE) {
        int64_t columns = p->dims[last] - c < TILE ? p->dims[last] - c : TILE;
        tiles_by_size[p->bytes](to + c * p->bytes, p->to_strides[q],
                                from + c * p->from_strides[last] * p->bytes, p->from_strides[last], rows,
                                columns);
    }
}

static void run_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    const plan *p = argument;
    int64_t end = (task + 1) * p->per_task;
    if (end > p->units) end = p->units;
    for (int64_t at = task * p->per_task; at < end; at++) {
        if (p->tiled >= 0)
            copy_tiles(p, at);
        else
            copy_row(p, at);
    }
}

/* A long single row is cut in two axes, so that threads can share it. */
static void cut_row(plan *p)
{
    int64_t n = p->dims[0], piece = TASK_ELEMENTS;
    if (p->rank != 1 || n < 2 * piece || n % piece) return;
    p->rank = 2;
    p->dims[0] = n / piece;
    p->dims[1] = piece;
    p->to_strides[1] = p->to_strides[0];
    p->from_strides[1] = p->from_strides[0];
    p->to_strides[0] *= piece;
    p->from_strides[0] *= piece;
}

/* The axis that an operand runs along, when that is not the last one; -1 else. */
static int axis_along(const int64_t *strides, int rank, const int64_t *dims)
{
    int last = rank - 1;
    if (last < 1 || strides[last] == 1 || strides[last] == 0 || dims[last] < 4) return -1;
    for (int a = 0; a < last; a++)
        if (strides[a] == 1 && dims[a] >= 4) return a;
    return -1;
}

bool kni_host_runs_across(const int64_t *strides, int rank, const int64_t *dims)
{
    while (rank > 1 && dims[rank - 1] == 1) rank--;
    return axis_along(strides, rank, dims) >= 0;
}

/* The axis to tile with: the operand runs along it, the result along the innermost one. */
static int choose_tiled(const plan *p)
{
    return p->to_strides[p->rank - 1] == 1 ? axis_along(p->from_strides, p->rank, p->dims) : -1;
}

static void run(plan *p)
{
    int64_t row = p->dims[p->rank - 1];
    p->tiled = choose_tiled(p);
    p->units = 1;
    for (int a = 0; a < p->rank - 1; a++) p->units *= a == p->tiled ? tiles_along(p) : p->dims[a];
    int64_t unit = p->tiled >= 0 ? row * TILE : row;
    p->per_task = unit >= TASK_ELEMENTS ? 1 : TASK_ELEMENTS / unit;
    kni_parallel_for((p->units + p->per_task - 1) / p->per_task, run_task, p);
}

void kni_host_copy(void *to, const int64_t *to_strides, const void *from, const int64_t *from_strides,
                   int rank, const int64_t *dims, size_t element_bytes)
{
    if (kni_count_dims(rank, dims) == 0) return;
    int64_t strides[2][KN_MAX_RANK];
    plan p = {.to = to, .from = from, .bytes = (int64_t)element_bytes};
    for (int i = 0; i < rank; i++) {
        p.dims[i] = dims[i];
        strides[0][i] = to_strides[i];
        strides[1][i] = from_strides[i];
    }
    p.rank = kni_collapse(rank, p.dims, 2, strides);
    memcpy(p.to_strides, strides[0], sizeof p.to_strides);
    memcpy(p.from_strides, strides[1], sizeof p.from_strides);
    if (p.rank == 1 && p.dims[0] > 2 * TASK_ELEMENTS && p.dims[0] % TASK_ELEMENTS) {
        /* The rest of the row first; what is left cuts evenly. */
        plan rest = p;
        int64_t whole = p.dims[0] / TASK_ELEMENTS * TASK_ELEMENTS;
        rest.dims[0] = p.dims[0] - whole;
        rest.to += whole * p.to_strides[0] * p.bytes;
        rest.from += whole * p.from_strides[0] * p.bytes;
        run(&rest);
        p.dims[0] = whole;
    }
    cut_row(&p);
    run(&p);
}

/* ---- filling */

typedef struct filling {
    char *to;
    const void *value;
    size_t bytes;
    int64_t n;
    bool zero;
} filling;

static void fill_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    const filling *f = argument;
    int64_t begin = task * TASK_ELEMENTS, n = f->n - begin < TASK_ELEMENTS ? f->n - begin : TASK_ELEMENTS;
    char *to = f->to + begin * (int64_t)f->bytes;
    if (f->zero)
        memset(to, 0, (size_t)n * f->bytes);
    else
        rows_by_size[f->bytes](to, 1, f->value, 0, n);
}

void kni_host_fill(void *to, const void *value, size_t element_bytes, int64_t n)
{
    static const char zeros[8] = {0};
    filling f = {to, value, element_bytes, n, memcmp(value, zeros, element_bytes) == 0};
    if (n <= TASK_ELEMENTS) {
        if (n > 0) fill_task(&f, 0, 0);
        return;
    }
    kni_parallel_for((n + TASK_ELEMENTS - 1) / TASK_ELEMENTS, fill_task, &f);
}
