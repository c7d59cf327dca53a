/* Results of convolutions that became NaN only because padding was multiplied. Finite data costs one look at the
   weights (dy for a weight gradient) or the results, whichever are fewer. */
#include "backend/cpu/conv_padding.h"
#include "backend/cpu/conv_pack.h"
#include "core/dtype.h"
#include "core/made_forms.h"
#include "core/thread_pool.h"

enum {
    CHUNK = 64,            /* elements that are converted at a time */
    PLACE_CHUNK = 2048,    /* elements that are looked at where they lie at a time */
    TEAM_RESULTS = 1 << 14 /* below this the caller looks at all results */
};

/* ---- what each result sums over */

enum { BETWEEN = -1, OUTSIDE = -2 };

/* The element of x that a tap of a result (of dy for a weight gradient) reads along an axis. BETWEEN: a transposed
   convolution has none there and no native kernel multiplies one. */
static int64_t source_of(const kni_conv_axis *a, bool transposed, int64_t result, int64_t tap)
{
    int64_t at = transposed ? result + a->padding - tap * a->dilation
                            : result * a->stride + tap * a->dilation - a->padding;
    if (transposed && at % a->stride) return BETWEEN;
    if (transposed) at /= a->stride;
    return at >= 0 && at < a->source ? at : OUTSIDE;
}

/* The pairs along one axis that lie inside: element x + i x_step with element w + i w_step of the weights or dy. */
typedef struct {
    int64_t count, x, x_step, w, w_step;
    bool outside; /* there are pairs outside */
} span;

static void add_pair(span *s, int64_t x, int64_t w)
{
    s->outside |= x == OUTSIDE;
    if (x < 0) return;
    if (s->count == 0) {
        s->x = x;
        s->w = w;
    } else if (s->count == 1) {
        s->x_step = x - s->x;
        s->w_step = w - s->w;
    }
    s->count++;
}

static span taps_of_result(const kni_conv_plan *p, int axis, int64_t result)
{
    span s = {0};
    for (int64_t t = 0; t < p->axes[axis].taps; t++)
        add_pair(&s, source_of(&p->axes[axis], p->transposed, result, t), t);
    return s;
}

static span results_of_tap(const kni_conv_plan *p, int axis, int64_t tap)
{
    span s = {0};
    for (int64_t i = 0; i < p->axes[axis].target; i++)
        add_pair(&s, source_of(&p->axes[axis], false, i, tap), i);
    return s;
}

static bool has_padding(const kni_conv_plan *p)
{
    for (int i = 0; i < KNI_CONV_AXES; i++) {
        const kni_conv_axis *a = &p->axes[i];
        const int64_t reach = (a->taps - 1) * a->dilation;
        const int64_t low = p->transposed ? a->padding - reach : -a->padding;
        const int64_t high = p->transposed ? (a->target - 1 + a->padding) / a->stride
                                           : (a->target - 1) * a->stride + reach - a->padding;
        if (low < 0 || high >= a->source) return true;
    }
    return false;
}

/* ---- elements */

static bool is_nan(double x) { return x != x; }

/* infinity - infinity is NaN. */
#define LOOK(type)                                                                                           \
    for (int i = 0; i < now; i++)                                                                            \
        found |= or_infinite ? ((const type *)values)[i] - ((const type *)values)[i] != 0                    \
                             : ((const type *)values)[i] != ((const type *)values)[i];

/* Whether elements are NaN, or infinite too. Contiguous ones of f32 are looked at where they lie. */
static bool any_nan(const char *from, int dtype, int bytes, int64_t step, int64_t n, bool or_infinite)
{
    double converted[CHUNK];
    const bool in_place = dtype == KN_F32 && step == 1;
    const int64_t chunk = in_place ? PLACE_CHUNK : CHUNK;
    for (int64_t done = 0; done < n; done += chunk) {
        const int now = (int)(n - done < chunk ? n - done : chunk);
        const void *values = in_place ? (const void *)(from + done * bytes) : converted;
        int found = 0;
        if (in_place) {
            LOOK(float)
        } else {
            kni_convert(converted, KN_F64, 1, from + done * step * bytes, dtype, step, now);
            LOOK(double)
        }
        if (found) return true;
    }
    return false;
}

