/* Independent elementwise records over many tensors in one launch: each workgroup belongs to one record, found by
   comparing its number with where the records begin. */
#include "ops/body.h"
#include "sched/schedules.h"
#include <string.h>

enum { THREADS = 256, MOST_NODES = 900 };

/* What of the work belongs to one record, and how it is laid out. */
typedef struct share {
    int first_output, last_output, first_access, last_access, first_node, last_node;
    uint8_t lanes;
    int64_t count;
    uint16_t start_number, count_number;
} share;

typedef struct many {
    kni_work *w;
    int n_shares;
    share shares[KNI_WORK_UPDATES];
    int64_t groups;
} many;

static uint8_t choose_lanes(const kni_work *w, const share *s)
{
    uint32_t bytes = w->target->caps->vector_bytes ? w->target->caps->vector_bytes : 16;
    uint32_t lanes = 8;
    for (int i = s->first_access; i < s->last_access; i++) {
        const kni_work_access *access = &w->accesses[i];
        if (!access->level || access->buffer < 0) continue;
        const kni_work_buffer *buffer = &w->buffers[access->buffer];
        uint32_t most = bytes / kni_bytes_of(buffer->dtype);
        const kni_work_part *part = &access->parts[0];
        bool plain = part->rank == 1 && !part->node && part->strides[0] == 1;
        while (lanes > 1 && (lanes > most || buffer->offset % lanes || s->count % lanes || !plain))
            lanes /= 2;
    }
    return (uint8_t)lanes;
}

/* Takes apart the records from `first` on, as many as fit one kernel; answers the first that is left. */
static int take(many *m, int first)
{
    kni_work *w = m->w;
    const kni_group *g = w->group;
    int64_t start = 0;
    int r = first;
    m->n_shares = 0;
    for (; r < g->n_records && m->n_shares < KNI_WORK_UPDATES; r++) {
        const kn_record *record = g->records[r];
        share *s = &m->shares[m->n_shares];
        *s = (share){.first_output = w->n_outputs, .first_access = w->n_accesses, .first_node = w->n_nodes};
        bool full = w->n_buffers + record->n_in + record->n_out > kni_work_most_buffers(w) ||
                    w->n_numbers + 16 > KNI_WORK_NUMBERS || w->n_nodes > MOST_NODES ||
                    w->n_accesses + record->n_in + record->n_out + 8 > KNI_WORK_ACCESSES ||
                    w->n_numbers + w->n_buffers + record->n_in + record->n_out + 16 > KNI_IR_MAX_PARAMS;
        if (full) break;
        kni_work_record_outputs(w, r);
        if (w->failed) return -1;
        s->last_output = w->n_outputs;
        s->last_access = w->n_accesses;
        s->last_node = w->n_nodes;
        if (s->first_output == s->last_output) continue;
        s->count = w->outputs[s->first_output].count;
        for (int i = s->first_output; i < s->last_output; i++)
            if (w->outputs[i].count != s->count) return -1;
        s->lanes = choose_lanes(w, s);
        int64_t step = (int64_t)THREADS * s->lanes;
        s->start_number = kni_work_number_add(w, 0, &start, KN_I64);
        s->count_number = kni_work_number_add(w, 0, &s->count, KN_I64);
        start += (s->count + step - 1) / step;
        m->n_shares++;
    }
    m->groups = start;
    return w->failed || r == first ? -1 : r;
}

static void set_modes(many *m)
{
    kni_work *w = m->w;
    for (int i = 0; i < w->n_buffers; i++) w->buffers[i].aligned = 1;
    w->lanes = 1;
    for (int k = 0; k < m->n_shares; k++) {
        const share *s = &m->shares[k];
        if (s->lanes > w->lanes) w->lanes = s->lanes;
        for (int i = s->first_access; i < s->last_access; i++) {
            kni_work_access *access = &w->accesses[i];
            bool vector = access->level && s->lanes > 1;
            access->mode = !access->level ? KNI_WORK_SAME : vector ? KNI_WORK_VECTOR : KNI_WORK_APART;
            if (vector && access->buffer >= 0) w->buffers[access->buffer].aligned = s->lanes;
        }
    }
}

static void finish(kni_work *w)
{
    w->lane_axis = w->chunk_axis = KNI_WORK_R;
    w->chunks = w->teams = w->parts = 1;
    w->threads = THREADS;
    w->index = KN_I32;
    for (int i = 1; i < w->n_numbers; i++)
        if (!w->numbers[i].dtype && w->numbers[i].u.whole > INT32_MAX - (1 << 20)) w->index = KN_I64;
    w->form = 0;
}

/* Each result may replace the operand that it is the next value of: the param, or a state. */
static void allow_in_place(kni_work *w, uint8_t *in_place)
{
    for (int i = 0; i < w->n_outputs; i++) {
        int y = w->accesses[w->outputs[i].access].buffer;
        for (int k = 0; k < w->group->n_records; k++) {
            const kn_record *r = w->group->records[k];
            for (int j = 0; j < r->n_out; j++) {
                int operand = kni_body_updates(r->row->body) ? kni_body_replaces(r->row->body, j) : j;
                if (r->ids[j] != w->buffers[y].id || operand < 0 || operand >= r->n_in) continue;
                for (int x = 0; x < w->n_buffers; x++)
                    if (w->buffers[x].id == r->ids[r->n_out + operand] && !w->buffers[x].offset &&
                        w->buffers[x].dtype == w->buffers[y].dtype &&
                        !(w->buffers[x].access & KNI_IR_ALIASES))
                        in_place[y] = (uint8_t)(x + 1);
            }
        }
        if (!in_place[y]) continue;
        w->buffers[y].access |= KNI_IR_ALIASES;
        w->buffers[in_place[y] - 1].access |= KNI_IR_ALIASES;
    }
}

