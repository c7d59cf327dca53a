/* Cumulative rows along an axis, products of floats one element after the other: parts of them overflow by themselves,
   and 0 times that would be NaN. Where the axis lies side by side a workgroup takes a row, chunk after chunk, with what
   came before carried over; else each invocation walks down a row of its own, its neighbours beside it. */
#include "ops/scan_attributes.h"
#include "sched/schedules.h"
#include "sched/work_rows.h"

enum { ALONG, DOWN };

static bool is_extreme(int combine) { return combine == KNI_COMBINE_LARGEST || combine == KNI_COMBINE_LEAST; }

static int combine_of(const kni_group *group) { return group->records[0]->row->combine; }

bool kni_sched_scans(const kni_group *group)
{
    int combine = group->n_records == 1 ? combine_of(group) : KNI_COMBINE_NONE;
    return combine != KNI_COMBINE_NONE && combine != KNI_COMBINE_LOG_SUM;
}

static bool is_real(const kni_group *group)
{
    return kni_is_float(kni_out(group->records[0], 0)->type.dtype);
}

static bool along(const kni_work *w)
{
    const kni_work_access *x = &w->accesses[0];
    const kni_work_part *part = &x->parts[1];
    return part->rank == 1 && part->strides[0] == 1 && w->rows < 4096 && w->width >= 64;
}

/* Lines so long that a device has a better way (gpu_scan.c), unless one invocation for each keeps it busy, side by side. */
static bool too_long(const kni_work *w, int combine)
{
    const kni_work_part *part = &w->accesses[0].parts[1];
    bool dense = part->rank == 1 && part->strides[0] == 1;
    return (combine == KNI_COMBINE_SUM || is_extreme(combine)) && w->width >= 512 &&
           (dense || w->rows < 8192);
}

/* The operands and results of the record, at every place of its rows. */
static bool take_apart(kni_work *w)
{
    const kn_record *r = w->group->records[0];
    const kni_scan_attributes *a = r->attributes;
    const kni_type *x = &kni_in(r, 0)->type;
    uint32_t reduced = x->rank ? 1u << a->axis : 0;
    int64_t strides[KN_MAX_RANK];
    w->reduces = true;
    w->outputs[0] = w->outputs[1] = (kni_work_output){0};
    for (int i = 0; i < x->rank; i++) *(reduced >> i & 1 ? &w->width : &w->rows) *= x->dims[i];
    uint16_t frame = kni_work_row_frame(w, x, reduced);
    int dtype = kni_out(r, 0)->type.dtype, compute = kni_work_dtype(dtype);
    if (kni_is_bool(compute)) compute = KN_I32;
    if (r->row->sums == KNI_SUMS_WIDE && kni_is_float(compute) && w->target->caps->f64) compute = KN_F64;
    for (int i = 0; i < r->n_in && !w->failed; i++) {
        uint16_t v = kni_work_operand(w, kni_work_in(r, i), frame, 0, compute);
        if (!w->failed) w->outputs[i].node = v;
    }
    for (int k = 0; k < r->n_out && !w->failed; k++) {
        const kni_type *y = &kni_out(r, k)->type;
        kni_order_strides(kni_out(r, k)->order, y->rank, y->dims, strides);
        int buffer = kni_work_buffer_add(w, r->ids[k], y->dtype, KNI_IR_WRITE, 0);
        w->outputs[k].access = kni_work_access_add(w, frame, buffer, strides);
        w->outputs[k].level = KNI_WORK_R | KNI_WORK_K;
    }
    w->n_outputs = r->n_out > r->n_in ? r->n_out : r->n_in;
    if (w->rows > w->largest) w->largest = w->rows;
    if (w->width > w->largest) w->largest = w->width;
    w->index = w->largest < (INT64_C(1) << 31) - (1 << 20) ? KN_I32 : KN_I64;
    return !w->failed;
}

