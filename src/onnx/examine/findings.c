/* What looking at a model has found: as lists for users, and as text. */
#include "onnx/examine/findings.h"
#include "core/objects.h"
#include "onnx/describe.h"
#include "onnx/read/name_table.h"
#include "onnx/run/session.h"
#include "support/argument.h"
#include "support/failure.h"
#include <stdlib.h>
#include <string.h>

kni_onnx_findings *kni_onnx_findings_new(int32_t n_nodes)
{
    kni_onnx_arena *arena = kni_onnx_arena_new();
    kni_onnx_findings *found = arena ? kni_onnx_arena_take(arena, 1, sizeof *found) : NULL;
    if (found) found->arena = arena;
    if (found) found->nodes = kni_onnx_arena_take(arena, (size_t)n_nodes + 1, sizeof *found->nodes);
    if (found && found->nodes) return found;
    kni_onnx_arena_free(arena);
    return NULL;
}

void kni_onnx_findings_free(kni_onnx_findings *findings)
{
    if (findings) kni_onnx_arena_free(findings->arena);
}

/* ---- from nodes to lists */

typedef struct sorting {
    kni_onnx_findings *found;
    const kni_onnx_plan *plan;
    kni_name_table names; /* "domain.op" */
    bool failed;
} sorting;

static void add_operator(sorting *s, const kni_onnx_node *node, int64_t macs)
{
    char *key = kni_onnx_arena_format(s->found->arena, "%s.%s", node->domain, node->op);
    if (!key) {
        s->failed = true;
        return;
    }
    int32_t *number = kni_name_table_put(&s->names, key);
    if (*number < 0) {
        *number = s->found->sums.operators++;
        s->found->operators[*number] = (kn_onnx_operator_use){node->domain, node->op, 0, 0};
    }
    kn_onnx_operator_use *use = &s->found->operators[*number];
    use->nodes++;
    use->macs = kni_capped_sum(use->macs, macs);
}

static void sort_node(sorting *s, const kni_onnx_node *node)
{
    kni_onnx_findings *found = s->found;
    kn_onnx_examined *sums = &found->sums;
    kni_examined_node *noted = &found->nodes[node->place];
    const kni_planned_node *planned = &s->plan->nodes[node->place];
    if (noted->state == KNI_NODE_UNSEEN && planned->folded) noted->state = KNI_NODE_WORKS;
    if (noted->state == KNI_NODE_UNSEEN && !planned->converter) {
        noted->state = KNI_NODE_FAILS;
        noted->code = KN_ERROR_UNSUPPORTED;
        noted->reason = planned->reason;
    }
    add_operator(s, node, noted->macs);
    sums->macs = kni_capped_sum(sums->macs, noted->macs);
    sums->checked += noted->state == KNI_NODE_WORKS;
    sums->unchecked += noted->state == KNI_NODE_UNSEEN || noted->state == KNI_NODE_DEPENDS;
    if (noted->state == KNI_NODE_FAILS)
        found->problems[sums->problems++] =
            (kn_onnx_problem){node->name, node->domain, node->op, noted->reason, noted->code};
}

/* The reader bounds how deep graphs lie in each other. */
static void sort_nodes(sorting *s, const kni_onnx_graph *graph)
{
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const kni_onnx_node *node = &graph->nodes[i];
        sort_node(s, node);
        for (int32_t a = 0; a < node->n_attributes; a++)
            for (int64_t k = 0; node->attributes[a].graphs && k < node->attributes[a].count; k++)
                sort_nodes(s, node->attributes[a].graphs[k]);
    }
}

static int costlier(const void *a, const void *b)
{
    const kn_onnx_operator_use *p = a, *q = b;
    if (p->macs != q->macs) return p->macs < q->macs ? 1 : -1;
    if (p->nodes != q->nodes) return p->nodes < q->nodes ? 1 : -1;
    int order = strcmp(p->op, q->op);
    return order ? order : strcmp(p->domain, q->domain);
}

kn_status kni_onnx_findings_finish(kni_onnx_findings *found, const kni_onnx_plan *plan)
{
    size_t n = (size_t)plan->model->n_nodes + 1;
    sorting s = {.found = found, .plan = plan};
    found->problems = kni_onnx_arena_take(found->arena, n, sizeof *found->problems);
    found->operators = kni_onnx_arena_take(found->arena, n, sizeof *found->operators);
    s.failed = !found->problems || !found->operators || !kni_name_table_make(&s.names, found->arena, n);
    if (!s.failed) sort_nodes(&s, plan->model->graph);
    if (s.failed) return kni_failure_memory("kn_onnx_examine");
    if (found->sums.operators)
        qsort(found->operators, (size_t)found->sums.operators, sizeof *found->operators, costlier);
    return KN_OK;
}

/* ---- as text */

static void write_operator(kni_buffer *text, const char *domain, const char *op)
{
    if (*domain) {
        kni_onnx_write_name(text, domain);
        kni_buffer_text(text, ".");
    }
    kni_onnx_write_name(text, op);
}

