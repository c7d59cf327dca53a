/* Bodies along lines, node by node over one line after the other, or over one block of elements after the other. A sum over all lines needs them all before it is known: the
   lines are walked once more for what waits for such a sum. */
#include "ops/body_lines.h"
#include "core/allocator.h"
#include "core/math/philox.h"
#include "ops/body_reduce.h"
#include "ops/body_tree.h"
#include "ops/scalar_words.h"
#include <string.h>

enum { ROOMS = 3, BLOCK = 512, WHOLE = KNI_GIVES_NUMBER + 1 };

typedef struct walk {
    kni_body_lines *run;
    const kni_body *body;
    kni_body_tree tree;
    kni_cell *values[KNI_BODY_MAX_STEPS]; /* of each node: as many as the line has places, or one */
    kni_cell *rooms[ROOMS];               /* operands of a word, spread over the line */
    uint8_t stage[KNI_BODY_MAX_STEPS];    /* how many sums over all lines come before a node */
    bool whole[KNI_BODY_MAX_STEPS];       /* a number that is an integer: `i` of its cells, not `f` */
    bool needed[KNI_BODY_MAX_STEPS];      /* by a result */
    uint32_t choices;
    int last;        /* the highest stage */
    int64_t *places; /* where the places of a line lie, from its first */
    int64_t lines, width, line, first;
    void *memory;
    size_t bytes;
} walk;

static int64_t count_of(const walk *w, int i)
{
    return w->tree.nodes[i].level & KNI_LEVEL_PLACE ? w->width : 1;
}

/* ---- operands */

/* An operand of a node as `gives`, or an integer where that is WHOLE: numbers become what they stand beside, and what a line has one
   of is spread over n. */
static const kni_cell *operand(walk *w, int i, int gives, int64_t n, int room)
{
    bool number = w->tree.nodes[i].gives == KNI_GIVES_NUMBER, whole = w->whole[i];
    bool wanted = gives == KNI_GIVES_INDEX || gives == WHOLE ||
                  (gives == KNI_GIVES_VALUE && w->run->wide != KNI_COMPUTE_F64);
    bool same = !number || whole == wanted;
    int64_t count = count_of(w, i);
    if (same && count == n) return w->values[i];
    kni_cell *to = w->rooms[room];
    for (int64_t k = 0; k < n; k++) {
        to[k] = w->values[i][count > 1 ? k : 0];
        if (!same && wanted)
            to[k].i = kni_body_real(to[k].f).whole;
        else if (!same)
            to[k].f = (double)to[k].i;
    }
    return to;
}

static bool is_true(const walk *w, kni_cell c)
{
    return w->run->wide == KNI_COMPUTE_F64 ? c.f != 0 : c.u != 0;
}

static void load(walk *w, int i)
{
    const kni_body_node *node = &w->tree.nodes[i];
    const kni_cell *x = w->run->in[node->step.index];
    uint8_t bits = w->body->operands[node->step.index];
    kni_cell absent = {.i = bits & KNI_OPERAND_ONE ? 1 : 0}, *y = w->values[i];
    if (w->run->wide == KNI_COMPUTE_F64 && node->gives == KNI_GIVES_VALUE) absent.f = (double)absent.i;
    for (int64_t k = 0, n = count_of(w, i); k < n; k++) {
        int64_t at = node->level == KNI_LEVEL_ELEMENT ? w->first + w->places[k]
                     : node->level == KNI_LEVEL_LINE  ? w->line
                                                      : k;
        y[k] = x ? x[at] : absent;
        if (x && node->gives == KNI_GIVES_TRUTH) y[k].i = is_true(w, x[at]);
    }
}

/* ---- steps */

