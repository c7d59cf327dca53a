/* The CPU entries of softmax and log_softmax. */
#include "backend/cpu/softmax_run.h"
#include "backend/cpu/fetch_ahead.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/softmax_kernels.h"
#include "ops/native.h"
#include "ops/softmax.h"

static const kni_softmax_kernels *const f32_kernels[KNI_ISA_COUNT] = KNI_TIER_TABLE(&kni_softmax_f32);
static const kni_softmax_kernels *const f64_kernels[KNI_ISA_COUNT] = KNI_TIER_TABLE(&kni_softmax_f64);

static void forward_row(void *context, int64_t position, const void *const *in, void *out)
{
    (void)position;
    const kni_softmax_context *c = context;
    ((const kni_softmax_kernels *)c->kernels)->row(out, in[0], c->axis, c->logarithm, c->quiet);
}

static void forward_columns(void *context, int64_t position, int64_t width, int64_t stride,
                            const void *const *in, void *out)
{
    (void)position;
    const kni_softmax_context *c = context;
    ((const kni_softmax_kernels *)c->kernels)
        ->columns(out, in[0], c->axis, width, stride, c->logarithm, c->quiet);
}

kn_status kni_softmax_run(const kn_record *r, const void *kernels, bool logarithm, kni_norm_job job)
{
    const kni_softmax_attributes *a = r->attributes;
    kni_tensor *y = kni_out(r, 0);
    kni_softmax_view view = kni_softmax_view_of(&y->type, a->axis);
    kni_softmax_context context = {kernels, view.axis, logarithm, a->quiet != 0};
    job.outer = view.outer;
    job.axis = view.axis;
    job.inner = view.inner;
    job.dtype = y->type.dtype;
    job.context = &context;
    job.n_in = r->n_in;
    kni_borrowed in[2] = {{0}};
    kn_status s = KN_OK;
    for (int i = 0; i < r->n_in && s == KN_OK; i++) {
        if (!kni_host_borrow(kni_in(r, i), y->type.dtype, &in[i])) s = KN_ERROR_MEMORY;
        job.in[i] = in[i].data;
    }
    if (s == KN_OK) s = kni_host_allocate_or_reuse(r, y, 3);
    if (s == KN_OK && view.axis > 0) {
        job.out = y->storage->data;
        s = kni_norm_run(&job);
    }
    for (int i = 0; i < r->n_in; i++) kni_host_unborrow(&in[i]);
    return s;
}

static kn_status run(const kn_record *r, bool logarithm)
{
    const kni_softmax_kernels *const *kernels =
        kni_out(r, 0)->type.dtype == KN_F64 ? f64_kernels : f32_kernels;
    kni_norm_job job = {.row = forward_row, .columns = forward_columns};
    return kni_softmax_run(r, kernels[kni_cpu_tier()], logarithm, job);
}

static kn_status run_softmax(const kn_record *r) { return run(r, false); }
static kn_status run_log_softmax(const kn_record *r) { return run(r, true); }

const kni_native kni_cpu_softmax = {.run = run_softmax, KNI_AHEAD(KNI_WORK_HEAVY + KNI_WORK_DIVISION)};
const kni_native kni_cpu_log_softmax = {.run = run_log_softmax};
