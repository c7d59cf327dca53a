/* From steps to an expression of C: a stack of texts. */
#include "gen_expression.h"
#include "gen_body.h"
#include <stdio.h>
#include <string.h>

const gen_type gen_types[KNI_COMPUTE_COUNT] = {
    [KNI_COMPUTE_F32] = {"float", "f32"},    [KNI_COMPUTE_F64] = {"double", "f64"},
    [KNI_COMPUTE_I32] = {"int32_t", "i32"},  [KNI_COMPUTE_I64] = {"int64_t", "i64"},
    [KNI_COMPUTE_U64] = {"uint64_t", "u64"},
};

typedef struct item {
    char text[GEN_TEXT];
    bool truth;
} item;

/* Bodies that are one function of double which is faster over an array. */
static const struct {
    const char *body, *function;
} arrays[] = {{"y = sin(x)", "kni_sin_array_f64"},
              {"y = cos(x)", "kni_cos_array_f64"},
              {"y = tan(x)", "kni_tan_array_f64"}};

static const char *const cheap_words[] = {"add", "sub", "mul", "max", "min", "neg", "abs", "sign", "and",
                                          "or",  "xor", "not", "lt",  "le",  "gt",  "ge",  "eq",   "ne"};

static bool is_cheap(const char *word)
{
    for (size_t i = 0; i < sizeof cheap_words / sizeof *cheap_words; i++)
        if (!strcmp(word, cheap_words[i])) return true;
    return false;
}

static void print_constant(char *text, size_t n, int compute, double value)
{
    bool infinite = value - value != 0, single = compute == KNI_COMPUTE_F32;
    if (infinite) {
        snprintf(text, n, "%s__builtin_inf%s()", value < 0 ? "-" : "", single ? "f" : "");
    } else if (compute == KNI_COMPUTE_F32 || compute == KNI_COMPUTE_F64) {
        snprintf(text, n, single ? "%.9g" : "%.17g", single ? (double)(float)value : value);
        if (!strpbrk(text, ".e")) strncat(text, ".0", n - strlen(text) - 1);
        if (single) strncat(text, "f", n - strlen(text) - 1);
    } else {
        snprintf(text, n, "%lld", (long long)value);
    }
}

