/* The driver of resampling on the CPU. One pass for each axis, those that shrink x first; a task makes some elements of the first
   axis of some planes, so that what lies between its passes stays in the caches. Gradients run the same passes by transposed
   tables. */
#include "backend/cpu/resample_drive.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/norm_drive.h"
#include "backend/cpu/resample_pass.h"
#include "core/allocator.h"
#include <string.h>

enum { AXES = KNI_RESAMPLED_AXES, TASK_ELEMENTS = 1 << 15 };

static kni_resample_fn *const sums[2][KNI_ISA_COUNT] = {KNI_TIER_TABLE(kni_resample_f32),
                                                        KNI_TIER_TABLE(kni_resample_f64)};

typedef struct state {
    int n; /* axes that change something */
    kni_taps taps[AXES];
    int64_t between[AXES];
    int order[AXES];
    kni_resample_fn *run[AXES];
    int64_t planes, bytes; /* bytes: of an element */
    const char *from;
    char *to;
    int64_t from_plane, to_plane, from_row,
        to_row; /* elements of a plane, and of one element of the first axis */
    int64_t planes_per_task, rows_per_task, tasks_per_plane;
    bool fills;
    _Alignas(8) unsigned char outside[8]; /* an element of any dtype */
    int no_memory;                        /* set by any task */
    void *memory[AXES];
    size_t memory_bytes[AXES];
} state;

/* ---- moving elements */

#define DEFINE_MOVE(type)                                                                                    \
    static void move_##type(const kni_resample_pass *p, const void *from, void *to)                          \
    {                                                                                                        \
        for (int64_t b = 0; b < p->blocks; b++) {                                                            \
            const type *x = (const type *)from + b * p->rows * p->inner;                                     \
            type *y = (type *)to + b * (p->end - p->begin) * p->inner;                                       \
            const int64_t *first = p->taps->first;                                                           \
            for (int64_t o = p->begin; o < p->end; o++, y += p->inner) {                                     \
                if (first[o] == first[o + 1]) continue;                                                      \
                const type *row = x + (p->taps->positions[first[o]] - p->shift) * p->inner;                  \
                if (p->inner == 1)                                                                           \
                    *y = *row;                                                                               \
                else                                                                                         \
                    memcpy(y, row, (size_t)p->inner * sizeof(type));                                         \
            }                                                                                                \
        }                                                                                                    \
    }
DEFINE_MOVE(uint8_t)
DEFINE_MOVE(uint16_t)
DEFINE_MOVE(uint32_t)
DEFINE_MOVE(uint64_t)

static kni_resample_fn *const moves[9] = {
    [1] = move_uint8_t, [2] = move_uint16_t, [4] = move_uint32_t, [8] = move_uint64_t};

/* ---- tasks */

/* The positions of the first axis that elements begin .. end - 1 read: *low .. *high - 1. */
static void read_range(const kni_taps *t, int64_t begin, int64_t end, int64_t *low, int64_t *high)
{
    int64_t lowest = INT64_MAX, highest = -1;
    for (int64_t k = t->first[begin]; k < t->first[end]; k++) {
        if (t->positions[k] < lowest) lowest = t->positions[k];
        if (t->positions[k] > highest) highest = t->positions[k];
    }
    *low = highest < 0 ? 0 : lowest;
    *high = highest < 0 ? 1 : highest + 1;
}

/* The elements of axis `axis` of the result that have no taps become `outside`. */
static void fill_outside(const state *s, int axis, char *to, int64_t planes, int64_t begin, int64_t end)
{
    int64_t blocks = planes, inner = s->between[axis];
    for (int k = 0; k < axis; k++) blocks *= (k ? s->taps[k].out : end - begin) * s->between[k];
    for (int k = axis + 1; k < s->n; k++) inner *= s->taps[k].out * s->between[k];
    int64_t from = axis ? 0 : begin, n = axis ? s->taps[axis].out : end - begin;
    const int64_t *first = s->taps[axis].first + from;
    for (int64_t b = 0; b < blocks; b++)
        for (int64_t o = 0; o < n; o++)
            for (int64_t i = 0; first[o] == first[o + 1] && i < inner; i++)
                memcpy(to + ((b * n + o) * inner + i) * s->bytes, s->outside, (size_t)s->bytes);
}

