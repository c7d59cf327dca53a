/* What the tests of handles share: a call with a handle that is no good must fail with the function's name, the words and the
   line of the call. */
#ifndef TEST_OBJECTS_H
#define TEST_OBJECTS_H

#include "../support/check.h"

/* What a call logs: one line for a failure, whatever failed inside. */
static int use_logged;
static kn_log_fn use_log_after; /* who hears of what comes after the call */

static inline void use_log(void *context, kn_log_level level, const char *text)
{
    (void)context, (void)text;
    use_logged += level == KN_LOG_ERROR;
}

static inline void use_begin(void)
{
    use_logged = 0;
    kn_log_set(use_log, NULL);
}

static inline bool check_told(const char *function, const char *words, const char *file, int line)
{
    char prefix[80], place[200];
    const char *text = kn_last_error(), *base = strrchr(file, '/');
    snprintf(prefix, sizeof prefix, "%s: ", function);
    snprintf(place, sizeof place, "%s:%d", base ? base + 1 : file, line);
    const char *rest = strncmp(text, prefix, strlen(prefix)) ? "" : text + strlen(prefix);
    bool good = *rest && strstr(rest, words) && strstr(rest, place);
    if (!good) printf("%s: %s must fail with '%s', got '%s'\n", place, function, words, text);
    if (use_logged != 1) printf("%s: %s logged %d lines\n", place, function, use_logged);
    check_that(use_logged == 1, "one line in the log", file, line);
    kn_log_set(use_log_after, NULL);
    return check_that(good, function, file, line);
}

/* words: of the message. The result of USE says nothing about a failure; the others must be a bad status, NULL, poison. */
#define USE(function, ...)                                                                                   \
    (use_begin(), function(__VA_ARGS__), check_told(#function, words, __FILE__, __LINE__))
#define USE_STATUS(function, ...)                                                                            \
    (use_begin(), CHECK(function(__VA_ARGS__) != KN_OK), check_told(#function, words, __FILE__, __LINE__))
#define USE_NULL(function, ...)                                                                              \
    (use_begin(), CHECK(!function(__VA_ARGS__)), check_told(#function, words, __FILE__, __LINE__))
#define USE_TENSOR(function, ...)                                                                            \
    (use_begin(), CHECK(!kn_ok(function(__VA_ARGS__))), check_told(#function, words, __FILE__, __LINE__))

/* All uses of a kind, with handles that are no good in each way. LAST frees it, so that a second free can be tried.
   other: a good handle of another kind. */
#define TRY_ALL_BUT_NULL(type, uses, make, last, noun, ended, other, other_type)                             \
    do {                                                                                                     \
        type handle = make;                                                                                  \
        CHECK(handle != NULL);                                                                               \
        last(handle);                                                                                        \
        char freed[120];                                                                                     \
        snprintf(freed, sizeof freed, "the " noun " was " ended " at %s:%d", __FILE__, __LINE__);            \
        uses(handle, freed);                                                                                 \
        const char *words = freed;                                                                           \
        USE(last, handle);                                                                                   \
        uses((type)(void *)(other), "this is a " other_type ", not a " #type);                               \
        words = "this is a " other_type ", not a " #type;                                                    \
        USE(last, (type)(void *)(other));                                                                    \
        int nothing = 0;                                                                                     \
        uses((type)(void *)&nothing, "this is no " #type);                                                   \
        uses((type)(uintptr_t)0x7FFFFFFF, "this is no " #type);                                              \
        last((type)NULL); /* is nothing */                                                                   \
        uses((type)NULL, " is NULL: it is missing, or could not be made");                                   \
    } while (0)

#endif
