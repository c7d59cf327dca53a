/* conv_integer on the CPU: for each image and group the product of the weights, a matrix of output channels by taps, with the image's
   values at these taps, a column for each place. These lie in order in the image itself, or in a copy of it with its padding that is
   split by strides: planes of every second row and column, and so on. Places behind the end of a row are computed in vain. */
#include "backend/cpu/gemm_i8_finish.h"
#include "backend/cpu/gemm_i8_kernels.h"
#include "backend/cpu/gemm_problem.h"
#include "backend/cpu/matmul_run.h"
#include "backend/host/host.h"
#include "core/made_forms.h"
#include "ops/conv.h"
#include "ops/integer_products.h"
#include "ops/native.h"
#include <string.h>

enum { AXES = KNI_CONV_MAX_SPATIAL, SLACK = 2 * KNI_GEMM_I8_MAX_COLUMNS };

typedef struct geometry {
    const uint8_t *x;
    int64_t groups, channels;
    int64_t size[AXES], kernel[AXES], out[AXES], stride[AXES], padding[AXES], dilation[AXES];
    uint8_t outside; /* what counts as zero */
} geometry;

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

/* ---- the image with its padding */

typedef struct padded {
    uint8_t *memory; /* of the copy; NULL where the image has all that is read */
    size_t bytes;
    int64_t parts[AXES], size[AXES], plane,
        channel;      /* parts: into which strides split an axis; size, plane: of one */
    int64_t *offsets; /* of the taps; NULL: channels follow each other */
    size_t offset_bytes;
} padded;

typedef struct copy_job {
    const geometry *z;
    const padded *p;
} copy_job;

static int64_t floor_zero(int64_t x) { return x > 0 ? x : 0; }

/* to[i] = row[start + i step], and `outside` where that is no place of the row. row NULL: nowhere */
static void copy_row(uint8_t *to, int64_t count, const uint8_t *row, int64_t size, int64_t start,
                     int64_t step, uint8_t outside)
{
    const int64_t low = kni_gemm_min(count, start < 0 ? kni_gemm_ceil(-start, step) : 0);
    const int64_t high = row ? kni_gemm_min(count, kni_gemm_ceil(floor_zero(size - start), step)) : 0;
    if (high <= low) {
        memset(to, outside, (size_t)count);
        return;
    }
    for (int64_t i = 0; i < low; i++) to[i] = outside;
    if (step == 1)
        memcpy(to + low, row + start + low, (size_t)(high - low));
    else if (step == 2)
        for (int64_t i = low; i < high; i++) to[i] = row[start + i * 2];
    else
        for (int64_t i = low; i < high; i++) to[i] = row[start + i * step];
    for (int64_t i = high; i < count; i++) to[i] = outside;
}

/* One part of a channel of an image. */
static void copy_part(const geometry *z, const padded *p, const uint8_t *from, const int64_t part[AXES],
                      uint8_t *to)
{
    for (int64_t a = 0; a < p->size[0]; a++)
        for (int64_t b = 0; b < p->size[1]; b++, to += p->size[2]) {
            const int64_t i0 = a * z->stride[0] + part[0] - z->padding[0],
                          i1 = b * z->stride[1] + part[1] - z->padding[1];
            const bool inside = i0 >= 0 && i0 < z->size[0] && i1 >= 0 && i1 < z->size[1];
            copy_row(to, p->size[2], inside ? from + (i0 * z->size[1] + i1) * z->size[2] : NULL, z->size[2],
                     part[2] - z->padding[2], z->stride[2], z->outside);
        }
}

static void copy_channel(void *arg, int64_t channel, int worker)
{
    const copy_job *job = arg;
    const geometry *z = job->z;
    const padded *p = job->p;
    const uint8_t *from = z->x + channel * z->size[0] * z->size[1] * z->size[2];
    uint8_t *to = p->memory + channel * p->channel;
    int64_t part[AXES];
    (void)worker;
    for (part[0] = 0; part[0] < p->parts[0]; part[0]++)
        for (part[1] = 0; part[1] < p->parts[1]; part[1]++)
            for (part[2] = 0; part[2] < p->parts[2]; part[2]++, to += p->plane)
                copy_part(z, p, from, part, to);
}

/* Where a tap of an axis is: its part, and its place there. */
static int64_t part_of(const geometry *z, int axis, int64_t k)
{
    return k * z->dilation[axis] % z->stride[axis];
}
static int64_t place_of(const geometry *z, int axis, int64_t k)
{
    return k * z->dilation[axis] / z->stride[axis];
}

