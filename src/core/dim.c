/* Symbolic sizes: expressions in a normal form, so that equal ones are one. A sum holds each product of unknowns once, products hold
   their factors in order. */
#include "core/dim.h"
#include "core/allocator.h"
#include "core/dim_symbols.h"
#include "core/platform.h"
#include <string.h>

/* What two constants give; KNI_DIM_BAD for what no size can be. */
static kn_dim of_constants(kni_dim_kind kind, int64_t a, int64_t b)
{
    switch (kind) {
    case KNI_DIM_QUOTIENT:
        return b > 0 ? a / b : KNI_DIM_BAD;
    case KNI_DIM_MAXIMUM:
        return a > b ? a : b;
    case KNI_DIM_MINIMUM:
        return a < b ? a : b;
    default:
        return KNI_DIM_BAD;
    }
}

#ifdef KN_FREESTANDING

/* There are no programs here, and so no expressions. */
kni_dim_kind kni_dim_kind_of(kn_dim d) { return (void)d, KNI_DIM_CONSTANT; }
int64_t kni_dim_low(kn_dim d) { return d; }
int64_t kni_dim_high(kn_dim d) { return d; }

static bool constants(kn_dim a, kn_dim b) { return a >= 0 && b >= 0; }

kn_dim kni_dim_add(kn_dim a, kn_dim b)
{
    kn_dim r;
    return !constants(a, b) || __builtin_add_overflow(a, b, &r) ? KNI_DIM_BAD : r;
}

kn_dim kni_dim_sub(kn_dim a, kn_dim b) { return constants(a, b) && a >= b ? a - b : KNI_DIM_BAD; }

kn_dim kni_dim_mul(kn_dim a, kn_dim b)
{
    kn_dim r;
    return !constants(a, b) || __builtin_mul_overflow(a, b, &r) ? KNI_DIM_BAD : r;
}

kn_dim kni_dim_floor_div(kn_dim a, kn_dim b)
{
    return constants(a, b) ? of_constants(KNI_DIM_QUOTIENT, a, b) : KNI_DIM_BAD;
}

kn_dim kni_dim_max(kn_dim a, kn_dim b)
{
    return constants(a, b) ? of_constants(KNI_DIM_MAXIMUM, a, b) : KNI_DIM_BAD;
}

kn_dim kni_dim_min(kn_dim a, kn_dim b)
{
    return constants(a, b) ? of_constants(KNI_DIM_MINIMUM, a, b) : KNI_DIM_BAD;
}

kni_truth kni_dim_equal(kn_dim a, kn_dim b) { return a == b ? KNI_YES : KNI_NO; }

#else

/* ---- the set */

enum { LIMIT = 1 << 16, FIRST_SLOTS = 256 };

typedef struct node {
    uint8_t kind;
    int32_t first, n; /* terms of a sum; of a symbol where its name begins */
    kn_dim a, b;      /* of a quotient or an extreme; the bounds of a symbol */
    uint32_t hash;
} node;

struct kni_dims {
    node *nodes;
    kni_dim_term *terms;
    char *names;
    int32_t *slots; /* of the hash table: a node's number and 1, or 0 */
    uint32_t n, n_terms, n_names, room, term_room, name_room, n_slots;
    int32_t n_symbols;
    bool full; /* there was no room for an expression */
};

static KNI_THREAD_LOCAL kni_dims *entered;

kni_dims *kni_dims_new(void)
{
    kni_dims *s = kni_allocate(sizeof *s);
    if (s) memset(s, 0, sizeof *s);
    return s;
}

void kni_dims_free(kni_dims *s)
{
    if (!s) return;
    kni_free(s->nodes, s->room * sizeof *s->nodes);
    kni_free(s->terms, s->term_room * sizeof *s->terms);
    kni_free(s->names, s->name_room);
    kni_free(s->slots, s->n_slots * sizeof *s->slots);
    kni_free(s, sizeof *s);
}

kni_dims *kni_dims_enter(kni_dims *dims)
{
    kni_dims *before = entered;
    entered = dims;
    return before;
}

/* NULL for what is no expression of this thread's set. */
static const node *at(kn_dim d)
{
    if (!kni_dim_is_expression(d) || !entered) return NULL;
    uint64_t i = (uint64_t)KNI_DIM_FIRST - (uint64_t)d;
    return i < entered->n ? &entered->nodes[i] : NULL;
}

kni_dim_kind kni_dim_kind_of(kn_dim d)
{
    const node *e = at(d);
    return e ? (kni_dim_kind)e->kind : KNI_DIM_CONSTANT;
}

const char *kni_dim_name(kn_dim symbol)
{
    const node *e = at(symbol);
    return e && e->kind == KNI_DIM_SYMBOL ? entered->names + e->first : "";
}

