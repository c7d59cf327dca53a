/* What a user can do wrong, and what the message says then: the function that was called, the values, the line. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* setenv */
#endif
#include "support/check.h"
#include <kn/dlpack.h>
#include <kn/op_info.h>
#include <stdlib.h>

const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

static kn_tensor ones(kn_shape shape) { return kn_ones(shape, KN_F32); }
static kn_tensor line_of(int n) { return kn_arange(1, n + 1, 1, KN_F32); }

static const char *here(int line)
{
    static char text[64];
    snprintf(text, sizeof text, "test_misuse.c:%d", line);
    return text;
}

static void shapes_that_do_not_fit(void)
{
    kn_tensor bad = kn_add(ones(KN_SHAPE(2, 3)), ones(KN_SHAPE(4)));
    CHECK_POISON(bad, here(__LINE__ - 1));
    CHECK_POISON(bad, "kn_add: shapes [2, 3] and [4] do not broadcast");
    CHECK(kn_error_code(bad) == KN_ERROR_SHAPE);
    bad = kn_matmul(ones(KN_SHAPE(2, 3)), ones(KN_SHAPE(4, 5)));
    CHECK_POISON(bad, "kn_matmul");
    CHECK_POISON(bad, "[2, 3]");
    CHECK_POISON(bad, "[4, 5]");
    CHECK_POISON(kn_reshape(ones(KN_SHAPE(2, 3)), KN_SHAPE(4)), "kn_reshape");
    kn_tensor list[2] = {ones(KN_SHAPE(2, 3)), ones(KN_SHAPE(4, 5))};
    CHECK_POISON(kn_concat(list, 2, 0), "kn_concat");
}

static void a_tensor_that_was_taken(void)
{
    kn_tensor x = line_of(3);
    (void)kn_exp(x);
    kn_tensor bad = kn_neg(x);
    CHECK_POISON(bad, "kn_neg: tensor was already taken by kn_exp at ");
    CHECK_POISON(bad, here(__LINE__ - 3));
    CHECK_POISON(bad, here(__LINE__ - 3)); /* and the line of the second use */
    x = line_of(3);
    (void)kn_softmin(x, 0); /* a function made of others takes by its own name */
    CHECK_POISON(kn_neg(x), "taken by kn_softmin");
}

static void handles_that_are_none(void)
{
    CHECK_POISON(kn_add(KN_NONE, line_of(2)), "kn_add: KN_NONE was given where a tensor is needed");
    CHECK_POISON(kn_softmax(KN_NONE, 0), "kn_softmax: KN_NONE");
    CHECK_POISON(kn_clamp(KN_NONE, -1, 1), "kn_clamp: KN_NONE");
    CHECK_POISON(kn_clamp(KN_NONE, -__builtin_inf(), 1), "kn_clamp: KN_NONE");
    CHECK_POISON(kn_diag(KN_NONE, 0), "kn_diag: KN_NONE");
    CHECK_POISON(kn_trace(KN_NONE), "kn_trace: KN_NONE");
    CHECK_POISON(kn_neg((kn_tensor){UINT64_C(0x123456789ABCDE)}), "kn_neg: this handle names no live tensor");
    CHECK_ERROR(kn_print(KN_NONE), "kn_print: KN_NONE");
    CHECK_ERROR(kn_print((kn_tensor){77}), "kn_print: this handle names no live tensor");
    CHECK(kn_item((kn_tensor){77}) != 0 && strstr(kn_last_error(), "kn_item: this handle"));
}

static void other_devices(void)
{
    kn_device ref = kn_device_open("ref");
    kn_tensor x = kn_keep(kn_to(line_of(2), ref)), bad = kn_add(x, line_of(2));
    CHECK_POISON(bad, "kn_add: operands are on different devices, ref and cpu: move one with kn_to()");
    CHECK(kn_error_code(bad) == KN_ERROR_DEVICE);
    kn_device closed = kn_device_open("nan(cpu)");
    kn_device_close(closed);
    CHECK_ERROR(kn_sync(closed), "kn_sync: the device nan(cpu) has been closed");
    CHECK_ERROR(kn_submit(closed), "kn_submit: the device nan(cpu) has been closed");
    CHECK(kn_sync(NULL) == KN_OK && kn_submit(NULL) == KN_OK && kn_submit(ref) == KN_OK);
    CHECK(kn_device_open("cpu(") == NULL && kn_last_error()[0]);
    CHECK(kn_device_open("toaster") == NULL && strstr(kn_last_error(), "toaster"));
    CHECK(kn_device_open(NULL) == NULL && kn_last_error()[0]);
}