/* How one task's passes follow from the ranges of the first axis. Returns the elements of the largest result in between. */
static int64_t plan_passes(const state *s, int64_t planes, int64_t begin, int64_t end, int64_t low,
                           int64_t high, kni_resample_pass *passes)
{
    int64_t sizes[AXES], largest = 0;
    for (int k = 0; k < s->n; k++) sizes[k] = k ? s->taps[k].in : high - low;
    for (int step = 0; step < s->n; step++) {
        int axis = s->order[step];
        kni_resample_pass *p = &passes[step];
        *p = (kni_resample_pass){&s->taps[axis],
                                 planes,
                                 sizes[axis],
                                 axis ? 0 : low,
                                 s->between[axis],
                                 axis ? 0 : begin,
                                 axis ? s->taps[axis].out : end};
        for (int k = 0; k < axis; k++) p->blocks *= sizes[k] * s->between[k];
        for (int k = axis + 1; k < s->n; k++) p->inner *= sizes[k] * s->between[k];
        sizes[axis] = p->end - p->begin;
        int64_t elements = p->blocks * sizes[axis] * p->inner;
        if (step + 1 < s->n && elements > largest) largest = elements;
    }
    return largest;
}

static void run_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    state *s = argument;
    int64_t plane = task / s->tasks_per_plane * s->planes_per_task;
    int64_t begin = task % s->tasks_per_plane * s->rows_per_task, out = s->taps[0].out;
    int64_t end = begin + s->rows_per_task < out ? begin + s->rows_per_task : out;
    int64_t planes = s->planes - plane < s->planes_per_task ? s->planes - plane : s->planes_per_task;
    int64_t low = 0, high = s->taps[0].in;
    kni_resample_pass passes[AXES];
    if (planes == 1) read_range(&s->taps[0], begin, end, &low, &high);
    int64_t largest = plan_passes(s, planes, begin, end, low, high, passes);
    size_t half = (size_t)(largest * s->bytes), bytes = s->n > 2 ? 2 * half : half;
    char *scratch = bytes ? kni_allocate(bytes) : NULL;
    if (bytes && !scratch) {
        __atomic_store_n(&s->no_memory, 1, __ATOMIC_RELAXED);
        return;
    }
    const char *from = s->from + (plane * s->from_plane + low * s->from_row) * s->bytes;
    char *result = s->to + (plane * s->to_plane + begin * s->to_row) * s->bytes;
    for (int step = 0; step < s->n; step++) {
        char *to = step + 1 == s->n ? result : scratch + (step & 1) * half;
        s->run[s->order[step]](&passes[step], from, to);
        from = to;
    }
    for (int k = 0; k < s->n && s->fills; k++) fill_outside(s, k, result, planes, begin, end);
    if (scratch) kni_free(scratch, bytes);
}

/* ---- tables */

static bool take_memory(state *s, int axis, size_t bytes, void **memory)
{
    s->memory[axis] = *memory = kni_allocate(bytes);
    s->memory_bytes[axis] = bytes;
    return *memory;
}

/* Taps of one position side by side, as those beyond an edge, become one with the sum of their weights. */
static void merge_taps(const int64_t *positions, double *weights, int64_t rows, int64_t width)
{
    for (int64_t i = 0; i < rows * width; i++)
        if (i % width && positions[i] == positions[i - 1]) {
            weights[i] += weights[i - 1];
            weights[i - 1] = 0;
        }
}

/* Counts the taps of each element into first[element + 1], or puts them where first[element] points. A tap of weight 0 gives no
   gradient: dy may be NaN or infinite there. */
