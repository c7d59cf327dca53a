/* Defined ops on devices: fusion(cpu) and compiled groups give the bits of cpu, tiers give each other's, ref and opencl the same
   within rounding; halves are rounded once. */
#define _DEFAULT_SOURCE
#include "backend/jit/group_jit.h"
#include "support/check.h"
#include "support/tiers.h"
#include <kn/custom_op.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BODIES = 7 };

typedef struct formula {
    const char *in, *out, *body;
    kn_body_line line;
    int axis;
} formula;

static const formula formulas[BODIES] = {
    {"x w b", "y", "s = sigmoid(w * x); y = x > 0.1 && !(b > x) ? x * s + 2 : b / (1 + abs(w))",
     KN_BODY_ELEMENTWISE, 0},
    {"x", "y", "y = x * exp(-0.5 * x * x) + normal_cdf(x)", KN_BODY_ELEMENTWISE, 0},
    {"x", "y", "e = expn(x - top(x)); y = e / sum(e)", KN_BODY_AXIS, -1},
    {"x", "y", "e = expn(x - top(x)); y = e / sum(e)", KN_BODY_AXIS, 0},
    {"x w@place?1 b@place?0", "y", "d = x - mean(x); s = 1 / sqrt(mean(d * d) + 0.001); y = d * s * w + b",
     KN_BODY_LAST_AXES, 1},
    {"x w@place l@line", "y@line", "y = sum(x * w > 0 ? x * l : w) + lowest(x) - highest(x)",
     KN_BODY_LAST_AXES, 1},
    {"x w@place", "y@place", "y = down(x * x + w)", KN_BODY_LAST_AXES, 1},
};

/* Each call defines them anew under other names, so that programs are made for the tier in use. */
static void define_all(kn_op_handle *ops)
{
    static int turn;
    char name[32];
    turn++;
    for (int i = 0; i < BODIES; i++) {
        snprintf(name, sizeof name, "d_%d_%d", turn, i);
        ops[i] = kn_op_define(name, &(kn_body_args){.in = formulas[i].in,
                                                    .out = formulas[i].out,
                                                    .body = formulas[i].body,
                                                    .line = formulas[i].line,
                                                    .axis = formulas[i].axis});
        if (!CHECK(ops[i] != NULL)) printf("%s\n", kn_last_error());
    }
}

static kn_tensor filled(kn_shape shape, int seed, kn_dtype dtype)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    double *v = malloc(sizeof *v * (size_t)(n + 1));
    if (!v) exit(1);
    for (int64_t i = 0; i < n; i++) v[i] = sin((double)i * 12.9898 + seed) * 2;
    kn_tensor y = kn_cast(kn_from(v, KN_F64, shape), dtype);
    free(v);
    return y;
}

/* Formula i after another op and before one, as f64 in memory of its own; *n elements. */
static double *run(const kn_op_handle *ops, int i, int64_t rows, int64_t width, kn_dtype dtype, int64_t *n)
{
    kn_scope s = kn_scope_begin();
    bool axis0 = formulas[i].line == KN_BODY_AXIS && formulas[i].axis == 0;
    kn_tensor x = filled(KN_SHAPE(rows, width), 1, dtype), in[3], y;
    in[0] = kn_keep(kn_mul_scalar(x, 0.75));
    in[1] = kn_keep(filled(KN_SHAPE(width), 2, dtype));
    in[2] = kn_keep(i == 5 ? filled(KN_SHAPE(rows, 1), 3, dtype) : filled(KN_SHAPE(width), 3, dtype));
    if (axis0) in[0] = kn_keep(kn_transpose(in[0], 0, 1));
    if (!CHECK(kn_custom_call(ops[i], in, &y) == KN_OK)) printf("%s\n", kn_last_error());
    y = kn_keep(kn_add_scalar(kn_relu(y), 0.25));
    *n = kn_count(y);
    double *v = malloc(sizeof *v * (size_t)(*n + 1));
    if (!v) exit(1);
    if (!CHECK(kn_read_as(y, KN_F64, v, sizeof *v * (size_t)*n) == KN_OK)) printf("%s\n", kn_last_error());
    kn_scope_end(s, KN_NONE);
    return v;
}

static const struct {
    int64_t rows, width;
} sizes[] = {{1, 1}, {3, 7}, {5, 33}, {300, 16}, {7, 1025}, {40, 1500}, {2, 5000}};
enum { SIZES = sizeof sizes / sizeof *sizes };
static const kn_dtype dtypes[] = {KN_F32, KN_F64, KN_F16, KN_BF16};
static int n_dtypes = 4, first_size, last_size = SIZES; /* that are compared */

