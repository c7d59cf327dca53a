/* kiln bench gpt2: training steps of GPT-2 on made-up text, with autocast, on any device. bench/gpu/gpt2_torch.py is the
   same model in PyTorch and starts from the weights this one saves. */
#define _POSIX_C_SOURCE 200809L
#include "bench_gpu.h"
#include "kiln.h"
#include <kn.h>
#include <kn/nn.h>
#include <kn/optim.h>
#include <kn/store.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_LAYERS = 48, BATCHES = 4 };

typedef struct Block {
    kn_nn_layer_norm ln_1, ln_2;
    kn_nn_linear attn, proj, up, down;
} Block;
static const kn_module_type Block_type = {"Block", sizeof(Block),
                                          (const kn_field[]){KN_MODULE(Block, ln_1, kn_nn_layer_norm),
                                                             KN_MODULE(Block, attn, kn_nn_linear),
                                                             KN_MODULE(Block, proj, kn_nn_linear),
                                                             KN_MODULE(Block, ln_2, kn_nn_layer_norm),
                                                             KN_MODULE(Block, up, kn_nn_linear),
                                                             KN_MODULE(Block, down, kn_nn_linear),
                                                             {0}}};

typedef struct Gpt2 {
    kn_param wte, wpe;
    Block *blocks;
    int32_t n_blocks;
    int64_t heads;
    kn_nn_layer_norm ln_f;
} Gpt2;
static const kn_module_type Gpt2_type = {"Gpt2", sizeof(Gpt2),
                                         (const kn_field[]){KN_PARAM(Gpt2, wte),
                                                            KN_PARAM(Gpt2, wpe),
                                                            KN_LIST(Gpt2, blocks, n_blocks, Block),
                                                            KN_MODULE(Gpt2, ln_f, kn_nn_layer_norm),
                                                            {0}}};

typedef struct settings {
    const char *device, *save, *dtype;
    int64_t layers, width, heads, context, batch, vocabulary, steps;
} settings;

static kn_status block_init(Block *block, int64_t width, int64_t layers)
{
    double narrow = 0.02 / (layers > 0 ? kn_item(kn_sqrt(kn_scalar(2.0 * (double)layers, KN_F64))) : 1);
    kn_initializer zero = {.kind = KN_INIT_ZEROS}, small = {.kind = KN_INIT_NORMAL, .b = 0.02},
                   residual = {.kind = KN_INIT_NORMAL, .b = narrow};
    kn_nn_linear_args wide = {.weight = small, .bias = zero}, back = {.weight = residual, .bias = zero};
    kn_status s = kn_nn_layer_norm_init(&block->ln_1, KN_SHAPE(width), NULL);
    if (s == KN_OK) s = kn_nn_layer_norm_init(&block->ln_2, KN_SHAPE(width), NULL);
    if (s == KN_OK) s = kn_nn_linear_init(&block->attn, width, 3 * width, &wide);
    if (s == KN_OK) s = kn_nn_linear_init(&block->proj, width, width, &back);
    if (s == KN_OK) s = kn_nn_linear_init(&block->up, width, 4 * width, &wide);
    return s ? s : kn_nn_linear_init(&block->down, 4 * width, width, &back);
}

static kn_status gpt2_init(Gpt2 *m, const settings *o)
{
    m->heads = o->heads;
    m->blocks = kn_module_list(&Block_type, (int32_t)o->layers);
    if (!m->blocks) return KN_ERROR_MEMORY;
    m->n_blocks = (int32_t)o->layers;
    m->wte = kn_param_make(kn_random_normal(KN_SHAPE(o->vocabulary, o->width), 0, 0.02, KN_F32));
    m->wpe = kn_param_make(kn_random_normal(KN_SHAPE(o->context, o->width), 0, 0.02, KN_F32));
    kn_status s = kn_nn_layer_norm_init(&m->ln_f, KN_SHAPE(o->width), NULL);
    for (int64_t i = 0; i < o->layers && s == KN_OK; i++) s = block_init(&m->blocks[i], o->width, o->layers);
    return s;
}

