/* Computing with symbolic sizes. A sum holds each product of unknowns once, products hold their factors in order, and what is larger is
   decided by the bounds of the difference. */
#include "core/dim_set.h"

#ifndef KN_FREESTANDING

#include <string.h>

enum { SPLITS = 4 };

typedef kni_dim_node node;
typedef kni_dim_range range;

static const char *problem_of_set(void)
{
    const char *problem = kni_dims_entered ? kni_dims_entered->problem : NULL;
    if (kni_dims_entered) kni_dims_entered->problem = NULL;
    return problem;
}

static kni_dim_kind kind_of(kn_dim d)
{
    const node *e = kni_dim_at(d);
    return e ? (kni_dim_kind)e->kind : KNI_DIM_CONSTANT;
}

/* ---- sums of products */

typedef struct sum {
    int n;
    bool bad;
    kni_dim_term terms[KNI_DIM_TERMS];
} sum;

int kni_dim_terms(kn_dim d, kni_dim_term *terms)
{
    const node *e = kni_dim_at(d);
    if (e && e->kind == KNI_DIM_SUM) {
        memcpy(terms, kni_dims_entered->terms + e->first, (size_t)e->n * sizeof *terms);
        return e->n;
    }
    terms[0] = (kni_dim_term){e ? 1 : d, e ? 1 : 0, {e ? d : 0}};
    return d == 0 ? 0 : 1;
}

/* A dimension that is neither a number nor an expression of the set makes everything bad. */
static sum sum_of(kn_dim d)
{
    sum s = {.bad = !kni_dim_is_number(d) && !kni_dim_at(d)};
    if (!s.bad) s.n = kni_dim_terms(d, s.terms);
    return s;
}

static int compare_factors(const kni_dim_term *a, const kni_dim_term *b)
{
    if (a->n_factors != b->n_factors) return a->n_factors > b->n_factors ? -1 : 1;
    for (int i = 0; i < a->n_factors; i++)
        if (a->factors[i] != b->factors[i]) return a->factors[i] > b->factors[i] ? -1 : 1;
    return 0;
}

/* Terms stand in order: products of many unknowns first, the constant last. A factor that has no opposite is too large. */
static void add_term(sum *s, const kni_dim_term *t)
{
    int i = 0;
    while (i < s->n && compare_factors(&s->terms[i], t) < 0) i++;
    if (i < s->n && !compare_factors(&s->terms[i], t)) {
        int64_t *c = &s->terms[i].coefficient;
        if (__builtin_add_overflow(*c, t->coefficient, c) || *c == INT64_MIN) s->bad = true;
        if (*c == 0) memmove(&s->terms[i], &s->terms[i + 1], (size_t)(--s->n - i) * sizeof *s->terms);
        return;
    }
    if (s->n == KNI_DIM_TERMS) {
        s->bad = true;
        return;
    }
    memmove(&s->terms[i + 1], &s->terms[i], (size_t)(s->n++ - i) * sizeof *s->terms);
    s->terms[i] = *t;
}

static kni_dim_term product(const kni_dim_term *a, const kni_dim_term *b, bool *bad)
{
    kni_dim_term t = {0, 0, {0}};
    if (__builtin_mul_overflow(a->coefficient, b->coefficient, &t.coefficient) ||
        t.coefficient == INT64_MIN || a->n_factors + b->n_factors > KNI_DIM_FACTORS) {
        *bad = true;
        return t;
    }
    int i = 0, k = 0;
    while (i < a->n_factors || k < b->n_factors) {
        bool first = k == b->n_factors || (i < a->n_factors && a->factors[i] > b->factors[k]);
        t.factors[t.n_factors++] = first ? a->factors[i++] : b->factors[k++];
    }
    return t;
}

/* s + sign t */
static void add_sum(sum *s, const sum *t, int64_t sign)
{
    s->bad |= t->bad;
    for (int i = 0; i < t->n && !s->bad; i++) {
        kni_dim_term term = t->terms[i];
        if (__builtin_mul_overflow(term.coefficient, sign, &term.coefficient))
            s->bad = true;
        else
            add_term(s, &term);
    }
}

static sum multiply(const sum *x, const sum *y)
{
    sum s = {.bad = x->bad || y->bad};
    for (int i = 0; i < x->n && !s.bad; i++)
        for (int k = 0; k < y->n && !s.bad; k++) {
            kni_dim_term t = product(&x->terms[i], &y->terms[k], &s.bad);
            if (!s.bad) add_term(&s, &t);
        }
    return s;
}

/* ---- bounds */

static bool is_endless(int64_t bound) { return bound == INT64_MIN || bound == INT64_MAX; }

