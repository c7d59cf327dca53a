/* The writer of NumPy's .npy and of .npz archives with stored entries, which numpy.load reads. */
#include "core/dtype.h"
#include "store/numpy.h"
#include "store/zip.h"
#include "support/checksum.h"
#include "support/failure.h"
#include "support/json.h"
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

enum {
    ALIGNMENT = 64,
    LONGEST_NAME = 65000,
    DOS_DATE = 33 /* 1 January 1980: the same content, the same bytes */
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const kni_store_value *)a)->name, ((const kni_store_value *)b)->name);
}

/* Version 1: magic, length, a Python literal padded with spaces. */
static kn_status write_header(kni_buffer *out, const kni_store_value *value)
{
    const char *word = kni_numpy_word(value->retyped ? KN_U8 : value->dtype);
    if (!word)
        return kni_failure(KN_ERROR_DTYPE,
                           "writing '%s': NumPy has no dtype %s; cast it or write .safetensors", value->name,
                           kn_dtype_name(value->dtype));
    kn_shape shape = kn_shape_of_tensor(value->tensor);
    char order = kn_dtype_bytes(value->dtype, 1) == 1 ? '|' : '<';
    kni_buffer_append(out, "\x93NUMPY\1\0\0\0", 10);
    kni_buffer_format(out, "{'descr': '%c%s', 'fortran_order': False, 'shape': (", order, word);
    for (int32_t i = 0; i < shape.rank; i++)
        kni_buffer_format(out, i ? " %lld," : "%lld,", (long long)shape.dims[i]);
    /* (3,) keeps its comma, (3, 4) has none. */
    if (shape.rank > 1 && !out->failed) out->data[--out->length] = 0;
    kni_buffer_text(out, "), }");
    while (!out->failed && out->length % ALIGNMENT != ALIGNMENT - 1) kni_buffer_text(out, " ");
    kni_buffer_text(out, "\n");
    if (out->failed) return kni_failure_memory("writing NumPy");
    kni_put_little((unsigned char *)out->data + 8, out->length - 10, 2);
    return KN_OK;
}

kn_status kni_npy_write(kni_store_writing *w)
{
    kni_buffer header = {0};
    kni_atomic_file file;
    if (w->count == 1 && kni_dtype_stored(w->values[0].dtype))
        return kni_failure(KN_ERROR_DTYPE,
                           "writing '%s': .npy cannot say that its elements are %s; write .npz or "
                           ".safetensors, or cast it",
                           w->path, kn_dtype_name(w->values[0].dtype));
    if (w->count != 1)
        return kni_failure(KN_ERROR_ARGUMENT,
                           "writing '%s': .npy holds one tensor, there are %lld; write .npz", w->path,
                           (long long)w->count);
    kn_status status = write_header(&header, &w->values[0]);
    if (!status) status = kni_store_target(w, &file);
    if (!status) {
        status = kni_atomic_write(&file, header.data, header.length);
        if (!status) status = kni_store_write_value(&file, &w->values[0]);
        if (status)
            kni_atomic_cancel(&file);
        else
            status = kni_atomic_commit(&file);
    }
    kni_buffer_free(&header);
    return status;
}

/* ---- archives */

typedef struct npz_writing {
    kni_atomic_file file;
    kni_buffer directory;
    uint64_t at, entries;
} npz_writing;

static void put(kni_buffer *out, uint64_t value, int bytes)
{
    unsigned char little[8];
    kni_put_little(little, value, bytes);
    kni_buffer_append(out, little, (size_t)bytes);
}

/* The fields that an entry's own header and its record of the directory have in common: version 4.5 for 64-bit sizes, names
   in UTF-8, stored. */
static void put_common(kni_buffer *out, uint32_t crc, size_t name_length, size_t extra)
{
    put(out, 45, 2);
    put(out, 1 << 11, 2);
    put(out, 0, 2);
    put(out, (uint64_t)DOS_DATE << 16, 4);
    put(out, crc, 4);
    put(out, UINT32_MAX, 4);
    put(out, UINT32_MAX, 4);
    put(out, name_length, 2);
    put(out, extra, 2);
}

static kn_status emit(npz_writing *z, const void *data, size_t bytes)
{
    kn_status status = kni_atomic_write(&z->file, data, bytes);
    if (!status) z->at += bytes;
    return status;
}

