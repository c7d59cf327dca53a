/* The CPU entries of batch norm. Channels are shared between the threads. A channel of [outer, channels, inner] is
   walked in runs of contiguous elements, whose sums are added in double; where inner is 1 a block of channels is
   walked row by row instead. */
#include "backend/cpu/elementwise_convert.h"
#include "backend/cpu/norm_drive.h"
#include "backend/cpu/norm_kernels.h"
#include "core/math/math.h"
#include "ops/native.h"
#include "ops/norm.h"

enum { RUN = 1024, WIDTH = KNI_NORM_WIDTH };

/* How one record is done, and the numbers of each channel. */
typedef struct batch_job {
    const kni_norm_kernels *kernels;
    kni_channel_view view;
    int dtype, compute;
    int64_t bytes; /* of an element of x, dy and y */
    const char *dy, *x;
    char *y;                                     /* the result, or dx */
    const void *mean, *variance, *weight, *bias; /* of the compute type; NULL where absent */
    void *mean_out, *variance_out;               /* also dbias and dweight */
    double eps;
    bool train, backward;
} batch_job;

static double number(const batch_job *j, const void *vector, int64_t c, double otherwise)
{
    if (!vector) return otherwise;
    return j->compute == KN_F64 ? ((const double *)vector)[c] : (double)((const float *)vector)[c];
}

static void set_number(const batch_job *j, void *vector, int64_t c, double value)
{
    if (j->compute == KN_F64)
        ((double *)vector)[c] = value;
    else
        ((float *)vector)[c] = (float)value;
}

/* One over the standard deviation, from the variance as it was rounded. */
static double deviation(const batch_job *j, double variance) { return 1 / kni_sqrt_f64(variance + j->eps); }

/* n elements from memory as the compute type, through the buffer where they have to be converted. */
static const void *fetch(const batch_job *j, const char *data, int64_t at, int64_t n, float *buffer)
{
    if (j->dtype == j->compute) return data + at * j->bytes;
    kni_cpu_convert(buffer, KN_F32, 1, data + at * j->bytes, j->dtype, 1, n);
    return buffer;
}

static void *target(const batch_job *j, int64_t at, float *buffer)
{
    return j->dtype == j->compute ? (void *)(j->y + at * j->bytes) : buffer;
}

static void store(const batch_job *j, int64_t at, int64_t n, const float *buffer)
{
    if (j->dtype != j->compute) kni_cpu_convert(j->y + at * j->bytes, j->dtype, 1, buffer, KN_F32, 1, n);
}

/* ---- runs of one channel */

typedef struct channel {
    double mean, scale, shift, gain, a,
        b; /* y = (x - mean) scale + shift; dx = gain (dy - a - (x - mean) b) */
} channel;

typedef enum walk { WALK_SUM, WALK_SQUARES, WALK_GRADIENT, WALK_DOT, WALK_SCALE, WALK_GRAD } walk;

static double walk_channel(const batch_job *j, int64_t c, walk what, const channel *k)
{
    _Alignas(64) float first[RUN], second[RUN];
    double total = 0;
    int64_t outer = j->view.inner ? j->view.outer : 0; /* [huge, 3, 0] has nothing to walk */
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < j->view.inner; i += RUN) {
            int64_t n = j->view.inner - i < RUN ? j->view.inner - i : RUN;
            int64_t at = (o * j->view.channels + c) * j->view.inner + i;
            const void *x = what == WALK_GRADIENT ? NULL : fetch(j, j->x, at, n, first);
            const void *dy = NULL;
            if (what == WALK_GRADIENT || what == WALK_DOT || what == WALK_GRAD)
                dy = fetch(j, j->dy, at, n, second);
            if (what == WALK_SUM)
                total += j->kernels->sum(x, n);
            else if (what == WALK_GRADIENT)
                total += j->kernels->sum(dy, n);
            else if (what == WALK_SQUARES)
                total += j->kernels->squares(x, k->mean, n);
            else if (what == WALK_DOT)
                total += j->kernels->dot(dy, x, k->mean, n);
            else if (what == WALK_SCALE)
                j->kernels->scale(target(j, at, first), x, k->mean, k->scale, k->shift, n);
            else
                j->kernels->grad(target(j, at, second), dy, x, k->mean, k->gain, k->a, k->b, n);
            if (what == WALK_SCALE) store(j, at, n, first);
            if (what == WALK_GRAD) store(j, at, n, second);
        }
    return total;
}

