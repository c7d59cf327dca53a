/* Fourier transforms, windows and mel filters. Complex numbers are pairs along the last axis. */
#include "onnx/convert/convert_numbers.h"
#include "support/scalar_math.h"
#include <kn/shape.h>
#include <kn/tensor.h>
#include <string.h>

/* ---- complex numbers */

typedef struct complex_pair {
    kni_datum real, imaginary; /* absent: zeros */
} complex_pair;

/* [..., 1] or [..., 2] as two tensors without the last axis. */
static complex_pair apart(kni_conversion *c, kni_datum x)
{
    int32_t last = kni_rank_of(c, x) - 1;
    int64_t parts = kni_extent_number(c, kni_extent_of(c, x, last), "the last axis");
    complex_pair y = {KNI_ABSENT, KNI_ABSENT};
    if (!kni_convert_failed(c) && (parts < 1 || parts > 2))
        kni_convert_fail(c, KN_ERROR_SHAPE,
                         "the last axis has %lld elements; 1 are real numbers, 2 complex ones",
                         (long long)parts);
    if (kni_convert_failed(c)) return y;
    y.real = kni_squeeze_at(c, kni_slice_of(c, x, last, KNI_EXTENT(0), KNI_EXTENT(1)), last);
    if (parts == 2)
        y.imaginary = kni_squeeze_at(c, kni_slice_of(c, x, last, KNI_EXTENT(1), KNI_EXTENT(2)), last);
    return y;
}

static kni_datum together(kni_conversion *c, complex_pair x)
{
    int32_t rank = kni_rank_of(c, x.real);
    kni_datum both[2] = {kni_unsqueeze_at(c, x.real, rank), kni_unsqueeze_at(c, x.imaginary, rank)};
    return kni_concat_of(c, both, 2, rank);
}

/* Of real numbers the element in the middle is real, too: what rounding leaves of its other part is 0. */
static kni_datum without_middle(kni_conversion *c, kni_datum imaginary, int32_t axis)
{
    kni_extent n = kni_extent_of(c, imaginary, axis);
    if (n.text || n.value % 2 != 0) return imaginary;
    kni_datum places = kni_counting_along(c, 0, n, axis, kni_rank_of(c, imaginary));
    kni_datum middle = kni_emit2(c, "equal", places, kni_whole_number(c, n.value / 2, KN_I64));
    return kni_emit3(c, "where", middle, kni_real_number(c, 0, kni_dtype_of(c, imaginary)), imaginary);
}

/* length 0: that of the axis. */
static complex_pair transformed(kni_conversion *c, complex_pair x, int32_t axis, int64_t length, bool inverse)
{
    kni_datum y[2];
    kni_emit_many(c, "fft", (kni_datum[]){x.real, x.imaginary}, 2,
                  KNI_GIVE(KNI_WHOLE("axis", axis), KNI_WHOLE("n", length), KNI_WHOLE("inverse", inverse)), y,
                  2);
    if (!kni_is_given(x.imaginary)) y[1] = without_middle(c, y[1], axis);
    return (complex_pair){y[0], y[1]};
}

static kni_datum first_half(kni_conversion *c, kni_datum x, int32_t axis)
{
    kni_extent half = kni_extent_div(c, kni_extent_of(c, x, axis), KNI_EXTENT(2));
    return kni_slice_of(c, x, axis, KNI_EXTENT(0), kni_extent_add(c, half, KNI_EXTENT(1)));
}

/* x cut or filled with zeros to `length` elements of an axis. */
static kni_datum resized(kni_conversion *c, kni_datum x, int32_t axis, int64_t length)
{
    kni_extent none[KN_MAX_RANK], more[KN_MAX_RANK];
    int64_t size = kni_extent_number(c, kni_extent_of(c, x, axis), "the axis");
    if (size >= length) return kni_slice_of(c, x, axis, KNI_EXTENT(0), KNI_EXTENT(length));
    for (int32_t i = 0; i < kni_rank_of(c, x); i++) none[i] = more[i] = KNI_EXTENT(0);
    more[axis] = KNI_EXTENT(length - size);
    return kni_pad_with(c, x, none, more, 0);
}

