/* Rows made of sorted lines: sort, topk, kthvalue. */
#include "backend/gpu/gpu_sort.h"
#include "ops/sorting_attributes.h"

/* What is wanted of each line. */
typedef struct choice {
    int64_t axis, first, n;
    bool descending, unsorted, propagate;
} choice;

static kn_status fill(kni_gpu_lines *l, const choice *c, const kni_gpu_pick *pick)
{
    bool done, plain = !c->unsorted && !c->propagate;
    int64_t want = c->propagate ? l->axis : c->first + c->n;
    kn_status s = kni_gpu_lines_sort(l, want, plain ? pick : NULL, &done);
    if (s || done) return s;
    if (c->unsorted) s = kni_gpu_lines_by_place(l, c->n);
    return s ? s : kni_gpu_lines_place(l, pick, c->propagate);
}

static kn_status run(kni_gpu *g, const kn_record *r, const choice *c)
{
    kni_gpu_lines lines;
    kni_gpu_pick pick = {c->first, c->n, kni_out(r, 0), kni_out(r, 1)};
    if (!kni_gpu_lines_begin(&lines, g, r, c->axis, false, c->descending)) return KN_ERROR_UNSUPPORTED;
    kn_status s = kni_gpu_allocate(g, pick.values);
    if (s == KN_OK) s = kni_gpu_allocate(g, pick.positions);
    if (s == KN_OK) s = fill(&lines, c, &pick);
    if (s == KN_OK) kni_gpu_finish(g, r, lines.cell);
    kni_gpu_lines_end(&lines);
    return s;
}

kn_status kni_gpu_run_sort(kni_gpu *g, const kn_record *r)
{
    const kni_sort_attributes *a = r->attributes;
    const kni_type *t = &kni_in(r, 0)->type;
    return run(
        g, r,
        &(choice){.axis = a->axis, .n = t->rank ? t->dims[a->axis] : 1, .descending = a->descending != 0});
}

kn_status kni_gpu_run_topk(kni_gpu *g, const kn_record *r)
{
    const kni_topk_attributes *a = r->attributes;
    return run(
        g, r,
        &(choice){.axis = a->axis, .n = a->k, .descending = !a->smallest, .unsorted = a->unsorted != 0});
}

kn_status kni_gpu_run_kthvalue(kni_gpu *g, const kn_record *r)
{
    const kni_kth_attributes *a = r->attributes;
    return run(g, r, &(choice){.axis = a->axis, .first = a->k - 1, .n = 1, .propagate = a->propagate != 0});
}
