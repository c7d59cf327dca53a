/* Beside attention itself: the masks of later tokens and of padding. */
#include <kn/creation.h>
#include <kn/nn/attention_layers.h>
#include <kn/tensor.h>
#include <stdlib.h>

kn_tensor kn_autoregressive_mask(int64_t tokens)
{
    if (tokens < 0)
        return kn_poison(KN_ERROR_ARGUMENT, "kn_autoregressive_mask: the number of tokens is negative");
    return kn_tril_mask(KN_SHAPE(tokens, tokens), 0);
}

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
