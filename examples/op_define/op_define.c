/* Ops of your own that are formulas: an elementwise one and one along lines, written once. The shape rule, every device, fusion
   and the gradient follow from the formula. */
#include "common/example.h"
#include <kn/custom_op.h>

enum { ROWS = 12, COLUMNS = 1000 };

/* x sigmoid(beta x), with a scalar that a call may give. */
static kn_op_handle define_swish(void)
{
    return kn_op_define("swish",
                        &(kn_body_args){.scalars = {{"beta", 1.5}}, .body = "y = x * sigmoid(beta * x)"});
}

/* A norm over the last axes of what swish gives: `weight` has an element for each place of a line and may be absent. */
static kn_op_handle define_swish_norm(void)
{
    return kn_op_define("swish_norm", &(kn_body_args){.in = "x weight@place?1",
                                                      .line = KN_BODY_LAST_AXES,
                                                      .scalars = {{"eps", 1e-5}},
                                                      .body = "h = x * sigmoid(x);"
                                                              "d = h - mean(h);"
                                                              "y = d / sqrt(mean(d * d) + eps) * weight"});
}

/* The same by ops that exist, to compare with. */
static kn_tensor swish_norm_by_ops(kn_tensor x, kn_tensor weight)
{
    return kn_layer_norm(kn_silu(x), weight, KN_NONE, 1, 1e-5);
}

static kn_tensor wave(double phase, kn_shape shape, int64_t n)
{
    return kn_reshape(kn_sin(kn_add_scalar(kn_arange(0, (double)n, 1, KN_F32), phase)), shape);
}

/* How far the defined op is from the ops that exist; negative: it failed. */
static double distance(kn_op_handle norm)
{
    kn_scope scope = kn_scope_begin();
    double apart = -1;
    kn_tensor x = kn_keep(wave(0, KN_SHAPE(ROWS, COLUMNS), ROWS * COLUMNS));
    kn_tensor in[2] = {x, kn_keep(wave(1, KN_SHAPE(COLUMNS), COLUMNS))}, y, z;
    kn_attribute_value beta[] = {{.name = "beta", .real = 1}, {0}};
    if (kn_custom_call(norm, in, &y) == KN_OK && kn_call("swish", &x, 1, beta, &z, 1) == KN_OK) {
        kn_tensor first = kn_max(kn_abs(kn_sub(y, swish_norm_by_ops(x, in[1]))), KN_AXES_ALL, false);
        kn_tensor second = kn_max(kn_abs(kn_sub(z, kn_silu(x))), KN_AXES_ALL, false);
        float worst;
        if (kn_read(kn_maximum(first, second), &worst, sizeof worst) == KN_OK) apart = worst;
    }
    kn_scope_end(scope, KN_NONE);
    return apart;
}

/* Both ops in one function of x and weight. */
static kn_tensor weighted(void *context, const kn_tensor *inputs, int32_t n)
{
    kn_op_handle *ops = context;
    kn_tensor x, y, in[2] = {KN_NONE, inputs[1]};
    (void)n;
    kn_custom_call(ops[0], &inputs[0], &x);
    in[0] = x;
    kn_custom_call(ops[1], in, &y);
    return kn_sum(kn_mul(y, inputs[2]), KN_AXES_ALL, false);
}

/* The derived gradients against differences. */
static bool check_gradient(const char *name, kn_op_handle *ops)
{
    kn_device device = example_open_taped(name);
    if (!device) return false;
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    kn_tensor inputs[3] = {kn_keep(kn_cast(wave(0, KN_SHAPE(3, 5), 15), KN_F64)),
                           kn_keep(kn_cast(wave(1, KN_SHAPE(5), 5), KN_F64)),
                           kn_keep(kn_cast(wave(2, KN_SHAPE(3, 5), 15), KN_F64))};
    bool good = kn_gradcheck(weighted, ops, inputs, 3, 1e-6) == KN_OK;
    kn_scope_end(scope, KN_NONE);
    kn_device_use(NULL);
    kn_device_close(device);
    return good;
}

int main(int argc, char **argv)
{
    static char *usual[] = {"cpu", "fusion(cpu)"};
    char **names = argc > 1 ? argv + 1 : usual;
    int n = argc > 1 ? argc - 1 : 2;
    kn_log_set(example_log, NULL);
    kn_op_handle ops[2] = {define_swish(), define_swish_norm()};
    bool good = ops[0] && ops[1];
    for (int i = 0; i < n && good; i++) {
        kn_device device = kn_device_open(names[i]);
        if (device) kn_device_use(device);
        double apart = device ? distance(ops[1]) : -1;
        good = apart >= 0;
        if (!good) break;
        bool right = check_gradient(names[i], ops);
        printf("%-24s %.1e apart from ops that exist; gradient: %s\n", names[i], apart,
               right ? "right" : "wrong");
        good = apart < 1e-4 && right;
        kn_device_use(NULL);
    }
    return example_end(good);
}
