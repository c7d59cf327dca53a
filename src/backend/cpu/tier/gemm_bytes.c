/* Products of bytes of one tier, exact: sums of four products of bytes at a time where the processor has them, else of two products
   of 16-bit numbers. */
#include "backend/cpu/gemm_i8_kernels.h"
#include <stdbool.h>
#include <string.h>

#if defined(KNI_TIER_V2) || defined(KNI_TIER_V3) || defined(KNI_TIER_V4)
#include <immintrin.h>
#define X86 1
#else
#define X86 0
#endif

#define INLINE static inline __attribute__((always_inline))

#if defined(KNI_TIER_V4)
typedef __m512i vec;
enum { LANES = 16, VECTORS = 2, ROWS = 14 };
INLINE vec vec_zero(void) { return _mm512_setzero_si512(); }
INLINE vec vec_load(const void *p) { return _mm512_loadu_si512(p); }
INLINE void vec_store(void *p, vec v) { _mm512_storeu_si512(p, v); }
INLINE vec vec_all(int32_t x) { return _mm512_set1_epi32(x); }
INLINE vec pairs(vec sum, vec a, vec b) { return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b)); }
INLINE vec vec_bytes(const uint8_t *p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p)); }
#elif defined(KNI_TIER_V3)
typedef __m256i vec;
enum { LANES = 8, VECTORS = 2, ROWS = 6 };
INLINE vec vec_zero(void) { return _mm256_setzero_si256(); }
INLINE vec vec_load(const void *p) { return _mm256_loadu_si256(p); }
INLINE void vec_store(void *p, vec v) { _mm256_storeu_si256(p, v); }
INLINE vec vec_all(int32_t x) { return _mm256_set1_epi32(x); }
INLINE vec pairs(vec sum, vec a, vec b) { return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b)); }
INLINE vec vec_bytes(const uint8_t *p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)); }
#elif defined(KNI_TIER_V2)
typedef __m128i vec;
enum { LANES = 4, VECTORS = 2, ROWS = 4 };
INLINE vec vec_zero(void) { return _mm_setzero_si128(); }
INLINE vec vec_load(const void *p) { return _mm_loadu_si128(p); }
INLINE void vec_store(void *p, vec v) { _mm_storeu_si128(p, v); }
INLINE vec vec_all(int32_t x) { return _mm_set1_epi32(x); }
INLINE vec pairs(vec sum, vec a, vec b) { return _mm_add_epi32(sum, _mm_madd_epi16(a, b)); }
INLINE vec vec_bytes(const uint8_t *p)
{
    int32_t four;
    memcpy(&four, p, sizeof four);
    return _mm_cvtepu8_epi32(_mm_cvtsi32_si128(four));
}
#else
/* Loops that a compiler turns into vectors where it can. */
enum { LANES = 4, VECTORS = 2, ROWS = 4 };
typedef struct vec {
    int32_t at[LANES];
} vec;
INLINE vec vec_zero(void) { return (vec){{0}}; }
INLINE vec vec_load(const void *p)
{
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}
INLINE void vec_store(void *p, vec v) { memcpy(p, &v, sizeof v); }
INLINE vec vec_all(int32_t x)
{
    vec v;
    for (int i = 0; i < LANES; i++) v.at[i] = x;
    return v;
}
INLINE vec pairs(vec sum, vec a, vec b)
{
    int16_t x[2 * LANES], y[2 * LANES];
    memcpy(x, &a, sizeof x);
    memcpy(y, &b, sizeof y);
    for (int i = 0; i < LANES; i++) sum.at[i] += x[2 * i] * y[2 * i] + x[2 * i + 1] * y[2 * i + 1];
    return sum;
}
#endif

#if defined(KNI_TIER_V4)
INLINE vec vec_flipped(vec a, vec b) { return _mm512_xor_si512(a, b); }
INLINE vec vec_sum(vec a, vec b) { return _mm512_add_epi32(a, b); }
#elif defined(KNI_TIER_V3)
INLINE vec vec_flipped(vec a, vec b) { return _mm256_xor_si256(a, b); }
INLINE vec vec_sum(vec a, vec b) { return _mm256_add_epi32(a, b); }
#elif defined(KNI_TIER_V2)
INLINE vec vec_flipped(vec a, vec b) { return _mm_xor_si128(a, b); }
INLINE vec vec_sum(vec a, vec b) { return _mm_add_epi32(a, b); }
#else
INLINE vec vec_flipped(vec a, vec b)
{
    for (int i = 0; i < LANES; i++) a.at[i] ^= b.at[i];
    return a;
}
INLINE vec vec_sum(vec a, vec b)
{
    for (int i = 0; i < LANES; i++) a.at[i] += b.at[i];
    return a;
}

INLINE vec vec_bytes(const uint8_t *p)
{
    vec v;
    for (int i = 0; i < LANES; i++) v.at[i] = p[i];
    return v;
}
#endif

enum { COLUMNS = LANES * VECTORS };

