/* The parser of regular expressions. What it cannot read is an error with its place, never something else. */
#include "onnx/convert/regex.h"
#include "onnx/strings.h"
#include <string.h>

enum { DEPTH = 250, MOST_TIMES = 1000, LAST_LETTER = 0x10ffff };

typedef struct flags {
    bool fold, many_lines, dot_all;
} flags;

typedef struct parser {
    kni_onnx_arena *arena;
    const char *text;
    size_t bytes, at;
    const char *error;
    flags flags;
    int depth;
    bool literal; /* between \Q and \E */
} parser;

static kni_regex_tree *fail(parser *p, const char *what)
{
    if (!p->error) {
        p->error = kni_onnx_arena_format(p->arena, "%s at byte %zu of the pattern", what, p->at);
        if (!p->error) p->error = "there is no memory";
    }
    return NULL;
}

static kni_regex_tree *node(parser *p, kni_regex_kind kind, kni_regex_tree *left, kni_regex_tree *right)
{
    kni_regex_tree *t = kni_onnx_arena_take(p->arena, 1, sizeof *t);
    if (!t) return fail(p, "there is no memory");
    t->kind = kind;
    t->left = left;
    t->right = right;
    return t;
}

static bool at_end(const parser *p) { return p->at >= p->bytes; }
static char peek(const parser *p) { return p->at < p->bytes ? p->text[p->at] : 0; }

static bool starts(const parser *p, const char *with)
{
    size_t n = strlen(with);
    return p->bytes - p->at >= n && !memcmp(p->text + p->at, with, n);
}

static bool skip(parser *p, const char *what)
{
    if (!starts(p, what)) return false;
    p->at += strlen(what);
    return true;
}

static int32_t letter(parser *p)
{
    size_t used = 1;
    int32_t found = at_end(p) ? -1 : kni_utf8_read(p->text + p->at, p->bytes - p->at, &used);
    if (found < 0) fail(p, at_end(p) ? "the pattern ends too early" : "there is no UTF-8");
    p->at += used;
    return found;
}

static kni_regex_tree *set_node(parser *p, kni_regex_set *set, bool negated)
{
    bool good =
        (!p->flags.fold || kni_regex_set_fold(p->arena, set)) && kni_regex_set_finish(p->arena, set, negated);
    kni_regex_tree *t = good ? node(p, KNI_REGEX_SET, NULL, NULL) : fail(p, "there is no memory");
    if (t) t->set = *set;
    return t;
}

static kni_regex_tree *one_letter(parser *p, int32_t found)
{
    kni_regex_set set = {0};
    if (found < 0 || !kni_regex_set_add(p->arena, &set, found, found)) return fail(p, "there is no memory");
    return set_node(p, &set, false);
}

/* ---- escapes */

static int digit_of(char c, int base)
{
    int value = c >= '0' && c <= '9'                 ? c - '0'
                : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                     : 99;
    return value < base ? value : -1;
}

/* Behind \x: two digits, or any number of them in braces. */
static int32_t hexadecimal(parser *p)
{
    int32_t value = 0;
    bool braces = skip(p, "{");
    int digits = 0;
    for (; digits < (braces ? 8 : 2) && digit_of(peek(p), 16) >= 0; digits++)
        value = value * 16 + digit_of(p->text[p->at++], 16);
    if (digits == 0 || digits == 8 || value > LAST_LETTER || (braces ? !skip(p, "}") : digits < 2))
        fail(p, "\\x needs two hexadecimal digits, or some in braces");
    return value;
}

/* The letter that an escape stands for, behind its backslash; -1 with an error. */
static int32_t escaped(parser *p)
{
    static const char names[] = "aftnrv", letters[] = "\a\f\t\n\r\v";
    char c = peek(p);
    const char *found = c ? strchr(names, c) : NULL;
    if (found) {
        p->at++;
        return letters[found - names];
    }
    if (skip(p, "x")) return hexadecimal(p);
    int second = p->at + 1 < p->bytes ? digit_of(p->text[p->at + 1], 8) : -1;
    if (c == '0' || (c >= '1' && c <= '7' && second >= 0)) {
        int32_t value = 0;
        for (int i = 0; i < 3 && digit_of(peek(p), 8) >= 0; i++)
            value = value * 8 + digit_of(p->text[p->at++], 8);
        return value;
    }
    if (at_end(p) || digit_of(c, 10) >= 0 || ((c | 32) >= 'a' && (c | 32) <= 'z') || (c & 0x80)) {
        fail(p, (c == 'p' || c == 'P') ? "classes of Unicode (\\p) are not supported: write ranges"
                                       : "there is no such escape");
        return -1;
    }
    return letter(p);
}

