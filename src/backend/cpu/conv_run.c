/* conv and transposed conv on the CPU: weights are packed once, then tasks copy their part of the source into planes
   and multiply these (conv_results.c), where no other way is better. */
#include "backend/cpu/conv_few.h"
#include "backend/cpu/conv_padding.h"
#include "backend/cpu/conv_pointwise.h"
#include "backend/cpu/conv_results.h"
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
    PLANES_BYTES = 768 << 10, /* what a task copies at a time: a part of the second-level cache */
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
    kni_conv_output output;
    kni_conv_tensor x;
    kni_conv_phase *phases; /* sections of the results */
    int64_t n_phases;
    int band_axis;
    int64_t bands, band; /* how many, and how much of the grid each has */
    int64_t parts, part; /* the same for output channels */
    int64_t units, units_of_task;
    const kni_product_tail
        *tail; /* runs over finished results; NULL: nothing follows, or the kernels do it */
    _Atomic bool failed;
    int64_t filled[WORKERS]; /* what each worker's planes hold: band and image, from 1 on; 0: nothing yet */
} conv_job;

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
    const kni_conv_plan *p = &job->output.plan;
    const int64_t group = image % p->groups, n = image / p->groups, held = image * job->bands + band + 1;
    if (job->output.in_place)
        return job->x.data + (n * job->x.batch + group * p->channels * job->x.channel) * job->x.bytes;
    const int64_t size = kni_conv_planes_size(p, part, p->channels);
    char *planes = kni_workspace(KNI_WORKSPACE_TASK, (size_t)((size + KNI_CONV_TILE) * p->kernels->size));
    if (!planes || job->filled[w->worker] == held) return planes;
    if (w->band != band) kni_conv_filler_start(&w->filler, p, part, &job->x);
    w->band = band;
    kni_conv_fill_planes(&w->filler, p, &job->x, n, group * p->channels, p->channels, planes);
    memset(planes + size * p->kernels->size, 0, (size_t)(KNI_CONV_TILE * p->kernels->size));
    job->filled[w->worker] = held;
    return planes;
}

/* What follows the results of a unit of a convolution, which has one section: whole rows of each output channel. */
static void follow_unit(const conv_job *job, int64_t n, int64_t group, int64_t out, int64_t last,
                        int64_t first, int64_t count)
{
    const kni_conv_tensor *y = &job->output.y;
    const kni_conv_plan *p = &job->output.plan;
    int64_t row = 1;
    for (int i = job->band_axis + 1; i < KNI_CONV_AXES; i++) row *= p->axes[i].target;
    const int64_t begin = n * y->batch + (group * p->outs + out) * y->channel;
    if (count * row == y->channel) job->tail->run(job->tail, begin, begin + (last - out) * y->channel);
    for (int64_t o = 0; o < last - out && count * row != y->channel; o++)
        job->tail->run(job->tail, begin + o * y->channel + first * row,
                       begin + o * y->channel + (first + count) * row);
}

static void run_unit(conv_job *job, int64_t unit, unit_worker *w)
{
    const kni_conv_plan *p = &job->output.plan;
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
    kni_conv_target t = {.job = &job->output,
                         .y = job->output.y.data + n * job->output.y.batch * job->output.y.bytes};
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
        kni_conv_results(&t, planes + from * p->kernels->size, group, out, last);
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
    const kni_conv_plan *p = &job->output.plan;
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
    const kni_conv_plan *p = &job->output.plan;
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
    const kni_conv_plan *p = &job->output.plan;
    cut(job);
    job->output.in_place = reads_in_place(job, x);
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
    const kni_conv_plan *p = &job->output.plan;
    const bool looked = tail || kni_form_lasts(w->storage);
    const bool suspect = looked && kni_conv_padding_may_leak(p, w, weights);
    const kni_finish none = {.kind = KNI_FINISH_NONE}, finish = suspect ? none : kni_product_finish(tail);
    bool followed = kni_finishes(&finish), good = true;
    if (!kni_conv_window_run(p, &job->x, weights, job->output.bias, &job->output.y, &finish)) {
        followed = followed && p->turned && !p->transposed;
        if (followed) job->output.finish = finish;
        if (tail && !followed && !suspect && !few && !p->transposed && tail->has_ranges) job->tail = tail;
        good = few ? kni_conv_few(p, &job->x, w, weights, job->output.bias, &job->output.y)
                   : run_job(job, x, w, weights);
        followed |= job->tail != NULL;
    }
    if (!good) return false;
    if (!looked || suspect) kni_conv_padding_mend(p, &job->x, weights, job->output.bias, &job->output.y);
    if (tail && !followed) tail->whole(tail);
    return true;
}

static kn_status run_conv(const kn_record *r, bool transposed, const kni_product_tail *tail)
{
    kni_tensor *x = kni_in(r, 0), *w = kni_in(r, 1), *bias = r->n_in > 2 ? kni_in(r, 2) : NULL,
               *y = kni_out(r, 0);
    if (!kni_conv_kernels_for(x->type.dtype)) return KN_ERROR_UNSUPPORTED;
    conv_job job = {.output = {.separate = kni_reproducible()}};
    kni_conv_plan_start(&job.output.plan, r->attributes, &x->type, &w->type, &y->type, transposed);
    job.n_phases = kni_conv_phase_count(&job.output.plan);
    if (job.n_phases > KNI_CONV_MAX_PHASES) return KN_ERROR_UNSUPPORTED;
    if (kni_count(&w->type) == 0) return KN_ERROR_UNSUPPORTED; /* sums of nothing, in a window of any size */
    (void)kni_form_used(w->storage);
    kn_status s = kni_host_allocate(y);
    if (s || kni_count(&y->type) == 0) return s;
    kni_borrowed packed = {NULL, 0}, added = {NULL, 0};
    job.x = kni_conv_tensor_of(x);
    job.output.y = kni_conv_tensor_of(y);
    const bool few = kni_conv_is_few(&job.output.plan, &job.x, &job.output.y);
    job.output.plan.turned = !few && kni_conv_wants_turned(&job.output.plan, &job.output.y);
    if (!few && kni_conv_is_pointwise(&job.output.plan, &job.x) &&
        !(job.output.plan.turned && kni_conv_turned_pays(&job.output.plan, w))) {
        const kni_finish finish = kni_product_bounds(tail);
        if (!kni_conv_pointwise(&job.output.plan, &job.x, w, bias, &job.output.y, &finish))
            return kni_gemm_no_memory(r->row->name);
        if (tail && finish.kind == KNI_FINISH_NONE) tail->whole(tail);
        return KN_OK;
    }
    if (!kni_host_borrow(w, job.output.plan.compute, &packed)) return KN_ERROR_MEMORY;
    if (bias && !kni_host_borrow(bias, job.output.plan.compute, &added)) {
        kni_host_unborrow(&packed);
        return KN_ERROR_MEMORY;
    }
    job.output.bias = added.data;
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
