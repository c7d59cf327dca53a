/* The loader: batches in order, made ahead by worker threads into a ring of bounded size. A batch depends on its number and the
   epoch alone, so who makes it does not matter. */
#define _POSIX_C_SOURCE 200809L
#include "core/objects.h"
#include "data/data_internal.h"
#include <kn/device.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORKERS = 256, MAX_PREFETCH = 1 << 16, ERROR_BYTES = 600 };

/* One place of the ring: a batch that is made, with the status it has. */
typedef struct place {
    bool ready;
    kn_status status;
    kn_sample batch;
    char error[ERROR_BYTES];
} place;

/* The order of samples in an epoch, shared by the batches that are made from it. */
typedef struct order {
    int64_t references; /* under the lock */
    int64_t epoch;
    int64_t *indices; /* NULL: 0, 1, 2 ... */
} order;

typedef struct kni_loader {
    kn_dataset dataset;
    kn_loader_args args;
    int64_t samples, batches; /* of this shard in an epoch */
    int64_t next;             /* the batch that kn_loader_next gives */
    order *order;

    /* All below is shared with the workers and guarded by the lock. */
    pthread_mutex_t lock;
    pthread_cond_t work, done; /* there is something to make; something was made */
    bool stop;
    uint64_t generation; /* counts seeks: what was begun before one is thrown away */
    int64_t started;     /* the next batch to be begun */
    place *ring;
    pthread_t *threads;
    int32_t running;
} kni_loader;

/* ---- orders */

static order *make_order(kni_loader *l, int64_t epoch)
{
    order *o = calloc(1, sizeof *o);
    int64_t n = kn_dataset_length(l->dataset);
    if (o && l->args.shuffle && n > 0) {
        o->indices = n > PTRDIFF_MAX / 8 ? NULL : malloc((size_t)n * sizeof *o->indices);
        if (o->indices)
            kni_permutation(o->indices, n, l->args.seed, epoch);
        else {
            free(o);
            o = NULL;
        }
    }
    if (!o) {
        kni_failure_memory("kn_loader");
        return NULL;
    }
    o->references = 1;
    o->epoch = epoch;
    return o;
}

static void release_order(order *o)
{
    if (!o || --o->references > 0) return;
    free(o->indices);
    free(o);
}

/* ---- making one batch */

static kn_status collate_by_user(kni_loader *l, const kn_sample *samples, int64_t n, kn_sample *batch)
{
    kni_failure_mark before = kni_failure_mark_now();
    return kni_failure_since(before, l->args.collate_function(l->args.collate_context, samples, n, batch),
                             "collate_function");
}

static kn_status collate(kni_loader *l, const int64_t *indices, int64_t n, const kn_sample_key *keys,
                         kn_sample *batch)
{
    if (!l->args.collate_function && l->args.collate == KN_COLLATE_STACK)
        return kn_dataset_get_many(l->dataset, indices, n, keys, batch);
    kn_sample *samples = calloc((size_t)n, sizeof *samples);
    if (!samples) return kni_failure_memory("kn_loader_next");
    kn_status status = KN_OK;
    for (int64_t i = 0; i < n && status == KN_OK; i++)
        status = kn_dataset_get_keyed(l->dataset, indices[i], &keys[i], &samples[i]);
    if (status == KN_OK)
        status = l->args.collate_function ? collate_by_user(l, samples, n, batch)
                                          : kni_collate_pad(samples, n, &l->args, batch);
    for (int64_t i = 0; i < n; i++) kn_sample_drop(&samples[i]);
    free(samples);
    return status;
}

/* Owns the fields and moves them to the loader's device. */
static kn_status hand_over(kni_loader *l, kn_sample *batch)
{
    if (batch->n < 1 || batch->n > KN_SAMPLE_FIELDS) {
        int32_t n = batch->n;
        batch->n = 0;
        return kni_failure(KN_ERROR_ARGUMENT, "kn_loader: a batch with %d fields", (int)n);
    }
    for (int32_t f = 0; f < batch->n; f++) {
        kn_tensor t = batch->fields[f];
        bool elsewhere = kn_ok(t) && kn_device_of(t) != l->args.device;
        if (elsewhere) {
            kn_tensor moved = kn_to(kn_alias(t), l->args.device);
            kn_drop(t);
            t = moved;
        }
        if (kn_ok(t)) t = kn_own(t);
        batch->fields[f] = t;
        if (!kn_ok(t)) return kni_failure_of(t);
    }
    return KN_OK;
}

