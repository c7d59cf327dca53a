/* Symbolic sizes: hash-consed expressions in a bounded process-wide table. */
#include "core/dim.h"
#include "core/life.h"
#include "core/text.h"
#include <stdatomic.h>

enum { SYMBOL, ADD, SUB, MUL, FLOOR_DIV, MAXIMUM, MINIMUM };

#ifdef KN_FREESTANDING
enum { MAX_EXPRESSIONS = 8 };
#else
enum { MAX_EXPRESSIONS = 4096 };
#endif

typedef struct expression {
    int kind;
    kn_dim a, b;
    int64_t low, high;
    const char *name;
} expression;

static expression table[MAX_EXPRESSIONS];
static _Atomic int used;
static kni_guard lock = KNI_GUARD_INIT(KNI_GUARD_INNER);

static const expression *at(kn_dim d) { return &table[-1 - d]; }

/* Negative sizes that a user gave name no expression. */
static bool is_expression(kn_dim d) { return d < 0 && d != KNI_DIM_BAD && -1 - d < atomic_load(&used); }

int64_t kni_dim_low(kn_dim d) { return is_expression(d) ? at(d)->low : d; }

int64_t kni_dim_high(kn_dim d) { return is_expression(d) ? at(d)->high : d; }

static int64_t saturating_multiply(int64_t a, int64_t b)
{
    int64_t r;
    return __builtin_mul_overflow(a, b, &r) ? INT64_MAX : r;
}

static int64_t apply(int kind, int64_t a, int64_t b)
{
    int64_t r = KNI_DIM_BAD;
    switch (kind) {
    case ADD:
        return __builtin_add_overflow(a, b, &r) ? KNI_DIM_BAD : r;
    case SUB:
        return a >= b ? a - b : KNI_DIM_BAD;
    case MUL:
        return __builtin_mul_overflow(a, b, &r) ? KNI_DIM_BAD : r;
    case FLOOR_DIV:
        return b > 0 ? a / b : KNI_DIM_BAD;
    case MAXIMUM:
        return a > b ? a : b;
    case MINIMUM:
        return a < b ? a : b;
    default:
        return r;
    }
}

static void bounds(expression *e)
{
    int64_t al = kni_dim_low(e->a), ah = kni_dim_high(e->a), bl = kni_dim_low(e->b), bh = kni_dim_high(e->b);
    switch (e->kind) {
    case ADD:
        e->low = al + bl, e->high = ah > INT64_MAX - bh ? INT64_MAX : ah + bh;
        break;
    case SUB:
        e->low = al > bh ? al - bh : 0, e->high = ah > bl ? ah - bl : 0;
        break;
    case MUL:
        e->low = saturating_multiply(al, bl), e->high = saturating_multiply(ah, bh);
        break;
    case FLOOR_DIV:
        e->low = bh > 0 ? al / bh : 0, e->high = bl > 0 ? ah / bl : ah;
        break;
    case MAXIMUM:
        e->low = al > bl ? al : bl, e->high = ah > bh ? ah : bh;
        break;
    default:
        e->low = al < bl ? al : bl, e->high = ah < bh ? ah : bh;
        break;
    }
}

/* Finds or adds an expression. Callers hold the lock. */
static kn_dim intern(expression e)
{
    int n = atomic_load(&used);
    for (int i = 0; i < n && e.kind != SYMBOL; i++)
        if (table[i].kind == e.kind && table[i].a == e.a && table[i].b == e.b) return -1 - (kn_dim)i;
    if (n == MAX_EXPRESSIONS) return KNI_DIM_BAD;
    table[n] = e;
    atomic_store(&used, n + 1);
    return -1 - (kn_dim)n;
}

kn_dim kni_dim_symbol(const char *name, int64_t lo, int64_t hi)
{
    kni_guard_lock(&lock);
    kn_dim d = intern((expression){SYMBOL, 0, 0, lo, hi, name});
    kni_guard_unlock(&lock);
    return d;
}

static kn_dim combine(int kind, kn_dim a, kn_dim b)
{
    if (a >= 0 && b >= 0) return apply(kind, a, b);
    if ((a < 0 && !is_expression(a)) || (b < 0 && !is_expression(b))) return KNI_DIM_BAD;
    expression e = {kind, a, b, 0, 0, NULL};
    bool commutes = kind == ADD || kind == MUL || kind == MAXIMUM || kind == MINIMUM;
    if (commutes && e.a > e.b) e.a = b, e.b = a;
    kni_guard_lock(&lock);
    bounds(&e);
    kn_dim d = intern(e);
    kni_guard_unlock(&lock);
    return d;
}

kn_dim kni_dim_add(kn_dim a, kn_dim b) { return a == 0 ? b : b == 0 ? a : combine(ADD, a, b); }

kn_dim kni_dim_sub(kn_dim a, kn_dim b)
{
    if (b == 0) return a;
    if (a == b) return 0;
    return combine(SUB, a, b);
}

kn_dim kni_dim_mul(kn_dim a, kn_dim b)
{
    if (a == 1) return b;
    if (b == 1) return a;
    return a == 0 || b == 0 ? 0 : combine(MUL, a, b);
}

/* (x * k) / k is x, which reshapes need to see. */
kn_dim kni_dim_floor_div(kn_dim a, kn_dim b)
{
    if (b == 1) return a;
    if (a == b && kni_dim_low(a) > 0) return 1;
    if (is_expression(a) && at(a)->kind == MUL && kni_dim_low(b) > 0) {
        if (at(a)->a == b) return at(a)->b;
        if (at(a)->b == b) return at(a)->a;
    }
    return combine(FLOOR_DIV, a, b);
}

kn_dim kni_dim_max(kn_dim a, kn_dim b) { return a == b ? a : combine(MAXIMUM, a, b); }

kn_dim kni_dim_min(kn_dim a, kn_dim b) { return a == b ? a : combine(MINIMUM, a, b); }

kni_truth kni_dim_equal(kn_dim a, kn_dim b)
{
    if (a == b) return KNI_YES;
    if (a >= 0 && b >= 0) return KNI_NO;
    return kni_dim_low(a) > kni_dim_high(b) || kni_dim_high(a) < kni_dim_low(b) ? KNI_NO : KNI_MAYBE;
}

int64_t kni_dim_evaluate(kn_dim d, const kn_dim *symbols, const int64_t *values, int32_t n)
{
    if (d >= 0) return d;
    for (int32_t i = 0; i < n; i++)
        if (symbols[i] == d) return values[i];
    if (!is_expression(d) || at(d)->kind == SYMBOL) return -1;
    int64_t a = kni_dim_evaluate(at(d)->a, symbols, values, n);
    int64_t b = kni_dim_evaluate(at(d)->b, symbols, values, n);
    return a < 0 || b < 0 ? -1 : apply(at(d)->kind, a, b);
}

void kni_dim_print(struct kni_text *t, kn_dim d)
{
    static const char *const signs[] = {"", " + ", " - ", " * ", " / ", " max ", " min "};
    if (!is_expression(d)) {
        kni_text_int(t, d);
        return;
    }
    if (at(d)->kind == SYMBOL) {
        kni_text_string(t, at(d)->name);
        return;
    }
    kni_text_char(t, '(');
    kni_dim_print(t, at(d)->a);
    kni_text_string(t, signs[at(d)->kind]);
    kni_dim_print(t, at(d)->b);
    kni_text_char(t, ')');
}
