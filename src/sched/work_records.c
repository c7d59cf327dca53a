/* Records become nodes: elementwise rows, casts and views, asked for from the results back. */
#include "sched/work.h"
#include <string.h>

typedef struct cast_attributes {
    int64_t dtype;
} cast_attributes;

const kni_type *kni_work_type(uint32_t id) { return &kni_slot(id)->type; }

/* ---- the table of tensors */

static kni_work_tensor *find(kni_work *w, uint32_t id)
{
    uint32_t at = id * 2654435761u >> 23;
    while (w->tensors[at].id != id && w->tensors[at].id != KNI_NO_SLOT) at = (at + 1) % KNI_WORK_TENSORS;
    return &w->tensors[at];
}

static kni_work_tensor *find_or_outside(kni_work *w, uint32_t id)
{
    kni_work_tensor *t = find(w, id);
    if (t->id == id) return t;
    if (++w->n_tensors > KNI_WORK_TENSORS / 2) kni_work_fail(w);
    if (!w->failed) *t = (kni_work_tensor){.id = id, .record = -1};
    return t;
}

bool kni_work_start(kni_work *w, const kni_group *group, const kni_sched_target *target)
{
    memset(w, 0, offsetof(kni_work, outputs));
    w->group = group;
    w->target = target;
    w->given = KNI_NO_SLOT;
    w->rows = w->width = 1;
    w->n_nodes = w->n_numbers = 1;
    memset(&w->nodes[0], 0, sizeof w->nodes[0]);
    for (int i = 0; i < KNI_WORK_TENSORS; i++) w->tensors[i].id = KNI_NO_SLOT;
    for (int i = 0; i < group->n_records; i++) {
        const kn_record *r = group->records[i];
        for (int k = 0; k < r->n_out; k++) {
            kni_work_tensor *t = find_or_outside(w, r->ids[k]);
            if (w->failed) return false;
            t->record = (int16_t)i;
            t->result = (uint16_t)k;
        }
    }
    return true;
}

int kni_work_most_buffers(const kni_work *w)
{
    uint32_t most = w->target->caps->max_buffers;
    return most && most < KNI_SCHED_MAX_BUFFERS ? (int)most : KNI_SCHED_MAX_BUFFERS;
}

int kni_work_buffer_add(kni_work *w, uint32_t id, int dtype, int access, int64_t offset)
{
    for (int i = 0; i < w->n_buffers; i++) {
        const kni_work_buffer *b = &w->buffers[i];
        if (b->id == id && b->dtype == dtype && b->offset == offset && b->access == access) return i;
    }
    if (w->failed || w->n_buffers >= kni_work_most_buffers(w)) return kni_work_fail(w);
    w->buffers[w->n_buffers] = (kni_work_buffer){id, (uint8_t)dtype, (uint8_t)access, 1, offset};
    return w->n_buffers++;
}

/* ---- tensors from outside, and views of them */

typedef struct layout {
    kni_tensor *root; /* whose memory it is */
    uint32_t id;
    int64_t offset, strides[KN_MAX_RANK];
} layout;

/* Where a tensor lies in memory from outside; false: the group computes it, or a view copies. */
static bool lies(kni_work *w, uint32_t id, layout *l)
{
    kni_work_tensor *t = find_or_outside(w, id);
    if (w->failed || id == w->given) return false;
    if (t->record < 0) {
        l->root = kni_slot(id);
        l->id = id;
        l->offset = l->root->offset;
        memcpy(l->strides, l->root->strides, sizeof l->strides);
        return l->root->storage != NULL;
    }
    const kn_record *r = w->group->records[t->record];
    layout from;
    if (!r->row->view || !lies(w, r->ids[r->n_out], &from)) return false;
    kni_view v = {r->attributes,
                  kni_work_type(r->ids[r->n_out]),
                  kni_work_type(id),
                  from.strides,
                  from.offset,
                  l->strides,
                  0};
    if (!r->row->view(&v)) return false;
    l->root = from.root;
    l->id = from.id;
    l->offset = v.offset;
    return true;
}

/* Strides over the axes of a frame, 0 where the tensor repeats. */
static bool spread_strides(const kni_work_frame *f, const kni_type *t, const int64_t *strides, int64_t *to)
{
    int shift = f->rank - t->rank;
    for (int a = 0; a < f->rank; a++) {
        bool repeats = a < shift || t->dims[a - shift] == 1;
        if (!repeats && t->dims[a - shift] != f->dims[a]) return false;
        to[a] = repeats ? 0 : strides[a - shift];
    }
    return shift >= 0;
}