void kni_dim_operands(kn_dim d, kn_dim *a, kn_dim *b)
{
    const node *e = at(d);
    *a = e ? e->a : KNI_DIM_BAD;
    *b = e ? e->b : KNI_DIM_BAD;
}

/* ---- equal expressions are one */

static uint32_t mixed(uint32_t h, uint64_t word)
{
    word = (word ^ h) * UINT64_C(0x9E3779B97F4A7C15);
    return (uint32_t)(word >> 32 ^ word);
}

static uint32_t hash_of(const node *e, const kni_dim_term *terms, const char *name)
{
    uint32_t h = mixed(e->kind, 0);
    if (name) {
        for (; *name; name++) h = mixed(h, (unsigned char)*name);
        return h;
    }
    if (e->kind != KNI_DIM_SUM) return mixed(mixed(h, (uint64_t)e->a), (uint64_t)e->b);
    for (int i = 0; i < e->n; i++) {
        h = mixed(h, (uint64_t)terms[i].coefficient);
        for (int k = 0; k < terms[i].n_factors; k++) h = mixed(h, (uint64_t)terms[i].factors[k]);
    }
    return h;
}

static bool same_term(const kni_dim_term *a, const kni_dim_term *b)
{
    return a->coefficient == b->coefficient && a->n_factors == b->n_factors &&
           !memcmp(a->factors, b->factors, (size_t)a->n_factors * sizeof *a->factors);
}

static bool same(const node *e, const node *other, const kni_dim_term *terms, const char *name)
{
    if (e->kind != other->kind || e->hash != other->hash) return false;
    if (name) return !strcmp(entered->names + other->first, name);
    if (e->kind != KNI_DIM_SUM) return e->a == other->a && e->b == other->b;
    if (e->n != other->n) return false;
    for (int i = 0; i < e->n; i++)
        if (!same_term(&terms[i], &entered->terms[other->first + i])) return false;
    return true;
}

static bool more_slots(kni_dims *s)
{
    uint32_t n = s->n_slots ? 2 * s->n_slots : FIRST_SLOTS;
    if (s->n * 2 < s->n_slots) return true;
    int32_t *slots = kni_allocate(n * sizeof *slots);
    if (!slots) return false;
    memset(slots, 0, n * sizeof *slots);
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t k = s->nodes[i].hash & (n - 1);
        while (slots[k]) k = (k + 1) & (n - 1);
        slots[k] = (int32_t)i + 1;
    }
    kni_free(s->slots, s->n_slots * sizeof *s->slots);
    s->slots = slots;
    s->n_slots = n;
    return true;
}

/* Room for another node, with its terms or its name; false without memory, and where there are too many. */
static bool make_room(kni_dims *s, uint32_t terms, uint32_t bytes)
{
    if (s->n >= LIMIT || !more_slots(s)) return false;
    node *nodes = s->n < s->room ? s->nodes : kni_grow(s->nodes, &s->room, s->n + 1, sizeof *nodes);
    if (!nodes) return false;
    s->nodes = nodes;
    if (s->n_terms + terms > s->term_room) {
        kni_dim_term *all = kni_grow(s->terms, &s->term_room, s->n_terms + terms, sizeof *all);
        if (!all) return false;
        s->terms = all;
    }
    if (s->n_names + bytes > s->name_room) {
        char *names = kni_grow(s->names, &s->name_room, s->n_names + bytes, 1);
        if (!names) return false;
        s->names = names;
    }
    return true;
}

/* Finds or adds an expression. */
static kn_dim intern(node e, const kni_dim_term *terms, const char *name)
{
    kni_dims *s = entered;
    uint32_t bytes = name ? (uint32_t)strlen(name) + 1 : 0;
    if (!s) return KNI_DIM_BAD;
    if (!make_room(s, e.kind == KNI_DIM_SUM ? (uint32_t)e.n : 0, bytes)) {
        s->full = true;
        return KNI_DIM_BAD;
    }
    e.hash = hash_of(&e, terms, name);
    uint32_t k = e.hash & (s->n_slots - 1);
    for (; s->slots[k]; k = (k + 1) & (s->n_slots - 1))
        if (same(&e, &s->nodes[s->slots[k] - 1], terms, name)) return KNI_DIM_FIRST - (s->slots[k] - 1);
    if (e.kind == KNI_DIM_SUM) {
        e.first = (int32_t)s->n_terms;
        memcpy(s->terms + s->n_terms, terms, (size_t)e.n * sizeof *terms);
        s->n_terms += (uint32_t)e.n;
    } else if (name) {
        e.first = (int32_t)s->n_names;
        memcpy(s->names + s->n_names, name, bytes);
        s->n_names += bytes;
        s->n_symbols++;
    }
    s->nodes[s->n] = e;
    s->slots[k] = (int32_t)++s->n;
    return KNI_DIM_FIRST - (int64_t)(s->n - 1);
}

