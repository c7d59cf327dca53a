/* The dashboard as a picture: a record and what the user chose, laid out on a canvas of any size. */
#ifndef KNI_TRAIN_RENDER_VIEW_H
#define KNI_TRAIN_RENDER_VIEW_H

#include "train/render_canvas.h"
#include "train/render_record.h"

typedef enum kni_popup { KNI_POPUP_NONE, KNI_POPUP_HELP, KNI_POPUP_QUIT } kni_popup;

/* What the user chose and what the run is doing. */
typedef struct kni_view {
    int32_t metric;
    bool recent;      /* the newest steps instead of all */
    bool logarithmic; /* the y axis */
    bool smooth;      /* the curve of train as a moving mean */
    int64_t scroll;   /* lines of the text panel, up from the newest */
    kni_popup popup;
    bool stopping, finished;
    kn_run_end end;
    kni_point points[KNI_TRAIL_POINTS + 1],
        smoothed[KNI_TRAIL_POINTS + 1]; /* room for the curve that is drawn */
} kni_view;

/* The scroll is brought back into what there is. */
void kni_view_draw(kni_canvas *canvas, const kni_record *record, kni_view *view);
/* The popup on top of what is drawn. */
void kni_view_popup(kni_canvas *canvas, kni_popup popup);

#endif
