/* Texts that are longer than their place end after a word. */
#ifndef KNI_SUPPORT_SHORT_TEXT_H
#define KNI_SUPPORT_SHORT_TEXT_H

#include <stddef.h>

/* Copies what fits into n bytes with the final 0. A text that is too long ends after a whole word, or where its last word is
   longer than half the place after a whole character, and then has an ellipsis. */
void kni_short_text(char *out, size_t n, const char *text);
/* The same for a text of `whole` bytes of which out, filled by snprintf, holds the first n - 1. */
void kni_short_end(char *out, size_t n, size_t whole);

#endif
