/* Bessel functions of orders 0 and 1: J, Y, I, K and the scaled forms of the last two. Coefficients come from
   tests/math/fit_coefficients.py. J and Y are good to a few ulps of their envelope sqrt(2 / (pi x)), the others of their value. */
#ifndef KNI_MATH_BESSEL_H
#define KNI_MATH_BESSEL_H

#include "core/math/exp_log.h"
#include "core/math/gamma.h"
#include "core/math/roots.h"
#include "core/math/trig.h"

/* ---- polynomials */

/* I0(x) by its power series in z = (x/2)^2, for z <= 57: all terms are positive. */
static inline double kni_bessel_i0_near(double z)
{
    static const double c[] = {1.4789601166935458e-68,
                               1.4212806721424974e-65,
                               1.2791526049282477e-62,
                               1.0757673407446564e-59,
                               8.434015951438106e-57,
                               6.14839762859838e-54,
                               4.156316796932504e-51,
                               2.5976979980828152e-48,
                               1.4962740468957016e-45,
                               7.915289708078262e-43,
                               3.8310002187098785e-40,
                               1.6894710964510564e-37,
                               6.757884385804225e-35,
                               2.4395962632753253e-32,
                               7.904291893012054e-30,
                               2.2843403570804838e-27,
                               5.8479113141260385e-25,
                               1.3157800456783586e-22,
                               2.5789288895295828e-20,
                               4.358389823304995e-18,
                               6.276081345559193e-16,
                               7.594058428126623e-14,
                               7.594058428126624e-12,
                               6.151187326782565e-10,
                               3.936759889140842e-08,
                               1.9290123456790124e-06,
                               6.944444444444444e-05,
                               0.001736111111111111,
                               0.027777777777777776,
                               0.25,
                               1.0,
                               1.0};
    double p = c[0];
    for (int k = 1; k < 32; k++) p = p * z + c[k];
    return p;
}

/* 2 I1(x)/x likewise. */
static inline double kni_bessel_i1_near(double z)
{
    static const double c[] = {4.6217503646673306e-70,
                               4.5847763617499917e-67,
                               4.263842016427493e-64,
                               3.7095425542919185e-61,
                               3.0121485540850376e-58,
                               2.2771843068882885e-55,
                               1.5985833834355786e-52,
                               1.0390791992331261e-49,
                               6.234475195398757e-47,
                               3.4414303078601135e-44,
                               1.7413637357772174e-41,
                               8.045100459290744e-39,
                               3.3789421929021126e-36,
                               1.2839980333028028e-33,
                               4.391273273895586e-31,
                               1.3437296218120491e-28,
                               3.654944571328774e-26,
                               8.771866971189057e-24,
                               1.842092063949702e-21,
                               3.352607556388458e-19,
                               5.230067787965994e-17,
                               6.903689480115112e-15,
                               7.594058428126623e-13,
                               6.834652585313961e-11,
                               4.920949861426052e-09,
                               2.755731922398589e-07,
                               1.1574074074074073e-05,
                               0.00034722222222222224,
                               0.006944444444444444,
                               0.08333333333333333,
                               0.5,
                               1.0};
    double p = c[0];
    for (int k = 1; k < 32; k++) p = p * z + c[k];
    return p;
}

/* sqrt(x) e^-x I0(x) with u = 1/x, for x >= 15. */
static inline double kni_bessel_i0_far(double u)
{
    static const double c[] = {-2824133.952514804,   1917951.2160629912,   -461052.63783752121,
                               61069.749643160299,   -4983.1656730591467,  288.0047957338121,
                               -8.21501462203587,    0.9726395926149195,   0.22317517159380318,
                               0.090667883811347341, 0.044741693748540153, 0.029219407797079974,
                               0.028050629084503814, 0.049867785050185187, 0.3989422804014327};
    double p = c[0];
    for (int k = 1; k < 15; k++) p = p * u + c[k];
    return p;
}

