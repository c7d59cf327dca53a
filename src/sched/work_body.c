/* Rows that work along lines, taken apart by their bodies. */
#include "ops/body_tree.h"
#include "sched/work_rows.h"

typedef struct body {
    kni_work *w;
    const kn_record *r;
    const kni_body *form;
    kni_body_tree tree;
    uint16_t all; /* the frame of the elements */
    int compute, dtype;
    uint16_t known[KNI_BODY_STEPS];
} body;

static uint16_t value(body *b, int i);

/* ---- what is known before anything runs: constants, static attributes and the length, and what is made of them */

static double attribute_of(const body *b, int index)
{
    const kn_attribute *a = &b->r->row->schema[index];
    const void *at = (const char *)b->r->attributes + a->offset;
    return a->type == KNI_ATTR_INT ? (double)*(const int64_t *)at : *(const double *)at;
}

static bool is_dynamic(const body *b, int index) { return b->r->row->schema[index].dynamic == KNI_DYNAMIC; }

/* A word on numbers, in f64: 1 - 0.9999 loses digits in f32. */
static double word_on(int word, const double *x)
{
    const void *const in[2] = {&x[0], &x[1]};
    uint8_t code[3] = {(uint8_t)KNI_BODY_CODE(KNI_STEP_INPUT, 0), (uint8_t)KNI_BODY_CODE(KNI_STEP_INPUT, 1)};
    int arity = kni_word_at(word)->arity;
    code[arity] = (uint8_t)KNI_BODY_CODE(KNI_STEP_WORD, word);
    double y = 0;
    kni_body_evaluate(&(kni_body){.code = code, .n = (uint8_t)(arity + 1)}, KNI_COMPUTE_F64, 1, &y, in, 0,
                      NULL);
    return y;
}

static bool is_static(const body *b, int i, double *v)
{
    const kni_body_node *n = &b->tree.nodes[i];
    double x[2] = {0};
    switch (n->step.kind) {
    case KNI_STEP_CONSTANT:
        return *v = n->step.value, true;
    case KNI_STEP_LENGTH:
        return *v = (double)b->w->width, true;
    case KNI_STEP_PARAM:
        return *v = attribute_of(b, n->step.index), !is_dynamic(b, n->step.index);
    case KNI_STEP_WORD:
        for (int k = 0; k < n->n_in; k++)
            if (!is_static(b, n->in[k], &x[k])) return false;
        return *v = word_on(n->step.index, x), true;
    default:
        return false;
    }
}

/* The node that a choice between nodes comes to, where that is known. */
static int chosen(const body *b, int i)
{
    const kni_body_node *n = &b->tree.nodes[i];
    double truth;
    while (n->step.kind == KNI_STEP_SELECT && is_static(b, n->in[0], &truth)) {
        i = n->in[truth != 0 ? 1 : 2];
        n = &b->tree.nodes[i];
    }
    return i;
}

/* ---- operands */

static bool is_absent(const body *b, int i)
{
    const kni_step *s = &b->tree.nodes[i].step;
    return s->kind == KNI_STEP_INPUT && kni_work_in(b->r, s->index) == KNI_NO_SLOT;
}

/* Whether node i is an absent operand that leaves the other side of a product or a sum as it is. */
static bool is_neutral(const body *b, int i, int word)
{
    if (!is_absent(b, i)) return false;
    bool one = b->form->operands[b->tree.nodes[i].step.index] & KNI_OPERAND_ONE;
    return one ? word == KNI_WORD_mul : word == KNI_WORD_add;
}

static uint16_t operand(body *b, int index)
{
    kni_work *w = b->w;
    uint32_t id = kni_work_in(b->r, index);
    uint8_t bits = b->form->operands[index];
    if (id == KNI_NO_SLOT) return kni_work_constant(w, b->compute, bits & KNI_OPERAND_ONE ? 1 : 0);
    if ((bits & KNI_OPERAND_LEVEL) != KNI_LEVEL_LINE) return kni_work_operand(w, id, b->all, 0, b->compute);
    if (b->r->row->line.axes == KNI_LINE_CHANNEL) return kni_work_along(w, id, b->all, 1, b->compute);
    const kni_type *t = kni_work_type(id);
    return kni_work_operand(w, id, kni_work_frame_of(w, t->dims, t->rank, KNI_WORK_R, 0), 0, b->compute);
}

/* A number of the launch; one that changes between runs of a plan would need a source. */
static uint16_t param(body *b, int index)
{
    if (is_dynamic(b, index)) return kni_work_fail(b->w);
    return kni_work_real(b->w, b->compute, attribute_of(b, index));
}

/* ---- words */

/* Dividing a line by a number of its own is a product with the number's reciprocal: one division for each line. */
static uint16_t divide(body *b, const kni_body_node *n)
{
    kni_work *w = b->w;
    uint16_t x = value(b, n->in[0]), y = value(b, n->in[1]);
    bool line = (b->tree.nodes[n->in[0]].level & KNI_LEVEL_PLACE) &&
                !(b->tree.nodes[n->in[1]].level & KNI_LEVEL_PLACE);
    if (!line) return kni_work_word(w, KNI_WORD_div, x, y);
    y = kni_work_word(w, KNI_WORD_div, kni_work_constant(w, b->compute, 1), y);
    return kni_work_word(w, KNI_WORD_mul, x, y);
}

