/* The module system: paths, tied weights, freezing, moving, copying, the check for forgotten params, the summary, LoRA. */
#include "support/check.h"
#include <kn/nn.h>
#include <stdlib.h>

typedef struct Block {
    kn_nn_linear up, down;
    kn_nn_dropout drop;
} Block;
static const kn_module_type Block_type = {"Block", sizeof(Block),
                                          (const kn_field[]){KN_MODULE(Block, up, kn_nn_linear),
                                                             KN_MODULE(Block, down, kn_nn_linear),
                                                             KN_MODULE(Block, drop, kn_nn_dropout),
                                                             {0}}};

typedef struct Net {
    kn_nn_embedding embedding;
    Block *blocks;
    int32_t n_blocks;
    kn_nn_batch_norm norms[2];
    kn_nn_linear *extra;
    kn_nn_linear head;
    int64_t note; /* what no field describes is the user's own */
} Net;
static const kn_module_type Net_type = {"Net", sizeof(Net),
                                        (const kn_field[]){KN_MODULE(Net, embedding, kn_nn_embedding),
                                                           KN_LIST(Net, blocks, n_blocks, Block),
                                                           KN_ARRAY(Net, norms, kn_nn_batch_norm),
                                                           KN_OPTIONAL(Net, extra, kn_nn_linear),
                                                           KN_MODULE(Net, head, kn_nn_linear),
                                                           {0}}};

/* The head shares the embedding's weight. */
static Net make_net(void)
{
    Net net = {.n_blocks = 2, .note = 3};
    net.blocks = kn_module_list(&Block_type, 2);
    bool good = net.blocks && kn_nn_embedding_init(&net.embedding, 5, 4, NULL) == KN_OK;
    for (int i = 0; good && i < 2; i++)
        good = kn_nn_linear_init(&net.blocks[i].up, 4, 8, NULL) == KN_OK &&
               kn_nn_linear_init(&net.blocks[i].down, 8, 4, NULL) == KN_OK &&
               kn_nn_dropout_init(&net.blocks[i].drop, 0.1, NULL) == KN_OK &&
               kn_nn_batch_norm_init(&net.norms[i], 4, NULL) == KN_OK;
    CHECK(good && kn_nn_linear_init(&net.head, 4, 5, &(kn_nn_linear_args){.no_bias = true}) == KN_OK);
    kn_param_drop(&net.head.weight);
    net.head.weight = net.embedding.weight;
    return net;
}

typedef struct Paths {
    char text[2000];
    int tied, buffers;
} Paths;

static kn_status join(void *context, const kn_module_entry *entry)
{
    Paths *p = context;
    snprintf(p->text + strlen(p->text), sizeof p->text - strlen(p->text), "%s ", entry->path);
    p->tied += entry->tied;
    p->buffers += entry->buffer;
    return KN_OK;
}

static void paths(kn_module net)
{
    Paths p = {0};
    CHECK(kn_module_visit(net, join, &p) == KN_OK);
    CHECK(
        strcmp(p.text,
               "embedding.weight blocks.0.up.weight blocks.0.up.bias blocks.0.down.weight blocks.0.down.bias "
               "blocks.1.up.weight blocks.1.up.bias blocks.1.down.weight blocks.1.down.bias norms.0.weight "
               "norms.0.bias norms.0.running_mean norms.0.running_var norms.0.num_batches_tracked "
               "norms.1.weight "
               "norms.1.bias norms.1.running_mean norms.1.running_var norms.1.num_batches_tracked "
               "head.weight ") == 0);
    CHECK(p.tied == 1 && p.buffers == 6);
    CHECK(kn_module_count(net, false) == 20 + 2 * (4 * 8 + 8 + 8 * 4 + 4) + 2 * 8);
    CHECK(kn_module_count(net, true) == kn_module_count(net, false) + 2 * 9);
    CHECK(kn_module_find(net, "blocks.1.up.bias") == &((Net *)net.self)->blocks[1].up.bias);
    CHECK(kn_module_find(net, "blocks.1.up.bais") == NULL);
    CHECK(strstr(kn_last_error(), "the nearest is 'blocks.1.up.bias'") != NULL);
    CHECK(kn_module_find(net, NULL) == NULL);
}

