/* Windows over spatial axes: lists of args, and the padding that keeps a size. */
#ifndef KNI_NN_WINDOW_H
#define KNI_NN_WINDOW_H

#include <kn/base.h>

/* Strides or dilations: a 0 behind the first entry becomes the first one, and 0 in all becomes 1. */
kn_ints kni_window_steps(const int64_t *entries, int32_t rank);
/* The same for pools, whose windows do not overlap where no stride is given. */
kn_ints kni_window_strides(const int64_t *entries, kn_ints window);
/* Paddings: 0 and KN_ZERO are 0. */
kn_ints kni_window_paddings(const int64_t *entries, int32_t rank);
/* padding_end: 0 becomes the entry of padding, KN_ZERO becomes 0. */
kn_ints kni_window_ends(const int64_t *ends, kn_ints padding);
/* KN_OK when the window has `rank` entries, all at least 1. */
kn_status kni_window_check(const char *function, kn_ints window, int32_t rank);

typedef struct kni_window_padding {
    kn_ints before, after;
} kni_window_padding;
/* The padding of x's last axes for a result of size ceil(size / stride). */
kni_window_padding kni_window_same(kn_tensor x, kn_ints window, kn_ints stride, kn_ints dilation);

#endif
