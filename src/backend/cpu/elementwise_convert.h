/* Conversion of elements by the kernels of the tier in use. */
#ifndef KNI_ELEMENTWISE_CONVERT_H
#define KNI_ELEMENTWISE_CONVERT_H

#include "core/dtype.h"

/* As kni_convert. */
void kni_cpu_convert(void *to, int to_dtype, int64_t to_stride, const void *from, int from_dtype,
                     int64_t from_stride, int64_t n);

/* To contiguous elements, rounded to `via` on the way where that is not 0. */
void kni_cpu_convert_via(void *to, int to_dtype, int via, const void *from, int from_dtype,
                         int64_t from_stride, int64_t n);

/* n copies of one element of `bytes` bytes (1, 2, 4 or 8). */
void kni_cpu_splat(void *to, const void *from, int bytes, int64_t n);

#endif
