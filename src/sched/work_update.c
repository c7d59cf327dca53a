/* The updates of optimisers, taken apart: one value for each element of the param and of each state. */
#include "ops/update_rules.h"
#include "sched/work_rows.h"
#include <string.h>

typedef struct update {
    kni_work *w;
    const kn_record *r;
    uint16_t frame;
    int compute;
    uint16_t numbers[KNI_UPDATE_NUMBERS];
} update;

static uint16_t word(update *u, int name, uint16_t a, uint16_t b) { return kni_work_word(u->w, name, a, b); }
static uint16_t times(update *u, uint16_t a, uint16_t b) { return word(u, KNI_WORD_mul, a, b); }
static uint16_t plus(update *u, uint16_t a, uint16_t b) { return word(u, KNI_WORD_add, a, b); }
static uint16_t minus(update *u, uint16_t a, uint16_t b) { return word(u, KNI_WORD_sub, a, b); }
static uint16_t over(update *u, uint16_t a, uint16_t b) { return word(u, KNI_WORD_div, a, b); }
static uint16_t root(update *u, uint16_t a) { return word(u, KNI_WORD_sqrt, a, 0); }
static uint16_t zero(update *u) { return kni_work_constant(u->w, u->compute, 0); }

static bool has(const update *u, int i) { return kni_work_in(u->r, i) != KNI_NO_SLOT; }
static uint16_t operand(update *u, int i)
{
    return kni_work_operand(u->w, kni_work_in(u->r, i), u->frame, 0, u->compute);
}

/* The numbers of the rule. Records with the same attributes share them, so that many fit one launch. */
static void take_numbers(update *u, const kni_update_rule *rule)
{
    kni_work *w = u->w;
    double values[KNI_UPDATE_NUMBERS];
    int me = 0;
    while (w->group->records[me] != u->r) me++;
    if (me >= KNI_WORK_UPDATES) {
        kni_work_fail(w);
        return;
    }
    for (int i = 0; i <= me && !w->update_numbers[me]; i++) {
        const kn_record *other = w->group->records[i];
        if (w->update_numbers[i] && other->op == u->r->op &&
            !memcmp(other->attributes, u->r->attributes, u->r->attribute_bytes))
            w->update_numbers[me] = w->update_numbers[i], w->update_shares[me] = (uint16_t)(i + 1);
    }
    bool known = w->update_numbers[me] != 0;
    rule->numbers(u->r->attributes, values);
    for (int i = 0; i < rule->n_numbers; i++) {
        uint16_t n = known ? (uint16_t)(w->update_numbers[me] + i) : kni_work_real(w, u->compute, values[i]);
        u->numbers[i] = n;
        if (!known) kni_work_source(w, n, KNI_SOURCE_UPDATE, u->r, i);
        if (!known && i == 0) w->update_numbers[me] = n;
    }
}

/* The gradient, multiplied with the scale where there is one. */
static uint16_t gradient(update *u, const kni_update_rule *rule)
{
    uint16_t g = operand(u, 1);
    return has(u, 2 + rule->states) ? times(u, g, operand(u, 2 + rule->states)) : g;
}

static uint16_t sgd(update *u, int result)
{
    const uint16_t *n = u->numbers; /* lr, decay, momentum, fresh, nesterov */
    uint16_t p = operand(u, 0), d = plus(u, gradient(u, &kni_sgd_rule), times(u, n[1], p));
    if (has(u, 2)) {
        uint16_t v = plus(u, times(u, n[2], operand(u, 2)), times(u, n[3], d));
        if (result == 1) return v;
        d = kni_work_select(u->w, word(u, KNI_WORD_gt, n[4], zero(u)), plus(u, d, times(u, n[4], v)), v);
    }
    return minus(u, p, times(u, n[0], d));
}

static uint16_t adam(update *u, int result)
{
    /* rate, fresh1, beta2, fresh2, root, eps, added, shrink, cautious */
    const uint16_t *n = u->numbers;
    uint16_t old = operand(u, 0), m = operand(u, 2), none = zero(u);
    uint16_t d = plus(u, gradient(u, &kni_adam_rule), times(u, n[6], old));
    uint16_t first = plus(u, m, times(u, minus(u, d, m), n[1]));
    if (result == 1) return first;
    uint16_t second = plus(u, times(u, operand(u, 3), n[2]), times(u, times(u, d, d), n[3])), most = second;
    if (result == 2) return second;
    if (has(u, 4)) {
        uint16_t w = operand(u, 4);
        most = kni_work_select(u->w, word(u, KNI_WORD_gt, w, second), w, second);
    }
    if (result == 3) return most;
    uint16_t up = kni_work_logic(u->w, KNI_WORK_AND, word(u, KNI_WORD_gt, first, none),
                                 word(u, KNI_WORD_lt, old, none));
    uint16_t down = kni_work_logic(u->w, KNI_WORK_AND, word(u, KNI_WORD_lt, first, none),
                                   word(u, KNI_WORD_gt, old, none));
    uint16_t against = kni_work_logic(u->w, KNI_WORK_OR, up, down);
    uint16_t shrinks = kni_work_logic(u->w, KNI_WORK_OR, word(u, KNI_WORD_eq, n[8], none),
                                      kni_work_logic(u->w, KNI_WORK_NOT, against, 0));
    uint16_t shrunk = kni_work_select(u->w, shrinks, minus(u, old, times(u, old, n[7])), old);
    uint16_t under = plus(u, times(u, root(u, most), n[4]), n[5]);
    return minus(u, shrunk, times(u, n[0], over(u, first, under)));
}

