/* CIFAR-10 and CIFAR-100 in their binary form: records of one or two labels and 3072 bytes of pixels. */
#include "data/data_internal.h"
#include <kn/elementwise.h>
#include <kn/shape.h>
#include <string.h>

enum { PIXELS = 3072 };

kn_status kni_cifar_decode(const void *data, size_t bytes, const char *name, int32_t label_bytes,
                           const uint8_t *limits, kni_buffer *pixels, kni_buffer *labels)
{
    const size_t record = (size_t)label_bytes + PIXELS;
    if (!bytes || bytes % record)
        return kni_failure(KN_ERROR_ARGUMENT,
                           "%s: %llu bytes are no whole number of records of %llu (truncated?)", name,
                           (unsigned long long)bytes, (unsigned long long)record);
    for (size_t i = 0; i < bytes / record; i++) {
        const uint8_t *p = (const uint8_t *)data + i * record;
        for (int32_t j = 0; j < label_bytes; j++)
            if (p[j] >= limits[j])
                return kni_failure(KN_ERROR_ARGUMENT, "%s: record %llu has label %d, not 0 to %d", name,
                                   (unsigned long long)i, p[j], limits[j] - 1);
        kni_buffer_append(labels, p, (size_t)label_bytes);
        kni_buffer_append(pixels, p + label_bytes, PIXELS);
    }
    return pixels->failed || labels->failed ? kni_failure_memory("kn_dataset_cifar") : KN_OK;
}

/* What differs between the two data sets. */
typedef struct kind {
    const char *name, *subfolder;
    const char *train[6], *test[2];
    int32_t label_bytes;
    uint8_t limits[2];
    const char *names_file;
} kind;

static const kind cifar10 = {
    "cifar10",
    "cifar-10-batches-bin",
    {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
    {"test_batch.bin"},
    1,
    {10},
    "batches.meta.txt"};
static const kind cifar100 = {"cifar100", "cifar-100-binary", {"train.bin"},         {"test.bin"},
                              2,          {20, 100},          "fine_label_names.txt"};

static kn_status read_part(const kind *k, const char *folder, const char *file, kni_buffer *pixels,
                           kni_buffer *labels)
{
    kni_buffer path = {0}, bytes = {0};
    kni_buffer_format(&path, "%s/%s", folder, file);
    kn_status status;
    if (path.failed)
        status = kni_failure_memory("kn_dataset_cifar");
    else if (!kni_file_exists(path.data))
        status = kni_failure(KN_ERROR_IO, "%s: there is no such file; 'kiln data %s' says where to get it",
                             path.data, k->name);
    else
        status = kni_file_read(path.data, 0, &bytes);
    if (status == KN_OK)
        status = kni_cifar_decode(bytes.data ? bytes.data : "", bytes.length, path.data, k->label_bytes,
                                  k->limits, pixels, labels);
    kni_buffer_free(&path);
    kni_buffer_free(&bytes);
    return status;
}

/* One class in each line; the file is optional. */
static void read_names(const kind *k, const char *folder, kni_names *names)
{
    kni_buffer path = {0}, text = {0};
    kni_buffer_format(&path, "%s/%s", folder, k->names_file);
    if (!path.failed && kni_file_exists(path.data) && kni_file_read(path.data, 1 << 16, &text) == KN_OK)
        kni_names_add_lines(names, kni_buffer_string(&text), text.length);
    kni_buffer_free(&path);
    kni_buffer_free(&text);
}

static kn_dataset finish(const kind *k, kni_buffer *pixels, kni_buffer *labels, kni_names *names)
{
    int64_t n = (int64_t)(pixels->length / PIXELS);
    kn_scope scope = kn_scope_begin();
    kn_tensor all = kn_keep(kn_cast(kn_from(labels->data, KN_U8, KN_SHAPE(n, k->label_bytes)), KN_I64));
    kn_tensor fields[3] = {kn_from(pixels->data, KN_U8, KN_SHAPE(n, 3, 32, 32))};
    /* The last label is the fine one, which comes first in a sample. */
    for (int32_t j = 0; j < k->label_bytes; j++) fields[1 + j] = kn_select(all, 1, k->label_bytes - 1 - j);
    kn_dataset made = kni_dataset_named_tensors(fields, 1 + k->label_bytes, names);
    kn_scope_end(scope, KN_NONE);
    return made;
}

static kn_dataset open_cifar(const kind *k, const char *folder, const char *split, const char *function)
{
    if (kni_given(folder, function, "folder") != KN_OK || kni_given(split, function, "split") != KN_OK)
        return NULL;
    bool test = !strcmp(split, "test");
    if (!test && strcmp(split, "train")) {
        kni_failure(KN_ERROR_ARGUMENT, "%s: the split is 'train' or 'test', not '%s'", function, split);
        return NULL;
    }
    kni_buffer inner = {0}, pixels = {0}, labels = {0};
    kni_names names = {0};
    kni_buffer_format(&inner, "%s/%s", folder, k->subfolder);
    if (!inner.failed && kni_file_is_folder(inner.data)) folder = inner.data;
    kn_status status = KN_OK;
    for (const char *const *file = test ? k->test : k->train; *file && status == KN_OK; file++)
        status = read_part(k, folder, *file, &pixels, &labels);
    if (status == KN_OK) read_names(k, folder, &names);
    kn_dataset made = status == KN_OK ? finish(k, &pixels, &labels, &names) : NULL;
    kni_names_free(&names);
    kni_buffer_free(&inner);
    kni_buffer_free(&pixels);
    kni_buffer_free(&labels);
    return made;
}

kn_dataset kn_dataset_cifar10(const char *folder, const char *split)
{
    KNI_NAMED;
    return open_cifar(&cifar10, folder, split, __func__);
}
kn_dataset kn_dataset_cifar100(const char *folder, const char *split)
{
    KNI_NAMED;
    return open_cifar(&cifar100, folder, split, __func__);
}
