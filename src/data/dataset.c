/* Data sets as counted objects with a table of functions; samples; keys of random choices. */
#include "core/objects.h"
#include "data/data_internal.h"
#include "support/mixing.h"
#include <kn/shape.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The data set itself, shared by its handles. */
typedef struct shared {
    const kn_dataset_type *type;
    void *self;
    int64_t handles; /* atomic */
} shared;

struct kni_dataset {
    shared *set;
    int64_t references; /* atomic: kn_dataset_retain and kn_dataset_free of this handle */
};

/* ---- samples */

void kn_sample_drop(kn_sample *sample)
{
    KNI_ENDS;
    if (!sample) return;
    for (int32_t i = 0; i < sample->n; i++) kn_drop(sample->fields[i]);
    *sample = (kn_sample){0};
}

/* A view takes a temporary and leaves the caller's other tensors alone. */
static kn_tensor owned_view(kn_tensor value) { return kn_own(kn_reshape(value, kn_shape_of_tensor(value))); }

/* The value as a sample stores it; on failure, also of the check before, nothing is stored and temporaries are gone. */
static kn_status store_field(kn_tensor *place, kn_tensor value, kn_status checked, const char *function)
{
    if (checked != KN_OK) {
        if (kn_ok(value)) kn_drop(owned_view(value));
        return checked;
    }
    kn_tensor stored = owned_view(value);
    kn_status s = kni_failure_dropped(stored);
    if (s) {
        kni_error_renamed_by(function);
        return s;
    }
    *place = stored;
    return KN_OK;
}

kn_status kn_sample_add(kn_sample *sample, kn_tensor value)
{
    KNI_NAMED;
    if (!kn_ok(value)) return kni_failure_of(value);
    kn_status s = kni_given(sample, __func__, "sample");
    if (s == KN_OK && sample->n >= KN_SAMPLE_FIELDS)
        s = kni_failure(KN_ERROR_ARGUMENT, "kn_sample_add: a sample has at most %d fields", KN_SAMPLE_FIELDS);
    kn_tensor stored = KN_NONE;
    s = store_field(&stored, value, s, __func__);
    if (s == KN_OK) sample->fields[sample->n++] = stored;
    return s;
}

kn_status kn_sample_replace(kn_sample *sample, int32_t index, kn_tensor value)
{
    KNI_ENDS;
    KNI_NAMED;
    kn_status s = kni_given(sample, __func__, "sample");
    if (s == KN_OK && (index < 0 || index >= sample->n))
        s = kni_failure(KN_ERROR_INDEX, "kn_sample_replace: field %d of a sample with %d", (int)index,
                        (int)sample->n);
    if (s == KN_OK && !kn_ok(value)) return kni_failure_of(value);
    if (s == KN_OK && sample->fields[index].bits == value.bits) return KN_OK;
    kn_tensor stored = KN_NONE;
    s = store_field(&stored, value, s, __func__);
    if (s != KN_OK) return s;
    kn_drop(sample->fields[index]);
    sample->fields[index] = stored;
    return KN_OK;
}

/* Owns what a get left as temporaries. */
static kn_status own_fields(const char *kind, kn_sample *sample)
{
    if (sample->n < 0 || sample->n > KN_SAMPLE_FIELDS) {
        int32_t n = sample->n;
        sample->n = 0;
        return kni_failure(KN_ERROR_INTERNAL, "data set '%s' gave a sample with %d fields", kind, (int)n);
    }
    for (int32_t i = 0; i < sample->n; i++) {
        kn_tensor t = sample->fields[i];
        if (kn_ok(t)) t = sample->fields[i] = kn_own(t);
        if (!kn_ok(t)) return kni_failure_of(t);
    }
    return KN_OK;
}

/* ---- keys */

uint64_t kn_key_bits(const kn_sample_key *key, uint64_t n)
{
    if (kni_given(key, __func__, "key") != KN_OK) return 0;
    uint64_t h = kni_mix(key->seed);
    h = kni_mix(h ^ (uint64_t)key->epoch);
    h = kni_mix(h ^ (uint64_t)key->index);
    return kni_mix(h ^ n);
}

double kn_key_uniform(const kn_sample_key *key, uint64_t n)
{
    if (kni_given(key, __func__, "key") != KN_OK) return 0;
    return (double)(kn_key_bits(key, n) >> 11) * 0x1p-53;
}

/* The upper 64 bits of a product maps 64 random bits to [0, bound) with a bias below bound / 2^64. */
static uint64_t multiply_high(uint64_t a, uint64_t b)
{
    uint64_t a0 = (uint32_t)a, a1 = a >> 32, b0 = (uint32_t)b, b1 = b >> 32;
    uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
    uint64_t other = a0 * b1 + (uint32_t)middle;
    return a1 * b1 + (middle >> 32) + (other >> 32);
}

