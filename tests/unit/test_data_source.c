/* Sources of data: images, masks, boxes, idx, CIFAR, texts and sounds; and what broken files are answered with. */
#define _GNU_SOURCE
#include "data/data_image.h"
#include "data/data_internal.h"
#include "support/check.h"
#include "support/checksum.h"
#include <kn/data.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *scratch = "test_data_source.tmp";

static bool write_scratch(const void *data, size_t n)
{
    FILE *f = fopen(scratch, "wb");
    bool good = f && fwrite(data, 1, n, f) == n;
    if (f) fclose(f);
    return good;
}

static size_t read_file(const char *path, uint8_t *data, size_t room)
{
    FILE *f = fopen(path, "rb");
    size_t n = f ? fread(data, 1, room, f) : 0;
    if (f) fclose(f);
    return n;
}

#define CHECK_REFUSED(dataset, words) check_refused(dataset, words, __FILE__, __LINE__)
static void check_refused(kn_dataset d, const char *words, const char *file, int line)
{
    bool good = !d && strstr(kn_last_error(), words);
    if (!good)
        printf("%s:%d: wanted '%s', got '%s'\n", file, line, words, d ? "a data set" : kn_last_error());
    check_that(good, "refused", file, line);
    kn_dataset_free(d);
}

/* Cut to every length but those that only lose the last `spare` bytes, a file gives an error, never a crash. */
static bool refuses_cuts(const char *path, size_t spare, kn_tensor (*decode)(const void *data, size_t n))
{
    static uint8_t data[4096];
    size_t n = read_file(path, data, sizeof data);
    bool all = n > spare;
    for (size_t i = 0; i < n; i++) {
        uint8_t *exact = malloc(i ? i : 1); /* so that a sanitizer sees a read behind the end */
        memcpy(exact, data, i);
        kn_tensor t = decode(exact, i);
        if (kn_ok(t) && i < n - spare) {
            printf("%s: accepted when cut to %zu of %zu\n", path, i, n);
            all = false;
        }
        kn_drop(t);
        free(exact);
    }
    return all;
}

static kn_tensor decode_image(const void *data, size_t n) { return kn_image_decode(data, n, "x.png", NULL); }
static kn_tensor decode_wav(const void *data, size_t n) { return kn_wav_decode(data, n, "x.wav", NULL); }
static kn_tensor decode_idx(const void *data, size_t n)
{
    return write_scratch(data, n) ? kn_idx_read(scratch) : KN_NONE;
}

static void test_images(void)
{
    kn_dataset d = kn_dataset_image_folder("tests/data/images", NULL);
    CHECK(kn_dataset_length(d) == 4 && !strcmp(kn_dataset_name_at(d, 0), "cat") &&
          !strcmp(kn_dataset_name_at(d, 1), "dog"));
    kn_sample s;
    CHECK(kn_dataset_get(d, 1, &s) == KN_OK && s.n == 2 && kn_item_int(s.fields[1]) == 0);
    CHECK_VALUES(s.fields[0], 0, 0, 10, 20, 30, 0, 10, 20, 30, 0, 10, 20, 30, 0, 0, 0, 0, 20, 20, 20, 20, 40,
                 40, 40, 40, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2);
    CHECK(kn_rank(s.fields[0]) == 3 && kn_size(s.fields[0], 1) == 3 && kn_size(s.fields[0], 2) == 4);
    kn_sample_drop(&s);
    CHECK(kn_dataset_get(d, 2, &s) == KN_OK && kn_size(s.fields[0], 0) == 3 && kn_item_int(s.fields[1]) == 1);
    kn_sample_drop(&s);
    /* A JPEG of one colour at full quality is that colour within a step. */
    CHECK(kn_dataset_get(d, 3, &s) == KN_OK && kn_size(s.fields[0], 1) == 8 && kn_size(s.fields[0], 2) == 16);
    if (s.n) CHECK_VALUES(kn_mean(kn_cast(s.fields[0], KN_F32), KN_AXES(1, 2), false), 0.02, 200, 100, 50);
    kn_sample_drop(&s);
    kn_dataset_free(d);
    d = kn_dataset_image_folder("tests/data/images",
                                &(kn_image_args){.channels = 1, .height = 6, .width = 2});
    CHECK(kn_dataset_get(d, 2, &s) == KN_OK && kn_size(s.fields[0], 0) == 1 && kn_size(s.fields[0], 1) == 6);
    kn_sample_drop(&s);
    kn_dataset_free(d);
    CHECK_REFUSED(kn_dataset_image_folder("tests/data/idx", NULL), "tests/data/idx: no files in subfolders");
    CHECK_REFUSED(kn_dataset_image_folder("no/such", NULL), "no/such");
    CHECK_REFUSED(kn_dataset_image_folder("tests/data/images", &(kn_image_args){.channels = 2}),
                  "channels must be 1 or 3");
}

