/* Ranks, counts and lists of operands that no tensor can have: every function that takes a shape, a list of axes or a list
   of tensors says what is wrong, and copies nothing into an array of its own before that. Every op by name with operands
   absent, missing and too many. */
#include "support/check.h"
#include "support/operands.h"
#include <kn/data.h>
#include <kn/nn.h>
#include <kn/optim.h>
#include <kn/program.h>
#include <stdlib.h>

static const int32_t ranks[] = {9, 10, 17, 1000, INT32_MAX, -1, -9, INT32_MIN};
enum { RANKS = sizeof ranks / sizeof *ranks };

static kn_tensor sample(void)
{
    float data[16] = {1, 2, 3, 4, 5, 6, 7, 8};
    return kn_from(data, KN_F32, KN_SHAPE(1, 1, 4, 4));
}

static kn_shape shape_of(int i)
{
    kn_shape s = {ranks[i], {1, 1, 1, 1, 1, 1, 1, 1}};
    return s;
}

static kn_ints list_of(int i)
{
    kn_ints s = {ranks[i], {0, 1, 2, 3, 0, 1, 2, 3}};
    return s;
}

#define REFUSED(call)                                                                                        \
    do {                                                                                                     \
        kn_tensor refused = (call);                                                                          \
        if (!CHECK(!kn_ok(refused))) printf("rank %d: " #call "\n", ranks[i]);                               \
    } while (0)
#define FAILS(call)                                                                                          \
    do {                                                                                                     \
        if (!CHECK((call) != KN_OK)) printf("rank %d: " #call "\n", ranks[i]);                               \
    } while (0)

static void shapes(int i)
{
    kn_shape s = shape_of(i);
    float data[16] = {0};
    REFUSED(kn_zeros(s, KN_F32));
    REFUSED(kn_ones(s, KN_F32));
    REFUSED(kn_full(s, 1, KN_F32));
    REFUSED(kn_full_int(s, 1, KN_I64));
    REFUSED(kn_empty(s, KN_F32));
    REFUSED(kn_cartesian_grid(s));
    REFUSED(kn_upper_mask(s, 0));
    REFUSED(kn_lower_mask(s, 0));
    REFUSED(kn_diagonal_mask(s, 0));
    REFUSED(kn_random_uniform(s, 0, 1, KN_F32));
    REFUSED(kn_random_normal(s, 0, 1, KN_F32));
    REFUSED(kn_random_bernoulli(s, 0.5, KN_F32));
    REFUSED(kn_random_int(s, 0, 4, KN_I64));
    REFUSED(kn_random_bits(s));
    REFUSED(kn_from(data, KN_F32, s));
    REFUSED(kn_wrap(data, KN_F32, s, NULL, NULL, NULL));
    REFUSED(kn_reshape(sample(), s));
    REFUSED(kn_unflatten(sample(), 0, s));
    REFUSED(kn_expand(sample(), s));
    REFUSED(kn_broadcast_to(sample(), s));
    REFUSED(kn_sum_to(sample(), s));
    REFUSED(kn_affine_grid(kn_zeros(KN_SHAPE(1, 2, 3), KN_F32), s, false));
    REFUSED(kn_initialize(&(kn_initializer){0}, s, KN_F32, 1, 1));
    kn_param p = {KN_NONE};
    FAILS(kn_param_initialize(&p, &(kn_initializer){0}, s, KN_F32, 1, 1));
    kn_nn_layer_norm norm = {0};
    FAILS(kn_nn_layer_norm_init(&norm, s, NULL));
    kn_nn_rms_norm rms = {0};
    FAILS(kn_nn_rms_norm_init(&rms, s, NULL));
}

static void reductions(int i)
{
    kn_ints s = list_of(i);
    typedef kn_tensor (*reduce)(kn_tensor, kn_ints, bool);
    static const reduce all[] = {(kn_sum),     (kn_prod),      (kn_mean), (kn_nansum),
                                 (kn_nanmean), (kn_logsumexp), (kn_max),  (kn_min),
                                 (kn_max_abs), (kn_any),       (kn_all),  (kn_count_nonzero)};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) REFUSED(all[k](sample(), s, false));
    REFUSED((kn_aminmax)(sample(), s, false).min);
    REFUSED(kn_var(sample(), s, false, NULL));
    REFUSED(kn_std(sample(), s, true, NULL));
    REFUSED((kn_var_mean)(sample(), s, false, NULL).mean);
    REFUSED(kn_vector_norm(sample(), 2, s, false));
}

static void movements(int i)
{
    kn_ints s = list_of(i);
    REFUSED(kn_squeeze_dims(sample(), s));
    REFUSED(kn_unsqueeze_dims(sample(), s));
    REFUSED(kn_permute(sample(), s));
    REFUSED(kn_movedim(sample(), s, s));
    REFUSED(kn_movedim(sample(), KN_AXES(0), s));
    REFUSED(kn_flip(sample(), s));
    REFUSED(kn_roll(sample(), s, s));
    REFUSED(kn_repeat(sample(), s));
    REFUSED(kn_tile(sample(), s));
    REFUSED(kn_tensordot(sample(), sample(), s, s));
    REFUSED(kn_fftshift(sample(), s));
    REFUSED(kn_ifftshift(sample(), s));
    REFUSED((kn_fftn)((kn_complex){sample(), sample()}, s, 0).real);
    REFUSED((kn_ifftn)((kn_complex){sample(), sample()}, s, 0).real);
    if (ranks[i] > 8) REFUSED(kn_atleast(sample(), ranks[i]));
    kn_tensor x = kn_keep(sample());
    REFUSED(kn_pad(x, &(kn_pad_args){.before = s, .after = s}));
    kn_drop(x);
}

static void windows(int i)
{
    kn_ints s = list_of(i);
    typedef kn_tensor (*pool)(kn_tensor, kn_ints, const kn_pool_args *);
    static const pool pools[] = {(kn_max_pool1d), (kn_max_pool2d), (kn_max_pool3d),
                                 (kn_avg_pool1d), (kn_avg_pool2d), (kn_avg_pool3d)};
    for (size_t k = 0; k < sizeof pools / sizeof *pools; k++) REFUSED(pools[k](sample(), s, NULL));
    typedef kn_tensor (*adaptive)(kn_tensor, kn_ints);
    static const adaptive sized[] = {(kn_adaptive_avg_pool1d), (kn_adaptive_avg_pool2d),
                                     (kn_adaptive_avg_pool3d)};
    for (size_t k = 0; k < sizeof sized / sizeof *sized; k++) REFUSED(sized[k](sample(), s));
    REFUSED((kn_max_pool2d_with_indices)(sample(), s, NULL).values);
    REFUSED((kn_adaptive_max_pool2d)(sample(), s).values);
    REFUSED(kn_max_unpool(sample(), kn_zeros(KN_SHAPE(1, 1, 4, 4), KN_I64), s));
    REFUSED(kn_unfold_patches(sample(), s, NULL));
    REFUSED(kn_fold_patches(sample(), s, s, NULL));
    REFUSED(kn_interpolate(sample(), s, NULL));
}

/* ---- lists of tensors */

static void lists(void)
{
    kn_tensor x = kn_keep(kn_from((float[]){1, 2, 3, 4}, KN_F32, KN_SHAPE(2, 2))), out[8];
    const kn_tensor hole[3] = {x, KN_NONE, x}, none[3] = {{0}};
    const int i = 0; /* for REFUSED */
    for (int32_t n = 1; n <= 3; n++) {
        const kn_tensor *list = n == 1 ? none : hole;
        REFUSED(kn_concat(list, n, 0));
        REFUSED(kn_stack(list, n, 0));
        REFUSED(kn_multi_dot(list, n));
        REFUSED(kn_einsum(n == 1 ? "ij->ji" : n == 2 ? "ij,jk->ik" : "ij,jk,kl->il", list, n));
        REFUSED(kn_meshgrid_stack(list, n, NULL, 0));
        FAILS(kn_meshgrid(list, n, NULL, out));
        FAILS(kn_grad(list, NULL, n, &x, 1, 0, out));
        FAILS(kn_grad(&x, NULL, 1, list, n, 0, out));
        FAILS(kn_read_many(list, (void *const[]){out, out, out}, (const size_t[]){16, 16, 16}, n));
    }
    for (size_t k = 5; k < RANKS; k++) {
        const int32_t n = ranks[k];
        REFUSED(kn_concat(&x, n, 0));
        REFUSED(kn_stack(&x, n, 0));
        REFUSED(kn_multi_dot(&x, n));
        REFUSED(kn_einsum("ij->ji", &x, n));
        REFUSED(kn_meshgrid_stack(&x, n, NULL, 0));
        FAILS(kn_meshgrid(&x, n, NULL, out));
        FAILS(kn_grad(&x, NULL, n, &x, 1, 0, out));
        FAILS(kn_grad(&x, NULL, 1, &x, n, 0, out));
        FAILS(kn_split_with_sizes(x, (const int64_t[]){1}, n, 0, out));
        REFUSED(kn_slice_ranges(x, (const kn_range[]){{0, 1, 1}}, n));
        REFUSED(kn_slice_fill(x, (const kn_range[]){{0, 1, 1}}, n, 0));
        REFUSED(kn_slice_assign(x, (const kn_range[]){{0, 1, 1}}, n, x));
    }
    /* Lists that are read up to their rank, and no further. */
    for (size_t k = 0; k < 5; k++) {
        REFUSED(kn_slice_ranges(x, (const kn_range[]){{0, 1, 1}}, ranks[k]));
        REFUSED(kn_slice_fill(x, (const kn_range[]){{0, 1, 1}}, ranks[k], 0));
        REFUSED(kn_slice_assign(x, (const kn_range[]){{0, 1, 1}}, ranks[k], x));
    }
    kn_drop(x);
}

/* ---- counts beside an array */

static kn_tensor segment(void *context, const kn_tensor *inputs, int32_t n)
{
    (void)context, (void)n;
    return kn_neg(inputs[0]);
}

static void counts_of_tensors(int32_t n)
{
    const int i = 0; /* for REFUSED and FAILS */
    kn_tensor x = kn_keep(kn_from((float[]){1, 2}, KN_F32, KN_SHAPE(2))), y, out[2] = {x, x};
    FAILS(kn_read_many(&x, (void *const[]){out}, (const size_t[]){8}, n));
    REFUSED(kn_recompute(segment, NULL, &x, n));
    FAILS(kn_gradcheck(segment, NULL, &x, n, 0));
    CHECK(!kn_grads_count(kn_grads_make(&x, &x, n)));
    CHECK(kn_program_begin(NULL) == KN_OK);
    y = kn_keep(kn_neg(x));
    CHECK(!kn_program_end(&x, n, &y, 1));
    CHECK(kn_program_begin(NULL) == KN_OK);
    y = kn_keep(kn_neg(x));
    CHECK(!kn_program_end(&x, 1, &y, n));
    CHECK(kn_program_begin(NULL) == KN_OK);
    y = kn_keep(kn_neg(x));
    kn_program p = kn_program_end(&x, 1, &y, 1);
    FAILS(kn_program_run(p, &x, n, out, 1));
    FAILS(kn_program_run(p, &x, 1, out, n));
    kn_program_free(p);
    kn_scope_end_many(kn_scope_begin(), out, n);
}

static void counts_of_others(int32_t n)
{
    const int i = 0;
    kn_tensor field = kn_keep(kn_from((float[]){1, 2}, KN_F32, KN_SHAPE(2)));
    kn_dataset data = kn_dataset_tensors(&field, 1), parts[1];
    kn_sample sample;
    CHECK(data && !kn_dataset_tensors(&field, n));
    CHECK(!kn_dataset_fake(4, &(kn_fake_field){KN_F32, KN_SHAPE(2), 0, 1}, n, 1));
    CHECK(!kn_dataset_fake(n, &(kn_fake_field){KN_F32, KN_SHAPE(2), 0, 1}, 1, 1));
    CHECK(!kn_dataset_fake(4, &(kn_fake_field){KN_F32, {9, {1, 1}}, 0, 1}, 1, 1));
    FAILS(kn_dataset_get_many(data, (const int64_t[]){0}, n, NULL, &sample));
    FAILS(kn_dataset_split(data, (const double[]){1}, n, parts));
    kn_dataset_free(data);
    CHECK(!kn_module_list(&kn_nn_linear_type, n));
    CHECK(!kn_schedule_composed(NULL, n, KN_SCHEDULE_SUM));
    CHECK(!kn_schedule_sequential(NULL, n, NULL));
    REFUSED((kn_pad_tokens)(NULL, NULL, n, 0, 0).tokens);
}

/* ---- every op by name */

/* Reading the results makes sure that all of it ran; whether it fails is the op's own affair, but a hole where an operand
   must be is an error. */
static void call_op(const kn_op_info *op, const kn_tensor *in, int32_t n, int whole, bool must_fail)
{
    kn_attribute_value attributes[OPERAND_ATTRIBUTES];
    kn_tensor out[8];
    double back[64];
    kn_scope scope = kn_scope_begin();
    operand_attributes(op, whole, attributes);
    kn_status s = kn_call(op->name, in, n, attributes, out, op->n_out);
    if (must_fail && !CHECK(s != KN_OK)) printf("%s took %d operands with a hole\n", op->name, n);
    for (int k = 0; k < op->n_out && s == KN_OK; k++) {
        bool fits = kn_dtype_bytes(kn_dtype_of(out[k]), kn_count(out[k])) <= (int64_t)sizeof back;
        if (fits) s = kn_read(out[k], back, (size_t)kn_dtype_bytes(kn_dtype_of(out[k]), kn_count(out[k])));
    }
    kn_scope_end(scope, KN_NONE);
}

static void every_op(const char *device)
{
    kn_device_use(kn_device_open(device));
    for (int32_t number = 0; number < kn_op_count(); number++) {
        kn_op_info op;
        if (!kn_op_at(number, &op) || op.n_out > 8 || op.n_attributes >= OPERAND_ATTRIBUTES) continue;
        for (int kind = 0; kind < OPERAND_KINDS; kind++) {
            kn_scope scope = kn_scope_begin();
            kn_tensor x = kn_keep(operand_of_kind(kind, 0)), index = kn_keep(operand_of_kind(1, 0)), in[10];
            int32_t most = op.max_in < 0 ? 4 : op.max_in;
            for (int32_t n = 0; n <= most + 1 && n <= 10; n++)
                for (int hole = -1; hole < n; hole++)
                    for (int turn = 0; turn < 2; turn++) {
                        for (int i = 0; i < n; i++) in[i] = i == hole ? KN_NONE : turn && i == 1 ? index : x;
                        bool bad = n < op.min_in || n > (op.max_in < 0 ? 64 : op.max_in) ||
                                   (hole >= 0 && (op.max_in < 0 || hole < op.min_in));
                        call_op(&op, in, n, turn, bad);
                    }
            kn_scope_end(scope, KN_NONE);
        }
    }
}

/* An absent operand at the end is one that was not given. */
static void absent_is_not_given(void)
{
    kn_tensor x = kn_keep(kn_from((int64_t[]){0, 1, 1}, KN_I64, KN_SHAPE(3))), out;
    const kn_attribute_value length[] = {{.name = "length", .integer = 2}, {0}};
    CHECK(kn_call("bincount", &x, 1, length, &out, 1) == KN_OK);
    CHECK_VALUES(out, 0, 1, 2);
    CHECK(kn_call("bincount", (const kn_tensor[]){x, KN_NONE}, 2, length, &out, 1) == KN_OK);
    CHECK_VALUES(out, 0, 1, 2);
    kn_tensor a = kn_keep(kn_from((float[]){1, 2, 3, 4}, KN_F32, KN_SHAPE(2, 2)));
    CHECK(kn_call("linear", (const kn_tensor[]){a, a}, 2, NULL, &out, 1) == KN_OK);
    CHECK_VALUES(out, 0, 5, 11, 11, 25);
    CHECK(kn_call("linear", (const kn_tensor[]){a, a, KN_NONE}, 3, NULL, &out, 1) == KN_OK);
    CHECK_VALUES(out, 0, 5, 11, 11, 25);
    kn_drop(a), kn_drop(x);
}

/* More operands than a record can name. */
static void long_lists(void)
{
    enum { N = 70000 };
    kn_tensor *list = malloc(N * sizeof *list), x = kn_keep(kn_from((float[]){1}, KN_F32, KN_SHAPE(1))), out;
    for (int i = 0; i < N; i++) list[i] = x;
    CHECK(kn_call("concat", list, 64, NULL, &out, 1) == KN_OK && kn_count(out) == 64);
    CHECK_ERROR(kn_call("concat", list, 65, NULL, &out, 1), "65 operands given");
    CHECK_ERROR(kn_call("concat", list, N, NULL, &out, 1), "70000 operands given");
    CHECK(kn_count(kn_concat(list, N, 0)) == N);
    list[N - 1] = KN_NONE;
    CHECK(!kn_ok(kn_concat(list, N, 0)));
    kn_drop(x);
    free(list);
}

int main(void)
{
    kn_device_use(kn_device_open("autodiff(cpu)"));
    for (int i = 0; i < RANKS; i++) {
        kn_scope scope = kn_scope_begin();
        shapes(i);
        reductions(i);
        movements(i);
        windows(i);
        kn_scope_end(scope, KN_NONE);
    }
    lists();
    for (int i = 5; i < RANKS; i++) {
        kn_scope scope = kn_scope_begin();
        counts_of_tensors(ranks[i]);
        counts_of_others(ranks[i]);
        kn_scope_end(scope, KN_NONE);
    }
    absent_is_not_given();
    long_lists();
    every_op("cpu");
    every_op("autodiff(fusion(cpu))");
    return check_report();
}
