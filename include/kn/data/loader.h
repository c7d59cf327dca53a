/* The loader: batches of a data set in order, made on several threads ahead of their use. The same bits come out for any
   number of workers: what is random depends on (seed, epoch, index) alone.

       kn_loader_epoch(loader, epoch);
       while ((status = kn_loader_next(loader, &batch)) == KN_OK && batch.n) { ...; kn_sample_drop(&batch); } */
#ifndef KN_DATA_LOADER_H
#define KN_DATA_LOADER_H

#include <kn/data/dataset.h>
#include <kn/state.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct kn_loader_object *kn_loader;

/* How samples become a batch. */
typedef enum kn_collate {
    KN_COLLATE_STACK = 0, /* each field along a new first axis; all shapes must be equal */
    /* The same, with axis 0 of the padded fields (see pad_fields) filled up to the longest of the batch. Behind all fields comes
       a mask for each padded one: bool [batch, longest], true where there is data. */
    KN_COLLATE_PAD_MASK = 1,
    KN_COLLATE_PAD_LENGTHS = 2 /* likewise, with i64 [batch] lengths in place of the masks */
} kn_collate;
/* A way of your own, called on a worker. The samples are borrowed (their tensors are owned); batch is empty. */
typedef kn_status (*kn_collate_fn)(void *context, const kn_sample *samples, int64_t n, kn_sample *batch);

typedef struct kn_loader_args {
    int64_t batch_size; /* 0 = 1 */
    int32_t workers;    /* threads; 0 = the batch is made inside kn_loader_next */
    int32_t prefetch;   /* batches ready or under way at most; 0 = 2 for each worker */
    bool shuffle;       /* a new order each epoch */
    bool drop_last;     /* leave out a last batch that is not full */
    uint64_t seed;
    kn_collate collate;
    uint32_t pad_fields; /* bit f: field f is padded; 0 = all fields with at least one axis */
    double pad_value;
    kn_collate_fn collate_function; /* instead of collate */
    void *collate_context;
    kn_device device;  /* of the batches; NULL = the maker's current device */
    kn_device staging; /* where samples are made before a batch goes to device; NULL = device */
    /* This loader gives the samples whose place in the epoch's order is shard modulo shards (0 = 1). With drop_last all shards
       have the same number of samples. */
    int64_t shard, shards;
} kn_loader_args;
#define KN_LOADER_ARGS_DEFAULTS                                                                              \
    KN_FIELDS(1, 0, 0, false, false, 0, KN_COLLATE_STACK, 0, 0.0, NULL, NULL, NULL, NULL, 0, 1)

/* NULL with kn_last_error(). The loader holds a reference to the data set and stands before batch 0 of epoch 0. A loader is
   used by one thread at a time. */
KN_API kn_loader kn_loader_make(kn_dataset dataset, const kn_loader_args *args);
/* Stops and joins the workers, whatever they have under way. */
KN_API void kn_loader_free(kn_loader loader);
/* Batches, and samples, in an epoch. */
KN_API int64_t kn_loader_length(kn_loader loader);
KN_API int64_t kn_loader_samples(kn_loader loader);
/* Goes to the beginning of an epoch. */
KN_API KN_MUST_CHECK kn_status kn_loader_epoch(kn_loader loader, int64_t epoch);
/* Goes before a batch of an epoch, to resume in the middle of one. */
KN_API KN_MUST_CHECK kn_status kn_loader_seek(kn_loader loader, int64_t epoch, int64_t batch);
/* The batch that kn_loader_next would give now. */
KN_API void kn_loader_position(kn_loader loader, int64_t *epoch, int64_t *batch);
/* The next batch; the caller drops it. batch->n is 0 at the end of the epoch. A failure is that of this one batch, with the
   text of the worker in kn_last_error(): the next call gives the batch behind it. */
KN_API KN_MUST_CHECK kn_status kn_loader_next(kn_loader loader, kn_sample *batch);
/* A loader over samples start to stop - 1 of the same data set with the same arguments. */
KN_API kn_loader kn_loader_slice(kn_loader loader, int64_t start, int64_t stop);
/* One of `shards` loaders that together give all samples, on its own device (NULL: the same). */
KN_API kn_loader kn_loader_split(kn_loader loader, int64_t shard, int64_t shards, kn_device device);
/* The position, with the seed and batch size it belongs to; loading one that belongs to others fails. */
KN_API KN_MUST_CHECK kn_status kn_loader_save(kn_loader loader, kn_state state, const char *prefix);
KN_API KN_MUST_CHECK kn_status kn_loader_load(kn_loader loader, kn_state state, const char *prefix);

#ifdef __cplusplus
}
#endif

#ifndef KN_NO_SITES
#include <kn/sites/loader_sites.h>
#endif

#endif