/* Pictures of two to four pixels and what PIL gives for them (it clips 16 bits of grey, which is not done here). */
static void test_picture_values(void)
{
#define COLOURS                                                                                              \
    {                                                                                                        \
        200, 100, 50, 10, 20, 30                                                                             \
    }
    static const struct {
        const char *name;
        int64_t pixels;
        int32_t channels; /* of the file */
        double values[12];
        double grey[4];
    } pictures[] = {
        {"grey1.png", 4, 1, {0, 255, 255, 0}, {0}},
        {"grey2.png", 4, 1, {0, 85, 170, 255}, {0}},
        {"grey4.png", 2, 1, {51, 204}, {0}},
        {"grey8_clear.png", 2, 1, {128, 7}, {0}},
        {"grey16.png", 3, 1, {128, 128, 127}, {0}},
        {"grey_alpha8.png", 2, 1, {128, 200}, {0}},
        {"grey_alpha16.png", 2, 1, {128, 200}, {0}},
        {"interlaced.png", 3, 1, {11, 12, 13}, {0}},
        {"rgb8_clear.png", 2, 3, COLOURS, {124, 18}},
        {"rgb8_gamma.png", 2, 3, COLOURS, {124, 18}},
        {"rgb16.png", 2, 3, COLOURS, {124, 18}},
        {"rgb16_srgb.png", 2, 3, COLOURS, {124, 18}},
        {"rgba8.png", 2, 3, COLOURS, {124, 18}},
        {"rgba16.png", 2, 3, COLOURS, {124, 18}},
        {"palette1.png", 2, 3, COLOURS, {124, 18}},
        {"palette2.png", 4, 3, {200, 100, 50, 10, 20, 30, 0, 0, 0, 255, 255, 255}, {124, 18, 0, 255}},
        {"palette8.png", 2, 3, COLOURS, {124, 18}}};
    for (size_t i = 0; i < sizeof pictures / sizeof *pictures; i++)
        for (int32_t channels = 1; channels <= 3; channels += 2) {
            char path[100];
            uint8_t got[12] = {0};
            snprintf(path, sizeof path, "tests/data/pictures/%s", pictures[i].name);
            int64_t n = pictures[i].pixels;
            kn_tensor t = kn_image_read(path, &(kn_image_args){.channels = channels});
            bool good =
                kn_ok(t) && kn_count(t) == n * channels && kn_read(t, got, (size_t)(n * channels)) == KN_OK;
            for (int64_t p = 0; p < n; p++)
                for (int32_t c = 0; c < channels; c++) {
                    double want = pictures[i].channels == 1 ? pictures[i].values[p]
                                  : channels == 1           ? pictures[i].grey[p]
                                                            : pictures[i].values[3 * p + c];
                    good = good && got[c * n + p] == want;
                }
            if (!good) printf("%s with %d channels differs: %s\n", path, (int)channels, kn_last_error());
            CHECK(good);
            kn_drop(t);
        }
#undef COLOURS
}

/* JPEGs of four inks: 8 x 8 pixels of one colour, computed by hand from the components that are in the file. */
static void test_four_inks(void)
{
    static const struct {
        const char *path;
        double rgb[3], grey;
    } files[] = {{"tests/data/pictures/cmyk.jpg", {173, 104, 35}, 117},
                 {"tests/data/pictures/ycck.jpg", {95, 142, 192}, 134}};
    for (int i = 0; i < 2; i++) {
        kn_tensor t = kn_keep(kn_image_read(files[i].path, NULL));
        CHECK(kn_ok(t) && kn_size(t, 0) == 3 && kn_size(t, 1) == 8 && kn_size(t, 2) == 8);
        CHECK_VALUES(kn_min(t, KN_AXES(1, 2), false), 0, files[i].rgb[0], files[i].rgb[1], files[i].rgb[2]);
        CHECK_VALUES(kn_max(t, KN_AXES(1, 2), false), 0, files[i].rgb[0], files[i].rgb[1], files[i].rgb[2]);
        kn_drop(t);
        t = kn_keep(kn_image_read(files[i].path, &(kn_image_args){.channels = 1}));
        CHECK(kn_ok(t) && kn_count(t) == 64);
        CHECK_VALUES(kn_min(t, KN_AXES(0, 1, 2), false), 0, files[i].grey);
        CHECK_VALUES(kn_max(t, KN_AXES(0, 1, 2), false), 0, files[i].grey);
        kn_drop(t);
        CHECK(refuses_cuts(files[i].path, 0, decode_image));
    }
}

