/* The CPU entries of regions: roi_align samples a region's neighbours once for all channels; nms sorts each class and compares a
   box with those that stay. */
#include "backend/cpu/norm_drive.h"
#include "core/allocator.h"
#include "core/thread_pool.h"
#include "ops/generated/regions_kernels.h"
#include "ops/native.h"
#include "ops/regions.h"

/* ---- roi_align */

typedef struct align_job {
    const kni_region_attributes *a;
    const void *x;
    void *y;
    const double *regions;
    const int64_t *images;
    int64_t channels, sx[2], sy[2];
    bool wide;
    int no_memory; /* set by any task */
} align_job;

/* The samples of a region on one axis: `n` for each element of y. */
typedef struct align_axis {
    int64_t n, size;
    int64_t *low;
    double *part;
} align_axis;

static double length_of(const align_job *j, double low, double high)
{
    double length = (high - low) * j->a->scale;
    return j->a->half || length > 1 ? length : 1;
}

static int64_t samples_of(const align_job *j, double length, int64_t out_size)
{
    double n = length / (double)out_size;
    if (j->a->samples > 0) return j->a->samples;
    if (!(n > 0)) return 0;
    return n > 1024 ? 1024 : (int64_t)n + ((double)(int64_t)n < n);
}

static void fill_axis(const align_job *j, align_axis *t, int axis, double begin, double length)
{
    int64_t error[2] = {0, 0}, ints[] = {t->n, j->sx[axis], j->sy[axis]};
    double reals[] = {begin, length};
    void *outputs[2] = {t->low, t->part};
    kni_kernel_call call = {.outputs = outputs, .ints = ints, .reals = reals, .error = error};
    t->size = j->sx[axis];
    kni_kernel_roi_align_taps.instances[0](&call, 0, t->n * j->sy[axis]);
}

/* One element of y: samples a .. a + v->n - 1 of rows and b .. b + h->n - 1 of columns. */
#define DEFINE_ALIGN(T)                                                                                      \
    static inline __attribute__((always_inline))                                                             \
    T element_##T(const T *plane, const align_axis *v, const align_axis *h, int64_t a, int64_t b, bool most) \
    {                                                                                                        \
        T total = most && v->n * h->n > 0 ? -(T)__builtin_inf() : 0;                                         \
        for (int64_t k0 = a; k0 < a + v->n; k0++) {                                                          \
            int64_t i0 = v->low[k0];                                                                         \
            T p0 = (T)v->part[k0], q0 = 1 - p0;                                                              \
            const T *top = plane + (i0 < 0 ? 0 : i0) * h->size;                                              \
            const T *bottom = i0 + 1 < v->size ? top + h->size : top;                                        \
            for (int64_t k1 = b; k1 < b + h->n; k1++) {                                                      \
                int64_t i1 = h->low[k1], j1 = i1 + 1 < h->size ? i1 + 1 : i1;                                \
                bool outside = i0 < 0 || i1 < 0;                                                             \
                if (outside && !most) continue;                                                              \
                T p1 = (T)h->part[k1], q1 = 1 - p1;                                                          \
                T v00 = outside ? 0 : q0 * q1 * top[i1], v01 = outside ? 0 : q0 * p1 * top[j1];              \
                T v10 = outside ? 0 : p0 * q1 * bottom[i1], v11 = outside ? 0 : p0 * p1 * bottom[j1];        \
                T upper = v00 > v01 ? v00 : v01, lower = v10 > v11 ? v10 : v11;                              \
                T largest = upper > lower ? upper : lower;                                                   \
                total = !most ? total + (v00 + v01 + v10 + v11) : largest > total ? largest : total;         \
            }                                                                                                \
        }                                                                                                    \
        return total;                                                                                        \
    }                                                                                                        \
    static void align_##T(const align_job *j, int64_t r, const align_axis *v, const align_axis *h)           \
    {                                                                                                        \
        const T *plane = (const T *)j->x + j->images[r] * j->channels * j->sx[0] * j->sx[1];                 \
        T *y = (T *)j->y + r * j->channels * j->sy[0] * j->sy[1], count = (T)(v->n * h->n);                  \
        for (int64_t c = 0; c < j->channels; c++, plane += j->sx[0] * j->sx[1])                              \
            for (int64_t o0 = 0; o0 < j->sy[0]; o0++)                                                        \
                for (int64_t o1 = 0; o1 < j->sy[1]; o1++)                                                    \
                    if (j->a->most)                                                                          \
                        *y++ = element_##T(plane, v, h, o0 * v->n, o1 * h->n, true);                         \
                    else                                                                                     \
                        *y++ =                                                                               \
                            element_##T(plane, v, h, o0 * v->n, o1 * h->n, false) / (count > 0 ? count : 1); \
    }