/* top[0] .. become the arguments of a call; the result replaces top[0]. */
static bool print_call(item *top, int arity, const char *name, const char *suffix)
{
    static char text[3 * GEN_TEXT + 64];
    int n = snprintf(text, sizeof text, "%s_%s(", name, suffix);
    for (int i = 0; i < arity; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%s", i ? ", " : "", top[i].text);
    n += snprintf(text + n, sizeof text - (size_t)n, ")");
    if (n >= GEN_TEXT) return false;
    memcpy(top->text, text, (size_t)n + 1);
    return true;
}

static bool print_logic(item *top, const char *operator)
{
    static char text[2 * GEN_TEXT + 8];
    int n = snprintf(text, sizeof text, "(%s %s %s)", top[0].text, operator, top[1].text);
    if (n >= GEN_TEXT || !top[0].truth || !top[1].truth) return false;
    memcpy(top->text, text, (size_t)n + 1);
    return true;
}

static void append(char *to, const char *text)
{
    size_t used = strlen(to), more = strlen(text);
    if (used + more < GEN_TEXT) memcpy(to + used, text, more + 1);
}

/* Declares the operands and those numbers that the body uses. */
static void print_before(const kn_op *row, int compute, const kni_body *body, gen_body *out)
{
    char text[64];
    out->before[0] = 0;
    for (int i = 0; i < row->max_in; i++) {
        bool truth = row->rule == KNI_RULE_SELECT && i == 0;
        snprintf(text, sizeof text, "%sIN(%c, %d, %s)", i ? " " : "", "xyzw"[i], i,
                 truth ? "uint8_t" : gen_types[compute].name);
        append(out->before, text);
    }
    uint32_t seen = 0;
    for (int k = 0; k < body->n; k++) {
        int i = kni_body_step(body, k).index;
        if (kni_body_step(body, k).kind != KNI_STEP_PARAM || seen >> i & 1) continue;
        seen |= 1u << i;
        snprintf(text, sizeof text, " NUMBER(p%d, %d, %s)", i, i, gen_types[compute].name);
        append(out->before, text);
    }
}

/* Names that mean nothing else in a loop. */
const char *gen_local_name(int index)
{
    static const char names[KNI_BODY_LOCALS][2] = {"a", "b", "c", "d", "e", "f", "g", "h",
                                                   "j", "k", "l", "m", "o", "q", "r", "s"};
    return names[index];
}

typedef enum style { PLAIN, MANY, HOST } style;

typedef struct state {
    const kn_op *row;
    const kni_body *body;
    style style;
    int compute;
    gen_body *out;
    item stack[KNI_BODY_STACK + 1], *top;
    bool local_truth[KNI_BODY_LOCALS];
    char stores[GEN_TEXT];
} state;

static bool print_store(state *s, int index)
{
    char text[GEN_TEXT + 64];
    item *value = --s->top;
    s->local_truth[index] = value->truth;
    int n = snprintf(text, sizeof text, "%sconst %s %s = %s;", s->out->statements[0] ? " " : "",
                     value->truth ? "int" : gen_types[s->compute].name, gen_local_name(index), value->text);
    if ((size_t)n + strlen(s->out->statements) >= GEN_TEXT) return false;
    append(s->out->statements, text);
    return true;
}

static bool print_word(state *s, const kni_word *word)
{
    char name[48];
    s->top -= word->arity;
    for (int i = 0; i < word->arity; i++)
        if (s->top[i].truth) return false;
    if (!(s->compute <= KNI_COMPUTE_F64 ? word->floats : word->integers)) return false;
    s->out->cheap &= is_cheap(word->name);
    snprintf(name, sizeof name, "kni_word_%s", word->name);
    s->top->truth = word->truth;
    return print_call(s->top++, word->arity, name, gen_types[s->compute].suffix);
}

static bool print_input(state *s, int i)
{
    item *top = s->top++;
    char absent[16];
    if (s->style == PLAIN) {
        top->truth = s->row->rule == KNI_RULE_SELECT && i == 0;
        snprintf(top->text, GEN_TEXT, top->truth ? "(%c[i] != 0)" : "%c[i]", "xyzw"[i]);
        return i < s->row->max_in;
    }
    uint8_t bits = s->body->operands[i];
    print_constant(absent, sizeof absent, s->compute, bits & KNI_OPERAND_ONE ? 1 : 0);
    if ((bits & KNI_OPERAND_LEVEL) == KNI_LEVEL_ALL)
        snprintf(top->text, GEN_TEXT, "s%d", i);
    else if (bits & KNI_OPERAND_OPTIONAL)
        snprintf(top->text, GEN_TEXT, "(h%d ? x%d[i] : %s)", i, i, absent);
    else
        snprintf(top->text, GEN_TEXT, "x%d[i]", i);
    return true;
}

/* Results are stored last, since one may lie over its operand. The new value of an operand that is absent is not stored. */
static void print_result(state *s, int k)
{
    char text[64];
    int operand = kni_body_replaces(s->body, k);
    if (operand >= 0 && s->body->operands[operand] & KNI_OPERAND_OPTIONAL) {
        snprintf(text, sizeof text, " if (h%d)", operand);
        append(s->stores, text);
    }
    snprintf(text, sizeof text, " y%d[i] = %.40s;", k, (--s->top)->text);
    append(s->stores, text);
}

/* A truth that is known before the loop. */
static bool print_known(state *s, int kind, int i)
{
    item *top = s->top++;
    top->truth = true;
    if (s->style == HOST)
        snprintf(top->text, GEN_TEXT, "(kni_body_attribute(&schema[%d], attributes).whole != 0)", i);
    else
        snprintf(top->text, GEN_TEXT, kind == KNI_STEP_HAS ? "h%d" : "c%d", i);
    return s->style != PLAIN;
}

static bool print_step(state *s, const kni_step *step)
{
    item *top = s->top;
    int i = step->index;
    top->truth = false;
    switch (step->kind) {
    case KNI_STEP_INPUT:
        return print_input(s, i);
    case KNI_STEP_RESULT:
        print_result(s, i);
        return true;
    case KNI_STEP_HAS:
    case KNI_STEP_CHOICE:
        return print_known(s, step->kind, i);
    case KNI_STEP_PARAM:
        snprintf((s->top++)->text, GEN_TEXT,
                 s->style == HOST ? "kni_body_attribute(&schema[%d], attributes).real" : "p%d", i);
        return true;
    case KNI_STEP_CONSTANT:
        print_constant((s->top++)->text, GEN_TEXT, s->compute, step->value);
        return true;
    case KNI_STEP_STORE:
        return print_store(s, i);
    case KNI_STEP_LOCAL:
        top->truth = s->local_truth[i];
        snprintf((s->top++)->text, GEN_TEXT, "%s", gen_local_name(i));
        return true;
    case KNI_STEP_SELECT:
        s->top -= 2;
        if (!top[-3].truth || top[-2].truth || top[-1].truth) return false;
        top[-3].truth = false;
        return print_call(top - 3, 3, "kni_select", gen_types[s->compute].suffix);
    case KNI_STEP_AND:
        return print_logic(--s->top - 1, "&");
    case KNI_STEP_OR:
        return print_logic(--s->top - 1, "|");
    case KNI_STEP_XOR:
        return print_logic(--s->top - 1, "^");
    case KNI_STEP_NOT: {
        char text[GEN_TEXT];
        memcpy(text, top[-1].text, sizeof text);
        return snprintf(top[-1].text, GEN_TEXT, "!%s", text) < GEN_TEXT && top[-1].truth;
    }
    default:
        return print_word(s, kni_word_at(i));
    }
}

/* Prints all steps; what the body leaves is s->stack[0]. */
static bool print_steps(state *s)
{
    s->top = s->stack;
    s->out->array = NULL;
    s->out->cheap = true;
    s->out->statements[0] = s->stores[0] = 0;
    for (int k = 0; k < s->body->n; k++) {
        kni_step step = kni_body_step(s->body, k);
        if (!print_step(s, &step)) return false;
    }
    if (strlen(s->out->statements) + strlen(s->stores) >= GEN_TEXT) return false;
    append(s->out->statements, s->stores);
    return true;
}

bool gen_statements(int i, int compute, gen_body *out)
{
    static state s;
    const kni_body body = kni_body_of_draft(gen_draft(i));
    s.row = gen_row(i), s.body = &body, s.style = MANY, s.compute = compute, s.out = out;
    return print_steps(&s);
}

bool gen_host_statements(int i, gen_body *out)
{
    static state s;
    const kni_body body = kni_body_of_draft(gen_host(i));
    s.row = gen_row(i), s.body = &body, s.style = HOST, s.compute = KNI_COMPUTE_F64, s.out = out;
    return print_steps(&s);
}

bool gen_expression(int i, int compute, gen_body *out)
{
    static state s;
    const kni_body body = kni_body_of_draft(gen_draft(i));
    s.row = gen_row(i), s.body = &body, s.style = PLAIN, s.compute = compute, s.out = out;
    print_before(s.row, compute, &body, out);
    if (!print_steps(&s)) return false;
    for (size_t k = 0; k < sizeof arrays / sizeof *arrays && compute == KNI_COMPUTE_F64; k++)
        if (!strcmp(gen_text(i), arrays[k].body)) out->array = arrays[k].function;
    memcpy(out->expression, s.stack[0].text, GEN_TEXT);
    out->truth = s.stack[0].truth;
    return true;
}