static uint16_t load_by(kni_work *w, uint16_t frame, int buffer, const int64_t *strides, int dtype)
{
    uint16_t access = w->failed ? 0 : kni_work_access_add(w, frame, buffer, strides);
    if (w->failed) return 0;
    return kni_work_node_add(w, &(kni_work_node){.kind = KNI_WORK_INPUT,
                                                 .dtype = (uint8_t)kni_work_dtype(dtype),
                                                 .level = w->accesses[access].level,
                                                 .extra = access,
                                                 .d = w->frames[frame].node});
}

static uint16_t load(kni_work *w, const layout *l, const kni_type *t, uint16_t frame)
{
    int64_t strides[KN_MAX_RANK];
    if (!spread_strides(&w->frames[frame], t, l->strides, strides)) return kni_work_fail(w);
    return load_by(w, frame, kni_work_buffer_add(w, l->id, t->dtype, KNI_IR_READ, l->offset), strides,
                   t->dtype);
}

uint16_t kni_work_along(kni_work *w, uint32_t id, uint16_t frame, int axis, int compute)
{
    int64_t strides[KN_MAX_RANK] = {0};
    const kni_type *t = kni_work_type(id);
    layout l;
    strides[axis] = 1;
    if (lies(w, id, &l)) {
        strides[axis] = l.strides[0];
        int buffer = kni_work_buffer_add(w, l.id, t->dtype, KNI_IR_READ, l.offset);
        uint16_t n = load_by(w, frame, buffer, strides, t->dtype);
        return kni_work_convert(w, n, t->dtype, compute);
    }
    return kni_work_operand(w, id, kni_work_derive(w, frame, strides, 0, t->dims, 1), 0, compute);
}

/* ---- rows */

/* The dtype that an elementwise row computes its operands in before it is widened, as the CPU chooses it. */
static int common_dtype(const kn_record *r)
{
    const kni_type *types[4];
    if (r->row->rule != KNI_RULE_COMPARE) return kni_out(r, 0)->type.dtype;
    for (int i = 0; i < r->n_in; i++) types[i] = &kni_in(r, i)->type;
    return kni_operand_dtype(r->row, types, 0, r->n_in);
}

static uint16_t body_value(kni_work *w, int record, uint16_t frame)
{
    const kn_record *r = w->group->records[record];
    if (r->n_in > 4) return kni_work_fail(w);
    int common = common_dtype(r), compute = kni_work_dtype(common);
    if (kni_is_bool(compute)) compute = KN_I32;
    bool truth = r->row->rule == KNI_RULE_COMPARE;
    kni_work_node n = {.kind = KNI_WORK_BODY, .extra = (uint16_t)record};
    uint16_t *operands[4] = {&n.a, &n.b, &n.c, &n.d};
    for (int i = 0; i < r->n_in; i++) {
        int strip = r->row->rule == KNI_RULE_SELECT && i == 0 ? KN_BOOL : compute;
        int via = kni_rounds_to(&kni_in(r, i)->type, common, strip);
        *operands[i] = kni_work_operand(w, r->ids[r->n_out + i], frame, via, strip);
    }
    n.dtype = (uint8_t)(truth ? KN_BOOL : compute);
    n.from = (uint8_t)compute;
    n.first = w->n_numbers;
    const double *numbers = r->attributes;
    for (int i = 0; i < 4 && r->row->schema && r->row->schema[i].name; i++)
        kni_work_number_add(w, compute, &numbers[i], KN_F64);
    uint16_t raw = kni_work_node_add(w, &n);
    return kni_work_convert(w, raw, truth ? KN_BOOL : compute, kni_out(r, 0)->type.dtype);
}

/* The operand of a view that the group computes, at the place that the view shows. */
static uint16_t view_value(kni_work *w, const kn_record *r, uint16_t frame)
{
    const kni_type *x = &kni_in(r, 0)->type, *y = &kni_out(r, 0)->type;
    int64_t from[KN_MAX_RANK], strides[KN_MAX_RANK];
    const uint8_t order = kni_in(r, 0)->order; /* the queue's views count elements as they will lie */
    kni_order_strides(order, x->rank, x->dims, from);
    kni_view v = {r->attributes, x, y, from, 0, strides, 0};
    if (x->dtype != y->dtype || !r->row->view(&v)) return kni_work_fail(w);
    return kni_work_value(w, r->ids[r->n_out],
                          kni_work_derive_in(w, frame, strides, v.offset, x->dims, x->rank, order));
}

