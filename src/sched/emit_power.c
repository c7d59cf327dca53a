/* Exponentials that are shorter than the word exp, which serves every argument and gives the CPU's bits: e to the power of
   numbers that are 0 or less, as sums of exponentials need it, and the sigmoid or the normal distribution inside gelu.
   Where a target has an instruction near 2^x they are made of it; elsewhere 2^n comes from the low bits of a sum and 2^f
   from a polynomial. */
#include "ir/prelude.h"
#include "sched/emit_body.h"

/* 2^f for |f| <= 1/2, lowest power first: within 2.9e-6 for results that are rounded to 16 bits, else
   within 1.9e-9. e^0 is 1. */
static const double coarse[] = {1.0, 0.6931241750717163, 0.24024099111557007, 0.055906426161527634,
                                0.009582852944731712};
static const double fine[] = {1.0,
                              0.6931471824645996,
                              0.24022646248340607,
                              0.05550328642129898,
                              0.009618489071726799,
                              0.0013399930903688073,
                              0.00015345810970757157};

/* 1 / ln 2 in two pieces, and ln 2. */
#define TURN 1.4426950216293335
#define TURN_REST 1.925963033500011e-08
#define LN_2 0.6931471824645996

static kni_ir_id number_in(kni_ir_builder *b, double value) { return kni_ir_real(b, KN_F32, value); }
static kni_ir_id number(kni_emit *e, double value) { return number_in(e->b, value); }
static kni_ir_id times(kni_ir_builder *b, kni_ir_id x, kni_ir_id y) { return kni_ir_word(b, "mul", x, y); }
static kni_ir_id multiply(kni_emit *e, kni_ir_id x, kni_ir_id y) { return times(e->b, x, y); }
static bool is_near(int dialect) { return kni_ir_prelude_near("kni_near_exp2_f32", dialect); }
static bool has_instruction(const kni_emit *e) { return is_near(e->w->target->caps->dialect); }

/* 2^(x / ln 2) by the instruction. What x / ln 2 loses when it is rounded is relative to x: it is made good where
   `exact`. */
static kni_ir_id by_instruction(kni_ir_builder *b, kni_ir_id x, bool exact)
{
    kni_ir_id turns = times(b, x, number_in(b, TURN)), y = kni_ir_near(b, "exp2", turns, 0);
    if (!exact) return y;
    kni_ir_id rest = kni_ir_fma(b, x, number_in(b, TURN), kni_ir_word(b, "neg", turns, 0));
    rest = kni_ir_fma(b, x, number_in(b, TURN_REST), rest);
    return kni_ir_fma(b, y, times(b, rest, number_in(b, LN_2)), y);
}

static kni_ir_id by_polynomial(kni_ir_builder *b, kni_ir_id x, bool rounded)
{
    const double *factors = rounded ? coarse : fine;
    int degree = rounded ? 4 : 6;
    kni_ir_id turn = number_in(b, TURN), magic = number_in(b, 12582912 + 127);
    /* The whole part and the exponent's bias are in the lowest bits of the sum. */
    kni_ir_id sum = kni_ir_fma(b, x, turn, magic), whole = kni_ir_word(b, "sub", sum, magic);
    kni_ir_id f = kni_ir_fma(b, x, turn, kni_ir_word(b, "neg", whole, 0));
    if (!rounded) f = kni_ir_fma(b, x, number_in(b, TURN_REST), f);
    kni_ir_id p = number_in(b, factors[degree]);
    for (int i = degree - 1; i >= 0; i--) p = kni_ir_fma(b, p, f, number_in(b, factors[i]));
    kni_ir_id bits = kni_ir_word(b, "shl", kni_ir_bitcast(b, sum, KN_I32), kni_ir_whole(b, KN_I32, 23));
    return times(b, p, kni_ir_bitcast(b, bits, KN_F32));
}

kni_ir_id kni_emit_power_in(kni_ir_builder *b, int dialect, kni_ir_id x, int digits)
{
    if (is_near(dialect) && digits != KNI_POWER_ALL) return by_instruction(b, x, false);
    kni_ir_id y =
        is_near(dialect) ? by_instruction(b, x, true) : by_polynomial(b, x, digits == KNI_POWER_HALF);
    return kni_ir_select(b, kni_ir_word(b, "lt", x, number_in(b, -87.3)), number_in(b, 0), y);
}

kni_ir_id kni_emit_power(kni_emit *e, kni_ir_id x, int dtype, int digits)
{
    const int dialect = e->w->target->caps->dialect;
    if (dtype != KN_F32 || dialect == KNI_IR_C) return kni_ir_word(e->b, "exp", x, 0);
    return kni_emit_power_in(e->b, dialect, x, digits);
}

/* Beyond 88 on either side it is 1 or below the smallest normal f32, where the division gives 0. From 89 on the power is
   infinite, and with a correction below zero NaN. */
static kni_ir_id bounded(kni_emit *e, kni_ir_id x)
{
    kni_ir_id least = number(e, -88), most = number(e, 88);
    x = kni_ir_select(e->b, kni_ir_word(e->b, "lt", x, least), least, x);
    return kni_ir_select(e->b, kni_ir_word(e->b, "gt", x, most), most, x);
}

kni_ir_id kni_emit_sigmoid(kni_emit *e, kni_ir_id x, bool half)
{
    kni_ir_builder *b = e->b;
    kni_ir_id one = number(e, 1), y;
    if (!has_instruction(e)) {
        /* 1 / (1 + p) or p / (1 + p), so that no power is above 1. */
        kni_ir_id p = kni_emit_power(e, kni_ir_word(b, "neg", kni_ir_word(b, "abs", x, 0), 0), KN_F32,
                                     half ? KNI_POWER_HALF : KNI_POWER_ALL);
        y = kni_ir_select(b, kni_ir_word(b, "lt", x, number(e, 0)), p, one);
        return kni_ir_word(b, "div", y, kni_ir_word(b, "add", one, p));
    }
    y = by_instruction(b, kni_ir_word(b, "neg", half ? x : bounded(e, x), 0), !half);
    return kni_ir_near(b, "div", one, kni_ir_word(b, "add", one, y));
}

/* The normal distribution below -z over e^(-z^2 / 2), divided by t = 1 / (1 + 0.3 z) and by powers of t: within 8.3e-6. */
static const double tail[] = {0.12007422745227814,   0.11374194175004959, 0.1441963016986847,
                              -0.016947882249951363, 0.2160368710756302,  -0.0770973488688469};

kni_ir_id kni_emit_normal(kni_emit *e, kni_ir_id x)
{
    kni_ir_builder *b = e->b;
    kni_ir_id one = number(e, 1), z = kni_ir_word(b, "abs", x, 0);
    kni_ir_id t = kni_ir_near(b, "div", one, kni_ir_fma(b, z, number(e, 0.3), one));
    kni_ir_id p = number(e, tail[5]);
    for (int i = 4; i >= 0; i--) p = kni_ir_fma(b, p, t, number(e, tail[i]));
    kni_ir_id density =
        kni_emit_power(e, multiply(e, multiply(e, z, z), number(e, -0.5)), KN_F32, KNI_POWER_HALF);
    kni_ir_id below = multiply(e, multiply(e, t, p), density);
    return kni_ir_select(b, kni_ir_word(b, "lt", x, number(e, 0)), below, kni_ir_word(b, "sub", one, below));
}
