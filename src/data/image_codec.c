/* JPEG through TurboJPEG, opened at run time; the choice of a decoder; pixels of other colour spaces. */
#include "data/data_image.h"
#include "support/library.h"
#include <stdlib.h>
#include <string.h>

enum {
    MAX_PIXELS = 1 << 28,
    /* A plain drawing has some hundred pixels in a byte; a small file above that and this size is made to fill memory. */
    FREE_PIXELS = 1 << 24,
    PIXELS_PER_BYTE = 512,
    /* A block of 64 pixels needs some bits even when nothing is in it; progressive files less. */
    JPEG_EXPANSION = 4096
};

void kni_image_free(kni_image *image)
{
    free(image->pixels);
    *image = (kni_image){0};
}

kn_status kni_image_allocate(kni_image *image, size_t bytes, int64_t expansion, const char *name)
{
    int64_t h = image->height, w = image->width;
    if (h < 1 || w < 1 || h > MAX_PIXELS / w || h * w / expansion > (int64_t)bytes)
        return kni_failure(KN_ERROR_ARGUMENT,
                           "%s: a size of %lld x %lld is not possible in a file of %llu bytes", name,
                           (long long)w, (long long)h, (unsigned long long)bytes);
    if (h * w > FREE_PIXELS && (h * w - FREE_PIXELS) / PIXELS_PER_BYTE > (int64_t)bytes)
        return kni_failure(
            KN_ERROR_ARGUMENT,
            "%s: %lld x %lld pixels in a file of %llu bytes are refused: that is more than %d and "
            "%d for each byte",
            name, (long long)w, (long long)h, (unsigned long long)bytes, FREE_PIXELS, PIXELS_PER_BYTE);
    image->pixels = calloc((size_t)(h * w), (size_t)image->channels);
    return image->pixels ? KN_OK : kni_failure_memory("kn_image_read");
}

/* In place: a pixel becomes smaller. */
void kni_image_to_grey(kni_image *image)
{
    uint8_t *out = image->pixels;
    for (int64_t i = 0; i < image->height * image->width; i++) {
        const uint8_t *rgb = image->pixels + 3 * i;
        out[i] = (uint8_t)((19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + (1 << 15)) >> 16);
    }
    image->channels = 1;
}

#if __has_include(<turbojpeg.h>)
#include <turbojpeg.h>

static tjhandle (*jpeg_open)(void);
static int (*jpeg_header)(tjhandle, const unsigned char *, unsigned long, int *, int *, int *, int *);
static int (*jpeg_pixels)(tjhandle, const unsigned char *, unsigned long, unsigned char *, int, int, int, int,
                          int);
static char *(*jpeg_error)(tjhandle);
static int (*jpeg_close)(tjhandle);

static const kni_library_symbol jpeg_symbols[] = {
    {"tjInitDecompress", (void **)(void *)&jpeg_open}, {"tjDecompressHeader3", (void **)(void *)&jpeg_header},
    {"tjDecompress2", (void **)(void *)&jpeg_pixels},  {"tjGetErrorStr2", (void **)(void *)&jpeg_error},
    {"tjDestroy", (void **)(void *)&jpeg_close},       {0}};
static kni_library jpeg_library = {KNI_LIBRARY_JPEG, "reading .jpg images", jpeg_symbols, 0};

/* Round(a b / 255). */
static int multiply_bytes(int a, int b)
{
    int product = a * b + 128;
    return (product + (product >> 8)) >> 8;
}

/* PIL's conversion: inks are stored inverted, as Adobe's programs write them; a colour is black less its ink. */
static void inks_to_rgb(kni_image *image)
{
    for (int64_t i = 0; i < image->height * image->width; i++) {
        const uint8_t *in = image->pixels + 4 * i;
        const int inks[3] = {255 - in[0], 255 - in[1], 255 - in[2]}, light = in[3];
        for (int k = 0; k < 3; k++)
            image->pixels[3 * i + k] = (uint8_t)(light - multiply_bytes(inks[k], light));
    }
    image->channels = 3;
}

/* The pixel format to read, and the bytes of a pixel. Four inks are converted here: TurboJPEG does not. */
static int32_t format_of(int space, int32_t channels, int *format)
{
    if (space == TJCS_CMYK || space == TJCS_YCCK) {
        *format = TJPF_CMYK;
        return 4;
    }
    *format = channels == 1 ? TJPF_GRAY : TJPF_RGB;
    return channels;
}

kn_status kni_jpeg_decode(const void *data, size_t bytes, const char *name, int32_t channels,
                          kni_image *image)
{
    kn_status status = kni_library_open(&jpeg_library);
    if (status != KN_OK) return status;
    tjhandle j = jpeg_open();
    if (!j) return kni_failure_memory("kn_image_read");
    int width = 0, height = 0, sampling = 0, space = 0;
    bool good = bytes <= INT32_MAX && !jpeg_header(j, data, bytes, &width, &height, &sampling, &space);
    kni_library_wrote(&width, sizeof width);
    kni_library_wrote(&height, sizeof height);
    kni_library_wrote(&space, sizeof space);
    int format;
    *image = (kni_image){format_of(space, channels, &format), height, width, NULL};
    if (good) status = kni_image_allocate(image, bytes, JPEG_EXPANSION, name);
    if (good && status == KN_OK)
        good = !jpeg_pixels(j, data, bytes, image->pixels, width, width * image->channels, height, format,
                            TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING);
    if (good && status == KN_OK) {
        kni_library_wrote(image->pixels, (size_t)height * (size_t)width * (size_t)image->channels);
        if (format == TJPF_CMYK) inks_to_rgb(image);
        if (channels == 1 && image->channels == 3) kni_image_to_grey(image);
    }
    if (!good) status = kni_failure(KN_ERROR_ARGUMENT, "%s: broken JPEG: %.100s", name, jpeg_error(j));
    jpeg_close(j);
    if (status != KN_OK) kni_image_free(image);
    return status;
}
#else
kn_status kni_jpeg_decode(const void *data, size_t bytes, const char *name, int32_t channels,
                          kni_image *image)
{
    (void)data, (void)bytes, (void)channels, (void)image;
    return kni_failure(KN_ERROR_UNSUPPORTED,
                       "%s: this build reads no .jpg images: turbojpeg.h was absent (Debian: apt install "
                       "libturbojpeg0-dev)",
                       name);
}
#endif

kn_status kni_image_decode(const void *data, size_t bytes, const char *name, int32_t channels,
                           kni_image *image)
{
    *image = (kni_image){0};
    if (bytes >= 8 && !memcmp(data, "\x89PNG\r\n\x1a\n", 8))
        return kni_png_decode(data, bytes, name, channels, image);
    if (bytes >= 3 && !memcmp(data, "\xff\xd8\xff", 3))
        return kni_jpeg_decode(data, bytes, name, channels, image);
    return kni_failure(KN_ERROR_ARGUMENT, "%s: neither a PNG nor a JPEG image", name);
}
