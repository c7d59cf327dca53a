/* Elementwise groups: each invocation takes a few vectors of consecutive elements, all loads before the first store, so
   that enough bytes are under way. Targets without workgroups of their own (C) run one element at a time. */
#include "ops/body.h"
#include "sched/schedules.h"
#include <string.h>

/* How many loads are under way at once pays up to here. */
enum { LOADS = 8, THREADS = 256, MOST_NODES = 3000 };

static int count_loads(const kni_work *w)
{
    int n = 0;
    for (int i = 1; i < w->n_nodes; i++) n += w->nodes[i].kind == KNI_WORK_INPUT && w->nodes[i].level;
    return n;
}

static void choose(kni_work *w)
{
    const kni_ir_caps *caps = w->target->caps;
    w->lane_axis = w->chunk_axis = KNI_WORK_R;
    w->lanes = w->chunks = w->teams = w->parts = 1;
    w->threads = 0;
    if (caps->dialect == KNI_IR_C) return;
    uint32_t bytes = caps->vector_bytes ? caps->vector_bytes : 16;
    uint32_t most = bytes / (uint32_t)kni_work_smallest_bytes(w, KNI_WORK_R);
    w->lanes = kni_work_choose_lanes(w, KNI_WORK_R, most < 1 ? 1 : most > 8 ? 8 : most);
    w->threads = kni_sched_threads(w, THREADS);
    int loads = count_loads(w);
    int64_t wave = (int64_t)w->threads * w->lanes * 4 * (w->target->processors ? w->target->processors : 1);
    w->chunks = loads <= 1 ? LOADS : loads <= 2 ? LOADS / 2 : loads <= 4 ? 2 : 1;
    if (w->lanes == 1 && w->chunks < LOADS / 2) w->chunks *= 2;
    while (w->chunks > 1 && (w->rows < wave * w->chunks || w->chunks * w->lanes * w->n_nodes > MOST_NODES))
        w->chunks /= 2;
    w->full = w->rows % (w->threads * w->lanes * w->chunks) == 0;
}

/* A result may lie in the memory of an operand that each invocation reads where it writes, and nowhere else. A single element, which
   has no axes, is such an operand where there is nothing else to compute. */
static bool reads_in_order(const kni_work *w, int buffer, int64_t count)
{
    bool single = count == 1 && w->rows == 1;
    for (int i = 0; i < w->n_accesses; i++) {
        const kni_work_access *access = &w->accesses[i];
        const kni_work_part *part = &access->parts[0];
        if (access->buffer != buffer) continue;
        if (single && !part->rank && !part->node && !access->parts[1].rank) continue;
        if (part->rank != 1 || part->node || part->strides[0] != 1 || access->parts[1].rank ||
            part->dims[0] != count)
            return false;
    }
    return true;
}

static bool fits_over(const kni_work *w, int x, int y, int64_t count)
{
    return !(w->buffers[x].access & KNI_IR_WRITE) && !w->buffers[x].offset &&
           kni_dtypes[w->buffers[x].dtype].bits == kni_dtypes[w->buffers[y].dtype].bits &&
           reads_in_order(w, x, count);
}

/* The buffer of the operand whose next value y is, as the state of an update; -1: there is none. */
static int replaced_by(const kni_work *w, int y)
{
    for (int i = 0; i < w->group->n_records; i++) {
        const kn_record *r = w->group->records[i];
        for (int j = 0; j < r->n_out && kni_body_updates(r->row->body); j++) {
            int operand = kni_body_replaces(r->row->body, j);
            if (r->ids[j] != w->buffers[y].id || operand < 0 || operand >= r->n_in) continue;
            for (int x = 0; x < w->n_buffers; x++)
                if (w->buffers[x].id == r->ids[r->n_out + operand]) return x;
        }
    }
    return -1;
}

/* States keep their places from step to step, so that recordings find them there; other results take what is left. */
static void allow_in_place(kni_work *w, uint8_t *in_place)
{
    bool used[KNI_SCHED_MAX_BUFFERS] = {false};
    for (int i = 0; i < w->n_outputs; i++) {
        int y = w->accesses[w->outputs[i].access].buffer, x = replaced_by(w, y);
        if (x < 0) continue;
        used[x] = true;
        if (fits_over(w, x, y, w->outputs[i].count)) in_place[y] = (uint8_t)(x + 1);
    }
    for (int i = 0; i < w->n_outputs; i++) {
        int y = w->accesses[w->outputs[i].access].buffer;
        for (int x = 0; x < w->n_buffers && !in_place[y]; x++) {
            if (used[x] || !fits_over(w, x, y, w->outputs[i].count)) continue;
            used[x] = true;
            in_place[y] = (uint8_t)(x + 1);
        }
    }
    for (int y = 0; y < w->n_buffers; y++)
        if (in_place[y]) {
            w->buffers[y].access |= KNI_IR_ALIASES;
            w->buffers[in_place[y] - 1].access |= KNI_IR_ALIASES;
        }
}

