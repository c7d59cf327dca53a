/* Precision, recall and F-beta: true and false positives and false negatives of each class. */
#include "support/failure.h"
#include "train/metric_ratio.h"
#include "train/metric_scores.h"
#include <kn/elementwise.h>
#include <kn/sort.h>
#include <kn/tensor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tally {
    int64_t hits, false_positives, false_negatives;
} tally;

typedef struct confusion {
    kn_metric_type type;
    char name[48];
    kn_decision decision;
    /* value = (1 + beta2) tp / ((1 + beta2) tp + beta2 fn + fp); precision is beta2 = 0, recall has no fp. */
    double beta2;
    bool recall;
    int64_t classes;
    tally *sums, *step; /* of the epoch and of the latest step */
} confusion;

static double score(const confusion *m, const tally *t)
{
    double hits = (double)t->hits, above = m->recall ? hits : (1 + m->beta2) * hits;
    double below = m->recall ? hits + (double)t->false_negatives
                             : above + m->beta2 * (double)t->false_negatives + (double)t->false_positives;
    return below > 0 ? above / below : 0;
}

static double reduce(const confusion *m, const tally *tallies)
{
    tally all = {0};
    double sum = 0, present = 0;
    for (int64_t c = 0; c < m->classes; c++) {
        const tally *t = &tallies[c];
        all.hits += t->hits;
        all.false_positives += t->false_positives;
        all.false_negatives += t->false_negatives;
        if (t->hits + t->false_positives + t->false_negatives == 0) continue;
        sum += score(m, t);
        present++;
    }
    if (m->decision.reduction == KN_CLASS_MICRO) return score(m, &all);
    return present > 0 ? sum / present : 0;
}

/* Each of n rows names its class and the k classes that were chosen for it. */
static kn_status tally_choices(confusion *m, const kni_classes *c, int64_t k)
{
    if (k > c->count) k = c->count;
    int64_t *targets = kni_read_new(c->targets, KN_I64);
    int64_t *chosen = targets ? kni_read_new(kn_argtopk(c->scores, k, 1, NULL), KN_I64) : NULL;
    kn_status status = chosen ? KN_OK : KN_ERROR_HANDLE;
    for (int64_t i = 0; i < c->n && !status; i++) {
        int64_t target = targets[i];
        bool hit = false;
        if (target < 0 || target >= c->count) {
            status = kni_failure(KN_ERROR_INDEX, "metric %s: target %lld of %lld classes", m->name,
                                 (long long)target, (long long)c->count);
            break;
        }
        for (int64_t j = 0; j < k; j++) {
            int64_t choice = chosen[i * k + j];
            hit = hit || choice == target;
            if (choice != target) m->step[choice].false_positives++;
        }
        if (hit)
            m->step[target].hits++;
        else
            m->step[target].false_negatives++;
    }
    free(targets);
    free(chosen);
    return status;
}

/* Each of n rows has a label and a decision for each class. */
static kn_status tally_labels(confusion *m, const kni_classes *c)
{
    kn_tensor above = kn_greater_scalar(c->scores, m->decision.threshold);
    unsigned char *decisions = kni_read_new(above, KN_U8);
    unsigned char *labels = decisions ? kni_read_new(kn_not_equal_scalar(c->targets, 0), KN_U8) : NULL;
    kn_status status = labels ? KN_OK : KN_ERROR_HANDLE;
    for (int64_t i = 0; i < c->n * c->count && !status; i++) {
        tally *t = &m->step[i % c->count];
        t->hits += decisions[i] && labels[i];
        t->false_positives += decisions[i] && !labels[i];
        t->false_negatives += !decisions[i] && labels[i];
    }
    free(decisions);
    free(labels);
    return status;
}

static kn_status make_room(confusion *m, int64_t classes)
{
    if (m->classes == classes) return KN_OK;
    if (m->classes)
        return kni_failure(KN_ERROR_SHAPE, "metric %s: %lld classes, before there were %lld", m->name,
                           (long long)classes, (long long)m->classes);
    m->sums = calloc((size_t)classes, 2 * sizeof *m->sums);
    if (!m->sums) return kni_failure_memory("kn_metric_update");
    m->step = m->sums + classes;
    m->classes = classes;
    return KN_OK;
}

