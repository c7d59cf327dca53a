/* Support vector machines of ai.onnx.ml: kernels as matrix products, classes by votes of pairs, probabilities by pairwise coupling. */
#include "onnx/convert/learning.h"
#include <string.h>

typedef struct machine {
    kn_dtype dtype;
    kni_datum x;           /* [N, F] */
    const double *vectors; /* [count, F] */
    int64_t count, width;
    const double *weights, *offsets; /* coefficients and rho */
    int64_t n_weights, n_offsets;
    const char *kernel;
    double gamma, shift, degree;
} machine;

/* count 0: a linear model, whose coefficients are the vectors. */
static bool read_machine(kni_conversion *c, const kni_onnx_node *node, kni_datum x, int64_t count, machine *m)
{
    int64_t n_vectors = 0, n_params = 0;
    const double *params = kni_learning_list(c, node, "kernel_params", &n_params, NULL);
    m->dtype = kni_learning_dtype(c, x);
    m->x = kni_learning_rows(c, x, m->dtype);
    m->vectors = kni_learning_list(c, node, "support_vectors", &n_vectors, NULL);
    m->weights = kni_learning_list(c, node, "coefficients", &m->n_weights, NULL);
    m->offsets = kni_learning_list(c, node, "rho", &m->n_offsets, NULL);
    m->kernel = count ? kni_node_text(node, "kernel_type", "LINEAR") : "LINEAR";
    m->count = count;
    m->width = count ? n_vectors / count : 0;
    if (n_params > 2) m->gamma = params[0], m->shift = params[1], m->degree = params[2];
    if (kni_convert_failed(c)) return false;
    bool good = m->n_weights > 0 && m->n_offsets > 0 && (!count || (m->width > 0 && n_vectors % count == 0));
    if (!good)
        kni_convert_fail(c, KN_ERROR_ARGUMENT,
                         "its coefficients, rho and support vectors do not fit each other");
    return good;
}

/* exp(-gamma |x - v|^2) from products. Both are moved so that the vectors' mean is 0: then little is lost where squares are subtracted. */
static kni_datum radial(kni_conversion *c, const machine *m)
{
    const int32_t axis = 1;
    double *centre = kni_convert_memory(c, (size_t)m->width, sizeof *centre);
    double *moved = kni_convert_memory(c, (size_t)(m->count * m->width), sizeof *moved);
    double *squares = kni_convert_memory(c, (size_t)m->count, sizeof *squares);
    if (!centre || !moved || !squares) return KNI_ABSENT;
    for (int64_t i = 0; i < m->count * m->width; i++)
        centre[i % m->width] += m->vectors[i] / (double)m->count;
    for (int64_t i = 0; i < m->count * m->width; i++) {
        moved[i] = m->vectors[i] - centre[i % m->width];
        squares[i / m->width] += moved[i] * moved[i];
    }
    kni_datum v = kni_learning_reals(c, moved, (int64_t[]){m->count, m->width}, 2, m->dtype);
    kni_datum x = kni_emit2(c, "sub", m->x, kni_learning_reals(c, centre, &m->width, 1, m->dtype));
    kni_datum own = kni_reduce_over(c, "sum", kni_emit1(c, "square", x), &axis, 1, true);
    kni_datum apart = kni_emit2(c, "add", own, kni_learning_reals(c, squares, &m->count, 1, m->dtype));
    kni_datum twice = kni_emit2(c, "mul", kni_emit2(c, "linear", x, v), kni_real_number(c, 2, m->dtype));
    apart = kni_emit2(c, "clamp_min", kni_emit2(c, "sub", apart, twice), kni_real_number(c, 0, m->dtype));
    return kni_emit1(c, "exp", kni_emit2(c, "mul", apart, kni_real_number(c, -m->gamma, m->dtype)));
}

/* The kernel of each row with each vector: [N, count]. */
static kni_datum kernels(kni_conversion *c, const machine *m)
{
    if (!strcmp(m->kernel, "RBF")) return radial(c, m);
    kni_datum v = kni_learning_reals(c, m->vectors, (int64_t[]){m->count, m->width}, 2, m->dtype);
    kni_datum y = kni_emit2(c, "linear", m->x, v);
    if (!strcmp(m->kernel, "LINEAR")) return y;
    kni_datum gamma = kni_real_number(c, m->gamma, m->dtype), shift = kni_real_number(c, m->shift, m->dtype);
    y = kni_emit2(c, "add", kni_emit2(c, "mul", y, gamma), shift);
    if (!strcmp(m->kernel, "SIGMOID")) return kni_emit1(c, "tanh", y);
    if (!strcmp(m->kernel, "POLY"))
        return kni_emit2(c, "pow", y, kni_real_number(c, (double)(int64_t)m->degree, m->dtype));
    kni_convert_fail(c, KN_ERROR_ARGUMENT, "there is no kernel_type '%s'", m->kernel);
    return KNI_ABSENT;
}