/* sqrt(x) e^-x I1(x) likewise. */
static inline double kni_bessel_i1_far(double u)
{
    static const double c[] = {2646689.789293373,    -1880415.9312388538,   458769.78556552861,
                               -61308.328638502491,  5023.3175533344065,    -292.6815099829268,
                               8.057608872000074,    -1.0837463621561756,   -0.2645982229915973,
                               -0.11080327144082033, -0.057525171655926001, -0.040907169978530826,
                               -0.04675104847816311, -0.14960335515054352,  0.3989422804014327};
    double p = c[0];
    for (int k = 1; k < 15; k++) p = p * u + c[k];
    return p;
}

/* K0(x) + log(x/2) I0(x) with z = (x/2)^2, for z <= 1. */
static inline double kni_bessel_k0_near(double z)
{
    static const double c[] = {1.1009270959725744e-17, 1.5330343403208473e-15, 1.785934656987074e-13,
                               1.709994072705808e-11,  1.3167486730385647e-09, 7.935096521304209e-08,
                               3.6126241031992037e-06, 0.00011848039364109726, 0.0026147876188052093,
                               0.0348921574564389,     0.23069608377461678,    0.42278433509846713,
                               -0.5772156649015329};
    double p = c[0];
    for (int k = 1; k < 13; k++) p = p * z + c[k];
    return p;
}

/* (K1(x) - 1/x - log(x/2) I1(x)) (-4/x) likewise. */
static inline double kni_bessel_k1_near(double z)
{
    static const double c[] = {1.7195232826992565e-18, 2.5986411321011286e-16, 3.309914735250272e-14,
                               3.495928729692882e-12,  3.002048746589188e-10,  2.045286003593878e-08,
                               1.071545914091181e-06,  4.142247689271143e-05,  0.001115359491966528,
                               0.019182189839330562,   0.18157516696085563,    0.6727843350984671,
                               -0.15443132980306573};
    double p = c[0];
    for (int k = 1; k < 13; k++) p = p * z + c[k];
    return p;
}

/* sqrt(x) e^x K0(x) with u = 1/x, for x >= 2. */
static inline double kni_bessel_k0_far(double u)
{
    static const double c[] = {
        14049.568819860759,  -89161.583607500521,  266977.68032992637,  -501853.20850051683,
        664861.77489564742,  -660869.95458985597,  512538.69783389854,  -318634.99254997261,
        162060.14675578501,  -68600.458609374255,  24572.501135143484,  -7589.0564647876645,
        2070.335505412666,   -515.76404972225157,  122.72691180664616,  -29.465787027315734,
        7.5493141589630222,  -2.1625033684652002,  0.71742517037098485, -0.28463521814041315,
        0.14056177079370463, -0.09179546861326289, 0.08812365027761726, -0.15666426716443227,
        1.2533141373155003};
    double p = c[0];
    for (int k = 1; k < 25; k++) p = p * u + c[k];
    return p;
}

/* sqrt(x) e^x K1(x) likewise. */
static inline double kni_bessel_k1_far(double u)
{
    static const double c[] = {
        -15250.13498500803,   96797.373286143426,  -289900.2362027418,   545072.57988980936,
        -722327.3404528898,   718243.42483192077,  -557279.59555226134,  346643.84422646329,
        -176435.19445530698,  74759.438683694723,  -26815.535438931875,  8298.1858286802453,
        -2270.394029983468,   568.07428211095987,  -136.05492153036087,  32.974287879569495,
        -8.5592734340897305,  2.4954075175820378,  -0.84787608646030987, 0.34788783397616591,
        -0.18072228513253749, 0.12851365619476349, -0.14687275046408538, 0.46999280149330691,
        1.2533141373155003};
    double p = c[0];
    for (int k = 1; k < 25; k++) p = p * u + c[k];
    return p;
}

