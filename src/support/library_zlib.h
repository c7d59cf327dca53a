/* Inflating through the system's zlib, opened at run time. KNI_WITH_ZLIB says whether its header was there at build time; the
   functions are there only then. */
#ifndef KNI_SUPPORT_LIBRARY_ZLIB_H
#define KNI_SUPPORT_LIBRARY_ZLIB_H

#include <kn/base.h>

#if defined(__has_include)
#if __has_include(<zlib.h>)
#define KNI_WITH_ZLIB 1
#include <zlib.h>

/* Opens zlib and starts a stream; bits as inflateInit2 takes them. End it only after KN_OK. */
kn_status kni_zlib_begin(z_stream *z, int bits);
/* As zlib's inflate, inflateReset and inflateEnd, with their codes. */
int kni_zlib_inflate(z_stream *z, int flush);
int kni_zlib_reset(z_stream *z);
void kni_zlib_end(z_stream *z);
#endif
#endif

#endif
