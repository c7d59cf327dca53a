/* Padding is left out of convolutions, not multiplied: a weight (or a cotangent) that is NaN or infinite reaches the same
   results on the CPU and on GPUs as on `ref`. Operands are small integers, so that all sums are exact and compared exactly. */
#include "../support/check.h"
#include "ops/conv.h"
#include "ops/op.h"
#include "support/tiers.h"
#include <math.h>
#include <stdlib.h>

/* A convolution of x by w; its transposed one takes the cotangent back to x. */
typedef struct {
    const char *name;
    kn_shape x, w;
    kni_conv_attributes a;
    bool turned;     /* the last two axes of x are swapped in memory */
    bool large;      /* f32 and few places alone: for what only sizes bring */
    bool everywhere; /* on devices that compile kernels too */
} geometry;

#define S KN_SHAPE
#define I KN_INTS
static const geometry geometries[] = {
    {.name = "1-D", .x = S(2, 2, 7), .w = S(3, 2, 3), .a = {.padding = I(1), .padding_end = I(1)}},
    {.name = "1-D, results in the padding alone",
     .x = S(1, 2, 2),
     .w = S(3, 2, 3),
     .a = {.padding = I(5), .padding_end = I(4)}},
    {.name = "1-D, long", .x = S(1, 1, 150), .w = S(2, 1, 70), .a = {.padding = I(69), .padding_end = I(69)}},
    {.name = "1-D, stride and dilation",
     .x = S(1, 2, 11),
     .w = S(2, 2, 3),
     .a = {.padding = I(4), .padding_end = I(3), .stride = I(3), .dilation = I(2)},
     .everywhere = true},
    {.name = "2-D",
     .x = S(1, 1, 4, 4),
     .w = S(1, 1, 3, 3),
     .a = {.padding = I(1, 1), .padding_end = I(1, 1)}},
    {.name = "2-D, no padding", .x = S(1, 2, 4, 5), .w = S(2, 2, 3, 2), .a = {.groups = 1}},
    {.name = "2-D, end alone", .x = S(2, 3, 5, 4), .w = S(4, 3, 2, 3), .a = {.padding_end = I(1, 2)}},
    {.name = "2-D, cropped",
     .x = S(1, 2, 6, 6),
     .w = S(3, 2, 3, 3),
     .a = {.padding = I(-1, 2), .padding_end = I(1, -1)}},
    {.name = "2-D, stride 2",
     .x = S(2, 2, 6, 7),
     .w = S(5, 2, 3, 3),
     .a = {.padding = I(1, 1), .padding_end = I(1, 1), .stride = I(2, 2)}},
    {.name = "2-D, wide padding",
     .x = S(1, 2, 3, 4),
     .w = S(2, 2, 3, 2),
     .a = {.padding = I(3, 4), .padding_end = I(2, 4)}},
    {.name = "2-D, dilated",
     .x = S(1, 2, 6, 5),
     .w = S(3, 2, 3, 3),
     .a = {.padding = I(2, 3), .padding_end = I(2, 3), .stride = I(1, 2), .dilation = I(2, 3)}},
    {.name = "2-D, groups",
     .x = S(1, 4, 5, 5),
     .w = S(6, 2, 3, 3),
     .a = {.padding = I(1, 1), .padding_end = I(1, 1), .groups = 2}},
    {.name = "2-D, depthwise",
     .x = S(2, 5, 5, 6),
     .w = S(5, 1, 3, 3),
     .a = {.padding = I(1, 1), .padding_end = I(1, 1), .groups = 5}},
    {.name = "2-D, one tap",
     .x = S(1, 8, 4, 4),
     .w = S(8, 8, 1, 1),
     .a = {.padding = I(1, 0), .padding_end = I(0, 1)}},
    {.name = "2-D, turned",
     .x = S(2, 2, 5, 4),
     .w = S(3, 2, 3, 3),
     .a = {.padding = I(1, 1), .padding_end = I(1, 1)},
     .turned = true},
    {.name = "3-D",
     .x = S(1, 2, 3, 4, 3),
     .w = S(2, 2, 3, 3, 2),
     .a = {.padding = I(1, 1, 1), .padding_end = I(1, 1, 0), .stride = I(1, 2, 1)}},
    {.name = "many results",
     .x = S(1, 6, 50, 60),
     .w = S(6, 6, 3, 3),
     .a = {.padding = I(1, 1), .padding_end = I(1, 1)},
     .large = true},
    {.name = "many weights",
     .x = S(1, 40, 4, 4),
     .w = S(48, 40, 3, 3),
     .a = {.padding = I(1, 1), .padding_end = I(1, 1)},
     .large = true},
};
#undef S
#undef I

