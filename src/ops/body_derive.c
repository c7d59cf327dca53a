/* Reverse mode over bodies. A word's slopes stand in one table, as formulas; choices stay choices, so that nothing of the
   side that was not taken reaches the gradient, neither infinities nor NaN. */
#include "ops/body_derive.h"
#include "core/text.h"
#include "ops/body_parse.h"
#include "ops/word_numbers.h"
#include <string.h>

/* By operand: what flows to it where d flows to y = word(a, b). NULL: nobody knows. */
static const char *const slopes[KNI_WORDS][2] = {
    [KNI_WORD_add] = {"d", "d"},
    [KNI_WORD_sub] = {"d", "-d"},
    [KNI_WORD_mul] = {"d * b", "d * a"},
    [KNI_WORD_div] = {"d / b", "-d * y / b"},
    [KNI_WORD_floordiv] = {"", ""},
    [KNI_WORD_rem] = {"d", "-d * floordiv(a, b)"},
    [KNI_WORD_fmod] = {"d", "-d * trunc(a / b)"},
    [KNI_WORD_pow] = {"b == 0 ? 0 : d * b * pow(a, b - 1)", "a == 0 && b >= 0 ? 0 : d * y * log(a)"},
    [KNI_WORD_atan2] = {"hypot(a, b) == 0 ? 0 : d * (b / hypot(a, b)) / hypot(a, b)",
                        "hypot(a, b) == 0 ? 0 : -d * (a / hypot(a, b)) / hypot(a, b)"},
    [KNI_WORD_hypot] = {"y == 0 ? 0 : d * (a / y)", "y == 0 ? 0 : d * (b / y)"},
    [KNI_WORD_copysign] = {"a == 0 ? 0 : d * (y / a)", ""},
    /* NaN loses to nobody, so that both operands get d. */
    [KNI_WORD_max] = {"a == b ? d * 0.5 : a < b ? 0 : d", "a == b ? d * 0.5 : b < a ? 0 : d"},
    [KNI_WORD_min] = {"a == b ? d * 0.5 : a > b ? 0 : d", "a == b ? d * 0.5 : b > a ? 0 : d"},
    [KNI_WORD_neg] = {"-d"},
    [KNI_WORD_abs] = {"d * sign(a)"},
    [KNI_WORD_sign] = {""},
    [KNI_WORD_floor] = {""},
    [KNI_WORD_ceil] = {""},
    [KNI_WORD_round] = {""},
    [KNI_WORD_trunc] = {""},
    [KNI_WORD_sqrt] = {"d * 0.5 / y"},
    [KNI_WORD_rsqrt] = {"d * -0.5 * y / a"},
    [KNI_WORD_exp] = {"d * y"},
    [KNI_WORD_exp2] = {"d * y * 0.6931471805599453"},
    [KNI_WORD_expm1] = {"d * (y + 1)"},
    [KNI_WORD_log] = {"d / a"},
    [KNI_WORD_log2] = {"d / (a * 0.6931471805599453)"},
    [KNI_WORD_log10] = {"d / (a * 2.302585092994046)"},
    [KNI_WORD_log1p] = {"d / (1 + a)"},
    [KNI_WORD_sin] = {"d * cos(a)"},
    [KNI_WORD_cos] = {"-d * sin(a)"},
    [KNI_WORD_tan] = {"d * (1 + y * y)"},
    [KNI_WORD_asin] = {"d * rsqrt((1 - a) * (1 + a))"},
    [KNI_WORD_acos] = {"-d * rsqrt((1 - a) * (1 + a))"},
    [KNI_WORD_atan] = {"d / (1 + a * a)"},
    [KNI_WORD_sinh] = {"d * cosh(a)"},
    [KNI_WORD_cosh] = {"d * sinh(a)"},
    [KNI_WORD_tanh] = {"d * (1 - y) * (1 + y)"},
    [KNI_WORD_asinh] = {"d / hypot(a, 1)"},
    [KNI_WORD_acosh] = {"d / (sqrt(a - 1) * sqrt(a + 1))"},
    [KNI_WORD_atanh] = {"d / ((1 - a) * (1 + a))"},
    [KNI_WORD_erf] = {"d * 1.1283791670955126 * exp(-a * a)"},
    [KNI_WORD_erfc] = {"d * -1.1283791670955126 * exp(-a * a)"},
    [KNI_WORD_erfinv] = {"d * 0.886226925452758 * exp(y * y)"},
    [KNI_WORD_normal_cdf] = {"d * 0.3989422804014327 * exp(-0.5 * a * a)"},
    [KNI_WORD_lgamma] = {"d * digamma(a)"},
    [KNI_WORD_digamma] = {"d * polygamma(1, a)"},
    [KNI_WORD_polygamma] = {"", "d * polygamma(a + 1, b)"},
    [KNI_WORD_zeta] = {NULL, "-d * (a * zeta(a + 1, b))"},
    [KNI_WORD_erfcx] = {"d * (2 * a * y - 1.1283791670955126)"},
    [KNI_WORD_normal_quantile] = {"d * 2.5066282746310002 * exp(0.5 * y * y)"},
    /* b^(a - 1) e^-b / gamma(a), where 0 to the power of 0 is 1 */
    [KNI_WORD_igamma] = {NULL, "d * exp((a == 1 && b >= 0 ? 0 : (a - 1) * log(b)) - b - lgamma(a))"},
    [KNI_WORD_igammac] = {NULL, "-d * exp((a == 1 && b >= 0 ? 0 : (a - 1) * log(b)) - b - lgamma(a))"},
    [KNI_WORD_i0] = {"d * i1(a)"},
    [KNI_WORD_i0e] = {"d * (i1e(a) - sign(a) * y)"},
    [KNI_WORD_i1] = {"a == 0 ? d * 0.5 : d * (i0(a) - y / a)"},
    [KNI_WORD_i1e] = {"a == 0 ? d * 0.5 : d * (i0e(a) - y * (sign(a) + 1 / a))"},
    [KNI_WORD_bessel_j0] = {"-d * bessel_j1(a)"},
    [KNI_WORD_bessel_j1] = {"a == 0 ? d * 0.5 : d * (bessel_j0(a) - y / a)"},
    [KNI_WORD_bessel_y0] = {"-d * bessel_y1(a)"},
    [KNI_WORD_bessel_y1] = {"d * (bessel_y0(a) - y / a)"},
    [KNI_WORD_bessel_k0] = {"-d * bessel_k1(a)"},
    [KNI_WORD_bessel_k1] = {"-d * (bessel_k0(a) + y / a)"},
    [KNI_WORD_bessel_k0e] = {"d * (y - bessel_k1e(a))"},
    [KNI_WORD_bessel_k1e] = {"d * (y - bessel_k0e(a) - y / a)"},
    [KNI_WORD_sigmoid] = {"d * y * (1 - y)"},
    [KNI_WORD_stop] = {""},
    [KNI_WORD_gcd] = {"", ""},
    [KNI_WORD_and] = {"", ""},
    [KNI_WORD_or] = {"", ""},
    [KNI_WORD_xor] = {"", ""},
    [KNI_WORD_not] = {""},
    [KNI_WORD_shl] = {"", ""},
    [KNI_WORD_shr] = {"", ""},
    [KNI_WORD_lt] = {"", ""},
    [KNI_WORD_le] = {"", ""},
    [KNI_WORD_gt] = {"", ""},
    [KNI_WORD_ge] = {"", ""},
    [KNI_WORD_eq] = {"", ""},
    [KNI_WORD_ne] = {"", ""},
    [KNI_WORD_isnan] = {""},
    [KNI_WORD_isinf] = {""},
    [KNI_WORD_isfinite] = {""},
};

