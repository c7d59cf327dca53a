/* kn_op_define: from the text of a body to a row. Programs that do not call it link no parser. */
#include "core/allocator.h"
#include "core/text.h"
#include "ops/body_check.h"
#include "ops/body_parse.h"
#include "ops/custom_rows.h"
#include "ops/defined.h"
#include <kn/custom_op.h>
#include <string.h>

enum { MAX_TEXT = 8000, MAX_LIST = 400 };

/* A definition while it is read. */
typedef struct reading {
    const char *op;
    const kn_body_args *args;
    kni_definition *d;
    const char *in, *out;
    kni_body_names names;
    kni_body_draft draft;
    char text[MAX_TEXT + 1];
} reading;

static bool refuse(const reading *r, const char *what, const char *name)
{
    kni_fail(KN_ERROR_ARGUMENT, what, r->op, name);
    return false;
}

/* ---- names */

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

static size_t word_length(const char *s)
{
    size_t n = 0;
    while (is_letter(s[n]) || (n && s[n] >= '0' && s[n] <= '9')) n++;
    return n;
}

/* The name of entry k of a list; false past its end. */
static bool name_at(const char *list, int k, char *name)
{
    for (; k > 0 && *list; k--) {
        while (*list && *list != ' ') list++;
        list += *list == ' ';
    }
    size_t n = word_length(list);
    if (!n || n >= KNI_DEFINED_WORD) return false;
    memcpy(name, list, n);
    name[n] = 0;
    return true;
}

static bool is_reserved(const char *name)
{
    return !strcmp(name, "n") || !strcmp(name, "inf") || !strcmp(name, "axis") || !strcmp(name, "n_axes");
}

static bool read_scalars(reading *r)
{
    kni_definition *d = r->d;
    for (; d->n_scalars < KNI_DEFINED_SCALARS && r->args->scalars[d->n_scalars].name; d->n_scalars++) {
        const kn_body_scalar *s = &r->args->scalars[d->n_scalars];
        size_t n = word_length(s->name);
        if (!n || s->name[n] || n >= KNI_DEFINED_WORD || is_reserved(s->name))
            return refuse(r, "kn_op_define: %s: a scalar cannot be called '%s'", s->name);
        for (int i = 0; i < d->n_scalars; i++)
            if (!strcmp(d->scalars[i], s->name))
                return refuse(r, "kn_op_define: %s: two scalars are called '%s'", s->name);
        memcpy(d->scalars[d->n_scalars], s->name, n + 1);
        d->defaults.scalars[d->n_scalars] = s->value;
        d->schema[d->n_scalars] =
            (kn_attribute){d->scalars[d->n_scalars], KNI_ATTR_REAL, r->args->line ? KNI_STATIC : KNI_DYNAMIC,
                           (uint16_t)(d->n_scalars * (int)sizeof(double))};
        r->names.scalars[d->n_scalars] = d->scalars[d->n_scalars];
    }
    r->names.n_scalars = d->n_scalars;
    return true;
}

static bool read_line(reading *r)
{
    kni_definition *d = r->d;
    int64_t axis = r->args->axis;
    uint16_t offset = (uint16_t)(d->n_scalars * (int)sizeof(double));
    if (r->args->line == KN_BODY_ELEMENTWISE) return true;
    if (r->args->line != KN_BODY_AXIS && r->args->line != KN_BODY_LAST_AXES)
        return refuse(r, "kn_op_define: %s: .line is none of KN_BODY_ELEMENTWISE, KN_BODY_AXIS and%s",
                      " KN_BODY_LAST_AXES");
    if (r->args->takes != KN_BODY_FLOATS)
        return refuse(r, "kn_op_define: %s: a body along lines takes floats: leave .takes%s away", "");
    bool last = r->args->line == KN_BODY_LAST_AXES;
    d->defaults.axes[d->n_scalars] = last && axis == 0 ? 1 : axis;
    d->schema[d->n_scalars] = (kn_attribute){last ? "n_axes" : "axis", KNI_ATTR_INT, KNI_STATIC, offset};
    d->line = (kni_line){last ? KNI_LINE_LAST : KNI_LINE_AXIS, 0, 0, offset};
    r->names.lines = true;
    return true;
}

