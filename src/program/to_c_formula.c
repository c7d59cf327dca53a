/* The numbers that kernels and views are called with as formulas of the sizes. A row says its numbers for sizes that are known (launch and view
   functions compute with int64_t), so a formula is looked for that gives the same at all points. */
#include "core/allocator.h"
#include "core/error.h"
#include "core/text.h"
#include "ops/size_attributes.h"
#include "program/to_c.h"
#include <string.h>

static void print_term(kni_ir_text *t, int64_t factor, kn_dim d)
{
    if (kni_dim_is_constant(d)) {
        bool lowest = factor * d == INT64_MIN; /* C has no such number */
        kni_ir_text_add(t, lowest ? "(-9223372036854775807LL - 1)" : "%lld", (long long)(factor * d));
        return;
    }
    if (factor != 1) kni_ir_text_add(t, "%lld * ", (long long)factor);
    kni_c_dim(t, d);
}

void kni_c_formula_text(kni_ir_text *t, const kni_c_formula *f)
{
    if (f->n > 1) kni_ir_text_add(t, "(");
    for (int32_t i = 0; i < f->n; i++) {
        const kni_c_piece *piece = &f->pieces[i];
        if (i < f->n - 1) {
            kni_c_dim(t, piece->where_one);
            kni_ir_text_add(t, " == 1 ? ");
        }
        print_term(t, piece->a, piece->p);
        if (piece->b) {
            kni_ir_text_add(t, " + ");
            print_term(t, piece->b, piece->q);
        }
        if (i < f->n - 1) kni_ir_text_add(t, " : ");
    }
    if (f->n > 1) kni_ir_text_add(t, ")");
}

/* Sizes of axes come first. */
typedef struct candidates {
    kn_dim dims[KNI_C_CANDIDATES];
    int32_t n, n_axes;
} candidates;

static void add_candidate(candidates *k, kn_dim d)
{
    if (!kni_dim_is_expression(d) || k->n == KNI_C_CANDIDATES) return;
    for (int32_t i = 0; i < k->n; i++)
        if (k->dims[i] == d) return;
    k->dims[k->n++] = d;
}

/* Sizes, and products of sizes that stand side by side, longest first: strides, counts and lengths of lines are such. */
static void find_candidates(const kni_c *c, const kni_program_node *n, candidates *k)
{
    const int32_t *all = kni_node_out(c->p, n);
    k->n = 0;
    for (int32_t i = 0; i < n->n_out + n->n_in; i++) {
        const kni_type *t = all[i] < 0 ? NULL : &c->p->values[all[i]].type;
        for (int a = 0; t && a < t->rank; a++) add_candidate(k, t->dims[a]);
    }
    k->n_axes = k->n;
    for (int32_t i = 0; i < n->n_out + n->n_in; i++) {
        const kni_type *t = all[i] < 0 ? NULL : &c->p->values[all[i]].type;
        for (int first = 0; t && first < t->rank; first++)
            for (int last = t->rank; last > first; last--) add_candidate(k, kni_c_product(t, first, last));
    }
    const char *place = kni_node_attributes(c->p, n);
    for (const kn_attribute *a = n->row->schema; a && a->name; a++) {
        kn_ints list = kni_whole_numbers(a, place);
        for (int32_t i = 0; i < list.rank && i < KN_MAX_RANK; i++) add_candidate(k, list.dims[i]);
    }
    for (int32_t i = 0; i < c->run.n_sizes; i++) add_candidate(k, c->run.symbols[i]);
    kn_dim more[KN_MAX_RANK + 1];
    const kni_type *x =
        n->n_in && kni_node_in(c->p, n)[0] >= 0 ? &c->p->values[kni_node_in(c->p, n)[0]].type : NULL;
    int32_t m = x ? kni_sizes_beside(n->row, place, x, more) : 0;
    for (int32_t i = 0; i < m; i++) add_candidate(k, more[i]);
}

/* What is known at the points: numbers in the columns of v, candidates in those of d. */
typedef struct table {
    int64_t *v, *d;
    int32_t points, numbers;
    bool views; /* the numbers are strides and an offset */
    candidates k;
    /* What is looked at: the points where the sizes at these candidates are not 1, but for the last one, which is where `ones` is set. */
    int32_t splits[KNI_C_PIECES], n_splits;
    bool ones;
    int32_t least; /* points that a piece needs */
} table;

