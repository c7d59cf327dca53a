/* Short reviews from a grammar, with what they say of the place: bad, neutral or good. The order of the words decides: "not good"
   is bad, and after "but" only the second half counts. */
#ifndef REVIEWS_H
#define REVIEWS_H

#include <kn/data.h>

enum { REVIEW_WORDS = 24, PADDING_TOKEN = 0, UNKNOWN_TOKEN = 1 };
typedef enum Opinion { BAD, NEUTRAL, GOOD, OPINIONS } Opinion;
extern const char *const opinion_names[OPINIONS];

/* The number of different tokens: all words of the grammar, padding and the unknown word. */
int64_t vocabulary_size(void);
/* The tokens of a text of words and blanks; returns how many there are, REVIEW_WORDS at most. */
int64_t encode_review(const char *text, int64_t tokens[REVIEW_WORDS]);

/* Writes review `index` of a seed into text. */
Opinion make_review(uint64_t seed, int64_t index, char *text, size_t bytes);
/* n of them as samples (tokens i64 [words], opinion i64); NULL with kn_last_error(). */
kn_dataset make_reviews(uint64_t seed, int64_t n);

#endif
