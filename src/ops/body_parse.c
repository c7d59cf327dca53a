/* The statements of a body, and the lists of its operands and results. */
#include "ops/body_parser.h"
#include <string.h>

/* ---- statements */

static bool is_taken(kni_parser *p, const char *at, size_t n)
{
    return kni_parser_find(p->locals, p->n_locals, at, n) || kni_parser_find(p->in, p->d->n_in, at, n) ||
           kni_parser_find_scalar(p, at, n) >= 0 || kni_parser_equals("inf", at, n) ||
           ((kni_parser_equals("n", at, n) || kni_parser_equals("k", at, n)) && p->names->lines);
}

/* Result k has been computed. The only result stays on the stack; of several each may be read on. */
static void give_result(kni_parser *p, const char *at, int k, kni_parsed t)
{
    kni_naming *out = &p->out[k];
    bool truth = p->names->truth || out->type.truth;
    if (t.truth != truth)
        kni_parser_fail(p, at, truth ? "the result must be a truth" : "the result must be a value");
    if (t.index != out->type.index && !t.number)
        kni_parser_fail(p, at,
                        t.index ? "it is an index, and the result is a value"
                                : "it is a value, and the result is an index");
    if (t.level & ~out->type.level)
        kni_parser_fail(p, at, "it differs along what the result has one element for");
    out->used = true;
    p->given++;
    if (p->d->n_out == 1) return;
    if (p->n_locals == KNI_BODY_LOCALS) {
        kni_parser_fail(p, at, "more than %d values have names", KNI_BODY_LOCALS);
        return;
    }
    kni_parser_emit(p, at, KNI_STEP_STORE, p->n_locals, 1);
    kni_parser_emit(p, at, KNI_STEP_LOCAL, p->n_locals, 0);
    kni_parser_emit(p, at, KNI_STEP_RESULT, k, 1);
}

/* name = formula; true where all results are there. */
static bool parse_statement(kni_parser *p)
{
    char copy[32];
    kni_parser_skip(p);
    const char *at = p->at;
    size_t n = kni_parser_name_length(at);
    if (!n) return kni_parser_fail(p, at, "expected 'name = formula'"), true;
    p->at += n;
    kni_parser_copy(copy, at, n);
    if (is_taken(p, at, n))
        return kni_parser_fail(p, at, "'%s' has a meaning already: take another name", copy), true;
    kni_parser_expect(p, '=');
    kni_parsed t = p->failed ? kni_parsed_nothing : kni_parser_formula(p);
    kni_naming *out = kni_parser_find(p->out, p->d->n_out, at, n);
    if (p->failed) return true;
    if (out && out->used)
        return kni_parser_fail(p, at, "'%s' has a meaning already: take another name", copy), true;
    if (out) give_result(p, at, (int)(out - p->out), t);
    if (p->failed || p->given == p->d->n_out) return true;
    if (p->n_locals == KNI_BODY_LOCALS)
        return kni_parser_fail(p, at, "more than %d values have names", KNI_BODY_LOCALS), true;
    if (!out) kni_parser_emit(p, at, KNI_STEP_STORE, p->n_locals, 1);
    p->locals[p->n_locals++] = (kni_naming){at, n, t, out != NULL};
    kni_parser_expect(p, ';');
    return p->failed;
}

/* ---- the lists of operands and results */

typedef struct mark {
    const char *word;
    uint8_t bits;
} mark;
enum { LEVELS = 3, KINDS = 2 };
static const mark levels[LEVELS] = {
    {"line", KNI_LEVEL_LINE}, {"place", KNI_LEVEL_PLACE}, {"all", KNI_LEVEL_ALL}};
static const mark kinds[KINDS] = {{"index", KNI_OPERAND_INDEX}, {"truth", KNI_OPERAND_TRUTH}};

/* What one of the marks says that may stand behind a name; `none` where nothing does; -1: it is another word. */
static int read_mark(const char **list, char sign, const mark *marks, int n_marks, int none)
{
    if (**list != sign) return none;
    size_t n = kni_parser_name_length(++*list);
    for (int i = 0; i < n_marks; i++) {
        if (!kni_parser_equals(marks[i].word, *list, n)) continue;
        *list += n;
        return marks[i].bits;
    }
    return -1;
}

/* The names of a list, each with its level, its kind and what it is where it is absent; -1: it is malformed. */
static int read_list(const char *list, kni_naming *names, uint8_t *bits)
{
    int n = 0;
    for (; *list; list += *list == ' ') {
        size_t length = kni_parser_name_length(list);
        if (!length || n == KNI_BODY_OPERANDS) return -1;
        names[n] = (kni_naming){list, length, {false, KNI_LEVEL_ELEMENT, false, false}, false};
        list += length;
        int level = read_mark(&list, '@', levels, LEVELS, KNI_LEVEL_ELEMENT);
        int kind = level < 0 ? -1 : read_mark(&list, ':', kinds, KINDS, 0);
        if (kind < 0) return -1;
        names[n].type.level = (uint8_t)level;
        bits[n] = (uint8_t)(level | kind);
        names[n].type.index = bits[n] & KNI_OPERAND_INDEX;
        names[n].type.truth = bits[n] & KNI_OPERAND_TRUTH;
        if (*list == '?') {
            if (list[1] != '0' && list[1] != '1') return -1;
            bits[n] |= KNI_OPERAND_OPTIONAL | (list[1] == '1' ? KNI_OPERAND_ONE : 0);
            list += 2;
        }
        if (*list && *list != ' ') return -1;
        n++;
    }
    return n;
}

bool kni_body_parse(const char *text, const kni_body_names *names, kni_body_draft *draft)
{
    kni_parser p = {.text = text, .at = text, .names = names, .d = draft};
    char copy[32];
    draft->n = draft->n_constants = 0;
    draft->at = -1;
    draft->error[0] = 0;
    if (strlen(text) > INT16_MAX) return kni_parser_fail(&p, text, "the body is too long"), false;
    draft->n_in = read_list(names->in, p.in, draft->operands);
    if (draft->n_in < 0)
        return kni_parser_fail(&p, text, "the list of operands '%s' is malformed", names->in), false;
    draft->n_out = read_list(names->out, p.out, draft->operands + draft->n_in);
    if (draft->n_out < 1)
        return kni_parser_fail(&p, text, "the list of results '%s' is malformed", names->out), false;
    for (int i = 0; i < draft->n_in; i++) p.in[i].type.truth |= names->truths >> i & 1;
    while (!parse_statement(&p)) {}
    kni_parser_skip(&p);
    if (!p.failed && *p.at) kni_parser_fail(&p, p.at, "something follows the result '%s'", names->out);
    for (int i = 0; i < p.n_locals && !p.failed; i++)
        if (!p.locals[i].used)
            kni_parser_fail(&p, p.locals[i].text, "'%s' is never used",
                            kni_parser_copy(copy, p.locals[i].text, p.locals[i].length));
    return !p.failed;
}