/* Where views keep which of their numbers may be anything: the stride of an axis of one element is never taken. */
enum { FREE = KNI_C_NUMBERS - 1 };

static int64_t number_at(const table *t, int32_t point, int32_t number)
{
    return t->v[(size_t)point * KNI_C_NUMBERS + (size_t)number];
}

static bool is_free(const table *t, int32_t point, int32_t number)
{
    return t->views && number < KN_MAX_RANK && number_at(t, point, FREE) >> number & 1;
}

/* Candidate -1 is 1. */
static int64_t size_at(const table *t, int32_t point, int32_t candidate)
{
    return candidate < 0 ? 1 : t->d[(size_t)point * KNI_C_CANDIDATES + (size_t)candidate];
}

/* Whether an earlier piece of the formula, or none but another one, says the number at this point. */
static bool is_elsewhere(const table *t, int32_t point)
{
    for (int32_t i = 0; i < t->n_splits; i++)
        if ((size_at(t, point, t->splits[i]) == 1) != (t->ones && i == t->n_splits - 1)) return true;
    return false;
}

/* The first point from `from` on where the number matters; t->points: there is none. */
static int32_t next_point(const table *t, int32_t number, int32_t from)
{
    while (from < t->points && (is_free(t, from, number) || is_elsewhere(t, from))) from++;
    return from;
}

static bool holds(const table *t, int32_t number, int64_t a, int32_t p, int64_t b, int32_t q)
{
    for (int32_t i = next_point(t, number, 0); i < t->points; i = next_point(t, number, i + 1)) {
        uint64_t y = (uint64_t)a * (uint64_t)size_at(t, i, p) + (uint64_t)b * (uint64_t)size_at(t, i, q);
        if ((int64_t)y != number_at(t, i, number)) return false;
    }
    return true;
}

/* a d - b c; false where it is too large. */
static bool determinant(int64_t a, int64_t b, int64_t c, int64_t d, int64_t *y)
{
    int64_t x;
    return !__builtin_mul_overflow(a, d, y) && !__builtin_mul_overflow(b, c, &x) &&
           !__builtin_sub_overflow(*y, x, y);
}

/* a p + b q through the first two points that say what a and b are. */
static bool solve(const table *t, int32_t number, int32_t p, int32_t q, int64_t *a, int64_t *b)
{
    int32_t first = next_point(t, number, 0);
    if (first == t->points) return false;
    int64_t p0 = size_at(t, first, p), q0 = size_at(t, first, q), v0 = number_at(t, first, number);
    for (int32_t i = next_point(t, number, first + 1); i < t->points; i = next_point(t, number, i + 1)) {
        int64_t p1 = size_at(t, i, p), q1 = size_at(t, i, q), v1 = number_at(t, i, number), all, x, y;
        if (!determinant(p0, q0, p1, q1, &all) || !all || !determinant(v0, q0, v1, q1, &x) ||
            !determinant(p0, v0, p1, v1, &y))
            continue;
        if (all == -1 || x % all || y % all) {
            if (all != -1) return false;
            x = -x, y = -y, all = 1;
        }
        *a = x / all;
        *b = y / all;
        return holds(t, number, *a, p, *b, q);
    }
    return false;
}

/* Whether enough points tell what a piece of a formula is: one that few points were drawn for may hold there by chance. */
static bool is_supported(const table *t, int32_t number)
{
    int32_t n = 0;
    for (int32_t i = next_point(t, number, 0); i < t->points && n < t->least;
         i = next_point(t, number, i + 1))
        n++;
    return n >= t->least;
}

/* One term or two that give the number wherever no other piece does. */
static bool find_piece(const table *t, int32_t number, kni_c_piece *f)
{
    int64_t a, b;
    int32_t first = next_point(t, number, 0);
    if (t->n_splits && !is_supported(t, number)) return false;
    *f = (kni_c_piece){.a = first < t->points ? number_at(t, first, number) : 0, .p = 1, .q = 1};
    if (holds(t, number, f->a, -1, 0, -1)) return true;
    for (int32_t q = -1; q < t->k.n; q++)
        for (int32_t p = 0; p < t->k.n; p++) {
            if (p == q || !solve(t, number, p, q, &a, &b)) continue;
            *f = (kni_c_piece){.a = a, .b = b, .p = t->k.dims[p], .q = q < 0 ? 1 : t->k.dims[q]};
            return true;
        }
    return false;
}

