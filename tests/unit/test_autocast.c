/* Mixed precision: what autocast rounds, what stays wide, gradients in the params' dtype, and loss scaling. */
#include "test_optim_net.h"
#include <kn/autocast.h>
#include <kn/op_info.h>
#include <math.h>

static kn_dtype taken_dtype(kn_tensor t)
{
    kn_tensor owned = kn_own(t);
    kn_dtype dtype = kn_dtype_of(owned);
    kn_drop(owned);
    return dtype;
}

static void products_are_rounded(void)
{
    kn_tensor a = kn_own(numbers(1, KN_SHAPE(3, 4), KN_F32)), b = kn_own(numbers(2, KN_SHAPE(4, 5), KN_F32));
    kn_tensor wide = kn_own(numbers(3, KN_SHAPE(3, 4), KN_F64));
    CHECK(kn_autocast_dtype() == KN_DTYPE_NONE);
    kn_dtype before = kn_autocast_begin(KN_BF16);
    CHECK(before == KN_DTYPE_NONE && kn_autocast_dtype() == KN_BF16);
    CHECK(taken_dtype(kn_matmul(a, b)) == KN_BF16);
    CHECK(taken_dtype(kn_add(kn_matmul(a, b), kn_zeros(KN_SHAPE(3, 5), KN_F32))) == KN_F32);
    CHECK(taken_dtype(kn_relu(kn_matmul(a, b))) == KN_BF16);
    CHECK(taken_dtype(kn_exp(kn_matmul(a, b))) == KN_F32);
    CHECK(taken_dtype(kn_sum(kn_matmul(a, b), KN_AXES_ALL, false)) == KN_F32);
    CHECK(taken_dtype(kn_add(a, a)) == KN_F32);
    CHECK(taken_dtype(kn_mse_loss(kn_matmul(a, b), kn_zeros(KN_SHAPE(3, 5), KN_BF16), KN_REDUCTION_MEAN)) ==
          KN_F32);
    CHECK(taken_dtype(kn_cross_entropy(kn_matmul(a, b), kn_zeros(KN_SHAPE(3), KN_I64), NULL)) == KN_F32);
    CHECK(taken_dtype(kn_matmul(wide, kn_cast(b, KN_F64))) == KN_F64); /* f64 is never shortened */
    kn_dtype inside = kn_autocast_begin(KN_F16);
    CHECK(inside == KN_BF16 && taken_dtype(kn_matmul(a, b)) == KN_F16);
    kn_dtype off = kn_autocast_begin(KN_F32);
    CHECK(taken_dtype(kn_matmul(a, b)) == KN_F32);
    kn_autocast_end(off);
    kn_autocast_end(inside);
    CHECK(taken_dtype(kn_matmul(a, b)) == KN_BF16);
    /* One operand twice, and a temporary: each is cast once. */
    kn_tensor square = numbers(4, KN_SHAPE(4, 4), KN_F32);
    CHECK(taken_dtype(kn_matmul(square, square)) == KN_BF16);
    kn_autocast_end(before);
    CHECK(taken_dtype(kn_matmul(a, b)) == KN_F32);
    kn_drop(a);
    kn_drop(b);
    kn_drop(wide);
}

static void values_are_those_of_casts(void)
{
    kn_tensor a = kn_own(numbers(5, KN_SHAPE(3, 4), KN_F32)), b = kn_own(numbers(6, KN_SHAPE(4, 5), KN_F32));
    float with[15], without[15];
    kn_dtype before = kn_autocast_begin(KN_F16);
    CHECK(kn_read_as(kn_matmul(a, b), KN_F32, with, sizeof with) == KN_OK);
    kn_autocast_end(before);
    CHECK(kn_read_as(kn_matmul(kn_cast(a, KN_F16), kn_cast(b, KN_F16)), KN_F32, without, sizeof without) ==
          KN_OK);
    CHECK(memcmp(with, without, sizeof with) == 0);
    kn_drop(a);
    kn_drop(b);
}

static void misuse(void)
{
    kn_dtype before = kn_autocast_begin(KN_I32);
    CHECK(kn_autocast_dtype() == KN_DTYPE_NONE && before == KN_DTYPE_NONE);
    CHECK(strstr(kn_last_error(), "KN_BF16") != NULL);
    kn_autocast_end((kn_dtype)77); /* nothing that begin gives */
    CHECK(kn_autocast_dtype() == KN_DTYPE_NONE);
    kn_dtype on = kn_autocast_begin(KN_BF16);
    kn_tensor poisoned = kn_matmul(kn_zeros(KN_SHAPE(2, 3), KN_F32), kn_zeros(KN_SHAPE(4, 5), KN_F32));
    CHECK(!kn_ok(poisoned));
    CHECK(!kn_ok(kn_matmul(poisoned, kn_zeros(KN_SHAPE(4, 5), KN_F32))));
    kn_autocast_end(on);
    CHECK(kn_autocast_policy(-5) == 0 && kn_autocast_policy(100000) == 0);
}

/* The gradients of f32 params are f32, and near those of the f32 run; backward inside changes nothing. */
static void gradients(void)
{
    Net net = net_make(KN_F32);
    kn_grads plain, outside;
    double exact = net_loss(&net, 0, &plain);
    kn_dtype before = kn_autocast_begin(KN_BF16);
    double rounded = net_loss(&net, 0, &outside);
    kn_autocast_end(before);
    CHECK(rounded != exact && fabs(rounded - exact) < 0.02 * exact);
    kn_tensor g = kn_grads_get(outside, kn_value(net.in.weight)),
              h = kn_grads_get(plain, kn_value(net.in.weight));
    CHECK(kn_dtype_of(g) == KN_F32);
    float a[20], b[20];
    double worst = 0;
    CHECK(kn_read(g, a, sizeof a) == KN_OK && kn_read(h, b, sizeof b) == KN_OK);
    for (int i = 0; i < 20; i++) worst = fmax(worst, fabs(a[i] - b[i]));
    CHECK(worst > 0 && worst < 0.02);
    kn_grads_free(plain);
    kn_grads_free(outside);
    net_drop(&net);
}

