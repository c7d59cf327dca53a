/* From a body along lines to a program of strips. */
#include "backend/cpu/line_program.h"
#include "core/allocator.h"
#include <string.h>

typedef struct compiler {
    const kni_body *body;
    kni_body_tree tree;
    int compute;
    kni_line_step once[KNI_BODY_MAX_STEPS], steps[KNI_LINE_STEPS];
    int n_once, n_steps;
    /* Registers before they are shared: one for each value. */
    int16_t own[KNI_BODY_MAX_STEPS], spread[KNI_BODY_MAX_STEPS]; /* by node, -1 */
    bool wide_value[2 * KNI_BODY_MAX_STEPS], kept[2 * KNI_BODY_MAX_STEPS], truth[2 * KNI_BODY_MAX_STEPS];
    bool alone[2 * KNI_BODY_MAX_STEPS]; /* its register is nobody else's */
    int n_values;
    bool failed;
} compiler;

static bool is_wide(const compiler *c, int node) { return c->tree.nodes[node].level & KNI_LEVEL_PLACE; }

static int16_t new_value(compiler *c, bool wide, bool kept)
{
    if (c->n_values == 2 * KNI_BODY_MAX_STEPS) {
        c->failed = true;
        return 0;
    }
    c->wide_value[c->n_values] = wide;
    c->kept[c->n_values] = kept;
    return (int16_t)c->n_values++;
}

static kni_line_step *new_step(compiler *c, kni_line_kind kind, bool once)
{
    int *n = once ? &c->n_once : &c->n_steps, max = once ? KNI_BODY_MAX_STEPS : KNI_LINE_STEPS;
    kni_line_step *list = once ? c->once : c->steps;
    if (*n == max) c->failed = true;
    kni_line_step *s = &list[c->failed ? 0 : (*n)++];
    *s = (kni_line_step){.kind = (uint8_t)kind, .operand = -1, .scalar = -1};
    return s;
}

/* Node i as a wide value: a narrow one is spread over its line. */
static int16_t wide(compiler *c, int i)
{
    if (is_wide(c, i)) return c->own[i];
    if (c->spread[i] >= 0) return c->spread[i];
    bool kept = c->kept[c->own[i]];
    kni_line_step *s = new_step(c, KNI_LINE_SPREAD, kept);
    s->n_in = 1;
    s->in[0] = c->own[i];
    s->wide = true;
    s->truth = c->truth[c->own[i]];
    s->out = c->spread[i] = new_value(c, true, kept);
    c->truth[s->out] = s->truth;
    return s->out;
}

static bool is_truth(const kni_step *s)
{
    return s->kind == KNI_STEP_WORD ? kni_word_at(s->index)->truth
                                    : s->kind >= KNI_STEP_AND && s->kind <= KNI_STEP_NOT;
}

static void call(compiler *c, int i)
{
    const kni_body_node *n = &c->tree.nodes[i];
    int16_t in[3] = {0, 0, 0};
    for (int k = 0; k < n->n_in; k++) in[k] = is_wide(c, i) ? wide(c, n->in[k]) : c->own[n->in[k]];
    kni_line_step *s = new_step(c, KNI_LINE_CALL, false);
    s->fn = kni_defined_strip(&n->step, c->compute);
    s->n_in = n->n_in;
    memcpy(s->in, in, sizeof in);
    for (int k = 0; k < n->n_in; k++) s->truths |= (uint8_t)(c->truth[in[k]] << k);
    s->wide = is_wide(c, i);
    s->truth = is_truth(&n->step);
    s->out = c->own[i] = new_value(c, s->wide, false);
    c->truth[s->out] = s->truth;
    if (!s->fn) c->failed = true;
}

/* What is the same for all lines is loaded once. */
static void load(compiler *c, int i)
{
    const kni_body_node *n = &c->tree.nodes[i];
    bool kept = !(n->level & KNI_LEVEL_LINE);
    kni_line_step *s = new_step(c, KNI_LINE_LOAD, kept);
    s->operand = (int8_t)n->step.index;
    s->wide = is_wide(c, i);
    s->out = c->own[i] = new_value(c, s->wide, kept);
    /* The register may point to the operand's memory, and does so for all pieces of a line. */
    c->alone[s->out] = true;
}

static void number(compiler *c, int i)
{
    const kni_step *step = &c->tree.nodes[i].step;
    kni_line_step *s = new_step(c, KNI_LINE_NUMBER, true);
    s->value = step->value;
    s->scalar = (int8_t)(step->kind == KNI_STEP_PARAM    ? step->index
                         : step->kind == KNI_STEP_LENGTH ? -2
                                                         : -1);
    s->out = c->own[i] = new_value(c, false, true);
}

static void reduce(compiler *c, int i)
{
    const kni_body_node *n = &c->tree.nodes[i];
    int16_t in = wide(c, n->in[0]);
    if (n->step.index > KNI_LINE_TOP) c->failed = true;
    kni_line_step *s = new_step(c, KNI_LINE_REDUCE, false);
    s->word = n->step.index;
    s->n_in = 1;
    s->in[0] = in;
    s->out = c->own[i] = new_value(c, false, false);
}

/* Sums over lines are results, and nothing else reads them. */
static bool is_down(const compiler *c, int i)
{
    const kni_step *s = &c->tree.nodes[i].step;
    return s->kind == KNI_STEP_LINE && s->index == KNI_LINE_DOWN;
}

