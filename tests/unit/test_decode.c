/* Text token by token with a cache that has room: it gives what a cache that grows gives, and over a fake device that records each token
   is replayed as the one before. test_decode DEVICE asks a device that is there instead, such as "autodiff(fusion(cuda:0))". */
#include "support/check.h"
#include "support/paper_device.h"
#include <kn.h>
#include <kn/nn.h>
#include <kn/program.h>

enum { WORDS = 50, WIDTH = 32, HEADS = 4, LAYERS = 3, CONTEXT = 300, PROMPT = 20, TOKENS = 256 };

typedef struct Gpt {
    kn_nn_embedding words;
    kn_nn_learned_positions positions;
    kn_nn_transformer_encoder blocks;
    kn_nn_linear head;
} Gpt;
static const kn_module_type Gpt_type = {"Gpt", sizeof(Gpt),
                                        (const kn_field[]){KN_MODULE(Gpt, words, kn_nn_embedding),
                                                           KN_MODULE(Gpt, positions, kn_nn_learned_positions),
                                                           KN_MODULE(Gpt, blocks, kn_nn_transformer_encoder),
                                                           KN_MODULE(Gpt, head, kn_nn_linear),
                                                           {0}}};

typedef struct subject {
    Gpt gpt;
    kn_nn_transformer_cache cache;
    kn_nn_rotary rotary;
    bool turns; /* positions are rotary ones */
} subject;

static bool begin(subject *t, kn_device device, int64_t capacity)
{
    kn_device_use(device);
    kn_seed(device, 3);
    kn_nn_transformer_args args = {.norm_first = true, .final_norm = true};
    bool good =
        kn_nn_embedding_init(&t->gpt.words, WORDS, WIDTH, NULL) == KN_OK &&
        kn_nn_learned_positions_init(&t->gpt.positions, WIDTH, CONTEXT, NULL) == KN_OK &&
        kn_nn_transformer_encoder_init(&t->gpt.blocks, WIDTH, HEADS, 4 * WIDTH, LAYERS, &args) == KN_OK &&
        kn_nn_linear_init(&t->gpt.head, WIDTH, WORDS, NULL) == KN_OK &&
        kn_nn_rotary_init(&t->rotary, CONTEXT, WIDTH / HEADS, NULL) == KN_OK &&
        kn_nn_transformer_cache_init(&t->cache, LAYERS) == KN_OK;
    kn_module_train((kn_module){&t->gpt, &Gpt_type}, false);
    kn_nn_transformer_cache_reserve(&t->cache, capacity);
    return good;
}

static void end(subject *t)
{
    kn_nn_transformer_cache_drop(&t->cache);
    kn_module_drop((kn_module){&t->gpt, &Gpt_type});
    kn_module_drop((kn_module){&t->rotary, &kn_nn_rotary_type});
    kn_device_use(NULL);
}

/* The logits behind the last of the tokens [1, n]. */
static kn_tensor logits(subject *t, kn_tensor tokens)
{
    int64_t n = kn_size(tokens, 1);
    kn_tensor x = kn_nn_embedding_forward(&t->gpt.words, tokens);
    kn_nn_attention_call call = {.is_causal = true, .rotary = t->turns ? &t->rotary : NULL};
    if (!t->turns) x = kn_nn_learned_positions_forward(&t->gpt.positions, x, t->cache.self[0].length);
    x = kn_nn_transformer_encoder_forward(&t->gpt.blocks, x, &call, &t->cache);
    return kn_nn_linear_forward(&t->gpt.head, kn_narrow(x, 1, n - 1, 1));
}

static kn_tensor prompt(void)
{
    int64_t words[PROMPT];
    for (int i = 0; i < PROMPT; i++) words[i] = (7 * i + 3) % WORDS;
    return kn_from(words, KN_I64, KN_SHAPE(1, PROMPT));
}

/* ---- the same values */

