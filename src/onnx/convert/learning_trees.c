/* Forests of decision trees as ops: all trees of all rows go down one level at a time, by gathers from the tables of their nodes, as many
   times as the deepest leaf is deep. */
#include "onnx/convert/learning_forest.h"
#include <string.h>

/* ---- tables */

typedef struct tables {
    kni_datum features, values, yes, no,
        nan_yes;                  /* nan_yes is absent where NaN goes where comparisons send it */
    kni_datum is[KNI_TREE_TESTS]; /* whether a node has a test, where there are several */
    bool has[KNI_TREE_TESTS];
    kn_dtype dtype;
} tables;

static kni_datum truths(kni_conversion *c, const bool *list, int64_t n)
{
    return kni_constant(c, list, KN_BOOL, &n, 1);
}

static bool make_tables(kni_conversion *c, const kni_forest *f, tables *t)
{
    int64_t n = f->n_nodes, kinds = 0, *column = kni_convert_memory(c, (size_t)n, sizeof *column);
    double *values = kni_convert_memory(c, (size_t)n, sizeof *values);
    bool *flags = kni_convert_memory(c, (size_t)n, sizeof *flags), nan = false;
    if (!column || !values || !flags) return false;
    for (int64_t i = 0; i < n; i++) {
        const kni_tree_node *node = &f->nodes[i];
        t->has[node->test] = t->has[node->test] || !node->leaf;
        nan = nan || node->nan_yes;
        values[i] = node->value;
        column[i] = node->feature;
    }
    t->values = kni_learning_reals(c, values, &n, 1, t->dtype);
    t->features = kni_learning_wholes(c, column, &n, 1);
    for (int64_t i = 0; i < n; i++) column[i] = f->nodes[i].yes;
    t->yes = kni_learning_wholes(c, column, &n, 1);
    for (int64_t i = 0; i < n; i++) column[i] = f->nodes[i].no;
    t->no = kni_learning_wholes(c, column, &n, 1);
    for (int64_t i = 0; i < n; i++) flags[i] = f->nodes[i].nan_yes;
    if (nan) t->nan_yes = truths(c, flags, n);
    for (int k = 0; k < KNI_TREE_TESTS; k++) kinds += t->has[k];
    for (int k = 0; kinds > 1 && k < KNI_TREE_TESTS; k++) {
        if (!t->has[k]) continue;
        for (int64_t i = 0; i < n; i++) flags[i] = f->nodes[i].test == (kni_tree_test)k;
        t->is[k] = truths(c, flags, n);
    }
    return !kni_convert_failed(c);
}

static kni_datum rows_of(kni_conversion *c, kni_datum table, kni_datum at)
{
    return kni_emit(c, "take", KNI_LIST(table, at), KNI_GIVE(KNI_WHOLE("axis", 0)));
}

/* ---- the walk */

/* Whether each of the nodes [N, trees] leads to its `yes`, of the features x [N, F]. */
static kni_datum decide(kni_conversion *c, const tables *t, kni_datum x, kni_datum at)
{
    static const char *const ops[KNI_TREE_TESTS] = {"less_equal", "less", "equal"};
    kni_datum value = rows_of(c, t->values, at), yes = KNI_ABSENT;
    x = kni_emit(c, "gather", KNI_LIST(x, rows_of(c, t->features, at)), KNI_GIVE(KNI_WHOLE("axis", 1)));
    for (int k = 0; k < KNI_TREE_TESTS; k++) {
        if (!t->has[k]) continue;
        kni_datum is_so = kni_emit2(c, ops[k], x, value);
        yes = kni_is_given(yes) ? kni_emit3(c, "where", rows_of(c, t->is[k], at), is_so, yes) : is_so;
    }
    if (kni_is_given(t->nan_yes))
        yes = kni_emit3(c, "where", kni_emit1(c, "is_nan", x), rows_of(c, t->nan_yes, at), yes);
    return yes;
}

/* The leaf of each row in each tree: [N, trees]. */
static kni_datum walk(kni_conversion *c, const kni_forest *f, kni_datum x, kn_dtype dtype)
{
    tables t = {.dtype = dtype};
    kni_datum at = kni_learning_wholes(c, f->roots, (int64_t[]){1, f->n_trees}, 2);
    at = kni_expand_to(c, at, (kni_extent[]){kni_extent_of(c, x, 0), KNI_EXTENT(f->n_trees)}, 2);
    if (f->depth == 0 || !make_tables(c, f, &t)) return at;
    for (int64_t level = 0; level < f->depth && !kni_convert_failed(c); level++)
        at = kni_emit3(c, "where", decide(c, &t, x, at), rows_of(c, t.yes, at), rows_of(c, t.no, at));
    return at;
}

