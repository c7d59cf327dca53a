/* The CPU entries of sort, topk and kthvalue: groups of lines are tasks. */
#include "backend/cpu/sort_keys.h"
#include "backend/host/host.h"
#include "core/thread_pool.h"
#include "ops/native.h"
#include "ops/sorting_attributes.h"
#include <string.h>

enum { TASK_ELEMENTS = 1 << 14 };

typedef struct plan plan;
struct plan {
    void (*line)(const plan *p, kni_sort_line *l, const char *x, char *y, int64_t *at);
    const char *x; /* contiguous [outer, axis, inner] of x's dtype */
    char *y;       /* [outer, kept, inner] */
    int64_t *positions;
    int64_t bytes, axis, inner, lines, per_task, kept, k;
    int dtype;
    bool descending, unsorted, propagate;
    bool failed; /* no memory in a task; written atomically */
};

/* y and positions of place `to` come from position `at` of the line. */
static inline void put(const plan *p, const char *x, int64_t at, char *y, int64_t *positions, int64_t to)
{
    memcpy(y + to * p->inner * p->bytes, x + at * p->inner * p->bytes, (size_t)p->bytes);
    positions[to * p->inner] = at;
}

static void sort_line(const plan *p, kni_sort_line *l, const char *x, char *y, int64_t *positions)
{
    kni_sort_words(l);
    for (int64_t i = 0; i < p->axis; i++) put(p, x, kni_sort_position(l, i), y, positions, i);
}

/* What stands before the word at place k, and as many of its equals as fit, in the order of the line. */
static void topk_line(const plan *p, kni_sort_line *l, const char *x, char *y, int64_t *positions)
{
    int64_t smaller = 0, found = 0;
    uint64_t last = kni_sort_select(l, p->k - 1, &smaller);
    int64_t equals = p->k - smaller;
    for (int64_t i = 0; i < p->axis && found < p->k; i++) {
        uint64_t word = l->words[i];
        if (word > last || (word == last && equals-- <= 0)) continue;
        l->words[found] = word;
        if (l->positions) l->positions[found] = (uint32_t)i;
        found++;
    }
    l->n = found;
    if (!p->unsorted) kni_sort_words(l);
    for (int64_t i = 0; i < found; i++) put(p, x, kni_sort_position(l, i), y, positions, i);
}

static void kth_line(const plan *p, kni_sort_line *l, const char *x, char *y, int64_t *positions)
{
    uint64_t nan = p->propagate ? kni_sort_nan_key(p->dtype) : 0;
    int shift = l->positions ? 0 : 32;
    for (int64_t i = 0; nan && i < p->axis; i++)
        if (l->words[i] >> shift == nan) {
            put(p, x, i, y, positions, 0);
            return;
        }
    int64_t smaller = 0, at = 0;
    uint64_t word = kni_sort_select(l, p->k - 1, &smaller);
    int64_t equals = p->k - 1 - smaller;
    while (l->words[at] != word || equals-- > 0) at++;
    put(p, x, at, y, positions, 0);
}

static void run_lines(void *argument, int64_t task, int worker)
{
    (void)worker;
    plan *p = argument;
    size_t bytes = kni_sort_bytes(p->dtype, p->axis);
    void *scratch = kni_allocate(bytes);
    if (!scratch) {
        __atomic_store_n(&p->failed, true, __ATOMIC_RELAXED);
        return;
    }
    int64_t begin = task * p->per_task, end = begin + p->per_task;
    for (int64_t i = begin; i < end && i < p->lines; i++) {
        int64_t outer = i / p->inner, inner = i % p->inner;
        const char *x = p->x + (outer * p->axis * p->inner + inner) * p->bytes;
        int64_t to = outer * p->kept * p->inner + inner;
        kni_sort_line l;
        kni_sort_line_begin(&l, scratch, p->dtype, p->axis, p->descending);
        kni_sort_load(&l, x, p->inner);
        p->line(p, &l, x, p->y + to * p->bytes, p->positions + to);
    }
    kni_free(scratch, bytes);
}

static kn_status run_plan(const kn_record *r, plan *p, int64_t axis)
{
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0), *positions = kni_out(r, 1);
    p->dtype = x->type.dtype;
    p->bytes = (int64_t)kni_element_bytes(x);
    p->axis = x->type.rank ? x->type.dims[axis] : 1;
    p->inner = p->lines = 1;
    for (int i = 0; i < x->type.rank; i++) {
        if (i > axis) p->inner *= x->type.dims[i];
        if (i != axis) p->lines *= x->type.dims[i];
    }
    if (p->axis > 0 && kni_sort_bytes(p->dtype, p->axis) == 0) return KN_ERROR_UNSUPPORTED;
    kn_status s = kni_host_allocate(y);
    if (s == KN_OK) s = kni_host_allocate(positions);
    if (s || kni_count(&y->type) == 0) return s;
    kni_borrowed elements;
    if (!kni_host_borrow(x, x->type.dtype, &elements)) return KN_ERROR_MEMORY;
    p->x = elements.data;
    p->y = y->storage->data;
    p->positions = positions->storage->data;
    p->per_task = p->axis < TASK_ELEMENTS ? TASK_ELEMENTS / p->axis : 1;
    kni_parallel_for((p->lines + p->per_task - 1) / p->per_task, run_lines, p);
    kni_host_unborrow(&elements);
    return p->failed ? kni_fail_op(KN_ERROR_MEMORY, NULL, "no memory to sort a line of %D elements", p->axis)
                     : KN_OK;
}

static kn_status run_sort(const kn_record *r)
{
    const kni_sort_attributes *a = r->attributes;
    const kni_tensor *x = kni_in(r, 0);
    plan p = {.line = sort_line, .descending = a->descending != 0};
    p.kept = x->type.rank ? x->type.dims[a->axis] : 1;
    return run_plan(r, &p, a->axis);
}

static kn_status run_topk(const kn_record *r)
{
    const kni_topk_attributes *a = r->attributes;
    plan p = {
        .line = topk_line, .k = a->k, .kept = a->k, .descending = !a->smallest, .unsorted = a->unsorted != 0};
    return run_plan(r, &p, a->axis);
}

static kn_status run_kthvalue(const kn_record *r)
{
    const kni_kth_attributes *a = r->attributes;
    plan p = {.line = kth_line, .k = a->k, .kept = 1, .propagate = a->propagate != 0};
    return run_plan(r, &p, a->axis);
}

extern const kni_native kni_cpu_sort, kni_cpu_topk, kni_cpu_kthvalue;
const kni_native kni_cpu_sort = {.run = run_sort}, kni_cpu_topk = {.run = run_topk},
                 kni_cpu_kthvalue = {.run = run_kthvalue};
