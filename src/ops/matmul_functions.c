/* Products made of matmul: dot, outer, tensordot, chains and the like. */
#include "ops/einsum.h"
#include "ops/matmul_operands.h"
#include "ops/wide.h"

bool kni_operands_ready(const kn_tensor *x, int n, kn_tensor *bad)
{
    for (int i = 0; i < n; i++) {
        *bad = x[i];
        if (kni_is_poisoned(x[i])) return false;
        const kni_tensor *t = kni_resolve(x[i], NULL);
        if (!t) *bad = kni_poison_latest();
        if (!t || kni_tensor_failed(t, bad)) return false;
    }
    kni_call_share(x, n);
    return true;
}

kn_dtype kni_operands_dtype(const kn_tensor *x, int n)
{
    kn_dtype dtype = kn_dtype_of(x[0]);
    for (int i = 1; i < n; i++) dtype = kn_dtype_promote(dtype, kn_dtype_of(x[i]));
    return dtype;
}

static const kni_type *type_of(kn_tensor x) { return &kni_peek(x)->type; }

static kni_call begin(const char *name, const kn_tensor *x, int n, kn_tensor *bad, bool *good)
{
    kni_call call = kni_call_begin(name);
    *good = kni_operands_ready(x, n, bad);
    return call;
}

/* Opens a composite and returns from the function when an operand cannot be used. */
#define BEGIN(name, ...)                                                                                     \
    kn_tensor bad_;                                                                                          \
    bool good_;                                                                                              \
    const kn_tensor all_[] = {__VA_ARGS__};                                                                  \
    kni_call call = begin(name, all_, KNI_COUNT(all_), &bad_, &good_);                                       \
    if (!good_) return kni_call_end(call, bad_)

kn_tensor kn_dot(kn_tensor a, kn_tensor b)
{
    BEGIN("dot", a, b);
    const kni_type *ta = type_of(a), *tb = type_of(b);
    if (ta->rank != 1 || tb->rank != 1)
        return kni_call_fail(call, KN_ERROR_SHAPE, "operands must have rank 1: a %S, b %S; use kn_matmul()",
                             ta, tb);
    return kni_call_end(call, kn_matmul(a, b));
}

kn_tensor kn_matvec(kn_tensor a, kn_tensor x)
{
    BEGIN("matvec", a, x);
    const kni_type *ta = type_of(a), *tx = type_of(x);
    if (ta->rank < 2 || tx->rank < 1)
        return kni_call_fail(call, KN_ERROR_SHAPE, "a needs two axes and x one: a %S, x %S", ta, tx);
    return kni_call_end(call, kn_squeeze(kn_matmul(a, kn_unsqueeze(x, -1)), -1));
}

kn_tensor kn_outer(kn_tensor a, kn_tensor b)
{
    BEGIN("outer", a, b);
    const kni_type *ta = type_of(a), *tb = type_of(b);
    if (ta->rank != 1 || tb->rank != 1)
        return kni_call_fail(call, KN_ERROR_SHAPE,
                             "operands must have rank 1: a %S, b %S; use kn_outer_dim()", ta, tb);
    return kni_call_end(call, kn_mul(kn_unsqueeze(a, 1), kn_unsqueeze(b, 0)));
}

kn_tensor kn_outer_dim(kn_tensor a, kn_tensor b, int32_t axis)
{
    BEGIN("outer_dim", a, b);
    const kni_type *ta = type_of(a), *tb = type_of(b);
    const int rank = ta->rank;
    if (rank != tb->rank || rank < 1 || rank >= KN_MAX_RANK)
        return kni_call_fail(call, KN_ERROR_SHAPE, "operands must have the same rank, 1 to %d: a %S, b %S",
                             KN_MAX_RANK - 1, ta, tb);
    const int32_t at = axis < 0 ? axis + rank : axis;
    if (at < 0 || at >= rank)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "axis %d is outside a tensor of rank %d", axis, rank);
    return kni_call_end(call, kn_mul(kn_unsqueeze(a, at + 1), kn_unsqueeze(b, at)));
}

