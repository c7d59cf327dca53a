/* What a program gives, and how two devices' results are compared: bit for bit, or within a bound for each element that
   comes from runs of the same program under noise (program_noise.h) and on the reference.

   The bound of an element is four times the largest deviation that noise made. So it follows the tolerances of all rows
   that lead to the element and how the program magnifies them; a comparison, a rounding or a sort whose outcome hangs on
   the last bits shows as the jump that it is, at the elements that it reaches and nowhere else, and where no run with
   noise moved an element it must be equal. A result out of bounds gets many more runs with noise before it counts as wrong.
   How many elements had narrow bounds is counted: a bound as wide as the value shows nothing. */
#ifndef PROGRAM_BOUNDS_H
#define PROGRAM_BOUNDS_H

#include "program_maker.h"
#include <math.h>

/* The places of a round: outputs by step, gradients of leaves and of params, params, two states of the optimiser. */
enum {
    ROUNDS = 5,
    MOST_ROUNDS = 8,
    PER_ROUND = MOST + LEAVES + 4 * PARAMS,
    PLACES = MOST_ROUNDS * PER_ROUND
};

typedef struct result {
    unsigned char *data[PLACES];
    size_t bytes[PLACES];
    kn_dtype dtype[PLACES]; /* none where nothing was noted */
    kn_status failed[PLACES];
    char error[200]; /* of the first that failed */
    int n;
} result;

static void note(result *r, int i, kn_tensor t)
{
    if (!t.bits) return;
    r->dtype[i] = kn_dtype_of(t);
    int64_t bytes = kn_dtype_bytes(r->dtype[i], kn_count(t));
    r->data[i] = malloc(bytes > 0 ? (size_t)bytes : 1);
    r->failed[i] = bytes < 0 || !r->data[i] ? KN_ERROR_MEMORY : kn_read(t, r->data[i], (size_t)bytes);
    if (!r->failed[i])
        r->bytes[i] = (size_t)bytes;
    else if (!r->error[0])
        snprintf(r->error, sizeof r->error, "%s", kn_last_error());
}

static void free_result(result *r)
{
    for (int i = 0; i < r->n; i++) free(r->data[i]);
    r->n = 0;
}

static size_t element_bytes(kn_dtype d) { return (size_t)kn_dtype_bytes(d ? d : KN_U8, 1); }

static double element(const result *r, int i, size_t k)
{
    double wide = 0;
    kni_convert(&wide, KN_F64, 1, r->data[i] + k * element_bytes(r->dtype[i]), (int)r->dtype[i], 1, 1);
    return wide;
}

static size_t elements(const result *r, int i) { return r->bytes[i] / element_bytes(r->dtype[i]); }

static bool same_kind(const result *a, const result *b, int i)
{
    return a->bytes[i] == b->bytes[i] && a->dtype[i] == b->dtype[i] && !a->failed[i] == !b->failed[i];
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
    if (!a->bytes[i] || !memcmp(a->data[i], b->data[i], a->bytes[i])) return true;
    for (size_t k = 0; k < elements(a, i); k++)
        if (!same_element(a, b, i, k)) return false;
    return true;
}

static void print_difference(const program *p, const result *a, const result *b, int i, const char *which)
{
    static const char *const parts[] = {"gradient of param", "param", "first state", "second state"};
    int at = i % PER_ROUND, rest = at - MOST - LEAVES;
    printf("program %llu, %s, round %d: %s %d differs (%s) %s %s\n", (unsigned long long)p->seed, which,
           1 + i / PER_ROUND,
           at < MOST            ? "output of step"
           : at < MOST + LEAVES ? "gradient of leaf"
                                : parts[rest / PARAMS],
           at < MOST            ? at
           : at < MOST + LEAVES ? at - MOST
                                : rest % PARAMS,
           kn_dtype_name(a->dtype[i]), a->error, b->error);
}

/* How many of b's results are not those of a. */
static int compare_bits(const program *p, const result *a, const result *b, const char *which)
{
    int wrong = a->n != b->n;
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
    double *most[PLACES];
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
    for (int i = 0; i < base->n; i++) s->most[i] = calloc(elements(base, i) + 1, sizeof(double));
}

static void spread_end(spread *s)
{
    for (int i = 0; i < s->base->n; i++) free(s->most[i]);
}

static void spread_add(spread *s, const result *r)
{
    s->runs++;
    for (int i = 0; i < s->base->n; i++) {
        size_t n = elements(s->base, i);
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
    int wrong = s->base->n != r->n;
    for (int i = 0; i < r->n && i < s->base->n; i++) {
        bool good = same_kind(s->base, r, i);
        size_t n = good ? elements(r, i) : 0, k = 0;
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
        for (size_t k = 0; k < elements(r, i); k++) {
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
