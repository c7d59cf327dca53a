/* Matrix products of a device: by the driver's library where it has one that fits, else by the tiled kernel, which
   reads operands by their strides. */
#include "backend/gpu/gpu.h"
#include "backend/gpu/product.h"
#include "backend/gpu/product_kernel.h"
#include "core/strided_copy.h"
#include <string.h>

/* The numbers of the plain kernel, in the order of its params after the implicit ones. */
enum {
    M,
    N,
    K,
    BATCHES,
    A_ROW,
    A_COLUMN,
    A_STEP,
    B_ROW,
    B_COLUMN,
    B_STEP,
    Y_ROW,
    Y_STEP,
    BIAS_STEP,
    NUMBERS
};

static kni_ir_id by_strides(kni_tiled *t, kni_ir_id row, kni_ir_id column, kni_ir_id batch, int first)
{
    kni_ir_builder *b = t->b;
    kni_ir_id at = kni_ir_word(b, "mul", row, kni_tiled_number(t, t->numbers[first]));
    at = kni_ir_word(b, "add", at, kni_ir_word(b, "mul", column, kni_tiled_number(t, t->numbers[first + 1])));
    return kni_ir_word(b, "add", at,
                       kni_ir_word(b, "mul", batch, kni_tiled_number(t, t->numbers[first + 2])));
}

static kni_ir_id place_a(kni_tiled *t, kni_ir_id row, kni_ir_id column, kni_ir_id batch, kni_ir_id *inside)
{
    *inside = 0;
    return by_strides(t, row, column, batch, A_ROW);
}

static kni_ir_id place_b(kni_tiled *t, kni_ir_id row, kni_ir_id column, kni_ir_id batch, kni_ir_id *inside)
{
    *inside = 0;
    return by_strides(t, row, column, batch, B_ROW);
}

static kni_ir_id place_y(kni_tiled *t, kni_ir_id row, kni_ir_id column, kni_ir_id batch, kni_ir_id *inside)
{
    kni_ir_builder *b = t->b;
    *inside = 0;
    kni_ir_id at = kni_ir_word(b, "mul", row, kni_tiled_number(t, t->numbers[Y_ROW]));
    at = kni_ir_word(b, "add", at, kni_ir_word(b, "mul", batch, kni_tiled_number(t, t->numbers[Y_STEP])));
    return kni_ir_word(b, "add", at, column);
}

static kni_ir_id place_bias(kni_tiled *t, kni_ir_id row, kni_ir_id column, kni_ir_id batch)
{
    (void)row, (void)batch;
    return kni_ir_word(t->b, "mul", column, kni_tiled_number(t, t->numbers[BIAS_STEP]));
}

/* All that the text of a plain kernel depends on. */
typedef struct signature {
    char kind;
    uint8_t dtype, out_dtype, has_bias, a_along_rows, b_along_rows, wide, tile;
} signature;

static kni_ir *build(const signature *s)
{
    static const char *const names[NUMBERS] = {"m",        "n",      "k",        "batches",  "a_row",
                                               "a_column", "a_step", "b_row",    "b_column", "b_step",
                                               "y_row",    "y_step", "bias_step"};
    uint32_t numbers[NUMBERS], compute = kni_compute_dtype[kni_compute_of[s->dtype]];
    kni_tiled t = {.compute = (int)compute, .index = s->wide ? KN_I64 : KN_I32, .tile = s->tile, .depth = 16};
    t.block = s->tile == 64 ? 4 : s->tile == 32 ? 2 : 1;
    t.compute = compute == KN_I32 || compute == KN_U64 ? KN_I64 : (int)compute;
    t.a_along_rows = s->a_along_rows;
    t.b_along_rows = s->b_along_rows;
    kni_ir_builder b = kni_ir_begin("product", kni_tiled_workgroup(&t));
    t.b = &b;
    t.a = kni_ir_buffer(&b, "a", s->dtype, KNI_IR_READ);
    t.b_ = kni_ir_buffer(&b, "b", s->dtype, KNI_IR_READ);
    t.y = kni_ir_buffer(&b, "y", s->out_dtype, KNI_IR_WRITE);
    if (s->has_bias) t.bias = kni_ir_buffer(&b, "bias", s->dtype, KNI_IR_READ);
    kni_ir_add_item_params(&b);
    for (int i = 0; i < NUMBERS; i++) numbers[i] = kni_ir_param_add(&b, names[i], KN_I64, 0);
    t.numbers = numbers;
    t.m = numbers[M];
    t.n = numbers[N];
    t.k = numbers[K];
    t.batches = numbers[BATCHES];
    t.place_a = place_a;
    t.place_b = place_b;
    t.place_y = place_y;
    t.place_bias = s->has_bias ? place_bias : NULL;
    kni_tiled_build(&t);
    kni_ir *ir = kni_ir_finish(&b);
    if (!ir || kni_ir_simplify(ir) == KN_OK) return ir;
    kni_ir_free(ir);
    return NULL;
}

/* Larger tiles where there are enough of them to keep the device busy. */
static uint8_t tile_of(const kni_gpu *g, const kni_gpu_product *p)
{
    for (uint8_t tile = 64; tile > 16; tile /= 2) {
        int64_t tiles = (p->m + tile - 1) / tile * ((p->n + tile - 1) / tile) * p->batch;
        bool fits = (uint32_t)(tile / (tile == 64 ? 4 : 2)) * (tile / (tile == 64 ? 4 : 2)) <=
                    g->driver->caps.max_workgroup;
        if (fits && tiles >= g->driver->processors && p->m > tile / 2 && p->n > tile / 2) return tile;
    }
    return 16;
}