static kn_status make_batch(kni_loader *l, const order *o, int64_t number, kn_sample *batch)
{
    const kn_loader_args *a = &l->args;
    int64_t begin = number * a->batch_size;
    int64_t n = l->samples - begin < a->batch_size ? l->samples - begin : a->batch_size;
    *batch = (kn_sample){0};
    int64_t *indices = malloc((size_t)n * sizeof *indices);
    kn_sample_key *keys = malloc((size_t)n * sizeof *keys);
    kn_status status = indices && keys ? KN_OK : kni_failure_memory("kn_loader_next");
    for (int64_t i = 0; i < n && status == KN_OK; i++) {
        int64_t at = (begin + i) * a->shards + a->shard;
        indices[i] = o->indices ? o->indices[at] : at;
        keys[i] = (kn_sample_key){a->seed, o->epoch, indices[i]};
    }
    kn_scope scope = kn_scope_begin();
    if (status == KN_OK) status = collate(l, indices, n, keys, batch);
    if (status == KN_OK) status = hand_over(l, batch);
    if (status != KN_OK) kn_sample_drop(batch);
    kn_scope_end(scope, KN_NONE);
    free(indices);
    free(keys);
    return status;
}

/* ---- workers */

static place *place_of(kni_loader *l, int64_t number) { return &l->ring[number % l->args.prefetch]; }

static void note_result(place *p, kn_status status, const kn_sample *batch)
{
    p->ready = true;
    p->status = status;
    p->batch = *batch;
    if (status == KN_OK) return;
    strncpy(p->error, kni_failure_taken(), sizeof p->error - 1);
    p->error[sizeof p->error - 1] = 0;
}

/* Makes the next batch; called and left with the lock held. */
static void work_once(kni_loader *l)
{
    uint64_t generation = l->generation;
    int64_t number = l->started++;
    order *o = l->order;
    o->references++;
    pthread_mutex_unlock(&l->lock);
    kn_sample batch;
    kn_status status = make_batch(l, o, number, &batch);
    pthread_mutex_lock(&l->lock);
    release_order(o);
    if (generation == l->generation && !l->stop) {
        note_result(place_of(l, number), status, &batch);
        pthread_cond_broadcast(&l->done);
    } else
        kn_sample_drop(&batch);
}

static void *run_worker(void *argument)
{
    kni_loader *l = argument;
    kn_device_use(l->args.staging);
    pthread_mutex_lock(&l->lock);
    while (!l->stop) {
        if (l->started < l->batches && l->started < l->next + l->args.prefetch)
            work_once(l);
        else
            pthread_cond_wait(&l->work, &l->lock);
    }
    pthread_mutex_unlock(&l->lock);
    kn_memory_trim();
    return NULL;
}

static void empty_ring(kni_loader *l)
{
    for (int32_t i = 0; l->ring && i < l->args.prefetch; i++) {
        if (l->ring[i].ready) kn_sample_drop(&l->ring[i].batch);
        l->ring[i].ready = false;
    }
}

/* ---- making and freeing */

static kn_status check_devices(const kn_loader_args *a, const char *function)
{
    bool open = kni_device_is_open(a->device, function) &&
                (a->staging == a->device || kni_device_is_open(a->staging, function));
    return open ? KN_OK : KN_ERROR_DEVICE;
}