static void gives_the_same(bool turns)
{
    enum { STEPS = 6 };
    float values[2][STEPS][WORDS];
    for (int room = 0; room < 2; room++) {
        subject t = {.turns = turns};
        CHECK(begin(&t, kn_device_open("autodiff(cpu)"), room ? PROMPT + STEPS : 0));
        kn_no_grad_begin();
        for (int i = 0; i < STEPS; i++) {
            kn_scope scope = kn_scope_begin();
            int64_t word = i;
            kn_tensor y = logits(&t, i ? kn_from(&word, KN_I64, KN_SHAPE(1, 1)) : prompt());
            CHECK(kn_read(y, values[room][i], sizeof values[room][i]) == KN_OK);
            kn_scope_end(scope, KN_NONE);
        }
        CHECK(t.cache.self[0].length == PROMPT + STEPS - 1);
        CHECK(kn_size(t.cache.self[0].key, 2) == PROMPT + STEPS - (room ? 0 : 1));
        kn_no_grad_end();
        end(&t);
    }
    for (int i = 0; i < STEPS; i++)
        for (int k = 0; k < WORDS; k++) {
            float a = values[0][i][k], b = values[1][i][k];
            CHECK((a > b ? a - b : b - a) < 1e-5f);
        }
}

/* More tokens than there is room for, and another batch, are errors that leave the cache as it is. */
static void refuses(void)
{
    subject t = {.turns = false};
    CHECK(begin(&t, kn_device_open("cpu"), PROMPT + 1));
    kn_scope scope = kn_scope_begin();
    CHECK(kn_ok(logits(&t, prompt())));
    CHECK_POISON(logits(&t, prompt()), "20 tokens more do not fit into a cache of 21, of which 20 are used");
    int64_t words[2] = {1, 2};
    CHECK_POISON(logits(&t, kn_from(words, KN_I64, KN_SHAPE(2, 1))), "begun with another batch");
    CHECK(t.cache.self[0].length == PROMPT && kn_ok(logits(&t, kn_from(words, KN_I64, KN_SHAPE(1, 1)))));
    kn_scope_end(scope, KN_NONE);
    end(&t);
}

/* ---- replays */

static void replays_each_token(const char *name, bool turns, bool reads, kn_dtype dtype)
{
    subject t = {.turns = turns};
    kn_fusion_stats start, before, after;
    paper_do = (paper_orders){
        .room = INT64_C(1) << 30, .records = true, .fault = -1, .addresses = true, .library = true};
    paper_register();
    kn_device device = kn_device_open(name);
    if (!CHECK(device != NULL)) return;
    CHECK(begin(&t, device, CONTEXT));
    CHECK(kn_module_cast((kn_module){&t.gpt, &Gpt_type}, dtype) == KN_OK && kn_sync(device) == KN_OK);
    kn_no_grad_begin();
    CHECK(kn_fusion_stats_of(device, &start) == KN_OK);
    kn_tensor tokens = kn_own(prompt());
    int64_t copies = 0;
    for (int i = 0; i < TOKENS; i++) {
        int64_t word;
        kn_scope scope = kn_scope_begin();
        CHECK(kn_fusion_stats_of(device, &before) == KN_OK);
        if (i == 5) copies = paper_now.launches;
        kn_tensor next = kn_own(kn_argmax(logits(&t, tokens), -1, false));
        kn_drop(tokens);
        tokens = next;
        bool done = kn_sync(device) == KN_OK && (!reads || kn_read(tokens, &word, sizeof word) == KN_OK);
        if (!CHECK(done)) puts(kn_last_error());
        CHECK(kn_fusion_stats_of(device, &after) == KN_OK);
        bool replayed =
            after.submissions - before.submissions == 1 && after.plans_replayed - before.plans_replayed == 1;
        kn_scope_end(scope, KN_NONE);
        if (i == 5) printf("%lld launches for a token\n", (long long)(paper_now.launches - copies));
        if (i >= 4 && (!done || !CHECK(replayed))) {
            printf("token %d is not replayed\n", i);
            break;
        }
    }
    if (!CHECK(after.plans_made - start.plans_made <= 4))
        printf("%lld plans\n", (long long)(after.plans_made - start.plans_made));
    kn_no_grad_end();
    kn_drop(tokens);
    end(&t);
    CHECK(kn_shutdown() == 0);
}

static void note(void *context, kn_log_level level, const char *text)
{
    (void)context, (void)level;
    if (strstr(text, "not replayed")) puts(text);
}

int main(int count, char **arguments)
{
    const char *name = count > 1 ? arguments[1] : "autodiff(fusion(paper))";
    kn_log_set(note, NULL);
    gives_the_same(false);
    gives_the_same(true);
    refuses();
    CHECK(kn_shutdown() == 0);
    replays_each_token(name, false, true, KN_F32);
    replays_each_token(name, true, false, KN_BF16);
    return check_report();
}