/* ---- the body */

/* Where an offset of a text is, as a person counts. */
static void find_place(const char *text, int at, int32_t *line, int32_t *column)
{
    *line = *column = 1;
    for (int i = 0; i < at && text[i]; i++) {
        ++*column;
        if (text[i] == '\n') ++*line, *column = 1;
    }
}

static bool wrong(const reading *r, const char *text, const char *which, int at, const char *what)
{
    int32_t line, column;
    find_place(text, at, &line, &column);
    kni_fail(KN_ERROR_ARGUMENT, "kn_op_define: %s: %s, line %d, column %d: %s", r->op, which, line, column,
             what);
    return false;
}

/* Parses a text with all white space as spaces. */
static bool parse(reading *r, const char *text, const char *which)
{
    size_t n = strlen(text);
    if (n > MAX_TEXT) return wrong(r, text, which, MAX_TEXT, "it is too long: at most 8000 characters");
    for (size_t i = 0; i <= n; i++)
        r->text[i] = (char)(text[i] == '\n' || text[i] == '\t' || text[i] == '\r' ? ' ' : text[i]);
    if (kni_body_parse(r->text, &r->names, &r->draft)) return true;
    /* The lists of a gradient are made of those of the body, which have been accepted. */
    if (r->draft.list == KNI_IN_OPERANDS) return wrong(r, r->in, ".in", r->draft.at, r->draft.error);
    if (r->draft.list == KNI_IN_RESULTS) return wrong(r, r->out, ".out", r->draft.at, r->draft.error);
    return wrong(r, text, which, r->draft.at, r->draft.error);
}

/* Lists that the parser has accepted: what else a definition asks of them. */
static bool check_lists(reading *r)
{
    const kni_body_draft *d = &r->draft;
    char name[KNI_DEFINED_WORD], other[KNI_DEFINED_WORD];
    bool lines = r->names.lines, optional = false;
    for (int i = 0; i < d->n_in + d->n_out; i++) {
        bool is_in = i < d->n_in;
        if (!name_at(is_in ? r->in : r->out, is_in ? i : i - d->n_in, name))
            return refuse(r, "kn_op_define: %s: '%s': a name has 1 to 31 letters, digits and _",
                          is_in ? r->in : r->out);
        for (int k = 0; k < i; k++)
            if (name_at(k < d->n_in ? r->in : r->out, k < d->n_in ? k : k - d->n_in, other) &&
                !strcmp(name, other))
                return refuse(r, "kn_op_define: %s: '%s' is the name of two operands or results", name);
        for (int k = 0; k < r->d->n_scalars; k++)
            if (!strcmp(name, r->d->scalars[k]))
                return refuse(r, "kn_op_define: %s: '%s' is a scalar and an operand", name);
        if (is_reserved(name)) return refuse(r, "kn_op_define: %s: nothing can be called '%s'", name);
        if (!lines && d->operands[i] != KNI_LEVEL_ELEMENT)
            return refuse(r, "kn_op_define: %s: '%s' has a level or may be absent: that takes a .line", name);
        if (d->operands[i] & (KNI_OPERAND_INDEX | KNI_OPERAND_TRUTH))
            return refuse(r, "kn_op_define: %s: '%s' must be a value: defined ops have no indices and truths",
                          name);
        if (is_in && optional && !(d->operands[i] & KNI_OPERAND_OPTIONAL))
            return refuse(r, "kn_op_define: %s: '%s' follows one that may be absent: those come last", name);
        if (!is_in && d->operands[i] & KNI_OPERAND_OPTIONAL)
            return refuse(r, "kn_op_define: %s: the result '%s' cannot be absent", name);
        if (!is_in && d->operands[i] == KNI_LEVEL_ALL)
            return refuse(r, "kn_op_define: %s: the result '%s' is one for all: add lines up outside", name);
        if (is_in) optional |= (d->operands[i] & KNI_OPERAND_OPTIONAL) != 0;
        if (is_in) memcpy(r->d->operands[i], name, sizeof name);
    }
    if (lines && d->operands[0] != KNI_LEVEL_ELEMENT)
        return refuse(r, "kn_op_define: %s: '%s' must have an element for each element: it is operand 0",
                      r->d->operands[0]);
    if (!lines && d->n_out != 1)
        return refuse(r, "kn_op_define: %s: an elementwise body has one result, not '%s'", r->out);
    if (d->n_in == 0) return refuse(r, "kn_op_define: %s: it has no operands%s", "");
    if (d->n_in > 7) return refuse(r, "kn_op_define: %s: it has more than 7 operands: '%s'", r->in);
    if (r->names.truth && d->n_in > 4)
        return refuse(r, "kn_op_define: %s: a truth is made of at most 4 operands, not '%s'", r->in);
    return true;
}

