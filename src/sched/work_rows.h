/* Rows that are more than elementwise, taken apart into nodes by their bodies. */
#ifndef KNI_SCHED_WORK_ROWS_H
#define KNI_SCHED_WORK_ROWS_H

#include "sched/work.h"

/* A result of a row that has a body and is more than elementwise, in a frame of its shape, as a tensor of its dtype holds it. */
uint16_t kni_work_body_value(kni_work *w, const kn_record *r, int result, uint16_t frame);

/* The frame of an operand of shape `x` whose axes `reduced` make up the places of a row; fails where it does not agree
   with the rows and places of the work. */
uint16_t kni_work_row_frame(kni_work *w, const kni_type *x, uint32_t reduced);
/* Whether values are asked for one by one of the rows (else a failure), or at each place of them. */
bool kni_work_is_row(kni_work *w, uint16_t frame);
bool kni_work_is_element(kni_work *w, uint16_t frame, const kni_type *x, uint32_t reduced);
/* The same with the line of the record's row. */
uint16_t kni_work_line_frame(kni_work *w, const kn_record *r);
bool kni_work_is_line_element(kni_work *w, uint16_t frame, const kn_record *r);
/* The id of operand i, KNI_NO_SLOT where it is absent. */
static inline uint32_t kni_work_in(const kn_record *r, int i)
{
    return i < r->n_in ? r->ids[r->n_out + i] : KNI_NO_SLOT;
}
/* The nodes of the numbers that a record's body computes with. Records of one row with the same attributes share them, so that
   many updates fit one launch. */
void kni_work_take_numbers(kni_work *w, const kn_record *r, int compute, uint16_t *nodes);
/* The sum of a over the row, divided by its width. */
uint16_t kni_work_mean(kni_work *w, uint16_t a);

#endif
