/* Where values lie and what is known of them while a kernel is built: params, indices, loads, stores and the memory of
   what has been computed. */
#include "sched/emit.h"
#include "core/allocator.h"
#include "sched/emit_body.h"
#include <string.h>

enum { ADD_LANE, MULTIPLY, QUOTIENT, REMAINDER, NUMBER };

/* ---- what has been computed */

bool kni_emit_start(kni_emit *e, kni_ir_builder *b, const kni_work *w)
{
    memset(e, 0, offsetof(kni_emit, derived));
    e->n_derived = 0;
    e->b = b;
    e->w = w;
    e->lanes = e->room = w->lanes;
    e->chunks = w->chunks;
    e->memo_size = w->n_nodes * w->lanes * w->chunks;
    e->memo = kni_allocate(e->memo_size * sizeof *e->memo);
    e->log = kni_allocate(e->memo_size * sizeof *e->log);
    if (!e->memo || !e->log) return false;
    memset(e->memo, 0, e->memo_size * sizeof *e->memo);
    return true;
}

void kni_emit_buffers(kni_emit *e)
{
    kni_ir_builder *b = e->b;
    const kni_work *w = e->w;
    for (int i = 0; i < w->n_buffers; i++) {
        const kni_work_buffer *buffer = &w->buffers[i];
        char name[8] = {buffer->access & KNI_IR_WRITE ? 'y' : 'x', (char)('0' + i / 10), (char)('0' + i % 10),
                        0};
        uint32_t n = kni_ir_buffer(b, name, buffer->dtype, buffer->access);
        if (i == 0) e->first_buffer = n;
        if (b->status == KN_OK) b->ir->bindings[n].aligned = buffer->aligned;
    }
}

void kni_emit_numbers(kni_emit *e)
{
    kni_ir_builder *b = e->b;
    const kni_work *w = e->w;
    e->first_number = b->status == KN_OK ? b->ir->n_params : 0;
    for (int i = 1; i < w->n_numbers; i++) {
        char name[8] = {'n', (char)('0' + i / 100), (char)('0' + i / 10 % 10), (char)('0' + i % 10), 0};
        kni_ir_param_add(b, name, w->numbers[i].dtype ? w->numbers[i].dtype : w->index, 0);
    }
}

bool kni_emit_begin(kni_emit *e, kni_ir_builder *b, const kni_work *w)
{
    if (!kni_emit_start(e, b, w)) return false;
    kni_emit_buffers(e);
    kni_ir_add_item_params(b);
    kni_emit_numbers(e);
    return true;
}

void kni_emit_end(kni_emit *e)
{
    if (e->memo) kni_free(e->memo, e->memo_size * sizeof *e->memo);
    if (e->log) kni_free(e->log, e->memo_size * sizeof *e->log);
}

static uint32_t place_of(const kni_emit *e, uint16_t node, uint32_t lane)
{
    uint8_t level = e->w->nodes[node].level;
    uint32_t chunk = level & e->w->chunk_axis ? e->chunk : 0;
    return (node * e->w->chunks + chunk) * e->room + (level & e->w->lane_axis ? lane : 0);
}

kni_emit_mark kni_emit_mark_here(const kni_emit *e) { return (kni_emit_mark){e->n_log, e->n_derived}; }

void kni_emit_release(kni_emit *e, kni_emit_mark mark)
{
    while (e->n_log > mark.n_log) e->memo[e->log[--e->n_log]] = 0;
    e->n_derived = mark.n_derived;
}

void kni_emit_set(kni_emit *e, uint16_t node, uint32_t lane, kni_ir_id value)
{
    uint32_t at = place_of(e, node, lane);
    if (!e->memo[at] && e->n_log < e->memo_size) e->log[e->n_log++] = at;
    e->memo[at] = value;
}

static kni_ir_id remembered(const kni_emit *e, int op, kni_ir_id x, uint32_t y)
{
    for (uint32_t i = e->n_derived; i-- > 0;) {
        const kni_emit_derived *d = &e->derived[i];
        if (d->x == x && d->y == y && d->op == op) return d->result;
    }
    return 0;
}

static kni_ir_id remember(kni_emit *e, int op, kni_ir_id x, uint32_t y, kni_ir_id result)
{
    if (e->n_derived < KNI_EMIT_DERIVED)
        e->derived[e->n_derived++] = (kni_emit_derived){(uint8_t)op, x, y, result};
    return result;
}

/* ---- indices */

kni_ir_id kni_emit_number(kni_emit *e, uint16_t number)
{
    kni_ir_id found = remembered(e, NUMBER, 0, number);
    if (found) return found;
    return remember(e, NUMBER, 0, number, kni_ir_param_value(e->b, e->first_number + number - 1u));
}

