/* Copies of strided elements in host memory without conversion, on all threads. */
#ifndef KNI_HOST_COPY_H
#define KNI_HOST_COPY_H

#include "core/type.h"

/* to[index] = from[index] for every index, elements of 1, 2, 4 or 8 bytes; strides in elements. The areas
   do not overlap. */
void kni_host_copy(void *to, const int64_t *to_strides, const void *from, const int64_t *from_strides,
                   int rank, const int64_t *dims, size_t element_bytes);

/* Sets n elements to the one at `value`. */
void kni_host_fill(void *to, const void *value, size_t element_bytes, int64_t n);

/* Whether the layout runs along another axis than the last one, as that of a transposed matrix does, so that whoever reads it in
   order touches a cache line for each element. */
bool kni_host_runs_across(const int64_t *strides, int rank, const int64_t *dims);

#endif