static void indices_and_axes(void)
{
    int64_t far[] = {0, 7};
    kn_tensor index = kn_keep(kn_from(far, KN_I64, KN_SHAPE(2))), x = kn_keep(line_of(4));
    kn_tensor bad = kn_index_take(x, 0, index);
    double v[2];
    bool told = !kn_ok(bad) || kn_read_as(bad, KN_F64, v, sizeof v) != KN_OK;
    CHECK(told && strstr(kn_last_error(), "kn_index_take") && strstr(kn_last_error(), "7"));
    CHECK_POISON(kn_gather(x, 0, index), "7");
    CHECK_POISON(kn_select(x, 0, 4), "kn_select");
    CHECK_POISON(kn_narrow(x, 0, 3, 2), "kn_narrow: 2 elements from 3 are not inside axis 0 of [4]");
    CHECK_POISON(kn_sum(x, KN_AXES(3), false), "kn_sum: axis 3");
    CHECK_POISON(kn_softmax(x, -2), "kn_softmax: axis -2");
    CHECK_POISON(kn_slice(x, 0, 0, KN_END, 0), "kn_slice: a step of 0");
    CHECK(kn_ok(kn_slice_ranges(x, &(kn_range){0, KN_END, 0}, 1))); /* a field left out */
    CHECK(kn_size(x, 9) == -1 && strstr(kn_last_error(), "kn_size: axis 9"));
}

static void sizes(void)
{
    const int64_t huge = INT64_C(1) << 40;
    CHECK_POISON(kn_zeros(KN_SHAPE(huge, huge), KN_F32), "kn_zeros");
    CHECK_POISON(kn_zeros(KN_SHAPE(huge, huge), KN_F32), "2^63");
    CHECK_POISON(kn_expand(kn_scalar(1, KN_F32), KN_SHAPE(huge, huge)), "2^63");
    CHECK_POISON(kn_eye(huge, huge, KN_F32), "kn_eye: the result [1099511627776, 1099511627776]");
    CHECK_POISON(kn_eye(INT64_C(1) << 30, INT64_C(1) << 30, KN_F32), "kn_eye: no memory");
    CHECK_POISON(kn_upper_mask(KN_SHAPE(huge, huge), 0), "kn_upper_mask: no memory for a mask");
    CHECK_POISON(kn_upper_mask(KN_SHAPE(INT64_C(1) << 30, INT64_C(1) << 30), 0), "kn_upper_mask: no memory");
    CHECK_POISON(kn_eye(-1, 2, KN_F32), "-1 rows");
    CHECK_VALUES(kn_eye(2, 3, KN_I32), 0, 1, 0, 0, 0, 1, 0);
    CHECK_VALUES(kn_eye(3, 2, KN_BOOL), 0, 1, 0, 0, 1, 0, 0);
    CHECK(kn_count(kn_eye(0, 3, KN_F32)) == 0);
    /* Sizes of zero are legal wherever there is a result. */
    kn_tensor empty = kn_keep(kn_zeros(KN_SHAPE(0, 3), KN_F32));
    CHECK(kn_count(kn_add(empty, empty)) == 0);
    CHECK(kn_count(kn_matmul(kn_zeros(KN_SHAPE(0, 3), KN_F32), ones(KN_SHAPE(3, 2)))) == 0);
    CHECK_VALUES(kn_matmul(kn_zeros(KN_SHAPE(1, 0), KN_F32), kn_zeros(KN_SHAPE(0, 2), KN_F32)), 0, 0, 0);
    CHECK_VALUES(kn_sum(empty, KN_AXES(0), false), 0, 0, 0, 0);
    CHECK_POISON(kn_max(empty, KN_AXES(0), false), "kn_max");
    CHECK_POISON(kn_argmax(empty, 0, false), "kn_argmax");
    CHECK_POISON(kn_random_permutation(300, KN_U8), "u8 holds only 256");
    CHECK_POISON(kn_random_permutation(300, KN_BF16), "bf16 holds only 257");
    CHECK_POISON(kn_random_permutation(3, KN_BOOL), "bool holds only 2");
    CHECK(kn_ok(kn_random_permutation(256, KN_U8)) && kn_ok(kn_random_permutation(128, KN_I8)));
    CHECK_POISON(kn_random_permutation(129, KN_I8), "i8 holds only 128");
}

static void dtypes(void)
{
    kn_tensor whole = kn_keep(kn_ones(KN_SHAPE(2, 2), KN_I32)),
              truth = kn_keep(kn_ones(KN_SHAPE(2), KN_BOOL));
    CHECK_POISON(kn_cholesky(whole, false), "kn_cholesky");
    CHECK_POISON(kn_cholesky(whole, false), "i32");
    CHECK_POISON(kn_bitwise_and(line_of(2), line_of(2)), "f32");
    CHECK_POISON(kn_sub(truth, truth), "bool");
    CHECK_POISON(kn_index_take(line_of(2), 0, line_of(2)), "f32");
    CHECK_POISON(kn_zeros(KN_SHAPE(2), (kn_dtype)99), "99");
    CHECK_POISON(kn_cast(whole, KN_C64), "kn_cast");
    CHECK_POISON(kn_floor_div_scalar(whole, 0), "kn_floor_div_scalar: [2, 2] of i32 divided by 0");
    CHECK_POISON(kn_remainder_scalar(whole, 0), "kn_remainder_scalar");
    CHECK_POISON(kn_fmod_scalar(whole, 0), "kn_fmod_scalar");
    CHECK(kn_ok(kn_floor_div_scalar(line_of(2), 0)));
}

