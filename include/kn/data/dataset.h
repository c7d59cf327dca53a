/* What a data set is: samples, keys of random choices, the table of functions behind a data set of your own. */
#ifndef KN_DATA_DATASET_H
#define KN_DATA_DATASET_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KN_SAMPLE_FIELDS 8

/* One sample, or a batch of them: tensors in the order the data set documents (image, label). The holder owns them. */
typedef struct kn_sample {
    int32_t n;
    kn_tensor fields[KN_SAMPLE_FIELDS];
} kn_sample;
/* Drops the tensors and leaves it empty. */
KN_API void kn_sample_drop(kn_sample *sample);
/* Adds a field. Takes a temporary, shares others (kn_alias). A poisoned value gives its error. */
KN_API KN_MUST_CHECK kn_status kn_sample_add(kn_sample *sample, kn_tensor value);
/* Replaces field `index` in the same way: the old value is dropped. By itself it stays. */
KN_API KN_MUST_CHECK kn_status kn_sample_replace(kn_sample *sample, int32_t index, kn_tensor value);

/* What random choices of a sample are keyed by. */
typedef struct kn_sample_key {
    uint64_t seed;
    int64_t epoch, index;
} kn_sample_key;
/* 64 random bits for the n-th choice under a key, a number on [0, 1), a whole number on [0, bound) (0 for bound <= 0). */
KN_API uint64_t kn_key_bits(const kn_sample_key *key, uint64_t n);
KN_API double kn_key_uniform(const kn_sample_key *key, uint64_t n);
KN_API int64_t kn_key_below(const kn_sample_key *key, uint64_t n, int64_t bound);

typedef struct kn_dataset_object *kn_dataset;

/* A data set of your own. All but close are called from several threads at once; indices are inside the length. */
typedef struct kn_dataset_type {
    const char *name;
    int64_t (*length)(void *self);
    /* Fills the empty sample with owned tensors (or temporaries, which become owned). */
    kn_status (*get)(void *self, int64_t index, const kn_sample_key *key, kn_sample *sample);
    /* Optional: a whole batch at once, the fields of n samples stacked along a new first axis. */
    kn_status (*get_many)(void *self, const int64_t *indices, int64_t n, const kn_sample_key *keys,
                          kn_sample *batch);
    void (*close)(void *self);                         /* optional */
    const char *(*name_at)(void *self, int64_t index); /* optional, see kn_dataset_name_at */
} kn_dataset_type;
/* NULL with kn_last_error(); self is closed then, too. */
KN_API kn_dataset kn_dataset_make(const kn_dataset_type *type, void *self);
/* Data sets are counted: transforms and loaders hold what they read from; free what you made when you no longer need it. */
KN_API void kn_dataset_free(kn_dataset dataset);
/* A second reference, to be freed as well. */
KN_API kn_dataset kn_dataset_retain(kn_dataset dataset);
/* The type's name: "csv", "map" ... */
KN_API const char *kn_dataset_kind(kn_dataset dataset);
/* -1 with kn_last_error() where there is no such data set. */
KN_API int64_t kn_dataset_length(kn_dataset dataset);
/* One sample under the key (0, 0, index). The caller drops it. */
KN_API KN_MUST_CHECK kn_status kn_dataset_get(kn_dataset dataset, int64_t index, kn_sample *sample);
/* The same under a key of yours (NULL: as above). */
KN_API KN_MUST_CHECK kn_status kn_dataset_get_keyed(kn_dataset dataset, int64_t index,
                                                    const kn_sample_key *key, kn_sample *sample);
/* n samples stacked along a new first axis; keys may be NULL. All samples have the same shapes. */
KN_API KN_MUST_CHECK kn_status kn_dataset_get_many(kn_dataset dataset, const int64_t *indices, int64_t n,
                                                   const kn_sample_key *keys, kn_sample *batch);
/* A list of names that belongs to the data set: classes of an image folder, columns of a table; NULL past the end. Transforms
   give the names of what they read from. */
KN_API const char *kn_dataset_name_at(kn_dataset dataset, int64_t index);

#ifdef __cplusplus
}
#endif

#ifndef KN_NO_SITES
#include <kn/sites/dataset_sites.h>
#endif

#endif