/* Rows give an axis of one element another stride than a longer one, because it may be met again and again: so a number that follows no single
   rule may follow one where a size is 1 and another where it is not. */
static bool find_formula(table *t, int32_t number, kni_c_formula *f)
{
    kni_c_piece *piece = &f->pieces[f->n];
    if (find_piece(t, number, piece)) {
        f->n++;
        return true;
    }
    if (f->n == KNI_C_PIECES - 1) return false;
    const int32_t n_splits = t->n_splits++;
    for (int32_t k = 0; k < t->k.n_axes; k++) {
        if (kni_dim_low(t->k.dims[k]) > 1) continue;
        t->splits[n_splits] = k;
        t->ones = true;
        bool found = find_piece(t, number, piece);
        t->ones = false;
        piece->where_one = t->k.dims[k];
        f->n++;
        if (found && find_formula(t, number, f)) break;
        f->n = n_splits;
    }
    t->n_splits = n_splits;
    return f->n > n_splits;
}

static void note_free(const kni_type *y, int64_t *numbers)
{
    numbers[FREE] = 0;
    for (int a = 0; a < y->rank; a++)
        if (y->dims[a] == 1) numbers[FREE] |= (int64_t)1 << a;
}

static kn_status fill_table(kni_c *c, const kni_program_node *n, kni_c_numbers at, void *context, table *t,
                            kni_c_bound *bound)
{
    kn_status s = KN_OK;
    bool any = false;
    t->points = 0;
    t->numbers = -1;
    for (int32_t i = 0; i < c->n_points && s == KN_OK; i++) {
        int64_t *numbers = t->v + (size_t)t->points * KNI_C_NUMBERS;
        int32_t count = 0;
        kni_c_go_to(c, i);
        s = kni_c_bind(c, n, bound);
        if (s == KN_OK && !bound->possible) continue;
        any |= s == KN_OK;
        if (s == KN_OK) s = at(context, numbers, &count);
        if (s == KN_OK && count < 0) continue;
        if (s == KN_OK && t->points && count != t->numbers)
            s = kni_fail_op(KN_ERROR_UNSUPPORTED, n->row->name, "how it is computed depends on the sizes");
        t->numbers = count;
        if (t->views) note_free(bound->out[0], numbers);
        for (int32_t k = 0; k < t->k.n; k++) {
            int64_t *size = &t->d[(size_t)t->points * KNI_C_CANDIDATES + (size_t)k];
            if (!kni_run_whole(&c->run, t->k.dims[k], size)) *size = -1;
        }
        t->points++;
    }
    if (s == KN_OK && !any)
        s = kni_fail_op(KN_ERROR_SHAPE, n->row->name, "no sizes within their bounds fit it");
    return s;
}

/* What number it is: of a view a stride or the offset, of a kernel the items, a parameter or a temporary. */
static kn_status no_formula(const table *t, const kni_program_node *n, int32_t number)
{
    char what[80] = "";
    kni_text text = {what, sizeof what, 0};
    if (t->views && number < t->numbers - 1)
        kni_text_format(&text, "the stride of axis %d of its result", number);
    else if (t->views)
        kni_text_string(&text, "the place in its operand where its result begins");
    else if (number == 0)
        kni_text_string(&text, "how many elements it computes");
    else
        kni_text_format(&text, "parameter or temporary %d of its kernel", number - 1);
    return kni_fail_op(
        KN_ERROR_UNSUPPORTED, n->row->name,
        "%s does not follow from the sizes as a p + b q does, with products p and q of sizes, so "
        "that C cannot be written for it: give the sizes narrower bounds, or write numbers",
        what);
}

kn_status kni_c_fit(kni_c *c, const kni_program_node *n, kni_c_numbers at, void *context,
                    kni_c_formula *formulas, int32_t *count)
{
    enum { LEAST = 8 };
    table t = {
        .v = c->numbers, .d = c->sizes, .views = n->row->view != NULL, .least = c->every_point ? 1 : LEAST};
    find_candidates(c, n, &t.k);
    kni_c_bound *bound = context; /* every context begins with one */
    kn_status s = fill_table(c, n, at, context, &t, bound);
    *count = s ? 0 : t.numbers;
    for (int32_t i = 0; i < *count && s == KN_OK; i++) {
        formulas[i].n = 0;
        if (!find_formula(&t, i, &formulas[i])) s = no_formula(&t, n, i);
    }
    return s;
}
