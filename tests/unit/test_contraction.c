/* Contractions: sizes of zero, errors with their texts, ownership in composites, hostile equations, attention without
   visible keys, equal bits for any number of threads and any tier, and gradients of gradients. */
#define _POSIX_C_SOURCE 200112L
#include "../support/check.h"
#include "core/thread_pool.h"
#include "ops/attention.h"
#include "ops/conv.h"
#include "ops/op.h"
#include "support/tiers.h"
#include <stdlib.h>

/* Numbers that differ from each other; no random generator needed. */
static kn_tensor made(kn_shape shape, double seed, kn_dtype dtype)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    kn_tensor k = kn_add_scalar(kn_arange(0, (double)n, 1, KN_F64), seed);
    return kn_keep(kn_cast(kn_reshape(kn_sin(kn_mul_scalar(k, 0.7310585)), shape), dtype));
}

/* |a - b| at most limit everywhere. */
static bool near(kn_tensor a, kn_tensor b, double limit)
{
    return kn_item(kn_max(kn_abs(kn_sub(a, b)), KN_AXES_ALL, false)) <= limit;
}

static kn_tensor ones(kn_shape shape) { return kn_keep(kn_ones(shape, KN_F32)); }

/* Rows that no single step leads through: leading axes that were swapped. */
static void check_linear_of_views(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = made(KN_SHAPE(3, 4, 5), 1, KN_F32), w = made(KN_SHAPE(6, 5), 2, KN_F32);
    kn_tensor swapped = kn_linear(kn_transpose(x, 0, 1), w, KN_NONE);
    CHECK(near(kn_transpose(swapped, 0, 1), kn_linear(x, w, KN_NONE), 0));
    kn_scope_end(scope, KN_NONE);
}

/* ---- sizes of zero */

/* Convolutions of views give the bits of their copies: rows that repeat, run backwards, or lie apart. */
static void check_conv_of_views(void)
{
    for (int kind = 0; kind < 4; kind++)
        for (int channels = 1; channels <= 3; channels += 2) {
            kn_scope scope = kn_scope_begin();
            kn_tensor w = kn_keep(kn_random_uniform(KN_SHAPE(6, channels, 2, 3), -1, 1, KN_F32));
            kn_tensor base = kn_keep(kn_random_uniform(KN_SHAPE(2, channels, 40, 150), -1, 1, KN_F32));
            kn_tensor line = kn_slice(base, 3, 0, 1, 1);
            kn_tensor view = kind == 0   ? kn_expand(line, KN_SHAPE(2, channels, 40, 150))
                             : kind == 1 ? kn_flip(base, KN_AXES(3))
                             : kind == 2 ? kn_permute(base, KN_AXES(0, 1, 3, 2))
                                         : kn_slice(base, 3, 0, 150, 3);
            view = kn_keep(view);
            const kn_conv2d_args args = {.padding = {1, 2}};
            kn_tensor of_view = kn_keep(kn_conv2d(view, w, KN_NONE, &args));
            kn_tensor of_copy = kn_keep(kn_conv2d(kn_mul_scalar(view, 1), w, KN_NONE, &args));
            kn_tensor same = kn_all(kn_equal(of_view, of_copy), KN_AXES_ALL, false);
            bool yes = false;
            CHECK(kn_read(same, &yes, 1) == KN_OK && yes);
            kn_scope_end(scope, KN_NONE);
        }
}

static void check_empty(void)
{
    kn_scope scope = kn_scope_begin();
    CHECK_VALUES(kn_matmul(ones(KN_SHAPE(2, 0)), ones(KN_SHAPE(0, 3))), 0, 0, 0, 0, 0, 0, 0);
    CHECK_VALUES(kn_linear(ones(KN_SHAPE(2, 0)), ones(KN_SHAPE(3, 0)), ones(KN_SHAPE(3))), 0, 1, 1, 1, 1, 1,
                 1);
    CHECK(kn_count(kn_matmul(ones(KN_SHAPE(0, 4, 3)), ones(KN_SHAPE(3, 5)))) == 0);
    CHECK_VALUES(kn_dot(ones(KN_SHAPE(0)), ones(KN_SHAPE(0))), 0, 0);
    CHECK_VALUES(kn_conv1d(ones(KN_SHAPE(1, 0, 4)), ones(KN_SHAPE(1, 0, 3)), ones(KN_SHAPE(1)), NULL), 0, 1,
                 1);
    CHECK(kn_count(kn_conv2d(ones(KN_SHAPE(0, 2, 4, 4)), ones(KN_SHAPE(3, 2, 3, 3)), KN_NONE, NULL)) == 0);
    CHECK_VALUES(kn_attention(ones(KN_SHAPE(1, 1, 1, 2)), ones(KN_SHAPE(1, 1, 0, 2)),
                              ones(KN_SHAPE(1, 1, 0, 2)), NULL),
                 0, 0, 0);
    kn_tensor pair[2] = {ones(KN_SHAPE(2, 0)), ones(KN_SHAPE(0, 2))};
    CHECK_VALUES(kn_einsum("ij,jk", pair, 2), 0, 0, 0, 0, 0);
    kn_scope_end(scope, KN_NONE);
}

