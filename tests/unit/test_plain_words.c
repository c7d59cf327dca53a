/* What a new user does wrong, and words that tell it: dtypes that are not there, numbers that do not fit, gradients of custom ops,
   names of devices, long paths. */
#define _POSIX_C_SOURCE 200809L
#include "support/check.h"
#include <kn/kernels.h>
#include <kn/nn.h>
#include <kn/store.h>
#include <stdlib.h>

static void dtypes_that_are_not_there(void)
{
    static const char words[] = "there are no tensors of dtype ";
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(2), KN_F32));
    double b[4];
    CHECK_ERROR(kn_read_as(x, KN_C64, b, 16), words);
    CHECK_ERROR(kn_read_as(x, (kn_dtype)200, b, 16), "200 is the code of no dtype");
    kn_nn_linear layer = {0}, other = {0};
    kn_nn_lstm lstm = {0};
    CHECK(kn_nn_linear_init(&layer, 2, 2, NULL) == KN_OK);
    kn_module module = KN_MODULE_OF(kn_nn_linear, &layer);
    CHECK_ERROR(kn_module_cast(module, KN_F8_E5M2),
                "kn_module_cast: f8_e5m2 is only stored: use f32, f16 or bf16");
    CHECK_ERROR(kn_module_cast(module, KN_I64), "i64 is no float dtype");
    CHECK_ERROR(kn_nn_linear_init(&other, 2, 2, &(kn_nn_linear_args){.dtype = KN_F8_E4M3}),
                "f8_e4m3 is only stored");
    CHECK(strstr(kn_last_error(), "kn_nn_linear_init: "));
    CHECK_ERROR(kn_nn_lstm_init(&lstm, 2, 2, &(kn_nn_recurrent_args){.dtype = KN_C64}), words);
    CHECK_ERROR(kn_save(module, "none.safetensors", &(kn_save_args){.cast = KN_C64}), words);
    CHECK(!kn_kernel_compile("kernel k(index i, in T x[], out T y[]) { y[i] = x[i]; }",
                             &(kn_kernel_options){.element = KN_F8_E4M3}) &&
          strstr(kn_last_error(), "kn_kernel_compile: f8_e4m3 is only stored: use f32, f16 or bf16"));
    kn_module_drop(module);
}

static void scalars_that_do_not_fit(void)
{
    CHECK_POISON(kn_scalar(300, KN_U8), "kn_scalar: u8 cannot hold the number 300");
    CHECK_POISON(kn_scalar(-1, KN_U64), "cannot hold");
    CHECK_POISON(kn_scalar_int(-129, KN_I8), "kn_scalar_int: i8 cannot hold the number -129");
    CHECK(kn_item_int(kn_scalar_int(INT64_MAX, KN_I64)) == INT64_MAX);
    CHECK(kn_item_int(kn_scalar(255, KN_U8)) == 255 && kn_item(kn_scalar(-1, KN_BOOL)) == 1);
}

static void repeats_that_are_too_few(void)
{
    int64_t n[] = {1, 2};
    kn_tensor x = kn_keep(kn_ones(KN_SHAPE(2), KN_F32)), r = kn_keep(kn_from(n, KN_I64, KN_SHAPE(2)));
    CHECK_POISON(kn_repeat_interleave_tensor(x, r, 0, 5),
                 "total is 5, which is more than the sum of the repeats");
    CHECK(kn_size(kn_repeat_interleave_tensor(x, r, 0, 3), 0) == 3);
    CHECK(kn_size(kn_repeat_interleave_tensor(x, r, 0, -1), 0) == 3);
}

static kn_status same(void *context, const kn_type *in, kn_type *out)
{
    (void)context;
    out[0] = in[0];
    return KN_OK;
}
static kn_status exponential(void *context, const kn_tensor *in, kn_tensor *out)
{
    (void)context;
    out[0] = kn_exp(in[0]);
    return KN_OK;
}
static kn_status gradient(void *context, const kn_tensor *in, const kn_tensor *out, const kn_tensor *dy,
                          kn_tensor *grads)
{
    (void)in, (void)out, (void)dy;
    const kn_type *type = context;
    grads[0] = kn_ones(type->shape, type->dtype);
    return KN_OK;
}

