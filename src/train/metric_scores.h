/* Class scores and targets of a step in one shape, and reading tensors into memory. */
#ifndef KNI_TRAIN_METRIC_SCORES_H
#define KNI_TRAIN_METRIC_SCORES_H

#include <kn/train/metric.h>

typedef struct kni_classes {
    kn_tensor scores;  /* [n, classes], kept */
    kn_tensor targets; /* i64 [n], or i64 [n, classes] where labelled; kept */
    bool labelled;     /* targets are 0 or 1 for each class */
    int64_t n, count;  /* rows, classes */
} kni_classes;
/* Brings them into that shape; name is the metric's, for messages. scores of one number per target are labelled. */
kn_status kni_classes_of(const kn_step_output *output, const char *name, kni_classes *classes);

/* Reads a tensor into new memory: kn_count elements of dtype. The caller frees it; NULL with kn_last_error(). */
void *kni_read_new(kn_tensor t, kn_dtype dtype);

#endif
