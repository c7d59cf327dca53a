/* From a body along lines to a program of strips. Nothing here knows kernels: kiln-gen runs it as well. */
#include "backend/cpu/line_program.h"
#include "core/allocator.h"
#include <string.h>

enum { NODES = KNI_BODY_MAX_STEPS, VALUES = 4 * NODES, TYPES = KNI_GIVES_INDEX + 1 };

/* A value has a register of its own until registers are shared. */
typedef struct value {
    bool wide, kept; /* kept: the same for all lines */
    bool alone;      /* its register is nobody else's */
    uint8_t type;
    int16_t spread; /* the value that is this one for each place, -1 */
} value;

typedef struct compiler {
    const kni_body *body;
    kni_body_tree tree;
    kni_line_number numbers[KNI_LINE_NUMBERS];
    kni_line_step once[KNI_LINE_STEPS], steps[KNI_LINE_STEPS];
    int n_numbers, n_once, n_steps, n_values;
    value values[VALUES];
    int16_t own[NODES], number[NODES]; /* by node: its value or its number, else -1 */
    int16_t filled[NODES][TYPES];      /* by node: the value that holds its number */
    bool indices, picks;
    const char *why;
} compiler;

static void refuse(compiler *c, const char *why)
{
    if (!c->why) c->why = why;
}

static bool is_wide(const compiler *c, int node) { return c->tree.nodes[node].level & KNI_LEVEL_PLACE; }

/* A number that is no number any more, `x > 0 ? 1 : 0`, is a value. */
static uint8_t type_of(const compiler *c, int node)
{
    uint8_t gives = c->tree.nodes[node].gives;
    return gives == KNI_GIVES_NUMBER ? KNI_GIVES_VALUE : gives;
}

/* ---- values and steps */

static int16_t new_value(compiler *c, uint8_t type, bool wide, bool kept)
{
    if (c->n_values == VALUES) {
        refuse(c, "it has too many steps");
        return 0;
    }
    c->values[c->n_values] = (value){.wide = wide, .kept = kept, .type = type, .spread = -1};
    c->indices |= type == KNI_GIVES_INDEX;
    return (int16_t)c->n_values++;
}

/* A step that gives a new value from others. What depends on nothing but kept values runs once. */
static kni_line_step *new_step(compiler *c, kni_line_kind kind, uint8_t type, bool wide, const int16_t *in,
                               int n_in, bool kept)
{
    int *n = kept ? &c->n_once : &c->n_steps;
    if (*n == KNI_LINE_STEPS) refuse(c, "it has too many steps");
    kni_line_step *s = &(kept ? c->once : c->steps)[c->why ? 0 : (*n)++];
    *s = (kni_line_step){.kind = (uint8_t)kind, .n_in = (uint8_t)n_in, .wide = wide, .type = type};
    for (int k = 0; k < n_in; k++) {
        s->in[k] = in[k];
        s->types[k] = c->values[in[k]].type;
    }
    s->out = new_value(c, type, wide, kept);
    return s;
}

static bool all_kept(const compiler *c, const int16_t *in, int n)
{
    for (int k = 0; k < n; k++)
        if (!c->values[in[k]].kept) return false;
    return true;
}

/* ---- operands of steps */

static int16_t narrow_value(compiler *c, int node, uint8_t type)
{
    if (c->number[node] < 0) {
        if (c->values[c->own[node]].type != type) refuse(c, "it takes a value for an index");
        return c->own[node];
    }
    int16_t *known = &c->filled[node][type];
    if (*known >= 0) return *known;
    kni_line_step *s = new_step(c, KNI_LINE_FILL, type, false, NULL, 0, true);
    s->index = (uint8_t)c->number[node];
    return *known = s->out;
}

/* The node as a value of the type, for each place or for each line. */
static int16_t operand(compiler *c, int node, uint8_t type, bool wide)
{
    int16_t v = narrow_value(c, node, type);
    if (!wide || c->values[v].wide) return v;
    if (c->values[v].spread < 0) {
        int16_t to = new_step(c, KNI_LINE_SPREAD, type, true, &v, 1, c->values[v].kept)->out;
        c->values[v].spread = to;
    }
    return c->values[v].spread;
}

/* ---- numbers */

