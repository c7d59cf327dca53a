/* Einsum: the equation is read into labels, repeated labels of an operand become diagonals, and the operands are joined one after the
   other, as a product of matrices where something is summed. */
#include "onnx/convert/convert_numbers.h"
#include <string.h>

/* The axes of an ellipsis, counted so that the last one is label 7, then A-Z and a-z: an order that the standard's results have. */
enum { ELLIPSIS = KN_MAX_RANK, LETTERS = 26, LABELS = ELLIPSIS + 2 * LETTERS };

typedef struct term {
    int32_t labels[KN_MAX_RANK], n;
    kni_datum x;
} term;

typedef struct equation {
    kni_conversion *c;
    kn_dtype dtype;
    kni_extent sizes[LABELS];
    int32_t counts[LABELS]; /* how often a label stands among the operands */
    int32_t ellipsis;       /* axes of the longest one */
} equation;

static uint64_t bit(int32_t label) { return UINT64_C(1) << label; }

static uint64_t mask_of(const term *t)
{
    uint64_t mask = 0;
    for (int32_t i = 0; i < t->n; i++) mask |= bit(t->labels[i]);
    return mask;
}

/* ---- reading */

static int32_t label_of(char letter)
{
    if (letter >= 'A' && letter <= 'Z') return ELLIPSIS + (letter - 'A');
    return letter >= 'a' && letter <= 'z' ? ELLIPSIS + LETTERS + (letter - 'a') : -1;
}

static void add_label(equation *e, term *t, int32_t label)
{
    if (t->n < KN_MAX_RANK)
        t->labels[t->n++] = label;
    else
        kni_convert_fail(e->c, KN_ERROR_SHAPE, "the equation has more than %d labels for an operand",
                         KN_MAX_RANK);
}

/* The labels from `text` to `end`, of a tensor of `rank` axes; -1: the result, whose ellipsis is the longest one. */
static void read_term(equation *e, const char *text, const char *end, int32_t rank, term *t)
{
    int32_t letters = 0, dots = 0;
    for (const char *at = text; at < end; at++) letters += label_of(*at) >= 0;
    int32_t wide = rank < 0 ? e->ellipsis : rank - letters;
    t->n = 0;
    for (const char *at = text; at < end && !kni_convert_failed(e->c); at++) {
        if (*at == ' ') continue;
        if (label_of(*at) >= 0) {
            add_label(e, t, label_of(*at));
        } else if (end - at >= 3 && !memcmp(at, "...", 3) && dots++ == 0) {
            for (int32_t i = 0; i < wide && wide <= ELLIPSIS; i++) add_label(e, t, ELLIPSIS - wide + i);
            if (wide > e->ellipsis) e->ellipsis = wide;
            at += 2;
        } else {
            kni_convert_fail(e->c, KN_ERROR_ARGUMENT, "the equation has an unexpected '%c'", *at);
        }
    }
    if (rank >= 0 && t->n != rank && !kni_convert_failed(e->c))
        kni_convert_fail(e->c, KN_ERROR_SHAPE, "the equation has %d labels for an operand of %d axes", t->n,
                         rank);
}

static void note_sizes(equation *e, const term *t)
{
    kni_extent own[KN_MAX_RANK];
    kni_extents_of(e->c, t->x, own);
    for (int32_t i = 0; i < t->n && !kni_convert_failed(e->c); i++) {
        kni_extent *size = &e->sizes[t->labels[i]], both[KN_MAX_RANK];
        bool first = e->counts[t->labels[i]]++ == 0;
        if (!first) kni_broadcast_extents(e->c, size, 1, &own[i], 1, both);
        *size = first ? own[i] : both[0];
    }
}

/* Without an arrow: the axes of the ellipsis, then the labels that stand once, in their order. */
static void implied_result(equation *e, term *result)
{
    result->n = 0;
    for (int32_t label = ELLIPSIS - e->ellipsis; label < LABELS; label++)
        if (label < ELLIPSIS || e->counts[label] == 1) add_label(e, result, label);
}