kn_tensor kn_addmm(kn_tensor c, kn_tensor a, kn_tensor b, double beta, double alpha)
{
    BEGIN("addmm", c, a, b);
    kn_tensor in[3] = {a, b, c};
    int dtype = alpha == 1 && beta == 0 ? 0 : kni_widen_all(in, 3);
    kn_tensor y = kn_matmul(in[0], in[1]);
    c = in[2];
    if (alpha != 1) y = kn_mul_scalar(y, alpha);
    if (!kn_ok(y) || !kn_ok(c)) return kni_call_end(call, kn_ok(y) ? c : y);
    const kni_type *ty = type_of(y), *tc = type_of(c);
    bool fits = tc->rank <= ty->rank;
    for (int i = 0; i < tc->rank && fits; i++) {
        const kn_dim d = tc->dims[i], whole = ty->dims[ty->rank - tc->rank + i];
        fits = d == 1 || d == whole;
    }
    if (!fits)
        return kni_call_fail(call, KN_ERROR_SHAPE, "c %S does not broadcast to the product %S", tc, ty);
    if (beta == 0) return kni_call_end_as(call, y, dtype);
    return kni_call_end_as(call, kn_add(y, beta == 1 ? c : kn_mul_scalar(c, beta)), dtype);
}

kn_tensor kn_bilinear(kn_tensor a, kn_tensor b, kn_tensor w, kn_tensor bias)
{
    BEGIN("bilinear", a, b, w);
    const kni_type *ta = type_of(a), *tb = type_of(b), *tw = type_of(w);
    if (ta->rank < 1 || tb->rank < 1 || tw->rank != 3 ||
        !kni_same_dims(&(kni_type){.rank = 2, .dims = {tw->dims[1], tw->dims[2]}},
                       &(kni_type){.rank = 2, .dims = {ta->dims[ta->rank - 1], tb->dims[tb->rank - 1]}}))
        return kni_call_fail(call, KN_ERROR_SHAPE,
                             "the weight must be [out, a size, b size]: a %S, b %S, weight %S", ta, tb, tw);
    kn_tensor in[4] = {a, w, b, bias};
    int dtype = kni_widen_all(in, 4);
    kn_tensor y = kn_einsum("...i,oij,...j->...o", in, 3);
    return kni_call_end_as(call, bias.bits ? kn_add(y, in[3]) : y, dtype);
}

/* ---- tensordot */

/* Labels for tensordot: those of a are 0 to 7, those of b 8 to 15 unless paired. */
static bool label_pairs(const kni_type *ta, const kni_type *tb, kn_ints *axes_a, kn_ints *axes_b,
                        kni_labels *a, kni_labels *b)
{
    uint32_t used_a = 0, used_b = 0;
    a->rank = ta->rank;
    b->rank = tb->rank;
    for (int i = 0; i < ta->rank && i < KN_MAX_RANK; i++) a->labels[i] = (uint8_t)i;
    for (int i = 0; i < tb->rank && i < KN_MAX_RANK; i++) b->labels[i] = (uint8_t)(KN_MAX_RANK + i);
    for (int i = 0; i < axes_a->rank; i++) {
        int64_t x = axes_a->dims[i], y = axes_b->dims[i];
        x += x < 0 ? ta->rank : 0;
        y += y < 0 ? tb->rank : 0;
        if (x < 0 || x >= ta->rank || y < 0 || y >= tb->rank || used_a >> x & 1 || used_b >> y & 1)
            return false;
        used_a |= 1u << x;
        used_b |= 1u << y;
        b->labels[y] = a->labels[x];
        axes_a->dims[i] = x;
        axes_b->dims[i] = y;
    }
    return true;
}

