/* The harness of the unit tests: CHECK counts, check_skip counts what cannot run here, check_report prints the closing line. */
#ifndef CHECK_H
#define CHECK_H

#include <kn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MemorySanitizer takes what libraries built without it write for uninitialised; what runs much inside of one is left out. */
#if defined(__has_feature)
#if __has_feature(memory_sanitizer)
#define UNDER_MEMORY_SANITIZER 1
#endif
#endif
#ifndef UNDER_MEMORY_SANITIZER
#define UNDER_MEMORY_SANITIZER 0
#endif

/* Builds with sanitizers are slow: of many cases of a kind they take a part. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) ||                                   \
    __has_feature(thread_sanitizer) || __has_feature(undefined_behavior_sanitizer)
#define UNDER_SANITIZER 1
#endif
#endif
#if !defined(UNDER_SANITIZER) && (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__))
#define UNDER_SANITIZER 1
#endif
#ifndef UNDER_SANITIZER
#define UNDER_SANITIZER 0
#endif

/* KN_TEST_WHOLE=1: every case in every build, as scripts/test_all.sh wants it. */
static inline bool check_whole(void)
{
    const char *text = getenv("KN_TEST_WHOLE");
    return text && !strcmp(text, "1");
}

/* Whether case i is run: always in plain builds, one of n under sanitizers, the same ones each time. Hashed, so that a step of
   the loops around it does not always meet the same dtype or size. */
static inline bool check_part(int64_t i, int n)
{
    if (!UNDER_SANITIZER || check_whole()) return true;
    uint64_t bits = ((uint64_t)i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    bits = (bits ^ bits >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
    return (bits >> 32) % (uint64_t)n == 0;
}

static int check_passed, check_failed, check_skipped;

/* Says what cannot be tested here. A skip that tests/support/skips.txt does not list with its reason fails the run. */
static inline void check_skip(const char *what)
{
    check_skipped++;
    printf("skipped: %s\n", what);
}

#define CHECK(condition) check_that((condition) != 0, #condition, __FILE__, __LINE__)

static inline bool check_that(bool good, const char *text, const char *file, int line)
{
    if (good)
        check_passed++;
    else {
        check_failed++;
        printf("%s:%d: %s\n", file, line, text);
    }
    return good;
}

/* The tensor is poisoned and its error holds the words. */
#define CHECK_POISON(tensor, words) check_poison((tensor), (words), __FILE__, __LINE__)

static inline bool check_poison(kn_tensor t, const char *words, const char *file, int line)
{
    char text[600];
    kn_error_text(t, text, sizeof text);
    bool good = !kn_ok(t) && strstr(text, words) != NULL;
    if (!good) printf("%s:%d: wanted an error with '%s', got '%s'\n", file, line, words, text);
    return check_that(good, "error text", file, line);
}

/* kn_last_error holds the words. */
#define CHECK_ERROR(status, words) check_error((status), (words), __FILE__, __LINE__)

static inline bool check_error(kn_status s, const char *words, const char *file, int line)
{
    bool good = s != KN_OK && strstr(kn_last_error(), words) != NULL;
    if (!good) printf("%s:%d: wanted an error with '%s', got '%s'\n", file, line, words, kn_last_error());
    return check_that(good, "status", file, line);
}

/* The tensor's elements, read as f64, equal the list within a relative tolerance. */
static inline bool check_values(kn_tensor t, const double *want, int n, double tolerance, const char *file,
                                int line)
{
    double got[256];
    char text[600];
    if (n > 256 || kn_count(t) != n || kn_read_as(t, KN_F64, got, (size_t)n * sizeof *got) != KN_OK) {
        kn_error_text(t, text, sizeof text);
        printf("%s:%d: cannot read %d values (%lld): %s %s\n", file, line, n, (long long)kn_count(t), text,
               kn_last_error());
        return check_that(false, "values", file, line);
    }
    for (int i = 0; i < n; i++) {
        double gap = got[i] - want[i], size = want[i] < 0 ? -want[i] : want[i];
        if (gap < 0) gap = -gap;
        if (got[i] == want[i] || (got[i] != got[i] && want[i] != want[i]) ||
            gap <= tolerance * (size > 1 ? size : 1))
            continue;
        printf("%s:%d: element %d is %.17g, not %.17g\n", file, line, i, got[i], want[i]);
        return check_that(false, "values", file, line);
    }
    return check_that(true, "values", file, line);
}
#define CHECK_VALUES(tensor, tolerance, ...)                                                                 \
    check_values((tensor), (const double[]){__VA_ARGS__},                                                    \
                 (int)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)), (tolerance), __FILE__,       \
                 __LINE__)

static inline int check_report(void)
{
    if (check_skipped)
        printf("%d passed, %d failed, %d skipped\n", check_passed, check_failed, check_skipped);
    else
        printf("%d passed, %d failed\n", check_passed, check_failed);
    return check_failed != 0;
}

#endif
