/* Transforms that choose samples: map, compose, partial, shuffle, select, sample, window. */
#include "data/data_internal.h"
#include <stdlib.h>
#include <string.h>

/* ---- map */

typedef struct mapped {
    kn_dataset source;
    kn_map_fn map;
    kn_map_many_fn many;
    void *context;
    void (*release)(void *context);
} mapped;

static int64_t mapped_length(void *self) { return kn_dataset_length(((mapped *)self)->source); }

static kn_status mapped_get(void *self, int64_t index, const kn_sample_key *key, kn_sample *sample)
{
    mapped *m = self;
    kn_sample_key inner = kni_key_inner(key, 0);
    kn_status status = kn_dataset_get_keyed(m->source, index, &inner, sample);
    kni_failure_mark before = kni_failure_mark_now();
    if (status == KN_OK)
        status = kni_failure_since(before, m->map(m->context, key, sample), "the map of a data set");
    return status;
}

static kn_status mapped_get_many(void *self, const int64_t *indices, int64_t n, const kn_sample_key *keys,
                                 kn_sample *batch)
{
    mapped *m = self;
    kn_sample_key *inner = malloc((size_t)n * sizeof *inner);
    if (!inner) return kni_failure_memory("kn_dataset_map");
    for (int64_t i = 0; i < n; i++) inner[i] = kni_key_inner(&keys[i], 0);
    kn_status status = kn_dataset_get_many(m->source, indices, n, inner, batch);
    free(inner);
    kni_failure_mark before = kni_failure_mark_now();
    if (status == KN_OK)
        status = kni_failure_since(before, m->many(m->context, keys, n, batch), "the map of a data set");
    return status;
}

static void mapped_close(void *self)
{
    mapped *m = self;
    kn_dataset_free(m->source);
    if (m->release) m->release(m->context);
    free(m);
}

static const char *mapped_name_at(void *self, int64_t index)
{
    return kn_dataset_name_at(((mapped *)self)->source, index);
}

static const kn_dataset_type map_type = {"map", mapped_length, mapped_get,
                                         NULL,  mapped_close,  mapped_name_at};
static const kn_dataset_type map_many_type = {"map",           mapped_length, mapped_get,
                                              mapped_get_many, mapped_close,  mapped_name_at};

kn_dataset kni_dataset_map(kn_dataset dataset, kn_map_fn map, kn_map_many_fn many, void *context,
                           void (*release)(void *context), const char *function)
{
    kn_dataset source = kni_dataset_hold(dataset, function);
    mapped *m = source && map ? malloc(sizeof *m) : NULL;
    if (m) {
        *m = (mapped){source, map, many, context, release};
        return kn_dataset_make(many ? &map_many_type : &map_type, m);
    }
    if (release) release(context);
    if (source && map) kni_failure_memory(function);
    if (source && !map) kni_failure(KN_ERROR_ARGUMENT, "%s: the function is NULL", function);
    kn_dataset_free(source);
    return NULL;
}

kn_dataset kn_dataset_map_many(kn_dataset dataset, kn_map_fn map, kn_map_many_fn many, void *context,
                               void (*release)(void *context))
{
    KNI_NAMED;
    return kni_dataset_map(dataset, map, many, context, release, __func__);
}

kn_dataset kn_dataset_map(kn_dataset dataset, kn_map_fn map, void *context)
{
    KNI_NAMED;
    return kni_dataset_map(dataset, map, NULL, context, NULL, __func__);
}

/* ---- compose */

typedef struct composed {
    int32_t n;
    kn_dataset *sources;
    int64_t *ends; /* one past the last index of each */
} composed;

static int64_t composed_length(void *self)
{
    composed *c = self;
    return c->n ? c->ends[c->n - 1] : 0;
}

