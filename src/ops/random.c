/* Rows that draw random numbers. The numbers an op draws are fixed when it is recorded: its attributes carry the
   device's key and the counters reserved for it, so running the record again gives the same numbers. */
#include "core/device_object.h"
#include "core/math/math.h"
#include "ops/creation_rows.h"
#include "ops/generated/random_kernels.h"
#include "ops/infer.h"
#include "ops/movement_rows.h"
#include "ops/native.h"
#include "ops/scalar_row.h"

extern const kni_native kni_cpu_random_bits, kni_cpu_random_uniform, kni_cpu_random_normal,
    kni_cpu_random_bernoulli, kni_cpu_random_int;

/* ---- one row for each distribution; their schemas name the fields that they read */

#define NAMED(name, field, kind, when)                                                                       \
    {                                                                                                        \
        name, kind, when, (uint16_t)offsetof(kni_random_attributes, field)                                   \
    }
#define DRAWN                                                                                                \
    NAMED("shape", shape, KNI_ATTR_INTS, KNI_STATIC), NAMED("dtype", dtype, KNI_ATTR_INT, KNI_STATIC),       \
        NAMED("key", key, KNI_ATTR_INT, KNI_DYNAMIC), NAMED("counter", counter, KNI_ATTR_INT, KNI_DYNAMIC)
#define DRAWS(op_name, op_dtypes, formula, ...)                                                              \
    BODY(op_name, formula)                                                                                   \
    OP(op_name, .body = &kni_body_##op_name, .min_in = 0, .max_in = 0, .n_out = 1, .kind = KNI_RANDOM,       \
       .dtypes = op_dtypes, .flags = KNI_FLAG_RANDOM | KNI_FLAG_NO_GRADIENT, .tolerance = {4, 1},            \
       .attribute_bytes = sizeof(kni_random_attributes), .native = &kni_cpu_##op_name, __VA_ARGS__)

static kn_status infer_drawn(kni_infer *c)
{
    const kni_random_attributes *a = c->attributes;
    return kni_infer_made(c, &a->shape, a->dtype, c->row->dtypes);
}

static const kn_attribute bits_schema[] = {DRAWN, {0}};
DRAWS(random_bits, KNI_BIT(KN_U32), "y = draw(0)", .out = "y:index", .doc = "32 random bits",
      .infer = infer_drawn, .schema = bits_schema)

/* u in [0, 1) from the upper 24 bits of a word, or the upper 53 of two: these in halves, since few devices convert integers of
   64 bits quickly. */
static const kn_attribute uniform_schema[] = {DRAWN,
                                              NAMED("low", a, KNI_ATTR_REAL, KNI_DYNAMIC),
                                              NAMED("high", b, KNI_ATTR_REAL, KNI_DYNAMIC),
                                              NAMED("top", top, KNI_ATTR_REAL, KNI_DYNAMIC),
                                              {0}};

static kn_status infer_uniform(kni_infer *c)
{
    const kni_random_attributes *a = c->attributes;
    kn_status s = infer_drawn(c);
    if (s == KN_OK && !(a->b >= a->a && a->b - a->a <= 1.7976931348623157e308))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "there are no numbers from %g to below %g", a->a, a->b);
    return s;
}

DRAWS(random_uniform, KNI_FLOATS,
      "u = doubles ? real(draw(0) >> 1) * 4.656612873077393e-10"
      " + real((draw(0) & 1) << 21 | draw(1) >> 11) * 1.1102230246251565e-16"
      " : real(draw(0) >> 8) * 5.9604644775390625e-8;"
      " v = low + (high - low) * u; y = v > top ? top : v",
      .sums = KNI_SUMS_REAL, .doc = "numbers from low to below high, and not above top",
      .infer = infer_uniform, .schema = uniform_schema)