/* Hankel's P of order 0 with v = 1/x^2, for x >= 8. */
static inline double kni_bessel_p0(double v)
{
    static const double c[] = {668520505432.59216,
                               -78167129715.98703,
                               4309960025.1990824,
                               -153812769.47472921,
                               4239804.0860129399,
                               -106977.17778299228,
                               2985.9868798956777,
                               -109.85579030047499,
                               6.0737111624961413,
                               -0.57250100938720772,
                               0.11215209934019119,
                               -0.070312499999930389,
                               1};
    double p = c[0];
    for (int k = 1; k < 13; k++) p = p * v + c[k];
    return p;
}

/* Hankel's Q of order 0 times x likewise. */
static inline double kni_bessel_q0(double v)
{
    static const double c[] = {-13499358726749806,   1728694563748533,     -102996701461428.19,
                               3838721634221.7617,   -102622064760.68558,  2181949712.8389478,
                               -41255783.319667868,  795728.10962995794,   -18140.446329754643,
                               551.07201574159581,   -24.38013274807318,   1.7277271372901879,
                               -0.22710800153120875, 0.073242187499965666, -0.125};
    double p = c[0];
    for (int k = 1; k < 15; k++) p = p * v + c[k];
    return p;
}

/* Hankel's P of order 1 with v = 1/x^2, for x >= 8. */
static inline double kni_bessel_p1(double v)
{
    static const double c[] = {-709638894732.51147,
                               83037425952.622223,
                               -4583931764.868968,
                               163916448.11207417,
                               -4534234.5378543967,
                               115123.67427431147,
                               -3247.2434806899869,
                               121.427391608717,
                               -6.8835645261914964,
                               0.67659215318074217,
                               -0.1441955563558924,
                               0.11718749999992635,
                               1};
    double p = c[0];
    for (int k = 1; k < 13; k++) p = p * v + c[k];
    return p;
}

/* Hankel's Q of order 1 times x likewise. */
static inline double kni_bessel_q1(double v)
{
    static const double c[] = {14222440240345798,   -1821997540812766.2,  108616016900811.61,
                               -4051539972706.1357, 108455554671.95352,   -2311109069.1014538,
                               43863713.360019706,  -851340.91532817367,  19595.234697466389,
                               -603.56697101424425, 27.248410340584325,   -1.9935313499405698,
                               0.27757644634637701, -0.10253906249996392, 0.375};
    double p = c[0];
    for (int k = 1; k < 15; k++) p = p * v + c[k];
    return p;
}

/* J0(x) without its first three zeros, with t = x^2 - 32, for x <= 8. */
static inline double kni_bessel_j0_near(double t)
{
    static const double c[] = {3.2176859942954748e-37,  -3.2421653546664026e-34, 2.8039288534380136e-31,
                               -2.1067198367326355e-28, 1.3552909754635389e-25,  -7.3622344473449968e-23,
                               3.3211790042652783e-20,  -1.2187879831364696e-17, 3.5443209706477954e-15,
                               -7.8895608518445839e-13, 1.2807123787127214e-10,  -1.4085626477131354e-08,
                               9.2290491954708549e-07,  -2.6662941994458524e-05};
    double p = c[0];
    for (int k = 1; k < 14; k++) p = p * t + c[k];
    return p;
}

/* J1(x)/x without its first two zeros, with t = x^2 - 32, for x <= 8. */
static inline double kni_bessel_j1_near(double t)
{
    static const double c[] = {9.8188396556998764e-39,  -1.0597310916103362e-35, 9.8392469347341282e-33,
                               -7.9812077531989448e-30, 5.5819640588100072e-27,  -3.3244681656208285e-24,
                               1.6615147344103229e-21,  -6.8457804579360816e-19, 2.2747761204370884e-16,
                               -5.9279606220549614e-14, 1.16750465898663e-11,    -1.65039161349045e-09,
                               1.548829765563464e-07,   -8.4297585834886495e-06, 0.00019498936985895625};
    double p = c[0];
    for (int k = 1; k < 15; k++) p = p * t + c[k];
    return p;
}