static void test_resize(void)
{
    static uint8_t data[4096];
    size_t n = read_file("tests/data/images/dog/c.png", data, sizeof data);
    kn_tensor t = kn_image_decode(data, n, "c.png", &(kn_image_args){.channels = 1, .height = 3, .width = 4});
    CHECK_VALUES(t, 0, 0, 50, 100, 200, 0, 50, 100, 200, 0, 50, 100, 200);
    kn_drop(t);
    /* Triangles of half width 2 around 0.5 and 2.5: weights 3/4, 3/4, 1/4 (and 0 at the distance of 2). */
    t = kn_image_decode(data, n, "c.png", &(kn_image_args){.channels = 1, .height = 1, .width = 2});
    CHECK_VALUES(t, 0, 36, 136);
    kn_drop(t);
}

static void test_broken_images(void)
{
    /* The end chunk holds no pixels: libpng reads an image without it. */
    CHECK(refuses_cuts("tests/data/images/cat/a.png", 12, decode_image));
    CHECK(refuses_cuts("tests/data/images/dog/d.jpg", 0, decode_image));
    CHECK_POISON(kn_image_read("tests/data/people.csv", NULL),
                 "tests/data/people.csv: neither a PNG nor a JPEG");
    CHECK_POISON(kn_image_read("none.png", NULL), "none.png");
    static uint8_t data[4096];
    size_t n = read_file("tests/data/images/cat/a.png", data, sizeof data);
    data[45] ^= 0x55;
    CHECK_POISON(kn_image_decode(data, n, "a.png", NULL), "a.png: broken PNG");
    /* A header that promises a million rows in a file of 100 bytes, its checksum being right. */
    static const uint8_t huge[] = {0x89, 'P', 'N', 'G', 13,  10,   26,   10,   0,    0, 0,    13,
                                   'I',  'H', 'D', 'R', 0,   15,   0x42, 0x40, 0,    0, 0x0f, 0xa0,
                                   8,    0,   0,   0,   0,   0xed, 0xb5, 0x9c, 0x4c, 0, 0,    0,
                                   0,    'I', 'D', 'A', 'T', 0x35, 0xaf, 6,    0x1e};
    kn_tensor t = kn_image_decode(huge, sizeof huge, "huge.png", NULL);
    CHECK(!kn_ok(t));
    CHECK(kn_memory_stats().bytes_peak < 1 << 26);
}

static void test_labels_and_masks(void)
{
    static const char *const files[] = {"tests/data/labels.csv", "tests/data/labels.jsonl"};
    for (int i = 0; i < 2; i++) {
        kn_dataset d = kn_dataset_image_labels("tests/data/images", files[i], NULL);
        kn_sample s;
        CHECK(kn_dataset_length(d) == 2 && !strcmp(kn_dataset_name_at(d, 1), "green"));
        CHECK(kn_dataset_get(d, 0, &s) == KN_OK);
        CHECK_VALUES(s.fields[1], 0, 1, 0);
        kn_sample_drop(&s);
        CHECK(kn_dataset_get(d, 1, &s) == KN_OK);
        CHECK_VALUES(s.fields[1], 0, 1, 1);
        kn_sample_drop(&s);
        kn_dataset_free(d);
    }
    CHECK(write_scratch("file,a\nx.png,2\n", 15));
    CHECK_REFUSED(kn_dataset_image_labels("x", scratch, NULL), "row 1, class 'a': 2 is neither 0 nor 1");
    CHECK(write_scratch("file,a\nx.png,1\nx.png,0\n", 23));
    CHECK_REFUSED(kn_dataset_image_labels("x", scratch, NULL), "'x.png' is listed twice");
    static const char quoted[] = "file,\"cat, small\",\"a \"\"b\"\"\"\nx.png,1,0\n";
    CHECK(write_scratch(quoted, sizeof quoted - 1));
    kn_sample s;
    kn_dataset d = kn_dataset_image_labels("x", scratch, NULL);
    CHECK(kn_dataset_length(d) == 1 && !strcmp(kn_dataset_name_at(d, 0), "cat, small"));
    kn_dataset_free(d);
    d = kn_dataset_image_masks("tests/data/images/cat", "tests/data/masks", NULL);
    CHECK(kn_dataset_length(d) == 2 && kn_dataset_get(d, 0, &s) == KN_OK &&
          kn_dtype_of(s.fields[1]) == KN_I64);
    CHECK_VALUES(s.fields[1], 0, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3);
    kn_sample_drop(&s);
    kn_dataset_free(d);
    d = kn_dataset_image_masks("tests/data/images/cat", "tests/data/masks",
                               &(kn_image_args){.height = 1, .width = 2});
    CHECK(kn_dataset_get(d, 0, &s) == KN_OK);
    CHECK_VALUES(s.fields[1], 0, 0, 2); /* nearest: classes are not mixed */
    kn_sample_drop(&s);
    kn_dataset_free(d);
    CHECK_REFUSED(kn_dataset_image_masks("tests/data/images/dog", "tests/data/masks", NULL),
                  "tests/data/masks/c.png: there is no mask");
}

