/* The directory of a zip archive. It is read from the end of the file, with every count and place checked against the file's
   size, so that a forged one costs no more memory than its own bytes. */
#include "store/zip.h"
#include "support/checksum.h"
#include "support/failure.h"
#include <stdlib.h>
#include <string.h>

enum {
    END_BYTES = 22,
    END64_BYTES = 56,
    LOCATOR_BYTES = 20,
    CENTRAL_BYTES = 46,
    LOCAL_BYTES = 30,
    LONGEST_COMMENT = 65535,
    STORED = 0,
    DEFLATED = 8,
    ENCRYPTED = 1,   /* a flag */
    STREAMED = 8,    /* a flag: sizes and checksum follow the bytes, and are 0 in the entry's own header */
    PIECE = 1 << 18, /* read at once for a checksum */
    LARGEST_HEADER = 1 << 21, /* of an array, besides its elements */
    /* What deflate can make of one byte at most. */
    LARGEST_RATIO = 1032
};
#define IN_64 UINT32_MAX

typedef struct directory {
    uint64_t place, bytes, count;
} directory;

static kn_status zip_bad(const kni_source *source, const char *what)
{
    return kni_source_damaged(source, "the zip archive: %s", what);
}

/* ---- the record at the end */

static kn_status read_end64(const kni_source *source, uint64_t end, directory *d)
{
    unsigned char locator[LOCATOR_BYTES], record[END64_BYTES];
    if (end < LOCATOR_BYTES) return KN_OK;
    kn_status status = kni_source_read(source, end - LOCATOR_BYTES, locator, sizeof locator);
    if (status || memcmp(locator, "PK\6\7", 4)) return status;
    status = kni_source_read(source, kni_little(locator + 8, 8), record, sizeof record);
    if (status) return status;
    if (memcmp(record, "PK\6\6", 4)) return zip_bad(source, "its 64-bit end record is missing");
    *d = (directory){kni_little(record + 48, 8), kni_little(record + 40, 8), kni_little(record + 32, 8)};
    return KN_OK;
}

static kn_status find_directory(const kni_source *source, directory *d)
{
    size_t tail = END_BYTES + LONGEST_COMMENT;
    if (source->bytes < END_BYTES) return zip_bad(source, "it is too short");
    if (source->bytes < tail) tail = (size_t)source->bytes;
    uint64_t start = source->bytes - tail;
    unsigned char *bytes = malloc(tail);
    if (!bytes) return kni_failure_memory("reading a zip archive");
    kn_status status = kni_source_read(source, start, bytes, tail);
    size_t at = tail - END_BYTES + 1;
    while (!status && at > 0) {
        const unsigned char *end = bytes + --at;
        if (memcmp(end, "PK\5\6", 4) || kni_little(end + 20, 2) != tail - END_BYTES - at) continue;
        *d = (directory){kni_little(end + 16, 4), kni_little(end + 12, 4), kni_little(end + 10, 2)};
        status = read_end64(source, start + at, d);
        uint64_t limit = start + at;
        if (!status && (d->place > limit || d->bytes > limit - d->place))
            status = zip_bad(source, "its directory lies outside of the file");
        else if (!status && d->count > d->bytes / CENTRAL_BYTES)
            status = zip_bad(source, "its directory is shorter than the number of its entries");
        free(bytes);
        return status;
    }
    free(bytes);
    return status ? status : zip_bad(source, "it has no end record; the file was cut");
}

/* ---- entries */

/* Sizes and places that do not fit in 32 bits follow in an extra field, in this order and only those. */
static bool read_extra64(kni_zip_entry *e, const unsigned char *extra, size_t length)
{
    uint64_t *wide[3] = {&e->bytes, &e->packed, &e->header};
    while (length >= 4) {
        size_t id = (size_t)kni_little(extra, 2), bytes = (size_t)kni_little(extra + 2, 2);
        if (bytes > length - 4) return false;
        const unsigned char *field = extra + 4;
        extra += 4 + bytes;
        length -= 4 + bytes;
        if (id != 1) continue;
        for (int i = 0; i < 3; i++) {
            if (*wide[i] != IN_64) continue;
            if (bytes < 8) return false;
            *wide[i] = kni_little(field, 8);
            field += 8;
            bytes -= 8;
        }
        return true;
    }
    return e->bytes != IN_64 && e->packed != IN_64 && e->header != IN_64;
}