kni_ir_id kni_emit_index(kni_emit *e, int64_t value) { return kni_ir_whole(e->b, e->w->index, value); }

static kni_ir_id add_lane(kni_emit *e, kni_ir_id x, uint32_t lane)
{
    if (!lane) return x;
    kni_ir_id found = remembered(e, ADD_LANE, x, lane);
    if (found) return found;
    return remember(e, ADD_LANE, x, lane, kni_ir_word(e->b, "add", x, kni_emit_index(e, lane)));
}

static kni_ir_id times(kni_emit *e, kni_ir_id x, uint16_t number)
{
    kni_ir_id found = remembered(e, MULTIPLY, x, number);
    if (found) return found;
    return remember(e, MULTIPLY, x, number, kni_ir_word(e->b, "mul", x, kni_emit_number(e, number)));
}

/* Indices are never negative where they are divided. */
static kni_ir_id quotient(kni_emit *e, kni_ir_id x, uint16_t number)
{
    kni_ir_id found = remembered(e, QUOTIENT, x, number);
    if (found) return found;
    int as = e->w->index == KN_I32 ? KN_U32 : KN_U64;
    kni_ir_id q =
        kni_ir_word(e->b, "div", kni_ir_cast(e->b, x, as), kni_ir_cast(e->b, kni_emit_number(e, number), as));
    return remember(e, QUOTIENT, x, number, kni_ir_cast(e->b, q, e->w->index));
}

static kni_ir_id remainder_of(kni_emit *e, kni_ir_id x, uint16_t number)
{
    kni_ir_id found = remembered(e, REMAINDER, x, number);
    if (found) return found;
    kni_ir_id whole = times(e, quotient(e, x, number), number);
    return remember(e, REMAINDER, x, number, kni_ir_word(e->b, "sub", x, whole));
}

static kni_ir_id add(kni_emit *e, kni_ir_id sum, kni_ir_id x)
{
    return sum ? kni_ir_word(e->b, "add", sum, x) : x;
}

static kni_ir_id part_offset(kni_emit *e, const kni_work_part *part, kni_ir_id x, kni_ir_id sum)
{
    for (int a = part->rank - 1; a >= 0; a--) {
        int64_t stride = part->strides[a];
        if (stride) {
            kni_ir_id at = a > 0 ? remainder_of(e, x, part->dim_numbers[a]) : x;
            sum = add(e, sum, stride == 1 ? at : times(e, at, part->stride_numbers[a]));
        }
        if (a > 0) x = quotient(e, x, part->dim_numbers[a]);
    }
    return sum;
}

static kni_ir_id base_index(kni_emit *e, uint8_t axis, uint32_t lane)
{
    uint32_t chunk = e->w->chunk_axis == axis ? e->chunk : 0;
    kni_ir_id base = axis == KNI_WORK_R ? e->r[chunk] : e->k[chunk];
    return e->w->lane_axis == axis ? add_lane(e, base, lane) : base;
}

/* The element that an access reaches. */
static kni_ir_id address(kni_emit *e, const kni_work_access *access, uint32_t lane)
{
    const kni_work_part *r_part = &access->parts[0], *k_part = &access->parts[1];
    kni_ir_id sum = 0;
    if (r_part->rank) {
        kni_ir_id x = r_part->node ? kni_emit_value(e, r_part->node, lane) : base_index(e, KNI_WORK_R, lane);
        sum = part_offset(e, r_part, x, 0);
    }
    if (k_part->rank) sum = part_offset(e, k_part, base_index(e, KNI_WORK_K, lane), sum);
    if (access->offset_number) sum = add(e, sum, kni_emit_number(e, access->offset_number));
    return sum ? sum : kni_emit_index(e, 0);
}

/* The element of one lane, by way of lane 0 where the lanes lie regularly. */
static kni_ir_id lane_address(kni_emit *e, const kni_work_access *access, uint32_t lane)
{
    if (access->mode == KNI_WORK_APART) return address(e, access, lane);
    kni_ir_id first = address(e, access, 0);
    if (access->mode == KNI_WORK_SAME || !lane) return first;
    const kni_work_part *part = &access->parts[e->w->lane_axis == KNI_WORK_K];
    uint16_t number = part->stride_numbers[part->rank - 1];
    if (!number) return add_lane(e, first, lane);
    kni_ir_id step = kni_ir_word(e->b, "mul", kni_emit_number(e, number), kni_emit_index(e, lane));
    return kni_ir_word(e->b, "add", first, step);
}

/* ---- loads and stores */

static kni_ir_id guard(const kni_emit *e, uint8_t level)
{
    return level & e->w->chunk_axis ? e->valid[e->chunk] : 0;
}

