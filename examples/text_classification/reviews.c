/* The grammar of reviews and the tokens of their words; see reviews.h. */
#include "reviews.h"
#include <kn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const opinion_names[OPINIONS] = {"bad", "neutral", "good"};

static const char *const things[] = {"soup",  "bread", "waiter", "music",   "room",  "coffee",
                                     "price", "cook",  "garden", "service", "table", "dessert"};
static const char *const adjectives[OPINIONS][6] = {
    {"bad", "awful", "cold", "rude", "dirty", "boring"},
    {"usual", "small", "large", "local", "simple", "brown"},
    {"good", "lovely", "warm", "kind", "clean", "great"},
};
static const char *const others[] = {"the",      "was", "not",   "very", "and",      "but",
                                     "although", "we",  "found", "that", "honestly", "last",
                                     "week",     "our", "quite", "it",   "seemed"};
static const char *const openings[] = {"", "honestly ", "last week ", "we found that ", "it seemed that "};

#define COUNT(table) ((int64_t)(sizeof(table) / sizeof(table)[0]))

/* ---- tokens */

static const struct {
    const char *const *words;
    int64_t n;
} lists[] = {
    {things, COUNT(things)}, {adjectives[0], COUNT(adjectives[0]) * OPINIONS}, {others, COUNT(others)}};

int64_t vocabulary_size(void)
{
    int64_t n = UNKNOWN_TOKEN + 1;
    for (int64_t i = 0; i < COUNT(lists); i++) n += lists[i].n;
    return n;
}

static int64_t token_of(const char *word)
{
    int64_t token = UNKNOWN_TOKEN + 1;
    for (int64_t i = 0; i < COUNT(lists); i++)
        for (int64_t w = 0; w < lists[i].n; w++, token++)
            if (strcmp(lists[i].words[w], word) == 0) return token;
    return UNKNOWN_TOKEN;
}

int64_t encode_review(const char *text, int64_t tokens[REVIEW_WORDS])
{
    char word[32];
    int64_t n = 0;
    for (int used; n < REVIEW_WORDS && sscanf(text, "%31s%n", word, &used) == 1; text += used)
        tokens[n++] = token_of(word);
    return n;
}

/* ---- the grammar */

/* The random choices of one review, one after the other. */
typedef struct Choices {
    kn_sample_key key;
    uint64_t n;
} Choices;

static int64_t choose(Choices *choices, int64_t bound)
{
    return kn_key_below(&choices->key, choices->n++, bound);
}

/* "the soup was not good" and what it says. A neutral word stays neutral, however often it is negated. */
static void write_clause(Choices *choices, Opinion opinion, char *text, size_t bytes)
{
    static const char *const plain[] = {"", "very ", "quite "}, *const negated[] = {"not ", "not very "};
    bool turned = opinion != NEUTRAL && choose(choices, 3) == 0;
    Opinion said = turned ? (Opinion)(GOOD - opinion) : opinion;
    const char *thing = things[choose(choices, COUNT(things))];
    const char *adverb =
        turned ? negated[choose(choices, COUNT(negated))] : plain[choose(choices, COUNT(plain))];
    snprintf(text, bytes, "%s %s was %s%s", choose(choices, 3) ? "the" : "our", thing, adverb,
             adjectives[said][choose(choices, COUNT(adjectives[0]))]);
}

Opinion make_review(uint64_t seed, int64_t index, char *text, size_t bytes)
{
    enum { ALONE, AND, BUT, ALTHOUGH, FORMS };
    Choices choices = {.key = {.seed = seed, .index = index}};
    Opinion opinion = (Opinion)choose(&choices, OPINIONS);
    int64_t form = choose(&choices, FORMS);
    const char *opening = openings[choose(&choices, COUNT(openings))];
    char first[80], second[80];
    /* What the half that does not count says: another opinion, but the same one beside "and". */
    Opinion other =
        form == AND ? opinion : (Opinion)((opinion + 1 + choose(&choices, OPINIONS - 1)) % OPINIONS);
    write_clause(&choices, opinion, first, sizeof first);
    write_clause(&choices, other, second, sizeof second);
    if (form == ALONE) snprintf(text, bytes, "%s%s", opening, first);
    if (form == AND) snprintf(text, bytes, "%s%s and %s", opening, first, second);
    if (form == BUT) snprintf(text, bytes, "%s%s but %s", opening, second, first);
    if (form == ALTHOUGH) snprintf(text, bytes, "%s%s although %s", opening, first, second);
    return opinion;
}

kn_dataset make_reviews(uint64_t seed, int64_t n)
{
    kn_sample *samples = calloc((size_t)(n > 0 ? n : 1), sizeof *samples);
    kn_status s = samples ? KN_OK : KN_ERROR_MEMORY;
    for (int64_t i = 0; i < n && s == KN_OK; i++) {
        char text[256];
        int64_t tokens[REVIEW_WORDS], opinion = make_review(seed, i, text, sizeof text);
        int64_t words = encode_review(text, tokens);
        s = kn_sample_add(&samples[i], kn_from(tokens, KN_I64, KN_SHAPE(words)));
        if (s == KN_OK) s = kn_sample_add(&samples[i], kn_scalar_int(opinion, KN_I64));
    }
    kn_dataset reviews = s == KN_OK ? kn_dataset_list(samples, n) : NULL; /* takes the tensors over */
    for (int64_t i = 0; i < n && s != KN_OK && samples; i++) kn_sample_drop(&samples[i]);
    free(samples);
    return reviews;
}
