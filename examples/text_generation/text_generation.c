/* Trains a character-level GPT on a text and lets it write, with the four usual ways of choosing the next character: greedy,
   by temperature, from the k best (top-k) and from the nucleus (top-p). */
#include "common/example.h"
#include "gpt.h"
#include <kn/store.h>
#include <kn/train.h>

typedef struct Settings {
    const char *text, *folder, *prompt;
    int64_t epochs, limit, length, seed;
    double lr;
    bool generate;
} Settings;

/* ---- data */

static char *read_text(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long end = file && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (end > 0 && fseek(file, 0, SEEK_SET) == 0) text = malloc((size_t)end);
    if (text && fread(text, 1, (size_t)end, file) != (size_t)end) free(text), text = NULL;
    if (file) fclose(file);
    if (!text) fprintf(stderr, "%s cannot be read, or is empty\n", path);
    *length = text ? (size_t)end : 0;
    return text;
}

/* Samples (tokens, targets): windows of the text, and the same one character further on. The windows are views: the text is in
   memory once. */
static kn_loader make_loader(kn_tensor tokens, int64_t context, int64_t stride, int64_t limit,
                             const Settings *settings)
{
    kn_scope scope = kn_scope_begin();
    int64_t n = kn_size(tokens, 0);
    kn_tensor inputs = kn_unfold_axis(kn_narrow(tokens, 0, 0, n - 1), 0, context, stride);
    kn_tensor targets = kn_unfold_axis(kn_narrow(tokens, 0, 1, n - 1), 0, context, stride);
    kn_dataset windows = kn_dataset_tensors((kn_tensor[]){inputs, targets}, 2);
    kn_dataset part = kn_dataset_slice(windows, 0, limit > 0 ? limit : INT64_MAX);
    kn_loader loader = kn_loader_make(
        part, &(kn_loader_args){.batch_size = 16, .shuffle = true, .seed = (uint64_t)settings->seed});
    kn_dataset_free(windows);
    kn_dataset_free(part);
    kn_scope_end(scope, KN_NONE);
    return loader;
}

/* ---- training */

static kn_status step(void *context, const kn_sample *batch, kn_step_output *output)
{
    const Gpt *gpt = context;
    kn_tensor logits = gpt_forward(gpt, batch->fields[0], NULL, 0);
    output->scores = kn_keep(kn_flatten(logits, 0, 1)); /* [batch * context, vocabulary] */
    output->targets = kn_keep(kn_flatten(batch->fields[1], 0, 1));
    output->loss = kn_cross_entropy(output->scores, output->targets, NULL);
    output->items = kn_size(batch->fields[0], 0);
    return KN_OK;
}

static bool train(Gpt *gpt, kn_loader loader, kn_loader valid, const Settings *settings)
{
    int64_t steps = settings->epochs * kn_loader_length(loader);
    kn_optim optim = kn_optim_adamw(NULL);
    kn_schedule schedule =
        kn_schedule_warm_up(steps / 20, kn_schedule_cosine(settings->lr, settings->lr / 10, steps, false));
    kn_learner learner = kn_learner_make(&(kn_learner_args){.model = KN_MODULE_OF(Gpt, gpt),
                                                            .optim = optim,
                                                            .schedule = schedule,
                                                            .train = loader,
                                                            .valid = valid,
                                                            .train_step = step,
                                                            .valid_step = step,
                                                            .context = gpt,
                                                            .epochs = settings->epochs,
                                                            .clip = KN_CLIP_GLOBAL_NORM,
                                                            .clip_limit = 1,
                                                            .seed = (uint64_t)settings->seed,
                                                            .name = "text generation",
                                                            .folder = settings->folder,
                                                            .catch_interrupts = true});
    bool good = learner && kn_learner_add_metric(learner, kn_metric_perplexity(-1)) == KN_OK &&
                kn_learner_add_renderer(learner, kn_renderer_auto()) == KN_OK &&
                kn_learner_fit(learner) == KN_OK;
    if (good)
        printf("perplexity of the held-out text %.3f\n",
               kn_learner_value(learner, KN_SPLIT_VALID, "perplexity"));
    kn_learner_free(learner);
    kn_schedule_free(schedule);
    kn_optim_free(optim);
    return good;
}

/* ---- writing */

/* The logits of the character after `text`, of which the cache has seen the first *seen. When the context is full the cache
   starts again with the later half of it. */
static kn_tensor next_logits(const Gpt *gpt, const Alphabet *alphabet, const char *text, size_t n,
                             kn_nn_transformer_cache *cache, size_t *first, size_t *seen)
{
    if (n - *first > (size_t)gpt->context) {
        kn_nn_transformer_cache_reset(cache);
        *first = *seen = n - (size_t)gpt->context / 2;
    }
    kn_tensor fresh = kn_unsqueeze(alphabet_encode(alphabet, text + *seen, n - *seen), 0);
    kn_tensor logits = gpt_forward(gpt, fresh, cache, (int64_t)(*seen - *first));
    *seen = n;
    return kn_select(kn_select(logits, 1, -1), 0, 0); /* of the last character: [vocabulary] */
}

