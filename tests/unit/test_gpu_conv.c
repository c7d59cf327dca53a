/* Convolutions of devices that compile kernels: each way of making one is forced and compared with the reference, and the way is
   chosen by what the convolution is. Elements are small whole numbers, so that every sum is exact and results are equal. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* setenv */
#endif
#include "backend/gpu/gpu_conv.h"
#include "core/device_object.h"
#include "ops/conv.h"
#include "ops/record.h"
#include "support/check.h"
#include <math.h>
#include <stdlib.h>

/* x [batch, channels, size..] by w [outs, channels / groups, taps..]; one entry for each axis of stride and the others. */
typedef struct shape {
    const char *what;
    int axes;
    int64_t batch, channels, outs, groups, size[3], taps[3];
    kni_conv_attributes a;
} shape;

#define INTS1(a)                                                                                             \
    {                                                                                                        \
        1, { a }                                                                                             \
    }
#define INTS2(a, b)                                                                                          \
    {                                                                                                        \
        2, { a, b }                                                                                          \
    }
#define INTS3(a, b, c)                                                                                       \
    {                                                                                                        \
        3, { a, b, c }                                                                                       \
    }

static const shape shapes[] = {
    {"depthwise", 2, 2, 5, 5, 5, {11, 13}, {3, 3}, {.padding = INTS2(1, 1), .padding_end = INTS2(1, 1)}},
    {"stride 2",
     2,
     1,
     3,
     3,
     3,
     {9, 12},
     {3, 3},
     {.stride = INTS2(2, 2), .padding = INTS2(1, 1), .padding_end = INTS2(1, 1)}},
    {"stride 3 and 2, dilation 2",
     2,
     2,
     2,
     4,
     2,
     {14, 10},
     {3, 2},
     {.stride = INTS2(3, 2), .dilation = INTS2(2, 3), .padding = INTS2(2, 0), .padding_end = INTS2(1, 2)}},
    {"5 x 5", 2, 1, 2, 2, 2, {17, 6}, {5, 5}, {.padding = INTS2(2, 2), .padding_end = INTS2(2, 2)}},
    {"cropped", 2, 1, 2, 2, 2, {8, 9}, {3, 3}, {.padding = INTS2(-1, 2), .padding_end = INTS2(0, -2)}},
    {"groups of 2 and 3",
     2,
     2,
     6,
     9,
     3,
     {6, 7},
     {3, 3},
     {.padding = INTS2(1, 1), .padding_end = INTS2(1, 1)}},
    {"groups of 4 and 6", 2, 1, 8, 12, 2, {5, 6}, {2, 3}, {.groups = 0}},
    {"few outputs", 2, 1, 9, 3, 1, {7, 8}, {3, 3}, {.padding = INTS2(1, 1), .padding_end = INTS2(1, 1)}},
    {"few channels", 2, 1, 3, 8, 1, {9, 9}, {3, 3}, {.stride = INTS2(2, 2), .padding = INTS2(1, 1)}},
    {"one tap", 2, 2, 6, 4, 1, {5, 4}, {1, 1}, {.groups = 0}},
    {"tall taps", 2, 1, 2, 2, 2, {15, 3}, {13, 1}, {.padding = INTS2(6, 0), .padding_end = INTS2(6, 0)}},
    {"large stride", 2, 1, 2, 2, 2, {21, 4}, {3, 2}, {.stride = INTS2(9, 1)}},
    {"one axis", 1, 2, 3, 3, 3, {23}, {4}, {.padding = INTS1(1), .padding_end = INTS1(2)}},
    {"one axis, dilated",
     1,
     1,
     4,
     8,
     4,
     {19},
     {3},
     {.stride = INTS1(2), .dilation = INTS1(3), .padding = INTS1(3)}},
    {"three axes",
     3,
     1,
     2,
     2,
     2,
     {5, 6, 7},
     {3, 2, 3},
     {.stride = INTS3(1, 2, 1), .padding = INTS3(1, 0, 1)}},
    {"no images", 2, 0, 3, 3, 3, {5, 5}, {3, 3}, {.groups = 0}},
    /* In lanes where channels lie last. */
    {"lanes", 2, 2, 8, 8, 8, {11, 13}, {3, 3}, {.padding = INTS2(1, 1), .padding_end = INTS2(1, 1)}},
    {"lanes, stride 2",
     2,
     2,
     12,
     12,
     12,
     {9, 12},
     {3, 3},
     {.stride = INTS2(2, 2), .padding = INTS2(1, 1), .padding_end = INTS2(1, 1)}},
    {"lanes, 7 x 7", 2, 2, 4, 4, 4, {17, 9}, {7, 7}, {.padding = INTS2(3, 3), .padding_end = INTS2(3, 3)}},
    {"lanes, 5 x 4, dilated",
     2,
     1,
     20,
     20,
     20,
     {19, 14},
     {5, 4},
     {.stride = INTS2(3, 2), .dilation = INTS2(2, 3), .padding = INTS2(2, 0), .padding_end = INTS2(1, 2)}},
    /* In vectors where rows are neighbours. */
    {"rows", 2, 2, 5, 5, 5, {11, 12}, {3, 3}, {.padding = INTS2(1, 1), .padding_end = INTS2(1, 1)}},
    {"rows of pairs", 2, 2, 3, 3, 3, {9, 14}, {5, 5}, {.padding = INTS2(2, 2), .padding_end = INTS2(2, 2)}},
    {"rows, uneven padding",
     2,
     1,
     2,
     2,
     2,
     {10, 8},
     {2, 6},
     {.padding = INTS2(0, 4), .padding_end = INTS2(1, 5)}},
    {"lanes, cropped", 2, 1, 4, 4, 4, {8, 9}, {3, 3}, {.padding = INTS2(-1, 2), .padding_end = INTS2(0, -2)}},
    {"many terms", 2, 3, 2, 3, 1, {20, 21}, {3, 3}, {.padding = INTS2(1, 1), .padding_end = INTS2(1, 1)}},
};

