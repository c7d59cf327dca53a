/* Gradients against central differences, in f64. */
#include "core/objects.h"
#include "wrap/tape.h"

/* The sum of f's result times a fixed cotangent, so that any result gives one number. */
typedef struct checker {
    kn_gradcheck_fn f;
    void *context;
    int32_t n;
    kn_device device;
} checker;

static kn_tensor weighted(const checker *c, const kn_tensor *inputs)
{
    kn_tensor y = kn_keep(c->f(c->context, inputs, c->n));
    if (!kn_ok(y)) return y;
    kn_shape shape = kn_shape_of_tensor(y);
    int64_t n = kn_count(y);
    kn_tensor w = kn_reshape(kn_cos(kn_add_scalar(kn_arange(0, (double)n, 1, KN_F64), 0.5)), shape);
    return kn_sum(kn_mul(kn_cast(y, KN_F64), w), KN_AXES_ALL, false);
}

/* f at the inputs with input i replaced by these values. */
static double value_at(const checker *c, const kn_tensor *inputs, int32_t i, const double *values,
                       kn_shape shape)
{
    kn_tensor moved[16];
    kn_scope scope = kn_scope_begin();
    for (int32_t k = 0; k < c->n; k++) moved[k] = inputs[k];
    moved[i] = kn_keep(kn_from(values, KN_F64, shape));
    double v = kn_item(weighted(c, moved));
    kn_scope_end(scope, KN_NONE);
    return v;
}

static kn_status compare(const checker *c, const kn_tensor *inputs, int32_t i, kn_tensor gradient,
                         double tolerance)
{
    const double step = 1e-6;
    int64_t n = kn_count(inputs[i]);
    kn_shape shape = kn_shape_of_tensor(inputs[i]);
    size_t bytes = (size_t)n * sizeof(double);
    double *x = kni_allocate(bytes), *g = kni_allocate(bytes);
    kn_status s = x && g ? KN_OK : kni_fail(KN_ERROR_MEMORY, "kn_gradcheck: no memory");
    if (s == KN_OK) s = kn_read_as(inputs[i], KN_F64, x, bytes);
    if (s == KN_OK) s = kn_read_as(gradient, KN_F64, g, bytes);
    for (int64_t k = 0; k < n && s == KN_OK; k++) {
        double at = x[k], h = step * (at < 0 ? 1 - at : 1 + at);
        x[k] = at + h;
        double up = value_at(c, inputs, i, x, shape);
        x[k] = at - h;
        double down = value_at(c, inputs, i, x, shape), slope = (up - down) / (2 * h);
        x[k] = at;
        double size = slope < 0 ? -slope : slope, gap = g[k] - slope;
        if (!((gap < 0 ? -gap : gap) <= tolerance * (1 + size)))
            s = kni_fail(KN_ERROR_NUMERIC,
                         "kn_gradcheck: input %d, element %D: the gradient is %g, differences give %g", i, k,
                         g[k], slope);
    }
    kni_free(x, bytes);
    kni_free(g, bytes);
    return s;
}

static kn_status check(checker *c, const kn_tensor *inputs, double tolerance)
{
    kn_tensor leaves[16], grads[16];
    for (int32_t i = 0; i < c->n; i++) {
        leaves[i] = kn_require_grad(kn_detach(kn_cast(kn_keep(kn_alias(inputs[i])), KN_F64)));
        if (!kn_ok(leaves[i])) return kni_failure_again(leaves[i]);
    }
    kn_tensor y = kn_keep(weighted(c, leaves));
    kn_status s = kn_grad(&y, NULL, 1, leaves, c->n, 0, grads);
    for (int32_t i = 0; i < c->n && s == KN_OK; i++) {
        kn_no_grad_begin();
        s = compare(c, leaves, i, kn_keep(grads[i]), tolerance);
        kn_no_grad_end();
    }
    return s;
}

kn_status kn_gradcheck(kn_gradcheck_fn f, void *context, const kn_tensor *inputs, int32_t n, double tolerance)
{
    if (!f || !inputs || n < 1 || n > 16)
        return kni_fail(KN_ERROR_ARGUMENT, "kn_gradcheck: needs a function and 1 to 16 inputs");
    const kni_tensor *first = kni_is_poisoned(inputs[0]) ? NULL : kni_resolve(inputs[0], "gradcheck");
    if (!first) return kni_is_poisoned(inputs[0]) ? kni_failure_again(inputs[0]) : KN_ERROR_HANDLE;
    kni_thread *t = kni_thread_self();
    checker c = {f, context, n, first->device};
    kni_context before = kni_context_push(t);
    kn_scope scope = kn_scope_begin();
    t->context.current = first->device;
    kn_status s = check(&c, inputs, tolerance > 0 ? tolerance : 1e-5);
    kni_context_pop(t, &before);
    kn_scope_end(scope, KN_NONE);
    return s;
}
