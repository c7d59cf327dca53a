/* A grid of characters with styles, on which the dashboard is laid out; a screen or a test shows it. */
#ifndef KNI_TRAIN_RENDER_CANVAS_H
#define KNI_TRAIN_RENDER_CANVAS_H

#include "support/buffer.h"
#include <stdbool.h>
#include <stdint.h>

/* What a cell means; the screen has the colours. */
typedef enum kni_style {
    KNI_STYLE_NORMAL,
    KNI_STYLE_DIM,
    KNI_STYLE_BOLD,
    KNI_STYLE_FRAME,
    KNI_STYLE_HEADING,
    KNI_STYLE_TITLE, /* the bar on top */
    KNI_STYLE_TAB,   /* the chosen metric */
    KNI_STYLE_TRAIN,
    KNI_STYLE_VALID,
    KNI_STYLE_TEST,
    KNI_STYLE_GRID,
    KNI_STYLE_BAR,
    KNI_STYLE_BAR_REST,
    KNI_STYLE_KEY,
    KNI_STYLE_WARNING,
    KNI_STYLE_COUNT
} kni_style;

typedef struct kni_cell {
    uint32_t character; /* 0: the right half of a wide one */
    uint8_t style;
} kni_cell;

typedef struct kni_canvas {
    int width, height;
    bool utf8; /* else all characters are ASCII */
    kni_cell *cells;
    int64_t capacity;
} kni_canvas;

typedef struct kni_rect {
    int x, y, width, height;
} kni_rect;

/* Makes it blank in that size; false without memory (then it is empty). */
bool kni_canvas_reset(kni_canvas *canvas, int width, int height, bool utf8);
void kni_canvas_free(kni_canvas *canvas);
void kni_canvas_put(kni_canvas *canvas, int x, int y, kni_style style, uint32_t character);
/* The text in at most `room` columns, cut with "…"; returns the columns used. */
int kni_canvas_text(kni_canvas *canvas, int x, int y, int room, kni_style style, const char *text);
/* The same, ending in front of column `end`. */
void kni_canvas_right(kni_canvas *canvas, int end, int y, int room, kni_style style, const char *text);
int kni_canvas_format(kni_canvas *canvas, int x, int y, int room, kni_style style, const char *format, ...)
    __attribute__((format(printf, 6, 7)));
void kni_canvas_fill(kni_canvas *canvas, kni_rect rect, kni_style style, uint32_t character);
/* A frame with a title in its upper edge; what is inside is cleared. Returns the inside. */
kni_rect kni_canvas_box(kni_canvas *canvas, kni_rect rect, const char *title);
/* A bar of `part` (0 to 1) with eighths of a column. */
void kni_canvas_bar(kni_canvas *canvas, int x, int y, int width, double part);
/* Columns of a text. */
int kni_text_columns(const char *text);
/* The text of a row, without spaces at its end. */
void kni_canvas_row(const kni_canvas *canvas, int y, kni_buffer *out);

#endif
