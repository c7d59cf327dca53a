/* Recurrent cells with lengths, rotary embedding, Fourier transforms, integer and deformable convolutions of drawn sizes: equal to
   `ref` on every tier and in groups. */
#include "support/drawn_sizes.h"
#include <kn/contraction.h>
#include <kn/functional.h>
#include <kn/signal.h>

static kn_tensor weak(drawn *d, kn_shape s, kn_dtype dtype)
{
    return drawn_between(d, s, dtype, true, -0.5, 0.5);
}

static void recurrent(drawn *d)
{
    int64_t steps = drawn_size(d, 12), batch = drawn_size(d, 20), in = drawn_size(d, 40),
            hidden = drawn_size(d, 48);
    int kind = (int)below(d, 3);
    int64_t gates = kind == 0 ? 4 : kind == 1 ? 3 : 1;
    kn_recurrent_args args = {.direction = (kn_direction)below(d, 3)};
    int64_t ways = args.direction == KN_BOTH_WAYS ? 2 : 1;
    kn_dtype dtype = d->dtype = below(d, 3) ? KN_F32 : KN_F64;
    kn_tensor x = drawn_operand(d, KN_SHAPE(steps, batch, in), dtype, true);
    kn_tensor w = weak(d, KN_SHAPE(ways, gates * hidden, in), dtype);
    kn_tensor r = weak(d, KN_SHAPE(ways, gates * hidden, hidden), dtype);
    if (below(d, 2)) args.bias = weak(d, KN_SHAPE(ways, 2 * gates * hidden), dtype);
    if (below(d, 2)) args.lengths = drawn_between(d, KN_SHAPE(batch), KN_I64, false, 0, (double)steps);
    if (below(d, 2)) args.h = weak(d, KN_SHAPE(ways, batch, hidden), dtype);
    if (kind == 0 && below(d, 2)) args.c = weak(d, KN_SHAPE(ways, batch, hidden), dtype);
    if (kind == 0 && below(d, 3) == 0) args.peepholes = weak(d, KN_SHAPE(ways, 3 * hidden), dtype);
    args.linear_before_reset = kind == 1 && below(d, 2);
    drawn_note(d, "kind", kind);
    drawn_note(d, "direction", args.direction);
    d->looser = 10;
    kn_recurrent_result y = kind == 0   ? kn_lstm(x, w, r, &args)
                            : kind == 1 ? kn_gru(x, w, r, &args)
                                        : kn_rnn(x, w, r, &args);
    drawn_result(d, y.y, true);
    drawn_result(d, y.h, true);
    if (kind == 0) drawn_result(d, y.c, true);
}

static void rope(drawn *d)
{
    int64_t half = drawn_size(d, 70), tokens = drawn_size(d, 60);
    kn_dtype dtype = drawn_float(d);
    kn_rope_args args = {.offset = below(d, 9), .interleaved = below(d, 2)};
    bool tables = below(d, 2);
    kn_shape s = KN_SHAPE(drawn_size(d, 3), drawn_size(d, 4), tokens, 2 * half + (tables ? below(d, 5) : 0));
    kn_tensor x = drawn_operand(d, s, dtype, true);
    kn_tensor c = tables ? drawn_operand(d, KN_SHAPE(tokens, half), dtype, false) : KN_NONE;
    drawn_result(
        d, kn_rope(x, c, tables ? drawn_operand(d, KN_SHAPE(tokens, half), dtype, false) : KN_NONE, &args),
        true);
}

static void fourier(drawn *d)
{
    kn_shape s = drawn_shape(d, 1 + (int32_t)below(d, 3), 1 << 11);
    kn_dtype dtype = d->dtype = below(d, 3) ? KN_F32 : KN_F64;
    int32_t axis = (int32_t)below(d, s.rank);
    kn_fft_args args = {.n = below(d, 3) ? 0 : drawn_size(d, 2 * s.dims[axis]),
                        .norm = (kn_fft_norm)below(d, 3)};
    int kind = (int)below(d, 4);
    drawn_note(d, "kind", kind);
    drawn_note(d, "axis", axis);
    drawn_note(d, "n", args.n);
    d->looser = 10;
    kn_complex x = {drawn_operand(d, s, dtype, true),
                    kind && below(d, 2) ? drawn_operand(d, s, dtype, true) : KN_NONE};
    if (kind == 3) {
        if (s.dims[axis] < 2 && !args.n) args.n = 1;
        drawn_result(d, kn_irfft(x, axis, &args), true);
        return;
    }
    kn_complex y = kind == 0   ? kn_rfft(x.real, axis, &args)
                   : kind == 1 ? kn_fft(x, axis, &args)
                               : kn_ifft(x, axis, &args);
    drawn_result(d, y.real, true);
    drawn_result(d, y.imag, true);
}

