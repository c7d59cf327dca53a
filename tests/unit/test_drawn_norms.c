/* Softmax, norms and cross entropy over lines of drawn lengths, with many and few channels, and their gradients: equal to `ref` on
   every tier and in groups. */
#include "support/drawn_sizes.h"
#include <kn/functional.h>

enum { MOST = 1 << 13 };

static void softmax(drawn *d)
{
    kn_shape s = drawn_shape(d, 1 + (int32_t)below(d, 4), MOST);
    kn_tensor x = drawn_operand(d, s, drawn_float(d), true);
    int32_t axis = (int32_t)below(d, s.rank);
    int kind = (int)below(d, 4);
    drawn_note(d, "kind", kind);
    drawn_note(d, "axis", axis);
    if (below(d, 4) == 0) x = kn_keep(kn_mul_scalar(x, 8));
    kn_tensor y = kind == 0   ? kn_softmax(x, axis)
                  : kind == 1 ? kn_log_softmax(x, axis)
                  : kind == 2 ? kn_softmin(x, axis)
                              : kn_quiet_softmax(x, axis);
    drawn_result(d, drawn_tail(d, y), true);
}

/* Weight and bias may be missing, one or both. */
static void line_norms(drawn *d)
{
    kn_shape s = drawn_shape(d, 1 + (int32_t)below(d, 4), MOST), w;
    int32_t axes = 1 + (int32_t)below(d, s.rank);
    w.rank = axes;
    for (int32_t i = 0; i < axes; i++) w.dims[i] = s.dims[s.rank - axes + i];
    kn_dtype dtype = drawn_float(d);
    kn_tensor x = drawn_operand(d, s, dtype, true);
    bool rms = below(d, 2);
    kn_tensor weight = below(d, 3) ? drawn_operand(d, w, dtype, true) : KN_NONE;
    kn_tensor bias = !rms && below(d, 3) ? drawn_operand(d, w, dtype, true) : KN_NONE;
    drawn_note(d, rms ? "rms" : "layer", axes);
    if (below(d, 3) == 0) x = kn_keep(kn_add(x, drawn_operand(d, s, dtype, true)));
    d->looser = 8;
    drawn_result(
        d,
        drawn_tail(d, rms ? kn_rms_norm(x, weight, axes, 0.05) : kn_layer_norm(x, weight, bias, axes, 0.05)),
        true);
}

static void channel_norms(drawn *d)
{
    kn_shape s = {2 + (int32_t)below(d, 3), {drawn_size(d, 40), drawn_size(d, 300)}};
    int64_t left = drawn_most(d, MOST) / (s.dims[0] * s.dims[1]) + 1;
    for (int32_t i = 2; i < s.rank; i++) left /= s.dims[i] = drawn_size(d, left);
    kn_dtype dtype = drawn_float(d);
    int kind = (int)below(d, s.rank > 2 ? 5 : 3);
    kn_shape w = KN_SHAPE(s.dims[1]);
    kn_tensor x = drawn_operand(d, s, dtype, true);
    kn_tensor weight = below(d, 3) ? drawn_operand(d, w, dtype, true) : KN_NONE;
    kn_tensor bias = below(d, 3) ? drawn_operand(d, w, dtype, true) : KN_NONE;
    drawn_note(d, "kind", kind);
    d->looser = 8;
    if (kind == 0) {
        int64_t groups = drawn_size(d, s.dims[1]);
        while (s.dims[1] % groups) groups--;
        drawn_note(d, "groups", groups);
        drawn_result(d, drawn_tail(d, kn_group_norm(x, weight, bias, groups, 0.05)), true);
    } else if (kind == 1) {
        kn_tensor mean = drawn_operand(d, w, dtype, true);
        kn_tensor variance = drawn_between(d, w, dtype, true, 1, 3);
        drawn_result(d, drawn_tail(d, kn_batch_norm(x, mean, variance, weight, bias, 0.05)), true);
    } else if (kind == 3)
        drawn_result(d, drawn_tail(d, kn_instance_norm(x, weight, bias, 0.05)), true);
    else {
        kn_batch_norm_result r = kind == 2 ? kn_batch_norm_train(x, weight, bias, 0.05)
                                           : kn_instance_norm_train(x, weight, bias, 0.05);
        drawn_result(d, drawn_tail(d, r.y), true);
        drawn_result(d, r.mean, below(d, 2));
        drawn_result(d, r.variance, below(d, 2));
    }
}

static void local_norms(drawn *d)
{
    kn_shape s = drawn_shape(d, 3 + (int32_t)below(d, 2), MOST / 2);
    kn_tensor x = drawn_operand(d, s, drawn_float(d), true);
    kn_local_response_norm_args args = {.size = 1 + below(d, 7), .alpha = 0.5};
    drawn_note(d, "size", args.size);
    drawn_result(d, kn_local_response_norm(x, &args), true);
}

static void entropies(drawn *d)
{
    int32_t rank = 2 + (int32_t)below(d, 3);
    kn_shape s = drawn_shape(d, rank, MOST), places = {rank - 1, {s.dims[0]}};
    for (int32_t i = 2; i < rank; i++) places.dims[i - 1] = s.dims[i];
    kn_dtype dtype = drawn_float(d);
    kn_tensor x = drawn_operand(d, s, dtype, true);
    int kind = (int)below(d, 3);
    drawn_note(d, "kind", kind);
    kn_cross_entropy_args args = {.reduction = (kn_reduction)below(d, 3)};
    if (below(d, 3) == 0) args.weight = drawn_between(d, KN_SHAPE(s.dims[1]), dtype, false, 1, 3);
    if (below(d, 3) == 0) args.label_smoothing = 0.125;
    if (below(d, 3) == 0) args.ignore_index = KN_ZERO;
    drawn_note(d, "reduction", args.reduction);
    d->looser = 4;
    if (kind == 2) {
        args.weight = KN_NONE;
        kn_tensor p = kn_softmax(drawn_operand(d, s, dtype, true), 1);
        drawn_result(d, kn_cross_entropy_probabilities(x, p), true);
        return;
    }
    if (kind == 1) args.label_smoothing = 0;
    kn_tensor target =
        drawn_between(d, places, below(d, 2) ? KN_I64 : KN_I32, false, 0, (double)s.dims[1] - 1);
    drawn_result(d, kind ? kn_nll_loss(x, target, &args) : kn_cross_entropy(x, target, &args), true);
}

int main(int n, char **words)
{
    static const drawn_row rows[] = {{"softmax", softmax, 30},
                                     {"line norms", line_norms, 40},
                                     {"channel norms", channel_norms, 50},
                                     {"local norms", local_norms, 10},
                                     {"entropies", entropies, 30}};
    return drawn_main(rows, (int)(sizeof rows / sizeof *rows), n, words);
}
