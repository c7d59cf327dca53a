/* Deflated entries of zip archives. */
#include "store/zip.h"
#include "support/checksum.h"
#include "support/failure.h"
#include "support/library_zlib.h"
#include <stdlib.h>
#include <string.h>

#ifndef KNI_WITH_ZLIB
kn_status kni_zip_inflate(const kni_zip *zip, const kni_source *source, int64_t entry, uint64_t offset,
                          void *out, size_t bytes)
{
    (void)zip, (void)entry, (void)offset, (void)out, (void)bytes;
    return kni_failure(KN_ERROR_UNSUPPORTED,
                       "%s: the archive is compressed, and Kiln was built without zlib's header; store it "
                       "uncompressed (numpy.savez)",
                       source->name);
}
#else

enum { CHUNK = 1 << 16 };

typedef struct inflating {
    const kni_source *source;
    kni_zip_entry *entry;
    z_stream z;
    uint64_t next, left; /* packed bytes that were not read yet */
    uint32_t crc;
    unsigned char *input;
} inflating;

/* Fills out completely. */
static kn_status inflate_some(inflating *s, unsigned char *out, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        if (s->z.avail_in == 0 && s->left) {
            size_t take = s->left < CHUNK ? (size_t)s->left : CHUNK;
            kn_status status = kni_source_read(s->source, s->next, s->input, take);
            if (status) return status;
            s->next += take;
            s->left -= take;
            s->z.next_in = s->input;
            s->z.avail_in = (unsigned)take;
        }
        unsigned room = bytes - done < (1u << 30) ? (unsigned)(bytes - done) : 1u << 30;
        s->z.next_out = out + done;
        s->z.avail_out = room;
        int result = kni_zlib_inflate(&s->z, Z_NO_FLUSH);
        size_t made = room - s->z.avail_out;
        s->crc = kni_crc32(s->crc, out + done, made);
        done += made;
        if (result == Z_MEM_ERROR) return kni_failure_memory("inflating");
        if (result != Z_OK && !(result == Z_STREAM_END && done == bytes))
            return kni_source_damaged(s->source, "entry '%s' does not inflate: %s", s->entry->name,
                                      s->z.msg                 ? s->z.msg
                                      : result == Z_STREAM_END ? "it ends early"
                                                               : "the data was cut");
    }
    return KN_OK;
}

static kn_status inflate_away(inflating *s, uint64_t bytes)
{
    kn_status status = KN_OK;
    while (bytes && !status) {
        size_t take = bytes < CHUNK ? (size_t)bytes : CHUNK;
        status = inflate_some(s, s->input + CHUNK, take);
        bytes -= take;
    }
    return status;
}

static kn_status inflate_part(inflating *s, uint64_t offset, void *out, size_t bytes)
{
    kn_status status = inflate_away(s, offset);
    if (!status) status = inflate_some(s, out, bytes);
    if (status || __atomic_load_n(&s->entry->checked, __ATOMIC_RELAXED)) return status;
    status = inflate_away(s, s->entry->bytes - offset - bytes);
    return status ? status : kni_zip_compare(s->source, s->entry, s->crc);
}

kn_status kni_zip_inflate(const kni_zip *zip, const kni_source *source, int64_t entry, uint64_t offset,
                          void *out, size_t bytes)
{
    inflating s = {.source = source, .entry = &zip->entries[entry]};
    kn_status status = kni_zip_place(zip, source, entry, &s.next);
    if (status) return status;
    s.left = s.entry->packed;
    s.input = malloc(2 * CHUNK);
    if (!s.input) return kni_failure_memory("inflating");
    /* Negative bits: deflate data without a header of zlib. */
    status = kni_zlib_begin(&s.z, -MAX_WBITS);
    if (!status) {
        status = inflate_part(&s, offset, out, bytes);
        kni_zlib_end(&s.z);
    }
    free(s.input);
    return status;
}
#endif
