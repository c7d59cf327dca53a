/* Cross entropy against class indices and its gradient, taken apart: what belongs to the target's class is found by
   comparing places, so that logits may be computed in the same kernel. */
#include "ops/loss.h"
#include "sched/work_rows.h"

typedef struct loss_parts {
    kni_work *w;
    const kn_record *r;
    const kni_cross_entropy_attributes *a;
    int compute;
    uint16_t all;            /* the frame of the logits */
    uint16_t x, here;        /* logits; whether a place is the target's */
    uint16_t at, inside;     /* the target, and whether it is a class */
    uint16_t counts, weight; /* whether the row counts; weights by class, 0 where there are none */
} loss_parts;

/* A row's number in the frame of the rows. */
static uint16_t of_row(const loss_parts *p, int i, int compute)
{
    const kni_type *t = &kni_in(p->r, i)->type;
    uint16_t rows = kni_work_frame_of(p->w, t->dims, t->rank, KNI_WORK_R, 0);
    return kni_work_operand(p->w, kni_work_in(p->r, i), rows, 0, compute);
}

static void start(loss_parts *p, int x, int target, int weight)
{
    kni_work *w = p->w;
    const kni_type *t = &kni_in(p->r, x)->type;
    int axis = t->rank > 1;
    p->a = p->r->attributes;
    p->compute = kni_work_dtype(t->dtype);
    p->all = kni_work_line_frame(w, p->r);
    if (w->failed) return;
    p->x = kni_work_operand(w, kni_work_in(p->r, x), p->all, 0, p->compute);
    uint16_t at = of_row(p, target, KN_I64);
    uint16_t not_ignored = kni_work_word(w, KNI_WORD_ne, at, kni_work_whole(w, KN_I64, p->a->ignore_index));
    uint16_t below = kni_work_word(w, KNI_WORD_lt, at, kni_work_whole(w, KN_I64, w->width));
    uint16_t inside = kni_work_logic(w, KNI_WORK_AND, below,
                                     kni_work_word(w, KNI_WORD_ge, at, kni_work_constant(w, KN_I64, 0)));
    uint16_t bad = kni_work_logic(w, KNI_WORK_AND, not_ignored, kni_work_logic(w, KNI_WORK_NOT, inside, 0));
    p->at = at;
    p->inside = inside;
    p->counts = kni_work_report(w, kni_work_logic(w, KNI_WORK_AND, not_ignored, inside), at, bad);
    /* A target that 32 bits do not hold is no place, whatever they say of it. */
    int narrow = w->width <= INT32_MAX ? KN_I32 : KN_I64;
    p->here =
        kni_work_word(w, KNI_WORD_eq, kni_work_place(w, narrow), kni_work_convert(w, at, KN_I64, narrow));
    if (kni_work_in(p->r, weight) != KNI_NO_SLOT)
        p->weight = kni_work_along(w, kni_work_in(p->r, weight), p->all, axis, p->compute);
}

/* The value at the target's place; 0 where it is none of the row. */
static uint16_t pick(const loss_parts *p, uint16_t v)
{
    uint16_t zero = kni_work_constant(p->w, p->compute, 0);
    return kni_work_reduce(p->w, KNI_WORK_SUM, kni_work_select(p->w, p->here, v, zero));
}

/* The logit of the target's class: read once more where the classes are the last axis, so that nothing is compared on the
   way along the row. */
static uint16_t target_logit(const loss_parts *p)
{
    kni_work *w = p->w;
    const kni_type *x = &kni_in(p->r, 0)->type, *t = &kni_in(p->r, 1)->type;
    if (x->rank > 2) return pick(p, p->x);
    uint16_t row = kni_work_index(w, kni_work_frame_of(w, t->dims, t->rank, KNI_WORK_R, 0));
    uint16_t first = kni_work_word(w, KNI_WORD_mul, row, kni_work_whole(w, KN_I64, w->width));
    uint16_t place = kni_work_select(w, p->inside, p->at, kni_work_constant(w, KN_I64, 0));
    place = kni_work_word(w, KNI_WORD_add, first, place);
    uint16_t frame = w->failed ? 0 : kni_work_frame_at(w, x->dims, x->rank, place);
    return w->failed ? 0 : kni_work_operand(w, kni_work_in(p->r, 0), frame, 0, p->compute);
}