/* The values of the files: palette indices, single bits, and grey in spite of a gAMA chunk; all five filters. */
static void test_raw_masks(void)
{
    static const char *const folders[] = {"tests/data/raw_masks/palette", "tests/data/raw_masks/bits",
                                          "tests/data/raw_masks/gamma", "tests/data/raw_masks/filters"};
    static const int64_t want[][9] = {
        {0, 1, 2, 3, 2, 1, 0, 3, 1}, {0, 1, 0, 1, 1, 0, 1, 0, 1}, {0, 1, 2, 60, 120, 200, 3, 4, 255}};
    for (int i = 0; i < 3; i++) {
        kn_dataset d = kn_dataset_image_masks("tests/data/raw_masks/images", folders[i], NULL);
        kn_sample s;
        int64_t got[9] = {0};
        CHECK(kn_dataset_get(d, 0, &s) == KN_OK && kn_read(s.fields[1], got, sizeof got) == KN_OK);
        CHECK(!memcmp(got, want[i], sizeof got));
        kn_sample_drop(&s);
        kn_dataset_free(d);
    }
    kn_dataset d = kn_dataset_image_masks("tests/data/raw_masks/wide", folders[3], NULL);
    kn_sample s;
    int64_t got[5][4] = {0};
    CHECK(kn_dataset_get(d, 0, &s) == KN_OK && kn_read(s.fields[1], got, sizeof got) == KN_OK);
    for (int y = 0; y < 5; y++)
        for (int x = 0; x < 4; x++) CHECK(got[y][x] == (37 * y + 91 * x * x) % 256);
    kn_sample_drop(&s);
    kn_dataset_free(d);
    d = kn_dataset_image_masks("tests/data/raw_masks/images", "tests/data/raw_masks/images", NULL);
    CHECK_ERROR(kn_dataset_get(d, 0, &s), "a mask must be grey or have a palette");
    kn_dataset_free(d);
    kn_tensor grey = kn_image_read("tests/data/raw_masks/gamma/m.png", &(kn_image_args){.channels = 1});
    CHECK_VALUES(grey, 0, 0, 1, 2, 60, 120, 200, 3, 4, 255);
    kn_drop(grey);
}

/* A grey PNG of one row of two pixels, 7 and 9 before the filter, whose data is stored. */
static size_t png_with_filter(uint8_t out[100], uint8_t filter)
{
    static const uint8_t head[] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\2\0\0\0\1\x08\0\0\0\0CRC."
                                  "\0\0\0\x0eIDAT\x78\x01\1\3\0\xfc\xff";
    const uint8_t row[3] = {filter, 7, 9};
    uint32_t a = 1, b = 0;
    for (int i = 0; i < 3; i++) b += a += row[i];
    size_t n = sizeof head - 1;
    memcpy(out, head, n);
    memcpy(out + n, row, 3);
    const uint8_t tail[] = {(uint8_t)(b >> 8), (uint8_t)b, (uint8_t)(a >> 8), (uint8_t)a, 'C', 'R', 'C', '.'};
    memcpy(out + n + 3, tail, sizeof tail);
    return n + 3 + sizeof tail;
}

/* A row has one of five filters; another number is refused. */
static void test_mask_filters(void)
{
    static const uint8_t want[5][2] = {{7, 9}, {7, 16}, {7, 9}, {7, 12}, {7, 16}};
    uint8_t file[100];
    for (int filter = 0; filter < 256; filter++) {
        kni_image image;
        kn_status s = kni_png_decode_values(file, png_with_filter(file, (uint8_t)filter), "m.png", &image);
        if (filter > 4)
            CHECK_ERROR(s, "m.png: broken PNG: a row has an unknown filter");
        else if (CHECK(s == KN_OK && image.width == 2 && image.height == 1))
            CHECK(!memcmp(image.pixels, want[filter], 2));
        free(image.pixels);
    }
}

