/* Functions of one double for learning rates, bounds of initializers and statistics on the host. The library links no libm,
   so they are written here; results are within a few units in the last place. */
#ifndef KNI_SUPPORT_SCALAR_MATH_H
#define KNI_SUPPORT_SCALAR_MATH_H

#define KNI_PI 3.14159265358979323846

double kni_sqrt(double x);
double kni_exp(double x);
/* Natural logarithm; -inf at 0, NaN below. */
double kni_ln(double x);
/* Its error grows with |exponent log(base)|: about 1e-14 at 100. */
double kni_pow(double base, double exponent);
/* For |x| up to about 1e9. */
double kni_cos(double x);
double kni_sin(double x);
double kni_floor(double x);
/* The nearest whole number, halves to the even one. */
double kni_round(double x);

#endif
