/* Random changes of images and their normalisation, on whole batches in plain memory. */
#include "data/data_internal.h"
#include "support/scalar_math.h"
#include <stdlib.h>
#include <string.h>

/* The images of field 0 of a sample (n = 1) or a batch. */
typedef struct stack {
    int64_t n, channels, height, width;
    kn_dtype dtype;
    size_t each; /* bytes of an element */
    kn_shape shape;
} stack;

static kn_status describe(const kn_sample *sample, int64_t n, bool batch, const char *function, stack *s)
{
    kn_tensor t = sample->n ? sample->fields[0] : KN_NONE;
    kn_shape shape = kn_shape_of_tensor(t);
    int32_t rank = shape.rank - batch;
    s->dtype = kn_dtype_of(t);
    if ((s->dtype != KN_U8 && s->dtype != KN_F32) || rank < 2 || rank > 3)
        return kni_failure(
            KN_ERROR_SHAPE,
            "%s: field 0 must be an image [channels, height, width] or [height, width] of u8 or "
            "f32, not %s with %d axes",
            function, kn_dtype_name(s->dtype), (int)rank);
    s->n = batch ? n : 1;
    s->channels = rank == 3 ? shape.dims[batch] : 1;
    s->height = shape.dims[shape.rank - 2];
    s->width = shape.dims[shape.rank - 1];
    s->each = s->dtype == KN_U8 ? 1 : 4;
    s->shape = shape;
    return KN_OK;
}

/* ---- augmentation */

/* Numbers of the random choices under a sample's key. */
enum choice { ROTATE, ZOOM, SHIFT_ROWS, SHIFT_COLUMNS, FLIP_ROWS, FLIP_COLUMNS, CROP_ROWS, CROP_COLUMNS };

typedef struct moves {
    int64_t rows, columns; /* what is added to a place of the result to get one of the source */
    bool flip_vertical, flip_horizontal;
} moves;

static float get_pixel(const stack *s, const char *plane, int64_t y, int64_t x, float fill)
{
    if (y < 0 || x < 0 || y >= s->height || x >= s->width) return fill;
    int64_t i = y * s->width + x;
    if (s->dtype == KN_U8) return ((const uint8_t *)plane)[i];
    float v;
    memcpy(&v, plane + i * 4, 4);
    return v;
}

static void put_pixel(const stack *s, char *plane, int64_t i, float value)
{
    if (s->dtype == KN_U8)
        ((uint8_t *)plane)[i] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value + 0.5f);
    else
        memcpy(plane + i * 4, &value, 4);
}

static int64_t floor_int(double x)
{
    int64_t i = (int64_t)x;
    return (double)i > x ? i - 1 : i;
}

/* Turned by angle (radians) and scaled by factor about the centre; each pixel of the result looks up its source. */
static void turn_plane(const stack *s, const char *in, char *out, double angle, double factor, float fill)
{
    double c = kni_cos(angle) / factor, d = kni_sin(angle) / factor;
    double cy = (double)(s->height - 1) / 2, cx = (double)(s->width - 1) / 2;
    for (int64_t y = 0; y < s->height; y++)
        for (int64_t x = 0; x < s->width; x++) {
            double v = (double)y - cy, u = (double)x - cx;
            double sy = cy + c * v + d * u, sx = cx - d * v + c * u;
            int64_t iy = floor_int(sy), ix = floor_int(sx);
            float fy = (float)(sy - (double)iy), fx = (float)(sx - (double)ix);
            float top = get_pixel(s, in, iy, ix, fill) * (1 - fx) + get_pixel(s, in, iy, ix + 1, fill) * fx;
            float low =
                get_pixel(s, in, iy + 1, ix, fill) * (1 - fx) + get_pixel(s, in, iy + 1, ix + 1, fill) * fx;
            put_pixel(s, out, y * s->width + x, top * (1 - fy) + low * fy);
        }
}

static void fill_row(const stack *s, char *row, int64_t count, float fill)
{
    if (s->dtype == KN_U8)
        memset(row, (int)(fill < 0 ? 0 : fill > 255 ? 255 : fill), (size_t)count);
    else
        for (int64_t i = 0; i < count; i++) memcpy(row + i * 4, &fill, 4);
}

/* One row of the result from one of the source, whose columns are moved and perhaps mirrored. */
static void move_row(const stack *s, const char *from, char *to, int64_t width, const moves *m, float fill)
{
    if (!m->flip_horizontal) {
        int64_t begin = m->columns < 0 ? -m->columns : 0, end = s->width - m->columns;
        if (begin > width) begin = width;
        if (end > width) end = width;
        if (end < begin) end = begin;
        fill_row(s, to, begin, fill);
        memcpy(to + (size_t)begin * s->each, from + (begin + m->columns) * (int64_t)s->each,
               (size_t)(end - begin) * s->each);
        fill_row(s, to + (size_t)end * s->each, width - end, fill);
        return;
    }
    for (int64_t x = 0; x < width; x++) {
        int64_t sx = m->columns - x;
        if (sx < 0 || sx >= s->width)
            fill_row(s, to + (size_t)x * s->each, 1, fill);
        else
            memcpy(to + (size_t)x * s->each, from + (size_t)sx * s->each, s->each);
    }
}