/* Box and Muller's transform of u1 in (0, 1] and u2 in [0, 1): at most 5.8, or 8.6 of f64. */
static const kn_attribute normal_schema[] = {DRAWN,
                                             NAMED("mean", a, KNI_ATTR_REAL, KNI_DYNAMIC),
                                             NAMED("deviation", b, KNI_ATTR_REAL, KNI_DYNAMIC),
                                             {0}};

static kn_status infer_normal(kni_infer *c)
{
    const kni_random_attributes *a = c->attributes;
    kn_status s = infer_drawn(c);
    if (s == KN_OK && !(a->b >= 0))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "the standard deviation %g is not 0 or more", a->b);
    return s;
}

DRAWS(random_normal, KNI_FLOATS,
      "u1 = doubles ? real(draw(0) >> 1) * 4.656612873077393e-10"
      " + real((draw(0) & 1) << 21 | draw(1) >> 11) * 1.1102230246251565e-16 + 1.1102230246251565e-16"
      " : real((draw(0) >> 8) + 1) * 5.9604644775390625e-8;"
      " u2 = doubles ? real(draw(2) >> 1) * 4.656612873077393e-10"
      " + real((draw(2) & 1) << 21 | draw(3) >> 11) * 1.1102230246251565e-16"
      " : real(draw(1) >> 8) * 5.9604644775390625e-8;"
      " y = mean + deviation * (sqrt(-2 * log(u1)) * cos_turn(u2))",
      .doc = "normal numbers: mean + deviation sqrt(-2 log u1) cos(2 pi u2)", .infer = infer_normal,
      .schema = normal_schema)

static const kn_attribute bernoulli_schema[] = {DRAWN, NAMED("p", a, KNI_ATTR_REAL, KNI_DYNAMIC), {0}};

static kn_status infer_bernoulli(kni_infer *c)
{
    const kni_random_attributes *a = c->attributes;
    kn_status s = infer_drawn(c);
    if (s == KN_OK && !(a->a >= 0 && a->a <= 1))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "the probability %g is outside 0 to 1", a->a);
    return s;
}

DRAWS(random_bernoulli, KNI_ALL, "y = draw(0) < ceil(p * 4294967296)", .out = "y:truth",
      .doc = "1 with probability p, else 0", .infer = infer_bernoulli, .schema = bernoulli_schema)

/* Two words as a fraction of 2^64 times the range; ranges above 2^31 take 63 bits modulo the range. */
static const kn_attribute int_schema[] = {DRAWN,
                                          NAMED("lowest", lowest, KNI_ATTR_INT, KNI_DYNAMIC),
                                          NAMED("range", range, KNI_ATTR_INT, KNI_DYNAMIC),
                                          {0}};

/* Whether an integer dtype has lowest and the range - 1 numbers after it. */
static bool holds_range(int dtype, int64_t lowest, int64_t range)
{
    const kni_dtype_row *d = &kni_dtypes[dtype];
    if (range < 1 || (d->kind == KNI_KIND_UNSIGNED && lowest < 0)) return false;
    if (d->bits == 64 || (d->kind != KNI_KIND_SIGNED && d->kind != KNI_KIND_UNSIGNED)) return true;
    int64_t last = lowest + (range - 1), limit = INT64_C(1) << (d->bits - (d->kind == KNI_KIND_SIGNED));
    return last < limit && (d->kind == KNI_KIND_UNSIGNED || lowest >= -limit);
}

static kn_status infer_int(kni_infer *c)
{
    const kni_random_attributes *a = c->attributes;
    kn_status s = infer_drawn(c);
    int64_t last;
    if (s) return s;
    if (!holds_range((int)a->dtype, a->lowest, a->range))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%T does not hold all of %D whole numbers from %D on",
                              (int)a->dtype, a->range, a->lowest);
    if (__builtin_add_overflow(a->lowest, a->range - 1, &last))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "there is no range of %D whole numbers from %D", a->range,
                              a->lowest);
    return KN_OK;
}