/* ---- errors */

static void check_product_errors(void)
{
    kn_scope scope = kn_scope_begin();
    CHECK_POISON(kn_matmul(ones(KN_SHAPE(32, 784)), ones(KN_SHAPE(512, 10))),
                 "kn_matmul: inner sizes differ: a [32, 784] x b [512, 10] (784 != 512)");
    CHECK_POISON(kn_matmul(ones(KN_SHAPE(2, 3, 4)), ones(KN_SHAPE(5, 4, 2))),
                 "kn_matmul: the leading axes do not broadcast: a [2, 3, 4] x b [5, 4, 2] (2 against 5)");
    CHECK_POISON(kn_matmul(kn_scalar(1, KN_F32), ones(KN_SHAPE(3))), "at least one axis");
    CHECK_POISON(kn_matmul(ones(KN_SHAPE(2, 2)), made(KN_SHAPE(2, 2), 0, KN_F64)),
                 "operands are f32 and f64");
    CHECK_POISON(kn_matmul(KN_NONE, ones(KN_SHAPE(3))), "kn_matmul");
    CHECK_POISON(kn_linear(ones(KN_SHAPE(2, 3)), ones(KN_SHAPE(4, 5)), KN_NONE),
                 "inner sizes differ: x [2, 3] x weight [4, 5]");
    CHECK_POISON(kn_linear(ones(KN_SHAPE(2, 3)), ones(KN_SHAPE(4, 3)), ones(KN_SHAPE(3))),
                 "bias must be [4]");
    CHECK_POISON(kn_dot(ones(KN_SHAPE(2, 2)), ones(KN_SHAPE(2))), "kn_dot: operands must have rank 1");
    CHECK_POISON(kn_outer_dim(ones(KN_SHAPE(2)), ones(KN_SHAPE(2)), 1), "kn_outer_dim: axis 1");
    CHECK_POISON(kn_tensordot(ones(KN_SHAPE(2, 3)), ones(KN_SHAPE(4, 5)), KN_AXES(1), KN_AXES(0)),
                 "(3 != 4)");
    CHECK_POISON(kn_tensordot(ones(KN_SHAPE(2, 3)), ones(KN_SHAPE(3, 5)), KN_AXES(1), KN_AXES(0, 1)),
                 "paired");
    CHECK_POISON(kn_kron(ones(KN_SHAPE(1, 1, 1, 1, 1)), ones(KN_SHAPE(2))), "up to 4 axes");
    CHECK_POISON(kn_cross(ones(KN_SHAPE(2)), ones(KN_SHAPE(2)), 0), "size 3");
    CHECK_POISON(kn_addmm(ones(KN_SHAPE(3)), ones(KN_SHAPE(2, 2)), ones(KN_SHAPE(2, 2)), 1, 1),
                 "does not broadcast");
    CHECK_POISON(kn_addmm(ones(KN_SHAPE(3)), KN_NONE, ones(KN_SHAPE(2, 2)), 1, 1), "kn_addmm");
    kn_tensor vectors[3] = {ones(KN_SHAPE(3)), ones(KN_SHAPE(3, 4)), ones(KN_SHAPE(4))};
    CHECK(kn_rank(kn_multi_dot(vectors, 3)) == 0 && kn_item(kn_multi_dot(vectors, 3)) == 12);
    CHECK(kn_rank(kn_multi_dot(vectors + 1, 2)) == 1 && kn_rank(kn_multi_dot(vectors, 2)) == 1);
    kn_tensor chain[3] = {ones(KN_SHAPE(2, 3)), ones(KN_SHAPE(3, 4, 1)), ones(KN_SHAPE(4, 2))};
    CHECK_POISON(kn_multi_dot(chain, 3), "kn_multi_dot: operand 1 must be a matrix, not [3, 4, 1]");
    CHECK_POISON(kn_multi_dot(chain, 1), "2 to 64");
    CHECK_POISON(kn_multi_dot(NULL, 2), "2 to 64");
    kn_scope_end(scope, KN_NONE);
}

