/* The loader: the same bits for any number of workers, order, resuming, padding, errors of one batch, leaving early. */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"
#include <kn/data.h>
#include <stdlib.h>
#include <time.h>

enum { SAMPLES = 103, BATCH = 8 };

/* (image u8 [1, 6, 6], index) with random shifts. */
static kn_dataset images(void)
{
    kn_tensor x = kn_cast(kn_remainder_scalar(kn_arange(0, SAMPLES * 36, 1, KN_F32), 251), KN_U8);
    kn_tensor fields[] = {kn_reshape(x, KN_SHAPE(SAMPLES, 1, 6, 6)), kn_arange(0, SAMPLES, 1, KN_I64)};
    kn_dataset rows = kn_dataset_tensors(fields, 2);
    kn_dataset made = kn_dataset_augment(rows, &(kn_augment_args){.shift_rows = 2, .shift_columns = 2});
    kn_dataset_free(rows);
    return made;
}

static uint64_t hash(uint64_t h, const void *data, size_t n)
{
    for (size_t i = 0; i < n; i++) h = (h ^ ((const uint8_t *)data)[i]) * 0x100000001b3u;
    return h;
}

/* Everything a loader gives from here to the end of the epoch, as one number. */
static uint64_t drain(kn_loader l, int64_t *batches)
{
    uint64_t h = 1;
    kn_sample b;
    *batches = 0;
    while (kn_loader_next(l, &b) == KN_OK && b.n) {
        for (int f = 0; f < b.n; f++) {
            size_t n = (size_t)kn_dtype_bytes(kn_dtype_of(b.fields[f]), kn_count(b.fields[f]));
            void *data = malloc(n + 1);
            CHECK(kn_read(b.fields[f], data, n) == KN_OK);
            h = hash(h, data, n);
            free(data);
        }
        kn_sample_drop(&b);
        ++*batches;
    }
    return h;
}

static void test_workers(void)
{
    static const int workers[] = {0, 1, 2, 4};
    uint64_t want[2] = {0};
    kn_dataset d = images();
    for (int i = 0; i < 4; i++) {
        kn_loader l = kn_loader_make(d, &(kn_loader_args){.batch_size = BATCH,
                                                          .workers = workers[i],
                                                          .shuffle = true,
                                                          .seed = 5,
                                                          .prefetch = i == 3 ? 1 : 0});
        CHECK(kn_loader_length(l) == 13 && kn_loader_samples(l) == SAMPLES);
        for (int e = 0; e < 2; e++) {
            int64_t n;
            CHECK(kn_loader_epoch(l, e) == KN_OK);
            uint64_t h = drain(l, &n);
            if (!i) want[e] = h;
            CHECK(n == 13 && h == want[e]);
            kn_sample b;
            CHECK(kn_loader_next(l, &b) == KN_OK && b.n == 0); /* the end stays the end */
        }
        kn_loader_free(l);
    }
    CHECK(want[0] != want[1]);
    kn_dataset_free(d);
}

