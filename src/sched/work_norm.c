/* Batch norm with given statistics, taken apart: it has no lines. */
#include "ops/norm.h"
#include "sched/work_rows.h"

static uint16_t scale_of(kni_work *w, uint16_t variance, double eps)
{
    int compute = w->nodes[variance].dtype;
    uint16_t v = kni_work_word(w, KNI_WORD_add, variance, kni_work_real(w, compute, eps));
    return kni_work_word(w, KNI_WORD_div, kni_work_constant(w, compute, 1),
                         kni_work_word(w, KNI_WORD_sqrt, v, 0));
}

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

const kni_work_row kni_work_norm_rows[] = {{KNI_OP_batch_norm, batch_norm}, {0, NULL}};