static void poisoned(void)
{
    kn_tensor bad = kn_neg(KN_NONE);
    double v[2];
    char text[200];
    CHECK_ERROR(kn_read(bad, v, sizeof v), "kn_read: the tensor carries an error: kn_neg: KN_NONE");
    CHECK_ERROR(kn_read_as(bad, KN_F64, v, sizeof v), "kn_read_as: the tensor carries an error");
    CHECK(kn_item(bad) != kn_item(bad) && strstr(kn_last_error(), "kn_item: the tensor carries an error"));
    CHECK(kn_format(bad, text, sizeof text, NULL) > 20 && strstr(text, "poisoned tensor: kn_neg: KN_NONE"));
    CHECK_POISON(kn_matmul(kn_exp(bad), bad), "kn_neg: KN_NONE"); /* the first error stays */
}

static void unknown_codes(void)
{
    kn_tensor x = kn_keep(line_of(4)), m = kn_keep(ones(KN_SHAPE(2, 3))),
              image = kn_keep(ones(KN_SHAPE(1, 1, 4, 4)));
    kn_tensor at = kn_keep(kn_zeros(KN_SHAPE(2), KN_I64)),
              grid = kn_keep(kn_zeros(KN_SHAPE(1, 2, 2, 2), KN_F32));
    kn_tensor two = kn_keep(ones(KN_SHAPE(2)));
    const char *words = "there is no reduction 42";
    CHECK_POISON(kn_mse_loss(x, x, (kn_reduction)42), "kn_mse_loss: there is no reduction 42");
    CHECK_POISON(kn_l1_loss(x, x, (kn_reduction)42), words);
    CHECK_POISON(kn_smooth_l1_loss(x, x, 1, (kn_reduction)42), words);
    CHECK_POISON(kn_huber_loss(x, x, 1, (kn_reduction)-1), "no reduction -1");
    CHECK_POISON(kn_cross_entropy(m, at, &(kn_cross_entropy_args){.reduction = (kn_reduction)42}), words);
    CHECK_POISON(kn_nll_loss(m, at, &(kn_cross_entropy_args){.reduction = (kn_reduction)42}), words);
    kn_binary_cross_entropy_args binary = {.reduction = (kn_reduction)42};
    CHECK_POISON(kn_binary_cross_entropy(kn_sigmoid(x), kn_sigmoid(x), &binary), words);
    CHECK_POISON(kn_binary_cross_entropy_with_logits(x, x, &binary), words);
    CHECK_POISON(kn_kl_div_loss(x, x, &(kn_kl_div_args){.reduction = (kn_reduction)42}), words);
    CHECK_POISON(kn_kl_div_loss(x, x, &(kn_kl_div_args){.batch_mean = true, .reduction = (kn_reduction)42}),
                 words);
    CHECK_POISON(kn_poisson_nll_loss(x, x, &(kn_poisson_nll_args){.reduction = (kn_reduction)42}), words);
    CHECK_POISON(kn_gaussian_nll_loss(x, x, x, &(kn_gaussian_nll_args){.reduction = (kn_reduction)42}),
                 words);
    CHECK_POISON(kn_hinge_embedding_loss(x, x, 1, (kn_reduction)42), words);
    CHECK_POISON(kn_cosine_embedding_loss(m, m, two, &(kn_margin_args){.reduction = (kn_reduction)42}),
                 words);
    CHECK_POISON(kn_margin_ranking_loss(x, x, x, &(kn_margin_args){.reduction = (kn_reduction)42}), words);
    CHECK_POISON(kn_triplet_margin_loss(m, m, m, &(kn_triplet_args){.reduction = (kn_reduction)42}), words);
    CHECK_POISON(
        kn_interpolate(image, KN_INTS(8, 8), &(kn_interpolate_args){.mode = (kn_interpolate_mode)42}),
        "no mode 42");
    CHECK_POISON(kn_grid_sample(image, grid, &(kn_grid_sample_args){.mode = (kn_sample_mode)42}),
                 "no mode 42");
    CHECK_POISON(kn_grid_sample(image, grid, &(kn_grid_sample_args){.padding = (kn_sample_padding)42}), "42");
    kn_pad_args pad = {KN_INTS(1), KN_INTS(1), (kn_pad_mode)42, 0};
    CHECK_POISON(kn_pad(x, &pad), "42 is no padding mode");
    CHECK_POISON(kn_scatter(x, 0, at, two, (kn_update)42), "kn_scatter: 42 is no way to update");
    CHECK_POISON(kn_put(x, at, two, (kn_update)42), "kn_put: 42");
    CHECK_POISON(kn_index_assign(x, 0, at, two, (kn_update)-1), "kn_index_assign: ");
    CHECK_POISON(kn_matrix_norm(m, (kn_matrix_norm_kind)42), "kind 42");
    CHECK_POISON(kn_random(KN_SHAPE(2), (kn_distribution){(kn_distribution_kind)42, 0, 1}, KN_F32), "42");
    CHECK_POISON(kn_rfft(x, 0, &(kn_fft_args){.norm = (kn_fft_norm)42}).real, "kn_rfft: there is no norm 42");
    CHECK_POISON(kn_stft(ones(KN_SHAPE(32)), 8, &(kn_stft_args){.pad_mode = (kn_pad_mode)42}).real, "42");
}