/* An entry of known checksum: its header is written, the caller writes the content. */
static kn_status begin_entry(npz_writing *z, const char *name, const char *suffix, uint64_t bytes,
                             uint32_t crc)
{
    kni_buffer head = {0};
    size_t length = strlen(name) + strlen(suffix);
    if (length > LONGEST_NAME)
        return kni_failure(KN_ERROR_ARGUMENT, "writing .npz: a name of %zu bytes", length);
    kni_buffer_append(&head, "PK\3\4", 4);
    put_common(&head, crc, length, 20);
    kni_buffer_text(&head, name);
    kni_buffer_text(&head, suffix);
    put(&head, 1, 2);
    put(&head, 16, 2);
    put(&head, bytes, 8);
    put(&head, bytes, 8);

    kni_buffer *d = &z->directory;
    kni_buffer_append(d, "PK\1\2", 4);
    put(d, 45, 2);
    put_common(d, crc, length, 28);
    put(d, 0, 2); /* comment, disk, attributes */
    put(d, 0, 4);
    put(d, 0, 4);
    put(d, UINT32_MAX, 4);
    kni_buffer_text(d, name);
    kni_buffer_text(d, suffix);
    put(d, 1, 2);
    put(d, 24, 2);
    put(d, bytes, 8);
    put(d, bytes, 8);
    put(d, z->at, 8);
    z->entries++;
    kn_status status =
        head.failed || d->failed ? kni_failure_memory("writing .npz") : emit(z, head.data, head.length);
    kni_buffer_free(&head);
    return status;
}

static kn_status write_array(npz_writing *z, const kni_store_value *value)
{
    kni_buffer content = {0};
    int64_t bytes = kni_store_value_bytes(value);
    kn_status status = write_header(&content, value);
    if (!status && bytes < 0)
        status = kni_failure(KN_ERROR_HANDLE, "writing '%s': it has no value", value->name);
    if (!status && !kni_buffer_reserve(&content, (size_t)bytes + 1))
        status = kni_failure_memory("writing .npz");
    if (!status && bytes) {
        unsigned char *elements = (unsigned char *)content.data + content.length;
        status = kn_read_as(value->tensor, value->dtype, elements, (size_t)bytes);
        if (kni_machine_is_big())
            kni_swap_bytes(elements, kn_count(value->tensor), (int32_t)kn_dtype_bytes(value->dtype, 1));
        content.length += (size_t)bytes;
    }
    if (!status)
        status =
            begin_entry(z, value->name, ".npy", content.length, kni_crc32(0, content.data, content.length));
    if (!status) status = emit(z, content.data, content.length);
    kni_buffer_free(&content);
    return status;
}

static kn_status write_texts(npz_writing *z, const kni_store_writing *w)
{
    kni_buffer text = {0};
    kni_buffer_format(&text, "{\"" KNI_STORE_VERSION_NAME "\": \"%s\"", kni_store_version_text(w));
    kni_store_write_dtypes_entry(&text, w);
    for (int64_t i = 0; i < w->text_count; i++) {
        kni_buffer_text(&text, ", ");
        kni_json_write_text(&text, w->texts[i].name, strlen(w->texts[i].name));
        kni_buffer_text(&text, ": ");
        kni_json_write_text(&text, w->texts[i].text, strlen(w->texts[i].text));
    }
    kni_buffer_text(&text, "}");
    kn_status status = text.failed ? kni_failure_memory("writing .npz") : KN_OK;
    if (!status)
        status = begin_entry(z, KNI_NPZ_TEXTS, "", text.length, kni_crc32(0, text.data, text.length));
    if (!status) status = emit(z, text.data, text.length);
    kni_buffer_free(&text);
    return status;
}

/* The directory, its 64-bit end record with the place of it, and the plain end record that points there. */
static kn_status write_end(npz_writing *z)
{
    uint64_t place = z->at, bytes = z->directory.length;
    kni_buffer *d = &z->directory;
    kni_buffer_append(d, "PK\6\6", 4);
    put(d, 44, 8);
    put(d, 45, 2);
    put(d, 45, 2);
    put(d, 0, 8);
    put(d, z->entries, 8);
    put(d, z->entries, 8);
    put(d, bytes, 8);
    put(d, place, 8);
    kni_buffer_append(d, "PK\6\7", 4);
    put(d, 0, 4);
    put(d, place + bytes, 8);
    put(d, 1, 4);
    kni_buffer_append(d, "PK\5\6", 4);
    put(d, 0, 4);
    put(d, UINT16_MAX, 2);
    put(d, UINT16_MAX, 2);
    put(d, UINT32_MAX, 4);
    put(d, UINT32_MAX, 4);
    put(d, 0, 2);
    return d->failed ? kni_failure_memory("writing .npz") : emit(z, d->data, d->length);
}

kn_status kni_npz_write(kni_store_writing *w)
{
    npz_writing z = {0};
    if (w->count) qsort(w->values, (size_t)w->count, sizeof *w->values, by_name);
    /* One code to a byte: numpy.load(...)[name].view(ml_dtypes.int4) gives the values. */
    for (int64_t i = 0; i < w->count; i++) w->values[i].retyped = kni_dtype_stored(w->values[i].dtype);
    kn_status status = kni_store_target(w, &z.file);
    if (status) return status;
    for (int64_t i = 0; i < w->count && !status; i++) status = write_array(&z, &w->values[i]);
    if (!status) status = write_texts(&z, w);
    if (!status) status = write_end(&z);
    kni_buffer_free(&z.directory);
    if (!status) return kni_atomic_commit(&z.file);
    kni_atomic_cancel(&z.file);
    return status;
}