/* x w' + b: rows of weights, and an offset for each, or the first for all. */
static kni_datum linear(kni_conversion *c, const machine *m, kni_datum x, const double *weights, int64_t rows,
                        int64_t columns, bool one_offset)
{
    kni_datum w = kni_learning_reals(c, weights, (int64_t[]){rows, columns}, 2, m->dtype);
    kni_datum b = one_offset ? kni_real_number(c, m->offsets[0], m->dtype)
                             : kni_learning_reals(c, m->offsets, &rows, 1, m->dtype);
    return kni_emit2(c, "add", kni_emit2(c, "linear", x, w), b);
}

void kni_convert_svm_regressor(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                               int32_t n_in, kni_datum *out, int32_t n_out)
{
    (void)n_in, (void)n_out;
    machine m = {0};
    int64_t count = kni_node_int(node, "n_supports", 0);
    if (!read_machine(c, node, in[0], count > 0 ? count : 0, &m)) return;
    if (m.count && m.n_weights != m.count) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "it needs a coefficient for each of its %lld support vectors",
                         (long long)m.count);
        return;
    }
    kni_datum y = linear(c, &m, m.count ? kernels(c, &m) : m.x, m.weights, 1, m.n_weights, true);
    if (kni_node_int(node, "one_class", 0)) {
        kni_datum inside = kni_emit2(c, "greater", y, kni_real_number(c, 0, m.dtype));
        y = kni_emit3(c, "where", inside, kni_real_number(c, 1, m.dtype), kni_real_number(c, -1, m.dtype));
    }
    y = kni_learning_post(c, y, 1, kni_node_text(node, "post_transform", "NONE"));
    out[0] = kni_cast_to(c, y, KN_F32);
}

/* ---- classes by votes */

typedef struct votes {
    int64_t classes, pairs;
    const int64_t *per_class; /* vectors of each class */
} votes;

/* Row p of the weights belongs to the pair (i, j): those of class i with the coefficients against j, and the other way round. */
static kni_datum pair_scores(kni_conversion *c, const machine *m, const votes *v)
{
    double *weights = kni_convert_memory(c, (size_t)v->pairs, (size_t)m->count * sizeof *weights),
           *row = weights;
    int64_t begin_i = 0;
    for (int64_t i = 0; weights && i < v->classes; begin_i += v->per_class[i++]) {
        int64_t begin_j = begin_i + v->per_class[i];
        for (int64_t j = i + 1; j < v->classes; begin_j += v->per_class[j++], row += m->count) {
            for (int64_t k = begin_i; k < begin_i + v->per_class[i]; k++)
                row[k] = m->weights[(j - 1) * m->count + k];
            for (int64_t k = begin_j; k < begin_j + v->per_class[j]; k++)
                row[k] = m->weights[i * m->count + k];
        }
    }
    return weights ? linear(c, m, kernels(c, m), weights, v->pairs, m->count, false) : KNI_ABSENT;
}

/* Each pair gives a vote, to its first class where its score is above 0. */
static kni_datum count_votes(kni_conversion *c, const machine *m, const votes *v, kni_datum scores)
{
    size_t n = (size_t)(v->classes * v->pairs);
    double *change = kni_convert_memory(c, n, sizeof *change);
    double *start = kni_convert_memory(c, (size_t)v->classes, sizeof *start);
    int64_t p = 0;
    for (int64_t i = 0; change && start && i < v->classes; i++)
        for (int64_t j = i + 1; j < v->classes; j++, p++) {
            change[i * v->pairs + p] = 1;
            change[j * v->pairs + p] = -1;
            start[j]++;
        }
    if (!change || !start) return KNI_ABSENT;
    kni_datum won = kni_emit2(c, "greater", scores, kni_real_number(c, 0, m->dtype));
    kni_datum w = kni_learning_reals(c, change, (int64_t[]){v->classes, v->pairs}, 2, m->dtype);
    kni_datum y = kni_emit2(c, "linear", kni_cast_to(c, won, m->dtype), w);
    return kni_emit2(c, "add", y, kni_learning_reals(c, start, &v->classes, 1, m->dtype));
}

/* ---- probabilities: p minimises the sum over pairs of (r[j, i] p[i] - r[i, j] p[j])^2 (Wu, Lin, Weng 2004, the second way) */

enum { LEAST_ROUNDS = 100 };