static void apply_word(walk *w, int i)
{
    const kni_body_node *node = &w->tree.nodes[i];
    const kni_word *word = kni_word_at(node->step.index);
    int gives = KNI_GIVES_NUMBER;
    bool whole = true; /* integers alone, which keep all digits */
    for (int k = 0; k < node->n_in; k++) {
        whole &= w->whole[node->in[k]];
        if (w->tree.nodes[node->in[k]].gives != KNI_GIVES_NUMBER) gives = w->tree.nodes[node->in[k]].gives;
    }
    if (gives == KNI_GIVES_NUMBER && whole && (word->truth || w->whole[i])) gives = WHOLE;
    int wide = gives == KNI_GIVES_INDEX || gives == WHOLE ? KNI_COMPUTE_I64
               : gives == KNI_GIVES_NUMBER                ? KNI_COMPUTE_F64
                                                          : w->run->wide;
    int64_t n = count_of(w, i);
    const void *in[2] = {NULL, NULL};
    uint8_t code[3] = {(uint8_t)KNI_BODY_CODE(KNI_STEP_INPUT, 0), (uint8_t)KNI_BODY_CODE(KNI_STEP_INPUT, 1)};
    for (int k = 0; k < node->n_in; k++) in[k] = operand(w, node->in[k], gives, n, k);
    code[node->n_in] = (uint8_t)KNI_BODY_CODE(KNI_STEP_WORD, node->step.index);
    const kni_body one = {.code = code, .n = (uint8_t)(node->n_in + 1)};
    kni_body_evaluate(&one, wide, n, w->values[i], in, 0, NULL);
    for (int64_t k = 0; k < n && word->truth && wide == KNI_COMPUTE_F64; k++)
        w->values[i][k].i = w->values[i][k].f != 0;
    /* floor and ceil of what is no integer. */
    for (int64_t k = 0; k < n && gives == KNI_GIVES_NUMBER && w->whole[i]; k++)
        w->values[i][k].i = kni_body_real(w->values[i][k].f).whole;
}

static void select_or_combine(walk *w, int i)
{
    const kni_body_node *node = &w->tree.nodes[i];
    int64_t n = count_of(w, i);
    bool select = node->step.kind == KNI_STEP_SELECT;
    const kni_cell *a = operand(w, node->in[0], KNI_GIVES_TRUTH, n, 0), *b = a, *c = a;
    int gives = !select ? KNI_GIVES_TRUTH : w->whole[i] ? WHOLE : node->gives;
    if (node->n_in > 1) b = operand(w, node->in[1], gives, n, 1);
    if (node->n_in > 2) c = operand(w, node->in[2], gives, n, 2);
    for (int64_t k = 0; k < n; k++) {
        kni_cell *y = &w->values[i][k];
        if (select) {
            *y = a[k].i ? b[k] : c[k];
            continue;
        }
        y->i = node->step.kind == KNI_STEP_AND   ? a[k].i & b[k].i
               : node->step.kind == KNI_STEP_OR  ? a[k].i | b[k].i
               : node->step.kind == KNI_STEP_XOR ? a[k].i ^ b[k].i
                                                 : !a[k].i;
    }
}

static void read_at(walk *w, int i)
{
    const kni_body_node *node = &w->tree.nodes[i];
    const kni_cell *v = operand(w, node->in[0], node->gives, w->width, 1);
    int64_t t = operand(w, node->in[1], KNI_GIVES_INDEX, 1, 0)->i;
    w->values[i][0] = t >= 0 && t < w->width ? v[t] : (kni_cell){.i = 0};
}

/* A scalar: integers keep all digits. */
static kni_cell scalar(const walk *w, int i)
{
    const kni_step *s = &w->tree.nodes[i].step;
    kni_body_number n = s->kind == KNI_STEP_CONSTANT
                            ? kni_body_real(s->value)
                            : kni_body_attribute(&w->run->row->schema[s->index], w->run->attributes);
    return w->whole[i] ? (kni_cell){.i = n.whole} : (kni_cell){.f = n.real};
}

/* Element t has the words from t times `words` on, four in a block of the generator. */
static void draw(walk *w, int i)
{
    const kni_body_node *node = &w->tree.nodes[i];
    int64_t n = count_of(w, i);
    uint64_t words = w->body->draws[w->choices >> KNI_CHOICE_DOUBLES & 1];
    int64_t key = operand(w, node->in[0], KNI_GIVES_INDEX, 1, 0)->i;
    int64_t counter = operand(w, node->in[1], KNI_GIVES_INDEX, 1, 0)->i;
    const kni_cell *t = operand(w, node->in[2], KNI_GIVES_INDEX, n, 0);
    for (int64_t k = 0; k < n; k++) {
        uint64_t word = t[k].u * words + node->step.index;
        w->values[i][k].i =
            kni_philox_word(key, (int64_t)((uint64_t)counter + word / 4), (int64_t)(word % 4));
    }
}

static void require(walk *w, int i)
{
    const kni_body_node *node = &w->tree.nodes[i];
    int64_t n = count_of(w, i);
    const kni_cell *holds = operand(w, node->in[0], KNI_GIVES_TRUTH, n, 0);
    for (int64_t k = 0; k < n; k++) {
        w->values[i][k] = w->values[node->in[1]][k];
        if (holds[k].i || w->run->failed) continue;
        w->run->failed = true;
        w->run->reported = w->values[i][k].i;
    }
}