enum { Y, DX, DW, RESULTS };
static const char *const names[RESULTS] = {"y", "dx", "dw"};
static kn_device exact, device;
static kni_gpu *gpu;

typedef struct values {
    int64_t n;
    double *v;
} values;

static kn_tensor made(int axes, int64_t first, int64_t second, const int64_t *sizes, kn_dtype dtype, int seed,
                      double special, bool offset)
{
    static double v[1 << 18];
    kn_shape s = {.rank = axes + 2, .dims = {first, second}};
    int64_t n = first * second;
    for (int i = 0; i < axes; i++) n *= s.dims[i + 2] = sizes[i];
    const int64_t ahead = offset ? 3 : 0;
    for (int64_t i = 0; i < n + ahead; i++) v[i] = (double)((i * 7 + i / 5 + seed) % 5 - 2);
    if (n > 3) v[ahead + 3] = special != 0 ? special : v[ahead + 3];
    kn_tensor t = kn_cast(kn_from(v, KN_F64, KN_SHAPE(n + ahead)), dtype);
    if (offset) t = kn_slice(t, 0, ahead, n + ahead, 1);
    return kn_keep(kn_reshape(t, s));
}

static values read(kn_tensor t)
{
    t = kn_keep(kn_cast(t, KN_F64));
    values a = {.n = kn_count(t)};
    a.v = calloc((size_t)a.n + 1, sizeof *a.v);
    CHECK(kn_ok(t) && a.v && kn_read(t, a.v, (size_t)a.n * sizeof *a.v) == KN_OK);
    return a;
}

typedef struct conditions {
    kn_dtype dtype;
    double special; /* one element of each operand, where it is not 0 */
    bool offset;    /* operands are views that begin in the middle of their memory */
    bool last;      /* images lie with channels last, and the device wants that */
} conditions;

static kn_tensor turned(kn_tensor x)
{
    const int rank = kn_rank(x);
    kn_ints there = {rank, {0}}, back = {rank, {0}};
    for (int i = 1; i < rank; i++) there.dims[i] = i == rank - 1 ? 1 : i + 1;
    for (int i = 0; i < rank; i++) back.dims[there.dims[i]] = i;
    kn_tensor y = kn_permute(x, there);
    const kn_shape sizes = kn_shape_of_tensor(y);
    return kn_keep(kn_permute(kn_reshape(kn_reshape(y, KN_SHAPE(-1)), sizes), back));
}

/* Part of x that no result reads, along an axis. */
static int64_t left_over(const shape *s, int i)
{
    const kni_conv_attributes *a = &s->a;
    const int64_t stride = a->stride.rank ? a->stride.dims[i] : 1,
                  dilation = a->dilation.rank ? a->dilation.dims[i] : 1;
    int64_t room = s->size[i] - dilation * (s->taps[i] - 1) - 1;
    if (a->padding.rank) room += a->padding.dims[i];
    if (a->padding_end.rank) room += a->padding_end.dims[i];
    return room % stride;
}

static void convolve(const shape *s, kn_device on, const conditions *c, values out[RESULTS])
{
    kn_scope scope = kn_scope_begin();
    kn_device_use(on);
    kni_conv_attributes a = s->a;
    a.groups = s->groups;
    kn_tensor x = made(s->axes, s->batch, s->channels, s->size, c->dtype, 1, c->special, c->offset);
    if (c->last && s->batch) x = turned(x);
    kn_tensor w =
        made(s->axes, s->outs, s->channels / s->groups, s->taps, c->dtype, 2, c->special, c->offset);
    kn_tensor bias = kn_keep(kn_cast(kn_arange(1, (double)s->outs + 1, 1, KN_F32), c->dtype));
    kn_tensor in[3] = {x, w, bias}, y = kn_keep(kni_apply(&kni_op_conv, in, 3, &a));
    kn_shape sizes = kn_shape_of_tensor(y);
    kn_tensor dy = made(s->axes, s->batch, s->outs, sizes.dims + 2, c->dtype, 3, c->special, c->offset);
    if (c->last && s->batch) dy = turned(dy);
    out[Y] = read(y);
    a.extra.rank = s->axes;
    for (int i = 0; i < s->axes; i++) a.extra.dims[i] = s->taps[i];
    in[1] = dy;
    out[DW] = read(kni_apply(&kni_op_conv_weight_grad, in, 2, &a));
    for (int i = 0; i < s->axes; i++) a.extra.dims[i] = left_over(s, i);
    in[0] = dy, in[1] = w, in[2] = KN_NONE;
    out[DX] = read(kni_apply(&kni_op_conv_transpose, in, 3, &a));
    kn_scope_end(scope, KN_NONE);
}

static void compare(const shape *s, int way, const conditions *c)
{
    values want[RESULTS], got[RESULTS];
    static const kn_want everything = {KN_WANT_ANY, 2, UINT32_MAX};
    kn_device own = gpu->backend.device;
    const int32_t wants = own->n_wants;
    gpu->convolutions = (uint8_t)way;
    convolve(s, exact, c, want);
    own->wants = &everything;
    own->n_wants = c->last ? 1 : wants;
    convolve(s, device, c, got);
    own->n_wants = wants;
    gpu->convolutions = KNI_CONV_BY_ANY;
    for (int k = 0; k < RESULTS; k++) {
        int64_t wrong = got[k].n != want[k].n, where = -1;
        for (int64_t i = 0; i < want[k].n && !wrong; i++)
            if (got[k].v[i] != want[k].v[i] && !(isnan(got[k].v[i]) && isnan(want[k].v[i])))
                wrong = 1, where = i;
        if (!CHECK(!wrong))
            printf("  %s, way %d, %s of %s, special %g: element %d is %g and not %g\n", s->what, way,
                   names[k], kn_dtype_name(c->dtype), c->special, (int)where, where < 0 ? 0 : got[k].v[where],
                   where < 0 ? 0 : want[k].v[where]);
        free(want[k].v);
        free(got[k].v);
    }
}

