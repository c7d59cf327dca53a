/* Texts that are longer than their place end after a word. */
#include "support/short_text.h"
#include <stdbool.h>
#include <string.h>

static const char ellipsis[] = " ...";

void kni_short_end(char *out, size_t n, size_t whole)
{
    if (n == 0 || whole < n) return;
    size_t mark = sizeof ellipsis - 1;
    if (n <= mark) {
        out[0] = 0;
        return;
    }
    size_t end = n - 1 - mark;
    size_t word = end;
    while (word > 0 && out[word] != ' ' && out[word] != '\n') word--;
    bool whole_word = word > end / 2;
    if (whole_word)
        end = word;
    else
        while (end > 0 && ((unsigned char)out[end] & 0xC0) == 0x80) end--; /* not inside a character */
    const char *tail = whole_word ? ellipsis : ellipsis + 1;
    memcpy(out + end, tail, strlen(tail) + 1);
}

void kni_short_text(char *out, size_t n, const char *text)
{
    size_t whole = strlen(text);
    if (n == 0) return;
    size_t kept = whole < n ? whole : n - 1;
    memcpy(out, text, kept);
    out[kept] = 0;
    kni_short_end(out, n, whole);
}
