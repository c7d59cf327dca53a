/* Regular expressions in the syntax of RE2, without what has a memory: no groups are reported, the longest match is the match. The time
   is bounded by the length of the text times that of the pattern. */
#ifndef KNI_ONNX_REGEX_H
#define KNI_ONNX_REGEX_H

#include "onnx/arena.h"

typedef struct kni_regex kni_regex;

/* Lives in the arena. NULL with *error (which lives there, too): what is wrong with the pattern. */
kni_regex *kni_regex_compile(kni_onnx_arena *arena, const char *pattern, size_t bytes, const char **error);
/* Whether the whole text matches. Not to be used by two threads at once. */
bool kni_regex_matches(kni_regex *regex, const char *text, size_t bytes);
/* The first match at `from` or later, the longest of those that begin there: text[*begin .. *end - 1]. */
bool kni_regex_find(kni_regex *regex, const char *text, size_t bytes, size_t from, size_t *begin,
                    size_t *end);

/* ---- between parser (regex_parse.c, regex_set.c) and matcher (regex.c) */

typedef struct kni_regex_range {
    int32_t first, last;
} kni_regex_range;

/* A set of letters: ranges in order, apart from each other. */
typedef struct kni_regex_set {
    kni_regex_range *ranges;
    int32_t count, room;
} kni_regex_set;

/* False without memory. */
bool kni_regex_set_add(kni_onnx_arena *arena, kni_regex_set *set, int32_t first, int32_t last);
/* The ranges of a named class, "alpha", or of one of the letters d w s; false where there is none. */
bool kni_regex_set_named(kni_onnx_arena *arena, kni_regex_set *set, const char *name, size_t bytes,
                         bool negated);
/* The other case of each of its letters, too. */
bool kni_regex_set_fold(kni_onnx_arena *arena, kni_regex_set *set);
/* Puts the ranges in order; afterwards, where negated, it holds all the others. */
bool kni_regex_set_finish(kni_onnx_arena *arena, kni_regex_set *set, bool negated);
bool kni_regex_set_has(const kni_regex_set *set, int32_t letter);

typedef enum kni_regex_place {
    KNI_REGEX_TEXT_BEGIN,
    KNI_REGEX_TEXT_END,
    KNI_REGEX_LINE_BEGIN,
    KNI_REGEX_LINE_END,
    KNI_REGEX_WORD_EDGE,
    KNI_REGEX_NO_WORD_EDGE
} kni_regex_place;

typedef enum kni_regex_kind {
    KNI_REGEX_EMPTY,
    KNI_REGEX_SET,
    KNI_REGEX_PLACE,
    KNI_REGEX_CONCAT, /* left, then right */
    KNI_REGEX_EITHER, /* left or right */
    KNI_REGEX_REPEAT  /* left, least to `most` times; most -1: any number */
} kni_regex_kind;

typedef struct kni_regex_tree {
    kni_regex_kind kind;
    struct kni_regex_tree *left, *right;
    int32_t least, most;
    kni_regex_place place;
    kni_regex_set set;
} kni_regex_tree;

kni_regex_tree *kni_regex_parse(kni_onnx_arena *arena, const char *pattern, size_t bytes, const char **error);

#endif