static kn_tensor attend(const Block *block, int64_t heads, kn_tensor x)
{
    int64_t batch = kn_size(x, 0), length = kn_size(x, 1), width = kn_size(x, 2);
    kn_tensor all = kn_keep(
        kn_reshape(kn_nn_linear_forward(&block->attn, x), KN_SHAPE(batch, length, 3, heads, width / heads)));
    kn_tensor apart[3]; /* [batch, heads, length, size] */
    for (int i = 0; i < 3; i++) apart[i] = kn_permute(kn_select(all, 2, i), KN_AXES(0, 2, 1, 3));
    kn_tensor y = kn_attention(apart[0], apart[1], apart[2], &(kn_attention_args){.is_causal = true});
    y = kn_reshape(kn_permute(y, KN_AXES(0, 2, 1, 3)), KN_SHAPE(batch, length, width));
    return kn_nn_linear_forward(&block->proj, y);
}

static kn_tensor gpt2_loss(const Gpt2 *m, kn_tensor tokens, kn_tensor targets)
{
    int64_t length = kn_size(tokens, 1);
    kn_tensor positions = kn_narrow(kn_value(m->wpe), 0, 0, length);
    kn_tensor x = kn_keep(kn_add(kn_embedding(kn_value(m->wte), tokens, NULL), positions));
    for (int32_t i = 0; i < m->n_blocks; i++) {
        const Block *block = &m->blocks[i];
        x = kn_keep(kn_add(x, attend(block, m->heads, kn_keep(kn_nn_layer_norm_forward(&block->ln_1, x)))));
        kn_tensor h =
            kn_gelu_approximate(kn_nn_linear_forward(&block->up, kn_nn_layer_norm_forward(&block->ln_2, x)));
        x = kn_keep(kn_add(x, kn_nn_linear_forward(&block->down, h)));
    }
    kn_tensor logits = kn_linear(kn_nn_layer_norm_forward(&m->ln_f, x), kn_value(m->wte), KN_NONE);
    return kn_cross_entropy(kn_flatten(logits, 0, 1), kn_flatten(targets, 0, 1), NULL);
}