static void channel_task(void *argument, int64_t c, int worker)
{
    (void)worker;
    const batch_job *j = argument;
    double count = (double)(j->view.outer * j->view.inner);
    channel k = {0};
    if (j->train) {
        k.mean = walk_channel(j, c, WALK_SUM, &k) / count;
        set_number(j, j->mean_out, c, k.mean);
        k.mean = number(j, j->mean_out, c, 0);
        set_number(j, j->variance_out, c, walk_channel(j, c, WALK_SQUARES, &k) / count);
    } else {
        k.mean = number(j, j->mean, c, 0);
    }
    double scale = deviation(j, number(j, j->train ? j->variance_out : j->variance, c, 0));
    double weight = number(j, j->weight, c, 1);
    if (!j->backward) {
        k.scale = scale * weight;
        k.shift = number(j, j->bias, c, 0);
        walk_channel(j, c, WALK_SCALE, &k);
        return;
    }
    double sum = walk_channel(j, c, WALK_GRADIENT, &k), along = walk_channel(j, c, WALK_DOT, &k) * scale;
    k.gain = scale * weight;
    k.a = sum / count;
    k.b = along * scale / count;
    walk_channel(j, c, WALK_GRAD, &k);
    set_number(j, j->variance_out, c, along);
    set_number(j, j->mean_out, c, sum);
}

/* ---- blocks of channels where inner is 1 */

/* Sums of a block of channels in double, and what the elements are computed with, of the compute type. */
typedef struct block {
    double mean[WIDTH], sum[WIDTH], along[WIDTH];
    _Alignas(64) double centre[WIDTH], scale[WIDTH], shift[WIDTH], a[WIDTH], b[WIDTH];
} block;

static void sum_rows(const batch_job *j, int64_t first, int64_t n, const char *data, double *sum)
{
    float buffer[WIDTH];
    for (int64_t i = 0; i < n; i++) sum[i] = 0;
    for (int64_t o = 0; o < j->view.outer; o++)
        j->kernels->column_sums(sum, fetch(j, data, o * j->view.channels + first, n, buffer), n);
}

static void batch_statistics(const batch_job *j, int64_t first, int64_t n, block *k)
{
    float buffer[WIDTH];
    double rows = (double)j->view.outer;
    sum_rows(j, first, n, j->x, k->sum);
    for (int64_t i = 0; i < n; i++) {
        set_number(j, j->mean_out, first + i, k->sum[i] / rows);
        k->mean[i] = number(j, j->mean_out, first + i, 0);
        k->along[i] = 0;
    }
    for (int64_t o = 0; o < j->view.outer; o++)
        j->kernels->column_squares(k->along, fetch(j, j->x, o * j->view.channels + first, n, buffer), k->mean,
                                   n);
    for (int64_t i = 0; i < n; i++) set_number(j, j->variance_out, first + i, k->along[i] / rows);
}

static void block_backward(const batch_job *j, int64_t first, int64_t n, block *k)
{
    float a[WIDTH], b[WIDTH];
    double rows = (double)j->view.outer;
    sum_rows(j, first, n, j->dy, k->sum);
    for (int64_t i = 0; i < n; i++) {
        k->mean[i] = number(j, j->mean, first + i, 0);
        k->along[i] = 0;
    }
    for (int64_t o = 0; o < j->view.outer; o++) {
        int64_t at = o * j->view.channels + first;
        j->kernels->column_dots(k->along, fetch(j, j->dy, at, n, a), fetch(j, j->x, at, n, b), k->mean, n);
    }
    for (int64_t i = 0; i < n; i++) {
        double scale = deviation(j, number(j, j->variance, first + i, 0)), along = k->along[i] * scale;
        set_number(j, k->a, i, k->sum[i] / rows);
        set_number(j, k->b, i, along * scale / rows);
        set_number(j, j->variance_out, first + i, along);
        set_number(j, j->mean_out, first + i, k->sum[i]);
    }
    const void *numbers[4] = {k->centre, k->scale, k->a, k->b};
    for (int64_t o = 0; o < j->view.outer; o++) {
        int64_t at = o * j->view.channels + first;
        const void *dy = fetch(j, j->dy, at, n, a), *x = fetch(j, j->x, at, n, b);
        j->kernels->column_grad(target(j, at, a), dy, x, numbers, n);
        store(j, at, n, a);
    }
}

static void block_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    const batch_job *j = argument;
    int64_t first = task * WIDTH, n = j->view.channels - first < WIDTH ? j->view.channels - first : WIDTH;
    block k;
    if (j->train) batch_statistics(j, first, n, &k);
    for (int64_t i = 0; i < n; i++) {
        double scale = deviation(j, number(j, j->train ? j->variance_out : j->variance, first + i, 0));
        set_number(j, k.centre, i, number(j, j->train ? j->mean_out : j->mean, first + i, 0));
        set_number(j, k.scale, i, scale * number(j, j->weight, first + i, 1));
        set_number(j, k.shift, i, number(j, j->bias, first + i, 0));
    }
    if (j->backward) {
        block_backward(j, first, n, &k);
        return;
    }
    float buffer[WIDTH];
    for (int64_t o = 0; o < j->view.outer; o++) {
        int64_t at = o * j->view.channels + first;
        const void *x = fetch(j, j->x, at, n, buffer);
        j->kernels->column_scale(target(j, at, buffer), x, k.centre, k.scale, k.shift, n);
        store(j, at, n, buffer);
    }
}