/* Names out of files of labels must stay in the folder. */
static void test_paths_stay_inside(void)
{
    static const struct {
        const char *name, *words;
    } names[] = {{"../people.csv", "has a part '..'"},
                 {"cat/../../people.csv", "has a part '..'"},
                 {"cat/..", "has a part '..'"},
                 {"/etc/passwd", "is an absolute path"},
                 {"link/people.csv", "is behind a link"},
                 {"..x/a..b/...png", NULL},
                 {"cat/a.png", NULL},
                 {"inner/a.png", NULL}};
    char folder[] = "kiln-data-XXXXXX", path[200], text[300], here[200];
    if (!CHECK(mkdtemp(folder) != NULL && getcwd(here, sizeof here))) return;
    snprintf(path, sizeof path, "%s/cat", folder);
    CHECK(mkdir(path, 0700) == 0);
    snprintf(text, sizeof text, "%s/tests/data", here);
    snprintf(path, sizeof path, "%s/link", folder);
    CHECK(symlink(text, path) == 0);
    snprintf(path, sizeof path, "%s/inner", folder);
    CHECK(symlink("cat", path) == 0);
    snprintf(path, sizeof path, "%s/cat/a.png", folder);
    FILE *file = fopen(path, "w");
    CHECK(file && fclose(file) == 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int kind = 0; kind < 3; kind++) {
            static const char *const forms[] = {
                "{\"images\": [{\"id\": 1, \"file_name\": \"%s\"}], \"categories\": [], \"annotations\": []}",
                "file,a\n%s,1\n", "{\"file\": \"%s\", \"labels\": [\"a\"]}\n"};
            static const char *const files[] = {"names.json", "names.csv", "names.jsonl"};
            scratch = files[kind];
            int n = snprintf(text, sizeof text, forms[kind], names[i].name);
            CHECK(write_scratch(text, (size_t)n));
            kn_dataset d = kind ? kn_dataset_image_labels(folder, scratch, NULL)
                                : kn_dataset_coco(folder, scratch, NULL);
            if (names[i].words)
                CHECK_REFUSED(d, names[i].words);
            else {
                if (!CHECK(d != NULL)) printf("  %s: %s\n", names[i].name, kn_last_error());
                kn_dataset_free(d);
            }
            unlink(scratch);
        }
    scratch = "test_data_source.tmp";
    snprintf(text, sizeof text, "rm -rf '%s'", folder);
    CHECK(system(text) == 0);
}

