/* Finding a dtype in a format's table of words. */
#include "store/store_object.h"
#include <string.h>

const kni_dtype_word *kni_dtype_word_find(const kni_dtype_word *words, const char *text, size_t length)
{
    for (; words->word; words++)
        if (strlen(words->word) == length && !memcmp(words->word, text, length)) return words;
    return NULL;
}

const char *kni_dtype_word_of(const kni_dtype_word *words, kn_dtype dtype)
{
    for (; words->word; words++)
        if (words->dtype == dtype && dtype != KN_DTYPE_NONE) return words->word;
    return NULL;
}
