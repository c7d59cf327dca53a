/* The cheapest way to cut a small directed graph in two, so that nothing flows from the source to the sink. */
#ifndef KNI_MINIMUM_CUT_H
#define KNI_MINIMUM_CUT_H

#include <stdbool.h>
#include <stdint.h>

enum { KNI_CUT_NODES = 130, KNI_CUT_EDGES = 512, KNI_CUT_SOURCE = 0, KNI_CUT_SINK = 1 };
/* An edge that must not be cut. */
#define KNI_CUT_NEVER INT64_MAX

typedef struct kni_cut {
    int32_t n_nodes, n_edges;
    bool full; /* an edge found no place */
    struct {
        int64_t capacity; /* what still fits */
        int16_t to, next;
    } edges[2 * KNI_CUT_EDGES]; /* edge i ^ 1 leads back */
    int16_t first[KNI_CUT_NODES];
    bool before_sink[KNI_CUT_NODES]; /* after kni_cut_solve: on the sink's side */
} kni_cut;

/* An empty graph of the source and the sink. */
void kni_cut_begin(kni_cut *c);
/* A new node, -1 when there is no place. */
int32_t kni_cut_node(kni_cut *c);
void kni_cut_edge(kni_cut *c, int32_t from, int32_t to, int64_t capacity);
/* Of all cheapest cuts the one nearest to the sink; false where only edges that must not be cut could do it. */
bool kni_cut_solve(kni_cut *c);

#endif
