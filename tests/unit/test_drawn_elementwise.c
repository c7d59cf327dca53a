/* Elementwise ops alone and in chains, on operands of drawn sizes that are broadcast, turned or cut, of every dtype, with what often
   follows them: equal to `ref` on every tier and in groups. */
#include "support/drawn_sizes.h"
#include <kn/contraction.h>
#include <kn/functional.h>
#include <kn/reduce.h>

enum { MOST = 1 << 13 };

static kn_tensor operand(drawn *d, kn_shape s, kn_dtype dtype)
{
    /* Some axes of size 1, some leading axes missing. */
    kn_shape t = s;
    if (below(d, 3) == 0)
        for (int32_t i = 0; i < t.rank; i++)
            if (below(d, 2)) t.dims[i] = 1;
    if (below(d, 6) == 0 && t.rank > 1) {
        t.rank--;
        memmove(t.dims, t.dims + 1, (size_t)t.rank * sizeof *t.dims);
    }
    bool unsign = dtype == KN_U8 || dtype == KN_U16 || dtype == KN_U32 || dtype == KN_U64 || dtype == KN_BOOL;
    if (drawn_count(t) * 64 < drawn_count(s)) d->longest = (double)drawn_count(s);
    return drawn_between(d, t, dtype, true, unsign ? 0 : -3, dtype == KN_BOOL ? 1 : 3);
}

static kn_tensor positive(kn_tensor x) { return kn_add_scalar(kn_square(x), 0.5); }

/* Pairs and numbers of any dtype. */
static void integers(drawn *d)
{
    static const kn_dtype dtypes[] = {KN_I8, KN_U8, KN_I16, KN_U16, KN_I32, KN_U32, KN_I64, KN_U64};
    kn_dtype dtype = dtypes[below(d, 8)];
    kn_shape s = drawn_shape(d, 1 + (int32_t)below(d, 5), MOST);
    kn_tensor a = operand(d, s, dtype), b = operand(d, s, dtype);
    int kind = (int)below(d, 16);
    drawn_note(d, "kind", kind);
    if (below(d, 2)) a = kn_keep(kn_mul_scalar(a, 41));
    kn_tensor y = kind == 0    ? kn_add(a, b)
                  : kind == 1  ? kn_sub(a, b)
                  : kind == 2  ? kn_mul(a, b)
                  : kind == 3  ? kn_floor_div(a, b)
                  : kind == 4  ? kn_remainder(a, b)
                  : kind == 5  ? kn_maximum(a, b)
                  : kind == 6  ? kn_minimum(a, b)
                  : kind == 7  ? kn_bitwise_and(a, b)
                  : kind == 8  ? kn_bitwise_xor(a, b)
                  : kind == 9  ? kn_bitwise_left_shift(a, b)
                  : kind == 10 ? kn_less(a, b)
                  : kind == 11 ? kn_equal(a, b)
                  : kind == 12 ? kn_where(kn_greater(a, b), a, b)
                  : kind == 13 ? kn_trunc_div(a, b)
                  : kind == 14 ? kn_cast(a, dtypes[below(d, 8)])
                               : kn_div(a, b);
    drawn_result(d, y, false);
}

static kn_tensor step(drawn *d, kn_tensor a, kn_tensor b)
{
    int kind = (int)below(d, 16);
    drawn_note(d, "", kind);
    switch (kind) {
    case 0:
        return kn_add(a, b);
    case 1:
        return kn_sub(a, b);
    case 2:
        return kn_mul(a, kn_mul_scalar(b, 0.5));
    case 3:
        return kn_div(a, positive(b));
    case 4:
        return kn_maximum(a, b);
    case 5:
        return kn_exp(kn_clamp(a, -3, 1));
    case 6:
        return kn_tanh(a);
    case 7:
        return kn_sigmoid(a);
    case 8:
        return kn_gelu(a);
    case 9:
        return kn_silu(b);
    case 10:
        return kn_log(positive(a));
    case 11:
        return kn_where(kn_less(b, a), b, kn_mul_scalar(a, 0.5));
    case 12:
        return kn_sqrt(positive(a));
    case 13:
        return kn_mul_scalar(kn_sin(a), 1.5);
    case 14:
        return kn_erf(kn_add(a, b));
    default:
        return kn_leaky_relu(a, 0.125);
    }
}