static void modes(kn_module net)
{
    const Net *n = net.self;
    CHECK(n->blocks[1].drop.training && n->norms[0].training);
    kn_module_train(net, false);
    CHECK(!n->blocks[0].drop.training && !n->blocks[1].drop.training && !n->norms[1].training);
    kn_module_train(net, true);
    CHECK(n->blocks[1].drop.training);
}

static void freezing(kn_module net)
{
    const Net *n = net.self;
    CHECK(kn_is_require_grad(kn_value(n->embedding.weight)) &&
          !kn_is_require_grad(kn_value(n->norms[0].running_mean)));
    CHECK(kn_module_freeze(net, "^blocks\\.[0-9]+\\.up", true) == KN_OK);
    CHECK(!kn_is_require_grad(kn_value(n->blocks[0].up.weight)) &&
          !kn_is_require_grad(kn_value(n->blocks[1].up.bias)));
    CHECK(kn_is_require_grad(kn_value(n->blocks[0].down.weight)));
    CHECK(kn_module_freeze(net, NULL, false) == KN_OK);
    CHECK(kn_is_require_grad(kn_value(n->blocks[0].up.weight)) &&
          !kn_is_require_grad(kn_value(n->norms[0].running_mean)));
    CHECK_ERROR(kn_module_freeze(net, "encoder", true), "no param of Net has a path that matches 'encoder'");
    CHECK_ERROR(kn_module_freeze(net, "(", true), "no regular expression");
}

static kn_tensor doubled(void *context, const kn_module_entry *entry, kn_tensor value)
{
    ++*(int *)context;
    return entry->buffer ? kn_alias(value) : kn_mul_scalar(value, 2);
}

static kn_tensor broken(void *context, const kn_module_entry *entry, kn_tensor value)
{
    (void)context;
    bool second = strcmp(entry->path, "blocks.0.up.weight") == 0;
    return second ? kn_zeros(KN_SHAPE(1), KN_F32) : kn_cast(kn_alias(value), KN_F64);
}

static kn_tensor lent(void *context, const kn_module_entry *entry, kn_tensor value)
{
    (void)entry, (void)value;
    return *(kn_tensor *)context;
}

static void mapping(kn_module net)
{
    const Net *n = net.self;
    int calls = 0;
    double before = kn_item(kn_sum(kn_value(n->head.weight), KN_AXES_ALL, false));
    CHECK(kn_module_map(net, doubled, &calls) == KN_OK && calls == 19);
    CHECK_VALUES(kn_sum(kn_value(n->head.weight), KN_AXES_ALL, false), 1e-5, 2 * before);
    CHECK(kn_module_freeze(net, "head|embedding", true) == KN_OK);
    CHECK(kn_module_cast(net, KN_F64) == KN_OK);
    CHECK(kn_dtype_of(kn_value(n->head.weight)) == KN_F64 &&
          kn_dtype_of(kn_value(n->norms[0].num_batches_tracked)) == KN_I64);
    CHECK(n->head.weight.handle.bits == n->embedding.weight.handle.bits);
    CHECK(!kn_is_require_grad(kn_value(n->head.weight)) &&
          kn_is_require_grad(kn_value(n->blocks[0].up.weight)));
    CHECK(!kn_is_require_grad(kn_value(n->norms[1].running_var)));
    CHECK(kn_module_cast(net, KN_F32) == KN_OK && kn_module_freeze(net, NULL, false) == KN_OK);
    CHECK_ERROR(kn_module_cast(net, KN_I32), "i32 is no float dtype");
    /* A failure in the middle leaves tied params tied. */
    CHECK_ERROR(kn_module_map(net, broken, NULL), "blocks.0.up.weight: the new value has another shape");
    CHECK(n->head.weight.handle.bits == n->embedding.weight.handle.bits && kn_ok(kn_value(n->head.weight)));
    CHECK(kn_module_cast(net, KN_F32) == KN_OK);
    /* A value that is refused stays its owner's. */
    kn_tensor owned = kn_own(kn_zeros(KN_SHAPE(1), KN_F32)), kept = kn_keep(kn_zeros(KN_SHAPE(1), KN_F32));
    CHECK_ERROR(kn_module_map(net, lent, &owned), "the new value has another shape");
    CHECK_ERROR(kn_module_map(net, lent, &kept), "the new value has another shape");
    CHECK(kn_ok(owned) && kn_ok(kept));
    kn_drop(owned), kn_drop(kept);
}

