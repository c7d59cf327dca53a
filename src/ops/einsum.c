/* einsum: operands are reduced to terms without repeated or lonely axes, then contracted two by two, the cheapest pair
   first. */
#include "ops/einsum.h"
#include "ops/matmul_operands.h"
#include "ops/wide.h"

/* Takes the diagonal of the axes i and k, which have the same label; the axis i stays. */
static kni_term take_diagonal(kni_term t, int i, int k)
{
    kn_shape s = kn_shape_of_tensor(t.tensor);
    kn_ints order = {.rank = 0};
    kni_labels left = {0};
    for (int a = 0; a < t.axes.rank; a++) {
        if (a == i || a == k) continue;
        order.dims[order.rank++] = a;
        left.labels[left.rank++] = t.axes.labels[a];
    }
    left.labels[left.rank++] = t.axes.labels[i];
    kn_shape flat = {.rank = order.rank + 1};
    for (int a = 0; a < order.rank; a++) flat.dims[a] = s.dims[order.dims[a]];
    const int64_t n = s.dims[i];
    order.dims[order.rank++] = i;
    order.dims[order.rank++] = k;
    flat.dims[flat.rank - 1] = n * n;
    t.tensor = kn_slice(kn_reshape(kn_permute(t.tensor, order), flat), flat.rank - 1, 0, n * n, n + 1);
    t.axes = left;
    return t;
}

/* Axes of size 1 that another operand has longer are the same for all of it and leave the term. */
static kni_term drop_repeated_ones(kni_term t, const kni_equation *e)
{
    kn_shape s = kn_shape_of_tensor(t.tensor), kept = {.rank = 0};
    kni_labels left = {0};
    for (int a = 0; a < t.axes.rank; a++) {
        if (s.dims[a] == 1 && e->sizes[t.axes.labels[a]] != 1) continue;
        kept.dims[kept.rank++] = s.dims[a];
        left.labels[left.rank++] = t.axes.labels[a];
    }
    if (left.rank == t.axes.rank) return t;
    t.tensor = kn_reshape(t.tensor, kept);
    t.axes = left;
    return t;
}

static kni_term start_term(kn_tensor x, const kni_equation *e, int operand)
{
    kni_term t = drop_repeated_ones((kni_term){x, e->in[operand]}, e);
    for (int i = 0; i < t.axes.rank; i++)
        for (int k = i + 1; k < t.axes.rank; k++)
            if (t.axes.labels[i] == t.axes.labels[k]) {
                t = take_diagonal(t, i, k);
                i = -1;
                break;
            }
    return t;
}

/* The labels that the output or any term but x and y needs. */
static uint64_t needed(const kni_term *terms, int n, int x, int y, uint64_t out)
{
    for (int i = 0; i < n; i++)
        if (i != x && i != y) out |= kni_label_bits(&terms[i].axes);
    return out;
}

/* How many multiplications a pair takes. */
static double cost_of(const kni_equation *e, uint64_t labels)
{
    double cost = 1;
    for (int l = 0; l < KNI_EINSUM_LABELS; l++)
        if (labels >> l & 1) cost *= (double)e->sizes[l];
    return cost;
}

/* Replaces the cheapest pair by its product; of equally cheap ones the one with the smaller result, then the first. */
static void contract_cheapest(kni_term *terms, int *n, const kni_equation *e, uint64_t out)
{
    int best_x = 0, best_y = 1;
    double best_cost = -1, best_size = 0;
    for (int x = 0; x < *n; x++)
        for (int y = x + 1; y < *n; y++) {
            uint64_t all = kni_label_bits(&terms[x].axes) | kni_label_bits(&terms[y].axes);
            double cost = cost_of(e, all), size = cost_of(e, all & needed(terms, *n, x, y, out));
            if (best_cost >= 0 && (cost > best_cost || (cost == best_cost && size >= best_size))) continue;
            best_x = x;
            best_y = y;
            best_cost = cost;
            best_size = size;
        }
    const uint64_t kept = needed(terms, *n, best_x, best_y, out);
    terms[best_x] = kni_term_contract(terms[best_x], terms[best_y], kept);
    for (int i = best_y; i + 1 < *n; i++) terms[i] = terms[i + 1];
    --*n;
}

/* Whether an equation is one sum or one product. Of more than one the results in between are kept in f32 where they
   would be halves. */
static bool takes_one_step(const kni_equation *e, int n)
{
    if (n != 2) return n == 1;
    uint64_t out = kni_label_bits(&e->out), a = kni_label_bits(&e->in[0]), b = kni_label_bits(&e->in[1]);
    return ((a ^ b) & ~out) == 0;
}

static kn_tensor run_equation(const kni_equation *e, const kn_tensor *operands, int n)
{
    kni_term terms[KNI_EINSUM_OPERANDS];
    const uint64_t out = kni_label_bits(&e->out);
    for (int i = 0; i < n; i++) {
        terms[i] = start_term(operands[i], e, i);
        if (!kn_ok(terms[i].tensor)) return terms[i].tensor;
    }
    for (int i = 0; i < n; i++) {
        terms[i] = kni_term_sum(terms[i], needed(terms, n, i, i, out));
        if (!kn_ok(terms[i].tensor)) return terms[i].tensor;
    }
    while (n > 1) {
        contract_cheapest(terms, &n, e, out);
        for (int i = 0; i < n; i++)
            if (!kn_ok(terms[i].tensor)) return terms[i].tensor;
    }
    return kni_term_permute(terms[0], &e->out);
}

kn_tensor kn_einsum(const char *equation, const kn_tensor *operands, int32_t n)
{
    kni_call call = kni_call_begin("einsum");
    kn_shape shapes[KNI_EINSUM_OPERANDS];
    kn_tensor kept[KNI_EINSUM_OPERANDS], bad;
    kni_equation e;
    if (n > 0 && !operands)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "the list of %d operands is NULL", n);
    if (n < 1 || n > KNI_EINSUM_OPERANDS)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "%d operands; it takes 1 to %d", n,
                             KNI_EINSUM_OPERANDS);
    if (!kni_operands_ready(operands, n, &bad)) return kni_call_end(call, bad);
    for (int i = 0; i < n; i++) shapes[i] = kn_shape_of_tensor(operands[i]);
    if (kni_einsum_parse(equation, shapes, n, &e)) return kni_call_end(call, kni_poison_latest());
    for (int i = 0; i < n && n > 1; i++)
        if (kni_dtype_stored(kn_dtype_of(operands[i])))
            return kni_call_fail(
                call, KN_ERROR_DTYPE,
                "does not take %T, which is only stored: cast operand %d first with kn_cast()",
                (int)kn_dtype_of(operands[i]), i);
    const int dtype = kni_operands_dtype(operands, n);
    const int inside = takes_one_step(&e, n) ? dtype : kni_sum_dtype(dtype);
    for (int i = 0; i < n; i++) kept[i] = kni_as(kn_keep(operands[i]), inside);
    kn_tensor y = run_equation(&e, kept, n);
    if (inside != dtype) y = kni_as(y, dtype);
    /* A lone operand that nothing happened to is still handed out as a new tensor. */
    for (int i = 0; i < n; i++)
        if (y.bits == kept[i].bits && kn_ok(y)) y = kn_alias(y);
    return kni_call_end(call, y);
}
