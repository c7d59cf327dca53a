/* Shape and dtype rules shared by the families. */
#include "ops/infer.h"
#include "core/text.h"

kn_status kni_infer_fail(const kni_infer *c, kn_status code, const char *format, ...)
{
    va_list a;
    va_start(a, format);
    kni_fail_op_list(code, c->row->name, format, a);
    va_end(a);
    return code;
}

kn_status kni_resolve_axis(const char *name, int64_t *axis, int rank, int axes)
{
    int64_t a = *axis < 0 ? *axis + axes : *axis;
    if (a >= 0 && a < axes) {
        *axis = a;
        return KN_OK;
    }
    if (axes == 0)
        return kni_fail_op(KN_ERROR_ARGUMENT, name,
                           "axis %D is outside a tensor of rank 0, which has no axes: give it one with "
                           "kn_unsqueeze()",
                           *axis);
    return kni_fail_op(KN_ERROR_ARGUMENT, name, "axis %D is outside a tensor of rank %d (%d to %d)", *axis,
                       rank, -axes, axes - 1);
}

kn_status kni_infer_axis(const kni_infer *c, int64_t *axis, int rank)
{
    return kni_resolve_axis(c->row->name, axis, rank, rank);
}

kn_status kni_infer_axis_or_rank_0(const kni_infer *c, int64_t *axis, int rank)
{
    return kni_resolve_axis(c->row->name, axis, rank, rank ? rank : 1);
}

kn_status kni_infer_axes(const kni_infer *c, kn_ints *axes)
{
    int rank = c->in[0]->rank;
    if (axes->rank < 0 || axes->rank > KN_MAX_RANK)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%d axes given; at most %d", axes->rank, KN_MAX_RANK);
    uint32_t seen = 0;
    for (int i = 0; i < axes->rank; i++) {
        kn_status s = kni_infer_axis_or_rank_0(c, &axes->dims[i], rank);
        if (s) return s;
        uint32_t bit = 1u << axes->dims[i];
        if (seen & bit) return kni_infer_fail(c, KN_ERROR_ARGUMENT, "axis %D is named twice", axes->dims[i]);
        seen |= bit;
    }
    if (axes->rank == 0) seen = (1u << rank) - 1;
    axes->rank = 0;
    for (int i = 0; i < rank; i++)
        if (seen >> i & 1) axes->dims[axes->rank++] = i;
    return KN_OK;
}

static void list_dtypes(kni_text *t, uint32_t mask)
{
    bool first = true;
    for (int d = KN_F64; d <= KN_BOOL; d++) {
        if (!(mask >> d & 1)) continue;
        if (!first) kni_text_string(t, ", ");
        kni_text_string(t, kn_dtype_name((kn_dtype)d));
        first = false;
    }
}

static kn_status wrong_dtype(const kni_infer *c, int dtype, uint32_t mask)
{
    char names[96] = "";
    kni_text t = {names, sizeof names, 0};
    list_dtypes(&t, mask);
    return kni_infer_fail(c, KN_ERROR_DTYPE, "does not take %T; it takes %s: convert with kn_cast()", dtype,
                          names);
}

kn_status kni_infer_dtype(const kni_infer *c, int i, uint32_t mask)
{
    return mask >> c->in[i]->dtype & 1 ? KN_OK : wrong_dtype(c, c->in[i]->dtype, mask);
}

kn_status kni_infer_at_least(const kni_infer *c, const char *what, double value, double low)
{
    if (value >= low) return KN_OK;
    return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%s is %g: it must be %g or more", what, value, low);
}

kn_status kni_infer_integer(const kni_infer *c, int i)
{
    if (KNI_INTS >> c->in[i]->dtype & 1) return KN_OK;
    return kni_infer_fail(c, KN_ERROR_DTYPE, "operand %d holds indices and must be an integer, not %T", i,
                          c->in[i]->dtype);
}

kn_status kni_infer_rank(const kni_infer *c, int i, int lowest, int highest)
{
    int rank = c->in[i]->rank;
    if (rank >= lowest && rank <= highest) return KN_OK;
    if (lowest == highest)
        return kni_infer_fail(c, KN_ERROR_SHAPE, "operand %d must have rank %d, not %d: %S", i, lowest, rank,
                              c->in[i]);
    return kni_infer_fail(c, KN_ERROR_SHAPE, "operand %d must have rank %d to %d, not %d: %S", i, lowest,
                          highest, rank, c->in[i]);
}

/* 0: a C number, 1: rank 0, 2: a tensor with axes. Lower ones widen only across kinds. */
static int priority(const kni_type *t) { return t->weak ? 0 : t->rank == 0 ? 1 : 2; }

static int category(int dtype)
{
    int kind = kni_dtypes[dtype].kind;
    return kind == KNI_KIND_UNSIGNED ? KNI_KIND_SIGNED : kind;
}

