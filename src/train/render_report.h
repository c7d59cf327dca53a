/* The parts of the HTML report. */
#ifndef KNI_TRAIN_RENDER_REPORT_H
#define KNI_TRAIN_RENDER_REPORT_H

#include "support/buffer.h"
#include "train/render_record.h"

/* A text in HTML: markup is escaped, controls and what is not UTF-8 are replaced. */
void kni_html_text(kni_buffer *out, const char *text);
/* The plot of a metric as inline SVG; its colours are classes of the page's style. */
void kni_report_svg(kni_buffer *out, const kni_record_metric *metric);
/* The whole page. end: NULL while the run goes on. */
void kni_report_page(kni_buffer *out, const kni_record *record, bool running);

/* The curves as a block of JSON in the page, and back: what an earlier part of the run drew up to the record's first step. A page
   that is damaged or is none changes nothing. */
void kni_report_data_write(kni_buffer *out, const kni_record *record);
/* Takes over what the page tells of the run up to the step; in an evaluation also how the training ended. */
void kni_report_data_read(kni_record *record, const char *page, size_t bytes, double step, const char *name);

#endif
