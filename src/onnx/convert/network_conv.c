/* Convolutions: Conv, ConvTranspose, DeformConv, and the causal one that carries a state. */
#include "onnx/convert/network.h"
#include <string.h>

void kni_convert_conv(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                      kni_datum *out, int32_t n_out)
{
    kni_window window;
    (void)n_in, (void)n_out;
    if (!kni_weight_is_given(c, in[1]) || !kni_window_of(c, node, in[0], in[1], &window)) return;
    out[0] = kni_window_conv(c, &window, in[0], in[1], in[2], kni_groups_of(c, node));
}

/* ---- ConvTranspose */

typedef struct transposed {
    kni_extent extra[KNI_SPATIAL]; /* output_padding */
    bool cut;                      /* the result has the ends that `skip` and `size` cut off */
    kni_extent skip[KNI_SPATIAL], size[KNI_SPATIAL];
} transposed;

/* The size without padding and with output_padding. */
static kni_extent natural_size(kni_conversion *c, const kni_window *w, const transposed *t, int32_t i)
{
    kni_extent steps = kni_extent_mul(c, kni_extent_sub(c, w->size[i], KNI_EXTENT(1)), w->stride[i]);
    return kni_extent_add(c, steps, KNI_EXTENT(kni_window_span(w, i) + t->extra[i].value));
}

/* Padding of which the sum is `total`; an odd element goes to the end for SAME_UPPER, else to the beginning. */
static void share_padding(kni_conversion *c, kni_window *w, int32_t i, kni_extent total)
{
    total = kni_extent_max(c, total, KNI_EXTENT(0));
    kni_extent less = kni_extent_div(c, total, KNI_EXTENT(2)), more = kni_extent_sub(c, total, less);
    w->before[i] = w->same_upper ? less : more;
    w->after[i] = w->same_upper ? more : less;
}

/* The result on axis i has `size` elements: what is more than that is padding, what is less comes at the end. */
static void fix_size(kni_conversion *c, kni_window *w, transposed *t, int32_t i, kni_extent size)
{
    kni_extent natural = natural_size(c, w, t, i);
    share_padding(c, w, i, kni_extent_sub(c, natural, size));
    t->skip[i] = w->before[i];
    t->size[i] = size;
    if (natural.text) {
        t->cut = true;
        return;
    }
    int64_t missing = size.value - (natural.value - w->before[i].value - w->after[i].value);
    w->after[i].value -= missing; /* below 0: the result goes on with what no element reaches */
}

static bool find_sizes(kni_conversion *c, const kni_onnx_node *node, kni_window *w, transposed *t)
{
    int64_t count;
    const int64_t *shape = kni_node_ints(node, "output_shape", &count);
    if (!kni_window_list(c, node, "output_padding", w->n, 0, 0, t->extra)) return false;
    if (count) { /* some files name batch and channels too */
        if (count != w->n && count != w->n + 2) {
            kni_convert_fail(c, KN_ERROR_ARGUMENT, "output_shape has %lld numbers for %d spatial axes",
                             (long long)count, w->n);
            return false;
        }
        for (int32_t i = 0; i < w->n; i++) fix_size(c, w, t, i, KNI_EXTENT(shape[count - w->n + i]));
    } else if (w->same_upper || w->same_lower) { /* size * stride elements, whatever the size is */
        for (int32_t i = 0; i < w->n; i++) {
            int64_t total = kni_window_span(w, i) + t->extra[i].value - w->stride[i].value;
            share_padding(c, w, i, KNI_EXTENT(total));
            if (total < 0) w->after[i] = KNI_EXTENT(total);
        }
    }
    return !kni_convert_failed(c);
}

