/* The CPU entry of adaptive mean pooling: rows of a window first, then columns. */
#include "backend/cpu/norm_drive.h"
#include "ops/native.h"
#include "ops/pooling.h"

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

const kni_native kni_cpu_adaptive_avg_pool = {.run = run_adaptive_avg_pool};
