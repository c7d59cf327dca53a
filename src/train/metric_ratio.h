/* Most metrics are a ratio of two sums: hits over samples, edits over length. A row tells how a step measures both. */
#ifndef KNI_TRAIN_METRIC_RATIO_H
#define KNI_TRAIN_METRIC_RATIO_H

#include <kn/train/metric.h>

typedef struct kni_ratio kni_ratio;

typedef enum kni_ratio_text { KNI_RATIO_PLAIN, KNI_RATIO_PERCENT } kni_ratio_text;

typedef struct kni_ratio_kind {
    const char *name;
    bool higher_is_better;
    bool latest; /* the value of an epoch is that of its last step */
    kni_ratio_text text;
    const char *unit; /* behind the number, NULL: none */
    bool
        may_be_unknown; /* a NaN says that the step did not measure it and adds nothing; else it makes the epoch NaN */
    /* What the step adds to both sums. */
    kn_status (*measure)(kni_ratio *r, const kn_step_output *output, const kn_metric_context *context,
                         double *numerator, double *denominator);
    double (*finish)(double ratio); /* of the quotient, NULL: itself */
} kni_ratio_kind;

struct kni_ratio {
    kn_metric_type type;
    const kni_ratio_kind *kind;
    char name[48];
    double real; /* settings of the kind */
    int64_t integers[2];
    double numerator, denominator;
    double sample[3]; /* what metrics of the system remember between samples */
};

/* real and the integers go to the settings; name NULL: the kind's. */
kn_metric kni_ratio_make(const kni_ratio_kind *kind, const char *name, double real, int64_t first,
                         int64_t second);

/* The text of a value: as a percentage, or with four digits and a unit. */
size_t kni_metric_text(double value, kni_ratio_text text, const char *unit, char *buffer, size_t n);
/* kn_metric_type.format of parts of a whole. */
size_t kni_metric_percent(void *self, double value, char *buffer, size_t n);

#endif