static void names_of_what_was_called(void)
{
    kn_tensor image = kn_keep(ones(KN_SHAPE(1, 1, 4, 4)));
    CHECK_POISON(kn_max_pool2d(image, KN_INTS(9, 9), NULL), "kn_max_pool2d: the window");
    CHECK_POISON(kn_max_pool1d(kn_scalar(1, KN_F32), KN_INTS(9), NULL), "kn_max_pool1d: x must be");
    CHECK_POISON(kn_max_pool2d_with_indices(image, KN_INTS(9, 9), NULL).values,
                 "kn_max_pool2d_with_indices:");
    CHECK_POISON(kn_avg_pool2d(image, KN_INTS(9, 9), NULL), "kn_avg_pool2d: the window");
    CHECK_POISON(kn_diag(line_of(3), INT64_MAX), "kn_diag: the offset");
    CHECK_POISON(kn_clamp_tensor(line_of(2), KN_NONE, line_of(3)), "kn_clamp_tensor: shapes [2] and [3]");
}

static void lists_that_are_null(void)
{
    kn_tensor x = kn_keep(line_of(4)), out[4], grad;
    int32_t n = 4;
    CHECK_POISON(kn_concat(NULL, 2, 0), "kn_concat: the list of 2 tensors is NULL");
    CHECK_POISON(kn_concat(&x, 0, 0), "kn_concat: 0 tensors given");
    CHECK_POISON(kn_stack(NULL, 3, 0), "kn_stack: the list of 3 tensors is NULL");
    CHECK_POISON(kn_stack(&x, -1, 0), "kn_stack: -1 tensors given");
    CHECK_POISON(kn_einsum("i,i->i", NULL, 2), "kn_einsum: the list of 2 operands is NULL");
    CHECK_POISON(kn_slice_ranges(x, NULL, 1), "kn_slice_ranges: the list of 1 ranges is NULL");
    CHECK_ERROR(kn_split(x, 2, 0, NULL, &n), "kn_split: the place for the parts is NULL");
    CHECK_ERROR(kn_split(x, 2, 0, out, NULL), "kn_split: the number of parts is NULL");
    CHECK_ERROR(kn_meshgrid(NULL, 2, NULL, out), "kn_meshgrid: the list of 2 tensors is NULL");
    CHECK_ERROR(kn_grad(NULL, NULL, 1, &x, 1, 0, &grad), "kn_grad: the list of outputs is NULL");
    CHECK_ERROR(kn_grad(&x, NULL, 1, NULL, 1, 0, &grad), "kn_grad: the list of inputs is NULL");
    CHECK_ERROR(kn_grad(&x, NULL, 0, &x, 1, 0, &grad), "kn_grad: 0 outputs");
    kn_scope s = kn_scope_begin();
    kn_scope_end_many(s, NULL, 3);
    CHECK(strstr(kn_last_error(), "kn_scope_end_many: 3 results, but the list is NULL") != NULL);
}

static void cotangents(void)
{
    kn_device taping = kn_device_open("autodiff(cpu)");
    kn_device_use(taping);
    kn_tensor w = kn_require_grad(ones(KN_SHAPE(2))), y = kn_keep(kn_mul_scalar(w, 2)), grad;
    kn_tensor wide = kn_keep(kn_ones(KN_SHAPE(2), KN_F64)), none = {UINT64_C(12345)}, bad = kn_neg(KN_NONE);
    CHECK_ERROR(kn_grad(&y, &wide, 1, &w, 1, KN_GRAD_RETAIN, &grad),
                "kn_grad: cotangent 0 is f64, its output f32");
    CHECK_POISON(grad, "cotangent 0");
    CHECK_ERROR(kn_grad(&y, &none, 1, &w, 1, KN_GRAD_RETAIN, &grad),
                "kn_grad: this handle names no live tensor");
    CHECK_ERROR(kn_grad(&y, &bad, 1, &w, 1, KN_GRAD_RETAIN, &grad), "kn_grad: cotangent 0 carries an error");
    kn_tensor longer = kn_keep(ones(KN_SHAPE(3)));
    CHECK_ERROR(kn_grad(&y, &longer, 1, &w, 1, KN_GRAD_RETAIN, &grad), "kn_grad: cotangent [3]");
    kn_tensor good = kn_keep(ones(KN_SHAPE(2)));
    CHECK(kn_grad(&y, &good, 1, &w, 1, 0, &grad) == KN_OK);
    CHECK_ERROR(kn_grad(&y, &good, 1, &w, 1, 0, &grad), "kn_grad: the tape was walked before");
    kn_grads grads;
    CHECK_ERROR(kn_backward(bad, &grads), "kn_backward: the output carries an error");
    CHECK_ERROR(kn_backward(kn_detach(kn_sum(w, KN_AXES_ALL, false)), &grads),
                "kn_backward: no output depends");
    kn_device_use(NULL);
}