/* ---- operands */

typedef struct {
    kn_shape shape;
    int64_t n;
    double *values;
} host;

static host make(kn_shape shape, int seed)
{
    host h = {.shape = shape, .n = 1};
    for (int i = 0; i < shape.rank; i++) h.n *= shape.dims[i];
    h.values = malloc((size_t)h.n * sizeof *h.values);
    for (int64_t i = 0; h.values && i < h.n; i++) h.values[i] = (double)((i * 7 + i / 5 + seed) % 5 - 2);
    return h;
}

static kn_tensor tensor_of(const host *h, kn_dtype dtype, bool turned)
{
    kn_tensor t = kn_cast(kn_from(h->values, KN_F64, h->shape), dtype);
    const int last = h->shape.rank - 1;
    if (turned) t = kn_transpose(kn_mul_scalar(kn_transpose(t, last, last - 1), 1), last, last - 1);
    return kn_keep(t);
}

/* ---- y, dx and dw of one device, one after the other */

typedef struct {
    const geometry *g;
    host x, w, dy;
    kn_dtype dtype;
} call;

enum { RESULTS = 3 };
static const char *const result_names[RESULTS] = {"conv", "conv_transpose", "conv_weight_grad"};

/* Another value for each channel. */
static kn_tensor bias_of(const call *c, int64_t channels)
{
    return kn_cast(kn_arange(1, (double)channels + 1, 1, KN_F32), c->dtype);
}

/* By the rows themselves; the transposed convolution has a bias too. */
static void run_rows(const call *c, kn_tensor x, kn_tensor w, kn_tensor dy, kn_tensor out[RESULTS])
{
    kni_conv_attributes a = c->g->a;
    const int n = c->x.shape.rank - 2;
    kn_tensor in[3] = {x, w, bias_of(c, c->w.shape.dims[0])};
    out[0] = kni_apply(&kni_op_conv, in, 3, &a);
    in[1] = dy;
    a = c->g->a;
    a.extra.rank = n;
    for (int i = 0; i < n; i++) a.extra.dims[i] = c->w.shape.dims[2 + i];
    out[2] = kni_apply(&kni_op_conv_weight_grad, in, 2, &a);
    /* What the end of x has that no result reads. */
    a = c->g->a;
    a.extra.rank = n;
    for (int i = 0; i < n; i++) {
        const int64_t stride = a.stride.rank ? a.stride.dims[i] : 1,
                      dilation = a.dilation.rank ? a.dilation.dims[i] : 1;
        const int64_t pad =
            (a.padding.rank ? a.padding.dims[i] : 0) + (a.padding_end.rank ? a.padding_end.dims[i] : 0);
        a.extra.dims[i] =
            (c->x.shape.dims[2 + i] + pad - dilation * (c->w.shape.dims[2 + i] - 1) - 1) % stride;
    }
    in[0] = dy;
    in[1] = w;
    in[2] = bias_of(c, c->x.shape.dims[1]);
    out[1] = kni_apply(&kni_op_conv_transpose, in, 3, &a);
}

/* By differentiation. */
static void run_gradients(const call *c, kn_tensor x, kn_tensor w, kn_tensor dy, kn_tensor out[RESULTS])
{
    kni_conv_attributes a = c->g->a;
    kn_tensor in[2] = {kn_require_grad(x), kn_require_grad(w)};
    out[0] = kn_keep(kni_apply(&kni_op_conv, in, 2, &a));
    if (kn_grad(&out[0], &dy, 1, in, 2, 0, out + 1) != KN_OK) out[1] = out[2] = KN_NONE;
}

