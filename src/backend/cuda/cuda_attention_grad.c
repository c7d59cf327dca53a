/* Kiln's own gradient of attention for f16 and bf16 on Hopper: rows are prepared, the skeleton attention_grad.cu walks,
   and the wide sums of dq become elements. */
#include "backend/cuda/cuda_hopper.h"
#include "backend/cuda/generated/cuda_skeletons.h"
#include <string.h>

enum { KEYS = 128, QUERIES = 64, STAGES = 2, THREADS = 384, ROW_THREADS = 256 };
static const double log2_of_e = 1.4426950408889634;

typedef struct grad_key {
    uint8_t dtype, size, causal;
    kni_hopper_holes holes;
} grad_key;

/* As the texts declare them. */
typedef struct row_params {
    int64_t dy_batch, dy_head, dy_row;
    int32_t queries, padded, heads, batch;
    float scale;
} row_params;

typedef struct grad_params {
    int32_t queries, keys, heads, key_heads, batch, padded, tiles;
    float scale, scale_log2;
} grad_params;

static void add_types(kni_buffer *text, const grad_key *key)
{
    const char *type = kn_dtype_name(key->dtype);
    kni_hopper_add(text, kni_cuda_skeleton_hopper);
    kni_buffer_format(text,
                      "enum { SIZE = %d, CAUSAL = %d };\n"
                      "static inline u32 pack(float low, float high) { return pack_%s(low, high); }\n"
                      "static inline float from_element(unsigned short bits) { return from_%s(bits); }\n",
                      key->size, key->causal, type, type);
}

static kn_status write_rows(kni_buffer *text, const void *key)
{
    add_types(text, key);
    kni_hopper_add(text, kni_cuda_skeleton_attention_rows);
    return KN_OK;
}

static kn_status write_grad(kni_buffer *text, const void *given)
{
    const grad_key *key = given;
    add_types(text, key);
    kni_hopper_add_terms(text, &key->holes);
    kni_hopper_add_product(text,
                           &(kni_hopper_product){.name = "score", .dtype = key->dtype, .columns = QUERIES});
    kni_hopper_add_product(text, &(kni_hopper_product){.name = "gather",
                                                       .dtype = key->dtype,
                                                       .columns = key->size,
                                                       .registers = true,
                                                       .transpose_b = true});
    kni_hopper_add_product(
        text,
        &(kni_hopper_product){
            .name = "spread", .dtype = key->dtype, .columns = 64, .transpose_a = true, .transpose_b = true});
    kni_hopper_add(text, kni_cuda_skeleton_attention_grad);
    return KN_OK;
}

static kni_runtime_address address_of(const kni_place *place, size_t size)
{
    return kni_runtime_at(place->memory, (size_t)place->offset * size);
}

/* The scratch memory: logarithms and dots of the padded rows, wide sums of dq. */
typedef struct scratch {
    kni_runtime_address logs, dots, wide;
} scratch;

static kn_status run_rows(kni_cuda *c, const kni_attention *p, const grad_key *key, const row_params *params,
                          const scratch *at, bool before)
{
    grad_key plain = {.dtype = key->dtype, .size = key->size};
    kni_module *module = kni_hopper_kernel(c, &plain, sizeof plain,
                                           before ? "attention_prepare" : "attention_finish", write_rows);
    if (!module) return KN_ERROR_INTERNAL;
    int64_t rows = (int64_t)params->heads * params->batch * params->padded;
    int64_t groups = before ? (rows + 7) / 8 : (rows * p->size / 4 + ROW_THREADS - 1) / ROW_THREADS;
    if (groups > INT32_MAX) return KN_ERROR_UNSUPPORTED;
    kni_launch_shape shape = {{(uint32_t)groups, 1, 1}, ROW_THREADS, 0};
    kni_runtime_address dy = address_of(&p->dy, 2), out = address_of(&p->out, 2),
                        lse = address_of(&p->lse, 4);
    kni_runtime_address dq = address_of(&p->dq, 2), logs = at->logs, dots = at->dots, wide = at->wide;
    row_params copy = *params;
    void *first[] = {&dy, &out, &lse, &logs, &dots, &wide, &copy}, *last[] = {&wide, &dq, &copy};
    return kni_runtime_launch_arguments(&c->runtime, module, &shape, before ? first : last);
}

