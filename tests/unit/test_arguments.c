/* What public functions do with arguments outside their range: an error that names the value and what is allowed. And what
   PyTorch accepts at the edges (rank 0, empty axes) works. Each line is one fact: BAD(call, part of the text). */
#include "support/check.h"
#include <kn/call.h>
#include <kn/nn.h>
#include <kn/update.h>

#define NOT_A_NUMBER __builtin_nan("")
#define INFINITE __builtin_inf()
#define SCALAR KN_SCALAR_SHAPE

static kn_tensor f(kn_shape shape) { return kn_ones(shape, KN_F32); }
static kn_tensor i(kn_shape shape) { return kn_zeros(shape, KN_I64); }
static kn_tensor b(kn_shape shape) { return kn_ones(shape, KN_BOOL); }

static kn_tensor of_tensor(kn_tensor t) { return t; }
static kn_tensor of_indexed(kn_indexed t) { return t.values; }
static kn_tensor of_complex(kn_complex t) { return t.real; }
static kn_tensor of_pooled(kn_pooled t) { return t.values; }
static kn_tensor of_norm(kn_batch_norm_result t) { return t.y; }
static kn_tensor of_histogram(kn_histogram_result t) { return t.counts; }
static kn_tensor of_status(kn_status s) { return s == KN_OK ? kn_scalar(0, KN_F32) : kn_poison(s, NULL); }

/* A result of any kind as a tensor that carries the error. */
#define RESULT(call)                                                                                         \
    _Generic((call), kn_tensor                                                                               \
             : of_tensor, kn_indexed                                                                         \
             : of_indexed, kn_complex                                                                        \
             : of_complex, kn_pooled                                                                         \
             : of_pooled, kn_batch_norm_result                                                               \
             : of_norm, kn_histogram_result                                                                  \
             : of_histogram, kn_status                                                                       \
             : of_status)(call)

static void bad(kn_tensor t, const char *words, int line)
{
    char text[600];
    kn_error_text(t, text, sizeof text);
    check_poison(t, words, __FILE__, line);
    check_that(strncmp(text, "kn_", 3) == 0, "the text begins with the function", __FILE__, line);
    check_that(strstr(text, "0 to -1") == NULL, "the text names no empty range", __FILE__, line);
}

static void good(kn_tensor t, const int64_t *sizes, int rank, int line)
{
    char text[600];
    kn_error_text(t, text, sizeof text);
    bool same = kn_ok(t) && kn_rank(t) == rank;
    for (int k = 0; same && k < rank; k++) same = kn_size(t, k) == sizes[k];
    if (!same) printf("%s:%d: got rank %d: %s\n", __FILE__, line, (int)kn_rank(t), text);
    check_that(same, "a result of this shape", __FILE__, line);
}

#define IN_SCOPE(work)                                                                                       \
    do {                                                                                                     \
        kn_scope scope_ = kn_scope_begin();                                                                  \
        work;                                                                                                \
        kn_scope_end(scope_, KN_NONE);                                                                       \
    } while (0)
#define BAD(call, words) IN_SCOPE(bad(RESULT(call), words, __LINE__))
#define GOOD_SCALAR(call) IN_SCOPE(good(RESULT(call), NULL, 0, __LINE__))
#define GOOD(call, ...)                                                                                      \
    IN_SCOPE(good(RESULT(call), (const int64_t[]){__VA_ARGS__},                                              \
                  (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), __LINE__))
#define V3 KN_SHAPE(3)
#define M23 KN_SHAPE(2, 3)

