/* Sizes: arithmetic on numbers. Expressions are computed with by the set that the thread has entered, which only programs make. */
#include "core/dim_set.h"
#include "core/text.h"

/* What two whole numbers give; KNI_DIM_BAD where it is none, or a number that stands for something else. */
static kn_dim of_numbers(kni_dim_op op, int64_t a, int64_t b)
{
    int64_t r;
    bool bad = false;
    switch (op) {
    case KNI_DIM_ADD:
        bad = __builtin_add_overflow(a, b, &r);
        break;
    case KNI_DIM_SUB:
        bad = __builtin_sub_overflow(a, b, &r);
        break;
    case KNI_DIM_MUL:
        bad = __builtin_mul_overflow(a, b, &r);
        break;
    case KNI_DIM_DIV:
        bad = b < 1;
        r = bad ? 0 : kni_floor_div(a, b);
        break;
    case KNI_DIM_MAX:
        r = a > b ? a : b;
        break;
    default:
        r = a < b ? a : b;
    }
    return bad || r <= KNI_DIM_FIRST ? KNI_DIM_BAD : r;
}

/* The set whose expression one of the two may be; NULL where both are numbers, or there is none. */
#ifdef KN_FREESTANDING
static const kni_dims *set_for(kn_dim a, kn_dim b) { return (void)a, (void)b, NULL; }
#else
KNI_THREAD_LOCAL kni_dims *kni_dims_entered;

kni_dims *kni_dims_enter(kni_dims *dims)
{
    kni_dims *before = kni_dims_entered;
    kni_dims_entered = dims;
    return before;
}

static const kni_dims *set_for(kn_dim a, kn_dim b)
{
    return kni_dim_is_expression(a) || kni_dim_is_expression(b) ? kni_dims_entered : NULL;
}
#endif

kni_dim_kind kni_dim_kind_of(kn_dim d)
{
    const kni_dims *s = set_for(d, d);
    return s ? s->methods->kind_of(d) : KNI_DIM_CONSTANT;
}

static kni_dim_range range_of(kn_dim d)
{
    const kni_dims *s = set_for(d, d);
    return s ? s->methods->range_of(d) : (kni_dim_range){d, d};
}

int64_t kni_dim_low(kn_dim d) { return range_of(d).low; }

int64_t kni_dim_high(kn_dim d) { return range_of(d).high; }

kn_dim kni_dim_compute(kni_dim_op op, kn_dim a, kn_dim b)
{
    const kni_dims *s = set_for(a, b);
    if (s) return s->methods->compute(op, a, b);
    return kni_dim_is_number(a) && kni_dim_is_number(b) ? of_numbers(op, a, b) : KNI_DIM_BAD;
}

kni_truth kni_dim_equal(kn_dim a, kn_dim b)
{
    const kni_dims *s = set_for(a, b);
    if (a == b) return KNI_YES;
    return s ? s->methods->equal(a, b) : KNI_NO;
}

const char *kni_dim_problem(void)
{
    const kni_dims *s = set_for(KNI_DIM_FIRST, KNI_DIM_FIRST);
    return s ? s->methods->problem() : NULL;
}

void kni_dim_print(struct kni_text *t, kn_dim d)
{
    const kni_dims *s = set_for(d, d);
    if (s)
        s->methods->print(t, d);
    else
        kni_text_int(t, d);
}

/* ---- sizes of sizes */

static kn_dim size_of_sizes(kni_dim_op op, kn_dim a, kn_dim b)
{
    if (!kni_dim_is_size(a) || !kni_dim_is_size(b)) return KNI_DIM_BAD;
    kn_dim r = kni_dim_compute(op, a, b);
    return kni_dim_is_size(r) ? r : KNI_DIM_BAD;
}

kn_dim kni_dim_add(kn_dim a, kn_dim b) { return size_of_sizes(KNI_DIM_ADD, a, b); }

kn_dim kni_dim_sub(kn_dim a, kn_dim b) { return size_of_sizes(KNI_DIM_SUB, a, b); }

kn_dim kni_dim_mul(kn_dim a, kn_dim b) { return size_of_sizes(KNI_DIM_MUL, a, b); }

kn_dim kni_dim_floor_div(kn_dim a, kn_dim b) { return size_of_sizes(KNI_DIM_DIV, a, b); }

kn_dim kni_dim_max(kn_dim a, kn_dim b) { return size_of_sizes(KNI_DIM_MAX, a, b); }

kn_dim kni_dim_min(kn_dim a, kn_dim b) { return size_of_sizes(KNI_DIM_MIN, a, b); }