/* Y0(x) - 2/pi J0(x) log(x) likewise. */
static inline double kni_bessel_y0_near(double t)
{
    static const double c[] = {6.6132340335021224e-40,  -7.3123676982418131e-37, 7.0987203360103037e-34,
                               -6.0397357966551358e-31, 4.4428071500792197e-28,  -2.7916105578060552e-25,
                               1.4769626171284073e-22,  -6.4655320052990516e-20, 2.2912405656116927e-17,
                               -6.3898742676164779e-15, 1.3494586944972133e-12,  -2.0392003558735948e-10,
                               2.003243799040235e-08,   -1.0276295984474178e-06, 4.3983863431709111e-06,
                               0.0016084926551509244,   -0.025888621573764335,   -0.38225065445942502};
    double p = c[0];
    for (int k = 1; k < 18; k++) p = p * t + c[k];
    return p;
}

/* (Y1(x) - 2/pi (J1(x) log(x) - 1/x))/x likewise. */
static inline double kni_bessel_y1_near(double t)
{
    static const double c[] = {1.8627374895107916e-41,  -2.2296456845907494e-38, 2.3106441578645293e-35,
                               -2.1080529608314845e-32, 1.6723118265836073e-29,  -1.1408688726675608e-26,
                               6.6071953248562635e-24,  -3.1983303777318358e-21, 1.2697208299271935e-18,
                               -4.0364952247865111e-16, 9.9607590234316272e-14,  -1.8280704350303322e-11,
                               2.3409089214332535e-09,  -1.8730010852747369e-07, 7.1738309346526351e-06,
                               2.2819894258782797e-05,  -0.007605544712247848,   0.070759858821180049};
    double p = c[0];
    for (int k = 1; k < 18; k++) p = p * t + c[k];
    return p;
}

/* ---- I and K */

/* I for |x| <= 15. What rounding (x/2)^2 loses is put back through the derivative: it would grow to many ulps. */
static inline double kni_bessel_i0_small(double x)
{
    kni_double2 z = kni_two_product(0.5 * x, 0.5 * x);
    return kni_bessel_i0_near(z.hi) + z.lo * kni_bessel_i1_near(z.hi);
}

static inline double kni_bessel_i1_small(double x)
{
    kni_double2 z = kni_two_product(0.5 * x, 0.5 * x);
    double y = kni_bessel_i1_near(z.hi);
    double slope = z.hi > 1.0 ? (kni_bessel_i0_near(z.hi) - y) / z.hi : 0.0;
    return 0.5 * x * (y + z.lo * slope);
}

static inline double kni_i0e_f64(double x)
{
    double a = kni_abs_f64(x);
    if (a <= 15.0) return kni_exp_f64(-a) * kni_bessel_i0_small(a);
    return kni_bessel_i0_far(1.0 / a) / kni_sqrt_f64(a);
}

static inline double kni_i1e_f64(double x)
{
    double a = kni_abs_f64(x);
    if (a <= 15.0) return kni_exp_f64(-a) * kni_bessel_i1_small(x);
    return kni_copysign_f64(kni_bessel_i1_far(1.0 / a) / kni_sqrt_f64(a), x);
}

/* Far out e^x is two factors, because it overflows before I does. */
static inline double kni_i0_f64(double x)
{
    double a = kni_abs_f64(x);
    if (a <= 15.0) return kni_bessel_i0_small(a);
    if (a > 720.0) return KNI_INF_F64;
    double e = kni_exp_f64(0.5 * a);
    return e * (e * kni_i0e_f64(a));
}

static inline double kni_i1_f64(double x)
{
    double a = kni_abs_f64(x);
    if (a <= 15.0) return kni_bessel_i1_small(x);
    if (a > 720.0) return kni_copysign_f64(KNI_INF_F64, x);
    double e = kni_exp_f64(0.5 * a);
    return e * (e * kni_i1e_f64(x));
}

/* K for 0 < x <= 2. */
static inline double kni_bessel_k0_small(double x)
{
    double z = 0.25 * x * x;
    return kni_bessel_k0_near(z) - kni_log_f64(0.5 * x) * kni_bessel_i0_near(z);
}

