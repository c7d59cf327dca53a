/* Matches regular expressions with all threads at once: each step of a program is in the list at most once for each letter of the text,
   so that no pattern takes longer than its length for a letter. */
#include "onnx/convert/regex.h"
#include "onnx/strings.h"
#include <string.h>

enum { MOST_BYTES = 100000, MOST_STEPS = 100000, MOST_PARTS = 1000000, NOWHERE = -1 };

typedef enum step_kind { STEP_SET, STEP_PLACE, STEP_FORK, STEP_MATCH } step_kind;

typedef struct step {
    step_kind kind;
    int32_t next, other; /* FORK has two */
    kni_regex_place place;
    kni_regex_set set;
} step;

/* Steps to look at, in the order in which their matches began. */
typedef struct step_list {
    int32_t *steps;
    size_t *begins;
    uint64_t *seen; /* the round in which a step was last put into the list */
    int32_t count;
} step_list;

struct kni_regex {
    kni_onnx_arena *arena;
    step *steps;
    int32_t count, room, first;
    int32_t parts; /* of the tree that were made, which may be empty */
    step_list now, later;
    int32_t *stack;
    uint64_t round;
    const char *error;
};

/* ---- from the tree to steps. Each part is made with what comes behind it, so the last part comes first. */

static int32_t add_step(kni_regex *r, step s)
{
    if (r->error) return NOWHERE;
    if (r->count == MOST_STEPS) {
        r->error = "the pattern is too long, or repeats too much";
        return NOWHERE;
    }
    if (r->count == r->room) {
        int32_t room = r->room ? r->room * 2 : 64;
        step *steps = kni_onnx_arena_take(r->arena, (size_t)room, sizeof *steps);
        if (!steps) {
            r->error = "there is no memory";
            return NOWHERE;
        }
        if (r->count) memcpy(steps, r->steps, (size_t)r->count * sizeof *steps);
        r->steps = steps;
        r->room = room;
    }
    r->steps[r->count] = s;
    return r->count++;
}

static int32_t make(kni_regex *r, const kni_regex_tree *t, int32_t next);

/* least copies, then either a loop or the copies that may be left out, each of which leads to the end. */
static int32_t make_repeat(kni_regex *r, const kni_regex_tree *t, int32_t next)
{
    int32_t behind = next;
    if (t->most < 0) {
        behind = add_step(r, (step){.kind = STEP_FORK, .next = NOWHERE, .other = next});
        int32_t body = make(r, t->left, behind);
        if (!r->error) r->steps[behind].next = body;
    }
    for (int32_t i = t->least; i < t->most && !r->error; i++) {
        int32_t body = make(r, t->left, behind);
        behind = add_step(r, (step){.kind = STEP_FORK, .next = body, .other = next});
    }
    for (int32_t i = 0; i < t->least && !r->error; i++) behind = make(r, t->left, behind);
    return behind;
}

/* Sequences and alternatives lean to the left, so the recursion is as deep as groups are nested. */
static int32_t make(kni_regex *r, const kni_regex_tree *t, int32_t next)
{
    if (++r->parts > MOST_PARTS && !r->error) r->error = "the pattern repeats too much";
    for (; !r->error && t->kind == KNI_REGEX_CONCAT; t = t->left) next = make(r, t->right, next);
    if (r->error) return NOWHERE;
    if (t->kind == KNI_REGEX_EITHER) {
        int32_t first = NOWHERE;
        for (; !r->error && t->kind == KNI_REGEX_EITHER; t = t->left) {
            int32_t right = make(r, t->right, next);
            first = first == NOWHERE ? right
                                     : add_step(r, (step){.kind = STEP_FORK, .next = right, .other = first});
        }
        int32_t left = r->error ? NOWHERE : make(r, t, next);
        return add_step(r, (step){.kind = STEP_FORK, .next = left, .other = first});
    }
    switch (t->kind) {
    case KNI_REGEX_SET:
        return add_step(r, (step){.kind = STEP_SET, .next = next, .set = t->set});
    case KNI_REGEX_PLACE:
        return add_step(r, (step){.kind = STEP_PLACE, .next = next, .place = t->place});
    case KNI_REGEX_REPEAT:
        return make_repeat(r, t, next);
    default:
        return next;
    }
}

static bool make_list(kni_regex *r, step_list *list)
{
    size_t n = (size_t)r->count;
    list->steps = kni_onnx_arena_take(r->arena, n, sizeof *list->steps);
    list->begins = kni_onnx_arena_take(r->arena, n, sizeof *list->begins);
    list->seen = kni_onnx_arena_take(r->arena, n, sizeof *list->seen);
    return list->steps && list->begins && list->seen;
}