DRAWS(random_int, KNI_INTS,
      "h = draw(0); l = draw(1);"
      " y = lowest + (range > 2147483648 ? fmod(h << 31 | l >> 1, range) : (h * range + (l * range >> 32)) "
      ">> 32)",
      .out = "y:index", .doc = "whole numbers from lowest to below lowest + range", .infer = infer_int,
      .schema = int_schema)

/* ---- drawing */

/* Reserves the blocks that n words need on the device that the op will run on. */
static bool reserve(uint64_t words, int64_t *key, int64_t *counter)
{
    kn_device device = kni_device_current();
    if (!device) return false;
    *key = (int64_t)kni_rng_key(device);
    *counter = (int64_t)kni_rng_reserve(device, words / 4 + (words % 4 != 0));
    return true;
}

static kn_tensor draw(const char *name, const kn_op *row, kni_random_attributes *a)
{
    int64_t n =
        a->shape.rank >= 0 && a->shape.rank <= KN_MAX_RANK ? kni_count_dims(a->shape.rank, a->shape.dims) : 0;
    uint64_t words = n > 0 ? (uint64_t)n * row->body->draws[a->dtype == KN_F64] : 0;
    if (!reserve(words, &a->key, &a->counter)) return kni_poison_latest();
    return kni_apply_as(name, row, NULL, 0, a);
}

/* The next smaller number of a float dtype. */
static double step_down(double value, kn_dtype dtype)
{
    union {
        uint16_t half;
        uint32_t single;
        uint64_t bits;
    } u = {.bits = 0};
    int bits = kni_dtypes[dtype].bits;
    kni_convert(&u, dtype, 1, &value, KN_F64, 1, 1);
    uint64_t whole = bits == 16 ? u.half : bits == 32 ? u.single : u.bits;
    uint64_t sign = UINT64_C(1) << (bits - 1);
    whole = (whole & ~sign) == 0 ? sign | 1 : whole & sign ? whole + 1 : whole - 1;
    if (bits == 16)
        u.half = (uint16_t)whole;
    else if (bits == 32)
        u.single = (uint32_t)whole;
    else
        u.bits = whole;
    kni_convert(&value, KN_F64, 1, &u, dtype, 1, 1);
    return value;
}

static double rounded(double value, kn_dtype dtype)
{
    uint64_t bits = 0;
    kni_convert(&bits, dtype, 1, &value, KN_F64, 1, 1);
    kni_convert(&value, KN_F64, 1, &bits, dtype, 1, 1);
    return value;
}

static kn_tensor uniform_as(const char *name, kn_shape shape, double lo, double hi, kn_dtype dtype)
{
    kni_random_attributes a = {.shape = shape, .dtype = dtype, .a = lo, .b = hi};
    const kn_op *row = &kni_op_random_uniform;
    if (kn_dtype_is_float(dtype) && kni_dtype_usable(dtype)) {
        double low = rounded(lo, dtype);
        a.top = rounded(hi, dtype);
        if (a.top >= hi) a.top = step_down(a.top, dtype);
        if (a.top < low) a.top = low;
    } else if (kn_dtype_is_integer(dtype)) {
        if (!(lo >= -0x1p63 && hi < 0x1p63 && lo < hi))
            return kni_fail_tensor(name, KN_ERROR_ARGUMENT, "there are no whole numbers from %g to below %g",
                                   lo, hi);
        row = &kni_op_random_int;
        a.lowest = (int64_t)kni_ceil_f64(lo);
        a.range = (int64_t)((uint64_t)(int64_t)kni_ceil_f64(hi) - (uint64_t)a.lowest);
    }
    return draw(name, row, &a);
}

kn_tensor kn_random_uniform(kn_shape shape, double lo, double hi, kn_dtype dtype)
{
    return uniform_as("random_uniform", shape, lo, hi, dtype);
}

kn_tensor kn_random_normal(kn_shape shape, double mean, double deviation, kn_dtype dtype)
{
    kni_random_attributes a = {.shape = shape, .dtype = dtype, .a = mean, .b = deviation};
    return draw("random_normal", &kni_op_random_normal, &a);
}

