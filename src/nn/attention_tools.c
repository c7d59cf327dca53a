/* Beside attention itself: the masks of later tokens and of padding. */
#include "core/named_call.h"
#include <kn/creation.h>
#include <kn/elementwise.h>
#include <kn/nn/attention_layers.h>
#include <kn/tensor.h>
#include <stdlib.h>

kn_tensor kn_causal_mask(int64_t tokens)
{
    KNI_NAMED_CALL;
    if (tokens < 0) return kn_poison(KN_ERROR_ARGUMENT, "kn_causal_mask: the number of tokens is negative");
    return kn_lower_mask(KN_SHAPE(tokens, tokens), 0);
}

static kn_token_batch fail_padding(kn_status code, const char *text)
{
    kn_tensor t = kn_poison(code, text);
    return (kn_token_batch){t, t};
}

kn_token_batch kn_pad_tokens(const int64_t *const *lists, const int64_t *lengths, int32_t n,
                             int64_t pad_token, int64_t max_length)
{
    if (n < 1 || !lists || !lengths)
        return fail_padding(KN_ERROR_ARGUMENT, "kn_pad_tokens: at least one list and its length are needed");
    int64_t width = max_length >= 0 ? 0 : max_length < -INT64_MAX ? INT64_MAX : -max_length, total;
    for (int32_t i = 0; i < n; i++) {
        if (lengths[i] < 0 || (lengths[i] > 0 && !lists[i]))
            return fail_padding(KN_ERROR_ARGUMENT, "kn_pad_tokens: a list is NULL or its length negative");
        if (max_length >= 0 && lengths[i] > width) width = lengths[i];
    }
    if (max_length > 0 && width > max_length) width = max_length;
    if (__builtin_mul_overflow(width, (int64_t)n, &total) || total > INT64_MAX / 16)
        return fail_padding(KN_ERROR_MEMORY, "kn_pad_tokens: the matrix is too large");
    int64_t *tokens = malloc(((size_t)total + 1) * sizeof *tokens);
    bool *sees = malloc((size_t)total + 1);
    kn_token_batch result = {KN_NONE, KN_NONE};
    if (tokens && sees) {
        for (int64_t at = 0; at < total; at++) {
            int64_t row = at / width, column = at % width;
            sees[at] = column < lengths[row];
            tokens[at] = sees[at] ? lists[row][column] : pad_token;
        }
        result.tokens = kn_from(tokens, KN_I64, KN_SHAPE(n, width));
        result.sees = kn_from(sees, KN_BOOL, KN_SHAPE(n, width));
    } else
        result = fail_padding(KN_ERROR_MEMORY, "kn_pad_tokens: no memory");
    free(tokens);
    free(sees);
    return result;
}

/* ---- old names, in which true hides */

kn_tensor kn_autoregressive_mask(int64_t tokens)
{
    KNI_NAMED_CALL;
    kn_tensor sees = kn_causal_mask(tokens);
    return kn_ok(sees) ? kn_logical_not(sees) : sees;
}

kn_padded_tokens kn_padding_mask(const int64_t *const *lists, const int64_t *lengths, int32_t n,
                                 int64_t pad_token, int64_t max_length)
{
    kn_token_batch batch = kn_pad_tokens(lists, lengths, n, pad_token, max_length);
    return (kn_padded_tokens){batch.tokens, kn_ok(batch.sees) ? kn_logical_not(batch.sees) : batch.sees};
}