static void numbers_of_activations(void)
{
    BAD(kn_hardtanh(f(V3), 2, 1), "kn_hardtanh: low is 2, above high 1");
    BAD(kn_hardtanh(i(V3), 2, 1), "kn_hardtanh: low is 2, above high 1");
    GOOD(kn_hardtanh(f(V3), 1, 1), 3);
    BAD(kn_soft_shrink(f(V3), -1), "kn_soft_shrink: lambda is -1: it must be 0 or more");
    BAD(kn_soft_shrink(f(V3), NOT_A_NUMBER), "lambda is nan");
    GOOD(kn_hard_shrink(f(V3), -1), 3);
    BAD(kn_celu(f(V3), 0), "kn_celu: alpha is 0");
    BAD(kn_glu(f(SCALAR), 0), "axis 0 is outside a tensor of rank 0");
    BAD(kn_glu(f(V3), 0), "odd size 3");
    BAD(kn_polygamma(f(V3), -1), "order -1");
    BAD(kn_is_close(f(V3), f(V3), -1, 0, false), "rtol is -1");
    BAD(kn_is_close(f(V3), f(V3), 0, NOT_A_NUMBER, false), "atol nan");
    BAD(kn_pow_scalar(i(V3), -1), "integers have no negative");
    /* Rows are checked where kn_call and programs run them, not in the functions alone. */
    kn_attribute_value bounds[] = {{.name = "low", .real = 2}, {.name = "high", .real = 1}, {0}};
    kn_tensor x = f(V3), y;
    CHECK_ERROR(kn_call("hardtanh", &x, 1, bounds, &y, 1), "low is 2, above high 1");
}

/* PyTorch takes axis 0 and -1 of a single number in these; rank 0 counts as one element. */
static void rank_0_that_works(void)
{
    GOOD_SCALAR(kn_gather(f(SCALAR), 0, i(SCALAR)));
    GOOD_SCALAR(kn_gather(f(SCALAR), -1, i(SCALAR)));
    GOOD(kn_gather(f(SCALAR), 0, i(KN_SHAPE(2))), 2);
    GOOD_SCALAR(kn_gather(f(V3), 0, i(SCALAR)));
    GOOD_SCALAR(kn_index_select(f(SCALAR), 0, i(KN_SHAPE(1))));
    GOOD_SCALAR(kn_index_select(f(SCALAR), -1, i(SCALAR)));
    GOOD_SCALAR(kn_index_assign(f(SCALAR), 0, i(KN_SHAPE(1)), f(SCALAR), KN_UPDATE_ADD));
    GOOD_SCALAR(kn_index_assign(f(SCALAR), 0, i(SCALAR), f(SCALAR), KN_UPDATE_ADD));
    GOOD_SCALAR(kn_index_assign(f(SCALAR), -1, i(KN_SHAPE(1)), f(KN_SHAPE(1)), KN_UPDATE_ASSIGN));
    GOOD_SCALAR(kn_scatter(f(SCALAR), 0, i(SCALAR), f(SCALAR), KN_UPDATE_ADD));
    GOOD_SCALAR(kn_scatter(f(SCALAR), 0, i(KN_SHAPE(1)), f(KN_SHAPE(1)), KN_UPDATE_ADD));
    GOOD(kn_scatter(f(V3), 0, i(SCALAR), f(SCALAR), KN_UPDATE_ADD), 3);
    GOOD_SCALAR(kn_flip(f(SCALAR), KN_AXES(0)));
    GOOD_SCALAR(kn_flip(f(SCALAR), KN_AXES(-1)));
    GOOD_SCALAR(kn_squeeze(f(SCALAR), 0));
    GOOD_SCALAR(kn_squeeze(f(SCALAR), -1));
    GOOD_SCALAR(kn_squeeze_dims(f(SCALAR), KN_AXES(0)));
    GOOD_SCALAR(kn_transpose(f(SCALAR), 0, -1));
    GOOD_SCALAR(kn_swap_dims(f(SCALAR), 0, 0));
    GOOD_SCALAR(kn_movedim(f(SCALAR), KN_AXES(0), KN_AXES(0)));
    GOOD(kn_unfold_axis(f(SCALAR), 0, 1, 1), 1);
    GOOD(kn_unfold_axis(f(SCALAR), -1, 0, 1), 0);
    GOOD(kn_flatten(f(SCALAR), 0, -1), 1);
    GOOD_SCALAR(kn_sum(f(SCALAR), KN_AXES(0), true));
    GOOD_SCALAR(kn_cumsum(f(SCALAR), -1));
    GOOD_SCALAR(kn_softmax(f(SCALAR), 0));
    GOOD_SCALAR(kn_sort(f(SCALAR), 0, false));
    GOOD_SCALAR(kn_topk(f(SCALAR), 1, 0, NULL));
    GOOD_SCALAR(kn_vector_norm(f(SCALAR), 2, KN_AXES(0), false));
    GOOD(kn_fftfreq(0, 1, KN_F32), 0);
    /* The values, not the shapes alone. */
    CHECK_VALUES(kn_index_assign(kn_scalar(5, KN_F32), 0, i(KN_SHAPE(2)), f(KN_SHAPE(2)), KN_UPDATE_ADD), 0,
                 7);
    CHECK_VALUES(kn_scatter(kn_arange(1, 4, 1, KN_F32), 0, kn_scalar_int(1, KN_I64), kn_scalar(9, KN_F32),
                            KN_UPDATE_ASSIGN),
                 0, 1, 9, 3);
    CHECK_VALUES(kn_gather(kn_arange(1, 4, 1, KN_F32), 0, kn_scalar_int(2, KN_I64)), 0, 3);
}

