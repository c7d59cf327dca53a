/* Lists of window args and the padding that keeps a size. */
#include "nn/window.h"
#include "nn/layer.h"
#include "support/failure.h"
#include <kn/tensor.h>

/* As core/axis_entry.h, which layers do not see. */
static int64_t entry_of(const int64_t *list, int i) { return list[i] ? list[i] : list[0]; }

kn_ints kni_window_steps(const int64_t *entries, int32_t rank)
{
    kn_ints list = {rank, {0}};
    for (int i = 0; i < rank; i++) list.dims[i] = kn_int_or(entry_of(entries, i), 1);
    return list;
}

kn_ints kni_window_strides(const int64_t *entries, kn_ints window)
{
    kn_ints list = window;
    for (int i = 0; i < list.rank; i++) list.dims[i] = kn_int_or(entry_of(entries, i), window.dims[i]);
    return list;
}

kn_ints kni_window_paddings(const int64_t *entries, int32_t rank)
{
    kn_ints list = {rank, {0}};
    for (int i = 0; i < rank; i++) list.dims[i] = kn_int_or(entries[i], 0);
    return list;
}

kn_ints kni_window_ends(const int64_t *ends, kn_ints padding)
{
    kn_ints list = padding;
    for (int i = 0; i < list.rank; i++) list.dims[i] = kn_int_or(ends[i], padding.dims[i]);
    return list;
}

kn_status kni_window_check(const char *function, kn_ints window, int32_t rank)
{
    if (window.rank != rank)
        return kni_failure(KN_ERROR_ARGUMENT,
                           "%s: the window has %d sizes; it needs %d, one for each spatial axis", function,
                           (int)window.rank, (int)rank);
    kn_status s = KN_OK;
    for (int i = 0; i < rank && s == KN_OK; i++)
        s = kni_layer_positive(function, "a size of the window", window.dims[i]);
    return s;
}

kni_window_padding kni_window_same(kn_tensor x, kn_ints window, kn_ints stride, kn_ints dilation)
{
    kni_window_padding p = {{window.rank, {0}}, {window.rank, {0}}};
    if (!kn_ok(x) || kn_rank(x) < window.rank) return p;
    for (int i = 0; i < window.rank; i++) {
        int64_t size = kn_size(x, i - window.rank), step = stride.dims[i] < 1 ? 1 : stride.dims[i];
        int64_t out = (size + step - 1) / step, reach = dilation.dims[i] * (window.dims[i] - 1) + 1;
        int64_t total = (out - 1) * step + reach - size;
        if (total < 0) total = 0;
        p.before.dims[i] = total / 2;
        p.after.dims[i] = total - total / 2;
    }
    return p;
}
