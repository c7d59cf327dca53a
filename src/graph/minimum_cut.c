/* Augmenting paths, shortest first: graphs have some dozen nodes. */
#include "graph/minimum_cut.h"
#include <string.h>

void kni_cut_begin(kni_cut *c)
{
    c->n_nodes = c->n_edges = 0;
    c->full = false;
    for (int i = 0; i < 2; i++) (void)kni_cut_node(c);
}

int32_t kni_cut_node(kni_cut *c)
{
    if (c->n_nodes == KNI_CUT_NODES) {
        c->full = true;
        return -1;
    }
    c->first[c->n_nodes] = -1;
    return c->n_nodes++;
}

void kni_cut_edge(kni_cut *c, int32_t from, int32_t to, int64_t capacity)
{
    if (c->n_edges == KNI_CUT_EDGES || from < 0 || to < 0) {
        c->full = true;
        return;
    }
    const int32_t ends[2] = {from, to};
    for (int i = 0; i < 2; i++) {
        int32_t at = 2 * c->n_edges + i;
        c->edges[at].capacity = i ? 0 : capacity;
        c->edges[at].to = (int16_t)ends[1 - i];
        c->edges[at].next = c->first[ends[i]];
        c->first[ends[i]] = (int16_t)at;
    }
    c->n_edges++;
}

/* Finds the edge by which each node is reached first; whether the sink is. */
static bool find_path(const kni_cut *c, int16_t *by)
{
    int16_t waiting[KNI_CUT_NODES];
    int32_t n = 0, at = 0;
    for (int32_t i = 0; i < c->n_nodes; i++) by[i] = -1;
    waiting[n++] = KNI_CUT_SOURCE;
    while (at < n) {
        int32_t node = waiting[at++];
        for (int16_t e = c->first[node]; e >= 0; e = c->edges[e].next) {
            int32_t to = c->edges[e].to;
            if (!c->edges[e].capacity || by[to] >= 0 || to == KNI_CUT_SOURCE) continue;
            by[to] = e;
            if (to == KNI_CUT_SINK) return true;
            waiting[n++] = (int16_t)to;
        }
    }
    return false;
}

static void push(kni_cut *c, const int16_t *by, int64_t amount)
{
    for (int32_t node = KNI_CUT_SINK; node != KNI_CUT_SOURCE; node = c->edges[by[node] ^ 1].to) {
        if (c->edges[by[node]].capacity != KNI_CUT_NEVER) c->edges[by[node]].capacity -= amount;
        if (c->edges[by[node] ^ 1].capacity != KNI_CUT_NEVER) c->edges[by[node] ^ 1].capacity += amount;
    }
}

/* Nodes from which something could still flow to the sink. */
static void mark_before_sink(kni_cut *c)
{
    bool more = true;
    memset(c->before_sink, 0, sizeof c->before_sink);
    c->before_sink[KNI_CUT_SINK] = true;
    while (more) {
        more = false;
        for (int32_t node = 0; node < c->n_nodes; node++)
            for (int16_t e = c->first[node]; e >= 0 && !c->before_sink[node]; e = c->edges[e].next)
                if (c->edges[e].capacity && c->before_sink[c->edges[e].to])
                    more = c->before_sink[node] = true;
    }
}

bool kni_cut_solve(kni_cut *c)
{
    int16_t by[KNI_CUT_NODES];
    if (c->full) return false;
    while (find_path(c, by)) {
        int64_t amount = KNI_CUT_NEVER;
        for (int32_t node = KNI_CUT_SINK; node != KNI_CUT_SOURCE; node = c->edges[by[node] ^ 1].to)
            if (c->edges[by[node]].capacity < amount) amount = c->edges[by[node]].capacity;
        if (amount == KNI_CUT_NEVER) return false;
        push(c, by, amount);
    }
    mark_before_sink(c);
    return true;
}
