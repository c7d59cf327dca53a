/* Runs what resamples along one to three axes by a table of taps for each: interpolate, resample and their transposes. */
#ifndef KNI_BACKEND_CPU_RESAMPLE_DRIVE_H
#define KNI_BACKEND_CPU_RESAMPLE_DRIVE_H

#include "backend/host/host.h"

enum { KNI_RESAMPLED_AXES = 3 };

/* x is [planes, sx0, b0, sx1, b1, sx2, b2] and y the same with sy. */
typedef struct kni_resample_job {
    int64_t planes;
    int64_t sx[KNI_RESAMPLED_AXES], sy[KNI_RESAMPLED_AXES], between[KNI_RESAMPLED_AXES];
    int64_t width[KNI_RESAMPLED_AXES]; /* of an axis' table */
    /* Fills the table of an axis, [sy, width]: positions on x, -1 where there are fewer taps. */
    void (*fill)(const void *context, int axis, int64_t *positions, double *weights);
    const void *context;
    bool back;      /* operand 0 is dy, the result dx */
    bool nearest;   /* one tap, of weight 1: elements are moved, whatever their dtype */
    double outside; /* what elements without taps become */
} kni_resample_job;

kn_status kni_cpu_resample_planes(const kn_record *r, const kni_resample_job *job);

#endif