int64_t kn_key_below(const kn_sample_key *key, uint64_t n, int64_t bound)
{
    if (kni_given(key, __func__, "key") != KN_OK) return 0;
    return bound <= 0 ? 0 : (int64_t)multiply_high(kn_key_bits(key, n), (uint64_t)bound);
}

kn_sample_key kni_key_inner(const kn_sample_key *key, uint64_t salt)
{
    return (kn_sample_key){kni_mix(key->seed ^ kni_mix(salt + 1)), key->epoch, key->index};
}

void kni_permutation(int64_t *out, int64_t n, uint64_t seed, int64_t epoch)
{
    for (int64_t i = 0; i < n; i++) {
        kn_sample_key key = {seed, epoch, i};
        int64_t j = kn_key_below(&key, 0, i + 1);
        if (j != i) out[i] = out[j];
        out[j] = i;
    }
}

/* ---- objects */

static void release_set(shared *set)
{
    if (__atomic_sub_fetch(&set->handles, 1, __ATOMIC_ACQ_REL) > 0) return;
    if (set->type->close) set->type->close(set->self);
    free(set);
}

static void destroy_dataset(void *object)
{
    release_set(((kni_dataset *)object)->set);
    free(object);
}

const kni_object_kind kni_kind_dataset = {"kn_dataset", "data set", "freed", destroy_dataset};

/* A new handle, which takes over one count of the set's handles. */
static kn_dataset handle_of(shared *set, const char *function)
{
    kni_dataset *d = malloc(sizeof *d);
    if (!d) {
        kni_failure_memory(function);
        release_set(set);
        return NULL;
    }
    *d = (kni_dataset){set, 1};
    return kni_object_make(&kni_kind_dataset, d, function);
}

kn_dataset kn_dataset_make(const kn_dataset_type *type, void *self)
{
    KNI_NAMED;
    shared *set = NULL;
    if (!type || !type->length || !type->get)
        kni_failure(KN_ERROR_ARGUMENT, "kn_dataset_make: the type needs length and get");
    else if (!(set = malloc(sizeof *set)))
        kni_failure_memory("kn_dataset_make");
    if (!set) {
        if (type && type->close) type->close(self);
        return NULL;
    }
    *set = (shared){type, self, 1};
    return handle_of(set, __func__);
}

kn_dataset kni_dataset_hold(kn_dataset dataset, const char *function)
{
    kni_object_use use = kni_object_enter(dataset, &kni_kind_dataset, function);
    if (!use.object) return NULL;
    shared *set = ((kni_dataset *)use.object)->set;
    __atomic_fetch_add(&set->handles, 1, __ATOMIC_RELAXED);
    kni_object_leave(&use);
    return handle_of(set, function);
}

kn_dataset kni_dataset_finish(const kn_dataset_type *type, void *self, kn_status status)
{
    if (status == KN_OK) return kn_dataset_make(type, self);
    if (self) type->close(self);
    return NULL;
}

kn_dataset kn_dataset_retain(kn_dataset dataset)
{
    KNI_USE(dataset, d, dataset);
    if (d) __atomic_fetch_add(&d->references, 1, __ATOMIC_RELAXED);
    return d ? dataset : NULL;
}

void kn_dataset_free(kn_dataset dataset)
{
    if (dataset && !kni_object_is_older(dataset)) {
        KNI_USE(dataset, d, dataset);
        if (!d || __atomic_sub_fetch(&d->references, 1, __ATOMIC_ACQ_REL) > 0) return;
    }
    kni_object_free(dataset, &kni_kind_dataset, __func__);
}

void *kni_dataset_self(const kni_dataset *dataset, const kn_dataset_type *type)
{
    return dataset && dataset->set->type == type ? dataset->set->self : NULL;
}

bool kni_dataset_has_many(kn_dataset dataset)
{
    KNI_USE(dataset, d, dataset);
    return d && d->set->type->get_many;
}

static const char *kind_of(const kni_dataset *d) { return d->set->type->name ? d->set->type->name : ""; }

const char *kn_dataset_kind(kn_dataset dataset)
{
    KNI_USE(dataset, d, dataset);
    return d ? kind_of(d) : "";
}

static int64_t length_of(const kni_dataset *d) { return d->set->type->length(d->set->self); }

int64_t kn_dataset_length(kn_dataset dataset)
{
    KNI_USE(dataset, d, dataset);
    return d ? length_of(d) : -1;
}

const char *kn_dataset_name_at(kn_dataset dataset, int64_t index)
{
    KNI_USE(dataset, d, dataset);
    if (!d || index < 0 || !d->set->type->name_at) return NULL;
    return d->set->type->name_at(d->set->self, index);
}

