/* Generated from src/ops/kernels/sorting.kn by tools/gen/kernels.py; do not edit. */
#ifndef KNI_SORTING_KERNELS_H
#define KNI_SORTING_KERNELS_H

#include "ops/kernel.h"

extern const kni_kernel kni_kernel_sort_lines;
extern const kni_kernel kni_kernel_sort_pick;
extern const kni_kernel kni_kernel_search_sorted;
extern const kni_kernel kni_kernel_unique_all;
extern const kni_kernel kni_kernel_count_bins;
extern const kni_kernel kni_kernel_weigh_bins;
extern const kni_kernel kni_kernel_distinct;

#endif