static bool write_text(const Gpt *gpt, const Alphabet *alphabet, const Settings *settings,
                       const kn_sampler_args *args)
{
    size_t n = strlen(settings->prompt), end = n + (size_t)settings->length, first = 0, seen = 0;
    char *text = malloc(end + 1);
    kn_sampler sampler;
    kn_nn_transformer_cache cache = {0};
    bool good = text && kn_sampler_init(&sampler, args) == KN_OK &&
                kn_nn_transformer_cache_init(&cache, gpt->blocks.n_layers) == KN_OK;
    if (text) memcpy(text, settings->prompt, n);
    if (n > (size_t)gpt->context) first = seen = n - (size_t)gpt->context;
    kn_no_grad_begin();
    while (good && n < end) {
        kn_scope scope = kn_scope_begin();
        kn_tensor logits = next_logits(gpt, alphabet, text, n, &cache, &first, &seen);
        kn_tensor next = kn_keep(kn_sampler_next(&sampler, logits, KN_NONE));
        good = kn_ok(next);
        if (good) text[n++] = alphabet->char_of[kn_item_int(next)];
        kn_scope_end(scope, KN_NONE);
    }
    kn_no_grad_end();
    if (good) printf("%.*s\n\n", (int)n, text);
    kn_nn_transformer_cache_drop(&cache);
    free(text);
    return good;
}

static bool write_all(const Gpt *gpt, const Alphabet *alphabet, const Settings *settings)
{
    uint64_t seed = (uint64_t)settings->seed;
    const struct {
        const char *name;
        kn_sampler_args args;
    } ways[] = {{"greedy", {.greedy = true}},
                {"temperature 0.8", {.temperature = 0.8, .seed = seed}},
                {"top-k 5", {.top_k = 5, .seed = seed}},
                {"top-p 0.9", {.top_p = 0.9, .seed = seed}}};
    bool good = true;
    for (size_t i = 0; i < sizeof ways / sizeof ways[0] && good; i++) {
        printf("---- %s\n", ways[i].name);
        good = write_text(gpt, alphabet, settings, &ways[i].args);
    }
    return good;
}

/* Trains and saves, or loads what an earlier run saved; then writes. */
static bool run(const char *text, size_t length, const Settings *settings)
{
    const GptSize size = {.context = 64, .width = 64, .heads = 4, .layers = 3};
    Alphabet alphabet;
    Gpt gpt = {0};
    char path[600];
    snprintf(path, sizeof path, "%s/model.safetensors", settings->folder);
    alphabet_make(&alphabet, text, length);
    kn_module module = KN_MODULE_OF(Gpt, &gpt);
    bool good = gpt_init(&gpt, alphabet.size, &size) == KN_OK;
    if (good && settings->generate) {
        good = kn_load(module, path, NULL, NULL) == KN_OK;
    } else if (good) {
        size_t cut = length - length / 10; /* the last tenth is held out */
        kn_tensor tokens = kn_own(alphabet_encode(&alphabet, text, cut));
        kn_tensor held = kn_own(alphabet_encode(&alphabet, text + cut, length - cut));
        kn_loader loader = make_loader(tokens, size.context, 8, settings->limit, settings);
        kn_loader valid = make_loader(held, size.context, size.context, settings->limit, settings);
        good =
            loader && valid && train(&gpt, loader, valid, settings) && kn_save(module, path, NULL) == KN_OK;
        kn_loader_free(loader);
        kn_loader_free(valid);
        kn_drop(tokens);
        kn_drop(held);
    }
    kn_module_train(module, false);
    good = good && write_all(&gpt, &alphabet, settings);
    kn_module_drop(module);
    return good;
}

int main(int argc, char **argv)
{
    Settings settings = {.text = "examples/text_generation/tales.txt",
                         .folder = "build/text_generation",
                         .prompt = "One morning",
                         .epochs = 3,
                         .length = 280,
                         .seed = 1,
                         .lr = 2e-3};
    const Option options[] = {{"--text", "file to learn from", .text = &settings.text},
                              {"--epochs", "passes over the text", .integer = &settings.epochs},
                              {"--lr", "highest learning rate", .real = &settings.lr},
                              {"--limit", "use only so many windows, 0: all", .integer = &settings.limit},
                              {"--seed", "of everything random", .integer = &settings.seed},
                              {"--folder", "for what the run writes", .text = &settings.folder},
                              {"--generate", "only write, with the saved model", .flag = &settings.generate},
                              {"--prompt", "how the tales begin", .text = &settings.prompt},
                              {"--length", "characters to write", .integer = &settings.length},
                              {0}};
    if (!options_read(argc, argv, options)) return EXIT_FAILURE;
    if (!settings.prompt[0] || settings.length < 0) return option_usage(argv[0], options), EXIT_FAILURE;
    size_t length;
    char *text = read_text(settings.text, &length);
    if (!text) return EXIT_FAILURE;
    bool good = example_begin("autodiff(cpu)", settings.seed) && run(text, length, &settings);
    free(text);
    return example_end(good);
}
