/* Folders of texts: every file is checked to be UTF-8; UTF-16 with a byte order mark is converted. */
#include "data/data_internal.h"
#include <stdlib.h>
#include <string.h>

/* The length of the UTF-8 character at p, 0 when it is none (overlong, surrogate, cut). */
static size_t utf8_length(const uint8_t *p, size_t left)
{
    if (p[0] < 0x80) return 1;
    size_t n = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || n > left) return 0;
    for (size_t i = 1; i < n; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
        (p[0] == 0xf4 && p[1] > 0x8f))
        return 0;
    return n;
}

static void append_utf8(kni_buffer *out, uint32_t c)
{
    uint8_t b[4];
    size_t n = 0;
    if (c < 0x80)
        b[n++] = (uint8_t)c;
    else {
        if (c >= 0x10000) {
            b[n++] = (uint8_t)(0xf0 | c >> 18);
            b[n++] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
        } else if (c >= 0x800)
            b[n++] = (uint8_t)(0xe0 | c >> 12);
        if (c >= 0x800)
            b[n++] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        else
            b[n++] = (uint8_t)(0xc0 | c >> 6);
        b[n++] = (uint8_t)(0x80 | (c & 0x3f));
    }
    kni_buffer_append(out, b, n);
}

static kn_status decode_utf16(const uint8_t *p, size_t bytes, bool big, const char *name, kni_buffer *out)
{
    if (bytes % 2) return kni_failure(KN_ERROR_ARGUMENT, "%s: UTF-16 with an odd number of bytes", name);
    for (size_t i = 2; i < bytes; i += 2) {
        uint32_t c = big ? (uint32_t)p[i] << 8 | p[i + 1] : (uint32_t)p[i + 1] << 8 | p[i];
        if (c >= 0xd800 && c < 0xdc00 && i + 3 < bytes) {
            uint32_t low = big ? (uint32_t)p[i + 2] << 8 | p[i + 3] : (uint32_t)p[i + 3] << 8 | p[i + 2];
            if (low >= 0xdc00 && low < 0xe000) {
                c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
                i += 2;
            }
        }
        if (!c || (c >= 0xd800 && c < 0xe000))
            return kni_failure(KN_ERROR_ARGUMENT, "%s: no character, or half of one, in UTF-16 at byte %llu",
                               name, (unsigned long long)i);
        append_utf8(out, c);
    }
    return out->failed ? kni_failure_memory("kn_dataset_text_folder") : KN_OK;
}

kn_status kni_text_decode(const void *data, size_t bytes, const char *name, kni_buffer *out)
{
    const uint8_t *p = data;
    if (bytes >= 2 && ((p[0] == 0xff && p[1] == 0xfe) || (p[0] == 0xfe && p[1] == 0xff)))
        return decode_utf16(p, bytes, p[0] == 0xfe, name, out);
    size_t start = bytes >= 3 && !memcmp(p, "\xef\xbb\xbf", 3) ? 3 : 0;
    int64_t line = 1;
    for (size_t i = start, n; i < bytes; i += n) {
        n = utf8_length(p + i, bytes - i);
        if (!n || !p[i])
            return kni_failure(KN_ERROR_ARGUMENT, "%s:%lld: byte %llu (0x%02x) is not UTF-8 text", name,
                               (long long)line, (unsigned long long)i, p[i]);
        if (p[i] == '\n') line++;
    }
    kni_buffer_append(out, p + start, bytes - start);
    return out->failed ? kni_failure_memory("kn_dataset_text_folder") : KN_OK;
}

static int64_t texts_length(void *self) { return ((kni_class_files *)self)->paths.count; }

static kn_status texts_get(void *self, int64_t index, const kn_sample_key *key, kn_sample *sample)
{
    (void)key;
    const kni_class_files *files = self;
    const char *path = kni_names_at(&files->paths, index);
    kni_buffer file = {0}, text = {0};
    kn_status status = kni_file_read(path, 0, &file);
    if (status == KN_OK) status = kni_text_decode(file.data ? file.data : "", file.length, path, &text);
    if (status == KN_OK)
        status =
            kn_sample_add(sample, kn_from(kni_buffer_string(&text), KN_U8, KN_SHAPE((int64_t)text.length)));
    kni_buffer_free(&file);
    kni_buffer_free(&text);
    if (status != KN_OK) return status;
    return kn_sample_add(sample, kn_scalar_int(kni_class_files_label(files, index), KN_I64));
}

static void texts_close(void *self)
{
    kni_class_files_free(self);
    free(self);
}

static const char *texts_name_at(void *self, int64_t index)
{
    return kni_names_at(&((kni_class_files *)self)->classes, index);
}

static const kn_dataset_type text_type = {"text folder", texts_length, texts_get,
                                          NULL,          texts_close,  texts_name_at};

kn_dataset kn_dataset_text_folder(const char *folder)
{
    KNI_NAMED;
    if (kni_given(folder, __func__, "folder") != KN_OK) return NULL;
    kni_class_files *files = calloc(1, sizeof *files);
    if (!files) {
        kni_failure_memory("kn_dataset_text_folder");
        return NULL;
    }
    return kni_dataset_finish(&text_type, files, kni_class_files_read(files, folder, &(kni_class_rules){0}));
}
