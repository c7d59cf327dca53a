/* Kiln's own matrix product for f16 and bf16 on Hopper: fills the holes of skeleton/gemm.cu and launches it. */
#include "backend/cuda/cuda_hopper.h"
#include "backend/cuda/generated/cuda_skeletons.h"
#include "core/platform.h"
#include <string.h>

enum { ROWS = 128, DEPTH = 64, THREADS = 384 };

/* All that the text depends on. */
typedef struct gemm_key {
    uint8_t dtype, out_dtype, a_inner, b_inner, pairs, adds, epilogue, spare;
    uint16_t columns, stages;
} gemm_key;

/* As the text declares them. */
typedef struct gemm_params {
    int64_t m, n, row_c, row_d, step_c, step_d;
    int32_t tiles_m, tiles_n, depth_tiles, batch, repeat_a, repeat_b;
    float alpha, beta;
} gemm_params;

/* ---- text */

static const char out_f32[] = "typedef float OUT;\n"
                              "static inline float load_out(float x) { return x; }\n"
                              "static inline void store_out(float *to, float x) { *to = x; }\n"
                              "static inline void store_pair(float *to, float x, float y)\n"
                              "{\n    *(float2 *)to = make_float2(x, y);\n}\n";
static const char out_half[] =
    "typedef unsigned short OUT;\n"
    "static inline float load_out(OUT x) { return from_%s(x); }\n"
    "static inline void store_out(OUT *to, float x) { *to = (OUT)pack_%s(x, 0); }\n"
    "static inline void store_pair(OUT *to, float x, float y) { *(u32 *)to = pack_%s(x, y); }\n";
static const char gelu[] =
    "static inline float gelu(float x)\n{\n"
    "    float u = 0.7978845608f * (x + 0.044715f * x * x * x), e = __expf(-2 * fabsf(u));\n"
    "    float t = __fdividef(1 - e, 1 + e);\n"
    "    return 0.5f * x * (1 + (u < 0 ? -t : t));\n}\n"
    "static inline float gelu_slope(float x)\n{\n"
    "    float u = 1.5957691216f * (x + 0.044715f * x * x * x), e = __expf(-fabsf(u));\n"
    "    float s = __fdividef(u < 0 ? e : 1, 1 + e);\n"
    "    return s + x * s * (1 - s) * (1.5957691216f + 0.2140644488f * x * x);\n}\n";

/* What each bit of the epilogue does to x. */
static void write_finish(kni_buffer *text, int epilogue)
{
    static const char *const steps[] = {"    x += load_out(*bias);\n", "    x = relu(x);\n",
                                        "    x = gelu(x);\n", "    x *= gelu_slope(load_out(*aux));\n"};
    kni_buffer_text(text, "static inline float finish(float x, const OUT *bias, const OUT *aux)\n{\n");
    for (int i = 0; i < KNI_COUNT(steps); i++)
        if (epilogue >> i & 1) kni_buffer_text(text, steps[i]);
    kni_buffer_text(text, "    return x;\n}\n");
}

static kn_status write_gemm(kni_buffer *text, const void *given)
{
    gemm_key key;
    memcpy(&key, given, sizeof key);
    const char *half = kn_dtype_name(key.out_dtype);
    kni_hopper_add(text, kni_cuda_skeleton_hopper);
    kni_buffer_format(
        text, "enum { COLUMNS = %d, STAGES = %d, A_INNER = %d, B_INNER = %d, PAIRS = %d, ADDS = %d };\n",
        key.columns, key.stages, key.a_inner, key.b_inner, key.pairs, key.adds);
    if (key.out_dtype == KN_F32)
        kni_buffer_text(text, out_f32);
    else
        kni_buffer_format(text, out_half, half, half, half);
    kni_buffer_text(text, gelu);
    /* NaN stays. */
    kni_buffer_text(text, "static inline float relu(float x) { return x < 0 ? 0 : x; }\n");
    write_finish(text, key.epilogue);
    kni_hopper_add_product(text, &(kni_hopper_product){.name = "multiply",
                                                       .dtype = key.dtype,
                                                       .columns = key.columns,
                                                       .transpose_a = !key.a_inner,
                                                       .transpose_b = !key.b_inner});
    kni_hopper_add(text, kni_cuda_skeleton_gemm);
    return KN_OK;
}

/* ---- launch */

static kni_runtime_address address_of(const kni_place *place, int dtype)
{
    return kni_runtime_at(place->memory, (size_t)place->offset * kni_bytes_of(dtype));
}

static int64_t tiles_of(int64_t size, int64_t tile) { return (size + tile - 1) / tile; }

