/* Updates of params: ai.onnx.preview.training. The rate and the step are tensors, so each formula is written out. */
#include "onnx/convert/convert_numbers.h"
#include <string.h>

/* A formula is written as calls: add(u, a, b). All values have the dtype of the param. */
typedef struct update {
    kni_conversion *c;
    const kni_onnx_node *node;
    kn_dtype dtype;
    kni_datum rate, step;
} update;

static kni_datum add(const update *u, kni_datum a, kni_datum b) { return kni_emit2(u->c, "add", a, b); }
static kni_datum sub(const update *u, kni_datum a, kni_datum b) { return kni_emit2(u->c, "sub", a, b); }
static kni_datum mul(const update *u, kni_datum a, kni_datum b) { return kni_emit2(u->c, "mul", a, b); }
static kni_datum over(const update *u, kni_datum a, kni_datum b) { return kni_emit2(u->c, "div", a, b); }
static kni_datum root(const update *u, kni_datum x) { return kni_emit1(u->c, "sqrt", x); }
static kni_datum number(const update *u, double value) { return kni_real_number(u->c, value, u->dtype); }
static kni_datum times(const update *u, double value, kni_datum x)
{
    return value == 1 ? x : mul(u, x, number(u, value));
}
static double attribute(const update *u, const char *name, double otherwise)
{
    return kni_node_real(u->node, name, otherwise);
}

/* The gradient with that of the regularization. */
static kni_datum regularized(const update *u, kni_datum x, kni_datum gradient)
{
    double norm = attribute(u, "norm_coefficient", 0);
    return norm == 0 ? gradient : add(u, times(u, norm, x), gradient);
}

/* y where this is not the first step, else `first`. */
static kni_datum after_first(const update *u, kni_datum y, kni_datum first)
{
    return kni_emit3(u->c, "where", kni_emit2(u->c, "greater", u->step, number(u, 0)), y, first);
}

/* x[3]: param, gradient, squares; the new param and squares. */
static void adagrad(const update *u, const kni_datum *x, kni_datum *y)
{
    kni_datum g = regularized(u, x[0], x[1]);
    kni_datum decay = add(u, times(u, attribute(u, "decay_factor", 0), u->step), number(u, 1));
    y[1] = add(u, x[2], mul(u, g, g));
    kni_datum under = add(u, root(u, y[1]), number(u, attribute(u, "epsilon", 0)));
    y[0] = sub(u, x[0], over(u, mul(u, over(u, u->rate, decay), g), under));
}

/* x[4]: param, gradient, momentum, squares; the new param, momentum and squares. */
static void adam(const update *u, const kni_datum *x, kni_datum *y)
{
    double alpha = attribute(u, "alpha", 0.9), beta = attribute(u, "beta", 0.999);
    kni_datum one = number(u, 1), g = regularized(u, x[0], x[1]);
    y[1] = add(u, times(u, alpha, x[2]), times(u, 1 - alpha, g));
    y[2] = add(u, times(u, beta, x[3]), times(u, 1 - beta, mul(u, g, g)));
    kni_datum under = add(u, root(u, y[2]), number(u, attribute(u, "epsilon", 0)));
    kni_datum first = sub(u, one, kni_emit2(u->c, "pow", number(u, alpha), u->step));
    kni_datum second = sub(u, one, kni_emit2(u->c, "pow", number(u, beta), u->step));
    kni_datum rate = after_first(u, over(u, mul(u, u->rate, root(u, second)), first), u->rate);
    kni_datum param = sub(u, x[0], mul(u, rate, over(u, y[1], under)));
    y[0] = times(u, 1 - attribute(u, "norm_coefficient_post", 0), param);
}

/* x[3]: param, gradient, momentum; the new param and momentum. */
static void momentum(const update *u, const kni_datum *x, kni_datum *y)
{
    const char *mode = kni_node_text(u->node, "mode", "standard");
    double alpha = attribute(u, "alpha", 0);
    kni_datum g = regularized(u, x[0], x[1]);
    kni_datum share = after_first(u, number(u, attribute(u, "beta", 1)), number(u, 1));
    y[1] = add(u, times(u, alpha, x[2]), mul(u, share, g));
    kni_datum way = !strcmp(mode, "nesterov") ? add(u, g, times(u, alpha, y[1])) : y[1];
    if (strcmp(mode, "nesterov") != 0 && strcmp(mode, "standard") != 0)
        kni_convert_fail(u->c, KN_ERROR_ARGUMENT, "the mode is '%s'; it must be standard or nesterov", mode);
    y[0] = sub(u, x[0], mul(u, u->rate, way));
}

/* Params come first among the operands, then gradients, then each of the states. */
static void update_all(KNI_CONVERTS, int32_t each,
                       void (*formula)(const update *, const kni_datum *, kni_datum *))
{
    int32_t n = (n_in - 2) / each;
    if (n_in < 2 || n * each != n_in - 2 || n * (each - 1) < n_out) {
        kni_convert_fail(c, KN_ERROR_ARGUMENT,
                         "%d operands and %d results do not fit: there are %d operands for each param",
                         n_in - 2, n_out, each);
        return;
    }
    for (int32_t i = 0; i < n; i++) {
        kni_datum x[4], y[3];
        for (int32_t k = 0; k < each; k++) x[k] = in[2 + k * n + i];
        kn_dtype dtype = kni_dtype_of(c, x[0]);
        update u = {c, node, dtype, kni_cast_to(c, in[0], dtype), kni_cast_to(c, in[1], dtype)};
        formula(&u, x, y);
        for (int32_t k = 0; k < each - 1; k++)
            if (k * n + i < n_out) out[k * n + i] = y[k];
    }
}

static void adagrad_all(KNI_CONVERTS) { update_all(c, node, in, n_in, out, n_out, 3, adagrad); }
static void adam_all(KNI_CONVERTS) { update_all(c, node, in, n_in, out, n_out, 4, adam); }
static void momentum_all(KNI_CONVERTS) { update_all(c, node, in, n_in, out, n_out, 3, momentum); }

#define ROW(op, convert)                                                                                     \
    {                                                                                                        \
        "ai.onnx.preview.training", op, 1, 0, convert, 0, "floats"                                           \
    }

const kni_onnx_converter kni_onnx_training[] = {
    ROW("Adagrad", adagrad_all), ROW("Adam", adam_all), ROW("Momentum", momentum_all), {0}};