const char *kni_body_slope(int word, int k) { return slopes[word][k]; }

typedef struct walk {
    const kni_body *body;
    kni_body_gradient *out;
    kni_body_graph *g;
    int16_t adjoint[KNI_BODY_MAX_STEPS]; /* by node, -1: nothing flows */
    bool depends[KNI_BODY_MAX_STEPS];    /* on the operand */
    int operand;
    int results[KNI_BODY_OPERANDS]; /* nodes */
    bool saves_results;
    bool failed;
} walk;

static int level_of(const walk *w, int i) { return w->g->tree.nodes[i].level; }

static void fail(walk *w, const char *format, const char *name)
{
    kni_text t = {w->out->error, sizeof w->out->error, 0};
    if (!w->failed) kni_text_format(&t, format, name);
    w->failed = true;
}

/* What flows, from a node that has a value for each index of `from`, to one that has them for those of `to`. */
static int add_up(walk *w, int v, int from, int to)
{
    int missing = from & ~to;
    if (missing & KNI_LEVEL_PLACE)
        v = level_of(w, v) & KNI_LEVEL_PLACE
                ? kni_graph_line(w->g, KNI_LINE_SUM, v)
                : kni_graph_word(w->g, KNI_WORD_mul, v,
                                 kni_graph_node(w->g, (kni_step){KNI_STEP_LENGTH, 0, 0}, NULL, 0));
    if (missing & KNI_LEVEL_LINE && !(level_of(w, v) & KNI_LEVEL_LINE))
        fail(w, "it takes the number of lines, which a body cannot name%s: write the gradient", "");
    else if (missing & KNI_LEVEL_LINE)
        v = kni_graph_line(w->g, KNI_LINE_DOWN, v);
    return v;
}

