/* A small GPT over characters: the model, its forward pass with and without a cache, and the alphabet of a text. */
#ifndef GPT_H
#define GPT_H

#include <kn/nn.h>

/* The characters of a text, numbered in the order of their codes. */
typedef struct Alphabet {
    int64_t size, token_of[256]; /* -1: does not occur */
    char char_of[256];
} Alphabet;
void alphabet_make(Alphabet *alphabet, const char *text, size_t length);
/* The tokens of n characters, i64 [n]; poisoned where one is not in the alphabet. */
kn_tensor alphabet_encode(const Alphabet *alphabet, const char *text, size_t n);

typedef struct Gpt {
    kn_nn_embedding tokens;
    kn_nn_learned_positions positions;
    kn_nn_transformer_encoder
        blocks; /* with a causal mask it is what others call a decoder-only transformer */
    kn_nn_linear head;
    int64_t context; /* tokens it can look at */
} Gpt;
extern const kn_module_type Gpt_type;

typedef struct GptSize {
    int64_t context, width, heads;
    int32_t layers;
} GptSize;
kn_status gpt_init(Gpt *gpt, int64_t vocabulary, const GptSize *size);
/* tokens [batch, n] -> logits [batch, n, vocabulary] of the token after each. With a cache, tokens are those behind the
   `offset` tokens that it has seen already. */
kn_tensor gpt_forward(const Gpt *gpt, kn_tensor tokens, kn_nn_transformer_cache *cache, int64_t offset);

#endif
