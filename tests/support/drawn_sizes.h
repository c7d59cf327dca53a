/* Cases of drawn sizes, layouts and dtypes: a family draws its operands and its results, on `ref` and then, from the same numbers, on
   every tier of the CPU, alone and in groups. Values and gradients must agree. */
#ifndef DRAWN_SIZES_H
#define DRAWN_SIZES_H

#include "support/check.h"
#include "support/tiers.h"
#include <kn/autodiff.h>
#include <kn/creation.h>
#include <kn/elementwise.h>
#include <kn/shape.h>
#include <math.h>

enum { DRAWN_MOST = 8 };

typedef struct drawn {
    uint64_t state;
    kn_dtype dtype; /* of the case, for families that draw one */
    double looser;  /* than the tolerance of the dtype; 0: 1 */
    double longest; /* broadcast axis: its gradient is a sum of as many, which may cancel */
    bool small;     /* operands are small integers: sums of them are exact */
    kn_tensor wrt[DRAWN_MOST], y[DRAWN_MOST];
    bool has_gradient[DRAWN_MOST];
    int n_wrt, n_y;
    char text[1000]; /* what was drawn */
} drawn;

typedef void (*drawn_family)(drawn *d);
typedef struct drawn_row {
    const char *name;
    drawn_family make;
    int cases;
} drawn_row;