/* \d \D \w \W \s \S, behind the backslash. */
static bool class_escape(parser *p, kni_regex_set *set)
{
    char name = (char)(peek(p) | 32);
    if (at_end(p) || (name != 'd' && name != 'w' && name != 's')) return false;
    if (!kni_regex_set_named(p->arena, set, &name, 1, peek(p) != name)) fail(p, "there is no memory");
    p->at++;
    return true;
}

static kni_regex_tree *place(parser *p, kni_regex_place where)
{
    kni_regex_tree *t = node(p, KNI_REGEX_PLACE, NULL, NULL);
    if (t) t->place = where;
    return t;
}

static kni_regex_tree *escape(parser *p)
{
    kni_regex_set set = {0};
    if (class_escape(p, &set)) return set_node(p, &set, false);
    if (skip(p, "A")) return place(p, KNI_REGEX_TEXT_BEGIN);
    if (skip(p, "z")) return place(p, KNI_REGEX_TEXT_END);
    if (skip(p, "b")) return place(p, KNI_REGEX_WORD_EDGE);
    if (skip(p, "B")) return place(p, KNI_REGEX_NO_WORD_EDGE);
    int32_t found = escaped(p);
    return p->error ? NULL : one_letter(p, found);
}

/* ---- classes in brackets */

/* [:alpha:] or [:^alpha:]; false where it is none. */
static bool posix_class(parser *p, kni_regex_set *set)
{
    if (!starts(p, "[:")) return false;
    size_t end = p->at + 2;
    while (end + 1 < p->bytes && (p->text[end] != ':' || p->text[end + 1] != ']')) end++;
    if (end + 1 >= p->bytes) return false;
    bool negated = p->text[p->at + 2] == '^';
    size_t name = p->at + 2 + negated;
    if (name > end || !kni_regex_set_named(p->arena, set, p->text + name, end - name, negated))
        fail(p, "there is no such class");
    p->at = end + 2;
    return true;
}

static int32_t class_letter(parser *p) { return skip(p, "\\") ? escaped(p) : letter(p); }

static kni_regex_tree *class_in_brackets(parser *p)
{
    kni_regex_set set = {0};
    bool negated = skip(p, "^");
    for (bool first = true; !p->error && (first || peek(p) != ']'); first = false) {
        if (at_end(p)) return fail(p, "a class is not closed with ]");
        if (posix_class(p, &set)) continue;
        if (peek(p) == '\\') {
            p->at++;
            if (class_escape(p, &set)) continue;
            p->at--;
        }
        int32_t from = class_letter(p), to = from;
        if (!p->error && peek(p) == '-' && p->at + 1 < p->bytes && p->text[p->at + 1] != ']') {
            p->at++;
            to = class_letter(p);
        }
        if (!p->error && to < from) fail(p, "a range of a class ends before it begins");
        if (!p->error && !kni_regex_set_add(p->arena, &set, from, to)) fail(p, "there is no memory");
    }
    if (p->error) return NULL;
    p->at++;
    return set_node(p, &set, negated);
}

/* ---- groups */

static kni_regex_tree *either(parser *p);

/* (?flags) and (?flags:, behind the question mark. True: a group of its own begins; false: flags for the rest of the group around. */
static bool group_flags(parser *p)
{
    bool on = true;
    while (!p->error) {
        char c = peek(p);
        p->at++;
        if (c == ':') return true;
        if (c == ')') return false;
        if (c == '-' && on)
            on = false;
        else if (c == 'i')
            p->flags.fold = on;
        else if (c == 'm')
            p->flags.many_lines = on;
        else if (c == 's')
            p->flags.dot_all = on;
        else if (c != 'U')
            fail(p, "there is no such group: RE2 has no look-ahead and no look-behind");
    }
    return false;
}

static bool group_name(parser *p)
{
    if (!skip(p, "P<") && !(starts(p, "<") && !starts(p, "<=") && !starts(p, "<!") && skip(p, "<")))
        return false;
    while (!at_end(p) && peek(p) != '>') p->at++;
    if (!skip(p, ">")) fail(p, "the name of a group is not closed with >");
    return true;
}

static kni_regex_tree *group(parser *p)
{
    flags before = p->flags;
    if (skip(p, "?") && !group_name(p) && !group_flags(p))
        return p->error ? NULL : node(p, KNI_REGEX_EMPTY, NULL, NULL);
    if (++p->depth > DEPTH) return fail(p, "groups are nested too deeply");
    kni_regex_tree *t = either(p);
    p->depth--;
    if (!p->error && !skip(p, ")")) return fail(p, "a group is not closed with )");
    p->flags = before;
    return t;
}

/* ---- atoms, repetition, sequences, alternatives */

