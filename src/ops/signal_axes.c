/* Fourier transforms over several axes, and those of signals that mirror themselves. */
#include "ops/infer.h"
#include "ops/movement_rows.h"
#include "ops/op.h"

/* What is transformed: the axes, counted from the front, and for each a length, 0 for its own. */
typedef struct plan {
    int n;
    int32_t axes[KN_MAX_RANK];
    int64_t sizes[KN_MAX_RANK];
    kn_fft_norm norm;
} plan;

static kn_complex end_complex(kni_call call, kn_complex y)
{
    kn_tensor out[2] = {y.real, y.imag};
    kni_call_end_many(call, out, 2);
    return (kn_complex){out[0], out[1]};
}

static kn_complex failed_complex(void) { return (kn_complex){kni_poison_latest(), kni_poison_latest()}; }

/* One axis twice would be transformed twice, which PyTorch refuses too. */
static bool add_axis(plan *p, const char *name, int64_t axis, int rank)
{
    if (kni_resolve_axis(name, &axis, rank, rank)) return false;
    for (int i = 0; i < p->n; i++)
        if (p->axes[i] == axis) {
            kni_fail_op(KN_ERROR_ARGUMENT, name, "axis %D is named twice", axis);
            return false;
        }
    p->axes[p->n++] = (int32_t)axis;
    return true;
}

/* False after a failure. */
static bool make_plan(plan *p, const char *name, const kni_type *t, kn_ints axes, const kn_fftn_args *args)
{
    static const kn_fftn_args usual;
    if (!args) args = &usual;
    const kn_ints *sizes = &args->sizes;
    *p = (plan){.norm = args->norm};
    if (axes.rank < 0 || axes.rank > KN_MAX_RANK || sizes->rank < 0 || sizes->rank > KN_MAX_RANK) {
        bool bad_axes = axes.rank < 0 || axes.rank > KN_MAX_RANK;
        kni_fail_op(KN_ERROR_ARGUMENT, name, "%d %s given; at most %d", bad_axes ? axes.rank : sizes->rank,
                    bad_axes ? "axes" : "sizes", KN_MAX_RANK);
        return false;
    }
    if (axes.rank && sizes->rank && axes.rank != sizes->rank) {
        kni_fail_op(KN_ERROR_ARGUMENT, name, "%d sizes given for %d axes", sizes->rank, axes.rank);
        return false;
    }
    int n = axes.rank ? axes.rank : sizes->rank ? sizes->rank : t->rank;
    if (n > t->rank) {
        kni_fail_op(KN_ERROR_SHAPE, name, "%S has no %d axes to transform", t, n);
        return false;
    }
    for (int i = 0; i < n; i++) {
        if (!add_axis(p, name, axes.rank ? axes.dims[i] : t->rank - n + i, t->rank)) return false;
        int64_t size = sizes->rank ? sizes->dims[i] : -1;
        if (size == 0 || size < -1) {
            kni_fail_op(KN_ERROR_ARGUMENT, name,
                        "the size of axis %d is %D: give 1 or more, or -1 for its own", (int)p->axes[i],
                        size);
            return false;
        }
        p->sizes[i] = size < 0 ? 0 : size;
    }
    return true;
}

/* Transforms along the first n axes of the plan, the last of them first. */
static kn_complex along(const plan *p, int n, kn_complex x, bool inverse)
{
    for (int i = n - 1; i >= 0; i--) {
        kn_fft_args args = {p->sizes[i], p->norm};
        x = inverse ? kn_ifft(x, p->axes[i], &args) : kn_fft(x, p->axes[i], &args);
    }
    return x;
}

static kn_complex whole(const char *name, kn_complex x, kn_ints axes, const kn_fftn_args *args, bool inverse)
{
    kni_call call = kni_call_begin(name);
    const kni_type *t = kni_type_of(x.real);
    plan p;
    if (!t) return end_complex(call, kn_fft(x, 0, NULL)); /* which tells what is wrong with x */
    if (!make_plan(&p, name, t, axes, args)) return end_complex(call, failed_complex());
    /* Without axes the number is its own transform. */
    if (p.n == 0) {
        x.real = kn_keep(kn_reshape(x.real, KN_SCALAR_SHAPE));
        x.imag = x.imag.bits ? kn_reshape(x.imag, KN_SCALAR_SHAPE) : kn_zeros_like(x.real);
    }
    return end_complex(call, along(&p, p.n, x, inverse));
}

kn_complex kn_fftn_with(kn_complex x, kn_ints axes, const kn_fftn_args *args)
{
    return whole("fftn_with", x, axes, args, false);
}
kn_complex kn_ifftn_with(kn_complex x, kn_ints axes, const kn_fftn_args *args)
{
    return whole("ifftn_with", x, axes, args, true);
}
kn_complex kn_fftn(kn_complex x, kn_ints axes, kn_fft_norm norm)
{
    return whole("fftn", x, axes, &(kn_fftn_args){.norm = norm}, false);
}
kn_complex kn_ifftn(kn_complex x, kn_ints axes, kn_fft_norm norm)
{
    return whole("ifftn", x, axes, &(kn_fftn_args){.norm = norm}, true);
}
kn_complex kn_fft2(kn_complex x, kn_fft_norm norm)
{
    return whole("fft2", x, KN_AXES(-2, -1), &(kn_fftn_args){.norm = norm}, false);
}
kn_complex kn_ifft2(kn_complex x, kn_fft_norm norm)
{
    return whole("ifft2", x, KN_AXES(-2, -1), &(kn_fftn_args){.norm = norm}, true);
}

