/* Convolutions of sizes drawn at random, forward, transposed and both gradients, on every tier and in groups: equal to `ref`. Operands are
   small integers, so that all sums are exact. */
#include "support/check.h"
#include "support/tiers.h"
#include <kn/contraction.h>
#include <kn/functional.h>

enum { CASES = 250, MOST_WORK = 1 << 20, RESULTS = 4 };

static uint64_t seed = 20261119;

static int64_t below(int64_t n)
{
    seed += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = (seed ^ seed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (int64_t)((z ^ z >> 31) % (uint64_t)n);
}

typedef struct geometry {
    int axes;
    bool transposed, bias;
    int64_t groups;
    kn_shape x, w;
    int64_t stride[3], padding[3], dilation[3];
} geometry;

static int64_t work_of(const geometry *g)
{
    int64_t n = 1;
    for (int i = 0; i < g->x.rank; i++) n *= g->x.dims[i];
    for (int i = 2; i < g->w.rank; i++) n *= g->w.dims[i];
    return n * (g->transposed ? g->w.dims[1] : g->w.dims[0]);
}

/* Few and many channels, one tap and several, strides beyond the window. */
static geometry draw(void)
{
    static const int64_t channels[] = {1, 2, 3, 5, 8, 16, 17, 24, 33, 64, 80};
    geometry g = {.axes = (int)(1 + below(3)), .transposed = below(3) == 0, .bias = below(2), .groups = 1};
    do {
        int64_t in = channels[below(11)], out = channels[below(11)];
        g.groups = below(3) ? 1 : below(2) ? in : 2;
        if (in % g.groups || out % g.groups) g.groups = 1;
        g.x = (kn_shape){2 + g.axes, {1 + below(3), in}};
        g.w = (kn_shape){2 + g.axes, {g.transposed ? in : out, (g.transposed ? out : in) / g.groups}};
        for (int i = 0; i < g.axes; i++) {
            g.stride[i] = 1 + (below(2) ? below(4) : 0);
            g.dilation[i] = 1 + (below(3) ? 0 : below(3));
            int64_t taps = below(2) ? 1 + below(5) : below(2) ? 1 : 3, reach = (taps - 1) * g.dilation[i];
            g.padding[i] = below(reach / 2 + 2);
            if (g.padding[i] > reach) g.padding[i] = reach;
            g.w.dims[2 + i] = taps;
            g.x.dims[2 + i] = 1 + below(20);
            if (!g.transposed && g.x.dims[2 + i] + 2 * g.padding[i] <= reach) g.x.dims[2 + i] = reach + 1;
            /* A transposed one must not be padded away. */
            if (g.transposed && (g.x.dims[2 + i] - 1) * g.stride[i] + reach + 1 <= 2 * g.padding[i])
                g.padding[i] = 0;
        }
    } while (work_of(&g) > MOST_WORK);
    return g;
}

static kn_tensor convolve(const geometry *g, kn_tensor x, kn_tensor w, kn_tensor bias)
{
    const int64_t *s = g->stride, *p = g->padding, *d = g->dilation, n = g->groups;
#define CONVOLVE(axes, S, P, D)                                                                              \
    (g->transposed                                                                                           \
         ? kn_conv_transpose##axes##d(                                                                       \
               x, w, bias,                                                                                   \
               &(kn_conv_transpose##axes##d_args){.stride = S, .padding = P, .dilation = D, .groups = n})    \
         : kn_conv##axes##d(                                                                                 \
               x, w, bias, &(kn_conv##axes##d_args){.stride = S, .padding = P, .dilation = D, .groups = n}))
#define ONE(a)                                                                                               \
    {                                                                                                        \
        a[0]                                                                                                 \
    }
#define TWO(a)                                                                                               \
    {                                                                                                        \
        a[0], a[1]                                                                                           \
    }
#define THREE(a)                                                                                             \
    {                                                                                                        \
        a[0], a[1], a[2]                                                                                     \
    }
    if (g->axes == 1) return CONVOLVE(1, ONE(s), ONE(p), ONE(d));
    return g->axes == 2 ? CONVOLVE(2, TWO(s), TWO(p), TWO(d)) : CONVOLVE(3, THREE(s), THREE(p), THREE(d));
}

static kn_tensor integers(kn_shape shape, int64_t step)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    kn_tensor at = kn_mul_scalar(kn_arange(0, (double)n, 1, KN_F64), (double)step);
    return kn_cast(kn_reshape(kn_sub_scalar(kn_remainder_scalar(at, 7), 3), shape), KN_F32);
}

static void print(const geometry *g)
{
    printf("%s, groups %d, x [", g->transposed ? "transposed" : "forward", (int)g->groups);
    for (int i = 0; i < g->x.rank; i++) printf(" %d", (int)g->x.dims[i]);
    printf(" ], w [");
    for (int i = 0; i < g->w.rank; i++) printf(" %d", (int)g->w.dims[i]);
    printf(" ], stride, padding, dilation");
    for (int i = 0; i < g->axes; i++)
        printf("  %d %d %d", (int)g->stride[i], (int)g->padding[i], (int)g->dilation[i]);
    printf("\n");
}

/* The result, bounded so that groups are made of it, and the gradients of x, w and the bias. */
static bool run(const geometry *g, kn_device device, double **values, int64_t *counts)
{
    kn_scope scope = kn_scope_begin();
    kn_device_use(device);
    const int64_t outs = g->transposed ? g->w.dims[1] * g->groups : g->w.dims[0];
    kn_tensor wrt[3] = {kn_require_grad(integers(g->x, 3)), kn_require_grad(integers(g->w, 5)),
                        kn_require_grad(integers(KN_SHAPE(outs), 2))};
    kn_tensor y = kn_keep(kn_relu(convolve(g, wrt[0], wrt[1], g->bias ? wrt[2] : KN_NONE)));
    kn_tensor dy = kn_keep(integers(kn_shape_of_tensor(y), 4)), all[RESULTS] = {y};
    bool good = CHECK(kn_ok(y)) && CHECK(kn_grad(&y, &dy, 1, wrt, g->bias ? 3 : 2, 0, all + 1) == KN_OK);
    for (int i = 0; i < (g->bias ? 4 : 3) && good; i++) {
        kn_tensor one = kn_keep(all[i]);
        counts[i] = kn_count(one);
        values[i] = realloc(values[i], (size_t)(counts[i] + 1) * sizeof(double));
        good = CHECK(kn_read_as(one, KN_F64, values[i], (size_t)counts[i] * sizeof(double)) == KN_OK);
    }
    if (!good) {
        printf("%s\n", kn_last_error());
        print(g);
    }
    kn_device_use(NULL);
    kn_scope_end(scope, KN_NONE);
    return good;
}

/* Devices to test may be named: test_conv_random "autodiff(opencl:0)". */
int main(int n_named, char **named)
{
    static const char *const names[RESULTS] = {"result", "gradient of x", "gradient of w",
                                               "gradient of bias"};
    static double *want[RESULTS], *got[RESULTS];
    kn_device ref = kn_device_open("autodiff(ref)");
    kn_device devices[2] = {kn_device_open(n_named > 1 ? named[1] : "autodiff(cpu)"),
                            kn_device_open(n_named > 2   ? named[2]
                                           : n_named > 1 ? named[1]
                                                         : "autodiff(fusion(cpu))")};
    if (!CHECK(ref && devices[0] && devices[1])) return check_report();
    for (int n = 0; n < CASES; n++) {
        geometry g = draw();
        int64_t wanted[RESULTS] = {0}, counts[RESULTS] = {0};
        if (!check_part(n, 4) || !run(&g, ref, want, wanted)) continue;
        for (int tier = 0; tier < KNI_ISA_COUNT; tier++) {
            if (!tier_runs((kni_tier)tier)) continue;
            kni_cpu_set_tier((kni_tier)tier);
            for (int d = 0; d < 2; d++) {
                if (!run(&g, devices[d], got, counts)) break;
                for (int i = 0; i < (g.bias ? 4 : 3); i++) {
                    bool same = counts[i] == wanted[i] &&
                                !memcmp(got[i], want[i], (size_t)wanted[i] * sizeof(double));
                    for (int64_t k = 0; !same && counts[i] == wanted[i] && k < wanted[i]; k++)
                        if (got[i][k] != want[i][k])
                            break; /* else they differ in the sign of zeros alone */
                        else if (k == wanted[i] - 1)
                            same = true;
                    if (CHECK(same)) continue;
                    printf("%s, device %d, tier %d: ", names[i], d, tier);
                    print(&g);
                }
            }
        }
    }
    for (int i = 0; i < RESULTS; i++) {
        free(want[i]);
        free(got[i]);
    }
    CHECK(kn_shutdown() == 0);
    return check_report();
}
