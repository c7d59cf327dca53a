/* Random words by lanes: the rounds of Philox run over an array of counters, which compilers turn into vector
   code; the numbers made from words follow the shared scalar functions step by step. */
#include "backend/cpu/random_strips.h"
#include "core/math/philox.h"

enum { LANES = 16, NORMALS = 64 };

/* The product's halves by lane. Separate loops, each of which compilers turn into vector code. */
static void multiply(const uint32_t x[LANES], uint32_t by, uint32_t high[LANES], uint32_t low[LANES])
{
    for (int l = 0; l < LANES; l++) {
        uint64_t product = (uint64_t)x[l] * by;
        high[l] = (uint32_t)(product >> 32);
        low[l] = (uint32_t)product;
    }
}

static void rounds(uint32_t c[4][LANES], uint32_t k0, uint32_t k1)
{
    uint32_t a_high[LANES], a_low[LANES], b_high[LANES], b_low[LANES];
    for (int r = 0; r < 10; r++) {
        multiply(c[0], 0xd2511f53u, a_high, a_low);
        multiply(c[2], 0xcd9e8d57u, b_high, b_low);
        for (int l = 0; l < LANES; l++) {
            c[0][l] = b_high[l] ^ c[1][l] ^ k0;
            c[1][l] = b_low[l];
            c[2][l] = a_high[l] ^ c[3][l] ^ k1;
            c[3][l] = a_low[l];
        }
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
}

static void words(uint64_t key, uint64_t counter, int64_t blocks, uint32_t *out)
{
    int64_t b = 0;
    for (; b + LANES <= blocks; b += LANES) {
        uint32_t c[4][LANES];
        for (int l = 0; l < LANES; l++) {
            uint64_t at = counter + (uint64_t)(b + l);
            c[0][l] = (uint32_t)at;
            c[1][l] = (uint32_t)(at >> 32);
            c[2][l] = c[3][l] = 0;
        }
        rounds(c, (uint32_t)key, (uint32_t)(key >> 32));
        for (int l = 0; l < LANES; l++)
            for (int w = 0; w < 4; w++) out[4 * (b + l) + w] = c[w][l];
    }
    for (; b < blocks; b++) kni_philox(key, counter + (uint64_t)b, out + 4 * b);
}

static void uniform_f32(int64_t n, const uint32_t *from, float *y)
{
    for (int64_t i = 0; i < n; i++) y[i] = kni_uniform_f32(from[i]);
}

/* The words of each pair are first sorted into two lines. */
static void normal_f32(int64_t n, const uint32_t *from, float mean, float deviation, float *y)
{
    for (int64_t at = 0; at < n; at += NORMALS) {
        uint32_t u1[NORMALS], u2[NORMALS];
        int64_t count = n - at < NORMALS ? n - at : NORMALS;
        for (int64_t i = 0; i < count; i++) {
            u1[i] = from[2 * (at + i)];
            u2[i] = from[2 * (at + i) + 1];
        }
        for (int64_t i = 0; i < count; i++) y[at + i] = mean + deviation * kni_normal_f32(u1[i], u2[i]);
    }
}

const kni_random_strips KNI_TIER_FN(kni_random_strips_table) = {words, uniform_f32, normal_f32};
