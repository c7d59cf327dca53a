/* Changes texts of programs so that many are programs again: numbers, names and balanced parts are changed as such, the table of ops
   follows the ops, and types follow what the reader says they should be. What the reader refuses is wanted too, so each of these is
   left out at times. */
#ifndef PROGRAM_MUTATOR_H
#define PROGRAM_MUTATOR_H

#include "ops/op.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MUTATOR_ROOM = 1 << 15, MUTATOR_REPAIRS = 6 };

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

typedef struct mutator_text {
    char at[MUTATOR_ROOM];
    size_t size; /* a 0 stands behind */
} mutator_text;

/* A part of the text. */
typedef struct mutator_span {
    size_t from, to;
} mutator_span;

static uint32_t mutator_state;

static inline uint32_t mutator_draw(uint32_t n)
{
    mutator_state = mutator_state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(mutator_state >> 4) * n >> 28);
}

static inline bool mutator_put(mutator_text *t, mutator_span s, const char *text, size_t bytes)
{
    if (t->size - (s.to - s.from) + bytes >= MUTATOR_ROOM) return false;
    memmove(t->at + s.from + bytes, t->at + s.to, t->size - s.to + 1);
    memcpy(t->at + s.from, text, bytes);
    t->size += bytes - (s.to - s.from);
    return true;
}

/* The end of the bracket, the brace, the string or the number that begins here. */
static inline size_t mutator_end(const mutator_text *t, size_t at)
{
    int depth = 0;
    bool quoted = false;
    char first = t->at[at];
    if (first == '-' || (first >= '0' && first <= '9')) return at + 1 + strspn(t->at + at + 1, "0123456789");
    for (size_t i = at; i < t->size; i++) {
        char c = t->at[i];
        if (c == '"') quoted = !quoted;
        if (!quoted && (c == '[' || c == '{')) depth++;
        if (!quoted && (c == ']' || c == '}')) depth--;
        if (depth <= 0 && !quoted) return i + 1;
    }
    return t->size;
}

/* One of the parts that begin with one of these characters; an empty one where there is none. */
static inline mutator_span mutator_pick(const mutator_text *t, const char *firsts)
{
    size_t start = t->size ? mutator_draw((uint32_t)t->size) : 0;
    for (size_t k = 0; k < t->size; k++) {
        size_t i = (start + k) % t->size;
        bool inside = i && strchr("0123456789", firsts[0]) && strchr("0123456789.-+", t->at[i - 1]);
        if (t->at[i] && strchr(firsts, t->at[i]) && !inside) return (mutator_span){i, mutator_end(t, i)};
    }
    return (mutator_span){0, 0};
}

static inline void mutator_number(mutator_text *t)
{
    static const long long large[] = {-1,
                                      64,
                                      65,
                                      4096,
                                      2147483647,
                                      2147483648,
                                      4294967296,
                                      4611686018427387904,
                                      9223372036854775807,
                                      -4611686018427387904};
    char word[32];
    mutator_span s = mutator_pick(t, "0123456789");
    if (s.to == s.from) return;
    long long now = strtoll(t->at + s.from, NULL, 10);
    uint32_t kind = mutator_draw(8);
    long long next = kind < 3   ? (long long)mutator_draw(12)
                     : kind < 5 ? now + 1
                     : kind < 7 ? now - 1
                                : large[mutator_draw(sizeof large / sizeof *large)];
    mutator_put(t, s, word, (size_t)snprintf(word, sizeof word, "%lld", next));
}

static inline const char *mutator_word(void)
{
    static const char *const words[] = {
        "n",   "m",         "2 * n",   "n / 2", "max(n, 2)", "n - 1",     "n + 1",  "inf",    "-inf",
        "nan", "min(n, m)", "n * n",   "f32",   "f64",       "f16",       "bf16",   "i64",    "i32",
        "u8",  "bool",      "f8_e4m3", "i4",    "u2",        "f4_e2m1",   "then",   "else",   "body",
        "if",  "call",      "weak",    "loose", "draws",     "max_trips", "sliced", "carried"};
    return words[mutator_draw(sizeof words / sizeof *words)];
}

/* Another op, or another word. */
static inline void mutator_string(mutator_text *t)
{
    char word[96];
    mutator_span s = mutator_pick(t, "\"");
    if (s.to == s.from) return;
    bool op = s.from >= 5 && !memcmp(t->at + s.from - 5, "\"op\":", 5);
    const kn_op *row = op ? kni_op_by_number((int)mutator_draw((uint32_t)kni_op_count())) : NULL;
    mutator_put(t, s, word, (size_t)snprintf(word, sizeof word, "\"%s\"", row ? row->name : mutator_word()));
}