kn_status kni_sched_pointwise(kni_work *w, kni_sched *sched)
{
    uint8_t in_place[KNI_SCHED_MAX_BUFFERS] = {0};
    choose(w);
    for (int i = 0; i < w->n_outputs; i++)
        if (w->outputs[i].count < w->rows)
            w->outputs[i].count_number = kni_work_number_add(w, 0, &w->outputs[i].count, KN_I64);
    if (w->failed) return KN_ERROR_UNSUPPORTED;
    kni_work_set_modes(w);
    allow_in_place(w, in_place);
    kni_sched_kernel *k = kni_sched_add_kernel(sched, w, KNI_SCHED_POINTWISE, w->rows);
    if (!k) return KN_ERROR_UNSUPPORTED;
    memcpy(k->in_place, in_place, sizeof in_place);
    int64_t step = (int64_t)(w->threads ? w->threads : 1) * w->lanes * w->chunks;
    int64_t groups = (w->rows + step - 1) / step;
    if (groups > INT32_MAX && w->threads) return KN_ERROR_UNSUPPORTED;
    k->shape.groups[0] = w->threads ? (uint32_t)groups : 0;
    return KN_OK;
}

/* ---- the kernel */

/* What only results with fewer elements need is not loaded ahead: it does not exist for all. */
static void leave_out(kni_emit *e)
{
    const kni_work *w = e->w;
    bool used[KNI_WORK_NODES] = {false};
    for (int i = 0; i < w->n_outputs; i++)
        if (!w->outputs[i].count_number) used[w->outputs[i].node] = true;
    for (int n = w->n_nodes - 1; n > 0; n--) {
        const kni_work_node *node = &w->nodes[n];
        e->left_out[n] = !used[n];
        if (used[n]) used[node->a] = used[node->b] = used[node->c] = used[node->d] = true;
    }
}

static void store_chunk(kni_emit *e)
{
    const kni_work *w = e->w;
    for (int i = 0; i < w->n_outputs; i++)
        if (!w->outputs[i].count_number) kni_emit_store(e, &w->outputs[i], 0);
    for (int i = 0; i < w->n_outputs; i++) {
        const kni_work_output *y = &w->outputs[i];
        if (!y->count_number) continue;
        kni_ir_id count = kni_emit_number(e, y->count_number);
        kni_emit_mark mark = kni_emit_mark_here(e);
        kni_ir_if(e->b, kni_ir_word(e->b, "lt", e->r[e->chunk], count));
        kni_emit_store(e, y, 0);
        kni_ir_end(e->b);
        kni_emit_release(e, mark);
    }
}

static void whole_chunks(kni_emit *e)
{
    for (e->chunk = 0; e->chunk < e->chunks; e->chunk++) kni_emit_loads(e, KNI_WORK_R);
    for (e->chunk = 0; e->chunk < e->chunks; e->chunk++) store_chunk(e);
    e->chunk = 0;
}

/* The last workgroup: one vector at a time, each only where it is inside. */
static void rest(kni_emit *e, kni_ir_id first, kni_ir_id n)
{
    kni_ir_builder *b = e->b;
    uint32_t step = e->w->threads * e->lanes;
    kni_ir_id end = kni_ir_word(b, "add", first, kni_emit_index(e, (int64_t)step * e->chunks));
    end = kni_ir_word(b, "min", end, n);
    kni_emit_mark mark = kni_emit_mark_here(e);
    e->r[0] = kni_ir_for(b, first, end, kni_emit_index(e, step));
    kni_emit_loads(e, KNI_WORK_R);
    store_chunk(e);
    kni_ir_end(b);
    kni_emit_release(e, mark);
}

static void emit_groups(kni_emit *e)
{
    kni_ir_builder *b = e->b;
    const kni_work *w = e->w;
    int64_t step = (int64_t)w->threads * w->lanes, whole = step * w->chunks;
    kni_ir_id group = kni_ir_builtin_value(b, KNI_IR_GROUP, 0, w->index);
    kni_ir_id local = kni_ir_builtin_value(b, KNI_IR_LOCAL, 0, w->index);
    kni_ir_id start = kni_ir_word(b, "mul", group, kni_emit_index(e, whole));
    kni_ir_id first = kni_ir_word(b, "add", start, kni_ir_word(b, "mul", local, kni_emit_index(e, w->lanes)));
    kni_ir_id n = kni_ir_cast(b, kni_ir_param_value(b, 0), w->index);
    kni_emit_hoist(e, KNI_WORK_R, UINT8_MAX);
    kni_emit_mark mark = kni_emit_mark_here(e);
    if (!w->full) {
        kni_ir_id after = kni_ir_word(b, "add", start, kni_emit_index(e, whole));
        kni_ir_if(b, kni_ir_word(b, "le", after, n));
    }
    for (uint32_t u = 0; u < w->chunks; u++)
        e->r[u] = u ? kni_ir_word(b, "add", first, kni_emit_index(e, step * u)) : first;
    whole_chunks(e);
    if (w->full) return;
    kni_emit_release(e, mark);
    kni_ir_else(b);
    rest(e, first, n);
    kni_ir_end(b);
}

static void emit_items(kni_emit *e)
{
    e->r[0] = kni_ir_builtin_value(e->b, KNI_IR_ITEM, 0, e->w->index);
    kni_emit_hoist(e, KNI_WORK_R, UINT8_MAX);
    whole_chunks(e);
}

kni_ir *kni_sched_pointwise_ir(const kni_work *w)
{
    char name[48];
    kni_emit e;
    kni_sched_name(w, "pointwise", name);
    kni_ir_builder b = kni_ir_begin(name, w->threads);
    bool good = kni_emit_begin(&e, &b, w);
    leave_out(&e);
    if (good && b.status == KN_OK) (w->threads ? emit_groups : emit_items)(&e);
    kni_emit_end(&e);
    if (!good) b.status = kni_fail(KN_ERROR_MEMORY, "no memory to build a kernel");
    return kni_ir_finish(&b);
}
