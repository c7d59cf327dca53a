/* What is drawn by a seed inside larger functions: attention with dropout, slopes of rrelu, windows of fractional pooling. The same
   seed gives the same result on every stack, gradients see the draw of the forward pass, and programs draw anew. */
#include "support/check.h"
#include <kn/program.h>
#include <math.h>

static const char *const stacks[] = {"cpu", "ref", "fusion(cpu)", "autodiff(cpu)", "autodiff(fusion(cpu))"};
enum { STACKS = sizeof stacks / sizeof *stacks, B = 2, H = 4, G = 2, Q = 5, K = 7, D = 3, E = 6 };

static kn_tensor wave(kn_shape shape, double seed)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    return kn_sin(
        kn_mul_scalar(kn_add_scalar(kn_reshape(kn_arange(0, (double)n, 1, KN_F64), shape), seed), 1.7));
}

static double gap(kn_tensor a, kn_tensor b) { return kn_item(kn_max_abs(kn_sub(a, b), KN_AXES_ALL, false)); }

/* ---- attention */

typedef struct heads {
    kn_tensor q, k, v;
} heads;

static heads make_heads(void)
{
    return (heads){kn_keep(wave(KN_SHAPE(B, H, Q, D), 1)), kn_keep(wave(KN_SHAPE(B, G, K, D), 50)),
                   kn_keep(wave(KN_SHAPE(B, G, K, E), 99))};
}

static kn_tensor attend(const heads *h, double dropout, bool causal)
{
    kn_attention_args args = {.dropout = dropout, .is_causal = causal};
    return kn_attention(h->q, h->k, h->v, &args);
}

/* The weights as a matrix: attention of the unit matrix as values. */
static kn_tensor weights_of(const heads *h, double dropout)
{
    kn_tensor unit = kn_expand(kn_eye(K, K, KN_F64), KN_SHAPE(B, G, K, K));
    return kn_attention(h->q, h->k, unit, &(kn_attention_args){.dropout = dropout});
}

static void weights_are_dropped_and_scaled(kn_device device)
{
    kn_scope scope = kn_scope_begin();
    heads h = make_heads();
    kn_tensor whole = kn_keep(weights_of(&h, 0));
    kn_seed(device, 5);
    kn_tensor some = kn_keep(weights_of(&h, 0.25));
    kn_tensor kept = kn_keep(kn_not_equal_scalar(some, 0));
    double share = kn_item(kn_mean(kn_cast(kept, KN_F64), KN_AXES_ALL, false));
    CHECK(share > 0.65 && share < 0.85);
    /* What is kept is divided by 3 / 4. */
    kn_tensor want = kn_where(kept, kn_div_scalar(whole, 0.75), kn_zeros_like(whole));
    CHECK(gap(some, want) < 1e-12);
    /* The result is that of these weights. */
    kn_seed(device, 5);
    kn_tensor y = kn_keep(attend(&h, 0.25, false));
    kn_tensor values = kn_repeat_interleave(h.v, H / G, 1);
    CHECK(gap(y, kn_matmul(some, values)) < 1e-12);
    CHECK(gap(attend(&h, 0, true), kn_attention(h.q, h.k, h.v, &(kn_attention_args){.is_causal = true})) ==
          0);
    kn_scope_end(scope, KN_NONE);
}

/* A hidden key stays hidden: its weight is 0 before it is dropped. */
static void hidden_keys_stay_hidden(kn_device device)
{
    kn_scope scope = kn_scope_begin();
    heads h = make_heads();
    kn_seed(device, 6);
    kn_tensor a = kn_keep(attend(&h, 0.4, true));
    heads other = h;
    /* The first query sees the first key alone, whatever the others are. */
    kn_tensor first = kn_narrow(h.k, 2, 0, 1), rest = kn_mul_scalar(kn_narrow(h.k, 2, 1, K - 1), -3);
    other.k = kn_keep(kn_concat((const kn_tensor[]){first, rest}, 2, 2));
    kn_seed(device, 6);
    kn_tensor b = kn_keep(attend(&other, 0.4, true));
    CHECK(gap(kn_narrow(a, 2, 0, 1), kn_narrow(b, 2, 0, 1)) == 0);
    CHECK(gap(a, b) > 1e-3);
    kn_scope_end(scope, KN_NONE);
}

static double loss_of(kn_device device, const heads *h)
{
    kn_seed(device, 7);
    kn_tensor y = attend(h, 0.3, false);
    return kn_item(kn_sum(kn_mul(y, wave(KN_SHAPE(B, H, Q, E), 3)), KN_AXES_ALL, false));
}