static uint16_t record_value(kni_work *w, int record, int result, uint16_t frame)
{
    const kn_record *r = w->group->records[record];
    if (r->row->view) return view_value(w, r, frame);
    if (kni_is_pointwise(r->row)) return body_value(w, record, frame);
    if (kni_converts(r->row)) {
        const kni_type *x = &kni_in(r, 0)->type;
        uint16_t v = kni_work_value(w, r->ids[1], frame);
        return kni_work_convert(w, v, x->dtype, kni_out(r, 0)->type.dtype);
    }
    uint16_t n = kni_work_row_value(w, record, result, frame);
    return n ? n : kni_work_fail(w);
}

/* What is given is given in its own order, at r. */
static uint16_t given_value(kni_work *w, int dtype, uint16_t frame)
{
    const kni_work_frame *f = &w->frames[frame];
    if (f->node || f->order != kni_slot(w->given)->order || f->level != KNI_WORK_R ||
        kni_count_dims(f->rank, f->dims) != w->rows)
        return kni_work_fail(w);
    return kni_work_node_add(w, &(kni_work_node){.kind = KNI_WORK_GIVEN,
                                                 .dtype = (uint8_t)kni_work_dtype(dtype),
                                                 .level = KNI_WORK_R});
}

uint16_t kni_work_value(kni_work *w, uint32_t id, uint16_t frame)
{
    kni_tensor *x = kni_slot(id);
    int64_t strides[KN_MAX_RANK], own[KN_MAX_RANK];
    layout l;
    if (w->failed || ++w->depth > 400) return kni_work_fail(w);
    kni_work_tensor *t = find_or_outside(w, id);
    bool outside = !w->failed && lies(w, id, &l);
    if (w->failed) return 0;
    bool given = id == w->given;
    if (!outside && (given || t->record >= 0)) {
        /* The frame of the tensor itself. */
        kni_contiguous_strides(x->type.rank, x->type.dims, own);
        const kni_work_frame *f = &w->frames[frame];
        bool same = f->rank == x->type.rank && !memcmp(f->dims, x->type.dims, f->rank * sizeof *f->dims);
        if (!same && !spread_strides(f, &x->type, own, strides)) return kni_work_fail(w);
        if (!same) frame = kni_work_derive(w, frame, strides, 0, x->type.dims, x->type.rank);
    }
    for (uint16_t n = t->first; n; n = w->nodes[n].chain)
        if (w->nodes[n].frame == frame) {
            w->depth--;
            return n;
        }
    uint16_t n;
    if (outside)
        n = load(w, &l, &x->type, frame);
    else if (given)
        n = given_value(w, x->type.dtype, frame);
    else if (t->record < 0)
        n = kni_work_inline(
            w, kni_is_bool(kni_work_dtype(x->type.dtype)) ? KN_I32 : kni_work_dtype(x->type.dtype),
            x->inline_value.bytes, x->type.dtype);
    else
        n = record_value(w, t->record, t->result, frame);
    w->depth--;
    if (w->failed) return 0;
    if (!outside && !given && t->record < 0 && kni_is_bool(x->type.dtype))
        n = kni_work_convert(w, n, KN_I32, KN_BOOL);
    if (w->failed) return 0;
    /* A node may stand for several tensors (a view of a whole); only the first is remembered. */
    if (!w->nodes[n].chain && !w->nodes[n].held) {
        w->nodes[n].frame = frame;
        w->nodes[n].chain = t->first;
        w->nodes[n].held = 1;
        t->first = n;
    }
    return n;
}

uint16_t kni_work_operand(kni_work *w, uint32_t id, uint16_t frame, int via, int compute)
{
    kni_tensor *x = kni_slot(id);
    int dtype = x->type.dtype;
    if (w->failed) return 0;
    if (!x->storage && id != w->given && find_or_outside(w, id)->record < 0) {
        /* A number: its digits are converted here. Truths have no params of their own. */
        uint64_t rounded = 0;
        int to = kni_is_bool(compute) ? KN_I32 : compute;
        if (via) kni_convert(&rounded, via, 1, x->inline_value.bytes, dtype, 1, 1);
        uint16_t n =
            kni_work_inline(w, to, via ? (const void *)&rounded : x->inline_value.bytes, via ? via : dtype);
        return kni_work_convert(w, n, to, compute);
    }
    uint16_t n = kni_work_value(w, id, frame);
    if (via) {
        n = kni_work_convert(w, n, dtype, via);
        dtype = via;
    }
    return kni_work_convert(w, n, dtype, compute);
}

/* ---- the whole group */

