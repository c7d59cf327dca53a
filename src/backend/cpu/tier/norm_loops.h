/* EACH_ALONE before a loop says that its turns do not depend on each other, also where the result is written over an
   operand, so that the compiler vectorises it. */
#ifndef KNI_BACKEND_CPU_TIER_NORM_LOOPS_H
#define KNI_BACKEND_CPU_TIER_NORM_LOOPS_H

#if defined(__clang__)
/* The scalar tier forbids what the hint asks for. */
#pragma clang diagnostic ignored "-Wpass-failed"
#define EACH_ALONE _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define EACH_ALONE _Pragma("GCC ivdep")
#else
#define EACH_ALONE
#endif

#endif
