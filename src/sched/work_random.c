/* Random numbers: one row of five distributions, each computed in another type, which a body does not say yet. */
#include "ops/creation_rows.h"
#include "sched/work_rows.h"
#include <string.h>

/* The widest float of the target, in which the CPU computes such numbers. */
static int real_dtype(const kni_work *w) { return w->target->caps->f64 ? KN_F64 : KN_F32; }

/* A word of the generator's state, which is another one each time. */
static uint16_t state_word(kni_work *w, const kn_record *r, size_t offset)
{
    int64_t value;
    memcpy(&value, (const char *)r->attributes + offset, sizeof value);
    uint16_t n = kni_work_whole(w, KN_I64, value);
    kni_work_source(w, n, KNI_SOURCE_WHOLE, r, (int)offset);
    return n;
}

/* ---- random numbers. Each answers with the dtype its numbers have. */

typedef struct draw {
    kni_work *w;
    const kni_random_attributes *a;
    uint16_t words[4];
    int dtype;
} draw;

static uint16_t scaled(draw *d, uint16_t word, int dtype, double scale)
{
    uint16_t v = kni_work_convert(d->w, word, KN_I64, dtype);
    return kni_work_word(d->w, KNI_WORD_mul, v, kni_work_constant(d->w, dtype, scale));
}

static uint16_t shifted(draw *d, uint16_t word, int by, int64_t n)
{
    return kni_work_word(d->w, by, word, kni_work_constant(d->w, KN_I64, (double)n));
}

static uint16_t uniform_24(draw *d, uint16_t word, int dtype)
{
    return scaled(d, shifted(d, word, KNI_WORD_shr, 8), dtype, 0x1p-24);
}

static uint16_t uniform_53(draw *d, uint16_t high, uint16_t low)
{
    uint16_t bits = kni_work_word(d->w, KNI_WORD_or, shifted(d, high, KNI_WORD_shl, 21),
                                  shifted(d, low, KNI_WORD_shr, 11));
    return scaled(d, bits, KN_F64, 0x1p-53);
}

static uint16_t draw_uniform(draw *d, int *dtype)
{
    kni_work *w = d->w;
    bool wide = d->dtype == KN_F64;
    int real = *dtype = real_dtype(w);
    uint16_t u = wide ? uniform_53(d, d->words[0], d->words[1]) : uniform_24(d, d->words[0], real);
    uint16_t v = kni_work_word(w, KNI_WORD_mul, kni_work_real(w, real, d->a->b - d->a->a), u);
    v = kni_work_word(w, KNI_WORD_add, kni_work_real(w, real, d->a->a), v);
    uint16_t top = kni_work_real(w, real, d->a->top);
    return kni_work_select(w, kni_work_word(w, KNI_WORD_gt, v, top), top, v);
}

/* cos(2 pi u) as the CPU's f32 function makes it. */
static uint16_t cos_turn(draw *d, uint16_t u)
{
    static const double factors[] = {42.0076332f, -76.7041626f, 81.6052246f, -41.3417015f, 0.00193530718f};
    kni_work *w = d->w;
    uint16_t b = kni_work_word(w, KNI_WORD_abs,
                               kni_work_word(w, KNI_WORD_sub, u, kni_work_constant(w, KN_F32, 0.5)), 0);
    b = kni_work_word(w, KNI_WORD_sub, b, kni_work_constant(w, KN_F32, 0.25));
    uint16_t z = kni_work_word(w, KNI_WORD_mul, b, b), p = kni_work_constant(w, KN_F32, -14.3802547f);
    for (int i = 0; i < 5; i++) {
        p = kni_work_word(w, KNI_WORD_mul, p, z);
        p = kni_work_word(w, KNI_WORD_add, p, kni_work_constant(w, KN_F32, factors[i]));
    }
    uint16_t main = kni_work_word(w, KNI_WORD_mul, b, kni_work_constant(w, KN_F32, 6.28125));
    return kni_work_word(w, KNI_WORD_add, main, kni_work_word(w, KNI_WORD_mul, b, p));
}

static uint16_t sin_turn(draw *d, uint16_t u)
{
    kni_work *w = d->w;
    uint16_t b = kni_work_word(w, KNI_WORD_abs,
                               kni_work_word(w, KNI_WORD_sub, u, kni_work_constant(w, KN_F64, 0.5)), 0);
    b = kni_work_word(w, KNI_WORD_sub, b, kni_work_constant(w, KN_F64, 0.25));
    return kni_work_word(w, KNI_WORD_sin,
                         kni_work_word(w, KNI_WORD_mul, b, kni_work_constant(w, KN_F64, 6.283185307179586)),
                         0);
}

