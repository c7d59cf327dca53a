/* The results of a convolution's sections: register tiles of sums, which a last step adds the bias to and puts in place. */
#include "backend/cpu/conv_results.h"
#include "backend/cpu/conv_turned.h"
#include "backend/host/host.h"
#include "core/strided_copy.h"

enum { PANEL_BYTES = 384 << 10 }; /* weights that stay in the cache while columns pass */

/* Neighbouring columns of a tile that lie next to each other in the result. */
typedef struct {
    int at, count;
    int64_t to;
} run;

/* The runs of columns begin .. begin + n - 1. */
static int find_runs(const kni_conv_target *t, int64_t begin, int n, run runs[KNI_CONV_TILE])
{
    const kni_conv_tensor *y = &t->job->y;
    int found = 0;
    for (int at = 0; at < n;) {
        const int64_t j = begin + at, c = j % t->size[2], rows = j / t->size[2];
        const int64_t b = rows % t->size[1], a = rows / t->size[1];
        int64_t left = t->size[2] - c;
        if (c < t->count[2] && b < t->count[1] && a < t->count[0]) {
            int64_t length = t->count[2] - c;
            if (length > n - at) length = n - at;
            const int64_t q[KNI_CONV_AXES] = {t->first[0] + a, t->first[1] + b, t->first[2] + c};
            int64_t to = 0;
            for (int i = 0; i < KNI_CONV_AXES; i++)
                to += (q[i] * t->phase->step[i] + t->phase->start[i]) * y->sizes[i];
            runs[found++] = (run){at, (int)length, to};
        }
        at += left > n - at ? n - at : (int)left;
    }
    return found;
}

#define PUT_RUN(type)                                                                                        \
    {                                                                                                        \
        const type *from = (const type *)tile + r->at;                                                       \
        const type add = bias ? *(const type *)bias : 0;                                                     \
        type *to = (type *)y + r->to;                                                                        \
        if (!bias && step == 1)                                                                              \
            for (int c = 0; c < r->count; c++) to[c] = from[c];                                              \
        else if (step == 1)                                                                                  \
            for (int c = 0; c < r->count; c++) to[c] = from[c] + add;                                        \
        else                                                                                                 \
            for (int c = 0; c < r->count; c++) to[c * step] = from[c] + add;                                 \
    }

static void put_halves(const kni_conv_target *t, const float *from, const float *bias, char *y, int n)
{
    const int64_t step = t->phase->step[2] * t->job->y.sizes[2];
    float sums[KNI_CONV_TILE];
    for (int done = 0; done < n; done += KNI_CONV_TILE) {
        const int now = n - done < KNI_CONV_TILE ? n - done : KNI_CONV_TILE;
        for (int c = 0; c < now; c++) sums[c] = from[done + c] + (bias ? *bias : 0);
        kni_convert(y + done * step * t->job->y.bytes, t->job->y.dtype, step, sums, KN_F32, 1, now);
    }
}

/* A row of the tile with its bias into the result. */
static void put_row(const kni_conv_target *t, const char *tile, const char *bias, char *y, const run *runs,
                    int n)
{
    const int64_t step = t->phase->step[2] * t->job->y.sizes[2];
    for (int i = 0; i < n; i++) {
        const run *r = &runs[i];
        if (t->job->y.dtype == KN_F64) {
            PUT_RUN(double)
        } else if (t->job->y.dtype == KN_F32) {
            PUT_RUN(float)
        } else {
            put_halves(t, (const float *)tile + r->at, (const float *)bias, y + r->to * t->job->y.bytes,
                       r->count);
        }
    }
}

/* All panels of rows out .. last - 1 for one tile of columns. */
static void multiply_column(const kni_conv_target *t, const char *planes, const char *weights, int64_t out,
                            int64_t last, int64_t group, int64_t begin, int vectors)
{
    const kni_conv_output *job = t->job;
    const kni_conv_plan *p = &job->plan;
    _Alignas(64) char tile[KNI_CONV_TILE * 8 * sizeof(double)];
    run runs[KNI_CONV_TILE];
    const int columns = vectors * p->kernels->lanes, size = p->kernels->size;
    const int n_runs = find_runs(t, begin, columns, runs);
    if (n_runs == 0) return;
    while (out < last) {
        const int rows = kni_conv_panel_rows(p, last - out);
        const kni_conv_product product = {.depth = t->phase->depth,
                                          .w = weights + out * t->phase->depth * size,
                                          .x = planes + begin * size,
                                          .offsets = t->phase->offsets,
                                          .y = tile,
                                          .y_row = columns,
                                          .rows = rows,
                                          .vectors = vectors,
                                          .separate = job->separate};
        p->kernels->product(&product);
        for (int r = 0; r < rows; r++) {
            const int64_t o = group * p->outs + out + r;
            put_row(t, tile + (int64_t)r * columns * size, job->bias ? job->bias + o * size : NULL,
                    t->y + o * job->y.channel * job->y.bytes, runs, n_runs);
        }
        out += rows;
    }
}

