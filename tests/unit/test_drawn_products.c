/* Matrix products, linear layers and attention of drawn sizes, batches and layouts, and their gradients: equal to `ref` on every tier
   and in groups. */
#include "support/drawn_sizes.h"
#include <kn/contraction.h>

enum { MOST = 1 << 18 };

/* m, n and k; small ones, long ones, and many products of a batch. */
static void sizes(drawn *d, int64_t *m, int64_t *n, int64_t *k)
{
    int64_t left = MOST, *list[3] = {m, n, k};
    int first = (int)below(d, 3);
    for (int i = 0; i < 3; i++) {
        int64_t size = drawn_size(d, left < 1500 ? left : 1500);
        *list[(first + i) % 3] = size;
        left /= size;
    }
}

static void matmul(drawn *d)
{
    static const kn_dtype dtypes[] = {KN_F32,  KN_F32, KN_F32, KN_F64, KN_F16,
                                      KN_BF16, KN_I8,  KN_I32, KN_I64, KN_U8};
    kn_dtype dtype = d->dtype = dtypes[below(d, 10)];
    int64_t m, n, k, batch[2] = {1, 1};
    sizes(d, &m, &n, &k);
    int32_t axes = (int32_t)below(d, 3);
    for (int32_t i = 0, left = (int32_t)(MOST / (m * n * k)); i < axes; i++) {
        batch[i] = drawn_size(d, left < 40 ? left + 1 : 40);
        left /= (int32_t)batch[i];
    }
    kn_shape a = {0}, b = {0};
    bool bare = below(d, 4) == 0;
    for (int32_t i = 0; i < axes; i++) {
        a.dims[a.rank++] = below(d, 5) ? batch[i] : 1;
        if (!bare) b.dims[b.rank++] = below(d, 5) ? batch[i] : 1;
    }
    a.dims[a.rank++] = m, a.dims[a.rank++] = k;
    b.dims[b.rank++] = k, b.dims[b.rank++] = n;
    if (dtype == KN_F16 || dtype == KN_BF16) d->small = true;
    /* Both turned, one, or none. */
    int turned = (int)below(d, 4);
    if (turned & 1) a.dims[a.rank - 1] = m, a.dims[a.rank - 2] = k;
    if (turned & 2) b.dims[b.rank - 1] = k, b.dims[b.rank - 2] = n;
    drawn_note(d, "turned", turned);
    kn_tensor x = drawn_operand(d, a, dtype, true), y = drawn_operand(d, b, dtype, true);
    if (turned & 1) x = kn_keep(kn_t(x));
    if (turned & 2) y = kn_keep(kn_t(y));
    kn_tensor z = kn_matmul(x, y);
    if (kn_dtype_is_float(dtype)) {
        if (below(d, 4) == 0) z = kn_add(z, drawn_operand(d, KN_SHAPE(n), dtype, true));
        z = drawn_tail(d, z);
    }
    drawn_result(d, z, true);
}

static void linear(drawn *d)
{
    int64_t m, n, k;
    sizes(d, &m, &n, &k);
    kn_dtype dtype = drawn_float(d);
    d->small = below(d, 2);
    kn_shape s = {1 + (int32_t)below(d, 3), {0}};
    for (int32_t i = 0; i < s.rank - 1; i++) {
        s.dims[i] = i == s.rank - 2 ? m : drawn_size(d, m);
        m /= s.dims[i];
        if (!m) m = 1;
    }
    s.dims[s.rank - 1] = k;
    kn_tensor x = drawn_operand(d, s, dtype, true), w = drawn_operand(d, KN_SHAPE(n, k), dtype, true);
    kn_tensor bias = below(d, 2) ? drawn_operand(d, KN_SHAPE(n), dtype, true) : KN_NONE;
    kn_tensor y = drawn_tail(d, kn_linear(x, w, bias));
    if (below(d, 4) == 0) y = kn_add(y, drawn_operand(d, kn_shape_of_tensor(y), dtype, true));
    drawn_result(d, y, true);
}

