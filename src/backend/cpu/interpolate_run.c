/* The CPU entries of interpolation and its transpose: tables of taps for each axis come from the reference kernel, so
   that modes are described in one place; lines (planes in the transpose) are shared among threads. */
#include "backend/cpu/interpolate_kernels.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/norm_drive.h"
#include "core/allocator.h"
#include "ops/generated/spatial_kernels.h"
#include "ops/interpolate.h"
#include "ops/native.h"
#include "ops/pooling.h"
#include <string.h>

enum { TASK_WORK = 1 << 15 };

static kni_resize_fn *const forward_table[2][KNI_ISA_COUNT] = {KNI_TIER_TABLE(kni_resize_f32),
                                                               KNI_TIER_TABLE(kni_resize_f64)};
static kni_resize_fn *const back_table[2][KNI_ISA_COUNT] = {KNI_TIER_TABLE(kni_resize_back_f32),
                                                            KNI_TIER_TABLE(kni_resize_back_f64)};

typedef struct resize_job {
    kni_resize_plan plan;
    kni_resize_fn *run;
    const char *from;
    char *to;
    int64_t bytes, lines, lines_per_task, tasks_per_plane, from_plane, to_plane;
    bool back;
    int no_memory; /* set by any task */
} resize_job;

static void run_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    resize_job *j = argument;
    int64_t plane = task / j->tasks_per_plane, begin = task % j->tasks_per_plane * j->lines_per_task;
    int64_t end = begin + j->lines_per_task < j->lines ? begin + j->lines_per_task : j->lines;
    size_t row_bytes = (size_t)(j->plan.sx[2] * j->bytes);
    char *to = j->to + plane * j->to_plane * j->bytes;
    void *row = kni_allocate(row_bytes);
    if (!row) {
        __atomic_store_n(&j->no_memory, 1, __ATOMIC_RELAXED);
        return;
    }
    if (j->back) memset(to, 0, (size_t)(j->to_plane * j->bytes));
    j->run(&j->plan, j->from + plane * j->from_plane * j->bytes, to, row, begin, end);
    kni_free(row, row_bytes);
}

/* The bytes of one entry of a table: position, weight as f64, weight as f32. */
enum { TAP_BYTES = 20 };

/* Taps of one position side by side, as those beyond an edge, become one with the sum of their weights. */
static void merge_taps(const int64_t *positions, double *weights, int64_t rows, int64_t width)
{
    for (int64_t i = 0; i < rows * width; i++)
        if (i % width && positions[i] == positions[i - 1]) {
            weights[i] += weights[i - 1];
            weights[i - 1] = 0;
        }
}

/* One axis' table at `memory`. */
static void make_taps(resize_job *j, const kni_interpolate_attributes *a, double step, int axis, char *memory)
{
    kni_resize_plan *p = &j->plan;
    int64_t n = p->sy[axis] * p->width[axis];
    int64_t error[2] = {0, 0};
    double *weights = (double *)(memory + n * (int64_t)sizeof(int64_t));
    void *outputs[2] = {memory, weights};
    int64_t ints[] = {a->mode,     a->align_corners != 0, a->antialias != 0,
                      p->sx[axis], p->sy[axis],           p->width[axis]};
    kni_kernel_call call = {.outputs = outputs, .ints = ints, .reals = &step, .error = error};
    kni_kernel_interpolate_taps.instances[0](&call, 0, p->sy[axis]);
    const int64_t *positions = (const int64_t *)memory;
    p->ragged[axis] = false;
    for (int64_t i = 0; i < n; i++) p->ragged[axis] |= positions[i] < 0;
    if (j->back) merge_taps(positions, weights, p->sy[axis], p->width[axis]);
    if (j->bytes == 4) kni_convert(weights + n, KN_F32, 1, weights, KN_F64, 1, n);
    p->positions[axis] = positions;
    p->weights[axis] = j->bytes == 4 ? weights + n : weights;
}

