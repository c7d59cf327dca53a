/* Data sets in memory and transforms of them: what is chosen, in which order, under which keys. */
#include "support/check.h"
#include <kn/data.h>
#include <math.h>
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

static kn_dataset counting(int64_t n)
{
    return kn_dataset_tensors((kn_tensor[]){kn_arange(0, (double)n, 1, KN_I64)}, 1);
}

static int64_t value(kn_dataset d, int64_t i)
{
    kn_sample s;
    if (kn_dataset_get(d, i, &s) != KN_OK) return -1;
    int64_t v = kn_item_int(s.fields[0]);
    kn_sample_drop(&s);
    return v;
}

static void test_memory(void)
{
    kn_tensor x = kn_own(kn_reshape(kn_arange(0, 12, 1, KN_F32), KN_SHAPE(3, 2, 2)));
    kn_dataset d = kn_dataset_tensors((kn_tensor[]){x, kn_arange(0, 3, 1, KN_I64)}, 2);
    kn_sample s;
    CHECK(kn_dataset_length(d) == 3 && kn_dataset_get(d, 1, &s) == KN_OK && s.n == 2);
    CHECK_VALUES(s.fields[0], 0, 4, 5, 6, 7);
    CHECK(kn_rank(s.fields[1]) == 0 && kn_item_int(s.fields[1]) == 1);
    kn_sample_drop(&s);
    const int64_t some[] = {2, 0};
    CHECK(kn_dataset_get_many(d, some, 2, NULL, &s) == KN_OK);
    CHECK_VALUES(s.fields[0], 0, 8, 9, 10, 11, 0, 1, 2, 3);
    CHECK_VALUES(s.fields[1], 0, 2, 0);
    kn_sample_drop(&s);
    CHECK_ERROR(kn_dataset_get_many(d, (const int64_t[]){3}, 1, NULL, &s), "sample 3");
    kn_dataset copy = kn_dataset_cache(d);
    kn_dataset_free(d);
    CHECK(kn_dataset_get(copy, 2, &s) == KN_OK && kn_item_int(s.fields[1]) == 2);
    kn_sample_drop(&s);
    kn_dataset_free(copy);
    CHECK(kn_ok(x)); /* the caller's own tensor is untouched */
    kn_drop(x);
    CHECK(!kn_dataset_tensors((kn_tensor[]){kn_ones(KN_SHAPE(2), KN_F32), kn_ones(KN_SHAPE(3), KN_F32)}, 2));
    CHECK(strstr(kn_last_error(), "field 1 has 3 rows along axis 0, field 0 has 2") != NULL);
}

static void test_fake(void)
{
    kn_fake_field fields[] = {{KN_F32, KN_SHAPE(4), 0, 0}, {KN_I64, KN_SCALAR_SHAPE, 3, 6}};
    kn_dataset a = kn_dataset_fake(50, fields, 2, 7), b = kn_dataset_fake(50, fields, 2, 7);
    int64_t seen = 0;
    for (int i = 0; i < 50; i++) {
        kn_sample s, t;
        float x[4], y[4];
        CHECK(kn_dataset_get(a, i, &s) == KN_OK && kn_dataset_get(b, i, &t) == KN_OK);
        CHECK(kn_read(s.fields[0], x, sizeof x) == KN_OK && kn_read(t.fields[0], y, sizeof y) == KN_OK);
        CHECK(!memcmp(x, y, sizeof x) && x[0] >= 0 && x[0] < 1 && x[0] != x[1]);
        int64_t v = kn_item_int(s.fields[1]);
        CHECK(v >= 3 && v < 6);
        seen |= 1 << v;
        kn_sample_drop(&s);
        kn_sample_drop(&t);
    }
    CHECK(seen == 0x38);
    kn_dataset_free(a);
    kn_dataset_free(b);
}

/* Batches of data sets that choose from others, which ask the inner one for many at once. */
static void test_many_of_choices(void)
{
    kn_dataset d = counting(10), chosen = kn_dataset_select(d, (const int64_t[]){7, 3, 5}, 3);
    kn_dataset part = kn_dataset_slice(d, 4, 7);
    int64_t *some = malloc(2 * sizeof *some); /* without a byte behind it, which a sanitizer guards */
    kn_sample s;
    some[0] = 2, some[1] = 0;
    CHECK(kn_dataset_get_many(chosen, some, 2, NULL, &s) == KN_OK);
    CHECK_VALUES(s.fields[0], 0, 5, 7);
    kn_sample_drop(&s);
    CHECK(kn_dataset_get_many(part, some, 2, NULL, &s) == KN_OK);
    CHECK_VALUES(s.fields[0], 0, 6, 4);
    kn_sample_drop(&s);
    free(some);
    kn_dataset_free(chosen);
    kn_dataset_free(part);
    kn_dataset_free(d);
}

