/* Convolutions that are matrix products. */
#include "backend/cpu/conv_pointwise.h"
#include "backend/cpu/matmul_run.h"
#include "backend/host/host.h"

enum { LEAST_CHANNELS = 8 };

static int64_t positions_of(const kni_conv_plan *p)
{
    return p->axes[0].target * p->axes[1].target * p->axes[2].target;
}

/* The positions of one channel follow each other. */
static bool is_dense(const kni_conv_plan *p, const kni_conv_tensor *x)
{
    int64_t step = 1;
    for (int i = KNI_CONV_AXES - 1; i >= 0; i--) {
        if (p->axes[i].target != 1 && x->sizes[i] != step) return false;
        step *= p->axes[i].target;
    }
    return true;
}

bool kni_conv_is_pointwise(const kni_conv_plan *p, const kni_conv_tensor *x)
{
    for (int i = 0; i < KNI_CONV_AXES; i++) {
        const kni_conv_axis *a = &p->axes[i];
        if (a->taps != 1 || a->stride != 1 || a->padding != 0 || a->source != a->target) return false;
    }
    return p->channels >= LEAST_CHANNELS && p->outs >= LEAST_CHANNELS && is_dense(p, x);
}

bool kni_conv_pointwise(const kni_conv_plan *p, const kni_conv_tensor *x, kni_tensor *w, kni_tensor *bias,
                        const kni_conv_tensor *y, const kni_finish *finish)
{
    const int64_t by_out = w->strides[p->transposed ? 1 : 0], by_channel = w->strides[p->transposed ? 0 : 1];
    const int64_t by_group = w->strides[0] * (p->transposed ? p->channels : p->outs);
    const kni_gemm_type type = kni_gemm_type_of(x->dtype);
    bool good = true;
    for (int64_t g = 0; g < p->groups && good; g++) {
        const kni_gemm_args args = {
            .m = p->outs,
            .n = positions_of(p),
            .k = p->channels,
            .a = (const char *)kni_pointer(w) + g * by_group * x->bytes,
            .b = x->data + g * p->channels * x->channel * x->bytes,
            .c = y->data + g * p->outs * y->channel * y->bytes,
            .type_a = type,
            .type_b = type,
            .type_c = type,
            .a_row = by_out,
            .a_col = by_channel,
            .b_row = x->channel,
            .b_col = 1,
            .c_row = y->channel,
            .c_col = 1,
            .batch = p->batch,
            .b_batch = x->batch,
            .c_batch = y->batch,
            .alpha = 1,
            .bias = bias ? (const char *)kni_pointer(bias) + g * p->outs * bias->strides[0] * x->bytes : NULL,
            .bias_kind = bias ? KNI_GEMM_BIAS_PER_ROW : KNI_GEMM_NO_BIAS,
            .bias_stride = bias ? bias->strides[0] : 0,
            .finish = *finish,
            .reproducible = kni_reproducible()};
        good = kni_gemm(&args);
    }
    return good;
}

bool kni_conv_pointwise_weight(const kni_conv_plan *p, const kni_conv_tensor *x, const kni_conv_tensor *dy,
                               void *w)
{
    const kni_gemm_type type = kni_gemm_type_of(x->dtype);
    bool good = is_dense(p, dy);
    for (int64_t g = 0; g < p->groups && good; g++)
        for (int64_t n = 0; n < p->batch && good; n++) {
            const kni_gemm_args args = {
                .m = p->outs,
                .n = p->channels,
                .k = positions_of(p),
                .a = dy->data + (n * dy->batch + g * p->outs * dy->channel) * dy->bytes,
                .b = x->data + (n * x->batch + g * p->channels * x->channel) * x->bytes,
                .c = (char *)w + g * p->outs * p->channels * x->bytes,
                .type_a = type,
                .type_b = type,
                .type_c = type,
                .a_row = dy->channel,
                .a_col = 1,
                .b_row = 1,
                .b_col = x->channel,
                .c_row = p->channels,
                .c_col = 1,
                .alpha = 1,
                .beta = n ? 1 : 0,
                .reproducible = kni_reproducible()};
            good = kni_gemm(&args);
        }
    return good;
}
