/* Windows of convolutions and pools as nodes describe them: kernel, strides, dilations, and padding that is given or follows from the
   sizes. */
#include "onnx/convert/network.h"
#include <string.h>

bool kni_window_list(kni_conversion *c, const kni_onnx_node *node, const char *name, int32_t n,
                     int64_t otherwise, int64_t lowest, kni_extent *list)
{
    int64_t count;
    const int64_t *given = kni_node_ints(node, name, &count);
    if (count != 0 && count != n) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "%s has %lld numbers; this operand needs %d", name,
                         (long long)count, n);
        return false;
    }
    for (int32_t i = 0; i < n; i++) {
        int64_t value = count ? given[i] : otherwise;
        if (value < lowest || value > INT32_MAX) {
            kni_convert_fail(c, KN_ERROR_ARGUMENT, "%s is %lld on spatial axis %d; it must be %lld to %d",
                             name, (long long)value, i, (long long)lowest, INT32_MAX);
            return false;
        }
        list[i] = KNI_EXTENT(value);
    }
    return true;
}

int64_t kni_window_span(const kni_window *window, int32_t i)
{
    return (window->kernel[i].value - 1) * window->dilation[i].value + 1;
}

/* kernel_shape, or the sizes of the weight. */
static bool find_kernel(kni_conversion *c, const kni_onnx_node *node, kni_datum weight, kni_window *window)
{
    int64_t count;
    kni_node_ints(node, "kernel_shape", &count);
    if (!kni_is_given(weight)) {
        if (!count) kni_convert_fail(c, KN_ERROR_ARGUMENT, "kernel_shape is missing: a pool needs it");
        return !kni_convert_failed(c) &&
               kni_window_list(c, node, "kernel_shape", window->n, 1, 1, window->kernel);
    }
    if (count && !kni_window_list(c, node, "kernel_shape", window->n, 1, 1, window->kernel)) return false;
    if (kni_rank_of(c, weight) != window->n + 2) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "the weight has rank %d; an operand of rank %d needs %d",
                         kni_rank_of(c, weight), window->n + 2, window->n + 2);
        return false;
    }
    for (int32_t i = 0; i < window->n; i++) {
        int64_t size =
            kni_extent_number(c, kni_extent_of(c, weight, i + 2), "the size of the convolution's kernel");
        if (count && size != window->kernel[i].value)
            kni_convert_fail(c, KN_ERROR_SHAPE,
                             "kernel_shape has %lld on spatial axis %d, and the weight has %lld",
                             (long long)window->kernel[i].value, i, (long long)size);
        window->kernel[i] = KNI_EXTENT(size);
    }
    return !kni_convert_failed(c);
}

/* Padding so that the result has ceil(size / stride) elements; an odd one goes to the end (upper) or the beginning (lower). */
static void pad_same(kni_conversion *c, kni_window *window, int32_t i)
{
    kni_extent stride = window->stride[i], span = KNI_EXTENT(kni_window_span(window, i)), total;
    if (stride.value == 1) {
        total = KNI_EXTENT(span.value - 1); /* whatever the size is */
    } else {
        kni_extent steps =
            kni_extent_div(c, kni_extent_sub(c, window->size[i], KNI_EXTENT(1)), stride); /* result - 1 */
        total = kni_extent_sub(c, kni_extent_add(c, kni_extent_mul(c, steps, stride), span), window->size[i]);
        total = kni_extent_max(c, total, KNI_EXTENT(0));
    }
    kni_extent less = kni_extent_div(c, total, KNI_EXTENT(2)), more = kni_extent_sub(c, total, less);
    window->before[i] = window->same_lower ? more : less;
    window->after[i] = window->same_lower ? less : more;
}

