/* Areas under curves, exact: all scores of an epoch are held and sorted, equal scores count together. */
#include "support/failure.h"
#include "train/metric_ratio.h"
#include "train/metric_scores.h"
#include <kn/elementwise.h>
#include <kn/shape.h>
#include <kn/tensor.h>
#include <stdlib.h>
#include <string.h>

typedef struct observation {
    double score, label; /* label: 0 or 1 */
} observation;

/* The area for n observations with falling scores, positives of them positive. */
typedef double (*area_fn)(const observation *sorted, int64_t n, int64_t positives);

typedef struct curve {
    kn_metric_type type;
    area_fn area;
    int64_t columns, n, capacity; /* observations of each column */
    observation *seen;            /* [n, columns] */
    observation *sorted;          /* room for one column */
    double mean;                  /* as of `measured` observations */
    int64_t measured;
} curve;

/* Falling; what is not a number comes last. */
static int falling(const void *left, const void *right)
{
    double a = ((const observation *)left)->score, b = ((const observation *)right)->score;
    if (a != a || b != b) return (a != a) - (b != b);
    return (a < b) - (a > b);
}

/* The end of the run of equal scores that begins at i, and the positives in it. */
static int64_t run_of_equals(const observation *sorted, int64_t n, int64_t i, int64_t *positives)
{
    int64_t end = i;
    *positives = 0;
    while (end < n && falling(&sorted[i], &sorted[end]) == 0) *positives += sorted[end++].label > 0;
    return end;
}

static double area_roc(const observation *sorted, int64_t n, int64_t positives)
{
    double area = 0, above = 0;
    for (int64_t i = 0, hits; i < n;) {
        int64_t end = run_of_equals(sorted, n, i, &hits);
        area += (double)(end - i - hits) * (above + (double)hits / 2);
        above += (double)hits;
        i = end;
    }
    return area / ((double)positives * (double)(n - positives));
}

static double area_precision(const observation *sorted, int64_t n, int64_t positives)
{
    double area = 0, above = 0;
    for (int64_t i = 0, hits; i < n;) {
        i = run_of_equals(sorted, n, i, &hits);
        above += (double)hits;
        area += (double)hits / (double)positives * (above / (double)i);
    }
    return area;
}

/* The mean over columns that have positives and negatives, of the observations from begin on. */
static double mean_area(curve *m, int64_t begin)
{
    double sum = 0, counted = 0;
    int64_t n = m->n - begin;
    for (int64_t column = 0; column < m->columns; column++) {
        int64_t positives = 0;
        for (int64_t i = 0; i < n; i++) {
            m->sorted[i] = m->seen[(begin + i) * m->columns + column];
            positives += m->sorted[i].label > 0;
        }
        if (positives == 0 || positives == n) continue;
        qsort(m->sorted, (size_t)n, sizeof *m->sorted, falling);
        sum += m->area(m->sorted, n, positives);
        counted++;
    }
    return counted > 0 ? sum / counted : (double)__builtin_nan("");
}

static kn_status reserve(curve *m, int64_t columns, int64_t extra)
{
    if (columns < 1) return kni_failure(KN_ERROR_SHAPE, "metric %s: the scores have 0 columns", m->type.name);
    if (m->n && columns != m->columns)
        return kni_failure(KN_ERROR_SHAPE, "metric %s: %lld columns of scores, before there were %lld",
                           m->type.name, (long long)columns, (long long)m->columns);
    if (m->n == 0 && columns != m->columns) {
        m->columns = columns;
        m->capacity = 0;
    }
    int64_t need = m->n + extra, room = m->capacity * 2 > need ? m->capacity * 2 : need;
    if (need <= m->capacity) return KN_OK;
    if (room > INT64_MAX / 64 / columns) return kni_failure_memory("kn_metric_update");
    observation *seen = realloc(m->seen, (size_t)(room * columns) * sizeof *seen);
    if (seen) m->seen = seen;
    observation *sorted = seen ? realloc(m->sorted, (size_t)room * sizeof *sorted) : NULL;
    if (!sorted) return kni_failure_memory("kn_metric_update");
    m->sorted = sorted;
    m->capacity = room;
    return KN_OK;
}