kn_dim kni_dim_symbol(const char *name, int64_t lo, int64_t hi)
{
    if (!kni_dim_is_name(name) || lo < 0 || hi < lo) return KNI_DIM_BAD;
    return intern((node){.kind = KNI_DIM_SYMBOL, .a = lo, .b = hi}, NULL, name);
}

bool kni_dims_are_full(const kni_dims *dims) { return dims->full; }

int32_t kni_dim_symbol_count(void) { return entered ? entered->n_symbols : 0; }

kn_dim kni_dim_symbol_next(uint32_t *i)
{
    for (; entered && *i < entered->n; ++*i)
        if (entered->nodes[*i].kind == KNI_DIM_SYMBOL) return KNI_DIM_FIRST - (int64_t)(*i)++;
    return KNI_DIM_BAD;
}

/* ---- sums of products */

typedef struct sum {
    int n;
    bool bad;
    kni_dim_term terms[KNI_DIM_TERMS];
} sum;

int kni_dim_terms(kn_dim d, kni_dim_term *terms)
{
    const node *e = at(d);
    if (e && e->kind == KNI_DIM_SUM) {
        memcpy(terms, entered->terms + e->first, (size_t)e->n * sizeof *terms);
        return e->n;
    }
    terms[0] = (kni_dim_term){e ? 1 : d, e ? 1 : 0, {e ? d : 0}};
    return d == 0 ? 0 : 1;
}