static void check_conv_errors(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor x = ones(KN_SHAPE(1, 4, 5, 5)), w = ones(KN_SHAPE(6, 4, 3, 3));
    CHECK_POISON(kn_conv2d(x, ones(KN_SHAPE(6, 3, 3, 3)), KN_NONE, NULL),
                 "kn_conv2d: channels differ: x [1, 4, 5, 5] has 4");
    CHECK_POISON(kn_conv2d(x, ones(KN_SHAPE(6, 4, 7, 7)), KN_NONE, NULL), "larger than the padded input");
    CHECK_POISON(kn_conv2d(x, w, ones(KN_SHAPE(5)), NULL), "bias must be [6]");
    CHECK_POISON(kn_conv2d(x, w, KN_NONE, &(kn_conv2d_args){.stride = {-1, 1}}),
                 "stride is -1; it must be 1 or more");
    CHECK_POISON(kn_conv2d(x, w, KN_NONE, &(kn_conv2d_args){.padding = {-1, 1}}),
                 "padding is -1; it must not be negative");
    CHECK_POISON(kn_conv2d(x, w, KN_NONE, &(kn_conv2d_args){.dilation = {INT64_MAX, 1}}), "at most 2^40");
    CHECK_POISON(kn_conv2d(x, w, KN_NONE, &(kn_conv2d_args){.groups = 4}),
                 "output channels cannot be divided into 4 groups");
    CHECK_POISON(kn_conv2d(ones(KN_SHAPE(5, 5)), w, KN_NONE, NULL),
                 "rank 4, or 3 without a batch axis, not 2");
    CHECK_POISON(kn_conv2d(x, ones(KN_SHAPE(3)), KN_NONE, NULL), "same rank");
    CHECK_POISON(kn_conv2d(KN_NONE, w, KN_NONE, NULL), "kn_conv2d");
    CHECK_POISON(kn_conv_transpose2d(x, ones(KN_SHAPE(3, 4, 2, 2)), KN_NONE, NULL),
                 "kn_conv_transpose2d: channels differ");
    CHECK_POISON(kn_conv_transpose2d(x, ones(KN_SHAPE(4, 2, 2, 2)), KN_NONE,
                                     &(kn_conv_transpose2d_args){.output_padding = {1, KN_ZERO}}),
                 "output_padding 1 must be below the stride 1");
    CHECK_POISON(kn_conv_transpose2d(x, ones(KN_SHAPE(4, 2, 2, 2)), KN_NONE,
                                     &(kn_conv_transpose2d_args){.padding = {4, 4}}),
                 "nothing is left");
    CHECK_POISON(kn_deform_conv2d(x, ones(KN_SHAPE(1, 7, 3, 3)), w, KN_NONE, KN_NONE, NULL),
                 "2 x groups x 9 channels");
    CHECK_POISON(kn_deform_conv2d(x, KN_NONE, w, KN_NONE, KN_NONE, NULL), "kn_deform_conv2d");
    kn_scope_end(scope, KN_NONE);
}

