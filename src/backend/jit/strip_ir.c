/* From a program of strips to IR. */
#include "backend/jit/strip_ir.h"
#include "ir/builder.h"
#include "ops/body.h"
#include "sched/emit_body.h"
#include <string.h>

typedef struct maker {
    kni_ir_builder b;
    const kni_group *g;
    const kni_strip_program *p;
    kni_strip_kernel *kernel;
    const kni_strip_step *step; /* whose body is being written */
    kni_ir_id operands[4];      /* of it */
    int compute;                /* dtype of it */
    kni_ir_id start, at;        /* the row's first element, and the element, in order */
    kni_ir_id k;                /* place in the row */
    kni_ir_id base[KNI_GROUP_INPUTS], loaded[KNI_GROUP_INPUTS];
    kni_ir_id registers[KNI_GROUP_REGISTERS], results[KNI_GROUP_RESULTS];
} maker;

/* What values of a dtype are computed in. */
static int value_dtype(int storage)
{
    return kni_is_bool(storage) ? KN_BOOL : kni_compute_dtype[kni_compute_of[storage]];
}

/* ---- params */

static void add_number(maker *m, int kind, int a, int b, int dtype)
{
    kni_strip_kernel *k = m->kernel;
    if (k->n_numbers == KNI_IR_MAX_PARAMS) {
        m->b.status = KN_ERROR_UNSUPPORTED;
        return;
    }
    char name[8] = "n000";
    name[1] = (char)('0' + k->n_numbers / 100);
    name[2] = (char)('0' + k->n_numbers / 10 % 10);
    name[3] = (char)('0' + k->n_numbers % 10);
    kni_ir_param_add(&m->b, name, dtype, 0);
    k->numbers[k->n_numbers++] = (kni_strip_number){(uint8_t)kind, (uint8_t)dtype, (int16_t)a, (int16_t)b, 0};
}

static kni_ir_id number(maker *m, int kind, int a, int b)
{
    for (int i = 0; i < m->kernel->n_numbers; i++) {
        const kni_strip_number *n = &m->kernel->numbers[i];
        if (n->kind == kind && n->a == a && n->b == b) return kni_ir_param_value(&m->b, (uint32_t)i);
    }
    m->b.status = KN_ERROR_UNSUPPORTED;
    return 0;
}

static bool is_flat(const maker *m, int input) { return m->p->inputs[input].flat; }

static void declare_numbers(maker *m)
{
    const kni_strip_program *p = m->p;
    int last = p->rank - 1;
    add_number(m, KNI_NUMBER_ROW, 0, 0, KN_I64);
    add_number(m, KNI_NUMBER_BLOCK, 0, 0, KN_I64);
    if (last > 0) add_number(m, KNI_NUMBER_BLOCKS, 0, 0, KN_I64);
    for (int a = 1; a < last; a++) add_number(m, KNI_NUMBER_DIM, 0, a, KN_I64);
    for (int i = 0; i < p->n_inputs; i++)
        for (int a = 0; a <= last && !is_flat(m, i); a++)
            if (p->inputs[i].strides[a] != 0 && p->inputs[i].strides[a] != 1)
                add_number(m, KNI_NUMBER_STRIDE, i, a, KN_I64);
}

/* The dtype that a call computes in: that of its result, or, where this is a truth, of what it compares. */
static int call_dtype(const maker *m, const kni_strip_step *s)
{
    int dtype = s->out.dtype;
    for (int i = 0; i < s->n_in && kni_is_bool(dtype); i++) dtype = s->in[i].dtype;
    (void)m;
    return dtype;
}

/* Reads the bodies of all calls and declares the numbers that they read. */
static bool declare_bodies(maker *m)
{
    for (int32_t i = 0; i < m->p->n_once; i++) {
        const kni_strip_step *s = &m->p->once[i];
        if (s->kind == KNI_STRIP_NUMBER && s->scalar >= 0)
            add_number(m, KNI_NUMBER_RECORD, s->record, s->scalar, s->out.dtype);
    }
    for (int32_t i = 0; i < m->p->n_steps; i++) {
        const kni_strip_step *s = &m->p->steps[i];
        uint32_t seen = 0;
        if (s->kind != KNI_STRIP_CALL || s->word) continue;
        const kn_op *row = m->g->records[s->record]->row;
        const kni_body *body = row->body;
        if (!kni_is_pointwise(row)) return false;
        for (int k = 0; k < body->n; k++) {
            kni_step step = kni_body_step(body, k);
            if (step.kind != KNI_STEP_PARAM || seen >> step.index & 1) continue;
            seen |= 1u << step.index;
            add_number(m, KNI_NUMBER_RECORD, s->record, step.index, call_dtype(m, s));
        }
    }
    return m->b.status == KN_OK;
}

