/* Old names do what they did: each is compared with the new one, and an error names what was called. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include "support/check.h"
#include <kn/data.h>
#include <kn/nn.h>

static bool same(kn_tensor a, kn_tensor b)
{
    a = kn_keep(a), b = kn_keep(b);
    kn_shape sa = kn_shape_of_tensor(a), sb = kn_shape_of_tensor(b);
    if (!kn_ok(a) || !kn_ok(b) || sa.rank != sb.rank ||
        memcmp(sa.dims, sb.dims, (size_t)sa.rank * sizeof *sa.dims))
        return false;
    return kn_item(kn_sum(kn_cast(kn_not_equal(a, b), KN_F32), KN_AXES_ALL, false)) == 0;
}

static kn_tensor ramp(kn_shape shape)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; i++) n *= shape.dims[i];
    return kn_reshape(kn_arange(0, (double)n, 1, KN_F32), shape);
}

static void indices(void)
{
    int64_t at[] = {2, -1}, places[] = {0, 2};
    kn_tensor x = kn_keep(ramp(KN_SHAPE(3, 4))), i = kn_keep(kn_from(at, KN_I64, KN_SHAPE(2)));
    kn_tensor index = kn_keep(kn_from(places, KN_I64, KN_SHAPE(1, 2))),
              j = kn_keep(kn_from(places, KN_I64, KN_SHAPE(2)));
    kn_tensor values = kn_keep(kn_ones(KN_SHAPE(3, 2), KN_F32));
    CHECK(same(kn_take(x, i, 1), kn_index_take(x, 1, i)));
    CHECK(same(kn_take_along(x, index, 1), kn_gather_along(x, 1, index)));
    CHECK(same(kn_select_assign(x, 1, j, values, KN_UPDATE_ADD),
               kn_index_assign(x, 1, j, values, KN_UPDATE_ADD)));
    CHECK_POISON(kn_take(x, i, 2), "kn_take: axis 2");
    CHECK_POISON(kn_index_take(x, 2, i), "kn_index_take: axis 2");
    CHECK_POISON(kn_take_along(x, index, 5), "kn_take_along: axis 5");
    CHECK_POISON(kn_select_assign(x, 7, j, values, KN_UPDATE_ADD), "kn_select_assign: axis 7");
}

static void windows(void)
{
    kn_tensor x = kn_keep(ramp(KN_SHAPE(1, 2, 4, 4)));
    kn_tensor columns = kn_keep(kn_unfold_patches(x, KN_INTS(2, 2), NULL));
    CHECK(same(kn_unfold(x, 3, 2, 1), kn_unfold_axis(x, 3, 2, 1)));
    CHECK(same(kn_unfold4d(x, KN_INTS(2, 2), NULL), columns));
    CHECK(same(kn_fold4d(columns, KN_INTS(4, 4), KN_INTS(2, 2), NULL),
               kn_fold_patches(columns, KN_INTS(4, 4), KN_INTS(2, 2), NULL)));
    CHECK_POISON(kn_unfold4d(x, KN_INTS(9, 9), NULL), "kn_unfold4d: the window");
    CHECK_POISON(kn_unfold_patches(x, KN_INTS(9, 9), NULL), "kn_unfold_patches: the window");
}

static void losses(void)
{
    kn_tensor x = kn_keep(ramp(KN_SHAPE(2, 3))), p = kn_keep(kn_softmax(kn_neg(x), 1));
    int64_t classes[] = {2, 0}, pad = 0;
    kn_tensor t = kn_keep(kn_from(classes, KN_I64, KN_SHAPE(2)));
    kn_cross_entropy_loss_args args = {.pad_tokens = &pad, .n_pad_tokens = 1};
    CHECK(same(kn_cross_entropy_with_logits(x, p), kn_cross_entropy_probabilities(x, p)));
    CHECK(same(kn_cross_entropy_loss(x, t, &args), kn_cross_entropy_tokens(x, t, &args)));
}

/* True is what takes part under the new names, and the opposite under the old ones. */
static void masks(void)
{
    kn_shape shape = KN_SHAPE(3, 4);
    CHECK_VALUES(kn_cast(kn_lower_mask(KN_SHAPE(2, 3), 0), KN_F32), 0, 1, 0, 0, 1, 1, 0);
    CHECK_VALUES(kn_cast(kn_upper_mask(KN_SHAPE(2, 3), 1), KN_F32), 0, 0, 1, 1, 0, 0, 1);
    CHECK_VALUES(kn_cast(kn_diagonal_mask(KN_SHAPE(2, 3), 0), KN_F32), 0, 1, 0, 0, 0, 1, 0);
    CHECK(same(kn_tril_mask(shape, 1), kn_logical_not(kn_lower_mask(shape, 1))));
    CHECK(same(kn_triu_mask(shape, -1), kn_logical_not(kn_upper_mask(shape, -1))));
    CHECK(same(kn_diag_mask(shape, 0), kn_logical_not(kn_diagonal_mask(shape, 0))));
    CHECK(same(kn_autoregressive_mask(4), kn_logical_not(kn_causal_mask(4))));
    const int64_t a[] = {5, 6, 7}, b[] = {8}, *lists[] = {a, b}, lengths[] = {3, 1};
    kn_padded_tokens old = kn_padding_mask(lists, lengths, 2, 9, 0);
    kn_token_batch now = kn_pad_tokens(lists, lengths, 2, 9, 0);
    CHECK(same(old.tokens, now.tokens) && same(old.mask, kn_logical_not(now.sees)));
    CHECK_POISON(kn_autoregressive_mask(-1), "negative");
}

