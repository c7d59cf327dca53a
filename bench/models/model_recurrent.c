/* An LSTM that predicts the next token, and a bidirectional GRU of two layers that sorts sequences into classes. */
#include "bench_models.h"

enum { WORDS = 10000, WIDTH = 256, TOKENS = 64 };

/* ---- LSTM */

typedef struct LstmNet {
    kn_nn_embedding words;
    kn_nn_lstm lstm;
    kn_nn_linear fc;
} LstmNet;
static const kn_module_type LstmNet_type = {"LstmNet", sizeof(LstmNet),
                                            (const kn_field[]){KN_MODULE(LstmNet, words, kn_nn_embedding),
                                                               KN_MODULE(LstmNet, lstm, kn_nn_lstm),
                                                               KN_MODULE(LstmNet, fc, kn_nn_linear),
                                                               {0}}};

static kn_status lstm_init(void *self)
{
    LstmNet *m = self;
    kn_status s = KN_OK;
    bench_embedding(&s, &m->words, WORDS, WIDTH);
    if (s == KN_OK)
        s = kn_nn_lstm_init(&m->lstm, WIDTH, WIDTH,
                            &(kn_nn_recurrent_args){.num_layers = 2, .batch_first = true});
    bench_linear(&s, &m->fc, WIDTH, WORDS, true);
    return s;
}

static kn_tensor lstm_forward(const void *self, const kn_tensor *x, double dropout)
{
    const LstmNet *m = self;
    (void)dropout;
    kn_tensor y = kn_nn_lstm_forward(&m->lstm, kn_nn_embedding_forward(&m->words, x[0]), NULL);
    return kn_nn_linear_forward(&m->fc, y);
}

const bench_model bench_lstm = {
    .name = "lstm",
    .family = "other",
    .text = "LSTM 256 of two layers over 64 tokens, 10,000 words",
    .batch = 32,
    .answers = 64,
    .adam = true,
    .n_given = 1,
    .inputs = {{BENCH_INDICES, WORDS, {-1, TOKENS}}, {BENCH_INDICES, WORDS, {-1, TOKENS}}},
    .type = &LstmNet_type,
    .init = lstm_init,
    .forward = lstm_forward,
};

/* ---- bidirectional GRU */

typedef struct GruNet {
    kn_nn_embedding words;
    kn_nn_gru gru;
    kn_nn_linear fc;
} GruNet;
static const kn_module_type GruNet_type = {"GruNet", sizeof(GruNet),
                                           (const kn_field[]){KN_MODULE(GruNet, words, kn_nn_embedding),
                                                              KN_MODULE(GruNet, gru, kn_nn_gru),
                                                              KN_MODULE(GruNet, fc, kn_nn_linear),
                                                              {0}}};

static kn_status gru_init(void *self)
{
    GruNet *m = self;
    kn_status s = KN_OK;
    bench_embedding(&s, &m->words, WORDS, WIDTH);
    kn_nn_recurrent_args args = {.num_layers = 2, .bidirectional = true, .batch_first = true};
    if (s == KN_OK) s = kn_nn_gru_init(&m->gru, WIDTH, WIDTH, &args);
    bench_linear(&s, &m->fc, 2 * WIDTH, 20, true);
    return s;
}

static kn_tensor gru_forward(const void *self, const kn_tensor *x, double dropout)
{
    const GruNet *m = self;
    (void)dropout;
    kn_tensor y = kn_nn_gru_forward(&m->gru, kn_nn_embedding_forward(&m->words, x[0]), NULL);
    return kn_nn_linear_forward(&m->fc, kn_mean(y, KN_AXES(1), false));
}

const bench_model bench_gru = {
    .name = "bigru",
    .family = "other",
    .text = "bidirectional GRU 256 of two layers over 64 tokens",
    .batch = 32,
    .answers = 1,
    .adam = true,
    .n_given = 1,
    .inputs = {{BENCH_INDICES, WORDS, {-1, TOKENS}}, {BENCH_INDICES, 20, {-1}}},
    .type = &GruNet_type,
    .init = gru_init,
    .forward = gru_forward,
};