static kn_status check_entry(const kni_source *source, const kni_zip_entry *e)
{
    if (e->flags & ENCRYPTED)
        return kni_source_bad(source, "entry '%s' of the archive is encrypted", e->name);
    if (e->method != STORED && e->method != DEFLATED)
        return kni_source_bad(source, "entry '%s' is packed by method %u; stored and deflated are known",
                              e->name, e->method);
    if (e->method == STORED && e->packed != e->bytes)
        return kni_source_damaged(source, "entry '%s' of the archive has two sizes", e->name);
    if (e->method == DEFLATED && e->bytes / LARGEST_RATIO > e->packed)
        return kni_source_damaged(source, "entry '%s' claims %llu bytes out of %llu", e->name,
                                  (unsigned long long)e->bytes, (unsigned long long)e->packed);
    return KN_OK;
}

/* One record of the directory; *left is what follows it. */
static kn_status read_entry(kni_zip *zip, const kni_source *source, const unsigned char **at, size_t *left,
                            char **names)
{
    const unsigned char *p = *at;
    if (*left < CENTRAL_BYTES || memcmp(p, "PK\1\2", 4))
        return zip_bad(source, "an entry of its directory is none");
    size_t name = (size_t)kni_little(p + 28, 2), extra = (size_t)kni_little(p + 30, 2),
           comment = (size_t)kni_little(p + 32, 2);
    if (name + extra + comment > *left - CENTRAL_BYTES) return zip_bad(source, "its directory was cut");
    if (memchr(p + CENTRAL_BYTES, 0, name)) return zip_bad(source, "a name with a zero byte");
    kni_zip_entry *e = &zip->entries[zip->count++];
    e->name = *names;
    memcpy(*names, p + CENTRAL_BYTES, name);
    (*names)[name] = 0;
    *names += name + 1;
    e->flags = (uint16_t)kni_little(p + 8, 2);
    e->method = (uint16_t)kni_little(p + 10, 2);
    e->crc = (uint32_t)kni_little(p + 16, 4);
    e->packed = kni_little(p + 20, 4);
    e->bytes = kni_little(p + 24, 4);
    e->header = kni_little(p + 42, 4);
    if (!read_extra64(e, p + CENTRAL_BYTES + name, extra)) return zip_bad(source, "a 64-bit size is missing");
    *at += CENTRAL_BYTES + name + extra + comment;
    *left -= CENTRAL_BYTES + name + extra + comment;
    if (e->header > source->bytes || e->packed > source->bytes - e->header)
        return kni_source_damaged(source, "entry '%s' of the archive lies outside of the file", e->name);
    /* Entries that share their bytes would make much of a small file. */
    zip->packed += e->packed;
    return zip->packed <= source->bytes ? KN_OK : zip_bad(source, "its entries overlap");
}

static int by_name(const void *a, const void *b)
{
    return strcmp((*(kni_zip_entry *const *)a)->name, (*(kni_zip_entry *const *)b)->name);
}

/* Two entries of one name would let two readers see different files. */
static kn_status sort_entries(kni_zip *zip, const kni_source *source)
{
    size_t n = (size_t)zip->count;
    kni_zip_entry **sorted = malloc((n + 1) * sizeof *sorted);
    if (!sorted) return kni_failure_memory("reading a zip archive");
    for (size_t i = 0; i < n; i++) sorted[i] = &zip->entries[i];
    qsort(sorted, n, sizeof *sorted, by_name);
    kn_status status = KN_OK;
    for (size_t i = 0; i < n && !status; i++) {
        zip->by_name[i] = sorted[i] - zip->entries;
        if (i && !strcmp(sorted[i]->name, sorted[i - 1]->name))
            status =
                kni_source_damaged(source, "two entries of the archive are called '%s'", sorted[i]->name);
    }
    free(sorted);
    return status;
}

static kn_status read_entries(kni_zip *zip, const kni_source *source, const directory *d)
{
    size_t count = (size_t)d->count, left = (size_t)d->bytes;
    unsigned char *bytes = malloc(left + 1);
    zip->entries = calloc(count + 1, sizeof *zip->entries);
    zip->by_name = malloc((count + 1) * sizeof *zip->by_name);
    /* Names are no longer than the directory, which has more than one byte around each. */
    zip->names = malloc(left + 1);
    kn_status status = KN_OK;
    if (!bytes || !zip->entries || !zip->by_name || !zip->names)
        status = kni_failure_memory("reading a zip archive");
    else
        status = kni_source_read(source, d->place, bytes, left);
    const unsigned char *at = bytes;
    char *names = zip->names;
    for (size_t i = 0; i < count && !status; i++) status = read_entry(zip, source, &at, &left, &names);
    free(bytes);
    if (!status && left) status = zip_bad(source, "its directory is longer than the number of its entries");
    return status ? status : sort_entries(zip, source);
}