static void share(resize_job *j, int64_t planes)
{
    const kni_resize_plan *p = &j->plan;
    int64_t work = p->sx[2] * p->width[0] * p->width[1] + p->sy[2] * p->width[2];
    j->lines = p->sy[0] * p->sy[1];
    j->lines_per_task = j->back ? j->lines : work < TASK_WORK ? TASK_WORK / work : 1;
    j->tasks_per_plane = (j->lines + j->lines_per_task - 1) / j->lines_per_task;
    kni_norm_share(planes * j->lines * work, planes * j->tasks_per_plane, run_task, j);
}

static kn_status no_memory(const kn_record *r)
{
    return kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for the intermediate values");
}

/* With the operands in j: makes the tables and runs. */
static kn_status run_planes(const kn_record *r, resize_job *j, int64_t planes)
{
    int64_t sizes[3], total = 0;
    double steps[3];
    kni_interpolate_steps(r->attributes, kni_in(r, 0)->type.rank - 2, steps);
    for (int i = 0; i < 3; i++) {
        j->plan.width[i] = kni_interpolate_width(r->attributes, j->plan.sx[i], j->plan.sy[i], steps[i]);
        sizes[i] = j->plan.sy[i] * j->plan.width[i] * TAP_BYTES;
        sizes[i] = (sizes[i] + 7) / 8 * 8;
        total += sizes[i];
    }
    char *tables = kni_allocate((size_t)total), *at = tables;
    if (!tables) return no_memory(r);
    for (int i = 0; i < 3; at += sizes[i++]) make_taps(j, r->attributes, steps[i], i, at);
    share(j, planes);
    kni_free(tables, (size_t)total);
    return j->no_memory ? no_memory(r) : KN_OK;
}

/* Half types pass through f32, whole. */
static kn_status run_resize(const kn_record *r, bool back)
{
    kni_tensor *in = kni_in(r, 0), *out = kni_out(r, 0);
    const kni_type *x = back ? &out->type : &in->type, *y = back ? &in->type : &out->type;
    int dtype = in->type.dtype == KN_F64 ? KN_F64 : KN_F32, wide = dtype == KN_F64;
    int64_t planes = kni_count_dims(2, x->dims), elements = kni_count(&out->type);
    resize_job j = {.bytes = kni_bytes_of(dtype), .back = back};
    kni_borrowed from;
    kn_status s = kni_host_allocate(out);
    if (s || elements == 0) return s;
    size_t copy_bytes = out->type.dtype == dtype ? 0 : (size_t)(elements * j.bytes);
    void *copy = copy_bytes ? kni_allocate(copy_bytes) : NULL;
    if (copy_bytes && !copy) return no_memory(r);
    if (kni_host_borrow(in, dtype, &from)) {
        kni_pool_sizes(x, x->rank - 2, j.plan.sx);
        kni_pool_sizes(y, y->rank - 2, j.plan.sy);
        j.run = back ? back_table[wide][kni_cpu_tier()] : forward_table[wide][kni_cpu_tier()];
        j.from = from.data;
        j.to = copy ? copy : out->storage->data;
        j.from_plane = kni_count(&in->type) / planes;
        j.to_plane = elements / planes;
        s = run_planes(r, &j, planes);
        if (copy && s == KN_OK) kni_convert(out->storage->data, out->type.dtype, 1, copy, dtype, 1, elements);
        kni_host_unborrow(&from);
    } else {
        s = no_memory(r);
    }
    if (copy) kni_free(copy, copy_bytes);
    return s;
}

static kn_status run_interpolate(const kn_record *r) { return run_resize(r, false); }
static kn_status run_interpolate_grad(const kn_record *r) { return run_resize(r, true); }

const kni_native kni_cpu_interpolate = {.run = run_interpolate};
const kni_native kni_cpu_interpolate_grad = {.run = run_interpolate_grad};