/* Lines of an operand for all are added up outside: no row gives one element for all. */
static int wanted_level(const walk *w, int i)
{
    const kni_body_node *n = &w->g->tree.nodes[i];
    return n->step.kind == KNI_STEP_INPUT && n->level == KNI_LEVEL_ALL ? KNI_LEVEL_LINE : n->level;
}

/* ---- choices: what flows is `condition ? d : 0` on the way to a side of ?: */

static bool is_zero(const walk *w, int i)
{
    const kni_step *s = &w->g->tree.nodes[i].step;
    return s->kind == KNI_STEP_CONSTANT && s->value == 0;
}

static const kni_body_node *as_choice(const walk *w, int i)
{
    const kni_body_node *n = &w->g->tree.nodes[i];
    return n->step.kind == KNI_STEP_SELECT ? n : NULL;
}

/* a + b; of two choices by the same truth the sum is one choice. */
static int plus(walk *w, int a, int b)
{
    if (is_zero(w, a)) return b;
    if (is_zero(w, b)) return a;
    const kni_body_node *p = as_choice(w, a), *q = as_choice(w, b);
    if (!p || !q || p->in[0] != q->in[0]) return kni_graph_word(w->g, KNI_WORD_add, a, b);
    int truth = p->in[0], yes[2] = {p->in[1], q->in[1]}, no[2] = {p->in[2], q->in[2]};
    int first = plus(w, yes[0], yes[1]), second = plus(w, no[0], no[1]);
    return kni_graph_select(w->g, truth, first, second);
}

/* The slope `form` over a, b, y and d. It is a multiple of d, so that of `condition ? d : 0` it is `condition ? slope : 0`: what
   it computes on the side that was not taken, such as 0 / 0, does not reach the gradient. */
static int apply_slope(walk *w, const kni_body *form, const int *in)
{
    const kni_body_node *choice = as_choice(w, in[3]);
    int v = 0;
    bool yes = choice && is_zero(w, choice->in[2]), no = choice && is_zero(w, choice->in[1]);
    if (!yes && !no) {
        kni_graph_body(w->g, form, in, &v);
        return v;
    }
    int truth = choice->in[0], inner[4] = {in[0], in[1], in[2], choice->in[yes ? 1 : 2]};
    v = apply_slope(w, form, inner);
    int zero = kni_graph_constant(w->g, 0);
    return yes ? kni_graph_select(w->g, truth, v, zero) : kni_graph_select(w->g, truth, zero, v);
}

/* ---- what flows where */

static void flow(walk *w, int to, int v, int from_level)
{
    if (w->failed || !w->depends[to]) return;
    v = add_up(w, v, from_level, wanted_level(w, to));
    w->adjoint[to] = (int16_t)(w->adjoint[to] < 0 ? v : plus(w, w->adjoint[to], v));
}

/* Node i of the body as slopes read it: a result that the tape saves is not computed again. */
static int value_of(walk *w, int i)
{
    const kni_body *body = w->body;
    for (int k = 0; k < body->n_out && w->saves_results; k++)
        if (w->results[k] == i)
            return kni_graph_operand(w->g, body->n_in + body->n_out + k, w->g->tree.nodes[i].level);
    return i;
}

