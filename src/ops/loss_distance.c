/* Losses of two tensors of one shape, made of elementwise ops. Half types are computed in f32 and rounded once. */
#include "core/math/bits.h"
#include "ops/linalg_rows.h"
#include "ops/loss.h"
#include "ops/norm.h"

bool kni_loss_begin(kni_call call, kn_tensor *x, kn_tensor *target, int *dtype, kn_tensor *failed)
{
    const kni_tensor *a = kni_peek(*x), *b = kni_peek(*target);
    kn_tensor error;
    if (!a || !b || kni_tensor_failed(a, &error) || kni_tensor_failed(b, &error)) {
        *failed = kni_call_end(call, kn_sub(*x, *target));
        return false;
    }
    *dtype = kn_dtype_promote((kn_dtype)a->type.dtype, (kn_dtype)b->type.dtype);
    if (!kn_dtype_is_float((kn_dtype)*dtype)) {
        *failed = kni_call_fail(call, KN_ERROR_DTYPE, "does not take %T and %T: convert with kn_cast()",
                                (int)a->type.dtype, (int)b->type.dtype);
        return false;
    }
    *dtype = kni_loss_dtype(*dtype);
    int wide = kni_sum_dtype(*dtype);
    *x = kn_keep(kni_as(*x, wide));
    *target = kn_keep(kni_as(*target, wide));
    return true;
}

/* What every loss of x and target is computed from. */
typedef struct pair {
    kni_call call;
    kn_tensor x, target, failed;
    int dtype;
} pair;

static bool begin(pair *p, const char *name, kn_tensor x, kn_tensor target)
{
    p->call = kni_call_begin(name);
    p->x = x;
    p->target = target;
    return kni_loss_begin(p->call, &p->x, &p->target, &p->dtype, &p->failed);
}

static kn_tensor end(const pair *p, kn_tensor loss, kn_reduction reduction)
{
    return kni_call_end(p->call, kni_loss_reduce(loss, reduction, p->dtype));
}

kn_tensor kn_mse_loss(kn_tensor x, kn_tensor target, kn_reduction reduction)
{
    pair p;
    if (!begin(&p, "mse_loss", x, target)) return p.failed;
    return end(&p, kn_square(kn_sub(p.x, p.target)), reduction);
}

kn_tensor kn_l1_loss(kn_tensor x, kn_tensor target, kn_reduction reduction)
{
    pair p;
    if (!begin(&p, "l1_loss", x, target)) return p.failed;
    return end(&p, kn_abs(kn_sub(p.x, p.target)), reduction);
}

/* square d^2 where |d| is below (or at) the limit, else slope |d| - rest. */
static kn_tensor piecewise(const pair *p, double limit, bool closed, double square, double slope, double rest)
{
    kn_tensor d = kn_keep(kn_sub(p->x, p->target)), size = kn_keep(kn_abs(d));
    kn_tensor near = closed ? kn_less_equal_scalar(size, limit) : kn_less_scalar(size, limit);
    kn_tensor far = kn_sub_scalar(kn_mul_scalar(size, slope), rest);
    return kn_where(near, kn_mul_scalar(kn_square(d), square), far);
}

kn_tensor kn_smooth_l1_loss(kn_tensor x, kn_tensor target, double beta, kn_reduction reduction)
{
    pair p;
    if (!begin(&p, "smooth_l1_loss", x, target)) return p.failed;
    if (!(beta >= 0))
        return kni_call_fail(p.call, KN_ERROR_ARGUMENT, "beta is %g: it must be 0 or more", beta);
    if (beta == 0) return end(&p, kn_abs(kn_sub(p.x, p.target)), reduction);
    return end(&p, piecewise(&p, beta, false, 0.5 / beta, 1, 0.5 * beta), reduction);
}

kn_tensor kn_huber_loss(kn_tensor x, kn_tensor target, double delta, kn_reduction reduction)
{
    pair p;
    if (!begin(&p, "huber_loss", x, target)) return p.failed;
    if (!(delta > 0))
        return kni_call_fail(p.call, KN_ERROR_ARGUMENT, "delta is %g: it must be above 0", delta);
    return end(&p, piecewise(&p, delta, true, 0.5, delta, 0.5 * delta * delta), reduction);
}