/* The same for a lone output channel of a lone channel (depthwise): rows of results straight from the planes. */
static bool multiply_lone(const kni_conv_target *t, const char *planes, const char *weights, int64_t o)
{
    const kni_conv_output *job = t->job;
    const kni_conv_plan *p = &job->plan;
    const kni_conv_phase *phase = t->phase;
    const int64_t *sizes = job->y.sizes, size = p->kernels->size;
    if (job->in_place || phase->depth > KNI_CONV_DEPTH || job->y.dtype != p->compute ||
        phase->step[2] * sizes[2] != 1)
        return false;
    for (int64_t a = 0; a < t->count[0]; a++) {
        int64_t to = o * job->y.channel;
        to += ((t->first[0] + a) * phase->step[0] + phase->start[0]) * sizes[0];
        to += (t->first[1] * phase->step[1] + phase->start[1]) * sizes[1];
        to += t->first[2] + phase->start[2];
        p->kernels->lone(&(kni_conv_lone){.depth = phase->depth,
                                          .w = weights,
                                          .x = planes + a * t->size[1] * t->size[2] * size,
                                          .offsets = phase->offsets,
                                          .x_row = t->size[2],
                                          .rows = t->count[1],
                                          .columns = t->count[2],
                                          .y = t->y + to * size,
                                          .y_row = phase->step[1] * sizes[1],
                                          .bias = job->bias ? job->bias + o * size : NULL,
                                          .separate = job->separate});
    }
    return true;
}

/* The same with vectors along output channels. */
static void multiply_turned(const kni_conv_target *t, const char *planes, const char *weights, int64_t group,
                            int64_t out, int64_t last)
{
    const kni_conv_output *job = t->job;
    const kni_conv_plan *p = &job->plan;
    const int64_t first = group * p->outs;
    kni_conv_turned_part part = {.plan = p,
                                 .phase = t->phase,
                                 .planes = (const float *)planes,
                                 .weights = (const float *)weights,
                                 .bias = job->bias ? (const float *)job->bias + first : NULL,
                                 .y = (float *)t->y + first * job->y.channel,
                                 .y_channel = job->y.channel,
                                 .finish = kni_finish_from(job->finish, (long)first),
                                 .separate = job->separate};
    for (int i = 0; i < KNI_CONV_AXES; i++) {
        part.size[i] = t->size[i];
        part.count[i] = t->count[i];
        part.y_step[i] = t->phase->step[i] * job->y.sizes[i];
        part.y += (t->first[i] * t->phase->step[i] + t->phase->start[i]) * job->y.sizes[i];
    }
    kni_conv_turned_run(&part, out, last);
}

void kni_conv_results(const kni_conv_target *t, const char *planes, int64_t group, int64_t out, int64_t last)
{
    const kni_conv_plan *p = &t->job->plan;
    const int64_t lanes = p->kernels->lanes, widest = lanes * p->kernels->vectors;
    const int64_t columns = ((t->count[0] - 1) * t->size[1] + t->count[1] - 1) * t->size[2] + t->count[2];
    const char *weights =
        t->phase->weights + group * kni_conv_packed_outs(p) * t->phase->depth * p->kernels->size;
    if (p->turned) {
        multiply_turned(t, planes, weights, group, out, last);
        return;
    }
    if (last - out == 1 &&
        multiply_lone(t, planes, weights + out * t->phase->depth * p->kernels->size, group * p->outs + out))
        return;
    int64_t stay =
        PANEL_BYTES / (t->phase->depth * p->kernels->size + 1) / p->kernels->rows * p->kernels->rows;
    if (stay < p->kernels->rows) stay = p->kernels->rows;
    for (; out < last; out += stay) {
        const int64_t end = out + stay < last ? out + stay : last;
        for (int64_t at = 0; at < columns;) {
            const int64_t left = columns - at;
            int64_t wide = left >= widest ? widest : (left + lanes - 1) / lanes * lanes;
            /* A tile that would read past the end begins earlier; where that is impossible there are planes with
               room after their end. */
            if (t->job->in_place && wide > left && columns < wide) wide = columns / lanes * lanes;
            const int64_t begin = t->job->in_place && wide > left ? columns - wide : at;
            multiply_column(t, planes, weights, out, end, group, begin, (int)(wide / lanes));
            at = begin + wide;
        }
    }
}