typedef struct operand_maps {
    kni_tensor_map q, k, v, dy;
} operand_maps;

/* False where the copy engine does not take an operand as it lies. */
static bool make_maps(kni_cuda *c, const kni_attention *p, operand_maps *m)
{
    return kni_hopper_rows(c, p, &p->q, p->q_steps, p->queries, p->heads, QUERIES, &m->q) &&
           kni_hopper_rows(c, p, &p->k, p->k_steps, p->keys, p->key_heads, KEYS, &m->k) &&
           kni_hopper_rows(c, p, &p->v, p->v_steps, p->keys, p->key_heads, KEYS, &m->v) &&
           kni_hopper_rows(c, p, &p->dy, p->dy_steps, p->queries, p->heads, QUERIES, &m->dy);
}

static kn_status run_grad(kni_cuda *c, const kni_attention *p, const grad_key *key, operand_maps *maps,
                          int64_t padded, const scratch *at)
{
    kni_module *module = kni_hopper_kernel(c, key, sizeof *key, "attention_grad", write_grad);
    if (!module) return KN_ERROR_INTERNAL;
    int64_t tiles = (p->keys + KEYS - 1) / KEYS, total = tiles * p->key_heads * p->batch;
    if (total > INT32_MAX) return KN_ERROR_UNSUPPORTED;
    grad_params params = {(int32_t)p->queries,   (int32_t)p->keys,  (int32_t)p->heads,
                          (int32_t)p->key_heads, (int32_t)p->batch, (int32_t)padded,
                          (int32_t)tiles,        (float)p->scale,   (float)(p->scale * log2_of_e)};
    kni_runtime_address dk = address_of(&p->dk, 2), dv = address_of(&p->dv, 2);
    kni_runtime_address logs = at->logs, dots = at->dots, wide = at->wide;
    kni_hopper_terms terms = kni_hopper_terms_of(p);
    void *arguments[] = {&maps->q, &maps->k, &maps->v, &maps->dy, &logs, &dots,
                         &wide,    &dk,      &dv,      &params,   &terms};
    uint32_t bytes = (2 * KEYS + STAGES * 2 * QUERIES) * (uint32_t)p->size * 2 + 2 * KEYS * 128 + 1024;
    kni_launch_shape shape = {{(uint32_t)total, 1, 1}, THREADS, bytes};
    return kni_runtime_launch_arguments(&c->runtime, module, &shape, arguments);
}

kn_status kni_hopper_attention_grad(kni_cuda *c, const kni_attention *p)
{
    operand_maps maps;
    if (!kni_hopper_takes(c, p) || !p->lse.memory || !p->out.memory || p->queries < 1 ||
        !make_maps(c, p, &maps))
        return KN_ERROR_UNSUPPORTED;
    if (address_of(&p->dq, 2) % 4 || address_of(&p->dk, 2) % 4 || address_of(&p->dv, 2) % 4)
        return KN_ERROR_UNSUPPORTED;
    int64_t padded = (p->queries + QUERIES - 1) / QUERIES * QUERIES, rows = padded * p->heads * p->batch;
    if (rows > INT32_MAX) return KN_ERROR_UNSUPPORTED;
    char *memory = kni_cuda_scratch(c, (size_t)rows * 4 * (2 + (size_t)p->size));
    if (!memory) return KN_ERROR_UNSUPPORTED;
    scratch at = {kni_runtime_at(memory, 0), kni_runtime_at(memory, (size_t)rows * 4),
                  kni_runtime_at(memory, (size_t)rows * 8)};
    grad_key key = {(uint8_t)p->dtype, (uint8_t)p->size, p->causal, kni_hopper_holes_of(p)};
    row_params rows_of = {p->dy_steps[0],  p->dy_steps[1],    p->dy_steps[2],    (int32_t)p->queries,
                          (int32_t)padded, (int32_t)p->heads, (int32_t)p->batch, (float)p->scale};
    kn_status status = run_rows(c, p, &key, &rows_of, &at, true);
    if (!status) status = run_grad(c, p, &key, &maps, padded, &at);
    return status ? status : run_rows(c, p, &key, &rows_of, &at, false);
}