/* total + the sum over i of x[i x_step] w[i w_step] */
static double add_products(double total, const kni_conv_tensor *x, int64_t x_at, int64_t x_step,
                           const kni_conv_tensor *w, int64_t w_at, int64_t w_step, int64_t n)
{
    double xs[CHUNK], ws[CHUNK];
    for (int64_t done = 0; done < n && !is_nan(total); done += CHUNK) {
        const int64_t now = n - done < CHUNK ? n - done : CHUNK;
        kni_convert(xs, KN_F64, 1, x->data + (x_at + done * x_step) * x->bytes, x->dtype, x_step, now);
        kni_convert(ws, KN_F64, 1, w->data + (w_at + done * w_step) * w->bytes, w->dtype, w_step, now);
        for (int64_t i = 0; i < now; i++) total += xs[i] * ws[i];
    }
    return total;
}

/* total + the sum over all pairs of one channel; ends early when it is NaN, which nothing mends. x_at, w_at: where
   the channels begin. */
static double add_channel(double total, const kni_conv_tensor *x, int64_t x_at, const kni_conv_tensor *w,
                          int64_t w_at, const span s[KNI_CONV_AXES])
{
    for (int64_t i = 0; i < s[0].count; i++)
        for (int64_t j = 0; j < s[1].count && !is_nan(total); j++) {
            const int64_t from_x = x_at + (s[0].x + i * s[0].x_step) * x->sizes[0] +
                                   (s[1].x + j * s[1].x_step) * x->sizes[1] + s[2].x * x->sizes[2];
            const int64_t from_w = w_at + (s[0].w + i * s[0].w_step) * w->sizes[0] +
                                   (s[1].w + j * s[1].w_step) * w->sizes[1] + s[2].w * w->sizes[2];
            total = add_products(total, x, from_x, s[2].x_step * x->sizes[2], w, from_w,
                                 s[2].w_step * w->sizes[2], s[2].count);
        }
    return total;
}

static void run(int64_t results, int64_t tasks, void (*fn)(void *argument, int64_t task, int worker),
                void *argument)
{
    if (results >= TEAM_RESULTS)
        kni_parallel_for(tasks, fn, argument);
    else
        for (int64_t i = 0; i < tasks; i++) fn(argument, i, 0);
}

/* ---- convolutions and transposed ones */

typedef struct {
    const kni_conv_plan *plan;
    const kni_conv_tensor *x, *y;
    kni_conv_tensor w; /* batch: from one result channel to the next */
    const char *bias;
    int64_t inner[2]; /* results inner[0] .. inner[1] - 1 along the last axis have no tap outside of it */
} mend_job;

static void find_inner(mend_job *job)
{
    const int64_t size = job->plan->axes[2].target;
    job->inner[0] = 0;
    job->inner[1] = size;
    for (int64_t i = 0; i < size / 2; i++)
        if (taps_of_result(job->plan, 2, i).outside) job->inner[0] = i + 1;
    for (int64_t i = size - 1; i >= size / 2; i--)
        if (taps_of_result(job->plan, 2, i).outside) job->inner[1] = i;
}

/* The result of channel o of image n with these taps. */
static double sum_again(const mend_job *job, int64_t n, int64_t o, const span s[KNI_CONV_AXES])
{
    const kni_conv_plan *p = job->plan;
    const kni_conv_tensor *x = job->x, *w = &job->w;
    const int64_t group = o / p->outs, of_group = group * p->channels * p->outs * kni_conv_taps(p);
    double total = 0, add = 0;
    for (int64_t c = 0; c < p->channels && !is_nan(total); c++)
        total = add_channel(total, x, n * x->batch + (group * p->channels + c) * x->channel, w,
                            of_group + o % p->outs * w->batch + c * w->channel, s);
    if (job->bias) kni_convert(&add, KN_F64, 1, job->bias + o * w->bytes, w->dtype, 1, 1);
    return total + add;
}

