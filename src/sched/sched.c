/* Which schedule a group gets, and what all of them write: signatures, params, names. */
#include "sched/sched.h"
#include "core/allocator.h"
#include "sched/schedules.h"
#include <string.h>

/* ---- signatures */

/* What does not fit is told apart by 256 bits of hash instead. */
typedef struct writer {
    uint8_t *bytes;
    uint32_t n, room;
    uint64_t total, hash[4];
} writer;

static void hash_bytes(writer *s, const uint8_t *bytes, uint32_t n)
{
    static const uint64_t factors[4] = {0x9E3779B97F4A7C15u, 0xC2B2AE3D27D4EB4Fu, 0x165667B19E3779F9u,
                                        0xD6E8FEB86659FD93u};
    for (uint32_t i = 0; i < n; i++)
        for (int k = 0; k < 4; k++) {
            uint64_t h = (s->hash[k] ^ bytes[i]) * factors[k];
            s->hash[k] = h ^ h >> (29 + k);
        }
}

static void put(writer *s, const void *bytes, uint32_t n)
{
    if (s->total == s->n && s->room - s->n >= n) {
        memcpy(s->bytes + s->n, bytes, n);
        s->n += n;
    } else {
        if (s->total == s->n) hash_bytes(s, s->bytes, s->n);
        hash_bytes(s, bytes, n);
    }
    s->total += n;
}

/* The length of what was written, or of the hash in its place. */
static uint32_t written(writer *s)
{
    if (s->total == s->n) return s->n;
    memcpy(s->bytes, &s->total, sizeof s->total);
    memcpy(s->bytes + sizeof s->total, s->hash, sizeof s->hash);
    return sizeof s->total + sizeof s->hash;
}

static void put8(writer *s, uint32_t v)
{
    uint8_t byte = (uint8_t)v;
    put(s, &byte, 1);
}

static void put16(writer *s, uint32_t v)
{
    uint16_t two = (uint16_t)v;
    put(s, &two, 2);
}

static void put32(writer *s, uint32_t v) { put(s, &v, 4); }

static void put_node(writer *s, const kni_work *w, const kni_work_node *n)
{
    const uint8_t bytes[] = {n->kind, n->op, n->dtype, n->level, n->stage, n->from, n->to};
    put(s, bytes, sizeof bytes);
    const uint16_t operands[] = {n->a, n->b, n->c, n->d, n->first};
    uint32_t mask = 0;
    for (int i = 0; i < 5; i++) mask |= (uint32_t)(operands[i] != 0) << i;
    put8(s, mask);
    for (int i = 0; i < 5; i++)
        if (operands[i]) put16(s, operands[i]);
    put16(s, n->kind == KNI_WORK_BODY ? w->group->records[n->extra]->op : n->extra);
    if (n->kind == KNI_WORK_CONSTANT) put(s, &n->value, sizeof n->value);
}

static void put_part(writer *s, const kni_work_part *part)
{
    put8(s, part->rank);
    if (!part->rank) return;
    put16(s, part->node);
    for (int a = 0; a < part->rank; a++) {
        put16(s, part->dim_numbers[a]);
        put16(s, part->stride_numbers[a] ? part->stride_numbers[a] + 1u : (uint32_t)part->strides[a]);
    }
}

static void put_access(writer *s, const kni_work_access *access)
{
    put8(s, (uint32_t)access->buffer);
    put8(s, access->mode);
    put16(s, access->offset_number);
    put_part(s, &access->parts[0]);
    put_part(s, &access->parts[1]);
}