/* Which dtypes the kind asks for; a failure names the step that has no meaning there. */
static bool check_kind(reading *r, int *rule, uint32_t *dtypes)
{
    static const struct {
        uint8_t rule;
        bool floats, integers;
        uint32_t dtypes;
    } kinds[] = {[KN_BODY_FLOATS] = {KNI_RULE_FLOAT, true, false, KNI_ALL},
                 [KN_BODY_NUMBERS] = {KNI_RULE_PROMOTE, true, true, KNI_FLOATS | KNI_INTS},
                 [KN_BODY_INTEGERS] = {KNI_RULE_PROMOTE, false, true, KNI_INTS},
                 [KN_BODY_TRUTHS] = {KNI_RULE_COMPARE, true, false, KNI_ALL}};
    const kni_body body = kni_body_of_draft(&r->draft);
    int step = 0, kind = (int)r->args->takes;
    const char *what = kni_body_meaningless(&body, kinds[kind].integers, kinds[kind].floats, &step);
    if (what) return wrong(r, r->args->body, "body", r->draft.from[step], what);
    for (int i = 0; i < r->d->n_scalars && kind == KN_BODY_INTEGERS; i++)
        if (r->d->defaults.scalars[i] != (double)kni_body_real(r->d->defaults.scalars[i]).whole)
            return refuse(r, "kn_op_define: %s: the scalar '%s' is no integer, and the body takes integers",
                          r->d->scalars[i]);
    *rule = kinds[kind].rule;
    *dtypes = kinds[kind].dtypes;
    if (kind == KN_BODY_TRUTHS && kni_body_meaningless(&body, true, true, &step)) *dtypes = KNI_FLOATS;
    return true;
}

/* No record of a defined op reports an index. */
static bool check_steps(const reading *r, const char *text, const char *which)
{
    const kni_body body = kni_body_of_draft(&r->draft);
    for (int i = 0; i < body.n; i++)
        if (kni_body_step(&body, i).kind == KNI_STEP_REQUIRE)
            return wrong(r, text, which, r->draft.from[i], "'require' is for built-in ops alone");
    return true;
}

/* The draft's steps. Without lines expn is exp: only sums along lines know what to spare. */
static void copy_steps(const reading *r, kni_step *steps)
{
    const kni_body body = kni_body_of_draft(&r->draft);
    int exp = 0;
    while (strcmp(kni_word_at(exp)->name, "exp") != 0) exp++;
    for (int i = 0; i < body.n; i++) {
        steps[i] = kni_body_step(&body, i);
        if (steps[i].kind == KNI_STEP_EXPN && !r->names.lines)
            steps[i] = (kni_step){KNI_STEP_WORD, (uint8_t)exp, 0};
    }
}

/* ---- a gradient that is written */

/* "dx dweight@place": the entries of a list with a d before each; those for all become those for a line. */
static bool list_gradients(const char *list, char *to, size_t bytes)
{
    kni_text t = {to, bytes, 0};
    while (*list) {
        kni_text_string(&t, t.length ? " d" : "d");
        for (size_t n = word_length(list); n > 0; n--) kni_text_char(&t, *list++);
        if (!strncmp(list, "@all", 4)) kni_text_string(&t, "@line"), list += 4;
        while (*list && *list != ' ' && *list != '?') kni_text_char(&t, *list++);
        while (*list && *list != ' ') list++;
        list += *list == ' ';
    }
    return t.length < bytes;
}

