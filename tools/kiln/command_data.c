/* kiln data: known data sets (where to get them, which files are expected) and a look at what is on disk. Nothing is
   fetched. */
#define _POSIX_C_SOURCE 200809L
#define KN_NO_SITES 1 /* the line of a failure would be the tool's own */
#include "kiln.h"
#include <inttypes.h>
#include <kn.h>
#include <kn/data.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static kn_dataset open_images(const char *folder, const char *split)
{
    (void)split;
    return kn_dataset_image_folder(folder, NULL);
}

static kn_dataset open_sounds(const char *folder, const char *split)
{
    return kn_dataset_audio_folder(folder, &(kn_audio_args){.split = split});
}

static kn_dataset open_all_sounds(const char *folder, const char *split)
{
    (void)split;
    return kn_dataset_audio_folder(folder, NULL);
}

static kn_dataset open_texts(const char *folder, const char *split)
{
    (void)split;
    return kn_dataset_text_folder(folder);
}

static kn_dataset open_csv(const char *path, const char *split)
{
    (void)split;
    return kn_dataset_csv(path, NULL);
}

/* Any CSV file: every column as categories, which shows the columns and checks the lines. */
static kn_dataset open_any_csv(const char *path, const char *split)
{
    enum { MOST = 1024 };
    static kn_column columns[MOST];
    (void)split;
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    int n = 1;
    bool quoted = false;
    for (int c = fgetc(file); c != EOF && (quoted || (c != '\n' && c != '\r')); c = fgetc(file)) {
        quoted ^= c == '"';
        n += c == ',' && !quoted;
    }
    fclose(file);
    if (n > MOST) n = MOST;
    for (int i = 0; i < n; i++) columns[i] = (kn_column){.kind = KN_COLUMN_CATEGORY, .join = i > 0};
    return kn_dataset_csv(path, &(kn_table_args){.columns = columns, .n_columns = n});
}

static kn_dataset open_json_lines(const char *path, const char *split)
{
    (void)split;
    return kn_dataset_json_lines(path, NULL);
}

/* A known data set: its folder, and the file that tells it from others. */
typedef struct known {
    const char *name, *what, *source, *files, *sample;
    const char *telling[2]; /* relative to the folder; one of them is there */
    kn_dataset (*open)(const char *folder, const char *split);
    const char *splits[4];
} known;

static const known data_sets[] = {
    {"mnist",
     "70,000 grey images of digits, 28 x 28, 10 classes",
     "https://ossci-datasets.s3.amazonaws.com/mnist/ (this tree has it in data/mnist)",
     "train-images-idx3-ubyte[.gz] train-labels-idx1-ubyte[.gz]\n"
     "             t10k-images-idx3-ubyte[.gz] t10k-labels-idx1-ubyte[.gz]",
     "image u8 [1, 28, 28], label i64",
     {"train-images-idx3-ubyte", "train-images-idx3-ubyte.gz"},
     kn_dataset_mnist,
     {"train", "test"}},
    {"cifar10",
     "60,000 colour images, 32 x 32, 10 classes",
     "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz (unpack it)",
     "cifar-10-batches-bin/data_batch_1.bin to data_batch_5.bin, test_batch.bin",
     "image u8 [3, 32, 32], label i64",
     {"cifar-10-batches-bin/data_batch_1.bin", "data_batch_1.bin"},
     kn_dataset_cifar10,
     {"train", "test"}},
    {"cifar100",
     "60,000 colour images, 32 x 32, 100 classes in 20 groups",
     "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz (unpack it)",
     "cifar-100-binary/train.bin, test.bin",
     "image u8 [3, 32, 32], fine label i64, coarse label i64",
     {"cifar-100-binary/train.bin", "train.bin"},
     kn_dataset_cifar100,
     {"train", "test"}},
    {"ag_news",
     "127,600 short news texts, 4 classes",
     "https://huggingface.co/datasets/fancyzhx/ag_news (export train and test as CSV: class 1 to 4, title, "
     "text)",
     "train.csv, test.csv (no header)",
     "title u8 [bytes], description u8 [bytes], label i64",
     {"train.csv", "test.csv"},
     kn_dataset_ag_news,
     {"train", "test"}},
    {"speech_commands",
     "105,829 spoken words of one second, 35 classes",
     "http://download.tensorflow.org/data/speech_commands_v0.02.tar.gz (unpack it)",
     "WORD/FILE.wav, validation_list.txt, testing_list.txt",
     "sound f32 [1, frames], label i64",
     {"validation_list.txt", "testing_list.txt"},
     open_sounds,
     {"train", "validation", "test"}},
};
enum { KNOWN = sizeof data_sets / sizeof *data_sets };

/* What a folder or file may hold besides, tried in turn. */
static const struct {
    const char *what, *ending;
    kn_dataset (*open)(const char *path, const char *split);
} kinds[] = {{"a folder of images by class", NULL, open_images},
             {"a folder of sounds by class", NULL, open_all_sounds},
             {"a folder of texts by class", NULL, open_texts},
             {"a CSV table of numbers", ".csv", open_csv},
             {"a CSV table", ".csv", open_any_csv},
             {"a JSON lines table of numbers", ".jsonl", open_json_lines}};

static void list_known(void)
{
    printf("Data sets that kiln reads; it fetches nothing. 'kiln data NAME' says which files go where.\n\n");
    for (int i = 0; i < KNOWN; i++)
        printf("  %-16s %s\n  %-16s %s\n", data_sets[i].name, data_sets[i].what, "", data_sets[i].source);
    printf("\nAny folder CLASS/FILE of .png, .jpg, .wav or text files, .csv and .jsonl tables: 'kiln data "
           "PATH'.\n");
}

