/* conv and transposed conv on the CPU: weights are packed once, then tasks copy their part of the source into planes
   and multiply register tiles of results, which a last step adds the bias to and puts in place. */
#include "backend/cpu/conv_few.h"
#include "backend/cpu/conv_pack.h"
#include "backend/cpu/conv_padding.h"
#include "backend/cpu/conv_pointwise.h"
#include "backend/cpu/conv_turned.h"
#include "backend/cpu/conv_window.h"
#include "backend/cpu/gemm_workspace.h"
#include "backend/cpu/matmul_run.h"
#include "backend/cpu/product_tail.h"
#include "backend/host/host.h"
#include "core/made_forms.h"
#include "core/thread_pool.h"
#include "ops/native.h"
#include <string.h>

enum {
    TILE = 64,                /* at least the rows and the columns of the largest register tile */
    PLANES_BYTES = 768 << 10, /* what a task copies at a time: a part of the second-level cache */
    PANEL_BYTES = 384 << 10,  /* weights that stay in the cache while columns pass */
    UNIT_WORK = 1 << 16,      /* products that a task should have at least */
    ALONE_WORK = 1 << 18,     /* below this the caller does it all */
    WANTED_UNITS = 8,
#ifdef KN_FREESTANDING
    WORKERS = 1
#else
    WORKERS = KNI_MAX_THREADS
#endif
};

typedef struct {
    kni_conv_plan plan;
    kni_conv_tensor x, y;
    const char *bias;       /* compute type, contiguous; NULL for none */
    kni_conv_phase *phases; /* sections of the results */
    int64_t n_phases;
    int band_axis;
    int64_t bands, band; /* how many, and how much of the grid each has */
    int64_t parts, part; /* the same for output channels */
    int64_t units, units_of_task;
    bool in_place; /* x itself is the planes */
    bool separate;
    const kni_product_tail
        *tail;         /* runs over results that are finished; NULL: nothing follows, or the kernels do it */
    kni_finish finish; /* by the kernels */
    _Atomic bool failed;
    int64_t filled[WORKERS]; /* what each worker's planes hold: band and image, from 1 on; 0: nothing yet */
} conv_job;

/* ---- results */

/* Neighbouring columns of a tile that lie next to each other in the result. */
typedef struct {
    int at, count;
    int64_t to;
} run;

typedef struct {
    const conv_job *job;
    const kni_conv_phase *phase;
    int64_t size[KNI_CONV_AXES];                        /* of the planes */
    int64_t first[KNI_CONV_AXES], count[KNI_CONV_AXES]; /* the part of the section's grid in this band */
    char *y;                                            /* of the image */
} target;

/* The runs of columns begin .. begin + n - 1. */
static int find_runs(const target *t, int64_t begin, int n, run runs[TILE])
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

static void put_halves(const target *t, const float *from, const float *bias, char *y, int n)
{
    const int64_t step = t->phase->step[2] * t->job->y.sizes[2];
    float sums[TILE];
    for (int done = 0; done < n; done += TILE) {
        const int now = n - done < TILE ? n - done : TILE;
        for (int c = 0; c < now; c++) sums[c] = from[done + c] + (bias ? *bias : 0);
        kni_convert(y + done * step * t->job->y.bytes, t->job->y.dtype, step, sums, KN_F32, 1, now);
    }
}

