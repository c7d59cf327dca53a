/* ImageDecoder: PNG and JPEG, as files of data sets are read, BMP and PNM. Other formats are refused by name. */
#include "core/objects.h"
#include "onnx/convert/image_parts.h"
#include "onnx/convert/image_plain.h"
#include <kn/creation.h>
#include <kn/data/source.h>
#include <kn/tensor.h>
#include <string.h>

enum { RGB, BGR, GRAYSCALE };

/* What a file of another format begins with. */
static const char *format_of(const uint8_t *bytes, int64_t n)
{
    static const struct {
        const char *name, *start;
        size_t length, at;
    } known[] = {{"packed BMP", "BM", 2, 0},  {"WebP", "WEBP", 4, 8},
                 {"TIFF", "II*\0", 4, 0},     {"TIFF", "MM\0*", 4, 0},
                 {"JPEG 2000", "jP  ", 4, 4}, {"JPEG 2000", "\xff\x4f\xff\x51", 4, 0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if ((size_t)n >= known[i].at + known[i].length &&
            !memcmp(bytes + known[i].at, known[i].start, known[i].length))
            return known[i].name;
    return NULL;
}

static uint8_t *bytes_of(kni_conversion *c, kni_datum x, int64_t *n)
{
    const int64_t *numbers = kni_known_ints(c, x, "the image", n);
    uint8_t *bytes = numbers ? kni_convert_memory(c, (size_t)*n + 1, 1) : NULL;
    for (int64_t i = 0; bytes && i < *n; i++) bytes[i] = (uint8_t)numbers[i];
    return bytes;
}

/* Planes of red, green and blue, with height and width in `sizes`; NULL with the node failed. */
static uint8_t *plain_planes(kni_conversion *c, const kni_plain_image *image, int64_t *sizes)
{
    uint8_t *planes = kni_convert_memory(c, (size_t)(image->width * image->height), 3);
    sizes[1] = image->height;
    sizes[2] = image->width;
    if (planes) kni_plain_image_planes(image, planes);
    return planes;
}

static uint8_t *packed_planes(kni_conversion *c, const uint8_t *bytes, int64_t n, int64_t *sizes)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor image = kn_image_decode(bytes, (size_t)n, "the image", &(kn_image_args){.channels = 3});
    kn_shape shape = kn_shape_of_tensor(image);
    int64_t count = kn_ok(image) ? kn_count(image) : 0;
    uint8_t *planes = count ? kni_convert_memory(c, (size_t)count, 1) : NULL;
    if (!planes || kn_read(image, planes, (size_t)count)) {
        if (!kni_convert_failed(c))
            kni_convert_fail(
                c, KN_ERROR_ARGUMENT,
                "the image is damaged, or none of PNG, JPEG, BMP and PNM (PNG needs libpng, JPEG "
                "libturbojpeg)");
        planes = NULL;
    }
    for (int i = 1; i < 3; i++) sizes[i] = shape.rank == 3 ? shape.dims[i] : 0;
    kn_scope_end(scope, KN_NONE);
    return planes;
}

/* One plane of brightness, (299 r + 587 g + 114 b) / 1000 in fixed point as most programs count it. */
static void to_grey(uint8_t *planes, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t sum = 19595u * planes[i] + 38470u * planes[n + i] + 7471u * planes[2 * n + i];
        planes[i] = (uint8_t)((sum + 0x8000) >> 16);
    }
}

void kni_convert_image_decoder(KNI_CONVERTS)
{
    static const char *const formats[] = {"RGB", "BGR", "Grayscale", NULL};
    int64_t n = 0, sizes[3] = {3, 0, 0};
    kni_plain_image plain;
    KNI_UNUSED_COUNTS;
    int32_t format = kni_node_choice(c, node, "pixel_format", "RGB", formats);
    uint8_t *bytes = bytes_of(c, in[0], &n);
    if (!bytes) return;
    bool is_plain = kni_plain_image_of(bytes, n, &plain);
    const char *other = is_plain ? NULL : format_of(bytes, n);
    if (other)
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "the image is a %s; PNG, JPEG, BMP and PNM are decoded",
                         other);
    if (kni_convert_failed(c)) return;
    uint8_t *planes = is_plain ? plain_planes(c, &plain, sizes) : packed_planes(c, bytes, n, sizes);
    if (!planes) return;
    if (format == GRAYSCALE) {
        to_grey(planes, sizes[1] * sizes[2]);
        sizes[0] = 1;
    }
    kni_datum y = kni_constant(c, planes, KN_U8, sizes, 3);
    if (format == BGR) y = kni_reversed(c, y, 0);
    out[0] = kni_permute_to(c, y, (const int32_t[]){1, 2, 0}, 3);
}
