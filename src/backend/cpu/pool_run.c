/* The CPU entries of max and mean pooling of floats: lines of the result are shared among threads. */
#include "backend/cpu/isa.h"
#include "backend/cpu/norm_drive.h"
#include "backend/cpu/pool_bytes.h"
#include "core/allocator.h"
#include "ops/native.h"
#include "ops/pooling.h"

enum { TASK_WORK = 1 << 14, F32 = 0, F64 = 1 };

static kni_pool_fn *const max_table[2][KNI_ISA_COUNT] = {KNI_TIER_TABLE(kni_pool_max_f32),
                                                         KNI_TIER_TABLE(kni_pool_max_f64)};
static kni_pool_fn *const mean_table[2][KNI_ISA_COUNT] = {KNI_TIER_TABLE(kni_pool_mean_f32),
                                                          KNI_TIER_TABLE(kni_pool_mean_f64)};
static kni_pool_fn *const at_table[2][KNI_ISA_COUNT] = {KNI_TIER_TABLE(kni_pool_at_f32),
                                                        KNI_TIER_TABLE(kni_pool_at_f64)};

typedef struct pool_job {
    kni_pool_plan plan;
    kni_pool_fn *run;
    const char *x;
    char *y;
    char *at;
    int64_t bytes, lines, lines_per_task, tasks_per_plane, x_plane, y_plane;
} pool_job;

static void run_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    const pool_job *j = argument;
    int64_t plane = task / j->tasks_per_plane, begin = task % j->tasks_per_plane * j->lines_per_task;
    int64_t end = begin + j->lines_per_task < j->lines ? begin + j->lines_per_task : j->lines;
    j->run(&j->plan, j->x + plane * j->x_plane * j->bytes, j->y + plane * j->y_plane * j->bytes,
           j->at ? j->at + plane * j->y_plane * j->plan.place_bytes : NULL, begin, end);
}

static void fill_list(int64_t *to, const kn_ints *list, int64_t absent)
{
    for (int i = 0; i < 3; i++) to[i] = i < 3 - list->rank ? absent : list->dims[i - (3 - list->rank)];
}

static void fill_plan(kni_pool_plan *p, const kni_pool_attributes *a, const kni_type *x, const kni_type *y)
{
    kni_pool_sizes(x, (int)a->axes, p->sx);
    kni_pool_sizes(y, (int)a->axes, p->sy);
    fill_list(p->window, &a->window, 1);
    fill_list(p->stride, &a->stride, 1);
    fill_list(p->padding, &a->padding, 0);
    fill_list(p->end, &a->padding_end, 0);
    fill_list(p->dilation, &a->dilation, 1);
    p->counted = !a->exclude_padding;
    p->divisor = a->divisor;
}

/* How many columns count for each position on the last axis of y. */
static void count_columns(const kni_pool_plan *p, int wide, void *columns)
{
    for (int64_t o = 0; o < p->sy[2]; o++) {
        int64_t begin = o * p->stride[2] - p->padding[2], step = p->dilation[2];
        int64_t n = (p->sx[2] + (p->counted ? p->end[2] : 0) - begin + step - 1) / step;
        if (n > p->window[2]) n = p->window[2];
        if (!p->counted && begin < 0) n -= (step - 1 - begin) / step;
        if (wide == F64)
            ((double *)columns)[o] = (double)n;
        else
            ((float *)columns)[o] = (float)n;
    }
}

static void share(pool_job *j, int64_t planes)
{
    const kni_pool_plan *p = &j->plan;
    int64_t work = p->sy[2] * p->window[0] * p->window[1] * p->window[2];
    j->lines = p->sy[0] * p->sy[1];
    j->x_plane = p->sx[0] * p->sx[1] * p->sx[2];
    j->y_plane = j->lines * p->sy[2];
    j->lines_per_task = work < TASK_WORK ? TASK_WORK / work : 1;
    j->tasks_per_plane = (j->lines + j->lines_per_task - 1) / j->lines_per_task;
    kni_norm_share(planes * j->lines * work, planes * j->tasks_per_plane, run_task, j);
}

/* Half types pass through f32, whole, and integers that f32 holds do where one of them is chosen. */
static kn_status run_pool(const kn_record *r, kni_pool_fn *const (*table)[KNI_ISA_COUNT], bool mean)
{
    const kni_pool_attributes *a = r->attributes;
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0);
    int dtype = x->type.dtype == KN_F64 ? KN_F64 : KN_F32, wide = dtype == KN_F64;
    pool_job j = {.bytes = kni_bytes_of(dtype)};
    const bool whole = !kn_dtype_is_float((kn_dtype)x->type.dtype);
    if (whole && (mean || kni_bytes_of(x->type.dtype) > 2)) return KN_ERROR_UNSUPPORTED;
    fill_plan(&j.plan, a, &x->type, &y->type);
    if (r->n_out > 1) j.plan.place_bytes = (int)kni_bytes_of(kni_out(r, 1)->type.dtype);
    if ((j.plan.window[2] - 1) * j.plan.dilation[2] + 1 > KNI_POOL_STRIP / 2) return KN_ERROR_UNSUPPORTED;
    int64_t planes = kni_count_dims(x->type.rank - (int)a->axes, x->type.dims),
            elements = kni_count(&y->type);
    if (table == max_table && (x->type.dtype == KN_U8 || x->type.dtype == KN_I8))
        return kni_pool_bytes(r, &j.plan, planes);
    kn_status s = kni_host_allocate(y);
    if (s == KN_OK && r->n_out > 1) s = kni_host_allocate(kni_out(r, 1));
    if (s || elements == 0) return s;
    size_t column_bytes = mean ? (size_t)(j.plan.sy[2] * j.bytes) : 0;
    size_t copy_bytes = y->type.dtype == dtype ? 0 : (size_t)(elements * j.bytes);
    void *columns = mean ? kni_allocate(column_bytes) : NULL;
    void *copy = copy_bytes ? kni_allocate(copy_bytes) : NULL;
    kni_borrowed from = {NULL, 0};
    if ((mean && !columns) || (copy_bytes && !copy) || !kni_host_borrow(x, dtype, &from)) {
        s = kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for the intermediate values");
    } else {
        if (mean) count_columns(&j.plan, wide, columns);
        j.plan.columns = columns;
        j.run = table[wide][kni_cpu_tier()];
        j.x = from.data;
        j.y = copy ? copy : y->storage->data;
        j.at = r->n_out > 1 ? kni_out(r, 1)->storage->data : NULL;
        share(&j, planes);
        if (copy) kni_convert(y->storage->data, y->type.dtype, 1, copy, dtype, 1, elements);
        kni_host_unborrow(&from);
    }
    if (columns) kni_free(columns, column_bytes);
    if (copy) kni_free(copy, copy_bytes);
    return s;
}

static kn_status run_max_pool(const kn_record *r) { return run_pool(r, at_table, false); }
static kn_status run_max_pool_values(const kn_record *r) { return run_pool(r, max_table, false); }
static kn_status run_avg_pool(const kn_record *r) { return run_pool(r, mean_table, true); }

const kni_native kni_cpu_max_pool = {.run = run_max_pool};
const kni_native kni_cpu_max_pool_values = {.run = run_max_pool_values};
const kni_native kni_cpu_avg_pool = {.run = run_avg_pool};