static void test_order(void)
{
    kn_dataset d = images();
    int seen[SAMPLES] = {0}, expected = 0;
    kn_loader l = kn_loader_make(d, &(kn_loader_args){.batch_size = BATCH, .workers = 2, .drop_last = true});
    kn_sample b;
    CHECK(kn_loader_length(l) == 12 && kn_loader_samples(l) == 96);
    while (kn_loader_next(l, &b) == KN_OK && b.n) {
        int64_t index[BATCH];
        CHECK(kn_size(b.fields[0], 0) == BATCH && kn_read(b.fields[1], index, sizeof index) == KN_OK);
        for (int i = 0; i < BATCH; i++) CHECK(index[i] == expected++);
        kn_sample_drop(&b);
    }
    kn_loader_free(l);
    /* The shards of a shuffled epoch are a partition of it. */
    kn_loader whole = kn_loader_make(d, &(kn_loader_args){.batch_size = BATCH, .shuffle = true, .seed = 9});
    for (int shard = 0; shard < 3; shard++) {
        kn_loader part = kn_loader_split(whole, shard, 3, NULL);
        while (kn_loader_next(part, &b) == KN_OK && b.n) {
            int64_t index[BATCH], n = kn_size(b.fields[1], 0);
            CHECK(kn_read(b.fields[1], index, (size_t)n * 8) == KN_OK);
            for (int i = 0; i < n; i++) seen[index[i]]++;
            kn_sample_drop(&b);
        }
        CHECK(kn_loader_samples(part) == (shard == 0 ? 35 : 34));
        kn_loader_free(part);
    }
    for (int i = 0; i < SAMPLES; i++) CHECK(seen[i] == 1);
    kn_loader slice = kn_loader_slice(whole, 10, 20);
    CHECK(kn_loader_samples(slice) == 10 && kn_loader_length(slice) == 2);
    kn_loader_free(slice);
    kn_loader_free(whole);
    kn_dataset_free(d);
}

static void test_resume(void)
{
    kn_dataset d = images();
    kn_loader_args a = {.batch_size = BATCH, .workers = 2, .shuffle = true, .seed = 5};
    kn_loader l = kn_loader_make(d, &a);
    int64_t n, epoch, batch;
    CHECK(kn_loader_seek(l, 3, 7) == KN_OK);
    uint64_t want = drain(l, &n);
    CHECK(n == 6 && kn_loader_epoch(l, 3) == KN_OK);
    for (int i = 0; i < 7; i++) {
        kn_sample b;
        CHECK(kn_loader_next(l, &b) == KN_OK);
        kn_sample_drop(&b);
    }
    kn_state state = kn_state_make();
    CHECK(kn_loader_save(l, state, "loader/") == KN_OK);
    kn_loader_free(l);
    l = kn_loader_make(d, &a);
    CHECK(kn_loader_load(l, state, "loader/") == KN_OK);
    kn_loader_position(l, &epoch, &batch);
    CHECK(epoch == 3 && batch == 7 && drain(l, &n) == want);
    CHECK_ERROR(kn_loader_load(l, state, "other/"), "no loader under 'other/'");
    CHECK_ERROR(kn_loader_seek(l, 0, 14), "batch 14 of 13");
    kn_loader_free(l);
    a.seed = 6;
    l = kn_loader_make(d, &a);
    CHECK_ERROR(kn_loader_load(l, state, "loader/"), "with seed 5");
    kn_loader_free(l);
    a.seed = 5;
    a.shuffle = false;
    l = kn_loader_make(d, &a);
    CHECK_ERROR(kn_loader_load(l, state, "loader/"),
                "shard 0 of 1 with shuffling, this loader is shard 0 of 1 without");
    kn_loader whole = l, odd = kn_loader_split(whole, 1, 2, NULL), even = kn_loader_split(whole, 0, 2, NULL);
    CHECK(kn_loader_samples(even) == SAMPLES / 2 + 1 && kn_loader_samples(odd) == SAMPLES / 2);
    kn_state half = kn_state_make();
    CHECK(kn_loader_save(even, half, "") == KN_OK);
    CHECK_ERROR(kn_loader_load(odd, half, ""), "the state is of 52 samples in batches of 8 with seed 5");
    CHECK(kn_loader_load(even, half, "") == KN_OK);
    kn_state_free(half);
    /* Shards of the same size are told apart by their numbers: 103 = 35 + 34 + 34. */
    kn_loader second = kn_loader_split(whole, 1, 3, NULL), third = kn_loader_split(whole, 2, 3, NULL);
    CHECK(kn_loader_samples(second) == 34 && kn_loader_samples(third) == 34);
    kn_state thirds = kn_state_make();
    CHECK(kn_loader_save(second, thirds, "") == KN_OK && kn_loader_load(second, thirds, "") == KN_OK);
    CHECK_ERROR(kn_loader_load(third, thirds, ""),
                "shard 1 of 3 without shuffling, this loader is shard 2 of 3 without");
    kn_state_free(thirds);
    kn_loader_free(second);
    kn_loader_free(third);
    /* A state from before has no word of the order. */
    kn_state old = kn_state_make();
    const char *const words[] = {"epoch", "batch", "batch_size", "samples", "seed"};
    for (int i = 0; i < 5; i++) {
        int64_t value = 0;
        CHECK(kn_state_get_int(state, "loader/", words[i], &value));
        CHECK(kn_state_put_int(old, "", words[i], value) == KN_OK);
    }
    CHECK(kn_loader_load(whole, old, "") == KN_OK);
    kn_state_free(old);
    kn_loader_free(odd);
    kn_loader_free(even);
    kn_loader_free(whole);
    kn_state_free(state);
    kn_dataset_free(d);
}

