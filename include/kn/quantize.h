/* Numbers as small integers or floats times a scale, and back. */
#ifndef KN_QUANTIZE_H
#define KN_QUANTIZE_H

#include <kn/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How scales and zero points belong to x: of one element to all of it; of rank 1 one to each place along `axis`; of the rank of x with
   `block` one to `block` neighbours along `axis`, of which the last may have fewer. */
typedef struct kn_quantize_args {
    kn_dtype dtype; /* of the result; KN_DTYPE_NONE: that of the zero point, else u8 */
    int32_t axis;
    int64_t block;
    bool
        overflows; /* to 8-bit floats: what is too large becomes what kn_cast gives, not the largest number */
} kn_quantize_args;
#define KN_QUANTIZE_ARGS_DEFAULTS KN_ZEROED
/* y = round(x / scale) + zero within the range of the dtype, halves to the even number; x / scale for 8-bit and 4-bit floats. x and
   scale are floats, zero may be KN_NONE. No gradient flows. */
KN_API kn_tensor kn_quantize(kn_tensor x, kn_tensor scale, kn_tensor zero, const kn_quantize_args *args);
/* y = (x - zero) scale in the dtype of scale. x is of any dtype but bool; zero may be KN_NONE. dtype and overflows are not read. */
KN_API kn_tensor kn_dequantize(kn_tensor x, kn_tensor scale, kn_tensor zero, const kn_quantize_args *args);

#ifdef __cplusplus
}
#endif
#endif
