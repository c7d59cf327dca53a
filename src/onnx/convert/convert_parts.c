/* Operators that take parts of tensors, by position or by index, and Pad. */
#include "onnx/convert/convert_numbers.h"
#include <kn/shape.h>
#include <string.h>

/* ---- Slice */

typedef struct slices {
    const kni_extent *starts, *stops;
    const int64_t *axes, *steps; /* NULL: all from 0 on; all 1 */
    int64_t n;
} slices;

static const kni_extent *as_extents(kni_conversion *c, const int64_t *list, int64_t n)
{
    kni_extent *copy = kni_convert_memory(c, (size_t)(n + 1), sizeof *copy);
    for (int64_t i = 0; copy && i < n; i++) copy[i] = KNI_EXTENT(list[i]);
    return copy;
}

/* Version 1 has attributes; later ones inputs, and so has DynamicSlice, an experiment of before that some old models have. */
static bool slices_by_inputs(const kni_onnx_node *node)
{
    return node->version >= 10 || !strcmp(node->op, "DynamicSlice");
}

static bool slices_of(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, slices *s)
{
    int64_t n[4] = {0, 0, 0, 0};
    *s = (slices){NULL, NULL, NULL, NULL, 0};
    if (!slices_by_inputs(node)) {
        const int64_t *starts = kni_node_ints(node, "starts", &n[0]),
                      *stops = kni_node_ints(node, "ends", &n[1]);
        s->starts = as_extents(c, starts, n[0]);
        s->stops = as_extents(c, stops, n[1]);
        s->axes = kni_node_ints(node, "axes", &n[2]);
    } else {
        s->starts = kni_known_places(c, in[1], "the starts", &n[0]);
        s->stops = kni_known_places(c, in[2], "the ends", &n[1]);
        if (kni_is_given(in[3])) s->axes = kni_known_ints(c, in[3], "the axes", &n[2]);
        if (kni_is_given(in[4])) s->steps = kni_known_ints(c, in[4], "the steps", &n[3]);
    }
    s->n = n[0];
    bool fits = n[1] == n[0] && (!s->axes || n[2] == n[0]) && (!s->steps || n[3] == n[0]);
    if (!fits)
        kni_convert_fail(c, KN_ERROR_SHAPE, "there are %lld starts, %lld ends, %lld axes and %lld steps",
                         (long long)n[0], (long long)n[1], (long long)n[2], (long long)n[3]);
    return fits && !kni_convert_failed(c);
}

/* What exporters write for the end is any large number. Backwards the op's end is the first element, where ONNX means the last. */
static kni_extent stop_of(kni_extent stop, kni_extent size, int64_t step)
{
    if (step < 0) return kni_extent_is(stop, KN_END) ? KNI_EXTENT(KN_END - 1) : stop;
    bool end = kni_extent_same(stop, size) || (!stop.text && stop.value >= INT32_MAX);
    return end ? KNI_EXTENT(KN_END) : stop;
}

/* Backwards a start before the first element is the first element: the standard clamps it to 0, and Python takes nothing. -1 is never
   before it, unless there are no elements. max(start, -size) is a place before the first element no more, and counts from the end as ever. */
static kni_extent start_of(kni_conversion *c, kni_extent start, kni_extent size, int64_t step)
{
    if (step > 0 || !kni_extent_may_be_negative(start) || kni_extent_is(start, -1)) return start;
    if (start.text) return kni_extent_max(c, start, kni_extent_sub(c, KNI_EXTENT(0), size));
    return kni_extent_max(c, kni_extent_add(c, start, size), KNI_EXTENT(0));
}

/* Places that a program knows only when it runs, as those of a loop's trip, with an end at a fixed distance, x[i:i + 3]: a window of so
   many elements, which lies inside of the axis, else the program fails. KNI_ABSENT: it is something else. */
