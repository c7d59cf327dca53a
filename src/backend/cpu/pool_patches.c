/* The CPU entries of unfold4d, which only copies, and of adaptive mean pooling. */
#include "backend/cpu/norm_drive.h"
#include "core/allocator.h"
#include "ops/native.h"
#include "ops/pooling.h"
#include <string.h>

/* ---- unfold4d */

typedef struct patch_job {
    const kni_patch_attributes *a;
    const char *x;
    char *columns;
    int64_t bytes, sx[2], sy[2];
} patch_job;

/* The elements of x at start, start + stride, ... as `n` in a row. */
static void copy_steps(char *to, const char *from, int64_t stride, int64_t n, int64_t bytes)
{
    if (stride == 1)
        memcpy(to, from, (size_t)(n * bytes));
    else if (bytes == 4)
        for (int64_t i = 0; i < n; i++) memcpy(to + i * 4, from + i * stride * 4, 4);
    else
        for (int64_t i = 0; i < n; i++) memcpy(to + i * bytes, from + i * stride * bytes, (size_t)bytes);
}

/* One row of columns: one channel and one place in the window, all patches. */
static void unfold_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    const patch_job *j = argument;
    const kni_patch_attributes *a = j->a;
    int64_t k1 = task % a->window.dims[1], k0 = task / a->window.dims[1] % a->window.dims[0];
    int64_t plane = task / a->window.dims[1] / a->window.dims[0], stride = a->stride.dims[1];
    int64_t offset = k1 * a->dilation.dims[1] - a->padding.dims[1];
    /* The patches first .. end - 1 of a line lie inside of x. */
    int64_t first = offset < 0 ? (-offset + stride - 1) / stride : 0;
    int64_t end = offset < j->sx[1] ? (j->sx[1] - 1 - offset) / stride + 1 : 0;
    if (end > j->sy[1]) end = j->sy[1];
    if (first > end) first = end;
    char *to = j->columns + task * j->sy[0] * j->sy[1] * j->bytes;
    for (int64_t o = 0; o < j->sy[0]; o++, to += j->sy[1] * j->bytes) {
        int64_t i0 = o * a->stride.dims[0] - a->padding.dims[0] + k0 * a->dilation.dims[0];
        bool inside = i0 >= 0 && i0 < j->sx[0];
        int64_t from = inside ? first : 0, to_end = inside ? end : 0;
        memset(to, 0, (size_t)(from * j->bytes));
        memset(to + to_end * j->bytes, 0, (size_t)((j->sy[1] - to_end) * j->bytes));
        if (to_end == from) continue;
        int64_t start = (plane * j->sx[0] + i0) * j->sx[1] + offset + from * stride;
        copy_steps(to + from * j->bytes, j->x + start * j->bytes, stride, to_end - from, j->bytes);
    }
}

static kn_status run_unfold4d(const kn_record *r)
{
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0);
    patch_job j = {.a = r->attributes, .bytes = (int64_t)kni_element_bytes(x)};
    kni_borrowed from;
    int64_t rows = kni_count_dims(y->type.rank - 1, y->type.dims), elements = kni_count(&y->type);
    kn_status s = kni_host_allocate(y);
    if (s || elements == 0) return s;
    if (!kni_host_borrow(x, x->type.dtype, &from))
        return kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for the intermediate values");
    for (int i = 0; i < 2; i++) {
        int64_t span = (j.a->window.dims[i] - 1) * j.a->dilation.dims[i] + 1;
        j.sx[i] = x->type.dims[x->type.rank - 2 + i];
        j.sy[i] = (j.sx[i] + 2 * j.a->padding.dims[i] - span) / j.a->stride.dims[i] + 1;
    }
    j.x = from.data;
    j.columns = y->storage->data;
    kni_norm_share(elements, rows, unfold_task, &j);
    kni_host_unborrow(&from);
    return KN_OK;
}

/* ---- adaptive mean pooling: rows of a window first, then columns */

enum { ROW = 1024 };

typedef struct adaptive_job {
    const void *x;
    void *y;
    int64_t sx[3], sy[3];
    bool wide;
} adaptive_job;

static int64_t window_begin(int64_t o, int64_t in, int64_t out) { return o * in / out; }
static int64_t window_end(int64_t o, int64_t in, int64_t out) { return ((o + 1) * in + out - 1) / out; }

#define DEFINE(T, suffix)                                                                                    \
    static void adaptive_##suffix(const adaptive_job *j, const T *x, T *y)                                   \
    {                                                                                                        \
        T row[ROW];                                                                                          \
        for (int64_t line = 0; line < j->sy[0] * j->sy[1]; line++) {                                         \
            int64_t o0 = line / j->sy[1], o1 = line % j->sy[1], rows = 0;                                    \
            for (int64_t i = 0; i < j->sx[2]; i++) row[i] = 0;                                               \
            for (int64_t i0 = window_begin(o0, j->sx[0], j->sy[0]); i0 < window_end(o0, j->sx[0], j->sy[0]); \
                 i0++)                                                                                       \
                for (int64_t i1 = window_begin(o1, j->sx[1], j->sy[1]);                                      \
                     i1 < window_end(o1, j->sx[1], j->sy[1]); i1++, rows++) {                                \
                    const T *from = x + (i0 * j->sx[1] + i1) * j->sx[2];                                     \
                    for (int64_t i = 0; i < j->sx[2]; i++) row[i] += from[i];                                \
                }                                                                                            \
            for (int64_t o = 0; o < j->sy[2]; o++) {                                                         \
                int64_t begin = window_begin(o, j->sx[2], j->sy[2]),                                         \
                        end = window_end(o, j->sx[2], j->sy[2]);                                             \
                T total = 0;                                                                                 \
                for (int64_t i = begin; i < end; i++) total += row[i];                                       \
                y[line * j->sy[2] + o] = total / (T)(rows * (end - begin));                                  \
            }                                                                                                \
        }                                                                                                    \
    }
DEFINE(float, f32)
DEFINE(double, f64)

static void adaptive_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    const adaptive_job *j = argument;
    int64_t x = task * j->sx[0] * j->sx[1] * j->sx[2], y = task * j->sy[0] * j->sy[1] * j->sy[2];
    if (j->wide)
        adaptive_f64(j, (const double *)j->x + x, (double *)j->y + y);
    else
        adaptive_f32(j, (const float *)j->x + x, (float *)j->y + y);
}

static kn_status run_adaptive_avg_pool(const kn_record *r)
{
    const kni_adaptive_attributes *a = r->attributes;
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0);
    adaptive_job j = {.wide = x->type.dtype == KN_F64};
    kni_borrowed from;
    kni_pool_sizes(&x->type, a->size.rank, j.sx);
    kni_pool_sizes(&y->type, a->size.rank, j.sy);
    if ((x->type.dtype != KN_F32 && !j.wide) || j.sx[2] > ROW) return KN_ERROR_UNSUPPORTED;
    kn_status s = kni_host_allocate(y);
    if (s || kni_count(&y->type) == 0) return s;
    if (!kni_host_borrow(x, x->type.dtype, &from))
        return kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for the intermediate values");
    j.x = from.data;
    j.y = y->storage->data;
    kni_norm_share(kni_count(&x->type), kni_count_dims(x->type.rank - a->size.rank, x->type.dims),
                   adaptive_task, &j);
    kni_host_unborrow(&from);
    return KN_OK;
}

const kni_native kni_cpu_unfold4d = {.run = run_unfold4d};
const kni_native kni_cpu_adaptive_avg_pool = {.run = run_adaptive_avg_pool};
