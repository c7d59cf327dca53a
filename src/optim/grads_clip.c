/* Clipping of gradients by value, by norm and by global norm. Norms become a factor on the device that the update reads, so
   that clipping neither waits nor makes a pass of its own. */
#include "optim/optim_object.h"
#include "support/failure.h"
#include <kn/creation.h>
#include <kn/elementwise.h>
#include <kn/linalg.h>
#include <kn/shape.h>
#include <kn/tensor.h>
#include <stdlib.h>

/* The norm of one gradient, f64 for f64 and f32 for others, so that halves do not overflow. */
static kn_tensor norm_of(kn_tensor gradient)
{
    kn_dtype dtype = kn_dtype_of(gradient);
    kn_tensor x = dtype == KN_F64 || dtype == KN_F32 ? gradient : kn_cast(gradient, KN_F32);
    return kn_vector_norm(x, 2, KN_AXES_ALL, false);
}

static kn_tensor global_norm(const kni_optim_jobs *jobs)
{
    kn_tensor *norms = malloc((size_t)(jobs->n + 1) * sizeof *norms);
    kn_dtype dtype = KN_F32;
    if (!norms) return kn_poison(KN_ERROR_MEMORY, "no memory for the norms of the gradients");
    for (int64_t i = 0; i < jobs->n; i++)
        if (kn_dtype_of(jobs->at[i].gradient) == KN_F64) dtype = KN_F64;
    kn_scope scope = kn_scope_begin();
    for (int64_t i = 0; i < jobs->n; i++) norms[i] = kn_cast(norm_of(jobs->at[i].gradient), dtype);
    kn_tensor total = jobs->n == 0
                          ? kn_scalar(0, KN_F32)
                          : kn_vector_norm(kn_stack(norms, (int32_t)jobs->n, 0), 2, KN_AXES_ALL, false);
    free(norms);
    return kn_scope_end(scope, total);
}

/* min(1, limit / (norm + 1e-6)) */
static kn_tensor factor(kn_tensor norm, double limit)
{
    return kn_keep(kn_clamp_max(kn_rdiv_scalar(kn_add_scalar(norm, 1e-6), limit), 1));
}

kn_status kni_optim_clip(kni_optim_jobs *jobs, kn_clip_kind kind, double limit, const char *function)
{
    kn_status s = KN_OK;
    kn_tensor all = kind == KN_CLIP_GLOBAL_NORM ? factor(global_norm(jobs), limit) : KN_NONE;
    for (int64_t i = 0; i < jobs->n && s == KN_OK; i++) {
        kni_optim_job *job = &jobs->at[i];
        if (kind == KN_CLIP_VALUE)
            job->gradient = kn_keep(kn_clamp(job->gradient, -limit, limit));
        else
            job->scale = kind == KN_CLIP_NORM ? factor(norm_of(job->gradient), limit) : all;
        s = kni_failure_of(kind == KN_CLIP_VALUE ? job->gradient : job->scale);
        if (s) s = kni_optim_fail(job, function, s, "its gradient cannot be clipped");
    }
    return s;
}

static kn_status check_clip(kn_clip_kind kind, double limit, const char *function)
{
    if (kind < KN_CLIP_NONE || kind > KN_CLIP_GLOBAL_NORM)
        return kni_failure(KN_ERROR_ARGUMENT, "%s: %d is no kind of clipping", function, (int)kind);
    if (kind != KN_CLIP_NONE && !(limit > 0))
        return kni_failure(KN_ERROR_ARGUMENT, "%s: the limit is %s; it must be above 0", function,
                           KNI_NUMBER(limit));
    return KN_OK;
}

kn_status kn_optim_set_clip(kn_optim handle, kn_clip_kind kind, double limit)
{
    KNI_USE(optim, optim, handle);
    if (!optim) return KNI_NO_OBJECT(handle);
    kn_status s = check_clip(kind, limit, "kn_optim_set_clip");
    if (s) return s;
    optim->clip = kind;
    optim->clip_limit = limit;
    return KN_OK;
}

kn_tensor kn_grads_norm(kn_grads grads, kn_module module)
{
    kni_optim_jobs jobs = {0};
    kn_no_grad_begin();
    kn_status s = kni_optim_collect(&jobs, NULL, NULL, 0, module, grads, "kn_grads_norm");
    kn_tensor norm = s ? kn_poison(s, NULL) : global_norm(&jobs);
    kn_no_grad_end();
    kni_optim_jobs_free(&jobs);
    return norm;
}

static kn_status clip_jobs(kni_optim_jobs *jobs, kn_grads grads, kn_clip_kind kind, double limit)
{
    kn_status s = kni_optim_clip(jobs, kind, limit, "kn_grads_clip");
    for (int64_t i = 0; i < jobs->n && s == KN_OK; i++) {
        const kni_optim_job *job = &jobs->at[i];
        kn_tensor value = kn_value(*job->param), g = job->gradient;
        if (job->scale.bits) g = kn_cast(kn_mul(g, job->scale), kn_dtype_of(value));
        s = kni_failure_of(g);
        if (s == KN_OK) s = kn_grads_replace(grads, value, g);
    }
    return s;
}

kn_status kn_grads_clip(kn_grads grads, kn_module module, kn_clip_kind kind, double limit, double *norm)
{
    kni_optim_jobs jobs = {0};
    kn_status s = check_clip(kind, limit, "kn_grads_clip");
    if (s) return s;
    kn_scope scope = kn_scope_begin();
    kn_no_grad_begin();
    s = kni_optim_collect(&jobs, NULL, NULL, 0, module, grads, "kn_grads_clip");
    if (s == KN_OK && norm) {
        kn_tensor total = global_norm(&jobs);
        s = kni_failure_of(total);
        if (s == KN_OK) *norm = kn_item(total);
    }
    if (s == KN_OK && kind != KN_CLIP_NONE) s = clip_jobs(&jobs, grads, kind, limit);
    kn_no_grad_end();
    kn_scope_end(scope, KN_NONE);
    kni_optim_jobs_free(&jobs);
    return s;
}