/* What a damaged record of the directory says is not believed before the entry's own header says the same: it could be a name
   that nobody looks for, or a method that nobody knows. */
static kn_status check_entries(const kni_zip *zip, const kni_source *source)
{
    kn_status status = KN_OK;
    uint64_t place;
    for (int64_t i = 0; i < zip->count && !status; i++) {
        status = kni_zip_place(zip, source, i, &place);
        if (!status) status = check_entry(source, &zip->entries[i]);
    }
    return status;
}

kni_zip *kni_zip_open(const kni_source *source)
{
    directory d = {0, 0, 0};
    if (find_directory(source, &d)) return NULL;
    kni_zip *zip = calloc(1, sizeof *zip);
    if (!zip) {
        kni_failure_memory("reading a zip archive");
        return NULL;
    }
    if (!read_entries(zip, source, &d) && !check_entries(zip, source)) return zip;
    kni_zip_free(zip);
    return NULL;
}

/* The rule is the one for tensors (kni_store_check_item), met early: finding out what is in an entry inflates all of it. */
static kn_status check_packed(kni_store *store)
{
    const kni_zip *zip = store->zip;
    uint64_t total = 0, allowed = kni_store_free_bytes(store->source);
    if (store->limit > 0) allowed = (uint64_t)store->limit + LARGEST_HEADER;
    for (int64_t i = 0; i < zip->count; i++) {
        const kni_zip_entry *e = &zip->entries[i];
        if (e->method == STORED) continue;
        total = e->bytes > UINT64_MAX - total ? UINT64_MAX : total + e->bytes;
        if (store->limit > 0 && e->bytes > allowed)
            return kni_source_bad(store->source,
                                  "entry '%s' inflates to %llu bytes, more than the limit of %lld", e->name,
                                  (unsigned long long)e->bytes, (long long)store->limit);
        if (store->limit <= 0 && total > allowed)
            return kni_source_bad(
                store->source,
                "the entries up to '%s' inflate to %llu bytes, more than 32 times the %llu of "
                "the file; name a limit in kn_store_args to read them",
                e->name, (unsigned long long)total, (unsigned long long)store->source->bytes);
    }
    return KN_OK;
}

kn_status kni_zip_open_store(kni_store *store)
{
    if (store->zip) return KN_OK;
    store->zip = kni_zip_open(store->source);
    return store->zip ? check_packed(store) : KN_ERROR_IO;
}

void kni_zip_free(kni_zip *zip)
{
    if (!zip) return;
    free(zip->entries);
    free(zip->by_name);
    free(zip->names);
    free(zip);
}