/* One part in the place of another of its kind, or as well. */
static inline void mutator_copy(mutator_text *t, const char *firsts, bool as_well)
{
    static char part[MUTATOR_ROOM];
    mutator_span from = mutator_pick(t, firsts), to = mutator_pick(t, firsts);
    size_t bytes = from.to - from.from;
    if (!bytes) return;
    memcpy(part, t->at + from.from, bytes);
    if (as_well) part[bytes++] = ',', to.to = to.from;
    mutator_put(t, to, part, bytes);
}

static inline void mutator_remove(mutator_text *t)
{
    mutator_span s = mutator_pick(t, "{[");
    if (s.to < t->size && t->at[s.to] == ',')
        s.to++;
    else if (s.from && t->at[s.from - 1] == ',')
        s.from--;
    mutator_put(t, s, "", 0);
}

/* "ops" names the ops that are there. */
static inline void mutator_list_ops(mutator_text *t)
{
    static char list[MUTATOR_ROOM];
    char *table = strstr(t->at, "\"ops\":{");
    size_t used = 1;
    if (!table) return;
    list[0] = '{';
    for (const char *at = t->at; (at = strstr(at, "\"op\":\"")); at++) {
        char entry[96];
        int n = snprintf(entry, sizeof entry, "\"%.*s\":1", (int)strcspn(at + 6, "\""), at + 6);
        list[used] = 0;
        if (n >= (int)sizeof entry || used + (size_t)n + 2 >= sizeof list || strstr(list, entry)) continue;
        if (used > 1) list[used++] = ',';
        memcpy(list + used, entry, (size_t)n);
        used += (size_t)n;
    }
    list[used++] = '}';
    size_t from = (size_t)(table - t->at) + 6;
    mutator_put(t, (mutator_span){from, mutator_end(t, from)}, list, used);
}

/* "f32[3 * n, max(a, b)]" as JSON; 0 where it is no type. */
static inline size_t mutator_type(const char *text, char *out, size_t room)
{
    size_t dtype = strcspn(text, "[,"), used;
    int depth = 0;
    used = (size_t)snprintf(out, room, "[\"%.*s\"", (int)dtype, text);
    if (dtype > 16 || used > room) return 0;
    const char *at = text + dtype;
    if (*at++ != '[') return 0;
    while (*at && *at != ']') {
        const char *end = at;
        while (*end && (depth || (*end != ',' && *end != ']'))) depth += (*end == '(') - (*end == ')'), end++;
        bool plain = (size_t)(end - at) == strspn(at, "0123456789");
        int n = snprintf(out + used, room - used, plain ? ",%.*s" : ",\"%.*s\"", (int)(end - at), at);
        if (n < 0 || (used += (size_t)n) + 2 >= room) return 0;
        at = *end == ',' ? end + 1 + (end[1] == ' ') : end;
    }
    out[used++] = ']';
    return *at == ']' ? used : 0;
}

/* Puts the type that the reader found where the text tells another one; false where the message is about something else. */
static inline bool mutator_repair(mutator_text *t, const char *message)
{
    const char *middle = strstr(message, ", but the file says "), *start = middle;
    char type[512];
    while (start && start > message && strncmp(start, ": value ", 8)) start--;
    if (!middle || strncmp(start, ": value ", 8)) return false;
    char *rest;
    long id = strtol(start + 8, &rest, 10);
    size_t bytes = strncmp(rest, " is ", 4) ? 0 : mutator_type(rest + 4, type, sizeof type);
    for (char *out = t->at; bytes && (out = strstr(out, "\"out\":[")); out++) {
        char *number = out + 7;
        for (int place = 0; *number && *number != ']'; place++) {
            long one = strtol(number, &number, 10);
            if (*number == ',') number++;
            if (one != id) {
                if (*number && !strchr("-0123456789]", *number)) break;
                continue;
            }
            char *types = strstr(number, "\"types\":[");
            size_t at = types ? (size_t)(types - t->at) + 9 : t->size;
            while (place-- > 0 && at < t->size && t->at[at] == '[') at = mutator_end(t, at) + 1;
            return at < t->size && t->at[at] == '[' &&
                   mutator_put(t, (mutator_span){at, mutator_end(t, at)}, type, bytes);
        }
    }
    return false;
}

static inline void mutator_step(mutator_text *t)
{
    switch (mutator_draw(12)) {
    case 0:
    case 1:
    case 2:
        mutator_number(t);
        break;
    case 3:
    case 4:
    case 5:
        mutator_string(t);
        break;
    case 6:
        mutator_copy(t, "\"", false);
        break;
    case 7:
        mutator_copy(t, "{", mutator_draw(2));
        break;
    case 8:
        mutator_copy(t, "[", mutator_draw(2));
        break;
    case 9:
        mutator_copy(t, "0123456789", mutator_draw(2));
        break;
    case 10:
        mutator_remove(t);
        break;
    default:
        t->size = LLVMFuzzerMutate((uint8_t *)t->at, t->size, MUTATOR_ROOM - 1);
        t->at[t->size] = 0;
    }
}

#endif
