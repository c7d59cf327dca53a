/* Which records work on rows of their operands. */
#include "graph/row_domain.h"
#include "graph/group.h"
#include "ops/body.h"
#include "ops/line.h"

/* Whether the results of a row with several kinds of them belong to elements and to lines alone. */
static bool elements_and_lines(const kn_op *row)
{
    const kni_body *body = row->body;
    bool elements = false;
    for (int k = 0; body && k < body->n_out; k++) {
        uint8_t level = body->operands[body->n_in + k] & KNI_OPERAND_LEVEL;
        if (level != KNI_LEVEL_ELEMENT && level != KNI_LEVEL_LINE) return false;
        elements |= level == KNI_LEVEL_ELEMENT;
    }
    return elements;
}

static uint32_t takes_of(const kni_line *line)
{
    if (line->results == KNI_PER_PLACE) return KNI_TAKES_COLUMNS;
    if (line->results == KNI_PER_SEVERAL) return KNI_TAKES_SEVERAL;
    return line->axes == KNI_LINE_CLASSES ? KNI_TAKES_LOSSES : 0;
}

bool kni_row_domain_of(const kn_record *r, kni_row_domain *domain)
{
    const kni_line *line = &r->row->line;
    bool several = line->results == KNI_PER_SEVERAL;
    if ((several && !elements_and_lines(r->row)) || !kni_line_of(r, &domain->shape, &domain->reduced))
        return false;
    domain->elements = several || line->results == KNI_PER_ELEMENT;
    domain->takes = takes_of(line);
    return true;
}

bool kni_row_domain_same(const kni_row_domain *a, const kni_row_domain *b)
{
    if (!kni_same_dims(a->shape, b->shape)) return false;
    for (int i = 0; i < a->shape->rank; i++)
        if (a->shape->dims[i] != 1 && ((a->reduced ^ b->reduced) >> i & 1)) return false;
    return true;
}

bool kni_row_domain_rows(const kni_row_domain *d, const kni_type *t)
{
    const kni_type *s = d->shape;
    bool kept = t->rank == s->rank;
    for (int i = 0; i < s->rank && kept; i++) kept = t->dims[i] == (d->reduced >> i & 1 ? 1 : s->dims[i]);
    if (kept) return true;
    int k = 0;
    for (int i = 0; i < s->rank; i++) {
        if (d->reduced >> i & 1) continue;
        if (k == t->rank || t->dims[k++] != s->dims[i]) return false;
    }
    return k == t->rank;
}

bool kni_row_domain_last(const kni_row_domain *d)
{
    uint32_t all = (1u << d->shape->rank) - 1, low = d->reduced & all;
    /* Axes behind the first one of the row are all of it: the mask is a run of ones up to the top. */
    uint32_t outer = all & ~low;
    return (outer & (outer + 1)) == 0;
}

bool kni_row_domain_across(const kni_row_domain *d, const kni_type *x, uint32_t reduced)
{
    int64_t width = 1, kept = 1;
    for (int i = 0; i < d->shape->rank; i++)
        if (d->reduced >> i & 1) width *= d->shape->dims[i];
    for (int i = 0; i < x->rank; i++)
        if (!(reduced >> i & 1)) kept *= x->dims[i];
    kni_row_domain rest = {x, ((1u << x->rank) - 1) & ~reduced, false, 0};
    return kept == width && kni_count(x) == kni_count(d->shape) && kni_row_domain_last(d) &&
           kni_row_domain_last(&rest);
}

bool kni_row_domain_places(const kni_row_domain *d, const kni_type *t)
{
    const kni_type *s = d->shape;
    int n = 0;
    for (int i = 0; i < s->rank; i++) n += d->reduced >> i & 1;
    bool same = t->rank == n && kni_row_domain_last(d);
    for (int i = 0; i < n && same; i++) same = t->dims[i] == s->dims[s->rank - n + i];
    return same;
}
