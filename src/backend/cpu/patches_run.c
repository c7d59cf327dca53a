/* The CPU entries of columns of patches: unfold4d and im2col, which only copy, and their transposes, which add. */
#include "backend/cpu/norm_drive.h"
#include "ops/native.h"
#include "ops/pooling.h"
#include <string.h>

typedef struct patch_job {
    kni_patch_plan p;
    const char *from;
    char *to;
    int64_t bytes;
    bool wide;
} patch_job;

/* One row of columns: one channel and one place in the window, all patches. Those `first` .. `end` - 1 of a line lie inside. */
typedef struct patch_row {
    int64_t plane, k[3], offset, first, end;
} patch_row;

static patch_row row_of(const kni_patch_plan *p, int64_t row)
{
    patch_row r = {.k = {row / p->window[2] / p->window[1] % p->window[0], row / p->window[2] % p->window[1],
                         row % p->window[2]}};
    int64_t stride = p->stride[2];
    r.plane = row / p->window[2] / p->window[1] / p->window[0];
    r.offset = r.k[2] * p->dilation[2] - p->padding[2];
    r.first = r.offset < 0 ? (-r.offset + stride - 1) / stride : 0;
    r.end = r.offset < p->sx[2] ? (p->sx[2] - 1 - r.offset) / stride + 1 : 0;
    if (r.end > p->sy[2]) r.end = p->sy[2];
    if (r.first > r.end) r.first = r.end;
    return r;
}

/* Where patch `first` of line `line` reads the image, -1 where the line lies outside. */
static int64_t place_of(const kni_patch_plan *p, const patch_row *r, int64_t line)
{
    int64_t i0 = line / p->sy[1] * p->stride[0] - p->padding[0] + r->k[0] * p->dilation[0];
    int64_t i1 = line % p->sy[1] * p->stride[1] - p->padding[1] + r->k[1] * p->dilation[1];
    if (i0 < 0 || i0 >= p->sx[0] || i1 < 0 || i1 >= p->sx[1]) return -1;
    return ((r->plane * p->sx[0] + i0) * p->sx[1] + i1) * p->sx[2] + r->offset + r->first * p->stride[2];
}

/* ---- copying */

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

static void unfold_task(void *argument, int64_t task, int worker)
{
    (void)worker;
    const patch_job *j = argument;
    const kni_patch_plan *p = &j->p;
    patch_row r = row_of(p, task);
    int64_t lines = p->sy[0] * p->sy[1], width = p->sy[2] * j->bytes;
    char *to = j->to + task * lines * width;
    for (int64_t line = 0; line < lines; line++, to += width) {
        int64_t place = place_of(p, &r, line), first = place < 0 ? 0 : r.first, end = place < 0 ? 0 : r.end;
        memset(to, 0, (size_t)(first * j->bytes));
        memset(to + end * j->bytes, 0, (size_t)((p->sy[2] - end) * j->bytes));
        if (end > first)
            copy_steps(to + first * j->bytes, j->from + place * j->bytes, p->stride[2], end - first,
                       j->bytes);
    }
}

static kn_status unfold(const kn_record *r, const kni_patch_plan *plan)
{
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0);
    patch_job j = {.p = *plan, .bytes = (int64_t)kni_element_bytes(x)};
    kni_borrowed from;
    int64_t elements = kni_count(&y->type);
    kn_status s = kni_host_allocate(y);
    if (s || elements == 0) return s;
    if (!kni_host_borrow(x, x->type.dtype, &from))
        return kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for the intermediate values");
    j.from = from.data;
    j.to = y->storage->data;
    kni_norm_share(elements, kni_count_dims(y->type.rank - 1, y->type.dims), unfold_task, &j);
    kni_host_unborrow(&from);
    return KN_OK;
}

/* ---- adding */