static inline double kni_bessel_k1_small(double x)
{
    double z = 0.25 * x * x;
    double rest = kni_log_f64(0.5 * x) * (0.5 * x * kni_bessel_i1_near(z)) - 0.25 * x * kni_bessel_k1_near(z);
    return 1.0 / x + (x < 1e-150 ? 0.0 : rest);
}

static inline double kni_bessel_k0_f64(double x)
{
    if (!(x > 0.0)) return x == 0.0 ? KNI_INF_F64 : KNI_NAN_F64;
    if (x <= 2.0) return kni_bessel_k0_small(x);
    return kni_exp_f64(-x) * (kni_bessel_k0_far(1.0 / x) / kni_sqrt_f64(x));
}

static inline double kni_bessel_k1_f64(double x)
{
    if (!(x > 0.0)) return x == 0.0 ? KNI_INF_F64 : KNI_NAN_F64;
    if (x <= 2.0) return kni_bessel_k1_small(x);
    return kni_exp_f64(-x) * (kni_bessel_k1_far(1.0 / x) / kni_sqrt_f64(x));
}

static inline double kni_bessel_k0e_f64(double x)
{
    if (!(x > 0.0)) return x == 0.0 ? KNI_INF_F64 : KNI_NAN_F64;
    if (x <= 2.0) return kni_exp_f64(x) * kni_bessel_k0_small(x);
    return kni_bessel_k0_far(1.0 / x) / kni_sqrt_f64(x);
}

static inline double kni_bessel_k1e_f64(double x)
{
    if (!(x > 0.0)) return x == 0.0 ? KNI_INF_F64 : KNI_NAN_F64;
    if (x <= 2.0) return kni_exp_f64(x) * kni_bessel_k1_small(x);
    return kni_bessel_k1_far(1.0 / x) / kni_sqrt_f64(x);
}

/* ---- J and Y. Below 8 the zeros of J are factors, each in two parts, so that J is good to a few ulps beside them too. */

static inline double kni_bessel_j0_small(double a)
{
    double first = ((a - 0x1.33d152e971b40p+1) + 0x1.0f539d7da258ep-53) * (a + 0x1.33d152e971b40p+1);
    double second = ((a - 0x1.6148f5b2c2e45p+2) - 0x1.75054cd60a517p-54) * (a + 0x1.6148f5b2c2e45p+2);
    double third = ((a - 0x1.14eb56cccdecap+3) + 0x1.51970714c7c25p-52) * (a + 0x1.14eb56cccdecap+3);
    return first * second * third * kni_bessel_j0_near(a * a - 32.0);
}

static inline double kni_bessel_j1_small(double x)
{
    double a = kni_abs_f64(x);
    double first = ((a - 0x1.ea75575af6f09p+1) + 0x1.60155a9d1b256p-53) * (a + 0x1.ea75575af6f09p+1);
    double second = ((a - 0x1.c0ff5f3b47250p+2) + 0x1.b226d9d243827p-54) * (a + 0x1.c0ff5f3b47250p+2);
    return x * (first * second * kni_bessel_j1_near(a * a - 32.0));
}

/* sqrt(pi x) J or Y for x >= 8: p and q times the sum and the difference of sine and cosine. */
static inline double kni_bessel_wave0(double a, int second)
{
    double s = kni_sin_f64(a), c = kni_cos_f64(a), u = 1.0 / a;
    double p = kni_bessel_p0(u * u), q = kni_bessel_q0(u * u) * u;
    return second ? p * (s - c) + q * (s + c) : p * (s + c) - q * (s - c);
}

static inline double kni_bessel_wave1(double a, int second)
{
    double s = kni_sin_f64(a), c = kni_cos_f64(a), u = 1.0 / a;
    double p = kni_bessel_p1(u * u), q = kni_bessel_q1(u * u) * u;
    return second ? q * (s - c) - p * (s + c) : p * (s - c) + q * (s + c);
}

/* 1 / sqrt(pi x) */
static inline double kni_bessel_envelope(double x) { return 0.56418958354775629 / kni_sqrt_f64(x); }

