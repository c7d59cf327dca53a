/* Gzip files and the packed pixels of masks. */
#include "data/data_internal.h"
#include "support/library_zlib.h"
#include <string.h>

bool kni_is_gzip(const void *data, size_t bytes) { return bytes >= 2 && !memcmp(data, "\x1f\x8b", 2); }

#ifdef KNI_WITH_ZLIB

/* Data sets shrink to a third or a tenth; a small file of zeros that becomes gigabytes is none. */
enum { FREE_BYTES = 1 << 24, LARGEST_RATIO = 32 };

/* Inflates until the input ends; a file may hold several members one after the other. */
static kn_status inflate_all(z_stream *z, size_t limit, const char *name, kni_buffer *out)
{
    enum { PIECE = 1 << 18 };
    for (;;) {
        if (out->length > limit)
            return kni_failure(
                KN_ERROR_IO,
                "%s: its gzip data inflates to more than 16 MB and %d times its size; if that is "
                "meant, gunzip the file first",
                name, LARGEST_RATIO);
        if (!kni_buffer_reserve(out, PIECE)) return kni_failure_memory("kni_gunzip");
        z->next_out = (Bytef *)(out->data + out->length);
        z->avail_out = PIECE;
        int code = kni_zlib_inflate(z, Z_NO_FLUSH);
        out->length += PIECE - z->avail_out;
        if (code == Z_STREAM_END && !z->avail_in) break;
        if (code == Z_STREAM_END) {
            /* Zeros behind the last member are padding. */
            if (*z->next_in == 0) break;
            if (kni_zlib_reset(z) == Z_OK) continue;
        }
        if (code == Z_OK && (z->avail_in || !z->avail_out)) continue;
        if (code == Z_OK || code == Z_BUF_ERROR)
            return kni_failure(KN_ERROR_IO, "%s: the file is truncated (its gzip data has no end)", name);
        return kni_failure(KN_ERROR_IO, "%s: broken gzip data (%s)", name,
                           z->msg ? z->msg : "no reason given");
    }
    out->data[out->length] = 0;
    return KN_OK;
}

kn_status kni_gunzip(const void *data, size_t bytes, const char *name, kni_buffer *out)
{
    if (bytes > UINT32_MAX) return kni_failure(KN_ERROR_UNSUPPORTED, "%s: above 4 GB of gzip data", name);
    z_stream z = {0};
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)bytes;
    kn_status status = kni_zlib_begin(&z, 16 + MAX_WBITS);
    if (status) return status;
    status = inflate_all(&z, FREE_BYTES + LARGEST_RATIO * bytes, name, out);
    kni_zlib_end(&z);
    return status;
}

kn_status kni_inflate(const void *data, size_t bytes, const char *name, uint8_t *out, size_t size)
{
    if (bytes > UINT32_MAX || size > UINT32_MAX)
        return kni_failure(KN_ERROR_UNSUPPORTED, "%s: above 4 GB of packed data", name);
    z_stream z = {.next_in = (Bytef *)(uintptr_t)data,
                  .avail_in = (uInt)bytes,
                  .next_out = out,
                  .avail_out = (uInt)size};
    kn_status status = kni_zlib_begin(&z, MAX_WBITS);
    if (status) return status;
    int code = kni_zlib_inflate(&z, Z_FINISH);
    kni_zlib_end(&z);
    if (code == Z_STREAM_END && !z.avail_out) return KN_OK;
    return kni_failure(KN_ERROR_IO, "%s: the packed data is broken or not of the size expected", name);
}
#else
static kn_status no_zlib(const char *name, const char *advice)
{
    return kni_failure(KN_ERROR_UNSUPPORTED,
                       "%s: this build reads no packed data: zlib.h was absent (Debian: apt install "
                       "zlib1g-dev)%s",
                       name, advice);
}

kn_status kni_inflate(const void *data, size_t bytes, const char *name, uint8_t *out, size_t size)
{
    (void)data, (void)bytes, (void)out, (void)size;
    return no_zlib(name, "");
}

kn_status kni_gunzip(const void *data, size_t bytes, const char *name, kni_buffer *out)
{
    (void)data, (void)bytes, (void)out;
    return no_zlib(name, "; gunzip the file instead");
}
#endif
