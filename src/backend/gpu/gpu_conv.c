/* Convolutions of a device: which way each one goes, and its launches by our own kernels. */
#include "backend/gpu/conv_tiled.h"
#include <string.h>

/* One run: operands made contiguous, in the order of the kernel's buffers. */
typedef struct run {
    kni_gpu_product_launch l;
    kni_gpu_block *made[3];
    int64_t numbers[KNI_CONV_NUMBERS], arrays[KNI_CONV_ARRAYS][KNI_CONV_MAX_SPATIAL];
    int axes;
    kni_conv_shape shape;
    bool direct; /* without tiles: such a kernel takes channels last */
} run;

/* `as_it_is`: the kernel knows how it lies. */
static kn_status give(kni_gpu *g, run *a, kni_tensor *x, bool as_it_is)
{
    int place = a->l.n_buffers++;
    if (as_it_is || kni_gpu_contiguous(x)) {
        a->l.offsets[place] = x->storage ? x->offset : 0;
        return kni_gpu_operand(g, x, &a->l.blocks[place], &a->made[place]);
    }
    kn_status s = kni_gpu_gather(g, x, &a->made[place]);
    a->l.blocks[place] = a->made[place];
    return s;
}

static void measure(run *a, int what, const kni_conv_attributes *at, const kni_type *x, const kni_type *w,
                    const kni_type *y)
{
    int64_t *n = a->numbers;
    a->axes = x->rank - 2;
    n[KNI_CONV_GROUPS] = at->groups;
    n[KNI_CONV_CHANNELS] = x->dims[1] / at->groups;
    n[KNI_CONV_OUTS] = y->dims[1] / at->groups;
    n[KNI_CONV_IMAGES] = x->dims[0];
    n[KNI_CONV_TAPS] = kni_count_dims(a->axes, w->dims + 2);
    n[KNI_CONV_POSITIONS] = kni_count_dims(a->axes, y->dims + 2);
    n[KNI_CONV_PLANE] = kni_count_dims(a->axes, x->dims + 2);
    n[KNI_CONV_M] = n[KNI_CONV_OUTS];
    n[KNI_CONV_N] = what == KNI_CONV_WEIGHT ? n[KNI_CONV_CHANNELS] * n[KNI_CONV_TAPS]
                                            : n[KNI_CONV_IMAGES] * n[KNI_CONV_POSITIONS];
    n[KNI_CONV_K] = what == KNI_CONV_WEIGHT ? n[KNI_CONV_IMAGES] * n[KNI_CONV_POSITIONS]
                                            : n[KNI_CONV_CHANNELS] * n[KNI_CONV_TAPS];
    n[KNI_CONV_TERMS] = n[KNI_CONV_K];
    n[KNI_CONV_BATCHES] = n[KNI_CONV_GROUPS];
    const int64_t *from[KNI_CONV_ARRAYS] = {x->dims + 2,     w->dims + 2,      y->dims + 2,
                                            at->stride.dims, at->padding.dims, at->dilation.dims};
    for (int i = 0; i < KNI_CONV_ARRAYS; i++)
        memcpy(a->arrays[i], from[i], (size_t)a->axes * sizeof(int64_t));
}

/* Whether results have terms without an element of x: in the padding, or between the elements that a transposed
   convolution spreads. */
static bool misses_elements(const run *a, int what)
{
    for (int i = 0; i < a->axes; i++) {
        const int64_t stride = a->arrays[KNI_CONV_STRIDE][i], padding = a->arrays[KNI_CONV_PADDING][i];
        const int64_t reach = (a->arrays[KNI_CONV_KERNEL][i] - 1) * a->arrays[KNI_CONV_DILATION][i],
                      last = a->arrays[KNI_CONV_Y_SIZE][i] - 1;
        if (what == KNI_CONV_TRANSPOSED
                ? stride > 1 || padding < reach || last + padding >= a->arrays[KNI_CONV_X_SIZE][i]
                : padding > 0 || last * stride + reach - padding >= a->arrays[KNI_CONV_X_SIZE][i])
            return true;
    }
    return false;
}

