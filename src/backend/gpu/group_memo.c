/* Remembering schedules: the facts are all that a schedule is made from, taken from records and slots and compared byte by
   byte, but for numbers whose places in the params are known. */
#include "backend/gpu/group_memo.h"
#include <string.h>

typedef struct writer {
    unsigned char *bytes;
    uint32_t n;
    bool full;
} writer;

static void put(writer *w, const void *bytes, size_t n)
{
    if (w->full || KNI_GPU_MEMO_BYTES - w->n < n) {
        w->full = true;
        return;
    }
    memcpy(w->bytes + w->n, bytes, n);
    w->n += (uint32_t)n;
}

/* Field by field: lists have room that nobody filled. */
static void put_attributes(writer *w, const kn_record *r)
{
    const char *from = r->attributes;
    if (r->attribute_bytes && !r->row->schema) w->full = true; /* nobody can say what they are */
    if (!r->attribute_bytes || !r->row->schema) return;
    for (const kn_attribute *a = r->row->schema; a->name; a++) {
        if (kni_sched_tracks(r->row, a)) continue;
        if (a->type == KNI_ATTR_INTS) {
            const kn_ints *list = (const kn_ints *)(from + a->offset);
            int64_t n = list->rank;
            put(w, &n, sizeof n);
            if (n > 0 && n <= KN_MAX_RANK) put(w, list->dims, (size_t)n * sizeof *list->dims);
        } else {
            put(w, from + a->offset, 8);
        }
    }
}

static void put_operand(writer *w, uint32_t id, bool result)
{
    if (id == KNI_NO_SLOT) return;
    const kni_tensor *x = kni_slot(id);
    size_t axes = x->type.rank * sizeof(int64_t);
    const unsigned char head[4] = {x->type.dtype, x->type.rank, x->type.weak,
                                   result ? x->order : x->storage != NULL};
    put(w, head, sizeof head);
    put(w, x->type.dims, axes);
    if (result) return;
    put(w, x->strides, axes);
    put(w, &x->offset, sizeof x->offset);
    if (!x->storage) put(w, &x->inline_value, kni_gpu_element_bytes(x));
}

/* Whether the tensor is a result of a record of the group, whose layout is still to be. */
static bool is_inside(const kni_group *group, int before, uint32_t id)
{
    for (int i = 0; i < before; i++)
        for (int k = 0; k < group->records[i]->n_out; k++)
            if (group->records[i]->ids[k] == id) return true;
    return false;
}

static void put_group(writer *w, const kni_group *group)
{
    put(w, &group->kind, sizeof group->kind);
    put(w, group->outputs, (size_t)group->n_outputs * sizeof *group->outputs);
    for (int i = 0; i < group->n_records && !w->full; i++) {
        const kn_record *r = group->records[i];
        const uint16_t head[3] = {r->op, r->n_out, r->n_in};
        put(w, head, sizeof head);
        put(w, &r->row, sizeof r->row);
        put_attributes(w, r);
        put(w, r->ids, (size_t)(r->n_out + r->n_in) * sizeof *r->ids);
        for (int k = 0; k < r->n_out; k++) put_operand(w, r->ids[k], true);
        for (int k = r->n_out; k < r->n_out + r->n_in; k++)
            put_operand(w, r->ids[k], r->ids[k] != KNI_NO_SLOT && is_inside(group, i, r->ids[k]));
    }
}

/* Puts in the numbers that the records have now; false where that makes another schedule. */
static bool renumber(kni_gpu_memo *memo, const kn_record *const *records)
{
    for (int i = 0; i < memo->sched->n_kernels; i++) {
        kni_sched_kernel *k = &memo->sched->kernels[i];
        if (k->sources_lack || !kni_sched_renumber(k->sources, k->n_sources, records, k->params))
            return false;
    }
    return true;
}

static void forget(void *cached)
{
    kni_gpu_memo *memo = cached;
    if (memo->sched) kni_free(memo->sched, memo->sched_bytes);
    if (memo->places) kni_free(memo->places, (size_t)memo->n_places * sizeof *memo->places);
    if (memo->facts) kni_free(memo->facts, memo->room);
    kni_free(memo, sizeof *memo);
}

static kni_gpu_memo *new_memo(void)
{
    kni_gpu_memo *memo = kni_allocate(sizeof *memo);
    if (memo) *memo = (kni_gpu_memo){.ready = false};
    return memo;
}

/* Nothing is known but the facts; false without memory for them. */
static bool begin(kni_gpu_memo *memo, const unsigned char *facts, uint32_t bytes)
{
    memo->ready = false;
    memset(memo->kernels, 0, sizeof memo->kernels);
    if (bytes > memo->room) {
        if (memo->facts) kni_free(memo->facts, memo->room);
        memo->room = 0;
        memo->facts = kni_allocate(bytes);
        if (!memo->facts) return false;
        memo->room = bytes;
    }
    memo->bytes = bytes;
    memcpy(memo->facts, facts, bytes);
    return true;
}