static void list_taps(const int64_t *positions, const double *weights, int64_t rows, int64_t width, bool back,
                      int64_t *first, int32_t *to_positions, double *to_weights)
{
    for (int64_t o = 0; o < rows; o++)
        for (int64_t k = o * width; k < (o + 1) * width; k++) {
            int64_t element = back ? positions[k] : o;
            if (positions[k] < 0 || (back && weights[k] == 0)) continue;
            if (to_positions) {
                to_positions[first[element]] = (int32_t)(back ? o : positions[k]);
                to_weights[first[element]] = weights[k];
                first[element]++;
            } else {
                first[element + 1]++;
            }
        }
}

/* The compact table of an axis from its padded one. */
static bool make_taps(state *s, const kni_resample_job *job, int axis, int into, bool *changes)
{
    int64_t rows = job->sy[axis], width = job->width[axis], n = rows * width;
    int64_t in = job->back ? rows : job->sx[axis], out = job->back ? job->sx[axis] : rows;
    size_t padded_bytes = (size_t)n * 16;
    char *padded = kni_allocate(padded_bytes), *memory = NULL;
    void *block = NULL;
    if (padded && take_memory(s, into, (size_t)(out + 1) * 8 + (size_t)n * 20, &block)) memory = block;
    if (!memory) {
        if (padded) kni_free(padded, padded_bytes);
        return false;
    }
    int64_t *positions = (int64_t *)padded, *first = (int64_t *)memory;
    double *weights = (double *)(padded + n * 8), *wide = (double *)(memory + (out + 1) * 8);
    float *narrow = (float *)(wide + n);
    int32_t *compact = (int32_t *)(narrow + n);
    job->fill(job->context, axis, positions, weights);
    if (job->back) merge_taps(positions, weights, rows, width);
    memset(first, 0, (size_t)(out + 1) * 8);
    list_taps(positions, weights, rows, width, job->back, first, NULL, NULL);
    for (int64_t o = 0; o < out; o++) first[o + 1] += first[o];
    list_taps(positions, weights, rows, width, job->back, first, compact, wide);
    for (int64_t o = out; o > 0; o--) first[o] = first[o - 1]; /* each was moved to the next */
    first[0] = 0;
    kni_free(padded, padded_bytes);
    kni_taps *t = &s->taps[into];
    *t = (kni_taps){in, out, first[1], first, compact, wide};
    *changes = in != out;
    for (int64_t o = 0; o < out; o++) {
        if (first[o + 1] - first[o] != t->width) t->width = 0;
        if (first[o + 1] != o + 1 || compact[o] != o || wide[o] != 1) *changes = true;
        if (first[o] == first[o + 1]) s->fills = !job->back;
    }
    if (s->bytes == 4) {
        kni_convert(narrow, KN_F32, 1, wide, KN_F64, 1, first[out]);
        t->weights = narrow;
    }
    return true;
}

/* Axes that stay as they are become planes, or a part of what lies behind the axis before. */
static bool make_axes(state *s, const kni_resample_job *job)
{
    for (int axis = 0; axis < AXES; axis++) {
        bool changes = false;
        if (job->width[axis] > INT32_MAX / job->sy[axis] || !make_taps(s, job, axis, s->n, &changes))
            return false;
        if (changes) {
            s->between[s->n++] = job->between[axis];
            continue;
        }
        *(s->n ? &s->between[s->n - 1] : &s->planes) *= job->sx[axis] * job->between[axis];
        kni_free(s->memory[s->n], s->memory_bytes[s->n]);
        s->memory[s->n] = NULL;
    }
    return true;
}

/* What shrinks comes first, and of what is alike the last of growing axes, whose rows are longer then. */
static bool comes_before(const kni_taps *a, const kni_taps *b)
{
    double left = (double)a->out / (double)a->in, right = (double)b->out / (double)b->in;
    return left != right ? left < right : left > 1;
}