static kni_datum window_of(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in)
{
    enum { MOST = 4096 };
    int64_t length = 0, n_axes = 0, n_steps = 0, axis = 0, step = 1;
    if (kni_runs_now(c) || !slices_by_inputs(node) || !kni_is_given(in[1]) || !kni_is_given(in[2]) ||
        kni_is_known(c, in[1]) || kni_is_known(c, in[2]) || kni_rank_of(c, in[1]) != 1 ||
        !kni_extent_is(kni_extent_of(c, in[1], 0), 1) ||
        !kni_known_distance(c, node->in[1], node->in[2], &length) || length < 1 || length > MOST)
        return KNI_ABSENT;
    const int64_t *axes = kni_is_given(in[3]) ? kni_known_ints(c, in[3], "the axes", &n_axes) : &axis;
    const int64_t *steps = kni_is_given(in[4]) ? kni_known_ints(c, in[4], "the steps", &n_steps) : &step;
    if (kni_convert_failed(c) || n_axes > 1 || n_steps > 1 || *steps != 1) return KNI_ABSENT;
    int64_t *places = kni_convert_memory(c, (size_t)length, sizeof *places);
    for (int64_t i = 0; places && i < length; i++) places[i] = i;
    if (!places) return KNI_ABSENT;
    kni_datum index = kni_cast_to(c, in[1], KN_I64);
    if (length > 1) index = kni_emit2(c, "add", index, kni_constant(c, places, KN_I64, &length, 1));
    return kni_emit(c, "take", KNI_LIST(in[0], index),
                    KNI_GIVE(KNI_WHOLE("axis", kni_axis_of(c, in[0], *axes))));
}

void kni_convert_slice(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    slices s;
    out[0] = window_of(c, node, in);
    if (kni_is_given(out[0]) || kni_convert_failed(c)) return;
    kni_extent sizes[KN_MAX_RANK], starts[KN_MAX_RANK], stops[KN_MAX_RANK], steps[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, in[0], sizes);
    if (!slices_of(c, node, in, &s)) return;
    for (int32_t i = 0; i < rank; i++) {
        starts[i] = KNI_EXTENT(0);
        stops[i] = KNI_EXTENT(KN_END);
        steps[i] = KNI_EXTENT(1);
    }
    bool whole = true;
    for (int64_t i = 0; i < s.n; i++) {
        int32_t axis = kni_axis_of(c, in[0], s.axes ? s.axes[i] : i);
        int64_t step = s.steps ? s.steps[i] : 1;
        if (!kni_convert_failed(c) && step == 0) kni_convert_fail(c, KN_ERROR_ARGUMENT, "a step is 0");
        if (kni_convert_failed(c)) return;
        starts[axis] = start_of(c, s.starts[i], sizes[axis], step);
        stops[axis] = stop_of(s.stops[i], sizes[axis], step);
        steps[axis] = KNI_EXTENT(step);
        whole = whole && step == 1 && kni_extent_is(starts[axis], 0) && kni_extent_is(stops[axis], KN_END);
    }
    out[0] = whole ? in[0]
                   : kni_emit(c, "slice", in, 1,
                              KNI_GIVE(KNI_EXTENTS("start", starts, rank), KNI_EXTENTS("stop", stops, rank),
                                       KNI_EXTENTS("step", steps, rank)));
}

/* ---- Crop: another experiment. border: left, top, right, bottom; scale, where it is given: height and width of what stays */

void kni_convert_crop(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    int64_t n_border, n_scale;
    const int64_t *border = kni_node_ints(node, "border", &n_border),
                  *scale = kni_node_ints(node, "scale", &n_scale);
    bool good = kni_rank_of(c, in[0]) == 4 && n_border == 4 && (!n_scale || n_scale == 2);
    for (int64_t i = 0; good && i < n_border; i++) good = border[i] >= 0;
    if (!good) {
        kni_convert_fail(c, KN_ERROR_SHAPE,
                         "it needs images [N, C, H, W], a border of four numbers from 0, and a scale of two");
        return;
    }
    out[0] = in[0];
    for (int k = 0; k < 2 && !kni_convert_failed(c); k++) { /* rows, columns */
        kni_extent from = KNI_EXTENT(border[1 - k]),
                   to = n_scale
                            ? kni_extent_add(c, from, KNI_EXTENT(scale[k]))
                            : kni_extent_sub(c, kni_extent_of(c, in[0], 2 + k), KNI_EXTENT(border[3 - k]));
        out[0] = kni_slice_of(c, out[0], 2 + k, from, to);
    }
}

/* ---- Split */

/* Equal parts; from version 18 on the last one may be smaller. */
static kni_extent part_size(kni_conversion *c, const kni_onnx_node *node, kni_extent size, int32_t parts)
{
    if (node->version >= 18)
        return kni_extent_div(c, kni_extent_add(c, size, KNI_EXTENT(parts - 1)), KNI_EXTENT(parts));
    if (!size.text && size.value % parts != 0)
        kni_convert_fail(c, KN_ERROR_SHAPE, "an axis of %lld elements has no %d equal parts",
                         (long long)size.value, parts);
    return kni_extent_div(c, size, KNI_EXTENT(parts));
}