static void declare_buffers(maker *m)
{
    const kni_strip_program *p = m->p;
    char name[4] = "x00";
    bool shared[KNI_GROUP_INPUTS] = {false};
    for (int i = 0; i < p->n_results; i++)
        if (p->reused[i] >= 0) shared[p->reused[i]] = true;
    for (int i = 0; i < p->n_inputs; i++) {
        name[1] = (char)('0' + i / 10), name[2] = (char)('0' + i % 10);
        kni_ir_buffer(&m->b, name, p->inputs[i].dtype, KNI_IR_READ | (shared[i] ? KNI_IR_ALIASES : 0));
    }
    name[0] = 'y';
    for (int i = 0; i < p->n_results; i++) {
        name[1] = (char)('0' + i / 10), name[2] = (char)('0' + i % 10);
        kni_ir_buffer(&m->b, name, kni_slot(m->g->outputs[i])->type.dtype,
                      KNI_IR_WRITE | (p->reused[i] >= 0 ? KNI_IR_ALIASES : 0));
    }
}

/* ---- indices */

static kni_ir_id add(maker *m, kni_ir_id x, kni_ir_id y)
{
    return !x ? y : !y ? x : kni_ir_word(&m->b, "add", x, y);
}

static kni_ir_id times(maker *m, kni_ir_id x, kni_ir_id y) { return kni_ir_word(&m->b, "mul", x, y); }

/* Of numbers that are not negative. */
static kni_ir_id quotient(maker *m, kni_ir_id x, kni_ir_id by)
{
    kni_ir_builder *b = &m->b;
    kni_ir_id q = kni_ir_word(b, "div", kni_ir_cast(b, x, KN_U64), kni_ir_cast(b, by, KN_U64));
    return kni_ir_cast(b, q, KN_I64);
}

static kni_ir_id remainder_of(maker *m, kni_ir_id x, kni_ir_id by, kni_ir_id quotient_of_it)
{
    return kni_ir_word(&m->b, "sub", x, times(m, quotient_of_it, by));
}

/* `index` times the stride of an input along an axis; 0 where that is nothing. */
static kni_ir_id stretch(maker *m, int input, int axis, kni_ir_id index)
{
    int64_t stride = m->p->inputs[input].strides[axis];
    if (stride == 0) return 0;
    return stride == 1 ? index : times(m, index, number(m, KNI_NUMBER_STRIDE, input, axis));
}

/* Where the row begins in each input that does not lie as the results do. */
static void find_bases(maker *m, kni_ir_id row)
{
    const kni_strip_program *p = m->p;
    for (int a = p->rank - 2; a >= 0; a--) {
        kni_ir_id index = row, outer = 0;
        if (a > 0) {
            kni_ir_id dim = number(m, KNI_NUMBER_DIM, 0, a);
            outer = quotient(m, row, dim);
            index = remainder_of(m, row, dim, outer);
        }
        for (int i = 0; i < p->n_inputs; i++)
            if (!is_flat(m, i)) m->base[i] = add(m, m->base[i], stretch(m, i, a, index));
        row = outer;
    }
}

static kni_ir_id load_at(maker *m, int input, kni_ir_id at)
{
    if (!at) at = kni_ir_whole(&m->b, KN_I64, 0);
    return kni_ir_load(&m->b, (uint32_t)input, at, value_dtype(m->p->inputs[input].dtype), 1);
}

static void load_what_stays(maker *m)
{
    const kni_strip_program *p = m->p;
    for (int i = 0; i < p->n_inputs; i++)
        if (!is_flat(m, i) && p->inputs[i].strides[p->rank - 1] == 0)
            m->loaded[i] = load_at(m, i, m->base[i]);
}

/* The element of an input that belongs to this turn. */
static kni_ir_id load(maker *m, int input)
{
    if (m->loaded[input]) return m->loaded[input];
    kni_ir_id at =
        is_flat(m, input) ? m->at : add(m, m->base[input], stretch(m, input, m->p->rank - 1, m->k));
    return m->loaded[input] = load_at(m, input, at);
}

/* ---- values */

static kni_ir_id convert_once(maker *m, kni_ir_id x, int from, int to)
{
    kni_ir_builder *b = &m->b;
    bool half = kni_is_half(to), wide = kni_dtypes[from].bits >= 32 && from != KN_F32;
    if (from == to) return x;
    if (half && wide) return kni_ir_cast(b, kni_ir_round_to(b, kni_ir_cast(b, x, KN_F64), to), KN_F32);
    x = kni_ir_cast(b, x, value_dtype(to));
    return value_dtype(to) == to ? x : kni_ir_round_to(b, x, to);
}

static kni_ir_id convert(maker *m, kni_ir_id x, int from, int via, int to)
{
    if (!via) return convert_once(m, x, from, to);
    return convert_once(m, convert_once(m, x, from, via), via, to);
}

static kni_ir_id value_of(maker *m, kni_strip_place place)
{
    if (place.kind == KNI_PLACE_REGISTER) return m->registers[place.index];
    return place.kind == KNI_PLACE_INPUT ? load(m, place.index) : m->results[place.index];
}