static void masks_of_layers(void)
{
    kn_nn_attention m;
    CHECK(kn_nn_attention_init(&m, 4, 2, NULL) == KN_OK);
    kn_tensor x = kn_keep(kn_sin(ramp(KN_SHAPE(2, 3, 4))));
    bool pad[] = {false, false, true, false, true, true};
    kn_tensor padding = kn_keep(kn_from(pad, KN_BOOL, KN_SHAPE(2, 3))),
              hides = kn_keep(kn_autoregressive_mask(3));
    kn_nn_attention_call old = {.mask_pad = padding, .mask_attention = hides};
    kn_nn_attention_call now = {.sees_keys = kn_logical_not(padding), .sees = kn_causal_mask(3)};
    CHECK(same(kn_nn_attention_forward(&m, x, KN_NONE, KN_NONE, &old),
               kn_nn_attention_forward(&m, x, KN_NONE, KN_NONE, &now)));
    kn_tensor added = kn_keep(kn_cos(ramp(KN_SHAPE(3, 3))));
    old = (kn_nn_attention_call){.mask_attention = added};
    now = (kn_nn_attention_call){.bias = added};
    CHECK(same(kn_nn_attention_forward(&m, x, KN_NONE, KN_NONE, &old),
               kn_nn_attention_forward(&m, x, KN_NONE, KN_NONE, &now)));
    kn_module_drop(KN_MODULE_OF(kn_nn_attention, &m));
}

static void data_sets(void)
{
    kn_tensor x = kn_keep(kn_cast(ramp(KN_SHAPE(4, 1, 2, 3)), KN_U8));
    kn_dataset all = kn_dataset_tensors(&x, 1);
    kn_dataset old = kn_dataset_partial(all, 1, 3), now = kn_dataset_slice(all, 1, 3);
    CHECK(kn_dataset_length(old) == 2 && kn_dataset_length(now) == 2);
    kn_dataset mirrored[2] = {
        kn_dataset_augment(all, &(kn_augment_args){.flip_columns = 1, .flip_rows = 1}),
        kn_dataset_augment(all, &(kn_augment_args){.flip_horizontal = 1, .flip_vertical = 1})};
    for (int i = 0; i < 2; i++) {
        kn_sample s = {0};
        uint8_t got[6] = {0};
        CHECK(mirrored[i] && kn_dataset_get(mirrored[i], 0, &s) == KN_OK);
        CHECK(kn_read_as(s.fields[0], KN_U8, got, sizeof got) == KN_OK && got[0] == 5 && got[5] == 0);
        kn_sample_drop(&s);
        kn_dataset_free(mirrored[i]);
    }
    kn_dataset_free(old), kn_dataset_free(now), kn_dataset_free(all);
}

int main(void)
{
    kn_scope scope = kn_scope_begin();
    indices();
    windows();
    losses();
    masks();
    masks_of_layers();
    data_sets();
    kn_scope_end(scope, KN_NONE);
    CHECK(kn_shutdown() == 0);
    return check_report();
}