DEFINE_ALIGN(float)
DEFINE_ALIGN(double)

static void align_task(void *argument, int64_t r, int worker)
{
    (void)worker;
    align_job *j = argument;
    const double *region = j->regions + 4 * r, half = j->a->half ? 0.5 : 0;
    double high = length_of(j, region[1], region[3]), wide = length_of(j, region[0], region[2]);
    align_axis v = {.n = samples_of(j, high, j->sy[0])}, h = {.n = samples_of(j, wide, j->sy[1])};
    size_t rows = (size_t)(v.n * j->sy[0]), columns = (size_t)(h.n * j->sy[1]),
           bytes = (rows + columns) * 16 + 1;
    char *memory = kni_allocate(bytes);
    if (!memory) {
        __atomic_store_n(&j->no_memory, 1, __ATOMIC_RELAXED);
        return;
    }
    v.low = (int64_t *)memory;
    v.part = (double *)memory + rows;
    h.low = (int64_t *)memory + 2 * rows;
    h.part = (double *)memory + 2 * rows + columns;
    fill_axis(j, &v, 0, region[1] * j->a->scale - half, high);
    fill_axis(j, &h, 1, region[0] * j->a->scale - half, wide);
    (j->wide ? align_double : align_float)(j, r, &v, &h);
    kni_free(memory, bytes);
}

/* Halves take the reference kernel, which sums in more digits. */
static kn_status run_roi_align(const kn_record *r)
{
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0);
    const kni_type *t = &x->type;
    align_job j = {.a = r->attributes, .channels = t->dims[1], .wide = t->dtype == KN_F64};
    kni_borrowed values = {NULL, 0}, regions = {NULL, 0}, images = {NULL, 0};
    if (t->dtype != KN_F32 && !j.wide) return KN_ERROR_UNSUPPORTED;
    kn_status s = kni_host_allocate(y);
    if (s || kni_count(&y->type) == 0) return s;
    int64_t n = y->type.dims[0];
    if (!kni_host_borrow(x, t->dtype, &values) || !kni_host_borrow(kni_in(r, 1), KN_F64, &regions) ||
        !kni_host_borrow(kni_in(r, 2), KN_I64, &images)) {
        s = kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for the intermediate values");
    } else {
        j.x = values.data;
        j.y = y->storage->data;
        j.regions = regions.data;
        j.images = images.data;
        for (int i = 0; i < 2; i++) {
            j.sx[i] = t->dims[2 + i];
            j.sy[i] = y->type.dims[2 + i];
        }
        for (int64_t i = 0; i < n && s == KN_OK; i++)
            if (j.images[i] < 0 || j.images[i] >= t->dims[0])
                s = kni_fail_op(KN_ERROR_INDEX, r->row->name, "index %D is out of range", j.images[i]);
        if (s == KN_OK) kni_norm_share(kni_count(&y->type) * 8, n, align_task, &j);
        if (j.no_memory) s = kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for the samples");
    }
    if (values.data) kni_host_unborrow(&values);
    if (regions.data) kni_host_unborrow(&regions);
    if (images.data) kni_host_unborrow(&images);
    return s;
}

/* ---- nms */

typedef struct box {
    double low[2], high[2], area, score;
    int64_t index;
} box;

typedef struct nms_job {
    const kni_nms_attributes *a;
    const double *boxes, *scores;
    int64_t *kept;
    int64_t n, classes, most;
    int no_memory; /* set by any task */
} nms_job;

