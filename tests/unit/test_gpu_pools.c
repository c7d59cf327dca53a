/* Pools of devices that compile kernels: in rows and with channels last, each is one launch that gives the bits of the CPU, and
   gradients too. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* setenv */
#endif
#include "backend/gpu/gpu.h"
#include "core/device_object.h"
#include "ops/pooling.h"
#include "ops/record.h"
#include "support/check.h"
#include <math.h>
#include <stdlib.h>

static kn_device exact, device;
static kni_gpu *gpu;

typedef struct shape {
    const char *what;
    int axes;
    int64_t channels, size[3], window[3];
    kn_pool_args a;
    int own; /* whether kernels of windows make it, and its gradient: bits 0 and 1 */
} shape;

static const shape shapes[] = {
    {"3 x 3 by 2", 2, 16, {16, 24}, {3, 3}, {.stride = {2, 2}, .padding = {1, 1}}, 3},
    {"2 x 2", 2, 8, {12, 32}, {2, 2}, {.stride = {0}}, 3},
    {"odd sizes", 2, 6, {9, 13}, {3, 3}, {.stride = {2, 2}, .padding = {1, 1}}, 3},
    {"3 x 3 by 1", 2, 24, {7, 16}, {3, 3}, {.stride = {1, 1}, .padding = {1, 1}}, 3},
    {"3 x 2 by 3 and 1", 2, 4, {10, 12}, {3, 2}, {.stride = {3, 1}, .padding = {1, 0}}, 3},
    {"by 3 along the last", 2, 12, {6, 24}, {2, 4}, {.stride = {1, 3}, .padding = {0, 2}}, 3},
    {"dilated", 2, 8, {11, 16}, {3, 2}, {.stride = {2, 1}, .padding = {2, 1}, .dilation = {2, 3}}, 3},
    {"rounded up", 2, 8, {7, 8}, {2, 3}, {.stride = {2, 2}, .padding = {1, 1}, .ceil_mode = true}, 3},
    {"real elements count",
     2,
     8,
     {8, 8},
     {3, 3},
     {.stride = {2, 2}, .padding = {1, 1}, .exclude_padding = true},
     3},
    {"a divisor", 2, 8, {8, 8}, {3, 3}, {.stride = {2, 2}, .padding = {1, 1}, .divisor = 5}, 3},
    {"one axis", 1, 16, {40}, {3}, {.stride = {2}, .padding = {1}}, 3},
    {"wide padding", 1, 4, {1}, {5}, {.stride = {2}, .padding = {2}}, 3},
    {"three axes", 3, 8, {6, 5, 8}, {2, 3, 2}, {.stride = {2, 2, 2}, .padding = {0, 1, 0}}, 3},
    {"three axes, dilated",
     3,
     4,
     {8, 6, 8},
     {3, 2, 2},
     {.stride = {1, 2, 2}, .padding = {1, 0, 0}, .dilation = {2, 1, 1}},
     3},
    {"one position", 2, 16, {4, 4}, {4, 4}, {.stride = {0}}, 3},
    {"large steps", 2, 4, {14, 14}, {7, 7}, {.stride = {0}}, 1},
    {"large windows", 2, 4, {8, 60}, {1, 55}, {.stride = {1, 1}}, 0},
};

/* Small numbers, of which many are equal, with a NaN and infinities. */
static kn_tensor made(kn_device on, kn_shape sizes, int dtype, int special)
{
    static float values[1 << 15];
    int64_t n = 1;
    for (int i = 0; i < sizes.rank; i++) n *= sizes.dims[i];
    for (int64_t i = 0; i < n; i++) values[i] = (float)((i * 37 + i / 7 * 11) % 23 - 11) / 8;
    if (special && n > 90) values[17] = values[90] = NAN, values[33] = -INFINITY;
    if (special > 1)
        for (int64_t i = 0; i < n; i++) values[i] = -INFINITY;
    kn_device_use(on);
    return kn_keep(kn_cast(kn_from(values, KN_F32, sizes), (kn_dtype)dtype));
}

/* The same elements with the channels last. */
static kn_tensor turned(kn_tensor x)
{
    const int32_t rank = kn_rank(x);
    kn_ints there = {rank, {0}}, back = there;
    for (int i = 0; i < rank; i++) {
        there.dims[i] = i == 0 ? 0 : i == rank - 1 ? 1 : i + 1;
        back.dims[there.dims[i]] = i;
    }
    kn_tensor turn = kn_mul_scalar(kn_permute(x, there), 1);
    return kn_keep(kn_permute(turn, back));
}

enum { MAX, PLACES, MAX_GRAD, MEAN, MEAN_GRAD, VALUES, RESULTS };
static const char *const names[] = {"max", "places", "max's gradient", "mean", "mean's gradient", "values"};

typedef struct result {
    void *bytes;
    size_t n;
    uint64_t launches;
} result;

static kni_pool_attributes attributes(const shape *s)
{
    kni_pool_attributes a = {.axes = s->axes};
    kn_ints *const lists[] = {&a.window, &a.stride, &a.padding, &a.dilation, &a.size};
    for (int k = 0; k < KNI_COUNT(lists); k++) {
        const int64_t *const from[] = {s->window, s->a.stride, s->a.padding, s->a.dilation, s->size};
        lists[k]->rank = s->axes;
        memcpy(lists[k]->dims, from[k], (size_t)s->axes * sizeof(int64_t));
    }
    a.ceil_mode = s->a.ceil_mode;
    a.exclude_padding = s->a.exclude_padding;
    a.divisor = s->a.divisor;
    return a;
}

