/* Element types that are only stored: floats of eight bits and below, powers of two, integers of four and two bits. An element is
   one code in the low bits of a byte; files hold the codes of narrow types packed (kni_pack). Arithmetic casts first. */
#ifndef KNI_SMALL_TYPES_H
#define KNI_SMALL_TYPES_H

#include "core/dtype.h"

/* The value of a code; bits above those of the type are ignored. */
double kni_small_value(int dtype, unsigned code);
/* The code nearest to the value, ties to the even one. Above the largest: infinity, else NaN, else the largest; with `saturate`
   always the largest. Integers truncate and wrap, or saturate. NaN where the type has none: negative zero, 0 in integers. A power of
   two takes 0 for its smallest and has no negative values: these are NaN. */
unsigned kni_small_code(int dtype, double value, bool saturate);

/* kni_convert where one of the two dtypes is stored: by way of f64, integers to integers by their lowest bits. It does not saturate. */
void kni_convert_small(void *to, int to_dtype, int64_t to_stride, const void *from, int from_dtype,
                       int64_t from_stride, int64_t n);

/* How many codes there are: 256, 16 or 4. */
static inline unsigned kni_small_count(int dtype) { return 1u << kni_dtypes[dtype].bits; }

/* n codes to or from (n * bits + 7) / 8 bytes, the first in the lowest bits. Bytes that are not filled end in zeros. */
void kni_pack(void *packed, const uint8_t *codes, int64_t n, int bits);
void kni_unpack(uint8_t *codes, const void *packed, int64_t n, int bits);

#endif