INLINE int32_t word_at(const void *p)
{
    int32_t w;
    memcpy(&w, p, sizeof w);
    return w;
}

/* ---- tiles: one step multiplies a word of each row of A, four bytes or two 16-bit numbers, with one of each column of B */

/* All sums stay in registers. */
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif
/* Few rows are summed in two ways in turns, for sums to follow each other more quickly. */
#define DEFINE_TILE(name, attributes, dot, steps_of)                                                         \
    attributes INLINE void name##_rows(const char *a, const char *b, int64_t steps, int32_t *sums,           \
                                       const int rows)                                                       \
    {                                                                                                        \
        const int ways = rows < 3 ? 2 : 1;                                                                   \
        vec s[2][ROWS][VECTORS];                                                                             \
        UNROLL                                                                                               \
        for (int w = 0; w < ways; w++) UNROLL                                                                \
        for (int i = 0; i < rows; i++) UNROLL                                                                \
        for (int v = 0; v < VECTORS; v++) s[w][i][v] = vec_zero();                                           \
        for (int64_t k = 0; k < steps; k += ways) {                                                          \
            UNROLL                                                                                           \
            for (int w = 0; w < ways; w++) {                                                                 \
                if (w && k + 1 == steps) break;                                                              \
                vec right[VECTORS];                                                                          \
                UNROLL                                                                                       \
                for (int v = 0; v < VECTORS; v++) right[v] = vec_load(b + v * LANES * 4);                    \
                UNROLL                                                                                       \
                for (int i = 0; i < rows; i++) {                                                             \
                    const vec left = vec_all(word_at(a + i * 4));                                            \
                    UNROLL                                                                                   \
                    for (int v = 0; v < VECTORS; v++) s[w][i][v] = dot(s[w][i][v], left, right[v]);          \
                }                                                                                            \
                a += ROWS * 4;                                                                               \
                b += COLUMNS * 4;                                                                            \
            }                                                                                                \
        }                                                                                                    \
        UNROLL                                                                                               \
        for (int i = 0; i < rows; i++) UNROLL                                                                \
        for (int v = 0; v < VECTORS; v++)                                                                    \
            vec_store(sums + i * COLUMNS + v * LANES,                                                        \
                      ways == 2 ? vec_sum(s[0][i][v], s[1][i][v]) : s[0][i][v]);                             \
    }                                                                                                        \
    attributes static void name(const void *panel, const void *strip, int64_t quads, int rows,               \
                                int32_t *sums)                                                               \
    {                                                                                                        \
        const int64_t steps = steps_of(quads);                                                               \
        switch (rows) {                                                                                      \
            EACH_COUNT(name)                                                                                 \
        default:                                                                                             \
            name##_rows(panel, strip, steps, sums, ROWS);                                                    \
        }                                                                                                    \
    }

#define COUNT(name, n)                                                                                       \
    case n:                                                                                                  \
        name##_rows(panel, strip, steps, sums, n);                                                           \
        break;
#define UP_TO_FOUR(name) COUNT(name, 1) COUNT(name, 2) COUNT(name, 3)
#define UP_TO_SIX(name) UP_TO_FOUR(name) COUNT(name, 4) COUNT(name, 5)
#if defined(KNI_TIER_V4)
#define EACH_COUNT(name)                                                                                     \
    UP_TO_SIX(name)                                                                                          \
    COUNT(name, 6)                                                                                           \
    COUNT(name, 7)                                                                                           \
    COUNT(name, 8)                                                                                           \
    COUNT(name, 9)                                                                                           \
    COUNT(name, 10) COUNT(name, 11) COUNT(name, 12) COUNT(name, 13)
#elif defined(KNI_TIER_V3)
#define EACH_COUNT UP_TO_SIX
#else
#define EACH_COUNT UP_TO_FOUR
#endif

#define TWICE(quads) (2 * (quads))
#define ONCE(quads) (quads)
DEFINE_TILE(pairs_tile, , pairs, TWICE)

#if defined(KNI_TIER_V4)
#define DOT_PRODUCTS __attribute__((target("avx512vnni")))
DOT_PRODUCTS INLINE vec quads_of(vec sum, vec a, vec b) { return _mm512_dpbusd_epi32(sum, b, a); }
#elif defined(KNI_TIER_V3)
#define DOT_PRODUCTS __attribute__((target("avxvnni")))
DOT_PRODUCTS INLINE vec quads_of(vec sum, vec a, vec b) { return _mm256_dpbusd_avx_epi32(sum, b, a); }
#endif
#ifdef DOT_PRODUCTS
DEFINE_TILE(quads_tile, DOT_PRODUCTS, quads_of, ONCE)
#endif

/* ---- packing. A quad of a row or column: four bytes, or two words of two 16-bit numbers. */

static void put_pairs(char *to, int64_t place, int64_t step, const uint8_t quad[4], bool is_signed)
{
    int16_t wide[4];
    for (int t = 0; t < 4; t++) wide[t] = is_signed ? (int16_t)(int8_t)quad[t] : (int16_t)quad[t];
    memcpy(to + place, wide, 4);
    memcpy(to + place + step, wide + 2, 4);
}

