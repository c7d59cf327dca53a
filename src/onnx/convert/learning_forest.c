/* Reads forests of decision trees from attributes, in the two ways that ONNX writes them, and checks that they are trees: every child
   is there, and no way leads in a circle. */
#include "onnx/convert/learning_forest.h"
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 4096 };

/* ---- tests */

/* The six comparisons in the order of TreeEnsemble, and what they are here. */
static const struct {
    const char *name;
    kni_tree_test test;
    bool swapped;
} comparisons[] = {
    {"BRANCH_LEQ", KNI_TREE_AT_MOST, false}, {"BRANCH_LT", KNI_TREE_LESS, false},
    {"BRANCH_GTE", KNI_TREE_LESS, true},     {"BRANCH_GT", KNI_TREE_AT_MOST, true},
    {"BRANCH_EQ", KNI_TREE_EQUAL, false},    {"BRANCH_NEQ", KNI_TREE_EQUAL, true},
};
enum { COMPARISONS = sizeof comparisons / sizeof *comparisons, MEMBER = COMPARISONS };

/* A comparison with NaN is false, but for NEQ; a node may send NaN to its true branch all the same. */
static void set_test(kni_tree_node *node, int comparison, bool nan_true)
{
    bool truth = nan_true || comparison == 5;
    node->test = comparisons[comparison].test;
    node->nan_yes = truth;
    if (!comparisons[comparison].swapped) return;
    int64_t yes = node->yes;
    node->yes = node->no;
    node->no = yes;
    node->nan_yes = !truth;
}

static int comparison_of(const kni_onnx_text *name)
{
    for (int i = 0; i < COMPARISONS; i++)
        if (strlen(comparisons[i].name) == name->bytes &&
            !memcmp(comparisons[i].name, name->data, name->bytes))
            return i;
    return -1;
}

/* ---- depth */

/* Heights of all nodes below a root, deepest first, on a stack of the nodes of a way down; a node on it that comes again is a circle.
   height: -1 not seen, -2 on the way. */
static bool measure(kni_conversion *c, kni_forest *f, int64_t root, int64_t *height, int64_t *stack)
{
    int64_t top = 0;
    stack[top++] = root;
    while (top > 0) {
        int64_t at = stack[top - 1];
        const kni_tree_node *n = &f->nodes[at];
        int64_t children[2] = {n->yes, n->no}, below = -1;
        if (n->leaf) {
            height[at] = 0;
        } else if (height[at] < 0) {
            height[at] = -2;
            for (int i = 0; i < 2 && below < 0; i++)
                if (height[children[i]] < 0) below = children[i];
            if (below >= 0 && (height[below] == -2 || top >= DEEPEST)) {
                kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "its trees go in circles, or are deeper than %d",
                                 DEEPEST);
                return false;
            }
            if (below >= 0) {
                stack[top++] = below;
                continue;
            }
            int64_t a = height[n->yes], b = height[n->no];
            height[at] = 1 + (a > b ? a : b);
        }
        top--;
    }
    if (height[root] > f->depth) f->depth = height[root];
    return true;
}

static int by_leaf(const void *a, const void *b)
{
    const kni_tree_vote *x = a, *y = b;
    return (x->leaf > y->leaf) - (x->leaf < y->leaf);
}

static bool finish(kni_conversion *c, kni_forest *f)
{
    int64_t *height = kni_convert_memory(c, (size_t)f->n_nodes, sizeof *height);
    int64_t *stack = kni_convert_memory(c, DEEPEST + 1, sizeof *stack);
    if (!height || !stack) return false;
    for (int64_t i = 0; i < f->n_nodes; i++) {
        const kni_tree_node *n = &f->nodes[i];
        height[i] = -1;
        if (n->yes < 0 || n->yes >= f->n_nodes || n->no < 0 || n->no >= f->n_nodes || n->feature < 0) {
            kni_convert_fail(c, KN_ERROR_ARGUMENT,
                             "entry %lld of its nodes has no feature, or a child that is none", (long long)i);
            return false;
        }
    }
    for (int64_t i = 0; i < f->n_votes; i++)
        if (f->votes[i].target < 0 || f->votes[i].target >= f->n_targets) {
            kni_convert_fail(c, KN_ERROR_ARGUMENT, "a leaf counts for %lld of %lld targets",
                             (long long)f->votes[i].target, (long long)f->n_targets);
            return false;
        }
    if (f->n_votes) qsort(f->votes, (size_t)f->n_votes, sizeof *f->votes, by_leaf);
    for (int64_t i = 0; i < f->n_trees; i++)
        if (!measure(c, f, f->roots[i], height, stack)) return false;
    return true;
}

