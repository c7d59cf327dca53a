/* The fft row and the functions that transform along one axis. */
#include "core/math/math.h"
#include "ops/generated/signal_kernels.h"
#include "ops/movement_rows.h"
#include "ops/native.h"
#include "ops/signal_rows.h"

extern const kni_native kni_cpu_fft;

static const kn_attribute fft_schema[] = {KNI_ATTR(kni_fft_attributes, axis, KNI_ATTR_INT, KNI_STATIC),
                                          KNI_ATTR(kni_fft_attributes, n, KNI_ATTR_INT, KNI_STATIC),
                                          KNI_ATTR(kni_fft_attributes, inverse, KNI_ATTR_INT, KNI_STATIC),
                                          KNI_ATTR(kni_fft_attributes, norm, KNI_ATTR_INT, KNI_STATIC),
                                          {0}};

/* Fours first, then primes; false when one is too large. */
static bool factorise(int64_t n, int64_t *factors)
{
    int count = 0;
    for (; n % 4 == 0; n /= 4) factors[count++] = 4;
    for (int64_t f = 2; f <= KNI_FFT_LARGEST_FACTOR && n > 1; f++)
        for (; n % f == 0; n /= f) factors[count++] = f;
    factors[count] = 0;
    return n == 1;
}

kni_fft_plan kni_fft_plan_of(int64_t n)
{
    kni_fft_plan plan = {.n = n, .length = n};
    if (n < 1 || factorise(n, plan.factors)) return plan;
    plan.length = 1;
    while (plan.length < 2 * n - 1) plan.length *= 2;
    factorise(plan.length, plan.factors);
    return plan;
}

double kni_fft_scale(const kni_fft_attributes *a, int64_t n)
{
    if (a->norm == KN_FFT_ORTHO) return 1 / kni_sqrt_f64((double)n);
    return (a->norm == KN_FFT_BACKWARD) == (a->inverse != 0) ? 1 / (double)n : 1;
}

static kn_status infer_fft(kni_infer *c)
{
    kni_fft_attributes *a = c->attributes;
    const kni_type *x = c->in[0], *imag = c->n_in > 1 ? c->in[1] : NULL;
    kn_status s = kni_infer_dtype(c, 0, c->row->dtypes);
    if (s == KN_OK) s = kni_infer_rank(c, 0, 1, KN_MAX_RANK);
    if (s == KN_OK) s = kni_infer_axis(c, &a->axis, x->rank);
    if (s) return s;
    if (imag && (imag->dtype != x->dtype || !kni_same_dims(imag, x)))
        return kni_infer_fail(c, KN_ERROR_SHAPE, "the real part is %T %S and the imaginary part %T %S",
                              (int)x->dtype, x, (int)imag->dtype, imag);
    if (a->n < 0 || a->n > INT64_C(1) << 30)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "the length %D is not between 1 and 2^30", a->n);
    if (a->norm < KN_FFT_BACKWARD || a->norm > KN_FFT_FORWARD)
        return kni_infer_fail(c, KN_ERROR_ARGUMENT, "there is no norm %D", a->norm);
    kn_dim n = a->n ? a->n : x->dims[a->axis];
    if (n == 0) return kni_infer_fail(c, KN_ERROR_SHAPE, "axis %D of %S is empty: give a length", a->axis, x);
    for (int k = 0; k < 2; k++) {
        *c->out[k] = *x;
        c->out[k]->weak = 0;
        c->out[k]->dims[a->axis] = n;
    }
    return KN_OK;
}

static kn_status launch_fft(kni_launch *l)
{
    const kni_fft_attributes *a = l->attributes;
    const kni_type *x = l->in[0], *y = l->out[0];
    int64_t n = y->dims[a->axis];
    kni_fft_plan plan = kni_fft_plan_of(n);
    int64_t room = plan.length == n ? 6 * n : 8 * plan.length + 2 * n;
    l->kernel = &kni_kernel_fft;
    l->items = kni_count(y) / n;
    l->n_temps = 1;
    l->temps[0] = l->items * room;
    kni_launch_int(l, l->n_in > 1 && l->in[1]);
    kni_launch_int(l, x->dims[a->axis]);
    kni_launch_int(l, kni_infer_product(y, (int)a->axis + 1, y->rank));
    kni_launch_int(l, n);
    kni_launch_int(l, plan.length);
    kni_launch_int(l, a->inverse != 0);
    kni_launch_int(l, room);
    kni_launch_ints(l, plan.factors, KNI_FFT_FACTORS);
    kni_launch_real(l, kni_fft_scale(a, n));
    return KN_OK;
}

OP(fft, .doc = "y[k] = sum over j of x[j] e^(-2 pi i j k / n); real and imaginary parts", .min_in = 1,
   .max_in = 2, .n_out = 2, .kind = KNI_LINALG, .dtypes = KNI_FLOATS, .tolerance = {8, 1},
   .schema = fft_schema, .attribute_bytes = sizeof(kni_fft_attributes), .infer = infer_fft,
   .launch = launch_fft, .native = &kni_cpu_fft)

static kn_complex apply_fft(kn_complex x, const kni_fft_attributes *a)
{
    kn_tensor in[2] = {x.real, x.imag}, out[2];
    kni_apply_many(&kni_op_fft, in, 2, a, out, 2);
    return (kn_complex){out[0], out[1]};
}