static kn_tensor segment(void *context, const kn_tensor *inputs, int32_t n)
{
    (void)context, (void)n;
    return kn_mul(inputs[0], inputs[0]);
}

static void recompute_has_no_second_order(void)
{
    kn_device_use(kn_device_open("autodiff(cpu)"));
    kn_tensor w = kn_require_grad(ones(KN_SHAPE(2))), grad;
    kn_tensor y = kn_keep(kn_sum(kn_recompute(segment, NULL, &w, 1), KN_AXES_ALL, false));
    CHECK_ERROR(kn_grad(&y, NULL, 1, &w, 1, KN_GRAD_CREATE_GRAPH, &grad),
                "gradients of gradients do not pass through kn_recompute(): call the segment directly");
    CHECK_POISON(grad, "kn_recompute");
    kn_device_use(NULL);
}

static kn_status copy_type(void *context, const kn_type *in, kn_type *out)
{
    (void)context;
    out[0] = in[0];
    return KN_OK;
}

static kn_status pass(void *context, const kn_tensor *in, kn_tensor *out)
{
    (void)context;
    out[0] = kn_neg(in[0]);
    return KN_OK;
}

static void custom_names(void)
{
    kn_custom_op op = {.name = "matmul", .n_in = 1, .n_out = 1, .infer = copy_type, .lower = pass};
    CHECK(kn_custom_register(&op) == NULL);
    CHECK(strstr(kn_last_error(), "matmul: this is the name of a built-in op") != NULL);
    op.name = "max_pool_values"; /* a row without a public function of its name */
    CHECK(kn_custom_register(&op) == NULL);
    op.name = "test_misuse_op";
    CHECK(kn_custom_register(&op) != NULL);
    CHECK(kn_custom_register(&op) == NULL && strstr(kn_last_error(), "taken"));
}

static void memory_messages_name_the_op(void)
{
    kn_tensor x = kn_keep(kn_expand(kn_scalar(1, KN_F32), KN_SHAPE(500, 500)));
    kn_memory_trim();
    kn_memory_limit(kn_memory_stats().bytes_now + 1000);
    CHECK_POISON(kn_neg(x), "kn_neg: no memory for a result of 1000000 bytes");
    CHECK_POISON(kn_matmul(x, x), "kn_matmul: no memory");
    CHECK_POISON(kn_cast(x, KN_F64), "kn_cast: no memory");
    CHECK_POISON(kn_softmax(x, 0), "kn_softmax: no memory");
    CHECK_POISON(kn_sort(x, 0, false).values, "kn_sort: no memory");
    CHECK_POISON(kn_zeros(KN_SHAPE(500, 500), KN_F32), "kn_zeros: no memory");
    kn_memory_limit(0);
}

static void printing_takes_no_memory(void)
{
    char text[2000];
    kn_tensor x = kn_keep(kn_expand(kn_scalar(2, KN_F32), KN_SHAPE(INT64_C(1) << 40, 1 << 10)));
    kn_format(x, text, sizeof text, NULL);
    CHECK(strstr(text, "..., ") && strstr(text, "2.0") && strstr(text, "f32[1099511627776, 1024]"));
    /* A summary shows the corners of a tensor that is no row-major block. */
    kn_tensor y = kn_keep(kn_transpose(kn_reshape(kn_arange(0, 2000, 1, KN_I32), KN_SHAPE(50, 40)), 0, 1));
    kn_format(y, text, sizeof text, NULL);
    CHECK(strstr(text, "[[   0,   40,   80, ..., 1880, 1920, 1960]") != NULL);
    CHECK(strstr(text, "[  39,   79,  119, ..., 1919, 1959, 1999]]") != NULL);
    kn_format(kn_select(y, 1, 0), text, sizeof text, &(kn_print_options){.threshold = 10});
    CHECK(!strncmp(text, "[ 0,  1,  2, ..., 37, 38, 39]", 29));
    /* An axis is cut as soon as it is longer than both its ends. */
    kn_format(kn_arange(0, 7, 1, KN_I32), text, sizeof text, &(kn_print_options){.threshold = 5});
    CHECK(!strncmp(text, "[0, 1, 2, ..., 4, 5, 6]", 23));
    kn_format(kn_arange(0, 6, 1, KN_I32), text, sizeof text, &(kn_print_options){.threshold = 5});
    CHECK(!strncmp(text, "[0, 1, 2, 3, 4, 5]", 18));
    /* Zeros have their signs. */
    kn_format(kn_from((float[]){0, -0.0f, 1}, KN_F32, KN_SHAPE(3)), text, sizeof text, NULL);
    CHECK(!strncmp(text, "[ 0.0, -0.0,  1.0]", 18));
}

