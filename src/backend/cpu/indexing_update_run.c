/* The CPU's entries of rows that write by index. A task owns a block of the inner axis and walks all indices
   in their order, so repeated indices give the same result whatever the number of threads. */
#include "backend/cpu/indexing_positions.h"
#include "backend/host/host_copy.h"
#include "core/thread_pool.h"
#include "ops/indexing_rows.h"
#include "ops/native.h"

enum { BLOCK = 64 };

/* y[o, at[j], i] or y[o, at[o, j, i], i] updated by v[o, j, i]. */
typedef struct writing {
    char *y;
    const char *v;
    const int64_t *at;
    int64_t axis, count, inner, blocks;
} writing;

typedef void (*update_fn)(const writing *w, int64_t o, int64_t begin, int64_t end);

#define ASSIGN(o, v) (v)
#define ADD(o, v) (o) + (v)
#define MUL(o, v) (o) * (v)
#define MIN(o, v) ((o) != (o) || (o) < (v) ? (o) : (v))
#define MAX(o, v) ((o) != (o) || (o) > (v) ? (o) : (v))

/* rows: one index for a whole row of values; points: each value has its own. */
#define DEFINE(name, type, UPDATE)                                                                           \
    static void name##_rows(const writing *w, int64_t o, int64_t begin, int64_t end)                         \
    {                                                                                                        \
        type *y = (type *)w->y + o * w->axis * w->inner;                                                     \
        const type *v = (const type *)w->v + o * w->count * w->inner;                                        \
        for (int64_t j = 0; j < w->count; j++) {                                                             \
            type *to = y + w->at[j] * w->inner;                                                              \
            const type *from = v + j * w->inner;                                                             \
            for (int64_t i = begin; i < end; i++) to[i] = (type)(UPDATE(to[i], from[i]));                    \
        }                                                                                                    \
    }                                                                                                        \
    static void name##_points(const writing *w, int64_t o, int64_t begin, int64_t end)                       \
    {                                                                                                        \
        type *y = (type *)w->y + o * w->axis * w->inner;                                                     \
        for (int64_t j = 0; j < w->count; j++) {                                                             \
            int64_t row = (o * w->count + j) * w->inner;                                                     \
            const type *from = (const type *)w->v + row;                                                     \
            for (int64_t i = begin; i < end; i++) {                                                          \
                type *to = y + w->at[row + i] * w->inner + i;                                                \
                *to = (type)(UPDATE(*to, from[i]));                                                          \
            }                                                                                                \
        }                                                                                                    \
    }