/* The shape that rows and places run over: that of the first reduction. */
static bool find_domain(kni_work *w)
{
    for (int i = 0; i < w->group->n_records; i++) {
        const kni_type *shape;
        uint32_t reduced;
        if (!kni_work_domain(w->group->records[i], &shape, &reduced)) continue;
        w->reduces = true;
        w->rank = shape->rank;
        w->reduced = reduced;
        for (int a = 0; a < shape->rank; a++) {
            w->dims[a] = shape->dims[a];
            *(reduced >> a & 1 ? &w->width : &w->rows) *= shape->dims[a];
        }
        return true;
    }
    return false;
}

/* The order in which elements of the shape are walked: that of the first result that has it, so that results of one shape are
   one walk. Each tensor of many has a walk of its own. */
static uint8_t walking_order(const kni_work *w, uint32_t id, const kni_type *t)
{
    const kni_group *g = w->group;
    if (w->given != KNI_NO_SLOT) return kni_slot(w->given)->order;
    for (int i = 0; i < g->n_outputs && g->kind != KNI_GROUP_MANY; i++)
        if (kni_same_dims(kni_work_type(g->outputs[i]), t)) return kni_slot(g->outputs[i])->order;
    return kni_slot(id)->order;
}

/* The frame in which a result is computed; fails when it is no value for each row, place or both. */
static uint16_t result_frame(kni_work *w, uint32_t id, const kni_type *t)
{
    int64_t count = kni_count(t), strides[KN_MAX_RANK];
    if (!w->reduces) return kni_work_frame_in(w, t->dims, t->rank, walking_order(w, id, t));
    if (count == w->rows) return kni_work_frame_of(w, t->dims, t->rank, KNI_WORK_R, 0);
    if (count == w->rows * w->width) {
        uint16_t all = kni_work_frame_of(w, w->dims, w->rank, KNI_WORK_R | KNI_WORK_K, w->reduced);
        kni_contiguous_strides(w->rank, w->dims, strides);
        uint16_t f = kni_work_derive(w, all, strides, 0, t->dims, t->rank);
        if (!w->failed && !w->frames[f].node) return f;
    } else if (count == w->width) {
        return kni_work_frame_of(w, t->dims, t->rank, KNI_WORK_K, 0);
    }
    return kni_work_fail(w);
}

static void add_output(kni_work *w, uint32_t id)
{
    const kni_type *t = kni_work_type(id);
    int64_t strides[KN_MAX_RANK];
    uint16_t frame = w->failed ? 0 : result_frame(w, id, t);
    uint16_t n = w->failed ? 0 : kni_work_value(w, id, frame);
    if (w->failed) return;
    /* The store rounds by itself. */
    const kni_work_node *v = &w->nodes[n];
    if (v->kind == KNI_WORK_CONVERT && !kni_is_bool(v->to) && w->nodes[v->a].dtype == v->dtype) n = v->a;
    kni_order_strides(kni_slot(id)->order, t->rank, t->dims, strides);
    int buffer = kni_work_buffer_add(w, id, t->dtype, KNI_IR_WRITE, 0);
    uint16_t access = kni_work_access_add(w, frame, buffer, strides);
    if (w->failed) return;
    /* A result whose value is the same everywhere is still written everywhere. */
    w->outputs[w->n_outputs++] = (kni_work_output){.node = n,
                                                   .access = access,
                                                   .level = w->frames[frame].level,
                                                   .stage = w->nodes[n].stage,
                                                   .count = kni_count(t)};
}

void kni_work_record_outputs(kni_work *w, int record)
{
    const kn_record *r = w->group->records[record];
    for (int k = 0; k < r->n_out && !w->failed; k++)
        for (int i = 0; i < w->group->n_outputs; i++)
            if (w->group->outputs[i] == r->ids[k] && kni_count(kni_work_type(r->ids[k])) > 0)
                add_output(w, r->ids[k]);
}

bool kni_work_take_apart(kni_work *w)
{
    const kni_group *g = w->group;
    if (!find_domain(w)) {
        w->rows = 0;
        for (int i = 0; i < g->n_outputs; i++) {
            int64_t count = kni_count(kni_work_type(g->outputs[i]));
            if (count > w->rows) w->rows = count;
        }
    }
    for (int i = 0; i < g->n_outputs && !w->failed; i++)
        if (kni_count(kni_work_type(g->outputs[i])) > 0) add_output(w, g->outputs[i]);
    int64_t most;
    if (__builtin_mul_overflow(w->rows, w->width > 0 ? w->width : 1, &most)) return false;
    if (w->rows > w->largest) w->largest = w->rows;
    if (w->width > w->largest) w->largest = w->width;
    w->index = w->largest < (INT64_C(1) << 31) - (1 << 20) ? KN_I32 : KN_I64;
    return !w->failed;
}
