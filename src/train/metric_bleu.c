/* BLEU of a whole corpus: matches and totals of n-grams, and lengths, are summed over the samples. */
#include "support/failure.h"
#include "support/scalar_math.h"
#include "train/metric_ratio.h"
#include "train/metric_tokens.h"
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ORDER = 16, COUNTS = 2 * MAX_ORDER + 2 };

/* matches of each order, totals of each order, length said, length wanted. */
typedef struct counts {
    int64_t at[COUNTS];
} counts;

typedef struct bleu {
    kn_metric_type type;
    int32_t max_order;
    bool smooth;
    int64_t pad;
    counts sums, step;
} bleu;

static int rising(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* The number of values in both sorted lists, each counted as often as in the list that has fewer. */
static int64_t shared(const uint64_t *a, int64_t n, const uint64_t *b, int64_t m)
{
    int64_t found = 0;
    for (int64_t i = 0, j = 0; i < n && j < m;) {
        found += a[i] == b[j];
        bool forward_a = a[i] <= b[j], forward_b = b[j] <= a[i];
        i += forward_a;
        j += forward_b;
    }
    return found;
}

/* The place of key among n sorted values. */
static uint64_t rank_of(const uint64_t *sorted, int64_t n, uint64_t key)
{
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (sorted[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return (uint64_t)low;
}

/* Replaces each of n keys by its rank, so that equal n-grams have equal numbers below 2^32. */
static void rank_all(uint64_t *keys, uint64_t *room, int64_t n)
{
    if (n == 0) return;
    memcpy(room, keys, (size_t)n * sizeof *room);
    qsort(room, (size_t)n, sizeof *room, rising);
    for (int64_t i = 0; i < n; i++) keys[i] = rank_of(room, n, keys[i]);
}

/* words: ranks of single tokens, said then wanted; grams: ranks of n-grams that begin there, made longer by one. */
static void count_orders(const bleu *m, counts *c, int64_t said, int64_t wanted, const uint64_t *words,
                         uint64_t *grams, uint64_t *room)
{
    int64_t n = said + wanted;
    memcpy(grams, words, (size_t)n * sizeof *grams);
    for (int32_t order = 1; order <= m->max_order; order++) {
        int64_t a = said - order + 1, b = wanted - order + 1;
        if (a < 1) break;
        if (b < 0) b = 0;
        c->at[MAX_ORDER + order - 1] += a;
        memcpy(room, grams, (size_t)a * sizeof *room);
        memcpy(room + a, grams + said, (size_t)b * sizeof *room);
        qsort(room, (size_t)a, sizeof *room, rising);
        qsort(room + a, (size_t)b, sizeof *room, rising);
        c->at[order - 1] += shared(room, a, room + a, b);
        for (int64_t i = 0; i + 1 < a; i++) grams[i] = grams[i] << 32 | words[i + order];
        for (int64_t i = 0; i + 1 < b; i++) grams[said + i] = grams[said + i] << 32 | words[said + i + order];
        rank_all(grams, room, n);
    }
}

static kn_status count_sample(void *context, kni_tokens said, kni_tokens wanted)
{
    bleu *m = context;
    int64_t n = said.n + wanted.n;
    if (n > INT32_MAX) return kni_failure(KN_ERROR_SHAPE, "metric bleu: a sample has 2^31 tokens or more");
    uint64_t *all = malloc((size_t)(3 * n + 1) * sizeof *all);
    if (!all) return kni_failure_memory("kn_metric_update");
    for (int64_t i = 0; i < n; i++) all[i] = (uint64_t)(i < said.n ? said.ids[i] : wanted.ids[i - said.n]);
    rank_all(all, all + n, n);
    count_orders(m, &m->step, said.n, wanted.n, all, all + n, all + 2 * n);
    free(all);
    m->step.at[2 * MAX_ORDER] += said.n;
    m->step.at[2 * MAX_ORDER + 1] += wanted.n;
    return KN_OK;
}

/* BLEU = min(1, e^(1 - wanted / said)) times the geometric mean of matches / totals. */
static double bleu_of(const bleu *m, const counts *c)
{
    double said = (double)c->at[2 * MAX_ORDER], wanted = (double)c->at[2 * MAX_ORDER + 1], sum = 0;
    for (int32_t i = 0; i < m->max_order; i++) {
        double more = m->smooth && i > 0, matches = (double)c->at[i] + more,
               total = (double)c->at[MAX_ORDER + i] + more;
        if (matches == 0 || total == 0) return 0;
        sum += kni_ln(matches / total);
    }
    double brevity = said < wanted ? 1 - wanted / said : 0;
    return kni_exp(sum / m->max_order + brevity);
}

static kn_status bleu_update(void *self, const kn_step_output *output, const kn_metric_context *context,
                             double *value, double *mean)
{
    (void)context;
    bleu *m = self;
    memset(&m->step, 0, sizeof m->step);
    kn_status status = kni_tokens_each(output, m->type.name, m->pad, count_sample, m);
    if (status) return status;
    for (int i = 0; i < COUNTS; i++) m->sums.at[i] += m->step.at[i];
    *value = bleu_of(m, &m->step);
    *mean = bleu_of(m, &m->sums);
    return KN_OK;
}

static void bleu_reset(void *self) { memset(&((bleu *)self)->sums, 0, sizeof(counts)); }

static kn_status bleu_save(void *self, kn_state state, const char *prefix)
{
    return kn_state_put(state, prefix, "counts", kn_from(((bleu *)self)->sums.at, KN_I64, KN_SHAPE(COUNTS)));
}

static kn_status bleu_load(void *self, kn_state state, const char *prefix)
{
    kn_tensor t = kn_state_get(state, prefix, "counts");
    if (!t.bits || kn_count(t) != COUNTS)
        return kni_failure(KN_ERROR_ARGUMENT, "the state has no sums of the metric bleu");
    return kn_read_as(t, KN_I64, ((bleu *)self)->sums.at, sizeof(counts));
}

kn_metric kn_metric_bleu(int32_t max_order, int64_t pad, bool smooth)
{
    if (max_order == 0) max_order = 4;
    if (max_order < 1 || max_order > MAX_ORDER) {
        kni_failure(KN_ERROR_ARGUMENT, "kn_metric_bleu: max_order is %d; 1 to %d", (int)max_order, MAX_ORDER);
        return NULL;
    }
    bleu *m = calloc(1, sizeof *m);
    if (!m) {
        kni_failure_memory("kn_metric_bleu");
        return NULL;
    }
    m->max_order = max_order;
    m->smooth = smooth;
    m->pad = pad;
    m->type = (kn_metric_type){.name = "bleu",
                               .higher_is_better = true,
                               .update = bleu_update,
                               .reset = bleu_reset,
                               .format = kni_metric_percent,
                               .close = free,
                               .save = bleu_save,
                               .load = bleu_load};
    return kn_metric_make(&m->type, m);
}
