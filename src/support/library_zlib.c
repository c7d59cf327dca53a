/* Inflating through the system's zlib, opened at run time. */
#include "support/library_zlib.h"
#include "support/failure.h"
#include "support/library.h"

#ifdef KNI_WITH_ZLIB

static int (*init_function)(z_stream *, int, const char *, int);
static int (*inflate_function)(z_stream *, int);
static int (*reset_function)(z_stream *);
static int (*end_function)(z_stream *);

static const kni_library_symbol symbols[] = {{"inflateInit2_", (void **)(void *)&init_function},
                                             {"inflate", (void **)(void *)&inflate_function},
                                             {"inflateReset", (void **)(void *)&reset_function},
                                             {"inflateEnd", (void **)(void *)&end_function},
                                             {0}};
static kni_library library = {KNI_LIBRARY_ZLIB, "reading compressed data", symbols, 0};

kn_status kni_zlib_begin(z_stream *z, int bits)
{
    kn_status status = kni_library_open(&library);
    if (status) return status;
    int code = init_function(z, bits, ZLIB_VERSION, (int)sizeof *z);
    kni_library_wrote(z, sizeof *z);
    if (code == Z_OK) return KN_OK;
    if (code == Z_MEM_ERROR) return kni_failure_memory("inflating");
    return kni_failure(KN_ERROR_UNSUPPORTED, "reading compressed data: zlib refuses to start (code %d)",
                       code);
}

int kni_zlib_inflate(z_stream *z, int flush)
{
    unsigned char *out = z->next_out;
    unsigned room = z->avail_out;
    int code = inflate_function(z, flush);
    kni_library_wrote(z, sizeof *z);
    kni_library_wrote(out, room - z->avail_out);
    return code;
}

int kni_zlib_reset(z_stream *z)
{
    int code = reset_function(z);
    kni_library_wrote(z, sizeof *z);
    return code;
}

void kni_zlib_end(z_stream *z) { end_function(z); }

#else
/* A file of C has to declare something. */
typedef int kni_without_zlib;
#endif
