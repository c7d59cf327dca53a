/* A path, list or buffer that is NULL where one is needed: an error that names the function and the argument. Dropping NULL does
   nothing. */
#include "support/check.h"
#include <kn/data.h>
#include <kn/nn.h>
#include <kn/train.h>

static bool told(const char *function, const char *noun)
{
    char words[160];
    snprintf(words, sizeof words, "%s: the %s is NULL", function, noun);
    bool good = strstr(kn_last_error(), words) != NULL;
    if (!good) printf("wanted '%s', got '%s'\n", words, kn_last_error());
    return good;
}

/* ---- data sets of files */

typedef kn_dataset (*opener)(const char *first, const char *second);

#define ONE_PATH(name, call)                                                                                 \
    static kn_dataset name(const char *path, const char *unused) { return (void)unused, call; }
#define TWO_PATHS(name, function)                                                                            \
    static kn_dataset name(const char *first, const char *second) { return function(first, second, NULL); }
ONE_PATH(open_csv, kn_dataset_csv(path, NULL))
ONE_PATH(open_json_lines, kn_dataset_json_lines(path, NULL))
ONE_PATH(open_image_folder, kn_dataset_image_folder(path, NULL))
ONE_PATH(open_text_folder, kn_dataset_text_folder(path))
ONE_PATH(open_audio_folder, kn_dataset_audio_folder(path, NULL))
TWO_PATHS(open_sqlite, kn_dataset_sqlite)
TWO_PATHS(open_image_labels, kn_dataset_image_labels)
TWO_PATHS(open_image_masks, kn_dataset_image_masks)
TWO_PATHS(open_coco, kn_dataset_coco)

static const struct {
    const char *name;
    opener open;
    const char *first, *second; /* what the texts call the arguments; NULL: there is no second one */
} openers[] = {
    {"kn_dataset_csv", open_csv, "path", NULL},
    {"kn_dataset_json_lines", open_json_lines, "path", NULL},
    {"kn_dataset_image_folder", open_image_folder, "folder", NULL},
    {"kn_dataset_text_folder", open_text_folder, "folder", NULL},
    {"kn_dataset_audio_folder", open_audio_folder, "folder", NULL},
    {"kn_dataset_sqlite", open_sqlite, "path", "query"},
    {"kn_dataset_sqlite_samples", kn_dataset_sqlite_samples, "path", "table"},
    {"kn_dataset_image_labels", open_image_labels, "folder", "file of labels"},
    {"kn_dataset_image_masks", open_image_masks, "folder of images", "folder of masks"},
    {"kn_dataset_coco", open_coco, "folder of images", "file of annotations"},
    {"kn_dataset_mnist", kn_dataset_mnist, "folder", "split"},
    {"kn_dataset_cifar10", kn_dataset_cifar10, "folder", "split"},
    {"kn_dataset_cifar100", kn_dataset_cifar100, "folder", "split"},
    {"kn_dataset_ag_news", kn_dataset_ag_news, "folder", "split"},
};

static void data_sets_without_a_path(void)
{
    for (size_t i = 0; i < sizeof openers / sizeof *openers; i++) {
        CHECK(!openers[i].open(NULL, "train") && told(openers[i].name, openers[i].first));
        CHECK(!openers[i].open(NULL, NULL) && told(openers[i].name, openers[i].first));
        if (openers[i].second) CHECK(!openers[i].open(".", NULL) && told(openers[i].name, openers[i].second));
    }
}

static void files_and_bytes_that_are_none(void)
{
    CHECK_POISON(kn_image_read(NULL, NULL), "kn_image_read: the path is NULL");
    CHECK_POISON(kn_wav_read(NULL, NULL), "kn_wav_read: the path is NULL");
    CHECK_POISON(kn_idx_read(NULL), "kn_idx_read: the path is NULL");
    CHECK_POISON(kn_image_decode(NULL, 10, "x", NULL), "kn_image_decode: the data is NULL");
    CHECK_POISON(kn_wav_decode(NULL, 100, "x", NULL), "kn_wav_decode: the data is NULL");
    /* No bytes at all are a file that is no image; a name is for messages alone. */
    CHECK_POISON(kn_image_decode(NULL, 0, NULL, NULL), "memory: neither a PNG nor a JPEG");
    CHECK_POISON(kn_wav_decode("abc", 3, NULL, NULL), "memory: no WAV file");
}