kn_tensor kn_tensordot(kn_tensor a, kn_tensor b, kn_ints axes_a, kn_ints axes_b)
{
    BEGIN("tensordot", a, b);
    const kni_type *ta = type_of(a), *tb = type_of(b);
    kni_term x, y;
    if (axes_a.rank != axes_b.rank || axes_a.rank < 0 || axes_a.rank > KN_MAX_RANK)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "%d axes of a are paired with %d of b", axes_a.rank,
                             axes_b.rank);
    if (!label_pairs(ta, tb, &axes_a, &axes_b, &x.axes, &y.axes))
        return kni_call_fail(call, KN_ERROR_ARGUMENT,
                             "axes %N of a %S and %N of b %S: an axis is outside or twice", &axes_a, ta,
                             &axes_b, tb);
    uint64_t summed = 0;
    for (int i = 0; i < axes_a.rank; i++) {
        const kn_dim da = ta->dims[axes_a.dims[i]], db = tb->dims[axes_b.dims[i]];
        if (da != db)
            return kni_call_fail(call, KN_ERROR_SHAPE, "inner sizes differ: a %S x b %S (%D != %D)", ta, tb,
                                 da, db);
        summed |= UINT64_C(1) << axes_a.dims[i];
    }
    x.tensor = kn_keep(a);
    y.tensor = kn_keep(b);
    return kni_call_end(call, kni_term_contract(x, y, ~summed).tensor);
}

/* ---- kron and cross */

kn_tensor kn_kron(kn_tensor a, kn_tensor b)
{
    BEGIN("kron", a, b);
    const kni_type *ta = type_of(a), *tb = type_of(b);
    const int rank = ta->rank > tb->rank ? ta->rank : tb->rank;
    kn_shape sa = {.rank = 2 * rank}, sb = {.rank = 2 * rank}, sy = {.rank = rank};
    if (2 * rank > KN_MAX_RANK)
        return kni_call_fail(call, KN_ERROR_SHAPE, "operands may have up to %d axes: a %S, b %S",
                             KN_MAX_RANK / 2, ta, tb);
    for (int i = 0; i < rank; i++) {
        const int from_a = i - (rank - ta->rank), from_b = i - (rank - tb->rank);
        sa.dims[2 * i] = from_a < 0 ? 1 : ta->dims[from_a];
        sb.dims[2 * i + 1] = from_b < 0 ? 1 : tb->dims[from_b];
        sa.dims[2 * i + 1] = sb.dims[2 * i] = 1;
        if (__builtin_mul_overflow(sa.dims[2 * i], sb.dims[2 * i + 1], &sy.dims[i]))
            return kni_call_fail(call, KN_ERROR_SHAPE, "the result is too large: a %S, b %S", ta, tb);
    }
    return kni_call_end(call, kn_reshape(kn_mul(kn_reshape(a, sa), kn_reshape(b, sb)), sy));
}

/* Elements 1, 2, 0 (by = 1) or 2, 0, 1 (by = 2) along the axis. */
static kn_tensor rotated(kn_tensor x, int32_t axis, int64_t by)
{
    kn_tensor parts[2] = {kn_narrow(x, axis, by, 3 - by), kn_narrow(x, axis, 0, by)};
    return kn_concat(parts, 2, axis);
}

kn_tensor kn_cross(kn_tensor a, kn_tensor b, int32_t axis)
{
    BEGIN("cross", a, b);
    const kni_type *ta = type_of(a), *tb = type_of(b);
    const int rank = ta->rank;
    const int32_t at = axis < 0 ? axis + rank : axis;
    if (tb->rank != rank || at < 0 || at >= rank)
        return kni_call_fail(call, KN_ERROR_SHAPE, "axis %d of operands of the same rank: a %S, b %S", axis,
                             ta, tb);
    if (ta->dims[at] != 3 || tb->dims[at] != 3)
        return kni_call_fail(call, KN_ERROR_SHAPE, "axis %d must have size 3: a %S, b %S", axis, ta, tb);
    kn_tensor in[2] = {a, b};
    int dtype = kni_widen_all(in, 2);
    a = kn_keep(in[0]);
    b = kn_keep(in[1]);
    kn_tensor y =
        kn_sub(kn_mul(rotated(a, at, 1), rotated(b, at, 2)), kn_mul(rotated(a, at, 2), rotated(b, at, 1)));
    return kni_call_end_as(call, y, dtype);
}