kn_tensor kn_random_bernoulli(kn_shape shape, double probability, kn_dtype dtype)
{
    kni_random_attributes a = {.shape = shape, .dtype = dtype, .a = probability};
    return draw("random_bernoulli", &kni_op_random_bernoulli, &a);
}

kn_tensor kn_random_int(kn_shape shape, int64_t lo, int64_t hi, kn_dtype dtype)
{
    kni_random_attributes a = {.shape = shape, .dtype = dtype, .lowest = lo};
    if (__builtin_sub_overflow(hi, lo, &a.range) || a.range <= 0)
        return kni_fail_tensor("random_int", KN_ERROR_ARGUMENT,
                               "%D to %D is no range of 1 to 2^63 - 1 whole numbers", lo, hi);
    return draw("random_int", &kni_op_random_int, &a);
}

kn_tensor kn_random_bits(kn_shape shape)
{
    kni_random_attributes a = {.shape = shape, .dtype = KN_U32};
    return draw("random_bits", &kni_op_random_bits, &a);
}

/* The numbers from 0 on that an integer dtype has, as many as fit. */
static int64_t values_of(kn_dtype dtype)
{
    int bits = kni_dtypes[dtype].bits - (kni_dtypes[dtype].kind == KNI_KIND_SIGNED);
    return bits >= 63 ? INT64_MAX : INT64_C(1) << bits;
}

kn_tensor kn_random(kn_shape shape, kn_distribution d, kn_dtype dtype)
{
    switch (d.kind) {
    case KN_RANDOM_DEFAULT:
        if (kni_is_bool(dtype)) return kn_random_bernoulli(shape, 0.5, dtype);
        if (!kn_dtype_is_integer(dtype)) return uniform_as("random", shape, 0, 1, dtype);
        return kn_random_int(shape, 0, values_of(dtype), dtype);
    case KN_RANDOM_UNIFORM:
        return uniform_as("random", shape, d.a, d.b, dtype);
    case KN_RANDOM_NORMAL:
        return kn_random_normal(shape, d.a, d.b, dtype);
    case KN_RANDOM_BERNOULLI:
        return kn_random_bernoulli(shape, d.a, dtype);
    default:
        return kni_fail_tensor("random", KN_ERROR_ARGUMENT, "%d is no distribution", (int)d.kind);
    }
}

kn_tensor kn_random_like(kn_tensor x, kn_distribution d)
{
    if (kni_is_poisoned(x)) return x;
    const kni_tensor *t = kni_resolve(x, "random_like");
    if (!t) return kni_poison_latest();
    kn_tensor error;
    if (kni_tensor_failed(t, &error)) return error;
    kni_context before = kni_route_to(x);
    kn_tensor y = kn_random(kni_shape_from_type(&t->type), d, (kn_dtype)t->type.dtype);
    kni_route_back(before);
    return y;
}

kn_tensor kn_bernoulli(kn_tensor x)
{
    kni_call call = kni_call_begin("bernoulli");
    const kni_type *t = kni_type_of(x);
    kn_dtype dtype = t ? (kn_dtype)t->dtype : KN_F32;
    x = kn_keep(x);
    kni_context before = kni_route_to(x);
    kn_tensor u = kn_random_uniform(t ? kni_shape_from_type(t) : (kn_shape){0, {0}}, 0, 1,
                                    dtype == KN_F64 ? KN_F64 : KN_F32);
    kni_route_back(before);
    return kni_call_end(call, kn_cast(kn_less(u, x), dtype));
}

/* How many of 0, 1, 2 ... a dtype holds exactly. */
static int64_t whole_numbers(kn_dtype dtype)
{
    const kni_dtype_row *row = &kni_dtypes[dtype];
    int bits = row->kind == KNI_KIND_FLOAT    ? row->mantissa + 1
               : row->kind == KNI_KIND_SIGNED ? row->bits - 1
               : row->kind == KNI_KIND_BOOL   ? 1
                                              : row->bits;
    return bits >= 63 ? INT64_MAX : (INT64_C(1) << bits) + (row->kind == KNI_KIND_FLOAT);
}