/* ---- the entries */

/* Operands 0 .. n_large - 1 are of x's shape and dtype, the rest are vectors of the compute type. */
static kn_status run(const kn_record *r, batch_job *j, int n_large)
{
    const kni_batch_norm_attributes *a = r->attributes;
    kni_tensor *x = kni_in(r, n_large - 1), *y = kni_out(r, 0);
    kni_borrowed in[5] = {{0}};
    kn_status s = KN_OK;
    j->dtype = x->type.dtype;
    j->compute = kni_norm_dtype(j->dtype);
    j->kernels = kni_norm_kernels_for(j->dtype);
    j->view = kni_channel_view_of(&x->type);
    j->bytes = kni_bytes_of(j->dtype);
    j->eps = a->eps;
    for (int i = 0; i < r->n_in && s == KN_OK; i++)
        if (kni_in(r, i) && !kni_host_borrow(kni_in(r, i), i < n_large ? j->dtype : j->compute, &in[i]))
            s = KN_ERROR_MEMORY;
    if (s == KN_OK) s = kni_host_allocate_or_reuse(r, y, 1);
    for (int k = 1; k < r->n_out && s == KN_OK; k++) s = kni_host_allocate(kni_out(r, k));
    if (s == KN_OK) {
        j->dy = in[0].data;
        j->x = in[n_large - 1].data;
        j->y = y->storage->data;
        const void *vectors[4] = {in[n_large].data, NULL, NULL, NULL};
        for (int i = n_large + 1; i < 5; i++) vectors[i - n_large] = in[i].data;
        if (j->train) {
            j->weight = vectors[0];
            j->bias = vectors[1];
        } else {
            j->mean = vectors[0];
            j->variance = vectors[1];
            j->weight = vectors[2];
            j->bias = vectors[3];
        }
        if (r->n_out == 3) {
            j->mean_out = kni_out(r, j->backward ? 2 : 1)->storage->data;
            j->variance_out = kni_out(r, j->backward ? 1 : 2)->storage->data;
        }
        int64_t work = j->view.outer * j->view.channels * j->view.inner;
        if (j->view.inner == 1)
            kni_norm_share(work, (j->view.channels + WIDTH - 1) / WIDTH, block_task, j);
        else
            kni_norm_share(work, j->view.channels, channel_task, j);
    }
    for (int i = 0; i < r->n_in; i++) kni_host_unborrow(&in[i]);
    return s;
}

static kn_status run_batch_norm(const kn_record *r) { return run(r, &(batch_job){0}, 1); }
static kn_status run_batch_norm_train(const kn_record *r) { return run(r, &(batch_job){.train = true}, 1); }
static kn_status run_batch_norm_train_grad(const kn_record *r)
{
    return run(r, &(batch_job){.backward = true}, 2);
}

#ifndef KN_FREESTANDING
/* The numbers that channel_task computes a channel with. */
static bool map_batch_norm(const kn_record *r, float *map, int64_t channels)
{
    const kni_batch_norm_attributes *a = r->attributes;
    batch_job j = {.compute = KN_F32, .eps = a->eps};
    kni_borrowed in[5] = {{0}};
    bool good = true;
    for (int i = 1; i < r->n_in && good; i++)
        good = !kni_in(r, i) || kni_host_borrow(kni_in(r, i), KN_F32, &in[i]);
    for (int64_t c = 0; c < channels && good; c++) {
        map[c] = (float)number(&j, in[1].data, c, 0);
        map[channels + c] =
            (float)(deviation(&j, number(&j, in[2].data, c, 0)) * number(&j, in[3].data, c, 1));
        map[2 * channels + c] = (float)number(&j, in[4].data, c, 0);
    }
    for (int i = 1; i < r->n_in; i++) kni_host_unborrow(&in[i]);
    return good;
}
const kni_native kni_cpu_batch_norm = {.run = run_batch_norm, .channel_map = map_batch_norm};
#else
const kni_native kni_cpu_batch_norm = {.run = run_batch_norm};
#endif
const kni_native kni_cpu_batch_norm_train = {.run = run_batch_norm_train};
const kni_native kni_cpu_batch_norm_train_grad = {.run = run_batch_norm_train_grad};
