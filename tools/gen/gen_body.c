/* Parses the bodies of all rows and checks what a text alone does not show: that integers get no fraction and every word has a
   meaning where the row computes. */
#include "gen_body.h"
#include "gen_source.h"
#include "ops/body_check.h"
#include "ops/scalar_row.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What this program generates need not exist for it to link; nor has every row a body. */
#define KN_OP(number, name, ...)                                                                             \
    __attribute__((weak)) const kni_body kni_body_##name = {0};                                              \
    extern const kni_body_text kni_text_##name __attribute__((weak));                                        \
    extern const kni_body_text kni_slope_text_##name __attribute__((weak));
#include "ops/ops.def"
#undef KN_OP

static const struct {
    const kn_op *row;
    const kni_body_text *text, *slopes;
} all[] = {
#define KN_OP(number, name, ...) {&kni_op_##name, &kni_text_##name, &kni_slope_text_##name},
#include "ops/ops.def"
#undef KN_OP
};
enum { ALL = sizeof all / sizeof *all, MAX_GRADIENTS = 1024 };

static struct {
    const kn_op *row;
    const char *text, *host_text, *slopes, *slope_operands;
    kni_body_draft draft, host;
} bodies[ALL + MAX_GRADIENTS];
static int n_bodies, n_all;

int gen_row_count(void) { return n_bodies; }
int gen_all_count(void) { return n_all; }
const kn_op *gen_row(int i) { return bodies[i].row; }
const char *gen_text(int i) { return bodies[i].text; }
const kni_body_draft *gen_draft(int i) { return &bodies[i].draft; }
const char *gen_slope_text(int i) { return bodies[i].slopes; }
const char *gen_slope_operands(int i) { return bodies[i].slope_operands; }
const char *gen_host_text(int i) { return bodies[i].host_text; }
const kni_body_draft *gen_host(int i) { return bodies[i].host_text ? &bodies[i].host : NULL; }

bool gen_row_computes(const kn_op *row, int compute)
{
    uint32_t dtypes = row->rule == KNI_RULE_FLOAT ? row->dtypes & KNI_FLOATS : row->dtypes;
    for (int d = KN_F64; d <= KN_BOOL; d++)
        if (dtypes >> d & 1 && kni_compute_of[d] == compute) return true;
    return false;
}

bool gen_complain_about(int i, const char *text, int offset, const char *what)
{
    gen_place place;
    if (gen_find_text(bodies[i].row->name, text, offset, &place))
        fprintf(stderr, "%s:%d:%d: the body of %s: %s\n", place.path, place.line, place.column,
                bodies[i].row->name, what);
    else
        fprintf(stderr, "kiln-gen: the body of %s, column %d: %s\n", bodies[i].row->name, offset + 1, what);
    fprintf(stderr, "    %s\n    %*s^\n", text, offset, "");
    return false;
}

void gen_complain(int i, int offset, const char *what)
{
    gen_complain_about(i, bodies[i].text, offset, what);
}

kni_body_names gen_names_of(const kn_op *row)
{
    static const char *const operands[] = {"", "x", "a b", "a b c", "a b c d"};
    kni_body_names names = {.in = row->in,
                            .out = row->out ? row->out : "y",
                            .lines = row->line.axes != 0 && row->line.results != KNI_PER_POINT};
    if (!names.in) names.in = operands[row->max_in];
    for (const kn_attribute *a = row->schema; a && a->name && names.n_scalars < KNI_BODY_SCALARS; a++) {
        if (a->type == KNI_ATTR_INT) names.whole |= 1u << names.n_scalars;
        if (a->dynamic == KNI_CHOICE) names.choices |= 1u << names.n_scalars;
        names.scalars[names.n_scalars++] = a->type == KNI_ATTR_INTS ? "" : a->name;
    }
    names.makes = row->kind == KNI_CREATE || row->kind == KNI_RANDOM;
    names.truths = row->rule == KNI_RULE_SELECT;
    names.truth = row->rule == KNI_RULE_COMPARE;
    return names;
}

/* Whether every step has a meaning for integers, where the row computes on them, and for floats. */
static bool check_meanings(int i)
{
    const kn_op *row = bodies[i].row;
    const kni_body body = kni_body_of_draft(&bodies[i].draft);
    bool integers = false, floats = false;
    for (int c = 0; c < KNI_COMPUTE_COUNT; c++)
        if (gen_row_computes(row, c)) *(c <= KNI_COMPUTE_F64 ? &floats : &integers) = true;
    int step;
    const char *what = kni_body_meaningless(&body, integers, floats, &step);
    if (what) gen_complain(i, bodies[i].draft.from[step], what);
    return !what;
}

/* Every scalar that `.host` makes is needed, by another one or by the body. */
static bool check_values(int i)
{
    char what[80];
    kni_body_draft *host = &bodies[i].host;
    const kni_body_draft *d = &bodies[i].draft;
    for (int k = 0; k < d->n_numbers; k++)
        if (d->numbers[k] >= KNI_NUMBER_HOST) host->values[d->numbers[k] - KNI_NUMBER_HOST].used = true;
    for (int k = 0; k < host->n_out; k++) {
        if (host->values[k].used) continue;
        snprintf(what, sizeof what, "'%.*s' is never used", (int)host->values[k].length,
                 host->values[k].text);
        return gen_complain_about(i, bodies[i].host_text, (int)(host->values[k].text - bodies[i].host_text),
                                  what);
    }
    return true;
}

/* Which text the mistake is in. */
static const char *text_of_mistake(const kni_body_names *names, const kni_body_draft *d, const char *text)
{
    return d->list == KNI_IN_OPERANDS ? names->in : d->list == KNI_IN_RESULTS ? names->out : text;
}

static bool parse_body(int i)
{
    kni_body_names names = gen_names_of(bodies[i].row);
    kni_body_draft *host = &bodies[i].host, *body = &bodies[i].draft;
    if (bodies[i].host_text && !kni_body_parse_host(bodies[i].host_text, &names, host))
        return gen_complain_about(i, bodies[i].host_text, host->at, host->error);
    if (bodies[i].host_text) names.host = host, names.updates = true;
    if (!kni_body_parse(bodies[i].text, &names, body))
        return gen_complain_about(i, text_of_mistake(&names, body, bodies[i].text), body->at, body->error);
    return check_meanings(i) && (!bodies[i].host_text || check_values(i));
}

bool gen_parse_bodies(void)
{
    bool good = true;
    for (int k = 0; k < ALL; k++) {
        if (!all[k].text) continue;
        int i = n_bodies++;
        bodies[i].row = all[k].row;
        bodies[i].text = all[k].text->text;
        bodies[i].host_text = all[k].text->host;
        if (all[k].slopes) bodies[i].slopes = all[k].slopes->text ? all[k].slopes->text : "";
        if (all[k].slopes) bodies[i].slope_operands = all[k].slopes->host;
        good &= parse_body(i);
    }
    n_all = n_bodies;
    return good;
}

int gen_add_row(const kn_op *row, const char *text, const kni_body_draft *draft)
{
    if (n_all == ALL + MAX_GRADIENTS) {
        fputs("kiln-gen: there are too many gradients\n", stderr);
        exit(1);
    }
    bodies[n_all].row = row;
    bodies[n_all].text = text;
    bodies[n_all].draft = *draft;
    return n_all++;
}
