/* The CPU entries of resampling along any axes and its transpose. */
#include "backend/cpu/resample_drive.h"
#include "ops/generated/resample_kernels.h"
#include "ops/native.h"
#include "ops/resample.h"
#include <string.h>

typedef struct resampling {
    const kni_resample_attributes *a;
    const kni_resample_job *job;
} resampling;

static void fill_taps(const void *context, int axis, int64_t *positions, double *weights)
{
    const resampling *s = context;
    const kni_resample_attributes *a = s->a;
    int64_t error[2] = {0, 0};
    void *outputs[2] = {positions, weights};
    int64_t ints[] = {
        a->mode,          a->rule,          a->transform,       a->antialias != 0, a->exclude_outside != 0,
        s->job->sx[axis], s->job->sy[axis], s->job->width[axis]};
    double reals[] = {kni_resample_entry(a, a->scale, axis), kni_resample_entry(a, a->begin, axis),
                      kni_resample_entry(a, a->end, axis), a->cubic};
    kni_kernel_call call = {.outputs = outputs, .ints = ints, .reals = reals, .error = error};
    kni_kernel_resample_taps.instances[0](&call, 0, s->job->sy[axis]);
}

static kn_status run(const kn_record *r, bool back)
{
    const kni_type *in = &kni_in(r, 0)->type, *out = &kni_out(r, 0)->type;
    const kni_resample_attributes *a = r->attributes;
    kni_resample_view x = kni_view_resampled(back ? out : in, &a->axes);
    kni_resample_view y = kni_view_resampled(back ? in : out, &a->axes);
    kni_resample_job job = {.planes = x.planes,
                            .fill = fill_taps,
                            .back = back,
                            .nearest = a->mode == KN_RESAMPLE_NEAREST,
                            .outside = a->outside};
    resampling s = {a, &job};
    job.context = &s;
    memcpy(job.sx, x.sizes, sizeof job.sx);
    memcpy(job.sy, y.sizes, sizeof job.sy);
    memcpy(job.between, x.between, sizeof job.between);
    for (int k = 0; k < KNI_RESAMPLE_AXES; k++) job.width[k] = kni_resample_width(a, k, job.sx[k], job.sy[k]);
    return kni_cpu_resample_planes(r, &job);
}

static kn_status run_resample(const kn_record *r) { return run(r, false); }
static kn_status run_resample_grad(const kn_record *r) { return run(r, true); }

const kni_native kni_cpu_resample = {.run = run_resample};
const kni_native kni_cpu_resample_grad = {.run = run_resample_grad};
