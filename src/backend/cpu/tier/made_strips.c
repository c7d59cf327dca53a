/* Rows that make values of scalars, in this tier: random words, and the loops that kiln-gen makes of the bodies. */
#include "backend/cpu/made_table.h"
#include "backend/cpu/tier/norm_loops.h"
#include "core/math/philox.h"
#include "ops/scalar_words.h"

enum { BLOCKS = 64 };

static void draw_blocks(uint64_t key, uint64_t counter, int n, uint32_t *words)
{
    EACH_ALONE
    for (int i = 0; i < n; i++) {
        uint32_t four[4];
        kni_philox(key, counter + (uint64_t)i, four);
        for (int w = 0; w < 4; w++) words[4 * i + w] = four[w];
    }
}

/* Word j of an element stands among the words j of all others, so that loops read them in order. */
static void part_words(int n, int draws, const uint32_t *from, uint32_t *words)
{
    uint32_t *a = words, *b = a + KNI_MADE_STRIP, *c = b + KNI_MADE_STRIP, *d = c + KNI_MADE_STRIP;
    if (draws == 2)
        for (int k = 0; k < n; k++) a[k] = from[2 * k], b[k] = from[2 * k + 1];
    else
        for (int k = 0; k < n; k++)
            a[k] = from[4 * k], b[k] = from[4 * k + 1], c[k] = from[4 * k + 2], d[k] = from[4 * k + 3];
}

void KNI_TIER_FN(kni_made_words)(uint64_t key, uint64_t counter, int n, int draws, uint32_t *words)
{
    uint32_t buffer[4 * BLOCKS];
    int blocks = (n * draws + 3) / 4;
    for (int at = 0; at < blocks; at += BLOCKS) {
        int count = blocks - at < BLOCKS ? blocks - at : BLOCKS, first = 4 * at / draws;
        draw_blocks(key, counter + (uint64_t)at, count, draws == 1 ? words + 4 * at : buffer);
        if (draws > 1) part_words(4 * count / draws, draws, buffer, words + first);
    }
}

/* Whether a word is below a limit of 64 bits, compared in 32. */
static inline int is_below(uint32_t word, int64_t limit)
{
    return (word < (uint32_t)(limit < 0 ? 0 : limit)) | (limit > UINT32_MAX);
}

/* Division of 32 bits takes half the time, and indices seldom need more. */
static inline int64_t quotient_i64(int64_t a, int64_t b)
{
    if (((uint64_t)a | (uint64_t)b) <= UINT32_MAX && b != 0) return (int64_t)((uint32_t)a / (uint32_t)b);
    return kni_word_div_i64(a, b);
}

/* What a row does not name. */
#define UNUSED_MADE_ARGUMENTS (void)first, (void)in, (void)words, (void)numbers, (void)choices;
#define UNUSED_PLACES_ARGUMENTS (void)first, (void)numbers, (void)choices;

#include "backend/cpu/generated/made_strips.inc"
