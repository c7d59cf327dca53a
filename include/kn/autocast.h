/* Mixed precision: between begin and end the calling thread's matrix products, convolutions and attention round their f32
   operands to a shorter float, and what needs range (exponentials, sums, losses) is computed and returned in f32. Params
   stay f32; their gradients come back in f32. bf16 needs nothing else; f16 needs a loss scaler (kn/optim.h). */
#ifndef KN_AUTOCAST_H
#define KN_AUTOCAST_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* dtype: KN_BF16 or KN_F16; KN_F32 or 0 turns it off inside. Gives what was in force before, for the end. They nest.
   A dtype that is none of these changes nothing and tells a failure. Gradients follow the dtypes of the forward pass by
   themselves: kn_backward inside or outside makes no difference. */
KN_API kn_dtype kn_autocast_begin(kn_dtype dtype);
KN_API void kn_autocast_end(kn_dtype before);
/* What is in force in this thread; 0 when nothing is. */
KN_API kn_dtype kn_autocast_dtype(void);

/* How autocast treats an op, by its number (kn/op_info.h): -1 rounds its operands down, 1 computes it in f32, 0 leaves it
   to the dtypes it meets. */
KN_API int32_t kn_autocast_policy(int32_t op_number);

#ifdef __cplusplus
}
#endif
#endif
