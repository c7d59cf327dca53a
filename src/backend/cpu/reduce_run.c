/* Runs planned reductions: blocks fold pairwise in a tree that depends on the shape alone, on all threads. */
#include "backend/cpu/elementwise_convert.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/reduce_plan.h"
#include "core/thread_pool.h"
#include <string.h>

enum {
#ifdef KN_FREESTANDING
    STRIP_BYTES = 8, /* nothing is converted in strips there */
#else
    STRIP_BYTES = KNI_FOLD_BLOCK * 8,
#endif
    WIDEST = 8,
    UNIT_BYTES = KNI_FOLD_COLUMNS * WIDEST, /* 16 lanes need no more */
    CHUNK_BLOCKS = 64,      /* a power of two, so that chunks are nodes of the tree over blocks */
    TASK_ELEMENTS = 1 << 14 /* the least work that is worth a task */
};

/* Partial results by level: a result at level l holds 2^l blocks. */
typedef struct tree {
    _Alignas(64) char levels[KNI_FOLD_LEVELS][UNIT_BYTES];
    uint64_t pushed;
} tree;

static void tree_push(const kni_reduce_plan *p, tree *t, const char *value, int64_t width)
{
    int l = 0;
    for (; l < KNI_FOLD_LEVELS - 1 && (t->pushed >> l & 1); l++) {
        p->fold->merge(t->levels[l], value, width);
        value = t->levels[l];
    }
    if (l == KNI_FOLD_LEVELS - 1 && t->pushed >> l)
        p->fold->merge(t->levels[l], value, width);
    else
        memcpy(t->levels[l], value, (size_t)(width * p->bytes));
    t->pushed++;
}

/* The whole: lower levels, which came later, fold into higher ones. */
static const char *tree_root(const kni_reduce_plan *p, tree *t, int64_t width)
{
    char *root = NULL;
    for (int l = 0; l < KNI_FOLD_LEVELS; l++) {
        bool held = l == KNI_FOLD_LEVELS - 1 ? t->pushed >> l != 0 : t->pushed >> l & 1;
        if (!held) continue;
        if (root) p->fold->merge(t->levels[l], root, width);
        root = t->levels[l];
    }
    return root;
}

/* Where a unit's elements start in x and its results in y. */
static void unit_place(const kni_reduce_plan *p, int64_t unit, int64_t *x, int64_t *y, int64_t *width)
{
    int64_t strip = unit % p->strips, rest = unit / p->strips;
    *x = *y = 0;
    for (int a = p->n_kept - 1; a >= 0; a--) {
        *x += rest % p->kept[a].n * p->kept[a].x;
        *y += rest % p->kept[a].n * p->kept[a].y;
        rest /= p->kept[a].n;
    }
    if (p->inner_reduced) {
        *width = KNI_FOLD_LANES;
        return;
    }
    int64_t first = strip * KNI_FOLD_COLUMNS, left = p->inner.n - first;
    *x += first * p->inner.x;
    *y += first * p->inner.y;
    *width = left < KNI_FOLD_COLUMNS ? left : KNI_FOLD_COLUMNS;
}

static void load_strip(const kni_reduce_plan *p, const char *x, int64_t n, char *strip)
{
    if (p->widen)
        p->widen((const uint16_t *)(const void *)x, n, (float *)(void *)strip);
    else
        kni_cpu_convert(strip, p->strip_dtype, 1, x, p->x_dtype, p->inner.x, n);
}

static void fold_converted(const kni_reduce_plan *p, const char *x, int64_t n, int64_t width, char *value)
{
    _Alignas(64) char strip[STRIP_BYTES];
    if (p->inner_reduced) {
        load_strip(p, x, n, strip);
        p->fold->block(strip, n, value);
        return;
    }
    /* As many rows as the strip holds; blocks of converted rows are that small. */
    _Alignas(64) char part[UNIT_BYTES];
    int64_t room = KNI_FOLD_BLOCK / KNI_FOLD_COLUMNS;
    for (int64_t r = 0; r < n; r += room) {
        int64_t rows = n - r < room ? n - r : room;
        for (int64_t i = 0; i < rows; i++)
            kni_cpu_convert(strip + i * width * p->bytes, p->strip_dtype, 1,
                            x + (r + i) * p->segment.x * p->x_bytes, p->x_dtype, p->inner.x, width);
        p->fold->columns(strip, rows, width, width, r ? part : value);
        if (r) p->fold->merge(value, part, width);
    }
}

/* Block b of the unit that starts at x: 16 lanes, or one value for each column. */
static void fold_block(const kni_reduce_plan *p, int64_t x, int64_t b, int64_t width, char *value)
{
    int64_t line = b / p->line_blocks, first = b % p->line_blocks * p->block;
    int64_t n = p->segment.n - first < p->block ? p->segment.n - first : p->block;
    for (int a = p->n_lines - 1; a >= 0; a--) {
        x += line % p->lines[a].n * p->lines[a].x;
        line /= p->lines[a].n;
    }
    const char *from = p->x + (x + first * p->segment.x) * p->x_bytes;
    if (!p->direct)
        fold_converted(p, from, n, width, value);
    else if (p->inner_reduced)
        p->fold->block(from, n, value);
    else
        p->fold->columns(from, n, p->segment.x, width, value);
}

static void write_unit(const kni_reduce_plan *p, const char *value, int64_t y, int64_t width)
{
    char *to = p->y + y * p->bytes;
    if (p->inner_reduced)
        p->fold->rows(value, 1, KNI_FOLD_LANES, KNI_FOLD_LANES, to);
    else
        kni_convert(to, p->strip_dtype, p->inner.y, value, p->strip_dtype, 1, width);
}