static void test_choices(void)
{
    kn_dataset d = counting(10);
    kn_dataset part = kn_dataset_slice(d, 3, 6), chunk = kn_dataset_chunk(d, 2, 3);
    CHECK(kn_dataset_length(part) == 3 && value(part, 0) == 3 && value(part, 2) == 5);
    CHECK(kn_dataset_length(chunk) == 4 && value(chunk, 0) == 6);
    kn_dataset both = kn_dataset_compose((const kn_dataset[]){part, chunk}, 2);
    CHECK(kn_dataset_length(both) == 7 && value(both, 2) == 5 && value(both, 3) == 6);
    kn_dataset chosen = kn_dataset_select(d, (const int64_t[]){-1, 0, 0}, 3);
    CHECK(value(chosen, 0) == 9 && value(chosen, 2) == 0);
    CHECK(!kn_dataset_select(d, (const int64_t[]){10}, 1) &&
          strstr(kn_last_error(), "index 10 of a data set of 10"));
    kn_dataset parts[3], none[2];
    CHECK(kn_dataset_split(d, (const double[]){0.8, 0.1, 0.1}, 3, parts) == KN_OK);
    CHECK(kn_dataset_length(parts[0]) == 8 && kn_dataset_length(parts[1]) == 1 && value(parts[2], 0) == 9);
    CHECK_ERROR(kn_dataset_split(d, (const double[]){0.8, 0.3}, 2, none), "sum to at most 1");
    for (int i = 0; i < 3; i++) kn_dataset_free(parts[i]);
    CHECK(kn_dataset_split(d, (const double[]){0, 1}, 2, none) == KN_OK); /* a part may be empty */
    CHECK(kn_dataset_length(none[0]) == 0 && kn_dataset_length(none[1]) == 10);
    for (int i = 0; i < 2; i++) kn_dataset_free(none[i]);
    CHECK(kn_dataset_split(d, (const double[]){0.3}, 1, none) == KN_OK && kn_dataset_length(none[0]) == 3);
    kn_dataset_free(none[0]);
    kn_dataset_free(both);
    kn_dataset_free(part);
    kn_dataset_free(chunk);
    kn_dataset_free(chosen);
    kn_dataset_free(d);
}

static void test_split_frees(void)
{
    kn_dataset d = counting(4), parts[2];
    CHECK(kn_dataset_split(d, (const double[]){0.5, 0.5}, 2, parts) == KN_OK);
    kn_dataset_free(d); /* the parts hold it */
    CHECK(value(parts[1], 1) == 3);
    kn_dataset_free(parts[0]);
    kn_dataset_free(parts[1]);
    CHECK(!kn_dataset_slice(NULL, 0, 1) && !kn_dataset_shuffle(NULL, 1));
}

/* A data set that was freed takes no memory: what malloc has given out stays the same. */
static void test_free_is_whole(void)
{
#ifdef __GLIBC__
    kn_dataset d = counting(4);
    size_t before = mallinfo2().uordblks;
    for (int i = 0; i < 1000; i++) kn_dataset_free(kn_dataset_slice(d, 0, 2));
    CHECK(mallinfo2().uordblks < before + 1000);
    kn_dataset_free(d);
#endif
}

/* A text that was read and dropped takes no memory either. */
static void test_texts_are_freed(void)
{
#ifdef __GLIBC__
    kn_dataset d = kn_dataset_text_folder("tests/data/texts");
    kn_sample s;
    size_t before = 0;
    for (int i = 0; i < 1000; i++) {
        CHECK(kn_dataset_get(d, 0, &s) == KN_OK);
        kn_sample_drop(&s);
        if (i == 9) before = mallinfo2().uordblks;
    }
    CHECK(mallinfo2().uordblks < before + 10000);
    kn_dataset_free(d);
#endif
}