kni_gpu_memo *kni_gpu_memo_of(const kni_group *group)
{
    unsigned char facts[KNI_GPU_MEMO_BYTES];
    writer w = {facts, 0, false};
    if (!group->cache || !group->release) return NULL;
    put_group(&w, group);
    if (w.full) return NULL;
    kni_gpu_memo *memo = *group->cache;
    if (!memo) {
        memo = new_memo();
        if (!memo) return NULL;
        *group->cache = memo;
        *group->release = forget;
    }
    if (memo->ready && memo->bytes == w.n && !memcmp(memo->facts, facts, w.n) &&
        renumber(memo, group->records + (group->kind == KNI_GROUP_PRODUCT))) /* of what follows the product */
        return memo;
    return begin(memo, facts, w.n) ? memo : NULL;
}

/* ---- single records */

/* The first of the record's ids that is the same as number k. */
static uint16_t place_of(const kn_record *r, uint32_t id)
{
    uint16_t k = 0;
    while (k < r->n_out + r->n_in && r->ids[k] != id) k++;
    return k;
}

static void put_record(writer *w, const kn_record *r)
{
    const uint16_t head[3] = {r->op, r->n_out, r->n_in};
    put(w, head, sizeof head);
    put(w, &r->row, sizeof r->row);
    put_attributes(w, r);
    for (int k = 0; k < r->n_out + r->n_in; k++) {
        uint16_t place = r->ids[k] == KNI_NO_SLOT ? UINT16_MAX : place_of(r, r->ids[k]);
        put(w, &place, sizeof place);
        put_operand(w, r->ids[k], k < r->n_out);
    }
}

kni_gpu_memo *kni_gpu_memo_of_record(kni_gpu *g, const kn_record *r)
{
    unsigned char facts[KNI_GPU_MEMO_BYTES];
    writer w = {facts, 0, false};
    put_record(&w, r);
    if (w.full) return NULL;
    uint64_t hash = kni_gpu_hash(facts, w.n);
    kni_gpu_memo **place = &g->memos[hash % KNI_GPU_MEMOS], *memo = *place;
    if (!memo) {
        memo = *place = new_memo();
        if (!memo) return NULL;
    }
    if (memo->ready && memo->hash == hash && memo->bytes == w.n && !memcmp(memo->facts, facts, w.n) &&
        renumber(memo, &r))
        return memo;
    memo->hash = hash;
    return begin(memo, facts, w.n) ? memo : NULL;
}

static bool note_places(kni_gpu_memo *memo, const kn_record *r)
{
    int32_t n = memo->sched->n_kernels;
    if (n > memo->n_places) {
        if (memo->places) kni_free(memo->places, (size_t)memo->n_places * sizeof *memo->places);
        memo->n_places = 0;
        memo->places = kni_allocate((size_t)n * sizeof *memo->places);
        if (!memo->places) return false;
        memo->n_places = n;
    }
    for (int i = 0; i < n; i++)
        for (uint32_t k = 0; k < memo->sched->kernels[i].n_buffers; k++)
            memo->places[i][k] = place_of(r, memo->sched->kernels[i].buffers[k]);
    return true;
}

bool kni_gpu_memo_keep(kni_gpu_memo *memo, const kni_sched *made, const kn_record *single)
{
    size_t bytes = kni_sched_bytes(made);
    if (memo->sched_bytes != bytes) {
        if (memo->sched) kni_free(memo->sched, memo->sched_bytes);
        memo->sched_bytes = 0;
        memo->sched = kni_allocate(bytes);
        if (!memo->sched) return false;
        memo->sched_bytes = bytes;
    }
    memcpy(memo->sched, made, bytes);
    memo->ready = !single || note_places(memo, single);
    return memo->ready;
}

void kni_gpu_memo_rebind(kni_gpu_memo *memo, const kn_record *r)
{
    for (int i = 0; i < memo->sched->n_kernels; i++)
        for (uint32_t k = 0; k < memo->sched->kernels[i].n_buffers; k++)
            if (memo->places[i][k] < r->n_out + r->n_in) /* else a temporary */
                memo->sched->kernels[i].buffers[k] = r->ids[memo->places[i][k]];
}

void kni_gpu_free_memos(kni_gpu *g)
{
    for (int i = 0; i < KNI_GPU_MEMOS; i++) {
        if (g->memos[i]) forget(g->memos[i]);
        g->memos[i] = NULL;
    }
}
