/* Deflated entries of zip archives; and the checksum of zip. */
#include "store/zip.h"
#include "support/failure.h"
#include "support/library_zlib.h"
#include <stdlib.h>
#include <string.h>

enum { WORTH_TABLES = 1 << 13 };

/* The remainders of all half bytes for the polynomial of zip: two steps a byte, no table to fill first. */
static const uint32_t half[16] = {0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
                                  0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
                                  0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c};

static uint32_t crc_bytes(uint32_t crc, const unsigned char *p, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        crc ^= p[i];
        crc = crc >> 4 ^ half[crc & 15];
        crc = crc >> 4 ^ half[crc & 15];
    }
    return crc;
}

/* Eight bytes at a time: table k has the remainder of each byte that k others follow. The tables are made anew for each call,
   which long data pays for and which needs no state that threads share. */
static uint32_t crc_words(uint32_t crc, const unsigned char **p, size_t *bytes)
{
    uint32_t table[8][256];
    for (uint32_t i = 0; i < 256; i++) table[0][i] = crc_bytes(i, (const unsigned char *)"", 1);
    for (int k = 1; k < 8; k++)
        for (int i = 0; i < 256; i++) table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 255];
    const unsigned char *at = *p, *end = at + *bytes / 8 * 8;
    for (; at < end; at += 8) {
        uint32_t low = crc ^ (uint32_t)kni_little(at, 4), high = (uint32_t)kni_little(at + 4, 4);
        crc = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^
              table[4][low >> 24] ^ table[3][high & 255] ^ table[2][high >> 8 & 255] ^
              table[1][high >> 16 & 255] ^ table[0][high >> 24];
    }
    *p = end;
    *bytes %= 8;
    return crc;
}

uint32_t kni_crc32(uint32_t crc, const void *data, size_t bytes)
{
    const unsigned char *p = data;
    crc = ~crc;
    if (bytes >= WORTH_TABLES) crc = crc_words(crc, &p, &bytes);
    return ~crc_bytes(crc, p, bytes);
}

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
            return kni_source_bad(s->source, "entry '%s' does not inflate: %s", s->entry->name,
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
