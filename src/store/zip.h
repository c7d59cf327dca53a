/* Zip archives: the central directory (also of 64-bit archives), stored entries in place, deflated ones through zlib when it
   is there, and the checksums of both; and a writer of stored entries. */
#ifndef KNI_STORE_ZIP_H
#define KNI_STORE_ZIP_H

#include "store/store_object.h"

typedef struct kni_zip_entry {
    const char *name; /* in the archive's block of names */
    uint64_t header;  /* place of the entry's own header in the file */
    uint64_t packed, bytes;
    uint32_t crc;
    uint16_t method, flags; /* method: 0 stored, 8 deflated */
    bool checked;           /* its bytes were compared with crc */
} kni_zip_entry;

struct kni_zip {
    kni_zip_entry *entries;
    int64_t count;
    uint64_t packed;  /* bytes of all entries */
    int64_t *by_name; /* positions sorted by name */
    char *names;
};

/* Whether an entry has to be inflated; false for -1, which is none. */
static inline bool kni_zip_packed(const kni_zip *zip, int64_t entry)
{
    return entry >= 0 && zip->entries[entry].method != 0;
}

/* Every entry of the directory is compared with its own header, so that a damaged name hides none. NULL with kn_last_error(). */
kni_zip *kni_zip_open(const kni_source *source);
/* Opens the archive of a store, once, and refuses one whose packed entries are larger than the store's limit or its file
   justify, before any of them is inflated. */
kn_status kni_zip_open_store(kni_store *store);
void kni_zip_free(kni_zip *zip);
/* The position of an entry, -1 when there is none. */
int64_t kni_zip_find(const kni_zip *zip, const char *name);
/* Where the bytes of an entry begin. */
kn_status kni_zip_place(const kni_zip *zip, const kni_source *source, int64_t entry, uint64_t *place);
/* Inflates an entry and copies bytes from offset on; the first time it goes on to the end and compares the checksum. */
kn_status kni_zip_inflate(const kni_zip *zip, const kni_source *source, int64_t entry, uint64_t offset,
                          void *out, size_t bytes);
/* Compares the bytes of a stored entry with its checksum, once. */
kn_status kni_zip_check(const kni_zip *zip, const kni_source *source, int64_t entry);
/* Says whether crc, of all bytes of the entry, is what the archive has, and remembers a good one. */
kn_status kni_zip_compare(const kni_source *source, kni_zip_entry *entry, uint32_t crc);
/* Reads bytes of an entry, stored or deflated, without a look at the checksum of a stored one. */
kn_status kni_zip_read(const kni_zip *zip, const kni_source *source, int64_t entry, uint64_t offset,
                       void *out, size_t bytes);
/* A whole entry of at most limit bytes into a buffer, with its checksum compared. */
kn_status kni_zip_read_all(const kni_zip *zip, const kni_source *source, int64_t entry, size_t limit,
                           kni_buffer *out);

#endif
