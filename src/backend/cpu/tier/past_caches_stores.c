/* This tier's copy past the caches; a plain one where it has no such stores. */
#include "backend/cpu/past_caches.h"
#include <string.h>
#if defined(KNI_TIER_V2) || defined(KNI_TIER_V3) || defined(KNI_TIER_V4)
#include <immintrin.h>
#if defined(KNI_TIER_V4)
typedef __m512i vector;
#define LOAD(p) _mm512_loadu_si512(p)
#define STREAM(p, v) _mm512_stream_si512(p, v)
#elif defined(KNI_TIER_V3)
typedef __m256i vector;
#define LOAD(p) _mm256_loadu_si256(p)
#define STREAM(p, v) _mm256_stream_si256(p, v)
#else
typedef __m128i vector;
#define LOAD(p) _mm_loadu_si128(p)
#define STREAM(p, v) _mm_stream_si128(p, v)
#endif

enum { LINE = 64, VECTORS = LINE / (int)sizeof(vector) };

static char *store_lines(char *to, const char *from, int64_t bytes)
{
    for (; bytes >= LINE; bytes -= LINE, to += LINE, from += LINE) {
        vector line[VECTORS];
        for (int i = 0; i < VECTORS; i++) line[i] = LOAD((const vector *)from + i);
        for (int i = 0; i < VECTORS; i++) STREAM((vector *)to + i, line[i]);
    }
    return to;
}
#endif

void KNI_TIER_FN(kni_store_past_caches)(void *to, const void *from, int64_t bytes)
{
#ifdef STREAM
    int64_t before = (int64_t)(-(uintptr_t)to & (LINE - 1));
    if (before > bytes) before = bytes;
    if (before) memcpy(to, from, (size_t)before);
    char *end = store_lines((char *)to + before, (const char *)from + before, bytes - before);
    int64_t done = end - (char *)to;
    if (done < bytes) memcpy(end, (const char *)from + done, (size_t)(bytes - done));
#else
    memcpy(to, from, (size_t)bytes);
#endif
}

void KNI_TIER_FN(kni_end_past_caches)(void)
{
#ifdef STREAM
    _mm_sfence();
#endif
}