static void chains(drawn *d)
{
    kn_shape s = drawn_shape(d, 1 + (int32_t)below(d, 5), MOST);
    /* Jumps of halves would differ with the rounding before them: they come in single steps. */
    kn_dtype dtype = drawn_float(d);
    int steps = kn_dtype_bytes(dtype, 1) > 2 ? 1 + (int)below(d, 6) : 1;
    kn_tensor a = operand(d, s, dtype), b = operand(d, s, dtype);
    d->looser = 40;
    for (int i = 0; i < steps; i++) {
        kn_tensor c = kn_keep(step(d, a, b));
        b = below(d, 2) ? a : operand(d, s, dtype);
        a = c;
    }
    if (below(d, 2)) drawn_result(d, a, true);
    int end = (int)below(d, 7);
    int32_t axis = (int32_t)below(d, kn_rank(a));
    drawn_note(d, "end", end);
    drawn_note(d, "axis", axis);
    if (end == 0) drawn_result(d, kn_sum(a, KN_AXES(axis), below(d, 2)), true);
    if (end == 1) drawn_result(d, kn_softmax(a, axis), true);
    if (end == 2) drawn_result(d, kn_layer_norm(a, KN_NONE, KN_NONE, 1, 0.05), true);
    if (end == 3) drawn_result(d, kn_mean(kn_square(a), KN_AXES_ALL, false), true);
    if (end == 4) drawn_result(d, kn_mul(a, kn_sum(a, KN_AXES(axis), true)), true);
    if (end == 5) drawn_result(d, kn_t(kn_atleast(a, 2)), true);
    if (end == 6 || (!d->n_y)) drawn_result(d, kn_mul_scalar(a, 2), true);
}

/* Chains between products. */
static void around_products(drawn *d)
{
    int64_t m = drawn_size(d, 120), n = drawn_size(d, 120), k = drawn_size(d, 120);
    kn_dtype dtype = d->dtype = below(d, 3) ? KN_F32 : KN_F64;
    kn_tensor x = operand(d, KN_SHAPE(m, k), dtype), y = operand(d, KN_SHAPE(m, k), dtype);
    kn_tensor w = drawn_operand(d, KN_SHAPE(n, k), dtype, true),
              bias = drawn_operand(d, KN_SHAPE(n), dtype, true);
    kn_tensor h = kn_keep(kn_tanh(kn_add(x, kn_mul_scalar(y, 0.5))));
    d->looser = 40;
    if (kn_rank(h) < 2 || kn_size(h, -1) != k) h = kn_keep(kn_expand(h, KN_SHAPE(m, k)));
    kn_tensor z = kn_keep(kn_linear(h, w, bias));
    z = kn_keep(step(d, z, operand(d, KN_SHAPE(m, n), dtype)));
    if (below(d, 2)) z = kn_keep(step(d, z, operand(d, KN_SHAPE(m, n), dtype)));
    drawn_result(d, z, true);
    if (below(d, 2)) drawn_result(d, kn_matmul(z, kn_sigmoid(w)), true);
}

static void casts(drawn *d)
{
    static const kn_dtype dtypes[] = {KN_F32, KN_F64, KN_F16, KN_BF16, KN_I8,
                                      KN_U8,  KN_I16, KN_I32, KN_I64,  KN_BOOL};
    kn_dtype from = dtypes[below(d, 10)], to = dtypes[below(d, 10)];
    d->dtype = to == KN_BF16 || to == KN_F16 ? to : from;
    kn_tensor x = operand(d, drawn_shape(d, 1 + (int32_t)below(d, 4), MOST), from);
    if (from != KN_BOOL) x = kn_keep(kn_mul_scalar(x, 3));
    drawn_result(d, kn_cast(x, to), true);
    drawn_result(d, kn_cast(kn_transpose(x, 0, kn_rank(x) - 1), to), true);
}

int main(int n, char **words)
{
    static const drawn_row rows[] = {{"integers", integers, 50},
                                     {"chains", chains, 60},
                                     {"around products", around_products, 25},
                                     {"casts", casts, 30}};
    return drawn_main(rows, (int)(sizeof rows / sizeof *rows), n, words);
}