int64_t kni_zip_find(const kni_zip *zip, const char *name)
{
    int64_t low = 0, high = zip->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        int order = strcmp(zip->entries[zip->by_name[middle]].name, name);
        if (order == 0) return zip->by_name[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

/* Whether the name of the entry's own header is that of the directory. */
static kn_status compare_name(const kni_source *source, const kni_zip_entry *e, size_t length)
{
    unsigned char piece[256];
    kn_status status = KN_OK;
    bool same = strlen(e->name) == length;
    for (size_t done = 0; same && done < length && !status;) {
        size_t take = length - done < sizeof piece ? length - done : sizeof piece;
        status = kni_source_read(source, e->header + LOCAL_BYTES + done, piece, take);
        same = !status && !memcmp(piece, e->name + done, take);
        done += take;
    }
    if (status || same) return status;
    return kni_source_damaged(
        source, "the archive's directory calls an entry '%s', whose own header has another name", e->name);
}

/* Whether what the entry's own header repeats of the directory is the same there. */
static kn_status compare_header(const kni_source *source, const kni_zip_entry *e, const unsigned char *local)
{
    size_t name = (size_t)kni_little(local + 26, 2), extra = (size_t)kni_little(local + 28, 2);
    kni_zip_entry own = {.packed = kni_little(local + 18, 4), .bytes = kni_little(local + 22, 4)};
    kn_status status = compare_name(source, e, name);
    if (status) return status;
    const char *differs = kni_little(local + 8, 2) != e->method ? "method" : NULL;
    if ((kni_little(local + 6, 2) ^ e->flags) & ENCRYPTED) differs = "flag of encryption";
    if (!(kni_little(local + 6, 2) & STREAMED)) {
        if (own.packed == IN_64 || own.bytes == IN_64) {
            unsigned char *fields = malloc(extra + 1);
            if (!fields) return kni_failure_memory("reading a zip archive");
            status = kni_source_read(source, e->header + LOCAL_BYTES + name, fields, extra);
            bool there = !status && read_extra64(&own, fields, extra);
            free(fields);
            if (status) return status;
            if (!there) differs = "size";
        }
        if (kni_little(local + 14, 4) != e->crc) differs = "checksum";
        if (own.packed != e->packed || own.bytes != e->bytes) differs = "size";
    }
    if (!differs) return KN_OK;
    return kni_source_damaged(
        source, "entry '%s' has one %s in the archive's directory and another in its own header", e->name,
        differs);
}

/* The entry's own header repeats most of the directory's record; its extra field may differ. */
kn_status kni_zip_place(const kni_zip *zip, const kni_source *source, int64_t entry, uint64_t *place)
{
    const kni_zip_entry *e = &zip->entries[entry];
    unsigned char local[LOCAL_BYTES];
    kn_status status = kni_source_read(source, e->header, local, sizeof local);
    if (status) return status;
    if (memcmp(local, "PK\3\4", 4))
        return kni_source_damaged(source, "entry '%s' of the archive has no header of its own", e->name);
    status = compare_header(source, e, local);
    if (status) return status;
    *place = e->header + LOCAL_BYTES + kni_little(local + 26, 2) + kni_little(local + 28, 2);
    if (*place > source->bytes || e->packed > source->bytes - *place)
        return kni_source_damaged(source, "entry '%s' of the archive was cut", e->name);
    return KN_OK;
}

kn_status kni_zip_read(const kni_zip *zip, const kni_source *source, int64_t entry, uint64_t offset,
                       void *out, size_t bytes)
{
    const kni_zip_entry *e = &zip->entries[entry];
    uint64_t place;
    if (offset > e->bytes || bytes > e->bytes - offset)
        return kni_source_damaged(source, "entry '%s' is shorter than its content says", e->name);
    if (e->method == DEFLATED) return kni_zip_inflate(zip, source, entry, offset, out, bytes);
    kn_status status = kni_zip_place(zip, source, entry, &place);
    return status ? status : kni_source_read(source, place + offset, out, bytes);
}

/* ---- checksums */

kn_status kni_zip_compare(const kni_source *source, kni_zip_entry *entry, uint32_t crc)
{
#ifndef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
    /* PyTorch can be told to write none (torch.serialization.set_crc32_options) and leaves a zero then. */
    if (crc != entry->crc && entry->crc != 0)
        return kni_source_damaged(source, "entry '%s' of the archive has the checksum %08x instead of %08x",
                                  entry->name, (unsigned)crc, (unsigned)entry->crc);
#else
    (void)source, (void)crc;
#endif
    __atomic_store_n(&entry->checked, true, __ATOMIC_RELAXED);
    return KN_OK;
}

kn_status kni_zip_check(const kni_zip *zip, const kni_source *source, int64_t entry)
{
    kni_zip_entry *e = &zip->entries[entry];
    if (e->method != STORED || __atomic_load_n(&e->checked, __ATOMIC_RELAXED)) return KN_OK;
    uint64_t place;
    kn_status status = kni_zip_place(zip, source, entry, &place);
    if (status) return status;
    if (source->data) return kni_zip_compare(source, e, kni_crc32(0, source->data + place, (size_t)e->bytes));
    unsigned char *piece = malloc(PIECE);
    if (!piece) return kni_failure_memory("reading a zip archive");
    uint32_t crc = 0;
    for (uint64_t done = 0; done < e->bytes && !status;) {
        size_t take = e->bytes - done < PIECE ? (size_t)(e->bytes - done) : PIECE;
        status = kni_source_read(source, place + done, piece, take);
        if (!status) crc = kni_crc32(crc, piece, take);
        done += take;
    }
    free(piece);
    return status ? status : kni_zip_compare(source, e, crc);
}

kn_status kni_zip_read_all(const kni_zip *zip, const kni_source *source, int64_t entry, size_t limit,
                           kni_buffer *out)
{
    uint64_t bytes = zip->entries[entry].bytes;
    if (bytes > limit)
        return kni_source_bad(source, "entry '%s' has %llu bytes, more than the %zu that are taken here",
                              zip->entries[entry].name, (unsigned long long)bytes, limit);
    if (!kni_buffer_reserve(out, (size_t)bytes + 1)) return kni_failure_memory("reading a zip archive");
    kn_status status = kni_zip_check(zip, source, entry);
    if (!status) status = kni_zip_read(zip, source, entry, 0, out->data + out->length, (size_t)bytes);
    if (!status) out->length += (size_t)bytes;
    if (!status) out->data[out->length] = 0;
    return status;
}