static int32_t read_equation(equation *e, const char *text, const kni_datum *in, int32_t n_in, term *terms,
                             term *result)
{
    const char *arrow = strstr(text, "->"), *end = arrow ? arrow : text + strlen(text), *at = text;
    int32_t n = 0;
    for (; n < n_in && at <= end; n++) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *stop = comma ? comma : end;
        terms[n].x = in[n];
        read_term(e, at, stop, kni_rank_of(e->c, in[n]), &terms[n]);
        note_sizes(e, &terms[n]);
        at = stop + 1;
    }
    if (!kni_convert_failed(e->c) && (n != n_in || at <= end))
        kni_convert_fail(e->c, KN_ERROR_ARGUMENT,
                         "the equation '%s' does not have as many terms as there are operands (%d)", text,
                         n_in);
    if (arrow)
        read_term(e, arrow + 2, arrow + strlen(arrow), -1, result);
    else
        implied_result(e, result);
    uint64_t seen = 0;
    for (int32_t i = 0; i < result->n && !kni_convert_failed(e->c); i++) {
        int32_t label = result->labels[i];
        if (e->counts[label] == 0 || seen & bit(label))
            kni_convert_fail(e->c, KN_ERROR_ARGUMENT, "the equation '%s' has a label in the result that %s",
                             text, seen & bit(label) ? "stands there twice" : "no operand has");
        seen |= bit(label);
    }
    return kni_convert_failed(e->c) ? 0 : n;
}

/* ---- one operand */

/* Axes in the order of a list of labels, of which the operand has all. */
static kni_datum arranged(equation *e, const term *t, const int32_t *labels, int32_t n)
{
    int32_t axes[KN_MAX_RANK] = {0};
    for (int32_t i = 0; i < n; i++) {
        axes[i] = 0;
        while (axes[i] + 1 < t->n && t->labels[axes[i]] != labels[i]) axes[i]++;
    }
    return kni_permute_to(e->c, t->x, axes, n);
}

/* The diagonal of axes i and k, at the end: the two as one axis, every n + 1st element of which is taken. */
static void take_diagonal(equation *e, term *t, int32_t i, int32_t k)
{
    int32_t axes[KN_MAX_RANK], n = 0, label = t->labels[i];
    kni_extent sizes[KN_MAX_RANK], size = e->sizes[label];
    for (int32_t a = 0; a < t->n; a++)
        if (a != i && a != k) axes[n++] = a;
    axes[n] = i;
    axes[n + 1] = k;
    kni_datum x = kni_permute_to(e->c, t->x, axes, t->n);
    kni_extents_of(e->c, x, sizes);
    if (!kni_extent_same(sizes[n], sizes[n + 1]))
        kni_convert_fail(e->c, KN_ERROR_SHAPE,
                         "a label stands twice at an operand, for axes of different sizes");
    int64_t width = kni_extent_number(e->c, size, "the size of a repeated label");
    sizes[n] = kni_extent_mul(e->c, sizes[n], sizes[n + 1]);
    x = kni_reshape_to(e->c, x, sizes, n + 1);
    t->x = kni_stepped_slice(e->c, x, n, KNI_EXTENT(0), sizes[n], width + 1);
    for (int32_t a = 0; a < n; a++) axes[a] = t->labels[axes[a]];
    memcpy(t->labels, axes, (size_t)n * sizeof *axes);
    t->labels[n] = label;
    t->n = n + 1;
}

static void take_diagonals(equation *e, term *t)
{
    for (int32_t i = 0; i < t->n; i++)
        for (int32_t k = i + 1; k < t->n && !kni_convert_failed(e->c); k++)
            if (t->labels[i] == t->labels[k]) {
                take_diagonal(e, t, i, k);
                i = -1;
                break;
            }
}

/* Sums over labels that nothing needs any more. */
static void sum_out(equation *e, term *t, uint64_t needed)
{
    int32_t axes[KN_MAX_RANK], n = 0, left = 0;
    for (int32_t i = 0; i < t->n; i++)
        if (needed & bit(t->labels[i]))
            t->labels[left++] = t->labels[i];
        else
            axes[n++] = i;
    if (n > 0) t->x = kni_cast_to(e->c, kni_reduce_over(e->c, "sum", t->x, axes, n, false), e->dtype);
    t->n = left;
}

/* ---- two operands */

static int32_t list_of(const term *t, uint64_t mask, int32_t *labels)
{
    int32_t n = 0;
    for (int32_t i = 0; i < t->n; i++)
        if (mask & bit(t->labels[i])) labels[n++] = t->labels[i];
    return n;
}

static kni_extent product_of(equation *e, const int32_t *labels, int32_t n)
{
    kni_extent sizes[KN_MAX_RANK];
    for (int32_t i = 0; i < n; i++) sizes[i] = e->sizes[labels[i]];
    return kni_extent_product(e->c, sizes, n);
}

