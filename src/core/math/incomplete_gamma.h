/* The regularised incomplete gamma functions P(a, x) and Q(a, x) = 1 - P(a, x), for a > 0 and x >= 0. Whichever is below
   about a half is computed, the other is one minus it. Powers are taken with logarithms of two doubles, so that tails are good
   to a few ulps as well. */
#ifndef KNI_MATH_INCOMPLETE_GAMMA_H
#define KNI_MATH_INCOMPLETE_GAMMA_H

#include "core/math/error_function.h"
#include "core/math/gamma.h"
#include "core/math/power.h"

/* log(gamma(1 + a)) for 0 <= a <= 1.6, accurate near 0. */
static inline double kni_lgamma_plus_one_f64(double a)
{
    if (a <= 0.6) return a * kni_lgamma_near_two_f64(a) - kni_log1p_f64(a);
    return (a - 1.0) * kni_lgamma_near_two_f64(a - 1.0);
}

/* gamma(1 + a) for 0 <= a < 8. */
static inline double kni_gamma_plus_one_f64(double a)
{
    if (a <= 0.6) return kni_exp_f64(a * kni_lgamma_near_two_f64(a)) / (1.0 + a);
    double product = 1.0;
    for (; a > 1.6; a -= 1.0) product *= a;
    return product * kni_exp_f64((a - 1.0) * kni_lgamma_near_two_f64(a - 1.0));
}

/* a log(x / a) + a - x, which is not positive, for a >= 8. */
static inline kni_double2 kni_gamma_exponent_f64(double a, double x)
{
    double ratio = x / a;
    kni_double2 back = kni_two_product(ratio, a);
    double rest = ((x - back.hi) - back.lo) / x;
    kni_double2 l = kni_log_double2(ratio);
    kni_double2 e = kni_two_product(a, l.hi);
    kni_double2 gap = kni_two_sum(a, -x);
    kni_double2 sum = kni_two_sum(e.hi, gap.hi);
    return kni_fast_two_sum(sum.hi, sum.lo + ((e.lo + gap.lo) + a * (l.lo + rest)));
}

static inline double kni_exp_double2(kni_double2 e)
{
    if (e.hi < -760.0) return 0.0;
    kni_exp_parts parts = kni_exp_split_f64(e.hi, e.lo);
    return kni_scale_f64(kni_exp_join_f64(parts.r, parts.rest), parts.k);
}

/* x^a e^-x / gamma(a + 1) */
static inline double kni_gamma_front_f64(double a, double x)
{
    if (a >= 8.0) {
        double inverse = 1.0 / a;
        double stirling = kni_exp_f64(inverse * kni_stirling_rest_f64(inverse * inverse));
        return kni_exp_double2(kni_gamma_exponent_f64(a, x)) / (stirling * kni_sqrt_f64(2.0 * KNI_PI * a));
    }
    kni_double2 l = kni_log_double2(x);
    kni_double2 e = kni_two_product(a, l.hi);
    kni_double2 sum = kni_two_sum(e.hi, -x);
    sum = kni_fast_two_sum(sum.hi, sum.lo + (e.lo + a * l.lo));
    return kni_exp_double2(sum) / kni_gamma_plus_one_f64(a);
}

/* P by its series, whose terms are positive. */
static inline double kni_gamma_series_f64(double a, double x)
{
    double sum = 1.0, term = 1.0;
    for (int n = 1; n < 400 && term > sum * 0x1p-56; n++) {
        term *= x / (a + n);
        sum += term;
    }
    return kni_gamma_front_f64(a, x) * sum;
}

/* Q for x > 1 and x >= a by Legendre's continued fraction, from its end, where rounding errors shrink. */
static inline double kni_gamma_fraction_f64(double a, double x)
{
    int n = 24 + (int)(130.0 / x);
    double f = x + 1.0 - a + 2.0 * n;
    for (int i = n; i > 0; i--) f = (x + 1.0 - a + 2.0 * (i - 1)) - i * (i - a) / f;
    return kni_gamma_front_f64(a, x) * (a / f);
}