static void move_plane(const stack *s, const char *in, char *out, int64_t height, int64_t width,
                       const moves *m, float fill)
{
    for (int64_t y = 0; y < height; y++) {
        int64_t sy = m->flip_vertical ? m->rows - y : m->rows + y;
        char *to = out + (size_t)(y * width) * s->each;
        if (sy < 0 || sy >= s->height)
            fill_row(s, to, width, fill);
        else
            move_row(s, in + (size_t)(sy * s->width) * s->each, to, width, m, fill);
    }
}

/* -bound .. bound */
static int64_t draw_shift(const kn_sample_key *key, uint64_t n, int64_t bound)
{
    return bound > 0 ? kn_key_below(key, n, 2 * bound + 1) - bound : 0;
}

/* Shift, flip and crop are one map from places of the result to places of the source. */
static moves draw_moves(const kn_augment_args *a, const stack *s, const kn_sample_key *key, int64_t height,
                        int64_t width)
{
    moves m = {kn_key_below(key, CROP_ROWS, s->height - height + 1),
               kn_key_below(key, CROP_COLUMNS, s->width - width + 1), false, false};
    m.flip_vertical = a->flip_vertical > 0 && kn_key_uniform(key, FLIP_ROWS) < a->flip_vertical;
    m.flip_horizontal = a->flip_horizontal > 0 && kn_key_uniform(key, FLIP_COLUMNS) < a->flip_horizontal;
    if (m.flip_vertical) m.rows = s->height - 1 - m.rows;
    if (m.flip_horizontal) m.columns = s->width - 1 - m.columns;
    m.rows -= draw_shift(key, SHIFT_ROWS, a->shift_rows);
    m.columns -= draw_shift(key, SHIFT_COLUMNS, a->shift_columns);
    return m;
}

static void change_image(const kn_augment_args *a, const stack *s, const kn_sample_key *key, const char *in,
                         char *scratch, char *out, int64_t height, int64_t width)
{
    size_t plane = (size_t)(s->height * s->width) * s->each, result = (size_t)(height * width) * s->each;
    bool turn = a->rotate != 0 || a->zoom != 0;
    double angle = (2 * kn_key_uniform(key, ROTATE) - 1) * a->rotate * KNI_PI / 180;
    double factor = 1 + (2 * kn_key_uniform(key, ZOOM) - 1) * a->zoom;
    moves m = draw_moves(a, s, key, height, width);
    for (int64_t c = 0; c < s->channels; c++) {
        const char *from = in + (size_t)c * plane;
        if (turn) {
            turn_plane(s, from, scratch, angle, factor, (float)a->fill);
            from = scratch;
        }
        move_plane(s, from, out + (size_t)c * result, height, width, &m, (float)a->fill);
    }
}

static kn_status change_images(const kn_augment_args *a, const kn_sample_key *keys, int64_t n, bool batch,
                               kn_sample *sample)
{
    stack s;
    kn_status status = describe(sample, n, batch, "kn_dataset_augment", &s);
    if (status != KN_OK) return status;
    int64_t height = a->crop_height ? a->crop_height : s.height,
            width = a->crop_width ? a->crop_width : s.width;
    if (height > s.height || width > s.width)
        return kni_failure(KN_ERROR_SHAPE,
                           "kn_dataset_augment: a part of %lld x %lld of an image of %lld x %lld",
                           (long long)width, (long long)height, (long long)s.width, (long long)s.height);
    size_t plane = (size_t)(s.height * s.width) * s.each, image = plane * (size_t)s.channels;
    size_t result = (size_t)(height * width * s.channels) * s.each;
    char *memory = malloc((size_t)s.n * (image + result) + plane + 1);
    if (!memory) return kni_failure_memory("kn_dataset_augment");
    char *out = memory + (size_t)s.n * image, *scratch = out + (size_t)s.n * result;
    status = kn_read(sample->fields[0], memory, (size_t)s.n * image);
    for (int64_t i = 0; i < s.n && status == KN_OK; i++)
        change_image(a, &s, &keys[i], memory + (size_t)i * image, scratch, out + (size_t)i * result, height,
                     width);
    s.shape.dims[s.shape.rank - 2] = height;
    s.shape.dims[s.shape.rank - 1] = width;
    if (status == KN_OK) status = kn_sample_replace(sample, 0, kn_from(out, s.dtype, s.shape));
    free(memory);
    return status;
}

static kn_status augment_one(void *context, const kn_sample_key *key, kn_sample *sample)
{
    return change_images(context, key, 1, false, sample);
}

static kn_status augment_many(void *context, const kn_sample_key *keys, int64_t n, kn_sample *batch)
{
    return change_images(context, keys, n, true, batch);
}