/* The parts are all of the axis. */
static void check_parts(kni_conversion *c, const kni_extent *parts, int64_t n, kni_extent size, int32_t axis)
{
    kni_extent sum = KNI_EXTENT(0);
    for (int64_t i = 0; i < n; i++) {
        if (!parts[i].text && parts[i].value < 0)
            kni_convert_fail(c, KN_ERROR_SHAPE, "part %lld has %lld elements", (long long)i,
                             (long long)parts[i].value);
        sum = kni_extent_add(c, sum, parts[i]);
    }
    if (!sum.text && !size.text && sum.value != size.value && !kni_convert_failed(c))
        kni_convert_fail(c, KN_ERROR_SHAPE, "the parts have %lld elements together, and axis %d has %lld",
                         (long long)sum.value, axis, (long long)size.value);
}

void kni_convert_split(KNI_CONVERTS)
{
    (void)n_in;
    int64_t n = 0;
    int32_t axis = kni_axis_of(c, in[0], kni_node_int(node, "axis", 0));
    const kni_extent *given = NULL;
    if (kni_is_given(in[1])) {
        given = kni_known_places(c, in[1], "the parts", &n);
    } else {
        const int64_t *list = kni_node_ints(node, "split", &n);
        if (list && n > 0) given = as_extents(c, list, n);
    }
    if (kni_convert_failed(c)) return;
    int64_t parts = given ? n : kni_node_int(node, "num_outputs", n_out);
    kni_extent size = kni_extent_of(c, in[0], axis), at = KNI_EXTENT(0), each = KNI_EXTENT(0);
    if (parts < n_out || parts < 1 || parts > INT32_MAX) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "there are %lld parts for %d outputs", (long long)parts, n_out);
        return;
    }
    if (given) check_parts(c, given, n, size, axis);
    if (!given) each = part_size(c, node, size, (int32_t)parts);
    for (int32_t i = 0; i < n_out; i++) {
        kni_extent stop = kni_extent_add(c, at, given ? given[i] : each);
        if (!given && node->version >= 18) stop = i + 1 == parts ? size : kni_extent_min(c, stop, size);
        if (kni_is_wanted(node, i)) out[i] = kni_slice_of(c, in[0], axis, at, stop);
        at = stop;
    }
}

/* ---- Pad */

typedef struct pads {
    kni_extent before[KN_MAX_RANK], after[KN_MAX_RANK];
} pads;

static bool pads_of(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t rank, pads *p)
{
    int64_t n = 0;
    int32_t axes[KN_MAX_RANK], n_axes = node->version >= 18 ? kni_axes_given(c, node, in[3], rank, axes) : -1;
    const kni_extent *list;
    if (node->version >= 11) {
        list = kni_known_places(c, in[1], "the pads", &n);
    } else {
        const int64_t *numbers = kni_node_ints(node, node->version < 2 ? "paddings" : "pads", &n);
        list = as_extents(c, numbers, n);
    }
    for (int32_t i = 0; n_axes < 0 && i < rank; i++) axes[i] = i;
    if (n_axes < 0) n_axes = rank;
    for (int32_t i = 0; i < KN_MAX_RANK; i++) p->before[i] = p->after[i] = KNI_EXTENT(0);
    if (!kni_convert_failed(c) && n != 2 * (int64_t)n_axes)
        kni_convert_fail(c, KN_ERROR_SHAPE, "%lld pads are given for %d axes", (long long)n, n_axes);
    for (int32_t i = 0; i < n_axes && list && !kni_convert_failed(c); i++) {
        p->before[axes[i]] = list[i];
        p->after[axes[i]] = list[n_axes + i];
    }
    return !kni_convert_failed(c);
}

/* What a pad below 0 cuts, where the pad may be one: max(-pad, 0). The pad is what is left of it, at least 0. */
static kni_extent cut_by(kni_conversion *c, kni_extent *pad)
{
    const kni_extent zero = KNI_EXTENT(0);
    if (!kni_extent_may_be_negative(*pad)) return zero;
    kni_extent cut = kni_extent_max(c, kni_extent_sub(c, zero, *pad), zero);
    *pad = kni_extent_max(c, *pad, zero);
    return cut;
}