static void flow_through_word(walk *w, int i)
{
    const kni_body_node n = w->g->tree.nodes[i];
    for (int k = 0; k < n.n_in && !w->failed; k++) {
        const char *slope = slopes[n.step.index][k];
        if (!w->depends[n.in[k]]) continue;
        if (!slope) {
            fail(w, "'%s' has no slope: write the gradient", kni_word_at(n.step.index)->name);
            return;
        }
        if (!*slope) continue;
        char text[128];
        kni_text t = {text, sizeof text, 0};
        kni_text_format(&t, "r = %s", slope);
        kni_body_names names = {.in = "a b y d", .out = "r"};
        kni_body_draft draft;
        int in[4] = {n.in[0], n.in[n.n_in - 1], value_of(w, i), w->adjoint[i]};
        if (!kni_body_parse(text, &names, &draft)) {
            fail(w, "the slope of '%s' is malformed", kni_word_at(n.step.index)->name);
            return;
        }
        kni_body form = kni_body_of_draft(&draft);
        flow(w, n.in[k], apply_slope(w, &form, in), n.level);
    }
}

/* The highest of a line shares among those that are as high. */
static int share(walk *w, int x, int y, int d)
{
    kni_body_graph *g = w->g;
    int same = kni_graph_word(g, KNI_WORD_eq, x, y), zero = kni_graph_constant(g, 0);
    int count = kni_graph_line(g, KNI_LINE_SUM, kni_graph_select(g, same, kni_graph_constant(g, 1), zero));
    return kni_graph_select(g, same, kni_graph_word(g, KNI_WORD_div, d, count), zero);
}

/* What flows to an element of a product: that of all others, which is the product itself where none of them is 0. */
static int times_others(walk *w, int x, int y, int d)
{
    kni_body_graph *g = w->g;
    int zero = kni_graph_constant(g, 0), one = kni_graph_constant(g, 1);
    int is_none = kni_graph_word(g, KNI_WORD_eq, x, zero);
    int zeros = kni_graph_line(g, KNI_LINE_SUM, kni_graph_select(g, is_none, one, zero));
    int rest = kni_graph_line(g, KNI_LINE_PROD, kni_graph_select(g, is_none, one, x));
    int alone = kni_graph_select(g, kni_graph_word(g, KNI_WORD_gt, zeros, one), zero, rest);
    int others = kni_graph_select(g, kni_graph_word(g, KNI_WORD_eq, zeros, zero),
                                  kni_graph_word(g, KNI_WORD_div, y, x), zero);
    return kni_graph_word(g, KNI_WORD_mul, d, kni_graph_select(g, is_none, alone, others));
}

static void flow_through_line(walk *w, int i)
{
    const kni_body_node n = w->g->tree.nodes[i];
    int d = w->adjoint[i], length;
    switch (n.step.index) {
    case KNI_LINE_SUM:
    case KNI_LINE_DOWN:
        break;
    case KNI_LINE_MEAN:
        length = kni_graph_node(w->g, (kni_step){KNI_STEP_LENGTH, 0, 0}, NULL, 0);
        d = kni_graph_word(w->g, KNI_WORD_div, d, length);
        break;
    case KNI_LINE_HIGHEST:
    case KNI_LINE_LOWEST:
        d = share(w, n.in[0], value_of(w, i), d);
        break;
    case KNI_LINE_PROD:
        d = times_others(w, n.in[0], value_of(w, i), d);
        break;
    case KNI_LINE_TOP:
    case KNI_LINE_ANY:
    case KNI_LINE_ALL:
        return;
    default:
        fail(w, "'%s' has no slope: write the gradient", kni_line_word_name(n.step.index));
        return;
    }
    flow(w, n.in[0], d, n.level);
}