static kni_conv_signature sign(const kn_record *r, const run *a, int what, bool has_bias, int64_t largest)
{
    const int64_t *n = a->numbers;
    kni_conv_signature s = {.kind = KNI_CONV_PRODUCT,
                            .what = (uint8_t)what,
                            .dtype = kni_out(r, 0)->type.dtype,
                            .axes = (uint8_t)a->axes,
                            .has_bias = has_bias,
                            .leaves_out = misses_elements(a, what)};
    s.wide =
        largest > INT64_C(1) << 29 || n[KNI_CONV_N] > INT64_C(1) << 29 || n[KNI_CONV_K] > INT64_C(1) << 29;
    for (int i = 0; i < a->axes; i++)
        s.wide |= a->arrays[KNI_CONV_STRIDE][i] * a->arrays[KNI_CONV_Y_SIZE][i] +
                          a->arrays[KNI_CONV_DILATION][i] * a->arrays[KNI_CONV_KERNEL][i] >
                      INT64_C(1) << 29 ||
                  a->arrays[KNI_CONV_PADDING][i] > INT64_C(1) << 29 ||
                  -a->arrays[KNI_CONV_PADDING][i] > INT64_C(1) << 29;
    return s;
}

static void describe(kni_gpu_product_launch *l, const kni_conv_signature *s, const run *a, int64_t tiles,
                     int64_t batches)
{
    l->key = s;
    l->key_bytes = sizeof *s;
    l->build = s->kind == KNI_CONV_PRODUCT   ? kni_conv_build
               : s->kind == KNI_CONV_MENDING ? kni_conv_build_mending
                                             : kni_conv_build_elements;
    l->n_numbers = 0;
    for (int i = 0; i < KNI_CONV_NUMBERS; i++) l->numbers[l->n_numbers++] = a->numbers[i];
    for (int i = 0; i < KNI_CONV_ARRAYS; i++)
        for (int j = 0; j < a->axes; j++) l->numbers[l->n_numbers++] = a->arrays[i][j];
    l->tiles = tiles;
    l->batches = batches;
}

/* Cuts the terms of a gradient by the weight where its tiles do not fill the device: how many parts. */
static int64_t cut(kni_gpu *g, run *a, kni_conv_signature *s)
{
    enum { LEAST = 256 /* terms of a part, which fill a tile's pipeline */, BUSY = 2 };
    int64_t *n = a->numbers;
    const int compute = kni_tiled_compute(s->dtype);
    const int64_t results = n[KNI_CONV_GROUPS] * n[KNI_CONV_M] * n[KNI_CONV_N];
    int64_t parts = 1;
    if (s->what == KNI_CONV_WEIGHT)
        parts = kni_gpu_choose_parts(g, BUSY, 1, n[KNI_CONV_TERMS], LEAST, results);
    /* The tiles are chosen for the most parts, then the number of parts for these tiles. */
    s->shape = kni_tiled_choose(g->driver, compute, n[KNI_CONV_M], n[KNI_CONV_N], n[KNI_CONV_TERMS] / parts,
                                n[KNI_CONV_GROUPS] * parts);
    const int64_t tiles = kni_tiled_tiles(&s->shape, n[KNI_CONV_M], n[KNI_CONV_N]) * n[KNI_CONV_GROUPS];
    if (parts > 1) parts = kni_gpu_choose_parts(g, BUSY, tiles, n[KNI_CONV_TERMS], LEAST, results);
    if (parts == 1) return 1;
    const int64_t step = (int64_t)s->shape.depth * s->shape.slices,
                  steps = (n[KNI_CONV_TERMS] + step - 1) / step;
    n[KNI_CONV_K] = (steps + parts - 1) / parts * step;
    parts = (n[KNI_CONV_TERMS] + n[KNI_CONV_K] - 1) / n[KNI_CONV_K];
    n[KNI_CONV_BATCHES] = n[KNI_CONV_GROUPS] * parts;
    s->parted = parts > 1;
    return parts;
}

static bool takes_library(const kni_gpu *g)
{
    return g->convolutions == KNI_CONV_BY_ANY || g->convolutions == KNI_CONV_BY_LIBRARY;
}

/* Images of one position, as those of squeeze and excitation: a product of matrices, whose tiles are full. */
static bool is_product(const kni_gpu *g, const kni_conv_shape *c)
{
    for (int i = 0; i < KNI_CONV_AXES; i++)
        if (c->x_size[i] != 1 || c->y_size[i] != 1 || c->kernel[i] != 1 || c->padding[i]) return false;
    return c->groups == 1 && takes_library(g);
}