/* A sum over all lines grows while the lines of the stage before its own are walked, and then stays. */
static void add_down(walk *w, int i)
{
    const kni_cell *v = w->values[w->tree.nodes[i].in[0]];
    for (int64_t k = 0; k < w->width; k++) w->values[i][k].f += v[k].f;
}

static void compute(walk *w, int i)
{
    const kni_body_node *node = &w->tree.nodes[i];
    kni_cell *y = w->values[i];
    switch (node->step.kind) {
    case KNI_STEP_INPUT:
        load(w, i);
        break;
    case KNI_STEP_PARAM:
    case KNI_STEP_CONSTANT:
        *y = scalar(w, i);
        break;
    case KNI_STEP_DRAW:
        draw(w, i);
        break;
    case KNI_STEP_ELEMENT:
        for (int64_t k = 0; k < w->width; k++) y[k].i = w->first + w->places[k];
        break;
    case KNI_STEP_REAL:
        for (int64_t k = 0; k < count_of(w, i); k++) y[k].f = (double)w->values[node->in[0]][k].i;
        break;
    case KNI_STEP_HAS:
        y->i = w->run->in[node->step.index] != NULL;
        break;
    case KNI_STEP_CHOICE:
        y->i = w->choices >> node->step.index & 1;
        break;
    case KNI_STEP_LENGTH:
        y->f = (double)w->width;
        break;
    case KNI_STEP_PLACE:
        for (int64_t k = 0; k < w->width; k++) y[k].i = k;
        break;
    case KNI_STEP_SELECT:
    case KNI_STEP_AND:
    case KNI_STEP_OR:
    case KNI_STEP_XOR:
    case KNI_STEP_NOT:
        select_or_combine(w, i);
        break;
    case KNI_STEP_EXPN: {
        int64_t n = count_of(w, i);
        const kni_cell *x = operand(w, node->in[0], KNI_GIVES_VALUE, n, 0);
        for (int64_t k = 0; k < n; k++) y[k].f = kni_exp_f64(x[k].f);
        break;
    }
    case KNI_STEP_AT:
        read_at(w, i);
        break;
    case KNI_STEP_REQUIRE:
        require(w, i);
        break;
    case KNI_STEP_LINE:
        if (node->step.index == KNI_LINE_DOWN)
            add_down(w, i);
        else
            *y = kni_body_reduce(node->step.index, w->run->wide,
                                 operand(w, node->in[0],
                                         node->gives == KNI_GIVES_TRUTH ? KNI_GIVES_TRUTH : KNI_GIVES_VALUE,
                                         w->width, 0),
                                 w->width);
        break;
    default:
        apply_word(w, i);
        break;
    }
}

/* ---- lines and results */

static void store(walk *w, int result)
{
    int i = w->tree.results[result], n_in = w->body->n_in;
    uint8_t bits = w->body->operands[n_in + result], level = bits & KNI_OPERAND_LEVEL;
    int64_t n = level & KNI_LEVEL_PLACE ? w->width : 1;
    kni_cell *y = w->run->out[result];
    uint8_t gives = w->tree.nodes[i].gives == KNI_GIVES_NUMBER ? KNI_GIVES_VALUE : w->tree.nodes[i].gives;
    if (!y) return;
    const kni_cell *v = operand(w, i, gives, n, 0);
    for (int64_t k = 0; k < n; k++) {
        int64_t at = level == KNI_LEVEL_ELEMENT ? w->first + w->places[k]
                     : level == KNI_LEVEL_LINE  ? w->line
                                                : k;
        y[at] = v[k];
    }
}

static bool is_down(const walk *w, int i)
{
    const kni_step *s = &w->tree.nodes[i].step;
    return s->kind == KNI_STEP_LINE && s->index == KNI_LINE_DOWN;
}

/* The nodes of one line that a stage knows, and its results; `none`: only those that belong to no line. */
static void walk_line(walk *w, int stage, bool none)
{
    for (int i = 0; i < w->tree.n; i++) {
        bool grows = is_down(w, i) && w->stage[i] == stage + 1;
        bool ready = w->stage[i] <= stage && !is_down(w, i) && w->needed[i];
        if (none ? ready && !(w->tree.nodes[i].level & KNI_LEVEL_LINE) : ready || grows) compute(w, i);
    }
    for (int k = 0; k < w->body->n_out; k++)
        if (w->stage[w->tree.results[k]] == stage &&
            !(none && w->body->operands[w->body->n_in + k] & KNI_LEVEL_LINE))
            store(w, k);
}

