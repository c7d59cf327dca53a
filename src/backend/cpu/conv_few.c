/* Patches of a convolution with few positions, and their product with the weights. */
#include "backend/cpu/conv_few.h"
#include "backend/cpu/conv_pack.h"
#include "backend/cpu/gemm_lasting.h"
#include "backend/cpu/matmul_run.h"
#include "backend/host/host.h"
#include <string.h>

enum { MOST_POSITIONS = 12, LEAST_DEPTH = 16, LEAST_OUTS = 8, SMALL_BYTES = 8192 };

static int64_t positions_of(const kni_conv_plan *p)
{
    return p->axes[0].target * p->axes[1].target * p->axes[2].target;
}

bool kni_conv_is_few(const kni_conv_plan *p, const kni_conv_tensor *x, const kni_conv_tensor *y)
{
    return !p->transposed && positions_of(p) <= MOST_POSITIONS && p->outs >= LEAST_OUTS &&
           p->channels * kni_conv_taps(p) >= LEAST_DEPTH && kni_gemm_takes(p->compute) &&
           x->dtype == p->compute && y->dtype == p->compute;
}

/* Positions low .. high - 1 along an axis for which a tap lies inside, and the element that the first of them reads. */
typedef struct {
    int64_t low, high, first;
} reached;

static reached reached_by(const kni_conv_axis *a, int64_t tap)
{
    const int64_t at = tap * a->dilation - a->padding;
    reached r = {0, a->target, at};
    while (r.low < r.high && r.first < 0) {
        r.low++;
        r.first += a->stride;
    }
    while (r.low < r.high && at + (r.high - 1) * a->stride >= a->source) r.high--;
    return r;
}

#define GATHER(type)                                                                                         \
    for (int64_t i = r[2].low; i < r[2].high; i++)                                                           \
        ((type *)to)[i] = ((const type *)from)[(i - r[2].low) * step];

/* What one tap reads of one channel, by position. */
static void gather(const kni_conv_plan *p, const kni_conv_tensor *x, const char *channel,
                   const reached r[KNI_CONV_AXES], char *to)
{
    const kni_conv_axis *a = p->axes;
    const int64_t row = a[2].target * p->kernels->size, step = a[2].stride * x->sizes[2];
    for (int64_t u = 0; u < a[0].target; u++)
        for (int64_t v = 0; v < a[1].target; v++, to += row) {
            if (u < r[0].low || u >= r[0].high || v < r[1].low || v >= r[1].high) {
                memset(to, 0, (size_t)row);
                continue;
            }
            const int64_t at = (r[0].first + (u - r[0].low) * a[0].stride) * x->sizes[0] +
                               (r[1].first + (v - r[1].low) * a[1].stride) * x->sizes[1] +
                               r[2].first * x->sizes[2];
            const char *from = channel + at * x->bytes;
            if (r[2].high - r[2].low < a[2].target) memset(to, 0, (size_t)row);
            if (p->kernels->size == 8) {
                GATHER(double)
            } else {
                GATHER(float)
            }
        }
}

/* patches[channel, tap][position] of a group of image n */
static void fill_patches(const kni_conv_plan *p, const kni_conv_tensor *x, int64_t n, int64_t group,
                         char *patches)
{
    const kni_conv_axis *a = p->axes;
    const int64_t of_tap = positions_of(p) * p->kernels->size, of_channel = of_tap * kni_conv_taps(p);
    const char *first = x->data + (n * x->batch + group * p->channels * x->channel) * x->bytes;
    reached r[KNI_CONV_AXES];
    for (int64_t i = 0; i < a[0].taps; i++)
        for (int64_t j = 0; j < a[1].taps; j++)
            for (int64_t k = 0; k < a[2].taps; k++, patches += of_tap) {
                r[0] = reached_by(&a[0], i);
                r[1] = reached_by(&a[1], j);
                r[2] = reached_by(&a[2], k);
                for (int64_t c = 0; c < p->channels; c++)
                    gather(p, x, first + c * x->channel * x->bytes, r, patches + c * of_channel);
            }
}

/* One group of one image. */
static bool multiply(const kni_conv_plan *p, const char *patches, kni_tensor *w, const char *weights,
                     const char *bias, const kni_conv_tensor *y, int64_t n, int64_t group)
{
    const int64_t depth = p->channels * kni_conv_taps(p), size = p->kernels->size, first = group * p->outs;
    const int64_t positions = positions_of(p);
    const kni_gemm_type type = kni_gemm_type_of(p->compute);
    const char *own = weights + first * depth * size;
    kni_gemm_packed packed;
    kni_gemm_args g = {.m = p->outs,
                       .n = positions,
                       .k = depth,
                       .a = own,
                       .b = patches,
                       .c = y->data + (n * y->batch + first * y->channel) * size,
                       .type_a = type,
                       .type_b = type,
                       .type_c = type,
                       .a_row = depth,
                       .a_col = 1,
                       .b_row = positions,
                       .b_col = 1,
                       .c_row = y->channel,
                       .c_col = 1,
                       .alpha = 1,
                       .bias = bias ? bias + first * size : NULL,
                       .bias_kind = bias ? KNI_GEMM_BIAS_PER_ROW : KNI_GEMM_NO_BIAS,
                       .bias_stride = 1,
                       .reproducible = kni_reproducible()};
    /* Weights that are packed once go to the right, where vectors run along output channels. */
    if (own == (const char *)kni_pointer(w) + first * depth * size &&
        kni_gemm_lasting_b(&packed, w, own, type, depth, p->outs, 1, depth)) {
        g.m = positions;
        g.n = p->outs;
        g.a = patches;
        g.a_row = 1;
        g.a_col = positions;
        g.b = own;
        g.b_row = 1;
        g.b_col = depth;
        g.b_packed = &packed;
        g.c_row = 1;
        g.c_col = y->channel;
        if (bias) g.bias_kind = KNI_GEMM_BIAS_PER_COLUMN;
    }
    return kni_gemm(&g);
}

/* Whether the image itself is the patches: a kernel of one tap over positions that lie behind each other. */
static bool is_plain(const kni_conv_plan *p, const kni_conv_tensor *x)
{
    int64_t step = 1;
    for (int i = KNI_CONV_AXES - 1; i >= 0; i--) {
        const kni_conv_axis *a = &p->axes[i];
        if (a->taps != 1 || a->stride != 1 || a->padding != 0 || a->source != a->target) return false;
        if (a->target != 1 && x->sizes[i] != step) return false;
        step *= a->target;
    }
    return p->channels == 1 || x->channel == step;
}

bool kni_conv_few(const kni_conv_plan *p, const kni_conv_tensor *x, kni_tensor *w, const char *weights,
                  const char *bias, const kni_conv_tensor *y)
{
    _Alignas(64) char small[SMALL_BYTES];
    const bool plain = is_plain(p, x);
    const size_t bytes =
        plain ? 0 : (size_t)(p->channels * kni_conv_taps(p) * positions_of(p) * p->kernels->size);
    char *patches = bytes <= SMALL_BYTES ? small : kni_allocate(bytes);
    bool good = patches != NULL;
    for (int64_t n = 0; n < p->batch && good; n++)
        for (int64_t group = 0; group < p->groups && good; group++) {
            const char *image = x->data + (n * x->batch + group * p->channels * x->channel) * x->bytes;
            if (!plain) fill_patches(p, x, n, group, patches);
            good = multiply(p, plain ? image : patches, w, weights, bias, y, n, group);
        }
    if (patches && patches != small) kni_free(patches, bytes);
    return good;
}