static kn_status composed_get(void *self, int64_t index, const kn_sample_key *key, kn_sample *sample)
{
    composed *c = self;
    int32_t low = 0, high = c->n - 1;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (index < c->ends[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return kn_dataset_get_keyed(c->sources[low], index - (low ? c->ends[low - 1] : 0), key, sample);
}

static void composed_close(void *self)
{
    composed *c = self;
    for (int32_t i = 0; i < c->n; i++) kn_dataset_free(c->sources[i]);
    free(c->sources);
    free(c->ends);
    free(c);
}

static const char *composed_name_at(void *self, int64_t index)
{
    composed *c = self;
    return c->n ? kn_dataset_name_at(c->sources[0], index) : NULL;
}

static const kn_dataset_type compose_type = {"compose", composed_length, composed_get,
                                             NULL,      composed_close,  composed_name_at};

kn_dataset kn_dataset_compose(const kn_dataset *datasets, int32_t n)
{
    KNI_NAMED;
    if (n > 0 && !datasets) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_dataset_compose: the list of %d data sets is NULL", (int)n);
        return NULL;
    }
    composed *c = calloc(1, sizeof *c);
    if (c && n > 0) {
        c->sources = calloc((size_t)n, sizeof *c->sources);
        c->ends = calloc((size_t)n, sizeof *c->ends);
    }
    if (!c || (n > 0 && (!c->sources || !c->ends)))
        return kni_dataset_finish(&compose_type, c, kni_failure_memory("kn_dataset_compose"));
    int64_t total = 0;
    for (int32_t i = 0; i < n; i++) {
        c->sources[i] = kni_dataset_hold(datasets[i], __func__);
        if (!c->sources[i]) return kni_dataset_finish(&compose_type, c, KNI_NO_OBJECT(datasets[i]));
        c->n = i + 1;
        if (__builtin_add_overflow(total, kn_dataset_length(c->sources[i]), &total))
            return kni_dataset_finish(&compose_type, c,
                                      kni_failure(KN_ERROR_ARGUMENT, "kn_dataset_compose: too long"));
        c->ends[i] = total;
    }
    return kn_dataset_make(&compose_type, c);
}

/* ---- chosen: y[i] = x[start + i], or x[indices[i]] */

typedef struct chosen {
    kn_dataset source;
    int64_t start, count;
    int64_t *indices; /* NULL: a range */
} chosen;

static int64_t chosen_length(void *self) { return ((chosen *)self)->count; }

static int64_t chosen_index(const chosen *c, int64_t i) { return c->indices ? c->indices[i] : c->start + i; }

static kn_status chosen_get(void *self, int64_t index, const kn_sample_key *key, kn_sample *sample)
{
    chosen *c = self;
    return kn_dataset_get_keyed(c->source, chosen_index(c, index), key, sample);
}

static kn_status chosen_get_many(void *self, const int64_t *indices, int64_t n, const kn_sample_key *keys,
                                 kn_sample *batch)
{
    chosen *c = self;
    int64_t *inner = malloc((size_t)n * sizeof *inner);
    if (!inner) return kni_failure_memory("kn_dataset_select");
    for (int64_t i = 0; i < n; i++) inner[i] = chosen_index(c, indices[i]);
    kn_status status = kn_dataset_get_many(c->source, inner, n, keys, batch);
    free(inner);
    return status;
}

static void chosen_close(void *self)
{
    chosen *c = self;
    kn_dataset_free(c->source);
    free(c->indices);
    free(c);
}

static const char *chosen_name_at(void *self, int64_t index)
{
    return kn_dataset_name_at(((chosen *)self)->source, index);
}

static const kn_dataset_type partial_type = {"partial",       chosen_length, chosen_get,
                                             chosen_get_many, chosen_close,  chosen_name_at};
static const kn_dataset_type select_type = {"select",        chosen_length, chosen_get,
                                            chosen_get_many, chosen_close,  chosen_name_at};

/* A selection of count samples whose indices are to be filled in. */
static chosen *make_chosen(kn_dataset dataset, int64_t count, bool with_indices)
{
    chosen *c = calloc(1, sizeof *c);
    size_t bytes;
    if (c && with_indices &&
        (count < 0 || __builtin_mul_overflow((size_t)(count ? count : 1), sizeof(int64_t), &bytes) ||
         !(c->indices = malloc(bytes)))) {
        free(c);
        c = NULL;
    }
    if (!c) {
        kni_failure_memory("kn_dataset_select");
        return NULL;
    }
    c->source = kni_dataset_hold(dataset, "kn_dataset_select");
    c->count = count;
    if (c->source) return c;
    chosen_close(c);
    return NULL;
}

static kn_dataset slice(const char *name, kn_dataset dataset, int64_t start, int64_t stop)
{
    int64_t length = kn_dataset_length(dataset);
    if (stop > length) stop = length;
    if (start < 0 || start > stop) {
        kni_failure(KN_ERROR_ARGUMENT, "%s: samples %lld to %lld of %lld", name, (long long)start,
                    (long long)stop, (long long)length);
        return NULL;
    }
    chosen *c = make_chosen(dataset, stop - start, false);
    if (!c) return NULL;
    c->start = start;
    return kn_dataset_make(&partial_type, c);
}

kn_dataset kn_dataset_slice(kn_dataset dataset, int64_t start, int64_t stop)
{
    KNI_USE(dataset, used, dataset);
    return used ? slice(__func__, dataset, start, stop) : NULL;
}

/* The old name. */
kn_dataset kn_dataset_partial(kn_dataset dataset, int64_t start, int64_t stop)
{
    KNI_USE(dataset, used, dataset);
    return used ? slice(__func__, dataset, start, stop) : NULL;
}

/* part * index / of without overflow for what lengths can be. */
static int64_t cut_at(int64_t length, int64_t index, int64_t chunks)
{
    return length / chunks * index + (length % chunks) * index / chunks;
}

kn_dataset kn_dataset_chunk(kn_dataset dataset, int64_t index, int64_t chunks)
{
    KNI_USE(dataset, used, dataset);
    if (!used) return NULL;
    if (chunks < 1 || chunks > INT32_MAX || index < 0 || index >= chunks) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_dataset_chunk: part %lld of %lld", (long long)index,
                    (long long)chunks);
        return NULL;
    }
    int64_t length = kn_dataset_length(dataset);
    return kn_dataset_slice(dataset, cut_at(length, index, chunks), cut_at(length, index + 1, chunks));
}

