/* The table of a run's metrics with sparklines, as it stays on the screen at the end. */
#ifndef KNI_TRAIN_RENDER_SUMMARY_H
#define KNI_TRAIN_RENDER_SUMMARY_H

#include "support/buffer.h"
#include "train/render_record.h"

typedef struct kni_summary_style {
    bool utf8, colours;
    int columns; /* of the terminal */
} kni_summary_style;

/* Lines that end with a newline each: how the run ended, then a row for each metric and split. */
void kni_summary_write(kni_buffer *out, const kni_record *record, kn_run_end end, kni_summary_style style);
/* What a terminal behind the descriptor can show. */
kni_summary_style kni_summary_style_of(int descriptor);
/* A text as it may go to a terminal: no controls, ASCII where it must be. */
void kni_summary_text(kni_buffer *out, const char *text, bool utf8);

#endif