static kni_ir_id load_by(kni_emit *e, const kni_work_access *access, uint16_t node, uint32_t lane)
{
    const kni_work_node *n = &e->w->nodes[node];
    uint32_t binding = e->first_buffer + (uint32_t)access->buffer;
    kni_ir_id valid = guard(e, access->level);
    if (access->mode != KNI_WORK_VECTOR) {
        kni_ir_id at = lane_address(e, access, lane);
        kni_ir_id value = kni_ir_load_where(e->b, binding, at, n->dtype, 1, valid, 0);
        for (uint32_t i = 0; access->mode == KNI_WORK_SAME && i < e->lanes; i++)
            kni_emit_set(e, node, i, value);
        return value;
    }
    kni_ir_id at = address(e, access, 0);
    kni_ir_id vector = kni_ir_load_where(e->b, binding, at, n->dtype, (int)e->lanes, valid, 0);
    for (uint32_t i = 0; i < e->lanes; i++) kni_emit_set(e, node, i, kni_ir_lane(e->b, vector, (int)i));
    return e->memo[place_of(e, node, lane)];
}

static kni_ir_id load(kni_emit *e, uint16_t node, uint32_t lane)
{
    return load_by(e, &e->w->accesses[e->w->nodes[node].extra], node, lane);
}

void kni_emit_reload(kni_emit *e, const kni_work_output *output)
{
    const kni_work_access *access = &e->w->accesses[output->access];
    for (uint32_t i = 0; i < e->lanes; i++)
        if (!e->memo[place_of(e, output->reread, i)])
            kni_emit_set(e, output->reread, i, load_by(e, access, output->reread, i));
}

void kni_emit_store(kni_emit *e, const kni_work_output *output, kni_ir_id condition)
{
    const kni_work_access *access = &e->w->accesses[output->access];
    uint32_t binding = e->first_buffer + (uint32_t)access->buffer;
    kni_ir_id values[KNI_EMIT_LANES];
    uint32_t lanes = output->level & e->w->lane_axis ? e->lanes : 1;
    for (uint32_t i = 0; i < lanes; i++) values[i] = kni_emit_value(e, output->node, i);
    if (lanes > 1 && access->mode == KNI_WORK_VECTOR) {
        kni_ir_id vector = kni_ir_pack(e->b, values, (int)lanes);
        kni_ir_store_where(e->b, binding, address(e, access, 0), vector, condition);
        return;
    }
    for (uint32_t i = 0; i < lanes; i++)
        kni_ir_store_where(e->b, binding, lane_address(e, access, i), values[i], condition);
}

void kni_emit_store_value(kni_emit *e, const kni_work_output *output, kni_ir_id value, kni_ir_id condition)
{
    const kni_work_access *access = &e->w->accesses[output->access];
    kni_ir_store_where(e->b, e->first_buffer + (uint32_t)access->buffer, address(e, access, 0), value,
                       condition);
}

void kni_emit_loads(kni_emit *e, uint8_t level)
{
    for (uint16_t n = 1; n < e->w->n_nodes; n++)
        if (e->w->nodes[n].kind == KNI_WORK_INPUT && (e->w->nodes[n].level & level) == level &&
            !e->left_out[n])
            for (uint32_t i = 0; i < e->lanes; i++) kni_emit_value(e, n, i);
}

void kni_emit_hoist(kni_emit *e, uint8_t axis, uint8_t stage)
{
    for (uint16_t n = 1; n < e->w->n_nodes; n++) {
        const kni_work_node *node = &e->w->nodes[n];
        if (node->level & axis || node->stage > stage || node->kind == KNI_WORK_REPORT) continue;
        if (node->kind == KNI_WORK_REDUCE && !e->memo[place_of(e, n, 0)]) continue;
        for (uint32_t i = 0; i < (node->level & e->w->lane_axis ? e->lanes : 1); i++) kni_emit_value(e, n, i);
    }
}

/* ---- values */

/* The element's number in its tensor, as philox counts. Lanes that begin at a multiple of four words share blocks. */
static kni_ir_id philox(kni_emit *e, const kni_work_node *n, uint32_t lane)
{
    const kni_work_node *index = &e->w->nodes[n->c];
    const kni_work *w = e->w;
    bool straight = index->op == 0 && index->level == w->lane_axis;
    if (index->op == 1 && w->nodes[index->a].kind == KNI_WORK_PLACE)
        straight = w->accesses[w->nodes[index->a].extra].mode == KNI_WORK_VECTOR;
    kni_ir_id key = kni_emit_value(e, n->a, lane), counter = kni_emit_value(e, n->b, lane), block, word;
    if (straight && e->lanes * n->op % 4 == 0) {
        uint32_t place = lane * n->op + n->extra;
        block = kni_emit_value(e, n->c, 0);
        if (n->op < 4)
            block = kni_ir_word(e->b, "shr", block, kni_ir_whole(e->b, KN_I64, n->op == 1 ? 2 : 1));
        block = kni_ir_word(e->b, "add", block, kni_ir_whole(e->b, KN_I64, place / 4));
        word = kni_ir_whole(e->b, KN_I64, place % 4);
    } else {
        kni_ir_id place = kni_emit_value(e, n->c, lane);
        place = kni_ir_word(e->b, "mul", place, kni_ir_whole(e->b, KN_I64, n->op));
        place = kni_ir_word(e->b, "add", place, kni_ir_whole(e->b, KN_I64, n->extra));
        block = kni_ir_word(e->b, "shr", place, kni_ir_whole(e->b, KN_I64, 2));
        word = kni_ir_word(e->b, "and", place, kni_ir_whole(e->b, KN_I64, 3));
    }
    return kni_ir_philox(e->b, key, kni_ir_word(e->b, "add", counter, block), word);
}