static void rank_0_that_fails(void)
{
    BAD(kn_gather(f(SCALAR), 1, i(SCALAR)), "kn_gather: axis 1 is outside a tensor of rank 0 (-1 to 0)");
    BAD(kn_index_select(f(SCALAR), 0, i(KN_SHAPE(2))), "2 indices into a single number");
    BAD(kn_flip(f(SCALAR), KN_AXES(1)), "axis 1 is outside a tensor of rank 0 (-1 to 0)");
    BAD(kn_squeeze(f(SCALAR), 1), "axis 1 is outside a tensor of rank 0 (-1 to 0)");
    BAD(kn_transpose(f(SCALAR), 0, 1), "axis 1 is outside a tensor of rank 0 (-1 to 0)");
    BAD(kn_flatten(f(SCALAR), 0, 1), "axis 1 is outside a tensor of rank 0 (-1 to 0)");
    BAD(kn_unfold_axis(f(SCALAR), 0, 2, 1), "windows of 2 every 1 of a single number");
    BAD(kn_unfold_axis(f(SCALAR), 1, 1, 1), "axis 1 is outside");
    BAD(kn_sum(f(SCALAR), KN_AXES(1), false), "axis 1 is outside a tensor of rank 0 (-1 to 0)");
    BAD(kn_softmax(f(SCALAR), 1), "axis 1 is outside a tensor of rank 0 (-1 to 0)");
    BAD(kn_index_take(f(SCALAR), 0, i(SCALAR)), "rank 0, which has no axes");
    BAD(kn_gather_along(f(SCALAR), 0, i(SCALAR)), "rank 0, which has no axes");
    BAD(kn_roll(f(SCALAR), KN_INTS(1), KN_AXES(0)), "rank 0, which has no axes");
    BAD(kn_rot90(f(SCALAR), 1, 0, 1), "rank 0, which has no axes");
    BAD(kn_unflatten(f(SCALAR), 0, KN_SHAPE(1)), "rank 0, which has no axes");
    BAD(kn_slice(f(SCALAR), 0, 0, 1, 1), "rank 0, which has no axes");
    BAD(kn_narrow(f(SCALAR), 0, 0, 1), "rank 0, which has no axes");
    BAD(kn_select(f(SCALAR), 0, 0), "rank 0, which has no axes");
    BAD(kn_repeat_dim(f(SCALAR), 0, 2), "rank 0, which has no axes");
    BAD(kn_repeat_interleave(f(SCALAR), 2, 0), "rank 0, which has no axes");
    BAD(kn_layer_norm(f(SCALAR), KN_NONE, KN_NONE, 0, 1e-5), "rank 0 has no axes");
    BAD(kn_rfft(f(SCALAR), 0, NULL), "rank 1 to 8, not 0");
    kn_tensor out[4], two[2] = {kn_keep(f(SCALAR)), kn_keep(f(SCALAR))};
    int32_t n = 4;
    BAD(kn_split(two[0], 1, 0, out, &n), "rank 0, which has no axes");
    BAD(kn_chunk(two[0], 1, 0, out, &n), "rank 0, which has no axes");
    BAD(kn_concat(two, 2, 0), "rank 0, which has no axes");
}

