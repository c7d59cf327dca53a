/* Windows over the planes of all images and channels. */
#include "backend/cpu/conv_window.h"
#include "backend/cpu/conv_pack.h"
#include "backend/cpu/matmul_run.h"
#include "core/thread_pool.h"

enum { TASK_WORK = 1 << 16, ALONE_WORK = 1 << 18 };

typedef struct {
    const kni_conv_plan *plan;
    const kni_conv_tensor *x, *y;
    const float *weights, *bias;
    kni_conv_window window; /* all that is the same for each plane */
    int64_t planes, of_task;
} window_job;

static bool fits(const kni_conv_plan *p, const kni_conv_tensor *x, const kni_conv_tensor *y)
{
    const kni_conv_axis *a = p->axes;
    return p->kernels->window && !p->transposed && p->channels == 1 && p->compute == KN_F32 &&
           x->dtype == KN_F32 && y->dtype == KN_F32 && a[0].taps == 1 && a[0].target == 1 &&
           a[0].padding == 0 && a[1].taps == a[2].taps && a[1].stride == a[2].stride && a[1].dilation == 1 &&
           a[2].dilation == 1 && (x->sizes[2] == 1 || a[2].source == 1);
}

static bool one_plane(const window_job *job, int64_t plane)
{
    const kni_conv_plan *p = job->plan;
    const int64_t outs = p->groups * p->outs, n = plane / outs, o = plane % outs;
    kni_conv_window w = job->window;
    w.x = (const float *)job->x->data + n * job->x->batch + o / p->outs * job->x->channel;
    w.w = job->weights + o * kni_conv_taps(p);
    w.y = (float *)job->y->data + n * job->y->batch + o * job->y->channel;
    w.bias = job->bias ? job->bias + o : NULL;
    w.finish = kni_finish_from(w.finish, (long)o);
    return p->kernels->window(&w);
}

static void run_task(void *argument, int64_t task, int worker)
{
    const window_job *job = argument;
    const int64_t first = task * job->of_task, end = first + job->of_task;
    (void)worker;
    for (int64_t i = first; i < end && i < job->planes; i++) one_plane(job, i);
}

bool kni_conv_window_run(const kni_conv_plan *p, const kni_conv_tensor *x, const void *weights,
                         const void *bias, const kni_conv_tensor *y, const kni_finish *finish)
{
    const kni_conv_axis *a = p->axes;
    window_job job = {.plan = p,
                      .x = x,
                      .y = y,
                      .weights = weights,
                      .bias = bias,
                      .planes = p->batch * p->groups * p->outs};
    if (!fits(p, x, y)) return false;
    job.window = (kni_conv_window){.taps = (int)a[1].taps,
                                   .stride = (int)a[1].stride,
                                   .padding = {a[1].padding, a[2].padding},
                                   .x_row = x->sizes[1],
                                   .x_rows = a[1].source,
                                   .x_columns = a[2].source,
                                   .y_row = y->sizes[1],
                                   .rows = a[1].target,
                                   .columns = a[2].target,
                                   .finish = *finish,
                                   .separate = kni_reproducible()};
    if (!one_plane(&job, 0)) return false;
    const int64_t work = a[1].target * a[2].target * kni_conv_taps(p);
    job.of_task = TASK_WORK / work + 1;
    const int64_t tasks = (job.planes + job.of_task - 1) / job.of_task;
    if (work * job.planes >= ALONE_WORK)
        kni_parallel_for(tasks, run_task, &job);
    else
        for (int64_t i = 0; i < tasks; i++) run_task(&job, i, 0);
    return true;
}
