/* The statements of a body, and the lists of its operands and results. */
#include "ops/body_parser.h"
#include <string.h>

/* ---- statements */

static bool is_taken(kni_parser *p, const char *at, size_t n)
{
    return kni_parser_find(p->locals, p->n_locals, at, n) || kni_parser_find(p->in, p->d->n_in, at, n) ||
           kni_parser_find_scalar(p, at, n) >= 0 || kni_parser_find_value(p, at, n) >= 0 ||
           kni_parser_equals("inf", at, n) ||
           ((kni_parser_equals("n", at, n) || kni_parser_equals("k", at, n)) && p->names->lines) ||
           ((kni_parser_equals("i", at, n) || kni_parser_equals("floats", at, n) ||
             kni_parser_equals("doubles", at, n)) &&
            p->names->makes);
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

/* Results are missing, so that another statement must follow. */
static void expect_another(kni_parser *p)
{
    char copy[32];
    int k = 0;
    kni_parser_skip(p);
    while (p->out[k].used) k++;
    if (!*p->at)
        kni_parser_fail(p, p->at, "expected ';' and the result '%s', and the text ends",
                        kni_parser_copy(copy, p->out[k].text, p->out[k].length));
    kni_parser_expect(p, ';');
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
    expect_another(p);
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

static int malformed(kni_parser *p, const char *list, const char *at, const char *what)
{
    bool is_in = list == p->names->in;
    kni_parser_fail(p, p->text, "the list of %s is malformed: %s", is_in ? "operands" : "results", what);
    p->d->at = (int)(at - list);
    p->d->list = is_in ? KNI_IN_OPERANDS : KNI_IN_RESULTS;
    return -1;
}

/* The names of a list, each with its level, its kind and what it is where it is absent; -1: it is malformed. */
static int read_list(kni_parser *p, const char *from, kni_naming *names, uint8_t *bits)
{
    const char *list = from;
    int n = 0;
    for (; *list; list += *list == ' ') {
        size_t length = kni_parser_name_length(list);
        if (!length) return malformed(p, from, list, "a name is missing: names are separated by one space");
        if (n == KNI_BODY_OPERANDS) return malformed(p, from, list, "the list has more than 8 names");
        names[n] = (kni_naming){list, length, {false, KNI_LEVEL_ELEMENT, false, false}, false};
        list += length;
        int level = read_mark(&list, '@', levels, LEVELS, KNI_LEVEL_ELEMENT);
        if (level < 0) return malformed(p, from, list, "behind '@' stands 'line', 'place' or 'all'");
        int kind = read_mark(&list, ':', kinds, KINDS, 0);
        if (kind < 0) return malformed(p, from, list, "behind ':' stands 'index' or 'truth'");
        names[n].type.level = (uint8_t)level;
        bits[n] = (uint8_t)(level | kind);
        names[n].type.index = bits[n] & KNI_OPERAND_INDEX;
        names[n].type.truth = bits[n] & KNI_OPERAND_TRUTH;
        if (*list == '?') {
            if (list[1] != '0' && list[1] != '1')
                return malformed(p, from, list, "behind '?' stands 0 or 1, which an absent operand is");
            bits[n] |= KNI_OPERAND_OPTIONAL | (list[1] == '1' ? KNI_OPERAND_ONE : 0);
            list += 2;
        }
        if (*list && *list != ' ') return malformed(p, from, list, "expected a space and another name");
        n++;
    }
    if (!n && from == p->names->out) return malformed(p, from, from, "it names no result");
    return n;
}

/* Which operands the results are new values of: p' that of p. */
static void find_new_values(kni_parser *p)
{
    char copy[32];
    kni_body_draft *d = p->d;
    d->updates = false;
    memset(d->operands + d->n_in + d->n_out, 0, (size_t)d->n_out);
    for (int k = 0; k < d->n_out; k++) {
        const kni_naming *out = &p->out[k];
        if (out->text[out->length - 1] != '\'') continue;
        kni_naming *in = kni_parser_find(p->in, d->n_in, out->text, out->length - 1);
        if (!p->names->updates)
            kni_parser_fail(p, p->text,
                            "only rows of the library write operands anew: name the result without a '");
        else if (!in)
            kni_parser_fail(p, p->text, "the result %s' is the new value of an operand that does not exist",
                            kni_parser_copy(copy, out->text, out->length - 1));
        else
            d->operands[d->n_in + d->n_out + k] = (uint8_t)(1 + (in - p->in));
        d->updates = true;
    }
}

static bool start(kni_parser *p)
{
    kni_body_draft *d = p->d;
    d->n = d->n_constants = d->n_in = d->n_out = d->n_numbers = 0;
    d->at = -1;
    d->list = KNI_IN_TEXT;
    d->error[0] = 0;
    if (strlen(p->text) > INT16_MAX) kni_parser_fail(p, p->text, "the body is too long");
    return !p->failed;
}

/* name = formula of scalars; the value may be named by those behind it and by the body. */
static void parse_value(kni_parser *p)
{
    char copy[32];
    kni_body_draft *d = p->d;
    kni_parser_skip(p);
    const char *at = p->at;
    size_t n = kni_parser_name_length(at);
    if (!n) {
        kni_parser_fail(p, at, "expected 'name = formula'");
        return;
    }
    p->at += n;
    if (is_taken(p, at, n)) {
        kni_parser_fail(p, at, "'%s' has a meaning already: take another name", kni_parser_copy(copy, at, n));
        return;
    }
    kni_parser_expect(p, '=');
    kni_parsed t = p->failed ? kni_parsed_nothing : kni_parser_formula(p);
    if (!p->failed && d->n_out == KNI_BODY_NUMBERS)
        kni_parser_fail(p, at, "more than %d values have names", KNI_BODY_NUMBERS);
    if (p->failed) return;
    kni_parser_emit(p, at, KNI_STEP_STORE, d->n_out, 1);
    p->locals[p->n_locals++] = (kni_naming){at, n, t, false};
    d->values[d->n_out].text = at;
    d->values[d->n_out].length = n;
    d->values[d->n_out++].truth = t.truth;
}

bool kni_body_parse_host(const char *text, const kni_body_names *names, kni_body_draft *draft)
{
    kni_body_names scalars = *names;
    kni_parser p = {.text = text, .at = text, .names = &scalars, .d = draft};
    scalars.host = NULL;
    scalars.lines = false;
    if (!start(&p)) return false;
    do parse_value(&p);
    while (!p.failed && kni_parser_take(&p, ';'));
    kni_parser_skip(&p);
    if (!p.failed && *p.at) kni_parser_fail(&p, p.at, "expected ';' and another value");
    for (int i = 0; i < draft->n_out; i++) draft->values[i].used = p.locals[i].used;
    return !p.failed;
}

/* Behind the last result. */
static void end_text(kni_parser *p)
{
    char found[2] = {0, 0};
    const char *last = p->at;
    bool ended = !p->failed && kni_parser_take(p, ';');
    kni_parser_skip(p);
    found[0] = *p->at;
    if (p->failed || !found[0]) return;
    if (ended)
        kni_parser_fail(p, p->at, "something follows the result '%s', which comes last", p->names->out);
    else
        kni_parser_fail(p, last + strspn(last, " "), "expected an operator, ';' or the end, found '%s'",
                        found);
}

bool kni_body_parse(const char *text, const kni_body_names *names, kni_body_draft *draft)
{
    kni_parser p = {.text = text, .at = text, .names = names, .d = draft};
    char copy[32];
    if (!start(&p)) return false;
    draft->n_in = read_list(&p, names->in, p.in, draft->operands);
    if (draft->n_in < 0) return false;
    draft->n_out = read_list(&p, names->out, p.out, draft->operands + draft->n_in);
    if (draft->n_out < 1) return false;
    for (int i = 0; i < draft->n_in; i++) p.in[i].type.truth |= names->truths >> i & 1;
    find_new_values(&p);
    while (!parse_statement(&p)) {}
    end_text(&p);
    for (int i = 0; i < p.n_locals && !p.failed; i++)
        if (!p.locals[i].used)
            kni_parser_fail(&p, p.locals[i].text, "'%s' is never used",
                            kni_parser_copy(copy, p.locals[i].text, p.locals[i].length));
    return !p.failed;
}