/* ---- TreeEnsembleClassifier and TreeEnsembleRegressor: nodes have an id within a tree that has an id */

typedef struct node_id {
    int64_t tree, node, place;
} node_id;

static int by_id(const void *a, const void *b)
{
    const node_id *x = a, *y = b;
    if (x->tree != y->tree) return (x->tree > y->tree) - (x->tree < y->tree);
    return (x->node > y->node) - (x->node < y->node);
}

static int64_t place_of(const node_id *ids, int64_t n, int64_t tree, int64_t node)
{
    node_id key = {tree, node, 0};
    const node_id *found = n ? bsearch(&key, ids, (size_t)n, sizeof *ids, by_id) : NULL;
    return found ? found->place : -1;
}

typedef struct old_lists {
    const int64_t *trees, *ids, *features, *yes, *no, *nan;
    const kni_onnx_text *modes;
    const double *values;
    int64_t n;
} old_lists;

/* A list with an entry for each of n; NULL with the node failed, or where it is not there and may be missing. */
static const int64_t *wholes_of(kni_conversion *c, const kni_onnx_node *node, const char *name, int64_t n,
                                bool optional)
{
    int64_t count = 0;
    const int64_t *list = kni_node_ints(node, name, &count);
    if (list && count == n) return list;
    if (!optional || count)
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "%s has %lld entries, not %lld", name, (long long)count,
                         (long long)n);
    return NULL;
}

static bool read_lists(kni_conversion *c, const kni_onnx_node *node, old_lists *l, kni_forest *f)
{
    int64_t n_modes = 0, n_values = 0;
    l->ids = kni_node_ints(node, "nodes_nodeids", &l->n);
    l->trees = wholes_of(c, node, "nodes_treeids", l->n, false);
    l->features = wholes_of(c, node, "nodes_featureids", l->n, false);
    l->yes = wholes_of(c, node, "nodes_truenodeids", l->n, false);
    l->no = wholes_of(c, node, "nodes_falsenodeids", l->n, false);
    l->nan = wholes_of(c, node, "nodes_missing_value_tracks_true", l->n, true);
    l->modes = kni_node_texts(node, "nodes_modes", &n_modes);
    l->values = kni_learning_list(c, node, "nodes_values", &n_values, &f->wide);
    if (kni_convert_failed(c)) return false;
    bool good = l->ids && l->modes && l->values && l->n > 0 && n_modes == l->n && n_values == l->n;
    if (!good)
        kni_convert_fail(c, KN_ERROR_ARGUMENT,
                         "nodes_nodeids, nodes_modes and nodes_values have different lengths");
    return good;
}

static bool read_node(kni_conversion *c, const old_lists *l, const node_id *ids, int64_t i,
                      kni_tree_node *node)
{
    static const kni_onnx_text leaf = {"LEAF", 4};
    const kni_onnx_text *mode = &l->modes[i];
    *node = (kni_tree_node){.yes = i, .no = i, .leaf = true};
    if (mode->bytes == leaf.bytes && !memcmp(mode->data, leaf.data, leaf.bytes)) return true;
    int comparison = comparison_of(mode);
    if (comparison < 0) {
        int length = mode->bytes > 40 ? 40 : (int)mode->bytes;
        kni_convert_fail(c, KN_ERROR_UNSUPPORTED, "there is no node mode '%.*s'", length, mode->data);
        return false;
    }
    *node = (kni_tree_node){.feature = l->features[i], .value = l->values[i]};
    node->yes = place_of(ids, l->n, l->trees[i], l->yes[i]);
    node->no = place_of(ids, l->n, l->trees[i], l->no[i]);
    set_test(node, comparison, l->nan && l->nan[i]);
    return true;
}

/* The node of a tree that comes first is its root. */
static bool find_roots(kni_conversion *c, const old_lists *l, const node_id *ids, kni_forest *f)
{
    f->roots = kni_convert_memory(c, (size_t)l->n, sizeof *f->roots);
    if (!f->roots) return false;
    for (int64_t i = 0; i < l->n;) {
        int64_t first = ids[i].place, tree = ids[i].tree;
        for (; i < l->n && ids[i].tree == tree; i++)
            if (ids[i].place < first) first = ids[i].place;
        f->roots[f->n_trees++] = first;
    }
    return true;
}

