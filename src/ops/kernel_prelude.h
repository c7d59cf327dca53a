/* The kernel language as C: what the generated files put before a kernel text. See docs/kernel-language.md. */
#ifndef KNI_KERNEL_PRELUDE_H
#define KNI_KERNEL_PRELUDE_H

#include "core/math/math.h"
#include "core/math/philox.h"
#include "ops/kernel.h"

typedef int64_t index;
typedef double real;

#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wtype-limits"
#endif

#define kernel static inline void
#define function static inline
#define in const
#define out
#define temp
#define uniform const

/* Notes a bad index, the first one of a run in order; the op then fails and its results are poisoned. The kernel must
   not use the index. */
#define report(value)                                                                                        \
    ((void)(__atomic_load_n(&kni_error[0], __ATOMIC_RELAXED) ||                                              \
            (__atomic_store_n(&kni_error[1], (int64_t)(value), __ATOMIC_RELAXED),                            \
             __atomic_store_n(&kni_error[0], (int64_t)1, __ATOMIC_RELAXED), 1)))

#define INF __builtin_inf()
#define NAN_VALUE __builtin_nan("")
#define abs(x) ((x) < 0 ? -(x) : (x))
#define exp kni_exp_f64
#define expm1 kni_expm1_f64
#define log kni_log_f64
#define log1p kni_log1p_f64
#define sqrt kni_sqrt_f64
#define sin kni_sin_f64
#define cos kni_cos_f64
#define tanh kni_tanh_f64
#define atan2 kni_atan2_f64
#define pow kni_pow_f64
#define hypot kni_hypot_f64
#define floor kni_floor_f64
#define ceil kni_ceil_f64
#define round kni_round_even_f64
#define trunc kni_trunc_f64
#define sigmoid kni_sigmoid_f64
/* cos(2 pi x) for x in [0, 1]. */
#define cos_turn kni_cos_turn_f64
/* The lowest and highest value of T, and whether v is NaN (never for integers). */
#define is_nan(v) ((v) != (v))
/* philox(key, counter, word): 32 random bits, word 0 to 3 of the block at counter. */
#define philox kni_philox_word

#endif
