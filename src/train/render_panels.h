/* The parts of the dashboard around the plot. */
#ifndef KNI_TRAIN_RENDER_PANELS_H
#define KNI_TRAIN_RENDER_PANELS_H

#include "train/render_view.h"

/* A table of all metrics and the facts of the run. */
void kni_panel_side(kni_canvas *canvas, kni_rect rect, const kni_record *record, int32_t chosen);
/* Text metrics and the newest messages. */
void kni_panel_messages(kni_canvas *canvas, kni_rect rect, const kni_record *record, int64_t *scroll);
/* One bar for the run, or two with the epoch's. */
void kni_panel_progress(kni_canvas *canvas, int y, int rows, const kni_record *record);
void kni_panel_status(kni_canvas *canvas, int y, const kni_record *record);
void kni_panel_keys(kni_canvas *canvas, int y, const kni_view *view);

#endif