static void write_macs(const kni_onnx_findings *found, kni_buffer *text)
{
    const kn_onnx_examined *sums = &found->sums;
    if (sums->macs == INT64_MAX)
        kni_buffer_text(text, "more multiply-accumulates (MACs) than can be counted");
    else
        kni_buffer_format(text, "%lld multiply-accumulates (MACs)", (long long)sums->macs);
    for (int32_t i = 0; i < sums->sizes; i++) {
        kni_buffer_text(text, i ? ", " : " with ");
        kni_onnx_write_name(text, found->sizes[i].name);
        kni_buffer_format(text, " = %lld", (long long)found->sizes[i].taken);
        if (!found->sizes[i].given) kni_buffer_text(text, " (not given)");
    }
    kni_buffer_text(text, sums->counts_once ? "; a loop of unknown length counts as one trip\n" : "\n");
    for (int32_t i = 0; i < sums->operators && found->operators[i].macs > 0; i++) {
        const kn_onnx_operator_use *use = &found->operators[i];
        kni_buffer_format(text, "  %16lld %5.1f %%  ", (long long)use->macs,
                          100 * (double)use->macs / (double)sums->macs);
        write_operator(text, use->domain, use->op);
        kni_buffer_text(text, "\n");
    }
}

/* What other sizes may mend: neither the operator nor its element type, and some sizes of the model were not given. */
static bool is_of_sizes(const kni_onnx_findings *found, const kn_onnx_problem *p)
{
    if (p->code == KN_ERROR_UNSUPPORTED || p->code == KN_ERROR_DTYPE) return false;
    for (int32_t i = 0; i < found->sums.sizes; i++)
        if (!found->sizes[i].given) return true;
    return false;
}

static void write_problems(const kni_onnx_findings *found, kni_buffer *text, bool of_sizes, const char *one,
                           const char *many)
{
    const kn_onnx_examined *sums = &found->sums;
    int32_t n = 0;
    for (int32_t i = 0; i < sums->problems; i++) n += is_of_sizes(found, &found->problems[i]) == of_sizes;
    if (n) kni_buffer_format(text, n == 1 ? one : many, (int)n);
    for (int32_t i = 0; i < sums->problems; i++) {
        const kn_onnx_problem *p = &found->problems[i];
        if (is_of_sizes(found, p) != of_sizes) continue;
        kni_buffer_text(text, "  ");
        kni_onnx_write_name(text, p->node);
        kni_buffer_text(text, " (");
        write_operator(text, p->domain, p->op);
        kni_buffer_text(text, "): ");
        kni_buffer_text(text, p->reason);
        kni_buffer_text(text, "\n");
    }
}

void kni_onnx_findings_write(const kni_onnx_findings *findings, kni_buffer *text)
{
    const kn_onnx_examined *sums = &findings->sums;
    write_macs(findings, text);
    if (!sums->problems) kni_buffer_text(text, "no node is known to fail\n");
    write_problems(findings, text, false, "%d node cannot run:\n", "%d nodes cannot run:\n");
    write_problems(findings, text, true, "%d node does not fit the sizes above; give those of the model:\n",
                   "%d nodes do not fit the sizes above; give those of the model:\n");
    if (sums->unchecked)
        kni_buffer_format(
            text, "%d of %d nodes were not looked at: the types of their operands depend on values%s\n",
            (int)sums->unchecked, (int)(sums->unchecked + sums->checked + sums->problems),
            sums->problems ? " or on such nodes" : "");
}

/* ---- asking */

/* Whether there is an i-th of a list; else the failure. */
static kn_status check_place(const kni_onnx *session, int32_t i, int32_t n, const void *to,
                             const char *function)
{
    if (!session->findings)
        return kni_failure(KN_ERROR_ARGUMENT, "%s: kn_onnx_examine has not looked at the model yet",
                           function);
    if (i < 0 || i >= n) return kni_failure(KN_ERROR_INDEX, "%s: number %d of %d", function, i, n);
    return kni_given(to, function, "the result");
}

kn_status kn_onnx_examined_problem(kn_onnx model, int32_t i, kn_onnx_problem *problem)
{
    KNI_USE(onnx, session, model);
    if (!session) return KNI_NO_OBJECT(model);
    const kni_onnx_findings *found = session->findings;
    kn_status s = check_place(session, i, found ? found->sums.problems : 0, problem, __func__);
    if (s == KN_OK) *problem = found->problems[i];
    return s;
}

kn_status kn_onnx_examined_operator(kn_onnx model, int32_t i, kn_onnx_operator_use *use)
{
    KNI_USE(onnx, session, model);
    if (!session) return KNI_NO_OBJECT(model);
    const kni_onnx_findings *found = session->findings;
    kn_status s = check_place(session, i, found ? found->sums.operators : 0, use, __func__);
    if (s == KN_OK) *use = found->operators[i];
    return s;
}

kn_status kn_onnx_examined_size(kn_onnx model, int32_t i, kn_onnx_open_size *size)
{
    KNI_USE(onnx, session, model);
    if (!session) return KNI_NO_OBJECT(model);
    const kni_onnx_findings *found = session->findings;
    kn_status s = check_place(session, i, found ? found->sums.sizes : 0, size, __func__);
    if (s == KN_OK) *size = found->sizes[i];
    return s;
}
