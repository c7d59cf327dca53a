/* GPT-2 124M, and a stack like Llama's: RMS norm, rotary positions, SwiGLU, heads that share keys and values. */
#include "bench_models.h"

/* ---- GPT-2 */

enum { GPT_WIDTH = 768, GPT_HEADS = 12, GPT_LAYERS = 12, GPT_WORDS = 50304, GPT_TOKENS = 1024 };

typedef struct GptBlock {
    kn_nn_layer_norm ln_1, ln_2;
    kn_nn_linear attn, proj, up, down;
} GptBlock;
static const kn_module_type GptBlock_type = {"GptBlock", sizeof(GptBlock),
                                             (const kn_field[]){KN_MODULE(GptBlock, ln_1, kn_nn_layer_norm),
                                                                KN_MODULE(GptBlock, attn, kn_nn_linear),
                                                                KN_MODULE(GptBlock, proj, kn_nn_linear),
                                                                KN_MODULE(GptBlock, ln_2, kn_nn_layer_norm),
                                                                KN_MODULE(GptBlock, up, kn_nn_linear),
                                                                KN_MODULE(GptBlock, down, kn_nn_linear),
                                                                {0}}};

typedef struct Gpt {
    kn_nn_embedding wte, wpe;
    GptBlock blocks[GPT_LAYERS];
    kn_nn_layer_norm ln_f;
} Gpt;
static const kn_module_type Gpt_type = {"Gpt", sizeof(Gpt),
                                        (const kn_field[]){KN_MODULE(Gpt, wte, kn_nn_embedding),
                                                           KN_MODULE(Gpt, wpe, kn_nn_embedding),
                                                           KN_ARRAY(Gpt, blocks, GptBlock),
                                                           KN_MODULE(Gpt, ln_f, kn_nn_layer_norm),
                                                           {0}}};

static kn_status gpt_init(void *self)
{
    Gpt *m = self;
    kn_status s = KN_OK;
    bench_embedding(&s, &m->wte, GPT_WORDS, GPT_WIDTH);
    bench_embedding(&s, &m->wpe, GPT_TOKENS, GPT_WIDTH);
    for (int i = 0; i < GPT_LAYERS; i++) {
        GptBlock *b = &m->blocks[i];
        bench_layer_norm(&s, &b->ln_1, GPT_WIDTH);
        bench_layer_norm(&s, &b->ln_2, GPT_WIDTH);
        bench_linear(&s, &b->attn, GPT_WIDTH, 3 * GPT_WIDTH, true);
        bench_linear(&s, &b->proj, GPT_WIDTH, GPT_WIDTH, true);
        bench_linear(&s, &b->up, GPT_WIDTH, 4 * GPT_WIDTH, true);
        bench_linear(&s, &b->down, 4 * GPT_WIDTH, GPT_WIDTH, true);
    }
    bench_layer_norm(&s, &m->ln_f, GPT_WIDTH);
    return s;
}

static kn_tensor gpt_attend(const GptBlock *b, kn_tensor x)
{
    kn_tensor all = kn_nn_linear_forward(&b->attn, kn_nn_layer_norm_forward(&b->ln_1, x)), apart[3];
    all = kn_keep(kn_unflatten(all, -1, KN_SHAPE(3, GPT_HEADS, -1)));
    for (int i = 0; i < 3; i++) apart[i] = kn_permute(kn_select(all, 2, i), KN_AXES(0, 2, 1, 3));
    kn_tensor y = kn_attention(apart[0], apart[1], apart[2], &(kn_attention_args){.is_causal = true});
    return kn_nn_linear_forward(&b->proj, bench_join_heads(y));
}

static kn_tensor gpt_forward(const void *self, const kn_tensor *x, double dropout)
{
    const Gpt *m = self;
    (void)dropout;
    kn_tensor places = kn_narrow(kn_value(m->wpe.weight), 0, 0, kn_size(x[0], 1));
    kn_tensor y = kn_keep(kn_add(kn_nn_embedding_forward(&m->wte, x[0]), places));
    for (int i = 0; i < GPT_LAYERS; i++) {
        const GptBlock *b = &m->blocks[i];
        y = kn_keep(kn_add(y, gpt_attend(b, y)));
        kn_tensor h = kn_nn_linear_forward(&b->up, kn_nn_layer_norm_forward(&b->ln_2, y));
        y = kn_keep(kn_add(y, kn_nn_linear_forward(&b->down, kn_gelu_approximate(h))));
    }
    return kn_linear(kn_nn_layer_norm_forward(&m->ln_f, y), kn_value(m->wte.weight), KN_NONE);
}

const bench_model bench_gpt2 = {
    .name = "gpt2",
    .family = "language",
    .text = "GPT-2 124M, 1024 tokens",
    .batch = 16,
    .answers = 64,
    .adam = true,
    .n_given = 1,
    .inputs = {{BENCH_INDICES, GPT_WORDS, {-1, GPT_TOKENS}}, {BENCH_INDICES, GPT_WORDS, {-1, GPT_TOKENS}}},
    .type = &Gpt_type,
    .init = gpt_init,
    .forward = gpt_forward,
};

/* ---- Llama-like */