/* The iteration of LIBSVM with its end, since what it leaves undone shows in the third digit. q: [n, n]. */
static void couple(int64_t n, const double *q, double *p, double *qp)
{
    int64_t rounds = n > LEAST_ROUNDS ? n : LEAST_ROUNDS;
    for (int64_t i = 0; i < n; i++) p[i] = 1 / (double)n;
    for (int64_t round = 0; round < rounds; round++) {
        double whole = 0, worst = 0;
        for (int64_t i = 0; i < n; i++) {
            qp[i] = 0;
            for (int64_t j = 0; j < n; j++) qp[i] += q[i * n + j] * p[j];
            whole += p[i] * qp[i];
        }
        for (int64_t i = 0; i < n; i++) {
            double error = qp[i] < whole ? whole - qp[i] : qp[i] - whole;
            if (error > worst) worst = error;
        }
        if (worst < 0.005 / (double)n) return;
        for (int64_t i = 0; i < n; i++) {
            double step = (whole - qp[i]) / q[i * n + i];
            p[i] += step;
            whole = (whole + step * (step * q[i * n + i] + 2 * qp[i])) / (1 + step) / (1 + step);
            for (int64_t j = 0; j < n; j++) {
                qp[j] = (qp[j] + step * q[i * n + j]) / (1 + step);
                p[j] /= 1 + step;
            }
        }
    }
}

/* q of one row, whose pairs have the probabilities r. */
static void coupling_matrix(int64_t n, const double *r, double *q)
{
    memset(q, 0, (size_t)(n * n) * sizeof *q);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++, r++) {
            q[i * n + i] += (1 - *r) * (1 - *r);
            q[j * n + j] += *r * *r;
            q[i * n + j] = q[j * n + i] = -*r * (1 - *r);
        }
}

static kni_datum coupled_now(kni_conversion *c, const machine *m, const votes *v, kni_datum pairs)
{
    int64_t count = 0, n = v->classes;
    const double *r = kni_known_reals(c, pairs, "the probabilities of pairs", &count);
    int64_t rows = v->pairs ? count / v->pairs : 0;
    double *p = kni_convert_memory(c, (size_t)rows, (size_t)n * sizeof *p);
    double *q = kni_convert_memory(c, (size_t)n, (size_t)(n + 1) * sizeof *q);
    if (!r || !p || !q) return KNI_ABSENT;
    for (int64_t i = 0; i < rows; i++) {
        coupling_matrix(n, r + i * v->pairs, q);
        couple(n, q, p + i * n, q + n * n);
    }
    return kni_learning_reals(c, p, (int64_t[]){rows, n}, 2, m->dtype);
}

/* The exact minimum: p is proportional to z of (q + 1) z = 1. */
static kni_datum coupled_exactly(kni_conversion *c, const machine *m, const votes *v, kni_datum pairs)
{
    int64_t n = v->classes, p = 0;
    int64_t *places = kni_convert_memory(c, (size_t)n, (size_t)n * sizeof *places);
    if (!places) return KNI_ABSENT;
    for (int64_t i = 0; i < n; i++) {
        places[i * n + i] = 2 * v->pairs;
        for (int64_t j = i + 1; j < n; j++, p++) places[i * n + j] = p, places[j * n + i] = v->pairs + p;
    }
    const int32_t last = 2, rows_axis = 1;
    kni_extent rows = kni_extent_of(c, pairs, 0), one = KNI_EXTENT(1);
    kni_datum others = kni_emit2(c, "sub", kni_real_number(c, 1, m->dtype), pairs);
    kni_datum none = kni_filled(c, 0, m->dtype, (kni_extent[]){rows, one}, 2);
    kni_datum all = kni_concat_of(c, (kni_datum[]){pairs, others, none}, 3, 1);
    kni_datum index = kni_learning_wholes(c, places, (int64_t[]){n, n}, 2);
    kni_datum r = kni_emit(c, "take", KNI_LIST(all, index), KNI_GIVE(KNI_WHOLE("axis", 1)));
    kni_datum t = kni_swap_axes(c, r, 1, 2);
    kni_datum sums = kni_reduce_over(c, "sum", kni_emit1(c, "square", t), &last, 1, true);
    double *eye = kni_convert_memory(c, (size_t)n, (size_t)n * sizeof *eye);
    for (int64_t i = 0; eye && i < n; i++) eye[i * n + i] = 1;
    if (!eye) return KNI_ABSENT;
    kni_datum diagonal =
        kni_emit2(c, "mul", sums, kni_learning_reals(c, eye, (int64_t[]){n, n}, 2, m->dtype));
    kni_datum q = kni_emit2(c, "sub", diagonal, kni_emit2(c, "mul", r, t));
    q = kni_emit2(c, "add", q, kni_real_number(c, 1, m->dtype));
    kni_datum right = kni_filled(c, 1, m->dtype, (kni_extent[]){rows, KNI_EXTENT(n), one}, 3);
    kni_datum z = kni_squeeze_at(c, kni_emit2(c, "solve", q, right), 2);
    return kni_emit2(c, "div", z, kni_reduce_over(c, "sum", z, &rows_axis, 1, true));
}

