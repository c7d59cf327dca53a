/* Making trees of bodies node by node, and steps of them again: what derives gradients works on these. */
#ifndef KNI_BODY_GRAPH_H
#define KNI_BODY_GRAPH_H

#include "ops/body_tree.h"

/* A tree in which equal nodes are one. */
typedef struct kni_body_graph {
    kni_body_tree tree;
    bool full; /* it has no room for another node, and what was asked for since is missing */
} kni_body_graph;

/* The node that does this; its level follows from what it takes. An operand's level is given. */
int kni_graph_node(kni_body_graph *g, kni_step step, const int *in, int n_in);
int kni_graph_operand(kni_body_graph *g, int index, int level);
int kni_graph_constant(kni_body_graph *g, double value);
int kni_graph_word(kni_body_graph *g, int word, int a, int b); /* b is ignored by words of one */
int kni_graph_line(kni_body_graph *g, int line_word, int a);
int kni_graph_select(kni_body_graph *g, int truth, int yes, int no);
/* Adds what a body computes; `in` are the nodes that stand for its operands, and `results` are filled in. */
void kni_graph_body(kni_body_graph *g, const kni_body *body, const int *in, int *results);

/* Steps that leave the value of node `root` on the stack; operand i is called numbers[i]. How many there are, or 0: more
   than `max`, or too many values that are used several times. */
int kni_graph_steps(const kni_body_graph *g, int root, const uint8_t *numbers, kni_step *steps, int max);
/* Which operands the value of node `root` depends on, a bit each. */
uint32_t kni_graph_operands(const kni_body_graph *g, int root);
/* How many words and choices compute it. */
int kni_graph_words(const kni_body_graph *g, int root);

#endif