static void integers(drawn *d)
{
    int64_t m, n, k;
    sizes(d, &m, &n, &k);
    kn_dtype at = below(d, 2) ? KN_U8 : KN_I8, bt = below(d, 2) ? KN_U8 : KN_I8;
    kn_tensor a =
        drawn_between(d, KN_SHAPE(m, k), at, false, at == KN_U8 ? 0 : -128, at == KN_U8 ? 255 : 127);
    kn_tensor b =
        drawn_between(d, KN_SHAPE(k, n), bt, false, bt == KN_U8 ? 0 : -128, bt == KN_U8 ? 255 : 127);
    kn_tensor a_zero =
        below(d, 2) ? drawn_between(d, below(d, 2) ? KN_SHAPE(m, 1) : KN_SHAPE(1), at, false, 0, 9) : KN_NONE;
    kn_tensor b_zero =
        below(d, 2) ? drawn_between(d, below(d, 2) ? KN_SHAPE(n) : KN_SHAPE(1), bt, false, 0, 9) : KN_NONE;
    drawn_result(d, kn_matmul_integer(a, b, a_zero, b_zero), false);
}

static void quantized(drawn *d)
{
    int64_t m, n, k;
    sizes(d, &m, &n, &k);
    static const int64_t blocks[] = {0, 16, 32, 64};
    kn_linear_quantized_args args = {.block = blocks[below(d, 4)],
                                     .bits = below(d, 2)   ? 0
                                             : below(d, 2) ? 4
                                                           : 2};
    kn_dtype wt = args.bits || below(d, 2) ? KN_U8 : KN_I8;
    int64_t per = args.bits ? 8 / args.bits : 1, parts = args.block ? (k + args.block - 1) / args.block : 1;
    kn_shape scales = args.block ? KN_SHAPE(n, parts) : below(d, 2) ? KN_SHAPE(n) : KN_SHAPE(1);
    kn_tensor x = drawn_operand(d, KN_SHAPE(m, k), KN_F32, true);
    kn_tensor w = drawn_between(d, KN_SHAPE(n, (k + per - 1) / per), wt, false, wt == KN_U8 ? 0 : -128,
                                wt == KN_U8 ? 255 : 127);
    kn_tensor scale = drawn_between(d, scales, KN_F32, false, 0.125, 1);
    kn_tensor zero = below(d, 2) ? drawn_between(d, scales, KN_F32, false, 0, 3) : KN_NONE;
    kn_tensor bias = below(d, 2) ? drawn_operand(d, KN_SHAPE(n), KN_F32, true) : KN_NONE;
    drawn_note(d, "bits", args.bits);
    drawn_note(d, "block", args.block);
    drawn_result(d, kn_linear_quantized(x, w, scale, zero, bias, &args), true);
}

static void attention(drawn *d)
{
    int64_t batch = drawn_size(d, 3), key_heads = drawn_size(d, 3), heads = key_heads * drawn_size(d, 3);
    int64_t size = drawn_size(d, 96), wide = below(d, 2) ? size : drawn_size(d, 96);
    int64_t left = (1 << 19) / (batch * heads * (size + wide));
    int64_t queries = drawn_size(d, left < 300 ? left : 300);
    left = left / queries + 1;
    int64_t keys = below(d, 2) && queries <= left ? queries : drawn_size(d, left < 600 ? left : 600);
    kn_dtype dtype = drawn_float(d);
    kn_tensor q = drawn_operand(d, KN_SHAPE(batch, heads, queries, size), dtype, true);
    kn_tensor k = drawn_operand(d, KN_SHAPE(batch, key_heads, keys, size), dtype, true);
    kn_tensor v = drawn_operand(d, KN_SHAPE(batch, key_heads, keys, wide), dtype, true);
    kn_attention_args args = {
        .is_causal = below(d, 3) == 0, .softcap = below(d, 4) ? 0 : 5, .scale = below(d, 2) ? 0 : 0.125};
    kn_shape full = KN_SHAPE(below(d, 2) ? batch : 1, below(d, 2) ? heads : 1, below(d, 4) ? queries : 1,
                             below(d, 4) ? keys : 1);
    if (below(d, 3) == 0) args.mask = drawn_operand(d, full, KN_BOOL, false);
    if (below(d, 3) == 0) args.bias = drawn_operand(d, full, dtype, true);
    drawn_note(d, "causal", args.is_causal);
    drawn_note(d, "softcap", (int64_t)args.softcap);
    d->looser = 4;
    drawn_result(d, kn_attention(q, k, v, &args), true);
}

int main(int n, char **words)
{
    static const drawn_row rows[] = {{"matmul", matmul, 50},
                                     {"linear", linear, 50},
                                     {"integers", integers, 30},
                                     {"quantized", quantized, 30},
                                     {"attention", attention, 40}};
    return drawn_main(rows, (int)(sizeof rows / sizeof *rows), n, words);
}
