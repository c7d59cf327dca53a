/* The CPU entries of interpolation and its transpose: tables of taps for each axis come from the reference kernel, so that modes
   are described in one place. */
#include "backend/cpu/resample_drive.h"
#include "ops/generated/spatial_kernels.h"
#include "ops/interpolate.h"
#include "ops/native.h"
#include "ops/pooling.h"

typedef struct interpolation {
    const kni_interpolate_attributes *a;
    const kni_resample_job *job;
    double steps[3];
} interpolation;

static void fill_taps(const void *context, int axis, int64_t *positions, double *weights)
{
    const interpolation *i = context;
    int64_t error[2] = {0, 0};
    void *outputs[2] = {positions, weights};
    int64_t ints[] = {i->a->mode,       i->a->align_corners != 0, i->a->antialias != 0,
                      i->job->sx[axis], i->job->sy[axis],         i->job->width[axis]};
    kni_kernel_call call = {.outputs = outputs, .ints = ints, .reals = &i->steps[axis], .error = error};
    kni_kernel_interpolate_taps.instances[0](&call, 0, i->job->sy[axis]);
}

static kn_status run(const kn_record *r, bool back)
{
    const kni_type *in = &kni_in(r, 0)->type, *out = &kni_out(r, 0)->type;
    const kni_type *x = back ? out : in, *y = back ? in : out;
    kni_resample_job job = {
        .planes = kni_count_dims(2, x->dims), .between = {1, 1, 1}, .fill = fill_taps, .back = back};
    interpolation i = {r->attributes, &job, {0}};
    job.context = &i;
    job.nearest = i.a->mode < KN_INTERPOLATE_LINEAR;
    kni_pool_sizes(x, x->rank - 2, job.sx);
    kni_pool_sizes(y, y->rank - 2, job.sy);
    kni_interpolate_steps(i.a, x->rank - 2, i.steps);
    for (int k = 0; k < 3; k++) job.width[k] = kni_interpolate_width(i.a, job.sx[k], job.sy[k], i.steps[k]);
    return kni_cpu_resample_planes(r, &job);
}

static kn_status run_interpolate(const kn_record *r) { return run(r, false); }
static kn_status run_interpolate_grad(const kn_record *r) { return run(r, true); }

const kni_native kni_cpu_interpolate = {.run = run_interpolate};
const kni_native kni_cpu_interpolate_grad = {.run = run_interpolate_grad};
