/* Batch norm and its gradient, taken apart. */
#include "ops/norm.h"
#include "sched/work_rows.h"

static uint16_t scale_of(kni_work *w, uint16_t variance, double eps)
{
    int compute = w->nodes[variance].dtype;
    uint16_t v = kni_work_word(w, KNI_WORD_add, variance, kni_work_real(w, compute, eps));
    return kni_work_word(w, KNI_WORD_div, kni_work_constant(w, compute, 1),
                         kni_work_word(w, KNI_WORD_sqrt, v, 0));
}

/* ---- batch norm: x [batch, channels, ...], a row is a channel */

/* A vector with one element for each channel, beside x. */
static uint16_t channel(kni_work *w, const kn_record *r, int i, uint16_t frame, int compute)
{
    uint32_t id = kni_work_in(r, i);
    return id == KNI_NO_SLOT ? 0 : kni_work_along(w, id, frame, 1, compute);
}

/* (x - mean) scale weight + bias */
static uint16_t apply(kni_work *w, uint16_t d, uint16_t scale, uint16_t weight, uint16_t bias)
{
    if (weight) scale = kni_work_word(w, KNI_WORD_mul, scale, weight);
    uint16_t y = kni_work_word(w, KNI_WORD_mul, d, scale);
    return bias ? kni_work_word(w, KNI_WORD_add, y, bias) : y;
}

static uint16_t batch_norm(kni_work *w, const kn_record *r, int result, uint16_t frame)
{
    (void)result;
    const kni_batch_norm_attributes *a = r->attributes;
    int dtype = kni_out(r, 0)->type.dtype, compute = kni_work_dtype(dtype);
    uint16_t x = kni_work_operand(w, r->ids[1], frame, 0, compute);
    uint16_t mean = channel(w, r, 1, frame, compute), variance = channel(w, r, 2, frame, compute);
    uint16_t d = kni_work_word(w, KNI_WORD_sub, x, mean);
    uint16_t y = apply(w, d, scale_of(w, variance, a->eps), channel(w, r, 3, frame, compute),
                       channel(w, r, 4, frame, compute));
    return kni_work_convert(w, y, compute, dtype);
}

/* The frame of all elements of x, checked against the frame of the result asked for. */
static uint16_t channel_frame(kni_work *w, const kn_record *r, int result, uint16_t frame)
{
    if (result == 0) return kni_work_is_line_element(w, frame, r) ? frame : 0;
    return kni_work_is_row(w, frame) ? kni_work_line_frame(w, r) : 0;
}

static uint16_t batch_norm_train(kni_work *w, const kn_record *r, int result, uint16_t frame)
{
    const kni_batch_norm_attributes *a = r->attributes;
    int dtype = kni_in(r, 0)->type.dtype, compute = kni_work_dtype(dtype);
    uint16_t all = channel_frame(w, r, result, frame);
    if (w->failed) return 0;
    uint16_t x = kni_work_operand(w, kni_work_in(r, 0), all, 0, compute), mean = kni_work_mean(w, x);
    uint16_t d = kni_work_word(w, KNI_WORD_sub, x, mean);
    uint16_t variance = kni_work_mean(w, kni_work_word(w, KNI_WORD_mul, d, d));
    if (result)
        return kni_work_convert(w, result == 1 ? mean : variance, compute, kni_out(r, result)->type.dtype);
    uint16_t y = apply(w, d, scale_of(w, variance, a->eps), channel(w, r, 1, all, compute),
                       channel(w, r, 2, all, compute));
    return kni_work_convert(w, y, compute, dtype);
}

/* dx = gain (dy - mean dy - h mean(dy h)), sum(dy h), sum(dy) */
static uint16_t batch_norm_train_grad(kni_work *w, const kn_record *r, int result, uint16_t frame)
{
    const kni_batch_norm_attributes *a = r->attributes;
    int dtype = kni_in(r, 1)->type.dtype, compute = kni_work_dtype(dtype);
    uint16_t all = channel_frame(w, r, result, frame);
    if (w->failed) return 0;
    uint16_t dy = kni_work_operand(w, kni_work_in(r, 0), all, 0, compute);
    uint16_t x = kni_work_operand(w, kni_work_in(r, 1), all, 0, compute);
    uint16_t scale = scale_of(w, channel(w, r, 3, all, compute), a->eps);
    uint16_t h = kni_work_word(w, KNI_WORD_mul,
                               kni_work_word(w, KNI_WORD_sub, x, channel(w, r, 2, all, compute)), scale);
    uint16_t sum = kni_work_reduce(w, KNI_WORK_SUM, dy);
    uint16_t along = kni_work_reduce(w, KNI_WORK_SUM, kni_work_word(w, KNI_WORD_mul, dy, h));
    if (result)
        return kni_work_convert(w, result == 1 ? along : sum, compute, kni_out(r, result)->type.dtype);
    uint16_t n = kni_work_real(w, compute, (double)w->width), weight = channel(w, r, 4, all, compute);
    uint16_t dx = kni_work_word(w, KNI_WORD_sub, dy, kni_work_word(w, KNI_WORD_div, sum, n));
    dx = kni_work_word(w, KNI_WORD_sub, dx,
                       kni_work_word(w, KNI_WORD_mul, h, kni_work_word(w, KNI_WORD_div, along, n)));
    if (weight) scale = kni_work_word(w, KNI_WORD_mul, scale, weight);
    return kni_work_convert(w, kni_work_word(w, KNI_WORD_mul, scale, dx), compute, dtype);
}

const kni_work_row kni_work_norm_rows[] = {{KNI_OP_batch_norm, batch_norm},
                                           {KNI_OP_batch_norm_train, batch_norm_train},
                                           {KNI_OP_batch_norm_train_grad, batch_norm_train_grad},
                                           {0, NULL}};