/* ---- lists and places in memory */

static void lists_that_are_none(void)
{
    CHECK(!kn_dataset_tensors(NULL, 2) && told("kn_dataset_tensors", "list of fields"));
    CHECK(!kn_dataset_list(NULL, 3) && told("kn_dataset_list", "list of samples"));
    CHECK(!kn_dataset_fake(5, NULL, 1, 0) && told("kn_dataset_fake", "list of fields"));
    kn_dataset empty = kn_dataset_list(NULL, 0);
    CHECK(empty && kn_dataset_length(empty) == 0);
    kn_dataset_free(empty);
}

static void samples_and_keys_that_are_none(void)
{
    kn_sample_drop(NULL);
    CHECK_ERROR(kn_sample_add(NULL, kn_ones(KN_SHAPE(2), KN_F32)), "kn_sample_add: the sample is NULL");
    CHECK_ERROR(kn_sample_replace(NULL, 0, kn_ones(KN_SHAPE(2), KN_F32)),
                "kn_sample_replace: the sample is NULL");
    CHECK(kn_key_bits(NULL, 1) == 0 && told("kn_key_bits", "key"));
    CHECK(kn_key_uniform(NULL, 1) == 0 && told("kn_key_uniform", "key"));
    CHECK(kn_key_below(NULL, 1, 5) == 0 && told("kn_key_below", "key"));
}

/* SQLite would write to a file without a name that is gone when it is closed. */
static void a_table_without_a_file(void)
{
    kn_tensor x = kn_ones(KN_SHAPE(2, 3), KN_F32);
    kn_dataset dataset = kn_dataset_tensors(&x, 1);
    CHECK_ERROR(kn_dataset_write_sqlite(dataset, NULL, "t"), "kn_dataset_write_sqlite: the path is NULL");
    CHECK_ERROR(kn_dataset_write_sqlite(dataset, "x.db", NULL), "kn_dataset_write_sqlite: the table is NULL");
    kn_dataset_free(dataset);
}

/* A buffer of no bytes may be NULL, one of some may not. */
static void buffers_that_are_none(void)
{
    kn_metric metrics[] = {kn_metric_loss(), kn_metric_accuracy(-1)};
    for (int i = 0; i < 2; i++) {
        CHECK(kn_metric_format(metrics[i], 1, NULL, 50) == 0 && told("kn_metric_format", "buffer"));
        CHECK(kn_metric_format(metrics[i], 1, NULL, 0) > 0);
        kn_metric_free(metrics[i]);
    }
    CHECK(!kn_device_enumerate(0, NULL, 10) && told("kn_device_enumerate", "buffer for the name"));
    CHECK(kn_device_enumerate(0, NULL, 0));
}

static void parts_of_models_that_are_none(void)
{
    kn_state state = kn_state_make();
    CHECK_ERROR(kn_state_put(state, "a", NULL, kn_ones(KN_SHAPE(2), KN_F32)),
                "kn_state_put: the name is NULL");
    kn_state_free(state);
    CHECK(!kn_dataset_list(NULL, -1) &&
          strstr(kn_last_error(), "kn_dataset_list: the number of samples is -1"));
    CHECK_POISON(kn_sampler_next(NULL, kn_ones(KN_SHAPE(4), KN_F32), KN_NONE),
                 "kn_sampler_next: the sampler is NULL");
    CHECK_ERROR(kn_nn_transformer_cache_init(NULL, 2), "kn_nn_transformer_cache_init: the cache is NULL");
    kn_nn_attention_cache_drop(NULL);
    kn_nn_transformer_cache_reset(NULL);
    kn_nn_transformer_cache_drop(NULL);
}

int main(void)
{
    data_sets_without_a_path();
    files_and_bytes_that_are_none();
    lists_that_are_none();
    samples_and_keys_that_are_none();
    a_table_without_a_file();
    buffers_that_are_none();
    parts_of_models_that_are_none();
    CHECK(kn_shutdown() == 0);
    return check_report();
}