/* Kernels of the device whose key begins with this letter. */
static int count_kernels(char kind)
{
    int n = 0;
    for (uint32_t i = 0; i < gpu->kernel_room; i++) n += gpu->kernels[i] && gpu->kernels[i]->key[0] == kind;
    return n;
}

enum { TILED = 'v', DIRECT = 'd', LANES = 'l', ELEMENTS = 'e' };

/* ---- a library, which multiplies padding as zeros and gives what is not finite its due */

static float element(const kni_convolution *p, const char *bytes, int64_t at)
{
    float value;
    uint32_t bits;
    uint16_t half;
    if (p->dtype == KN_F32) return memcpy(&value, bytes + at * 4, 4), value;
    memcpy(&half, bytes + at * 2, 2);
    bits = (uint32_t)half << 16;
    return memcpy(&value, &bits, 4), value;
}

static void put_element(const kni_convolution *p, char *bytes, int64_t at, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    if (isnan(value))
        bits = 0x7fc00000;
    else if (p->dtype != KN_F32)
        bits += 0x7fff + (bits >> 16 & 1);
    const uint16_t half = (uint16_t)(bits >> 16);
    memcpy(bytes + at * (p->dtype == KN_F32 ? 4 : 2), p->dtype == KN_F32 ? (void *)&bits : (void *)&half,
           p->dtype == KN_F32 ? 4 : 2);
}

typedef struct array {
    char *bytes;
    int64_t n;
    kni_place place;
} array;

static array fetch(kni_driver *d, const kni_convolution *p, kni_place place, int64_t outer, int64_t inner,
                   const int64_t *size)
{
    array a = {.n = outer * inner, .place = place};
    for (int i = 0; i < p->axes; i++) a.n *= size[i];
    const size_t each = kni_bytes_of(p->dtype);
    a.bytes = calloc((size_t)a.n + 1, each);
    CHECK(d->download(d, a.bytes, place.memory, (size_t)place.offset * each, (size_t)a.n * each) == KN_OK);
    return a;
}

static int64_t at_steps(const int64_t *steps, int axes, int64_t outer, int64_t inner, const int64_t *place)
{
    int64_t at = outer * steps[0] + inner * steps[1];
    for (int i = 0; i < axes; i++) at += place[i] * steps[2 + i];
    return at;
}

static bool step_on(int axes, int64_t *place, const int64_t *size)
{
    for (int i = axes - 1; i >= 0; i--) {
        if (++place[i] < size[i]) return true;
        place[i] = 0;
    }
    return false;
}

/* Walks all pairs of a place of y and a tap: which sum they go to, and what they multiply. */
static void multiply_all(const kni_convolution *p, array *x, array *w, array *y, float *sums)
{
    const int64_t channels = p->channels / p->groups, outs = p->outs / p->groups;
    for (int64_t n = 0; n < p->images * p->outs * channels; n++) {
        const int64_t image = n / (p->outs * channels), out = n / channels % p->outs, c = n % channels;
        int64_t at[3] = {0};
        do {
            int64_t tap[3] = {0};
            do {
                int64_t from[3];
                bool inside = true;
                for (int i = 0; i < p->axes; i++) {
                    from[i] = at[i] * p->stride[i] + tap[i] * p->dilation[i] - p->padding[i];
                    inside = inside && from[i] >= 0 && from[i] < p->x_size[i];
                }
                const int64_t in_x =
                    inside ? at_steps(p->x_steps, p->axes, image, out / outs * channels + c, from) : -1;
                const int64_t in_w = at_steps(p->w_steps, p->axes, out, c, tap),
                              in_y = at_steps(p->y_steps, p->axes, image, out, at);
                if (p->what == KNI_CONVOLUTION_FORWARD)
                    sums[in_y] += (inside ? element(p, x->bytes, in_x) : 0) * element(p, w->bytes, in_w);
                else if (p->what == KNI_CONVOLUTION_FILTER)
                    sums[in_w] += (inside ? element(p, x->bytes, in_x) : 0) * element(p, y->bytes, in_y);
                else if (inside)
                    sums[in_x] += element(p, y->bytes, in_y) * element(p, w->bytes, in_w);
            } while (step_on(p->axes, tap, p->kernel));
        } while (step_on(p->axes, at, p->y_size));
    }
}

/* A gradient by the image as the convolution of a spread image that it is: weights meet what lies between and beside its elements. */
static void multiply_missing(const kni_convolution *p, const array *w, float *sums)
{
    const int64_t channels = p->channels / p->groups, outs = p->outs / p->groups;
    for (int64_t n = 0; n < p->images * p->channels * outs; n++) {
        const int64_t image = n / (p->channels * outs), channel = n / outs % p->channels,
                      out = channel / channels * outs + n % outs;
        int64_t at[3] = {0};
        do {
            int64_t tap[3] = {0};
            do
                sums[at_steps(p->x_steps, p->axes, image, channel, at)] +=
                    0 * element(p, w->bytes, at_steps(p->w_steps, p->axes, out, channel % channels, tap));
            while (step_on(p->axes, tap, p->kernel));
        } while (step_on(p->axes, at, p->x_size));
    }
}

/* As a transform does: what is not finite spoils its neighbours, here those of a tile of six elements in memory. */
static bool transforms;
static void spoil_tiles(const kni_convolution *p, float *sums, int64_t n)
{
    enum { TILE = 6 };
    *p->transformed = true;
    for (int64_t first = 0; first < n; first += TILE) {
        bool odd = false;
        for (int64_t i = first; i < first + TILE && i < n; i++) odd = odd || !isfinite(sums[i]);
        for (int64_t i = first; i < first + TILE && i < n && odd; i++) sums[i] = i % 2 ? NAN : INFINITY;
    }
}