static void test_shuffle_and_sample(void)
{
    kn_dataset d = counting(100), a = kn_dataset_shuffle(d, 1), b = kn_dataset_shuffle(d, 2);
    int seen[100] = {0}, same = 0, still = 0;
    for (int i = 0; i < 100; i++) {
        seen[value(a, i)]++;
        same += value(a, i) == value(b, i);
        still += value(a, i) == i;
    }
    for (int i = 0; i < 100; i++) CHECK(seen[i] == 1);
    CHECK(same < 10 && still < 10);
    kn_dataset twice = kn_dataset_sample(d, &(kn_sample_args){.ratio = 2.5, .seed = 3});
    CHECK(kn_dataset_length(twice) == 250);
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < 200; i++) seen[value(twice, i)]++;
    for (int i = 0; i < 100; i++) CHECK(seen[i] == 2);
    kn_dataset drawn = kn_dataset_sample(d, &(kn_sample_args){.replacement = true, .size = 300, .seed = 3});
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < 300; i++) seen[value(drawn, i)]++;
    int missing = 0;
    for (int i = 0; i < 100; i++) missing += seen[i] == 0;
    CHECK(missing > 0 && missing < 20); /* about 100 / e^3 = 5 */
    static const double ratios[] = {-1, 1e300, __builtin_inf(), __builtin_nan("")};
    for (int i = 0; i < 4; i++)
        CHECK(!kn_dataset_sample(d, &(kn_sample_args){.ratio = ratios[i]}) &&
              strstr(kn_last_error(), "a ratio of"));
    kn_dataset_free(a);
    kn_dataset_free(b);
    kn_dataset_free(twice);
    kn_dataset_free(drawn);
    kn_dataset_free(d);
}

static void test_windows(void)
{
    kn_dataset d = counting(7), w = kn_dataset_window(d, 3, 2), none = kn_dataset_window(d, 8, 0);
    kn_sample s;
    CHECK(kn_dataset_length(w) == 3 && kn_dataset_length(none) == 0);
    CHECK(kn_dataset_get(w, 2, &s) == KN_OK);
    CHECK_VALUES(s.fields[0], 0, 4, 5, 6);
    kn_sample_drop(&s);
    CHECK(!kn_dataset_window(d, 0, 1) && strstr(kn_last_error(), "size 0"));
    kn_dataset_free(w);
    kn_dataset_free(none);
    kn_dataset_free(d);
}

/* ---- maps and keys */

static kn_status add_noise(void *context, const kn_sample_key *key, kn_sample *sample)
{
    double scale = *(double *)context;
    kn_tensor x = kn_cast(sample->fields[0], KN_F64);
    return kn_sample_replace(sample, 0, kn_add_scalar(x, scale * kn_key_uniform(key, 0)));
}

static kn_status fail_at_three(void *context, const kn_sample_key *key, kn_sample *sample)
{
    (void)context;
    if (key->index == 3) return kn_sample_replace(sample, 5, KN_NONE);
    return KN_OK;
}

static double noisy(kn_dataset d, int64_t i, const kn_sample_key *key)
{
    kn_sample s;
    if (kn_dataset_get_keyed(d, i, key, &s) != KN_OK) return -1;
    double v = kn_item(s.fields[0]);
    kn_sample_drop(&s);
    return v;
}

static void test_maps(void)
{
    double one = 1, big = 1000;
    kn_dataset d = counting(10), m = kn_dataset_map(d, add_noise, &one),
               mm = kn_dataset_map(m, add_noise, &big);
    kn_sample_key key = {1, 2, 3}, later = {1, 3, 3}, other = {2, 2, 3};
    CHECK(noisy(m, 4, &key) == noisy(m, 4, &key));
    CHECK(noisy(m, 4, &key) != noisy(m, 4, &later) && noisy(m, 4, &key) != noisy(m, 4, &other));
    /* The second map's numbers are not the first one's. */
    double outer = noisy(mm, 0, &key), u = kn_key_uniform(&key, 0);
    CHECK(outer - 1000 * u >= 0 && outer - 1000 * u < 1 && outer - 1000 * u != u);
    CHECK(kn_key_below(&key, 1, 10) < 10 && kn_key_below(&key, 1, 0) == 0);
    kn_dataset f = kn_dataset_map(d, fail_at_three, NULL);
    kn_sample s;
    CHECK(kn_dataset_get(f, 2, &s) == KN_OK);
    kn_sample_drop(&s);
    CHECK_ERROR(kn_dataset_get(f, 3, &s), "field 5 of a sample with 1");
    CHECK(s.n == 0);
    kn_dataset_free(f);
    kn_dataset_free(mm);
    kn_dataset_free(m);
    kn_dataset_free(d);
}

/* ---- images */