static kn_status by_product(kni_gpu *g, const run *a, bool has_bias)
{
    const kni_conv_shape *c = &a->shape;
    const kni_gpu_product_launch *l = &a->l;
    kni_gpu_product p = {
        .dtype = c->dtype,
        .m = c->images,
        .n = c->outs,
        .k = c->channels,
        .batch = 1,
        .a = {.block = l->blocks[1], .offset = l->offsets[1], .row = c->channels, .column = 1},
        .b = {.block = l->blocks[0], .offset = l->offsets[0], .row = 1, .column = c->channels},
        .way = {KNI_GPU_BY_KERNEL, l->tail}};
    if (c->what == KNI_CONV_TRANSPOSED) p.b.row = c->outs, p.b.column = 1;
    if (c->what == KNI_CONV_WEIGHT) {
        const kni_gpu_matrix x = p.a, dy = p.b;
        p.m = c->outs, p.n = c->channels, p.k = c->images;
        p.a = dy, p.a.row = 1, p.a.column = c->outs;
        p.b = x;
    }
    if (has_bias) p.bias = (kni_gpu_matrix){.block = l->blocks[2], .offset = l->offsets[2], .column = 1};
    p.y = (kni_gpu_matrix){.block = l->tail ? NULL : l->blocks[l->n_buffers - 1], .row = p.n};
    return kni_gpu_multiply(g, &p);
}

static kn_status by_kernel(kni_gpu *g, run *a, kni_conv_signature s)
{
    const int64_t *n = a->numbers;
    if (is_product(g, &a->shape)) return by_product(g, a, s.has_bias);
    if (a->direct) {
        kn_status status = kni_gpu_run_conv_direct(g, &a->shape, s.wide, s.leaves_out, s.has_bias, &a->l);
        if (status != KN_ERROR_UNSUPPORTED || a->shape.x_last || (a->l.tail && a->l.tail->lanes > 1))
            return status;
    }
    const int64_t parts = cut(g, a, &s), results = n[KNI_CONV_GROUPS] * n[KNI_CONV_M] * n[KNI_CONV_N];
    describe(&a->l, &s, a, kni_tiled_tiles(&s.shape, n[KNI_CONV_M], n[KNI_CONV_N]), n[KNI_CONV_BATCHES]);
    return kni_gpu_launch_parts(g, s.dtype, parts, results, &a->l);
}

static kni_conv_signature begin(const kn_record *r, int what, run *a)
{
    const kni_tensor *x = kni_in(r, 0), *other = kni_in(r, 1), *y = kni_out(r, 0);
    if (what == KNI_CONV_WEIGHT)
        measure(a, what, r->attributes, &x->type, &y->type, &other->type);
    else
        measure(a, what, r->attributes, &x->type, &other->type, &y->type);
    int64_t most = kni_count(&x->type);
    if (kni_count(&other->type) > most) most = kni_count(&other->type);
    if (kni_count(&y->type) > most) most = kni_count(&y->type);
    return sign(r, a, what, r->n_in > 2 && kni_in(r, 2), most);
}

static kn_status give_operands(kni_gpu *g, const kn_record *r, run *a)
{
    kn_status status = give(g, a, kni_in(r, 1), a->shape.what == KNI_CONV_WEIGHT && a->shape.y_last);
    if (status == KN_OK) status = give(g, a, kni_in(r, 0), a->shape.x_last);
    if (status == KN_OK && r->n_in > 2 && kni_in(r, 2)) status = give(g, a, kni_in(r, 2), false);
    return status;
}

/* The result in the memory that it has. */
static void give_result(run *a, const kn_record *r)
{
    a->l.blocks[a->l.n_buffers++] = kni_gpu_block_of(kni_out(r, 0)->storage);
}

static void end(run *a)
{
    for (int i = 0; i < 3; i++)
        if (a->made[i]) kni_gpu_give(a->made[i]);
}

kn_status kni_gpu_conv_mend(kni_gpu *g, const kn_record *r, int what, const kni_conv_made *made)
{
    const kni_conv_operand *const operands[] = {&made->other, &made->x, &made->bias, &made->added,
                                                &made->result};
    run a;
    memset(&a, 0, sizeof a);
    kni_conv_signature s = begin(r, what, &a);
    if (!s.leaves_out && !made->transformed) return KN_OK;
    /* A gradient of the weight is looked at by channels in any case, being as small as the weight. */
    const bool all = made->transformed && what != KNI_CONV_WEIGHT;
    s.kind = all ? KNI_CONV_ELEMENTS : KNI_CONV_MENDING;
    s.transformed = made->transformed, s.finishes = made->finishes;
    s.x_last = made->x_last, s.y_last = made->y_last;
    s.has_bias = made->bias.block != NULL, s.adds = made->added.block != NULL, s.relu = made->relu;
    for (int i = 0; i < KNI_COUNT(operands); i++) {
        if (!operands[i]->block) continue;
        a.l.blocks[a.l.n_buffers] = operands[i]->block;
        a.l.offsets[a.l.n_buffers++] = operands[i]->offset;
    }
    const int64_t channels = a.numbers[KNI_CONV_GROUPS] * a.numbers[KNI_CONV_M],
                  results = channels * a.numbers[KNI_CONV_N];
    s.lanes = results % KNI_TILED_BLOCK || made->result.offset % KNI_TILED_BLOCK ? 1 : KNI_TILED_BLOCK;
    /* What follows is computed for one channel at a time. */
    if (s.finishes && (s.y_last || a.numbers[KNI_CONV_POSITIONS] % KNI_TILED_BLOCK)) s.lanes = 1;
    const int64_t each = KNI_CONV_MENDERS * s.lanes;
    describe(&a.l, &s, &a, all ? (results + each - 1) / each : channels, 1);
    return kni_gpu_launch_product(g, &a.l);
}