static int64_t asked, transformed;
static kni_convolution latest;
static kn_status multiply_padding(kni_driver *d, const kni_convolution *p)
{
    if (p->only_transformed && !transforms) return KN_ERROR_UNSUPPORTED;
    array a[3] = {fetch(d, p, p->x, p->images, p->channels, p->x_size),
                  fetch(d, p, p->w, p->outs, p->channels / p->groups, p->kernel),
                  fetch(d, p, p->y, p->images, p->outs, p->y_size)};
    array *made = &a[p->what == KNI_CONVOLUTION_FORWARD ? 2 : p->what == KNI_CONVOLUTION_DATA ? 0 : 1];
    const int64_t one[3] = {1, 1, 1};
    array bias = {NULL, 0, {NULL, 0}}, added = {NULL, 0, {NULL, 0}};
    float *sums = calloc((size_t)made->n + 1, sizeof *sums);
    asked++;
    latest = *p;
    if (p->bias.memory) bias = fetch(d, p, p->bias, p->outs, 1, one);
    if (p->added.memory) added = fetch(d, p, p->added, p->images, p->outs, p->y_size);
    multiply_all(p, &a[0], &a[1], &a[2], sums);
    if (p->what == KNI_CONVOLUTION_DATA && a[1].n > p->outs * p->channels / p->groups)
        multiply_missing(p, &a[1], sums);
    for (int64_t i = 0; i < made->n; i++) {
        const bool last = p->y_steps[1] == 1;
        const int64_t out = last ? i % p->outs : i / p->y_steps[1] % p->outs;
        if (added.bytes) sums[i] += element(p, added.bytes, i);
        if (bias.bytes) sums[i] += element(p, bias.bytes, out);
        /* As libraries do, this one loses NaN. */
        if (p->relu) sums[i] = sums[i] > 0 ? sums[i] : 0;
    }
    const bool spoils = transforms && p->transformed && p->dtype == KN_F32 && !p->relu;
    if (spoils) spoil_tiles(p, sums, made->n);
    transformed += spoils;
    for (int64_t i = 0; i < made->n; i++) put_element(p, made->bytes, i, sums[i]);
    const size_t each = kni_bytes_of(p->dtype);
    kn_status status = d->upload(d, made->place.memory, (size_t)made->place.offset * each, made->bytes,
                                 (size_t)made->n * each);
    for (int i = 0; i < 3; i++) free(a[i].bytes);
    free(bias.bytes), free(added.bytes), free(sums);
    return status;
}

/* What weights that are not finite make of padding is not seen. */
static void mends_a_library(void)
{
    static const conditions all[] = {{KN_F32, 0, false, false},
                                     {KN_F32, INFINITY, false, false},
                                     {KN_F32, NAN, true, false},
                                     {KN_BF16, -INFINITY, false, false}};
    int64_t n = 0;
    gpu->driver->convolution = multiply_padding;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            if (!check_part(n++, 3)) continue;
            const int64_t before = asked;
            compare(&shapes[k], KNI_CONV_BY_LIBRARY, &all[i]);
            /* Cropping and convolutions of nothing are ours. */
            const bool ours = strstr(shapes[k].what, "cropped") || !strcmp(shapes[k].what, "no images");
            if (!CHECK(asked - before == (ours ? 0 : 3))) printf("  %s\n", shapes[k].what);
        }
    gpu->driver->convolution = NULL;
}

/* What a library's transforms spoil beside elements that are not finite is not seen, whatever the order, with and without padding. */
static void mends_transforms(void)
{
    static const conditions all[] = {{KN_F32, 0, false, false},
                                     {KN_F32, INFINITY, false, false},
                                     {KN_F32, NAN, true, false},
                                     {KN_F32, -INFINITY, false, true},
                                     {KN_BF16, INFINITY, false, false}};
    int64_t n = 0;
    gpu->driver->convolution = multiply_padding;
    transforms = true;
    CHECK(count_kernels(ELEMENTS) == 0);
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            if (!check_part(n++, 3)) continue;
            const int64_t before = asked, tiles = transformed;
            compare(&shapes[k], KNI_CONV_BY_LIBRARY, &all[i]);
            /* Only f32 is transformed, as nobody asks it of the others. */
            CHECK(transformed - tiles == (all[i].dtype == KN_F32 ? asked - before : 0));
        }
    CHECK(count_kernels(ELEMENTS) > 0);
    transforms = false;
    gpu->driver->convolution = NULL;
}

/* After a transform there is one launch more, which reads the results; a bias and an image that were added belong to what is made again,
   and where relu follows all of that is done there. */
static void mends_what_was_added(bool relu, int64_t width, int64_t pad)
{
    enum { MOST = 2 * 8 * 7 * 8 };
    kn_device fused = kn_device_open("fusion(opencl:0)"), on[2] = {exact, fused};
    float back[2][MOST];
    const int64_t count = 2 * 8 * 7 * width;
    if (!CHECK(fused != NULL)) return;
    gpu->driver->convolution = multiply_padding;
    gpu->convolutions = KNI_CONV_BY_LIBRARY;
    transforms = true;
    for (int i = 0; i < 2; i++) {
        kn_scope scope = kn_scope_begin();
        const int64_t size[] = {7, width}, taps[] = {1 + 2 * pad, 1 + 2 * pad};
        kn_device_use(on[i]);
        kn_tensor x = made(2, 2, 3, size, KN_F32, 1, INFINITY, false),
                  w = made(2, 8, 3, taps, KN_F32, 2, 0, false);
        kn_tensor other = made(2, 2, 8, size, KN_F32, 3, NAN, false),
                  bias = kn_keep(kn_arange(-4, 4, 1, KN_F32));
        CHECK(kn_sync(on[i]) == KN_OK);
        const uint64_t launches = gpu->launches;
        const int64_t before = transformed;
        kn_tensor y = kn_add(kn_conv2d(x, w, bias, &(kn_conv2d_args){.padding = {pad, pad}}), other);
        CHECK(kn_read(kn_keep(relu ? kn_relu(y) : y), back[i], (size_t)count * sizeof(float)) == KN_OK);
        CHECK(gpu->launches - launches == (uint64_t)i * 2 && transformed - before == i);
        kn_scope_end(scope, KN_NONE);
    }
    CHECK(!latest.relu && (latest.bias.memory != NULL) == !relu && (latest.added.memory != NULL) == !relu);
    for (int i = 0; i < count; i++)
        CHECK(back[0][i] == back[1][i] || (isnan(back[0][i]) && isnan(back[1][i])));
    transforms = false;
    gpu->convolutions = KNI_CONV_BY_ANY;
    gpu->driver->convolution = NULL;
}

