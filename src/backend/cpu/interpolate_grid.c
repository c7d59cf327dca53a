/* The CPU entries of grid sampling and its transpose. The neighbours of a block of points and their weights come from
   the reference kernel, so that modes are described in one place; all channels then use them. */
#include "backend/cpu/norm_drive.h"
#include "core/allocator.h"
#include "ops/generated/spatial_kernels.h"
#include "ops/grid_sample.h"
#include "ops/native.h"
#include "ops/pooling.h"
#include <string.h>

enum { ENTRIES = 2048, CHANNELS = 16 };

typedef struct sample_job {
    const kni_sample_attributes *a;
    const double *grid;
    const void *from;
    void *to;
    int64_t sx[3], order[3];
    int64_t axes, width, channels, points, plane; /* plane: elements of one of x */
    int64_t block, blocks; /* points whose neighbours are found at once; tasks of one image */
    bool wide;             /* f64, else f32 */
} sample_job;

typedef struct neighbours {
    int64_t positions[ENTRIES];
    double weights[ENTRIES];
} neighbours;

static void find(const sample_job *j, int64_t image, int64_t begin, int64_t end, neighbours *t)
{
    const void *inputs[] = {j->grid + image * j->points * j->axes};
    void *outputs[] = {t->positions, t->weights};
    int64_t error[2] = {0, 0};
    int64_t ints[] = {j->a->mode,  j->a->padding, j->a->align_corners != 0,
                      j->axes,     begin,         j->width,
                      j->sx[0],    j->sx[1],      j->sx[2],
                      j->order[0], j->order[1],   j->order[2]};
    kni_kernel_call call = {.inputs = inputs, .outputs = outputs, .ints = ints, .error = error};
    kni_kernel_grid_sample_taps.instances[0](&call, begin, end);
}

#define DEFINE(T, suffix)                                                                                    \
    static void gather_##suffix(const sample_job *j, const neighbours *t, const T *x, T *y, int64_t n)       \
    {                                                                                                        \
        for (int64_t p = 0; p < n; p++) {                                                                    \
            double total = 0;                                                                                \
            for (int64_t k = p * j->width; k < (p + 1) * j->width; k++)                                      \
                total += t->weights[k] * (t->positions[k] >= 0 ? (double)x[t->positions[k]] : 0.0);          \
            y[p] = (T)total;                                                                                 \
        }                                                                                                    \
    }                                                                                                        \
    static void spread_##suffix(const sample_job *j, const neighbours *t, const T *dy, T *dx, int64_t n)     \
    {                                                                                                        \
        for (int64_t p = 0; p < n; p++)                                                                      \
            for (int64_t k = p * j->width; k < (p + 1) * j->width; k++)                                      \
                if (t->positions[k] >= 0) dx[t->positions[k]] += (T)(t->weights[k] * (double)dy[p]);         \
    }
DEFINE(float, f32)
DEFINE(double, f64)

/* A block of points of one image, all channels. */
static void gather_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    const sample_job *j = argument;
    neighbours t;
    int64_t image = task / j->blocks, begin = task % j->blocks * j->block;
    int64_t end = begin + j->block < j->points ? begin + j->block : j->points;
    find(j, image, begin, end, &t);
    for (int64_t c = image * j->channels; c < (image + 1) * j->channels; c++) {
        int64_t at = c * j->points + begin;
        if (j->wide)
            gather_f64(j, &t, (const double *)j->from + c * j->plane, (double *)j->to + at, end - begin);
        else
            gather_f32(j, &t, (const float *)j->from + c * j->plane, (float *)j->to + at, end - begin);
    }
}

/* A block of channels of one image, all points: nobody else writes to their planes. */
static void spread_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    const sample_job *j = argument;
    neighbours t;
    int64_t image = task / j->blocks, first = task % j->blocks * CHANNELS;
    int64_t last = first + CHANNELS < j->channels ? first + CHANNELS : j->channels;
    int64_t bytes = j->wide ? 8 : 4, plane = image * j->channels;
    memset((char *)j->to + (plane + first) * j->plane * bytes, 0,
           (size_t)((last - first) * j->plane * bytes));
    for (int64_t begin = 0; begin < j->points; begin += j->block) {
        int64_t end = begin + j->block < j->points ? begin + j->block : j->points;
        find(j, image, begin, end, &t);
        for (int64_t c = plane + first; c < plane + last; c++) {
            int64_t at = c * j->points + begin;
            if (j->wide)
                spread_f64(j, &t, (const double *)j->from + at, (double *)j->to + c * j->plane, end - begin);
            else
                spread_f32(j, &t, (const float *)j->from + at, (float *)j->to + c * j->plane, end - begin);
        }
    }
}

static void fill_job(sample_job *j, const kni_sample_attributes *a, const kni_type *x, const kni_type *y)
{
    j->a = a;
    j->axes = x->rank - 2;
    j->channels = x->dims[1];
    j->points = kni_count_dims((int)j->axes, y->dims + 2);
    j->plane = kni_count_dims((int)j->axes, x->dims + 2);
    kni_pool_sizes(x, (int)j->axes, j->sx);
    for (int i = 0; i < 3; i++) {
        int from = i - (3 - (int)j->axes);
        j->order[i] = from < 0 ? 0 : a->derivative.dims[from];
    }
    int64_t taps = a->mode == 0 ? 1 : a->mode == 1 ? 2 : 4;
    j->width = 1;
    for (int64_t i = 0; i < j->axes; i++) j->width *= taps;
    j->block = ENTRIES / j->width;
}

/* Half types, whose sums need more digits than they have, take the reference kernel. */
static kn_status run(const kn_record *r, bool back)
{
    kni_tensor *in = kni_in(r, 0), *grid = kni_in(r, 1), *out = kni_out(r, 0);
    const kni_type *x = back ? &out->type : &in->type, *y = back ? &in->type : &out->type;
    int dtype = in->type.dtype;
    kni_borrowed from = {NULL, 0}, points = {NULL, 0};
    sample_job j = {.wide = dtype == KN_F64};
    if (dtype != KN_F32 && dtype != KN_F64) return KN_ERROR_UNSUPPORTED;
    kn_status s = kni_host_allocate(out);
    if (s || kni_count(&out->type) == 0) return s;
    if (!kni_host_borrow(in, dtype, &from) || !kni_host_borrow(grid, KN_F64, &points)) {
        s = kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for the intermediate values");
    } else {
        fill_job(&j, r->attributes, x, y);
        j.from = from.data;
        j.grid = points.data;
        j.to = out->storage->data;
        j.blocks = back ? (j.channels + CHANNELS - 1) / CHANNELS : (j.points + j.block - 1) / j.block;
        int64_t work = x->dims[0] * j.points * (j.channels + 8) * j.width;
        kni_norm_share(work, x->dims[0] * j.blocks, back ? spread_task : gather_task, &j);
    }
    if (from.data) kni_host_unborrow(&from);
    if (points.data) kni_host_unborrow(&points);
    return s;
}

static kn_status run_grid_sample(const kn_record *r) { return run(r, false); }
static kn_status run_grid_sample_grad(const kn_record *r) { return run(r, true); }

const kni_native kni_cpu_grid_sample = {.run = run_grid_sample};
const kni_native kni_cpu_grid_sample_grad = {.run = run_grid_sample_grad};
