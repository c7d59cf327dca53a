/* Reductions that are found in one walk though one of them needs the other's result: sums of exponentials with their largest
   exponent (rows_online.c), and squares of distances from a mean with the mean (rows_moments.c). */
#include "sched/sched_rows.h"

/* Stages are counted again: what walks with another reduction is of its stage. */
static void count_stages(kni_work *w)
{
    w->n_stages = 0;
    for (uint16_t n = 1; n < w->n_nodes; n++) {
        kni_work_node *node = &w->nodes[n];
        const uint16_t operands[4] = {node->a, node->b, node->c, node->d};
        node->stage = 0;
        for (int i = 0; i < 4; i++)
            if (w->nodes[operands[i]].stage > node->stage) node->stage = w->nodes[operands[i]].stage;
        if (node->pair)
            node->stage = w->nodes[node->partner].stage;
        else if (node->kind == KNI_WORK_REDUCE)
            node->stage++;
        if (node->kind == KNI_WORK_REDUCE && node->stage > w->n_stages) w->n_stages = node->stage;
    }
    for (int i = 0; i < w->n_outputs; i++) w->outputs[i].stage = w->nodes[w->outputs[i].node].stage;
}

static bool is_sum(const kni_work_node *n) { return n->kind == KNI_WORK_REDUCE && n->op == KNI_WORK_SUM; }

static bool is_word(const kni_work_node *n, int word) { return n->kind == KNI_WORK_WORD && n->op == word; }

/* ---- sums of exponentials */

/* The largest that the sum is taken below, 0: it is no such sum. */
static uint16_t top_of(const kni_work *w, const kni_work_node *sum)
{
    const kni_work_node *power = &w->nodes[sum->a], *below = &w->nodes[power->a];
    if (!is_sum(sum) || power->kind != KNI_WORK_POWER) return 0;
    if (!is_word(below, KNI_WORD_sub) || power->dtype != KN_F32) return 0;
    const kni_work_node *top = &w->nodes[below->b];
    bool fits = top->kind == KNI_WORK_REDUCE && top->op == KNI_WORK_TOP && top->a == below->a;
    return fits ? below->b : 0;
}

void kni_rows_find_online(kni_work *w)
{
    bool any = false;
    for (uint16_t n = 1; n < w->n_nodes; n++) {
        uint16_t top = top_of(w, &w->nodes[n]);
        if (!top || w->nodes[top].partner) continue;
        w->nodes[n].partner = top;
        w->nodes[n].pair = KNI_PAIR_POWERS;
        w->nodes[top].partner = n;
        any = true;
    }
    if (any) count_stages(w);
}

/* ---- moments */

/* The sum that node d is a distance from a part of, d = x - sum(x) / n; 0: it is none. */
static uint16_t sum_below(const kni_work *w, uint16_t distance)
{
    const kni_work_node *d = &w->nodes[distance];
    if (!is_word(d, KNI_WORD_sub) || !kni_is_float(d->dtype) || !(d->level & KNI_WORK_K)) return 0;
    const kni_work_node *mean = &w->nodes[d->b], *sum = &w->nodes[mean->a];
    bool fits = is_word(mean, KNI_WORD_div) && !w->nodes[mean->b].level && is_sum(sum) && sum->a == d->a;
    return fits ? mean->a : 0;
}

/* The node whose square node n is, 0: it is none. */
static uint16_t root_of(const kni_work *w, uint16_t n)
{
    const kni_work_node *square = &w->nodes[n];
    return is_word(square, KNI_WORD_mul) && square->a == square->b ? square->a : 0;
}

/* Pairs node n, a reduction of what is made of the distance, with the sum behind its mean. */
static void pair_with(kni_work *w, uint16_t n, uint16_t sum, uint8_t pair)
{
    w->nodes[n].partner = sum;
    w->nodes[n].pair = pair;
}

void kni_rows_find_moments(kni_work *w)
{
    bool any = false;
    for (uint16_t n = 1; n < w->n_nodes; n++) {
        uint16_t root = is_sum(&w->nodes[n]) ? root_of(w, w->nodes[n].a) : 0;
        uint16_t sum = root ? sum_below(w, root) : 0;
        if (!sum || w->nodes[sum].partner || w->nodes[n].partner) continue;
        pair_with(w, n, sum, KNI_PAIR_SQUARES);
        w->nodes[sum].partner = n;
        any = true;
    }
    /* What rounding left of the mean, by which a variance is made better. */
    for (uint16_t n = 1; n < w->n_nodes && any; n++) {
        uint16_t sum = is_sum(&w->nodes[n]) ? sum_below(w, w->nodes[n].a) : 0;
        bool leads = sum && w->nodes[sum].partner && !w->nodes[sum].pair;
        if (leads && !w->nodes[n].partner) pair_with(w, n, sum, KNI_PAIR_REST);
    }
    if (any) count_stages(w);
}