/* Relu in the library's call may hide what padding spoiled; it is found all the same. */
static void mends_what_follows(void)
{
    kn_device fused = kn_device_open("fusion(opencl:0)"), on[2] = {exact, fused};
    float back[2][2 * 8 * 7 * 5];
    if (!CHECK(fused != NULL)) return;
    gpu->driver->convolution = multiply_padding;
    gpu->convolutions = KNI_CONV_BY_LIBRARY;
    for (int i = 0; i < 2; i++) {
        kn_scope scope = kn_scope_begin();
        const int64_t size[] = {7, 5}, taps[] = {3, 3};
        kn_device_use(on[i]);
        kn_tensor x = made(2, 2, 3, size, KN_F32, 1, 0, false),
                  w = made(2, 8, 3, taps, KN_F32, 2, -INFINITY, false);
        kn_tensor other = made(2, 2, 8, size, KN_F32, 3, 0, false),
                  bias = kn_keep(kn_arange(0, 8, 1, KN_F32));
        CHECK(kn_sync(on[i]) == KN_OK);
        const uint64_t launches = gpu->launches;
        const int64_t before = asked;
        kn_tensor y = kn_conv2d(x, w, bias, &(kn_conv2d_args){.padding = {1, 1}});
        CHECK(kn_read(kn_keep(kn_relu(kn_add(y, other))), back[i], sizeof back[i]) == KN_OK);
        /* The call, and a launch that looks at the weights. */
        CHECK(gpu->launches - launches == (uint64_t)i * 2 && asked - before == i);
        kn_scope_end(scope, KN_NONE);
    }
    CHECK(latest.relu && latest.bias.memory && latest.added.memory);
    for (int i = 0; i < 2 * 8 * 7 * 5; i++)
        CHECK(back[0][i] == back[1][i] || (isnan(back[0][i]) && isnan(back[1][i])));
    gpu->convolutions = KNI_CONV_BY_ANY;
    gpu->driver->convolution = NULL;
}

static void each_way(void)
{
    static const conditions all[] = {
        {KN_F32, 0, false, false},   {KN_F16, 0, false, false},      {KN_BF16, 0, true, false},
        {KN_F64, 0, true, false},    {KN_I32, 0, false, false},      {KN_F32, INFINITY, false, false},
        {KN_F32, NAN, false, false}, {KN_F32, 0, false, true},       {KN_F16, 0, false, true},
        {KN_F32, NAN, false, true},  {KN_BF16, INFINITY, true, true}};
    static const int ways[] = {KNI_CONV_BY_DIRECT, KNI_CONV_BY_TILED};
    int64_t n = 0;
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
            for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
                /* Every shape in f32, in both orders; the other dtypes and values go through some of them. */
                const bool lanes = !strncmp(shapes[k].what, "lanes", 5) && !w,
                           rows = !strncmp(shapes[k].what, "rows", 4) && !w;
                if (i > 0 && i != 7 && (k + i + w) % 9 && !(lanes && i + k % 2 > 8) && !(rows && i < 7))
                    continue;
                if (check_part(n++, 6)) compare(&shapes[k], ways[w], &all[i]);
            }
}

/* A large device cuts weight gradients into parts, but not those of short sums. */
static void cuts_weights(void)
{
    static const shape cut[] = {
        {"many places",
         2,
         6,
         2,
         2,
         2,
         {40, 37},
         {3, 3},
         {.padding = INTS2(1, 1), .padding_end = INTS2(1, 1)}},
        {"many places, two outputs",
         2,
         5,
         2,
         4,
         2,
         {41, 30},
         {3, 2},
         {.stride = INTS2(1, 2), .dilation = INTS2(2, 1), .padding = INTS2(2, 0)}},
        {"many places, three channels",
         1,
         9,
         3,
         2,
         1,
         {997},
         {5},
         {.padding = INTS1(2), .padding_end = INTS1(1)}},
        {"more places", 1, 1, 1, 1, 1, {32001}, {3}, {.groups = 0}},
        {"many places, three axes", 3, 3, 2, 6, 2, {9, 13, 11}, {3, 1, 2}, {.padding = INTS3(1, 0, 1)}},
    };
    static const conditions all[] = {
        {KN_F32, 0, false, false}, {KN_F16, 0, true, false}, {KN_F32, NAN, false, false}};
    static const int ways[] = {KNI_CONV_BY_DIRECT, KNI_CONV_BY_TILED};
    const uint32_t processors = gpu->driver->processors;
    int64_t n = 0;
    gpu->driver->processors = 64;
    CHECK(count_kernels('+') == 0);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
        for (size_t k = 0; k < sizeof cut / sizeof *cut; k++)
            for (size_t i = 0; i < sizeof all / sizeof *all; i++)
                if (check_part(n++, 3)) {
                    const uint64_t launches = gpu->launches;
                    compare(&cut[k], ways[w], &all[i]);
                    /* y, dx, and both passes of dw; casts where they are read. */
                    CHECK(gpu->launches - launches >= 4);
                }
    CHECK(count_kernels('+') > 0);
    gpu->driver->processors = processors;
    /* Two workgroups for each processor, of enough terms, in not too many parts and not too much memory. */
    CHECK(kni_gpu_choose_parts(gpu, 2, 1 << 20, 1 << 20, 256, 10) == 1);
    CHECK(kni_gpu_choose_parts(gpu, 2, processors, 1 << 20, 256, 10) == 2);
    CHECK(kni_gpu_choose_parts(gpu, 2, 1, 511, 256, 10) == 1 &&
          kni_gpu_choose_parts(gpu, 2, 1, 512, 256, 10) == 2);
    CHECK(kni_gpu_choose_parts(gpu, 2, 1, 1 << 20, 256, 1 << 25) == 1);
    gpu->driver->processors = 1 << 20;
    CHECK(kni_gpu_choose_parts(gpu, 2, 1, 1 << 20, 256, 10) == 64);
    CHECK(kni_gpu_choose_parts(gpu, 8, 1, 1 << 20, 256, 10) == 256);
    gpu->driver->processors = processors;
}

