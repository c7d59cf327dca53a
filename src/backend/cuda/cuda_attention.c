/* Kiln's own attention for f16 and bf16 on Hopper: fills the holes of skeleton/attention.cu and launches it. */
#include "backend/cuda/cuda_hopper.h"
#include "backend/cuda/generated/cuda_skeletons.h"
#include <string.h>

enum { QUERIES = 128, KEYS = 128, STAGES = 2, THREADS = 384 };
static const double log2_of_e = 1.4426950408889634;

typedef struct attention_key {
    uint8_t dtype, size, causal, lse;
    kni_hopper_holes holes;
} attention_key;

/* As the text declares them. */
typedef struct attention_params {
    int32_t queries, keys, heads, batch, ratio, tiles;
    float scale;
} attention_params;

static kn_status write_attention(kni_buffer *text, const void *given)
{
    attention_key key;
    memcpy(&key, given, sizeof key);
    kni_hopper_add(text, kni_cuda_skeleton_hopper);
    kni_buffer_format(text,
                      "#define INFINITY_VALUE __int_as_float(0x7f800000)\n"
                      "enum { SIZE = %d, CAUSAL = %d, LSE = %d };\n"
                      "static inline u32 pack(float low, float high) { return pack_%s(low, high); }\n"
                      "static inline float from_element(unsigned short bits) { return from_%s(bits); }\n",
                      key.size, key.causal, key.lse, kn_dtype_name(key.dtype), kn_dtype_name(key.dtype));
    kni_hopper_add_terms(text, &key.holes);
    kni_hopper_add_product(text, &(kni_hopper_product){.name = "score", .dtype = key.dtype, .columns = KEYS});
    kni_hopper_add_product(text, &(kni_hopper_product){.name = "gather",
                                                       .dtype = key.dtype,
                                                       .columns = key.size,
                                                       .registers = true,
                                                       .transpose_b = true});
    kni_hopper_add(text, kni_cuda_skeleton_attention);
    return KN_OK;
}

bool kni_hopper_takes(const kni_cuda *c, const kni_attention *p)
{
    const int64_t most = 1 << 30;
    bool sizes = p->size == p->value_size && (p->size == 64 || p->size == 128) && p->keys > 0;
    bool counts = p->queries < most && p->keys < most && p->key_heads > 0 && p->heads % p->key_heads == 0 &&
                  p->heads < 1 << 20 && p->batch < 1 << 20 && p->heads * p->batch < 1 << 24;
    bool plain = !p->mask.memory && !p->bias.memory && !p->draws.memory && !p->slopes.memory;
    if (p->draws.memory && p->keys % 4) return false;
    return c->runtime.driver.own_attention && (plain || p->own) && kni_is_half(p->dtype) && sizes && counts &&
           p->scale > 0;
}

static kni_runtime_address address_of(const kni_place *place)
{
    return kni_runtime_at(place->memory, (size_t)place->offset * 2);
}

bool kni_hopper_rows(kni_cuda *c, const kni_attention *p, const kni_place *place, const int64_t *steps,
                     int64_t rows, int64_t heads, uint32_t box, kni_tensor_map *map)
{
    kni_hopper_view view = {.dtype = p->dtype,
                            .address = address_of(place),
                            .columns = p->size,
                            .rows = rows,
                            .row_step = rows == 1 ? p->size : steps[2],
                            .outer = {heads, p->batch},
                            .outer_step = {steps[1], steps[0]},
                            .box = box};
    return kni_hopper_map(c, &view, map);
}

kn_status kni_hopper_attention(kni_cuda *c, const kni_attention *p)
{
    kni_tensor_map q, k, v;
    if (!kni_hopper_takes(c, p)) return KN_ERROR_UNSUPPORTED;
    kni_runtime_address out = address_of(&p->out),
                        lse = p->lse.memory ? kni_runtime_at(p->lse.memory, (size_t)p->lse.offset * 4) : 0;
    if (out % 4 || !kni_hopper_rows(c, p, &p->q, p->q_steps, p->queries, p->heads, QUERIES, &q) ||
        !kni_hopper_rows(c, p, &p->k, p->k_steps, p->keys, p->key_heads, KEYS, &k) ||
        !kni_hopper_rows(c, p, &p->v, p->v_steps, p->keys, p->key_heads, KEYS, &v))
        return KN_ERROR_UNSUPPORTED;
    attention_key key = {(uint8_t)p->dtype, (uint8_t)p->size, p->causal, lse != 0, kni_hopper_holes_of(p)};
    int64_t tiles = (p->queries + QUERIES - 1) / QUERIES, total = tiles * p->heads * p->batch;
    if (total > INT32_MAX) return KN_ERROR_UNSUPPORTED;
    kni_module *module = kni_hopper_kernel(c, &key, sizeof key, "attention", write_attention);
    if (!module) return KN_ERROR_INTERNAL;
    attention_params params = {(int32_t)p->queries,
                               (int32_t)p->keys,
                               (int32_t)p->heads,
                               (int32_t)p->batch,
                               (int32_t)(p->heads / p->key_heads),
                               (int32_t)tiles,
                               (float)(p->scale * log2_of_e)};
    kni_hopper_terms terms = kni_hopper_terms_of(p);
    void *arguments[] = {&q, &k, &v, &out, &lse, &params, &terms};
    kni_launch_shape shape = {{(uint32_t)total, 1, 1},
                              THREADS,
                              (uint32_t)(QUERIES + 2 * STAGES * KEYS) * (uint32_t)p->size * 2 + 1024};
    return kni_runtime_launch_arguments(&c->runtime, module, &shape, arguments);
}

kn_status kni_cuda_attention(kni_driver *d, const kni_attention *p)
{
    kni_cuda *c = kni_cuda_of(d);
    kn_status status = kni_runtime_enter(&c->runtime);
    if (status || !p->batch || !p->heads || !p->queries) return status;
    if (p->own) return kni_hopper_attention(c, p);
    status = kni_dnn_attention(c, p, false);
    return status == KN_ERROR_UNSUPPORTED ? kni_hopper_attention(c, p) : status;
}

kn_status kni_cuda_attention_grad(kni_driver *d, const kni_attention *p)
{
    kni_cuda *c = kni_cuda_of(d);
    kn_status status = kni_runtime_enter(&c->runtime);
    if (status) return status;
    if (p->own) return kni_hopper_attention_grad(c, p);
    status = kni_dnn_attention(c, p, true);
    return status == KN_ERROR_UNSUPPORTED ? kni_hopper_attention_grad(c, p) : status;
}