static int64_t bound_product(int64_t a, int64_t b)
{
    int64_t r;
    if (a == 0 || b == 0) return 0;
    if (!is_endless(a) && !is_endless(b) && !__builtin_mul_overflow(a, b, &r)) return r;
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

static range range_product(range a, range b)
{
    int64_t all[4] = {bound_product(a.low, b.low), bound_product(a.low, b.high), bound_product(a.high, b.low),
                      bound_product(a.high, b.high)};
    range r = {all[0], all[0]};
    for (int i = 1; i < 4; i++) {
        if (all[i] < r.low) r.low = all[i];
        if (all[i] > r.high) r.high = all[i];
    }
    return r;
}

/* `endless` is what the bound is where one of the two is. */
static int64_t bound_sum(int64_t a, int64_t b, int64_t endless)
{
    int64_t r;
    if (a == endless || b == endless) return endless;
    if (__builtin_add_overflow(a, b, &r)) return b > 0 ? INT64_MAX : INT64_MIN;
    return r;
}

static range range_of(kn_dim d)
{
    const node *e = kni_dim_at(d);
    return e ? e->values : (range){d, d};
}

static range range_of_terms(const kni_dim_term *terms, int n)
{
    range total = {0, 0};
    for (int i = 0; i < n; i++) {
        range r = {terms[i].coefficient, terms[i].coefficient};
        for (int k = 0; k < terms[i].n_factors; k++) r = range_product(r, range_of(terms[i].factors[k]));
        total = (range){bound_sum(total.low, r.low, INT64_MIN), bound_sum(total.high, r.high, INT64_MAX)};
    }
    return total;
}

/* Of a quotient; there is none where the divisor is below 1. */
static range range_quotient(range a, range b)
{
    range r = {INT64_MIN, INT64_MAX};
    if (b.low < 1) b.low = 1;
    if (b.high < 1) b.high = 1;
    if (!is_endless(a.low)) r.low = kni_floor_div(a.low, a.low < 0 ? b.low : b.high);
    if (!is_endless(a.high)) r.high = kni_floor_div(a.high, a.high < 0 ? b.high : b.low);
    return r;
}

static kn_dim dim_of(const sum *s)
{
    if (s->bad) return KNI_DIM_BAD;
    if (s->n == 0) return 0;
    const kni_dim_term *t = &s->terms[0];
    if (s->n == 1 && t->n_factors == 0)
        return kni_dim_is_number(t->coefficient) ? t->coefficient : KNI_DIM_BAD;
    if (s->n == 1 && t->n_factors == 1 && t->coefficient == 1) return t->factors[0];
    return kni_dim_intern((node){.kind = KNI_DIM_SUM, .n = s->n, .values = range_of_terms(s->terms, s->n)},
                          s->terms, NULL);
}

/* ---- quotients and extremes */

/* t / by where nothing is left over. */
static bool divide_term(kni_dim_term *t, const kni_dim_term *by)
{
    if (t->coefficient % by->coefficient) return false;
    kni_dim_term q = {t->coefficient / by->coefficient, 0, {0}};
    int k = 0;
    for (int i = 0; i < t->n_factors; i++) {
        if (k < by->n_factors && t->factors[i] == by->factors[k])
            k++;
        else
            q.factors[q.n_factors++] = t->factors[i];
    }
    if (k < by->n_factors) return false;
    *t = q;
    return true;
}

/* Where all terms can be divided, or all but a constant by a constant: floor((k x + r) / k) is x + floor(r / k). */
static bool divide(const sum *s, const kni_dim_term *by, sum *q)
{
    *q = (sum){0};
    for (int i = 0; i < s->n; i++) {
        kni_dim_term t = s->terms[i];
        if (!divide_term(&t, by)) {
            if (t.n_factors || by->n_factors) return false;
            /* Rounded down; what is left over is not 0 here. */
            t.coefficient = t.coefficient / by->coefficient - (t.coefficient < 0);
            if (!t.coefficient) continue;
        }
        add_term(q, &t);
    }
    return !q->bad;
}

/* times s, but for the term i, whose factor becomes `in_place`. */
static sum replaced(const sum *s, int i, int64_t times, kn_dim in_place)
{
    sum rest = *s, part = sum_of(in_place), all = {0};
    kni_dim_term factor = {s->terms[i].coefficient, 0, {0}};
    memmove(&rest.terms[i], &rest.terms[i + 1], (size_t)(--rest.n - i) * sizeof *rest.terms);
    sum scale = {.n = 1, .terms = {factor}};
    part = multiply(&part, &scale);
    add_sum(&all, &rest, times);
    add_sum(&all, &part, 1);
    return all;
}

/* (x / k + y) / b is (x + k y) / (k b). */
static kn_dim joined_quotient(const sum *s, int64_t b)
{
    int64_t divisor;
    for (int i = 0; i < s->n; i++) {
        const node *e = s->terms[i].n_factors == 1 ? kni_dim_at(s->terms[i].factors[0]) : NULL;
        if (!e || e->kind != KNI_DIM_QUOTIENT || s->terms[i].coefficient != 1) continue;
        if (!kni_dim_is_number(e->b) || __builtin_mul_overflow(e->b, b, &divisor)) continue;
        sum all = replaced(s, i, e->b, e->a);
        kn_dim x = dim_of(&all);
        return x == KNI_DIM_BAD ? x : kni_dim_compute(KNI_DIM_DIV, x, divisor);
    }
    return KNI_DIM_BAD;
}

static kn_dim quotient(kn_dim a, kn_dim b, const sum *x, const sum *y)
{
    sum q;
    if (y->n == 0 || (kni_dim_is_number(b) && b < 0)) return KNI_DIM_BAD;
    node e = {.kind = KNI_DIM_QUOTIENT, .a = a, .b = b, .values = range_quotient(range_of(a), range_of(b))};
    if (kni_dim_low(b) > 0) {
        if (a == b) return 1;
        if (y->n == 1 && divide(x, &y->terms[0], &q)) return dim_of(&q);
        kn_dim joined = kni_dim_is_number(b) ? joined_quotient(x, b) : KNI_DIM_BAD;
        if (joined != KNI_DIM_BAD) return joined;
        if (e.values.low == e.values.high && kni_dim_is_number(e.values.low)) return e.values.low;
    }
    return kni_dim_intern(e, NULL, NULL);
}

/* ---- what is larger: by the bounds of the difference */

/* A factor of all terms that is never negative does not change the sign. */
static void drop_common_factor(sum *s)
{
    sum q;
    for (int k = 0; s->n && k < s->terms[0].n_factors; k++) {
        kni_dim_term factor = {1, 1, {s->terms[0].factors[k]}};
        if (kni_dim_low(factor.factors[0]) < 0 || !divide(s, &factor, &q)) continue;
        *s = q;
        k = -1;
    }
}

static bool is_never_negative(const sum *s, int splits);

/* a + c (x / k) is never negative where k a + c x, less c times what is rounded away at most, is not. */
static bool without_quotient(const sum *s, int i, const node *e, int splits)
{
    int64_t most;
    if (!kni_dim_is_number(e->b) || e->b < 1) return false;
    sum all = replaced(s, i, e->b, e->a);
    if (s->terms[i].coefficient > 0) {
        if (__builtin_mul_overflow(s->terms[i].coefficient, e->b - 1, &most)) return false;
        kni_dim_term lost = {-most, 0, {0}};
        if (most) add_term(&all, &lost);
    }
    return is_never_negative(&all, splits);
}

/* One of the two sides decides in one direction, both have to in the other. */
static bool without_extreme(const sum *s, int i, const node *e, int splits)
{
    sum x = replaced(s, i, 1, e->a), y = replaced(s, i, 1, e->b);
    bool one = (e->kind == KNI_DIM_MAXIMUM) == (s->terms[i].coefficient > 0);
    bool first = is_never_negative(&x, splits);
    return first == one ? first : is_never_negative(&y, splits);
}

static bool is_never_negative(const sum *s, int splits)
{
    if (s->bad) return false;
    if (range_of_terms(s->terms, s->n).low >= 0) return true;
    sum rest = *s;
    drop_common_factor(&rest);
    if (range_of_terms(rest.terms, rest.n).low >= 0) return true;
    for (int i = 0; i < rest.n && splits; i++) {
        const node *e = rest.terms[i].n_factors == 1 ? kni_dim_at(rest.terms[i].factors[0]) : NULL;
        if (!e || e->kind <= KNI_DIM_SUM) continue;
        return e->kind == KNI_DIM_QUOTIENT ? without_quotient(&rest, i, e, splits - 1)
                                           : without_extreme(&rest, i, e, splits - 1);
    }
    return false;
}

/* Whether a >= b + more at all sizes, as far as it is seen. */
static bool is_at_least(const sum *a, const sum *b, int64_t more)
{
    sum difference = *a;
    kni_dim_term less = {-more, 0, {0}};
    add_sum(&difference, b, -1);
    if (more && !difference.bad) add_term(&difference, &less);
    return is_never_negative(&difference, SPLITS);
}

/* max(min(x, b), b) is b, and max(max(x, b), b) is max(x, b). */
static bool holds(const node *e, kn_dim b)
{
    return e && e->kind > KNI_DIM_QUOTIENT && (e->a == b || e->b == b);
}

static kn_dim extreme(kni_dim_kind kind, kn_dim a, kn_dim b, const sum *x, const sum *y)
{
    bool largest = kind == KNI_DIM_MAXIMUM;
    if (a == b) return a;
    if (holds(kni_dim_at(a), b)) return kni_dim_kind_of(a) == kind ? a : b;
    if (holds(kni_dim_at(b), a)) return kni_dim_kind_of(b) == kind ? b : a;
    range r = range_of(a), s = range_of(b);
    if (r.low >= s.high || is_at_least(x, y, 0)) return largest ? a : b;
    if (s.low >= r.high || is_at_least(y, x, 0)) return largest ? b : a;
    range both = {(r.low > s.low) == largest ? r.low : s.low, (r.high > s.high) == largest ? r.high : s.high};
    return kni_dim_intern(
        (node){.kind = (uint8_t)kind, .a = a > b ? a : b, .b = a > b ? b : a, .values = both}, NULL, NULL);
}

static kn_dim compute(kni_dim_op op, kn_dim a, kn_dim b)
{
    sum x = sum_of(a), y = sum_of(b);
    if (x.bad || y.bad) return KNI_DIM_BAD;
    switch (op) {
    case KNI_DIM_ADD:
    case KNI_DIM_SUB:
        add_sum(&x, &y, op == KNI_DIM_ADD ? 1 : -1);
        return dim_of(&x);
    case KNI_DIM_MUL:
        x = multiply(&x, &y);
        return dim_of(&x);
    case KNI_DIM_DIV:
        return quotient(a, b, &x, &y);
    default:
        return extreme(op == KNI_DIM_MAX ? KNI_DIM_MAXIMUM : KNI_DIM_MINIMUM, a, b, &x, &y);
    }
}

/* Two sizes are never equal where one is always larger. */
static kni_truth equal(kn_dim a, kn_dim b)
{
    range r = range_of(a), s = range_of(b);
    if (r.low > s.high || r.high < s.low) return KNI_NO;
    sum x = sum_of(a), y = sum_of(b);
    return is_at_least(&x, &y, 1) || is_at_least(&y, &x, 1) ? KNI_NO : KNI_MAYBE;
}

/* ---- values */

typedef struct assignment {
    const kn_dim *symbols;
    const int64_t *values;
    int32_t n;
} assignment;

static bool evaluate(kn_dim d, const assignment *a, int64_t *value);

static bool evaluate_sum(const node *e, const assignment *a, int64_t *total)
{
    *total = 0;
    for (int i = 0; i < e->n; i++) {
        const kni_dim_term *t = &kni_dims_entered->terms[e->first + i];
        int64_t value = t->coefficient, factor;
        for (int k = 0; k < t->n_factors; k++)
            if (!evaluate(t->factors[k], a, &factor) || __builtin_mul_overflow(value, factor, &value))
                return false;
        if (__builtin_add_overflow(*total, value, total)) return false;
    }
    return kni_dim_is_number(*total);
}

/* Parts may be negative. */
static bool evaluate(kn_dim d, const assignment *a, int64_t *value)
{
    static const uint8_t ops[] = {
        [KNI_DIM_QUOTIENT] = KNI_DIM_DIV, [KNI_DIM_MAXIMUM] = KNI_DIM_MAX, [KNI_DIM_MINIMUM] = KNI_DIM_MIN};
    int64_t x, y;
    *value = d;
    if (kni_dim_is_number(d)) return true;
    for (int32_t i = 0; i < a->n; i++)
        if (a->symbols[i] == d) return *value = a->values[i], true;
    const node *e = kni_dim_at(d);
    if (!e || e->kind == KNI_DIM_SYMBOL) return false;
    if (e->kind == KNI_DIM_SUM) return evaluate_sum(e, a, value);
    if (!evaluate(e->a, a, &x) || !evaluate(e->b, a, &y)) return false;
    *value = kni_dim_compute((kni_dim_op)ops[e->kind], x, y);
    return *value != KNI_DIM_BAD;
}

bool kni_dim_evaluate_whole(kn_dim d, const kn_dim *symbols, const int64_t *values, int32_t n, int64_t *value)
{
    return evaluate(d, &(assignment){symbols, values, n}, value);
}

int64_t kni_dim_evaluate(kn_dim d, const kn_dim *symbols, const int64_t *values, int32_t n)
{
    int64_t value;
    return kni_dim_evaluate_whole(d, symbols, values, n, &value) && value >= 0 ? value : -1;
}

const kni_dims_methods kni_symbolic_dims = {kind_of,  compute,        equal,
                                            range_of, problem_of_set, kni_symbolic_print};

#endif