static bool is_number(const compiler *c, const kni_body_node *n)
{
    switch (n->step.kind) {
    case KNI_STEP_CONSTANT:
    case KNI_STEP_PARAM:
    case KNI_STEP_LENGTH:
    case KNI_STEP_HAS:
    case KNI_STEP_CHOICE:
        return true;
    case KNI_STEP_INPUT:
    case KNI_STEP_LINE:
    case KNI_STEP_PLACE:
    case KNI_STEP_AT:
    case KNI_STEP_REQUIRE:
    case KNI_STEP_DRAW:
    case KNI_STEP_ELEMENT:
        return false;
    default:
        for (int k = 0; k < n->n_in; k++)
            if (c->number[n->in[k]] < 0) return false;
        return true;
    }
}

static void number(compiler *c, int i)
{
    const kni_body_node *n = &c->tree.nodes[i];
    if (c->n_numbers == KNI_LINE_NUMBERS) {
        refuse(c, "it has too many numbers");
        return;
    }
    kni_line_number *x = &c->numbers[c->n_numbers];
    *x = (kni_line_number){.kind = n->step.kind,
                           .index = n->step.index,
                           .n_in = n->n_in,
                           .truth = n->gives == KNI_GIVES_TRUTH,
                           .value = n->step.value};
    for (int k = 0; k < n->n_in; k++) {
        x->in[k] = (uint8_t)c->number[n->in[k]];
        x->truths |= (uint8_t)(c->numbers[x->in[k]].truth << k);
    }
    c->number[i] = (int16_t)c->n_numbers++;
}

/* ---- nodes */

/* What a word takes: a choice a truth and twice its result, others what stands beside each other. */
static uint8_t taken(const compiler *c, int i, int k)
{
    const kni_body_node *n = &c->tree.nodes[i];
    if (n->step.kind == KNI_STEP_SELECT) return k ? type_of(c, i) : KNI_GIVES_TRUTH;
    if (n->step.kind >= KNI_STEP_AND && n->step.kind <= KNI_STEP_NOT) return KNI_GIVES_TRUTH;
    for (int other = 0; other < n->n_in; other++)
        if (c->tree.nodes[n->in[other]].gives == KNI_GIVES_INDEX) return KNI_GIVES_INDEX;
    return KNI_GIVES_VALUE;
}

/* A choice that is known before anything runs computes one side alone. */
static void pick(compiler *c, int i)
{
    const kni_body_node *n = &c->tree.nodes[i];
    int16_t in[2];
    for (int k = 0; k < 2; k++) {
        in[k] = operand(c, n->in[1 + k], type_of(c, i), is_wide(c, i));
        c->values[in[k]].alone = true; /* the result is seen in its register */
    }
    kni_line_step *s = new_step(c, KNI_LINE_PICK, type_of(c, i), is_wide(c, i), in, 2, false);
    s->index = (uint8_t)c->number[n->in[0]];
    c->own[i] = s->out;
    c->values[s->out].alone = c->picks = true;
}

static void call(compiler *c, int i)
{
    const kni_body_node *n = &c->tree.nodes[i];
    int16_t in[3] = {0, 0, 0};
    if (n->step.kind == KNI_STEP_SELECT && c->number[n->in[0]] >= 0) {
        pick(c, i);
        return;
    }
    for (int k = 0; k < n->n_in; k++) in[k] = operand(c, n->in[k], taken(c, i, k), is_wide(c, i));
    kni_line_step *s =
        new_step(c, KNI_LINE_CALL, type_of(c, i), is_wide(c, i), in, n->n_in, all_kept(c, in, n->n_in));
    s->word_kind = n->step.kind;
    s->word = n->step.index;
    c->own[i] = s->out;
}

/* What is the same for all lines is loaded once. */
static void load(compiler *c, int i)
{
    const kni_body_node *n = &c->tree.nodes[i];
    bool kept = !(n->level & KNI_LEVEL_LINE);
    kni_line_step *s = new_step(c, KNI_LINE_LOAD, type_of(c, i), is_wide(c, i), NULL, 0, kept);
    s->index = n->step.index;
    c->own[i] = s->out;
    /* The register may point to the operand's memory, and does so for all pieces of a line. */
    c->values[s->out].alone = true;
}

