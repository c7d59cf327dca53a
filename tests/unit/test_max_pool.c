/* Max pooling on a tape: one pass forward, one backward that gathers, the same numbers on every device, and gradients of gradients. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* setenv */
#endif
#include "support/check.h"
#include "support/paper_device.h"
#include <kn/program.h>
#include <math.h>
#include <stdlib.h>

static uint64_t state = 7;
static int64_t draw(int64_t most)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)(state >> 33) % (most + 1);
}

typedef struct pool {
    int axes;
    kn_shape x;
    kn_ints window;
    kn_pool_args args;
} pool;

/* Windows that overlap, leave gaps, are dilated and hang over either end; paddings up to a whole window. */
static pool random_pool(void)
{
    pool p = {.axes = 1 + (int)draw(2), .x = {.rank = 2, .dims = {1 + draw(1), 1 + draw(2)}}};
    p.window.rank = p.axes;
    p.args.ceil_mode = draw(1);
    for (int i = 0; i < p.axes; i++) {
        int64_t window = 1 + draw(3), dilation = 1 + draw(1), span = (window - 1) * dilation + 1;
        p.window.dims[i] = window;
        p.args.dilation[i] = dilation;
        p.args.stride[i] = 1 + draw(3);
        p.args.padding[i] = kn_int_given(draw(span - 1));
        p.args.padding_end[i] = kn_int_given(draw(span - 1));
        p.x.dims[p.x.rank++] = span + 1 + draw(p.axes == 1 ? 40 : 6);
    }
    return p;
}

static kn_tensor pooled(const pool *p, kn_tensor x)
{
    return p->axes == 1   ? kn_max_pool1d(x, p->window, &p->args)
           : p->axes == 2 ? kn_max_pool2d(x, p->window, &p->args)
                          : kn_max_pool3d(x, p->window, &p->args);
}

static kn_tensor pooled_with_indices(const pool *p, kn_tensor x)
{
    kn_pooled y = p->axes == 1   ? kn_max_pool1d_with_indices(x, p->window, &p->args)
                  : p->axes == 2 ? kn_max_pool2d_with_indices(x, p->window, &p->args)
                                 : kn_max_pool3d_with_indices(x, p->window, &p->args);
    kn_drop(y.indices);
    return y.values;
}

/* Few values, so that most windows have several largest elements, and NaN. */
static kn_tensor values(kn_shape shape, kn_dtype dtype)
{
    static double v[20000];
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    for (int64_t i = 0; i < n; i++) v[i] = draw(60) ? (double)draw(4) : (double)NAN;
    return kn_cast(kn_from(v, KN_F64, shape), dtype);
}

typedef kn_tensor pool_fn(const pool *p, kn_tensor x);

/* The gradient of sum(y^2 g) on the device. */
static kn_tensor gradient(const char *device, pool_fn *run, const pool *p, kn_tensor x, kn_tensor g)
{
    kn_device d = kn_device_open(device);
    kn_tensor leaf = kn_keep(kn_require_grad(kn_to(x, d))), dx = KN_NONE;
    kn_tensor y = run(p, leaf), dy = kn_to(g, d);
    CHECK(kn_grad(&y, &dy, 1, &leaf, 1, 0, &dx) == KN_OK);
    return kn_to(dx, kn_device_cpu());
}

static int64_t count_different(kn_tensor a, kn_tensor b)
{
    return kn_item_int(kn_count_nonzero(kn_not_equal(a, b), KN_AXES_ALL, false));
}

