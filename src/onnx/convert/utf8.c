/* Letters of texts: UTF-8, and lower and upper case without a locale. */
#include "onnx/strings.h"

typedef struct letter_range {
    int32_t first, last, step, added;
} letter_range;
#include "onnx/convert/letter_case.inc"

int32_t kni_utf8_read(const char *data, size_t bytes, size_t *used)
{
    static const int32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char head = (unsigned char)data[0];
    size_t length = head < 0x80 ? 1 : head >> 5 == 6 ? 2 : head >> 4 == 14 ? 3 : head >> 3 == 30 ? 4 : 0;
    *used = 1;
    if (length == 1) return head;
    if (length == 0 || length > bytes) return -1;
    int32_t letter = head & (0x7f >> length);
    for (size_t i = 1; i < length; i++) {
        unsigned char next = (unsigned char)data[i];
        if (next >> 6 != 2) return -1;
        letter = letter << 6 | (next & 0x3f);
    }
    if (letter < least[length] || letter > 0x10ffff || (letter >= 0xd800 && letter < 0xe000)) return -1;
    *used = length;
    return letter;
}

size_t kni_utf8_write(int32_t letter, char *data)
{
    if (letter < 0x80) {
        data[0] = (char)letter;
        return 1;
    }
    size_t length = letter < 0x800 ? 2 : letter < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, letter >>= 6) data[i] = (char)(0x80 | (letter & 0x3f));
    data[0] = (char)(0xf00 >> length | letter);
    return length;
}

int64_t kni_utf8_count(const char *data, size_t bytes)
{
    int64_t count = 0;
    for (size_t at = 0, used = 0; at < bytes; at += used, count++)
        kni_utf8_read(data + at, bytes - at, &used);
    return count;
}

/* Ranges are in order, though those of every other letter may hold the ones between them. */
static int32_t changed(const letter_range *table, size_t rows, int32_t letter)
{
    size_t low = 0, high = rows;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (table[middle].last < letter)
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t i = low; i < rows && i < low + 2; i++) {
        const letter_range *r = &table[i];
        if (letter >= r->first && letter <= r->last && (letter - r->first) % r->step == 0)
            return letter + r->added;
    }
    return letter;
}

enum { LOWER_ROWS = sizeof to_lower / sizeof *to_lower, UPPER_ROWS = sizeof to_upper / sizeof *to_upper };

int32_t kni_letter_lower(int32_t letter) { return changed(to_lower, LOWER_ROWS, letter); }
int32_t kni_letter_upper(int32_t letter) { return changed(to_upper, UPPER_ROWS, letter); }

static void pairs_of(const letter_range *table, size_t rows,
                     void (*pair)(void *state, int32_t from, int32_t to), void *state)
{
    for (size_t i = 0; i < rows; i++)
        for (int32_t letter = table[i].first; letter <= table[i].last; letter += table[i].step) {
            pair(state, letter, letter + table[i].added);
            pair(state, letter + table[i].added, letter);
        }
}

void kni_letter_pairs(void (*pair)(void *state, int32_t from, int32_t to), void *state)
{
    pairs_of(to_lower, LOWER_ROWS, pair, state);
    pairs_of(to_upper, UPPER_ROWS, pair, state);
}