kn_tensor kn_random_permutation(int64_t n, kn_dtype dtype)
{
    kni_call call = kni_call_begin("random_permutation");
    if (n < 0) return kni_call_fail(call, KN_ERROR_ARGUMENT, "there are no permutations of %D numbers", n);
    if (kni_dtype_usable(dtype) && n > whole_numbers(dtype))
        return kni_call_fail(call, KN_ERROR_ARGUMENT,
                             "%T holds only %D different whole numbers from 0 on, not %D", (int)dtype,
                             whole_numbers(dtype), n);
    kn_tensor order = kn_argsort(kn_random_int(KN_SHAPE(n), 0, INT64_MAX, KN_I64), 0, false);
    return kni_call_end(call, dtype == KN_I64 ? order : kn_cast(order, dtype));
}

/* ---- categorical: indices drawn with the probabilities of a row */

static const kn_attribute categorical_schema[] = {
    KNI_ATTR(kni_categorical_attributes, samples, KNI_ATTR_INT, KNI_STATIC),
    KNI_ATTR(kni_categorical_attributes, key, KNI_ATTR_INT, KNI_DYNAMIC),
    KNI_ATTR(kni_categorical_attributes, counter, KNI_ATTR_INT, KNI_DYNAMIC),
    {0}};

static kn_status infer_categorical(kni_infer *c)
{
    const kni_categorical_attributes *a = c->attributes;
    const kni_type *x = c->in[0];
    kn_status s = kni_infer_rank(c, 0, 1, KN_MAX_RANK);
    if (s == KN_OK) s = kni_infer_dtype(c, 0, c->row->dtypes);
    if (s) return s;
    if (!kni_dim_is_size(a->samples))
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "%D samples cannot be drawn", a->samples);
    if (x->dims[x->rank - 1] == 0)
        return kni_infer_fail(c, KN_ERROR_SHAPE, "%S has no probabilities to draw by", x);
    *c->out[0] = *x;
    c->out[0]->weak = 0;
    c->out[0]->dtype = KN_I64;
    c->out[0]->dims[x->rank - 1] = a->samples;
    return KN_OK;
}

static kn_status launch_categorical(kni_launch *l)
{
    const kni_categorical_attributes *a = l->attributes;
    l->kernel = &kni_kernel_categorical;
    l->items = kni_count(l->out[0]);
    kni_launch_int(l, l->in[0]->dims[l->in[0]->rank - 1]);
    kni_launch_int(l, a->samples);
    kni_launch_int(l, a->key);
    kni_launch_int(l, a->counter);
    return KN_OK;
}

OP(categorical, .doc = "y[r, s] = k with probability p[r, k] / sum of p[r]", .min_in = 1, .max_in = 1,
   .n_out = 1, .kind = KNI_RANDOM, .dtypes = KNI_NUMBERS, .flags = KNI_FLAG_RANDOM | KNI_FLAG_NO_GRADIENT,
   .schema = categorical_schema, .attribute_bytes = sizeof(kni_categorical_attributes),
   .infer = infer_categorical, .launch = launch_categorical)

kn_tensor kn_categorical(kn_tensor probabilities, int64_t samples)
{
    const kni_type *t = kni_type_of(probabilities);
    kni_categorical_attributes a = {samples, 0, 0};
    uint64_t rows = 1;
    for (int i = 0; t && i < t->rank - 1; i++) rows *= (uint64_t)t->dims[i];
    kni_context before = kni_route_to(probabilities);
    bool good = !t || reserve(samples > 0 ? rows * (uint64_t)samples * 2 : 0, &a.key, &a.counter);
    kni_route_back(before);
    return good ? kni_apply(&kni_op_categorical, &probabilities, 1, &a) : kni_poison_latest();
}