kn_status kn_dataset_split(kn_dataset dataset, const double *parts, int32_t n, kn_dataset *out)
{
    if (n > 0 && (!parts || !out))
        return kni_failure(KN_ERROR_ARGUMENT, "kn_dataset_split: the list of %s is NULL",
                           parts ? "results" : "parts");
    double sum = 0;
    if (n < 1 || !parts || !out)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_dataset_split: %d parts given, or no list of them", (int)n);
    for (int32_t i = 0; i < n; i++) {
        out[i] = NULL;
        if (!(parts[i] >= 0)) sum = 2;
        sum += parts[i];
    }
    KNI_USE(dataset, used, dataset);
    if (!used) return KNI_NO_OBJECT(dataset);
    if (!(sum <= 1 + 1e-9))
        return kni_failure(KN_ERROR_ARGUMENT,
                           "kn_dataset_split: the parts must be at least 0 and sum to at most 1");
    double length = (double)kn_dataset_length(dataset), before = 0;
    int64_t start = 0;
    for (int32_t i = 0; i < n; i++) {
        before += parts[i];
        /* The nearest whole number, so that 0.8 + 0.1 + 0.1 is the whole. */
        int64_t stop = (int64_t)(before * length + 0.5);
        if (stop < start) stop = start;
        if (!(out[i] = kn_dataset_slice(dataset, start, stop))) {
            while (i-- > 0) {
                kn_dataset_free(out[i]);
                out[i] = NULL;
            }
            return KN_ERROR_MEMORY;
        }
        start = stop;
    }
    return KN_OK;
}

kn_dataset kn_dataset_shuffle(kn_dataset dataset, uint64_t seed)
{
    KNI_USE(dataset, used, dataset);
    if (!used) return NULL;
    chosen *c = make_chosen(dataset, kn_dataset_length(dataset), true);
    if (!c) return NULL;
    kni_permutation(c->indices, c->count, seed, 0);
    return kn_dataset_make(&select_type, c);
}

kn_dataset kn_dataset_select(kn_dataset dataset, const int64_t *indices, int64_t n)
{
    KNI_USE(dataset, used, dataset);
    if (!used) return NULL;
    if (n > 0 && !indices) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_dataset_select: the indices are NULL");
        return NULL;
    }
    chosen *c = make_chosen(dataset, n, true);
    if (!c) return NULL;
    int64_t length = kn_dataset_length(dataset);
    for (int64_t i = 0; i < n; i++) {
        int64_t index = indices[i] < 0 ? indices[i] + length : indices[i];
        if (index < 0 || index >= length)
            return kni_dataset_finish(&select_type, c,
                                      kni_failure(KN_ERROR_INDEX,
                                                  "kn_dataset_select: index %lld of a data set of %lld",
                                                  (long long)indices[i], (long long)length));
        c->indices[i] = index;
    }
    return kn_dataset_make(&select_type, c);
}