static void copying(kn_module net)
{
    Net clone = {0}, other = make_net();
    kn_module twin = KN_MODULE_OF(Net, &clone);
    const Net *n = net.self;
    CHECK(kn_module_copy(twin, net) == KN_OK);
    CHECK(clone.note == 3 && clone.n_blocks == 2 && clone.blocks != n->blocks);
    CHECK(clone.head.weight.handle.bits == clone.embedding.weight.handle.bits);
    CHECK(clone.head.weight.handle.bits != n->head.weight.handle.bits);
    kn_tensor gap = kn_sub(kn_value(clone.blocks[1].up.weight), kn_value(n->blocks[1].up.weight));
    CHECK(kn_item(kn_max_abs(gap, KN_AXES_ALL, false)) == 0);
    /* Changing one does not change the other. */
    CHECK(kn_param_set(&clone.blocks[1].up.bias, kn_zeros(KN_SHAPE(8), KN_F32)) == KN_OK);
    CHECK(kn_item(kn_max_abs(kn_value(n->blocks[1].up.bias), KN_AXES_ALL, false)) > 0);
    CHECK(kn_module_copy(KN_MODULE_OF(Net, &other), twin) == KN_OK);
    CHECK(kn_item(kn_max_abs(kn_value(other.blocks[1].up.bias), KN_AXES_ALL, false)) == 0);
    kn_nn_linear small;
    CHECK(kn_nn_linear_init(&small, 2, 2, NULL) == KN_OK);
    CHECK_ERROR(kn_module_copy(KN_MODULE_OF(kn_nn_linear, &small), KN_MODULE_OF(kn_nn_linear, &other.head)),
                "params");
    CHECK_ERROR(kn_module_copy(KN_MODULE_OF(kn_nn_linear, &small), net), "different types");
    kn_module_drop(KN_MODULE_OF(kn_nn_linear, &small));
    kn_module_drop(KN_MODULE_OF(Net, &other));
    kn_module_drop(twin);
    CHECK(clone.blocks == NULL && clone.n_blocks == 0);
    CHECK(kn_ok(kn_value(n->head.weight)));
}

typedef struct Forgetful {
    kn_nn_linear first;
    kn_param scale;
} Forgetful;
static const kn_module_type Forgetful_type = {
    "Forgetful", sizeof(Forgetful), (const kn_field[]){KN_MODULE(Forgetful, first, kn_nn_linear), {0}}};
typedef struct Outer {
    int64_t size;
    Forgetful inner;
} Outer;
static const kn_module_type Outer_type = {"Outer", sizeof(Outer),
                                          (const kn_field[]){KN_MODULE(Outer, inner, Forgetful), {0}}};

static void checking(kn_module net)
{
    char words[100];
    Outer outer = {.size = 7};
    CHECK(kn_module_check(net) == KN_OK);
    CHECK(kn_module_check(KN_MODULE_OF(Outer, &outer)) == KN_OK);
    outer.inner.scale = kn_param_make(kn_ones(KN_SHAPE(3), KN_F32));
    snprintf(words, sizeof words, "Forgetful (inner) has a param at offset %d, behind the field first",
             (int)offsetof(Forgetful, scale));
    CHECK_ERROR(kn_module_check(KN_MODULE_OF(Outer, &outer)), words);
    /* A plain tensor is nobody's param. */
    kn_param_drop(&outer.inner.scale);
    outer.inner.scale.handle = kn_own(kn_ones(KN_SHAPE(3), KN_F32));
    CHECK(kn_module_check(KN_MODULE_OF(Outer, &outer)) == KN_OK);
    kn_drop(outer.inner.scale.handle);
    CHECK_ERROR(kn_module_check((kn_module){NULL, &Net_type}), "NULL");
}