/* What was forced is what ran. */
static void runs_what_was_forced(void)
{
    const conditions c = {.dtype = KN_I16};
    const int tiled = count_kernels(TILED), direct = count_kernels(DIRECT);
    compare(&shapes[0], KNI_CONV_BY_TILED, &c);
    CHECK(count_kernels(TILED) == tiled + 3 && count_kernels(DIRECT) == direct);
    compare(&shapes[0], KNI_CONV_BY_DIRECT, &c);
    CHECK(count_kernels(DIRECT) > direct && count_kernels(TILED) < tiled + 6);
}

/* What follows a convolution is computed where it stores: one launch, with the values of single records. */
static void joins_what_follows(bool last, int way, int groups)
{
    enum { CHANNELS = 8, COUNT = 2 * CHANNELS * 7 * 5 };
    static const kn_want everything = {KN_WANT_ANY, 2, UINT32_MAX};
    kn_device fused = kn_device_open("fusion(opencl:0)"), on[2] = {exact, fused};
    kn_device both[2] = {gpu->backend.device, kni_device_find(fused, "test")};
    float back[2][COUNT];
    if (!CHECK(both[1] != NULL)) return;
    gpu->convolutions = (uint8_t)way;
    for (int i = 0; i < 2; i++) {
        kn_scope scope = kn_scope_begin();
        const int64_t size[] = {7, 5}, taps[] = {3, 3};
        int64_t strides[KN_MAX_RANK];
        kn_device_use(on[i]);
        kn_tensor x = made(2, 2, CHANNELS, size, KN_F32, 1, 0, false),
                  w = made(2, CHANNELS, CHANNELS / groups, taps, KN_F32, 2, 0, false);
        kn_tensor other = made(2, 2, CHANNELS, size, KN_F32, 3, 0, false),
                  bias = kn_keep(kn_arange(0, CHANNELS, 1, KN_F32));
        if (last) x = turned(x), other = turned(other);
        CHECK(kn_sync(on[i]) == KN_OK);
        for (int k = 0; k < 2; k++) both[k]->wants = &everything, both[k]->n_wants = last && i;
        const uint64_t launches = gpu->launches;
        kn_tensor y = kn_conv2d(x, w, bias, &(kn_conv2d_args){.padding = {1, 1}, .groups = groups});
        y = kn_keep(kn_relu(kn_add(y, other)));
        CHECK(kn_sync(on[i]) == KN_OK);
        /* Tiles read rows, to which x is turned first. */
        CHECK(gpu->launches - launches == (uint64_t)i * (last && way == KNI_CONV_BY_TILED ? 2 : 1));
        CHECK(kn_strides(y, strides) == KN_OK && (strides[1] == 1) == (last && i));
        CHECK(kn_read(y, back[i], sizeof back[i]) == KN_OK);
        for (int k = 0; k < 2; k++) both[k]->n_wants = 0;
        kn_scope_end(scope, KN_NONE);
    }
    gpu->convolutions = KNI_CONV_BY_ANY;
    CHECK(!memcmp(back[0], back[1], sizeof back[0]));
}

/* So is what follows a gradient by the weight, of images as they lie. */
static void joins_what_follows_gradients(void)
{
    enum { CHANNELS = 8, COUNT = CHANNELS * 9 };
    kn_device fused = kn_device_open("fusion(opencl:0)"), on[2] = {exact, fused};
    float back[2][COUNT];
    if (!CHECK(fused != NULL)) return;
    gpu->convolutions = KNI_CONV_BY_DIRECT;
    for (int i = 0; i < 2; i++) {
        kn_scope scope = kn_scope_begin();
        const int64_t size[] = {7, 5};
        kni_conv_attributes a = {
            .groups = CHANNELS, .padding = INTS2(1, 1), .padding_end = INTS2(1, 1), .extra = INTS2(3, 3)};
        kn_device_use(on[i]);
        kn_tensor x = turned(made(2, 2, CHANNELS, size, KN_BF16, 1, 0, false)),
                  dy = turned(made(2, 2, CHANNELS, size, KN_BF16, 3, 0, false)), in[2] = {x, dy};
        CHECK(kn_sync(on[i]) == KN_OK);
        const uint64_t launches = gpu->launches;
        kn_tensor dw = kn_keep(kn_cast(kni_apply(&kni_op_conv_weight_grad, in, 2, &a), KN_F32));
        CHECK(kn_sync(on[i]) == KN_OK && gpu->launches - launches == (uint64_t)i);
        CHECK(kn_read(dw, back[i], sizeof back[i]) == KN_OK);
        kn_scope_end(scope, KN_NONE);
    }
    gpu->convolutions = KNI_CONV_BY_ANY;
    CHECK(!memcmp(back[0], back[1], sizeof back[0]));
}

