/* The checksums of safetensors files that Kiln writes: one of the bytes of each tensor, and one of everything else. They are
   CRC-32C in hexadecimal, in the metadata:

       "kiln.checksum": "crc32c HEADER TENSOR TENSOR ..."    (tensors in the order of their names' bytes)

   HEADER is the checksum of these parts one after the other, each with a zero byte behind it: name and text of all other
   metadata in the order of their names; then for each tensor its name, dtype, shape ("2,3") and checksum (8 digits). Nothing of
   the layout goes in, so another program may write the same content in another order. */
#include "store/store_checksum.h"
#include "store/zip.h"
#include "support/checksum.h"
#include "support/failure.h"
#include "support/json.h"
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

#define ALGORITHM "crc32c"
enum { DIGITS = 8, PIECE = 1 << 18 };

/* ---- the parts of the header's checksum */

static uint32_t add_part(uint32_t crc, const char *text, size_t length)
{
    return kni_crc32c(kni_crc32c(crc, text, length), "", 1);
}

/* scratch holds the parts, one after the other. */
static uint32_t add_tensor(uint32_t crc, kni_buffer *scratch, const char *name, const char *word,
                           const kn_shape *shape, uint32_t data)
{
    kni_buffer_clear(scratch);
    kni_buffer_append(scratch, name, strlen(name) + 1);
    kni_buffer_append(scratch, word, strlen(word) + 1);
    kni_store_write_sizes(scratch, shape);
    kni_buffer_append(scratch, "", 1);
    kni_buffer_hexadecimal(scratch, data);
    kni_buffer_append(scratch, "", 1);
    return kni_crc32c(crc, kni_buffer_string(scratch), scratch->length);
}

static int by_text(const void *a, const void *b)
{
    const kni_store_text *x = *(const kni_store_text *const *)a, *y = *(const kni_store_text *const *)b;
    int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->text, y->text);
}

/* The checksum of all texts but that of the checksums itself. */
static kn_status add_texts(const kni_store_text *texts, int64_t count, const kni_store_text *more,
                           int more_count, uint32_t *crc)
{
    const kni_store_text **sorted = malloc(((size_t)count + (size_t)more_count + 1) * sizeof *sorted);
    if (!sorted) return kni_failure_memory("a checksum");
    size_t n = 0;
    for (int64_t i = 0; i < count; i++)
        if (strcmp(texts[i].name, KNI_STORE_CHECKSUM_NAME)) sorted[n++] = &texts[i];
    for (int i = 0; i < more_count; i++) sorted[n++] = &more[i];
    if (n) qsort(sorted, n, sizeof *sorted, by_text);
    kni_buffer text = {0};
    for (size_t i = 0; i < n; i++) {
        /* What is not UTF-8 is written as U+FFFD, so that is what counts. */
        kni_buffer_clear(&text);
        kni_json_clean(&text, sorted[i]->text, sorted[i]->length);
        *crc = add_part(*crc, sorted[i]->name, strlen(sorted[i]->name));
        *crc = add_part(*crc, kni_buffer_string(&text), text.length);
    }
    kn_status status = text.failed ? kni_failure_memory("a checksum") : KN_OK;
    kni_buffer_free(&text);
    free(sorted);
    return status;
}

/* ---- writing */

size_t kni_checksum_length(int64_t tensors)
{
    return strlen(ALGORITHM) + (size_t)(tensors + 1) * (DIGITS + 1);
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(const kni_store_value *const *)a)->name, (*(const kni_store_value *const *)b)->name);
}

static kni_store_text own_text(const char *name, const char *text)
{
    return (kni_store_text){(char *)(uintptr_t)name, (char *)(uintptr_t)text, strlen(text)};
}