/* ---- variable lengths */

static kn_dataset sentences(void)
{
    static const float values[] = {1, 2, 3, 4, 5, 6};
    static const int64_t lengths[] = {2, 0, 1};
    kn_sample samples[3];
    for (int i = 0; i < 3; i++) {
        samples[i] = (kn_sample){0};
        CHECK(kn_sample_add(&samples[i], kn_from(values, KN_F32, KN_SHAPE(lengths[i], 2))) == KN_OK);
        CHECK(kn_sample_add(&samples[i], kn_scalar_int(i, KN_I64)) == KN_OK);
    }
    return kn_dataset_list(samples, 3);
}

static kn_status sum_lengths(void *context, const kn_sample *samples, int64_t n, kn_sample *batch)
{
    (void)context;
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) sum += kn_size(samples[i].fields[0], 0);
    return kn_sample_add(batch, kn_scalar_int(sum, KN_I64));
}

static kn_status note_key(void *context, const kn_sample_key *key, kn_sample *sample)
{
    (void)context;
    kn_status status = kn_sample_add(sample, kn_scalar_int(key->index, KN_I64));
    return status ? status : kn_sample_add(sample, kn_scalar_int(key->epoch, KN_I64));
}

/* The key of a sample has its index in the data set, wherever an order, a shard or a batch puts it: its random changes do not
   depend on the others. */
static void test_keys(void)
{
    kn_tensor numbers = kn_arange(0, SAMPLES, 1, KN_I64);
    kn_dataset rows = kn_dataset_tensors(&numbers, 1), noted = kn_dataset_map(rows, note_key, NULL);
    for (int kind = 0; kind < 4; kind++) {
        kn_loader_args args = {
            .batch_size = BATCH, .shuffle = kind != 0, .seed = 5, .workers = kind == 2 ? 2 : 0};
        if (kind == 3) args.shards = 3, args.shard = 1;
        kn_loader l = kn_loader_make(noted, &args);
        int64_t moved = 0, count = 0;
        kn_sample b;
        while (kn_loader_next(l, &b) == KN_OK && b.n) {
            int64_t index[BATCH], key[BATCH], epoch[BATCH], n = kn_count(b.fields[0]);
            size_t bytes = (size_t)n * sizeof *index;
            CHECK(b.n == 3 && kn_read(b.fields[0], index, bytes) == KN_OK &&
                  kn_read(b.fields[1], key, bytes) == KN_OK && kn_read(b.fields[2], epoch, bytes) == KN_OK);
            for (int64_t i = 0; i < n; i++) {
                CHECK(key[i] == index[i] && epoch[i] == 0);
                moved += index[i] != count + i;
            }
            count += n;
            kn_sample_drop(&b);
        }
        CHECK(count >= SAMPLES / 3 && (moved > 0) == (kind != 0));
        kn_loader_free(l);
    }
    kn_dataset_free(noted);
    kn_dataset_free(rows);
}