/* An equation is a user's text: whatever it is, it gives a result or an error. */
static void check_equations(void)
{
    static const char *const letters[] = {"i", "j", "A", "...", ",",  "->",  "-",
                                          ".", " ", ">", "$",   "ii", "\xff"};
    kn_scope scope = kn_scope_begin();
    kn_tensor two[2] = {ones(KN_SHAPE(2, 2)), ones(KN_SHAPE(2, 2))};
    uint64_t state = 1;
    int good = 0, bad = 0;
    for (int i = 0; i < 4000; i++) {
        char text[64] = "";
        kn_scope inner = kn_scope_begin();
        for (int k = (int)(state >> 60); k >= 0; k--) {
            state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            strcat(text, letters[(state >> 33) % (sizeof letters / sizeof *letters)]);
        }
        kn_tensor y = kn_einsum(text, two, 1 + (int)(state >> 40 & 1));
        if (kn_ok(y))
            good++;
        else
            bad += kn_error_code(y) == KN_ERROR_ARGUMENT || kn_error_code(y) == KN_ERROR_SHAPE;
        kn_scope_end(inner, KN_NONE);
    }
    CHECK(good > 10 && good + bad == 4000);
    CHECK_POISON(kn_einsum(NULL, two, 2), "the equation is NULL");
    CHECK_POISON(kn_einsum("i", two, 0), "1 to 32");
    CHECK_POISON(kn_einsum("i", NULL, 1), "the list of 1 operands is NULL");
    CHECK_POISON(kn_einsum("ij,jk", (kn_tensor[2]){two[0], KN_NONE}, 2), "kn_einsum");
    kn_tensor wide[2] = {kn_keep(kn_ones(KN_SHAPE(1, 1, 1, 1, 1), KN_F32)),
                         kn_keep(kn_ones(KN_SHAPE(1, 1, 1, 1, 1), KN_F32))};
    CHECK_POISON(kn_einsum("abcde,fghij", wide, 2), "more than 8 axes");
    kn_tensor three[3] = {wide[0], wide[1], wide[1]};
    CHECK_POISON(kn_einsum("abcde,fghij,klmno->", three, 0), "1 to 32");
    kn_scope_end(scope, KN_NONE);
}

/* ---- ownership: a temporary that is given twice, and one that is handed through */

static void check_ownership(void)
{
    int64_t before = kn_memory_stats().tensors_now;
    kn_scope scope = kn_scope_begin();
    kn_tensor x = kn_ones(KN_SHAPE(3), KN_F32);
    CHECK_VALUES(kn_dot(x, x), 0, 3);
    kn_tensor y = kn_ones(KN_SHAPE(2, 2), KN_F32), pair[2] = {y, y};
    CHECK_VALUES(kn_einsum("ij,jk->ik", pair, 2), 0, 2, 2, 2, 2);
    kn_tensor z = kn_keep(kn_ones(KN_SHAPE(2), KN_F32));
    CHECK_VALUES(kn_einsum("i->i", &z, 1), 0, 1, 1);
    CHECK(kn_ok(z));
    kn_scope_end(scope, KN_NONE);
    CHECK(kn_memory_stats().tensors_now == before);
}

/* ---- attention */

static void check_attention(void)
{
    kn_scope scope = kn_scope_begin();
    kn_tensor q = made(KN_SHAPE(1, 2, 3, 4), 1, KN_F32), k = made(KN_SHAPE(1, 1, 3, 4), 2, KN_F32);
    kn_tensor v = made(KN_SHAPE(1, 1, 3, 2), 3, KN_F32);
    const bool visible[9] = {1, 0, 0, 0, 0, 0, 0, 0, 1};
    kn_tensor mask = kn_keep(kn_from(visible, KN_BOOL, KN_SHAPE(3, 3)));
    kn_tensor y = kn_keep(kn_attention(q, k, v, &(kn_attention_args){.mask = mask}));
    kn_tensor values = kn_keep(kn_reshape(v, KN_SHAPE(3, 2)));
    for (int h = 0; h < 2; h++) {
        kn_tensor head = kn_keep(kn_select(kn_select(y, 0, 0), 0, h));
        CHECK(near(kn_select(head, 0, 0), kn_select(values, 0, 0), 1e-6));
        CHECK_VALUES(kn_select(head, 0, 1), 0, 0, 0);
        CHECK(near(kn_select(head, 0, 2), kn_select(values, 0, 2), 1e-6));
    }
    /* An additive mask of -inf hides like a mask. */
    kn_tensor hidden = kn_keep(kn_where(mask, kn_scalar(0, KN_F32), kn_scalar(-__builtin_inf(), KN_F32)));
    CHECK(near(kn_attention(q, k, v, &(kn_attention_args){.bias = hidden}), y, 1e-6));
    kn_tensor nan = kn_keep(kn_full(KN_SHAPE(1, 1, 3, 4), __builtin_nan(""), KN_F32));
    CHECK(kn_item(kn_all(kn_is_nan(kn_attention(q, nan, v, NULL)), KN_AXES_ALL, false)) == 1);
    CHECK_POISON(kn_attention(q, k, v, &(kn_attention_args){.softcap = -1}), "softcap is -1");
    CHECK_POISON(kn_attention(q, made(KN_SHAPE(1, 1, 3, 5), 0, KN_F32), v, NULL),
                 "inner sizes differ: q [1, 2, 3, 4] x k");
    kn_tensor narrow = kn_full(KN_SHAPE(3, 2), 0, KN_F32);
    CHECK_POISON(kn_attention(q, k, v, &(kn_attention_args){.bias = narrow}),
                 "the bias [3, 2] does not broadcast to [batch, heads, queries, keys] [1, 2, 3, 3]");
    kn_scope_end(scope, KN_NONE);
}

