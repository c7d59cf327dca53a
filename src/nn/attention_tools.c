/* Beside attention itself: masks made from lengths, and weights in PyTorch's packed form. */
#include "support/failure.h"
#include <kn/creation.h>
#include <kn/nn/attention_layers.h>
#include <kn/shape.h>
#include <kn/tensor.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

kn_tensor kn_autoregressive_mask(int64_t tokens)
{
    if (tokens < 0)
        return kn_poison(KN_ERROR_ARGUMENT, "kn_autoregressive_mask: the number of tokens is negative");
    return kn_tril_mask(KN_SHAPE(tokens, tokens), 0);
}

/* ---- padding */

static kn_padded_tokens fail_padding(kn_status code, const char *text)
{
    kn_tensor t = kn_poison(code, text);
    return (kn_padded_tokens){t, t};
}

kn_padded_tokens kn_padding_mask(const int64_t *const *lists, const int64_t *lengths, int32_t n,
                                 int64_t pad_token, int64_t max_length)
{
    if (n < 1 || !lists || !lengths)
        return fail_padding(KN_ERROR_ARGUMENT,
                            "kn_padding_mask: at least one list and its length are needed");
    int64_t width = max_length >= 0 ? 0 : max_length < -INT64_MAX ? INT64_MAX : -max_length, total;
    for (int32_t i = 0; i < n; i++) {
        if (lengths[i] < 0 || (lengths[i] > 0 && !lists[i]))
            return fail_padding(KN_ERROR_ARGUMENT, "kn_padding_mask: a list is NULL or its length negative");
        if (max_length >= 0 && lengths[i] > width) width = lengths[i];
    }
    if (max_length > 0 && width > max_length) width = max_length;
    if (__builtin_mul_overflow(width, (int64_t)n, &total) || total > INT64_MAX / 16)
        return fail_padding(KN_ERROR_MEMORY, "kn_padding_mask: the matrix is too large");
    int64_t *tokens = malloc(((size_t)total + 1) * sizeof *tokens);
    bool *mask = malloc((size_t)total + 1);
    kn_padded_tokens result = {KN_NONE, KN_NONE};
    if (tokens && mask) {
        for (int64_t at = 0; at < total; at++) {
            int64_t row = at / width, column = at % width;
            mask[at] = column >= lengths[row];
            tokens[at] = mask[at] ? pad_token : lists[row][column];
        }
        result.tokens = kn_from(tokens, KN_I64, KN_SHAPE(n, width));
        result.mask = kn_from(mask, KN_BOOL, KN_SHAPE(n, width));
    } else
        result = fail_padding(KN_ERROR_MEMORY, "kn_padding_mask: no memory");
    free(tokens);
    free(mask);
    return result;
}

/* ---- PyTorch's params */

typedef struct rename {
    const char *from;
    const char *to[3]; /* one name, or three for equal parts */
} rename_rule;

static const rename_rule renames[] = {
    {"in_proj_weight", {"query.weight", "key.weight", "value.weight"}},
    {"in_proj_bias", {"query.bias", "key.bias", "value.bias"}},
    {"q_proj_weight", {"query.weight", NULL, NULL}},
    {"k_proj_weight", {"key.weight", NULL, NULL}},
    {"v_proj_weight", {"value.weight", NULL, NULL}},
    {"out_proj.weight", {"output.weight", NULL, NULL}},
    {"out_proj.bias", {"output.bias", NULL, NULL}},
};

/* The rule whose name ends the path, at its start or after a dot. */
static const rename_rule *rule_for(const char *path, size_t *stem)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < sizeof renames / sizeof *renames; i++) {
        size_t n = strlen(renames[i].from);
        if (length < n || strcmp(path + length - n, renames[i].from)) continue;
        if (length > n && path[length - n - 1] != '.') continue;
        *stem = length - n;
        return &renames[i];
    }
    return NULL;
}

static kn_status put_renamed(kn_state made, const rename_rule *rule, const char *path, size_t stem,
                             kn_tensor value)
{
    char prefix[KN_MAX_PATH];
    if (stem >= sizeof prefix)
        return kni_failure(KN_ERROR_ARGUMENT, "kn_nn_attention_from_torch: the name %.100s... is too long",
                           path);
    memcpy(prefix, path, stem);
    prefix[stem] = 0;
    if (!rule->to[1]) return kn_state_put(made, prefix, rule->to[0], kn_alias(value));
    int64_t rows = kn_size(value, 0);
    if (kn_rank(value) < 1 || rows % 3)
        return kni_failure(KN_ERROR_SHAPE, "kn_nn_attention_from_torch: %s cannot be cut into three", path);
    kn_status s = KN_OK;
    for (int i = 0; i < 3 && s == KN_OK; i++)
        s = kn_state_put(made, prefix, rule->to[i], kn_narrow(value, 0, rows / 3 * i, rows / 3));
    return s;
}

kn_state kn_nn_attention_from_torch(kn_state state)
{
    kn_state made = state ? kn_state_make() : NULL;
    if (!state) kni_failure(KN_ERROR_ARGUMENT, "kn_nn_attention_from_torch: the state is NULL");
    kn_status s = made ? KN_OK : KN_ERROR_ARGUMENT;
    for (int64_t i = 0; s == KN_OK && i < kn_state_count(state); i++) {
        kn_tensor value;
        const char *path = kn_state_name(state, i, &value);
        size_t stem = 0;
        const rename_rule *rule = rule_for(path, &stem);
        s = rule ? put_renamed(made, rule, path, stem, value) : kn_state_put(made, "", path, kn_alias(value));
    }
    for (int64_t i = 0; s == KN_OK && i < kn_state_text_count(state); i++) {
        const char *text, *name = kn_state_text_name(state, i, &text);
        s = kn_state_put_text(made, name, text);
    }
    if (s == KN_OK) return made;
    kn_state_free(made);
    return NULL;
}