/* The elements of a row from k on, zeros behind its end; their sum is added to *sum. */
INLINE void read_quad(uint8_t quad[4], const uint8_t *row, int64_t col, int64_t left, uint8_t flip,
                      int32_t *sum)
{
    for (int t = 0; t < 4; t++) {
        quad[t] = t < left ? (uint8_t)(row[t * col] ^ flip) : 0;
        *sum += (int8_t)quad[t];
    }
}

static void pack_pairs(void *to, const uint8_t *a, int64_t row, int64_t col, int64_t rows, int64_t k,
                       uint8_t flip, int32_t *sums)
{
    for (int64_t i = 0; i < ROWS; i++) {
        sums[i] = 0;
        for (int64_t q = 0; q < (k + 3) / 4; q++) {
            uint8_t quad[4] = {0, 0, 0, 0};
            if (i < rows) read_quad(quad, a + i * row + 4 * q * col, col, k - 4 * q, flip, &sums[i]);
            put_pairs((char *)to + q * ROWS * 8, i * 4, ROWS * 4, quad, true);
        }
    }
}

static void interleave_pairs(void *to, const uint8_t *const rows[4], uint8_t flip)
{
#if X86
    const __m128i flips = _mm_set1_epi8((char)flip);
    for (int half = 0; half < 2; half++)
        for (int j = 0; j < COLUMNS; j += 8) {
            const __m128i a = _mm_xor_si128(_mm_loadl_epi64((const __m128i *)(rows[2 * half] + j)), flips),
                          b = _mm_xor_si128(_mm_loadl_epi64((const __m128i *)(rows[2 * half + 1] + j)),
                                            flips);
            const __m128i both = _mm_unpacklo_epi8(a, b), zero = _mm_setzero_si128();
            __m128i *out = (__m128i *)((char *)to + half * COLUMNS * 4 + j * 4);
            _mm_storeu_si128(out, _mm_unpacklo_epi8(both, zero));
            _mm_storeu_si128(out + 1, _mm_unpackhi_epi8(both, zero));
        }
#else
    for (int j = 0; j < COLUMNS; j++) {
        uint8_t quad[4];
        for (int t = 0; t < 4; t++) quad[t] = rows[t][j] ^ flip;
        put_pairs(to, j * 4, COLUMNS * 4, quad, false);
    }
#endif
}

static void gather_pairs(void *to, const uint8_t *b, int64_t col, uint8_t flip)
{
    for (int j = 0; j < COLUMNS; j++) {
        uint8_t quad[4];
        for (int t = 0; t < 4; t++) quad[t] = b[j * col + t] ^ flip;
        put_pairs(to, j * 4, COLUMNS * 4, quad, false);
    }
}

static void sum_pairs(const void *strip, int64_t quads, int32_t *sums)
{
    int32_t ones[2 * ROWS];
    for (int i = 0; i < 2 * ROWS; i++) ones[i] = 0x00010001;
    int32_t part[COLUMNS];
    for (int j = 0; j < COLUMNS; j++) sums[j] = 0;
    for (int64_t q = 0; q < quads; q++) {
        pairs_tile_rows((const char *)ones, (const char *)strip + q * COLUMNS * 8, 2, part, 1);
        for (int j = 0; j < COLUMNS; j++) sums[j] += part[j];
    }
}

/* Bytes and weights are 16-bit numbers beside zeros. */
static void lone_row(int32_t *sums, const uint8_t *x, const int64_t *offsets, const int32_t *w, int64_t taps,
                     uint8_t flip, int32_t start)
{
    const vec flips = vec_all(flip);
    vec s[VECTORS];
    UNROLL
    for (int v = 0; v < VECTORS; v++) s[v] = vec_all(start);
    for (int64_t k = 0; k < taps; k++) {
        const uint8_t *row = x + offsets[k];
        const vec weight = vec_all(w[k] & 0xffff);
        UNROLL
        for (int v = 0; v < VECTORS; v++)
            s[v] = pairs(s[v], weight, vec_flipped(vec_bytes(row + v * LANES), flips));
    }
    UNROLL
    for (int v = 0; v < VECTORS; v++) vec_store(sums + v * LANES, s[v]);
}

#include "backend/cpu/tier/gemm_bytes_end.h"

const kni_gemm_i8_kernels KNI_TIER_FN(kni_gemm_i8) = {.tile_rows = ROWS,
                                                      .tile_columns = COLUMNS,
                                                      .width = 2,
                                                      .pack_a = pack_pairs,
                                                      .interleave = interleave_pairs,
                                                      .gather = gather_pairs,
                                                      .column_sums = sum_pairs,
                                                      .tile = pairs_tile,
                                                      .end = end_rows,
                                                      .taps = lone_row};

#ifdef DOT_PRODUCTS
#include "backend/cpu/tier/gemm_bytes_dot.h"
#endif
