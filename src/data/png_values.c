/* PNG chunks, and the stored values of masks: grey levels and palette indices of 1, 2, 4 and 8 bits without any conversion
   of colours. Palette indices are lost in an image that is read for its colours. */
#include "data/data_image.h"
#include <stdlib.h>
#include <string.h>

enum { SIGNATURE = 8, CHUNK_FRAME = 12, HEADER_BYTES = 13, COLOUR_GREY = 0, COLOUR_PALETTE = 3 };

typedef struct chunk {
    const uint8_t *start, *data; /* start: of its frame */
    uint32_t bytes;
} chunk;

static uint32_t big_endian(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The chunk at *at, which moves behind it; false where no whole one is. */
static bool next_chunk(const uint8_t *file, size_t bytes, size_t *at, chunk *c)
{
    if (bytes < CHUNK_FRAME || *at > bytes - CHUNK_FRAME) return false;
    *c = (chunk){file + *at, file + *at + 8, big_endian(file + *at)};
    if (c->bytes > bytes - CHUNK_FRAME - *at) return false;
    *at += CHUNK_FRAME + (size_t)c->bytes;
    return true;
}

static bool is(const chunk *c, const char *type) { return !memcmp(c->start + 4, type, 4); }

static kn_status broken(const char *name, const char *what)
{
    return kni_failure(KN_ERROR_ARGUMENT, "%s: broken PNG: %s", name, what);
}

/* Reads the header and joins the packed data. */
static kn_status gather(const uint8_t *file, size_t bytes, const char *name, kni_buffer *packed,
                        kni_image *image, int *depth)
{
    size_t at = SIGNATURE;
    chunk c;
    if (bytes < SIGNATURE || memcmp(file, "\x89PNG\r\n\x1a\n", SIGNATURE))
        return kni_failure(KN_ERROR_ARGUMENT, "%s: a mask must be a PNG image", name);
    if (!next_chunk(file, bytes, &at, &c) || !is(&c, "IHDR") || c.bytes != HEADER_BYTES)
        return broken(name, "it has no header");
    int colour = c.data[9];
    *image = (kni_image){1, big_endian(c.data + 4), big_endian(c.data), NULL};
    *depth = c.data[8];
    if ((colour != COLOUR_GREY && colour != COLOUR_PALETTE) ||
        (*depth != 1 && *depth != 2 && *depth != 4 && *depth != 8))
        return kni_failure(
            KN_ERROR_ARGUMENT,
            "%s: a mask must be grey or have a palette, with 1 to 8 bits; this PNG has colour type %d "
            "with %d bits",
            name, colour, *depth);
    if (c.data[10] || c.data[11] || c.data[12])
        return kni_failure(KN_ERROR_UNSUPPORTED,
                           "%s: interlaced masks are not read; save it without interlace", name);
    while (next_chunk(file, bytes, &at, &c) && !is(&c, "IEND"))
        if (is(&c, "IDAT")) kni_buffer_append(packed, c.data, c.bytes);
    if (packed->failed) return kni_failure_memory("kn_dataset_image_masks");
    return packed->length ? KN_OK : broken(name, "it has no data");
}

/* What the Paeth filter predicts from the bytes to the left, above, and above left. */
static int paeth(int left, int above, int corner)
{
    int to_left = abs(above - corner), to_above = abs(left - corner),
        to_corner = abs(left + above - 2 * corner);
    if (to_left <= to_above && to_left <= to_corner) return left;
    return to_above <= to_corner ? above : corner;
}

/* Undoes the filter of a row in place; above is NULL for the first row. A pixel has at most one byte. */
static bool restore_row(int filter, uint8_t *row, const uint8_t *above, size_t n)
{
    if (filter > 4) return false;
    for (size_t i = 0; i < n && filter; i++) {
        int left = i ? row[i - 1] : 0, up = above ? above[i] : 0, corner = i && above ? above[i - 1] : 0;
        const int predicted[] = {0, left, up, (left + up) / 2, paeth(left, up, corner)};
        row[i] = (uint8_t)(row[i] + predicted[filter]);
    }
    return true;
}

static kn_status unpack(uint8_t *rows, size_t stride, int depth, const char *name, kni_image *image)
{
    for (int64_t y = 0; y < image->height; y++) {
        uint8_t *row = rows + (size_t)y * stride, *out = image->pixels + y * image->width;
        if (!restore_row(row[0], row + 1, y ? row + 1 - stride : NULL, stride - 1))
            return broken(name, "a row has an unknown filter");
        for (int64_t x = 0; x < image->width; x++) {
            int64_t bit = x * depth;
            out[x] = (uint8_t)(row[1 + bit / 8] >> (8 - depth - bit % 8) & ((1 << depth) - 1));
        }
    }
    return KN_OK;
}

kn_status kni_png_decode_values(const void *data, size_t bytes, const char *name, kni_image *image)
{
    kni_buffer packed = {0};
    int depth = 8;
    uint8_t *rows = NULL;
    *image = (kni_image){0};
    kn_status status = gather(data, bytes, name, &packed, image, &depth);
    if (status == KN_OK) status = kni_image_allocate(image, bytes, KNI_PNG_EXPANSION, name);
    /* The allocation above has bounded the size; a row has a byte for its filter. */
    size_t stride = status == KN_OK ? 1 + ((size_t)image->width * (size_t)depth + 7) / 8 : 0;
    size_t size = stride * (size_t)image->height;
    if (status == KN_OK && !(rows = malloc(size))) status = kni_failure_memory("kn_dataset_image_masks");
    if (status == KN_OK) status = kni_inflate(packed.data, packed.length, name, rows, size);
    if (status == KN_OK) status = unpack(rows, stride, depth, name, image);
    free(rows);
    kni_buffer_free(&packed);
    if (status != KN_OK) kni_image_free(image);
    return status;
}