/* Q for small a and x, where P is near 1: 1 - x^a / gamma(1 + a) times 1 + a sum of (-x)^n / (n! (a + n)). */
static inline double kni_gamma_small_f64(double a, double x)
{
    double sum = 0.0, power = 1.0, exponent = a * kni_log_f64(x) - kni_lgamma_plus_one_f64(a);
    for (int n = 1; n < 40; n++) {
        power *= -x / n;
        sum += power / (a + n);
    }
    return -kni_expm1_f64(exponent) - kni_exp_f64(exponent) * (a * sum);
}

/* The smaller of P and Q for a > 20 and |x - a| < 0.4 a: Temme's uniform expansion in eta, where
   eta^2 / 2 = m - log(1 + m) with m = x / a - 1; the tail is e^(-a eta^2 / 2) times half of erfcx plus or minus a series. */
static inline double kni_gamma_uniform_f64(double a, double x)
{
    /* The coefficients of a^-11 to a^0, of each those of the highest power of eta first. */
    static const int lengths[] = {1, 3, 5, 7, 9, 11, 12, 14, 15, 15, 17, 19};
    static const double c[] = {
        0.001579727660730835,    0.0011089369134596636,   -0.0019144384985654776,  0.0013324454494800656,
        0.00027750107634328704,  -0.0006401475260262758,  0.0006782308837667328,   -7.204895416020011e-05,
        -0.0005967612901927463,  4.629953263691304e-05,   -0.00012783517679769218, 0.00016644846642067547,
        -6.969091458420552e-07,  -0.000438297098541721,   0.0008394987206720873,   -0.0006526239185953094,
        5.7876949497350525e-06,  -1.8263488805711332e-05, 2.7744451511563645e-05,  -1.2741009095484485e-07,
        -0.00010976582244684731, 0.0002812695154763237,   -0.00033493161081142234, 5.171790908260592e-05,
        0.00034436760689237765,  5.788792863149004e-07,   -2.0291327396058603e-06, 3.465155368803609e-06,
        -3.0796134506033047e-09, -1.8329116582843375e-05, 5.61168275310625e-05,    -8.153969367561969e-05,
        7.902353232660328e-07,   0.0002708782096718045,   -0.0005921664373536939,  0.0005313079364639922,
        -1.8447187191171344e-07, 3.4652846491085265e-07,  -3.252473551298454e-10,  -2.291481176508095e-06,
        8.018470256334202e-06,   -1.3594048189768693e-05, 1.419062920643967e-07,   6.797780477937208e-05,
        -0.00019932570516188847, 0.0002772753244959392,   -6.972813758365857e-05,  -0.00033679855336635813,
        -1.4189739437803219e-08, 2.8865829742708783e-08,  2.956794137544049e-11,   -2.292934834000805e-07,
        8.907507532205309e-07,   -1.6954149536558305e-06, 2.507497226237533e-10,   1.1375726970678419e-05,
        -3.968365047179435e-05,  6.641498215465122e-05,   -1.4638452578843418e-06, -0.0002990724803031902,
        0.0007840392217200666,   -0.0008618882909167117,  2.0620131815488797e-09,  2.3928620439808118e-12,
        -1.9111168485973655e-08, 8.099464905388083e-08,   -1.6958404091930278e-07, -2.7861080291528143e-11,
        1.4230900732435883e-06,  -5.6749528269915965e-06, 1.1082654115347302e-05,  -2.396505113867297e-07,
        -7.561801671883977e-05,  0.00026772063206283885,  -0.0004691894943952557,  0.00022947209362139917,
        0.0006494341563786008,   -1.3670488396617114e-09, 6.228974084922022e-09,   -1.409252991086752e-08,
        -2.0477098421990866e-10, 1.4280614206064242e-07,  -6.298992138380055e-07,  1.3721957309062934e-06,
        3.423578734096138e-08,   -1.2760635188618728e-05, 5.2923448829120125e-05,  -0.0001073665322636516,
        2.0093878600823047e-06,  0.0007716049382716049,   -0.0026813271604938273,  0.004133597883597883,
        -8.56390702649298e-11,   4.162792991842583e-10,   -1.0091543710600413e-09, -1.7543241719747647e-11,
        1.1951628599778148e-08,  -5.752545603517705e-08,  1.378633446915721e-07,   4.647127802807434e-09,
        -1.6120900894563446e-06, 7.64916091608111e-06,    -1.8098550334489977e-05, -4.018775720164609e-07,
        0.00020576131687242798,  -0.0009902263374485596,  0.0026455026455026454,   -0.003472222222222222,
        -0.001851851851851852,   -5.0276692801141755e-12, 2.4361948020667415e-11,  -5.830772132550426e-11,
        -2.5514193994946248e-11, 9.14769958223679e-10,    -4.382036018453353e-09,  1.0261809784240309e-08,
        6.707853543401498e-09,   -1.7665952736826078e-07, 8.296711340953087e-07,   -1.85406221071516e-06,
        -2.185448510679992e-06,  3.919263178522438e-05,   -0.0001787551440329218,  0.0003527336860670194,
        0.0011574074074074073,   -0.014814814814814815,   0.08333333333333333,     -0.3333333333333333};
    double m = (x - a) / a;
    kni_double2 e = kni_gamma_exponent_f64(a, x);
    double eta = m * kni_sqrt_f64(1.0 - m * (2.0 / 3.0 - m * (0.5 - m * (0.4 - m * (1.0 / 3.0)))));
    double far = kni_sqrt_f64(kni_abs_f64(-2.0 * e.hi / a));
    eta = kni_abs_f64(m) < 1e-4 ? eta : m < 0.0 ? -far : far;
    double sum = 0.0;
    int at = 0;
    for (int k = 0; k < 12; k++) {
        double p = c[at];
        for (int j = 1; j < lengths[k]; j++) p = p * eta + c[at + j];
        sum = sum / a + p;
        at += lengths[k];
    }
    double half = 0.5 * kni_erfcx_f64(kni_abs_f64(eta) * kni_sqrt_f64(0.5 * a));
    double series = sum / kni_sqrt_f64(2.0 * KNI_PI * a);
    return kni_exp_double2(e) * (x < a ? half - series : half + series);
}