static void test_augment(void)
{
    kn_tensor x = kn_cast(kn_reshape(kn_arange(0, 18, 1, KN_F32), KN_SHAPE(2, 1, 3, 3)), KN_U8);
    kn_dataset d = kn_dataset_tensors(&x, 1);
    kn_dataset flip = kn_dataset_augment(d, &(kn_augment_args){.flip_horizontal = 1});
    kn_sample s;
    CHECK(kn_dataset_get(flip, 1, &s) == KN_OK && kn_dtype_of(s.fields[0]) == KN_U8);
    CHECK_VALUES(s.fields[0], 0, 11, 10, 9, 14, 13, 12, 17, 16, 15);
    kn_sample_drop(&s);
    kn_dataset upside = kn_dataset_augment(d, &(kn_augment_args){.flip_vertical = 1});
    CHECK(kn_dataset_get(upside, 0, &s) == KN_OK);
    CHECK_VALUES(s.fields[0], 0, 6, 7, 8, 3, 4, 5, 0, 1, 2);
    kn_sample_drop(&s);
    /* A shift of one pixel moves the value 4 from the centre to one of nine places, all of which occur; the rest is filled. */
    kn_dataset shift =
        kn_dataset_augment(d, &(kn_augment_args){.shift_rows = 1, .shift_columns = 1, .fill = 99});
    int places = 0;
    for (int e = 0; e < 60; e++) {
        uint8_t got[9];
        kn_sample_key key = {5, e, 0};
        CHECK(kn_dataset_get_keyed(shift, 0, &key, &s) == KN_OK && kn_read(s.fields[0], got, 9) == KN_OK);
        kn_sample_drop(&s);
        for (int i = 0; i < 9; i++)
            if (got[i] == 4) {
                places |= 1 << i;
                int dy = i / 3 - 1, dx = i % 3 - 1;
                for (int y = 0; y < 3; y++)
                    for (int c = 0; c < 3; c++) {
                        bool inside = y - dy >= 0 && y - dy < 3 && c - dx >= 0 && c - dx < 3;
                        CHECK(got[y * 3 + c] == (inside ? (y - dy) * 3 + c - dx : 99));
                    }
            }
    }
    CHECK(places == 0x1ff);
    kn_dataset_free(flip);
    kn_dataset_free(upside);
    kn_dataset_free(shift);
    kn_dataset_free(d);
}

/* Flips and crops of an image that is not square: each of the four flips and each of the 3 x 6 places of a crop occurs, all of
   them together, and the pixels are those of that place. */
static void test_flips_and_crops(void)
{
    enum { H = 5, W = 9, CH = 3, CW = 4, FLIPS = 4, PLACES = (H - CH + 1) * (W - CW + 1) };
    kn_tensor x = kn_cast(kn_reshape(kn_arange(0, H * W, 1, KN_F32), KN_SHAPE(1, 1, H, W)), KN_U8);
    kn_dataset d = kn_dataset_tensors(&x, 1);
    kn_augment_args args = {
        .flip_vertical = 0.5, .flip_horizontal = 0.5, .crop_height = CH, .crop_width = CW};
    kn_dataset changed = kn_dataset_augment(d, &args);
    bool met[FLIPS][PLACES] = {{false}};
    int all = 0, wrong = 0;
    for (int e = 0; e < 1000; e++) {
        uint8_t got[CH * CW];
        kn_sample s;
        kn_sample_key key = {7, e, 0};
        CHECK(kn_dataset_get_keyed(changed, 0, &key, &s) == KN_OK &&
              kn_read(s.fields[0], got, sizeof got) == KN_OK);
        kn_sample_drop(&s);
        bool down = got[CW] > got[0], right = got[1] > got[0];
        int top = (down ? got[0] : got[(CH - 1) * CW]) / W, left = (right ? got[0] : got[CW - 1]) % W;
        for (int y = 0; y < CH; y++)
            for (int c = 0; c < CW; c++) {
                int sy = top + (down ? y : CH - 1 - y), sx = left + (right ? c : CW - 1 - c);
                wrong += got[y * CW + c] != sy * W + sx;
            }
        if (top > H - CH || left > W - CW) wrong++;
        if (wrong) break;
        bool *seen = &met[2 * down + right][top * (W - CW + 1) + left];
        all += !*seen;
        *seen = true;
    }
    CHECK(wrong == 0 && all == FLIPS * PLACES);
    kn_dataset_free(changed);
    kn_dataset_free(d);
}