/* The other half of a spectrum of real numbers mirrors the first one, conjugated: elements length / 2 + 1 .. length - 1. */
static kni_datum mirrored(kni_conversion *c, kni_datum half, int32_t axis, int64_t length, bool negated)
{
    int64_t n = length / 2 + 1;
    if (length <= n) return half;
    kni_datum rest = kni_stepped_slice(c, half, axis, KNI_EXTENT(length - n), KNI_EXTENT(0), -1);
    if (negated) rest = kni_emit1(c, "neg", rest);
    return kni_concat_of(c, (kni_datum[]){half, rest}, 2, axis);
}

/* Real numbers from the first half of their spectrum, as [..., 1]. */
static kni_datum real_inverse(kni_conversion *c, complex_pair x, int32_t axis, int64_t length)
{
    if (length == 0) length = 2 * (kni_extent_number(c, kni_extent_of(c, x.real, axis), "the axis") - 1);
    if (!kni_convert_failed(c) && length < 1)
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "there is no transform of %lld numbers", (long long)length);
    if (kni_convert_failed(c)) return KNI_ABSENT;
    int64_t n = length / 2 + 1;
    x.real = mirrored(c, resized(c, x.real, axis, n), axis, length, false);
    if (kni_is_given(x.imaginary))
        x.imaginary = mirrored(c, resized(c, x.imaginary, axis, n), axis, length, true);
    return kni_unsqueeze_at(c, transformed(c, x, axis, length, true).real, kni_rank_of(c, x.real));
}

/* The axis is an attribute in version 17 and an input later. */
void kni_convert_dft(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    bool inverse = kni_node_int(node, "inverse", 0) != 0, half = kni_node_int(node, "onesided", 0) != 0;
    int64_t given =
        node->version < 20 ? kni_node_int(node, "axis", 1) : kni_known_int(c, in[2], "the axis", -2);
    int32_t rank = kni_rank_of(c, in[0]), axis = kni_axis_of(c, in[0], given);
    int64_t length = kni_known_int(c, in[1], "the length", 0);
    if (!kni_convert_failed(c) && (axis == rank - 1 || length < 0))
        kni_convert_fail(c, KN_ERROR_ARGUMENT,
                         "axis %d holds the parts of complex numbers, or the length %lld is negative", axis,
                         (long long)length);
    complex_pair x = apart(c, in[0]);
    if (kni_convert_failed(c)) return;
    if (inverse && half) {
        out[0] = real_inverse(c, x, axis, length);
        return;
    }
    complex_pair y = transformed(c, x, axis, length, inverse);
    if (half) y = (complex_pair){first_half(c, y.real, axis), first_half(c, y.imaginary, axis)};
    out[0] = together(c, y);
}

/* ---- STFT */

static kni_datum framed(kni_conversion *c, kni_datum x, int64_t length, int64_t step, kni_datum window)
{
    kni_datum y =
        kni_emit(c, "window", &x, 1,
                 KNI_GIVE(KNI_WHOLE("axis", 1), KNI_WHOLE("size", length), KNI_WHOLE("step", step)));
    return kni_is_given(window) ? kni_emit2(c, "mul", y, window) : y;
}

void kni_convert_stft(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    int32_t rank = kni_rank_of(c, in[0]);
    kni_extent whole = kni_is_given(in[2]) ? kni_extent_of(c, in[2], 0) : kni_extent_of(c, in[0], 1);
    int64_t step = kni_known_int(c, in[1], "the frame step", 1),
            length = kni_known_int(c, in[3], "the frame length", 0);
    if (!kni_is_given(in[3])) length = kni_extent_number(c, whole, "the frame length");
    complex_pair x = {in[0], KNI_ABSENT}; /* [batch, length] without an axis of parts is taken, too */
    if (rank == 3) x = apart(c, in[0]);
    if (!kni_convert_failed(c) && (rank < 2 || rank > 3 || length < 1 || step < 1))
        kni_convert_fail(c, KN_ERROR_ARGUMENT,
                         "the signal has %d axes, the frames have %lld samples every %lld", rank,
                         (long long)length, (long long)step);
    if (kni_convert_failed(c)) return;
    bool real = !kni_is_given(x.imaginary);
    x.real = framed(c, x.real, length, step, in[2]);
    if (!real) x.imaginary = framed(c, x.imaginary, length, step, in[2]);
    complex_pair y = transformed(c, x, 2, 0, false);
    if (kni_node_int(node, "onesided", 1))
        y = (complex_pair){first_half(c, y.real, 2), first_half(c, y.imaginary, 2)};
    out[0] = together(c, y);
}

