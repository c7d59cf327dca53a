/* A transformer that reads short reviews of different lengths and says whether they are good, neutral or bad: padding and its
   mask, attention, the mean over the words that are there, and the learner with accuracy and F1. */
#include "common/example.h"
#include "reviews.h"
#include <kn/nn.h>
#include <kn/train.h>

enum { WIDTH = 32, HEADS = 4, LAYERS = 2 };

typedef struct Settings {
    const char *folder;
    int64_t epochs, limit, seed;
    double lr;
} Settings;

/* ---- the model */

typedef struct Reader {
    kn_nn_embedding words;
    kn_nn_positional_encoding positions;
    kn_nn_transformer_encoder encoder;
    kn_nn_linear head;
} Reader;
static const kn_module_type Reader_type = {
    "Reader", sizeof(Reader),
    (const kn_field[]){KN_MODULE(Reader, words, kn_nn_embedding),
                       KN_MODULE(Reader, positions, kn_nn_positional_encoding),
                       KN_MODULE(Reader, encoder, kn_nn_transformer_encoder),
                       KN_MODULE(Reader, head, kn_nn_linear),
                       {0}}};

static kn_status reader_init(Reader *reader)
{
    kn_nn_transformer_args args = {
        .dropout = 0.1, .norm_first = true, .final_norm = true, .activation = KN_ACTIVATION_GELU};
    kn_status s = kn_nn_embedding_init(&reader->words, vocabulary_size(), WIDTH,
                                       &(kn_nn_embedding_args){.padding_index = KN_ZERO});
    if (s == KN_OK) s = kn_nn_positional_encoding_init(&reader->positions, WIDTH, NULL);
    if (s == KN_OK)
        s = kn_nn_transformer_encoder_init(&reader->encoder, WIDTH, HEADS, 4 * WIDTH, LAYERS, &args);
    if (s == KN_OK) s = kn_nn_linear_init(&reader->head, WIDTH, OPINIONS, NULL);
    return s;
}

/* tokens and present [batch, words] -> scores [batch, opinions]. present is true where there is a word. */
static kn_tensor reader_forward(const Reader *reader, kn_tensor tokens, kn_tensor present)
{
    kn_scope scope = kn_scope_begin();
    present = kn_keep(present);
    kn_tensor x = kn_nn_embedding_forward(&reader->words, tokens);
    x = kn_nn_positional_encoding_forward(&reader->positions, x, 0);
    kn_nn_attention_call call = {.sees_keys = present};
    x = kn_nn_transformer_encoder_forward(&reader->encoder, x, &call, NULL);
    /* The mean over the words that are there. */
    kn_tensor weights = kn_keep(kn_unsqueeze(kn_cast(present, KN_F32), 2));
    kn_tensor mean =
        kn_div(kn_sum(kn_mul(x, weights), KN_AXES(1), false), kn_sum(weights, KN_AXES(1), false));
    return kn_scope_end(scope, kn_nn_linear_forward(&reader->head, mean));
}

/* ---- training */

/* A batch is (tokens, opinions, mask): the loader adds the mask of the padded field behind the others. */
static kn_status step(void *context, const kn_sample *batch, kn_step_output *output)
{
    const Reader *reader = context;
    output->scores = kn_keep(reader_forward(reader, batch->fields[0], batch->fields[2]));
    output->targets = batch->fields[1];
    output->loss = kn_cross_entropy(output->scores, batch->fields[1], NULL);
    return KN_OK;
}

static kn_loader make_loader(uint64_t seed, int64_t n)
{
    kn_dataset reviews = make_reviews(seed, n);
    kn_loader loader = kn_loader_make(reviews, &(kn_loader_args){.batch_size = 32,
                                                                 .shuffle = true,
                                                                 .seed = seed,
                                                                 .collate = KN_COLLATE_PAD_MASK,
                                                                 .pad_value = PADDING_TOKEN});
    kn_dataset_free(reviews);
    return loader;
}

