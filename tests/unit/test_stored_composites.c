/* Public functions made of several ops, with operands of dtypes that are only stored: they give the values of the same call after
   a cast, or say that a cast is needed. */
#include "support/check.h"
#include <kn.h>

typedef kn_tensor (*composite)(kn_tensor x);
#define CASE(name, ...)                                                                                      \
    static kn_tensor run_##name(kn_tensor x) { return __VA_ARGS__; }
#define PAIR(x) ((const kn_tensor[]){x, x})

CASE(einsum, kn_einsum("ij,jk->ik", PAIR(x), 2))
CASE(multi_dot, kn_multi_dot(PAIR(x), 2))
CASE(matmul, kn_matmul(x, x))
CASE(addmm, kn_addmm(x, x, x, 1, 1))
CASE(linear, kn_linear(x, x, KN_NONE))
CASE(lstsq, kn_lstsq(x, x))
CASE(matrix_rank, kn_matrix_rank(x, 0))
CASE(mean, kn_mean(x, KN_AXES_ALL, false))
CASE(var, kn_var(x, KN_AXES_ALL, false, NULL))
CASE(softmax, kn_softmax(x, 0))
CASE(logsumexp, kn_logsumexp(x, KN_AXES_ALL, false))
CASE(layer_norm, kn_layer_norm(x, KN_NONE, KN_NONE, 1, 1e-5))
CASE(mse, kn_mse_loss(x, x, KN_REDUCTION_MEAN))
CASE(l1, kn_l1_loss(x, x, KN_REDUCTION_MEAN))
CASE(huber, kn_huber_loss(x, x, 1, KN_REDUCTION_MEAN))
CASE(cosine, kn_cosine_similarity(x, x, 0, 1e-8))
CASE(cdist, kn_cdist(x, x, 2))
CASE(cov, kn_cov(x, NULL))
CASE(kron, kn_kron(x, x))
CASE(outer, kn_outer(kn_reshape(x, KN_SHAPE(16)), kn_reshape(x, KN_SHAPE(16))))
CASE(cross, kn_cross(kn_slice(x, 1, 0, 3, 1), kn_slice(x, 1, 0, 3, 1), 1))
CASE(cumsum, kn_cumsum(x, 0))
CASE(clamp, kn_clamp(x, 0, 1))
CASE(sign, kn_sign(x))
CASE(lerp, kn_lerp(x, x, x))
CASE(power, kn_pow_scalar(x, 2))
CASE(maximum, kn_max(x, KN_AXES_ALL, false))
CASE(argmax, kn_argmax(x, 0, false))
CASE(any, kn_any(x, KN_AXES_ALL, false))
CASE(vander, kn_vander(kn_reshape(x, KN_SHAPE(16)), 3, false))
CASE(bucketize, kn_bucketize(x, kn_reshape(x, KN_SHAPE(16)), false))
CASE(dropout, kn_dropout(x, 0.5, true))
CASE(gelu, kn_gelu(x))
CASE(trace, kn_trace(x))
CASE(is_close, kn_is_close(x, x, 1e-5, 1e-8, false))
CASE(is_nan, kn_is_nan(x))
CASE(repeat, kn_repeat(x, KN_INTS(2, 1)))
CASE(roll, kn_roll(x, KN_INTS(1), KN_INTS(0)))
CASE(stack, kn_stack(PAIR(x), 2, 0))
CASE(zeros_like, kn_zeros_like(x))
CASE(ones_like, kn_ones_like(x))
CASE(full_like, kn_full_like(x, 1))
CASE(tril, kn_tril(x, 0))
CASE(diag, kn_diag(x, 0))
CASE(mask_fill, kn_mask_fill(x, kn_greater_scalar(x, 0), 1))
CASE(mask_select, kn_mask_select(x, kn_greater_scalar(x, 0)))
CASE(nonzero, kn_nonzero(x))

#define ROW(name)                                                                                            \
    {                                                                                                        \
#name, run_##name                                                                                    \
    }
static const struct {
    const char *name;
    composite run;
} rows[] = {
    ROW(einsum),      ROW(multi_dot), ROW(matmul),    ROW(addmm),       ROW(linear),    ROW(lstsq),
    ROW(matrix_rank), ROW(mean),      ROW(var),       ROW(softmax),     ROW(logsumexp), ROW(layer_norm),
    ROW(mse),         ROW(l1),        ROW(huber),     ROW(cosine),      ROW(cdist),     ROW(cov),
    ROW(kron),        ROW(outer),     ROW(cross),     ROW(cumsum),      ROW(clamp),     ROW(sign),
    ROW(lerp),        ROW(power),     ROW(maximum),   ROW(argmax),      ROW(any),       ROW(vander),
    ROW(bucketize),   ROW(dropout),   ROW(gelu),      ROW(trace),       ROW(is_close),  ROW(is_nan),
    ROW(repeat),      ROW(roll),      ROW(stack),     ROW(zeros_like),  ROW(ones_like), ROW(full_like),
    ROW(tril),        ROW(diag),      ROW(mask_fill), ROW(mask_select), ROW(nonzero)};

static bool same_values(kn_tensor a, kn_tensor b)
{
    bool same = false;
    a = kn_cast(a, KN_F32), b = kn_cast(b, KN_F32);
    return kn_all_close(a, b, 0, 0, true, &same) == KN_OK && same;
}

/* The exact result of the call on the values, or a text that says what to do. */
static void values_or_a_cast(kn_dtype dtype, kn_dtype natural)
{
    int accepted = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kn_scope scope = kn_scope_begin();
        kn_tensor x = kn_keep(
            kn_cast(kn_remainder_scalar(kn_reshape(kn_arange(0, 16, 1, KN_F32), KN_SHAPE(4, 4)), 2), dtype));
        kn_tensor y = kn_keep(rows[i].run(x));
        char text[300] = "";
        if (kn_ok(y)) {
            kn_tensor want = rows[i].run(kn_keep(kn_cast(x, natural)));
            if (!CHECK(same_values(y, want))) printf("  %s of %s\n", rows[i].name, kn_dtype_name(dtype));
            accepted++;
        } else {
            kn_error_text(y, text, sizeof text);
            if (!CHECK(strstr(text, "cast")))
                printf("  %s of %s: %s\n", rows[i].name, kn_dtype_name(dtype), text);
        }
        kn_scope_end(scope, KN_NONE);
    }
    CHECK(accepted >= 12);
}

int main(void)
{
    values_or_a_cast(KN_F8_E4M3, KN_F32);
    values_or_a_cast(KN_F4_E2M1, KN_F32);
    values_or_a_cast(KN_I4, KN_I8);
    values_or_a_cast(KN_U2, KN_U8);
    kn_memory_trim();
    CHECK(kn_shutdown() == 0);
    return check_report();
}