/* ---- windows: weights[0] - weights[1] cos(2 pi i / n) + weights[2] cos(4 pi i / n) */

static const struct {
    const char *name;
    double weights[3];
} windows[] = {{"HannWindow", {0.5, 0.5, 0}},
               {"HammingWindow", {25.0 / 46, 21.0 / 46, 0}},
               {"BlackmanWindow", {0.42, 0.5, 0.08}}};

void kni_convert_window(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    int64_t size = kni_known_int(c, in[0], "the size", 0);
    kn_dtype dtype = kni_node_dtype(c, node, "output_datatype", KN_F32);
    const double *weights = windows[0].weights;
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++)
        if (!strcmp(windows[i].name, node->op)) weights = windows[i].weights;
    if (!kni_convert_failed(c) && size < 0)
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "the size is %lld, which is negative", (long long)size);
    double *values = kni_convert_failed(c) ? NULL : kni_convert_memory(c, (size_t)size + 1, sizeof *values);
    if (!values) return;
    double n = (double)size - (kni_node_int(node, "periodic", 1) ? 0 : 1);
    for (int64_t i = 0; i < size; i++) {
        double turn = n > 0 ? 2 * KNI_PI * (double)i / n : 0;
        values[i] = weights[2] * kni_cos(2 * turn) - weights[1] * kni_cos(turn) + weights[0];
    }
    out[0] = kni_cast_to(c, kni_constant(c, values, KN_F64, &size, 1), dtype);
}

/* ---- MelWeightMatrix: triangles over the bins of a spectrum, whose corners lie evenly on the mel scale */

static double mel_of(double hertz) { return 2595 * kni_ln(1 + hertz / 700) / kni_ln(10); }
static double hertz_of(double mel) { return 700 * (kni_exp(mel / 2595 * kni_ln(10)) - 1); }

typedef struct mel_sizes {
    int64_t bins, length, rate; /* of the mel scale, of the transform, of samples in a second */
    double low, high;           /* hertz */
} mel_sizes;

static int64_t corner_bin(const mel_sizes *m, int64_t i)
{
    double low = mel_of(m->low), step = (mel_of(m->high) - low) / (double)(m->bins + 2);
    double hertz = hertz_of((double)i * step + low);
    return (int64_t)kni_floor((double)(m->length + 1) * hertz / (double)m->rate);
}

static void fill_triangle(const mel_sizes *m, int64_t i, double *values)
{
    int64_t left = corner_bin(m, i), middle = corner_bin(m, i + 1), right = corner_bin(m, i + 2),
            rows = m->length / 2 + 1;
    for (int64_t j = left < 0 ? 0 : left; j <= middle && j < rows; j++)
        values[j * m->bins + i] = middle == left ? 1 : (double)(j - left) / (double)(middle - left);
    for (int64_t j = middle < 0 ? 0 : middle; j < right && j < rows; j++)
        values[j * m->bins + i] = (double)(right - j) / (double)(right - middle);
}

void kni_convert_mel_weights(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    enum { MOST = 1 << 24 };
    mel_sizes m = {kni_known_int(c, in[0], "the number of mel bins", 0),
                   kni_known_int(c, in[1], "the length", 0), kni_known_int(c, in[2], "the sample rate", 0),
                   kni_known_real(c, in[3], "the lower edge", 0),
                   kni_known_real(c, in[4], "the upper edge", 0)};
    bool good = m.bins >= 1 && m.bins <= MOST && m.length >= 0 && m.length <= MOST && m.rate > 0 &&
                m.low >= 0 && m.high > m.low && m.high < 1e9;
    if (!kni_convert_failed(c) && !good)
        kni_convert_fail(c, KN_ERROR_ARGUMENT,
                         "there are no %lld mel bins of %lld samples at a rate of %lld from %g to %g Hz",
                         (long long)m.bins, (long long)m.length, (long long)m.rate, m.low, m.high);
    if (kni_convert_failed(c)) return;
    int64_t sizes[2] = {m.length / 2 + 1, m.bins};
    double *values = kni_convert_memory(c, (size_t)(sizes[0] * sizes[1]), sizeof *values);
    for (int64_t i = 0; values && i < m.bins; i++) fill_triangle(&m, i, values);
    if (values)
        out[0] = kni_cast_to(c, kni_constant(c, values, KN_F64, sizes, 2),
                             kni_node_dtype(c, node, "output_datatype", KN_F32));
}
