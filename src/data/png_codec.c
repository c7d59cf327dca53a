/* PNG through libpng, opened at run time. Values come out as they are in the file, which is what PIL's convert("RGB") gives: no
   gamma, no blending; of 16 bits the upper 8, alpha is left out. */
#include "data/data_image.h"
#include "support/library.h"

#if __has_include(<png.h>)
#include <png.h>
#include <setjmp.h>
#include <string.h>

static png_structp (*png_make)(png_const_charp, png_voidp, png_error_ptr, png_error_ptr);
static png_infop (*png_make_info)(png_const_structrp);
static void (*png_destroy)(png_structpp, png_infopp, png_infopp);
static void (*png_source)(png_structrp, png_voidp, png_rw_ptr);
static png_voidp (*png_io)(png_const_structrp);
static png_voidp (*png_context)(png_const_structrp);
static void (*png_header)(png_structrp, png_inforp);
static png_uint_32 (*png_width)(png_const_structrp, png_const_inforp);
static png_uint_32 (*png_height)(png_const_structrp, png_const_inforp);
static png_byte (*png_colour)(png_const_structrp, png_const_inforp);
static void (*png_expand)(png_structrp);
static void (*png_upper_byte)(png_structrp);
static void (*png_no_alpha)(png_structrp);
static void (*png_to_rgb)(png_structrp);
static int (*png_passes)(png_structrp);
static void (*png_update)(png_structrp, png_inforp);
static size_t (*png_row_bytes)(png_const_structrp, png_const_inforp);
static void (*png_row)(png_structrp, png_bytep, png_bytep);

static const kni_library_symbol png_symbols[] = {{"png_create_read_struct", (void **)(void *)&png_make},
                                                 {"png_create_info_struct", (void **)(void *)&png_make_info},
                                                 {"png_destroy_read_struct", (void **)(void *)&png_destroy},
                                                 {"png_set_read_fn", (void **)(void *)&png_source},
                                                 {"png_get_io_ptr", (void **)(void *)&png_io},
                                                 {"png_get_error_ptr", (void **)(void *)&png_context},
                                                 {"png_read_info", (void **)(void *)&png_header},
                                                 {"png_get_image_width", (void **)(void *)&png_width},
                                                 {"png_get_image_height", (void **)(void *)&png_height},
                                                 {"png_get_color_type", (void **)(void *)&png_colour},
                                                 {"png_set_expand", (void **)(void *)&png_expand},
                                                 {"png_set_strip_16", (void **)(void *)&png_upper_byte},
                                                 {"png_set_strip_alpha", (void **)(void *)&png_no_alpha},
                                                 {"png_set_gray_to_rgb", (void **)(void *)&png_to_rgb},
                                                 {"png_set_interlace_handling", (void **)(void *)&png_passes},
                                                 {"png_read_update_info", (void **)(void *)&png_update},
                                                 {"png_get_rowbytes", (void **)(void *)&png_row_bytes},
                                                 {"png_read_row", (void **)(void *)&png_row},
                                                 {0}};
static kni_library png_library = {KNI_LIBRARY_PNG, "reading .png images", png_symbols, 0};

/* A file that is being read. */
typedef struct reader {
    const uint8_t *data;
    size_t left, bytes;
    const char *name;
    png_structp png;
    png_infop info;
    kn_status status;
    jmp_buf failed; /* libpng's errors end here */
} reader;

static void take_bytes(png_structp png, png_bytep out, size_t n)
{
    reader *r = png_io(png);
    if (n > r->left) {
        r->status = kni_failure(KN_ERROR_ARGUMENT, "%s: broken PNG: the file ends too early", r->name);
        longjmp(r->failed, 1);
    }
    memcpy(out, r->data, n);
    r->data += n;
    r->left -= n;
}

static void fail(png_structp png, png_const_charp message)
{
    reader *r = png_context(png);
    r->status = kni_failure(KN_ERROR_ARGUMENT, "%s: broken PNG: %.60s", r->name, message);
    longjmp(r->failed, 1);
}

static void ignore_warning(png_structp png, png_const_charp message) { (void)png, (void)message; }

/* Reads the header; rows will have 8 bits in each of image->channels. */
static kn_status begin_image(reader *r, int32_t channels, kni_image *image)
{
    png_header(r->png, r->info);
    bool coloured = png_colour(r->png, r->info) & PNG_COLOR_MASK_COLOR;
    int64_t height = png_height(r->png, r->info), width = png_width(r->png, r->info);
    *image = (kni_image){coloured ? 3 : channels, height, width, NULL};
    kn_status status = kni_image_allocate(image, r->bytes, KNI_PNG_EXPANSION, r->name);
    if (status != KN_OK) return status;
    png_expand(r->png); /* palettes, fewer than 8 bits, and a transparent colour, which becomes alpha */
    png_upper_byte(r->png);
    png_no_alpha(r->png);
    if (!coloured && channels == 3) png_to_rgb(r->png);
    return KN_OK;
}

/* The reader and the image belong to the caller: a jump back here finds them as they were left. */
static kn_status read_image(reader *r, int32_t channels, kni_image *image)
{
    if (setjmp(r->failed)) return r->status;
    r->png = png_make(PNG_LIBPNG_VER_STRING, r, fail, ignore_warning);
    r->info = r->png ? png_make_info(r->png) : NULL;
    if (!r->info) return kni_failure_memory("kn_image_read");
    png_source(r->png, r, take_bytes);
    kn_status status = begin_image(r, channels, image);
    if (status != KN_OK) return status;
    int passes = png_passes(r->png);
    png_update(r->png, r->info);
    size_t row = (size_t)image->width * (size_t)image->channels;
    if (png_row_bytes(r->png, r->info) != row)
        return kni_failure(KN_ERROR_ARGUMENT, "%s: broken PNG: its rows have another size", r->name);
    for (int pass = 0; pass < passes; pass++)
        for (int64_t y = 0; y < image->height; y++) png_row(r->png, image->pixels + (size_t)y * row, NULL);
    kni_library_wrote(image->pixels, (size_t)image->height * row);
    return KN_OK;
}

kn_status kni_png_decode(const void *data, size_t bytes, const char *name, int32_t channels, kni_image *image)
{
    *image = (kni_image){0};
    kn_status status = kni_library_open(&png_library);
    if (status != KN_OK) return status;
    reader r = {.data = data, .left = bytes, .bytes = bytes, .name = name};
    status = read_image(&r, channels, image);
    if (r.png) png_destroy(&r.png, &r.info, NULL);
    if (status == KN_OK && channels == 1 && image->channels == 3) kni_image_to_grey(image);
    if (status != KN_OK) kni_image_free(image);
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
