/* Which rows of the table work on rows of their operands. */
#include "graph/row_domain.h"
#include "graph/group.h"
#include "ops/norm.h"
#include "ops/reduce_axes.h"
#include "ops/softmax.h"

enum { AXES, AXIS, SOFTMAX, NORM, CLASSES };
typedef struct member {
    uint16_t op;
    uint8_t family, operand;
    bool elements;
    uint32_t takes; /* KNI_TAKES_ bits that a device must have for it */
} member;

static const member members[] = {
    {KNI_OP_sum, AXES, 0, false, 0},
    {KNI_OP_prod, AXES, 0, false, 0},
    {KNI_OP_mean, AXES, 0, false, 0},
    {KNI_OP_max, AXES, 0, false, 0},
    {KNI_OP_min, AXES, 0, false, 0},
    {KNI_OP_any, AXES, 0, false, 0},
    {KNI_OP_all, AXES, 0, false, 0},
    {KNI_OP_logsumexp, AXES, 0, false, 0},
    {KNI_OP_argmax, AXIS, 0, false, 0},
    {KNI_OP_argmin, AXIS, 0, false, 0},
    {KNI_OP_softmax, SOFTMAX, 0, true, 0},
    {KNI_OP_log_softmax, SOFTMAX, 0, true, 0},
    {KNI_OP_softmax_grad, SOFTMAX, 0, true, 0},
    {KNI_OP_log_softmax_grad, SOFTMAX, 0, true, 0},
    {KNI_OP_layer_norm, NORM, 0, true, 0},
    {KNI_OP_rms_norm, NORM, 0, true, 0},
    {KNI_OP_layer_norm_grad, NORM, 1, true, 0},
    {KNI_OP_rms_norm_grad, NORM, 1, true, 0},
    {KNI_OP_layer_norm_affine_grad, NORM, 1, false, KNI_TAKES_COLUMNS},
    {KNI_OP_rms_norm_affine_grad, NORM, 1, false, KNI_TAKES_COLUMNS},
    {KNI_OP_cross_entropy, CLASSES, 0, false, KNI_TAKES_LOSSES},
    {KNI_OP_cross_entropy_grad, CLASSES, 1, true, KNI_TAKES_LOSSES},
};

static uint32_t axes_of(const kn_record *r, const kni_type *x, int family)
{
    uint32_t mask = 0;
    if (x->rank == 0) return 0;
    switch (family) {
    case AXES:
        return kni_reduce_mask(&((const kni_reduce_attributes *)r->attributes)->axes);
    case AXIS:
        return 1u << ((const kni_arg_attributes *)r->attributes)->axis;
    case SOFTMAX:
        return 1u << ((const kni_softmax_attributes *)r->attributes)->axis;
    case CLASSES:
        return x->rank > 1 ? 2u : 1u;
    default:
        for (int64_t i = 0; i < ((const kni_layer_norm_attributes *)r->attributes)->n_axes; i++)
            mask |= 1u << (x->rank - 1 - i);
        return mask;
    }
}

bool kni_row_domain_of(const kn_record *r, kni_row_domain *domain)
{
    for (int i = 0; i < KNI_COUNT(members); i++) {
        const member *m = &members[i];
        if (m->op != r->op) continue;
        if (!kni_in(r, m->operand)) return false;
        const kni_type *x = &kni_in(r, m->operand)->type;
        *domain = (kni_row_domain){x, axes_of(r, x, m->family), m->elements, m->takes};
        return true;
    }
    return false;
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