static result take(kn_tensor y, uint64_t before)
{
    result r = {.launches = gpu->launches - before};
    kn_tensor wide = kn_cast(y, KN_F32);
    r.n = (size_t)kn_dtype_bytes(kn_dtype_of(wide), kn_count(wide));
    r.bytes = calloc(r.n + 1, 1);
    CHECK(kn_read(wide, r.bytes, r.n) == KN_OK);
    return r;
}

static void pool(const shape *s, kn_device on, int dtype, bool last, int special, result *out)
{
    kn_scope scope = kn_scope_begin();
    kni_pool_attributes a = attributes(s);
    kn_shape sizes = {2 + s->axes, {2, s->channels}};
    for (int i = 0; i < s->axes; i++) sizes.dims[2 + i] = s->size[i];
    kn_tensor x = made(on, sizes, dtype, special), y[2];
    if (last) x = turned(x);
    a.places = KN_U16;
    uint64_t before = gpu->launches;
    kni_apply_many(&kni_op_max_pool, &x, 1, &a, y, 2);
    kn_keep(y[0]), kn_keep(y[1]);
    out[MAX] = take(y[0], before);
    out[PLACES] = take(y[1], gpu->launches);
    kn_tensor dy = made(on, kn_shape_of_tensor(y[0]), dtype, 0);
    if (last) dy = turned(dy);
    before = gpu->launches;
    kn_tensor in[2] = {dy, y[1]};
    out[MAX_GRAD] = take(kn_keep(kni_apply(&kni_op_max_pool_grad, in, 2, &a)), before);
    a.places = 0;
    before = gpu->launches;
    out[MEAN] = take(kn_keep(kni_apply(&kni_op_avg_pool, &x, 1, &a)), before);
    before = gpu->launches;
    out[MEAN_GRAD] = take(kn_keep(kni_apply(&kni_op_avg_pool_grad, &dy, 1, &a)), before);
    before = gpu->launches;
    out[VALUES] = take(kn_keep(kni_apply(&kni_op_max_pool_values, &x, 1, &a)), before);
    kn_scope_end(scope, KN_NONE);
}

/* Quotients that the mean's gradient sums differ from device to device in the last bits. */
static bool same(const result *a, const result *b, int which, int dtype)
{
    const float *x = a->bytes, *y = b->bytes,
                near = which != MEAN_GRAD ? 0
                       : dtype == KN_F32  ? 1e-6f
                                          : 1.0f / 128;
    if (a->n != b->n || which == PLACES) return a->n == b->n && !memcmp(a->bytes, b->bytes, a->n);
    for (size_t i = 0; i < a->n / sizeof *x; i++)
        if (x[i] != y[i] && !(isnan(x[i]) && isnan(y[i])) &&
            !(fabsf(x[i] - y[i]) <= near * (1 + fabsf(y[i]))))
            return false;
    return true;
}

static void compare(const shape *s, int dtype, bool last, int special)
{
    result want[RESULTS], got[RESULTS];
    pool(s, exact, dtype, false, special, want);
    pool(s, device, dtype, last, special, got);
    for (int k = 0; k < RESULTS; k++) {
        const bool gradient = k == MAX_GRAD || k == MEAN_GRAD;
        if (!CHECK(same(&got[k], &want[k], k, dtype)))
            printf("  %s, %s of %s, last %d, special %d\n", s->what, names[k], kn_dtype_name((kn_dtype)dtype),
                   last, special);
        /* Nothing is brought into another order, before or after. */
        if (k != PLACES && s->own >> gradient & 1 && !CHECK(got[k].launches == 1))
            printf("  %s, %s, last %d: %d launches\n", s->what, names[k], last, (int)got[k].launches);
        free(want[k].bytes);
        free(got[k].bytes);
    }
}

/* Kernels of windows of the device. */
static int count_kernels(void)
{
    int n = 0;
    for (uint32_t i = 0; i < gpu->kernel_room; i++) n += gpu->kernels[i] && gpu->kernels[i]->key[0] == 'p';
    return n;
}

int main(void)
{
    setenv("KN_OPENCL_OPTIONS", "-cl-opt-disable", 0);
    exact = kn_device_open("cpu");
    device = kn_device_open("opencl:0");
    if (!device) {
        check_skip("no OpenCL device");
        return check_report();
    }
    gpu = (kni_gpu *)(void *)kni_opencl_open("0", NULL, 0);
    if (!CHECK(exact && gpu)) return check_report();
    static const kn_want everything = {KN_WANT_ANY, 2, UINT32_MAX};
    gpu->backend.device->wants = &everything;
    gpu->backend.device->n_wants = 1;
    for (int i = 0; i < KNI_COUNT(shapes); i++) {
        if (!check_part(i, 4)) continue;
        const int before = count_kernels();
        compare(&shapes[i], KN_F32, false, 0);
        CHECK((count_kernels() > before) == (shapes[i].own > 0));
        compare(&shapes[i], KN_F32, true, 1);
        compare(&shapes[i], KN_BF16, false, 2);
        compare(&shapes[i], KN_BF16, true, 0);
    }
    kn_device_use(NULL);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