/* A batch at once gives the samples one by one, for every kind of change. */
static void test_augment_batches(void)
{
    kn_fake_field field = {KN_F32, KN_SHAPE(2, 6, 5), 0, 1};
    kn_dataset fake = kn_dataset_fake(8, &field, 1, 3), memory = kn_dataset_cache(fake);
    const int64_t all[] = {0, 1, 2, 3, 4, 5, 6, 7};
    kn_sample batch;
    CHECK(kn_dataset_get_many(memory, all, 8, NULL, &batch) == KN_OK);
    kn_dataset rows = kn_dataset_tensors(batch.fields, 1);
    kn_dataset changed = kn_dataset_augment(rows, &(kn_augment_args){.rotate = 30,
                                                                     .zoom = 0.2,
                                                                     .shift_rows = 2,
                                                                     .flip_vertical = 0.5,
                                                                     .flip_horizontal = 0.5,
                                                                     .crop_height = 4,
                                                                     .crop_width = 3});
    kn_sample_key keys[8];
    float many[8][24], one[24];
    kn_sample s;
    for (int i = 0; i < 8; i++) keys[i] = (kn_sample_key){4, 1, i};
    kn_sample_drop(&batch);
    CHECK(kn_dataset_get_many(changed, all, 8, keys, &batch) == KN_OK && kn_size(batch.fields[0], 2) == 4);
    CHECK(kn_read(batch.fields[0], many, sizeof many) == KN_OK);
    for (int i = 0; i < 8; i++) {
        CHECK(kn_dataset_get_keyed(changed, i, &keys[i], &s) == KN_OK &&
              kn_read(s.fields[0], one, sizeof one) == KN_OK);
        CHECK(!memcmp(one, many[i], sizeof one));
        kn_sample_drop(&s);
    }
    kn_sample_drop(&batch);
    kn_dataset turned = kn_dataset_augment(rows, &(kn_augment_args){.crop_height = 9, .crop_width = 3});
    CHECK_ERROR(kn_dataset_get(turned, 0, &s), "a part of 3 x 9 of an image of 5 x 6");
    CHECK(!kn_dataset_augment(rows, &(kn_augment_args){.zoom = 1}) && strstr(kn_last_error(), "zoom"));
    kn_dataset_free(turned);
    kn_dataset_free(changed);
    kn_dataset_free(rows);
    kn_dataset_free(memory);
    kn_dataset_free(fake);
}

static void test_normalise(void)
{
    kn_tensor x = kn_cast(
        kn_reshape(kn_from((const float[]){0, 255, 51, 102}, KN_F32, KN_SHAPE(4)), KN_SHAPE(1, 2, 1, 2)),
        KN_U8);
    kn_dataset d = kn_dataset_tensors(&x, 1);
    kn_dataset n = kn_dataset_normalise(d, (const double[]){0.5, 0.2}, (const double[]){0.5, 0.1}, 2);
    kn_sample s;
    CHECK(kn_dataset_get(n, 0, &s) == KN_OK);
    CHECK_VALUES(s.fields[0], 1e-6, -1, 1, 0, 2);
    kn_sample_drop(&s);
    CHECK(kn_dataset_get_many(n, (const int64_t[]){0}, 1, NULL, &s) == KN_OK && kn_rank(s.fields[0]) == 4);
    CHECK_VALUES(s.fields[0], 1e-6, -1, 1, 0, 2);
    kn_sample_drop(&s);
    kn_dataset_free(n);
    kn_dataset_free(d);
}

/* From 1 channel to 65536, no fewer and no more. */
static void test_normalised_channels(void)
{
    enum { MOST = 1 << 16 };
    kn_tensor x = kn_full(KN_SHAPE(1, MOST, 1, 1), 51, KN_U8);
    double *mean = calloc(MOST + 1, sizeof *mean);
    kn_dataset d = kn_dataset_tensors(&x, 1), n = kn_dataset_normalise(d, mean, NULL, MOST);
    kn_sample s;
    if (CHECK(n && kn_dataset_get(n, 0, &s) == KN_OK)) {
        CHECK(fabs(kn_item(kn_mean(s.fields[0], KN_AXES_ALL, false)) - 0.2) < 1e-6);
        kn_sample_drop(&s);
    }
    kn_dataset_free(n);
    static const int32_t wrong[] = {-1, 0, MOST + 1};
    for (int i = 0; i < 3; i++)
        CHECK_ERROR(kn_dataset_normalise(d, mean, NULL, wrong[i]) ? KN_OK : KN_ERROR_ARGUMENT, " channels");
    kn_dataset_free(d);
    free(mean);
}

int main(void)
{
    test_memory();
    test_fake();
    test_choices();
    test_many_of_choices();
    test_split_frees();
    test_free_is_whole();
    test_texts_are_freed();
    test_shuffle_and_sample();
    test_windows();
    test_maps();
    test_augment();
    test_flips_and_crops();
    test_augment_batches();
    test_normalise();
    test_normalised_channels();
    CHECK(kn_shutdown() == 0);
    CHECK(kn_memory_stats().bytes_now == 0);
    return check_report();
}
