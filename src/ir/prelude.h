/* The functions that emitted kernels call: Kiln's own math, the words of bodies, casts and random bits, printed
   in any dialect from one table made of our headers, so that a kernel gives the bits of the CPU. The text is whole: it
   needs no header of the target. Contraction must be off (CUDA --fmad=false, C -ffp-contract=off, OpenCL
   -cl-fp32-correctly-rounded-divide-sqrt; the OpenCL text switches contraction off itself) and C wants -fwrapv. */
#ifndef KNI_IR_PRELUDE_H
#define KNI_IR_PRELUDE_H

#include "ir/ir.h"

/* Prints the basics and the functions named, with all they call, each once and in order; a name may be given more than
   once. Names, with S one of f32, f64, i32, i64, u32, u64 and D any dtype's name (bool i8 .. u64 f16 bf16 f32 f64):
     kni_word_<word>_S     a word of ops/scalar_words.def on S; truths come out as int 0 or 1
     kni_cast_<D>_<D>      to, from: as kni_convert does it. f16 and bf16 travel as uint16_t, bool as uint8_t 0 or 1
     kni_<function>_f32/64 of src/core/math and the specials of ops/scalar_*.h
     kni_integer_power_S, kni_select_S, kni_fma_f32/64 (a b + c rounded once), ...
     kni_philox_word       int64_t of (int64_t key, int64_t counter, int64_t word): 32 random bits
     kni_bits_f32/64, kni_from_bits_f32/64   bit casts to and from uint32_t, uint64_t
   The basics, always there: the types int8_t .. uint64_t by those names; KNI_FUNCTION, what a function's definition
   begins with (KNI_INLINE where inlining is forced); KNI_TABLE, what a constant table begins with; KNI_MAKE(type){...},
   a struct's value; KNI_INF_F32/64 and KNI_NAN_F32/64. Names beginning with kni_ and KNI_ are the prelude's.
   KN_ERROR_ARGUMENT where a name is not in the table. */
kn_status kni_ir_prelude(kni_ir_text *text, int dialect, const char *const *functions, int n);

/* Whether the function is there, and whether it or anything it calls computes in f64 (for targets without). */
bool kni_ir_prelude_has(const char *function);
/* Whether the dialect has kni_near_<word>_f32 (KNI_IR_WORD with `detail` 1). */
bool kni_ir_prelude_near(const char *function, int dialect);
bool kni_ir_prelude_uses_f64(const char *function, int dialect);

#endif