/* Negative pads cut; they are 0 afterwards. */
static kni_datum cropped(kni_conversion *c, kni_datum x, int32_t rank, pads *p)
{
    for (int32_t i = 0; i < rank; i++) {
        kni_extent start = cut_by(c, &p->before[i]), back = cut_by(c, &p->after[i]);
        if (kni_extent_is(start, 0) && kni_extent_is(back, 0)) continue;
        kni_extent stop = kni_extent_sub(c, kni_extent_of(c, x, i), back);
        if (!stop.text && !start.text && start.value > stop.value)
            kni_convert_fail(c, KN_ERROR_SHAPE, "axis %d is cut by more elements than it has", i);
        x = kni_slice_of(c, x, i, start, stop.text ? kni_extent_max(c, stop, start) : stop);
    }
    return x;
}

static kni_datum padded(kni_conversion *c, kni_datum x, int32_t rank, const pads *p, int64_t mode,
                        double value)
{
    return kni_emit(c, "pad", &x, 1,
                    KNI_GIVE(KNI_EXTENTS("before", p->before, rank), KNI_EXTENTS("after", p->after, rank),
                             KNI_WHOLE("mode", mode), KNI_REAL("value", value)));
}

/* Where position `at` of an axis of n elements, from before its start to behind its end, is read in a mode. */
static int64_t source_of(int64_t at, int64_t n, int64_t mode)
{
    int64_t period = mode == KN_PAD_WRAP ? n : 2 * (n - 1);
    if (n == 1 || period < 1) return 0;
    at %= period;
    if (at < 0) at += period;
    return at < n ? at : period - at;
}

/* The op reads each element once; an axis that is padded by more is taken by index, any number of times. */
static kni_datum padded_widely(kni_conversion *c, kni_datum x, int32_t axis, kni_extent *before,
                               kni_extent *after, int64_t mode)
{
    kni_extent size = kni_extent_of(c, x, axis);
    int64_t most = mode == KN_PAD_WRAP ? size.value : size.value - 1;
    bool known = !size.text && !before->text && !after->text && size.value > 0;
    if (!known || mode == KN_PAD_EDGE || (before->value <= most && after->value <= most)) return x;
    int64_t total = kni_extent_add(c, kni_extent_add(c, size, *before), *after).value;
    int64_t *places = kni_convert_memory(c, (size_t)total, sizeof *places);
    for (int64_t i = 0; places && i < total; i++) places[i] = source_of(i - before->value, size.value, mode);
    if (!places) return KNI_ABSENT;
    *before = *after = KNI_EXTENT(0);
    kni_datum index = kni_constant(c, places, KN_I64, &total, 1);
    return kni_emit(c, "take", KNI_LIST(x, index), KNI_GIVE(KNI_WHOLE("axis", axis)));
}

static kni_datum padded_in_mode(kni_conversion *c, kni_datum x, int32_t rank, pads *p, int64_t mode)
{
    for (int32_t i = 0; i < rank; i++) x = padded_widely(c, x, i, &p->before[i], &p->after[i], mode);
    return padded(c, x, rank, p, mode, 0);
}

static int64_t pad_mode(kni_conversion *c, const kni_onnx_node *node)
{
    static const char *const modes[] = {"constant", "reflect", "edge", "wrap"}; /* as kn_pad_mode counts */
    const char *name = kni_node_text(node, "mode", "constant");
    for (int i = 0; i < 4; i++)
        if (!strcmp(name, modes[i])) return i;
    kni_convert_fail(c, KN_ERROR_ARGUMENT, "the mode is '%s'; it must be constant, reflect, edge or wrap",
                     name);
    return 0;
}

/* A value that is not known now goes to where padding of truths is false. */
static kni_datum padded_by(kni_conversion *c, kni_datum x, int32_t rank, const pads *p, kni_datum value)
{
    kni_extent sizes[KN_MAX_RANK];
    kni_extents_of(c, x, sizes);
    kni_datum inside = padded(c, kni_filled(c, 1, KN_BOOL, sizes, rank), rank, p, KN_PAD_CONSTANT, 0);
    kni_datum number = kni_rank_of(c, value) > 0 ? kni_reshape_to(c, value, NULL, 0) : value;
    return kni_emit3(c, "where", inside, padded(c, x, rank, p, KN_PAD_CONSTANT, 0),
                     kni_cast_to(c, number, kni_dtype_of(c, x)));
}

