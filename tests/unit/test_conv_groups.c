/* Convolutions and products on the CPU: each way of computing them against the reference kernel, groups of what follows them against
   the single records in bits, one group for a whole convolution in evaluation, and weights that are packed once. */
#include "core/lasting.h"
#include "core/made_forms.h"
#include "core/table.h"
#include "support/check.h"
#include <kn/program.h>
#include <math.h>

static kn_device plain, fused, exact;

/* ---- the cases: every way through conv_run.c, with edges, odd sizes and strides */

typedef struct shape {
    int64_t batch, channels, outs, groups, height, width, taps, stride, padding;
    bool transposed;
} shape;

static const shape shapes[] = {
    {1, 16, 32, 1, 14, 14, 3, 1, 1, false}, /* turned: whole runs of 7 */
    {2, 24, 40, 1, 9, 13, 3, 1, 1, false},  /* runs of two lengths, a panel of one vector */
    {1, 40, 64, 1, 7, 7, 3, 2, 1, false},   /* planes by phase */
    {1, 3, 32, 1, 33, 31, 7, 2, 3, false},  /* few channels */
    {1, 64, 48, 1, 7, 7, 1, 1, 0, false},   /* one tap: positions of all rows are one run */
    {1, 70, 36, 1, 16, 20, 1, 1, 0, false}, /* a GEMM */
    {2, 8, 5, 1, 10, 11, 3, 1, 1, false},   /* straight: few output channels */
    {1, 64, 64, 4, 14, 14, 3, 1, 1, false}, /* groups */
    {2, 6, 6, 6, 15, 18, 3, 1, 1, false},   /* windows */
    {1, 5, 5, 5, 17, 37, 3, 2, 1, false},   /* windows with a stride */
    {1, 4, 8, 4, 12, 16, 5, 1, 2, false},   /* two results of each channel */
    {1, 7, 7, 7, 9, 50, 5, 2, 2, false},    {1, 3, 3, 3, 8, 8, 7, 1, 3, false},
    {1, 6, 6, 6, 5, 3, 3, 1, 3, false},   /* more padding than image */
    {1, 40, 16, 1, 3, 3, 3, 1, 0, false}, /* one position */
    {1, 24, 36, 1, 7, 9, 3, 1, 1, true},    {1, 16, 32, 1, 6, 7, 4, 2, 1, true},
    {1, 300, 33, 1, 8, 15, 3, 1, 1, false}, /* several blocks of depth */
};

typedef enum tail { NOTHING, RELU, BOUNDS, SILU, RESIDUAL, NORM, NORM_RELU, NORM_RESIDUAL, ROWS, TAILS } tail;

static float pseudo(int64_t i) { return (float)((i * 7919 + 13) % 2003) / 1001.5f - 1; }

static kn_tensor made(kn_shape s, int64_t seed, double scale, double shift)
{
    kn_tensor x = kn_zeros(s, KN_F32);
    static float values[1 << 18];
    int64_t n = kn_count(x);
    for (int64_t i = 0; i < n; i++) values[i] = (float)(pseudo(i * 31 + seed) * scale + shift);
    kn_drop(x);
    return kn_keep(kn_from(values, KN_F32, s));
}

static kn_tensor convolve(const shape *s, kn_tensor x, kn_tensor w, kn_tensor bias)
{
    if (s->transposed)
        return kn_conv_transpose2d(x, w, bias,
                                   &(kn_conv_transpose2d_args){.stride = {s->stride, s->stride},
                                                               .padding = {s->padding, s->padding}});
    return kn_conv2d(x, w, bias,
                     &(kn_conv2d_args){.stride = {s->stride, s->stride},
                                       .padding = {s->padding, s->padding},
                                       .groups = s->groups});
}