/* A step whose loss is scaled by a power of two is the plain step, to the last bit. */
static void scaled_step_is_the_step(kn_clip_kind clip)
{
    Net one = net_make(KN_F32), two = net_make(KN_F32);
    kn_optim a = kn_optim_adam(NULL), b = kn_optim_adam(NULL);
    kn_loss_scaler scaler = kn_loss_scaler_make();
    scaler.interval = 2;
    CHECK(kn_optim_set_clip(a, clip, 0.05) == KN_OK && kn_optim_set_clip(b, clip, 0.05) == KN_OK);
    double x[NET_PARAMS], y[NET_PARAMS], worst = 0;
    for (int step = 0; step < 3; step++) {
        kn_grads grads;
        net_loss(&one, step, &grads);
        CHECK(kn_optim_step(a, 0.01, NET(&one), grads) == KN_OK);
        kn_grads_free(grads);
        kn_scope scope = kn_scope_begin();
        kn_tensor in = numbers(100 + step % 4, KN_SHAPE(6, 4), KN_F32),
                  out = numbers(200 + step % 4, KN_SHAPE(6, 3), KN_F32);
        kn_tensor h = kn_tanh(kn_linear(in, kn_value(two.in.weight), kn_value(two.in.bias)));
        kn_tensor error = kn_sub(kn_linear(h, kn_value(two.out.weight), kn_value(two.out.bias)), out);
        kn_tensor loss = kn_loss_scaler_scale(&scaler, kn_mean(kn_square(error), KN_AXES_ALL, false));
        bool stepped = false;
        CHECK(kn_backward(loss, &grads) == KN_OK);
        CHECK(kn_loss_scaler_step(&scaler, b, 0.01, NET(&two), grads, &stepped) == KN_OK && stepped);
        kn_scope_end(scope, KN_NONE);
        kn_grads_free(grads);
    }
    CHECK(scaler.scale == 131072 && scaler.good == 1);
    net_read(&one, x);
    net_read(&two, y);
    for (int i = 0; i < NET_PARAMS; i++) worst = fmax(worst, fabs(x[i] - y[i]));
    CHECK(clip == KN_CLIP_NONE || clip == KN_CLIP_VALUE ? worst == 0 : worst < 1e-6);
    kn_optim_free(a);
    kn_optim_free(b);
    net_drop(&one);
    net_drop(&two);
}

static void overflow_changes_nothing(void)
{
    Net net = net_make(KN_F32);
    kn_optim optim = kn_optim_adam(NULL);
    kn_loss_scaler scaler = kn_loss_scaler_make(), loaded = kn_loss_scaler_make();
    double before[NET_PARAMS], after[NET_PARAMS];
    net_read(&net, before);
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_full(KN_SHAPE(6, 4), 3e38, KN_F32);
    kn_tensor h = kn_linear(x, kn_value(net.in.weight), kn_value(net.in.bias));
    kn_tensor loss = kn_loss_scaler_scale(
        &scaler, kn_sum(kn_linear(h, kn_value(net.out.weight), kn_value(net.out.bias)), KN_AXES_ALL, false));
    kn_grads grads;
    bool stepped = true;
    CHECK(kn_backward(loss, &grads) == KN_OK);
    CHECK(kn_loss_scaler_step(&scaler, optim, 0.1, NET(&net), grads, &stepped) == KN_OK && !stepped);
    kn_scope_end(scope, KN_NONE);
    kn_grads_free(grads);
    CHECK(scaler.scale == 32768 && scaler.good == 0);
    net_read(&net, after);
    CHECK(memcmp(before, after, sizeof before) == 0);
    kn_state state = kn_state_make();
    CHECK(kn_loss_scaler_load(&loaded, state, "scaler.") != KN_OK && loaded.scale == 65536);
    CHECK(kn_loss_scaler_save(&scaler, state, "scaler.") == KN_OK);
    CHECK(kn_loss_scaler_load(&loaded, state, "scaler.") == KN_OK && loaded.scale == 32768);
    CHECK(kn_loss_scaler_save(NULL, state, "") == KN_ERROR_ARGUMENT);
    CHECK(kn_loss_scaler_save(&scaler, NULL, "") == KN_ERROR_ARGUMENT);
    CHECK(kn_loss_scaler_load(NULL, state, "scaler.") == KN_ERROR_ARGUMENT);
    CHECK(kn_loss_scaler_load(&loaded, NULL, "scaler.") == KN_ERROR_ARGUMENT);
    kn_state_free(state);
    CHECK(kn_loss_scaler_step(NULL, optim, 0.1, NET(&net), NULL, NULL) == KN_ERROR_ARGUMENT);
    scaler.scale = -1;
    CHECK(kn_loss_scaler_step(&scaler, optim, 0.1, NET(&net), NULL, NULL) == KN_ERROR_ARGUMENT);
    kn_optim_free(optim);
    net_drop(&net);
}

int main(void)
{
    kn_device device = kn_device_open("autodiff(cpu)");
    if (!CHECK(device != NULL)) return check_report();
    kn_device_use(device);
    products_are_rounded();
    values_are_those_of_casts();
    misuse();
    gradients();
    for (int clip = KN_CLIP_NONE; clip <= KN_CLIP_GLOBAL_NORM; clip++)
        scaled_step_is_the_step((kn_clip_kind)clip);
    overflow_changes_nothing();
    return check_report();
}