static kn_status check_args(kn_loader_args *a, const char *function)
{
    if (a->batch_size == 0) a->batch_size = 1;
    if (a->shards == 0) a->shards = 1;
    if (a->batch_size < 1 || a->batch_size > INT32_MAX)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_loader_make: batch_size %lld is not 1 to 2^31 - 1",
                           (long long)a->batch_size);
    if (a->workers < 0 || a->workers > MAX_WORKERS || a->prefetch < 0 || a->prefetch > MAX_PREFETCH)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_loader_make: workers %d (0 to %d), prefetch %d (0 to %d)",
                           (int)a->workers, MAX_WORKERS, (int)a->prefetch, MAX_PREFETCH);
    if (a->shards < 1 || a->shard < 0 || a->shard >= a->shards)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_loader_make: shard %lld of %lld", (long long)a->shard,
                           (long long)a->shards);
    if (a->collate < KN_COLLATE_STACK || a->collate > KN_COLLATE_PAD_LENGTHS)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_loader_make: there is no collate %d", (int)a->collate);
    if (!a->prefetch) a->prefetch = 2 * a->workers;
    if (!a->device) a->device = kn_device_current();
    if (!a->device) return KN_ERROR_DEVICE;
    if (!a->staging) a->staging = a->device;
    return check_devices(a, function);
}

static void count_batches(kni_loader *l)
{
    const kn_loader_args *a = &l->args;
    int64_t n = kn_dataset_length(l->dataset);
    l->samples = a->drop_last ? n / a->shards : (n - a->shard + a->shards - 1) / a->shards;
    if (l->samples < 0) l->samples = 0;
    if (a->drop_last) l->samples -= l->samples % a->batch_size;
    l->batches = (l->samples + a->batch_size - 1) / a->batch_size;
}

static kn_status start_workers(kni_loader *l)
{
    if (!l->args.workers) return KN_OK;
    l->ring = calloc((size_t)l->args.prefetch, sizeof *l->ring);
    l->threads = calloc((size_t)l->args.workers, sizeof *l->threads);
    if (!l->ring || !l->threads) return kni_failure_memory("kn_loader_make");
    for (; l->running < l->args.workers; l->running++)
        if (pthread_create(&l->threads[l->running], NULL, run_worker, l))
            return kni_failure(KN_ERROR_UNSUPPORTED, "kn_loader_make: the system started %d of %d threads",
                               (int)l->running, (int)l->args.workers);
    return KN_OK;
}

static bool is_worker(const kni_loader *l)
{
    bool worker = false;
    for (int32_t i = 0; i < l->running; i++) worker = worker || pthread_equal(l->threads[i], pthread_self());
    return worker;
}

static void destroy_loader(void *object)
{
    kni_loader *l = object;
    pthread_mutex_lock(&l->lock);
    l->stop = true;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    for (int32_t i = 0; i < l->running; i++) pthread_join(l->threads[i], NULL);
    empty_ring(l);
    release_order(l->order);
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->work);
    pthread_cond_destroy(&l->done);
    free(l->ring);
    free(l->threads);
    kn_dataset_free(l->dataset);
    free(l);
}

const kni_object_kind kni_kind_loader = {"kn_loader", "loader", "freed", destroy_loader};

static kn_loader make_loader(kn_dataset dataset, const kn_loader_args *args, const char *function)
{
    kn_dataset held = kni_dataset_hold(dataset, function);
    if (!held) return NULL;
    kni_loader *l = calloc(1, sizeof *l);
    if (!l) {
        kni_failure_memory(function);
        kn_dataset_free(held);
        return NULL;
    }
    if (args) l->args = *args;
    kn_status status = check_args(&l->args, function);
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->work, NULL);
    pthread_cond_init(&l->done, NULL);
    l->dataset = held;
    if (status == KN_OK) count_batches(l);
    if (status == KN_OK && !(l->order = make_order(l, 0))) status = KN_ERROR_MEMORY;
    if (status == KN_OK) status = start_workers(l);
    if (status == KN_OK) return kni_object_make(&kni_kind_loader, l, function);
    destroy_loader(l);
    return NULL;
}

kn_loader kn_loader_make(kn_dataset dataset, const kn_loader_args *args)
{
    return make_loader(dataset, args, __func__);
}

