/* Data sets in memory: rows of tensors, lists of samples, copies of other data sets, and made-up ones. */
#include "core/dtype.h"
#include "data/data_internal.h"
#include <kn/device.h>
#include <kn/elementwise.h>
#include <kn/indexing.h>
#include <kn/shape.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows of tensors */

typedef struct tensors {
    kn_sample columns;
    int64_t rows;
    kni_names names;
} tensors;

static int64_t tensors_length(void *self) { return ((tensors *)self)->rows; }

static kn_status tensors_get(void *self, int64_t index, const kn_sample_key *key, kn_sample *sample)
{
    (void)key;
    tensors *t = self;
    kn_status status = KN_OK;
    for (int32_t f = 0; f < t->columns.n && status == KN_OK; f++)
        status = kn_sample_add(sample, kn_select(t->columns.fields[f], 0, index));
    return status;
}

static kn_status tensors_get_many(void *self, const int64_t *indices, int64_t n, const kn_sample_key *keys,
                                  kn_sample *batch)
{
    (void)keys;
    tensors *t = self;
    kn_status status = KN_OK;
    kn_tensor where = kn_keep(kn_from(indices, KN_I64, KN_SHAPE(n)));
    for (int32_t f = 0; f < t->columns.n && status == KN_OK; f++) {
        kn_tensor x = t->columns.fields[f];
        kn_device home = kn_device_of(x), here = kn_device_of(where);
        kn_tensor index = home == here ? where : kn_to(kn_alias(where), home);
        status = kn_sample_add(batch, kn_index_select(x, 0, index));
    }
    kn_drop(where);
    return status;
}

static void tensors_close(void *self)
{
    tensors *t = self;
    kn_sample_drop(&t->columns);
    kni_names_free(&t->names);
    free(t);
}

static const char *tensors_name_at(void *self, int64_t index)
{
    return kni_names_at(&((tensors *)self)->names, index);
}

static const kn_dataset_type tensors_type = {"tensors",        tensors_length, tensors_get,
                                             tensors_get_many, tensors_close,  tensors_name_at};

static kn_status fill_tensors(tensors *t, const kn_tensor *fields, int32_t n)
{
    if (n < 1 || n > KN_SAMPLE_FIELDS)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_dataset_tensors: %d fields, not 1 to %d", (int)n,
                           KN_SAMPLE_FIELDS);
    kn_status given = kni_given(fields, "kn_dataset_tensors", "list of fields");
    if (given != KN_OK) return given;
    for (int32_t f = 0; f < n; f++) {
        if (!kn_ok(fields[f])) return kni_failure_of(fields[f]);
        if (kn_rank(fields[f]) < 1 || (f && kn_size(fields[f], 0) != t->rows))
            return kni_failure(
                KN_ERROR_SHAPE, "kn_dataset_tensors: field %d has %lld rows along axis 0, field 0 has %lld",
                (int)f, (long long)(kn_rank(fields[f]) < 1 ? 0 : kn_size(fields[f], 0)), (long long)t->rows);
        if (!f) t->rows = kn_size(fields[f], 0);
    }
    for (int32_t f = 0; f < n; f++) {
        kn_status status = kn_sample_add(&t->columns, fields[f]);
        if (status != KN_OK) return status;
    }
    return KN_OK;
}

kn_dataset kni_dataset_named_tensors(const kn_tensor *fields, int32_t n, kni_names *names)
{
    tensors *t = calloc(1, sizeof *t);
    kn_status status = t ? fill_tensors(t, fields, n) : kni_failure_memory("kn_dataset_tensors");
    if (t && names) {
        t->names = *names;
        *names = (kni_names){0};
    } else if (names)
        kni_names_free(names);
    return kni_dataset_finish(&tensors_type, t, status);
}

kn_dataset kn_dataset_tensors(const kn_tensor *fields, int32_t n)
{
    KNI_NAMED;
    return kni_dataset_named_tensors(fields, n, NULL);
}

/* ---- lists of samples */

typedef struct list {
    kn_sample *samples;
    int64_t count;
    kni_names names;
} list;

static int64_t list_length(void *self) { return ((list *)self)->count; }

static kn_status list_get(void *self, int64_t index, const kn_sample_key *key, kn_sample *sample)
{
    (void)key;
    const kn_sample *from = &((list *)self)->samples[index];
    kn_status status = KN_OK;
    for (int32_t f = 0; f < from->n && status == KN_OK; f++)
        status = kn_sample_add(sample, kn_alias(from->fields[f]));
    return status;
}

static void list_close(void *self)
{
    list *l = self;
    for (int64_t i = 0; i < l->count; i++) kn_sample_drop(&l->samples[i]);
    free(l->samples);
    kni_names_free(&l->names);
    free(l);
}

static const char *list_name_at(void *self, int64_t index)
{
    return kni_names_at(&((list *)self)->names, index);
}

static const kn_dataset_type list_type = {"list", list_length, list_get, NULL, list_close, list_name_at};

static list *make_list(int64_t n)
{
    list *l = calloc(1, sizeof *l);
    if (l && n && !(l->samples = calloc((size_t)n, sizeof *l->samples))) {
        free(l);
        l = NULL;
    }
    if (!l) kni_failure_memory("kn_dataset_list");
    return l;
}