static bool read_votes(kni_conversion *c, const kni_onnx_node *node, const char *prefix, const node_id *ids,
                       int64_t n_ids, kni_forest *f)
{
    bool classes = !strcmp(prefix, "class");
    int64_t n = 0;
    const double *weights =
        kni_learning_list(c, node, classes ? "class_weights" : "target_weights", &n, NULL);
    const int64_t *trees = wholes_of(c, node, classes ? "class_treeids" : "target_treeids", n, n == 0);
    const int64_t *leaves = wholes_of(c, node, classes ? "class_nodeids" : "target_nodeids", n, n == 0);
    const int64_t *targets = wholes_of(c, node, classes ? "class_ids" : "target_ids", n, n == 0);
    f->votes = kni_convert_memory(c, (size_t)n, sizeof *f->votes);
    if (kni_convert_failed(c) || !f->votes) return false;
    for (int64_t i = 0; i < n; i++) {
        f->votes[i] = (kni_tree_vote){place_of(ids, n_ids, trees[i], leaves[i]), targets[i], weights[i]};
        if (f->votes[i].leaf >= 0) continue;
        kni_convert_fail(c, KN_ERROR_ARGUMENT,
                         "a weight belongs to node %lld of tree %lld, which is not there",
                         (long long)leaves[i], (long long)trees[i]);
        return false;
    }
    f->n_votes = n;
    return true;
}

/* Of one target the first weight of a leaf counts, as in ONNX Runtime: skl2onnx writes the number of a leaf as often as there are classes. */
static bool keep_first_votes(kni_conversion *c, kni_forest *f)
{
    int64_t kept = 0;
    bool *seen = kni_convert_memory(c, (size_t)f->n_nodes, sizeof *seen);
    if (!seen) return false;
    for (int64_t i = 0; i < f->n_votes; i++) {
        if (seen[f->votes[i].leaf]) continue;
        seen[f->votes[i].leaf] = true;
        f->votes[kept++] = f->votes[i];
    }
    f->n_votes = kept;
    return true;
}

bool kni_forest_read_old(kni_conversion *c, const kni_onnx_node *node, const char *votes, int64_t n_targets,
                         kni_forest *f)
{
    old_lists l = {0};
    if (!read_lists(c, node, &l, f)) return false;
    node_id *ids = kni_convert_memory(c, (size_t)l.n, sizeof *ids);
    f->nodes = kni_convert_memory(c, (size_t)l.n, sizeof *f->nodes);
    if (!ids || !f->nodes) return false;
    for (int64_t i = 0; i < l.n; i++) ids[i] = (node_id){l.trees[i], l.ids[i], i};
    qsort(ids, (size_t)l.n, sizeof *ids, by_id);
    for (int64_t i = 0; i < l.n; i++)
        if (!read_node(c, &l, ids, i, &f->nodes[i])) return false;
    f->n_nodes = l.n;
    f->n_targets = n_targets;
    if (!find_roots(c, &l, ids, f) || !read_votes(c, node, votes, ids, l.n, f)) return false;
    if (n_targets == 1 && !strcmp(votes, "target") && !keep_first_votes(c, f)) return false;
    return finish(c, f);
}

/* ---- TreeEnsemble: nodes and leaves are two lists. Leaves come behind the nodes here, then the nodes that a node with a set of
   members needs more: one for each member, each a comparison with it. */

typedef struct new_lists {
    const int64_t *features, *yes, *no, *yes_leaf, *no_leaf, *nan;
    const int64_t *modes;
    const double *splits, *members;
    int64_t n, n_leaves, n_members, members_used;
} new_lists;

static bool read_new_lists(kni_conversion *c, const kni_onnx_node *node, new_lists *l, kni_forest *f)
{
    int64_t n_modes = 0, n_splits = 0;
    const kni_onnx_tensor *modes = kni_node_tensor(node, "nodes_modes"),
                          *splits = kni_node_tensor(node, "nodes_splits");
    const kni_onnx_tensor *members = kni_node_tensor(node, "membership_values");
    l->features = kni_node_ints(node, "nodes_featureids", &l->n);
    l->yes = wholes_of(c, node, "nodes_truenodeids", l->n, false);
    l->no = wholes_of(c, node, "nodes_falsenodeids", l->n, false);
    l->yes_leaf = wholes_of(c, node, "nodes_trueleafs", l->n, false);
    l->no_leaf = wholes_of(c, node, "nodes_falseleafs", l->n, false);
    l->nan = wholes_of(c, node, "nodes_missing_value_tracks_true", l->n, true);
    if (!modes || !splits) kni_convert_fail(c, KN_ERROR_ARGUMENT, "nodes_modes or nodes_splits is missing");
    if (kni_convert_failed(c)) return false;
    l->modes = kni_known_ints(c, kni_constant_of(c, modes), "its modes", &n_modes);
    l->splits = kni_learning_tensor(c, splits, &n_splits);
    if (members) l->members = kni_learning_tensor(c, members, &l->n_members);
    f->wide = splits->type == KNI_ONNX_DOUBLE;
    if (kni_convert_failed(c)) return false;
    bool good = l->features && l->n > 0 && n_modes == l->n && n_splits == l->n;
    if (!good) kni_convert_fail(c, KN_ERROR_ARGUMENT, "the lists of its nodes have different lengths");
    return good;
}

