/* All of Kiln's math functions. They replace libm everywhere in the library. Each is kni_<name>_f64 and
   kni_<name>_f32; loops over them are vectorised by the compiler unless the table says otherwise.

     bits.h              abs copysign, bit casts, exact sums and products
     round_functions.h   floor ceil trunc round_even; fmod remainder_floor (loops, scalar)
     roots.h             sqrt rsqrt hypot
     exp_log.h           exp exp2 expm1 log log2 log10 log1p in double
     float_exp_log.h     the same in float, tanh_f32, sigmoid
     hyperbolic.h        sinh cosh tanh asinh acosh atanh
     trig.h              sin cos tan in double (scalar; kni_*_bounded_f64 vectorise, for |x| <= 2^20)
     trig_arrays.h       sin cos tan of arrays of doubles, vectorised
     float_trig.h        sin cos tan in float
     inverse_trig.h      asin acos atan atan2
     power.h             pow
     error_function.h    erf erfc erfinv
     gamma.h             lgamma digamma
     half.h              conversions of f16 and bf16
     philox.h            random words, uniform and normal numbers */
#ifndef KNI_MATH_MATH_H
#define KNI_MATH_MATH_H

#include "core/math/bits.h"
#include "core/math/error_function.h"
#include "core/math/exp_log.h"
#include "core/math/float_exp_log.h"
#include "core/math/float_trig.h"
#include "core/math/gamma.h"
#include "core/math/half.h"
#include "core/math/hyperbolic.h"
#include "core/math/inverse_trig.h"
#include "core/math/philox.h"
#include "core/math/power.h"
#include "core/math/roots.h"
#include "core/math/round_functions.h"
#include "core/math/trig.h"
#include "core/math/trig_arrays.h"

#endif
