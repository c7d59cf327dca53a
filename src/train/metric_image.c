/* Metrics of images: Dice, PSNR, SSIM and MS-SSIM. */
#include "support/failure.h"
#include "support/scalar_math.h"
#include "train/metric_ratio.h"
#include "train/metric_scores.h"
#include <kn/contraction.h>
#include <kn/elementwise.h>
#include <kn/reduce.h>
#include <kn/shape.h>
#include <kn/spatial.h>
#include <kn/tensor.h>
#include <stdlib.h>

enum { WINDOW = 11, SCALES = 5 };

static kn_status check_same(const char *name, const kn_step_output *output, int32_t rank)
{
    if (!output->scores.bits || !output->targets.bits)
        return kni_failure(KN_ERROR_ARGUMENT, "metric %s: the step returned no scores or no targets", name);
    kn_shape a = kn_shape_of_tensor(output->scores), b = kn_shape_of_tensor(output->targets);
    bool same = a.rank == b.rank && (rank == 0 || a.rank == rank);
    for (int32_t i = 0; same && i < a.rank; i++) same = a.dims[i] == b.dims[i];
    if (same) return KN_OK;
    return kni_failure(KN_ERROR_SHAPE, "metric %s: scores and targets want one shape%s", name,
                       rank ? ", [batch, channels, height, width]" : "");
}

static kn_status measure_dice(kni_ratio *r, const kn_step_output *output, const kn_metric_context *context,
                              double *numerator, double *denominator)
{
    (void)context;
    kn_status status = check_same(r->name, output, 0);
    if (status) return status;
    kn_tensor said = kn_keep(kn_greater_scalar(output->scores, 0.5));
    kn_tensor wanted = kn_keep(kn_not_equal_scalar(output->targets, 0));
    kn_tensor both = kn_keep(kn_logical_and(said, wanted));
    if ((status = kni_failure_of(both))) return status;
    *numerator = 2 * (double)kn_item_int(kn_count_nonzero(both, KN_AXES_ALL, false));
    *denominator = (double)(kn_item_int(kn_count_nonzero(said, KN_AXES_ALL, false)) +
                            kn_item_int(kn_count_nonzero(wanted, KN_AXES_ALL, false)));
    return KN_OK;
}

/* Sums over the images what a value of each gives; per_image [batch]. */
static kn_status sum_images(kn_tensor per_image, double (*value)(double, double), double setting,
                            double *numerator, double *denominator)
{
    double *values = kni_read_new(per_image, KN_F64);
    if (!values) return KN_ERROR_HANDLE;
    int64_t n = kn_count(per_image);
    for (int64_t i = 0; i < n; i++) *numerator += value ? value(values[i], setting) : values[i];
    *denominator = (double)n;
    free(values);
    return KN_OK;
}

static double decibels(double error, double max_value)
{
    double least = 1e-10 * max_value * max_value;
    return 10 * kni_ln(max_value * max_value / (error > least ? error : least)) / kni_ln(10);
}

static kn_status measure_psnr(kni_ratio *r, const kn_step_output *output, const kn_metric_context *context,
                              double *numerator, double *denominator)
{
    (void)context;
    kn_status status = check_same(r->name, output, 4);
    if (status) return status;
    kn_tensor gap = kn_sub(kn_cast(output->scores, KN_F64), kn_cast(output->targets, KN_F64));
    kn_tensor errors = kn_keep(kn_mean(kn_square(gap), KN_AXES(1, 2, 3), false));
    if ((status = kni_failure_of(errors))) return status;
    return sum_images(errors, decibels, r->real, numerator, denominator);
}

/* ---- structural similarity */

static kn_tensor gaussian(kn_shape shape)
{
    double w[WINDOW], sum = 0;
    for (int i = 0; i < WINDOW; i++) {
        double x = i - WINDOW / 2;
        sum += w[i] = kni_exp(-x * x / (2 * 1.5 * 1.5));
    }
    for (int i = 0; i < WINDOW; i++) w[i] /= sum;
    return kn_from(w, KN_F64, shape);
}

/* Means under the window, planes [n, 1, height, width]. */
static kn_tensor blur(kn_tensor x)
{
    kn_tensor down = kn_conv2d(x, gaussian(KN_SHAPE(1, 1, WINDOW, 1)), KN_NONE, NULL);
    return kn_conv2d(down, gaussian(KN_SHAPE(1, 1, 1, WINDOW)), KN_NONE, NULL);
}

typedef struct similarity {
    kn_tensor whole, structure; /* mean of each plane, kept: luminance times structure, and structure alone */
} similarity;

