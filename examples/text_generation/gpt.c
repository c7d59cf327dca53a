/* The model and the alphabet; see gpt.h. */
#include "gpt.h"
#include <kn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the alphabet */

void alphabet_make(Alphabet *alphabet, const char *text, size_t length)
{
    bool occurs[256] = {false};
    for (size_t i = 0; i < length; i++) occurs[(unsigned char)text[i]] = true;
    alphabet->size = 0;
    for (int c = 0; c < 256; c++) {
        alphabet->token_of[c] = occurs[c] ? alphabet->size : -1;
        if (occurs[c]) alphabet->char_of[alphabet->size++] = (char)c;
    }
}

kn_tensor alphabet_encode(const Alphabet *alphabet, const char *text, size_t n)
{
    int64_t *tokens = malloc((n ? n : 1) * sizeof *tokens);
    if (!tokens) return kn_poison(KN_ERROR_MEMORY, "no memory for the tokens");
    for (size_t i = 0; i < n; i++) {
        tokens[i] = alphabet->token_of[(unsigned char)text[i]];
        if (tokens[i] < 0) {
            char message[80];
            snprintf(message, sizeof message, "the character '%c' does not occur in the text", text[i]);
            free(tokens);
            return kn_poison(KN_ERROR_ARGUMENT, message);
        }
    }
    kn_tensor encoded = kn_from(tokens, KN_I64, KN_SHAPE((int64_t)n));
    free(tokens);
    return encoded;
}

/* ---- the model */

const kn_module_type Gpt_type = {"Gpt", sizeof(Gpt),
                                 (const kn_field[]){KN_MODULE(Gpt, tokens, kn_nn_embedding),
                                                    KN_MODULE(Gpt, positions, kn_nn_learned_positions),
                                                    KN_MODULE(Gpt, blocks, kn_nn_transformer_encoder),
                                                    KN_MODULE(Gpt, head, kn_nn_linear),
                                                    KN_INT(Gpt, context),
                                                    {0}}};

kn_status gpt_init(Gpt *gpt, int64_t vocabulary, const GptSize *size)
{
    kn_initializer small = {.kind = KN_INIT_NORMAL, .b = 0.02};
    kn_nn_embedding_args table = {.weight = small};
    kn_nn_transformer_args blocks = {.norm_first = true,
                                     .final_norm = true,
                                     .activation = KN_ACTIVATION_GELU,
                                     .dropout = 0.05,
                                     .initializer = small};
    gpt->context = size->context;
    kn_status s = kn_nn_embedding_init(&gpt->tokens, vocabulary, size->width, &table);
    if (s == KN_OK) s = kn_nn_learned_positions_init(&gpt->positions, size->width, size->context, &table);
    if (s == KN_OK)
        s = kn_nn_transformer_encoder_init(&gpt->blocks, size->width, size->heads, 4 * size->width,
                                           size->layers, &blocks);
    if (s == KN_OK)
        s = kn_nn_linear_init(&gpt->head, size->width, vocabulary, &(kn_nn_linear_args){.no_bias = true});
    return s;
}

kn_tensor gpt_forward(const Gpt *gpt, kn_tensor tokens, kn_nn_transformer_cache *cache, int64_t offset)
{
    kn_tensor x = kn_nn_embedding_forward(&gpt->tokens, tokens);
    x = kn_nn_learned_positions_forward(&gpt->positions, x, offset);
    x = kn_nn_transformer_encoder_forward(&gpt->blocks, x, &(kn_nn_attention_call){.is_causal = true}, cache);
    return kn_nn_linear_forward(&gpt->head, x);
}