/* ---- equal bits */

typedef kn_tensor (*op_fn)(kn_dtype dtype);

static kn_tensor run_matmul(kn_dtype d)
{
    return kn_matmul(made(KN_SHAPE(3, 70, 301), 1, d), made(KN_SHAPE(301, 65), 2, d));
}
static kn_tensor run_linear(kn_dtype d)
{
    return kn_linear(made(KN_SHAPE(37, 259), 1, d), made(KN_SHAPE(50, 259), 2, d), made(KN_SHAPE(50), 3, d));
}
static const kn_conv2d_args strided = {.stride = {2, 1}, .padding = {1, 1}};
static kn_tensor run_conv(kn_dtype d)
{
    return kn_conv2d(made(KN_SHAPE(5, 33, 19, 18), 1, d), made(KN_SHAPE(21, 33, 3, 3), 2, d),
                     made(KN_SHAPE(21), 3, d), &strided);
}
static kn_tensor run_depthwise(kn_dtype d)
{
    return kn_conv2d(made(KN_SHAPE(2, 24, 19, 18), 1, d), made(KN_SHAPE(24, 1, 3, 3), 2, d), KN_NONE,
                     &(kn_conv2d_args){.groups = 24});
}
static kn_tensor run_transpose(kn_dtype d)
{
    return kn_conv_transpose2d(made(KN_SHAPE(3, 21, 9, 10), 1, d), made(KN_SHAPE(21, 13, 3, 3), 2, d),
                               KN_NONE,
                               &(kn_conv_transpose2d_args){.stride = {2, 2}, .padding = {1, KN_ZERO}});
}
static kn_tensor weight_grad(kn_dtype d, int64_t outs, int64_t groups)
{
    kni_conv_attributes a = {.groups = groups, .extra = KN_INTS(3, 3)};
    kn_tensor in[2] = {made(KN_SHAPE(20, 16, 17, 18), 1, d), made(KN_SHAPE(20, outs, 15, 16), 2, d)};
    return kni_apply(&kni_op_conv_weight_grad, in, 2, &a);
}
static kn_tensor run_weight_grad(kn_dtype d) { return weight_grad(d, 21, 1); }
static kn_tensor run_depthwise_grad(kn_dtype d) { return weight_grad(d, 16, 16); }
/* The saved result has the shape of its gradient, axis by axis. */
static void check_attention_grad(void)
{
    kn_tensor q = made(KN_SHAPE(1, 2, 3, 4), 1, KN_F32), out[4];
    for (int axis = 0; axis < 4; axis++) {
        kn_shape other = KN_SHAPE(1, 2, 3, 4);
        other.dims[axis]++;
        kn_tensor in[7] = {q, q, q, q, KN_NONE, KN_NONE, made(other, 1, KN_F32)};
        kni_attention_attributes a = {0};
        kni_apply_many(&kni_op_attention_grad, in, 7, &a, out, 4);
        CHECK_POISON(out[0], "and its gradient [1, 2, 3, 4] differ");
    }
}

static kn_tensor run_attention(kn_dtype d)
{
    return kn_attention(made(KN_SHAPE(2, 4, 90, 16), 1, d), made(KN_SHAPE(2, 2, 133, 16), 2, d),
                        made(KN_SHAPE(2, 2, 133, 24), 3, d),
                        &(kn_attention_args){.softcap = 3, .is_causal = true});
}

static bool same_bytes(kn_tensor a, kn_tensor b)
{
    size_t n = (size_t)kn_dtype_bytes(kn_dtype_of(a), kn_count(a));
    char *x = malloc(n), *y = malloc(n);
    bool same = x && y && kn_read(a, x, n) == KN_OK && kn_read(b, y, n) == KN_OK && memcmp(x, y, n) == 0;
    free(x);
    free(y);
    return same;
}

