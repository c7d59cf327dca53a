/* Terms with labelled axes: sums, permutations, and the product of two as one matrix product. */
#include "ops/einsum.h"

static bool has(uint64_t bits, int label) { return bits >> label & 1; }

kni_term kni_term_sum(kni_term t, uint64_t kept)
{
    kn_ints axes = {.rank = 0};
    kni_labels left = {0};
    for (int i = 0; i < t.axes.rank; i++) {
        if (has(kept, t.axes.labels[i]))
            left.labels[left.rank++] = t.axes.labels[i];
        else
            axes.dims[axes.rank++] = i;
    }
    if (axes.rank == 0) return t;
    t.tensor = kn_sum(t.tensor, axes, false); /* integers become i64 */
    t.axes = left;
    return t;
}

static int place_of(const kni_labels *l, int label)
{
    for (int i = 0; i < l->rank; i++)
        if (l->labels[i] == label) return i;
    return -1;
}

kn_tensor kni_term_permute(kni_term t, const kni_labels *order)
{
    kn_ints axes = {.rank = order->rank};
    bool same = true;
    for (int i = 0; i < order->rank; i++) {
        axes.dims[i] = place_of(&t.axes, order->labels[i]);
        same &= axes.dims[i] == i;
    }
    return same ? t.tensor : kn_permute(t.tensor, axes);
}

static kni_labels joined(const kni_labels *a, const kni_labels *b)
{
    kni_labels r = *a;
    for (int i = 0; i < b->rank && r.rank < KN_MAX_RANK; i++) r.labels[r.rank++] = b->labels[i];
    return r;
}

/* The labels of l that are in `in`, in l's order. */
static kni_labels chosen(const kni_labels *l, uint64_t in)
{
    kni_labels r = {0};
    for (int i = 0; i < l->rank; i++)
        if (has(in, l->labels[i])) r.labels[r.rank++] = l->labels[i];
    return r;
}

static void push_sizes(kn_shape *s, kni_term t, const kni_labels *l)
{
    kn_shape shape = kn_shape_of_tensor(t.tensor);
    for (int i = 0; i < l->rank && s->rank < KN_MAX_RANK; i++)
        s->dims[s->rank++] = shape.dims[place_of(&t.axes, l->labels[i])];
}

static int64_t product_of(kni_term t, const kni_labels *l)
{
    kn_shape s = {.rank = 0};
    push_sizes(&s, t, l);
    return kni_count_dims(s.rank, s.dims);
}

/* Without anything to sum over: a product with broadcasting. */
static kn_tensor multiply(kni_term a, kni_term b, const kni_labels *both, const kni_labels *of_a,
                          const kni_labels *of_b)
{
    kn_shape sa = {.rank = 0}, sb = {.rank = 0};
    push_sizes(&sa, a, both);
    push_sizes(&sa, a, of_a);
    push_sizes(&sb, b, both);
    for (int i = 0; i < of_b->rank; i++) sa.dims[sa.rank++] = 1;
    for (int i = 0; i < of_a->rank; i++) sb.dims[sb.rank++] = 1;
    push_sizes(&sb, b, of_b);
    kni_labels order_a = joined(both, of_a), order_b = joined(both, of_b);
    return kn_mul(kn_reshape(kni_term_permute(a, &order_a), sa),
                  kn_reshape(kni_term_permute(b, &order_b), sb));
}

/* An operand of the matrix product: the batch axes as they are (or merged), then two merged groups. Groups of one
   axis need no reshape, so that transposed operands are not copied. */
static kn_tensor as_matrices(kni_term t, const kni_labels *batch, const kni_labels *rows,
                             const kni_labels *cols)
{
    kni_labels order = joined(batch, rows);
    order = joined(&order, cols);
    kn_shape s = {.rank = 0};
    push_sizes(&s, t, batch);
    if (s.rank > KN_MAX_RANK - 2) {
        s.dims[0] = kni_count_dims(s.rank, s.dims);
        s.rank = 1;
    }
    bool plain = rows->rank == 1 && cols->rank == 1 && s.rank == batch->rank;
    s.dims[s.rank++] = product_of(t, rows);
    s.dims[s.rank++] = product_of(t, cols);
    kn_tensor x = kni_term_permute(t, &order);
    return plain ? x : kn_reshape(x, s);
}

kni_term kni_term_contract(kni_term a, kni_term b, uint64_t kept)
{
    const uint64_t bits_a = kni_label_bits(&a.axes), bits_b = kni_label_bits(&b.axes),
                   shared = bits_a & bits_b;
    const kni_labels both = chosen(&a.axes, shared & kept), summed = chosen(&a.axes, shared & ~kept);
    const kni_labels of_a = chosen(&a.axes, bits_a & ~bits_b), of_b = chosen(&b.axes, bits_b & ~bits_a);
    kni_term y = {.axes = joined(&both, &of_a)};
    if (both.rank + of_a.rank + of_b.rank > KN_MAX_RANK) {
        kni_fail_op(KN_ERROR_SHAPE, NULL, "a product would have %d axes; at most %d are possible",
                    both.rank + of_a.rank + of_b.rank, KN_MAX_RANK);
        y.tensor = kni_poison_latest();
        return y;
    }
    y.axes = joined(&y.axes, &of_b);
    if (summed.rank == 0) {
        y.tensor = multiply(a, b, &both, &of_a, &of_b);
        return y;
    }
    kn_shape s = {.rank = 0};
    push_sizes(&s, a, &both);
    push_sizes(&s, a, &of_a);
    push_sizes(&s, b, &of_b);
    kn_tensor left = as_matrices(a, &both, &of_a, &summed), right = as_matrices(b, &both, &summed, &of_b);
    kn_dtype of_left = kn_dtype_of(left), of_right = kn_dtype_of(right);
    if (kn_ok(left) && kn_ok(right) && of_left != of_right) { /* one of them is a sum of integers */
        kn_dtype common = kn_dtype_promote(of_left, of_right);
        left = kn_cast(left, common);
        right = kn_cast(right, common);
    }
    y.tensor = kn_matmul(left, right);
    bool plain = of_a.rank == 1 && of_b.rank == 1 && both.rank <= KN_MAX_RANK - 2;
    if (!plain) y.tensor = kn_reshape(y.tensor, s);
    return y;
}
