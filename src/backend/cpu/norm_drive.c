/* The loops over rows and blocks of columns that the softmax, norm and loss entries share. Tasks are cut by shape
   alone, and no kernel's result depends on how. */
#include "backend/cpu/norm_drive.h"
#include "backend/cpu/elementwise_convert.h"
#include "backend/cpu/fetch_ahead.h"
#include "core/thread_pool.h"
#include <stdatomic.h>

#ifdef KN_FREESTANDING
enum { PARALLEL_MIN = 1 << 30, TASK = 1 << 20 };
#else
enum { PARALLEL_MIN = 1 << 15, TASK = 1 << 14 };
#endif

KNI_THREAD_LOCAL kni_ahead *kni_rows_ahead;

typedef struct run_state {
    const kni_norm_job *job;
    int64_t units, block; /* rows or blocks of columns, and how many of them a task does */
    int64_t tiles;        /* blocks of columns in one of outer */
    int64_t bytes;        /* of an element in memory */
    _Atomic bool failed;
} run_state;

static void convert_tile(void *to, int to_dtype, int64_t to_stride, const void *from, int from_dtype,
                         int64_t from_stride, int64_t n, int64_t width)
{
    int64_t to_bytes = kni_bytes_of(to_dtype), from_bytes = kni_bytes_of(from_dtype);
    for (int64_t k = 0; k < n; k++)
        kni_cpu_convert((char *)to + k * to_stride * to_bytes, to_dtype, 1,
                        (const char *)from + k * from_stride * from_bytes, from_dtype, 1, width);
}

static void run_unit(const kni_norm_job *j, int64_t position, int64_t width, int64_t stride,
                     const void *const *in, void *out)
{
    if (j->inner == 1)
        j->row(j->context, position, in, out);
    else
        j->columns(j->context, position, width, stride, in, out);
}

/* Through buffers of f32, [axis, width] for each operand and the result. */
static void run_converted(const kni_norm_job *j, int64_t position, int64_t width, const void *const *from,
                          void *to, float *scratch)
{
    const void *in[KNI_NORM_MAX_IN];
    int64_t n = j->inner == 1 ? 1 : j->axis, run = j->inner == 1 ? j->axis : width;
    for (int i = 0; i < j->n_in; i++) {
        convert_tile(scratch, KN_F32, run, from[i], j->dtype, j->inner, n, run);
        in[i] = scratch;
        scratch += n * run;
    }
    run_unit(j, position, width, width, in, scratch);
    if (to) convert_tile(to, j->dtype, j->inner, scratch, KN_F32, run, n, run);
}

static void run_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    run_state *s = argument;
    const kni_norm_job *j = s->job;
    int64_t begin = task * s->block, end = begin + s->block < s->units ? begin + s->block : s->units;
    bool converts = j->dtype != kni_norm_dtype(j->dtype);
    size_t scratch_bytes = (size_t)(j->n_in + 1) * (size_t)j->axis * sizeof(float);
    if (j->inner != 1) scratch_bytes *= KNI_NORM_WIDTH;
    float *scratch = converts ? kni_allocate(scratch_bytes) : NULL;
    if (converts && !scratch) {
        atomic_store(&s->failed, true);
        return;
    }
    for (int64_t u = begin; u < end; u++) {
        int64_t o = u / s->tiles, first = u % s->tiles * KNI_NORM_WIDTH;
        int64_t width = j->inner - first < KNI_NORM_WIDTH ? j->inner - first : KNI_NORM_WIDTH;
        int64_t at = (o * j->axis * j->inner + first) * s->bytes;
        const void *in[KNI_NORM_MAX_IN];
        for (int i = 0; i < j->n_in; i++) in[i] = (const char *)j->in[i] + at;
        void *out = j->out ? (char *)j->out + at : NULL;
        int64_t position = o * j->inner + first;
        if (converts)
            run_converted(j, position, width, in, out, scratch);
        else
            run_unit(j, position, width, j->inner, in, out);
    }
    if (scratch) kni_free(scratch, scratch_bytes);
}

void kni_norm_share(int64_t work, int64_t tasks, void (*fn)(void *arg, int64_t task, int worker), void *arg)
{
    if (work >= PARALLEL_MIN && tasks > 1)
        kni_parallel_for(tasks, fn, arg);
    else
        for (int64_t t = 0; t < tasks; t++) fn(arg, t, 0);
}

kn_status kni_norm_run(const kni_norm_job *job)
{
    run_state s = {.job = job, .bytes = kni_bytes_of(job->dtype), .failed = false};
    if (job->outer == 0 || job->inner == 0) return KN_OK;
    s.tiles = (job->inner + KNI_NORM_WIDTH - 1) / KNI_NORM_WIDTH;
    s.units = job->outer * s.tiles;
    int64_t unit = job->axis * (job->inner < KNI_NORM_WIDTH ? job->inner : KNI_NORM_WIDTH);
    s.block = unit == 0 || unit < TASK ? TASK / (unit ? unit : 1) : 1;
    kni_norm_share(job->outer * job->axis * job->inner, (s.units + s.block - 1) / s.block, run_task, &s);
    if (atomic_load(&s.failed))
        return kni_fail_op(KN_ERROR_MEMORY, NULL, "no memory for the intermediate values");
    return KN_OK;
}