/* Axes and sizes as 64-bit numbers are not cut to 32 bits before they are checked. */
static void shapes_and_axes(void)
{
    int64_t far = INT64_C(1) << 32;
    BAD(kn_flip(f(V3), KN_AXES(far)), "axis 4294967296 is outside");
    BAD(kn_roll(f(V3), KN_INTS(1), KN_AXES(far)), "axis 4294967296 is outside");
    BAD(kn_squeeze_dims(f(V3), KN_AXES(far)), "axis 4294967296 is outside");
    BAD(kn_sum(f(V3), KN_AXES(far), false), "axis 4294967296 is outside");
    BAD(kn_unflatten(f(KN_SHAPE(4)), 0, KN_SHAPE(-1, -1)), "one of them may be -1");
    BAD(kn_unflatten(f(KN_SHAPE(4)), 0, KN_SHAPE(-2, -2)), "sizes are 0 or more");
    BAD(kn_atleast(f(V3), -1), "rank -1 is outside 0 to 8");
    BAD(kn_atleast(f(V3), 9), "rank 9 is outside 0 to 8");
    BAD(kn_max(f(KN_SHAPE(0)), KN_AXES_ALL, false), "empty axis");
    BAD(kn_quantile(f(V3), 1.5, 0, false), "q is 1.5: it must be 0 to 1");
    BAD(kn_quantile(f(V3), NOT_A_NUMBER, 0, false), "q is nan");
    BAD(kn_topk(f(V3), 4, 0, NULL), "k is 4");
    BAD(kn_kthvalue(f(V3), 0, 0, false), "k is 0");
    BAD(kn_bincount(i(V3), KN_NONE, -1), "min_length is -1");
    BAD(kn_histogram(f(V3), 0, NULL), "0 bins");
    BAD(kn_histogram(f(V3), 2, &(kn_histogram_args){.low = 2, .high = 1}), "2 to 1 is upside down");
    BAD(kn_histogram(f(V3), 2, &(kn_histogram_args){.low = 0, .high = INFINITE}), "0 to inf is not finite");
    BAD(kn_embedding(f(M23), i(V3), &(kn_embedding_args){3}), "padding_index 3 is outside the table [2, 3]");
    BAD(kn_embedding(f(M23), f(V3), NULL), "must be an integer, not f32");
}