void kn_loader_free(kn_loader loader)
{
    if (loader && !kni_object_is_older(loader)) {
        KNI_USE(loader, l, loader);
        if (!l) return; /* told already */
        if (is_worker(l)) {
            kni_failure(KN_ERROR_ARGUMENT, "%s: a worker of the loader cannot free it", __func__);
            return;
        }
    }
    kni_object_free(loader, &kni_kind_loader, __func__);
}

/* ---- using */

int64_t kn_loader_length(kn_loader loader)
{
    KNI_USE(loader, l, loader);
    return l ? l->batches : -1;
}

int64_t kn_loader_samples(kn_loader loader)
{
    KNI_USE(loader, l, loader);
    return l ? l->samples : -1;
}

void kn_loader_position(kn_loader loader, int64_t *epoch, int64_t *batch)
{
    KNI_USE(loader, l, loader);
    if (epoch) *epoch = l ? l->order->epoch : -1;
    if (batch) *batch = l ? l->next : -1;
}

static kn_status seek(kni_loader *l, int64_t epoch, int64_t batch, const char *function)
{
    if (batch < 0 || batch > l->batches)
        return kni_failure(KN_ERROR_INDEX, "%s: batch %lld of %lld", function, (long long)batch,
                           (long long)l->batches);
    if (epoch == l->order->epoch && batch == l->next) return KN_OK;
    order *fresh = make_order(l, epoch);
    if (!fresh) return KN_ERROR_MEMORY;
    pthread_mutex_lock(&l->lock);
    release_order(l->order);
    l->order = fresh;
    l->generation++;
    l->next = l->started = batch;
    empty_ring(l);
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    return KN_OK;
}

kn_status kn_loader_seek(kn_loader loader, int64_t epoch, int64_t batch)
{
    KNI_USE(loader, l, loader);
    return l ? seek(l, epoch, batch, __func__) : KNI_NO_OBJECT(loader);
}

kn_status kn_loader_epoch(kn_loader loader, int64_t epoch)
{
    KNI_USE(loader, l, loader);
    return l ? seek(l, epoch, 0, __func__) : KNI_NO_OBJECT(loader);
}

/* In the calling thread, with the loader's device for the time being. */
static kn_status make_here(kni_loader *l, kn_sample *batch)
{
    kn_device before = kn_device_current();
    kn_device_use(l->args.staging);
    kn_status status = make_batch(l, l->order, l->next++, batch);
    kn_device_use(before);
    return status;
}

kn_status kn_loader_next(kn_loader loader, kn_sample *batch)
{
    if (!batch) return kni_failure(KN_ERROR_ARGUMENT, "kn_loader_next: the batch is NULL");
    *batch = (kn_sample){0};
    KNI_USE(loader, l, loader);
    if (!l) return KNI_NO_OBJECT(loader);
    if (l->next >= l->batches) return KN_OK;
    if (check_devices(&l->args, __func__)) return KN_ERROR_DEVICE;
    if (!l->running) return make_here(l, batch);
    char error[ERROR_BYTES];
    pthread_mutex_lock(&l->lock);
    place *p = place_of(l, l->next);
    while (!p->ready) pthread_cond_wait(&l->done, &l->lock);
    kn_status status = p->status;
    *batch = p->batch;
    p->ready = false;
    if (status != KN_OK) memcpy(error, p->error, sizeof error);
    l->next++;
    pthread_cond_broadcast(&l->work);
    pthread_mutex_unlock(&l->lock);
    if (status != KN_OK) return kni_failure(status, "%s", error);
    for (int32_t f = 0; f < batch->n; f++) kni_tensor_handed(batch->fields[f]);
    return KN_OK;
}

kn_loader kn_loader_slice(kn_loader loader, int64_t start, int64_t stop)
{
    KNI_USE(loader, l, loader);
    if (!l) return NULL;
    kn_dataset part = kn_dataset_slice(l->dataset, start, stop);
    kn_loader made = part ? make_loader(part, &l->args, __func__) : NULL;
    kn_dataset_free(part);
    return made;
}