static void compile_node(compiler *c, int i)
{
    const kni_body_node *n = &c->tree.nodes[i];
    for (int k = 0; k < n->n_in; k++)
        if (is_down(c, n->in[k])) c->failed = true;
    c->own[i] = c->spread[i] = -1;
    if (c->failed || is_down(c, i)) return;
    switch (n->step.kind) {
    case KNI_STEP_INPUT:
        load(c, i);
        break;
    case KNI_STEP_CONSTANT:
    case KNI_STEP_PARAM:
    case KNI_STEP_LENGTH:
        number(c, i);
        break;
    case KNI_STEP_LINE:
        reduce(c, i);
        break;
    case KNI_STEP_PLACE:
    case KNI_STEP_AT:
    case KNI_STEP_REQUIRE:
        c->failed = true;
        break;
    default:
        call(c, i);
        break;
    }
}

static void find_results(compiler *c, kni_line_result *results)
{
    for (int k = 0; k < c->body->n_out && !c->failed; k++) {
        int node = c->tree.results[k];
        bool down = is_down(c, node);
        int level = c->body->operands[c->body->n_in + k] & KNI_OPERAND_LEVEL;
        if (down) node = c->tree.nodes[node].in[0];
        results[k].down = down;
        results[k].wide = level & KNI_LEVEL_PLACE;
        /* One for each place that is no sum over lines is written by every line, which must not happen. */
        if (level == KNI_LEVEL_PLACE && !down) c->failed = true;
        results[k].from = results[k].wide ? wide(c, node) : c->own[node];
    }
}

/* ---- registers: a value's is free after the last step that reads it */

typedef struct sharing {
    int last[2 * KNI_BODY_MAX_STEPS];
    int16_t at[2 * KNI_BODY_MAX_STEPS];
    bool used[2][KNI_LINE_REGISTERS], truths[2][KNI_LINE_REGISTERS];
    int n[2];
} sharing;

static int16_t take(compiler *c, sharing *s, int value)
{
    int kind = c->wide_value[value], i = 0;
    /* What is kept is not shared, and truths not with values: in pieces of a line they would lie over each other. */
    while (i < s->n[kind] && (s->used[kind][i] || s->truths[kind][i] != c->truth[value])) i++;
    if (c->kept[value] || c->alone[value]) i = s->n[kind];
    if (i == KNI_LINE_REGISTERS) c->failed = true;
    if (c->failed) return 0;
    if (i == s->n[kind]) s->n[kind]++;
    s->used[kind][i] = true;
    s->truths[kind][i] = c->truth[value];
    return s->at[value] = (int16_t)i;
}

static void share_registers(compiler *c, sharing *s, kni_line_result *results)
{
    for (int v = 0; v < c->n_values; v++) s->last[v] = -1;
    for (int i = 0; i < c->n_steps; i++)
        for (int k = 0; k < c->steps[i].n_in; k++) s->last[c->steps[i].in[k]] = i;
    for (int k = 0; k < c->body->n_out; k++) s->last[results[k].from] = c->n_steps;
    for (int i = 0; i < c->n_once; i++) {
        take(c, s, c->once[i].out);
        for (int k = 0; k < c->once[i].n_in; k++) c->once[i].in[k] = s->at[c->once[i].in[k]];
        c->once[i].out = s->at[c->once[i].out];
    }
    for (int i = 0; i < c->n_steps && !c->failed; i++) {
        kni_line_step *step = &c->steps[i];
        int value = step->out;
        take(c, s, value);
        for (int k = 0; k < step->n_in; k++) {
            int from = step->in[k];
            if (!c->kept[from] && !c->alone[from] && s->last[from] == i)
                s->used[c->wide_value[from]][s->at[from]] = false;
        }
        for (int k = 0; k < step->n_in; k++) step->in[k] = s->at[step->in[k]];
        step->out = s->at[value];
        if (s->last[value] < 0 && !c->alone[value]) s->used[c->wide_value[value]][s->at[value]] = false;
    }
    for (int k = 0; k < c->body->n_out; k++) results[k].from = s->at[results[k].from];
}

static kni_line_program *finish(compiler *c, const sharing *s, const kni_line_result *results)
{
    size_t once = (size_t)c->n_once * sizeof *c->once, steps = (size_t)c->n_steps * sizeof *c->steps;
    kni_line_program *p = kni_allocate(sizeof *p + once + steps);
    if (!p) return NULL;
    memset(p, 0, sizeof *p);
    p->bytes = sizeof *p + once + steps;
    p->n_once = c->n_once;
    p->n_steps = c->n_steps;
    p->n_narrow = s->n[0];
    p->n_wide = s->n[1];
    p->n_results = c->body->n_out;
    memcpy(p->results, results, (size_t)p->n_results * sizeof *results);
    memcpy(p->steps, c->once, once);
    memcpy(p->steps + c->n_once, c->steps, steps);
    return p;
}

kni_line_program *kni_line_compile(const kni_body *body, int compute, bool *unsupported)
{
    kni_line_result results[KNI_BODY_OPERANDS];
    kni_line_program *made = NULL;
    compiler *c = kni_allocate(sizeof *c);
    sharing *s = kni_allocate(sizeof *s);
    *unsupported = false;
    if (c && s) {
        memset(c, 0, sizeof *c);
        memset(s, 0, sizeof *s);
        c->body = body;
        c->compute = compute;
        kni_body_tree_of(body, &c->tree);
        for (int i = 0; i < c->tree.n && !c->failed; i++) compile_node(c, i);
        find_results(c, results);
        if (!c->failed) share_registers(c, s, results);
        *unsupported = c->failed;
        if (!c->failed) made = finish(c, s, results);
    }
    if (c) kni_free(c, sizeof *c);
    if (s) kni_free(s, sizeof *s);
    return made;
}