/* Channels that are a multiple of a vector go in lanes, results and both gradients in one launch each. */
static void goes_in_lanes(void)
{
    static const kn_want everything = {KN_WANT_ANY, 2, UINT32_MAX};
    kn_device own = gpu->backend.device;
    const int64_t size[] = {6, 10}, taps[] = {3, 4};
    kn_scope scope = kn_scope_begin();
    kn_device_use(device);
    kn_tensor x = turned(made(2, 2, 16, size, KN_BF16, 1, 0, false)),
              w = made(2, 16, 1, taps, KN_BF16, 2, 0, false);
    kni_conv_attributes a = {.groups = 16, .extra = INTS2(3, 4)};
    kn_tensor in[3] = {x, w, KN_NONE}, y;
    CHECK(kn_sync(device) == KN_OK);
    own->wants = &everything;
    own->n_wants = 1;
    const int lanes = count_kernels(LANES);
    uint64_t launches = gpu->launches;
    in[0] = y = kn_keep(kni_apply(&kni_op_conv, in, 3, &a));
    CHECK(kn_sync(device) == KN_OK && gpu->launches - launches == 1 && count_kernels(LANES) == lanes + 1);
    kni_conv_attributes back = {.groups = 16};
    CHECK(kn_ok(kn_keep(kni_apply(&kni_op_conv_transpose, in, 3, &back))) && kn_sync(device) == KN_OK);
    CHECK(gpu->launches - launches == 2 && count_kernels(LANES) == lanes + 2);
    in[0] = x, in[1] = y;
    CHECK(kn_ok(kn_keep(kni_apply(&kni_op_conv_weight_grad, in, 2, &a))) && kn_sync(device) == KN_OK);
    CHECK(gpu->launches - launches == 3 && count_kernels(LANES) == lanes + 3);
    /* Rows that lie too far apart for one invocation go another way. */
    const int64_t tall[] = {120, 4}, column[] = {3, 1};
    in[0] = turned(made(2, 1, 16, tall, KN_BF16, 1, 0, false));
    in[1] = made(2, 16, 1, column, KN_BF16, 2, 0, false);
    kni_conv_attributes far = {.groups = 16, .dilation = INTS2(48, 1)};
    CHECK(kn_sync(device) == KN_OK && kn_ok(kn_keep(kni_apply(&kni_op_conv, in, 3, &far))));
    CHECK(kn_sync(device) == KN_OK && count_kernels(LANES) == lanes + 3);
    own->n_wants = 0;
    kn_scope_end(scope, KN_NONE);
}

/* Depthwise images with channels last are read and made as they lie: one launch, no copy. */
static void leaves_images_where_they_are(void)
{
    static const kn_want everything = {KN_WANT_ANY, 2, UINT32_MAX};
    kn_device own = gpu->backend.device;
    const int64_t size[] = {7, 5}, taps[] = {3, 3};
    kn_scope scope = kn_scope_begin();
    kn_device_use(device);
    kn_tensor x = turned(made(2, 2, 6, size, KN_F32, 1, 0, false)),
              w = made(2, 6, 1, taps, KN_F32, 2, 0, false);
    CHECK(kn_sync(device) == KN_OK);
    own->wants = &everything;
    own->n_wants = 1;
    const uint64_t launches = gpu->launches;
    const int lanes = count_kernels(LANES); /* six channels are no whole vectors */
    kn_tensor y = kn_keep(kn_conv2d(x, w, KN_NONE, &(kn_conv2d_args){.padding = {1, 1}, .groups = 6}));
    CHECK(kn_sync(device) == KN_OK && gpu->launches - launches == 1);
    CHECK(count_kernels(LANES) == lanes);
    kn_tensor z = kn_keep(kn_relu(kn_add(y, x)));
    CHECK(kn_ok(z) && gpu->launches - launches == 3);
    own->n_wants = 0;
    int64_t strides[KN_MAX_RANK];
    CHECK(kn_strides(z, strides) == KN_OK && strides[1] == 1 && strides[3] == 6);
    kn_scope_end(scope, KN_NONE);
}

/* A library is not asked for depthwise convolutions, in either order. */
static void keeps_depthwise_from_a_library(void)
{
    static const conditions all[] = {{KN_BF16, 0, false, false}, {KN_BF16, 0, false, true}};
    gpu->driver->convolution = multiply_padding;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const int64_t before = asked;
        compare(&shapes[0], KNI_CONV_BY_ANY, &all[i]);
        CHECK(asked == before);
    }
    gpu->driver->convolution = NULL;
}

/* Images of one position are multiplied as matrices. */
static void multiplies_single_positions(void)
{
    enum { PRODUCT = 'p' };
    static const shape one[] = {
        {"one position", 2, 9, 24, 7, 1, {1, 1}, {1, 1}, {.groups = 0}},
        {"one position, one axis", 1, 5, 3, 16, 1, {1}, {1}, {.groups = 0}},
        {"one position in groups", 2, 3, 24, 32, 2, {1, 1}, {1, 1}, {.groups = 0}},
    };
    static const conditions all[] = {{KN_F32, 0, false, false}, {KN_BF16, INFINITY, true, false}};
    for (size_t k = 0; k < sizeof one / sizeof *one; k++)
        for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
            const int tiled = count_kernels(TILED);
            compare(&one[k], KNI_CONV_BY_ANY, &all[i]);
            CHECK(one[k].groups > 1 || (count_kernels(PRODUCT) > 0 && count_kernels(TILED) == tiled));
        }
}