/* bound: relative; 0: the same bits. */
static void compare(const char *what, const char *one, const kn_op_handle *ops_one, const char *other,
                    const kn_op_handle *ops_other, const double *bounds)
{
    kn_device a = kn_device_open(one), b = kn_device_open(other);
    if (!CHECK(a && b)) return;
    for (int d = 0; d < n_dtypes; d++)
        for (int i = 0; i < BODIES; i++)
            for (int k = first_size; k < last_size; k++) {
                int64_t n = 0, m = 0;
                double worst = 0;
                kn_device_use(a);
                double *x = run(ops_one, i, sizes[k].rows, sizes[k].width, dtypes[d], &n);
                kn_device_use(b);
                double *y = run(ops_other, i, sizes[k].rows, sizes[k].width, dtypes[d], &m);
                for (int64_t e = 0; e < n && n == m; e++) {
                    double off = fabs(x[e] - y[e]) / (1 + fabs(y[e]));
                    if (!(off <= worst) && (off == off || (x[e] == x[e]) != (y[e] == y[e])))
                        worst = off == off ? off : 1e9;
                }
                if (!CHECK(n == m && worst <= bounds[d]))
                    printf("%s: formula %d, %dx%d, %s: %g apart\n", what, i, (int)sizes[k].rows,
                           (int)sizes[k].width, kn_dtype_name(dtypes[d]), worst);
                free(x);
                free(y);
            }
    kn_device_use(NULL);
    kn_device_close(a);
    kn_device_close(b);
}

/* How many kernels the device has run. */
static int64_t launches(kn_device device)
{
    char text[1024];
    kn_device_report(device, NULL, text, sizeof text);
    const char *at = strstr(text, " launches");
    while (at && at > text && at[-1] != ' ') at--;
    return at ? strtoll(at, NULL, 10) : -1;
}

/* A softmax that is a body is one kernel, not one for each of its words. */
static void runs_as_one_kernel(kn_op_handle softmax, const char *gpu)
{
    kn_device device = kn_device_open(gpu);
    kn_device_use(device);
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_keep(filled(KN_SHAPE(5, 33), 1, KN_F32)), y;
    CHECK(kn_sync(device) == KN_OK);
    int64_t before = launches(device);
    CHECK(kn_custom_call(softmax, &x, &y) == KN_OK && kn_sync(device) == KN_OK);
    CHECK(before >= 0 && launches(device) == before + 1);
    kn_scope_end(s, KN_NONE);
    kn_device_use(NULL);
    kn_device_close(device);
}

/* By default opencl:0 with few cases, since its compiler takes its time for each kernel; argument: another GPU, with all cases. */
static void compare_gpu(const kn_op_handle ops[BODIES], const char *gpu, const double bounds[4])
{
    char fused[80];
    kn_device device = kn_device_open(gpu);
    if (!device) {
        check_skip("no OpenCL device");
        return;
    }
    kn_device_close(device);
    snprintf(fused, sizeof fused, "fusion(%s)", gpu);
    runs_as_one_kernel(ops[2], gpu);
    compare(gpu, "cpu", ops, fused, ops, bounds);
}

int main(int argc, char **argv)
{
    static const double same[4] = {0, 0, 0, 0}, near[4] = {2e-5, 1e-12, 2e-3, 2e-2};
    kn_op_handle ops[BODIES], others[BODIES];
    setenv("KN_JIT", "off", 1);
    define_all(ops);
    compare("fusion(cpu)", "cpu", ops, "fusion(cpu)", ops, same);
    compare("ref", "cpu", ops, "ref", ops, near);
    kni_tier best = kni_cpu_tier();
    for (int tier = 0; tier < KNI_ISA_COUNT; tier++) {
        if (tier == (int)best || !tier_runs((kni_tier)tier)) continue;
        /* The programs of lines are made when they first run: of `ops` that has been. */
        kni_cpu_set_tier((kni_tier)tier);
        define_all(others);
        compare(kni_cpu_tier_name((kni_tier)tier), "cpu", ops, "cpu", others, same);
    }
    kni_cpu_set_tier(best);
    if (argc < 2) n_dtypes = 1, first_size = 2, last_size = 3;
    compare_gpu(ops, argc > 1 ? argv[1] : "opencl:0", near);
    return check_report();
}
