/* Windows over spatial axes: lists of args, and the padding that keeps a size. */
#ifndef KNI_NN_WINDOW_H
#define KNI_NN_WINDOW_H

#include <kn/base.h>

/* The first rank entries as a list. A 0 behind the first becomes the first one, then 0 the fallback and KN_ZERO 0. */
kn_ints kni_window_list(const int64_t *entries, int32_t rank, int64_t fallback);
/* The same with a fallback for each axis: the window for strides, the padding for padding_end. */
kn_ints kni_window_list_or(const int64_t *entries, kn_ints fallback);
/* KN_OK when the window has `rank` entries, all at least 1. */
kn_status kni_window_check(const char *function, kn_ints window, int32_t rank);

typedef struct kni_window_padding {
    kn_ints before, after;
} kni_window_padding;
/* The padding of x's last axes for a result of size ceil(size / stride). */
kni_window_padding kni_window_same(kn_tensor x, kn_ints window, kn_ints stride, kn_ints dilation);

#endif
