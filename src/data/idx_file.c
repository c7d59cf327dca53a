/* The idx format of MNIST, plain or gzipped, and MNIST itself. */
#include "data/data_internal.h"
#include <kn/elementwise.h>
#include <kn/shape.h>
#include <stdlib.h>
#include <string.h>

/* The third byte of the magic number. */
static const struct {
    uint8_t code;
    kn_dtype dtype;
    int32_t bytes;
} types[] = {{0x08, KN_U8, 1},  {0x09, KN_I8, 1},  {0x0b, KN_I16, 2},
             {0x0c, KN_I32, 4}, {0x0d, KN_F32, 4}, {0x0e, KN_F64, 8}};

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static kn_tensor fail(const char *name, const char *what)
{
    return kni_poisoned(KN_ERROR_ARGUMENT, "%s: %s", name, what);
}

/* Elements from big-endian to the order of this machine. */
static kn_tensor make_tensor(const uint8_t *data, size_t count, int32_t bytes, kn_dtype dtype, kn_shape shape,
                             const char *name)
{
    const uint16_t probe = 1;
    if (bytes == 1 || !*(const uint8_t *)&probe) return kn_from(data, dtype, shape);
    uint8_t *turned = malloc(count * (size_t)bytes + 1);
    if (!turned) return fail(name, "out of memory");
    for (size_t i = 0; i < count; i++)
        for (int32_t b = 0; b < bytes; b++)
            turned[i * (size_t)bytes + (size_t)b] = data[i * (size_t)bytes + (size_t)(bytes - 1 - b)];
    kn_tensor t = kn_from(turned, dtype, shape);
    free(turned);
    return t;
}

kn_tensor kni_idx_decode(const void *bytes_of_file, size_t bytes, const char *name)
{
    const uint8_t *data = bytes_of_file;
    if (bytes < 4 || data[0] || data[1]) return fail(name, "no idx file: it must begin with two zero bytes");
    size_t at = 0, n_types = sizeof types / sizeof *types;
    while (at < n_types && types[at].code != data[2]) at++;
    if (at == n_types) return fail(name, "no idx file: the third byte is no known type");
    kn_shape shape = {.rank = data[3]};
    if (shape.rank < 1 || shape.rank > KN_MAX_RANK)
        return fail(name, "no idx file: it must have 1 to 8 axes");
    size_t header = 4 + 4 * (size_t)shape.rank, count = 1, wanted;
    if (bytes < header) return fail(name, "the file is truncated within its header");
    bool fits = true;
    for (int32_t i = 0; i < shape.rank; i++) {
        shape.dims[i] = big_endian(data + 4 + 4 * i);
        fits = fits && !__builtin_mul_overflow(count, (size_t)shape.dims[i], &count);
    }
    fits = fits && !__builtin_mul_overflow(count, (size_t)types[at].bytes, &wanted);
    if (!fits || wanted != bytes - header) {
        kni_buffer text = {0};
        kni_buffer_format(&text, "the header promises ");
        if (fits)
            kni_buffer_format(&text, "%llu bytes", (unsigned long long)wanted);
        else
            kni_buffer_text(&text, "more than memory can hold");
        kni_buffer_format(&text, ", the file has %llu%s", (unsigned long long)(bytes - header),
                          !fits || wanted > bytes - header ? " (it is truncated or no idx file)" : "");
        kn_tensor t = fail(name, kni_buffer_string(&text));
        kni_buffer_free(&text);
        return t;
    }
    return make_tensor(data + header, count, types[at].bytes, types[at].dtype, shape, name);
}

kn_tensor kn_idx_read(const char *path)
{
    KNI_NAMED;
    kni_buffer file = {0}, plain = {0};
    kni_failure_held held;
    kni_failure_hold(&held);
    kn_status status = kni_given(path, __func__, "path");
    if (status == KN_OK) status = kni_file_read(path, 0, &file);
    bool zipped = status == KN_OK && kni_is_gzip(file.data, file.length);
    if (zipped) status = kni_gunzip(file.data, file.length, path, &plain);
    const kni_buffer *from = zipped ? &plain : &file;
    kn_tensor t = kni_failure_release(&held, status, KN_NONE);
    if (status == KN_OK) t = kni_idx_decode(from->data ? from->data : "", from->length, path);
    kni_buffer_free(&file);
    kni_buffer_free(&plain);
    return t;
}

/* ---- MNIST */

/* FOLDER/NAME or FOLDER/NAME.gz. */
static kn_tensor read_part(const char *folder, const char *split, const char *name)
{
    kni_buffer path = {0};
    kni_buffer_format(&path, "%s/%s-%s", folder, split, name);
    if (!kni_file_exists(kni_buffer_string(&path))) kni_buffer_text(&path, ".gz");
    kn_tensor t;
    if (path.failed)
        t = fail(folder, "out of memory");
    else if (!kni_file_exists(path.data))
        t = kni_poisoned(
            KN_ERROR_IO,
            "%s: there is no such file, nor one without .gz; 'kiln data mnist' says where to get it",
            path.data);
    else
        t = kn_idx_read(path.data);
    kni_buffer_free(&path);
    return t;
}

static kn_status check_parts(const char *folder, kn_tensor images, kn_tensor labels)
{
    if (!kn_ok(images)) return kni_failure_of(images);
    if (!kn_ok(labels)) return kni_failure_of(labels);
    if (kn_rank(images) != 3 || kn_rank(labels) != 1 || kn_dtype_of(images) != KN_U8 ||
        kn_dtype_of(labels) != KN_U8 || kn_size(images, 0) != kn_size(labels, 0))
        return kni_failure(KN_ERROR_SHAPE,
                           "%s: images must be u8 with 3 axes and labels u8 with 1, as many as images",
                           folder);
    int64_t n = kn_count(labels);
    uint8_t *values = malloc((size_t)n + 1);
    if (!values) return kni_failure_memory("kn_dataset_mnist");
    kn_status status = kn_read(labels, values, (size_t)n);
    for (int64_t i = 0; i < n && status == KN_OK; i++)
        if (values[i] > 9)
            status = kni_failure(KN_ERROR_ARGUMENT, "%s: label %lld is %d, not 0 to 9", folder, (long long)i,
                                 values[i]);
    free(values);
    return status;
}

kn_dataset kn_dataset_mnist(const char *folder, const char *split)
{
    KNI_NAMED;
    if (kni_given(folder, __func__, "folder") != KN_OK || kni_given(split, __func__, "split") != KN_OK)
        return NULL;
    bool test = !strcmp(split, "test");
    if (!test && strcmp(split, "train")) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_dataset_mnist: the split is 'train' or 'test', not '%s'", split);
        return NULL;
    }
    kn_scope scope = kn_scope_begin();
    const char *prefix = test ? "t10k" : "train";
    kn_tensor images = kn_keep(read_part(folder, prefix, "images-idx3-ubyte"));
    kn_tensor labels = kn_keep(kn_ok(images) ? read_part(folder, prefix, "labels-idx1-ubyte") : KN_NONE);
    kn_dataset made = NULL;
    kni_names names = {0};
    for (int i = 0; i < 10; i++) kni_names_add(&names, &"0123456789"[i], 1);
    if (check_parts(folder, images, labels) == KN_OK) {
        kn_tensor fields[] = {kn_unsqueeze(images, 1), kn_cast(labels, KN_I64)};
        made = kni_dataset_named_tensors(fields, 2, &names);
    } else
        kni_names_free(&names);
    kn_scope_end(scope, KN_NONE);
    return made;
}
