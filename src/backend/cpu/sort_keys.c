/* Keys, radix sort and radix selection: linear in the length for every input. */
#include "backend/cpu/sort_keys.h"
#include "core/dtype.h"
#include <kn/tensor.h>
#include <string.h>

enum { FEW = 40, DIGITS = 256 };

/* How the elements of each dtype become keys: converted first, then ordered by bits. */
typedef struct key_rule {
    uint8_t dtype; /* converted to */
    uint8_t bytes;
    bool is_float;
    bool is_signed;
} key_rule;

static const key_rule rules[KN_DTYPE_COUNT] = {
    [KN_F64] = {KN_F64, 8, true, true},    [KN_F32] = {KN_F32, 4, true, true},
    [KN_F16] = {KN_F32, 4, true, true},    [KN_BF16] = {KN_F32, 4, true, true},
    [KN_I64] = {KN_I64, 8, false, true},   [KN_I32] = {KN_I32, 4, false, true},
    [KN_I16] = {KN_I32, 4, false, true},   [KN_I8] = {KN_I32, 4, false, true},
    [KN_U64] = {KN_U64, 8, false, false},  [KN_U32] = {KN_U32, 4, false, false},
    [KN_U16] = {KN_U32, 4, false, false},  [KN_U8] = {KN_U32, 4, false, false},
    [KN_BOOL] = {KN_U32, 4, false, false},
};

bool kni_sort_packs(int dtype) { return rules[dtype].bytes == 4; }

size_t kni_sort_bytes(int dtype, int64_t n)
{
    size_t each = kni_sort_packs(dtype) ? 16 : 24;
    return (uint64_t)n > UINT32_MAX || (uint64_t)n > SIZE_MAX / each ? 0 : (size_t)n * each;
}

void kni_sort_line_begin(kni_sort_line *l, void *scratch, int dtype, int64_t n, bool descending)
{
    bool packs = kni_sort_packs(dtype);
    l->words = scratch;
    l->spare = l->words + n;
    l->positions = packs ? NULL : (uint32_t *)(l->spare + n);
    l->spare_positions = packs ? NULL : l->positions + n;
    l->n = n;
    l->dtype = dtype;
    l->descending = descending;
}

static inline uint32_t key_f32(uint32_t bits)
{
    uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return UINT32_MAX;
    if (magnitude == 0) bits = 0;
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

static inline uint64_t key_f64(uint64_t bits)
{
    uint64_t magnitude = bits & INT64_MAX;
    if (magnitude > UINT64_C(0x7ff0000000000000)) return UINT64_MAX;
    if (magnitude == 0) bits = 0;
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

uint64_t kni_sort_nan_key(int dtype)
{
    return !rules[dtype].is_float ? 0 : kni_sort_packs(dtype) ? UINT32_MAX : UINT64_MAX;
}

/* Converted elements lie in the upper half of the words, so that writing words never passes reading. */
void kni_sort_plain_keys(uint64_t *keys, const void *x, int dtype, int64_t stride, int64_t n)
{
    const key_rule *rule = &rules[dtype];
    if (rule->bytes == 8) {
        kni_convert(keys, rule->dtype, 1, x, dtype, stride, n);
        for (int64_t i = 0; i < n; i++) {
            uint64_t bits;
            memcpy(&bits, keys + i, sizeof bits);
            bits = rule->is_float ? key_f64(bits) : rule->is_signed ? bits ^ UINT64_C(1) << 63 : bits;
            memcpy(keys + i, &bits, sizeof bits);
        }
        return;
    }
    uint32_t *half = (uint32_t *)keys + n;
    kni_convert(half, rule->dtype, 1, x, dtype, stride, n);
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, half + i, sizeof bits);
        uint64_t key = rule->is_float ? key_f32(bits) : rule->is_signed ? bits ^ 0x80000000u : bits;
        memcpy(keys + i, &key, sizeof key);
    }
}

