/* The Fourier transforms of this tier in single precision. */
#define REAL float
#include "backend/cpu/tier/fft_lines.h"

const kni_fft_kernels KNI_TIER_FN(kni_fft_f32) = {transform_line, transform_chirp};