static bool is_listed(const char *list, const char *name)
{
    char other[KNI_DEFINED_WORD];
    bool found = false;
    for (int k = 0; !found && name_at(list, k, other); k++) found = !strcmp(name, other);
    return found;
}

/* What a gradient names must be one thing each: dy is a cotangent and no operand as well. */
static bool check_gradient_names(reading *r, const char *cotangents, const char *gradients)
{
    const char *const lists[] = {r->in, r->out, cotangents};
    char name[KNI_DEFINED_WORD];
    for (int i = 0; i < 3; i++)
        for (int k = 0; name_at(lists[i], k, name); k++)
            if (is_listed(gradients, name) || (i < 2 && is_listed(cotangents, name)))
                return refuse(r,
                              "kn_op_define: %s: '%s' is also what the gradient calls a cotangent or its "
                              "result: take another name",
                              name);
    return true;
}

/* The results as the gradient may name them: made of the operands again. */
static bool name_results(const reading *r, const kni_defined *d, kni_written_gradients *w, int *nodes)
{
    const kni_body body = kni_body_of_draft(&r->draft);
    int first = d->body.n_in + d->body.n_out;
    bool named = false;
    for (int i = 0; i < body.n; i++) {
        kni_step s = kni_body_step(&body, i);
        named |= s.kind == KNI_STEP_INPUT && s.index >= first;
    }
    if (named) kni_graph_body(&w->graph, &d->body, nodes, nodes + first);
    return !w->graph.full;
}

/* Whether a row can be made of each gradient, so that nothing is left to be refused when it is asked for. */
static bool check_lengths(reading *r, const kni_written_gradients *w, int n_in)
{
    kni_step steps[KNI_BODY_MAX_STEPS];
    uint8_t numbers[2 * KNI_BODY_OPERANDS] = {0};
    for (int i = 0; i < n_in; i++)
        if (!kni_graph_steps(&w->graph, w->roots[i], numbers, steps, KNI_BODY_MAX_STEPS))
            return refuse(
                r, "kn_op_define: %s: the gradient for '%s' has more than 240 steps or 96 named values",
                r->d->operands[i]);
    return true;
}

static bool read_gradient(reading *r, const kni_defined *d)
{
    char in[3 * MAX_LIST], out[MAX_LIST], own[MAX_LIST];
    int n_in = r->draft.n_in, n_out = r->draft.n_out, nodes[2 * KNI_BODY_OPERANDS];
    if (!r->args->gradient) return true;
    uint8_t bits[2 * KNI_BODY_OPERANDS];
    memcpy(bits, r->draft.operands, sizeof bits);
    kni_text t = {in, sizeof in, 0};
    if (!list_gradients(r->out, own, sizeof own) || !list_gradients(r->in, out, sizeof out))
        return refuse(r, "kn_op_define: %s: the names of its operands are too long%s", "");
    /* Results can be named where there is room for them. */
    bool results = n_in + 2 * n_out <= KNI_BODY_OPERANDS;
    kni_text_format(&t, "%s %s%s%s", r->in, own, results ? " " : "", results ? r->out : "");
    if (!check_gradient_names(r, own, out)) return false;
    if (t.length >= sizeof in || n_in + n_out > KNI_BODY_OPERANDS)
        return refuse(r, "kn_op_define: %s: a written gradient takes at most 8 operands and results%s", "");
    r->names.in = in;
    r->names.out = out;
    r->names.truth = false;
    if (!parse(r, r->args->gradient, "gradient") || !check_steps(r, r->args->gradient, "gradient"))
        return false;
    const kni_body body = kni_body_of_draft(&r->draft);
    int step = 0;
    const char *what = kni_body_meaningless(&body, false, true, &step);
    if (what) return wrong(r, r->args->gradient, "gradient", r->draft.from[step], what);
    kni_written_gradients *w = kni_allocate(sizeof *w);
    if (!w) return kni_fail(KN_ERROR_MEMORY, "kn_op_define: %s: no memory", r->op), false;
    memset(w, 0, sizeof *w);
    r->d->written = w;
    for (int i = 0; i < n_in + n_out; i++)
        nodes[i] = kni_graph_operand(&w->graph, i, bits[i] & KNI_OPERAND_LEVEL);
    bool fits = name_results(r, d, w, nodes);
    if (fits) kni_graph_body(&w->graph, &body, nodes, w->roots);
    if (!fits || w->graph.full) return refuse(r, "kn_op_define: %s: the gradient has too many steps%s", "");
    return check_lengths(r, w, n_in);
}