/* Central differences with the same seed, for one element of each operand. */
static void gradients_see_the_same_mask(kn_device device)
{
    kn_scope scope = kn_scope_begin();
    heads h = make_heads();
    kn_tensor in[3] = {h.q, h.k, h.v}, grads[3];
    for (int i = 0; i < 3; i++) in[i] = kn_keep(kn_require_grad(in[i]));
    heads taped = {in[0], in[1], in[2]};
    kn_seed(device, 7);
    kn_tensor y = attend(&taped, 0.3, false);
    kn_tensor loss = kn_sum(kn_mul(y, wave(KN_SHAPE(B, H, Q, E), 3)), KN_AXES_ALL, false);
    loss = kn_keep(loss);
    CHECK(kn_grad(&loss, NULL, 1, in, 3, 0, grads) == KN_OK);
    for (int i = 0; i < 3; i++) grads[i] = kn_keep(grads[i]);
    for (int i = 0; i < 3; i++) {
        kn_tensor plain[3] = {h.q, h.k, h.v};
        double step = 1e-5, at[2];
        int64_t n = kn_count(plain[i]), place = n / 2;
        kn_tensor bump = kn_keep(
            kn_reshape(kn_one_hot(kn_scalar_int(place, KN_I64), n, KN_F64), kn_shape_of_tensor(plain[i])));
        for (int side = 0; side < 2; side++) {
            kn_tensor moved[3] = {h.q, h.k, h.v};
            moved[i] = kn_keep(kn_add(plain[i], kn_mul_scalar(bump, side ? step : -step)));
            at[side] = loss_of(device, &(heads){moved[0], moved[1], moved[2]});
        }
        double slope = (at[1] - at[0]) / (2 * step),
               got = kn_item(kn_sum(kn_mul(grads[i], bump), KN_AXES_ALL, false));
        if (!CHECK(fabs(slope - got) < 1e-7 * (1 + fabs(slope))))
            printf("  operand %d: %g, not %g\n", i, got, slope);
    }
    kn_scope_end(scope, KN_NONE);
}

/* ---- slopes and windows */

static void slopes(kn_device device)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(kn_full(KN_SHAPE(1000), -1, KN_F64)), up = kn_keep(kn_full(KN_SHAPE(3), 2, KN_F64));
    kn_seed(device, 8);
    kn_tensor a = kn_keep(kn_rrelu(x, 0.1, 0.3, true));
    kn_seed(device, 8);
    CHECK(gap(a, kn_rrelu(x, 0.1, 0.3, true)) == 0);
    CHECK(gap(a, kn_rrelu(x, 0.1, 0.3, true)) > 0.05);
    CHECK(kn_item(kn_max(a, KN_AXES_ALL, false)) <= -0.1 && kn_item(kn_min(a, KN_AXES_ALL, false)) > -0.3);
    CHECK(fabs(kn_item(kn_mean(a, KN_AXES_ALL, false)) + 0.2) < 0.01);
    CHECK_VALUES(kn_rrelu(up, 0.1, 0.3, true), 0, 2, 2, 2);
    CHECK_POISON(kn_rrelu(kn_ones(KN_SHAPE(2), KN_I32), 0.1, 0.3, true), "kn_cast");
    kn_scope_end(scope, KN_NONE);
}

static void windows(kn_device device)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_keep(wave(KN_SHAPE(3, 4, 9, 8), 2));
    kn_fractional_pool_args args = {.ratio = {0.5}};
    kn_seed(device, 9);
    kn_pooled a = kn_fractional_max_pool2d(x, KN_INTS(2), &args);
    a = (kn_pooled){kn_keep(a.values), kn_keep(a.indices)};
    CHECK(kn_size(a.values, 2) == 4 && kn_size(a.values, 3) == 4);
    /* The values are the elements at the indices. */
    kn_tensor flat = kn_reshape(x, KN_SHAPE(3, 4, 72));
    CHECK(gap(kn_reshape(a.values, KN_SHAPE(3, 4, 16)),
              kn_gather(flat, 2, kn_reshape(a.indices, KN_SHAPE(3, 4, 16)))) == 0);
    kn_seed(device, 9);
    CHECK(gap(a.values, kn_fractional_max_pool2d(x, KN_INTS(2), &args).values) == 0);
    CHECK(gap(a.values, kn_fractional_max_pool2d(x, KN_INTS(2), &args).values) > 0);
    kn_scope_end(scope, KN_NONE);
}

/* ---- all stacks draw the same */

static void stacks_agree(void)
{
    double first[B * H * Q * E], got[B * H * Q * E];
    for (int i = 0; i < STACKS; i++) {
        kn_device device = kn_device_open(stacks[i]);
        kn_device_use(device);
        kn_scope scope = kn_scope_begin();
        heads h = make_heads();
        kn_seed(device, 3);
        kn_tensor y = kn_keep(attend(&h, 0.5, false));
        CHECK(kn_read(y, i ? got : first, sizeof first) == KN_OK);
        double worst = 0;
        for (int k = 0; i && k < B * H * Q * E; k++) worst = fmax(worst, fabs(got[k] - first[k]));
        if (!CHECK(worst < 1e-13)) printf("  %s is off by %g\n", stacks[i], worst);
        kn_scope_end(scope, KN_NONE);
    }
}

int main(void)
{
    for (int i = 0; i < STACKS; i++) {
        kn_device device = kn_device_open(stacks[i]);
        kn_device_use(device);
        weights_are_dropped_and_scaled(device);
        hidden_keys_stay_hidden(device);
        slopes(device);
        windows(device);
        if (strstr(stacks[i], "autodiff")) gradients_see_the_same_mask(device);
    }
    stacks_agree();
    kn_device_use(kn_device_cpu());
    CHECK(kn_shutdown() == 0);
    return check_report();
}