static uint16_t draw_normal(draw *d, int *dtype)
{
    kni_work *w = d->w;
    bool wide = d->dtype == KN_F64;
    int real = *dtype = wide ? KN_F64 : KN_F32;
    uint16_t u1 = wide ? uniform_53(d, d->words[0], d->words[1]) : uniform_24(d, d->words[0], KN_F32);
    uint16_t u2 = wide ? uniform_53(d, d->words[2], d->words[3]) : uniform_24(d, d->words[1], KN_F32);
    u1 = kni_work_word(w, KNI_WORD_add, u1, kni_work_constant(w, real, wide ? 0x1p-53 : 0x1p-24));
    uint16_t root =
        kni_work_word(w, KNI_WORD_mul, kni_work_constant(w, real, -2), kni_work_word(w, KNI_WORD_log, u1, 0));
    root = kni_work_word(w, KNI_WORD_sqrt, root, 0);
    uint16_t z = kni_work_word(w, KNI_WORD_mul, root, wide ? sin_turn(d, u2) : cos_turn(d, u2));
    z = kni_work_word(w, KNI_WORD_mul, kni_work_real(w, real, d->a->b), z);
    return kni_work_word(w, KNI_WORD_add, kni_work_real(w, real, d->a->a), z);
}

/* A word times 2^-32 is below p where the word is below p 2^32, rounded up to a whole number. */
static uint16_t draw_bernoulli(draw *d, int *dtype)
{
    double limit = d->a->a * 4294967296.0;
    int64_t whole = (int64_t)limit;
    if ((double)whole < limit) whole++;
    *dtype = KN_BOOL;
    return kni_work_word(d->w, KNI_WORD_lt, d->words[0], kni_work_whole(d->w, KN_I64, whole));
}

static uint16_t draw_integer(draw *d, int *dtype)
{
    kni_work *w = d->w;
    uint16_t high = d->words[0], low = d->words[1], range = kni_work_whole(w, KN_I64, d->a->range);
    uint16_t narrow = shifted(d, kni_work_word(w, KNI_WORD_mul, low, range), KNI_WORD_shr, 32);
    narrow = shifted(d, kni_work_word(w, KNI_WORD_add, kni_work_word(w, KNI_WORD_mul, high, range), narrow),
                     KNI_WORD_shr, 32);
    uint16_t bits =
        kni_work_word(w, KNI_WORD_or, shifted(d, high, KNI_WORD_shl, 31), shifted(d, low, KNI_WORD_shr, 1));
    uint16_t is_wide = kni_work_word(w, KNI_WORD_gt, range, kni_work_constant(w, KN_I64, 2147483648.0));
    uint16_t at = kni_work_select(w, is_wide, kni_work_word(w, KNI_WORD_fmod, bits, range), narrow);
    *dtype = KN_I64;
    return kni_work_word(w, KNI_WORD_add, kni_work_whole(w, KN_I64, d->a->lowest), at);
}

static uint16_t draw_bits(draw *d, int *dtype)
{
    *dtype = KN_I64;
    return d->words[0];
}

static uint16_t random_numbers(kni_work *w, const kn_record *r, int result, uint16_t frame)
{
    (void)result;
    static uint16_t (*const draws[KNI_RANDOM_KINDS])(draw *, int *) = {draw_bits, draw_uniform, draw_normal,
                                                                       draw_bernoulli, draw_integer};
    const kni_random_attributes *a = r->attributes;
    draw d = {.w = w, .a = a, .dtype = kni_out(r, 0)->type.dtype};
    int n = kni_random_words(a->kind, a->dtype), made;
    uint16_t at = kni_work_index(w, frame);
    uint16_t key = state_word(w, r, offsetof(kni_random_attributes, key));
    uint16_t counter = state_word(w, r, offsetof(kni_random_attributes, counter));
    for (int i = 0; i < n; i++) d.words[i] = kni_work_philox(w, key, counter, at, n, i);
    uint16_t v = draws[a->kind](&d, &made);
    return kni_work_convert(w, v, made, d.dtype);
}

const kni_work_row kni_work_random_rows[] = {{KNI_OP_random, random_numbers}, {0, NULL}};