static bool train(Reader *reader, kn_loader loader, kn_loader valid, const Settings *settings)
{
    kn_optim optim = kn_optim_adamw(NULL);
    kn_schedule schedule = kn_schedule_one_cycle(
        &(kn_one_cycle_args){.max_lr = settings->lr, .steps = settings->epochs * kn_loader_length(loader)});
    kn_learner learner = kn_learner_make(&(kn_learner_args){.model = KN_MODULE_OF(Reader, reader),
                                                            .optim = optim,
                                                            .schedule = schedule,
                                                            .train = loader,
                                                            .valid = valid,
                                                            .train_step = step,
                                                            .valid_step = step,
                                                            .context = reader,
                                                            .epochs = settings->epochs,
                                                            .seed = (uint64_t)settings->seed,
                                                            .name = "text classification",
                                                            .folder = settings->folder,
                                                            .catch_interrupts = true});
    kn_decision macro = {.reduction = KN_CLASS_MACRO};
    bool good = learner && kn_learner_add_metric(learner, kn_metric_accuracy(-1)) == KN_OK &&
                kn_learner_add_metric_to(learner, kn_metric_f_beta(1, &macro), KN_SPLIT_VALID) == KN_OK &&
                kn_learner_add_renderer(learner, kn_renderer_auto()) == KN_OK &&
                kn_learner_fit(learner) == KN_OK;
    if (good)
        printf("accuracy on new reviews %.1f %%\n",
               100 * kn_learner_value(learner, KN_SPLIT_VALID, "accuracy"));
    kn_learner_free(learner);
    kn_schedule_free(schedule);
    kn_optim_free(optim);
    return good;
}

/* ---- using it */

static bool classify(const Reader *reader, const char *text)
{
    int64_t tokens[REVIEW_WORDS], n = encode_review(text, tokens);
    float chances[OPINIONS];
    kn_scope scope = kn_scope_begin();
    kn_no_grad_begin();
    kn_tensor present = kn_ones(KN_SHAPE(1, n), KN_BOOL);
    kn_tensor scores = reader_forward(reader, kn_from(tokens, KN_I64, KN_SHAPE(1, n)), present);
    bool good = kn_read(kn_softmax(scores, 1), chances, sizeof chances) == KN_OK;
    kn_no_grad_end();
    kn_scope_end(scope, KN_NONE);
    int best = BAD;
    for (int o = 0; o < OPINIONS; o++)
        if (chances[o] > chances[best]) best = o;
    if (good) printf("%5.1f %% %-8s %s\n", 100 * (double)chances[best], opinion_names[best], text);
    return good;
}

int main(int argc, char **argv)
{
    static const char *const reviews[] = {"the soup was good",
                                          "the soup was not good",
                                          "the soup was not good but our waiter was very kind",
                                          "the music was lovely but the room was not very clean",
                                          "honestly the table was brown although the cook was rude",
                                          "the room was usual"};
    Settings settings = {
        .folder = "build/text_classification", .epochs = 8, .limit = 3000, .seed = 1, .lr = 3e-3};
    const Option options[] = {{"--epochs", "passes over the data", .integer = &settings.epochs},
                              {"--limit", "reviews to learn from", .integer = &settings.limit},
                              {"--lr", "highest learning rate", .real = &settings.lr},
                              {"--seed", "of everything random", .integer = &settings.seed},
                              {"--folder", "for what the run writes", .text = &settings.folder},
                              {0}};
    if (!options_read(argc, argv, options) || !example_begin("autodiff(cpu)", settings.seed))
        return EXIT_FAILURE;
    Reader reader = {0};
    uint64_t seed = (uint64_t)settings.seed;
    kn_loader loader = make_loader(seed, settings.limit), valid = make_loader(seed + 1, 400);
    bool good = reader_init(&reader) == KN_OK && loader && valid && train(&reader, loader, valid, &settings);
    kn_module_train(KN_MODULE_OF(Reader, &reader), false);
    for (size_t i = 0; i < sizeof reviews / sizeof reviews[0] && good; i++)
        good = classify(&reader, reviews[i]);
    kn_loader_free(loader);
    kn_loader_free(valid);
    kn_module_drop(KN_MODULE_OF(Reader, &reader));
    return example_end(good);
}
