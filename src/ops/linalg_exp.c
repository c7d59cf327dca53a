/* The exponential of matrices: exp(a) = exp(a / 2^s)^(2^s), with a Taylor polynomial for the small matrix. */
#include "ops/linalg_rows.h"
#include "ops/movement_rows.h"
#include "ops/wide.h"

enum { DEGREE = 18, BLOCK = 5 };

/* The largest 1-norm for which the polynomial is exact to rounding (Bader, Blanes, Casas 2019). */
static double limit_of(int dtype) { return dtype == KN_F64 ? 1.090863719290036 : 3.010066362817634; }

/* sum of x^k / k! for k up to DEGREE, after Paterson and Stockmeyer: the powers up to BLOCK, then Horner in x^BLOCK. */
static kn_tensor taylor(kn_tensor x, kn_tensor unit)
{
    kn_tensor powers[BLOCK + 1] = {unit, x};
    double factors[DEGREE + 1] = {1};
    for (int k = 1; k <= DEGREE; k++) factors[k] = factors[k - 1] / k;
    for (int k = 2; k <= BLOCK; k++) powers[k] = kn_keep(kn_matmul(powers[k - 1], x));
    kn_tensor y = KN_NONE;
    for (int block = DEGREE / BLOCK; block >= 0; block--) {
        if (y.bits) y = kn_matmul(y, powers[BLOCK]);
        for (int k = BLOCK - 1; k >= 0; k--) {
            int term = block * BLOCK + k;
            if (term > DEGREE) continue;
            kn_tensor part = kn_mul_scalar(powers[k], factors[term]);
            y = y.bits ? kn_add(y, part) : part;
        }
    }
    return y;
}

/* The halvings of each matrix [..., 1, 1], and their largest number. Matrices that are not finite need none. */
static kn_status count_halvings(kn_tensor a, int dtype, kn_tensor *halvings, int64_t *most)
{
    kn_tensor norm = kn_max(kn_sum(kn_abs(kn_detach(a)), KN_AXES(-2), true), KN_AXES(-1), true);
    kn_tensor s = kn_keep(kn_ceil(kn_log2(kn_div_scalar(norm, limit_of(dtype)))));
    s = kn_keep(kn_where(kn_is_finite(s), kn_maximum_scalar(s, 0), kni_number(s, 0)));
    *halvings = s;
    kn_tensor largest = kn_keep(kn_cast(kn_max(s, KN_AXES_ALL, false), KN_I64));
    if (!kn_ok(largest)) return KN_ERROR_ARGUMENT;
    return kn_read(largest, most, sizeof *most);
}

kn_tensor kn_matrix_exp(kn_tensor a)
{
    const kni_type *t = kni_matrices(a, "matrix_exp");
    if (!t) return kni_no_matrices("matrix_exp", a);
    kni_type type = *t;
    int64_t n = kni_matrix_rows(t), most = 0;
    kni_call call = kni_call_begin("matrix_exp");
    if (n != kni_matrix_columns(t))
        return kni_call_fail(call, KN_ERROR_SHAPE, "needs square matrices, not %S", &type);
    int dtype = kni_widen_all(&a, 1);
    a = kn_keep(a);
    if (kni_count(&type) == 0) return kni_call_end_as(call, kn_alias(a), dtype);
    kn_tensor unit = kn_keep(kni_unit_like(a, n)), halvings = KN_NONE;
    if (count_halvings(a, kn_dtype_of(a), &halvings, &most)) return kni_call_end(call, kni_poison_latest());
    /* Each matrix has its own scale, so that its result does not depend on the others of the batch. */
    kn_tensor y = taylor(kn_keep(kn_mul(a, kn_exp2(kn_neg(halvings)))), unit);
    for (int64_t i = 0; i < most && kn_ok(y); i++) {
        y = kn_keep(y);
        y = kn_where(kn_greater_scalar(halvings, (double)i), kn_matmul(y, y), y);
    }
    return kni_call_end_as(call, y, dtype);
}
