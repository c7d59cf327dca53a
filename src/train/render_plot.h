/* Curves on a canvas: braille dots (2 x 4 in a cell) or ASCII, with axes, ticks and a grid. */
#ifndef KNI_TRAIN_RENDER_PLOT_H
#define KNI_TRAIN_RENDER_PLOT_H

#include "train/render_canvas.h"
#include "train/render_record.h"

enum { KNI_PLOT_SERIES = 6 };

typedef struct kni_series {
    const kni_point *points;
    int64_t count;
    kni_style style;
    bool marked; /* each point has a mark, where there is room */
} kni_series;

typedef struct kni_plot {
    kni_series series[KNI_PLOT_SERIES]; /* later ones lie above */
    int count;
    double x_low, x_high; /* equal: from the points */
    bool logarithmic;     /* the y axis, where all values are above 0 */
} kni_plot;

void kni_plot_draw(kni_canvas *canvas, kni_rect rect, const kni_plot *plot);
/* The curve in `columns` characters of eight heights. */
void kni_sparkline(kni_buffer *out, const kni_point *points, int64_t count, int columns, bool utf8);

#endif
