/* Shapes and where their indices come from: frames, the accesses of tensors in them, and the places of views. */
#include "core/strided_copy.h"
#include "sched/work.h"
#include <string.h>

static uint16_t frame_add(kni_work *w, const kni_work_frame *frame)
{
    for (uint16_t i = 0; i < w->n_frames; i++) {
        const kni_work_frame *f = &w->frames[i];
        if (f->rank == frame->rank && f->level == frame->level && f->node == frame->node &&
            f->reduced == frame->reduced && f->order == frame->order &&
            !memcmp(f->dims, frame->dims, frame->rank * sizeof *f->dims))
            return i;
    }
    if (w->failed || w->n_frames == KNI_WORK_FRAMES) return kni_work_fail(w);
    w->frames[w->n_frames] = *frame;
    return w->n_frames++;
}

uint16_t kni_work_frame_of(kni_work *w, const int64_t *dims, int rank, uint8_t level, uint32_t reduced)
{
    kni_work_frame f = {.rank = (uint8_t)rank, .level = level, .reduced = reduced};
    for (int a = 0; a < rank; a++) f.dims[a] = dims[a];
    return frame_add(w, &f);
}

uint16_t kni_work_frame_in(kni_work *w, const int64_t *dims, int rank, uint8_t order)
{
    kni_work_frame f = {.rank = (uint8_t)rank, .level = KNI_WORK_R, .order = order};
    for (int a = 0; a < rank; a++) f.dims[a] = dims[a];
    return frame_add(w, &f);
}

uint16_t kni_work_frame_at(kni_work *w, const int64_t *dims, int rank, uint16_t index)
{
    uint16_t at = kni_work_node_add(w, &(kni_work_node){.kind = KNI_WORK_AT, .a = index});
    kni_work_frame f = {.rank = (uint8_t)rank, .level = w->nodes[at].level, .node = at};
    for (int a = 0; a < rank; a++) f.dims[a] = dims[a];
    return w->failed ? 0 : frame_add(w, &f);
}

/* The axes of one part of a frame, collapsed; a part whose index does not matter has rank 0. */
static void collapse_part(const kni_work_frame *f, bool reduced, const int64_t *strides, kni_work_part *part)
{
    int64_t merged[1][KN_MAX_RANK];
    int32_t axes[KN_MAX_RANK];
    int rank = 0;
    bool matters = false;
    uint32_t by_k = f->node || f->level == KNI_WORK_R ? 0 : f->level == KNI_WORK_K ? ~0u : f->reduced;
    uint32_t chosen = reduced ? by_k : ~by_k;
    if (!f->node && !f->level) chosen = 0; /* the first element */
    kni_order_axes(f->order, f->rank, axes);
    for (int i = 0; i < f->rank; i++) {
        const int a = axes[i];
        if (!(chosen >> a & 1) || f->dims[a] == 1) continue;
        part->dims[rank] = f->dims[a];
        merged[0][rank++] = strides[a];
        matters |= strides[a] != 0;
    }
    part->rank = 0;
    part->node = reduced ? 0 : f->node;
    if (!matters) return;
    part->rank = (uint8_t)kni_collapse(rank, part->dims, 1, merged);
    memcpy(part->strides, merged[0], sizeof part->strides);
}

static uint16_t index_number(kni_work *w, int64_t value) { return kni_work_number_add(w, 0, &value, KN_I64); }

/* Numbers for sizes that are divided by and for strides that are no 0 and no 1. */
static int64_t number_part(kni_work *w, kni_work_part *part)
{
    int64_t reach = 0;
    for (int a = 0; a < part->rank; a++) {
        int64_t s = part->strides[a], step, sum;
        part->dim_numbers[a] = a > 0 ? index_number(w, part->dims[a]) : 0;
        part->stride_numbers[a] = s != 0 && s != 1 ? index_number(w, s) : 0;
        if (__builtin_mul_overflow(part->dims[a], s < 0 ? -s : s, &step) ||
            __builtin_add_overflow(reach, step, &sum))
            return INT64_MAX;
        reach = sum;
    }
    return reach;
}

static bool same_part(const kni_work_part *a, const kni_work_part *b)
{
    return a->rank == b->rank && a->node == b->node && !memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) &&
           !memcmp(a->strides, b->strides, a->rank * sizeof *a->strides);
}

/* The access that reaches the same elements of its buffer, or the one itself: what two frames read alike is loaded, and
   reduced, once. */
static uint16_t same_access(const kni_work *w, uint16_t last)
{
    const kni_work_access *access = &w->accesses[last], *a = w->accesses;
    for (uint16_t i = 0; i < last && access->buffer >= 0; i++, a++)
        if (a->buffer == access->buffer && a->level == access->level &&
            same_part(&a->parts[0], &access->parts[0]) && same_part(&a->parts[1], &access->parts[1]))
            return i;
    return last;
}

uint16_t kni_work_access_add(kni_work *w, uint16_t frame, int buffer, const int64_t *strides)
{
    if (w->failed || w->n_accesses == KNI_WORK_ACCESSES) return kni_work_fail(w);
    const kni_work_frame *f = &w->frames[frame];
    kni_work_access *access = &w->accesses[w->n_accesses];
    access->buffer = (int16_t)buffer;
    access->mode = KNI_WORK_APART;
    access->offset_number = 0;
    collapse_part(f, false, strides, &access->parts[0]);
    collapse_part(f, true, strides, &access->parts[1]);
    access->level = 0;
    if (access->parts[0].rank) access->level |= f->node ? w->nodes[f->node].level : KNI_WORK_R;
    if (access->parts[1].rank) access->level |= KNI_WORK_K;
    for (int i = 0; i < 2; i++) {
        int64_t reach = number_part(w, &access->parts[i]);
        if (reach > w->largest) w->largest = reach;
    }
    uint16_t same = same_access(w, w->n_accesses);
    if (w->failed) return 0;
    w->n_accesses += same == w->n_accesses;
    return same;
}