static uint32_t sign(const kni_work *w, int schedule, uint8_t *bytes, uint32_t room)
{
    writer s = {.bytes = bytes, .room = room, .hash = {1, 2, 3, 4}};
    const uint8_t head[] = {(uint8_t)schedule,
                            w->pass,
                            w->form,
                            w->full,
                            (uint8_t)w->index,
                            w->lane_axis,
                            w->chunk_axis,
                            (uint8_t)w->lanes,
                            (uint8_t)w->chunks,
                            (uint8_t)((w->parts > 1) + w->joins),
                            (uint8_t)w->n_buffers};
    put(&s, head, sizeof head);
    put32(&s, w->threads);
    put16(&s, w->teams);
    put16(&s, w->n_nodes);
    for (int i = 1; i < w->n_nodes; i++) put_node(&s, w, &w->nodes[i]);
    for (int i = 0; i < w->n_buffers; i++) {
        put8(&s, w->buffers[i].dtype);
        put8(&s, w->buffers[i].access);
        put8(&s, w->buffers[i].aligned);
    }
    for (int i = 0; i < w->n_accesses; i++) put_access(&s, &w->accesses[i]);
    for (int i = 1; i < w->n_numbers; i++) put8(&s, w->numbers[i].dtype);
    /* Equal numbers are one: which of them these are depends on their values. */
    const uint16_t sizes[] = {w->rows_number, w->width_number, w->part_number, w->parts_number};
    for (int i = 0; i < KNI_COUNT(sizes); i++) put16(&s, sizes[i]);
    for (int i = 0; i < w->n_outputs; i++) {
        put16(&s, w->outputs[i].node);
        put16(&s, w->outputs[i].access);
        put16(&s, w->outputs[i].count_number);
        put8(&s, w->outputs[i].level);
        put16(&s, w->outputs[i].reread);
    }
    return written(&s);
}

/* ---- params, in the order in which kni_emit_begin declares them */

static bool put_param(kni_sched_kernel *k, int dtype, const void *value)
{
    uint32_t size = kni_bytes_of(dtype), at = (k->param_bytes + size - 1) / size * size;
    if (at + size > KNI_SCHED_PARAM_BYTES) return false;
    memset(k->params + k->param_bytes, 0, at - k->param_bytes);
    memcpy(k->params + at, value, size);
    k->param_bytes = at + size;
    return true;
}

static void put_source(kni_sched_kernel *k, kni_sched_source source)
{
    if (source.kind != KNI_SOURCE_SHARED) source.at = (uint16_t)(k->param_bytes - kni_bytes_of(source.dtype));
    k->sources_lack |= k->n_sources == KNI_SCHED_SOURCES;
    if (!k->sources_lack) k->sources[k->n_sources++] = source;
}

static bool put_params(kni_sched_kernel *k, const kni_work *w, int64_t items)
{
    bool good = put_param(k, KN_I64, &items);
    for (int i = 0; i < w->n_buffers && good; i++) good = put_param(k, KN_I64, &w->buffers[i].offset);
    for (int i = 1; i < w->n_numbers && good; i++) {
        const kni_work_number *number = &w->numbers[i];
        int32_t narrow = (int32_t)number->u.whole;
        if (number->dtype) {
            good = put_param(k, number->dtype, &number->u);
            if (good && number->source.kind) put_source(k, number->source);
        } else
            good = w->index == KN_I32 ? put_param(k, KN_I32, &narrow) : put_param(k, KN_I64, &number->u);
    }
    for (int i = 0; i < KNI_WORK_UPDATES && i < w->group->n_records; i++)
        if (w->shares[i])
            put_source(k, (kni_sched_source){.kind = KNI_SOURCE_SHARED,
                                             .record = (uint16_t)i,
                                             .index = (uint16_t)(w->shares[i] - 1)});
    /* The block's size is a multiple of 8. */
    _Static_assert(KNI_SCHED_PARAM_BYTES % 8 == 0, "a block that is full needs no more");
    while (k->param_bytes % 8) k->params[k->param_bytes++] = 0;
    uint32_t room = w->target->caps->param_bytes;
    return good && 1 + w->n_buffers + w->n_numbers <= KNI_IR_MAX_PARAMS && (!room || k->param_bytes <= room);
}

kni_sched_kernel *kni_sched_add_kernel(kni_sched *sched, const kni_work *w, int schedule, int64_t items)
{
    if (sched->n_kernels == KNI_SCHED_MAX_KERNELS) return NULL;
    kni_sched_kernel *k = &sched->kernels[sched->n_kernels];
    k->schedule = (uint8_t)schedule;
    k->n_buffers = w->n_buffers;
    k->param_bytes = k->n_sources = 0;
    k->sources_lack = false;
    k->reporter = w->reporter ? w->reporter - 1 : 0;
    for (int i = 0; i < w->n_buffers; i++) k->buffers[i] = w->buffers[i].id;
    memset(k->in_place, 0, sizeof k->in_place);
    k->shape = (kni_launch_shape){{1, 1, 1}, w->threads, 0};
    k->signature_bytes = sign(w, schedule, k->signature, KNI_SCHED_SIGNATURE);
    /* The fault cell is a buffer, too, where buffers are few. */
    if (w->n_buffers + (w->reporter != 0) > kni_work_most_buffers(w) || !put_params(k, w, items)) return NULL;
    sched->n_kernels++;
    return k;
}