/* Whether a stage has anything to do for each line. */
static bool needs_lines(const walk *w, int stage)
{
    bool needs = false;
    for (int i = 0; i < w->tree.n; i++)
        needs |= (w->stage[i] == stage && w->tree.nodes[i].level & KNI_LEVEL_LINE) ||
                 (is_down(w, i) && w->stage[i] == stage + 1);
    for (int k = 0; k < w->body->n_out; k++)
        needs |=
            w->stage[w->tree.results[k]] == stage && w->body->operands[w->body->n_in + k] & KNI_LEVEL_LINE;
    return needs;
}

/* The place of index `i` of the axes in `mask`, row-major, in a contiguous tensor of the shape. */
static int64_t offset_of(const kni_type *shape, uint32_t mask, int64_t i)
{
    int64_t offset = 0, stride = 1;
    for (int a = shape->rank; a-- > 0; stride *= shape->dims[a]) {
        if (!(mask >> a & 1) || shape->dims[a] == 0) continue;
        offset += i % shape->dims[a] * stride;
        i /= shape->dims[a];
    }
    return offset;
}

static void find_stages(walk *w)
{
    for (int i = 0; i < w->tree.n; i++) {
        const kni_body_node *node = &w->tree.nodes[i];
        for (int k = 0; k < node->n_in; k++)
            if (w->stage[node->in[k]] > w->stage[i]) w->stage[i] = w->stage[node->in[k]];
        w->stage[i] += is_down(w, i);
        if (w->stage[i] > w->last) w->last = w->stage[i];
    }
}

static bool allocate(walk *w)
{
    int64_t wide = 0, cells, bytes, at = 0;
    for (int i = 0; i < w->tree.n; i++) wide += count_of(w, i) == w->width;
    if (__builtin_mul_overflow(w->width, wide + ROOMS + 1, &cells) ||
        __builtin_add_overflow(cells, w->tree.n + ROOMS, &cells) ||
        __builtin_mul_overflow(cells, (int64_t)sizeof(kni_cell), &bytes))
        return false;
    w->bytes = (size_t)bytes;
    w->memory = kni_allocate(w->bytes);
    if (!w->memory) return false;
    memset(w->memory, 0, w->bytes);
    kni_cell *memory = w->memory;
    for (int i = 0; i < w->tree.n; at += count_of(w, i++)) w->values[i] = memory + at;
    for (int i = 0; i < ROOMS; at += w->width + 1, i++) w->rooms[i] = memory + at;
    w->places = (int64_t *)(memory + at);
    return true;
}

/* Choices that are known are made, and what is left over is not computed. */
static void find_needed(walk *w)
{
    w->choices = kni_body_choices(w->run->row->schema, w->run->attributes) | w->run->choices;
    kni_body_settle(&w->tree, w->body->n_out, UINT32_MAX, w->choices);
    for (int k = 0; k < w->body->n_out; k++) w->needed[w->tree.results[k]] = true;
    for (int i = w->tree.n; i-- > 0;) {
        const kni_body_node *node = &w->tree.nodes[i];
        w->whole[i] = node->gives == KNI_GIVES_NUMBER && kni_body_is_whole(&w->tree, w->run->row->schema, i);
        for (int k = 0; k < node->n_in && w->needed[i]; k++) w->needed[node->in[k]] = true;
    }
}

bool kni_body_lines_run(kni_body_lines *run)
{
    walk w = {.run = run, .body = run->row->body, .lines = 1, .width = 1};
    uint32_t all = (1u << run->shape->rank) - 1;
    int64_t count = kni_count(run->shape);
    for (int a = 0; a < run->shape->rank; a++)
        *(run->axes >> a & 1 ? &w.width : &w.lines) *= run->shape->dims[a];
    if (run->apart) {
        w.width = count < BLOCK ? count : BLOCK;
        w.lines = (count + BLOCK - 1) / BLOCK;
    }
    kni_body_tree_of(w.body, &w.tree);
    find_needed(&w);
    find_stages(&w);
    if (!allocate(&w)) return false;
    for (int64_t k = 0; k < w.width; k++) w.places[k] = run->apart ? k : offset_of(run->shape, run->axes, k);
    for (int stage = 0; stage <= w.last; stage++) {
        bool none = w.lines == 0 || !needs_lines(&w, stage);
        if (none) walk_line(&w, stage, true);
        for (w.line = 0; w.line < w.lines && !none; w.line++) {
            w.first = run->apart ? w.line * BLOCK : offset_of(run->shape, all & ~run->axes, w.line);
            if (run->apart && count - w.first < w.width) w.width = count - w.first;
            walk_line(&w, stage, false);
        }
    }
    kni_free(w.memory, w.bytes);
    return true;
}
