/* Initializers: PyTorch's formulas on the calling thread's device. */
#include "core/named_call.h"
#include "core/past.h"
#include "support/failure.h"
#include "support/scalar_math.h"
#include <kn/creation.h>
#include <kn/elementwise.h>
#include <kn/linalg.h>
#include <kn/nn/init.h>
#include <kn/shape.h>
#include <kn/tensor.h>

typedef struct fans {
    double in, out;
} fans;

/* Of a weight [out, in, kernel...], unless the caller knows better; false when neither tells. */
static bool find_fans(fans *f, kn_shape shape, int64_t fan_in, int64_t fan_out)
{
    *f = (fans){(double)fan_in, (double)fan_out};
    if (fan_in > 0 && fan_out > 0) return true;
    if (shape.rank >= 2) {
        double field = 1;
        for (int i = 2; i < shape.rank; i++) field *= (double)shape.dims[i];
        if (fan_in <= 0) f->in = (double)shape.dims[1] * field;
        if (fan_out <= 0) f->out = (double)shape.dims[0] * field;
    }
    return fan_in > 0 || shape.rank >= 2;
}

/* As torch.nn.init.orthogonal_: Q of a normal matrix, with signs so that R's diagonal is positive. */
static kn_tensor orthogonal(kn_shape shape, double gain, kn_dtype dtype)
{
    if (shape.rank < 2) return kn_poison(KN_ERROR_SHAPE, "kn_initialize: orthogonal needs at least two axes");
    int64_t rows = shape.dims[0], columns = 1;
    for (int i = 1; i < shape.rank; i++) columns *= shape.dims[i];
    kn_scope scope = kn_scope_begin();
    bool wide = rows < columns;
    kn_qr_result qr =
        kn_qr(kn_random_normal(wide ? KN_SHAPE(columns, rows) : KN_SHAPE(rows, columns), 0, 1, dtype), false);
    kn_tensor diagonal = kn_keep(kn_diag(qr.r, 0));
    kn_tensor signs =
        kn_where(kn_less_scalar(diagonal, 0), kn_full_like(diagonal, -gain), kn_full_like(diagonal, gain));
    kn_tensor q = kn_mul(qr.q, signs);
    return kn_scope_end(scope, kn_reshape(wide ? kn_t(q) : q, shape));
}

static kn_tensor even(double bound, kn_shape shape, kn_dtype dtype)
{
    return kn_random_uniform(shape, -bound, bound, dtype);
}

static kn_tensor draw(const kn_initializer *i, kn_shape shape, kn_dtype dtype, fans f)
{
    double gain = kn_real_or(i->gain, 1), fan = i->fan_out ? f.out : f.in;
    if (fan < 1) fan = 1;
    double both = f.in + f.out < 1 ? 1 : f.in + f.out;
    switch (i->kind) {
    case KN_INIT_DEFAULT:
        return even(1 / kni_sqrt(f.in < 1 ? 1 : f.in), shape, dtype);
    case KN_INIT_CONSTANT:
        return kn_full(shape, i->a, dtype);
    case KN_INIT_ONES:
        return kn_ones(shape, dtype);
    case KN_INIT_ZEROS:
        return kn_zeros(shape, dtype);
    case KN_INIT_UNIFORM:
        return kn_random_uniform(shape, i->a, i->b, dtype);
    case KN_INIT_NORMAL:
        return kn_random_normal(shape, i->a, i->b, dtype);
    case KN_INIT_KAIMING_UNIFORM:
        return even(gain * kni_sqrt(3 / fan), shape, dtype);
    case KN_INIT_KAIMING_NORMAL:
        return kn_random_normal(shape, 0, gain / kni_sqrt(fan), dtype);
    case KN_INIT_XAVIER_UNIFORM:
        return even(gain * kni_sqrt(6 / both), shape, dtype);
    case KN_INIT_XAVIER_NORMAL:
        return kn_random_normal(shape, 0, gain * kni_sqrt(2 / both), dtype);
    case KN_INIT_ORTHOGONAL:
        return orthogonal(shape, gain, dtype);
    }
    return kni_poisoned(KN_ERROR_ARGUMENT, "kn_initialize: there is no initializer of kind %d", (int)i->kind);
}

static bool needs_fans(kn_init_kind kind)
{
    return kind == KN_INIT_DEFAULT || (kind >= KN_INIT_KAIMING_UNIFORM && kind <= KN_INIT_XAVIER_NORMAL);
}

kn_tensor kn_initialize(const kn_initializer *initializer, kn_shape shape, kn_dtype dtype, int64_t fan_in,
                        int64_t fan_out)
{
    KNI_NAMED_CALL;
    static const kn_initializer usual = {0};
    const kn_initializer *i = initializer ? initializer : &usual;
    fans f = {0, 0};
    if (!kni_dtype_is_there(dtype) || kn_dtype_is_stored(dtype))
        return kn_poison(kni_fail_dtype("initialize", dtype), NULL);
    if (!kn_dtype_is_float(dtype))
        return kni_poisoned(KN_ERROR_DTYPE, "kn_initialize: weights of dtype %s; they need a float dtype",
                            kn_dtype_name(dtype));
    if (shape.rank < 0 || shape.rank > KN_MAX_RANK)
        return kni_poisoned(KN_ERROR_SHAPE, "kn_initialize: rank %d is outside 0 to %d", (int)shape.rank,
                            KN_MAX_RANK);
    if (needs_fans(i->kind) && !find_fans(&f, shape, fan_in, fan_out))
        return kni_poisoned(KN_ERROR_SHAPE,
                            "kn_initialize: a tensor of rank %d has no fan: give fan_in (and fan_out)",
                            (int)shape.rank);
    return draw(i, shape, dtype, f);
}

kn_status kn_param_initialize(kn_param *param, const kn_initializer *initializer, kn_shape shape,
                              kn_dtype dtype, int64_t fan_in, int64_t fan_out)
{
    if (!param) return kni_failure(KN_ERROR_ARGUMENT, "kn_param_initialize: the param is NULL");
    kn_param made = kn_param_make(kn_initialize(initializer, shape, dtype, fan_in, fan_out));
    kn_status s = kni_failure_of(made.handle);
    *param = s == KN_OK ? made : (kn_param){KN_NONE};
    return s;
}
