/* Images between a decoder and a tensor: reading files, resizing, planes of channels. */
#include "data/data_image.h"
#include "core/objects.h"
#include <stdlib.h>
#include <string.h>

kn_status kni_image_load(const char *path, int32_t channels, kni_image *image)
{
    kni_buffer file = {0};
    *image = (kni_image){0};
    kn_status status = kni_file_read(path, 0, &file);
    if (status == KN_OK)
        status = kni_image_decode(file.data ? file.data : "", file.length, path, channels, image);
    kni_buffer_free(&file);
    return status;
}

kn_status kni_image_load_mask(const char *path, kni_image *image)
{
    kni_buffer file = {0};
    *image = (kni_image){0};
    kn_status status = kni_file_read(path, 0, &file);
    if (status == KN_OK) status = kni_png_decode_values(file.data ? file.data : "", file.length, path, image);
    kni_buffer_free(&file);
    return status;
}

/* ---- resizing, one axis after the other */

/* y[o] = sum of x over a triangle around the place of o, whose half width is the larger of 1 and the scale. */
static void resize_line(const float *x, int64_t n, int64_t step, float *y, int64_t m, int64_t y_step)
{
    double scale = (double)n / (double)m, half = scale > 1 ? scale : 1;
    for (int64_t o = 0; o < m; o++) {
        double centre = ((double)o + 0.5) * scale - 0.5, sum = 0, weights = 0;
        int64_t from = (int64_t)(centre - half), to = (int64_t)(centre + half) + 1;
        if (from < 0) from = 0;
        if (to > n - 1) to = n - 1;
        for (int64_t i = from; i <= to; i++) {
            double distance = ((double)i - centre) / half, weight = 1 - (distance < 0 ? -distance : distance);
            if (weight <= 0) continue;
            sum += weight * (double)x[i * step];
            weights += weight;
        }
        y[o * y_step] = (float)(sum / weights);
    }
}

static void resize_nearest(const kni_image *from, uint8_t *to, int64_t height, int64_t width)
{
    size_t c = (size_t)from->channels;
    for (int64_t y = 0; y < height; y++)
        for (int64_t x = 0; x < width; x++) {
            int64_t sy = y * from->height / height, sx = x * from->width / width;
            memcpy(to + (size_t)(y * width + x) * c, from->pixels + (size_t)(sy * from->width + sx) * c, c);
        }
}

static bool resize_smoothly(const kni_image *from, uint8_t *to, int64_t height, int64_t width)
{
    int64_t c = from->channels, h = from->height, w = from->width;
    float *x = malloc((size_t)(h * w * c) * sizeof *x),
          *rows = malloc((size_t)(h * width * c) * sizeof *rows);
    float *y = malloc((size_t)(height * width * c) * sizeof *y);
    bool good = x && rows && y;
    for (int64_t i = 0; i < h * w * c && good; i++) x[i] = from->pixels[i];
    for (int64_t r = 0; r < h && good; r++)
        for (int64_t k = 0; k < c; k++)
            resize_line(x + r * w * c + k, w, c, rows + r * width * c + k, width, c);
    for (int64_t i = 0; i < width * c && good; i++)
        resize_line(rows + i, h, width * c, y + i, height, width * c);
    for (int64_t i = 0; i < height * width * c && good; i++) to[i] = (uint8_t)(y[i] + 0.5f);
    free(x);
    free(rows);
    free(y);
    return good;
}

kn_status kni_image_resize(kni_image *image, int64_t height, int64_t width, bool nearest)
{
    if (image->height == height && image->width == width) return KN_OK;
    uint8_t *pixels = malloc((size_t)(height * width * image->channels));
    bool good = pixels != NULL;
    if (good && nearest)
        resize_nearest(image, pixels, height, width);
    else if (good)
        good = resize_smoothly(image, pixels, height, width);
    if (!good) {
        free(pixels);
        return kni_failure_memory("kn_image_read");
    }
    free(image->pixels);
    *image = (kni_image){image->channels, height, width, pixels};
    return KN_OK;
}

kn_tensor kni_image_tensor(const kni_image *image)
{
    int64_t c = image->channels, area = image->height * image->width;
    kn_shape shape = KN_SHAPE(c, image->height, image->width);
    if (c == 1) return kn_from(image->pixels, KN_U8, shape);
    uint8_t *planes = malloc((size_t)(c * area));
    if (!planes) return kni_poisoned(KN_ERROR_MEMORY, "kn_image_read: out of memory");
    for (int64_t i = 0; i < area; i++)
        for (int64_t k = 0; k < c; k++) planes[k * area + i] = image->pixels[i * c + k];
    kn_tensor t = kn_from(planes, KN_U8, shape);
    free(planes);
    return t;
}

kn_status kni_image_check_args(const kn_image_args *args, kn_image_args *filled, const char *function)
{
    *filled = args ? *args : (kn_image_args){0};
    if (!filled->channels) filled->channels = 3;
    bool sized =
        filled->height > 0 && filled->width > 0 && filled->height <= 1 << 14 && filled->width <= 1 << 14;
    if ((filled->channels == 1 || filled->channels == 3) && (sized || (!filled->height && !filled->width)))
        return KN_OK;
    return kni_failure(KN_ERROR_ARGUMENT,
                       "%s: channels must be 1 or 3; height and width both 0 or both 1 to 16384", function);
}

static kn_tensor finish(kni_failure_held *held, kn_status status, kni_image *image, const kn_image_args *args)
{
    if (status == KN_OK && args->height) status = kni_image_resize(image, args->height, args->width, false);
    kn_tensor t = kni_failure_release(held, status, KN_NONE);
    if (status == KN_OK) t = kni_image_tensor(image);
    kni_image_free(image);
    return t;
}

kn_tensor kn_image_read(const char *path, const kn_image_args *args)
{
    KNI_NAMED;
    kn_image_args filled;
    kni_image image = {0};
    kni_failure_held held;
    kni_failure_hold(&held);
    kn_status status = kni_image_check_args(args, &filled, "kn_image_read");
    if (status == KN_OK) status = kni_given(path, __func__, "path");
    if (status == KN_OK) status = kni_image_load(path, filled.channels, &image);
    return finish(&held, status, &image, &filled);
}

kn_tensor kn_image_decode(const void *data, size_t bytes, const char *name, const kn_image_args *args)
{
    KNI_NAMED;
    kn_image_args filled;
    kni_image image = {0};
    kni_failure_held held;
    kni_failure_hold(&held);
    kn_status status = kni_image_check_args(args, &filled, "kn_image_decode");
    if (status == KN_OK && bytes) status = kni_given(data, __func__, "data");
    if (status == KN_OK)
        status = kni_image_decode(data, bytes, name ? name : "memory", filled.channels, &image);
    return finish(&held, status, &image, &filled);
}
