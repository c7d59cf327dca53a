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
    NUMBERS,
    /* and for each axis around the batch: */
    OUTER_SIZE = 0,
    OUTER_A,
    OUTER_B,
    OUTER_NUMBERS
};

/* The product of a batch, whose kernel has axes around it. */
typedef struct plain {
    kni_tiled tiled; /* first, so that the product's address is this one's */
    int n_outer;
} plain;

static kni_ir_id moved(kni_tiled *t, kni_ir_id at, kni_ir_id by, uint32_t step)
{
    return kni_ir_word(t->b, "add", at, kni_ir_word(t->b, "mul", by, kni_tiled_number(t, step)));
}

static kni_ir_id by_strides(kni_tiled *t, kni_ir_id row, kni_ir_id column, kni_ir_id batch, int first,
                            int outer)
{
    kni_ir_builder *b = t->b;
    kni_ir_id at = kni_ir_word(b, "mul", row, kni_tiled_number(t, t->numbers[first]));
    at = moved(t, at, column, t->numbers[first + 1]);
    /* The batch's own axis is the innermost one; its size is not needed where there is no other. */
    for (int i = ((plain *)t)->n_outer - 1; i >= 0; i--) {
        const uint32_t *numbers = t->numbers + NUMBERS + i * OUTER_NUMBERS;
        kni_ir_id size = kni_tiled_number(t, numbers[OUTER_SIZE]), rest = kni_ir_word(b, "div", batch, size);
        kni_ir_id inner = kni_ir_word(b, "sub", batch, kni_ir_word(b, "mul", rest, size));
        at = moved(t, at, inner,
                   i + 1 == ((plain *)t)->n_outer ? t->numbers[first + 2] : numbers[OUTER_NUMBERS + outer]);
        batch = rest;
    }
    if (!((plain *)t)->n_outer) return moved(t, at, batch, t->numbers[first + 2]);
    return moved(t, at, batch, t->numbers[NUMBERS + outer]);
}

static kni_ir_id place_a(kni_tiled *t, kni_ir_id row, kni_ir_id column, kni_ir_id batch, kni_ir_id *inside)
{
    *inside = 0;
    return by_strides(t, row, column, batch, A_ROW, OUTER_A);
}

static kni_ir_id place_b(kni_tiled *t, kni_ir_id row, kni_ir_id column, kni_ir_id batch, kni_ir_id *inside)
{
    *inside = 0;
    return by_strides(t, row, column, batch, B_ROW, OUTER_B);
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
    uint8_t dtype, has_bias, a_along_rows, b_along_rows, a_wide, b_wide, wide, n_outer;
    kni_tiled_shape shape;
} signature;

static kni_ir *build(const void *key, const kni_gpu_tail *tail, const kni_sched_target *target)
{
    static const char *const names[NUMBERS] = {"m",        "n",      "k",        "batches",  "a_row",
                                               "a_column", "a_step", "b_row",    "b_column", "b_step",
                                               "y_row",    "y_step", "bias_step"};
    const signature *s = key;
    static const char *const outer[KNI_GPU_OUTER][OUTER_NUMBERS] = {{"inner_0", "a_outer_0", "b_outer_0"},
                                                                    {"inner_1", "a_outer_1", "b_outer_1"},
                                                                    {"inner_2", "a_outer_2", "b_outer_2"}};
    uint32_t numbers[NUMBERS + KNI_GPU_OUTER * OUTER_NUMBERS];
    plain p = {
        .n_outer = s->n_outer,
        .tiled = {
            .index = s->wide ? KN_I64 : KN_I32, .shape = s->shape, .a_wide = s->a_wide, .b_wide = s->b_wide}};
    kni_tiled *t = &p.tiled;
    t->compute = kni_tiled_compute(s->dtype);
    t->dtype = s->dtype;
    t->a_along_rows = s->a_along_rows;
    t->b_along_rows = s->b_along_rows;
    kni_ir_builder b = kni_ir_begin("product", kni_tiled_workgroup(&t->shape));
    t->b = &b;
    t->a = kni_ir_buffer(&b, "a", s->dtype, KNI_IR_READ);
    t->b_ = kni_ir_buffer(&b, "b", s->dtype, KNI_IR_READ);
    if (s->has_bias) t->bias = kni_ir_buffer(&b, "bias", s->dtype, KNI_IR_READ);
    if (!kni_tiled_results(t, s->dtype, tail, target)) return NULL;
    for (int i = 0; i < NUMBERS; i++) numbers[i] = kni_ir_param_add(&b, names[i], KN_I64, 0);
    for (int i = 0; i < s->n_outer * OUTER_NUMBERS; i++)
        numbers[NUMBERS + i] = kni_ir_param_add(&b, outer[i / OUTER_NUMBERS][i % OUTER_NUMBERS], KN_I64, 0);
    t->numbers = numbers;
    t->m = numbers[M];
    t->n = numbers[N];
    t->k = numbers[K];
    t->batches = numbers[BATCHES];
    t->place_a = place_a;
    t->place_b = place_b;
    t->place_y = place_y;
    t->place_bias = s->has_bias ? place_bias : NULL;
    kni_tiled_build(t);
    return kni_tiled_finish(t);
}