kn_status kni_sched_scan(kni_work *w, const kni_group *group, const kni_sched_target *target,
                         kni_sched *sched)
{
    const kni_scan_attributes *a = group->records[0]->attributes;
    int combine = combine_of(group);
    if (kni_count(kni_work_type(group->records[0]->ids[0])) == 0) return KN_OK;
    if (!kni_work_start(w, group, target) || !take_apart(w)) return KN_ERROR_UNSUPPORTED;
    w->lane_axis = w->chunk_axis = KNI_WORK_K;
    w->lanes = w->chunks = w->teams = w->parts = 1;
    bool c = target->caps->dialect == KNI_IR_C;
    if (!c && too_long(w, combine)) return KN_ERROR_UNSUPPORTED;
    bool in_parts = combine == KNI_COMBINE_SUM || (combine == KNI_COMBINE_PRODUCT && !is_real(group));
    w->form = !c && along(w) && in_parts ? ALONG : DOWN;
    w->threads = c ? 1 : kni_sched_threads(w, w->form == ALONG ? 256 : 64);
    w->rows_number = kni_work_number_add(w, 0, &w->rows, KN_I64);
    w->width_number = kni_work_number_add(w, 0, &w->width, KN_I64);
    if (w->failed) return KN_ERROR_UNSUPPORTED;
    kni_work_set_modes(w);
    /* What is combined and in which direction is part of the text; the teams of the signature are free to hold it. */
    w->teams = (uint32_t)combine << 2 | (uint32_t)(a->reverse != 0) << 1 | (uint32_t)(a->exclusive != 0);
    kni_sched_kernel *k = kni_sched_add_kernel(sched, w, KNI_SCHED_SCAN, w->rows);
    int64_t groups = w->form == ALONG ? w->rows : (w->rows + w->threads - 1) / w->threads;
    if (!k || groups > INT32_MAX) return KN_ERROR_UNSUPPORTED;
    k->shape.groups[0] = (uint32_t)groups;
    return KN_OK;
}

/* ---- kernels */

typedef struct scan {
    kni_emit e;
    kni_ir_builder *b;
    const kni_work *w;
    const kni_scan_attributes *a;
    int combine, dtype;
    kni_ir_id width, inside;
} scan;

static bool multiplies(const scan *s) { return s->combine == KNI_COMBINE_PRODUCT; }

static const char *word_of(const scan *s) { return multiplies(s) ? "mul" : "add"; }

static kni_ir_id number(scan *s, int value)
{
    return kni_is_float(s->dtype) ? kni_ir_real(s->b, s->dtype, value) : kni_ir_whole(s->b, s->dtype, value);
}

/* The place of step k: from the end where the scan goes backwards. */
static kni_ir_id place(scan *s, kni_ir_id k)
{
    if (!s->a->reverse || is_extreme(s->combine)) return k;
    kni_ir_id last = kni_ir_word(s->b, "sub", s->width, kni_emit_index(&s->e, 1));
    return kni_ir_word(s->b, "sub", last, k);
}

static void store(scan *s, int result, kni_ir_id value, kni_ir_id where)
{
    kni_emit_store_value(&s->e, &s->w->outputs[result], value, where);
}

/* One row for a workgroup: chunks of as many places as it has invocations. */
static void emit_along(scan *s)
{
    kni_ir_builder *b = s->b;
    kni_emit *e = &s->e;
    int combine = multiplies(s) ? KNI_IR_MULTIPLY : KNI_IR_ADD;
    kni_ir_id local = kni_ir_builtin_value(b, KNI_IR_LOCAL, 0, s->w->index);
    kni_ir_id neutral = number(s, multiplies(s));
    e->r[0] = kni_ir_builtin_value(b, KNI_IR_GROUP, 0, s->w->index);
    kni_ir_id carry = kni_ir_variable(b, s->dtype, 1, neutral);
    uint32_t last = kni_ir_array(b, "last", s->dtype, KNI_IR_SHARED, 1);
    uint32_t before = s->a->exclusive ? kni_ir_array(b, "before", s->dtype, KNI_IR_SHARED, s->w->threads) : 0;
    kni_emit_mark mark = kni_emit_mark_here(e);
    kni_ir_id first = kni_ir_for(b, kni_emit_index(e, 0), s->width, kni_emit_index(e, s->w->threads));
    kni_ir_id k = kni_ir_word(b, "add", first, local);
    e->k[0] = place(s, k);
    e->valid[0] = kni_ir_word(b, "lt", k, s->width);
    kni_ir_id x = kni_ir_select(b, e->valid[0], kni_emit_value(e, s->w->outputs[0].node, 0), neutral);
    kni_ir_id sum = kni_ir_scan(b, combine, x), old = kni_ir_get(b, carry);
    kni_ir_id total = kni_ir_word(b, word_of(s), old, sum), y = total;
    kni_ir_id end = kni_ir_word(b, "eq", local, kni_emit_index(e, s->w->threads - 1));
    kni_ir_if(b, end);
    kni_ir_store(b, last, kni_ir_whole(b, KN_I32, 0), total);
    kni_ir_end(b);
    if (s->a->exclusive) kni_ir_store(b, before, local, total);
    kni_ir_barrier(b);
    if (s->a->exclusive) {
        kni_ir_id zero = kni_emit_index(e, 0), is_first = kni_ir_word(b, "eq", local, zero);
        kni_ir_id at = kni_ir_select(b, is_first, zero, kni_ir_word(b, "sub", local, kni_emit_index(e, 1)));
        y = kni_ir_select(b, is_first, old, kni_ir_load(b, before, at, s->dtype, 1));
    }
    kni_ir_set(b, carry, kni_ir_load(b, last, kni_ir_whole(b, KN_I32, 0), s->dtype, 1));
    store(s, 0, y, e->valid[0]);
    kni_ir_barrier(b);
    kni_ir_end(b);
    kni_emit_release(e, mark);
}