/* x arranged as three groups of labels, each of which is one axis then; without labels in the first group there are two axes. */
static kni_datum as_matrices(equation *e, const term *t, int32_t *const lists[3], const int32_t counts[3])
{
    int32_t all[KN_MAX_RANK], n = 0;
    kni_extent sizes[KN_MAX_RANK], groups[3];
    for (int g = 0; g < 3; g++) {
        for (int32_t i = 0; i < counts[g] && n < KN_MAX_RANK; i++) all[n++] = lists[g][i];
        groups[g] = product_of(e, lists[g], counts[g]);
    }
    for (int32_t i = 0; i < n; i++) sizes[i] = e->sizes[all[i]];
    kni_datum x = kni_expand_to(e->c, arranged(e, t, all, n), sizes, n);
    return counts[0] > 0 ? kni_reshape_to(e->c, x, groups, 3) : kni_reshape_to(e->c, x, groups + 1, 2);
}

/* x with axes of size 1 where it does not have a label. */
static kni_datum spread(equation *e, const term *t, const int32_t *labels, int32_t n)
{
    int32_t own[KN_MAX_RANK] = {0}, n_own = 0, at = 0;
    kni_extent sizes[KN_MAX_RANK], now[KN_MAX_RANK];
    uint64_t mask = mask_of(t);
    for (int32_t i = 0; i < n; i++)
        if (mask & bit(labels[i])) own[n_own++] = labels[i];
    kni_datum x = arranged(e, t, own, n_own);
    kni_extents_of(e->c, x, now);
    for (int32_t i = 0; i < n; i++) sizes[i] = mask & bit(labels[i]) ? now[at++] : KNI_EXTENT(1);
    return kni_reshape_to(e->c, x, sizes, n);
}

static void join(equation *e, term *left, term *right, uint64_t needed)
{
    uint64_t l = mask_of(left), r = mask_of(right);
    sum_out(e, left, r | needed);
    sum_out(e, right, l | needed);
    l = mask_of(left);
    r = mask_of(right);
    int32_t batch[KN_MAX_RANK], rows[KN_MAX_RANK], columns[KN_MAX_RANK], inner[KN_MAX_RANK];
    int32_t n_batch = list_of(left, r & needed, batch), n_rows = list_of(left, ~r, rows),
            n_columns = list_of(right, ~l, columns), n_inner = list_of(left, r & ~needed, inner);
    term y = {.n = n_batch + n_rows + n_columns};
    if (y.n > KN_MAX_RANK) {
        kni_convert_fail(e->c, KN_ERROR_UNSUPPORTED, "a step of the equation has %d axes; at most %d", y.n,
                         KN_MAX_RANK);
        return;
    }
    memcpy(y.labels, batch, (size_t)n_batch * sizeof *batch);
    memcpy(y.labels + n_batch, rows, (size_t)n_rows * sizeof *rows);
    memcpy(y.labels + n_batch + n_rows, columns, (size_t)n_columns * sizeof *columns);
    if (n_inner == 0) {
        y.x = kni_emit2(e->c, "mul", spread(e, left, y.labels, y.n), spread(e, right, y.labels, y.n));
    } else {
        kni_extent sizes[KN_MAX_RANK];
        kni_datum a = as_matrices(e, left, (int32_t *const[]){batch, rows, inner},
                                  (int32_t[]){n_batch, n_rows, n_inner});
        kni_datum b = as_matrices(e, right, (int32_t *const[]){batch, inner, columns},
                                  (int32_t[]){n_batch, n_inner, n_columns});
        for (int32_t i = 0; i < y.n; i++) sizes[i] = e->sizes[y.labels[i]];
        y.x = kni_reshape_to(e->c, kni_emit2(e->c, "matmul", a, b), sizes, y.n);
    }
    *left = y;
}

void kni_convert_einsum(KNI_CONVERTS)
{
    (void)n_out;
    equation e = {.c = c, .dtype = kni_dtype_of(c, in[0])};
    term result = {.n = 0}, *terms = kni_convert_memory(c, (size_t)n_in + 1, sizeof *terms);
    int32_t n = terms ? read_equation(&e, kni_node_text(node, "equation", ""), in, n_in, terms, &result) : 0;
    if (n == 0) return;
    for (int32_t i = 0; i < n; i++) take_diagonals(&e, &terms[i]);
    for (int32_t i = 1; i < n && !kni_convert_failed(c); i++) {
        uint64_t needed = mask_of(&result);
        for (int32_t k = i + 1; k < n; k++) needed |= mask_of(&terms[k]);
        join(&e, &terms[0], &terms[i], needed);
    }
    sum_out(&e, &terms[0], mask_of(&result));
    if (!kni_convert_failed(c)) out[0] = arranged(&e, &terms[0], result.labels, result.n);
}