static int64_t reach(int64_t rows, int64_t row, int64_t columns, int64_t column, int64_t batch, int64_t step)
{
    int64_t r = (rows - 1) * (row < 0 ? -row : row), c = (columns - 1) * (column < 0 ? -column : column);
    return r + c + (batch - 1) * (step < 0 ? -step : step);
}

static int64_t count_outer(const kni_gpu_product *p) { return kni_count_dims(p->n_outer, p->outer); }

static bool needs_wide(const kni_gpu_product *p)
{
    int64_t limit = INT64_C(1) << 30, a = reach(p->m, p->a.row, p->k, p->a.column, p->batch, p->a.step),
            b = reach(p->k, p->b.row, p->n, p->b.column, p->batch, p->b.step);
    for (int i = 0; i < p->n_outer; i++) {
        a += reach(p->outer[i], p->a.outer[i], 1, 0, 1, 0);
        b += reach(p->outer[i], p->b.outer[i], 1, 0, 1, 0);
    }
    return a > limit || b > limit ||
           reach(p->m, p->y.row, p->n, 1, p->batch * count_outer(p), p->y.step) > limit || p->k > limit ||
           p->m * p->n > limit;
}

/* Whether neighbours along `size` elements can be fetched several at a time. */
static bool fetches_wide(const kni_gpu_matrix *x, bool along_rows, int64_t rows, int64_t columns, int dtype)
{
    for (int i = 0; i < KNI_GPU_OUTER; i++)
        if (x->outer[i] % KNI_TILED_BLOCK) return false;
    int64_t step = along_rows ? x->row : x->column, other = along_rows ? x->column : x->row;
    int64_t size = along_rows ? rows : columns;
    return step == 1 && size % KNI_TILED_BLOCK == 0 && other % KNI_TILED_BLOCK == 0 &&
           x->step % KNI_TILED_BLOCK == 0 && x->offset % KNI_TILED_BLOCK == 0 &&
           kni_dtypes[dtype].bits * KNI_TILED_BLOCK <= 128;
}