static inline uint64_t drawn_bits(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = (*state ^ *state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* 0 of nothing, so that families need not look for empty shapes. */
static inline int64_t below(drawn *d, int64_t n)
{
    return n > 0 ? (int64_t)(drawn_bits(&d->state) % (uint64_t)n) : 0;
}

static inline void drawn_note(drawn *d, const char *word, int64_t number)
{
    size_t at = strlen(d->text);
    snprintf(d->text + at, sizeof d->text - at, " %s %lld", word, (long long)number);
}

/* From 1 to `most`, as often between 1 and 2 as between 100 and 200. */
static inline int64_t drawn_size(drawn *d, int64_t most)
{
    double share = (double)below(d, 1 << 20) / (1 << 20);
    int64_t n = (int64_t)exp2(share * log2((double)most + 1));
    return n > most ? most : n;
}

/* One case of twelve is large: some paths begin where work is shared between threads. */
static inline int64_t drawn_most(drawn *d, int64_t most) { return below(d, 12) ? most : 16 * most; }

/* Sizes of about `most` elements at most; the long axis is any one. Few shapes are empty. */
static inline kn_shape drawn_shape(drawn *d, int32_t rank, int64_t most)
{
    kn_shape s = {rank, {0}};
    int32_t first = rank ? (int32_t)below(d, rank) : 0;
    most = drawn_most(d, most);
    for (int32_t i = 0; i < rank; i++) {
        int64_t size = drawn_size(d, most);
        s.dims[(first + i) % rank] = size;
        most /= size;
    }
    if (rank && below(d, 40) == 0) s.dims[below(d, rank)] = 0;
    return s;
}

static inline int64_t drawn_count(kn_shape s)
{
    int64_t n = 1;
    for (int32_t i = 0; i < s.rank; i++) n *= s.dims[i];
    return n;
}

/* Multiples of 1 / 64 between low and high, which all floats hold. In small cases, whole numbers. */
static inline kn_tensor drawn_numbers(drawn *d, kn_shape shape, kn_dtype dtype, double low, double high)
{
    int64_t n = drawn_count(shape);
    bool whole = d->small || !kn_dtype_is_float(dtype);
    int64_t steps = (int64_t)((high - low) * (whole ? 1 : 64)) + 1;
    if (steps < 1) steps = 1;
    kn_dtype held = kn_dtype_is_float(dtype) ? KN_F64 : KN_I64;
    uint64_t *memory = calloc((size_t)n + 1, sizeof *memory), state = drawn_bits(&d->state);
    if (!memory) return KN_NONE;
    for (int64_t i = 0; i < n; i++) {
        int64_t step = (int64_t)(drawn_bits(&state) % (uint64_t)steps);
        double real = low + (double)step / (whole ? 1 : 64);
        int64_t integer = (int64_t)low + step;
        if (held == KN_F64)
            memcpy(memory + i, &real, sizeof real);
        else
            memcpy(memory + i, &integer, sizeof integer);
    }
    kn_tensor t = kn_cast(kn_from(memory, held, shape), dtype);
    free(memory);
    return t;
}

/* What a drawn operand is a view of: itself, its transpose, a part, every second element, a broadcast, backwards. */
static inline kn_tensor drawn_between(drawn *d, kn_shape shape, kn_dtype dtype, bool with_gradient,
                                      double low, double high)
{
    int how = shape.rank ? (int)below(d, 9) : 0;
    int32_t a = shape.rank ? (int32_t)below(d, shape.rank) : 0,
            b = shape.rank ? (int32_t)below(d, shape.rank) : 0;
    int64_t extra = below(d, 4);
    kn_shape base = shape;
    int64_t size = shape.rank ? shape.dims[a] : 0;
    if (how == 4) base.dims[a] = shape.dims[b], base.dims[b] = size;
    if (how == 5) base.dims[a] = size + 1 + extra;
    if (how == 6) base.dims[a] = 2 * size + extra;
    if (how == 7) base.dims[a] = 1;
    if (how == 7 && (double)size > d->longest) d->longest = (double)size;
    kn_tensor leaf = kn_keep(drawn_numbers(d, base, dtype, low, high));
    with_gradient = with_gradient && kn_dtype_is_float(dtype) && d->n_wrt < DRAWN_MOST;
    if (with_gradient) d->wrt[d->n_wrt++] = leaf = kn_require_grad(leaf);
    size_t at = strlen(d->text);
    snprintf(d->text + at, sizeof d->text - at, " %s[", kn_dtype_name(dtype));
    for (int32_t i = 0; i < shape.rank; i++) {
        at = strlen(d->text);
        snprintf(d->text + at, sizeof d->text - at, i ? " %lld" : "%lld", (long long)shape.dims[i]);
    }
    at = strlen(d->text);
    if (how < 4)
        snprintf(d->text + at, sizeof d->text - at, "]");
    else
        snprintf(d->text + at, sizeof d->text - at, "] by %d at %d %d %d", how, (int)a, (int)b, (int)extra);
    if (how == 4) return kn_keep(kn_transpose(leaf, a, b));
    if (how == 5) return kn_keep(kn_narrow(leaf, a, extra, size));
    if (how == 6) return kn_keep(kn_narrow(kn_slice(leaf, a, 0, KN_END, 2), a, 0, size));
    if (how == 7) return kn_keep(kn_expand(leaf, shape));
    if (how == 8) return kn_keep(kn_flip(leaf, KN_INTS(a)));
    return leaf;
}

static inline kn_tensor drawn_operand(drawn *d, kn_shape shape, kn_dtype dtype, bool with_gradient)
{
    return drawn_between(d, shape, dtype, with_gradient,
                         dtype == KN_BOOL ? 0
                         : dtype == KN_U8 ? 0
                                          : -2,
                         dtype == KN_BOOL ? 1 : 2);
}

static inline kn_dtype drawn_float(drawn *d)
{
    static const kn_dtype dtypes[] = {KN_F32, KN_F32, KN_F32, KN_F64, KN_F16, KN_BF16};
    return d->dtype = dtypes[below(d, 6)];
}

/* A result to compare; `with_gradient` where a gradient flows from it. */
static inline void drawn_result(drawn *d, kn_tensor y, bool with_gradient)
{
    if (d->n_y == DRAWN_MOST) return;
    d->has_gradient[d->n_y] = with_gradient && kn_dtype_is_float(kn_dtype_of(y));
    d->y[d->n_y++] = kn_keep(y);
}

/* What often stands behind an op, so that groups are made of both. */
static inline kn_tensor drawn_tail(drawn *d, kn_tensor y)
{
    switch (below(d, 6)) {
    case 0:
        return kn_relu(y);
    case 1:
        return kn_mul_scalar(y, 0.5);
    case 2:
        return kn_add_scalar(kn_abs(y), 0.25);
    default:
        return y;
    }
}

/* ---- running and comparing */

typedef struct drawn_outcome {
    double *values[2 * DRAWN_MOST];
    int64_t counts[2 * DRAWN_MOST];
    kn_dtype dtypes[2 * DRAWN_MOST];
    int n;
    bool good;
    char text[1000], error[400];
} drawn_outcome;

static inline void drawn_free(drawn_outcome *o)
{
    for (int i = 0; i < o->n; i++) free(o->values[i]);
    *o = (drawn_outcome){0};
}

static inline bool drawn_read(drawn_outcome *o, kn_tensor t)
{
    int i = o->n;
    if (!kn_ok(t)) return kn_error_text(t, o->error, sizeof o->error), false;
    o->counts[i] = kn_count(t);
    o->dtypes[i] = kn_dtype_of(t);
    o->values[i] = malloc((size_t)(o->counts[i] + 1) * sizeof(double));
    o->n++;
    if (o->values[i] && kn_read_as(t, KN_F64, o->values[i], (size_t)o->counts[i] * sizeof(double)) == KN_OK)
        return true;
    snprintf(o->error, sizeof o->error, "%s", kn_last_error());
    return false;
}

static inline void drawn_run(drawn_family make, uint64_t seed, kn_device device, drawn *d, drawn_outcome *o)
{
    drawn_free(o);
    kn_scope scope = kn_scope_begin();
    kn_device_use(device);
    *d = (drawn){.state = seed};
    make(d);
    kn_tensor outputs[DRAWN_MOST], slopes[DRAWN_MOST], grads[DRAWN_MOST];
    int n = 0;
    for (int i = 0; i < d->n_y; i++)
        if (d->has_gradient[i] && kn_ok(d->y[i])) {
            outputs[n] = d->y[i];
            slopes[n++] = kn_keep(drawn_numbers(d, kn_shape_of_tensor(d->y[i]), kn_dtype_of(d->y[i]), -2, 2));
        }
    bool good = true, wanted = n && d->n_wrt;
    if (wanted && kn_grad(outputs, slopes, n, d->wrt, d->n_wrt, KN_GRAD_ALLOW_UNUSED, grads) != KN_OK) {
        good = false;
        snprintf(o->error, sizeof o->error, "%s", kn_last_error());
    }
    for (int i = 0; i < d->n_y && good; i++) good = drawn_read(o, d->y[i]);
    for (int i = 0; i < d->n_wrt && good && wanted; i++)
        good = !grads[i].bits || drawn_read(o, kn_keep(grads[i]));
    o->good = good;
    snprintf(o->text, sizeof o->text, "%s", d->text);
    kn_device_use(NULL);
    kn_scope_end(scope, KN_NONE);
}

static inline double drawn_tolerance(const drawn *d, kn_dtype dtype)
{
    double eps = dtype == KN_F64 ? 1e-11 : dtype == KN_F32 ? 2e-5 : dtype == KN_F16 ? 8e-3 : 4e-2;
    if (dtype == KN_F32 && (d->dtype == KN_F16 || d->dtype == KN_BF16)) eps = 4e-2;
    if (!kn_dtype_is_float(dtype)) return 0;
    return eps * (d->looser > 0 ? d->looser : 1) * (1 + d->longest / 64);
}

static inline bool drawn_same(const drawn *d, const drawn_outcome *want, const drawn_outcome *got)
{
    if (want->good != got->good) {
        printf("%s, wanted %s\n", got->good ? "no error" : got->error, want->good ? "none" : want->error);
        return false;
    }
    for (int i = 0; i < want->n; i++) {
        if (got->n != want->n || got->counts[i] != want->counts[i] || got->dtypes[i] != want->dtypes[i])
            return printf("result %d has another size or dtype\n", i), false;
        double most = 1, tolerance = drawn_tolerance(d, want->dtypes[i]);
        for (int64_t k = 0; k < want->counts[i]; k++)
            if (isfinite(want->values[i][k]) && fabs(want->values[i][k]) > most)
                most = fabs(want->values[i][k]);
        for (int64_t k = 0; k < want->counts[i]; k++) {
            double a = got->values[i][k], b = want->values[i][k];
            if (a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= tolerance * most) continue;
            printf("result %d, element %lld is %.9g, not %.9g\n", i, (long long)k, a, b);
            return false;
        }
    }
    return true;
}

static inline void drawn_family_run(const drawn_row *row, int64_t times, uint64_t first, kn_device ref,
                                    const kn_device *devices)
{
    static drawn_outcome want, got;
    drawn d;
    int64_t refused = 0, wrong = 0;
    for (int64_t n = 0; n < row->cases * times; n++) {
        if (!check_part(n, 8)) continue;
        uint64_t seed = first + (uint64_t)n * 1000003;
        drawn_run(row->make, seed, ref, &d, &want);
        if (!want.good) {
            if (!refused++ && times > 1) printf("%s: ref refuses%s: %s\n", row->name, want.text, want.error);
            continue;
        }
        for (int tier = 0; tier < KNI_ISA_COUNT; tier++) {
            if (!tier_runs((kni_tier)tier)) continue;
            kni_cpu_set_tier((kni_tier)tier);
            for (int i = 0; i < 2; i++) {
                drawn_run(row->make, seed, devices[i], &d, &got);
                if (CHECK(drawn_same(&d, &want, &got))) continue;
                if (wrong++ < 12)
                    printf("%s, case %lld, %s, tier %s:%s\n", row->name, (long long)n,
                           i ? "in groups" : "alone", kni_cpu_tier_name((kni_tier)tier), want.text);
            }
        }
    }
    /* Families are to draw what is allowed. */
    CHECK(refused * 10 <= row->cases * times);
    if (times > 1)
        printf("%s: %lld cases, %lld refused, %lld wrong\n", row->name, (long long)(row->cases * times),
               (long long)refused, (long long)wrong);
    drawn_free(&want);
    drawn_free(&got);
}

/* To hunt: test_drawn_... TIMES [family] [seed]. */
static inline int drawn_main(const drawn_row *rows, int n_rows, int n_words, char **words)
{
    int64_t times = n_words > 1 ? atoll(words[1]) : 1;
    uint64_t first = n_words > 3 ? strtoull(words[3], NULL, 10) : UINT64_C(20261119);
    kn_device ref = kn_device_open("autodiff(ref)");
    kn_device devices[2] = {kn_device_open("autodiff(cpu)"), kn_device_open("autodiff(fusion(cpu))")};
    if (!CHECK(ref && devices[0] && devices[1])) return check_report();
    for (int i = 0; i < n_rows; i++)
        if (n_words < 3 || !strcmp(words[2], rows[i].name) || !strcmp(words[2], "all"))
            drawn_family_run(&rows[i], times, first, ref, devices);
    CHECK(kn_shutdown() == 0);
    return check_report();
}

#endif
