/* Where the time of runs goes. */
#include "onnx/run/session.h"
#include "support/buffer.h"
#include "support/failure.h"
#include <stdlib.h>
#include <string.h>

/* The time of an operator or of a node. */
typedef struct measured {
    const char *op, *name;
    double seconds;
    int64_t nodes;
} measured;

static kn_status set_measures(kni_onnx *session, bool measures)
{
    kni_exclusive_enter(&session->plan.lock);
    session->measures = measures;
    if (measures) {
        memset(session->times, 0, ((size_t)session->plan.model->n_nodes + 1) * sizeof *session->times);
        session->runs = 0;
    }
    kni_exclusive_leave(&session->plan.lock);
    return KN_OK;
}

kn_status kn_onnx_profile_begin(kn_onnx model)
{
    KNI_USE(onnx, session, model);
    return session ? set_measures(session, true) : KNI_NO_OBJECT(model);
}

kn_status kn_onnx_profile_end(kn_onnx model)
{
    KNI_USE(onnx, session, model);
    return session ? set_measures(session, false) : KNI_NO_OBJECT(model);
}

static void list_nodes(const kni_onnx *session, const kni_onnx_graph *graph, measured *list)
{
    for (int32_t i = 0; i < graph->n_nodes; i++) {
        const kni_onnx_node *node = &graph->nodes[i];
        if (!session->plan.nodes[node->place].folded)
            list[node->place] = (measured){node->op, node->name, session->times[node->place], 1};
        for (int32_t k = 0; k < node->n_attributes; k++)
            for (int64_t g = 0; node->attributes[k].graphs && g < node->attributes[k].count; g++)
                list_nodes(session, node->attributes[k].graphs[g], list);
    }
}

static int by_op(const void *a, const void *b)
{
    const measured *x = a, *y = b;
    return strcmp(x->op ? x->op : "", y->op ? y->op : "");
}

static int by_time(const void *a, const void *b)
{
    const measured *x = a, *y = b;
    return (x->seconds < y->seconds) - (x->seconds > y->seconds);
}

/* Sums of nodes of one operator; returns how many operators there are. */
static int64_t join_ops(measured *list, int64_t n)
{
    int64_t kept = 0;
    qsort(list, (size_t)n, sizeof *list, by_op);
    for (int64_t i = 0; i < n; i++) {
        if (!list[i].op) continue;
        if (kept && !strcmp(list[kept - 1].op, list[i].op)) {
            list[kept - 1].seconds += list[i].seconds;
            list[kept - 1].nodes++;
        } else {
            list[kept++] = list[i];
        }
    }
    return kept;
}

static void write_list(kni_buffer *text, measured *list, int64_t n, double total, int64_t runs, bool nodes)
{
    qsort(list, (size_t)n, sizeof *list, by_time);
    for (int64_t i = 0; i < n && list[i].seconds > 0; i++) {
        kni_buffer_format(text, "%12.5f ms %5.1f %%  %s", list[i].seconds * 1e3 / (double)runs,
                          100 * list[i].seconds / total, list[i].op);
        if (nodes)
            kni_buffer_format(text, "  %s\n", list[i].name);
        else
            kni_buffer_format(text, "  %lld nodes\n", (long long)list[i].nodes);
    }
}

static void write_profile(kni_onnx *session, kni_buffer *text, measured *list)
{
    int64_t n = session->plan.model->n_nodes, runs = session->runs;
    double total = 0;
    for (int64_t i = 0; i < n; i++) total += session->times[i];
    kni_buffer_format(text, "%lld runs, %.5f ms each\n", (long long)runs,
                      runs ? total * 1e3 / (double)runs : 0.0);
    if (!runs || !(total > 0)) return;
    list_nodes(session, session->plan.model->graph, list);
    write_list(text, list, join_ops(list, n), total, runs, false);
    kni_buffer_text(text, "\n");
    memset(list, 0, (size_t)n * sizeof *list);
    list_nodes(session, session->plan.model->graph, list);
    write_list(text, list, n, total, runs, true);
}

size_t kn_onnx_profile(kn_onnx model, char *buffer, size_t bytes)
{
    if (buffer && bytes) *buffer = 0;
    KNI_USE(onnx, session, model);
    measured *list = session ? calloc((size_t)session->plan.model->n_nodes + 1, sizeof *list) : NULL;
    if (session && !list) kni_failure_memory(__func__);
    if (!list) return 0;
    kni_buffer text = {0};
    kni_exclusive_enter(&session->plan.lock);
    write_profile(session, &text, list);
    kni_exclusive_leave(&session->plan.lock);
    free(list);
    size_t n = kni_buffer_copy(&text, buffer, bytes);
    kni_buffer_free(&text);
    return n;
}