static char logged[600];
static void listen(void *context, kn_log_level level, const char *text)
{
    (void)context, (void)level;
    strncat(logged, text, sizeof logged - strlen(logged) - 1);
}

#ifdef __x86_64__
#define OTHER_TIER "neon"
#else
#define OTHER_TIER "v2"
#endif

/* Must come first: both are read when they are first needed. */
static void environment(void)
{
    setenv("KN_THREADS", "many", 1);
    setenv("KN_ISA", "pentium", 1);
    kn_log_set(listen, NULL);
    CHECK(kn_get_threads() >= 1);
    CHECK_POISON(ones(KN_SHAPE(2)), "KN_ISA=pentium: there is no tier of this name; here are scalar");
    setenv("KN_ISA", OTHER_TIER, 1);
    CHECK_POISON(ones(KN_SHAPE(2)), "KN_ISA=" OTHER_TIER ": this machine or build has no such tier");
    unsetenv("KN_ISA");
    CHECK(kn_ok(kn_matmul(ones(KN_SHAPE(64, 64)), ones(KN_SHAPE(64, 64)))));
    kn_log_set(NULL, NULL);
    CHECK(strstr(logged, "KN_THREADS=many is ignored: a number from 1 to ") != NULL);
    unsetenv("KN_THREADS");
}

static void devices_that_are_none(void)
{
    int dummy = 0;
    kn_device before = kn_device_current(), bad = (kn_device)(void *)&dummy;
    kn_device_use(bad);
    CHECK(strstr(kn_last_error(), "kn_device_use: this is no open device") != NULL);
    CHECK(kn_device_current() == before && kn_ok(ones(KN_SHAPE(2))));
    CHECK_POISON(kn_to(ones(KN_SHAPE(2)), bad), "kn_to: this is no open device");
    CHECK_ERROR(kn_sync(bad), "kn_sync: this is no open device");
    CHECK_ERROR(kn_submit(bad), "kn_submit: this is no open device");
    CHECK(!strcmp(kn_device_name(bad), "none") && !kn_device_autodiff(bad));
    CHECK(kn_device_report(bad, NULL, NULL, 0) == 0);
    CHECK(kn_op_support(bad, 1, KN_F32, NULL) == KN_SUPPORT_NO);
    kn_seed(bad, 1);
    kn_device_close(bad);
    CHECK(strstr(kn_last_error(), "kn_device_close: this is no open device") != NULL);
    CHECK(!kn_device_open("cpu:7") && strstr(kn_last_error(), "there is no cpu:7"));
    CHECK(!kn_device_open("autodiff(ref:x)") && strstr(kn_last_error(), "there is no ref:x"));
    CHECK(kn_device_open("cpu:0") == kn_device_cpu());
}

static void gradients_that_were_freed(void)
{
    kn_device_use(kn_device_open("autodiff(cpu)"));
    kn_tensor x = kn_require_grad(line_of(3));
    kn_tensor loss = kn_keep(kn_sum(kn_mul(x, x), KN_AXES_ALL, false));
    kn_grads grads;
    CHECK(kn_backward(loss, &grads) == KN_OK);
    CHECK(kn_grads_count(grads) == 1);
    kn_grads_free(grads);
    kn_grads_free(grads);
    CHECK(strstr(kn_last_error(), "kn_grads_free: the gradients object was freed at ") != NULL);
    CHECK_POISON(kn_grads_get(grads, x), "kn_grads_get: the gradients object was freed at ");
    CHECK_POISON(kn_grads_take(grads, x), "kn_grads_take: the gradients object was freed at ");
    CHECK_ERROR(kn_grads_replace(grads, x, line_of(3)),
                "kn_grads_replace: the gradients object was freed at ");
    CHECK(kn_grads_count(grads) == 0 && kn_grads_count(NULL) == 0);
    kn_device_use(NULL);
}

static void deleted(DLManagedTensor *managed) { managed->manager_ctx = managed; }

static void dlpack_without_a_shape(void)
{
    DLManagedTensor managed = {.deleter = deleted};
    managed.dl_tensor = (DLTensor){.ndim = 2, .dtype = {kDLFloat, 32, 1}, .device = {kDLCPU, 0}};
    CHECK_POISON(kn_from_dlpack(&managed), "kn_from_dlpack: the shape is NULL");
    CHECK(managed.manager_ctx == &managed); /* its owner heard of it */
}

static void a_tensor_that_was_dropped(void)
{
    kn_tensor x = line_of(3);
    kn_drop(x);
    kn_tensor y = kn_exp(x);
    CHECK_POISON(y, "kn_exp: tensor was dropped by kn_drop at ");
    CHECK_POISON(y, here(__LINE__ - 3));
    CHECK_POISON(y, "drop it after its last use");
}

static kn_tensor no_segment(void *context, const kn_tensor *in, int32_t n)
{
    return (void)context, (void)in, (void)n, KN_NONE;
}

