/* Sums of gradients over several backward passes. */
#include "core/objects.h"
#include "optim/optim_object.h"
#include "optim/param_list.h"
#include "support/failure.h"
#include <kn/elementwise.h>
#include <kn/tensor.h>
#include <stdlib.h>

typedef struct kni_accumulator {
    kni_param_list sums;
    int64_t count;
} kni_accumulator;

static void destroy_accumulator(void *object)
{
    kni_accumulator *accumulator = object;
    kni_param_list_free(&accumulator->sums);
    free(accumulator);
}

const kni_object_kind kni_kind_accumulator = {"kn_accumulator", "accumulator", "freed", destroy_accumulator};

kn_accumulator kn_accumulator_make(void)
{
    kni_accumulator *a = calloc(1, sizeof *a);
    if (a) return kni_object_make(&kni_kind_accumulator, a, __func__);
    kni_failure_memory("kn_accumulator_make");
    return NULL;
}

void kn_accumulator_free(kn_accumulator accumulator)
{
    kni_object_free(accumulator, &kni_kind_accumulator, __func__);
}

kn_status kn_accumulator_add(kn_accumulator handle, kn_module module, kn_grads grads, double scale)
{
    const char *function = "kn_accumulator_add";
    kni_optim_jobs jobs = {0};
    int64_t hint = 0;
    KNI_USE(accumulator, accumulator, handle);
    if (!accumulator) return KNI_NO_OBJECT(handle);
    kn_no_grad_begin();
    kn_status s = kni_optim_collect(&jobs, NULL, NULL, 0, module, grads, function);
    bool begun = s == KN_OK;
    for (int64_t i = 0; i < jobs.n && s == KN_OK; i++) {
        const kni_optim_job *job = &jobs.at[i];
        kn_tensor leaf = kn_value(*job->param);
        kn_param *sum = kni_param_list_find(&accumulator->sums, leaf, &hint);
        s = sum ? kni_param_add(sum, job->gradient, scale)
                : kni_param_list_add(&accumulator->sums, leaf, kn_mul_scalar(job->gradient, scale), function);
        if (s) s = kni_optim_fail(job, function, s, "its gradient cannot be added");
    }
    kn_no_grad_end();
    kni_optim_jobs_free(&jobs);
    if (s == KN_OK)
        accumulator->count++;
    else if (begun) { /* sums with some of its gradients are sums of nothing */
        kni_param_list_free(&accumulator->sums);
        accumulator->count = 0;
    }
    return s;
}

int64_t kn_accumulator_count(kn_accumulator handle)
{
    KNI_USE(accumulator, accumulator, handle);
    return accumulator ? accumulator->count : 0;
}

kn_status kn_accumulator_take(kn_accumulator handle, kn_grads *grads)
{
    if (!grads)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_accumulator_take: the place for the gradients is NULL");
    *grads = NULL;
    KNI_USE(accumulator, accumulator, handle);
    if (!accumulator) return KNI_NO_OBJECT(handle);
    kni_param_list *sums = &accumulator->sums;
    if (sums->n > INT32_MAX) return kni_failure_memory("kn_accumulator_take");
    kn_tensor *leaves = calloc(2 * (size_t)sums->n + 1, sizeof *leaves), *values = leaves + sums->n;
    if (!leaves) return kni_failure_memory("kn_accumulator_take");
    kn_scope scope = kn_scope_begin();
    for (int64_t i = 0; i < sums->n; i++) {
        leaves[i] = sums->at[i].leaf;
        values[i] = kn_detach(kn_value(sums->at[i].value));
    }
    *grads = kn_grads_make(leaves, values, (int32_t)sums->n);
    kn_scope_end(scope, KN_NONE);
    free(leaves);
    if (!*grads) return kni_failure(KN_ERROR_GRADIENT, "kn_accumulator_take: %s", kni_failure_taken());
    kni_param_list_free(sums);
    accumulator->count = 0;
    return KN_OK;
}