int kni_promote_types(const kni_type *const *types, int first, int last)
{
    int found[3] = {KN_DTYPE_NONE, KN_DTYPE_NONE, KN_DTYPE_NONE};
    for (int i = first; i < last; i++) {
        if (!types[i]) continue;
        int *f = &found[priority(types[i])];
        *f = *f ? (int)kn_dtype_promote((kn_dtype)*f, (kn_dtype)types[i]->dtype) : types[i]->dtype;
    }
    int result = found[2];
    for (int p = 1; p >= 0; p--) {
        if (!found[p]) continue;
        if (!result)
            result = found[p];
        else if (category(found[p]) > category(result))
            result = found[p] == KN_F64 && p == 0 ? KN_F32 : found[p];
    }
    return result;
}

int kni_infer_promote(const kni_infer *c, int first, int last)
{
    return kni_promote_types(c->in, first, last);
}

int kni_operand_dtype(const kn_op *row, const kni_type *const *types, int first, int last)
{
    int dtype = last - first == 1 ? types[first]->dtype : kni_promote_types(types, first, last);
    return row->rule == KNI_RULE_FLOAT && !(KNI_FLOATS >> dtype & 1) ? KN_F32 : dtype;
}

int kni_rounds_to(const kni_type *operand, int common, int compute)
{
    if (operand->dtype == common || common == compute || operand->weak || kni_is_bool(operand->dtype))
        return 0;
    return kni_dtypes[operand->dtype].bits >= kni_dtypes[common].bits ? common : 0;
}

kn_dim kni_infer_joined(kn_dim a, kn_dim b)
{
    if (a == 1 || b == 1) return a == 1 ? b : a;
    if (kni_dim_equal(a, b) == KNI_YES || kni_dim_low(a) > 1) return a;
    if (kni_dim_low(b) > 1) return b;
    kn_dim largest = kni_dim_max(a, b), least = kni_dim_min(a, b);
    /* An axis of 0 elements and one of 1 give 0. */
    return kni_dim_low(least) >= 1 ? largest : kni_dim_mul(largest, kni_dim_min(least, 1));
}

kn_status kni_infer_broadcast(const kni_infer *c, int first, int last, kni_type *out)
{
    int rank = 0;
    for (int i = first; i < last; i++)
        if (c->in[i] && c->in[i]->rank > rank) rank = c->in[i]->rank;
    kn_dim dims[KN_MAX_RANK];
    for (int i = 0; i < rank; i++) dims[i] = 1;
    for (int i = first; i < last; i++) {
        const kni_type *t = c->in[i];
        if (!t) continue;
        for (int a = 0; a < t->rank; a++) {
            kn_dim d = t->dims[a], *have = &dims[rank - t->rank + a];
            if (d == 1 || d == *have) continue;
            if (*have != 1 && !kni_dims_agree(*have, d))
                return kni_infer_fail(
                    c, KN_ERROR_SHAPE,
                    "shapes %S and %S do not broadcast: axis %d from the end is %D against %D", c->in[first],
                    t, t->rank - a, *have, d);
            *have = kni_infer_joined(*have, d);
        }
    }
    out->rank = (uint8_t)rank;
    for (int i = 0; i < rank; i++) out->dims[i] = dims[i];
    return KN_OK;
}

kn_dim kni_infer_product(const kni_type *t, int first, int last)
{
    kn_dim p = 1;
    for (int i = first; i < last; i++) p = kni_dim_mul(p, t->dims[i]);
    return p;
}

kn_status kni_infer_countable(const kni_infer *c, const kni_type *out)
{
    for (int i = 0; i < out->rank; i++)
        if (out->dims[i] == KNI_DIM_BAD || kni_dim_high(out->dims[i]) < 0) {
            const char *problem = out->dims[i] == KNI_DIM_BAD ? kni_dim_problem() : NULL;
            return kni_infer_fail(c, KN_ERROR_SHAPE, "%s",
                                  problem ? problem : "a size of the result is negative or too large");
        }
    for (int i = 0; i < out->rank; i++)
        if (out->dims[i] < 0) return KN_OK; /* symbolic: counted when bound */
    int64_t n = kni_count(out);
    if (n < 0 || kn_dtype_bytes((kn_dtype)out->dtype, n) < 0)
        return kni_infer_fail(c, KN_ERROR_SHAPE, "the result %S would have 2^63 bytes or more", out);
    return KN_OK;
}

kn_status kni_infer_elementwise(kni_infer *c)
{
    int first = c->row->rule == KNI_RULE_SELECT ? 1 : 0;
    if (first) {
        kn_status s = kni_infer_dtype(c, 0, KNI_BOOLS);
        if (s) return s;
    }
    int dtype = kni_operand_dtype(c->row, c->in, first, c->n_in);
    if (!(c->row->dtypes >> dtype & 1)) return wrong_dtype(c, dtype, c->row->dtypes);
    c->out[0]->dtype = (uint8_t)(c->row->rule == KNI_RULE_COMPARE ? KN_BOOL : dtype);
    if (c->n_in == 1) {
        c->out[0]->rank = c->in[0]->rank;
        for (int i = 0; i < c->in[0]->rank; i++) c->out[0]->dims[i] = c->in[0]->dims[i];
        return KN_OK;
    }
    return kni_infer_broadcast(c, 0, c->n_in, c->out[0]);
}

kn_status kni_infer_same(kni_infer *c)
{
    for (int i = 0; i < c->n_out; i++) {
        *c->out[i] = *c->in[0];
        c->out[i]->weak = 0;
    }
    return KN_OK;
}
