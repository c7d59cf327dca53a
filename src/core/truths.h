/* Bool elements from outside: kernels count on bytes that are 0 or 1, so others become 1 on the way in. */
#ifndef KNI_TRUTHS_H
#define KNI_TRUTHS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether n bytes, `stride` apart, are all 0 or 1. */
static inline bool kni_are_truths(const unsigned char *from, int64_t stride, int64_t n)
{
    unsigned char all = 0;
    for (int64_t i = 0; i < n; i++) all |= from[i * stride];
    return all <= 1;
}

/* `to` and `from` may be the same. */
static inline void kni_copy_truths(unsigned char *to, const unsigned char *from, int64_t stride, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] = from[i * stride] != 0;
}

#endif