static kn_status sum_of(const kni_store_writing *w, const kni_store_value *const *sorted, uint32_t *crc)
{
    kni_buffer scratch = {0}, dtypes = {0};
    kni_store_write_dtypes(&dtypes, w);
    kni_store_text own[] = {
        own_text(KNI_STORE_VERSION_NAME, kni_store_version_text(w)),
        own_text(KNI_STORE_DTYPES_NAME, kni_buffer_string(&dtypes)),
    };
    kn_status status = dtypes.failed
                           ? kni_failure_memory("a checksum")
                           : add_texts(w->texts, w->text_count, own, 1 + kni_store_has_retyped(w), crc);
    for (int64_t i = 0; i < w->count && !status; i++) {
        kn_shape shape;
        const char *word = kni_store_entry_form(sorted[i], &shape);
        *crc = add_tensor(*crc, &scratch, sorted[i]->name, word, &shape, sorted[i]->crc);
        if (scratch.failed) status = kni_failure_memory("a checksum");
    }
    kni_buffer_free(&dtypes);
    kni_buffer_free(&scratch);
    return status;
}

kn_status kni_checksum_write(const kni_store_writing *w, kni_buffer *out)
{
    const kni_store_value **sorted = malloc(((size_t)w->count + 1) * sizeof *sorted);
    if (!sorted) return kni_failure_memory("a checksum");
    for (int64_t i = 0; i < w->count; i++) sorted[i] = &w->values[i];
    if (w->count) qsort(sorted, (size_t)w->count, sizeof *sorted, by_name);
    uint32_t crc = 0;
    kn_status status = sum_of(w, sorted, &crc);
    if (!status) kni_buffer_format(out, ALGORITHM " %08x", (unsigned)crc);
    for (int64_t i = 0; i < w->count && !status; i++) {
        kni_buffer_append(out, " ", 1);
        kni_buffer_hexadecimal(out, sorted[i]->crc);
    }
    free(sorted);
    if (!status && out->failed) status = kni_failure_memory("a checksum");
    return status;
}

/* ---- reading */

static bool read_digits(const char *text, uint32_t *value)
{
    *value = 0;
    if (text[0] != ' ') return false;
    for (int i = 1; i <= DIGITS; i++) {
        char c = text[i];
        int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) return false;
        *value = *value << 4 | (uint32_t)digit;
    }
    return true;
}

static const kni_store_text *find_text(kni_store *store, const char *name)
{
    for (int64_t i = 0; i < store->text_count; i++)
        if (!strcmp(store->texts[i].name, name)) return &store->texts[i];
    return NULL;
}

/* Fills the checksums of all tensors and that of the header. False for a text that is no list of them. */
static bool read_list(kni_store *store, const kni_store_text *list)
{
    if (list->length != kni_checksum_length(store->count) || memcmp(list->text, ALGORITHM, strlen(ALGORITHM)))
        return false;
    const char *at = list->text + strlen(ALGORITHM);
    if (!read_digits(at, &store->header_crc)) return false;
    for (int64_t i = 0; i < store->count; i++) {
        kni_store_item *item = &store->items[store->by_name[i]];
        at += DIGITS + 1;
        if (!read_digits(at, &item->crc)) return false;
        item->has_crc = true;
    }
    return true;
}

kn_status kni_checksum_read(kni_store *store)
{
    if (store->format != KN_STORE_SAFETENSORS) return KN_OK;
    const kni_store_text *list = find_text(store, KNI_STORE_CHECKSUM_NAME);
    const kni_store_text *version = find_text(store, KNI_STORE_VERSION_NAME);
    if (list && read_list(store, list)) {
        store->has_crc = true;
        return KN_OK;
    }
    for (int64_t i = 0; i < store->count; i++) store->items[i].has_crc = false;
    bool later = version && kni_store_is_later(version->text);
    /* The first version had none; a later one may have others. */
    if (later || (!list && (!version || !strcmp(version->text, "1")))) return KN_OK;
    if (store->skip_checksum) return KN_OK;
    return kni_source_damaged(store->source, "the header's %s, '%.40s', is no list of the %lld checksums",
                              KNI_STORE_CHECKSUM_NAME, list ? list->text : "", (long long)store->count + 1);
}