static void gradients_of_custom_ops(void)
{
    static kn_type given;
    kn_device_use(kn_device_open("autodiff(cpu)"));
    kn_op_handle op = kn_custom_register(&(kn_custom_op){.name = "words_exp",
                                                         .n_in = 1,
                                                         .n_out = 1,
                                                         .infer = same,
                                                         .lower = exponential,
                                                         .gradient = gradient,
                                                         .context = &given});
    CHECK(op);
    const struct {
        kn_type type;
        const char *words;
    } cases[] = {{{KN_F32, KN_SHAPE(7)}, "gradient function gave [7] for operand 0, which is [3]"},
                 {{KN_I64, KN_SHAPE(3)}, "gradient function gave i64 for operand 0, which is f32"},
                 {{KN_F32, KN_SHAPE(3)}, NULL},
                 {{KN_F32, KN_SHAPE(2, 3)}, NULL}}; /* of a broadcast operand: summed */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        given = cases[i].type;
        kn_tensor x = kn_require_grad(kn_ones(KN_SHAPE(3), KN_F32)), y, g = KN_NONE;
        CHECK(kn_custom_call(op, &x, &y) == KN_OK);
        y = kn_sum(y, KN_AXES_ALL, false);
        kn_status s = kn_grad(&y, NULL, 1, &x, 1, 0, &g);
        if (cases[i].words)
            CHECK_ERROR(s, cases[i].words);
        else
            CHECK(s == KN_OK && kn_ok(g) && kn_size(g, 0) == 3);
        if (cases[i].words) CHECK(strstr(kn_last_error(), "words_exp"));
    }
    kn_nn_linear layer = {0};
    kn_grads grads = NULL;
    CHECK(kn_nn_linear_init(&layer, 2, 2, NULL) == KN_OK);
    kn_module module = KN_MODULE_OF(kn_nn_linear, &layer);
    CHECK(kn_module_freeze(module, NULL, true) == KN_OK);
    kn_tensor loss =
        kn_sum(kn_nn_linear_forward(&layer, kn_ones(KN_SHAPE(1, 2), KN_F32)), KN_AXES_ALL, false);
    CHECK_ERROR(kn_backward(loss, &grads), "are all params frozen (kn_module_freeze)?");
    kn_module_drop(module);
    kn_device_use(NULL);
}

static void names_of_devices(void)
{
    CHECK(!kn_device_open("opencl:700") && !strncmp(kn_last_error(), "kn_device_open: ", 16));
    CHECK(!kn_device_open("cuda:700") && !strncmp(kn_last_error(), "kn_device_open: ", 16));
    CHECK(kn_shutdown() >= 0);
    CHECK(!setenv("KN_DEVICE", "nonsense", 1));
    CHECK_POISON(kn_ones(KN_SHAPE(2), KN_F32), "the environment variable KN_DEVICE is nonsense: ");
    CHECK(!unsetenv("KN_DEVICE"));
    CHECK(kn_shutdown() >= 0 && kn_ok(kn_ones(KN_SHAPE(2), KN_F32)));
}

/* The reason comes behind the path, so the path loses its middle. */
static void a_long_path(void)
{
    static char path[3000];
    memset(path, 'a', sizeof path - 1);
    for (size_t i = 0; i < sizeof path - 1; i += 11) path[i] = '/';
    memcpy(path, "no/such", 7);
    kn_store store = kn_store_open(path, NULL);
    CHECK(!store);
    CHECK(strstr(kn_last_error(), "no/such") && strstr(kn_last_error(), "...") &&
          strstr(kn_last_error(), "No such file"));
}

int main(void)
{
    dtypes_that_are_not_there();
    scalars_that_do_not_fit();
    repeats_that_are_too_few();
    gradients_of_custom_ops();
    names_of_devices();
    a_long_path();
    return check_report();
}
