/* Writing: picks the format, adds the version, and writes safetensors. Files are written whole or not at all, and the same
   content always gives the same bytes. */
#include "core/small_types.h"
#include "store/store_checksum.h"
#include "support/checksum.h"
#include "support/failure.h"
#include "support/json.h"
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

/* Data begins at a multiple of this, so that a mapped file can be used in place. */
enum { ALIGNMENT = 64 };

const char *kni_store_version_text(const kni_store_writing *w)
{
    _Static_assert(KNI_STORE_VERSION == 3, "write the version as text here");
    for (int64_t i = 0; i < w->count; i++)
        if (kni_dtype_stored(w->values[i].dtype)) return "3"; /* which version 2 does not know */
    return "2";
}

bool kni_store_is_later(const char *text)
{
    long long version = strspn(text, "0123456789") == strlen(text) && *text ? strtoll(text, NULL, 10) : 0;
    return version > KNI_STORE_VERSION;
}

kn_status kni_store_check_version(kni_store *store)
{
    for (int64_t i = 0; i < store->text_count; i++)
        if (!strcmp(store->texts[i].name, KNI_STORE_VERSION_NAME) && kni_store_is_later(store->texts[i].text))
            return kni_source_bad(
                store->source, "written by a later Kiln (format %.20s; this one reads up to %d): update Kiln",
                store->texts[i].text, KNI_STORE_VERSION);
    return KN_OK;
}

kn_status kni_store_target(kni_store_writing *w, kni_atomic_file *file)
{
    return w->to_memory ? kni_atomic_open_memory(file, &w->memory, &w->memory_bytes)
                        : kni_atomic_open(file, w->path);
}

/* ---- one tensor's bytes */

int64_t kni_store_value_bytes(const kni_store_value *value)
{
    int64_t count = kn_count(value->tensor), each = value->packed ? 8 / value->packed : 1;
    if (count < 0) return -1;
    return value->packed ? count / each + (count % each != 0) : kn_dtype_bytes(value->dtype, count);
}

kn_status kni_store_write_value(kni_atomic_file *file, kni_store_value *value)
{
    int64_t bytes = kni_store_value_bytes(value);
    if (bytes == 0) return KN_OK;
    if (bytes < 0) return kni_failure(KN_ERROR_HANDLE, "writing '%s': it has no value", value->name);
    int64_t count = kn_count(value->tensor), room = kn_dtype_bytes(value->dtype, count);
    void *data = malloc((size_t)room);
    if (!data)
        return kni_failure(KN_ERROR_MEMORY, "writing '%s': no memory for its %lld bytes", value->name,
                           (long long)room);
    kn_status status = kn_read_as(value->tensor, value->dtype, data, (size_t)room);
    if (!status && value->packed) kni_pack(data, data, count, value->packed);
    if (!status && kni_machine_is_big())
        kni_swap_bytes(data, count, (int32_t)kn_dtype_bytes(value->dtype, 1));
    if (!status) value->crc = kni_crc32c(0, data, (size_t)bytes);
    if (!status) status = kni_atomic_write(file, data, (size_t)bytes);
    free(data);
    return status;
}

/* ---- safetensors */

static int by_text(const void *a, const void *b)
{
    return strcmp(((const kni_store_text *)a)->name, ((const kni_store_text *)b)->name);
}