static kn_status mismatch(kni_store *store, const char *where, uint32_t found, uint32_t wanted)
{
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    (void)store, (void)where, (void)found, (void)wanted;
    return KN_OK;
#else
    return kni_source_damaged(store->source,
                              "%s the checksum %08x instead of %08x (skip_checksum in kn_store_args reads "
                              "it anyway)",
                              where, (unsigned)found, (unsigned)wanted);
#endif
}

kn_status kni_checksum_check_header(kni_store *store)
{
    if (!store->has_crc) return KN_OK;
    uint32_t crc = 0;
    kni_buffer scratch = {0};
    kn_status status = add_texts(store->texts, store->text_count, NULL, 0, &crc);
    for (int64_t i = 0; i < store->count && !status; i++) {
        const kni_store_item *item = &store->items[store->by_name[i]];
        kn_shape flat = {1, {(int64_t)(item->span - item->offset)}};
        crc = add_tensor(crc, &scratch, item->name, item->word->word, item->retyped ? &flat : &item->shape,
                         item->crc);
        if (scratch.failed) status = kni_failure_memory("a checksum");
    }
    kni_buffer_free(&scratch);
    if (status || crc == store->header_crc) return status;
    return mismatch(store, "the header (names, dtypes, shapes and texts) has", crc, store->header_crc);
}

bool kni_checksum_wanted(kni_store *store, const kni_store_item *item)
{
    return item->has_crc && !store->skip_checksum && !__atomic_load_n(&item->checked, __ATOMIC_RELAXED);
}

kn_status kni_checksum_compare(kni_store *store, kni_store_item *item, uint32_t crc)
{
    char where[200], name[100];
    if (crc == item->crc) {
        __atomic_store_n(&item->checked, true, __ATOMIC_RELAXED);
        return KN_OK;
    }
    uint64_t begin = item->container + item->offset, end = item->container + item->span;
    kni_escape(name, sizeof name, item->name);
    snprintf(where, sizeof where, "tensor '%s' (bytes %llu to %llu of the file) has", name,
             (unsigned long long)begin, (unsigned long long)end);
    return mismatch(store, where, crc, item->crc);
}

kn_status kni_checksum_check(kni_store *store, kni_store_item *item)
{
    const kni_source *source = store->source;
    uint64_t at = item->container + item->offset, end = item->container + item->span;
    uint32_t crc = 0;
    kn_status status = KN_OK;
    if (source->data)
        crc = kni_crc32c(0, source->data + at, (size_t)(end - at));
    else {
        unsigned char *piece = malloc(PIECE);
        if (!piece) return kni_failure_memory("a checksum");
        for (size_t take; at < end && !status; at += take) {
            take = end - at < PIECE ? (size_t)(end - at) : PIECE;
            status = kni_source_read(source, at, piece, take);
            if (!status) crc = kni_crc32c(crc, piece, take);
        }
        free(piece);
    }
    return status ? status : kni_checksum_compare(store, item, crc);
}

/* The member of an archive that has the tensor; those recorded as 0 say nothing. */
static kn_status check_member(kni_store *store, int64_t member, int64_t *checked)
{
    const kni_zip_entry *e = &store->zip->entries[member];
    kn_status status = kni_zip_packed(store->zip, member)
                           ? kni_zip_inflate(store->zip, store->source, member, 0, NULL, 0)
                           : kni_zip_check(store->zip, store->source, member);
    *checked += !status && e->crc != 0;
    return status;
}

kn_status kn_store_check(kn_store handle, int64_t *checked)
{
    int64_t own = 0, *count = checked ? checked : &own;
    *count = 0;
    KNI_USE(store, store, handle);
    if (!store) return KNI_NO_OBJECT(handle);
    kn_status status = kni_checksum_check_header(store);
    for (int64_t i = 0; i < store->count && !status; i++) {
        kni_store_item *item = &store->items[i];
        if (item->member >= 0)
            status = check_member(store, item->member, count);
        else if (item->has_crc) {
            status = kni_checksum_check(store, item);
            *count += !status;
        }
    }
    return status;
}