static uint16_t rmsprop(update *u, int result)
{
    const uint16_t *n = u->numbers; /* lr, alpha, fresh, eps, decay, momentum */
    uint16_t p = operand(u, 0), d = plus(u, gradient(u, &kni_rmsprop_rule), times(u, n[4], p));
    uint16_t second = plus(u, times(u, operand(u, 2), n[1]), times(u, times(u, d, d), n[2])), spread = second;
    if (result == 1) return second;
    if (has(u, 3)) {
        uint16_t m = operand(u, 3), first = plus(u, m, times(u, minus(u, d, m), n[2]));
        if (result == 2) return first;
        spread = minus(u, second, times(u, first, first));
    }
    uint16_t step = over(u, d, plus(u, root(u, spread), n[3]));
    if (has(u, 4)) step = plus(u, times(u, n[5], operand(u, 4)), step);
    return result == 3 ? step : minus(u, p, times(u, n[0], step));
}

static uint16_t adagrad(update *u, int result)
{
    const uint16_t *n = u->numbers; /* lr, eps, decay */
    uint16_t p = operand(u, 0), d = plus(u, gradient(u, &kni_adagrad_rule), times(u, n[2], p));
    uint16_t total = plus(u, operand(u, 2), times(u, d, d));
    if (result == 1) return total;
    return minus(u, p, times(u, n[0], over(u, d, plus(u, root(u, total), n[1]))));
}

static uint16_t adan(update *u, int result)
{
    /* rate1, rate2, beta1, beta2, beta3, fresh1, fresh2, fresh3, root, eps, shrink, first */
    const uint16_t *n = u->numbers;
    uint16_t now = gradient(u, &kni_adan_rule), p = operand(u, 0), none = zero(u);
    uint16_t one = kni_work_constant(u->w, u->compute, 1);
    if (result == 4) return now;
    uint16_t change =
        kni_work_select(u->w, word(u, KNI_WORD_gt, n[11], none), none, minus(u, now, operand(u, 5)));
    uint16_t mean = plus(u, times(u, operand(u, 2), n[2]), times(u, now, n[5]));
    if (result == 1) return mean;
    uint16_t trend = plus(u, times(u, operand(u, 3), n[3]), times(u, change, n[6]));
    if (result == 2) return trend;
    uint16_t ahead = plus(u, times(u, change, n[3]), now);
    uint16_t second = plus(u, times(u, operand(u, 4), n[4]), times(u, times(u, ahead, ahead), n[7]));
    if (result == 3) return second;
    uint16_t under = plus(u, times(u, root(u, second), n[8]), n[9]);
    uint16_t moved = kni_work_select(u->w, word(u, KNI_WORD_lt, n[10], one), times(u, p, n[10]), p);
    moved = minus(u, moved, times(u, n[0], over(u, mean, under)));
    moved = minus(u, moved, times(u, n[1], over(u, trend, under)));
    return kni_work_select(u->w, word(u, KNI_WORD_gt, n[10], one), over(u, moved, n[10]), moved);
}

static uint16_t run(kni_work *w, const kn_record *r, int result, uint16_t frame, const kni_update_rule *rule,
                    uint16_t (*value)(update *, int))
{
    int dtype = kni_out(r, result)->type.dtype;
    update u = {.w = w, .r = r, .frame = frame, .compute = kni_work_dtype(dtype)};
    take_numbers(&u, rule);
    uint16_t y = w->failed ? 0 : value(&u, result);
    return kni_work_convert(w, y, u.compute, dtype);
}

static uint16_t sgd_update(kni_work *w, const kn_record *r, int result, uint16_t frame)
{
    return run(w, r, result, frame, &kni_sgd_rule, sgd);
}
static uint16_t adam_update(kni_work *w, const kn_record *r, int result, uint16_t frame)
{
    return run(w, r, result, frame, &kni_adam_rule, adam);
}
static uint16_t rmsprop_update(kni_work *w, const kn_record *r, int result, uint16_t frame)
{
    return run(w, r, result, frame, &kni_rmsprop_rule, rmsprop);
}
static uint16_t adagrad_update(kni_work *w, const kn_record *r, int result, uint16_t frame)
{
    return run(w, r, result, frame, &kni_adagrad_rule, adagrad);
}
static uint16_t adan_update(kni_work *w, const kn_record *r, int result, uint16_t frame)
{
    return run(w, r, result, frame, &kni_adan_rule, adan);
}

const kni_work_row kni_work_update_rows[] = {
    {KNI_OP_sgd_update, sgd_update},         {KNI_OP_adam_update, adam_update},
    {KNI_OP_rmsprop_update, rmsprop_update}, {KNI_OP_adagrad_update, adagrad_update},
    {KNI_OP_adan_update, adan_update},       {0, NULL}};

const kni_update_rule *kni_work_rule(int op)
{
    static const struct {
        int op;
        const kni_update_rule *rule;
    } rules[] = {{KNI_OP_sgd_update, &kni_sgd_rule},
                 {KNI_OP_adam_update, &kni_adam_rule},
                 {KNI_OP_rmsprop_update, &kni_rmsprop_rule},
                 {KNI_OP_adagrad_update, &kni_adagrad_rule},
                 {KNI_OP_adan_update, &kni_adan_rule}};
    for (int i = 0; i < KNI_COUNT(rules); i++)
        if (rules[i].op == op) return rules[i].rule;
    return NULL;
}
