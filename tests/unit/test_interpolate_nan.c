/* A number that is NaN or infinite reaches the same results of an interpolation, and of its gradient, on all devices: a
   neighbour of weight 0 gets nothing of the cotangent. */
#include "../support/check.h"
#include <math.h>

enum { ROWS = 4, COLUMNS = 5, X = ROWS * COLUMNS, MAX_Y = 8 * 10 };

typedef struct {
    kn_interpolate_args args;
    kn_ints size;
} call;

/* y with `bad` at one place of x, or dx with it at one place of dy. */
static bool run(kn_device device, const call *c, int64_t at, double bad, bool back, double *out)
{
    float x[X], dy[MAX_Y];
    kn_tensor y, dx;
    const int64_t n = c->size.dims[0] * c->size.dims[1];
    for (int i = 0; i < X; i++) x[i] = (float)(i % 7);
    for (int i = 0; i < n; i++) dy[i] = (float)(i % 3 + 1);
    (back ? dy : x)[at] = (float)bad;
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    kn_tensor in = kn_require_grad(kn_from(x, KN_F32, KN_SHAPE(1, 1, ROWS, COLUMNS)));
    y = kn_keep(kn_interpolate(in, c->size, &c->args));
    bool good;
    if (back) {
        kn_tensor from = kn_from(dy, KN_F32, KN_SHAPE(1, 1, c->size.dims[0], c->size.dims[1]));
        good = kn_grad(&y, &from, 1, &in, 1, 0, &dx) == KN_OK &&
               kn_read_as(dx, KN_F64, out, X * sizeof *out) == KN_OK;
    } else {
        good = kn_read_as(y, KN_F64, out, (size_t)n * sizeof *out) == KN_OK;
    }
    if (!good) printf("%s\n", kn_last_error());
    kn_scope_end(scope, KN_NONE);
    return good;
}

static bool agree(const char *name, const call *c, const double *want, const double *got, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (want[i] == got[i] || (isnan(want[i]) && isnan(got[i]))) continue;
        if (fabs(want[i] - got[i]) <= 1e-4 * (1 + fabs(want[i]))) continue;
        printf("%s, mode %d, aligned %d, antialias %d, to %d x %d: %d is %g, not %g\n", name, c->args.mode,
               c->args.align_corners, c->args.antialias, (int)c->size.dims[0], (int)c->size.dims[1], (int)i,
               got[i], want[i]);
        return false;
    }
    return true;
}

static void compare(const char *name, kn_device device, kn_device ref, const call *c)
{
    static const double bad[] = {NAN, INFINITY};
    double want[MAX_Y], got[MAX_Y];
    const int64_t n = c->size.dims[0] * c->size.dims[1];
    bool good = true;
    for (int back = 0; back < 2; back++)
        for (int64_t at = 0; at < (back ? n : X) && good; at += 3)
            for (int b = 0; b < 2 && good; b++)
                good = run(ref, c, at, bad[b], back, want) && run(device, c, at, bad[b], back, got) &&
                       agree(name, c, want, got, back ? X : n);
    CHECK(good);
}

int main(void)
{
    static const char *const names[] = {"autodiff(cpu)", "autodiff(opencl:0)", "autodiff(cuda:0)"};
    static const kn_interpolate_args args[] = {{.mode = KN_INTERPOLATE_NEAREST},
                                               {.mode = KN_INTERPOLATE_AREA},
                                               {.mode = KN_INTERPOLATE_LINEAR},
                                               {.mode = KN_INTERPOLATE_LINEAR, .align_corners = true},
                                               {.mode = KN_INTERPOLATE_LINEAR, .antialias = true},
                                               {.mode = KN_INTERPOLATE_CUBIC},
                                               {.mode = KN_INTERPOLATE_CUBIC, .align_corners = true},
                                               {.mode = KN_INTERPOLATE_CUBIC, .antialias = true}};
    const kn_ints sizes[] = {KN_INTS(8, 10), KN_INTS(7, 9), KN_INTS(4, 5), KN_INTS(2, 3), KN_INTS(3, 1)};
    kn_device ref = kn_device_open("autodiff(ref)");
    for (size_t d = 0; d < sizeof names / sizeof *names; d++) {
        kn_device device = kn_device_open(names[d]);
        if (!device) check_skip(strstr(names[d], "cuda") ? "no CUDA device" : "no OpenCL device");
        for (size_t a = 0; device && a < sizeof args / sizeof *args; a++)
            for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
                compare(names[d], device, ref, &(call){args[a], sizes[s]});
    }
    return check_report();
}