/* a stands behind b. */
static void order_axes(state *s)
{
    for (int i = 0; i < s->n; i++) {
        int k = i;
        for (; k > 0 && comes_before(&s->taps[i], &s->taps[s->order[k - 1]]); k--)
            s->order[k] = s->order[k - 1];
        s->order[k] = i;
    }
}

static void share(state *s)
{
    int64_t work = 0, from = 1, to = 1;
    for (int k = 0; k < s->n; k++) {
        from *= (k ? s->taps[k].in : 1) * s->between[k];
        to *= (k ? s->taps[k].out : 1) * s->between[k];
    }
    s->from_row = from;
    s->to_row = to;
    s->from_plane = from * s->taps[0].in;
    s->to_plane = to * s->taps[0].out;
    int64_t plane = s->from_plane > s->to_plane ? s->from_plane : s->to_plane, rows = s->taps[0].out;
    s->planes_per_task = plane < TASK_ELEMENTS ? TASK_ELEMENTS / plane : 1;
    int64_t row = plane / rows ? plane / rows : 1;
    s->rows_per_task = s->planes_per_task > 1 ? rows : (2 * TASK_ELEMENTS + row - 1) / row;
    if (s->rows_per_task > rows) s->rows_per_task = rows;
    s->tasks_per_plane = (rows + s->rows_per_task - 1) / s->rows_per_task;
    int64_t groups = (s->planes + s->planes_per_task - 1) / s->planes_per_task;
    for (int k = 0; k < s->n; k++) work += 1 + s->taps[k].first[s->taps[k].out] / s->taps[k].out;
    kni_norm_share(s->planes * plane * work, groups * s->tasks_per_plane, run_task, s);
}

static void run_all(state *s, int64_t elements)
{
    if (s->n == 0) {
        memcpy(s->to, s->from, (size_t)(elements * s->bytes));
        return;
    }
    order_axes(s);
    share(s);
}

static kn_status no_memory(const kn_record *r)
{
    return kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for the intermediate values");
}

/* Halves pass through f32, whole, but for those that are only moved. */
kn_status kni_cpu_resample_planes(const kn_record *r, const kni_resample_job *job)
{
    kni_tensor *in = kni_in(r, 0), *out = kni_out(r, 0);
    bool moved = job->nearest && !job->back;
    int dtype = moved ? in->type.dtype : in->type.dtype == KN_F64 ? KN_F64 : KN_F32;
    state s = {.planes = job->planes, .bytes = kni_bytes_of(dtype)};
    int64_t elements = kni_count(&out->type);
    kni_borrowed from;
    for (int i = 0; i < AXES; i++)
        if (job->sx[i] > INT32_MAX || job->sy[i] > INT32_MAX) return KN_ERROR_UNSUPPORTED;
    kn_status status = kni_host_allocate(out);
    if (status || elements == 0) return status;
    size_t copy_bytes = out->type.dtype == dtype ? 0 : (size_t)(elements * s.bytes);
    void *copy = copy_bytes ? kni_allocate(copy_bytes) : NULL;
    if (copy_bytes && !copy) return no_memory(r);
    if (kni_host_borrow(in, dtype, &from)) {
        s.from = from.data;
        s.to = copy ? copy : out->storage->data;
        kni_convert(s.outside, dtype, 1, &job->outside, KN_F64, 1, 1);
        if (make_axes(&s, job)) {
            for (int k = 0; k < s.n; k++)
                s.run[k] = moved ? moves[s.bytes] : sums[dtype == KN_F64][kni_cpu_tier()];
            run_all(&s, elements);
        } else {
            s.no_memory = 1;
        }
        for (int k = 0; k < AXES; k++)
            if (s.memory[k]) kni_free(s.memory[k], s.memory_bytes[k]);
        if (s.no_memory) status = no_memory(r);
        if (copy && status == KN_OK)
            kni_convert(out->storage->data, out->type.dtype, 1, copy, dtype, 1, elements);
        kni_host_unborrow(&from);
    } else {
        status = no_memory(r);
    }
    if (copy) kni_free(copy, copy_bytes);
    return status;
}
