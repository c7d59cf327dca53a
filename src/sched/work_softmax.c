/* Softmax, its logarithm and their gradients, taken apart. */
#include "ops/softmax.h"
#include "sched/work_rows.h"

static uint16_t softmax(kni_work *w, const kn_record *r, int result, uint16_t frame)
{
    (void)result;
    const kni_softmax_attributes *a = r->attributes;
    int dtype = kni_out(r, 0)->type.dtype, compute = kni_work_dtype(dtype);
    if (!kni_work_is_line_element(w, frame, r)) return 0;
    uint16_t x = kni_work_operand(w, r->ids[1], frame, 0, compute);
    uint16_t most = kni_work_reduce(w, KNI_WORK_TOP, x);
    if (a->quiet) most = kni_work_word(w, KNI_WORD_max, most, kni_work_constant(w, compute, 0));
    uint16_t d = kni_work_word(w, KNI_WORD_sub, x, most),
             power = kni_work_power(w, d, kni_power_digits_of(r->op == KNI_OP_softmax ? dtype : compute));
    uint16_t total = kni_work_reduce(w, KNI_WORK_SUM, power);
    if (a->quiet) {
        uint16_t one = kni_work_word(w, KNI_WORD_exp, kni_work_word(w, KNI_WORD_neg, most, 0), 0);
        total = kni_work_word(w, KNI_WORD_add, total, one);
    }
    uint16_t y;
    if (r->op == KNI_OP_log_softmax)
        y = kni_work_word(w, KNI_WORD_sub, d, kni_work_word(w, KNI_WORD_log, total, 0));
    else
        y = kni_work_word(w, KNI_WORD_mul, power,
                          kni_work_word(w, KNI_WORD_div, kni_work_constant(w, compute, 1), total));
    return kni_work_convert(w, y, compute, dtype);
}

/* y (dy - sum(dy y)), or dy - exp(y) sum(dy) */
static uint16_t softmax_grad(kni_work *w, const kn_record *r, int result, uint16_t frame)
{
    (void)result;
    int dtype = kni_out(r, 0)->type.dtype, compute = kni_work_dtype(dtype);
    if (!kni_work_is_line_element(w, frame, r)) return 0;
    uint16_t dy = kni_work_operand(w, r->ids[1], frame, 0, compute);
    uint16_t y = kni_work_operand(w, r->ids[2], frame, 0, compute), dx;
    if (r->op == KNI_OP_softmax_grad) {
        uint16_t total = kni_work_reduce(w, KNI_WORK_SUM, kni_work_word(w, KNI_WORD_mul, dy, y));
        dx = kni_work_word(w, KNI_WORD_mul, y, kni_work_word(w, KNI_WORD_sub, dy, total));
    } else {
        uint16_t total = kni_work_reduce(w, KNI_WORK_SUM, dy);
        dx = kni_work_word(
            w, KNI_WORD_sub, dy,
            kni_work_word(w, KNI_WORD_mul, kni_work_power(w, y, kni_power_digits_of(dtype)), total));
    }
    return kni_work_convert(w, dx, compute, dtype);
}

const kni_work_row kni_work_softmax_rows[] = {{KNI_OP_softmax, softmax},
                                              {KNI_OP_log_softmax, softmax},
                                              {KNI_OP_softmax_grad, softmax_grad},
                                              {KNI_OP_log_softmax_grad, softmax_grad},
                                              {0, NULL}};