/* ---- one half of a spectrum that mirrors itself. Forward and inverse of real signals and of real spectra differ by a
   conjugation and by which of them is divided. */

static kn_complex conjugate(kn_complex x)
{
    return (kn_complex){x.real, x.imag.bits ? kn_neg(x.imag) : x.imag};
}

static kn_fft_norm other_norm(kn_fft_norm norm) { return (kn_fft_norm)(KN_FFT_FORWARD - norm); }

static kn_complex real_to_half(const char *name, kn_tensor x, kn_ints axes, const kn_fftn_args *args,
                               bool mirrored)
{
    kni_call call = kni_call_begin(name);
    const kni_type *t = kni_type_of(x);
    plan p;
    if (!t) return end_complex(call, kn_rfft(x, 0, NULL));
    if (!make_plan(&p, name, t, axes, args)) return end_complex(call, failed_complex());
    if (p.n == 0) {
        kni_fail_op(KN_ERROR_SHAPE, name, "a number has no axis to transform: x must have at least one");
        return end_complex(call, failed_complex());
    }
    if (mirrored) p.norm = other_norm(p.norm);
    kn_complex y = kn_rfft(x, p.axes[p.n - 1], &(kn_fft_args){p.sizes[p.n - 1], p.norm});
    y = along(&p, p.n - 1, y, false);
    return end_complex(call, mirrored ? conjugate(y) : y);
}

static kn_tensor half_to_real(const char *name, kn_complex x, kn_ints axes, const kn_fftn_args *args,
                              bool mirrored)
{
    kni_call call = kni_call_begin(name);
    const kni_type *t = kni_type_of(x.real);
    plan p;
    if (!t) return kni_call_end(call, kn_irfft(x, 0, NULL));
    if (!make_plan(&p, name, t, axes, args)) return kni_call_end(call, kni_poison_latest());
    if (p.n == 0)
        return kni_call_fail(call, KN_ERROR_SHAPE,
                             "a number has no axis to transform: x must have at least one");
    if (mirrored) {
        p.norm = other_norm(p.norm);
        x = conjugate(x);
    }
    x = along(&p, p.n - 1, x, true);
    return kni_call_end(call, kn_irfft(x, p.axes[p.n - 1], &(kn_fft_args){p.sizes[p.n - 1], p.norm}));
}

kn_complex kn_rfftn(kn_tensor x, kn_ints axes, const kn_fftn_args *args)
{
    return real_to_half("rfftn", x, axes, args, false);
}
kn_complex kn_rfft2(kn_tensor x, const kn_fftn_args *args)
{
    return real_to_half("rfft2", x, KN_AXES(-2, -1), args, false);
}
kn_complex kn_ihfftn(kn_tensor x, kn_ints axes, const kn_fftn_args *args)
{
    return real_to_half("ihfftn", x, axes, args, true);
}
kn_complex kn_ihfft2(kn_tensor x, const kn_fftn_args *args)
{
    return real_to_half("ihfft2", x, KN_AXES(-2, -1), args, true);
}
kn_tensor kn_irfftn(kn_complex x, kn_ints axes, const kn_fftn_args *args)
{
    return half_to_real("irfftn", x, axes, args, false);
}
kn_tensor kn_irfft2(kn_complex x, const kn_fftn_args *args)
{
    return half_to_real("irfft2", x, KN_AXES(-2, -1), args, false);
}
kn_tensor kn_hfftn(kn_complex x, kn_ints axes, const kn_fftn_args *args)
{
    return half_to_real("hfftn", x, axes, args, true);
}
kn_tensor kn_hfft2(kn_complex x, const kn_fftn_args *args)
{
    return half_to_real("hfft2", x, KN_AXES(-2, -1), args, true);
}

kn_tensor kn_hfft(kn_complex x, int32_t axis, const kn_fft_args *args)
{
    kni_call call = kni_call_begin("hfft");
    kn_fft_args a = {args ? args->n : 0, other_norm(args ? args->norm : KN_FFT_BACKWARD)};
    return kni_call_end(call, kn_irfft(conjugate(x), axis, &a));
}

kn_complex kn_ihfft(kn_tensor x, int32_t axis, const kn_fft_args *args)
{
    kni_call call = kni_call_begin("ihfft");
    kn_fft_args a = {args ? args->n : 0, other_norm(args ? args->norm : KN_FFT_BACKWARD)};
    return end_complex(call, conjugate(kn_rfft(x, axis, &a)));
}