static uint16_t word(body *b, int i)
{
    const kni_body_node *n = &b->tree.nodes[i];
    int index = n->step.index;
    double known;
    if (is_static(b, i, &known)) return kni_work_real(b->w, b->compute, known);
    if (index == KNI_WORD_div) return divide(b, n);
    for (int k = 0; k < 2 && n->n_in == 2; k++)
        if (is_neutral(b, n->in[k], index)) return value(b, n->in[1 - k]);
    uint16_t x = value(b, n->in[0]), y = n->n_in == 2 ? value(b, n->in[1]) : 0;
    return kni_work_word(b->w, index, x, y);
}

/* Only the sum of it matters where nothing else takes it; then all digits count, else those of the result. */
static kni_power_digits digits_of(const body *b, int i)
{
    for (int k = 0; k < b->tree.n; k++) {
        const kni_body_node *n = &b->tree.nodes[k];
        bool sums = n->step.kind == KNI_STEP_LINE && n->step.index == KNI_LINE_SUM;
        for (int j = 0; j < n->n_in; j++)
            if (n->in[j] == i && !sums) return kni_power_digits_of(b->dtype);
    }
    return kni_power_digits_of(b->compute);
}

static uint16_t along(body *b, const kni_body_node *n)
{
    static const uint8_t reductions[KNI_LINE_WORDS] = {
        [KNI_LINE_SUM] = KNI_WORK_SUM, [KNI_LINE_HIGHEST] = KNI_WORK_MAX,  [KNI_LINE_LOWEST] = KNI_WORK_MIN,
        [KNI_LINE_TOP] = KNI_WORK_TOP, [KNI_LINE_DOWN] = KNI_WORK_COLUMNS,
    };
    uint16_t v = value(b, n->in[0]);
    if (b->w->failed) return 0;
    return n->step.index == KNI_LINE_MEAN ? kni_work_mean(b->w, v)
                                          : kni_work_reduce(b->w, reductions[n->step.index], v);
}

static uint16_t compute(body *b, int i)
{
    static const uint8_t logic[] = {KNI_WORK_AND, KNI_WORK_OR};
    const kni_body_node *n = &b->tree.nodes[i];
    kni_work *w = b->w;
    switch (n->step.kind) {
    case KNI_STEP_INPUT:
        return operand(b, n->step.index);
    case KNI_STEP_PARAM:
        return param(b, n->step.index);
    case KNI_STEP_CONSTANT:
        return kni_work_constant(w, b->compute, n->step.value);
    case KNI_STEP_LENGTH:
        return kni_work_real(w, b->compute, (double)w->width);
    case KNI_STEP_SELECT:
        return kni_work_select(w, value(b, n->in[0]), value(b, n->in[1]), value(b, n->in[2]));
    case KNI_STEP_AND:
    case KNI_STEP_OR:
        return kni_work_logic(w, logic[n->step.kind - KNI_STEP_AND], value(b, n->in[0]), value(b, n->in[1]));
    case KNI_STEP_NOT:
        return kni_work_logic(w, KNI_WORK_NOT, value(b, n->in[0]), 0);
    case KNI_STEP_XOR:
        return kni_work_word(w, KNI_WORD_ne, value(b, n->in[0]), value(b, n->in[1]));
    case KNI_STEP_EXPN:
        return kni_work_power(w, value(b, n->in[0]), digits_of(b, i));
    case KNI_STEP_LINE:
        return along(b, n);
    default:
        return word(b, i);
    }
}

/* Each node is computed when it is first asked for, so that nothing is made of a side that is not chosen. */
static uint16_t value(body *b, int i)
{
    if (b->w->failed) return 0;
    i = chosen(b, i);
    if (!b->known[i]) b->known[i] = compute(b, i);
    return b->known[i];
}

/* The frame of the elements, checked against the one that the result is asked in. */
static uint16_t start(kni_work *w, const kn_record *r, uint8_t level, uint16_t frame)
{
    const kni_work_frame *f = &w->frames[frame];
    if (level == KNI_LEVEL_ELEMENT) return kni_work_is_line_element(w, frame, r) ? frame : 0;
    if (level == KNI_LEVEL_LINE) return kni_work_is_row(w, frame) ? kni_work_line_frame(w, r) : 0;
    if (f->node || f->level != KNI_WORK_K) return kni_work_fail(w);
    return kni_work_line_frame(w, r);
}

uint16_t kni_work_body_value(kni_work *w, const kn_record *r, int result, uint16_t frame)
{
    body b = {.w = w, .r = r, .form = r->row->body};
    b.compute = kni_work_dtype(kni_in(r, r->row->line.operand)->type.dtype);
    if (b.compute == KN_BOOL) b.compute = KN_I32;
    b.dtype = kni_out(r, result)->type.dtype;
    b.all = start(w, r, b.form->operands[b.form->n_in + result] & KNI_OPERAND_LEVEL, frame);
    if (w->failed) return 0;
    kni_body_tree_of(b.form, &b.tree);
    uint16_t y = value(&b, b.tree.results[result]);
    return w->failed ? 0 : kni_work_convert(w, y, b.compute, b.dtype);
}