static void targets_of_losses(void)
{
    kn_tensor two = kn_keep(i(KN_SHAPE(2)));
    kn_tensor short_weight = kn_keep(f(KN_SHAPE(2)));
    BAD(kn_multi_margin_loss(f(M23), f(KN_SHAPE(2)), NULL), "must be an integer, not f32");
    BAD(kn_multi_margin_loss(f(M23), b(KN_SHAPE(2)), NULL), "must be an integer, not bool");
    BAD(kn_multi_margin_loss(i(M23), two, NULL), "x must be a float, not i64");
    BAD(kn_multi_margin_loss(f(M23), i(KN_SHAPE(1)), NULL), "1 targets for a batch of 2");
    BAD(kn_multi_margin_loss(f(M23), two, &(kn_multi_margin_args){.p = 3}), "p is 3; it must be 1 or 2");
    BAD(kn_multi_margin_loss(f(M23), two, &(kn_multi_margin_args){.weight = short_weight}), "must be [3]");
    BAD(kn_nll_loss(f(M23), f(KN_SHAPE(2)), NULL), "the target an integer, not f32 and f32");
    BAD(kn_nll_loss(f(M23), i(KN_SHAPE(1)), NULL), "target [1] does not fit x [2, 3]");
    BAD(kn_nll_loss(f(M23), two, &(kn_cross_entropy_args){.weight = short_weight}), "weight [2] must have");
    BAD(kn_nll_loss(f(M23), two, &(kn_cross_entropy_args){.label_smoothing = 0.5}), "label_smoothing is 0.5");
    BAD(kn_cross_entropy(f(M23), b(KN_SHAPE(2)), NULL), "must be an integer, not bool");
    BAD(kn_cross_entropy(f(M23), f(KN_SHAPE(2)), NULL), "class indices are integers");
    BAD(kn_cross_entropy(f(M23), two, &(kn_cross_entropy_args){.label_smoothing = 1.1}),
        "label_smoothing is 1.1");
    BAD(kn_cross_entropy(f(M23), f(M23), &(kn_cross_entropy_args){.label_smoothing = -1}),
        "label_smoothing is -1");
    BAD(kn_cross_entropy(f(M23), f(M23), &(kn_cross_entropy_args){.weight = short_weight}), "weight [2]");
    BAD(kn_cross_entropy(f(M23), two, &(kn_cross_entropy_args){.reduction = (kn_reduction)7}),
        "no reduction 7");
    BAD(kn_cross_entropy_probabilities(f(M23), f(KN_SHAPE(1, 3))),
        "probabilities [1, 3] must have one shape");
    BAD(kn_cross_entropy_tokens(f(M23), f(KN_SHAPE(2)), NULL), "must be an integer, not f32");
    BAD(kn_cross_entropy_tokens(f(M23), two, &(kn_cross_entropy_tokens_args){.n_pad_tokens = 2}),
        "pad_tokens is NULL");
    BAD(kn_cross_entropy_tokens(f(M23), two, &(kn_cross_entropy_tokens_args){.n_pad_tokens = -2}), "is -2");
    BAD(kn_binary_cross_entropy(f(KN_SHAPE(2)), f(KN_SHAPE(1)), NULL),
        "target [1] must have the shape of x [2]");
    BAD(kn_binary_cross_entropy(f(KN_SHAPE(2)), f(KN_SHAPE(2)),
                                &(kn_binary_cross_entropy_args){.pos_weight = short_weight}),
        "pos_weight is for logits");
    BAD(kn_binary_cross_entropy_with_logits(f(M23), f(V3), NULL),
        "target [3] must have the shape of x [2, 3]");
    BAD(kn_ctc_loss(f(KN_SHAPE(4, 2, 3)), f(KN_SHAPE(2, 2)), two, two, NULL), "must be an integer, not f32");
    BAD(kn_ctc_loss(f(KN_SHAPE(4, 2, 3)), i(KN_SHAPE(2, 2)), two, two, &(kn_ctc_args){.blank = 3}),
        "class 3");
    BAD(kn_ctc_loss(f(KN_SHAPE(4, 2, 3)), i(KN_SHAPE(3, 2)), two, two, NULL),
        "targets [3, 2] must be [batch, longest] for log_probs [4, 2, 3]");
    BAD(kn_ctc_loss(f(KN_SHAPE(4, 2, 3)), i(KN_SHAPE(2, 2)), i(V3), two, NULL), "lengths [3] must have one");
    BAD(kn_ctc_loss(f(KN_SHAPE(4, 2, 3)), i(KN_SHAPE(2, 2)), two, i(V3), NULL), "lengths [3] must have one");
}

static void numbers_of_losses(void)
{
    kn_tensor x = kn_keep(f(M23));
    BAD(kn_triplet_margin_loss(x, x, x, &(kn_triplet_args){.margin = -1}),
        "margin is -1: it must be 0 or more");
    BAD(kn_triplet_margin_loss(x, x, x, &(kn_triplet_args){.margin = NOT_A_NUMBER}), "margin is nan");
    GOOD_SCALAR(kn_triplet_margin_loss(x, x, x, &(kn_triplet_args){.margin = (double)KN_ZERO}));
    BAD(kn_smooth_l1_loss(x, x, -1, KN_REDUCTION_MEAN), "beta is -1");
    BAD(kn_huber_loss(x, x, 0, KN_REDUCTION_MEAN), "delta is 0: it must be above 0");
    BAD(kn_poisson_nll_loss(x, x, &(kn_poisson_nll_args){.rates = true, .eps = -1}), "eps is -1");
    BAD(kn_gaussian_nll_loss(x, x, x, &(kn_gaussian_nll_args){.eps = NOT_A_NUMBER}), "eps is nan");
    BAD(kn_lp_loss(x, x, 0, KN_REDUCTION_MEAN), "p is 0");
    BAD(kn_mse_loss(x, x, (kn_reduction)5), "no reduction 5");
}