static void check_bits(void)
{
    static const struct {
        const char *name;
        op_fn run;
    } ops[] = {{"matmul", run_matmul},
               {"linear", run_linear},
               {"conv", run_conv},
               {"depthwise", run_depthwise},
               {"conv_transpose", run_transpose},
               {"conv_weight_grad", run_weight_grad},
               {"depthwise weight_grad", run_depthwise_grad},
               {"attention", run_attention}};
    static const kn_dtype dtypes[] = {KN_F32, KN_F64, KN_BF16};
    const kni_tier best = kni_cpu_tier();
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
            kn_scope scope = kn_scope_begin();
            kn_set_threads(1);
            kn_tensor want = kn_keep(ops[i].run(dtypes[d]));
            bool equal = kn_ok(want);
            for (int threads = 2; threads <= 5; threads++) {
                kn_set_threads(threads);
                equal &= same_bytes(ops[i].run(dtypes[d]), want);
            }
            for (int tier = 0; tier < KNI_ISA_COUNT; tier++) {
                if (!tier_runs((kni_tier)tier)) continue;
                kni_cpu_set_tier((kni_tier)tier);
                bool same = same_bytes(ops[i].run(dtypes[d]), want);
                if (!same)
                    printf("%s of %s differs on tier %s\n", ops[i].name, kn_dtype_name(dtypes[d]),
                           kni_cpu_tier_name((kni_tier)tier));
                equal &= same;
            }
            kni_cpu_set_tier(best);
            CHECK(equal);
            kn_scope_end(scope, KN_NONE);
        }
    kn_set_threads(0);
}

/* ---- gradients against differences, of the gradients too */

static kn_tensor f_matmul(void *c, const kn_tensor *x, int32_t n)
{
    return (void)c, (void)n, kn_matmul(x[0], x[1]);
}
static kn_tensor f_conv(void *c, const kn_tensor *x, int32_t n)
{
    return (void)n, kn_conv2d(x[0], x[1], x[2], c);
}
static kn_tensor f_transpose(void *c, const kn_tensor *x, int32_t n)
{
    return (void)n, kn_conv_transpose1d(x[0], x[1], x[2], c);
}
static kn_tensor f_attention(void *c, const kn_tensor *x, int32_t n)
{
    kn_attention_args a = *(const kn_attention_args *)c;
    if (n > 3) a.bias = x[3];
    return kn_attention(x[0], x[1], x[2], &a);
}
static kn_tensor f_deform(void *c, const kn_tensor *x, int32_t n)
{
    return (void)n, kn_deform_conv2d(x[0], x[1], x[2], x[3], x[4], c);
}
static kn_tensor f_einsum(void *c, const kn_tensor *x, int32_t n) { return kn_einsum(c, x, n); }

/* The first gradients of f as a function, so that gradcheck looks at the second. */
typedef struct {
    kn_gradcheck_fn f;
    void *context;
} inner_fn;

static kn_tensor gradient_of(const inner_fn *inner, const kn_tensor *x, int32_t n)
{
    kn_tensor in[8], grads[8], total = KN_NONE;
    for (int i = 0; i < n; i++) in[i] = kn_is_require_grad(x[i]) ? x[i] : kn_require_grad(kn_alias(x[i]));
    /* Squared, so that no gradient is a constant. */
    kn_tensor y = kn_keep(kn_square(kn_keep(inner->f(inner->context, in, n))));
    kn_tensor weight = made(kn_shape_of_tensor(y), 7, KN_F64);
    if (kn_grad(&y, &weight, 1, in, n, KN_GRAD_CREATE_GRAPH | KN_GRAD_RETAIN, grads) != KN_OK)
        return kn_poison(KN_ERROR_GRADIENT, kn_last_error());
    for (int i = 0; i < n; i++) {
        kn_tensor part =
            kn_sum(kn_mul(grads[i], made(kn_shape_of_tensor(x[i]), i, KN_F64)), KN_AXES_ALL, false);
        total = i == 0 ? part : kn_add(total, part);
    }
    return total;
}

/* Differences are taken without a tape, but here the function itself needs one. */
static kn_tensor f_gradient(void *context, const kn_tensor *x, int32_t n)
{
    const bool taped = kn_grad_enabled();
    if (!taped) kn_no_grad_end();
    kn_tensor y = gradient_of(context, x, n);
    if (!taped) kn_no_grad_begin();
    return y;
}

