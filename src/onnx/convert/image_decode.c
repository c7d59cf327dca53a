/* ImageDecoder: PNG and JPEG, as files of data sets are read. Formats that the library does not read are refused by name. */
#include "onnx/convert/image_parts.h"
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
    } known[] = {{"BMP", "BM", 2, 0},         {"WebP", "WEBP", 4, 8},
                 {"TIFF", "II*\0", 4, 0},     {"TIFF", "MM\0*", 4, 0},
                 {"JPEG 2000", "jP  ", 4, 4}, {"PNM", "P6", 2, 0},
                 {"PNM", "P5", 2, 0},         {"JPEG 2000", "\xff\x4f\xff\x51", 4, 0}};
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

/* Planes of red, green and blue as one of brightness, (299 r + 587 g + 114 b) / 1000 in fixed point as most programs count it. */
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
    int64_t n = 0, sizes[3];
    KNI_UNUSED_COUNTS;
    int32_t format = kni_node_choice(c, node, "pixel_format", "RGB", formats);
    uint8_t *bytes = bytes_of(c, in[0], &n);
    const char *other = bytes ? format_of(bytes, n) : NULL;
    if (other)
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "the image is a %s; PNG and JPEG are decoded", other);
    if (!bytes || kni_convert_failed(c)) return;
    kn_scope scope = kn_scope_begin();
    kn_tensor image = kn_image_decode(bytes, (size_t)n, "the image", &(kn_image_args){.channels = 3});
    kn_shape shape = kn_shape_of_tensor(image);
    int64_t count = kn_ok(image) ? kn_count(image) : 0;
    uint8_t *elements = count ? kni_convert_memory(c, (size_t)count, 1) : NULL;
    if (!count || !elements || kn_read(image, elements, (size_t)count)) {
        if (!kni_convert_failed(c)) kni_convert_fail(c, KN_ERROR_ARGUMENT, "%s", kn_last_error());
        elements = NULL;
    }
    for (int i = 0; i < 3; i++) sizes[i] = shape.rank == 3 ? shape.dims[i] : 0;
    kn_scope_end(scope, KN_NONE);
    if (!elements) return;
    if (format == GRAYSCALE) {
        to_grey(elements, sizes[1] * sizes[2]);
        sizes[0] = 1;
    }
    kni_datum y = kni_constant(c, elements, KN_U8, sizes, 3);
    if (format == BGR) y = kni_reversed(c, y, 0);
    out[0] = kni_permute_to(c, y, (const int32_t[]){1, 2, 0}, 3);
}
