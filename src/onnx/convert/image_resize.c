/* Resize and Upsample: one op for up to three axes, which says where elements lie by the scales or the sizes. */
#include "onnx/convert/image_parts.h"

enum { NEAREST, LINEAR, CUBIC, GROUP = 3 /* axes of one op */, LARGEST_DIVISOR = 64 };
/* The numbers of kn_resample_transform. */
enum {
    HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    PYTORCH_HALF_PIXEL,
    HALF_PIXEL_SYMMETRIC,
    HALF_PIXEL_FOR_NN,
    CROP
};
enum { ROUND_DOWN, ROUND_UP, FLOOR, CEIL };

/* One axis with what is asked of it. */
typedef struct along {
    int32_t axis;
    kni_extent in, out;
    double scale, begin, end; /* scale 0: that of the sizes */
} along;

typedef struct resizing {
    along list[KN_MAX_RANK];
    int32_t n;
    int64_t mode, transform, rule, antialias, exclude_outside;
    double cubic, outside;
} resizing;

/* ---- sizes */

/* floor(size scale), in single precision where both are numbers, as exporters count. Of a size that is known later the scale must be a
   fraction. */
static kni_extent scaled(kni_conversion *c, kni_extent size, double scale)
{
    if (!size.text) return KNI_EXTENT((int64_t)((float)size.value * (float)scale));
    for (int64_t q = 1; q <= LARGEST_DIVISOR; q++) {
        double p = scale * (double)q;
        int64_t whole = (int64_t)(p + 0.5);
        if (whole < 1 || (float)((double)whole / (double)q) != (float)scale) continue;
        return kni_extent_div(c, kni_extent_mul(c, size, KNI_EXTENT(whole)), KNI_EXTENT(q));
    }
    kni_extent_number(c, size, "a size to scale");
    return KNI_EXTENT(1);
}

/* A scale that means the quotient of the sizes, but was rounded to single precision, is that quotient: 0. */
static double exact_scale(const along *a, double scale)
{
    if (a->in.text || a->out.text) return scale;
    double wanted = (double)a->out.value, off = (double)a->in.value * scale - wanted;
    return off <= 1e-6 * wanted && -off <= 1e-6 * wanted ? 0 : scale;
}

static bool good_scale(kni_conversion *c, double scale)
{
    if (scale > 0 && scale <= 1e9) return true;
    kni_convert_fail(c, KN_ERROR_ARGUMENT, "a scale is %g; it must be above 0", scale);
    return false;
}

/* whole_sizes: the scales say the sizes alone. */
static void take_scales(kni_conversion *c, resizing *r, const double *scales, int64_t n, bool whole_sizes)
{
    if (n != r->n) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "there are %lld scales for %d axes", (long long)n, r->n);
        return;
    }
    for (int32_t i = 0; i < r->n && good_scale(c, scales[i]); i++) {
        r->list[i].out = scaled(c, r->list[i].in, scales[i]);
        r->list[i].scale = whole_sizes ? 0 : exact_scale(&r->list[i], kni_meant_number(scales[i]));
    }
}

/* One scale for all axes, so that no size is larger (or smaller) than asked for. */
static void keep_aspect(kni_conversion *c, resizing *r, bool larger)
{
    double scale = 0;
    for (int32_t i = 0; i < r->n; i++) {
        int64_t in = kni_extent_number(c, r->list[i].in, "a size of x");
        int64_t out = kni_extent_number(c, r->list[i].out, "a size");
        if (kni_convert_failed(c) || in < 1) return;
        double own = (double)out / (double)in;
        if (i == 0 || (larger ? own > scale : own < scale)) scale = own;
    }
    for (int32_t i = 0; i < r->n && good_scale(c, scale); i++) {
        r->list[i].out = KNI_EXTENT((int64_t)((double)r->list[i].in.value * scale + 0.5));
        r->list[i].scale = exact_scale(&r->list[i], scale);
    }
}

static void take_sizes(kni_conversion *c, const kni_onnx_node *node, resizing *r, kni_datum sizes)
{
    static const char *const policies[] = {"stretch", "not_larger", "not_smaller", NULL};
    int64_t n = 0;
    const kni_extent *list = kni_known_counts(c, sizes, "the list of sizes", &n);
    int32_t policy = kni_node_choice(c, node, "keep_aspect_ratio_policy", "stretch", policies);
    if (!list) return;
    if (n != r->n) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "there are %lld sizes for %d axes", (long long)n, r->n);
        return;
    }
    for (int32_t i = 0; i < r->n; i++) r->list[i].out = list[i];
    if (policy) keep_aspect(c, r, policy == 2);
}

