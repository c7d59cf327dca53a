/* Which types the elementwise kernels of this build compute in. Bare-metal targets have 32-bit words and count their
   flash: they compute in f32 and i32, and in i64 where that takes a few instructions. KNI_ALL_TYPES gives them the
   rest. */
#ifndef KNI_ELEMENTWISE_TYPES_H
#define KNI_ELEMENTWISE_TYPES_H

#if defined(KN_FREESTANDING) && !defined(__wasm__) && !defined(KNI_ALL_TYPES)
#define KNI_ONLY_F32_I32 1
#endif

#endif