void kni_sort_load(kni_sort_line *l, const void *x, int64_t stride)
{
    kni_sort_plain_keys(l->words, x, l->dtype, stride, l->n);
    uint64_t flip = l->descending ? UINT64_MAX : 0;
    if (l->positions) {
        for (int64_t i = 0; i < l->n; i++) {
            l->words[i] ^= flip;
            l->positions[i] = (uint32_t)i;
        }
    } else {
        for (int64_t i = 0; i < l->n; i++) l->words[i] = (l->words[i] ^ flip) << 32 | (uint64_t)i;
    }
}

static void insertion_sort(uint64_t *words, uint32_t *positions, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        uint64_t word = words[i];
        uint32_t position = positions ? positions[i] : 0;
        int64_t k = i;
        for (; k > 0 && words[k - 1] > word; k--) {
            words[k] = words[k - 1];
            if (positions) positions[k] = positions[k - 1];
        }
        words[k] = word;
        if (positions) positions[k] = position;
    }
}

static void swap_buffers(kni_sort_line *l)
{
    uint64_t *words = l->words;
    uint32_t *positions = l->positions;
    l->words = l->spare;
    l->spare = words;
    l->positions = l->spare_positions;
    l->spare_positions = positions;
}

static void scatter_digit(kni_sort_line *l, int shift, const uint32_t *counts)
{
    uint32_t places[DIGITS], sum = 0;
    for (int d = 0; d < DIGITS; d++) {
        places[d] = sum;
        sum += counts[d];
    }
    for (int64_t i = 0; i < l->n; i++) {
        uint64_t word = l->words[i];
        uint32_t to = places[word >> shift & 255]++;
        l->spare[to] = word;
        if (l->positions) l->spare_positions[to] = l->positions[i];
    }
    swap_buffers(l);
}

/* From the lowest digit of the key to the highest; a digit that all keys share needs no pass. */
void kni_sort_words(kni_sort_line *l)
{
    if (l->n <= FEW) {
        insertion_sort(l->words, l->positions, l->n);
        return;
    }
    uint32_t counts[8][DIGITS];
    int first = l->positions ? 0 : 4;
    memset(counts, 0, sizeof counts);
    for (int64_t i = 0; i < l->n; i++)
        for (int d = first; d < 8; d++) counts[d][l->words[i] >> 8 * d & 255]++;
    for (int d = first; d < 8; d++)
        if (counts[d][l->words[0] >> 8 * d & 255] != (uint64_t)l->n) scatter_digit(l, 8 * d, counts[d]);
}

/* Among few words: sorts a copy. left is the place to find, and becomes the number of equals before it. */
static uint64_t select_few(kni_sort_line *l, const uint64_t *from, int64_t n, int64_t *left)
{
    int64_t k = *left, first = k;
    if (from != l->spare) memcpy(l->spare, from, (size_t)n * sizeof *from);
    insertion_sort(l->spare, NULL, n);
    while (first > 0 && l->spare[first - 1] == l->spare[k]) first--;
    *left = k - first;
    return l->spare[k];
}

uint64_t kni_sort_select(kni_sort_line *l, int64_t k, int64_t *smaller)
{
    const uint64_t *from = l->words;
    int64_t n = l->n, left = k;
    for (int shift = 56; shift >= 0 && n > FEW; shift -= 8) {
        int64_t counts[DIGITS] = {0}, before = 0, kept = 0;
        for (int64_t i = 0; i < n; i++) counts[from[i] >> shift & 255]++;
        uint64_t digit = 0;
        while (before + counts[digit] <= left) before += counts[digit++];
        left -= before;
        for (int64_t i = 0; i < n; i++)
            if ((from[i] >> shift & 255) == digit) l->spare[kept++] = from[i];
        from = l->spare;
        n = kept;
    }
    uint64_t word = n <= FEW ? select_few(l, from, n, &left) : from[0];
    *smaller = k - left;
    return word;
}