static kn_tensor followed(kn_tensor y, tail t, int64_t channels)
{
    kn_tensor other = KN_NONE;
    if (t == RESIDUAL || t == NORM_RESIDUAL) other = made(kn_shape_of_tensor(y), 5, 2, 0);
    if (t == ROWS) other = made(KN_SHAPE(kn_size(y, 3)), 6, 1, 0);
    if (t == NORM || t == NORM_RELU || t == NORM_RESIDUAL)
        y = kn_batch_norm(y, made(KN_SHAPE(channels), 7, 1, 0), made(KN_SHAPE(channels), 8, 0.4, 0.6),
                          made(KN_SHAPE(channels), 9, 1, 0.5), made(KN_SHAPE(channels), 10, 1, 0), 1e-5);
    if (t == RELU || t == NORM_RELU) y = kn_relu(y);
    if (t == BOUNDS) y = kn_clamp(y, -0.25, 0.5);
    if (t == SILU) y = kn_silu(y);
    if (t == RESIDUAL || t == NORM_RESIDUAL) y = kn_relu(kn_add(y, other));
    if (t == ROWS) y = kn_add(y, other);
    return y;
}

/* Elements of the case's result on the device, in values that free() takes. special: what some weights and elements are. */
static float *run(kn_device device, const shape *s, tail t, bool biased, double special, int64_t *n)
{
    kn_scope scope = kn_scope_begin();
    kn_device_use(device);
    kn_shape ws = s->transposed ? KN_SHAPE(s->channels, s->outs / s->groups, s->taps, s->taps)
                                : KN_SHAPE(s->outs, s->channels / s->groups, s->taps, s->taps);
    kn_tensor x = made(KN_SHAPE(s->batch, s->channels, s->height, s->width), 1, 1, 0), w = made(ws, 2, 1, 0);
    kn_tensor bias = biased ? made(KN_SHAPE(s->outs), 3, 1, 0) : KN_NONE;
    if (special != 0)
        w = kn_keep(kn_where(kn_greater_scalar(w, 0.98), kn_full(KN_SHAPE(1), special, KN_F32), w));
    kn_tensor y = kn_keep(followed(convolve(s, x, w, bias), t, s->outs));
    *n = kn_count(y);
    float *values = malloc((size_t)*n * sizeof *values + 1);
    if (!values || !CHECK(kn_read(y, values, (size_t)*n * sizeof *values) == KN_OK)) *n = 0;
    kn_scope_end(scope, KN_NONE);
    return values;
}

static bool near(const float *a, const float *b, int64_t n, double terms)
{
    for (int64_t i = 0; i < n; i++) {
        const bool nan = isnan(a[i]) || isnan(b[i]);
        if (nan ? isnan(a[i]) != isnan(b[i])
                : a[i] != b[i] && !(fabs(a[i] - b[i]) <= 2e-6 * sqrt(terms) * (1 + fabs(b[i]))))
            return false;
    }
    return true;
}

static void one_case(const shape *s, tail t, bool biased, double special)
{
    int64_t n[3];
    float *got[3];
    kn_device devices[] = {plain, fused, exact};
    for (int i = 0; i < 3; i++) got[i] = run(devices[i], s, t, biased, special, &n[i]);
    bool good = CHECK(n[0] == n[1] && n[0] == n[2] && n[0] > 0);
    good &= CHECK(!memcmp(got[0], got[1], (size_t)n[0] * sizeof(float)));
    good &= CHECK(near(got[0], got[2], n[0], 4.0 * (double)(s->channels * s->taps * s->taps)));
    if (!good) printf("  shape %d, tail %d, bias %d, special %g\n", (int)(s - shapes), t, biased, special);
    for (int i = 0; i < 3; i++) free(got[i]);
}

static void all_cases(void)
{
    int64_t i = 0;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (tail t = NOTHING; t < TAILS; t++)
            for (int biased = 0; biased < 2; biased++, i++)
                if (check_part(i, 7)) one_case(&shapes[k], t, biased, 0);
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (tail t = NOTHING; t <= BOUNDS; t++, i++)
            if (check_part(i, 7)) one_case(&shapes[k], t, true, t == RELU ? (double)NAN : (double)INFINITY);
}

/* The same bits with separate roundings whatever way is taken: each is summed in one order. */
static void reproducible(void)
{
    kn_set_reproducible(true);
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        if (check_part((int64_t)k, 4)) one_case(&shapes[k], NORM_RELU, true, 0);
    kn_set_reproducible(false);
}

/* ---- matrix products */