/* Wide tiles read the least; narrower ones keep more multiprocessors busy when the output is small. */
static int choose_columns(const kni_cuda *c, const kni_product *p)
{
    static const int widths[] = {256, 128, 64};
    int64_t rows = tiles_of(p->m, ROWS) * p->batch;
    for (int i = 0; i < KNI_COUNT(widths); i++)
        if (rows * tiles_of(p->n, widths[i]) >= c->runtime.driver.processors) return widths[i];
    return 64;
}

static bool takes(const kni_cuda *c, const kni_product *p)
{
    bool narrow = kni_is_half(p->dtype);
    bool out = p->out_dtype == p->dtype || p->out_dtype == KN_F32;
    /* Rows that lie in each other would be written in any order. */
    return c->major == 9 && c->minor == 0 && narrow && out && p->k > 0 && p->row_d >= p->n &&
           (p->batch == 1 || p->step_d != 0) && p->batch < 1 << 30;
}

kn_status kni_hopper_gemm(kni_cuda *c, const kni_product *p)
{
    if (!takes(c, p)) return KN_ERROR_UNSUPPORTED;
    int columns = choose_columns(c, p);
    size_t size = kni_bytes_of(p->out_dtype);
    kni_runtime_address at_c = p->beta != 0 ? address_of(&p->c, p->out_dtype) : 0,
                        at_d = address_of(&p->d, p->out_dtype);
    kni_runtime_address bias = p->bias.memory ? address_of(&p->bias, p->out_dtype) : 0;
    kni_runtime_address aux = p->aux.memory ? address_of(&p->aux, p->out_dtype) : 0;
    int64_t tiles_m = tiles_of(p->m, ROWS), tiles_n = tiles_of(p->n, columns), total;
    if (__builtin_mul_overflow(tiles_m, tiles_n, &total) || __builtin_mul_overflow(total, p->batch, &total) ||
        total > INT32_MAX - 65536)
        return KN_ERROR_UNSUPPORTED;
    gemm_key key = {.dtype = (uint8_t)p->dtype,
                    .out_dtype = (uint8_t)p->out_dtype,
                    .a_inner = !p->transpose_a,
                    .b_inner = p->transpose_b,
                    .pairs = p->row_d % 2 == 0 && p->step_d % 2 == 0 && at_d % (2 * size) == 0,
                    .adds = p->beta != 0,
                    .epilogue = (uint8_t)p->epilogue,
                    .columns = (uint16_t)columns,
                    .stages = columns == 256   ? 4
                              : columns == 128 ? 6
                                               : 8};
    kni_hopper_view a = {.dtype = p->dtype,
                         .address = address_of(&p->a, p->dtype),
                         .columns = p->transpose_a ? p->m : p->k,
                         .rows = p->transpose_a ? p->k : p->m,
                         .row_step = p->row_a,
                         .outer = {p->batch},
                         .outer_step = {p->step_a},
                         .box = p->transpose_a ? 64 : ROWS};
    kni_hopper_view b = {.dtype = p->dtype,
                         .address = address_of(&p->b, p->dtype),
                         .columns = p->transpose_b ? p->k : p->n,
                         .rows = p->transpose_b ? p->n : p->k,
                         .row_step = p->row_b,
                         .outer = {p->batch},
                         .outer_step = {p->step_b},
                         .box = p->transpose_b ? (uint32_t)columns : 64};
    /* A single row needs no step, and its step may be anything. */
    if (a.rows == 1) a.row_step = (a.columns + 7) / 8 * 8;
    if (b.rows == 1) b.row_step = (b.columns + 7) / 8 * 8;
    kni_tensor_map map_a, map_b;
    if (!kni_hopper_map(c, &a, &map_a) || !kni_hopper_map(c, &b, &map_b)) return KN_ERROR_UNSUPPORTED;
    kni_module *module = kni_hopper_kernel(c, &key, sizeof key, "gemm", write_gemm);
    if (!module) return KN_ERROR_INTERNAL;
    gemm_params params = {p->m,
                          p->n,
                          p->row_c,
                          p->row_d,
                          p->step_c,
                          p->step_d,
                          (int32_t)tiles_m,
                          (int32_t)tiles_n,
                          (int32_t)tiles_of(p->k, DEPTH),
                          (int32_t)p->batch,
                          p->batch == 1 || p->step_a == 0,
                          p->batch == 1 || p->step_b == 0,
                          (float)p->alpha,
                          (float)p->beta};
    void *arguments[] = {&map_a, &map_b, &at_c, &at_d, &bias, &aux, &params};
    kni_launch_shape shape = {
        {total < c->runtime.driver.processors ? (uint32_t)total : c->runtime.driver.processors, 1, 1},
        THREADS,
        (uint32_t)key.stages * (ROWS + (uint32_t)columns) * DEPTH * 2 + 1024};
    return kni_runtime_launch_arguments(&c->runtime, module, &shape, arguments);
}