static void norms_and_dropout(void)
{
    kn_tensor x = kn_keep(f(KN_SHAPE(2, 4, 3))), c = kn_keep(f(KN_SHAPE(4)));
    BAD(kn_layer_norm(x, KN_NONE, KN_NONE, 1, -1), "kn_layer_norm: eps is -1: it must be 0 or more");
    BAD(kn_rms_norm(x, KN_NONE, 1, NOT_A_NUMBER), "kn_rms_norm: eps is nan");
    BAD(kn_group_norm(x, KN_NONE, KN_NONE, 2, -1), "kn_group_norm: eps is -1");
    BAD(kn_group_norm(x, KN_NONE, KN_NONE, 0, 1e-5), "into 0 equal groups");
    BAD(kn_instance_norm(x, KN_NONE, KN_NONE, -1), "kn_instance_norm: eps is -1");
    BAD(kn_batch_norm(x, c, c, KN_NONE, KN_NONE, -1), "kn_batch_norm: eps is -1");
    BAD(kn_batch_norm_train(x, KN_NONE, KN_NONE, NOT_A_NUMBER), "eps is nan");
    BAD(kn_local_response_norm(x, &(kn_local_response_norm_args){.size = -1}), "not -1");
    BAD(kn_dropout(x, -0.1, true), "p is -0.1: the probability must be 0 to 1");
    BAD(kn_dropout(x, 1.1, true), "p is 1.1");
    BAD(kn_dropout(x, NOT_A_NUMBER, true), "p is nan");
    BAD(kn_feature_dropout(x, 2, true), "p is 2");
    BAD(kn_alpha_dropout(x, -1, true), "p is -1");
}

static void windows_and_strides(void)
{
    kn_tensor x = kn_keep(f(KN_SHAPE(1, 2, 5))), w = kn_keep(f(KN_SHAPE(4, 2, 3)));
    BAD(kn_conv1d(x, w, KN_NONE, &(kn_conv1d_args){.stride = {-1}}), "stride is -1; it must be 1 or more");
    BAD(kn_conv1d(x, w, KN_NONE, &(kn_conv1d_args){.padding = {-1}}),
        "padding is -1; it must not be negative");
    BAD(kn_conv1d(x, w, KN_NONE, &(kn_conv1d_args){.padding = {INT64_MAX}}), "it must be at most 2^40");
    BAD(kn_conv1d(x, w, KN_NONE, &(kn_conv1d_args){.dilation = {-1}}), "dilation is -1");
    BAD(kn_conv1d(x, w, KN_NONE, &(kn_conv1d_args){.groups = -1}), "groups is -1");
    BAD(kn_conv1d(x, w, KN_NONE, &(kn_conv1d_args){.groups = 3}), "into 3 groups");
    BAD(kn_max_pool1d(x, KN_INTS(0), NULL), "window is 0");
    BAD(kn_max_pool1d(x, KN_INTS(2), &(kn_pool_args){.padding = {2}}), "padding 2 leaves a window");
    BAD(kn_max_pool1d(x, KN_INTS(2), &(kn_pool_args){.stride = {-1}}), "stride is -1");
    BAD(kn_avg_pool1d(x, KN_INTS(2), &(kn_pool_args){.divisor = -1}), "divisor is -1");
    BAD(kn_adaptive_avg_pool1d(x, KN_INTS(-2)), "size is -2");
    BAD(kn_pixel_shuffle(f(KN_SHAPE(1, 4, 2, 2)), 0), "factor is 0");
    BAD(kn_interpolate(f(KN_SHAPE(1, 2, 4, 4)), KN_INTS(0, 2), NULL), "is 0");
    BAD(kn_attention(f(KN_SHAPE(1, 1, 2, 2)), f(KN_SHAPE(1, 1, 2, 2)), f(KN_SHAPE(1, 1, 2, 2)),
                     &(kn_attention_args){.softcap = -1}),
        "softcap is -1");
}

static void signals(void)
{
    kn_tensor x = kn_keep(f(KN_SHAPE(16))), window = kn_keep(f(V3));
    BAD(kn_stft(x, 0, NULL), "n_fft 0");
    BAD(kn_stft(x, 8, &(kn_stft_args){.hop = -1}), "hop -1");
    BAD(kn_stft(x, 8, &(kn_stft_args){.window_size = 9}), "window_size is 9: it must be 1 to n_fft 8");
    BAD(kn_stft(x, 8, &(kn_stft_args){.window_size = 4, .window = window}), "the window is [3], but");
    BAD(kn_stft(x, 8, &(kn_stft_args){.pad_mode = (kn_pad_mode)9}), "9 is no padding mode");
    BAD(kn_rfft(x, 0, &(kn_fft_args){.n = -1}), "length -1");
    BAD(kn_irfft((kn_complex){x, KN_NONE}, 0, &(kn_fft_args){.n = -3}), "length -3");
    BAD(kn_fftfreq(-1, 1, KN_F32), "n is -1");
    BAD(kn_fftfreq(4, 0, KN_F32), "spacing is 0");
    BAD(kn_fftfreq(4, 1, KN_I32), "does not make i32");
    BAD(kn_hann_window(-1, false, KN_F32), "not -1");
}