/* Each dy goes to the element that max_pool says, whichever way the gradient is asked for. */
static void agrees_with_the_scatter(void)
{
    for (int i = 0; i < 150; i++) {
        kn_scope s = kn_scope_begin();
        const pool p = random_pool();
        const kn_dtype dtype = i % 4 == 3 ? KN_BF16 : i % 4 == 2 ? KN_F64 : KN_F32;
        kn_tensor x = kn_keep(values(p.x, dtype));
        kn_pooled both = p.axes == 1   ? kn_max_pool1d_with_indices(x, p.window, &p.args)
                         : p.axes == 2 ? kn_max_pool2d_with_indices(x, p.window, &p.args)
                                       : kn_max_pool3d_with_indices(x, p.window, &p.args);
        kn_shape flat = KN_SHAPE(p.x.dims[0], p.x.dims[1], -1);
        kn_tensor at = kn_keep(both.indices), g = kn_keep(values(kn_shape_of_tensor(at), dtype));
        g = kn_keep(kn_nan_to_num(g, 3, 0, 0));
        kn_tensor want = kn_scatter(kn_reshape(kn_zeros(p.x, dtype), flat), 2, kn_reshape(at, flat),
                                    kn_reshape(g, flat), KN_UPDATE_ADD);
        want = kn_keep(kn_reshape(want, p.x));
        kn_drop(both.values);
        CHECK(count_different(gradient("autodiff(cpu)", pooled, &p, x, g), want) == 0);
        CHECK(count_different(gradient("autodiff(cpu)", pooled_with_indices, &p, x, g), want) == 0);
        CHECK(count_different(gradient("autodiff(ref)", pooled, &p, x, g), want) == 0);
        CHECK(count_different(gradient("autodiff(fusion(cpu))", pooled, &p, x, g), want) == 0);
        kn_scope_end(s, KN_NONE);
    }
}

/* Planes of more elements than 16 bits count. */
static void large_planes(void)
{
    kn_scope s = kn_scope_begin();
    pool p = {.axes = 1, .x = KN_SHAPE(1, 2, 70001), .window = KN_INTS(3), .args = {.stride = {1}}};
    kn_tensor x = kn_keep(kn_reshape(kn_sin(kn_arange(0, 140002, 1, KN_F32)), p.x));
    kn_tensor g = kn_keep(kn_ones(KN_SHAPE(1, 2, 69999), KN_F32));
    kn_tensor a = kn_keep(gradient("autodiff(cpu)", pooled, &p, x, g));
    CHECK(count_different(a, gradient("autodiff(ref)", pooled_with_indices, &p, x, g)) == 0);
    CHECK(kn_item_int(kn_cast(kn_sum(a, KN_AXES_ALL, false), KN_I64)) == 2 * 69999);
    kn_scope_end(s, KN_NONE);
}

static const pool window3 = {
    .axes = 2, .window = {2, {3, 3}}, .args = {.stride = {2, 2}, .padding = {1, 1}, .ceil_mode = true}};

/* The sum of the squares of the gradient of sum(y^3): differences are taken without a tape, which the gradient needs. */
static kn_tensor squared(void *context, const kn_tensor *in, int32_t n)
{
    const bool taped = kn_grad_enabled();
    (void)n;
    if (!taped) kn_no_grad_end();
    kn_tensor x = kn_keep(kn_require_grad(in[0])), g = KN_NONE;
    kn_tensor y = context ? kn_adaptive_max_pool2d(x, KN_INTS(3, 2)).values
                          : kn_max_pool2d(x, window3.window, &window3.args);
    y = kn_sum(kn_pow_scalar(y, 3), KN_AXES_ALL, false);
    CHECK(kn_grad(&y, NULL, 1, &x, 1, KN_GRAD_CREATE_GRAPH, &g) == KN_OK);
    y = kn_sum(kn_square(g), KN_AXES_ALL, false);
    if (!taped) kn_no_grad_begin();
    return y;
}

static void second_order(void)
{
    kn_device_use(kn_device_open("autodiff(cpu)"));
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_keep(kn_sin(kn_mul_scalar(kn_arange(0, 2 * 5 * 6, 1, KN_F64), 2.3)));
    x = kn_keep(kn_require_grad(kn_reshape(x, KN_SHAPE(1, 2, 5, 6))));
    CHECK(kn_gradcheck(squared, NULL, &x, 1, 1e-4) == KN_OK);
    CHECK(kn_gradcheck(squared, &state, &x, 1, 1e-4) == KN_OK);
    kn_scope_end(s, KN_NONE);
    kn_device_use(NULL);
}

