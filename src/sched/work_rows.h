/* Rows that are more than a scalar body, taken apart into nodes by families. */
#ifndef KNI_SCHED_WORK_ROWS_H
#define KNI_SCHED_WORK_ROWS_H

#include "sched/work.h"

/* The value of a result in a frame of its shape, as a tensor of its dtype holds it. */
typedef uint16_t (*kni_work_row_fn)(kni_work *w, const kn_record *r, int result, uint16_t frame);

typedef struct kni_work_row {
    int op;
    kni_work_row_fn value;
} kni_work_row;

/* NULL: a row of another family. */
kni_work_row_fn kni_work_creation(int op);

#endif