enum { WIDTH = 1024, HEADS = 16, SHARED = 4, LAYERS = 8, WIDE = 2816, WORDS = 32000, TOKENS = 512 };

typedef struct LlamaBlock {
    kn_nn_rms_norm norm1, norm2;
    kn_nn_linear q, k, v, o, gate, up, down;
} LlamaBlock;
static const kn_module_type LlamaBlock_type = {
    "LlamaBlock", sizeof(LlamaBlock),
    (const kn_field[]){KN_MODULE(LlamaBlock, norm1, kn_nn_rms_norm),
                       KN_MODULE(LlamaBlock, q, kn_nn_linear),
                       KN_MODULE(LlamaBlock, k, kn_nn_linear),
                       KN_MODULE(LlamaBlock, v, kn_nn_linear),
                       KN_MODULE(LlamaBlock, o, kn_nn_linear),
                       KN_MODULE(LlamaBlock, norm2, kn_nn_rms_norm),
                       KN_MODULE(LlamaBlock, gate, kn_nn_linear),
                       KN_MODULE(LlamaBlock, up, kn_nn_linear),
                       KN_MODULE(LlamaBlock, down, kn_nn_linear),
                       {0}}};

typedef struct Llama {
    kn_nn_embedding words;
    LlamaBlock blocks[LAYERS];
    kn_nn_rms_norm norm;
    kn_nn_linear head;
} Llama;
static const kn_module_type Llama_type = {"Llama", sizeof(Llama),
                                          (const kn_field[]){KN_MODULE(Llama, words, kn_nn_embedding),
                                                             KN_ARRAY(Llama, blocks, LlamaBlock),
                                                             KN_MODULE(Llama, norm, kn_nn_rms_norm),
                                                             KN_MODULE(Llama, head, kn_nn_linear),
                                                             {0}}};

static kn_status llama_init(void *self)
{
    Llama *m = self;
    kn_status s = KN_OK;
    const int64_t size = WIDTH / HEADS;
    bench_embedding(&s, &m->words, WORDS, WIDTH);
    for (int i = 0; i < LAYERS; i++) {
        LlamaBlock *b = &m->blocks[i];
        bench_rms_norm(&s, &b->norm1, WIDTH);
        bench_rms_norm(&s, &b->norm2, WIDTH);
        bench_linear(&s, &b->q, WIDTH, WIDTH, false);
        bench_linear(&s, &b->k, WIDTH, SHARED * size, false);
        bench_linear(&s, &b->v, WIDTH, SHARED * size, false);
        bench_linear(&s, &b->o, WIDTH, WIDTH, false);
        bench_linear(&s, &b->gate, WIDTH, WIDE, false);
        bench_linear(&s, &b->up, WIDTH, WIDE, false);
        bench_linear(&s, &b->down, WIDE, WIDTH, false);
    }
    bench_rms_norm(&s, &m->norm, WIDTH);
    bench_linear(&s, &m->head, WIDTH, WORDS, false);
    return s;
}

static kn_tensor llama_attend(const LlamaBlock *b, kn_tensor x)
{
    x = kn_keep(kn_nn_rms_norm_forward(&b->norm1, x));
    kn_tensor q = bench_split_heads(kn_nn_linear_forward(&b->q, x), HEADS);
    kn_tensor k = bench_split_heads(kn_nn_linear_forward(&b->k, x), SHARED);
    kn_tensor v = bench_split_heads(kn_nn_linear_forward(&b->v, x), SHARED);
    q = kn_rope(q, KN_NONE, KN_NONE, NULL);
    k = kn_rope(k, KN_NONE, KN_NONE, NULL);
    kn_tensor y = kn_attention(q, k, v, &(kn_attention_args){.is_causal = true});
    return kn_nn_linear_forward(&b->o, bench_join_heads(y));
}

static kn_tensor llama_forward(const void *self, const kn_tensor *x, double dropout)
{
    const Llama *m = self;
    (void)dropout;
    kn_tensor y = kn_keep(kn_nn_embedding_forward(&m->words, x[0]));
    for (int i = 0; i < LAYERS; i++) {
        const LlamaBlock *b = &m->blocks[i];
        y = kn_keep(kn_add(y, llama_attend(b, y)));
        kn_tensor h = kn_keep(kn_nn_rms_norm_forward(&b->norm2, y));
        h = kn_mul(kn_silu(kn_nn_linear_forward(&b->gate, h)), kn_nn_linear_forward(&b->up, h));
        y = kn_keep(kn_add(y, kn_nn_linear_forward(&b->down, h)));
    }
    return kn_nn_linear_forward(&m->head, kn_nn_rms_norm_forward(&m->norm, y));
}

const bench_model bench_llama = {
    .name = "llama",
    .family = "language",
    .text = "like Llama: 8 x 1024, 16 heads over 4, RoPE, SwiGLU, 512 tokens",
    .batch = 8,
    .answers = 1,
    .adam = true,
    .n_given = 1,
    .inputs = {{BENCH_INDICES, WORDS, {-1, TOKENS}}, {BENCH_INDICES, WORDS, {-1, TOKENS}}},
    .type = &Llama_type,
    .init = llama_init,
    .forward = llama_forward,
};