static void check_gradients_of(const char *name, kn_gradcheck_fn f, void *context, const kn_tensor *x, int n)
{
    inner_fn inner = {f, context};
    bool first = kn_gradcheck(f, context, x, n, 0) == KN_OK;
    if (!first) printf("%s: %s\n", name, kn_last_error());
    bool second = kn_gradcheck(f_gradient, &inner, x, n, 1e-4) == KN_OK;
    if (!second) printf("%s, second order: %s\n", name, kn_last_error());
    CHECK(first && second);
}

static void check_gradients(const char *device)
{
    kn_device opened = kn_device_open(device);
    if (!CHECK(opened != NULL)) return;
    kn_device_use(opened);
    kn_scope scope = kn_scope_begin();
    kn_tensor m[2] = {made(KN_SHAPE(2, 3, 4), 1, KN_F64), made(KN_SHAPE(4, 2), 2, KN_F64)};
    check_gradients_of("matmul", f_matmul, NULL, m, 2);
    kn_conv2d_args conv = {
        .stride = {2, 1}, .padding = {1, KN_ZERO}, .padding_end = {0, 1}, .dilation = {1, 2}, .groups = 2};
    kn_tensor c[3] = {made(KN_SHAPE(1, 2, 4, 5), 1, KN_F64), made(KN_SHAPE(4, 1, 2, 2), 2, KN_F64),
                      made(KN_SHAPE(4), 3, KN_F64)};
    check_gradients_of("conv2d", f_conv, &conv, c, 3);
    /* An output padding that passes the stride, which only a dilation allows. */
    kn_conv_transpose1d_args transpose = {
        .stride = {2}, .padding = {1}, .output_padding = {2}, .dilation = {3}};
    kn_tensor t[3] = {made(KN_SHAPE(1, 2, 4), 1, KN_F64), made(KN_SHAPE(2, 3, 2), 2, KN_F64),
                      made(KN_SHAPE(3), 3, KN_F64)};
    check_gradients_of("conv_transpose1d", f_transpose, &transpose, t, 3);
    kn_attention_args attention = {.softcap = 2, .is_causal = true};
    kn_tensor a[4] = {made(KN_SHAPE(1, 2, 3, 2), 1, KN_F64), made(KN_SHAPE(1, 1, 3, 2), 2, KN_F64),
                      made(KN_SHAPE(1, 1, 3, 2), 3, KN_F64), made(KN_SHAPE(3, 3), 4, KN_F64)};
    check_gradients_of("attention", f_attention, &attention, a, 3);
    check_gradients_of("attention with bias", f_attention, &attention, a, 4);
    kn_deform_conv2d_args deform = {.padding = {1, KN_ZERO}};
    kn_tensor d[5] = {made(KN_SHAPE(1, 2, 3, 4), 1, KN_F64),
                      kn_keep(kn_mul_scalar(made(KN_SHAPE(1, 8, 4, 3), 2, KN_F64), 0.4)),
                      made(KN_SHAPE(2, 2, 2, 2), 3, KN_F64), made(KN_SHAPE(1, 4, 4, 3), 4, KN_F64),
                      made(KN_SHAPE(2), 5, KN_F64)};
    check_gradients_of("deform_conv2d", f_deform, &deform, d, 5);
    kn_tensor e[2] = {made(KN_SHAPE(2, 3, 3), 1, KN_F64), made(KN_SHAPE(3, 2), 2, KN_F64)};
    char equation[] = "aii,ib->ab";
    check_gradients_of("einsum", f_einsum, equation, e, 2);
    kn_scope_end(scope, KN_NONE);
    kn_device_use(kn_device_cpu());
}

int main(void)
{
    /* Before the first product: results are then to be the same on every tier. */
    setenv("KN_REPRODUCIBLE", "1", 1);
    kn_device_use(kn_device_cpu());
    check_linear_of_views();
    check_conv_of_views();
    check_empty();
    check_product_errors();
    check_conv_errors();
    check_equations();
    check_ownership();
    check_attention();
    check_attention_grad();
    check_bits();
    check_gradients("autodiff(cpu)");
    check_gradients("autodiff(ref)");
    return check_report();
}