kn_dataset kn_dataset_list(const kn_sample *samples, int64_t n)
{
    KNI_NAMED;
    if (n < 0) {
        kni_failure(KN_ERROR_ARGUMENT, "%s: the number of samples is %lld; it must not be negative", __func__,
                    (long long)n);
        return NULL;
    }
    if (n > 0 && kni_given(samples, __func__, "list of samples") != KN_OK) return NULL;
    list *l = make_list(n);
    kn_status status = l ? KN_OK : KN_ERROR_MEMORY;
    for (int64_t i = 0; i < n; i++) {
        kn_sample from = samples[i];
        if (status != KN_OK) {
            kn_sample_drop(&from);
            continue;
        }
        l->count = i + 1;
        for (int32_t f = 0; f < from.n; f++) {
            /* The list's own handle: a tensor that comes twice is an error here, not a second drop later. */
            kn_status added = kn_sample_add(&l->samples[i], from.fields[f]);
            if (kn_ok(from.fields[f])) kn_drop(from.fields[f]);
            if (status == KN_OK) status = added;
        }
    }
    return kni_dataset_finish(&list_type, l, status);
}

kn_dataset kn_dataset_cache(kn_dataset dataset)
{
    KNI_USE(dataset, used, dataset);
    if (!used) return NULL;
    int64_t n = kn_dataset_length(dataset);
    list *l = make_list(n);
    kn_status status = l ? KN_OK : KN_ERROR_MEMORY;
    for (; l && l->count < n && status == KN_OK; l->count++)
        status = kn_dataset_get(dataset, l->count, &l->samples[l->count]);
    const char *name;
    for (int64_t i = 0; status == KN_OK && (name = kn_dataset_name_at(dataset, i)); i++)
        if (kni_names_add(&l->names, name, strlen(name)) < 0) status = kni_failure_memory("kn_dataset_cache");
    return kni_dataset_finish(&list_type, l, status);
}

/* ---- made-up samples */

typedef struct fake {
    int64_t length;
    uint64_t seed;
    int32_t n;
    kn_fake_field fields[KN_SAMPLE_FIELDS];
    int64_t counts[KN_SAMPLE_FIELDS];
} fake;

static int64_t fake_length(void *self) { return ((fake *)self)->length; }

static kn_status fake_get(void *self, int64_t index, const kn_sample_key *key, kn_sample *sample)
{
    (void)key;
    fake *d = self;
    kn_status status = KN_OK;
    for (int32_t f = 0; f < d->n && status == KN_OK; f++) {
        const kn_fake_field *field = &d->fields[f];
        kn_sample_key own = {d->seed, f, index};
        double *values = malloc((size_t)(d->counts[f] ? d->counts[f] : 1) * sizeof *values);
        if (!values) return kni_failure_memory("kn_dataset_fake");
        bool real = kn_dtype_is_float(field->dtype);
        for (int64_t i = 0; i < d->counts[f]; i++) {
            double u = kn_key_uniform(&own, (uint64_t)i);
            values[i] = field->low + u * (field->high - field->low);
            if (!real) values[i] = field->low + (double)(int64_t)(u * (field->high - field->low));
        }
        kn_tensor t = kn_cast(kn_from(values, KN_F64, field->shape), field->dtype);
        free(values);
        status = kn_sample_add(sample, t);
    }
    return status;
}

static const kn_dataset_type fake_type = {"fake", fake_length, fake_get, NULL, free, NULL};

static kn_status fill_fake(fake *d, const kn_fake_field *fields)
{
    for (int32_t f = 0; f < d->n; f++) {
        kn_fake_field *field = &d->fields[f];
        *field = fields[f];
        bool real = kn_dtype_is_float(field->dtype);
        if (field->low == 0 && field->high == 0) field->high = real ? 1 : 10;
        if ((!real && !kn_dtype_is_integer(field->dtype) && !kni_is_bool(field->dtype)) ||
            !(field->low <= field->high) || field->high - field->low > 0x1p62)
            return kni_failure(KN_ERROR_ARGUMENT, "kn_dataset_fake: field %d needs a dtype and low <= high",
                               (int)f);
        int64_t count = 1;
        if (field->shape.rank < 0 || field->shape.rank > KN_MAX_RANK)
            return kni_failure(KN_ERROR_SHAPE, "kn_dataset_fake: field %d has rank %d; 0 to %d are possible",
                               (int)f, (int)field->shape.rank, KN_MAX_RANK);
        for (int32_t i = 0; i < field->shape.rank; i++)
            if (field->shape.dims[i] < 0 || __builtin_mul_overflow(count, field->shape.dims[i], &count) ||
                count > INT64_MAX / 16)
                return kni_failure(KN_ERROR_SHAPE, "kn_dataset_fake: field %d has an impossible shape",
                                   (int)f);
        d->counts[f] = count;
    }
    return KN_OK;
}

kn_dataset kn_dataset_fake(int64_t length, const kn_fake_field *fields, int32_t n, uint64_t seed)
{
    KNI_NAMED;
    if (length < 0 || n < 1 || n > KN_SAMPLE_FIELDS) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_dataset_fake: %lld samples of %d fields", (long long)length,
                    (int)n);
        return NULL;
    }
    if (kni_given(fields, __func__, "list of fields") != KN_OK) return NULL;
    fake *d = calloc(1, sizeof *d);
    if (!d) {
        kni_failure_memory("kn_dataset_fake");
        return NULL;
    }
    d->length = length;
    d->seed = seed;
    d->n = n;
    return kni_dataset_finish(&fake_type, d, fill_fake(d, fields));
}