static void draw(chosen *c, const kn_sample_args *args, int64_t length)
{
    if (args->replacement) {
        for (int64_t i = 0; i < c->count; i++) {
            kn_sample_key key = {args->seed, 0, i};
            c->indices[i] = kn_key_below(&key, 1, length);
        }
        return;
    }
    /* Whole passes, each in an order of its own; the last one is drawn whole and cut. */
    for (int64_t pass = 0, done = 0; done < c->count; pass++, done += length) {
        int64_t left = c->count - done;
        if (left >= length)
            kni_permutation(c->indices + done, length, args->seed, pass);
        else {
            int64_t *order = malloc((size_t)length * sizeof *order);
            if (!order) {
                c->count = -1;
                return;
            }
            kni_permutation(order, length, args->seed, pass);
            memcpy(c->indices + done, order, (size_t)left * sizeof *order);
            free(order);
        }
    }
}

kn_dataset kn_dataset_sample(kn_dataset dataset, const kn_sample_args *args)
{
    KNI_USE(dataset, used, dataset);
    if (!used) return NULL;
    static const kn_sample_args plain = {0};
    if (!args) args = &plain;
    int64_t length = kn_dataset_length(dataset);
    double ratio = args->ratio != 0 ? args->ratio : 1;
    bool possible = ratio > 0 && ratio < 1e6 && ratio * (double)length < 0x1p62;
    if (!possible) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_dataset_sample: a ratio of %s; it must be above 0 and below 1e6",
                    KNI_NUMBER(ratio));
        return NULL;
    }
    int64_t size = args->size ? args->size : (int64_t)(ratio * (double)length);
    if (size < 0 || (size > 0 && length < 1)) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_dataset_sample: %lld samples of %lld", (long long)size,
                    (long long)length);
        return NULL;
    }
    chosen *c = make_chosen(dataset, size, true);
    if (!c) return NULL;
    draw(c, args, length);
    return kni_dataset_finish(&select_type, c,
                              c->count < 0 ? kni_failure_memory("kn_dataset_sample") : KN_OK);
}

/* ---- windows */

typedef struct windows {
    kn_dataset source;
    int64_t size, step, count;
} windows;

static int64_t windows_length(void *self) { return ((windows *)self)->count; }

static kn_status windows_get(void *self, int64_t index, const kn_sample_key *key, kn_sample *sample)
{
    windows *w = self;
    int64_t *indices = malloc((size_t)w->size * sizeof *indices);
    kn_sample_key *keys = malloc((size_t)w->size * sizeof *keys);
    kn_status status = KN_OK;
    if (!indices || !keys) status = kni_failure_memory("kn_dataset_window");
    for (int64_t i = 0; i < w->size && status == KN_OK; i++) {
        indices[i] = index * w->step + i;
        keys[i] = kni_key_inner(key, (uint64_t)i + 1);
    }
    if (status == KN_OK) status = kn_dataset_get_many(w->source, indices, w->size, keys, sample);
    free(indices);
    free(keys);
    return status;
}

static void windows_close(void *self)
{
    kn_dataset_free(((windows *)self)->source);
    free(self);
}

static const char *windows_name_at(void *self, int64_t index)
{
    return kn_dataset_name_at(((windows *)self)->source, index);
}

static const kn_dataset_type window_type = {"window", windows_length, windows_get,
                                            NULL,     windows_close,  windows_name_at};

kn_dataset kn_dataset_window(kn_dataset dataset, int64_t size, int64_t step)
{
    KNI_USE(dataset, used, dataset);
    if (!used) return NULL;
    if (step == 0) step = 1;
    int64_t length = kn_dataset_length(dataset);
    if (size < 1 || step < 1 || size > PTRDIFF_MAX / (int64_t)sizeof(kn_sample_key)) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_dataset_window: size %lld and step %lld; both must be at least 1",
                    (long long)size, (long long)step);
        return NULL;
    }
    windows *w = malloc(sizeof *w);
    if (!w) {
        kni_failure_memory("kn_dataset_window");
        return NULL;
    }
    *w = (windows){kni_dataset_hold(dataset, __func__), size, step,
                   size > length ? 0 : (length - size) / step + 1};
    if (!w->source) {
        free(w);
        return NULL;
    }
    return kn_dataset_make(&window_type, w);
}