/* P, or Q where `upper`. */
static inline double kni_gamma_part_f64(double a, double x, int upper)
{
    if (!(a >= 0.0 && x >= 0.0)) return KNI_NAN_F64;
    if (a == 0.0) return x > 0.0 ? (upper ? 0.0 : 1.0) : KNI_NAN_F64;
    if (a == KNI_INF_F64) return x == KNI_INF_F64 ? KNI_NAN_F64 : (upper ? 1.0 : 0.0);
    if (x == 0.0 || x == KNI_INF_F64) return (x == 0.0) == (upper != 0) ? 1.0 : 0.0;
    double y;
    int is_upper = x > 1.1 && x >= a;
    if (a > 20.0 && kni_abs_f64(x - a) < 0.4 * a)
        y = kni_gamma_uniform_f64(a, x);
    else if (is_upper)
        y = kni_gamma_fraction_f64(a, x);
    else if (upper && x <= 1.1 && (x <= 0.5 ? a * kni_log_f64(x) > -0.4 : a < 1.1 * x)) {
        is_upper = 1;
        y = kni_gamma_small_f64(a, x);
    } else
        y = kni_gamma_series_f64(a, x);
    y = is_upper == (upper != 0) ? y : 1.0 - y;
    return y > 0.0 ? y : 0.0;
}

static inline double kni_igamma_f64(double a, double x) { return kni_gamma_part_f64(a, x, 0); }
static inline double kni_igammac_f64(double a, double x) { return kni_gamma_part_f64(a, x, 1); }
static inline float kni_igamma_f32(float a, float x) { return (float)kni_igamma_f64((double)a, (double)x); }
static inline float kni_igammac_f32(float a, float x) { return (float)kni_igammac_f64((double)a, (double)x); }

#endif
