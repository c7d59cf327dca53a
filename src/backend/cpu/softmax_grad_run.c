/* The CPU entries of the gradients of softmax and log_softmax. */
#include "backend/cpu/isa.h"
#include "backend/cpu/softmax_kernels.h"
#include "backend/cpu/softmax_run.h"
#include "ops/native.h"

static const kni_softmax_grad_kernels *const f32_kernels[KNI_ISA_COUNT] =
    KNI_TIER_TABLE(&kni_softmax_grad_f32);
static const kni_softmax_grad_kernels *const f64_kernels[KNI_ISA_COUNT] =
    KNI_TIER_TABLE(&kni_softmax_grad_f64);

static void backward_row(void *context, int64_t position, const void *const *in, void *out)
{
    (void)position;
    const kni_softmax_context *c = context;
    ((const kni_softmax_grad_kernels *)c->kernels)->row(out, in[0], in[1], c->axis, c->logarithm);
}

static void backward_columns(void *context, int64_t position, int64_t width, int64_t stride,
                             const void *const *in, void *out)
{
    (void)position;
    const kni_softmax_context *c = context;
    ((const kni_softmax_grad_kernels *)c->kernels)
        ->columns(out, in[0], in[1], c->axis, width, stride, c->logarithm);
}

static kn_status run(const kn_record *r, bool logarithm)
{
    const kni_softmax_grad_kernels *const *kernels =
        kni_out(r, 0)->type.dtype == KN_F64 ? f64_kernels : f32_kernels;
    kni_norm_job job = {.row = backward_row, .columns = backward_columns};
    return kni_softmax_run(r, kernels[kni_cpu_tier()], logarithm, job);
}

static kn_status run_softmax_grad(const kn_record *r) { return run(r, false); }
static kn_status run_log_softmax_grad(const kn_record *r) { return run(r, true); }

const kni_native kni_cpu_softmax_grad = {.run = run_softmax_grad};
const kni_native kni_cpu_log_softmax_grad = {.run = run_log_softmax_grad};