static bool fits(const kni_work *w)
{
    return w->target->caps->max_workgroup == 0 || w->target->caps->max_workgroup >= THREADS;
}

/* Lays out the kernel whose records begin at `first`; answers the first record that is left, -1 where it cannot be. */
static int lay_out(many *m, int first, kni_sched *sched)
{
    kni_work *w = m->w;
    const kni_group *group = w->group;
    const kni_sched_target *target = w->target;
    if (!kni_work_start(w, group, target) || !fits(w)) return -1;
    int next = take(m, first);
    if (next < 0 || m->groups > INT32_MAX) return -1;
    finish(w);
    set_modes(m);
    if (!m->n_shares) return next;
    uint8_t in_place[KNI_SCHED_MAX_BUFFERS] = {0};
    allow_in_place(w, in_place);
    kni_sched_kernel *k = kni_sched_add_kernel(sched, w, KNI_SCHED_MANY, m->groups * THREADS);
    if (!k) return -1;
    /* How many lanes each record has and which numbers it uses is part of the text too. */
    for (int i = 0; i < m->n_shares; i++) {
        const share *s = &m->shares[i];
        const uint8_t bytes[] = {s->lanes, (uint8_t)s->start_number, (uint8_t)s->count_number,
                                 (uint8_t)(s->last_output - s->first_output)};
        if (k->signature_bytes + sizeof bytes > KNI_SCHED_SIGNATURE) return -1;
        memcpy(k->signature + k->signature_bytes, bytes, sizeof bytes);
        k->signature_bytes += sizeof bytes;
    }
    memcpy(k->in_place, in_place, sizeof in_place);
    k->shape.groups[0] = (uint32_t)m->groups;
    return next;
}

kn_status kni_sched_many(kni_work *w, const kni_group *group, const kni_sched_target *target,
                         kni_sched *sched)
{
    many m = {.w = w};
    w->group = group;
    w->target = target;
    for (int at = 0; at < group->n_records;) {
        at = lay_out(&m, at, sched);
        if (at < 0) return KN_ERROR_UNSUPPORTED;
    }
    return KN_OK;
}

/* ---- the kernel */

static void emit_share(kni_emit *e, const share *s, kni_ir_id group)
{
    kni_ir_builder *b = e->b;
    const kni_work *w = e->w;
    kni_emit_mark mark = kni_emit_mark_here(e);
    kni_ir_id start = kni_emit_number(e, s->start_number), count = kni_emit_number(e, s->count_number);
    e->lanes = s->lanes;
    kni_ir_id local = kni_ir_builtin_value(b, KNI_IR_LOCAL, 0, w->index);
    kni_ir_id vector = kni_ir_word(b, "mul", kni_ir_word(b, "sub", group, start), kni_emit_index(e, THREADS));
    vector = kni_ir_word(b, "add", vector, local);
    e->r[0] = kni_ir_word(b, "mul", vector, kni_emit_index(e, s->lanes));
    kni_ir_if(b, kni_ir_word(b, "lt", e->r[0], count));
    for (int n = s->first_node; n < s->last_node; n++)
        for (uint32_t i = 0; w->nodes[n].kind == KNI_WORK_INPUT && i < e->lanes; i++)
            kni_emit_value(e, (uint16_t)n, i);
    for (int i = s->first_output; i < s->last_output; i++)
        for (uint32_t l = 0; l < e->lanes; l++) kni_emit_value(e, w->outputs[i].node, l);
    for (int i = s->first_output; i < s->last_output; i++) kni_emit_store(e, &w->outputs[i], 0);
    kni_ir_end(b);
    kni_emit_release(e, mark);
}

/* The share of the workgroup is found by halves. */
static void emit_shares(kni_emit *e, const share *shares, int n, kni_ir_id group)
{
    if (n == 1) {
        emit_share(e, shares, group);
        return;
    }
    kni_emit_mark mark = kni_emit_mark_here(e);
    kni_ir_if(e->b, kni_ir_word(e->b, "lt", group, kni_emit_number(e, shares[n / 2].start_number)));
    emit_shares(e, shares, n / 2, group);
    kni_emit_release(e, mark);
    kni_ir_else(e->b);
    emit_shares(e, shares + n / 2, n - n / 2, group);
    kni_ir_end(e->b);
    kni_emit_release(e, mark);
}

kni_ir *kni_sched_many_ir(kni_work *w, const kni_group *group, const kni_sched_target *target, int32_t kernel,
                          kni_sched *sched)
{
    many m = {.w = w};
    char name[48];
    kni_emit e;
    w->group = group;
    w->target = target;
    sched->n_kernels = 0;
    for (int at = 0; sched->n_kernels <= kernel;) {
        at = lay_out(&m, at, sched);
        if (at < 0) return NULL;
    }
    kni_sched_name(w, "many", name);
    kni_ir_builder b = kni_ir_begin(name, w->threads);
    bool good = kni_emit_begin(&e, &b, w);
    if (good && b.status == KN_OK) {
        kni_ir_id number = kni_ir_builtin_value(&b, KNI_IR_GROUP, 0, w->index);
        emit_shares(&e, m.shares, m.n_shares, number);
    }
    kni_emit_end(&e);
    if (!good) b.status = kni_fail(KN_ERROR_MEMORY, "no memory to build a kernel");
    return kni_ir_finish(&b);
}