static inline double kni_bessel_j0_f64(double x)
{
    double a = kni_abs_f64(x);
    if (a <= 8.0) return kni_bessel_j0_small(a);
    if (a == KNI_INF_F64) return 0.0;
    return kni_bessel_wave0(a, 0) * kni_bessel_envelope(a);
}

static inline double kni_bessel_j1_f64(double x)
{
    double a = kni_abs_f64(x);
    if (a <= 8.0) return kni_bessel_j1_small(x);
    if (a == KNI_INF_F64) return 0.0;
    double y = kni_bessel_wave1(a, 0) * kni_bessel_envelope(a);
    return x < 0.0 ? -y : y;
}

/* pi/2 Y0(x) - (log(x/2) + 0.5772...) J0(x) by its power series in z = (x/2)^2, for z <= 1. */
static inline double kni_bessel_y0_series(double z)
{
    static const double c[] = {8.201338813682637e-20,
                               -1.3525001839484812e-17,
                               1.895299587006153e-15,
                               -2.224275605476294e-13,
                               2.1483350211950277e-11,
                               -1.6718048413148328e-09,
                               1.0207455998272325e-07,
                               -4.72608024691358e-06,
                               0.0001585648148148148,
                               -0.003616898148148148,
                               0.05092592592592592,
                               -0.375,
                               1.0};
    double p = c[0];
    for (int k = 1; k < 13; k++) p = p * z + c[k];
    return p * z;
}

static inline double kni_bessel_y0_f64(double x)
{
    if (!(x > 0.0)) return x == 0.0 ? -KNI_INF_F64 : KNI_NAN_F64;
    if (x <= 2.0) {
        double sum = (kni_log_f64(x) - 0.11593151565841245) * kni_bessel_j0_small(x);
        return 0.63661977236758134 * (sum + kni_bessel_y0_series(0.25 * x * x));
    }
    if (x <= 8.0)
        return kni_bessel_y0_near(x * x - 32.0) +
               0.63661977236758134 * (kni_log_f64(x) * kni_bessel_j0_small(x));
    if (x == KNI_INF_F64) return 0.0;
    return kni_bessel_wave0(x, 1) * kni_bessel_envelope(x);
}

static inline double kni_bessel_y1_f64(double x)
{
    if (!(x > 0.0)) return x == 0.0 ? -KNI_INF_F64 : KNI_NAN_F64;
    if (x <= 8.0) {
        double rest = x < 1e-150 ? 0.0 : kni_log_f64(x) * kni_bessel_j1_small(x);
        return 0.63661977236758134 * (rest - 1.0 / x) + x * kni_bessel_y1_near(x * x - 32.0);
    }
    if (x == KNI_INF_F64) return 0.0;
    return kni_bessel_wave1(x, 1) * kni_bessel_envelope(x);
}

static inline float kni_i0_f32(float x) { return (float)kni_i0_f64((double)x); }
static inline float kni_i0e_f32(float x) { return (float)kni_i0e_f64((double)x); }
static inline float kni_i1_f32(float x) { return (float)kni_i1_f64((double)x); }
static inline float kni_i1e_f32(float x) { return (float)kni_i1e_f64((double)x); }
static inline float kni_bessel_j0_f32(float x) { return (float)kni_bessel_j0_f64((double)x); }
static inline float kni_bessel_j1_f32(float x) { return (float)kni_bessel_j1_f64((double)x); }
static inline float kni_bessel_y0_f32(float x) { return (float)kni_bessel_y0_f64((double)x); }
static inline float kni_bessel_y1_f32(float x) { return (float)kni_bessel_y1_f64((double)x); }
static inline float kni_bessel_k0_f32(float x) { return (float)kni_bessel_k0_f64((double)x); }
static inline float kni_bessel_k1_f32(float x) { return (float)kni_bessel_k1_f64((double)x); }
static inline float kni_bessel_k0e_f32(float x) { return (float)kni_bessel_k0e_f64((double)x); }
static inline float kni_bessel_k1e_f32(float x) { return (float)kni_bessel_k1e_f64((double)x); }

#endif
