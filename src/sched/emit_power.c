/* e to the power of numbers that are 0 or less, as sums of exponentials need it: half the instructions of the word exp,
   which serves every argument and gives the CPU's bits. 2^n from the low bits of a sum, 2^f by a polynomial. */
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

static kni_ir_id number(kni_emit *e, double value) { return kni_ir_real(e->b, KN_F32, value); }

kni_ir_id kni_emit_power(kni_emit *e, kni_ir_id x, int dtype, bool rounded)
{
    kni_ir_builder *b = e->b;
    if (dtype != KN_F32 || e->w->target->caps->dialect == KNI_IR_C) return kni_ir_word(b, "exp", x, 0);
    const double *factors = rounded ? coarse : fine;
    int degree = rounded ? 4 : 6;
    kni_ir_id turn = number(e, 1.4426950216293335), magic = number(e, 12582912 + 127);
    /* The whole part and the exponent's bias are in the lowest bits of the sum. */
    kni_ir_id sum = kni_ir_fma(b, x, turn, magic), whole = kni_ir_word(b, "sub", sum, magic);
    kni_ir_id f = kni_ir_fma(b, x, turn, kni_ir_word(b, "neg", whole, 0));
    if (!rounded) f = kni_ir_fma(b, x, number(e, 1.925963033500011e-08), f);
    kni_ir_id p = number(e, factors[degree]);
    for (int i = degree - 1; i >= 0; i--) p = kni_ir_fma(b, p, f, number(e, factors[i]));
    kni_ir_id bits = kni_ir_word(b, "shl", kni_ir_bitcast(b, sum, KN_I32), kni_ir_whole(b, KN_I32, 23));
    kni_ir_id y = kni_ir_word(b, "mul", p, kni_ir_bitcast(b, bits, KN_F32));
    return kni_ir_select(b, kni_ir_word(b, "lt", x, number(e, -87.3)), number(e, 0), y);
}