static void run_unit(const kni_reduce_plan *p, int64_t unit)
{
    int64_t x, y, width;
    unit_place(p, unit, &x, &y, &width);
    _Alignas(64) char value[UNIT_BYTES];
    fold_block(p, x, 0, width, value);
    if (p->blocks == 1) {
        write_unit(p, value, y, width);
        return;
    }
    tree t;
    t.pushed = 0;
    tree_push(p, &t, value, width);
    for (int64_t b = 1; b < p->blocks; b++) {
        fold_block(p, x, b, width, value);
        tree_push(p, &t, value, width);
    }
    write_unit(p, tree_root(p, &t, width), y, width);
}

/* Rows that lie behind each other fold in one call; those to be converted only while several fit a strip. */
static bool many_rows(const kni_reduce_plan *p)
{
    if (!p->inner_reduced || p->blocks != 1 || p->n_kept != 1 || p->kept[0].y != 1) return false;
    return p->direct || (p->inner.x == 1 && p->kept[0].x == p->inner.n && 2 * p->inner.n <= KNI_FOLD_BLOCK);
}

static void run_rows(const kni_reduce_plan *p, int64_t begin, int64_t end)
{
    _Alignas(64) char strip[STRIP_BYTES];
    int64_t room = KNI_FOLD_BLOCK / p->inner.n;
    for (int64_t r = begin; r < end; r += room) {
        int64_t rows = end - r < room ? end - r : room;
        load_strip(p, p->x + r * p->inner.n * p->x_bytes, rows * p->inner.n, strip);
        p->fold->rows(strip, rows, p->inner.n, p->inner.n, p->y + r * p->bytes);
    }
}

typedef struct job {
    const kni_reduce_plan *plan;
    int64_t per_task, chunks;
    char *partial; /* UNIT_BYTES for each unit and chunk */
} job;

static void run_units(void *argument, int64_t task, int worker)
{
    (void)worker;
    const job *j = argument;
    const kni_reduce_plan *p = j->plan;
    int64_t begin = task * j->per_task, end = begin + j->per_task;
    if (end > p->units) end = p->units;
    if (many_rows(p) && !p->direct) {
        run_rows(p, begin, end);
        return;
    }
    if (many_rows(p)) {
        const char *x = p->x + begin * p->kept[0].x * p->x_bytes;
        p->fold->rows(x, end - begin, p->inner.n, p->kept[0].x, p->y + begin * p->bytes);
        return;
    }
    for (int64_t u = begin; u < end; u++) run_unit(p, u);
}

static void run_chunk(void *argument, int64_t task, int worker)
{
    (void)worker;
    const job *j = argument;
    const kni_reduce_plan *p = j->plan;
    int64_t x, y, width, begin = task % j->chunks * CHUNK_BLOCKS, end = begin + CHUNK_BLOCKS;
    unit_place(p, task / j->chunks, &x, &y, &width);
    _Alignas(64) char value[UNIT_BYTES];
    tree t;
    t.pushed = 0;
    for (int64_t b = begin; b < end && b < p->blocks; b++) {
        fold_block(p, x, b, width, value);
        tree_push(p, &t, value, width);
    }
    memcpy(j->partial + task * UNIT_BYTES, tree_root(p, &t, width), (size_t)(width * p->bytes));
}

/* Few long units: their chunks are tasks, and the chunks' results the upper levels of the tree. */
static kn_status run_chunks(const kni_reduce_plan *p, job *j)
{
    j->chunks = (p->blocks + CHUNK_BLOCKS - 1) / CHUNK_BLOCKS;
    size_t bytes = (size_t)(p->units * j->chunks) * UNIT_BYTES;
    j->partial = kni_allocate(bytes);
    if (!j->partial) return kni_fail_op(KN_ERROR_MEMORY, NULL, "no memory for partial results");
    kni_parallel_for(p->units * j->chunks, run_chunk, j);
    for (int64_t u = 0; u < p->units; u++) {
        int64_t x, y, width;
        unit_place(p, u, &x, &y, &width);
        tree t;
        t.pushed = 0;
        for (int64_t c = 0; c < j->chunks; c++)
            tree_push(p, &t, j->partial + (u * j->chunks + c) * UNIT_BYTES, width);
        write_unit(p, tree_root(p, &t, width), y, width);
    }
    kni_free(j->partial, bytes);
    return KN_OK;
}

kn_status kni_reduce_plan_run(const kni_reduce_plan *p)
{
    int64_t lines = p->blocks / p->line_blocks, width = p->inner_reduced ? 1 : p->inner.n;
    if (width > KNI_FOLD_COLUMNS) width = KNI_FOLD_COLUMNS;
    int64_t unit_elements = lines * p->segment.n * width;
    job j = {p, 1, 1, NULL};
    if (p->units * unit_elements <= 2 * TASK_ELEMENTS) {
        j.per_task = p->units;
        run_units(&j, 0, 0);
        return KN_OK;
    }
    if (p->units < 16 && p->blocks >= 2 * CHUNK_BLOCKS) return run_chunks(p, &j);
    if (unit_elements < TASK_ELEMENTS) j.per_task = TASK_ELEMENTS / unit_elements;
    kni_parallel_for((p->units + j.per_task - 1) / j.per_task, run_units, &j);
    return KN_OK;
}