/* ---- from leaves to scores */

typedef enum aggregate { AVERAGE, SUM, LEAST, LARGEST } aggregate;
enum { UPDATE_ADD = 1, UPDATE_MIN = 3, UPDATE_MAX = 4 }; /* as kn_update */

typedef struct leaf_tables {
    kni_datum weights, targets; /* [nodes, width] */
    int64_t width;              /* the most votes of a leaf */
} leaf_tables;

/* Every leaf has `width` votes: its own, and others that change nothing. */
static bool make_leaf_tables(kni_conversion *c, const kni_forest *f, kn_dtype dtype, double nothing,
                             leaf_tables *t)
{
    int64_t run = 0;
    t->width = 1;
    for (int64_t i = 0; i < f->n_votes; i++) {
        run = i && f->votes[i].leaf == f->votes[i - 1].leaf ? run + 1 : 1;
        if (run > t->width) t->width = run;
    }
    int64_t sizes[2] = {f->n_nodes, t->width};
    double *weights = kni_convert_memory(c, (size_t)f->n_nodes, (size_t)t->width * sizeof *weights);
    int64_t *targets = kni_convert_memory(c, (size_t)f->n_nodes, (size_t)t->width * sizeof *targets);
    if (!weights || !targets) return false;
    for (int64_t i = 0; i < f->n_nodes * t->width; i++) weights[i] = nothing;
    for (int64_t i = 0; i < f->n_votes; i++) {
        run = i && f->votes[i].leaf == f->votes[i - 1].leaf ? run + 1 : 0;
        weights[f->votes[i].leaf * t->width + run] = f->votes[i].weight;
        targets[f->votes[i].leaf * t->width + run] = f->votes[i].target;
    }
    t->weights = kni_learning_reals(c, weights, sizes, 2, dtype);
    t->targets = kni_learning_wholes(c, targets, sizes, 2);
    return !kni_convert_failed(c);
}

/* Scores [N, targets]. */
static kni_datum count_votes(kni_conversion *c, const kni_forest *f, kni_datum leaves, aggregate how,
                             kn_dtype dtype)
{
    static const int updates[] = {UPDATE_ADD, UPDATE_ADD, UPDATE_MIN, UPDATE_MAX};
    static const char *const reductions[] = {"sum", "sum", "min", "max"};
    const double infinity = __builtin_inf(), start = how == LEAST ? infinity : how == LARGEST ? -infinity : 0;
    const int32_t axis = 1;
    leaf_tables t;
    if (!make_leaf_tables(c, f, dtype, start, &t)) return KNI_ABSENT;
    kni_extent rows = kni_extent_of(c, leaves, 0), flat[2] = {rows, KNI_EXTENT(f->n_trees * t.width)},
               y_sizes[2];
    kni_datum weights = kni_reshape_to(c, rows_of(c, t.weights, leaves), flat, 2), y;
    y_sizes[0] = rows;
    y_sizes[1] = KNI_EXTENT(f->n_targets);
    if (f->n_targets == 1)
        y = kni_reduce_over(c, reductions[how], weights, &axis, 1, true);
    else {
        kni_datum targets = kni_reshape_to(c, rows_of(c, t.targets, leaves), flat, 2);
        y = kni_emit(c, "scatter", KNI_LIST(kni_filled(c, start, dtype, y_sizes, 2), targets, weights),
                     KNI_GIVE(KNI_WHOLE("axis", 1), KNI_WHOLE("update", updates[how])));
    }
    if (how == AVERAGE) return kni_emit2(c, "div", y, kni_real_number(c, (double)f->n_trees, dtype));
    if (how == SUM) return y;
    kni_datum none = kni_emit2(c, "equal", y, kni_real_number(c, start, dtype));
    return kni_emit3(c, "where", none, kni_real_number(c, 0, dtype), y);
}

static kni_datum scores_of(kni_conversion *c, const kni_forest *f, kni_datum x, aggregate how)
{
    kn_dtype computes = kni_dtype_of(c, x) == KN_F64 ? KN_F64 : KN_F32,
             compares = f->wide ? KN_F64 : computes;
    if (f->n_targets < 1 || f->n_targets > INT32_MAX || f->n_trees < 1) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "it needs at least one tree and one target");
        return KNI_ABSENT;
    }
    x = kni_learning_rows(c, kni_cast_to(c, x, computes), compares);
    return count_votes(c, f, walk(c, f, x, compares), how, computes);
}

