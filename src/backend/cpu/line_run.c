/* Running records as programs of lines: those of kn_op_define, and built-in rows along lines without a kernel of their own.
   What a line gives depends on that line alone, so that all partitions of the work give the same bits. */
#include "backend/cpu/isa.h"
#include "backend/cpu/line_job.h"
#include "backend/cpu/reduce_plan.h"
#include "backend/host/host.h"
#include "core/thread_pool.h"
#include "ops/line.h"
#include <string.h>

enum {
    BLOCK_BYTES = 1 << 15, /* of all registers, where lines are short */
    TASK = 1 << 15,        /* elements */
    PARALLEL_MIN = 1 << 15,
    DOWN_TASKS = 64, /* partial sums over lines */
    ALIGN = 64
};

/* ---- sizes */

static void find_shape(kni_line_job *j, const kni_type *shape, uint32_t axes)
{
    kni_line_shape *t = &j->shape;
    for (int in_line = 0; in_line < 2; in_line++) {
        if (in_line) t->n_outer = t->rank;
        for (int a = 0; a < shape->rank; a++)
            if ((int)(axes >> a & 1) == in_line) t->axes[t->rank++] = a;
    }
    for (int a = 0; a < t->rank; a++) {
        t->dims[a] = shape->dims[t->axes[a]];
        t->turned |= t->axes[a] != a;
    }
    j->lines = kni_count_dims(t->n_outer, t->dims);
    j->n = kni_count_dims(t->rank - t->n_outer, t->dims + t->n_outer);
}

/* Floats that meet f64 are computed in it, integers in 64 bits. */
static bool find_types(kni_line_job *j, const kni_type *shape)
{
    int compute = kni_is_float(shape->dtype) ? KNI_COMPUTE_F32 : kni_wide_of[shape->dtype];
    for (int i = 0; i < j->r->n_in; i++) {
        const kni_tensor *x = kni_in(j->r, i);
        if (compute == KNI_COMPUTE_F32 && x && !x->type.weak && x->type.dtype == KN_F64)
            compute = KNI_COMPUTE_F64;
    }
    j->compute = compute;
    const int dtypes[3] = {[KNI_GIVES_VALUE] = kni_compute_dtype[compute],
                           [KNI_GIVES_TRUTH] = KN_BOOL,
                           [KNI_GIVES_INDEX] = KN_I64};
    for (int i = 0; i < 3; i++) {
        j->dtypes[i] = dtypes[i];
        j->bytes[i] = kni_bytes_of(dtypes[i]);
    }
    j->folds = kni_reduce_type_of_extremes(dtypes[KNI_GIVES_VALUE]).kernels[kni_cpu_tier()];
    return kni_line_has_strips(j);
}

static bool sums_down(const kni_line_program *p)
{
    bool down = false;
    for (int k = 0; k < p->n_results; k++) down |= p->results[k].down;
    return down;
}

/* Blocks and tasks follow from the sizes alone, so that sums over lines do. */
static int64_t plan(kni_line_job *j)
{
    const kni_line_program *p = j->p;
    int64_t size = p->indices ? 8 : j->bytes[KNI_GIVES_VALUE], per_line = (p->n_wide + 1) * j->n * size;
    j->block = BLOCK_BYTES / per_line;
    if (j->block < 1) j->block = 1;
    j->per_task = TASK / j->n > 0 ? TASK / j->n : 1;
    if (sums_down(p) && j->lines > DOWN_TASKS * j->per_task)
        j->per_task = (j->lines + DOWN_TASKS - 1) / DOWN_TASKS;
    if (j->block > j->per_task) j->block = j->per_task;
    if (j->block > j->lines) j->block = j->lines;
    j->wide_bytes = ((size_t)(j->block * j->n * size) + ALIGN - 1) / ALIGN * ALIGN;
    j->narrow_bytes = ((size_t)(j->block * size) + ALIGN - 1) / ALIGN * ALIGN;
    j->scratch_bytes = (size_t)p->n_wide * j->wide_bytes + (size_t)p->n_narrow * j->narrow_bytes + ALIGN;
    return (j->lines + j->per_task - 1) / j->per_task;
}

/* ---- sums over lines */

static bool start_down(kni_line_job *j, int64_t tasks)
{
    for (int k = 0; k < j->p->n_results; k++) {
        if (!j->p->results[k].down) continue;
        size_t bytes = (size_t)(tasks * j->n) * sizeof(double);
        j->down[k] = kni_allocate(bytes);
        if (!j->down[k]) return false;
        memset(j->down[k], 0, bytes);
    }
    return true;
}

/* The sums of all tasks, in their order. */
static void end_down(const kni_line_job *j, int64_t tasks)
{
    for (int k = 0; k < j->p->n_results; k++) {
        double *sums = j->down[k];
        if (!sums) continue;
        for (int64_t task = 1; task < tasks; task++)
            for (int64_t i = 0; i < j->n; i++) sums[i] += sums[task * j->n + i];
        kni_convert(j->out[k].data, j->out[k].dtype, 1, sums, KN_F64, 1, j->n);
    }
}

/* ---- a record */

static void run_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    kni_line_job *j = argument;
    char *memory = kni_allocate(j->scratch_bytes);
    if (!memory) {
        atomic_store(&j->out_of_memory, true);
        return;
    }
    int64_t begin = task * j->per_task, end = begin + j->per_task < j->lines ? begin + j->per_task : j->lines;
    kni_line_walk(j, memory, begin, end, task);
    kni_free(memory, j->scratch_bytes);
}

static void run_tasks(kni_line_job *j, int64_t tasks)
{
    if (j->lines * j->n >= PARALLEL_MIN)
        kni_parallel_for(tasks, run_task, j);
    else
        for (int64_t task = 0; task < tasks; task++) run_task(j, task, 0);
}

static kn_status run_job(kni_line_job *j)
{
    int64_t tasks = plan(j);
    bool good = start_down(j, tasks) && kni_line_start_operands(j);
    if (good) run_tasks(j, tasks);
    good = good && !atomic_load(&j->out_of_memory);
    if (good && j->bad_line < 0) {
        kni_line_turn_results(j);
        end_down(j, tasks);
    }
    kni_line_end_operands(j);
    for (int k = 0; k < j->p->n_results; k++)
        if (j->down[k]) kni_free(j->down[k], (size_t)(tasks * j->n) * sizeof(double));
    if (!good) return kni_fail_op(KN_ERROR_MEMORY, j->r->row->name, "no memory for the intermediate values");
    if (j->bad_line < 0) return KN_OK;
    return kni_fail_op(KN_ERROR_INDEX, j->r->row->name, "index %D is out of range", j->bad_index);
}

kn_status kni_line_run(const kn_record *r, const kni_line_program *p, int64_t longest)
{
    const kni_type *shape;
    uint32_t axes;
    kni_line_job j = {.r = r, .p = p, .reporting = ATOMIC_FLAG_INIT, .bad_line = -1};
    if (!kni_line_levels(r, &shape, &axes)) return KN_ERROR_UNSUPPORTED;
    find_shape(&j, shape, axes);
    if (j.n < 1 || j.lines < 1 || (longest && j.n > longest)) return KN_ERROR_UNSUPPORTED;
    if (!find_types(&j, shape) || (j.compute > KNI_COMPUTE_F64 && sums_down(p)) || !kni_line_shapes_fit(&j) ||
        !kni_line_count(&j))
        return KN_ERROR_UNSUPPORTED;
    for (int k = 0; k < r->n_out; k++) {
        kn_status s = kni_host_allocate(kni_out(r, k));
        if (s) return s;
    }
    return run_job(&j);
}
