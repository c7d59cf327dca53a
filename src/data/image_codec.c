/* PNG through libpng's simplified interface and JPEG through TurboJPEG, both opened at run time. */
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
    /* Zeros are the background of transparent pixels. */
    image->pixels = calloc((size_t)(h * w), (size_t)image->channels);
    return image->pixels ? KN_OK : kni_failure_memory("kn_image_read");
}

#if __has_include(<png.h>)
#include <png.h>

static int (*png_begin)(png_imagep, png_const_voidp, size_t);
static int (*png_finish)(png_imagep, png_const_colorp, void *, png_int_32, void *);
static void (*png_free_image)(png_imagep);

static const kni_library_symbol png_symbols[] = {
    {"png_image_begin_read_from_memory", (void **)(void *)&png_begin},
    {"png_image_finish_read", (void **)(void *)&png_finish},
    {"png_image_free", (void **)(void *)&png_free_image},
    {0}};
static kni_library png_library = {KNI_LIBRARY_PNG, "reading .png images", png_symbols, 0};

static kn_status png_failure(const char *name, const png_image *png)
{
    return kni_failure(KN_ERROR_ARGUMENT, "%s: broken PNG: %.60s", name, png->message);
}

static kn_status decode_png(const void *data, size_t bytes, const char *name, int32_t channels,
                            kni_image *image)
{
    png_image png;
    memset(&png, 0, sizeof png);
    png.version = PNG_IMAGE_VERSION;
    int begun = png_begin(&png, data, bytes);
    kni_library_wrote(&begun, sizeof begun);
    kni_library_wrote(&png, sizeof png);
    if (!begun) return png_failure(name, &png);
    png.format = channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
    *image = (kni_image){channels, png.height, png.width, NULL};
    kn_status status = kni_image_allocate(image, bytes, KNI_PNG_EXPANSION, name);
    if (status == KN_OK && !png_finish(&png, NULL, image->pixels, 0, NULL)) status = png_failure(name, &png);
    if (status == KN_OK)
        kni_library_wrote(image->pixels, (size_t)image->height * (size_t)image->width * (size_t)channels);
    png_free_image(&png);
    if (status != KN_OK) kni_image_free(image);
    return status;
}

kn_status kni_png_decode(const void *data, size_t bytes, const char *name, int32_t channels, kni_image *image)
{
    kn_status status = kni_library_open(&png_library);
    if (status != KN_OK) return status;
    /* libpng would apply a gAMA chunk; other readers of training data give the values of the file. */
    kni_buffer plain = {0};
    if (kni_png_without_gamma(data, bytes, &plain)) {
        data = plain.data;
        bytes = plain.length;
    }
    status =
        plain.failed ? kni_failure_memory("kn_image_read") : decode_png(data, bytes, name, channels, image);
    kni_buffer_free(&plain);
    return status;
}
#else
kn_status kni_png_decode(const void *data, size_t bytes, const char *name, int32_t channels, kni_image *image)
{
    (void)data, (void)bytes, (void)channels, (void)image;
    return kni_failure(
        KN_ERROR_UNSUPPORTED,
        "%s: this build reads no .png images: png.h was absent (Debian: apt install libpng-dev)", name);
}
#endif

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
    *image = (kni_image){channels, height, width, NULL};
    if (good) status = kni_image_allocate(image, bytes, JPEG_EXPANSION, name);
    if (good && status == KN_OK)
        good = !jpeg_pixels(j, data, bytes, image->pixels, width, width * channels, height,
                            channels == 1 ? TJPF_GRAY : TJPF_RGB, TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING);
    if (good && status == KN_OK)
        kni_library_wrote(image->pixels, (size_t)height * (size_t)width * (size_t)channels);
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
