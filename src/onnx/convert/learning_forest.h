/* Forests of decision trees: read from the attributes of a node (learning_forest.c), and as tables that ops walk through
   (learning_trees.c). */
#ifndef KNI_ONNX_CONVERT_LEARNING_FOREST_H
#define KNI_ONNX_CONVERT_LEARNING_FOREST_H

#include "onnx/convert/learning.h"

/* What a node compares; the others of ONNX are these with their branches swapped. */
typedef enum kni_tree_test { KNI_TREE_AT_MOST, KNI_TREE_LESS, KNI_TREE_EQUAL, KNI_TREE_TESTS } kni_tree_test;

/* Leaves lead to themselves. */
typedef struct kni_tree_node {
    int64_t feature, yes, no;
    double value;
    kni_tree_test test;
    bool nan_yes; /* where a feature that is not a number leads to */
    bool leaf;
} kni_tree_node;

/* What a leaf adds to a score. */
typedef struct kni_tree_vote {
    int64_t leaf, target;
    double weight;
} kni_tree_vote;

typedef struct kni_forest {
    kni_tree_node *nodes;
    int64_t n_nodes;
    int64_t *roots;
    int64_t n_trees;
    kni_tree_vote *votes; /* in the order of leaves */
    int64_t n_votes;
    int64_t n_targets;
    int64_t depth; /* steps from a root to the deepest leaf */
    bool wide;     /* thresholds are doubles in the file */
} kni_forest;

/* Of TreeEnsembleClassifier ("class") and TreeEnsembleRegressor ("target"). False with the node failed. */
bool kni_forest_read_old(kni_conversion *c, const kni_onnx_node *node, const char *votes, int64_t n_targets,
                         kni_forest *forest);
/* Of TreeEnsemble. */
bool kni_forest_read(kni_conversion *c, const kni_onnx_node *node, kni_forest *forest);

#endif