static void show_known(const known *k)
{
    printf("%s: %s\n", k->name, k->what);
    printf("  get it   : %s\n  files    : FOLDER/ %s\n  a sample : %s\n  splits   :", k->source, k->files,
           k->sample);
    for (int i = 0; k->splits[i]; i++) printf(" %s", k->splits[i]);
    printf("\n  check it : kiln data FOLDER\n");
}

static void show_shapes(kn_dataset dataset)
{
    kn_sample sample;
    if (kn_dataset_get(dataset, 0, &sample) != KN_OK) {
        printf("  sample 0 : %s\n", kn_last_error());
        return;
    }
    printf("  sample 0 :");
    for (int f = 0; f < sample.n; f++) {
        kn_shape shape = kn_shape_of_tensor(sample.fields[f]);
        printf("%s %s [", f ? "," : "", kn_dtype_name(kn_dtype_of(sample.fields[f])));
        for (int i = 0; i < shape.rank; i++) printf(i ? ", %" PRId64 : "%" PRId64, shape.dims[i]);
        printf("]");
    }
    printf("\n");
    kn_sample_drop(&sample);
}

static void show_names(kn_dataset dataset)
{
    int64_t n = 0;
    while (kn_dataset_name_at(dataset, n)) n++;
    if (!n) return;
    printf("  names    : %" PRId64 ":", n);
    for (int64_t i = 0; i < n && i < 12; i++) printf(" %s", kn_dataset_name_at(dataset, i));
    printf(n > 12 ? " ...\n" : "\n");
}

/* Reads every sample and names the first ten that cannot be read; returns how many there are. */
static int64_t check_samples(kn_dataset dataset)
{
    int64_t bad = 0;
    for (int64_t i = 0; i < kn_dataset_length(dataset); i++) {
        kn_sample sample;
        if (kn_dataset_get(dataset, i, &sample) != KN_OK && bad++ < 10)
            printf("  sample %" PRId64 ": %s\n", i, kn_last_error());
        kn_sample_drop(&sample);
    }
    printf("  checked  : %" PRId64 " samples, %" PRId64 " cannot be read\n", kn_dataset_length(dataset), bad);
    return bad;
}

static int summarise(kn_dataset dataset, const char *title, bool check)
{
    printf("%s: %" PRId64 " samples\n", title, kn_dataset_length(dataset));
    if (kn_dataset_length(dataset) > 0) show_shapes(dataset);
    show_names(dataset);
    int failed = check && check_samples(dataset) ? 1 : 0;
    kn_dataset_free(dataset);
    return failed;
}

static bool exists(const char *folder, const char *file)
{
    char path[4096];
    struct stat s;
    int n = snprintf(path, sizeof path, "%s/%s", folder, file);
    return n > 0 && n < (int)sizeof path && stat(path, &s) == 0;
}

/* Every split of a known data set; a missing one is said, and fails. */
static int look_known(const known *k, const char *folder, bool check)
{
    int failed = 0;
    for (int i = 0; k->splits[i]; i++) {
        char title[64];
        snprintf(title, sizeof title, "%s, %s", k->name, k->splits[i]);
        kn_dataset dataset = k->open(folder, k->splits[i]);
        if (dataset)
            failed |= summarise(dataset, title, check);
        else {
            printf("%s: %s\n", title, kn_last_error());
            failed = 1;
        }
    }
    return failed;
}

static bool has_ending(const char *path, const char *ending)
{
    size_t n = strlen(path), m = strlen(ending);
    return n >= m && !strcmp(path + n - m, ending);
}

static int look_other(const char *path, bool folder, bool check)
{
    bool tried = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (folder ? kinds[i].ending != NULL : !kinds[i].ending || !has_ending(path, kinds[i].ending))
            continue;
        kn_dataset dataset = kinds[i].open(path, NULL);
        if (dataset) return summarise(dataset, kinds[i].what, check);
        if (!folder) tried = true;
    }
    if (tried) {
        fprintf(stderr, "kiln: %s\n", kn_last_error());
        return 1;
    }
    fprintf(stderr, "kiln: %s holds no data set that kiln knows; 'kiln data' lists them\n", path);
    return 1;
}

int kiln_command_data(int count, char **arguments)
{
    const char *path = NULL;
    bool check = false;
    for (int i = 0; i < count; i++) {
        if (kiln_option(arguments, i, "--check"))
            check = true;
        else if (path || arguments[i][0] == '-')
            return kiln_usage_error("data does not take '%s'", arguments[i]);
        else
            path = arguments[i];
    }
    if (!path) {
        list_known();
        return 0;
    }
    struct stat s;
    bool there = stat(path, &s) == 0, folder = there && S_ISDIR(s.st_mode);
    for (int i = 0; i < KNOWN; i++)
        if (!strcmp(path, data_sets[i].name) && !there) {
            show_known(&data_sets[i]);
            return 0;
        }
    if (!there) return kiln_usage_error("data: there is neither a data set nor a file called '%s'", path);
    for (int i = 0; i < KNOWN && folder; i++)
        if (exists(path, data_sets[i].telling[0]) || exists(path, data_sets[i].telling[1]))
            return look_known(&data_sets[i], path, check);
    return look_other(path, folder, check);
}
