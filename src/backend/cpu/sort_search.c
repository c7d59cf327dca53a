/* The CPU entries of searchsorted and unique_bounded, on the keys of sorting. */
#include "backend/cpu/sort_keys.h"
#include "backend/host/host.h"
#include "core/thread_pool.h"
#include "ops/native.h"
#include "ops/sorting_attributes.h"
#include <string.h>

enum { TASK_VALUES = 1 << 12 };

typedef struct search {
    const uint64_t *sorted;
    uint64_t *values; /* keys, replaced by the results where they stand */
    int64_t n, per_line, count;
    bool one_line, right;
} search;

static void search_some(void *argument, int64_t task, int worker)
{
    (void)worker;
    const search *s = argument;
    int64_t begin = task * TASK_VALUES, end = begin + TASK_VALUES;
    for (int64_t i = begin; i < end && i < s->count; i++) {
        const uint64_t *line = s->sorted + (s->one_line ? 0 : i / s->per_line * s->n);
        uint64_t v = s->values[i];
        int64_t low = 0, high = s->n;
        while (low < high) {
            int64_t middle = low + (high - low) / 2;
            bool after = s->right ? line[middle] <= v : line[middle] < v;
            low = after ? middle + 1 : low;
            high = after ? high : middle;
        }
        s->values[i] = (uint64_t)low;
    }
}

static kn_status run_searchsorted(const kn_record *r)
{
    kni_tensor *sorted = kni_in(r, 0), *values = kni_in(r, 1), *y = kni_out(r, 0);
    kn_status status = kni_host_allocate(y);
    search s = {.n = sorted->type.dims[sorted->type.rank - 1],
                .per_line = values->type.rank ? values->type.dims[values->type.rank - 1] : 1,
                .count = kni_count(&values->type),
                .one_line = sorted->type.rank == 1,
                .right = ((const kni_search_attributes *)r->attributes)->right != 0};
    if (status || s.count == 0) return status;
    int64_t n = kni_count(&sorted->type), key_bytes = kn_dtype_bytes(KN_U64, n);
    kni_borrowed a = {NULL, 0}, b = {NULL, 0};
    uint64_t *keys = key_bytes < 0 ? NULL : kni_allocate((size_t)key_bytes);
    if (!keys) return kni_fail_op(KN_ERROR_MEMORY, NULL, "no memory for %D keys", n);
    s.sorted = keys;
    s.values = y->storage->data; /* results are as wide as keys */
    if (kni_host_borrow(sorted, sorted->type.dtype, &a) && kni_host_borrow(values, values->type.dtype, &b)) {
        kni_sort_plain_keys(keys, a.data, sorted->type.dtype, 1, n);
        kni_sort_plain_keys(s.values, b.data, values->type.dtype, 1, s.count);
        kni_parallel_for((s.count + TASK_VALUES - 1) / TASK_VALUES, search_some, &s);
    } else {
        status = KN_ERROR_MEMORY;
    }
    kni_host_unborrow(&a);
    kni_host_unborrow(&b);
    kni_free(keys, (size_t)key_bytes);
    return status;
}

/* Walks the sorted line: a key that differs from the one before, and every NaN, is a new value. */
static void write_unique(const kn_record *r, const kni_sort_line *l, const char *x)
{
    size_t bytes = kni_element_bytes(kni_in(r, 0));
    char *values = kni_out(r, 0)->storage->data;
    int64_t *inverse = kni_out(r, 1)->storage->data, *counts = kni_out(r, 2)->storage->data, found = 0;
    uint64_t nan = kni_sort_nan_key(l->dtype), last = 0;
    int shift = l->positions ? 0 : 32;
    for (int64_t i = 0; i < l->n; i++) {
        uint64_t key = l->words[i] >> shift;
        int64_t at = kni_sort_position(l, i);
        if (i == 0 || key != last || (nan && key == nan)) {
            memcpy(values + (size_t)found * bytes, x + (size_t)at * bytes, bytes);
            counts[found++] = 0;
        }
        counts[found - 1]++;
        inverse[at] = found - 1;
        last = key;
    }
    memset(values + (size_t)found * bytes, 0, (size_t)(l->n - found) * bytes);
    memset(counts + found, 0, (size_t)(l->n - found) * sizeof *counts);
    *(int64_t *)kni_out(r, 3)->storage->data = found;
}

static kn_status run_unique(const kn_record *r)
{
    kni_tensor *x = kni_in(r, 0);
    int64_t n = kni_count(&x->type);
    size_t bytes = kni_sort_bytes(x->type.dtype, n);
    if (n > 0 && bytes == 0) return KN_ERROR_UNSUPPORTED;
    kn_status s = KN_OK;
    for (int i = 0; i < 4 && s == KN_OK; i++) s = kni_host_allocate(kni_out(r, i));
    if (s) return s;
    kni_borrowed elements;
    if (!kni_host_borrow(x, x->type.dtype, &elements)) return KN_ERROR_MEMORY;
    void *scratch = bytes ? kni_allocate(bytes) : NULL;
    if (bytes && !scratch) s = kni_fail_op(KN_ERROR_MEMORY, NULL, "no memory to sort %D elements", n);
    if (s == KN_OK) {
        kni_sort_line l;
        kni_sort_line_begin(&l, scratch, x->type.dtype, n, false);
        if (n) kni_sort_load(&l, elements.data, 1);
        if (n) kni_sort_words(&l);
        write_unique(r, &l, elements.data);
    }
    if (scratch) kni_free(scratch, bytes);
    kni_host_unborrow(&elements);
    return s;
}

extern const kni_native kni_cpu_searchsorted, kni_cpu_unique_bounded;
const kni_native kni_cpu_searchsorted = {.run = run_searchsorted},
                 kni_cpu_unique_bounded = {.run = run_unique};
