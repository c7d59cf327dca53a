/* Activation functions that are no rows, or that reshape an operand first. */
#include "conform_adapter.h"
#include "conform_values.h"
#include <math.h>
#include <string.h>

static int run_prelu(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)
{
    (void)n, (void)a, (void)room;
    out[0] = kn_prelu(in[0], in[1]);
    return 1;
}

static int run_glu(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)
{
    (void)n, (void)room;
    out[0] = kn_glu(in[0], (int32_t)kiln_int(a, "axis", -1));
    return 1;
}

static int run_thresholded_relu(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out,
                                int room)
{
    (void)n, (void)room;
    out[0] = kn_thresholded_relu(in[0], kiln_real(a, "alpha", 1));
    return 1;
}

static int run_hardtanh(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)
{
    (void)n, (void)room;
    out[0] = kn_hardtanh(in[0], kiln_real(a, "low", -1), kiln_real(a, "high", 1));
    return 1;
}

static int run_threshold(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)
{
    (void)n, (void)room;
    out[0] = kn_threshold(in[0], kiln_real(a, "threshold", 0), kiln_real(a, "value", 0));
    return 1;
}

static int run_hard_shrink(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)
{
    (void)n, (void)room;
    out[0] = kn_hard_shrink(in[0], kiln_real(a, "lambda", 0));
    return 1;
}

/* The line that a row comes near far out on one side, and from where. */
typedef struct far_line {
    double offset, slope;
    int side; /* 1: never below it, -1: never above it, 0: on it */
} far_line;

static const struct far_row {
    const char *name;
    far_line left, right;
    bool strict;    /* no rounding takes it past the line */
    bool algebraic; /* it is 1 / (1 + |x|) away, the others at most (1 + |x|) e^-|x| */
} far_rows[] = {
    {"sigmoid", {0, 0, 1}, {1, 0, -1}, true, false},
    {"log_sigmoid", {0, 1, -1}, {0, 0, -1}, false, false},
    {"silu", {0, 0, -1}, {0, 1, -1}, false, false},
    {"mish", {0, 0, -1}, {0, 1, -1}, false, false},
    {"gelu", {0, 0, -1}, {0, 1, -1}, false, false},
    {"gelu_approximate", {0, 0, -1}, {0, 1, -1}, false, false},
    {"tanh", {-1, 0, 1}, {1, 0, -1}, true, false},
    {"hard_swish", {0, 0, 0}, {0, 1, 0}, false, false},
    {"softsign", {-1, 0, 1}, {1, 0, -1}, true, true},
    {"selu", {-1.7580993408473766, 0, 1}, {0, 1.0507009873554805, 0}, false, false},
    {"tanhshrink", {1, 1, -1}, {-1, 1, 1}, false, false},
    {"gelu_grad", {0, 0, -1}, {1, 0, 1}, false, false},
    {"gelu_approximate_grad", {0, 0, -1}, {1, 0, 1}, false, false},
    {"silu_grad", {0, 0, -1}, {1, 0, 1}, false, false},
    {"mish_grad", {0, 0, -1}, {1, 0, 1}, false, false},
};

static const struct far_row *far_row_named(const char *name)
{
    for (size_t i = 0; i < sizeof far_rows / sizeof *far_rows; i++)
        if (!strcmp(far_rows[i].name, name)) return &far_rows[i];
    return NULL;
}

/* Whether y can be what the row gives at x. Nearer than far_out only numbers are asked for. */
static bool plausible(const struct far_row *row, double x, double y, kn_dtype dtype)
{
    const double far_out = 4, roundings = 4;
    if (!isfinite(y)) return false;
    if (fabs(x) < far_out) return true;
    const far_line *line = x < 0 ? &row->left : &row->right;
    double at = line->offset + line->slope * x, off = y - at;
    kn_float_limits limits = kn_dtype_limits(dtype);
    double rounding = roundings * limits.eps * fmax(fabs(at), fabs(line->offset));
    /* A power that vanishes may be rounded up to the smallest number. */
    double smallest = limits.eps * limits.smallest_normal;
    double away = row->algebraic ? 1 / (1 + fabs(x)) : (1 + fabs(x)) * (exp(-fabs(x)) + smallest);
    if (fabs(off) > (line->side ? away : 0) + rounding) return false;
    return off * line->side >= (row->strict ? 0 : -rounding);
}

/* Whether a row gives numbers near its limits, and on the right side of them, without saying which: where they are too
   small for a device to tell them from 0. The last operand is x; a cotangent before it is 1. */
static int run_is_number(const kn_tensor *in, int n, const kiln_attributes *a, kn_tensor *out, int room)
{
    const struct far_row *row = far_row_named(kiln_text(a, "row", ""));
    kiln_array x, y;
    (void)room;
    (void)kn_call(kiln_text(a, "row", ""), in, n, NULL, &out[0], 1);
    if (!kn_ok(out[0])) return 1;
    if (!row) {
        out[0] = kn_poison(KN_ERROR_ARGUMENT, "nothing is known of this row far out");
        return 1;
    }
    bool read = kiln_array_read(&x, in[n - 1]);
    if (!kiln_array_read(&y, out[0]) || !read || !x.real || (x.count != 1 && x.count != y.count)) {
        kiln_array_free(&x);
        kiln_array_free(&y);
        out[0] =
            kn_poison(KN_ERROR_DEVICE, "the operand or the result cannot be read as floats of one shape");
        return 1;
    }
    kiln_array good = kiln_array_new(KN_BOOL, y.shape);
    for (int64_t i = 0; i < y.count; i++)
        good.integer[i] = plausible(row, x.count == 1 ? x.real[0] : x.real[i], y.real[i], y.dtype);
    out[0] = kiln_tensor(&good, KILN_CONTIGUOUS, 0);
    kiln_array_free(&good);
    kiln_array_free(&x);
    kiln_array_free(&y);
    return 1;
}

const kiln_adapter kiln_adapters_activation[] = {{"is_number", run_is_number},
                                                 {"hardtanh", run_hardtanh},
                                                 {"threshold", run_threshold},
                                                 {"hard_shrink", run_hard_shrink},
                                                 {"prelu", run_prelu},
                                                 {"glu", run_glu},
                                                 {"thresholded_relu", run_thresholded_relu},
                                                 {NULL, NULL}};
