/* Data sets, transforms of them, and a loader that makes batches on several threads. A data set is a sequence of samples; a
   sample is a few tensors. What is random depends on (seed, epoch, index) alone, so batches are the same for any number of
   workers. */
#ifndef KN_DATA_H
#define KN_DATA_H

#include <kn/base.h>
#include <kn/state.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KN_SAMPLE_FIELDS 8

/* One sample, or a batch of them: tensors in the order the data set documents (image, label). The holder owns them. */
typedef struct kn_sample {
    int32_t n;
    kn_tensor fields[KN_SAMPLE_FIELDS];
} kn_sample;
KN_API void kn_sample_drop(kn_sample *sample);

/* What random choices of a sample are keyed by. */
typedef struct kn_sample_key {
    uint64_t seed;
    int64_t epoch, index;
} kn_sample_key;
/* 64 random bits for the n-th choice under a key, and a number on [0, 1). */
KN_API uint64_t kn_key_bits(const kn_sample_key *key, uint64_t n);
KN_API double kn_key_uniform(const kn_sample_key *key, uint64_t n);

/* ---- data sets */

typedef struct kn_dataset_object *kn_dataset;

/* A data set of your own. get is called from several threads at once. */
typedef struct kn_dataset_type {
    const char *name;
    int64_t (*length)(void *self);
    /* Fills sample with owned tensors (or temporaries, which become owned). */
    kn_status (*get)(void *self, int64_t index, const kn_sample_key *key, kn_sample *sample);
    /* Optional: a whole batch at once. */
    kn_status (*get_many)(void *self, const int64_t *indices, int64_t n, const kn_sample_key *keys,
                          kn_sample *batch);
    void (*close)(void *self); /* optional */
} kn_dataset_type;
KN_API kn_dataset kn_dataset_make(const kn_dataset_type *type, void *self);
/* Data sets are counted: transforms hold what they read from; free what you made when you no longer need it. */
KN_API void kn_dataset_free(kn_dataset dataset);
KN_API int64_t kn_dataset_length(kn_dataset dataset);
KN_API KN_MUST_CHECK kn_status kn_dataset_get(kn_dataset dataset, int64_t index, kn_sample *sample);
/* A list of names that belongs to the data set: classes of an image folder, columns of a table; NULL past the end. */
KN_API const char *kn_dataset_name_at(kn_dataset dataset, int64_t index);

#ifdef __cplusplus
}
#endif
#endif