/* Results first .. last - 1 of a row. */
static void mend_row(const mend_job *job, int64_t n, int64_t o, span s[KNI_CONV_AXES], char *row,
                     int64_t first, int64_t last)
{
    const int dtype = job->y->dtype, bytes = job->y->bytes;
    double values[CHUNK];
    for (int64_t at = first; at < last; at += CHUNK) {
        const int64_t now = last - at < CHUNK ? last - at : CHUNK;
        kni_convert(values, KN_F64, 1, row + at * bytes, dtype, 1, now);
        for (int64_t i = 0; i < now; i++) {
            if (!is_nan(values[i])) continue;
            s[2] = taps_of_result(job->plan, 2, at + i);
            const double value = sum_again(job, n, o, s);
            if (!is_nan(value)) kni_convert(row + (at + i) * bytes, dtype, 1, &value, KN_F64, 1, 1);
        }
    }
}

/* One channel of one image. */
static void mend_task(void *argument, int64_t task, int worker)
{
    const mend_job *job = argument;
    const kni_conv_plan *p = job->plan;
    const kni_conv_axis *a = p->axes;
    const int64_t channels = p->groups * p->outs, n = task / channels, o = task % channels;
    const int64_t row = a[2].target * job->y->bytes;
    char *y = job->y->data + task * a[0].target * a[1].target * row;
    span s[KNI_CONV_AXES];
    (void)worker;
    for (int64_t i = 0; i < a[0].target; i++) {
        s[0] = taps_of_result(p, 0, i);
        for (int64_t j = 0; j < a[1].target; j++, y += row) {
            s[1] = taps_of_result(p, 1, j);
            if (s[0].outside || s[1].outside) {
                mend_row(job, n, o, s, y, 0, a[2].target);
            } else {
                mend_row(job, n, o, s, y, 0, job->inner[0]);
                mend_row(job, n, o, s, y, job->inner[1], a[2].target);
            }
        }
    }
}

bool kni_conv_padding_may_leak(const kni_conv_plan *p, const kni_tensor *w, const void *weights)
{
    static const char kind;
    const int64_t n = p->groups * p->outs * p->channels * kni_conv_taps(p);
    const kni_form_key key = {&kind, {w->offset, w->type.dtype, n}};
    const bool lasts = kni_is_contiguous(w->type.rank, w->type.dims, w->strides);
    if (!has_padding(p)) return false;
    const bool *found = lasts ? kni_form_find(w->storage, &key) : NULL;
    if (found) return *found;
    const bool leaks = any_nan(weights, p->compute, p->kernels->size, 1, n, true);
    bool *made = lasts ? kni_form_new(w->storage, &key, sizeof *made) : NULL;
    if (!made) return leaks;
    *made = leaks;
    (void)kni_form_keep(w->storage, made);
    return leaks;
}

void kni_conv_padding_mend(const kni_conv_plan *p, const kni_conv_tensor *x, const void *weights,
                           const void *bias, const kni_conv_tensor *y)
{
    const kni_conv_axis *a = p->axes;
    const int64_t taps = kni_conv_taps(p), n_weights = p->groups * p->outs * p->channels * taps;
    const int64_t tasks = p->batch * p->groups * p->outs;
    const int64_t results = tasks * a[0].target * a[1].target * a[2].target;
    if (!has_padding(p)) return;
    mend_job job = {.plan = p,
                    .x = x,
                    .y = y,
                    .w = {.data = (char *)(uintptr_t)weights,
                          .dtype = p->compute,
                          .bytes = p->kernels->size,
                          .batch = p->transposed ? taps : p->channels * taps,
                          .channel = p->transposed ? p->outs * taps : taps,
                          .sizes = {a[1].taps * a[2].taps, a[2].taps, 1}},
                    .bias = bias};
    if (n_weights >= results && !any_nan(y->data, y->dtype, y->bytes, 1, results, false)) return;
    if (!any_nan(weights, p->compute, job.w.bytes, 1, n_weights, true)) return;
    find_inner(&job);
    run(results, tasks, mend_task, &job);
}

/* ---- weight gradients */

typedef struct {
    const kni_conv_plan *plan;
    const kni_conv_tensor *x, *dy;
    char *w;
} mend_weight_job;

/* Whether channel o of dy has a NaN, or an infinite element too, in these spans. Rows that follow each other are looked
   at as one. */
