/* The grid of characters: texts that never leave it or steer the terminal, boxes, bars. */
#include "train/render_canvas.h"
#include "train/render_format.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_SIDE = 1000, ELLIPSIS = 0x2026, SPACE = ' ' };

bool kni_canvas_reset(kni_canvas *canvas, int width, int height, bool utf8)
{
    width = width < 0 ? 0 : width > MAX_SIDE ? MAX_SIDE : width;
    height = height < 0 ? 0 : height > MAX_SIDE ? MAX_SIDE : height;
    int64_t count = (int64_t)width * height;
    if (count > canvas->capacity) {
        kni_cell *cells = realloc(canvas->cells, (size_t)count * sizeof *cells);
        if (!cells) {
            canvas->width = canvas->height = 0;
            return false;
        }
        canvas->cells = cells;
        canvas->capacity = count;
    }
    canvas->width = width;
    canvas->height = height;
    canvas->utf8 = utf8;
    for (int64_t i = 0; i < count; i++) canvas->cells[i] = (kni_cell){SPACE, KNI_STYLE_NORMAL};
    return true;
}

void kni_canvas_free(kni_canvas *canvas)
{
    free(canvas->cells);
    *canvas = (kni_canvas){0};
}

void kni_canvas_put(kni_canvas *canvas, int x, int y, kni_style style, uint32_t character)
{
    if (x < 0 || y < 0 || x >= canvas->width || y >= canvas->height) return;
    if (!canvas->utf8 && character > 0x7E) character = (uint32_t)(unsigned char)kni_ascii_of(character);
    canvas->cells[(int64_t)y * canvas->width + x] = (kni_cell){character, (uint8_t)style};
}

int kni_text_columns(const char *text)
{
    int columns = 0;
    for (uint32_t c; (c = kni_utf8_next(&text)) != 0;) columns += kni_utf8_columns(c);
    return columns;
}

/* The columns of the words that fit into room; room itself where the last word is longer than half of it. */
static int whole_words(const char *text, int room)
{
    int used = 0, end = 0;
    for (uint32_t c; (c = kni_utf8_next(&text)) != 0;) {
        if (used > room) break;
        if (c == SPACE) end = used;
        used += kni_utf8_columns(c);
    }
    return end > room / 2 ? end : room;
}

int kni_canvas_text(kni_canvas *canvas, int x, int y, int room, kni_style style, const char *text)
{
    if (x < 0 || y < 0 || y >= canvas->height) return 0;
    if (room > canvas->width - x) room = canvas->width - x;
    if (room <= 0) return 0;
    bool cut = kni_text_columns(text) > room;
    int used = 0, end = cut ? whole_words(text, room - 1) : room;
    for (uint32_t c; (c = kni_utf8_next(&text)) != 0;) {
        int columns = kni_utf8_columns(c);
        if (columns == 0) continue;
        if (used + columns > end) break;
        kni_canvas_put(canvas, x + used, y, style, c);
        if (columns == 2) kni_canvas_put(canvas, x + used + 1, y, style, canvas->utf8 ? 0 : SPACE);
        used += columns;
    }
    if (cut) kni_canvas_put(canvas, x + used++, y, style, ELLIPSIS);
    return used;
}

void kni_canvas_right(kni_canvas *canvas, int end, int y, int room, kni_style style, const char *text)
{
    int columns = kni_text_columns(text);
    if (columns > room) columns = room;
    kni_canvas_text(canvas, end - columns, y, columns, style, text);
}

int kni_canvas_format(kni_canvas *canvas, int x, int y, int room, kni_style style, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return length < 0 ? 0 : kni_canvas_text(canvas, x, y, room, style, text);
}

void kni_canvas_fill(kni_canvas *canvas, kni_rect rect, kni_style style, uint32_t character)
{
    for (int y = rect.y; y < rect.y + rect.height; y++)
        for (int x = rect.x; x < rect.x + rect.width; x++) kni_canvas_put(canvas, x, y, style, character);
}

kni_rect kni_canvas_box(kni_canvas *canvas, kni_rect rect, const char *title)
{
    kni_rect inside = {rect.x + 1, rect.y + 1, rect.width - 2, rect.height - 2};
    if (inside.width < 0 || inside.height < 0) return (kni_rect){rect.x, rect.y, 0, 0};
    int right = rect.x + rect.width - 1, bottom = rect.y + rect.height - 1;
    kni_canvas_fill(canvas, inside, KNI_STYLE_NORMAL, SPACE);
    for (int x = rect.x; x <= right; x++) {
        kni_canvas_put(canvas, x, rect.y, KNI_STYLE_FRAME, 0x2500);
        kni_canvas_put(canvas, x, bottom, KNI_STYLE_FRAME, 0x2500);
    }
    for (int y = rect.y; y <= bottom; y++) {
        kni_canvas_put(canvas, rect.x, y, KNI_STYLE_FRAME, 0x2502);
        kni_canvas_put(canvas, right, y, KNI_STYLE_FRAME, 0x2502);
    }
    kni_canvas_put(canvas, rect.x, rect.y, KNI_STYLE_FRAME, 0x256D);
    kni_canvas_put(canvas, right, rect.y, KNI_STYLE_FRAME, 0x256E);
    kni_canvas_put(canvas, rect.x, bottom, KNI_STYLE_FRAME, 0x2570);
    kni_canvas_put(canvas, right, bottom, KNI_STYLE_FRAME, 0x256F);
    if (title && *title && rect.width > 6) {
        int used = kni_canvas_text(canvas, rect.x + 3, rect.y, rect.width - 6, KNI_STYLE_HEADING, title);
        kni_canvas_put(canvas, rect.x + 2, rect.y, KNI_STYLE_FRAME, SPACE);
        kni_canvas_put(canvas, rect.x + 3 + used, rect.y, KNI_STYLE_FRAME, SPACE);
    }
    return inside;
}

void kni_canvas_bar(kni_canvas *canvas, int x, int y, int width, double part)
{
    part = part > 1 ? 1 : part > 0 ? part : 0;
    int halves = (int)(part * 2 * width + 0.5);
    /* Heavy and light lines: thin bars look the same in all fonts, which blocks do not. */
    for (int i = 0; i < width; i++) {
        bool full = halves >= 2 * i + 2, half = halves == 2 * i + 1;
        uint32_t c = full ? 0x2501 : half ? 0x2578 : 0x2500;
        if (!canvas->utf8) c = full ? '#' : half ? '>' : '.';
        kni_canvas_put(canvas, x + i, y, full || half ? KNI_STYLE_BAR : KNI_STYLE_BAR_REST, c);
    }
}

void kni_canvas_row(const kni_canvas *canvas, int y, kni_buffer *out)
{
    if (y < 0 || y >= canvas->height) return;
    const kni_cell *row = canvas->cells + (int64_t)y * canvas->width;
    int end = canvas->width;
    while (end > 0 && row[end - 1].character == SPACE) end--;
    for (int x = 0; x < end; x++)
        if (row[x].character) kni_utf8_append(out, row[x].character);
}
