/* KN_FUSION_LOG=1: why a plan is not replayed, each reason once for each plan. */
#include "backend/gpu/gpu_recording.h"
#include "core/text.h"

static const char *const texts[KNI_GPU_WHYS] = {
    [KNI_GPU_WHY_OWN_LOWERING] = "a lowering of the user's may be something else each time",
    [KNI_GPU_WHY_RANDOM] = "a lowering draws random numbers",
    [KNI_GPU_WHY_FAILED] = "something failed",
    [KNI_GPU_WHY_HOST_MEMORY] = "the host had no memory to note it",
    [KNI_GPU_WHY_NUMBER] = "a number has to be copied from the host in the middle",
    [KNI_GPU_WHY_UPLOAD] = "values are copied from the host in the middle",
    [KNI_GPU_WHY_READ] = "values are read in the middle",
    [KNI_GPU_WHY_WAIT] = "the device is waited for in the middle",
    [KNI_GPU_WHY_MEMORY] = "the device has no memory for it beside what is kept",
    [KNI_GPU_WHY_FAULTS] = "recordings have no cells left for what its kernels may report",
    [KNI_GPU_WHY_THREAD] = "another thread used the device in the middle",
    [KNI_GPU_WHY_DRIVER] = "the driver could not record it",
    [KNI_GPU_WHY_ROOM] = "its memory is more than recordings may have",
    [KNI_GPU_WHY_RESULT] = "a result lies in memory that is neither the plan's nor an input's",
    [KNI_GPU_WHY_SHARED_RESULT] = "two results lie in the same memory",
    [KNI_GPU_WHY_INPUT] = "an input lies elsewhere than before",
    [KNI_GPU_WHY_WRITTEN] = "an input that is written over has another user",
    [KNI_GPU_WHY_HELD] = "results of the run before are still in use",
    [KNI_GPU_WHY_MODES] = "a setting of the process has changed",
    [KNI_GPU_WHY_NUMBERS] = "a number changed that its kernels cannot be given anew",
    [KNI_GPU_WHY_GIVEN_UP] = "none of its recordings fitted again, so no more are made",
};

static const char *name_at(const kni_plan_run *run, int32_t step)
{
    const kni_group *group = step >= 0 && step < run->n_steps ? run->steps[step] : NULL;
    return group && group->n_records ? group->records[group->n_records - 1]->row->name : "nothing";
}

/* The first op that reads or makes the tensor. */
static const char *name_about(const kni_plan_run *run, const kni_tensor *x)
{
    for (int32_t i = 0; i < run->n_steps; i++)
        for (int32_t k = 0; k < run->steps[i]->n_records; k++) {
            const kn_record *r = run->steps[i]->records[k];
            for (int j = 0; j < r->n_out + r->n_in; j++)
                if (r->ids[j] != KNI_NO_SLOT && kni_slot(r->ids[j]) == x) return r->row->name;
        }
    return "nothing";
}

void kni_gpu_plan_tell(kni_gpu_plan *plan, const kni_plan_run *run, kni_gpu_why why, const kni_tensor *about)
{
    if (!kni_plan_log_wanted() || plan->told >> why & 1) return;
    plan->told |= UINT32_C(1) << why;
    const kni_gpu_recording *r = plan->gpu ? plan->gpu->recording : NULL;
    int32_t step = !r ? run->n_steps : r->spoiled ? r->why_step : run->step;
    char what[160] = "";
    kni_text text = {what, sizeof what, 0};
    if (about)
        kni_text_format(&text, " (%S of %s)", &about->type, name_about(run, about));
    else if (step < run->n_steps)
        kni_text_format(&text, " (in step %d, %s)", step, name_at(run, step));
    kni_log(KN_LOG_INFO, "fusion: the plan of %d steps from %s to %s is not replayed: %s%s", run->n_steps,
            name_at(run, 0), name_at(run, run->n_steps - 1), texts[why], what);
}
