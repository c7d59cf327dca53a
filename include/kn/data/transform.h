/* Data sets made of other data sets. Each holds a reference to what it reads, so you may free yours at once. All return NULL
   with kn_last_error() on failure; that of a NULL operand has the message it left. */
#ifndef KN_DATA_TRANSFORM_H
#define KN_DATA_TRANSFORM_H

#include <kn/data/dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Changes a sample in place, on any thread; what is random takes its numbers from the key. */
typedef kn_status (*kn_map_fn)(void *context, const kn_sample_key *key, kn_sample *sample);
/* The same for a batch of n samples that are stacked along the first axis: one key for each. Must give the same values. */
typedef kn_status (*kn_map_many_fn)(void *context, const kn_sample_key *keys, int64_t n, kn_sample *batch);

/* y[i] = map(x[i]). */
KN_API kn_dataset kn_dataset_map(kn_dataset dataset, kn_map_fn map, void *context);
/* The same with a function for whole batches, which is much faster for small samples; many may be NULL. release(context), when
   given, is called once with the data set's end. */
KN_API kn_dataset kn_dataset_map_many(kn_dataset dataset, kn_map_fn map, kn_map_many_fn many, void *context,
                                      void (*release)(void *context));
/* All samples of the first, then of the second ... */
KN_API kn_dataset kn_dataset_compose(const kn_dataset *datasets, int32_t n);
/* The samples start to stop - 1. A stop past the end means the end. */
KN_API kn_dataset kn_dataset_slice(kn_dataset dataset, int64_t start, int64_t stop);
/* Part `index` of `chunks` nearly equal parts. */
KN_API kn_dataset kn_dataset_chunk(kn_dataset dataset, int64_t index, int64_t chunks);
/* Cuts one into out[0 .. n - 1] by parts that sum to at most 1, such as {0.8, 0.1, 0.1}. */
KN_API KN_MUST_CHECK kn_status kn_dataset_split(kn_dataset dataset, const double *parts, int32_t n,
                                                kn_dataset *out);
/* A fixed permutation that depends on the seed alone. (The loader shuffles each epoch anew.) */
KN_API kn_dataset kn_dataset_shuffle(kn_dataset dataset, uint64_t seed);
/* y[i] = x[indices[i]]; indices are copied, may repeat, and negative ones count from the end. */
KN_API kn_dataset kn_dataset_select(kn_dataset dataset, const int64_t *indices, int64_t n);

/* A random choice of samples. Without replacement each pass over the data set gives every sample once, in a new order. */
typedef struct kn_sample_args {
    bool replacement;
    int64_t size; /* how many; 0 = by ratio */
    double ratio; /* of the data set's length; 0 = 1 */
    uint64_t seed;
} kn_sample_args;
#define KN_SAMPLE_ARGS_DEFAULTS KN_FIELDS(false, 0, 1.0, 0)
KN_API kn_dataset kn_dataset_sample(kn_dataset dataset, const kn_sample_args *args);

/* y[i] = x[i * step .. i * step + size - 1], each field stacked along a new first axis; step 0 = 1. Windows that would pass the
   end are left out. */
KN_API kn_dataset kn_dataset_window(kn_dataset dataset, int64_t size, int64_t step);

/* ---- old names */

KN_API kn_dataset kn_dataset_partial(kn_dataset dataset, int64_t start, int64_t stop)
    KN_DEPRECATED("write kn_dataset_slice");

#ifdef __cplusplus
}
#endif

#ifndef KN_NO_SITES
#include <kn/sites/transform_sites.h>
#endif

#endif