static void one_product(int64_t m, int64_t k, int64_t n, int t, bool linear)
{
    static float values[2][1 << 16];
    for (int side = 0; side < 2; side++) {
        kn_scope scope = kn_scope_begin();
        kn_device_use(side ? fused : plain);
        kn_tensor a = made(KN_SHAPE(m, k), 1, 1, 0),
                  b = made(linear ? KN_SHAPE(n, k) : KN_SHAPE(k, n), 2, 1, 0);
        kn_tensor row = made(KN_SHAPE(n), 3, 1, 0), all = made(KN_SHAPE(m, n), 4, 1, 0);
        kn_tensor y = linear ? kn_linear(a, b, row) : kn_matmul(a, b);
        y = t == 0   ? kn_relu(y)
            : t == 1 ? kn_gelu(y)
            : t == 2 ? kn_add(y, row)
                     : kn_relu6(kn_add(kn_mul(y, all), row));
        CHECK(kn_read(kn_keep(y), values[side], (size_t)(m * n) * sizeof(float)) == KN_OK);
        kn_scope_end(scope, KN_NONE);
    }
    if (!CHECK(!memcmp(values[0], values[1], (size_t)(m * n) * sizeof(float))))
        printf("  %lld x %lld x %lld, tail %d, linear %d\n", (long long)m, (long long)k, (long long)n, t,
               linear);
}

static void products(void)
{
    static const int64_t sizes[][3] = {
        {1, 20, 30}, {5, 300, 17}, {33, 64, 100}, {200, 40, 300}, {130, 260, 130}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int t = 0; t < 4; t++)
            for (int linear = 0; linear < 2; linear++)
                one_product(sizes[i][0], sizes[i][1], sizes[i][2], t, linear);
}

/* ---- what is counted */

/* Convolution, batch norm, residual and relu are one group; relu alone, too. */
static void one_group_each(void)
{
    kn_scope scope = kn_scope_begin();
    kn_device_use(fused);
    const shape s = shapes[0];
    kn_tensor x = made(KN_SHAPE(1, 16, 14, 14), 1, 1, 0), w = made(KN_SHAPE(32, 16, 3, 3), 2, 1, 0);
    kn_tensor w2 = made(KN_SHAPE(32, 32, 3, 3), 3, 1, 0), numbers = made(KN_SHAPE(32), 4, 0.3, 0.6);
    kn_tensor residual = made(KN_SHAPE(1, 32, 14, 14), 5, 1, 0);
    CHECK(kn_sync(fused) == KN_OK);
    kn_fusion_stats before = {0}, after = {0};
    CHECK(kn_fusion_stats_of(fused, &before) == KN_OK);
    kn_tensor y =
        kn_relu(kn_batch_norm(convolve(&s, x, w, KN_NONE), numbers, numbers, numbers, numbers, 1e-5));
    y = kn_batch_norm(convolve(&s, y, w2, KN_NONE), numbers, numbers, numbers, numbers, 1e-5);
    y = kn_keep(kn_relu(kn_add(y, residual)));
    CHECK(kn_sync(fused) == KN_OK);
    CHECK(kn_fusion_stats_of(fused, &after) == KN_OK);
    CHECK(after.groups_run - before.groups_run == 2 && after.singles_run == before.singles_run &&
          after.refused == before.refused);
    kn_scope_end(scope, KN_NONE);
}

/* Weights that last are packed by the first run, and nothing is made by later ones, as single records or in groups. */
static void packed_once(kn_device device)
{
    kn_scope scope = kn_scope_begin();
    kn_device_use(plain);
    const shape *s = &shapes[0];
    kn_tensor w = made(KN_SHAPE(32, 16, 3, 3), 2, 1, 0), x = made(KN_SHAPE(1, 16, 14, 14), 1, 1, 0);
    const void *first = NULL;
    kni_lasting(w);
    kn_device_use(device);
    for (int run = 0; run < 4; run++) {
        kn_tensor y = kn_keep(kn_relu(convolve(s, x, w, KN_NONE)));
        CHECK(kn_ok(y) && kn_sync(device) == KN_OK);
        const void *now = atomic_load(&kni_peek(w)->storage->forms);
        CHECK(now && (run == 0 || now == first));
        first = now;
    }
    kn_scope_end(scope, KN_NONE);
}

int main(void)
{
    plain = kn_device_cpu();
    fused = kn_device_open("fusion(cpu)");
    exact = kn_device_open("ref");
    if (!CHECK(fused && exact)) return check_report();
    all_cases();
    reproducible();
    products();
    one_group_each();
    packed_once(plain);
    packed_once(fused);
    kn_device_use(NULL);
    return check_report();
}
