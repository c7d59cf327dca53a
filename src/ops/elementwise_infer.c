/* The rule of elementwise rows, with a short way for what most calls are: operands of one type, or a tensor and
   numbers. */
#include "ops/scalar_row.h"

/* Whether t adds nothing to `base`: the same type, or a number that does not widen it. */
static bool adds_nothing(const kni_type *t, const kni_type *base)
{
    if (t->weak) return kni_dtypes[t->dtype].kind == kni_dtypes[base->dtype].kind;
    if (t->dtype != base->dtype || t->rank != base->rank) return false;
    for (int a = 0; a < t->rank; a++)
        if (t->dims[a] != base->dims[a]) return false;
    return true;
}

kn_status kni_infer_row(kni_infer *c)
{
    if (c->row->attribute_bytes) {
        kn_status s = kni_check_numbers(c->row, ((const kni_scalar_params *)c->attributes)->p);
        if (s) return s;
    }
    const kni_type *base = c->in[0];
    int dtype = base->dtype, rule = c->row->rule;
    bool plain = !base->weak && rule != KNI_RULE_SELECT;
    for (int i = 1; i < c->n_in && plain; i++) plain = adds_nothing(c->in[i], base);
    if (rule == KNI_RULE_FLOAT && !(KNI_FLOATS >> dtype & 1)) dtype = KN_F32;
    if (!plain || !(c->row->dtypes >> dtype & 1)) return kni_infer_elementwise(c);
    kni_type *out = c->out[0];
    out->dtype = (uint8_t)(rule == KNI_RULE_COMPARE ? KN_BOOL : dtype);
    out->rank = base->rank;
    for (int a = 0; a < base->rank; a++) out->dims[a] = base->dims[a];
    return KN_OK;
}
