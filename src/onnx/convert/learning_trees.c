/* Forests of decision trees as ops: all trees of all rows go down one level at a time, by gathers from the tables of their nodes, as many
   times as the deepest leaf is deep. */
#include "onnx/convert/learning_forest.h"
#include <string.h>

/* ---- tables. They are made once and kept for the next runs. */

/* What is kept under which number; FACTS is kept last. */
enum {
    FEATURES,
    VALUES,
    YES,
    NO,
    NAN_YES,
    ROOTS,
    WEIGHTS,
    TARGETS,
    TESTS,
    FACTS = TESTS + KNI_TREE_TESTS,
    TABLES
};
/* The whole numbers of FACTS. */
enum { DEPTH, TREES, SCORES, WIDTH, ONE, POSITIVE, COMPARES, COMPUTES, HAS, N_FACTS = HAS + KNI_TREE_TESTS };

typedef enum aggregate { AVERAGE, SUM, LEAST, LARGEST } aggregate;
enum { UPDATE_ADD = 1, UPDATE_MIN = 3, UPDATE_MAX = 4 }; /* as kn_update */

typedef struct forest_tables {
    kni_datum of
        [TABLES]; /* NAN_YES is absent where comparisons send NaN the right way, TESTS where all nodes have one test */
    int64_t facts[N_FACTS];
    kn_dtype compares, computes;
} forest_tables;

/* What a leaf without votes counts. */
static double nothing_of(aggregate how)
{
    return how == LEAST ? __builtin_inf() : how == LARGEST ? -__builtin_inf() : 0;
}

static kni_datum truths(kni_conversion *c, const bool *list, int64_t n)
{
    return kni_constant(c, list, KN_BOOL, &n, 1);
}

static void make_node_tables(kni_conversion *c, const kni_forest *f, forest_tables *t)
{
    int64_t n = f->n_nodes, kinds = 0, *column = kni_convert_memory(c, (size_t)n, sizeof *column);
    double *values = kni_convert_memory(c, (size_t)n, sizeof *values);
    bool *flags = kni_convert_memory(c, (size_t)n, sizeof *flags), nan = false;
    if (!column || !values || !flags) return;
    for (int64_t i = 0; i < n; i++) {
        const kni_tree_node *node = &f->nodes[i];
        if (!node->leaf) t->facts[HAS + node->test] = 1;
        nan = nan || node->nan_yes;
        values[i] = node->value;
        column[i] = node->feature;
        flags[i] = node->nan_yes;
    }
    t->of[VALUES] = kni_learning_reals(c, values, &n, 1, t->compares);
    t->of[FEATURES] = kni_learning_wholes(c, column, &n, 1);
    if (nan) t->of[NAN_YES] = truths(c, flags, n);
    for (int64_t i = 0; i < n; i++) column[i] = f->nodes[i].yes;
    t->of[YES] = kni_learning_wholes(c, column, &n, 1);
    for (int64_t i = 0; i < n; i++) column[i] = f->nodes[i].no;
    t->of[NO] = kni_learning_wholes(c, column, &n, 1);
    t->of[ROOTS] = kni_learning_wholes(c, f->roots, (int64_t[]){1, f->n_trees}, 2);
    for (int k = 0; k < KNI_TREE_TESTS; k++) kinds += t->facts[HAS + k];
    for (int k = 0; kinds > 1 && k < KNI_TREE_TESTS; k++) {
        for (int64_t i = 0; i < n; i++) flags[i] = f->nodes[i].test == (kni_tree_test)k;
        t->of[TESTS + k] = truths(c, flags, n);
    }
}

/* Every leaf has as many votes as the one that has most: its own, and others that change nothing. */
static void make_leaf_tables(kni_conversion *c, const kni_forest *f, double nothing, forest_tables *t)
{
    int64_t run = 0, width = 1;
    for (int64_t i = 0; i < f->n_votes; i++) {
        run = i && f->votes[i].leaf == f->votes[i - 1].leaf ? run + 1 : 1;
        if (run > width) width = run;
    }
    int64_t sizes[2] = {f->n_nodes, width};
    double *weights = kni_convert_memory(c, (size_t)f->n_nodes, (size_t)width * sizeof *weights);
    int64_t *targets = kni_convert_memory(c, (size_t)f->n_nodes, (size_t)width * sizeof *targets);
    if (!weights || !targets) return;
    for (int64_t i = 0; i < f->n_nodes * width; i++) weights[i] = nothing;
    for (int64_t i = 0; i < f->n_votes; i++) {
        run = i && f->votes[i].leaf == f->votes[i - 1].leaf ? run + 1 : 0;
        weights[f->votes[i].leaf * width + run] = f->votes[i].weight;
        targets[f->votes[i].leaf * width + run] = f->votes[i].target;
    }
    t->facts[WIDTH] = width;
    t->of[WEIGHTS] = kni_learning_reals(c, weights, sizes, 2, t->computes);
    t->of[TARGETS] = kni_learning_wholes(c, targets, sizes, 2);
}