static void take_region(kni_conversion *c, resizing *r, kni_datum region)
{
    int64_t n = 0;
    const double *list = kni_is_given(region) ? kni_known_reals(c, region, "the region", &n) : NULL;
    if (kni_convert_failed(c)) return;
    if (n != 2 * (int64_t)r->n) {
        kni_convert_fail(c, KN_ERROR_SHAPE, "the region has %lld numbers for %d axes", (long long)n, r->n);
        return;
    }
    for (int32_t i = 0; i < r->n; i++) {
        r->list[i].begin = list[i];
        r->list[i].end = list[r->n + i];
    }
}

/* ---- ops */

/* Whether an axis stays as it is: where it has as many elements, and no scale or crop moves them. */
static bool stays(const resizing *r, const along *a)
{
    if (!kni_extent_same(a->in, a->out) || a->scale != 0) return false;
    if (r->transform == HALF_PIXEL_FOR_NN) return r->mode == NEAREST && r->rule == FLOOR;
    return r->transform != CROP || (a->begin == 0 && a->end == 1);
}

static void sort_axes(resizing *r)
{
    for (int32_t i = 1; i < r->n; i++) {
        along one = r->list[i];
        int32_t k = i;
        for (; k > 0 && r->list[k - 1].axis > one.axis; k--) r->list[k] = r->list[k - 1];
        r->list[k] = one;
    }
}

static kni_datum resample(kni_conversion *c, const resizing *r, const along *list, int32_t n, kni_datum x)
{
    kni_extent axes[GROUP], sizes[GROUP];
    along all[GROUP] = {{0}};
    for (int32_t i = 0; i < n; i++) {
        all[i] = list[i];
        axes[i] = KNI_EXTENT(list[i].axis);
        sizes[i] = list[i].out;
    }
    bool nearest = r->mode == NEAREST;
    return kni_emit(c, "resample", &x, 1,
                    KNI_GIVE(KNI_EXTENTS("axes", axes, n), KNI_EXTENTS("size", sizes, n),
                             KNI_WHOLE("mode", r->mode), KNI_WHOLE("transform", r->transform),
                             KNI_WHOLE("rule", r->rule), KNI_WHOLE("antialias", nearest ? 0 : r->antialias),
                             KNI_WHOLE("exclude_outside", nearest ? 0 : r->exclude_outside),
                             KNI_REAL("scale0", all[0].scale), KNI_REAL("scale1", all[1].scale),
                             KNI_REAL("scale2", all[2].scale), KNI_REAL("begin0", all[0].begin),
                             KNI_REAL("begin1", all[1].begin), KNI_REAL("begin2", all[2].begin),
                             KNI_REAL("end0", all[0].end), KNI_REAL("end1", all[1].end),
                             KNI_REAL("end2", all[2].end), KNI_REAL("cubic", r->cubic),
                             KNI_REAL("outside", r->outside)));
}

/* Integers between neighbours are computed as floats and rounded. */
static kni_datum run(kni_conversion *c, resizing *r, kni_datum x)
{
    kn_dtype dtype = kni_dtype_of(c, x);
    int32_t n = 0;
    sort_axes(r);
    for (int32_t i = 0; i < r->n; i++)
        if (!stays(r, &r->list[i])) r->list[n++] = r->list[i];
    bool whole = r->mode != NEAREST && kni_is_whole(dtype), several = r->mode != NEAREST && n > GROUP;
    if (n == 0 || kni_convert_failed(c)) return x;
    if (whole) x = kni_cast_to(c, x, kni_dtypes[dtype].bits >= 32 ? KN_F64 : KN_F32);
    if (several) x = kni_widened(c, x);
    for (int32_t i = 0; i < n; i += GROUP) x = resample(c, r, r->list + i, n - i < GROUP ? n - i : GROUP, x);
    return kni_cast_to(c, whole ? kni_emit1(c, "round", x) : x, dtype);
}