/* A dimension that is neither a constant nor an expression of the set makes everything bad. */
static sum sum_of(kn_dim d)
{
    sum s = {.bad = d < 0 && !at(d)};
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

static kn_dim dim_of(const sum *s)
{
    if (s->bad) return KNI_DIM_BAD;
    if (s->n == 0) return 0;
    const kni_dim_term *t = &s->terms[0];
    if (s->n == 1 && t->n_factors == 0) return t->coefficient < 0 ? KNI_DIM_BAD : t->coefficient;
    if (s->n == 1 && t->n_factors == 1 && t->coefficient == 1) return t->factors[0];
    return intern((node){.kind = KNI_DIM_SUM, .n = s->n}, s->terms, NULL);
}

static kn_dim add_times(kn_dim a, kn_dim b, int64_t sign)
{
    sum s = sum_of(a), t = sum_of(b);
    s.bad |= t.bad;
    for (int i = 0; i < t.n && !s.bad; i++) {
        if (__builtin_mul_overflow(t.terms[i].coefficient, sign, &t.terms[i].coefficient)) s.bad = true;
        add_term(&s, &t.terms[i]);
    }
    return dim_of(&s);
}

kn_dim kni_dim_add(kn_dim a, kn_dim b)
{
    kn_dim r;
    if (a >= 0 && b >= 0) return __builtin_add_overflow(a, b, &r) ? KNI_DIM_BAD : r;
    return add_times(a, b, 1);
}

kn_dim kni_dim_sub(kn_dim a, kn_dim b)
{
    if (a >= 0 && b >= 0) return a >= b ? a - b : KNI_DIM_BAD;
    return add_times(a, b, -1);
}

kn_dim kni_dim_mul(kn_dim a, kn_dim b)
{
    kn_dim r;
    if (a >= 0 && b >= 0) return __builtin_mul_overflow(a, b, &r) ? KNI_DIM_BAD : r;
    sum s = {0}, x = sum_of(a), y = sum_of(b);
    s.bad = x.bad || y.bad;
    for (int i = 0; i < x.n && !s.bad; i++)
        for (int k = 0; k < y.n && !s.bad; k++) {
            kni_dim_term t = product(&x.terms[i], &y.terms[k], &s.bad);
            if (!s.bad) add_term(&s, &t);
        }
    return dim_of(&s);
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

kn_dim kni_dim_floor_div(kn_dim a, kn_dim b)
{
    if (a >= 0 && b >= 0) return of_constants(KNI_DIM_QUOTIENT, a, b);
    sum s = sum_of(a), by = sum_of(b), q;
    if (s.bad || by.bad || b == 0) return KNI_DIM_BAD;
    if (kni_dim_low(b) > 0) {
        if (a == b) return 1;
        if (by.n == 1 && divide(&s, &by.terms[0], &q)) return dim_of(&q);
    }
    return intern((node){.kind = KNI_DIM_QUOTIENT, .a = a, .b = b}, NULL, NULL);
}

static kn_dim extreme(kni_dim_kind kind, kn_dim a, kn_dim b)
{
    if (a >= 0 && b >= 0) return of_constants(kind, a, b);
    if (sum_of(a).bad || sum_of(b).bad) return KNI_DIM_BAD;
    bool largest = kind == KNI_DIM_MAXIMUM;
    if (a == b || kni_dim_low(a) >= kni_dim_high(b)) return largest ? a : b;
    if (kni_dim_low(b) >= kni_dim_high(a)) return largest ? b : a;
    return intern((node){.kind = (uint8_t)kind, .a = a > b ? a : b, .b = a > b ? b : a}, NULL, NULL);
}

kn_dim kni_dim_max(kn_dim a, kn_dim b) { return extreme(KNI_DIM_MAXIMUM, a, b); }

kn_dim kni_dim_min(kn_dim a, kn_dim b) { return extreme(KNI_DIM_MINIMUM, a, b); }

/* ---- bounds and values */

static int64_t product_up_to(int64_t a, int64_t b)
{
    int64_t r;
    return __builtin_mul_overflow(a, b, &r) ? INT64_MAX : r;
}

static int64_t add_up_to(int64_t a, int64_t b)
{
    int64_t r;
    return __builtin_add_overflow(a, b, &r) ? b > 0 ? INT64_MAX : INT64_MIN : r;
}

/* The lowest or the highest value of a sum; no size is below 0. */
static int64_t bound_of_sum(const node *e, bool high)
{
    int64_t total = 0;
    for (int i = 0; i < e->n; i++) {
        const kni_dim_term *t = &entered->terms[e->first + i];
        bool up = (t->coefficient > 0) == high;
        int64_t value = 1;
        for (int k = 0; k < t->n_factors; k++)
            value = product_up_to(value, up ? kni_dim_high(t->factors[k]) : kni_dim_low(t->factors[k]));
        if (t->coefficient > 0)
            value = product_up_to(value, t->coefficient);
        else
            value = -product_up_to(value, -t->coefficient);
        if (high && value == INT64_MAX) return INT64_MAX;
        total = add_up_to(total, value);
    }
    return total < 0 ? 0 : total;
}

int64_t kni_dim_low(kn_dim d)
{
    const node *e = at(d);
    if (!e) return d;
    int64_t divisor;
    switch (e->kind) {
    case KNI_DIM_SYMBOL:
        return e->a;
    case KNI_DIM_SUM:
        return bound_of_sum(e, false);
    case KNI_DIM_QUOTIENT:
        divisor = kni_dim_high(e->b);
        return divisor > 0 ? kni_dim_low(e->a) / divisor : 0;
    default:
        return of_constants((kni_dim_kind)e->kind, kni_dim_low(e->a), kni_dim_low(e->b));
    }
}

int64_t kni_dim_high(kn_dim d)
{
    const node *e = at(d);
    if (!e) return d;
    int64_t most, divisor;
    switch (e->kind) {
    case KNI_DIM_SYMBOL:
        return e->b;
    case KNI_DIM_SUM:
        return bound_of_sum(e, true);
    case KNI_DIM_QUOTIENT:
        most = kni_dim_high(e->a), divisor = kni_dim_low(e->b);
        return most == INT64_MAX || divisor < 1 ? most : most / divisor;
    default:
        return of_constants((kni_dim_kind)e->kind, kni_dim_high(e->a), kni_dim_high(e->b));
    }
}

kni_truth kni_dim_equal(kn_dim a, kn_dim b)
{
    if (a == b) return KNI_YES;
    if (a >= 0 && b >= 0) return KNI_NO;
    return kni_dim_low(a) > kni_dim_high(b) || kni_dim_high(a) < kni_dim_low(b) ? KNI_NO : KNI_MAYBE;
}

static int64_t evaluate_sum(const node *e, const kn_dim *symbols, const int64_t *values, int32_t n)
{
    int64_t total = 0;
    for (int i = 0; i < e->n; i++) {
        const kni_dim_term *t = &entered->terms[e->first + i];
        int64_t value = t->coefficient;
        for (int k = 0; k < t->n_factors; k++) {
            int64_t factor = kni_dim_evaluate(t->factors[k], symbols, values, n);
            if (factor < 0 || __builtin_mul_overflow(value, factor, &value)) return -1;
        }
        if (__builtin_add_overflow(total, value, &total)) return -1;
    }
    return total < 0 ? -1 : total;
}

int64_t kni_dim_evaluate(kn_dim d, const kn_dim *symbols, const int64_t *values, int32_t n)
{
    if (d >= 0) return d;
    for (int32_t i = 0; i < n; i++)
        if (symbols[i] == d) return values[i];
    const node *e = at(d);
    if (!e || e->kind == KNI_DIM_SYMBOL) return -1;
    if (e->kind == KNI_DIM_SUM) return evaluate_sum(e, symbols, values, n);
    int64_t a = kni_dim_evaluate(e->a, symbols, values, n), b = kni_dim_evaluate(e->b, symbols, values, n);
    if (a < 0 || b < 0) return -1;
    kn_dim r = of_constants((kni_dim_kind)e->kind, a, b);
    return r < 0 ? -1 : r;
}

#endif