static bool any_nan_in_dy(const mend_weight_job *job, int64_t o, const span s[KNI_CONV_AXES],
                          bool or_infinite)
{
    const kni_conv_tensor *dy = job->dy;
    const int64_t first =
        o * dy->channel + s[0].w * dy->sizes[0] + s[1].w * dy->sizes[1] + s[2].w * dy->sizes[2];
    const int64_t by_plane = s[0].w_step * dy->sizes[0], by_row = s[1].w_step * dy->sizes[1];
    const int64_t step = s[2].w_step * dy->sizes[2];
    int64_t planes = s[0].count, rows = s[1].count, inner = s[2].count;
    if (rows == 1 || by_row == inner * step) {
        inner *= rows;
        rows = 1;
    }
    if (rows == 1 && (planes == 1 || by_plane == inner * step)) {
        inner *= planes;
        planes = 1;
    }
    for (int64_t n = 0; n < job->plan->batch; n++)
        for (int64_t i = 0; i < planes * rows; i++) {
            const int64_t at = first + n * dy->batch + i / rows * by_plane + i % rows * by_row;
            if (any_nan(dy->data + at * dy->bytes, dy->dtype, dy->bytes, step, inner, or_infinite))
                return true;
        }
    return false;
}

/* One tap of output channel o for all channels of x; w: of the first. A NaN in dy where the tap lies inside makes all of
   them NaN. */
static void mend_tap(const mend_weight_job *job, int64_t o, const span s[KNI_CONV_AXES], char *w)
{
    const kni_conv_plan *p = job->plan;
    const kni_conv_tensor *x = job->x, *dy = job->dy;
    const int64_t next = kni_conv_taps(p);
    if (!any_nan(w, x->dtype, x->bytes, next, p->channels, false) || any_nan_in_dy(job, o, s, false)) return;
    for (int64_t c = 0; c < p->channels; c++, w += next * x->bytes) {
        double total;
        kni_convert(&total, KN_F64, 1, w, x->dtype, 1, 1);
        if (!is_nan(total)) continue;
        total = 0;
        for (int64_t n = 0; n < p->batch && !is_nan(total); n++)
            total = add_channel(total, x, n * x->batch + (o / p->outs * p->channels + c) * x->channel, dy,
                                n * dy->batch + o * dy->channel, s);
        if (!is_nan(total)) kni_convert(w, x->dtype, 1, &total, KN_F64, 1, 1);
    }
}

/* Whether both dy and the results of output channel o are suspect; the fewer are looked at first. */
static bool may_have_leaked(const mend_weight_job *job, int64_t o)
{
    const kni_conv_plan *p = job->plan;
    const int64_t results = p->channels * kni_conv_taps(p);
    const char *w = job->w + o * results * job->x->bytes;
    span s[KNI_CONV_AXES];
    int64_t positions = p->batch;
    for (int i = 0; i < KNI_CONV_AXES; i++) {
        s[i] = (span){.count = p->axes[i].target, .w_step = 1};
        positions *= p->axes[i].target;
    }
    if (positions < results && !any_nan_in_dy(job, o, s, true)) return false;
    return any_nan(w, job->x->dtype, job->x->bytes, 1, results, false) &&
           (positions < results || any_nan_in_dy(job, o, s, true));
}

static void mend_weight_task(void *argument, int64_t o, int worker)
{
    const mend_weight_job *job = argument;
    const kni_conv_plan *p = job->plan;
    const int bytes = job->x->bytes;
    char *w = job->w + o * p->channels * kni_conv_taps(p) * bytes;
    span s[KNI_CONV_AXES];
    (void)worker;
    if (!may_have_leaked(job, o)) return;
    for (int64_t i = 0; i < p->axes[0].taps; i++) {
        s[0] = results_of_tap(p, 0, i);
        for (int64_t j = 0; j < p->axes[1].taps; j++) {
            s[1] = results_of_tap(p, 1, j);
            for (int64_t k = 0; k < p->axes[2].taps; k++, w += bytes) {
                s[2] = results_of_tap(p, 2, k);
                if (s[0].outside || s[1].outside || s[2].outside) mend_tap(job, o, s, w);
            }
        }
    }
}

void kni_conv_padding_mend_weight(const kni_conv_plan *p, const kni_conv_tensor *x, const kni_conv_tensor *dy,
                                  void *w)
{
    const int64_t outs = p->groups * p->outs, results = outs * p->channels * kni_conv_taps(p);
    const mend_weight_job job = {p, x, dy, w};
    if (has_padding(p)) run(results, outs, mend_weight_task, (void *)(uintptr_t)&job);
}