/* All axes, or those that the node names. */
static bool take_axes(kni_conversion *c, const kni_onnx_node *node, kni_datum x, resizing *r)
{
    int32_t axes[KN_MAX_RANK], rank = kni_rank_of(c, x);
    r->n = node->version >= 18 ? kni_axes_given(c, node, KNI_ABSENT, rank, axes) : -1;
    if (kni_convert_failed(c)) return false;
    for (int32_t i = 0; r->n < 0 && i < rank; i++) axes[i] = i;
    if (r->n < 0) r->n = rank;
    for (int32_t i = 0; i < r->n; i++)
        r->list[i] = (along){.axis = axes[i], .in = kni_extent_of(c, x, axes[i]), .end = 1};
    return !kni_convert_failed(c);
}

/* Whether an operand is there and has elements: exporters give empty ones for those they leave out. */
static bool has_elements(kni_conversion *c, kni_datum x)
{
    return kni_is_given(x) && !kni_extent_is(kni_count_of(c, x), 0);
}

void kni_convert_resize(KNI_CONVERTS)
{
    static const char *const modes[] = {"nearest", "linear", "cubic", NULL};
    static const char *const rules[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL};
    static const char *const transforms[] = {
        "half_pixel",           "align_corners",        "asymmetric",         "pytorch_half_pixel",
        "half_pixel_symmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize", NULL};
    resizing r = {.mode = kni_node_choice(c, node, "mode", "nearest", modes),
                  .transform = ASYMMETRIC,
                  .rule = FLOOR,
                  .antialias = kni_node_int(node, "antialias", 0) != 0,
                  .exclude_outside = kni_node_int(node, "exclude_outside", 0) != 0,
                  .cubic = kni_node_real(node, "cubic_coeff_a", -0.75),
                  .outside = kni_node_real(node, "extrapolation_value", 0)};
    int64_t n = 0;
    KNI_UNUSED_COUNTS;
    bool first = node->version < 11;
    if (!first) {
        r.transform = kni_node_choice(c, node, "coordinate_transformation_mode", "half_pixel", transforms);
        r.rule = kni_node_choice(c, node, "nearest_mode", "round_prefer_floor", rules);
    }
    if (!take_axes(c, node, in[0], &r)) return;
    kni_datum scales = in[first ? 1 : 2], sizes = first ? KNI_ABSENT : in[3];
    if (has_elements(c, scales)) {
        const double *list = kni_known_reals(c, scales, "the list of scales", &n);
        /* Before version 19 there is one length of the result, a whole number, and PyTorch's exporters mean that one. Version 19 has
           a second one with a fraction, which its test data take for corners, too. */
        if (list) take_scales(c, &r, list, n, r.transform == ALIGN_CORNERS && node->version < 19);
    } else {
        take_sizes(c, node, &r, sizes);
    }
    if (r.transform == CROP) take_region(c, &r, in[1]);
    if (!kni_convert_failed(c)) out[0] = run(c, &r, in[0]);
}

/* The first version scales the last two axes, the next one has its scales as an attribute. */
static bool upsample_scales(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in, int32_t rank,
                            double *scales, int64_t *n)
{
    const double *known = node->version >= 9 ? kni_known_reals(c, in[1], "the list of scales", n) : NULL;
    const float *given = node->version < 9 ? kni_node_reals(node, "scales", n) : NULL;
    if (kni_convert_failed(c)) return false;
    for (int32_t i = 0; i < rank; i++) scales[i] = 1;
    if (node->version < 7 && !given && rank >= 2) {
        scales[rank - 2] = kni_node_real(node, "height_scale", 1);
        scales[rank - 1] = kni_node_real(node, "width_scale", 1);
        *n = rank;
    } else {
        for (int64_t i = 0; i < *n && i < rank; i++) scales[i] = known ? known[i] : (double)given[i];
    }
    return true;
}

void kni_convert_upsample(KNI_CONVERTS)
{
    static const char *const modes[] = {"nearest", "linear", "bilinear", NULL};
    resizing r = {
        .mode = kni_node_choice(c, node, "mode", "nearest", modes), .transform = ASYMMETRIC, .rule = FLOOR};
    double scales[KN_MAX_RANK];
    int64_t n = 0;
    KNI_UNUSED_COUNTS;
    if (r.mode > LINEAR) r.mode = LINEAR;
    if (!take_axes(c, node, in[0], &r) || !upsample_scales(c, node, in, r.n, scales, &n)) return;
    take_scales(c, &r, scales, n, false);
    if (!kni_convert_failed(c)) out[0] = run(c, &r, in[0]);
}
