/* The edit distance of short names. */
#include "support/similar.h"
#include <stdint.h>
#include <string.h>

enum { LONGEST = 512 };

size_t kni_edit_distance(const char *a, const char *b, size_t limit)
{
    size_t n = strlen(a), m = strlen(b), far = limit + 1;
    if (n > LONGEST || m > LONGEST || (n > m ? n - m : m - n) > limit) return far;
    uint16_t rows[3][LONGEST + 1];
    for (size_t j = 0; j <= m; j++) rows[0][j] = (uint16_t)j;
    for (size_t i = 1; i <= n; i++) {
        uint16_t *now = rows[i % 3], *before = rows[(i - 1) % 3], *earlier = rows[(i + 1) % 3];
        size_t least = now[0] = (uint16_t)i;
        for (size_t j = 1; j <= m; j++) {
            size_t best = before[j - 1] + (a[i - 1] != b[j - 1]);
            if (before[j] + 1u < best) best = before[j] + 1u;
            if (now[j - 1] + 1u < best) best = now[j - 1] + 1u;
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if (swapped && earlier[j - 2] + 1u < best) best = earlier[j - 2] + 1u;
            now[j] = (uint16_t)best;
            if (best < least) least = best;
        }
        /* No later row has less: a row is at most one above the one before it, so a swap over two rows gains nothing. */
        if (least > limit) return far;
    }
    return rows[n % 3][m] > limit ? far : rows[n % 3][m];
}

bool kni_is_similar(const char *a, const char *b)
{
    size_t limit = 1 + strlen(a) / 4;
    return kni_edit_distance(a, b, limit) <= limit;
}
