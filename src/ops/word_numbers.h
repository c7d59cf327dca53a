/* The words of bodies by number. */
#ifndef KNI_WORD_NUMBERS_H
#define KNI_WORD_NUMBERS_H

enum {
#define WORD1(name, ...) KNI_WORD_##name,
#define WORD2(name, ...) KNI_WORD_##name,
#include "ops/scalar_words.def"
#undef WORD1
#undef WORD2
    KNI_WORDS
};

#endif