/* The widest elements first, so that each tensor is aligned to its elements without holes; then by name. */
static int by_width_and_name(const void *a, const void *b)
{
    const kni_store_value *x = a, *y = b;
    int64_t wide = kn_dtype_bytes(x->dtype, 1), other = kn_dtype_bytes(y->dtype, 1);
    if (wide != other) return wide > other ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Leaves *place, of the checksums' text, blank: it is known when all tensors are written. */
static void write_metadata(kni_buffer *out, const kni_store_writing *w, size_t *place)
{
    kni_buffer_text(out, "{\"__metadata__\":{\"" KNI_STORE_VERSION_NAME "\":\"");
    kni_buffer_text(out, kni_store_version_text(w));
    kni_buffer_text(out, "\"");
    kni_store_write_dtypes_entry(out, w);
    for (int64_t i = 0; i < w->text_count; i++) {
        kni_buffer_text(out, ",");
        kni_json_write_text(out, w->texts[i].name, strlen(w->texts[i].name));
        kni_buffer_text(out, ":");
        kni_json_write_text(out, w->texts[i].text, strlen(w->texts[i].text));
    }
    kni_buffer_text(out, ",\"" KNI_STORE_CHECKSUM_NAME "\":\"");
    size_t length = kni_checksum_length(w->count);
    *place = out->length;
    if (kni_buffer_reserve(out, length + 1)) {
        memset(out->data + out->length, ' ', length);
        out->length += length;
    }
    kni_buffer_text(out, "\"}");
}

static kn_status write_entry(kni_buffer *out, const kni_store_writing *w, int64_t i, int64_t *offset)
{
    const kni_store_value *value = &w->values[i];
    kn_shape shape;
    const char *word = kni_store_entry_form(value, &shape);
    int64_t bytes = kni_store_value_bytes(value);
    if (bytes < 0 || bytes > INT64_MAX - *offset)
        return kni_failure(KN_ERROR_HANDLE, "writing '%s': tensor '%s' has no value", w->path, value->name);
    if (!word)
        return kni_failure(KN_ERROR_DTYPE, "writing '%s': safetensors has no dtype %s ('%s')", w->path,
                           kn_dtype_name(value->dtype), value->name);
    kni_buffer_text(out, ",");
    kni_json_write_text(out, value->name, strlen(value->name));
    kni_buffer_text(out, ":{\"dtype\":\"");
    kni_buffer_text(out, word);
    kni_buffer_text(out, "\",\"shape\":[");
    kni_store_write_sizes(out, &shape);
    kni_buffer_text(out, "],\"data_offsets\":[");
    kni_buffer_decimal(out, *offset);
    kni_buffer_text(out, ",");
    kni_buffer_decimal(out, *offset + bytes);
    kni_buffer_text(out, "]}");
    *offset += bytes;
    return KN_OK;
}

static kn_status write_header(kni_buffer *out, const kni_store_writing *w, size_t *place)
{
    int64_t offset = 0;
    kn_status status = KN_OK;
    kni_buffer_append(out, "\0\0\0\0\0\0\0\0", 8);
    write_metadata(out, w, place);
    for (int64_t i = 0; i < w->count && !status; i++) status = write_entry(out, w, i, &offset);
    if (status) return status;
    kni_buffer_text(out, "}");
    while (!out->failed && out->length % ALIGNMENT) kni_buffer_text(out, " ");
    if (out->failed) return kni_failure_memory("writing safetensors");
    kni_put_little((unsigned char *)out->data, out->length - 8, 8);
    return KN_OK;
}

/* The header, the tensors, and then the checksums at their place in the header. */
static kn_status write_content(kni_atomic_file *file, kni_store_writing *w, const kni_buffer *header,
                               size_t place)
{
    kni_buffer sums = {0};
    kn_status status = kni_atomic_write(file, header->data, header->length);
    for (int64_t i = 0; i < w->count && !status; i++) status = kni_store_write_value(file, &w->values[i]);
    if (!status) status = kni_checksum_write(w, &sums);
    if (!status) status = kni_atomic_patch(file, place, sums.data, sums.length);
    kni_buffer_free(&sums);
    return status;
}

/* A pipe cannot be gone back in, so its bytes are put together first. */
static kn_status write_pipe(kni_atomic_file *pipe, kni_store_writing *w, const kni_buffer *header,
                            size_t place)
{
    char *data = NULL;
    size_t bytes = 0;
    kni_atomic_file memory;
    kn_status status = kni_atomic_open_memory(&memory, &data, &bytes);
    if (status) return status;
    status = write_content(&memory, w, header, place);
    if (status)
        kni_atomic_cancel(&memory);
    else
        status = kni_atomic_commit(&memory);
    if (!status) status = kni_atomic_write(pipe, data, bytes);
    free(data);
    return status;
}

kn_status kni_safetensors_write(kni_store_writing *w)
{
    kni_buffer header = {0};
    kni_atomic_file file;
    size_t place = 0;
    kni_store_pack_values(w);
    if (w->count) qsort(w->values, (size_t)w->count, sizeof *w->values, by_width_and_name);
    kn_status status = write_header(&header, w, &place);
    if (!status) status = kni_store_target(w, &file);
    if (!status) {
        status = (file.temporary || file.memory ? write_content : write_pipe)(&file, w, &header, place);
        if (status)
            kni_atomic_cancel(&file);
        else
            status = kni_atomic_commit(&file);
    }
    kni_buffer_free(&header);
    return status;
}

/* ---- the choice */

typedef struct ending {
    const char *text;
    kn_store_format format;
    kn_status (*write)(kni_store_writing *w);
} ending;

static const ending endings[] = {{".safetensors", KN_STORE_SAFETENSORS, kni_safetensors_write},
                                 {".npz", KN_STORE_NUMPY, kni_npz_write},
                                 {".npy", KN_STORE_NUMPY, kni_npy_write},
                                 {".pt", KN_STORE_PYTORCH, NULL},
                                 {".pth", KN_STORE_PYTORCH, NULL}};

static const ending *choose(const char *path, kn_store_format format)
{
    size_t length = strlen(path), n;
    const ending *first = NULL;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const ending *e = &endings[i];
        if (format != KN_STORE_AUTO && format != e->format) continue;
        if (!first) first = e;
        n = strlen(e->text);
        if (length > n && !strcmp(path + length - n, e->text)) return e;
    }
    return first;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void sort_names(const char **names, size_t count)
{
    if (count) qsort(names, count, sizeof *names, by_bytes);
}

static kn_status check_names(const kni_store_writing *w)
{
    for (int64_t i = 0; i < w->text_count; i++) {
        if (i && !strcmp(w->texts[i].name, w->texts[i - 1].name))
            return kni_failure(KN_ERROR_ARGUMENT, "writing '%s': the text '%s' is given twice", w->path,
                               w->texts[i].name);
        if (kni_store_is_own_text(w->texts[i].name))
            return kni_failure(KN_ERROR_ARGUMENT, "writing '%s': the text '%s' is Kiln's own", w->path,
                               w->texts[i].name);
        if (!kni_json_is_text(w->texts[i].name, strlen(w->texts[i].name)))
            return kni_failure(KN_ERROR_ARGUMENT, "writing '%s': the name of a text, '%s', is not UTF-8",
                               w->path, w->texts[i].name);
    }
    const char **names = malloc(((size_t)w->count + 1) * sizeof *names);
    if (!names) return kni_failure_memory("writing a store");
    kn_status status = KN_OK;
    for (int64_t i = 0; i < w->count; i++) names[i] = w->values[i].name;
    sort_names(names, (size_t)w->count);
    for (int64_t i = 0; i < w->count && !status; i++) {
        if (!strcmp(names[i], "__metadata__") || !*names[i])
            status = kni_failure(KN_ERROR_ARGUMENT, "writing '%s': a tensor cannot be called '%s'", w->path,
                                 names[i]);
        else if (!kni_json_is_text(names[i], strlen(names[i])))
            status = kni_failure(KN_ERROR_ARGUMENT, "writing '%s': the name of a tensor, '%s', is not UTF-8",
                                 w->path, names[i]);
        else if (i && !strcmp(names[i], names[i - 1]))
            status = kni_failure(KN_ERROR_ARGUMENT, "writing '%s': two tensors are called '%s'", w->path,
                                 names[i]);
    }
    free(names);
    return status;
}

kn_status kni_store_write(kni_store_writing *w, kn_store_format format)
{
    if ((int)format < KN_STORE_AUTO || format > KN_STORE_NUMPY)
        return kni_failure(KN_ERROR_ARGUMENT, "writing '%s': unknown format %d", w->path, (int)format);
    const ending *e = choose(w->path, format);
    if (!e->write)
        return kni_failure(KN_ERROR_UNSUPPORTED,
                           "writing '%s': PyTorch files are read, not written; write .safetensors, which "
                           "safetensors.torch.load_file reads",
                           w->path);
    for (int64_t i = 0; i < w->text_count; i++) w->texts[i].length = strlen(w->texts[i].text);
    if (w->text_count) qsort(w->texts, (size_t)w->text_count, sizeof *w->texts, by_text);
    kn_status status = check_names(w);
    return status ? status : e->write(w);
}