/* torch.stft(arange(1, 7), 4, hop_length=2, pad_mode='constant'): the frames begin with two zeros. */
static void stft_pads_with_zeros(void)
{
    kn_stft_args args = {.hop = 2, .pad_mode = KN_PAD_ZEROS};
    kn_complex y = kn_stft(kn_arange(1, 7, 1, KN_F32), 4, &args);
    CHECK_VALUES(kn_select(kn_keep(y.real), 0, 0), 1e-6, 3, 10, 18, 11);
    CHECK_VALUES(kn_select(kn_keep(y.imag), 0, 1), 1e-6, 2, 2, 2, -6);
    args.pad_mode = (kn_pad_mode)0; /* reflect stays the default: 3 2 1 2 */
    y = kn_stft(kn_arange(1, 7, 1, KN_F32), 4, &args);
    CHECK_VALUES(kn_select(kn_keep(y.real), 0, 0), 1e-6, 8, 10, 18, 20);
    CHECK_VALUES(kn_pad(f(KN_SHAPE(1)), &(kn_pad_args){KN_INTS(1), KN_INTS(1), KN_PAD_ZEROS, 7}), 0, 0, 1, 0);
}

static void random_and_constants(void)
{
    BAD(kn_random_uniform(V3, 2, 1, KN_F32), "2 to below 1");
    BAD(kn_random_uniform(V3, 1, 1, KN_I32), "no whole numbers from 1 to below 1");
    BAD(kn_random_normal(V3, 0, -1, KN_F32), "deviation -1");
    BAD(kn_random_bernoulli(V3, 1.5, KN_F32), "probability 1.5");
    BAD(kn_random_int(V3, 3, 3, KN_I64), "3 to 3");
    BAD(kn_random_int(V3, 0, 300, KN_U8), "u8 does not hold all of 300 whole numbers from 0 on");
    BAD(kn_random_int(V3, -1, 3, KN_U8), "u8 does not hold all of 4 whole numbers from -1 on");
    BAD(kn_random_int(V3, -129, 3, KN_I8), "i8 does not hold");
    GOOD(kn_random_int(V3, -128, 128, KN_I8), 3);
    GOOD(kn_random_int(V3, 0, 256, KN_U8), 3);
    BAD(kn_arange(0, 5, 0, KN_F32), "steps of 0");
    BAD(kn_arange(0, 5, -1, KN_F32), "steps of -1");
    BAD(kn_linspace(0, 1, -1, KN_F32), "-1");
    BAD(kn_one_hot(i(V3), -1, KN_F32), "-1 classes: there must be 0 or more");
    BAD(kn_cdist(f(M23), f(M23), -1), "-1");
    BAD(kn_categorical(f(V3), -1), "-1 samples");
}

static void dtypes_that_are_not_there(void)
{
    static const struct {
        kn_dtype first, last;
        const char *instead;
    } rows[] = {{KN_C64, KN_C128, "yet: keep the real and the imaginary part as two tensors"},
                {KN_QUANTISED, KN_QUANTISED, "yet: use i8 or u8"}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++)
        for (int d = (int)rows[r].first; d <= (int)rows[r].last; d++)
            BAD(kn_zeros(V3, (kn_dtype)d), rows[r].instead);
    BAD(kn_zeros(V3, KN_C64), "kn_zeros: there are no tensors of dtype c64 yet");
    BAD(kn_cast(f(V3), KN_C128), "kn_cast: there are no tensors of dtype c128 yet: keep the real");
    BAD(kn_from("", KN_QUANTISED, V3), "yet: use i8 or u8");
    BAD(kn_full(V3, 0, (kn_dtype)99), "99 is the code of no dtype");
}

