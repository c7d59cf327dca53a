/* Which rows can be taken apart, what they reduce over, and the frames of their operands. */
#include "sched/work_rows.h"
#include "ops/line.h"

bool kni_work_domain(const kn_record *r, const kni_type **shape, uint32_t *reduced)
{
    return kni_line_of(r, shape, reduced);
}

uint16_t kni_work_row_value(kni_work *w, int record, int result, uint16_t frame)
{
    const kn_record *r = w->group->records[record];
    int outer = w->row_now;
    w->row_now = record + 1;
    uint16_t value = r->row->body ? kni_work_body_value(w, r, result, frame) : 0;
    w->row_now = outer;
    return value;
}

uint16_t kni_work_row_frame(kni_work *w, const kni_type *x, uint32_t reduced)
{
    int64_t rows = 1, width = 1;
    for (int a = 0; a < x->rank; a++) *(reduced >> a & 1 ? &width : &rows) *= x->dims[a];
    if (rows != w->rows || width != w->width) return kni_work_fail(w);
    return kni_work_frame_of(w, x->dims, x->rank, KNI_WORK_R | KNI_WORK_K, reduced);
}

bool kni_work_is_row(kni_work *w, uint16_t frame)
{
    const kni_work_frame *f = &w->frames[frame];
    int64_t count = kni_count_dims(f->rank, f->dims);
    bool good = !w->failed && !f->node && count == w->rows &&
                (f->level == KNI_WORK_R || (w->rows == 1 && f->level == 0) ||
                 (f->level == (KNI_WORK_R | KNI_WORK_K) && w->width == 1));
    if (!good) kni_work_fail(w);
    return good;
}

bool kni_work_is_element(kni_work *w, uint16_t frame, const kni_type *x, uint32_t reduced)
{
    const kni_work_frame *f = &w->frames[frame];
    bool good = !w->failed && !f->node;
    /* Axes of size 1 run with either index. */
    for (int a = 0; a < x->rank && good; a++) {
        bool by_k = f->level == KNI_WORK_K || (f->level == (KNI_WORK_R | KNI_WORK_K) && f->reduced >> a & 1);
        if (x->dims[a] != 1 && by_k != (reduced >> a & 1)) good = false;
    }
    if (good && f->level == 0) good = w->rows == 1 && w->width == 1;
    if (!good) kni_work_fail(w);
    return good;
}

uint16_t kni_work_line_frame(kni_work *w, const kn_record *r)
{
    const kni_type *x;
    uint32_t axes;
    return kni_line_of(r, &x, &axes) ? kni_work_row_frame(w, x, axes) : kni_work_fail(w);
}

bool kni_work_is_line_element(kni_work *w, uint16_t frame, const kn_record *r)
{
    const kni_type *x;
    uint32_t axes;
    return kni_line_of(r, &x, &axes) && kni_work_is_element(w, frame, x, axes);
}

uint16_t kni_work_mean(kni_work *w, uint16_t a)
{
    uint16_t sum = kni_work_reduce(w, KNI_WORK_SUM, a);
    return kni_work_word(w, KNI_WORD_div, sum, kni_work_settled(w, w->nodes[a].dtype, (double)w->width));
}
