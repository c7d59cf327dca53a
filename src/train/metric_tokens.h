/* Sequences of token ids as metrics of text see them. */
#ifndef KNI_TRAIN_METRIC_TOKENS_H
#define KNI_TRAIN_METRIC_TOKENS_H

#include <kn/train/metric.h>

/* One sequence without padding. */
typedef struct kni_tokens {
    int64_t *ids;
    int64_t n;
} kni_tokens;

/* Is called for each sample with what was said and what should have been; may change both in place. */
typedef kn_status (*kni_tokens_fn)(void *context, kni_tokens said, kni_tokens wanted);
/* Reads the ids of a step and calls fn for each sample. */
kn_status kni_tokens_each(const kn_step_output *output, const char *name, int64_t pad, kni_tokens_fn fn,
                          void *context);
/* Insertions, removals and replacements that make b of a; -1 without memory. */
int64_t kni_tokens_distance(kni_tokens a, kni_tokens b);
/* The length of the longest common subsequence; -1 without memory. */
int64_t kni_tokens_common(kni_tokens a, kni_tokens b);

#endif
