/* Short-time Fourier transforms: frames, window, transform, and back by overlapping and adding. */
#include "ops/movement_rows.h"
#include "ops/wide.h"

/* The arguments with defaults filled in. */
typedef struct frames {
    int64_t n, hop, window_size;
    kn_tensor window; /* [n], KN_NONE: ones */
    kn_stft_args args;
} frames;

static kn_status plan(const char *name, int64_t n_fft, const kn_stft_args *args, frames *f)
{
    static const kn_stft_args defaults;
    *f = (frames){.n = n_fft, .args = args ? *args : defaults};
    f->hop = f->args.hop ? f->args.hop : n_fft / 4 > 0 ? n_fft / 4 : 1;
    f->window = f->args.window;
    const kni_type *w = f->window.bits ? kni_type_of(f->window) : NULL;
    f->window_size = f->args.window_size ? f->args.window_size : w && w->rank == 1 ? w->dims[0] : n_fft;
    if (n_fft < 1 || n_fft > INT64_C(1) << 30 || f->hop < 1)
        return kni_fail_op(KN_ERROR_ARGUMENT, name, "n_fft %D and hop %D must be at least 1", n_fft, f->hop);
    if (f->window.bits && !w) return kni_fail_again(kn_abs(f->window), name);
    if (f->window_size < 1 || f->window_size > n_fft)
        return kni_fail_op(KN_ERROR_ARGUMENT, name, "window_size is %D: it must be 1 to n_fft %D",
                           f->window_size, n_fft);
    if (w && (w->rank != 1 || w->dims[0] != f->window_size))
        return kni_fail_op(KN_ERROR_SHAPE, name, "the window is %S, but window_size asks for [%D]", w,
                           f->window_size);
    return KN_OK;
}

/* The window in the middle of n zeros; ones where there is none, next to `like`. Kept. */
static kn_tensor placed_window(const frames *f, kn_tensor like)
{
    kn_tensor w = f->window;
    if (!w.bits) {
        kni_thread *t = kni_thread_self();
        kni_context outer = kni_context_push(t);
        if (kni_peek(like)) t->context.current = kni_peek(like)->device;
        w = kn_ones(KN_SHAPE(f->window_size), kn_dtype_of(like));
        kni_context_pop(t, &outer);
    }
    int64_t before = (f->n - f->window_size) / 2;
    kn_pad_args pad = {.before = KN_INTS(before), .after = KN_INTS(f->n - f->window_size - before)};
    return kn_keep(f->window_size == f->n ? w : kn_pad(w, &pad));
}

static kn_fft_norm norm_of(const frames *f) { return f->args.normalized ? KN_FFT_ORTHO : KN_FFT_BACKWARD; }

static kn_complex poisoned(kni_call call)
{
    kn_tensor p = kni_call_end(call, kni_poison_latest());
    return (kn_complex){p, p};
}

kn_complex kn_stft(kn_tensor x, int64_t n_fft, const kn_stft_args *args)
{
    frames f;
    kni_call call = kni_call_begin("stft");
    const kni_type *t = kni_type_of(x);
    if (!t) {
        kn_tensor bad = kni_call_end(call, kn_abs(x));
        return (kn_complex){bad, bad};
    }
    if (plan("stft", n_fft, args, &f)) return poisoned(call);
    int64_t samples = t->rank ? t->dims[t->rank - 1] : 0, edge = f.args.uncentered ? 0 : n_fft / 2;
    kn_pad_mode mode = f.args.pad_mode ? f.args.pad_mode : KN_PAD_REFLECT;
    if ((unsigned)mode > KN_PAD_ZEROS) {
        kni_fail_op(KN_ERROR_ARGUMENT, "stft",
                    "%d is no padding mode: KN_PAD_REFLECT, _EDGE, _WRAP, or _ZEROS for a constant 0",
                    (int)mode);
        return poisoned(call);
    }
    if (t->rank < 1 || t->rank >= KN_MAX_RANK || samples + 2 * edge < n_fft ||
        (mode == KN_PAD_REFLECT && edge >= samples && edge)) {
        kni_fail_op(KN_ERROR_SHAPE, "stft",
                    "frames of %D do not fit into %S: needs [..., samples] with more of them", n_fft, t);
        return poisoned(call);
    }
    int dtype = kni_widen_all(&x, 1);
    x = kn_keep(x);
    kn_pad_args pad = {.before = KN_INTS(edge), .after = KN_INTS(edge), .mode = mode};
    kn_tensor line = edge ? kn_pad(x, &pad) : x;
    kn_tensor window = f.window.bits || f.window_size != f.n ? placed_window(&f, x) : KN_NONE;
    kn_tensor cut = kn_unfold_axis(line, -1, n_fft, f.hop);
    if (window.bits) cut = kn_mul(cut, window);
    kn_fft_args transform = {0, norm_of(&f)};
    kn_complex y =
        f.args.two_sided ? kn_fft((kn_complex){cut, KN_NONE}, -1, &transform) : kn_rfft(cut, -1, &transform);
    kn_tensor out[2] = {kn_transpose(y.real, -2, -1), kn_transpose(y.imag, -2, -1)};
    for (int i = 0; dtype && i < 2; i++) out[i] = kni_as(out[i], dtype);
    kni_call_end_many(call, out, 2);
    return (kn_complex){out[0], out[1]};
}