uint32_t kni_sched_threads(const kni_work *w, uint32_t wanted)
{
    uint32_t most = w->target->caps->max_workgroup ? w->target->caps->max_workgroup : 256;
    while (wanted > most) wanted /= 2;
    return wanted;
}

/* The op that gives the kernel its character is the last one, or the first that reduces. */
void kni_sched_name(const kni_work *w, const char *schedule, char name[48])
{
    const kni_group *g = w->group;
    const kn_record *r = g->records[g->n_records - 1];
    const kni_type *shape;
    uint32_t reduced;
    for (int i = 0; i < g->n_records; i++)
        if (kni_work_domain(g->records[i], &shape, &reduced)) {
            r = g->records[i];
            break;
        }
    const char *parts[3] = {schedule, "_", r->row->name};
    size_t at = 0;
    for (int i = 0; i < 3; i++)
        for (const char *s = parts[i]; *s && at < 40; s++) name[at++] = *s;
    name[at] = 0;
}

/* ---- the two steps */

static bool usable(const kni_group *group)
{
    for (int i = 0; i < group->n_records; i++) {
        const kn_record *r = group->records[i];
        if (!r->row) return false;
        for (int k = 0; k < r->n_out + r->n_in; k++) {
            if (r->ids[k] == KNI_NO_SLOT) continue;
            const kni_type *t = kni_work_type(r->ids[k]);
            if (!kni_dtype_usable(t->dtype) || kni_count(t) < 0) return false;
        }
    }
    return group->kind != KNI_GROUP_PRODUCT && group->n_records > 0;
}

static bool analyse(kni_work *w, const kni_group *group, const kni_sched_target *target)
{
    return kni_work_start(w, group, target) && kni_work_take_apart(w);
}

static kn_status choose(kni_work *w, const kni_group *group, const kni_sched_target *target, kni_sched *sched)
{
    sched->n_kernels = sched->n_temps = 0;
    if (group->kind == KNI_GROUP_MANY) return kni_sched_many(w, group, target, sched);
    if (kni_sched_scans(group)) return kni_sched_scan(w, group, target, sched);
    if (!analyse(w, group, target)) return KN_ERROR_UNSUPPORTED;
    if (!w->n_outputs) return KN_OK;
    return w->reduces ? kni_sched_rows(w, sched) : kni_sched_pointwise(w, sched);
}

static kn_status no_memory(void) { return kni_fail(KN_ERROR_MEMORY, "no memory to lay out a kernel"); }

kn_status kni_sched_prepare(const kni_group *group, const kni_sched_target *target, kni_sched *sched)
{
    if (!usable(group)) return KN_ERROR_UNSUPPORTED;
    kni_work *w = kni_allocate(sizeof *w);
    if (!w) return no_memory();
    kn_status s = choose(w, group, target, sched);
    kni_free(w, sizeof *w);
    return s;
}

kni_ir *kni_sched_build(const kni_group *group, const kni_sched_target *target, const kni_sched *sched,
                        int32_t kernel)
{
    kni_work *w = kni_allocate(sizeof *w);
    kni_sched *again = kni_allocate(sizeof *again);
    kni_ir *ir = NULL;
    if (!w || !again) {
        no_memory();
    } else if (choose(w, group, target, again) != KN_OK || kernel >= again->n_kernels) {
        kni_fail(KN_ERROR_INTERNAL, "a kernel is to be built for a group that has none");
    } else {
        int schedule = again->kernels[kernel].schedule;
        if (schedule == KNI_SCHED_POINTWISE)
            ir = kni_sched_pointwise_ir(w);
        else if (schedule == KNI_SCHED_MANY)
            ir = kni_sched_many_ir(w, group, target, kernel, again);
        else if (schedule == KNI_SCHED_SCAN)
            ir = kni_sched_scan_ir(w);
        else
            ir = kni_sched_rows_ir(w, again, kernel);
        if (ir && kni_ir_simplify(ir) != KN_OK) {
            kni_ir_free(ir);
            ir = NULL;
        }
    }
    (void)sched;
    if (again) kni_free(again, sizeof *again);
    if (w) kni_free(w, sizeof *w);
    return ir;
}