/* 1 + the target that all votes are for, 0 where there are several; whether none of them is against it. */
static void note_votes(const kni_forest *f, forest_tables *t)
{
    bool one = f->n_votes > 0, positive = true;
    for (int64_t i = 0; i < f->n_votes; i++) {
        one = one && f->votes[i].target == f->votes[0].target;
        positive = positive && f->votes[i].weight >= 0;
    }
    t->facts[ONE] = one ? 1 + f->votes[0].target : 0;
    t->facts[POSITIVE] = positive;
}

static void make_tables(kni_conversion *c, const kni_forest *f, aggregate how, forest_tables *t)
{
    if (f->n_targets < 1 || f->n_targets > INT32_MAX || f->n_trees < 1) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "it needs at least one tree and one target");
        return;
    }
    if (f->wide) t->compares = KN_F64;
    t->facts[DEPTH] = f->depth;
    t->facts[TREES] = f->n_trees;
    t->facts[SCORES] = f->n_targets;
    t->facts[COMPARES] = t->compares;
    t->facts[COMPUTES] = t->computes;
    make_node_tables(c, f, t);
    make_leaf_tables(c, f, nothing_of(how), t);
    note_votes(f, t);
    t->of[FACTS] = kni_learning_wholes(c, t->facts, (int64_t[]){N_FACTS}, 1);
    for (int i = 0; i < TABLES && !kni_convert_failed(c); i++)
        if (kni_is_given(t->of[i])) t->of[i] = kni_keep(c, i, t->of[i]);
}

/* Those of an earlier run, where the features had the same type. */
static bool find_tables(kni_conversion *c, forest_tables *t)
{
    int64_t n = 0;
    kni_datum facts = kni_kept(c, FACTS);
    const int64_t *kept = kni_is_given(facts) ? kni_known_ints(c, facts, "what is kept", &n) : NULL;
    if (!kept || n != N_FACTS || kept[COMPUTES] != (int64_t)t->computes) return false;
    memcpy(t->facts, kept, sizeof t->facts);
    t->compares = (kn_dtype)kept[COMPARES];
    for (int i = 0; i < TABLES; i++) t->of[i] = kni_kept(c, i);
    return true;
}

static kni_datum rows_of(kni_conversion *c, kni_datum table, kni_datum at)
{
    return kni_emit(c, "take", KNI_LIST(table, at), KNI_GIVE(KNI_WHOLE("axis", 0)));
}

/* ---- the walk */

/* Whether each of the nodes [N, trees] leads to its `yes`, of the features x [N, F]. */
static kni_datum decide(kni_conversion *c, const forest_tables *t, kni_datum x, kni_datum at)
{
    static const char *const ops[KNI_TREE_TESTS] = {"less_equal", "less", "equal"};
    kni_datum value = rows_of(c, t->of[VALUES], at), yes = KNI_ABSENT;
    x = kni_emit(c, "gather", KNI_LIST(x, rows_of(c, t->of[FEATURES], at)), KNI_GIVE(KNI_WHOLE("axis", 1)));
    for (int k = 0; k < KNI_TREE_TESTS; k++) {
        if (!t->facts[HAS + k]) continue;
        kni_datum is_so = kni_emit2(c, ops[k], x, value);
        yes = kni_is_given(yes) ? kni_emit3(c, "where", rows_of(c, t->of[TESTS + k], at), is_so, yes) : is_so;
    }
    if (kni_is_given(t->of[NAN_YES]))
        yes = kni_emit3(c, "where", kni_emit1(c, "is_nan", x), rows_of(c, t->of[NAN_YES], at), yes);
    return yes;
}

/* The leaf of each row in each tree: [N, trees]. */
static kni_datum walk(kni_conversion *c, const forest_tables *t, kni_datum x)
{
    kni_extent sizes[2] = {kni_extent_of(c, x, 0), KNI_EXTENT(t->facts[TREES])};
    kni_datum at = kni_expand_to(c, t->of[ROOTS], sizes, 2);
    for (int64_t level = 0; level < t->facts[DEPTH] && !kni_convert_failed(c); level++)
        at =
            kni_emit3(c, "where", decide(c, t, x, at), rows_of(c, t->of[YES], at), rows_of(c, t->of[NO], at));
    return at;
}

/* ---- from leaves to scores */