typedef void (*run_fn)(const call *c, kn_tensor x, kn_tensor w, kn_tensor dy, kn_tensor out[RESULTS]);

static bool run_on(kn_device device, run_fn run, const call *c, host out[RESULTS])
{
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    kn_tensor results[RESULTS];
    bool good = true;
    run(c, tensor_of(&c->x, c->dtype, c->g->turned), tensor_of(&c->w, c->dtype, false),
        tensor_of(&c->dy, c->dtype, false), results);
    for (int i = 0; i < RESULTS; i++)
        good &= kn_count(results[i]) == out[i].n &&
                kn_read_as(results[i], KN_F64, out[i].values, (size_t)out[i].n * sizeof(double)) == KN_OK;
    if (!good) printf("%s: %s\n", c->g->name, kn_last_error());
    kn_scope_end(scope, KN_NONE);
    return good;
}

/* ---- devices */

typedef struct {
    const char *name, *truth;
    run_fn run;
    bool gpu;  /* may be missing */
    bool slow; /* takes seconds to compile a kernel: f32 alone */
    kn_device device, ref;
} target;

static target targets[] = {{.name = "cpu", .truth = "ref", .run = run_rows},
                           {.name = "fusion(cpu)", .truth = "ref", .run = run_rows},
                           {.name = "autodiff(cpu)", .truth = "autodiff(ref)", .run = run_gradients},
                           {.name = "opencl:0", .truth = "ref", .run = run_rows, .gpu = true, .slow = true},
                           {.name = "cuda:0", .truth = "ref", .run = run_rows, .gpu = true}};
enum { TARGETS = sizeof targets / sizeof *targets };

static bool equal(const call *c, const target *t, const host want[RESULTS], const host got[RESULTS])
{
    for (int r = 0; r < RESULTS; r++)
        for (int64_t i = 0; i < want[r].n; i++) {
            const double a = want[r].values[i], b = got[r].values[i];
            if (a == b || (isnan(a) && isnan(b))) continue;
            printf("%s, %s of %s, %s, tier %s: result %lld is %g, not %g\n", c->g->name, result_names[r],
                   kn_dtype_name(c->dtype), t->name, kni_cpu_tier_name(kni_cpu_tier()), (long long)i, b, a);
            return false;
        }
    return true;
}

/* All targets against ref; the scalar tier and the best one, or all tiers. Asking the processor takes long, so that tiers
   are looked up once. */
static bool available[KNI_ISA_COUNT];
static kni_tier best;

static void free_all(host h[RESULTS])
{
    for (int r = 0; r < RESULTS; r++) free(h[r].values);
}

static bool agrees(const call *c, bool all_tiers)
{
    bool good = true;
    for (int t = 0; t < TARGETS && good; t++) {
        if (!targets[t].device || (targets[t].gpu && !c->g->everywhere)) continue;
        if (targets[t].slow && c->dtype != KN_F32) continue;
        host want[RESULTS] = {make(c->dy.shape, 0), make(c->x.shape, 0), make(c->w.shape, 0)};
        host got[RESULTS] = {make(c->dy.shape, 0), make(c->x.shape, 0), make(c->w.shape, 0)};
        good = run_on(targets[t].ref, targets[t].run, c, want);
        for (int tier = 0; tier < KNI_ISA_COUNT && good; tier++) {
            const bool other = tier != (int)best;
            if (!available[tier] || (other && (t > 0 || !(all_tiers || tier == KNI_ISA_SCALAR)))) continue;
            if (other) kni_cpu_set_tier((kni_tier)tier);
            good = run_on(targets[t].device, targets[t].run, c, got) && equal(c, &targets[t], want, got);
            if (other) kni_cpu_set_tier(best);
        }
        free_all(want);
        free_all(got);
    }
    return good;
}

/* ---- places */

/* The element at place `at`: its digits to base 3 say first, middle or last along each spatial axis; the leading axes
   are both at their ends or both at their beginnings. */