static kni_regex_tree *dot(parser *p)
{
    kni_regex_set set = {0};
    if (!p->flags.dot_all && !kni_regex_set_add(p->arena, &set, '\n', '\n'))
        return fail(p, "there is no memory");
    kni_regex_tree *t = node(p, KNI_REGEX_SET, NULL, NULL);
    if (t && !kni_regex_set_finish(p->arena, &set, true)) return fail(p, "there is no memory");
    if (t) t->set = set;
    return t;
}

static kni_regex_tree *atom(parser *p)
{
    if (p->literal) return one_letter(p, letter(p));
    if (skip(p, "(")) return group(p);
    if (skip(p, "[")) return class_in_brackets(p);
    if (skip(p, ".")) return dot(p);
    if (skip(p, "^")) return place(p, p->flags.many_lines ? KNI_REGEX_LINE_BEGIN : KNI_REGEX_TEXT_BEGIN);
    if (skip(p, "$")) return place(p, p->flags.many_lines ? KNI_REGEX_LINE_END : KNI_REGEX_TEXT_END);
    if (skip(p, "\\")) return escape(p);
    if (starts(p, "*") || starts(p, "+") || starts(p, "?")) return fail(p, "there is nothing to repeat");
    int32_t found = letter(p);
    return p->error ? NULL : one_letter(p, found);
}

static int32_t number(parser *p)
{
    int32_t value = -1;
    while (digit_of(peek(p), 10) >= 0 && value <= MOST_TIMES)
        value = (value < 0 ? 0 : value * 10) + digit_of(p->text[p->at++], 10);
    return value;
}

/* {2} {2,} {2,5}; anything else in braces is what it says. */
static bool times_in_braces(parser *p, int32_t *least, int32_t *most)
{
    size_t before = p->at;
    if (!skip(p, "{")) return false;
    *least = *most = number(p);
    if (*least >= 0 && skip(p, ",")) *most = number(p);
    if (*least < 0 || !skip(p, "}")) {
        p->at = before;
        return false;
    }
    if (*least > MOST_TIMES || *most > MOST_TIMES || (*most >= 0 && *most < *least))
        fail(p, "a repetition must be {n,m} with n <= m <= 1000");
    return true;
}

static bool times(parser *p, int32_t *least, int32_t *most)
{
    if (p->literal && !skip(p, "\\E")) return false;
    p->literal = false;
    *least = 0;
    *most = -1;
    if (skip(p, "*")) return true;
    if (skip(p, "?")) {
        *most = 1;
        return true;
    }
    if (skip(p, "+")) {
        *least = 1;
        return true;
    }
    return times_in_braces(p, least, most);
}

static kni_regex_tree *repeated(parser *p)
{
    kni_regex_tree *t = atom(p);
    int32_t least, most;
    for (bool again = false; t && !p->error && times(p, &least, &most); again = true) {
        if (again) return fail(p, "a repetition cannot be repeated: use a group");
        skip(p, "?"); /* fewest first: it makes no difference here */
        t = node(p, KNI_REGEX_REPEAT, t, NULL);
        if (t) t->least = least, t->most = most;
    }
    return p->error ? NULL : t;
}

/* \Q and \E between atoms. */
static void quotes(parser *p)
{
    for (bool more = true; more;) {
        more = p->literal ? skip(p, "\\E") : skip(p, "\\Q");
        if (more) p->literal = !p->literal;
    }
}

static kni_regex_tree *sequence(parser *p)
{
    kni_regex_tree *t = NULL;
    for (quotes(p); !p->error && !at_end(p) && (p->literal || (peek(p) != '|' && peek(p) != ')'));
         quotes(p)) {
        kni_regex_tree *next = repeated(p);
        t = t && next ? node(p, KNI_REGEX_CONCAT, t, next) : next;
    }
    return p->error ? NULL : t ? t : node(p, KNI_REGEX_EMPTY, NULL, NULL);
}

static kni_regex_tree *either(parser *p)
{
    kni_regex_tree *t = sequence(p);
    while (!p->error && skip(p, "|")) {
        kni_regex_tree *next = sequence(p);
        t = next ? node(p, KNI_REGEX_EITHER, t, next) : NULL;
    }
    return p->error ? NULL : t;
}

kni_regex_tree *kni_regex_parse(kni_onnx_arena *arena, const char *pattern, size_t bytes, const char **error)
{
    parser p = {.arena = arena, .text = pattern, .bytes = bytes};
    kni_regex_tree *t = either(&p);
    if (!p.error && !at_end(&p)) fail(&p, "there is a ) without a (");
    if (p.error) *error = p.error;
    return p.error ? NULL : t;
}
