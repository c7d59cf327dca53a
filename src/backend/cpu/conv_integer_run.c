/* conv_integer on the CPU: for each image and group the product of the weights, a matrix of output channels by taps, with the image's
   values at these taps, a column for each place. With strides of 1 these lie in order in the image itself, or in a copy of it with its
   padding; places behind the end of a row are computed in vain. With other strides they are copied strip by strip. */
#include "backend/cpu/gemm_i8_finish.h"
#include "backend/cpu/gemm_problem.h"
#include "backend/cpu/matmul_run.h"
#include "backend/host/host.h"
#include "ops/conv.h"
#include "ops/integer_products.h"
#include "ops/native.h"
#include <string.h>

enum { AXES = KNI_CONV_MAX_SPATIAL };

typedef struct geometry {
    const uint8_t *x;
    int64_t groups, channels;
    int64_t size[AXES], kernel[AXES], out[AXES], stride[AXES], padding[AXES], dilation[AXES];
    uint8_t outside; /* what counts as zero */
} geometry;

/* Columns `at` .. of a strip that lie in one row of the result. */
typedef struct run {
    int64_t at, count, place[AXES];
} run;
enum { MAX_RUNS = 64 }; /* columns that the driver asks for at once */

static int find_runs(const geometry *z, int64_t first, int64_t n, run runs[MAX_RUNS])
{
    int found = 0;
    int64_t place[AXES] = {first / z->out[2] / z->out[1], first / z->out[2] % z->out[1], first % z->out[2]};
    for (int64_t at = 0; at < n;) {
        const int64_t left = z->out[2] - place[2], count = left < n - at ? left : n - at;
        runs[found++] = (run){at, count, {place[0], place[1], place[2]}};
        at += count;
        place[2] = 0;
        if (++place[1] == z->out[1]) place[1] = 0, place[0]++;
    }
    return found;
}

/* The columns of a run at tap k2 of a row of the image; `row` is NULL where that is outside. */
static void fill_run(const geometry *z, const uint8_t *row, int64_t k2, const run *r, uint8_t *to)
{
    const int64_t stride = z->stride[2], start = r->place[2] * stride + k2 * z->dilation[2] - z->padding[2];
    int64_t low = 0, high = r->count;
    if (!row) low = high;
    if (start < 0) low = (-start + stride - 1) / stride;
    if (start + (high - 1) * stride >= z->size[2])
        high = z->size[2] > start ? (z->size[2] - start + stride - 1) / stride : 0;
    if (!row || low >= high) {
        memset(to, z->outside, (size_t)r->count);
        return;
    }
    for (int64_t i = 0; i < low; i++) to[i] = z->outside;
    if (stride == 1)
        memcpy(to + low, row + start + low, (size_t)(high - low));
    else if (stride == 2)
        for (int64_t i = low; i < high; i++) to[i] = row[start + i * 2];
    else
        for (int64_t i = low; i < high; i++) to[i] = row[start + i * stride];
    for (int64_t i = high; i < r->count; i++) to[i] = z->outside;
}

static void fill_strip(const void *context, int64_t product, int64_t first, int64_t n, int64_t width,
                       uint8_t *raw)
{
    const geometry *z = context;
    const int64_t plane = z->size[0] * z->size[1] * z->size[2];
    run runs[MAX_RUNS];
    const int found = find_runs(z, first, n, runs);
    for (int64_t c = 0; c < z->channels; c++) {
        const uint8_t *x = z->x + (product * z->channels + c) * plane;
        for (int64_t k0 = 0; k0 < z->kernel[0]; k0++)
            for (int64_t k1 = 0; k1 < z->kernel[1]; k1++) {
                const uint8_t *rows[MAX_RUNS];
                for (int i = 0; i < found; i++) {
                    const int64_t i0 = runs[i].place[0] * z->stride[0] + k0 * z->dilation[0] - z->padding[0];
                    const int64_t i1 = runs[i].place[1] * z->stride[1] + k1 * z->dilation[1] - z->padding[1];
                    const bool inside = i0 >= 0 && i0 < z->size[0] && i1 >= 0 && i1 < z->size[1];
                    rows[i] = inside ? x + (i0 * z->size[1] + i1) * z->size[2] : NULL;
                }
                for (int64_t k2 = 0; k2 < z->kernel[2]; k2++, raw += width)
                    for (int i = 0; i < found; i++) fill_run(z, rows[i], k2, &runs[i], raw + runs[i].at);
            }
    }
}