/* An axis of n elements cut or filled with zeros to size. */
static kn_tensor fit_axis(kn_tensor x, int axis, int rank, int64_t n, int64_t size)
{
    if (n == size) return x;
    if (n > size) return kn_narrow(x, axis, 0, size);
    kn_pad_args args = {0};
    args.before.rank = args.after.rank = rank - axis;
    args.after.dims[0] = size - n;
    return kn_pad(x, &args);
}

/* The adjoint: the other direction with the same factor, then the axis as it was. */
GRADIENT(fft)
{
    kni_fft_attributes a = *(const kni_fft_attributes *)v->attributes;
    const kni_type *x = &v->in_types[0], *y = &v->out_types[0];
    int axis = (int)a.axis;
    kn_complex dy = {v->dy[0], v->dy[1]};
    if (!dy.real.bits) dy.real = kn_keep(kn_zeros_like(dy.imag));
    a.inverse = !a.inverse;
    a.norm = KN_FFT_FORWARD - a.norm;
    a.n = 0;
    kn_complex dx = apply_fft(dy, &a);
    kni_vjp_set(v, 0, fit_axis(dx.real, axis, x->rank, y->dims[axis], x->dims[axis]));
    if (v->n_in > 1 && kni_vjp_needs(v, 1))
        kni_vjp_set(v, 1, fit_axis(dx.imag, axis, x->rank, y->dims[axis], x->dims[axis]));
    return KN_OK;
}

static kni_fft_attributes attributes_of(int32_t axis, const kn_fft_args *args, bool inverse)
{
    return (kni_fft_attributes){axis, args ? args->n : 0, inverse, args ? args->norm : KN_FFT_BACKWARD};
}

kn_complex kn_fft(kn_complex x, int32_t axis, const kn_fft_args *args)
{
    kni_fft_attributes a = attributes_of(axis, args, false);
    return apply_fft(x, &a);
}

static kn_complex end_complex(kni_call call, kn_complex y)
{
    kn_tensor out[2] = {y.real, y.imag};
    kni_call_end_many(call, out, 2);
    return (kn_complex){out[0], out[1]};
}

kn_complex kn_ifft(kn_complex x, int32_t axis, const kn_fft_args *args)
{
    kni_fft_attributes a = attributes_of(axis, args, true);
    kni_call call = kni_call_begin("ifft");
    return end_complex(call, apply_fft(x, &a));
}

kn_complex kn_rfft(kn_tensor x, int32_t axis, const kn_fft_args *args)
{
    kni_fft_attributes a = attributes_of(axis, args, false);
    kni_call call = kni_call_begin("rfft");
    kn_complex y = apply_fft((kn_complex){x, KN_NONE}, &a);
    if (kn_ok(y.real)) {
        int64_t half = kn_size(y.real, axis) / 2 + 1;
        y = (kn_complex){kn_narrow(y.real, axis, 0, half), kn_narrow(y.imag, axis, 0, half)};
    }
    return end_complex(call, y);
}

/* 1 for frequencies that are their own mirror image, 2 for the others: [half, 1, ...] along the axis. */
static kn_tensor mirror_weights(const kni_type *x, int axis, int64_t half, int64_t n)
{
    kn_shape shape = {.rank = x->rank - axis};
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = 1;
    shape.dims[0] = half;
    kn_tensor k = kn_keep(kn_arange(0, (double)half, 1, KN_I64));
    kn_tensor alone = kn_logical_or(kn_equal_scalar(k, 0), kn_equal_scalar(kn_mul_scalar(k, 2), (double)n));
    kn_tensor weights = kn_rsub_scalar(kn_cast(alone, (kn_dtype)x->dtype), 2);
    return kn_reshape(weights, shape);
}

/* The real part of the inverse of the half spectrum with its inner frequencies doubled. */
kn_tensor kn_irfft(kn_complex x, int32_t axis, const kn_fft_args *args)
{
    const kni_type *t = kni_type_of(x.real);
    kni_call call = kni_call_begin("irfft");
    kni_fft_attributes a = attributes_of(axis, args, true);
    if (!t || t->rank == 0) return kni_call_end(call, apply_fft(x, &a).real);
    int32_t at = axis;
    if (!kni_check_axis("irfft", &at, t->rank)) return kni_call_end(call, kni_poison_latest());
    kni_type type = *t;
    int64_t size = type.dims[at];
    if (a.n == 0) a.n = 2 * (size - 1);
    if (a.n < 0)
        return kni_call_fail(call, KN_ERROR_ARGUMENT, "the length %D is not between 1 and 2^30", a.n);
    if (a.n == 0)
        return kni_call_fail(call, KN_ERROR_SHAPE, "axis %d of %S gives no elements: give a length", (int)at,
                             t);
    int64_t half = a.n / 2 + 1;
    kni_thread *thread = kni_thread_self();
    kni_context before = kni_context_push(thread);
    thread->context.current = kni_peek(x.real)->device;
    kn_tensor weights = kn_keep(mirror_weights(&type, at, half, a.n));
    kni_context_pop(thread, &before);
    x.real = kn_mul(fit_axis(x.real, at, type.rank, size, half), weights);
    if (x.imag.bits) x.imag = kn_mul(fit_axis(x.imag, at, type.rank, size, half), weights);
    return kni_call_end(call, apply_fft(x, &a).real);
}