static kn_status confusion_update(void *self, const kn_step_output *output, const kn_metric_context *context,
                                  double *value, double *mean)
{
    (void)context;
    confusion *m = self;
    kni_classes c;
    kn_status status = kni_classes_of(output, m->name, &c);
    if (!status) status = make_room(m, c.count);
    if (status) return status;
    memset(m->step, 0, (size_t)m->classes * sizeof *m->step);
    int32_t k = m->decision.top_k;
    if (c.labelled && k > 0)
        return kni_failure(KN_ERROR_ARGUMENT, "metric %s: the k best classes want one target for each row",
                           m->name);
    status = c.labelled ? tally_labels(m, &c) : tally_choices(m, &c, k > 0 ? k : 1);
    if (status) return status;
    for (int64_t i = 0; i < m->classes; i++) {
        m->sums[i].hits += m->step[i].hits;
        m->sums[i].false_positives += m->step[i].false_positives;
        m->sums[i].false_negatives += m->step[i].false_negatives;
    }
    *value = reduce(m, m->step);
    *mean = reduce(m, m->sums);
    return KN_OK;
}

/* The number of classes may change from one epoch to the next. */
static void confusion_reset(void *self)
{
    confusion *m = self;
    free(m->sums);
    m->sums = m->step = NULL;
    m->classes = 0;
}

static void confusion_close(void *self)
{
    confusion_reset(self);
    free(self);
}

static kn_status confusion_save(void *self, kn_state state, const char *prefix)
{
    confusion *m = self;
    if (!m->classes) return KN_OK;
    return kn_state_put(state, prefix, "counts", kn_from(m->sums, KN_I64, KN_SHAPE(m->classes, 3)));
}

static kn_status confusion_load(void *self, kn_state state, const char *prefix)
{
    confusion *m = self;
    kn_tensor counts = kn_state_get(state, prefix, "counts");
    if (!counts.bits) return KN_OK;
    kn_shape shape = kn_shape_of_tensor(counts);
    if (shape.rank != 2 || shape.dims[1] != 3 || shape.dims[0] < 1)
        return kni_failure(KN_ERROR_SHAPE, "the state's counts of the metric %s have a wrong shape", m->name);
    kn_status status = make_room(m, shape.dims[0]);
    return status ? status : kn_read_as(counts, KN_I64, m->sums, (size_t)m->classes * sizeof *m->sums);
}

static kn_metric make_confusion(const char *name, double beta2, bool recall, const kn_decision *decision)
{
    confusion *m = calloc(1, sizeof *m);
    if (!m) {
        kni_failure_memory("kn_metric");
        return NULL;
    }
    if (decision) m->decision = *decision;
    double threshold = m->decision.threshold;
    m->decision.threshold = kn_real_or(threshold, 0.5);
    m->beta2 = beta2;
    m->recall = recall;
    char best[24] = "";
    if (m->decision.top_k > 1) snprintf(best, sizeof best, "_top_%d", (int)m->decision.top_k);
    snprintf(m->name, sizeof m->name, "%s%s%s", name, best,
             m->decision.reduction == KN_CLASS_MACRO ? "_macro" : "");
    m->type = (kn_metric_type){.name = m->name,
                               .higher_is_better = true,
                               .update = confusion_update,
                               .reset = confusion_reset,
                               .format = kni_metric_percent,
                               .close = confusion_close,
                               .save = confusion_save,
                               .load = confusion_load};
    return kn_metric_make(&m->type, m);
}

kn_metric kn_metric_precision(const kn_decision *decision)
{
    return make_confusion("precision", 0, false, decision);
}

kn_metric kn_metric_recall(const kn_decision *decision)
{
    return make_confusion("recall", 0, true, decision);
}

kn_metric kn_metric_f_beta(double beta, const kn_decision *decision)
{
    char name[32];
    if (!(beta > 0)) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_metric_f_beta: beta is %g; above 0", beta);
        return NULL;
    }
    snprintf(name, sizeof name, "f%g", beta);
    return make_confusion(name, beta * beta, false, decision);
}