/* A symbolic size with a fixed result: all is computed, then cut or filled. */
static kni_datum cut_result(kni_conversion *c, const kni_window *w, const transposed *t, kni_datum y,
                            kni_datum bias)
{
    if (!t->cut) return y;
    kni_extent none[KN_MAX_RANK] = {{0, NULL}}, more[KN_MAX_RANK] = {{0, NULL}};
    for (int32_t i = 0; i < w->n; i++) more[i + 2] = t->size[i]; /* enough, and a number */
    y = kni_pad_with(c, y, none, more, 0);
    for (int32_t i = 0; i < w->n; i++)
        y = kni_slice_of(c, y, i + 2, t->skip[i], kni_extent_add(c, t->skip[i], t->size[i]));
    if (kni_is_given(bias)) y = kni_emit2(c, "add", y, kni_along_axis_one(c, bias, w->n + 2));
    return y;
}

void kni_convert_conv_transpose(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                int32_t n_in, kni_datum *out, int32_t n_out)
{
    kni_window w;
    transposed t = {0};
    (void)n_in, (void)n_out;
    if (!kni_weight_is_given(c, in[1]) || !kni_window_of(c, node, in[0], in[1], &w) ||
        !find_sizes(c, node, &w, &t))
        return;
    kni_extent
        past[KNI_SPATIAL]; /* output_padding below the stride or the dilation, the rest is padding below 0 */
    for (int32_t i = 0; i < w.n; i++) {
        int64_t most = w.stride[i].value > w.dilation[i].value ? w.stride[i].value : w.dilation[i].value;
        past[i] = t.extra[i];
        if (t.cut) w.before[i] = w.after[i] = KNI_EXTENT(0);
        if (past[i].value >= most) {
            w.after[i].value -= past[i].value - (most - 1);
            past[i].value = most - 1;
        }
    }
    kni_datum y = kni_emit(
        c, "conv_transpose", KNI_LIST(in[0], in[1], t.cut ? KNI_ABSENT : in[2]),
        KNI_GIVE(KNI_EXTENTS("stride", w.stride, w.n), KNI_EXTENTS("padding", w.before, w.n),
                 KNI_EXTENTS("padding_end", w.after, w.n), KNI_EXTENTS("dilation", w.dilation, w.n),
                 KNI_EXTENTS("output_padding", past, w.n), KNI_WHOLE("groups", kni_groups_of(c, node))));
    out[0] = cut_result(c, &w, &t, y, in[2]);
}

/* ---- DeformConv */

/* An axis of one element before the only spatial one, so that a convolution of one axis is one of two. offset [n, g k, size]: rows do not
   move. */
static kni_datum offsets_of_rows(kni_conversion *c, kni_datum offset)
{
    kni_extent e[KN_MAX_RANK];
    kni_extents_of(c, offset, e);
    kni_extent pairs[] = {e[0], e[1], KNI_EXTENT(1), KNI_EXTENT(1), e[2]};
    kni_extent whole[] = {e[0], kni_extent_mul(c, e[1], KNI_EXTENT(2)), KNI_EXTENT(1), e[2]};
    kni_datum columns = kni_reshape_to(c, offset, pairs, 5);
    kni_datum rows = kni_filled(c, 0, kni_dtype_of(c, offset), pairs, 5);
    return kni_reshape_to(c, kni_concat_of(c, (kni_datum[]){rows, columns}, 2, 2), whole, 4);
}

/* Samples of x, [batch, channels * taps, places], times the weight. */
static kni_datum deform(kni_conversion *c, const kni_window *given, kni_datum x, kni_datum weight,
                        kni_datum offset, kni_datum mask, int64_t groups)
{
    kni_window w = *given;
    kni_extent e[KN_MAX_RANK], p[KN_MAX_RANK];
    x = kni_window_pad(c, &w, x, 0); /* outside is zero, too: this gives the same samples */
    kni_datum columns =
        kni_emit(c, "deform_sample", KNI_LIST(x, offset, mask),
                 KNI_GIVE(KNI_EXTENTS("stride", w.stride, 2), KNI_EXTENTS("dilation", w.dilation, 2),
                          KNI_EXTENTS("kernel", w.kernel, 2)));
    kni_extents_of(c, weight, e);
    kni_extents_of(c, offset, p);
    kni_extent group = KNI_EXTENT(groups), places = kni_extent_mul(c, p[2], p[3]);
    kni_extent depth = kni_extent_product(c, e + 1, 3), own = kni_extent_div(c, e[0], group);
    kni_extent batch = kni_extent_of(c, x, 0);
    columns = kni_reshape_to(c, columns, (kni_extent[]){batch, group, depth, places}, 4);
    weight = kni_reshape_to(c, weight, (kni_extent[]){group, own, depth}, 3);
    return kni_reshape_to(c, kni_emit2(c, "matmul", weight, columns), (kni_extent[]){batch, e[0], p[2], p[3]},
                          4);
}