static void reduce(compiler *c, int i)
{
    const kni_body_node *n = &c->tree.nodes[i];
    bool truths = n->step.index == KNI_LINE_ANY || n->step.index == KNI_LINE_ALL;
    int16_t in = operand(c, n->in[0], truths ? KNI_GIVES_TRUTH : KNI_GIVES_VALUE, true);
    kni_line_step *s = new_step(c, KNI_LINE_REDUCE, type_of(c, i), false, &in, 1, all_kept(c, &in, 1));
    s->index = n->step.index;
    c->own[i] = s->out;
}

static void element(compiler *c, int i)
{
    const kni_body_node *n = &c->tree.nodes[i];
    int16_t in[2] = {operand(c, n->in[0], type_of(c, n->in[0]), true),
                     operand(c, n->in[1], KNI_GIVES_INDEX, is_wide(c, i))};
    c->own[i] = new_step(c, KNI_LINE_ELEMENT, type_of(c, i), is_wide(c, i), in, 2, false)->out;
}

static void require(compiler *c, int i)
{
    const kni_body_node *n = &c->tree.nodes[i];
    int16_t in[2] = {operand(c, n->in[0], KNI_GIVES_TRUTH, is_wide(c, i)),
                     operand(c, n->in[1], KNI_GIVES_INDEX, is_wide(c, i))};
    c->own[i] = new_step(c, KNI_LINE_REQUIRE, KNI_GIVES_INDEX, is_wide(c, i), in, 2, false)->out;
    c->values[in[1]].alone = c->values[c->own[i]].alone = true;
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
    c->own[i] = c->number[i] = -1;
    for (int type = 0; type < TYPES; type++) c->filled[i][type] = -1;
    for (int k = 0; k < n->n_in; k++)
        if (is_down(c, n->in[k])) refuse(c, "it computes with a sum over all lines");
    if (c->why || is_down(c, i)) return;
    if (is_number(c, n)) {
        number(c, i);
        return;
    }
    switch (n->step.kind) {
    case KNI_STEP_INPUT:
        load(c, i);
        break;
    case KNI_STEP_LINE:
        reduce(c, i);
        break;
    case KNI_STEP_PLACE:
        c->own[i] = new_step(c, KNI_LINE_PLACES, KNI_GIVES_INDEX, true, NULL, 0, true)->out;
        break;
    case KNI_STEP_AT:
        element(c, i);
        break;
    case KNI_STEP_REQUIRE:
        require(c, i);
        break;
    case KNI_STEP_DRAW:
    case KNI_STEP_ELEMENT:
        refuse(c, "it makes values of the element's index");
        break;
    default:
        call(c, i);
        break;
    }
}

static void find_results(compiler *c, kni_line_result *results)
{
    for (int k = 0; k < c->body->n_out && !c->why; k++) {
        int node = c->tree.results[k];
        bool down = is_down(c, node);
        int level = c->body->operands[c->body->n_in + k] & KNI_OPERAND_LEVEL;
        if (down) node = c->tree.nodes[node].in[0];
        /* One for each place, or for all, that is no sum over lines would be written by every line. */
        if (!(level & KNI_LEVEL_LINE) && !down) refuse(c, "a result that no line has is no sum over lines");
        /* A sum over lines is stored once, behind the last of them. */
        if (down && level & KNI_LEVEL_LINE) refuse(c, "a result of each line is a sum over lines");
        if (down && type_of(c, node) != KNI_GIVES_VALUE) refuse(c, "it sums truths or indices over lines");
        if (c->why) return;
        bool wide = level & KNI_LEVEL_PLACE;
        results[k] =
            (kni_line_result){operand(c, node, type_of(c, node), wide), type_of(c, node), wide, down};
    }
}

/* ---- registers: a value's is free after the last step that reads it */

typedef struct sharing {
    int last[VALUES];
    int16_t at[VALUES];
    bool used[2][KNI_LINE_REGISTERS];
    uint8_t types[2][KNI_LINE_REGISTERS];
    int n[2];
} sharing;