static kn_status adam(double lr, double beta1, double beta2, double eps, double decay)
{
    kn_param p = kn_param_make(kn_ones(V3, KN_F32));
    kn_tensor m = kn_own(kn_zeros(V3, KN_F32)), v = kn_own(kn_zeros(V3, KN_F32));
    kn_adam_update_args args = {lr, beta1, beta2, eps, decay, 1, false, false, KN_NONE};
    kn_status s = kn_adam_update(&p, kn_ones(V3, KN_F32), &m, &v, NULL, &args);
    kn_drop(m);
    kn_drop(v);
    kn_param_drop(&p);
    return s;
}

static void numbers_of_updates(void)
{
    CHECK(adam(0.1, 0.9, 0.99, 1e-8, 0) == KN_OK);
    CHECK(adam(-1, 0.9, 0.99, 1e-8, 0) == KN_OK); /* sums of gradients are made so */
    CHECK_ERROR(adam(NOT_A_NUMBER, 0.9, 0.99, 1e-8, 0), "lr is nan");
    CHECK_ERROR(adam(0.1, 1, 0.99, 1e-8, 0), "beta1 is 1: it must be 0 or more and below 1");
    CHECK_ERROR(adam(0.1, 0.9, -0.5, 1e-8, 0), "beta2 is -0.5");
    CHECK_ERROR(adam(0.1, 0.9, 0.99, -1, 0), "eps is -1");
    CHECK_ERROR(adam(0.1, 0.9, 0.99, 1e-8, -1), "weight_decay is -1");
}

static void numbers_of_layers(void)
{
    kn_nn_dropout dropout;
    kn_nn_batch_norm batch;
    kn_nn_layer_norm layer;
    kn_nn_lstm lstm;
    kn_nn_embedding table;
    kn_nn_avg_pool2d pool;
    kn_nn_conv2d conv;
    kn_nn_linear linear;
    CHECK_ERROR(kn_nn_dropout_init(&dropout, 1.5, NULL), "kn_nn_dropout_init: p is 1.5; it must be 0 to 1");
    CHECK_ERROR(kn_nn_dropout_init(&dropout, 0.5, &(kn_nn_dropout_args){(kn_dropout_kind)9}), "no kind 9");
    CHECK_ERROR(kn_nn_batch_norm_init(&batch, 3, &(kn_nn_batch_norm_args){.eps = -1}),
                "eps is -1; it must be 0 or");
    CHECK_ERROR(kn_nn_batch_norm_init(&batch, 3, &(kn_nn_batch_norm_args){.momentum = 2}), "momentum is 2");
    CHECK_ERROR(kn_nn_layer_norm_init(&layer, V3, &(kn_nn_layer_norm_args){.eps = NOT_A_NUMBER}),
                "eps is NaN");
    CHECK_ERROR(kn_nn_lstm_init(&lstm, 3, 3, &(kn_nn_recurrent_args){.dropout = 2}), "dropout is 2");
    CHECK_ERROR(kn_nn_lstm_init(&lstm, 3, 3, &(kn_nn_recurrent_args){.clip = -1}), "clip is -1");
    CHECK_ERROR(kn_nn_embedding_init(&table, 3, 2, &(kn_nn_embedding_args){.padding_index = 3}),
                "index 3 is outside");
    CHECK_ERROR(kn_nn_avg_pool2d_init(&pool, KN_INTS(2, 2), &(kn_nn_pool_args){.divisor = -1}),
                "divisor is -1");
    CHECK_ERROR(kn_nn_conv2d_init(&conv, 2, 2, KN_INTS(3, 3), &(kn_nn_conv_args){.padding = {-1, 0}}),
                "are -1");
    CHECK_ERROR(kn_nn_linear_init(&linear, 2, 2, &(kn_nn_linear_args){.dtype = KN_I32}), "dtype i32");
    CHECK_ERROR(kn_nn_linear_init(&linear, 0, 2, NULL), "in_features is 0");
}

int main(void)
{
    numbers_of_activations();
    rank_0_that_works();
    rank_0_that_fails();
    shapes_and_axes();
    targets_of_losses();
    numbers_of_losses();
    norms_and_dropout();
    windows_and_strides();
    signals();
    stft_pads_with_zeros();
    random_and_constants();
    dtypes_that_are_not_there();
    numbers_of_updates();
    numbers_of_layers();
    return check_report();
}