static similarity compare(kn_tensor x, kn_tensor y, double max_value)
{
    double c1 = 0.01 * max_value * 0.01 * max_value, c2 = 0.03 * max_value * 0.03 * max_value;
    kn_tensor mx = kn_keep(blur(x)), my = kn_keep(blur(y));
    kn_tensor mxx = kn_keep(kn_square(mx)), myy = kn_keep(kn_square(my)), mxy = kn_keep(kn_mul(mx, my));
    kn_tensor vx = kn_sub(blur(kn_square(x)), mxx), vy = kn_sub(blur(kn_square(y)), myy);
    kn_tensor cxy = kn_sub(blur(kn_mul(x, y)), mxy);
    kn_tensor structure =
        kn_keep(kn_div(kn_add_scalar(kn_mul_scalar(cxy, 2), c2), kn_add_scalar(kn_add(vx, vy), c2)));
    kn_tensor light = kn_div(kn_add_scalar(kn_mul_scalar(mxy, 2), c1), kn_add_scalar(kn_add(mxx, myy), c1));
    return (similarity){kn_keep(kn_mean(kn_mul(light, structure), KN_AXES(1, 2, 3), false)),
                        kn_keep(kn_mean(structure, KN_AXES(1, 2, 3), false))};
}

/* Checks the images and lays their channels out as planes. */
static kn_status planes(kni_ratio *r, const kn_step_output *output, int64_t least, kn_tensor *x, kn_tensor *y)
{
    kn_status status = check_same(r->name, output, 4);
    if (status) return status;
    int64_t n = kn_size(output->scores, 0) * kn_size(output->scores, 1), height = kn_size(output->scores, 2),
            width = kn_size(output->scores, 3);
    if (height < least || width < least)
        return kni_failure(KN_ERROR_SHAPE, "metric %s: images of %lld x %lld; at least %lld x %lld", r->name,
                           (long long)height, (long long)width, (long long)least, (long long)least);
    *x = kn_keep(kn_reshape(kn_cast(output->scores, KN_F64), KN_SHAPE(n, 1, height, width)));
    *y = kn_keep(kn_reshape(kn_cast(output->targets, KN_F64), KN_SHAPE(n, 1, height, width)));
    return KN_OK;
}

static kn_status measure_ssim(kni_ratio *r, const kn_step_output *output, const kn_metric_context *context,
                              double *numerator, double *denominator)
{
    (void)context;
    kn_tensor x, y;
    kn_status status = planes(r, output, WINDOW, &x, &y);
    if (status) return status;
    kn_tensor whole = compare(x, y, r->real).whole;
    status = sum_images(whole, NULL, 0, numerator, denominator);
    double channels = (double)kn_size(output->scores, 1);
    *numerator /= channels;
    *denominator /= channels;
    return status;
}

/* The product over scales of structure^weight, the last with luminance; negative parts count as 0. */
static kn_status measure_ms_ssim(kni_ratio *r, const kn_step_output *output, const kn_metric_context *context,
                                 double *numerator, double *denominator)
{
    static const double weights[SCALES] = {0.0448, 0.2856, 0.3001, 0.2363, 0.1333};
    (void)context;
    kn_tensor x, y;
    kn_status status = planes(r, output, (WINDOW - 1) * 16 + 1, &x, &y);
    if (status) return status;
    kn_tensor product = KN_NONE;
    for (int scale = 0; scale < SCALES; scale++) {
        similarity s = compare(x, y, r->real);
        kn_tensor part = kn_clamp_min(scale + 1 < SCALES ? s.structure : s.whole, 0);
        part = kn_pow_scalar(part, weights[scale]);
        product = scale ? kn_mul(product, part) : part;
        x = kn_keep(kn_avg_pool2d(x, KN_INTS(2, 2), NULL));
        y = kn_keep(kn_avg_pool2d(y, KN_INTS(2, 2), NULL));
    }
    status = sum_images(kn_keep(product), NULL, 0, numerator, denominator);
    double channels = (double)kn_size(output->scores, 1);
    *numerator /= channels;
    *denominator /= channels;
    return status;
}

static const kni_ratio_kind dice_kind = {
    .name = "dice", .higher_is_better = true, .text = KNI_RATIO_PERCENT, .measure = measure_dice};
static const kni_ratio_kind psnr_kind = {
    .name = "psnr", .higher_is_better = true, .unit = "dB", .measure = measure_psnr};
static const kni_ratio_kind ssim_kind = {.name = "ssim", .higher_is_better = true, .measure = measure_ssim};
static const kni_ratio_kind ms_ssim_kind = {
    .name = "ms_ssim", .higher_is_better = true, .measure = measure_ms_ssim};

static kn_metric image_metric(const kni_ratio_kind *kind, double max_value)
{
    if (max_value == 0) max_value = 1;
    if (max_value > 0) return kni_ratio_make(kind, NULL, max_value, 0, 0);
    kni_failure(KN_ERROR_ARGUMENT, "kn_metric_%s: max_value is %g; above 0", kind->name, max_value);
    return NULL;
}

kn_metric kn_metric_dice(void) { return kni_ratio_make(&dice_kind, NULL, 0, 0, 0); }
kn_metric kn_metric_psnr(double max_value) { return image_metric(&psnr_kind, max_value); }
kn_metric kn_metric_ssim(double max_value) { return image_metric(&ssim_kind, max_value); }
kn_metric kn_metric_ms_ssim(double max_value) { return image_metric(&ms_ssim_kind, max_value); }