/* Base values are one for each target, or one for all. */
static kni_datum add_base(kni_conversion *c, const kni_onnx_node *node, kni_datum scores, int64_t n_targets)
{
    int64_t n = 0;
    const double *base = kni_learning_list(c, node, "base_values", &n, NULL);
    if (!base || n == 0) return scores;
    if (n != n_targets && n != 1) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "it has %lld base values for %lld targets", (long long)n,
                         (long long)n_targets);
        return KNI_ABSENT;
    }
    return kni_emit2(c, "add", scores, kni_learning_reals(c, base, &n, 1, kni_dtype_of(c, scores)));
}

/* ---- converters */

static int index_of(const char *name, const char *const *names, int n)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(names[i], name)) return i;
    return -1;
}

static const char *const aggregates[] = {"AVERAGE", "SUM", "MIN", "MAX"};
static const char *const transforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};

void kni_convert_tree_ensemble(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                               int32_t n_in, kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    kni_forest f = {0};
    int64_t how = kni_node_int(node, "aggregate_function", SUM),
            post = kni_node_int(node, "post_transform", 0);
    if (!kni_forest_read(c, node, &f)) return;
    if (how < 0 || how > LARGEST || post < 0 || post > 4) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "there is no such aggregate_function or post_transform");
        return;
    }
    kni_datum y =
        kni_learning_post(c, scores_of(c, &f, in[0], (aggregate)how), f.n_targets, transforms[post]);
    out[0] = kni_cast_to(c, y, kni_dtype_of(c, in[0]));
}

void kni_convert_tree_regressor(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                int32_t n_in, kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    kni_forest f = {0};
    int how = index_of(kni_node_text(node, "aggregate_function", "SUM"), aggregates, 4);
    if (!kni_forest_read_old(c, node, "target", kni_node_int(node, "n_targets", 1), &f)) return;
    if (how < 0) kni_convert_fail(c, KN_ERROR_ARGUMENT, "there is no such aggregate_function");
    if (kni_convert_failed(c)) return;
    kni_datum y = add_base(c, node, scores_of(c, &f, in[0], (aggregate)how), f.n_targets);
    y = kni_learning_post(c, y, f.n_targets, kni_node_text(node, "post_transform", "NONE"));
    out[0] = kni_cast_to(c, y, KN_F32);
}

/* Whether all votes are for one target; whether none of them is against it. */
static bool votes_for_one(const kni_forest *f, bool *all_positive)
{
    bool one = f->n_votes > 0;
    *all_positive = true;
    for (int64_t i = 0; i < f->n_votes; i++) {
        one = one && f->votes[i].target == f->votes[0].target;
        *all_positive = *all_positive && f->votes[i].weight >= 0;
    }
    return one;
}

/* Two classes of which only one has votes: its score is a probability where no vote is negative. */
static kni_datum two_classes(kni_conversion *c, const kni_forest *f, kni_datum *scores, bool positive,
                             const char *post)
{
    int64_t voted = f->votes[0].target;
    kni_datum score = kni_slice_of(c, *scores, 1, KNI_EXTENT(voted), KNI_EXTENT(voted + 1));
    *scores =
        voted == 0 ? kni_learning_two(c, score, positive, post) : kni_learning_post(c, *scores, 2, post);
    return kni_learning_above(c, score, positive ? 0.5 : 0);
}

void kni_convert_tree_classifier(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                 int32_t n_in, kni_datum *out, int32_t n_out)
{
    (void)n_in;
    kni_forest f = {0};
    kni_learning_labels labels = kni_learning_labels_of(node, "classlabels_int64s");
    const char *post = kni_node_text(node, "post_transform", "NONE");
    if (!kni_forest_read_old(c, node, "class", labels.count > 0 ? labels.count : 1, &f)) return;
    kni_datum scores = add_base(c, node, scores_of(c, &f, in[0], SUM), f.n_targets), classes;
    bool positive, one = votes_for_one(&f, &positive);
    if (kni_convert_failed(c)) return;
    if (f.n_targets == 2 && one)
        classes = two_classes(c, &f, &scores, positive, post);
    else {
        classes = f.n_targets == 1 ? kni_learning_above(c, scores, 0) : kni_learning_best(c, scores);
        scores = kni_learning_post(c, scores, f.n_targets, post);
    }
    if (f.n_targets == 1 && !labels.texts) labels.count = 0; /* one class: whether it is so */
    out[0] = kni_learning_label(c, node, &labels, classes);
    if (n_out > 1) out[1] = kni_cast_to(c, scores, KN_F32);
}
