/* Copies between strided layouts of host memory, with conversion. */
#ifndef KNI_STRIDED_COPY_H
#define KNI_STRIDED_COPY_H

#include "core/type.h"

/* Merges axes that lie behind each other in all n layouts; strides[k] belong to layout k. Returns the new
   rank (at least 1); the innermost axis comes last. */
int kni_collapse(int rank, int64_t *dims, int n, int64_t (*strides)[KN_MAX_RANK]);

/* to[index] = convert(from[index]) for every index; strides in elements. */
void kni_copy_strided(void *to, int to_dtype, const int64_t *to_strides, const void *from, int from_dtype,
                      const int64_t *from_strides, int rank, const int64_t *dims);

#endif
