/* How the generated lines of elementwise kernels become functions: one loop over contiguous elements each, which the
   compiler vectorises for the tier. The result may be one of the operands, element for element. */
#ifndef KNI_ELEMENTWISE_STRIP_H
#define KNI_ELEMENTWISE_STRIP_H

#include "backend/cpu/elementwise_types.h"
#include "backend/cpu/tier.h"
#include "ops/scalar_words.h"

/* Loops that call a function per element (fmod, pow of integers) stay scalar; that is no mistake. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#define EACH_ALONE _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define EACH_ALONE _Pragma("GCC ivdep")
#else
#define EACH_ALONE
#endif

#define UNWRAP(...) __VA_ARGS__
#define IN(name, k, type) const type *name = in[k];
#define NUMBER(name, k, type) const type name = (type)params[k];
#define SIGNATURE(name, S)                                                                                   \
    KNI_TIER_FN(kni_strip_##name##_##S)(int64_t n, void *out, const void *const *in, const double *params)

#define STRIP(name, S, result, before, statements, ...)                                                      \
    void SIGNATURE(name, S);                                                                                 \
    void SIGNATURE(name, S)                                                                                  \
    {                                                                                                        \
        (void)params;                                                                                        \
        UNWRAP before result *to = out;                                                                      \
        EACH_ALONE                                                                                           \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            UNWRAP statements to[i] = (result)(__VA_ARGS__);                                                 \
        }                                                                                                    \
    }

#define ARRAY_STRIP(name, S, type, function)                                                                 \
    void SIGNATURE(name, S);                                                                                 \
    void SIGNATURE(name, S)                                                                                  \
    {                                                                                                        \
        (void)params;                                                                                        \
        function((type *)out, (const type *)in[0], (size_t)n);                                               \
    }

#ifdef KNI_ONLY_F32_I32
#define WIDE_STRIP(...)
#define ARRAY_WIDE_STRIP(...)
#else
#define WIDE_STRIP STRIP
#define ARRAY_WIDE_STRIP ARRAY_STRIP
#endif

#endif
