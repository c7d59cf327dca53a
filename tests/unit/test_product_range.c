/* A product may leave the range of its dtype and come back: prod and cumprod agree on ref, the CPU and GPUs with f64. */
#include "../support/check.h"
#include <math.h>

enum { LENGTH = 8, LINES = 7 };

static const float lines[LINES][LENGTH] = {
    {1e30f, 1e30f, 1e-30f, 1e-30f, 2, 3, 1, 1},    /* too large in between */
    {1e-30f, 1e-30f, 1e30f, 1e30f, 2, 3, 1, 1},    /* too small in between */
    {0, 1e30f, 1e30f, 1e30f, 1e30f, 1, 1, 1},      /* 0, not 0 * infinity */
    {1e30f, 1e30f, 1, 1, 1, 0, 1, -1},             /* the same, 0 last */
    {1e30f, 1e30f, 1, 1, 1, 1, 1, -1},             /* infinite in the end */
    {1e30f, INFINITY, 0, 1, 1, 1, 1, 1},           /* truly NaN */
    {1e30f, 1e-30f, 1e30f, 1e-30f, NAN, 1, 1, 1}}; /* NaN stays */

static kn_tensor products(kn_tensor x) { return kn_prod(x, KN_INTS(1), false); }
static kn_tensor columns(kn_tensor x) { return kn_prod(kn_transpose(x, 0, 1), KN_INTS(0), false); }
static kn_tensor after_others(kn_tensor x) { return kn_prod(kn_neg(x), KN_INTS(1), true); }
static kn_tensor running(kn_tensor x) { return kn_cumprod(x, 1); }
static kn_tensor running_column(kn_tensor x) { return kn_cumprod(kn_transpose(x, 0, 1), 0); }

static const struct {
    const char *name;
    kn_tensor (*run)(kn_tensor x);
    int n;
} calls[] = {{"prod", products, LINES},
             {"prod of columns", columns, LINES},
             {"prod of -x", after_others, LINES},
             {"cumprod", running, LINES *LENGTH},
             {"cumprod of columns", running_column, LINES *LENGTH}};
enum { CALLS = sizeof calls / sizeof *calls };

static bool run(kn_device device, int call, kn_dtype dtype, double *out)
{
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_cast(kn_from(lines, KN_F32, KN_SHAPE(LINES, LENGTH)), dtype);
    bool good = kn_read_as(calls[call].run(x), KN_F64, out, (size_t)calls[call].n * sizeof *out) == KN_OK;
    if (!good) printf("%s\n", kn_last_error());
    kn_scope_end(scope, KN_NONE);
    return good;
}

static bool near(double a, double b)
{
    return (isnan(a) && isnan(b)) || a == b || fabs(a - b) <= 0.04 * fabs(a);
}

static void compare(const char *name, kn_device device, kn_device ref)
{
    static const kn_dtype dtypes[] = {KN_F32, KN_BF16};
    double want[LINES * LENGTH], got[LINES * LENGTH];
    for (int d = 0; d < 2; d++)
        for (int c = 0; c < CALLS; c++) {
            if (!CHECK(run(ref, c, dtypes[d], want) && run(device, c, dtypes[d], got))) continue;
            bool good = true;
            for (int i = 0; i < calls[c].n; i++) {
                if (near(want[i], got[i])) continue;
                printf("%s, %s of %s: %d is %g, not %g\n", name, calls[c].name, kn_dtype_name(dtypes[d]), i,
                       got[i], want[i]);
                good = false;
            }
            CHECK(good);
        }
}

int main(void)
{
    static const char *const names[] = {"cpu",    "fusion(cpu)",   "opencl:0", "fusion(opencl:0)",
                                        "cuda:0", "fusion(cuda:0)"};
    kn_device ref = kn_device_open("ref");
    double known[LINES];
    CHECK(run(ref, 0, KN_F32, known) && fabs(known[0] - 6) < 1e-5 && fabs(known[1] - 6) < 1e-5);
    CHECK(known[2] == 0 && known[3] == 0 && isinf(known[4]) && isnan(known[5]) && isnan(known[6]));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        kn_device device = kn_device_open(names[i]);
        if (device)
            compare(names[i], device, ref);
        else
            check_skip(strstr(names[i], "cuda") ? "no CUDA device" : "no OpenCL device");
    }
    return check_report();
}
