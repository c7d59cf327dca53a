/* BMP of 24 and 32 bits, and binary PNM of bytes. What the headers say is checked against the bytes that are there. */
#include "onnx/convert/image_plain.h"

enum { LARGEST = 1 << 20, BMP_HEADER = 54 };

/* Whether `rows` rows of `row` bytes, of which the last needs only `used`, follow from `first` on. */
static bool holds(int64_t n, int64_t first, int64_t rows, int64_t row, int64_t used)
{
    return first >= 0 && first <= n && rows >= 1 && used >= 1 && (rows - 1) * row + used <= n - first;
}

/* ---- BMP: little-endian, rows of whole words from below, blue first */

static int64_t number(const uint8_t *at, int bytes)
{
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++) value |= (uint32_t)at[i] << 8 * i;
    return bytes == 4 ? (int32_t)value : (int64_t)value;
}

static bool bmp_of(const uint8_t *bytes, int64_t n, kni_plain_image *image)
{
    if (n < BMP_HEADER || bytes[0] != 'B' || bytes[1] != 'M') return false;
    int64_t first = number(bytes + 10, 4), width = number(bytes + 18, 4), height = number(bytes + 22, 4);
    int64_t bits = number(bytes + 28, 2), rows = height < 0 ? -height : height;
    bool plain = number(bytes + 14, 4) >= 40 && number(bytes + 30, 4) == 0 && (bits == 24 || bits == 32);
    if (!plain || width < 1 || width > LARGEST || rows < 1 || rows > LARGEST) return false;
    const int64_t each = bits == 24 ? 3 : 4; /* bytes of a pixel */
    int64_t used = width * each, row = (used + 3) / 4 * 4;
    if (!holds(n, first, rows, row, used)) return false;
    *image = (kni_plain_image){width, rows, bytes + first, row, each, 2, 1, 0};
    if (height > 0) {
        image->top += (rows - 1) * row;
        image->row = -row;
    }
    return true;
}

/* ---- PNM: "P6", width, height and largest value as text, then rows */

/* Skips blanks and comments; -1 where no number follows. */
static int64_t text_number(const uint8_t *bytes, int64_t n, int64_t *at)
{
    int64_t value = -1;
    for (bool comment = false; *at < n; ++*at) {
        uint8_t letter = bytes[*at];
        comment = letter == '#' || (comment && letter != '\n');
        if (!comment && letter != ' ' && letter != '\t' && letter != '\r' && letter != '\n') break;
    }
    for (; *at < n && bytes[*at] >= '0' && bytes[*at] <= '9' && value <= LARGEST; ++*at)
        value = (value < 0 ? 0 : value * 10) + (bytes[*at] - '0');
    return value;
}

static bool pnm_of(const uint8_t *bytes, int64_t n, kni_plain_image *image)
{
    if (n < 2 || bytes[0] != 'P' || (bytes[1] != '5' && bytes[1] != '6')) return false;
    int64_t at = 2, pixel = bytes[1] == '6' ? 3 : 1;
    int64_t width = text_number(bytes, n, &at), height = text_number(bytes, n, &at);
    bool of_bytes = text_number(bytes, n, &at) == 255;
    if (!of_bytes || width < 1 || width > LARGEST || height < 1 || height > LARGEST) return false;
    at++; /* one blank */
    if (!holds(n, at, height, width * pixel, width * pixel)) return false;
    *image =
        (kni_plain_image){width, height, bytes + at, width * pixel, pixel, 0, pixel == 3, pixel == 3 ? 2 : 0};
    return true;
}

/* ---- both */

bool kni_plain_image_of(const uint8_t *bytes, int64_t n, kni_plain_image *image)
{
    return bmp_of(bytes, n, image) || pnm_of(bytes, n, image);
}

void kni_plain_image_planes(const kni_plain_image *image, uint8_t *planes)
{
    int64_t size = image->width * image->height;
    for (int64_t y = 0; y < image->height; y++)
        for (int64_t x = 0; x < image->width; x++) {
            const uint8_t *pixel = image->top + y * image->row + x * image->pixel;
            uint8_t *to = planes + y * image->width + x;
            to[0] = pixel[image->red];
            to[size] = pixel[image->green];
            to[2 * size] = pixel[image->blue];
        }
}