static void test_padding(void)
{
    kn_dataset d = sentences();
    kn_sample b;
    kn_loader l = kn_loader_make(
        d, &(kn_loader_args){.batch_size = 3, .workers = 1, .collate = KN_COLLATE_PAD_MASK, .pad_value = -1});
    CHECK(kn_loader_next(l, &b) == KN_OK && b.n == 3 && kn_dtype_of(b.fields[2]) == KN_BOOL);
    CHECK_VALUES(b.fields[0], 0, 1, 2, 3, 4, -1, -1, -1, -1, 1, 2, -1, -1);
    CHECK_VALUES(b.fields[1], 0, 0, 1, 2);
    CHECK_VALUES(b.fields[2], 0, 1, 1, 0, 0, 1, 0);
    CHECK(kn_rank(b.fields[0]) == 3 && kn_size(b.fields[2], 1) == 2);
    kn_sample_drop(&b);
    kn_loader_free(l);
    l = kn_loader_make(d, &(kn_loader_args){.batch_size = 3, .collate = KN_COLLATE_PAD_LENGTHS});
    CHECK(kn_loader_next(l, &b) == KN_OK && b.n == 3);
    CHECK_VALUES(b.fields[2], 0, 2, 0, 1);
    kn_sample_drop(&b);
    kn_loader_free(l);
    l = kn_loader_make(d, &(kn_loader_args){.batch_size = 3});
    CHECK_ERROR(kn_loader_next(l, &b),
                "field 0 of sample 1 of the batch is f32 [0, 2], that of sample 0 is f32 [2, 2]");
    CHECK(b.n == 0);
    kn_loader_free(l);
    l = kn_loader_make(d, &(kn_loader_args){.batch_size = 3, .workers = 1, .collate_function = sum_lengths});
    CHECK(kn_loader_next(l, &b) == KN_OK && b.n == 1 && kn_item_int(b.fields[0]) == 3);
    kn_sample_drop(&b);
    kn_loader_free(l);
    kn_dataset_free(d);
}

/* ---- failures, leaving, backpressure */

typedef struct slow {
    int64_t gets; /* atomic */
} slow;

static int64_t slow_length(void *self)
{
    (void)self;
    return 1000;
}

static kn_status slow_get(void *self, int64_t index, const kn_sample_key *key, kn_sample *sample)
{
    (void)key;
    slow *s = self;
    __atomic_fetch_add(&s->gets, 1, __ATOMIC_RELAXED);
    nanosleep(&(struct timespec){0, 1000000}, NULL);
    if (index == 5) return kn_sample_add(sample, kn_poison(KN_ERROR_IO, "five.png: broken on purpose"));
    return kn_sample_add(sample, kn_scalar_int(index, KN_I64));
}

static const kn_dataset_type slow_type = {.name = "slow", .length = slow_length, .get = slow_get};

