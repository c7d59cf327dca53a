/* The CPU entry of distinct: elements by the words of sorting, slices by merging their places in the order of their keys. */
#include "backend/cpu/sort_keys.h"
#include "backend/host/host.h"
#include "ops/native.h"
#include "ops/sorting_attributes.h"
#include <string.h>

typedef struct job {
    int64_t n, k, outer, inner; /* n slices of k elements */
    const uint64_t *keys;       /* [n, k] */
    uint64_t nan;
    int64_t *places, *spare; /* n each */
    int64_t *first, *inverse, *counts, found;
} job;

/* Below 0: a stands before b. *same: whether they are equal, which NaN never is. */
static int compare(const job *j, int64_t a, int64_t b, bool *same)
{
    const uint64_t *x = j->keys + a * j->k, *y = j->keys + b * j->k;
    for (int64_t e = 0; e < j->k; e++) {
        *same = x[e] == y[e] && !(j->nan && x[e] == j->nan);
        if (!*same) return x[e] < y[e] ? -1 : x[e] > y[e];
    }
    *same = true;
    return 0;
}

static void merge_runs(const job *j, const int64_t *from, int64_t *to, int64_t begin, int64_t middle,
                       int64_t end)
{
    int64_t a = begin, b = middle;
    bool same;
    for (int64_t k = begin; k < end; k++) {
        bool second = a >= middle || (b < end && compare(j, from[b], from[a], &same) < 0);
        to[k] = second ? from[b++] : from[a++];
    }
}

static void sort_places(job *j)
{
    for (int64_t i = 0; i < j->n; i++) j->places[i] = i;
    for (int64_t width = 1; width < j->n; width *= 2) {
        for (int64_t begin = 0; begin < j->n; begin += 2 * width) {
            int64_t middle = begin + width < j->n ? begin + width : j->n;
            int64_t end = begin + 2 * width < j->n ? begin + 2 * width : j->n;
            merge_runs(j, j->places, j->spare, begin, middle, end);
        }
        int64_t *swap = j->places;
        j->places = j->spare;
        j->spare = swap;
    }
}

static void number_slices(job *j)
{
    for (int64_t i = 0; i < j->n; i++) {
        bool same = false;
        if (i) compare(j, j->places[i - 1], j->places[i], &same);
        if (!same) {
            j->first[j->found] = j->places[i];
            j->counts[j->found++] = 0;
        }
        j->counts[j->found - 1]++;
        j->inverse[j->places[i]] = j->found - 1;
    }
}

/* From ascending order to that in which they come. */
static void order_by_place(job *j)
{
    int64_t next = 0, *rank = j->spare, *lined = j->places;
    for (int64_t i = 0; i < j->n; i++)
        if (j->first[j->inverse[i]] == i) rank[j->inverse[i]] = next++;
    for (int64_t i = 0; i < j->found; i++) lined[rank[i]] = j->counts[i];
    memcpy(j->counts, lined, (size_t)j->found * sizeof *lined);
    for (int64_t i = 0; i < j->found; i++) lined[rank[i]] = j->first[i];
    memcpy(j->first, lined, (size_t)j->found * sizeof *lined);
    for (int64_t i = 0; i < j->n; i++) j->inverse[i] = rank[j->inverse[i]];
}

static void write_values(const job *j, const char *x, char *values, size_t bytes)
{
    size_t run = (size_t)j->inner * bytes;
    for (int64_t o = 0; o < j->outer; o++) {
        const char *from = x + (size_t)(o * j->n) * run;
        char *to = values + (size_t)(o * j->n) * run;
        for (int64_t i = 0; i < j->found; i++)
            memcpy(to + (size_t)i * run, from + (size_t)j->first[i] * run, run);
        memset(to + (size_t)j->found * run, 0, (size_t)(j->n - j->found) * run);
    }
}

/* The keys of x [outer, n, inner] as [n, outer inner], each slice a row. */
static void make_keys(const job *j, uint64_t *keys, uint64_t *scratch, const void *x, int dtype)
{
    int64_t all = j->n * j->k;
    if (j->outer == 1) {
        kni_sort_plain_keys(keys, x, dtype, 1, all);
        return;
    }
    kni_sort_plain_keys(scratch, x, dtype, 1, all);
    for (int64_t o = 0; o < j->outer; o++)
        for (int64_t i = 0; i < j->n; i++)
            memcpy(keys + (i * j->outer + o) * j->inner, scratch + (o * j->n + i) * j->inner,
                   (size_t)j->inner * sizeof *keys);
}

/* Single elements: the order that sorting gives them, by radix. */
static void sort_elements(job *j, void *scratch, const void *x, int dtype)
{
    kni_sort_line l;
    kni_sort_line_begin(&l, scratch, dtype, j->n, false);
    kni_sort_load(&l, x, 1);
    kni_sort_words(&l);
    for (int64_t i = 0; i < j->n; i++) j->places[i] = kni_sort_position(&l, i);
}

static kn_status run_distinct(const kn_record *r)
{
    const kni_distinct_attributes *a = r->attributes;
    kni_tensor *x = kni_in(r, 0);
    const kni_type *t = &x->type;
    job j = {.n = kni_count(&kni_out(r, 2)->type), .outer = 1, .inner = 1, .nan = kni_sort_nan_key(t->dtype)};
    if (a->by_axis) {
        j.outer = kni_count_dims((int)a->axis, t->dims);
        j.inner = kni_count_dims(t->rank - (int)a->axis - 1, t->dims + a->axis + 1);
    }
    if (!j.n || !j.inner) j.outer = 0; /* nothing is walked where there are no elements */
    j.k = j.outer * j.inner;
    kn_status s = KN_OK;
    for (int i = 0; i < 5 && s == KN_OK; i++) s = kni_host_allocate(kni_out(r, i));
    if (s) return s;
    size_t line = j.k == 1 ? kni_sort_bytes(t->dtype, j.n) : 0, words = (size_t)(j.n * j.k) * 8;
    size_t places = (size_t)j.n * 16, bytes = places + words * (j.outer > 1 ? 2 : 1) + line + 8;
    char *memory = kni_allocate(bytes);
    kni_borrowed from;
    if (!memory) return kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory to compare %D slices", j.n);
    if (!kni_host_borrow(x, t->dtype, &from)) {
        kni_free(memory, bytes);
        return KN_ERROR_MEMORY;
    }
    uint64_t *keys = (uint64_t *)(memory + places);
    j.keys = keys;
    j.places = (int64_t *)memory;
    j.spare = j.places + j.n;
    j.first = kni_out(r, 1)->storage->data;
    j.inverse = kni_out(r, 2)->storage->data;
    j.counts = kni_out(r, 3)->storage->data;
    make_keys(&j, keys, keys + j.n * j.k, from.data, t->dtype);
    if (line && j.n)
        sort_elements(&j, memory + places + words, from.data, t->dtype);
    else
        sort_places(&j);
    number_slices(&j);
    if (a->unsorted) order_by_place(&j);
    memset(j.first + j.found, 0, (size_t)(j.n - j.found) * sizeof *j.first);
    memset(j.counts + j.found, 0, (size_t)(j.n - j.found) * sizeof *j.counts);
    write_values(&j, from.data, kni_out(r, 0)->storage->data, kni_element_bytes(x));
    *(int64_t *)kni_out(r, 4)->storage->data = j.found;
    kni_host_unborrow(&from);
    kni_free(memory, bytes);
    return s;
}

extern const kni_native kni_cpu_distinct;
const kni_native kni_cpu_distinct = {.run = run_distinct};
