/* Conversions by tier. Small targets and compact builds use core's copy. */
#include "backend/cpu/elementwise_convert.h"
#include "backend/cpu/isa.h"
#include <string.h>

#if defined(KN_FREESTANDING) || defined(KN_COMPACT)
void kni_cpu_convert(void *to, int to_dtype, int64_t to_stride, const void *from, int from_dtype,
                     int64_t from_stride, int64_t n)
{
    kni_convert(to, to_dtype, to_stride, from, from_dtype, from_stride, n);
}
#else
typedef void (*convert_fn)(void *to, int to_dtype, int64_t to_stride, const void *from, int from_dtype,
                           int64_t from_stride, int64_t n);
KNI_TIER_DECLARE(void, kni_convert,
                 (void *to, int to_dtype, int64_t to_stride, const void *from, int from_dtype,
                  int64_t from_stride, int64_t n));

void kni_cpu_convert(void *to, int to_dtype, int64_t to_stride, const void *from, int from_dtype,
                     int64_t from_stride, int64_t n)
{
    static const convert_fn by_tier[KNI_ISA_COUNT] = KNI_TIER_TABLE(kni_convert);
    by_tier[kni_cpu_tier()](to, to_dtype, to_stride, from, from_dtype, from_stride, n);
}
#endif

void kni_cpu_convert_via(void *to, int to_dtype, int via, const void *from, int from_dtype,
                         int64_t from_stride, int64_t n)
{
    enum { PIECE = 256 };
    _Alignas(8) char rounded[PIECE * 8];
    if (!via) {
        kni_cpu_convert(to, to_dtype, 1, from, from_dtype, from_stride, n);
        return;
    }
    int64_t to_bytes = kni_bytes_of(to_dtype), from_bytes = kni_bytes_of(from_dtype);
    for (int64_t i = 0; i < n; i += PIECE) {
        int64_t now = n - i < PIECE ? n - i : PIECE;
        kni_cpu_convert(rounded, via, 1, (const char *)from + i * from_stride * from_bytes, from_dtype,
                        from_stride, now);
        kni_cpu_convert((char *)to + i * to_bytes, to_dtype, 1, rounded, via, 1, now);
    }
}

#define SPLAT(type)                                                                                          \
    {                                                                                                        \
        type value, *y = to;                                                                                 \
        memcpy(&value, from, sizeof value);                                                                  \
        for (int64_t i = 0; i < n; i++) y[i] = value;                                                        \
        break;                                                                                               \
    }

void kni_cpu_splat(void *to, const void *from, int bytes, int64_t n)
{
    switch (bytes) {
    case 1:
        SPLAT(uint8_t)
    case 2:
        SPLAT(uint16_t)
    case 4:
        SPLAT(uint32_t)
    case 8:
        SPLAT(uint64_t)
    default:
        break;
    }
}
