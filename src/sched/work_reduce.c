/* Sums, products, truths and positions over axes, taken apart. Floats add in f32 or f64, integers in i64. */
#include "ops/line.h"
#include "sched/work_rows.h"

/* The operand at every place of the lines, in IR dtype `compute`. */
static uint16_t operand(kni_work *w, const kn_record *r, uint16_t frame, int compute)
{
    if (!kni_work_is_row(w, frame)) return 0;
    uint16_t f = kni_work_line_frame(w, r);
    return w->failed ? 0 : kni_work_operand(w, r->ids[r->n_out], f, 0, compute);
}

static int dtype_in(const kn_record *r) { return kni_in(r, 0)->type.dtype; }
static int dtype_out(const kn_record *r) { return kni_out(r, 0)->type.dtype; }

static int number_dtype(int dtype)
{
    int compute = kni_work_dtype(dtype);
    return compute == KN_BOOL ? KN_I32 : compute;
}

/* A sum over all rows of a group that has others, at each place of them. */
static uint16_t across(kni_work *w, const kn_record *r, int compute)
{
    const kni_type *x;
    uint32_t reduced;
    if (!kni_line_of(r, &x, &reduced)) return kni_work_fail(w);
    uint16_t all = kni_work_row_frame(w, x, ((1u << x->rank) - 1) & ~reduced);
    uint16_t v = w->failed ? 0 : kni_work_operand(w, r->ids[r->n_out], all, 0, compute);
    return w->failed ? 0 : kni_work_reduce(w, KNI_WORK_COLUMNS, v);
}

/* The product y of finite numbers x is 0 where one of them is, though parts of it may have overflowed. */
static uint16_t zero_if_one_is(kni_work *w, uint16_t x, uint16_t y, int compute)
{
    uint16_t zero = kni_work_constant(w, compute, 0), size = kni_work_word(w, KNI_WORD_abs, x, 0);
    uint16_t least = kni_work_reduce(w, KNI_WORK_MIN, size), most = kni_work_reduce(w, KNI_WORK_MAX, size);
    uint16_t is_zero = kni_work_word(w, KNI_WORD_eq, least, zero);
    uint16_t finite = kni_work_word(w, KNI_WORD_isfinite, most, 0);
    return kni_work_select(w, is_zero, kni_work_select(w, finite, zero, y), y);
}

static uint16_t total(kni_work *w, const kn_record *r, int result, uint16_t frame)
{
    (void)result;
    int compute = kni_is_float(dtype_in(r)) ? kni_work_dtype(dtype_in(r)) : KN_I64;
    /* A product may leave the range of f32 and come back. */
    if (r->op == KNI_OP_prod && compute == KN_F32 && w->target->caps->f64) compute = KN_F64;
    const kni_work_frame *f = &w->frames[frame];
    if (r->op == KNI_OP_sum && !f->node && f->level == KNI_WORK_K && kni_is_float(compute))
        return kni_work_convert(w, across(w, r, compute), compute, dtype_out(r));
    uint16_t x = operand(w, r, frame, compute);
    uint16_t y = kni_work_reduce(w, r->op == KNI_OP_sum ? KNI_WORK_SUM : KNI_WORK_PROD, x);
    if (r->op == KNI_OP_prod && kni_is_float(compute)) y = zero_if_one_is(w, x, y, compute);
    return kni_work_convert(w, y, compute, dtype_out(r));
}

static uint16_t truth(kni_work *w, const kn_record *r, int result, uint16_t frame)
{
    (void)result;
    uint16_t x = operand(w, r, frame, KN_BOOL);
    x = kni_work_convert(w, x, KN_BOOL, KN_I32);
    uint16_t y = kni_work_reduce(w, r->op == KNI_OP_any ? KNI_WORK_MAX : KNI_WORK_MIN, x);
    /* Of no element at all: the lowest number is none. */
    return kni_work_word(w, KNI_WORD_gt, y, kni_work_constant(w, KN_I32, 0));
}

static uint16_t position(kni_work *w, const kn_record *r, int result, uint16_t frame)
{
    (void)result;
    uint16_t x = operand(w, r, frame, number_dtype(dtype_in(r)));
    return kni_work_reduce(w, r->op == KNI_OP_argmax ? KNI_WORK_ARGMAX : KNI_WORK_ARGMIN, x);
}

const kni_work_row kni_work_reduce_rows[] = {{KNI_OP_sum, total},
                                             {KNI_OP_prod, total},
                                             {KNI_OP_any, truth},
                                             {KNI_OP_all, truth},
                                             {KNI_OP_argmax, position},
                                             {KNI_OP_argmin, position},
                                             {0, NULL}};