/* Adds frames [..., t, n] at t hop: [..., (frames - 1) hop + n]. The frames are cut into parts of hop, and the
   parts with the same number lie behind each other. */
static kn_tensor overlap_add(kn_tensor x, int64_t n, int64_t hop)
{
    const kni_type *t = kni_type_of(x);
    if (!t) return x;
    int rank = t->rank;
    int64_t count = t->dims[rank - 2], parts = (n + hop - 1) / hop;
    kn_shape split = kni_shape_from_type(t), line = split;
    split.dims[rank - 1] = parts;
    split.dims[rank] = hop;
    split.rank = rank + 1;
    line.rank = rank - 1;
    line.dims[rank - 2] = count * hop;
    kn_pad_args fill = {.before = KN_INTS(0), .after = KN_INTS(parts * hop - n)};
    x = kn_keep(kn_reshape(parts * hop > n ? kn_pad(x, &fill) : x, split));
    kn_tensor total = KN_NONE;
    for (int64_t i = 0; i < parts; i++) {
        kn_pad_args place = {.before = KN_INTS(i * hop), .after = KN_INTS((parts - 1 - i) * hop)};
        kn_tensor part = kn_pad(kn_reshape(kn_select(x, -2, i), line), &place);
        total = total.bits ? kn_add(total, part) : part;
    }
    return kn_narrow(total, -1, 0, (count - 1) * hop + n);
}

/* sum of windowed frames / sum of squared windows */
static kn_tensor join_frames(const frames *f, kn_tensor cut, int64_t count)
{
    kn_tensor window = placed_window(f, cut);
    kn_tensor squares = kn_expand(kn_square(window), KN_SHAPE(count, f->n));
    kn_tensor weight = kn_keep(overlap_add(squares, f->n, f->hop));
    kn_tensor sum = kn_keep(overlap_add(kn_mul(cut, window), f->n, f->hop));
    if (!kn_ok(weight) || !kn_ok(sum)) return kn_ok(sum) ? weight : sum;
    kn_tensor reached = kn_keep(kn_greater_scalar(weight, 1e-11));
    kn_tensor safe = kn_where(reached, weight, kn_ones_like(weight));
    return kn_where(reached, kn_div(sum, safe), kn_zeros_like(sum));
}

kn_tensor kn_istft(kn_complex y, int64_t n_fft, const kn_stft_args *args)
{
    frames f;
    kni_call call = kni_call_begin("istft");
    const kni_type *t = kni_type_of(y.real);
    if (!t) return kni_call_end(call, kn_abs(y.real));
    if (plan("istft", n_fft, args, &f)) return kni_call_end(call, kni_poison_latest());
    int64_t bins = f.args.two_sided ? n_fft : n_fft / 2 + 1;
    if (t->rank >= KN_MAX_RANK)
        return kni_call_fail(call, KN_ERROR_SHAPE, "%S has too many axes: at most %d", t, KN_MAX_RANK - 1);
    if (t->rank < 2 || t->dims[t->rank - 2] != bins || t->dims[t->rank - 1] < 1)
        return kni_call_fail(call, KN_ERROR_SHAPE, "needs [..., %D, frames] for n_fft %D, not %S", bins,
                             n_fft, t);
    int64_t count = t->dims[t->rank - 1], edge = f.args.uncentered ? 0 : n_fft / 2;
    int64_t whole = (count - 1) * f.hop + n_fft, length = f.args.length ? f.args.length : whole - 2 * edge;
    if (length < 0) return kni_call_fail(call, KN_ERROR_ARGUMENT, "the length %D is negative", length);
    int dtype = kni_widen_all(&y.real, 1);
    if (y.imag.bits) y.imag = kni_widen(y.imag);
    kn_complex turned = {kn_transpose(y.real, -2, -1), y.imag.bits ? kn_transpose(y.imag, -2, -1) : KN_NONE};
    kn_fft_args transform = {n_fft, norm_of(&f)};
    kn_tensor cut =
        f.args.two_sided ? kn_ifft(turned, -1, &transform).real : kn_irfft(turned, -1, &transform);
    kn_tensor line = join_frames(&f, kn_keep(cut), count);
    int64_t have = whole - edge < length ? whole - edge : length;
    line = kn_narrow(line, -1, edge, have);
    kn_pad_args fill = {.before = KN_INTS(0), .after = KN_INTS(length - have)};
    return kni_call_end_as(call, have < length ? kn_pad(line, &fill) : line, dtype);
}
