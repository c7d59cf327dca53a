/* Bytes from outside whose elements use few of their bits: a bool is 0 or 1, a type of 4 bits is below 16. Kernels count on that, so
   other bytes are put right on the way in: a bool becomes 1, a narrow type loses the bits it does not have. */
#ifndef KNI_SPARE_BITS_H
#define KNI_SPARE_BITS_H

#include "core/dtype.h"

/* The largest byte that an element can be; 0 where every byte is one. */
static inline unsigned kni_largest_byte(int dtype)
{
    int bits = kni_dtypes[dtype].bits;
    return kni_is_bool(dtype) ? 1 : bits < 8 ? (1u << bits) - 1 : 0;
}

/* Whether n bytes, `stride` apart, are within the largest. */
static inline bool kni_are_within(const unsigned char *from, int64_t stride, int64_t n, unsigned largest)
{
    /* Each largest byte is a power of two less one: the union of all bytes is above it where one of them is. */
    unsigned char all = 0;
    for (int64_t i = 0; i < n; i++) all |= from[i * stride];
    return all <= largest;
}

/* `to` and `from` may be the same. */
static inline void kni_copy_within(unsigned char *to, const unsigned char *from, int64_t stride, int64_t n,
                                   unsigned largest)
{
    if (largest == 1)
        for (int64_t i = 0; i < n; i++) to[i] = from[i * stride] != 0;
    else
        for (int64_t i = 0; i < n; i++) to[i] = (unsigned char)(from[i * stride] & largest);
}

#endif
