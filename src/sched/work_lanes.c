/* How many lanes a load takes, and how the lanes of each access lie. */
#include "sched/work.h"

static const kni_work_part *lane_part(const kni_work_access *access, uint8_t axis)
{
    return &access->parts[axis == KNI_WORK_K];
}

/* Whether r or k itself runs along the innermost axis of the access with stride 1. */
static bool runs_along(const kni_work_access *access, uint8_t axis)
{
    const kni_work_part *part = lane_part(access, axis);
    return part->rank && !part->node && part->strides[part->rank - 1] == 1;
}

static int element_bytes(const kni_work *w, const kni_work_access *access)
{
    return access->buffer < 0 ? 8 : kni_bytes_of(w->buffers[access->buffer].dtype);
}

int kni_work_smallest_bytes(const kni_work *w, uint8_t axis)
{
    int least = 16;
    for (int i = 0; i < w->n_accesses; i++) {
        const kni_work_access *access = &w->accesses[i];
        int bytes = element_bytes(w, access);
        if (access->buffer >= 0 && runs_along(access, axis) && bytes < least) least = bytes;
    }
    return least;
}

/* Lanes do not cross the end of the innermost axis. */
static bool lanes_stay(const kni_work_part *part, uint32_t lanes)
{
    return part->rank <= 1 || part->dims[part->rank - 1] % lanes == 0;
}

static bool strides_fit(const kni_work_access *access, uint8_t axis, uint32_t lanes)
{
    for (int p = 0; p < 2; p++) {
        const kni_work_part *part = &access->parts[p];
        int inner = p == (axis == KNI_WORK_K) ? part->rank - 1 : -1;
        for (int a = 0; a < part->rank; a++)
            if (a != inner && part->strides[a] % (int64_t)lanes) return false;
        if (part->node) return false;
    }
    return true;
}

static bool aligned(const kni_work *w, const kni_work_access *access, uint8_t axis, uint32_t lanes)
{
    int64_t offset = access->buffer < 0 ? 0 : w->buffers[access->buffer].offset;
    return offset % (int64_t)lanes == 0 && !access->offset_number && strides_fit(access, axis, lanes);
}

static bool lanes_fit(const kni_work *w, uint8_t axis, uint32_t lanes)
{
    for (int i = 0; i < w->n_accesses; i++) {
        const kni_work_access *access = &w->accesses[i];
        const kni_work_part *part = lane_part(access, axis);
        if (!part->rank || part->node) continue;
        int64_t stride = part->strides[part->rank - 1];
        if (!lanes_stay(part, lanes)) return false;
        if (stride == 1 && access->buffer >= 0 && !aligned(w, access, axis, lanes)) return false;
    }
    if (axis == KNI_WORK_K) return w->width % lanes == 0;
    for (int i = 0; i < w->n_outputs; i++)
        if (w->outputs[i].level & axis && w->outputs[i].level != (KNI_WORK_R | KNI_WORK_K) &&
            w->outputs[i].count % lanes)
            return false;
    return w->rows % lanes == 0;
}

uint32_t kni_work_choose_lanes(const kni_work *w, uint8_t axis, uint32_t most)
{
    uint32_t lanes = most;
    while (lanes > 1 && !lanes_fit(w, axis, lanes)) lanes /= 2;
    return lanes;
}

static int mode_of(const kni_work *w, const kni_work_access *access)
{
    const kni_work_part *part = lane_part(access, w->lane_axis);
    if (!(access->level & w->lane_axis)) return KNI_WORK_SAME;
    const kni_work_part *other = &access->parts[0];
    if (other->node && w->nodes[other->node].level & w->lane_axis) return KNI_WORK_APART;
    if (!lanes_stay(part, w->lanes)) return KNI_WORK_APART;
    int64_t stride = part->strides[part->rank - 1];
    if (stride == 0) return KNI_WORK_SAME;
    if (stride == 1 && w->lanes > 1 && aligned(w, access, w->lane_axis, w->lanes)) return KNI_WORK_VECTOR;
    return KNI_WORK_STRIDED;
}

void kni_work_set_modes(kni_work *w)
{
    for (int i = 0; i < w->n_buffers; i++) w->buffers[i].aligned = 1;
    for (int i = 0; i < w->n_accesses; i++) {
        kni_work_access *access = &w->accesses[i];
        access->mode = (uint8_t)mode_of(w, access);
        if (access->mode == KNI_WORK_VECTOR && access->buffer >= 0)
            w->buffers[access->buffer].aligned = (uint8_t)w->lanes;
    }
}
