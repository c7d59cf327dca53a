/* The Fourier transforms of this tier in double precision. */
#define REAL double
#include "backend/cpu/tier/fft_lines.h"

const kni_fft_kernels KNI_TIER_FN(kni_fft_f64) = {transform_line, transform_chirp};