DEFINE(assign_1, uint8_t, ASSIGN)
DEFINE(assign_2, uint16_t, ASSIGN)
DEFINE(assign_4, uint32_t, ASSIGN)
DEFINE(assign_8, uint64_t, ASSIGN)
#define DEFINE_ARITHMETIC(suffix, type, unsigned_type)                                                       \
    DEFINE(add_##suffix, unsigned_type, ADD)                                                                 \
    DEFINE(mul_##suffix, unsigned_type, MUL)                                                                 \
    DEFINE(min_##suffix, type, MIN)                                                                          \
    DEFINE(max_##suffix, type, MAX)
DEFINE_ARITHMETIC(f32, float, float)
DEFINE_ARITHMETIC(f64, double, double)
DEFINE_ARITHMETIC(i32, int32_t, uint32_t)
DEFINE_ARITHMETIC(i64, int64_t, uint64_t)

typedef struct pair {
    update_fn rows, points;
} pair;
#define PAIR(name)                                                                                           \
    {                                                                                                        \
        name##_rows, name##_points                                                                           \
    }
#define ARITHMETIC(suffix)                                                                                   \
    {                                                                                                        \
        [KN_UPDATE_ADD] = PAIR(add_##suffix), [KN_UPDATE_MUL] = PAIR(mul_##suffix),                          \
        [KN_UPDATE_MIN] = PAIR(min_##suffix), [KN_UPDATE_MAX] = PAIR(max_##suffix)                           \
    }
static const pair assigns[9] = {
    [1] = PAIR(assign_1), [2] = PAIR(assign_2), [4] = PAIR(assign_4), [8] = PAIR(assign_8)};
/* Other dtypes go to the reference kernel, which computes in 64 bits. */
static const pair arithmetic[KN_DTYPE_COUNT][KN_UPDATE_MAX + 1] = {[KN_F32] = ARITHMETIC(f32),
                                                                   [KN_F64] = ARITHMETIC(f64),
                                                                   [KN_I32] = ARITHMETIC(i32),
                                                                   [KN_I64] = ARITHMETIC(i64)};

typedef struct job {
    writing w;
    update_fn fn;
} job;

static void update_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    const job *j = argument;
    int64_t begin = task % j->w.blocks * BLOCK, end = begin + BLOCK;
    j->fn(&j->w, task / j->w.blocks, begin, end < j->w.inner ? end : j->w.inner);
}

/* Gives y its memory with x's elements in it, and runs the tasks. */
static kn_status update_all(const kn_record *r, job *j, const kni_positions *p, int64_t outer)
{
    kni_tensor *x = kni_in(r, 0), *values = kni_in(r, 2), *y = kni_out(r, 0);
    kni_borrowed v;
    kn_status s = kni_host_allocate_or_reuse(r, y, 1);
    if (s) return s;
    if (!kni_host_borrow(values, values->type.dtype, &v)) return KN_ERROR_MEMORY;
    if (y->storage != x->storage)
        kni_host_copy(y->storage->data, y->strides, kni_pointer(x), x->strides, x->type.rank, x->type.dims,
                      kni_element_bytes(x));
    j->w.y = y->storage->data;
    j->w.v = v.data;
    j->w.at = p->at;
    j->w.blocks = (j->w.inner + BLOCK - 1) / BLOCK;
    if (outer * j->w.blocks * j->w.count > 0) kni_parallel_for(outer * j->w.blocks, update_task, j);
    kni_host_unborrow(&v);
    return KN_OK;
}

static kn_status update(const kn_record *r, kni_positions *p, kn_status s, writing w, int64_t outer,
                        bool points)
{
    const kni_update_attributes *a = r->attributes;
    kni_tensor *x = kni_in(r, 0);
    if (s == KN_OK) {
        const pair *chosen = a->update == KN_UPDATE_ASSIGN ? &assigns[kni_element_bytes(x)]
                                                           : &arithmetic[x->type.dtype][a->update];
        job j = {w, points ? chosen->points : chosen->rows};
        s = j.fn ? update_all(r, &j, p, outer) : KN_ERROR_UNSUPPORTED;
    }
    kni_positions_free(p);
    return s;
}

static kn_status run_select_assign(const kn_record *r)
{
    const kni_update_attributes *a = r->attributes;
    kni_axis_view v = kni_view_axis(&kni_in(r, 0)->type, a->axis);
    kni_positions p;
    kn_status s = kni_positions_of_axis(r, a->axis, a->negative, &p);
    return update(r, &p, s, (writing){.axis = v.axis, .count = p.n, .inner = v.inner}, v.outer, false);
}
const kni_native kni_cpu_select_assign = {.run = run_select_assign};

static kn_status run_scatter(const kn_record *r)
{
    const kni_update_attributes *a = r->attributes;
    kni_axis_view v = kni_view_axis(&kni_in(r, 0)->type, a->axis);
    int64_t count = kni_in(r, 1)->type.dims[a->axis];
    kni_positions p;
    kn_status s = kni_positions_of_axis(r, a->axis, a->negative, &p);
    return update(r, &p, s, (writing){.axis = v.axis, .count = count, .inner = v.inner}, v.outer, true);
}
const kni_native kni_cpu_scatter = {.run = run_scatter};

static kn_status run_scatter_nd(const kn_record *r)
{
    const kni_type *x = &kni_in(r, 0)->type, *index = &kni_in(r, 1)->type;
    int depth = (int)index->dims[index->rank - 1];
    kni_positions p;
    kn_status s = kni_positions_of_tuples(r, 0, &p);
    writing w = {.axis = kni_count_dims(depth, x->dims),
                 .count = p.n,
                 .inner = kni_count_dims(x->rank - depth, x->dims + depth)};
    return update(r, &p, s, w, 1, false);
}
const kni_native kni_cpu_scatter_nd = {.run = run_scatter_nd};