static void start_sizes(geometry *z, const kn_record *r)
{
    const kni_conv_attributes *a = r->attributes;
    const kni_type *x = &kni_in(r, 0)->type, *w = &kni_in(r, 1)->type, *y = &kni_out(r, 0)->type;
    const int n = x->rank - 2;
    z->groups = a->groups;
    z->channels = w->dims[1];
    for (int i = 0; i < AXES; i++) {
        const int from = i - (AXES - n);
        z->size[i] = from < 0 ? 1 : x->dims[2 + from];
        z->kernel[i] = from < 0 ? 1 : w->dims[2 + from];
        z->out[i] = from < 0 ? 1 : y->dims[2 + from];
        z->stride[i] = from < 0 ? 1 : a->stride.dims[from];
        z->dilation[i] = from < 0 ? 1 : a->dilation.dims[from];
        z->padding[i] = from < 0 ? 0 : a->padding.dims[from];
    }
}

/* ---- strides of 1: the image with its padding */

typedef struct padded {
    uint8_t *memory; /* of the copy; NULL where the image has all that is read */
    size_t bytes;
    int64_t size[AXES], plane;
    int64_t *offsets; /* of the taps */
    size_t offset_bytes;
} padded;

static bool steps_by_one(const geometry *z)
{
    return z->stride[0] == 1 && z->stride[1] == 1 && z->stride[2] == 1;
}

typedef struct copy_job {
    const geometry *z;
    const padded *p;
} copy_job;

/* One channel of one image. */
static void copy_plane(void *arg, int64_t plane, int worker)
{
    const copy_job *job = arg;
    const geometry *z = job->z;
    const padded *p = job->p;
    const uint8_t *from = z->x + plane * z->size[0] * z->size[1] * z->size[2];
    uint8_t *to = p->memory + plane * p->plane;
    (void)worker;
    for (int64_t a = 0; a < p->size[0]; a++)
        for (int64_t b = 0; b < p->size[1]; b++, to += p->size[2]) {
            const int64_t i0 = a - z->padding[0], i1 = b - z->padding[1];
            const run r = {.count = p->size[2]};
            const bool inside = i0 >= 0 && i0 < z->size[0] && i1 >= 0 && i1 < z->size[1];
            fill_run(z, inside ? from + (i0 * z->size[1] + i1) * z->size[2] : NULL, 0, &r, to);
        }
}

static bool list_offsets(padded *p, const geometry *z)
{
    const int64_t taps = z->kernel[0] * z->kernel[1] * z->kernel[2];
    p->offset_bytes = (size_t)(z->channels * taps + 1) * sizeof(int64_t);
    p->offsets = kni_allocate(p->offset_bytes);
    int64_t *offset = p->offsets;
    for (int64_t k = 0; offset && k < z->channels * taps; k++) {
        const int64_t k2 = k % z->kernel[2], rows = k / z->kernel[2], k1 = rows % z->kernel[1];
        const int64_t k0 = rows / z->kernel[1] % z->kernel[0], c = k / taps;
        const int64_t row = k0 * z->dilation[0] * p->size[1] + k1 * z->dilation[1];
        offset[k] = c * p->plane + row * p->size[2] + k2 * z->dilation[2];
    }
    return offset != NULL;
}

static bool start_padded(padded *p, const geometry *z, int64_t images)
{
    bool same = true;
    p->plane = 1;
    for (int i = 0; i < AXES; i++) {
        p->size[i] = z->out[i] + (z->kernel[i] - 1) * z->dilation[i]; /* what is read */
        p->plane *= p->size[i];
        same &= z->padding[i] == 0 && p->size[i] == z->size[i];
    }
    if (!list_offsets(p, z)) return false;
    if (same) return true;
    const int64_t planes = images * z->groups * z->channels;
    p->bytes = (size_t)(planes * p->plane + 1);
    p->memory = kni_allocate(p->bytes);
    copy_job job = {z, p};
    if (p->memory) kni_gemm_run(8.0 * (double)p->bytes, planes, copy_plane, &job);
    return p->memory != NULL;
}