/* ---- chains */

enum { MAX_CHAIN = 64 };

typedef struct chain {
    int64_t sizes[MAX_CHAIN + 1]; /* matrix i is sizes[i] x sizes[i + 1] */
    uint8_t split[MAX_CHAIN][MAX_CHAIN];
    kn_tensor matrices[MAX_CHAIN];
} chain;

/* The cheapest way to bracket, by the usual table over the spans of the chain. */
static void plan_chain(chain *c, int n, double (*cost)[MAX_CHAIN])
{
    for (int i = 0; i < n; i++) cost[i][i] = 0;
    for (int length = 2; length <= n; length++)
        for (int i = 0; i + length <= n; i++) {
            const int last = i + length - 1;
            cost[i][last] = -1;
            for (int k = i; k < last; k++) {
                const double own = (double)c->sizes[i] * (double)c->sizes[k + 1] * (double)c->sizes[last + 1];
                const double all = cost[i][k] + cost[k + 1][last] + own;
                if (cost[i][last] >= 0 && all >= cost[i][last]) continue;
                cost[i][last] = all;
                c->split[i][last] = (uint8_t)k;
            }
        }
}

static kn_tensor multiply_chain(const chain *c, int first, int last)
{
    if (first == last) return c->matrices[first];
    const int k = c->split[first][last];
    kn_tensor left = multiply_chain(c, first, k);
    return kn_matmul(left, multiply_chain(c, k + 1, last));
}

kn_tensor kn_multi_dot(const kn_tensor *x, int32_t n)
{
    kni_call call = kni_call_begin("multi_dot");
    kn_tensor bad;
    chain c;
    double cost[MAX_CHAIN][MAX_CHAIN];
    if (n < 2 || n > MAX_CHAIN || !x)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "%d operands; it takes 2 to %d", n, MAX_CHAIN);
    if (!kni_operands_ready(x, n, &bad)) return kni_call_end(call, bad);
    const bool row = type_of(x[0])->rank == 1, column = type_of(x[n - 1])->rank == 1;
    for (int i = 0; i < n; i++) {
        const kni_type *t = type_of(x[i]);
        const bool vector = t->rank == 1 && (i == 0 || i == n - 1);
        if (t->rank != 2 && !vector)
            return kni_call_fail(call, KN_ERROR_SHAPE, "operand %d must be a matrix%s, not %S", i,
                                 i == 0 || i == n - 1 ? " or a vector" : "", t);
        const int64_t rows = vector ? (i == 0 ? 1 : t->dims[0]) : t->dims[0];
        if (i > 0 && rows != c.sizes[i])
            return kni_call_fail(call, KN_ERROR_SHAPE,
                                 "inner sizes differ: operand %d %S x operand %d %S (%D != %D)", i - 1,
                                 type_of(x[i - 1]), i, t, c.sizes[i], rows);
        c.sizes[i] = rows;
        c.sizes[i + 1] = vector ? (i == 0 ? t->dims[0] : 1) : t->dims[1];
    }
    for (int i = 0; i < n; i++) {
        c.matrices[i] = kn_keep(n > 2 ? kni_widen(kn_keep(x[i])) : x[i]);
        if (i == 0 && row) c.matrices[i] = kn_unsqueeze(c.matrices[i], 0);
        if (i == n - 1 && column) c.matrices[i] = kn_unsqueeze(c.matrices[i], 1);
    }
    const int dtype = (int)kni_operands_dtype(x, n);
    plan_chain(&c, n, cost);
    kn_tensor y = multiply_chain(&c, 0, n - 1);
    if (column) y = kn_squeeze(y, 1);
    if (row) y = kn_squeeze(y, 0);
    return kni_call_end_as(call, y, dtype);
}
