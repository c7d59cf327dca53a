/* Sorting by unsigned words. An element becomes a key whose unsigned order is the order of sorting: NaN last,
   -0 equal to 0. Keys of at most 32 bits carry their position in the low half of the word, so that words are
   distinct and sorting is stable by itself; 64-bit keys have their positions beside them. */
#ifndef KNI_SORT_KEYS_H
#define KNI_SORT_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kni_sort_line {
    uint64_t *words, *spare;               /* n each */
    uint32_t *positions, *spare_positions; /* NULL where words carry them */
    int64_t n;
    int dtype;
    bool descending;
} kni_sort_line;

/* Whether the words of a dtype carry positions. */
bool kni_sort_packs(int dtype);
/* Bytes of scratch for a line of n elements; lines are laid out in it. 0 when that is too much. */
size_t kni_sort_bytes(int dtype, int64_t n);
void kni_sort_line_begin(kni_sort_line *l, void *scratch, int dtype, int64_t n, bool descending);
/* Reads n elements `stride` apart into words, with positions 0, 1, ... */
void kni_sort_load(kni_sort_line *l, const void *x, int64_t stride);
/* Keys alone, ascending, n of them; without positions. */
void kni_sort_plain_keys(uint64_t *keys, const void *x, int dtype, int64_t stride, int64_t n);
/* The key of NaN; no number has it. 0 for dtypes without NaN. */
uint64_t kni_sort_nan_key(int dtype);

/* Sorts words and positions. */
void kni_sort_words(kni_sort_line *l);
/* The word at place k of the sorted order, and how many words are smaller. Uses spare. */
uint64_t kni_sort_select(kni_sort_line *l, int64_t k, int64_t *smaller);

static inline int64_t kni_sort_position(const kni_sort_line *l, int64_t i)
{
    return l->positions ? (int64_t)l->positions[i] : (int64_t)(uint32_t)l->words[i];
}

#endif