/* The members of the next set, which ends with NaN. */
static int64_t next_members(new_lists *l, const double **members)
{
    int64_t begin = l->members_used, n = 0;
    *members = l->members ? l->members + begin : NULL;
    while (begin + n < l->n_members && l->members[begin + n] == l->members[begin + n]) n++;
    l->members_used = begin + n + 1;
    if (l->members_used > l->n_members) l->members_used = l->n_members;
    return n;
}

/* A chain of comparisons, each of which leads to the next one. An empty set leads to its false branch. */
static void read_members(new_lists *l, kni_forest *f, int64_t i, kni_tree_node node, bool nan_true)
{
    const double *members;
    int64_t n = next_members(l, &members), at = i;
    node.value = __builtin_nan("");
    for (int64_t k = 0; k < n || k == 0; k++) {
        bool more = k + 1 < n;
        int64_t next = more ? f->n_nodes++ : node.no;
        f->nodes[at] = node;
        if (n) f->nodes[at].value = members[k];
        f->nodes[at].no = next;
        set_test(&f->nodes[at], 4, nan_true);
        at = next;
    }
}

static bool read_new_nodes(kni_conversion *c, new_lists *l, kni_forest *f)
{
    for (int64_t i = 0; i < l->n; i++) {
        kni_tree_node node = {.feature = l->features[i], .value = l->splits[i]};
        bool yes_good = l->yes[i] >= 0 && l->yes[i] < (l->yes_leaf[i] ? l->n_leaves : l->n);
        bool no_good = l->no[i] >= 0 && l->no[i] < (l->no_leaf[i] ? l->n_leaves : l->n);
        if (!yes_good || !no_good || l->modes[i] < 0 || l->modes[i] > MEMBER) {
            kni_convert_fail(c, KN_ERROR_ARGUMENT, "node %lld has no such mode or no such child",
                             (long long)i);
            return false;
        }
        node.yes = l->yes[i] + (l->yes_leaf[i] ? l->n : 0);
        node.no = l->no[i] + (l->no_leaf[i] ? l->n : 0);
        bool nan_true = l->nan && l->nan[i];
        if (l->modes[i] == MEMBER) {
            read_members(l, f, i, node, nan_true);
            continue;
        }
        f->nodes[i] = node;
        set_test(&f->nodes[i], (int)l->modes[i], nan_true);
    }
    return true;
}

bool kni_forest_read(kni_conversion *c, const kni_onnx_node *node, kni_forest *f)
{
    new_lists l = {0};
    const kni_onnx_tensor *leaf_weights = kni_node_tensor(node, "leaf_weights");
    if (!leaf_weights) kni_convert_fail(c, KN_ERROR_ARGUMENT, "leaf_weights is missing");
    if (kni_convert_failed(c) || !read_new_lists(c, node, &l, f)) return false;
    const double *weights = kni_learning_tensor(c, leaf_weights, &l.n_leaves);
    const int64_t *targets = wholes_of(c, node, "leaf_targetids", l.n_leaves, false);
    const int64_t *roots = kni_node_ints(node, "tree_roots", &f->n_trees);
    size_t room = (size_t)(l.n + l.n_leaves + l.n_members);
    f->nodes = kni_convert_memory(c, room, sizeof *f->nodes);
    f->votes = kni_convert_memory(c, (size_t)l.n_leaves, sizeof *f->votes);
    f->roots = kni_convert_memory(c, (size_t)f->n_trees, sizeof *f->roots);
    if (kni_convert_failed(c) || !weights || !targets || !f->nodes || !f->votes || !f->roots) return false;
    f->n_nodes = l.n + l.n_leaves;
    f->n_votes = l.n_leaves;
    f->n_targets = kni_node_int(node, "n_targets", 1);
    for (int64_t i = 0; i < l.n_leaves; i++) {
        f->nodes[l.n + i] = (kni_tree_node){.yes = l.n + i, .no = l.n + i, .leaf = true};
        f->votes[i] = (kni_tree_vote){l.n + i, targets[i], weights[i]};
    }
    for (int64_t i = 0; i < f->n_trees; i++) {
        f->roots[i] = roots[i];
        if (roots[i] >= 0 && roots[i] < l.n) continue;
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "tree %lld has no root", (long long)i);
        return false;
    }
    return read_new_nodes(c, &l, f) && finish(c, f);
}