/* The step of an extreme: the latest of equal ones has the place; once NaN came, the latest NaN. */
static void step_extreme(scan *s, kni_ir_id best, kni_ir_id at, kni_ir_id x, kni_ir_id k)
{
    kni_ir_builder *b = s->b;
    kni_ir_id old = kni_ir_get(b, best);
    kni_ir_id wins = kni_ir_word(b, s->combine == KNI_COMBINE_LARGEST ? "ge" : "le", x, old);
    wins = kni_ir_or(b, wins, kni_ir_word(b, "eq", k, kni_emit_index(&s->e, 0)));
    if (kni_is_float(s->dtype)) wins = kni_ir_or(b, wins, kni_ir_word(b, "isnan", x, 0));
    kni_ir_set(b, best, kni_ir_select(b, wins, x, old));
    kni_ir_set(b, at, kni_ir_select(b, wins, kni_ir_cast(b, k, KN_I64), kni_ir_get(b, at)));
    store(s, 0, kni_ir_get(b, best), s->inside);
    store(s, 1, kni_ir_get(b, at), s->inside);
}

static void step_total(scan *s, kni_ir_id total, kni_ir_id x)
{
    kni_ir_builder *b = s->b;
    kni_ir_id old = kni_ir_get(b, total), sum = kni_ir_word(b, word_of(s), old, x);
    kni_ir_set(b, total, sum);
    store(s, 0, s->a->exclusive ? old : sum, s->inside);
}

/* h = a h + b, and b at the first place */
static void step_linear(scan *s, kni_ir_id total, kni_ir_id x, kni_ir_id k)
{
    kni_ir_builder *b = s->b;
    kni_ir_id more = kni_emit_value(&s->e, s->w->outputs[1].node, 0);
    kni_ir_id h = kni_ir_word(b, "add", kni_ir_word(b, "mul", x, kni_ir_get(b, total)), more);
    h = kni_ir_select(b, kni_ir_word(b, "eq", k, kni_emit_index(&s->e, 0)), more, h);
    kni_ir_set(b, total, h);
    store(s, 0, h, s->inside);
}

/* One row for each invocation. */
static void emit_down(scan *s)
{
    kni_ir_builder *b = s->b;
    kni_emit *e = &s->e;
    kni_ir_id group = kni_ir_builtin_value(b, KNI_IR_GROUP, 0, s->w->index);
    kni_ir_id row = group;
    if (s->w->threads > 1) {
        kni_ir_id rows = kni_emit_number(e, s->w->rows_number);
        row = kni_ir_word(b, "mul", group, kni_emit_index(e, s->w->threads));
        row = kni_ir_word(b, "add", row, kni_ir_builtin_value(b, KNI_IR_LOCAL, 0, s->w->index));
        s->inside = kni_ir_word(b, "lt", row, rows);
        row = kni_ir_word(b, "min", row, kni_ir_word(b, "sub", rows, kni_emit_index(e, 1)));
    }
    e->r[0] = row;
    kni_ir_id total = kni_ir_variable(b, s->dtype, 1, number(s, multiplies(s)));
    kni_ir_id at = kni_ir_variable(b, KN_I64, 1, kni_ir_whole(b, KN_I64, 0));
    kni_emit_mark mark = kni_emit_mark_here(e);
    kni_ir_id k = kni_ir_for(b, kni_emit_index(e, 0), s->width, kni_emit_index(e, 1));
    e->k[0] = place(s, k);
    kni_ir_id x = kni_emit_value(e, s->w->outputs[0].node, 0);
    if (is_extreme(s->combine))
        step_extreme(s, total, at, x, k);
    else if (s->combine == KNI_COMBINE_LINEAR)
        step_linear(s, total, x, k);
    else
        step_total(s, total, x);
    kni_ir_end(b);
    kni_emit_release(e, mark);
}

kni_ir *kni_sched_scan_ir(const kni_work *w)
{
    char name[48];
    scan s = {.w = w, .a = w->group->records[0]->attributes, .combine = combine_of(w->group)};
    kni_sched_name(w, "scan", name);
    kni_ir_builder b = kni_ir_begin(name, w->threads);
    s.b = &b;
    s.dtype = w->nodes[w->outputs[0].node].dtype;
    bool good = kni_emit_begin(&s.e, &b, w);
    if (good && b.status == KN_OK) {
        s.width = kni_emit_number(&s.e, w->width_number);
        (w->form == ALONG ? emit_along : emit_down)(&s);
    }
    kni_emit_end(&s.e);
    if (!good) b.status = kni_fail(KN_ERROR_MEMORY, "no memory to build a kernel");
    return kni_ir_finish(&b);
}