static kni_ir_id convert(kni_emit *e, const kni_work_node *n, uint32_t lane)
{
    kni_ir_id x = kni_emit_value(e, n->a, lane);
    bool half = kni_is_half(n->to);
    bool wide = kni_dtypes[n->from].bits >= 32 && n->from != KN_F32;
    if (half && wide && e->w->target->caps->f64)
        return kni_ir_cast(e->b, kni_ir_round_to(e->b, kni_ir_cast(e->b, x, KN_F64), n->to), KN_F32);
    x = kni_ir_cast(e->b, x, n->dtype);
    return n->to == n->dtype ? x : kni_ir_round_to(e->b, x, n->to);
}

static kni_ir_id index_value(kni_emit *e, const kni_work_node *n, uint32_t lane)
{
    kni_ir_id x = n->op == 1 ? kni_emit_value(e, n->a, lane) : n->level ? base_index(e, n->level, lane) : 0;
    return kni_ir_cast(e->b, x ? x : kni_emit_index(e, 0), n->dtype);
}

static kni_ir_id report(kni_emit *e, const kni_work_node *n, uint32_t lane)
{
    kni_ir_id value = kni_emit_value(e, n->a, lane), told = kni_emit_value(e, n->b, lane);
    kni_ir_if(e->b, kni_emit_value(e, n->c, lane));
    kni_ir_report(e->b, told);
    kni_ir_end(e->b);
    return value;
}

static kni_ir_id compute(kni_emit *e, uint16_t node, uint32_t lane)
{
    const kni_work_node *n = &e->w->nodes[node];
#define OPERAND(x) kni_emit_value(e, n->x, lane)
    switch (n->kind) {
    case KNI_WORK_NUMBER:
        return kni_emit_number(e, n->extra);
    case KNI_WORK_CONSTANT:
        return kni_is_float(n->dtype) ? kni_ir_real(e->b, n->dtype, n->value)
                                      : kni_ir_whole(e->b, n->dtype, (int64_t)n->value);
    case KNI_WORK_INPUT:
        return load(e, node, lane);
    case KNI_WORK_BODY:
        return kni_emit_body(e, n, lane);
    case KNI_WORK_WORD:
        return kni_ir_word_at(e->b, n->op, OPERAND(a), n->b ? OPERAND(b) : 0);
    case KNI_WORK_POWER:
        return kni_emit_power(e, OPERAND(a), n->dtype, n->op);
    case KNI_WORK_AND:
        return kni_ir_and(e->b, OPERAND(a), OPERAND(b));
    case KNI_WORK_OR:
        return kni_ir_or(e->b, OPERAND(a), OPERAND(b));
    case KNI_WORK_NOT:
        return kni_ir_not(e->b, OPERAND(a));
    case KNI_WORK_SELECT:
        return kni_ir_select(e->b, OPERAND(a), OPERAND(b), OPERAND(c));
    case KNI_WORK_CONVERT:
        return convert(e, n, lane);
    case KNI_WORK_PLACE:
        return lane_address(e, &e->w->accesses[n->extra], lane);
    case KNI_WORK_AT:
        return kni_ir_cast(e->b, OPERAND(a), e->w->index);
    case KNI_WORK_INDEX:
        return index_value(e, n, lane);
    case KNI_WORK_PHILOX:
        return philox(e, n, lane);
    case KNI_WORK_REPORT:
        return report(e, n, lane);
    default:
        kni_ir_fail(e->b, "a value is used before it is computed");
        return 0;
    }
#undef OPERAND
}

kni_ir_id kni_emit_value(kni_emit *e, uint16_t node, uint32_t lane)
{
    kni_ir_id found = e->memo[place_of(e, node, lane)];
    if (found) return found;
    kni_ir_id value = compute(e, node, lane);
    kni_emit_set(e, node, lane, value);
    return value;
}