/* Scores [N, targets]. */
static kni_datum count_votes(kni_conversion *c, const forest_tables *t, kni_datum leaves, aggregate how)
{
    static const int updates[] = {UPDATE_ADD, UPDATE_ADD, UPDATE_MIN, UPDATE_MAX};
    static const char *const reductions[] = {"sum", "sum", "min", "max"};
    const double start = nothing_of(how);
    const int32_t axis = 1;
    kni_extent rows = kni_extent_of(c, leaves, 0),
               flat[2] = {rows, KNI_EXTENT(t->facts[TREES] * t->facts[WIDTH])};
    kni_extent sizes[2] = {rows, KNI_EXTENT(t->facts[SCORES])};
    kni_datum weights = kni_reshape_to(c, rows_of(c, t->of[WEIGHTS], leaves), flat, 2), y;
    if (t->facts[SCORES] == 1)
        y = kni_reduce_over(c, reductions[how], weights, &axis, 1, true);
    else {
        kni_datum targets = kni_reshape_to(c, rows_of(c, t->of[TARGETS], leaves), flat, 2);
        y = kni_emit(c, "scatter", KNI_LIST(kni_filled(c, start, t->computes, sizes, 2), targets, weights),
                     KNI_GIVE(KNI_WHOLE("axis", 1), KNI_WHOLE("update", updates[how])));
    }
    if (how == AVERAGE)
        return kni_emit2(c, "div", y, kni_real_number(c, (double)t->facts[TREES], t->computes));
    if (how == SUM) return y;
    kni_datum none = kni_emit2(c, "equal", y, kni_real_number(c, start, t->computes));
    return kni_emit3(c, "where", none, kni_real_number(c, 0, t->computes), y);
}

/* Reads the forest of a node, unless its tables are kept. `votes`: "class", "target", or NULL for TreeEnsemble. */
static kni_datum scores_of(kni_conversion *c, const kni_onnx_node *node, const char *votes, int64_t n_targets,
                           kni_datum x, aggregate how, forest_tables *t)
{
    kni_forest f = {0};
    t->computes = t->compares = kni_learning_dtype(c, x);
    if (!find_tables(c, t)) {
        bool good = votes ? kni_forest_read_old(c, node, votes, n_targets, &f) : kni_forest_read(c, node, &f);
        if (good) make_tables(c, &f, how, t);
    }
    x = kni_learning_rows(c, kni_cast_to(c, x, t->computes), t->compares);
    return kni_convert_failed(c) ? KNI_ABSENT : count_votes(c, t, walk(c, t, x), how);
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
    forest_tables t = {0};
    int64_t how = kni_node_int(node, "aggregate_function", SUM),
            post = kni_node_int(node, "post_transform", 0);
    if (how < 0 || how > LARGEST || post < 0 || post > 4) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "there is no such aggregate_function or post_transform");
        return;
    }
    kni_datum y = scores_of(c, node, NULL, 0, in[0], (aggregate)how, &t);
    y = kni_learning_post(c, y, t.facts[SCORES], transforms[post]);
    out[0] = kni_cast_to(c, y, kni_dtype_of(c, in[0]));
}

void kni_convert_tree_regressor(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                int32_t n_in, kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    forest_tables t = {0};
    int64_t n_targets = kni_node_int(node, "n_targets", 1);
    int how = index_of(kni_node_text(node, "aggregate_function", "SUM"), aggregates, 4);
    if (how < 0) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "there is no such aggregate_function");
        return;
    }
    kni_datum y = scores_of(c, node, "target", n_targets, in[0], (aggregate)how, &t);
    y = add_base(c, node, y, n_targets);
    y = kni_learning_post(c, y, n_targets, kni_node_text(node, "post_transform", "NONE"));
    out[0] = kni_cast_to(c, y, KN_F32);
}

/* Two classes of which only one has votes: its score is a probability where no vote is negative. */
static kni_datum two_classes(kni_conversion *c, const forest_tables *t, kni_datum *scores, const char *post)
{
    int64_t voted = t->facts[ONE] - 1;
    bool positive = t->facts[POSITIVE];
    kni_datum score = kni_slice_of(c, *scores, 1, KNI_EXTENT(voted), KNI_EXTENT(voted + 1));
    *scores =
        voted == 0 ? kni_learning_two(c, score, positive, post) : kni_learning_post(c, *scores, 2, post);
    return kni_learning_above(c, score, positive ? 0.5 : 0);
}

void kni_convert_tree_classifier(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                 int32_t n_in, kni_datum *out, int32_t n_out)
{
    (void)n_in;
    forest_tables t = {0};
    kni_learning_labels labels = kni_learning_labels_of(node, "classlabels_int64s");
    int64_t n = labels.count > 0 ? labels.count : 1;
    const char *post = kni_node_text(node, "post_transform", "NONE");
    kni_datum scores = add_base(c, node, scores_of(c, node, "class", n, in[0], SUM, &t), n), classes;
    if (kni_convert_failed(c)) return;
    if (n == 2 && t.facts[ONE])
        classes = two_classes(c, &t, &scores, post);
    else {
        classes = n == 1 ? kni_learning_above(c, scores, 0) : kni_learning_best(c, scores);
        scores = kni_learning_post(c, scores, n, post);
    }
    if (n == 1 && !labels.texts) labels.count = 0; /* one class: whether it is so */
    out[0] = kni_learning_label(c, node, &labels, classes);
    if (n_out > 1) out[1] = kni_cast_to(c, scores, KN_F32);
}