static uint16_t place(kni_work *w, uint16_t frame, const int64_t *strides, int64_t offset)
{
    uint16_t access = kni_work_access_add(w, frame, -1, strides);
    if (w->failed) return 0;
    if (offset) w->accesses[access].offset_number = index_number(w, offset);
    int64_t far = offset < 0 ? -offset : offset;
    if (far > w->largest) w->largest = far;
    return kni_work_node_add(w, &(kni_work_node){.kind = KNI_WORK_PLACE,
                                                 .level = w->accesses[access].level,
                                                 .extra = access,
                                                 .d = w->frames[frame].node});
}

uint16_t kni_work_index(kni_work *w, uint16_t frame)
{
    const kni_work_frame *f = &w->frames[frame];
    if (f->node && !f->order)
        return kni_work_node_add(
            w, &(kni_work_node){.kind = KNI_WORK_INDEX, .dtype = KN_I64, .a = f->node, .op = 1});
    if (f->level != (KNI_WORK_R | KNI_WORK_K) && !f->order)
        return kni_work_node_add(
            w,
            &(kni_work_node){.kind = KNI_WORK_INDEX, .dtype = KN_I64, .level = f->level, .extra = f->level});
    int64_t strides[KN_MAX_RANK];
    kni_contiguous_strides(f->rank, f->dims, strides);
    uint16_t at = place(w, frame, strides, 0);
    return kni_work_node_add(w, &(kni_work_node){.kind = KNI_WORK_INDEX, .dtype = KN_I64, .a = at, .op = 1});
}

uint16_t kni_work_place(kni_work *w, int dtype)
{
    return kni_work_node_add(
        w, &(kni_work_node){
               .kind = KNI_WORK_INDEX, .dtype = (uint8_t)dtype, .level = KNI_WORK_K, .extra = KNI_WORK_K});
}

/* ---- views of what the group computes */

static bool in_order(const kni_work_frame *f, const int64_t *strides)
{
    return kni_lies_in_order(f->order, f->rank, f->dims, strides);
}

/* Carries the axes that k runs over from one shape to another with the same elements in the same order. */
static bool carry_reduced(const kni_work_frame *f, const int64_t *dims, int rank, uint32_t *reduced)
{
    int a = 0, b = 0;
    *reduced = 0;
    for (;; a++, b++) {
        while (a < f->rank && f->dims[a] == 1) a++;
        while (b < rank && dims[b] == 1) b++;
        if (a == f->rank || b == rank || f->dims[a] != dims[b]) break;
        if (f->reduced >> a & 1) *reduced |= 1u << b;
    }
    if (a == f->rank && b == rank) return true;
    /* The reduced axes are the last ones: they may be cut differently. */
    int64_t width = 1, product = 1;
    bool kept = false;
    for (a = f->rank - 1; a >= 0; a--) {
        if (f->dims[a] == 1) continue;
        if (!(f->reduced >> a & 1))
            kept = true;
        else if (kept)
            return false;
        else
            width *= f->dims[a];
    }
    *reduced = 0;
    for (b = rank - 1; b >= 0 && product < width; b--) {
        product *= dims[b];
        *reduced |= 1u << b;
    }
    return product == width;
}

static bool identity(const kni_work_part *part) { return part->rank == 1 && part->strides[0] == 1; }

uint16_t kni_work_derive(kni_work *w, uint16_t frame, const int64_t *strides, int64_t offset,
                         const int64_t *dims, int rank)
{
    return kni_work_derive_in(w, frame, strides, offset, dims, rank, KNI_ORDER_ROWS);
}

uint16_t kni_work_derive_in(kni_work *w, uint16_t frame, const int64_t *strides, int64_t offset,
                            const int64_t *dims, int rank, uint8_t order)
{
    kni_work_frame to = {.rank = (uint8_t)rank, .order = order};
    kni_work_part by_r, by_k;
    if (w->failed) return 0;
    kni_work_frame f = w->frames[frame];
    for (int a = 0; a < rank; a++) to.dims[a] = dims[a];
    collapse_part(&f, false, strides, &by_r);
    collapse_part(&f, true, strides, &by_k);
    if (offset == 0 && in_order(&f, strides)) {
        to.level = f.level;
        to.node = f.node;
        if (f.node || f.level != (KNI_WORK_R | KNI_WORK_K)) return frame_add(w, &to);
        if (!order && carry_reduced(&f, dims, rank, &to.reduced)) return frame_add(w, &to);
    }
    bool base = offset == 0 && !f.node;
    if (base && !by_r.rank && !by_k.rank) return frame_add(w, &to);
    if (base && identity(&by_r) && !by_k.rank && f.level & KNI_WORK_R) {
        to.level = KNI_WORK_R;
        return frame_add(w, &to);
    }
    if (base && identity(&by_k) && !by_r.rank) {
        to.level = KNI_WORK_K;
        return frame_add(w, &to);
    }
    to.node = place(w, frame, strides, offset);
    to.level = w->nodes[to.node].level;
    return frame_add(w, &to);
}