static void big_endian(uint8_t *p, uint32_t value)
{
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* 256 million pixels in 40 KB are possible by the format, and refused before there is memory for them. */
static void test_image_bomb(void)
{
    static uint8_t file[40000] = {0x89, 'P', 'N', 'G', 13, 10, 26, 10, 0, 0, 0, 13, 'I', 'H', 'D', 'R'};
    big_endian(file + 16, 16000);
    big_endian(file + 20, 16000);
    file[24] = 8;
    big_endian(file + 29, kni_crc32(0, file + 12, 17));
    big_endian(file + 33, sizeof file - 45);
    memcpy(file + 37, "IDAT", 4);
    CHECK_POISON(kn_image_decode(file, sizeof file, "bomb.png", NULL),
                 "16000 x 16000 pixels in a file of 40000");
}

/* Twenty megabytes of zeros in twenty kilobytes: the packed bytes of an archive with a header of gzip around them. */
static void test_gzip_bomb(void)
{
    static uint8_t zip[1 << 16], file[1 << 16] = {0x1f, 0x8b, 8};
    size_t n = read_file("tests/store/files/numpy_zeros.npz", zip, sizeof zip);
    size_t packed = n < 100 ? 0 : zip[18] | (size_t)zip[19] << 8 | (size_t)zip[20] << 16;
    size_t at = 30 + (size_t)(zip[26] | zip[27] << 8) + (size_t)(zip[28] | zip[29] << 8);
    if (packed > n) packed = n - at - 100; /* the size is in an extra field: its end does not matter here */
    memcpy(file + 10, zip + at, packed);
    CHECK(write_scratch(file, 10 + packed + 8));
    CHECK_POISON(kn_idx_read(scratch), "inflates to more than 16 MB and 32 times its size");
}

static void test_coco(void)
{
    kn_dataset d = kn_dataset_coco("tests/data/images", "tests/data/coco.json",
                                   &(kn_image_args){.height = 6, .width = 4});
    kn_sample s;
    CHECK(kn_dataset_length(d) == 2 && !strcmp(kn_dataset_name_at(d, 0), "ear"));
    CHECK(kn_dataset_get(d, 1, &s) == KN_OK && s.n == 3 && kn_size(s.fields[0], 1) == 6);
    CHECK_VALUES(s.fields[1], 0, 0, 2, 2, 4, 2, 0, 1, 2); /* rows count double */
    CHECK_VALUES(s.fields[2], 0, 1, 0);
    kn_sample_drop(&s);
    kn_dataset_free(d);
    static const char bad[] = "{\"images\": [], \"categories\": [],\n \"annotations\": [{\"image_id\": 1}]}";
    CHECK(write_scratch(bad, sizeof bad - 1));
    CHECK_REFUSED(kn_dataset_coco("x", scratch, NULL),
                  "test_data_source.tmp:2:18: 'image_id' or 'category_id'");
    CHECK(write_scratch("{}", 2));
    CHECK_REFUSED(kn_dataset_coco("x", scratch, NULL), "there is no list 'images'");
}

/* 2^28 pixels are the limit, however large the file is. */
static void test_most_pixels(void)
{
    kni_image image = {.height = 1 << 14, .width = (1 << 14) + 1, .channels = 1};
    CHECK_ERROR(kni_image_allocate(&image, SIZE_MAX / 2, 1, "x.png"), "16385 x 16384 is not possible");
    CHECK(image.pixels == NULL);
    kni_image_free(&image);
}

static void test_idx(void)
{
    kn_tensor t = kn_idx_read("tests/data/idx/train-labels-idx1-ubyte.gz");
    CHECK_VALUES(t, 0, 3, 1, 4);
    kn_drop(t);
    t = kn_idx_read("tests/fuzz/seeds/idx/shorts");
    CHECK(kn_dtype_of(t) == KN_I16);
    CHECK_VALUES(t, 0, -2, 700);
    kn_drop(t);
    CHECK(refuses_cuts("tests/data/idx/train-images-idx3-ubyte", 0, decode_idx));
    CHECK(refuses_cuts("tests/data/idx/train-labels-idx1-ubyte.gz", 0, decode_idx));
    static const uint8_t huge[] = {0, 0, 8, 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1};
    CHECK(write_scratch(huge, sizeof huge));
    CHECK_POISON(kn_idx_read(scratch),
                 "the header promises more than memory can hold, the file has 1 (it is truncated");
    static const uint8_t larger[] = {0, 0, 8, 1, 0, 0, 0, 1, 7, 7};
    CHECK(write_scratch(larger, sizeof larger));
    CHECK_POISON(kn_idx_read(scratch), "the header promises 1 bytes, the file has 2");
    /* Sizes are big-endian: 0x010203 bytes. */
    static uint8_t long_line[8 + 0x010203] = {0, 0, 8, 1, 0, 1, 2, 3};
    CHECK(write_scratch(long_line, sizeof long_line));
    t = kn_idx_read(scratch);
    CHECK(kn_rank(t) == 1 && kn_size(t, 0) == 0x010203);
    kn_drop(t);
    kn_dataset d = kn_dataset_mnist("tests/data/idx", "train");
    kn_sample s;
    CHECK(kn_dataset_length(d) == 3 && kn_dataset_get(d, 1, &s) == KN_OK && kn_rank(s.fields[0]) == 3);
    CHECK_VALUES(s.fields[0], 0, 4, 5, 6, 7);
    CHECK(kn_item_int(s.fields[1]) == 1 && kn_dtype_of(s.fields[1]) == KN_I64);
    kn_sample_drop(&s);
    kn_dataset_free(d);
    CHECK_REFUSED(kn_dataset_mnist("tests/data/idx", "test"), "'kiln data mnist' says where to get it");
    CHECK_REFUSED(kn_dataset_mnist("tests/data/idx", "dev"), "'train' or 'test', not 'dev'");
}

static void test_mnist(void)
{
    kn_dataset d = kn_dataset_mnist("data/mnist", "test");
    kn_sample s;
    CHECK(kn_dataset_length(d) == 10000 && kn_dataset_get(d, 0, &s) == KN_OK);
    CHECK(kn_item_int(s.fields[1]) == 7 && kn_size(s.fields[0], 1) == 28 &&
          !strcmp(kn_dataset_name_at(d, 9), "9"));
    kn_sample_drop(&s);
    kn_dataset_free(d);
}

static void test_cifar(void)
{
    kn_dataset d = kn_dataset_cifar10("tests/data", "train");
    kn_sample s;
    CHECK(kn_dataset_length(d) == 6 && kn_dataset_get(d, 1, &s) == KN_OK && kn_item_int(s.fields[1]) == 2);
    CHECK(kn_size(s.fields[0], 0) == 3 && kn_size(s.fields[0], 2) == 32);
    CHECK(kn_item(kn_max(kn_cast(s.fields[0], KN_F32), KN_AXES_ALL, false)) == 40);
    CHECK(!strcmp(kn_dataset_name_at(d, 2), "bird"));
    kn_sample_drop(&s);
    kn_dataset_free(d);
    d = kn_dataset_cifar100("tests/data/cifar-100-binary", "test");
    CHECK(kn_dataset_get(d, 0, &s) == KN_OK && s.n == 3 && kn_item_int(s.fields[1]) == 99 &&
          kn_item_int(s.fields[2]) == 4);
    kn_sample_drop(&s);
    kn_dataset_free(d);
    CHECK_REFUSED(kn_dataset_cifar10("tests/data/texts", "train"),
                  "tests/data/texts/data_batch_1.bin: there is no such file; 'kiln data cifar10' says");
}

static void test_texts(void)
{
    kn_dataset d = kn_dataset_text_folder("tests/data/texts");
    static const char *const want[] = {"bad, \xc3\xa4h", "good", "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"};
    CHECK(kn_dataset_length(d) == 3 && !strcmp(kn_dataset_name_at(d, 1), "pos"));
    for (int i = 0; i < 3; i++) {
        char got[64] = "";
        kn_sample s;
        CHECK(kn_dataset_get(d, i, &s) == KN_OK &&
              kn_read(s.fields[0], got, (size_t)kn_count(s.fields[0])) == KN_OK);
        CHECK(!strcmp(got, want[i]) && kn_item_int(s.fields[1]) == (i > 0));
        kn_sample_drop(&s);
    }
    kn_dataset_free(d);
}

/* The reader checks every byte of a text, names the line of a bad one, and skips a byte order mark. */
static void test_text_bytes(void)
{
    static const struct {
        const char *text;
        size_t bytes;
        const char *words; /* NULL: it is a text */
    } cases[] = {{"a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80.", 11, NULL},
                 {"\xef\xbb\xbfok", 5, NULL},
                 {"ok\n\n.\xff", 6, "t:3: byte 5 (0xff)"},
                 {"ok\xc3", 3, "t:1: byte 2 (0xc3)"},
                 {"ok\xe2\x82", 4, "byte 2 (0xe2)"},
                 {"\xc3\xa4\xa4", 3, "byte 2 (0xa4)"},
                 {"a\xc1\xbf", 3, "byte 1 (0xc1)"},
                 {"a\xe0\x9f\xbf", 4, "byte 1 (0xe0)"},
                 {"a\xed\xa0\x80", 4, "byte 1 (0xed)"},
                 {"a\xf0\x8f\xbf\xbf", 5, "byte 1 (0xf0)"},
                 {"a\xf4\x90\x80\x80", 5, "byte 1 (0xf4)"},
                 {"a\xf5\x80\x80\x80", 5, "byte 1 (0xf5)"},
                 {"a\0b", 3, "byte 1 (0x00)"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum { BEFORE = 16 };
        size_t n = cases[i].bytes;
        char *memory =
            malloc(BEFORE + n); /* nothing behind the text, so that a sanitizer sees a read there */
        if (!CHECK(memory != NULL)) return;
        memset(memory, 'x', BEFORE);
        memcpy(memory + BEFORE, cases[i].text, n);
        kni_buffer out = {0};
        kn_status s = kni_text_decode(memory + BEFORE, n, "t", &out);
        if (cases[i].words)
            CHECK_ERROR(s, cases[i].words);
        else
            CHECK(s == KN_OK && out.length == n - (i == 1 ? 3 : 0) &&
                  !memcmp(out.data, cases[i].text + n - out.length, out.length));
        kni_buffer_free(&out);
        free(memory);
    }
}

static void test_ag_news(void)
{
    kn_dataset d = kn_dataset_ag_news("tests/data/ag_news", "train");
    kn_sample s;
    char title[32] = "";
    CHECK(kn_dataset_length(d) == 2 && kn_dataset_get(d, 0, &s) == KN_OK && s.n == 3 &&
          kn_item_int(s.fields[2]) == 2);
    CHECK(kn_read(s.fields[0], title, (size_t)kn_count(s.fields[0])) == KN_OK &&
          !strcmp(title, "Oil, again"));
    kn_sample_drop(&s);
    kn_dataset_free(d);
    CHECK_REFUSED(kn_dataset_ag_news("tests/data/ag_news", "test"),
                  "'kiln data ag_news' says where to get it");
}

static void test_sounds(void)
{
    int64_t rate = 0;
    kn_tensor t = kn_wav_read("tests/fuzz/seeds/wav/pcm16", &rate);
    CHECK_VALUES(t, 0, 0, -1, 0.25, 0.5, 32767.0 / 32768, -0.25);
    CHECK(rate == 8000 && kn_size(t, 0) == 2);
    kn_drop(t);
    t = kn_wav_read("tests/fuzz/seeds/wav/pcm8", NULL);
    CHECK_VALUES(t, 0, 0, 127.0 / 128, -1, -0.5);
    kn_drop(t);
    t = kn_wav_read("tests/fuzz/seeds/wav/pcm24", NULL);
    CHECK_VALUES(t, 0, 0.5, -0.5, 8388607.0 / 8388608);
    kn_drop(t);
    t = kn_wav_read("tests/fuzz/seeds/wav/pcm32", NULL);
    CHECK_VALUES(t, 0, 0.5, -1);
    kn_drop(t);
    t = kn_wav_read("tests/fuzz/seeds/wav/f32", NULL);
    CHECK_VALUES(t, 0, 0.25, -1.5);
    kn_drop(t);
    t = kn_wav_read("tests/fuzz/seeds/wav/f64", NULL);
    CHECK_VALUES(t, 0, 0.125);
    kn_drop(t);
    CHECK(refuses_cuts("tests/fuzz/seeds/wav/pcm16", 0, decode_wav));
    CHECK_POISON(kn_wav_read("tests/data/people.csv", NULL), "tests/data/people.csv: no WAV file");
}

static void test_sound_folder(void)
{
    kn_sample s;
    kn_dataset d =
        kn_dataset_audio_folder("tests/data/sounds/", &(kn_audio_args){.frames = 3, .split = "train"});
    CHECK(kn_dataset_length(d) == 1 && !strcmp(kn_dataset_name_at(d, 1), "yes") &&
          kn_dataset_get(d, 0, &s) == KN_OK);
    CHECK_VALUES(s.fields[0], 0, 0, 0.5, -0.5);
    kn_sample_drop(&s);
    kn_dataset_free(d);
    d = kn_dataset_audio_folder("tests/data/sounds", &(kn_audio_args){.frames = 3, .split = "validation"});
    CHECK(kn_dataset_length(d) == 1 && kn_dataset_get(d, 0, &s) == KN_OK && kn_item_int(s.fields[1]) == 1);
    CHECK_VALUES(s.fields[0], 0, -1, 32767.0 / 32768, 0);
    kn_sample_drop(&s);
    kn_dataset_free(d);
    d = kn_dataset_audio_folder("tests/data/sounds", &(kn_audio_args){.rate = 16000});
    CHECK(kn_dataset_length(d) == 4);
    CHECK_ERROR(kn_dataset_get(d, 0, &s), "8000 frames a second, not 16000");
    kn_dataset_free(d);
    CHECK_REFUSED(kn_dataset_audio_folder("tests/data/texts", NULL),
                  "expected tests/data/texts/CLASS/FILE.wav");
    CHECK_REFUSED(kn_dataset_audio_folder("tests/data/texts", &(kn_audio_args){.split = "x"}), "not 'x'");
}

/* What libpng compares inside is unknown to MemorySanitizer. */
static void test_all_images(void)
{
    if (UNDER_MEMORY_SANITIZER) {
        check_skip("MemorySanitizer: libpng");
        return;
    }
    test_images();
    test_picture_values();
    test_four_inks();
    test_resize();
    test_broken_images();
    test_labels_and_masks();
    test_raw_masks();
    test_mask_filters();
    test_coco();
}

int main(void)
{
    test_all_images();
    test_paths_stay_inside();
    test_image_bomb();
    test_gzip_bomb();
    test_most_pixels();
    test_idx();
    test_mnist();
    test_cifar();
    test_texts();
    test_text_bytes();
    test_ag_news();
    test_sounds();
    test_sound_folder();
    unlink(scratch);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