static uint16_t target_weight(const loss_parts *p)
{
    return p->weight ? pick(p, p->weight) : kni_work_constant(p->w, p->compute, 1);
}

static uint16_t cross_entropy(kni_work *w, const kn_record *r, int result, uint16_t frame)
{
    loss_parts p = {.w = w, .r = r};
    if (!kni_work_is_row(w, frame)) return 0;
    start(&p, 0, 1, 2);
    if (w->failed) return 0;
    int c = p.compute, dtype = kni_out(r, result)->type.dtype;
    uint16_t zero = kni_work_constant(w, c, 0), y;
    if (result == 2) {
        y = kni_work_select(w, p.counts, target_weight(&p), zero);
        return kni_work_convert(w, y, c, dtype);
    }
    uint16_t most = kni_work_reduce(w, KNI_WORK_TOP, p.x);
    uint16_t power = kni_work_power(w, kni_work_word(w, KNI_WORD_sub, p.x, most), KNI_POWER_SUM);
    uint16_t total = kni_work_reduce(w, KNI_WORK_SUM, power);
    uint16_t z = kni_work_word(w, KNI_WORD_add, most, kni_work_word(w, KNI_WORD_log, total, 0));
    if (result == 1) return kni_work_convert(w, z, c, dtype);
    y = kni_work_word(w, KNI_WORD_mul, target_weight(&p),
                      kni_work_word(w, KNI_WORD_sub, z, target_logit(&p)));
    if (p.a->smoothing > 0) {
        uint16_t each = kni_work_word(w, KNI_WORD_sub, z, p.x);
        if (p.weight) each = kni_work_word(w, KNI_WORD_mul, p.weight, each);
        uint16_t smooth = kni_work_reduce(w, KNI_WORK_SUM, each);
        uint16_t share = kni_work_real(w, c, p.a->smoothing / (double)w->width);
        y = kni_work_word(w, KNI_WORD_mul, kni_work_real(w, c, 1 - p.a->smoothing), y);
        y = kni_work_word(w, KNI_WORD_add, y, kni_work_word(w, KNI_WORD_mul, share, smooth));
    }
    return kni_work_convert(w, kni_work_select(w, p.counts, y, zero), c, dtype);
}

/* dy (all exp(x - lse) - smoothing / classes weight - (on at the target)) */
static uint16_t cross_entropy_grad(kni_work *w, const kn_record *r, int result, uint16_t frame)
{
    (void)result;
    loss_parts p = {.w = w, .r = r};
    if (!kni_work_is_line_element(w, frame, r)) return 0;
    start(&p, 1, 2, 4);
    if (w->failed) return 0;
    int c = p.compute;
    uint16_t dy = of_row(&p, 0, c), lse = of_row(&p, 3, c), zero = kni_work_constant(w, c, 0);
    uint16_t on = target_weight(&p), all = on;
    uint16_t share = kni_work_real(w, c, p.a->smoothing / (double)w->width);
    if (p.a->smoothing > 0) {
        on = all = kni_work_word(w, KNI_WORD_mul, kni_work_real(w, c, 1 - p.a->smoothing), on);
        uint16_t weights =
            p.weight ? kni_work_reduce(w, KNI_WORK_SUM, p.weight) : kni_work_real(w, c, (double)w->width);
        all = kni_work_word(w, KNI_WORD_add, all, kni_work_word(w, KNI_WORD_mul, share, weights));
    }
    uint16_t g = kni_work_power(w, kni_work_word(w, KNI_WORD_sub, p.x, lse),
                                kni_power_digits_of(kni_out(r, 0)->type.dtype));
    g = kni_work_word(w, KNI_WORD_mul, all, g);
    if (p.a->smoothing > 0)
        g = kni_work_word(w, KNI_WORD_sub, g,
                          p.weight ? kni_work_word(w, KNI_WORD_mul, share, p.weight) : share);
    g = kni_work_word(w, KNI_WORD_sub, g, kni_work_select(w, p.here, on, zero));
    g = kni_work_select(w, p.counts, kni_work_word(w, KNI_WORD_mul, dy, g), zero);
    return kni_work_convert(w, g, c, kni_out(r, 0)->type.dtype);
}

const kni_work_row kni_work_loss_rows[] = {
    {KNI_OP_cross_entropy, cross_entropy}, {KNI_OP_cross_entropy_grad, cross_entropy_grad}, {0, NULL}};