static int64_t reach(int64_t rows, int64_t row, int64_t columns, int64_t column, int64_t batch, int64_t step)
{
    int64_t r = (rows - 1) * (row < 0 ? -row : row), c = (columns - 1) * (column < 0 ? -column : column);
    return r + c + (batch - 1) * (step < 0 ? -step : step);
}

static bool needs_wide(const kni_gpu_product *p)
{
    int64_t limit = INT64_C(1) << 30;
    return reach(p->m, p->a.row, p->k, p->a.column, p->batch, p->a.step) > limit ||
           reach(p->k, p->b.row, p->n, p->b.column, p->batch, p->b.step) > limit ||
           reach(p->m, p->y.row, p->n, 1, p->batch, p->y.step) > limit || p->k > limit || p->m * p->n > limit;
}

static kn_status tiled(kni_gpu *g, const kni_gpu_product *p)
{
    signature s = {.kind = 'p',
                   .dtype = (uint8_t)p->dtype,
                   .out_dtype = (uint8_t)p->dtype,
                   .has_bias = p->bias.block != NULL,
                   .a_along_rows = p->a.row == 1 && p->a.column != 1,
                   .b_along_rows = p->b.row == 1 && p->b.column != 1,
                   .wide = needs_wide(p),
                   .tile = tile_of(g, p)};
    kni_gpu_kernel *k = kni_gpu_find(g, &s, sizeof s);
    if (!k) k = kni_gpu_add(g, &s, sizeof s, build(&s));
    if (!k) return kni_latest_code();
    int64_t params[1 + 4 + NUMBERS], *numbers = params + 4 + s.has_bias;
    const int64_t values[NUMBERS] = {p->m,        p->n,      p->k,          p->batch,    p->a.row,
                                     p->a.column, p->a.step, p->b.row,      p->b.column, p->b.step,
                                     p->y.row,    p->y.step, p->bias.column};
    params[0] = p->m * p->n;
    params[1] = p->a.offset;
    params[2] = p->b.offset;
    params[3] = p->y.offset;
    if (s.has_bias) params[4] = p->bias.offset;
    memcpy(numbers, values, sizeof values);
    kni_gpu_block *blocks[4] = {p->a.block, p->b.block, p->y.block, p->bias.block};
    int64_t tiles = (p->m + s.tile - 1) / s.tile * ((p->n + s.tile - 1) / s.tile);
    int64_t batches = p->batch > 32768 ? 32768 : p->batch;
    if (tiles > INT32_MAX) return kni_fail(KN_ERROR_UNSUPPORTED, "a product of more than 2^31 tiles");
    kni_launch_shape shape = {{(uint32_t)tiles, (uint32_t)batches, 1}, k->workgroup, 0};
    return kni_gpu_launch(g, k, &shape, blocks, 3u + s.has_bias, -1, params);
}

/* The step of a library's matrix; false when no axis is contiguous. */
static bool library_matrix(const kni_gpu_matrix *m, int64_t rows, int64_t columns, int64_t *row,
                           bool *transposed)
{
    *transposed = m->column != 1 && columns != 1 && (m->row == 1 || rows == 1);
    if (!*transposed && m->column != 1 && columns != 1) return false;
    *row = *transposed ? m->column : m->row;
    int64_t least = *transposed ? rows : columns;
    if ((*transposed ? columns : rows) == 1) *row = least; /* a step that is never made */
    return *row >= least;
}

static kn_status library(kni_gpu *g, const kni_gpu_product *p)
{
    kni_driver *d = g->driver;
    bool floats = kni_dtypes[p->dtype].kind == KNI_KIND_FLOAT;
    if (!d->product || !floats || (p->bias.block && p->bias.column != 1) || !p->k)
        return KN_ERROR_UNSUPPORTED;
    kni_product q = {.dtype = p->dtype,
                     .out_dtype = p->dtype,
                     .m = p->m,
                     .n = p->n,
                     .k = p->k,
                     .batch = p->batch,
                     .a = {p->a.block->memory, p->a.offset},
                     .b = {p->b.block->memory, p->b.offset},
                     .d = {p->y.block->memory, p->y.offset},
                     .row_d = p->y.row,
                     .step_a = p->a.step,
                     .step_b = p->b.step,
                     .step_d = p->y.step,
                     .alpha = 1};
    if (!library_matrix(&p->a, p->m, p->k, &q.row_a, &q.transpose_a)) return KN_ERROR_UNSUPPORTED;
    if (!library_matrix(&p->b, p->k, p->n, &q.row_b, &q.transpose_b)) return KN_ERROR_UNSUPPORTED;
    if (p->bias.block) {
        q.bias = (kni_place){p->bias.block->memory, p->bias.offset};
        q.epilogue = KNI_EPILOGUE_BIAS;
    }
    g->launches++;
    return kni_gpu_checked(g, d->product(d, &q));
}

kn_status kni_gpu_multiply(kni_gpu *g, const kni_gpu_product *p)
{
    if (p->m == 0 || p->n == 0 || p->batch == 0) return KN_OK;
    kn_status s = library(g, p);
    return s == KN_ERROR_UNSUPPORTED ? tiled(g, p) : s;
}