static bool list_offsets(padded *p, const geometry *z)
{
    const int64_t taps = z->kernel[0] * z->kernel[1] * z->kernel[2];
    if (taps == 1 || z->channels == 0) return true;
    p->offset_bytes = (size_t)(z->channels * taps + 1) * sizeof(int64_t);
    p->offsets = kni_allocate(p->offset_bytes);
    if (!p->offsets) return false;
    int64_t *to = p->offsets;
    for (int64_t k0 = 0; k0 < z->kernel[0]; k0++)
        for (int64_t k1 = 0; k1 < z->kernel[1]; k1++)
            for (int64_t k2 = 0; k2 < z->kernel[2]; k2++) {
                const int64_t part =
                    (part_of(z, 0, k0) * p->parts[1] + part_of(z, 1, k1)) * p->parts[2] + part_of(z, 2, k2);
                const int64_t row = place_of(z, 0, k0) * p->size[1] + place_of(z, 1, k1);
                *to++ = part * p->plane + row * p->size[2] + place_of(z, 2, k2);
            }
    for (int64_t k = taps; k < z->channels * taps; k++, to++) *to = to[-taps] + p->channel;
    return true;
}

/* Whether what is read lies in the image as it lies in the copy. */
static bool start_parts(padded *p, const geometry *z)
{
    bool same = true;
    p->plane = p->channel = 1;
    for (int i = 0; i < AXES; i++) {
        const int64_t reach = (z->kernel[i] - 1) * z->dilation[i];
        p->parts[i] = kni_gemm_min(z->stride[i], reach + 1);
        p->size[i] = z->out[i] + reach / z->stride[i];
        p->plane *= p->size[i];
        p->channel *= p->parts[i];
        same &= z->padding[i] == 0 && z->stride[i] == 1 && p->size[i] == z->size[i];
    }
    p->channel *= p->plane;
    return same;
}

/* always: though the image has all that is read, for memory behind its end */
static bool start_padded(padded *p, const geometry *z, int64_t images, bool always)
{
    const bool same = start_parts(p, z);
    if (!list_offsets(p, z)) return false;
    if (same && !always) return true;
    const int64_t channels = images * z->groups * z->channels;
    p->bytes = (size_t)(channels * p->channel + SLACK);
    p->memory = kni_allocate(p->bytes);
    if (!p->memory) return false;
    memset(p->memory + p->bytes - SLACK, 0, SLACK);
    copy_job job = {z, p};
    kni_gemm_run(8.0 * (double)p->bytes, channels, copy_channel, &job);
    return true;
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
    bool good = start_padded(&p, &z, of_y->dims[0], outs <= KNI_GEMM_I8_FEW);
    const kni_gemm_i8_grid grid = {{p.size[1], p.size[2]}, {z.out[1], z.out[2]}};
    const bool all = p.size[1] == z.out[1] && p.size[2] == z.out[2];
    kni_gemm_i8_args g = {.m = outs,
                          .n = ((z.out[0] - 1) * p.size[1] + z.out[1] - 1) * p.size[2] +
                               z.out[2], /* up to the last place that counts */
                          .k = taps,
                          .batch = of_y->dims[0] * z.groups,
                          .a_count = z.groups,
                          .a = w->data,
                          .b = p.memory ? p.memory : x->data,
                          .a_unsigned = of_w->dtype == KN_U8,
                          .b_unsigned = kni_in(r, 0)->type.dtype == KN_U8,
                          .a_row = taps,
                          .a_col = 1,
                          .a_batch = outs * taps,
                          .b_row = p.channel,
                          .b_col = 1,
                          .b_batch = z.channels * p.channel,
                          .b_offsets = p.offsets,
                          .b_slack = p.memory ? SLACK : 0,
                          .a_zero = w_zero,
                          .a_zero_step = 1,
                          .b_zero = x_zero,
                          .c_row = places,
                          .c_batch = outs * places,
                          .grid = all ? NULL : &grid};
    kni_gemm_i8_finish_place(finish, &g, kni_out(r, 0)->storage->data, 0);
    if (good && !w->copy_bytes && kni_form_used(kni_in(r, 1)->storage)) kni_gemm_i8_keep_a(&g, kni_in(r, 1));
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