static void integer_convolutions(drawn *d)
{
    int32_t axes = 1 + (int32_t)below(d, 2);
    int64_t groups = below(d, 3) ? 1 : drawn_size(d, 8), in = drawn_size(d, 40), out = drawn_size(d, 40);
    if (groups > 1) in = groups * drawn_size(d, 5), out = groups * drawn_size(d, 5);
    kn_shape s = {2 + axes, {drawn_size(d, 3), in}}, t = {2 + axes, {out, in / groups}};
    kn_conv_integer_args args = {.groups = groups};
    for (int32_t i = 0; i < axes; i++) {
        t.dims[2 + i] = below(d, 2) ? 1 : 1 + below(d, 5);
        args.stride[i] = 1 + below(d, 3);
        args.dilation[i] = 1 + below(d, 2);
        args.padding[i] = below(d, t.dims[2 + i]);
        s.dims[2 + i] = drawn_size(d, 20) + (t.dims[2 + i] - 1) * args.dilation[i];
        drawn_note(d, "stride", args.stride[i] * 100 + args.dilation[i] * 10 + args.padding[i]);
    }
    kn_dtype xt = below(d, 2) ? KN_U8 : KN_I8, wt = below(d, 2) ? KN_U8 : KN_I8;
    kn_tensor x = drawn_between(d, s, xt, false, xt == KN_U8 ? 0 : -128, xt == KN_U8 ? 255 : 127);
    kn_tensor w = drawn_between(d, t, wt, false, wt == KN_U8 ? 0 : -128, wt == KN_U8 ? 255 : 127);
    kn_tensor x_zero = below(d, 2) ? drawn_between(d, KN_SHAPE(1), xt, false, 0, 100) : KN_NONE;
    kn_tensor w_zero =
        below(d, 2) ? drawn_between(d, below(d, 2) ? KN_SHAPE(out) : KN_SHAPE(1), wt, false, 0, 9) : KN_NONE;
    drawn_result(d, kn_conv_integer(x, w, x_zero, w_zero, &args), false);
}

static void deformed(drawn *d)
{
    int64_t batch = drawn_size(d, 2), in = drawn_size(d, 20), out = drawn_size(d, 20),
            window = 1 + below(d, 3);
    int64_t h = window + drawn_size(d, 10), w = window + drawn_size(d, 10), parts = below(d, 3) ? 1 : in;
    kn_dtype dtype = d->dtype = below(d, 3) ? KN_F32 : KN_F64;
    kn_deform_conv2d_args args = {.padding = {below(d, window), below(d, window)}};
    int64_t oh = h + 2 * args.padding[0] - window + 1, ow = w + 2 * args.padding[1] - window + 1,
            taps = window * window;
    kn_tensor x = drawn_operand(d, KN_SHAPE(batch, in, h, w), dtype, true);
    /* Between elements, where the gradient does not jump. */
    kn_tensor offset = kn_keep(kn_add_scalar(
        kn_mul_scalar(drawn_operand(d, KN_SHAPE(batch, 2 * parts * taps, oh, ow), dtype, true), 0.61),
        0.00717));
    kn_tensor weight = drawn_operand(d, KN_SHAPE(out, in, window, window), dtype, true);
    kn_tensor mask =
        below(d, 2) ? drawn_operand(d, KN_SHAPE(batch, parts * taps, oh, ow), dtype, true) : KN_NONE;
    d->looser = 20;
    drawn_result(d, kn_deform_conv2d(x, offset, weight, mask, KN_NONE, &args), true);
}

int main(int n, char **words)
{
    static const drawn_row rows[] = {{"recurrent", recurrent, 30},
                                     {"rope", rope, 20},
                                     {"fourier", fourier, 40},
                                     {"integer convolutions", integer_convolutions, 30},
                                     {"deformed", deformed, 15}};
    return drawn_main(rows, (int)(sizeof rows / sizeof *rows), n, words);
}
