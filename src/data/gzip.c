/* Gzip files and the packed pixels of masks through zlib, opened at run time. */
#include "data/data_internal.h"
#include "support/library.h"
#include <string.h>

bool kni_is_gzip(const void *data, size_t bytes) { return bytes >= 2 && !memcmp(data, "\x1f\x8b", 2); }

#if __has_include(<zlib.h>)
#include <zlib.h>

static int (*inflate_init)(z_streamp, int, const char *, int);
static int (*inflate_more)(z_streamp, int);
static int (*inflate_reset)(z_streamp);
static int (*inflate_end)(z_streamp);

static const kni_library_symbol symbols[] = {{"inflateInit2_", (void **)(void *)&inflate_init},
                                             {"inflate", (void **)(void *)&inflate_more},
                                             {"inflateReset", (void **)(void *)&inflate_reset},
                                             {"inflateEnd", (void **)(void *)&inflate_end},
                                             {0}};
static const char *const files[] = {"libz.so.1", "libz.so", "libz.dylib", NULL};
static kni_library library = {"reading .gz files and masks", "zlib1g", files, symbols, 0};

/* Inflates until the input ends; a file may hold several members one after the other. What comes out is bounded by what went in
   (zlib expands to at most 1032 times), so a hostile file cannot ask for more memory than that. */
static kn_status inflate_all(z_stream *z, const char *name, kni_buffer *out)
{
    enum { PIECE = 1 << 18 };
    for (;;) {
        if (!kni_buffer_reserve(out, PIECE)) return kni_failure_memory("kni_gunzip");
        z->next_out = (Bytef *)(out->data + out->length);
        z->avail_out = PIECE;
        int code = inflate_more(z, Z_NO_FLUSH);
        out->length += PIECE - z->avail_out;
        if (code == Z_STREAM_END && !z->avail_in) break;
        if (code == Z_STREAM_END) {
            /* Zeros behind the last member are padding. */
            if (*z->next_in == 0) break;
            if (inflate_reset(z) == Z_OK) continue;
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
    kn_status status = kni_library_open(&library);
    if (status != KN_OK) return status;
    if (bytes > UINT32_MAX) return kni_failure(KN_ERROR_UNSUPPORTED, "%s: above 4 GB of gzip data", name);
    z_stream z = {0};
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)bytes;
    if (inflate_init(&z, 16 + MAX_WBITS, ZLIB_VERSION, (int)sizeof z) != Z_OK)
        return kni_failure(KN_ERROR_UNSUPPORTED, "%s: zlib refuses to start", name);
    status = inflate_all(&z, name, out);
    inflate_end(&z);
    return status;
}

kn_status kni_inflate(const void *data, size_t bytes, const char *name, uint8_t *out, size_t size)
{
    kn_status status = kni_library_open(&library);
    if (status != KN_OK) return status;
    if (bytes > UINT32_MAX || size > UINT32_MAX)
        return kni_failure(KN_ERROR_UNSUPPORTED, "%s: above 4 GB of packed data", name);
    z_stream z = {.next_in = (Bytef *)(uintptr_t)data,
                  .avail_in = (uInt)bytes,
                  .next_out = out,
                  .avail_out = (uInt)size};
    if (inflate_init(&z, MAX_WBITS, ZLIB_VERSION, (int)sizeof z) != Z_OK)
        return kni_failure(KN_ERROR_UNSUPPORTED, "%s: zlib refuses to start", name);
    int code = inflate_more(&z, Z_FINISH);
    inflate_end(&z);
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