/* sigmoid(-(a s + b)) of each pair, kept from 0 and 1. */
static kni_datum probabilities(kni_conversion *c, const machine *m, const votes *v, const double *a,
                               const double *b, kni_datum scores)
{
    kni_datum z = kni_emit2(c, "mul", scores, kni_learning_reals(c, a, &v->pairs, 1, m->dtype));
    z = kni_emit2(c, "add", z, kni_learning_reals(c, b, &v->pairs, 1, m->dtype));
    z = kni_emit1(c, "sigmoid", kni_emit1(c, "neg", z));
    z = kni_emit3(c, "clamp", z, kni_real_number(c, 1e-7, m->dtype), kni_real_number(c, 1 - 1e-7, m->dtype));
    return kni_converts_now(c) ? coupled_now(c, m, v, z) : coupled_exactly(c, m, v, z);
}

static void classify_by_votes(kni_conversion *c, const kni_onnx_node *node, const machine *m, const votes *v,
                              const kni_learning_labels *labels, kni_datum *out, int32_t n_out)
{
    int64_t n_a = 0, n_b = 0, n_scores = v->pairs;
    const double *a = kni_learning_list(c, node, "prob_a", &n_a, NULL);
    const double *b = kni_learning_list(c, node, "prob_b", &n_b, NULL);
    const char *post = kni_node_text(node, "post_transform", "NONE");
    bool sure = n_a > 0;
    if (m->n_offsets < v->pairs || m->n_weights < (v->classes - 1) * m->count ||
        (sure && (n_a < v->pairs || n_b < v->pairs))) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "%lld classes need %lld numbers in rho, prob_a and prob_b",
                         (long long)v->classes, (long long)v->pairs);
        return;
    }
    kni_datum scores = pair_scores(c, m, v);
    out[0] = kni_learning_label(c, node, labels, kni_learning_best(c, count_votes(c, m, v, scores)));
    if (n_out < 2) return;
    if (sure) {
        scores = probabilities(c, m, v, a, b, scores);
        n_scores = v->classes;
    }
    scores = n_scores == 1 ? kni_learning_two(c, scores, strcmp(post, "NONE") != 0, post)
                           : kni_learning_post(c, scores, n_scores, post);
    out[1] = kni_cast_to(c, scores, KN_F32);
}

void kni_convert_svm_classifier(kni_conversion *c, const kni_onnx_node *node, const kni_datum *in,
                                int32_t n_in, kni_datum *out, int32_t n_out)
{
    (void)n_in;
    machine m = {0};
    votes v = {0};
    int64_t n = 0, count = 0;
    kni_learning_labels labels = kni_learning_labels_of(node, "classlabels_ints");
    v.per_class = kni_node_ints(node, "vectors_per_class", &n);
    for (int64_t i = 0; i < n; i++) {
        bool good = v.per_class[i] >= 0 && v.per_class[i] < INT32_MAX && count < INT32_MAX;
        if (!good) kni_convert_fail(c, KN_ERROR_ARGUMENT, "vectors_per_class must be numbers from 0");
        count += good ? v.per_class[i] : 0;
    }
    v.classes = labels.count > 0 ? labels.count : 1;
    v.pairs = v.classes * (v.classes - 1) / 2;
    if (v.classes > 10000 || (count && (n != v.classes || n < 2)))
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "its %lld classes need as many labels, and at least two",
                         (long long)n);
    if (kni_convert_failed(c) || !read_machine(c, node, in[0], count, &m)) return;
    if (count) {
        classify_by_votes(c, node, &m, &v, &labels, out, n_out);
        return;
    }
    if (m.n_weights % v.classes) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT, "its coefficients do not fit %lld classes",
                         (long long)v.classes);
        return;
    }
    kni_datum scores = linear(c, &m, m.x, m.weights, v.classes, m.n_weights / v.classes, true);
    out[0] = kni_learning_label(c, node, &labels, kni_learning_best(c, scores));
    scores = kni_learning_post(c, scores, v.classes, kni_node_text(node, "post_transform", "NONE"));
    if (n_out > 1) out[1] = kni_cast_to(c, scores, KN_F32);
}
