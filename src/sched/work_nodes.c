/* The nodes and numbers of a group's work: one constructor for each kind. */
#include "ops/body.h"
#include "sched/work.h"
#include <string.h>

uint16_t kni_work_fail(kni_work *w)
{
    w->failed = true;
    return 0;
}

int kni_work_dtype(int storage)
{
    return kni_is_bool(storage) ? KN_BOOL : kni_compute_dtype[kni_compute_of[storage]];
}

static int larger(int a, int b) { return a > b ? a : b; }

/* Where an equal node is or would be in the table. */
static uint16_t *same_node(kni_work *w, const kni_work_node *n)
{
    uint64_t bits;
    memcpy(&bits, &n->value, sizeof bits);
    uint64_t h = n->kind | (uint64_t)n->op << 8 | (uint64_t)n->dtype << 16 | (uint64_t)n->from << 24 |
                 (uint64_t)n->to << 32;
    h = (h * 31 + n->a) * 0x9E3779B97F4A7C15u + n->b * 0x85EBCA6Bu + n->c * 0xC2B2AE35u + n->d * 977u +
        n->extra * 65599u + bits;
    uint32_t at = (uint32_t)((h * 0x9E3779B97F4A7C15u) >> 53);
    for (; w->same[at]; at = (at + 1) % KNI_WORK_SAME_NODES) {
        const kni_work_node *m = &w->nodes[w->same[at]];
        if (m->kind == n->kind && m->op == n->op && m->dtype == n->dtype && m->from == n->from &&
            m->to == n->to && m->a == n->a && m->b == n->b && m->c == n->c && m->d == n->d &&
            m->extra == n->extra && m->first == n->first && !memcmp(&m->value, &n->value, sizeof n->value))
            break;
    }
    return &w->same[at];
}

uint16_t kni_work_node_add(kni_work *w, const kni_work_node *node)
{
    if (w->failed || w->n_nodes == KNI_WORK_NODES) return kni_work_fail(w);
    uint16_t *same = same_node(w, node);
    if (*same) return *same;
    *same = w->n_nodes;
    uint16_t operands[4] = {node->a, node->b, node->c, node->d};
    kni_work_node *n = &w->nodes[w->n_nodes];
    *n = *node;
    for (int i = 0; i < 4; i++) {
        n->level |= w->nodes[operands[i]].level;
        n->stage = (uint8_t)larger(n->stage, w->nodes[operands[i]].stage);
    }
    return w->n_nodes++;
}

/* ---- numbers */

uint16_t kni_work_number_add(kni_work *w, int dtype, const void *value, int from)
{
    kni_work_number number = {.dtype = (uint8_t)dtype};
    kni_convert(&number.u, dtype ? dtype : KN_I64, 1, value, from, 1, 1);
    if (!dtype)
        for (uint16_t i = 1; i < w->n_numbers; i++)
            if (!w->numbers[i].dtype && w->numbers[i].u.whole == number.u.whole) return i;
    if (w->failed || w->n_numbers == KNI_WORK_NUMBERS) return kni_work_fail(w);
    w->numbers[w->n_numbers] = number;
    return w->n_numbers++;
}

static uint16_t number_node(kni_work *w, int dtype, const void *value, int from)
{
    uint16_t number = kni_work_number_add(w, dtype, value, from);
    return kni_work_node_add(
        w, &(kni_work_node){.kind = KNI_WORK_NUMBER, .dtype = (uint8_t)dtype, .extra = number});
}

uint16_t kni_work_whole(kni_work *w, int dtype, int64_t value)
{
    return number_node(w, dtype, &value, KN_I64);
}

uint16_t kni_work_real(kni_work *w, int dtype, double value) { return number_node(w, dtype, &value, KN_F64); }

uint16_t kni_work_settled(kni_work *w, int dtype, double value)
{
    kni_work_number number = {.dtype = (uint8_t)dtype};
    kni_convert(&number.u, dtype, 1, &value, KN_F64, 1, 1);
    for (uint16_t i = 1; i < w->n_numbers; i++) {
        const kni_work_number *known = &w->numbers[i];
        if (known->settled && known->dtype == dtype && !memcmp(&known->u, &number.u, sizeof number.u))
            return kni_work_node_add(
                w, &(kni_work_node){.kind = KNI_WORK_NUMBER, .dtype = (uint8_t)dtype, .extra = i});
    }
    uint16_t n = kni_work_real(w, dtype, value);
    if (!w->failed) w->numbers[w->nodes[n].extra].settled = true;
    return n;
}