static bool find_padding(kni_conversion *c, const kni_onnx_node *node, kni_window *window)
{
    const char *automatic = kni_node_text(node, "auto_pad", "NOTSET");
    kni_extent pads[2 * KNI_SPATIAL];
    for (int32_t i = 0; i < window->n; i++) window->before[i] = window->after[i] = KNI_EXTENT(0);
    window->same_upper = !strcmp(automatic, "SAME_UPPER");
    window->same_lower = !strcmp(automatic, "SAME_LOWER");
    if (window->same_upper || window->same_lower) {
        for (int32_t i = 0; i < window->n; i++) pad_same(c, window, i);
        return true;
    }
    if (!strcmp(automatic, "VALID")) return true;
    if (*automatic && strcmp(automatic, "NOTSET") != 0) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT,
                         "auto_pad is '%.40s'; it must be NOTSET, SAME_UPPER, SAME_LOWER or VALID",
                         automatic);
        return false;
    }
    if (!kni_window_list(c, node, "pads", 2 * window->n, 0, -INT32_MAX, pads)) return false;
    memcpy(window->before, pads, sizeof *pads * (size_t)window->n);
    memcpy(window->after, pads + window->n, sizeof *pads * (size_t)window->n);
    return true;
}

bool kni_window_of(kni_conversion *c, const kni_onnx_node *node, kni_datum x, kni_datum weight,
                   kni_window *window)
{
    *window = (kni_window){.n = kni_rank_of(c, x) - 2};
    if (kni_convert_failed(c)) return false;
    if (window->n < 1 || window->n > 3) {
        kni_convert_fail(
            c, window->n > 3 ? KN_ERROR_UNSUPPORTED : KN_ERROR_SHAPE,
            "the operand has rank %d; windows run over 1 to 3 axes behind batch and channels: rank 3 to 5",
            window->n + 2);
        return false;
    }
    for (int32_t i = 0; i < window->n; i++) window->size[i] = kni_extent_of(c, x, i + 2);
    return find_kernel(c, node, weight, window) &&
           kni_window_list(c, node, "strides", window->n, 1, 1, window->stride) &&
           kni_window_list(c, node, "dilations", window->n, 1, 1, window->dilation) &&
           find_padding(c, node, window) && !kni_convert_failed(c);
}

bool kni_weight_is_given(kni_conversion *c, kni_datum weight)
{
    if (!kni_is_given(weight)) kni_convert_fail(c, KN_ERROR_ARGUMENT, "it has no weight");
    return kni_is_given(weight);
}

int64_t kni_groups_of(kni_conversion *c, const kni_onnx_node *node)
{
    int64_t groups = kni_node_int(node, "group", 1);
    if (groups < 1)
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "group is %lld; it must be at least 1", (long long)groups);
    return groups;
}

bool kni_window_has_numbers(const kni_window *window)
{
    for (int32_t i = 0; i < window->n; i++)
        if (window->before[i].text || window->after[i].text) return false;
    return true;
}

kni_datum kni_window_pad(kni_conversion *c, kni_window *window, kni_datum x, double value)
{
    kni_extent before[KN_MAX_RANK] = {{0, NULL}}, after[KN_MAX_RANK] = {{0, NULL}};
    bool any = false;
    for (int32_t i = 0; i < window->n; i++) {
        before[i + 2] = window->before[i];
        after[i + 2] = window->after[i];
        any |= !kni_extent_is(before[i + 2], 0) || !kni_extent_is(after[i + 2], 0);
        window->size[i] =
            kni_extent_add(c, window->size[i], kni_extent_add(c, window->before[i], window->after[i]));
        window->before[i] = window->after[i] = KNI_EXTENT(0);
    }
    return any ? kni_pad_with(c, x, before, after, value) : x;
}

kni_datum kni_window_conv(kni_conversion *c, const kni_window *window, kni_datum x, kni_datum weight,
                          kni_datum bias, int64_t groups)
{
    kni_window w = *window;
    if (!kni_window_has_numbers(&w)) x = kni_window_pad(c, &w, x, 0);
    return kni_emit(c, "conv", KNI_LIST(x, weight, bias),
                    KNI_GIVE(KNI_EXTENTS("stride", w.stride, w.n), KNI_EXTENTS("padding", w.before, w.n),
                             KNI_EXTENTS("padding_end", w.after, w.n),
                             KNI_EXTENTS("dilation", w.dilation, w.n), KNI_WHOLE("groups", groups)));
}