/* A flip under its old name counts where the new one is not given. */
static kn_augment_args with_old_flips(kn_augment_args a)
{
    if (a.flip_vertical == 0) a.flip_vertical = a.flip_rows;
    if (a.flip_horizontal == 0) a.flip_horizontal = a.flip_columns;
    return a;
}

static bool is_probability(double p) { return p >= 0 && p <= 1; }

kn_dataset kn_dataset_augment(kn_dataset dataset, const kn_augment_args *args)
{
    KNI_USE(dataset, used, dataset);
    if (!used) return NULL;
    kn_augment_args resolved = args ? with_old_flips(*args) : (kn_augment_args){0};
    if (args) args = &resolved;
    if (!args || !(args->zoom >= 0 && args->zoom < 1) || !(args->rotate >= 0 && args->rotate <= 360) ||
        args->shift_rows < 0 || args->shift_columns < 0 || args->shift_rows > INT32_MAX ||
        args->shift_columns > INT32_MAX || !is_probability(args->flip_vertical) ||
        !is_probability(args->flip_horizontal) || args->crop_height < 0 || args->crop_width < 0 ||
        !args->crop_height != !args->crop_width) {
        kni_failure(KN_ERROR_ARGUMENT,
                    "kn_dataset_augment: zoom must be on [0, 1), rotate on [0, 360], shifts and "
                    "crops not negative (both crops or none), flips probabilities");
        return NULL;
    }
    kn_augment_args *copy = malloc(sizeof *copy);
    if (!copy) {
        kni_failure_memory("kn_dataset_augment");
        return NULL;
    }
    *copy = *args;
    return kn_dataset_map_many(dataset, augment_one, augment_many, copy, free);
}

/* ---- normalisation */

typedef struct normal {
    int32_t n;
    float *scale, *offset; /* y = x scale + offset; one block of memory */
} normal;

static void free_normal(void *context)
{
    normal *m = context;
    if (!m) return;
    free(m->scale);
    free(m);
}

static kn_status normalise(const normal *m, int64_t n, bool batch, kn_sample *sample)
{
    stack s;
    kn_status status = describe(sample, n, batch, "kn_dataset_normalise", &s);
    if (status != KN_OK) return status;
    if (m->n != 1 && m->n != s.channels)
        return kni_failure(KN_ERROR_SHAPE, "kn_dataset_normalise: %d means for images of %lld channels",
                           (int)m->n, (long long)s.channels);
    size_t area = (size_t)(s.height * s.width), count = (size_t)(s.n * s.channels) * area;
    float *out = malloc((count + 1) * sizeof *out);
    uint8_t *bytes = s.dtype == KN_U8 ? malloc(count + 1) : NULL;
    if (!out || (s.dtype == KN_U8 && !bytes))
        status = kni_failure_memory("kn_dataset_normalise");
    else
        status = kn_read(sample->fields[0], bytes ? (void *)bytes : (void *)out, count * s.each);
    for (int64_t p = 0; p < s.n * s.channels && status == KN_OK; p++) {
        int64_t c = m->n == 1 ? 0 : p % s.channels;
        float scale = m->scale[c] * (bytes ? 1.0f / 255 : 1), offset = m->offset[c];
        float *to = out + (size_t)p * area;
        for (size_t i = 0; i < area; i++) {
            float x = bytes ? (float)bytes[(size_t)p * area + i] : to[i];
            to[i] = x * scale + offset;
        }
    }
    if (status == KN_OK) status = kn_sample_replace(sample, 0, kn_from(out, KN_F32, s.shape));
    free(out);
    free(bytes);
    return status;
}

static kn_status normalise_one(void *context, const kn_sample_key *key, kn_sample *sample)
{
    (void)key;
    return normalise(context, 1, false, sample);
}

static kn_status normalise_many(void *context, const kn_sample_key *keys, int64_t n, kn_sample *batch)
{
    (void)keys;
    return normalise(context, n, true, batch);
}

kn_dataset kn_dataset_normalise(kn_dataset dataset, const double *mean, const double *std, int32_t n)
{
    KNI_USE(dataset, used, dataset);
    if (!used) return NULL;
    if (n < 1 || n > 1 << 16) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_dataset_normalise: %d channels", (int)n);
        return NULL;
    }
    normal *m = calloc(1, sizeof *m);
    if (!m || !(m->scale = malloc(2 * (size_t)n * sizeof *m->scale))) {
        free_normal(m);
        kni_failure_memory("kn_dataset_normalise");
        return NULL;
    }
    m->n = n;
    m->offset = m->scale + n;
    for (int32_t i = 0; i < n; i++) {
        double s = std ? std[i] : 1;
        if (!(s > 0)) {
            free_normal(m);
            kni_failure(KN_ERROR_ARGUMENT, "kn_dataset_normalise: std[%d] is not above 0", (int)i);
            return NULL;
        }
        m->scale[i] = (float)(1 / s);
        m->offset[i] = (float)(-(mean ? mean[i] : 0) / s);
    }
    return kn_dataset_map_many(dataset, normalise_one, normalise_many, m, free_normal);
}