uint16_t kni_work_inline(kni_work *w, int dtype, const void *value, int from)
{
    return number_node(w, dtype, value, from);
}

void kni_work_source(kni_work *w, uint16_t node, int kind, const kn_record *r, int index)
{
    if (w->failed || w->nodes[node].kind != KNI_WORK_NUMBER) return;
    kni_work_number *number = &w->numbers[w->nodes[node].extra];
    int record = 0;
    while (record < w->group->n_records && w->group->records[record] != r) record++;
    number->source = (kni_sched_source){
        .kind = (uint8_t)kind, .dtype = number->dtype, .record = (uint16_t)record, .index = (uint16_t)index};
}

uint16_t kni_work_constant(kni_work *w, int dtype, double value)
{
    return kni_work_node_add(
        w, &(kni_work_node){.kind = KNI_WORK_CONSTANT, .dtype = (uint8_t)dtype, .value = value});
}

/* ---- operations */

uint16_t kni_work_word(kni_work *w, int word, uint16_t a, uint16_t b)
{
    int dtype = kni_word_at(word)->truth ? KN_BOOL : w->nodes[a].dtype;
    return kni_work_node_add(
        w, &(kni_work_node){
               .kind = KNI_WORK_WORD, .op = (uint8_t)word, .dtype = (uint8_t)dtype, .a = a, .b = b});
}

uint16_t kni_work_power(kni_work *w, uint16_t a, kni_power_digits digits)
{
    return kni_work_node_add(
        w,
        &(kni_work_node){.kind = KNI_WORK_POWER, .op = (uint8_t)digits, .dtype = w->nodes[a].dtype, .a = a});
}

uint16_t kni_work_select(kni_work *w, uint16_t condition, uint16_t yes, uint16_t no)
{
    return kni_work_node_add(
        w, &(kni_work_node){
               .kind = KNI_WORK_SELECT, .dtype = w->nodes[yes].dtype, .a = condition, .b = yes, .c = no});
}

uint16_t kni_work_logic(kni_work *w, int kind, uint16_t a, uint16_t b)
{
    return kni_work_node_add(w, &(kni_work_node){.kind = (uint8_t)kind, .dtype = KN_BOOL, .a = a, .b = b});
}

uint16_t kni_work_convert(kni_work *w, uint16_t a, int from, int to)
{
    if (from == to) return a;
    return kni_work_node_add(w, &(kni_work_node){.kind = KNI_WORK_CONVERT,
                                                 .dtype = (uint8_t)kni_work_dtype(to),
                                                 .from = (uint8_t)from,
                                                 .to = (uint8_t)to,
                                                 .a = a});
}

uint16_t kni_work_reduce(kni_work *w, int reduction, uint16_t a)
{
    bool place = reduction == KNI_WORK_ARGMIN || reduction == KNI_WORK_ARGMAX;
    int dtype = place ? KN_I64 : w->nodes[a].dtype;
    uint16_t known = w->n_nodes;
    uint16_t n = kni_work_node_add(
        w,
        &(kni_work_node){.kind = KNI_WORK_REDUCE, .op = (uint8_t)reduction, .dtype = (uint8_t)dtype, .a = a});
    if (w->failed || n < known) return n;
    w->nodes[n].level = reduction == KNI_WORK_COLUMNS ? KNI_WORK_K : KNI_WORK_R;
    w->nodes[n].stage++;
    if (w->nodes[n].stage > w->n_stages) w->n_stages = w->nodes[n].stage;
    return n;
}

uint16_t kni_work_philox(kni_work *w, uint16_t key, uint16_t counter, uint16_t index, int words, int which)
{
    return kni_work_node_add(w, &(kni_work_node){.kind = KNI_WORK_PHILOX,
                                                 .dtype = KN_I64,
                                                 .op = (uint8_t)words,
                                                 .extra = (uint16_t)which,
                                                 .a = key,
                                                 .b = counter,
                                                 .c = index});
}

uint16_t kni_work_report(kni_work *w, uint16_t value, uint16_t reported, uint16_t condition)
{
    if (!w->reporter) w->reporter = w->row_now;
    return kni_work_node_add(w, &(kni_work_node){.kind = KNI_WORK_REPORT,
                                                 .dtype = w->nodes[value].dtype,
                                                 .a = value,
                                                 .b = reported,
                                                 .c = condition});
}