static kn_status told(const kni_dataset *d, kni_failure_mark before, kn_status status, const char *entry)
{
    char who[96];
    snprintf(who, sizeof who, "%s of the data set '%.60s'", entry, kind_of(d));
    return kni_failure_since(before, status, who);
}

static kn_status check_index(const kni_dataset *d, int64_t index)
{
    int64_t length = length_of(d);
    if (index >= 0 && index < length) return KN_OK;
    return kni_failure(KN_ERROR_INDEX, "kn_dataset_get: sample %lld of a data set ('%s') of %lld",
                       (long long)index, kind_of(d), (long long)length);
}

static kn_status get_keyed(const kni_dataset *d, int64_t index, const kn_sample_key *key, kn_sample *sample)
{
    *sample = (kn_sample){0};
    kn_status status = check_index(d, index);
    if (status != KN_OK) return status;
    kn_sample_key plain = {0, 0, index};
    kn_scope scope = kn_scope_begin();
    kni_failure_mark before = kni_failure_mark_now();
    status = d->set->type->get(d->set->self, index, key ? key : &plain, sample);
    if (status) status = told(d, before, status, "get");
    if (status == KN_OK) status = own_fields(kind_of(d), sample);
    if (status != KN_OK) kn_sample_drop(sample);
    kn_scope_end(scope, KN_NONE);
    return status;
}

static kn_status no_place(const char *function)
{
    return kni_failure(KN_ERROR_ARGUMENT, "%s: the place for the sample is NULL", function);
}

kn_status kn_dataset_get_keyed(kn_dataset dataset, int64_t index, const kn_sample_key *key, kn_sample *sample)
{
    if (!sample) return no_place(__func__);
    *sample = (kn_sample){0};
    KNI_USE(dataset, d, dataset);
    return d ? get_keyed(d, index, key, sample) : KNI_NO_OBJECT(dataset);
}

kn_status kn_dataset_get(kn_dataset dataset, int64_t index, kn_sample *sample)
{
    if (!sample) return no_place(__func__);
    *sample = (kn_sample){0};
    KNI_USE(dataset, d, dataset);
    return d ? get_keyed(d, index, NULL, sample) : KNI_NO_OBJECT(dataset);
}

static kn_status get_and_stack(const kni_dataset *d, const int64_t *indices, int64_t n,
                               const kn_sample_key *keys, kn_sample *batch)
{
    kn_sample *samples = calloc((size_t)n, sizeof *samples);
    if (!samples) return kni_failure_memory("kn_dataset_get_many");
    kn_status status = KN_OK;
    int64_t made = 0;
    for (; made < n && status == KN_OK; made++)
        status = get_keyed(d, indices[made], keys ? &keys[made] : NULL, &samples[made]);
    if (status == KN_OK) status = kni_collate_stack(samples, n, batch);
    for (int64_t i = 0; i < made; i++) kn_sample_drop(&samples[i]);
    free(samples);
    return status;
}

kn_status kn_dataset_get_many(kn_dataset dataset, const int64_t *indices, int64_t n,
                              const kn_sample_key *keys, kn_sample *batch)
{
    if (!batch) return no_place(__func__);
    *batch = (kn_sample){0};
    KNI_USE(dataset, d, dataset);
    if (!d) return KNI_NO_OBJECT(dataset);
    if (!indices || n <= 0 || n > (int64_t)(PTRDIFF_MAX / sizeof(kn_sample)))
        return kni_failure(KN_ERROR_ARGUMENT, "kn_dataset_get_many: %lld samples%s", (long long)n,
                           indices ? "" : ", and the indices are NULL");
    for (int64_t i = 0; i < n; i++) {
        kn_status status = check_index(d, indices[i]);
        if (status != KN_OK) return status;
    }
    if (!d->set->type->get_many) return get_and_stack(d, indices, n, keys, batch);
    kn_sample_key *made = NULL;
    if (!keys) {
        if (!(made = malloc((size_t)n * sizeof *made))) return kni_failure_memory("kn_dataset_get_many");
        for (int64_t i = 0; i < n; i++) made[i] = (kn_sample_key){0, 0, indices[i]};
    }
    kn_scope scope = kn_scope_begin();
    kni_failure_mark before = kni_failure_mark_now();
    kn_status status = d->set->type->get_many(d->set->self, indices, n, keys ? keys : made, batch);
    if (status) status = told(d, before, status, "get_many");
    if (status == KN_OK) status = own_fields(kind_of(d), batch);
    if (status != KN_OK) kn_sample_drop(batch);
    kn_scope_end(scope, KN_NONE);
    free(made);
    return status;
}