/* ---- all of it */

static bool check_args(reading *r)
{
    if (kni_custom_check_name("kn_op_define", r->op)) return false;
    if (kni_custom_by_name(r->op)) return refuse(r, "kn_op_define: %s: the name is taken%s", "");
    if (!r->args || !r->args->body) return refuse(r, "kn_op_define: %s: a .body is needed%s", "");
    if ((unsigned)r->args->takes > KN_BODY_TRUTHS)
        return refuse(r, "kn_op_define: %s: .takes is none of KN_BODY_FLOATS to KN_BODY_TRUTHS%s", "");
    r->in = r->args->in ? r->args->in : "x";
    r->out = r->args->out ? r->args->out : "y";
    if (strlen(r->in) >= MAX_LIST || strlen(r->out) >= MAX_LIST)
        return refuse(r, "kn_op_define: %s: a list of operands or results is too long%s", "");
    r->names.in = r->in;
    r->names.out = r->out;
    r->names.truth = r->args->takes == KN_BODY_TRUTHS;
    return true;
}

static kni_defined *define(reading *r)
{
    kni_step steps[KNI_BODY_STEPS];
    int rule = 0;
    uint32_t dtypes = 0;
    if (!check_args(r) || !read_scalars(r) || !read_line(r) || !parse(r, r->args->body, "body") ||
        !check_lists(r) || !check_steps(r, r->args->body, "body") || !check_kind(r, &rule, &dtypes))
        return NULL;
    copy_steps(r, steps);
    kni_defined *d =
        kni_defined_new(r->d, r->op, steps, r->draft.n, r->draft.operands, r->draft.n_in, r->draft.n_out);
    if (!d) return kni_fail(KN_ERROR_MEMORY, "kn_op_define: %s: no memory", r->op), NULL;
    bool good = true;
    d->first = true;
    d->row.rule = (uint8_t)rule;
    if (!r->names.lines) d->row.dtypes = dtypes;
    if (rule == KNI_RULE_COMPARE || r->args->takes == KN_BODY_INTEGERS) {
        d->row.flags = KNI_FLAG_NO_GRADIENT;
        d->row.custom_gradient = NULL;
        if (r->args->gradient)
            good = refuse(r, "kn_op_define: %s: truths and integers have no gradient: leave .gradient away%s",
                          "");
    } else {
        good = read_gradient(r, d);
    }
    if (good && kni_custom_add("kn_op_define", &d->row, &r->d->defaults) == KN_OK) return d;
    kni_defined_free(d);
    return NULL;
}

kn_op_handle kn_op_define(const char *name, const kn_body_args *args)
{
    reading *r = kni_allocate(sizeof *r);
    kni_definition *definition = r ? kni_allocate(sizeof *definition) : NULL;
    kni_defined *d = NULL;
    if (definition) {
        memset(r, 0, sizeof *r);
        memset(definition, 0, sizeof *definition);
        r->op = name ? name : "";
        r->args = args;
        r->d = definition;
        d = define(r);
    } else {
        kni_fail(KN_ERROR_MEMORY, "kn_op_define: no memory");
    }
    if (!d && definition) {
        if (definition->written) kni_free(definition->written, sizeof *definition->written);
        kni_free(definition, sizeof *definition);
    }
    if (r) kni_free(r, sizeof *r);
    return d ? &d->row : NULL;
}
