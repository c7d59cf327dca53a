/* A body as a tree: what each step takes, and what it belongs to. */
#ifndef KNI_BODY_TREE_H
#define KNI_BODY_TREE_H

#include "ops/body.h"

typedef struct kni_body_node {
    kni_step step;
    uint8_t in[3]; /* nodes; a word of two operands has two */
    uint8_t n_in;
    uint8_t level;
    uint8_t gives; /* a kni_gives */
} kni_body_node;

typedef struct kni_body_tree {
    kni_body_node nodes[KNI_BODY_MAX_STEPS];
    int n;
    uint8_t results[KNI_BODY_OPERANDS]; /* nodes */
} kni_body_tree;

/* The level of a node that is no operand, from those it takes. */
uint8_t kni_body_level(const kni_body_tree *tree, const kni_body_node *node);

void kni_body_tree_of(const kni_body *body, kni_body_tree *tree);
/* Makes the choices that are in `known`: a select that asks for one is passed over, so that nothing refers to it or to its other
   side. */
void kni_body_settle(kni_body_tree *tree, int n_out, uint32_t known, uint32_t choices);

struct kn_attribute;
/* Whether node i, a number, is an integer, so that it is computed and compared as one. schema: of the row, NULL where scalars are
   made by its `.host`. */
bool kni_body_is_whole(const kni_body_tree *tree, const struct kn_attribute *schema, int i);

#endif
