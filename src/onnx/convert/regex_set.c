/* Sets of letters in regular expressions. */
#include "onnx/convert/regex.h"
#include "onnx/strings.h"
#include <stdlib.h>
#include <string.h>

enum { LAST_LETTER = 0x10ffff };

bool kni_regex_set_add(kni_onnx_arena *arena, kni_regex_set *set, int32_t first, int32_t last)
{
    if (set->count == set->room) {
        int32_t room = set->room < 4 ? 8 : set->room * 2;
        kni_regex_range *ranges = kni_onnx_arena_take(arena, (size_t)room, sizeof *ranges);
        if (!ranges) return false;
        if (set->count) memcpy(ranges, set->ranges, (size_t)set->count * sizeof *ranges);
        set->ranges = ranges;
        set->room = room;
    }
    set->ranges[set->count++] = (kni_regex_range){first, last};
    return true;
}

/* ---- named classes */

typedef struct named {
    const char *name;
    const char *ranges; /* pairs of letters */
} named;

static const named classes[] = {
    {"d", "09"},           {"w", "09AZaz__"},
    {"s", "\t\n\f\r  "},   {"alnum", "09AZaz"},
    {"alpha", "AZaz"},     {"ascii", "\001\177"}, /* 0 is added below */
    {"blank", "\t\t  "},   {"cntrl", "\001\037\177\177"},
    {"digit", "09"},       {"graph", "!~"},
    {"lower", "az"},       {"print", " ~"},
    {"punct", "!/:@[`{~"}, {"space", "\t\r  "},
    {"upper", "AZ"},       {"word", "09AZaz__"},
    {"xdigit", "09AFaf"},
};

static const named *class_of(const char *name, size_t bytes)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strlen(classes[i].name) == bytes && !memcmp(classes[i].name, name, bytes)) return &classes[i];
    return NULL;
}

bool kni_regex_set_named(kni_onnx_arena *arena, kni_regex_set *set, const char *name, size_t bytes,
                         bool negated)
{
    const named *found = class_of(name, bytes);
    if (!found) return false;
    kni_regex_set own = {0};
    bool zero = !strcmp(found->name, "ascii") || !strcmp(found->name, "cntrl");
    bool good = !zero || kni_regex_set_add(arena, &own, 0, 0);
    for (const char *r = found->ranges; good && *r; r += 2)
        good = kni_regex_set_add(arena, &own, (unsigned char)r[0], (unsigned char)r[1]);
    good = good && kni_regex_set_finish(arena, &own, negated);
    for (int32_t i = 0; good && i < own.count; i++)
        good = kni_regex_set_add(arena, set, own.ranges[i].first, own.ranges[i].last);
    return good;
}

/* ---- order, negation, membership */

static int by_first(const void *a, const void *b)
{
    const kni_regex_range *x = a, *y = b;
    return x->first != y->first ? (x->first > y->first) - (x->first < y->first)
                                : (x->last > y->last) - (x->last < y->last);
}

bool kni_regex_set_finish(kni_onnx_arena *arena, kni_regex_set *set, bool negated)
{
    if (set->count) qsort(set->ranges, (size_t)set->count, sizeof *set->ranges, by_first);
    int32_t n = 0;
    for (int32_t i = 0; i < set->count; i++) {
        kni_regex_range r = set->ranges[i];
        if (n > 0 && r.first <= set->ranges[n - 1].last + 1) {
            if (r.last > set->ranges[n - 1].last) set->ranges[n - 1].last = r.last;
        } else {
            set->ranges[n++] = r;
        }
    }
    set->count = n;
    if (!negated) return true;
    kni_regex_set others = {0};
    int32_t next = 0;
    for (int32_t i = 0; i < n; i++) {
        if (set->ranges[i].first > next && !kni_regex_set_add(arena, &others, next, set->ranges[i].first - 1))
            return false;
        next = set->ranges[i].last + 1;
    }
    if (next <= LAST_LETTER && !kni_regex_set_add(arena, &others, next, LAST_LETTER)) return false;
    *set = others;
    return true;
}

bool kni_regex_set_has(const kni_regex_set *set, int32_t letter)
{
    int32_t low = 0, high = set->count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (set->ranges[middle].last < letter)
            low = middle + 1;
        else
            high = middle;
    }
    return low < set->count && set->ranges[low].first <= letter;
}

/* ---- letters of the other case */

typedef struct folding {
    kni_onnx_arena *arena;
    const kni_regex_set *from;
    kni_regex_set *to;
    bool good;
} folding;

static void fold_pair(void *state, int32_t from, int32_t to)
{
    folding *f = state;
    if (kni_regex_set_has(f->from, from)) f->good = f->good && kni_regex_set_add(f->arena, f->to, to, to);
}

/* Twice, since K, k and the sign of Kelvin are one letter. */
bool kni_regex_set_fold(kni_onnx_arena *arena, kni_regex_set *set)
{
    for (int round = 0; round < 2; round++) {
        if (!kni_regex_set_finish(arena, set, false)) return false;
        kni_regex_set all = {0};
        folding f = {arena, set, &all, true};
        for (int32_t i = 0; i < set->count && f.good; i++)
            f.good = kni_regex_set_add(arena, &all, set->ranges[i].first, set->ranges[i].last);
        kni_letter_pairs(fold_pair, &f);
        if (!f.good) return false;
        *set = all;
    }
    return true;
}