static void keep(maker *m, kni_strip_place place, kni_ir_id value)
{
    if (place.kind == KNI_PLACE_REGISTER) {
        m->registers[place.index] = value;
        return;
    }
    m->results[place.index] = value;
    kni_ir_store(&m->b, (uint32_t)(m->p->n_inputs + place.index), m->at, value);
}

static kni_ir_id body_leaf(void *context, const kni_step *s)
{
    maker *m = context;
    return s->kind == KNI_STEP_INPUT ? m->operands[s->index]
                                     : number(m, KNI_NUMBER_RECORD, m->step->record, s->index);
}

/* The first row of a pair: its result takes the place of its operands. */
static void make_first(maker *m, const kni_strip_step *s)
{
    const kn_record *r = m->g->records[s->first];
    m->operands[0] = kni_emit_row_body(&m->b, r->row, call_dtype(m, s), body_leaf, NULL, m);
    for (int k = r->n_in; k < s->n_in; k++) m->operands[1 + k - r->n_in] = m->operands[k];
}

/* One step of a body. */
static kni_ir_id make_word(maker *m, const kni_strip_step *s)
{
    kni_step step = kni_body_step(m->g->records[s->record]->row->body, s->word - 1);
    kni_ir_id in[4];
    for (int k = 0; k < s->n_in; k++) in[k] = value_of(m, s->in[k]);
    return kni_emit_step(&m->b, call_dtype(m, s), &step, in, s->n_in);
}

static kni_ir_id make_number(maker *m, const kni_strip_step *s)
{
    const kni_step constant = {KNI_STEP_CONSTANT, 0, s->value};
    return s->scalar >= 0 ? number(m, KNI_NUMBER_RECORD, s->record, s->scalar)
                          : kni_emit_step(&m->b, s->out.dtype, &constant, NULL, 0);
}

static void make_step(maker *m, const kni_strip_step *s)
{
    if (s->kind == KNI_STRIP_NUMBER) {
        keep(m, s->out, make_number(m, s));
    } else if (s->kind == KNI_STRIP_CALL && s->word) {
        keep(m, s->out, make_word(m, s));
    } else if (s->kind == KNI_STRIP_CALL) {
        m->step = s;
        for (int k = 0; k < s->n_in; k++) m->operands[k] = value_of(m, s->in[k]);
        if (s->paired) make_first(m, s);
        const kn_op *row = m->g->records[s->record]->row;
        keep(m, s->out, kni_emit_row_body(&m->b, row, call_dtype(m, s), body_leaf, NULL, m));
    } else if (s->kind == KNI_STRIP_CONVERT) {
        keep(m, s->out, convert(m, value_of(m, s->in[0]), s->in[0].dtype, s->via, s->out.dtype));
    } else {
        int from = m->p->inputs[s->input].dtype;
        keep(m, s->out, convert(m, load(m, s->input), from, s->via, s->out.dtype));
    }
}

static void make_kernel(maker *m)
{
    kni_ir_builder *b = &m->b;
    const kni_strip_program *p = m->p;
    kni_ir_id item = kni_ir_builtin_value(b, KNI_IR_ITEM, 0, KN_I64), part = item;
    kni_ir_id length = number(m, KNI_NUMBER_ROW, 0, 0), block = number(m, KNI_NUMBER_BLOCK, 0, 0);
    if (p->rank > 1) {
        kni_ir_id blocks = number(m, KNI_NUMBER_BLOCKS, 0, 0), row = quotient(m, item, blocks);
        part = remainder_of(m, item, blocks, row);
        m->start = times(m, row, length);
        find_bases(m, row);
    }
    kni_ir_id first = times(m, part, block);
    kni_ir_id end = kni_ir_word(b, "min", kni_ir_word(b, "add", first, block), length);
    load_what_stays(m);
    m->k = kni_ir_for_apart(b, first, end, kni_ir_whole(b, KN_I64, 1));
    m->at = add(m, m->start, m->k);
    for (int32_t i = 0; i < p->n_once; i++) make_step(m, &p->once[i]);
    for (int32_t i = 0; i < p->n_steps; i++) make_step(m, &p->steps[i]);
    kni_ir_end(b);
}

bool kni_strip_kernel_make(const kni_group *g, const kni_strip_program *p, kni_strip_kernel *kernel)
{
    maker m = {.g = g, .p = p, .kernel = kernel};
    kernel->ir = NULL;
    kernel->n_numbers = 0;
    m.b = kni_ir_begin("strips", 0);
    declare_buffers(&m);
    declare_numbers(&m);
    bool good = declare_bodies(&m);
    if (good) make_kernel(&m);
    kni_ir *ir = kni_ir_finish(&m.b);
    if (!ir) return false;
    for (int i = 0; i < kernel->n_numbers; i++) kernel->numbers[i].offset = ir->params[i].offset;
    kernel->ir = ir;
    return true;
}