static kn_status same_type(void *context, const kn_type *in, kn_type *out)
{
    (void)context;
    out[0] = in[0];
    return KN_OK;
}
static kn_status bad_infer(void *context, const kn_type *in, kn_type *out)
{
    return (void)context, (void)in, (void)out, KN_ERROR_SHAPE;
}
static kn_status lower_to_nothing(void *context, const kn_tensor *in, kn_tensor *out)
{
    return (void)context, (void)in, (void)out, KN_OK;
}
static kn_status lower_fails(void *context, const kn_tensor *in, kn_tensor *out)
{
    return (void)context, (void)in, (void)out, KN_ERROR_NUMERIC;
}
static kn_status lower_to_same(void *context, const kn_tensor *in, kn_tensor *out)
{
    (void)context;
    out[0] = kn_neg(in[0]);
    return KN_OK;
}
static kn_status gradient_fails(void *context, const kn_tensor *in, const kn_tensor *out, const kn_tensor *dy,
                                kn_tensor *grads)
{
    return (void)context, (void)in, (void)out, (void)dy, (void)grads, KN_ERROR_NUMERIC;
}

/* An older failure is never given as the reason of a newer one. */
static void reasons_that_are_missing(void)
{
    kn_device_use(kn_device_open("autodiff(cpu)"));
    kn_tensor x = kn_require_grad(line_of(3)), y, g;
    kn_op_handle nothing = kn_custom_register(&(kn_custom_op){
        .name = "nothing", .n_in = 1, .n_out = 1, .infer = same_type, .lower = lower_to_nothing});
    kn_op_handle fails = kn_custom_register(
        &(kn_custom_op){.name = "fails", .n_in = 1, .n_out = 1, .infer = same_type, .lower = lower_fails});
    kn_op_handle infers = kn_custom_register(
        &(kn_custom_op){.name = "infers", .n_in = 1, .n_out = 1, .infer = bad_infer, .lower = lower_fails});
    kn_op_handle slopes = kn_custom_register(&(kn_custom_op){.name = "slopes",
                                                             .n_in = 1,
                                                             .n_out = 1,
                                                             .infer = same_type,
                                                             .lower = lower_to_same,
                                                             .gradient = gradient_fails});
    CHECK(!kn_ok(kn_poison(KN_ERROR_IO, "an older failure")));
    CHECK_ERROR(kn_custom_call(nothing, &x, &y), "kn_nothing: its lowering said all went well and gave no");
    CHECK_ERROR(kn_custom_call(fails, &x, &y), "kn_fails: its lower function failed and told no reason");
    CHECK_ERROR(kn_custom_call(infers, &x, &y), "kn_infers: its infer function failed and told no reason");
    CHECK(kn_custom_call(slopes, &x, &y) == KN_OK);
    y = kn_keep(kn_sum(y, KN_AXES_ALL, false));
    CHECK_ERROR(kn_grad(&y, NULL, 1, &x, 1, 0, &g), "its gradient function failed and told no reason");
    CHECK_POISON(kn_recompute(no_segment, NULL, &x, 1), "kn_recompute: the segment returned KN_NONE");
    CHECK_POISON(kn_recompute(no_segment, NULL, NULL, 1), "kn_recompute: the list of 1 inputs is NULL");
    bool close = true;
    CHECK_ERROR(kn_all_close(KN_NONE, x, 0, 0, false, &close), "kn_all_close: KN_NONE was given");
    CHECK(!close && !strstr(kn_last_error(), "kn_read") && !strstr(kn_last_error(), "kn_alias"));
    kn_tensor poison = kn_poison(KN_ERROR_IO, "the disk is full");
    CHECK(!kn_ok(kn_poison(KN_ERROR_IO, "another failure")));
    CHECK_ERROR(kn_all_close(poison, x, 0, 0, false, &close), "the disk is full");
    CHECK_ERROR(kn_read_many(NULL, NULL, NULL, -3), "kn_read_many: the number of tensors is -3");
    kn_param p = kn_param_make(line_of(3));
    kn_tensor place = kn_value(p);
    CHECK_ERROR(kn_assign(&place, line_of(2)), "kn_assign: the place holds a param");
    CHECK(place.bits == kn_value(p).bits);
    kn_param_drop(&p);
    kn_device_use(NULL);
}

/* Composites that hand their operand on say so when there is none, and give a handle of its own for one that is kept. */
static void operands_handed_on(void)
{
    CHECK_POISON(kn_glu(KN_NONE, 0), "KN_NONE was given");
    CHECK_POISON(kn_fftshift(KN_NONE, KN_AXES_ALL), "KN_NONE was given");
    CHECK_POISON(kn_fftn((kn_complex){KN_NONE, KN_NONE}, KN_AXES_ALL, KN_FFT_BACKWARD).real,
                 "KN_NONE was given");
    kn_tensor x = kn_keep(kn_scalar(3, KN_F32));
    kn_tensor y = kn_ifftshift(x, KN_AXES_ALL);
    kn_complex z = kn_fftn((kn_complex){x, KN_NONE}, KN_AXES_ALL, KN_FFT_BACKWARD);
    CHECK(y.bits != x.bits && z.real.bits != x.bits);
    CHECK(kn_item(y) == 3 && kn_item(z.real) == 3 && kn_item(z.imag) == 0);
    kn_attribute_value reverse[] = {{.name = "reverse", .integer = 1}, {.name = NULL}};
    kn_tensor out[2];
    CHECK_ERROR(kn_call("cummax", (kn_tensor[]){ones(KN_SHAPE(2))}, 1, reverse, out, 2),
                "leave reverse and exclusive 0");
}