kn_tensor kn_kl_div_loss(kn_tensor x, kn_tensor target, const kn_kl_div_args *args)
{
    pair p;
    kn_kl_div_args a = args ? *args : (kn_kl_div_args){0};
    if (!begin(&p, "kl_div_loss", x, target)) return p.failed;
    kn_tensor loss;
    if (a.log_target)
        loss = kn_mul(kn_exp(p.target), kn_sub(p.target, p.x));
    else
        loss = kn_sub(kn_xlogy(p.target, p.target), kn_mul(p.target, p.x));
    if (!a.batch_mean || (unsigned)a.reduction > KN_REDUCTION_NONE) return end(&p, loss, a.reduction);
    double batch = kn_rank(p.x) > 0 ? (double)kn_size(p.x, 0) : 1;
    return end(&p, kn_div_scalar(kn_sum(loss, KN_AXES_ALL, false), batch), KN_REDUCTION_NONE);
}

kn_tensor kn_poisson_nll_loss(kn_tensor x, kn_tensor target, const kn_poisson_nll_args *args)
{
    pair p;
    kn_poisson_nll_args a = args ? *args : (kn_poisson_nll_args){0};
    if (!begin(&p, "poisson_nll_loss", x, target)) return p.failed;
    double eps = kn_real_or(a.eps, 1e-8);
    if (!(eps >= 0)) return kni_call_fail(p.call, KN_ERROR_ARGUMENT, "eps is %g: it must be 0 or more", eps);
    kn_tensor loss;
    if (a.rates)
        loss = kn_sub(p.x, kn_mul(p.target, kn_log(kn_add_scalar(p.x, eps))));
    else
        loss = kn_sub(kn_exp(p.x), kn_mul(p.target, p.x));
    if (a.full) {
        kn_tensor above = kn_keep(kn_greater_scalar(p.target, 1));
        kn_tensor t = kn_keep(kn_where(above, p.target, kni_number(p.target, 1)));
        kn_tensor stirling = kn_sub(kn_mul(t, kn_log(t)), t);
        stirling = kn_add(stirling, kn_mul_scalar(kn_log(kn_mul_scalar(t, 6.2831853071795865)), 0.5));
        loss = kn_add(loss, kn_where(above, stirling, kni_number(t, 0)));
    }
    return end(&p, loss, a.reduction);
}

kn_tensor kn_gaussian_nll_loss(kn_tensor x, kn_tensor target, kn_tensor variance,
                               const kn_gaussian_nll_args *args)
{
    pair p;
    kn_gaussian_nll_args a = args ? *args : (kn_gaussian_nll_args){0};
    if (!begin(&p, "gaussian_nll_loss", x, target)) return p.failed;
    double eps = kn_real_or(a.eps, 1e-6);
    if (!(eps >= 0)) return kni_call_fail(p.call, KN_ERROR_ARGUMENT, "eps is %g: it must be 0 or more", eps);
    kn_tensor v = kn_keep(kni_as(variance, kni_sum_dtype(p.dtype)));
    /* The lower limit is no part of the derivative: a small variance still gets its gradient. */
    v = kn_keep(kn_add(v, kn_detach(kn_sub(kn_clamp_min(v, eps), v))));
    kn_tensor loss = kn_add(kn_log(v), kn_div(kn_square(kn_sub(p.x, p.target)), v));
    loss = kn_mul_scalar(loss, 0.5);
    if (a.full) loss = kn_add_scalar(loss, 0.91893853320467274);
    return end(&p, loss, a.reduction);
}

kn_tensor kn_hinge_embedding_loss(kn_tensor x, kn_tensor target, double margin, kn_reduction reduction)
{
    pair p;
    if (!begin(&p, "hinge_embedding_loss", x, target)) return p.failed;
    kn_tensor zero = kn_keep(kni_number(p.x, 0));
    kn_tensor below =
        kn_where(kn_not_equal_scalar(p.target, 1), kn_clamp_min(kn_rsub_scalar(p.x, margin), 0), zero);
    kn_tensor itself = kn_where(kn_not_equal_scalar(p.target, -1), p.x, zero);
    return end(&p, kn_add(below, itself), reduction);
}