/* Text that can be learnt: each token follows from the one before it, with some noise; the script makes the same. */
static kn_tensor make_tokens(const settings *o, int batch)
{
    int64_t n = o->batch * (o->context + 1);
    int64_t *tokens = malloc((size_t)n * sizeof *tokens);
    uint64_t state = 12345 + (uint64_t)batch;
    if (!tokens) return kn_poison(KN_ERROR_MEMORY, "no memory for the tokens");
    for (int64_t i = 0, at = 0; i < n; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t draw = state >> 33;
        at = draw % 8 == 0 ? (int64_t)(draw / 8 % (uint64_t)o->vocabulary) : (at * 17 + 3) % o->vocabulary;
        tokens[i] = at;
    }
    kn_tensor made = kn_from(tokens, KN_I64, KN_SHAPE(o->batch, o->context + 1));
    free(tokens);
    return made;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static kn_status train_step(const settings *o, Gpt2 *m, kn_optim optim, kn_tensor tokens, kn_tensor *loss)
{
    kn_scope scope = kn_scope_begin();
    kn_grads grads = NULL;
    kn_dtype autocast = kn_autocast_begin(!strcmp(o->dtype, "bf16") ? KN_BF16 : KN_F32);
    kn_tensor l =
        kn_keep(gpt2_loss(m, kn_narrow(tokens, 1, 0, o->context), kn_narrow(tokens, 1, 1, o->context)));
    kn_autocast_end(autocast);
    kn_status s = kn_backward(l, &grads);
    if (s == KN_OK) s = kn_optim_step(optim, 3e-4, KN_MODULE_OF(Gpt2, m), grads);
    *loss = kn_own(kn_detach(l));
    if (s == KN_OK) s = kn_submit(NULL);
    kn_grads_free(grads);
    kn_scope_end(scope, KN_NONE);
    return s;
}

/* The losses are read after the last step, so that no step waits for one. */
static kn_status run(const settings *o, Gpt2 *m, kn_device device)
{
    kn_tensor batches[BATCHES];
    kn_tensor *losses = calloc((size_t)o->steps, sizeof *losses);
    kn_optim optim = kn_optim_adamw(&(kn_adam_args){.beta2 = 0.95, .weight_decay = 0.1});
    kn_status s = losses && optim ? KN_OK : KN_ERROR_MEMORY;
    int64_t warm = o->steps > 10 ? 5 : 1;
    double start = 0;
    for (int i = 0; i < BATCHES; i++) batches[i] = kn_own(make_tokens(o, i));
    for (int64_t step = 0; step < o->steps && s == KN_OK; step++) {
        s = train_step(o, m, optim, batches[step % BATCHES], &losses[step]);
        if (s == KN_OK && step + 1 == warm) s = kn_sync(device), start = now();
    }
    if (s == KN_OK) s = kn_sync(device);
    double milliseconds = (now() - start) * 1e3 / (double)(o->steps > warm ? o->steps - warm : 1);
    for (int64_t step = 0; step < o->steps && losses && losses[step].bits; step++) {
        if (s == KN_OK) printf("loss %lld %.6f\n", (long long)step, kn_item(losses[step]));
        kn_drop(losses[step]);
    }
    if (s == KN_OK)
        printf("gpt2 %.3f ms a step, %.0f tokens a second\n", milliseconds,
               (double)(o->batch * o->context) / milliseconds * 1e3);
    char report[300] = "", memory[300] = "";
    if (s == KN_OK && kn_device_report(device, "report", report, sizeof report) &&
        kn_device_report(device, "memory", memory, sizeof memory))
        fprintf(stderr, "%s\n%s\n", report, memory);
    for (int i = 0; i < BATCHES; i++) kn_drop(batches[i]);
    kn_optim_free(optim);
    free(losses);
    return s;
}

static int parse(settings *o, int count, char **arguments)
{
    struct {
        const char *name;
        int64_t *value;
    } numbers[] = {{"--layers", &o->layers},   {"--width", &o->width}, {"--heads", &o->heads},
                   {"--context", &o->context}, {"--batch", &o->batch}, {"--vocabulary", &o->vocabulary},
                   {"--steps", &o->steps}};
    for (int i = 0; i < count; i++) {
        bool bad = false, found = kiln_option_value(count, arguments, &i, "--device", &o->device, &bad) ||
                                  kiln_option_value(count, arguments, &i, "--save", &o->save, &bad) ||
                                  kiln_option_value(count, arguments, &i, "--dtype", &o->dtype, &bad);
        for (size_t k = 0; k < sizeof numbers / sizeof *numbers && !found; k++) {
            const char *text = NULL;
            found = kiln_option_value(count, arguments, &i, numbers[k].name, &text, &bad);
            if (text) *numbers[k].value = strtoll(text, NULL, 10);
        }
        /* The driver looks when the device is opened. */
        if (!found && kiln_option(arguments, i, "--profile")) found = setenv("KN_CUDA_PROFILE", "on", 1) == 0;
        if (bad || !found) return kiln_usage_error("bench gpt2: what is '%s'?", arguments[i]);
    }
    if (o->layers < 1 || o->layers > MAX_LAYERS || o->heads < 1 || o->width < o->heads ||
        o->width % o->heads || o->context < 1 || o->batch < 1 || o->vocabulary < 2 || o->steps < 1)
        return kiln_usage_error("bench gpt2: sizes must be above 0 and width a multiple of heads");
    return 0;
}

int kiln_bench_gpt2(int count, char **arguments)
{
    settings o = {.device = "autodiff(fusion(cuda:0))",
                  .dtype = "bf16",
                  .layers = 12,
                  .width = 768,
                  .heads = 12,
                  .context = 1024,
                  .batch = 16,
                  .vocabulary = 50304,
                  .steps = 30};
    Gpt2 m = {0};
    int code = parse(&o, count, arguments);
    if (code) return code;
    kn_device device = kn_device_open(o.device);
    if (device) kn_device_use(device);
    kn_status s = device ? KN_OK : KN_ERROR_DEVICE;
    if (s == KN_OK) kn_seed(device, 1);
    if (s == KN_OK) s = gpt2_init(&m, &o);
    if (s == KN_OK && o.save) s = kn_save(KN_MODULE_OF(Gpt2, &m), o.save, NULL);
    if (s == KN_OK) s = run(&o, &m, device);
    if (s == KN_OK) kiln_print_kernels(device);
    if (s) fprintf(stderr, "kiln: bench gpt2: %s\n", kn_last_error());
    kn_module_drop(KN_MODULE_OF(Gpt2, &m));
    return s ? 1 : 0;
}