/* Two classes are one column: how far the second is above the first. Class numbers become labels of each column. */
static kn_status observe(curve *m, const kni_classes *c)
{
    bool pair = !c->labelled && c->count == 2;
    int64_t columns = pair ? 1 : c->count;
    kn_status status = reserve(m, columns, c->n);
    double *scores = status ? NULL : kni_read_new(c->scores, KN_F64);
    int64_t *targets = scores ? kni_read_new(c->targets, KN_I64) : NULL;
    if (!status && !targets) status = KN_ERROR_HANDLE;
    for (int64_t i = 0; i < c->n * columns && !status; i++) {
        int64_t row = i / columns, column = i % columns;
        bool label = c->labelled ? targets[i] != 0 : targets[row] == (pair ? 1 : column);
        double score = pair ? scores[2 * row + 1] - scores[2 * row] : scores[i];
        m->seen[m->n * columns + i] = (observation){score, label};
    }
    if (!status) m->n += c->n;
    free(scores);
    free(targets);
    return status;
}

static double curve_total(void *self)
{
    curve *m = self;
    if (m->n != m->measured || m->n == 0) m->mean = mean_area(m, 0);
    m->measured = m->n;
    return m->mean;
}

static kn_status curve_update(void *self, const kn_step_output *output, const kn_metric_context *context,
                              double *value, double *mean)
{
    (void)context;
    curve *m = self;
    kni_classes c;
    kn_status status = kni_classes_of(output, m->type.name, &c);
    int64_t before = m->n;
    if (!status) status = observe(m, &c);
    if (status) return status;
    *value = mean_area(m, before);
    /* Sorting all at each step would be quadratic: the running mean is renewed as the data grow by an eighth. */
    *mean = m->n - m->measured >= m->measured / 8 ? curve_total(m) : m->mean;
    return KN_OK;
}

static void curve_reset(void *self)
{
    curve *m = self;
    m->n = m->measured = 0;
    m->mean = (double)__builtin_nan("");
}

static void curve_close(void *self)
{
    curve *m = self;
    free(m->seen);
    free(m->sorted);
    free(m);
}

static kn_status curve_save(void *self, kn_state state, const char *prefix)
{
    curve *m = self;
    kn_status status = kn_state_put_int(state, prefix, "measured", m->measured);
    if (!status) status = kn_state_put_real(state, prefix, "area", m->mean);
    if (status || !m->n) return status;
    return kn_state_put(state, prefix, "seen", kn_from(m->seen, KN_F64, KN_SHAPE(m->n, m->columns, 2)));
}

static kn_status curve_load(void *self, kn_state state, const char *prefix)
{
    curve *m = self;
    int64_t measured = 0;
    double mean = 0;
    kn_tensor seen = kn_state_get(state, prefix, "seen");
    kn_shape shape = seen.bits ? kn_shape_of_tensor(seen) : (kn_shape){0};
    if (!kn_state_get_int(state, prefix, "measured", &measured) ||
        !kn_state_get_real(state, prefix, "area", &mean) ||
        (seen.bits && (shape.rank != 3 || shape.dims[1] < 1 || shape.dims[2] != 2)))
        return kni_failure(KN_ERROR_ARGUMENT, "the state has no whole metric %s", m->type.name);
    if (seen.bits) {
        kn_status status = reserve(m, shape.dims[1], shape.dims[0]);
        if (!status) status = kn_read_as(seen, KN_F64, m->seen, (size_t)kn_count(seen) * sizeof(double));
        if (status) return status;
        m->n = shape.dims[0];
    }
    m->measured = measured;
    m->mean = mean;
    return KN_OK;
}

static kn_metric make_curve(const char *name, area_fn area)
{
    curve *m = calloc(1, sizeof *m);
    if (!m) {
        kni_failure_memory("kn_metric");
        return NULL;
    }
    m->area = area;
    curve_reset(m);
    m->type = (kn_metric_type){.name = name,
                               .higher_is_better = true,
                               .update = curve_update,
                               .reset = curve_reset,
                               .format = kni_metric_percent,
                               .close = curve_close,
                               .save = curve_save,
                               .load = curve_load,
                               .total = curve_total};
    return kn_metric_make(&m->type, m);
}

kn_metric kn_metric_auroc(void) { return make_curve("auroc", area_roc); }
kn_metric kn_metric_auc_pr(void) { return make_curve("auc_pr", area_precision); }