/* A row of the tile with its bias into the result. */
static void put_row(const target *t, const char *tile, const char *bias, char *y, const run *runs, int n)
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
static void multiply_column(const target *t, const char *planes, const char *weights, int64_t out,
                            int64_t last, int64_t group, int64_t begin, int vectors)
{
    const conv_job *job = t->job;
    const kni_conv_plan *p = &job->plan;
    _Alignas(64) char tile[TILE * 8 * sizeof(double)];
    run runs[TILE];
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
static bool multiply_lone(const target *t, const char *planes, const char *weights, int64_t o)
{
    const conv_job *job = t->job;
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
static void multiply_turned(const target *t, const char *planes, const char *weights, int64_t group,
                            int64_t out, int64_t last)
{
    const conv_job *job = t->job;
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

/* One section of results of an image, group, band and range of output channels. */
static void multiply_phase(const target *t, const char *planes, int64_t group, int64_t out, int64_t last)
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

/* ---- tasks */

static kni_conv_part whole_grid(const kni_conv_plan *p)
{
    kni_conv_part part;
    for (int i = 0; i < KNI_CONV_AXES; i++) {
        part.first[i] = p->axes[i].first;
        part.count[i] = p->axes[i].count;
    }
    return part;
}

/* What a worker goes through its units with. */
typedef struct {
    int worker;
    kni_conv_filler filler;
    int64_t band; /* that the filler is for; -1: none */
} unit_worker;

/* The planes of one image, group and band. Those of the unit before are still there where only the output channels are others. */
static const char *get_planes(conv_job *job, const kni_conv_part *part, int64_t image, int64_t band,
                              unit_worker *w)
{
    const kni_conv_plan *p = &job->plan;
    const int64_t group = image % p->groups, n = image / p->groups, held = image * job->bands + band + 1;
    if (job->in_place)
        return job->x.data + (n * job->x.batch + group * p->channels * job->x.channel) * job->x.bytes;
    const int64_t size = kni_conv_planes_size(p, part, p->channels);
    char *planes = kni_workspace(KNI_WORKSPACE_TASK, (size_t)((size + TILE) * p->kernels->size));
    if (!planes || job->filled[w->worker] == held) return planes;
    if (w->band != band) kni_conv_filler_start(&w->filler, p, part, &job->x);
    w->band = band;
    kni_conv_fill_planes(&w->filler, p, &job->x, n, group * p->channels, p->channels, planes);
    memset(planes + size * p->kernels->size, 0, (size_t)(TILE * p->kernels->size));
    job->filled[w->worker] = held;
    return planes;
}

/* What follows the results of a unit of a convolution, which has one section: whole rows of each output channel. */
static void follow_unit(const conv_job *job, int64_t n, int64_t group, int64_t out, int64_t last,
                        int64_t first, int64_t count)
{
    const kni_conv_tensor *y = &job->y;
    const kni_conv_plan *p = &job->plan;
    int64_t row = 1;
    for (int i = job->band_axis + 1; i < KNI_CONV_AXES; i++) row *= p->axes[i].target;
    const int64_t begin = n * y->batch + (group * p->outs + out) * y->channel;
    if (count * row == y->channel) kni_product_tail_run(job->tail, begin, begin + (last - out) * y->channel);
    for (int64_t o = 0; o < last - out && count * row != y->channel; o++)
        kni_product_tail_run(job->tail, begin + o * y->channel + first * row,
                             begin + o * y->channel + (first + count) * row);
}

static void run_unit(conv_job *job, int64_t unit, unit_worker *w)
{
    const kni_conv_plan *p = &job->plan;
    const int64_t part_index = unit % job->parts, band = unit / job->parts % job->bands;
    const int64_t image = unit / job->parts / job->bands, group = image % p->groups, n = image / p->groups;
    const int64_t out = part_index * job->part;
    const int64_t last = out + job->part < p->outs ? out + job->part : p->outs;
    kni_conv_part part = whole_grid(p);
    part.first[job->band_axis] += band * job->band;
    part.count[job->band_axis] = job->band;
    const char *planes = get_planes(job, &part, image, band, w);
    if (!planes) {
        job->failed = true;
        return;
    }
    target t = {.job = job, .y = job->y.data + n * job->y.batch * job->y.bytes};
    for (int64_t s = 0; s < job->n_phases; s++) {
        const kni_conv_phase *phase = &job->phases[s];
        int64_t from = 0;
        bool empty = false;
        t.phase = phase;
        for (int i = 0; i < KNI_CONV_AXES; i++) {
            int64_t low = phase->first[i], high = low + phase->count[i], end = part.first[i] + part.count[i];
            t.size[i] = kni_conv_plane_axis(p, &part, i);
            t.first[i] = low > part.first[i] ? low : part.first[i];
            t.count[i] = (high < end ? high : end) - t.first[i];
            empty |= t.count[i] <= 0;
            from = from * t.size[i] + t.first[i] - part.first[i];
        }
        if (empty) continue;
        multiply_phase(&t, planes + from * p->kernels->size, group, out, last);
        if (job->tail)
            follow_unit(job, n, group, out, last, t.first[job->band_axis], t.count[job->band_axis]);
    }
}

static void run_task(void *argument, int64_t task, int worker)
{
    conv_job *job = argument;
    unit_worker w;
    w.worker = worker;
    w.band = -1;
    int64_t end = (task + 1) * job->units_of_task;
    if (end > job->units) end = job->units;
    for (int64_t unit = task * job->units_of_task; unit < end; unit++) run_unit(job, unit, &w);
}

/* ---- setting up. All that is decided here follows from the shapes. */

/* Whether x can be read as planes where it lies. */
static bool reads_in_place(const conv_job *job, const kni_tensor *x)
{
    const kni_conv_plan *p = &job->plan;
    int64_t step = 1, columns = 0;
    if (p->transposed || x->type.dtype != p->compute || job->bands > 1) return false;
    for (int i = KNI_CONV_AXES - 1; i >= 0; i--) {
        const kni_conv_axis *a = &p->axes[i];
        if (a->stride != 1 || a->padding != 0 || a->source != a->count + a->reach) return false;
        if (a->source != 1 && job->x.sizes[i] != step) return false;
        columns += (a->count - 1) * step;
        step *= a->source;
    }
    return (job->x.channel == step || p->channels == 1) && columns + 1 >= p->kernels->lanes;
}

static void cut(conv_job *job)
{
    const kni_conv_plan *p = &job->plan;
    const kni_conv_part whole = whole_grid(p);
    job->band_axis = p->axes[0].count > 1 ? 0 : p->axes[1].count > 1 ? 1 : 2;
    const int64_t grid = p->axes[job->band_axis].count;
    const int64_t bytes = kni_conv_planes_size(p, &whole, p->channels) * p->kernels->size;
    job->bands = (bytes + PLANES_BYTES - 1) / PLANES_BYTES;
    if (job->bands > grid) job->bands = grid;
    if (job->bands < 1) job->bands = 1;
    job->band = (grid + job->bands - 1) / job->bands;
    job->bands = job->band ? (grid + job->band - 1) / job->band : 1;
    const int64_t images = p->batch * p->groups * job->bands, rows = kni_conv_block_outs(p);
    job->part = p->outs;
    if (images < WANTED_UNITS && p->outs > rows)
        job->part = (p->outs * images / WANTED_UNITS + rows - 1) / rows * rows;
    if (job->part < 1) job->part = p->outs < rows ? p->outs : rows;
    job->parts = (p->outs + job->part - 1) / job->part;
    job->units = images * job->parts;
}

static bool run_job(conv_job *job, const kni_tensor *x, const kni_tensor *w, const char *weights)
{
    const kni_conv_plan *p = &job->plan;
    cut(job);
    job->in_place = reads_in_place(job, x);
    kni_conv_part largest = whole_grid(p);
    largest.count[job->band_axis] = job->band;
    job->phases = kni_conv_phases_start(p, &largest);
    if (!job->phases) return false;
    const double work = (double)kni_count(&w->type) / (double)p->groups *
                        (double)(p->axes[0].count * p->axes[1].count) * (double)p->axes[2].count *
                        (double)p->batch * (double)p->groups;
    const double of_unit = work / (double)job->units + 1;
    job->units_of_task = of_unit < UNIT_WORK ? (int64_t)(UNIT_WORK / of_unit) + 1 : 1;
    const int64_t tasks = (job->units + job->units_of_task - 1) / job->units_of_task;
    kni_conv_pack_weights(p, job->phases, w, weights, work >= ALONE_WORK);
    if (work >= ALONE_WORK)
        kni_parallel_for(tasks, run_task, job);
    else
        for (int64_t i = 0; i < tasks; i++) run_task(job, i, 0);
    return !job->failed;
}

/* The kernels but for the GEMM's. */
static bool run_kernels(conv_job *job, const kni_tensor *x, kni_tensor *w, const void *weights, bool few,
                        const kni_product_tail *tail)
{
    const kni_conv_plan *p = &job->plan;
    const bool looked = tail || kni_form_lasts(w->storage);
    const bool suspect = looked && kni_conv_padding_may_leak(p, w, weights);
    const kni_finish none = {KNI_FINISH_NONE}, finish = suspect ? none : kni_product_finish(tail);
    bool followed = kni_finishes(&finish), good = true;
    if (!kni_conv_window_run(p, &job->x, weights, job->bias, &job->y, &finish)) {
        followed = followed && p->turned && !p->transposed;
        if (followed) job->finish = finish;
        if (tail && !followed && !suspect && !few && !p->transposed && kni_product_tail_has_ranges(tail)) job->tail = tail;
        good = few ? kni_conv_few(p, &job->x, w, weights, job->bias, &job->y) : run_job(job, x, w, weights);
        followed |= job->tail != NULL;
    }
    if (!good) return false;
    if (!looked || suspect) kni_conv_padding_mend(p, &job->x, weights, job->bias, &job->y);
    if (tail && !followed) kni_product_tail_whole(tail);
    return true;
}

static kn_status run_conv(const kn_record *r, bool transposed, const kni_product_tail *tail)
{
    kni_tensor *x = kni_in(r, 0), *w = kni_in(r, 1), *bias = r->n_in > 2 ? kni_in(r, 2) : NULL,
               *y = kni_out(r, 0);
    if (!kni_conv_kernels_for(x->type.dtype)) return KN_ERROR_UNSUPPORTED;
    conv_job job = {.separate = kni_reproducible()};
    kni_conv_plan_start(&job.plan, r->attributes, &x->type, &w->type, &y->type, transposed);
    job.n_phases = kni_conv_phase_count(&job.plan);
    if (job.n_phases > KNI_CONV_MAX_PHASES) return KN_ERROR_UNSUPPORTED;
    if (kni_count(&w->type) == 0) return KN_ERROR_UNSUPPORTED; /* sums of nothing, in a window of any size */
    kn_status s = kni_host_allocate(y);
    if (s || kni_count(&y->type) == 0) return s;
    kni_borrowed packed = {NULL, 0}, added = {NULL, 0};
    job.x = kni_conv_tensor_of(x);
    job.y = kni_conv_tensor_of(y);
    const bool few = kni_conv_is_few(&job.plan, &job.x, &job.y);
    job.plan.turned = !few && kni_conv_wants_turned(&job.plan, &job.y);
    if (!few && kni_conv_is_pointwise(&job.plan, &job.x) &&
        !(job.plan.turned && kni_conv_turned_pays(&job.plan, w))) {
        const kni_finish finish = kni_product_bounds(tail);
        if (!kni_conv_pointwise(&job.plan, &job.x, w, bias, &job.y, &finish))
            return kni_gemm_no_memory(r->row->name);
        if (tail && finish.kind == KNI_FINISH_NONE) kni_product_tail_whole(tail);
        return KN_OK;
    }
    if (!kni_host_borrow(w, job.plan.compute, &packed)) return KN_ERROR_MEMORY;
    if (bias && !kni_host_borrow(bias, job.plan.compute, &added)) {
        kni_host_unborrow(&packed);
        return KN_ERROR_MEMORY;
    }
    job.bias = added.data;
    const bool good = run_kernels(&job, x, w, packed.data, few, tail);
    kni_host_unborrow(&packed);
    kni_host_unborrow(&added);
    return good ? KN_OK : kni_gemm_no_memory(r->row->name);
}

static kn_status run_forward(const kn_record *r) { return run_conv(r, false, NULL); }
static kn_status run_transposed(const kn_record *r) { return run_conv(r, true, NULL); }

#ifndef KN_FREESTANDING
static kn_status run_forward_product(const kn_record *r, const kni_product_tail *tail)
{
    return run_conv(r, false, tail);
}
static kn_status run_transposed_product(const kn_record *r, const kni_product_tail *tail)
{
    return run_conv(r, true, tail);
}
const kni_native kni_cpu_conv = {.run = run_forward, .run_product = run_forward_product};
const kni_native kni_cpu_conv_transpose = {.run = run_transposed, .run_product = run_transposed_product};
#else
const kni_native kni_cpu_conv = {.run = run_forward};
const kni_native kni_cpu_conv_transpose = {.run = run_transposed};
#endif