void kni_convert_pad(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    pads p;
    int32_t rank = kni_rank_of(c, in[0]);
    int64_t mode = pad_mode(c, node);
    if (!pads_of(c, node, in, rank, &p)) return;
    kni_datum x = cropped(c, in[0], rank, &p), value = node->version >= 11 ? in[2] : KNI_ABSENT;
    /* Whole numbers of 64 bits may be more than an attribute holds. */
    bool exact = kni_dtype_of(c, x) == KN_I64 || kni_dtype_of(c, x) == KN_U64;
    if (mode != KN_PAD_CONSTANT)
        out[0] = padded_in_mode(c, x, rank, &p, mode);
    else if (kni_is_given(value) && (exact || !kni_is_known(c, value)))
        out[0] = padded_by(c, x, rank, &p, value);
    else
        out[0] = padded(c, x, rank, &p, mode,
                        node->version < 11 ? kni_node_real(node, "value", 0)
                                           : kni_known_real(c, value, "the value", 0));
}

/* ---- by index */

void kni_convert_gather(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    int32_t axis = kni_axis_of(c, in[0], kni_node_int(node, "axis", 0));
    out[0] = kni_emit(c, "take", in, 2, KNI_GIVE(KNI_WHOLE("axis", axis), KNI_WHOLE("negative", 1)));
}

static bool may_be_below(kni_extent a, kni_extent b)
{
    return !kni_extent_same(a, b) && (a.text || b.text || a.value < b.value);
}

/* The indices may have smaller sizes off the axis; the rest of x is not read then. */
void kni_convert_gather_elements(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    kni_extent own[KN_MAX_RANK], sizes[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, in[0], own), other = kni_extents_of(c, in[1], sizes);
    int32_t axis = kni_axis_of(c, in[0], kni_node_int(node, "axis", 0));
    kni_datum x = in[0];
    for (int32_t i = 0; i < rank && other == rank; i++)
        if (i != axis && may_be_below(sizes[i], own[i])) x = kni_slice_of(c, x, i, KNI_EXTENT(0), sizes[i]);
    out[0] = kni_emit(c, "gather", KNI_LIST(x, in[1]),
                      KNI_GIVE(KNI_WHOLE("axis", axis), KNI_WHOLE("negative", 1)));
}

/* How many slices stay is a size of the result, so the condition is read. */
void kni_convert_compress(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    int64_t n = 0, kept = 0;
    bool flat = !kni_node_attribute(node, "axis");
    kni_extent count = kni_count_of(c, in[0]);
    kni_datum x = flat ? kni_reshape_to(c, in[0], &count, 1) : in[0];
    int32_t axis = flat ? 0 : kni_axis_of(c, x, kni_node_int(node, "axis", 0));
    const int64_t *condition = kni_known_ints(c, in[1], "the condition", &n);
    int64_t *places = kni_convert_memory(c, (size_t)(n + 1), sizeof *places);
    if (!condition || !places) return;
    for (int64_t i = 0; i < n; i++)
        if (condition[i]) places[kept++] = i;
    kni_datum index = kni_constant(c, places, KN_I64, &kept, 1);
    out[0] = kni_emit(c, "take", KNI_LIST(x, index), KNI_GIVE(KNI_WHOLE("axis", axis)));
}

/* Element t of a sequence of length l comes from l - 1 - t, what is behind it stays. */
void kni_convert_reverse_sequence(KNI_CONVERTS)
{
    KNI_UNUSED_COUNTS;
    kni_extent sizes[KN_MAX_RANK], line[KN_MAX_RANK];
    int32_t rank = kni_extents_of(c, in[0], sizes);
    int32_t batch = kni_axis_of(c, in[0], kni_node_int(node, "batch_axis", 1));
    int32_t time = kni_axis_of(c, in[0], kni_node_int(node, "time_axis", 0));
    if (!kni_convert_failed(c) && batch == time)
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "batch_axis and time_axis are both %d", time);
    if (kni_convert_failed(c)) return;
    for (int32_t i = 0; i < rank; i++) line[i] = i == batch ? sizes[i] : KNI_EXTENT(1);
    kni_datum lengths = kni_reshape_to(c, kni_cast_to(c, in[1], KN_I64), line, rank);
    kni_datum steps = kni_counting_along(c, 0, sizes[time], time, rank);
    kni_datum last = kni_emit2(c, "sub", lengths, kni_whole_number(c, 1, KN_I64));
    kni_datum index =
        kni_emit3(c, "where", kni_emit2(c, "less", steps, lengths), kni_emit2(c, "sub", last, steps), steps);
    index = kni_expand_to(c, index, sizes, rank);
    out[0] = kni_emit(c, "gather", KNI_LIST(in[0], index), KNI_GIVE(KNI_WHOLE("axis", time)));
}