uint8_t kni_gpu_conv_way(const char *text)
{
    static const char *const names[] = {"", "direct", "tiled", "library"};
    for (int i = 0; text && i < KNI_COUNT(names); i++)
        if (!strcmp(text, names[i])) return (uint8_t)i;
    if (text) kni_log(KN_LOG_WARNING, "KN_CONV=%s says nothing: write direct, tiled or library", text);
    return KNI_CONV_BY_ANY;
}

bool kni_gpu_conv_kernel_first(const kni_gpu *g, const kn_record *r, int what)
{
    return !takes_library(g) || !kni_gpu_conv_suits_library(g, r, what) ||
           kni_gpu_conv_direct_first(g, r, what);
}

static kn_status by_library(kni_gpu *g, const kn_record *r, const kni_gpu_way *way, int what)
{
    if (!takes_library(g) || way->by == KNI_GPU_BY_KERNEL) return KN_ERROR_UNSUPPORTED;
    if (way->by == KNI_GPU_BY_ANY && kni_gpu_conv_direct_first(g, r, what)) return KN_ERROR_UNSUPPORTED;
    return kni_gpu_run_conv_library(g, r, way->tail, what);
}

uint32_t kni_gpu_conv_tail_lanes(const kni_gpu *g, const kn_record *r, int what)
{
    kni_conv_shape c;
    kni_gpu_conv_measure(r, what, &c);
    if (what == KNI_CONV_WEIGHT || !kni_gpu_conv_wants_direct(g, &c)) return 1;
    if (kni_gpu_conv_takes_lanes(g, &c)) return c.y_last ? KNI_TILED_BLOCK : 1;
    const int lanes = kni_gpu_conv_rows_lanes(&c);
    return lanes ? (uint32_t)lanes : 1;
}

/* Whether tiles are needed; they read row-major images, and every kernel writes results as they are to lie. */
static void choose(const kni_gpu *g, const kn_record *r, int what, run *a)
{
    kni_gpu_conv_measure(r, what, &a->shape);
    a->direct = kni_gpu_conv_wants_direct(g, &a->shape);
    const bool last = a->direct && (what != KNI_CONV_WEIGHT || kni_gpu_conv_takes_lanes(g, &a->shape));
    a->shape.x_last &= last;
    if (what == KNI_CONV_WEIGHT) a->shape.y_last &= last;
}

static kn_status convolve(kni_gpu *g, const kn_record *r, const kni_gpu_way *way, int what)
{
    kn_status status = by_library(g, r, way, what);
    if (status != KN_ERROR_UNSUPPORTED || way->by == KNI_GPU_BY_LIBRARY) return status;
    run a;
    memset(&a, 0, sizeof a);
    a.l.tail = way->tail;
    kni_conv_signature s = begin(r, what, &a);
    choose(g, r, what, &a);
    s.y_last = a.shape.y_last && what != KNI_CONV_WEIGHT;
    status = give_operands(g, r, &a);
    if (status == KN_OK && !way->tail) {
        kni_tensor *y = kni_out(r, 0);
        status = s.y_last ? kni_gpu_allocate_promised(g, y) : kni_gpu_allocate(g, y);
        if (status == KN_OK) give_result(&a, r);
    }
    if (status == KN_OK) status = by_kernel(g, &a, s);
    if (status == KN_OK && !way->tail) kni_gpu_finish(g, r, -1);
    end(&a);
    return status;
}

kn_status kni_gpu_run_conv(kni_gpu *g, const kn_record *r, const kni_gpu_way *way)
{
    return convolve(g, r, way, KNI_CONV_FORWARD);
}
kn_status kni_gpu_run_conv_transpose(kni_gpu *g, const kn_record *r, const kni_gpu_way *way)
{
    return convolve(g, r, way, KNI_CONV_TRANSPOSED);
}
kn_status kni_gpu_run_conv_weight_grad(kni_gpu *g, const kn_record *r, const kni_gpu_way *way)
{
    return convolve(g, r, way, KNI_CONV_WEIGHT);
}