kn_tensor kn_cosine_embedding_loss(kn_tensor a, kn_tensor b, kn_tensor target, const kn_margin_args *args)
{
    pair p;
    kn_margin_args m = args ? *args : (kn_margin_args){0};
    m.margin = kn_real_or(m.margin, 0);
    if (!begin(&p, "cosine_embedding_loss", a, b)) return p.failed;
    if (kn_rank(p.x) < 1) return kni_call_fail(p.call, KN_ERROR_SHAPE, "a and b must have at least one axis");
    kni_broadcast_both(&p.x, &p.target);
    kn_ints axis = KN_AXES(-1);
    kn_tensor size_a = kn_add_scalar(kn_sum(kn_square(p.x), axis, false), 1e-12);
    kn_tensor size_b = kn_add_scalar(kn_sum(kn_square(p.target), axis, false), 1e-12);
    kn_tensor product = kn_sum(kn_mul(p.x, p.target), axis, false);
    kn_tensor cosine = kn_keep(kn_div(product, kn_sqrt(kn_mul(size_a, size_b))));
    kn_tensor zero = kn_keep(kni_number(cosine, 0));
    target = kn_keep(target);
    kn_tensor same = kn_where(kn_equal_scalar(target, 1), kn_rsub_scalar(cosine, 1), zero);
    kn_tensor apart = kn_clamp_min(kn_sub_scalar(cosine, m.margin), 0);
    apart = kn_where(kn_equal_scalar(target, -1), apart, zero);
    return end(&p, kn_add(same, apart), m.reduction);
}

kn_tensor kn_margin_ranking_loss(kn_tensor a, kn_tensor b, kn_tensor target, const kn_margin_args *args)
{
    pair p;
    kn_margin_args m = args ? *args : (kn_margin_args){0};
    m.margin = kn_real_or(m.margin, 0);
    if (!begin(&p, "margin_ranking_loss", a, b)) return p.failed;
    kn_tensor gap = kn_mul(kni_widen(target), kn_sub(p.x, p.target));
    return end(&p, kn_clamp_min(kn_rsub_scalar(gap, m.margin), 0), m.reduction);
}

/* (sum |a - b + eps|^p)^(1/p) over the last axis. */
static kn_tensor distance(kn_tensor a, kn_tensor b, double power, double eps)
{
    kn_ints axis = KN_AXES(-1);
    kn_tensor d = kn_add_scalar(kn_sub(a, b), eps);
    if (power == 2) return kn_sqrt(kn_sum(kn_square(d), axis, false));
    if (power == 1) return kn_sum(kn_abs(d), axis, false);
    if (power == KNI_INF_F64) return kn_max(kn_abs(d), axis, false);
    return kn_pow_scalar(kn_sum(kn_pow_scalar(kn_abs(d), power), axis, false), 1 / power);
}

kn_tensor kn_triplet_margin_loss(kn_tensor anchor, kn_tensor positive, kn_tensor negative,
                                 const kn_triplet_args *args)
{
    pair p;
    kn_triplet_args t = args ? *args : (kn_triplet_args){0};
    t.margin = kn_real_or(t.margin, 1);
    if (t.p == 0) t.p = 2;
    t.eps = kn_real_or(t.eps, 1e-6);
    if (!begin(&p, "triplet_margin_loss", anchor, positive)) return p.failed;
    if (!(t.margin >= 0))
        return kni_call_fail(p.call, KN_ERROR_ARGUMENT, "margin is %g: it must be 0 or more", t.margin);
    if (kn_rank(p.x) < 1)
        return kni_call_fail(p.call, KN_ERROR_SHAPE, "the anchor must have at least one axis");
    negative = kn_keep(kni_widen(negative));
    kn_tensor near = distance(p.x, p.target, t.p, t.eps), far = distance(p.x, negative, t.p, t.eps);
    if (t.swap) far = kn_minimum(far, distance(p.target, negative, t.p, t.eps));
    return end(&p, kn_clamp_min(kn_add_scalar(kn_sub(near, far), t.margin), 0), t.reduction);
}