static int64_t index_of(const host *h, int at)
{
    int64_t index = at % 2 ? h->shape.dims[0] * h->shape.dims[1] - 1 : 0;
    for (int i = 2; i < h->shape.rank; i++, at /= 3)
        index = index * h->shape.dims[i] + (at % 3 == 0   ? 0
                                            : at % 3 == 1 ? h->shape.dims[i] / 2
                                                          : h->shape.dims[i] - 1);
    return index;
}

/* Puts each bad value at each place of one operand. */
static void check_places(call *c, host *operand)
{
    static const double bad[] = {NAN, INFINITY, -INFINITY};
    const int n = c->x.shape.rank - 2, places = n == 1 ? 3 : n == 2 ? 9 : 27;
    const int step = c->g->large ? 4 : n == 3 ? 2 : 1;
    const int values = c->g->large ? 1 : c->dtype == KN_F32 ? 3 : 2;
    bool good = true;
    static int64_t turn;
    for (int at = 0; at < places && good; at += step)
        for (int v = 0; v < values && good; v++) {
            if (at > 0 && !check_part(turn++, 3)) continue; /* the first place always, with each bad value */
            const int64_t i = index_of(operand, at);
            const double was = operand->values[i];
            operand->values[i] = bad[v];
            good = agrees(c, false);
            if (!good) printf("  with %g at place %lld\n", bad[v], (long long)i);
            operand->values[i] = was;
        }
    CHECK(good);
}

/* All elements of an operand bad, as after a diverged step; and two infinities, whose difference is NaN. */
static void check_many(call *c, host *operand)
{
    for (int64_t i = 0; i < operand->n; i++) operand->values[i] = NAN;
    CHECK(agrees(c, true));
    for (int64_t i = 0; i < operand->n; i++) operand->values[i] = i % 3 ? 1 : i % 2 ? INFINITY : -INFINITY;
    CHECK(agrees(c, true));
}

static kn_shape shape_of_result(const geometry *g)
{
    kn_device_use(kn_device_cpu());
    kn_scope scope = kn_scope_begin();
    kni_conv_attributes a = g->a;
    kn_tensor in[2] = {kn_zeros(g->x, KN_F32), kn_zeros(g->w, KN_F32)};
    kn_tensor y = kn_keep(kni_apply(&kni_op_conv, in, 2, &a));
    CHECK(kn_ok(y));
    kn_shape shape = kn_shape_of_tensor(y);
    kn_scope_end(scope, KN_NONE);
    return shape;
}

static void check_geometry(const geometry *g)
{
    static const kn_dtype dtypes[] = {KN_F32, KN_F64, KN_BF16, KN_F16};
    const int n = g->large ? 1 : (int)(sizeof dtypes / sizeof *dtypes);
    for (int d = 0; d < n; d++) {
        call c = {g, make(g->x, 1), make(g->w, 2), make(shape_of_result(g), 3), dtypes[d]};
        if (!CHECK(c.x.values && c.w.values && c.dy.values)) return;
        CHECK(agrees(&c, true));
        check_places(&c, &c.w);
        check_places(&c, &c.dy);
        if (dtypes[d] == KN_F32) {
            check_many(&c, &c.w);
            free(c.w.values);
            c.w = make(g->w, 2);
            check_many(&c, &c.dy);
        }
        free(c.x.values);
        free(c.w.values);
        free(c.dy.values);
    }
}

int main(void)
{
    for (int t = 0; t < TARGETS; t++) {
        targets[t].device = kn_device_open(targets[t].name);
        targets[t].ref = kn_device_open(targets[t].truth);
        if (!targets[t].device && targets[t].gpu)
            check_skip(targets[t].slow ? "no OpenCL device" : "no CUDA device");
        else if (!CHECK(targets[t].device && targets[t].ref))
            return check_report();
    }
    best = kni_cpu_tier();
    for (int i = 0; i < KNI_ISA_COUNT; i++) available[i] = tier_runs((kni_tier)i);
    for (size_t i = 0; i < sizeof geometries / sizeof *geometries; i++) check_geometry(&geometries[i]);
    return check_report();
}