static void summary(kn_module net)
{
    char text[6000];
    size_t n = kn_module_format(net, text, sizeof text);
    CHECK(n == strlen(text) && n > 500);
    CHECK(strstr(text, "Linear(in_features=4, out_features=8)") != NULL);
    CHECK(strstr(text, "BatchNorm(num_features=4, eps=1e-05, momentum=0.1, cumulative=false)") != NULL);
    CHECK(strstr(text, "blocks.1.up.weight") != NULL && strstr(text, "[8, 4]") != NULL);
    CHECK(strstr(text, "tied") != NULL && strstr(text, "buffer f32") != NULL);
    CHECK(strstr(text, "188 params, 188 of them trainable; 18 numbers in buffers; ") != NULL);
    CHECK(!strstr(text, " \n")); /* no row is filled up behind its last cell */
    CHECK(kn_module_format(net, NULL, 0) == n);
    CHECK(kn_module_format(net, text, 10) == n && strlen(text) == 9);
    if (getenv("KN_SHOW")) CHECK(kn_module_print(net) == KN_OK);
}

/* ---- LoRA */

static void lora(kn_module net)
{
    Net *n = net.self;
    kn_tensor x = kn_keep(kn_random_normal(KN_SHAPE(3, 4), 0, 1, KN_F32));
    kn_tensor before = kn_keep(kn_nn_linear_forward(&n->blocks[0].up, x));
    CHECK_ERROR(kn_lora_apply(net, "decoder", NULL), "no linear layer of Net");
    CHECK(kn_lora_apply(net, "blocks\\..*\\.up$", &(kn_lora_args){.rank = 2, .alpha = 4}) == KN_OK);
    CHECK(n->blocks[0].up.lora && n->blocks[1].up.lora && !n->blocks[0].down.lora && !n->head.lora);
    CHECK(kn_item(kn_max_abs(kn_sub(kn_nn_linear_forward(&n->blocks[0].up, x), before), KN_AXES_ALL,
                             false)) == 0);
    CHECK(!kn_is_require_grad(kn_value(n->blocks[0].up.weight)) &&
          !kn_is_require_grad(kn_value(n->norms[0].weight)));
    CHECK(kn_is_require_grad(kn_value(n->blocks[0].up.lora->a)) && kn_module_find(net, "blocks.1.up.lora.b"));
    CHECK(kn_param_set(&n->blocks[0].up.lora->b, kn_random_normal(KN_SHAPE(8, 2), 0, 1, KN_F32)) == KN_OK);
    kn_tensor adapted = kn_keep(kn_nn_linear_forward(&n->blocks[0].up, x));
    kn_tensor product = kn_matmul(kn_value(n->blocks[0].up.lora->b), kn_value(n->blocks[0].up.lora->a));
    kn_tensor by_hand = kn_add(before, kn_linear(x, kn_mul_scalar(product, 2), KN_NONE));
    CHECK(kn_item(kn_max_abs(kn_sub(adapted, by_hand), KN_AXES_ALL, false)) < 1e-5);
    CHECK(kn_lora_merge(net) == KN_OK);
    CHECK(!n->blocks[0].up.lora && !n->blocks[1].up.lora);
    CHECK(kn_item(kn_max_abs(kn_sub(kn_nn_linear_forward(&n->blocks[0].up, x), adapted), KN_AXES_ALL,
                             false)) < 1e-5);
    CHECK(kn_lora_apply(net, NULL, NULL) == KN_OK && n->head.lora);
    kn_lora_remove(net);
    CHECK(!n->head.lora);
    CHECK(kn_module_freeze(net, NULL, false) == KN_OK);
}