/* A program notes what was called, so that its backward pass finds positions by itself. */
static void traced(void)
{
    kn_device d = kn_device_open("autodiff(cpu)");
    kn_device_use(d);
    kn_scope s = kn_scope_begin();
    kn_tensor x = kn_keep(kn_require_grad(kn_reshape(kn_arange(0, 36, 1, KN_F32), KN_SHAPE(1, 1, 6, 6))));
    kn_tensor other = kn_keep(kn_neg(kn_reshape(kn_arange(0, 36, 1, KN_F32), KN_SHAPE(1, 1, 6, 6)))), dx,
              got = KN_NONE;
    CHECK(kn_program_begin(d) == KN_OK);
    kn_tensor y = kn_sum(kn_max_pool2d(x, KN_INTS(3, 3), NULL), KN_AXES_ALL, false);
    CHECK(kn_grad(&y, NULL, 1, &x, 1, 0, &dx) == KN_OK);
    dx = kn_keep(dx);
    kn_program program = kn_program_end(&x, 1, &dx, 1);
    CHECK(program && kn_program_run(program, &other, 1, &got, 1) == KN_OK);
    got = kn_keep(kn_reshape(got, KN_SHAPE(36)));
    CHECK_VALUES(kn_index_take(got, 0, kn_from((int64_t[]){0, 3, 14, 18, 21, 35}, KN_I64, KN_SHAPE(6))), 0, 1,
                 1, 0, 1, 1, 0);
    kn_program_free(program);
    kn_scope_end(s, KN_NONE);
    kn_device_use(NULL);
}

/* On a GPU: one launch forward, of which a tape keeps 2 bytes for each result, and one backward. */
static void launches(void)
{
    kn_device d = kn_device_open("autodiff(paper)");
    kn_scope s = kn_scope_begin();
    const int64_t bytes = 8 * 3 * 12 * 10 * 2, results = 8 * 3 * 7 * 6;
    kn_tensor x = kn_keep(kn_to(kn_ones(KN_SHAPE(8, 3, 12, 10), KN_BF16), d)), dx;
    kn_tensor dy = kn_keep(kn_to(kn_ones(KN_SHAPE(8, 3, 7, 6), KN_BF16), d));
    int64_t launched = paper_now.launches, used = paper_now.used;
    kn_tensor y = kn_keep(kn_max_pool2d(x, window3.window, &window3.args));
    CHECK(paper_now.launches == launched + 1 && paper_now.used - used == results * 2);
    kn_drop(y);
    x = kn_keep(kn_require_grad(x));
    kn_tensor z = kn_keep(kn_max_pool2d(x, window3.window, &window3.args));
    CHECK(paper_now.launches == launched + 2 && paper_now.used - used == results * 4);
    CHECK(kn_grad(&z, &dy, 1, &x, 1, 0, &dx) == KN_OK);
    CHECK(paper_now.launches == launched + 3 && paper_now.used - used == results * 2 + bytes);
    kn_drop(dx);
    kn_scope_end(s, KN_NONE);
}

/* Windows are constants of a kernel, sizes of images are not: they only say how wide its accesses are. */
static void kernels(void)
{
    kn_device d = kn_device_open("paper");
    kn_scope s = kn_scope_begin();
    kn_tensor small = kn_keep(kn_to(kn_ones(KN_SHAPE(1, 3, 8, 8), KN_F32), d));
    kn_tensor large = kn_keep(kn_to(kn_ones(KN_SHAPE(2, 3, 9, 16), KN_F32), d));
    kn_drop(kn_max_pool2d(small, KN_INTS(3, 2), NULL));
    int64_t compiled = paper_now.compiles;
    kn_drop(kn_max_pool2d(large, KN_INTS(3, 2), NULL));
    CHECK(paper_now.compiles == compiled);
    kn_drop(kn_max_pool2d(large, KN_INTS(2, 2), NULL));
    CHECK(paper_now.compiles == compiled + 1);
    kn_scope_end(s, KN_NONE);
}

int main(void)
{
    paper_do = (paper_orders){.room = 64 << 20, .fault = -1};
    paper_register();
    setenv("KN_DEVICE_POOL", "off", 1);
    agrees_with_the_scatter();
    large_planes();
    second_order();
    traced();
    launches();
    kernels();
    CHECK(kn_shutdown() == 0);
    return check_report();
}
