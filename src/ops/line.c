/* Which axes make up the lines of a row. */
#include "ops/line.h"
#include "ops/body.h"
#include "ops/reduce_axes.h"

static uint32_t axes_of(const kni_line *line, const void *attributes, int rank)
{
    uint32_t all = (1u << rank) - 1;
    const void *attribute = (const char *)attributes + line->attribute;
    if (rank == 0) return 0;
    switch (line->axes) {
    case KNI_LINE_AXES:
        return kni_reduce_mask(attribute);
    case KNI_LINE_AXIS:
        return 1u << *(const int64_t *)attribute;
    case KNI_LINE_LAST:
        return all & ~(all >> *(const int64_t *)attribute);
    case KNI_LINE_CLASSES:
        return rank > 1 ? 2u : 1u;
    default: /* KNI_LINE_CHANNEL */
        return all & ~2u;
    }
}

uint32_t kni_line_axes(const kn_op *row, const void *attributes, int rank)
{
    return axes_of(&row->line, attributes, rank);
}

bool kni_line_of(const kn_record *r, const kni_type **shape, uint32_t *axes)
{
    return r->row->line.results != KNI_PER_POINT && kni_line_levels(r, shape, axes);
}

bool kni_line_levels(const kn_record *r, const kni_type **shape, uint32_t *axes)
{
    const kni_line *line = &r->row->line;
    if (!line->axes || !kni_in(r, line->operand)) return false;
    *shape = &kni_in(r, line->operand)->type;
    *axes = axes_of(line, r->attributes, (*shape)->rank);
    return true;
}

bool kni_line_is_sum(const kn_op *row)
{
    const kni_body *body = row->body;
    if (!body || body->n != 2) return false;
    kni_step x = kni_body_step(body, 0), s = kni_body_step(body, 1);
    return x.kind == KNI_STEP_INPUT && s.kind == KNI_STEP_LINE && s.index == KNI_LINE_SUM;
}