static void flow_through(walk *w, int i)
{
    kni_body_graph *g = w->g;
    const kni_body_node n = g->tree.nodes[i];
    int d = w->adjoint[i], zero;
    switch (n.step.kind) {
    case KNI_STEP_WORD:
        flow_through_word(w, i);
        break;
    case KNI_STEP_EXPN:
        flow(w, n.in[0], kni_graph_word(g, KNI_WORD_mul, d, value_of(w, i)), n.level);
        break;
    case KNI_STEP_AT: /* all to the place that was read */
        zero = kni_graph_node(g, (kni_step){KNI_STEP_PLACE, 0, 0}, NULL, 0);
        zero = kni_graph_word(g, KNI_WORD_eq, zero, n.in[1]);
        d = kni_graph_select(g, zero, d, kni_graph_constant(g, 0));
        flow(w, n.in[0], d, level_of(w, d));
        break;
    case KNI_STEP_SELECT:
        zero = kni_graph_constant(g, 0);
        if (w->depends[n.in[1]]) flow(w, n.in[1], kni_graph_select(g, n.in[0], d, zero), n.level);
        if (w->depends[n.in[2]]) flow(w, n.in[2], kni_graph_select(g, n.in[0], zero, d), n.level);
        break;
    case KNI_STEP_LINE:
        flow_through_line(w, i);
        break;
    case KNI_STEP_AND:
    case KNI_STEP_OR:
    case KNI_STEP_XOR:
    case KNI_STEP_NOT:
    case KNI_STEP_REAL: /* indices are flat */
        break;
    default:
        fail(w, "it has a step without a slope%s: write the gradient", "");
        break;
    }
}

static int operand_level(const kni_body *body, int i)
{
    return body->operands ? body->operands[i] & KNI_OPERAND_LEVEL : KNI_LEVEL_ELEMENT;
}

/* The forward part of the graph: node of each result, and which nodes depend on the operand. */
static void start(walk *w)
{
    const kni_body *body = w->body;
    int in[2 * KNI_BODY_OPERANDS];
    for (int i = 0; i < body->n_in; i++) in[i] = kni_graph_operand(w->g, i, operand_level(body, i));
    kni_graph_body(w->g, body, in, w->results);
    for (int i = 0; i < w->g->tree.n; i++) {
        const kni_body_node *n = &w->g->tree.nodes[i];
        w->adjoint[i] = -1;
        w->depends[i] = n->step.kind == KNI_STEP_INPUT && n->step.index == w->operand;
        for (int k = 0; k < n->n_in; k++) w->depends[i] |= w->depends[n->in[k]];
    }
}

bool kni_body_derive(const kni_body *body, int operand, bool saves_results, kni_body_gradient *gradient)
{
    walk w = {.body = body,
              .out = gradient,
              .g = &gradient->graph,
              .operand = operand,
              .saves_results = saves_results};
    memset(&gradient->graph, 0, sizeof gradient->graph);
    gradient->error[0] = 0;
    gradient->root = -1;
    gradient->level = operand_level(body, operand);
    if (gradient->level == KNI_LEVEL_ALL) gradient->level = KNI_LEVEL_LINE;
    start(&w);
    int n = w.g->tree.n;
    for (int k = 0; k < body->n_out && !w.g->full; k++) {
        int level = operand_level(body, body->n_in + k), from = w.results[k];
        if (w.depends[from]) flow(&w, from, kni_graph_operand(w.g, body->n_in + k, level), level);
    }
    for (int i = n - 1; i >= body->n_in && !w.failed && !w.g->full; i--)
        if (w.adjoint[i] >= 0) flow_through(&w, i);
    if (w.g->full) fail(&w, "it has more steps than a body can have%s: write the gradient", "");
    /* The operands are the first nodes. */
    if (!w.failed) gradient->root = w.adjoint[operand];
    if (gradient->root >= 0 && is_zero(&w, gradient->root)) gradient->root = -1;
    return !w.failed;
}

bool kni_body_derive_short(const kni_body *body, int operand, kni_body_gradient *gradient)
{
    if (!kni_body_derive(body, operand, false, gradient)) return false;
    int words = gradient->root < 0 ? 0 : kni_graph_words(&gradient->graph, gradient->root);
    if (!kni_body_derive(body, operand, true, gradient)) return false;
    if (gradient->root < 0 || kni_graph_words(&gradient->graph, gradient->root) < words) return true;
    return kni_body_derive(body, operand, false, gradient);
}