static void test_failures(void)
{
    for (int workers = 0; workers <= 4; workers += 2) {
        slow s = {0};
        kn_dataset d = kn_dataset_make(&slow_type, &s);
        kn_loader l = kn_loader_make(d, &(kn_loader_args){.batch_size = 2, .workers = workers});
        for (int i = 0; i < 5; i++) {
            kn_sample b;
            kn_status status = kn_loader_next(l, &b);
            if (i == 2) {
                CHECK_ERROR(status, "five.png: broken on purpose");
                CHECK(status == KN_ERROR_IO && b.n == 0);
            } else {
                CHECK(status == KN_OK && b.n == 1);
                if (b.n) CHECK_VALUES(b.fields[0], 0, 2 * i, 2 * i + 1);
            }
            kn_sample_drop(&b);
        }
        kn_loader_free(l);
        kn_dataset_free(d);
    }
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void test_leaving(void)
{
    slow s = {0};
    kn_dataset d = kn_dataset_make(&slow_type, &s);
    kn_loader l = kn_loader_make(d, &(kn_loader_args){.batch_size = 2, .workers = 4, .prefetch = 6});
    kn_sample b;
    CHECK(kn_loader_next(l, &b) == KN_OK);
    kn_sample_drop(&b);
    nanosleep(&(struct timespec){0, 100000000}, NULL);
    /* One batch was taken: no more than the six behind it are made, however long nobody takes another. */
    CHECK(__atomic_load_n(&s.gets, __ATOMIC_RELAXED) <= 14);
    double before = seconds();
    kn_loader_free(l);
    CHECK(seconds() - before < 2);
    int64_t gets = __atomic_load_n(&s.gets, __ATOMIC_RELAXED);
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    CHECK(__atomic_load_n(&s.gets, __ATOMIC_RELAXED) == gets); /* nobody works any more */
    l = kn_loader_make(d, &(kn_loader_args){.batch_size = 2, .workers = 4});
    kn_loader_free(l); /* at once, with everything under way */
    kn_dataset_free(d);
}

static void test_arguments(void)
{
    kn_dataset d = sentences();
    CHECK(!kn_loader_make(NULL, NULL) && strstr(kn_last_error(), "the data set is NULL"));
    CHECK(!kn_loader_make(d, &(kn_loader_args){.batch_size = -1}) &&
          strstr(kn_last_error(), "batch_size -1"));
    CHECK(!kn_loader_make(d, &(kn_loader_args){.workers = 1000}) && strstr(kn_last_error(), "workers 1000"));
    CHECK(!kn_loader_make(d, &(kn_loader_args){.shard = 2, .shards = 2}) &&
          strstr(kn_last_error(), "shard 2 of 2"));
    kn_dataset none = kn_dataset_slice(d, 0, 0);
    kn_loader l = kn_loader_make(none, &(kn_loader_args){.workers = 2, .shuffle = true});
    kn_sample b;
    CHECK(kn_loader_length(l) == 0 && kn_loader_next(l, &b) == KN_OK && b.n == 0);
    kn_loader_free(l);
    kn_dataset_free(none);
    kn_dataset_free(d);
}

static void test_null(void)
{
    kn_sample b;
    kn_state s = kn_state_make();
    int64_t epoch = 0, batch = 0;
    CHECK_ERROR(kn_loader_next(NULL, &b), "kn_loader_next: the loader is NULL");
    CHECK_ERROR(kn_loader_seek(NULL, 0, 0), "kn_loader_seek: the loader is NULL");
    CHECK_ERROR(kn_loader_save(NULL, s, ""), "kn_loader_save: the loader is NULL");
    CHECK_ERROR(kn_loader_load(NULL, s, ""), "kn_loader_load: the loader is NULL");
    CHECK(!kn_loader_slice(NULL, 0, 1) && strstr(kn_last_error(), "kn_loader_slice: the loader is NULL"));
    CHECK(!kn_loader_split(NULL, 0, 1, NULL) &&
          strstr(kn_last_error(), "kn_loader_split: the loader is NULL"));
    kn_loader_position(NULL, &epoch, &batch);
    CHECK(epoch == -1 && batch == -1);
    kn_state_free(s);
}

/* Batches belong to the device asked for, and no tape records them. */
static void test_device(void)
{
    kn_device tape = kn_device_open("autodiff(cpu)");
    kn_dataset d = images();
    for (int workers = 0; workers < 2; workers++) {
        kn_loader l =
            kn_loader_make(d, &(kn_loader_args){.batch_size = 4, .workers = workers, .device = tape});
        kn_sample b;
        CHECK(kn_loader_next(l, &b) == KN_OK && kn_device_of(b.fields[0]) == tape &&
              kn_device_of(b.fields[1]) == tape);
        kn_sample_drop(&b);
        kn_loader_free(l);
    }
    kn_dataset_free(d);
    kn_device_close(tape);
}

int main(void)
{
    test_workers();
    test_order();
    test_resume();
    test_keys();
    test_padding();
    test_failures();
    test_leaving();
    test_arguments();
    test_null();
    test_device();
    CHECK(kn_shutdown() == 0);
    CHECK(kn_memory_stats().bytes_now == 0);
    return check_report();
}
