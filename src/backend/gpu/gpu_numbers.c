/* Numbers of records that are no part of a plan's key: dynamic attributes, and operands that are numbers. */
#include "backend/gpu/gpu_recording.h"
#include <string.h>

typedef struct walk {
    unsigned char *to;         /* NULL: nothing is copied */
    const unsigned char *from; /* NULL: nothing is compared */
    uint32_t n;
    bool same;    /* all of them */
    bool tracked; /* all but those that schedules have sources for */
} walk;

static inline void visit(walk *w, const void *bytes, uint32_t n, bool tracks)
{
    if (w->to) memcpy(w->to + w->n, bytes, n);
    if (w->from && memcmp(w->from + w->n, bytes, n) != 0) {
        w->same = false;
        w->tracked &= tracks;
    }
    w->n += n;
}

static void visit_attributes(walk *w, const kn_record *r)
{
    const char *from = r->attributes;
    if (!r->attribute_bytes) return;
    if (!r->row->schema) {
        if (kni_is_pointwise(r->row)) visit(w, from, r->attribute_bytes, false);
        return;
    }
    for (const kn_attribute *a = r->row->schema; a->name; a++) {
        if (a->dynamic != KNI_DYNAMIC) continue;
        if (a->type != KNI_ATTR_INTS) {
            visit(w, from + a->offset, 8, w->from && kni_sched_tracks(r->row, a));
            continue;
        }
        /* A list has room that nobody filled. */
        const kn_ints *list = (const kn_ints *)(from + a->offset);
        int64_t filled[1 + KN_MAX_RANK] = {list->rank};
        for (int i = 0; i < list->rank && i < KN_MAX_RANK; i++) filled[1 + i] = list->dims[i];
        visit(w, filled, sizeof filled, false);
    }
}

static void visit_records(walk *w, const kn_record *const *records, int32_t n)
{
    for (int32_t i = 0; i < n && w->tracked; i++) {
        const kn_record *r = records[i];
        visit_attributes(w, r);
        for (int k = 0; k < r->n_in; k++) {
            const kni_tensor *x = kni_in(r, k);
            if (x && !x->storage && (x->flags & KNI_TENSOR_SCALAR))
                visit(w, x->inline_value.bytes, (uint32_t)kni_gpu_element_bytes(x), false);
        }
    }
}

uint32_t kni_gpu_numbers_bytes(const kn_record *const *records, int32_t n)
{
    walk w = {NULL, NULL, 0, true, true};
    visit_records(&w, records, n);
    return w.n;
}

void kni_gpu_numbers_copy(const kn_record *const *records, int32_t n, void *to)
{
    walk w = {to, NULL, 0, true, true};
    visit_records(&w, records, n);
}

bool kni_gpu_numbers_same(const kn_record *const *records, int32_t n, const void *from, bool *tracked)
{
    walk w = {NULL, from, 0, true, true};
    visit_records(&w, records, n);
    *tracked = w.tracked;
    return w.same;
}