kn_loader kn_loader_split(kn_loader loader, int64_t shard, int64_t shards, kn_device device)
{
    KNI_USE(loader, l, loader);
    if (!l) return NULL;
    kn_loader_args args = l->args;
    if (args.shards != 1) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_loader_split: this loader is shard %lld of %lld already",
                    (long long)args.shard, (long long)args.shards);
        return NULL;
    }
    args.shard = shard;
    args.shards = shards;
    if (device) {
        if (args.staging == args.device) args.staging = device;
        args.device = device;
    }
    return make_loader(l->dataset, &args, __func__);
}

/* ---- position in a state */

kn_status kn_loader_save(kn_loader handle, kn_state state, const char *prefix)
{
    KNI_USE(loader, loader, handle);
    if (!loader) return KNI_NO_OBJECT(handle);
    KNI_USE_OTHER(state, there, state);
    if (!there) return KNI_NO_OBJECT(state);
    kn_status status = kn_state_put_int(state, prefix, "epoch", loader->order->epoch);
    if (status == KN_OK) status = kn_state_put_int(state, prefix, "batch", loader->next);
    if (status == KN_OK) status = kn_state_put_int(state, prefix, "batch_size", loader->args.batch_size);
    if (status == KN_OK) status = kn_state_put_int(state, prefix, "samples", loader->samples);
    if (status == KN_OK) status = kn_state_put_int(state, prefix, "seed", (int64_t)loader->args.seed);
    if (status == KN_OK) status = kn_state_put_int(state, prefix, "shuffle", loader->args.shuffle);
    if (status == KN_OK) status = kn_state_put_int(state, prefix, "shard", loader->args.shard);
    if (status == KN_OK) status = kn_state_put_int(state, prefix, "shards", loader->args.shards);
    return status;
}

/* What older states do not have is taken to fit. */
static kn_status check_order(const kni_loader *loader, kn_state state, const char *prefix)
{
    int64_t shuffle = loader->args.shuffle, shard = loader->args.shard, shards = loader->args.shards;
    kn_state_get_int(state, prefix, "shuffle", &shuffle);
    kn_state_get_int(state, prefix, "shard", &shard);
    kn_state_get_int(state, prefix, "shards", &shards);
    if ((shuffle != 0) == loader->args.shuffle && shard == loader->args.shard &&
        shards == loader->args.shards)
        return KN_OK;
    return kni_failure(KN_ERROR_ARGUMENT,
                       "kn_loader_load: the state is of shard %lld of %lld %s shuffling, this loader is "
                       "shard %lld of %lld %s",
                       (long long)shard, (long long)shards, shuffle ? "with" : "without",
                       (long long)loader->args.shard, (long long)loader->args.shards,
                       loader->args.shuffle ? "with" : "without");
}

kn_status kn_loader_load(kn_loader handle, kn_state state, const char *prefix)
{
    int64_t epoch, batch, batch_size, samples, seed;
    KNI_USE(loader, loader, handle);
    if (!loader) return KNI_NO_OBJECT(handle);
    KNI_USE_OTHER(state, there, state);
    if (!there) return KNI_NO_OBJECT(state);
    if (!kn_state_get_int(state, prefix, "epoch", &epoch) ||
        !kn_state_get_int(state, prefix, "batch", &batch) ||
        !kn_state_get_int(state, prefix, "batch_size", &batch_size) ||
        !kn_state_get_int(state, prefix, "samples", &samples) ||
        !kn_state_get_int(state, prefix, "seed", &seed))
        return kni_failure(KN_ERROR_ARGUMENT, "kn_loader_load: the state has no loader under '%s'",
                           prefix ? prefix : "");
    if (batch_size != loader->args.batch_size || samples != loader->samples ||
        (uint64_t)seed != loader->args.seed)
        return kni_failure(
            KN_ERROR_ARGUMENT,
            "kn_loader_load: the state is of %lld samples in batches of %lld with seed %llu, this "
            "loader has %lld in %lld with %llu",
            (long long)samples, (long long)batch_size, (unsigned long long)seed, (long long)loader->samples,
            (long long)loader->args.batch_size, (unsigned long long)loader->args.seed);
    kn_status status = check_order(loader, state, prefix);
    return status ? status : seek(loader, epoch, batch, "kn_loader_load");
}