static void gradients(kn_module net)
{
    Net *n = net.self;
    kn_tensor x = kn_nn_embedding_forward(&n->embedding, kn_from((int64_t[]){1, 2, 3}, KN_I64, KN_SHAPE(3)));
    for (int i = 0; i < n->n_blocks; i++) {
        x = kn_nn_linear_forward(&n->blocks[i].down, kn_gelu(kn_nn_linear_forward(&n->blocks[i].up, x)));
        x = kn_nn_dropout_forward(&n->blocks[i].drop, kn_nn_batch_norm_forward(&n->norms[i], x));
    }
    kn_tensor loss = kn_sum(kn_square(kn_nn_linear_forward(&n->head, x)), KN_AXES_ALL, false);
    kn_grads grads = NULL;
    CHECK(kn_backward(loss, &grads) == KN_OK);
    CHECK(kn_ok(kn_grads_get(grads, kn_value(n->blocks[0].up.weight))) &&
          kn_ok(kn_grads_get(grads, kn_value(n->head.weight))));
    CHECK(kn_grads_get(grads, kn_value(n->norms[0].running_mean)).bits == 0);
    kn_grads_free(grads);
}

static void moving(kn_module net)
{
    const Net *n = net.self;
    kn_device plain = kn_device_open("cpu"), tapes = kn_device_current();
    CHECK(kn_module_to(net, plain) == KN_OK);
    CHECK(kn_device_of(kn_value(n->head.weight)) == plain && !kn_is_require_grad(kn_value(n->head.weight)));
    CHECK(n->head.weight.handle.bits == n->embedding.weight.handle.bits);
    CHECK(kn_module_to(net, tapes) == KN_OK);
    CHECK(kn_is_require_grad(kn_value(n->head.weight)) &&
          !kn_is_require_grad(kn_value(n->norms[0].running_var)));
    kn_device_close(plain);
}

/* With the nth allocation of the library failing, a layer is made whole or not at all. */
static void out_of_memory(void)
{
    for (int64_t n = 1; n < 200; n++) {
        int64_t before = kn_memory_stats().tensors_now;
        kn_nn_batch_norm norm = {0};
        kn_nn_conv2d conv = {0};
        kn_memory_fail_after(n);
        kn_status s = kn_nn_batch_norm_init(&norm, 4, NULL);
        kn_status t = kn_nn_conv2d_init(&conv, 64, 64, KN_INTS(3, 3), NULL);
        kn_memory_fail_after(0);
        CHECK((s == KN_OK) == (norm.running_var.handle.bits != 0) &&
              (t == KN_OK) == (conv.bias.handle.bits != 0));
        CHECK(s == KN_OK || s == KN_ERROR_MEMORY);
        CHECK(t == KN_OK || t == KN_ERROR_MEMORY);
        kn_module_drop(KN_MODULE_OF(kn_nn_batch_norm, &norm));
        kn_module_drop(KN_MODULE_OF(kn_nn_conv2d, &conv));
        if (!CHECK(kn_memory_stats().tensors_now == before)) return;
        if (s == KN_OK && t == KN_OK && n > 30) return;
    }
}

int main(void)
{
    kn_device device = kn_device_open("autodiff(cpu)");
    kn_device_use(device);
    kn_scope scope = kn_scope_begin();
    int64_t before = kn_memory_stats().tensors_now;
    Net net = make_net();
    kn_module module = KN_MODULE_OF(Net, &net);
    paths(module);
    modes(module);
    freezing(module);
    mapping(module);
    copying(module);
    checking(module);
    summary(module);
    gradients(module);
    lora(module);
    moving(module);
    out_of_memory();
    kn_module_drop(module);
    kn_scope_end(scope, KN_NONE);
    CHECK(kn_memory_stats().tensors_now == before);
    return check_report();
}