/* Counts of shifts are not cut to the width of the kernel. */
static void shifts_of_any_count(void)
{
    static const int64_t counts[] = {INT64_MIN, -(INT64_C(1) << 32), -1, 64, INT64_C(1) << 32, INT64_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        CHECK_VALUES(kn_bitwise_right_shift_scalar(kn_full(KN_SHAPE(1), 5, KN_U16), counts[i]), 0, 0);
        CHECK_VALUES(kn_bitwise_left_shift_scalar(kn_full(KN_SHAPE(1), 5, KN_I32), counts[i]), 0, 0);
    }
}

/* What broke in a queue is told by the next op, whatever it looks at first. */
static void broken_promises(void)
{
    kn_device device = kn_device_open("fusion(cpu)");
    kn_device_use(device);
    kn_tensor x = kn_keep(kn_cholesky(kn_full(KN_SHAPE(2, 2), -1, KN_F32), false));
    CHECK(kn_sync(device) != KN_OK);
    CHECK_POISON(kn_diag(x, 1), "not positive definite");
    CHECK_POISON(kn_det(x), "not positive definite");
    kn_device_use(NULL);
    kn_device_close(device);
}

/* One temporary may be two operands of a composite, and is gone afterwards. */
static void one_temporary_twice(void)
{
    kn_tensor t = kn_exp(kn_zeros(KN_SHAPE(1, 1), KN_F32));
    CHECK_VALUES(kn_addmm(t, t, ones(KN_SHAPE(1, 1)), 0.5, 3), 0, 3.5);
    CHECK(!kn_ok(t));
    /* Whatever allocation of it fails, the sum of a half and a product is an error or right. */
    for (int n = 1; n < 20; n++) {
        kn_tensor c = kn_ones(KN_SHAPE(1), KN_F16), a = kn_ones(KN_SHAPE(1, 1), KN_F16);
        kn_tensor b = kn_ones(KN_SHAPE(1, 1), KN_F16);
        kn_memory_fail_after(n);
        kn_tensor y = kn_addmm(c, a, b, 0.5, 2);
        kn_memory_fail_after(0);
        CHECK(kn_ok(y) ? kn_item(y) == 2.5 : kn_error_code(y) == KN_ERROR_MEMORY);
    }
    t = kn_exp(kn_zeros(KN_SHAPE(1, 1, 1), KN_F32));
    CHECK_VALUES(kn_conv1d(t, t, KN_NONE, NULL), 0, 1);
    CHECK(!kn_ok(t));
    t = kn_exp(kn_zeros(KN_SHAPE(1, 1), KN_F32));
    CHECK_VALUES(kn_einsum("ij,jk->ik", (kn_tensor[]){t, t}, 2), 0, 1);
    CHECK(!kn_ok(t));
}

static void after_shutdown(void)
{
    kn_device d = kn_device_open("autodiff(cpu)");
    kn_device_use(d);
    kn_drop(ones(KN_SHAPE(2)));
    CHECK(kn_shutdown() == 0);
    kn_tensor x = ones(KN_SHAPE(2));
    CHECK(kn_ok(x) && !strcmp(kn_device_name(kn_device_of(x)), "cpu"));
    bool reused = kn_device_of(x) == d; /* the new CPU may lie where the old device was */
    kn_device_use(d);
    CHECK(reused || strstr(kn_last_error(), "kn_shutdown() has ended it") != NULL);
    kn_drop(x);
}

int main(void)
{
    kn_scope s = kn_scope_begin();
    environment();
    shapes_that_do_not_fit();
    a_tensor_that_was_taken();
    handles_that_are_none();
    other_devices();
    indices_and_axes();
    sizes();
    dtypes();
    poisoned();
    unknown_codes();
    names_of_what_was_called();
    lists_that_are_null();
    cotangents();
    recompute_has_no_second_order();
    custom_names();
    memory_messages_name_the_op();
    printing_takes_no_memory();
    devices_that_are_none();
    gradients_that_were_freed();
    dlpack_without_a_shape();
    a_tensor_that_was_dropped();
    reasons_that_are_missing();
    operands_handed_on();
    one_temporary_twice();
    shifts_of_any_count();
    broken_promises();
    kn_scope_end(s, KN_NONE);
    after_shutdown();
    CHECK(kn_shutdown() == 0);
    return check_report();
}
