/* Shapes and dtypes of rows along lines, from the levels of their operands and results. */
#include "ops/body.h"
#include "ops/infer.h"

/* Whether an operand of a level fits the shape whose axes `axes` make up a line. */
static bool fits(const kni_type *operand, const kni_type *shape, uint32_t axes, int level)
{
    int shift = shape->rank - operand->rank;
    if (shift < 0) return false;
    for (int a = 0; a < shape->rank; a++) {
        kn_dim own = a < shift ? 1 : operand->dims[a - shift];
        bool whole = level & (axes >> a & 1 ? KNI_LEVEL_PLACE : KNI_LEVEL_LINE);
        bool agrees = kni_dims_agree(own, shape->dims[a]);
        if (level == KNI_LEVEL_ELEMENT ? own != 1 && !agrees : whole ? !agrees : own != 1) return false;
    }
    return true;
}

static uint32_t line_axes(const kni_infer *c)
{
    const int64_t *attribute = (const int64_t *)((const char *)c->attributes + c->row->line.attribute);
    uint32_t all = (1u << c->in[0]->rank) - 1;
    if (c->in[0]->rank == 0) return 0;
    return c->row->line.axes == KNI_LINE_AXIS ? 1u << *attribute : all & ~(all >> *attribute);
}

static kn_status check_axes(const kni_infer *c)
{
    int64_t *attribute = (int64_t *)((char *)c->attributes + c->row->line.attribute);
    int rank = c->in[0]->rank;
    if (c->row->line.axes == KNI_LINE_AXIS) return kni_infer_axis_or_rank_0(c, attribute, rank);
    if (*attribute >= 1 && *attribute <= rank) return KN_OK;
    return kni_infer_fail(c, KN_ERROR_ARGUMENT, "lines cannot be the last %D axes of %S: give 1 to its rank",
                          *attribute, c->in[0]);
}

static bool is_value(const kni_infer *c, int i)
{
    return !(c->row->body->operands[i] & (KNI_OPERAND_INDEX | KNI_OPERAND_TRUTH));
}

/* Values are of the row's dtypes, and f64 does not meet other floats: a line is computed in f64 or in f32. */
static kn_status check_dtypes(const kni_infer *c)
{
    const kni_type *first = NULL;
    for (int i = 0; i < c->n_in; i++) {
        const kni_type *t = c->in[i];
        kn_status s = KN_OK;
        if (t && is_value(c, i)) s = kni_infer_dtype(c, i, c->row->dtypes);
        if (t && c->row->body->operands[i] & KNI_OPERAND_INDEX) s = kni_infer_integer(c, i);
        if (s) return s;
        if (!t || t->weak || !is_value(c, i)) continue;
        if (!first) first = t;
        if ((t->dtype == KN_F64) != (first->dtype == KN_F64))
            return kni_infer_fail(c, KN_ERROR_DTYPE, "operands are %T and %T: convert one with kn_cast()",
                                  (int)first->dtype, (int)t->dtype);
    }
    return KN_OK;
}

/* Of a result: indices are i64, truths bool, values what the operands that are values promote to. */
static int dtype_of(const kni_infer *c, uint8_t bits)
{
    const kni_type *values[KNI_BODY_OPERANDS];
    if (bits & KNI_OPERAND_INDEX) return KN_I64;
    if (bits & KNI_OPERAND_TRUTH) return KN_BOOL;
    for (int i = 0; i < c->n_in; i++) values[i] = is_value(c, i) ? c->in[i] : NULL;
    return kni_promote_types(values, 0, c->n_in);
}

static kn_status check_shapes(const kni_infer *c, uint32_t axes)
{
    static const char *const fit[] = {
        [KNI_LEVEL_ALL] = "one element for all lines",
        [KNI_LEVEL_LINE] = "one element for each line, and so size 1 on the axes of a line",
        [KNI_LEVEL_PLACE] = "one element for each place of a line, and so size 1 on all other axes",
        [KNI_LEVEL_ELEMENT] = "a shape that broadcasts to operand 0"};
    for (int i = 1; i < c->n_in; i++) {
        int level = c->row->body->operands[i] & KNI_OPERAND_LEVEL;
        if (c->in[i] && !fits(c->in[i], c->in[0], axes, level))
            return kni_infer_fail(c, KN_ERROR_SHAPE,
                                  "operand %d is %S where operand 0 is %S: it must have %s", i, c->in[i],
                                  c->in[0], fit[level]);
    }
    return KN_OK;
}

static void fill_result(const kni_infer *c, int k, uint32_t axes)
{
    const kni_type *x = c->in[0];
    kni_type *y = c->out[k];
    uint8_t bits = c->row->body->operands[c->row->body->n_in + k];
    int level = bits & KNI_OPERAND_LEVEL, first = 0;
    while (level == KNI_LEVEL_PLACE && first < x->rank && !(axes >> first & 1)) first++;
    y->dtype = (uint8_t)dtype_of(c, bits);
    y->rank = (uint8_t)(x->rank - first);
    for (int a = first; a < x->rank; a++) {
        bool whole = level & (axes >> a & 1 ? KNI_LEVEL_PLACE : KNI_LEVEL_LINE);
        y->dims[a - first] = whole ? x->dims[a] : 1;
    }
}

kn_status kni_infer_lines(kni_infer *c)
{
    kn_status s = check_dtypes(c);
    if (s == KN_OK) s = check_axes(c);
    if (s) return s;
    uint32_t axes = line_axes(c);
    s = check_shapes(c, axes);
    for (int k = 0; k < c->n_out && s == KN_OK; k++) fill_result(c, k, axes);
    return s;
}