static int16_t take(compiler *c, sharing *s, int16_t v)
{
    const value *x = &c->values[v];
    int i = 0;
    /* What is kept is not shared, and types not with each other: in pieces of a line they would lie over each other. */
    while (i < s->n[x->wide] && (s->used[x->wide][i] || s->types[x->wide][i] != x->type)) i++;
    if (x->kept || x->alone) i = s->n[x->wide];
    if (i == KNI_LINE_REGISTERS) refuse(c, "it holds too many values at once");
    if (c->why) return 0;
    if (i == s->n[x->wide]) s->n[x->wide]++;
    s->used[x->wide][i] = true;
    s->types[x->wide][i] = x->type;
    return s->at[v] = (int16_t)i;
}

static void release(const compiler *c, sharing *s, int16_t v)
{
    const value *x = &c->values[v];
    if (!x->kept && !x->alone) s->used[x->wide][s->at[v]] = false;
}

static void share_registers(compiler *c, sharing *s, kni_line_result *results)
{
    for (int v = 0; v < c->n_values; v++) s->last[v] = -1;
    for (int i = 0; i < c->n_steps; i++)
        for (int k = 0; k < c->steps[i].n_in; k++) s->last[c->steps[i].in[k]] = i;
    for (int k = 0; k < c->body->n_out; k++) s->last[results[k].from] = c->n_steps;
    for (int i = 0; i < c->n_once && !c->why; i++) {
        kni_line_step *step = &c->once[i];
        for (int k = 0; k < step->n_in; k++) step->in[k] = s->at[step->in[k]];
        step->out = take(c, s, step->out);
    }
    for (int i = 0; i < c->n_steps && !c->why; i++) {
        kni_line_step *step = &c->steps[i];
        int16_t out = step->out;
        take(c, s, out);
        for (int k = 0; k < step->n_in; k++) {
            int16_t from = step->in[k];
            if (s->last[from] == i) release(c, s, from);
            step->in[k] = s->at[from];
        }
        step->out = s->at[out];
        if (s->last[out] < 0) release(c, s, out);
    }
    for (int k = 0; k < c->body->n_out; k++) results[k].from = s->at[results[k].from];
}

/* ---- all of it */

static kni_line_program *finish(const compiler *c, const sharing *s, const kni_line_result *results)
{
    size_t numbers = (size_t)c->n_numbers * sizeof *c->numbers, once = (size_t)c->n_once * sizeof *c->once,
           steps = (size_t)c->n_steps * sizeof *c->steps,
           bytes = sizeof(kni_line_program) + numbers + once + steps;
    kni_line_program *p = kni_allocate(bytes);
    if (!p) return NULL;
    char *at = (char *)(p + 1);
    *p = (kni_line_program){.n_numbers = (int16_t)c->n_numbers,
                            .n_once = (int16_t)c->n_once,
                            .n_steps = (int16_t)c->n_steps,
                            .n_wide = (int16_t)s->n[1],
                            .n_narrow = (int16_t)s->n[0],
                            .n_results = (int16_t)c->body->n_out,
                            .picks = c->picks,
                            .indices = c->indices,
                            .numbers = (const kni_line_number *)(void *)at,
                            .steps = (const kni_line_step *)(void *)(at + numbers),
                            .bytes = bytes};
    memcpy(p->results, results, (size_t)p->n_results * sizeof *results);
    memcpy(at, c->numbers, numbers);
    memcpy(at + numbers, c->once, once);
    memcpy(at + numbers + once, c->steps, steps);
    return p;
}

kni_line_program *kni_line_compile(const kni_body *body, const char **why)
{
    kni_line_result results[KNI_BODY_OPERANDS];
    kni_line_program *made = NULL;
    compiler *c = kni_allocate(sizeof *c);
    sharing *s = kni_allocate(sizeof *s);
    *why = NULL;
    if (c && s) {
        memset(c, 0, sizeof *c);
        memset(s, 0, sizeof *s);
        c->body = body;
        kni_body_tree_of(body, &c->tree);
        for (int i = 0; i < c->tree.n && !c->why; i++) compile_node(c, i);
        find_results(c, results);
        if (!c->why) share_registers(c, s, results);
        *why = c->why;
        if (!c->why) made = finish(c, s, results);
    }
    if (c) kni_free(c, sizeof *c);
    if (s) kni_free(s, sizeof *s);
    return made;
}