static kn_status tiled(kni_gpu *g, const kni_gpu_product *p)
{
    const int64_t batches = p->batch * count_outer(p);
    signature s = {.kind = 'p',
                   .n_outer = (uint8_t)p->n_outer,
                   .dtype = (uint8_t)p->dtype,
                   .has_bias = p->bias.block != NULL,
                   .a_along_rows = p->a.row == 1 && p->a.column != 1,
                   .b_along_rows = p->b.row == 1 && p->b.column != 1,
                   .wide = needs_wide(p),
                   .shape =
                       kni_tiled_choose(g->driver, kni_tiled_compute(p->dtype), p->m, p->n, p->k, batches)};
    s.a_wide = fetches_wide(&p->a, s.a_along_rows, p->m, p->k, p->dtype);
    s.b_wide = fetches_wide(&p->b, s.b_along_rows, p->k, p->n, p->dtype);
    kni_gpu_product_launch l = {.key = &s,
                                .key_bytes = sizeof s,
                                .n_buffers = 2,
                                .blocks = {p->a.block, p->b.block},
                                .offsets = {p->a.offset, p->b.offset},
                                .n_numbers = NUMBERS,
                                .numbers = {p->m, p->n, p->k, batches, p->a.row, p->a.column, p->a.step,
                                            p->b.row, p->b.column, p->b.step, p->y.row, p->y.step,
                                            p->bias.column},
                                .tiles = kni_tiled_tiles(&s.shape, p->m, p->n),
                                .batches = batches,
                                .tail = p->way.tail,
                                .build = build};
    for (int i = 0; i < p->n_outer; i++) {
        int64_t *numbers = l.numbers + NUMBERS + i * OUTER_NUMBERS;
        numbers[OUTER_SIZE] = i + 1 < p->n_outer ? p->outer[i + 1] : p->batch;
        numbers[OUTER_A] = p->a.outer[i];
        numbers[OUTER_B] = p->b.outer[i];
        l.n_numbers += OUTER_NUMBERS;
    }
    if (s.has_bias) {
        l.blocks[l.n_buffers] = p->bias.block;
        l.offsets[l.n_buffers++] = p->bias.offset;
    }
    if (!l.tail) {
        l.blocks[l.n_buffers] = p->y.block;
        l.offsets[l.n_buffers++] = p->y.offset;
    }
    return kni_gpu_launch_product(g, &l);
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

static kni_place place_of(const kni_tensor *x)
{
    return x ? (kni_place){kni_gpu_block_of(x->storage)->memory, x->offset} : (kni_place){NULL, 0};
}

/* What follows, where the library does it too. All of it lies as the product would. */
static void add_tail(kni_product *q, const kni_gpu_tail *t)
{
    q->out_dtype = t->result->type.dtype;
    q->d = place_of(t->result);
    q->epilogue |= t->epilogue;
    if (t->bias) q->bias = place_of(t->bias);
    q->aux = place_of(t->aux);
    q->c = place_of(t->added);
    q->row_c = q->row_d;
    q->step_c = q->step_d;
    q->beta = t->added ? 1 : 0;
}

static kn_status library(kni_gpu *g, const kni_gpu_product *p)
{
    kni_driver *d = g->driver;
    bool floats = kni_dtypes[p->dtype].kind == KNI_KIND_FLOAT;
    if (!d->product || !floats || (p->bias.block && p->bias.column != 1) || !p->k || count_outer(p) != 1)
        return KN_ERROR_UNSUPPORTED;
    kni_product q = {.dtype = p->dtype,
                     .out_dtype = p->dtype,
                     .m = p->m,
                     .n = p->n,
                     .k = p->k,
                     .batch = p->batch,
                     .a = {p->a.block->memory, p->a.offset},
                     .b = {p->b.block->memory, p->b.offset},
                     .row_d = p->y.row,
                     .step_a = p->a.step,
                     .step_b = p->b.step,
                     .step_d = p->y.step,
                     .tf32 = g->tf32 && p->dtype == KN_F32,
                     .alpha = 1};
    if (!library_matrix(&p->a, p->m, p->k, &q.row_a, &q.transpose_a)) return KN_ERROR_UNSUPPORTED;
    if (!library_matrix(&p->b, p->k, p->n, &q.row_b, &q.transpose_b)) return KN_ERROR_UNSUPPORTED;
    if (p->bias.block) {
        q.bias = (kni_place){p->bias.block->memory, p->bias.offset};
        q.epilogue = KNI_EPILOGUE_BIAS;
    }
    if (p->way.tail)
        add_tail(&q, p->way.tail);
    else
        q.d = (kni_place){p->y.block->memory, p->y.offset};
    kn_status s = kni_gpu_checked(g, d->product(d, &q));
    if (s == KN_OK) g->launches++;
    return s;
}

bool kni_gpu_prefers_kernel(const kni_gpu *g, int dtype, int64_t m, int64_t n, int64_t k, int64_t batch)
{
    /* Libraries cut the terms of a small product in f32 over two kernels; ours, measured on a GPU with 132 multiprocessors,
       is as fast or faster up to here, without counting what it does in the same launch. */
    const double most = 1 << 26;
    if (!g->driver->product || kni_dtypes[dtype].kind != KNI_KIND_FLOAT) return true;
    return dtype == KN_F32 && !g->tf32 && (double)m * (double)n * (double)k * (double)batch <= most;
}

kn_status kni_gpu_multiply(kni_gpu *g, const kni_gpu_product *p)
{
    if (p->m == 0 || p->n == 0 || p->batch == 0 || !count_outer(p)) return KN_OK;
    if (p->way.by == KNI_GPU_BY_KERNEL) return tiled(g, p);
    if (p->way.by == KNI_GPU_BY_ANY &&
        kni_gpu_prefers_kernel(g, p->dtype, p->m, p->n, p->k, p->batch * count_outer(p)))
        return tiled(g, p);
    kn_status s = library(g, p);
    return s == KN_ERROR_UNSUPPORTED && p->way.by == KNI_GPU_BY_ANY ? tiled(g, p) : s;
}