#define DEFINE_ADD(T)                                                                                        \
    static void add_##T(void *to, const void *from, int64_t stride, int64_t n)                               \
    {                                                                                                        \
        T *restrict y = to;                                                                                  \
        const T *restrict x = from;                                                                          \
        if (stride == 1)                                                                                     \
            for (int64_t i = 0; i < n; i++) y[i] += x[i];                                                    \
        else                                                                                                 \
            for (int64_t i = 0; i < n; i++) y[i * stride] += x[i];                                           \
    }
DEFINE_ADD(float)
DEFINE_ADD(double)

/* One plane of the image, to which nobody else writes. */
static void fold_task(void *argument, int64_t plane, int worker)
{
    (void)worker;
    const patch_job *j = argument;
    const kni_patch_plan *p = &j->p;
    int64_t window = p->window[0] * p->window[1] * p->window[2], size = p->sx[0] * p->sx[1] * p->sx[2];
    int64_t lines = p->sy[0] * p->sy[1];
    memset(j->to + plane * size * j->bytes, 0, (size_t)(size * j->bytes));
    for (int64_t row = plane * window; row < (plane + 1) * window; row++) {
        patch_row r = row_of(p, row);
        for (int64_t line = 0; line < lines && r.end > r.first; line++) {
            int64_t place = place_of(p, &r, line);
            const char *from = j->from + ((row * lines + line) * p->sy[2] + r.first) * j->bytes;
            if (place >= 0)
                (j->wide ? add_double : add_float)(j->to + place * j->bytes, from, p->stride[2],
                                                   r.end - r.first);
        }
    }
}

/* Other dtypes take the reference kernel, which rounds halves once and wraps integers. */
static kn_status fold(const kn_record *r, const kni_patch_plan *plan)
{
    kni_tensor *x = kni_in(r, 0), *y = kni_out(r, 0);
    patch_job j = {.p = *plan, .bytes = (int64_t)kni_element_bytes(x), .wide = x->type.dtype == KN_F64};
    kni_borrowed from;
    if (x->type.dtype != KN_F32 && !j.wide) return KN_ERROR_UNSUPPORTED;
    int64_t elements = kni_count(&y->type), plane = plan->sx[0] * plan->sx[1] * plan->sx[2];
    kn_status s = kni_host_allocate(y);
    if (s || elements == 0) return s;
    if (!kni_host_borrow(x, x->type.dtype, &from))
        return kni_fail_op(KN_ERROR_MEMORY, r->row->name, "no memory for the intermediate values");
    j.from = from.data;
    j.to = y->storage->data;
    kni_norm_share(elements + kni_count(&x->type), elements / plane, fold_task, &j);
    kni_host_unborrow(&from);
    return KN_OK;
}

/* ---- entries */

/* Rows of two axes with the same padding at both ends. */
static kni_patch_plan plan_of_two(const kn_record *r, const kni_type *image)
{
    const kni_patch_attributes *a = r->attributes;
    kni_pool_attributes all = {.axes = 2,
                               .window = a->window,
                               .stride = a->stride,
                               .padding = a->padding,
                               .padding_end = a->padding,
                               .dilation = a->dilation};
    return kni_plan_patches(&all, image);
}

static kn_status run_unfold4d(const kn_record *r)
{
    kni_patch_plan p = plan_of_two(r, &kni_in(r, 0)->type);
    return unfold(r, &p);
}
static kn_status run_fold4d(const kn_record *r)
{
    kni_patch_plan p = plan_of_two(r, &kni_out(r, 0)->type);
    return fold(r, &p);
}
static kn_status run_im2col(const kn_record *r)
{
    kni_patch_plan p = kni_plan_patches(r->attributes, &kni_in(r, 0)->type);
    return unfold(r, &p);
}
static kn_status run_col2im(const kn_record *r)
{
    kni_patch_plan p = kni_plan_patches(r->attributes, &kni_out(r, 0)->type);
    return fold(r, &p);
}

const kni_native kni_cpu_unfold4d = {.run = run_unfold4d};
const kni_native kni_cpu_fold4d = {.run = run_fold4d};
const kni_native kni_cpu_im2col = {.run = run_im2col};
const kni_native kni_cpu_col2im = {.run = run_col2im};
