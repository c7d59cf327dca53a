/* What a program gives, and how two devices' results are compared: bit for bit, or within a bound for each element that
   comes from runs of the same program under noise (program_noise.h) and on the reference.

   The bound of an element is four times the largest deviation that noise made. So it follows the tolerances of all rows
   that lead to the element and how the program magnifies them; a comparison, a rounding or a sort whose outcome hangs on
   the last bits shows as the jump that it is, at the elements that it reaches and nowhere else, and where no run with
   noise moved an element it must be equal. A result out of bounds gets many more runs with noise before it counts as wrong.
   How many elements had narrow bounds is counted: a bound as wide as the value shows nothing. */
#ifndef PROGRAM_BOUNDS_H
#define PROGRAM_BOUNDS_H

#include "core/dtype.h"
#include "program_maker.h"
#include <math.h>

typedef struct result {
    unsigned char *data[MOST + LEAVES];
    double *wide[MOST + LEAVES]; /* the elements as f64 */
    size_t bytes[MOST + LEAVES];
    kn_dtype dtype[MOST + LEAVES];
    char error[MOST + LEAVES][200];
    int n;
} result;

static void note(result *r, kn_tensor t)
{
    int i = r->n++;
    r->bytes[i] = 0;
    r->data[i] = NULL;
    r->wide[i] = NULL;
    r->error[i][0] = 0;
    r->dtype[i] = KN_DTYPE_NONE;
    if (!t.bits) return;
    r->dtype[i] = kn_dtype_of(t);
    int64_t bytes = kn_dtype_bytes(r->dtype[i], kn_count(t));
    r->data[i] = malloc(bytes > 0 ? (size_t)bytes : 1);
    r->wide[i] = malloc(((size_t)kn_count(t) + 1) * sizeof(double));
    if (bytes >= 0 && kn_read(t, r->data[i], (size_t)bytes) == KN_OK) {
        r->bytes[i] = (size_t)bytes;
        kni_convert(r->wide[i], KN_F64, 1, r->data[i], (int)r->dtype[i], 1, kn_count(t));
    } else {
        snprintf(r->error[i], sizeof r->error[i], "%s", kn_last_error());
    }
}

static void free_result(result *r)
{
    for (int i = 0; i < r->n; i++) {
        free(r->data[i]);
        free(r->wide[i]);
    }
    r->n = 0;
}

static size_t element_bytes(kn_dtype d) { return (size_t)kn_dtype_bytes(d ? d : KN_U8, 1); }

static double element(const result *r, int i, size_t k) { return r->wide[i][k]; }

static bool same_kind(const result *a, const result *b, int i)
{
    return a->bytes[i] == b->bytes[i] && a->dtype[i] == b->dtype[i] && !a->error[i][0] == !b->error[i][0];
}

static bool same_element(const result *a, const result *b, int i, size_t k)
{
    size_t size = element_bytes(a->dtype[i]);
    if (!memcmp(a->data[i] + k * size, b->data[i] + k * size, size)) return true;
    return kn_dtype_is_float(a->dtype[i]) && isnan(element(a, i, k)) && isnan(element(b, i, k));
}

static bool same_bits(const result *a, const result *b, int i)
{
    if (!same_kind(a, b, i)) return false;
    for (size_t k = 0; k < a->bytes[i] / element_bytes(a->dtype[i]); k++)
        if (!same_element(a, b, i, k)) return false;
    return true;
}

static void print_difference(const program *p, const result *a, const result *b, int i, const char *which)
{
    printf("program %llu, %s: result %d of %d differs (%s) %s %s\n", (unsigned long long)p->seed, which, i,
           a->n, kn_dtype_name(a->dtype[i]), a->error[i], b->error[i]);
}

/* How many of b's results are not those of a, which may have more: the gradients. */
static int compare_bits(const program *p, const result *a, const result *b, const char *which)
{
    int wrong = a->n < b->n;
    for (int i = 0; i < a->n && i < b->n; i++) {
        if (same_bits(a, b, i)) continue;
        wrong++;
        if (which) print_difference(p, a, b, i, which);
    }
    return wrong;
}

/* ---- bounds */

/* What noise did to the results of a program; a deviation of infinity means that nothing is known of the element. */
typedef struct spread {
    const result *base;
    double *most[MOST + LEAVES];
    int runs;
} spread;

typedef struct tally {
    int64_t programs, same_programs; /* compared; with all bits equal */
    int64_t elements, equal, narrow, wide, open;
} tally;

static const double bound_factor = 4, narrow_bound = 0.02;

static void spread_begin(spread *s, const result *base)
{
    s->base = base;
    s->runs = 0;
    for (int i = 0; i < base->n; i++) s->most[i] = calloc(base->bytes[i] + 1, sizeof(double));
}

static void spread_end(spread *s)
{
    for (int i = 0; i < s->base->n; i++) free(s->most[i]);
}

static void spread_add(spread *s, const result *r)
{
    s->runs++;
    for (int i = 0; i < s->base->n; i++) {
        size_t n = s->base->bytes[i] / element_bytes(s->base->dtype[i]);
        bool lost = i >= r->n || !same_kind(s->base, r, i);
        for (size_t k = 0; k < n; k++) {
            double off = lost ? INFINITY : 0;
            if (!lost && !same_element(s->base, r, i, k)) {
                off = fabs(element(r, i, k) - element(s->base, i, k));
                if (isnan(off)) off = INFINITY; /* a number in one run, none in another */
            }
            if (off > s->most[i][k]) s->most[i][k] = off;
        }
    }
}

static bool within(const spread *s, const result *r, int i, size_t k)
{
    if (same_element(s->base, r, i, k) || isinf(s->most[i][k])) return true;
    double off = fabs(element(r, i, k) - element(s->base, i, k));
    return off <= bound_factor * s->most[i][k];
}

/* How many results hold an element out of its bound. */
static int compare_bounds(const program *p, const spread *s, const result *r, const char *which)
{
    int wrong = s->base->n < r->n;
    for (int i = 0; i < r->n && i < s->base->n; i++) {
        bool good = same_kind(s->base, r, i);
        size_t n = good ? r->bytes[i] / element_bytes(r->dtype[i]) : 0, k = 0;
        while (k < n && within(s, r, i, k)) k++;
        if (good && k == n) continue;
        wrong++;
        if (!which) continue;
        print_difference(p, s->base, r, i, which);
        if (good)
            printf("  element %zu of %zu: %.9g, expected %.9g within %.3g after %d runs with noise\n", k, n,
                   element(r, i, k), element(s->base, i, k), bound_factor * s->most[i][k], s->runs);
    }
    return wrong;
}

static void count_bounds(const spread *s, const result *r, tally *t)
{
    for (int i = 0; i < r->n && i < s->base->n; i++) {
        if (!same_kind(s->base, r, i)) continue;
        for (size_t k = 0; k < r->bytes[i] / element_bytes(r->dtype[i]); k++) {
            double bound = s->runs ? bound_factor * s->most[i][k] : 0;
            bool open = isinf(bound), equal = same_element(s->base, r, i, k);
            t->elements++;
            t->equal += equal;
            t->open += !equal && open;
            t->narrow += !equal && !open && bound <= narrow_bound * fabs(element(s->base, i, k));
            t->wide += !equal && !open && bound > narrow_bound * fabs(element(s->base, i, k));
        }
    }
}

#endif
