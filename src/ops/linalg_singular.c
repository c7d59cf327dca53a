/* What is made of singular values: the pseudo-inverse, a row because its derivative needs no derivative of singular
   vectors, least squares by it, and the rank. */
#include "ops/linalg_rows.h"
#include "ops/movement_rows.h"
#include "ops/wide.h"

typedef struct pinverse_attributes {
    double tolerance;
} pinverse_attributes;

static const kn_attribute pinverse_schema[] = {
    KNI_ATTR(pinverse_attributes, tolerance, KNI_ATTR_REAL, KNI_STATIC), {0}};

static double cutoff_of(const kni_type *t, double tolerance)
{
    int64_t m = kni_matrix_rows(t), n = kni_matrix_columns(t);
    if (tolerance > 0) return tolerance;
    if (tolerance == (double)KN_ZERO)
        return 5e-324; /* as good as 0, which would mean the default when this is asked again */
    return (double)(m > n ? m : n) * kn_dtype_limits((kn_dtype)t->dtype).eps;
}

/* Which singular values count, given that the first is the largest. */
static kn_tensor significant(kn_tensor s, double cutoff)
{
    return kn_greater(s, kn_mul_scalar(kn_narrow(s, -1, 0, 1), cutoff));
}

static kn_status infer_pinverse(kni_infer *c)
{
    kn_status s = kni_infer_matrix(c, 0);
    if (s) return s;
    const kni_type *a = c->in[0];
    /* Halves are computed in f32, but their own eps counts. */
    pinverse_attributes *p = c->attributes;
    if (kni_matrix_rows(a) >= 0 && kni_matrix_columns(a) >= 0) p->tolerance = cutoff_of(a, p->tolerance);
    kni_infer_batched(c, 0, a->dtype, kni_matrix_columns(a), kni_matrix_rows(a));
    return KN_OK;
}

/* v diag(1 / s) u', where s counts */
static kn_status lower_pinverse(kni_lowering *l)
{
    const kni_type type = *kni_type_of(l->in[0]);
    if (kni_matrix_rows(&type) == 0 || kni_matrix_columns(&type) == 0) {
        l->out[0] = kni_transposed(l->in[0]);
        return KN_OK;
    }
    kn_svd_result f = kn_svd(l->in[0], false);
    kn_tensor s = kn_keep(f.s);
    double cutoff = cutoff_of(&type, ((const pinverse_attributes *)l->attributes)->tolerance);
    kn_tensor counts = kn_keep(significant(s, cutoff));
    kn_tensor inverse = kn_rdiv_scalar(kn_where(counts, s, kn_ones_like(s)), 1);
    inverse = kn_where(counts, inverse, kn_zeros_like(s));
    kn_tensor v = kn_mul(kni_transposed(f.vh), kn_unsqueeze(inverse, -2));
    l->out[0] = kn_matmul(v, kni_transposed(f.u));
    return KN_OK;
}

OP(pinverse, .doc = "the Moore-Penrose inverse of a", .min_in = 1, .max_in = 1, .n_out = 1,
   .kind = KNI_LINALG, .flags = KNI_FLAG_WIDE, .wide = &kni_wide, .dtypes = KNI_FLOATS, .tolerance = {64, 1},
   .schema = pinverse_schema, .attribute_bytes = sizeof(pinverse_attributes), .infer = infer_pinverse,
   .lower = lower_pinverse)

/* x - a (b x): what a projection leaves over. */
static kn_tensor rest_of(kn_tensor x, kn_tensor a, kn_tensor b)
{
    x = kn_keep(x);
    return kn_sub(x, kn_matmul(a, kn_matmul(b, x)));
}

/* As long as the rank stays the same, dp = -p da p + p p' da' (1 - a p) + (1 - p a) da' p' p. With g for the cotangent
   of p and q for p': da = -q g q + (1 - a p) g' p q + q p g' (1 - p a). Equal singular values need no care. */
GRADIENT(pinverse)
{
    kn_tensor a = kni_vjp_in(v, 0), p = kni_vjp_out(v, 0), g = v->dy[0], q = kn_keep(kni_transposed(p));
    kn_tensor turned = kn_keep(kni_transposed(g));
    kn_tensor left = rest_of(kn_matmul(turned, kn_matmul(p, q)), a, p);
    kn_tensor right = rest_of(kn_matmul(g, kn_matmul(q, p)), p, a);
    kn_tensor da = kn_sub(kn_add(left, kni_transposed(right)), kn_matmul(q, kn_matmul(g, q)));
    kni_vjp_set(v, 0, da);
    return KN_OK;
}

kn_tensor kn_pinverse(kn_tensor a, double tolerance)
{
    pinverse_attributes attributes = {tolerance};
    return kni_apply(&kni_op_pinverse, &a, 1, &attributes);
}

kn_tensor kn_lstsq(kn_tensor a, kn_tensor b)
{
    const kni_type *ta = kni_matrices(a, "lstsq"), *tb = kni_type_of(b);
    if (!ta) return kni_no_matrices("lstsq", a);
    double cutoff = cutoff_of(ta, 0);
    int dtype = tb ? kn_dtype_promote((kn_dtype)ta->dtype, (kn_dtype)tb->dtype) : ta->dtype;
    kni_call call = kni_call_begin("lstsq");
    kni_call_share((const kn_tensor[]){a, b}, 2);
    kn_tensor x = kn_matmul(kn_pinverse(kni_widen(a), cutoff), kni_widen(b));
    return kni_call_end(call, kni_as(x, dtype));
}

kn_tensor kn_matrix_rank(kn_tensor a, double tolerance)
{
    const kni_type *t = kni_matrices(a, "matrix_rank");
    if (!t) return kni_no_matrices("matrix_rank", a);
    bool empty = kni_matrix_rows(t) == 0 || kni_matrix_columns(t) == 0;
    double cutoff = cutoff_of(t, tolerance);
    kni_call call = kni_call_begin("matrix_rank");
    kn_tensor s = kn_keep(kn_svd(a, false).s);
    kn_tensor counts = empty ? kn_not_equal_scalar(s, 0) : significant(s, cutoff);
    return kni_call_end(call, kn_sum(counts, KN_AXES(-1), false));
}
