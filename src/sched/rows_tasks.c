/* Which kernel of rows in parts does what, and which values it loads for that. */
#include "sched/sched_rows.h"

kni_rows_task kni_rows_task_of(const kni_work *w)
{
    if (w->pass >= w->n_stages * (w->joins ? 2u : 1u)) return KNI_ROWS_ENDS;
    return w->joins && w->pass % 2 ? KNI_ROWS_JOINS : KNI_ROWS_REDUCES;
}

uint32_t kni_rows_stage_of(const kni_work *w) { return (w->joins ? w->pass / 2u : w->pass) + 1u; }

bool kni_rows_is_early(const kni_work *w, const kni_work_output *y)
{
    return w->n_stages && y->level & KNI_WORK_K && !y->stage;
}

bool kni_rows_has_late(const kni_work *w)
{
    for (int i = 0; i < w->n_outputs; i++)
        if (w->outputs[i].level & KNI_WORK_K && !kni_rows_is_early(w, &w->outputs[i])) return true;
    return false;
}

uint32_t kni_rows_kernels(const kni_work *w)
{
    if (w->form == KNI_ROWS_COLUMNS) return 2;
    if (w->joins) return 2u * w->n_stages + kni_rows_has_late(w);
    return w->parts > 1 ? w->n_stages + 1u : 1;
}

/* ---- what a kernel loads */

static void mark_roots(const kni_work *w, bool *used)
{
    kni_rows_task task = kni_rows_task_of(w);
    uint32_t stage = kni_rows_stage_of(w);
    for (int i = 1; i < w->n_nodes; i++) {
        const kni_work_node *n = &w->nodes[i];
        if (n->kind == KNI_WORK_REDUCE && task == KNI_ROWS_REDUCES && n->stage == stage) used[n->a] = true;
    }
    for (int i = 0; i < w->n_outputs; i++) {
        const kni_work_output *y = &w->outputs[i];
        if (!(y->level & KNI_WORK_K)) continue;
        bool early = kni_rows_is_early(w, y);
        used[y->node] |= early ? task == KNI_ROWS_REDUCES && stage == 1 : task == KNI_ROWS_ENDS;
    }
}

static bool is_reread(const kni_work *w, int node)
{
    for (int i = 0; i < w->n_outputs; i++)
        if (w->outputs[i].reread == node) return true;
    return false;
}

uint32_t kni_rows_loads(const kni_work *w)
{
    bool used[KNI_WORK_NODES] = {false};
    bool ends = kni_rows_task_of(w) == KNI_ROWS_ENDS;
    uint32_t count = 0;
    mark_roots(w, used);
    for (int i = w->n_nodes - 1; i > 0; i--) {
        const kni_work_node *n = &w->nodes[i];
        bool again = ends && is_reread(w, i);
        if (w->parts > 1 && (!used[i] || n->kind == KNI_WORK_REDUCE)) continue;
        count += again || (n->kind == KNI_WORK_INPUT && n->level & KNI_WORK_K);
        if (!again) used[n->a] = used[n->b] = used[n->c] = used[n->d] = true;
    }
    return count;
}

/* The node whose value a load of the result gives: what is stored, once it is rounded; 0: there is none. */
static uint16_t comes_back(const kni_work *w, const kni_work_output *y)
{
    int stored = w->buffers[w->accesses[y->access].buffer].dtype;
    if (!kni_rows_is_early(w, y) || !(y->level & KNI_WORK_R) || !kni_is_float(stored)) return 0;
    if (stored == w->nodes[y->node].dtype) return y->node;
    for (uint16_t i = 1; i < w->n_nodes; i++) {
        const kni_work_node *n = &w->nodes[i];
        if (n->kind == KNI_WORK_CONVERT && n->a == y->node && n->to == stored) return i;
    }
    return 0;
}

void kni_rows_choose_rereads(kni_work *w)
{
    uint8_t pass = w->pass;
    if (w->parts < 2 || w->form == KNI_ROWS_COLUMNS) return;
    w->pass = (uint8_t)(kni_rows_kernels(w) - 1);
    for (int i = 0; i < w->n_outputs && kni_rows_task_of(w) == KNI_ROWS_ENDS; i++) {
        kni_work_output *y = &w->outputs[i];
        uint32_t before = kni_rows_loads(w);
        y->reread = comes_back(w, y);
        if (y->reread && kni_rows_loads(w) >= before) y->reread = 0;
        if (y->reread) w->buffers[w->accesses[y->access].buffer].access |= KNI_IR_READ;
    }
    w->pass = pass;
}