/* The boxes of a class that count. */
static int64_t read_boxes(const nms_job *j, int64_t task, box *list)
{
    const double *boxes = j->boxes + task / j->classes * j->n * 4, *scores = j->scores + task * j->n;
    int64_t count = 0;
    for (int64_t i = 0; i < j->n; i++) {
        if (j->a->bounded ? !(scores[i] > j->a->least) : scores[i] != scores[i]) continue;
        box *b = &list[count++];
        *b = (box){.area = 1, .score = scores[i], .index = i};
        for (int k = 0; k < 2; k++) {
            double from = boxes[4 * i + k], to = boxes[4 * i + 2 + k];
            b->low[k] = j->a->middle ? from - to / 2 : from < to ? from : to;
            b->high[k] = j->a->middle ? from + to / 2 : from < to ? to : from;
            b->area *= b->high[k] > b->low[k] ? b->high[k] - b->low[k] : 0;
        }
    }
    return count;
}

static bool comes_first(const box *a, const box *b)
{
    return a->score > b->score || (a->score == b->score && a->index < b->index);
}

/* The box that comes first of list[0] .. list[n - 1] is at the top of a heap; the one at `at` sinks to its place. */
static void sink(box *list, int64_t n, int64_t at)
{
    box moved = list[at];
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && comes_first(&list[child + 1], &list[child])) child++;
        if (!comes_first(&list[child], &moved)) break;
        list[at] = list[child];
    }
    list[at] = moved;
}

static bool hides(const nms_job *j, const box *a, const box *b)
{
    double common = 1;
    for (int k = 0; k < 2; k++) {
        double low = a->low[k] > b->low[k] ? a->low[k] : b->low[k];
        double high = a->high[k] < b->high[k] ? a->high[k] : b->high[k];
        common *= high > low ? high - low : 0;
    }
    return common > 0 && common > j->a->share * (a->area + b->area - common);
}

/* One class. Boxes that stay gather at the front of `stay`. */
static void nms_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    nms_job *j = argument;
    int64_t *kept = j->kept + task * j->most, found = 0;
    size_t bytes = (size_t)(j->n + j->most) * sizeof(box);
    box *list = kni_allocate(bytes);
    if (!list) {
        __atomic_store_n(&j->no_memory, 1, __ATOMIC_RELAXED);
        return;
    }
    box *stay = list + j->n;
    int64_t n = read_boxes(j, task, list);
    for (int64_t i = n / 2; i-- > 0;) sink(list, n, i);
    while (n > 0 && found < j->most) {
        box top = list[0];
        bool hidden = false;
        list[0] = list[--n];
        if (n) sink(list, n, 0);
        for (int64_t i = 0; i < found && !hidden; i++) hidden = hides(j, &stay[i], &top);
        if (hidden) continue;
        kept[found] = top.index;
        stay[found++] = top;
    }
    for (int64_t i = found; i < j->most; i++) kept[i] = -1;
    kni_free(list, bytes);
}

static kn_status run_nms(const kn_record *r)
{
    kni_tensor *scores = kni_in(r, 1), *y = kni_out(r, 0);
    const kni_type *t = &scores->type;
    nms_job j = {.a = r->attributes, .n = t->dims[2], .classes = t->dims[1], .most = y->type.dims[2]};
    kni_borrowed boxes = {NULL, 0}, all = {NULL, 0};
    kn_status s = kni_host_allocate(y);
    if (s || kni_count(&y->type) == 0) return s;
    if (kni_host_borrow(kni_in(r, 0), KN_F64, &boxes) && kni_host_borrow(scores, KN_F64, &all)) {
        j.boxes = boxes.data;
        j.scores = all.data;
        j.kept = y->storage->data;
        kni_norm_share(kni_count(t) * 16, kni_count_dims(2, t->dims), nms_task, &j);
        if (j.no_memory) s = kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for %D boxes", j.n);
    } else {
        s = kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for the intermediate values");
    }
    if (boxes.data) kni_host_unborrow(&boxes);
    if (all.data) kni_host_unborrow(&all);
    return s;
}

extern const kni_native kni_cpu_roi_align, kni_cpu_nms;
const kni_native kni_cpu_roi_align = {.run = run_roi_align};
const kni_native kni_cpu_nms = {.run = run_nms};