static void end_padded(padded *p)
{
    if (p->memory) kni_free(p->memory, p->bytes);
    if (p->offsets) kni_free(p->offsets, p->offset_bytes);
}

static bool multiply(const kn_record *r, const kni_borrowed *x, const kni_borrowed *w, const int32_t *x_zero,
                     const int32_t *w_zero, const kni_gemm_i8_finish *finish)
{
    const kni_type *of_w = &kni_in(r, 1)->type, *of_y = &kni_out(r, 0)->type;
    geometry z = {.x = x->data};
    padded p = {.memory = NULL};
    start_sizes(&z, r);
    const int64_t taps = z.channels * z.kernel[0] * z.kernel[1] * z.kernel[2],
                  outs = of_w->dims[0] / z.groups;
    const int64_t places = z.out[0] * z.out[1] * z.out[2];
    z.outside = x_zero ? (uint8_t)*x_zero : 0;
    kni_gemm_i8_args g = {.m = outs,
                          .n = places,
                          .k = taps,
                          .batch = of_y->dims[0] * z.groups,
                          .a_count = z.groups,
                          .a = w->data,
                          .a_unsigned = of_w->dtype == KN_U8,
                          .b_unsigned = kni_in(r, 0)->type.dtype == KN_U8,
                          .a_row = taps,
                          .a_col = 1,
                          .a_batch = outs * taps,
                          .b_col = 1,
                          .a_zero = w_zero,
                          .b_zero = x_zero,
                          .c_row = places,
                          .c_batch = outs * places,
                          .fill_b = fill_strip,
                          .fill_context = &z};
    kni_gemm_i8_finish_place(finish, &g, kni_out(r, 0)->storage->data, 0);
    if (!steps_by_one(&z)) return kni_gemm_i8(&g);
    bool good = start_padded(&p, &z, of_y->dims[0]);
    const kni_gemm_i8_grid grid = {{p.size[1], p.size[2]}, {z.out[1], z.out[2]}};
    g.fill_b = NULL;
    g.b = p.memory ? p.memory : x->data;
    g.b_offsets = p.offsets;
    g.b_batch = z.channels * p.plane;
    g.grid = &grid;
    g.n = ((z.out[0] - 1) * p.size[1] + z.out[1] - 1) * p.size[2] +
          z.out[2]; /* up to the last place that counts */
    good = good && kni_gemm_i8(&g);
    end_padded(&p);
    return good;
}

static kn_status run_conv_integer(const kn_record *r)
{
    kni_tensor *y = kni_out(r, 0),
               *zeros[2] = {r->n_in > 2 ? kni_in(r, 2) : NULL, r->n_in > 3 ? kni_in(r, 3) : NULL};
    const kni_type channels[2] = {{.rank = 1, .dims = {1}},
                                  {.rank = 1, .dims = {kni_in(r, 1)->type.dims[0]}}};
    kn_status s = kni_host_allocate(y);
    if (s || kni_count(&y->type) == 0) return s;
    kni_borrowed in[4] = {{NULL, 0}};
    bool good = true;
    for (int i = 0; i < 2; i++) {
        good = good && kni_host_borrow(kni_in(r, i), kni_in(r, i)->type.dtype, &in[i]);
        if (zeros[i]) good = good && kni_host_borrow_expanded(zeros[i], &channels[i], KN_I32, &in[2 + i]);
    }
    kni_gemm_i8_finish finish = {.bias = {NULL, 0}};
    good = good && kni_gemm_i8_finish_start(&finish, r, channels[1].dims[0], true);
    good = good && multiply(r, &in[0], &in[1], in[2].data, in[3].data, &finish);
    kni_gemm_i8_finish_end(&finish);
    for (int i = 0; i < 4; i++)
        if (in[i].data) kni_host_unborrow(&in[i]);
    return good ? KN_OK : kni_gemm_no_memory(r->row->name);
}

const kni_native kni_cpu_conv_integer = {.run = run_conv_integer};
