/* The CPU entries of the gradients of max pooling: a plane belongs to one thread, which goes through its windows in order and adds each
   dy where the window's largest element was. */
#include "backend/cpu/norm_drive.h"
#include "core/allocator.h"
#include "core/thread_pool.h"
#include "ops/native.h"
#include "ops/pooling.h"
#include <string.h>

enum { TASK_WORK = 1 << 14 };

typedef struct job {
    const char *dy, *at;
    char *dx, *scratch; /* of halves: dy and dx of one plane in f32, for each thread */
    int64_t planes, planes_per_task, windows, elements;
    int dtype, at_dtype;
} job;

/* Positions that are none of the plane count for nothing. */
#define ADD(T, P, suffix)                                                                                    \
    static void add_##suffix(const job *j, const T *dy, const P *at, T *dx)                                  \
    {                                                                                                        \
        const uint64_t elements = (uint64_t)j->elements;                                                     \
        memset(dx, 0, (size_t)elements * sizeof *dx);                                                        \
        for (int64_t o = 0; o < j->windows; o++) {                                                           \
            const uint64_t p = (uint64_t)at[o];                                                              \
            if (p < elements) dx[p] += dy[o];                                                                \
        }                                                                                                    \
    }
#define ADD_EACH(T, suffix)                                                                                  \
    ADD(T, uint16_t, suffix##_u16)                                                                           \
    ADD(T, int32_t, suffix##_i32)                                                                            \
    ADD(T, int64_t, suffix##_i64)                                                                            \
    static void add_##suffix(const job *j, const void *dy, const void *at, void *dx)                         \
    {                                                                                                        \
        if (j->at_dtype == KN_U16)                                                                           \
            add_##suffix##_u16(j, dy, at, dx);                                                               \
        else if (j->at_dtype == KN_I32)                                                                      \
            add_##suffix##_i32(j, dy, at, dx);                                                               \
        else                                                                                                 \
            add_##suffix##_i64(j, dy, at, dx);                                                               \
    }
ADD_EACH(float, f32)
ADD_EACH(double, f64)

static void add_plane(const job *j, int64_t plane, int worker)
{
    const int64_t bytes = kni_bytes_of(j->dtype);
    const char *dy = j->dy + plane * j->windows * bytes;
    const char *at = j->at + plane * j->windows * kni_bytes_of(j->at_dtype);
    char *dx = j->dx + plane * j->elements * bytes;
    if (j->dtype == KN_F64) {
        add_f64(j, dy, at, dx);
    } else if (j->dtype == KN_F32) {
        add_f32(j, dy, at, dx);
    } else {
        float *wide = (float *)j->scratch + worker * (j->windows + j->elements);
        kni_convert(wide, KN_F32, 1, dy, j->dtype, 1, j->windows);
        add_f32(j, wide, at, wide + j->windows);
        kni_convert(dx, j->dtype, 1, wide + j->windows, KN_F32, 1, j->elements);
    }
}

static void run_task(void *argument, int64_t task, int worker)
{
    const job *j = argument;
    int64_t end = (task + 1) * j->planes_per_task;
    for (int64_t plane = task * j->planes_per_task; plane < end && plane < j->planes; plane++)
        add_plane(j, plane, worker);
}

static kn_status run_grad(const kn_record *r, int axes)
{
    kni_tensor *dy = kni_in(r, 0), *at = kni_in(r, 1), *dx = kni_out(r, 0);
    const int first = dx->type.rank - axes, given = at->type.dtype;
    job j = {.planes = kni_count_dims(first, dx->type.dims),
             .windows = kni_count_dims(axes, dy->type.dims + first),
             .elements = kni_count_dims(axes, dx->type.dims + first),
             .dtype = dx->type.dtype,
             .at_dtype = given == KN_U16 || given == KN_I32 ? given : KN_I64};
    const int64_t work = j.windows + j.elements;
    const bool half = kni_is_half(j.dtype);
    const size_t scratch = half ? (size_t)kni_threads() * (size_t)work * sizeof(float) : 0;
    kni_borrowed from = {NULL, 0}, places = {NULL, 0};
    kn_status s = kni_host_allocate(dx);
    if (s || kni_count(&dx->type) == 0) return s;
    j.scratch = half ? kni_allocate(scratch) : NULL;
    if ((half && !j.scratch) || !kni_host_borrow(dy, j.dtype, &from) ||
        !kni_host_borrow(at, j.at_dtype, &places)) {
        s = kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for the intermediate values");
    } else {
        j.dy = from.data;
        j.at = places.data;
        j.dx = dx->storage->data;
        j.planes_per_task = work < TASK_WORK ? TASK_WORK / work : 1;
        kni_norm_share(j.planes * work, (j.planes + j.planes_per_task - 1) / j.planes_per_task, run_task, &j);
    }
    if (places.data) kni_host_unborrow(&places);
    if (from.data) kni_host_unborrow(&from);
    if (j.scratch) kni_free(j.scratch, scratch);
    return s;
}

static kn_status run_max_pool_grad(const kn_record *r)
{
    return run_grad(r, (int)((const kni_pool_attributes *)r->attributes)->axes);
}

static kn_status run_adaptive_max_pool_grad(const kn_record *r)
{
    return run_grad(r, ((const kni_adaptive_attributes *)r->attributes)->size.rank);
}

const kni_native kni_cpu_max_pool_grad = {.run = run_max_pool_grad};
const kni_native kni_cpu_adaptive_max_pool_grad = {.run = run_adaptive_max_pool_grad};
