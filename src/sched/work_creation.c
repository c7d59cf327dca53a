/* Rows that make values from numbers: constants, ranges, random numbers and dropout. */
#include "ops/creation_rows.h"
#include "ops/dropout.h"
#include "sched/work_rows.h"
#include <string.h>

/* The widest float of the target, in which the CPU computes such numbers. */
static int real_dtype(const kni_work *w) { return w->target->caps->f64 ? KN_F64 : KN_F32; }

static uint16_t full(kni_work *w, const kn_record *r, int result, uint16_t frame)
{
    (void)result, (void)frame;
    const kni_full_attributes *a = r->attributes;
    int dtype = kni_out(r, 0)->type.dtype;
    uint64_t value = 0;
    if (kni_is_float(dtype))
        kni_convert(&value, dtype, 1, &a->value, KN_F64, 1, 1);
    else
        kni_convert(&value, dtype, 1, &a->whole, dtype == KN_U64 ? KN_U64 : KN_I64, 1, 1);
    int compute = dtype == KN_BOOL ? KN_I32 : kni_work_dtype(dtype);
    return kni_work_convert(w, kni_work_inline(w, compute, &value, dtype), compute,
                            dtype == KN_BOOL ? KN_BOOL : compute);
}

static uint16_t iota(kni_work *w, const kn_record *r, int result, uint16_t frame)
{
    (void)result;
    const kni_iota_attributes *a = r->attributes;
    int dtype = kni_out(r, 0)->type.dtype;
    uint16_t at = kni_work_index(w, frame);
    if (!kni_is_float(dtype)) {
        uint16_t step = kni_work_word(w, KNI_WORD_mul, at, kni_work_whole(w, KN_I64, a->whole_step));
        uint16_t v = kni_work_word(w, KNI_WORD_add, kni_work_whole(w, KN_I64, a->whole_start), step);
        return kni_work_convert(w, v, KN_I64, dtype);
    }
    int real = real_dtype(w);
    uint16_t step = kni_work_word(w, KNI_WORD_mul, kni_work_convert(w, at, KN_I64, real),
                                  kni_work_real(w, real, a->step));
    return kni_work_convert(w, kni_work_word(w, KNI_WORD_add, kni_work_real(w, real, a->start), step), real,
                            dtype);
}

static uint16_t linspace(kni_work *w, const kn_record *r, int result, uint16_t frame)
{
    (void)result;
    const kni_linspace_attributes *a = r->attributes;
    int dtype = kni_out(r, 0)->type.dtype, real = real_dtype(w);
    int64_t n = a->length;
    double width = n > 1 ? (a->stop - a->start) / (double)(n - 1) : 0;
    uint16_t at = kni_work_index(w, frame), step = kni_work_real(w, real, width);
    uint16_t up = kni_work_word(w, KNI_WORD_mul, step, kni_work_convert(w, at, KN_I64, real));
    up = kni_work_word(w, KNI_WORD_add, kni_work_real(w, real, a->start), up);
    uint16_t back = kni_work_word(w, KNI_WORD_sub, kni_work_whole(w, KN_I64, n - 1), at);
    uint16_t down = kni_work_word(w, KNI_WORD_mul, step, kni_work_convert(w, back, KN_I64, real));
    down = kni_work_word(w, KNI_WORD_sub, kni_work_real(w, real, a->stop), down);
    uint16_t lower = kni_work_word(w, KNI_WORD_lt, at, kni_work_whole(w, KN_I64, n == 1 ? 1 : n / 2));
    uint16_t v = kni_work_select(w, lower, up, down);
    if (!kni_is_float(dtype)) v = kni_work_convert(w, v, real, KN_I64);
    return kni_work_convert(w, v, kni_is_float(dtype) ? real : KN_I64, dtype);
}

/* A word of the generator's state, which is another one each time. */
static uint16_t state_word(kni_work *w, const kn_record *r, size_t offset)
{
    int64_t value;
    memcpy(&value, (const char *)r->attributes + offset, sizeof value);
    uint16_t n = kni_work_whole(w, KN_I64, value);
    kni_work_source(w, n, KNI_SOURCE_WHOLE, r, (int)offset);
    return n;
}

/* y = x scale + shift where the word is at least the limit, else dropped. */
static uint16_t dropout(kni_work *w, const kn_record *r, int result, uint16_t frame)
{
    (void)result;
    const kni_dropout_attributes *a = r->attributes;
    int dtype = kni_out(r, 0)->type.dtype, compute = kni_work_dtype(dtype);
    uint16_t x = kni_work_operand(w, r->ids[1], frame, 0, compute);
    uint16_t at = kni_work_index(w, frame);
    if (a->group > 1) at = kni_work_word(w, KNI_WORD_div, at, kni_work_whole(w, KN_I64, a->group));
    uint16_t key = state_word(w, r, offsetof(kni_dropout_attributes, key));
    uint16_t counter = state_word(w, r, offsetof(kni_dropout_attributes, counter));
    uint16_t word = kni_work_philox(w, key, counter, at, 1, 0);
    uint16_t kept = kni_work_word(w, KNI_WORD_ge, word, kni_work_whole(w, KN_I64, kni_dropout_limit(a->p)));
    uint16_t y = kni_work_word(w, KNI_WORD_mul, x, kni_work_real(w, compute, a->scale));
    y = kni_work_word(w, KNI_WORD_add, y, kni_work_real(w, compute, a->shift));
    y = kni_work_select(w, kept, y, kni_work_real(w, compute, a->dropped));
    return kni_work_convert(w, y, compute, dtype);
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

const kni_work_row kni_work_creation_rows[] = {{KNI_OP_full, full},         {KNI_OP_iota, iota},
                                               {KNI_OP_linspace, linspace}, {KNI_OP_random, random_numbers},
                                               {KNI_OP_dropout, dropout},   {0, NULL}};