void kni_convert_deform_conv(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                             kni_datum *out, int32_t n_out)
{
    kni_window w;
    kni_datum x = in[0], weight = in[1], offset = in[2], bias = in[3], mask = in[4];
    (void)n_in, (void)n_out;
    if (!kni_window_of(c, node, x, weight, &w)) return;
    int64_t groups = kni_groups_of(c, node);
    bool flat = w.n == 1;
    if (w.n > 2 || groups < 1) {
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED,
                         "deformable convolutions run over 1 or 2 spatial axes, not %d, with 1 group or more",
                         w.n);
        return;
    }
    if (flat) {
        w.n = 2;
        kni_extent *lists[] = {w.size, w.kernel, w.stride, w.dilation, w.before, w.after};
        for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
            lists[i][1] = lists[i][0];
            lists[i][0] = KNI_EXTENT(i < 4);
        }
        x = kni_unsqueeze_at(c, x, 2);
        weight = kni_unsqueeze_at(c, weight, 2);
        offset = offsets_of_rows(c, offset);
        if (kni_is_given(mask)) mask = kni_unsqueeze_at(c, mask, 2);
    }
    kni_datum y = deform(c, &w, x, weight, offset, mask, groups);
    if (kni_is_given(bias)) y = kni_emit2(c, "add", y, kni_along_axis_one(c, bias, 4));
    out[0] = flat ? kni_squeeze_at(c, y, 2) : y;
}

/* ---- CausalConvWithState: each channel by itself, behind the state that the last call has left */

void kni_convert_causal_conv(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t n_in,
                             kni_datum *out, int32_t n_out)
{
    kni_datum x = in[0], state = in[3];
    (void)n_in, (void)n_out;
    if (kni_rank_of(c, x) != 3 || kni_node_int(node, "channels_last", 0) ||
        kni_node_int(node, "state_window", 0)) {
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED,
                         "takes [batch, channels, length] without channels_last and state_window");
        return;
    }
    int64_t dilation = kni_node_int(node, "dilation", 1);
    int64_t kernel = kni_extent_number(c, kni_extent_of(c, in[1], 2), "the size of the kernel");
    int64_t groups = kni_extent_number(c, kni_extent_of(c, in[1], 0), "the number of channels");
    if (dilation < 1 || dilation > INT32_MAX || kernel < 1 || kernel > INT32_MAX) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "dilation is %lld and the kernel has %lld elements",
                         (long long)dilation, (long long)kernel);
        return;
    }
    kni_extent before = KNI_EXTENT((kernel - 1) * dilation), size[3];
    kni_extents_of(c, x, size);
    if (!kni_is_given(state))
        state = kni_filled(c, 0, kni_dtype_of(c, x), (kni_extent[]){size[0], size[1], before}, 3);
    kni_datum whole = kni_concat_of(c, (kni_datum[]){state, x}, 2, 2);
    kni_window w = {.n = 1, .stride = {KNI_EXTENT(1)}, .dilation = {KNI_EXTENT(dilation)}};
    kni_datum y = kni_window_conv(c, &w, whole, in[1], in[2], groups);
    const char *activation = kni_node_text(node, "activation", "none");
    if (!strcmp(activation, "silu") || !strcmp(activation, "swish"))
        y = kni_emit1(c, "silu", y);
    else if (strcmp(activation, "none") != 0)
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "activation is '%.40s'; it must be silu, swish or none",
                         activation);
    out[0] = y;
    out[1] = kni_slice_of(c, whole, 2, size[2], kni_extent_add(c, size[2], before));
}