/* Images of few channels reach a library with eight of them, the last ones zeros, whichever way they lie; others do not. */
static void packs_few_channels(bool turns, double special)
{
    static const kn_want everything = {KN_WANT_ANY, 8, UINT32_MAX};
    enum { OUTS = 8, PLACES = 65 * 64 };
    static float back[2][2][OUTS * PLACES], spread[2][3 * 260 * 256];
    kn_device on[2] = {exact, device}, own = gpu->backend.device;
    const int64_t size[] = {260, 256}, taps[] = {3, 3}, made_size[] = {65, 64};
    gpu->driver->convolution = multiply_padding;
    for (int i = 0; i < 2; i++) {
        kn_scope scope = kn_scope_begin();
        kni_conv_attributes a = {.groups = 1, .stride = INTS2(4, 4), .padding = INTS2(1, 1)};
        kn_device_use(on[i]);
        kn_tensor x = made(2, 1, 3, size, KN_BF16, 1, 0, false),
                  w = made(2, OUTS, 3, taps, KN_BF16, 2, special, false);
        kn_tensor dy = turned(made(2, 1, OUTS, made_size, KN_BF16, 3, 0, false));
        if (turns) x = turned(x);
        own->wants = &everything;
        own->n_wants = i;
        kn_tensor in[3] = {x, w, KN_NONE}, y = kn_keep(kni_apply(&kni_op_conv, in, 3, &a));
        CHECK(kn_read(kn_keep(kn_cast(y, KN_F32)), back[i][0], sizeof back[i][0]) == KN_OK);
        CHECK(!i || (latest.channels == 8 && latest.x_steps[1] == 1 && latest.w_steps[1] == 1));
        a.extra = (kn_ints)INTS2(3, 3);
        in[1] = dy;
        kn_tensor dw = kn_keep(kni_apply(&kni_op_conv_weight_grad, in, 2, &a));
        CHECK(kn_read(kn_keep(kn_cast(dw, KN_F32)), back[i][1], OUTS * 27 * sizeof(float)) == KN_OK);
        CHECK(!i || (latest.channels == 8 && latest.what == KNI_CONVOLUTION_FILTER));
        a.extra = (kn_ints)INTS2(2, 2);
        in[0] = dy, in[1] = w;
        kn_tensor dx = kn_keep(kni_apply(&kni_op_conv_transpose, in, 3, &a));
        CHECK(kn_read(kn_keep(kn_cast(dx, KN_F32)), spread[i], sizeof spread[i]) == KN_OK);
        CHECK(!i || (latest.channels == 8 && latest.what == KNI_CONVOLUTION_DATA));
        own->n_wants = 0;
        kn_scope_end(scope, KN_NONE);
    }
    int64_t wrong = 0;
    for (int64_t i = 0; i < OUTS * PLACES; i++)
        wrong += back[0][0][i] != back[1][0][i] && !(isnan(back[0][0][i]) && isnan(back[1][0][i]));
    for (int64_t i = 0; i < 3 * 260 * 256; i++)
        wrong += spread[0][i] != spread[1][i] && !(isnan(spread[0][i]) && isnan(spread[1][i]));
    CHECK(wrong == 0 && !memcmp(back[0][1], back[1][1], OUTS * 27 * sizeof(float)));
    gpu->driver->convolution = NULL;
}

/* Ways by name; another text says nothing. */
static void ways_by_name(void)
{
    CHECK(kni_gpu_conv_way(NULL) == KNI_CONV_BY_ANY && kni_gpu_conv_way("directly") == KNI_CONV_BY_ANY);
    CHECK(kni_gpu_conv_way("direct") == KNI_CONV_BY_DIRECT && kni_gpu_conv_way("tiled") == KNI_CONV_BY_TILED);
    CHECK(kni_gpu_conv_way("library") == KNI_CONV_BY_LIBRARY);
}

/* The way that is taken by itself: groups of few outputs without tiles, also where a library would do; others not. */
static void chooses(void)
{
    static const struct {
        int64_t channels, outs, positions;
        bool direct;
    } cases[] = {{1, 1, 1000, true},   {1, 4, 1000, true},  {4, 4, 1000, true},     {4, 8, 1000, true},
                 {3, 32, 1000, false}, {8, 8, 1000, false}, {64, 3, 1 << 20, true}, {64, 3, 4, false}};
    for (int i = 0; i < KNI_COUNT(cases); i++) {
        const kni_conv_shape c = {.what = KNI_CONV_FORWARD,
                                  .dtype = KN_F32,
                                  .axes = 1,
                                  .images = 1,
                                  .groups = 2,
                                  .channels = cases[i].channels,
                                  .outs = cases[i].outs,
                                  .x_size = {1, 1, cases[i].positions},
                                  .y_size = {1, 1, cases[i].positions},
                                  .kernel = {1, 1, 3},
                                  .stride = {1, 1, 1},
                                  .dilation = {1, 1, 1}};
        if (!CHECK(kni_gpu_conv_wants_direct(gpu, &c) == cases[i].direct)) printf("  case %d\n", i);
    }
}

int main(void)
{
    setenv("KN_OPENCL_OPTIONS", "-cl-opt-disable", 0);
    exact = kn_device_open("ref");
    device = kn_device_open("opencl:0");
    if (!device) {
        check_skip("no OpenCL device");
        return check_report();
    }
    gpu = (kni_gpu *)(void *)kni_opencl_open("0", NULL, 0);
    if (!CHECK(exact && gpu)) return check_report();
    mends_a_library();
    mends_what_follows();
    mends_transforms();
    int n = 0; /* of parts that take long under a sanitizer */
    for (int width = 4; width <= 5; width++)
        for (int relu = 0; relu < 2; relu++) {
            mends_what_was_added(relu, width, width % 2);
        }
    cuts_weights();
    each_way();
    CHECK(count_kernels(LANES) > 0 && count_kernels('r') > 0);
    runs_what_was_forced();
    static const struct {
        int way, groups;
    } joins[] = {{KNI_CONV_BY_DIRECT, 8}, {KNI_CONV_BY_DIRECT, 2}, {KNI_CONV_BY_TILED, 1}};
    for (int last = 0; last < 2; last++)
        for (int i = 0; i < KNI_COUNT(joins); i++)
            if (check_part(n++, 3)) joins_what_follows(last, joins[i].way, joins[i].groups);
    void (*const others[])(void) = {joins_what_follows_gradients, leaves_images_where_they_are, goes_in_lanes,
                                    keeps_depthwise_from_a_library, multiplies_single_positions};
    for (int i = 0; i < KNI_COUNT(others); i++)
        if (check_part(n++, 3)) others[i]();
    for (int i = 0; i < 2; i++)
        if (check_part(n++, 3)) packs_few_channels(i, i ? INFINITY : 0);
    ways_by_name();
    chooses();
    kn_device_use(NULL);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