kni_regex *kni_regex_compile(kni_onnx_arena *arena, const char *pattern, size_t bytes, const char **error)
{
    kni_regex *r = kni_onnx_arena_take(arena, 1, sizeof *r);
    *error = "there is no memory";
    if (!r) return NULL;
    r->arena = arena;
    if (bytes > MOST_BYTES) *error = "the pattern is too long";
    if (bytes > MOST_BYTES) return NULL;
    kni_regex_tree *tree = kni_regex_parse(arena, pattern, bytes, error);
    if (!tree) return NULL;
    r->first = make(r, tree, add_step(r, (step){.kind = STEP_MATCH}));
    if (r->error) {
        *error = r->error;
        return NULL;
    }
    *error = "there is no memory";
    r->stack = kni_onnx_arena_take(arena, (size_t)r->count + 1, sizeof *r->stack);
    if (!r->stack || !make_list(r, &r->now) || !make_list(r, &r->later)) return NULL;
    return r;
}

/* ---- matching */

typedef struct subject {
    const char *text;
    size_t bytes;
} subject;

static bool is_word(const subject *s, size_t at)
{
    if (at >= s->bytes) return false;
    unsigned char c = (unsigned char)s->text[at];
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= 'a' && c <= 'z');
}

static bool is_there(kni_regex_place place, const subject *s, size_t at)
{
    bool edge = (at > 0 && is_word(s, at - 1)) != is_word(s, at);
    switch (place) {
    case KNI_REGEX_TEXT_BEGIN:
        return at == 0;
    case KNI_REGEX_TEXT_END:
        return at == s->bytes;
    case KNI_REGEX_LINE_BEGIN:
        return at == 0 || s->text[at - 1] == '\n';
    case KNI_REGEX_LINE_END:
        return at == s->bytes || s->text[at] == '\n';
    case KNI_REGEX_WORD_EDGE:
        return edge;
    case KNI_REGEX_NO_WORD_EDGE:
        return !edge;
    }
    return false;
}

/* A step and all that are reached from it without a letter. A step is on the stack at most once in a round. */
static void add_to(kni_regex *r, step_list *list, int32_t from, const subject *s, size_t at, size_t begin)
{
    int32_t depth = 0;
    if (list->seen[from] == r->round) return;
    list->seen[from] = r->round;
    r->stack[depth++] = from;
    while (depth > 0) {
        int32_t now = r->stack[--depth];
        const step *t = &r->steps[now];
        if (t->kind == STEP_SET || t->kind == STEP_MATCH) {
            list->steps[list->count] = now;
            list->begins[list->count++] = begin;
            continue;
        }
        if (t->kind == STEP_PLACE && !is_there(t->place, s, at)) continue;
        int32_t ways[2] = {t->next, t->kind == STEP_FORK ? t->other : NOWHERE};
        for (int i = 0; i < 2; i++) {
            if (ways[i] == NOWHERE || list->seen[ways[i]] == r->round) continue;
            list->seen[ways[i]] = r->round;
            r->stack[depth++] = ways[i];
        }
    }
}

/* The best match so far: the earliest one, of these the longest. Steps whose match began later than that are of no use. */
typedef struct best {
    bool found;
    size_t begin, end;
} best;

/* What the steps at `at` become behind the letter that is `letter` and ends at `behind`. */
static void step_over(kni_regex *r, const subject *s, int32_t letter, size_t behind, best *b, size_t at)
{
    r->later.count = 0;
    r->round++;
    for (int32_t i = 0; i < r->now.count; i++) {
        const step *t = &r->steps[r->now.steps[i]];
        size_t begin = r->now.begins[i];
        if (b->found && begin > b->begin) break;
        if (t->kind == STEP_MATCH)
            *b = (best){true, begin, at};
        else if (letter >= 0 && kni_regex_set_has(&t->set, letter))
            add_to(r, &r->later, t->next, s, behind, begin);
    }
    step_list swap = r->now;
    r->now = r->later;
    r->later = swap;
}

/* anchored: only matches that begin at `from`. */
static best run(kni_regex *r, const subject *s, size_t from, bool anchored)
{
    best b = {0};
    r->now.count = 0;
    r->round++;
    add_to(r, &r->now, r->first, s, from, from);
    for (size_t at = from;;) {
        size_t used = 1;
        int32_t letter = at < s->bytes ? kni_utf8_read(s->text + at, s->bytes - at, &used) : -1;
        step_over(r, s, letter, at + used, &b, at);
        if (at >= s->bytes) break;
        at += used;
        if (!anchored && !b.found) add_to(r, &r->now, r->first, s, at, at);
        if (r->now.count == 0 && (anchored || b.found)) break;
    }
    return b;
}

bool kni_regex_matches(kni_regex *regex, const char *text, size_t bytes)
{
    best b = run(regex, &(subject){text, bytes}, 0, true);
    return b.found && b.end == bytes;
}

bool kni_regex_find(kni_regex *regex, const char *text, size_t bytes, size_t from, size_t *begin, size_t *end)
{
    best b = run(regex, &(subject){text, bytes}, from, false);
    *begin = b.begin;
    *end = b.end;
    return b.found;
}
